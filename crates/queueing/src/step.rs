//! Step marking: a frame is marked if the queue is longer than a threshold.
//!
//! The threshold applies to the instantaneous queue length, not to an average. The length is measured when a frame
//! arrives, without that frame (DCTCP: "greater than K upon its arrival") or including it. Alternatively it is
//! measured when a frame departs, which makes the mark as recent as possible. Frames that are not ECN-capable pass
//! unmarked.
//!
//! Source: Alizadeh and others, "Data center TCP (DCTCP)", SIGCOMM 2010, section 3.1; marking on dequeue: Wu and
//! others, "Tuning ECN for data center networks", CoNEXT 2012.
//!
//! Not modelled: dropping frames that are not ECN-capable above the threshold, as switches do that implement step
//! marking with weighted RED.

use crate::manager::{
    Configuration, Counts, Departures, Fill, FrameFacts, LinkFacts, QueueManager, Verdict, number, room_below,
};
use crate::quiet::Quiet;
use crate::reference_rate::{self, amount_at_rate};
use keys::Remark;
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use units::{Amount, BitRate, Time};

/// Keys of step marking.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Deserialize, Serialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct StepParams {
    /// Marking threshold (K): frames are marked while the queue is longer. A size in bytes or frames. Required.
    pub threshold: Amount,
    /// Time at which the queue is measured: when a frame enters ("enqueue") or leaves ("dequeue"). Default: "enqueue".
    #[serde(default)]
    pub at: Moment,
    /// Frames included in the queue length: those that wait ("without_frame"), or also the one being enqueued or dequeued ("with_frame"). Default: "without_frame" (Alizadeh and others 2010).
    #[serde(default)]
    pub counts: Counts,
    /// Port rate for which `threshold` is given. At ports of other rates, and after a change of the port rate, it scales in proportion, so that the queueing delay stays the same. A rate with unit, above 0. Default: none (the same at all ports).
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub reference_rate: Option<BitRate>,
}

/// Time at which the queue is measured.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Default, Deserialize, Serialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
pub enum Moment {
    /// When a frame enters.
    #[default]
    Enqueue,
    /// When a frame leaves.
    Dequeue,
}

impl Configuration for StepParams {
    type Machine = Step;

    /// Checks the parameters. Any threshold is valid: at 0, every frame that finds another one in the queue is marked.
    fn check(&self) -> Result<(), Remark> {
        reference_rate::check(self.reference_rate)
    }
    fn unmarked(&self) -> Option<&'static str> {
        Some("it has no effect")
    }
    fn start(&self, link: &LinkFacts) -> Step {
        let mut step = Step { params: *self, threshold: self.threshold, room: 0 };
        step.on_link_rate(link.rate);
        step
    }
}

/// The state of step marking.
#[derive(Clone, Debug)]
pub struct Step {
    params: StepParams,
    /// Threshold at the rate of the port.
    threshold: Amount,
    /// Number of bytes that may arrive before a frame can find the queue above the threshold.
    room: u64,
}

impl Step {
    fn look(&self, at: Moment, fill: &Fill, frame: FrameFacts) -> Verdict {
        let (StepParams { at: when, counts, .. }, threshold) = (self.params, self.threshold);
        let above = counts.of(fill, frame, threshold) > number(threshold);
        if at == when && above && frame.ecn_capable { Verdict::Mark } else { Verdict::Pass }
    }
}

impl QueueManager for Step {
    fn on_enqueue(
        &mut self,
        _now: Time,
        fill: &Fill,
        frame: FrameFacts,
        _random: &mut impl FnMut() -> u64,
    ) -> Verdict {
        self.room = room_below(self.threshold, fill, frame);
        self.look(Moment::Enqueue, fill, frame)
    }
    fn on_dequeue(
        &mut self,
        _now: Time,
        fill: &Fill,
        frame: FrameFacts,
        _random: &mut impl FnMut() -> u64,
    ) -> Verdict {
        self.look(Moment::Dequeue, fill, frame)
    }

    fn departures(&self) -> Departures {
        match self.params.at {
            Moment::Enqueue => Departures::Ignored,
            Moment::Dequeue => Departures::AtOnce,
        }
    }

    fn quiet(&self) -> Quiet {
        match self.params.at {
            Moment::Enqueue => Quiet::for_bytes(self.room),
            Moment::Dequeue => Quiet::NEVER,
        }
    }

    fn on_deferred(&mut self, _frames: u64, bytes: u64) {
        self.room -= bytes;
    }

    fn on_link_rate(&mut self, rate: BitRate) {
        self.threshold = amount_at_rate(self.params.threshold, self.params.reference_rate, rate);
        if self.has_scaled_thresholds() {
            self.room = 0;
        }
    }

    fn has_scaled_thresholds(&self) -> bool {
        self.params.reference_rate.is_some()
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::testbed::{LINK, assert_same_picks, bits, capable, holding};

    /// Returns the marks of three frames that enter an empty queue and then leave: on entry and on exit.
    fn marks(params: StepParams) -> ([bool; 3], [bool; 3]) {
        let mut step = params.start(&LINK);
        let enters = [0, 1, 2].map(|others| {
            step.on_enqueue(Time::ZERO, &holding(others), capable(1000), &mut || 0) == Verdict::Mark
        });
        let leaves = [2, 1, 0].map(|others| {
            step.on_dequeue(Time::ZERO, &holding(others), capable(1000), &mut || 0) == Verdict::Mark
        });
        (enters, leaves)
    }

    #[test]
    fn a_quiet_one_marks_the_same_frames_as_one_that_hears_of_all() {
        for seed in 0..400u64 {
            let mut draw = bits(seed);
            let mut below = |most: u64| draw() % most;
            let threshold = below(20_000);
            let counts = [Counts::WithFrame, Counts::WithoutFrame][below(2) as usize];
            let keys = StepParams {
                threshold: Amount::Bytes(threshold),
                at: Moment::Enqueue,
                counts,
                reference_rate: None,
            };
            assert_same_picks(&keys.start(&LINK), 2 * threshold + 3_000, &mut below, seed);
        }
    }

    #[test]
    fn frame_by_frame() {
        let none = [false; 3];
        for (threshold, with_frame, without) in [
            (Amount::Frames(0), [true, true, true], [false, true, true]),
            (Amount::Frames(1), [false, true, true], [false, false, true]),
            (Amount::Frames(2), [false, false, true], none),
            (Amount::Frames(3), none, none),
            (Amount::Bytes(999), [true, true, true], [false, true, true]),
            (Amount::Bytes(1_000), [false, true, true], [false, false, true]),
            (Amount::Bytes(1_999), [false, true, true], [false, false, true]),
        ] {
            for (counts, expected) in [(Counts::WithFrame, with_frame), (Counts::WithoutFrame, without)] {
                let mut reversed = expected;
                reversed.reverse();
                let enqueue = StepParams { threshold, at: Moment::Enqueue, counts, reference_rate: None };
                assert_eq!(marks(enqueue), (expected, none), "{enqueue:?}");
                let dequeue = StepParams { at: Moment::Dequeue, ..enqueue };
                assert_eq!(marks(dequeue), (none, reversed), "{dequeue:?}");
            }
        }
    }

    #[test]
    fn a_frame_that_understands_no_marks_passes() {
        let params = StepParams {
            threshold: Amount::Frames(0),
            at: Moment::Enqueue,
            counts: Counts::WithFrame,
            reference_rate: None,
        };
        let not_capable = FrameFacts { ecn_capable: false, ..capable(1000) };
        assert_eq!(
            params.start(&LINK).on_enqueue(Time::ZERO, &holding(9), not_capable, &mut || 0),
            Verdict::Pass
        );
    }
}
