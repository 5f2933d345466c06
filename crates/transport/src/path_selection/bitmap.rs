//! Bitmap of entropy values (STrack): all values in turn, except those that encountered congestion or loss.
//!
//! Each value has a score from 0 to 15. A mark adds 1, a trimmed packet adds 4, and a loss without trimming or a
//! timeout adds 15 points. The values are used in turn, as in oblivious selection. A value with a score above 0 is
//! skipped. For each packet, only the first skipped value has its score reduced by 1. If all values of a round are
//! skipped, the next one in turn is used. A packet trimmed at the last hop does not change the score.
//!
//! Source: Y. Le et al., "STrack: A reliable multipath transport for AI/ML clusters", 2024; uet-htsim, `uec_mp.cpp`
//! (`UecMpBitmap`: scores, the first skipped value, at most one round).
//!
//! Not modelled: scores that decay over time.

use super::{
    Draws, PathFeedback, PathSelection, PathSignal, PathsFacts, Round, USUAL_ENTROPIES, check_entropies,
};
use keys::Remark;
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use units::Time;

/// Maximum score.
const MOST: u8 = 15;

/// Keys of the bitmap.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Deserialize, Serialize, JsonSchema)]
#[serde(default, deny_unknown_fields)]
pub struct BitmapKeys {
    /// Number of entropy values of a connection. A power of two, 1 to 1024. Default: 64.
    #[schemars(range(min = 1, max = 1024))]
    pub entropies: u64,
}

impl Default for BitmapKeys {
    fn default() -> BitmapKeys {
        BitmapKeys { entropies: USUAL_ENTROPIES }
    }
}

impl BitmapKeys {
    /// Validates the keys; returns one remark per invalid value.
    pub fn check(&self) -> Vec<Remark> {
        check_entropies(self.entropies, true)
    }
}

/// The state of the bitmap: the entropy values and their scores.
#[derive(Clone, Debug)]
pub struct Bitmap {
    round: Round,
    draws: Draws,
    scores: Box<[u8]>,
}

impl Bitmap {
    /// Creates the selection.
    pub fn new(keys: &BitmapKeys, facts: &PathsFacts) -> Bitmap {
        let mut draws = Draws::new(facts.seed);
        let round = Round::new(keys.entropies as u16, &mut draws);
        Bitmap { round, draws, scores: vec![0; keys.entropies as usize].into() }
    }
    /// Returns the score of a value; 0 if the value is not in the set.
    #[cfg(test)]
    pub(crate) fn score(&self, entropy: u16) -> u8 {
        self.scores.get(usize::from(entropy)).copied().unwrap_or(0)
    }
}

impl PathSelection for Bitmap {
    fn next(&mut self, _now: Time) -> u16 {
        let mut value = self.round.value();
        for skipped in 0..self.scores.len() {
            let score = &mut self.scores[usize::from(value)];
            if *score == 0 {
                break;
            }
            *score -= u8::from(skipped == 0);
            self.round.advance(&mut self.draws);
            value = self.round.value();
        }
        self.round.advance(&mut self.draws);
        value
    }

    fn on_feedback(&mut self, _now: Time, feedback: PathFeedback) {
        let penalty = match feedback.signal {
            PathSignal::Acknowledged | PathSignal::TrimmedAtLastHop | PathSignal::ProbeAnswered => return,
            PathSignal::Marked => 1,
            PathSignal::Trimmed => 4,
            PathSignal::Lost | PathSignal::TimedOut => MOST,
        };
        if let Some(score) = self.scores.get_mut(usize::from(feedback.entropy)) {
            *score = (*score + penalty).min(MOST);
        }
    }

    fn memory_bytes(&self) -> usize {
        self.scores.len()
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    fn bitmap(entropies: u64) -> Bitmap {
        Bitmap::new(
            &BitmapKeys { entropies },
            &PathsFacts { base_rtt: Time::ZERO, seed: 9, planes: 1, trimming: false },
        )
    }
    fn report(it: &mut Bitmap, entropy: u16, signal: PathSignal) {
        it.on_feedback(Time::ZERO, PathFeedback { entropy, signal });
    }

    #[test]
    fn scores_are_those_of_the_source() {
        let mut it = bitmap(4);
        let signals = [
            (PathSignal::Acknowledged, 0),
            (PathSignal::Marked, 1),
            (PathSignal::Trimmed, 5),
            (PathSignal::TrimmedAtLastHop, 5),
            (PathSignal::TimedOut, 15),
            (PathSignal::Trimmed, 15),
        ];
        for (signal, score) in signals {
            report(&mut it, 2, signal);
            assert_eq!(it.score(2), score, "{signal:?}");
        }
        report(&mut it, 1000, PathSignal::TimedOut);
    }

    #[test]
    fn a_value_with_a_score_is_skipped_as_often() {
        let mut it = bitmap(8);
        report(&mut it, 3, PathSignal::Trimmed);
        // Four rounds reduce the score to 0; in the fifth round the value has its turn.
        for round in 0..5 {
            let values: Vec<u16> = (0..if round < 4 { 7 } else { 8 }).map(|_| it.next(Time::ZERO)).collect();
            assert_eq!(values.contains(&3), round == 4, "round {round}: {values:?}");
        }
    }

    proptest! {
        /// Compares the selection with rounds that are written out as lists.
        #[test]
        fn turns_and_scores_follow_written_rounds(
            steps in prop::collection::vec((0u8..5, 0u16..16), 1..300),
            seed in any::<u64>(),
        ) {
            let keys = BitmapKeys { entropies: 16 };
            let (mut it, mut draws) = (Bitmap::new(&keys, &PathsFacts { base_rtt: Time::ZERO, seed, planes: 1, trimming: false }), Draws::new(seed));
            let mut scores = [0u32; 16];
            let mut left: Vec<u16> = Vec::new();
            let mut take = |left: &mut Vec<u16>| {
                if left.is_empty() {
                    let order = (draws.bits() & 15) as u16;
                    left.extend((0..16u16).rev().map(|i| i ^ order));
                }
                left.pop().expect("a round has values")
            };
            for (kind, entropy) in steps {
                let signals = [PathSignal::Marked, PathSignal::Trimmed, PathSignal::TimedOut, PathSignal::Acknowledged];
                if let Some(&signal) = signals.get(usize::from(kind)) {
                    report(&mut it, entropy, signal);
                    scores[usize::from(entropy)] += [1, 4, 15, 0][usize::from(kind)];
                    scores[usize::from(entropy)] = scores[usize::from(entropy)].min(15);
                    continue;
                }
                let mut value = take(&mut left);
                for skipped in 0..16 {
                    if scores[usize::from(value)] == 0 {
                        break;
                    }
                    if skipped == 0 {
                        scores[usize::from(value)] -= 1;
                    }
                    value = take(&mut left);
                }
                prop_assert_eq!(it.next(Time::ZERO), value);
            }
        }
    }

    #[test]
    fn if_all_have_scores_one_is_taken_all_the_same() {
        let mut it = bitmap(4);
        (0..4).for_each(|entropy| report(&mut it, entropy, PathSignal::TimedOut));
        let before: u32 = (0..4).map(|entropy| u32::from(it.score(entropy))).sum();
        assert!(it.next(Time::ZERO) < 4);
        let after: u32 = (0..4).map(|entropy| u32::from(it.score(entropy))).sum();
        assert_eq!((before, after), (60, 59));
    }
}
