//! SCFQ-CA: credit-aware self-clocked fair queueing.
//!
//! In contrast to SCFQ, a frame is tagged only when it is at the head of its queue *and* flow control allows its
//! transmission: on arrival, after the previous frame, or when credits or an XON arrive. A stopped queue therefore
//! saves up no service; it resumes at the current virtual time. The rule works with any link-level flow control.
//!
//! A tagged head may become ineligible, because several queues share the credits of a channel or a pause arrives. It
//! then loses its tag and is tagged again when its queue resumes; the lost service is not compensated. A link that is
//! idle while queues are stopped keeps its virtual time.
//!
//! Source: Martinez 2006 §3; the two rules of the previous paragraph are ours (OC), because the source does not
//! specify them.
//!
//! Not modelled: hardware limits (short tags).

use crate::accounted_length::accounted;
use crate::scfq;
use crate::tags::{self, TagHeap, Weight};
use crate::{Configuration, Discipline, LatencyRate, PortFacts, PortLength, Weights};
use keys::Remarks;
use units::{BitRate, Time};

accounted! {
    /// Keys of credit-aware self-clocked fair queueing.
    pub struct ScfqCaParams accounts frame {
        /// Weights, one for each traffic class, 1 to 1000000 each, or "equal". Only ratios matter: unassigned and unused bandwidth is shared by weight. Default: "equal".
        pub weights: Weights = Weights::Equal,
    }
}

impl Configuration for ScfqCaParams {
    type Machine = ScfqCa;

    fn check(&self, port: &PortFacts) -> Remarks {
        self.accounted_length().check()?;
        self.weights.check(port.queues)?;
        Ok(Vec::new())
    }
    fn start(&self, port: &PortFacts) -> ScfqCa {
        ScfqCa::new(&self.weights.of(port.queues), self.accounted_length().at(port))
    }
    fn latency_rate_bound(&self, queue: u32, port: &PortFacts) -> Option<LatencyRate> {
        let rate = port.slowest_bytes_per_s(self.accounted_length());
        Some(scfq::bound(&self.weights.of(port.queues), queue, self.accounted_length(), rate, port))
    }
}

/// The state of SCFQ-CA: one tag per queue.
#[derive(Clone, Debug)]
pub struct ScfqCa {
    length: PortLength,
    /// Tag of the frame in service.
    in_service: u64,
    queues: Vec<Queue>,
    /// Queues with a stamped head, ordered by its tag.
    stamped: TagHeap<u64>,
}

#[derive(Clone, Copy, Debug)]
struct Queue {
    /// Weight, with its carry after the last frame sent and after the head.
    weight: Weight,
    head_weight: Weight,
    /// Tag of the last frame sent.
    last: u64,
}

impl ScfqCa {
    pub(crate) fn new(weights: &[u32], length: PortLength) -> ScfqCa {
        let queue = |&weight: &u32| {
            let weight = Weight::new(weight);
            Queue { weight, head_weight: weight, last: 0 }
        };
        ScfqCa {
            length,
            in_service: 0,
            queues: weights.iter().map(queue).collect(),
            stamped: TagHeap::new(weights.len() as u32),
        }
    }
    #[inline]
    fn stamp(&mut self, queue: u32, head: u32) {
        let (tag, weight) = self.tag(queue, head);
        self.queues[queue as usize].head_weight = weight;
        self.stamped.set(queue, tag);
    }
    /// Returns the tag of an eligible frame that becomes the head of a queue, and the weight with its carry after that
    /// frame.
    #[inline]
    fn tag(&mut self, queue: u32, head: u32) -> (u64, Weight) {
        if self.in_service > tags::LIMIT {
            self.rebase();
        }
        let state = &self.queues[queue as usize];
        let (span, weight) = state.weight.span(self.length.of(head));
        (state.last.max(self.in_service) + span, weight)
    }
    /// Reduces all tags before they overflow.
    #[cold]
    fn rebase(&mut self) {
        let down = tags::excess(self.in_service);
        self.in_service -= down;
        self.queues.iter_mut().for_each(|queue| queue.last = queue.last.saturating_sub(down));
        self.stamped.map(|tag| tag.saturating_sub(down));
    }
}

impl Discipline for ScfqCa {
    #[inline]
    fn activate(&mut self, queue: u32, head: u32, _now: Time) {
        self.stamp(queue, head);
    }
    #[inline]
    fn deactivate(&mut self, queue: u32, _now: Time) {
        self.stamped.remove(queue);
    }
    #[inline]
    fn pick(&mut self, _now: Time) -> Option<u32> {
        self.stamped.peek().map(|(_, queue)| queue)
    }
    #[inline]
    fn sent(&mut self, queue: u32, _bytes: u32, _now: Time) {
        let state = &mut self.queues[queue as usize];
        if let Some(tag) = self.stamped.key(queue) {
            (state.last, state.weight) = (tag, state.head_weight);
            self.in_service = tag;
        }
    }
    #[inline]
    fn completed(&mut self, queue: u32, next: Option<u32>, _now: Time) {
        match next {
            Some(head) => self.stamp(queue, head),
            None => {
                self.stamped.remove(queue);
            }
        }
    }
    #[inline]
    fn pass(&mut self, queue: u32, bytes: u32, _now: Time) -> bool {
        // All queues are empty, so the frame's tag becomes the tag in service without a comparison.
        let (tag, weight) = self.tag(queue, bytes);
        let state = &mut self.queues[queue as usize];
        (state.last, state.weight, state.head_weight) = (tag, weight, weight);
        self.in_service = tag;
        true
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
    use crate::AccountedLength;
    use crate::tags::FRACTION_BITS;
    use crate::testbed::{Serve, order_of, port};

    fn machine(weights: &[u32]) -> ScfqCa {
        let params =
            ScfqCaParams { weights: weights.to_vec().into(), ..ScfqCaParams::by(AccountedLength::FRAME) };
        params.start(&port(weights.len() as u32))
    }
    /// Serves `frames` frames of 100 B from queues that stay active. Returns each frame's queue and its tag in bytes
    /// per unit of weight.
    fn serve(scfq: &mut ScfqCa, frames: usize) -> Vec<(u32, u64)> {
        let serve = |_| {
            let queue = scfq.pick(Time::ZERO).unwrap();
            scfq.serve(queue, 100, Some(100), Time::ZERO);
            (queue, scfq.in_service >> FRACTION_BITS)
        };
        (0..frames).map(serve).collect()
    }

    #[test]
    fn golden_vector_10() {
        // The published vector has weights 0.5 and 0.5; with weights 1 and 1 the tags are half as large.
        let mut scfq = machine(&[1, 1]);
        scfq.activate(0, 100, Time::ZERO);
        let mut order = serve(&mut scfq, 3);
        scfq.activate(1, 100, Time::ZERO);
        order.extend(serve(&mut scfq, 6));
        let expected =
            [(0, 100), (0, 200), (0, 300), (0, 400), (1, 400), (0, 500), (1, 500), (0, 600), (1, 600)];
        assert_eq!(order, expected);
    }

    #[test]
    fn golden_vector_9_holds_without_flow_control() {
        // The published vector has weights 0.5, 0.25 and 0.25; with weights 2, 1 and 1 the tags are a quarter as large.
        let (mut scfq, mut left) = (machine(&[2, 1, 1]), [5, 3, 3]);
        let sizes = [100, 200, 100];
        (0..3).for_each(|queue| scfq.activate(queue, sizes[queue as usize], Time::ZERO));
        let mut served = Vec::new();
        while let Some(queue) = scfq.pick(Time::ZERO) {
            let (size, left) = (sizes[queue as usize], &mut left[queue as usize]);
            *left -= 1;
            scfq.serve(queue, size, (*left > 0).then_some(size), Time::ZERO);
            served.push((queue + 1, 4 * (scfq.in_service >> FRACTION_BITS)));
        }
        let golden = [
            (1, 200),
            (1, 400),
            (3, 400),
            (1, 600),
            (1, 800),
            (2, 800),
            (3, 800),
            (1, 1000),
            (3, 1200),
            (2, 1600),
            (2, 2400),
        ];
        assert_eq!(served, golden);
        let queues = [vec![100; 5], vec![200; 3], vec![100; 3]];
        assert_eq!(order_of(&mut machine(&[2, 1, 1]), &queues), [0, 0, 2, 0, 0, 1, 2, 0, 2, 1, 1]);
    }

    #[test]
    fn a_stamped_head_that_loses_its_credits_is_stamped_anew() {
        let mut scfq = machine(&[1, 1]);
        scfq.activate(0, 100, Time::ZERO);
        scfq.activate(1, 100, Time::ZERO);
        assert_eq!(serve(&mut scfq, 1), [(0, 100)]);
        assert_eq!(scfq.pick(Time::ZERO), Some(1));
        scfq.deactivate(1, Time::ZERO);
        assert_eq!(serve(&mut scfq, 3), [(0, 200), (0, 300), (0, 400)]);
        scfq.activate(1, 100, Time::ZERO);
        // Queue 1 is neither charged for the stamp that it lost nor compensated for the service that it missed.
        assert_eq!(serve(&mut scfq, 4), [(0, 500), (1, 500), (0, 600), (1, 600)]);
    }

    #[test]
    fn a_link_without_credits_keeps_its_virtual_time() {
        let mut scfq = machine(&[1, 1]);
        scfq.activate(0, 100, Time::ZERO);
        serve(&mut scfq, 2);
        scfq.deactivate(0, Time::ZERO);
        assert_eq!(scfq.pick(Time::ZERO), None);
        scfq.activate(1, 100, Time::ZERO);
        assert_eq!(serve(&mut scfq, 1), [(1, 300)]);
        scfq.idle(Time::ZERO);
        assert_eq!(scfq.in_service, 0);
    }

    #[test]
    fn tags_near_the_end_of_their_range_serve_in_the_same_order() {
        let queues = [vec![900; 40], vec![64; 40], vec![1500; 40]];
        let expected = order_of(&mut machine(&[3, 1, 7]), &queues);
        let mut late = machine(&[3, 1, 7]);
        late.in_service = tags::LIMIT - (1_000 << FRACTION_BITS);
        assert_eq!(order_of(&mut late, &queues), expected);
        assert!(late.in_service < tags::LIMIT / 2);
    }
}
