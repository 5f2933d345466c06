//! Topologies: hosts and switches, their names and their links. One file each.
//!
//! The behaviour of nodes is defined elsewhere. The ports of a node are numbered in the order of its links in
//! [`Graph::links`]: ports to hosts come first, followed by ports to other switches.
//!
//! Not modelled: several links between two switches of a named topology; such fabrics are described link by link.

mod cable;
mod chain;
#[cfg(test)]
mod direct_examples;
mod dragonfly;
mod dumbbell;
mod explicit;
mod fat_tree;
mod galois;
mod leaf_spine;
mod n_tree;
mod rails;
mod ring;
mod slim_fly;
mod star;
mod torus;

pub use cable::{Cable, check_rate, data_rate};
pub use explicit::{Between, ExplicitLink, is_name};

use cable::{default_phy, tier, with_cable};
use flow_control::phy::{Phy, PhyName};
use frame::NodeId;
use keys::Remark;
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use units::{BitRate, Length, LineCode, Time};

/// Generates the closed enum of topologies from one list.
macro_rules! topologies {
    ($($(#[doc = $doc:literal])+ $file:ident: $name:ident),* $(,)?) => {
        $(pub use $file::$name;)*

        /// Topology of the fabric: exactly one of these.
        #[derive(Clone, Debug, PartialEq, Deserialize, Serialize, JsonSchema)]
        #[serde(rename_all = "snake_case")]
        pub enum Topology {
            $($(#[doc = $doc])+ $name($name),)*
        }

        impl Topology {
            fn named(&self) -> (&'static str, &dyn Shape) {
                match self { $(Topology::$name(it) => (stringify!($file), it),)* }
            }
            /// Writes all defaults. Returns the default PHYs of links, by rate.
            pub fn fill(&mut self) -> Vec<&'static Phy> {
                match self { $(Topology::$name(it) => it.fill(),)* }
            }
        }
    };
}

topologies! {
    /// One switch `sw` with hosts `h0`, `h1`, ... around it.
    star: Star,
    /// Two switches `left` and `right` with one link between them, hosts `l0`, ... and `r0`, ...
    dumbbell: Dumbbell,
    /// Switches `sw0`, `sw1`, ... in a row; hosts `h{switch}.{i}`.
    chain: Chain,
    /// Switches `sw0`, `sw1`, ... in a ring; hosts `h{switch}.{i}`.
    ring: Ring,
    /// Two-tier fabric: leaves `leaf0`, ..., each linked to each of the spines `spine0`, ...; hosts `h0`, ... numbered leaf by leaf.
    leaf_spine: LeafSpine,
    /// Three-tier fabric of k-port switches (Al-Fares et al. 2008): `core0`, ..., `agg{pod}.{i}`, `edge{pod}.{i}`; hosts `h0`, ... in order.
    fat_tree: FatTree,
    /// K-ary n-tree (Petrini and Vanneschi 1997): switches `s{level}.{i}`, k^n hosts `h0`, ...
    n_tree: NTree,
    /// Rail-optimized fabric (Spectrum-X, HPN 7.0): hosts `h{server}.{rail}`, the NICs of a rail at the same leaf; one or more planes.
    rails: Rails,
    /// Groups of fully meshed switches `sw{group}.{i}`, joined by global links (Kim et al. 2008); hosts `h0`, ...
    dragonfly: Dragonfly,
    /// Fabric of diameter 2 (Besta and Hoefler 2014): 2q^2 switches `sw{group}.{i}`; hosts `h0`, ...
    slim_fly: SlimFly,
    /// Grid of switches `sw{x}.{y}`, ... with wrap-around links; hosts `h0`, ...
    torus: Torus,
    /// Fabric described link by link: named hosts and switches, and each link.
    explicit: Explicit,
}

impl Topology {
    /// Returns the graph of the topology, or the errors of its keys; paths begin at its name.
    pub fn graph(&self) -> Result<Graph, Vec<Remark>> {
        let (name, shape) = self.named();
        shape.graph().map_err(|errors| errors.into_iter().map(|one| one.within(name)).collect())
    }
    /// The kind of the topology, as a scenario names it.
    pub fn kind(&self) -> &'static str {
        self.named().0
    }
    /// Returns warnings; paths begin at its name.
    pub fn warnings(&self) -> Vec<Remark> {
        let (name, shape) = self.named();
        shape.warnings().into_iter().map(|one| one.within(name)).collect()
    }
    /// Returns true if shortest paths go up first and then down, so that they cannot deadlock.
    pub fn is_layered(&self) -> bool {
        self.named().1.is_layered()
    }
}

/// Maximum number of nodes of a topology.
pub const MAX_NODES: u64 = 1 << 21;
/// Maximum number of links of a topology.
pub const MAX_LINKS: u64 = 1 << 23;
/// Maximum number of ports of a node.
pub const MAX_PORTS: usize = 1 << 16;
/// Maximum number of errors reported.
const MOST_ERRORS: usize = 100;

/// Kind of a node.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum NodeRole {
    /// An end station: frames originate and end here, and are never forwarded.
    Host,
    /// A switch.
    Switch,
}

/// A host or a switch; its [`NodeId`] is its index in [`Graph::nodes`].
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct GraphNode {
    /// Unique name.
    pub name: String,
    /// Kind of the node.
    pub role: NodeRole,
    /// Height in a drawing: 0 for hosts, 1 for switches with hosts, 2 and more for the levels above.
    pub level: u8,
}

/// A full-duplex link.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct GraphLink {
    /// One end; in a tree, the lower one.
    pub a: NodeId,
    /// The other end.
    pub b: NodeId,
    /// Data rates from `a` and from `b`.
    pub rates: [BitRate; 2],
    /// Rates as configured; with a line code, those on the wire.
    pub wire_rates: [BitRate; 2],
    /// One-way delay of cable and interfaces.
    pub delay: Time,
    /// One-way delay of the cable alone.
    pub cable: Time,
    /// Overhead bytes per frame on the wire.
    pub overhead: u16,
    /// The PHY at both ends, if configured; its delay is part of `delay`.
    pub phy: Option<&'static Phy>,
    /// The line code, if there is one: the configured rates of the link are then rates on the wire.
    pub line_code: Option<LineCode>,
    /// Routing cost, at least 1; frames take the paths of minimum total cost.
    pub cost: u32,
}

/// Nodes and the links between them.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Graph {
    /// Hosts and switches. Hosts are numbered next to their switch, so that a range of nodes is a connected part of the
    /// fabric.
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

    /// Adds a host.
    pub fn host(&mut self, name: String) -> NodeId {
        self.node(name, NodeRole::Host, 0)
    }
    /// Adds a switch.
    pub fn switch(&mut self, name: String, level: u8) -> NodeId {
        self.node(name, NodeRole::Switch, level)
    }
    fn node(&mut self, name: String, role: NodeRole, level: u8) -> NodeId {
        let id = NodeId(self.nodes.len() as u32);
        self.nodes.push(GraphNode { name, role, level });
        id
    }
    /// Adds hosts `h{first}`, ... to a switch.
    fn hosts_below(&mut self, switch: NodeId, first: u64, count: u64, cable: Cable) {
        for h in first..first + count {
            let host = self.host(format!("h{h}"));
            self.link(host, switch, cable);
        }
    }
    /// Adds a link.
    pub fn link(&mut self, a: NodeId, b: NodeId, cable: Cable) -> &mut GraphLink {
        let (phy, line_code) = (cable.phy(), cable.line_code);
        let delay = cable.delay() + phy.map_or(Time::ZERO, Phy::interface_delay);
        let overhead = u16::try_from(cable.overhead.get()).unwrap_or(u16::MAX);
        self.links.push(GraphLink {
            a,
            b,
            rates: [cable.data_rate(); 2],
            wire_rates: [cable.rate; 2],
            delay,
            cable: cable.cable_delay(),
            overhead,
            phy,
            line_code,
            cost: 1,
        });
        let last = self.links.len() - 1;
        &mut self.links[last]
    }
}

/// A topology. Topologies described by counts and one kind of cable are [`Regular`].
pub trait Shape {
    /// Writes all defaults. Returns the default PHYs of links, by rate.
    fn fill(&mut self) -> Vec<&'static Phy>;
    /// Returns nodes and links, or the errors of the keys.
    fn graph(&self) -> Result<Graph, Vec<Remark>>;
    /// Returns warnings about the keys.
    fn warnings(&self) -> Vec<Remark>;
    /// Returns true if shortest paths go up first and then down.
    fn is_layered(&self) -> bool;
}

/// A table with the keys of links.
pub trait Cabled {
    /// Returns the cable that the keys describe.
    fn cable(&self) -> Cable;
    /// Writes the defaults of these keys. Returns true if a default PHY was set.
    fn fill_cable(&mut self) -> bool;
}

/// A topology described by a few counts and one kind of cable.
pub trait Regular: Cabled {
    /// True if shortest paths go up first and then down.
    const LAYERED: bool = true;

    /// Writes the defaults that follow from other keys.
    fn complete(&mut self) {}
    /// The keys for the size of the topology.
    fn counts(&self) -> Vec<Count>;
    /// Checks the counts for more than their ranges.
    fn check(&self) -> Result<(), Remark> {
        Ok(())
    }
    /// Links that differ from the cable.
    fn other_links(&self) -> Vec<OtherLinks> {
        Vec::new()
    }
    /// Configured rates and PHYs of the other links that take their default from the cable.
    fn tiers(&mut self) -> Vec<Tier<'_>> {
        Vec::new()
    }
    /// Number of nodes and links; `None` if above all limits.
    fn size(&self) -> Option<Size>;
    /// Adds nodes and links. The keys have been validated.
    fn draw(&self, cable: Cable, graph: &mut Graph);
}

/// Rate, length and PHY of links that differ from the cable, with their keys.
#[derive(Clone, Copy, Debug)]
pub struct OtherLinks {
    rate: (&'static str, Option<BitRate>),
    length: (&'static str, Option<Length>),
    phy: (&'static str, Option<PhyName>),
}

impl OtherLinks {
    fn cable(&self, cable: Cable) -> Cable {
        cable.at(self.rate.1).of_length(self.length.1).between(self.phy.1)
    }
    fn keys(&self) -> [&'static str; 3] {
        [self.rate.0, self.length.0, self.phy.0]
    }
    /// Returns these links, with the keys and values of `other` for those without a value.
    fn or(self, other: OtherLinks) -> OtherLinks {
        OtherLinks {
            rate: if self.rate.1.is_some() { self.rate } else { other.rate },
            length: if self.length.1.is_some() { self.length } else { other.length },
            phy: if self.phy.1.is_some() { self.phy } else { other.phy },
        }
    }
    /// The first key with a value.
    fn first_key(&self) -> &'static str {
        let given = [self.rate.1.is_some(), self.length.1.is_some(), self.phy.1.is_some()];
        self.keys().into_iter().zip(given).find(|(_, given)| *given).map_or(self.rate.0, |(key, _)| key)
    }
    fn is_empty(&self) -> bool {
        (self.rate.1, self.length.1, self.phy.1) == (None, None, None)
    }
}

/// Rate of some links, if configured, and their PHY.
type Tier<'k> = (Option<BitRate>, &'k mut Option<PhyName>);

/// Sorts PHYs by rate, each once.
fn by_rate(mut phys: Vec<&'static Phy>) -> Vec<&'static Phy> {
    phys.sort_by_key(|phy| (phy.rate, phy.name));
    phys.dedup();
    phys
}

/// A key that is a count.
#[derive(Clone, Copy, Debug)]
pub struct Count {
    key: &'static str,
    least: u64,
    value: u64,
}

/// Creates a count of at least `least`.
fn at_least(least: u64, key: &'static str, value: u64) -> Count {
    Count { key, least, value }
}

/// Numbers of nodes and links.
#[derive(Clone, Copy, Debug)]
pub struct Size {
    /// Hosts and switches.
    pub nodes: u64,
    /// Links.
    pub links: u64,
}

impl<T: Regular> Shape for T {
    fn fill(&mut self) -> Vec<&'static Phy> {
        let mut phys = Vec::new();
        if self.fill_cable() {
            let cable = self.cable();
            phys.extend(cable.phy());
            // Only links of equal rates can share a PHY.
            for (rate, phy) in self.tiers() {
                let Some(rate) = rate else { continue };
                let rate = data_rate(rate, cable.line_code);
                if phy.is_none() {
                    *phy = Some(default_phy(rate));
                    phys.extend(phy.and_then(|name| name.at(rate)));
                }
            }
        }
        self.complete();
        by_rate(phys)
    }
    fn graph(&self) -> Result<Graph, Vec<Remark>> {
        let cable = self.cable();
        let mut errors = cable.errors(["rate", "length", "phy"]);
        if errors.is_empty() {
            for one in self.other_links().iter().flat_map(|links| links.cable(cable).errors(links.keys())) {
                if !errors.contains(&one) {
                    errors.push(one);
                }
            }
        }
        let counts = self.counts();
        for Count { key, least, value } in counts.iter().filter(|count| count.value < count.least) {
            let message = format!("{key} = {value} is too small");
            errors.push(Remark::about(key, message, format!("expected at least {least}")));
        }
        errors.extend(self.check().err());
        if !errors.is_empty() {
            return Err(errors);
        }
        let most = counts.iter().max_by_key(|count| count.value);
        let (key, value) = most.map_or(("rate", 0), |most| (most.key, most.value));
        if !self.size().is_some_and(|size| size.nodes <= MAX_NODES && size.links <= MAX_LINKS) {
            let help = format!("at most {MAX_NODES} nodes and {MAX_LINKS} links are simulated");
            return Err(vec![Remark::about(key, format!("{key} = {value}: the fabric is too large"), help)]);
        }
        let mut graph = Graph::default();
        self.draw(cable, &mut graph);
        check_ports(&graph, |_| Remark::about(key, "", ""))?;
        Ok(graph)
    }
    fn warnings(&self) -> Vec<Remark> {
        let cable = self.cable();
        let others = self.other_links();
        let others = others.iter().filter_map(|links| Some((links.rate.0, links.rate.1?)));
        let rates = std::iter::once(("rate", cable.rate)).chain(others);
        let of_rate = |(key, rate)| {
            let warnings = check_rate(rate, cable.line_code).unwrap_or_default();
            warnings.into_iter().map(move |one| one.within(key))
        };
        rates.flat_map(of_rate).collect()
    }
    fn is_layered(&self) -> bool {
        T::LAYERED
    }
}

/// Checks that every node has a link and none has too many. `place` returns the path of a node in the keys.
fn check_ports(graph: &Graph, place: impl Fn(NodeId) -> Remark) -> Result<(), Vec<Remark>> {
    let mut ports = vec![0usize; graph.nodes.len()];
    for link in &graph.links {
        ports[link.a.at()] += 1;
        ports[link.b.at()] += 1;
    }
    let wrong = (0..).zip(&graph.nodes).zip(&ports).filter_map(|((id, GraphNode { name, .. }), &ports)| {
        let (message, help) = match ports {
            0 => (format!("\"{name}\" is not connected"), "expected at least one link that names it".into()),
            1..=MAX_PORTS => return None,
            _ => (
                format!("\"{name}\" has {ports} ports"),
                format!("expected at most {MAX_PORTS} ports a node"),
            ),
        };
        Some(Remark { message, help, ..place(NodeId(id)) })
    });
    let errors: Vec<Remark> = wrong.take(MOST_ERRORS).collect();
    if errors.is_empty() { Ok(()) } else { Err(errors) }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;
    use std::collections::BTreeSet;

    const CABLE: Cable = Cable::new(BitRate::from_gbps(10), Time::from_ns(10));

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

    /// Checks that names are unique, hosts have one link and level 0, and every node is reachable from every other.
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
        // Links are bidirectional, so reaching all nodes from one implies reaching all from all.
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
        let graph = Star::new(4, CABLE).graph().unwrap();
        check(&graph, 4, 1, 4);
        assert_eq!(host_names(&graph), ["h0", "h1", "h2", "h3"]);
        assert_eq!(degree_of(&graph, "sw"), 4);
    }

    #[test]
    fn dumbbell() {
        let slow = BitRate::from_gbps(1);
        let mut spec = Dumbbell::new(2, 3, Some(slow), None, CABLE);
        let graph = spec.graph().unwrap();
        check(&graph, 5, 2, 6);
        assert_eq!(host_names(&graph), ["l0", "l1", "r0", "r1", "r2"]);
        let bottleneck = graph.links[5];
        assert_eq!((bottleneck.rates[0], bottleneck.delay, bottleneck.overhead), (slow, CABLE.delay(), 20));
        assert_eq!((degree_of(&graph, "left"), degree_of(&graph, "right")), (3, 4));
        (spec.bottleneck_rate, spec.bottleneck_delay) = (None, Some(Time::from_us(5)));
        let bottleneck = spec.graph().unwrap().links[5];
        assert_eq!((bottleneck.rates[0], bottleneck.delay), (CABLE.rate, Time::from_us(5)));
    }

    #[test]
    fn chain_and_ring() {
        let chain = Chain::new(4, 2, CABLE).graph().unwrap();
        check(&chain, 8, 4, 11);
        assert_eq!(host_names(&chain)[..3], ["h0.0", "h0.1", "h1.0"]);
        assert_eq!((degree_of(&chain, "sw0"), degree_of(&chain, "sw1")), (3, 4));
        let ring = Ring::new(4, 2, CABLE).graph().unwrap();
        check(&ring, 8, 4, 12);
        assert!((0..4).all(|s| degree_of(&ring, &format!("sw{s}")) == 4));
        check(&Chain::new(1, 3, CABLE).graph().unwrap(), 3, 1, 3);
    }

    #[test]
    fn leaf_spine() {
        let fast = BitRate::from_gbps(40);
        let spec = LeafSpine::new(3, 2, 4, Some(fast), CABLE);
        let graph = spec.graph().unwrap();
        check(&graph, 12, 5, 12 + 6);
        assert_eq!((degree_of(&graph, "leaf2"), degree_of(&graph, "spine1")), (6, 3));
        assert_eq!(graph.links.iter().filter(|l| l.rates == [fast; 2]).count(), 6);
        assert_eq!(host_names(&graph)[11], "h11");
    }

    #[test]
    fn links_between_switches_may_be_longer_and_faster() {
        let (fast, faster) = (BitRate::from_gbps(40), BitRate::from_gbps(100));
        let of_links = |graph: &Graph| -> BTreeSet<(u8, u64, u64)> {
            let level = |id: NodeId| graph.nodes[id.at()].level;
            graph.links.iter().map(|l| (level(l.a).max(level(l.b)), l.rates[0].bps(), l.delay.ps())).collect()
        };
        let (near, own) = (CABLE.delay().ps(), CABLE.rate.bps());
        let leaf_spine =
            LeafSpine { uplink_length: Some(Length::from_m(40)), ..LeafSpine::new(2, 2, 2, None, CABLE) };
        assert_eq!(of_links(&leaf_spine.graph().unwrap()), [(1, own, near), (2, own, 200_000)].into());
        let uplinks = |uplink, core| FatTree {
            uplink_rate: Some(fast),
            uplink_length: Some(uplink),
            core_rate: Some(faster),
            core_length: core,
            ..FatTree::new(4, CABLE)
        };
        let of_core = |core, delay| {
            let tree = uplinks(Length::from_m(40), core).graph().unwrap();
            let expected = [(1, own, near), (2, fast.bps(), 200_000), (3, faster.bps(), delay)];
            assert_eq!(of_links(&tree), expected.into());
        };
        of_core(Some(Length::from_m(300)), 1_500_000);
        of_core(None, 200_000);
        let far = Length::from_m(u64::MAX / 1000);
        assert_eq!(wrong(uplinks(far, Some(Length::from_m(1))).graph()).0, key("uplink_length"));
    }

    #[test]
    fn fat_tree_of_the_paper() {
        for (k, hosts, switches) in [(2, 2, 5), (4, 16, 20), (8, 128, 80), (32, 8192, 1280)] {
            let graph = FatTree::new(k, CABLE).graph().unwrap();
            check(&graph, hosts, switches, 3 * hosts);
            let degrees = degrees(&graph);
            assert!(graph.switches().all(|s| degrees[s.at()] == k as u32));
        }
        // Every core is linked to every pod exactly once.
        let graph = FatTree::new(4, CABLE).graph().unwrap();
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
        let graph = NTree::new(4, 3, CABLE).graph().unwrap();
        check(&graph, 64, 48, 64 * 3);
        let degrees = degrees(&graph);
        for switch in graph.switches() {
            let top = graph.nodes[switch.at()].level == 3;
            assert_eq!(degrees[switch.at()], if top { 4 } else { 8 });
        }
        // Switch 1 of level 1 (digits 0, 1) is linked to the switches of level 2 that differ only in digit 1.
        let named = |id: NodeId| graph.nodes[id.at()].name.as_str();
        let ups: Vec<&str> =
            graph.links.iter().filter(|l| named(l.a) == "s1.1").map(|l| named(l.b)).collect();
        assert_eq!(ups, ["s2.1", "s2.5", "s2.9", "s2.13"]);
        assert!(graph.links.iter().any(|l| named(l.a) == "h27" && named(l.b) == "s0.6"));
        check(&NTree::new(5, 1, CABLE).graph().unwrap(), 5, 1, 5);
        check(&NTree::new(2, 5, CABLE).graph().unwrap(), 32, 80, 160);
    }

    /// The wires between two levels of a BMIN form a perfect shuffle: the upward wire from position `p` leads to the
    /// position whose digits are those of `p` rotated by one. The position of a tree switch of level l is that of its
    /// digits in reverse, rotated l times.
    #[test]
    fn an_n_tree_is_a_perfect_shuffle_between_levels() {
        for (k, n) in [(4u64, 3u32), (2, 5), (3, 4), (5, 2)] {
            let width = k.pow(n - 1);
            let number = |digits: &[u64]| digits.iter().fold(0, |all, digit| all * k + digit);
            let in_bmin = |level: u32, switch: u64| {
                let mut digits: Vec<u64> = (0..n - 1).map(|digit| switch / k.pow(digit) % k).collect();
                digits.rotate_left(level as usize % (n as usize - 1));
                number(&digits)
            };
            let graph = NTree::new(k, n.into(), CABLE).graph().unwrap();
            let place = |id: NodeId| -> Option<(u32, u64)> {
                let (level, switch) = graph.nodes[id.at()].name.strip_prefix('s')?.split_once('.')?;
                Some((level.parse().ok()?, switch.parse().ok()?))
            };
            let between = graph.links.iter().filter_map(|link| Some((place(link.a)?, place(link.b)?)));
            let wires: BTreeSet<_> =
                between.map(|((low, a), (high, b))| (low, in_bmin(low, a), high, in_bmin(high, b))).collect();
            let shuffled = (0..n - 1).flat_map(|level| {
                (0..width * k).map(move |p| (level, p / k, level + 1, (p % width * k + p / width) / k))
            });
            assert_eq!(wires, shuffled.collect(), "{k}-ary {n}-tree");
        }
    }

    /// Returns the paths of the errors, and the first error.
    fn wrong(graph: Result<Graph, Vec<Remark>>) -> (String, String) {
        let errors = graph.unwrap_err();
        let at = |one: &Remark| one.path.iter().map(|step| format!("{step:?}")).collect::<Vec<_>>().join(" ");
        (errors.iter().map(at).collect::<Vec<_>>().join(", "), errors[0].to_string())
    }
    fn key(name: &str) -> String {
        format!("Key({name:?})")
    }

    #[test]
    fn impossible_parameters() {
        let too_small = |graph, name: &str| {
            let (at, first) = wrong(graph);
            assert_eq!(at, key(name));
            assert!(first.contains("is too small; expected at least"), "{first}");
        };
        too_small(Star::new(0, CABLE).graph(), "hosts");
        too_small(Dumbbell::new(0, 1, None, None, CABLE).graph(), "left");
        too_small(Dumbbell::new(1, 0, None, None, CABLE).graph(), "right");
        too_small(Chain::new(0, 1, CABLE).graph(), "switches");
        too_small(Chain::new(1, 0, CABLE).graph(), "hosts_per_switch");
        too_small(Ring::new(2, 1, CABLE).graph(), "switches");
        too_small(LeafSpine::new(0, 1, 1, None, CABLE).graph(), "leaves");
        too_small(LeafSpine::new(1, 0, 1, None, CABLE).graph(), "spines");
        too_small(LeafSpine::new(1, 1, 0, None, CABLE).graph(), "hosts_per_leaf");
        too_small(FatTree::new(0, CABLE).graph(), "k");
        too_small(NTree::new(1, 3, CABLE).graph(), "k");
        too_small(NTree::new(4, 0, CABLE).graph(), "n");
        assert_eq!(wrong(Ring::new(2, 1, CABLE).graph()).1, "switches = 2 is too small; expected at least 3");
        let both = wrong(Star::new(0, CABLE.at(Some(BitRate::from_bps(0)))).graph());
        assert_eq!(
            both,
            (format!("{}, {}", key("rate"), key("hosts")), {
                "the rate of a link is 0; expected a rate from \"1 Mb/s\" to \"1.6 Tb/s\"".into()
            })
        );
        assert_eq!(wrong(FatTree::new(5, CABLE).graph()).0, key("k"));
        let fast = Some(BitRate::from_gbps(2_000));
        assert_eq!(wrong(LeafSpine::new(1, 1, 1, fast, CABLE).graph()).0, key("uplink_rate"));
    }

    #[test]
    fn what_does_not_fit_is_refused_at_once() {
        const MAX: u64 = u64::MAX;
        for (graph, widest) in [
            (Star::new(MAX, CABLE).graph(), "hosts"),
            (Dumbbell::new(MAX - 1, MAX, None, None, CABLE).graph(), "right"),
            (Chain::new(MAX, MAX - 1, CABLE).graph(), "switches"),
            (Ring::new(MAX, 1, CABLE).graph(), "switches"),
            (LeafSpine::new(3, MAX, 2, None, CABLE).graph(), "spines"),
            (FatTree::new(MAX - 1, CABLE).graph(), "k"),
            (NTree::new(MAX - 1, MAX, CABLE).graph(), "n"),
            (NTree::new(2, 64, CABLE).graph(), "n"),
        ] {
            let (at, message) = wrong(graph);
            assert_eq!(at, key(widest));
            assert!(message.contains("the fabric is too large; at most 2097152 nodes"), "{message}");
        }
    }

    proptest! {
        #![proptest_config(ProptestConfig::with_cases(32))]
        #[test]
        fn every_topology_is_whole(a in 1u64..8, b in 1u64..8, c in 1u64..6) {
            let n = |x: u64| x as usize;
            check(&Star::new(a, CABLE).graph().unwrap(), n(a), 1, n(a));
            check(&Chain::new(a, b, CABLE).graph().unwrap(), n(a * b), n(a), n(a * b + a - 1));
            check(&Ring::new(a + 2, b, CABLE).graph().unwrap(), n((a + 2) * b), n(a + 2), n((a + 2) * (b + 1)));
            check(&LeafSpine::new(a, b, c, None, CABLE).graph().unwrap(), n(a * c), n(a + b), n(a * (b + c)));
            check(&FatTree::new(2 * c, CABLE).graph().unwrap(), n(2 * c * c * c), n(5 * c * c), n(6 * c * c * c));
            let (k, levels) = (a % 3 + 2, b % 3 + 1);
            check(&NTree::new(k, levels, CABLE).graph().unwrap(), n(k.pow(levels as u32)), n(levels * k.pow(levels as u32 - 1)), n(levels * k.pow(levels as u32)));
        }
    }
}
