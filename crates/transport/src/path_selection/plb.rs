//! Protective load balancing (PLB): a connection uses one path, and changes it when the path stays congested.
//!
//! Acknowledgements are counted in rounds of one base round trip. A round is congested if at least half of them
//! (`marked_share`) carry a mark. After `rounds` consecutive congested rounds the path changes. It changes immediately
//! if the connection has sent nothing for a round trip, so that no packet overtakes another; otherwise at the earliest
//! ten round trips after the last change. A timeout changes it immediately. The new path has a random entropy value.
//!
//! Source: M. A. Qureshi et al., "PLB: Congestion signals are simple and effective for network load balancing",
//! SIGCOMM 2022 (half of a round, three rounds, preferably when idle); UEC Specification 1.0.3, section 3.6.16 (when
//! idle, or once in ten round trips).
//!
//! Not modelled: congestion detected by delay (Falcon); a period without path changes after timeouts.

use super::{Draws, PathFeedback, PathSelection, PathSignal, PathsFacts, USUAL_ENTROPIES, check_entropies};
use keys::Remark;
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use units::Time;

/// Number of round trips between two path changes of a connection that is not idle.
const BETWEEN: u64 = 10;
/// Maximum of the key for the number of congested rounds before a change.
const MOST_ROUNDS: u64 = 1_000;

/// Keys of PLB.
#[derive(Clone, Copy, Debug, PartialEq, Deserialize, Serialize, JsonSchema)]
#[serde(default, deny_unknown_fields)]
pub struct PlbKeys {
    /// Number of entropy values from which a connection draws. A number, 1 to 1024. Default: 64.
    #[schemars(range(min = 1, max = 1024))]
    pub entropies: u64,
    /// Number of consecutive congested rounds after which the path changes. A number, 1 to 1000. Default: 3.
    #[schemars(range(min = 1, max = 1000))]
    pub rounds: u64,
    /// Minimum fraction of marked acknowledgements in a congested round. A number above 0, at most 1. Default: 0.5.
    pub marked_share: f64,
}

impl Default for PlbKeys {
    fn default() -> PlbKeys {
        PlbKeys { entropies: USUAL_ENTROPIES, rounds: 3, marked_share: 0.5 }
    }
}

impl PlbKeys {
    /// Validates the keys; returns one remark per invalid value.
    pub fn check(&self) -> Vec<Remark> {
        let mut wrong = check_entropies(self.entropies, false);
        if !(1..=MOST_ROUNDS).contains(&self.rounds) {
            let message = format!("{} congested rounds before a change", self.rounds);
            wrong.push(Remark::about("rounds", message, format!("expected 1 to {MOST_ROUNDS}")));
        }
        if !(self.marked_share > 0.0 && self.marked_share <= 1.0) {
            let message = format!("a marked share of {}", self.marked_share);
            wrong.push(Remark::about("marked_share", message, "expected a number above 0, at most 1"));
        }
        wrong
    }
}

/// The state of PLB: one path, which changes after it has stayed congested.
#[derive(Clone, Copy, Debug)]
pub struct Plb {
    keys: PlbKeys,
    round_trip: Time,
    entropy: u16,
    /// End of the round, and the numbers of marked and of all acknowledgements in it.
    ends: Time,
    marked: u32,
    all: u32,
    congested: u64,
    changed: Time,
    /// Time at which the last packet was sent.
    sent: Time,
    draws: Draws,
}

impl Plb {
    /// Creates the selection.
    pub fn new(keys: &PlbKeys, facts: &PathsFacts) -> Plb {
        let mut draws = Draws::new(facts.seed);
        Plb {
            keys: *keys,
            round_trip: facts.base_rtt.max(Time::from_ps(1)),
            entropy: draws.below(keys.entropies as u16),
            ends: Time::ZERO,
            marked: 0,
            all: 0,
            congested: 0,
            changed: Time::ZERO,
            sent: Time::ZERO,
            draws,
        }
    }

    fn change(&mut self, now: Time) {
        self.entropy = self.draws.below(self.keys.entropies as u16);
        (self.changed, self.congested) = (now, 0);
    }

    /// Ends the round if its end has passed. The next round begins with the acknowledgement that arrives at `now`.
    fn end_round(&mut self, now: Time) {
        if now < self.ends {
            return;
        }
        if self.all > 0 {
            let is_congested = f64::from(self.marked) >= self.keys.marked_share * f64::from(self.all);
            self.congested = if is_congested { self.congested + 1 } else { 0 };
        }
        (self.marked, self.all) = (0, 0);
        self.ends = now.saturating_add(self.round_trip);
    }
}

impl PathSelection for Plb {
    fn next(&mut self, now: Time) -> u16 {
        if self.congested >= self.keys.rounds {
            let is_idle = now.saturating_sub(self.sent) >= self.round_trip;
            let apart = Time::from_ps(self.round_trip.ps().saturating_mul(BETWEEN));
            if is_idle || now.saturating_sub(self.changed) >= apart {
                self.change(now);
            }
        }
        self.sent = now;
        self.entropy
    }

    fn on_feedback(&mut self, now: Time, feedback: PathFeedback) {
        match feedback.signal {
            PathSignal::TimedOut => return self.change(now),
            PathSignal::TrimmedAtLastHop | PathSignal::ProbeAnswered => return,
            _ => {}
        }
        self.end_round(now);
        self.all += 1;
        self.marked += u32::from(feedback.signal != PathSignal::Acknowledged);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const RTT: Time = Time::from_us(10);

    fn plb() -> Plb {
        Plb::new(
            &PlbKeys { entropies: 1024, ..PlbKeys::default() },
            &PathsFacts { base_rtt: RTT, seed: 1, planes: 1, trimming: false },
        )
    }
    /// Sends one packet per microsecond. If `congested`, every second acknowledgement is marked, otherwise none.
    /// Returns the values used.
    fn run(it: &mut Plb, from: u64, until: u64, congested: bool) -> Vec<u16> {
        let step = |us: u64| {
            let signal =
                if congested && us.is_multiple_of(2) { PathSignal::Marked } else { PathSignal::Acknowledged };
            let at = Time::from_us(us);
            it.on_feedback(at, PathFeedback { entropy: 0, signal });
            it.next(at)
        };
        (from..until).map(step).collect()
    }

    #[test]
    fn three_congested_rounds_change_the_path_no_sooner_than_after_ten_round_trips() {
        let mut it = plb();
        let first = run(&mut it, 0, 100, true);
        assert!(first.iter().all(|value| value == &first[0]));
        let then = run(&mut it, 100, 150, true);
        assert_ne!(then[0], first[0]);
        assert!(then.iter().all(|value| value == &then[0]));
        assert_ne!(run(&mut it, 150, 220, true).last(), then.first());
    }

    #[test]
    fn an_idle_connection_changes_at_once_and_one_without_congestion_never() {
        let mut it = plb();
        let first = run(&mut it, 0, 35, true)[0];
        assert_eq!(it.next(Time::from_us(36)), first);
        assert_ne!(it.next(Time::from_us(46)), first);
        let mut it = plb();
        let all = run(&mut it, 0, 1_000, false);
        assert!(all.iter().all(|value| value == &all[0]));
        // Two congested rounds are not enough for a change.
        let mut it = plb();
        let first = run(&mut it, 0, 25, true)[0];
        run(&mut it, 25, 300, false);
        assert_eq!(it.next(Time::from_us(400)), first);
    }

    #[test]
    fn a_timeout_changes_the_path() {
        let mut it = plb();
        let first = it.next(Time::ZERO);
        it.on_feedback(Time::ZERO, PathFeedback { entropy: first, signal: PathSignal::TimedOut });
        assert_ne!(it.next(Time::ZERO), first);
    }
}
