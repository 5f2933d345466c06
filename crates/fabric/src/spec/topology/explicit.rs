//! A fabric described link by link.

use super::{
    Cabled, Graph, GraphNode, MAX_LINKS, MAX_NODES, MOST_ERRORS, NodeRole, Shape, by_rate, check_ports,
    check_rate, with_cable,
};
use crate::spec::pattern::range;
use flow_control::phy::{Phy, PhyName};
use frame::NodeId;
use keys::{Forms, Remark, by_form, nearest};
use schemars::JsonSchema;
use serde::de::value::SeqAccessDeserializer;
use serde::de::{self, SeqAccess};
use serde::{Deserialize, Serialize};
use std::collections::BTreeMap;
use units::BitRate;

/// Fabric described link by link: named hosts and switches, and each link.
#[derive(Clone, Debug, PartialEq, Deserialize, Serialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct Explicit {
    /// Names of the hosts, all different; a range like "h0..h31" stands for all names in it. Required.
    pub hosts: Vec<String>,
    /// Names of the switches, all different and different from those of the hosts; ranges are accepted. Default: none.
    #[serde(default)]
    pub switches: Vec<String>,
    /// Links between the nodes. Required.
    pub links: Vec<ExplicitLink>,
}

with_cable! {
    /// A link, or several links with the same settings.
    ExplicitLink {
        /// Names of the two ends; with a range like "h0..h31", there is a link for each pair of ends. Required.
        between: Between,
        /// Number of parallel links. A count, 1 to 65536. Default: 1.
        #[serde(default = "one_link")]
        count: u64,
    }
    optional {
        /// Rate from the second end to the first, if it differs from `rate`, which then is the rate from the first end to the second. A rate with unit, 1 Mb/s to 1.6 Tb/s; with a `line_code`, on the wire. Not together with `phy`; the link has no PHY by default. Default: `rate`.
        reverse_rate: units::BitRate,
    }
}

impl ExplicitLink {
    /// Returns the errors of the rate in the second direction.
    fn reverse_rate_errors(&self) -> Vec<Remark> {
        let Some(rate) = self.reverse_rate else { return Vec::new() };
        let wrong = check_rate(rate, self.line_code).err().map(|why| why.within("reverse_rate"));
        let has_phy = self.phy.is_some_and(|name| name != PhyName::Absent);
        let phy = (has_phy && rate != self.rate).then(|| {
            let message = "both phy and reverse_rate are given";
            let help = "keep one of them: a PHY has one rate in both directions";
            Remark::about("reverse_rate", message, help)
        });
        wrong.into_iter().chain(phy).collect()
    }
}

fn one_link() -> u64 {
    1
}

/// Names of the two ends of a link.
#[derive(Clone, Debug, PartialEq, Serialize, JsonSchema)]
pub struct Between(pub String, pub String);

impl Forms for Between {
    const EXPECTED: &'static str = "the names of the two ends, like [\"h0\", \"sw\"]";
    fn list<'de, A: SeqAccess<'de>>(list: A) -> Result<Self, A::Error> {
        let names: Vec<String> = Vec::deserialize(SeqAccessDeserializer::new(list))?;
        match <[String; 2]>::try_from(names) {
            Ok([a, b]) => Ok(Between(a, b)),
            Err(names) => {
                Err(de::Error::custom(format!("{} names; expected {}", names.len(), Self::EXPECTED)))
            }
        }
    }
}
by_form!(Between);

impl Shape for Explicit {
    fn fill(&mut self) -> Vec<&'static Phy> {
        let mut phys = Vec::new();
        for link in &mut self.links {
            // A PHY has equal rates in both directions.
            if link.reverse_rate.is_some_and(|rate| rate != link.rate) && link.cable().leaves_out_phy() {
                link.phy = Some(PhyName::Absent);
            }
            if link.fill_cable() {
                phys.extend(link.cable().phy());
            }
        }
        by_rate(phys)
    }
    fn graph(&self) -> Result<Graph, Vec<Remark>> {
        let mut drawing = Drawing::default();
        drawing.names("hosts", &self.hosts, NodeRole::Host, 0);
        drawing.names("switches", &self.switches, NodeRole::Switch, 1);
        if self.hosts.is_empty() {
            drawing.errors.push(Remark::about("hosts", "there is no host", "expected at least one name"));
        }
        for (i, link) in self.links.iter().enumerate() {
            if drawing.errors.len() >= MOST_ERRORS {
                break;
            }
            if let Err(errors) = drawing.row(link) {
                drawing.errors.extend(errors.into_iter().map(|one| one.within_entry(i).within("links")));
            }
        }
        if !drawing.errors.is_empty() {
            return Err(drawing.errors);
        }
        let written = drawing.written;
        check_ports(&drawing.graph, |node| {
            let (key, i) = written[node.at()];
            Remark::about(key, "", "").entry(i)
        })?;
        Ok(drawing.graph)
    }
    fn warnings(&self) -> Vec<Remark> {
        let of_row = |(i, link): (usize, &ExplicitLink)| {
            let code = link.line_code;
            let rates = [("rate", Some(link.rate)), ("reverse_rate", link.reverse_rate)];
            let of_rate = move |(key, rate): (&'static str, Option<BitRate>)| {
                let warnings = rate.and_then(|rate| check_rate(rate, code).ok()).unwrap_or_default();
                warnings.into_iter().map(move |one| one.within(key).within_entry(i).within("links"))
            };
            rates.into_iter().flat_map(of_rate)
        };
        self.links.iter().enumerate().flat_map(of_row).take(MOST_ERRORS).collect()
    }
    fn is_layered(&self) -> bool {
        false
    }
}

/// A graph under construction, and its errors so far.
#[derive(Default)]
struct Drawing {
    graph: Graph,
    names: BTreeMap<String, NodeId>,
    /// The key and the index of the entry that names each node.
    written: Vec<(&'static str, usize)>,
    errors: Vec<Remark>,
}

impl Drawing {
    /// Adds the nodes of a list.
    fn names(&mut self, key: &'static str, list: &[String], role: NodeRole, level: u8) {
        for (i, text) in list.iter().enumerate() {
            let wrong = |message: String, help: String| Remark::about(key, message, help).entry(i);
            let names = match range(text) {
                Some(Ok(names)) => names,
                Some(Err(why)) => {
                    self.errors.push(wrong(why, String::new()));
                    continue;
                }
                None => vec![text.clone()],
            };
            let nodes = (self.graph.nodes.len() + names.len()) as u64;
            if nodes > MAX_NODES {
                let help = format!("expected at most {MAX_NODES}");
                self.errors.push(wrong(format!("{nodes} nodes are too many"), help));
                return;
            }
            for name in names {
                let id = NodeId(self.graph.nodes.len() as u32);
                if !is_name(&name) {
                    self.errors.push(wrong(format!("\"{name}\" is not a name"), NAME_HELP.into()));
                } else if self.names.insert(name.clone(), id).is_some() {
                    let help = "hosts and switches need different names";
                    self.errors.push(wrong(format!("the name \"{name}\" is used twice"), help.into()));
                }
                self.graph.nodes.push(GraphNode { name, role, level });
                self.written.push((key, i));
                if self.errors.len() >= MOST_ERRORS {
                    return;
                }
            }
        }
    }

    /// Adds the links of an entry.
    fn row(&mut self, link: &ExplicitLink) -> Result<(), Vec<Remark>> {
        let cable = link.cable();
        let mut errors = cable.errors(["rate", "length", "phy"]);
        errors.extend(link.reverse_rate_errors());
        if link.count == 0 {
            errors.push(Remark::about("count", "count is 0", "expected at least 1"));
        }
        let mut end = |name: &str, which| match self.ends(name) {
            Ok(nodes) => nodes,
            Err(why) => {
                errors.push(why.within_entry(which).within("between"));
                Vec::new()
            }
        };
        let (left, right) = (end(&link.between.0, 0), end(&link.between.1, 1));
        let pairs = (left.len() as u64).saturating_mul(right.len() as u64);
        if pairs > MAX_LINKS {
            errors.push(Remark::about("between", "too many links", "expected shorter ranges"));
        } else if let Some(node) = left.iter().find(|node| right.contains(node)) {
            let message = format!("a link from \"{}\" to itself", self.graph.nodes[node.at()].name);
            errors.push(Remark::about("between", message, "expected two different nodes"));
        }
        let links = pairs.saturating_mul(link.count).saturating_add(self.graph.links.len() as u64);
        if errors.is_empty() && links > MAX_LINKS {
            let help = format!("expected at most {MAX_LINKS}");
            errors.push(Remark::about("count", format!("{links} links are too many"), help));
        }
        if !errors.is_empty() {
            return Err(errors);
        }
        for &a in &left {
            for &b in &right {
                for _ in 0..link.count {
                    let drawn = self.graph.link(a, b, cable);
                    if let Some(rate) = link.reverse_rate {
                        (drawn.rates[1], drawn.wire_rates[1]) = (cable.at(Some(rate)).data_rate(), rate);
                    }
                }
            }
        }
        Ok(())
    }

    /// Returns the nodes named by an end of a link: one, or those of a range.
    fn ends(&self, text: &str) -> Result<Vec<NodeId>, Remark> {
        let find = |name: &str| {
            self.names.get(name).copied().ok_or_else(|| {
                let hint = nearest(name, self.names.keys().map(String::as_str))
                    .map_or(String::new(), |n| format!("; did you mean \"{n}\"?"));
                let help = format!("expected one of hosts or switches above{hint}");
                Remark::new(format!("unknown node \"{name}\""), help)
            })
        };
        match range(text) {
            Some(Ok(names)) => names.iter().map(|name| find(name)).collect(),
            _ => Ok(vec![find(text)?]),
        }
    }
}

const NAME_HELP: &str = "expected letters without spaces, *, quotes, brackets or \"all\"; several names are a range like \"h0..h31\"";

/// Returns true if a name is valid: it must not look like a pattern or a list, and must fit a column of a result.
pub fn is_name(name: &str) -> bool {
    let fits = |c: char| !c.is_control() && !c.is_whitespace() && !"*\"'[]{},".contains(c);
    !name.is_empty() && name.len() <= 200 && name != "all" && name.chars().all(fits)
}
