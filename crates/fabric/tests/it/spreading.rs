//! Paths that switches choose for each frame.

use crate::common::{Net, Outcome, cases, gbps, greedy, host, ns, one, paced, switch, us};
use fabric::choice::{Flowlet, PathChoice};
use fabric::spec::{SwitchSpec, Way};
use frame::NodeId;
use proptest::prelude::*;
use queueing::{ManagerSpec, RedParams};
use std::sync::Arc;
use units::{Amount, BitRate, Bytes, Time};
use workload::{Arrivals, Destinations, Others, PoissonParams, SourceSpec};

/// Two leaves with `hosts` hosts each, and spines whose links have these delays.
fn leaf_spine(
    choice: PathChoice,
    hosts: usize,
    spines: &[u64],
    duration: Time,
) -> (Net, Vec<NodeId>, Vec<NodeId>) {
    let mut net = Net::new(duration);
    let spec = SwitchSpec { path_choice: choice, ..switch() };
    let (left_leaf, right_leaf) = (net.switch("left", spec.clone()), net.switch("right", spec.clone()));
    let side = |leaf: NodeId, name: &str, net: &mut Net| -> Vec<NodeId> {
        (0..hosts)
            .map(|n| {
                let node = net.host(&format!("{name}{n}"), host());
                net.link(node, leaf, gbps(10), ns(100));
                node
            })
            .collect()
    };
    let (left, right) = (side(left_leaf, "l", &mut net), side(right_leaf, "r", &mut net));
    for (n, &delay) in spines.iter().enumerate() {
        let spine = net.switch(&format!("spine{n}"), spec.clone());
        net.link(left_leaf, spine, gbps(10), ns(delay));
        net.link(spine, right_leaf, gbps(10), ns(delay));
    }
    (net, left, right)
}

/// Number of frames that the left leaf sent to each spine.
fn loads(outcome: &Outcome, spines: usize) -> Vec<u64> {
    let ports = outcome.texts("ports", "port");
    let sent = outcome.integers("ports", "frames_sent");
    let to = |spine: usize| {
        ports.iter().position(|port| port.starts_with("left.") && port.ends_with(&format!("->spine{spine}")))
    };
    (0..spines).map(|spine| sent[to(spine).expect("a port")]).collect()
}

#[test]
fn spraying_loads_eight_paths_alike() {
    for choice in [PathChoice::Spray, PathChoice::RoundRobin, PathChoice::LeastQueued] {
        let (mut net, left, right) = leaf_spine(choice, 4, &[100; 8], us(5000));
        for (n, (&from, &to)) in left.iter().zip(&right).enumerate() {
            net.flow(&format!("f{n}"), from, 0, greedy(to, 1000, Time::ZERO));
        }
        let outcome = net.run();
        let loads = loads(&outcome, 8);
        let total: u64 = loads.iter().sum();
        let mean = total as f64 / 8.0;
        let chi_square: f64 = loads.iter().map(|&load| (load as f64 - mean).powi(2) / mean).sum();
        assert!(total > 20_000, "{total}");
        if choice == PathChoice::RoundRobin {
            assert!(loads.iter().all(|&load| (load as f64 - mean).abs() <= 1.0), "{loads:?}");
        }
        // With seven degrees of freedom, 99.9 % of the cases are below 24.3; choices without random draws are even more
        // uniform.
        assert!(chi_square < 24.3, "{choice:?}: {loads:?}");
        // Hosts' links are the bottleneck on either side, so all frames arrive.
        assert_eq!(outcome.total("flows", "frames_dropped"), 0);
    }
}

#[test]
fn least_queued_keeps_queues_shorter_than_drawing() {
    let waits = |choice| {
        let (mut net, left, right) = leaf_spine(choice, 4, &[100; 4], us(3000));
        for (n, (&from, &to)) in left.iter().zip(&right).enumerate() {
            let rate = units::BitRate::from_bps(8_000_000_000 + 10_000_000 * n as u64);
            net.flow(
                &format!("f{n}"),
                from,
                0,
                SourceSpec {
                    arrivals: Arrivals::Poisson(PoissonParams { rate }),
                    ..greedy(to, 1000, Time::ZERO)
                },
            );
        }
        let outcome = net.run();
        let ports = outcome.texts("ports", "port").iter();
        let uplinks = ports.zip(outcome.reals("ports", "queue_bytes_mean"));
        uplinks.filter(|(port, _)| port.contains("->spine")).map(|(_, mean)| mean).sum::<f64>()
    };
    let (drawn, least) = (waits(PathChoice::Spray), waits(PathChoice::LeastQueued));
    assert!(least < drawn / 4.0, "{least} B against {drawn} B");
}

#[test]
fn flowlets_keep_order_if_the_gap_exceeds_the_spread_of_delays() {
    // Four paths, with delays up to 3 x 2 x 1 us apart. Bursts of 8 frames every 20 us.
    let run = |gap: u64| {
        let choice = PathChoice::Flowlet(Flowlet { gap: ns(gap), entries: 1 << 10 });
        let (mut net, left, right) = leaf_spine(choice, 2, &[100, 1100, 2100, 3100], us(4000));
        for (n, (&from, &to)) in left.iter().zip(&right).enumerate() {
            let script = (0..190)
                .map(|k| (us(20 * k + 7), workload::Change::Stop))
                .chain((1..190).map(|k| (us(20 * k), workload::Change::Start(None))));
            let mut script: Vec<_> = script.collect();
            script.sort_by_key(|&(at, _)| at);
            let source = SourceSpec { script, limit: None, ..paced(to, 1000, 1, Time::ZERO, ns(816)) };
            net.flow(&format!("f{n}"), from, 0, source);
        }
        let outcome = net.run();
        (outcome.summary("frames_reordered"), loads(&outcome, 4))
    };
    // A spread of 6 us: a gap of 10 us is sufficient, and bursts are 13 us apart.
    let (reordered, loads) = run(10_000);
    assert_eq!(reordered, 0.0);
    assert!(loads.iter().all(|&load| load > 300), "{loads:?}");
    // A gap shorter than the distance of two frames sprays them.
    assert!(run(100).0 > 500.0);
}

#[test]
fn a_switch_passes_over_its_own_dead_links() {
    use fabric::spec::{FaultSpec, Reaction};
    let (mut net, left, right) = leaf_spine(PathChoice::Spray, 1, &[100; 4], us(1000));
    net.flow("f", left[0], 0, greedy(right[0], 1000, Time::ZERO));
    // The links of the left leaf to its spines are the first of each pair, after those of the two hosts.
    for link in [2, 4] {
        net.0.faults.push(FaultSpec::LinkDown {
            link,
            at: us(200),
            reaction: Reaction { keep: false, reroute: None },
        });
    }
    let outcome = net.run();
    let loads = loads(&outcome, 4);
    assert!(loads[0] < 100 && loads[1] < 100 && loads[2] > 300 && loads[3] > 300, "{loads:?}");
    // Only the frames on the links are lost.
    assert!(outcome.total("flows", "frames_dropped") <= 4);
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(cases(16)))]

    /// The trajectory is equal on any number of threads and in any number of steps, with mechanisms that have state and
    /// random draws.
    #[test]
    fn chosen_paths_on_threads(
        which in 0usize..4,
        spines in proptest::collection::vec(50u64..2000, 1..5),
        pairs in proptest::collection::vec((0usize..4, 0usize..4), 1..8),
        seed in 0u64..1000,
    ) {
        let choices = [
            PathChoice::Spray,
            PathChoice::RoundRobin,
            PathChoice::LeastQueued,
            PathChoice::Flowlet(Flowlet { gap: us(2), entries: 64 }),
        ];
        let (mut net, left, right) = leaf_spine(choices[which], 4, &spines, us(150));
        net.0.seed = seed;
        for (n, &(from, to)) in pairs.iter().enumerate() {
            net.flow(&format!("f{n}"), left[from], 0, greedy(right[to], 500 + 100 * n as u16, ns(n as u64 * 100)));
            net.flow(&format!("b{n}"), right[to], 1, greedy(left[from], 700, ns(n as u64 * 77)));
        }
        let one = net.run();
        prop_assert_eq!(one.total("flows", "frames_dropped"), 0);
        for other in [net.run_in_steps(777), net.run_on(2, 5_000), net.run_on(3, 900)] {
            prop_assert_eq!(one.fingerprint, other.fingerprint);
            prop_assert_eq!(one.integers("ports", "frames_sent"), other.integers("ports", "frames_sent"));
        }
    }
}

/// Each host of a fabric sends to all others, along listed paths or by destination.
fn all_to_all(choice: PathChoice, way: &Way) -> Net {
    let (mut net, left, right) = leaf_spine(choice, 4, &[100, 100], us(200));
    let hosts: Arc<[NodeId]> = left.into_iter().chain(right).collect();
    for (nth, &from) in (0..).zip(hosts.iter()) {
        let destinations = Destinations::Others(Others { hosts: hosts.clone(), without: Some(nth) });
        let rate = BitRate::from_gbps(2);
        let source = SourceSpec {
            arrivals: Arrivals::Poisson(PoissonParams { rate }),
            destinations,
            limit: None,
            ..one(from, 700, Time::ZERO)
        };
        net.flow(&format!("f{nth}"), from, 0, source).way = way.clone();
    }
    net
}

#[test]
fn frames_that_go_by_destination_fare_as_those_of_listed_paths() {
    // If switches use no hash, equal draws lead to equal ports.
    for choice in [PathChoice::Spray, PathChoice::RoundRobin, PathChoice::LeastQueued] {
        let (listed, by_destination) =
            (all_to_all(choice, &Way::Shortest).run(), all_to_all(choice, &Way::ByDestination).run());
        // Compared as text, because NaN is not equal to itself.
        let shares = |outcome: &Outcome| {
            ["flows", "ports", "queues", "classes"].map(|name| format!("{:?}", outcome.table(name)))
        };
        assert_eq!(shares(&listed), shares(&by_destination), "{choice:?}");
        assert_eq!(listed.integers("paths", "frames_delivered").len(), 8 * 7);
        assert!(by_destination.integers("paths", "frames_delivered").is_empty());
        assert_eq!(listed.summary("frames_reordered"), by_destination.summary("frames_reordered"));
    }
}

#[test]
fn who_was_overtaken_is_counted_by_destination_as_well() {
    let run = |choice, way: Way, threads| {
        let (mut net, left, right) = leaf_spine(choice, 2, &[100, 5100], us(10_000));
        net.0.warmup = us(100);
        for (n, &from) in left.iter().enumerate() {
            let rate = BitRate::from_gbps(2);
            let destinations = Destinations::Uniform(right.clone());
            let source = SourceSpec {
                arrivals: Arrivals::Poisson(PoissonParams { rate }),
                destinations,
                limit: None,
                ..one(from, 700, Time::ZERO)
            };
            net.flow(&format!("f{n}"), from, 0, source).way = way.clone();
        }
        net.run_on(threads, 5_000)
    };
    let sprayed = run(PathChoice::Spray, Way::Shortest, 1);
    // Half of the frames take the longer path, which adds 10 us, and are overtaken if a frame on the other path arrives
    // in that time; at a host, one arrives every 700 B / (2 Gb/s / 2 / 2) = 11.2 us. Of 7,000 frames, 0.02 are four
    // standard deviations.
    let (delivered, reordered) =
        (sprayed.total("flows", "frames_delivered") as f64, sprayed.summary("frames_reordered"));
    let expected = (1.0 - (-10.0f64 / 11.2).exp()) / 2.0;
    assert!((reordered / delivered - expected).abs() < 0.02, "{reordered} of {delivered}");
    for threads in 1..=3 {
        let unlisted = run(PathChoice::Spray, Way::ByDestination, threads);
        assert_eq!(
            unlisted.reals("flows", "frames_reordered"),
            sprayed.reals("flows", "frames_reordered"),
            "{threads} threads"
        );
    }
    assert_eq!(run(PathChoice::HASH, Way::ByDestination, 1).summary("frames_reordered"), 0.0);
}

#[test]
fn frames_take_the_planned_path() {
    let mut used = [0; 4];
    for way in [Way::Shortest, Way::ByDestination] {
        for (from, to) in (0..4).flat_map(|from| (0..4).map(move |to| (from, to))) {
            let (mut net, left, right) = leaf_spine(PathChoice::HASH, 4, &[100; 4], us(20));
            let source = SourceSpec {
                destinations: Destinations::Uniform(vec![right[to]]),
                ..one(right[to], 700, Time::ZERO)
            };
            net.flow(&format!("f{from}"), left[from], 0, source).way = way.clone();
            let planned = net.0.planned_path(&net.0.flows[0], right[to]).expect("a path");
            assert_eq!(net.0.planned_path(&net.0.flows[0], left[to]), None);
            let outcome = net.run();
            let ports = outcome.texts("ports", "port").iter().zip(outcome.integers("ports", "frames_sent"));
            let mut taken: Vec<&String> =
                ports.filter(|(_, sent)| **sent > 0).map(|(port, _)| port).collect();
            let mut planned: Vec<&String> = planned.iter().collect();
            (0..4)
                .for_each(|spine| used[spine] += usize::from(planned[1].ends_with(&format!("spine{spine}"))));
            taken.sort();
            planned.sort();
            assert_eq!(taken, planned, "{way:?} from {from} to {to}");
        }
    }
    assert!(used.iter().all(|&paths| paths > 1), "{used:?}");
}

#[test]
fn a_hash_spreads_the_destinations_of_a_flow_and_keeps_their_order() {
    let outcome = all_to_all(PathChoice::HASH, &Way::ByDestination).run();
    let loads = loads(&outcome, 2);
    let (least, most) = (loads[0].min(loads[1]), loads[0].max(loads[1]));
    // 16 pairs of hosts send from left to right: with a share of 1/2 each, four standard deviations are 8 of them.
    assert!(least > 0 && most < 20 * least, "{loads:?}");
    let (sent, delivered) =
        (outcome.total("flows", "frames_sent"), outcome.total("flows", "frames_delivered"));
    assert!(delivered > 0 && sent - delivered < 40, "{sent} sent, {delivered} delivered");
}

#[test]
fn by_destination_the_result_does_not_depend_on_threads() {
    let mut net = all_to_all(PathChoice::HASH, &Way::ByDestination);
    net.0.probes.bin = Some(us(10));
    net.run_on_threads();
}

/// Four racks of sixteen hosts, every fourth with a second link, and queues with RED: counting and sending ahead give
/// the results of decisions and arrivals as events, on any number of threads.
#[test]
fn sixty_four_hosts_behind_sprayed_paths_with_red() {
    let mut net = Net::new(us(300));
    let red =
        RedParams { weight: 0.25, min: Amount::Frames(2), max: Amount::Frames(8), ..RedParams::default() };
    let path_choice = PathChoice::Spray;
    let of_switches =
        SwitchSpec { path_choice, managers: vec![Some(ManagerSpec::Red(red)); 8].into(), ..switch() };
    let [leaves, spines] = ["leaf", "spine"]
        .map(|kind| [0, 1, 2, 3].map(|nth| net.switch(&format!("{kind}{nth}"), of_switches.clone())));
    for (&leaf, &spine) in leaves.iter().flat_map(|leaf| spines.iter().map(move |spine| (leaf, spine))) {
        net.link(leaf, spine, gbps(10), us(1));
    }
    let hosts: Vec<NodeId> = (0..64)
        .map(|nth| {
            let id = net.host(&format!("h{nth}"), host());
            for link in 0..1 + usize::from(nth % 4 == 0) {
                net.link(id, leaves[(nth / 16 + link) % 4], gbps(10), us(1));
            }
            id
        })
        .collect();
    for (nth, &from) in hosts.iter().enumerate() {
        // Some flows end before others start.
        let (start, limit) =
            if nth % 3 == 0 { (us(170), None) } else { (Time::ZERO, Some(Bytes::new(90_000))) };
        let rate = BitRate::from_gbps(1 + nth as u64 % 6);
        let arrivals = Arrivals::Poisson(PoissonParams { rate });
        let source = SourceSpec {
            arrivals,
            limit,
            ..one(hosts[(nth / 4 * 4 + 20 + nth / 16 % 2) % 64], 1_200, start)
        };
        net.flow(&format!("f{nth}"), from, 0, source);
    }
    let expected = net.deciding().run();
    assert!(
        expected.total("flows", "frames_dropped") > 100 && expected.total("flows", "frames_sent") > 1_000
    );
    assert_eq!(net.run().as_text(), expected.as_text());
    for threads in [2, 3] {
        assert_eq!(net.run_on(threads, 5_000).as_text(), expected.as_text(), "{threads} threads");
    }
}
