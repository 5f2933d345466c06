//! What a port and its scheduler know of each other: one place through which all that a scheduler hears must pass.
//!
//! Stops and returns of queues matter at decisions alone. While a frame is on the wire a queue may run out of credits and
//! get new ones, or empty and get another frame: nobody else could have been served meanwhile, so that for the scheduler
//! nothing has happened. A stop is therefore told when the port decides next, if it still holds; a return that the scheduler has to
//! stamp is told at once. Whether the queue in service goes on is decided at the end of its transmission
//! (Martinez 2006 §4).

use crate::{Discipline, Scheduler};
use units::{BitRate, Time};

/// A scheduler behind the port that asks it. At most 32 queues.
#[derive(Clone, Debug)]
pub struct Selector<D = Scheduler> {
    discipline: D,
    /// Queues that are active as far as the scheduler has been told, bit n for queue n.
    active: u32,
    /// Whose frame has begun its transmission, and the scheduler has not heard of its end.
    in_service: Option<u8>,
}

impl<D: Discipline> Selector<D> {
    /// A scheduler that knows of no frame yet.
    pub fn new(discipline: D) -> Selector<D> {
        Selector { discipline, active: 0, in_service: None }
    }
    /// The scheduler.
    pub fn discipline(&self) -> &D {
        &self.discipline
    }
    /// A frame has entered `queue`. `may_send`: it is the only one there and flow control lets it go.
    #[inline]
    pub fn arrive(&mut self, queue: u32, bytes: u32, may_send: bool, now: Time) {
        self.discipline.arrive(queue, bytes, now);
        if may_send {
            self.go(queue, bytes, now);
        }
    }
    /// `queue` may send from now on; `head` is the length of its first frame. No effect if the scheduler has not heard that it
    /// might not.
    #[inline]
    pub fn go(&mut self, queue: u32, head: u32, now: Time) {
        if self.active >> queue & 1 == 0 {
            self.active |= 1 << queue;
            self.discipline.activate(queue, head, now);
        }
    }
    /// Another frame is at the head of `queue`, which may send before and after. Of the queue in service the scheduler hears
    /// at the end of its transmission.
    pub fn replace_head(&mut self, queue: u32, head: u32, now: Time) {
        if self.active >> queue & 1 != 0 && self.in_service != Some(queue as u8) {
            self.discipline.replace_head(queue, head, now);
        }
    }
    /// The transmitter is free, and these are the queues that may send; tells the scheduler what has changed.
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
    /// The queue that sends next of those that may, bit n of `eligible` for queue n; `head` gives the lengths of their first
    /// frames. The transmitter is free.
    #[inline]
    pub fn pick(&mut self, eligible: u32, head: impl Fn(u32) -> u32, now: Time) -> Option<u32> {
        self.update(eligible, head, now);
        self.discipline.pick(now)
    }
    /// The transmitter is free, and what waits (bit n of `waiting` for queue n) is stopped. `each`: each queue for itself, as by
    /// credits, and not the port as a whole.
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
    /// The first frame of `queue`, which `pick` named, begins its transmission.
    #[inline]
    pub fn sent(&mut self, queue: u32, bytes: u32, now: Time) {
        self.discipline.sent(queue, bytes, now);
        self.in_service = Some(queue as u8);
    }
    /// A frame of `queue` finds the transmitter free and nothing waiting that may go: whether it goes at once.
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
    /// The transmitter is free and nothing waits in any queue.
    #[inline]
    pub fn idle(&mut self, now: Time) {
        self.update(0, |_| 0, now);
        self.discipline.idle(now);
    }
    /// When [`pick`](Selector::pick) said `None`: from when on it may say otherwise, if nothing else happens before.
    pub fn wake(&mut self, now: Time) -> Option<Time> {
        self.discipline.wake(now)
    }
    /// The link has another rate from the next transmission on.
    pub fn on_link_rate(&mut self, rate: BitRate, now: Time) {
        self.discipline.on_link_rate(rate, now);
    }
}
