//! What a connection over TCP takes, idle and active, and that it asks for no memory once it runs. Published in
//! docs/tcp.md.
//!
//! One test only: the counter is the process's.

mod common;
mod counting;

use common::*;
use counting::{asked, in_use};
use fabric::spec::SwitchSpec;
use fabric::{Simulation, State};
use queueing::BufferSpec;
use std::sync::Arc;
use transport::{Application, ConnectionSpec, TcpKeys, TcpPreset};
use units::{Amount, Time};

/// So many connections of each of ten hosts to one. Those that are idle begin after the end.
fn net(connections: usize, start: Time) -> Net {
    let mut net = Net::new(us(40_000));
    net.0.probes.bin = None;
    net.0.probes.pauses = false;
    let to = net.host("to", host());
    let buffer = BufferSpec { queue: Some(Amount::Frames(500)), ..BufferSpec::default() };
    let sw = net.switch("sw", SwitchSpec { buffer, ..switch() });
    net.link(to, sw, gbps(10), us(1));
    let keys = TcpKeys { min_timeout: us(1_000), initial_timeout: us(1_000), ..TcpPreset::Rfc.keys() };
    let spec = Arc::new(keys.sized(None, 1_522, 64).unwrap());
    for at in 0..10 {
        let from = net.host(&format!("h{at}"), host());
        net.link(from, sw, gbps(10), us(1));
        for n in 0..connections {
            let flow = net.flow(&format!("f{at}.{n}"), from, 0, greedy(to, 1_522, start));
            let application = Application::Tcp(spec.clone());
            flow.transport = Some(Arc::new(ConnectionSpec { start, stop: None, application }));
        }
    }
    net
}

/// Bytes in use after a run, without the description.
fn bytes(connections: usize, start: Time) -> usize {
    let net = net(connections, start);
    let before = in_use();
    let mut simulation = Simulation::new(&net.0).expect("builds");
    simulation.run().expect("nothing but what may be lost");
    in_use() - before
}

#[test]
fn a_connection_takes_two_kilobytes_and_asks_for_no_more() {
    let each = |start| (bytes(60, start) - bytes(20, start)) / 400;
    let (idle, active) = (each(us(50_000)), each(Time::ZERO));
    assert!(idle <= 1_920, "{idle} B an idle connection");
    assert!(active <= 2_048, "{active} B an active connection");
    // 100 connections share one link, with losses, repairs and timeouts.
    let net = net(10, Time::ZERO);
    let mut simulation = Simulation::new(&net.0).expect("builds");
    while simulation.now() < us(20_000) {
        assert_eq!(simulation.advance(1_000), Ok(State::Running));
    }
    let (before, events) = (asked().0, simulation.events());
    // In one step: test builds look over the books after each, for which they ask.
    assert_eq!(simulation.advance(55_000), Ok(State::Running));
    let (calls, events) = (asked().0 - before, simulation.events() - events);
    assert!(events > 50_000, "{events} events are too few to tell");
    assert!(calls * 500 < events, "{calls} allocations in {events} events");
    #[expect(clippy::print_stdout, reason = "what it takes, where someone asks")]
    {
        println!(
            "{idle} B an idle connection, {active} B an active one; {calls} allocations in {events} events"
        );
    }
}
