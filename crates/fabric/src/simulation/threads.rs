//! How many threads a run uses, and whether more than one pay.

use crate::run::world::Fabric;
use engine::Runner;
use std::time::Duration;
use units::Time;

/// How many threads a run uses. The result does not depend on it.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Threads {
    /// This many from the beginning to the end, 1 to 255 and at most one a node: for tests and measurements. It may be
    /// many times slower than one.
    Always(usize),
    /// One at first, up to this many once the beginning of the run says that they pay, and one again while they do not.
    UpTo(usize),
}

impl From<usize> for Threads {
    fn from(threads: usize) -> Threads {
        Threads::Always(threads)
    }
}

/// The beginning of a run on one thread, from which it is judged.
pub(crate) struct Pilot {
    /// Threads that may be used.
    pub most: usize,
    /// What building the fabric took, and what the run has taken so far.
    pub built: Duration,
    pub ran: Duration,
}

impl Pilot {
    /// How long it is at least, and by how many times building may have taken longer. What a large fabric does first,
    /// while its links fill, says little of the rest.
    pub const LONG_ENOUGH: Duration = Duration::from_millis(25);
    const OF_BUILDING: u32 = 4;
    /// Events between two looks at the clock.
    pub const BUDGET: u64 = 1 << 16;
    /// Events of a look-ahead that are worth a thread.
    pub const EVENTS_A_THREAD: u64 = 100;
    /// Building the parts and running the beginning again may take one part in so many of what is left: it is lost if
    /// threads turn out not to pay.
    pub const WORTH: u32 = 20;

    /// Threads have to take at most this part of the time for the beginning.
    pub const FASTER: f64 = 0.9;

    /// Whether the beginning has been long enough.
    pub fn is_over(&self) -> bool {
        self.ran >= Pilot::LONG_ENOUGH.max(self.built / Pilot::OF_BUILDING)
    }

    /// How many threads may pay, if the rest is like the beginning, which took it from time zero to `now`.
    pub fn threads(&self, runner: &Runner<Fabric>, duration: Time) -> usize {
        let (now, left) = (runner.now(), duration.saturating_sub(runner.now()));
        let left = self.ran.as_secs_f64() * left.as_secs_f64() / now.as_secs_f64().max(f64::MIN_POSITIVE);
        if left < ((self.built + self.ran) * Pilot::WORTH).as_secs_f64() {
            return 1;
        }
        let a_round = runner.events() / runner.rounds().max(1);
        self.most.min((a_round / Pilot::EVENTS_A_THREAD) as usize)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_took_long_to_build_is_judged_later() {
        let is_over = |built, ran| {
            let [built, ran] = [built, ran].map(Duration::from_millis);
            Pilot { most: 2, built, ran }.is_over()
        };
        assert!(!is_over(0, 24) && is_over(0, 25) && is_over(100, 25));
        assert!(!is_over(1_000, 249) && is_over(1_000, 250));
    }
}
