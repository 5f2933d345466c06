//! Probes: recordings that do not affect the simulation.

use crate::run::state::congestion_series::CongestionSeries;
use crate::run::state::culprits::Culprits;
use crate::run::state::ended_wait::EndedWait;
use crate::run::state::fingerprint::Fingerprint;
use crate::run::state::frame_log::FrameLog;
use crate::run::state::index::{NodeIx, PortIx, QueueIx, ReceiverIx};
use crate::run::state::levels::Levels;
use crate::run::state::link_series::{BitSeries, LevelSeries, LinkSeries};
use crate::run::state::own::NodeLocal;
use crate::run::state::tallies::Tallies;
use crate::run::state::victims::Victims;
use frame::Occupancy;
use measure::{Grid, Passage};
use std::ops::Range;
use units::Time;

/// Fingerprints and recordings: empty or `None` if there are none.
#[derive(Debug, Default)]
pub(crate) struct Probes {
    /// By node, a hash over all events of the node.
    pub fingerprints: NodeLocal<NodeIx, Fingerprint>,
    /// Total time of the skipped iterations: recordings use the time of the whole run.
    pub left_out: Time,
    /// True if anything is recorded when a frame arrives at its destination.
    pub watches_arrivals: bool,
    /// Finished bins of links, classes, arrivals, queues and counters, by width.
    pub grids: Vec<Grid>,
    /// By receiver, bits that arrive; at a host that takes time to read, also bits that it has read.
    pub arrived: Vec<BitSeries>,
    pub read: Vec<BitSeries>,
    /// By port, bits that it sends and that its peer receives.
    pub links: Vec<LinkSeries>,
    /// True if the next recorded frame is lost on its link.
    pub breaks: bool,
    /// By queue, bits sent by its class. `distinguishes_classes` is true if any class differs from its whole port.
    pub classes: Vec<ClassSeries>,
    pub distinguishes_classes: bool,
    /// Bytes and frames of each queue.
    pub queues: Vec<Levels>,
    /// Frames that the manager of each queue marks, one bit each; empty without queue managers.
    pub marks: Vec<BitSeries>,
    /// Bytes and frames of each ingress counter, in the order of the ports. `groups` is the number of counters per
    /// port.
    pub counters: Vec<Levels>,
    pub groups: usize,
    /// Distributions of occupancies over time.
    pub tallies: Option<Box<Tallies>>,
    /// Frames that pass selected ports.
    pub frames: Option<Box<FrameLog>>,
    /// Path state of each endpoint; empty if none is recorded.
    pub congestion: Vec<CongestionSeries>,
    /// The rate of each rate limiter, in bit/s.
    pub limiter_rates: Vec<LevelSeries>,
    /// Ended pauses, in the time of the whole run; `None` if they are not recorded.
    pub pauses: Option<Vec<PauseRecord>>,
    /// Flows present where pauses begin, and where they take effect; `None` if pauses are not recorded or no node sends
    /// any.
    pub culprits: Option<Box<Culprits>>,
    /// Maximum distance of arrivals that count as ties; zero: those in the same picosecond.
    pub alike: Time,
    pub victims: Option<Box<Victims>>,
}

/// Bits that a class of a port sends over time.
#[derive(Clone, Debug)]
pub(crate) enum ClassSeries {
    /// Equal to the bits of the whole port: no other class is in use.
    OfPort,
    /// A series of its own.
    Own(BitSeries),
    /// Not recorded.
    Off,
}

/// A pause as observed at the paused port. In merged results, port numbers are those of the whole fabric.
#[derive(Clone, Copy, Debug)]
pub(crate) struct PauseRecord<Port = PortIx> {
    pub port: Port,
    pub priority: u8,
    pub start: Time,
    pub end: Time,
    pub cause: u64,
    /// True for a wait of a bypass queue.
    pub bypass: bool,
}

/// Target of a pause: a priority of a port, or the bypass queue of a priority.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub(crate) struct Stopped<Port = PortIx> {
    pub port: Port,
    pub priority: u8,
    pub bypass: bool,
}

impl<Port: Copy> PauseRecord<Port> {
    /// Returns the target of the pause.
    pub fn stopped(&self) -> Stopped<Port> {
        Stopped { port: self.port, priority: self.priority, bypass: self.bypass }
    }
}

impl PauseRecord {
    /// Returns the record with another port number.
    pub fn at<Port>(self, port: Port) -> PauseRecord<Port> {
        let PauseRecord { priority, start, end, cause, bypass, .. } = self;
        PauseRecord { port, priority, start, end, cause, bypass }
    }
}

impl<Port> Stopped<Port> {
    /// Returns the target with another port number.
    pub fn at<Other>(self, port: Other) -> Stopped<Other> {
        Stopped { port, priority: self.priority, bypass: self.bypass }
    }
}

impl Probes {
    /// Returns true if levels or transmissions are recorded, which have to be reported in the order of time.
    pub fn any_levels(&self) -> bool {
        !(self.links.is_empty()
            && self.classes.is_empty()
            && self.queues.is_empty()
            && self.counters.is_empty()
            && self.frames.is_none())
    }
    /// Creates the probes of these nodes, given by their numbers in the whole fabric.
    pub fn new(nodes: Range<u32>) -> Probes {
        Probes {
            fingerprints: nodes.map(|id| Fingerprint::new(u64::from(id) + 1)).collect(),
            ..Probes::default()
        }
    }

    /// Records an arrival at a receiver.
    #[inline]
    pub fn arrives(&mut self, receiver: ReceiverIx, frame: Passage) {
        if let Some(arrived) = self.arrived.get_mut(receiver.at()) {
            arrived.pass(frame, &mut self.grids);
        }
    }

    /// Updates the earliest possible end of the run.
    pub fn stop_at(&mut self, stop: Time) {
        self.grids.iter_mut().for_each(|grid| grid.stop_at(stop));
    }

    /// Sets the occupancy of a queue from now on. The callback runs only if it is recorded.
    #[inline(always)]
    pub fn queue_holds(&mut self, queue: QueueIx, now: Time, level: impl FnOnce() -> Occupancy) {
        let Some(levels) = self.queues.get_mut(queue.at()) else { return };
        let level = level();
        if levels.is_quiet(now) {
            levels.note(level);
        } else {
            self.queue_turns(queue, now, level);
        }
    }

    /// Slow path of `queue_holds`: at the end of a bin, and for tallies.
    #[inline(never)]
    fn queue_turns(&mut self, queue: QueueIx, now: Time, level: Occupancy) {
        let before = self.queues[queue.at()].set(now, level, &mut self.grids);
        if let Some(tallies) = &mut self.tallies {
            tallies.queue_changes(queue, now, before, level);
        }
    }

    /// Sets the occupancy of an ingress counter from now on.
    #[inline(always)]
    pub fn counter_holds(
        &mut self,
        port: PortIx,
        group: usize,
        now: Time,
        level: impl FnOnce() -> Occupancy,
    ) {
        let counter = port.at() * self.groups + group;
        let Some(levels) = self.counters.get_mut(counter) else { return };
        let level = level();
        if levels.is_quiet(now) {
            levels.note(level);
        } else {
            self.counter_turns(counter, now, level);
        }
    }

    /// Slow path of `counter_holds`: at the end of a bin, and for tallies.
    #[inline(never)]
    fn counter_turns(&mut self, counter: usize, now: Time, level: Occupancy) {
        let before = self.counters[counter].set(now, level, &mut self.grids);
        if let Some(tallies) = &mut self.tallies {
            tallies.counter_changes(counter, now, before, level);
        }
    }

    /// Restarts measurement. Series continue.
    pub fn restart(&mut self, now: Time) {
        if let Some(tallies) = &mut self.tallies {
            tallies.restart(now);
        }
    }

    /// Records a pause that has ended at a port.
    pub fn pause_ended(&mut self, port: PortIx, ended: EndedWait) {
        let EndedWait { priority, start, end, cause, bypass } = ended;
        // A pause that an XON ends at its start has stopped no frame.
        if end > start
            && let Some(pauses) = &mut self.pauses
        {
            let [start, end] = [start, end].map(|time| time + self.left_out);
            pauses.push(PauseRecord { port, priority, start, end, cause, bypass });
        }
    }

    /// Number of pauses that have ended so far, if they are recorded.
    #[inline]
    pub fn pauses_ended(&self) -> usize {
        self.pauses.as_ref().map_or(0, Vec::len)
    }

    /// Bytes of all series.
    pub fn memory_bytes(&self) -> usize {
        let bits = self.arrived.capacity() + self.read.capacity() + self.marks.capacity();
        let series = bits * size_of::<BitSeries>()
            + self.limiter_rates.capacity() * size_of::<LevelSeries>()
            + self.links.capacity() * size_of::<LinkSeries>()
            + self.classes.capacity() * size_of::<ClassSeries>()
            + (self.queues.capacity() + self.counters.capacity()) * size_of::<Levels>();
        self.fingerprints.memory_bytes()
            + series
            + self.grids.iter().map(Grid::memory_bytes).sum::<usize>()
            + self.congestion.iter().map(CongestionSeries::memory_bytes).sum::<usize>()
            + self.pauses.as_ref().map_or(0, Vec::capacity) * size_of::<PauseRecord>()
            + self.tallies.as_ref().map_or(0, |tallies| tallies.memory_bytes())
            + self.frames.as_ref().map_or(0, |log| log.memory_bytes())
            + self.culprits.as_ref().map_or(0, |culprits| culprits.memory_bytes())
            + self.victims.as_ref().map_or(0, |victims| victims.memory_bytes())
    }
}
