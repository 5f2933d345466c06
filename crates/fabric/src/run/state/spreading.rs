//! Path choice at run time: each switch selects the next port of a frame (`choice`) among those of its forwarding table
//! (`forwarding`).
//!
//! If any switch selects by more than a hash or digits of the destination, frames of flows without a route of their own
//! carry their destination. The other switches then compute the choice that they would have made before the run. A
//! switch excludes its own links that are down; it has no information about failures further along the path.
//!
//! This also applies, in every fabric, to flows whose senders set an entropy value in each frame, and to flows whose
//! paths are not listed (`Way::ByDestination`): the hash of flow and destination is then computed on demand.

use crate::run::state::index::NodeIx;
use crate::run::state::own::NodeLocal;
use crate::spec::choice::{Chooser, PathChoice};
use crate::spec::detours::{Detours, takes_detours};
use crate::spec::digits::Digits;
use crate::spec::forwarding::ForwardingTable;
use crate::spec::routing::{Routes, Wiring};
use crate::spec::tuple::Tuple;
use crate::spec::{FlowSpec, Spec, Way};
use engine::stream;
use frame::NodeId;
use std::sync::Arc;

/// State for the path choice of switches per frame.
#[derive(Debug)]
pub(crate) struct Spreading {
    /// Forwarding table shared by all parts, with numbers of the whole fabric.
    pub table: Arc<ForwardingTable>,
    /// By path, both ends and the hash of the flow; `None` if the flow has a route of its own. Shared by all parts.
    pub ends: Arc<[Option<Ends>]>,
    /// Groups over which switches detour frames, if any switch does.
    pub detours: Option<Arc<Detours>>,
    /// Digits for switches that choose by digits of the destination.
    digits: Option<Arc<Digits>>,
    /// Path choosers by node of this part.
    pub choosers: NodeLocal<NodeIx, Chooser>,
}

/// Both ends of a path.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Ends {
    pub from: NodeId,
    /// Destination; `None` if the path stands for all destinations of its flow.
    pub to: Option<NodeId>,
    tuple: Tuple,
}

impl Ends {
    /// Returns the fields that are hashed for frames to this node. Frames in the other direction also have the tuple of
    /// their connection.
    pub(in crate::run) fn tuple_to(&self, node: NodeId) -> Tuple {
        if self.to.is_some() { self.tuple } else { self.tuple.towards(node) }
    }
}

/// Returns true if some switch chooses paths by state that changes during the run.
pub(crate) fn chooses_by_frame(spec: &Spec) -> bool {
    (0..spec.nodes.len()).any(|node| !choice(spec, node).is_static())
}

impl Spreading {
    /// Creates the state of the whole fabric, without choosers; `None` if paths are known before the run and all are
    /// listed.
    pub fn new(spec: &Spec, wiring: &Wiring) -> Option<Spreading> {
        let all_static = !chooses_by_frame(spec);
        if all_static && spec.flows.iter().all(|flow| flow.way != Way::ByDestination && !flow.gives_entropy())
        {
            return None;
        }
        let routes = Routes::new(wiring, |node| spec.nodes[node.at()].host().is_some());
        // Replies go to the sources.
        let destinations = spec.free_flows().flat_map(|(flow, to)| [flow.from].into_iter().chain(to));
        let table = Arc::new(ForwardingTable::new(&routes, destinations));
        let digits = Digits::of(spec, wiring).map(Arc::new);
        // A fabric without groups has been rejected before.
        let takes_detours = spec.nodes.iter().any(takes_detours);
        let detours = if takes_detours { Detours::new(spec, wiring).ok().map(Arc::new) } else { None };
        let ends = ends(spec, all_static).into();
        Some(Spreading { table, ends, detours, digits, choosers: NodeLocal::default() })
    }

    /// Creates the state of the part with these nodes.
    pub fn part(&self, spec: &Spec, wiring: &Wiring, nodes: std::ops::Range<u32>) -> Box<Spreading> {
        let chooser = |node: u32| {
            let random = stream(spec.seed, &format!("node/{}/path_choice", spec.nodes[node as usize].name));
            let lists = self.table.lists(NodeId(node));
            let own = Chooser::new(choice(spec, node as usize), lists, random, self.digits.as_ref());
            own.weighted(spec.port_weights(NodeId(node), wiring))
        };
        let choosers = nodes.map(chooser).collect();
        let (table, ends, digits) = (self.table.clone(), self.ends.clone(), self.digits.clone());
        Box::new(Spreading { table, ends, detours: self.detours.clone(), digits, choosers })
    }

    /// Bytes of the choosers.
    pub fn memory_bytes(&self) -> usize {
        self.choosers.each().iter().map(|own| size_of::<Chooser>() + own.memory_bytes()).sum()
    }

    /// Bytes of the tables that all parts share.
    pub fn shared_bytes(&self) -> usize {
        self.table.memory_bytes()
            + self.ends.len() * size_of::<Option<Ends>>()
            + self.detours.as_ref().map_or(0, |detours| detours.memory_bytes())
    }
}

fn choice(spec: &Spec, node: usize) -> PathChoice {
    spec.nodes[node].switch().map_or(PathChoice::HASH, |own| own.path_choice)
}

/// Returns, by path, the ends of paths that are routed by destination: all paths without a route of their own, or, if
/// no switch chooses for each frame, only unlisted ones.
pub(in crate::run) fn ends(spec: &Spec, all_static: bool) -> Vec<Option<Ends>> {
    let of_flow = |flow: &FlowSpec| -> Vec<Option<Ends>> {
        let by_destination = match flow.way {
            Way::Shortest => !all_static || flow.gives_entropy(),
            Way::Along(_) => false,
            Way::ByDestination => true,
        };
        let ends = |(nth, to): (u32, Option<NodeId>)| Ends {
            from: flow.from,
            to,
            tuple: spec.tuple(flow, to.map(|_| nth)),
        };
        (0..).zip(flow.path_ends()).map(|end| by_destination.then(|| ends(end))).collect()
    };
    spec.flows.iter().flat_map(of_flow).collect()
}
