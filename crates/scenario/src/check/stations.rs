//! Hosts and switches: common settings, and overrides by name.

use super::topology::Fabric;
use super::{Context, flow_control, maps, path_choice, queueing, receive};
use crate::model::{Buffer, HostSettings, Model, Queues, QueuesWord, SwitchSettings};
use crate::place::Place;
use ::flow_control::{Channels, Control, PauseSpec};
use ::queueing::{BufferSpec, PoolsSpec, SharedMemorySpec};
use fabric::spec::{Forwarding, HostSpec, NodeSpec, Queueing, ReceiveSpec, Role, SwitchSpec, WhenFull};
use fabric::topology::NodeRole;
use frame::{ClassMap, NodeId, PRIORITIES};
use scheduling::SchedulerSpec;
use std::collections::BTreeMap;
use std::sync::Arc;
use transport::NicLimits;
use units::{Amount, Bytes, ClockTolerance, Or, Time, Unlimited};

/// Converts the nodes of the fabric with their settings.
pub fn lower(model: &Model, fabric: &Fabric, context: &mut Context<'_>) -> Vec<NodeSpec> {
    known_names(model.hosts.keys(), NodeRole::Host, fabric, context);
    known_names(model.switches.keys(), NodeRole::Switch, fabric, context);
    let has_switch = fabric.graph.switches().next().is_some();
    if !has_switch && model.switch != crate::effective::switch_defaults() {
        context.warn(
            &Place::of("switch"),
            "settings of switches, but the fabric has none",
            "they have no effect",
        );
    }
    flow_control::check(&model.flow_control, model, &Place::of("flow_control"), context);
    let host = Arc::new(host(model, &model.host, None, &Place::of("host"), context));
    let hosts: BTreeMap<&str, Arc<HostSpec>> = model
        .hosts
        .iter()
        .map(|(name, own)| {
            let at = Place::of("hosts").key(name);
            (name.as_str(), Arc::new(self::host(model, &model.host, Some(own), &at, context)))
        })
        .collect();
    let (switch, switches) = switches(model, fabric, context);
    let tolerance = |node: &fabric::topology::GraphNode| match node.role {
        NodeRole::Host => {
            let own = model.hosts.get(&node.name).map(|own| &own.clock_tolerance);
            pick(own, &model.host.clock_tolerance)
        }
        NodeRole::Switch => {
            let own = model.switches.get(&node.name).map(|own| &own.clock_tolerance);
            pick(own, &model.switch.clock_tolerance)
        }
    };
    let mtu = |node: &fabric::topology::GraphNode| match node.role {
        NodeRole::Host => pick(model.hosts.get(&node.name).map(|own| &own.mtu), &model.host.mtu),
        NodeRole::Switch => pick(model.switches.get(&node.name).map(|own| &own.mtu), &model.switch.mtu),
    };
    let station = |node: &fabric::topology::GraphNode| NodeSpec {
        name: node.name.clone(),
        mtu: mtu(node).map(|bytes| bytes.get() as u16),
        clock_tolerance: tolerance(node).unwrap_or(ClockTolerance::EXACT),
        role: match node.role {
            NodeRole::Host => Role::Host(hosts.get(node.name.as_str()).unwrap_or(&host).clone()),
            NodeRole::Switch => Role::Switch(switches.get(node.name.as_str()).unwrap_or(&switch).clone()),
        },
    };
    fabric.graph.nodes.iter().map(station).collect()
}

/// Converts the common settings of all switches, and those of switches with settings of their own, by name.
fn switches<'m>(
    model: &'m Model,
    fabric: &Fabric,
    context: &mut Context<'_>,
) -> (Arc<SwitchSpec>, BTreeMap<&'m str, Arc<SwitchSpec>>) {
    let others: Vec<NodeId> =
        fabric.graph.switches().filter(|&node| !model.switches.contains_key(fabric.name(node))).collect();
    let at = Place::of("switch");
    let own = model.switch.maps.as_ref();
    let settings = maps::Settings { model, fabric, switches: &others, at: &at, own };
    let all = Arc::new(switch(&settings, &model.switch, None, context));
    let own: BTreeMap<&str, Arc<SwitchSpec>> = model
        .switches
        .iter()
        .map(|(name, own)| {
            let at = Place::of("switches").key(name);
            let switches: Vec<NodeId> = fabric.find(name).into_iter().collect();
            let maps = own.maps.as_ref();
            let settings = maps::Settings { model, fabric, switches: &switches, at: &at, own: maps };
            (name.as_str(), Arc::new(self::switch(&settings, &model.switch, Some(own), context)))
        })
        .collect();
    (all, own)
}

fn known_names<'a>(
    names: impl Iterator<Item = &'a String>,
    role: NodeRole,
    fabric: &Fabric,
    context: &mut Context<'_>,
) {
    let (table, what) = match role {
        NodeRole::Host => ("hosts", "host"),
        NodeRole::Switch => ("switches", "switch"),
    };
    for name in names {
        if context.full() {
            break;
        }
        let at = Place::of(table).key(name);
        match fabric.find(name) {
            None => context.error(&at, format!("unknown {what} \"{name}\""), fabric.hint(name, Some(role))),
            Some(node) if fabric.graph.nodes[node.at()].role != role => {
                let other = if role == NodeRole::Host {
                    "a switch: use [switches.NAME]"
                } else {
                    "a host: use [hosts.NAME]"
                };
                context.error(&at, format!("\"{name}\" is not a {what}"), format!("it is {other}"));
            }
            Some(_) => {}
        }
    }
}

/// Maximum MTU of a station.
const GREATEST_MTU: u64 = workload::LARGEST_FRAME;
const LEAST_MTU: u64 = frame::MIN_FRAME_BYTES as u64;

/// Reports an MTU that is out of range.
fn check_mtu(mtu: Option<Bytes>, at: &Place, context: &mut Context<'_>) {
    let Some(bytes) = mtu else { return };
    if !(LEAST_MTU..=GREATEST_MTU).contains(&bytes.get()) {
        let message = format!("frames of at most {bytes}");
        let help = format!("expected {LEAST_MTU} B to {GREATEST_MTU} B: the length from DA to FCS");
        context.error(&at.key("mtu"), message, help);
    }
}

/// Returns the value of a key: that of the station itself or, if it has none, that of all stations.
fn pick<T: Clone>(own: Option<&Option<T>>, all: &Option<T>) -> Option<T> {
    own.cloned().flatten().or_else(|| all.clone())
}

fn host(
    model: &Model,
    all: &HostSettings,
    own: Option<&HostSettings>,
    at: &Place,
    context: &mut Context<'_>,
) -> HostSpec {
    check_mtu(own.map_or(all.mtu, |own| own.mtu), at, context);
    let control = flow_control::lower(model, &all.flow_control, own.map(|o| &o.flow_control), at, context);
    let classes = classes(pick(own.map(|o| &o.queues), &all.queues), control.as_ref(), at, context);
    let is_room = control.as_ref().is_some_and(Control::is_room);
    let own_receive = own.and_then(|o| o.receive.as_ref());
    let receive = receive::lower(model, all.receive.as_ref(), own_receive, is_room, at, context);
    let end = model.simulation.duration;
    let send = receive::lower_send(all.send.as_ref(), own.and_then(|o| o.send.as_ref()), end, at, context);
    let rdma = pick(own.map(|o| &o.rdma), &all.rdma);
    for why in rdma.iter().flat_map(NicLimits::check) {
        context.refuse(why, &at.key("rdma"));
    }
    let buffer = |receive: &ReceiveSpec| receive.buffer.filter(|_| !is_room);
    HostSpec {
        classes,
        scheduler: pick(own.map(|o| &o.scheduler), &all.scheduler)
            .unwrap_or_else(|| SchedulerSpec::default_for(PRIORITIES)),
        queue_limit: limit(
            pick(own.map(|o| &o.queue_limit), &all.queue_limit),
            &at.key("queue_limit"),
            context,
        ),
        when_full: pick(own.map(|o| &o.when_full), &all.when_full).unwrap_or(WhenFull::Block),
        receive: receive.map(|receive| ReceiveSpec { buffer: buffer(&receive), ..receive }),
        send,
        flow_control: control,
        limiters: queueing::limiters(
            pick(own.map(|o| &o.rate_limiters), &all.rate_limiters).as_ref(),
            &at.key("rate_limiters"),
            context,
        ),
        nic_limits: rdma,
    }
}

fn check_latency(latency: Time, at: &Place, context: &mut Context<'_>) {
    if latency > Time::from_ms(1000) {
        let message = format!("a latency of {latency} is too long");
        context.error(&at.key("latency"), message, "expected at most \"1 s\"");
    }
}

fn switch(
    settings: &maps::Settings<'_>,
    all: &SwitchSettings,
    own: Option<&SwitchSettings>,
    context: &mut Context<'_>,
) -> SwitchSpec {
    let (model, at) = (settings.model, settings.at);
    check_mtu(own.map_or(all.mtu, |own| own.mtu), at, context);
    let latency = pick(own.map(|o| &o.latency), &all.latency).unwrap_or(Time::ZERO);
    check_latency(latency, at, context);
    let control = flow_control::lower(model, &all.flow_control, own.map(|o| &o.flow_control), at, context);
    let mut classes = classes(pick(own.map(|o| &o.queues), &all.queues), control.as_ref(), at, context);
    let (own_buffer, all_buffer) = (own.and_then(|o| o.buffer.as_ref()), all.buffer.as_ref());
    let counts_at_ingress =
        control.as_ref().and_then(Control::pauses).is_some_and(PauseSpec::counts_at_ingress);
    let Memory { buffer, shared_memory, mut pools } =
        memory(own_buffer, all_buffer, counts_at_ingress, at, context);
    let mut to = maps::Mapped { queues: &mut classes, pools: &mut pools, control: control.as_ref() };
    let remaps = maps::lower(settings, &mut to, context);
    let entries = pick(own.map(|o| &o.queue_managers), &all.queue_managers).unwrap_or_default();
    let managers = queueing::managers(&entries, classes, &at.key("queue_managers"), context);
    let path_choice = pick(own.map(|o| &o.path_choice), &all.path_choice).unwrap_or_default();
    if let Err(remark) = path_choice.check() {
        context.refuse(remark, &at.key("path_choice"));
    }
    let weights = pick(own.map(|o| &o.path_weights), &all.path_weights).unwrap_or_default();
    let is_own = own.is_none_or(|own| own.path_weights.is_some());
    let weights = path_choice::weights((&weights, is_own), path_choice, settings, context);
    let trimming = queueing::trimming(
        pick(own.map(|o| &o.trimming), &all.trimming).as_ref(),
        &at.key("trimming"),
        settings,
        context,
    );
    let queueing = pick(own.map(|o| &o.queueing), &all.queueing).unwrap_or(Queueing::Output);
    if let Err(remark) = queueing.check() {
        context.refuse(remark, &at.key("queueing"));
    }
    context.unused(queueing.unused(), &at.key("queueing"));
    SwitchSpec {
        forwarding: pick(own.map(|o| &o.forwarding), &all.forwarding).unwrap_or(Forwarding::StoreAndForward),
        latency,
        queueing,
        path_choice,
        weights,
        classes,
        scheduler: pick(own.map(|o| &o.scheduler), &all.scheduler)
            .unwrap_or_else(|| SchedulerSpec::default_for(PRIORITIES)),
        buffer,
        shared_memory,
        pools,
        managers,
        flow_control: control,
        remaps,
        trimming,
    }
}

/// Limits of a switch's memory.
struct Memory {
    buffer: BufferSpec,
    shared_memory: Option<SharedMemorySpec>,
    pools: Option<Arc<PoolsSpec>>,
}

fn memory(
    own: Option<&Buffer>,
    all: Option<&Buffer>,
    counts_at_ingress: bool,
    at: &Place,
    context: &mut Context<'_>,
) -> Memory {
    let buffer = buffer(own, all, at, context);
    let of = |buffer: Option<&'_ Buffer>| buffer.and_then(|buffer| buffer.dynamic_threshold);
    let shared_memory = queueing::shared_memory(
        of(own).or_else(|| of(all)).as_ref(),
        buffer.total,
        counts_at_ingress,
        &at.key("buffer"),
        context,
    );
    let of = |buffer: Option<&'_ Buffer>| buffer.and_then(|buffer| buffer.memory.clone());
    let memory = of(own).or_else(|| of(all));
    let pools = queueing::pools(memory.as_ref(), &at.key("buffer"), context);
    if memory.is_some() {
        let is_limited = [buffer.total, buffer.port, buffer.class, buffer.queue].iter().any(Option::is_some);
        if shared_memory.is_some() || is_limited {
            context.error(
                &at.key("buffer").key("memory"),
                "pools beside other limits of the same memory",
                "expected memory alone: no total, port, class, queue or dynamic_threshold",
            );
        }
    }
    Memory { buffer, shared_memory, pools }
}

fn classes(
    queues: Option<Queues>,
    control: Option<&Control>,
    at: &Place,
    context: &mut Context<'_>,
) -> ClassMap {
    let at = at.key("queues");
    let channels = control.and_then(Control::credits).map(|credits| &credits.names);
    if channels.is_some_and(Channels::are_all) {
        if !matches!(queues, None | Some(Queues::Named(QueuesWord::PerPriority))) {
            let help = "expected \"per_priority\", a queue for each of the twenty, or other channels";
            context.error(&at, "queues that channels share, and channels = \"all\"".to_string(), help);
        }
        return ClassMap::CHANNELS;
    }
    let list = match queues {
        None | Some(Queues::Named(QueuesWord::PerPriority)) => return ClassMap::SEPARATE,
        Some(Queues::Named(QueuesWord::Shared)) => return ClassMap::SHARED,
        Some(Queues::Classes(list)) => list,
    };
    let accepted = "expected eight class numbers, 0 to 7, one for each priority";
    if list.len() != frame::PRIORITIES {
        context.error(&at, format!("{} class numbers", list.len()), accepted);
        return ClassMap::SEPARATE;
    }
    let mut class_of = [0u8; frame::PRIORITIES];
    for (priority, &class) in list.iter().enumerate() {
        match u8::try_from(class) {
            Ok(class) if class <= 7 => class_of[priority] = class,
            _ => {
                context.error(&at.index(priority), format!("class {class} of priority {priority}"), accepted)
            }
        }
    }
    ClassMap::new(class_of).unwrap_or(ClassMap::SEPARATE)
}

fn buffer(own: Option<&Buffer>, all: Option<&Buffer>, at: &Place, context: &mut Context<'_>) -> BufferSpec {
    let at = at.key("buffer");
    let mut read = |key: &str, of: fn(&Buffer) -> Option<Or<Amount, Unlimited>>| {
        limit(own.and_then(of).or_else(|| all.and_then(of)), &at.key(key), context)
    };
    let spec = BufferSpec {
        total: read("total", |b| b.total),
        port: read("port", |b| b.port),
        class: read("class", |b| b.class),
        queue: read("queue", |b| b.queue),
    };
    let (total, port, class) = (("total", spec.total), ("port", spec.port), ("class", spec.class));
    let queue = ("queue", spec.queue);
    // A queue is part of the memory of its port and of its class, and both are part of the total.
    for ((inner, narrow), (outer, wide)) in
        [(queue, total), (queue, port), (queue, class), (port, total), (class, total)]
    {
        if let (Some(narrow), Some(wide)) = (narrow, wide)
            && narrow.exceeds(wide)
        {
            let [narrow, wide] = Amount::alike([narrow, wide]);
            context.warn(
                &at.key(inner),
                format!("{inner} {narrow} is above {outer} {wide}"),
                format!("it has no effect: a {inner} never holds that much"),
            );
        }
    }
    spec
}

fn limit(limit: Option<Or<Amount, Unlimited>>, at: &Place, context: &mut Context<'_>) -> Option<Amount> {
    let amount = limit?.value()?;
    if matches!(amount, Amount::Bytes(0) | Amount::Frames(0)) {
        context.error(at, "a limit of 0: no frame could pass", "expected a size above 0, or \"unlimited\"");
    }
    Some(amount)
}
