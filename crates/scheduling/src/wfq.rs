//! WFQ: weighted fair queueing, also known as packet-by-packet generalised processor sharing (PGPS).
//!
//! A fluid reference server gives every backlogged queue its weighted share of the link at each instant. Each frame is
//! tagged on arrival with the virtual time at which the fluid server will finish it. Frames are sent in the order of
//! these tags, each at most one largest frame later than in the fluid server.
//!
//! The fluid server advances with the service of the link, in accounted bytes. While a frame is in transmission it
//! serves the accounted length of that frame at a constant rate, and it stops while the link sends no frame. Virtual
//! time therefore reflects the capacity available to the port under all conditions: the clock of the port, pauses,
//! control frames and credit updates, an upstream shaper, a changed link rate.
//!
//! Flow control: the fluid server does not serve a stopped queue. The tags of its frames are frozen. When the queue
//! resumes, tags that lie in the past are moved to the current virtual time. The queue thus saves up no service, as in
//! SCFQ-CA. Virtual time is a 96-bit integer in units of 2^-40 byte. It does not drift, and it does not overflow in
//! days of continuous load.
//!
//! Source: Demers, Keshav and Shenker, SIGCOMM 1989; Parekh and Gallager, IEEE/ACM Transactions on Networking 1(3),
//! 1993; the rule for stopped queues is ours (OC).
//!
//! Not modelled: the exact time of a stop. If a queue is stopped while a frame of another queue is in transmission,
//! the fluid server serves it until the end of that transmission.

use crate::accounted_length::accounted;
use crate::in_service::InService;
use crate::tags::{FRACTION_BITS, TagHeap, Weight};
use crate::{AccountedLength, Configuration, Discipline, LatencyRate, PortFacts, PortLength, Weights};
use keys::Remarks;
use std::collections::VecDeque;
use units::{BitRate, Time};

accounted! {
    /// Keys of weighted fair queueing.
    pub struct WfqParams accounts wire {
        /// Weights, one for each traffic class, 1 to 1000000 each, or "equal". Default: "equal".
        pub weights: Weights = Weights::Equal,
    }
}

impl Configuration for WfqParams {
    type Machine = Wfq;

    fn check(&self, port: &PortFacts) -> Remarks {
        self.accounted_length().check()?;
        self.weights.check(port.queues)?;
        Ok(Vec::new())
    }
    fn start(&self, port: &PortFacts) -> Wfq {
        let weights = self.weights.of(port.queues);
        let queue = |weight| Queue {
            weight: Weight::new(weight),
            last: 0,
            tags: VecDeque::new(),
            moved: 0,
            active: false,
        };
        Wfq {
            length: self.accounted_length().at(port),
            queues: weights.iter().copied().map(queue).collect(),
            fluid: Fluid::new(port, weights),
            active: TagHeap::new(port.queues),
        }
    }
    /// Returns the bound with latency L_i / ρ_i + L / C (Stiliadis and Varma 1998).
    fn latency_rate_bound(&self, queue: u32, port: &PortFacts) -> Option<LatencyRate> {
        Some(one_frame_bound(&self.weights.of(port.queues), queue, self.accounted_length(), port))
    }
}

/// Returns the bound with latency L_i / ρ_i + L / C.
pub(crate) fn one_frame_bound(
    weights: &[u32],
    queue: u32,
    accounted: AccountedLength,
    port: &PortFacts,
) -> LatencyRate {
    let rate = port.slowest_bytes_per_s(accounted);
    let all: f64 = weights.iter().map(|&weight| f64::from(weight)).sum();
    let certain = rate * f64::from(weights[queue as usize]) / all;
    let largest = f64::from(port.largest(accounted));
    LatencyRate::new(certain, largest / certain + largest / rate)
}

/// Virtual time: accounted bytes per unit of weight, in units of 2^-40.
type Virtual = u128;

/// The fluid reference server. It advances with the service of the link, so neither gets ahead of the other.
#[derive(Clone, Debug)]
struct Fluid {
    rate: BitRate,
    overhead: u32,
    in_service: Option<InService>,
    /// Part of the frame in service that the fluid server has not yet served, in 2^-20 B.
    due: u64,
    virtual_time: Virtual,
    /// Queues with fluid, ordered by the virtual time at which they become empty.
    backlogged: TagHeap<Virtual>,
    /// Sum of the weights of the queues with fluid.
    weights: u64,
    weight_of: Vec<u32>,
}

impl Fluid {
    fn new(port: &PortFacts, weight_of: Vec<u32>) -> Fluid {
        let backlogged = TagHeap::new(port.queues);
        Fluid {
            rate: port.rate,
            overhead: port.overhead,
            in_service: None,
            due: 0,
            virtual_time: 0,
            backlogged,
            weights: 0,
            weight_of,
        }
    }
    /// Begins a frame on the link.
    #[inline]
    fn begin(&mut self, bytes: u32, accounted: u32, now: Time) {
        self.end();
        self.due = u64::from(accounted) << FRACTION_BITS;
        self.in_service = Some(InService::new(bytes + self.overhead, self.due, self.rate, now));
    }
    /// Ends the frame in service on the link.
    #[inline]
    fn end(&mut self) {
        self.in_service = None;
        self.serve_until(0);
    }
    #[inline]
    fn advance(&mut self, now: Time) {
        if let Some(frame) = self.in_service {
            self.serve_until(frame.left(now));
        }
    }
    /// Serves the fluid until `due` of the frame in service remains. dV = work / Σ weights of the queues with fluid;
    /// the sum changes whenever one of them becomes empty.
    #[inline]
    fn serve_until(&mut self, due: u64) {
        let work = self.due - due;
        if work == 0 {
            return;
        }
        self.due = due;
        let mut work = u128::from(work) << FRACTION_BITS;
        while let Some((dry, queue)) = self.backlogged.peek() {
            let needed = dry.saturating_sub(self.virtual_time) * u128::from(self.weights);
            if needed > work {
                // Both usually fit 64 bits, in which a division is several times as fast.
                self.virtual_time += match u64::try_from(work) {
                    Ok(work) => u128::from(work / self.weights),
                    Err(_) => work / u128::from(self.weights),
                };
                return;
            }
            work -= needed;
            self.virtual_time = self.virtual_time.max(dry);
            self.backlogged.remove(queue);
            self.weights -= u64::from(self.weight_of[queue as usize]);
        }
    }
    /// Sets the virtual time `dry` at which a queue's fluid runs out.
    #[inline]
    fn set(&mut self, queue: u32, dry: Virtual) {
        if !self.backlogged.contains(queue) {
            self.weights += u64::from(self.weight_of[queue as usize]);
        }
        self.backlogged.set(queue, dry);
    }
    /// Removes a queue from the fluid server.
    fn remove(&mut self, queue: u32) {
        if self.backlogged.remove(queue) {
            self.weights -= u64::from(self.weight_of[queue as usize]);
        }
    }
    fn reset(&mut self) {
        self.backlogged.clear();
        (self.in_service, self.due, self.weights, self.virtual_time) = (None, 0, 0, 0);
    }
}

/// The state of WFQ: the fluid server, and the tags of all waiting frames.
#[derive(Clone, Debug)]
pub struct Wfq {
    length: PortLength,
    fluid: Fluid,
    queues: Vec<Queue>,
    /// Active queues, ordered by the tags of their heads.
    active: TagHeap<Virtual>,
}

#[derive(Clone, Debug)]
struct Queue {
    weight: Weight,
    /// Tag of the last frame that arrived, as stored in `tags`.
    last: Virtual,
    /// Tags of the waiting frames.
    tags: VecDeque<Virtual>,
    /// Offset to add to stored tags: the virtual time for which this queue has been stopped in total.
    moved: Virtual,
    active: bool,
}

impl Queue {
    /// Stamps a frame behind all others of the queue. It begins at `from`, or at the finish of the frame before it if
    /// that is later.
    #[inline]
    fn stamp(&mut self, accounted: u32, from: Virtual) -> Virtual {
        let (span, weight) = self.weight.fine_span(accounted);
        self.weight = weight;
        self.last = self.last.max(from.saturating_sub(self.moved)) + Virtual::from(span);
        self.tags.push_back(self.last);
        self.last + self.moved
    }
}

impl Discipline for Wfq {
    #[inline]
    fn arrive(&mut self, queue: u32, bytes: u32, now: Time) {
        let accounted = self.length.of(bytes);
        let state = &mut self.queues[queue as usize];
        if state.active {
            self.fluid.advance(now);
            let dry = state.stamp(accounted, self.fluid.virtual_time);
            self.fluid.set(queue, dry);
        } else {
            // The frame's virtual time starts when the queue becomes active. An empty queue that may send becomes
            // active at once.
            state.stamp(accounted, 0);
        }
    }
    #[inline]
    fn activate(&mut self, queue: u32, head: u32, now: Time) {
        self.fluid.advance(now);
        let state = &mut self.queues[queue as usize];
        state.active = true;
        let Some(&head_tag) = state.tags.front() else { return };
        let (span, _) = state.weight.fine_span(self.length.of(head));
        let begins = (head_tag + state.moved).saturating_sub(Virtual::from(span));
        state.moved += self.fluid.virtual_time.saturating_sub(begins);
        self.active.set(queue, head_tag + state.moved);
        self.fluid.set(queue, state.last + state.moved);
    }
    #[inline]
    fn deactivate(&mut self, queue: u32, now: Time) {
        self.fluid.advance(now);
        self.fluid.remove(queue);
        self.active.remove(queue);
        self.queues[queue as usize].active = false;
    }
    fn forget(&mut self, queue: u32, now: Time) {
        self.fluid.advance(now);
        self.fluid.remove(queue);
        let virtual_time = self.fluid.virtual_time;
        let state = &mut self.queues[queue as usize];
        state.tags.clear();
        state.last = state.last.min(virtual_time.saturating_sub(state.moved));
    }
    #[inline]
    fn pick(&mut self, _now: Time) -> Option<u32> {
        self.active.peek().map(|(_, queue)| queue)
    }
    #[inline]
    fn sent(&mut self, queue: u32, bytes: u32, now: Time) {
        self.queues[queue as usize].tags.pop_front();
        self.fluid.begin(bytes, self.length.of(bytes), now);
    }
    #[inline]
    fn completed(&mut self, queue: u32, next: Option<u32>, now: Time) {
        self.fluid.end();
        let state = &mut self.queues[queue as usize];
        match (next, state.tags.front()) {
            (Some(_), Some(&tag)) => self.active.set(queue, tag + state.moved),
            // Flow control stops the new head.
            (None, Some(_)) => self.deactivate(queue, now),
            // The queue is empty, but the fluid server may still hold some of its frames.
            _ => {
                state.active = false;
                self.active.remove(queue);
            }
        }
    }
    #[inline]
    fn idle(&mut self, _now: Time) {
        self.fluid.reset();
        for queue in &mut self.queues {
            (queue.last, queue.moved) = (0, 0);
        }
    }
    fn on_link_rate(&mut self, rate: BitRate, _now: Time) {
        self.fluid.rate = rate;
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::testbed::{Serve, order_of, port};
    use proptest::prelude::*;

    fn machine(weights: &[u32], port: &PortFacts) -> Wfq {
        WfqParams { weights: weights.to_vec().into(), ..WfqParams::by(AccountedLength::WIRE) }.start(port)
    }
    /// Returns a link of 8 Gb/s: one byte per nanosecond.
    fn byte_a_ns(queues: u32) -> PortFacts {
        PortFacts { rate: BitRate::from_gbps(8), ..port(queues) }
    }

    #[test]
    fn all_present_leave_by_their_finish() {
        // Accounted lengths are 100, 200 and 100. With weights 2, 1 and 1, the finish tags are those of SCFQ's golden
        // vector 9.
        let queues = [vec![80; 5], vec![180; 3], vec![80; 3]];
        assert_eq!(order_of(&mut machine(&[2, 1, 1], &port(3)), &queues), [0, 0, 2, 0, 0, 1, 2, 0, 2, 1, 1]);
    }

    #[test]
    fn virtual_time_follows_the_fluid() {
        // Weights 1 and 3; 400 B in queue 0 at 0, 300 B in queue 1 at 100 ns, when V = 100. From then on one byte of V
        // takes 4 ns: queue 1 ends at V = 200 (500 ns), queue 0 at V = 400, 200 ns later.
        let mut wfq = machine(&[1, 3], &byte_a_ns(2));
        let v = |wfq: &Wfq| (wfq.fluid.virtual_time >> 40) as u64;
        wfq.arrive(0, 380, Time::ZERO);
        wfq.activate(0, 380, Time::ZERO);
        wfq.sent(0, 380, Time::ZERO);
        wfq.arrive(1, 280, Time::from_ns(100));
        wfq.activate(1, 280, Time::from_ns(100));
        assert_eq!((v(&wfq), wfq.active.key(1)), (100, Some(200 << 40)));
        wfq.fluid.advance(Time::from_ns(300));
        assert_eq!(v(&wfq), 150);
        wfq.completed(0, None, Time::from_ns(400));
        wfq.sent(1, 280, Time::from_ns(400));
        wfq.fluid.advance(Time::from_ns(600));
        assert_eq!((v(&wfq), wfq.fluid.weights), (300, 1));
        wfq.fluid.advance(Time::from_ns(10_000));
        assert_eq!((v(&wfq), wfq.fluid.weights), (400, 0));
    }

    #[test]
    fn a_late_frame_of_a_heavy_queue_goes_first() {
        // Parekh and Gallager's example at a small scale: ten frames of a light queue wait when one of a heavy queue
        // arrives.
        let mut wfq = machine(&[1, 9], &byte_a_ns(2));
        (0..10).for_each(|_| wfq.arrive(0, 80, Time::ZERO));
        wfq.activate(0, 80, Time::ZERO);
        wfq.serve(0, 80, Some(80), Time::ZERO);
        wfq.arrive(1, 80, Time::from_ns(50));
        wfq.activate(1, 80, Time::from_ns(50));
        assert_eq!(wfq.pick(Time::from_ns(100)), Some(1));
    }

    #[test]
    fn a_stopped_queue_is_absent() {
        let mut wfq = machine(&[1, 1], &byte_a_ns(2));
        for queue in [0, 1] {
            (0..20).for_each(|_| wfq.arrive(queue, 80, Time::ZERO));
        }
        wfq.activate(0, 80, Time::ZERO);
        (0..5u64).for_each(|n| wfq.serve(0, 80, Some(80), Time::from_ns(100 * n)));
        // The fluid server serves queue 0 alone at full speed: V = 500. Queue 1 rejoins at that V, not at 0.
        wfq.activate(1, 80, Time::from_ns(500));
        assert_eq!(wfq.active.peek().unwrap(), (600 << 40, 0));
        assert_eq!(wfq.active.key(1), Some(600 << 40));
        wfq.deactivate(1, Time::from_ns(500));
        assert_eq!(wfq.fluid.weights, 1);
    }

    #[test]
    fn the_fluid_has_what_the_link_has_served_whatever_its_clock() {
        // Frames on this link take slightly longer or shorter than their nominal time, and the link sometimes pauses.
        let port = PortFacts { rate: BitRate::from_bps(1_187_500_001), ..port(1) };
        for permille in [900u64, 1_000, 1_100] {
            let mut fluid = Fluid::new(&port, vec![1]);
            fluid.set(0, Virtual::MAX >> 40);
            let (mut now, mut served) = (Time::ZERO, 0u64);
            for n in 0..10_000u32 {
                let bytes = 64 + n * 7 % 1459;
                let takes = port.wire_time(bytes).ps() * permille / 1_000;
                fluid.begin(bytes, bytes + 20, now);
                for part in 1..4 {
                    fluid.advance(now + Time::from_ps(takes * part / 5));
                }
                served += u64::from(bytes + 20);
                now += Time::from_ps(takes + u64::from(n % 3) * 777_777);
            }
            fluid.end();
            assert_eq!(fluid.virtual_time, Virtual::from(served) << 40);
        }
    }

    /// Returns the finish times of an exact fluid server, computed event by event, for frames sorted by arrival.
    fn fluid_finish(frames: &[(f64, usize, f64)], weights: &[u32]) -> Vec<f64> {
        let mut left: Vec<Vec<(usize, f64)>> = vec![Vec::new(); weights.len()];
        let (mut finish, mut now, mut next) = (vec![0.0; frames.len()], 0.0f64, 0);
        loop {
            let sum: f64 =
                (0..weights.len()).filter(|&q| !left[q].is_empty()).map(|q| f64::from(weights[q])).sum();
            let until = frames.get(next).map(|frame| frame.0);
            let rate = |q: usize| f64::from(weights[q]) / sum;
            let first =
                (0..weights.len()).filter(|&q| !left[q].is_empty()).map(|q| (left[q][0].1 / rate(q), q));
            let first = first.min_by(|a, b| a.0.total_cmp(&b.0));
            match (first, until) {
                (None, None) => return finish,
                (first, Some(at)) if first.is_none_or(|(span, _)| now + span > at) => {
                    for q in (0..weights.len()).filter(|&q| !left[q].is_empty()).collect::<Vec<_>>() {
                        left[q][0].1 -= (at - now) * rate(q);
                    }
                    now = at;
                    left[frames[next].1].push((next, frames[next].2));
                    next += 1;
                }
                (Some((span, done)), _) => {
                    for q in (0..weights.len()).filter(|&q| !left[q].is_empty()).collect::<Vec<_>>() {
                        left[q][0].1 -= span * rate(q);
                    }
                    now += span;
                    finish[left[done].remove(0).0] = now;
                }
                (None, Some(_)) => unreachable!("no fluid: the next arrival comes first"),
            }
        }
    }

    proptest! {
        #[test]
        fn no_frame_is_later_than_the_fluid_by_more_than_the_largest(
            frames in proptest::collection::vec((0u64..3_000, 0usize..4, 64u32..1500), 1..60),
            weights in proptest::collection::vec(1u32..10, 4),
        ) {
            let port = byte_a_ns(4);
            let mut frames = frames;
            let mut at = 0;
            frames.iter_mut().for_each(|frame| { at += frame.0 / 4; frame.0 = at });
            let accounted: Vec<_> = frames.iter().map(|&(ns, queue, bytes)| (ns as f64, queue, f64::from(bytes + 20))).collect();
            let fluid = fluid_finish(&accounted, &weights);
            let arrivals: Vec<_> = frames.iter().map(|&(ns, queue, bytes)| (Time::from_ns(ns), queue as u32, bytes)).collect();
            let finished = crate::testbed::finish_times(&mut machine(&weights, &port), &port, &arrivals);
            for (frame, (real, ideal)) in finished.iter().zip(&fluid).enumerate() {
                let late = real.as_ns_f64() - ideal;
                prop_assert!(late <= 1520.0 + 1e-3, "frame {frame} is {late} ns later than in the fluid server");
            }
        }
    }
}
