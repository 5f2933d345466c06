//! Rate limiters at work: where the controls of `queueing` meet the NICs of hosts.
//!
//! A limiter stands between those who send and the queue of their class in the NIC. What sources push waits in it;
//! endpoints stand in line at it. If its frames have several priorities, the highest go first.
//!
//! The NIC pulls from limiters as it does from endpoints: by turns, while less than a frame or two of theirs wait in
//! the class. So what waits above a limiter does not fill the NIC, and a slow limiter holds back nobody else. After
//! each frame a limiter is closed for as long as the frame takes at its rate, line overhead included. A change of the
//! rate holds from the next frame on. Of limiters by path, frames above the lowest priority that passes any of the host leave
//! before they open, as long as no more than `priority_burst` has left ahead of the rate; the next ones wait for as much
//! longer. A frame may have closed the limiter for long, at a rate that is a part of a slow link.
//!
//! A control that asks about a path does so when the limiter holds something, with a control frame that goes ahead of
//! it.
//!
//! A limiter that has held something without a break for `mark_after` marks what leaves it, so that those above slow
//! down before their windows are full: the transport hears of the backlog in its own words. A break is a time in which
//! the limiter could have sent and had nothing to send.
//!
//! Either end of a connection has a limiter at its host. Congestion messages for one end of a path and tags that come back
//! to it are told to its limiter, and to nobody else.

use crate::run::state::index::{EndpointIx, PlaceIx, PortIx};
use crate::run::state::limiter_counts::LimiterMeasured;
use crate::run::state::limiter_gate::Gate;
use crate::run::state::limiter_line::{LimiterLine, Next};
use crate::run::state::pool::{List, Pool};
use crate::spec::LimiterSpec;
use engine::Stream;
use frame::{NodeId, Occupancy, Priority, Tag, TrafficClass};
use measure::Sojourns;
use queueing::{LimiterScope, PathFacts, RateConfiguration, RateControl, RateControls, RateLimit, Unheard};
use rand_xoshiro::rand_core::Rng;
use units::{BitRate, Bytes, Time};

/// Whose limiter it is, and what passes it.
#[derive(Debug)]
pub(crate) struct Planned {
    pub host: NodeId,
    /// The highest of its frames; and the lowest, of those by path the lowest of all that pass limiters of the host.
    pub priority: Priority,
    pub lowest: Priority,
    /// The name of a flow; or a priority or a destination, or both.
    pub name: String,
}

/// A rate limiter of a host. What frames that pass it touch comes first, then what those that wait in it do: six cache lines. In all
/// it is an odd number of them, so that the first ones of many do not compete for the same places of a cache.
#[derive(Debug)]
#[repr(C)]
pub(crate) struct Limiter {
    pub gate: Gate,
    /// What the control said last.
    pub rate_limit: RateLimit,
    /// Where it stands in line at a NIC.
    pub stands: Option<(PortIx, TrafficClass)>,
    /// Its place among those of its part.
    pub(in crate::run) place: PlaceIx,
    pub occupancy: Occupancy,
    /// What the burst takes at the rate that it has.
    ahead: Time,
    /// The earliest pending call.
    pub wakes_at: Time,
    /// The last call that was asked for because of the control alone: it stays pending while others come and go.
    pub(in crate::run) control_calls_at: Time,
    /// After how long without a break frames are marked; [`Time::NEVER`]: they are not.
    mark_after: Time,
    pub sojourns: Sojourns,
    /// Who waits in it.
    pub line: LimiterLine,
    /// The highest priority of its frames; and the lowest of those that it has sent since it last asked about its path.
    pub priority: Priority,
    pub(in crate::run) lowest_sent: Option<Priority>,
    /// Frames of higher priorities than this one may leave ahead of the rate, by `burst`.
    pub(in crate::run) lowest: Priority,
    burst: Bytes,
    /// Since when it stands in line.
    pub in_line_since: Time,
    pub(in crate::run) control: Box<RateControls>,
    pub(in crate::run) random: Stream,
    pub measured: Box<LimiterMeasured>,
    /// The rate of the link.
    link: BitRate,
    /// Its number in the whole fabric, its host there, and what passes it.
    pub number: u32,
    pub host: NodeId,
    pub name: String,
}

impl Limiter {
    /// The limiter of a place.
    pub fn new(
        (number, place): (u32, PlaceIx),
        of: &Planned,
        spec: &LimiterSpec,
        link: BitRate,
        random: Stream,
    ) -> Limiter {
        let control = Box::new(spec.control.start(link));
        let rate_limit = control.rate_limit();
        let mut limiter = Limiter {
            number,
            host: of.host,
            place,
            name: of.name.clone(),
            priority: of.priority,
            lowest_sent: None,
            lowest: of.lowest,
            burst: if of.lowest < of.priority && spec.per == LimiterScope::Path {
                spec.priority_burst
            } else {
                Bytes::new(0)
            },
            ahead: Time::ZERO,
            link,
            control,
            random,
            rate_limit,
            gate: Gate::new(rate_limit.quiet),
            line: LimiterLine::new(),
            occupancy: Occupancy::default(),
            sojourns: Sojourns::default(),
            wakes_at: Time::NEVER,
            control_calls_at: Time::ZERO,
            stands: None,
            in_line_since: Time::ZERO,
            mark_after: spec.mark_after.unwrap_or(Time::NEVER),
            measured: Box::default(),
        };
        limiter.gate.pacer.set_rate(rate_limit.rate);
        limiter.measure_burst();
        limiter
    }

    /// How long what may leave ahead of the rate takes at it.
    fn measure_burst(&mut self) {
        if self.burst.get() > 0 {
            self.ahead = self.rate().time_for_bits_floor(8 * self.burst.get());
        }
    }

    /// The link of the host has another rate.
    pub fn on_link_rate(&mut self, rate: BitRate, now: Time) {
        self.link = rate;
        self.call(|control, _| control.on_link_rate(rate, now));
        self.measure_burst();
    }

    /// The rate that it may send at.
    pub fn rate(&self) -> BitRate {
        self.rate_limit.rate.unwrap_or(self.link)
    }

    /// Calls the control, which hears first of what has left meanwhile. A new rate holds from the next frame on.
    pub(in crate::run) fn call<T>(&mut self, call: impl FnOnce(&mut RateControls, &mut Stream) -> T) -> T {
        let answer = self.ask(call);
        self.gate.pacer.set_rate(self.rate_limit.rate);
        self.look();
        answer
    }

    /// As `call`, but for what then is to be done with the rate.
    #[inline(always)]
    fn ask<T>(&mut self, call: impl FnOnce(&mut RateControls, &mut Stream) -> T) -> T {
        let (frames, bytes) = self.gate.unheard.passed();
        self.measured.count(frames, bytes);
        self.control.on_unheard(frames, bytes);
        let answer = call(&mut self.control, &mut self.random);
        self.rate_limit = self.control.rate_limit();
        self.gate.unheard = Unheard::new(self.rate_limit.quiet);
        self.measure_burst();
        answer
    }

    /// Looks from when on frames that come pass at once.
    #[inline(always)]
    pub fn look(&mut self) {
        if self.is_idle() {
            self.gate.open(self.rate_limit.stopped_until);
        } else {
            self.gate.close();
        }
    }

    /// Frames and bytes that have left it.
    pub fn sent(&self) -> (u64, u64) {
        self.measured.sent(self.gate.unheard.passed())
    }

    /// Begins to measure anew. The control has not heard of some that left before.
    pub fn restart(&mut self, pool: &Pool, now: Time) {
        *self.measured = LimiterMeasured::without(self.gate.unheard.passed());
        let inside = self.line.lists().iter().flat_map(|list| pool.iter(list));
        let inside = inside.map(|waiting| (waiting.since, waiting.frame.bytes));
        self.gate.forget_lengths();
        self.sojourns.restart(now, self.occupancy.both(), inside);
    }

    /// The lowest rate that a message has left it; that of the link if none came.
    pub fn lowest_rate(&self) -> BitRate {
        self.measured.lowest.unwrap_or(self.link)
    }

    /// What it knows of its path.
    pub fn path(&self) -> Option<PathFacts> {
        self.control.path()
    }

    /// The name of its control.
    pub fn control_name(&self) -> &'static str {
        self.control.name()
    }

    /// The frames that wait in it, by priority.
    pub fn lists(&self) -> &[List] {
        self.line.lists()
    }

    /// Something comes: a break ends if it could have left at once.
    pub fn holds_from(&mut self, now: Time) {
        if !self.gate.pacer.opens_after(now) && self.line.is_empty() {
            self.gate.busy_since = now;
        }
        self.gate.close();
    }

    /// Whether a frame that leaves now is marked.
    pub fn marks(&self, now: Time) -> bool {
        now - self.gate.busy_since >= self.mark_after
    }

    /// A frame of so many bytes leaves, with so many around it on the link: the tag that it gets, and its length.
    #[inline(always)]
    pub fn leaves(&mut self, priority: Priority, bytes: u16, overhead: u16, now: Time) -> Option<(Tag, u8)> {
        let unheard = self.gate.unheard.counts(now, bytes);
        let tag = if unheard { None } else { self.leaves_heard(priority, bytes, now) };
        self.gate.leaves(bytes.saturating_add(tag.map_or(0, |(_, length)| length.into())), overhead, now);
        if !unheard {
            self.gate.pacer.set_rate(self.rate_limit.rate);
        }
        tag
    }

    /// As `leaves`, if the control need not hear of it; false: it has to, and nothing is done.
    #[inline(always)]
    pub fn leaves_unheard(&mut self, bytes: u16, overhead: u16, now: Time) -> bool {
        let unheard = self.gate.unheard.counts(now, bytes);
        if unheard {
            self.gate.leaves(bytes, overhead, now);
        }
        unheard
    }

    /// The part of it that the control hears of.
    #[inline(never)]
    fn leaves_heard(&mut self, priority: Priority, bytes: u16, now: Time) -> Option<(Tag, u8)> {
        self.lowest_sent = Some(self.lowest_sent.map_or(priority, |lowest| lowest.min(priority)));
        let last = self.line.is_empty();
        let tag = self.ask(|control, random| {
            let tag = control.tag(now);
            let bytes = bytes.saturating_add(tag.map_or(0, |(_, length)| length.into()));
            control.on_sent(now, bytes, last, &mut || random.next_u64());
            tag
        });
        self.measured.tags_sent += u64::from(tag.is_some());
        self.measured.count(1, bytes.saturating_add(tag.map_or(0, |(_, length)| length.into())).into());
        tag
    }

    /// An endpoint stands at it no more.
    pub fn leave(&mut self, endpoint: EndpointIx) {
        self.line.leave(endpoint);
    }

    /// Whether nothing leaves it now, because of its rate or because it is stopped.
    #[inline(always)]
    pub fn is_held(&self, now: Time) -> bool {
        self.is_stopped(now)
            || self.gate.pacer.opens_after(now)
                && self.gate.pacer.opens_after(now.saturating_add(self.head_start()))
    }

    /// Whether some of its frames may leave ahead of its rate.
    #[inline(always)]
    pub fn has_burst(&self) -> bool {
        self.ahead != Time::ZERO
    }

    /// How long before its rate allows it the next frame may leave.
    #[inline(always)]
    fn head_start(&self) -> Time {
        if self.has_burst() { self.head_start_of_next() } else { Time::ZERO }
    }

    #[inline(never)]
    fn head_start_of_next(&self) -> Time {
        let next = self.line.next().map(Next::priority);
        if next.is_some_and(|priority| priority > self.lowest) { self.ahead } else { Time::ZERO }
    }

    /// Whether it is stopped now.
    #[inline(always)]
    pub fn is_stopped(&self, now: Time) -> bool {
        self.rate_limit.stopped_until > now
    }

    /// When it wants to be called; [`Time::NEVER`]: not before something else happens.
    #[inline(always)]
    pub fn next_call(&self, now: Time) -> Time {
        if self.line.is_empty() {
            return self.rate_limit.call_at;
        }
        let stopped = if self.is_stopped(now) { Some(self.rate_limit.stopped_until) } else { None };
        let mut opens = self.gate.pacer.opens_at();
        if self.has_burst() {
            // What may leave now stands in line, or waits for a link.
            opens = opens.map(|opens| opens.saturating_sub(self.head_start())).filter(|&opens| opens > now);
        }
        let opens = opens.max(stopped).unwrap_or(Time::NEVER);
        opens.min(self.rate_limit.next_probe).min(self.rate_limit.call_at)
    }

    /// As `next_call`, where it is not stopped, and none of its frames may leave ahead of its rate.
    #[inline(always)]
    pub fn next_call_unless_stopped(&self) -> Time {
        let at = self.rate_limit.next_probe.min(self.gate.pacer.calls_at());
        if self.line.is_empty() { self.rate_limit.call_at } else { at.min(self.rate_limit.call_at) }
    }

    /// Bytes of its tables.
    pub fn memory_bytes(&self) -> usize {
        let own = size_of::<Limiter>() + size_of::<RateControls>() + size_of::<LimiterMeasured>();
        own + self.line.memory_bytes() + self.measured.memory_bytes()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_limiter_is_an_odd_number_of_cache_lines() {
        assert_eq!(size_of::<Limiter>() % 128, 64);
    }

    #[test]
    fn what_waiting_frames_touch_lies_in_six_cache_lines() {
        assert!(std::mem::offset_of!(Limiter, line) + LimiterLine::OFTEN_TOUCHED <= 6 * 64);
    }
}
