//! Total load of all sources of a host.

use super::Context;
use super::topology::Fabric;
use crate::place::Place;
use fabric::spec::FlowSpec;
use frame::NodeId;
use std::collections::BTreeMap;
use units::{BitRate, Time};

/// A change of a source's rate: time, change in bits per second (negative for a decrease), and entry in the scenario.
type Turn = (Time, f64, usize);

/// Relative rounding error of sums of rates.
const TOLERANCE: f64 = 1e-9;

/// Warns of the first host whose sources together exceed its link at some time, although none of them does so alone.
///
/// `entries` has the entry of the scenario for each flow. Sources without a rate of their own, which use the remaining
/// capacity, are not counted, nor are hosts with several links.
pub fn overloads(flows: &[FlowSpec], entries: &[usize], fabric: &Fabric, context: &mut Context<'_>) {
    let mut of_hosts: BTreeMap<NodeId, (BitRate, Vec<Turn>)> = BTreeMap::new();
    for (flow, &entry) in flows.iter().zip(entries) {
        let one_link = fabric.is_host(flow.from) && fabric.neighbours(flow.from).len() == 1;
        let Some(link) = fabric.rate[flow.from.at()].filter(|_| one_link) else { continue };
        let mut before = 0.0;
        let demand = flow.source.demand(link, 0);
        // A source that exceeds the link on its own is reported elsewhere, at its rate.
        if demand.iter().any(|&(_, bps)| bps > link.bps_f64()) {
            continue;
        }
        let turns =
            demand.into_iter().map(|(time, bps)| (time, bps - std::mem::replace(&mut before, bps), entry));
        of_hosts.entry(flow.from).or_insert_with(|| (link, Vec::new())).1.extend(turns);
    }
    for (host, (link, mut turns)) in of_hosts {
        // At equal times, decreases come first, then increases in the order of the scenario.
        turns.sort_by_key(|&(time, more, entry)| (time, more > 0.0, entry));
        let mut sum = 0.0;
        for (_, more, entry) in turns {
            sum += more;
            if sum > link.bps_f64() * (1.0 + TOLERANCE) {
                let (name, together) = (fabric.name(host), BitRate::from_bps(sum as u64));
                let message =
                    format!("with this source \"{name}\" sends {together}, but its link has {link}");
                let at = Place::of("flows").index(entry).key("source");
                return context.warn(&at, message, "frames will wait in the host");
            }
        }
    }
}
