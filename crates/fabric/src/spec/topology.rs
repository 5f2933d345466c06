//! Named topologies as plain graphs: star, dumbbell, chain, ring, leaf-spine, fat-tree, k-ary n-tree.
//!
//! Sources: the k-ary fat-tree of Al-Fares, Loukissas and Vahdat (SIGCOMM 2008, §2.2) and the k-ary n-tree
//! of Petrini and Vanneschi (IPPS 1997, §2), whose digits are numbered as in Martinez 2006: host p attaches
//! to switch p / k of the lowest level, and switches of levels l and l + 1 are joined if their numbers
//! agree in all digits but digit l. The others are common knowledge.
//!
//! Scope: which nodes there are, what they are called, how they are cabled. What a node does is decided
//! elsewhere. The ports of a node are numbered in the order of its links in [`Graph::links`]: ports down to
//! hosts come first, ports to other switches after them.
//!
//! Not modelled: several links between the same two switches, and pods that are only partly built; such
//! fabrics are described link by link.

use frame::NodeId;
use std::fmt;
use units::{BitRate, Time};

/// No topology has more nodes than this.
pub const MAX_NODES: u64 = 1 << 21;
/// No topology has more links than this.
pub const MAX_LINKS: u64 = 1 << 23;

/// What a node is.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum NodeRole {
    /// An end station: frames begin and end here and never pass through.
    Host,
    /// A switch.
    Switch,
}

/// A host or a switch; its [`NodeId`] is its index in [`Graph::nodes`].
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct GraphNode {
    /// Unique name.
    pub name: String,
    /// What it is.
    pub role: NodeRole,
    /// Height in a drawing: 0 for hosts, 1 for switches with hosts, 2 and more for what lies above.
    pub level: u8,
}

/// A full-duplex link.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct GraphLink {
    /// One end; in a tree the lower one.
    pub a: NodeId,
    /// The other end.
    pub b: NodeId,
    /// Rate of data in each direction.
    pub rate: BitRate,
    /// One-way delay of cable and interfaces.
    pub delay: Time,
    /// Bytes around each frame on the wire.
    pub overhead: u16,
}

/// Nodes and the links between them.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Graph {
    /// Hosts and switches. Hosts stand next to the switch they hang on, so that a range of nodes is a
    /// piece of the fabric.
    pub nodes: Vec<GraphNode>,
    /// Links.
    pub links: Vec<GraphLink>,
}

impl Graph {
    /// The hosts in the order of their numbers.
    pub fn hosts(&self) -> impl Iterator<Item = NodeId> + '_ {
        self.with_role(NodeRole::Host)
    }
    /// The switches in the order of their ids.
    pub fn switches(&self) -> impl Iterator<Item = NodeId> + '_ {
        self.with_role(NodeRole::Switch)
    }
    fn with_role(&self, role: NodeRole) -> impl Iterator<Item = NodeId> + '_ {
        (0..).zip(&self.nodes).filter(move |(_, node)| node.role == role).map(|(id, _)| NodeId(id))
    }

    fn host(&mut self, name: String) -> NodeId {
        self.node(name, NodeRole::Host, 0)
    }
    fn switch(&mut self, name: String, level: u8) -> NodeId {
        self.node(name, NodeRole::Switch, level)
    }
    fn node(&mut self, name: String, role: NodeRole, level: u8) -> NodeId {
        let id = NodeId(self.nodes.len() as u32);
        self.nodes.push(GraphNode { name, role, level });
        id
    }
    fn link(&mut self, a: NodeId, b: NodeId, cable: Cable) {
        self.links.push(GraphLink { a, b, rate: cable.rate, delay: cable.delay, overhead: cable.overhead });
    }
}

/// What all links of a topology have in common.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Cable {
    /// Rate of data in each direction in b/s; 1 Mb/s to 1.6 Tb/s, no default.
    pub rate: BitRate,
    /// One-way delay of cable and interfaces; 0 or more. Default: 2 m of fibre at 5 ns/m, 10 ns.
    pub delay: Time,
    /// Bytes around each frame on the wire; 0 to 65535. Default: 20 B, preamble, start delimiter and
    /// inter-frame gap of IEEE 802.3.
    pub overhead: u16,
}

/// Why a topology cannot be built. The message says what is accepted.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum TopologyError {
    /// A parameter is below its least value.
    TooSmall {
        /// Its name in a scenario.
        parameter: &'static str,
        /// The least value.
        least: u32,
        /// The value that was given.
        value: u32,
    },
    /// The number of ports of a fat-tree's switches is odd.
    OddPorts {
        /// The value that was given.
        k: u32,
    },
    /// The fabric would be larger than [`MAX_NODES`] or [`MAX_LINKS`].
    TooLarge,
}

impl fmt::Display for TopologyError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            TopologyError::TooSmall { parameter, least, value } => {
                write!(f, "{parameter} = {value} is too small: expected at least {least}")
            }
            TopologyError::OddPorts { k } => {
                write!(f, "k = {k} is odd: half of a fat-tree switch's ports go up, so k has to be even")
            }
            TopologyError::TooLarge => {
                write!(f, "the fabric is too large: at most {MAX_NODES} nodes and {MAX_LINKS} links")
            }
        }
    }
}
impl std::error::Error for TopologyError {}

fn at_least(parameter: &'static str, least: u32, value: u32) -> Result<(), TopologyError> {
    if value < least { Err(TopologyError::TooSmall { parameter, least, value }) } else { Ok(()) }
}

/// Refuses fabrics that would not fit; `None` stands for a number past the range of `u64`.
fn within_limits(nodes: Option<u64>, links: Option<u64>) -> Result<(), TopologyError> {
    match (nodes, links) {
        (Some(nodes), Some(links)) if nodes <= MAX_NODES && links <= MAX_LINKS => Ok(()),
        _ => Err(TopologyError::TooLarge),
    }
}

/// One switch `sw` with hosts `h0`, `h1`, ...; host i hangs on port i.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Star {
    /// Number of hosts; 1 or more, no default.
    pub hosts: u32,
    /// All links.
    pub cable: Cable,
}

impl Star {
    /// Nodes and links.
    pub fn graph(&self) -> Result<Graph, TopologyError> {
        at_least("hosts", 1, self.hosts)?;
        within_limits(Some(u64::from(self.hosts) + 1), Some(self.hosts.into()))?;
        let mut graph = Graph::default();
        let switch = graph.switch("sw".into(), 1);
        for i in 0..self.hosts {
            let host = graph.host(format!("h{i}"));
            graph.link(host, switch, self.cable);
        }
        Ok(graph)
    }
}

/// Hosts `l0`, ... on switch `left`, hosts `r0`, ... on switch `right`, one link between the switches.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Dumbbell {
    /// Hosts on the left; 1 or more, no default.
    pub left: u32,
    /// Hosts on the right; 1 or more, no default.
    pub right: u32,
    /// Rate of the link between the switches; `None`: that of all links.
    pub bottleneck_rate: Option<BitRate>,
    /// One-way delay of the link between the switches; `None`: that of all links.
    pub bottleneck_delay: Option<Time>,
    /// All other links.
    pub cable: Cable,
}

impl Dumbbell {
    /// Nodes and links.
    pub fn graph(&self) -> Result<Graph, TopologyError> {
        at_least("left", 1, self.left)?;
        at_least("right", 1, self.right)?;
        let hosts = u64::from(self.left) + u64::from(self.right);
        within_limits(Some(hosts + 2), Some(hosts + 1))?;
        let mut graph = Graph::default();
        let mut side = |name: &str, letter: char, hosts: u32| {
            let switch = graph.switch(name.into(), 1);
            for i in 0..hosts {
                let host = graph.host(format!("{letter}{i}"));
                graph.link(host, switch, self.cable);
            }
            switch
        };
        let left = side("left", 'l', self.left);
        let right = side("right", 'r', self.right);
        let bottleneck = Cable {
            rate: self.bottleneck_rate.unwrap_or(self.cable.rate),
            delay: self.bottleneck_delay.unwrap_or(self.cable.delay),
            ..self.cable
        };
        graph.link(left, right, bottleneck);
        Ok(graph)
    }
}

/// Switches `sw0`, `sw1`, ... in a row, each with hosts `h{switch}.{i}`.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Chain {
    /// Number of switches; 1 or more, no default.
    pub switches: u32,
    /// Hosts on each switch; 1 or more, no default.
    pub hosts_per_switch: u32,
    /// All links.
    pub cable: Cable,
}

impl Chain {
    /// Nodes and links.
    pub fn graph(&self) -> Result<Graph, TopologyError> {
        at_least("switches", 1, self.switches)?;
        row(self.switches, self.hosts_per_switch, self.cable).map(|(graph, _)| graph)
    }
}

/// A [`Chain`] whose last switch is linked to its first.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Ring {
    /// Number of switches; 3 or more (two would only have two parallel links), no default.
    pub switches: u32,
    /// Hosts on each switch; 1 or more, no default.
    pub hosts_per_switch: u32,
    /// All links.
    pub cable: Cable,
}

impl Ring {
    /// Nodes and links.
    pub fn graph(&self) -> Result<Graph, TopologyError> {
        at_least("switches", 3, self.switches)?;
        let (mut graph, switches) = row(self.switches, self.hosts_per_switch, self.cable)?;
        graph.link(switches[switches.len() - 1], switches[0], self.cable);
        Ok(graph)
    }
}

/// Switches in a row with their hosts; also the ids of the switches.
fn row(switches: u32, hosts_per_switch: u32, cable: Cable) -> Result<(Graph, Vec<NodeId>), TopologyError> {
    at_least("hosts_per_switch", 1, hosts_per_switch)?;
    let nodes = u64::from(switches).checked_mul(u64::from(hosts_per_switch) + 1);
    within_limits(nodes, nodes)?;
    let mut graph = Graph::default();
    let ids: Vec<NodeId> = (0..switches)
        .map(|s| {
            let switch = graph.switch(format!("sw{s}"), 1);
            for i in 0..hosts_per_switch {
                let host = graph.host(format!("h{s}.{i}"));
                graph.link(host, switch, cable);
            }
            switch
        })
        .collect();
    for pair in ids.windows(2) {
        graph.link(pair[0], pair[1], cable);
    }
    Ok((graph, ids))
}

/// Leaves `leaf0`, ... each linked once to every spine `spine0`, ...; hosts `h0`, ... numbered across leaves.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct LeafSpine {
    /// Number of leaves; 1 or more, no default.
    pub leaves: u32,
    /// Number of spines; 1 or more, no default.
    pub spines: u32,
    /// Hosts on each leaf; 1 or more, no default.
    pub hosts_per_leaf: u32,
    /// Rate of the links between leaves and spines; `None`: that of all links.
    pub uplink_rate: Option<BitRate>,
    /// All links.
    pub cable: Cable,
}

impl LeafSpine {
    /// Nodes and links.
    pub fn graph(&self) -> Result<Graph, TopologyError> {
        at_least("leaves", 1, self.leaves)?;
        at_least("spines", 1, self.spines)?;
        at_least("hosts_per_leaf", 1, self.hosts_per_leaf)?;
        let (leaves, spines) = (u64::from(self.leaves), u64::from(self.spines));
        let per_leaf = u64::from(self.hosts_per_leaf);
        within_limits(
            leaves.checked_mul(per_leaf + 1).and_then(|n| n.checked_add(spines)),
            leaves.checked_mul(per_leaf + spines),
        )?;
        let mut graph = Graph::default();
        let mut hosts = 0..;
        let leaves: Vec<NodeId> = (0..self.leaves)
            .map(|l| {
                let leaf = graph.switch(format!("leaf{l}"), 1);
                for h in hosts.by_ref().take(self.hosts_per_leaf as usize) {
                    let host = graph.host(format!("h{h}"));
                    graph.link(host, leaf, self.cable);
                }
                leaf
            })
            .collect();
        let spines: Vec<NodeId> = (0..self.spines).map(|s| graph.switch(format!("spine{s}"), 2)).collect();
        let uplink = Cable { rate: self.uplink_rate.unwrap_or(self.cable.rate), ..self.cable };
        for &leaf in &leaves {
            for &spine in &spines {
                graph.link(leaf, spine, uplink);
            }
        }
        Ok(graph)
    }
}

/// The k-ary fat-tree: k pods of k/2 switches `edge{p}.{i}` and k/2 switches `agg{p}.{i}`, (k/2)² switches
/// `core{c}`, k³/4 hosts `h0`, ... numbered in order. Every switch has k ports.
///
/// Aggregation switch i of every pod is linked to cores i·k/2 to (i + 1)·k/2 - 1.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct FatTree {
    /// Ports of each switch; even, 2 or more, no default.
    pub k: u32,
    /// All links.
    pub cable: Cable,
}

impl FatTree {
    /// Nodes and links.
    pub fn graph(&self) -> Result<Graph, TopologyError> {
        let k = self.k;
        at_least("k", 2, k)?;
        if !k.is_multiple_of(2) {
            return Err(TopologyError::OddPorts { k });
        }
        let half = k / 2;
        // k³/4 hosts, k² switches in the pods, k²/4 cores; three tiers of k³/4 links.
        let (wide, square) = (u64::from(k), u64::from(k) * u64::from(k));
        let hosts = (square / 4).checked_mul(wide);
        within_limits(
            hosts.and_then(|n| n.checked_add(square)).and_then(|n| n.checked_add(square / 4)),
            hosts.and_then(|n| n.checked_mul(3)),
        )?;
        let mut graph = Graph::default();
        let mut hosts = 0..;
        let mut aggregation = Vec::new();
        for p in 0..k {
            let edges: Vec<NodeId> = (0..half)
                .map(|i| {
                    let edge = graph.switch(format!("edge{p}.{i}"), 1);
                    for h in hosts.by_ref().take(half as usize) {
                        let host = graph.host(format!("h{h}"));
                        graph.link(host, edge, self.cable);
                    }
                    edge
                })
                .collect();
            let above: Vec<NodeId> = (0..half).map(|i| graph.switch(format!("agg{p}.{i}"), 2)).collect();
            for &edge in &edges {
                for &agg in &above {
                    graph.link(edge, agg, self.cable);
                }
            }
            aggregation.push(above);
        }
        let cores: Vec<NodeId> = (0..half * half).map(|c| graph.switch(format!("core{c}"), 3)).collect();
        for above in &aggregation {
            for (i, &agg) in above.iter().enumerate() {
                for &core in &cores[i * half as usize..][..half as usize] {
                    graph.link(agg, core, self.cable);
                }
            }
        }
        Ok(graph)
    }
}

/// The k-ary n-tree: kⁿ hosts `h0`, ... and n levels of kⁿ⁻¹ switches `s{level}.{i}` with k ports down
/// and k ports up (none up in the highest level).
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct NTree {
    /// Ports down, and ports up, of each switch; 2 or more, no default.
    pub k: u32,
    /// Levels of switches; 1 or more, no default.
    pub n: u32,
    /// All links.
    pub cable: Cable,
}

impl NTree {
    /// Nodes and links.
    pub fn graph(&self) -> Result<Graph, TopologyError> {
        let (k, n) = (self.k, self.n);
        at_least("k", 2, k)?;
        at_least("n", 1, n)?;
        let hosts = u64::from(k).checked_pow(n);
        let switches = u64::from(k).checked_pow(n - 1).and_then(|w| w.checked_mul(n.into()));
        within_limits(
            hosts.zip(switches).and_then(|(h, s)| h.checked_add(s)),
            hosts.and_then(|h| h.checked_mul(n.into())),
        )?;
        let width = k.pow(n - 1);
        let mut graph = Graph::default();
        let mut below: Vec<NodeId> = (0..width)
            .map(|w| {
                let switch = graph.switch(format!("s0.{w}"), 1);
                for h in w * k..(w + 1) * k {
                    let host = graph.host(format!("h{h}"));
                    graph.link(host, switch, self.cable);
                }
                switch
            })
            .collect();
        for l in 0..n - 1 {
            let above: Vec<NodeId> =
                (0..width).map(|w| graph.switch(format!("s{}.{w}", l + 1), l as u8 + 2)).collect();
            let digit = k.pow(l);
            for w in 0..width {
                let without_digit = w - w / digit % k * digit;
                for up in 0..k {
                    let joined = without_digit + up * digit;
                    graph.link(below[w as usize], above[joined as usize], self.cable);
                }
            }
            below = above;
        }
        Ok(graph)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;
    use std::collections::BTreeSet;

    const CABLE: Cable = Cable { rate: BitRate::from_gbps(10), delay: Time::from_ns(10), overhead: 20 };

    fn degrees(graph: &Graph) -> Vec<u32> {
        let mut degrees = vec![0; graph.nodes.len()];
        for link in &graph.links {
            degrees[link.a.at()] += 1;
            degrees[link.b.at()] += 1;
        }
        degrees
    }

    fn degree_of(graph: &Graph, name: &str) -> u32 {
        degrees(graph)[graph.nodes.iter().position(|node| node.name == name).unwrap()]
    }

    /// Names unique, hosts with one link at level 0, every node reachable from every other.
    fn check(graph: &Graph, hosts: usize, switches: usize, links: usize) {
        assert_eq!(
            (graph.hosts().count(), graph.switches().count(), graph.links.len()),
            (hosts, switches, links)
        );
        let names: BTreeSet<&str> = graph.nodes.iter().map(|node| node.name.as_str()).collect();
        assert_eq!(names.len(), graph.nodes.len());
        let degrees = degrees(graph);
        for (node, degree) in graph.nodes.iter().zip(&degrees) {
            assert_eq!(node.role == NodeRole::Host, node.level == 0);
            assert!(node.role == NodeRole::Switch || *degree == 1, "{} has {degree} links", node.name);
        }
        let mut neighbours = vec![Vec::new(); graph.nodes.len()];
        for link in &graph.links {
            assert_ne!(link.a, link.b);
            neighbours[link.a.at()].push(link.b);
            neighbours[link.b.at()].push(link.a);
        }
        // Links go both ways, so reaching all nodes from one is reaching all from all.
        let (mut seen, mut stack) = (vec![false; graph.nodes.len()], vec![NodeId(0)]);
        seen[0] = true;
        while let Some(node) = stack.pop() {
            for &next in &neighbours[node.at()] {
                if !std::mem::replace(&mut seen[next.at()], true) {
                    stack.push(next);
                }
            }
        }
        assert!(seen.into_iter().all(|s| s));
    }

    fn host_names(graph: &Graph) -> Vec<&str> {
        graph.hosts().map(|h| graph.nodes[h.at()].name.as_str()).collect()
    }

    #[test]
    fn star() {
        let graph = Star { hosts: 4, cable: CABLE }.graph().unwrap();
        check(&graph, 4, 1, 4);
        assert_eq!(host_names(&graph), ["h0", "h1", "h2", "h3"]);
        assert_eq!(degree_of(&graph, "sw"), 4);
    }

    #[test]
    fn dumbbell() {
        let slow = BitRate::from_gbps(1);
        let mut spec =
            Dumbbell { left: 2, right: 3, bottleneck_rate: Some(slow), bottleneck_delay: None, cable: CABLE };
        let graph = spec.graph().unwrap();
        check(&graph, 5, 2, 6);
        assert_eq!(host_names(&graph), ["l0", "l1", "r0", "r1", "r2"]);
        let bottleneck = graph.links[5];
        assert_eq!((bottleneck.rate, bottleneck.delay, bottleneck.overhead), (slow, CABLE.delay, 20));
        assert_eq!((degree_of(&graph, "left"), degree_of(&graph, "right")), (3, 4));
        (spec.bottleneck_rate, spec.bottleneck_delay) = (None, Some(Time::from_us(5)));
        let bottleneck = spec.graph().unwrap().links[5];
        assert_eq!((bottleneck.rate, bottleneck.delay), (CABLE.rate, Time::from_us(5)));
    }

    #[test]
    fn chain_and_ring() {
        let chain = Chain { switches: 4, hosts_per_switch: 2, cable: CABLE }.graph().unwrap();
        check(&chain, 8, 4, 11);
        assert_eq!(host_names(&chain)[..3], ["h0.0", "h0.1", "h1.0"]);
        assert_eq!((degree_of(&chain, "sw0"), degree_of(&chain, "sw1")), (3, 4));
        let ring = Ring { switches: 4, hosts_per_switch: 2, cable: CABLE }.graph().unwrap();
        check(&ring, 8, 4, 12);
        assert!((0..4).all(|s| degree_of(&ring, &format!("sw{s}")) == 4));
        check(&Chain { switches: 1, hosts_per_switch: 3, cable: CABLE }.graph().unwrap(), 3, 1, 3);
    }

    #[test]
    fn leaf_spine() {
        let fast = BitRate::from_gbps(40);
        let spec =
            LeafSpine { leaves: 3, spines: 2, hosts_per_leaf: 4, uplink_rate: Some(fast), cable: CABLE };
        let graph = spec.graph().unwrap();
        check(&graph, 12, 5, 12 + 6);
        assert_eq!((degree_of(&graph, "leaf2"), degree_of(&graph, "spine1")), (6, 3));
        assert_eq!(graph.links.iter().filter(|l| l.rate == fast).count(), 6);
        assert_eq!(host_names(&graph)[11], "h11");
    }

    #[test]
    fn fat_tree_of_the_paper() {
        for (k, hosts, switches) in [(2, 2, 5), (4, 16, 20), (8, 128, 80), (32, 8192, 1280)] {
            let graph = FatTree { k, cable: CABLE }.graph().unwrap();
            check(&graph, hosts, switches, 3 * hosts);
            let degrees = degrees(&graph);
            assert!(graph.switches().all(|s| degrees[s.at()] == k));
        }
        // Every core reaches every pod by exactly one link.
        let graph = FatTree { k: 4, cable: CABLE }.graph().unwrap();
        for core in 0..4 {
            let id = graph.nodes.iter().position(|n| n.name == format!("core{core}")).unwrap();
            let pods: Vec<&str> = graph
                .links
                .iter()
                .filter(|l| l.b.at() == id)
                .map(|l| graph.nodes[l.a.at()].name.as_str())
                .collect();
            assert_eq!(pods, (0..4).map(|p| format!("agg{p}.{}", core / 2)).collect::<Vec<_>>());
        }
    }

    #[test]
    fn four_ary_three_tree_of_martinez() {
        let graph = NTree { k: 4, n: 3, cable: CABLE }.graph().unwrap();
        check(&graph, 64, 48, 64 * 3);
        let degrees = degrees(&graph);
        for switch in graph.switches() {
            let top = graph.nodes[switch.at()].level == 3;
            assert_eq!(degrees[switch.at()], if top { 4 } else { 8 });
        }
        // Switch 1 of level 1 (digits 0, 1) is joined to the switches of level 2 that differ in digit 1.
        let named = |id: NodeId| graph.nodes[id.at()].name.as_str();
        let ups: Vec<&str> =
            graph.links.iter().filter(|l| named(l.a) == "s1.1").map(|l| named(l.b)).collect();
        assert_eq!(ups, ["s2.1", "s2.5", "s2.9", "s2.13"]);
        assert!(graph.links.iter().any(|l| named(l.a) == "h27" && named(l.b) == "s0.6"));
        check(&NTree { k: 5, n: 1, cable: CABLE }.graph().unwrap(), 5, 1, 5);
        check(&NTree { k: 2, n: 5, cable: CABLE }.graph().unwrap(), 32, 80, 160);
    }

    #[test]
    fn impossible_parameters() {
        let too_small = |r: Result<Graph, TopologyError>| match r {
            Err(TopologyError::TooSmall { parameter, .. }) => parameter,
            other => panic!("{other:?}"),
        };
        assert_eq!(too_small(Star { hosts: 0, cable: CABLE }.graph()), "hosts");
        let dumbbell = |left, right| Dumbbell {
            left,
            right,
            bottleneck_rate: None,
            bottleneck_delay: None,
            cable: CABLE,
        };
        assert_eq!(too_small(dumbbell(0, 1).graph()), "left");
        assert_eq!(too_small(dumbbell(1, 0).graph()), "right");
        assert_eq!(too_small(Chain { switches: 0, hosts_per_switch: 1, cable: CABLE }.graph()), "switches");
        assert_eq!(
            too_small(Chain { switches: 1, hosts_per_switch: 0, cable: CABLE }.graph()),
            "hosts_per_switch"
        );
        assert_eq!(too_small(Ring { switches: 2, hosts_per_switch: 1, cable: CABLE }.graph()), "switches");
        let leaf_spine = |leaves, spines, hosts_per_leaf| LeafSpine {
            leaves,
            spines,
            hosts_per_leaf,
            uplink_rate: None,
            cable: CABLE,
        };
        assert_eq!(too_small(leaf_spine(0, 1, 1).graph()), "leaves");
        assert_eq!(too_small(leaf_spine(1, 0, 1).graph()), "spines");
        assert_eq!(too_small(leaf_spine(1, 1, 0).graph()), "hosts_per_leaf");
        assert_eq!(too_small(FatTree { k: 0, cable: CABLE }.graph()), "k");
        assert_eq!(FatTree { k: 5, cable: CABLE }.graph(), Err(TopologyError::OddPorts { k: 5 }));
        assert_eq!(too_small(NTree { k: 1, n: 3, cable: CABLE }.graph()), "k");
        assert_eq!(too_small(NTree { k: 4, n: 0, cable: CABLE }.graph()), "n");
        let message =
            Ring { switches: 2, hosts_per_switch: 1, cable: CABLE }.graph().unwrap_err().to_string();
        assert_eq!(message, "switches = 2 is too small: expected at least 3");
    }

    #[test]
    fn what_does_not_fit_is_refused_at_once() {
        const MAX: u32 = u32::MAX;
        for graph in [
            Star { hosts: MAX, cable: CABLE }.graph(),
            Dumbbell { left: MAX, right: MAX, bottleneck_rate: None, bottleneck_delay: None, cable: CABLE }
                .graph(),
            Chain { switches: MAX, hosts_per_switch: MAX, cable: CABLE }.graph(),
            Ring { switches: MAX, hosts_per_switch: 1, cable: CABLE }.graph(),
            LeafSpine { leaves: MAX, spines: MAX, hosts_per_leaf: MAX, uplink_rate: None, cable: CABLE }
                .graph(),
            FatTree { k: MAX - 1, cable: CABLE }.graph(),
            NTree { k: MAX, n: MAX, cable: CABLE }.graph(),
            NTree { k: 2, n: 64, cable: CABLE }.graph(),
        ] {
            assert_eq!(graph, Err(TopologyError::TooLarge));
        }
    }

    proptest! {
        #![proptest_config(ProptestConfig::with_cases(32))]
        #[test]
        fn every_topology_is_whole(a in 1u32..8, b in 1u32..8, c in 1u32..6) {
            let n = |x: u32| x as usize;
            check(&Star { hosts: a, cable: CABLE }.graph().unwrap(), n(a), 1, n(a));
            check(&Chain { switches: a, hosts_per_switch: b, cable: CABLE }.graph().unwrap(), n(a * b), n(a), n(a * b + a - 1));
            check(&Ring { switches: a + 2, hosts_per_switch: b, cable: CABLE }.graph().unwrap(), n((a + 2) * b), n(a + 2), n((a + 2) * (b + 1)));
            check(&LeafSpine { leaves: a, spines: b, hosts_per_leaf: c, uplink_rate: None, cable: CABLE }.graph().unwrap(), n(a * c), n(a + b), n(a * (b + c)));
            check(&FatTree { k: 2 * c, cable: CABLE }.graph().unwrap(), n(2 * c * c * c), n(5 * c * c), n(6 * c * c * c));
            let (k, levels) = (a % 3 + 2, b % 3 + 1);
            check(&NTree { k, n: levels, cable: CABLE }.graph().unwrap(), n(k.pow(levels)), n(levels * k.pow(levels - 1)), n(levels * k.pow(levels)));
        }
    }
}
