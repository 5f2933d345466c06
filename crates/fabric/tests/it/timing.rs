//! Times to the picosecond, each derived by hand in a comment.
//!
//! Notation: t(L, C) = 8·(L + overhead)/C is the time of a frame of L bytes on a link of rate C, line overhead first. A
//! byte takes 800 ps at 10 Gb/s, 320 ps at 25 Gb/s, 200 ps at 40 Gb/s, and 80 ps at 100 Gb/s.

use crate::common::*;
use fabric::Simulation;
use fabric::spec::{Forwarding, Queueing};
use frame::ClassMap;
use scheduling::SchedulerSpec;
use units::{BitRate, Time};

/// h0 - sw0 - ... - h1 with these links (rate in Gb/s, delay in ns), all switches equal.
fn line(links: &[(u64, u64)], spec: &fabric::spec::SwitchSpec, bytes: u16, overhead: u16) -> Time {
    let mut net = Net::new(us(10_000));
    let mut last = net.host("h0", host());
    let first = last;
    for (i, &(rate, delay)) in links.iter().enumerate() {
        let next = if i + 1 == links.len() {
            net.host("h1", host())
        } else {
            net.switch(&format!("sw{i}"), spec.clone())
        };
        net.link(last, next, gbps(rate), ns(delay)).overhead = overhead;
        last = next;
    }
    net.flow("f", first, 0, one(last, bytes, us(1)));
    let outcome = net.run();
    assert_eq!(outcome.delivered("f"), 1);
    outcome.only_latency("f")
}

fn cut_through() -> fabric::spec::SwitchSpec {
    fabric::spec::SwitchSpec { forwarding: Forwarding::CutThrough, ..switch() }
}

#[test]
fn store_and_forward_adds_a_frame_time_a_hop() {
    // No switch: t(1522, 10G) = 1542 B · 800 ps = 1 233 600 ps, and the cable, 5 ns.
    assert_eq!(line(&[(10, 5)], &switch(), 1522, 20).ps(), 1_233_600 + 5_000);
    // One, two and three switches: one more frame time and one more cable each.
    for hops in 2..=4u64 {
        let links = vec![(10, 5); hops as usize];
        assert_eq!(line(&links, &switch(), 1522, 20).ps(), hops * 1_238_600);
    }
    // Without line overhead: 1522 B · 800 ps = 1 217 600 ps per hop.
    assert_eq!(line(&[(10, 0), (10, 0)], &switch(), 1522, 0).ps(), 2 * 1_217_600);
    // Unequal rates add up regardless of their order: 84 B at 10, 25 and 100 Gb/s are 67 200, 26 880, 6 720 ps.
    for rates in [[10, 25, 100], [100, 25, 10], [25, 10, 100]] {
        let links = rates.map(|rate| (rate, 100));
        assert_eq!(line(&links, &switch(), 64, 20).ps(), 67_200 + 26_880 + 6_720 + 3 * 100_000);
    }
    // A jumbo frame: 9236 B · 800 ps = 7 388 800 ps per hop.
    assert_eq!(line(&[(10, 0), (10, 0)], &switch(), 9216, 20).ps(), 2 * 7_388_800);
    // The switch latency is between the last bit's arrival and the queue: 450 ns per switch.
    let slow = fabric::spec::SwitchSpec { latency: ns(450), ..switch() };
    assert_eq!(line(&[(10, 5), (10, 5), (10, 5)], &slow, 1522, 20).ps(), 3 * 1_238_600 + 2 * 450_000);
}

#[test]
fn cut_through_adds_a_head_a_hop() {
    // A switch forwards as soon as the first 64 B have arrived: 84 B · 800 ps = 67 200 ps after the start, plus the
    // cable. The last hop takes the whole frame.
    for switches in 1..=3u64 {
        let links = vec![(10, 5); switches as usize + 1];
        let expected = switches * (67_200 + 5_000) + 1_233_600 + 5_000;
        assert_eq!(line(&links, &cut_through(), 1522, 20).ps(), expected);
    }
    // With a latency of 300 ns per switch.
    let slow = fabric::spec::SwitchSpec { latency: ns(300), ..cut_through() };
    assert_eq!(line(&[(10, 0), (10, 0)], &slow, 1522, 20).ps(), 67_200 + 300_000 + 1_233_600);
    // The shortest frame consists only of the head: no faster than store and forward.
    assert_eq!(line(&[(10, 5), (10, 5)], &cut_through(), 64, 20).ps(), 2 * 72_200);
    // Without line overhead the head is 64 B · 800 ps = 51 200 ps.
    assert_eq!(line(&[(10, 0), (10, 0)], &cut_through(), 1522, 0).ps(), 51_200 + 1_217_600);
}

#[test]
fn cut_through_into_a_slower_link_goes_on_at_once() {
    // 84 B at 25 Gb/s: 26 880 ps; then 1542 B at 10 Gb/s.
    assert_eq!(line(&[(25, 5), (10, 5)], &cut_through(), 1522, 20).ps(), 26_880 + 5_000 + 1_233_600 + 5_000);
}

#[test]
fn cut_through_into_a_faster_link_waits_for_the_tail() {
    // The whole frame at 10 Gb/s, followed by the whole frame at 25 Gb/s (1542 B · 320 ps = 493 440 ps): an earlier
    // start would underrun the faster link in the middle of the frame.
    assert_eq!(line(&[(10, 5), (25, 5)], &cut_through(), 1522, 20).ps(), 1_233_600 + 5_000 + 493_440 + 5_000);
    // The latency of the switch counts once.
    let slow = fabric::spec::SwitchSpec { latency: ns(300), ..cut_through() };
    assert_eq!(line(&[(10, 0), (25, 0)], &slow, 1522, 20).ps(), 1_233_600 + 300_000 + 493_440);
    // Only the second switch of 10, 25, 10 Gb/s cuts through: its head is 84 B · 320 ps.
    let expected = 1_233_600 + 26_880 + 1_233_600;
    assert_eq!(line(&[(10, 0), (25, 0), (10, 0)], &cut_through(), 1522, 20).ps(), expected);
}

#[test]
fn frames_keep_their_order_when_only_some_may_cut_through() {
    // To "fast", a frame waits for its tail, to "slow" it does not. The frame to "slow" follows immediately.
    let mut net = Net::new(us(100));
    let (a, sw) = (net.host("a", host()), net.switch("sw", cut_through()));
    let (fast, slow) = (net.host("fast", host()), net.host("slow", host()));
    net.link(a, sw, gbps(10), Time::ZERO);
    net.link(sw, fast, gbps(100), Time::ZERO);
    net.link(sw, slow, gbps(10), Time::ZERO);
    net.flow("to fast", a, 0, one(fast, 1522, Time::ZERO));
    net.flow("to slow", a, 0, one(slow, 1522, Time::ZERO));
    let outcome = net.run();
    // 1 233 600 for the tail at 10 Gb/s; 1542 B · 80 ps = 123 360 at 100 Gb/s.
    assert_eq!(outcome.only_latency("to fast").ps(), 1_233_600 + 123_360);
    // It waits 1 233 600 in the host, its head takes 67 200, and the whole frame 1 233 600.
    assert_eq!(outcome.only_latency("to slow").ps(), 1_233_600 + 67_200 + 1_233_600);
}

#[test]
fn the_slowest_link_of_a_tandem_sets_the_pace() {
    // Ten frames of 1522 B at once over 40, 10 and 40 Gb/s, store and forward. The first arrives after 1542 · (200 +
    // 800 + 200) ps = 1 850 400 ps; each other one arrives 1 233 600 ps after the previous one.
    let mut net = Net::new(us(1_000));
    let (a, b) = (net.host("a", host()), net.host("b", host()));
    let (s, t) = (net.switch("s", switch()), net.switch("t", switch()));
    net.link(a, s, gbps(40), Time::ZERO);
    net.link(s, t, gbps(10), Time::ZERO);
    net.link(t, b, gbps(40), Time::ZERO);
    net.flow("f", a, 0, burst(b, 1522, 10, Time::ZERO));
    let outcome = net.run();
    let (min, max) = outcome.latency("f");
    assert_eq!((min.ps(), max.ps()), (1_850_400, 1_850_400 + 9 * 1_233_600));
    // In front of the slow link, the n-th frame (from 0) arrives at (n + 1) · 308 400 and leaves at 308 400 + n · 1 233
    // 600: it waits n · 925 200, and the average is 4.5 times that.
    let row = outcome.texts("queues", "port").iter().position(|port| port == "s.1->t").unwrap();
    let wait = |column| exact(outcome.reals("queues", column)[row]).ps();
    assert_eq!((wait("wait_max_ns"), wait("wait_mean_ns")), (9 * 925_200, 9 * 925_200 / 2));
    // Little's law: nine frames wait 45 · 925 200 ps in total, in 1 ms.
    let mean = outcome.reals("queues", "queue_frames_mean")[row];
    assert!((mean - 45.0 * 925_200.0 / 1e9).abs() < 1e-12, "{mean}");
    // The queue is longest when the last frame arrives, at 3 084 000. Three frames have left (at 308 400, 1 542 000 and
    // 2 775 600): the third of them has just started, and seven are queued.
    assert_eq!(outcome.integers("queues", "queue_frames_max")[row], 7);
    // No frame is queued in front of the fast link at the end.
    assert!(
        outcome
            .texts("queues", "port")
            .iter()
            .zip(outcome.reals("queues", "wait_max_ns"))
            .all(|(port, &wait)| { port != "t.1->b" || wait == 0.0 })
    );
}

#[test]
fn back_to_back_frames_end_on_the_exact_picosecond() {
    // Rates at which a byte does not take an integer number of picoseconds: the n-th of the frames that were all
    // present at time 0 ends at floor(n · 8 (L + 20) / C), without drift.
    let odd = [
        (3_200_000_000_000u64, 1523u16), // 2.5 ps a byte
        (103_125_000_000, 1001),
        (1_187_500_000, 64),
        (3_000_000_000, 1522),
        (33_333_333, 999),
    ];
    for (rate, bytes) in odd {
        let n = 401u64;
        let end =
            |n: u64| (u128::from(n) * 8_000_000_000_000 * (u128::from(bytes) + 20) / u128::from(rate)) as u64;
        let mut net = Net::new(Time::from_ps(end(n) + 1_000_000));
        let (a, b) = (net.host("a", host()), net.host("b", host()));
        net.link(a, b, BitRate::from_bps(rate), Time::ZERO);
        net.flow("f", a, 0, burst(b, bytes, n, Time::ZERO));
        let outcome = net.run();
        let (min, max) = outcome.latency("f");
        assert_eq!((min.ps(), max.ps()), (end(1), end(n)), "{rate} b/s");
        // Greedy sources keep one frame queued, which makes no difference to the link.
        net.0.flows[0].source.arrivals = workload::Arrivals::Greedy;
        let outcome = net.run();
        assert_eq!(outcome.delivered("f"), n);
        // Each frame waits for the previous one and takes its own time; at an odd rate, that is 1 ps more or less.
        let (_, max) = outcome.latency("f");
        assert!(max.ps().abs_diff(end(2)) <= 1, "{rate} b/s: {max}");
    }
}

#[test]
fn a_gap_starts_the_clock_anew() {
    // 1543 B at 3.2 Tb/s are 3857.5 ps. Without a successor, each frame ends after 3857 ps; the half picosecond is not
    // carried over.
    let mut net = Net::new(us(100));
    let (a, b) = (net.host("a", host()), net.host("b", host()));
    net.link(a, b, BitRate::from_bps(3_200_000_000_000), Time::ZERO);
    net.flow("f", a, 0, paced(b, 1523, 50, Time::ZERO, us(1)));
    assert_eq!(net.run().only_latency("f").ps(), 3_857);
}

#[test]
fn parallel_links_carry_frames_at_the_same_time() {
    // Two links between two hosts. A flow uses one of them, depending on its name. Two flows on one link wait for each
    // other, on two links they do not.
    let mut net = Net::new(us(100));
    let (a, b) = (net.host("a", host()), net.host("b", host()));
    let (s, t) = (net.switch("s", switch()), net.switch("t", switch()));
    net.link(a, s, gbps(100), Time::ZERO);
    net.link(s, t, gbps(10), ns(5));
    net.link(s, t, gbps(10), ns(7));
    net.link(t, b, gbps(100), Time::ZERO);
    for i in 0..8 {
        net.flow(&format!("f{i}"), a, 0, one(b, 1522, us(10 * i)));
    }
    let outcome = net.run();
    let used = ["s.1->t", "s.2->t"].map(|port| outcome.count("ports", port, "frames_sent"));
    assert!(used[0] > 0 && used[1] > 0 && used[0] + used[1] == 8, "{used:?}");
    let first = |i: u64| exact(outcome.real("flows", &format!("f{i}"), "latency_max_ns")).ps();
    // t(1522, 100G) = 123 360 twice, t(1522, 10G) = 1 233 600, and the delay of the selected link.
    let with = |delay: u64| 2 * 123_360 + 1_233_600 + delay;
    assert!((0..8).all(|i| first(i) == with(5_000) || first(i) == with(7_000)));
    let on_first: Vec<u64> = (0..8).filter(|&i| first(i) == with(5_000)).collect();
    assert_eq!(on_first.len() as u64, used[0]);
    // All at the same time. On each link, the frames follow each other at 1 233 600 ps; the last of n has waited for n
    // - 1 others, less the time to arrive: the k-th arrives at (k + 1) · 123 360.
    for flow in &mut net.0.flows {
        flow.source.start = Time::ZERO;
    }
    let outcome = net.run();
    let latest = (0..8).map(|i| outcome.only_latency(&format!("f{i}")).ps()).max().unwrap();
    let n = used[0].max(used[1]);
    assert!(latest >= n * 1_233_600 && latest <= (n + 8) * 1_233_600, "{latest}");
    let both =
        outcome.real("ports", "s.1->t", "utilisation") + outcome.real("ports", "s.2->t", "utilisation");
    assert!((both - 8.0 * 1_233_600.0 / 1e8).abs() < 1e-9, "{both}");
}

#[test]
fn strict_priority_waits_exactly_the_residual() {
    // A frame of priority 0 starts at 0 and holds the link for 1 233 600 ps. At 100 ns, frames of all eight priorities
    // arrive, lowest first. They leave highest first: priority p after the residual, 1 133 600 ps, and 7 - p frames of
    // 84 B (67 200 ps) each.
    let mut net = Net::new(us(100));
    let (a, b) = (net.host("a", host()), net.host("b", host()));
    net.link(a, b, gbps(10), Time::ZERO);
    net.flow("long", a, 0, one(b, 1522, Time::ZERO));
    for priority in 0..8u8 {
        net.flow(&format!("p{priority}"), a, priority, one(b, 64, ns(100)));
    }
    let outcome = net.run();
    assert_eq!(outcome.only_latency("long").ps(), 1_233_600);
    for priority in 0..8u64 {
        let expected = 1_133_600 + (7 - priority) * 67_200 + 67_200;
        assert_eq!(outcome.only_latency(&format!("p{priority}")).ps(), expected);
        let row = outcome.integers("queues", "class").iter().position(|&class| class == priority).unwrap();
        let longest = exact(outcome.reals("queues", "wait_max_ns")[row]).ps();
        assert_eq!(longest, 1_133_600 + (7 - priority) * 67_200);
    }
    // The same order in a switch: the frames arrive through separate links, all at the same time.
    let mut net = Net::new(us(100));
    let (sw, b) = (net.switch("sw", switch()), net.host("b", host()));
    net.link(sw, b, gbps(10), Time::ZERO);
    net.flow("long", sw, 0, one(b, 1522, Time::ZERO));
    for priority in 0..8u8 {
        let h = net.host(&format!("h{priority}"), host());
        net.link(h, sw, gbps(100), Time::ZERO);
        // 84 B · 80 ps = 6720 ps on the ingress link: the frame arrives at 100 ns.
        net.flow(&format!("p{priority}"), h, priority, one(b, 64, ps(100_000 - 6_720)));
    }
    let outcome = net.run();
    for priority in 0..8u64 {
        let expected = 6_720 + 1_133_600 + (7 - priority) * 67_200 + 67_200;
        assert_eq!(outcome.only_latency(&format!("p{priority}")).ps(), expected);
    }
}

#[test]
fn a_frame_that_arrives_as_the_link_falls_idle_does_not_overtake() {
    // The port is busy until 1 233 600. A frame of low priority is queued; one of high priority arrives exactly then.
    // The port has decided: the queued frame goes first, whether or not the decision was an event of its own.
    let mut net = Net::new(us(100));
    let (sw, b) = (net.switch("sw", switch()), net.host("b", host()));
    let (low, high) = (net.host("low", host()), net.host("high", host()));
    net.link(sw, b, gbps(10), Time::ZERO);
    net.link(low, sw, gbps(10), Time::ZERO);
    net.link(high, sw, gbps(10), Time::ZERO);
    net.flow("long", sw, 0, one(b, 1522, Time::ZERO));
    net.flow("low", low, 1, one(b, 64, ns(100)));
    net.flow("high", high, 7, one(b, 64, ps(1_233_600 - 67_200)));
    let outcome = net.run();
    assert_eq!(outcome.only_latency("low").ps(), 1_233_600 - 100_000 + 67_200);
    assert_eq!(outcome.only_latency("high").ps(), 67_200 + 67_200 + 67_200);
}

#[test]
fn virtual_output_queues_are_served_in_turn_and_one_queue_in_order() {
    // While a long frame (7 388 800 ps) holds the egress link, five frames arrive through port 1 and then five through
    // port 2. In one queue, the latter wait for all of the former; with queues served in turn, they alternate.
    let run = |queueing| {
        let mut net = Net::new(us(100));
        let sw = net.switch("sw", fabric::spec::SwitchSpec { queueing, ..switch() });
        let (b, x, y) = (net.host("b", host()), net.host("x", host()), net.host("y", host()));
        net.link(sw, b, gbps(10), Time::ZERO);
        net.link(x, sw, gbps(10), Time::ZERO);
        net.link(y, sw, gbps(10), Time::ZERO);
        net.flow("long", sw, 0, one(b, 9216, Time::ZERO));
        net.flow("x", x, 0, burst(b, 64, 5, Time::ZERO));
        net.flow("y", y, 0, burst(b, 64, 5, us(1)));
        let outcome = net.run();
        ["x", "y"].map(|flow| {
            let (min, max) = outcome.latency(flow);
            (min.ps(), max.ps())
        })
    };
    // The k-th frame to leave is delivered at 7 388 800 + k · 67 200. `created` is the creation time of the first frame
    // of its burst.
    let out = |k: u64, created: u64| 7_388_800 + k * 67_200 - created;
    let one_queue = run(Queueing::Output);
    assert_eq!(one_queue, [(out(1, 0), out(5, 0)), (out(6, 1_000_000), out(10, 1_000_000))]);
    let in_turn = run(Queueing::VirtualOutput);
    assert_eq!(in_turn, [(out(1, 0), out(9, 0)), (out(2, 1_000_000), out(10, 1_000_000))]);
}

#[test]
fn a_fifo_blocks_behind_its_head() {
    // Two destinations behind one switch, and the host has one queue. PFC stops priority 3 at the host, and with it the
    // frame of priority 0 behind it, whose own path is free. With one queue per priority, that frame is not stopped.
    let run = |classes, scheduler| {
        let mut net = Net::new(us(100));
        let control = Some(pfc_at(0x08, 1, 0).into());
        let h = net.host(
            "h",
            fabric::spec::HostSpec { classes, scheduler, flow_control: control.clone(), ..host() },
        );
        let sw = net.switch("sw", fabric::spec::SwitchSpec { flow_control: control, ..switch() });
        let (x, y) = (net.host("x", host()), net.host("y", host()));
        net.link(h, sw, gbps(10), Time::ZERO);
        net.link(sw, x, gbps(10), Time::ZERO);
        net.link(sw, y, gbps(10), Time::ZERO);
        net.flow("long", sw, 3, one(x, 9216, Time::ZERO));
        net.flow("first", h, 3, one(x, 64, Time::ZERO));
        net.flow("held", h, 3, one(x, 64, us(1)));
        net.flow("bystander", h, 0, one(y, 64, us(2)));
        let outcome = net.run();
        outcome.only_latency("bystander").ps()
    };
    assert_eq!(run(ClassMap::SEPARATE, SchedulerSpec::StrictPriority), 2 * 67_200);
    // XON leaves the switch with "first", at 7 388 800, and arrives 67 200 later. "held" follows, and the bystander,
    // which was created at 2 us and has one more hop.
    let expected = 7_388_800 + 67_200 + 67_200 + 2 * 67_200 - 2_000_000;
    assert_eq!(run(ClassMap::SHARED, SchedulerSpec::Fifo), expected);
}

/// Metrics, entities and lengths of the series of a run, and the recordings omitted.
fn recorded(net: &Net) -> (Vec<(String, String, usize)>, Vec<String>) {
    let mut simulation = Simulation::new(&net.0).expect("builds");
    simulation.run().expect("nothing is lost");
    let tables = crate::common::spelt_out(simulation.tables());
    let outcome = Outcome { fingerprint: 0, now: net.0.duration, tables, error: None };
    let names = outcome.texts("series", "metric").iter().zip(outcome.texts("series", "entity"));
    let mut found: Vec<(String, String, usize)> = Vec::new();
    for (metric, entity) in names {
        match found.last_mut().filter(|last| (&last.0, &last.1) == (metric, entity)) {
            Some(last) => last.2 += 1,
            None => found.push((metric.clone(), entity.clone(), 1)),
        }
    }
    (found, simulation.left_out().to_vec())
}

/// A star of this many hosts, each of which sends more frames to the next one than the previous host does.
fn series_of_a_star(hosts: usize, bin: Time) -> Net {
    let mut net = Net::new(us(100));
    net.0.probes.bin = Some(bin);
    let sw = net.switch("sw", switch());
    let ids: Vec<_> = (0..hosts).map(|i| net.host(&format!("h{i}"), host())).collect();
    net.attach(&ids, sw, gbps(100), ns(500));
    for i in 0..hosts {
        net.flow(&format!("f{i}"), ids[i], 3, burst(ids[(i + 1) % hosts], 100, 1 + i as u64, Time::ZERO));
    }
    net
}

#[test]
fn of_many_series_the_busiest_are_kept_and_what_takes_too_much_memory_is_named() {
    let of = |found: &[(String, String, usize)], metric: &str| -> Vec<String> {
        found.iter().filter(|one| one.0 == metric).map(|one| one.1.clone()).collect()
    };
    let (found, left_out) = recorded(&series_of_a_star(300, us(10)));
    assert_eq!(left_out, Vec::<String>::new());
    let flows = of(&found, "flow_throughput_bps");
    assert_eq!(flows, (44..300).map(|i| format!("f{i}")).collect::<Vec<_>>());
    assert!(found.iter().all(|one| one.2 == 10), "ten bins each");
    // 600 ports with 100,000 bins of 16 bytes.
    let (found, left_out) = recorded(&series_of_a_star(300, ns(1)));
    assert_eq!(left_out.len(), 4, "{left_out:?}");
    assert!(
        left_out[1].contains("600 ports would take 916 MiB") && left_out[1].contains("64 MiB"),
        "{}",
        left_out[1]
    );
    assert_eq!(found, []);
}

/// A frame with its line overhead takes a microsecond; the run ends in the middle of a frame and of a bin.
#[test]
fn the_last_bin_has_the_bits_of_a_frame_that_is_arriving() {
    for (end, delay) in [(us(20), ns(300)), (ns(19_700), ns(300)), (us(20), ns(0)), (us(20), ns(999))] {
        let mut net = Net::new(end);
        let [a, b] = ["a", "b"].map(|name| net.host(name, host()));
        net.link(a, b, gbps(10), delay);
        net.flow("f", a, 0, greedy(b, 1230, Time::ZERO));
        net.0.probes.bin = Some(us(1));
        let outcome = net.run();
        let metrics = outcome.texts("series", "metric");
        let rates = metrics.iter().zip(outcome.reals("series", "value"));
        let rates: Vec<f64> =
            rates.filter(|(metric, _)| *metric == "flow_throughput_bps").map(|(_, rate)| *rate).collect();
        assert_eq!(rates.len(), 20);
        // 1230 B per microsecond, with a tolerance of a bit at either edge; a truncated bin may contain all of the 20 B
        // between frames.
        let whole = rates[2..19].iter().all(|rate| (rate - 9.84e9).abs() <= 2e6);
        assert!(whole && (9.5e9..=1e10).contains(&rates[19]), "{rates:?}");
    }
}

#[test]
fn probes_choose_what_is_recorded_and_how_often() {
    use fabric::spec::{Pattern, Probe, Watched, Which};
    let probe = |what, which, every| Probe { which, every: Some(every), ..everything(what) };
    let named = |names: &[&str]| Which::Named(names.iter().map(|name| Pattern::new(name)).collect());
    let mut net = series_of_a_star(6, us(10));
    net.0.probes.chosen = Some(vec![
        probe(Watched::Flow, named(&["f1..f2"]), us(50)),
        probe(Watched::Port, named(&["sw.0->h0", "h5"]), us(20)),
        probe(Watched::Class, named(&["sw/3"]), us(25)),
        probe(Watched::Queue, Which::Busiest(2), us(100)),
    ]);
    let (found, left_out) = recorded(&net);
    assert_eq!(left_out, Vec::<String>::new());
    let found: Vec<(&str, &str, usize)> =
        found.iter().map(|one| (one.0.as_str(), one.1.as_str(), one.2)).collect();
    let mut expected = vec![
        ("flow_throughput_bps", "f1", 2),
        ("flow_throughput_bps", "f2", 2),
        ("port_rx_bps", "h5.0->sw", 5),
        ("port_rx_bps", "sw.0->h0", 5),
        ("port_tx_bps", "h5.0->sw", 5),
        ("port_tx_bps", "sw.0->h0", 5),
    ];
    let classes: Vec<String> = (0..6).map(|i| format!("sw.{i}->h{i}/3")).collect();
    expected.extend(classes.iter().map(|class| ("class_tx_bps", class.as_str(), 4)));
    // Of the NICs, those with the longest queues.
    for metric in ["queue_bytes", "queue_frames"] {
        expected.extend([(metric, "h4.0->sw/3", 1), (metric, "h5.0->sw/3", 1)]);
    }
    let mut sorted = found.clone();
    sorted.sort_unstable();
    expected.sort_unstable();
    assert_eq!(sorted, expected);
}

/// The distribution of a flow is that of its frames.
#[test]
fn latencies_are_told_as_a_distribution() {
    let outcome = series_of_a_star(3, us(10)).run();
    for flow in ["f0", "f1", "f2"] {
        let rows: Vec<usize> = (0..outcome.table("latencies").rows())
            .filter(|&row| outcome.texts("latencies", "flow")[row] == flow)
            .collect();
        let frames: u64 = rows.iter().map(|&row| outcome.integers("latencies", "frames")[row]).sum();
        assert_eq!(frames, outcome.delivered(flow));
        let shares: Vec<f64> =
            rows.iter().map(|&row| outcome.reals("latencies", "share_below")[row]).collect();
        assert!(shares.is_sorted() && shares.last() == Some(&1.0), "{shares:?}");
        let (shortest, longest) = outcome.latency(flow);
        let [from, to] = ["from_ns", "to_ns"].map(|column| outcome.reals("latencies", column));
        assert!(exact(from[rows[0]]) <= shortest && shortest < exact(to[rows[0]]));
        let last = rows[rows.len() - 1];
        assert!(exact(from[last]) <= longest && longest < exact(to[last]));
    }
}

/// Recordings do not change the run, and the series of a class equals that of its port if no other class is used.
#[test]
fn classes_of_a_port_add_up_to_it() {
    let mut net = series_of_a_star(4, us(2));
    net.flow("other", frame::NodeId(1), 5, paced(frame::NodeId(2), 500, 80, Time::ZERO, us(1)));
    let outcome = net.run();
    let sum = |metric: &str, entity: &str| -> f64 {
        let rows = outcome.texts("series", "metric").iter().zip(outcome.texts("series", "entity"));
        let values = rows.zip(outcome.reals("series", "value"));
        values.filter(|((m, e), _)| *m == metric && e.starts_with(entity)).map(|(_, value)| value).sum()
    };
    let (port, classes) = (sum("port_tx_bps", "h0.0->sw"), sum("class_tx_bps", "h0.0->sw/"));
    assert!(port > 0.0 && (port - classes).abs() < 1e-3 * port, "{port} {classes}");
    let mut without = net.clone();
    without.0.probes.bin = None;
    assert_eq!(without.run().fingerprint, outcome.fingerprint);
}
