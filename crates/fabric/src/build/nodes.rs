//! Builds hosts and switches at time zero.

use super::{Part, Plan, bypass_classes};
use crate::build::headroom::{frame_bounds, receive_buffer};
use crate::build::whole::WHOLE;
use crate::run::fabric::Fabric;
use crate::run::state::architecture::{Architecture, NodeMemory};
use crate::run::state::crossbar::{Crossbar, SwitchFacts};
use crate::run::state::index::QueueIx;
use crate::run::state::ingress::IngressPort;
use crate::run::state::managed::Managed;
use crate::run::state::managers::{Assigned, Managers};
use crate::run::state::node::Node;
use crate::run::state::pause_sender::{PauseSender, PauseTiming};
use crate::run::state::port::PortFeatures;
use crate::run::state::receive::{ReceiverPoint, Receiving};
use crate::run::state::sharing::Sharing;
use crate::run::state::telemetry::PortTelemetry;
use crate::run::state::trimming::PortTrimming;
use crate::spec::routing::Wiring;
use crate::spec::{NodeSpec, Queueing, ReceiveSpec, Role, Spec, SwitchSpec, WhenFull, with_port};
use engine::{Timer, stream};
use flow_control::pfc::Levels;
use flow_control::tpfc::EgressCounter;
use flow_control::{Accounting, PauseKind, PauseSpec};
use frame::{ClassMap, NodeId, PRIORITIES, PointId, PortId, Priority};
use queueing::{
    BufferSpec, Configuration, LinkFacts, ManagerSpec, Measures, PoolsSpec, PortFacts, PortProfiles,
    RateConfiguration, SharedMemory,
};
use transport::ConnectionSpec;
use units::{Amount, BitRate, Bytes};

pub fn add_node(part: &Part, id: NodeId, node: &NodeSpec, fabric: &mut Fabric) {
    let plan = part.plan;
    let first_port = part.port(plan.wiring.first_port[id.at()]);
    let control = node.pauses();
    let buffer = buffer(node);
    // A NIC accounts received frames against its receive buffer.
    let own_control = match receive_buffer(node) {
        Some(_) => control.map(|control| PauseSpec {
            accounting: Accounting::Ingress,
            watermarks: None,
            target: None,
            ..control.clone()
        }),
        None => control.filter(|_| node.switch().is_some()).cloned(),
    };
    let pause_sender = own_control.as_ref().map(|control| {
        let ports: Vec<u32> = plan.wiring.ports(id).map(|port| port.0).collect();
        let by_ingress = control.accounting == Accounting::Ingress;
        let sender = PauseSender {
            spec: control.clone(),
            first_port,
            levels: if by_ingress {
                Vec::new()
            } else {
                ports.iter().map(|&port| plan.levels(control, None, port)).collect()
            },
            target: plan.target(id, control),
            timing: PauseTiming::new(control, ports.iter().map(|&port| plan.renewal(port)).collect()),
            searches: Vec::new(),
            egress: if by_ingress {
                Vec::new()
            } else {
                vec![EgressCounter::new(ports.len() as u32); ports.len() * PRIORITIES]
            },
            pause_counts: vec![0; ports.len() * PRIORITIES],
            renewals: vec![Timer::IDLE; ports.len()],
            random: stream(plan.spec.seed, &format!("node/{}/sampling", node.name)),
            ports: Vec::with_capacity(ports.len()),
        };
        fabric.pause_senders.push(sender, WHOLE)
    });
    fabric.nodes.push(
        Node {
            first_port,
            classes: node.classes(),
            is_host: node.host().is_some(),
            lossless: control.map_or(0, |control| control.kind.priorities()),
            returns_tags: returns_tags(node),
            pause_sender,
            architecture: architecture(
                part,
                id,
                node,
                NodeMemory::new(buffer, sharing(part, id, node), node.classes().classes()),
            ),
        },
        WHOLE,
    );
}

/// Selects the counters of queued frames that the ports of a node maintain.
pub fn mark_counted(part: &Part, id: NodeId, fabric: &mut Fabric) {
    for port in part.plan.wiring.ports(id).map(|port| part.port(port.0)) {
        let sender = fabric.pause_sender_of(port);
        let (counted, by_queue) = (sender.is_some(), sender.is_some_and(|sender| !sender.by_ingress()));
        let node = &fabric.nodes[fabric.node_of[port]];
        // A crossbar checks its limits where frames arrive.
        let bounded = node.memory().is_bounded() && node.architecture.crossbar().is_none();
        let features = &mut fabric.links.ports[port].features;
        features.set(PortFeatures::INGRESS_ACCOUNTING, counted);
        features.set(PortFeatures::EGRESS_ACCOUNTING, by_queue);
        features.set(PortFeatures::BOUNDED, bounded);
    }
}

/// Buffer limits of a node.
fn buffer(node: &NodeSpec) -> BufferSpec {
    match &node.role {
        Role::Host(host) if host.when_full == WhenFull::Drop => {
            BufferSpec { queue: host.queue_limit, ..BufferSpec::default() }
        }
        Role::Host(_) => BufferSpec::default(),
        Role::Switch(switch) => switch.buffer.clone(),
    }
}

/// Number of lists per queue: one; with virtual output queues one for each ingress port, and one for frames without an
/// ingress port.
pub fn voqs(node: &NodeSpec, ports: u64) -> u64 {
    let virtual_output = node.switch().is_some_and(|switch| switch.queueing == Queueing::VirtualOutput);
    if virtual_output { ports + 1 } else { 1 }
}

/// Internal structure of a node between ingress and egress ports.
fn architecture(part: &Part, id: NodeId, node: &NodeSpec, memory: NodeMemory) -> Architecture {
    let Some(&keys) = node.crossbar() else { return Architecture::OutputQueued(memory) };
    let plan = part.plan;
    let ports: Vec<u32> = plan.wiring.ports(id).map(|port| port.0).collect();
    let rates = ports.iter().map(|&port| plan.link(port).fastest());
    let switch = SwitchFacts {
        ports: ports.len(),
        classes: node.classes().classes(),
        bypasses: bypass_classes(plan.spec, node),
        first_port: part.port(plan.wiring.first_port[id.at()]),
        cuts_through: node.cuts_through(),
        rate: rates.max_by_key(|rate| rate.bps()).unwrap_or(BitRate::from_gbps(1)),
        longest: u64::from(frame_bounds(plan.spec).1),
        counts_for_outputs: memory.limited || counts_queues(node),
    };
    Architecture::Crossbar(Box::new(Crossbar::new(keys, &switch, memory)))
}

/// Returns true if pauses or queue managers of a switch measure the queue of arrived frames.
fn counts_queues(node: &NodeSpec) -> bool {
    let by_queue = node.pauses().is_some_and(|control| control.accounting != Accounting::Ingress);
    let is_managed = |switch: &SwitchSpec| switch.managers.all().next().is_some();
    by_queue || node.switch().is_some_and(is_managed)
}

/// Adds the ingress counters of ports, if any node counts at ingress.
fn add_ingress(part: &Part, fabric: &mut Fabric) {
    let fabric = &mut **fabric;
    if !fabric.pause_senders.all(WHOLE).iter().any(PauseSender::by_ingress) {
        return;
    }
    let none = Amount::Bytes(0);
    let idle =
        IngressPort::new(Levels { xoff: none, xon: none, capacity: none }, PauseKind::Priorities(0), false);
    fabric.ingress = vec![idle; fabric.links.len()].into();
    for (node, id) in fabric.nodes.all(WHOLE).iter().zip(part.nodes()) {
        let sender = node.pause_sender.map(|at| &fabric.pause_senders[at]);
        let Some(sender) = sender.filter(|sender| sender.by_ingress()) else { continue };
        let ports = &mut fabric.ingress.all_mut(WHOLE)[node.first_port.at()..];
        let first = fabric.numbering.port(node.first_port);
        let buffer = receive_buffer(&part.plan.spec.nodes[id as usize]);
        for (port, number) in ports.iter_mut().zip(first..).take(sender.renewals.len()) {
            let levels = part.plan.levels(&sender.spec, buffer, number);
            let kind = match sender.spec.kind {
                PauseKind::Link => PauseKind::Link,
                PauseKind::Priorities(_) => PauseKind::Priorities(part.plan.paused(number)),
            };
            *port = IngressPort::new(levels, kind, node.memory().sharing.is_some());
        }
    }
}

/// Priority at which a node returns tags, if it does.
fn returns_tags(node: &NodeSpec) -> Option<Priority> {
    node.host()?.limiters.as_ref()?.control.return_priority().map(Priority)
}

/// Adds the counters of arriving and departing frames to nodes.
pub fn add_counters(part: &Part, fabric: &mut Fabric) {
    add_receiving(part, fabric);
    add_ingress(part, fabric);
    add_telemetry(part, fabric);
}

/// Adds the processing of hosts that take time to receive or to send.
fn add_receiving(part: &Part, fabric: &mut Fabric) {
    let plan = part.plan;
    let receiving = |port: u32| {
        let node = plan.node(port);
        let groups = match (node.credits(), node.pauses()) {
            (Some(credits), _) => credits.channels,
            (None, Some(own)) if own.kind == PauseKind::Link => ClassMap::SHARED,
            _ => ClassMap::SEPARATE,
        };
        let host = node.host().filter(|host| host.receive.is_some() || host.send.is_some())?;
        let at_once = ReceiveSpec::default();
        let spec = host.receive.as_ref().unwrap_or(&at_once);
        let mut receiving = Box::new(Receiving::new(spec, host.send.as_ref(), groups));
        receiving.point = receiver_point(plan, port);
        Some(receiving)
    };
    let all: Vec<_> = part.ports().map(receiving).collect();
    // With credits, hosts process every frame, because each frame returns credits.
    if all.iter().any(Option::is_some) || part.ports().any(|port| plan.node(port).credits().is_some()) {
        fabric.hosts.receiving = all.into();
    }
}

/// The congestion point of a host's receive buffer, if its limiters define one.
fn receiver_point(plan: &Plan, port: u32) -> Option<Box<ReceiverPoint>> {
    let (node, link) = (plan.node(port), plan.link(port));
    let (host, local) = (node.host()?, plan.wiring.local(PortId(port)));
    let (limiters, buffer) = (host.limiters.as_ref()?, host.receive.as_ref()?.buffer?);
    let params = limiters.control.receiver_point(Bytes::new(buffer))?;
    let point = PointId(port * PRIORITIES as u32);
    // The buffer fills at the rate of the direction towards the host.
    let rate = plan.rate(plan.wiring.peer[port as usize].0);
    let facts = LinkFacts { rate, overhead: u32::from(link.overhead), point, shared: false };
    Some(Box::new(ReceiverPoint {
        manager: params.start(&facts),
        random: stream(plan.spec.seed, &format!("node/{}/port/{local}/receive", node.name)),
        point,
        priorities: limiters.priorities,
        message_priority: Priority(params.message_priority as u8),
    }))
}

/// Adds the queue managers of a port, whose first queue is given. Each has its own random stream. Returns true if the
/// port has any.
pub fn add_managers(plan: &Plan, port: u32, (first_queue, managers): (QueueIx, &mut Managers)) -> bool {
    let (node, link) = (plan.node(port), plan.link(port));
    let Some(switch) = node.switch().filter(|switch| switch.managers.all().next().is_some()) else {
        return false;
    };
    let of_port = |port: &PortFacts<'_>| switch.managers.of_port(port, switch.classes.classes());
    let specs = with_port(plan.spec, plan.wiring, PortId(port), of_port);
    let local = plan.wiring.local(PortId(port));
    let same_manager = |shared: Option<&ManagerSpec>| {
        shared.and_then(|_| specs.iter().position(|other| other.as_ref() == shared))
    };
    let of_class = |(class, spec): (usize, &Option<ManagerSpec>)| {
        let spec = spec.as_ref();
        let shared = spec.filter(|spec| spec.measures() == Measures::Port);
        if let Some(first) = same_manager(shared)
            && first < class
        {
            return Some(Assigned::OfClass(first));
        }
        let random = stream(plan.spec.seed, &format!("node/{}/port/{local}/class/{class}", node.name));
        let point = PointId(port * PRIORITIES as u32 + class as u32);
        let shared = plan.scheduler(port).shares_by_weight();
        let facts = LinkFacts { rate: plan.rate(port), overhead: u32::from(link.overhead), point, shared };
        spec.map(|spec| Assigned::Own(Box::new(Managed::new(spec, &facts, random))))
    };
    managers.add(first_queue, specs.iter().enumerate().map(of_class));
    specs.iter().any(Option::is_some)
}

/// Returns the memory that the queues of a switch share; `None` if they share none.
fn sharing(part: &Part, id: NodeId, node: &NodeSpec) -> Option<Box<Sharing>> {
    let (plan, switch) = (part.plan, node.switch()?);
    let ports: Vec<u32> = plan.wiring.ports(id).map(|port| port.0).collect();
    let first_port = part.port(plan.wiring.first_port[id.at()]);
    if let Some(pools) = &switch.pools {
        let profiles = pool_profiles(plan.spec, plan.wiring, id, pools);
        return Some(Box::new(Sharing::of_pools(pools, &profiles, first_port)));
    }
    let memory =
        SharedMemory::of_one_pool(switch.shared_memory?, switch.queues_of_memory(ports.len() as u64))?;
    let control = switch.pauses().filter(|control| control.accounting == Accounting::Ingress);
    let together = control.is_some_and(|control| control.kind == PauseKind::Link);
    let lossless = |&port: &u32| if control.is_some() { plan.paused(port) } else { 0 };
    let lossless = ports.iter().map(lossless).collect();
    Some(Box::new(Sharing::of_one_pool(memory, first_port, lossless, together)))
}

/// Traffic classes that a port trims, bit n for class n; `None`: its switch does not trim.
pub fn trimmed_classes(plan: &Plan, port: u32) -> Option<u8> {
    let (switch, wiring) = (plan.node(port).switch()?, plan.wiring);
    let spec = switch.trimming.as_ref()?;
    let (id, local) = (wiring.node_of[port as usize], wiring.local(PortId(port)));
    let lossless = plan.classes(port).classes_of(plan.paused(port)) as u8;
    Some(match (&switch.pools, spec.classes) {
        (_, Some(classes)) => classes,
        (Some(pools), None) => pools.trimmed(&pool_profiles(plan.spec, wiring, id, pools)[local as usize]),
        (None, None) => !lossless,
    })
}

/// Packet trimming of a port, if its switch trims.
pub fn trimming(plan: &Plan, port: u32) -> Option<Box<PortTrimming>> {
    let (node, peer) = (plan.node(port), plan.node(plan.wiring.peer[port as usize].0));
    let (switch, wiring) = (node.switch()?, plan.wiring);
    let (spec, own) = (switch.trimming.as_ref()?, plan.classes(port));
    let local = wiring.local(PortId(port));
    let classes = trimmed_classes(plan, port)?;
    let coin = stream(plan.spec.seed, &format!("node/{}/port/{local}/trimming", node.name));
    let neighbour = wiring.node_of[wiring.peer[port as usize].at()];
    let named = spec.priority_to.iter().find(|(nodes, _)| nodes.contains(&neighbour));
    let priority = Priority(named.map_or(spec.priority, |&(_, priority)| priority));
    let as_trimmed = (priority, own.class(priority));
    let to_host = (peer.host().is_some(), plan.rate(port));
    Some(Box::new(PortTrimming::new(spec, classes, as_trimmed, to_host, coin)))
}

/// Returns the profiles of each port of a switch with these pools.
pub fn pool_profiles(spec: &Spec, wiring: &Wiring, id: NodeId, pools: &PoolsSpec) -> Vec<PortProfiles> {
    let of_port = |port: PortId| with_port(spec, wiring, port, |facts| pools.of_port(facts));
    wiring.ports(id).map(of_port).collect()
}

/// Adds in-band telemetry to the ports of switches, if any connection reads it.
fn add_telemetry(part: &Part, fabric: &mut Fabric) {
    let spec = part.plan.spec;
    if !spec.flows.iter().filter_map(|flow| flow.transport.as_deref()).any(ConnectionSpec::reads_telemetry) {
        return;
    }
    let writes = |port: u32| part.plan.node(port).switch().is_some();
    fabric.telemetry = part.ports().map(|port| PortTelemetry::new(writes(port))).collect();
    for port in part.ports().filter(|&port| writes(port)) {
        fabric.links.ports[part.port(port)].features.set(PortFeatures::RECORDED, true);
    }
}
