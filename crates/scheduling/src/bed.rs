//! A simulated port for the property tests. It tracks which queues hold frames and which are stopped, and checks each
//! decision of its scheduler against this reference state.

use crate::testbed::port;
use crate::*;
use std::collections::VecDeque;
use units::Time;

pub(crate) const QUEUES: usize = 5;

/// A port with its reference state.
pub(crate) struct Bed {
    pub facts: PortFacts,
    pub scheduler: Selector,
    pub frames: [VecDeque<u32>; QUEUES],
    stopped: [bool; QUEUES],
    pub now: Time,
    shaped: bool,
}

/// An event at the port between two transmissions.
#[derive(Clone, Debug)]
pub(crate) enum Step {
    Arrive {
        queue: usize,
        bytes: u32,
    },
    Stop(usize),
    Go(usize),
    /// Drops the frames in this queue.
    Discard(usize),
    /// Lets time pass; the port sends while it can.
    Run {
        ns: u64,
    },
}

impl Bed {
    pub fn new(spec: &SchedulerSpec) -> Bed {
        let facts = port(QUEUES as u32);
        spec.check(&facts).unwrap_or_else(|error| panic!("{}: {error}", spec.name()));
        let shaped = match spec {
            SchedulerSpec::Shaped(_) => true,
            SchedulerSpec::MinBw(params) => !params.use_idle_link,
            SchedulerSpec::Ets(params) => {
                params.classes.iter().any(|class| matches!(class.selection, Selection::CreditBased { .. }))
            }
            _ => false,
        };
        Bed {
            facts,
            scheduler: Selector::new(spec.start(&facts)),
            frames: Default::default(),
            stopped: [false; QUEUES],
            now: Time::ZERO,
            shaped,
        }
    }
    fn is_active(&self, queue: usize) -> bool {
        !self.stopped[queue] && !self.frames[queue].is_empty()
    }
    pub fn arrive(&mut self, queue: usize, bytes: u32) {
        if self.frames.iter().all(VecDeque::is_empty) {
            self.scheduler.idle(self.now);
            // As in the fabric, a frame that finds the port idle and empty does not enter a queue.
            if !self.stopped[queue] && self.scheduler.pass(queue as u32, bytes, self.now) {
                self.now += self.facts.wire_time(bytes);
                return;
            }
        }
        let was_active = self.is_active(queue);
        self.frames[queue].push_back(bytes);
        let may_send = !was_active && self.is_active(queue);
        self.scheduler.arrive(queue as u32, bytes, may_send, self.now);
    }
    pub fn stop(&mut self, queue: usize) {
        self.stopped[queue] = true;
    }
    pub fn go(&mut self, queue: usize) {
        if std::mem::replace(&mut self.stopped[queue], false)
            && let Some(&head) = self.frames[queue].front()
        {
            self.scheduler.go(queue as u32, head, self.now);
        }
    }
    /// Drops the frames in a queue and returns their number.
    pub fn discard(&mut self, queue: usize) -> u64 {
        let dropped = self.frames[queue].len() as u64;
        self.frames[queue].clear();
        if dropped > 0 {
            self.scheduler.discard(queue as u32, self.now);
        }
        dropped
    }
    pub fn pick(&mut self) -> Option<u32> {
        let eligible =
            (0..QUEUES).filter(|&queue| self.is_active(queue)).fold(0, |set, queue| set | 1 << queue);
        if eligible == 0 {
            let waiting = (0..QUEUES).filter(|&queue| !self.frames[queue].is_empty());
            self.scheduler.stall(waiting.fold(0, |set, queue| set | 1 << queue), true, self.now);
            return None;
        }
        let frames = &self.frames;
        self.scheduler.pick(eligible, |queue| frames[queue as usize][0], self.now)
    }
    /// Makes one decision and returns the queue and the bytes sent.
    pub fn send(&mut self) -> Option<(usize, u32)> {
        let picked = self.pick();
        assert_eq!(picked, self.pick(), "asked twice");
        let any_active = (0..QUEUES).any(|queue| self.is_active(queue));
        let Some(queue) = picked.map(|queue| queue as usize) else {
            assert!(!any_active || self.shaped, "the port idles although a queue is active");
            return None;
        };
        assert!(self.is_active(queue), "queue {queue} may not send");
        let bytes = self.frames[queue].pop_front().unwrap();
        self.scheduler.sent(queue as u32, bytes, self.now);
        self.now += self.facts.wire_time(bytes);
        Some((queue, bytes))
    }
    pub fn take(&mut self, step: &Step) -> u64 {
        let mut sent = 0;
        match *step {
            Step::Arrive { queue, bytes } => {
                let before: usize = self.frames.iter().map(VecDeque::len).sum();
                self.arrive(queue, bytes);
                sent += u64::from(before == self.frames.iter().map(VecDeque::len).sum::<usize>());
            }
            Step::Stop(queue) => self.stop(queue),
            Step::Go(queue) => self.go(queue),
            Step::Discard(queue) => sent += self.discard(queue),
            Step::Run { ns } => {
                let end = self.now + Time::from_ns(ns);
                while self.now < end {
                    if self.send().is_some() {
                        sent += 1;
                        continue;
                    }
                    match self.scheduler.wake(self.now).filter(|&at| at < end) {
                        Some(at) => {
                            assert!(at > self.now, "the wake-up time is not in the future");
                            self.now = at;
                        }
                        None => self.now = end,
                    }
                }
            }
        }
        sent
    }
}
