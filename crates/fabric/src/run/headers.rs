//! Headers of the frames that are wide: by value, in slots of which the frame knows the number.
//!
//! Each part of a fabric has those of the frames at its nodes and on the way to them. One that leaves for another part
//! takes its header along (`pack` and `unpack` of [`World`](engine::World)). The number of a slot is nobody's business:
//! fingerprints are made of what the header says.

use frame::{Frame, Header};

/// The headers of a part of the fabric.
#[derive(Debug, Default)]
pub(crate) struct Headers {
    slots: Vec<Header>,
    /// Slots that nobody uses, the one that was freed last at the end.
    free: Vec<u32>,
}

impl Headers {
    /// Gives a header to a frame that has none.
    pub fn attach(&mut self, frame: &mut Frame, header: Header) {
        debug_assert!(!frame.flags.is_wide(), "a frame has one header");
        frame.word = self.insert(header);
        frame.flags = frame.flags.wide();
    }

    /// The header of a frame; `None`: it has none.
    pub fn of(&self, frame: &Frame) -> Option<&Header> {
        frame.flags.is_wide().then(|| &self.slots[frame.word as usize])
    }

    /// A frame is no more: its header, if it had one.
    pub fn release(&mut self, frame: &Frame) -> Option<Header> {
        frame.flags.is_wide().then(|| self.take(frame.word))
    }

    /// A header that comes from another part: its slot here.
    pub fn insert(&mut self, header: Header) -> u32 {
        if let Some(slot) = self.free.pop() {
            self.slots[slot as usize] = header;
            return slot;
        }
        self.slots.push(header);
        self.slots.len() as u32 - 1
    }

    /// A header that goes to another part, by its slot.
    pub fn take(&mut self, slot: u32) -> Header {
        self.free.push(slot);
        self.slots[slot as usize]
    }

    /// How many wide frames there are.
    pub fn in_use(&self) -> usize {
        self.slots.len() - self.free.len()
    }

    pub fn memory_bytes(&self) -> usize {
        self.slots.capacity() * size_of::<Header>() + self.free.capacity() * size_of::<u32>()
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use frame::{Ecn, Flags, FrameKind, TcpHeader};

    fn header(sequence: u32) -> Header {
        Header::Tcp(TcpHeader { number: sequence, ..TcpHeader::default() })
    }

    #[test]
    fn a_frame_keeps_its_header_until_it_is_no_more() {
        let mut headers = Headers::default();
        let data = Frame { flags: Flags::new(FrameKind::Data, Ecn::Capable), ..Frame::default() };
        let mut frames = [data; 3];
        for (n, frame) in (0..).zip(&mut frames) {
            assert_eq!(headers.of(frame), None);
            headers.attach(frame, header(n));
        }
        assert_eq!(headers.release(&frames[1]), Some(header(1)));
        assert_eq!((headers.of(&frames[0]), headers.of(&frames[2])), (Some(&header(0)), Some(&header(2))));
        let mut next = data;
        headers.attach(&mut next, header(7));
        assert_eq!((next.word, headers.in_use()), (frames[1].word, 3));
        assert_eq!((headers.release(&data), headers.in_use()), (None, 3));
        for frame in [frames[0], frames[2], next] {
            assert!(headers.release(&frame).is_some());
        }
        assert_eq!(headers.in_use(), 0);
    }
}
