//! Bernoulli arrivals: in each time slot of the link a frame arrives with a fixed probability.
//!
//! A slot is the transmission time of one frame on the source's link. All slots have the same probability, such that
//! the mean rate is the configured rate (`rate / line` if the rate counts wire bits). The source never exceeds the
//! line rate. The number of consecutive empty slots is drawn from a geometric distribution.
//!
//! Source: the Bernoulli arrivals of the literature on input-queued switches (McKeown, "The iSLIP scheduling
//! algorithm", IEEE/ACM Transactions on Networking 7(2), 1999, section II).
//!
//! Not modelled: slots with a length other than that of the frame in them.

use crate::arrivals::{Arrival, Configuration, Link, Random, no_rate};
use crate::draw::unit;
use crate::pace::Pace;
use crate::spec::FrameSizes;
use keys::Remark;
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use units::{BitRate, Time};

/// A frame with a fixed probability in each frame time of the link.
#[derive(Clone, Copy, Debug, PartialEq, Deserialize, Serialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct BernoulliParams {
    /// Mean rate of the source. A rate with unit, above 0, at most that of the link. Required.
    pub rate: BitRate,
}

impl Configuration for BernoulliParams {
    /// Boxed because it is larger than the other processes.
    type Machine = Box<Bernoulli>;

    const NEEDS_HOST: Option<&'static str> =
        Some("its slots are frame times of a host's link; expected constant or poisson");
    const AT_MOST_THE_LINK: Option<&'static str> = Some("rate / link is a probability");

    fn check(&self) -> Vec<Remark> {
        no_rate("rate", self.rate).into_iter().collect()
    }
    fn rate(&self) -> (&'static str, BitRate) {
        ("rate", self.rate)
    }
    fn at_rate(self, rate: BitRate) -> BernoulliParams {
        BernoulliParams { rate }
    }
    fn mean_bps(&self, rate: BitRate, sizes: &FrameSizes, link: Link) -> f64 {
        if rate.bps() == 0 || link.line.bps() == 0 {
            return 0.0;
        }
        // As long as the line has enough slots, they keep the rate. Beyond that, every slot has a frame.
        let bits_a_slot = |bytes| link.on_wire(bytes) as f64 / link.slot_probability(rate, bytes);
        link.line.bps_f64() * sizes.mean_bytes() / sizes.mean_of(bits_a_slot)
    }
    fn start(&self, link: Link, _sizes: &FrameSizes) -> Box<Bernoulli> {
        let slots = Pace::at_station(link.line, link.clock);
        let empty = EmptySlots::default();
        Box::new(Bernoulli { rate: self.rate, slots, busy_until: Time::ZERO, empty })
    }
}

/// The state of a Bernoulli process.
#[derive(Clone, Debug)]
pub struct Bernoulli {
    rate: BitRate,
    /// Pace of the slots; `None` on a link without a rate.
    slots: Option<Pace>,
    busy_until: Time,
    empty: EmptySlots,
}

impl Arrival for Box<Bernoulli> {
    fn start(&mut self, link: Link, now: Time, next: u16, rng: &mut Random) -> Time {
        let Some(slots) = &mut self.slots else { return Time::NEVER };
        slots.restart();
        let empty = self.empty.draw(link, self.rate, next, rng);
        let wait = slots.span_wide(empty.saturating_mul(link.on_wire(next).into()));
        now.max(self.busy_until).saturating_add(wait)
    }
    #[inline(never)]
    fn after(&mut self, link: Link, now: Time, late: bool, [sent, next]: [u16; 2], rng: &mut Random) -> Time {
        let Some(slots) = &mut self.slots else { return Time::NEVER };
        if late {
            slots.restart();
        }
        let on_wire = link.on_wire(sent);
        let empty = self.empty.draw(link, self.rate, next, rng);
        let empty_bytes = empty.saturating_mul(link.on_wire(next).into());
        let mut own_slot = *slots;
        self.busy_until = now.saturating_add(own_slot.span(on_wire));
        now.saturating_add(slots.span_wide(empty_bytes.saturating_add(on_wire.into())))
    }
    fn rate(&self) -> Option<BitRate> {
        Some(self.rate)
    }
    fn set_rate(&mut self, _link: Link, new: BitRate) {
        (self.rate, self.empty) = (new, EmptySlots::default());
    }
    fn on_link(&mut self, link: Link) {
        (self.slots, self.empty) = (Pace::at_station(link.line, link.clock), EmptySlots::default());
    }
    /// Changes the rate. Empty slots have no memory, so they are drawn again.
    fn rescale(
        &mut self,
        link: Link,
        now: Time,
        due: Time,
        _: (BitRate, BitRate),
        next: u16,
        rng: &mut Random,
    ) -> Time {
        if due <= now { due } else { self.start(link, now, next, rng) }
    }
}

/// Draws the number of empty slots before one with a frame: geometric, by inversion. Caches the logarithm for the last
/// frame size, because most sources have a single size.
#[derive(Clone, Copy, Debug, Default)]
struct EmptySlots {
    /// Frame size of the cached logarithm. Initially 0, which is the size of no frame.
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
        // At a rate of zero the quotient is infinite or not a number: no frame is ever due.
        let slots = libm::log(unit(rng)) / self.ln_empty;
        if slots < u64::MAX as f64 { slots as u128 } else { u128::MAX }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::testbed::{LINE, OVERHEAD, run, run_spec, spec};
    use crate::{Arrivals, Source};
    use rand::SeedableRng;
    use rand_xoshiro::Xoshiro256PlusPlus;
    use units::ClockOffset;

    #[test]
    fn bernoulli_frames_come_in_slots() {
        // Golden case of Jiang 2007: half the rate of a 10 Gb/s line, in slots of one 1500 B frame without overhead.
        let spec = spec(
            Arrivals::Bernoulli(BernoulliParams { rate: BitRate::from_gbps(5) }),
            FrameSizes::Fixed(1500),
        );
        let mut source =
            Source::new(&spec, LINE, 0, ClockOffset::NOMINAL, Xoshiro256PlusPlus::seed_from_u64(1));
        let frames = run(&mut source, Time::from_ms(120));
        assert!(frames.iter().all(|(at, _)| at.ps() % 1_200_000 == 0));
        // 100 000 slots with p = 1/2 have a standard deviation of 158.
        assert!((frames.len() as f64 - 50_000.0).abs() < 5.0 * 158.0, "{}", frames.len());
        let back_to_back = frames.windows(2).filter(|w| (w[1].0 - w[0].0).ps() == 1_200_000).count();
        assert!((back_to_back as f64 - 25_000.0).abs() < 5.0 * 158.0, "{back_to_back}");
    }

    #[test]
    fn a_bernoulli_source_cannot_exceed_its_line() {
        let spec = spec(
            Arrivals::Bernoulli(BernoulliParams { rate: BitRate::from_gbps(10) }),
            FrameSizes::Fixed(64),
        );
        let frames = run_spec(&spec, Time::from_us(100));
        assert!(frames.windows(2).all(|w| (w[1].0 - w[0].0).ps() == 67_200));
        let offered = spec.offered_bps(LINE, OVERHEAD, Time::ZERO, Time::from_ms(1)).unwrap();
        assert!((offered - 1e10 * 64.0 / 84.0).abs() < 1.0, "{offered}");
    }
}
