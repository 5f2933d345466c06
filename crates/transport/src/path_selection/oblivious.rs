//! Oblivious path selection: all entropy values in turn, in a different order in each round.
//!
//! A round uses each value once: the i-th packet has the value `i xor x`, where `x` is drawn at random for each round,
//! so that senders do not synchronise. Feedback is ignored.
//!
//! Source: uet-htsim, `uec_mp.cpp` (`UecMpOblivious`).
//!
//! Not modelled: random upper bits of the value that are fixed for each flow (switches include the flow in the hash as
//! well).

use super::{Draws, PathSelection, PathsFacts, USUAL_ENTROPIES, check_entropies};
use keys::Remark;
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use units::Time;

/// Keys of oblivious.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Deserialize, Serialize, JsonSchema)]
#[serde(default, deny_unknown_fields)]
pub struct ObliviousKeys {
    /// Number of entropy values of a connection. A power of two, 1 to 1024. Default: 64.
    #[schemars(range(min = 1, max = 1024))]
    pub entropies: u64,
}

impl Default for ObliviousKeys {
    fn default() -> ObliviousKeys {
        ObliviousKeys { entropies: USUAL_ENTROPIES }
    }
}

impl ObliviousKeys {
    /// Validates the keys; returns one remark per invalid value.
    pub fn check(&self) -> Vec<Remark> {
        check_entropies(self.entropies, true)
    }
}

/// A permutation of all values for each round.
#[derive(Clone, Copy, Debug)]
pub struct Round {
    /// Number of values minus one; the number is a power of two.
    mask: u16,
    at: u16,
    order: u16,
}

impl Round {
    /// Creates rounds of `entropies` values, a power of two.
    pub fn new(entropies: u16, draws: &mut Draws) -> Round {
        let mask = entropies - 1;
        Round { mask, at: 0, order: draws.bits() as u16 & mask }
    }
    /// Returns the value whose turn it is.
    #[inline]
    pub fn value(&self) -> u16 {
        self.at ^ self.order
    }
    /// Advances to the next value.
    #[inline]
    pub fn advance(&mut self, draws: &mut Draws) {
        self.at = (self.at + 1) & self.mask;
        if self.at == 0 {
            self.order = draws.bits() as u16 & self.mask;
        }
    }
}

/// The state of the oblivious selection: all values in turn.
#[derive(Clone, Copy, Debug)]
pub struct Oblivious {
    round: Round,
    draws: Draws,
}

impl Oblivious {
    /// Creates the selection.
    pub fn new(keys: &ObliviousKeys, facts: &PathsFacts) -> Oblivious {
        let mut draws = Draws::new(facts.seed);
        Oblivious { round: Round::new(keys.entropies as u16, &mut draws), draws }
    }
}

impl PathSelection for Oblivious {
    #[inline]
    fn next(&mut self, _now: Time) -> u16 {
        let value = self.round.value();
        self.round.advance(&mut self.draws);
        value
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn each_round_has_each_value_once_in_another_order() {
        let mut it = Oblivious::new(
            &ObliviousKeys { entropies: 16 },
            &PathsFacts { base_rtt: Time::ZERO, seed: 4, planes: 1, trimming: false },
        );
        let rounds: Vec<Vec<u16>> = (0..20).map(|_| (0..16).map(|_| it.next(Time::ZERO)).collect()).collect();
        for round in &rounds {
            let mut sorted = round.clone();
            sorted.sort_unstable();
            assert_eq!(sorted, (0..16).collect::<Vec<_>>());
            // The order is i xor x: neighbouring values differ as neighbouring numbers do.
            assert!(round.iter().zip(0..).all(|(value, i)| value ^ i == round[0]));
        }
        assert!(rounds.iter().any(|round| round != &rounds[0]));
    }

    #[test]
    fn rounds_need_a_power_of_two() {
        assert!(
            ObliviousKeys { entropies: 48 }.check().len() == 1
                && ObliviousKeys { entropies: 2048 }.check().len() == 1
        );
        assert!(ObliviousKeys { entropies: 1024 }.check().is_empty());
    }
}
