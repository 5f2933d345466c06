//! Nodes and links: the topology's graph, names, rates, what is connected with what.

use super::{Context, phy};
use crate::diagnostics::nearest;
use crate::model::{Explicit, ExplicitLink, LinkText, Topology, data_rate};
use crate::place::Place;
use fabric::spec::LinkSpec;
use fabric::topology::{
    self, Cable, Graph, GraphLink, GraphNode, MAX_LINKS, MAX_NODES, NodeRole, TopologyError,
};
use flow_control::headroom::response_time_of;
use flow_control::phy::Phy;
use frame::NodeId;
use std::collections::BTreeMap;
use units::{BitRate, LineCode, Time, WireClock};

/// The slowest and the fastest link.
const SLOWEST: BitRate = BitRate::from_bps(1_000_000);
const FASTEST: BitRate = BitRate::from_gbps(1600);
/// No node has more ports than this.
pub const MAX_PORTS: usize = 1 << 16;

/// The checked graph with its names.
pub struct Fabric {
    pub graph: Graph,
    names: BTreeMap<String, NodeId>,
    /// For each switch its group of connected switches, for each host 0.
    group: Vec<u32>,
    neighbours: Vec<Vec<NodeId>>,
    /// The fastest link of each node.
    pub rate: Vec<Option<BitRate>>,
    /// The PHY of each link, if it has one.
    phys: Vec<Option<&'static Phy>>,
    /// The line code of each link, if it has one.
    line_codes: Vec<Option<LineCode>>,
}

impl Fabric {
    /// The node of this name.
    pub fn find(&self, name: &str) -> Option<NodeId> {
        self.names.get(name).copied()
    }
    pub fn name(&self, node: NodeId) -> &str {
        &self.graph.nodes[node.at()].name
    }
    pub fn is_host(&self, node: NodeId) -> bool {
        self.graph.nodes[node.at()].role == NodeRole::Host
    }
    /// What was probably meant by an unknown name, as a sentence.
    pub fn hint(&self, name: &str, role: Option<NodeRole>) -> String {
        let of_role = |node: &&GraphNode| role.is_none_or(|role| node.role == role);
        let candidates: Vec<&str> =
            self.graph.nodes.iter().filter(of_role).map(|node| node.name.as_str()).take(10_000).collect();
        let (kind, is_there) = match role {
            Some(NodeRole::Host) => ("hosts are", "host"),
            Some(NodeRole::Switch) => ("switches are", "switch"),
            None => ("nodes are", "node"),
        };
        let list = match candidates.as_slice() {
            [] => format!("there is no {is_there}"),
            few if few.len() <= 8 => format!("{kind} {}", few.join(", ")),
            many => format!("{kind} {}, {}, ... {}", many[0], many[1], many[many.len() - 1]),
        };
        match nearest(name, candidates) {
            Some(meant) => format!("{list}; did you mean \"{meant}\"?"),
            None => list,
        }
    }
    /// The nodes at the other ends of its links.
    pub fn neighbours(&self, node: NodeId) -> &[NodeId] {
        &self.neighbours[node.at()]
    }
    pub fn linked(&self, a: NodeId, b: NodeId) -> bool {
        self.neighbours[a.at()].contains(&b)
    }
    /// Whether every node reaches every host.
    pub fn is_one_piece(&self) -> bool {
        let nodes = (0..self.graph.nodes.len() as u32).map(NodeId);
        nodes.into_iter().all(|node| self.groups(node).any(|group| group == 1))
            && self.group.iter().all(|&group| group <= 1)
    }
    /// Whether frames can come from `a` to the host `b`: directly or through switches.
    pub fn reaches(&self, a: NodeId, b: NodeId) -> bool {
        self.linked(a, b) || self.groups(a).any(|one| self.groups(b).any(|other| one == other))
    }
    fn groups(&self, node: NodeId) -> impl Iterator<Item = u32> + '_ {
        let own = std::iter::once(node).chain(self.neighbours[node.at()].iter().copied());
        own.filter(|&node| !self.is_host(node)).map(|node| self.group[node.at()])
    }
    pub fn links(&self) -> Vec<LinkSpec> {
        let link = |(link, phy): (&GraphLink, &Option<&Phy>)| LinkSpec {
            a: link.a,
            b: link.b,
            rate: link.rate,
            delay: link.delay,
            overhead: link.overhead,
            response_time: phy.and_then(response_time_of),
        };
        self.graph.links.iter().zip(&self.phys).map(link).collect()
    }
    /// The line code of a link: rates of it that are written down are rates on the wire.
    pub fn line_code(&self, link: u32) -> Option<LineCode> {
        self.line_codes[link as usize]
    }
    pub fn levels(&self) -> Vec<u8> {
        self.graph.nodes.iter().map(|node| node.level).collect()
    }
}

/// The fabric, if nothing is wrong with it.
pub fn lower(topology: &Topology, context: &mut Context<'_>) -> Option<Fabric> {
    let at = Place::of("topology");
    let at = at.key(kind(topology));
    let (mut graph, place) = context.clean(|context| match topology {
        Topology::Explicit(explicit) => {
            explicit_graph(explicit, &at, context).map(|graph| (graph, at.clone()))
        }
        named => named_graph(named, &at, context).map(|(graph, widest)| (graph, at.key(widest))),
    })??;
    let phys = context.clean(|context| phy::lower(&mut graph, topology, &at, context))?;
    context.clean(|context| index(graph, phys, topology, &place, context))
}

fn kind(topology: &Topology) -> &'static str {
    match topology {
        Topology::Star(_) => "star",
        Topology::Dumbbell(_) => "dumbbell",
        Topology::Chain(_) => "chain",
        Topology::Ring(_) => "ring",
        Topology::LeafSpine(_) => "leaf_spine",
        Topology::FatTree(_) => "fat_tree",
        Topology::NTree(_) => "n_tree",
        Topology::Explicit(_) => "explicit",
    }
}

/// The graph of a topology and the key of its largest count.
fn named_graph(topology: &Topology, at: &Place, context: &mut Context<'_>) -> Option<(Graph, &'static str)> {
    // A count past 32 bits is past the limit of nodes as well: the generators refuse both alike.
    let count = |n: u64| u32::try_from(n).unwrap_or(u32::MAX);
    let link = topology.link()?;
    let cable = cable(link, at, context)?;
    let mut extra_rate = |key: &str, rate: Option<BitRate>| {
        rate.map(|rate| check_rate(rate, link.line_code, &at.key(key), context))
    };
    let (graph, counts): (Result<Graph, TopologyError>, Vec<(&'static str, u64)>) = match topology {
        Topology::Star(it) => {
            (topology::Star { hosts: count(it.hosts), cable }.graph(), vec![("hosts", it.hosts)])
        }
        Topology::Dumbbell(it) => {
            let graph = topology::Dumbbell {
                left: count(it.left),
                right: count(it.right),
                bottleneck_rate: extra_rate("bottleneck_rate", it.bottleneck_rate),
                bottleneck_delay: it.bottleneck_delay,
                cable,
            };
            (graph.graph(), vec![("left", it.left), ("right", it.right)])
        }
        Topology::Chain(it) => {
            let graph = topology::Chain {
                switches: count(it.switches),
                hosts_per_switch: count(it.hosts_per_switch),
                cable,
            };
            (graph.graph(), vec![("switches", it.switches), ("hosts_per_switch", it.hosts_per_switch)])
        }
        Topology::Ring(it) => {
            let graph = topology::Ring {
                switches: count(it.switches),
                hosts_per_switch: count(it.hosts_per_switch),
                cable,
            };
            (graph.graph(), vec![("switches", it.switches), ("hosts_per_switch", it.hosts_per_switch)])
        }
        Topology::LeafSpine(it) => {
            let graph = topology::LeafSpine {
                leaves: count(it.leaves),
                spines: count(it.spines),
                hosts_per_leaf: count(it.hosts_per_leaf),
                uplink_rate: extra_rate("uplink_rate", it.uplink_rate),
                cable,
            };
            let counts =
                vec![("leaves", it.leaves), ("spines", it.spines), ("hosts_per_leaf", it.hosts_per_leaf)];
            (graph.graph(), counts)
        }
        Topology::FatTree(it) => (topology::FatTree { k: count(it.k), cable }.graph(), vec![("k", it.k)]),
        Topology::NTree(it) => (
            topology::NTree { k: count(it.k), n: count(it.n), cable }.graph(),
            vec![("k", it.k), ("n", it.n)],
        ),
        Topology::Explicit(_) => return None,
    };
    let widest = counts.iter().max_by_key(|(_, value)| *value).map_or("rate", |(key, _)| key);
    graph.map(|graph| (graph, widest)).map_err(|why| refuse(why, &counts, at, context)).ok()
}

fn refuse(why: TopologyError, counts: &[(&str, u64)], at: &Place, context: &mut Context<'_>) {
    let text = why.to_string();
    let (message, help) = match text.split_once(": ") {
        Some((message, help)) => (message, help),
        None => (text.as_str(), ""),
    };
    match why {
        TopologyError::TooSmall { parameter, .. } => context.error(&at.key(parameter), message, help),
        TopologyError::OddPorts { .. } => context.error(&at.key("k"), message, help),
        TopologyError::TooLarge => {
            let Some((key, value)) = counts.iter().max_by_key(|(_, value)| *value) else { return };
            context.error(
                &at.key(key),
                format!("{key} = {value}: {message}"),
                format!("{help} are simulated"),
            );
        }
    }
}

/// Checks what a link says about itself.
fn cable(link: LinkText, at: &Place, context: &mut Context<'_>) -> Option<Cable> {
    context.clean(|context| {
        let rate = check_rate(link.rate, link.line_code, &at.key("rate"), context);
        if link.delay.is_some() && link.length.is_some() {
            context.error(
                &at.key("length"),
                "both delay and length are given",
                "keep one of them: a length is 5 ns/m of delay",
            );
        }
        if link.phy.is_some() && link.interface_delay != Time::ZERO {
            context.error(
                &at.key("interface_delay"),
                "both phy and interface_delay are given",
                "keep one of them: a PHY is a delay of the interfaces",
            );
        }
        let cable_delay = link.delay.or(link.length.map(|length| length.fibre_delay_saturating()));
        let delay = cable_delay.unwrap_or_default().saturating_add(link.interface_delay);
        if delay > LONGEST_DELAY {
            let key = if link.length.is_some() { "length" } else { "delay" };
            context.error(
                &at.key(key),
                format!("a one-way delay of {delay} is too long"),
                format!("expected at most \"{LONGEST_DELAY}\""),
            );
        }
        let overhead = u16::try_from(link.overhead.get()).unwrap_or_else(|_| {
            context.error(
                &at.key("overhead"),
                format!("overhead {} is too large", link.overhead),
                "expected 0 B to 65535 B; Ethernet has \"20 B\"",
            );
            0
        });
        Cable { rate, delay, overhead }
    })
}

/// Longer than to the moon and back: a slip of the unit.
const LONGEST_DELAY: Time = Time::from_ms(10_000);

trait FibreDelay {
    fn fibre_delay_saturating(self) -> Time;
}
impl FibreDelay for units::Length {
    fn fibre_delay_saturating(self) -> Time {
        // 5 ps a millimetre; a length near the end of the range would overflow.
        if self.mm() > u64::MAX / 16 { LONGEST_DELAY * 2 } else { self.fibre_delay() }
    }
}

/// Checks the rate of a link, which with a line code is that on the wire; the rate of data.
pub fn check_rate(
    rate: BitRate,
    line_code: Option<LineCode>,
    at: &Place,
    context: &mut Context<'_>,
) -> BitRate {
    let data = data_rate(rate, line_code);
    let accepted = "expected a rate from \"1 Mb/s\" to \"1.6 Tb/s\"";
    if rate.bps() == 0 {
        context.error(at, "the rate of a link is 0", accepted);
    } else if rate < SLOWEST || rate > FASTEST {
        context.error(at, format!("a link of {rate} is outside the range"), accepted);
    } else if !WireClock::supports(data) {
        context.error(
            at,
            format!("a link of {rate} has no exact byte time"),
            format!(
                "expected a rate with fewer digits, like \"{}\"",
                BitRate::from_bps(rate.bps() / 1000 * 1000)
            ),
        );
    } else if line_code == Some(LineCode::SixtyFourSixtySix) && Phy::at(rate).next().is_some() {
        let wire = BitRate::from_bps(rate.bps() / 64 * 66);
        context.warn(
            at,
            format!("a link of {rate} on the wire carries {data} with 64b/66b"),
            format!("the {rate} of Ethernet are the rate of data: expected \"{wire}\", or no line_code"),
        );
    }
    data
}

fn explicit_graph(explicit: &Explicit, at: &Place, context: &mut Context<'_>) -> Option<Graph> {
    let nodes = explicit.hosts.len() + explicit.switches.len();
    let links = explicit.links.iter().fold(0u64, |sum, link| sum.saturating_add(link.count));
    if nodes as u64 > MAX_NODES {
        context.error(
            &at.key("hosts"),
            format!("{nodes} nodes are too many"),
            format!("expected at most {MAX_NODES}"),
        );
        return None;
    }
    if links > MAX_LINKS {
        let widest = (0..explicit.links.len()).max_by_key(|&i| explicit.links[i].count).unwrap_or(0);
        let at = at.key("links").index(widest).key("count");
        context.error(&at, format!("{links} links are too many"), format!("expected at most {MAX_LINKS}"));
        return None;
    }
    let mut graph = Graph::default();
    let mut names: BTreeMap<&str, NodeId> = BTreeMap::new();
    let both = [
        ("hosts", &explicit.hosts, NodeRole::Host, 0),
        ("switches", &explicit.switches, NodeRole::Switch, 1),
    ];
    for (key, list, role, level) in both {
        for (i, name) in list.iter().enumerate() {
            let at = at.key(key).index(i);
            if !is_name(name) {
                context.error(&at, format!("\"{name}\" is no name"), NAME_HELP);
            } else if names.insert(name, NodeId(graph.nodes.len() as u32)).is_some() {
                context.error(
                    &at,
                    format!("the name \"{name}\" is used twice"),
                    "hosts and switches need different names",
                );
            }
            graph.nodes.push(GraphNode { name: name.clone(), role, level });
        }
    }
    if explicit.hosts.is_empty() {
        context.error(&at.key("hosts"), "there is no host", "expected at least one name");
    }
    for (i, link) in explicit.links.iter().enumerate() {
        if context.full() {
            break;
        }
        let at = at.key("links").index(i);
        graph.links.extend(explicit_link(link, &names, &at, context).into_iter().flatten());
    }
    Some(graph)
}

/// A link of an explicit topology, as often as it says.
fn explicit_link(
    link: &ExplicitLink,
    names: &BTreeMap<&str, NodeId>,
    at: &Place,
    context: &mut Context<'_>,
) -> Option<impl Iterator<Item = GraphLink>> {
    let cable = cable(link.link(), at, context);
    if link.count == 0 {
        context.error(&at.key("count"), "count is 0", "expected at least 1");
    }
    let mut end = |name: &str, which: usize| {
        let found = names.get(name).copied();
        if found.is_none() {
            let hint = nearest(name, names.keys().copied())
                .map_or(String::new(), |n| format!("; did you mean \"{n}\"?"));
            let place = at.key("between").index(which);
            context.error(
                &place,
                format!("unknown node \"{name}\""),
                format!("expected one of hosts or switches above{hint}"),
            );
        }
        found
    };
    let ends = (end(&link.between.0, 0), end(&link.between.1, 1));
    let (a, b, cable) = (ends.0?, ends.1?, cable?);
    if a == b {
        let message = format!("a link from \"{}\" to itself", link.between.0);
        context.error(&at.key("between"), message, "expected two different nodes");
        return None;
    }
    let one = GraphLink { a, b, rate: cable.rate, delay: cable.delay, overhead: cable.overhead };
    Some(std::iter::repeat_n(one, usize::try_from(link.count).unwrap_or(0)))
}

const NAME_HELP: &str = "expected letters without spaces, *, quotes, brackets or \"all\"; several names are a range like \"h0..h31\"";

/// Names must not look like patterns or lists, and must fit a column of a result.
pub fn is_name(name: &str) -> bool {
    let fits = |c: char| !c.is_control() && !c.is_whitespace() && !"*\"'[]{},".contains(c);
    !name.is_empty() && name.len() <= 200 && name != "all" && name.chars().all(fits)
}

fn index(
    graph: Graph,
    phys: Vec<Option<&'static Phy>>,
    topology: &Topology,
    at: &Place,
    context: &mut Context<'_>,
) -> Fabric {
    let mut neighbours = vec![Vec::new(); graph.nodes.len()];
    let mut rate: Vec<Option<BitRate>> = vec![None; graph.nodes.len()];
    for link in &graph.links {
        neighbours[link.a.at()].push(link.b);
        neighbours[link.b.at()].push(link.a);
        for end in [link.a, link.b] {
            rate[end.at()] = rate[end.at()].max(Some(link.rate));
        }
    }
    let explicit_place = |node: usize| match topology {
        Topology::Explicit(explicit) if node < explicit.hosts.len() => at.key("hosts").index(node),
        Topology::Explicit(explicit) => at.key("switches").index(node - explicit.hosts.len()),
        _ => at.clone(),
    };
    for (node, ports) in neighbours.iter().enumerate() {
        let name = &graph.nodes[node].name;
        if ports.is_empty() {
            context.error(
                &explicit_place(node),
                format!("\"{name}\" is not connected"),
                "expected at least one link that names it",
            );
        } else if ports.len() > MAX_PORTS {
            let message = format!("\"{name}\" has {} ports", ports.len());
            context.error(
                &explicit_place(node),
                message,
                format!("expected at most {MAX_PORTS} ports a node"),
            );
        }
    }
    let names = (0..).zip(&graph.nodes).map(|(id, node)| (node.name.clone(), NodeId(id))).collect();
    let group = groups(&graph, &neighbours);
    let line_codes = topology.line_codes(graph.links.len());
    Fabric { graph, names, group, neighbours, rate, phys, line_codes }
}

/// Numbers the groups of switches that are connected through switches.
fn groups(graph: &Graph, neighbours: &[Vec<NodeId>]) -> Vec<u32> {
    let mut group = vec![0; graph.nodes.len()];
    let mut last = 0;
    let mut stack = Vec::new();
    for first in graph.switches() {
        if group[first.at()] != 0 {
            continue;
        }
        last += 1;
        group[first.at()] = last;
        stack.push(first);
        while let Some(node) = stack.pop() {
            for &next in &neighbours[node.at()] {
                if graph.nodes[next.at()].role == NodeRole::Switch && group[next.at()] == 0 {
                    group[next.at()] = last;
                    stack.push(next);
                }
            }
        }
    }
    group
}
