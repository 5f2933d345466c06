//! The label of a frame: its priority, kind and ECN bits, and single-bit flags, in 16 bits.
//!
//! Frames are copied from link to queue to link, so a frame must stay at 24 B. A priority or channel takes 5 bits, the
//! flags 4, ECN 2; the remaining 5 bits hold 32 kinds. Only frames of the first 16 kinds can be trimmed; the highest of
//! the five bits then says whether the frame was trimmed on its last hop. Fields that only some frames need belong in a
//! [`Header`](crate::Header), whose size is not limited.

use crate::Priority;
use recurrence::Recurs;

/// Explicit congestion notification: the two bits of RFC 3168 section 5.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
#[repr(u8)]
pub enum Ecn {
    /// Not-ECT. A queue manager drops such frames where it would mark others.
    #[default]
    NotCapable = 0b00,
    /// ECT(1).
    Capable1 = 0b01,
    /// ECT(0), sent by ECN-capable transports.
    Capable = 0b10,
    /// CE: congestion experienced.
    Experienced = 0b11,
}

/// Purpose of a frame.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
#[repr(u8)]
pub enum FrameKind {
    /// Open-loop traffic without contents.
    #[default]
    Raw = 0,
    /// Data sent by an endpoint. The word is its sequence number.
    Data = 1,
    /// Acknowledgement sent by an endpoint. The word is its acknowledgement number.
    Ack = 2,
    /// Acknowledgement that echoes a CE mark (ECN echo).
    MarkedAck = 3,
    /// A congestion notification packet from a receiver.
    Cnp = 4,
    /// Congestion notification message from a switch: a [`Notice`](crate::Notice).
    Cnm = 5,
    /// The [`Tag`](crate::Tag) of a frame, which its receiver returns.
    Tag = 6,
    /// Part of a transfer, or of a stream, sent by a source without a transport. The word is its number among the parts
    /// on its path.
    Part = 7,
}

/// Priority, kind and ECN bits of a frame, and single-bit flags. Equality includes the priority.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Recurs)]
pub struct Flags(u16);

const PRIORITY: u16 = (1 << 5) - 1;
const WIDE: u16 = 1 << 5;
const TAGGED: u16 = 1 << 6;
const BYPASSABLE: u16 = 1 << 7;
const ECN_SHIFT: u32 = 8;
const ECN: u16 = 0b11 << ECN_SHIFT;
const KIND_SHIFT: u32 = 10;
const KIND_BITS: u32 = 5;
const KIND: u16 = ((1 << KIND_BITS) - 1) << KIND_SHIFT;
const TRIMMED: u16 = 1 << (KIND_SHIFT + KIND_BITS);
/// Set if the frame was trimmed on its last hop.
const AT_LAST_HOP: u16 = TRIMMED >> 1;

/// All kinds, by number.
const KINDS: [FrameKind; 8] = [
    FrameKind::Raw,
    FrameKind::Data,
    FrameKind::Ack,
    FrameKind::MarkedAck,
    FrameKind::Cnp,
    FrameKind::Cnm,
    FrameKind::Tag,
    FrameKind::Part,
];

/// Kind by the highest six bits of a label: untrimmed, trimmed, and trimmed on the last hop.
const KIND_OF: [FrameKind; 64] = {
    let mut all = [FrameKind::Part; 64];
    let mut kind = 0;
    while kind < KINDS.len() {
        (all[kind], all[32 + kind], all[48 + kind]) = (KINDS[kind], KINDS[kind], KINDS[kind]);
        kind += 1;
    }
    all
};

/// Position at which a frame lost its payload to packet trimming.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Recurs)]
pub enum Trim {
    /// Not trimmed.
    #[default]
    Whole,
    /// Trimmed by a switch within the fabric.
    Trimmed,
    /// Trimmed at the egress port to the receiver, because of incast, which no other path avoids.
    AtLastHop,
}

impl Flags {
    /// Creates the label of a frame with priority 0.
    #[inline]
    pub const fn new(kind: FrameKind, ecn: Ecn) -> Flags {
        Flags((kind as u16) << KIND_SHIFT | (ecn as u16) << ECN_SHIFT)
    }
    /// Returns the label with this priority or channel, 0 to 31.
    #[inline(always)]
    #[must_use]
    pub const fn at(self, priority: Priority) -> Flags {
        debug_assert!(priority.0 as u16 <= PRIORITY, "a priority of more than 5 bits");
        Flags(self.0 & !PRIORITY | priority.0 as u16 & PRIORITY)
    }
    /// Returns the priority or channel.
    #[inline(always)]
    pub const fn priority(self) -> Priority {
        Priority((self.0 & PRIORITY) as u8)
    }
    /// Returns true for a raw frame without ECN, header or flag, of any priority.
    #[inline(always)]
    pub const fn is_unlabelled(self) -> bool {
        self.0 & !PRIORITY == 0
    }
    /// Returns the purpose of the frame.
    #[inline]
    pub const fn kind(self) -> FrameKind {
        KIND_OF[(self.0 >> KIND_SHIFT) as usize]
    }
    /// Returns true if the kind is in this set, one bit per kind.
    #[inline]
    const fn is_among(self, kinds: u32) -> bool {
        // The kinds of trimmed frames are the first sixteen, twice.
        let trimmed = (kinds & 0xffff) as u64 * 0x1_0001;
        (kinds as u64 | trimmed << 32) >> (self.0 >> KIND_SHIFT) & 1 != 0
    }
    /// Returns the label of the frame after a switch has trimmed its payload. Frames of the kinds from the seventeenth
    /// on are not trimmed.
    #[inline]
    #[must_use]
    pub const fn trimmed(self, at_last_hop: bool) -> Flags {
        if self.0 & AT_LAST_HOP != 0 {
            return self;
        }
        Flags(self.0 | TRIMMED | if at_last_hop { AT_LAST_HOP } else { 0 })
    }
    /// Returns true if a switch has trimmed the payload of the frame.
    #[inline(always)]
    pub const fn is_trimmed(self) -> bool {
        self.0 & TRIMMED != 0
    }
    /// Returns where the frame was trimmed.
    #[inline]
    pub const fn trim(self) -> Trim {
        match self.0 & (TRIMMED | AT_LAST_HOP) {
            TRIMMED => Trim::Trimmed,
            0 | AT_LAST_HOP => Trim::Whole,
            _ => Trim::AtLastHop,
        }
    }
    /// Returns true if sources without a transport send frames of this kind; no endpoint sends or expects them.
    #[inline]
    pub const fn is_pushed(self) -> bool {
        self.is_among(1 << FrameKind::Raw as u8 | 1 << FrameKind::Part as u8)
    }
    /// Returns true if a node originates frames of this kind itself (CNPs, congestion notification messages, returned
    /// tags). Such frames enter a queue without being pulled from an endpoint, a rate limiter or a source.
    #[inline]
    pub const fn is_originated(self) -> bool {
        self.is_among(1 << FrameKind::Cnp as u8 | 1 << FrameKind::Cnm as u8 | 1 << FrameKind::Tag as u8)
    }
    /// Returns the ECN bits.
    #[inline]
    pub const fn ecn(self) -> Ecn {
        match self.0 >> ECN_SHIFT & 0b11 {
            0b00 => Ecn::NotCapable,
            0b01 => Ecn::Capable1,
            0b10 => Ecn::Capable,
            _ => Ecn::Experienced,
        }
    }
    /// Sets CE. Returns false, without side effects, if the transport of the frame is not ECN-capable.
    #[inline]
    #[must_use]
    pub const fn mark(&mut self) -> bool {
        if self.0 & ECN == 0 {
            return false;
        }
        self.0 |= ECN;
        true
    }
    /// Returns the label with the flag of a frame that has contents in addition to its word.
    #[inline]
    pub const fn wide(self) -> Flags {
        Flags(self.0 | WIDE)
    }
    /// Returns true if the frame has such contents, and its word is their position.
    #[inline]
    pub const fn is_wide(self) -> bool {
        self.0 & WIDE != 0
    }
    /// Returns the label of a frame with a [`Tag`](crate::Tag). The frame is then wide: the rest of its contents is
    /// stored with the tag.
    #[inline]
    pub const fn tagged(self) -> Flags {
        Flags(self.0 | TAGGED | WIDE)
    }
    /// Returns the label without the flags of tag and header.
    #[inline]
    pub const fn narrow(self) -> Flags {
        Flags(self.0 & !(TAGGED | WIDE))
    }
    /// Returns true if the frame has a [`Tag`](crate::Tag).
    #[inline]
    pub const fn is_tagged(self) -> bool {
        self.0 & TAGGED != 0
    }
    /// Returns the label with the flag that lets other frames of the virtual channel overtake this one while it lacks
    /// credits.
    #[inline]
    pub const fn bypassable(self, it_is: bool) -> Flags {
        if it_is { Flags(self.0 | BYPASSABLE) } else { self }
    }
    /// Returns true if other frames of the virtual channel may overtake this one.
    #[inline]
    pub const fn is_bypassable(self) -> bool {
        self.0 & BYPASSABLE != 0
    }
    /// Returns true if the receiver only needs to count the frame.
    #[inline]
    pub const fn is_plain(self) -> bool {
        self.0 & (KIND | TAGGED | TRIMMED) == 0
    }
    /// Returns true if an endpoint sends frames of this kind to another endpoint, and the frame has no tag.
    #[inline]
    pub const fn is_of_endpoint(self) -> bool {
        const THOSE: u32 = 1 << FrameKind::Data as u8
            | 1 << FrameKind::Ack as u8
            | 1 << FrameKind::MarkedAck as u8
            | 1 << FrameKind::Cnp as u8;
        self.is_among(THOSE) && !self.is_tagged()
    }
    /// Returns kind, ECN bits and flags, without the priority, for fingerprints. For untrimmed frames of the first
    /// eight kinds they take the low eight bits. Bits 8 to 52 are 0.
    #[inline]
    pub const fn digest(self) -> u64 {
        const LOW: u16 = 0b1_1111;
        const FLAGS: u16 = WIDE | TAGGED | BYPASSABLE;
        let high = (self.0 >> (KIND_SHIFT + 3)) as u64;
        (self.0 >> ECN_SHIFT & LOW | self.0 & FLAGS) as u64 | high << 53
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Number of kinds that the bits can represent.
    const ROOM: u32 = 1 << KIND_BITS;

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
                let pushed_or_told =
                    matches!(kind, FrameKind::Raw | FrameKind::Part | FrameKind::Cnm | FrameKind::Tag);
                assert_eq!((flags.is_of_endpoint(), tagged.is_of_endpoint()), (!pushed_or_told, false));
                assert_eq!((flags.is_plain(), tagged.is_plain()), (kind == FrameKind::Raw, false));
                let originated = matches!(kind, FrameKind::Cnp | FrameKind::Cnm | FrameKind::Tag);
                assert_eq!((flags.is_originated(), tagged.is_originated()), (originated, originated));
                assert!(tagged.is_tagged() && !wide.is_tagged() && tagged.narrow() == flags);
                let bypassable = tagged.bypassable(true);
                assert!(bypassable.is_bypassable() && !tagged.is_bypassable());
                assert_eq!((bypassable.kind(), bypassable.narrow().ecn()), (kind, ecn));
                assert_eq!(flags.bypassable(true).is_plain(), flags.is_plain());
                let at = bypassable.at(Priority(19));
                assert_eq!((at.priority(), at.kind(), at.ecn()), (Priority(19), kind, ecn));
                assert!(at.is_tagged() && at.is_bypassable() && at.at(Priority(0)) == bypassable);
                assert_eq!((at.digest(), at.narrow().priority()), (bypassable.digest(), Priority(19)));
                assert_eq!(flags.at(Priority(7)).is_unlabelled(), flags == Flags::default());
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

    #[test]
    fn digests_tell_labels_apart_and_have_their_bits() {
        let mut seen = std::collections::BTreeSet::new();
        // Includes trimmed frames.
        for kind in 0..2 * ROOM as u16 {
            for low in 0..1 << (KIND_SHIFT - WIDE.trailing_zeros()) {
                let digest = Flags(kind << KIND_SHIFT | low << WIDE.trailing_zeros()).digest();
                assert!(seen.insert(digest) && digest << 11 >> 19 == 0);
            }
        }
        let tagged = Flags::new(FrameKind::Part, Ecn::Experienced).tagged().bypassable(true);
        assert_eq!(tagged.digest(), 0b1111_1111);
    }

    #[test]
    fn a_trimmed_frame_keeps_its_label() {
        for kind in KINDS {
            let whole = Flags::new(kind, Ecn::Experienced).tagged().at(Priority(5));
            for (at_last_hop, trim) in [(false, Trim::Trimmed), (true, Trim::AtLastHop)] {
                let cut = whole.trimmed(at_last_hop);
                assert_eq!((cut.kind(), cut.ecn(), cut.priority()), (kind, Ecn::Experienced, Priority(5)));
                assert!(cut.is_tagged() && cut.is_trimmed() && !cut.is_plain() && !whole.is_trimmed());
                assert_eq!((cut.trim(), whole.trim()), (trim, Trim::Whole));
                assert_eq!(cut.narrow().is_of_endpoint(), whole.narrow().is_of_endpoint());
                assert_eq!(cut.at(Priority(2)).trim(), trim);
            }
        }
    }

    #[test]
    fn kinds_have_room_for_twelve_more() {
        assert!(ROOM as usize >= KINDS.len() + 12);
        assert!(KINDS.iter().enumerate().all(|(number, &kind)| kind as usize == number));
    }
}
