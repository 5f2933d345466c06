//! Path states of Multipath Reliable Connection (MRC): entropy values in rotation; congested ones are skipped once,
//! failed ones are removed and probed.
//!
//! A connection has `entropies` active values and `reserve` more, in a random order, with equally many for each plane
//! of its NIC: value v uses link v modulo the number of planes. Packets use the active values in turn, so that the
//! planes carry equal loads. Each value is in one of three states:
//!
//! | state | entered by | left by |
//! |---|---|---|
//! | good | start of the connection; `probe_answers` answered probes | |
//! | skipped | a marked acknowledgement, or a NACK for a packet trimmed in the fabric | its next turn, which is skipped |
//! | assumed bad | a packet lost without a NACK, detected by a gap or a timeout | `probe_answers` answered probes |
//!
//! Further feedback on a skipped value has no effect. At most one skipped value becomes good per packet; if all others
//! of a round are skipped, that value is used. A packet trimmed at the last hop changes no state, because it indicates
//! incast. A value that is assumed bad is replaced by a reserve value of the same plane, if there is one. At least
//! `min_active` of the active values stay good or skipped: losses on the last ones are ignored, so that a connection
//! whose paths have all failed keeps trying them. Values that are assumed bad are probed every `probe_interval`, while
//! the connection has packets to send or in flight. If a probe was answered, the next probe of the value is sent one
//! interval after it. Otherwise it is sent after one interval, or after three base round trips and 64 us if that is
//! later, so that an answer may take longer than an interval. The loss of a packet sent before its value became good
//! again is ignored.
//!
//! Values of a plane whose link is down at either end are not used, and losses do not change their state. Both ends
//! monitor the status of their ports, and the receiver reports its own immediately and in each acknowledgement. These
//! values are not probed until the link is up, because the probes would use other planes. If all planes are down,
//! their values are used as before.
//!
//! Source: Open Compute Project, Multipath Reliable Connection 1.0 (2026), as in its public API (`mrc.h`: states,
//! entries with a value and a port, `ev_min_active`) and public models of it; OpenAI, "MRC" (128 to 256 values,
//! equally many for each plane, a reserve).
//!
//! Our choice, because nothing is published: the numbers of values, the interval and number of probes, and the time
//! allowed for an answer.
//!
//! Not modelled: values denied by a controller; lists and fields of values (profiles EXPLICIT and GENERATED); the
//! acknowledgement code by which a receiver reports a failed path (M = 2).

use super::{
    Draws, MOST_ENTROPIES, PathCounts, PathFeedback, PathSelection, PathSignal, PathsFacts, check_entropies,
};
use keys::Remark;
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use std::collections::VecDeque;
use units::Time;

/// Maximum of the key for the number of answered probes after which a value is good.
const MAX_ANSWERS: u64 = 255;

/// Keys of the path states of MRC.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Deserialize, Serialize, JsonSchema)]
#[serde(default, deny_unknown_fields)]
pub struct MrcPathsKeys {
    /// Number of active entropy values of a connection. A number, 1 to 1024. Default: 128.
    #[schemars(range(min = 1, max = 1024))]
    pub entropies: u64,
    /// Number of reserve entropy values, which replace failed ones. A number, 0 to 1023; together with `entropies` at most 1024. Default: 128.
    #[schemars(range(max = 1023))]
    pub reserve: u64,
    /// Minimum number of active values, which losses do not remove (`ev_min_active`). A number, 1 to 1024, at most `entropies`. Default: a quarter of `entropies`, at least 1.
    #[serde(skip_serializing_if = "Option::is_none")]
    #[schemars(range(min = 1, max = 1024))]
    pub min_active: Option<u64>,
    /// Interval of the probes of a failed value; also the time from its failure to the first probe. A time with unit, above 0. Default: "1 ms".
    pub probe_interval: Time,
    /// Number of consecutive answered probes that make a value good again. A count, 1 to 255. Default: 3.
    #[schemars(range(min = 1, max = 255))]
    pub probe_answers: u64,
}

impl Default for MrcPathsKeys {
    fn default() -> MrcPathsKeys {
        MrcPathsKeys {
            entropies: 128,
            reserve: 128,
            min_active: None,
            probe_interval: Time::from_ms(1),
            probe_answers: 3,
        }
    }
}

impl MrcPathsKeys {
    /// Validates the keys; returns one remark per invalid value.
    pub fn check(&self) -> Vec<Remark> {
        let mut wrong = check_entropies(self.entropies, false);
        if wrong.is_empty() && self.entropies.saturating_add(self.reserve) > MOST_ENTROPIES {
            let message = format!("a reserve of {} beside {} entropy values", self.reserve, self.entropies);
            let most = MOST_ENTROPIES - self.entropies;
            wrong.push(Remark::about("reserve", message, format!("expected at most {most}")));
        }
        if let Some(least) = self.min_active.filter(|least| !(1..=self.entropies).contains(least)) {
            let message = format!("{least} values that losses never take out, of {}", self.entropies);
            wrong.push(Remark::about("min_active", message, "expected 1 up to `entropies`"));
        }
        if self.probe_interval == Time::ZERO {
            let help = "expected a time above 0, like \"1 ms\"";
            wrong.push(Remark::about("probe_interval", "a probe interval of 0", help));
        }
        if !(1..=MAX_ANSWERS).contains(&self.probe_answers) {
            let message = format!("{} answered probes", self.probe_answers);
            wrong.push(Remark::about("probe_answers", message, format!("expected 1 to {MAX_ANSWERS}")));
        }
        wrong
    }
    /// Returns the number of active values that losses never take out.
    fn least(&self) -> usize {
        self.min_active.unwrap_or(self.entropies / 4).max(1) as usize
    }
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum State {
    Good,
    Skipped,
    Bad,
}

/// A value that is assumed to be bad.
#[derive(Clone, Copy, Debug)]
struct Failed {
    entropy: u16,
    /// Time of the next probe.
    probe: Time,
    /// Time of the last probe.
    sent: Time,
    /// Number of consecutive answered probes.
    answers: u8,
    /// True if the last probe has not been answered yet.
    is_probed: bool,
}

/// Returns the timeout of a probe, which is that of an MRC acknowledgement: three round trips, and the deepest queue in
/// both directions.
fn probe_timeout_of(base_rtt: Time) -> Time {
    let queues = crate::uet::MrcRules::DEEPEST_QUEUE + crate::uet::MrcRules::DEEPEST_QUEUE;
    Time::from_ps(base_rtt.ps().saturating_mul(3)).saturating_add(queues)
}

/// The state of the MRC path selection: values in rotation, with their states.
#[derive(Clone, Debug)]
pub struct MrcPaths {
    planes: u16,
    least: usize,
    interval: Time,
    /// Time after which a probe counts as unanswered.
    probe_timeout: Time,
    answers: u8,
    /// State of each value.
    states: Box<[State]>,
    /// Time at which each value last came back.
    returned: Box<[Time]>,
    /// Active values in order of their turns. Bad ones among them have no replacement.
    active: Box<[u16]>,
    turn: usize,
    /// Number of active values that are not bad.
    usable: usize,
    /// Planes whose link is down at either end, bit n for plane n.
    down: u16,
    /// By plane: values that may replace a bad one.
    reserve: Box<[VecDeque<u16>]>,
    /// Bad values in order of their next probes.
    failed: VecDeque<Failed>,
    counts: PathCounts,
}

impl MrcPaths {
    /// Creates the selection.
    pub fn new(keys: &MrcPathsKeys, facts: &PathsFacts) -> MrcPaths {
        let planes = facts.planes.max(1);
        let (active, all) = (keys.entropies as u16, (keys.entropies + keys.reserve) as u16);
        let mut draws = Draws::new(facts.seed);
        // By plane: all of its values in random order, of which the first ones are active.
        let mut values: Vec<VecDeque<u16>> = (0..planes)
            .map(|plane| {
                let mut own: Vec<u16> = (plane..all).step_by(planes.into()).collect();
                for last in (1..own.len()).rev() {
                    own.swap(last, draws.below(last as u16 + 1).into());
                }
                own.into()
            })
            .collect();
        // The planes alternate, so that consecutive packets use different ones.
        let order = (0..active).filter_map(|place| values[usize::from(place % planes)].pop_front());
        let order: Box<[u16]> = order.collect();
        MrcPaths {
            planes,
            least: keys.least(),
            interval: keys.probe_interval,
            probe_timeout: keys.probe_interval.max(probe_timeout_of(facts.base_rtt)),
            answers: keys.probe_answers as u8,
            states: vec![State::Good; all.into()].into(),
            returned: vec![Time::ZERO; all.into()].into(),
            usable: order.len(),
            down: 0,
            active: order,
            turn: 0,
            reserve: values.into(),
            failed: VecDeque::new(),
            counts: PathCounts::default(),
        }
    }

    fn state(&mut self, entropy: u16) -> Option<&mut State> {
        self.states.get_mut(usize::from(entropy))
    }

    /// Returns true if the link of the value's plane is down.
    fn is_down(&self, entropy: u16) -> bool {
        let plane = entropy % self.planes;
        plane < 16 && self.down >> plane & 1 != 0
    }

    /// Processes the loss of a packet with this value.
    fn fail(&mut self, now: Time, entropy: u16) {
        if self.is_down(entropy) || self.state(entropy).is_none_or(|state| *state == State::Bad) {
            return;
        }
        let Some(place) = self.active.iter().position(|&value| value == entropy) else { return };
        let plane = usize::from(entropy % self.planes);
        let replaced = self.reserve[plane].pop_front();
        if replaced.is_none() && self.usable <= self.least {
            self.counts.kept += 1;
            return;
        }
        match replaced {
            Some(other) => self.active[place] = other,
            None => self.usable -= 1,
        }
        self.states[usize::from(entropy)] = State::Bad;
        self.counts.taken_out += 1;
        self.counts.out += 1;
        let probe = now.saturating_add(self.interval);
        self.wait(Failed { entropy, probe, sent: now, answers: 0, is_probed: false });
    }

    /// Schedules the next probe of a bad value, behind all probes at the same time.
    fn wait(&mut self, failed: Failed) {
        let place = self.failed.partition_point(|other| other.probe <= failed.probe);
        self.failed.insert(place, failed);
    }
    /// Returns the index of the bad value to probe next; `None` if there is none whose plane is up.
    fn next_probed(&self) -> Option<usize> {
        self.failed.iter().position(|failed| !self.is_down(failed.entropy))
    }

    /// Processes the answer to a probe of this value.
    fn answered(&mut self, now: Time, entropy: u16) {
        let Some(place) = self.failed.iter().position(|failed| failed.entropy == entropy && failed.is_probed)
        else {
            return;
        };
        self.counts.probe_answers += 1;
        let Some(mut failed) = self.failed.remove(place) else { return };
        (failed.answers, failed.is_probed) = (failed.answers + 1, false);
        if failed.answers < self.answers {
            let probe = failed.sent.saturating_add(self.interval);
            if probe == failed.probe {
                return self.failed.insert(place, failed);
            }
            return self.wait(Failed { probe, ..failed });
        }
        self.returned[usize::from(entropy)] = now;
        self.counts.returned += 1;
        self.counts.out -= 1;
        self.states[usize::from(entropy)] = State::Good;
        // The value replaces an active value of its plane that is still bad; otherwise it joins the reserve.
        let plane = entropy % self.planes;
        let states = &self.states;
        let free = self.active.iter().position(|&value| {
            value == entropy || value % self.planes == plane && states[usize::from(value)] == State::Bad
        });
        match free {
            Some(free) => {
                self.active[free] = entropy;
                self.usable += 1;
            }
            None => self.reserve[usize::from(plane)].push_back(entropy),
        }
    }
}

impl PathSelection for MrcPaths {
    fn next(&mut self, _now: Time) -> u16 {
        let mut restored = None;
        for _ in 0..self.active.len() {
            let value = self.active[self.turn];
            self.turn = (self.turn + 1) % self.active.len();
            if self.is_down(value) {
                continue;
            }
            match self.states[usize::from(value)] {
                State::Good => return value,
                State::Skipped if restored.is_none() => {
                    self.states[usize::from(value)] = State::Good;
                    restored = Some(value);
                }
                State::Skipped | State::Bad => {}
            }
        }
        restored.unwrap_or(self.active[self.turn])
    }

    fn on_feedback(&mut self, now: Time, feedback: PathFeedback) {
        match feedback.signal {
            PathSignal::Acknowledged | PathSignal::TrimmedAtLastHop => {}
            PathSignal::Marked | PathSignal::Trimmed => {
                if let Some(state) = self.state(feedback.entropy).filter(|state| **state == State::Good) {
                    *state = State::Skipped;
                    self.counts.skipped += 1;
                }
            }
            PathSignal::Lost | PathSignal::TimedOut => self.fail(now, feedback.entropy),
            PathSignal::ProbeAnswered => self.answered(now, feedback.entropy),
        }
    }

    fn on_lost(&mut self, now: Time, feedback: PathFeedback, sent: Time) {
        let returned = self.returned.get(usize::from(feedback.entropy)).copied();
        if returned.is_none_or(|returned| returned == Time::ZERO || sent >= returned) {
            self.on_feedback(now, feedback);
        }
    }

    fn on_planes_down(&mut self, planes: u16) {
        let all = if self.planes >= 16 { u16::MAX } else { (1 << self.planes) - 1 };
        // If all planes are down, none is worse than another.
        self.down = if planes & all == all { 0 } else { planes & all };
    }

    fn probe_at(&self) -> Time {
        self.next_probed().map_or(Time::NEVER, |place| self.failed[place].probe)
    }

    fn due_probe(&self, now: Time) -> Option<u16> {
        let failed = self.failed[self.next_probed()?];
        (failed.probe <= now).then_some(failed.entropy)
    }

    fn on_probe(&mut self, now: Time) {
        let Some(mut failed) = self.next_probed().and_then(|place| self.failed.remove(place)) else { return };
        // An unanswered probe resets the count of answers.
        if failed.is_probed {
            failed.answers = 0;
        }
        (failed.is_probed, failed.sent, failed.probe) = (true, now, now.saturating_add(self.probe_timeout));
        self.counts.probes += 1;
        self.wait(failed);
    }

    fn counts(&self) -> Option<PathCounts> {
        Some(self.counts)
    }

    fn memory_bytes(&self) -> usize {
        self.states.len() * (size_of::<State>() + size_of::<Time>())
            + self.active.len() * size_of::<u16>()
            + self.reserve.iter().map(|own| own.capacity() * size_of::<u16>()).sum::<usize>()
            + self.failed.capacity() * size_of::<Failed>()
    }
}

#[cfg(test)]
mod tests;
