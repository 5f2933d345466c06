//! Strict priority: the default transmission selection algorithm of IEEE 802.1Q (clause 8.6.8.1).
//!
//! Serves the highest-priority queue that may send. Lower queues starve as long as a higher one has frames; this is
//! inherent to the algorithm.
//!
//! Source: IEEE 802.1Q clause 8.6.8.1.
//!
//! Not modelled: the duration of a scheduling decision, and preemption of a frame in transmission (IEEE 802.1Qbu).

use crate::ready::ReadySet;
use crate::{AccountedLength, Configuration, Discipline, LatencyRate, PortFacts};
use keys::Remarks;
use recurrence::Recurs;
use units::{BitRate, Time};

/// No parameters.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct StrictPriorityParams;

impl Configuration for StrictPriorityParams {
    type Machine = StrictPriority;

    fn check(&self, _port: &PortFacts) -> Remarks {
        Ok(Vec::new())
    }
    fn start(&self, port: &PortFacts) -> StrictPriority {
        StrictPriority { active: ReadySet::new(port.queues) }
    }
    /// Returns the bound. Only the highest queue has a guarantee: it waits for at most one frame.
    fn latency_rate_bound(&self, queue: u32, port: &PortFacts) -> Option<LatencyRate> {
        let rate = port.slowest_bytes_per_s(AccountedLength::WIRE);
        let highest = queue + 1 == port.queues;
        highest.then(|| LatencyRate::new(rate, f64::from(port.largest(AccountedLength::WIRE)) / rate))
    }
}

/// The set of active queues.
#[derive(Clone, Debug, Recurs)]
pub struct StrictPriority {
    active: ReadySet,
}

impl Discipline for StrictPriority {
    #[inline]
    fn activate(&mut self, queue: u32, _head: u32, _now: Time) {
        self.active.insert(queue);
    }
    #[inline]
    fn deactivate(&mut self, queue: u32, _now: Time) {
        self.active.remove(queue);
    }
    #[inline]
    fn pick(&mut self, _now: Time) -> Option<u32> {
        self.active.highest()
    }
    #[inline]
    fn sent(&mut self, _queue: u32, _bytes: u32, _now: Time) {}
    #[inline]
    fn completed(&mut self, queue: u32, next: Option<u32>, _now: Time) {
        match next {
            Some(_) => self.active.insert(queue),
            None => self.active.remove(queue),
        }
    }
    fn on_link_rate(&mut self, _rate: BitRate, _now: Time) {}
    #[inline]
    fn pass(&mut self, _queue: u32, _bytes: u32, _now: Time) -> bool {
        true
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use units::BitRate;

    #[test]
    fn the_highest_wins() {
        let port = PortFacts::ethernet(BitRate::from_gbps(10));
        for eligible in 1..=u8::MAX {
            let mut scheduler = StrictPriorityParams.start(&port);
            (0..8).filter(|queue| eligible >> queue & 1 != 0).for_each(|queue| {
                scheduler.activate(queue, 100, Time::ZERO);
            });
            assert_eq!(scheduler.pick(Time::ZERO), Some(eligible.ilog2()));
        }
    }
}
