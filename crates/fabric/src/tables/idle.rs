//! Ideal duration of a transfer on a path without other traffic, exact to the picosecond.
//!
//! The frames of a transfer leave the sender back to back and pass the ports of the path in order: a frame starts at a
//! port when it has arrived and the previous frame has left. This is computed with the clocks of the ports, remainders
//! included. If a byte takes an integer number of picoseconds, every frame but the last follows the previous one at an
//! equal distance (at each port that of the slowest port so far), so that long transfers take no longer to compute than
//! short ones. In a store-and-forward switch, a frame crosses the crossbar before it reaches its output.
//!
//! Links have the rates at the time of the transfer. If a link changes its rate meanwhile, the higher rate applies, so
//! that no transfer is faster than its ideal.
//!
//! If switches choose a path for each frame, or routes change, a frame waits for the previous one only at single links,
//! and each frame takes the fastest of the links that lead on: no frame is faster, whichever path is chosen.
//!
//! Not modelled: schedulers that hold back a class without competitors, buffer limits and pauses on the way from a fast
//! link to a slow one, faults that lose frames, full outputs of a crossbar.

use super::View;
use super::link_rates::LinkRates;
use crate::run::state::crossbar::crossing_time::time_to_cross;
use crate::run::state::port::HEAD_BYTES;
use frame::{NodeId, PortId};
use queueing::Speedup;
use units::{BitRate, Time, WireClock};
use workload::Framing;

/// A path without other traffic.
#[derive(Clone)]
pub(super) struct IdlePath {
    hops: Vec<Hop>,
    /// True if a byte takes an integer number of picoseconds on every hop.
    is_whole: bool,
}

/// A hop of a frame: a port, or a host that processes the frame.
#[derive(Clone)]
struct Hop {
    clock: Option<WireClock>,
    overhead: u64,
    per_frame: Time,
    /// The crossbar of the switch: the rate of its fastest link, and its speed-up.
    crossing: Option<(BitRate, Speedup)>,
    /// Time from this hop to the next.
    after: Time,
    passes: Passes,
    /// True if frames use several hops of this kind, so that none waits for the previous one.
    is_parallel: bool,
    /// True if an earlier hop is parallel, so that frames may arrive out of order.
    is_behind_parallel: bool,
    /// Start of the last frame. `busy_until` is its end.
    began: Time,
    busy_until: Time,
    /// Time between the starts of the last two frames.
    distance: Time,
    /// Time for which the last frame waited for the previous one.
    waited: Time,
    /// Arrival time of the last frame. `apart` is its distance from the previous arrival.
    came: Time,
    apart: Time,
}

/// Time at which a frame has reached the next hop.
#[derive(Clone, Copy)]
enum Passes {
    Whole,
    /// When its head has arrived.
    Head,
    /// When its head has arrived, plus the time of the rest of the frame at this clock.
    HeadAndRest(WireClock),
}

impl Hop {
    /// Creates the hop of a host with this processing time per frame, and this rate for its bytes.
    fn of_work(per_frame: Time, rate: Option<BitRate>) -> Hop {
        Hop {
            clock: rate.map(WireClock::new),
            overhead: 0,
            per_frame,
            crossing: None,
            after: Time::ZERO,
            passes: Passes::Whole,
            is_parallel: false,
            is_behind_parallel: false,
            began: Time::ZERO,
            busy_until: Time::ZERO,
            distance: Time::ZERO,
            waited: Time::ZERO,
            came: Time::ZERO,
            apart: Time::ZERO,
        }
    }

    /// Passes a frame that arrives at `at`. Returns its arrival time at the next hop.
    fn pass(&mut self, at: Time, bytes: u16) -> Time {
        // A short frame that has overtaken a long one on parallel links arrives before that one, and goes first.
        let overtakes = self.is_behind_parallel && at < self.came;
        let begins = if self.is_parallel || overtakes { at } else { at.max(self.busy_until) };
        let mut took = self.per_frame;
        if let Some(clock) = &mut self.clock {
            if self.busy_until < begins || self.is_parallel || overtakes {
                clock.restart();
            }
            took += clock.advance(u64::from(bytes) + self.overhead);
        }
        if let Some((rate, speedup)) = self.crossing {
            took += time_to_cross(rate, speedup, bytes);
        }
        let done = begins + took;
        if !overtakes {
            (self.apart, self.came) = (at.saturating_sub(self.came), at);
            // With several links, a short frame may start on one before a long frame starts on another.
            self.distance = begins.saturating_sub(self.began);
            (self.began, self.busy_until) = (begins, done);
            self.waited = begins - at.min(begins);
        }
        let head = bytes.min(HEAD_BYTES);
        let head_left = || {
            let span = self.clock.map(|clock| clock.span_floor(u64::from(head) + self.overhead));
            begins + span.unwrap_or_default()
        };
        self.after
            + match self.passes {
                Passes::Whole => done,
                Passes::Head => head_left(),
                Passes::HeadAndRest(behind) => head_left() + behind.span_floor(u64::from(bytes - head)),
            }
    }

    /// Skips this many frames, which all follow at the last distance.
    fn skip(&mut self, frames: u64) {
        let later = Time::from_ps(self.distance.ps() * frames);
        self.began += later;
        self.busy_until += later;
        self.came += Time::from_ps(self.apart.ps() * frames);
    }
}

impl IdlePath {
    /// Time for a transfer of `bytes` on this path.
    pub fn time(&self, framing: Framing, bytes: u64) -> Time {
        self.clone().follow(framing, bytes)
    }

    /// Sends a frame that is ready at `at`. Returns its arrival time at the end of the path.
    pub fn send(&mut self, at: Time, bytes: u16) -> Time {
        self.hops.iter_mut().fold(at, |at, hop| hop.pass(at, bytes))
    }

    /// Time at which the last frame started to leave.
    pub fn began(&self) -> Time {
        self.hops.first().map_or(Time::ZERO, |first| first.began)
    }

    /// Sends a transfer of `bytes` after those sent before. Returns its arrival time at the end of the path.
    pub fn follow(&mut self, framing: Framing, bytes: u64) -> Time {
        let full = self.follow_alike(Time::ZERO, framing.frame, framing.frames(bytes) - 1);
        // If there are several links, the last frame may have overtaken earlier ones.
        self.send(Time::ZERO, framing.last_frame(bytes)).max(full)
    }

    /// Sends `frames` frames of one length that are ready at `at`, after those sent before. Returns the time at which
    /// all have arrived at the end of the path.
    pub fn follow_alike(&mut self, at: Time, bytes: u16, frames: u64) -> Time {
        let (mut sent, mut latest) = (0, Time::ZERO);
        while sent < frames {
            let mut is_same = self.is_whole;
            let mut at = at;
            for hop in &mut self.hops {
                let (distance, waited) = (hop.distance, hop.waited);
                at = hop.pass(at, bytes);
                // A decreasing wait will end, and the distance will change then.
                is_same &= hop.distance == distance && hop.waited >= waited;
            }
            sent += 1;
            latest = at;
            // The second frame is the first that follows another.
            if is_same && sent > 2 {
                let left = frames - sent;
                self.hops.iter_mut().for_each(|hop| hop.skip(left));
                latest += Time::from_ps(self.hops.last().map_or(0, |last| last.distance.ps() * left));
                break;
            }
        }
        latest
    }
}

impl View<'_> {
    /// Returns the paths of frames there and back, as stages: all possible n-th egress ports for each n. `starts`:
    /// starts of the path in the table of hops, if routes have changed.
    pub(super) fn stages(&self, path: usize, starts: &[u32]) -> Vec<[Vec<Vec<u32>>; 2]> {
        let mut all: Vec<Vec<Vec<u32>>> = Vec::new();
        match self.s.equal_ports(path) {
            Some(stages) => all.push(stages),
            None => {
                let hops = self.s.parts().next().map(|part| &part.routes);
                let known =
                    hops.into_iter().flat_map(|hops| starts.iter().map(move |&start| hops.path(start)));
                for way in known.chain([self.s.path_of(path)]) {
                    // Paths of equal length may be in use at the same time.
                    match all.iter_mut().find(|stages| stages.len() == way.len()) {
                        Some(stages) => {
                            stages.iter_mut().zip(way).for_each(|(stage, &port)| stage.push(port))
                        }
                        None => all.push(way.iter().map(|&port| vec![port]).collect()),
                    }
                }
                all.iter_mut().flatten().for_each(|stage| {
                    stage.sort_unstable();
                    stage.dedup();
                });
            }
        }
        let back = |there: &[Vec<u32>]| -> Vec<Vec<u32>> {
            there.iter().rev().map(|stage| stage.iter().map(|&port| self.s.peer(port)).collect()).collect()
        };
        all.into_iter().map(|there| [there.clone(), back(&there)]).collect()
    }

    /// Returns the fastest crossbar behind these egress ports; `None` unless there is one behind each. A cut-through
    /// switch passes a frame on when it starts to cross, which takes no time.
    fn fastest_crossing(&self, stage: &[u32], rates: &LinkRates) -> Option<(BitRate, Speedup)> {
        let of = |&port: &u32| {
            let number = self.s.wiring.neighbour(PortId(port)).at();
            let node = &self.s.spec.nodes[number];
            let speedup = node.crossbar().filter(|_| !node.cuts_through())?.speedup;
            let ports = self.s.wiring.ports(NodeId(number as u32));
            let both = ports.flat_map(|port| [port.0, self.s.peer(port.0)]);
            let fastest = both.map(|port| self.rate_within(port, rates)).max_by_key(|rate| rate.bps())?;
            Some((fastest, speedup))
        };
        let ways: Option<Vec<_>> = stage.iter().map(of).collect();
        ways?.into_iter().min_by_key(|&(rate, speedup)| time_to_cross(rate, speedup, u16::MAX))
    }

    /// Returns the path through these egress ports without other traffic, at these link rates. If a stage has several
    /// ports, each frame takes the fastest.
    pub(super) fn idle_path(&self, stages: &[Vec<u32>], rates: &LinkRates) -> IdlePath {
        let rate = |port: u32| self.rate_within(port, rates);
        let clock = |port: u32| WireClock::with_offset(rate(port), self.s.cold(port).clock);
        let speed = |port: u32| rate(port).bps_f64() * self.s.cold(port).clock.factor();
        let fastest = |stage: &[u32]| stage.iter().copied().max_by(|&a, &b| speed(a).total_cmp(&speed(b)));
        let next = |port: u32| self.s.wiring.neighbour(PortId(port)).at();
        let hop = |(n, stage): (usize, &Vec<u32>)| {
            let best = fastest(stage)?;
            let cuts_through = stage.iter().any(|&port| self.s.spec.nodes[next(port)].cuts_through());
            let passes = match stages.get(n + 1).filter(|_| cuts_through) {
                None => Passes::Whole,
                Some(out) if out.iter().all(|&out| rate(out) > rate(best)) => {
                    Passes::HeadAndRest(clock(best))
                }
                Some(_) => Passes::Head,
            };
            Some(Hop {
                clock: Some(clock(best)),
                overhead: stage.iter().map(|&port| self.s.link_spec(port).overhead.into()).min()?,
                per_frame: Time::ZERO,
                crossing: None,
                after: stage.iter().map(|&port| self.s.port(port).timing.arrives_after()).min()?,
                passes,
                is_parallel: stage.len() > 1,
                is_behind_parallel: false,
                began: Time::ZERO,
                busy_until: Time::ZERO,
                distance: Time::ZERO,
                waited: Time::ZERO,
                came: Time::ZERO,
                apart: Time::ZERO,
            })
        };
        let crossing = |(n, stage): (usize, &Vec<u32>)| {
            stages.get(n + 1)?;
            let fastest = Some(self.fastest_crossing(stage, rates)?);
            Some(Hop { crossing: fastest, is_parallel: stage.len() > 1, ..Hop::of_work(Time::ZERO, None) })
        };
        let begin = stages.first().and_then(|stage| stage.first());
        let begin = begin.map(|&port| self.s.wiring.node_of[port as usize].at());
        let send = begin.and_then(|begin| self.s.spec.nodes[begin].host()?.send.as_ref());
        let end = stages.last().and_then(|stage| stage.first()).map(|&port| next(port));
        let receive = end.and_then(|end| self.s.spec.nodes[end].host()?.receive.as_ref());
        let mut hops: Vec<Hop> =
            send.map(|send| Hop::of_work(send.time_per_frame, send.rate)).into_iter().collect();
        for stage in stages.iter().enumerate() {
            hops.extend(hop(stage));
            hops.extend(crossing(stage));
        }
        hops.extend(receive.map(|receive| Hop::of_work(receive.time_per_frame, receive.rate)));
        let mut is_behind_parallel = false;
        for hop in &mut hops {
            hop.is_behind_parallel = is_behind_parallel;
            is_behind_parallel |= hop.is_parallel;
        }
        let is_whole = hops.iter().all(|hop| hop.clock.is_none_or(|clock| clock.is_whole()));
        IdlePath { hops, is_whole }
    }
}
