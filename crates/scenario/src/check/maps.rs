//! Maps of switches: from the DSCP of a frame to its queue and priority group.
//!
//! Simulated frames carry one of eight priorities, which the maps common to all switches derive from their DSCP. A
//! switch with other maps assigns another queue and group to that priority, so that no lookup is needed during the run.
//! A rewrite of the DSCP becomes a rewrite of the priority on the links to the neighbours that it applies to.
//!
//! Not modelled: two DSCPs of one traffic class that another switch distinguishes; pauses of one priority for a queue
//! or group with frames of another. Both are rejected.

use super::topology::Fabric;
use super::{Context, names};
use crate::diagnostics::Severity;
use crate::model::{CODE_POINTS, CodePoints, MapKeys, Model, RemapKeys};
use crate::place::Place;
use ::flow_control::{Control, PauseKind};
use fabric::spec::Remap;
use frame::{ClassMap, NodeId, PRIORITIES, Priority, members};
use queueing::PoolsSpec;
use std::array::from_fn;
use std::sync::Arc;

/// Switches with common settings, and the place of these settings.
pub struct Settings<'a> {
    pub model: &'a Model,
    pub fabric: &'a Fabric,
    pub switches: &'a [NodeId],
    pub at: &'a Place,
    /// The maps at that place; missing ones are those of all switches.
    pub own: Option<&'a MapKeys>,
}

/// The settings of a switch that maps change.
pub struct Mapped<'a> {
    pub queues: &'a mut ClassMap,
    pub pools: &'a mut Option<Arc<PoolsSpec>>,
    pub control: Option<&'a Control>,
}

/// Applies maps to the mapping of priorities to queues and groups. Returns the rewrites on some links.
pub fn lower(settings: &Settings<'_>, to: &mut Mapped<'_>, context: &mut Context<'_>) -> Vec<Remap> {
    let all = settings.model.switch.maps.clone().unwrap_or_default();
    let keys = settings.own.map_or_else(|| all.clone(), |own| own.or(&all));
    let sure = context.clean(|context| {
        if let Some(own) = settings.own {
            ranges(own, settings, context);
            matter(own, settings, to, context);
        }
    });
    let used = CodePoints::of(settings.model);
    if sure.is_none() || *to.queues == ClassMap::CHANNELS {
        return Vec::new();
    }
    colors(&keys, &all, &used, settings, context);
    let Some(classes) = classes(&keys, &used, settings, context) else { return Vec::new() };
    let own_queues = *to.queues;
    let own_groups = to.pools.as_ref().map(|pools| pools.groups);
    let queue = |priority: usize| own_queues.class(Priority(classes[priority])).0;
    *to.queues = ClassMap::new(from_fn(queue)).unwrap_or(own_queues);
    if let Some(pools) = to.pools.as_mut().filter(|_| classes != from_fn(|n| n as u8)) {
        let pools = Arc::make_mut(pools);
        pools.groups = classes.map(|class| pools.groups[usize::from(class)]);
    }
    let remaps = remaps(&keys, &used, settings, context);
    if let Some(PauseKind::Priorities(lossless)) = to.control.and_then(Control::pauses).map(|own| own.kind) {
        let theirs = Pauses { lossless, own_queues, own_groups, classes, used: &used };
        theirs.check(&keys, settings, to, context);
        theirs.check_remaps(&remaps, settings, to, context);
    }
    remaps
}

/// Returns the priority of each DSCP, by the maps common to all switches.
pub fn classes_of_dscp(settings: &Settings<'_>) -> [u8; CODE_POINTS] {
    settings.model.switch.maps.clone().unwrap_or_default().traffic_classes()
}

/// Reports numbers out of range.
fn ranges(own: &MapKeys, settings: &Settings<'_>, context: &mut Context<'_>) {
    let at = settings.at.key("maps");
    let is_dscp = |key: &str| key.parse().is_ok_and(|n: usize| n < CODE_POINTS && key == n.to_string());
    for (key, &class) in own.dscp_to_tc.iter().flatten() {
        let at = at.key("dscp_to_tc").key(key);
        if !is_dscp(key) && key != "other" {
            context.error(&at, format!("DSCP \"{key}\""), "expected 0 to 63, or other");
        }
        if class >= PRIORITIES as u64 {
            context.error(&at, format!("traffic class {class}"), "expected 0 to 7");
        }
    }
    for key in own.dscp_to_color.iter().flatten().map(|(key, _)| key) {
        if !is_dscp(key) && key != "other" {
            let at = at.key("dscp_to_color").key(key);
            context.error(&at, format!("DSCP \"{key}\""), "expected 0 to 63, or other");
        }
    }
    for (key, list) in [("pfc_to_queue", &own.pfc_to_queue), ("pfc_to_group", &own.pfc_to_group)] {
        let Some(list) = list else { continue };
        if list.len() != PRIORITIES || list.iter().any(|&number| number >= PRIORITIES as u64) {
            let help = "expected eight numbers, 0 to 7, one for each priority";
            context.error(&at.key(key), format!("{key} = {list:?}"), help);
        }
    }
    for (index, entry) in own.remap.iter().flatten().enumerate() {
        let at = at.key("remap").index(index);
        for (key, &new) in &entry.dscp {
            if !is_dscp(key) || new >= CODE_POINTS as u64 {
                let message = format!("DSCP \"{key}\" becomes {new}");
                context.error(&at.key("dscp").key(key), message, "expected 0 to 63 for both");
            }
        }
        if entry.to.is_empty() {
            context.error(&at.key("to"), "an empty list", "expected neighbours of the switch");
        }
    }
}

/// Reports maps without effect.
fn matter(own: &MapKeys, settings: &Settings<'_>, to: &Mapped<'_>, context: &mut Context<'_>) {
    let at = settings.at.key("maps");
    let has_dscp = CodePoints::of(settings.model).dscps.iter().any(|list| !list.is_empty());
    let pauses = to.control.and_then(Control::pauses);
    let by_priority = pauses.is_some_and(|own| matches!(own.kind, PauseKind::Priorities(_)));
    let rows = [
        ("dscp_to_tc", own.dscp_to_tc.is_some(), has_dscp, "flows or transfers with a `dscp`"),
        ("dscp_to_color", own.dscp_to_color.is_some(), has_dscp, "flows or transfers with a `dscp`"),
        ("remap", own.remap.is_some(), has_dscp, "flows or transfers with a `dscp`"),
        ("pfc_to_queue", own.pfc_to_queue.is_some(), by_priority, "flow_control.pfc"),
        (
            "pfc_to_group",
            own.pfc_to_group.is_some(),
            by_priority && to.pools.is_some(),
            "flow_control.pfc and groups of buffer.memory",
        ),
    ];
    let idle = rows.into_iter().filter(|&(_, is_said, matters, _)| is_said && !matters);
    context.unused(idle.map(|(key, _, _, needs)| keys::unused(key, needs)).collect(), &at);
    if *to.queues == ClassMap::CHANNELS {
        context.error(&at, "maps beside channels = \"all\"", "expected other channels, or no maps");
    }
}

/// Reports maps that give frames different colors at different switches, which is not modelled.
fn colors(
    keys: &MapKeys,
    all: &MapKeys,
    used: &CodePoints,
    settings: &Settings<'_>,
    context: &mut Context<'_>,
) {
    let mut dscps = used.dscps.iter().flatten().map(|&dscp| u64::from(dscp));
    if let Some(dscp) = dscps.find(|&dscp| keys.color(dscp) != all.color(dscp)) {
        let (here, there) = (keys.color(dscp).name(), all.color(dscp).name());
        let message = format!("DSCP {dscp} is {here} here, and {there} by the maps of [switch]");
        let help = "a flow has one color: expected the same in both";
        context.error(&settings.at.key("maps").key("dscp_to_color"), message, help);
    }
}

/// Returns the traffic class of frames of each priority at this switch.
fn classes(
    keys: &MapKeys,
    used: &CodePoints,
    settings: &Settings<'_>,
    context: &mut Context<'_>,
) -> Option<[u8; PRIORITIES]> {
    let own = keys.traffic_classes();
    let mut classes = [0; PRIORITIES];
    let at = settings.at.key("maps").key("dscp_to_tc");
    let all = context.clean(|context| {
        for (priority, class) in classes.iter_mut().enumerate() {
            match used.all_become(priority, |dscp| own[usize::from(dscp)]) {
                Ok(one) => *class = one,
                Err([(first, a), (second, b)]) => {
                    let message = format!("{first} is of traffic class {a} here, and {second} of {b}");
                    let help = format!(
                        "by the maps of [switch] both are of class {priority}, and frames of one class are treated alike: expected flows of different classes there"
                    );
                    context.error(&at, message, help);
                }
            }
        }
    });
    all.map(|()| classes)
}

/// Returns the rewritten priorities of frames to some neighbours.
fn remaps(
    keys: &MapKeys,
    used: &CodePoints,
    settings: &Settings<'_>,
    context: &mut Context<'_>,
) -> Vec<Remap> {
    let priority_of = settings.model.switch.maps.clone().unwrap_or_default().traffic_classes();
    let one = |(index, entry): (usize, &RemapKeys)| {
        let at = settings.at.key("maps").key("remap").index(index);
        let of = (settings.switches, settings.own.is_some_and(|own| own.remap.is_some()));
        let to = names::neighbours(&entry.to, of, &at.key("to"), settings.fabric, context);
        let mut priorities = [Priority(0); PRIORITIES];
        for (old, new) in priorities.iter_mut().enumerate() {
            match used.all_become(old, |dscp| priority_of[usize::from(entry.new_dscp(dscp))]) {
                Ok(priority) => *new = Priority(priority),
                Err([(first, a), (second, b)]) => {
                    let message = format!("{first} becomes one of class {a}, and {second} one of {b}");
                    let help = format!(
                        "both are of class {old}, and frames of one class are treated alike: expected the change for both"
                    );
                    context.error(&at.key("dscp"), message, help);
                }
            }
        }
        Remap { to, priorities }
    };
    let all: Vec<Remap> = keys.remap.iter().flatten().enumerate().map(one).collect();
    warn_of_idle(&all, settings, context)
}

/// Keeps entries that change frames, or that override a later entry for their neighbours. Reports the others.
fn warn_of_idle(all: &[Remap], settings: &Settings<'_>, context: &mut Context<'_>) -> Vec<Remap> {
    let is_own = settings.own.is_some_and(|own| own.remap.is_some());
    let mut kept = Vec::new();
    for (index, one) in all.iter().enumerate() {
        let at = settings.at.key("maps").key("remap").index(index);
        let named = |others: &[Remap], node| others.iter().any(|other| other.to.binary_search(node).is_ok());
        let mut fresh = one.to.iter().filter(|&node| !named(&all[..index], node)).peekable();
        if fresh.peek().is_none() {
            if is_own && !one.to.is_empty() {
                let help =
                    "the first entry for a neighbour applies: move this one before those, or leave it out";
                context.warn(&at.key("to"), "entries before it name all of these neighbours", help);
            }
            continue;
        }
        if (0..).zip(&one.priorities).any(|(old, new)| old != new.0)
            || fresh.any(|node| named(&all[index + 1..], node))
        {
            kept.push(one.clone());
        } else if is_own {
            let help = "it has no effect: expected DSCPs of flows, and others of another traffic class";
            context.warn(&at.key("dscp"), "no frames get another traffic class", help);
        }
    }
    kept
}

/// Pauses of a switch, and its mappings without maps.
struct Pauses<'a> {
    lossless: u8,
    /// Queue of each traffic class.
    own_queues: ClassMap,
    own_groups: Option<[u8; PRIORITIES]>,
    /// Traffic class of each priority.
    classes: [u8; PRIORITIES],
    used: &'a CodePoints,
}

impl Pauses<'_> {
    /// Checks that the pauses of a priority apply to the queue and the group of its frames.
    fn check(&self, keys: &MapKeys, settings: &Settings<'_>, to: &Mapped<'_>, context: &mut Context<'_>) {
        let meant = |list: &Option<Vec<u64>>, priority: usize| {
            list.as_ref().and_then(|list| list.get(priority)).and_then(|&number| u8::try_from(number).ok())
        };
        let at = settings.at.key("maps");
        let help = "lossless frames would be lost, and this is not simulated: expected maps that lead frames and pauses of a priority to one place";
        for priority in members(self.lossless) {
            let (frames, class) = (self.used.name(priority), self.classes[priority]);
            let waits = to.queues.class(Priority(priority as u8)).0;
            let usual = self.own_queues.class(Priority(priority as u8)).0;
            let stops = meant(&keys.pfc_to_queue, priority).unwrap_or(usual);
            if stops != waits {
                let message = format!(
                    "{frames} are of traffic class {class}, in queue {waits}, and pauses of priority {priority} stop queue {stops}"
                );
                let key = if keys.pfc_to_queue.is_some() { "pfc_to_queue" } else { "dscp_to_tc" };
                context.error(&at.key(key), message, help);
            }
            let Some((groups, own)) = to.pools.as_ref().map(|pools| pools.groups).zip(self.own_groups) else {
                continue;
            };
            let (fills, usual) = (groups[priority], own[priority]);
            let sends = meant(&keys.pfc_to_group, priority).unwrap_or(usual);
            if sends != fills {
                let message = format!(
                    "{frames} are of traffic class {class}, in priority group {fills}, and pauses of priority {priority} are sent for group {sends}"
                );
                let key = if keys.pfc_to_group.is_some() { "pfc_to_group" } else { "dscp_to_tc" };
                context.error(&at.key(key), message, help);
            }
        }
    }

    /// Checks that rewrites keep lossless frames lossless.
    fn check_remaps(
        &self,
        remaps: &[Remap],
        settings: &Settings<'_>,
        to: &Mapped<'_>,
        context: &mut Context<'_>,
    ) {
        let at = settings.at.key("maps").key("remap");
        if !remaps.is_empty()
            && to.control.and_then(Control::pauses).is_some_and(|own| !own.counts_at_ingress())
        {
            let help = "expected accounting = \"ingress\": a queue that is counted would be paused by the priority of other frames";
            context.error(&at, "changes of DSCP where pauses are counted at the egress", help);
        }
        for own in remaps {
            let lost = members(self.lossless).find(|&old| self.lossless >> own.priorities[old].0 & 1 == 0);
            if let Some(old) = lost {
                let message = format!(
                    "{} of lossless priority {old} leave with priority {}, which is not lossless",
                    self.used.name(old),
                    own.priorities[old].0
                );
                let help = "they can be lost after this switch: expected a DSCP of a lossless class";
                context.report(Severity::NotLossless, &at, message, help.to_string());
            }
        }
    }
}
