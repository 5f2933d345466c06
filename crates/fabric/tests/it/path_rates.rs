//! Path rate control in a fabric: measured path facts, and the resulting rates and queues.

use crate::common::{Net, gbps, greedy, host, managed, ns, paced, us};
use fabric::spec::{HostSpec, LimiterSpec, ReceiveSpec, Role, SwitchSpec};
use frame::NodeId;
use queueing::{
    CongestionPointParams, Law, LimiterScope, ManagerSpec, Method, PathPointParams, PathReactionParams,
    RateControlSpec,
};
use units::{BitRate, Bytes, Time};

fn station(params: PathReactionParams) -> HostSpec {
    let control = RateControlSpec::Prc(params);
    let limiters = Some(LimiterSpec {
        control,
        per: LimiterScope::Destination,
        priorities: 0xFF,
        mark_after: None,
        priority_burst: Bytes::new(0),
    });
    HostSpec { limiters, ..host() }
}

fn points(params: PathPointParams) -> SwitchSpec {
    managed(ManagerSpec::PathPoint(params))
}

/// A switch with `senders` hosts and a sink, each link with this delay.
fn star(senders: usize, params: PathReactionParams, point: PathPointParams, delay: Time, ms: u64) -> Net {
    let mut net = Net::new(us(1_000 * ms));
    let sink = net.host("sink", station(params));
    let hosts: Vec<NodeId> = (0..senders).map(|n| net.host(&format!("h{n}"), station(params))).collect();
    let sw = net.switch("sw", points(point));
    for host in hosts.iter().copied().chain([sink]) {
        net.link(host, sw, gbps(10), delay);
    }
    for (n, host) in hosts.into_iter().enumerate() {
        net.flow(&format!("f{n}"), host, 3, greedy(sink, 1_500, us(7 * n as u64)));
    }
    net
}

/// Two senders over the second half of 40 ms: the frame rate of each, and the maximum and the mean queue.
fn settled(method: Method, law: Law, delay: Time) -> ([f64; 2], [f64; 2]) {
    let params = PathReactionParams { method, law, ..PathReactionParams::default() };
    let point = PathPointParams { messages: method == Method::Messages, ..PathPointParams::default() };
    let mut net = star(2, params, point, delay, 40);
    net.0.warmup = us(20_000);
    let outcome = net.run_on_threads();
    let bytes = outcome.integers("flows", "bytes_delivered");
    let port = outcome.texts("queues", "port").iter().zip(outcome.integers("queues", "class"));
    let row = port.into_iter().position(|(port, &class)| port == "sw.2->sink" && class == 3);
    let row =
        row.or_else(|| outcome.texts("queues", "port").iter().position(|port| port.ends_with("->sink")));
    let row = row.expect("the link to the sink has a queue");
    let longest = outcome.integers("queues", "queue_bytes_max")[row] as f64;
    let mean = outcome.reals("queues", "queue_bytes_mean")[row];
    ([bytes[0], bytes[1]].map(|bytes| bytes as f64 * 8.0 / 20e-3), [longest, mean])
}

#[test]
fn a_path_is_known_before_its_first_frame_is_back() {
    // Two switches; the link between them has 40 Gb/s, the link to the sink 1 Gb/s.
    let params = PathReactionParams::default();
    let mut net = Net::new(us(1_000));
    let (a, b) = (net.host("a", station(params)), net.host("b", station(params)));
    let (near, far) = (
        net.switch("near", points(PathPointParams::default())),
        net.switch("far", points(PathPointParams::default())),
    );
    net.link(a, near, gbps(10), ns(1_000));
    net.link(near, far, gbps(40), ns(2_000));
    net.link(far, b, gbps(1), ns(500));
    net.flow("f", a, 3, paced(b, 1_500, 30, Time::ZERO, us(30)));
    let outcome = net.run_on_threads();
    assert_eq!(outcome.integers("rate_limiters", "hops"), [2]);
    assert_eq!(outcome.reals("rate_limiters", "slowest_bps"), [1e9]);
    // 84 B at 10, 40 and 1 Gb/s and 3.5 us, twice; the answer meets no queue.
    let round_trip = 2.0 * (67.2 + 16.8 + 672.0 + 3_500.0);
    assert!((outcome.reals("rate_limiters", "round_trip_min_ns")[0] - round_trip).abs() < 1.0);
    // It sends a probe every 320 us from 0 on, each for eight messages: the answer, and one every 40 us. One probe is
    // in flight.
    assert_eq!(outcome.integers("rate_limiters", "tags_sent"), [3]);
    assert_eq!(outcome.integers("rate_limiters", "tags_returned"), [24]);
}

/// The class in the table is that of the limited frames, even next to congestion points of another scheme.
#[test]
fn slowdowns_name_the_class_of_the_frames() {
    let mut net = star(2, PathReactionParams::default(), PathPointParams::default(), us(1), 5);
    for class in [0, 1] {
        let other = ManagerSpec::CongestionPoint(CongestionPointParams::default());
        let Role::Switch(sw) = &mut net.0.nodes[3].role else { panic!("three hosts and a switch") };
        let sw = std::sync::Arc::make_mut(sw);
        sw.managers.by_class[class] = Some(other);
    }
    let outcome = net.run_on_threads();
    assert_eq!(outcome.texts("slowdowns", "port"), ["sw.2->sink"; 2]);
    assert_eq!(outcome.integers("slowdowns", "class"), [3; 2]);
    assert_eq!(outcome.texts("slowdowns", "measures"), ["port"; 2]);
}

#[test]
fn rates_become_equal_by_any_method() {
    for method in [Method::Feedback, Method::Probes, Method::RoundTrip, Method::Messages] {
        let ([one, other], [longest, _]) = settled(method, Law::Scaled, us(1));
        // Of 1520 B on the wire, 1500 B are the frame.
        let used = (one + other) / 10e9 * 1_520.0 / 1_500.0;
        // Messages sample all frames equally. Other methods observe the queue at a fixed phase of a pattern: a
        // difference of one byte is 0.04 % of a rate.
        let (least, apart) = if method == Method::Messages { (0.8, 1.5) } else { (0.99, 1.1) };
        assert!(used > least, "{method:?}: {one} and {other}");
        assert!(one.max(other) / one.min(other) < apart, "{method:?}: {one} and {other}");
        assert!(longest < 65_536.0, "{method:?}: {longest}");
    }
}

#[test]
fn the_queue_is_that_of_the_closed_form() {
    // h = 40 us and the round trip of 84 B over two links: 4 * (67.2 ns + the delay).
    for delay in [us(1), us(20)] {
        let (_, [_, mean]) = settled(Method::Feedback, Law::Scaled, delay);
        let h = 40e-6 + 4.0 * (67.2e-9 + delay.as_secs_f64());
        let expected = 0.16 * 65_536.0 + 0.01 * 2f64.ln() / 0.226 * h * 10e9 / 8.0;
        // A frame or two: simultaneous arrivals, and the level between two messages.
        assert!((mean - expected).abs() < 3_000.0, "{mean} for {expected}");
    }
}

#[test]
fn the_fixed_law_swings_at_a_long_delay_and_the_scaled_does_not() {
    // A round trip of 200 us. Oscillations empty the queue, and the link idles.
    let used = |law| {
        let ([one, other], _) = settled(Method::Feedback, law, us(50));
        (one + other) / 10e9 * 1_520.0 / 1_500.0
    };
    let (scaled, fixed) = (used(Law::Scaled), used(Law::Fixed));
    assert!(scaled > 0.999 && fixed < 0.96, "scaled {scaled}, fixed {fixed}");
}

#[test]
fn a_slow_receiver_is_congestion_too() {
    let params = PathReactionParams::default();
    let mut net = star(2, params, PathPointParams::default(), us(1), 20);
    let slow = ReceiveSpec { rate: Some(gbps(4)), buffer: Some(100_000), ..ReceiveSpec::default() };
    net.0.nodes[0].role =
        fabric::spec::Role::Host(std::sync::Arc::new(HostSpec { receive: Some(slow), ..station(params) }));
    net.0.warmup = us(10_000);
    let outcome = net.run_on_threads();
    let delivered = outcome.total("flows", "bytes_delivered") as f64 * 8.0 / 10e-3;
    assert!((3.9e9..4.05e9).contains(&delivered), "{delivered}");
    assert_eq!(outcome.total("flows", "frames_dropped"), 0);
}

#[test]
fn sixty_four_senders_lose_nothing_and_are_equal() {
    let mut net = star(64, PathReactionParams::default(), PathPointParams::default(), ns(500), 30);
    net.0.warmup = us(20_000);
    let outcome = net.run();
    let bytes = outcome.integers("flows", "bytes_delivered");
    let sum: u64 = bytes.iter().sum();
    let squares: f64 = bytes.iter().map(|&bytes| (bytes as f64).powi(2)).sum();
    let jain = (sum as f64).powi(2) / (bytes.len() as f64 * squares);
    assert!(jain > 0.98 && sum as f64 * 8.0 / 10e-3 > 9.7e9, "{jain} {sum}");
}

#[test]
fn what_ends_while_nothing_waits_ends() {
    // One frame: the message, its answer, and the other seven; nothing follows.
    let params = PathReactionParams { min_rate: BitRate::from_bps(1), ..PathReactionParams::default() };
    let mut net = Net::new(us(100_000));
    let (a, b) = (net.host("a", station(params)), net.host("b", station(params)));
    let sw = net.switch("sw", points(PathPointParams::default()));
    net.link(a, sw, gbps(10), ns(100));
    net.link(b, sw, gbps(10), ns(100));
    net.flow("f", a, 3, paced(b, 1_500, 1, Time::ZERO, us(30)));
    let outcome = net.run_on_threads();
    assert_eq!(outcome.integers("rate_limiters", "tags_sent"), [1]);
    assert_eq!(outcome.integers("rate_limiters", "tags_returned"), [8]);
}
