//! Transfers with their own five-tuples: their paths, and the columns about them.

use crate::common::*;
use fabric::choice::{Flowlet, PathChoice};
use fabric::spec::{FaultSpec, Reaction, SwitchSpec};
use fabric::tuple::Hashing;
use frame::{NodeId, Ports};
use proptest::prelude::*;
use std::collections::BTreeMap;
use std::sync::Arc;
use transport::{Application, ConnectionSpec, Scheduled, TcpPreset};
use units::{Bytes, Time};
use workload::{Arrivals, Destinations, Framing, ServiceOrder, SourceSpec, Transfer, TransferList};

const CHOICES: [PathChoice; 5] = [
    PathChoice::HASH,
    PathChoice::Spray,
    PathChoice::RoundRobin,
    PathChoice::LeastQueued,
    PathChoice::Flowlet(Flowlet { gap: Time::from_us(2), entries: 1 << 10 }),
];

fn choosing(path_choice: PathChoice) -> SwitchSpec {
    SwitchSpec { path_choice, ..switch() }
}
fn seeded(seed: Option<u64>) -> SwitchSpec {
    choosing(PathChoice::Hash(Hashing { seed, ..Hashing::USUAL }))
}

/// Transfers to these hosts: start in microseconds, index of the host, bytes.
fn source(to: &[NodeId], framing: Framing, rows: &[(u64, u32, u64)], ports: Ports) -> SourceSpec {
    let mut list = TransferList::new(framing, ServiceOrder::RoundRobin);
    for &(start, destination, bytes) in rows {
        list.push(Transfer { start: us(start), destination, bytes, ports });
    }
    SourceSpec {
        arrivals: Arrivals::Transfers(Arc::new(list)),
        destinations: Destinations::Uniform(to.to_vec()),
        limit: None,
        ..greedy(to[0], framing.frame, Time::ZERO)
    }
}

/// Adds a flow of transfers, over TCP or as pushed frames.
fn add(
    net: &mut Net,
    name: &str,
    from: NodeId,
    to: &[NodeId],
    tcp: bool,
    rows: &[(u64, u32, u64)],
    ports: Ports,
) {
    if !tcp {
        net.flow(name, from, 0, source(to, Framing { frame: 1_018, header: 18 }, rows, ports));
        return;
    }
    let spec = TcpPreset::Rfc.keys().sized(Some(Bytes::new(0)), 1_522, 64).unwrap();
    let framing = Framing { frame: 1_522, header: spec.headers };
    let flow = net.flow(name, from, 0, source(to, framing, rows, ports));
    let application = Application::Transfers(Scheduled::Tcp(spec.into()));
    flow.transport = Some(Arc::new(ConnectionSpec { start: Time::ZERO, stop: None, application }));
}

/// Two hosts, two switches, and four links between the switches.
fn trunk(spec: &SwitchSpec) -> (Net, [NodeId; 2]) {
    let mut net = Net::new(us(40_000));
    let hosts = [net.host("a", host()), net.host("b", host())];
    let switches = ["s", "t"].map(|name| net.switch(name, spec.clone()));
    for (host, switch) in hosts.into_iter().zip(switches) {
        net.link(host, switch, gbps(100), ns(100));
    }
    for _ in 0..4 {
        net.link(switches[0], switches[1], gbps(25), ns(100));
    }
    (net, hosts)
}

/// `count` transfers, one every 100 us.
fn many(count: u64) -> Vec<(u64, u32, u64)> {
    (0..count).map(|nth| (nth * 100, 0, 40_000)).collect()
}

/// Number of frames that the first switch of a trunk sent over each link, and number that the second sent back.
fn over_trunk(outcome: &Outcome) -> [Vec<u64>; 2] {
    let ports = outcome.texts("ports", "port").iter().zip(outcome.integers("ports", "frames_sent"));
    let to = |from: &str, to: &str| {
        ports
            .clone()
            .filter(|(port, _)| port.starts_with(from) && port.ends_with(to))
            .map(|(_, &sent)| sent)
            .collect()
    };
    [to("s.", "->t"), to("t.", "->s")]
}

/// Results of the transfers, and of the whole run.
fn summary(outcome: &Outcome) -> (u64, Vec<u64>, Vec<u64>, Vec<u64>) {
    let column = |name: &str| outcome.integers("transfers", name).to_vec();
    let completions = outcome.reals("transfers", "completion_ns").iter().map(|took| took.to_bits());
    (outcome.fingerprint, column("path"), column("source_port"), completions.collect())
}

/// Pearson's statistic of counts that should be equal.
fn chi_square(counts: &[u64]) -> f64 {
    let expected = counts.iter().sum::<u64>() as f64 / counts.len() as f64;
    counts.iter().map(|&count| (count as f64 - expected).powi(2) / expected).sum()
}

#[test]
fn transfers_between_two_hosts_use_all_equal_links() {
    for tcp in [false, true] {
        let (mut net, [a, b]) = trunk(&switch());
        add(&mut net, "x[a]", a, &[b], tcp, &many(173), Ports::default());
        let outcome = net.run();
        let [there, back] = over_trunk(&outcome);
        assert!(there.iter().all(|&frames| frames > 500), "{tcp}: {there:?}");
        // Acknowledgements of a connection return over its links.
        assert!(back.iter().all(|&frames| (frames > 0) == tcp), "{back:?}");
        // One path each: a transfer has all of its frames on one link, and each link gets about 43 of 173 transfers.
        // The standard deviation is 5.7.
        let mut of_path: BTreeMap<u64, u64> = BTreeMap::new();
        for &path in outcome.integers("transfers", "path") {
            *of_path.entry(path).or_default() += 1;
        }
        let counts: Vec<u64> = of_path.into_values().collect();
        assert_eq!((counts.len(), counts.iter().sum::<u64>()), (4, 173));
        assert!(counts.iter().all(|&count| count > 20), "{counts:?}");
        if !tcp {
            let mut frames: Vec<u64> = counts.iter().map(|count| count * 40).collect();
            let mut sent = there.clone();
            frames.sort_unstable();
            sent.sort_unstable();
            assert_eq!(frames, sent);
        }
        assert_eq!(outcome.texts("flows", "destination"), ["b"]);
        net.assert_threads_agree(&outcome);
    }
}

#[test]
fn seeds_draw_ports_and_hashes() {
    let ways = |seed, path_seed| {
        let (mut net, [a, b]) = trunk(&switch());
        (net.0.seed, net.0.path_seed) = (seed, path_seed);
        add(&mut net, "x[a]", a, &[b], false, &many(100), Ports::default());
        let outcome = net.run();
        let column = |name: &str| outcome.integers("transfers", name).to_vec();
        let paths = column("path").into_iter();
        let names = outcome.texts("paths", "ports");
        let paths: Vec<String> = paths.map(|path| names[path as usize].clone()).collect();
        (column("source_port"), paths)
    };
    let (ports, paths) = ways(1, 1);
    assert!(ports.iter().all(|port| (49_152..=65_535).contains(port)));
    let (same, other) = ways(1, 2);
    assert_eq!(same, ports);
    assert_ne!(other, paths);
    assert_ne!(ways(2, 1).0, ports);
}

#[test]
fn what_has_one_tuple_takes_one_path() {
    let given = Ports { source: 1_234, destination: 4_791 };
    for (choice, tcp) in [(PathChoice::HASH, false), (PathChoice::HASH, true)] {
        let (mut net, [a, b]) = trunk(&choosing(choice));
        add(&mut net, "x[a]", a, &[b], tcp, &many(50), given);
        let outcome = net.run();
        let [there, back] = over_trunk(&outcome);
        assert_eq!(there.iter().filter(|&&frames| frames > 0).count(), 1, "{there:?}");
        assert!(back.iter().filter(|&&frames| frames > 0).count() <= 1);
        assert!(outcome.integers("transfers", "source_port").iter().all(|&port| port == 1_234));
        assert!(outcome.integers("transfers", "destination_port").iter().all(|&port| port == 4_791));
    }
}

#[test]
fn flowlets_see_each_transfer() {
    // All start at the same time and never pause for as long as the gap: one flowlet each.
    let flowlets = PathChoice::Flowlet(Flowlet { gap: us(1_000), entries: 1 << 16 });
    let rows: Vec<(u64, u32, u64)> = (0..100).map(|_| (0, 0, 40_000)).collect();
    let loads = |ports| {
        let (mut net, [a, b]) = trunk(&choosing(flowlets));
        add(&mut net, "x[a]", a, &[b], false, &rows, ports);
        let outcome = net.run();
        assert!(outcome.reals("transfers", "slowdown").iter().all(|&slowdown| slowdown >= 1.0));
        over_trunk(&outcome)[0].clone()
    };
    let drawn = loads(Ports::default());
    let transfers: Vec<u64> = drawn.iter().map(|frames| frames / 40).collect();
    assert!(drawn.iter().all(|frames| frames % 40 == 0) && chi_square(&transfers) < 16.3, "{drawn:?}");
    let one = loads(Ports { source: 7, destination: 7 });
    assert_eq!(one.iter().filter(|&&frames| frames > 0).count(), 1, "{one:?}");
}

/// a - s, four switches behind s, each with four links to t, and b.
fn two_tiers(first: Option<u64>, second: Option<u64>) -> (Net, [NodeId; 2]) {
    let mut net = Net::new(us(40_000));
    let hosts = [net.host("a", host()), net.host("b", host())];
    let (s, t) = (net.switch("s", seeded(first)), net.switch("t", seeded(None)));
    net.link(hosts[0], s, gbps(100), ns(100));
    net.link(t, hosts[1], gbps(100), ns(100));
    for nth in 0..4 {
        let middle = net.switch(&format!("m{nth}"), seeded(second));
        net.link(s, middle, gbps(25), ns(100));
        for _ in 0..4 {
            net.link(middle, t, gbps(10), ns(100));
        }
    }
    (net, hosts)
}

#[test]
fn tiers_with_one_seed_leave_links_unused() {
    let used = |first, second| {
        let (mut net, [a, b]) = two_tiers(first, second);
        add(&mut net, "x[a]", a, &[b], false, &many(300), Ports::default());
        let pairs = fabric::forwarding::polarised(&net.0).len();
        let outcome = net.run();
        let ports = outcome.texts("ports", "port").iter().zip(outcome.integers("ports", "frames_sent"));
        let used = ports.filter(|(port, sent)| port.starts_with('m') && port.ends_with("->t") && **sent > 0);
        (used.count(), pairs)
    };
    assert_eq!(used(None, None), (16, 0));
    assert_eq!(used(Some(3), Some(4)), (16, 0));
    assert_eq!(used(Some(3), Some(3)), (4, 4));
}

#[test]
fn transfers_part_where_a_link_fails() {
    // The second of four links is down from the start, and routing has converged. By thresholds (RFC 2992), its
    // transfers move to the first and the third, each by its own hash; the transfers of the fourth stay there.
    let (mut net, [a, b]) = trunk(&switch());
    add(&mut net, "x[a]", a, &[b], false, &many(300), Ports::default());
    let whole = over_trunk(&net.run())[0].clone();
    let reaction = Reaction { keep: false, reroute: Some(us(0)) };
    net.0.faults.push(FaultSpec::LinkDown { link: 3, at: us(0), reaction });
    let outcome = net.run();
    let [there, _] = over_trunk(&outcome);
    assert!(there[1] < 45 && there[3] == whole[3], "{whole:?} {there:?}");
    for link in [0, 2] {
        assert!(there[link] > whole[link] + whole[1] / 6, "{whole:?} {there:?}");
    }
    net.assert_threads_agree(&outcome);
}

/// The short frame at the end overtakes the long one on the second of two links, and does not wait for it where only
/// one link is left.
#[test]
fn a_short_frame_that_overtakes_waits_for_nobody() {
    let mut net = Net::new(us(3_000));
    let switches = [PathChoice::RoundRobin, PathChoice::HASH, PathChoice::HASH].map(choosing);
    let mut nth = 0;
    let [s, p, t] = switches.map(|spec| {
        nth += 1;
        net.switch(&format!("s{nth}"), spec)
    });
    let hosts = [net.host("a", host()), net.host("b", host())];
    net.link(hosts[0], s, gbps(40), ns(100));
    net.link(hosts[1], t, gbps(40), ns(100));
    net.link(s, p, gbps(1), ns(50));
    net.link(s, p, gbps(1), ns(50));
    net.link(p, t, gbps(40), ns(3_000));
    add(&mut net, "x[a]", hosts[0], &[hosts[1]], false, &[(0, 0, 1_461), (500, 0, 20_461)], Ports::default());
    let slowdowns = net.run().reals("transfers", "slowdown").to_vec();
    assert!(slowdowns.iter().all(|slowdown| *slowdown >= 1.0) && slowdowns[0] < 1.000_001, "{slowdowns:?}");
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(cases(16)))]

    /// For all path choices and failures: no transfer is faster than its ideal, and the number of threads has no
    /// effect.
    #[test]
    fn nothing_is_faster_than_alone(
        left in 0usize..5,
        right in 0usize..5,
        spines in proptest::collection::vec((1u64..40, 50u64..3_000, 1usize..3), 1..4),
        rows in proptest::collection::vec((0u64..100, 0u32..2, 1u64..30_000), 1..20),
        tcp in any::<bool>(),
        fails in proptest::option::of(20u64..100),
        seed in 0u64..1_000,
    ) {
        let mut net = Net::new(us(3_000));
        net.0.seed = seed;
        net.0.path_seed = seed;
        let leaves = [("l", left), ("r", right)].map(|(name, which)| net.switch(name, choosing(CHOICES[which])));
        let a = net.host("a", host());
        net.link(a, leaves[0], gbps(40), ns(100));
        let to = ["b", "c"].map(|name| {
            let host = net.host(name, host());
            net.link(host, leaves[1], gbps(40), ns(100));
            host
        });
        for (nth, &(rate, delay, links)) in spines.iter().enumerate() {
            let spine = net.switch(&format!("p{nth}"), choosing(CHOICES[left]));
            for _ in 0..links {
                net.link(leaves[0], spine, gbps(rate), ns(delay));
            }
            net.link(spine, leaves[1], gbps(41 - rate), ns(3_050 - delay));
        }
        if let Some(at) = fails {
            let reaction = Reaction { keep: true, reroute: Some(us(5)) };
            net.0.faults.push(FaultSpec::LinkDown { link: 3, at: us(at), reaction });
        }
        let mut rows = rows;
        rows.sort_unstable();
        add(&mut net, "x[a]", a, &to, tcp, &rows, Ports::default());
        let one = net.run();
        for &slowdown in one.reals("transfers", "slowdown") {
            prop_assert!(slowdown.is_nan() || slowdown >= 1.0, "{}", slowdown);
        }
        for threads in [2, 3] {
            prop_assert_eq!(summary(&net.run_on(threads, 3_000)), summary(&one));
        }
    }
}
