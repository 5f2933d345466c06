//! Probes: what is only observed. Nothing that a frame meets depends on it.

use frame::Occupancy;
use measure::{BinnedMax, BinnedSum};
use units::Time;

/// The most in each bin of bytes and frames.
pub(crate) type Levels = (BinnedMax, BinnedMax);

/// Time series; empty where they are not recorded.
#[derive(Debug, Default)]
pub(crate) struct Probes {
    /// Bytes delivered, by path.
    pub delivered: Vec<BinnedSum>,
    /// Bytes received and sent, by port.
    pub received: Vec<BinnedSum>,
    pub sent: Vec<BinnedSum>,
    /// Bytes and frames of each queue.
    pub queues: Vec<Levels>,
    /// Bytes and frames of each ingress counter: port times 8 plus group.
    pub meters: Vec<Levels>,
    /// Pauses that have ended; `None` if they are not recorded.
    pub pauses: Option<Vec<PauseRecord>>,
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
        !(self.sent.is_empty() && self.queues.is_empty() && self.meters.is_empty())
    }
    /// A pause has ended.
    pub fn pause_ended(&mut self, record: PauseRecord) {
        if let Some(pauses) = &mut self.pauses {
            pauses.push(record);
        }
    }

    /// Bytes of all series.
    pub fn memory_bytes(&self) -> usize {
        let sums = self.delivered.iter().chain(&self.received).chain(&self.sent);
        let levels = self.queues.iter().chain(&self.meters).flat_map(|(bytes, frames)| [bytes, frames]);
        sums.map(BinnedSum::memory_bytes).sum::<usize>()
            + levels.map(BinnedMax::memory_bytes).sum::<usize>()
            + self.pauses.as_ref().map_or(0, Vec::capacity) * size_of::<PauseRecord>()
    }
}
