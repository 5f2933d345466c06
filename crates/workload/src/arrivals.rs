//! When the next frame is due.
//!
//! Constant rates are integer arithmetic: the remainder of each division is carried to the next interval.
//! Random gaps are `f64` picoseconds whose fraction is carried too, so that rounding has no bias. The
//! on and off periods follow the bursty sources of Jiang 2007 (Pareto, shape 1.5, truncated); their least
//! length is such that the mean after truncation is the one that was asked for.

use crate::draw::{Coin, exponential, unit};
use crate::pace::{Pace, rescaled};
use crate::spec::{Arrivals, Period, RateBasis};
use crate::transfers::Sender;
use rand_xoshiro::Xoshiro256PlusPlus;
use units::{BitRate, ClockOffset, Time};

type Random = Xoshiro256PlusPlus;

/// Pareto periods last at most this many times their mean, and transfers are as much larger: keys of a scenario say so.
pub(crate) const LONGEST: f64 = 100.0;

/// `gap` picoseconds and the fraction that earlier ones left, rounded down; the rest is left to later ones.
#[inline]
pub(crate) fn whole_ps(gap: f64, rest: &mut f64) -> Time {
    const END_OF_TIME: f64 = (1u64 << 63) as f64;
    let exact = gap + *rest;
    if exact < END_OF_TIME {
        let whole = exact as u64;
        *rest = exact - whole as f64;
        Time::from_ps(whole)
    } else {
        *rest = 0.0;
        Time::NEVER
    }
}

impl Period {
    /// The mean in seconds.
    pub fn mean_secs(&self) -> f64 {
        match *self {
            Period::Pareto { shape, .. } if !has_mean(shape) => 0.0,
            Period::Exponential { mean } | Period::Pareto { mean, .. } => mean.as_secs_f64(),
        }
    }
}

/// No Pareto distribution has a mean unless its shape is above 1.
fn has_mean(shape: f64) -> bool {
    shape > 1.0
}

/// Draws the lengths of periods, in picoseconds.
#[derive(Clone, Copy, Debug)]
enum Lengths {
    Exponential { mean: f64 },
    Pareto { least: f64, most: f64, exponent: f64 },
}

impl Lengths {
    fn new(period: &Period) -> Lengths {
        match *period {
            Period::Pareto { mean, shape } if has_mean(shape) => {
                let mean = mean.ps() as f64;
                let least = mean * least_share(shape);
                Lengths::Pareto { least, most: LONGEST * mean, exponent: -1.0 / shape }
            }
            Period::Pareto { .. } => Lengths::Exponential { mean: 0.0 },
            Period::Exponential { mean } => Lengths::Exponential { mean: mean.ps() as f64 },
        }
    }

    fn draw(&self, rng: &mut Random) -> f64 {
        match *self {
            Lengths::Exponential { mean } => mean * exponential(rng),
            Lengths::Pareto { least, most, exponent } => (least * libm::pow(unit(rng), exponent)).min(most),
        }
    }
}

/// The least length of Pareto periods, as a share of their mean, such that the mean holds after truncation.
/// With x the least length, a the shape and b the longest, the mean is x·(1 + (1 - (x/b)ᵃ⁻¹)/(a - 1)), which
/// grows with x. Without truncation it would be x·a/(a - 1).
pub(crate) fn least_share(shape: f64) -> f64 {
    let above_one = shape - 1.0;
    let mean = |x: f64| x * (1.0 - libm::expm1(above_one * libm::log(x / LONGEST)) / above_one);
    // Halving an interval of doubles ends: at the latest when there is no number between its ends.
    let (mut low, mut high) = (0.0, 1.0);
    loop {
        let middle = (low + high) / 2.0;
        if middle <= low || middle >= high {
            return middle;
        }
        if mean(middle) < 1.0 { low = middle } else { high = middle }
    }
}

/// On for a random time, off for a random time. While on, `left` counts down.
#[derive(Clone, Copy, Debug)]
pub(crate) struct OnOff {
    /// `None`: never sends.
    pace: Option<Pace>,
    on: Lengths,
    off: Lengths,
    starts_on: Coin,
    /// A source that is never on would change its state for ever without time passing.
    is_ever_on: bool,
    is_on: bool,
    /// `is_on` and `left` are those of this time.
    mark: Time,
    period_end: Time,
    /// Time on until the next frame is due.
    left: Time,
    /// Fraction of a picosecond that the periods so far left.
    rest: f64,
}

impl OnOff {
    fn new(peak: BitRate, clock: ClockOffset, on: Period, off: Period) -> OnOff {
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

    fn start(&mut self, now: Time, rng: &mut Random) -> Time {
        self.is_on = self.starts_on.toss(rng);
        (self.mark, self.left) = (now, Time::ZERO);
        self.pace.as_mut().map(Pace::restart);
        self.begin_period(rng);
        self.next_wake()
    }

    fn begin_period(&mut self, rng: &mut Random) {
        let length = if self.is_on { self.on.draw(rng) } else { self.off.draw(rng) };
        self.period_end = self.mark.saturating_add(whole_ps(length, &mut self.rest));
    }

    fn due(&self) -> Time {
        self.mark.saturating_add(self.left)
    }

    /// When the next frame is due or the period ends.
    fn next_wake(&self) -> Time {
        match (&self.pace, self.is_on) {
            (None, _) => Time::NEVER,
            (_, true) => self.due().min(self.period_end),
            (_, false) => self.period_end,
        }
    }

    /// Lets time pass until `now`.
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

/// What a source knows when it asks for the next time.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Link {
    /// Rate of the source's link.
    pub line: BitRate,
    /// Bytes around each frame on that link.
    pub overhead: u16,
    /// What the bits of the source's rate count.
    pub basis: RateBasis,
    /// How far the clock of the source's station is off.
    pub clock: ClockOffset,
}

impl Link {
    /// Bytes of a frame that count for the rate.
    #[inline]
    pub(crate) fn counted(self, bytes: u16) -> u64 {
        match self.basis {
            RateBasis::Frame => bytes.into(),
            RateBasis::Wire => self.on_wire(bytes),
        }
    }
    #[inline]
    pub(crate) fn on_wire(self, bytes: u16) -> u64 {
        u64::from(bytes) + u64::from(self.overhead)
    }
    /// The probability of a frame of this length in a slot of its own length on the wire, such that
    /// the mean rate is `rate`.
    pub(crate) fn slot_probability(self, rate: BitRate, bytes: u16) -> f64 {
        let of_line = rate.bps_f64() / self.line.bps_f64().max(1.0);
        (of_line * self.on_wire(bytes) as f64 / self.counted(bytes) as f64).min(1.0)
    }
}

/// How the times of frames follow each other.
#[derive(Clone, Debug)]
enum Kind {
    /// No pace: a rate of zero.
    Constant {
        pace: Option<Pace>,
        random_phase: bool,
    },
    Greedy,
    Bernoulli {
        rate: BitRate,
        slots: Option<Pace>,
        busy_until: Time,
        empty: EmptySlots,
    },
    Poisson {
        rate: BitRate,
        mean_bytes: f64,
        rest: f64,
    },
    /// Apart: it is twice as large as the others.
    OnOff(Box<OnOff>),
    /// As fast as the link takes them.
    Transfers(Box<Sender>),
}

/// The state of an arrival process. `next` is always the size of the frame that comes next.
#[derive(Clone, Debug)]
pub(crate) struct Process {
    link: Link,
    kind: Kind,
}

impl Process {
    /// A process; `mean_bytes` is the mean length of its frames, DA to FCS.
    pub(crate) fn new(arrivals: &Arrivals, link: Link, mean_bytes: f64) -> Process {
        let kind = match *arrivals {
            Arrivals::Constant { rate, random_phase } => {
                Kind::Constant { pace: Pace::at_station(rate, link.clock), random_phase }
            }
            Arrivals::Greedy | Arrivals::Transfers(_) => Kind::Greedy,
            Arrivals::Bernoulli { rate } => {
                let slots = Pace::at_station(link.line, link.clock);
                Kind::Bernoulli { rate, slots, busy_until: Time::ZERO, empty: EmptySlots::default() }
            }
            Arrivals::Poisson { rate } => {
                let overhead = if link.basis == RateBasis::Wire { link.overhead } else { 0 };
                // A fast clock makes gaps shorter, as shorter frames would.
                let mean_bytes = (mean_bytes + f64::from(overhead)) / link.clock.factor();
                Kind::Poisson { rate, mean_bytes, rest: 0.0 }
            }
            Arrivals::OnOff { peak, on, off } => Kind::OnOff(Box::new(OnOff::new(peak, link.clock, on, off))),
        };
        Process { link, kind }
    }

    pub(crate) fn is_greedy(&self) -> bool {
        matches!(self.kind, Kind::Greedy | Kind::Transfers(_))
    }

    /// From now on it sends transfers.
    pub(crate) fn send(&mut self, sender: Sender) {
        self.kind = Kind::Transfers(Box::new(sender));
    }
    pub(crate) fn sender(&self) -> Option<&Sender> {
        if let Kind::Transfers(sender) = &self.kind { Some(sender) } else { None }
    }
    pub(crate) fn sender_mut(&mut self) -> Option<&mut Sender> {
        if let Kind::Transfers(sender) = &mut self.kind { Some(sender) } else { None }
    }

    /// When to wake a process that begins now; [`Time::NEVER`] if it has nothing to send.
    pub(crate) fn start(&mut self, now: Time, next: u16, rng: &mut Random) -> Time {
        match &mut self.kind {
            Kind::Constant { pace: Some(pace), random_phase } => {
                pace.restart();
                if !*random_phase {
                    return now;
                }
                let interval = pace.span(self.link.counted(next));
                pace.restart();
                now.saturating_add(Time::from_ps(crate::draw::below(rng, interval.ps())))
            }
            Kind::Bernoulli { rate, slots: Some(slots), busy_until, empty } => {
                slots.restart();
                let empty = empty.draw(self.link, *rate, next, rng);
                let wait = slots.span_wide(empty.saturating_mul(self.link.on_wire(next).into()));
                now.max(*busy_until).saturating_add(wait)
            }
            Kind::Poisson { rate, mean_bytes, rest } => {
                now.saturating_add(poisson_gap(*rate, *mean_bytes, rest, rng))
            }
            Kind::OnOff(on_off) => on_off.start(now, rng),
            Kind::Constant { pace: None, .. }
            | Kind::Bernoulli { slots: None, .. }
            | Kind::Greedy
            | Kind::Transfers(_) => Time::NEVER,
        }
    }

    /// Whether a frame is due; otherwise only the state changes, and [`Process::next_wake`] tells the rest.
    #[inline]
    pub(crate) fn arrives(&mut self, now: Time, rng: &mut Random) -> bool {
        let Kind::OnOff(on_off) = &mut self.kind else {
            return true;
        };
        if on_off.is_on && on_off.due() <= now && on_off.due() < on_off.period_end {
            return true;
        }
        on_off.roll(now, rng);
        false
    }

    /// Whether a frame is due when it is woken next, not only the end of a period.
    pub(crate) fn frame_is_next(&self) -> bool {
        match &self.kind {
            Kind::OnOff(on_off) => on_off.is_on && on_off.due() < on_off.period_end,
            _ => true,
        }
    }

    /// When to wake after [`Process::arrives`] said no.
    pub(crate) fn next_wake(&self) -> Time {
        match &self.kind {
            Kind::OnOff(on_off) => on_off.next_wake(),
            _ => Time::NEVER,
        }
    }

    /// When to wake after a frame of `sent` bytes now. `late`: it was due earlier, and was held back.
    #[inline]
    pub(crate) fn after(&mut self, now: Time, late: bool, sent: u16, next: u16, rng: &mut Random) -> Time {
        if let Kind::Constant { pace: Some(pace), .. } = &mut self.kind {
            if late {
                pace.restart();
            }
            return now.saturating_add(pace.span(self.link.counted(sent)));
        }
        self.after_random(now, late, sent, next, rng)
    }

    /// The same for processes that draw, compiled apart from the one that most frames come from.
    #[inline(never)]
    fn after_random(&mut self, now: Time, late: bool, sent: u16, next: u16, rng: &mut Random) -> Time {
        match &mut self.kind {
            Kind::Bernoulli { rate, slots: Some(slots), busy_until, empty } => {
                if late {
                    slots.restart();
                }
                let on_wire = self.link.on_wire(sent);
                let empty = empty.draw(self.link, *rate, next, rng);
                let empty_bytes = empty.saturating_mul(self.link.on_wire(next).into());
                let mut own_slot = *slots;
                *busy_until = now.saturating_add(own_slot.span(on_wire));
                now.saturating_add(slots.span_wide(empty_bytes.saturating_add(on_wire.into())))
            }
            Kind::Poisson { rate, mean_bytes, rest } => {
                now.saturating_add(poisson_gap(*rate, *mean_bytes, rest, rng))
            }
            Kind::OnOff(on_off) => {
                on_off.left = Time::ZERO;
                on_off.roll(now, rng);
                if let Some(pace) = &mut on_off.pace {
                    if late {
                        pace.restart();
                    }
                    on_off.left = pace.span(self.link.counted(sent));
                }
                on_off.next_wake()
            }
            Kind::Constant { .. }
            | Kind::Bernoulli { slots: None, .. }
            | Kind::Greedy
            | Kind::Transfers(_) => Time::NEVER,
        }
    }

    /// Sets the rate of a process that is silent.
    pub(crate) fn set_rate(&mut self, new: BitRate) {
        let clock = self.link.clock;
        match &mut self.kind {
            Kind::Constant { pace, .. } => *pace = Pace::at_station(new, clock),
            Kind::Bernoulli { rate, empty, .. } => (*rate, *empty) = (new, EmptySlots::default()),
            Kind::Poisson { rate, .. } => *rate = new,
            Kind::OnOff(on_off) if on_off.is_ever_on => on_off.pace = Pace::at_station(new, clock),
            Kind::OnOff(_) | Kind::Greedy | Kind::Transfers(_) => {}
        }
    }

    /// Sets the rate of a process that would have been woken at `due`, and returns when to wake it now.
    /// What has passed of an interval counts at the old rate. Exponential gaps and empty slots have no
    /// memory: the first scale like an interval, the second are drawn again.
    pub(crate) fn change_rate(
        &mut self,
        now: Time,
        due: Time,
        new: BitRate,
        next: u16,
        rng: &mut Random,
    ) -> Time {
        let old = self.rate();
        if old == Some(new) {
            return due;
        }
        self.set_rate(new);
        let (Some(old), true) = (old.filter(|old| old.bps() > 0 && due != Time::NEVER), new.bps() > 0) else {
            return if new.bps() > 0 { self.start(now, next, rng) } else { Time::NEVER };
        };
        match &mut self.kind {
            Kind::OnOff(on_off) => {
                on_off.roll(now, rng);
                on_off.left = rescaled(on_off.left, old, new);
                on_off.next_wake()
            }
            // A frame that is already due stays due.
            _ if due <= now => due,
            Kind::Bernoulli { .. } => self.start(now, next, rng),
            _ => now.saturating_add(rescaled(due - now, old, new)),
        }
    }

    fn rate(&self) -> Option<BitRate> {
        match &self.kind {
            Kind::Constant { pace, .. } => pace.map(|pace| pace.rate),
            Kind::OnOff(on_off) => on_off.pace.map(|pace| pace.rate),
            Kind::Bernoulli { rate, .. } | Kind::Poisson { rate, .. } => Some(*rate),
            Kind::Greedy | Kind::Transfers(_) => None,
        }
    }
}

/// Slots without a frame before one with a frame: geometric, by inversion. Remembers the logarithm of
/// the last size of frame, as most sources have one size.
#[derive(Clone, Copy, Debug, Default)]
struct EmptySlots {
    /// 0 at first: no frame has this size.
    bytes: u16,
    /// Logarithm of the probability that a slot is empty.
    ln_empty: f64,
}

impl EmptySlots {
    #[inline]
    fn draw(&mut self, link: Link, rate: BitRate, bytes: u16, rng: &mut Random) -> u128 {
        if self.bytes != bytes {
            let p = link.slot_probability(rate, bytes);
            *self = EmptySlots { bytes, ln_empty: if p < 1.0 { libm::log1p(-p) } else { f64::NEG_INFINITY } };
        }
        if self.ln_empty == f64::NEG_INFINITY {
            return 0;
        }
        // For a rate of zero the quotient is infinite, or not a number: no time will do.
        let slots = libm::log(unit(rng)) / self.ln_empty;
        if slots < u64::MAX as f64 { slots as u128 } else { u128::MAX }
    }
}

#[inline]
fn poisson_gap(rate: BitRate, mean_bytes: f64, rest: &mut f64, rng: &mut Random) -> Time {
    if rate.bps() == 0 {
        return Time::NEVER;
    }
    whole_ps(mean_bytes * 8e12 / rate.bps() as f64 * exponential(rng), rest)
}

#[cfg(test)]
mod tests {
    use super::*;
    use rand::SeedableRng;

    #[test]
    fn truncated_pareto_periods_have_the_mean_that_was_asked_for() {
        // With the least length of Pareto without truncation the mean would be 0.35, 0.55, 0.96 and 0.998 of it.
        for shape in [1.05, 1.1, 1.5, 2.0, 60.0] {
            let period = Period::Pareto { mean: Time::from_us(10), shape };
            assert_eq!(period.mean_secs(), 10e-6);
            let lengths = Lengths::new(&period);
            let mut rng = Random::seed_from_u64(11);
            let (mut sum, mut squares, draws) = (0.0, 0.0, 1_000_000);
            for _ in 0..draws {
                let means = lengths.draw(&mut rng) / 1e7;
                assert!(means > 0.0 && means <= 100.0, "{means}");
                (sum, squares) = (sum + means, squares + means * means);
            }
            let mean = sum / f64::from(draws);
            let deviation = (squares / f64::from(draws) - mean * mean).sqrt() / f64::from(draws).sqrt();
            assert!((mean - 1.0).abs() < 5.0 * deviation, "shape {shape}: {mean} ± {deviation}");
            assert!(5.0 * deviation < 0.025, "too few draws to tell: {deviation}");
        }
    }

    #[test]
    fn the_least_length_is_exact_at_all_shapes() {
        // Far from 1 the truncation hardly matters: (a - 1)/a. Towards 1 the mean tends to x·(1 + ln(b/x)).
        assert!((least_share(1e6) - 1.0).abs() < 1e-5);
        assert!((least_share(5.0) - 0.8).abs() < 1e-9);
        let x = least_share(1.0 + 1e-9);
        assert!((x * (1.0 + (LONGEST / x).ln()) - 1.0).abs() < 1e-6, "{x}");
        assert!(least_share(f64::INFINITY) > 0.0);
    }
}
