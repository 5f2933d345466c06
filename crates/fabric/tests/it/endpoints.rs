//! Endpoints on a fabric, compared with calculations: every round trip to the picosecond, every window to the frame.

use crate::common::{Net, Outcome, burst, cases, exact, gbps, greedy, host, ns, pfc, switch, us};
use fabric::choice::PathChoice;
use fabric::spec::{FaultSpec, FlowSpec, Forwarding, HostSpec, Reaction, SwitchSpec, WhenFull};
use frame::NodeId;
use proptest::prelude::*;
use queueing::BufferSpec;
use scheduling::{AccountedLength, SchedulerSpec, WfqParams};
use std::sync::Arc;
use transport::{
    Application, ConnectionSpec, ControllerSpec, Delay, FixedWindowParams, RequestResponseSpec,
    UnlimitedParams, WindowSpec,
};
use units::{Amount, Time};

const SEGMENT: u16 = 1000;
const ACK: u16 = 64;

/// Asserts equality up to floating-point rounding.
fn near(found: f64, expected: f64) {
    assert!((found / expected - 1.0).abs() < 1e-9, "{found} instead of {expected}");
}

/// Time of a frame on a 10 Gb/s link with 20 B around it.
fn wire(bytes: u64) -> Time {
    Time::from_ps((bytes + 20) * 800)
}

fn window(controller: ControllerSpec, bytes: Option<u64>) -> Application {
    Application::Window(WindowSpec {
        bytes,
        segment: SEGMENT,
        controller,
        ack_bytes: ACK,
        ack_every: 1,
        ack_delay: Time::ZERO,
        timeout: None,
        ecn_capable: false,
    })
}

fn frames(count: u64) -> ControllerSpec {
    ControllerSpec::FixedWindow(FixedWindowParams { size: Amount::Frames(count) })
}

fn request_response(
    request: u64,
    response: u64,
    outstanding: u16,
    think: Time,
    service: Time,
) -> Application {
    Application::RequestResponse(RequestResponseSpec {
        request,
        response,
        segment: SEGMENT,
        outstanding,
        requests: None,
        think: Delay::Fixed(think),
        service: Delay::Fixed(service),
        timeout: None,
        ecn_capable: false,
    })
}

fn connect(
    net: &mut Net,
    name: &str,
    from: NodeId,
    to: NodeId,
    priority: u8,
    start: Time,
    what: Application,
) {
    let flow: &mut FlowSpec = net.flow(name, from, priority, greedy(to, SEGMENT, start));
    flow.transport = Some(Arc::new(ConnectionSpec { start, stop: None, application: what }));
}

/// Two hosts with this many switches between them, 10 Gb/s and 100 ns a link.
fn chain(switches: usize, duration: Time, spec: &SwitchSpec) -> (Net, NodeId, NodeId) {
    let mut net = Net::new(duration);
    let (a, b) = (net.host("a", host()), net.host("b", host()));
    let mut last = a;
    for n in 0..switches {
        let next = net.switch(&format!("s{n}"), spec.clone());
        net.link(last, next, gbps(10), ns(100));
        last = next;
    }
    net.link(last, b, gbps(10), ns(100));
    (net, a, b)
}

fn exchange(outcome: &Outcome, flow: &str) -> (Time, Time) {
    let of = |column| exact(outcome.real("connections", flow, column));
    (of("exchange_min_ns"), of("exchange_max_ns"))
}

#[test]
fn round_trips_are_those_of_arithmetic() {
    for switches in [1, 2, 5] {
        for (request, response) in [(64, 64), (1000, 64), (200, 1000)] {
            let (mut net, a, b) = chain(switches, us(500), &switch());
            connect(
                &mut net,
                "rpc",
                a,
                b,
                0,
                us(1),
                request_response(request, response, 1, ns(300), ns(700)),
            );
            let outcome = net.run();
            let hops = switches as u64 + 1;
            let way = |bytes| Time::from_ps((wire(bytes).ps() + 100_000) * hops);
            let expected = way(request) + ns(700) + way(response);
            assert_eq!(exchange(&outcome, "rpc"), (expected, expected), "{switches} {request} {response}");
            // The next request follows the response after the think time.
            let count = (us(499).ps() - expected.ps()) / (expected + ns(300)).ps() + 1;
            assert_eq!(outcome.count("connections", "rpc", "exchanges"), count);
            let demand = (request.max(64) * 8) as f64 / (expected + ns(300)).as_secs_f64();
            near(outcome.real("demands", "rpc", "rate_bps"), demand);
            near(outcome.real("demands", "rpc", "back_share"), response as f64 / request as f64);
        }
    }
}

#[test]
fn cut_through_and_latency_count_on_both_ways() {
    let spec = SwitchSpec { forwarding: Forwarding::CutThrough, latency: ns(250), ..switch() };
    let (mut net, a, b) = chain(2, us(200), &spec);
    connect(&mut net, "rpc", a, b, 0, us(1), request_response(1000, 1000, 1, Time::ZERO, Time::ZERO));
    let outcome = net.run();
    // At each switch, the head of 64 B and 20 B, followed by the latency; the last link carries the whole frame.
    let way = Time::from_ps(2 * (84 * 800 + 100_000 + 250_000) + wire(1000).ps() + 100_000);
    assert_eq!(exchange(&outcome, "rpc"), (way + way, way + way));
    near(outcome.real("demands", "rpc", "rate_bps"), 8000.0 / (way + way).as_secs_f64());
}

#[test]
fn a_long_response_is_one_exchange() {
    let (mut net, a, b) = chain(1, us(200), &switch());
    connect(&mut net, "read", a, b, 0, us(1), request_response(64, 10_000, 1, us(10), Time::ZERO));
    let outcome = net.run();
    // Ten segments back to back: the last one leaves nine transmissions after the first.
    let expected = Time::from_ps(2 * (wire(64).ps() + 100_000) + 11 * wire(1000).ps() + 200_000);
    assert_eq!(exchange(&outcome, "read"), (expected, expected));
    near(outcome.real("demands", "read", "rate_bps"), 512.0 / (expected + us(10)).as_secs_f64());
}

#[test]
fn a_request_waits_behind_what_came_before_it() {
    let (mut net, a, b) = chain(1, us(100), &switch());
    let c = net.host("c", host());
    let sw = NodeId(2);
    net.link(c, sw, gbps(10), ns(100));
    // 20 frames of 1,500 B are queued at the switch's port to b from 10 us on; the request arrives in between.
    net.flow("burst", sw, 0, burst(b, 1500, 20, us(10)));
    connect(&mut net, "rpc", a, b, 0, us(12), request_response(64, 64, 1, us(1000), Time::ZERO));
    let outcome = net.run();
    let leaves = us(10).ps() + 20 * wire(1500).ps();
    let expected =
        Time::from_ps(leaves - us(12).ps() + wire(64).ps() + 100_000 + 2 * (wire(64).ps() + 100_000));
    assert_eq!(exchange(&outcome, "rpc"), (expected, expected));
}

/// Round trip of a full segment and its acknowledgement over one switch.
fn round_trip() -> Time {
    Time::from_ps(2 * (wire(u64::from(SEGMENT)).ps() + wire(u64::from(ACK)).ps()) + 4 * 100_000)
}

#[test]
fn a_window_gives_window_over_round_trip_to_the_frame_until_the_link_is_full() {
    let segment = wire(u64::from(SEGMENT));
    let full = round_trip().ps().div_ceil(segment.ps());
    for size in [1, 2, full - 1, full, full + 1, 40] {
        let (mut net, a, b) = chain(1, us(1000), &switch());
        connect(&mut net, "bulk", a, b, 0, Time::ZERO, window(frames(size), None));
        let outcome = net.run();
        // Segment n leaves (n / W) round trips and (n mod W) transmissions after the start, or at the rate of the link.
        let one_way = 2 * (segment.ps() + 100_000);
        let in_time = |n: &u64| {
            let sent = if size < full {
                n / size * round_trip().ps() + n % size * segment.ps()
            } else {
                n * segment.ps()
            };
            sent + one_way < us(1000).ps()
        };
        let expected = (0..).take_while(in_time).count() as u64;
        assert_eq!(outcome.delivered("bulk"), expected, "window of {size}");
        let shortest = exact(outcome.real("connections", "bulk", "round_trip_min_ns"));
        assert_eq!(shortest, round_trip(), "the first finds nothing in its way");
        let demand = (size * u64::from(SEGMENT) * 8) as f64 / round_trip().as_secs_f64();
        near(outcome.real("demands", "bulk", "rate_bps"), demand.min(1e10 * 1000.0 / 1020.0));
    }
}

#[test]
fn beyond_the_full_link_the_window_stands_in_the_queue() {
    // The link to b has a tenth of the rate: the path holds little, and the rest of the window is queued there.
    for size in [4u64, 10, 50] {
        let mut net = Net::new(us(2000));
        let (a, b, sw) = (net.host("a", host()), net.host("b", host()), net.switch("sw", switch()));
        net.link(a, sw, gbps(10), ns(100));
        net.link(sw, b, gbps(1), ns(100));
        connect(&mut net, "bulk", a, b, 0, Time::ZERO, window(frames(size), None));
        let outcome = net.run();
        // While one segment is on the slow link (8.16 us), the acknowledgement of the previous one returns, and the
        // segment that it releases arrives: one segment is on the wire, one in flight around the loop, and the others
        // are queued.
        let slow = 8_160_000;
        let rest = (672 * 1000 + 100_000) + 100_000 + (67_200 + 100_000) + (816_000 + 100_000);
        let on_the_way = 1 + (rest as u64).div_ceil(slow);
        let most = outcome.integers("queues", "queue_frames_max").iter().copied().max();
        assert_eq!(most, Some(size - on_the_way + 1), "window of {size}");
        let bps = outcome.real("flows", "bulk", "throughput_bps");
        assert!((bps / (1e9 * 1000.0 / 1020.0) - 1.0).abs() < 0.01, "{bps}");
    }
}

#[test]
fn a_nic_pulls_from_its_endpoints_by_turns_and_a_paused_class_stops_its_own_only() {
    let mut net = Net::new(us(1000));
    let control = || host_with(pfc(0b1000));
    let (a, b, c) = (net.host("a", control()), net.host("b", control()), net.host("c", control()));
    let d = net.host("d", control());
    let sw = net.switch("sw", SwitchSpec { flow_control: Some(pfc(0b1000).into()), ..switch() });
    net.attach(&[a, b, c, d], sw, gbps(10), ns(100));
    // Three connections in the paused class to the congested host, and two in another class to another host.
    for n in 0..3 {
        connect(
            &mut net,
            &format!("lossless{n}"),
            a,
            b,
            3,
            Time::ZERO,
            window(ControllerSpec::Unlimited(UnlimitedParams {}), None),
        );
    }
    for n in 0..2 {
        connect(
            &mut net,
            &format!("other{n}"),
            a,
            c,
            0,
            Time::ZERO,
            window(ControllerSpec::Unlimited(UnlimitedParams {}), None),
        );
    }
    net.flow("incast", d, 3, greedy(b, SEGMENT, Time::ZERO));
    let outcome = net.run();
    assert!(outcome.pauses().iter().any(|pause| pause.port.starts_with("a.")));
    let of = |name: &str| outcome.delivered(name);
    let (lossless, other) =
        ([of("lossless0"), of("lossless1"), of("lossless2")], [of("other0"), of("other1")]);
    for group in [&lossless[..], &other[..]] {
        let (least, most) = (group.iter().min().unwrap(), group.iter().max().unwrap());
        // The first was alone at the start: it had one frame on the link and one behind it.
        assert!(most - least <= 2, "turns: {group:?}");
    }
    // 10 Gb/s for 1 ms are 1,225 frames; a's link is full although its lossless class is paused half of the time.
    let sent: u64 = lossless.iter().chain(&other).sum();
    assert!(sent >= 1215 && other[0] > 250, "{lossless:?} {other:?}");
}

#[test]
fn endpoints_and_sources_of_a_class_take_turns() {
    let unlimited = || ControllerSpec::Unlimited(UnlimitedParams {});
    let share = |limit, raw: usize, connections: usize, scheduler: SchedulerSpec| {
        let mut net = Net::new(us(1000));
        let spec = HostSpec { queue_limit: limit, when_full: WhenFull::Drop, scheduler, ..host() };
        let (a, b, sw) = (net.host("a", spec), net.host("b", host()), net.switch("sw", switch()));
        net.link(a, sw, gbps(10), ns(100));
        net.link(sw, b, gbps(100), ns(100));
        for n in 0..raw {
            net.flow(&format!("raw{n}"), a, 0, greedy(b, SEGMENT, Time::ZERO));
        }
        for n in 0..connections {
            connect(&mut net, &format!("c{n}"), a, b, 0, us(10), window(unlimited(), None));
        }
        let outcome = net.run();
        assert_eq!(outcome.total("connections", "frames_discarded"), 0);
        let of = |name: &str, count: usize| -> Vec<u64> {
            (0..count).map(|n| outcome.delivered(&format!("{name}{n}"))).collect()
        };
        (of("raw", raw), of("c", connections))
    };
    // 10 Gb/s for 1 ms are 1,225 frames; the first 12 are those of the source.
    let weights = vec![1; 8];
    let wfq =
        SchedulerSpec::Wfq(WfqParams { weights: weights.into(), ..WfqParams::by(AccountedLength::FRAME) });
    for scheduler in [SchedulerSpec::StrictPriority, wfq] {
        let (raw, endpoints) = share(None, 1, 1, scheduler);
        assert!(raw[0].abs_diff(endpoints[0]) <= 14, "{raw:?} {endpoints:?}");
    }
    let (raw, endpoints) = share(None, 2, 2, SchedulerSpec::StrictPriority);
    let together: u64 = endpoints.iter().sum();
    assert!(raw[0].abs_diff(together) <= 14 && raw[1].abs_diff(together) <= 14, "{raw:?} {endpoints:?}");
    // The first was alone at the start: it had one frame on the link and one behind it.
    assert!(endpoints[0].abs_diff(endpoints[1]) <= 2, "{endpoints:?}");
    // A NIC with space for two frames that drops excess frames loses none of the endpoints' frames.
    let (raw, endpoints) = share(Some(Amount::Frames(2)), 2, 1, SchedulerSpec::StrictPriority);
    assert!(endpoints[0] > 400, "{raw:?} {endpoints:?}");
}

fn host_with(control: flow_control::PauseSpec) -> fabric::spec::HostSpec {
    fabric::spec::HostSpec { flow_control: Some(control.into()), ..host() }
}

#[test]
fn idle_endpoints_cost_no_events() {
    let mut events = Vec::new();
    for idle in [0, 2_000] {
        let (mut net, a, b) = chain(1, us(100), &switch());
        connect(&mut net, "rpc", a, b, 0, us(1), request_response(64, 64, 1, ns(300), Time::ZERO));
        for n in 0..idle {
            // They start after the end of the run.
            connect(
                &mut net,
                &format!("idle{n}"),
                a,
                b,
                0,
                us(1000),
                request_response(64, 64, 1, ns(300), Time::ZERO),
            );
        }
        let mut simulation = fabric::Simulation::new(&net.0).expect("builds");
        simulation.run().expect("runs");
        events.push(simulation.events());
    }
    assert_eq!(events[0], events[1]);
}

/// Returns the first difference of two results. Compares text, because some values are NaN where there is no data.
fn first_difference(a: &Outcome, b: &Outcome) -> Option<String> {
    let columns = |outcome: &Outcome| -> Vec<String> {
        let all = outcome.tables.iter().flat_map(|table| {
            table
                .columns
                .iter()
                .map(|column| format!("{}.{}: {:?}", table.spec.name, column.spec.name, column.values))
        });
        [format!("{:?} {:x}", outcome.error, outcome.fingerprint)].into_iter().chain(all).collect()
    };
    columns(a).into_iter().zip(columns(b)).find(|(a, b)| a != b).map(|(a, b)| format!("{a}\n{b}"))
}

/// A message that is repeated as a whole never passes a queue that holds only a part of it; a message that continues
/// from the first missing segment does, and so does a message of a single segment.
#[test]
fn a_response_longer_than_a_queue_never_arrives_and_a_transfer_does() {
    let queue = BufferSpec { queue: Some(Amount::Frames(4)), ..BufferSpec::default() };
    let mut net = Net::new(us(100_000));
    let (a, b) = (net.host("a", host()), net.host("b", host()));
    let sw = net.switch("sw", SwitchSpec { buffer: queue, ..switch() });
    net.link(a, sw, gbps(1), ns(100));
    net.link(b, sw, gbps(10), ns(100));
    // Each has a queue of its own. 1 ms exceeds all round trips.
    let timeout = Some(us(1_000));
    let answers = |bytes| match request_response(64, bytes, 1, us(1), Time::ZERO) {
        Application::RequestResponse(spec) => {
            Application::RequestResponse(RequestResponseSpec { requests: Some(5), timeout, ..spec })
        }
        other => other,
    };
    connect(&mut net, "long", a, b, 0, Time::ZERO, answers(10_000));
    connect(&mut net, "short", a, b, 1, Time::ZERO, answers(1_000));
    let bulk = match window(ControllerSpec::Unlimited(UnlimitedParams), Some(10_000)) {
        Application::Window(spec) => Application::Window(WindowSpec { timeout, ..spec }),
        other => other,
    };
    connect(&mut net, "bulk", b, a, 2, Time::ZERO, bulk);
    let outcome = net.run();
    let done = |flow| outcome.count("connections", flow, "exchanges");
    assert_eq!((done("long"), done("short")), (0, 5));
    // The request was retransmitted nearly every millisecond.
    assert!(outcome.count("connections", "long", "segments_sent_again") >= 90);
    assert!(outcome.real("connections", "bulk", "completed_ns") > 1_000_000.0, "it needed a timeout");
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(cases(24)))]

    /// Connections of all kinds over a lossless fabric with raw traffic: no frame is lost, all windows are respected,
    /// and the trajectory is equal on any number of threads and in any number of steps.
    #[test]
    fn connections_on_threads(
        kinds in proptest::collection::vec((0usize..3, 0usize..6, 0usize..6, 0u8..2, 1u64..20), 1..10),
        raw in proptest::collection::vec((0usize..6, 0usize..6), 0..4),
        switches in 1usize..4,
        seed in 0u64..1000,
    ) {
        let mut net = Net::new(us(120));
        net.0.seed = seed;
        let control = pfc(0b11);
        let hosts: Vec<NodeId> = (0..6).map(|n| net.host(&format!("h{n}"), host_with(control.clone()))).collect();
        let spec = SwitchSpec { flow_control: Some(control.into()), ..switch() };
        let all: Vec<NodeId> = (0..switches).map(|n| net.switch(&format!("s{n}"), spec.clone())).collect();
        for (n, &node) in hosts.iter().enumerate() {
            net.link(node, all[n % switches], gbps(10), ns(50 + 10 * n as u64));
        }
        for pair in all.windows(2) {
            net.link(pair[0], pair[1], gbps(25), ns(80));
        }
        for (n, &(kind, from, to, priority, size)) in kinds.iter().enumerate() {
            let (from, to) = (hosts[from], hosts[if to == from { (to + 1) % 6 } else { to }]);
            let what = match kind {
                0 => window(frames(size), Some(size * 5_000)),
                1 => request_response(size * 37, size * 600, 1 + size as u16 / 4, ns(10 * size), ns(100)),
                _ => window(ControllerSpec::Unlimited(UnlimitedParams {}), None),
            };
            connect(&mut net, &format!("c{n}"), from, to, priority, ns(100 * n as u64), what);
        }
        for (n, &(from, to)) in raw.iter().enumerate() {
            let to = if to == from { (to + 1) % 6 } else { to };
            net.flow(&format!("raw{n}"), hosts[from], 1, greedy(hosts[to], 1522, ns(500)));
        }
        let one = net.run();
        prop_assert_eq!(one.total("flows", "frames_dropped"), 0);
        prop_assert_eq!(one.total("connections", "segments_sent_again"), 0);
        prop_assert_eq!(one.total("connections", "frames_discarded"), 0);
        prop_assert_eq!(first_difference(&one, &net.run_in_steps(777)), None);
        for threads in [2, 3] {
            prop_assert_eq!(first_difference(&one, &net.run_on(threads, 5_000)), None, "{} threads", threads);
        }
    }
}

/// A host with two links answers while one of them is down for good: its replies are not queued at that link.
#[test]
fn replies_leave_through_the_link_that_is_left() {
    for choice in [PathChoice::HASH, PathChoice::Spray] {
        for link in [3, 4] {
            let mut net = Net::new(us(2_000));
            let spec = SwitchSpec { path_choice: choice, ..switch() };
            let (a, b) = (net.host("a", host()), net.host("b", host()));
            let near = net.switch("near", spec.clone());
            net.link(a, near, gbps(10), ns(100));
            let far = [net.switch("s1", spec.clone()), net.switch("s2", spec)];
            for (end, other) in [(near, far[0]), (near, far[1]), (far[0], b), (far[1], b)] {
                net.link(end, other, gbps(10), ns(100));
            }
            let mut what = request_response(64, 1000, 1, Time::ZERO, us(10));
            if let Application::RequestResponse(spec) = &mut what {
                spec.timeout = Some(us(100));
            }
            connect(&mut net, "rpc", a, b, 0, Time::ZERO, what);
            // The fault occurs while the host processes a request that arrived over this link.
            let reaction = Reaction { keep: false, reroute: Some(us(3)) };
            net.0.faults = vec![FaultSpec::LinkDown { link, at: us(500), reaction }];
            // 41 exchanges before; then at the same rate, unless the first switch keeps sending every other request to
            // the failed link, where it waits for its timeout.
            let exchanges = net.run().count("connections", "rpc", "exchanges");
            let least = if choice == PathChoice::HASH { 140 } else { 50 };
            assert!(exchanges > least, "{choice:?}, link {link}: {exchanges}");
        }
    }
}

#[test]
fn replies_go_on_when_their_link_comes_back_in_the_middle() {
    // A response of 40 segments takes 33 us. At any point of the response, one of the two links of its host may fail
    // and come back: the rest leaves, and later exchanges are as before.
    for link in [1, 2] {
        for down in (5..45).map(us) {
            let mut net = Net::new(us(2_000));
            let spec = SwitchSpec { path_choice: PathChoice::LeastQueued, ..switch() };
            let (a, b, sw) = (net.host("a", host()), net.host("b", host()), net.switch("sw", spec));
            net.attach(&[a, b, b], sw, gbps(10), ns(100));
            let mut what = request_response(64, 40_000, 1, Time::ZERO, us(5));
            if let Application::RequestResponse(spec) = &mut what {
                spec.timeout = Some(us(200));
            }
            connect(&mut net, "rpc", a, b, 0, Time::ZERO, what);
            let reaction = Reaction { keep: true, reroute: None };
            net.0.faults = vec![
                FaultSpec::LinkDown { link, at: down, reaction },
                FaultSpec::LinkUp { link, at: down + us(8) },
            ];
            // 50 exchanges without the fault; an exchange that lost a segment on the link costs a timeout.
            let exchanges = net.run().count("connections", "rpc", "exchanges");
            assert!(exchanges > 40, "link {link} down at {down}: {exchanges}");
        }
    }
}
