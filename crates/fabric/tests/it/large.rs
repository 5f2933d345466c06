//! Large fabrics: many hosts with many connections, and the cost of idle ones.

use crate::common::*;
use fabric::choice::PathChoice;
use fabric::spec::{HostSpec, SwitchSpec};
use fabric::topology::{Cable, FatTree, NodeRole, Shape, Star};
use fabric::{Simulation, State};
use frame::NodeId;
use std::sync::Arc;
use transport::{Application, ConnectionSpec, ControllerSpec, FixedWindowParams, WindowSpec};
use units::{Amount, Time};

const CABLE: Cable = Cable::new(gbps(10), ns(100));

fn window(start: Time) -> Arc<ConnectionSpec> {
    let window = WindowSpec {
        bytes: None,
        segment: 1000,
        controller: ControllerSpec::FixedWindow(FixedWindowParams { size: Amount::Frames(4) }),
        ack_bytes: 64,
        ack_every: 1,
        ack_delay: Time::ZERO,
        timeout: None,
        ecn_capable: false,
    };
    Arc::new(ConnectionSpec { start, stop: None, application: Application::Window(window) })
}

fn net(
    graph: &fabric::topology::Graph,
    duration: Time,
    spec: &SwitchSpec,
    host: &HostSpec,
) -> (Net, Vec<NodeId>) {
    let mut net = Net::new(duration);
    for node in &graph.nodes {
        match node.role {
            NodeRole::Host => net.host(&node.name, host.clone()),
            NodeRole::Switch => net.switch(&node.name, spec.clone()),
        };
    }
    for link in &graph.links {
        net.link(link.a, link.b, link.rates[0], link.delay);
    }
    (net, graph.hosts().collect())
}

/// 100,000 connections, of which four are active: the others take memory but no events.
#[test]
fn a_host_with_100_000_idle_endpoints() {
    let graph = Star::new(64, CABLE).graph().unwrap();
    let run = |connections: usize| {
        let (mut net, hosts) = net(&graph, us(200), &switch(), &host());
        for nth in 0..connections {
            // Start after the end of the run, for all but the first connections.
            let start = if nth < 4 { Time::ZERO } else { us(1_000) };
            let flow =
                net.flow(&format!("c{nth}"), hosts[0], 0, greedy(hosts[1 + nth % 63], 1000, Time::ZERO));
            flow.transport = Some(window(start));
        }
        let mut simulation = Simulation::new(&net.0).unwrap();
        while simulation.advance(u64::MAX).unwrap() == State::Running {}
        (simulation.events(), simulation.memory_bytes())
    };
    let ((few, small), (many, large)) = (run(4), run(100_000));
    // A window that opens after the end of the run requests a call at that time, which does not take place.
    assert_eq!(few, many);
    // A connection takes 2,054 B, of which 32 B are for the time for which pauses held each end.
    assert!((large - small) / 100_000 < 2_080, "{} B a connection", (large - small) / 100_000);
}

/// Every host of a fat tree of 1,024 sends to another over sprayed paths: equal results on one thread and on several.
#[test]
fn spraying_and_connections_on_1_024_hosts() {
    let graph = FatTree::new(16, CABLE).graph().unwrap();
    let spec = SwitchSpec { path_choice: PathChoice::Spray, flow_control: Some(pfc(1).into()), ..switch() };
    let obeys = HostSpec { flow_control: Some(pfc(1).into()), ..host() };
    // A round trip takes 6.6 us, so all connections send more than one window.
    let (mut net, hosts) = net(&graph, us(14), &spec, &obeys);
    for (nth, &from) in hosts.iter().enumerate() {
        let to = hosts[(nth + 517) % hosts.len()];
        net.flow(&format!("c{nth}"), from, 0, greedy(to, 1000, Time::ZERO)).transport =
            Some(window(Time::ZERO));
    }
    let once = net.run();
    // More than one window per connection.
    assert!(once.total("flows", "frames_delivered") > 4 * 1_024);
    assert_eq!(once.total("drops", "frames"), 0);
    net.assert_threads_agree(&once);
}
