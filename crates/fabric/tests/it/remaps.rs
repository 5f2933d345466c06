//! Switches that remap the priority of frames to certain neighbours, like a DSCP rewrite at the end of a tunnel.

use crate::common::*;
use fabric::Simulation;
use fabric::choice::PathChoice;
use fabric::spec::{HostSpec, Remap, SwitchSpec};
use frame::{NodeId, PRIORITIES, Priority};
use queueing::BufferSpec;
use units::{Amount, Time};
use workload::{Arrivals, SourceSpec};

const LOSSLESS: u8 = 1 << 2 | 1 << 3;

fn station(xoff: u64) -> SwitchSpec {
    SwitchSpec { flow_control: Some(pfc_at(LOSSLESS, xoff, 1).into()), ..switch() }
}

fn priorities(changes: &[(u8, u8)]) -> [Priority; PRIORITIES] {
    let mut all = std::array::from_fn(|n| Priority(n as u8));
    changes.iter().for_each(|&(old, new)| all[usize::from(old)] = Priority(new));
    all
}

fn greedy(to: NodeId) -> SourceSpec {
    SourceSpec { arrivals: Arrivals::Greedy, limit: None, ..paced(to, 1_000, 1, Time::ZERO, us(1)) }
}

/// `a` and `b` behind `near`, `c` behind `far` with a slow link; `near` remaps 2 to 3 on its link to `far`.
fn tunnel(changes: &[(u8, u8)], of_switches: &SwitchSpec) -> Net {
    let mut net = Net::new(us(2_000));
    let host = || HostSpec { flow_control: Some(pfc(LOSSLESS).into()), ..host() };
    let [a, b, c] = ["a", "b", "c"].map(|name| net.host(name, host()));
    let far = NodeId(4);
    let remaps = vec![Remap { to: vec![far], priorities: priorities(changes) }];
    let near = net.switch("near", SwitchSpec { remaps, ..of_switches.clone() });
    assert_eq!(net.switch("far", of_switches.clone()), far);
    net.attach(&[a, b], near, gbps(10), ns(100));
    net.link(near, far, gbps(10), ns(100));
    net.link(far, c, gbps(1), ns(100));
    net.flow("x", a, 3, greedy(c));
    net.flow("y", b, 0, paced(a, 1_000, 100, Time::ZERO, us(1)));
    net
}

/// Returns the priorities that were paused, with the port of each.
fn paused(outcome: &Outcome) -> Vec<(&str, u64)> {
    let ports = outcome.texts("pauses", "port").iter().map(String::as_str);
    let mut all: Vec<(&str, u64)> =
        ports.zip(outcome.integers("pauses", "priority").iter().copied()).collect();
    all.sort();
    all.dedup();
    all
}

#[test]
fn pauses_stop_the_queue_of_the_new_priority_and_spread_by_the_old_one() {
    let outcome = tunnel(&[(3, 2)], &station(20)).run();
    let found = paused(&outcome);
    assert_eq!(found, [("a.0->near", 3), ("near.2->far", 2)]);
    assert_eq!(outcome.total("drops", "bytes"), 0);
    // The frame waited in the queue of priority 2, where its frames are counted.
    let queue = |port: &str| {
        let ports = outcome.texts("queues", "port");
        let of_port = ports.iter().zip(outcome.integers("queues", "class"));
        of_port.filter(|(name, _)| *name == port).map(|(_, &class)| class).collect::<Vec<u64>>()
    };
    assert_eq!((queue("near.2->far"), queue("far.1->c")), (vec![2], vec![2]));
    // 1 Gb/s of frames of 1,020 B on the wire for 2 ms.
    let delivered = outcome.total("flows", "frames_delivered");
    assert!((100 + 243..=100 + 245).contains(&delivered), "{delivered}");
}

#[test]
fn nothing_changes_where_nobody_changes_anything() {
    let (same, plain) = (tunnel(&[], &station(20)), tunnel(&[(3, 2)], &station(20)));
    assert_eq!(
        same.run().integers("flows", "frames_delivered"),
        plain.run().integers("flows", "frames_delivered")
    );
    let mut without = same.clone();
    for node in &mut without.0.nodes {
        if let fabric::spec::Role::Switch(switch) = &mut node.role {
            std::sync::Arc::make_mut(switch).remaps.clear();
        }
    }
    assert_eq!(same.run().fingerprint, without.run().fingerprint);
    assert_ne!(plain.run().fingerprint, without.run().fingerprint);
}

#[test]
fn any_number_of_threads_gives_the_same() {
    for path_choice in [PathChoice::HASH, PathChoice::Spray] {
        let net = tunnel(&[(3, 2)], &SwitchSpec { path_choice, ..station(20) });
        let (one, two) = (net.run_on(1, u64::MAX), net.run_on(2, 1_000));
        assert_eq!((one.fingerprint, one.error), (two.fingerprint, two.error));
    }
}

#[test]
fn priorities_may_be_exchanged() {
    let mut net = tunnel(&[(3, 2), (2, 3)], &station(20));
    net.flow("z", NodeId(1), 2, greedy(NodeId(2)));
    let outcome = net.run();
    let found = paused(&outcome);
    assert_eq!(found, [("a.0->near", 3), ("b.0->near", 2), ("near.2->far", 2), ("near.2->far", 3)]);
    assert_eq!(outcome.total("drops", "bytes"), 0);
}

/// Two switches that send frames of one priority to each other and back wait for each other; with another priority in
/// the return direction they do not (SONiC's remap of tunnels between two ToR switches).
#[test]
fn another_priority_on_the_way_back_opens_the_circle() {
    let bounce = |changes: &[(u8, u8)]| {
        let mut net = tunnel(changes, &station(20));
        let (near, far) = (NodeId(3), NodeId(4));
        let d = net.host("d", host());
        net.link(d, far, gbps(10), ns(100));
        let a = NodeId(0);
        net.flow("bounced", d, 3, greedy(a)).way = fabric::spec::Way::Along(vec![far, near, far, near, a]);
        Simulation::new(&net.0).expect("builds").dependency_cycle()
    };
    assert!(bounce(&[]).is_some());
    assert_eq!(bounce(&[(3, 2)]), None);
}

#[test]
fn a_limit_of_the_new_queue_counts() {
    let buffer = BufferSpec { queue: Some(Amount::Frames(5)), ..BufferSpec::default() };
    let outcome = tunnel(&[(3, 2)], &SwitchSpec { buffer, ..switch() }).run();
    assert!(outcome.total("drops", "frames") > 0);
}
