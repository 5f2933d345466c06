//! Names of several nodes in one text: "all", `*` for any letters, ranges, and the hosts of switches.
//!
//! `h1..h32` is h1, h2 and so on up to h32, with leading zeros if both ends have them. `leaf0/h*` are the hosts linked to
//! leaf0 that match `h*`; on either side may stand a name, a range or a pattern. A node that is called like a range or a
//! pattern is meant itself.

use super::Context;
use super::topology::Fabric;
use crate::model::{Between, Explicit, ExplicitLink, HostSettings, Model, SwitchSettings, Topology};
use crate::place::{Alias, Place};
use fabric::topology::{MAX_NODES, NodeRole};
use frame::NodeId;
use keys::Step;
use std::borrow::Cow;
use std::collections::BTreeMap;

/// Whether `name` fits `pattern`, in which each `*` stands for any letters, also none.
pub fn matches(pattern: &str, name: &str) -> bool {
    let Some((first, rest)) = pattern.split_once('*') else { return pattern == name };
    let Some(mut left) = name.strip_prefix(first) else { return false };
    let mut parts: Vec<&str> = rest.split('*').collect();
    let last = parts.pop().unwrap_or_default();
    for part in parts {
        let Some(found) = left.find(part) else { return false };
        left = &left[found + part.len()..];
    }
    left.ends_with(last)
}

/// The names of a range; `None` if the text is none; what is wrong with it, if it looks like one.
pub fn range(text: &str) -> Option<Result<Vec<String>, String>> {
    let (first, last) = text.split_once("..")?;
    let help = || {
        format!("\"{text}\" is no range; expected one like \"h1..h32\", upwards, at most {MAX_NODES} names")
    };
    Some(numbers(first, last).ok_or_else(help))
}

fn numbers(first: &str, last: &str) -> Option<Vec<String>> {
    let split = |name: &'_ str| name.trim_end_matches(|c: char| c.is_ascii_digit()).len();
    let (prefix, from) = first.split_at(split(first));
    let (other, to) = last.split_at(split(last));
    let (low, high) = (from.parse::<u64>().ok()?, to.parse::<u64>().ok()?);
    let fits = prefix == other && low <= high && high - low < MAX_NODES;
    let width = if from.len() == to.len() { from.len() } else { 0 };
    fits.then(|| (low..=high).map(|n| format!("{prefix}{n:0width$}")).collect())
}

/// Whether a text names several nodes, unless a node is called so.
pub fn is_several(text: &str) -> bool {
    text == "all" || text.contains('*') || text.contains('/') || text.contains("..")
}

/// The nodes of a role that a text names, which is no name of a node; none if it is wrong, which is reported.
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
            context.error(at, why, fabric.hint(text, Some(role)));
            Vec::new()
        }
    }
}

/// The hosts that are linked to these switches and match.
fn behind(switches: &str, hosts: &str, fabric: &Fabric) -> Result<Vec<NodeId>, String> {
    let switches = fitting(switches, NodeRole::Switch, fabric)?;
    let hosts = fitting(hosts, NodeRole::Host, fabric)?;
    let mut is_one = vec![false; fabric.graph.nodes.len()];
    switches.iter().for_each(|switch| is_one[switch.at()] = true);
    let is_behind = |host: &NodeId| fabric.neighbours(*host).iter().any(|next| is_one[next.at()]);
    Ok(hosts.into_iter().filter(is_behind).collect())
}

/// The nodes of a role that a name, a range or a pattern fits, in the order of the fabric.
fn fitting(text: &str, role: NodeRole, fabric: &Fabric) -> Result<Vec<NodeId>, String> {
    let of_role = |node: &NodeId| fabric.graph.nodes[node.at()].role == role;
    let what = if role == NodeRole::Host { "host" } else { "switch" };
    match range(text).filter(|_| fabric.find(text).is_none()) {
        Some(names) => {
            let find = |name: String| {
                let node = fabric.find(&name).filter(of_role);
                node.ok_or_else(|| format!("\"{text}\" contains \"{name}\", which is no {what}"))
            };
            names?.into_iter().map(find).collect()
        }
        None => {
            let nodes = (0..fabric.graph.nodes.len() as u32).map(NodeId).filter(of_role);
            Ok(nodes.filter(|&node| text == "all" || matches(text, fabric.name(node))).collect())
        }
    }
}

/// The model with settings of single stations in place of those by range or pattern: what a station has under its own
/// name counts, else what one pattern says.
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

/// The explicit topology with each name in place of ranges, and a link for each pair of ends.
pub fn expand_topology<'m>(topology: &'m Topology, context: &mut Context<'_>) -> Cow<'m, Topology> {
    let Topology::Explicit(explicit) = topology else { return Cow::Borrowed(topology) };
    let ends = explicit.links.iter().flat_map(|link| link.between.ends());
    if !explicit
        .hosts
        .iter()
        .chain(&explicit.switches)
        .map(String::as_str)
        .chain(ends)
        .any(|name| name.contains(".."))
    {
        return Cow::Borrowed(topology);
    }
    let known: Vec<&String> = explicit.hosts.iter().chain(&explicit.switches).collect();
    let at = Place::of("topology").key("explicit");
    let mut names = |list: &[String], key: &str| {
        let mut places = Vec::new();
        let mut all = Vec::new();
        for (i, text) in list.iter().enumerate() {
            let written = match range(text) {
                Some(Ok(names)) => names,
                Some(Err(why)) => {
                    context.error(&at.key(key).index(i), why, "");
                    continue;
                }
                None => vec![text.clone()],
            };
            places.extend((all.len()..all.len() + written.len()).map(|n| (Step::Index(n), Step::Index(i))));
            all.extend(written);
        }
        context.alias(Alias { table: at.key(key), steps: places });
        all
    };
    let (hosts, switches) = (names(&explicit.hosts, "hosts"), names(&explicit.switches, "switches"));
    let is_name = |text: &str| known.iter().any(|name| *name == text) && range(text).is_none();
    let end = |text: &str| match range(text).filter(|_| !is_name(text)) {
        Some(Ok(names)) => names,
        _ => vec![text.to_string()],
    };
    let (mut links, mut places) = (Vec::new(), Vec::new());
    for (i, link) in explicit.links.iter().enumerate() {
        let (left, right) = (end(&link.between.0), end(&link.between.1));
        if (left.len() as u64).saturating_mul(right.len() as u64) > fabric::topology::MAX_LINKS {
            context.error(
                &at.key("links").index(i).key("between"),
                "too many links",
                "expected shorter ranges",
            );
            continue;
        }
        for a in &left {
            for b in &right {
                places.push((Step::Index(links.len()), Step::Index(i)));
                links.push(ExplicitLink { between: Between(a.clone(), b.clone()), ..link.clone() });
            }
        }
    }
    context.alias(Alias { table: at.key("links"), steps: places });
    Cow::Owned(Topology::Explicit(Explicit { hosts, switches, links }))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn patterns() {
        for (pattern, name, fits) in [
            ("h*", "h12", true),
            ("h*", "l1", false),
            ("*.0", "h3.0", true),
            ("h*.*1", "h0.11", true),
            ("h*1", "h1", true),
            ("h1*1", "h1", false),
            ("*", "", true),
        ] {
            assert_eq!(matches(pattern, name), fits, "{pattern} {name}");
        }
    }

    #[test]
    fn ranges() {
        let names = |text: &str| range(text).map(|names| names.map(|names| names.join(" ")).map_err(|_| ()));
        assert_eq!(names("h9..h11"), Some(Ok("h9 h10 h11".into())));
        assert_eq!(names("h09..h11"), Some(Ok("h09 h10 h11".into())));
        assert_eq!(names("r1.0..r1.1"), Some(Ok("r1.0 r1.1".into())));
        assert_eq!(names("h3..h3"), Some(Ok("h3".into())));
        for wrong in ["h3..h2", "h1..g2", "h1..2", "h..h2", "h1..h99999999999", "..", "h1..h2..h3"] {
            assert_eq!(names(wrong), Some(Err(())), "{wrong}");
        }
        assert_eq!(names("h1"), None);
    }
}
