//! Tests of in-network reductions over arbitrary trees: every part arrives, and none is sent twice.

use crate::algebra::knowledge_of;
use crate::collectives::{AggregationTree, InNetworkSpec};
use crate::schedule::{Action, Schedule};
use crate::{Algorithm, Collective, CollectiveSpec, Generated, Workload, WorkloadSpec};
use proptest::prelude::*;
use std::sync::Arc;

/// Creates a tree of ranks with these leaf units, below a chain of units or a single root.
fn tree(leaf_of: &[u32], leaves: u32, is_chain: bool) -> AggregationTree {
    let ranks = leaf_of.len() as u32;
    let unit = |leaf: u32| ranks + leaf;
    let above = |leaf: u32| match (leaf + 1 == leaves, is_chain) {
        (true, true) => None,
        (false, true) => Some(unit(leaf + 1)),
        (_, false) if leaves == 1 => None,
        (_, false) => Some(unit(leaves)),
    };
    let mut parents: Vec<Option<u32>> = leaf_of.iter().map(|&leaf| Some(unit(leaf))).collect();
    parents.extend((0..leaves).map(above));
    if !is_chain && leaves > 1 {
        parents.push(None);
    }
    AggregationTree::new(ranks, &parents)
}

fn generated(spec: CollectiveSpec, own: &InNetworkSpec) -> Generated {
    match WorkloadSpec::InNetwork(spec, own.clone()).start(own.tree.ranks()) {
        Workload::Generated(own) => own,
        other => panic!("{other:?}"),
    }
}

fn spec(collective: Collective, bytes: u64, root: u32) -> CollectiveSpec {
    CollectiveSpec {
        collective,
        algorithm: Algorithm::InNetwork,
        bytes,
        chunks: 1,
        group: 1,
        root,
        skew: 0.0,
    }
}

/// Bytes that a rank or unit sends.
fn sends(workload: &Generated, number: u32) -> u64 {
    let lanes =
        (0..workload.lanes()).flat_map(|lane| (0..).map_while(move |at| workload.action(number, lane, at)));
    lanes.map(|action| if let Action::Send { bytes, .. } = action { bytes } else { 0 }).sum()
}

#[test]
fn a_rank_sends_each_byte_once() {
    let own = InNetworkSpec { tree: Arc::new(tree(&[0, 0, 1, 1], 2, false)), segment: 1_000, outstanding: 3 };
    let reduced = generated(spec(Collective::AllReduce, 4_500, 0), &own);
    // Four ranks, two units with two children each, and the root above both units.
    let sent: Vec<u64> = (0..7).map(|number| sends(&reduced, number)).collect();
    assert_eq!(sent, [4_500, 4_500, 4_500, 4_500, 13_500, 13_500, 9_000]);
    assert_eq!((reduced.lanes(), own.segments(4_500)), (3, 5));
    let reduced = generated(spec(Collective::Reduce, 4_500, 2), &own);
    let sent: Vec<u64> = (0..7).map(|number| sends(&reduced, number)).collect();
    assert_eq!(sent, [4_500, 4_500, 4_500, 4_500, 4_500, 9_000, 4_500]);
    let reduced = generated(spec(Collective::Broadcast, 4_500, 2), &own);
    let sent: Vec<u64> = (0..7).map(|number| sends(&reduced, number)).collect();
    assert_eq!(sent, [0, 0, 4_500, 0, 9_000, 9_000, 9_000]);
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(300))]

    /// The result of each segment contains a part of every rank.
    #[test]
    fn each_result_has_the_parts_of_all(
        at in prop::collection::vec(0u32..5, 2..14),
        is_chain: bool,
        bytes in 0u64..20_000,
        segment in 1_000u64..9_000,
        outstanding in 1u32..9,
        root in 0u32..14,
    ) {
        // Leaves without ranks have no unit.
        let mut used: Vec<u32> = at.clone();
        used.sort_unstable();
        used.dedup();
        let leaf_of: Vec<u32> =
            at.iter().map(|leaf| used.binary_search(leaf).expect("every leaf is in the list") as u32).collect();
        let ranks = leaf_of.len() as u32;
        let tree = Arc::new(tree(&leaf_of, used.len() as u32, is_chain));
        let own = InNetworkSpec { tree: tree.clone(), segment, outstanding };
        let all = (1u64 << ranks) - 1;
        for collective in [Collective::AllReduce, Collective::Reduce, Collective::Broadcast, Collective::Barrier] {
            let of = spec(collective, bytes, root % ranks);
            let known = knowledge_of(&generated(of, &own), (&of, tree.numbers()));
            for (rank, known) in (0..ranks).zip(known) {
                let needed = match collective {
                    Collective::AllReduce | Collective::Barrier => all,
                    Collective::Reduce if rank == of.root => all,
                    Collective::Broadcast => 1 << of.root,
                    _ => 0,
                };
                prop_assert_eq!(known & needed, needed, "{:?}: rank {} of {}", collective, rank, ranks);
            }
        }
    }
}
