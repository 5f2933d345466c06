//! Lookup of rate limiters by path, and the calls that their controls request.

use crate::run::state::event::{Event, EventQueue};
use crate::run::state::index::LimiterIx;
use crate::run::state::view::NodeView;
use frame::PathId;
use queueing::{Feedback, RateControl};
use rand_xoshiro::rand_core::Rng;
use units::{BitRate, Time};

/// Returns the limiter that the frames from the near end of a path pass.
#[inline]
pub fn limiter_of(here: &NodeView, path: PathId) -> Option<LimiterIx> {
    limiter_at(here, path, false)
}

/// Returns the limiter that the frames from one end of a path pass.
#[inline]
pub fn limiter_at(here: &NodeView, path: PathId, far: bool) -> Option<LimiterIx> {
    here.hosts.limiters_of_path.get(path.at())?[usize::from(far)]
}

/// Schedules the next call of a limiter. If a call is already pending at that time or earlier, it reschedules instead.
#[inline(always)]
pub fn wake_limiter(here: &mut NodeView, nth: LimiterIx, now: Time, events: &mut EventQueue) {
    let limiter = &here.hosts.limiters[nth];
    let at = limiter.next_call(now);
    if at < limiter.wakes_at || !here.probes.limiter_rates.is_empty() {
        call_limiter_later(here, nth, at.max(now), now, events);
    }
}

/// Schedules a call of a limiter, unless one is pending at that time or earlier.
#[inline(always)]
pub fn call_limiter(here: &mut NodeView, nth: LimiterIx, at: Time, now: Time, events: &mut EventQueue) {
    let limiter = &mut here.hosts.limiters[nth];
    if let Some(rates) = here.probes.limiter_rates.get_mut(nth.at()) {
        rates.set(now, [limiter.rate().bps(), 0], &mut here.probes.grids);
    }
    if at >= limiter.wakes_at {
        return;
    }
    limiter.wakes_at = at;
    if at > now && at == limiter.control_calls_at {
        return;
    }
    if at == limiter.rate_limit.call_at {
        limiter.control_calls_at = at;
    }
    events.push(Event::limiter(at, limiter.place, nth));
}

#[inline(never)]
fn call_limiter_later(here: &mut NodeView, nth: LimiterIx, at: Time, now: Time, events: &mut EventQueue) {
    call_limiter(here, nth, at, now, events);
}

/// Passes feedback to the control of a limiter. Returns the resulting rate.
pub fn notify_limiter(here: &mut NodeView, nth: LimiterIx, feedback: Feedback, now: Time) -> BitRate {
    let limiter = &mut here.hosts.limiters[nth];
    limiter.call(|control, random| control.on_feedback(now, feedback, &mut || random.next_u64()));
    limiter.measured.lowest = limiter.measured.lowest.into_iter().chain(limiter.rate_limit.rate).min();
    limiter.rate()
}
