//! Ending jobs when the time of an iteration is known with the requested precision.

use crate::run::state::ranks::RankState;
use crate::simulation::Simulation;
use jobs::{Precision, Rank};
use units::Time;

/// Returns the times of the iterations of a job that all of its ranks have ended. The first is measured from the start
/// of its first rank, others from the end of the previous one. Their mean is `step_ns` of the table `jobs`.
pub(crate) fn step_times(ranks: &[&RankState]) -> Vec<Time> {
    let of = |machine: fn(&Rank) -> Option<Time>| ranks.iter().filter_map(move |own| machine(&own.machine));
    let mut before = of(|own| own.times().first().map(|one| one.began)).min().unwrap_or_default();
    let finished = ranks.iter().map(|own| own.machine.finished()).min().unwrap_or(0);
    let ends = (0..finished).map(|nth| ranks.iter().map(|own| own.machine.times()[nth].ended).max());
    ends.map(|end| {
        let end = end.unwrap_or_default();
        end - std::mem::replace(&mut before, end)
    })
    .collect()
}

impl Simulation {
    /// Ends all jobs after the iterations in progress, if each of them has ended or has the time of its iterations at
    /// this precision. The state is checked between windows, at fixed simulated times.
    pub(super) fn end_jobs_at(&mut self, precision: Precision) {
        let mut known = std::mem::take(&mut self.jobs.known);
        known.resize(self.spec.jobs.len(), (0, false));
        let ranks = self.ranks();
        let of_jobs: Vec<&[&RankState]> = ranks.chunk_by(|one, next| one.job == next.job).collect();
        // Reduction units at switches are after the ranks.
        let of_ranks = of_jobs.iter().zip(&self.spec.jobs).map(|(all, spec)| &all[..spec.ranks() as usize]);
        let (mut all_done, mut all_known) = (true, true);
        for (ranks, (iterations, is_known)) in of_ranks.zip(&mut known) {
            let is_done = ranks.iter().all(|own| own.machine.is_done());
            let finished = ranks.iter().map(|own| own.machine.finished()).min().unwrap_or(0);
            if std::mem::replace(iterations, finished) != finished {
                *is_known = precision.is_reached(&step_times(ranks));
            }
            all_done &= is_done;
            all_known &= is_done || *is_known;
        }
        let begun = |ranks: &&[&RankState]| ranks.iter().map(|own| own.machine.times().len() as u32).max();
        let begun: Vec<u32> = of_jobs.iter().map(|ranks| begun(ranks).unwrap_or(0)).collect();
        self.jobs.known = known;
        if all_done || !all_known {
            return;
        }
        for shard in &mut self.shards {
            let whole = shard.world.whole();
            for state in shard.world.hosts.ranks.ranks.all_mut(whole) {
                state.machine.end_after(begun[state.job as usize]);
            }
        }
    }

    /// Number of iterations after which a job ends.
    pub(crate) fn iterations_of(&self, job: u32) -> u64 {
        self.parts()
            .flat_map(|part| part.hosts.ranks.ranks.all(part.whole()))
            .find(|state| state.job == job)
            .map_or(0, |state| state.machine.iterations().into())
    }
}
