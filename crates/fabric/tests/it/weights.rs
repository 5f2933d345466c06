//! Weighted ECMP: distribution of flows, frames and bursts by the weights of links.

use crate::common::*;
use fabric::choice::{Flowlet, PathChoice};
use fabric::spec::{FaultSpec, Reaction, SwitchSpec};
use fabric::weights::Weights;
use frame::{NodeId, Ports};
use std::sync::Arc;
use units::Time;
use workload::{Arrivals, Destinations, Framing, ServiceOrder, SourceSpec, Transfer, TransferList};

const SPINES: u32 = 3;
/// Weights of the first leaf's links to the spines.
const WEIGHTS: [u32; SPINES as usize] = [5, 1, 2];

/// `a` behind `near`, `b` behind `far`, and the spines in between, which are nodes 4 and up.
fn net(path_choice: PathChoice, weights: Weights, duration: Time) -> (Net, NodeId, NodeId) {
    let mut net = Net::new(duration);
    net.0.probes.bin = None;
    let [a, b] = ["a", "b"].map(|name| net.host(name, host()));
    let near = net.switch("near", SwitchSpec { path_choice, weights: Arc::new(weights), ..switch() });
    let far = net.switch("far", switch());
    net.link(a, near, gbps(100), ns(100));
    net.link(b, far, gbps(100), ns(100));
    for spine in 0..SPINES {
        let spine = net.switch(&format!("s{spine}"), switch());
        net.link(near, spine, gbps(100), ns(100));
        net.link(spine, far, gbps(100), ns(100));
    }
    (net, a, b)
}

fn given() -> Weights {
    Weights::new((4..).map(NodeId).zip(WEIGHTS))
}

/// Number of frames that each spine forwarded to `far`.
fn passed(outcome: &Outcome) -> Vec<u64> {
    (0..SPINES).map(|spine| outcome.count("ports", &format!("s{spine}.1->far"), "frames_sent")).collect()
}

/// Asserts that counts are within three standard deviations of their weights.
fn assert_shared(counts: &[u64], weights: &[u32]) {
    let (sent, all) = (counts.iter().sum::<u64>() as f64, f64::from(weights.iter().sum::<u32>()));
    for (&count, &weight) in counts.iter().zip(weights) {
        let p = f64::from(weight) / all;
        let deviation = (sent * p * (1.0 - p)).sqrt();
        assert!((count as f64 - sent * p).abs() <= 3.0 * deviation, "{counts:?} for {weights:?}");
    }
}

/// Makes `count` transfers of one frame each.
fn transfers(to: NodeId, count: u32) -> SourceSpec {
    let mut list = TransferList::new(Framing { frame: 118, header: 18 }, ServiceOrder::RoundRobin);
    for nth in 0..count {
        let start = ns(100 * u64::from(nth));
        // Randomly drawn ports repeat, and with them the hash.
        let ports = Ports { source: 1 + nth as u16, destination: 9 };
        list.push(Transfer { start, destination: 0, bytes: 100, ports });
    }
    SourceSpec {
        arrivals: Arrivals::Transfers(Arc::new(list)),
        destinations: Destinations::Fixed(to),
        limit: None,
        ..one(to, 118, Time::ZERO)
    }
}

#[test]
fn thousands_of_flows_are_shared_by_weight() {
    let run = |weights: Weights| {
        let (mut net, a, b) = net(PathChoice::HASH, weights, us(1_000));
        net.flow("t", a, 0, transfers(b, 8_000));
        net.run_on_threads()
    };
    let counts = passed(&run(given()));
    assert_eq!(counts.iter().sum::<u64>(), 8_000);
    assert_shared(&counts, &WEIGHTS);
    // Weights of 1 give plain ECMP. A configured weight applies only to its neighbour; all others have weight 1.
    let plain = run(Weights::default());
    assert_shared(&passed(&plain), &[1, 1, 1]);
    assert_eq!(plain.fingerprint, run(Weights::new([(NodeId(5), 1)])).fingerprint);
    assert_shared(&passed(&run(Weights::new([(NodeId(5), 6)]))), &[1, 6, 1]);
}

#[test]
fn frames_and_bursts_are_shared_by_weight() {
    let flowlet = PathChoice::Flowlet(Flowlet { gap: ns(50), entries: 1 << 10 });
    for choice in [PathChoice::Spray, flowlet] {
        let (mut net, a, b) = net(choice, given(), us(1_000));
        net.flow("f", a, 0, paced(b, 100, 9_000, Time::ZERO, ns(100)));
        let outcome = net.run();
        let counts = passed(&outcome);
        assert_eq!(counts.iter().sum::<u64>(), 9_000);
        assert_shared(&counts, &WEIGHTS);
        net.assert_threads_agree(&outcome);
    }
}

/// A switch that hashes next to one that sprays takes the path that it would take alone.
#[test]
fn a_hash_by_weight_is_the_same_for_each_frame_as_before_the_run() {
    let run = |far: PathChoice| {
        let (mut net, a, b) = net(PathChoice::HASH, given(), us(1_000));
        if let fabric::spec::Role::Switch(own) = &mut net.0.nodes[3].role {
            Arc::make_mut(own).path_choice = far;
        }
        net.flow("t", a, 0, transfers(b, 4_000));
        passed(&net.run())
    };
    assert_eq!(run(PathChoice::HASH), run(PathChoice::Spray));
}

/// Flows of a failed link move to other links, and all others stay.
#[test]
fn a_link_that_is_down_has_no_weight() {
    let run = |faults: Vec<FaultSpec>| {
        let (mut net, a, b) = net(PathChoice::HASH, given(), us(1_000));
        net.flow("t", a, 0, transfers(b, 8_000));
        net.0.faults = faults;
        passed(&net.run())
    };
    let reaction = Reaction { keep: true, reroute: Some(Time::ZERO) };
    // The link to the last spine.
    let down = FaultSpec::LinkDown { link: 6, at: Time::ZERO, reaction };
    let (before, after) = (run(Vec::new()), run(vec![down]));
    assert_eq!((after[2], after.iter().sum::<u64>()), (0, 8_000));
    assert!(after[0] >= before[0] && after[1] >= before[1], "{before:?} {after:?}");
}
