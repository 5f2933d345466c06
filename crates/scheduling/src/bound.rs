//! Service that a queue is certain of: the latency-rate server.
//!
//! A queue that has been busy since time s has received at least `rate · (t - s - latency)` by time t, whatever
//! the other queues do. A flow that never sends more than σ + rate · t bits then waits at most
//! latency + σ / rate; over several hops latencies add up.
//!
//! A queue is busy from when it becomes active for as long as its arrivals keep up with the certain rate, even if
//! it empties in between because it was served faster. For all schedulers here but WFQ and WF2Q+ the bound
//! holds from any time at which the queue becomes active. In those two a queue that was just served ahead of
//! the fluid server may have to wait until that has caught up.
//!
//! Source: Stiliadis and Varma, "Latency-rate servers: a general model for analysis of traffic scheduling algorithms",
//! IEEE/ACM Transactions on Networking 6(5), 1998 (the model, and the latencies of WFQ and SCFQ). For round robin
//! they assume a frame as long as the quantum; the sharper form used here, as a rate-latency service curve, is that of
//! Boyer, Stea and Sofack, "Deficit round robin with network calculus", VALUETOOLS 2012, restated by Tabatabaee
//! and Le Boudec, "Deficit round-robin: a second network calculus analysis", RTAS 2021.
//!
//! Not modelled: control frames of the link itself (a pause frame delays a queue by its own time).

use units::{BitRate, Time};

/// A guaranteed lower bound of service. Bits are counted by the accounted length of the scheduler.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct LatencyRate {
    /// Guaranteed rate, rounded down.
    pub rate: BitRate,
    /// Maximum delay before the guaranteed service begins, rounded up.
    pub latency: Time,
}

impl LatencyRate {
    pub(crate) fn new(bytes_per_s: f64, latency_s: f64) -> LatencyRate {
        LatencyRate {
            rate: BitRate::from_bps((bytes_per_s * 8.0) as u64),
            latency: Time::from_ps((latency_s.max(0.0) * 1e12).ceil() as u64),
        }
    }
    /// Returns the maximum delay of a bit of a flow that never sends more than `burst_bits` + `rate` · t in any
    /// interval t.
    pub fn delay(&self, burst_bits: u64) -> Time {
        self.latency + self.rate.time_for_bits_ceil(burst_bits)
    }
}
