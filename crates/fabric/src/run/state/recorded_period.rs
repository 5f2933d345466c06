//! Record of a period in series, which is repeated for skipped periods.

use crate::run::state::congestion_series::CongestionSeries;
use crate::run::state::link_series::{BitSeries, LinkSeries};
use crate::run::state::probes::{ClassSeries, Probes};
use measure::{Grid, RunningLevels};
use units::Time;

impl Probes {
    /// Starts to record a period at `now`. `periods` is the maximum number of equal periods that may be skipped.
    pub fn record_period(&mut self, now: Time, period: Time, periods: u64) {
        self.all_grids().for_each(|grid| grid.record_period(now, period, periods));
        self.invalidate();
    }

    /// Returns the maximum number of periods of this length that may be skipped, as far as series have recorded one.
    pub fn recorded_periods(&self, period: Time) -> u64 {
        let of_tallies = self.tallies.iter().flat_map(|own| &own.grids);
        let grids = self.grids.iter().chain(of_tallies);
        grids.map(|grid| grid.recorded_periods(period)).min().unwrap_or(u64::MAX)
    }

    /// Returns true if series record a period.
    pub fn records_period(&self) -> bool {
        let of_tallies = self.tallies.iter().flat_map(|own| &own.grids);
        self.grids.iter().chain(of_tallies).any(Grid::records_period)
    }

    /// Ends the record of a period.
    pub fn forget_period(&mut self) {
        self.all_grids().for_each(Grid::forget_period);
    }

    /// Repeats the recorded period, which ends now, for this many skipped periods.
    pub fn leave_out(&mut self, now: Time, period: Time, periods: u64) {
        self.each_level(&mut |levels, grid| levels.set(now, levels.level(), grid));
        self.all_grids().for_each(|grid| grid.leave_out(now, period, periods));
        self.each_level(&mut |levels, grid| levels.resume(now, grid));
        self.invalidate();
        self.left_out += period * periods;
    }

    fn all_grids(&mut self) -> impl Iterator<Item = &mut Grid> {
        self.grids.iter_mut().chain(self.tallies.iter_mut().flat_map(|own| &mut own.grids))
    }

    fn invalidate(&mut self) {
        let classes = self.classes.iter_mut().filter_map(|class| match class {
            ClassSeries::Own(series) => Some(series),
            ClassSeries::OfPort | ClassSeries::Off => None,
        });
        let pairs = self.congestion.iter_mut().filter_map(|series| match series {
            CongestionSeries::Pairs(of) => Some(&mut of.pairs),
            CongestionSeries::Tcp(_) | CongestionSeries::Off => None,
        });
        let pairs = pairs.flatten().flat_map(|pair| [&mut pair.cnps, &mut pair.again]);
        let bits = self.arrived.iter_mut().chain(&mut self.read).chain(&mut self.marks);
        bits.chain(classes).chain(pairs).for_each(BitSeries::invalidate);
        self.links.iter_mut().for_each(LinkSeries::invalidate);
        self.queues.iter_mut().chain(&mut self.counters).for_each(|levels| levels.invalidate());
    }

    fn each_level(&mut self, visit: &mut impl FnMut(&mut RunningLevels, &mut Grid)) {
        let grids = &mut self.grids;
        for own in self.queues.iter_mut().chain(&mut self.counters) {
            own.running(grids).into_iter().for_each(|(levels, grid)| visit(levels, grid));
        }
        let of_pairs = self.congestion.iter_mut().flat_map(|series| match series {
            CongestionSeries::Off => Vec::new(),
            CongestionSeries::Tcp(levels) => vec![levels],
            CongestionSeries::Pairs(of) => {
                let pairs = of.pairs.iter_mut();
                pairs.flat_map(|pair| [&mut pair.rate_and_window, &mut pair.in_flight_and_alpha]).collect()
            }
        });
        for own in of_pairs.chain(&mut self.limiter_rates) {
            own.running(grids).into_iter().for_each(|(levels, grid)| visit(levels, grid));
        }
        if let Some(tallies) = &mut self.tallies {
            for tally in &mut tallies.tallies {
                let own = tally.series.running(&mut tallies.grids);
                own.into_iter().for_each(|(levels, grid)| visit(levels, grid));
            }
        }
    }
}
