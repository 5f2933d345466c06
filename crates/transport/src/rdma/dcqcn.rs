//! DCQCN: data center quantized congestion notification, the congestion control of RoCEv2 NICs.
//!
//! A receiver answers marked packets with congestion notification packets (CNPs), at most one per `cnp_gap`. The
//! sender maintains the current rate Rc, the target rate Rt and alpha, an estimate of the congestion on the path. A
//! CNP sets Rt to Rc and reduces Rc by the fraction alpha / 2. Without CNPs alpha decays by the factor 1 - g every
//! `alpha_period`. A timer and a byte counter increase Rc in steps. In the first `threshold` steps Rc moves halfway to
//! Rt (fast recovery). Then each step also raises Rt by `ai_rate` (additive increase), or by `hai_rate` once both
//! counters are past `threshold` (hyper increase). A queue pair is not rate limited before its first CNP, nor from the
//! time when Rc reaches the line rate until the next CNP.
//!
//! In the version of the paper a CNP takes effect immediately. In the version of NICs (a `monitor_period` above 0) two
//! periodic tasks start with the first CNP. One updates alpha every `alpha_period`, according to whether a CNP has
//! arrived. The other cuts the rate at the beginning of the next `monitor_period` after a CNP, regardless of the
//! number of CNPs. A cut sets Rt to Rc only if configured (`clamp_target`, or `clamp_target_after_time` after an
//! increase by the timer).
//!
//! The implementation has no periodic events. It computes the updates of alpha, the cuts and the timer steps when
//! their results are needed, in the order in which they would have occurred.
//!
//! Source: Y. Zhu et al., "Congestion Control for Large-Scale RDMA Deployments", SIGCOMM 2015, section 3 (the
//! algorithm) and section 5 (parameters, of which 40 Mb/s, 55 us and 10 MB are repeated by later papers); NVIDIA DOCA,
//! "DCQCN CC Parameters" (parameters of NICs); Y. Li et al., "HPCC", SIGCOMM 2019, and its public simulator (the tasks
//! of a NIC, and the preset hpcc).
//!
//! Not modelled: the byte counter of NICs in the presets mlx and hpcc, whose unit is not published.

use super::control::{PathFacts, RdmaControl, gap};
use super::dcqcn_keys::DcqcnKeys;
use recurrence::Recurs;
use std::sync::Arc;
use units::{BitRate, Bytes, Time};

/// The state of DCQCN: the rate limiter of a queue pair.
#[derive(Clone, Debug, Recurs)]
pub struct Dcqcn {
    /// Keys, shared by all queue pairs with the same description.
    #[recurs(constant)]
    keys: Arc<DcqcnKeys>,
    state: State,
}

/// The state of a queue pair.
#[derive(Clone, Copy, Debug, Recurs)]
struct State {
    /// Rate of the link, Rc and Rt, in bits of frames per second.
    line: f64,
    current: f64,
    target: f64,
    alpha: f64,
    /// True if the rate is limited.
    limited: bool,
    /// `seen`: a CNP has arrived since alpha was updated. `pending`: a CNP has arrived since the last cut.
    seen: bool,
    pending: bool,
    /// Steps of the timer and of the byte counter since the last cut, and bytes counted towards the next step.
    time_steps: u32,
    byte_steps: u32,
    bytes: u64,
    /// Times of the next update of alpha, of the next possible cut, and of the next step of the timer.
    alpha_at: Time,
    cut_at: Time,
    step_at: Time,
}

impl DcqcnKeys {
    /// Returns the maximum rate on a link of this rate.
    fn line(&self, link: BitRate) -> f64 {
        self.max_rate.value().map_or(f64::INFINITY, |rate| rate.bps_f64()).min(link.bps_f64())
    }
    /// Returns an increase of the rate, for this maximum rate.
    fn by_line(&self, rate: BitRate, line: f64) -> f64 {
        if self.scale_rates { rate.bps_f64() * line / 25e9 } else { rate.bps_f64() }
    }
    /// Returns the bytes per step of the byte counter; 0 if there is no byte counter.
    fn bytes_a_step(&self) -> u64 {
        self.byte_reset.value().map_or(0, Bytes::get)
    }
    /// Returns true for the behaviour of a NIC: cuts wait for the beginning of the next monitor period.
    fn is_nic(&self) -> bool {
        self.monitor_period > Time::ZERO
    }
}

impl Dcqcn {
    /// Creates the control of a queue pair that has received no CNP.
    pub fn new(keys: &DcqcnKeys, facts: &PathFacts) -> Dcqcn {
        Dcqcn::sharing(&Arc::new(keys.clone()), facts)
    }

    /// Variant of [`Dcqcn::new`] that shares the keys with other queue pairs.
    pub fn sharing(keys: &Arc<DcqcnKeys>, facts: &PathFacts) -> Dcqcn {
        let line = keys.line(facts.rate);
        let state = State {
            line,
            current: line,
            target: line,
            alpha: keys.initial_alpha,
            limited: false,
            seen: false,
            pending: false,
            time_steps: 0,
            byte_steps: 0,
            bytes: 0,
            alpha_at: Time::NEVER,
            cut_at: Time::NEVER,
            step_at: Time::NEVER,
        };
        Dcqcn { keys: keys.clone(), state }
    }

    fn settled(&self, now: Time) -> State {
        let mut state = self.state;
        state.settle(&self.keys, now);
        state
    }
}

impl State {
    /// Returns the time of the next change of the rate without an event.
    fn changes_at(&self) -> Time {
        if self.pending { self.cut_at.min(self.step_at) } else { self.step_at }
    }

    /// Applies the time-driven changes up to `now`, in the order alpha, cuts, steps. For most packets there are none.
    #[inline]
    fn settle(&mut self, keys: &DcqcnKeys, now: Time) {
        if self.alpha_at.min(self.cut_at).min(self.step_at) <= now {
            self.settle_due(keys, now);
        }
    }

    #[inline(never)]
    fn settle_due(&mut self, keys: &DcqcnKeys, now: Time) {
        loop {
            let next = self.changes_at();
            if next > now {
                return self.settle_alpha(keys, now);
            }
            self.settle_alpha(keys, next);
            if self.pending && self.cut_at == next {
                self.reduce(keys, next);
            } else {
                self.time_steps += 1;
                self.step_at = next.saturating_add(keys.time_reset);
                self.increase(keys);
            }
        }
    }

    /// Updates alpha up to `now` with one multiplication per period, exactly as a timer would.
    fn settle_alpha(&mut self, keys: &DcqcnKeys, now: Time) {
        while self.alpha_at <= now {
            let before = self.alpha;
            self.alpha = (1.0 - keys.g) * self.alpha + if self.seen { keys.g } else { 0.0 };
            let same = self.alpha == before && !self.seen;
            self.seen = false;
            self.alpha_at = self.alpha_at.saturating_add(keys.alpha_period);
            if same && self.alpha_at <= now {
                // Alpha cannot become any smaller.
                let periods = (now - self.alpha_at).ps() / keys.alpha_period.ps() + 1;
                self.alpha_at = self.alpha_at.saturating_add(Time::from_ps(periods * keys.alpha_period.ps()));
            }
        }
        // Skips cut times at which no cut is pending.
        if !self.pending && self.cut_at <= now {
            let periods = (now - self.cut_at).ps() / keys.monitor_period.ps() + 1;
            self.cut_at = self.cut_at.saturating_add(Time::from_ps(periods * keys.monitor_period.ps()));
        }
    }

    /// Cuts the rate and begins to recover.
    fn reduce(&mut self, keys: &DcqcnKeys, now: Time) {
        if keys.clamp_target || keys.clamp_target_after_time && self.time_steps > 0 {
            self.target = self.current;
        }
        let cut = 1024.0 / (1u64 << keys.gd.min(40)) as f64;
        let factor = (1.0 - self.alpha * cut).max(keys.min_factor);
        self.current = (self.current * factor).max(keys.min_rate.bps_f64().min(self.line));
        (self.time_steps, self.byte_steps, self.bytes, self.pending) = (0, 0, 0, false);
        self.step_at = now.saturating_add(keys.time_reset);
        if keys.is_nic() {
            self.cut_at = self.cut_at.saturating_add(keys.monitor_period);
        }
    }

    /// Performs a step of the timer or of the byte counter.
    fn increase(&mut self, keys: &DcqcnKeys) {
        // A NIC counts the steps before this one; the paper includes this one.
        let own = u32::from(keys.is_nic());
        // A NIC without a byte counter uses only its timer.
        let byte = if keys.bytes_a_step() == 0 && keys.is_nic() { self.time_steps } else { self.byte_steps };
        let [most, least] =
            [self.time_steps.max(byte), self.time_steps.min(byte)].map(|steps| steps.saturating_sub(own));
        let threshold = keys.threshold as u32;
        if most >= threshold {
            self.target +=
                keys.by_line(if least > threshold { keys.hai_rate } else { keys.ai_rate }, self.line);
            self.target = self.target.min(self.line);
        }
        self.current = ((self.current + self.target) / 2.0).min(self.line);
        // The remaining distance to the maximum is less than a bit per second.
        if self.current > self.line - 1.0 && !self.pending {
            self.release(keys);
        }
    }

    /// Releases the limiter until the next CNP.
    fn release(&mut self, keys: &DcqcnKeys) {
        (self.current, self.target, self.limited, self.pending) = (self.line, self.line, false, false);
        self.step_at = Time::NEVER;
        if keys.is_nic() {
            (self.alpha_at, self.cut_at) = (Time::NEVER, Time::NEVER);
        }
    }
}

impl RdmaControl for Dcqcn {
    fn on_send(&mut self, now: Time, bytes: u32) {
        let Dcqcn { keys, state } = self;
        state.settle(keys, now);
        let step = keys.bytes_a_step();
        if !state.limited || step == 0 {
            return;
        }
        state.bytes += u64::from(bytes);
        while state.limited && state.bytes >= step {
            state.bytes -= step;
            state.byte_steps += 1;
            state.increase(keys);
        }
    }

    fn on_cnp(&mut self, now: Time) {
        let Dcqcn { keys, state } = self;
        state.settle(keys, now);
        let first = !state.limited;
        state.limited = true;
        if keys.is_nic() {
            if first {
                state.alpha = keys.initial_alpha;
                state.current *= keys.first_factor;
                (state.target, state.time_steps, state.byte_steps, state.bytes) = (state.current, 0, 0, 0);
                state.alpha_at = now.saturating_add(keys.alpha_period);
                // The task that cuts the rate runs after the one that updates alpha.
                state.cut_at = now.saturating_add(keys.monitor_period).saturating_add(Time::from_ns(1));
                // The rate is not increased before the first cut.
                state.step_at = Time::NEVER;
            }
            (state.seen, state.pending) = (true, true);
            return;
        }
        state.reduce(keys, now);
        state.alpha = (1.0 - keys.g) * state.alpha + keys.g;
        state.alpha_at = now.saturating_add(keys.alpha_period);
    }

    fn on_link_rate(&mut self, now: Time, fresh: &Dcqcn) {
        let Dcqcn { keys, state } = self;
        state.settle(keys, now);
        state.line = fresh.state.line;
        if state.limited {
            (state.current, state.target) = (state.current.min(state.line), state.target.min(state.line));
        } else {
            (state.current, state.target) = (state.line, state.line);
        }
    }

    fn due(&self, since: Time, bytes: u32) -> Time {
        if !self.state.limited {
            return since;
        }
        let due = since.saturating_add(gap(bytes, self.state.current));
        if due <= self.state.changes_at() {
            return due;
        }
        let mut it = self.state;
        let mut at = since;
        while it.limited {
            let due = since.saturating_add(gap(bytes, it.current)).max(at);
            let change = it.changes_at();
            if due <= change {
                return due;
            }
            at = change;
            it.settle(&self.keys, change);
        }
        at.max(since)
    }

    fn rate(&self, now: Time) -> f64 {
        let it = self.settled(now);
        if it.limited { it.current } else { f64::INFINITY }
    }
    fn alpha(&self, now: Time) -> Option<f64> {
        Some(self.settled(now).alpha)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::rdma::DcqcnPreset;
    use proptest::prelude::*;
    use units::{BitRate, Or};

    const FACTS: PathFacts = PathFacts::new(BitRate::from_gbps(40), Time::from_us(4), 1_090, 1);

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
        assert_eq!((gbps(&it, us(0)), it.alpha(us(0)).unwrap(), it.state.target), (20.0, 1.0, 40e9));
        it.on_cnp(us(0));
        assert_eq!((gbps(&it, us(0)), it.state.target), (10.0, 20e9));
        for (step, rate) in (1..).zip([15.0, 17.5, 18.75, 19.375, 19.6875]) {
            assert_eq!(
                gbps(&it, us(55 * step - 1)),
                if step == 1 { 10.0 } else { 20.0 - 10.0 / f64::powi(2.0, step as i32 - 1) }
            );
            assert_eq!(gbps(&it, us(55 * step)), rate);
        }
        // From here on, the target grows by 40 Mb/s per step.
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
        // A CNP adds its gain to the decayed alpha.
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
        // The first step already exceeds the threshold: the target is at the rate of the link.
        it.on_send(us(2), 1);
        assert_eq!(gbps(&it, us(2)), 30.0);
        it.on_cnp(us(3));
        let (current, target) = (it.state.current, it.state.target);
        it.on_send(us(4), 20_000);
        assert_eq!(it.state.target, target + 2.0 * 40e6);
        assert!(it.state.current > current);
        it.state.settle(&it.keys, us(3 + 55));
        assert_eq!(it.state.target, target + 3.0 * 40e6);
        it.state.settle(&it.keys, us(3 + 110));
        // Timer and counter have both stepped twice, which exceeds the threshold.
        assert_eq!(it.state.target, target + 3.0 * 40e6 + 200e6);
    }

    #[test]
    fn a_limiter_that_is_back_at_the_link_is_released() {
        let mut it = Dcqcn::new(&paper(), &FACTS);
        it.on_cnp(us(0));
        let at = Time::from_ms(100);
        assert_eq!(it.rate(at), f64::INFINITY);
        assert_eq!(it.due(at, 1_000), at);
        it.state.settle(&it.keys, at);
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
        // Alpha started at 1, and a CNP arrived in every microsecond.
        assert_eq!(gbps(&it, Time::from_ns(4_001)), 20.0);
        assert_eq!(gbps(&it, us(200)), 20.0);
        // The target is unchanged: after 300 us the rate has recovered half of the distance.
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

    /// A model of DCQCN with one event for each period of each task.
    struct StepByStep {
        it: Dcqcn,
        now: Time,
    }

    impl StepByStep {
        fn run(&mut self, until: Time) {
            let Dcqcn { keys, state: it } = &mut self.it;
            loop {
                let next = it.alpha_at.min(it.cut_at).min(it.step_at);
                if next > until {
                    self.now = until;
                    return;
                }
                if it.alpha_at == next {
                    it.alpha = (1.0 - keys.g) * it.alpha + if it.seen { keys.g } else { 0.0 };
                    it.seen = false;
                    it.alpha_at += keys.alpha_period;
                } else if it.cut_at == next {
                    if it.pending {
                        it.reduce(keys, next);
                    } else {
                        it.cut_at += keys.monitor_period;
                    }
                } else {
                    it.time_steps += 1;
                    it.step_at += keys.time_reset;
                    it.increase(keys);
                }
            }
        }
    }

    proptest! {
        /// Tests that the state computed on reading is identical, bit for bit, to the state computed by events.
        #[test]
        fn what_is_computed_late_is_what_events_would_have_done(
            preset in prop::sample::select(DcqcnPreset::ALL),
            steps in prop::collection::vec((0u64..200_000, 0u32..6, 0u32..20_000), 1..80),
        ) {
            let mut late = Dcqcn::new(&preset.keys(), &FACTS);
            let mut early = StepByStep { it: late.clone(), now: Time::ZERO };
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
                prop_assert_eq!(late.alpha(now).unwrap().to_bits(), early.it.state.alpha.to_bits());
                prop_assert!(late.rate(now) >= late.keys.min_rate.bps_f64() && late.state.current <= late.state.line);
            }
        }

        /// Tests that a packet is sent when the rate has provided its bits, however the rate changes meanwhile.
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
