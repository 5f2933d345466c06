//! What a queue pair tells the clocks of its time.

use super::QueuePair;
use crate::rdma::time_spent::{Clocks, MessageClock, MessageTimes, Spent, TimesSpent};
use crate::room::Append;
use units::Time;

impl QueuePair {
    /// What its time was spent on until now. Of READs whose responses nobody acknowledges it ends with the last packet on the wire: it
    /// hears nothing of them until the next request.
    pub fn spent(&self, now: Time) -> TimesSpent {
        let unheard = !self.spec.acknowledges() && self.has_sent_all();
        if unheard { self.clocks.own.until_sent(now) } else { self.clocks.own.until(now) }
    }
    /// Bytes of frames in flight.
    pub fn bytes_in_flight(&self) -> u64 {
        self.in_flight(self.highest)
    }
    /// A pause has stopped its NIC for so long until now, while packets of its host waited.
    pub fn on_stopped(&mut self, stopped: Time, now: Time) {
        self.clocks.own.on_stopped(stopped, now);
    }

    /// What time is spent on from now on.
    #[inline]
    pub(super) fn note_time(&mut self, now: Time) {
        let what = self.spends(now);
        self.clocks.own.change(what, now);
    }

    fn spends(&self, now: Time) -> Option<Spent> {
        if self.failed().is_some() || self.messages.is_empty() {
            return None;
        }
        let next = self.recovery.next(self.unacknowledged, self.highest);
        Some(if next >= self.end {
            Spent::UnderWay
        } else if self.waits > now {
            if self.not_ready > 0 { Spent::Receiver } else { Spent::Host }
        } else if next < self.highest {
            Spent::Again
        } else if self.closed {
            Spent::Rate
        } else if self.next().is_none() {
            Spent::Window
        } else {
            Spent::Host
        })
    }

    fn heard(&self) -> [u32; 3] {
        [self.counts.cnps, self.counts.marks, self.counts.naks].map(|count| count as u32)
    }

    /// The clocks of messages whose first packet is the next one.
    pub(super) fn begin_next(&mut self, now: Time) {
        while self.messages.get(self.clocks.begun.len()).is_some_and(|message| message.first <= self.highest)
        {
            let heard = self.heard();
            let mut clock = MessageClock::default();
            clock.begin(&self.clocks.own, heard, now);
            self.clocks.begun.append_one(clock);
        }
    }

    /// The last packet of the message that it is at leaves for the first time.
    pub(super) fn leave(&mut self, now: Time) {
        let Clocks { own, begun } = &mut *self.clocks;
        if let Some(clock) = begun.get_mut(self.at) {
            clock.leave(own, now);
        }
        self.begin_next(now);
    }

    /// The first message is complete, which was posted at `start`: its times, and what had been heard before it.
    pub(super) fn end_first(&mut self, start: Time, now: Time) -> (MessageTimes, [u32; 3]) {
        let heard = self.heard();
        let clock = self.clocks.begun.pop_front().unwrap_or_default();
        (clock.end(&self.clocks.own, heard, start, now), clock.heard_before())
    }

    /// Of the messages that are not complete and have begun: what their time was spent on until now, and what had been
    /// heard before each.
    pub fn times_of_left(&self, now: Time) -> impl Iterator<Item = (u32, (MessageTimes, [u32; 3]))> {
        let heard = self.heard();
        self.messages.iter().zip(&self.clocks.begun).map(move |(message, clock)| {
            let times = clock.end(&self.clocks.own, heard, message.start, now);
            (message.transfer, (times, clock.heard_before()))
        })
    }

    /// What it waits for turns out to be a timeout.
    pub(super) fn waited_in_vain(&mut self) {
        self.clocks.own.correct_waits();
    }
}
