//! The workloads on which Penstock's speed is measured. `docs/performance.md` has the results.
//!
//! - *star*: 8 senders at 1.1875 Gb/s each to one receiver, links of 10 Gb/s and 1 us.
//! - *fat-tree* of k ports: host i sends to host i + N/2, 5 Gb/s, 1500-byte frames, links of 10 Gb/s and 1 us: six hops
//!   per frame. Routes are those of the programs for the peers: no two flows share a link upwards.
//! - *hashed*: *fat-tree* with flows distributed over equal-cost paths by hash, so that some links are overloaded and
//!   frames wait.
//! - *incast*: n senders at line rate to one receiver, with PFC.
//! - *flows*: n flows between the 16 hosts of a star, with a total load of half of every link.
//! - *spray*: *hashed*, with a random port chosen by each switch for each frame.
//! - *requests*: the hosts of *hashed* exchange requests and responses of one 1500-byte frame, four at a time each.
//! - *window*: the star with transfers of four 1500-byte frames in flight each, clocked by acknowledgements.
//! - *red*: *window* with RED marking at the switch.
//! - *tcp*: on the paths of *fat-tree*, a transfer over TCP from each host, with a window of 64 KiB.
//! - *dcqcn*: n queue pairs at one receiver under DCQCN, links of 100 Gb/s, frames of 1,090 bytes, RED marks; with PFC
//!   armed.
//! - *dcqcn-tree*: queue pairs under DCQCN on the paths of *hashed*.
//! - *rdma*, *rdma-tree*: *dcqcn* and *dcqcn-tree* without congestion control.
//! - *transfers*: on the paths of *hashed*, 13 transfers over TCP of 15 kB each from each host to 13 others, which
//!   begin within 100 us.
//! - *bottleneck*: 10 transfers over TCP share 50 Mb/s behind a queue of 100 frames, as `peers/ns2.tcl` has it.
//! - *classes*, *classes-credits*: seven service classes over an n-tree, as plain Ethernet and with credits and
//!   crossbars (`service_classes`).
//! - *qcn*, *fecn*: the star under a congestion control at layer 2: every frame passes a rate limiter and two
//!   congestion points. With *-limiters* or *-points*, only one of the two parts: identical frames and rates, without
//!   the control loop.

mod queue_pairs;
mod service_classes;

use fabric::choice::PathChoice;
use fabric::spec::{
    FlowSpec, HostSpec, LimiterSpec, LinkSpec, NodeSpec, OnLosslessDrop, ProbeSpec, Role, Spec, SwitchSpec,
    Way,
};
use fabric::topology::{Cable, FatTree, Graph, NodeRole, Shape, Star};
use flow_control::{Accounting, Control, PauseKind, PauseSpec};
use frame::{NodeId, Priority};
use queueing::{
    Action, Alpha, AttachmentSpec, CongestionPointParams, Limit, LimiterScope, ManagerSpec, PoolSpec,
    PoolsSpec, PortSelector, ProfileSpec, RateControlSpec, RatePointParams, RateReactionParams,
    ReactionPointParams, RedParams, Rules, SharedMemorySpec, Side,
};
use std::sync::Arc;
use transport::{
    Application, ConnectionSpec, ControllerSpec, Delay, FixedWindowParams, Growth, RequestResponseSpec,
    TcpKeys, TcpPreset, WindowSpec,
};
use units::{Amount, BitRate, Bytes, ClockTolerance, Or, Time};
use workload::{Arrivals, ConstantParams, Destinations, FrameSizes, RateBasis, SourceSpec};

/// Options of a workload, independent of its traffic.
#[derive(Clone, Copy, Debug)]
pub struct Options {
    /// PFC on all priorities in use, with ingress accounting.
    pub pfc: bool,
    /// An additional congestion control at layer 2: "qcn" or "fecn".
    pub control: Option<&'static str>,
    /// True to record time series and the log of pauses.
    pub probes: bool,
    /// Simulated time.
    pub duration: Time,
}

/// Returns the workload of this name: `star`, `qcn`, `fecn`, `qcn-limiters`, `qcn-points`, `window`, `red`,
/// `bottleneck`, `classes`, `classes-credits`, `dcqcn-N`, `dcqcn-tree-K`, `rdma-N`, `rdma-tree-K`,
/// `dynamic-threshold-N` and `pools-N` (an incast of N whose switch shares its memory), `fat-tree-K`, `tcp-K`,
/// `transfers-K`, `hashed-K`, `spray-K`, `requests-K`, `incast-N`, `flows-N`.
pub fn workload(name: &str, options: Options) -> Option<Spec> {
    if let Some(control) = options.control {
        let mut spec = workload(name, Options { control: None, ..options })?;
        notify(&mut spec, notified(control, if name.starts_with("fat-tree-") { 1 } else { 4 })?);
        return Some(spec);
    }
    let cable = Cable::new(BitRate::from_gbps(10), Time::from_us(1));
    if let Some((scheme, half)) =
        name.split_once('-').filter(|(_, half)| ["limiters", "points"].contains(half))
    {
        let mut spec = workload(scheme, options)?;
        match half {
            "limiters" => change_switches(&mut spec, |switch| switch.managers.by_class.clear()),
            _ => change_hosts(&mut spec, |host| host.limiters = None),
        }
        return Some(spec);
    }
    if let Some(control) = notified(name, 4) {
        let mut spec = workload("star", options)?;
        notify(&mut spec, control);
        return Some(spec);
    }
    if name == "star" {
        let graph = Star::new(9, cable).graph().ok()?;
        let hosts: Vec<NodeId> = graph.hosts().collect();
        let rate =
            Arrivals::Constant(ConstantParams { rate: BitRate::from_bps(1_187_500_000), random_phase: true });
        let flows = hosts[..8].iter().map(|&from| flow(from, hosts[8], rate.clone())).collect();
        return Some(spec(&graph, flows, options));
    }
    if name == "window" || name == "red" {
        let graph = Star::new(9, cable).graph().ok()?;
        let hosts: Vec<NodeId> = graph.hosts().collect();
        let flows = hosts[1..].iter().map(|&from| connection(from, hosts[0], window())).collect();
        let mut spec = spec(&graph, flows, options);
        if name == "red" {
            let red = RedParams { action: Action::Mark, max: Amount::Frames(30), ..RedParams::default() };
            change_switches(&mut spec, |switch| {
                switch.managers = vec![Some(ManagerSpec::Red(red)); 8].into()
            });
        }
        return Some(spec);
    }
    if let Some(k) = name.strip_prefix("requests-") {
        let graph = FatTree::new(k.parse().ok()?, cable).graph().ok()?;
        let hosts: Vec<NodeId> = graph.hosts().collect();
        let n = hosts.len();
        let flows = (0..n).map(|i| connection(hosts[i], hosts[(i + n / 2) % n], requests()));
        return Some(spec(&graph, flows.collect(), options));
    }
    if let Some(k) = name.strip_prefix("spray-") {
        let mut spec = workload(&format!("hashed-{k}"), options)?;
        change_switches(&mut spec, |switch| switch.path_choice = PathChoice::Spray);
        return Some(spec);
    }
    if let "classes" | "classes-credits" = name {
        return service_classes::fabric(name == "classes-credits", options);
    }
    if name == "bottleneck" {
        return bottleneck(cable, options);
    }
    if let Some((kind, k)) = name.rsplit_once('-').filter(|it| ["fat-tree", "hashed", "tcp"].contains(&it.0))
    {
        return half_way(kind, k.parse().ok()?, cable, options);
    }
    if let Some((kind, size)) = name.rsplit_once('-')
        && ["dcqcn", "dcqcn-tree", "rdma", "rdma-tree"].contains(&kind)
    {
        return queue_pairs::fabric(kind, size.parse().ok()?, options);
    }
    if let Some(k) = name.strip_prefix("transfers-") {
        return transfers(k.parse().ok()?, cable, options);
    }
    if let Some(flows) = name.strip_prefix("flows-") {
        let flows: usize = flows.parse().ok().filter(|flows| flows % 16 == 0)?;
        let graph = Star::new(16, cable).graph().ok()?;
        let hosts: Vec<NodeId> = graph.hosts().collect();
        let rate = BitRate::from_bps(5_000_000_000 * 16 / flows as u64);
        let rate = Arrivals::Constant(ConstantParams { rate, random_phase: true });
        // Each host sends to all others in round-robin order.
        let flow = |i: usize| FlowSpec {
            // Each flow needs a name of its own; otherwise all flows of a host would draw the same phase.
            name: i.to_string(),
            ..flow(hosts[i % 16], hosts[(i % 16 + 1 + i / 16 % 15) % 16], rate.clone())
        };
        return Some(spec(&graph, (0..flows).map(flow).collect(), options));
    }
    if let Some((kind, senders)) =
        name.rsplit_once('-').filter(|it| ["dynamic-threshold", "pools"].contains(&it.0))
    {
        let mut spec = workload(&format!("incast-{senders}"), options)?;
        change_switches(&mut spec, |switch| match kind {
            "pools" => switch.pools = Some(Arc::new(pools())),
            _ => (switch.buffer.total, switch.shared_memory) = (Some(Amount::Bytes(MEMORY)), Some(memory())),
        });
        return Some(spec);
    }
    let senders: u64 = name.strip_prefix("incast-")?.parse().ok()?;
    let graph = Star::new(senders + 1, cable).graph().ok()?;
    let hosts: Vec<NodeId> = graph.hosts().collect();
    let flows = hosts[1..].iter().map(|&from| flow(from, hosts[0], Arrivals::Greedy)).collect();
    Some(spec(&graph, flows, options))
}

/// Creates a fat-tree of `k` ports in which each host sends to the host N/2 further on.
fn half_way(kind: &str, k: usize, cable: Cable, options: Options) -> Option<Spec> {
    let graph = FatTree::new(k as u64, cable).graph().ok()?;
    let hosts: Vec<NodeId> = graph.hosts().collect();
    let n = hosts.len();
    let rate = Arrivals::Constant(ConstantParams { rate: BitRate::from_gbps(5), random_phase: true });
    let keys = TcpKeys { receive_window: Or::Value(Amount::Bytes(64 << 10)), ..TcpPreset::Rfc.keys() };
    let tcp = tcp(&keys)?;
    let flows = (0..n).map(|i| {
        let to = (i + n / 2) % n;
        let way = if kind == "hashed" { Way::Shortest } else { Way::Along(apart(&graph, k / 2, i, to)) };
        let flow = match kind {
            "tcp" => connection(hosts[i], hosts[to], tcp.clone()),
            _ => flow(hosts[i], hosts[to], rate.clone()),
        };
        FlowSpec { way, ..flow }
    });
    Some(spec(&graph, flows.collect(), options))
}

/// Transfers of each host of *transfers*.
const TRANSFERS: usize = 13;

/// Creates short TCP transfers from each host of a fat-tree of `k` ports to hosts near and far.
fn transfers(k: usize, cable: Cable, options: Options) -> Option<Spec> {
    let graph = FatTree::new(k as u64, cable).graph().ok()?;
    let hosts: Vec<NodeId> = graph.hosts().collect();
    let n = hosts.len();
    let sized = TcpPreset::Rfc.keys().sized(Some(Bytes::new(15_000)), 1500, 64).ok()?;
    let application = Application::Tcp(sized.into());
    let flows = (0..n * TRANSFERS).map(|nth| {
        let (from, to) = (nth % n, (nth % n + 1 + nth / n * (n / TRANSFERS)) % n);
        // Distributes the start times without a pattern.
        let start = Time::from_ns((nth * 7_919 % 100_000) as u64);
        let transport = ConnectionSpec { start, stop: None, application: application.clone() };
        let flow = flow(hosts[from], hosts[to], Arrivals::Greedy);
        FlowSpec { name: nth.to_string(), transport: Some(Arc::new(transport)), ..flow }
    });
    Some(spec(&graph, flows.collect(), options))
}

/// Creates ten TCP transfers that start 100 ms apart.
fn bottleneck(cable: Cable, options: Options) -> Option<Spec> {
    let graph = Star::new(11, cable).graph().ok()?;
    let hosts: Vec<NodeId> = graph.hosts().collect();
    let keys = TcpKeys {
        growth: Growth::Acks,
        grows_unused: true,
        initial_window: Amount::Frames(2),
        headers: Bytes::new(40),
        ack_every: 1,
        limited_transmit: false,
        min_timeout: Time::from_ms(200),
        tick: Time::from_ms(1),
        ..TcpPreset::Rfc.keys()
    };
    let tcp = tcp(&keys)?;
    let flows = (1..).zip(&hosts[1..]).map(|(n, &from)| {
        let transport =
            ConnectionSpec { start: Time::from_ms(100 * n), stop: None, application: tcp.clone() };
        FlowSpec { transport: Some(Arc::new(transport)), ..flow(from, hosts[0], Arrivals::Greedy) }
    });
    let mut spec = spec(&graph, flows.collect(), options);
    for link in &mut spec.links {
        let narrow = link.a == hosts[0] || link.b == hosts[0];
        link.rates = [BitRate::from_bps(if narrow { 50_000_000 } else { 1_000_000_000 }); 2];
        link.delay = Time::from_ms(5);
        link.overhead = 0;
    }
    change_switches(&mut spec, |switch| switch.buffer.queue = Some(Amount::Frames(100)));
    Some(spec)
}

fn tcp(keys: &TcpKeys) -> Option<Application> {
    Some(Application::Tcp(keys.sized(None, 1500, 64).ok()?.into()))
}

/// Returns the path from one host of a fat-tree to the host N/2 further on. The uplinks are selected by the number of
/// the host at its edge switch, then by that of the edge switch in its pod. `half` is the number of uplinks of a
/// switch.
fn apart(graph: &Graph, half: usize, from: usize, to: usize) -> Vec<NodeId> {
    let (pod, edge, port) = (from / (half * half), from / half % half, from % half);
    let (to_pod, to_edge) = (to / (half * half), to / half % half);
    let names = [
        format!("edge{pod}.{edge}"),
        format!("agg{pod}.{port}"),
        format!("core{}", port * half + edge),
        format!("agg{to_pod}.{port}"),
        format!("edge{to_pod}.{to_edge}"),
        format!("h{to}"),
    ];
    let id = |name: &String| graph.nodes.iter().position(|node| node.name == *name);
    names.iter().filter_map(id).map(|at| NodeId(at as u32)).collect()
}

/// Adds both parts of a congestion control to a fabric.
fn notify(spec: &mut Spec, (control, point): (RateControlSpec, ManagerSpec)) {
    change_switches(spec, |switch| switch.managers = vec![Some(point); 8].into());
    let limiters = LimiterSpec {
        control,
        per: LimiterScope::Flow,
        priorities: 0xFF,
        mark_after: None,
        priority_burst: Bytes::new(0),
    };
    change_hosts(spec, |host| host.limiters = Some(limiters));
}

/// Returns the host part and the switch part of the congestion control of this name. FECN expects `sources` flows per
/// link: its initial rate is then at least that of a flow, so that frames pass immediately if no source has to slow
/// down.
fn notified(name: &str, sources: u32) -> Option<(RateControlSpec, ManagerSpec)> {
    match name {
        "qcn" => {
            let point = ManagerSpec::CongestionPoint(CongestionPointParams::default());
            Some((RateControlSpec::Qcn(ReactionPointParams::default()), point))
        }
        "fecn" => {
            let sources = f64::from(sources);
            let host = RateReactionParams { initial_share: 1.0 / sources, ..RateReactionParams::default() };
            let point = RatePointParams { expected_sources: sources, ..RatePointParams::default() };
            Some((RateControlSpec::Fecn(host), ManagerSpec::RatePoint(point)))
        }
        _ => None,
    }
}

fn window() -> Application {
    Application::Window(WindowSpec {
        bytes: None,
        segment: 1500,
        controller: ControllerSpec::FixedWindow(FixedWindowParams { size: Amount::Frames(4) }),
        ack_bytes: 64,
        ack_every: 1,
        ack_delay: Time::ZERO,
        timeout: None,
        ecn_capable: true,
    })
}

fn requests() -> Application {
    Application::RequestResponse(RequestResponseSpec {
        request: 1500,
        response: 1500,
        segment: 1500,
        outstanding: 4,
        requests: None,
        think: Delay::Fixed(Time::ZERO),
        service: Delay::Fixed(Time::ZERO),
        timeout: None,
        ecn_capable: false,
    })
}

fn connection(from: NodeId, to: NodeId, application: Application) -> FlowSpec {
    let transport = ConnectionSpec { start: Time::ZERO, stop: None, application };
    FlowSpec { transport: Some(Arc::new(transport)), ..flow(from, to, Arrivals::Greedy) }
}

/// Memory of a switch in bytes, followed by the headroom in it.
const MEMORY: u64 = 1_000_000;
const HEADROOM: u64 = 300_000;

/// Shared memory in which all lossless queues have alpha 1.
fn memory() -> SharedMemorySpec {
    SharedMemorySpec {
        total: MEMORY,
        alpha: Alpha::ONE,
        minimum: 0,
        headroom: HEADROOM,
        resume_offset: 3_000,
    }
}

/// The memory in pools, as switches are configured.
fn pools() -> PoolsSpec {
    let pool =
        |name: &str, side, headroom| PoolSpec { name: name.into(), side, size: MEMORY - HEADROOM, headroom };
    let profile = |name: &str, pool, headroom, limit| ProfileSpec {
        name: name.into(),
        rules: Rules { pool, reserved: 0, limit, headroom, xon: 0, xon_offset: 3_000 },
        trims: false,
    };
    let attached = |profile| AttachmentSpec {
        profile,
        members: u8::MAX,
        is_listed: false,
        ports: PortSelector::default(),
    };
    PoolsSpec {
        pools: vec![pool("in", Side::Ingress, Some(HEADROOM)), pool("out", Side::Egress, None)],
        profiles: vec![
            profile("lossless", 0, 30_000, Limit::Dynamic(Alpha::ONE)),
            profile("queues", 1, 0, Limit::Static(MEMORY)),
        ],
        attachments: vec![attached(0), attached(1)],
        groups: std::array::from_fn(|priority| priority as u8),
    }
}

fn change_switches(spec: &mut Spec, change: impl Fn(&mut SwitchSpec)) {
    for node in &mut spec.nodes {
        if let Role::Switch(switch) = &mut node.role {
            change(Arc::make_mut(switch));
        }
    }
}

fn change_hosts(spec: &mut Spec, change: impl Fn(&mut HostSpec)) {
    for node in &mut spec.nodes {
        if let Role::Host(host) = &mut node.role {
            change(Arc::make_mut(host));
        }
    }
}

fn flow(from: NodeId, to: NodeId, arrivals: Arrivals) -> FlowSpec {
    FlowSpec {
        name: format!("{}", from.0),
        from,
        priority: Priority(3),
        source: SourceSpec {
            arrivals,
            rate_basis: RateBasis::Frame,
            sizes: FrameSizes::Fixed(1500),
            destinations: Destinations::Fixed(to),
            start: Time::ZERO,
            stop: None,
            script: Vec::new(),
            limit: None,
            jitter: Time::ZERO,
        },
        way: Way::Shortest,
        transport: None,
        ports: None,
        tuples: Vec::new(),
        bypassable: false,
        color: queueing::Color::Green,
    }
}

fn spec(graph: &Graph, flows: Vec<FlowSpec>, options: Options) -> Spec {
    let flow_control = options.pfc.then_some(Control::Pauses(PauseSpec {
        name: "pfc",
        kind: PauseKind::Priorities(1 << 3),
        accounting: Accounting::Ingress,
        watermarks: None,
        quanta: 65_535.into(),
        resume: true,
        refresh: true,
        response_time: None,
        target: None,
    }));
    let host = Arc::new(HostSpec { flow_control: flow_control.clone(), ..Default::default() });
    let switch = Arc::new(SwitchSpec { flow_control, ..Default::default() });
    let role = |role| match role {
        NodeRole::Host => Role::Host(host.clone()),
        NodeRole::Switch => Role::Switch(switch.clone()),
    };
    let nodes = graph.nodes.iter().map(|node| NodeSpec {
        name: node.name.clone(),
        role: role(node.role),
        clock_tolerance: ClockTolerance::EXACT,
        mtu: None,
    });
    let links = graph.links.iter().map(|link| LinkSpec {
        llr: None,
        a: link.a,
        b: link.b,
        rates: link.rates,
        wire_rates: link.wire_rates,
        delay: link.delay,
        cable: link.cable,
        overhead: link.overhead,
        response_time: None,
        cost: link.cost,
    });
    Spec {
        seed: 1,
        path_seed: 1,
        duration: options.duration,
        warmup: Time::ZERO,
        nodes: nodes.collect(),
        links: links.collect(),
        flows,
        probes: ProbeSpec {
            bin: options.probes.then_some(Time::from_us(100)),
            pauses: options.probes,
            chosen: None,
        },
        on_lossless_drop: OnLosslessDrop::Stop,
        faults: Vec::new(),
        guards: Default::default(),
        negotiated: Vec::new(),
        domains: Vec::new(),
        waits: Vec::new(),
        jobs: Vec::new(),
    }
}
