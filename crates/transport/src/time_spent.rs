//! Accounts for the time of a sender, and of each message, by activity.
//!
//! A sender is a queue pair, a TCP connection or a UET packet delivery context. At any time it is in one of eight
//! states:
//! - It sends a packet for the first time.
//! - It retransmits, or waits for the timeout that precedes a retransmission.
//! - Its next packet is held back by the control's rate, by the window, or by a receiver that is not ready (three
//!   states).
//! - Its next packet is ready, but the NIC is paused, or busy (two states).
//! - All packets have been sent and are in flight.
//!
//! Time is charged to a message from when its first packet is the next to send until its last packet is sent. Before
//! that, the message is queued behind other messages; afterwards, it is in flight, except for retransmissions during
//! that time. The parts add up to the time from its start until its acknowledgement, in whole nanoseconds.
//!
//! If several queue pairs of two hosts share a wait queue, and a pause began before one of them had a packet ready, the
//! pause is charged to that queue pair from the time at which its packet was ready.

use recurrence::{Counts, Growth};
use std::collections::VecDeque;
use units::{BitRate, Time};

/// The activities to which time is charged.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Spent {
    /// A packet is sent for the first time, including preamble and gap.
    Sending,
    /// A packet is retransmitted, or the sender waits for a retransmission timeout.
    Again,
    /// The control's rate holds the next packet back.
    Rate,
    /// The window holds the next packet back.
    Window,
    /// The receiver is not ready.
    Receiver,
    /// A packet is ready, and a pause stops the NIC.
    Pause,
    /// A packet is ready, and the NIC is busy or fetches a context.
    Host,
    /// All packets have been sent and are in flight.
    UnderWay,
}

/// Time charged to each activity.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct TimesSpent {
    /// Times, indexed by [`Spent`].
    pub times: [Time; 8],
}

impl TimesSpent {
    /// Returns the time charged to an activity.
    pub fn on(&self, what: Spent) -> Time {
        self.times[what as usize]
    }
    /// Returns the sum of all activities except in flight.
    fn before_under_way(&self) -> Time {
        self.times[..Spent::UnderWay as usize].iter().fold(Time::ZERO, |sum, &time| sum + time)
    }
    fn since(&self, before: &TimesSpent) -> TimesSpent {
        let mut times = self.times;
        times.iter_mut().zip(before.times).for_each(|(time, before)| *time = time.saturating_sub(before));
        TimesSpent { times }
    }
}

/// Measures [`TimesSpent`].
#[derive(Clone, Copy, Debug)]
pub(crate) struct SpentClock {
    spent: TimesSpent,
    /// Current activity and its start time; `None` if there are no messages.
    now: Option<(Spent, Time)>,
    /// End of the last packet's transmission, and true if it was a retransmission.
    wire: (Time, bool),
    ps_per_byte: f64,
    /// Bytes of overhead around each frame on the link.
    overhead: u16,
}

impl SpentClock {
    /// Creates a clock for a link of this rate, with `overhead` bytes around each frame.
    pub fn new(rate: BitRate, overhead: u16) -> SpentClock {
        let mut clock = SpentClock {
            spent: TimesSpent::default(),
            now: None,
            wire: (Time::ZERO, false),
            ps_per_byte: 0.0,
            overhead,
        };
        clock.on_link_rate(rate);
        clock
    }
    /// Sets the rate of the link from now on.
    pub fn on_link_rate(&mut self, rate: BitRate) {
        self.ps_per_byte = 8e12 / rate.bps_f64().max(1.0);
    }

    /// Sets the current activity.
    #[inline]
    pub fn change(&mut self, to: Option<Spent>, now: Time) {
        if self.now.map(|(before, _)| before) != to {
            self.settle(now);
            self.now = to.map(|to| (to, now));
        }
    }

    /// Charges a packet of `bytes` that is sent now. `again` is true if it is a retransmission.
    #[inline]
    pub fn on_send(&mut self, bytes: u16, again: bool, now: Time) {
        self.settle(now);
        let bytes = u64::from(bytes) + u64::from(self.overhead);
        self.wire = (now + Time::from_ps((bytes as f64 * self.ps_per_byte) as u64), again);
    }

    /// Recharges the current wait for acknowledgements as a wait for a timeout.
    pub fn correct_waits(&mut self) {
        if let Some((before @ (Spent::Window | Spent::UnderWay), _)) = &mut self.now {
            *before = Spent::Again;
        }
    }

    /// Recharges the current wait for acknowledgements, or for room at the receiver, as a wait for a timeout.
    pub fn correct_all_waits(&mut self) {
        if let Some((before @ Spent::Receiver, _)) = &mut self.now {
            *before = Spent::Again;
        }
        self.correct_waits();
    }

    /// Charges to the pause the time, up to now, for which it stopped the NIC while a packet was ready.
    pub fn on_stopped(&mut self, stopped: Time, now: Time) {
        if !self.now.is_some_and(|(what, _)| what == Spent::Host) {
            return;
        }
        let before = self.spent.on(Spent::Host);
        self.settle(now);
        let stopped = stopped.min(self.spent.on(Spent::Host) - before);
        self.spent.times[Spent::Host as usize] = self.spent.on(Spent::Host) - stopped;
        self.spent.times[Spent::Pause as usize] += stopped;
    }

    /// Charges the time that has elapsed until `now`.
    fn settle(&mut self, now: Time) {
        let wire = self.wire;
        let Some((what, since)) = &mut self.now else { return };
        let on_wire = wire.0.min(now).saturating_sub(*since);
        let sent = if wire.1 { Spent::Again } else { Spent::Sending };
        self.spent.times[sent as usize] += on_wire;
        self.spent.times[*what as usize] += now.saturating_sub(*since).saturating_sub(on_wire);
        *since = now.max(*since);
    }

    /// Returns the times up to `now`, or up to the end of the last packet's transmission if that is earlier.
    pub fn until_sent(&self, now: Time) -> TimesSpent {
        self.until(now.min(self.wire.0))
    }

    /// Returns the times up to `now`.
    pub fn until(&self, now: Time) -> TimesSpent {
        let mut clock = *self;
        clock.settle(now);
        clock.spent
    }
}

/// The clocks of a queue pair or context. They are stored apart from it, because the selection of the next packet does
/// not need them.
#[derive(Clone, Debug)]
pub(crate) struct Clocks {
    /// Clock of the sender.
    pub own: SpentClock,
    /// Clocks of the messages that have begun.
    pub begun: VecDeque<MessageClock>,
}

/// Clock of a message in progress.
#[derive(Clone, Copy, Debug, Default)]
pub(crate) struct MessageClock {
    /// Time at which the first packet became the next to send, and time at which the last packet was sent.
    began: Option<Time>,
    left: Option<Time>,
    /// Until the last packet is sent: times and feedback counts of the sender when the message began. Afterwards: times
    /// of the message itself.
    spent: TimesSpent,
    feedback: [u32; 3],
    /// Time spent on retransmissions until the last packet was sent.
    again: Time,
}

/// Advances the clocks over a skipped period. Messages in progress store the clock and the counters at the time when
/// they began, which are advanced as well.
impl Counts for Clocks {
    fn advance(&mut self, growth: &mut Growth) {
        // The current activity is not settled: a timeout may still recharge it, and its age is the same at both ends of
        // a period.
        self.own.spent.times.advance(growth);
        for message in &mut self.begun {
            let MessageClock { began: _, left: _, spent, feedback, again } = message;
            spent.times.advance(growth);
            feedback.advance(growth);
            again.advance(growth);
        }
    }
}

impl MessageClock {
    /// Starts the clock: the first packet of the message is the next to send.
    pub fn begin(&mut self, clock: &SpentClock, feedback: [u32; 3], now: Time) {
        (self.began, self.spent, self.feedback) = (Some(now), clock.until(now), feedback);
    }

    /// Records that the last packet is sent.
    pub fn leave(&mut self, clock: &SpentClock, now: Time) {
        if self.left.is_none() {
            let until = clock.until(now);
            self.left = Some(now);
            self.again = until.on(Spent::Again);
            self.spent = until.since(&self.spent);
        }
    }

    /// Returns the feedback counts of the sender when the message began.
    pub fn feedback_before(&self) -> [u32; 3] {
        self.feedback
    }

    /// Stops the clock when the message is acknowledged. The message was posted at `start`.
    pub fn end(mut self, clock: &SpentClock, feedback: [u32; 3], start: Time, now: Time) -> MessageTimes {
        self.leave(clock, now);
        let mut spent = self.spent;
        // Time in flight before the last packet was sent is charged to earlier messages, because this message began
        // during it.
        let left = self.left.unwrap_or(now);
        let again = clock.until(now).on(Spent::Again) - self.again;
        spent.times[Spent::Again as usize] += again.min(now.saturating_sub(left));
        spent.times[Spent::UnderWay as usize] =
            now.saturating_sub(self.began.unwrap_or(left)).saturating_sub(spent.before_under_way());
        // The remainder below a nanosecond is carried to the next part, so that the parts add up to the total.
        let mut until = Time::ZERO;
        let mut part = |time: Time| {
            let before = ns(until);
            until = until.saturating_add(time);
            ns(until) - before
        };
        MessageTimes {
            behind: part(self.began.unwrap_or(left).saturating_sub(start)),
            spent: spent.times.map(&mut part),
            feedback: [0, 1, 2].map(|nth| feedback[nth] - self.feedback[nth]),
        }
    }
}

fn ns(time: Time) -> u32 {
    u32::try_from(time.ps() / 1_000).unwrap_or(u32::MAX)
}

/// The times of a message by activity in nanoseconds. Each is up to 4.29 s, so that a million messages take little
/// memory.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct MessageTimes {
    /// Time queued behind other messages of the sender.
    pub behind: u32,
    /// Time of each activity, indexed by [`Spent`].
    pub spent: [u32; 8],
    /// Numbers of CNPs, marks and NAKs that the sender received from the beginning of the message until its
    /// acknowledgement.
    pub feedback: [u32; 3],
}

impl MessageTimes {
    /// Returns the time of an activity.
    pub fn on(&self, what: Spent) -> u32 {
        self.spent[what as usize]
    }

    /// Returns the times of a message that was read in parts, from the arrival of the first request at `came` until the
    /// message was complete at `whole`. Each part has the times counted by the responder, and the feedback counts of
    /// its queue pair at its beginning. The responder is not notified when a part is complete, so the part's `Again`
    /// and `UnderWay` times extend beyond that, and include feedback received until the next part.
    pub(crate) fn of_read(
        parts: &[(MessageTimes, [u32; 3])],
        came: Time,
        whole: Time,
    ) -> Option<MessageTimes> {
        let &(MessageTimes { behind, .. }, mut until) = parts.first()?;
        let mut all = MessageTimes { behind, ..Default::default() };
        for (part, before) in parts {
            all.spent.iter_mut().zip(part.spent).for_each(|(sum, own)| *sum = sum.saturating_add(own));
            for nth in 0..3 {
                let ended = before[nth] + part.feedback[nth];
                all.feedback[nth] += ended.saturating_sub(until[nth].max(before[nth]));
                until[nth] = until[nth].max(ended);
            }
        }
        let again = std::mem::take(&mut all.spent[Spent::Again as usize]);
        all.spent[Spent::UnderWay as usize] = 0;
        let known = all.spent.iter().fold(all.behind, |sum, &own| sum.saturating_add(own));
        let whole = ns(whole.saturating_sub(came));
        // Each part was rounded to nanoseconds, so their sum may exceed the total by one.
        let sending = &mut all.spent[Spent::Sending as usize];
        *sending = sending.saturating_sub(known.saturating_sub(whole));
        let left = whole.saturating_sub(known);
        all.spent[Spent::Again as usize] = again.min(left);
        all.spent[Spent::UnderWay as usize] = left - again.min(left);
        Some(all)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const RATE: BitRate = BitRate::from_gbps(8);

    fn us(us: u64) -> Time {
        Time::from_us(us)
    }
    fn clock() -> SpentClock {
        SpentClock::new(RATE, 20)
    }

    #[test]
    fn a_packet_on_the_wire_hides_what_would_hold_the_next_one_back() {
        let mut it = clock();
        it.change(Some(Spent::Host), us(0));
        // 1000 B take one microsecond.
        it.on_send(980, false, us(2));
        it.change(Some(Spent::Rate), us(2));
        it.on_send(980, true, us(5));
        let on = |it: &SpentClock, what, at| it.until(us(at)).on(what);
        assert_eq!(
            [Spent::Host, Spent::Sending, Spent::Rate].map(|it_is| on(&it, it_is, 5)),
            [2, 1, 2].map(us)
        );
        assert_eq!(
            [Spent::Again, Spent::Sending, Spent::Rate].map(|it_is| on(&it, it_is, 9)),
            [1, 1, 5].map(us)
        );
        it.change(None, us(9));
        assert_eq!(it.until(us(99)), it.until(us(9)));
    }

    #[test]
    fn a_pause_takes_of_what_the_nic_has_taken() {
        for (stopped, expected) in [(3, [3, 2]), (9, [5, 0])] {
            let mut it = clock();
            it.change(Some(Spent::Rate), us(0));
            it.on_stopped(us(2), us(3));
            it.change(Some(Spent::Host), us(3));
            it.on_stopped(us(stopped), us(8));
            let spent = it.until(us(8));
            assert_eq!([Spent::Pause, Spent::Host].map(|what| spent.on(what)), expected.map(us));
            assert_eq!(spent.on(Spent::Rate), us(3));
        }
    }

    #[test]
    fn parts_of_a_message_add_up() {
        let mut it = clock();
        let mut message = MessageClock::default();
        it.change(Some(Spent::Window), us(1));
        message.begin(&it, [4, 0, 1], us(7));
        it.change(Some(Spent::Rate), us(8));
        it.on_send(980, false, us(10));
        message.leave(&it, us(10));
        it.change(Some(Spent::UnderWay), us(10));
        it.correct_waits();
        it.on_send(980, true, us(15));
        it.change(Some(Spent::UnderWay), us(15));
        let times = message.end(&it, [6, 0, 2], us(3), us(20));
        // From 11 us on the message waits for the timeout; until then its last packet is on the wire.
        let on = [Spent::Window, Spent::Rate, Spent::Again, Spent::UnderWay].map(|what| times.on(what));
        assert_eq!((times.behind, on, times.feedback), (4_000, [1_000, 2_000, 5_000, 5_000], [2, 0, 1]));
        assert_eq!(times.behind + times.spent.iter().sum::<u32>(), 17_000);
    }
}
