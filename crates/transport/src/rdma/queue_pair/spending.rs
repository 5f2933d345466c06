//! Accounting hooks that charge the time of a queue pair to activities.

use super::QueuePair;
use crate::room::Append;
use crate::time_spent::{Clocks, MessageClock, MessageTimes, Spent, TimesSpent};
use units::Time;

impl QueuePair {
    /// Returns the time by activity up to `now`. For READs whose responses are not acknowledged it ends with the last
    /// packet on the wire, because there is no feedback until the next request.
    pub fn spent(&self, now: Time) -> TimesSpent {
        let unacknowledged = !self.spec.acknowledges() && self.has_sent_all();
        if unacknowledged { self.clocks.own.until_sent(now) } else { self.clocks.own.until(now) }
    }
    /// Returns the bytes of frames in flight.
    pub fn bytes_in_flight(&self) -> u64 {
        self.in_flight(self.highest)
    }
    /// Charges a pause that has stopped the NIC for the time `stopped` up to `now`, while packets of its host waited.
    pub fn on_stopped(&mut self, stopped: Time, now: Time) {
        self.clocks.own.on_stopped(stopped, now);
    }

    /// Sets the activity from now on.
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

    fn feedback(&self) -> [u32; 3] {
        [self.counts.cnps, self.counts.marks, self.counts.naks].map(|count| count as u32)
    }

    /// Starts the clocks of the messages whose first packet is the next to send.
    pub(super) fn begin_next(&mut self, now: Time) {
        while self.messages.get(self.clocks.begun.len()).is_some_and(|message| message.first <= self.highest)
        {
            let feedback = self.feedback();
            let mut clock = MessageClock::default();
            clock.begin(&self.clocks.own, feedback, now);
            self.clocks.begun.append_one(clock);
        }
    }

    /// Records that the last packet of the current message is sent for the first time.
    pub(super) fn leave(&mut self, now: Time) {
        let Clocks { own, begun } = &mut *self.clocks;
        if let Some(clock) = begun.get_mut(self.at) {
            clock.leave(own, now);
        }
        self.begin_next(now);
    }

    /// Stops the clock of the first message, which was posted at `start` and is complete. Returns its times, and the
    /// feedback counts before it.
    pub(super) fn end_first(&mut self, start: Time, now: Time) -> (MessageTimes, [u32; 3]) {
        let feedback = self.feedback();
        let clock = self.clocks.begun.pop_front().unwrap_or_default();
        (clock.end(&self.clocks.own, feedback, start, now), clock.feedback_before())
    }

    /// Returns, for each message that has begun and is not complete, its times up to `now` and the feedback counts
    /// before it.
    pub fn times_of_left(&self, now: Time) -> impl Iterator<Item = (u32, (MessageTimes, [u32; 3]))> {
        let feedback = self.feedback();
        self.messages.iter().zip(&self.clocks.begun).map(move |(message, clock)| {
            let times = clock.end(&self.clocks.own, feedback, message.start, now);
            (message.transfer, (times, clock.feedback_before()))
        })
    }

    /// Recharges the current wait as waiting for a timeout.
    pub(super) fn waited_in_vain(&mut self) {
        self.clocks.own.correct_waits();
    }
}
