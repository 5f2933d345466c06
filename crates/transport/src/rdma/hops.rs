//! Intervals between the stamps of two packets at each hop, for controls that use telemetry.

use frame::{Stamp, Stamps};
use std::cmp::Ordering;

/// Bytes of the fixed part of the telemetry in a packet, and of each stamp (64 bits).
pub const FIXED_BYTES: u64 = 2;
pub const STAMP_BYTES: u64 = 8;

/// A hop during the interval from one packet to a later one of the same queue pair.
#[derive(Clone, Copy, Debug)]
pub struct Interval {
    /// Duration in seconds.
    pub took: f64,
    /// Rate of the link and transmit rate, in bits per second.
    pub rate: f64,
    pub sent_rate: f64,
    /// Queue length at the beginning and at the end of the interval, in bits.
    pub queues: [f64; 2],
}

impl Interval {
    fn between(old: &Stamp, new: &Stamp) -> Interval {
        let bits = |bytes: u64| bytes as f64 * 8.0;
        let took = (new.at - old.at).as_secs_f64();
        Interval {
            took,
            rate: new.rate.bps_f64(),
            sent_rate: bits(new.sent - old.sent) / took,
            queues: [bits(old.queue), bits(new.queue)],
        }
    }
}

/// The most recent stamps of a path.
#[derive(Clone, Debug, Default)]
pub struct Hops {
    last: Option<Box<Stamps>>,
}

impl Hops {
    /// Returns the intervals of a newer packet's hops since the previous packet. Empty for the first packet, for one
    /// that overtook others, and for one that took another path, whose stamps are the first of that path.
    #[cfg(test)]
    pub fn since_last(&mut self, stamps: &Stamps) -> Vec<Interval> {
        let mut intervals = Vec::new();
        self.each_since_last(stamps, |interval| intervals.push(*interval));
        intervals
    }

    /// Variant of `since_last` that passes each interval to a callback.
    pub fn each_since_last(&mut self, stamps: &Stamps, mut each: impl FnMut(&Interval)) {
        let Some(last) = &mut self.last else {
            self.last = Some(Box::new(*stamps));
            return;
        };
        let same_way = last.path() == stamps.path() && last.hops().len() == stamps.hops().len();
        let pairs = || last.hops().iter().zip(stamps.hops());
        if same_way && pairs().any(|(old, new)| new.at.cmp(&old.at) != Ordering::Greater) {
            return;
        }
        if same_way {
            pairs().for_each(|(old, new)| each(&Interval::between(old, new)));
        }
        **last = *stamps;
    }

    /// Returns the heap memory in bytes.
    pub fn memory_bytes(&self) -> usize {
        self.last.as_ref().map_or(0, |_| size_of::<Stamps>())
    }
}

/// Returns the moving average after a sample. The weight of the sample is the share of `trip` seconds that it covers.
pub fn smoothed(value: f64, sample: f64, took: f64, trip: f64) -> f64 {
    let share = took.min(trip) / trip;
    (1.0 - share) * value + share * sample
}

/// Returns stamps for tests. Each hop has 100 Gb/s; the values are nanoseconds, bytes sent and bytes in the queue.
#[cfg(test)]
pub fn stamps(of: &[(u64, u64, u64)]) -> Stamps {
    let stamp = |&(ns, sent, queue)| Stamp {
        at: units::Time::from_ns(ns),
        sent,
        queue,
        rate: units::BitRate::from_gbps(100),
    };
    Stamps::again(1, of.iter().map(stamp))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_hop_is_compared_with_itself() {
        let mut hops = Hops::default();
        assert!(hops.since_last(&stamps(&[(1_000, 0, 100)])).is_empty());
        let news = hops.since_last(&stamps(&[(2_000, 12_500, 300)]));
        assert_eq!(news.len(), 1);
        assert!((news[0].sent_rate - 1e11).abs() < 1.0 && (news[0].took - 1e-6).abs() < 1e-15);
        assert_eq!(news[0].queues, [800.0, 2_400.0]);
        // Stamps that are older than the last ones, and the last ones again.
        assert!(hops.since_last(&stamps(&[(1_500, 0, 0)])).is_empty());
        assert!(hops.since_last(&stamps(&[(2_000, 12_500, 300)])).is_empty());
        // Stamps of another path; then the next ones on that path.
        assert!(hops.since_last(&stamps(&[(3_000, 0, 0), (3_100, 0, 0)])).is_empty());
        assert_eq!(hops.since_last(&stamps(&[(4_000, 0, 0), (4_100, 0, 0)])).len(), 2);
        assert_eq!(hops.memory_bytes(), size_of::<Stamps>());
    }

    #[test]
    fn a_sample_that_stands_for_a_round_trip_is_all_there_is() {
        assert_eq!(smoothed(1.0, 3.0, 1e-5, 1e-5), 3.0);
        assert_eq!(smoothed(1.0, 3.0, 5e-5, 1e-5), 3.0);
        assert!((smoothed(1.0, 3.0, 0.25e-5, 1e-5) - 1.5).abs() < 1e-12);
    }
}
