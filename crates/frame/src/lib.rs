//! What travels through a fabric, and the typed indices that name its places.
//!
//! A [`Frame`] is a small plain value (24 bytes): it is copied from link to queue to link, never
//! shared. What all frames of a flow have in common lives with the flow, not in the frame.

mod flags;
mod occupancy;
mod route;

pub use flags::{Ecn, Flags, FrameKind};
pub use occupancy::Occupancy;
pub use route::{Heading, Route};

use units::Time;

/// The smallest Ethernet frame, DA to FCS (IEEE 802.3 clause 4.4.2).
pub const MIN_FRAME_BYTES: u16 = 64;
/// The largest VLAN-tagged frame without jumbo support.
pub const MAX_TAGGED_FRAME_BYTES: u16 = 1522;
/// Preamble, start delimiter (8 B) and inter-frame gap (12 B) around every frame on a wire.
pub const LINE_OVERHEAD_BYTES: u64 = 20;
/// A MAC Control frame (PAUSE or PFC), DA to FCS.
pub const CONTROL_FRAME_BYTES: u16 = 64;
/// Ethernet header and FCS without a tag: what a frame carries beside its payload.
pub const HEADER_BYTES: u16 = 18;
/// Priorities of IEEE 802.1Q.
pub const PRIORITIES: usize = 8;

macro_rules! index {
    ($(#[$doc:meta])* $name:ident($inner:ty)) => {
        $(#[$doc])*
        #[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Debug, Default)]
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
    /// The way of one flow to one of its destinations.
    PathId(u32)
);
index!(
    /// A priority of IEEE 802.1Q, 0 to 7.
    Priority(u8)
);
index!(
    /// A traffic class of a port: the queue that one or more priorities share, 0 to 7.
    TrafficClass(u8)
);

/// A frame in a queue or on a wire.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Frame {
    /// When its node made it; latency counts from here.
    pub created: Time,
    /// The path of the flow or connection that it belongs to.
    pub path: PathId,
    /// Where it goes next.
    pub route: Route,
    /// What it carries: a sequence number, an acknowledgement, a feedback, by its kind. 0 in a raw frame.
    pub word: u32,
    /// Length in bytes from DA to FCS.
    pub bytes: u16,
    /// Its priority.
    pub priority: Priority,
    /// Its kind and its ECN bits.
    pub flags: Flags,
}

/// Which traffic class each priority uses at a port.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct ClassMap {
    class_of: [u8; PRIORITIES],
    classes: u8,
}

impl ClassMap {
    /// One class for all priorities.
    pub const SHARED: ClassMap = ClassMap { class_of: [0; PRIORITIES], classes: 1 };
    /// One class a priority.
    pub const SEPARATE: ClassMap = ClassMap { class_of: [0, 1, 2, 3, 4, 5, 6, 7], classes: 8 };

    /// The map that sends priority `p` to class `class_of[p]`; `None` if a class is above 7.
    pub fn new(class_of: [u8; PRIORITIES]) -> Option<ClassMap> {
        let highest = class_of.into_iter().max()?;
        (usize::from(highest) < PRIORITIES).then_some(ClassMap { class_of, classes: highest + 1 })
    }
    /// The class of a priority.
    #[inline]
    pub fn class(&self, priority: Priority) -> TrafficClass {
        TrafficClass(self.class_of[priority.at()])
    }
    /// How many classes there are.
    pub fn classes(&self) -> usize {
        usize::from(self.classes)
    }
    /// The priorities of a class as a bit set, bit n for priority n.
    pub fn priorities(&self, class: TrafficClass) -> u8 {
        (0..PRIORITIES).filter(|&p| self.class_of[p] == class.0).fold(0, |set, p| set | 1 << p)
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
        assert!(ClassMap::new([8; 8]).is_none());
    }

    #[test]
    fn a_frame_is_small() {
        assert_eq!(size_of::<Frame>(), 24);
    }
}
