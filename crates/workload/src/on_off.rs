//! On-off arrivals: frames at a peak rate during a random on period, and none during a random off period.
//!
//! Off periods do not count for the interval between frames, so that short on periods also have the peak rate. The
//! initial state is drawn with the long-run probabilities of the two states.
//!
//! Source: the bursty sources of Jiang 2007 (Pareto periods, shape 1.5, truncated). The minimum length of a period is
//! such that the mean after truncation is the configured one.
//!
//! Not modelled: correlation between periods.

use crate::arrivals::{Arrival, Configuration, Link, Random, no_rate, whole_ps};
use crate::draw::Coin;
use crate::pace::{Pace, rescaled};
use crate::period::{Lengths, Period};
use crate::spec::FrameSizes;
use keys::Remark;
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use units::{BitRate, ClockOffset, Time};

/// Frames at the peak rate during random on periods, none during random off periods.
#[derive(Clone, Copy, Debug, PartialEq, Deserialize, Serialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct OnOffParams {
    /// Peak rate, during an on period. A rate with unit, above 0. Required.
    pub peak: BitRate,
    /// Length of an on period. Required.
    pub on: Period,
    /// Length of an off period. Required.
    pub off: Period,
}

impl Configuration for OnOffParams {
    /// Boxed because it is twice as large as the other processes.
    type Machine = Box<OnOff>;

    fn check(&self) -> Vec<Remark> {
        let within = |key: &'static str, period: &Period| {
            period.check().into_iter().map(move |why| why.within(key)).collect::<Vec<_>>()
        };
        no_rate("peak", self.peak)
            .into_iter()
            .chain(within("on", &self.on))
            .chain(within("off", &self.off))
            .collect()
    }
    fn rate(&self) -> (&'static str, BitRate) {
        ("peak", self.peak)
    }
    fn at_rate(self, peak: BitRate) -> OnOffParams {
        OnOffParams { peak, ..self }
    }
    fn mean_bps(&self, peak: BitRate, sizes: &FrameSizes, link: Link) -> f64 {
        let on_secs = self.on.mean_secs();
        if on_secs > 0.0 {
            link.in_frames(peak, sizes) * on_secs / (on_secs + self.off.mean_secs())
        } else {
            0.0
        }
    }
    fn start(&self, link: Link, _sizes: &FrameSizes) -> Box<OnOff> {
        Box::new(OnOff::new(*self, link.clock))
    }
}

/// The state of an on/off process: on for a random time, off for a random time. `left` counts down while it is on.
#[derive(Clone, Copy, Debug)]
pub struct OnOff {
    /// Pace at the peak rate; `None` if the source never sends.
    pace: Option<Pace>,
    on: Lengths,
    off: Lengths,
    starts_on: Coin,
    /// False if the source is never on. Without this flag it would change its state forever at a single instant.
    is_ever_on: bool,
    is_on: bool,
    /// Time for which `is_on` and `left` hold.
    mark: Time,
    period_end: Time,
    /// On time left until the next frame is due.
    left: Time,
    /// Fraction of a picosecond left over from the periods so far.
    rest: f64,
}

impl OnOff {
    fn new(OnOffParams { peak, on, off }: OnOffParams, clock: ClockOffset) -> OnOff {
        let (on_secs, off_secs) = (on.mean_secs(), off.mean_secs());
        let is_ever_on = on_secs > 0.0;
        OnOff {
            pace: if is_ever_on { Pace::at_station(peak, clock) } else { None },
            on: Lengths::new(&on),
            off: Lengths::new(&off),
            starts_on: Coin::new(on_secs / (on_secs + off_secs)),
            is_ever_on,
            is_on: false,
            mark: Time::ZERO,
            period_end: Time::ZERO,
            left: Time::ZERO,
            rest: 0.0,
        }
    }

    fn begin_period(&mut self, rng: &mut Random) {
        let length = if self.is_on { self.on.draw(rng) } else { self.off.draw(rng) };
        self.period_end = self.mark.saturating_add(whole_ps(length, &mut self.rest));
    }

    fn due(&self) -> Time {
        self.mark.saturating_add(self.left)
    }

    /// Returns the due time of the next frame or the end of the period, whichever is first.
    fn next_wake(&self) -> Time {
        match (&self.pace, self.is_on) {
            (None, _) => Time::NEVER,
            (_, true) => self.due().min(self.period_end),
            (_, false) => self.period_end,
        }
    }

    /// Advances the state to `now`.
    fn roll(&mut self, now: Time, rng: &mut Random) {
        while self.period_end <= now {
            self.pass(self.period_end);
            self.is_on = !self.is_on;
            self.begin_period(rng);
        }
        self.pass(now);
    }
    fn pass(&mut self, to: Time) {
        if self.is_on {
            self.left = self.left.saturating_sub(to.saturating_sub(self.mark));
        }
        self.mark = to;
    }
}

impl Arrival for Box<OnOff> {
    fn start(&mut self, _link: Link, now: Time, _next: u16, rng: &mut Random) -> Time {
        self.is_on = self.starts_on.toss(rng);
        (self.mark, self.left) = (now, Time::ZERO);
        self.pace.as_mut().map(Pace::restart);
        self.begin_period(rng);
        OnOff::next_wake(self)
    }
    #[inline]
    fn arrives(&mut self, now: Time, rng: &mut Random) -> bool {
        if self.is_on && self.due() <= now && self.due() < self.period_end {
            return true;
        }
        self.roll(now, rng);
        false
    }
    fn frame_is_next(&self) -> bool {
        self.is_on && self.due() < self.period_end
    }
    fn next_wake(&self) -> Time {
        OnOff::next_wake(self)
    }
    #[inline(never)]
    fn after(&mut self, link: Link, now: Time, late: bool, [sent, _]: [u16; 2], rng: &mut Random) -> Time {
        self.left = Time::ZERO;
        self.roll(now, rng);
        if let Some(pace) = &mut self.pace {
            if late {
                pace.restart();
            }
            self.left = pace.span(link.counted(sent));
        }
        OnOff::next_wake(self)
    }
    fn rate(&self) -> Option<BitRate> {
        self.pace.map(|pace| pace.rate)
    }
    fn set_rate(&mut self, link: Link, new: BitRate) {
        if self.is_ever_on {
            self.pace = Pace::at_station(new, link.clock);
        }
    }
    fn rescale(
        &mut self,
        _link: Link,
        now: Time,
        _due: Time,
        (old, new): (BitRate, BitRate),
        _next: u16,
        rng: &mut Random,
    ) -> Time {
        self.roll(now, rng);
        self.left = rescaled(self.left, old, new);
        OnOff::next_wake(self)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::testbed::{LINE, constant, run_spec, spec};
    use crate::{Arrivals, SourceSpec};

    #[test]
    fn bursts_keep_the_peak_rate() {
        let mean = Time::from_us(100);
        let (on, off) = (Period::Exponential(mean), Period::Exponential(Time::from_us(300)));
        let spec = spec(
            Arrivals::OnOff(OnOffParams { peak: BitRate::from_gbps(1), on, off }),
            FrameSizes::Fixed(1000),
        );
        let frames = run_spec(&spec, Time::from_ms(40));
        let gaps: Vec<u64> = frames.windows(2).map(|w| (w[1].0 - w[0].0).ps()).collect();
        assert!(gaps.iter().all(|&gap| gap >= 8_000_000));
        // An off period lies within one in 12.5 intervals: 100 us on on average, 8 us per frame.
        let within = gaps.iter().filter(|&&gap| gap == 8_000_000).count() as f64 / gaps.len() as f64;
        assert!((within - 0.92).abs() < 0.03, "{within}");
        // A source that is never off has a constant rate.
        let off = Period::Exponential(Time::ZERO);
        let steady = SourceSpec {
            arrivals: Arrivals::OnOff(OnOffParams { peak: BitRate::from_gbps(1), on, off }),
            ..spec.clone()
        };
        assert_eq!(
            run_spec(&steady, Time::from_ms(1)),
            run_spec(&constant(BitRate::from_gbps(1), 1000), Time::from_ms(1))
        );
        // A source that is never on sends nothing and needs no timer.
        let on = Period::Pareto { mean: Time::ZERO, shape: 1.5 };
        let never = SourceSpec {
            arrivals: Arrivals::OnOff(OnOffParams { peak: BitRate::from_gbps(1), on, off }),
            ..spec
        };
        assert_eq!(
            (run_spec(&never, Time::NEVER).len(), never.offered_bps(LINE, 20, Time::ZERO, mean)),
            (0, Some(0.0))
        );
    }
}
