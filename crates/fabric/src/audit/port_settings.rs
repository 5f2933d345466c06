//! Checks settings that select ports: two that claim one port, and those that select none.

use super::{Audit, Subject};
use crate::spec::routing::Wiring;
use crate::spec::{Pattern, Spec, with_port};
use frame::{NodeId, PRIORITIES, PortId};
use keys::{Remark, nearest};
use queueing::{ManagerAssignment, PortFacts, PortSelector, PortSet};
use std::collections::{BTreeMap, BTreeSet};
use units::{BitRate, Time};

/// An entry that selects ports.
pub(super) struct Selected<'a> {
    /// The conditions that select ports.
    pub ports: &'a PortSelector,
    /// The setting, for messages.
    pub what: String,
}

/// A finding about an entry; its path begins in the entry.
pub(super) enum Claimed {
    /// The entry has no effect.
    Idle(Remark),
    /// The entry and another claim a port.
    Twice(Remark),
}

/// The entry that applies to a queue or group of a port, on one side or on both; the error is a pair of entries that
/// claim it.
pub(super) type Owner = Result<Option<usize>, [usize; 2]>;

/// Returns a finding, with its entry, for each entry without effect, and one for the first port that each pair of
/// entries claims.
pub(super) fn port_settings<const N: usize>(
    spec: &Spec,
    wiring: &Wiring,
    ports: &[PortId],
    entries: &[Selected<'_>],
    claimed: &dyn Fn(&PortFacts<'_>, usize) -> [Owner; N],
) -> Vec<(usize, Claimed)> {
    let mut pairs: BTreeMap<[usize; 2], (String, usize)> = BTreeMap::new();
    let (mut effective, mut fitting) = (BTreeSet::new(), BTreeSet::new());
    let (mut rates, mut shortest) = (BTreeSet::new(), None::<Time>);
    let mut names = BTreeSet::new();
    let node_name = |node: NodeId| spec.nodes[node.at()].name.as_str();
    for &port in ports {
        with_port(spec, wiring, port, |facts| {
            rates.insert(facts.rate);
            shortest = Some(shortest.map_or(facts.delay, |known| known.min(facts.delay)));
            for number in 0..PRIORITIES {
                for owner in claimed(facts, number) {
                    match owner {
                        Ok(entry) => effective.extend(entry),
                        Err(pair) => {
                            effective.extend(pair);
                            let name = || (wiring.port_name(port, node_name), number);
                            pairs.entry(pair).or_insert_with(name);
                        }
                    }
                }
            }
            let fits = |&(_, entry): &(usize, &Selected<'_>)| entry.ports.fits(facts);
            fitting.extend(entries.iter().enumerate().filter(fits).map(|(index, _)| index));
        });
    }
    let is_named = |entry: &Selected<'_>| matches!(entry.ports.ports, Some(PortSet::Named(_)));
    if entries.iter().any(is_named) {
        names.extend(ports.iter().map(|&port| wiring.port_name(port, node_name)));
    }
    let facts = Facts { rates, shortest: shortest.unwrap_or_default(), names };
    let mut found: Vec<(usize, Claimed)> = Vec::new();
    for (index, entry) in entries.iter().enumerate() {
        if !fitting.contains(&index) {
            found.push((index, Claimed::Idle(fits_nothing(entry, &facts))));
        } else if let Some(remark) = facts.without_port(entry) {
            found.push((index, Claimed::Idle(remark)));
        } else if !effective.contains(&index) {
            let message = format!("{} is for ports that more specific entries have", entry.what);
            let help = "it has no effect: leave it out, or change the conditions of the others";
            found.push((index, Claimed::Idle(Remark::new(message, help))));
        }
    }
    let twice = pairs.into_iter().map(|([first, second], (port, number))| {
        let message = format!(
            "{} and {} of entry {} both claim port \"{port}\" (number {number})",
            entries[second].what,
            entries[first].what,
            first + 1
        );
        let help = "expected one of them to have all conditions of the other and one more, or conditions that no port meets twice";
        (second, Claimed::Twice(Remark::new(message, help)))
    });
    found.extend(twice);
    found
}

/// Ports of the switches that share settings.
struct Facts {
    rates: BTreeSet<BitRate>,
    shortest: Time,
    names: BTreeSet<String>,
}

impl Facts {
    /// Reports a name in the list of an entry that is no port's.
    fn without_port(&self, entry: &Selected<'_>) -> Option<Remark> {
        let Some(PortSet::Named(list)) = &entry.ports.ports else { return None };
        let is_unknown = |text: &String| {
            let pattern = Pattern::new(text);
            !self.names.iter().any(|port| pattern.names_port(port))
        };
        let at = list.iter().position(is_unknown)?;
        let names = self.names.iter().map(String::as_str);
        let help = match (nearest(&list[at], names.clone()), names.clone().next()) {
            (Some(meant), _) => format!("did you mean \"{meant}\"?"),
            (None, Some(first)) => format!("ports are named like \"{first}\""),
            (None, None) => String::new(),
        };
        Some(Remark::about("ports", format!("no port is named \"{}\"", list[at]), help).entry(at))
    }
}

/// Reports an entry that selects no port, with the condition that no port meets.
fn fits_nothing(entry: &Selected<'_>, facts: &Facts) -> Remark {
    if let Some(remark) = facts.without_port(entry) {
        return remark;
    }
    let own = entry.ports;
    let (key, help) = match (own.rate, own.delay, &own.ports) {
        (Some(rate), ..) if !facts.rates.contains(&rate) => {
            let rates: Vec<String> = facts.rates.iter().map(|rate| format!("\"{rate}\"")).collect();
            ("rate", format!("expected the rate of a link: {}", rates.join(", ")))
        }
        (_, Some(most), _) if facts.shortest > most => {
            let shortest = facts.shortest;
            (
                "length",
                format!("the shortest cable has a delay of {shortest}, that of {} m", shortest.ps() / 5000),
            )
        }
        (None, None, Some(_)) => ("ports", "the switches with this setting have no such ports".to_string()),
        _ => ("", "expected what one port has, or fewer conditions".to_string()),
    };
    Remark::about(key, format!("no port matches: {} has no effect", entry.what), help)
}

/// Checks the queue managers of switches, once for each shared table of settings.
pub(super) fn check_managers(audit: &mut Audit<'_>) {
    let (spec, wiring) = (audit.spec, audit.spec.wiring());
    let mut seen: Vec<(Option<&str>, &ManagerAssignment, Vec<PortId>, NodeId)> = Vec::new();
    for (id, node) in (0..).map(NodeId).zip(&spec.nodes) {
        let Some(switch) = node.switch().filter(|switch| !switch.managers.by_port.is_empty()) else {
            continue;
        };
        let settings = audit.settings(node, "queue_managers");
        match seen.iter_mut().find(|(known, ..)| *known == settings) {
            Some((.., ports, _)) => ports.extend(wiring.ports(id)),
            None => seen.push((settings, &switch.managers, wiring.ports(id).collect(), id)),
        }
    }
    for (_, managers, ports, id) in seen {
        let entries: Vec<Selected<'_>> = managers
            .by_port
            .iter()
            .map(|own| Selected { ports: &own.ports, what: own.manager.name().to_string() })
            .collect();
        // Two managers may share a queue.
        let claimed = |port: &PortFacts<'_>, class: usize| match managers.claimed(port, class) {
            Ok(entries) => [0, 1].map(|at| Ok(entries.get(at).copied())),
            Err(pair) => [Err(pair); 2],
        };
        for (index, found) in port_settings(spec, &wiring, &ports, &entries, &claimed) {
            let place = |remark: Remark| remark.within_entry(index).within("queue_managers");
            match found {
                Claimed::Idle(remark) => audit.warn(Subject::Node(id), place(remark)),
                Claimed::Twice(remark) => audit.error(Subject::Node(id), place(remark)),
            }
        }
    }
}
