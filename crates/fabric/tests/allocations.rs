//! A fabric that has warmed up runs without allocating memory.
//!
//! Events, queued frames and pauses reuse the memory of earlier ones. The exception is a latency in an octave above all
//! earlier ones, which lengthens a histogram: at most once per octave, and therefore less and less often.
//!
//! This file has only one test, because the counter covers the whole process.

mod common;
mod counting;

use common::*;
use counting::allocated;
use fabric::spec::{HostSpec, Role};
use fabric::{Simulation, State};
use std::sync::Arc;
use units::{BitRate, Time};
use workload::{Arrivals, ConstantParams, SourceSpec};

/// A fat-tree of 16 hosts at 10 Gb/s under PFC. Each host sends to the one half way round at 40 % of the link, and four
/// of them also send to host 0 at 40 %, which overloads it: pauses start and end all the time.
fn fat_tree() -> Net {
    let (mut net, hosts) = fat_tree_under_pfc(4, us(45_000));
    let rate = BitRate::from_gbps(4);
    let arrivals = Arrivals::Constant(ConstantParams { rate, random_phase: true });
    for (i, &from) in hosts.iter().enumerate() {
        let to = hosts[(i + 8) % 16];
        let source = SourceSpec { arrivals: arrivals.clone(), limit: None, ..one(to, 1000, Time::ZERO) };
        net.flow(&format!("f{i}"), from, 0, source);
    }
    for &from in &hosts[4..8] {
        // Greedy, so that its queue in the NIC is bounded while the sender is held back.
        net.flow(&format!("g{}", from.0), from, 0, greedy(hosts[0], 1522, Time::ZERO));
    }
    // Paced sources also block when their NIC is full.
    for node in &mut net.0.nodes {
        if let Role::Host(host) = &node.role {
            let queue_limit = Some(units::Amount::Frames(20));
            node.role = Role::Host(Arc::new(HostSpec { queue_limit, ..(**host).clone() }));
        }
    }
    net
}

#[test]
fn the_steady_state_allocates_nothing_but_longer_histograms() {
    let net = fat_tree();
    let mut simulation = Simulation::new(&net.0).expect("builds");
    // Warmed up: all queues, heaps and buckets have reached their maximum sizes.
    while simulation.now() < us(12_000) {
        assert_eq!(simulation.advance(1_000), Ok(State::Running));
    }
    let (before, events) = (allocated(), simulation.events());
    while simulation.now() < us(44_000) {
        assert_eq!(simulation.advance(1_000), Ok(State::Running));
    }
    let (calls, bytes) = (allocated().0 - before.0, allocated().1 - before.1);
    let events = simulation.events() - events;
    assert!(events > 100_000, "{events} events are too few to tell");
    // A histogram is reallocated when it grows, by octaves of 32 bins of 2 B: rarely, for waits longer than all earlier
    // ones.
    assert!(calls * 50_000 < events, "{calls} allocations of {bytes} B in {events} events");
    assert_eq!(bytes % 64, 0, "{calls} allocations of {bytes} B are not histograms");
    simulation.run().expect("nothing is lost");
    let tables = simulation.tables();
    let ports = tables.iter().find(|table| table.spec.name == "ports").expect("ports");
    let sent = ports.columns.iter().find(|column| column.spec.name == "pauses_sent").expect("pauses");
    let measure::Values::Integer(sent) = &sent.values else { panic!("pauses are counted") };
    assert!(sent.iter().sum::<u64>() > 1_000, "the fabric was to be full of pauses");
}
