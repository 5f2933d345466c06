//! Frames, their contents, and the typed indices of a fabric's components.
//!
//! A [`Frame`] is a small plain value (24 bytes): it is copied from link to queue to link, never shared.
//! Properties that all frames of a flow have in common are stored with the flow, not in the frame.
//!
//! ```
//! use frame::{Ecn, Flags, Frame, FrameKind, MIN_FRAME_BYTES, Priority, members};
//!
//! // The priorities of a PFC enable vector, from the lowest.
//! assert_eq!(members(0b0000_1001_u8).collect::<Vec<_>>(), [0, 3]);
//!
//! let frame = Frame { bytes: MIN_FRAME_BYTES, flags: Flags::new(FrameKind::Raw, Ecn::NotCapable).at(Priority(3)), ..Frame::default() };
//! assert_eq!((frame.flags.priority(), frame.flags.kind()), (Priority(3), FrameKind::Raw));
//! assert_eq!(size_of::<Frame>(), 24);
//! ```

#![warn(clippy::too_many_lines)]

mod flags;
mod header;
mod occupancy;
mod ports;
mod route;
mod tag;
mod telemetry;

pub use flags::{Ecn, Flags, FrameKind, Trim};
pub use header::{Header, MaybeTime, MessageHeader, RdmaHeader, TcpHeader, UetHeader, UetPacket};
pub use occupancy::Occupancy;
pub use ports::Ports;
pub use route::{Heading, Route};
pub use tag::{LevelsOn, Notice, PathNews, PointId, Sampled, Tag};
pub use telemetry::{MOST_STAMPS, Stamp, Stamps, Telemetry};

use units::Time;

/// The smallest Ethernet frame, DA to FCS (IEEE 802.3 clause 4.4.2).
pub const MIN_FRAME_BYTES: u16 = 64;
/// The largest VLAN-tagged frame without jumbo support.
pub const MAX_TAGGED_FRAME_BYTES: u16 = 1522;
/// Preamble, start delimiter (8 B) and inter-frame gap (12 B) around every frame on a wire.
pub const LINE_OVERHEAD_BYTES: u64 = 20;
/// A MAC Control frame (PAUSE or PFC), DA to FCS.
pub const CONTROL_FRAME_BYTES: u16 = 64;
/// Ethernet header and FCS without a tag: the bytes of a frame in addition to its payload.
pub const HEADER_BYTES: u16 = 18;
/// Priorities of IEEE 802.1Q.
pub const PRIORITIES: usize = 8;
/// Virtual channels that a link with credits can have (Martinez 2006 section 2).
pub const CHANNELS: usize = 20;

/// The members of a set of priorities or classes that has bit n for number n, from the lowest.
#[inline]
pub fn members(set: impl Into<u32>) -> impl Iterator<Item = usize> {
    let mut set = set.into();
    std::iter::from_fn(move || {
        let lowest = set.trailing_zeros();
        set &= set.wrapping_sub(1);
        (lowest < u32::BITS).then_some(lowest as usize)
    })
}

macro_rules! index {
    ($(#[$doc:meta])* $name:ident($inner:ty)) => {
        $(#[$doc])*
        #[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Debug, Default, recurrence::Recurs)]
        pub struct $name(pub $inner);

        impl $name {
            /// The index for a slice.
            #[inline]
            pub const fn at(self) -> usize {
                self.0 as usize
            }
        }
    };
}

index!(
    /// A host or a switch, in the order of the scenario.
    NodeId(u32)
);
index!(
    /// One end of one link. Ports of a node are consecutive.
    PortId(u32)
);
index!(
    /// A flow: one sending host, one name in the result.
    FlowId(u32)
);
index!(
    /// The path of one flow to one of its destinations.
    PathId(u32)
);
index!(
    /// A priority of IEEE 802.1Q, 0 to 7. Where links have more channels than there are priorities, the number of a
    /// channel: 0 to 19.
    Priority(u8)
);
index!(
    /// A traffic class of a port: the queue that one or more priorities share, 0 to 7; or that of a channel, 0 to 19.
    TrafficClass(u8)
);

/// A frame in a queue or on a wire.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Frame {
    /// Time at which its node created it; latency counts from here.
    pub created: Time,
    /// The path of the flow or connection that it belongs to.
    pub path: PathId,
    /// Next step of its path.
    pub route: Route,
    /// Payload word: by kind, a sequence number or an acknowledgement; in a wide frame, the position of the other contents. 0 in a raw
    /// frame.
    pub word: u32,
    /// Length in bytes from DA to FCS.
    pub bytes: u16,
    /// Its priority, kind and ECN bits.
    pub flags: Flags,
}

impl Frame {
    /// Bits of the number of a packet in the word of an endpoint, the lowest; above them are flags.
    pub const NUMBER_BITS: u32 = 24;

    /// Returns its priority or channel.
    #[inline(always)]
    pub const fn priority(&self) -> Priority {
        self.flags.priority()
    }
    /// Returns the frame at another priority.
    #[inline(always)]
    #[must_use]
    pub const fn at(self, priority: Priority) -> Frame {
        Frame { flags: self.flags.at(priority), ..self }
    }
}

/// Map from priorities to the traffic classes of a port.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct ClassMap {
    /// Four bits per priority, the lowest for priority 0: small enough to be stored with a port. Three of them are the class; the fourth of
    /// priority 0 is set if there are [`CHANNELS`] classes.
    packed: u32,
}

const CLASS_BITS: u32 = 4;
const CHANNELS_TOO: u32 = 0b1000;

impl ClassMap {
    /// One class for all priorities.
    pub const SHARED: ClassMap = ClassMap { packed: 0 };
    /// One class per priority.
    pub const SEPARATE: ClassMap = ClassMap { packed: 0x7654_3210 };

    /// One class per channel: numbers beyond the priorities are those of their classes.
    pub const CHANNELS: ClassMap = ClassMap { packed: ClassMap::SEPARATE.packed | CHANNELS_TOO };

    /// The map that sends priority `p` to class `class_of[p]`; `None` if a class is above 7.
    pub fn new(class_of: [u8; PRIORITIES]) -> Option<ClassMap> {
        let highest = class_of.into_iter().max()?;
        let pack = |packed, &class: &u8| packed << CLASS_BITS | u32::from(class);
        (usize::from(highest) < PRIORITIES).then(|| ClassMap { packed: class_of.iter().rev().fold(0, pack) })
    }
    /// Returns the class of a priority or channel.
    #[inline]
    pub const fn class(&self, priority: Priority) -> TrafficClass {
        if priority.0 as usize >= PRIORITIES {
            debug_assert!(self.packed & CHANNELS_TOO != 0);
            return TrafficClass(priority.0);
        }
        self.class_of_priority(priority)
    }
    /// Variant of `class` for links without channels beyond the priorities.
    #[inline(always)]
    pub const fn class_of_priority(&self, priority: Priority) -> TrafficClass {
        debug_assert!((priority.0 as usize) < PRIORITIES);
        TrafficClass((self.packed >> (priority.0 as u32 * CLASS_BITS % u32::BITS)) as u8 & 7)
    }
    /// Returns the number of classes: one more than the highest.
    pub fn classes(&self) -> usize {
        self.numbers().map(|p| self.class(Priority(p)).at() + 1).max().unwrap_or(1)
    }
    /// Returns the priorities, or channels, that it maps.
    pub fn numbers(&self) -> std::ops::Range<u8> {
        0..if self.packed & CHANNELS_TOO != 0 { CHANNELS as u8 } else { PRIORITIES as u8 }
    }
    /// Returns the classes of these priorities (bit n for priority n), bit n for class n.
    #[inline]
    pub fn classes_of(&self, priorities: impl Into<u32>) -> u32 {
        let (mut priorities, mut classes) = (priorities.into(), 0);
        while priorities != 0 {
            classes |= 1 << self.class(Priority(priorities.trailing_zeros() as u8)).0;
            priorities &= priorities - 1;
        }
        classes
    }
    /// Returns the priorities of a class as a bit set, bit n for priority n. Pauses and watchdogs use it: no channel beyond the priorities
    /// is paused.
    pub fn priorities(&self, class: TrafficClass) -> u8 {
        self.numbers_of(class) as u8
    }
    /// Returns the priorities or channels of a class as a bit set, bit n for number n.
    #[inline]
    pub const fn numbers_of(&self, class: TrafficClass) -> u32 {
        if class.at() >= PRIORITIES {
            let is_channel = self.packed & CHANNELS_TOO != 0 && class.at() < CHANNELS;
            return if is_channel { 1 << class.0 } else { 0 };
        }
        // Four bits per priority, none of which is above 7: the difference is below 8 for all, and 0 for
        // those of the class.
        let unlike = (self.packed & 0x7777_7777) ^ (class.0 as u32 * 0x1111_1111);
        let alike = ((0x8888_8888 - unlike) & 0x8888_8888) >> 3;
        // One bit of four each: they are combined into pairs, fours, and eights.
        let pairs = (alike | alike >> 3) & 0x0303_0303;
        let fours = pairs | pairs >> 6;
        fours & 0x0F | fours >> 12 & 0xF0
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn class_maps() {
        assert_eq!(ClassMap::SHARED.priorities(TrafficClass(0)), 0xFF);
        assert_eq!(ClassMap::SEPARATE.priorities(TrafficClass(3)), 0b1000);
        let two = ClassMap::new([0, 0, 0, 1, 0, 0, 0, 0]).unwrap();
        assert_eq!((two.classes(), two.class(Priority(3))), (2, TrafficClass(1)));
        assert_eq!(
            (two.classes_of(0b1000_u8), two.classes_of(0b101_u8), two.classes_of(0xFF_u8)),
            (0b10, 0b1, 0b11)
        );
        assert_eq!(
            (0..8).map(|p| ClassMap::SEPARATE.class(Priority(p)).0).collect::<Vec<_>>(),
            [0, 1, 2, 3, 4, 5, 6, 7]
        );
        assert_eq!((ClassMap::SHARED.classes(), ClassMap::SEPARATE.classes()), (1, 8));
        assert!(ClassMap::new([8; 8]).is_none());
        let all = ClassMap::CHANNELS;
        assert_eq!(
            (all.classes(), all.class(Priority(7)), all.class(Priority(19))),
            (20, TrafficClass(7), TrafficClass(19))
        );
        assert_eq!((all.priorities(TrafficClass(19)), all.numbers_of(TrafficClass(19))), (0, 1 << 19));
        assert_eq!(all.classes_of(0xF_0001_u32), 0xF_0001);
        assert_eq!(members(0x8_0005_u32).collect::<Vec<_>>(), [0, 2, 19]);
    }

    #[test]
    fn the_numbers_of_a_class_are_those_that_it_maps_to_it() {
        let maps = (0..2_000u32).map(|seed| {
            let class_of = std::array::from_fn(|p| (seed.wrapping_mul(0x9E37_79B9) >> (3 * p + 1) & 7) as u8);
            ClassMap::new(class_of).unwrap()
        });
        for map in maps.chain([ClassMap::SHARED, ClassMap::SEPARATE, ClassMap::CHANNELS]) {
            for class in (0..32).map(TrafficClass) {
                let own = map.numbers().filter(|&number| map.class(Priority(number)) == class);
                assert_eq!(
                    map.numbers_of(class),
                    own.fold(0, |set, number| set | 1 << number),
                    "{map:?} {class:?}"
                );
            }
        }
    }

    #[test]
    fn a_frame_is_small() {
        assert_eq!(size_of::<Frame>(), 24);
    }
}
