//! TIMELY: a rate controlled by the gradient of the round-trip time, and patched TIMELY, which has a fixed point.
//!
//! Once per round trip the latest RTT sample r is compared with the previous one. The gradient g is the moving average
//! of their difference, divided by `min_rtt`. If r is below `t_low`, the rate increases by `delta`. If r is above
//! `t_high`, the rate is multiplied by 1 - beta (1 - t_high / r). In between, the rate increases if g is not positive:
//! by `delta`, or by five times `delta` from the fifth consecutive increase on. If g is positive, the rate is
//! multiplied by 1 - beta g. If g is 0 between the thresholds, any division of the link among flows persists, so that
//! the original has no unique fixed point.
//!
//! Patched TIMELY (`patched`) sets the rate between the thresholds to delta (1 - w) + R (1 - patched_beta w (r -
//! t_low) / t_low), with w = 2 g + 1/2, limited to 0 to 1. All N flows at a link of rate C then have the same rate,
//! and its queue is C t_low (1 + N delta / (patched_beta C)).
//!
//! Without a `window` only the rate limits the data in flight. It changes once per round trip, and a long queue makes
//! round trips long. Ten flows that start at the line rate of 10 Gb/s make the queue grow to 88 ms, and reach their
//! fixed point after 0.2 s (four flows: 10 ms and 25 ms). The fluid model gives the same. A `window` or a lower
//! `initial_rate` shortens this transient.
//!
//! Source: R. Mittal et al., "TIMELY: RTT-based Congestion Control for the Datacenter", SIGCOMM 2015, sections 4 and
//! 5; Y. Zhu et al., "ECN or Delay: Lessons Learnt from Analysis of DCQCN and TIMELY", CoNEXT 2016, sections 4 and
//! footnote 4 (the patch, and parameters).
//!
//! Not modelled: RTT samples per segment (one packet per round trip is sampled, as in other simulators); bursts (each
//! packet is paced).

use super::checks;
use super::control::{LinkRate, PathFacts, RdmaAck, RdmaControl, RdmaControlConfiguration};
use keys::{Remark, Unused};
use recurrence::{Recurs, Walk};
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use units::{BitRate, Or, Time, Unlimited};

/// Number of consecutive increases after which they become larger.
const HYPER_AFTER: u32 = 5;

/// Keys of timely.
#[derive(Clone, Debug, PartialEq, Deserialize, Serialize, JsonSchema)]
#[serde(default, deny_unknown_fields)]
pub struct TimelyKeys {
    /// Weight of the newest RTT difference in the moving average. A number, above 0 and at most 1. Default: 0.875 (CoNEXT 2016).
    pub ewma: f64,
    /// Multiplicative decrease factor, for an RTT above `t_high` or a positive gradient. A number, above 0 and at most 1. Default: 0.8 (SIGCOMM 2015).
    pub beta: f64,
    /// Low threshold: RTT below which the rate always increases. A time with unit, above 0. Default: "50 us" (SIGCOMM 2015).
    pub t_low: Time,
    /// High threshold: RTT above which the rate always decreases. A time with unit, above `t_low`. Default: "500 us" (SIGCOMM 2015).
    pub t_high: Time,
    /// Minimum RTT, by which the gradient is normalized. A time with unit, above 0. Default: "20 us" (CoNEXT 2016).
    pub min_rtt: Time,
    /// Additive increase of the rate. A rate with unit, above 0. Default: "10 Mb/s" (SIGCOMM 2015).
    pub delta: BitRate,
    /// Minimum rate. A rate with unit, above 0. Default: "100 Mb/s" (public simulators).
    pub min_rate: BitRate,
    /// Initial rate of a queue pair, limited to the line rate. A rate with unit, not below `min_rate`; or "unlimited": the line rate. Default: "unlimited" (CoNEXT 2016 also starts at the fair share of one more flow, C / (N + 1)).
    pub initial_rate: Or<BitRate, Unlimited>,
    /// If true, patched TIMELY applies between the thresholds. Default: false.
    pub patched: bool,
    /// Decrease factor for the distance of the RTT from `t_low`; with `patched`. A number, above 0 and at most 1. Default: 0.008 (CoNEXT 2016).
    pub patched_beta: f64,
}

impl Default for TimelyKeys {
    fn default() -> TimelyKeys {
        TimelyKeys {
            ewma: 0.875,
            beta: 0.8,
            t_low: Time::from_us(50),
            t_high: Time::from_us(500),
            min_rtt: Time::from_us(20),
            delta: BitRate::from_bps(10_000_000),
            min_rate: BitRate::from_bps(100_000_000),
            initial_rate: Or::word(),
            patched: false,
            patched_beta: 0.008,
        }
    }
}

impl RdmaControlConfiguration for TimelyKeys {
    fn least_rate(&self) -> Option<BitRate> {
        Some(self.min_rate)
    }
    fn delay_target(&self, _hops: u16, _window: f64) -> Option<(&'static str, Time)> {
        Some(("t_high", self.t_high))
    }
}

impl TimelyKeys {
    /// Validates the keys; returns one remark per invalid value.
    pub fn check(&self) -> Vec<Remark> {
        let order = (self.t_high <= self.t_low).then(|| {
            let message = format!("t_high ({}) is not above t_low ({})", self.t_high, self.t_low);
            Remark::about("t_high", message, "expected a time above t_low")
        });
        let start = self.initial_rate.value().filter(|rate| *rate < self.min_rate).map(|rate| {
            let message = format!("initial_rate ({rate}) is below min_rate ({})", self.min_rate);
            Remark::about("initial_rate", message, format!("expected at least \"{}\"", self.min_rate))
        });
        let all = [
            checks::number("ewma", self.ewma, 1.0),
            checks::number("beta", self.beta, 1.0),
            checks::number("patched_beta", self.patched_beta, 1.0),
            checks::time("t_low", self.t_low),
            checks::time("min_rtt", self.min_rtt),
            order,
            checks::rate("delta", self.delta),
            checks::rate("min_rate", self.min_rate),
            start,
        ];
        all.into_iter().flatten().collect()
    }
    /// Returns the keys that have no effect.
    pub fn unused(&self) -> Vec<Remark> {
        Unused::of(self, &TimelyKeys::default())
            .unless(self.patched, "patched = true", &["patched_beta"])
            .remarks()
    }
}

/// The state of TIMELY: a rate driven by round-trip times.
#[derive(Clone, Copy, Debug)]
pub struct Timely {
    rate: LinkRate,
    delta: f64,
    ewma: f64,
    beta: f64,
    patched_beta: Option<f64>,
    /// Thresholds in picoseconds.
    low: f64,
    high: f64,
    unit: f64,
    last: Option<f64>,
    difference: f64,
    increases: u32,
    /// First packet that may be the next sample.
    from: u64,
}

impl Timely {
    /// Visits the state. All packets still to be acknowledged are at or after `first`, and all counts of increases from
    /// [`HYPER_AFTER`] on are equivalent.
    pub(super) fn walk_from(&self, first: u64, walk: &mut Walk) {
        let Timely {
            rate,
            delta: _,
            ewma: _,
            beta: _,
            patched_beta: _,
            low: _,
            high: _,
            unit: _,
            last,
            difference,
            increases,
            from,
        } = self;
        rate.walk(walk);
        last.walk(walk);
        difference.walk(walk);
        walk.word((*increases).min(HYPER_AFTER).into());
        walk.word(from.saturating_sub(first));
    }

    /// Creates the control of a queue pair without a sample.
    pub fn new(keys: &TimelyKeys, facts: &PathFacts) -> Timely {
        let ps = |time: Time| time.ps() as f64;
        let mut rate = LinkRate::new(facts, keys.min_rate);
        if let Some(first) = keys.initial_rate.value() {
            rate.set(first.bps_f64());
        }
        Timely {
            rate,
            delta: keys.delta.bps_f64(),
            ewma: keys.ewma,
            beta: keys.beta,
            patched_beta: keys.patched.then_some(keys.patched_beta),
            low: ps(keys.t_low),
            high: ps(keys.t_high),
            unit: ps(keys.min_rtt),
            last: None,
            difference: 0.0,
            increases: 0,
            from: 0,
        }
    }

    fn sample(&mut self, sample: f64) {
        let Some(last) = self.last.replace(sample) else { return };
        self.difference = (1.0 - self.ewma) * self.difference + self.ewma * (sample - last);
        let gradient = self.difference / self.unit;
        let rate = if sample < self.low {
            self.rate.now + self.delta
        } else if sample > self.high {
            self.increases = 0;
            self.rate.now * (1.0 - self.beta * (1.0 - self.high / sample))
        } else {
            self.between(sample, gradient)
        };
        self.rate.set(rate);
    }

    fn between(&mut self, sample: f64, gradient: f64) -> f64 {
        if let Some(beta) = self.patched_beta {
            let weight = (2.0 * gradient + 0.5).clamp(0.0, 1.0);
            let error = (sample - self.low) / self.low;
            return self.delta * (1.0 - weight) + self.rate.now * (1.0 - beta * weight * error);
        }
        if gradient <= 0.0 {
            self.increases += 1;
            let steps = if self.increases >= HYPER_AFTER { 5.0 } else { 1.0 };
            return self.rate.now + steps * self.delta;
        }
        self.increases = 0;
        self.rate.now * (1.0 - self.beta * gradient).max(0.0)
    }
}

impl RdmaControl for Timely {
    fn on_ack(&mut self, _now: Time, ack: &RdmaAck) {
        if let Some(trip) = ack.round_trip.filter(|_| ack.acknowledged > self.from) {
            self.from = ack.sent;
            self.sample(trip.ps() as f64);
        }
    }
    fn on_link_rate(&mut self, _now: Time, fresh: &Timely) {
        self.rate.on_link_rate(&fresh.rate);
    }
    fn due(&self, since: Time, bytes: u32) -> Time {
        self.rate.due(since, bytes)
    }
    fn rate(&self, _now: Time) -> f64 {
        self.rate.reported()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const FACTS: PathFacts = PathFacts::new(BitRate::from_gbps(10), Time::from_us(20), 1_000, 1);

    fn at(keys: &TimelyKeys, rate: f64, last_us: f64) -> Timely {
        {
            let mut it = Timely { last: Some(last_us * 1e6), ..Timely::new(keys, &FACTS) };
            it.rate.set(rate);
            it
        }
    }

    #[test]
    fn the_patched_form_stays_at_its_fixed_point() {
        // Two flows at 10 Gb/s: the queue is 62.5 kB (1 + 2 x 10 / (0.008 x 10,000)), so the round-trip time is 62.5
        // us.
        let keys = TimelyKeys { patched: true, ..TimelyKeys::default() };
        let mut it = at(&keys, 5e9, 62.5);
        it.sample(62.5e6);
        assert!((it.rate.now - 5e9).abs() < 1e-3);
    }

    #[test]
    fn the_original_has_its_ranges() {
        let keys = TimelyKeys::default();
        let after = |rate: f64, last: f64, sample: f64| {
            let mut it = at(&keys, rate, last);
            it.sample(sample * 1e6);
            it.rate.now
        };
        assert_eq!(after(1e9, 30.0, 40.0), 1.01e9);
        // 0.8 (1 - 500 / 1000) of it.
        assert!((after(1e9, 900.0, 1_000.0) - 0.6e9).abs() < 1.0);
        // The gradient is 0.875 x 4 / 20.
        assert!((after(1e9, 100.0, 104.0) - 1e9 * (1.0 - 0.8 * 0.175)).abs() < 1.0);
        assert_eq!(after(9.999e9, 30.0, 40.0), 10e9);
        let mut falling = at(&keys, 1e9, 200.0);
        for n in 1..=6 {
            falling.sample((200.0 - f64::from(n)) * 1e6);
        }
        assert!((falling.rate.now - 1e9 - (4.0 + 2.0 * 5.0) * 10e6).abs() < 1.0);
    }

    #[test]
    fn it_begins_at_the_rate_that_is_given_or_at_that_of_the_link() {
        let from = |initial_rate| {
            let keys = TimelyKeys { initial_rate, ..TimelyKeys::default() };
            Timely::new(&keys, &FACTS).rate.now
        };
        assert_eq!(from(Or::word()), 10e9);
        assert_eq!(from(Or::Value(BitRate::from_gbps(3))), 3e9);
        assert_eq!(from(Or::Value(BitRate::from_gbps(40))), 10e9);
    }

    #[test]
    fn any_split_persists_where_the_gradient_is_zero() {
        // Round-trip times stay at 100 us. The original adds the same to both rates, which never converge; the patched
        // version makes them converge.
        let step = |keys: &TimelyKeys| {
            let mut both = [at(keys, 9e9, 100.0), at(keys, 1e9, 100.0)];
            for _ in 0..2_000 {
                // The bytes that both send in excess of the link's rate lengthen the queue.
                both.iter_mut().for_each(|it| it.sample(100e6));
            }
            (both[0].rate.now - both[1].rate.now).abs()
        };
        let patched = TimelyKeys { patched: true, ..TimelyKeys::default() };
        assert!(step(&patched) < 8e9 * 0.01);
    }
}
