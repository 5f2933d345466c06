//! Rates of links over the time of a run, if faults change them.

use super::View;
use crate::spec::FaultSpec;
use std::collections::BTreeMap;
use units::{BitRate, Time};

/// Maximum rates within a span of time, for the links whose rates change.
#[derive(Clone, Debug, Default)]
pub(super) struct LinkRates {
    /// Maximum rate by link and direction.
    changed: BTreeMap<(u32, usize), BitRate>,
}

/// Periods of a run in which no link changes its rate.
#[derive(Clone, Debug, Default)]
pub(super) struct RatePeriods {
    /// Boundaries of the periods.
    changes: Vec<Time>,
}

impl RatePeriods {
    /// Returns the first and the last period of a span of time. A change at the end of the span does not count.
    pub fn of(&self, from: Time, until: Time) -> (usize, usize) {
        let first = self.changes.partition_point(|&at| at <= from);
        (first, self.changes.partition_point(|&at| at < until).max(first))
    }
}

impl View<'_> {
    /// Changes of rates by faults: link and direction, time, and new rate.
    fn rate_changes(&self) -> impl Iterator<Item = ((u32, usize), Time, BitRate)> {
        self.s.spec.faults.iter().flat_map(|fault| {
            let FaultSpec::LinkRate { link, towards, at, rate } = *fault else { return Vec::new() };
            let changed = |&direction: &usize| self.s.spec.links[link as usize].changes(towards, direction);
            (0..2).filter(changed).map(|direction| ((link, direction), at, rate)).collect()
        })
    }

    /// Maximum rate of a port in the span of `rates`.
    pub(super) fn rate_within(&self, port: u32, rates: &LinkRates) -> BitRate {
        let node = self.s.wiring.node_of[port as usize];
        let direction = self.s.link_spec(port).direction_from(node);
        let changed = rates.changed.get(&(self.s.wiring.link_of[port as usize], direction));
        changed.copied().unwrap_or_else(|| self.s.initial_rate(port))
    }

    /// The periods of the run with constant rates.
    pub(super) fn rate_periods(&self) -> RatePeriods {
        let mut changes: Vec<Time> = self.rate_changes().map(|(_, at, _)| at).collect();
        changes.sort_unstable();
        changes.dedup();
        RatePeriods { changes }
    }

    /// Maximum rates of links from the first to the last of these periods.
    pub(super) fn link_rates(&self, periods: &RatePeriods, (first, last): (usize, usize)) -> LinkRates {
        let mut by_link: BTreeMap<(u32, usize), Vec<(Time, BitRate)>> = BTreeMap::new();
        for (link, at, rate) in self.rate_changes() {
            by_link.entry(link).or_default().push((at, rate));
        }
        let from = first.checked_sub(1).map_or(Time::ZERO, |before| periods.changes[before]);
        let until = periods.changes.get(last).copied().unwrap_or(Time::NEVER);
        let changed = by_link.into_iter().map(|(link, mut changes)| {
            changes.sort_by_key(|&(at, _)| at);
            let initial = self.s.spec.links[link.0 as usize].rates[link.1];
            let before = changes.iter().rev().find(|&&(at, _)| at <= from).map_or(initial, |&(_, rate)| rate);
            let within = changes.iter().filter(|&&(at, _)| at > from && at < until).map(|&(_, rate)| rate);
            (link, within.fold(before, |highest, rate| if rate > highest { rate } else { highest }))
        });
        LinkRates { changed: changed.collect() }
    }
}
