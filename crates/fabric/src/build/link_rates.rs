//! Rates of links by direction: the initial ones, and the slowest and fastest of a run.

use crate::build::Plan;
use crate::spec::{FaultSpec, Spec};
use std::collections::{BTreeMap, BTreeSet};
use units::BitRate;

/// Links whose rates change.
#[derive(Debug, Default)]
pub(crate) struct LinkRates {
    /// By link and direction, the slowest and the fastest rate.
    bounds: BTreeMap<u32, [(BitRate, BitRate); 2]>,
    /// Links of which only one direction changes its rate.
    unequal: BTreeSet<u32>,
}

impl LinkRates {
    /// Collects the rate changes of a run.
    pub fn new(spec: &Spec) -> LinkRates {
        let mut rates = LinkRates::default();
        for fault in &spec.faults {
            if let FaultSpec::LinkRate { link, towards, rate, .. } = fault {
                let own = &spec.links[*link as usize];
                rates.unequal.extend(towards.map(|_| *link));
                let both = rates.bounds.entry(*link).or_insert_with(|| own.rates.map(|first| (first, first)));
                for (direction, (slowest, fastest)) in both.iter_mut().enumerate() {
                    if own.changes(*towards, direction) {
                        (*slowest, *fastest) = ((*slowest).min(*rate), (*fastest).max(*rate));
                    }
                }
            }
        }
        rates
    }
}

impl Plan<'_> {
    /// Initial rate of a port.
    pub fn rate(&self, port: u32) -> BitRate {
        self.link(port).rate_from(self.wiring.node_of[port as usize])
    }
    /// Slowest and fastest rate at which a port ever sends.
    pub fn rates(&self, port: u32) -> (BitRate, BitRate) {
        let at = port as usize;
        let direction = self.link(port).direction_from(self.wiring.node_of[at]);
        let changed = self.rates.bounds.get(&self.wiring.link_of[at]).map(|both| both[direction]);
        changed.unwrap_or_else(|| (self.rate(port), self.rate(port)))
    }
    /// Returns true if both directions of a port's link always have equal rates.
    pub fn is_symmetric(&self, port: u32) -> bool {
        let number = self.wiring.link_of[port as usize];
        let [there, back] = self.link(port).rates;
        there == back && !self.rates.unequal.contains(&number)
    }
}
