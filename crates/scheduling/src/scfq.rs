//! SCFQ: self-clocked fair queueing.
//!
//! Each frame gets a service tag on arrival, F = max(F of the previous frame in its queue, F of the frame in
//! service) + accounted length / weight. Frames are sent in the order of their tags; the lowest queue wins ties. The
//! tag of the frame in service is the virtual time, so that no reference system is needed. When the port becomes idle,
//! all tags are reset to zero.
//!
//! Without flow control this is fair. With flow control, frames in a stopped queue keep the tags of their arrival, and
//! the queue catches up when it resumes. SCFQ-CA avoids this.
//!
//! Source: Golestani, "A self-clocked fair queueing scheme for broadband applications", INFOCOM 1994; Martinez 2006
//! §3.
//!
//! Not modelled: hardware limits (short tags, approximate sorting).

use crate::accounted_length::accounted;
use crate::tags::{self, TagHeap, Weight};
use crate::{AccountedLength, Configuration, Discipline, LatencyRate, PortFacts, PortLength, Weights};
use keys::Remarks;
use std::collections::VecDeque;
use units::{BitRate, Time};

accounted! {
    /// Keys of self-clocked fair queueing.
    pub struct ScfqParams accounts frame {
        /// Weights, one for each traffic class, 1 to 1000000 each, or "equal". Default: "equal".
        pub weights: Weights = Weights::Equal,
    }
}

impl Configuration for ScfqParams {
    type Machine = Scfq;

    fn check(&self, port: &PortFacts) -> Remarks {
        self.accounted_length().check()?;
        self.weights.check(port.queues)?;
        Ok(Vec::new())
    }
    fn start(&self, port: &PortFacts) -> Scfq {
        let weights = self.weights.of(port.queues);
        let queue = |weight| Queue { weight: Weight::new(weight), last: 0, tags: VecDeque::new() };
        Scfq {
            length: self.accounted_length().at(port),
            in_service: 0,
            queues: weights.into_iter().map(queue).collect(),
            active: TagHeap::new(port.queues),
        }
    }
    fn latency_rate_bound(&self, queue: u32, port: &PortFacts) -> Option<LatencyRate> {
        let rate = port.slowest_bytes_per_s(self.accounted_length());
        Some(bound(&self.weights.of(port.queues), queue, self.accounted_length(), rate, port))
    }
}

/// Returns the bound with latency L_i / ρ_i + (n - 1) · L / C (Stiliadis and Varma 1998), on a link of `rate` accounted
/// bytes per second.
pub(crate) fn bound(
    weights: &[u32],
    queue: u32,
    accounted: AccountedLength,
    rate: f64,
    port: &PortFacts,
) -> LatencyRate {
    let own = f64::from(weights[queue as usize]);
    let all: f64 = weights.iter().map(|&weight| f64::from(weight)).sum();
    let others = weights.iter().filter(|&&weight| weight > 0).count() as f64 - 1.0;
    let largest = f64::from(port.largest(accounted));
    LatencyRate::new(rate * own / all, largest * all / own / rate + others * largest / rate)
}

/// The state of SCFQ: the tags of all waiting frames.
#[derive(Clone, Debug)]
pub struct Scfq {
    length: PortLength,
    /// Tag of the frame in service, which is the virtual time.
    in_service: u64,
    queues: Vec<Queue>,
    /// Active queues, ordered by the tags of their heads.
    active: TagHeap<u64>,
}

#[derive(Clone, Debug)]
struct Queue {
    weight: Weight,
    /// Tag of the last frame that arrived.
    last: u64,
    /// Tags of the waiting frames.
    tags: VecDeque<u64>,
}

impl Scfq {
    /// Reduces all tags before they overflow.
    #[cold]
    fn rebase(&mut self) {
        let down = tags::excess(self.in_service);
        self.in_service -= down;
        for queue in &mut self.queues {
            queue.last = queue.last.saturating_sub(down);
            queue.tags.iter_mut().for_each(|tag| *tag = tag.saturating_sub(down));
        }
        self.active.map(|tag| tag.saturating_sub(down));
    }
}

impl Discipline for Scfq {
    #[inline]
    fn arrive(&mut self, queue: u32, bytes: u32, _now: Time) {
        if self.queues[queue as usize].last.max(self.in_service) > tags::LIMIT {
            self.rebase();
        }
        let in_service = self.in_service;
        let queue = &mut self.queues[queue as usize];
        let (span, weight) = queue.weight.span(self.length.of(bytes));
        queue.weight = weight;
        queue.last = queue.last.max(in_service) + span;
        queue.tags.push_back(queue.last);
    }
    #[inline]
    fn activate(&mut self, queue: u32, _head: u32, _now: Time) {
        if let Some(&tag) = self.queues[queue as usize].tags.front() {
            self.active.set(queue, tag);
        }
    }
    #[inline]
    fn deactivate(&mut self, queue: u32, _now: Time) {
        self.active.remove(queue);
    }
    fn forget(&mut self, queue: u32, _now: Time) {
        let queue = &mut self.queues[queue as usize];
        queue.tags.clear();
        queue.last = queue.last.min(self.in_service);
    }
    #[inline]
    fn pick(&mut self, _now: Time) -> Option<u32> {
        self.active.peek().map(|(_, queue)| queue)
    }
    #[inline]
    fn sent(&mut self, queue: u32, _bytes: u32, _now: Time) {
        if let Some(tag) = self.queues[queue as usize].tags.pop_front() {
            self.in_service = tag;
        }
    }
    #[inline]
    fn completed(&mut self, queue: u32, next: Option<u32>, now: Time) {
        match next {
            Some(head) => self.activate(queue, head, now),
            None => self.deactivate(queue, now),
        }
    }
    fn on_link_rate(&mut self, _rate: BitRate, _now: Time) {}
    #[inline]
    fn idle(&mut self, _now: Time) {
        if self.in_service > 0 {
            self.in_service = 0;
            self.queues.iter_mut().for_each(|queue| queue.last = 0);
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::tags::FRACTION_BITS;
    use crate::testbed::{Serve, order_of, port};

    fn params(weights: &[u32]) -> ScfqParams {
        ScfqParams { weights: weights.to_vec().into(), ..ScfqParams::by(AccountedLength::FRAME) }
    }

    #[test]
    fn golden_vector_9() {
        let queues = [vec![100; 5], vec![200; 3], vec![100; 3]];
        assert_eq!(
            order_of(&mut params(&[2, 1, 1]).start(&port(3)), &queues),
            [0, 0, 2, 0, 0, 1, 2, 0, 2, 1, 1]
        );
    }

    #[test]
    fn the_tag_in_service_is_the_virtual_time() {
        let now = Time::ZERO;
        let mut scfq = params(&[1, 1]).start(&port(2));
        for _ in 0..3 {
            scfq.arrive(0, 100, now);
        }
        scfq.activate(0, 100, now);
        scfq.serve(0, 100, Some(100), now);
        scfq.serve(0, 100, Some(100), now);
        // The virtual time is 200. Queue 1 gets no credit for the service that it missed.
        scfq.arrive(1, 150, now);
        scfq.activate(1, 150, now);
        assert_eq!(scfq.queues[1].last, 350 << FRACTION_BITS);
        assert_eq!(scfq.pick(now), Some(0));
    }

    #[test]
    fn a_stopped_queue_catches_up() {
        let now = Time::ZERO;
        let mut scfq = params(&[1, 1]).start(&port(2));
        for queue in [0, 1] {
            (0..8).for_each(|_| scfq.arrive(queue, 100, now));
        }
        scfq.activate(0, 100, now);
        (0..3).for_each(|_| scfq.serve(0, 100, Some(100), now));
        scfq.activate(1, 100, now);
        let mut order = Vec::new();
        for _ in 0..5 {
            order.extend(scfq.pick(now));
            scfq.serve(order[order.len() - 1], 100, Some(100), now);
        }
        assert_eq!(order, [1, 1, 1, 0, 1]);
    }

    #[test]
    fn an_idle_port_forgets() {
        let mut scfq = params(&[1, 1]).start(&port(2));
        assert!(scfq.pass(0, 1500, Time::ZERO));
        scfq.idle(Time::ZERO);
        assert_eq!((scfq.in_service, scfq.queues[0].last), (0, 0));
    }

    #[test]
    fn tags_near_the_end_of_their_range_serve_in_the_same_order() {
        let queues = [vec![900; 40], vec![64; 40], vec![1500; 40]];
        let weights = params(&[3, 1, 7]);
        let expected = order_of(&mut weights.start(&port(3)), &queues);
        let mut late = weights.start(&port(3));
        late.in_service = tags::LIMIT - (1_000 << FRACTION_BITS);
        assert_eq!(order_of(&mut late, &queues), expected);
        assert!(late.in_service < tags::LIMIT / 2);
    }
}
