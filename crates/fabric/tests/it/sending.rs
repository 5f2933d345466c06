//! Hosts with processing time for sent frames: throughput, and parallel cores.

use crate::common::*;
use fabric::spec::{CoreChange, HostSpec, ReceiveSpec, SendSpec, SwitchSpec, WhenFull};
use frame::NodeId;
use transport::{Application, ConnectionSpec, ControllerSpec, UnlimitedParams, WindowSpec};
use units::{Amount, BitRate, Time};

fn costly(time_per_frame: Time) -> Option<SendSpec> {
    Some(SendSpec { time_per_frame, ..SendSpec::default() })
}

/// a - sw - b, where a takes time for sent frames. 1230 B take 1 us on each link.
fn net(a: HostSpec, b: HostSpec) -> (Net, NodeId, NodeId) {
    let mut net = Net::new(us(100));
    let (a, b) = (net.host("a", a), net.host("b", b));
    let sw = net.switch("sw", switch());
    net.link(a, sw, gbps(10), ns(15));
    net.link(sw, b, gbps(10), ns(15));
    (net, a, b)
}

#[test]
fn frames_are_worked_on_one_after_the_other() {
    // 2 us per frame, plus 0.8 us for 1230 B at 12.3 Gb/s; 2.03 us to the other end.
    let rate = Some(BitRate::from_bps(12_300_000_000));
    let send = SendSpec { time_per_frame: us(2), rate, ..SendSpec::default() };
    let (mut net, a, b) = net(HostSpec { send: Some(send), ..host() }, host());
    net.flow("f", a, 0, burst(b, 1230, 3, Time::ZERO));
    assert_eq!(net.run().latency("f"), (ns(2_800 + 2_030), ns(3 * 2_800 + 2_030)));
    // Frames still being processed at the end count as created, not as lost.
    net.0.duration = us(6);
    let outcome = net.run();
    assert_eq!((outcome.delivered("f"), outcome.count("flows", "f", "frames_sent")), (1, 3));
    assert_eq!(outcome.total("drops", "frames"), 0);
}

#[test]
fn a_faster_core_than_the_link_is_not_seen_behind_the_first_frame() {
    let (mut net, a, b) = net(HostSpec { send: costly(ns(400)), ..host() }, host());
    net.flow("f", a, 0, greedy(b, 1230, Time::ZERO));
    // The first arrives at 0.4 + 2.03 us, the others one per microsecond.
    assert_eq!(net.run().delivered("f"), 98);
}

#[test]
fn a_program_takes_the_core_for_a_while() {
    let costs = |time_per_frame| CoreChange::Send { time_per_frame: Some(us(time_per_frame)), rate: None };
    let bytes = CoreChange::Send { time_per_frame: None, rate: Some(BitRate::from_bps(4_920_000_000)) };
    let script = vec![(us(20), costs(8)), (us(60), costs(2)), (us(80), bytes)];
    let send = SendSpec { time_per_frame: us(2), rate: None, script };
    let run = |threads| {
        let (mut net, a, b) = net(HostSpec { send: Some(send.clone()), ..host() }, host());
        net.flow("f", a, 0, greedy(b, 1230, Time::ZERO));
        net.run_on(threads, 1_000_000)
    };
    let outcome = run(1);
    // A frame that starts at the time of a change has the old cost. Completed are 11 frames from 2 to 22 us, 5 until 62
    // us, 10 until 82 us, and 4 of 2 + 2 us, the last of which is in flight at the end.
    assert_eq!(outcome.delivered("f"), 29);
    assert_eq!(outcome.texts("faults", "what"), ["sending_changes"; 3]);
    assert_eq!([run(2).fingerprint, run(3).fingerprint], [outcome.fingerprint; 2]);
}

#[test]
fn one_core_works_in_both_directions_in_turn() {
    let receive = ReceiveSpec { time_per_frame: us(3), ..ReceiveSpec::default() };
    let (mut net, a, b) = net(HostSpec { send: costly(us(2)), receive: Some(receive), ..host() }, host());
    net.flow("out", a, 0, paced(b, 1230, 3, us(2), ns(100)));
    net.flow("in", b, 0, one(a, 1230, Time::ZERO));
    let outcome = net.run();
    // "in" arrives at 2.03 us, when the core processes the first frame, and is processed before the others, which
    // arrive later. The first is done at 4 us, "in" at 7 us, the others at 9 and 11 us.
    assert_eq!(outcome.latency("in"), (us(7), us(7)));
    assert_eq!(outcome.latency("out"), (ns(2_000 + 2_030), ns(11_000 - 2_200 + 2_030)));
}

#[test]
fn a_sender_blocks_or_drops_at_the_limit() {
    let run = |when_full| {
        let queue_limit = Some(Amount::Frames(4));
        let (mut net, a, b) = net(HostSpec { send: costly(us(2)), queue_limit, when_full, ..host() }, host());
        net.flow("f", a, 0, paced(b, 1230, 1_000, Time::ZERO, us(1)));
        net.run()
    };
    // One frame every 2 us in either case, the first at 4.03 us.
    let (blocks, drops) = (run(WhenFull::Block), run(WhenFull::Drop));
    assert_eq!([blocks.delivered("f"), drops.delivered("f")], [48, 48]);
    assert_eq!(blocks.total("drops", "frames"), 0);
    assert_eq!(blocks.count("flows", "f", "frames_sent"), 53);
    assert_eq!(drops.texts("drops", "cause"), ["nic_full"]);
    assert_eq!(drops.count("flows", "f", "frames_sent"), 100);
    assert_eq!(drops.total("drops", "frames"), 100 - 53);
}

#[test]
fn two_priorities_share_a_core_and_block_each_for_itself() {
    let host_of_two = HostSpec { send: costly(us(2)), queue_limit: Some(Amount::Frames(2)), ..host() };
    let (mut net, a, b) = net(host_of_two, host());
    for (name, priority) in [("low", 0), ("high", 5)] {
        net.flow(name, a, priority, paced(b, 1230, 1_000, Time::ZERO, us(1)));
    }
    let outcome = net.run();
    // The core processes frames in the order of arrival: both flows get equal shares.
    assert_eq!([outcome.delivered("low"), outcome.delivered("high")], [24, 24]);
    assert_eq!(outcome.total("drops", "frames"), 0);
}

#[test]
fn endpoints_have_as_many_cores_as_there_are() {
    let window = WindowSpec {
        bytes: None,
        segment: 1230,
        controller: ControllerSpec::Unlimited(UnlimitedParams),
        ack_bytes: 64,
        ack_every: 1,
        ack_delay: Time::ZERO,
        timeout: None,
        ecn_capable: false,
    };
    let run = |cores, threads| {
        let receive = Some(ReceiveSpec { cores, ..ReceiveSpec::default() });
        let (mut net, a, b) = net(HostSpec { send: costly(us(8)), receive, ..host() }, host());
        for n in 0..8 {
            let flow = net.flow(&format!("f{n}"), a, 0, greedy(b, 1230, Time::ZERO));
            let application = Application::Window(window.clone());
            flow.transport = Some(ConnectionSpec { start: Time::ZERO, stop: None, application }.into());
        }
        let outcome = net.run_on(threads, 1_000_000);
        (outcome.total("flows", "frames_delivered"), outcome.fingerprint)
    };
    // 8 us per frame: 12 in 100 us, the last of which is in flight at the end. Four cores process more, but not four
    // times as many: if two flows with frames share a core, another core is idle.
    assert_eq!(run(1, 1).0, 12);
    let four = run(4, 1);
    assert!((24..=48).contains(&four.0), "{}", four.0);
    assert_eq!([run(4, 2), run(4, 3)], [four; 2]);
}

#[test]
fn lossless_ends_with_costs_lose_nothing() {
    let flow_control = Some(pfc(1).into());
    let receive = ReceiveSpec { time_per_frame: us(2), buffer: Some(64 << 10), ..ReceiveSpec::default() };
    let end =
        |receive| HostSpec { send: costly(ns(1_500)), flow_control: flow_control.clone(), receive, ..host() };
    let mut net = Net::new(Time::from_ms(5));
    let (a, b) = (net.host("a", end(None)), net.host("b", end(Some(receive))));
    let sw = net.switch("sw", SwitchSpec { flow_control: flow_control.clone(), ..switch() });
    net.link(a, sw, gbps(10), ns(15));
    net.link(sw, b, gbps(10), ns(15));
    net.flow("f", a, 0, greedy(b, 1230, Time::ZERO));
    let outcome = net.run();
    assert_eq!(outcome.total("drops", "frames"), 0);
    assert!(outcome.count("ports", "b.0->sw", "pauses_sent") > 10);
    let expected = 5_000.0 / 2.0;
    assert!((outcome.delivered("f") as f64 / expected - 1.0).abs() < 0.005);
}
