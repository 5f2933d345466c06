//! Memory of a flow and of an idle queue, as counted by the allocator, and its agreement with the memory that the
//! fabric reports. Published in docs/performance.md.
//!
//! This file has only one test, because the counter covers the whole process.

mod common;
mod counting;

use common::*;
use counting::in_use;
use fabric::Simulation;
use fabric::spec::SwitchSpec;
use frame::ClassMap;
use units::{BitRate, Time};
use workload::{Arrivals, ConstantParams, SourceSpec};

/// A star of `hosts` senders at 1 % of the link rate, with `flows` each; `classes` are those of the switch. Returns the
/// bytes in use after a while, including the description, and the bytes that the simulation reports.
fn bytes(hosts: usize, flows: usize, classes: ClassMap) -> (usize, usize) {
    let before = in_use();
    let mut net = Net::new(us(3_000));
    net.0.probes.bin = None;
    net.0.probes.pauses = false;
    let to = net.host("to", host());
    let sw = net.switch("sw", SwitchSpec { classes, ..switch() });
    net.link(to, sw, gbps(100), ns(500));
    let rate = BitRate::from_bps(100_000_000 / flows as u64);
    let arrivals = Arrivals::Constant(ConstantParams { rate, random_phase: true });
    for at in 0..hosts {
        let from = net.host(&format!("h{at}"), host());
        net.link(from, sw, gbps(10), ns(500));
        for flow in 0..flows {
            let source = SourceSpec { arrivals: arrivals.clone(), limit: None, ..one(to, 1000, Time::ZERO) };
            net.flow(&format!("f{at}.{flow}"), from, 0, source);
        }
    }
    let mut simulation = Simulation::new(&net.0).expect("builds");
    drop(net);
    simulation.run().expect("nothing is lost");
    (in_use() - before, simulation.memory_bytes())
}

#[test]
fn a_flow_takes_a_kilobyte_and_an_idle_queue_192_bytes() {
    let (few, reported_few) = bytes(20, 20, ClassMap::SHARED);
    let (many, reported_many) = bytes(20, 60, ClassMap::SHARED);
    let flow = (many - few) / 800;
    assert!(flow <= 1_000, "{flow} B a flow {}", (reported_many - reported_few) / 800);
    // The memory that the simulation reports excludes the description of the flow, with its names.
    let reported = (reported_many - reported_few) / 800;
    assert!(reported <= flow && flow <= 2 * reported, "{reported} B a flow reported, {flow} B taken");
    // A number of ports with one queue each, and with eight, of which seven stay idle.
    let (one, reported_one) = bytes(60, 1, ClassMap::SHARED);
    let (eight, reported_eight) = bytes(60, 1, ClassMap::SEPARATE);
    let queues = 7 * 61;
    let (queue, reported) = ((eight - one) / queues, (reported_eight - reported_one) / queues);
    assert!(queue <= 192, "{queue} B an idle queue");
    assert_eq!(queue, reported, "memory of a queue");
    #[expect(
        clippy::print_stdout,
        reason = "`cargo test -p fabric --test sizes -- --nocapture` prints what is published"
    )]
    {
        println!("{flow} B a flow, {queue} B an idle queue");
    }
}
