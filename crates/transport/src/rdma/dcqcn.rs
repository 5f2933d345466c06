//! DCQCN: data center quantized congestion notification, the control of RoCEv2 in NICs.
//!
//! A receiver answers marked packets with congestion notification packets (CNP), no more than one in `cnp_gap`. The sender
//! keeps the current rate Rc, the target rate Rt and alpha, an estimate of how congested the path is. A CNP sets Rt to Rc
//! and cuts Rc by the share alpha / 2; without CNPs alpha decays by the factor 1 - g each `alpha_period`. A timer and a
//! counter of bytes bring Rc back: for the first `threshold` steps half of the way to Rt (fast recovery), then Rt grows by
//! `ai_rate` a step (additive increase), and by `hai_rate` once both are past it (hyper increase). A queue pair whose rate
//! is back at that of its link has no limit until the next CNP, and one that never had a CNP sends at the rate of its link.
//!
//! In the form of the paper a CNP acts at once. In that of NICs (a `monitor_period` above 0) two tasks run from the first
//! CNP on: one updates alpha each `alpha_period` by whether a CNP has come, one cuts at the beginning of the next
//! `monitor_period` after a CNP, whatever their number; and Rt becomes Rc only if it is told to (`clamp_target`, or
//! `clamp_target_after_time` after an increase by the timer).
//!
//! Nothing is scheduled: alpha, cuts and steps of the timer are computed when somebody looks, in the order in which
//! they would have happened.
//!
//! Source: Y. Zhu et al., "Congestion Control for Large-Scale RDMA Deployments", SIGCOMM 2015, section 3 (the algorithm) and
//! section 5 (parameters, of which 40 Mb/s, 55 us and 10 MB are told by later papers as well); NVIDIA DOCA, "DCQCN CC
//! Parameters" (those of NICs); Y. Li et al., "HPCC", SIGCOMM 2019, and its public simulator (the tasks of a NIC, and the
//! preset hpcc).
//!
//! Not modelled: the byte counter of NICs in the presets mlx and hpcc, whose unit is not published.

use super::control::{PathFacts, RdmaControl, gap};
use super::dcqcn_keys::DcqcnKeys;
use units::{Bytes, Time};

/// The rate limiter of a queue pair.
#[derive(Clone, Copy, Debug)]
pub struct Dcqcn {
    /// Rates in bits of frames a second.
    line: f64,
    min: f64,
    ai: f64,
    hai: f64,
    current: f64,
    target: f64,
    alpha: f64,
    keep: f64,
    gain: f64,
    initial_alpha: f64,
    /// What a cut takes: alpha times this, but no less than `least` stays.
    cut: f64,
    least: f64,
    on_first: f64,
    /// Spans; no monitor period: cuts come at once.
    alpha_period: Time,
    monitor_period: Time,
    time_reset: Time,
    /// Bytes a step; 0: there is no counter.
    byte_reset: u64,
    threshold: u32,
    clamp: bool,
    clamp_after_time: bool,
    /// Whether the rate is limited.
    limited: bool,
    /// A CNP has come since alpha was updated, and since the last cut.
    seen: bool,
    pending: bool,
    /// Steps of timer and counter since the last cut, and bytes towards the next one.
    time_steps: u32,
    byte_steps: u32,
    bytes: u64,
    /// When alpha changes next, when a cut may come next, when the timer steps next.
    alpha_at: Time,
    cut_at: Time,
    step_at: Time,
}

impl Dcqcn {
    /// A queue pair that has had no CNP.
    pub fn new(keys: &DcqcnKeys, facts: &PathFacts) -> Dcqcn {
        let line = keys.max_rate.value().map_or(f64::INFINITY, |rate| rate.bps_f64());
        let line = line.min(facts.rate.bps_f64());
        let by_rate = |rate: f64| if keys.scale_rates { rate * line / 25e9 } else { rate };
        Dcqcn {
            line,
            min: keys.min_rate.bps_f64().min(line),
            ai: by_rate(keys.ai_rate.bps_f64()),
            hai: by_rate(keys.hai_rate.bps_f64()),
            current: line,
            target: line,
            alpha: keys.initial_alpha,
            keep: 1.0 - keys.g,
            gain: keys.g,
            initial_alpha: keys.initial_alpha,
            cut: 1024.0 / (1u64 << keys.gd.min(40)) as f64,
            least: keys.min_factor,
            on_first: keys.first_factor,
            alpha_period: keys.alpha_period,
            monitor_period: keys.monitor_period,
            time_reset: keys.time_reset,
            byte_reset: keys.byte_reset.value().map_or(0, Bytes::get),
            threshold: keys.threshold as u32,
            clamp: keys.clamp_target,
            clamp_after_time: keys.clamp_target_after_time,
            limited: false,
            seen: false,
            pending: false,
            time_steps: 0,
            byte_steps: 0,
            bytes: 0,
            alpha_at: Time::NEVER,
            cut_at: Time::NEVER,
            step_at: Time::NEVER,
        }
    }

    fn is_nic(&self) -> bool {
        self.monitor_period > Time::ZERO
    }

    /// When the rate changes next by itself.
    fn changes_at(&self) -> Time {
        if self.pending { self.cut_at.min(self.step_at) } else { self.step_at }
    }

    /// What time has brought until now, in its order: alpha, cuts, steps.
    fn settle(&mut self, now: Time) {
        loop {
            let next = self.changes_at();
            if next > now {
                return self.settle_alpha(now);
            }
            self.settle_alpha(next);
            if self.pending && self.cut_at == next {
                self.reduce(next);
            } else {
                self.time_steps += 1;
                self.step_at = next.saturating_add(self.time_reset);
                self.increase();
            }
        }
    }

    /// Updates alpha until now, one multiplication a period: exactly what a timer would do.
    fn settle_alpha(&mut self, now: Time) {
        while self.alpha_at <= now {
            let before = self.alpha;
            self.alpha = self.keep * self.alpha + if self.seen { self.gain } else { 0.0 };
            let same = self.alpha == before && !self.seen;
            self.seen = false;
            self.alpha_at = self.alpha_at.saturating_add(self.alpha_period);
            if same && self.alpha_at <= now {
                // It cannot become smaller.
                let periods = (now - self.alpha_at).ps() / self.alpha_period.ps() + 1;
                self.alpha_at = self.alpha_at.saturating_add(Time::from_ps(periods * self.alpha_period.ps()));
            }
        }
        // Cuts that find nothing to do come and go.
        if !self.pending && self.cut_at <= now {
            let periods = (now - self.cut_at).ps() / self.monitor_period.ps() + 1;
            self.cut_at = self.cut_at.saturating_add(Time::from_ps(periods * self.monitor_period.ps()));
        }
    }

    /// Cuts the rate, and begins to recover.
    fn reduce(&mut self, now: Time) {
        if self.clamp || self.clamp_after_time && self.time_steps > 0 {
            self.target = self.current;
        }
        let factor = (1.0 - self.alpha * self.cut).max(self.least);
        self.current = (self.current * factor).max(self.min);
        (self.time_steps, self.byte_steps, self.bytes, self.pending) = (0, 0, 0, false);
        self.step_at = now.saturating_add(self.time_reset);
        if self.is_nic() {
            self.cut_at = self.cut_at.saturating_add(self.monitor_period);
        }
    }

    /// A step of the timer or the counter of bytes.
    fn increase(&mut self) {
        // A NIC looks at the steps before this one, the paper at those with it.
        let own = u32::from(self.is_nic());
        // A NIC without a counter goes by its timer alone.
        let byte = if self.byte_reset == 0 && self.is_nic() { self.time_steps } else { self.byte_steps };
        let [most, least] =
            [self.time_steps.max(byte), self.time_steps.min(byte)].map(|steps| steps.saturating_sub(own));
        if most >= self.threshold {
            self.target += if least > self.threshold { self.hai } else { self.ai };
            self.target = self.target.min(self.line);
        }
        self.current = ((self.current + self.target) / 2.0).min(self.line);
        // What is left is less than a bit a second.
        if self.current > self.line - 1.0 && !self.pending {
            self.release();
        }
    }

    /// The limiter is not needed until the next CNP.
    fn release(&mut self) {
        (self.current, self.target, self.limited, self.pending) = (self.line, self.line, false, false);
        self.step_at = Time::NEVER;
        if self.is_nic() {
            (self.alpha_at, self.cut_at) = (Time::NEVER, Time::NEVER);
        }
    }
}

impl RdmaControl for Dcqcn {
    fn on_send(&mut self, now: Time, bytes: u32) {
        self.settle(now);
        if !self.limited || self.byte_reset == 0 {
            return;
        }
        self.bytes += u64::from(bytes);
        while self.limited && self.bytes >= self.byte_reset {
            self.bytes -= self.byte_reset;
            self.byte_steps += 1;
            self.increase();
        }
    }

    fn on_cnp(&mut self, now: Time) {
        self.settle(now);
        let first = !self.limited;
        self.limited = true;
        if self.is_nic() {
            if first {
                self.alpha = self.initial_alpha;
                self.current *= self.on_first;
                (self.target, self.time_steps, self.byte_steps, self.bytes) = (self.current, 0, 0, 0);
                self.alpha_at = now.saturating_add(self.alpha_period);
                // The task that cuts runs after the one that updates alpha.
                self.cut_at = now.saturating_add(self.monitor_period).saturating_add(Time::from_ns(1));
                // Nothing is to be increased before the first cut.
                self.step_at = Time::NEVER;
            }
            (self.seen, self.pending) = (true, true);
            return;
        }
        self.reduce(now);
        self.alpha = self.keep * self.alpha + self.gain;
        self.alpha_at = now.saturating_add(self.alpha_period);
    }

    fn on_link_rate(&mut self, now: Time, fresh: &Dcqcn) {
        self.settle(now);
        (self.line, self.min, self.ai, self.hai) = (fresh.line, fresh.min, fresh.ai, fresh.hai);
        if self.limited {
            (self.current, self.target) = (self.current.min(self.line), self.target.min(self.line));
        } else {
            (self.current, self.target) = (self.line, self.line);
        }
    }

    fn due(&self, since: Time, bytes: u32) -> Time {
        let mut it = *self;
        let mut at = since;
        while it.limited {
            let due = since.saturating_add(gap(bytes, it.current)).max(at);
            let change = it.changes_at();
            if due <= change {
                return due;
            }
            at = change;
            it.settle(change);
        }
        at.max(since)
    }

    fn rate(&self, now: Time) -> f64 {
        let mut it = *self;
        it.settle(now);
        if it.limited { it.current } else { f64::INFINITY }
    }
    fn alpha(&self, now: Time) -> Option<f64> {
        let mut it = *self;
        it.settle(now);
        Some(it.alpha)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::rdma::DcqcnPreset;
    use proptest::prelude::*;
    use units::{BitRate, Or};

    const FACTS: PathFacts =
        PathFacts { rate: BitRate::from_gbps(40), base_rtt: Time::from_us(4), packet: 1_090, hops: 1 };

    fn us(us: u64) -> Time {
        Time::from_us(us)
    }
    fn paper() -> DcqcnKeys {
        DcqcnPreset::Paper.keys()
    }
    fn gbps(it: &Dcqcn, now: Time) -> f64 {
        it.rate(now) / 1e9
    }

    #[test]
    fn cnps_halve_and_fast_recovery_halves_the_distance() {
        let mut it = Dcqcn::new(&DcqcnKeys { threshold: 6, byte_reset: Or::word(), ..paper() }, &FACTS);
        assert_eq!(it.rate(us(0)), f64::INFINITY);
        it.on_cnp(us(0));
        assert_eq!((gbps(&it, us(0)), it.alpha(us(0)).unwrap(), it.target), (20.0, 1.0, 40e9));
        it.on_cnp(us(0));
        assert_eq!((gbps(&it, us(0)), it.target), (10.0, 20e9));
        for (step, rate) in (1..).zip([15.0, 17.5, 18.75, 19.375, 19.6875]) {
            assert_eq!(
                gbps(&it, us(55 * step - 1)),
                if step == 1 { 10.0 } else { 20.0 - 10.0 / f64::powi(2.0, step as i32 - 1) }
            );
            assert_eq!(gbps(&it, us(55 * step)), rate);
        }
        // Then the target grows by 40 Mb/s.
        assert!((gbps(&it, us(330)) - (19.6875 + 20.04) / 2.0).abs() < 1e-9);
    }

    #[test]
    fn alpha_decays_by_its_factor_a_period() {
        let mut it = Dcqcn::new(&paper(), &FACTS);
        it.on_cnp(us(0));
        for periods in [1, 2, 178, 590] {
            let exact = (255.0f64 / 256.0).powi(periods);
            assert!((it.alpha(us(55 * periods as u64)).unwrap() / exact - 1.0).abs() < 1e-12);
        }
        assert!((it.alpha(us(55 * 178)).unwrap() - 0.498).abs() < 1e-3);
        // A CNP adds its gain to what is left.
        let before = it.alpha(us(5_500)).unwrap();
        it.on_cnp(us(5_500));
        assert_eq!(it.alpha(us(5_500)).unwrap(), before * (1.0 - 1.0 / 256.0) + 1.0 / 256.0);
    }

    #[test]
    fn bytes_step_as_time_does_and_both_together_in_large_steps() {
        let keys = DcqcnKeys { byte_reset: Or::Value(Bytes::new(10_000)), threshold: 1, ..paper() };
        let mut it = Dcqcn::new(&keys, &FACTS);
        it.on_cnp(us(0));
        it.on_send(us(1), 9_999);
        assert_eq!(gbps(&it, us(1)), 20.0);
        // The first step is past the threshold already: the target is at the rate of the link.
        it.on_send(us(2), 1);
        assert_eq!(gbps(&it, us(2)), 30.0);
        it.on_cnp(us(3));
        let (current, target) = (it.current, it.target);
        it.on_send(us(4), 20_000);
        assert_eq!(it.target, target + 2.0 * 40e6);
        assert!(it.current > current);
        it.settle(us(3 + 55));
        assert_eq!(it.target, target + 3.0 * 40e6);
        it.settle(us(3 + 110));
        // Both have stepped twice: more than the threshold.
        assert_eq!(it.target, target + 3.0 * 40e6 + 200e6);
    }

    #[test]
    fn a_limiter_that_is_back_at_the_link_is_released() {
        let mut it = Dcqcn::new(&paper(), &FACTS);
        it.on_cnp(us(0));
        let at = Time::from_ms(100);
        assert_eq!(it.rate(at), f64::INFINITY);
        assert_eq!(it.due(at, 1_000), at);
        it.settle(at);
        it.on_cnp(at);
        assert!(it.rate(at) > 30e9, "alpha has decayed meanwhile");
    }

    #[test]
    fn a_nic_cuts_once_a_period_whatever_comes() {
        let keys = DcqcnPreset::Hpcc.keys();
        let mut it = Dcqcn::new(&keys, &FACTS);
        for at in [0, 1, 2, 3] {
            it.on_cnp(us(at));
        }
        assert_eq!(gbps(&it, us(4)), 40.0);
        // Alpha has begun at 1, and every microsecond has seen a CNP.
        assert_eq!(gbps(&it, Time::from_ns(4_001)), 20.0);
        assert_eq!(gbps(&it, us(200)), 20.0);
        // The target has stayed: half of the way back after 300 us.
        assert_eq!(gbps(&it, Time::from_ns(304_001)), 30.0);
    }

    #[test]
    fn a_timer_as_short_as_the_period_of_cuts_releases_nothing_before_the_first() {
        let mut it = Dcqcn::new(&DcqcnPreset::Mlx2016.keys(), &FACTS);
        (0..200).for_each(|at| it.on_cnp(us(at)));
        assert!(gbps(&it, us(200)) < 3.0, "{}", gbps(&it, us(200)));
    }

    #[test]
    fn the_least_factor_bounds_a_cut() {
        let keys = DcqcnKeys { min_factor: 0.8, ..paper() };
        let mut it = Dcqcn::new(&keys, &FACTS);
        it.on_cnp(us(0));
        assert_eq!(gbps(&it, us(0)), 32.0);
        let mut low = Dcqcn::new(&DcqcnKeys { min_rate: BitRate::from_gbps(15), ..paper() }, &FACTS);
        (0..9).for_each(|_| low.on_cnp(us(0)));
        assert_eq!(gbps(&low, us(0)), 15.0);
    }

    /// DCQCN with one event for each period of each of its tasks.
    struct StepByStep {
        it: Dcqcn,
        now: Time,
    }

    impl StepByStep {
        fn run(&mut self, until: Time) {
            let it = &mut self.it;
            loop {
                let next = it.alpha_at.min(it.cut_at).min(it.step_at);
                if next > until {
                    self.now = until;
                    return;
                }
                if it.alpha_at == next {
                    it.alpha = it.keep * it.alpha + if it.seen { it.gain } else { 0.0 };
                    it.seen = false;
                    it.alpha_at += it.alpha_period;
                } else if it.cut_at == next {
                    if it.pending {
                        it.reduce(next);
                    } else {
                        it.cut_at += it.monitor_period;
                    }
                } else {
                    it.time_steps += 1;
                    it.step_at += it.time_reset;
                    it.increase();
                }
            }
        }
    }

    proptest! {
        /// Computed when somebody looks, it is the same to the bit.
        #[test]
        fn what_is_computed_late_is_what_events_would_have_done(
            preset in prop::sample::select(DcqcnPreset::ALL),
            steps in prop::collection::vec((0u64..200_000, 0u32..6, 0u32..20_000), 1..80),
        ) {
            let mut late = Dcqcn::new(&preset.keys(), &FACTS);
            let mut early = StepByStep { it: late, now: Time::ZERO };
            let mut now = Time::ZERO;
            for (ns, what, bytes) in steps {
                now += Time::from_ns(ns);
                early.run(now);
                match what {
                    0 | 1 => {
                        late.on_cnp(now);
                        early.it.on_cnp(now);
                    }
                    2 | 3 => {
                        late.on_send(now, bytes);
                        early.it.on_send(now, bytes);
                    }
                    _ => {}
                }
                let both = [late.rate(now), early.it.rate(now)].map(f64::to_bits);
                prop_assert_eq!(both[0], both[1]);
                prop_assert_eq!(late.alpha(now).unwrap().to_bits(), early.it.alpha.to_bits());
                prop_assert!(late.rate(now) >= late.min && late.current <= late.line);
            }
        }

        /// A packet leaves when the bits that the rate has given are its own, whatever the rate does meanwhile.
        #[test]
        fn a_departure_is_that_of_the_rate_when_it_leaves(bytes in 64u32..9_000, cnps in 1usize..12) {
            let mut it = Dcqcn::new(&DcqcnPreset::Paper.keys(), &FACTS);
            (0..cnps).for_each(|_| it.on_cnp(Time::ZERO));
            let due = it.due(Time::ZERO, bytes);
            let before = Time::from_ps(due.ps().saturating_sub(1));
            prop_assert!(gap(bytes, it.rate(due)) <= due);
            prop_assert!(gap(bytes, it.rate(before)) >= before);
        }
    }
}
