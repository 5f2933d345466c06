//! Targeted PFC: pauses only the link partners that cause the congestion (Hagen 2012 §7.2, Appendices A, B).
//!
//! Occupancy is counted per egress queue, and every queued frame is associated with its ingress port. At the high
//! watermark all link partners are paused, as with plain PFC. Between the target watermark and the high watermark only
//! the targets are paused:
//!
//! - *random sampling* (Appendix A): the link partner at the ingress port of a frame drawn at random from the queue;
//! - *fair bandwidth* (Appendix B): the link partner at every ingress port with more than its fair share of the queue.
//!
//! A third method of selecting targets, [`crate::max_min`], is Penstock's own.
//!
//! Without a target watermark the same rules are plain PFC with egress accounting.
//!
//! **Computed target watermark.** It is `partners` · F below the high watermark, where F is the data in flight from
//! one link partner when it is paused (equation 7.1, TW = N · F).
//!
//! **Search time** (§7.4.2). Per-port frame counters, updated at each enqueue and dequeue, give the targets at once. A
//! search through the queue takes `search_time` for each frame examined: all frames in the queue, or the drawn frame
//! with random sampling. Its result is the targets at the time when it started. Only one search of a queue runs at a
//! time. The result is discarded if the queue is at or below the low watermark by the end of the search. The high
//! watermark takes effect without a search.
//!
//! Source: Hagen 2012 §7.2, §7.4, Appendices A and B.
//!
//! Not modelled: other tasks of the switch that delay a search.
//!
//! Interpretations of the source:
//! - Equation 7.1 sets TW = N · F, "so that there is enough queue space to handle frames in flight". Here that space
//!   is the distance below the high watermark, above which there is headroom for the data in flight from all partners.
//!   F is the headroom that a link needs, the largest of all links of the station.
//! - Appendix B calls *b* "the number of frames from one source", which would make the test compare a number with a
//!   fraction of itself. Equation 7.2 calls it the total available bandwidth. So *b* here is the number of frames from
//!   all sources, and a port is a target if it has more than *b / N* of them.
//! - Appendix A samples at every frame above the watermark, which selects many partners within one feedback delay.
//!   §7.4.1 describes a single selection, and growth to the high watermark if it was wrong. Both are available:
//!   `one_shot` samples once each time the queue rises above the watermark.
//! - "Send PFC 0" at every dequeue below the low watermark is edge-triggered by default: XON is sent only to ports
//!   with a pause in force. `xon_sent = "every_dequeue"` sends it to all ports at each dequeue. A frame that finds its
//!   link idle is not queued, and causes no XON.

use crate::max_min::{Marks, MaxMin};
use crate::pfc::{Levels, OutstandingPause};
use frame::Occupancy;
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use units::{Amount, Computed, Or, Time};

/// Targeted PFC.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Deserialize, Serialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct TargetSpec {
    /// Method that selects the link partners to pause: "fair_bandwidth" (all with more than a fair share of the queue; Hagen 2012, Appendix B), "random_sampling" (the sender of a frame drawn from the queue; Appendix A) or "max_min" (the minimum number that stops the growth of the queue, heaviest first; Penstock's own). Required.
    pub method: TargetMethod,
    /// Target watermark: a search for targets starts at or above it. A size in bytes or frames, between `xon` and `xoff`, or "computed": `xoff` minus the bytes in flight of `partners` partners; with "max_min" `xoff` minus the bytes in flight of one partner. Required.
    pub watermark: Or<Amount, Computed>,
    /// Number of link partners whose data in flight fits between a computed target watermark and `xoff` (N of equation 7.1). A count, 1 to 1000. Default: 1.
    #[serde(default = "one")]
    pub partners: u32,
    /// Search time for each frame examined: all frames of the queue, or the drawn frame with "random_sampling". A time with unit, at most "1 ms". Default: "0 s" (per-port counters are updated at each enqueue and dequeue; Hagen 2012, section 7.4.2).
    #[serde(default)]
    pub search_time: Time,
    /// Time at which a random sample is drawn: "one_shot" (when the watermark is crossed) or "every_enqueue" (at each frame above it). Default: "one_shot".
    #[serde(default)]
    pub sampling: Sampling,
    /// Time at which XON is sent: "once", to each paused partner when the queue falls to `xon`; or at "every_dequeue" from then on, to every partner that no other queue keeps paused (literally as in Hagen 2012, Appendices A and B). Default: "once".
    #[serde(default)]
    pub xon_sent: XonSent,
}

/// Time at which XON is sent.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Deserialize, Serialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
pub enum XonSent {
    /// Once, to each paused partner.
    #[default]
    Once,
    /// At each dequeue at or below the low watermark, to all partners.
    EveryDequeue,
}

fn one() -> u32 {
    1
}

/// [`TargetSpec`] with a numeric target watermark.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Target {
    /// Method by which targets are found.
    pub method: TargetMethod,
    /// Occupancy at or above which a search starts.
    pub watermark: Amount,
    /// Event at which a sample is drawn.
    pub sampling: Sampling,
    /// Search time per examined frame.
    pub search_time: Time,
    /// Time at which XON is sent.
    pub xon_sent: XonSent,
}

impl TargetSpec {
    /// Returns the target parameters with a numeric watermark. `in_flight` is the number of bytes that one partner may
    /// have in flight, `longest` the length of the longest frame. Returns `None` if the computed distance exceeds the
    /// high watermark.
    pub fn with(&self, xoff: Amount, in_flight: u64, longest: u16) -> Option<Target> {
        let partners = u64::from(self.partners);
        let below = |high: u64, room: u64| high.checked_sub(partners.saturating_mul(room));
        let computed = match xoff {
            Amount::Bytes(high) => below(high, in_flight).map(Amount::Bytes),
            // The source counts full-size frames in flight.
            Amount::Frames(high) => {
                below(high, in_flight.div_ceil(longest.max(1).into())).map(Amount::Frames)
            }
        };
        let TargetSpec { method, sampling, search_time, xon_sent, .. } = *self;
        let watermark = self.watermark.value().or(computed)?;
        Some(Target { method, watermark, sampling, search_time, xon_sent })
    }
}

impl Target {
    /// Returns the duration of a search in a queue of this many frames.
    pub fn search(&self, frames: u64) -> Time {
        match self.method {
            TargetMethod::RandomSampling => self.search_time,
            TargetMethod::FairBandwidth | TargetMethod::MaxMin => self.search_time * frames,
        }
    }
}

/// Method that selects the link partners to pause.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Deserialize, Serialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
pub enum TargetMethod {
    /// Every ingress port with more than its fair share of the queue.
    FairBandwidth,
    /// The ingress port of a frame drawn at random from the queue.
    RandomSampling,
    /// The minimum number of ingress ports that stops the growth of the queue, heaviest first; they resume one at a time.
    MaxMin,
}

/// Time at which a random sample is drawn.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Deserialize, Serialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
pub enum Sampling {
    /// Once each time the watermark is crossed.
    #[default]
    OneShot,
    /// At every frame above the watermark.
    EveryEnqueue,
}

/// The ports to pause because of a frame that enters the queue.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Aim {
    /// No port.
    None,
    /// The ports in [`EgressCounter::targets`], because of the target watermark.
    Targets,
    /// All ports but the egress port itself, because of the high watermark.
    All,
}

/// State of one ingress port in an egress queue.
#[derive(Clone, Copy, Debug, Default)]
struct Share {
    frames: u32,
    pause: OutstandingPause,
}

/// The frames of one egress queue by ingress port, and the pauses that the queue has caused.
#[derive(Clone, Debug)]
pub struct EgressCounter {
    /// Number of ports of the station.
    ports: u32,
    /// State by ingress port; empty until the first frame waits. Most queues of a large switch never hold a frame, and
    /// allocating all would need memory proportional to the square of the number of ports.
    shares: Vec<Share>,
    /// N: number of ingress ports with frames in the queue.
    present: u32,
    /// True if the next frame above the target watermark starts a search (one-shot sampling).
    armed: bool,
    targets: Vec<u32>,
    /// Time since which the occupancy has been above the low watermark.
    rising_since: Time,
    /// Targets by max-min share; created on first use.
    max_min: Option<Box<MaxMin>>,
}

impl EgressCounter {
    /// Creates an empty queue in a station with `ports` ports.
    pub fn new(ports: u32) -> EgressCounter {
        EgressCounter {
            ports,
            shares: Vec::new(),
            present: 0,
            armed: true,
            targets: Vec::new(),
            rising_since: Time::ZERO,
            max_min: None,
        }
    }

    /// Allocates the state of each port.
    #[inline]
    fn prepare(&mut self) {
        if self.shares.is_empty() {
            self.shares.resize(self.ports as usize, Share::default());
            self.targets.reserve(self.ports as usize);
        }
    }
    /// Returns the pause in force towards an ingress port, mutably.
    pub fn pause_mut(&mut self, port: u32) -> &mut OutstandingPause {
        self.prepare();
        &mut self.shares[port as usize].pause
    }
    /// Returns the pause in force towards an ingress port.
    pub fn pause(&self, port: u32) -> OutstandingPause {
        self.shares.get(port as usize).map_or_else(OutstandingPause::default, |share| share.pause)
    }
    /// Returns the heap memory of the counter in bytes.
    pub fn memory_bytes(&self) -> usize {
        self.shares.capacity() * size_of::<Share>() + self.targets.capacity() * size_of::<u32>()
    }
    /// Returns the ingress ports found by the last [`EgressCounter::aim`] that returned [`Aim::Targets`].
    pub fn targets(&self) -> &[u32] {
        &self.targets
    }
    /// Returns the number of waiting frames that arrived through `port`.
    pub fn frames_from(&self, port: u32) -> u32 {
        self.shares.get(port as usize).map_or(0, |share| share.frames)
    }

    /// Determines the ports to pause when a frame is about to enter; `before` is the queue without the frame. For
    /// random sampling `draw(n)` returns a number below `n` and `ingress_of(i)` returns the ingress port of the i-th
    /// waiting frame. Without `ingress_of` the port is drawn with probabilities in proportion to the numbers of frames,
    /// which is equivalent.
    pub fn aim(
        &mut self,
        xoff: Amount,
        target: Option<&Target>,
        before: Occupancy,
        now: Time,
        draw: impl FnOnce(u64) -> u64,
        ingress_of: Option<impl FnOnce(u64) -> Option<u32>>,
    ) -> Aim {
        self.prepare();
        if let Some(target) = target.filter(|target| target.method == TargetMethod::MaxMin) {
            let marks = Marks { xoff, target: target.watermark };
            let (shares, ports) = (&self.shares, self.shares.len());
            let max_min = self.max_min.get_or_insert_with(|| Box::new(MaxMin::new(ports)));
            // The search also runs at the high watermark, which pauses all ports for safety: those that are targets as
            // well wait for their turn.
            max_min.search(marks, before, |port| shares[port as usize].pause.is_due(now), &mut self.targets);
            return match (before.reaches(xoff), self.targets.is_empty()) {
                (true, _) => Aim::All,
                (false, true) => Aim::None,
                (false, false) => Aim::Targets,
            };
        }
        if before.reaches(xoff) {
            return Aim::All;
        }
        let Some(target) = target.filter(|target| before.reaches(target.watermark)) else {
            return Aim::None;
        };
        self.targets.clear();
        match target.method {
            TargetMethod::RandomSampling => {
                if target.sampling == Sampling::OneShot && !std::mem::replace(&mut self.armed, false) {
                    return Aim::None;
                }
                let nth = draw(before.frames);
                let port = match ingress_of {
                    Some(ingress_of) => ingress_of(nth),
                    None => self.port_of(nth),
                };
                self.targets.extend(port);
            }
            TargetMethod::MaxMin => {}
            TargetMethod::FairBandwidth => {
                // Equation 7.2, b_i > b / N, rearranged to avoid the division.
                let (frames, present) = (before.frames, u64::from(self.present));
                let over = |share: &Share| u64::from(share.frames) * present > frames;
                self.targets.extend(
                    (0u32..).zip(&self.shares).filter(|(_, share)| over(share)).map(|(port, _)| port),
                );
            }
        }
        Aim::Targets
    }

    /// Returns the ingress port of the `nth` frame, in order of ports; `None` if it came through no port.
    fn port_of(&self, nth: u64) -> Option<u32> {
        let mut seen = 0;
        let counts = (0u32..).zip(&self.shares);
        let mut behind = counts.map(|(port, share)| {
            seen += u64::from(share.frames);
            (port, seen)
        });
        behind.find(|&(_, seen)| nth < seen).map(|(port, _)| port)
    }

    /// Returns the time since which the queue has been above its low watermark, when a frame enters; `before` is the
    /// queue without the frame.
    #[inline]
    pub fn rising_since(&mut self, before: Occupancy, xon: Amount, now: Time) -> Time {
        if before.within(xon) {
            self.rising_since = now;
        }
        self.rising_since
    }

    /// Adds a frame. `from` is its ingress port; `None` if the frame did not arrive over a link.
    #[inline]
    pub fn add(&mut self, from: Option<u32>, bytes: u16) {
        if let Some(max_min) = &mut self.max_min {
            max_min.add(from, bytes);
        }
        if let Some(from) = from {
            self.prepare();
            let share = &mut self.shares[from as usize];
            self.present += u32::from(share.frames == 0);
            share.frames += 1;
        }
    }

    /// Removes a frame; `after` is the queue without the frame.
    #[inline]
    pub fn remove(&mut self, from: Option<u32>, bytes: u16, target: Option<&Target>, after: Occupancy) {
        if let Some(max_min) = &mut self.max_min {
            max_min.remove(from, bytes);
        }
        if let Some(from) = from {
            let share = &mut self.shares[from as usize];
            share.frames -= 1;
            self.present -= u32::from(share.frames == 0);
        }
        if let Some(target) = target
            && !after.reaches(target.watermark)
        {
            self.armed = true;
        }
    }

    /// Releases pauses after a frame has left the queue, and calls `xon` for each. The queue held `before` with the
    /// frame and holds `after` now. At the low watermark all pauses are released except those of max-min targets, which
    /// wait for their turn.
    pub fn release(
        &mut self,
        levels: &Levels,
        target: Option<&Target>,
        before: Occupancy,
        after: Occupancy,
        mut xon: impl FnMut(u32),
    ) {
        // Appendices A and B examine the queue before the frame is removed, on every dequeue, even if the queue becomes
        // empty. A low watermark of zero is therefore reached with the last frame.
        let low = before.within(levels.xon) || after.frames == 0;
        let (others, turn) = match (target, &mut self.max_min) {
            (Some(target), Some(max_min)) => {
                let release = max_min.next(Marks { xoff: levels.xoff, target: target.watermark }, after, low);
                (release.others, release.turn)
            }
            _ => (low, None),
        };
        if !others && turn.is_none() {
            return;
        }
        for (port, share) in (0u32..).zip(&mut self.shares) {
            let waits = self.max_min.as_ref().is_some_and(|max_min| max_min.is_target(port));
            if !waits && (others || turn == Some(port)) && share.pause.release() {
                xon(port);
            }
        }
    }

    /// Returns true if the pause towards `port` must be renewed because the queue is still above the low watermark. The
    /// pause of a max-min target is not renewed: when it expires, the target has waited long enough.
    pub fn renew(&self, port: u32, xon: Amount, occupancy: Occupancy, now: Time) -> bool {
        let pause = self.pause(port);
        let waits = self.max_min.as_ref().is_some_and(|max_min| max_min.is_target(port));
        pause.in_force() && pause.is_due(now) && !waits && !occupancy.within(xon)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn target(method: TargetMethod, one_shot: bool) -> Target {
        let sampling = if one_shot { Sampling::OneShot } else { Sampling::EveryEnqueue };
        let watermark = Amount::Frames(6);
        Target { method, watermark, sampling, search_time: Time::ZERO, xon_sent: XonSent::Once }
    }

    #[test]
    fn the_watermark_of_equation_7_1() {
        let spec = |partners| TargetSpec {
            method: TargetMethod::FairBandwidth,
            watermark: Or::word(),
            partners,
            sampling: Sampling::OneShot,
            search_time: Time::from_ns(10),
            xon_sent: XonSent::Once,
        };
        // Chapter 7: a high watermark of 66 frames, and 11 full-size frames in flight per partner.
        let at =
            |partners, xoff, in_flight| spec(partners).with(xoff, in_flight, 1522).map(|it| it.watermark);
        assert_eq!(at(1, Amount::Frames(66), 11 * 1522), Some(Amount::Frames(55)));
        assert_eq!(at(2, Amount::Frames(66), 10 * 1522 + 1), Some(Amount::Frames(44)));
        assert_eq!(at(3, Amount::Bytes(100_000), 20_000), Some(Amount::Bytes(40_000)));
        assert_eq!(at(6, Amount::Bytes(100_000), 20_000), None);
        let given = TargetSpec { watermark: Or::Value(Amount::Frames(50)), ..spec(9) };
        assert_eq!(
            given.with(Amount::Frames(66), 11 * 1522, 1522).map(|it| it.watermark),
            Some(Amount::Frames(50))
        );
        let target = spec(1).with(Amount::Frames(66), 11 * 1522, 1522).unwrap();
        assert_eq!(target.search(55), Time::from_ns(550));
        let drawn = Target { method: TargetMethod::RandomSampling, ..target };
        assert_eq!(drawn.search(55), Time::from_ns(10));
    }

    fn frames(frames: u64) -> Occupancy {
        Occupancy { bytes: frames * 1522, frames }
    }
    const HW: Amount = Amount::Frames(10);
    const LEVELS: Levels = Levels { xoff: HW, xon: Amount::Frames(3), capacity: HW };

    #[test]
    fn fair_bandwidth_pauses_who_has_more_than_its_share() {
        let mut counter = EgressCounter::new(4);
        for port in [0, 1, 2, 2, 2, 2] {
            counter.add(Some(port), 1522);
        }
        let spec = target(TargetMethod::FairBandwidth, false);
        let mut aim = |before| {
            let aim = counter.aim(HW, Some(&spec), before, Time::ZERO, |_| 0, Some(|_| None));
            (aim, counter.targets().to_vec())
        };
        assert_eq!(aim(frames(5)).0, Aim::None);
        // b = 6 frames of N = 3 partners: a partner with more than two frames is an aggressor.
        assert_eq!(aim(frames(6)), (Aim::Targets, vec![2]));
        assert_eq!(aim(frames(10)).0, Aim::All);
    }

    #[test]
    fn a_sample_by_counts_is_as_likely_as_one_of_a_frame() {
        let mut counter = EgressCounter::new(4);
        for port in [Some(3), Some(0), None, Some(3), Some(3), Some(0)] {
            counter.add(port, 1522);
        }
        let of = |nth| counter.port_of(nth);
        assert_eq!([0, 1, 2, 3, 4, 5].map(of), [Some(0), Some(0), Some(3), Some(3), Some(3), None]);
        let every = target(TargetMethod::RandomSampling, false);
        let none = None::<fn(u64) -> Option<u32>>;
        assert_eq!(counter.aim(HW, Some(&every), frames(6), Time::ZERO, |n| n - 2, none), Aim::Targets);
        assert_eq!(counter.targets(), [3]);
    }

    #[test]
    fn equal_partners_are_no_aggressors() {
        let mut counter = EgressCounter::new(3);
        for port in [0, 1, 2, 0, 1, 2] {
            counter.add(Some(port), 1522);
        }
        let spec = target(TargetMethod::FairBandwidth, false);
        assert_eq!(counter.aim(HW, Some(&spec), frames(6), Time::ZERO, |_| 0, Some(|_| None)), Aim::Targets);
        assert!(counter.targets().is_empty());
    }

    #[test]
    fn one_sample_a_crossing() {
        let mut counter = EgressCounter::new(2);
        for _ in 0..7 {
            counter.add(Some(1), 1522);
        }
        let once = target(TargetMethod::RandomSampling, true);
        assert_eq!(
            counter.aim(HW, Some(&once), frames(6), Time::ZERO, |n| n - 1, Some(|i| (i == 5).then_some(1))),
            Aim::Targets
        );
        assert_eq!(counter.targets(), [1]);
        assert_eq!(counter.aim(HW, Some(&once), frames(7), Time::ZERO, |_| 0, Some(|_| Some(1))), Aim::None);
        counter.remove(Some(1), 1522, Some(&once), frames(6));
        assert_eq!(counter.aim(HW, Some(&once), frames(6), Time::ZERO, |_| 0, Some(|_| Some(1))), Aim::None);
        counter.remove(Some(1), 1522, Some(&once), frames(5));
        assert_eq!(
            counter.aim(HW, Some(&once), frames(6), Time::ZERO, |_| 0, Some(|_| Some(1))),
            Aim::Targets
        );
        let every = target(TargetMethod::RandomSampling, false);
        for _ in 0..3 {
            assert_eq!(
                counter.aim(HW, Some(&every), frames(7), Time::ZERO, |_| 0, Some(|_| Some(1))),
                Aim::Targets
            );
        }
    }

    #[test]
    fn xon_goes_to_those_with_a_pause_in_force() {
        let mut counter = EgressCounter::new(3);
        counter.pause_mut(1).set(Time::from_us(9));
        let mut released = Vec::new();
        counter.release(&LEVELS, None, frames(3), frames(2), |port| released.push(port));
        counter.release(&LEVELS, None, frames(3), frames(2), |port| released.push(port));
        assert_eq!(released, [1]);
    }
}
