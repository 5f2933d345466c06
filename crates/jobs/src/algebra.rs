//! Tests of all algorithms: exact bytes of each rank, and times on an ideal fabric.

use crate::replay::{Ideal, Outcome, run, run_with};
use crate::schedule::{Action, Schedule};
use crate::{Algorithm, Collective, CollectiveSpec, Computation, Generated, JobCosts};
use proptest::prelude::*;
use std::collections::{BTreeMap, VecDeque};
use units::Time;

const FABRIC: Ideal = Ideal { ps_per_byte: 20, latency: Time::from_us(1) };
const SIZES: [u32; 9] = [2, 3, 4, 5, 7, 8, 12, 16, 24];
/// A number of bytes that all tested numbers of ranks, and their powers of two, divide.
const BYTES: u64 = 1_680 * 1_024;

fn spec(collective: Collective, algorithm: Algorithm) -> CollectiveSpec {
    CollectiveSpec { collective, algorithm, bytes: BYTES, chunks: 1, group: 2, root: 0, skew: 0.0 }
}

pub fn every() -> Vec<CollectiveSpec> {
    use Collective::{
        AllGather, AllReduce, AllToAll, Barrier, Broadcast, Reduce, ReduceScatter, SendReceive,
    };
    let all = [AllReduce, ReduceScatter, AllGather, AllToAll, Broadcast, Reduce, Barrier, SendReceive];
    let without_units = |how: &&Algorithm| **how != Algorithm::InNetwork;
    let of = |one: Collective| one.algorithms().iter().filter(without_units).map(move |&how| spec(one, how));
    all.into_iter().flat_map(of).collect()
}

fn sent(outcome: &Outcome) -> Vec<u64> {
    outcome.ranks.iter().map(|rank| rank.counts().bytes_sent).collect()
}

/// Total time of consecutive steps with these bytes.
fn steps(bytes: impl IntoIterator<Item = u64>) -> Time {
    let each = bytes.into_iter().map(|bytes| FABRIC.latency + Time::from_ps(bytes * FABRIC.ps_per_byte));
    each.fold(Time::ZERO, |sum, one| sum + one)
}

fn once(spec: &CollectiveSpec, n: u32) -> Outcome {
    let outcome = run(spec, n, JobCosts::default(), 1, &FABRIC);
    assert!(outcome.ranks.iter().all(|rank| rank.is_done()), "{spec:?} of {n} ranks does not end");
    outcome
}

fn log2_ceil(n: u32) -> u32 {
    n.next_power_of_two().ilog2()
}

#[test]
fn bytes_and_times_are_those_of_the_table() {
    for n in SIZES {
        let (s, each) = (BYTES, BYTES / u64::from(n));
        let peers = u64::from(n - 1);
        let same = |bytes: u64| vec![bytes; n as usize];
        let check = |collective, algorithm, bytes: u64, time: Time| {
            let outcome = once(&spec(collective, algorithm), n);
            assert_eq!(sent(&outcome), same(bytes), "{collective:?} {algorithm:?} of {n}");
            assert_eq!(outcome.end, time, "{collective:?} {algorithm:?} of {n}");
        };
        let ring = || steps((0..peers).map(|_| each));
        check(Collective::ReduceScatter, Algorithm::Ring, peers * each, ring());
        check(Collective::AllGather, Algorithm::Ring, peers * each, ring());
        check(Collective::AllReduce, Algorithm::Ring, 2 * peers * each, ring() * 2);
        check(Collective::AllToAll, Algorithm::Shifted, peers * each, ring());
        let rounds = u64::from(log2_ceil(n));
        check(Collective::Barrier, Algorithm::Dissemination, 0, FABRIC.latency * rounds);
        if n.is_power_of_two() {
            let halves: Vec<u64> = (1..=n.ilog2()).map(|k| s >> k).collect();
            let half = steps(halves.iter().copied());
            check(Collective::ReduceScatter, Algorithm::HalvingDoubling, peers * each, half);
            check(Collective::AllGather, Algorithm::HalvingDoubling, peers * each, half);
            check(Collective::AllReduce, Algorithm::HalvingDoubling, 2 * peers * each, half * 2);
            let doubling = steps((0..rounds).map(|_| s));
            check(Collective::AllReduce, Algorithm::RecursiveDoubling, rounds * s, doubling);
            let bruck = steps((0..rounds).map(|_| s / 2));
            check(Collective::AllToAll, Algorithm::Bruck, rounds * s / 2, bruck);
        }
    }
}

#[test]
fn ranks_beyond_a_power_of_two_are_folded() {
    for n in SIZES.into_iter().filter(|n| !n.is_power_of_two()) {
        let (s, p) = (BYTES, 1u64 << n.ilog2());
        let surplus = u64::from(n) - p;
        let halving = once(&spec(Collective::AllReduce, Algorithm::HalvingDoubling), n);
        let doubling = once(&spec(Collective::AllReduce, Algorithm::RecursiveDoubling), n);
        for rank in 0..u64::from(n) {
            let (folded, stands) = (rank < 2 * surplus && rank % 2 == 0, rank < 2 * surplus && rank % 2 == 1);
            let own = |inner: u64| if folded { s } else { inner + if stands { s } else { 0 } };
            assert_eq!(sent(&halving)[rank as usize], own(2 * (p - 1) * s / p), "rank {rank} of {n}");
            assert_eq!(sent(&doubling)[rank as usize], own(u64::from(p.ilog2()) * s), "rank {rank} of {n}");
        }
        // A partner that is not folded with another rank starts at once, so that its messages overlap with the fold and
        // share links.
        let halves = steps((1..=p.ilog2()).map(|k| s >> k)) * 2 + steps([s, s]);
        let whole = steps((0..p.ilog2() + 2).map(|_| s));
        for (took, expected) in [(halving.end, halves), (doubling.end, whole)] {
            let least = Time::from_ps(expected.ps() - 2 * FABRIC.latency.ps());
            assert!(took >= least && took <= expected + steps([s]), "{n}: {took}, not {expected}");
        }
    }
}

#[test]
fn trees_send_what_their_edges_carry() {
    for n in SIZES {
        let log2 = log2_ceil(n);
        for (collective, algorithm) in
            [(Collective::Broadcast, Algorithm::Binomial), (Collective::Reduce, Algorithm::Binomial)]
        {
            let outcome = once(&spec(collective, algorithm), n);
            let all = sent(&outcome);
            assert_eq!(all.iter().sum::<u64>(), u64::from(n - 1) * BYTES, "{n}");
            if collective == Collective::Broadcast {
                assert_eq!(all[0], u64::from(log2) * BYTES);
            }
            let most = steps((0..log2).map(|_| BYTES));
            assert!(outcome.end <= most && outcome.end >= steps([BYTES]), "{n}: {} {most}", outcome.end);
            assert!(!n.is_power_of_two() || outcome.end == most, "{n}: {} {most}", outcome.end);
        }
        let trees = CollectiveSpec { chunks: 64, ..spec(Collective::AllReduce, Algorithm::DoubleTree) };
        let outcome = once(&trees, n);
        let all = sent(&outcome);
        assert_eq!(all.iter().sum::<u64>(), 2 * u64::from(n - 1) * BYTES, "{n}");
        // Each rank is an inner node of one tree and a leaf of the other: at most 2 S, and 2 (n - 1)/n S on average.
        assert!(all.iter().all(|&own| own <= 2 * BYTES), "{n}: {all:?}");
        let piece = FABRIC.latency + Time::from_ps(BYTES / 128 * FABRIC.ps_per_byte);
        let wire = Time::from_ps(2 * BYTES * FABRIC.ps_per_byte);
        let most = wire + piece * (2 * u64::from(log2) + 4) * 2;
        assert!(
            outcome.end >= Time::from_ps(wire.ps() / u64::from(n) * u64::from(n - 1)),
            "{n}: {}",
            outcome.end
        );
        assert!(outcome.end <= most, "{n}: {} of {most}", outcome.end);
        // A chain of n - 1 hops, with many pieces.
        let ring = CollectiveSpec { chunks: 64, ..spec(Collective::Broadcast, Algorithm::Ring) };
        let expected =
            steps([BYTES / 64]) * u64::from(n - 1) + Time::from_ps(63 * BYTES / 64 * FABRIC.ps_per_byte);
        assert_eq!(once(&ring, n).end, expected, "{n}");
    }
}

#[test]
fn a_hierarchy_sends_little_across_groups() {
    for (m, groups) in [(2, 2), (2, 3), (4, 2), (4, 4), (8, 3)] {
        let n = m * groups;
        let own = CollectiveSpec { group: m, ..spec(Collective::AllReduce, Algorithm::Hierarchical) };
        let outcome = once(&own, n);
        let (each, rail) = (BYTES / u64::from(m), BYTES / u64::from(m) / u64::from(groups));
        let within = 2 * u64::from(m - 1) * each;
        let across = 2 * u64::from(groups - 1) * rail;
        assert_eq!(sent(&outcome), vec![within + across; n as usize], "{m} x {groups}");
        for (rank, state) in (0..n).zip(&outcome.ranks) {
            let outside = state.peers().filter(|(peer, _)| peer / m != rank / m).map(|(_, own)| own.bytes);
            assert_eq!(outside.sum::<u64>(), across, "{m} x {groups}");
        }
        let time = steps((0..m - 1).map(|_| each)) * 2 + steps((0..groups - 1).map(|_| rail)) * 2;
        assert_eq!(outcome.end, time, "{m} x {groups}");
    }
}

#[test]
fn a_burst_fills_the_nics_and_skew_the_popular_one() {
    for n in SIZES {
        let each = BYTES / u64::from(n);
        let burst = once(&spec(Collective::AllToAll, Algorithm::Burst), n);
        assert_eq!(sent(&burst), vec![u64::from(n - 1) * each; n as usize]);
        let wire = Time::from_ps(u64::from(n - 1) * each * FABRIC.ps_per_byte);
        assert_eq!(burst.end, FABRIC.latency + wire, "{n}");
        let skewed = CollectiveSpec { skew: 1.0, ..spec(Collective::AllToAll, Algorithm::Shifted) };
        let outcome = once(&skewed, n);
        let received: Vec<u64> = outcome.ranks.iter().map(|rank| rank.counts().bytes_received).collect();
        assert!(received.is_sorted_by(|a, b| a >= b), "{received:?}");
        let harmonic: f64 = (1..=n).map(|d| 1.0 / f64::from(d)).sum();
        let hot = f64::from(n - 1) * BYTES as f64 / harmonic;
        assert!((received[0] as f64 - hot).abs() < f64::from(n), "{} {hot}", received[0]);
        assert_eq!(sent(&outcome).iter().sum::<u64>(), received.iter().sum::<u64>());
    }
}

#[test]
fn a_fixed_cost_of_10_us_per_128_kib_is_13_gigabytes_a_second_on_any_network() {
    for ps_per_byte in [10, 20, 40, 60] {
        let messages = 4_096;
        let stream = CollectiveSpec {
            bytes: messages * (128 << 10),
            chunks: messages as u32,
            ..spec(Collective::SendReceive, Algorithm::Pipeline)
        };
        let costs = JobCosts { overhead: Time::from_us(10), ..JobCosts::default() };
        let fabric = Ideal { ps_per_byte, latency: Time::from_us(2) };
        let outcome = run(&stream, 2, costs, 1, &fabric);
        let rate = stream.bytes as f64 / outcome.end.as_secs_f64() / 1e9;
        assert!((rate - 13.107).abs() < 0.02, "{rate} GB/s at {ps_per_byte} ps/B");
        assert_eq!(outcome.ranks[0].counts().overhead, Time::from_us(10) * messages);
    }
}

#[test]
fn iterations_follow_each_other_and_computation_is_exposed() {
    let compute = Time::from_us(50);
    let ring = spec(Collective::AllReduce, Algorithm::Ring);
    let one = once(&ring, 4).end;
    let own = (JobCosts::default(), Computation::each(compute));
    let outcome = run_with(&ring, 4, own, 3, &FABRIC);
    assert_eq!(outcome.end, (one + compute) * 3);
    for rank in &outcome.ranks {
        assert_eq!((rank.times().len(), rank.counts().computed), (3, compute * 3));
        assert!(rank.times().iter().all(|own| own.computed == own.began + compute));
        assert!(rank.times().iter().all(|own| own.computing == compute));
    }
}

/// Checks that the messages of a workload match. Returns, for each rank, the bit set of the ranks whose data has
/// reached it.
fn knowledge(spec: &CollectiveSpec, n: u32) -> Vec<u64> {
    knowledge_of(&spec.start(n), (spec, n))
}

/// Variant of [`knowledge`] for a workload of `n` ranks and units.
pub fn knowledge_of(workload: &Generated, (spec, n): (&CollectiveSpec, u32)) -> Vec<u64> {
    let lanes = workload.lanes();
    let mut at = vec![0u32; (n * lanes) as usize];
    let mut known: Vec<u64> = (0..n * lanes).map(|place| 1 << (place / lanes)).collect();
    let mut flying: BTreeMap<(u32, u32, u32), VecDeque<(u64, u64)>> = BTreeMap::new();
    loop {
        let mut moved = false;
        for place in 0..n * lanes {
            let (rank, lane, own) = (place / lanes, place % lanes, place as usize);
            while let Some(action) = workload.action(rank, lane, at[own]) {
                match action {
                    Action::Send { to, bytes, tag } => {
                        assert!(to < n && to != rank, "{spec:?}: rank {rank} of {n} sends to {to}");
                        flying.entry((rank, to, tag)).or_default().push_back((bytes, known[own]));
                    }
                    Action::Receive { from, bytes, tag } => {
                        let Some((sent, what)) =
                            flying.get_mut(&(from, rank, tag)).and_then(VecDeque::pop_front)
                        else {
                            break;
                        };
                        assert_eq!(sent, bytes, "{spec:?}: {from} to {rank} of {n}, tag {tag}");
                        known[own] |= what;
                    }
                    Action::AwaitSends | Action::Compute { .. } => {}
                }
                at[own] += 1;
                moved = true;
            }
        }
        if !moved {
            break;
        }
    }
    assert!(flying.values().all(VecDeque::is_empty), "{spec:?}: messages of {n} ranks are not received");
    let ended = (0..n * lanes)
        .all(|place| workload.action(place / lanes, place % lanes, at[place as usize]).is_none());
    assert!(ended, "{spec:?} of {n} ranks does not end");
    let of_rank = |rank: u32| (0..lanes).map(move |lane| (rank * lanes + lane) as usize);
    (0..n).map(|rank| of_rank(rank).fold(u64::MAX, |all, place| all & known[place])).collect()
}

#[test]
fn each_rank_ends_with_something_of_each_other() {
    for n in 2..=33u32 {
        let all = (1u64 << n) - 1;
        for own in every() {
            let groups = n.is_multiple_of(2) && n > 2;
            if own.algorithm == Algorithm::Hierarchical && !groups {
                continue;
            }
            // In a double tree of two lanes, each half ends with its data at all ranks.
            for (rank, known) in (0..n).zip(knowledge(&own, n)) {
                let expected = match own.collective {
                    Collective::Broadcast => 1 | 1 << rank | known,
                    Collective::Reduce if rank == 0 => all,
                    Collective::Reduce => known,
                    Collective::SendReceive => (1 << (rank + 1)) - 1,
                    _ => all,
                };
                assert_eq!(known, expected, "{own:?}: rank {rank} of {n}");
            }
        }
    }
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(300))]

    /// Covers numbers of bytes that the number of ranks does not divide, several chunks, and any root.
    #[test]
    fn messages_match_whatever_the_bytes(
        nth in 0usize..100, n in 2u32..20, bytes in 0u64..5_000, chunks in 1u32..7, root in 0u32..20, skew in 0.0f64..3.0,
    ) {
        let all = every();
        let mut own = all[nth % all.len()];
        (own.bytes, own.chunks, own.root, own.skew) = (bytes, chunks, root % n, skew);
        let n = if own.algorithm == Algorithm::Hierarchical { 2 * n } else { n };
        knowledge(&own, n);
        let outcome = run(&own, n, JobCosts { overhead: Time::from_ns(7), ..JobCosts::default() }, 2, &FABRIC);
        prop_assert!(outcome.ranks.iter().all(|rank| rank.is_done()));
        let counts: Vec<_> = outcome.ranks.iter().map(|rank| rank.counts()).collect();
        let sent: u64 = counts.iter().map(|own| own.bytes_sent).sum();
        prop_assert_eq!(sent, counts.iter().map(|own| own.bytes_received).sum::<u64>());
    }
}
