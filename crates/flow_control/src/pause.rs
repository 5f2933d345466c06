//! PAUSE (IEEE 802.3 Annex 31B) and PFC (IEEE 802.1Qbb, 802.3 Annex 31D): pause frames and the station that receives
//! them.
//!
//! A PFC frame carries a set of priorities and a pause time for each, in quanta of 512 bit times. A PAUSE frame stops
//! all priorities at once. A new pause time replaces the remaining one and does not add to it. A pause time of zero
//! (XON) ends the pause. A frame in transmission always completes.
//!
//! A pause frame takes effect one response time after the end of its reception. The pause time starts at the end of
//! reception, not when it takes effect. A pause therefore stops the link for its pause time less the response time,
//! and not at all if it is no longer than that. XON also takes effect one response time after its reception.
//!
//! Source: IEEE 802.3 Annexes 31B and 31D; Hagen 2012 §2.1.1, §3.2.1, §7.3.
//!
//! Not modelled: corrupted pause frames whose pause times a station still uses.

use crate::pause_settings::described_as_settings;
use crate::{Configuration, Control, Findings, PauseKind, PauseSettings};
use frame::{PRIORITIES, members};
use recurrence::Recurs;
use serde::{Deserialize, Serialize};
use units::{BitRate, Time};

/// Keys of PAUSE.
#[derive(Clone, Debug, Default, PartialEq, Deserialize, Serialize)]
#[serde(transparent)]
pub struct LinkPauses(PauseSettings);

described_as_settings!(LinkPauses);

impl Configuration for LinkPauses {
    fn or(&self, outer: &LinkPauses) -> LinkPauses {
        LinkPauses(self.0.or(&outer.0))
    }
    fn complete(&mut self, _: &[u32]) {
        self.0.complete();
    }
    fn check(&self, used: &[u32]) -> Findings {
        self.0.check(false, used)
    }
    fn start(&self, name: &'static str) -> Control {
        Control::Pauses(self.0.spec(name, PauseKind::Link))
    }
    fn notes(&self) -> Vec<&'static str> {
        self.0.notes()
    }
}

/// Bit times per pause quantum (802.3 Annex 31B.2).
pub const QUANTUM_BITS: u64 = 512;

/// Returns the duration of `quanta` on a link of this rate, rounded down.
pub fn pause_time(quanta: u16, rate: BitRate) -> Time {
    rate.time_for_bits_floor(u64::from(quanta) * QUANTUM_BITS)
}

/// The contents of a pause frame.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Recurs)]
pub struct PauseSignal {
    /// Priorities to stop, bit n for priority n.
    pub xoff: u8,
    /// Priorities that may resume (time zero).
    pub xon: u8,
}

impl PauseSignal {
    /// Returns true if the signal affects no priority.
    #[inline]
    pub fn is_empty(self) -> bool {
        self.xoff | self.xon == 0
    }
    /// Merges a later signal into this one, which has not been sent yet, so that one frame carries both.
    #[inline]
    #[must_use]
    pub fn then(self, later: PauseSignal) -> PauseSignal {
        PauseSignal { xoff: self.xoff & !later.xon | later.xoff, xon: self.xon & !later.xoff | later.xon }
    }
}

/// The pauses that a transmitter must obey: the time until which each priority is stopped.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Recurs)]
pub struct PauseTimers {
    #[recurs(with = PauseTimers::walk_until)]
    until: [Time; PRIORITIES],
}

impl PauseTimers {
    /// Visits the end of each pause, for a digest of the state.
    fn walk_until(&self, walk: &mut recurrence::Walk) {
        self.until.iter().for_each(|&until| walk.past(until));
    }

    /// Applies a pause frame. `obeyed` are the priorities for which pausing is enabled; bits of other priorities are
    /// ignored. `until` is the end of the frame's reception plus the announced time, `now` the time at which XON takes
    /// effect.
    pub fn apply(&mut self, signal: PauseSignal, obeyed: u8, until: Time, now: Time) {
        for priority in members(signal.xon & obeyed) {
            self.until[priority] = now;
        }
        for priority in members(signal.xoff & obeyed) {
            self.until[priority] = until;
        }
    }
    /// Returns the time at which the last pause of these priorities ends. A queue that several priorities share is
    /// stopped while any of them is paused.
    #[inline]
    pub fn until(&self, priorities: u8) -> Time {
        members(priorities).map(|priority| self.until[priority]).max().unwrap_or(Time::ZERO)
    }
    /// Returns the priorities that are paused now, as a bit set.
    #[inline]
    pub fn paused(&self, now: Time) -> u8 {
        let set = |set, (priority, &until): (usize, &Time)| set | u8::from(until > now) << priority;
        self.until.iter().enumerate().fold(0, set)
    }
    /// Returns the time at which the first of the current pauses ends; [`Time::NEVER`] if there is none.
    pub fn first_end(&self, now: Time) -> Time {
        self.until.iter().copied().filter(|&until| until > now).min().unwrap_or(Time::NEVER)
    }
    /// Ends all pauses at once, as a link reset does.
    pub fn clear(&mut self) {
        *self = PauseTimers::default();
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const STOP: PauseSignal = PauseSignal { xoff: 0x08, xon: 0 };

    #[test]
    fn longest_pauses_of_the_golden_vector() {
        // Golden vector 2 and Hagen eq. 7.4: 65535 quanta.
        for (gbps, ps) in [(1, 33_553_920_000), (10, 3_355_392_000), (100, 335_539_200), (400, 83_884_800)] {
            assert_eq!(pause_time(65_535, BitRate::from_gbps(gbps)).ps(), ps);
        }
    }

    #[test]
    fn a_new_time_replaces_the_running_one() {
        // Golden vector 4: XOFF 1000 quanta at 0, XOFF 100 at 10 us, 10 Gb/s: resume at 15.12 us.
        let rate = BitRate::from_gbps(10);
        let mut timers = PauseTimers::default();
        timers.apply(STOP, 0xFF, pause_time(1000, rate), Time::ZERO);
        let at = Time::from_us(10);
        timers.apply(STOP, 0xFF, at + pause_time(100, rate), at);
        assert_eq!(timers.until(0x08), Time::from_ns(15_120));
    }

    #[test]
    fn only_the_named_priority_stops() {
        // Golden vector 5.
        let mut timers = PauseTimers::default();
        timers.apply(STOP, 0xFF, Time::from_us(5), Time::ZERO);
        for priority in 0..8 {
            let expected = if priority == 3 { Time::from_us(5) } else { Time::ZERO };
            assert_eq!(timers.until(1 << priority), expected);
        }
        // A queue shared by priorities 2 and 3 stops with either.
        assert_eq!(timers.until(0x0C), Time::from_us(5));
    }

    #[test]
    fn time_zero_resumes_at_once_and_disabled_priorities_ignore_their_bit() {
        let mut timers = PauseTimers::default();
        timers.apply(STOP, 0xFF, Time::from_us(5), Time::ZERO);
        timers.apply(PauseSignal { xoff: 0, xon: 0x08 }, 0xFF, Time::from_us(2), Time::from_us(2));
        assert_eq!(timers.until(0x08), Time::from_us(2));
        timers.apply(STOP, 0xF7, Time::from_us(9), Time::from_us(3));
        assert_eq!(timers.until(0x08), Time::from_us(2));
    }

    #[test]
    fn waiting_signals_merge_and_the_later_word_counts() {
        let merged = STOP.then(PauseSignal { xoff: 0x10, xon: 0x08 });
        assert_eq!(merged, PauseSignal { xoff: 0x10, xon: 0x08 });
        assert_eq!(merged.then(STOP), PauseSignal { xoff: 0x18, xon: 0 });
    }

    proptest::proptest! {
        #[test]
        fn the_same_priorities_are_paused_until_the_first_end(ends in proptest::array::uniform8(0u64..6), now in 0u64..6) {
            let (ps, timers) = (Time::from_ps, PauseTimers { until: ends.map(Time::from_ps) });
            let first = timers.first_end(ps(now));
            proptest::prop_assert_eq!(first == Time::NEVER, timers.paused(ps(now)) == 0);
            for later in (now..10).map(ps) {
                let same = timers.paused(later) == timers.paused(ps(now));
                proptest::prop_assert_eq!(same, later < first);
            }
        }

        #[test]
        fn merging_is_as_good_as_sending_both(first: (u8, u8), second: (u8, u8), start: [u16; 8]) {
            let signal = |(xoff, xon): (u8, u8)| PauseSignal { xoff, xon: xon & !xoff };
            let (first, second) = (signal(first), signal(second));
            let mut both = PauseTimers { until: start.map(|t| Time::from_ps(t.into())) };
            let mut merged = both;
            let (until, now) = (Time::from_us(9), Time::from_us(1));
            both.apply(first, 0xFF, until, now);
            both.apply(second, 0xFF, until, now);
            merged.apply(first.then(second), 0xFF, until, now);
            proptest::prop_assert_eq!(both, merged);
        }
    }
}
