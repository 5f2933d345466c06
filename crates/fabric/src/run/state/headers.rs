//! Payload of wide frames, stored by value in slots; the frame carries the slot number.
//!
//! Each part of a fabric stores the payload of the frames at its nodes and in flight to them. A frame that leaves for
//! another part takes its payload along (`pack` and `unpack` of [`World`](engine::World)). Slot numbers are internal:
//! fingerprints hash the contents of the slot.

use frame::{Frame, Header, MessageHeader, Notice, Sampled, Stamp, Stamps, Tag, Telemetry};
use std::iter::Peekable;
use std::vec::Drain;

/// Payload of a wide frame.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Carried {
    /// Header written by an endpoint.
    Header(Header),
    /// A tag of `bytes` bytes, and the rest of the frame's payload.
    Tagged { tag: Tag, bytes: u8, word: u32, header: Option<Header> },
    /// Message of a congestion point.
    Notice(Notice),
    /// A tag returned to its sender.
    Returned(Tag),
    /// Not a frame: a stamp of the previous frame, with its path, in transit to another part.
    Stamp(Stamp, u32),
}

impl Carried {
    /// Returns true for the header of a packet with stamps.
    fn has_stamps(&self) -> bool {
        match self {
            Carried::Header(header) | Carried::Tagged { header: Some(header), .. } => {
                header.stamped().is_some()
            }
            _ => false,
        }
    }

    /// Digest of the contents, for fingerprints.
    pub fn digest(&self) -> u64 {
        match self {
            Carried::Header(header) => header.digest(),
            Carried::Tagged { tag, bytes, word, header } => {
                let beside = header.map_or(u64::from(*word), |header| header.digest());
                (tag.digest().rotate_left(7) ^ u64::from(*bytes)).wrapping_mul(0x9e37_79b9_7f4a_7c15) ^ beside
            }
            Carried::Notice(notice) => notice.digest(),
            Carried::Returned(tag) => tag.digest(),
            Carried::Stamp(stamp, path) => Stamps::again(*path, [*stamp]).digest(),
        }
    }
}

/// Payload of the wide frames of a part of the fabric.
#[derive(Debug, Default)]
pub(crate) struct Headers {
    slots: Vec<Carried>,
    /// Unused slots, the most recently freed one last.
    free: Vec<u32>,
    /// By slot, the stamps of packets that have any; empty until the first such packet.
    stamps: Vec<Stamps>,
}

impl Headers {
    /// Makes a frame wide.
    #[inline(always)]
    pub fn attach(&mut self, frame: &mut Frame, carried: Carried) {
        debug_assert!(!frame.flags.is_wide(), "a frame has one slot");
        frame.word = self.insert(carried);
        frame.flags = frame.flags.wide();
    }

    /// Adds a tag of `bytes` bytes to a frame that has none.
    pub fn tag(&mut self, frame: &mut Frame, tag: Tag, bytes: u8) {
        let header = match self.release(frame) {
            Some(Carried::Header(header)) => Some(header),
            _ => None,
        };
        let word = if header.is_some() { 0 } else { frame.word };
        frame.word = self.insert(Carried::Tagged { tag, bytes, word, header });
        frame.flags = frame.flags.tagged();
        frame.bytes = frame.bytes.saturating_add(bytes.into());
    }

    /// Returns the frame without its tag, and the tag, if it has one.
    pub fn untag(&mut self, tagged: &Frame) -> (Frame, Option<Tag>) {
        let mut frame = *tagged;
        let Some(Carried::Tagged { tag, bytes, word, header }) = self.of(tagged).copied() else {
            return (frame, None);
        };
        self.release(tagged);
        (frame.word, frame.flags) = (word, frame.flags.narrow());
        frame.bytes -= u16::from(bytes);
        if let Some(header) = header {
            self.attach(&mut frame, Carried::Header(header));
        }
        (frame, Some(tag))
    }

    /// Length of a frame without its tag, which its receiver removes.
    pub fn bare_bytes(&self, frame: &Frame) -> u16 {
        match self.of(frame) {
            Some(Carried::Tagged { bytes, .. }) => frame.bytes - u16::from(*bytes),
            _ => frame.bytes,
        }
    }

    /// Returns a sample of up to `octets` octets of a frame for a congestion message, from its EtherType after the
    /// tags; fewer if the frame is shorter.
    pub fn sampled(&self, frame: &Frame, octets: u8) -> Sampled {
        let flow = match self.of(frame) {
            Some(Carried::Tagged { tag: Tag::Flow(flow), .. }) => Some(*flow),
            _ => None,
        };
        let (kind, priority, bytes) = (frame.flags.kind(), frame.priority(), frame.bytes);
        let before = 12 + 4 + if flow.is_some() { u16::from(queueing::CN_TAG_BYTES) } else { 0 };
        let data = bytes.saturating_sub(before + 4);
        let octets = octets.min(u8::try_from(data).unwrap_or(u8::MAX));
        Sampled { kind, priority, bytes, word: self.word_of(frame).0, flow, octets }
    }

    /// Returns the word that a frame carries, and the index of its connection among those on its path.
    pub fn word_of(&self, frame: &Frame) -> (u32, u32) {
        match self.of(frame) {
            Some(Carried::Header(header) | Carried::Tagged { header: Some(header), .. }) => header.word(),
            Some(Carried::Tagged { word, .. }) => (*word, 0),
            Some(Carried::Notice(notice)) => (notice.feedback, 0),
            Some(Carried::Returned(_) | Carried::Stamp(..)) => (0, 0),
            // The slot of a copy is that of the multicast frame.
            None if frame.route.is_tree() => (0, 0),
            None => (frame.word, 0),
        }
    }

    /// Returns the message that a frame without transport is part of; `None` if it is part of none.
    pub fn message_of(&self, frame: &Frame) -> Option<MessageHeader> {
        match self.of(frame) {
            Some(Carried::Header(header) | Carried::Tagged { header: Some(header), .. }) => {
                header.message().copied()
            }
            _ => None,
        }
    }

    /// The tag of a frame, mutably.
    pub fn tag_of(&mut self, frame: &Frame) -> Option<&mut Tag> {
        match frame.flags.is_tagged().then(|| &mut self.slots[frame.word as usize]) {
            Some(Carried::Tagged { tag, .. }) => Some(tag),
            _ => None,
        }
    }

    /// The tag that a frame returns, mutably.
    pub fn returned(&mut self, frame: &Frame) -> Option<&mut Tag> {
        match frame.flags.is_wide().then(|| &mut self.slots[frame.word as usize]) {
            Some(Carried::Returned(tag)) => Some(tag),
            _ => None,
        }
    }

    /// Returns the payload of a frame beyond its word; `None`: it has only a word.
    pub fn of(&self, frame: &Frame) -> Option<&Carried> {
        frame.flags.is_wide().then(|| &self.slots[frame.word as usize])
    }

    /// Returns the payload of a wide frame with this word.
    pub fn at(&self, word: u32) -> &Carried {
        &self.slots[word as usize]
    }

    /// Releases the payload of a frame that has left the fabric. Returns the part beyond its word.
    pub fn release(&mut self, frame: &Frame) -> Option<Carried> {
        frame.flags.is_wide().then(|| self.take(frame.word))
    }

    /// Returns the telemetry field of a packet, for the switches on its path to write; `None` if it has none.
    pub fn telemetry_of(&mut self, frame: &Frame) -> Option<&mut Telemetry> {
        match frame.flags.is_wide().then(|| &mut self.slots[frame.word as usize])? {
            Carried::Header(header) | Carried::Tagged { header: Some(header), .. } => header.telemetry_mut(),
            _ => None,
        }
    }

    /// The stamps of a wide frame that has some, or whose payload has just been taken (until its slot is reused).
    /// Adding or removing a tag does not change the slot of a frame.
    pub fn stamps_mut(&mut self, frame: &Frame) -> &mut Stamps {
        let slot = frame.word as usize;
        if self.stamps.len() <= slot {
            self.stamps.resize(slot + 1, Stamps::default());
        }
        &mut self.stamps[slot]
    }

    /// Returns the stamps of a slot, if its payload has some.
    fn stamps(&self, slot: u32) -> Option<&Stamps> {
        self.at(slot).has_stamps().then(|| self.stamps.get(slot as usize))?
    }

    /// Hashes the contents of a slot, for fingerprints.
    pub fn digest(&self, slot: u32) -> u64 {
        let own = self.at(slot).digest();
        self.stamps(slot).map_or(own, |stamps| own.rotate_left(9) ^ stamps.digest())
    }

    /// Frees a slot and appends its contents to `cargo`, followed by its stamps, for another part.
    pub fn pack(&mut self, slot: u32, cargo: &mut Vec<Carried>) {
        cargo.push(self.take(slot));
        if let Some(stamps) = self.stamps(slot) {
            cargo.extend(stamps.hops().iter().map(|&stamp| Carried::Stamp(stamp, stamps.path())));
        }
    }

    /// Stores the next payload from another part; returns its new slot.
    pub fn unpack(&mut self, cargo: &mut Peekable<Drain<'_, Carried>>) -> Option<u32> {
        let slot = self.insert(cargo.next()?);
        if self.slots[slot as usize].has_stamps() {
            let mut stamps = Stamps::default();
            while let Some(&Carried::Stamp(stamp, path)) = cargo.peek() {
                let before = stamps.hops().iter().copied();
                stamps = Stamps::again(path, before.chain([stamp]));
                cargo.next();
            }
            *self.stamps_mut(&Frame { word: slot, ..Frame::default() }) = stamps;
        }
        Some(slot)
    }

    /// Stores a payload, and returns its slot.
    #[inline(never)]
    pub fn insert(&mut self, carried: Carried) -> u32 {
        if let Some(slot) = self.free.pop() {
            self.slots[slot as usize] = carried;
            return slot;
        }
        self.slots.push(carried);
        self.slots.len() as u32 - 1
    }

    /// Frees a slot and returns its contents.
    pub fn take(&mut self, slot: u32) -> Carried {
        self.free.push(slot);
        self.slots[slot as usize]
    }

    /// Number of wide frames in use.
    pub fn in_use(&self) -> usize {
        self.slots.len() - self.free.len()
    }

    /// Returns true if no slot has ever been used.
    pub fn is_untouched(&self) -> bool {
        self.slots.is_empty()
    }

    pub fn memory_bytes(&self) -> usize {
        self.slots.capacity() * size_of::<Carried>()
            + self.free.capacity() * size_of::<u32>()
            + self.stamps.capacity() * size_of::<Stamps>()
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use frame::{Ecn, Flags, FrameKind, PointId, TcpHeader};

    fn header(sequence: u32) -> Carried {
        Carried::Header(Header::Tcp(TcpHeader { number: sequence, ..TcpHeader::default() }))
    }

    #[test]
    fn a_tag_leaves_what_is_beside_it() {
        let mut headers = Headers::default();
        let narrow = Frame {
            flags: Flags::new(FrameKind::Part, Ecn::NotCapable),
            word: 77,
            bytes: 1500,
            ..Frame::default()
        };
        let mut wide = Frame { flags: Flags::new(FrameKind::Data, Ecn::Capable), ..narrow };
        headers.attach(&mut wide, header(5));
        for frame in [narrow, wide] {
            let mut tagged = frame;
            headers.tag(&mut tagged, Tag::Rate(None), 12);
            assert_eq!((tagged.bytes, tagged.flags.is_tagged()), (1512, true));
            let before = headers.of(&tagged).map(Carried::digest);
            *headers.tag_of(&tagged).unwrap() = Tag::Limited(PointId(3));
            assert_ne!(headers.of(&tagged).map(Carried::digest), before);
            let (bare, tag) = headers.untag(&tagged);
            assert_eq!((tag, bare.bytes, bare.flags), (Some(Tag::Limited(PointId(3))), 1500, frame.flags));
            assert_eq!(headers.release(&bare), frame.flags.is_wide().then(|| header(5)));
            assert!(frame.flags.is_wide() || bare.word == 77);
        }
        assert_eq!((headers.in_use(), headers.untag(&narrow)), (0, (narrow, None)));
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

    #[test]
    fn stamps_move_with_their_packets() {
        use frame::{RdmaHeader, Telemetry};
        let (mut here, mut there) = (Headers::default(), Headers::default());
        let data = Frame { flags: Flags::new(FrameKind::Data, Ecn::Capable), ..Frame::default() };
        let stamp = |n: u64| Stamp {
            at: units::Time::from_ns(n),
            sent: n,
            queue: n,
            rate: units::BitRate::from_gbps(1),
        };
        let packet = |hops| {
            let rdma = RdmaHeader { telemetry: Telemetry::Hops(hops), ..RdmaHeader::default() };
            Carried::Header(Header::Rdma(rdma))
        };
        // A packet with three stamps, one with none, and a header of another kind, which has no place for stamps.
        let mut frames = [data; 3];
        for (frame, carried) in frames.iter_mut().zip([packet(5), packet(5), header(7)]) {
            here.attach(frame, carried);
        }
        (1..4).for_each(|n| here.stamps_mut(&frames[0]).push(n, stamp(n.into()), 5));
        *here.stamps_mut(&frames[1]) = Stamps::default();
        let digests = frames.map(|frame| here.digest(frame.word));
        there.insert(header(0));
        let mut cargo = Vec::new();
        frames.iter().for_each(|frame| here.pack(frame.word, &mut cargo));
        assert_eq!((cargo.len(), here.in_use()), (6, 0));
        let mut cargo = cargo.drain(..).peekable();
        let slots = frames.map(|_| there.unpack(&mut cargo).unwrap());
        assert_eq!((slots.map(|slot| there.digest(slot)), there.in_use()), (digests, 4));
        assert_eq!(there.unpack(&mut cargo), None);
    }
}
