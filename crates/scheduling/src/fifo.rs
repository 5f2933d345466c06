//! First in, first out: one queue, in order of arrival.
//!
//! If flow control stops any priority in the queue, the whole port waits (head-of-line blocking).
//!
//! Source: Hagen 2012 §2.4 (the output queue); any textbook.
//!
//! Not modelled: the duration of a scheduling decision (all schedulers decide instantly).

use crate::{Configuration, Discipline, LatencyRate, PortFacts};
use keys::{Remark, Remarks};
use units::{BitRate, Time};

/// No parameters.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct FifoParams;

impl Configuration for FifoParams {
    type Machine = Fifo;

    fn check(&self, port: &PortFacts) -> Remarks {
        if port.queues != 1 {
            let message = format!("\"fifo\" serves one queue, but there are {}", port.queues);
            return Err(Remark::new(message, "use queues = \"shared\", or scheduler = \"strict_priority\""));
        }
        Ok(Vec::new())
    }
    fn start(&self, _port: &PortFacts) -> Fifo {
        Fifo::default()
    }
    fn latency_rate_bound(&self, _queue: u32, port: &PortFacts) -> Option<LatencyRate> {
        Some(LatencyRate::new(port.rate.bps_f64() / 8.0, 0.0))
    }
}

/// FIFO has no state: the queue itself keeps the order.
#[derive(Clone, Debug, Default)]
pub struct Fifo {
    active: bool,
}

impl Discipline for Fifo {
    #[inline]
    fn activate(&mut self, _queue: u32, _head: u32, _now: Time) {
        self.active = true;
    }
    #[inline]
    fn deactivate(&mut self, _queue: u32, _now: Time) {
        self.active = false;
    }
    #[inline]
    fn pick(&mut self, _now: Time) -> Option<u32> {
        self.active.then_some(0)
    }
    #[inline]
    fn sent(&mut self, _queue: u32, _bytes: u32, _now: Time) {}
    #[inline]
    fn completed(&mut self, _queue: u32, next: Option<u32>, _now: Time) {
        self.active = next.is_some();
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
    fn a_stopped_head_stops_all() {
        let mut fifo = Fifo::default();
        fifo.activate(0, 100, Time::ZERO);
        assert_eq!(fifo.pick(Time::ZERO), Some(0));
        fifo.deactivate(0, Time::ZERO);
        assert_eq!(fifo.pick(Time::ZERO), None);
    }

    #[test]
    fn several_queues_have_no_common_order() {
        let port = PortFacts::ethernet(BitRate::from_gbps(10));
        assert!(FifoParams.check(&port).unwrap_err().contains("there are 8"));
        assert!(FifoParams.check(&PortFacts { queues: 1, ..port }).is_ok());
    }
}
