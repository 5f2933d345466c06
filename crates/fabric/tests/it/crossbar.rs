//! Switches with a crossbar: crossing times, throughput of a saturated switch, and conservation of frames.

use crate::common::*;
use fabric::spec::{FaultSpec, Forwarding, Queueing, Reaction, Role, SwitchSpec};
use flow_control::CreditSettings;
use proptest::prelude::*;
use queueing::{
    Action, Arbitration, Counts, CrossbarKeys, IdleExponent, Inputs, ManagerSpec, Mode, RedParams, Room,
    Spacing, Speedup,
};
use scheduling::{AccountedLength, ScfqCaParams, SchedulerSpec};
use std::sync::Arc;
use units::{Amount, BitRate, Bytes, Time};
use workload::{Arrivals, BernoulliParams, Destinations, SourceSpec};

fn crossbar(keys: CrossbarKeys) -> SwitchSpec {
    SwitchSpec { queueing: Queueing::Crossbar(keys), ..switch() }
}

fn speedup(speedup: f64) -> CrossbarKeys {
    CrossbarKeys { speedup: Speedup::new(speedup).unwrap(), ..CrossbarKeys::default() }
}

#[test]
fn a_frame_alone_crosses_in_its_time_over_the_speedup() {
    // 1,000 B: 800 ns on each link, 1 us of cable each, and 800 ns / 1.6 to cross.
    let (mut net, h) = star(2, us(20), crossbar(speedup(1.25)));
    net.flow("f", h[0], 0, one(h[1], 1_000, us(1)));
    assert_eq!(exact(net.run().reals("flows", "latency_max_ns")[0]), ns(2 * 1_800 + 640));
}

#[test]
fn a_cut_through_switch_hands_it_over_with_its_head() {
    let spec = SwitchSpec { forwarding: Forwarding::CutThrough, latency: ns(145), ..crossbar(speedup(1.5)) };
    let (mut net, h) = star(2, us(20), spec);
    net.flow("f", h[0], 0, one(h[1], 1_000, us(1)));
    // The head of 64 B takes 51.2 ns.
    assert_eq!(
        exact(net.run().reals("flows", "latency_max_ns")[0]),
        ps(1_800_000 + 51_200 + 145_000 + 1_000_000)
    );
}

#[test]
fn an_input_sends_one_frame_at_a_time() {
    // Two frames from one host to two others: the second crosses after the first, although its output is idle.
    let (mut net, h) = star(3, us(20), crossbar(speedup(1.0)));
    net.flow("a", h[0], 0, one(h[1], 1_000, us(1)));
    net.flow("b", h[0], 0, one(h[2], 100, us(1)));
    let outcome = net.run();
    let latencies = outcome.reals("flows", "latency_max_ns");
    assert_eq!(exact(latencies[0]), ns(2 * 1_800 + 800));
    // The first arrives after 1.8 us and takes 800 ns to cross, followed by 80 ns for the second to cross, and 80 ns
    // and 1 us on the link.
    assert_eq!(exact(latencies[1]), ns(1_800 + 800 + 80 + 80 + 1_000));
}

#[test]
fn the_table_tells_what_waited_at_each_input_since_the_warm_up() {
    // As above, but the second frame arrives 80 ns after the first, at 2.88 us, and waits until 3.6 us.
    let (mut net, h) = star(3, us(20), crossbar(speedup(1.0)));
    net.flow("a", h[0], 0, one(h[1], 1_000, us(1)));
    net.flow("b", h[0], 0, one(h[2], 100, us(1)));
    let whole = net.run();
    assert_eq!(whole.integers("crossbars", "frames"), [2, 0, 0]);
    let waits = |outcome: &Outcome, column| exact(outcome.reals("crossbars", column)[0]);
    assert_eq!((waits(&whole, "wait_max_ns"), waits(&whole, "wait_mean_ns")), (ns(720), ns(360)));
    let bytes = |outcome: &Outcome| outcome.reals("crossbars", "bytes_mean")[0];
    assert!((bytes(&whole) - 100.0 * 720.0 / 20_000.0).abs() < 1e-9, "{}", bytes(&whole));
    // Measurement starts in the middle of the wait: the first frame does not count, nor does the part of the second's
    // wait before.
    net.0.warmup = ns(3_200);
    let late = net.run();
    assert_eq!(late.integers("crossbars", "frames"), [1, 0, 0]);
    assert_eq!(late.integers("crossbars", "bytes_max"), [100, 0, 0]);
    assert_eq!(waits(&late, "wait_max_ns"), ns(720));
    assert!((bytes(&late) - 100.0 * 400.0 / 16_800.0).abs() < 1e-9, "{}", bytes(&late));
}

/// Saturated senders, as many receivers, uniform destinations: returns the utilisation of the outputs in the second
/// half.
fn saturation(ports: usize, keys: CrossbarKeys, duration: Time) -> f64 {
    let warmup = Time::from_ps(duration.ps() / 2);
    let (mut net, h) = star(2 * ports, duration, crossbar(keys));
    net.0.warmup = warmup;
    for sender in 0..ports {
        let to = Destinations::Uniform(h[ports..].to_vec());
        let source = SourceSpec { destinations: to, ..greedy(h[ports], 1_000, Time::ZERO) };
        net.flow(&format!("f{sender}"), h[sender], 0, source);
    }
    let outcome = net.run();
    let bytes: u64 = outcome.integers("flows", "bytes_delivered").iter().sum();
    bytes as f64 * 8.0 / ((duration - warmup).as_secs_f64() * 1e10 * ports as f64)
}

/// Karol, Hluchyj and Morgan 1987, table I.
#[test]
fn fifo_inputs_saturate_where_karol_says() {
    for (ports, expected) in [(2, 0.75), (4, 0.6553), (8, 0.6184)] {
        let keys = CrossbarKeys { inputs: Inputs::Fifo, output_buffer: Bytes::new(1 << 20), ..speedup(1.0) };
        let load = saturation(ports, keys, us(8_000));
        assert!((load - expected).abs() < 0.01, "{ports}: {load}");
    }
}

/// Karol, Hluchyj and Morgan 1987, section II: a frame waits (N - 1) / N * p / (2 (1 - p)) slots at its output, if no
/// frame waits at inputs. A crossbar as fast as all inputs together gives the same result, apart from the crossing
/// time.
#[test]
fn output_queues_wait_as_karol_says() {
    let mean_wait = |ports: usize, load: f64, spec: SwitchSpec, crosses: f64| {
        let (mut net, h) = star(2 * ports, us(60_000), spec);
        net.0.warmup = us(4_000);
        let rate = BitRate::from_bps((load * 1e10) as u64);
        for sender in 0..ports {
            let source = SourceSpec {
                arrivals: Arrivals::Bernoulli(BernoulliParams { rate }),
                destinations: Destinations::Uniform(h[ports..].to_vec()),
                ..greedy(h[ports], 1_000, Time::ZERO)
            };
            net.flow(&format!("f{sender}"), h[sender], 0, source);
        }
        let outcome = net.run();
        let frames = outcome.integers("flows", "frames_delivered");
        let means = outcome.reals("flows", "latency_mean_ns");
        let all: f64 = frames.iter().zip(means).map(|(&frames, mean)| frames as f64 * mean).sum();
        // Two links of 800 ns and 1 us each are not waiting time.
        (all / frames.iter().sum::<u64>() as f64 - 3_600.0 - crosses) / 800.0
    };
    for (ports, load) in [(2, 0.5), (4, 0.8), (8, 0.8)] {
        let expected = (ports - 1) as f64 / ports as f64 * load / (2.0 * (1.0 - load));
        let queued = mean_wait(ports, load, switch(), 0.0);
        assert!((queued / expected - 1.0).abs() < 0.04, "{ports}, {load}: {queued} for {expected}");
    }
    let keys = CrossbarKeys { output_buffer: Bytes::new(1 << 20), ..speedup(16.0) };
    // Of four head frames for one output, the last has crossed after four times 50 ns: a sixteenth of a slot each.
    let expected = 0.75 * 0.8 / 0.4;
    let crossed = mean_wait(4, 0.8, crossbar(keys), 50.0);
    assert!((crossed / expected - 1.0).abs() < 0.04, "{crossed} for {expected}");
}

#[test]
fn virtual_output_queues_with_islip_fill_the_switch() {
    let keys = CrossbarKeys { arbitration: Arbitration::Islip, ..speedup(1.0) };
    // The queues at inputs grow until every output always finds a frame.
    let load = saturation(4, keys, us(40_000));
    assert!(load > 0.99, "{load}");
}

#[test]
fn a_little_faster_than_the_links_is_enough() {
    let load = saturation(4, speedup(1.5), us(8_000));
    assert!(load > 0.99, "{load}");
}

fn arbitrary_keys() -> impl Strategy<Value = CrossbarKeys> {
    let speedups = prop::sample::select(vec![1.0, 1.5, 2.0, 16.0]);
    (speedups, any::<bool>(), any::<bool>(), any::<bool>(), 1u64..4, 1_600u64..6_000).prop_map(
        |(faster, islip, fifo, frame, iterations, room)| CrossbarKeys {
            speedup: Speedup::new(faster).unwrap(),
            arbitration: if islip { Arbitration::Islip } else { Arbitration::RoundRobin },
            inputs: if fifo { Inputs::Fifo } else { Inputs::VirtualOutput },
            room: if frame { Room::Frame } else { Room::Longest },
            output_buffer: Bytes::new(room),
            iterations,
        },
    )
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 24, ..ProptestConfig::default() })]

    /// Two switches with crossbars under credits: no frame is lost, all credits are returned, and the number of threads
    /// has no effect.
    #[test]
    fn frames_and_credits_keep_their_books(
        keys in arbitrary_keys(),
        with_credits in any::<bool>(),
        cut in any::<bool>(),
        tagged in any::<bool>(),
        sizes in prop::collection::vec(64u16..1_500, 6),
    ) {
        let mut spec = crossbar(keys);
        spec.forwarding = if cut { Forwarding::CutThrough } else { Forwarding::StoreAndForward };
        if tagged {
            spec.scheduler = SchedulerSpec::ScfqCa(ScfqCaParams { ..ScfqCaParams::by(AccountedLength::FRAME) });
        }
        let mut net = Net::new(us(120));
        let left: Vec<_> = (0..3).map(|nth| net.host(&format!("a{nth}"), host())).collect();
        let right: Vec<_> = (0..3).map(|nth| net.host(&format!("b{nth}"), host())).collect();
        let (x, y) = (net.switch("x", spec.clone()), net.switch("y", spec));
        left.iter().for_each(|&host| { net.link(host, x, gbps(10), ns(300)); });
        right.iter().for_each(|&host| { net.link(host, y, gbps(10), ns(300)); });
        net.link(x, y, gbps(20), ns(700));
        for (nth, &bytes) in sizes.iter().enumerate() {
            let (from, to) = if nth < 3 { (left[nth], right[(nth + 1) % 2]) } else { (right[nth - 3], left[nth - 3]) };
            let mut source = greedy(to, bytes, us(nth as u64));
            source.stop = Some(us(60));
            net.flow(&format!("f{nth}"), from, (nth * 3 % 8) as u8, source);
        }
        if with_credits {
            net = credits::with_credits(net, &CreditSettings::default().spec());
        }
        let alone = net.run();
        prop_assert_eq!(alone.integers("flows", "frames_dropped").iter().sum::<u64>(), 0);
        for threads in [2, 3] {
            prop_assert_eq!(net.run_on(threads, 3_000).fingerprint, alone.fingerprint);
        }
        prop_assert_eq!(net.run_in_steps(77).fingerprint, alone.fingerprint);
    }
}

#[test]
fn pfc_stops_who_fills_an_input() {
    // Two hosts send to one: inputs fill up to XOFF, and no frame is lost.
    let pauses = pfc_at(0xFF, 20, 10);
    let spec = SwitchSpec { flow_control: Some(pauses.clone().into()), ..crossbar(CrossbarKeys::default()) };
    let (mut net, h) = star(3, us(1_000), spec);
    for node in &mut net.0.nodes {
        if let Role::Host(host) = &mut node.role {
            Arc::make_mut(host).flow_control = Some(pauses.clone().into());
        }
    }
    net.flow("a", h[0], 3, greedy(h[2], 1_000, Time::ZERO));
    net.flow("b", h[1], 3, greedy(h[2], 1_000, Time::ZERO));
    let outcome = net.run();
    let frames = outcome.integers("flows", "frames_delivered");
    assert!(frames.iter().sum::<u64>() as f64 > 0.99 * 1_250.0, "{frames:?}");
    assert!(frames[0].abs_diff(frames[1]) <= 30, "{frames:?}");
    assert_eq!(outcome.total("flows", "frames_dropped"), 0);
    let roots: std::collections::BTreeSet<_> = outcome.texts("congestion", "root").iter().collect();
    assert_eq!(roots.into_iter().collect::<Vec<_>>(), ["sw.2->h2/3"]);
    assert_eq!(outcome.texts("congestion_flows", "part"), ["culprit", "culprit"]);
    // Above XOFF are the crossing frames that were counted at an input, and the frames that arrive in a round trip.
    let most = *outcome.integers("crossbars", "frames_max").iter().max().unwrap();
    assert!((20..30).contains(&most), "{most}");
}

#[test]
fn a_manager_and_an_outage_meet_frames_at_their_output() {
    let run = |change: fn(&mut Net, &mut SwitchSpec)| {
        let mut spec = crossbar(CrossbarKeys::default());
        let (mut net, h) = star(3, us(1_000), spec.clone());
        change(&mut net, &mut spec);
        net.0.nodes[3].role = Role::Switch(Arc::new(spec));
        net.flow("a", h[0], 0, paced(h[2], 1_000, 500, Time::ZERO, us(1)));
        net.flow("b", h[1], 0, paced(h[2], 1_000, 500, Time::ZERO, us(1)));
        net.run()
    };
    let counts = |outcome: &Outcome| {
        (outcome.total("flows", "frames_delivered"), outcome.total("flows", "frames_dropped"))
    };
    assert_eq!(counts(&run(|_, _| {})), (1_000, 0));
    // Each sender fills four fifths of the link. RED drops frames that find three others at the output.
    let dropped = run(|_, spec| {
        let red = RedParams {
            weight: 1.0,
            min: Amount::Frames(2),
            max: Amount::Frames(3),
            max_probability: 1.0,
            gentle: false,
            mode: Mode::Frame,
            spacing: Spacing::Geometric,
            action: Action::Drop,
            mark_above_max: false,
            mean_frame: Bytes::new(1_000),
            counts: Counts::WithoutFrame,
            idle_exponent: IdleExponent::Elapsed,
            at: queueing::Moment::Enqueue,
            reference_rate: None,
            yellow: None,
            red: None,
        };
        spec.managers = vec![Some(ManagerSpec::Red(red))].into();
    });
    assert!(
        counts(&dropped).1 > 300 && counts(&dropped).0 + counts(&dropped).1 == 1_000,
        "{:?}",
        counts(&dropped)
    );
    // Down from 100 us to 200 us: frames that cross in this time are lost, and so is one on the link.
    let down = run(|net, _| {
        let reaction = Reaction { keep: false, reroute: None };
        let up = FaultSpec::LinkUp { link: 2, at: us(200) };
        net.0.faults = vec![FaultSpec::LinkDown { link: 2, at: us(100), reaction }, up];
    });
    assert_eq!(counts(&down).0 + counts(&down).1, 1_000);
    assert!((195..=215).contains(&counts(&down).1), "{:?}", counts(&down));
}
