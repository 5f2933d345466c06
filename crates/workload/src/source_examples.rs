//! Examples of sources: scripts, limits, back-pressure and jitter.

use crate::testbed::{LINE, OVERHEAD, constant, run, run_spec, source, spec};
use crate::*;
use rand::SeedableRng;
use rand_xoshiro::Xoshiro256PlusPlus;
use units::{BitRate, Bytes, ClockOffset, Time};

#[test]
fn the_script_of_hagen_chapter_7() {
    let at = |ms| Time::from_ms(ms);
    let spec = SourceSpec {
        rate_basis: RateBasis::Wire,
        start: at(1),
        stop: Some(at(5)),
        script: vec![(at(3), Change::Stop), (at(4), Change::Start(Some(BitRate::from_gbps(10))))],
        ..constant(BitRate::from_bps(2_500_000_000), 1522)
    };
    let frames = run_spec(&spec, at(10));
    let between = |from, to| frames.iter().map(|f| f.0).filter(|&t| t >= from && t < to).collect::<Vec<_>>();
    // 4.9344 us a frame at a quarter of the rate: 405.3 intervals in 2 ms.
    let slow = between(at(1), at(3));
    assert_eq!((slow.len(), slow[0], slow[405]), (406, at(1), at(1) + Time::from_ps(405 * 4_934_400)));
    let fast = between(at(4), at(5));
    assert_eq!((fast.len(), fast[0], fast[1]), (811, at(4), at(4) + Time::from_ps(1_233_600)));
    assert_eq!(frames.len(), slow.len() + fast.len());
    // Mean over [1, 5) ms: 2 ms at a quarter of the rate and 1 ms at full rate, in bits without overhead.
    let offered = spec.offered_bps(LINE, OVERHEAD, at(1), at(5)).unwrap();
    assert!((offered - 3.75e9 * 1522.0 / 1542.0).abs() < 1.0, "{offered}");
    assert_eq!(spec.offered_bps(LINE, OVERHEAD, at(3), at(4)), Some(0.0));
    assert_eq!(spec.offered_bps(LINE, OVERHEAD, at(3), at(3)), Some(0.0));
}

#[test]
fn a_new_rate_holds_from_its_time_on() {
    // 1000 B at 1 Gb/s last 8 us. At 12 us half of the second interval has passed; the other half takes 1 us at four
    // times the rate.
    let mut spec = constant(BitRate::from_gbps(1), 1000);
    let rate = |gbps| Change::Start(Some(BitRate::from_gbps(gbps)));
    spec.script =
        vec![(Time::from_us(12), rate(4)), (Time::from_us(13), rate(0)), (Time::from_us(20), rate(8))];
    let times: Vec<u64> = run_spec(&spec, Time::from_us(23)).iter().map(|f| f.0.ps() / 1000).collect();
    // At 13 us a due frame coincides with the change to a rate of zero. A rate above zero restarts the process.
    assert_eq!(times, [0, 8_000, 20_000, 21_000, 22_000]);
    spec.script.remove(1);
    spec.script.insert(1, (Time::from_us(14), Change::Start(None)));
    let times: Vec<u64> = run_spec(&spec, Time::from_us(18)).iter().map(|f| f.0.ps() / 1000).collect();
    assert_eq!(times, [0, 8_000, 13_000, 15_000, 17_000]);
    // A rate set before the start is the rate at the start.
    spec.script = vec![(Time::from_us(1), rate(8)), (Time::from_us(2), Change::Stop)];
    spec.start = Time::from_us(5);
    let times: Vec<u64> = run_spec(&spec, Time::from_us(8)).iter().map(|f| f.0.ps() / 1000).collect();
    assert_eq!(times, [5_000, 6_000, 7_000]);
}

#[test]
fn a_source_that_was_held_back_goes_on_from_there() {
    let mut source = source(&constant(BitRate::from_gbps(1), 1000), 1);
    assert!(matches!(source.wake(Time::ZERO), Wake::Emit(_)));
    assert_eq!(source.wake(Time::from_us(7)), Wake::Nothing);
    assert!(matches!(source.wake(Time::from_us(100)), Wake::Emit(_)));
    assert_eq!(source.next_wake(), Some(Time::from_us(108)));
}

#[test]
fn a_stop_while_held_back_drops_the_frame() {
    let mut spec = constant(BitRate::from_gbps(1), 1000);
    spec.script = vec![(Time::from_us(5), Change::Stop), (Time::from_us(50), Change::Start(None))];
    let mut first = source(&spec, 1);
    assert_eq!(first.next_wake(), Some(Time::ZERO));
    assert_eq!(first.wake(Time::from_us(20)), Wake::Nothing);
    assert_eq!(first.next_wake(), Some(Time::from_us(50)));
    // The source is held back over a stop and a start: it sends one frame at once.
    let mut second = source(&spec, 1);
    assert!(matches!(second.wake(Time::from_us(60)), Wake::Emit(_)));
    assert_eq!(second.next_wake(), Some(Time::from_us(68)));
}

#[test]
fn the_last_frame_is_short() {
    let mut spec = constant(BitRate::from_gbps(1), 1000);
    let sent = |spec: &SourceSpec| {
        let mut limited = source(spec, 1);
        let frames = run(&mut limited, Time::from_ms(1));
        assert_eq!((limited.next_wake(), limited.is_active()), (None, false));
        (frames.iter().map(|&(_, bytes)| bytes).collect::<Vec<_>>(), limited.padding())
    };
    for (limit, frames, padding) in [
        (3_999, vec![1000, 1000, 1000, 999], 0),
        (4_000, vec![1000; 4], 0),
        (4_001, vec![1000, 1000, 1000, 1000, 64], 63),
        (999, vec![999], 0),
        (64, vec![64], 0),
        (1, vec![64], 63),
    ] {
        spec.limit = Some(Bytes::new(limit));
        assert_eq!(sent(&spec), (frames, padding), "{limit} B");
        let offered = spec.offered_bps(LINE, OVERHEAD, Time::ZERO, Time::from_us(100)).unwrap();
        assert!((offered - limit as f64 * 8.0 / 100e-6).abs() < 1.0);
    }
    // A source of frames shorter than the Ethernet minimum adds no padding.
    spec = SourceSpec { limit: Some(Bytes::new(45)), ..constant(BitRate::from_gbps(1), 20) };
    assert_eq!(sent(&spec), (vec![20, 20, 20], 15));
    // A limit of zero bytes, which scenarios reject.
    spec.limit = Some(Bytes::new(0));
    assert_eq!(source(&spec, 1).next_wake(), None);
}

#[test]
fn greedy_sources_give_what_is_asked_between_start_and_stop() {
    let mut spec = spec(Arrivals::Greedy, FrameSizes::Fixed(1522));
    spec.start = Time::from_us(1);
    spec.script = vec![(Time::from_us(3), Change::Stop), (Time::from_us(4), Change::Start(None))];
    spec.limit = Some(Bytes::new(1522 * 4));
    let mut source = source(&spec, 1);
    assert!(source.is_greedy() && source.take(Time::ZERO).is_none());
    assert_eq!(source.next_wake(), Some(Time::from_us(1)));
    assert_eq!(source.wake(Time::from_us(1)), Wake::Fill);
    assert!(source.take(Time::from_us(1)).is_some() && source.take(Time::from_us(2)).is_some());
    assert_eq!(source.next_wake(), Some(Time::from_us(3)));
    // `take` is called at the time of the stop, before the timer expires. The stop takes effect, and no frame is left
    // for the timer.
    assert!(source.take(Time::from_us(3)).is_none());
    assert_eq!(source.wake(Time::from_us(3)), Wake::Nothing);
    assert_eq!(source.next_wake(), Some(Time::from_us(4)));
    assert_eq!(source.wake(Time::from_us(4)), Wake::Fill);
    assert!(source.take(Time::from_us(4)).is_some() && source.take(Time::from_us(4)).is_some());
    assert!(source.take(Time::from_us(4)).is_none() && source.next_wake().is_none());
    assert_eq!(spec.offered_bps(LINE, OVERHEAD, Time::ZERO, Time::from_us(9)), None);
}

#[test]
fn a_fast_clock_makes_every_kind_of_source_fast() {
    let mean = Time::from_us(50);
    let period = Period::Exponential(mean);
    let gbps = BitRate::from_gbps;
    for arrivals in [
        Arrivals::Constant(ConstantParams { rate: gbps(1), random_phase: false }),
        Arrivals::Constant(ConstantParams { rate: gbps(1), random_phase: true }),
        Arrivals::Bernoulli(BernoulliParams { rate: gbps(1) }),
        Arrivals::Poisson(PoissonParams { rate: gbps(1) }),
        Arrivals::OnOff(OnOffParams { peak: gbps(1), on: period, off: Period::Exponential(Time::ZERO) }),
    ] {
        let spec = spec(arrivals, FrameSizes::Fixed(1000));
        let last_of_1000 = |ppb| {
            let clock = ClockOffset::from_ppb(ppb);
            let mut source = Source::new(&spec, LINE, OVERHEAD, clock, Xoshiro256PlusPlus::seed_from_u64(3));
            let (mut sent, mut at) = (0, Time::ZERO);
            while sent < 1000 {
                at = source.next_wake().unwrap();
                sent += u32::from(matches!(source.wake(at), Wake::Emit(_)));
            }
            at.ps() as f64
        };
        // The clock is fast by a thousandth, so the same draws end a thousandth earlier.
        let ratio = last_of_1000(0) / last_of_1000(1_000_000);
        assert!((ratio - 1.001).abs() < 1e-6, "{:?}: {ratio}", spec.arrivals);
    }
}

#[test]
fn jitter_is_uniform_and_does_not_add_up() {
    // A frame is due every 8 us. Jitter of 3 us leaves gaps; jitter of 20 us makes frames wait for each other.
    for most in [3, 20] {
        let most = Time::from_us(most);
        let spec = SourceSpec { jitter: most, ..constant(BitRate::from_gbps(1), 1000) };
        let frames = run(&mut source(&spec, 5), Time::from_ms(160));
        assert!((frames.len() as i64 - 20_000).abs() <= 3, "{}", frames.len());
        assert!(frames.is_sorted());
        let late: Vec<f64> =
            (0..).zip(&frames).map(|(n, frame)| (frame.0.ps() - n * 8_000_000) as f64 / 1e6).collect();
        let longest = late.iter().copied().fold(0.0, f64::max);
        assert!(longest <= most.ps() as f64 / 1e6 && longest > 0.99 * most.ps() as f64 / 1e6);
        if most < Time::from_us(8) {
            let mean = late.iter().sum::<f64>() / late.len() as f64;
            assert!((mean - 1.5).abs() < 5.0 * 3.0 / (12.0 * 20_000.0f64).sqrt(), "{mean}");
        }
    }
}

#[test]
fn jitter_draws_from_a_stream_of_its_own() {
    // Lengths and their order are unchanged; only the times differ.
    let mut spec = spec(Arrivals::Poisson(PoissonParams { rate: BitRate::from_gbps(1) }), FrameSizes::Imix);
    let lengths = |spec: &SourceSpec| {
        run(&mut source(spec, 9), Time::from_us(500)).into_iter().take(100).map(|f| f.1).collect::<Vec<_>>()
    };
    let without = lengths(&spec);
    spec.jitter = Time::from_us(1);
    assert_eq!(lengths(&spec), without);
}

#[test]
fn a_source_with_jitter_that_was_held_back_goes_on_from_there() {
    let spec = SourceSpec { jitter: Time::from_us(2), ..constant(BitRate::from_gbps(1), 1000) };
    let mut source = source(&spec, 1);
    assert!(matches!(source.wake(Time::from_us(100)), Wake::Emit(_)));
    let next = source.next_wake().unwrap();
    assert!(next >= Time::from_us(108) && next <= Time::from_us(110), "{next}");
}

#[test]
fn a_source_is_small() {
    assert!(size_of::<Source>() <= 264, "{}", size_of::<Source>());
}
