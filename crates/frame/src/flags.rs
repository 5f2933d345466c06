//! What a frame is for, its ECN bits, whether it has a header, and whether it may be bypassed, in one byte.

/// Explicit congestion notification: the two bits of RFC 3168 section 5.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
#[repr(u8)]
pub enum Ecn {
    /// Not ECT: a queue manager drops where it would mark.
    #[default]
    NotCapable = 0b00,
    /// ECT(1).
    Capable1 = 0b01,
    /// ECT(0), what a transport that understands marks sends.
    Capable = 0b10,
    /// CE: congestion experienced.
    Experienced = 0b11,
}

/// What a frame is for.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
#[repr(u8)]
pub enum FrameKind {
    /// It only fills the wire: open-loop traffic.
    #[default]
    Raw = 0,
    /// Data of an endpoint; the word is its sequence number.
    Data = 1,
    /// An acknowledgement of an endpoint; the word says up to where.
    Ack = 2,
    /// An acknowledgement that tells of a mark (ECN echo).
    MarkedAck = 3,
    /// A congestion notification packet from a receiver.
    Cnp = 4,
    /// A congestion message from a switch: a [`Notice`](crate::Notice).
    Cnm = 5,
    /// The [`Tag`](crate::Tag) of a frame, which its receiver returns.
    Tag = 6,
    /// A part of a transfer that a source pushes, or of one of its streams; the word says of which among those of its path.
    Part = 7,
}

/// The kind and the ECN bits of a frame, and whether it is wide or tagged.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Flags(u8);

const ECN: u8 = 0b11;
const KIND_SHIFT: u8 = 2;
const KIND: u8 = 0b111;
const WIDE: u8 = 1 << 5;
const TAGGED: u8 = 1 << 6;
const BYPASSABLE: u8 = 1 << 7;

impl Flags {
    /// Both together.
    #[inline]
    pub const fn new(kind: FrameKind, ecn: Ecn) -> Flags {
        Flags((kind as u8) << KIND_SHIFT | ecn as u8)
    }
    /// What the frame is for.
    #[inline]
    pub const fn kind(self) -> FrameKind {
        match self.0 >> KIND_SHIFT & KIND {
            0 => FrameKind::Raw,
            1 => FrameKind::Data,
            2 => FrameKind::Ack,
            3 => FrameKind::MarkedAck,
            4 => FrameKind::Cnp,
            5 => FrameKind::Cnm,
            6 => FrameKind::Tag,
            _ => FrameKind::Part,
        }
    }
    /// Whether a source pushes such frames: no endpoint sends or awaits them.
    #[inline]
    pub const fn is_pushed(self) -> bool {
        matches!(self.kind(), FrameKind::Raw | FrameKind::Part)
    }
    /// Whether a node originates such frames itself (CNPs, congestion messages, returned tags): they enter a queue without being
    /// pulled from an endpoint, a rate limiter or a source.
    #[inline]
    pub const fn is_originated(self) -> bool {
        matches!(self.kind(), FrameKind::Cnp | FrameKind::Cnm | FrameKind::Tag)
    }
    /// Its ECN bits.
    #[inline]
    pub const fn ecn(self) -> Ecn {
        match self.0 & ECN {
            0b00 => Ecn::NotCapable,
            0b01 => Ecn::Capable1,
            0b10 => Ecn::Capable,
            _ => Ecn::Experienced,
        }
    }
    /// Marks the frame. False, and nothing done, if its transport does not understand marks.
    #[inline]
    #[must_use]
    pub const fn mark(&mut self) -> bool {
        if self.0 & ECN == 0 {
            return false;
        }
        self.0 |= ECN;
        true
    }
    /// The flags of a frame that carries more than a word.
    #[inline]
    pub const fn wide(self) -> Flags {
        Flags(self.0 | WIDE)
    }
    /// Whether the word of the frame says where what it carries lies.
    #[inline]
    pub const fn is_wide(self) -> bool {
        self.0 & WIDE != 0
    }
    /// The flags of a frame with a [`Tag`](crate::Tag). What it carries beside is where the tag is: it is wide.
    #[inline]
    pub const fn tagged(self) -> Flags {
        Flags(self.0 | TAGGED | WIDE)
    }
    /// The flags without tag and header.
    #[inline]
    pub const fn narrow(self) -> Flags {
        Flags(self.0 & !(TAGGED | WIDE))
    }
    /// Whether it has a [`Tag`](crate::Tag).
    #[inline]
    pub const fn is_tagged(self) -> bool {
        self.0 & TAGGED != 0
    }
    /// The flags of a frame that others of its virtual channel may pass while it lacks credits.
    #[inline]
    pub const fn bypassable(self, it_is: bool) -> Flags {
        if it_is { Flags(self.0 | BYPASSABLE) } else { self }
    }
    /// Whether others of its virtual channel may pass it.
    #[inline]
    pub const fn is_bypassable(self) -> bool {
        self.0 & BYPASSABLE != 0
    }
    /// Whether whoever receives the frame has nothing to do but to count it.
    #[inline]
    pub const fn is_plain(self) -> bool {
        self.0 & (KIND << KIND_SHIFT | TAGGED) == 0
    }
    /// Whether an endpoint sends such frames to another one, and it has no tag.
    #[inline]
    pub const fn is_of_endpoint(self) -> bool {
        const THOSE: u8 = 1 << FrameKind::Data as u8
            | 1 << FrameKind::Ack as u8
            | 1 << FrameKind::MarkedAck as u8
            | 1 << FrameKind::Cnp as u8;
        THOSE >> (self.0 >> KIND_SHIFT & KIND) & 1 != 0 && !self.is_tagged()
    }
    /// The bits, for fingerprints.
    #[inline]
    pub const fn bits(self) -> u8 {
        self.0
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const KINDS: [FrameKind; 7] = [
        FrameKind::Raw,
        FrameKind::Data,
        FrameKind::Ack,
        FrameKind::MarkedAck,
        FrameKind::Cnp,
        FrameKind::Cnm,
        FrameKind::Tag,
    ];

    #[test]
    fn flags_say_what_they_were_made_from() {
        for kind in KINDS {
            for ecn in [Ecn::NotCapable, Ecn::Capable1, Ecn::Capable, Ecn::Experienced] {
                let flags = Flags::new(kind, ecn);
                assert_eq!((flags.kind(), flags.ecn(), flags.is_wide()), (kind, ecn, false));
                let wide = flags.wide();
                assert_eq!((wide.kind(), wide.ecn(), wide.is_wide()), (kind, ecn, true));
                let tagged = flags.tagged();
                assert_eq!((tagged.kind(), tagged.ecn(), tagged.is_wide()), (kind, ecn, true));
                let pushed_or_told = matches!(kind, FrameKind::Raw | FrameKind::Cnm | FrameKind::Tag);
                assert_eq!((flags.is_of_endpoint(), tagged.is_of_endpoint()), (!pushed_or_told, false));
                assert_eq!((flags.is_plain(), tagged.is_plain()), (kind == FrameKind::Raw, false));
                let originated = matches!(kind, FrameKind::Cnp | FrameKind::Cnm | FrameKind::Tag);
                assert_eq!((flags.is_originated(), tagged.is_originated()), (originated, originated));
                assert!(tagged.is_tagged() && !wide.is_tagged() && tagged.narrow() == flags);
                let bypassable = tagged.bypassable(true);
                assert!(bypassable.is_bypassable() && !tagged.is_bypassable());
                assert_eq!((bypassable.kind(), bypassable.narrow().ecn()), (kind, ecn));
                assert_eq!(flags.bypassable(true).is_plain(), flags.is_plain());
            }
        }
        assert_eq!(Flags::default(), Flags::new(FrameKind::Raw, Ecn::NotCapable));
    }

    #[test]
    fn only_capable_frames_are_marked() {
        let mut flags = Flags::new(FrameKind::Data, Ecn::NotCapable);
        assert!(!flags.mark() && flags.ecn() == Ecn::NotCapable);
        for ecn in [Ecn::Capable, Ecn::Capable1, Ecn::Experienced] {
            let mut flags = Flags::new(FrameKind::Data, ecn);
            assert!(flags.mark());
            assert_eq!((flags.kind(), flags.ecn()), (FrameKind::Data, Ecn::Experienced));
        }
    }
}
