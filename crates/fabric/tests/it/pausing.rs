//! PAUSE and PFC as a station has to obey and to send them, to the picosecond.
//!
//! Most tests share one arrangement: a long frame that originates at the switch holds the egress link for 9236 B · 800
//! ps = 7 388 800 ps at 10 Gb/s. Frames that arrive meanwhile are queued, and their ingress port is paused.

use crate::common::*;
use fabric::spec::{HostSpec, SwitchSpec};
use flow_control::{Accounting, PauseKind, PauseSpec, Watermarks};
use frame::{ClassMap, NodeId};
use scheduling::SchedulerSpec;
use units::{Amount, Time};

const LONG: u64 = 7_388_800;
/// Time of a pause frame: 84 B at 10 Gb/s.
const P: u64 = 67_200;

fn host_with(control: &PauseSpec) -> HostSpec {
    HostSpec { flow_control: Some(control.clone().into()), ..host() }
}
fn switch_with(control: &PauseSpec) -> SwitchSpec {
    SwitchSpec { flow_control: Some(control.clone().into()), ..switch() }
}

/// h - sw - sink at 10 Gb/s, 100 ns of cable on the first link, none on the second.
struct Bench {
    net: Net,
    h: NodeId,
    sw: NodeId,
    sink: NodeId,
}

fn bench(control: &PauseSpec) -> Bench {
    bench_with(host_with(control), switch_with(control))
}

fn bench_with(h: HostSpec, sw: SwitchSpec) -> Bench {
    let mut net = Net::new(us(50));
    let (h, sw, sink) = (net.host("h", h), net.switch("sw", sw), net.host("sink", host()));
    net.link(h, sw, gbps(10), ns(100));
    net.link(sw, sink, gbps(10), Time::ZERO);
    Bench { net, h, sw, sink }
}

#[test]
fn each_priority_stops_alone() {
    // At 0, the egress link to "sink" is held for LONG, and a frame of priority p (200 B: 176 000 ps) is sent: it
    // arrives at 176 000 + 100 000 and is queued, and XOFF at one frame sends a pause frame, which arrives at the host
    // at 276 000 + 67 200 + 100 000. Frames of all priorities follow, half a microsecond apart, to another host: all
    // but those of p pass undisturbed.
    for paused in 0..8u8 {
        let Bench { mut net, h, sw, sink } = bench(&pfc_at(0xFF, 1, 0));
        let other = net.host("other", host());
        net.link(sw, other, gbps(10), Time::ZERO);
        net.flow("long", sw, paused, one(sink, 9216, Time::ZERO));
        net.flow("first", h, paused, one(sink, 200, Time::ZERO));
        for priority in 0..8 {
            let start = us(2) + ns(500) * u64::from(priority);
            net.flow(&format!("p{priority}"), h, priority, one(other, 200, start));
        }
        let outcome = net.run();
        let resumed = LONG + P + 100_000;
        assert_eq!(outcome.pauses().len(), 1);
        assert_eq!(outcome.pauses_of("h.0->sw", paused), [(443_200, resumed)]);
        for priority in 0..8u8 {
            let created = 2_000_000 + 500_000 * u64::from(priority);
            let free = 176_000 + 100_000 + 176_000;
            let expected = if priority == paused { resumed - created + free } else { free };
            assert_eq!(outcome.only_latency(&format!("p{priority}")).ps(), expected, "{paused} {priority}");
        }
        // Golden vector 5: only one priority stops, and it is the intended one.
        assert_eq!(outcome.real("ports", "h.0->sw", "paused_s"), (resumed - 443_200) as f64 / 1e12);
    }
}

#[test]
fn a_shared_queue_stops_for_all() {
    // As above, but the host has one queue for all priorities: no frame passes until the pause ends. With two queues (0
    // to 3 and 4 to 7), only the paused half stops.
    let halves = ClassMap::new([0, 0, 0, 0, 1, 1, 1, 1]).unwrap();
    for (classes, scheduler, together) in
        [(ClassMap::SHARED, SchedulerSpec::Fifo, 0xFF), (halves, SchedulerSpec::StrictPriority, 0xF0u8)]
    {
        let control = pfc_at(0xFF, 1, 0);
        let h = HostSpec { classes, scheduler, ..host_with(&control) };
        let Bench { mut net, h, sw, sink } = bench_with(h, switch_with(&control));
        let other = net.host("other", host());
        net.link(sw, other, gbps(10), Time::ZERO);
        net.flow("long", sw, 5, one(sink, 9216, Time::ZERO));
        net.flow("first", h, 5, one(sink, 200, Time::ZERO));
        for priority in 0..8 {
            let start = us(2) + ns(500) * u64::from(priority);
            net.flow(&format!("p{priority}"), h, priority, one(other, 200, start));
        }
        let outcome = net.run();
        for priority in 0..8u8 {
            let latency = outcome.only_latency(&format!("p{priority}")).ps();
            let stopped = latency > 176_000 + 100_000 + 176_000;
            assert_eq!(stopped, together >> priority & 1 != 0, "{priority}: {latency}");
        }
    }
}

#[test]
fn pause_stops_everything() {
    // IEEE 802.3x: one signal for the whole link.
    let control = PauseSpec { kind: PauseKind::Link, ..pfc_at(0, 1, 0) };
    let Bench { mut net, h, sw, sink } = bench(&control);
    let other = net.host("other", host());
    net.link(sw, other, gbps(10), Time::ZERO);
    net.flow("long", sw, 0, one(sink, 9216, Time::ZERO));
    net.flow("first", h, 0, one(sink, 200, Time::ZERO));
    for priority in 0..8 {
        net.flow(&format!("p{priority}"), h, priority, one(other, 200, us(2)));
    }
    let outcome = net.run();
    let resumed = LONG + P + 100_000;
    for priority in 0..8u8 {
        assert_eq!(outcome.pauses_of("h.0->sw", priority), [(443_200, resumed)]);
        // Strict priority after the pause: 7 first.
        let turn = u64::from(7 - priority) * 176_000;
        let expected = resumed - 2_000_000 + turn + 176_000 + 100_000 + 176_000;
        assert_eq!(outcome.only_latency(&format!("p{priority}")).ps(), expected);
    }
    // One pause frame per XOFF and XON on the wire, not eight.
    assert_eq!(outcome.count("ports", "sw.0->h", "pauses_sent"), 1);
    assert_eq!(outcome.count("ports", "sw.0->h", "resumes_sent"), 1);
    assert_eq!(outcome.count("ports", "h.0->sw", "pauses_received"), 1);
}

#[test]
fn the_response_time_counts_from_the_end_of_the_pause_frame() {
    // The frame in transmission completes, and the next one does not start. 1000 B: 816 000 ps each. Frames leave the
    // host at 0, 816 000, ... The first arrives at 916 000 and causes XOFF, which arrives at the host at 916 000 + 67
    // 200 + 100 000 = 1 083 200, in the middle of the second, and takes effect after the response time. With 500 ns
    // more, that is 1 583 200, before the end of the second (1 632 000); with 549 ns, it is 1 632 200, just after the
    // start of the third.
    for (response, in_flight) in [(0, 2), (500, 2), (548, 2), (549, 3)] {
        let control = PauseSpec { response_time: Some(ns(response)), ..pfc_at(0x08, 1, 0) };
        let Bench { mut net, h, sw, sink } = bench(&control);
        net.flow("long", sw, 3, one(sink, 9216, Time::ZERO));
        net.flow("f", h, 3, burst(sink, 1000, 5, Time::ZERO));
        let outcome = net.run();
        // XON when the last of them leaves the switch: the others first, 816 000 each.
        let start = 1_083_200 + response * 1000;
        let first_xon = LONG + (in_flight - 1) * 816_000;
        let resumed = first_xon + P + 100_000 + response * 1000;
        assert_eq!(outcome.pauses_of("h.0->sw", 3)[0], (start, resumed), "{response}");
        // The next frame then leaves the host and finds the switch empty (the switch took another 816 000 to send the
        // last frame, less than the round trip).
        let next = resumed + 816_000 + 100_000 + 816_000;
        let last = next + (5 - in_flight - 1) * 816_000;
        assert_eq!(outcome.latency("f").1.ps(), last, "{response}");
    }
}

#[test]
fn a_pause_at_the_very_end_of_a_frame_lets_one_more_go() {
    // The port becomes idle at 1 632 000 and decides before the pause takes effect at the same time: the worst case,
    // which headroom has to cover anyway.
    let control = PauseSpec { response_time: Some(ps(1_632_000 - 1_083_200)), ..pfc_at(0x08, 1, 0) };
    let Bench { mut net, h, sw, sink } = bench(&control);
    net.flow("long", sw, 3, one(sink, 9216, Time::ZERO));
    net.flow("f", h, 3, burst(sink, 1000, 5, Time::ZERO));
    let outcome = net.run();
    // Three frames were queued in the switch.
    assert_eq!(queue(&outcome, "sw.1->sink", 3, "queue_frames_max"), 3);
}

/// An integer column of a queue.
fn queue(outcome: &Outcome, port: &str, class: u64, column: &str) -> u64 {
    let ports = outcome.texts("queues", "port").iter();
    let row = ports.zip(outcome.integers("queues", "class")).position(|(p, &c)| p == port && c == class);
    outcome.integers("queues", column)[row.expect("the queue carried frames")]
}

#[test]
fn a_pause_frame_waits_for_the_frame_on_the_wire_but_not_for_those_that_wait() {
    // Ten frames of 1522 B (1 233 600 ps) go in the other direction, from sw to h, all present at 0 and of the highest
    // priority. XOFF is due at 916 000: the pause frame starts when the first of them has ended.
    let Bench { mut net, h, sw, sink } = bench(&pfc_at(0x08, 1, 0));
    net.flow("long", sw, 3, one(sink, 9216, Time::ZERO));
    net.flow("f", h, 3, burst(sink, 1000, 5, Time::ZERO));
    net.flow("back", sw, 7, burst(h, 1522, 10, Time::ZERO));
    let outcome = net.run();
    let start = 1_233_600 + P + 100_000;
    // It took effect before the third frame (1 632 000). XON is due when the second leaves the switch, at LONG + 816
    // 000 = 8 204 800. Frames to h end at 1 233 600 · n + 67 200: the one on the wire at that time is the seventh (7
    // 468 800 to 8 702 400).
    let resumed = 7 * 1_233_600 + P + P + 100_000;
    assert_eq!(outcome.pauses_of("h.0->sw", 3)[0], (start, resumed));
    assert_eq!(outcome.latency("back").1.ps(), 10 * 1_233_600 + 2 * P + 100_000);
}

#[test]
fn xoff_and_xon_that_wait_together_become_one_frame() {
    // The egress port is held for only 1 µs, while a long frame is in transmission to h. When the pause frame can be
    // sent, XON has superseded XOFF: one frame with time zero, and no queue ever stops.
    let Bench { mut net, h, sw, sink } = bench(&pfc_at(0x08, 1, 0));
    net.flow("hold", sw, 3, one(sink, 1522, Time::ZERO));
    net.flow("f", h, 3, burst(sink, 200, 1, Time::ZERO));
    net.flow("back", sw, 7, one(h, 9216, Time::ZERO));
    let outcome = net.run();
    assert_eq!(outcome.pauses(), []);
    assert_eq!(outcome.count("ports", "sw.0->h", "pauses_sent"), 0);
    assert_eq!(outcome.count("ports", "sw.0->h", "resumes_sent"), 1);
    assert_eq!(outcome.count("ports", "h.0->sw", "pauses_received"), 0);
    // One pause frame was sent: 9236 + 84 B in 50 µs.
    let busy = outcome.real("ports", "sw.0->h", "utilisation");
    assert!((busy - 9_320.0 * 800.0 / 50e6).abs() < 1e-12, "{busy}");
    // In the reverse case, XON superseded by XOFF, the pause continues: two bursts, the second of which arrives while
    // the frame to h is still in transmission.
    let Bench { mut net, h, sw, sink } = bench(&pfc_at(0x08, 1, 0));
    net.flow("hold", sw, 3, one(sink, 1522, Time::ZERO));
    net.flow("f", h, 3, one(sink, 200, Time::ZERO));
    net.flow("again", sw, 3, one(sink, 9216, us(2)));
    net.flow("g", h, 3, one(sink, 200, us(3)));
    net.flow("back", sw, 7, one(h, 9216, Time::ZERO));
    let outcome = net.run();
    // XOFF waits until 7 388 800; XON when "g" leaves, at 2 000 000 + 7 388 800.
    assert_eq!(outcome.pauses_of("h.0->sw", 3), [(LONG + P + 100_000, 2_000_000 + LONG + P + 100_000)]);
}

#[test]
fn several_priorities_share_a_pause_frame() {
    // Two priorities reach XOFF while a frame is in transmission to h; one pause frame stops both.
    let Bench { mut net, h, sw, sink } = bench(&pfc_at(0xFF, 1, 0));
    net.flow("long", sw, 7, one(sink, 9216, Time::ZERO));
    net.flow("a", h, 2, one(sink, 200, Time::ZERO));
    net.flow("b", h, 6, one(sink, 200, Time::ZERO));
    net.flow("back", sw, 7, one(h, 1522, Time::ZERO));
    let outcome = net.run();
    let start = 1_233_600 + P + 100_000;
    // b (priority 6) leaves first, a 176 000 later; the XONs are separate.
    assert_eq!(outcome.pauses_of("h.0->sw", 6), [(start, LONG + P + 100_000)]);
    assert_eq!(outcome.pauses_of("h.0->sw", 2), [(start, LONG + 176_000 + P + 100_000)]);
    assert_eq!(outcome.count("ports", "sw.0->h", "pauses_sent"), 1);
    assert_eq!(outcome.count("ports", "sw.0->h", "resumes_sent"), 2);
    // The port was paused as long as any of them was.
    let paused = LONG + 176_000 - 1_233_600;
    assert_eq!(outcome.real("ports", "h.0->sw", "paused_s"), paused as f64 / 1e12);
    // Each pause names its own counter.
    let causes = outcome.texts("pauses", "counter");
    assert_eq!(causes, ["sw.0->h in/2", "sw.0->h in/6"]);
}

#[test]
fn a_pause_ends_by_itself() {
    // 10 quanta: 512 ns from the end of the pause frame. Without XON (Hagen's lossless-HW), expiry is the only end of a
    // pause.
    for refresh in [false, true] {
        let control = PauseSpec { quanta: 10.into(), resume: false, refresh, ..pfc_at(0x08, 1, 0) };
        let Bench { mut net, h, sw, sink } = bench(&control);
        // The egress link is idle again at 1 233 600; the last pause then expires.
        net.flow("hold", sw, 3, one(sink, 1522, Time::ZERO));
        net.flow("f", h, 3, one(sink, 200, Time::ZERO));
        net.flow("g", h, 3, one(sink, 200, ns(500)));
        let outcome = net.run();
        let pauses = outcome.pauses_of("h.0->sw", 3);
        let last = pauses.last().unwrap();
        assert_eq!(pauses[0].0, 443_200);
        if !refresh {
            assert_eq!(pauses[..1], [(443_200, 443_200 + 512_000)]);
            // "g" is then sent, arrives at 955 200 + 276 000 = 1 231 200, just before the egress link is idle, and
            // causes another pause; it leaves behind "f" at 1 233 600 + 176 000.
            assert_eq!(outcome.only_latency("g").ps(), 1_233_600 + 176_000 + 176_000 - 500_000);
        }
        assert_eq!(outcome.count("ports", "sw.0->h", "resumes_sent"), 0);
        assert!(last.1 > 1_233_600 || !refresh);
    }
}

#[test]
fn a_new_time_replaces_the_running_one() {
    // Golden vector 4 in the fabric: a second XOFF of equal duration does not add to the first. 40 quanta are 2 048 ns.
    // With refresh, the pause is renewed before it ends; without XON, it ends with the last renewal.
    let control = PauseSpec { quanta: 40.into(), resume: false, ..pfc_at(0x08, 1, 0) };
    let Bench { mut net, h, sw, sink } = bench(&control);
    net.flow("hold", sw, 3, one(sink, 1522, Time::ZERO));
    net.flow("f", h, 3, one(sink, 200, Time::ZERO));
    let outcome = net.run();
    // XOFF at 276 000. A frame of 1522 B and a pause frame may delay the renewal, so it is sent that much and 2 ps
    // before the end: after 2 048 000 - 1 233 600 - 67 200 - 2 = 747 198. At the next renewal, the egress link is idle.
    assert_eq!(outcome.pauses_of("h.0->sw", 3), [(443_200, 443_200 + 747_198 + 2_048_000)]);
    assert_eq!(outcome.count("ports", "sw.0->h", "pauses_sent"), 2);
    // With frames of 9216 B, no renewal of such a short pause is certain to arrive in time: it is renewed at half of
    // its duration. Held for longer, XOFF is sent at 276 000, and every 1 024 000 until the egress link is idle at
    // LONG: 276 000 + 6 · 1 024 000 = 6 420 000 is the last.
    let Bench { mut net, h, sw, sink } = bench(&control);
    net.flow("long", sw, 3, one(sink, 9216, Time::ZERO));
    net.flow("f", h, 3, one(sink, 200, Time::ZERO));
    let outcome = net.run();
    assert_eq!(outcome.pauses_of("h.0->sw", 3), [(443_200, 6_420_000 + P + 100_000 + 2_048_000)]);
    assert_eq!(outcome.count("ports", "sw.0->h", "pauses_sent"), 7);
}

#[test]
fn a_renewal_leaves_no_gap() {
    // The sink's link is so slow that the pause has to be renewed many times. Whatever delays the renewal, and however
    // slow the response: a single pause, without a gap. The longest pause at 400 Gb/s is 83.9 us.
    for (response, back) in [(0, false), (0, true), (3_072, false), (3_072, true), (10_000, true)] {
        let control = PauseSpec { response_time: Some(ns(response)), ..pfc_at(0x08, 1, 0) };
        let mut net = Net::new(us(900));
        let (h, sw) = (net.host("h", host_with(&control)), net.switch("sw", switch_with(&control)));
        let sink = net.host("sink", host());
        net.link(h, sw, gbps(400), ns(10));
        net.link(sw, sink, units::BitRate::from_bps(10_000_000), Time::ZERO);
        net.flow("long", sw, 3, one(sink, 1522, Time::ZERO));
        net.flow("f", h, 3, burst(sink, 1522, 1, Time::ZERO));
        if back {
            net.flow("back", sw, 7, paced(h, 9216, 1 << 40, Time::ZERO, ps(9236 * 20)));
        }
        let outcome = net.run();
        let pauses = outcome.pauses_of("h.0->sw", 3);
        assert_eq!(pauses.len(), 1, "{response} {back}: {pauses:?}");
        assert_eq!(pauses[0].1, 900_000_000);
        assert!(outcome.count("ports", "sw.0->h", "pauses_sent") >= 10);
        // Without renewal it ends after 65535 quanta.
        let control = PauseSpec { refresh: false, ..control };
        net.0.nodes[0].role = fabric::spec::Role::Host(host_with(&control).into());
        net.0.nodes[1].role = fabric::spec::Role::Switch(switch_with(&control).into());
        let outcome = net.run();
        let pauses = outcome.pauses_of("h.0->sw", 3);
        assert_eq!(pauses[0].1 - pauses[0].0, 83_884_800 - response * 1000, "{response}");
        assert_eq!(outcome.count("ports", "sw.0->h", "pauses_sent"), 1);
    }
}

#[test]
fn the_smallest_quanta_work() {
    // One quantum: 51.2 ns. With a response time of 60 ns, the pause expires before it takes effect, and nothing stops.
    let control = PauseSpec { quanta: 1.into(), refresh: false, ..pfc_at(0x08, 1, 0) };
    let Bench { mut net, h, sw, sink } = bench(&control);
    net.flow("long", sw, 3, one(sink, 9216, Time::ZERO));
    net.flow("f", h, 3, burst(sink, 200, 3, Time::ZERO));
    let outcome = net.run();
    // Each arriving frame causes a new XOFF: the pause has expired by then.
    let pauses = outcome.pauses_of("h.0->sw", 3);
    assert_eq!(pauses[0], (443_200, 443_200 + 51_200));
    assert!(pauses.iter().all(|(start, end)| end - start == 51_200), "{pauses:?}");
    let control = PauseSpec { response_time: Some(ns(60)), ..control };
    let Bench { mut net, h, sw, sink } = bench(&control);
    net.flow("long", sw, 3, one(sink, 9216, Time::ZERO));
    net.flow("f", h, 3, burst(sink, 200, 3, Time::ZERO));
    let outcome = net.run();
    assert_eq!(outcome.pauses(), []);
    assert!(outcome.count("ports", "h.0->sw", "pauses_received") > 0);
    assert_eq!(outcome.real("ports", "h.0->sw", "paused_s"), 0.0);
}

#[test]
fn renewals_leave_room_for_data() {
    // Two hosts send to each other through a switch that pauses both. A quantum is shorter than a pause frame: renewals
    // at that rate would occupy both links permanently, and the queues that cause them would never drain.
    let control = PauseSpec { quanta: 1.into(), ..pfc_at(0x08, 1, 0) };
    let mut net = Net::new(us(200));
    let sw = net.switch("sw", switch_with(&control));
    let [a, b] = ["a", "b"].map(|name| {
        let h = net.host(name, host_with(&control));
        net.link(h, sw, gbps(10), ns(100));
        net.flow(&format!("hold {name}"), sw, 3, one(h, 9216, Time::ZERO));
        h
    });
    net.flow("there", a, 3, burst(b, 1000, 20, Time::ZERO));
    net.flow("back", b, 3, burst(a, 1000, 20, Time::ZERO));
    let outcome = net.run();
    assert_eq!((outcome.delivered("there"), outcome.delivered("back")), (20, 20));
    assert!(outcome.count("ports", "sw.0->a", "pauses_sent") > 10);
}

#[test]
fn a_station_without_flow_control_does_not_stop() {
    let control = pfc_at(0x08, 1, 0);
    let Bench { mut net, h, sw, sink } = bench_with(host(), switch_with(&control));
    net.flow("long", sw, 3, one(sink, 9216, Time::ZERO));
    net.flow("f", h, 3, burst(sink, 1000, 5, Time::ZERO));
    let outcome = net.run();
    assert_eq!(outcome.pauses(), []);
    assert_eq!(outcome.real("ports", "h.0->sw", "paused_s"), 0.0);
    assert_eq!(outcome.count("ports", "h.0->sw", "pauses_received"), 1);
    // All five arrived before the egress link was idle, and left one after the other.
    assert_eq!(queue(&outcome, "sw.1->sink", 3, "queue_frames_max"), 5);
    assert_eq!(outcome.latency("f").1.ps(), LONG + 5 * 816_000);
    // A priority for which the host has no flow control is not stopped either.
    let Bench { mut net, h, sw, sink } = bench_with(host_with(&pfc_at(0xF7, 1, 0)), switch_with(&control));
    net.flow("long", sw, 3, one(sink, 9216, Time::ZERO));
    net.flow("f", h, 3, burst(sink, 1000, 5, Time::ZERO));
    assert_eq!(net.run().pauses(), []);
}

#[test]
fn a_cascade_reaches_the_origin() {
    // h - s0 - s1 - s2 - sink: the sink's link is a tenth as fast. Each switch in turn fills up to XOFF and pauses the
    // previous one, and finally the host. No frame is lost, and the pauses start in the order of hops.
    let control = pfc(0x01);
    let mut net = Net::new(us(2_000));
    let mut last = net.host("h", host_with(&control));
    let h = last;
    for i in 0..3 {
        let next = net.switch(&format!("s{i}"), switch_with(&control));
        net.link(last, next, gbps(10), ns(500));
        last = next;
    }
    let sink = net.host("sink", host_with(&control));
    net.link(last, sink, gbps(1), ns(500));
    net.flow("f", h, 0, greedy(sink, 1522, Time::ZERO));
    let outcome = net.run();
    let first = |port: &str| outcome.pauses_of(port, 0)[0].0;
    assert!(first("s1.1->s2") < first("s0.1->s1") && first("s0.1->s1") < first("h.0->s0"));
    assert_eq!(outcome.pauses_of("s2.1->sink", 0), []);
    assert_eq!(outcome.summary("frames_dropped"), 0.0);
    // The slow link never idles: 1 Gb/s · 1522 / 1542, except for the first frame's journey.
    let share = outcome.real("ports", "s2.1->sink", "utilisation");
    assert!(share > 0.997, "{share}");
}

#[test]
fn a_port_held_by_two_queues_resumes_when_both_are_released() {
    // Egress accounting: both queues, to x and to y, pause all other ports. The one to y is released first.
    let marks = Watermarks { xoff: Amount::Frames(1), xon: Amount::Frames(1), headroom: None };
    let control = PauseSpec { accounting: Accounting::Egress, watermarks: Some(marks), ..pfc(0x08) };
    let mut net = Net::new(us(50));
    let (h, sw) = (net.host("h", host_with(&control)), net.switch("sw", switch_with(&control)));
    let (x, y) = (net.host("x", host()), net.host("y", host()));
    net.link(h, sw, gbps(10), ns(100));
    net.link(sw, x, gbps(10), Time::ZERO);
    net.link(sw, y, gbps(10), Time::ZERO);
    net.flow("to x", sw, 3, one(x, 9216, Time::ZERO));
    net.flow("to y", sw, 3, one(y, 1522, Time::ZERO));
    // Two queued frames each: the second finds one in the queue, which is XOFF.
    net.flow("a", h, 3, burst(x, 64, 2, Time::ZERO));
    net.flow("b", h, 3, burst(y, 64, 2, Time::ZERO));
    let outcome = net.run();
    // The queue to y is empty soon after 1 233 600.
    let pauses = outcome.pauses_of("h.0->sw", 3);
    assert_eq!(pauses.len(), 1, "{pauses:?}");
    // The queue to y also paused x, so a pause frame goes to x ahead of queued frames. Then the two frames leave, the
    // last at LONG + P + 67 200; including it, the queue held one frame, the low watermark.
    assert_eq!(pauses[0].1, LONG + P + 67_200 + P + 100_000);
}

#[test]
fn a_low_watermark_of_zero_resumes_when_the_queue_is_empty() {
    for accounting in [Accounting::Ingress, Accounting::Egress] {
        let control = PauseSpec { accounting, ..pfc_at(0x08, 1, 0) };
        let Bench { mut net, h, sw, sink } = bench(&control);
        net.flow("long", sw, 3, one(sink, 9216, Time::ZERO));
        net.flow("f", h, 3, burst(sink, 200, 8, Time::ZERO));
        let outcome = net.run();
        assert_eq!(outcome.delivered("f"), 8, "{accounting:?}");
        let ends = outcome.pauses_of("h.0->sw", 3);
        assert!(ends.iter().all(|&(_, end)| end < 20_000_000), "{accounting:?}: {ends:?}");
    }
}

#[test]
fn a_renewal_for_one_queue_does_not_forget_another() {
    // Egress accounting with two queues that pause the port. The one to y falls to its low watermark and stays there;
    // it needs no renewal. The one to x is still above its low watermark and does need one.
    let marks = Watermarks { xoff: Amount::Frames(3), xon: Amount::Frames(1), headroom: None };
    let control = PauseSpec {
        accounting: Accounting::Egress,
        watermarks: Some(marks),
        quanta: 1000.into(),
        ..pfc(0x08)
    };
    let mut net = Net::new(us(900));
    let (h, sw) = (net.host("h", host_with(&control)), net.switch("sw", switch_with(&control)));
    let (x, y) = (net.host("x", host()), net.host("y", host()));
    // All ten frames are in flight before the first pause arrives.
    net.link(h, sw, gbps(10), ns(500));
    // A frame of 1522 B holds the link to x for 1.2336 ms.
    net.link(sw, x, units::BitRate::from_bps(10_000_000), Time::ZERO);
    net.link(sw, y, units::BitRate::from_bps(10_000_000), Time::ZERO);
    net.flow("to x", sw, 3, one(x, 1522, Time::ZERO));
    net.flow("a", h, 3, burst(x, 64, 5, Time::ZERO));
    // 5 frames of 64 B to y: 67.2 µs each. The first leaves immediately; the next three leave at 67.2, 134.4 and 201.6
    // µs. The last remains alone, behind a long one of a higher priority.
    net.flow("b", h, 3, burst(y, 64, 5, Time::ZERO));
    net.flow("hold y", sw, 7, one(y, 1522, us(210)));
    // More frames, which the host sends whenever it is not paused.
    net.flow("more", h, 3, paced(x, 64, 1 << 40, us(10), us(5)));
    let outcome = net.run();
    let pauses = outcome.pauses_of("h.0->sw", 3);
    assert_eq!(pauses.len(), 1, "{pauses:?}");
    assert_eq!(pauses[0].1, 900_000_000);
}

#[test]
fn the_end_of_one_pause_of_two_in_a_shared_queue_is_not_missed() {
    // One queue for priorities 3 and 4. Pauses for both are in force and are not renewed; XON ends the later one, and
    // the queue has to resume when the earlier one expires, not when the later one would have.
    let control = PauseSpec { quanta: 100.into(), refresh: false, ..pfc_at(0x18, 1, 0) };
    let h = HostSpec { classes: ClassMap::SHARED, scheduler: SchedulerSpec::Fifo, ..host_with(&control) };
    let mut net = Net::new(us(50));
    let (h, sw) = (net.host("h", h), net.switch("sw", switch_with(&control)));
    let (x, y, z) = (net.host("x", host()), net.host("y", host()), net.host("z", host()));
    net.link(h, sw, gbps(10), ns(100));
    for sink in [x, y, z] {
        net.link(sw, sink, gbps(10), Time::ZERO);
    }
    net.flow("hold x", sw, 3, one(x, 9216, Time::ZERO));
    net.flow("hold y", sw, 4, one(y, 1522, ns(300)));
    // "a" (priority 3) is queued for x from 167 200 on, "b" (priority 4) for y. 84 B: 67 200 ps.
    net.flow("a", h, 3, one(x, 64, Time::ZERO));
    net.flow("b", h, 4, one(y, 1522, Time::ZERO));
    // Arrives when both pauses are in force: the port schedules its next decision for the end of the later one.
    net.flow("late", h, 0, burst(z, 64, 2, ns(1_600)));
    let outcome = net.run();
    let (three, four) = (outcome.pauses_of("h.0->sw", 3), outcome.pauses_of("h.0->sw", 4));
    // XOFF for 3 at 167 200; it takes effect at 334 400 and lasts 5 120 000.
    assert_eq!(three, [(334_400, 334_400 + 5_120_000)]);
    // "b" arrives at 67 200 + 1 233 600 + 100 000 = 1 400 800; the link to y is idle at 1 533 600.
    assert_eq!(four, [(1_400_800 + P + 100_000, 1_533_600 + P + 100_000)]);
    let expected = 334_400 + 5_120_000 - 1_600_000 + 67_200 + 100_000 + 67_200;
    assert_eq!(outcome.latency("late").0.ps(), expected);
}
