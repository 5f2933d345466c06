//! Probes: what is only observed. Nothing that a frame meets depends on it.

use crate::run::culprits::Culprits;
use crate::run::link_control::Ended;
use crate::run::victims::Victims;
use frame::Occupancy;
use measure::{BinnedMax, BinnedSum};
use std::ops::Range;
use units::Time;

/// The most in each bin of bytes and frames.
pub(crate) type Levels = (BinnedMax, BinnedMax);

/// Fingerprints, and time series, which are empty where they are not recorded.
#[derive(Debug, Default)]
pub(crate) struct Probes {
    /// By node, a hash over all that it saw.
    pub fingerprints: Vec<u64>,
    /// Bytes delivered, by path.
    pub delivered: Vec<BinnedSum>,
    /// Bytes received and sent, by port.
    pub received: Vec<BinnedSum>,
    pub sent: Vec<BinnedSum>,
    /// Bytes and frames of each queue.
    pub queues: Vec<Levels>,
    /// Bytes and frames of each ingress counter: port times 8 plus group.
    pub counters: Vec<Levels>,
    /// Window and smoothed round trip of each endpoint, in bytes and picoseconds.
    pub congestion: Vec<(BinnedMax, BinnedMax)>,
    /// Pauses that have ended; `None` if they are not recorded.
    pub pauses: Option<Vec<PauseRecord>>,
    /// Who stands where pauses begin, and where they act; `None` if pauses are not recorded or nobody sends any.
    pub culprits: Option<Box<Culprits>>,
    pub victims: Option<Box<Victims>>,
}

/// A pause, as the paused port saw it.
#[derive(Clone, Copy, Debug)]
pub(crate) struct PauseRecord {
    pub port: u32,
    pub priority: u8,
    pub start: Time,
    pub end: Time,
    pub cause: u64,
}

/// Notes a new level in a series, if it is recorded.
#[inline(always)]
pub(crate) fn record(series: &mut [Levels], of: usize, now: Time, level: Occupancy) {
    if let Some((bytes, frames)) = series.get_mut(of) {
        bytes.set(now, level.bytes);
        frames.set(now, level.frames);
    }
}

/// Adds the bytes of a frame to a series, if it is recorded.
#[inline(always)]
pub(crate) fn add(series: &mut [BinnedSum], of: usize, now: Time, bytes: u16) {
    if let Some(series) = series.get_mut(of) {
        series.add(now, u64::from(bytes));
    }
}

impl Probes {
    /// Whether levels or transmissions are recorded, which have to be told in the order of time.
    pub fn any_levels(&self) -> bool {
        !(self.sent.is_empty() && self.queues.is_empty() && self.counters.is_empty())
    }
    /// Those of these nodes; their numbers are those of the whole.
    pub fn new(nodes: Range<u32>) -> Probes {
        Probes { fingerprints: nodes.map(|id| u64::from(id) + 1).collect(), ..Probes::default() }
    }

    /// A pause has ended at a port.
    pub fn pause_ended(&mut self, port: u32, ended: Ended) {
        let Ended { priority, start, end, cause } = ended;
        // One that an XON ends when it begins has stopped nobody.
        if end > start
            && let Some(pauses) = &mut self.pauses
        {
            pauses.push(PauseRecord { port, priority, start, end, cause });
        }
    }

    /// How many pauses have ended so far, if they are recorded.
    #[inline]
    pub fn pauses_ended(&self) -> usize {
        self.pauses.as_ref().map_or(0, Vec::len)
    }

    /// Bytes of all series.
    pub fn memory_bytes(&self) -> usize {
        let sums = self.delivered.iter().chain(&self.received).chain(&self.sent);
        let levels = self
            .queues
            .iter()
            .chain(&self.counters)
            .chain(&self.congestion)
            .flat_map(|(bytes, frames)| [bytes, frames]);
        self.fingerprints.capacity() * size_of::<u64>()
            + sums.map(BinnedSum::memory_bytes).sum::<usize>()
            + levels.map(BinnedMax::memory_bytes).sum::<usize>()
            + self.pauses.as_ref().map_or(0, Vec::capacity) * size_of::<PauseRecord>()
            + self.culprits.as_ref().map_or(0, |culprits| culprits.memory_bytes())
            + self.victims.as_ref().map_or(0, |victims| victims.memory_bytes())
    }
}
