//! Tail drop: a frame that would exceed a limit is not taken.
//!
//! Limits can be set on a queue (one traffic class of one egress port), on a port, on a class over the
//! whole switch, and on the switch; each in bytes or in frames. A frame counts while it waits, from its
//! entry into the egress queue to the start of its transmission.
//!
//! Source: Hagen 2012 §7.3 (shared memory queue, 100 frames).
//!
//! Not modelled: memory cells (a frame takes its own length), and the memory that a frame occupies while
//! it is being transmitted.

use frame::Occupancy;
use units::Amount;

/// Limits of the memory of a switch. `None`: unlimited.
#[derive(Clone, Debug, PartialEq, Eq, Default)]
pub struct BufferSpec {
    /// All waiting frames of the switch.
    pub total: Option<Amount>,
    /// All waiting frames of one egress port.
    pub port: Option<Amount>,
    /// All waiting frames of one traffic class of the switch.
    pub class: Option<Amount>,
    /// Backlog frames of one queue: one traffic class of one egress port.
    pub queue: Option<Amount>,
}

/// What waits, seen from each of the limits.
#[derive(Clone, Copy, Debug, Default)]
pub struct Backlog {
    /// In the switch.
    pub total: Occupancy,
    /// At the port.
    pub port: Occupancy,
    /// In the class.
    pub class: Occupancy,
    /// In the queue.
    pub queue: Occupancy,
}

/// The limit that refused a frame.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Refusal {
    /// [`BufferSpec::queue`].
    Queue,
    /// [`BufferSpec::port`].
    Port,
    /// [`BufferSpec::class`].
    Class,
    /// [`BufferSpec::total`].
    Total,
}

impl BufferSpec {
    /// Whether there is no limit at all.
    #[inline]
    pub fn is_unlimited(&self) -> bool {
        *self == BufferSpec::default()
    }

    /// Whether a frame of `bytes` may enter; the narrowest limit is named first.
    #[inline]
    pub fn admit(&self, waiting: &Backlog, bytes: u16) -> Result<(), Refusal> {
        let limits = [
            (self.queue, waiting.queue, Refusal::Queue),
            (self.port, waiting.port, Refusal::Port),
            (self.class, waiting.class, Refusal::Class),
            (self.total, waiting.total, Refusal::Total),
        ];
        for (limit, occupancy, refusal) in limits {
            if let Some(limit) = limit
                && !occupancy.has_room(limit, bytes)
            {
                return Err(refusal);
            }
        }
        Ok(())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn queue(bytes: u64, frames: u64) -> Backlog {
        Backlog { queue: Occupancy { bytes, frames }, ..Backlog::default() }
    }

    #[test]
    fn frames_and_bytes() {
        let frames = BufferSpec { queue: Some(Amount::Frames(99)), ..BufferSpec::default() };
        // Golden vector 25: Hagen's LIMIT of 100 with the test qlen + 1 >= LIMIT holds 99 frames.
        assert_eq!(frames.admit(&queue(0, 98), 1522), Ok(()));
        assert_eq!(frames.admit(&queue(0, 99), 1522), Err(Refusal::Queue));
        let bytes = BufferSpec { queue: Some(Amount::Bytes(3000)), ..BufferSpec::default() };
        assert_eq!(bytes.admit(&queue(1478, 1), 1522), Ok(()));
        assert_eq!(bytes.admit(&queue(1479, 1), 1522), Err(Refusal::Queue));
    }

    #[test]
    fn every_limit_is_asked() {
        let one = Some(Amount::Frames(1));
        let full = Occupancy { bytes: 64, frames: 1 };
        let none = BufferSpec::default();
        let waiting = Backlog { total: full, port: full, class: full, queue: full };
        assert_eq!(none.admit(&waiting, 64), Ok(()));
        assert_eq!(BufferSpec { port: one, ..none.clone() }.admit(&waiting, 64), Err(Refusal::Port));
        assert_eq!(BufferSpec { class: one, ..none.clone() }.admit(&waiting, 64), Err(Refusal::Class));
        assert_eq!(BufferSpec { total: one, ..none }.admit(&waiting, 64), Err(Refusal::Total));
    }
}
