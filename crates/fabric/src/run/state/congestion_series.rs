//! Path state of endpoints over time: window and round trip of connections over TCP; rate, window, bytes in flight,
//! alpha, notifications and retransmissions of queue pairs.

use measure::{BinnedBits, BinnedMax, Passage};
use transport::{Endpoint, Protocol};
use units::Time;

/// Queue pairs of an endpoint that are recorded: the first.
pub const PAIRS: usize = 8;

/// Unit of alpha.
pub const ALPHA_UNIT: f64 = 1e-9;

/// The series of an endpoint.
#[derive(Clone, Debug)]
pub(crate) enum CongestionSeries {
    /// No series.
    Off,
    /// Window in bytes and smoothed round trip in picoseconds.
    Tcp(BinnedMax, BinnedMax),
    /// Series of each queue pair.
    Pairs(Box<PairsSeries>),
}

/// The series of the queue pairs of an endpoint.
#[derive(Clone, Debug)]
pub(crate) struct PairsSeries {
    width: Time,
    duration: Time,
    /// By number, the first [`PAIRS`] of those that there have been.
    pub pairs: Vec<PairSeries>,
}

/// The series of a queue pair.
#[derive(Clone, Debug)]
pub(crate) struct PairSeries {
    /// Bits a second, bytes, bytes.
    pub rate: BinnedMax,
    pub window: BinnedMax,
    pub in_flight: BinnedMax,
    /// Alpha in billionths, for controls that have it.
    pub alpha: BinnedMax,
    /// CNPs and packets sent again, a bit each.
    pub cnps: BinnedBits,
    pub again: BinnedBits,
    seen: [u64; 2],
}

impl PairsSeries {
    pub fn new(width: Time, duration: Time) -> PairsSeries {
        PairsSeries { width, duration, pairs: Vec::new() }
    }

    fn note(&mut self, endpoint: &Endpoint, now: Time) {
        let Some(sender) = endpoint.sending_pairs() else { return };
        for (nth, pair) in sender.queue_pairs().take(PAIRS).enumerate() {
            if nth == self.pairs.len() {
                self.pairs.push(PairSeries::new(self.width, self.duration));
            }
            let series = &mut self.pairs[nth];
            series.rate.set(now, pair.rate(now).min(sender.line_rate()) as u64);
            if pair.window() < u64::MAX {
                series.window.set(now, pair.window());
            }
            series.in_flight.set(now, pair.bytes_in_flight());
            if let Some(alpha) = pair.alpha(now) {
                series.alpha.set(now, (alpha / ALPHA_UNIT).round() as u64);
            }
            let counts = [pair.counts.cnps, pair.counts.retransmitted];
            for (nth, binned) in [&mut series.cnps, &mut series.again].into_iter().enumerate() {
                let more = counts[nth] - series.seen[nth];
                if more > 0 {
                    binned.add(Passage { end: now, took: Time::ZERO, bits: more });
                }
            }
            series.seen = counts;
        }
    }
}

impl PairSeries {
    fn new(width: Time, duration: Time) -> PairSeries {
        let level = BinnedMax::new(width, duration);
        let counts = BinnedBits::new(width, duration);
        PairSeries {
            rate: level.clone(),
            window: level.clone(),
            in_flight: level.clone(),
            alpha: level,
            cnps: counts.clone(),
            again: counts,
            seen: [0; 2],
        }
    }
}

impl CongestionSeries {
    /// Records the current path state of an endpoint.
    pub fn note(&mut self, endpoint: &Endpoint, now: Time) {
        match (self, endpoint) {
            (CongestionSeries::Pairs(series), endpoint) => series.note(endpoint, now),
            (CongestionSeries::Tcp(events, trips), endpoint) => {
                if let Some(known) = endpoint.facts(now).congestion {
                    events.set(now, known.window);
                    trips.set(now, known.round_trip.unwrap_or_default().ps());
                }
            }
            (CongestionSeries::Off, _) => {}
        }
    }

    /// Bytes taken beside itself.
    pub fn memory_bytes(&self) -> usize {
        match self {
            CongestionSeries::Off => 0,
            CongestionSeries::Tcp(events, trips) => events.memory_bytes() + trips.memory_bytes(),
            CongestionSeries::Pairs(series) => {
                let levels = |pair: &PairSeries| {
                    [&pair.rate, &pair.window, &pair.in_flight, &pair.alpha]
                        .map(BinnedMax::memory_bytes)
                        .iter()
                        .sum::<usize>()
                };
                let counts = |pair: &PairSeries| pair.cnps.memory_bytes() + pair.again.memory_bytes();
                size_of::<PairsSeries>()
                    + series.pairs.capacity() * size_of::<PairSeries>()
                    + series.pairs.iter().map(|pair| levels(pair) + counts(pair)).sum::<usize>()
            }
        }
    }
}
