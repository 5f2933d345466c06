//! Priority remapping for frames that leave a switch: the effect of a DSCP rewrite.
//!
//! Until it is sent on the link, a frame has its original priority: it is charged to that priority group, which
//! triggers pauses. It waits in the queue of its new priority, so that a pause from the next switch, which applies to
//! the new priority, stops the right queue.

use crate::spec::{NodeSpec, Spec};
use frame::{ClassMap, NodeId, PRIORITIES, Priority, members};

/// New priorities of frames on links to certain neighbours.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Remap {
    /// The neighbours, in ascending order.
    pub to: Vec<NodeId>,
    /// New priority of each priority.
    pub priorities: [Priority; PRIORITIES],
}

impl NodeSpec {
    /// Returns the new priorities of frames to a neighbour; `None` if they do not change. The first matching entry
    /// applies.
    pub fn remap_to(&self, neighbour: NodeId) -> Option<&[Priority; PRIORITIES]> {
        let own = self.switch()?.remaps.iter().find(|own| own.to.binary_search(&neighbour).is_ok())?;
        Some(&own.priorities)
    }
    /// The traffic classes of a port to a neighbour.
    pub fn classes_to(&self, neighbour: NodeId) -> ClassMap {
        let own = self.classes();
        let Some(new) = self.remap_to(neighbour) else { return own };
        ClassMap::new(new.map(|priority| own.class(priority).0)).unwrap_or(own)
    }
}

impl Spec {
    /// Returns true if any switch changes priorities.
    pub fn remaps(&self) -> bool {
        !self.domains.is_empty()
            || self.nodes.iter().any(|node| node.switch().is_some_and(|switch| !switch.remaps.is_empty()))
    }
    /// Returns a priority, and all priorities to which switches may change it.
    pub(crate) fn made_of(&self, priority: Priority) -> impl Iterator<Item = Priority> + use<> {
        members(self.with_alternates(with_new_priorities(&self.nodes, 1 << priority.0)))
            .map(|number| Priority(number as u8))
    }
}

/// Returns a set of priorities (bit n for priority n), with all priorities to which switches may change them.
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
