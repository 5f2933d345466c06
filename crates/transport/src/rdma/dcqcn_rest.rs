//! Equilibrium of queue pairs of DCQCN: the share of marked packets, and the longest loop delay at which the equilibrium is stable.
//!
//! The fluid model of DCQCN has one fixed point, at which all queue pairs have the same rate. Per unit of time, the rate removed by marks
//! equals the rate restored by timer and byte counter. A queue whose maximum marking share is below that of the fixed point cannot settle
//! on the slope of its marking curve: it settles where each packet is marked.
//!
//! Around the fixed point a change of the share propagates through alpha, target and rate into the queue, and by the slope of the marking
//! curve back into the share, after the delay of the loop. At the frequency at which the loop gain is 1, the phase that remains to half a
//! turn is the phase margin. If the delay consumes it all, queue and rates oscillate. A steeper slope lowers both the queue and the
//! permitted delay, which is not monotonic in the number of queue pairs.
//!
//! Source: Y. Zhu et al., "ECN or Delay: Lessons Learnt from Analysis of DCQCN and TIMELY", CoNEXT 2016, section 3 (the fluid model; its fixed
//! point and phase margin).

use super::DcqcnKeys;
use units::Time;

/// The parameters of the equilibrium other than the keys of DCQCN.
#[derive(Clone, Copy, Debug)]
pub struct Crowd {
    /// Number of queue pairs that share a link.
    pub many: u64,
    /// Combined rate of the queue pairs on that link, in bits per second.
    pub bps: f64,
    /// Rate of the link into which each queue pair sends, in bits per second. It may scale the rate steps.
    pub nic_bps: f64,
    /// Length of a full packet in bytes, DA to FCS.
    pub packet: u16,
    /// Minimum time between two CNPs for a queue pair.
    pub cnp_gap: Time,
}

/// The equilibrium of identical queue pairs.
#[derive(Clone, Copy, Debug)]
pub struct Rest {
    /// Share of marked packets.
    pub marked: f64,
    fluid: Fluid,
}

/// The fluid model of identical queue pairs, in packets and packets per second.
#[derive(Clone, Copy, Debug)]
struct Fluid {
    many: f64,
    /// Rate of each queue pair in equilibrium.
    rate: f64,
    bytes: f64,
    add: f64,
    g: f64,
    gap: f64,
    period: f64,
    timer: f64,
    counter: f64,
    stages: f64,
}

/// Alpha, target rate and current rate of each queue pair.
type State = [f64; 3];

impl DcqcnKeys {
    /// Returns the equilibrium of these queue pairs; `None` if they do not fit the model, in which each CNP causes a
    /// cut.
    pub fn rest(&self, crowd: &Crowd) -> Option<Rest> {
        let fluid = self.fluid(crowd)?;
        let (mut low, mut high) = (1e-9, 0.999);
        for _ in 0..100 {
            let middle = (low + high) / 2.0;
            let [.., gain] = fluid.change(fluid.settled(middle), middle);
            (low, high) = if gain > 0.0 { (middle, high) } else { (low, middle) };
        }
        Some(Rest { marked: low, fluid })
    }

    fn fluid(&self, crowd: &Crowd) -> Option<Fluid> {
        if self.monitor_period > Time::ZERO || crowd.many < 2 || crowd.cnp_gap == Time::ZERO || self.gd != 11
        {
            return None;
        }
        let bytes = f64::from(crowd.packet);
        let many = crowd.many as f64;
        let scale = if self.scale_rates { crowd.nic_bps / 25e9 } else { 1.0 };
        Some(Fluid {
            many,
            rate: crowd.bps / (8.0 * bytes) / many,
            bytes,
            add: self.ai_rate.bps_f64() * scale / (8.0 * bytes),
            g: self.g,
            gap: crowd.cnp_gap.as_secs_f64(),
            period: self.alpha_period.as_secs_f64(),
            timer: self.time_reset.as_secs_f64(),
            counter: self.byte_reset.value().map_or(f64::INFINITY, |counted| counted.get() as f64 / bytes),
            stages: self.threshold as f64,
        })
    }
}

impl Rest {
    /// Returns the longest loop delay in seconds at which the equilibrium is stable, if each additional byte in the
    /// queue raises the share of marked packets by `slope`; `None` if it is stable at any delay.
    pub fn longest_loop(&self, slope: f64) -> Option<f64> {
        let fluid = &self.fluid;
        let rest = fluid.settled(self.marked);
        let step = 1e-5;
        let by = |at: f64, of: &dyn Fn(f64) -> State| {
            let (up, down) = (of(at * (1.0 + step)), of(at * (1.0 - step)));
            [0, 1, 2].map(|row| (up[row] - down[row]) / (2.0 * step * at))
        };
        let columns = [0, 1, 2].map(|nth| {
            by(rest[nth], &|value| {
                let mut state = rest;
                state[nth] = value;
                fluid.change(state, self.marked)
            })
        });
        let marks = by(self.marked, &|share| fluid.change(rest, share));
        Loop::new(&columns, &marks, slope * fluid.bytes * fluid.many).delay_margin()
    }
}

impl Fluid {
    /// Returns the state in which this share of packets is marked and the rate is constant.
    fn settled(&self, share: f64) -> State {
        let unmarked = |packets: f64| libm::pow(1.0 - share, packets);
        let cut = 1.0 - unmarked(self.gap * self.rate);
        let alpha = 1.0 - unmarked(self.period * self.rate);
        // The target exceeds the rate by the balance of its additions and its resets.
        [alpha, self.rate + self.adds(self.rate, share) * self.gap / cut, self.rate]
    }

    /// Returns how often, per packet, a count of this many packets completes without a mark.
    fn often(share: f64, packets: f64) -> f64 {
        share / libm::expm1((-packets * libm::log1p(-share)).min(700.0))
    }

    /// Returns the amount added to the target per second.
    fn adds(&self, rate: f64, share: f64) -> f64 {
        let unmarked = |packets: f64| libm::pow(1.0 - share, packets);
        let timer = self.timer * rate;
        let by_bytes = unmarked(self.stages * self.counter) * Fluid::often(share, self.counter);
        self.add * rate * (by_bytes + unmarked(self.stages * timer) * Fluid::often(share, timer))
    }

    /// Returns the change of the state per second.
    fn change(&self, [alpha, target, rate]: State, share: f64) -> State {
        let unmarked = |packets: f64| libm::pow(1.0 - share, packets);
        let cut = 1.0 - unmarked(self.gap * rate);
        let raises = Fluid::often(share, self.counter) + Fluid::often(share, self.timer * rate);
        [
            self.g / self.period * (1.0 - unmarked(self.period * rate) - alpha),
            self.adds(rate, share) - (target - rate) / self.gap * cut,
            (target - rate) / 2.0 * rate * raises - rate * alpha / (2.0 * self.gap) * cut,
        ]
    }
}

/// The transfer function of the loop for a change of the marked share, without delay: -(n2 s^2 + n1 s + n0) / (s (s^3 +
/// d2 s^2 + d1 s + d0)).
struct Loop {
    numerator: [f64; 3],
    denominator: [f64; 3],
}

impl Loop {
    /// Computes the transfer function from the Jacobian of the state, given by columns, and the derivative of the state
    /// by the marked share; `gain` converts rates to shares per second. Uses the algorithm of Faddeev and LeVerrier.
    fn new(columns: &[State; 3], marks: &State, gain: f64) -> Loop {
        let times = |other: &[State; 3]| {
            other.map(|column| [0, 1, 2].map(|row| (0..3).map(|k| columns[k][row] * column[k]).sum::<f64>()))
        };
        let trace = |of: &[State; 3]| of[0][0] + of[1][1] + of[2][2];
        let plus = |mut of: [State; 3], number: f64| {
            (0..3).for_each(|k| of[k][k] += number);
            of
        };
        let to_rate = |of: &[State; 3]| gain * (0..3).map(|k| of[k][2] * marks[k]).sum::<f64>();
        let d2 = -trace(columns);
        let first = plus(*columns, d2);
        let product = times(&first);
        let d1 = -trace(&product) / 2.0;
        let second = plus(product, d1);
        let d0 = -trace(&times(&second)) / 3.0;
        Loop { numerator: [to_rate(&second), to_rate(&first), gain * marks[2]], denominator: [d0, d1, d2] }
    }

    /// Returns magnitude and phase at a frequency.
    fn at(&self, w: f64) -> (f64, f64) {
        let ([n0, n1, n2], [d0, d1, d2]) = (self.numerator, self.denominator);
        let above = (n0 - n2 * w * w, n1 * w);
        // Denominator, including the leading factor s.
        let below = (-w * (d1 * w - w * w * w), w * (d0 - d2 * w * w));
        let angle = |(real, imaginary): (f64, f64)| libm::atan2(imaginary, real);
        let size = |(real, imaginary): (f64, f64)| libm::hypot(real, imaginary);
        (size(above) / size(below), std::f64::consts::PI + angle(above) - angle(below))
    }

    /// Returns the delay that consumes the phase margin; `None`: the loop gain never reaches 1.
    fn delay_margin(&self) -> Option<f64> {
        const FROM: f64 = 1.0;
        const STEP: f64 = 1.002;
        const STEPS: usize = 9_000;
        let half = std::f64::consts::PI;
        let (mut w, mut turned, mut found) = (FROM, None, None);
        for _ in 0..STEPS {
            let (size, angle) = self.at(w);
            // The phase continues from the previous one without jumps of a full turn; the first phase is that of an
            // integrator.
            let near: f64 = turned.unwrap_or(-half / 2.0);
            let angle = near + (angle - near + half).rem_euclid(2.0 * half) - half;
            if size >= 1.0 {
                found = Some(((half + angle) / w).max(0.0));
            }
            turned = Some(angle);
            w *= STEP;
        }
        found
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Returns the equilibrium at 40 Gb/s with packets of 1 kB and a CNP interval of 50 us.
    fn rest(many: u64) -> Rest {
        let crowd = Crowd { many, bps: 40e9, nic_bps: 40e9, packet: 1_000, cnp_gap: Time::from_us(50) };
        DcqcnKeys::default().rest(&crowd).unwrap()
    }

    #[test]
    fn the_published_table() {
        for (many, share) in
            [(2, 0.00078), (4, 0.00189), (8, 0.00455), (10, 0.00603), (16, 0.01087), (64, 0.059)]
        {
            let own = rest(many).marked;
            assert!((own / share - 1.0).abs() < 0.02, "{many}: {own} and {share}");
        }
    }

    #[test]
    fn the_fixed_point_is_stable_where_the_integrated_model_is() {
        // Marking starts at 5 kB and reaches the maximum share `most` at 200 kB. `stays` and `swings` are delays at
        // which the integrated model is stable and at which it oscillates. Between them lies the delay margin (in
        // microseconds) computed from complex matrices, which is larger for 2 queue pairs than for 10, and less than
        // for
        // 64.
        for (most, many, stays, swings, margin) in [
            (0.01, 2, 85.0, f64::INFINITY, 85.5),
            (0.01, 4, 50.0, 85.0, 71.7),
            (0.01, 8, 4.0, 85.0, 62.2),
            (0.01, 10, 50.0, 85.0, 62.5),
            (0.1, 2, 4.0, 50.0, 17.8),
            (0.1, 4, 4.0, 50.0, 22.6),
            (0.1, 10, 4.0, 50.0, 22.6),
            (0.1, 32, 4.0, 50.0, 15.7),
            (0.1, 64, 4.0, 50.0, 20.3),
        ] {
            let own = rest(many).longest_loop(most / 195e3).unwrap() * 1e6;
            assert!(stays < own && own < swings, "{most} {many}: {own}");
            assert!((own / margin - 1.0).abs() < 0.01, "{most} {many}: {own} and {margin}");
        }
    }
}
