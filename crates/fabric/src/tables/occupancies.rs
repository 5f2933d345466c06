//! Distributions of occupancies over time.

use super::View;
use crate::run::state::tallies::Tally;
use crate::spec::{Watched, Which};
use measure::table::{integer, real, text};
use measure::{TableBuilder, TableSpec};
use units::Time;

/// Columns of `occupancies`.
pub(super) static OCCUPANCIES: TableSpec = TableSpec {
    name: "occupancies",
    about: "One row per non-empty bin of the distribution over measured time of an occupancy selected by `[[probes]]`. Up to 63 every value has a bin; above, bins are a 32nd of an octave wide.",
    columns: &[&[
        text(
            "kind",
            "queue (a class of a port), port (all its queues), class (of all ports of a node), memory (all queues of a node), counter (an ingress counter), shared (occupancy of queues beyond their minima in a memory with dynamic thresholds) or headroom (of that memory).",
        ),
        text("entity", "Name of the queue, port, node or counter."),
        text("unit", "B or frames."),
        integer("from", "", "Lower end of the bin."),
        integer("to", "", "Upper end of the bin, exclusive."),
        real("time_ns", "ns", "Time in which the occupancy was in the bin."),
        real(
            "share_below",
            "",
            "Share of the time in this and all lower bins: the cumulative distribution at `to`.",
        ),
    ]],
};

/// Lower bound (inclusive) and upper bound (exclusive) of the occupancy, time in this range, and fraction of the
/// measured time up to its end.
type Bin = (u64, u64, Time, f64);

impl View<'_> {
    pub fn occupancies(&self) -> TableBuilder {
        let mut rows: Vec<(&Tally, &str, Bin)> = Vec::new();
        for tally in self.tallies() {
            let frames = tally.frames.as_ref().map(|frames| ("frames", frames));
            for (unit, levels) in [("B", &tally.bytes)].into_iter().chain(frames) {
                let bins = levels.histogram(self.end);
                let all = bins.iter().fold(Time::ZERO, |all, bin| all + bin.2);
                let mut below = Time::ZERO;
                for (from, to, time) in bins {
                    below += time;
                    rows.push((tally, unit, (from, to, time, below.as_secs_f64() / all.as_secs_f64())));
                }
            }
        }
        let name = |tally: &Tally| tally.place.name(&self.s.spec, &self.s.wiring);
        OCCUPANCIES
            .builder()
            .texts("kind", rows.iter().map(|row| row.0.place.kind().to_string()))
            .texts("entity", rows.iter().map(|row| name(row.0)))
            .texts("unit", rows.iter().map(|row| row.1.to_string()))
            .integers("from", rows.iter().map(|row| row.2.0))
            .integers("to", rows.iter().map(|row| row.2.1))
            .reals("time_ns", rows.iter().map(|row| row.2.2.as_ns_f64()))
            .reals("share_below", rows.iter().map(|row| row.2.3))
    }

    /// Returns the tallies of all parts. If all entries of the scenario request the busiest ones, returns only those
    /// with the highest occupancy over time.
    fn tallies(&self) -> Vec<&Tally> {
        let parts = self.s.parts().filter_map(|part| part.probes.tallies.as_deref());
        let mut all: Vec<&Tally> = parts.flat_map(|part| &part.tallies).collect();
        let probes = self.s.spec.probes.chosen.iter().flatten();
        let own = probes.filter(|probe| probe.what == Watched::Occupancy);
        let most = own.map(|probe| match probe.which {
            Which::Busiest(most) => most as usize,
            _ => usize::MAX,
        });
        let held = |tally: &&Tally| -> u128 {
            let bins = tally.bytes.histogram(self.end);
            bins.into_iter().map(|(from, _, time)| u128::from(from) * u128::from(time.ps())).sum()
        };
        all.sort_by_cached_key(|tally| (std::cmp::Reverse(held(tally)), tally.place));
        all.truncate(most.max().unwrap_or(0));
        all.sort_by_key(|tally| tally.place);
        all
    }
}
