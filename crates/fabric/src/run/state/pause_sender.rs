//! The state of a node's pause sender: its watermarks, its counters, and the note that records the cause of a pause.

use crate::run::state::event::{Event, EventQueue, Kind};
use crate::run::state::index::PortIx;
use engine::{Stream, Timer};
use flow_control::pause::{PauseSignal, pause_time};
use flow_control::pfc::Levels;
use flow_control::renewal::Renewal;
use flow_control::tpfc::EgressCounter;
use flow_control::{Accounting, Drain, PauseKind, PauseLength, PauseSpec, Target};
use frame::{PRIORITIES, TrafficClass, members};
use rand_xoshiro::rand_core::Rng;
use recurrence::{Recurs, Walk};
use units::{Amount, Time};

/// The pause sender of a node.
#[derive(Debug, Recurs)]
pub(crate) struct PauseSender {
    #[recurs(constant)]
    pub spec: PauseSpec,
    /// Selection of targets to pause above the target watermark.
    #[recurs(constant)]
    pub target: Option<Target>,
    #[recurs(constant)]
    pub first_port: PortIx,
    /// Watermarks of the queues of each port. Empty with ingress accounting, which stores them at the ingress ports.
    #[recurs(constant)]
    pub levels: Vec<Levels>,
    /// Duration of pauses, and times of their renewal.
    #[recurs(constant)]
    pub timing: PauseTiming,
    /// Searches for targets in progress.
    #[recurs(unless_empty = "searches for the targets of pauses")]
    pub searches: Vec<Search>,
    /// Counters by port and class; empty with ingress accounting.
    #[recurs(unless_empty = "pauses by egress queue")]
    pub egress: Vec<EgressCounter>,
    /// With egress accounting, by port and class: number of queues that keep the port paused.
    pub pause_counts: Vec<u32>,
    /// By port, the timer of the next renewal.
    pub renewals: Vec<Timer>,
    /// Draws for random sampling.
    #[recurs(with = PauseSender::walk_random)]
    pub random: Stream,
    /// Scratch.
    #[recurs(scratch)]
    pub ports: Vec<u32>,
}

/// Duration of the pauses of a node, and times of their renewal.
#[derive(Debug)]
pub(crate) struct PauseTiming {
    length: PauseLength,
    refresh: bool,
    links: Vec<Renewal>,
    /// By port, the renewal time if all pauses have equal durations.
    same: Vec<Time>,
}

impl PauseTiming {
    /// Creates the timing; `links` holds the renewal parameters of each port.
    pub fn new(control: &PauseSpec, links: Vec<Renewal>) -> PauseTiming {
        let (length, refresh) = (control.quanta, control.refresh);
        let mut timing = PauseTiming { length, refresh, links, same: Vec::new() };
        if let PauseLength::Fixed(each) = length
            && length.is_uniform()
        {
            timing.same = (0..timing.links.len()).map(|local| timing.after(local, each[0])).collect();
        }
        timing
    }
    /// Returns true if the duration of pauses is the time that the queue takes to drain.
    pub fn is_computed(&self) -> bool {
        self.length == PauseLength::Computed
    }
    /// Renewal parameters of a port.
    pub fn link(&self, local: usize) -> &Renewal {
        &self.links[local]
    }
    /// Returns the pause times for these priorities, and the time of the first renewal, or of the first expiry if
    /// pauses are not renewed. `drain`: bytes to drain, if they determine the pause times.
    pub fn of(&self, local: usize, priorities: u8, drain: Option<&Drain>) -> (Quanta, Time) {
        let (each, shortest) = match self.length {
            PauseLength::Fixed(each) if !self.same.is_empty() => return (each, self.same[local]),
            PauseLength::Fixed(each) => (each, self.length.shortest(priorities, 0)),
            PauseLength::Computed => {
                let quanta = drain.map_or(u16::MAX, |drain| drain.quanta(&self.links[local]));
                ([quanta; PRIORITIES], quanta)
            }
        };
        (each, self.after(local, shortest))
    }
    fn after(&self, local: usize, quanta: u16) -> Time {
        let link = &self.links[local];
        let after = match self.length {
            _ if !self.refresh => pause_time(quanta, link.rates.1),
            PauseLength::Fixed(_) => link.renew_after(quanta),
            // Late, when the frames in flight are known.
            PauseLength::Computed => link.renew_late(quanta),
        };
        after.max(Time::from_ps(1))
    }
    fn memory_bytes(&self) -> usize {
        self.links.len() * size_of::<Renewal>() + self.same.len() * size_of::<Time>()
    }
}

/// The pause times in a pause frame, by priority, in quanta.
pub(crate) type Quanta = [u16; PRIORITIES];

/// A search for targets in progress.
#[derive(Debug)]
pub(crate) struct Search {
    pub ends: Time,
    /// The queue: its port at the node and its class.
    pub queue: (usize, TrafficClass),
    pub priorities: u8,
    pub cause: PauseCause,
    /// The targets that it will find.
    pub targets: Vec<u32>,
}

/// Cause of a pause, packed into the pause frame's 64-bit note.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct PauseCause {
    /// True if the target watermark was crossed, false for the high watermark.
    pub targeted: bool,
    /// True if the queue's own port was paused while the counter rose from its low watermark: this pause is a
    /// consequence of that one.
    pub inherited: bool,
    /// True if the link of the queue was down.
    pub down: bool,
    /// The egress queue of the frame that crossed the watermark, by its number in the whole fabric; `None` for a
    /// renewal with ingress accounting, which no single frame caused.
    pub queue: Option<u32>,
    /// Occupancy when the pause was sent, in the unit of the watermark.
    pub occupancy: u64,
}

impl PauseCause {
    const OCCUPANCY_BITS: u32 = 29;
    const NO_QUEUE: u32 = u32::MAX;

    pub fn pack(self) -> u64 {
        let occupancy = self.occupancy.min((1 << Self::OCCUPANCY_BITS) - 1);
        let flags =
            u64::from(self.targeted) << 63 | u64::from(self.inherited) << 62 | u64::from(self.down) << 61;
        flags | u64::from(self.queue.unwrap_or(Self::NO_QUEUE)) << Self::OCCUPANCY_BITS | occupancy
    }
    pub fn unpack(note: u64) -> PauseCause {
        PauseCause {
            targeted: note >> 63 != 0,
            inherited: note >> 62 & 1 != 0,
            down: note >> 61 & 1 != 0,
            queue: Some((note >> Self::OCCUPANCY_BITS) as u32).filter(|&queue| queue != Self::NO_QUEUE),
            occupancy: note & ((1 << Self::OCCUPANCY_BITS) - 1),
        }
    }
}

impl PauseSender {
    /// Visits the position in its random stream.
    fn walk_random(&self, walk: &mut Walk) {
        // Four outputs are the 256 bits of its state.
        let mut random = self.random.clone();
        (0..4).for_each(|_| walk.word(random.next_u64()));
    }

    /// Returns the counter of a priority; `None` if the priority is not paused. PAUSE has one counter for all
    /// priorities, PFC one each.
    pub fn group(&self, priority: u8) -> Option<usize> {
        self.spec.kind.group(priority)
    }
    /// The priorities that a counter pauses.
    pub fn bits(&self, group: usize) -> u8 {
        match self.spec.kind {
            PauseKind::Link => 0xFF,
            PauseKind::Priorities(_) => 1 << group,
        }
    }
    /// The priorities for which pausing is enabled.
    pub fn controlled(&self) -> u8 {
        self.spec.kind.priorities()
    }
    /// Returns the port with this index at its node.
    #[inline(always)]
    pub fn port(&self, local: usize) -> PortIx {
        self.first_port.plus(local as u32)
    }

    /// Returns the index of a port at its node.
    pub fn local(&self, port: PortIx) -> usize {
        port.since(self.first_port) as usize
    }
    /// Returns true with ingress accounting, false if queues are counted.
    pub fn by_ingress(&self) -> bool {
        self.spec.accounting == Accounting::Ingress
    }

    /// Schedules the renewal of a pause that has been sent through a port.
    pub fn schedule_renewal(&mut self, local: usize, at: Time, events: &mut EventQueue) {
        if self.spec.refresh {
            self.schedule(local, at, events);
        }
    }
    /// Arms the timer of a port for renewals and searches.
    pub fn schedule(&mut self, local: usize, at: Time, events: &mut EventQueue) {
        if at < self.renewals[local].due() && self.renewals[local].arm(at) {
            events.push(Event::bare(Kind::Renew, at, self.first_port.plus(local as u32)));
        }
    }

    /// Bytes of its tables.
    pub fn memory_bytes(&self) -> usize {
        let egress = self.egress.iter().map(|counter| size_of::<EgressCounter>() + counter.memory_bytes());
        size_of::<PauseSender>()
            + self.levels.len() * size_of::<Levels>()
            + self.renewals.len() * size_of::<Timer>()
            + self.timing.memory_bytes()
            + egress.sum::<usize>()
            + (self.pause_counts.len() + self.ports.capacity()) * size_of::<u32>()
    }
}

/// Parts of a pause frame, one per pause time; XONs are in the first. There are at most as many parts as priorities.
#[derive(Debug)]
pub(crate) struct Parts {
    each: [(PauseSignal, u16); PRIORITIES],
    count: usize,
}

impl Parts {
    pub fn of(signal: PauseSignal, times: &Quanta) -> Parts {
        // With an XON alone, the time has no meaning: it is that of the pause that it ends.
        let first = if signal.xoff == 0 { signal.xon } else { signal.xoff };
        let first = times[first.trailing_zeros() as usize % PRIORITIES];
        let mut parts = Parts { each: [(PauseSignal::default(), first); PRIORITIES], count: 1 };
        parts.each[0].0.xon = signal.xon;
        for priority in members(signal.xoff) {
            let known = (0..parts.count).find(|&part| parts.each[part].1 == times[priority]);
            let part = known.unwrap_or(parts.count);
            parts.count = parts.count.max(part + 1);
            parts.each[part].0.xoff |= 1 << priority;
            parts.each[part].1 = times[priority];
        }
        parts
    }
    pub fn iter(&self) -> impl Iterator<Item = (PauseSignal, u16)> + '_ {
        self.each[..self.count].iter().copied()
    }
}

/// Returns the cause that an event carries: that of its lowest priority.
pub(crate) fn cause_of(signal: PauseSignal, causes: &[u64; PRIORITIES]) -> u64 {
    causes[signal.xoff.trailing_zeros() as usize % PRIORITIES]
}

/// Returns the unit of a watermark, for reports, and its value in that unit.
pub(crate) fn unit_of(mark: Amount) -> (&'static str, u64) {
    match mark {
        Amount::Bytes(bytes) => ("B", bytes),
        Amount::Frames(frames) => ("frames", frames),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_cause_survives_its_note() {
        for flags in 0..8 {
            let [targeted, inherited, down] = [1, 2, 4].map(|bit| flags & bit != 0);
            for (queue, occupancy) in [(Some(u32::MAX - 5), (1 << 29) - 1), (None, 0), (Some(0), 7)] {
                let cause = PauseCause { targeted, inherited, down, queue, occupancy };
                assert_eq!(PauseCause::unpack(cause.pack()), cause);
            }
        }
    }

    #[test]
    fn one_frame_says_several_times() {
        let times = [9, 5, 9, 7, 5, 1, 1, 1];
        let parts = |xoff, xon| Parts::of(PauseSignal { xoff, xon }, &times).iter().collect::<Vec<_>>();
        let part = |xoff, xon, quanta| (PauseSignal { xoff, xon }, quanta);
        assert_eq!(parts(0b1_1111, 0x80), [part(0b101, 0x80, 9), part(0b1_0010, 0, 5), part(0b1000, 0, 7)]);
        assert_eq!(parts(0, 0b1000), [part(0, 0b1000, 7)]);
    }
}
