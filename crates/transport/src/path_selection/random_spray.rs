//! Oblivious packet spraying (OPS): a random entropy value for each packet.
//!
//! Source: Dixit, Prakash, Hu and Kompella, "On the impact of packet spraying in data center networks", INFOCOM 2013;
//! uet-htsim.
//!
//! Not modelled: NICs whose random values are not uniformly distributed.

use super::{Draws, PathSelection, PathsFacts, USUAL_ENTROPIES, check_entropies};
use keys::Remark;
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use units::Time;

/// Keys of random spraying.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Deserialize, Serialize, JsonSchema)]
#[serde(default, deny_unknown_fields)]
pub struct RandomSprayKeys {
    /// Number of entropy values of a connection. A number, 1 to 1024. Default: 64.
    #[schemars(range(min = 1, max = 1024))]
    pub entropies: u64,
}

impl Default for RandomSprayKeys {
    fn default() -> RandomSprayKeys {
        RandomSprayKeys { entropies: USUAL_ENTROPIES }
    }
}

impl RandomSprayKeys {
    /// Validates the keys; returns one remark per invalid value.
    pub fn check(&self) -> Vec<Remark> {
        check_entropies(self.entropies, false)
    }
}

/// The state of random spraying: a random value for each packet.
#[derive(Clone, Copy, Debug)]
pub struct RandomSpray {
    entropies: u16,
    draws: Draws,
}

impl RandomSpray {
    /// Creates the selection.
    pub fn new(keys: &RandomSprayKeys, facts: &PathsFacts) -> RandomSpray {
        RandomSpray { entropies: keys.entropies as u16, draws: Draws::new(facts.seed) }
    }
}

impl PathSelection for RandomSpray {
    #[inline]
    fn next(&mut self, _now: Time) -> u16 {
        self.draws.below(self.entropies)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn values_are_equally_likely() {
        let keys = RandomSprayKeys { entropies: 10 };
        let mut it = RandomSpray::new(
            &keys,
            &PathsFacts { base_rtt: Time::ZERO, seed: 1, planes: 1, trimming: false },
        );
        let mut counts = [0u32; 10];
        (0..10_000).for_each(|_| counts[usize::from(it.next(Time::ZERO))] += 1);
        let chi_square: f64 = counts.iter().map(|&own| (f64::from(own) - 1000.0).powi(2) / 1000.0).sum();
        // With 9 degrees of freedom, chi-square is below 27.9 in 99.9 % of all cases.
        assert!(chi_square < 27.9, "{counts:?}");
    }
}
