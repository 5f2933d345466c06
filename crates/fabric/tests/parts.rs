//! Memory does not grow with the number of threads: each thread holds only the nodes that it runs.
//!
//! This file has only one test, because the counter covers the whole process.

mod common;
mod counting;

use common::*;
use counting::most_in_use;
use fabric::spec::Spec;
use fabric::{Simulation, State};
use units::{BitRate, Time};
use workload::{Arrivals, ConstantParams, Destinations, SourceSpec};

/// A fat tree under PFC, whose hosts all send at half of their rate.
fn fat_tree(k: u64, to: impl Fn(usize, &[frame::NodeId]) -> Destinations) -> Spec {
    let (mut net, hosts) = fat_tree_under_pfc(k, us(60));
    let arrivals = Arrivals::Constant(ConstantParams { rate: BitRate::from_gbps(5), random_phase: true });
    for (nth, &from) in hosts.iter().enumerate() {
        let destinations = to(nth, &hosts);
        let source = SourceSpec {
            arrivals: arrivals.clone(),
            limit: None,
            destinations,
            ..one(from, 1000, Time::ZERO)
        };
        net.flow(&format!("f{nth}"), from, 0, source);
    }
    net.0
}

/// Maximum memory allocated to build and run the simulation, the memory that the simulation reports at its end, and its
/// fingerprint.
fn memory(spec: &Spec, threads: usize) -> (usize, usize, u64) {
    let run = || {
        let mut simulation = Simulation::on_threads(spec, threads).unwrap();
        while simulation.advance(u64::MAX).unwrap() == State::Running {}
        (simulation.memory_bytes(), simulation.fingerprint())
    };
    let ((reported, fingerprint), taken) = most_in_use(run);
    (taken, reported, fingerprint)
}

#[test]
fn two_threads_take_at_most_a_tenth_more_memory_than_one() {
    // One path per host, and one to each other host.
    let half_round = fat_tree(16, |nth, hosts| Destinations::Fixed(hosts[(nth + 512) % hosts.len()]));
    let uniform = fat_tree(8, |nth, hosts| {
        Destinations::Uniform(hosts.iter().copied().filter(|&to| to != hosts[nth]).collect())
    });
    for (what, spec) in [("half round, k = 16", half_round), ("uniform, k = 8", uniform)] {
        let (taken, reported, fingerprint) = memory(&spec, 1);
        for threads in [2, 3] {
            let (taken_by_all, reported_by_all, same) = memory(&spec, threads);
            assert_eq!(same, fingerprint);
            // A tenth more for each thread beyond the first.
            let most = |one: usize| one / 10 * (9 + threads);
            assert!(
                taken_by_all <= most(taken),
                "{what}: {taken} B on one thread, {taken_by_all} on {threads}"
            );
            assert!(
                reported_by_all <= most(reported),
                "{what}: {reported} B reported on one thread, {reported_by_all} on {threads}"
            );
        }
    }
}
