//! Texts that name several nodes: "all", patterns with `*`, ranges, and the hosts of switches.
//!
//! `h1..h32` is h1, h2 and so on up to h32, with leading zeros if both ends have them. `leaf0/h*` are the hosts linked
//! to leaf0 that match `h*`; on either side there may be a name, a range or a pattern. A node whose name looks like a
//! range or a pattern takes precedence.

use super::Context;
use super::topology::Fabric;
use crate::model::{HostSettings, Model, SwitchSettings};
use crate::place::{Alias, Place};
use fabric::spec::{matches, range};
use fabric::topology::NodeRole;
use frame::NodeId;
use keys::Step;
use std::borrow::Cow;
use std::collections::{BTreeMap, BTreeSet};

/// Returns true if a text names several nodes, and is not itself the name of a node.
pub fn is_several(text: &str) -> bool {
    text == "all" || text.contains('*') || text.contains('/') || text.contains("..")
}

/// Returns the nodes of a role that such a text names. Returns none, and reports an error, if the text is invalid.
pub fn find(
    text: &str,
    role: NodeRole,
    at: &Place,
    fabric: &Fabric,
    context: &mut Context<'_>,
) -> Vec<NodeId> {
    let found = match text.split_once('/') {
        Some((switches, hosts)) if role == NodeRole::Host => behind(switches, hosts, fabric),
        _ => fitting(text, role, fabric),
    };
    match found {
        Ok(found) if found.is_empty() => {
            let what = if role == NodeRole::Host { "host" } else { "switch" };
            context.error(at, format!("no {what} matches \"{text}\""), fabric.hint(text, Some(role)));
            Vec::new()
        }
        Ok(found) => found,
        Err(why) => {
            let meant = meant(text, role, fabric);
            let help = fabric.hint(if meant.is_some() { "" } else { text }, Some(role));
            let meant = meant.map(|names| format!("; did you mean \"{names}\"?"));
            context.error(at, why, help + &meant.unwrap_or_default());
            Vec::new()
        }
    }
}

/// Returns a suggestion: the existing names of a range, in either direction.
fn meant(text: &str, role: NodeRole, fabric: &Fabric) -> Option<String> {
    let (first, last) = text.split_once("..")?;
    let exists =
        |name: &String| fabric.find(name).is_some_and(|node| fabric.graph.nodes[node.at()].role == role);
    [text.to_string(), format!("{last}..{first}")].iter().find_map(|names| {
        let there = range(names)?.ok()?.into_iter().skip_while(|name| !exists(name)).take_while(exists);
        let there: Vec<String> = there.collect();
        match there.as_slice() {
            [] => None,
            [one] => Some(one.clone()),
            [first, .., last] => Some(format!("{first}..{last}")),
        }
    })
}

/// Returns the neighbours of these switches that the texts name, ascending.
///
/// If the texts are written for these switches alone (`is_own`), a text that names no neighbour of them is reported,
/// unless it names one of another switch that the same pattern selects.
pub fn neighbours(
    texts: &[String],
    (of, is_own): (&[NodeId], bool),
    at: &Place,
    fabric: &Fabric,
    context: &mut Context<'_>,
) -> Vec<NodeId> {
    let mut all = BTreeSet::new();
    for (index, text) in texts.iter().enumerate() {
        let of_role = |role| fitting(text, role, fabric).unwrap_or_default();
        let found: Vec<NodeId> = [NodeRole::Switch, NodeRole::Host].into_iter().flat_map(of_role).collect();
        let is_linked = |&node: &NodeId| of.iter().any(|&switch| fabric.linked(switch, node));
        let linked: Vec<NodeId> = found.iter().copied().filter(is_linked).collect();
        let by_others = || {
            let written = at.written_for(context.aliases()).filter_map(|name| fabric.find(name));
            written.into_iter().any(|other| found.iter().any(|&node| fabric.linked(other, node)))
        };
        if is_own && linked.is_empty() && !of.is_empty() && !by_others() {
            let message = format!("no station with these settings has a link to \"{text}\"");
            let help = match fabric.find(text) {
                Some(_) => "expected a host or switch at the other end of a link".to_string(),
                None => fabric.hint(text, None),
            };
            context.error(&at.index(index), message, help);
        }
        all.extend(linked);
    }
    all.into_iter().collect()
}

/// Returns the hosts that are linked to these switches and match.
fn behind(switches: &str, hosts: &str, fabric: &Fabric) -> Result<Vec<NodeId>, String> {
    let switches = fitting(switches, NodeRole::Switch, fabric)?;
    let hosts = fitting(hosts, NodeRole::Host, fabric)?;
    let mut is_one = vec![false; fabric.graph.nodes.len()];
    switches.iter().for_each(|switch| is_one[switch.at()] = true);
    let is_behind = |host: &NodeId| fabric.neighbours(*host).iter().any(|next| is_one[next.at()]);
    Ok(hosts.into_iter().filter(is_behind).collect())
}

/// Returns the nodes of a role that match a name, a range or a pattern, in the order of the fabric.
fn fitting(text: &str, role: NodeRole, fabric: &Fabric) -> Result<Vec<NodeId>, String> {
    let of_role = |node: &NodeId| fabric.graph.nodes[node.at()].role == role;
    let what = if role == NodeRole::Host { "host" } else { "switch" };
    match range(text).filter(|_| fabric.find(text).is_none()) {
        Some(names) => {
            let find = |name: String| {
                let node = fabric.find(&name).filter(of_role);
                node.ok_or_else(|| format!("\"{text}\" contains \"{name}\", which is not a {what}"))
            };
            names?.into_iter().map(find).collect()
        }
        None => {
            let nodes = (0..fabric.graph.nodes.len() as u32).map(NodeId).filter(of_role);
            Ok(nodes.filter(|&node| text == "all" || matches(text, fabric.name(node))).collect())
        }
    }
}

/// Returns the hosts and switches that match a name, a range or a pattern.
pub fn of_any_role(text: &str, fabric: &Fabric) -> Result<Vec<NodeId>, String> {
    if let Some(node) = fabric.find(text) {
        return Ok(vec![node]);
    }
    if let Some(names) = range(text) {
        let find = |name: String| {
            fabric.find(&name).ok_or_else(|| format!("\"{text}\" contains \"{name}\", which is not there"))
        };
        return names?.into_iter().map(find).collect();
    }
    let nodes = (0..fabric.graph.nodes.len() as u32).map(NodeId);
    Ok(nodes.filter(|&node| text == "all" || matches(text, fabric.name(node))).collect())
}

/// Replaces settings by range or pattern with settings of single stations. Settings under a station's own name take
/// precedence over those of a pattern.
pub fn expand_stations<'m>(model: &'m Model, fabric: &Fabric, context: &mut Context<'_>) -> Cow<'m, Model> {
    let hosts = expand(&model.hosts, ("hosts", NodeRole::Host), fabric, context);
    let switches = expand(&model.switches, ("switches", NodeRole::Switch), fabric, context);
    if hosts.is_none() && switches.is_none() {
        return Cow::Borrowed(model);
    }
    let mut model = model.clone();
    let hosts: Option<BTreeMap<String, HostSettings>> = hosts;
    let switches: Option<BTreeMap<String, SwitchSettings>> = switches;
    model.hosts = hosts.unwrap_or(model.hosts);
    model.switches = switches.unwrap_or(model.switches);
    Cow::Owned(model)
}

fn expand<T: Clone>(
    settings: &BTreeMap<String, T>,
    (table, role): (&str, NodeRole),
    fabric: &Fabric,
    context: &mut Context<'_>,
) -> Option<BTreeMap<String, T>> {
    let is_pattern = |key: &str| is_several(key) && fabric.find(key).is_none();
    if !settings.keys().any(|key| is_pattern(key)) {
        return None;
    }
    let mut all: BTreeMap<String, T> = settings
        .iter()
        .filter(|(key, _)| !is_pattern(key))
        .map(|(key, own)| (key.clone(), own.clone()))
        .collect();
    let mut by_pattern: BTreeMap<String, &str> = BTreeMap::new();
    let mut aliases = Vec::new();
    for (key, own) in settings.iter().filter(|(key, _)| is_pattern(key)) {
        let at = Place::of(table).key(key);
        for node in find(key, role, &at, fabric, context) {
            let name = fabric.name(node).to_string();
            if let Some(other) = by_pattern.get(&name) {
                let message = format!("\"{key}\" and \"{other}\" both name \"{name}\"");
                let help = format!("expected patterns without a common node, or [{table}.{name}]");
                if !settings.contains_key(&name) {
                    context.error(&at, message, help);
                    break;
                }
            }
            if !settings.contains_key(&name) {
                aliases.push((Step::Key(name.clone()), Step::Key(key.clone())));
                all.insert(name.clone(), own.clone());
            }
            by_pattern.insert(name, key);
        }
    }
    context.alias(Alias { table: Place::of(table), steps: aliases });
    Some(all)
}
