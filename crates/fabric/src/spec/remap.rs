//! Another priority for frames that leave a switch: the effect of a change of their DSCP there.
//!
//! Up to the link a frame has the priority that it came with: it is charged to that group, which triggers pauses. It waits
//! in the queue of its new priority, so that a pause of the next switch, which is for the new one, stops the right queue.

use crate::spec::{NodeSpec, Spec};
use frame::{ClassMap, NodeId, PRIORITIES, Priority, members};

/// The new priority of each, on links to some neighbours.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Remap {
    /// The neighbours, ascending.
    pub to: Vec<NodeId>,
    /// By priority.
    pub priorities: [Priority; PRIORITIES],
}

impl NodeSpec {
    /// The new priorities of frames that leave for a neighbour; `None`: they keep theirs. Of several entries the first counts.
    pub fn remap_to(&self, neighbour: NodeId) -> Option<&[Priority; PRIORITIES]> {
        let own = self.switch()?.remaps.iter().find(|own| own.to.binary_search(&neighbour).is_ok())?;
        Some(&own.priorities)
    }
    /// The queues of its port to a neighbour.
    pub fn classes_to(&self, neighbour: NodeId) -> ClassMap {
        let own = self.classes();
        let Some(new) = self.remap_to(neighbour) else { return own };
        ClassMap::new(new.map(|priority| own.class(priority).0)).unwrap_or(own)
    }
}

impl Spec {
    /// Returns true if some switch changes priorities.
    pub fn remaps(&self) -> bool {
        !self.domains.is_empty()
            || self.nodes.iter().any(|node| node.switch().is_some_and(|switch| !switch.remaps.is_empty()))
    }
    /// Returns a priority, and all priorities that switches may change it to.
    pub(crate) fn made_of(&self, priority: Priority) -> impl Iterator<Item = Priority> + use<> {
        members(self.with_alternates(with_new_priorities(&self.nodes, 1 << priority.0)))
            .map(|number| Priority(number as u8))
    }
}

/// These priorities, bit by bit, and all that switches make of them.
pub fn with_new_priorities(nodes: &[NodeSpec], mut set: u32) -> u32 {
    let remaps: Vec<&Remap> = nodes.iter().filter_map(NodeSpec::switch).flat_map(|own| &own.remaps).collect();
    loop {
        let more = remaps.iter().fold(set, |all, own| {
            let used = own.priorities.iter().enumerate().filter(|(old, _)| set >> old & 1 != 0);
            used.fold(all, |all, (_, new)| all | 1 << new.0)
        });
        if more == set {
            return set;
        }
        set = more;
    }
}
