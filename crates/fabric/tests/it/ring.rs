//! MPI ranks in a ring: their steps wait for each other across connections and hosts.

use crate::common::*;
use fabric::spec::SwitchSpec;
use frame::NodeId;
use queueing::BufferSpec;
use std::sync::Arc;
use transport::{Application, ConnectionSpec, MpiExchangeSpec, TcpPreset, Transport};
use units::{Amount, Bytes, Time};

/// Hosts at a switch and their exchange. The link of the first host has a tenth of the rate if `slow`.
fn net(hosts: usize, slow: bool, exchange: &MpiExchangeSpec) -> Net {
    let mut net = Net::new(Time::from_ms(20));
    let nodes: Vec<NodeId> = (0..hosts).map(|n| net.host(&format!("h{n}"), host())).collect();
    let buffer = BufferSpec { queue: Some(Amount::Frames(100)), ..BufferSpec::default() };
    let sw = net.switch("sw", SwitchSpec { buffer, ..switch() });
    for (n, &node) in nodes.iter().enumerate() {
        net.link(node, sw, gbps(if slow && n == 0 { 1 } else { 10 }), ns(100));
    }
    let application = Application::MpiExchange(Arc::new(exchange.clone()));
    let connection = Arc::new(ConnectionSpec { start: Time::ZERO, stop: None, application });
    for n in 0..hosts {
        let to = nodes[(n + 1) % hosts];
        let flow = net.flow(&format!("r{n}"), nodes[n], 0, greedy(to, 1_522, Time::ZERO));
        flow.transport = Some(connection.clone());
    }
    net
}

fn exchange(message: u64, copy: Option<Time>) -> MpiExchangeSpec {
    let tcp = TcpPreset::Datacenter.keys().sized(Some(Bytes::new(0)), 1_522, 64).unwrap();
    MpiExchangeSpec { message, eager: 64 << 10, steps: None, copy, transport: Transport::Tcp(Arc::new(tcp)) }
}

/// Mean time of a step, and number of steps, of each host.
fn steps(outcome: &Outcome, hosts: usize) -> Vec<(f64, u64)> {
    let names = (0..hosts).map(|n| format!("r{n}"));
    let of = |name: &str| {
        (
            outcome.real("connections", name, "exchange_mean_ns"),
            outcome.count("connections", name, "exchanges"),
        )
    };
    names.map(|name| of(&name)).collect()
}

#[test]
fn one_slow_rank_slows_all() {
    for copy in [None, Some(us(1))] {
        let exchange = exchange(10_000, copy);
        let (even, slow) = (net(6, false, &exchange).run(), net(6, true, &exchange).run());
        let (even, slow) = (steps(&even, 6), steps(&slow, 6));
        // 10 kB twice at 1 Gb/s are 164 us; a neighbour is at most one step ahead.
        let least = if copy.is_some() { 82_000.0 } else { 164_000.0 };
        assert!(slow.iter().all(|it| it.0 > least), "{slow:?}");
        assert!(even.iter().all(|it| it.0 < 60_000.0), "{even:?}");
        for steps in [even, slow] {
            let (fewest, most) = (steps.iter().map(|it| it.1).min(), steps.iter().map(|it| it.1).max());
            assert!(most.unwrap() - fewest.unwrap() <= 6, "{steps:?}");
        }
    }
}

#[test]
fn a_copy_through_memory_may_take_longest() {
    let outcome = net(4, false, &exchange(0, Some(us(100)))).run();
    for (mean, count) in steps(&outcome, 4) {
        assert_eq!((mean, count), (100_000.0, 199));
    }
}

#[test]
fn the_same_on_several_threads() {
    for message in [100, 100_000] {
        let net = net(5, true, &exchange(message, Some(us(3))));
        let one = net.run();
        assert!(steps(&one, 5).iter().all(|it| it.1 > 5), "{:?}", steps(&one, 5));
        net.assert_threads_agree(&one);
    }
}

#[test]
fn applications_are_told_apart_by_their_descriptions() {
    // Two rings among one set of hosts: each has its own steps.
    let (fast, slow) = (exchange(100, None), exchange(50_000, None));
    let mut both = net(3, false, &fast);
    let other = net(3, false, &slow);
    for (n, flow) in other.0.flows.into_iter().enumerate() {
        both.0.flows.push(fabric::spec::FlowSpec { name: format!("s{n}"), ..flow });
    }
    let outcome = both.run();
    let count = |name| outcome.count("connections", name, "exchanges");
    assert!(count("r0") > 4 * count("s0") && count("s0") > 10, "{} {}", count("r0"), count("s0"));
}
