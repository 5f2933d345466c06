//! Sources on a link of 10 Gb/s, for tests.

use crate::spec::{Destinations, FrameSizes, RateBasis, SourceSpec};
use crate::{Arrivals, ConstantParams, Source, Wake};
use frame::NodeId;
use rand::SeedableRng;
use rand_xoshiro::Xoshiro256PlusPlus;
use units::{BitRate, ClockOffset, Time};

pub(crate) const LINE: BitRate = BitRate::from_gbps(10);
pub(crate) const OVERHEAD: u16 = 20;

pub(crate) fn spec(arrivals: Arrivals, sizes: FrameSizes) -> SourceSpec {
    SourceSpec {
        arrivals,
        rate_basis: RateBasis::Frame,
        sizes,
        destinations: Destinations::Fixed(NodeId(0)),
        start: Time::ZERO,
        stop: None,
        script: vec![],
        limit: None,
        jitter: Time::ZERO,
    }
}
pub(crate) fn constant(rate: BitRate, bytes: u16) -> SourceSpec {
    spec(Arrivals::Constant(ConstantParams { rate, random_phase: false }), FrameSizes::Fixed(bytes))
}
pub(crate) fn source(spec: &SourceSpec, seed: u64) -> Source {
    Source::new(spec, LINE, OVERHEAD, ClockOffset::NOMINAL, Xoshiro256PlusPlus::seed_from_u64(seed))
        .with_jitter(spec.jitter, Xoshiro256PlusPlus::seed_from_u64(!seed))
}
/// Returns all frames before `until`.
pub(crate) fn run(source: &mut Source, until: Time) -> Vec<(Time, u16)> {
    let (mut frames, mut last) = (Vec::new(), Time::ZERO);
    while let Some(now) = source.next_wake().filter(|&now| now < until) {
        assert!(now >= last, "time runs backward");
        last = now;
        if let Wake::Emit(made) = source.wake(now) {
            frames.push((now, made.bytes));
        }
    }
    frames
}
pub(crate) fn run_spec(spec: &SourceSpec, until: Time) -> Vec<(Time, u16)> {
    run(&mut source(spec, 1), until)
}
