//! Mixed selection: entropy values of acknowledgements without a mark, in order of arrival; if there are none, those
//! of the bitmap.
//!
//! In contrast to REPS, all such values are kept in an unlimited queue, so that an acknowledgement for several packets
//! loses none.
//!
//! Source: uet-htsim, `uec_mp.cpp` (`UecMpMixed`), its default.
//!
//! Not modelled: a limit of the queue, which never holds more values than packets were acknowledged.

use super::{
    Bitmap, BitmapKeys, PathFeedback, PathSelection, PathSignal, PathsFacts, USUAL_ENTROPIES, check_entropies,
};
use keys::Remark;
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use std::collections::VecDeque;
use units::Time;

/// Keys of mixed.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Deserialize, Serialize, JsonSchema)]
#[serde(default, deny_unknown_fields)]
pub struct MixedKeys {
    /// Number of entropy values of a connection. A power of two, 1 to 1024. Default: 64.
    #[schemars(range(min = 1, max = 1024))]
    pub entropies: u64,
}

impl Default for MixedKeys {
    fn default() -> MixedKeys {
        MixedKeys { entropies: USUAL_ENTROPIES }
    }
}

impl MixedKeys {
    /// Validates the keys; returns one remark per invalid value.
    pub fn check(&self) -> Vec<Remark> {
        check_entropies(self.entropies, true)
    }
}

/// The state: recycled values, and a bitmap for use when there are none.
#[derive(Clone, Debug)]
pub struct Mixed {
    recycled: VecDeque<u16>,
    bitmap: Bitmap,
}

impl Mixed {
    /// Creates the selection.
    pub fn new(keys: &MixedKeys, facts: &PathsFacts) -> Mixed {
        let bitmap = Bitmap::new(&BitmapKeys { entropies: keys.entropies }, facts);
        Mixed { recycled: VecDeque::new(), bitmap }
    }
}

impl PathSelection for Mixed {
    fn next(&mut self, now: Time) -> u16 {
        self.recycled.pop_front().unwrap_or_else(|| self.bitmap.next(now))
    }

    fn on_feedback(&mut self, now: Time, feedback: PathFeedback) {
        if feedback.signal == PathSignal::Acknowledged {
            self.recycled.push_back(feedback.entropy);
        }
        self.bitmap.on_feedback(now, feedback);
    }

    fn memory_bytes(&self) -> usize {
        self.recycled.capacity() * size_of::<u16>() + self.bitmap.memory_bytes()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn recycled_values_come_first_and_the_bitmap_after() {
        let facts = PathsFacts { base_rtt: Time::ZERO, seed: 5, planes: 1, trimming: false };
        let mut it = Mixed::new(&MixedKeys { entropies: 8 }, &facts);
        let mut bitmap = Bitmap::new(&BitmapKeys { entropies: 8 }, &facts);
        let feedback = |entropy, signal| PathFeedback { entropy, signal };
        for feedback in [
            feedback(1, PathSignal::Acknowledged),
            feedback(2, PathSignal::Trimmed),
            feedback(1, PathSignal::Acknowledged),
        ] {
            it.on_feedback(Time::ZERO, feedback);
            bitmap.on_feedback(Time::ZERO, feedback);
        }
        assert_eq!([it.next(Time::ZERO), it.next(Time::ZERO)], [1, 1]);
        let rest: Vec<u16> = (0..20).map(|_| it.next(Time::ZERO)).collect();
        assert_eq!(rest, (0..20).map(|_| bitmap.next(Time::ZERO)).collect::<Vec<_>>());
    }
}
