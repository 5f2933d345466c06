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

/// Minimum length of an Ethernet frame in bytes, DA to FCS (IEEE 802.3 clause 4.4.2).
pub const MIN_FRAME_BYTES: u16 = 64;
/// Maximum length of a VLAN-tagged frame without jumbo support, in bytes.
pub const MAX_TAGGED_FRAME_BYTES: u16 = 1522;
/// Line overhead of each frame in bytes: preamble and start delimiter (8 B), and inter-frame gap (12 B).
pub const LINE_OVERHEAD_BYTES: u64 = 20;
/// Length of a MAC Control frame (PAUSE or PFC) in bytes, DA to FCS.
pub const CONTROL_FRAME_BYTES: u16 = 64;
/// Bytes of the Ethernet header, without a VLAN tag, and of the FCS.
pub const HEADER_BYTES: u16 = 18;
/// Priorities of IEEE 802.1Q.
pub const PRIORITIES: usize = 8;
/// Maximum number of virtual channels of a link with credit-based flow control (Martinez 2006 section 2).
pub const CHANNELS: usize = 20;

/// Iterates over the members of a bit set of priorities or classes, in ascending order.
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
            /// Returns the index as `usize`, for slices.
            #[inline]
            pub const fn at(self) -> usize {
                self.0 as usize
            }
        }
    };
}

index!(
    /// Number of a host or a switch, in the order of the scenario.
    NodeId(u32)
);
index!(
    /// Number of a port, which is one end of one link. The ports of a node are consecutive.
    PortId(u32)
);
index!(
    /// Number of a flow, which has one sending host, and one name in the result.
    FlowId(u32)
);
index!(
    /// Number of the path of one flow to one of its destinations.
    PathId(u32)
);
index!(
    /// IEEE 802.1Q priority, 0 to 7. On links with more channels than priorities: number of a channel, 0 to 19.
    Priority(u8)
);
index!(
    /// Traffic class of a port: number of the queue that one or more priorities share, 0 to 7, or of the queue of a
    /// channel, 0 to 19.
    TrafficClass(u8)
);

/// A frame in a queue or on a wire.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Frame {
    /// Time at which its node created the frame. Latency is measured from this time.
    pub created: Time,
    /// Path of the flow or connection that the frame belongs to.
    pub path: PathId,
    /// Next hop.
    pub route: Route,
    /// Payload word, by kind: a sequence number or an acknowledgement number. In a wide frame: the position of the
    /// other contents. 0 in a raw frame.
    pub word: u32,
    /// Length in bytes from DA to FCS.
    pub bytes: u16,
    /// Priority, kind and ECN bits, and flags.
    pub flags: Flags,
}

impl Frame {
    /// Number of low bits of an endpoint's word that hold the packet number; the bits above them are flags.
    pub const NUMBER_BITS: u32 = 24;

    /// Returns the priority or channel.
    #[inline(always)]
    pub const fn priority(&self) -> Priority {
        self.flags.priority()
    }
    /// Returns the frame with another priority.
    #[inline(always)]
    #[must_use]
    pub const fn at(self, priority: Priority) -> Frame {
        Frame { flags: self.flags.at(priority), ..self }
    }
}

/// Map from priorities to the traffic classes of a port.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct ClassMap {
    /// Four bits per priority, those of priority 0 lowest, so that the map is small enough to be stored with each port.
    /// Three of the bits are the class. The fourth bit of priority 0 is set if there are [`CHANNELS`] classes.
    packed: u32,
}

const CLASS_BITS: u32 = 4;
const CHANNELS_TOO: u32 = 0b1000;

impl ClassMap {
    /// One class for all priorities.
    pub const SHARED: ClassMap = ClassMap { packed: 0 };
    /// One class per priority.
    pub const SEPARATE: ClassMap = ClassMap { packed: 0x7654_3210 };

    /// One class per channel.
    pub const CHANNELS: ClassMap = ClassMap { packed: ClassMap::SEPARATE.packed | CHANNELS_TOO };

    /// Creates a map from each priority `p` to class `class_of[p]`; `None` if a class is above 7.
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
    /// Returns the range of the priorities, or channels, that the map covers.
    pub fn numbers(&self) -> std::ops::Range<u8> {
        0..if self.packed & CHANNELS_TOO != 0 { CHANNELS as u8 } else { PRIORITIES as u8 }
    }
    /// Returns the classes of a set of priorities (bit n for priority n) as a bit set, bit n for class n.
    #[inline]
    pub fn classes_of(&self, priorities: impl Into<u32>) -> u32 {
        let (mut priorities, mut classes) = (priorities.into(), 0);
        while priorities != 0 {
            classes |= 1 << self.class(Priority(priorities.trailing_zeros() as u8)).0;
            priorities &= priorities - 1;
        }
        classes
    }
    /// Returns the priorities of a class as a bit set, bit n for priority n. Used for pauses and watchdogs, which do
    /// not apply to channels beyond the priorities.
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
        // Four bits per priority. The XOR is 0 for the priorities of the class, and 1 to 7 for all others.
        let unlike = (self.packed & 0x7777_7777) ^ (class.0 as u32 * 0x1111_1111);
        let alike = ((0x8888_8888 - unlike) & 0x8888_8888) >> 3;
        // Gathers one bit of each group of four: into pairs, then fours, then eights.
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
