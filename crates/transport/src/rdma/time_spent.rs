//! What the time of a queue pair, and that of each of its messages, is spent on.
//!
//! At any time it is one of eight: a packet is on its wire, for the first time; what was sent before is sent again, or a timeout for that
//! is waited for; the rate of the control holds the next packet back; or the window; or a receiver that is not ready; or the
//! next packet is ready, and its NIC is stopped by a pause, or busy; or all is sent, and on its way.
//!
//! A message has its part of that from when its first packet is the next one until its last packet leaves. Before that it stands behind
//! others; after it, it is under way, but for what is sent again meanwhile. The parts add up to the time from its start until it
//! is acknowledged, in whole nanoseconds.
//!
//! Where several queue pairs of two hosts stand in line together, a pause that began before one of them had a packet ready counts for it
//! from then on.

use std::collections::VecDeque;
use units::{BitRate, Time};

/// What time is spent on.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Spent {
    /// A packet is on the wire that was not sent before, with preamble and gap.
    Sending,
    /// What was sent before is sent again, or a timeout is waited for.
    Again,
    /// The rate of the control.
    Rate,
    /// The window.
    Window,
    /// A receiver that is not ready.
    Receiver,
    /// A packet is ready, and a pause stops its NIC.
    Pause,
    /// A packet is ready, and its NIC is busy, or fetches a context.
    Host,
    /// All has been sent.
    UnderWay,
}

/// How long it was which.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct TimesSpent {
    /// By [`Spent`].
    pub times: [Time; 8],
}

impl TimesSpent {
    /// Of one of them.
    pub fn on(&self, what: Spent) -> Time {
        self.times[what as usize]
    }
    /// All but what is under way.
    fn before_under_way(&self) -> Time {
        self.times[..Spent::UnderWay as usize].iter().fold(Time::ZERO, |sum, &time| sum + time)
    }
    fn since(&self, before: &TimesSpent) -> TimesSpent {
        let mut times = self.times;
        times.iter_mut().zip(before.times).for_each(|(time, before)| *time = time.saturating_sub(before));
        TimesSpent { times }
    }
}

/// The clock of [`TimesSpent`].
#[derive(Clone, Copy, Debug)]
pub(crate) struct SpentClock {
    spent: TimesSpent,
    /// What it is now, and since when; `None`: there are no messages.
    now: Option<(Spent, Time)>,
    /// The last packet is on the wire until then, and whether it was sent before.
    wire: (Time, bool),
    ps_per_byte: f64,
    /// Bytes around each frame on the link.
    overhead: u16,
}

impl SpentClock {
    /// At a link of this rate, with so many bytes around each frame.
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
    /// The link has this rate from now on.
    pub fn on_link_rate(&mut self, rate: BitRate) {
        self.ps_per_byte = 8e12 / rate.bps_f64().max(1.0);
    }

    /// From now on it is this.
    #[inline]
    pub fn change(&mut self, to: Option<Spent>, now: Time) {
        if self.now.map(|(before, _)| before) != to {
            self.settle(now);
            self.now = to.map(|to| (to, now));
        }
    }

    /// A packet of `bytes` leaves now; `again`: it was sent before.
    #[inline]
    pub fn on_send(&mut self, bytes: u16, again: bool, now: Time) {
        self.settle(now);
        let bytes = u64::from(bytes) + u64::from(self.overhead);
        self.wire = (now + Time::from_ps((bytes as f64 * self.ps_per_byte) as u64), again);
    }

    /// What was a wait for acknowledgements turns out to have been one for a timeout.
    pub fn correct_waits(&mut self) {
        if let Some((before @ (Spent::Window | Spent::UnderWay), _)) = &mut self.now {
            *before = Spent::Again;
        }
    }

    /// Until now a pause has stopped the NIC for so long while a packet was ready, or for all the time that one was.
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

    /// Counts what has passed until now.
    fn settle(&mut self, now: Time) {
        let wire = self.wire;
        let Some((what, since)) = &mut self.now else { return };
        let on_wire = wire.0.min(now).saturating_sub(*since);
        let sent = if wire.1 { Spent::Again } else { Spent::Sending };
        self.spent.times[sent as usize] += on_wire;
        self.spent.times[*what as usize] += now.saturating_sub(*since).saturating_sub(on_wire);
        *since = now.max(*since);
    }

    /// All until now, or until the last packet was on the wire.
    pub fn until_sent(&self, now: Time) -> TimesSpent {
        self.until(now.min(self.wire.0))
    }

    /// All until now.
    pub fn until(&self, now: Time) -> TimesSpent {
        let mut clock = *self;
        clock.settle(now);
        clock.spent
    }
}

/// The clocks of a queue pair: apart from it, as whoever looks for the next packet does not need them.
#[derive(Clone, Debug)]
pub(crate) struct Clocks {
    /// Its own.
    pub own: SpentClock,
    /// Those of its messages that have begun.
    pub begun: VecDeque<MessageClock>,
}

/// The times of a message at work.
#[derive(Clone, Copy, Debug, Default)]
pub(crate) struct MessageClock {
    /// When its first packet was the next one, and the last one left.
    began: Option<Time>,
    left: Option<Time>,
    /// What its queue pair had spent, and heard, until it began; from when it left on, what it has spent itself.
    spent: TimesSpent,
    heard: [u32; 3],
    /// What was spent on packets sent again until it left.
    again: Time,
}

impl MessageClock {
    /// Its first packet is the next one.
    pub fn begin(&mut self, clock: &SpentClock, heard: [u32; 3], now: Time) {
        (self.began, self.spent, self.heard) = (Some(now), clock.until(now), heard);
    }

    /// Its last packet leaves.
    pub fn leave(&mut self, clock: &SpentClock, now: Time) {
        if self.left.is_none() {
            let until = clock.until(now);
            self.left = Some(now);
            self.again = until.on(Spent::Again);
            self.spent = until.since(&self.spent);
        }
    }

    /// What its queue pair had heard when it began.
    pub fn heard_before(&self) -> [u32; 3] {
        self.heard
    }

    /// It is acknowledged, `start` after which it was posted.
    pub fn end(mut self, clock: &SpentClock, heard: [u32; 3], start: Time, now: Time) -> MessageTimes {
        self.leave(clock, now);
        let mut spent = self.spent;
        // What was under way before it left belongs to the messages before it: it began meanwhile.
        let left = self.left.unwrap_or(now);
        let again = clock.until(now).on(Spent::Again) - self.again;
        spent.times[Spent::Again as usize] += again.min(now.saturating_sub(left));
        spent.times[Spent::UnderWay as usize] =
            now.saturating_sub(self.began.unwrap_or(left)).saturating_sub(spent.before_under_way());
        // What a part has beyond whole nanoseconds goes to the next one: so they add up to the whole.
        let mut until = Time::ZERO;
        let mut part = |time: Time| {
            let before = ns(until);
            until = until.saturating_add(time);
            ns(until) - before
        };
        MessageTimes {
            behind: part(self.began.unwrap_or(left).saturating_sub(start)),
            spent: spent.times.map(&mut part),
            heard: [0, 1, 2].map(|nth| heard[nth] - self.heard[nth]),
        }
    }
}

fn ns(time: Time) -> u32 {
    u32::try_from(time.ps() / 1_000).unwrap_or(u32::MAX)
}

/// What the time of a message was spent on, in nanoseconds: up to 4.29 s each, so that a million messages take little room.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct MessageTimes {
    /// It stood behind others of its queue pair.
    pub behind: u32,
    /// By [`Spent`].
    pub spent: [u32; 8],
    /// CNPs, marks and NAKs that its queue pair has heard of from when it began until it was acknowledged.
    pub heard: [u32; 3],
}

impl MessageTimes {
    /// On one of them.
    pub fn on(&self, what: Spent) -> u32 {
        self.spent[what as usize]
    }

    /// Of a message that was read in parts, from when the first request `came` until it was `whole`: of each what the
    /// responder has counted of it, and what its queue pair had heard when it began. The responder does not hear when a part is
    /// whole: its counts of `Again` and `UnderWay` go beyond that, and it hears of the next part meanwhile.
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
                let ended = before[nth] + part.heard[nth];
                all.heard[nth] += ended.saturating_sub(until[nth].max(before[nth]));
                until[nth] = until[nth].max(ended);
            }
        }
        let again = std::mem::take(&mut all.spent[Spent::Again as usize]);
        all.spent[Spent::UnderWay as usize] = 0;
        let known = all.spent.iter().fold(all.behind, |sum, &own| sum.saturating_add(own));
        let whole = ns(whole.saturating_sub(came));
        // Parts were cut to nanoseconds one by one: together they may have one too many.
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
        // 1000 bytes take a microsecond.
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
        // It waited for the timeout from 11 us on: until then its last packet was on the wire.
        let on = [Spent::Window, Spent::Rate, Spent::Again, Spent::UnderWay].map(|what| times.on(what));
        assert_eq!((times.behind, on, times.heard), (4_000, [1_000, 2_000, 5_000, 5_000], [2, 0, 1]));
        assert_eq!(times.behind + times.spent.iter().sum::<u32>(), 17_000);
    }
}
