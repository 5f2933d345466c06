//! Counts of frames that have passed the ports, and of those that their queue managers need not observe.
//!
//! Counts are ordered by priority or channel number, then by port: most ports use one number, so the counts that every
//! frame touches are close together. The state of a queue manager that needs no updates is stored in the same place.

use crate::run::state::index::PortIx;
use frame::Frame;
use queueing::{Deferred, Quiet};
use recurrence::{Growth, Recurs, Walk};
use units::Time;

/// Counts of a priority or channel number at a port, and of the class with the same number: half a cache line.
#[derive(Clone, Copy, Debug, Default, Recurs)]
#[repr(align(32))]
pub(crate) struct Passed {
    /// Bytes sent.
    #[recurs(measured)]
    bytes: u64,
    /// Frames sent.
    #[recurs(measured)]
    frames: u64,
    /// Time until which the manager of the class needs no updates.
    until: Time,
    /// Bytes that may still arrive without an update of the manager; at most [`Quiet::ALWAYS`] allows.
    left: u32,
    /// Frames that arrived without an update of the manager.
    deferred: u32,
}

impl Passed {
    /// Counts a frame that is sent.
    #[inline(always)]
    pub fn count(&mut self, bytes: u16) {
        self.bytes += u64::from(bytes);
        self.frames += 1;
    }

    /// If the manager of this class needs no update, counts an arriving frame and returns true.
    #[inline(always)]
    pub fn needs_no_update(&mut self, now: Time, bytes: u16) -> bool {
        match self.left.checked_sub(u32::from(bytes)) {
            Some(left) if now < self.until => {
                self.left = left;
                self.deferred += 1;
                true
            }
            _ => false,
        }
    }

    /// Time from which the manager of the class needs updates.
    #[inline(always)]
    pub fn heard_from(&self) -> Time {
        self.until
    }

    /// Frames that arrived without an update in the present period, and bytes that still may.
    pub fn deferred(&self) -> Deferred {
        Deferred { frames: self.deferred.into(), left: self.left.into() }
    }

    /// Starts a period without updates.
    pub fn be_quiet(&mut self, quiet: Quiet) {
        let left = quiet.bytes.min(Quiet::ALWAYS.bytes) as u32;
        (self.until, self.left, self.deferred) = (quiet.until, left, 0);
    }
}

/// Counts of all ports.
#[derive(Debug, Default)]
pub(crate) struct PassedPorts {
    ports: usize,
    counts: Vec<Passed>,
}

impl PassedPorts {
    /// Visits the counts of a port that have not been reported to its queue managers.
    pub fn walk_port(&self, port: PortIx, walk: &mut Walk) {
        self.counts[port.at()..].iter().step_by(self.ports.max(1)).for_each(|own| own.walk(walk));
    }

    /// Visits the counters of a port.
    pub fn grow_port(&mut self, port: PortIx, growth: &mut Growth) {
        let ports = self.ports.max(1);
        self.counts[port.at()..].iter_mut().step_by(ports).for_each(|own| own.grow(growth));
    }

    /// Creates counters at zero.
    pub fn new(ports: usize, numbers: usize) -> PassedPorts {
        PassedPorts { ports, counts: memory::filled(Passed::default(), ports * numbers) }
    }

    /// Number of ports.
    pub fn len(&self) -> usize {
        self.ports
    }

    /// Counts a frame sent through a port.
    #[inline(always)]
    pub fn count(&mut self, port: PortIx, frame: &Frame) {
        self.counts[frame.priority().at() * self.ports + port.at()].count(frame.bytes);
    }

    /// Returns the count of a number, or of the class with that number.
    #[inline(always)]
    pub fn of(&self, port: PortIx, number: usize) -> &Passed {
        &self.counts[number * self.ports + port.at()]
    }
    #[inline(always)]
    pub fn of_mut(&mut self, port: PortIx, number: usize) -> &mut Passed {
        &mut self.counts[number * self.ports + port.at()]
    }

    /// Bytes and frames sent through a port with these numbers (bit n for number n).
    pub fn sent(&self, port: PortIx, numbers: u32) -> (u64, u64) {
        let own = self.counts[port.at()..].iter().step_by(self.ports).enumerate();
        let counted = own.filter(|(number, _)| numbers >> number & 1 != 0);
        counted.fold((0, 0), |(bytes, frames), (_, own)| (bytes + own.bytes, frames + own.frames))
    }

    /// Restarts measurement of frames sent. The state of managers is kept.
    pub fn restart(&mut self) {
        for own in &mut self.counts {
            (own.bytes, own.frames) = (0, 0);
        }
    }

    /// Bytes of the table.
    pub fn memory_bytes(&self) -> usize {
        self.counts.capacity() * size_of::<Passed>()
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use frame::Priority;

    #[test]
    fn what_is_sent_and_what_is_not_heard_do_not_disturb_each_other() {
        let mut ports = PassedPorts::new(3, 8);
        let frame = Frame { bytes: 1_000, ..Frame::default() }.at(Priority(5));
        ports.of_mut(PortIx::new(1), 5).be_quiet(Quiet { until: Time::from_ns(10), bytes: 2_500 });
        for _ in 0..2 {
            assert!(ports.of_mut(PortIx::new(1), 5).needs_no_update(Time::from_ns(9), 1_000));
            ports.count(PortIx::new(1), &frame);
        }
        assert!(!ports.of_mut(PortIx::new(1), 5).needs_no_update(Time::from_ns(9), 501), "beyond the bytes");
        assert!(!ports.of_mut(PortIx::new(1), 5).needs_no_update(Time::from_ns(10), 64), "at the time");
        ports.count(PortIx::new(1), &frame);
        assert_eq!(ports.of(PortIx::new(1), 5).deferred(), Deferred { frames: 2, left: 500 });
        assert_eq!(ports.sent(PortIx::new(1), u32::MAX), (3_000, 3));
        assert_eq!(
            (
                ports.sent(PortIx::new(1), !(1 << 5)),
                ports.sent(PortIx::new(0), u32::MAX),
                ports.sent(PortIx::new(2), u32::MAX)
            ),
            ((0, 0), (0, 0), (0, 0))
        );
        ports.restart();
        assert_eq!(ports.sent(PortIx::new(1), 1 << 5), (0, 0));
        assert_eq!(
            ports.of(PortIx::new(1), 5).deferred(),
            Deferred { frames: 2, left: 500 },
            "managers go on"
        );
        ports.of_mut(PortIx::new(1), 5).be_quiet(Quiet::NEVER);
        assert_eq!(ports.of(PortIx::new(1), 5).deferred(), Deferred { frames: 0, left: 0 });
        assert!(!ports.of_mut(PortIx::new(1), 5).needs_no_update(Time::ZERO, 64));
    }
}
