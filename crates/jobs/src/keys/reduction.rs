//! The keys of an in-network reduction.

use super::WorkloadKeys;
use crate::collectives::{AggregationTree, Algorithm, InNetworkSpec};
use keys::Remark;
use std::sync::Arc;
use units::{BitRate, Bytes, Time, WireClock};

/// Default of `segment`.
const SEGMENT: Bytes = Bytes::new(4 << 10);
/// Default of `outstanding`.
const OUTSTANDING: u64 = 128;
const MOST_OUTSTANDING: u64 = 65_536;
/// Maximum number of segments of a vector.
const MOST_SEGMENTS: u64 = 1 << 31;
/// Range of the rate of a unit.
const RATES: [BitRate; 2] = [BitRate::from_bps(1_000_000), BitRate::from_gbps(1_000_000)];
const LATENCY: Time = Time::from_ns(100);
const LONGEST_LATENCY: Time = Time::from_ms(1_000);

impl WorkloadKeys {
    /// Returns true if units at switches perform the reduction.
    pub fn is_in_network(&self) -> bool {
        self.collective.is_some() && self.algorithm == Some(Algorithm::InNetwork)
    }

    /// Fills in the defaults of an in-network reduction.
    pub(super) fn fill_reduction(&mut self) {
        if self.is_in_network() {
            self.segment.get_or_insert(SEGMENT);
            self.outstanding.get_or_insert(OUTSTANDING);
            self.reduction_latency.get_or_insert(LATENCY);
        }
    }

    /// Returns the latency of a unit.
    pub fn reduction_latency(&self) -> Time {
        self.reduction_latency.unwrap_or(LATENCY)
    }

    /// Returns the specification of a reduction over this tree.
    pub fn in_network(&self, tree: AggregationTree) -> InNetworkSpec {
        InNetworkSpec {
            tree: Arc::new(tree),
            segment: self.segment.unwrap_or(SEGMENT).get(),
            outstanding: self.outstanding.unwrap_or(OUTSTANDING) as u32,
        }
    }

    pub(super) fn wrong_reduction(&self, algorithm: Algorithm) -> Vec<Remark> {
        if algorithm != Algorithm::InNetwork {
            return Vec::new();
        }
        let mut wrong = Vec::new();
        let segment = self.segment.unwrap_or(SEGMENT);
        let least = self.bytes.map_or(1, |bytes| bytes.get().div_ceil(MOST_SEGMENTS)).max(1);
        if segment.get() < least {
            let help = format!("expected at least {}", Bytes::new(least));
            wrong.push(Remark::about("segment", format!("segments of {segment}"), help));
        }
        let outstanding = self.outstanding.unwrap_or(OUTSTANDING);
        if !(1..=MOST_OUTSTANDING).contains(&outstanding) {
            let help = format!("expected a count, 1 to {MOST_OUTSTANDING}");
            wrong.push(Remark::about("outstanding", format!("{outstanding} outstanding segments"), help));
        }
        if let Some(rate) = self.reduction_rate
            && !((RATES[0]..=RATES[1]).contains(&rate) && WireClock::supports(rate))
        {
            let help = "expected a rate of few digits, 1 Mb/s to 1 Pb/s";
            wrong.push(Remark::about("reduction_rate", format!("a unit at {rate}"), help));
        }
        let latency = self.reduction_latency();
        if latency > LONGEST_LATENCY {
            let help = format!("expected at most {LONGEST_LATENCY}");
            wrong.push(Remark::about("reduction_latency", format!("a latency of {latency}"), help));
        }
        wrong
    }

    /// Returns the names of the keys of an in-network reduction, and whether each is given.
    pub(super) fn reduction_keys(&self) -> [(&'static str, bool); 4] {
        [
            ("segment", self.segment.is_some()),
            ("outstanding", self.outstanding.is_some()),
            ("reduction_rate", self.reduction_rate.is_some()),
            ("reduction_latency", self.reduction_latency.is_some()),
        ]
    }

    pub(super) fn unused_reduction(&self, algorithm: Algorithm, of: &str) -> Vec<Remark> {
        let written =
            self.reduction_keys().into_iter().filter(|own| own.1 && algorithm != Algorithm::InNetwork);
        let remark = |(key, _): (&'static str, bool)| {
            let help = "it belongs to algorithm = \"in_network\"; leave it out";
            Remark::about(key, format!("`{key}` has no effect on {of}"), help)
        };
        written.map(remark).collect()
    }
}
