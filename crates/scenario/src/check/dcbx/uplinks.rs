//! Stations whose ports inherit the state in force at their uplink.
//!
//! The standard has no such rule for switches between core and hosts: Hagen 2012 section 3.2.4 points out the gap.

use crate::check::Context;
use crate::place::Place;
use dcbx::Settings;
use fabric::spec::{LinkSpec, NodeSpec};
use frame::NodeId;
use keys::Remark;
use std::collections::BTreeMap;

/// The uplink of each station.
pub struct Uplinks<'a> {
    settings: &'a [Option<(&'a Settings, Place)>],
    nodes: &'a [NodeSpec],
    links: &'a [LinkSpec],
    /// First link of each station to its uplink neighbour, if it has one.
    first: Vec<Option<usize>>,
}

impl<'a> Uplinks<'a> {
    /// Finds the uplinks. Reports those whose neighbour does not exist or does not run DCBX.
    pub fn of(
        settings: &'a [Option<(&'a Settings, Place)>],
        nodes: &'a [NodeSpec],
        links: &'a [LinkSpec],
        context: &mut Context<'_>,
    ) -> Uplinks<'a> {
        let mut first = vec![None; nodes.len()];
        // The table for all stations may name an uplink that only some of them have: one such station suffices.
        let mut warned: BTreeMap<String, (&Place, &str, Option<NodeId>)> = BTreeMap::new();
        for (id, own) in settings.iter().enumerate() {
            let Some((own, at)) = own else { continue };
            let Some(name) = &own.uplink else { continue };
            let uplink = |link: &LinkSpec| neighbour(link, id).filter(|one| nodes[one.at()].name == *name);
            first[id] = links.iter().position(|link| uplink(link).is_some());
            let found = warned.entry(format!("{at:?}")).or_insert((at, name, None));
            found.2 = found.2.or_else(|| links.iter().find_map(uplink));
        }
        for (at, name, found) in warned.into_values() {
            let Some(found) = found else {
                let message = format!("no station has a link to \"{name}\"");
                context.refuse(Remark::about("uplink", message, "expected the name of a neighbour"), at);
                continue;
            };
            if settings[found.at()].is_none() {
                let message = format!("the uplink \"{name}\" has no dcbx: no settings are received from it");
                let help = "the station advertises its own settings; expected dcbx at the uplink, too";
                context.beware(Remark::about("uplink", message, help), at);
            }
        }
        Uplinks { settings, nodes, links, first }
    }

    /// Returns, for each end of a link, the other link from which it inherits its state, if any.
    pub fn before(&self, link: usize) -> [Option<usize>; 2] {
        let (a, b) = (self.links[link].a, self.links[link].b);
        // If several links lead to the uplink neighbour, all of them are uplinks.
        let leads_there = |up: usize| {
            let up = &self.links[up];
            [(a, b), (b, a)].contains(&(up.a, up.b))
        };
        [a, b].map(|id| self.first[id.at()].filter(|&up| !leads_there(up)))
    }

    /// Reports uplinks that depend on each other in a cycle: each of these links waits for another one.
    pub fn refuse_circle(&self, waiting: &[usize], context: &mut Context<'_>) {
        let next = |link: usize| {
            let mut wanted = self.before(link).into_iter().flatten();
            wanted.find(|one| waiting.contains(one)).unwrap_or(link)
        };
        // After this many steps, the walk is within the cycle.
        let on_circle = waiting.iter().fold(waiting[0], |link, _| next(link));
        let ends = [self.links[on_circle].a, self.links[on_circle].b];
        let [a, b] = ends.map(|end| &self.nodes[end.at()].name);
        let message = format!("the uplinks of \"{a}\" and \"{b}\" form a cycle");
        let named = |end: &NodeId| self.settings[end.at()].as_ref().filter(|(own, _)| own.uplink.is_some());
        if let Some((_, at)) = ends.iter().find_map(named) {
            let help = "expected uplinks that end at a station without an uplink";
            context.refuse(Remark::about("uplink", message, help), at);
        }
    }
}

/// Returns the other end of a station's link.
fn neighbour(link: &LinkSpec, id: usize) -> Option<NodeId> {
    match id {
        _ if link.a.at() == id => Some(link.b),
        _ if link.b.at() == id => Some(link.a),
        _ => None,
    }
}
