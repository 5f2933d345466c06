//! Checks that pauses are effective: they are long enough, they are renewed, and the peer obeys them.

use super::{Audit, Subject, of_flow_control, worst};
use crate::PauseNeeds;
use flow_control::PauseSpec;
use keys::Remark;

pub(super) fn check(audit: &mut Audit<'_>) {
    let spec = audit.spec;
    let ports = audit.needs.iter().map(|need| {
        let node = &spec.nodes[need.node.at()];
        ((node.host().is_some(), audit.settings(node, "")), need)
    });
    for (_, need) in worst(ports, |one, known| one.least_quanta > known.least_quanta) {
        let Some(control) = spec.nodes[need.node.at()].pauses() else { continue };
        length(need, control, audit);
        renewal(need, control, audit);
        target(need, control, audit);
    }
    obeyed(audit);
}

/// Checks that a pause lasts longer than the peer's response time, and long enough for a renewal to arrive.
fn length(need: &PauseNeeds, control: &PauseSpec, audit: &mut Audit<'_>) {
    if u64::from(need.quanta) >= need.least_quanta {
        return;
    }
    let [node, peer] = [need.node, need.peer].map(|node| &audit.spec.nodes[node.at()].name);
    let (quanta, lasts, response) = (need.quanta, need.lasts, need.response);
    let why = if lasts <= response {
        format!("is over before \"{peer}\" obeys it, which takes {response}")
    } else {
        format!("is over before a renewal can take effect: \"{peer}\" takes {response} to obey it")
    };
    let help = match u16::try_from(need.least_quanta) {
        Ok(least) => format!("expected pause_quanta of at least {least}"),
        Err(_) => "expected a shorter response_time there: the longest pause is 65535 quanta".to_string(),
    };
    let message = format!("a pause of {quanta} quanta ({lasts}) from \"{node}\" {why}");
    audit.loses(Subject::Node(need.node), of_flow_control(control.name, "pause_quanta", message, help));
}

/// Warns about pauses without renewal: they expire although the queue may still be full.
fn renewal(need: &PauseNeeds, control: &PauseSpec, audit: &mut Audit<'_>) {
    if control.refresh || !audit.is_strict() || need.lasts >= audit.spec.duration {
        return;
    }
    let name = &audit.spec.nodes[need.node.at()].name;
    let message = format!("pauses from \"{name}\" end after {} and are not renewed", need.lasts);
    let help = "frames can be lost where a queue is full for longer: expected refresh = true, or on_lossless_drop = \"count\"";
    audit.may_lose(Subject::Node(need.node), of_flow_control(control.name, "refresh", message, help));
}

/// Checks that a computed target watermark lies above the low watermark.
fn target(need: &PauseNeeds, control: &PauseSpec, audit: &mut Audit<'_>) {
    let (Some(target), Some(marks)) = (&control.target, control.watermarks) else { return };
    if target.watermark.value().is_some() || need.target.is_some_and(|at| at.exceeds(marks.xon)) {
        return;
    }
    let lies = need.target.map_or("below 0".to_string(), |at| format!("at {at}"));
    let message = format!(
        "the computed target watermark of \"{}\" lies {lies}, which is not above xon {}",
        audit.spec.nodes[need.node.at()].name,
        marks.xon
    );
    let help =
        format!("expected xoff above xon by more than what partners = {} have in flight", target.partners);
    let remark = Remark::about("target", message, help).key("watermark");
    audit.error(Subject::Node(need.node), remark.within(control.name).within("flow_control"));
}

/// Reports ports that are paused but do not obey pauses.
fn obeyed(audit: &mut Audit<'_>) {
    let spec = audit.spec;
    let used = spec.priorities_in_use() as u8;
    let ignored = |need: &PauseNeeds| need.pauses & used & !need.obeyed;
    let Some((need, ignored)) =
        audit.needs.iter().map(|need| (need, ignored(need))).find(|(_, ignored)| *ignored != 0)
    else {
        return;
    };
    let [node, peer] = [need.node, need.peer].map(|node| &spec.nodes[node.at()].name);
    let list: Vec<String> = (0..8).filter(|p| ignored >> p & 1 != 0).map(|p| p.to_string()).collect();
    let message = format!(
        "\"{node}\" sends pauses for priority {} to \"{peer}\", which does not obey them",
        list.join(", ")
    );
    let help = "frames can be lost: no headroom is enough for a station that goes on sending";
    audit.may_lose(Subject::Node(need.peer), Remark::about("flow_control", message, help));
}
