//! Packet sequence numbers: 24 bits on the wire, 64 bits at the queue pairs.
//!
//! The word of a frame holds the packet sequence number in its low 24 bits, three flags above, and the number of the
//! queue pair in the highest five bits. If the number of the queue pair does not fit, the frame has a header instead.

use frame::Frame;

/// Number of bits of a packet sequence number (InfiniBand Architecture Specification volume 1 section 9.2).
const BITS: u32 = Frame::NUMBER_BITS;
const MASK: u32 = (1 << BITS) - 1;
/// First flag. In data: the packet is the last of its message. In an acknowledgement: it is a NAK for a packet out of
/// sequence.
const FIRST_FLAG: u32 = 1 << BITS;
/// Second flag. In data: an acknowledgement is requested (AckReq). In an acknowledgement: it names a packet out of
/// order or, without the first flag, it is a READ request.
const SECOND_FLAG: u32 = 1 << (BITS + 1);
/// Third flag. In data: the packet is the first of its message. In a NAK: the receiver is not ready (RNR).
const THIRD_FLAG: u32 = 1 << (BITS + 2);
const PAIR_SHIFT: u32 = BITS + 3;
/// First queue pair number that does not fit into the word.
pub const WIDE_FROM: u32 = 31;

/// The fields of a frame's word.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Word {
    /// Packet sequence number, as on the wire.
    pub number: u32,
    /// Flags in order of their bits.
    pub flags: [bool; 3],
    /// Number of the queue pair, if it fits.
    pub pair: u32,
}

impl Word {
    /// Packs the fields into 32 bits.
    #[inline]
    pub fn bits(self) -> u32 {
        let flag = |on: bool, bit: u32| if on { bit } else { 0 };
        self.number & MASK
            | flag(self.flags[0], FIRST_FLAG)
            | flag(self.flags[1], SECOND_FLAG)
            | flag(self.flags[2], THIRD_FLAG)
            | self.pair.min(WIDE_FROM) << PAIR_SHIFT
    }

    /// Unpacks the fields from 32 bits.
    #[inline]
    pub fn of(bits: u32) -> Word {
        Word {
            number: bits & MASK,
            flags: [bits & FIRST_FLAG != 0, bits & SECOND_FLAG != 0, bits & THIRD_FLAG != 0],
            pair: bits >> PAIR_SHIFT,
        }
    }

    /// Returns true if the number of the queue pair fits. Otherwise the frame has a header that contains it.
    #[inline]
    pub fn has_pair(self) -> bool {
        self.pair < WIDE_FROM
    }
}

/// Returns a packet's number as on the wire.
#[inline]
pub fn on_wire(packet: u64) -> u32 {
    packet as u32 & MASK
}

/// Returns the number nearest to `reference` whose low 24 bits are `number`; of two at the same distance, the higher
/// one. The result is correct if the two differ by less than 2^23, which limits the number of outstanding packets.
#[inline]
pub fn nearest(number: u32, reference: u64) -> u64 {
    let ahead = number.wrapping_sub(reference as u32) & MASK;
    if ahead <= 1 << (BITS - 1) {
        return reference + u64::from(ahead);
    }
    let behind = u64::from(ahead.wrapping_neg() & MASK);
    // Numbers below 0 do not exist, so the packet is ahead.
    reference.checked_sub(behind).unwrap_or(reference + u64::from(ahead))
}

/// Maximum number of outstanding packets (section 9.7.7.1: half of all numbers).
pub const MOST_OUTSTANDING: u64 = 1 << (BITS - 1);

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn numbers_near_the_wrap() {
        let wrap = 1u64 << BITS;
        for reference in [0, 5, wrap - 1, wrap, wrap + 7, 9 * wrap + 1_000] {
            for offset in [0, 1, 1_000, (1 << (BITS - 1)) - 1] {
                assert_eq!(nearest((reference + offset) as u32 & MASK, reference), reference + offset);
                if let Some(before) = reference.checked_sub(offset) {
                    assert_eq!(nearest(before as u32 & MASK, reference), before);
                }
            }
        }
    }

    #[test]
    fn a_word_says_what_it_was_made_of() {
        for pair in [0, 1, 30, WIDE_FROM] {
            for flags in (0..8).map(|bits| [bits & 1 != 0, bits & 2 != 0, bits & 4 != 0]) {
                for number in [0, 1, MASK] {
                    let word = Word { number, flags, pair };
                    assert_eq!(Word::of(word.bits()), word);
                }
            }
        }
        let beyond = Word { number: 1 << BITS | 7, flags: [false; 3], pair: 1_000 };
        assert_eq!(Word::of(beyond.bits()), Word { number: 7, flags: [false; 3], pair: WIDE_FROM });
    }
}
