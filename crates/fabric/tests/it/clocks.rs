//! Clocks of stations: the effects of inexact clocks, and of equal ones.

use crate::common::*;
use fabric::Simulation;
use fabric::spec::{HostSpec, SwitchSpec};
use queueing::BufferSpec;
use units::{Amount, ClockTolerance, Time};
use workload::{Arrivals, ConstantParams, SourceSpec};

const PPM_100: ClockTolerance = ClockTolerance::from_ppm(100);

/// Senders h0, h1, ... and a sink at one switch, 10 Gb/s; a frame of 1230 B takes 1 us.
fn star(senders: usize, buffer: BufferSpec, duration: Time, source: fn(frame::NodeId) -> SourceSpec) -> Net {
    let mut net = Net::new(duration);
    let sw = net.switch("sw", SwitchSpec { buffer, ..switch() });
    let sink = net.host("sink", host());
    net.link(sw, sink, gbps(10), ns(15));
    for i in 0..senders {
        let from = net.host(&format!("h{i}"), host());
        net.link(sw, from, gbps(10), ns(15));
        net.flow(&format!("f{i}"), from, 0, source(sink));
    }
    net
}

fn tolerant(mut net: Net, tolerance: ClockTolerance) -> Net {
    net.0.nodes.iter_mut().for_each(|node| node.clock_tolerance = tolerance);
    net
}

fn hundred_frames() -> BufferSpec {
    BufferSpec { queue: Some(Amount::Frames(100)), ..BufferSpec::default() }
}

fn all_that_goes(sink: frame::NodeId) -> SourceSpec {
    greedy(sink, 1230, Time::ZERO)
}

#[test]
fn every_host_has_a_clock_of_its_own_that_its_seed_and_name_decide() {
    // Frames sent in 200 ms, 200,000 at the nominal rate: 20 are 100 ppm.
    let sent = |senders: usize, seed: u64| {
        let mut net = tolerant(star(senders, hundred_frames(), Time::from_ms(200), all_that_goes), PPM_100);
        net.0.seed = seed;
        let outcome = net.run();
        (0..senders)
            .map(|i| outcome.count("ports", &format!("h{i}.0->sw"), "frames_sent") as i64 - 200_000)
            .collect::<Vec<_>>()
    };
    let three = sent(3, 1);
    assert!(three.iter().all(|more| (-20..=21).contains(more)), "{three:?}");
    assert!(three[0] != three[1] && three[1] != three[2] && three[0] != three[2], "{three:?}");
    assert_eq!(sent(4, 1)[..3], three, "another host shifts no clock");
    assert_ne!(sent(3, 2), three);
}

#[test]
fn sources_keep_the_time_of_their_host() {
    // One frame per microsecond for 200 ms, without queueing.
    let paced_source = |sink| paced(sink, 1230, 1 << 40, Time::ZERO, us(2));
    let mut net = tolerant(star(1, BufferSpec::default(), Time::from_ms(200), paced_source), PPM_100);
    let frames = |net: &Net| net.run().count("flows", "f0", "frames_sent") as i64 - 100_000;
    let paced_ppm = frames(&net) * 10;
    net.0.flows[0].source = all_that_goes(frame::NodeId(1));
    let sent = net.run().count("ports", "h0.0->sw", "frames_sent") as i64;
    assert!(
        (sent - 200_000 - paced_ppm / 5).abs() <= 3,
        "{paced_ppm} ppm as a source, {sent} frames on the link"
    );
}

#[test]
fn equal_clocks_keep_their_order_and_a_run_says_so() {
    let throughput = |outcome: &Outcome| {
        (0..3).map(|i| outcome.real("flows", &format!("f{i}"), "throughput_bps") / 1e9).collect::<Vec<_>>()
    };
    let net = star(3, hundred_frames(), Time::from_ms(100), all_that_goes);
    let equal = net.run();
    let [first, others @ ..] = &throughput(&equal)[..] else { unreachable!() };
    assert!(*first > 9.0 && others.iter().all(|&other| other < 0.3), "{first} {others:?}");
    let ties = equal.count("ports", "sw.0->sink", "ties");
    // Two of three frames are lost, each in a tie with the one that is accepted.
    assert!(ties > 190_000 && ties <= equal.total("drops", "frames"), "{ties}");
    assert_eq!(equal.summary("ties"), ties as f64);
    let mut simulation = Simulation::new(&net.0).unwrap();
    simulation.run().unwrap();
    let report = simulation.ties().unwrap();
    assert!(report.starts_with(&format!("the result depends on ties: {ties} times")), "{report}");
    assert!(report.contains("sw.0->sink") && report.contains("clock_tolerance = \"100 ppm\""), "{report}");

    // Drifting clocks take turns: each sender is first for a beat of about ten milliseconds, and in a second all have
    // had about equal shares.
    let mut net = tolerant(net, PPM_100);
    (net.0.seed, net.0.duration) = (2, Time::from_ms(1000));
    let real = net.run();
    assert!(throughput(&real).iter().all(|&share| (share - 3.28).abs() < 0.2), "{:?}", throughput(&real));
    let mut simulation = Simulation::new(&net.0).unwrap();
    simulation.run().unwrap();
    assert_eq!(simulation.ties(), None);
}

#[test]
fn frames_that_are_lost_together_are_no_tie() {
    // Without a place in the queue, the first frame goes directly to the link. The others find the queue full, and none
    // of them would have been accepted in another order. With one place, one of two is accepted.
    let ties = |senders: usize, places: u64| {
        let buffer = BufferSpec { queue: Some(Amount::Frames(places)), ..BufferSpec::default() };
        let outcome = star(senders, buffer, us(20), |sink| one(sink, 1230, Time::ZERO)).run();
        (outcome.total("drops", "frames"), outcome.total("ports", "ties"))
    };
    assert_eq!(ties(3, 0), (2, 0));
    assert_eq!(ties(3, 1), (1, 1));
    assert_eq!(ties(4, 1), (2, 2));
    assert_eq!(ties(4, 4), (0, 0));
}

#[test]
fn ties_are_those_of_the_limit_that_refused() {
    // Two switch ports share the memory: frames of f0 fill it, and those for the other sink are refused.
    let ties = |buffer: BufferSpec| {
        let mut net = star(4, buffer, us(20), |sink| one(sink, 1230, Time::ZERO));
        let sink = net.host("other", host());
        net.link(frame::NodeId(0), sink, gbps(10), ns(15));
        for flow in &mut net.0.flows[2..] {
            flow.source.destinations = workload::Destinations::Fixed(sink);
        }
        let outcome = net.run();
        (outcome.total("drops", "frames"), outcome.total("ports", "ties"))
    };
    let one_frame = Some(Amount::Frames(1));
    let none = BufferSpec::default();
    assert_eq!(ties(none.clone()), (0, 0));
    // One frame is queued at each port, and there is space for both.
    assert_eq!(ties(BufferSpec { port: one_frame, ..none.clone() }), (0, 0));
    assert_eq!(ties(BufferSpec { total: one_frame, ..none.clone() }), (1, 1));
    assert_eq!(ties(BufferSpec { class: one_frame, ..none }), (1, 1));
}

#[test]
fn a_source_does_not_tie_with_itself() {
    let mut net = Net::new(us(20));
    let a = net.host(
        "a",
        HostSpec { queue_limit: Some(Amount::Frames(1)), when_full: fabric::spec::WhenFull::Drop, ..host() },
    );
    let b = net.host("b", host());
    net.link(a, b, gbps(10), ns(15));
    net.flow("f", a, 0, burst(b, 1230, 4, Time::ZERO));
    let outcome = net.run();
    assert_eq!((outcome.total("drops", "frames"), outcome.total("ports", "ties")), (2, 0));
}

#[test]
fn jitter_breaks_ties_and_keeps_rates() {
    let in_step = |sink| SourceSpec {
        arrivals: Arrivals::Constant(ConstantParams { rate: gbps(8), random_phase: false }),
        ..greedy(sink, 1230, Time::ZERO)
    };
    let mut net = star(3, hundred_frames(), Time::from_ms(20), in_step);
    let equal = net.run();
    assert!(equal.total("ports", "ties") > 10_000);
    net.0.flows.iter_mut().for_each(|flow| flow.source.jitter = us(1));
    let jittered = net.run();
    assert!(jittered.total("ports", "ties") < 20, "{}", jittered.total("ports", "ties"));
    for i in 0..3 {
        let name = format!("f{i}");
        let sent = |outcome: &Outcome| outcome.count("flows", &name, "frames_sent");
        assert!(sent(&equal).abs_diff(sent(&jittered)) <= 2);
        assert!(jittered.real("flows", &name, "throughput_bps") > 2e9);
    }
    assert_eq!(net.run_on(2, 1000).fingerprint, jittered.fingerprint);
}

#[test]
fn clocks_are_the_same_on_any_number_of_threads() {
    let net = tolerant(star(3, hundred_frames(), Time::from_ms(2), all_that_goes), PPM_100);
    let of = |outcome: Outcome| (outcome.fingerprint, outcome.integers("flows", "frames_delivered").to_vec());
    let one = of(net.run());
    assert_eq!(of(net.run_on(2, 1000)), one);
    assert_eq!(of(net.run_on(3, 10)), one);
}

#[test]
fn computed_thresholds_hold_what_fast_clocks_send() {
    let mut net = star(4, BufferSpec::default(), Time::from_ms(2), all_that_goes);
    net.under_pfc(1);
    let exact = net.run();
    let loose = tolerant(net, ClockTolerance::from_ppm(1000)).run();
    for outcome in [&exact, &loose] {
        assert_eq!(outcome.total("drops", "frames"), 0);
        assert!(outcome.total("ports", "pauses_sent") > 0);
    }
    assert_ne!(exact.fingerprint, loose.fingerprint);
}
