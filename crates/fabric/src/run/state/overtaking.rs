//! Reordering among the frames of flows whose paths are not listed (`Way::ByDestination`).
//!
//! All destinations of such a flow share one receiver, which does not record the destinations of earlier frames. Each
//! host therefore stores, for each of these flows, the creation time of the latest frame that has arrived. This is done
//! only if a frame can be overtaken: if a switch selects paths by more than a hash, or something may fail.

use crate::run::state::index::NodeIx;
use crate::run::state::own::NodeLocal;
use crate::spec::choice::PathChoice;
use crate::spec::{Spec, SwitchSpec, Way};
use units::Time;

/// Maximum number of pairs of sender and destination; the times of more pairs would take more than 128 MiB.
pub(crate) const MOST_PAIRS: usize = 1 << 24;

/// Returns true if frames of flows whose paths are not listed can be overtaken.
pub(crate) fn can_overtake(spec: &Spec) -> bool {
    let mut switches = spec.nodes.iter().filter_map(|node| node.switch());
    // A trimmed frame passes those queued before it.
    let reorders =
        |switch: &SwitchSpec| switch.trimming.is_some() || !matches!(switch.path_choice, PathChoice::Hash(_));
    !spec.faults.is_empty() || switches.any(reorders)
}

/// Reordering at a part's hosts.
#[derive(Debug)]
pub(crate) struct Overtaking {
    /// By path of the whole fabric, the index of its flow among the unlisted ones; `None` for listed paths.
    number_of: Vec<Option<u32>>,
    /// By node and number, the creation time of the latest frame that has arrived; empty until the first arrival.
    latest: NodeLocal<NodeIx, Box<[Time]>>,
    /// By number, the count of overtaken frames.
    overtaken: Vec<u64>,
}

impl Overtaking {
    /// Creates the state of a part with this many nodes; `None` if nothing can be overtaken, or there are too many
    /// pairs.
    pub fn new(spec: &Spec, nodes: usize) -> Option<Overtaking> {
        let unlisted = || spec.flows.iter().filter(|flow| flow.way == Way::ByDestination);
        let pairs: usize = unlisted().map(|flow| flow.source.destinations.count()).sum();
        if pairs == 0 || pairs > MOST_PAIRS || !can_overtake(spec) {
            return None;
        }
        let mut flows = 0;
        let mut number_of = Vec::new();
        for flow in &spec.flows {
            let is_unlisted = flow.way == Way::ByDestination;
            let number = is_unlisted.then_some(flows);
            number_of.resize(number_of.len() + flow.paths(), number);
            flows += u32::from(is_unlisted);
        }
        let overtaken = vec![0; flows as usize];
        Some(Overtaking { number_of, latest: vec![Box::default(); nodes].into(), overtaken })
    }

    /// Records the arrival at a node of a frame of a path, created at `created`.
    pub fn arrived(&mut self, node: NodeIx, path: u32, created: Time) {
        let Some(number) = self.number_of[path as usize] else { return };
        let latest = &mut self.latest[node];
        if latest.is_empty() {
            *latest = vec![Time::ZERO; self.overtaken.len()].into();
        }
        let latest = &mut latest[number as usize];
        // RFC 4737 section 3.3.
        self.overtaken[number as usize] += u64::from(created < *latest);
        *latest = created.max(*latest);
    }

    /// Number of overtaken frames of a path.
    pub fn frames(&self, path: usize) -> u64 {
        self.number_of[path].map_or(0, |number| self.overtaken[number as usize])
    }

    /// Restarts counting.
    pub fn clear(&mut self) {
        self.overtaken.fill(0);
    }

    pub fn memory_bytes(&self) -> usize {
        let times: usize = self.latest.each().iter().map(|own| own.len()).sum();
        self.number_of.capacity() * size_of::<Option<u32>>()
            + self.latest.memory_bytes()
            + self.overtaken.capacity() * size_of::<u64>()
            + times * size_of::<Time>()
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::simulation::pairs;
    use frame::NodeId;
    use std::sync::Arc;
    use workload::{Destinations, Others};

    #[test]
    fn too_many_pairs_are_not_counted() {
        let mut spec = pairs(2, Time::from_us(1));
        let hosts: Arc<[NodeId]> = (0..4_096).map(NodeId).collect();
        let mut flow = spec.flows[0].clone();
        flow.way = Way::ByDestination;
        flow.source.destinations = Destinations::Others(Others { hosts, without: None });
        spec.flows = vec![flow; 4_096];
        assert!(Overtaking::new(&spec, 1).is_none(), "no frame can be overtaken");
        spec.faults = vec![crate::spec::FaultSpec::LinkUp { link: 0, at: Time::ZERO }];
        assert!(Overtaking::new(&spec, 1).is_some());
        spec.flows.push(spec.flows[0].clone());
        assert!(Overtaking::new(&spec, 1).is_none(), "more than 2^24 pairs");
    }
}
