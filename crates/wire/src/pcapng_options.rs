//! Adds missing end-of-options options (`opt_endofopt`) to pcapng, which some writers omit at the end of a block.
//!
//! The library `pcap-file` requires this option. `Closed` adds it to blocks without one, and passes everything else on
//! unchanged.
//!
//! Source: draft-ietf-opsawg-pcapng, section 3.5.

use std::io::{self, Read};

const SECTION: u32 = 0x0A0D_0D0A;
const INTERFACE: u32 = 1;
const PACKET: u32 = 2;
const ENHANCED_PACKET: u32 = 6;
/// Number of octets of a block outside its body: the type, and the length at both ends.
const AROUND: usize = 12;
/// Maximum length of a block that is buffered. Longer ones are passed on unchanged: no block has that many options.
const LONGEST: usize = 1 << 26;
/// The end-of-options option, including its length of 0.
const END_OF_OPTIONS: [u8; 4] = [0; 4];

/// Reader that closes the options of each block.
pub(crate) struct Closed<R> {
    inner: R,
    is_little: bool,
    /// Octets that have been read but not passed on yet.
    block: Vec<u8>,
    at: usize,
    /// True if the rest of the file does not consist of blocks; it is passed on unchanged.
    is_plain: bool,
}

impl<R: Read> Closed<R> {
    pub(crate) fn new(inner: R) -> Closed<R> {
        Closed { inner, is_little: true, block: Vec::new(), at: 0, is_plain: false }
    }

    fn number(&self, at: usize) -> u32 {
        let four = self.block.get(at..at + 4).and_then(|four| four.try_into().ok()).unwrap_or_default();
        if self.is_little { u32::from_le_bytes(four) } else { u32::from_be_bytes(four) }
    }

    fn short(&self, at: usize) -> usize {
        let two = self.block.get(at..at + 2).and_then(|two| two.try_into().ok()).unwrap_or_default();
        usize::from(if self.is_little { u16::from_le_bytes(two) } else { u16::from_be_bytes(two) })
    }

    /// Reads until the block has `len` octets. Returns false if the file ends before that.
    fn fill(&mut self, len: usize) -> io::Result<bool> {
        let missing = len.saturating_sub(self.block.len());
        self.inner.by_ref().take(missing as u64).read_to_end(&mut self.block)?;
        Ok(self.block.len() >= len)
    }

    /// Reads the next block; leaves the buffer empty at the end of the file.
    fn next_block(&mut self) -> io::Result<()> {
        (self.at, self.is_plain) = (0, true);
        self.block.clear();
        if !self.fill(AROUND)? {
            return Ok(());
        }
        if self.number(0) == SECTION {
            self.is_little = self.block[8..12] == [0x4D, 0x3C, 0x2B, 0x1A];
        }
        let len = self.number(4) as usize;
        if !(AROUND..=LONGEST).contains(&len) || !len.is_multiple_of(4) || !self.fill(len)? {
            return Ok(());
        }
        self.is_plain = false;
        if self.number(len - 4) as usize == len && self.options().is_some_and(|at| self.is_open(at, len - 4))
        {
            self.block.truncate(len - 4);
            self.block.extend_from_slice(&END_OF_OPTIONS);
            let longer = len as u32 + END_OF_OPTIONS.len() as u32;
            let octets = if self.is_little { longer.to_le_bytes() } else { longer.to_be_bytes() };
            self.block[4..8].copy_from_slice(&octets);
            self.block.extend_from_slice(&octets);
        }
        Ok(())
    }

    /// Returns the start of the block's options, if it can have any.
    fn options(&self) -> Option<usize> {
        match self.number(0) {
            SECTION => Some(24),
            INTERFACE => Some(16),
            PACKET | ENHANCED_PACKET => {
                let captured = self.number(20) as usize;
                captured.checked_next_multiple_of(4)?.checked_add(28)
            }
            _ => None,
        }
    }

    /// Returns true if there are options up to the end of the block, none of which is the end-of-options option.
    fn is_open(&self, mut at: usize, end: usize) -> bool {
        let begin = at;
        while at + 4 <= end {
            if self.short(at) == 0 {
                return false;
            }
            at += 4 + self.short(at + 2).next_multiple_of(4);
        }
        at == end && at > begin
    }
}

impl<R: Read> Read for Closed<R> {
    fn read(&mut self, out: &mut [u8]) -> io::Result<usize> {
        if self.at == self.block.len() {
            if self.is_plain && !self.block.is_empty() {
                return self.inner.read(out);
            }
            self.next_block()?;
        }
        let rest = &self.block[self.at..];
        let taken = rest.len().min(out.len());
        out[..taken].copy_from_slice(&rest[..taken]);
        self.at += taken;
        Ok(taken)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    fn passed(bytes: &[u8]) -> Vec<u8> {
        let mut out = Vec::new();
        Closed::new(bytes).read_to_end(&mut out).unwrap();
        out
    }

    fn block(kind: u32, body: &[u8], is_little: bool) -> Vec<u8> {
        let of = |number: u32| if is_little { number.to_le_bytes() } else { number.to_be_bytes() };
        let len = of((body.len() + AROUND) as u32);
        [&of(kind)[..], &len, body, &len].concat()
    }

    fn section(is_little: bool) -> Vec<u8> {
        let magic = if is_little { [0x4D, 0x3C, 0x2B, 0x1A] } else { [0x1A, 0x2B, 0x3C, 0x4D] };
        block(SECTION, &[&magic[..], &[0; 12]].concat(), is_little)
    }

    /// An interface with the name "ab" is closed by two octets if no option closes it, in both byte orders.
    #[test]
    fn options_are_closed_once() {
        for is_little in [true, false] {
            let of = |number: u16| if is_little { number.to_le_bytes() } else { number.to_be_bytes() };
            let option = [&of(2)[..], &of(2), b"ab\0\0"].concat();
            let fixed = [0u8; 8];
            let open = block(INTERFACE, &[&fixed[..], &option].concat(), is_little);
            let closed = block(INTERFACE, &[&fixed[..], &option, &END_OF_OPTIONS].concat(), is_little);
            let file = |blocks: &[u8]| [&section(is_little)[..], blocks].concat();
            assert_eq!(passed(&file(&open)), file(&closed));
            assert_eq!(passed(&file(&closed)), file(&closed));
            let without = block(INTERFACE, &fixed, is_little);
            assert_eq!(passed(&file(&without)), file(&without));
        }
    }

    proptest! {
        /// For arbitrary input, the output is never shorter than the input, and equal to it if no block needs closing.
        #[test]
        fn nothing_is_lost(bytes in prop::collection::vec(any::<u8>(), 0..200), cut in 0usize..80) {
            prop_assert!(passed(&bytes).len() >= bytes.len());
            let whole = [section(true), block(9, &[7; 40], true)].concat();
            let part = &whole[..whole.len().saturating_sub(cut)];
            prop_assert_eq!(passed(part), part);
        }
    }
}
