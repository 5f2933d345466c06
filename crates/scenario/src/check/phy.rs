//! The PHYs of links: what they add to the delay.

use super::Context;
use crate::model::Topology;
use crate::place::Place;
use fabric::topology::{Graph, GraphLink, NodeRole};
use flow_control::phy::{Phy, PhyName};
use frame::NodeId;
use units::Time;

/// The PHY of each link, if it has one. Its delay is added to that of the link.
pub fn lower(
    graph: &mut Graph,
    topology: &Topology,
    at: &Place,
    context: &mut Context<'_>,
) -> Vec<Option<&'static Phy>> {
    let choices: Vec<(Option<PhyName>, Option<usize>)> = match topology {
        Topology::Explicit(it) => (0..)
            .zip(&it.links)
            .flat_map(|(i, link)| {
                std::iter::repeat_n((link.phy, Some(i)), usize::try_from(link.count).unwrap_or(0))
            })
            .collect(),
        named => vec![(named.link().and_then(|link| link.phy), None); graph.links.len()],
    };
    // A delay of the bottleneck is that of the whole link.
    let is_switch = |node: NodeId| graph.nodes[node.at()].role == NodeRole::Switch;
    let given_whole = |link: &GraphLink| {
        matches!(topology, Topology::Dumbbell(it) if it.bottleneck_delay.is_some())
            && is_switch(link.a)
            && is_switch(link.b)
    };
    let given_whole: Vec<bool> = graph.links.iter().map(given_whole).collect();
    let mut phys = Vec::with_capacity(choices.len());
    for ((link, (choice, row)), given_whole) in graph.links.iter_mut().zip(choices).zip(given_whole) {
        let phy = choice.and_then(|choice| choice.at(link.rate));
        if choice.is_some() && phy.is_none() {
            let known: Vec<String> = Phy::at(link.rate).map(|phy| format!("\"{}\"", phy.name)).collect();
            context.error(
                &row.map_or(at.clone(), |row| at.key("links").index(row)).key("phy"),
                format!("this is no PHY of a link of {}", link.rate),
                match known.as_slice() {
                    [] => "none of this rate is known: expected an interface_delay".to_string(),
                    known => format!("expected {} or \"slowest\"", known.join(", ")),
                },
            );
            // The others are alike.
            break;
        }
        link.delay += phy.filter(|_| !given_whole).map_or(Time::ZERO, Phy::interface_delay);
        phys.push(phy);
    }
    phys
}
