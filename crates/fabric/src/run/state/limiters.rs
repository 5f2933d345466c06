//! Rate limiters: connects the controls of `queueing` to the NICs of hosts.
//!
//! A limiter sits between the senders of a host and the queue of their class in the NIC. Frames pushed by sources wait
//! in it; endpoints join its wait queue. If its frames have several priorities, the highest go first.
//!
//! The NIC pulls from limiters as from endpoints: round-robin, while at most a frame or two from them are queued in the
//! class. Frames queued above a limiter therefore do not fill the NIC, and a slow limiter holds back no other sender.
//! After each frame, a limiter is closed for the transmission time of the frame at its rate, line overhead included. A
//! rate change takes effect with the next frame. With limiters by path, frames above the lowest limited priority of the
//! host may leave before the limiter opens, until `priority_burst` bytes have left ahead of the rate; the following
//! frames wait correspondingly longer. At a rate far below that of a slow link, a single frame may close the limiter
//! for long.
//!
//! A control that probes its path does so when the limiter holds a frame: it sends a control frame first.
//!
//! A limiter that has been busy without a break for `mark_after` marks the frames that leave it, so that the senders
//! above slow down before their queues are full: the transport receives its usual congestion signal. A break is a time
//! in which the limiter could have sent and had nothing to send.
//!
//! Either end of a connection has a limiter at its host. Congestion messages and returned tags for one end of a path go
//! to the limiter of that end only.

use crate::run::state::index::{EndpointIx, PlaceIx, PortIx};
use crate::run::state::limiter_counts::LimiterMeasured;
use crate::run::state::limiter_gate::Gate;
use crate::run::state::limiter_line::{LimiterLine, Next};
use crate::run::state::pool::{List, Pool};
use crate::spec::LimiterSpec;
use engine::Stream;
use frame::{NodeId, Occupancy, Priority, Tag, TrafficClass};
use measure::Sojourns;
use queueing::{
    DeferredUpdates, LimiterScope, PathFacts, RateConfiguration, RateControl, RateControls, RateLimit,
};
use rand_xoshiro::rand_core::Rng;
use units::{BitRate, Bytes, Time};

/// Description of a limiter: its host, and the frames that pass it.
#[derive(Debug)]
pub(crate) struct Planned {
    pub host: NodeId,
    /// The highest priority of its frames. `lowest` is their lowest priority; with limiters by path, that of all
    /// limited frames of the host.
    pub priority: Priority,
    pub lowest: Priority,
    /// Name of the flow, or of the priority, the destination or both.
    pub name: String,
}

/// A rate limiter of a host. The fields that passing frames touch come first, followed by those that queued frames
/// touch: six cache lines. The size is an odd number of cache lines, so that the first lines of many limiters do not
/// compete for the same cache sets.
#[derive(Debug)]
#[repr(C)]
pub(crate) struct Limiter {
    pub gate: Gate,
    /// The limits that the control returned last.
    pub rate_limit: RateLimit,
    /// The NIC port and class in whose wait queue it is, if any.
    pub stands: Option<(PortIx, TrafficClass)>,
    /// Its place among the limiters of its part of the fabric.
    pub(in crate::run) place: PlaceIx,
    pub occupancy: Occupancy,
    /// Transmission time of `burst` at the current rate.
    ahead: Time,
    /// Time of the earliest pending call.
    pub wakes_at: Time,
    /// Time of the latest pending call made for the control alone. That call stays pending while other calls are
    /// scheduled and cancelled.
    pub(in crate::run) control_calls_at: Time,
    /// Frames are marked after this time without a break; [`Time::NEVER`] if they are not marked.
    mark_after: Time,
    pub sojourns: Sojourns,
    /// The frames and endpoints that wait in it.
    pub line: LimiterLine,
    /// The highest priority of its frames. `lowest_sent` is the lowest of those sent since its last path probe.
    pub priority: Priority,
    pub(in crate::run) lowest_sent: Option<Priority>,
    /// Frames of higher priorities than this one may leave ahead of the rate, by `burst` bytes.
    pub(in crate::run) lowest: Priority,
    burst: Bytes,
    /// Time at which it joined the wait queue of the NIC.
    pub in_line_since: Time,
    pub(in crate::run) control: Box<RateControls>,
    pub(in crate::run) random: Stream,
    pub measured: Box<LimiterMeasured>,
    /// Rate of the link.
    link: BitRate,
    /// Its number in the whole fabric. `host` is the number of its host there.
    pub number: u32,
    pub host: NodeId,
    pub name: String,
}

impl Limiter {
    /// Creates the limiter of a place.
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

    /// Updates the transmission time of `burst` for the current rate.
    fn measure_burst(&mut self) {
        if self.burst.get() > 0 {
            self.ahead = self.rate().time_for_bits_floor(8 * self.burst.get());
        }
    }

    /// Sets a new rate of the host's link.
    pub fn on_link_rate(&mut self, rate: BitRate, now: Time) {
        self.link = rate;
        self.call(|control, _| control.on_link_rate(rate, now));
        self.measure_burst();
    }

    /// Current rate limit.
    pub fn rate(&self) -> BitRate {
        self.rate_limit.rate.unwrap_or(self.link)
    }

    /// Calls the control, after reporting to it the frames that have left since the last call. A new rate takes effect
    /// with the next frame.
    pub(in crate::run) fn call<T>(&mut self, call: impl FnOnce(&mut RateControls, &mut Stream) -> T) -> T {
        let answer = self.call_settled(call);
        self.gate.pacer.set_rate(self.rate_limit.rate);
        self.look();
        answer
    }

    /// Part of `call` that does not apply the new rate.
    #[inline(always)]
    fn call_settled<T>(&mut self, call: impl FnOnce(&mut RateControls, &mut Stream) -> T) -> T {
        let (frames, bytes) = self.gate.deferred.passed();
        self.measured.count(frames, bytes);
        self.control.on_deferred(frames, bytes);
        let answer = call(&mut self.control, &mut self.random);
        self.rate_limit = self.control.rate_limit();
        self.gate.deferred = DeferredUpdates::new(self.rate_limit.quiet);
        self.measure_burst();
        answer
    }

    /// Updates the time from which arriving frames pass immediately.
    #[inline(always)]
    pub fn look(&mut self) {
        if self.is_idle() {
            self.gate.open(self.rate_limit.stopped_until);
        } else {
            self.gate.close();
        }
    }

    /// Frames and bytes that have left.
    pub fn sent(&self) -> (u64, u64) {
        self.measured.sent(self.gate.deferred.passed())
    }

    /// Restarts measurement. Frames that have left but are not yet reported to the control are excluded.
    pub fn restart(&mut self, pool: &Pool, now: Time) {
        *self.measured = LimiterMeasured::without(self.gate.deferred.passed());
        let inside = self.line.lists().iter().flat_map(|list| pool.iter(list));
        let inside = inside.map(|waiting| (waiting.since, waiting.frame.bytes));
        self.gate.forget_lengths();
        self.sojourns.restart(now, self.occupancy.both(), inside);
    }

    /// Returns the lowest rate after a message; the rate of the link if there was no message.
    pub fn lowest_rate(&self) -> BitRate {
        self.measured.lowest.unwrap_or(self.link)
    }

    /// Returns the path facts that the control has measured.
    pub fn path(&self) -> Option<PathFacts> {
        self.control.path()
    }

    /// Name of its control.
    pub fn control_name(&self) -> &'static str {
        self.control.name()
    }

    /// The frames that wait in it, by priority.
    pub fn lists(&self) -> &[List] {
        self.line.lists()
    }

    /// Records an arriving frame, which ends a break if the limiter could have sent it immediately.
    pub fn holds_from(&mut self, now: Time) {
        if !self.gate.pacer.opens_after(now) && self.line.is_empty() {
            self.gate.busy_since = now;
        }
        self.gate.close();
    }

    /// Returns true if a frame that leaves now is marked.
    pub fn marks(&self, now: Time) -> bool {
        now - self.gate.busy_since >= self.mark_after
    }

    /// Passes a leaving frame of `bytes` bytes, with `overhead` bytes around it on the link; returns the tag that it
    /// gets, and its length.
    #[inline(always)]
    pub fn leaves(&mut self, priority: Priority, bytes: u16, overhead: u16, now: Time) -> Option<(Tag, u8)> {
        let deferred = self.gate.deferred.counts(now, bytes);
        let tag = if deferred { None } else { self.leaves_observed(priority, bytes, now) };
        self.gate.leaves(bytes.saturating_add(tag.map_or(0, |(_, length)| length.into())), overhead, now);
        if !deferred {
            self.gate.pacer.set_rate(self.rate_limit.rate);
        }
        tag
    }

    /// Fast path of `leaves` for a frame that the control does not need to observe. Returns false, without side
    /// effects, if it does.
    #[inline(always)]
    pub fn leaves_deferred(&mut self, bytes: u16, overhead: u16, now: Time) -> bool {
        let deferred = self.gate.deferred.counts(now, bytes);
        if deferred {
            self.gate.leaves(bytes, overhead, now);
        }
        deferred
    }

    /// Part of `leaves` that reports the frame to the control.
    #[inline(never)]
    fn leaves_observed(&mut self, priority: Priority, bytes: u16, now: Time) -> Option<(Tag, u8)> {
        self.lowest_sent = Some(self.lowest_sent.map_or(priority, |lowest| lowest.min(priority)));
        let last = self.line.is_empty();
        let tag = self.call_settled(|control, random| {
            let tag = control.tag(now);
            let bytes = bytes.saturating_add(tag.map_or(0, |(_, length)| length.into()));
            control.on_sent(now, bytes, last, &mut || random.next_u64());
            tag
        });
        self.measured.tags_sent += u64::from(tag.is_some());
        self.measured.count(1, bytes.saturating_add(tag.map_or(0, |(_, length)| length.into())).into());
        tag
    }

    /// Removes an endpoint from its wait queue.
    pub fn leave(&mut self, endpoint: EndpointIx) {
        self.line.leave(endpoint);
    }

    /// Returns true if nothing can leave now, because of the rate or because the limiter is stopped.
    #[inline(always)]
    pub fn is_held(&self, now: Time) -> bool {
        self.is_stopped(now)
            || self.gate.pacer.opens_after(now)
                && self.gate.pacer.opens_after(now.saturating_add(self.head_start()))
    }

    /// Returns true if some of its frames may leave ahead of its rate.
    #[inline(always)]
    pub fn has_burst(&self) -> bool {
        self.ahead != Time::ZERO
    }

    /// Time by which the next frame may leave ahead of the rate.
    #[inline(always)]
    fn head_start(&self) -> Time {
        if self.has_burst() { self.head_start_of_next() } else { Time::ZERO }
    }

    #[inline(never)]
    fn head_start_of_next(&self) -> Time {
        let next = self.line.next().map(Next::priority);
        if next.is_some_and(|priority| priority > self.lowest) { self.ahead } else { Time::ZERO }
    }

    /// Returns true while it is stopped.
    #[inline(always)]
    pub fn is_stopped(&self, now: Time) -> bool {
        self.rate_limit.stopped_until > now
    }

    /// Time of the next call that it needs; [`Time::NEVER`] if none is needed before another event.
    #[inline(always)]
    pub fn next_call(&self, now: Time) -> Time {
        if self.line.is_empty() {
            return self.rate_limit.call_at;
        }
        let stopped = if self.is_stopped(now) { Some(self.rate_limit.stopped_until) } else { None };
        let mut opens = self.gate.pacer.opens_at();
        if self.has_burst() {
            // A frame that may leave now is already in a NIC's wait queue, or waits for a link.
            opens = opens.map(|opens| opens.saturating_sub(self.head_start())).filter(|&opens| opens > now);
        }
        let opens = opens.max(stopped).unwrap_or(Time::NEVER);
        opens.min(self.rate_limit.next_probe).min(self.rate_limit.call_at)
    }

    /// Variant of `next_call` for a limiter that is not stopped and has no frames that may leave ahead of its rate.
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
