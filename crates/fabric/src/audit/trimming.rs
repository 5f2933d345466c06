//! Checks of packet trimming in combination with other mechanisms.

use super::{Audit, Subject};
use crate::spec::{NodeSpec, Queueing, SwitchSpec};
use frame::{ClassMap, NodeId, Priority};
use keys::{Remark, unused};
use queueing::{Configuration, TrimmingSpec, Victim};

pub fn check(audit: &mut Audit<'_>) {
    let spec = audit.spec;
    for (at, node) in spec.nodes.iter().enumerate() {
        let Some(switch) = node.switch() else { continue };
        let subject = Subject::Node(NodeId(at as u32));
        let Some(trimming) = &switch.trimming else {
            let pools = switch.pools.as_ref();
            if let Some(profile) = pools.and_then(|pools| pools.profiles.iter().find(|own| own.trims)) {
                let message = format!(
                    "profile \"{}\" trims frames at \"{}\", which has no trimming",
                    profile.name, node.name
                );
                let help = "frames are dropped: expected `trimming = {}` of the switch, or no discard_action";
                audit.warn(subject, Remark::about("trimming", message, help));
                return;
            }
            continue;
        };
        if let Some(remark) = together(node, switch, trimming) {
            return audit.error(subject, remark);
        }
        if let Some(remark) = in_lossless(node, switch, trimming) {
            audit.warn(subject, remark);
        }
        if !finds_no_room(switch, trimming) {
            return audit.warn(
                subject,
                unused("trimming", "a `threshold`, a limit of the buffer or a queue manager that drops"),
            );
        }
    }
}

/// Reports settings that exclude trimming.
fn together(node: &NodeSpec, switch: &SwitchSpec, trimming: &TrimmingSpec) -> Option<Remark> {
    let name = &node.name;
    let within = |remark: Remark| Some(remark.within("trimming"));
    if node.credits().is_some() || node.crossbar().is_some() {
        let other = if node.credits().is_some() { "links with credits" } else { "a crossbar" };
        let message = format!("\"{name}\" trims frames and has {other}");
        let help = "frames that wait for credits or at inputs are not dropped: leave trimming out";
        return Some(Remark::about("trimming", message, help));
    }
    let classes = switch.classes;
    let lossless = switch.pauses().map_or(0, |pauses| pauses.kind.priorities());
    let lossless = classes.classes_of(u32::from(lossless));
    if trimming.classes.is_some_and(|own| u32::from(own) & lossless != 0) {
        let message = format!("lossless queues are trimmed at \"{name}\"");
        return within(Remark::about(
            "queues",
            message,
            "expected lossy ones: pauses keep the others from dropping",
        ));
    }
    let own = u32::from(trimming.classes.unwrap_or(0)) & !(1 << classes.class(Priority(trimming.priority)).0);
    if trimming.classes.is_some() && own == 0 {
        let message = format!("only trimmed frames wait in the queues that are trimmed at \"{name}\"");
        let key = if classes == ClassMap::SHARED { "queues" } else { "dscp" };
        let help = "expected a queue for trimmed frames beside those of whole ones";
        return within(Remark::about(key, message, help));
    }
    if trimming.victim == Victim::Random && trimming.thresholds.is_some() {
        let is_limited = !switch.buffer.is_unlimited() || switch.shares_memory();
        let other = if is_limited {
            "limits of the buffer"
        } else if switch.queueing != Queueing::Output {
            "virtual output queues"
        } else {
            return None;
        };
        let message = format!("the last frame of a queue may be trimmed at \"{name}\", which has {other}");
        let help = "expected victim = \"arriving\", or threshold and header_limit alone";
        return within(Remark::about("victim", message, help));
    }
    None
}

/// Reports trimmed frames that are queued with lossless ones.
fn in_lossless(node: &NodeSpec, switch: &SwitchSpec, trimming: &TrimmingSpec) -> Option<Remark> {
    let lossless = switch.pauses()?.kind.priorities();
    let mut priorities = [trimming.priority].into_iter().chain(trimming.priority_to.iter().map(|to| to.1));
    let priority = priorities.find(|&priority| lossless >> priority & 1 != 0)?;
    let name = &node.name;
    let message = format!("trimmed frames of priority {priority} wait in a lossless queue at \"{name}\"");
    let help = "they are paused, too, and may be dropped: expected a DSCP of a lossy traffic class";
    Some(Remark::about("dscp", message, help).within("trimming"))
}

/// Returns true if a frame may be refused by the buffer.
fn finds_no_room(switch: &SwitchSpec, trimming: &TrimmingSpec) -> bool {
    let by_profiles = trimming.classes.is_none();
    let pools = switch.pools.as_ref().filter(|_| by_profiles);
    if let Some(pools) = pools {
        return pools.profiles.iter().any(|profile| profile.trims);
    }
    trimming.thresholds.is_some()
        || !switch.buffer.is_unlimited()
        || switch.shares_memory()
        || switch.managers.all().any(|manager| manager.drops().is_some())
}
