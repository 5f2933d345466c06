//! Visits of all counters of a run, to count skipped periods.
//!
//! Counters are visited in the order of their numbers in the whole fabric, so that a visit does not depend on the
//! number of threads.

use crate::run::state::fingerprint::Fingerprint;
use crate::run::state::ledger::Ledger;
use crate::run::state::probes::PauseRecord;
use crate::simulation::Simulation;
use recurrence::{Counts, Growth, Recurs, grow_map};
use units::Time;

/// Counters and fingerprints at a boundary.
#[derive(Debug)]
pub(super) struct Snapshot {
    counters: Growth,
    fingerprints: Vec<Fingerprint>,
}

impl Snapshot {
    /// Returns true if the growth in the second of two periods, between three boundaries, equals that in the first.
    pub fn repeats([first, second, third]: [&Snapshot; 3], period: Time) -> bool {
        let repeats = |((first, second), third): ((&Fingerprint, &Fingerprint), &Fingerprint)| {
            let mut next = *second;
            next.repeat(*first, 1, period);
            next == *third
        };
        let mut nodes = first.fingerprints.iter().zip(&second.fingerprints).zip(&third.fingerprints);
        Growth::is_even([first, second, third].map(|own| &own.counters)) && nodes.all(repeats)
    }
}

impl Simulation {
    /// Returns the counters at the start of a period, which is now. Series record the period, which may be skipped this
    /// many times.
    pub(super) fn period_begins(&mut self, period: Time, periods: u64) -> Growth {
        let now = self.now();
        self.shards.iter_mut().for_each(|shard| shard.world.probes.record_period(now, period, periods));
        let mut growth = Growth::new(self.now());
        self.visit_counters(&mut growth);
        growth
    }

    /// Returns the present counters and fingerprints, for comparison with those at other boundaries.
    pub(super) fn snapshot(&mut self) -> Snapshot {
        let mut counters = Growth::new(self.now());
        self.visit_counters(&mut counters);
        let all = self.parts().flat_map(|part| part.probes.fingerprints.all(part.whole()));
        let fingerprints = all.copied().collect();
        Snapshot { counters, fingerprints }
    }

    /// Returns the maximum number of periods of this length that may be skipped, as far as series have recorded one.
    pub(super) fn recorded_periods(&self, period: Time) -> u64 {
        self.shards.iter().map(|shard| shard.world.probes.recorded_periods(period)).min().unwrap_or(0)
    }

    /// Returns true if series record a period.
    pub(super) fn records_period(&self) -> bool {
        self.shards.iter().any(|shard| shard.world.probes.records_period())
    }

    /// Discards the period that series record, which will not be skipped.
    pub(super) fn forget_period(&mut self) {
        self.shards.iter_mut().for_each(|shard| shard.world.probes.forget_period());
    }

    /// Counts skipped periods, with this total time, as if they had been simulated after the period that ends now.
    pub(super) fn leave_out(&mut self, mut growth: Growth, periods: u64, takes: Time) {
        let before = self.frame_hops();
        growth.repeat(self.now(), (periods, takes));
        for shard in &mut self.shards {
            shard.world.probes.leave_out(growth.now(), growth.period(), periods);
        }
        self.visit_counters(&mut growth);
        self.recurrence.skipped += takes;
        self.recurrence.skipped_hops += self.frame_hops() - before;
        self.jobs.skip_to(self.now() + self.recurrence.skipped, self.recurrence.skipped);
    }

    /// Visits the fingerprints of the nodes.
    fn visit_fingerprints(&mut self, growth: &mut Growth) {
        for world in self.shards.iter_mut().map(|shard| &mut shard.world) {
            let whole = world.whole();
            let all = world.probes.fingerprints.all_mut(whole);
            let Some((begins, periods)) = growth.kept(all) else { continue };
            let period = growth.period();
            all.iter_mut().zip(begins).for_each(|(own, begin)| own.repeat(begin, periods, period));
        }
    }

    fn visit_counters(&mut self, growth: &mut Growth) {
        self.visit_ledgers(growth);
        self.visit_fingerprints(growth);
        for world in self.shards.iter_mut().map(|shard| &mut shard.world) {
            let whole = world.whole();
            world.hosts.ranks.ranks.all_mut(whole).iter_mut().for_each(|own| own.machine.grow(growth));
        }
        for world in self.shards.iter_mut().map(|shard| &mut shard.world) {
            let whole = world.whole();
            for own in world.hosts.endpoints.all_mut(whole) {
                own.endpoint.grow(growth);
                own.measured.advance(growth);
                own.measured.completed.iter_mut().for_each(|at| growth.last(at));
            }
        }
        for world in self.shards.iter_mut().map(|shard| &mut shard.world) {
            let whole = world.whole();
            for source in world.hosts.sources.all_mut(whole) {
                source.frames.advance(growth);
                source.bytes.advance(growth);
            }
        }
        for world in self.shards.iter_mut().map(|shard| &mut shard.world) {
            let whole = world.whole();
            for port in world.links.ports.keys(whole) {
                world.links.cold[port].grow(growth);
                world.links.passed.grow_port(port, growth);
            }
        }
        for world in self.shards.iter_mut().map(|shard| &mut shard.world) {
            let whole = world.whole();
            for queue in world.buffers.queues.keys(whole) {
                world.buffers.queues[queue].grow(growth);
                world.links.managers.of_mut(queue).into_iter().for_each(|own| own.grow(growth));
            }
        }
        for path in 0..self.path_flow.len() {
            for world in self.shards.iter_mut().map(|shard| &mut shard.world) {
                if let Some(&Some(receiver)) = world.hosts.receiver_of_path.get(path) {
                    world.hosts.receivers[receiver].advance(growth);
                }
            }
        }
        for world in self.shards.iter_mut().map(|shard| &mut shard.world) {
            let probes = &mut world.probes;
            probes.tallies.advance(growth);
            probes.culprits.advance(growth);
            probes.victims.advance(growth);
            probes.congestion.iter_mut().for_each(|own| own.advance(growth));
            if let Some(pauses) = &mut probes.pauses {
                let later = |own: &PauseRecord, time| PauseRecord {
                    start: own.start + time,
                    end: own.end + time,
                    ..*own
                };
                growth.rows(pauses, later);
            }
        }
    }

    /// Visits the ledgers of all parts. Each has the losses at its own ports.
    fn visit_ledgers(&mut self, growth: &mut Growth) {
        let mut all = Ledger::default();
        self.shards.iter().for_each(|shard| all.absorb(&shard.world.ledger));
        let Ledger { made, copied, delivered, lost, drops, trims, trimmed, on_lossless_drop: _, failure: _ } =
            all;
        let sums = [made, copied, delivered, lost].map(|sum| growth.of(sum.into()) as u64);
        let own = &mut self.shards[0].world.ledger;
        for (count, more) in
            [&mut own.made, &mut own.copied, &mut own.delivered, &mut own.lost].into_iter().zip(sums)
        {
            *count += more;
        }
        let Some(((drops, trims, trimmed), periods)) = growth.kept(&(drops, trims, trimmed)) else { return };
        for shard in &mut self.shards {
            grow_map(&mut shard.world.ledger.drops, &drops, periods);
            grow_map(&mut shard.world.ledger.trims, &trims, periods);
        }
        debug_assert!(trimmed.is_empty(), "a state with packet trimming is unknown");
    }
}
