//! Tail drop: an arriving frame that would exceed a limit is dropped.
//!
//! Limits can be set for a queue (one traffic class of one egress port), for a port, for a class across the whole
//! switch, and for the switch. Each is in bytes or in frames. A frame counts from the time at which it enters the
//! egress queue until its transmission starts.
//!
//! Source: Hagen 2012 §7.3 (shared memory queue, 100 frames).
//!
//! Not modelled: memory cells (a frame occupies exactly its own length), and the memory that a frame occupies during
//! its transmission.

use frame::Occupancy;
use units::Amount;

/// Limits of a switch's memory. `None`: unlimited.
#[derive(Clone, Debug, PartialEq, Eq, Default)]
pub struct BufferSpec {
    /// Limit of all waiting frames of the switch.
    pub total: Option<Amount>,
    /// Limit of all waiting frames of one egress port.
    pub port: Option<Amount>,
    /// Limit of all waiting frames of one traffic class of the switch.
    pub class: Option<Amount>,
    /// Limit of the waiting frames of one queue: one traffic class of one egress port.
    pub queue: Option<Amount>,
}

/// The limit that refuses a frame.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Refusal {
    /// Limit [`BufferSpec::queue`].
    Queue,
    /// Limit [`BufferSpec::port`].
    Port,
    /// Limit [`BufferSpec::class`].
    Class,
    /// Limit [`BufferSpec::total`].
    Total,
}

impl BufferSpec {
    /// Returns true if there is no limit.
    #[inline]
    pub fn is_unlimited(&self) -> bool {
        *self == BufferSpec::default()
    }

    /// Returns the value of this limit.
    #[inline]
    pub fn limit(&self, of: Refusal) -> Option<Amount> {
        match of {
            Refusal::Queue => self.queue,
            Refusal::Port => self.port,
            Refusal::Class => self.class,
            Refusal::Total => self.total,
        }
    }

    /// Checks whether a frame of `bytes` may enter, given the occupancy for each limit. Returns the narrowest limit
    /// that refuses it.
    #[inline]
    pub fn admit(&self, bytes: u16, waits: impl Fn(Refusal) -> Occupancy) -> Result<(), Refusal> {
        for of in [Refusal::Queue, Refusal::Port, Refusal::Class, Refusal::Total] {
            if let Some(limit) = self.limit(of)
                && !waits(of).has_room(limit, bytes)
            {
                return Err(of);
            }
        }
        Ok(())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn queue(bytes: u64, frames: u64) -> impl Fn(Refusal) -> Occupancy {
        move |of| if of == Refusal::Queue { Occupancy { bytes, frames } } else { Occupancy::default() }
    }

    #[test]
    fn frames_and_bytes() {
        let frames = BufferSpec { queue: Some(Amount::Frames(99)), ..BufferSpec::default() };
        // Golden vector 25: Hagen's LIMIT of 100 with the test qlen + 1 >= LIMIT holds 99 frames.
        assert_eq!(frames.admit(1522, queue(0, 98)), Ok(()));
        assert_eq!(frames.admit(1522, queue(0, 99)), Err(Refusal::Queue));
        let bytes = BufferSpec { queue: Some(Amount::Bytes(3000)), ..BufferSpec::default() };
        assert_eq!(bytes.admit(1522, queue(1478, 1)), Ok(()));
        assert_eq!(bytes.admit(1522, queue(1479, 1)), Err(Refusal::Queue));
    }

    #[test]
    fn every_limit_is_asked() {
        let one = Some(Amount::Frames(1));
        let full = Occupancy { bytes: 64, frames: 1 };
        let none = BufferSpec::default();
        let waits = |_| full;
        assert_eq!(none.admit(64, waits), Ok(()));
        assert_eq!(BufferSpec { port: one, ..none.clone() }.admit(64, waits), Err(Refusal::Port));
        assert_eq!(BufferSpec { class: one, ..none.clone() }.admit(64, waits), Err(Refusal::Class));
        assert_eq!(BufferSpec { total: one, ..none }.admit(64, waits), Err(Refusal::Total));
    }
}
