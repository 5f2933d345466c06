//! A sampling notifier: sends notifications to the sources of the frames in a long queue.
//!
//! While the queue length is at or above a threshold, every n-th arriving frame causes a message to its source. The
//! feedback is the queue length in bytes, including that frame. This is the simplest congestion point of a control
//! loop; the reaction to the message depends on the source.
//!
//! Source: none; the deterministic sampling is that of IEEE 802.1Qau, clause 30.2.1, without its weights.
//!
//! Not modelled: quantised feedback and its slope (QCN), random sampling.

use crate::manager::{Configuration, Departures, Fill, FrameFacts, LinkFacts, QueueManager, Verdict};
use crate::quiet::Quiet;
use keys::Remark;
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use units::{Amount, BitRate, Time};

/// Keys of the sampling notifier.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Deserialize, Serialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct SamplingParams {
    /// Queue length, including the arriving frame, from which on arriving frames are counted. A size in bytes or frames. Required.
    pub threshold: Amount,
    /// Sampling interval: one in this many counted frames causes a message to its source, starting with the first. A count, 1 to 1000000. Default: 100.
    #[serde(default = "hundred")]
    #[schemars(range(min = 1, max = 1000000))]
    pub every: u32,
}

fn hundred() -> u32 {
    100
}

impl SamplingParams {
    const MOST: u32 = 1_000_000;
}

impl Configuration for SamplingParams {
    type Machine = Sampling;

    fn check(&self) -> Result<(), Remark> {
        if (1..=Self::MOST).contains(&self.every) {
            return Ok(());
        }
        let accepted = format!("accepted are 1 to {}", Self::MOST);
        Err(Remark::about("every", format!("one of {} frames", self.every), accepted))
    }
    fn start(&self, _link: &LinkFacts) -> Sampling {
        Sampling { params: *self, passed: 0 }
    }
}

/// The state of a sampling notifier: the frames since the last message.
#[derive(Clone, Debug)]
pub struct Sampling {
    params: SamplingParams,
    /// Frames counted since the last message; 0 if the next one triggers a message.
    passed: u32,
}

impl QueueManager for Sampling {
    fn on_enqueue(
        &mut self,
        _now: Time,
        fill: &Fill,
        frame: FrameFacts,
        _random: &mut impl FnMut() -> u64,
    ) -> Verdict {
        let mut queue = fill.queue;
        queue.add(frame.bytes);
        if !queue.reaches(self.params.threshold) {
            return Verdict::Pass;
        }
        let due = self.passed == 0;
        self.passed = (self.passed + 1) % self.params.every;
        if !due {
            return Verdict::Pass;
        }
        Verdict::notify(u32::try_from(queue.bytes).unwrap_or(u32::MAX))
    }

    fn departures(&self) -> Departures {
        Departures::Ignored
    }

    fn quiet(&self) -> Quiet {
        Quiet::OF_DEPARTURES
    }

    fn on_link_rate(&mut self, _rate: BitRate) {}
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::testbed::{LINK, capable, holding};

    #[test]
    fn one_frame_in_n_makes_a_message() {
        let mut sampling = SamplingParams { threshold: Amount::Frames(3), every: 3 }.start(&LINK);
        let mut verdict = |frames| sampling.on_enqueue(Time::ZERO, &holding(frames), capable(500), &mut || 0);
        assert_eq!(verdict(1), Verdict::Pass);
        assert_eq!(verdict(2), Verdict::notify(2_500));
        assert_eq!([verdict(3), verdict(4)], [Verdict::Pass; 2]);
        // Frames below the threshold do not count.
        assert_eq!([verdict(0), verdict(5)], [Verdict::Pass, Verdict::notify(5_500)]);
        let no_frame = SamplingParams { threshold: Amount::Frames(3), every: 0 };
        assert_eq!(no_frame.check().unwrap_err().path, [keys::Step::Key("every".into())]);
    }
}
