//! Links other than plain Ethernet: line codes, slow links, lossy links. Times to the picosecond.

use crate::common::*;
use fabric::spec::{FaultSpec, Forwarding, HostSpec, SwitchSpec};
use fabric::{Simulation, State};
use frame::NodeId;
use std::sync::Arc;
use transport::{Application, ConnectionSpec, ControllerSpec, FixedWindowParams, WindowSpec};
use units::{Amount, BitRate, LineCode, Time};

/// a - sw - b with 1 us a link: link 0 and link 1.
fn line(rate: BitRate, duration: Time, forwarding: Forwarding) -> (Net, NodeId, NodeId) {
    let mut net = Net::new(duration);
    let (a, b) = (net.host("a", host()), net.host("b", host()));
    let sw = net.switch("sw", SwitchSpec { forwarding, ..switch() });
    net.link(a, sw, rate, us(1));
    net.link(sw, b, rate, us(1));
    (net, a, b)
}

fn loss(link: u32, towards: Option<NodeId>, until: Time, probability: f64) -> FaultSpec {
    FaultSpec::FrameLoss { link, towards, from: Time::ZERO, until, probability }
}

fn lost(outcome: &Outcome, port: &str) -> u64 {
    let rows = outcome.texts("drops", "port").iter().zip(outcome.texts("drops", "cause"));
    let rows = rows.zip(outcome.integers("drops", "frames"));
    rows.filter(|((at, cause), _)| *at == port && *cause == "link_loss").map(|(_, frames)| frames).sum()
}

const CODES: [(LineCode, u128, u128); 3] = [
    (LineCode::EightTen, 8, 10),
    (LineCode::SixtyFourSixtySix, 64, 66),
    (LineCode::OneTwentyEightOneThirty, 128, 130),
];

#[test]
fn frames_take_the_time_of_their_bits_on_the_wire() {
    for (code, data, wire) in CODES {
        for signalling in
            [1_000_000u64, 2_500_000_000, 3_333_333_333, 8_000_000_000, 14_062_500_000, 106_250_000_000]
        {
            // The last of ten frames, back to back over both links: the remainders of the first link are carried over.
            let span = |bytes: u128| {
                let ps = bytes * 8 * wire * 1_000_000_000_000 / (data * u128::from(signalling));
                Time::from_ps(ps as u64)
            };
            let rate = code.data_rate(BitRate::from_bps(signalling));
            let duration = us(10) + span(11 * 1020) * 2;
            let (mut net, a, b) = line(rate, duration, Forwarding::StoreAndForward);
            net.flow("f", a, 0, burst(b, 1000, 10, us(1)));
            let outcome = net.run();
            let (first, last) = outcome.latency("f");
            assert_eq!(first, span(1020) + span(1020) + us(2), "{code:?} {signalling}");
            // Every frame arrives at the second link when the previous one has left it, or a picosecond later.
            let late = (last.ps() - us(2).ps()).abs_diff(span(10 * 1020).ps() + span(1020).ps());
            assert!(late <= 1, "{code:?} {signalling}: {late} ps");
            // The table has the data rate.
            assert!((outcome.real("ports", "sw.1->b", "rate_bps") / rate.bps_f64() - 1.0).abs() < 1e-15);
            let busy = outcome.real("ports", "a.0->sw", "utilisation");
            let expected = span(10 * 1020).as_secs_f64() / duration.as_secs_f64();
            assert!((busy / expected - 1.0).abs() < 1e-6, "{busy} {expected}");
        }
    }
}

#[test]
fn a_head_takes_the_time_of_its_bits_on_the_wire() {
    // 130/128 at 8 GT/s: 1015.625 ps a byte. The head of 84 B, then the whole frame.
    let rate = LineCode::OneTwentyEightOneThirty.data_rate(gbps(8));
    let (mut net, a, b) = line(rate, us(20), Forwarding::CutThrough);
    net.flow("f", a, 0, one(b, 1000, us(1)));
    assert_eq!(net.run().only_latency("f"), Time::from_ps(85_312 + 1_035_937) + us(2));
}

#[test]
fn a_megabit_a_second_is_exact_too() {
    // 8 us per byte; a frame of 9000 B takes 72.16 ms. The other link is a million times as fast.
    let mut net = Net::new(Time::from_ms(2_000));
    let (a, b) = (net.host("a", host()), net.host("b", host()));
    let sw = net.switch("sw", switch());
    net.link(a, sw, BitRate::from_gbps(1600), us(1));
    net.link(sw, b, BitRate::from_bps(1_000_000), us(1));
    net.flow("f", a, 0, burst(b, 9000, 20, us(1)));
    let outcome = net.run();
    let way = us(2) + Time::from_ps(9020 * 5);
    assert_eq!(outcome.latency("f"), (way + us(72_160), way + us(72_160) * 20));
}

#[test]
fn a_link_loses_as_many_frames_as_it_should() {
    for (probability, towards_b) in [(0.001, true), (0.01, false), (0.3, true), (1.0, false)] {
        let (mut net, a, b) = line(gbps(10), Time::from_ms(20), Forwarding::StoreAndForward);
        net.flow("there", a, 0, greedy(b, 500, Time::ZERO));
        net.flow("back", b, 0, greedy(a, 500, Time::ZERO));
        let end = if towards_b { NodeId(2) } else { a };
        net.0.faults = vec![loss(0, Some(end), Time::from_ms(20), probability)];
        let outcome = net.run();
        let (arrives, other) = if towards_b { ("sw.0->a", "a.0->sw") } else { ("a.0->sw", "sw.0->a") };
        // Neither the other direction nor the other link loses any.
        assert_eq!((lost(&outcome, other), lost(&outcome, "sw.1->b")), (0, 0));
        let found = lost(&outcome, arrives) as f64;
        assert_eq!(outcome.summary("lost_link_loss"), found);
        assert_eq!(outcome.summary("frames_dropped"), found);
        // Frames take 416 ns and arrive, with 1 us of delay, within 20 ms; those towards a have been on the other link
        // before. Five standard deviations of a binomial count.
        let links = if towards_b { 1.0 } else { 2.0 };
        let count = (20e6 - links * 1416.0) / 416.0 + 1.0;
        let spread = (count * probability * (1.0 - probability)).sqrt();
        assert!((found - count * probability).abs() < 5.0 * spread + 1.0, "{probability}: {found}");
        // Lost frames are not delivered, and those sent in the last two microseconds are in flight.
        let sent = outcome.count("flows", if towards_b { "there" } else { "back" }, "frames_sent") as f64;
        let came = outcome.delivered(if towards_b { "there" } else { "back" }) as f64;
        assert!((0.0..=30.0).contains(&(sent - came - found)), "{sent} {came} {found}");
    }
}

/// Number of frames lost on link 0 on their way to the switch, and to a.
fn losses_of(net: &Net) -> (u64, u64) {
    let outcome = net.run();
    (lost(&outcome, "sw.0->a"), lost(&outcome, "a.0->sw"))
}

#[test]
fn directions_are_independent_and_nobody_shifts_anothers_draws() {
    let end = Time::from_ms(10);
    let build = |faults: Vec<FaultSpec>| {
        let (mut net, a, b) = line(gbps(10), end, Forwarding::StoreAndForward);
        net.flow("there", a, 0, greedy(b, 500, Time::ZERO));
        net.flow("back", b, 0, greedy(a, 500, Time::ZERO));
        net.0.faults = faults;
        net
    };
    let sw = NodeId(2);
    let both = losses_of(&build(vec![loss(0, None, end, 0.1)]));
    assert_ne!(both.0, both.1);
    // Losses of one direction do not depend on the other direction, on losses of pauses, or on other links.
    assert_eq!(losses_of(&build(vec![loss(0, Some(sw), end, 0.1)])), (both.0, 0));
    let others = vec![
        FaultSpec::PauseLoss { link: 0, from: Time::ZERO, until: end, probability: 0.5 },
        loss(0, Some(sw), end, 0.1),
        loss(1, Some(NodeId(1)), end, 0.7),
    ];
    assert_eq!(losses_of(&build(others)), (both.0, 0));
    // With two simultaneous causes, either of them loses the frame.
    let twice = losses_of(&build(vec![loss(0, Some(sw), end, 0.1), loss(0, None, Time::from_ms(5), 1.0)]));
    assert!(twice.0 > 12_000 && twice.1 > 11_900 && twice.1 < 12_100, "{twice:?}");
}

#[test]
fn losses_stop_no_run_and_are_the_same_on_any_number_of_threads() {
    let mut net = Net::new(Time::from_ms(2));
    let hosts: Vec<NodeId> = (0..4)
        .map(|n| net.host(&format!("h{n}"), HostSpec { flow_control: Some(pfc(1 << 3).into()), ..host() }))
        .collect();
    let switches: Vec<NodeId> = (0..2)
        .map(|n| {
            net.switch(&format!("s{n}"), SwitchSpec { flow_control: Some(pfc(1 << 3).into()), ..switch() })
        })
        .collect();
    for (n, &from) in hosts.iter().enumerate() {
        net.link(from, switches[n / 2], gbps(10), us(1));
    }
    net.link(switches[0], switches[1], gbps(10), us(1));
    for n in 0..3 {
        net.flow(&format!("f{n}"), hosts[n], 3, greedy(hosts[3], 800, Time::ZERO));
    }
    let end = Time::from_ms(2);
    net.0.faults = (0..5).map(|link| loss(link, None, end, 0.02)).collect();
    let outcome = net.run();
    assert!(outcome.summary("lost_link_loss") > 30.0 && outcome.summary("pauses_sent") > 10.0);
    assert_eq!(outcome.summary("headroom_violations"), 0.0);
    assert_eq!(outcome.summary("frames_dropped"), outcome.summary("lost_link_loss"));
    for threads in [2, 3] {
        let mut simulation = Simulation::on_threads(&net.0, threads).unwrap();
        while simulation.advance(5_000).unwrap() == State::Running {}
        assert_eq!(simulation.fingerprint(), outcome.fingerprint, "{threads} threads");
        assert_eq!(
            format!("{:?}", crate::common::spelt_out(simulation.tables())),
            format!("{:?}", outcome.tables),
            "{threads} threads"
        );
    }
}

#[test]
fn a_window_with_a_timeout_comes_through_a_lossy_link() {
    let (mut net, a, b) = line(gbps(10), Time::from_ms(50), Forwarding::StoreAndForward);
    let flow = net.flow("bulk", a, 0, greedy(b, 1000, Time::ZERO));
    flow.transport = Some(Arc::new(ConnectionSpec {
        start: us(1),
        stop: None,
        application: Application::Window(WindowSpec {
            bytes: Some(1_000_000),
            segment: 1000,
            controller: ControllerSpec::FixedWindow(FixedWindowParams { size: Amount::Frames(8) }),
            ack_bytes: 64,
            ack_every: 1,
            ack_delay: Time::ZERO,
            timeout: Some(us(50)),
            ecn_capable: false,
        }),
    }));
    net.0.faults = vec![loss(0, None, Time::from_ms(50), 0.02)];
    let outcome = net.run();
    // Data in one direction, acknowledgements in the other: both are lost, and all bytes arrive.
    assert!(lost(&outcome, "sw.0->a") > 5 && lost(&outcome, "a.0->sw") > 5);
    assert!(outcome.count("connections", "bulk", "segments_sent_again") > 5);
    assert_eq!(outcome.count("connections", "bulk", "application_bytes"), 1_000_000);
    assert!(outcome.real("connections", "bulk", "completed_ns") < 50e6);
    // The flow counts frames sent that have not arrived; lost acknowledgements are only in the table of losses.
    let count = |column| outcome.count("flows", "bulk", column);
    let (data, acks) = (lost(&outcome, "sw.0->a") + lost(&outcome, "b.0->sw"), lost(&outcome, "a.0->sw"));
    assert_eq!(count("frames_dropped"), count("frames_sent") - count("frames_delivered"));
    assert_eq!((count("frames_dropped"), outcome.total("classes", "frames_dropped")), (data, data));
    assert_eq!(outcome.summary("frames_dropped"), (data + acks) as f64);
    let parts = outcome.texts("drops", "part").iter().zip(outcome.integers("drops", "frames"));
    let of = |part: &str| parts.clone().filter(|(of, _)| *of == part).map(|(_, frames)| frames).sum::<u64>();
    assert_eq!((of("sent"), of("beside")), (data, acks));
}

#[test]
fn the_table_of_faults_names_the_direction() {
    let (mut net, a, b) = line(gbps(10), us(100), Forwarding::StoreAndForward);
    net.flow("f", a, 0, one(b, 500, us(1)));
    let from_10 =
        FaultSpec::FrameLoss { link: 1, towards: Some(b), from: us(10), until: us(20), probability: 0.5 };
    net.0.faults = vec![loss(0, None, us(50), 0.25), from_10];
    let outcome = net.run();
    assert_eq!(
        outcome.texts("faults", "what"),
        ["frame_loss_begins", "frame_loss_begins", "frame_loss_ends", "frame_loss_ends"]
    );
    assert_eq!(outcome.texts("faults", "where"), ["a<->sw", "sw->b", "sw->b", "a<->sw"]);
    assert_eq!(outcome.reals("faults", "value"), [0.25, 0.5, 0.5, 0.25]);
}
