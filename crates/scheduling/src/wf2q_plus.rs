//! WF2Q+: worst-case fair weighted fair queueing.
//!
//! A head has a start tag S and a finish tag F = S + charge / weight. Among heads that the fluid server would have
//! begun (S at most the virtual time) the one that it would finish first is sent. So no queue is ahead of the
//! fluid by more than one frame, where WFQ lets heavy queues run ahead by many. The virtual time needs no
//! fluid: it advances by charge / Σ of all configured weights a frame, and never stays behind the
//! smallest start.
//!
//! A queue that becomes active starts at the virtual time or at its last finish, whichever is later. A
//! stopped head loses its tags and gets new ones on its return: no service is saved up.
//!
//! Source: Bennett and Zhang, "Hierarchical packet fair queueing algorithms", IEEE/ACM Transactions on Networking 5(5),
//! 1997; the rule for stopped queues is that of Martinez 2006 §3 (OC).
//!
//! Not modelled: the hierarchy of servers of that paper.

use crate::tags::{self, TagHeap, Weight};
use crate::weights;
use crate::wfq::one_frame_bound;
use crate::{Charge, Configuration, Discipline, LatencyRate, PortFacts};
use units::Time;

/// Parameters of WF2Q+.
#[derive(Clone, Debug, PartialEq)]
pub struct Wf2qPlusParams {
    /// One a queue, 1 to 1000000; empty (the default): all equal.
    pub weights: Vec<u32>,
    /// What a frame is billed. Default: frame.
    pub charge: Charge,
}

impl Configuration for Wf2qPlusParams {
    type Machine = Wf2qPlus;

    fn check(&self, port: &PortFacts) -> Result<Vec<String>, String> {
        self.charge.check()?;
        weights::check("weight", &self.weights, port.queues, weights::LARGEST)?;
        Ok(Vec::new())
    }
    fn start(&self, port: &PortFacts) -> Wf2qPlus {
        let weights = weights::expand(&self.weights, port.queues);
        let queue = |&weight: &u32| {
            let weight = Weight::new(weight);
            Queue { weight, head_weight: weight, last: 0, finish: 0 }
        };
        let all = weights.iter().map(|&weight| u64::from(weight)).sum::<u64>().max(1);
        Wf2qPlus {
            charge: self.charge,
            work: 0,
            all,
            limit: u128::from(tags::LIMIT) * u128::from(all),
            queues: weights.iter().map(queue).collect(),
            begun: TagHeap::new(port.queues),
            ahead: TagHeap::new(port.queues),
        }
    }
    /// L_i / ρ_i + L / C.
    fn latency_rate_bound(&self, queue: u32, port: &PortFacts) -> Option<LatencyRate> {
        Some(one_frame_bound(&weights::expand(&self.weights, port.queues), queue, self.charge, port))
    }
}

/// Heads by their tags.
#[derive(Clone, Debug)]
pub struct Wf2qPlus {
    charge: Charge,
    /// The virtual time as a tag, times `all`: so it advances by the charge without a division.
    work: u128,
    /// Sum of all weights.
    all: u64,
    /// The work past which all tags are moved down.
    limit: u128,
    queues: Vec<Queue>,
    /// Heads with S at most the virtual time, by F.
    begun: TagHeap<u64>,
    /// The other heads, by S.
    ahead: TagHeap<u64>,
}

#[derive(Clone, Copy, Debug)]
struct Queue {
    /// The weight as after the last frame sent, and as after the head.
    weight: Weight,
    head_weight: Weight,
    /// F of the last frame sent.
    last: u64,
    /// F of the head.
    finish: u64,
}

impl Wf2qPlus {
    #[inline]
    fn virtual_time(&self) -> u64 {
        (self.work / u128::from(self.all)) as u64
    }
    /// The work at which the virtual time is `tag`.
    #[inline]
    fn work_at(&self, tag: u64) -> u128 {
        u128::from(tag) * u128::from(self.all)
    }
    #[inline]
    fn has_begun(&self, start: u64) -> bool {
        self.work_at(start) <= self.work
    }
    /// Gives the head of a queue its finish.
    #[inline]
    fn stamp(&mut self, queue: u32, head: u32, start: u64) -> u64 {
        let state = &mut self.queues[queue as usize];
        let (span, weight) = state.weight.span(self.charge.of(head));
        (state.finish, state.head_weight) = (start + span, weight);
        state.finish
    }
    /// Puts a queue of `begun` where its new head belongs. Most often that is `ahead`, and another queue begins
    /// meanwhile: then each takes the other's place.
    #[inline]
    fn restart(&mut self, queue: u32, start: u64, finish: u64) {
        if self.has_begun(start) {
            return self.begun.set(queue, finish);
        }
        match self.ahead.peek() {
            Some((first, other)) if self.has_begun(first) => {
                self.ahead.exchange(other, queue, start);
                self.begun.exchange(queue, other, self.queues[other as usize].finish);
            }
            _ => {
                self.begun.remove(queue);
                self.ahead.set(queue, start);
            }
        }
    }
    /// Moves all tags down before they overflow.
    #[cold]
    fn rebase(&mut self) {
        let down = tags::excess(self.virtual_time());
        let lower = |tag: u64| tag.saturating_sub(down);
        self.work -= self.work_at(down);
        for queue in &mut self.queues {
            (queue.last, queue.finish) = (lower(queue.last), lower(queue.finish));
        }
        self.begun.map(lower);
        self.ahead.map(lower);
    }
}

impl Discipline for Wf2qPlus {
    #[inline]
    fn activate(&mut self, queue: u32, head: u32, _now: Time) {
        let start = self.queues[queue as usize].last.max(self.virtual_time());
        let finish = self.stamp(queue, head, start);
        if self.has_begun(start) {
            self.begun.set(queue, finish);
        } else {
            self.ahead.set(queue, start);
        }
    }
    #[inline]
    fn deactivate(&mut self, queue: u32, _now: Time) {
        let _ = self.begun.remove(queue) || self.ahead.remove(queue);
    }
    #[inline]
    fn pick(&mut self, _now: Time) -> Option<u32> {
        if self.begun.is_empty() {
            self.work = self.work.max(self.work_at(self.ahead.peek()?.0));
        }
        while let Some((start, queue)) = self.ahead.peek()
            && self.has_begun(start)
        {
            self.ahead.remove(queue);
            self.begun.set(queue, self.queues[queue as usize].finish);
        }
        self.begun.peek().map(|(_, queue)| queue)
    }
    #[inline]
    fn sent(&mut self, queue: u32, bytes: u32, next: Option<u32>, now: Time) {
        let state = &mut self.queues[queue as usize];
        (state.last, state.weight) = (state.finish, state.head_weight);
        let start = state.last;
        // V = max(V + L / Σ weights, smallest S). A head that has begun has S below V.
        self.work += u128::from(self.charge.of(bytes)) << tags::FRACTION_BITS;
        match next {
            Some(head) => {
                let finish = self.stamp(queue, head, start);
                self.restart(queue, start, finish);
            }
            None => self.deactivate(queue, now),
        }
        if self.begun.is_empty()
            && let Some((start, _)) = self.ahead.peek()
        {
            self.work = self.work.max(self.work_at(start));
        }
        if self.work > self.limit {
            self.rebase();
        }
    }
    #[inline]
    fn idle(&mut self, _now: Time) {
        if self.work > 0 {
            self.work = 0;
            self.queues.iter_mut().for_each(|queue| queue.last = 0);
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::testbed::{order_of, port};

    fn machine(weights: &[u32]) -> Wf2qPlus {
        let params = Wf2qPlusParams { weights: weights.to_vec(), charge: Charge::FRAME };
        params.start(&port(weights.len() as u32))
    }

    #[test]
    fn golden_vector_11() {
        let queues = [vec![100; 5], vec![100; 3], vec![100; 3]];
        assert_eq!(order_of(&mut machine(&[2, 1, 1]), &queues), [0, 1, 0, 2, 0, 1, 0, 2, 0, 1, 2]);
    }

    #[test]
    fn a_heavy_queue_does_not_run_ahead() {
        // Bennett and Zhang's Figure 2: one queue of weight 10 and ten of weight 1. WFQ sends ten frames of the first in a row.
        let mut queues = vec![vec![100; 11]];
        queues.extend(vec![vec![100; 1]; 10]);
        let weights: Vec<u32> = std::iter::once(10).chain([1; 10]).collect();
        let order = order_of(&mut machine(&weights), &queues);
        let first: Vec<bool> = order.iter().map(|&queue| queue == 0).collect();
        assert_eq!(first, (0..21).map(|n| n % 2 == 0).collect::<Vec<_>>());
    }

    #[test]
    fn a_returning_queue_starts_at_the_virtual_time() {
        let mut wf2q = machine(&[1, 1]);
        wf2q.activate(0, 100, Time::ZERO);
        wf2q.activate(1, 100, Time::ZERO);
        wf2q.deactivate(1, Time::ZERO);
        for _ in 0..4 {
            assert_eq!(wf2q.pick(Time::ZERO), Some(0));
            wf2q.sent(0, 100, Some(100), Time::ZERO);
        }
        wf2q.activate(1, 100, Time::ZERO);
        let mut order = Vec::new();
        for _ in 0..6 {
            let queue = wf2q.pick(Time::ZERO).unwrap();
            order.push(queue);
            wf2q.sent(queue, 100, Some(100), Time::ZERO);
        }
        assert_eq!(order, [0, 1, 0, 1, 0, 1]);
    }

    #[test]
    fn tags_near_the_end_of_their_range_serve_in_the_same_order() {
        let queues = [vec![900; 40], vec![64; 40], vec![1500; 40]];
        let expected = order_of(&mut machine(&[3, 1, 7]), &queues);
        let mut late = machine(&[3, 1, 7]);
        late.work = late.work_at(tags::LIMIT - (1_000 << tags::FRACTION_BITS));
        assert_eq!(order_of(&mut late, &queues), expected);
        assert!(late.virtual_time() < tags::LIMIT / 2);
    }
}
