//! Max-min fair rates of fluid flows over links whose classes have shares.
//!
//! A flow uses a *resource* (a class of a port) with a given number of bits on the link for each of its own. The strict
//! classes of a port are served first; the others share the rest by weight, and the unused part of a share is divided
//! among those that can use it. Flows of a class share max-min fairly. The demand of a class depends on the other ports
//! of its flows: the shares are found by iteration, starting from classes that use as much as they can.

use std::cmp::Reverse;
use std::collections::{BTreeMap, BinaryHeap};

/// Maximum number of iterations, after which the shares are accepted.
const MAX_ROUNDS: usize = 16;
/// Relative change of a rate below which it counts as converged.
const SMALL: f64 = 1e-9;

/// A class of a port.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(crate) struct Resource {
    /// The port, whose capacity the resource shares.
    pub port: u32,
    /// Weight of the class; `None` for strict priority, which precedes all weighted and all lower classes.
    pub weight: Option<f64>,
    /// Its class.
    pub class: u8,
}

/// The resources of a flow, with the number of bits on each per bit of the flow.
pub(crate) type Usage = Box<[(u32, f64)]>;

/// Ports and their classes, with the state of the computation.
#[derive(Debug, Default)]
pub(crate) struct Fluid {
    /// Rate of each port in bit/s.
    pub capacity: Vec<f64>,
    pub resources: Vec<Resource>,
    /// Index of the resource of each port and class.
    pub numbers: BTreeMap<(u32, u8), u32>,
    /// Resources of each port.
    by_port: Vec<Vec<u32>>,
    /// Resources in use. `place` is the index of each resource among them.
    in_use: Vec<u32>,
    place: Vec<u32>,
    /// By index among those in use, the start of the resource's flows in `users`; followed by the total.
    starts: Vec<u32>,
    users: Vec<u32>,
    heap: BinaryHeap<Reverse<(u64, u32)>>,
    /// By resource, the total use per bit by flows without a rate. `left` is the remaining capacity for them.
    open: Vec<f64>,
    left: Vec<f64>,
    /// By resource, the rate used by its flows in the last iteration; infinite if they are limited only here.
    demand: Vec<f64>,
}

/// Index of a resource that is not in use.
const UNUSED: u32 = u32::MAX;

/// Returns an integer with the order of non-negative floating-point values.
fn key(value: f64) -> u64 {
    value.max(0.0).to_bits()
}

impl Fluid {
    /// Creates ports with these rates in bit/s, without classes.
    pub fn new(capacity: Vec<f64>) -> Fluid {
        Fluid { capacity, ..Fluid::default() }
    }

    /// Computes the rate of each flow in bit/s.
    pub fn solve(&mut self, flows: &[&Usage], rates: &mut Vec<f64>) {
        self.find_in_use(flows);
        let mut before: Vec<f64> = Vec::new();
        for _ in 0..MAX_ROUNDS {
            let shared = self.share_ports();
            self.fill(flows, rates);
            let settled = before.len() == rates.len()
                && before.iter().zip(&*rates).all(|(old, new)| (old - new).abs() <= SMALL * new.max(1.0));
            if !shared || settled {
                return;
            }
            before.clone_from(rates);
            self.note_demand(flows, rates);
        }
    }

    fn find_in_use(&mut self, flows: &[&Usage]) {
        let count = self.resources.len();
        self.open.resize(count, 0.0);
        self.left.resize(count, 0.0);
        self.demand.resize(count, 0.0);
        for own in self.place.len()..count {
            let port = self.resources[own].port as usize;
            self.by_port.resize(self.by_port.len().max(port + 1), Vec::new());
            self.by_port[port].push(own as u32);
        }
        self.place.resize(count, UNUSED);
        self.in_use.iter().for_each(|&own| self.place[own as usize] = UNUSED);
        self.in_use.clear();
        for &(resource, _) in flows.iter().flat_map(|usage| usage.iter()) {
            if std::mem::replace(&mut self.place[resource as usize], 0) == UNUSED {
                self.in_use.push(resource);
                self.demand[resource as usize] = f64::INFINITY;
            }
        }
        for (place, &own) in (0..).zip(&self.in_use) {
            self.place[own as usize] = place;
        }
        self.find_users(flows);
    }

    /// Lists the flows of each resource in use.
    fn find_users(&mut self, flows: &[&Usage]) {
        self.starts.clear();
        self.starts.resize(self.in_use.len() + 1, 0);
        for &(resource, _) in flows.iter().flat_map(|usage| usage.iter()) {
            self.starts[self.place[resource as usize] as usize] += 1;
        }
        let mut sum = 0;
        for start in &mut self.starts {
            sum += *start;
            *start = sum;
        }
        self.users.resize(sum as usize, 0);
        for (nth, usage) in (0..flows.len() as u32).zip(flows).rev() {
            for &(resource, _) in usage.iter() {
                let start = &mut self.starts[self.place[resource as usize] as usize];
                *start -= 1;
                self.users[*start as usize] = nth;
            }
        }
    }

    /// Divides the capacity of each port among its classes. Returns true if any port has several classes.
    fn share_ports(&mut self) -> bool {
        let mut several = false;
        let Fluid { capacity, resources, by_port, in_use, place, left, demand, .. } = self;
        let mut classes: Vec<u32> = Vec::new();
        for &first in &*in_use {
            let port = resources[first as usize].port as usize;
            classes.clear();
            classes.extend(by_port[port].iter().filter(|&&own| place[own as usize] != UNUSED));
            if classes.len() == 1 {
                left[first as usize] = capacity[port];
                continue;
            }
            several = true;
            if classes[0] != first {
                continue; // its port is done with the first class
            }
            let mut rest = capacity[port];
            let mut strict: Vec<u32> = classes.clone();
            strict.retain(|&own| resources[own as usize].weight.is_none());
            strict.sort_by_key(|&own| Reverse(resources[own as usize].class));
            for own in strict {
                left[own as usize] = rest;
                rest = (rest - demand[own as usize]).max(0.0);
            }
            let weight = |own: u32| resources[own as usize].weight.unwrap_or(0.0);
            let mut others: Vec<u32> = classes.clone();
            others.retain(|&own| resources[own as usize].weight.is_some());
            // Weighted classes, in ascending order of demand over share.
            others.sort_by(|&a, &b| {
                (demand[a as usize] / weight(a)).total_cmp(&(demand[b as usize] / weight(b)))
            });
            let mut weights: f64 = others.iter().map(|&own| weight(own)).sum();
            for own in others {
                let share = rest * weight(own) / weights;
                // A class with less demand keeps its claim to its share, in case its demand grows.
                left[own as usize] = share;
                rest -= share.min(demand[own as usize]);
                weights -= weight(own);
            }
        }
        several
    }

    /// Progressive filling: the resource with the lowest level assigns this rate to all of its flows.
    fn fill(&mut self, flows: &[&Usage], rates: &mut Vec<f64>) {
        rates.clear();
        rates.resize(flows.len(), -1.0);
        for &own in &self.in_use {
            self.open[own as usize] = 0.0;
        }
        for &(resource, bits) in flows.iter().flat_map(|usage| usage.iter()) {
            self.open[resource as usize] += bits;
        }
        let level = |fluid: &Fluid, own: u32| fluid.left[own as usize].max(0.0) / fluid.open[own as usize];
        let mut heap = std::mem::take(&mut self.heap);
        let users = |fluid: &Fluid, own: u32| {
            let place = fluid.place[own as usize] as usize;
            fluid.starts[place + 1] - fluid.starts[place]
        };
        let entry = |own: u32| Reverse((key(level(self, own)), own));
        heap.extend(self.in_use.iter().filter(|&&own| users(self, own) > 1).map(|&own| entry(own)));
        // Of the resources that only one flow uses, only the slowest can limit it.
        for usage in flows {
            let alone = usage.iter().map(|own| own.0).filter(|&own| users(self, own) == 1);
            heap.extend(alone.map(entry).max());
        }
        while let Some(Reverse((at, own))) = heap.pop() {
            let place = self.place[own as usize] as usize;
            let mine = self.starts[place] as usize..self.starts[place + 1] as usize;
            if self.users[mine.clone()].iter().all(|&nth| rates[nth as usize] >= 0.0) {
                continue;
            }
            let now = level(self, own);
            // Levels only rise as other flows get their rates.
            if key(now) > at {
                heap.push(Reverse((key(now), own)));
                continue;
            }
            for user in mine {
                let nth = self.users[user];
                if rates[nth as usize] >= 0.0 {
                    continue;
                }
                rates[nth as usize] = now;
                for &(resource, bits) in flows[nth as usize].iter() {
                    self.open[resource as usize] -= bits;
                    self.left[resource as usize] -= bits * now;
                }
            }
        }
        self.heap = heap;
    }

    /// Sets the demand of each class: the rate that it used, or infinity if its port is saturated.
    fn note_demand(&mut self, flows: &[&Usage], rates: &[f64]) {
        for &own in &self.in_use {
            let full =
                self.left[own as usize] <= 1e-6 * self.capacity[self.resources[own as usize].port as usize];
            self.demand[own as usize] = if full { f64::INFINITY } else { 0.0 };
        }
        for (usage, rate) in flows.iter().zip(rates) {
            for &(resource, bits) in usage.iter() {
                self.demand[resource as usize] += bits * rate;
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Creates ports with these capacities, and their classes: port, class, weight.
    fn fluid(capacity: &[f64], classes: &[(u32, u8, Option<f64>)]) -> Fluid {
        let resources = classes.iter().map(|&(port, class, weight)| Resource { port, weight, class });
        Fluid { capacity: capacity.to_vec(), resources: resources.collect(), ..Fluid::default() }
    }

    fn rates(fluid: &mut Fluid, flows: &[&[u32]]) -> Vec<f64> {
        let flows: Vec<Usage> = flows.iter().map(|own| own.iter().map(|&one| (one, 1.0)).collect()).collect();
        let mut rates = Vec::new();
        fluid.solve(&flows.iter().collect::<Vec<_>>(), &mut rates);
        rates.iter().map(|rate| (rate * 1e6).round() / 1e6).collect()
    }

    #[test]
    fn flows_of_one_class_share_max_min() {
        // The parking lot: one flow over both links, and one over each.
        let mut own = fluid(&[10.0, 40.0], &[(0, 0, None), (1, 0, None)]);
        assert_eq!(rates(&mut own, &[&[0, 1], &[0], &[1]]), [5.0, 5.0, 35.0]);
        assert_eq!(rates(&mut own, &[&[0], &[0], &[0], &[0]]), [2.5; 4]);
        assert_eq!(rates(&mut own, &[]), [0.0; 0]);
    }

    #[test]
    fn classes_share_by_weight_and_leave_what_they_do_not_use() {
        // Class 1 has three quarters of a port, and a bottleneck elsewhere.
        let classes = [(0, 0, Some(1.0)), (0, 1, Some(3.0)), (1, 1, Some(1.0))];
        let mut own = fluid(&[100.0, 50.0], &classes);
        assert_eq!(rates(&mut own, &[&[0], &[1]]), [25.0, 75.0]);
        assert_eq!(rates(&mut own, &[&[0], &[1, 2]]), [50.0, 50.0]);
        assert_eq!(rates(&mut own, &[&[0], &[0], &[1], &[1]]), [12.5, 12.5, 37.5, 37.5]);
    }

    #[test]
    fn strict_classes_come_first() {
        let classes = [(0, 5, None), (0, 3, None), (0, 0, Some(1.0)), (1, 5, None)];
        let mut own = fluid(&[100.0, 60.0], &classes);
        assert_eq!(rates(&mut own, &[&[0], &[1], &[2]]), [100.0, 0.0, 0.0]);
        assert_eq!(rates(&mut own, &[&[0, 3], &[2]]), [60.0, 40.0]);
        assert_eq!(rates(&mut own, &[&[1], &[2]]), [100.0, 0.0]);
    }

    #[test]
    fn a_flow_that_is_spread_uses_a_part_of_each_link() {
        let mut own = fluid(&[10.0, 10.0, 100.0], &[(0, 0, None), (1, 0, None), (2, 0, None)]);
        let flows: [Usage; 2] = [[(0, 0.5), (1, 0.5), (2, 1.1)].into(), [(0, 1.0)].into()];
        let mut rates = Vec::new();
        own.solve(&flows.iter().collect::<Vec<_>>(), &mut rates);
        assert!((rates[0] - 10.0 / 1.5).abs() < 1e-9 && (rates[1] - 10.0 / 1.5).abs() < 1e-9, "{rates:?}");
    }
}
