//! The interface between a port and its scheduler, through which all notifications of the scheduler pass.
//!
//! Whether a queue is stopped matters only at decisions. While a frame is on the wire a queue may run out of credits
//! and get new ones, or empty and get another frame; no other queue could have been served meanwhile, so the scheduler
//! needs no notification. The selector therefore notifies the scheduler of a stop at the port's next decision, if the
//! stop still holds. It notifies the scheduler at once when a queue may send again and its head has to be stamped.
//! Whether the queue in service continues is decided at the end of its transmission (Martinez 2006 §4).

use crate::{Discipline, Scheduler};
use units::{BitRate, Time};

/// A scheduler, as a port uses it. Supports at most 32 queues.
#[derive(Clone, Debug)]
pub struct Selector<D = Scheduler> {
    discipline: D,
    /// Queues that are active in the scheduler's state, bit n for queue n.
    active: u32,
    /// Queue whose transmission has begun, until the scheduler is notified of its end.
    in_service: Option<u8>,
}

/// Visits the state of the discipline, the active queues, and the queue in service.
impl<D: recurrence::Recurs> recurrence::Recurs for Selector<D> {
    fn walk(&self, walk: &mut recurrence::Walk) {
        let Selector { discipline, active, in_service } = self;
        discipline.walk(walk);
        (*active, *in_service).walk(walk);
    }
}

impl<D: Discipline> Selector<D> {
    /// Creates a selector for a scheduler that holds no frames.
    pub fn new(discipline: D) -> Selector<D> {
        Selector { discipline, active: 0, in_service: None }
    }
    /// Returns the scheduler.
    pub fn discipline(&self) -> &D {
        &self.discipline
    }
    /// Records that a frame has entered `queue`. `may_send` is true if it is the only frame there and flow control lets
    /// it go.
    #[inline]
    pub fn arrive(&mut self, queue: u32, bytes: u32, may_send: bool, now: Time) {
        self.discipline.arrive(queue, bytes, now);
        if may_send {
            self.go(queue, bytes, now);
        }
    }
    /// Makes `queue` active; `head` is the length of its first frame. No effect if the queue is already active.
    #[inline]
    pub fn go(&mut self, queue: u32, head: u32, now: Time) {
        if self.active >> queue & 1 == 0 {
            self.active |= 1 << queue;
            self.discipline.activate(queue, head, now);
        }
    }
    /// Replaces the head of `queue`, which may send before and after. If the queue is in service, the scheduler is
    /// notified at the end of its transmission.
    pub fn replace_head(&mut self, queue: u32, head: u32, now: Time) {
        if self.active >> queue & 1 != 0 && self.in_service != Some(queue as u8) {
            self.discipline.replace_head(queue, head, now);
        }
    }
    /// Records that all frames waiting in `queue` were dropped, which leaves it empty.
    pub fn discard(&mut self, queue: u32, now: Time) {
        // If the queue is in service, the scheduler is notified at the end of its transmission.
        if self.active >> queue & 1 != 0 && self.in_service != Some(queue as u8) {
            self.active &= !(1 << queue);
            self.discipline.deactivate(queue, now);
        }
        self.discipline.forget(queue, now);
    }
    /// Notifies the scheduler of all changes since the last decision. The transmitter is free; `eligible` are the
    /// queues that may send.
    #[inline]
    fn update(&mut self, eligible: u32, head: impl Fn(u32) -> u32, now: Time) {
        if let Some(queue) = self.in_service.take() {
            let queue = u32::from(queue);
            let next = (eligible >> queue & 1 != 0).then(|| head(queue));
            self.discipline.completed(queue, next, now);
            self.active = self.active & !(1 << queue) | eligible & 1 << queue;
        }
        let mut changed = self.active ^ eligible;
        while changed != 0 {
            let queue = changed.trailing_zeros();
            changed &= changed - 1;
            if eligible >> queue & 1 != 0 {
                self.discipline.activate(queue, head(queue), now);
            } else {
                self.discipline.deactivate(queue, now);
            }
        }
        self.active = eligible;
    }
    /// Returns the next queue to send. Bit n of `eligible` is set if queue n may send; `head` returns the length of a
    /// queue's first frame. The transmitter is free.
    #[inline]
    pub fn pick(&mut self, eligible: u32, head: impl Fn(u32) -> u32, now: Time) -> Option<u32> {
        self.update(eligible, head, now);
        self.discipline.pick(now)
    }
    /// Notes that the transmitter is free and the waiting queues (bit n of `waiting` for queue n) are stopped. `each`
    /// is true if queues are stopped separately, as by credits, and not the port as a whole.
    pub fn stall(&mut self, waiting: u32, each: bool, now: Time) {
        let empty = |queue: &u8| waiting >> *queue & 1 == 0;
        if each {
            self.update(0, |_| 0, now);
        } else if let Some(queue) = self.in_service.take_if(|queue| empty(queue)) {
            self.discipline.completed(u32::from(queue), None, now);
            self.active &= !(1 << queue);
        }
        self.discipline.stall(now);
    }
    /// Begins the transmission of the first frame of `queue`, which `pick` returned.
    #[inline]
    pub fn sent(&mut self, queue: u32, bytes: u32, now: Time) {
        self.discipline.sent(queue, bytes, now);
        self.in_service = Some(queue as u8);
    }
    /// Offers a frame of `queue` that arrives while the transmitter is free and no other eligible frame waits. Returns
    /// true if it is sent at once.
    #[inline]
    pub fn pass(&mut self, queue: u32, bytes: u32, now: Time) -> bool {
        self.update(0, |_| 0, now);
        let goes = self.discipline.pass(queue, bytes, now);
        if goes {
            self.active |= 1 << queue;
            self.in_service = Some(queue as u8);
        }
        goes
    }
    /// Notes that the transmitter is free and all queues are empty.
    #[inline]
    pub fn idle(&mut self, now: Time) {
        self.update(0, |_| 0, now);
        self.discipline.idle(now);
    }
    /// Returns the time from which [`pick`](Selector::pick), which just returned `None`, may return a queue if nothing
    /// else happens before.
    pub fn wake(&mut self, now: Time) -> Option<Time> {
        self.discipline.wake(now)
    }
    /// Applies a new rate of the link from the next transmission on.
    pub fn on_link_rate(&mut self, rate: BitRate, now: Time) {
        self.discipline.on_link_rate(rate, now);
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::testbed::port;
    use crate::{
        AccountedLength, Configuration, DTableParams, DrrParams, EtsParams, PortFacts, SchedulerSpec,
        WrrParams,
    };

    /// Returns the frames that each of two queues sent in some rounds. The first queue gets its next frame while the
    /// one before is on the wire; the second always has frames.
    fn sent(spec: &SchedulerSpec, lengths: [u32; 2]) -> [u32; 2] {
        let facts = PortFacts { overhead: 0, largest_frame: 2_176, ..port(2) };
        let mut selector = Selector::new(spec.start(&facts));
        let (mut now, mut sent, mut waits) = (Time::ZERO, [0, 0], [1, 1]);
        (0..2).for_each(|queue| selector.arrive(queue, lengths[queue as usize], true, now));
        while sent[0] + sent[1] < 400 {
            let eligible = u32::from(waits[0] > 0) | 2;
            let queue = selector.pick(eligible, |queue| lengths[queue as usize], now).unwrap();
            let bytes = lengths[queue as usize];
            waits[queue as usize] -= 1;
            sent[queue as usize] += 1;
            if queue == 1 {
                // There is always another frame behind the head.
                selector.arrive(1, bytes, false, now);
                waits[1] += 1;
            }
            selector.sent(queue, bytes, now);
            let takes = facts.wire_time(bytes);
            if waits[0] == 0 {
                selector.arrive(0, lengths[0], true, now + Time::from_ps(takes.ps() / 2));
                waits[0] += 1;
            }
            now += takes;
        }
        sent
    }

    #[test]
    fn what_comes_during_a_transmission_belongs_to_the_visit() {
        // A visit allows 2176 B: three frames of 640 B, and sometimes a fourth with the remaining deficit.
        let bytes = |spec: &SchedulerSpec| {
            let [small, large] = sent(spec, [640, 2_176]);
            f64::from(small * 640) / f64::from(small * 640 + large * 2_176)
        };
        let frame = AccountedLength::FRAME;
        for (spec, share) in [
            (SchedulerSpec::Drr(DrrParams::with_quanta(&[2_176; 2], frame)), 0.5),
            (SchedulerSpec::Drr(DrrParams::weighted(vec![3, 1], frame)), 0.75),
            (SchedulerSpec::Ets(EtsParams::percentages(&[50, 50]).accounting(frame)), 0.5),
            (SchedulerSpec::DTable(DTableParams::uniform([0, 1].repeat(16), 34)), 0.5),
        ] {
            let found = bytes(&spec);
            assert!((found - share).abs() < 0.02, "{}: {found} for {share}", spec.name());
        }
        let wrr = SchedulerSpec::Wrr(WrrParams { weights: vec![3, 1].into(), interleaved: false });
        assert_eq!(sent(&wrr, [640, 2_176]), [300, 100]);
    }

    #[test]
    fn what_is_dropped_unsent_costs_nothing() {
        // Both queues always have frames. At some point a hundred frames of queue 0 are dropped at once.
        let weights = vec![1, 1];
        let frame = AccountedLength::FRAME;
        let specs = [
            SchedulerSpec::Drr(DrrParams::weighted(weights.clone(), frame)),
            SchedulerSpec::Wrr(WrrParams { weights: weights.clone().into(), interleaved: false }),
            SchedulerSpec::Ets(EtsParams::percentages(&[50, 50]).accounting(frame)),
            SchedulerSpec::Scfq(crate::ScfqParams {
                weights: weights.clone().into(),
                ..crate::ScfqParams::by(frame)
            }),
            SchedulerSpec::Wfq(crate::WfqParams { weights: weights.into(), ..crate::WfqParams::by(frame) }),
        ];
        for (spec, in_service) in specs.iter().flat_map(|spec| [(spec, false), (spec, true)]) {
            let facts = port(2);
            let mut selector = Selector::new(spec.start(&facts));
            let (mut now, mut sent, mut eligible) = (Time::ZERO, [0i32; 2], 3);
            (0..2).for_each(|queue| selector.arrive(queue, 1_000, true, now));
            (0..100).for_each(|_| selector.arrive(0, 1_000, false, now));
            for round in 0..300 {
                let queue = selector.pick(eligible, |_| 1_000, now).unwrap();
                selector.arrive(queue, 1_000, false, now);
                selector.sent(queue, 1_000, now);
                // Drops the frames during a transmission of one queue or the other; queue 0 then stays empty for a
                // while.
                if round == 50 + i32::from(in_service == (queue == 0)) {
                    selector.discard(0, now);
                    eligible = 2;
                } else if round == 100 {
                    selector.arrive(0, 1_000, true, now);
                    (eligible, sent) = (3, [0; 2]);
                }
                sent[queue as usize] += 1;
                now += facts.wire_time(1_000);
                let gap = sent[0] - sent[1];
                assert!(eligible == 2 || gap.abs() <= 3, "{}: {sent:?}", spec.name());
            }
        }
    }

    #[test]
    fn a_port_that_is_stopped_as_a_whole_serves_as_if_nothing_had_been() {
        // After each frame all queues are stopped for a while.
        let weights = vec![1, 3];
        let drr = DrrParams::weighted(weights.clone(), AccountedLength::FRAME);
        let wfq =
            crate::WfqParams { weights: weights.into(), ..crate::WfqParams::by(AccountedLength::FRAME) };
        for spec in [SchedulerSpec::Drr(drr), SchedulerSpec::Wfq(wfq)] {
            let facts = port(2);
            let mut selector = Selector::new(spec.start(&facts));
            let (mut now, mut sent) = (Time::ZERO, [0u32; 2]);
            (0..2).for_each(|queue| selector.arrive(queue, 1_000, true, now));
            for _ in 0..400 {
                let queue = selector.pick(3, |_| 1_000, now).unwrap();
                selector.arrive(queue, 1_000, false, now);
                selector.sent(queue, 1_000, now);
                sent[queue as usize] += 1;
                now += facts.wire_time(1_000);
                selector.stall(3, false, now);
                now += Time::from_us(3);
                (0..2).for_each(|queue| selector.go(queue, 1_000, now));
            }
            assert!((98..=102).contains(&sent[0]), "{}: {sent:?}", spec.name());
        }
    }
}
