//! Checks pools and profiles against pauses: each lossless priority needs a group of its own with a profile, headroom
//! for the bytes in flight on its links, and no egress limit.

use super::port_settings::{Claimed, Selected, port_settings};
use super::{Audit, Finding, Subject, of_buffer, of_flow_control};
use crate::build::pool_profiles;
use crate::spec::SwitchSpec;
use flow_control::{PauseKind, PauseSpec};
use frame::{NodeId, PRIORITIES, PortId};
use keys::{Remark, Severity, nearest};
use queueing::{AttachmentSpec, Limit, PoolsSpec, PortFacts, PortProfiles, ProfileSpec, Side};
use std::collections::{BTreeMap, BTreeSet};

/// Reports attachments whose peer is not adjacent to any switch they apply to, those that fit none of its ports, and
/// two that claim one port.
pub(super) fn check(audit: &mut Audit<'_>) {
    let (spec, wiring) = (audit.spec, audit.spec.wiring());
    let mut seen: Vec<(&PoolsSpec, Vec<PortId>, NodeId)> = Vec::new();
    for (id, node) in (0..).map(NodeId).zip(&spec.nodes) {
        let Some(pools) = node.switch().and_then(|switch| switch.pools.as_deref()) else { continue };
        match seen.iter_mut().find(|(known, ..)| std::ptr::eq(*known, pools)) {
            Some((_, known, _)) => known.extend(wiring.ports(id)),
            None => seen.push((pools, wiring.ports(id).collect(), id)),
        }
    }
    for (pools, ports, id) in seen {
        let names: BTreeSet<&str> =
            ports.iter().map(|&port| spec.nodes[wiring.neighbour(port).at()].name.as_str()).collect();
        let place = |remark: Remark, index: usize| {
            remark.within_entry(index).within("attach").within("memory").within("buffer")
        };
        let selected: Vec<Selected<'_>> = pools
            .attachments
            .iter()
            .map(|own| Selected {
                ports: &own.ports,
                what: format!("profile \"{}\"", pools.profiles[own.profile].name),
            })
            .collect();
        let unknown = |own: &AttachmentSpec| own.ports.to.iter().any(|name| !names.contains(name.as_str()));
        let claimed = |port: &PortFacts<'_>, number: usize| {
            [Side::Ingress, Side::Egress].map(|side| pools.claimed(port, side, number))
        };
        for (index, remark) in port_settings(spec, &wiring, &ports, &selected, &claimed) {
            match remark {
                Claimed::Idle(_) if unknown(&pools.attachments[index]) => {}
                Claimed::Idle(remark) => audit.warn(Subject::Node(id), place(remark, index)),
                Claimed::Twice(remark) => audit.error(Subject::Node(id), place(remark, index)),
            }
        }
        for (index, own) in pools.attachments.iter().enumerate() {
            let others = own.ports.to.iter().enumerate();
            for (at, name) in others.filter(|(_, name)| !names.contains(name.as_str())) {
                let help = match nearest(name, names.iter().copied()) {
                    Some(meant) => format!("did you mean \"{meant}\"?"),
                    None => "expected the name of a host or switch at the other end of a link".to_string(),
                };
                let message = format!("no switch with this memory has a link to \"{name}\"");
                let remark = Remark::about("to", message, help).entry(at);
                audit.error(Subject::Node(id), place(remark, index));
            }
        }
    }
}

/// Checks the pools of a switch against its pauses.
pub(super) fn of_pauses(id: NodeId, pause: &PauseSpec, audit: &mut Audit<'_>) {
    let node = &audit.spec.nodes[id.at()];
    let Some((switch, pools)) = node.switch().and_then(|own| Some((own, own.pools.as_deref()?))) else {
        return;
    };
    let error = |key: &str, message: String, help: &str| Finding {
        severity: Severity::Error,
        subject: Subject::Node(id),
        remark: of_flow_control(pause.name, key, message, help),
    };
    let PauseKind::Priorities(lossless) = pause.kind else {
        let message = format!("\"{}\" pauses whole links, but its memory has priority groups", node.name);
        return audit.findings.push(error("", message, "expected flow_control.pfc"));
    };
    if !pause.counts_at_ingress() {
        let message =
            format!("\"{}\" counts pauses at the egress, but its memory by priority groups", node.name);
        return audit.findings.push(error("accounting", message, "expected accounting = \"ingress\""));
    }
    if pause.watermarks.is_some() {
        let message = format!("xoff and xon, but profiles of \"{}\" define its XOFF and XON", node.name);
        let help = "they are ignored there: expected neither, or no memory in pools";
        audit.warn(Subject::Node(id), of_flow_control(pause.name, "xoff", message, help));
    }
    if let Some(message) = in_one_group(lossless, pools) {
        let help = "expected a group for each lossless priority: one that shares it is not modelled";
        audit.error(Subject::Node(id), of_buffer("memory", message, help).key("groups"));
    }
    if let Some(message) = lossy_beside_lossless(lossless, audit.spec.priorities_in_use(), pools) {
        let help = "only one of them is paused, and the other uses its headroom: expected separate groups";
        audit.loses(Subject::Node(id), of_buffer("memory", message, help).key("groups"));
    }
    let wiring = audit.spec.wiring();
    let ports = pool_profiles(audit.spec, &wiring, id, pools);
    groups(id, lossless, (pools, &ports), audit);
    for note in egress_limits(switch, pools, &ports, lossless) {
        let help = "lossless frames can be lost at the egress, for which nothing is paused: expected a larger egress pool or threshold";
        audit.warn(Subject::Node(id), of_buffer("memory", format!("\"{}\": {note}", node.name), help));
    }
}

fn in_one_group(lossless: u8, pools: &PoolsSpec) -> Option<String> {
    let mut first = [None; PRIORITIES];
    for priority in (0..PRIORITIES).filter(|priority| lossless >> priority & 1 != 0) {
        let group = pools.groups[priority];
        if let Some(other) = first[usize::from(group)].replace(priority) {
            return Some(format!("lossless priorities {other} and {priority} in priority group {group}"));
        }
    }
    None
}

fn lossy_beside_lossless(lossless: u8, used: u32, pools: &PoolsSpec) -> Option<String> {
    let used = (0..PRIORITIES).filter(|priority| used >> priority & 1 != 0);
    let (kept, lossy): (Vec<usize>, Vec<usize>) = used.partition(|priority| lossless >> priority & 1 != 0);
    let same = |&&other: &&usize| kept.iter().any(|&one| pools.groups[one] == pools.groups[other]);
    let other = *lossy.iter().find(same)?;
    let group = pools.groups[other];
    let one = kept.iter().find(|&&one| pools.groups[one] == group)?;
    Some(format!(
        "lossless priority {one} and priority {other}, which is not lossless, in priority group {group}"
    ))
}

/// Checks that each group of a lossless priority has a profile, and headroom for its link.
fn groups(id: NodeId, lossless: u8, (pools, ports): (&PoolsSpec, &[PortProfiles]), audit: &mut Audit<'_>) {
    let wiring = audit.spec.wiring();
    let first = wiring.first_port[id.at()];
    let port_name =
        |port: u32| wiring.port_name(PortId(port), |node| audit.spec.nodes[node.at()].name.as_str());
    let needs: Vec<_> = audit.needs.iter().filter(|need| need.node == id).collect();
    let mut short: BTreeMap<usize, (u64, u32)> = BTreeMap::new();
    let mut without = Vec::new();
    let mut in_flight = vec![0u64; pools.pools.len()];
    for ((number, profiles), need) in (first..).zip(ports).zip(&needs) {
        for priority in (0..PRIORITIES).filter(|priority| (need.pauses & lossless) >> priority & 1 != 0) {
            let group = pools.groups[priority];
            let Some(profile) = profiles.ingress[usize::from(group)] else {
                without.push(format!(
                    "priority {priority} is lossless, but group {group} of port {} has no profile",
                    port_name(number)
                ));
                continue;
            };
            let rules = &pools.profiles[profile].rules;
            in_flight[usize::from(rules.pool)] += need.room.get();
            if rules.headroom < need.room.get() {
                let most = short.entry(profile).or_default();
                *most = (*most).max((need.room.get(), number));
            }
        }
    }
    let subject = Subject::Node(id);
    if let Some(message) = without.into_iter().next() {
        let help = "expected an attachment for it: without, its sender is never paused";
        audit.error(subject, of_buffer("memory", message, help).key("attach"));
    }
    for (profile, (room, port)) in short {
        let ProfileSpec { name, rules, .. } = &pools.profiles[profile];
        let message = format!(
            "headroom of {} B in profile \"{name}\" is less than the {room} B that the link at port {} has in flight",
            rules.headroom,
            port_name(port)
        );
        let help = format!("expected at least \"{room} B\"");
        audit.loses(subject, of_buffer("memory", message, help).key("profiles").key(name));
    }
    for ((pool, reserved), needed) in pools.pools.iter().zip(pools.reserved(ports)).zip(in_flight) {
        let Some(shared) = pool.headroom else { continue };
        if shared < needed {
            let message = format!(
                "pool \"{}\" has {shared} B of headroom that groups share; their profiles have {reserved} B, and {needed} B are in flight if all groups pause at once",
                pool.name
            );
            let help = "lossless frames are lost if too many groups pause at once: increase the headroom, or check with a run";
            audit.warn(subject, of_buffer("memory", message, help).key("pools").key(&pool.name));
        }
    }
}

/// Returns descriptions of the egress queues of lossless priorities that can reach their limit; one per profile.
pub(super) fn egress_limits(
    switch: &SwitchSpec,
    pools: &PoolsSpec,
    ports: &[PortProfiles],
    lossless: u8,
) -> Vec<String> {
    let most = most_of_ingress(pools, ports, lossless);
    let classes = switch.classes.classes_of(u32::from(lossless));
    let mut seen = BTreeSet::new();
    for port in ports {
        let used = (0..PRIORITIES).filter(|class| classes >> class & 1 != 0);
        seen.extend(used.filter_map(|class| port.egress[class]));
    }
    let binds = |&profile: &usize| {
        let (rules, pool) = (&pools.profiles[profile].rules, pools.pool_of(profile));
        let limit = match rules.limit {
            Limit::Static(bytes) => bytes.min(pool.size),
            // The limit if the whole pool is available to this queue.
            Limit::Dynamic(alpha) => alpha.share(pool.size, 1),
        };
        let limit = limit.saturating_add(rules.reserved);
        (limit < most).then(|| {
            format!(
                "egress limit of profile \"{}\" can bind: a lossless queue may hold {limit} B, and {most} B can wait that ingress pools have taken",
                pools.profiles[profile].name
            )
        })
    };
    seen.iter().filter_map(binds).collect()
}

/// Returns the maximum number of bytes that the lossless groups of these ports can hold together.
pub(super) fn most_of_ingress(pools: &PoolsSpec, ports: &[PortProfiles], lossless: u8) -> u64 {
    let mut of_pool = vec![(0u64, 0u64, 0u64); pools.pools.len()];
    for port in ports {
        for priority in (0..PRIORITIES).filter(|priority| lossless >> priority & 1 != 0) {
            let Some(profile) = port.ingress[usize::from(pools.groups[priority])] else { continue };
            let rules = &pools.profiles[profile].rules;
            let (shared, headroom, reserved) = &mut of_pool[usize::from(rules.pool)];
            let alone = pools.levels(profile, 1).0 - rules.reserved;
            *shared = shared.saturating_add(alone);
            *headroom = headroom.saturating_add(rules.headroom);
            *reserved = reserved.saturating_add(rules.reserved);
        }
    }
    let most = of_pool.iter().zip(&pools.pools).map(|(&(shared, headroom, reserved), pool)| {
        let headroom = headroom.min(pool.headroom.unwrap_or(u64::MAX));
        shared.min(pool.size).saturating_add(headroom).saturating_add(reserved)
    });
    most.fold(0, u64::saturating_add)
}
