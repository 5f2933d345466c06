//! Memory of a connection over TCP and of a queue pair, idle and active. A running TCP connection allocates no memory.
//! Published in docs/tcp.md and docs/performance.md.
//!
//! This file has only one test, because the counter covers the whole process.

mod common;
mod counting;

use common::*;
use counting::{allocated, in_use};
use fabric::spec::SwitchSpec;
use fabric::{Simulation, State};
use queueing::BufferSpec;
use std::sync::Arc;
use transport::{
    Application, ConnectionSpec, DcqcnPreset, QueuePair, RdmaControlKeys, RdmaKeys, RdmaReceiver, RdmaSender,
    TcpKeys, TcpPreset, TcpSender,
};
use units::{Amount, Bytes, Time};

/// Ten hosts with this many connections each to one host. Idle connections start after the end of the run.
fn net(connections: usize, start: Time, application: &Application) -> Net {
    let mut net = Net::new(us(40_000));
    net.0.probes.bin = None;
    net.0.probes.pauses = false;
    let to = net.host("to", host());
    let buffer = BufferSpec { queue: Some(Amount::Frames(500)), ..BufferSpec::default() };
    let sw = net.switch("sw", SwitchSpec { buffer, ..switch() });
    net.link(to, sw, gbps(10), us(1));
    for at in 0..10 {
        let from = net.host(&format!("h{at}"), host());
        net.link(from, sw, gbps(10), us(1));
        for n in 0..connections {
            let flow = net.flow(&format!("f{at}.{n}"), from, 0, greedy(to, 1_522, start));
            let application = application.clone();
            flow.transport = Some(Arc::new(ConnectionSpec { start, stop: None, application }));
        }
    }
    net
}

fn tcp() -> Application {
    let keys = TcpKeys { min_timeout: us(1_000), initial_timeout: us(1_000), ..TcpPreset::Rfc.keys() };
    Application::Tcp(Arc::new(keys.sized(None, 1_522, 64).unwrap()))
}

/// A queue pair with DCQCN, for a message of 20 kB.
fn rdma() -> Application {
    let control = RdmaControlKeys::Dcqcn(DcqcnPreset::Paper.keys());
    Application::Rdma(
        RdmaKeys { control, ..RdmaKeys::default() }.carrier(Some(Bytes::new(20_000)), 1_522).unwrap().0,
    )
}

/// Bytes in use after a run, excluding the description.
fn bytes(connections: usize, start: Time, application: &Application) -> usize {
    let net = net(connections, start, application);
    let before = in_use();
    let mut simulation = Simulation::new(&net.0).expect("builds");
    simulation.run().expect("nothing but what may be lost");
    in_use() - before
}

/// Memory of a connection other than its transport's state machines: the states of both endpoints (240 B each, of which
/// 96 B are the endpoint, with a TCP receiver in it), its source (320 B) and its arrival counter (128 B). The other 498
/// B are the copy of its description in the simulation, its entries in the tables of paths and events, and a tenth of a
/// host with its link.
const EACH: usize = 1_426;

/// Memory of a queue pair with a message, other than the pair itself: its clocks (144 B), the message (56 B), its clock
/// (120 B) and its result (96 B), its state at the receiver (232 B), its entry among those of the sender (24 B), and
/// the capacity of these queues, which start with four entries when they grow. 24 B are measured but not explained:
/// messages of jobs and entropy values were added, and the pair itself became smaller.
const PAIR: usize = 776;

#[test]
fn a_connection_takes_two_kilobytes_and_asks_for_no_more() {
    let each = |start, application: &Application| {
        (bytes(60, start, application) - bytes(20, start, application)) / 400
    };
    let (idle, active) = (each(us(50_000), &tcp()), each(Time::ZERO, &tcp()));
    let (idle_pair, active_pair) = (each(us(50_000), &rdma()), each(Time::ZERO, &rdma()));
    assert!(idle <= EACH + size_of::<TcpSender>(), "{idle} B an idle connection");
    assert!(active <= idle + 120, "{active} B an active connection");
    let own = size_of::<RdmaSender>() + size_of::<RdmaReceiver>();
    assert!(idle_pair <= EACH + own, "{idle_pair} B an idle queue pair");
    assert!(active_pair <= idle_pair + size_of::<QueuePair>() + PAIR, "{active_pair} B an active queue pair");
    // 100 connections share one link, with losses, repairs and timeouts.
    let net = net(10, Time::ZERO, &tcp());
    let mut simulation = Simulation::new(&net.0).expect("builds");
    while simulation.now() < us(20_000) {
        assert_eq!(simulation.advance(1_000), Ok(State::Running));
    }
    let (before, events) = (allocated().0, simulation.events());
    // In one step: test builds check invariants after each step, which allocates.
    assert_eq!(simulation.advance(55_000), Ok(State::Running));
    let (calls, events) = (allocated().0 - before, simulation.events() - events);
    assert!(events > 50_000, "{events} events are too few to tell");
    assert!(calls * 500 < events, "{calls} allocations in {events} events");
    #[expect(clippy::print_stdout, reason = "what it takes, where someone asks")]
    {
        println!("{idle_pair} B an idle queue pair, {active_pair} B an active one");
        println!(
            "{idle} B an idle connection, {active} B an active one; {calls} allocations in {events} events"
        );
    }
}
