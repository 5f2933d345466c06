//! Rate limiters of hosts: which frames they delay, and which not.

use crate::common::{Net, gbps, greedy, host, managed, ns, paced, pfc, pfc_at, switch, us};
use fabric::spec::{FaultSpec, HostSpec, LimiterSpec, Reaction, SwitchSpec, WhenFull};
use frame::NodeId;
use queueing::{
    BackwardPointParams, BackwardReactionParams, CongestionPointParams, LimiterScope, ManagerSpec,
    RateControlSpec, RatePointParams, RateReactionParams, ReactionPointParams,
};
use std::sync::Arc;
use transport::{Application, ConnectionSpec, ControllerSpec, FixedWindowParams, WindowSpec};
use units::{Amount, BitRate, Bytes, Or, Time};
use workload::SourceSpec;

const FRAME: u16 = 1230;

/// Limiters of at most 2 Gb/s (bits on the wire) for these priorities.
fn limited(per: LimiterScope, priorities: u8) -> HostSpec {
    let params =
        ReactionPointParams { max_rate: Or::Value(BitRate::from_gbps(2)), ..ReactionPointParams::default() };
    let limiters = LimiterSpec {
        control: RateControlSpec::Qcn(params),
        per,
        priorities,
        mark_after: None,
        priority_burst: Bytes::new(0),
    };
    HostSpec { limiters: Some(limiters), ..host() }
}

/// A sender and two receivers at a switch.
fn star(sender: HostSpec, switch: SwitchSpec) -> (Net, [NodeId; 3]) {
    let mut net = Net::new(us(1_000));
    let hosts = [net.host("a", sender), net.host("b", host()), net.host("c", host())];
    let sw = net.switch("sw", switch);
    net.attach(&hosts, sw, gbps(10), ns(100));
    (net, hosts)
}

/// A transfer without limit.
fn bulk(timeout: Option<Time>) -> Arc<ConnectionSpec> {
    let window = WindowSpec {
        bytes: None,
        segment: FRAME,
        controller: ControllerSpec::FixedWindow(FixedWindowParams { size: Amount::Frames(100) }),
        ack_bytes: 64,
        ack_every: 1,
        ack_delay: Time::ZERO,
        timeout,
        ecn_capable: false,
    };
    Arc::new(ConnectionSpec { start: Time::ZERO, stop: None, application: Application::Window(window) })
}

/// Number of frames that passed each limiter.
fn past(outcome: &crate::common::Outcome) -> Vec<u64> {
    outcome.integers("rate_limiters", "frames_sent").to_vec()
}

/// Number of frames of 1250 B on the wire at 2 Gb/s: one every 5 us.
const EACH: u64 = 200;

#[test]
fn a_limiter_keeps_its_rate_and_holds_back_nobody_else() {
    let (mut net, [a, b, c]) = star(limited(LimiterScope::Flow, 0b10), switch());
    net.flow("slow", a, 1, greedy(b, FRAME, Time::ZERO));
    net.flow("free", a, 0, greedy(c, FRAME, Time::ZERO));
    let outcome = net.run();
    assert_eq!(past(&outcome), [EACH]);
    // All others of the 1000 frames that the link takes, except the last one in flight.
    let sent = outcome.integers("flows", "frames_sent");
    assert!(sent[0] <= EACH + 1 && sent[1] >= 999 - EACH, "{sent:?}");
}

/// Frames that left before measurement started and were not yet reported to the control are excluded: half of the limit
/// is counted, whether the limiter holds frames back or not.
#[test]
fn what_left_before_measuring_began_is_not_counted() {
    for (source, frames) in [(greedy as fn(_, _, _) -> _, EACH / 2), (slow, EACH / 4)] {
        let (mut net, [a, b, _]) = star(limited(LimiterScope::Flow, 0xFF), switch());
        net.flow("flow", a, 1, source(b, FRAME, Time::ZERO));
        // Frames leave every 5 or 10 us, starting at time 0.
        net.0.warmup = us(499);
        let outcome = net.run();
        assert_eq!(past(&outcome), [frames]);
        assert_eq!(outcome.integers("rate_limiters", "bytes_sent"), [frames * u64::from(FRAME)]);
        assert_eq!(outcome.integers("flows", "frames_sent").last(), Some(&frames));
    }
}

/// A source with half of the limiters' rate.
fn slow(to: NodeId, bytes: u16, start: Time) -> SourceSpec {
    paced(to, bytes, 200, start, us(10))
}

#[test]
fn what_shares_a_limiter() {
    for (per, limiters) in [
        (LimiterScope::Flow, vec![EACH; 3]),
        (LimiterScope::Destination, vec![EACH; 2]),
        (LimiterScope::Path, vec![EACH; 2]),
        (LimiterScope::Priority, vec![EACH]),
    ] {
        let (mut net, [a, b, c]) = star(limited(per, 0xFF), switch());
        net.flow("one", a, 3, greedy(b, FRAME, Time::ZERO));
        net.flow("two", a, 3, greedy(b, FRAME, Time::ZERO));
        net.flow("three", a, 3, greedy(c, FRAME, Time::ZERO));
        assert_eq!(past(&net.run()), limiters, "{per:?}");
    }
}

#[test]
fn the_highest_priority_of_a_path_goes_first() {
    // 2 Gb/s for both. A frame of the upper priority every 20 us waits for at most one frame time, regardless of the
    // lower priority's demand.
    let (mut net, [a, b, _]) = star(limited(LimiterScope::Path, 0xFF), switch());
    net.flow("lower", a, 2, greedy(b, FRAME, Time::ZERO));
    net.flow("upper", a, 5, paced(b, FRAME, 50, us(1), us(20)));
    let outcome = net.run();
    assert_eq!(past(&outcome), [EACH]);
    assert_eq!(outcome.integers("rate_limiters", "priority"), [5]);
    let (sent, latest) = (outcome.integers("flows", "frames_sent"), outcome.reals("flows", "latency_max_ns"));
    assert_eq!(sent[1], 50);
    // A frame time of the limiter, two hops of a microsecond, and two cables.
    assert!(latest[1] <= 5_000.0 + 2.0 * 984.0 + 200.0 + 1.0, "{latest:?}");
    assert!(latest[0] > 10_000.0, "the lower one waits for two turns: {latest:?}");
}

/// With a burst, frames of the upper priority do not wait for the time that the lower one has used, and the rate is
/// kept.
#[test]
fn higher_priorities_leave_ahead_of_the_rate_by_a_burst_and_no_more() {
    let run = |burst: u64, upper: fn(NodeId) -> SourceSpec| {
        let mut sender = limited(LimiterScope::Path, 0b10_0100);
        let priority_burst = Bytes::new(burst);
        sender.limiters = sender.limiters.map(|own| LimiterSpec { priority_burst, ..own });
        let (mut net, [a, b, c]) = star(sender, switch());
        // The link is busy, so the limiter joins the wait queue.
        net.flow("free", a, 0, greedy(c, FRAME, Time::ZERO));
        net.flow("lower", a, 2, greedy(b, FRAME, Time::ZERO));
        net.flow("upper", a, 5, upper(b));
        net.run()
    };
    // At most the rest of a frame on the link and a frame in the NIC, two hops and two cables.
    let at_once = 2.0 * 984.0 + 2.0 * 984.0 + 200.0 + 1.0;
    let outcome = run(2 * u64::from(FRAME), |to| paced(to, FRAME, 50, us(1), us(20)));
    assert_eq!((past(&outcome), outcome.integers("flows", "frames_sent")[2]), (vec![EACH], 50));
    assert!(outcome.reals("flows", "latency_max_ns")[2] <= at_once);
    // Ten frames at once: two or three leave immediately, the others 5 us apart, before all frames of the lower
    // priority.
    let outcome = run(2 * u64::from(FRAME), |to| paced(to, FRAME, 10, us(101), ns(984)));
    assert_eq!(past(&outcome), [EACH]);
    let (least, most) = (outcome.reals("flows", "latency_min_ns"), outcome.reals("flows", "latency_max_ns"));
    assert!(least[2] <= at_once && (25_000.0..36_000.0).contains(&most[2]), "{least:?} {most:?}");
    // Ten frames at once on a path of their own: they have a burst if the host sends at a lower priority to any
    // destination.
    let ten = |burst: u64, priority: u8| {
        let mut sender = limited(LimiterScope::Path, 0xFF);
        let priority_burst = Bytes::new(burst);
        sender.limiters = sender.limiters.map(|own| LimiterSpec { priority_burst, ..own });
        let (mut net, [a, b, c]) = star(sender, switch());
        net.flow("ten", a, priority, paced(b, FRAME, 10, us(1), ns(984)));
        net.flow("elsewhere", a, 2, paced(c, 64, 2, us(500), us(100)));
        net.run().reals("flows", "latency_max_ns")[0]
    };
    let without = ten(0, 5);
    assert_eq!(ten(2 * u64::from(FRAME), 2), without, "the lowest has none");
    let earlier = without - ten(2 * u64::from(FRAME), 5);
    assert!((earlier - 9_840.0).abs() < 1e-6, "what 2 x 1230 B take at 2 Gb/s: {earlier}");
}

#[test]
fn a_limiter_that_is_busy_for_long_marks_what_understands_marks() {
    // One frame every 5 us, at 0, 5, 10 ... us; from 50 us on, each leaves with a mark.
    let marks = |ecn_capable, windows: u64, mark_after| {
        let mut sender = limited(LimiterScope::Flow, 0xFF);
        sender.limiters = sender.limiters.map(|own| LimiterSpec { mark_after, ..own });
        let (mut net, [a, b, _]) = star(sender, switch());
        let mut connection = Arc::unwrap_or_clone(bulk(None));
        if let Application::Window(window) = &mut connection.application {
            let size = Amount::Frames(windows);
            window.ecn_capable = ecn_capable;
            window.controller = ControllerSpec::FixedWindow(FixedWindowParams { size });
        }
        net.flow("transfer", a, 0, greedy(b, FRAME, Time::ZERO));
        net.0.flows[0].transport = Some(connection.into());
        let outcome = net.run();
        (outcome.integers("rate_limiters", "marks")[0], past(&outcome)[0])
    };
    let after = Some(us(50));
    assert_eq!(marks(true, 100, after), (EACH - 10, EACH));
    assert_eq!(marks(true, 100, None), (0, EACH));
    assert_eq!(marks(false, 100, after), (0, EACH));
    // A single frame at a time is acknowledged within its 5 us: the limiter is equally busy, although its queue is
    // short.
    assert_eq!(marks(true, 1, after), (EACH - 10, EACH));
}

#[test]
fn a_source_waits_for_room_above_its_limiter() {
    let sender = HostSpec {
        queue_limit: Some(Amount::Frames(4)),
        when_full: WhenFull::Block,
        ..limited(LimiterScope::Flow, 0xFF)
    };
    let (mut net, [a, b, _]) = star(sender, switch());
    // 4 Gb/s of frames into a limiter of 2 Gb/s.
    let source = || paced(b, FRAME, 1_000, Time::ZERO, ns(2_460));
    net.flow("first", a, 0, source());
    net.flow("second", a, 0, source());
    let outcome = net.run();
    // Each limiter has separate space: neither source waits for the other.
    assert_eq!(past(&outcome), [EACH; 2]);
    assert_eq!(outcome.integers("flows", "frames_sent"), [EACH + 4; 2]);
    assert_eq!(outcome.integers("rate_limiters", "waiting_max_bytes"), [4 * u64::from(FRAME); 2]);
}

#[test]
fn a_paused_priority_leaves_its_frames_above_the_nic() {
    // The receiver of priority 3 does not read: PFC stops the sender, and frames stay in the limiter or at their
    // source.
    let control = pfc(0b1000);
    let sender = HostSpec { flow_control: Some(control.clone().into()), ..limited(LimiterScope::Flow, 0xFF) };
    let (mut net, [a, b, c]) =
        star(sender, SwitchSpec { flow_control: Some(control.clone().into()), ..switch() });
    net.0.nodes[b.at()].role = fabric::spec::Role::Host(Arc::new(HostSpec {
        flow_control: Some(control.into()),
        receive: Some(fabric::spec::ReceiveSpec {
            time_per_frame: us(100),
            buffer: Some(60_000),
            ..fabric::spec::ReceiveSpec::default()
        }),
        ..host()
    }));
    net.flow("stopped", a, 3, paced(b, FRAME, 500, Time::ZERO, ns(2_460)));
    net.flow("goes on", a, 0, greedy(c, FRAME, Time::ZERO));
    let outcome = net.run();
    assert_eq!(past(&outcome)[1], EACH);
    assert!(past(&outcome)[0] < EACH / 2, "{:?}", past(&outcome));
    // One frame at a time stays below the limiter's rate, however long the pause.
    let (queues, longest) = (outcome.texts("queues", "port"), outcome.integers("queues", "queue_frames_max"));
    let nic = queues.iter().zip(longest).filter(|(port, _)| port.starts_with("a.0"));
    assert!(nic.clone().count() > 0 && nic.into_iter().all(|(_, &frames)| frames <= 1));
}

#[test]
fn an_endpoint_stands_at_its_limiter() {
    let (mut net, [a, b, _]) = star(limited(LimiterScope::Flow, 0xFF), switch());
    net.flow("bulk", a, 0, greedy(b, FRAME, Time::ZERO));
    net.0.flows[0].transport = Some(bulk(None));
    let outcome = net.run();
    assert_eq!(past(&outcome), [EACH]);
    // Segments leave their endpoint when the limiter accepts them: the round trip excludes the wait in the limiter.
    assert!(outcome.reals("connections", "round_trip_max_ns")[0] < 4_000.0);
}

/// A host with two links, one of which fails for good: frames that pass a limiter continue over the other.
#[test]
fn a_limiter_follows_its_flow_to_another_link() {
    for connection in [false, true] {
        for failing in [0, 1] {
            let mut net = Net::new(us(1_000));
            let (a, b) = (net.host("a", limited(LimiterScope::Flow, 0xFF)), net.host("b", host()));
            let switches = ["s1", "s2", "s3"].map(|name| net.switch(name, switch()));
            for (from, to) in [
                (a, switches[0]),
                (a, switches[1]),
                (switches[0], switches[2]),
                (switches[1], switches[2]),
                (b, switches[2]),
            ] {
                net.link(from, to, gbps(10), ns(100));
            }
            net.flow("f", a, 0, greedy(b, FRAME, Time::ZERO));
            net.0.flows[0].transport = connection.then(|| bulk(Some(us(50))));
            // Queued frames are kept: the limiter is in the wait queue of a failed link until the path changes.
            let reaction = Reaction { keep: true, reroute: Some(us(10)) };
            net.0.faults = vec![FaultSpec::LinkDown { link: failing, at: us(300), reaction }];
            let outcome = net.run();
            assert!(past(&outcome)[0] >= EACH - 12, "{connection} {failing}: {:?}", past(&outcome));
        }
    }
}

/// A limiter whose frames leave through two links, which frames without a limiter keep busy: each frame takes its own
/// path, in turn.
#[test]
fn frames_of_a_limiter_leave_through_the_links_of_their_paths() {
    for busy in [false, true] {
        let mut net = Net::new(us(1_000));
        let a = net.host("a", limited(LimiterScope::Priority, 0b10));
        for (name, switch_name) in [("b", "s1"), ("c", "s2")] {
            let (to, sw) = (net.host(name, host()), net.switch(switch_name, switch()));
            net.link(a, sw, gbps(10), ns(100));
            net.link(sw, to, gbps(10), ns(100));
            net.flow(name, a, 1, paced(to, FRAME, 80, Time::ZERO, us(1)));
            if busy {
                net.flow(switch_name, a, 0, greedy(to, FRAME, Time::ZERO));
            }
        }
        let outcome = net.run();
        assert_eq!(past(&outcome), [160]);
        let received = outcome.integers("flows", "frames_delivered");
        let latest = outcome.reals("flows", "latency_max_ns");
        for flow in if busy { [0, 2] } else { [0, 1] } {
            assert_eq!(received[flow], 80);
            // Two frames arrive per microsecond, and one leaves every five: the last two leave after 158 and 159
            // others.
            let least = 5_000.0 * 158.0 - 79_000.0;
            // Two frame times of the link for each of two hops, cables, and a frame on the link.
            assert!((least..least + 5_000.0 + 6_000.0).contains(&latest[flow]), "{busy} {latest:?}");
        }
    }
}

/// Two sources with limiters of different schemes send to one sink: the congestion points that have slowed them down,
/// and the return of tags.
#[test]
fn congestion_points_are_named() {
    let schemes = [
        (
            ManagerSpec::CongestionPoint(CongestionPointParams::default()),
            RateControlSpec::Qcn(ReactionPointParams::default()),
        ),
        (
            ManagerSpec::BackwardPoint(BackwardPointParams::default()),
            RateControlSpec::Bcn(BackwardReactionParams::default()),
        ),
        (
            ManagerSpec::RatePoint(RatePointParams { interval: us(100), ..RatePointParams::default() }),
            RateControlSpec::Fecn(RateReactionParams {
                interval: us(100),
                initial_share: 1.0,
                ..RateReactionParams::default()
            }),
        ),
    ];
    for (manager, control) in schemes {
        let limiters = Some(LimiterSpec {
            control,
            per: LimiterScope::Flow,
            priorities: 0xFF,
            mark_after: None,
            priority_burst: Bytes::new(0),
        });
        let mut net = Net::new(us(5_000));
        let hosts = ["a", "b", "sink"].map(|name| net.host(name, HostSpec { limiters, ..host() }));
        let sw = net.switch("sw", managed(manager));
        net.attach(&hosts, sw, gbps(10), ns(100));
        net.flow("x", hosts[0], 3, greedy(hosts[2], 1_500, Time::ZERO));
        net.flow("y", hosts[1], 3, greedy(hosts[2], 1_500, us(1)));
        net.0.probes.bin = Some(us(100));
        let outcome = net.run();
        assert_eq!(outcome.texts("slowdowns", "limiter"), ["x", "y"]);
        assert_eq!(outcome.texts("slowdowns", "port"), ["sw.2->sink"; 2]);
        assert_eq!(outcome.integers("slowdowns", "class"), [3; 2]);
        for flow in 0..2 {
            assert!(outcome.integers("slowdowns", "times")[flow] > 0);
            let lowest = outcome.reals("slowdowns", "rate_min_bps")[flow];
            assert_eq!(lowest, outcome.reals("rate_limiters", "rate_min_bps")[flow]);
            // The sum of the cuts is at least the decrease to the lowest rate.
            assert!(outcome.reals("slowdowns", "cut_bps")[flow] >= 10e9 - lowest);
        }
        let metrics = outcome.texts("series", "metric");
        let rates = metrics.iter().filter(|metric| *metric == "limiter_rate_bps");
        assert_eq!(rates.count(), 2 * 50);
        let tags = outcome.integers("rate_limiters", "tags_returned");
        let expected = if control.name() == "fecn" { 40 } else { 0 };
        assert!(tags.iter().all(|&tags| (expected..=expected + 10).contains(&tags)), "{tags:?}");
        net.assert_threads_agree(&outcome);
    }
}

#[test]
fn congestion_spreads_no_further_than_its_sources() {
    // Two sources send to one sink behind a second switch, under PFC; the victim shares the first link but not the
    // destination.
    let run = |qcn: bool| {
        // QCN has to observe a queue before PFC stops its growth.
        let control = pfc_at(0b1000, 60, 40);
        let params = ReactionPointParams {
            time_reset: us(200),
            byte_reset: Bytes::new(30_000),
            active_increase: BitRate::from_bps(50_000_000),
            ..ReactionPointParams::default()
        };
        let limiters = qcn.then_some(LimiterSpec {
            control: RateControlSpec::Qcn(params),
            per: LimiterScope::Flow,
            priorities: 0b1000,
            mark_after: None,
            priority_burst: Bytes::new(0),
        });
        let station = || HostSpec { flow_control: Some(control.clone().into()), limiters, ..host() };
        let point = ManagerSpec::CongestionPoint(CongestionPointParams::default());
        let managers = if qcn { vec![Some(point); 8] } else { vec![] };
        let fabric = || SwitchSpec {
            flow_control: Some(control.clone().into()),
            managers: managers.clone().into(),
            ..switch()
        };
        let mut net = Net::new(us(40_000));
        let hosts = ["v", "x", "y", "sink", "other"].map(|name| net.host(name, station()));
        let (near, far) = (net.switch("near", fabric()), net.switch("far", fabric()));
        for host in &hosts[..3] {
            net.link(*host, near, gbps(10), ns(500));
        }
        net.link(near, far, gbps(40), ns(500));
        for host in &hosts[3..] {
            net.link(*host, far, gbps(10), ns(500));
        }
        net.flow("x", hosts[1], 3, greedy(hosts[3], 1500, Time::ZERO));
        net.flow("y", hosts[2], 3, greedy(hosts[3], 1500, us(1)));
        net.flow("victim", hosts[0], 3, paced(hosts[4], 1500, 1 << 40, us(2), ns(1_500)));
        net.0.warmup = us(20_000);
        let outcome = net.run();
        // Messages are shorter than any frame of a flow, and the look-ahead takes them into account.
        net.assert_threads_agree(&outcome);
        let bytes = outcome.integers("flows", "bytes_delivered");
        let paused: u64 = outcome.pauses().iter().map(|pause| (pause.end - pause.start).ps()).sum();
        (bytes[2] as f64 * 8.0 / 20e-3, paused as f64)
    };
    let (alone, with) = (run(false), run(true));
    // The victim keeps only the share of its 8 Gb/s that the paused link leaves it; with QCN all of it.
    assert!(alone.0 < 6e9, "{alone:?}");
    assert!(with.0 > 0.97 * 8e9 && with.1 < 0.2 * alone.1, "{with:?} {alone:?}");
}
