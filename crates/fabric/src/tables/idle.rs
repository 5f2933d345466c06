//! What a transfer takes on a path without other traffic, to the picosecond.
//!
//! The frames of a transfer leave the sender back to back and pass the ports of the path in order: a frame begins at a
//! port when it is there and the one before has gone. That is worked out with the clocks of the ports, remainders
//! included. Where bytes take whole picoseconds, every frame but the last follows the one before at the same distance
//! (at each port that of the slowest before it), so that long transfers cost no more than short ones.
//!
//! Where switches choose a path for each frame, no frame waits for the one before it but at the link of a host that has only
//! one, and each takes the fastest link that its switch has: no frames are faster, whatever is chosen.
//!
//! Not modelled: schedulers that hold back a class that is alone, limits of buffers and pauses on the way from a fast
//! link to a slow one, faults.

use super::View;
use crate::run::port::HEAD_BYTES;
use frame::PortId;
use units::{BitRate, Time, WireClock};
use workload::Framing;

/// A path without other traffic.
#[derive(Clone)]
pub(super) struct IdlePath {
    hops: Vec<Hop>,
    /// Bytes take whole picoseconds everywhere.
    is_whole: bool,
}

/// What a frame passes: a port, or a host that takes it in.
#[derive(Clone)]
struct Hop {
    clock: Option<WireClock>,
    overhead: u64,
    per_frame: Time,
    /// From there to the next hop.
    after: Time,
    passes: Passes,
    /// Frames take several of its kind: none waits for the one before.
    is_parallel: bool,
    /// When the last frame began, and when it was done.
    began: Time,
    busy_until: Time,
    /// How much later the last frame began than the one before.
    distance: Time,
}

/// When a frame is at the next hop.
#[derive(Clone, Copy)]
enum Passes {
    Whole,
    /// When its head is there.
    Head,
    /// When what comes behind its head would have followed on a link with this clock, that of the port behind.
    HeadAndRest(WireClock),
}

impl Hop {
    /// A frame is there at `at`; returns when it is at the next.
    fn pass(&mut self, at: Time, bytes: u16) -> Time {
        let begins = if self.is_parallel { at } else { at.max(self.busy_until) };
        let mut took = self.per_frame;
        if let Some(clock) = &mut self.clock {
            if self.busy_until < begins || self.is_parallel {
                clock.restart();
            }
            took += clock.advance(u64::from(bytes) + self.overhead);
        }
        self.distance = begins - self.began;
        (self.began, self.busy_until) = (begins, begins + took);
        let head = bytes.min(HEAD_BYTES);
        let head_left = || {
            let span = self.clock.map(|clock| clock.span_floor(u64::from(head) + self.overhead));
            begins + span.unwrap_or_default()
        };
        self.after
            + match self.passes {
                Passes::Whole => self.busy_until,
                Passes::Head => head_left(),
                Passes::HeadAndRest(behind) => head_left() + behind.span_floor(u64::from(bytes - head)),
            }
    }

    /// So many more frames have followed, all at the last distance.
    fn skip(&mut self, frames: u64) {
        let later = Time::from_ps(self.distance.ps() * frames);
        self.began += later;
        self.busy_until += later;
    }
}

impl IdlePath {
    /// How long a transfer of `bytes` takes on it.
    pub fn time(&self, framing: Framing, bytes: u64) -> Time {
        self.clone().follow(framing, bytes)
    }

    /// A frame is ready at `at`; returns when it is at the end.
    pub fn send(&mut self, at: Time, bytes: u16) -> Time {
        self.hops.iter_mut().fold(at, |at, hop| hop.pass(at, bytes))
    }

    /// When the last frame began to leave.
    pub fn began(&self) -> Time {
        self.hops.first().map_or(Time::ZERO, |first| first.began)
    }

    /// A transfer of `bytes` is ready and follows what has been sent; returns when it is at the end.
    pub fn follow(&mut self, framing: Framing, bytes: u64) -> Time {
        let frames = framing.frames(bytes);
        let mut sent = 0;
        while sent + 1 < frames {
            let mut is_same = self.is_whole;
            let mut at = Time::ZERO;
            for hop in &mut self.hops {
                let before = hop.distance;
                at = hop.pass(at, framing.frame);
                is_same &= hop.distance == before;
            }
            sent += 1;
            // The second frame is the first that follows one.
            if is_same && sent > 2 {
                self.hops.iter_mut().for_each(|hop| hop.skip(frames - 1 - sent));
                break;
            }
        }
        self.send(Time::ZERO, framing.last_frame(bytes))
    }
}

impl View<'_> {
    /// A way through these egress ports as it is without other traffic, with the rates of the beginning. `spreads`: frames may
    /// take others in their place.
    pub(super) fn idle_path(&self, ports: &[u32], spreads: bool) -> IdlePath {
        let rate_of = |port: u32| self.s.spec.links[self.s.wiring.link_of[port as usize] as usize].rate;
        let is_host = |node: frame::NodeId| self.s.spec.nodes[node.at()].host().is_some();
        // Those that may be taken in place of a port.
        let others = |port: u32| -> Vec<u32> {
            let (node, next) = (self.s.wiring.node_of[port as usize], self.s.wiring.neighbour(PortId(port)));
            let all = self.s.wiring.ports(node).map(|port| port.0);
            all.filter(|&other| {
                let beyond = self.s.wiring.neighbour(PortId(other));
                spreads && if is_host(next) { beyond == next } else { !is_host(beyond) }
            })
            .collect()
        };
        // A host that is reached through several switches takes in frames of each at the same time.
        let is_parallel = |port: u32| {
            let next = self.s.wiring.neighbour(PortId(port));
            spreads && (others(port).len() > 1 || is_host(next) && self.s.wiring.ports(next).count() > 1)
        };
        let link = |port: u32| &self.s.spec.links[self.s.wiring.link_of[port as usize] as usize];
        let clock = |port: u32| WireClock::with_offset(link(port).rate, self.s.cold(port).clock);
        let hop = |(n, &port): (usize, &u32)| {
            let next = self.s.wiring.neighbour(PortId(port)).at();
            let cuts_through = self.s.spec.nodes[next].cuts_through();
            let passes = match ports.get(n + 1).filter(|_| cuts_through) {
                None => Passes::Whole,
                Some(&out) if link(out).rate > link(port).rate => {
                    Passes::HeadAndRest(clock(self.s.peer(port)))
                }
                Some(_) => Passes::Head,
            };
            let candidates = others(port);
            let fastest = candidates.iter().copied().max_by_key(|&port| rate_of(port)).unwrap_or(port);
            let afters = candidates.iter().map(|&port| self.s.port(port).arrives_after);
            Hop {
                clock: Some(clock(fastest)),
                overhead: link(fastest).overhead.into(),
                per_frame: Time::ZERO,
                after: afters.min().unwrap_or(self.s.port(port).arrives_after),
                passes,
                is_parallel: is_parallel(port),
                began: Time::ZERO,
                busy_until: Time::ZERO,
                distance: Time::ZERO,
            }
        };
        let work = |per_frame: Time, rate: Option<BitRate>| Hop {
            clock: rate.map(WireClock::new),
            overhead: 0,
            per_frame,
            after: Time::ZERO,
            passes: Passes::Whole,
            is_parallel: false,
            began: Time::ZERO,
            busy_until: Time::ZERO,
            distance: Time::ZERO,
        };
        let begin = ports.first().map(|&port| self.s.wiring.node_of[port as usize].at());
        let send = begin.and_then(|begin| self.s.spec.nodes[begin].host()?.send.as_ref());
        let end = ports.last().map(|&port| self.s.wiring.neighbour(PortId(port)).at());
        let receive = end.and_then(|end| self.s.spec.nodes[end].host()?.receive.as_ref());
        let mut hops: Vec<Hop> = send.map(|send| work(send.time_per_frame, send.rate)).into_iter().collect();
        hops.extend(ports.iter().enumerate().map(hop));
        hops.extend(receive.map(|receive| work(receive.time_per_frame, receive.rate)));
        let is_whole = hops.iter().all(|hop| hop.clock.is_none_or(|clock| clock.is_whole()));
        IdlePath { hops, is_whole }
    }
}
