//! Path state of endpoints over time: window and round-trip time of connections over TCP; rate, window, bytes in
//! flight, alpha, notifications and retransmissions of queue pairs.

use crate::run::state::link_series::{BitSeries, LevelSeries};
use measure::{Grid, Passage};
use recurrence::{Counts, Growth};
use transport::{Endpoint, Protocol};
use units::Time;

/// Maximum number of recorded queue pairs of an endpoint: the first ones.
pub const PAIRS: usize = 8;

/// Unit of alpha.
pub const ALPHA_UNIT: f64 = 1e-9;

/// The series of an endpoint.
#[derive(Clone, Debug)]
pub(crate) enum CongestionSeries {
    /// No series.
    Off,
    /// Window in bytes and smoothed round-trip time in picoseconds.
    Tcp(LevelSeries),
    /// Series of each queue pair.
    Pairs(Box<PairsSeries>),
}

/// The series of the queue pairs of an endpoint.
#[derive(Clone, Debug)]
pub(crate) struct PairsSeries {
    grid: u16,
    /// The first [`PAIRS`] queue pairs that the endpoint has had, by number.
    pub pairs: Vec<PairSeries>,
}

/// The series of a queue pair.
#[derive(Clone, Debug)]
pub(crate) struct PairSeries {
    /// Rate in bit/s, and window in bytes.
    pub rate_and_window: LevelSeries,
    /// Bytes in flight, and alpha in billionths for controls that have it.
    pub in_flight_and_alpha: LevelSeries,
    /// CNPs and retransmitted packets, one bit for each.
    pub cnps: BitSeries,
    pub again: BitSeries,
    seen: [u64; 2],
}

impl PairsSeries {
    pub fn new(grid: u16) -> PairsSeries {
        PairsSeries { grid, pairs: Vec::new() }
    }

    fn note(&mut self, endpoint: &Endpoint, now: Time, grids: &mut [Grid]) {
        let Some(sender) = endpoint.sending_pairs() else { return };
        for (nth, pair) in sender.queue_pairs().take(PAIRS).enumerate() {
            if nth == self.pairs.len() {
                self.pairs.push(PairSeries::new(self.grid, grids));
            }
            let series = &mut self.pairs[nth];
            let [_, window] = series.rate_and_window.level();
            let window = if pair.window() < u64::MAX { pair.window() } else { window };
            let rate = pair.rate(now).min(sender.line_rate()) as u64;
            series.rate_and_window.set(now, [rate, window], grids);
            let [_, alpha] = series.in_flight_and_alpha.level();
            let alpha = pair.alpha(now).map_or(alpha, |alpha| (alpha / ALPHA_UNIT).round() as u64);
            series.in_flight_and_alpha.set(now, [pair.bytes_in_flight(), alpha], grids);
            let counts = [pair.counts.cnps, pair.counts.retransmitted];
            for (nth, binned) in [&mut series.cnps, &mut series.again].into_iter().enumerate() {
                let bits = counts[nth] - series.seen[nth];
                if bits > 0 {
                    binned.pass(Passage { end: now, took: Time::ZERO, bits }, grids);
                }
            }
            series.seen = counts;
        }
    }
}

impl PairSeries {
    fn new(grid: u16, grids: &[Grid]) -> PairSeries {
        let (levels, counts) = (LevelSeries::new(grids, Some(grid)), BitSeries::new(Some(grid)));
        PairSeries {
            rate_and_window: levels,
            in_flight_and_alpha: levels,
            cnps: counts,
            again: counts,
            seen: [0; 2],
        }
    }
}

impl Counts for CongestionSeries {
    fn advance(&mut self, growth: &mut Growth) {
        let CongestionSeries::Pairs(series) = self else { return };
        let seen: Vec<[u64; 2]> = series.pairs.iter().map(|pair| pair.seen).collect();
        let Some((before, periods)) = growth.kept(&seen) else { return };
        for (pair, before) in series.pairs.iter_mut().zip(before) {
            pair.seen.iter_mut().zip(before).for_each(|(seen, before)| *seen += (*seen - before) * periods);
        }
    }
}

impl CongestionSeries {
    /// Records the current path state of an endpoint.
    pub fn note(&mut self, endpoint: &Endpoint, now: Time, grids: &mut [Grid]) {
        match (self, endpoint) {
            (CongestionSeries::Pairs(series), endpoint) => series.note(endpoint, now, grids),
            (CongestionSeries::Tcp(levels), endpoint) => {
                if let Some(known) = endpoint.facts(now).congestion {
                    levels.set(now, [known.window, known.round_trip.unwrap_or_default().ps()], grids);
                }
            }
            (CongestionSeries::Off, _) => {}
        }
    }

    /// Bytes of heap memory.
    pub fn memory_bytes(&self) -> usize {
        match self {
            CongestionSeries::Off | CongestionSeries::Tcp(_) => 0,
            CongestionSeries::Pairs(series) => {
                size_of::<PairsSeries>() + series.pairs.capacity() * size_of::<PairSeries>()
            }
        }
    }
}
