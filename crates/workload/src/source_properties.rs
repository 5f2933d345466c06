//! Tests of properties that every source has.

use crate::testbed::{LINE, OVERHEAD, run, source, spec};
use crate::*;
use proptest::prelude::*;
use rand::SeedableRng;
use rand_xoshiro::Xoshiro256PlusPlus;
use units::{BitRate, Bytes, ClockOffset, Time};

fn any_sizes() -> impl Strategy<Value = FrameSizes> {
    prop_oneof![
        Just(FrameSizes::Fixed(1522)),
        Just(FrameSizes::Uniform { min: 64, max: 1522 }),
        Just(FrameSizes::Bimodal { small: 64, large: 1522, small_share: 0.6 }),
        Just(FrameSizes::Imix),
        Just(FrameSizes::Empirical(vec![(64, 5.0), (576, 2.5), (9216, 0.5)])),
    ]
}
fn any_arrivals() -> impl Strategy<Value = Arrivals> {
    let rate = (100u64..8_000).prop_map(|mbps| BitRate::from_bps(mbps * 1_000_003));
    let period = |mean: std::ops::Range<u64>| {
        prop_oneof![
            mean.clone().prop_map(|us| Period::Exponential(Time::from_us(us))),
            mean.prop_map(|us| Period::Pareto { mean: Time::from_us(us), shape: 1.5 }),
        ]
    };
    prop_oneof![
        (rate.clone(), any::<bool>())
            .prop_map(|(rate, random_phase)| Arrivals::Constant(ConstantParams { rate, random_phase })),
        rate.clone().prop_map(|rate| Arrivals::Bernoulli(BernoulliParams { rate })),
        rate.clone().prop_map(|rate| Arrivals::Poisson(PoissonParams { rate })),
        (rate.clone(), 1u64..8).prop_map(|(rate, count)| Arrivals::Streams(StreamsParams {
            rate: share(rate, count),
            count,
            counted: true
        })),
        (rate.clone(), 1u64..20).prop_map(|(rate, frames)| Arrivals::Bursts(BurstsParams { rate, frames })),
        (rate.clone(), 1u64..9, 1u64..200).prop_map(|(rate, count, us)| {
            let mut video =
                VideoParams { interval: Time::from_us(us), ..VideoParams::new(share(rate, count), count) };
            // Lengthens the interval until the mean picture has at least 64 B.
            while !video.check().is_empty() {
                video.interval += Time::from_us(1);
            }
            Arrivals::Video(video)
        }),
        (rate.clone(), 1u64..4, 1u64..5, 0u64..40).prop_map(|(rate, count, burst, delay_us)| {
            let delay = Time::from_us(delay_us);
            Arrivals::Threads(ThreadsParams { rate, count, burst, delay, random_phase: true })
        }),
        (rate, period(1..50), period(1..50)).prop_map(|(peak, on, off)| Arrivals::OnOff(OnOffParams {
            peak,
            on,
            off
        })),
    ]
}

fn share(rate: BitRate, count: u64) -> BitRate {
    BitRate::from_bps(rate.bps() / count)
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(128))]

    #[test]
    fn long_run_rates(arrivals in any_arrivals(), sizes in any_sizes(), wire in any::<bool>(), seed in any::<u64>()) {
        let mut spec = spec(arrivals, sizes);
        spec.rate_basis = if wire { RateBasis::Wire } else { RateBasis::Frame };
        let until = Time::from_ms(20);
        let offered = spec.offered_bps(LINE, OVERHEAD, Time::ZERO, until).unwrap();
        let frames = run(&mut source(&spec, seed), until);
        let bits: f64 = frames.iter().map(|f| f64::from(f.1) * 8.0).sum();
        let expected = offered * until.as_secs_f64();
        let (_, rate) = spec.arrivals.rate().unwrap();
        let bound = 6.0 * spec.deviation_bits(rate, offered, until.as_secs_f64()) + 2.0 * 9216.0 * 8.0;
        prop_assert!((bits - expected).abs() < bound, "{bits} bits instead of {expected} ± {bound}");
        if matches!(spec.arrivals, Arrivals::Constant(_)) && !wire {
            prop_assert!((bits - expected).abs() <= 2.0 * 9216.0 * 8.0);
        }
    }

    #[test]
    fn rate_changes_keep_the_long_run_rate(arrivals in any_arrivals(), sizes in any_sizes(), seed in any::<u64>()) {
        // The rate goes up and down every 40 us, so a systematic loss or gain per change would accumulate 500 times.
        // Pictures keep the size that was drawn.
        prop_assume!(!arrivals.cuts_frames());
        let mut spec = spec(arrivals, sizes);
        spec.script = (1..500)
            .map(|n| (Time::from_us(n * 40), Change::Start(Some(BitRate::from_gbps(1 + n % 2 * 3)))))
            .collect();
        let until = Time::from_ms(20);
        let offered = spec.offered_bps(LINE, OVERHEAD, Time::ZERO, until).unwrap();
        let bits: f64 = run(&mut source(&spec, seed), until).iter().map(|f| f64::from(f.1) * 8.0).sum();
        let expected = offered * until.as_secs_f64();
        let fastest = BitRate::from_gbps(8);
        let mut bound = 6.0 * spec.deviation_bits(fastest, offered, until.as_secs_f64()) + 2.0 * 9216.0 * 8.0;
        if matches!(spec.arrivals, Arrivals::Bernoulli(_) | Arrivals::Threads(_)) {
            // After each change a new grid of slots begins, or a pause continues: at most one slot of the longest frame
            // per change.
            bound += expected * 0.25;
        }
        prop_assert!((bits - expected).abs() < bound, "{bits} bits instead of {expected} ± {bound}");
    }

    /// Tests the bound against which every run with debug assertions checks its sources.
    #[test]
    fn nobody_sends_more_than_the_bound(
        arrivals in any_arrivals(), sizes in any_sizes(), wire in any::<bool>(), seed in any::<u64>(), ms in 1u64..30,
        script in proptest::collection::vec((0u64..30_000, proptest::option::of(1u64..8_000)), 0..20), ppm in -1000i32..1000,
    ) {
        let mut spec = spec(arrivals, sizes);
        spec.rate_basis = if wire { RateBasis::Wire } else { RateBasis::Frame };
        if !spec.arrivals.cuts_frames() {
            spec.script = script.into_iter().map(|(us, mbps)| (Time::from_us(us), match mbps {
                Some(mbps) => Change::Start(Some(BitRate::from_bps(mbps * 1_000_003))),
                None => Change::Stop,
            })).collect();
            spec.script.sort_by_key(|change| change.0);
        }
        let (clock, until) = (ClockOffset::from_ppb(ppm * 1000), Time::from_ms(ms));
        let rng = Xoshiro256PlusPlus::seed_from_u64(seed);
        let bits: u64 = run(&mut Source::new(&spec, LINE, OVERHEAD, clock, rng), until).iter().map(|f| u64::from(f.1) * 8).sum();
        let most = spec.most_bits(LINE, OVERHEAD, clock, until).unwrap();
        prop_assert!(bits as f64 <= most, "{bits} bits, more than {most}");
    }

    #[test]
    fn bytes_sent_are_the_limit_and_padding(
        arrivals in any_arrivals(), greedy in any::<bool>(), sizes in any_sizes(), limit in 1u64..40_000, seed in any::<u64>(),
    ) {
        let mut spec = spec(if greedy { Arrivals::Greedy } else { arrivals }, sizes);
        spec.limit = Some(Bytes::new(limit));
        let mut source = source(&spec, seed);
        let frames: Vec<u16> = if greedy {
            prop_assert_eq!(source.wake(Time::ZERO), Wake::Fill);
            std::iter::from_fn(|| source.take(Time::ZERO)).map(|made| made.bytes).collect()
        } else {
            run(&mut source, Time::from_ms(1_000)).iter().map(|frame| frame.1).collect()
        };
        let sent: u64 = frames.iter().map(|&bytes| u64::from(bytes)).sum();
        prop_assert_eq!(sent, limit + source.padding(), "{:?}", frames);
        // Only the last frame is cut or padded, and never to less than the smallest frame.
        let (least, most) = spec.frame_bounds();
        prop_assert!(frames.iter().all(|&bytes| bytes >= least && bytes <= most));
        let (last, others) = frames.split_last().unwrap();
        prop_assert!(others.iter().all(|&bytes| bytes >= spec.sizes.bounds().0 || spec.arrivals.cuts_frames()));
        prop_assert!(source.padding() == 0 || *last <= frame::MIN_FRAME_BYTES && source.padding() < u64::from(*last));
    }

    #[test]
    fn the_seed_alone_decides(arrivals in any_arrivals(), sizes in any_sizes(), seed in any::<u64>()) {
        let spec = spec(arrivals, sizes);
        let frames = |seed| run(&mut source(&spec, seed), Time::from_us(500));
        prop_assert_eq!(frames(seed), frames(seed));
    }

    #[test]
    fn nothing_panics_and_scripts_hold(
        rate in any::<u64>(), line in any::<u64>(), kind in 0u8..9, wire in any::<bool>(), overhead in any::<u16>(),
        sizes in (any::<u16>(), any::<u16>()), mean in any::<u64>(), shape in -1.0f64..4.0,
        start in any::<u64>(), stop in proptest::option::of(any::<u64>()),
        mut script in proptest::collection::vec((any::<u64>(), proptest::option::of(any::<u64>())), 0..6),
        limit in proptest::option::of(any::<u64>()), shift in 0u32..64, seed in any::<u64>(),
        jitter in any::<u64>(), ppb in -1_000_000i32..1_000_000,
    ) {
        script.sort_unstable();
        // Shifts the values, so that small numbers are as likely as large ones.
        let small = |x: u64| x >> shift;
        let rate = BitRate::from_bps(small(rate));
        let mean = Time::from_ps(small(mean));
        let arrivals = match kind {
            0 => Arrivals::Constant(ConstantParams { rate, random_phase: wire }),
            1 => Arrivals::Bernoulli(BernoulliParams { rate }),
            2 => Arrivals::Poisson(PoissonParams { rate }),
            5 => Arrivals::Threads(ThreadsParams { rate, count: 1 + seed % 5, burst: 1 + seed % 7, delay: mean, random_phase: wire }),
            6 => Arrivals::Streams(StreamsParams { rate, count: 1 + seed % 5, counted: seed % 2 == 0 }),
            7 => Arrivals::Bursts(BurstsParams { rate, frames: 1 + seed % 7 }),
            8 => Arrivals::Video(VideoParams { interval: mean.max(Time::from_ps(1)), counted: seed % 2 == 0, ..VideoParams::new(rate, 1 + seed % 3) }),
            3 => Arrivals::OnOff(OnOffParams { peak: rate, on: Period::Pareto { mean, shape }, off: Period::Exponential(mean) }),
            _ => Arrivals::OnOff(OnOffParams { peak: rate, on: Period::Exponential(mean), off: Period::Pareto { mean, shape } }),
        };
        let spec = SourceSpec {
            rate_basis: if wire { RateBasis::Wire } else { RateBasis::Frame },
            start: Time::from_ps(small(start)),
            stop: stop.map(|s| Time::from_ps(small(s))),
            script: script.into_iter().map(|(at, change)| (Time::from_ps(small(at)), match change {
                Some(rate) if rate % 3 > 0 => Change::Start(Some(BitRate::from_bps(small(rate)))),
                Some(_) => Change::Start(None),
                None => Change::Stop,
            })).collect(),
            limit: limit.map(|l| Bytes::new(small(l))),
            jitter: Time::from_ps(small(jitter)),
            ..spec(arrivals, FrameSizes::Uniform { min: sizes.0, max: sizes.1 })
        };
        let (clock, rng) = (ClockOffset::from_ppb(ppb), Xoshiro256PlusPlus::seed_from_u64(seed));
        let mut source = Source::new(&spec, BitRate::from_bps(small(line)), overhead, clock, rng.clone())
            .with_jitter(spec.jitter, rng);
        let (mut last, mut sent) = (Time::ZERO, 0u64);
        for _ in 0..300 {
            let Some(now) = source.next_wake() else { break };
            prop_assert!(now >= last);
            last = now;
            if let Wake::Emit(made) = source.wake(now) {
                sent += u64::from(made.bytes);
                prop_assert!(now >= spec.start && spec.stop.is_none_or(|stop| now < stop));
            }
        }
        prop_assert!(spec.limit.is_none_or(|limit| sent <= limit.get() + source.padding()));
        let offered = spec.offered_bps(BitRate::from_bps(small(line)), overhead, Time::ZERO, Time::from_ms(1)).unwrap();
        prop_assert!(offered >= 0.0 && !offered.is_nan(), "{}", offered);
    }
}
