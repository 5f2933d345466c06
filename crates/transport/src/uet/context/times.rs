//! Times, by activity, of the messages that an application posts to a packet delivery context.
//!
//! Time is charged as for a queue pair. The window includes limits of congestion control, of the range of packet
//! sequence numbers, and of missing credit.

use super::{DeliveryContext, Message};
use crate::room::Append;
use crate::time_spent::{Clocks, MessageClock, MessageTimes, Spent, SpentClock};
use std::collections::VecDeque;
use units::Time;

impl DeliveryContext {
    /// Starts to measure the times of messages posted from now on, unless other messages are incomplete.
    pub(crate) fn measure_messages(&mut self) {
        if self.clocks.is_none() && self.messages.is_empty() {
            let own = SpentClock::new(self.facts.rate, self.facts.overhead);
            self.clocks = Some(Box::new(Clocks { own, begun: VecDeque::new() }));
        }
    }
    /// Charges a pause that has stopped the NIC for the time `stopped` up to `now`.
    pub(crate) fn on_stopped(&mut self, stopped: Time, now: Time) {
        if let Some(clocks) = &mut self.clocks {
            clocks.own.on_stopped(stopped, now);
        }
    }

    /// Sets the activity from now on.
    #[inline]
    pub(crate) fn note_time(&mut self, now: Time) {
        if self.clocks.is_some() {
            self.begin_next(now);
            let what = self.activity();
            if let Some(clocks) = &mut self.clocks {
                clocks.own.change(what, now);
            }
        }
    }

    fn activity(&self) -> Option<Spent> {
        if self.failed < Time::NEVER || self.messages.is_empty() {
            return None;
        }
        Some(if self.lost_packets > 0 {
            Spent::Again
        } else if self.has_sent_all() {
            Spent::UnderWay
        } else if self.has_data() {
            Spent::Host
        } else {
            Spent::Window
        })
    }

    /// Starts the clocks of messages whose first packet is the next to send.
    fn begin_next(&mut self, now: Time) {
        let feedback = self.feedback();
        let Some(clocks) = &mut self.clocks else { return };
        while self.messages.get(clocks.begun.len()).is_some_and(|message| message.first <= self.next) {
            let mut clock = MessageClock::default();
            clock.begin(&clocks.own, feedback, now);
            clocks.begun.append_one(clock);
        }
    }

    fn feedback(&self) -> [u32; 3] {
        [0, self.counts.marks as u32, self.counts.nacks as u32]
    }

    /// Charges a packet of `bytes` of this message that is sent now. `again` is true if it is a retransmission.
    pub(super) fn charge(&mut self, message: usize, (psn, bytes, again): (u64, u16, bool), now: Time) {
        let Some(clocks) = &mut self.clocks else { return };
        clocks.own.on_send(bytes, again, now);
        if !again && psn + 1 == self.messages[message].end() {
            let Clocks { own, begun } = &mut **clocks;
            if let Some(clock) = begun.get_mut(message) {
                clock.leave(own, now);
            }
        }
    }

    /// Recharges the current wait as waiting for a timeout.
    pub(super) fn waited_in_vain(&mut self) {
        if let Some(clocks) = &mut self.clocks {
            clocks.own.correct_waits();
        }
    }

    /// Returns the times of a message that is complete now; `None` if they are not measured.
    pub(super) fn times_of(&self, number: usize, now: Time) -> Option<MessageTimes> {
        let clocks = self.clocks.as_ref()?;
        let Message { start, .. } = self.messages[number];
        clocks.begun.get(number).map(|clock| clock.end(&clocks.own, self.feedback(), start, now))
    }

    /// Removes the clock of the first message.
    pub(super) fn forget_clock(&mut self) {
        if let Some(clocks) = &mut self.clocks {
            clocks.begun.pop_front();
        }
    }
}
