//! Transfers: arrival of the last byte, to the picosecond, compared with runs without other traffic and with
//! calculations.

use crate::common::*;
use fabric::choice::PathChoice;
use fabric::spec::{Forwarding, HostSpec, OnLosslessDrop, ReceiveSpec, SendSpec, SwitchSpec, WhenFull};
use frame::NodeId;
use proptest::prelude::*;
use queueing::BufferSpec;
use std::sync::Arc;
use transport::{Application, ConnectionSpec, Scheduled, TcpKeys, TcpPreset, TcpSpec};
use units::{Amount, BitRate, Bytes, ClockTolerance, Time};
use workload::{Framing, ServiceOrder};

const FRAMING: Framing = Framing { frame: 1018, header: 18 };

/// Completion and ideal time of each transfer, in picoseconds; `None` if it is not complete.
fn times(outcome: &Outcome) -> Vec<(Option<u64>, u64)> {
    let took = outcome.reals("transfers", "completion_ns").iter();
    let ideal = outcome.reals("transfers", "ideal_ns").iter();
    let pair =
        |(&took, &ideal): (&f64, &f64)| ((!took.is_nan()).then(|| exact(took).ps()), exact(ideal).ps());
    took.zip(ideal).map(pair).collect()
}

#[test]
fn by_hand() {
    // Two links of 10 Gb/s, 800 ps per byte, 5 ns each. 2500 B: frames of 1018, 1018 and 518 B, with 20 B of overhead
    // each. The last leaves the host after 1038 + 1038 + 538 B and is forwarded by the switch immediately.
    let mut net = Net::new(us(100));
    let hosts = [net.host("a", host()), net.host("b", host())];
    let sw = net.switch("sw", switch());
    net.attach(&hosts, sw, gbps(10), ns(5));
    let rows = [(us(3), 0, 2500), (us(50), 0, 1)];
    net.flow("t[a]", hosts[0], 3, transfers(&hosts[1..], FRAMING, ServiceOrder::Fifo, &rows));
    let outcome = net.run();
    // At the switch, the second frame does not wait, and the third arrives while it is being sent.
    let first = 1038 * 800 + 5_000 + (1038 + 1038 + 538) * 800 + 5_000;
    let second = 2 * (84 * 800 + 5_000);
    assert_eq!(times(&outcome), [(Some(first), first), (Some(second), second)]);
    assert_eq!(outcome.texts("transfers", "name"), ["t", "t"]);
    assert_eq!(outcome.texts("transfers", "source"), ["a", "a"]);
    assert_eq!(outcome.texts("transfers", "destination"), ["b", "b"]);
    assert_eq!(outcome.integers("transfers", "class"), [3, 3]);
    assert_eq!(outcome.integers("transfers", "frames"), [3, 1]);
    assert_eq!(outcome.integers("transfers", "path"), [0, 0]);
    assert_eq!(outcome.reals("transfers", "slowdown"), [1.0, 1.0]);
    assert_eq!(outcome.count("flows", "t[a]", "padding_bytes"), 45);
    assert_eq!(outcome.delivered("t[a]"), 4);
}

#[test]
fn in_turn_or_one_after_the_other() {
    // One link, 800 ps per byte: a full frame with its line overhead takes 830.4 ns. Five frames to b, and two to c 1
    // us later, when the second frame of the first is on the link, the third is in the NIC, and b has the next turn.
    let run = |order| {
        let mut net = Net::new(us(100));
        let hosts = [net.host("a", host()), net.host("b", host()), net.host("c", host())];
        let sw = net.switch("sw", switch());
        net.attach(&hosts, sw, gbps(10), Time::ZERO);
        let rows = [(Time::ZERO, 0, 5000), (us(1), 1, 2000)];
        net.flow("t", hosts[0], 0, transfers(&hosts[1..], FRAMING, order, &rows));
        times(&net.run()).iter().map(|one| one.0.unwrap()).collect::<Vec<_>>()
    };
    let full = 1038 * 800;
    assert_eq!(run(ServiceOrder::Fifo), [6 * full, 8 * full - 1_000_000]);
    // Order of transmission: b b b b c b c.
    assert_eq!(run(ServiceOrder::RoundRobin), [7 * full, 8 * full - 1_000_000]);
}

/// A path of one to four links: rates in bit/s, delays, cut-through switches, and more.
#[derive(Clone, Debug)]
struct Way {
    rates: Vec<u64>,
    delay: u64,
    cuts_through: Vec<bool>,
    clocks: bool,
    slow_host: Option<(u64, Option<u64>)>,
    costly_sender: Option<(u64, Option<u64>)>,
    frame: u16,
    header: u16,
    bytes: u64,
    start: u64,
}

fn ways() -> impl Strategy<Value = Way> {
    let rate = prop::sample::select(vec![
        10_000_000_000u64,
        25_000_000_000,
        40_000_000_000,
        100_000_000_000,
        400_000_000_000,
        3_200_000_000_000,
        9_999_999_000,
        1_250_000_001,
    ]);
    let host = prop::option::weighted(
        0.3,
        (0..2_000u64, prop::option::of(prop::sample::select(vec![4_304_000_000u64, 33_333_333_000]))),
    );
    let path = (prop::collection::vec(rate, 1..=4), 0..3_000u64, prop::collection::vec(any::<bool>(), 4));
    let size = (64..1600u16, 0..40u16, 1..60_000u64, 0..1_000_000u64);
    let hosts = (host.clone(), host);
    (path, any::<bool>(), hosts, size).prop_map(|((rates, delay, cuts_through), clocks, hosts, size)| {
        let (slow_host, costly_sender) = hosts;
        let (frame, header, bytes, start) = size;
        Way { rates, delay, cuts_through, clocks, slow_host, costly_sender, frame, header, bytes, start }
    })
}

proptest! {
    #![proptest_config(ProptestConfig { cases: cases(400), ..ProptestConfig::default() })]

    #[test]
    fn the_ideal_time_is_that_of_an_idle_run(way in ways()) {
        let mut net = Net::new(us(1_000_000));
        let send = way.costly_sender.map(|(ns_per_frame, rate)| SendSpec {
            time_per_frame: ns(ns_per_frame),
            rate: rate.map(BitRate::from_bps),
            ..SendSpec::default()
        });
        let mut last = net.host("a", HostSpec { send, ..host() });
        let first = last;
        for (n, &rate) in way.rates.iter().enumerate() {
            let next = if n + 1 == way.rates.len() {
                let receive = way.slow_host.map(|(ns_per_frame, rate)| ReceiveSpec {
                    time_per_frame: ns(ns_per_frame),
                    rate: rate.map(BitRate::from_bps),
                    ..ReceiveSpec::default()
                });
                net.host("b", HostSpec { receive, ..host() })
            } else {
                let cut = way.cuts_through[n];
                let forwarding = if cut { Forwarding::CutThrough } else { Forwarding::StoreAndForward };
                net.switch(&format!("s{n}"), SwitchSpec { forwarding, latency: ns(300), ..switch() })
            };
            net.link(last, next, BitRate::from_bps(rate), ns(way.delay));
            last = next;
        }
        if way.clocks {
            let tolerance: ClockTolerance = "100 ppm".parse().unwrap();
            net.0.nodes.iter_mut().for_each(|node| node.clock_tolerance = tolerance);
        }
        let framing = Framing { frame: way.frame, header: way.header.min(way.frame - 1) };
        let rows = [(ns(way.start), 0, way.bytes)];
        net.flow("t", first, 0, transfers(&[last], framing, ServiceOrder::RoundRobin, &rows));
        let found = times(&net.run());
        prop_assert_eq!(found[0].0, Some(found[0].1));
    }
}

#[test]
fn long_transfers_have_the_ideal_time_of_an_idle_run_too() {
    for cut in [Forwarding::CutThrough, Forwarding::StoreAndForward] {
        for rates in [[100, 10, 25], [10, 100, 40], [25, 25, 25]] {
            let mut net = Net::new(us(1_000_000));
            let spec = SwitchSpec { forwarding: cut, ..switch() };
            let nodes = [
                net.host("a", host()),
                net.switch("s", spec.clone()),
                net.switch("t", spec.clone()),
                net.host("b", host()),
            ];
            for (n, &rate) in rates.iter().enumerate() {
                net.link(nodes[n], nodes[n + 1], gbps(rate), ns(77));
            }
            let rows = [(us(1), 0, 5_000_001)];
            net.flow("t", nodes[0], 0, transfers(&nodes[3..], FRAMING, ServiceOrder::Fifo, &rows));
            let found = times(&net.run());
            assert_eq!(found[0].0, Some(found[0].1));
        }
    }
}

/// Adds transfers over TCP.
fn over_tcp(
    net: &mut Net,
    name: &str,
    from: NodeId,
    to: &[NodeId],
    keys: &TcpKeys,
    rows: &[(Time, u32, u64)],
) {
    let spec = keys.sized(Some(Bytes::new(0)), 1_522, 64).unwrap();
    let framing = Framing { frame: 1_522, header: spec.headers };
    let flow = net.flow(name, from, 3, transfers(to, framing, ServiceOrder::RoundRobin, rows));
    let application = Application::Transfers(Scheduled::Tcp(spec.into()));
    flow.transport = Some(Arc::new(ConnectionSpec { start: Time::ZERO, stop: None, application }));
}
fn exact_times(outcome: &Outcome, column: &str) -> Vec<Option<u64>> {
    let reals = outcome.reals("transfers", column).iter();
    reals.map(|&real| (!real.is_nan()).then(|| exact(real).ps())).collect()
}

#[test]
fn over_tcp_by_hand() {
    // One switch, 800 ps per byte, 1 us of cable each. The initial window is two segments; each acknowledgement adds
    // one.
    let keys = TcpKeys {
        handshake: true,
        reconnect: true,
        ack_every: 1,
        initial_window: Amount::Frames(2),
        ..TcpPreset::Rfc.keys()
    };
    let mut net = Net::new(us(1_000));
    let hosts = [net.host("a", host()), net.host("b", host()), net.host("c", host())];
    let sw = net.switch("sw", switch());
    net.attach(&hosts, sw, gbps(10), us(1));
    let rows = [(us(3), 0, 1_460 * 2), (us(100), 1, 1_460 * 6), (us(200), 0, 10), (us(200), 0, 10)];
    over_tcp(&mut net, "t[a]", hosts[0], &hosts[1..], &keys, &rows);
    let outcome = net.run();
    let wire = |bytes: u64| (bytes + 20) * 800;
    let way = |bytes: u64| (wire(bytes) + 1_000_000) * 2;
    let greeting = way(64) * 2;
    // Two segments back to back.
    let first = greeting + way(1_522) + wire(1_522);
    // Two segments, a round trip later four, the last of which waits only for the previous one.
    let round = way(1_522) + way(64);
    let second = greeting + round + way(1_522) + wire(1_522) * 3;
    // Both start together: one handshake follows the other, and so do the later segments.
    let third = greeting + way(72);
    let delivered = [first, second, third, third + wire(72)];
    assert_eq!(exact_times(&outcome, "completion_ns"), delivered.map(Some));
    assert_eq!(exact_times(&outcome, "ideal_ns"), [first, second, third, third].map(Some));
    assert_eq!(exact_times(&outcome, "acknowledged_ns"), delivered.map(|at| Some(at + way(64))));
    assert_eq!(outcome.integers("transfers", "frames"), [2, 6, 1, 1]);
    assert_eq!(outcome.integers("transfers", "segments_sent_again"), [0; 4]);
    assert_eq!(outcome.table("connections").rows(), 0);
    assert_eq!(outcome.delivered("t[a]"), 10);
}

proptest! {
    #![proptest_config(ProptestConfig { cases: cases(200), ..ProptestConfig::default() })]

    #[test]
    fn the_ideal_time_over_tcp_is_that_of_an_idle_run(
        way in ways(),
        preset in prop::sample::select(vec![
            TcpPreset::Rfc, TcpPreset::Ns2, TcpPreset::Linux, TcpPreset::Mcalpine2005, TcpPreset::Datacenter,
        ]),
        handshake in any::<bool>(),
        ack_every in 1u64..4,
        bytes in 1u64..3_000_000,
    ) {
        let mut net = Net::new(us(3_000_000));
        net.0.probes.bin = None;
        let mut last = net.host("a", host());
        let first = last;
        for (n, &rate) in way.rates.iter().enumerate() {
            let next = if n + 1 == way.rates.len() {
                net.host("b", host())
            } else {
                let cut = way.cuts_through[n];
                let forwarding = if cut { Forwarding::CutThrough } else { Forwarding::StoreAndForward };
                net.switch(&format!("s{n}"), SwitchSpec { forwarding, latency: ns(300), ..switch() })
            };
            net.link(last, next, BitRate::from_bps(rate), ns(way.delay * 20));
            last = next;
        }
        let keys = TcpKeys { handshake, ack_every, ..preset.keys() };
        over_tcp(&mut net, "t", first, &[last], &keys, &[(ns(way.start), 0, bytes)]);
        let found = times(&net.run());
        prop_assert_eq!(found[0].0, Some(found[0].1));
    }
}

/// A leaf-spine of two leaves with four hosts each and two spines; transfers of many sizes between all hosts, and an
/// incast.
fn busy(choice: PathChoice, pause: bool) -> Net {
    let mut net = Net::new(us(400));
    net.0.on_lossless_drop = OnLosslessDrop::Count;
    let flow_control = pause.then(|| pfc_at(0x08, 20, 10).into());
    let spec = SwitchSpec {
        path_choice: choice,
        flow_control: flow_control.clone(),
        buffer: BufferSpec { queue: (!pause).then_some(Amount::Frames(30)), ..BufferSpec::default() },
        ..switch()
    };
    let limits = HostSpec { flow_control, queue_limit: Some(Amount::Frames(3)), ..host() };
    let hosts: Vec<NodeId> = (0..8).map(|n| net.host(&format!("h{n}"), limits.clone())).collect();
    let leaves = [net.switch("l0", spec.clone()), net.switch("l1", spec.clone())];
    let spines = [net.switch("s0", spec.clone()), net.switch("s1", spec)];
    for (n, &end) in hosts.iter().enumerate() {
        net.link(end, leaves[n / 4], gbps(25), ns(150));
    }
    for leaf in leaves {
        for spine in spines {
            net.link(leaf, spine, gbps(40), ns(300));
        }
    }
    for (n, &from) in hosts.iter().enumerate() {
        let others: Vec<NodeId> = hosts.iter().copied().filter(|&to| to != from).collect();
        let row = |k: u64| {
            (ns(5000 * k + 13 * n as u64), (k * k % 7) as u32, 1 + (k * 7919 + n as u64 * 31) % 20_000)
        };
        let rows: Vec<_> = (0..70).map(row).collect();
        let order = if n % 2 == 0 { ServiceOrder::RoundRobin } else { ServiceOrder::Fifo };
        net.flow(&format!("web[h{n}]"), from, 3, transfers(&others, FRAMING, order, &rows));
        if n > 0 {
            let rows: Vec<_> = (0..4).map(|k| (us(50 * k), 0, 15_000)).collect();
            net.flow(&format!("incast[h{n}]"), from, 3, transfers(&hosts[..1], FRAMING, order, &rows));
        }
    }
    net
}

#[test]
fn over_tcp_the_same_on_any_number_of_threads() {
    for choice in [PathChoice::default(), PathChoice::Spray] {
        let mut net = busy(choice, false);
        let keys = TcpKeys { min_timeout: us(50), initial_timeout: us(50), ..TcpPreset::Datacenter.keys() };
        let spec = keys.sized(Some(Bytes::new(0)), 1_018, 64).unwrap();
        let spec = Arc::new(TcpSpec { headers: 18, segment: 1_000, ..spec });
        for flow in &mut net.0.flows {
            let application = Application::Transfers(Scheduled::Tcp(spec.clone()));
            flow.transport = Some(Arc::new(ConnectionSpec { start: Time::ZERO, stop: None, application }));
        }
        net.0.duration = us(2_000);
        let one = net.run();
        net.assert_threads_agree(&one);
        // Frames are lost and retransmitted: all transfers arrive, and a sender completes later than its receiver.
        assert!(one.summary("frames_dropped") > 0.0 && one.total("transfers", "segments_sent_again") > 0);
        assert_eq!((one.table("transfers").rows(), one.total("transfers", "frames_missing")), (588, 0));
        let known = exact_times(&one, "acknowledged_ns").into_iter().flatten();
        let there = exact_times(&one, "completion_ns").into_iter().flatten();
        assert_eq!(known.clone().zip(there).filter(|(known, there)| known > there).count(), 588);
    }
}

#[test]
fn the_same_on_any_number_of_threads() {
    for (choice, pause) in
        [(PathChoice::default(), true), (PathChoice::Spray, true), (PathChoice::default(), false)]
    {
        let net = busy(choice, pause);
        let one = net.run();
        net.assert_threads_agree(&one);
        let rows = one.table("transfers").rows();
        assert_eq!(rows, 8 * 70 + 7 * 4);
        let starts = one.reals("transfers", "start_ns");
        assert!(starts.windows(2).all(|pair| pair[0] <= pair[1]));
        // The frames received by transfers equal the frames delivered.
        let frames: u64 = one.total("transfers", "frames") - one.total("transfers", "frames_missing");
        assert_eq!(frames, one.total("flows", "frames_delivered"));
        let complete = times(&one).iter().filter(|one| one.0.is_some()).count();
        if pause {
            // No frame is lost, neither in the fabric nor in the small queues of the NICs: all sent frames arrived.
            assert_eq!((one.summary("frames_dropped"), complete > rows / 2), (0.0, true));
            assert!(one.summary("pauses_sent") > 0.0);
        } else {
            assert!(one.summary("frames_dropped") > 0.0 && complete < rows);
        }
        // No transfer is faster than its ideal, whichever paths the switches chose.
        for (took, ideal) in times(&one) {
            assert!(took.is_none_or(|took| took >= ideal), "{took:?} {ideal}");
        }
    }
}

#[test]
fn a_full_nic_holds_transfers_back_or_loses_their_frames() {
    let run = |when_full| {
        let mut net = Net::new(us(100));
        let limits = HostSpec { queue_limit: Some(Amount::Frames(1)), when_full, ..host() };
        let hosts = [net.host("a", limits), net.host("b", host())];
        net.link(hosts[0], hosts[1], gbps(10), Time::ZERO);
        for name in ["one", "two", "three"] {
            let rows = [(Time::ZERO, 0, 10_000)];
            net.flow(name, hosts[0], 0, transfers(&hosts[1..], FRAMING, ServiceOrder::Fifo, &rows));
        }
        net.run()
    };
    let waits = run(WhenFull::Block);
    assert_eq!((waits.summary("frames_dropped"), waits.total("transfers", "frames_missing")), (0.0, 0));
    // Thirty frames follow each other on the link.
    let last = times(&waits).iter().map(|one| one.0.unwrap()).max();
    assert_eq!(last, Some(30 * 1038 * 800));
    let drops = run(WhenFull::Drop);
    let lost = drops.summary("frames_dropped") as u64;
    assert!(lost > 0 && drops.total("transfers", "frames_missing") == lost);
    assert!(times(&drops).iter().any(|one| one.0.is_none()));
}

#[test]
fn those_that_have_not_begun_are_not_listed_and_those_before_the_warmup_are() {
    let mut net = Net::new(us(100));
    net.0.warmup = us(50);
    let hosts = [net.host("a", host()), net.host("b", host())];
    net.link(hosts[0], hosts[1], gbps(10), Time::ZERO);
    let rows = [(us(1), 0, 1000), (us(60), 0, 1000), (us(99), 0, 100_000), (us(200), 0, 1)];
    net.flow("t", hosts[0], 0, transfers(&hosts[1..], FRAMING, ServiceOrder::Fifo, &rows));
    let outcome = net.run();
    let full = 1038 * 800;
    let found = times(&outcome);
    assert_eq!(found[..2], [(Some(full), full); 2]);
    assert_eq!((found[2].0, found.len()), (None, 3));
    // 1 us has passed: one frame of a hundred has arrived.
    assert_eq!(outcome.integers("transfers", "frames_missing"), [0, 0, 99]);
    assert!(outcome.reals("transfers", "slowdown")[2].is_nan());
}
