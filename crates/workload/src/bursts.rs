//! Arrivals in bursts: a fixed number of frames at one instant, all to one destination, with exponential gaps between
//! bursts.
//!
//! The frames of a burst are generated at the same time, so that they queue in their host. Bursts are a Poisson
//! process with a mean interval of `frames * mean bytes * 8 / rate`.
//!
//! Source: Bursts60 of Chrysos and Katevenis, Multiple priorities in a two-lane buffered crossbar (Globecom 2004), as
//! described by Martinez 2006, section 6.2: 60 frames to the same destination, Pareto-distributed lengths (`frame` of
//! the flow, `bounded_pareto`), exponential times between bursts.
//!
//! Not modelled: bursts whose frames arrive at the rate of a link (see `on_off`), gaps that depend on the length of
//! the burst.

use crate::arrivals::{Arrival, Configuration, Link, Random, no_rate, outside};
use crate::poisson::{Poisson, PoissonParams};
use crate::spec::FrameSizes;
use keys::Remark;
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use units::{BitRate, Time};

/// Maximum number of frames per burst.
const MOST_FRAMES: u64 = 65_536;

/// Bursts of frames at once to one destination, with exponential gaps.
#[derive(Clone, Copy, Debug, PartialEq, Deserialize, Serialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct BurstsParams {
    /// Mean rate of the source. A rate with unit, above 0. Required.
    pub rate: BitRate,
    /// Number of frames in a burst. A count, 1 to 65536. Default: 60 (Martinez 2006, section 6.2).
    #[serde(default = "sixty")]
    #[schemars(range(min = 1, max = 65_536))]
    pub frames: u64,
}

fn sixty() -> u64 {
    60
}

impl Configuration for BurstsParams {
    type Machine = Bursts;

    fn check(&self) -> Vec<Remark> {
        no_rate("rate", self.rate).into_iter().chain(outside("frames", self.frames, MOST_FRAMES)).collect()
    }
    fn rate(&self) -> (&'static str, BitRate) {
        ("rate", self.rate)
    }
    fn at_rate(self, rate: BitRate) -> BurstsParams {
        BurstsParams { rate, ..self }
    }
    fn mean_bps(&self, rate: BitRate, sizes: &FrameSizes, link: Link) -> f64 {
        link.in_frames(rate, sizes)
    }
    fn to_one_destination(&self) -> u64 {
        self.frames
    }
    fn start(&self, link: Link, sizes: &FrameSizes) -> Bursts {
        let each = PoissonParams { rate: self.rate }.start(link, sizes);
        Bursts { gaps: each.of_frames(self.frames), frames: self.frames, left: self.frames }
    }
}

/// The state of the bursts.
#[derive(Clone, Debug)]
pub struct Bursts {
    /// Gaps between the bursts.
    gaps: Poisson,
    frames: u64,
    /// Frames left to send of this burst, or all frames of the next one.
    left: u64,
}

impl Arrival for Bursts {
    /// Begins the process. The rest of an interrupted burst is sent first, to the destination of that burst.
    fn start(&mut self, link: Link, now: Time, next: u16, rng: &mut Random) -> Time {
        if self.left < self.frames { now } else { self.gaps.start(link, now, next, rng) }
    }
    #[inline(never)]
    fn after(&mut self, link: Link, now: Time, late: bool, frames: [u16; 2], rng: &mut Random) -> Time {
        self.left -= 1;
        if self.left > 0 {
            return now;
        }
        self.left = self.frames;
        self.gaps.after(link, now, late, frames, rng)
    }
    fn rate(&self) -> Option<BitRate> {
        self.gaps.rate()
    }
    fn set_rate(&mut self, link: Link, new: BitRate) {
        self.gaps.set_rate(link, new);
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::testbed::{LINE, source, spec};
    use crate::{Arrivals, Destinations, SourceSpec, Wake};
    use frame::NodeId;

    fn bursts(rate: BitRate, frames: u64, sizes: FrameSizes) -> SourceSpec {
        let destinations = Destinations::Uniform((0..5).map(NodeId).collect());
        SourceSpec { destinations, ..spec(Arrivals::Bursts(BurstsParams { rate, frames }), sizes) }
    }

    /// Returns the time, destination and number of frames of each burst.
    fn run(spec: &SourceSpec, until: Time) -> Vec<(Time, u32, u64)> {
        let (mut source, mut bursts) = (source(spec, 1), Vec::<(Time, u32, u64)>::new());
        while let Some(now) = source.next_wake().filter(|&now| now < until) {
            let Wake::Emit(made) = source.wake(now) else { continue };
            match bursts.last_mut().filter(|last| last.0 == now) {
                Some(last) => {
                    assert_eq!(last.1, made.destination, "a burst goes to one destination");
                    last.2 += 1;
                }
                None => bursts.push((now, made.destination, 1)),
            }
        }
        bursts
    }

    /// Returns 60 frames of 183 B at 285 Mb/s: exponential gaps with a mean of 308 us from burst to burst.
    #[test]
    fn bursts60() {
        let spec = bursts(BitRate::from_bps(285_000_000), 60, FrameSizes::Fixed(183));
        let found = run(&spec, Time::from_ms(3_000));
        assert!(found.iter().all(|burst| burst.2 == 60));
        let gaps: Vec<f64> = found.windows(2).map(|two| (two[1].0 - two[0].0).as_secs_f64()).collect();
        let mean = gaps.iter().sum::<f64>() / gaps.len() as f64;
        assert!((mean / 308.2e-6 - 1.0).abs() < 5.0 / (gaps.len() as f64).sqrt(), "{mean}");
        let above = gaps.iter().filter(|&&gap| gap > mean).count() as f64 / gaps.len() as f64;
        assert!((above - (-1f64).exp()).abs() < 5.0 * 0.5 / (gaps.len() as f64).sqrt(), "{above}");
        // All destinations are equally frequent.
        for to in 0..5 {
            let share = found.iter().filter(|burst| burst.1 == to).count() as f64 / found.len() as f64;
            assert!((share - 0.2).abs() < 5.0 * 0.4 / (found.len() as f64).sqrt(), "{share}");
        }
    }

    #[test]
    fn a_burst_of_one_frame_is_a_poisson_process() {
        let rate = BitRate::from_gbps(1);
        let single = bursts(rate, 1, FrameSizes::Imix);
        let poisson = SourceSpec { arrivals: Arrivals::Poisson(PoissonParams { rate }), ..single.clone() };
        assert_eq!(run(&single, Time::from_ms(1)), run(&poisson, Time::from_ms(1)));
    }

    #[test]
    fn what_is_offered_does_not_depend_on_bursts() {
        let offered = |frames| {
            let spec = bursts(BitRate::from_gbps(1), frames, FrameSizes::Imix);
            spec.offered_bps(LINE, 20, Time::ZERO, Time::from_ms(1)).unwrap()
        };
        assert!((offered(60) - 1e9).abs() < 1.0 && offered(1) == offered(60));
    }
}
