//! Chooses between one thread and several by timing both.
//!
//! The cost of a round on several threads depends on the number of its events, on their balance and on other load on
//! the machine, and all three change during a run. Both ways are therefore timed on pieces of the run itself. The
//! slower one is tried again from time to time, for a small fraction of the run time. The measurements determine which
//! thread runs a node, but do not affect results.

use std::time::Duration;

/// Ways to run the parts of a world.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Way {
    /// One thread runs all parts in turn.
    Alone,
    /// Each part has a thread of its own.
    Together,
}

/// With fewer events than this per round and thread, several threads are not even tried, because the barrier takes
/// longer.
const FEW_EVENTS: f64 = 40.0;
/// Total duration of the pieces over which a way is measured.
const LONG_ENOUGH: Duration = Duration::from_millis(3);
/// Several threads are used only if they take less than this fraction of the time of one: they occupy processors that
/// other programs could use, and measurements vary.
const WORTH: f64 = 0.9;
/// The slower way is tried again after this many times the duration of its last trial.
const TRY_AGAIN_AFTER: u32 = 50;

/// Measured costs of both ways.
#[derive(Debug)]
pub(crate) struct Trial {
    now: Way,
    alone: Known,
    together: Known,
    /// Time and events since the way was last chosen.
    spent: Spent,
    /// Time since the other way was last used.
    since_other: Duration,
}

#[derive(Clone, Copy, Debug)]
struct Known {
    /// Nanoseconds per event in the last pieces of the way's last use, newest first; infinite for missing ones.
    costs: [f64; 3],
    /// Duration of the last measurement.
    took: Duration,
}

impl Known {
    const NOTHING: Known = Known { costs: [f64::INFINITY; 3], took: Duration::ZERO };

    /// Returns the minimum of the measurements: other load on the machine only makes a piece slower.
    fn cost(&self) -> Option<f64> {
        Some(self.costs.iter().copied().fold(f64::INFINITY, f64::min)).filter(|cost| cost.is_finite())
    }
}

/// Duration and events of a piece of a run.
#[derive(Clone, Copy, Debug, Default)]
pub(crate) struct Spent {
    pub(crate) wall: Duration,
    pub(crate) events: u64,
    pub(crate) rounds: u64,
}

impl Trial {
    /// Creates a trial that starts with this way.
    pub(crate) fn new(now: Way) -> Trial {
        Trial {
            now,
            alone: Known::NOTHING,
            together: Known::NOTHING,
            spent: Spent::default(),
            since_other: Duration::ZERO,
        }
    }

    /// Returns the way to run the next piece.
    pub(crate) fn way(&self) -> Way {
        self.now
    }

    /// Records the cost of a piece that ran as [`Trial::way`] returned. `threads` is the number of parts.
    pub(crate) fn learn(&mut self, piece: Spent, threads: usize) {
        self.spent.wall += piece.wall;
        self.spent.events += piece.events;
        self.spent.rounds += piece.rounds;
        self.since_other += piece.wall;
        if self.spent.wall < LONG_ENOUGH || self.spent.events == 0 {
            return;
        }
        let spent = std::mem::take(&mut self.spent);
        let cost = spent.wall.as_nanos() as f64 / spent.events as f64;
        let (known, other) = match self.now {
            Way::Alone => (&mut self.alone, &self.together),
            Way::Together => (&mut self.together, &self.alone),
        };
        // Measurements from before the last use of the other way are out of date.
        let before = if self.since_other > spent.wall { known.costs } else { Known::NOTHING.costs };
        *known = Known { costs: [cost, before[0], before[1]], took: spent.wall };
        let own_cost = known.cost().unwrap_or(cost);
        let few = (spent.events as f64) < FEW_EVENTS * (spent.rounds * threads as u64) as f64;
        let change = match (self.now, few, other.cost()) {
            (Way::Alone, true, _) => false,
            (Way::Together, true, _) | (_, false, None) => true,
            (now, false, Some(other_cost)) => {
                let pays = match now {
                    Way::Alone => other_cost < own_cost * WORTH,
                    Way::Together => own_cost < other_cost * WORTH,
                };
                pays == (now == Way::Alone) || self.since_other > other.took * TRY_AGAIN_AFTER
            }
        };
        if change {
            self.now = if self.now == Way::Alone { Way::Together } else { Way::Alone };
            self.since_other = Duration::ZERO;
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Runs 10,000 pieces that take 5 ms on one thread, and 5 ms times `factor` on several. Returns the time in excess
    /// of the better way, as a fraction, and the fraction of the pieces that ran on several threads.
    fn overhead(factor: impl Fn(u64) -> f64, events_a_round: u64) -> (f64, f64) {
        let (mut trial, mut took, mut best, mut together) = (Trial::new(Way::Alone), 0.0, 0.0, 0);
        for piece in 0..10_000 {
            let slower = if trial.way() == Way::Together { factor(piece) } else { 1.0 };
            together += u64::from(trial.way() == Way::Together);
            let wall = Duration::from_micros((5_000.0 * slower) as u64);
            trial.learn(Spent { wall, events: 50_000, rounds: 50_000 / events_a_round }, 2);
            took += slower;
            best += factor(piece).min(1.0);
        }
        (took / best - 1.0, together as f64 / 10_000.0)
    }

    #[test]
    fn the_faster_way_is_found_and_the_other_costs_little() {
        for factor in [0.5, 0.8, 1.2, 2.0, 10.0, 100.0] {
            let (more, together) = overhead(|_| factor, 1_000);
            assert!(more < 0.05, "{factor}: {more}");
            assert_eq!(together > 0.5, factor < 1.0, "{factor}");
        }
        // Occasional load by other programs does not change the choice.
        let (_, together) = overhead(|piece| if piece % 7 == 0 { 5.0 } else { 0.5 }, 1_000);
        assert!(together > 0.9, "{together}");
        let (_, together) = overhead(|_| 0.95, 1_000);
        assert!(together < 0.05, "such a small gain does not justify more threads");
    }

    #[test]
    fn a_machine_that_becomes_busy_or_quiet_is_noticed() {
        let (more, together) = overhead(|piece| if piece / 2_500 % 2 == 0 { 0.5 } else { 20.0 }, 1_000);
        assert!(more < 0.10, "{more}");
        assert!((0.4..0.6).contains(&together), "{together}");
    }

    #[test]
    fn small_rounds_are_not_even_tried() {
        assert_eq!(overhead(|_| 0.5, 50), (1.0, 0.0), "twice as long as the better way, had it been tried");
    }
}
