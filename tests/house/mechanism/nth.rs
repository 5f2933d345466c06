//! Nth: of the frames that understand marks, one of so many is marked.
//!
//! Source: none; the example of CONTRIBUTING.md.
//!
//! Not modelled: how long the queue is.

use crate::manager::{Configuration, Fill, FrameFacts, LinkFacts, QueueManager, Verdict};
use keys::Remark;
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use units::{BitRate, Time};

/// Keys of nth.
#[derive(Clone, Copy, Debug, PartialEq, Deserialize, Serialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct NthParams {
    /// One of so many frames is marked, the last. A count, at least 1. Required.
    pub every: u64,
}

impl Configuration for NthParams {
    type Machine = Nth;

    fn check(&self) -> Result<(), Remark> {
        if self.every == 0 {
            return Err(Remark::about("every", "one of 0 frames", "expected at least 1"));
        }
        Ok(())
    }
    fn unmarked(&self) -> Option<&'static str> {
        Some("it has no effect")
    }
    fn start(&self, _link: &LinkFacts) -> Nth {
        Nth { every: self.every, seen: 0 }
    }
}

/// How many frames have come since the last mark.
#[derive(Clone, Debug)]
pub struct Nth {
    every: u64,
    seen: u64,
}

impl QueueManager for Nth {
    fn on_enqueue(
        &mut self,
        _now: Time,
        _fill: &Fill,
        frame: FrameFacts,
        _random: &mut impl FnMut() -> u64,
    ) -> Verdict {
        self.seen += u64::from(frame.ecn_capable);
        if self.seen < self.every {
            return Verdict::Pass;
        }
        self.seen = 0;
        Verdict::Mark
    }

    fn on_link_rate(&mut self, _rate: BitRate) {}
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::testbed::{LINK, capable, holding};

    #[test]
    fn the_third_of_three_is_marked() {
        let mut nth = NthParams { every: 3 }.start(&LINK);
        let verdicts = [(); 4].map(|()| nth.on_enqueue(Time::ZERO, &holding(0), capable(64), &mut || 0));
        assert_eq!(verdicts, [Verdict::Pass, Verdict::Pass, Verdict::Mark, Verdict::Pass]);
        assert!(NthParams { every: 0 }.check().unwrap_err().contains("at least 1"));
    }
}
