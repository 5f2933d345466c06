//! What can happen at a node.

use engine::Windows;
use frame::{Frame, PathId, Priority};
use units::Time;

/// The kinds of events, in the order in which they happen at one node at one time: a port that has become
/// free decides before the frame that arrives in the same instant is looked at, so that a port that
/// decides lazily and one that decides eagerly come to the same result; a pause frame acts before data
/// that arrives with it; sources and timers see what has arrived.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
#[repr(u8)]
pub(crate) enum Kind {
    /// A port may send again.
    #[default]
    Decide = 0,
    /// A pause frame takes effect at a port.
    Pause = 1,
    /// A frame has arrived through a port.
    Frame = 2,
    /// The first bytes of a frame have arrived through a port of a cut-through switch.
    Head = 3,
    /// A source is due.
    Source = 4,
    /// A pause that was sent through a port has to be renewed.
    Renew = 5,
    /// What was on its way to a port does not arrive, or arrives damaged.
    Broken = 6,
    /// A host has taken in a frame that came through a port.
    Served = 7,
    /// A fault of the scenario begins or ends at a port, or routes change for a source.
    Fault = 8,
    /// A watchdog looks at the queues of a port.
    Watch = 9,
}

/// What happens to a frame on its way.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[repr(u8)]
pub(crate) enum Harm {
    /// The link went down, or is.
    LinkDown = 0,
    /// A switch at one end restarts.
    Restart = 1,
    /// Bits are wrong.
    BitError = 2,
}

/// The events to come.
pub(crate) type Queued = Windows<Event>;

/// An event: 32 bytes, with the frame in it.
#[derive(Clone, Copy, Debug, Default)]
pub(crate) struct Event {
    pub time: Time,
    born: Time,
    path: u32,
    next_hop: u32,
    /// The port; for a source, its number behind the last port.
    pub place: u32,
    bytes: u16,
    priority: u8,
    pub kind: Kind,
}

impl Event {
    /// Ports and sources that can be told apart within a key.
    pub const MAX_PLACES: usize = 1 << 22;

    /// Something that needs no frame.
    pub fn bare(kind: Kind, time: Time, place: u32) -> Event {
        Event { time, born: Time::ZERO, path: 0, next_hop: 0, place, bytes: 0, priority: 0, kind }
    }
    /// A frame, or its head, arrives.
    #[inline]
    pub fn arrival(kind: Kind, time: Time, port: u32, frame: Frame) -> Event {
        Event {
            time,
            born: frame.born,
            path: frame.path.0,
            next_hop: frame.next_hop,
            place: port,
            bytes: frame.bytes,
            priority: frame.priority.0,
            kind,
        }
    }
    /// An entry of the table of faults: the first action and how many there are.
    pub fn fault(time: Time, place: u32, first: u32, count: u32) -> Event {
        Event { path: first, next_hop: count, ..Event::bare(Kind::Fault, time, place) }
    }
    /// The actions of [`Event::fault`].
    pub fn actions(&self) -> std::ops::Range<usize> {
        self.path as usize..(self.path + self.next_hop) as usize
    }
    /// A frame that is lost on its way to the port where it would have arrived, and why.
    pub fn broken(time: Time, port: u32, frame: Frame, harm: Harm) -> Event {
        // It goes no further: the place of its next hop is free.
        Event { next_hop: harm as u32, ..Event::arrival(Kind::Broken, time, port, frame) }
    }
    /// Why the frame of [`Event::broken`] is lost.
    pub fn harm(&self) -> Harm {
        match self.next_hop {
            0 => Harm::LinkDown,
            1 => Harm::Restart,
            _ => Harm::BitError,
        }
    }
    /// The frame that arrives.
    #[inline]
    pub fn frame(&self) -> Frame {
        Frame {
            born: self.born,
            path: PathId(self.path),
            next_hop: self.next_hop,
            bytes: self.bytes,
            priority: Priority(self.priority),
        }
    }
    /// A pause frame: its signal and quanta, and the number of the cause that the sender noted.
    pub fn pause(
        time: Time,
        port: u32,
        signal: flow_control::pause::PauseSignal,
        quanta: u16,
        cause: u64,
    ) -> Event {
        Event {
            time,
            born: Time::from_ps(cause),
            path: u32::from(signal.xoff),
            next_hop: u32::from(signal.xon),
            place: port,
            bytes: quanta,
            priority: 0,
            kind: Kind::Pause,
        }
    }
    /// The signal, quanta and cause of a pause frame.
    pub fn signal(&self) -> (flow_control::pause::PauseSignal, u16, u64) {
        let signal = flow_control::pause::PauseSignal { xoff: self.path as u8, xon: self.next_hop as u8 };
        (signal, self.bytes, self.born.ps())
    }
    /// The part of the event that a trajectory's fingerprint is made of.
    #[inline]
    pub fn digest(&self) -> u64 {
        let frame =
            u64::from(self.path) << 32 | u64::from(self.bytes) << 16 | u64::from(self.next_hop) & 0xFFFF;
        let place = u64::from(self.place) << 8 | u64::from(self.kind as u8);
        self.time.ps().wrapping_mul(0x9e37_79b9_7f4a_7c15) ^ frame.rotate_left(17) ^ place
    }
}

impl engine::Event for Event {
    #[inline]
    fn time(&self) -> Time {
        self.time
    }
    #[inline]
    fn order(&self) -> u32 {
        (self.kind as u32) << 22 | self.place
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_broken_frame_knows_why() {
        let frame =
            Frame { born: Time::ZERO, path: PathId(7), next_hop: 9, bytes: 64, priority: Priority(5) };
        for harm in [Harm::LinkDown, Harm::Restart, Harm::BitError] {
            let event = Event::broken(Time::from_ns(1), 3, frame, harm);
            assert_eq!(
                (event.harm(), event.frame().priority, event.frame().path),
                (harm, Priority(5), PathId(7))
            );
        }
        assert_eq!(Event::fault(Time::ZERO, 1, 4, 3).actions(), 4..7);
    }

    #[test]
    fn an_event_is_half_a_cache_line() {
        assert_eq!(size_of::<Event>(), 32);
    }
}
