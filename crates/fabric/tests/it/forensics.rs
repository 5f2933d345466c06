//! Congestion trees, deadlocks and the graph of buffer dependencies, on fabrics with known answers.

use crate::common::*;
use fabric::spec::{HostSpec, OnDeadlock, SwitchSpec, Way};
use fabric::{Simulation, State};
use flow_control::{Accounting, PauseKind, PauseSpec};
use frame::NodeId;
use proptest::prelude::*;
use units::Time;
use workload::Destinations;

fn host_with(control: &PauseSpec) -> HostSpec {
    HostSpec { flow_control: Some(control.clone().into()), ..host() }
}
fn switch_with(control: &PauseSpec) -> SwitchSpec {
    SwitchSpec { flow_control: Some(control.clone().into()), ..switch() }
}

/// Switches in a ring, 100 ns apart, with a host each.
fn ring(size: usize, control: &PauseSpec, duration: Time) -> (Net, Vec<NodeId>, Vec<NodeId>) {
    let mut net = Net::new(duration);
    let switches: Vec<NodeId> =
        (0..size).map(|i| net.switch(&format!("s{i}"), switch_with(control))).collect();
    let hosts: Vec<NodeId> = (0..size).map(|i| net.host(&format!("h{i}"), host_with(control))).collect();
    for i in 0..size {
        net.link(switches[i], switches[(i + 1) % size], gbps(10), ns(100));
    }
    for i in 0..size {
        net.link(hosts[i], switches[i], gbps(10), ns(100));
    }
    (net, switches, hosts)
}

/// All results of a run on several threads and in steps, as text, in which NaN equals itself.
fn everything(net: &Net, threads: usize, budget: u64) -> String {
    let mut simulation = Simulation::on_threads(&net.0, threads).expect("builds");
    while simulation.advance(budget).expect("no guarantee is violated") == State::Running {}
    format!("{:x} {} {:?}", simulation.fingerprint(), simulation.now(), simulation.tables())
}

/// Three frames appear at each switch of a ring of three at once, all two links clockwise. The first leaves at once and
/// arrives at 816 ns + 100 ns, behind two others: the watermark is one frame, so a pause frame is sent, which takes
/// effect at 916 ns + 67.2 ns + 100 ns. This happens everywhere at the same time, and closes the cycle.
fn three_around(duration: Time) -> Net {
    let (mut net, switches, hosts) = ring(3, &pfc_at(0xFF, 1, 0), duration);
    for i in 0..3 {
        let (next, last) = ((i + 1) % 3, (i + 2) % 3);
        let route = vec![switches[next], switches[last], hosts[last]];
        net.flow(&format!("f{i}"), switches[i], 3, burst(hosts[last], 1000, 3, Time::ZERO)).way =
            Way::Along(route);
    }
    net
}

const CLOSED: f64 = 1083.2;

#[test]
fn a_deadlock_is_found_at_the_exact_time_and_ends_the_run() {
    let outcome = three_around(us(350)).run();
    assert_eq!(outcome.reals("deadlocks", "closed_ns"), [CLOSED; 3]);
    assert_eq!(outcome.reals("deadlocks", "seen_ns"), [100_000.0; 3]);
    assert!(outcome.reals("deadlocks", "ended_ns").iter().all(|ended| ended.is_nan()));
    assert_eq!(outcome.texts("deadlocks", "port"), ["s0.0->s1", "s1.1->s2", "s2.1->s0"]);
    assert_eq!(outcome.texts("deadlocks", "waits_for"), ["s1.1->s2", "s2.1->s0", "s0.0->s1"]);
    assert_eq!(outcome.integers("deadlocks", "class"), [3; 3]);
    // Each holds its own last frame and the two that arrived.
    assert_eq!(outcome.integers("deadlocks", "frames"), [3; 3]);
    assert_eq!(outcome.integers("deadlocks", "counted_frames"), [2; 3]);
    assert_eq!(outcome.now, us(100));
    assert_eq!(outcome.total("flows", "frames_delivered"), 0);
}

#[test]
fn a_deadlock_is_counted_if_asked() {
    let mut net = three_around(us(350));
    net.0.guards.on_deadlock = OnDeadlock::Count;
    let outcome = net.run();
    assert_eq!(outcome.reals("deadlocks", "closed_ns"), [CLOSED; 3]);
    assert_eq!(outcome.now, us(350));
}

#[test]
fn the_end_of_a_run_is_looked_at_too() {
    let outcome = three_around(us(2)).run();
    assert_eq!(outcome.reals("deadlocks", "seen_ns"), [2000.0; 3]);
    assert_eq!(three_around(ns(1083)).run().table("deadlocks").rows(), 0);
}

#[test]
fn a_deadlock_does_not_depend_on_threads_steps_or_how_often_one_looks() {
    let mut net = three_around(us(350));
    let once = everything(&net, 1, u64::MAX);
    for (threads, budget) in [(1, 1), (1, 7), (2, 10), (3, 1_000_000)] {
        assert_eq!(everything(&net, threads, budget), once);
    }
    net.0.guards.on_deadlock = OnDeadlock::Count;
    let counted = net.run();
    for interval in [ps(1_083_200), us(1), us(3), us(1000)] {
        net.0.guards.deadlock_interval = interval;
        let outcome = net.run();
        assert_eq!(outcome.reals("deadlocks", "closed_ns"), [CLOSED; 3], "{interval}");
        assert_eq!(outcome.fingerprint, counted.fingerprint);
    }
}

#[test]
fn without_renewal_a_deadlock_ends_when_the_pauses_run_out() {
    let control = PauseSpec { refresh: false, quanta: 100.into(), ..pfc_at(0xFF, 1, 0) };
    let mut net = three_around(us(40));
    for node in &mut net.0.nodes {
        match &mut node.role {
            fabric::spec::Role::Host(host) => {
                std::sync::Arc::make_mut(host).flow_control = Some(control.clone().into())
            }
            fabric::spec::Role::Switch(switch) => {
                std::sync::Arc::make_mut(switch).flow_control = Some(control.clone().into())
            }
        }
    }
    net.0.guards.on_deadlock = OnDeadlock::Count;
    net.0.guards.deadlock_interval = us(1);
    let outcome = net.run();
    assert_eq!(outcome.reals("deadlocks", "closed_ns")[..3], [CLOSED; 3]);
    // A pause of 100 quanta: 5.12 us from the end of the pause frame.
    assert_eq!(outcome.reals("deadlocks", "ended_ns")[..3], [7000.0; 3]);
    assert_eq!(outcome.total("flows", "frames_delivered"), 9);
}

#[test]
fn routes_around_a_ring_are_warned_of() {
    let simulation = Simulation::new(&three_around(us(1)).0).unwrap();
    assert_eq!(simulation.dependency_cycle().unwrap(), ["s0.0->s1/3", "s1.1->s2/3", "s2.1->s0/3"]);
    // Without flow control, or for priorities without it, no queue waits for another.
    let mut free = three_around(us(1));
    free.0.nodes.iter_mut().for_each(|node| {
        if let fabric::spec::Role::Switch(spec) = &mut node.role {
            std::sync::Arc::make_mut(spec).flow_control = Some(pfc_at(0x01, 1, 0).into());
        }
    });
    assert_eq!(Simulation::new(&free.0).unwrap().dependency_cycle(), None);
}

/// All hosts of a ring send to some of them, on listed paths or by destination: the cycle is the same. A ring of odd
/// size has one shortest path for each pair.
#[test]
fn the_circle_is_the_same_whether_paths_are_listed_or_looked_up() {
    let circle = |size: usize, to: &[usize], accounting: Accounting, way: &Way| {
        let control = PauseSpec { accounting, ..pfc_at(0x08, 10, 5) };
        let (mut net, _, hosts) = ring(size, &control, us(1));
        let receivers: Vec<NodeId> = to.iter().map(|&nth| hosts[nth]).collect();
        for (nth, &from) in hosts.iter().enumerate() {
            let others: Vec<NodeId> = receivers.iter().copied().filter(|&host| host != from).collect();
            let flow = net.flow(&format!("f{nth}"), from, 3, one(others[0], 700, Time::ZERO));
            flow.source.destinations = Destinations::Uniform(others);
            flow.way = way.clone();
        }
        Simulation::new(&net.0).unwrap().dependency_cycle()
    };
    for accounting in [Accounting::Ingress, Accounting::Egress] {
        for size in [3, 5, 7] {
            let all: Vec<usize> = (0..size).collect();
            for to in [&all[..], &all[1..]] {
                let listed = circle(size, to, accounting, &Way::Shortest);
                assert_eq!(listed, circle(size, to, accounting, &Way::ByDestination), "{size} {to:?}");
                // In a ring of three switches, no path has two links between switches.
                let may = size > 3 || accounting == Accounting::Egress;
                assert!(listed.is_some() == may || to.len() < size, "{size} {to:?}");
            }
        }
    }
}

#[test]
fn egress_accounting_stops_who_is_not_to_blame() {
    // Two leaves and two spines. Upward traffic of a leaf and downward traffic at it share no queue, but with plain
    // egress accounting a full uplink stops the downlinks.
    let by_egress = PauseSpec { accounting: Accounting::Egress, ..pfc_at(0xFF, 10, 5) };
    let link = PauseSpec { kind: PauseKind::Link, ..pfc_at(0xFF, 10, 5) };
    for (control, may) in [(pfc_at(0xFF, 10, 5), false), (by_egress, true), (link, false)] {
        let mut net = Net::new(us(1));
        let leaves = [0, 1].map(|i| net.switch(&format!("leaf{i}"), switch_with(&control)));
        let spines = [0, 1].map(|i| net.switch(&format!("spine{i}"), switch_with(&control)));
        let hosts = [0, 1].map(|i| net.host(&format!("h{i}"), host_with(&control)));
        for leaf in leaves {
            spines.iter().for_each(|&spine| {
                net.link(leaf, spine, gbps(10), ns(100));
            });
        }
        (0..2).for_each(|i| {
            net.link(hosts[i], leaves[i], gbps(10), ns(100));
        });
        net.flow("there", hosts[0], 0, greedy(hosts[1], 1000, Time::ZERO)).way =
            Way::Along(vec![leaves[0], spines[0], leaves[1], hosts[1]]);
        net.flow("back", hosts[1], 0, greedy(hosts[0], 1000, Time::ZERO)).way =
            Way::Along(vec![leaves[1], spines[1], leaves[0], hosts[0]]);
        assert_eq!(Simulation::new(&net.0).unwrap().dependency_cycle().is_some(), may, "{control:?}");
    }
}

/// h0 and h1 behind swA; h2, sink and other behind swB. h0 and h2 oversubscribe the sink; the flow from h1 goes to
/// "other" and delays no other flow.
fn two_tiers() -> Net {
    let control = pfc_at(0xFF, 8, 4);
    let mut net = Net::new(us(500));
    let [a, b] = ["swA", "swB"].map(|name| net.switch(name, switch_with(&control)));
    let [h0, h1, h2, sink, other] =
        ["h0", "h1", "h2", "sink", "other"].map(|name| net.host(name, host_with(&control)));
    net.link(a, b, gbps(10), ns(100));
    for (host, switch) in [(h0, a), (h1, a), (h2, b), (sink, b), (other, b)] {
        net.link(host, switch, gbps(10), ns(100));
    }
    net.flow("a", h0, 3, greedy(sink, 1500, Time::ZERO));
    net.flow("b", h2, 3, greedy(sink, 1500, Time::ZERO));
    let mut victim = paced(other, 1500, 1000, Time::ZERO, us(6));
    victim.limit = None;
    net.flow("victim", h1, 3, victim);
    net
}

#[test]
fn a_tree_goes_from_the_full_port_to_the_hosts() {
    let outcome = two_tiers().run();
    let edges: Vec<(u64, &str, &str, &str)> = (0..outcome.table("congestion").rows())
        .filter(|&row| outcome.integers("congestion", "tree")[row] == 1)
        .map(|row| {
            let text = |column| outcome.texts("congestion", column)[row].as_str();
            assert_eq!((text("root"), text("why")), ("swB.2->sink/3", "oversubscribed"));
            (outcome.integers("congestion", "depth")[row], text("queue"), text("sent_by"), text("port"))
        })
        .collect();
    assert_eq!(
        edges,
        [
            (1, "swB.2->sink/3", "swB.0->swA", "swA.0->swB"),
            (1, "swB.2->sink/3", "swB.1->h2", "h2.0->swB"),
            (2, "swA.0->swB/3", "swA.1->h0", "h0.0->swA"),
        ]
    );
    let flows: Vec<(&str, &str)> = (0..3)
        .map(|row| {
            let text = |column| outcome.texts("congestion_flows", column)[row].as_str();
            (text("flow"), text("part"))
        })
        .collect();
    assert_eq!(flows, [("b", "culprit"), ("a", "culprit"), ("victim", "victim")]);
    let shares = outcome.reals("congestion_flows", "share");
    assert!((shares[0] + shares[1] - 1.0).abs() < 1e-12 && shares[2] == 0.0);
}

#[test]
fn edges_count_every_pause_once() {
    let outcome = two_tiers().run();
    assert_eq!(outcome.total("congestion", "pauses"), outcome.table("pauses").rows() as u64);
    let lasted: f64 = outcome.pauses().iter().map(|pause| (pause.end - pause.start).as_ns_f64()).sum();
    let recorded: f64 = outcome.reals("congestion", "paused_ns").iter().sum();
    assert!((lasted - recorded).abs() < 1e-3, "{lasted} {recorded}");
    // The cause of a pause is one that started before, at the port of the queue that caused it.
    let (rows, pauses) = (outcome.integers("pauses", "because_of"), outcome.pauses());
    let queues = outcome.texts("pauses", "queue");
    for (row, &parent) in rows.iter().enumerate().filter(|(_, parent)| **parent > 0) {
        let parent = &pauses[parent as usize - 1];
        assert!(parent.start < pauses[row].start);
        assert_eq!(format!("{}/{}", parent.port, parent.priority), queues[row]);
    }
}

#[test]
fn trees_do_not_depend_on_threads() {
    let net = two_tiers();
    assert_eq!(everything(&net, 3, 100_000), everything(&net, 1, u64::MAX));
}

#[test]
fn a_frame_that_stops_priorities_for_different_queues_tells_each_its_own() {
    // Two queues fill while the link back to the host is busy: one pause frame for both, with one cause each.
    let control = pfc_at(0xFF, 1, 0);
    let mut net = Net::new(us(30));
    let sw = net.switch("sw", switch_with(&control));
    let [h, x, y] = ["h", "x", "y"].map(|name| net.host(name, host_with(&control)));
    net.attach(&[h, x, y], sw, gbps(10), ns(100));
    for (name, to, priority) in [("x", x, 1), ("y", y, 2)] {
        net.flow(&format!("long {name}"), sw, priority, one(to, 9216, Time::ZERO));
        net.flow(name, h, priority, one(to, 200, ns(100)));
    }
    net.flow("back", sw, 0, one(h, 2000, Time::ZERO));
    let outcome = net.run();
    assert_eq!(outcome.count("ports", "sw.0->h", "pauses_sent"), 1);
    assert_eq!(outcome.texts("pauses", "queue"), ["sw.1->x/1", "sw.2->y/2"]);
    // The frame of priority 2 arrived first and waits longer.
    assert_eq!(outcome.texts("congestion", "root"), ["sw.2->y/2", "sw.1->x/1"]);
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(cases(24)))]

    /// Two tiers of switches with arbitrary links between them, flows along shortest paths: up, then down. The graph
    /// has no cycle, and no deadlock occurs, however high the load.
    #[test]
    fn up_and_down_never_deadlocks(
        leaves in 2usize..5,
        spines in 1usize..4,
        missing in proptest::collection::vec(any::<bool>(), 12),
        pairs in proptest::collection::vec((0usize..8, 0usize..8), 2..12),
        xoff in 1u64..6,
        accounted in any::<bool>(),
    ) {
        let control = if accounted { pfc_at(0xFF, xoff, xoff - 1) } else { PauseSpec { kind: PauseKind::Link, ..pfc_at(0xFF, xoff, 0) } };
        let mut net = Net::new(us(120));
        let tops: Vec<NodeId> = (0..spines).map(|i| net.switch(&format!("t{i}"), switch_with(&control))).collect();
        let lows: Vec<NodeId> = (0..leaves).map(|i| net.switch(&format!("l{i}"), switch_with(&control))).collect();
        let hosts: Vec<NodeId> = (0..2 * leaves).map(|i| net.host(&format!("h{i}"), host_with(&control))).collect();
        for (i, &low) in lows.iter().enumerate() {
            for (j, &top) in tops.iter().enumerate() {
                // Every leaf keeps its link to the first spine, so that all are connected and no path goes up twice.
                if j == 0 || !missing[i * 3 + j] {
                    net.link(low, top, gbps(10), ns(50));
                }
            }
        }
        hosts.iter().enumerate().for_each(|(i, &host)| { net.link(host, lows[i / 2], gbps(10), ns(50)); });
        let mut flows = 0;
        for &(from, to) in &pairs {
            let (from, to) = (from % hosts.len(), to % hosts.len());
            if from != to {
                net.flow(&format!("f{flows}"), hosts[from], 3, greedy(hosts[to], 1000, Time::ZERO));
                flows += 1;
            }
        }
        prop_assume!(flows > 0);
        let mut simulation = Simulation::new(&net.0).unwrap();
        prop_assert_eq!(simulation.dependency_cycle(), None);
        loop {
            let state = simulation.advance(500).unwrap();
            prop_assert!(!simulation.look_for_deadlock(), "{:?}", simulation.deadlock());
            if state == State::Finished {
                break;
            }
        }
        prop_assert!(simulation.frame_hops() > 0);
    }
}
