//! Checks for hosts whose additional cores can have no work.

use super::{Audit, Subject};
use crate::spec::HostSpec;
use frame::NodeId;
use keys::unused;

/// A hash of the flow selects the core of a frame, so a single flow keeps only one core busy. A setting that several
/// hosts share has an effect if it has one at any of them.
pub(super) fn check(audit: &mut Audit<'_>) {
    let spec = audit.spec;
    let has_several = |host: &HostSpec| host.receive.as_ref().is_some_and(|receive| receive.cores > 1);
    if !spec.nodes.iter().filter_map(|node| node.host()).any(has_several) {
        return;
    }
    // Counts up to 2: more makes no difference.
    let mut flows = vec![0u8; spec.nodes.len()];
    let mut meets = |node: NodeId| flows[node.at()] = (flows[node.at()] + 1).min(2);
    for flow in &spec.flows {
        flow.source.destinations.nodes().into_iter().for_each(&mut meets);
        meets(flow.from);
    }
    let mut found: Vec<(Option<&str>, NodeId, bool)> = Vec::new();
    for (id, node) in (0..).map(NodeId).zip(&spec.nodes) {
        let Some(host) = node.host() else { continue };
        let Some(receive) = host.receive.as_ref().filter(|receive| receive.cores > 1) else { continue };
        let works = receive.takes_time() || host.send.is_some();
        let matters = works && flows[id.at()] > 1;
        let settings = audit.settings(node, "receive");
        match found.iter_mut().find(|(known, ..)| *known == settings) {
            Some((.., known)) => *known |= matters,
            None => found.push((settings, id, matters)),
        }
    }
    for (_, id, _) in found.into_iter().filter(|(.., matters)| !matters) {
        let needs = "several flows at a host that takes time for their frames";
        audit.warn(Subject::Node(id), unused("cores", needs).within("receive"));
    }
}
