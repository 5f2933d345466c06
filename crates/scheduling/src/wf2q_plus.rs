//! WF2Q+: worst-case fair weighted fair queueing.
//!
//! The frame at the head of each queue has a start tag S and a finish tag F = S + accounted length / weight. A head is
//! eligible if S is at most the virtual time, which means that the fluid server would have started it. The eligible
//! head with the smallest F is sent. No queue is therefore ahead of the fluid server by more than one frame, whereas
//! in WFQ queues with large weights can be ahead by many.
//!
//! The virtual time V does not need a fluid server. It advances with the service of the link: by the part of the
//! accounted length that has been transmitted, divided by the sum of all configured weights. It is never below the
//! smallest start tag of all backlogged heads, where the frame in transmission is the head of its queue until its last
//! bit has been sent. Because that frame was eligible when it was selected, the smallest start tag can raise V only
//! between two frames.
//!
//! The start tag of a frame that arrives at an empty queue is the larger of V and the last finish tag of the queue. A
//! frame behind another one that is queued or in transmission starts at the finish tag of that frame. A stopped head
//! loses its tags and gets new ones when its queue resumes, as if it had arrived then, so that the queue saves up no
//! service.
//!
//! Source: Bennett and Zhang, "Hierarchical packet fair queueing algorithms", IEEE/ACM Transactions on Networking
//! 5(5), 1997, equations 27 to 29; the rule for stopped queues is that of Martinez 2006 §3 (OC).
//!
//! Not modelled: the hierarchy of servers of that paper; pause frames and other control frames, during which V does
//! not advance.

use crate::accounted_length::accounted;
use crate::in_service::InService;
use crate::tags::{self, TagHeap, Weight};
use crate::wfq::one_frame_bound;
use crate::{Configuration, Discipline, LatencyRate, PortFacts, PortLength, Weights};
use keys::Remarks;
use units::{BitRate, Time};

accounted! {
    /// Keys of worst-case fair weighted fair queueing.
    pub struct Wf2qPlusParams accounts frame {
        /// Weights, one for each traffic class, 1 to 1000000 each, or "equal". Default: "equal".
        pub weights: Weights = Weights::Equal,
    }
}

impl Configuration for Wf2qPlusParams {
    type Machine = Wf2qPlus;

    fn check(&self, port: &PortFacts) -> Remarks {
        self.accounted_length().check()?;
        self.weights.check(port.queues)?;
        Ok(Vec::new())
    }
    fn start(&self, port: &PortFacts) -> Wf2qPlus {
        let weights = self.weights.of(port.queues);
        let queue = |&weight: &u32| {
            let weight = Weight::new(weight);
            Queue { weight, head_weight: weight, last: 0, finish: 0 }
        };
        let all = weights.iter().map(|&weight| u64::from(weight)).sum::<u64>().max(1);
        Wf2qPlus {
            length: self.accounted_length().at(port),
            rate: port.rate,
            overhead: port.overhead,
            work: 0,
            in_service: None,
            all,
            limit: u128::from(tags::LIMIT) * u128::from(all),
            queues: weights.iter().map(queue).collect(),
            begun: TagHeap::new(port.queues),
            ahead: TagHeap::new(port.queues),
        }
    }
    /// Returns the bound with latency L_i / ρ_i + L / C.
    fn latency_rate_bound(&self, queue: u32, port: &PortFacts) -> Option<LatencyRate> {
        Some(one_frame_bound(&self.weights.of(port.queues), queue, self.accounted_length(), port))
    }
}

/// The state of WF2Q+: the heads by their tags.
#[derive(Clone, Debug)]
pub struct Wf2qPlus {
    length: PortLength,
    rate: BitRate,
    overhead: u32,
    /// Virtual time at the end of the frame in service, as a tag times `all`. In this unit it advances by the accounted
    /// length, without a division.
    work: u128,
    in_service: Option<InService>,
    /// Sum of the weights of all queues.
    all: u64,
    /// Value of `work` beyond which all tags are reduced.
    limit: u128,
    queues: Vec<Queue>,
    /// Heads with S at most the virtual time, ordered by F.
    begun: TagHeap<u64>,
    /// The other heads, ordered by S.
    ahead: TagHeap<u64>,
}

#[derive(Clone, Copy, Debug)]
struct Queue {
    /// Weight, with its carry after the last frame sent and after the head.
    weight: Weight,
    head_weight: Weight,
    /// F of the last frame sent.
    last: u64,
    /// F of the head.
    finish: u64,
}

impl Wf2qPlus {
    /// Returns the start tag of a frame that becomes the head of an empty or stopped queue.
    #[inline]
    fn start(&self, queue: u32, now: Time) -> u64 {
        let left = self.in_service.map_or(0, |frame| frame.left(now));
        self.queues[queue as usize].last.max(self.tag_at(self.work - u128::from(left)))
    }
    /// Returns the virtual time after this work.
    #[inline]
    fn tag_at(&self, work: u128) -> u64 {
        (work / u128::from(self.all)) as u64
    }
    /// Returns the work at which the virtual time is `tag`.
    #[inline]
    fn work_at(&self, tag: u64) -> u128 {
        u128::from(tag) * u128::from(self.all)
    }
    #[inline]
    fn has_begun(&self, start: u64) -> bool {
        self.work_at(start) <= self.work
    }
    /// Sets and returns the finish tag of the head of a queue.
    #[inline]
    fn stamp(&mut self, queue: u32, head: u32, start: u64) -> u64 {
        let state = &mut self.queues[queue as usize];
        let (span, weight) = state.weight.span(self.length.of(head));
        (state.finish, state.head_weight) = (start + span, weight);
        state.finish
    }
    /// Moves a queue of `begun` to the heap of its new head. Most often that is `ahead`, and another queue moves from
    /// `ahead` to `begun` at the same time; the two are then exchanged.
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
    /// Reduces all tags before they overflow.
    #[cold]
    fn rebase(&mut self) {
        let down = tags::excess(self.tag_at(self.work));
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
    fn activate(&mut self, queue: u32, head: u32, now: Time) {
        let start = self.start(queue, now);
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
        // No frame is in service: V = max(V, smallest S). A head in `begun` has S at most V.
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
    fn sent(&mut self, queue: u32, bytes: u32, now: Time) {
        let state = &mut self.queues[queue as usize];
        (state.last, state.weight) = (state.finish, state.head_weight);
        let work = u64::from(self.length.of(bytes)) << tags::FRACTION_BITS;
        self.work += u128::from(work);
        self.in_service = Some(InService::new(bytes + self.overhead, work, self.rate, now));
    }
    #[inline]
    fn completed(&mut self, queue: u32, next: Option<u32>, now: Time) {
        self.in_service = None;
        match next {
            Some(head) => {
                let start = self.queues[queue as usize].last;
                let finish = self.stamp(queue, head, start);
                self.restart(queue, start, finish);
            }
            None => self.deactivate(queue, now),
        }
        if self.work > self.limit {
            self.rebase();
        }
    }
    fn on_link_rate(&mut self, rate: BitRate, _now: Time) {
        self.rate = rate;
    }
    #[inline]
    fn idle(&mut self, _now: Time) {
        if self.work > 0 {
            (self.work, self.in_service) = (0, None);
            self.queues.iter_mut().for_each(|queue| queue.last = 0);
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::AccountedLength;
    use crate::testbed::{Serve, finish_times, order_of, port};

    fn machine(weights: &[u32]) -> Wf2qPlus {
        let params =
            Wf2qPlusParams { weights: weights.to_vec().into(), ..Wf2qPlusParams::by(AccountedLength::FRAME) };
        params.start(&port(weights.len() as u32))
    }

    #[test]
    fn golden_vector_11() {
        let queues = [vec![100; 5], vec![100; 3], vec![100; 3]];
        assert_eq!(order_of(&mut machine(&[2, 1, 1]), &queues), [0, 1, 0, 2, 0, 1, 0, 2, 0, 1, 2]);
    }

    #[test]
    fn a_heavy_queue_does_not_run_ahead() {
        // Figure 2 of Bennett and Zhang: one queue of weight 10 and ten of weight 1. WFQ sends ten frames of the first
        // queue in a row.
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
        for n in 0..4 {
            assert_eq!(wf2q.pick(Time::from_ns(96 * n)), Some(0));
            wf2q.serve(0, 100, Some(100), Time::from_ns(96 * n));
        }
        // Queue 1 gets S = 350 and the next frame of queue 0 has S = 400: the four missed turns are not compensated.
        wf2q.activate(1, 100, Time::from_ns(400));
        let mut order = Vec::new();
        for n in 0..6 {
            let queue = wf2q.pick(Time::from_ns(400 + 96 * n)).unwrap();
            order.push(queue);
            wf2q.serve(queue, 100, Some(100), Time::from_ns(400 + 96 * n));
        }
        assert_eq!(order, [1, 0, 1, 0, 1, 0]);
    }

    /// Returns the queues in order of service, and the end of each frame in nanoseconds in order of arrival. The link
    /// sends one byte per nanosecond without overhead; arrivals are (ns, queue, bytes).
    fn served(weights: &[u32], arrivals: &[(u64, u32, u32)]) -> (Vec<u32>, Vec<u64>) {
        let queues = weights.len() as u32;
        let facts = PortFacts { rate: BitRate::from_gbps(8), overhead: 0, ..port(queues) };
        let mut wf2q =
            Wf2qPlusParams { weights: weights.to_vec().into(), ..Wf2qPlusParams::by(AccountedLength::FRAME) }
                .start(&facts);
        let timed: Vec<_> =
            arrivals.iter().map(|&(ns, queue, bytes)| (Time::from_ns(ns), queue, bytes)).collect();
        let ends: Vec<u64> =
            finish_times(&mut wf2q, &facts, &timed).iter().map(|end| end.ps() / 1_000).collect();
        let mut order: Vec<usize> = (0..arrivals.len()).collect();
        order.sort_by_key(|&frame| ends[frame]);
        (order.iter().map(|&frame| arrivals[frame].1).collect(), ends)
    }

    #[test]
    fn a_frame_that_comes_during_another_starts_at_the_service_given_so_far() {
        // V = t / 4 while the frame of queue 0 is sent. The tags (S, F) are (50, 150), (150, 350), (150, 250) in order
        // of arrival. At 1000 ns V is 250 and all have begun. If V were 250 from the start, queue 2 would have F = 450
        // and start before the second frame of queue 1 (350, 450).
        let arrivals = [(0, 0, 1000), (200, 1, 100), (600, 2, 400), (800, 1, 100)];
        assert_eq!(served(&[1, 1, 2], &arrivals), (vec![0, 1, 1, 2], vec![1000, 1100, 1600, 1200]));
    }

    #[test]
    fn the_frame_in_service_is_a_backlogged_head() {
        // The next frame of queue 0 has S = 1000, but V does not jump to it before 1000 ns. Queue 1 has (50, 150) and
        // (150, 250), both begun at V = 500.
        let arrivals = [(0, 0, 1000), (0, 0, 1000), (100, 1, 100), (200, 1, 100)];
        assert_eq!(served(&[1, 1], &arrivals).0, [0, 1, 1, 0]);
    }

    #[test]
    fn behind_the_frame_in_service_a_frame_starts_at_its_finish() {
        // Queue 0 lags: its first frame (1, 11) is sent from 1000 ns on, when V = 100. Its second frame arrives at 1050
        // ns and is stamped (11, 21), not (105, 115), so it is sent before queue 2 (104, 114).
        let arrivals = [(0, 1, 1000), (10, 0, 80), (1040, 2, 10), (1050, 0, 80)];
        assert_eq!(served(&[8, 1, 1], &arrivals).0, [1, 0, 0, 2]);
    }

    #[test]
    fn the_virtual_time_follows_the_smallest_start_between_frames() {
        // As long as queue 0 is alone, its frames have S = 0, 100, 200, 300, and V jumps to S at the end of each frame.
        // Queue 1 arrives at V = 325: (325, 425) and (425, 525). Without the jumps it would arrive at V = 175 and send
        // twice in a row.
        let mut arrivals = vec![(0, 0, 100); 6];
        arrivals.extend([(350, 1, 100), (350, 1, 100)]);
        assert_eq!(served(&[1, 1], &arrivals).0, [0, 0, 0, 0, 1, 0, 1, 0]);
    }

    #[test]
    fn a_flow_within_its_token_bucket_keeps_its_bound() {
        // 10 Gb/s, weights 20 : 5 : 20. Queue 0 sends 180 B every 324 ns, which is its guaranteed rate: the bound is L
        // / ρ + Lmax / C = 3924 ns.
        let facts = PortFacts { overhead: 0, ..port(3) };
        let mut wf2q =
            Wf2qPlusParams { weights: vec![20, 5, 20].into(), ..Wf2qPlusParams::by(AccountedLength::FRAME) }
                .start(&facts);
        let arrivals = [(10_000, 1, 4410), (10_600, 0, 180), (10_924, 0, 180), (12_600, 2, 4500)];
        let arrivals = arrivals.map(|(ns, queue, bytes)| (Time::from_ns(ns), queue, bytes));
        let ends = finish_times(&mut wf2q, &facts, &arrivals);
        let delay = |frame: usize| (ends[frame] - arrivals[frame].0).ps() / 1_000;
        assert_eq!([delay(1), delay(2)], [3072, 2892]);
    }

    #[test]
    fn tags_near_the_end_of_their_range_serve_in_the_same_order() {
        let queues = [vec![900; 40], vec![64; 40], vec![1500; 40]];
        let expected = order_of(&mut machine(&[3, 1, 7]), &queues);
        let mut late = machine(&[3, 1, 7]);
        late.work = late.work_at(tags::LIMIT - (1_000 << tags::FRACTION_BITS));
        assert_eq!(order_of(&mut late, &queues), expected);
        assert!(late.tag_at(late.work) < tags::LIMIT / 2);
    }
}
