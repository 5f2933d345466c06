//! Path selection by entropy values of senders: switches spread the packets, selections avoid slow links, and results
//! are equal on threads.

use crate::common::consistent::{check_tables, same};
use crate::common::*;
use crate::rdma::{column, keys, transfers};
use fabric::choice::{Adaptive, PathChoice};
use fabric::spec::SwitchSpec;
use frame::NodeId;
use proptest::prelude::*;
use queueing::{Counts, ManagerSpec, Moment, StepParams, TrimmingSpec, Victim};
use transport::{PathSelectionKeys, RdmaControlKeys, RdmaKeys, RdmaRecovery, ReorderingKeys};
use units::{Amount, Or, Time};

const SPINES: usize = 4;
const HOSTS: usize = 4;

fn none() -> RdmaControlKeys {
    RdmaControlKeys::None(Default::default())
}
fn choosing(paths: PathSelectionKeys, control: RdmaControlKeys) -> RdmaKeys {
    // Packets must not count as lost while they are queued: the queue of the slow link drains in 400 us.
    let recovery =
        RdmaRecovery::Reordering(ReorderingKeys { time: Or::Value(us(600)), ..Default::default() });
    RdmaKeys { recovery, paths, ..keys(control) }
}
/// All path selections of queue pairs.
fn all() -> Vec<PathSelectionKeys> {
    PathSelectionKeys::all().into_iter().filter(|paths| !paths.needs_probes()).collect()
}
fn selection(name: &str) -> PathSelectionKeys {
    PathSelectionKeys::all().into_iter().find(|paths| paths.name() == name).unwrap_or_default()
}
/// Switches that mark above ten frames, and trim above a hundred.
fn marking(path_choice: PathChoice) -> SwitchSpec {
    let threshold = Amount::Frames(10);
    let step =
        StepParams { threshold, counts: Counts::WithoutFrame, at: Moment::Dequeue, reference_rate: None };
    let trimming = TrimmingSpec {
        size: 64,
        priority: 6,
        priority_to: Vec::new(),
        classes: None,
        thresholds: Some([100_000; 2]),
        header_limit: None,
        reference_rate: None,
        victim: Victim::Arriving,
        marks_last_hop: true,
    };
    SwitchSpec {
        managers: vec![Some(ManagerSpec::Step(step)); 8].into(),
        trimming: Some(trimming),
        path_choice,
        ..switch()
    }
}
/// Two leaves with four spines; each host of the first leaf sends to one of the second. The link from the first leaf to
/// the first spine may be slow.
fn two_leaves(keys: &RdmaKeys, choice: PathChoice, slow: Option<u64>, bytes: u64) -> Net {
    let mut net = Net::new(us(60_000));
    let hosts: Vec<NodeId> = (0..2 * HOSTS).map(|n| net.host(&format!("h{n}"), host())).collect();
    let leaves = [0, 1].map(|n| net.switch(&format!("leaf{n}"), marking(choice)));
    for (nth, &end) in hosts.iter().enumerate() {
        net.link(end, leaves[nth / HOSTS], gbps(10), us(1));
    }
    for spine in 0..SPINES {
        let own = net.switch(&format!("spine{spine}"), marking(choice));
        let rate = slow.filter(|_| spine == 0).unwrap_or(10);
        leaves.into_iter().for_each(|leaf| {
            net.link(leaf, own, gbps(rate), us(1));
        });
    }
    for nth in 0..HOSTS {
        let to = hosts[HOSTS + nth];
        transfers(&mut net, hosts[nth], &[to], keys, &[(Time::ZERO, 0, bytes)]);
    }
    net
}
/// Completion time of the last transfer.
fn last(outcome: &Outcome) -> f64 {
    let times = outcome.reals("transfers", "completion_ns");
    assert!(times.len() == HOSTS && times.iter().all(|time| time.is_finite()), "{times:?}");
    times.iter().copied().fold(0.0, f64::max)
}
/// Bytes on each link from the first leaf to a spine.
fn uplinks(outcome: &Outcome) -> Vec<u64> {
    let rows = outcome.texts("ports", "port").iter().zip(outcome.integers("ports", "bytes_sent"));
    rows.filter(|(port, _)| port.starts_with("leaf0.") && port.contains("->spine"))
        .map(|(_, bytes)| *bytes)
        .collect()
}

#[test]
fn switches_that_hash_spread_the_packets_of_one_flow_by_their_values() {
    for paths in all() {
        let net = two_leaves(&choosing(paths.clone(), none()), PathChoice::HASH, None, 1_000_000);
        let outcome = net.run();
        let loads = uplinks(&outcome);
        assert_eq!(loads.len(), SPINES);
        // Packets that exceed a path are trimmed, and no others are retransmitted.
        let trimmed = outcome.total("flows", "frames_trimmed");
        assert_eq!(column(&outcome, "packets_sent_again"), trimmed, "{paths:?}");
        assert_eq!(trimmed > 0, !paths.sprays(), "{paths:?}: {trimmed}");
        assert_eq!(column(&outcome, "messages"), HOSTS as u64);
        let (least, most) = (*loads.iter().min().unwrap(), *loads.iter().max().unwrap());
        if paths.sprays() {
            assert!(most < 2 * least, "{paths:?}: {loads:?}");
        }
    }
    // One path per flow: unless by chance, two of four share a link.
    let fixed =
        two_leaves(&choosing(PathSelectionKeys::Fixed, none()), PathChoice::HASH, None, 1_000_000).run();
    let sprayed =
        two_leaves(&choosing(selection("oblivious"), none()), PathChoice::HASH, None, 1_000_000).run();
    assert!(last(&sprayed) < last(&fixed), "{} {}", last(&sprayed), last(&fixed));
}

#[test]
fn selections_that_hear_of_congestion_avoid_a_slow_link() {
    // One of four links between the leaves has a quarter of the rate.
    let run = |name: &str| {
        let keys = choosing(selection(name), RdmaControlKeys::Dctcp(Default::default()));
        two_leaves(&keys, PathChoice::HASH, Some(2), 4_000_000).run()
    };
    let [oblivious, bitmap, reps, mixed] = ["oblivious", "bitmap", "reps", "mixed"].map(run);
    let share = |outcome: &Outcome| {
        let loads = uplinks(outcome);
        loads[0] as f64 / loads.iter().sum::<u64>() as f64
    };
    assert!((0.2..0.3).contains(&share(&oblivious)), "{}", share(&oblivious));
    for (name, own) in [("bitmap", &bitmap), ("reps", &reps), ("mixed", &mixed)] {
        assert!(share(own) < 0.7 * share(&oblivious), "{name}: {}", share(own));
        assert!(last(own) < last(&oblivious), "{name}: {} {}", last(own), last(&oblivious));
    }
}

#[test]
fn adaptive_routing_avoids_a_slow_link_without_the_sender() {
    let keys = choosing(PathSelectionKeys::Fixed, none());
    let run = |choice| two_leaves(&keys, choice, Some(2), 2_000_000).run();
    let [adaptive, sprayed] = [PathChoice::Adaptive(Adaptive::default()), PathChoice::Spray].map(run);
    assert!(last(&adaptive) < last(&sprayed), "{} {}", last(&adaptive), last(&sprayed));
    let trimmed = |outcome: &Outcome| outcome.total("flows", "frames_trimmed");
    assert!(trimmed(&adaptive) < trimmed(&sprayed), "{} {}", trimmed(&adaptive), trimmed(&sprayed));
    assert!(uplinks(&adaptive)[0] < uplinks(&sprayed)[0]);
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(cases(16)))]

    /// All selections, over switches that hash, spray or adapt: every message arrives, and the number of threads has no
    /// effect.
    #[test]
    fn any_paths_are_the_same_on_threads(
        paths in prop::sample::select(all()),
        control in prop::sample::select(vec![
            none(),
            RdmaControlKeys::Dcqcn(Default::default()),
            RdmaControlKeys::Dctcp(Default::default()),
            RdmaControlKeys::Swift(Default::default()),
            RdmaControlKeys::Hpcc(Default::default()),
        ]),
        choice in prop::sample::select(vec![
            PathChoice::HASH,
            PathChoice::Spray,
            PathChoice::Adaptive(Adaptive::default()),
        ]),
        slow in prop::sample::select(vec![None, Some(2)]),
        seed in any::<u64>(),
    ) {
        let mut net = two_leaves(&choosing(paths, control), choice, slow, 60_000);
        net.0.seed = seed;
        let outcome = net.run();
        prop_assert_eq!(column(&outcome, "messages"), HOSTS as u64);
        prop_assert_eq!(outcome.total("drops", "frames"), 0);
        let trimmed = outcome.total("flows", "frames_trimmed");
        prop_assert!(column(&outcome, "packets_sent_again") <= trimmed + column(&outcome, "timeouts"));
        check_tables(&net.0, &outcome)?;
        for threads in 2..4 {
            same(&outcome, &net.run_on(threads, 11))?;
        }
    }
}
