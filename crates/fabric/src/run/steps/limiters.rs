//! Rate limiters: timers, feedback, and frames that leave when the control allows it.

use crate::run::state::event::EventQueue;
use crate::run::state::index::LimiterIx;
use crate::run::state::view::NodeView;
use crate::run::steps::limiter_calls;
use crate::run::steps::limiter_passing;
use crate::run::steps::limiter_places;
use crate::run::steps::nics;
use crate::run::steps::tags;
use frame::{Priority, Tag};
use queueing::{Feedback, RateControl};
use rand_xoshiro::rand_core::Rng;
use units::Time;

/// Handles a congestion message (sent at the given time) or a tag for the source of a path.
pub fn on_limiter_message(
    here: &mut NodeView,
    nth: LimiterIx,
    feedback: Feedback,
    sent: Time,
    now: Time,
    events: &mut EventQueue,
) {
    let limiter = &mut here.hosts.limiters[nth];
    let point = match feedback {
        Feedback::Message(notice) => Some((notice.point, false)),
        Feedback::Returned(Tag::Rate(written)) => written.map(|(_, point)| (point, false)),
        Feedback::Returned(Tag::Path(news)) => news.at.map(|(point, _)| (point, true)),
        Feedback::Returned(Tag::Limited(_) | Tag::Flow(_)) => None,
    };
    let before = limiter.rate();
    match feedback {
        Feedback::Message(_) => limiter.measured.messages.record(now - sent),
        Feedback::Returned(_) => limiter.measured.tags_returned += 1,
    }
    let after = limiter_calls::notify_limiter(here, nth, feedback, now);
    if let Some(point) = point {
        here.hosts.limiters[nth].measured.note_change(point, before, after);
    }
    update_limiter(here, nth, now, events);
}

/// Handles a scheduled call of a limiter, unless it has been rescheduled. Like a decision, the call is not part of a
/// fingerprint, but its effects are.
#[inline(never)]
pub fn limiter_called(here: &mut NodeView, nth: LimiterIx, now: Time, events: &mut EventQueue) {
    let limiter = &mut here.hosts.limiters[nth];
    if limiter.wakes_at != now {
        return;
    }
    limiter.wakes_at = Time::NEVER;
    if limiter.rate_limit.call_at <= now {
        limiter.call(|control, random| control.handle_timeout(now, &mut || random.next_u64()));
    }
    if !limiter_passing::sends_next(here, nth, now, events) {
        update_limiter(here, nth, now, events);
    }
}

/// Sets the timer of a limiter after a change, and adds it to the wait queue if it may send.
pub fn update_limiter(here: &mut NodeView, nth: LimiterIx, now: Time, events: &mut EventQueue) {
    if here.hosts.limiters[nth].rate_limit.next_probe <= now {
        ask_path(here, nth, now, events);
    }
    match limiter_places::next_to_leave(here, nth, now) {
        Some((next, (egress, class))) => {
            let straight = nics::goes_straight(here, egress, class, now);
            if straight || nics::takes_at_once(here, egress, class) {
                let place = nics::leave_limiter(here, nth, next, (egress, class), straight, now, events);
                nics::pull_on(here, (egress, class), place, now, events);
            } else {
                limiter_places::join_line_of(here, nth, (egress, class), now);
                limiter_calls::wake_limiter(here, nth, now, events);
                nics::pull(here, egress, class, now, events);
            }
        }
        None => limiter_calls::wake_limiter(here, nth, now, events),
    }
}

/// Sends a path probe for the next frame of a limiter, if a probe is due and the limiter holds a frame.
#[inline(never)]
fn ask_path(here: &mut NodeView, nth: LimiterIx, now: Time, events: &mut EventQueue) {
    let Some(next) = limiter_places::next_of_limiter(here, nth) else { return };
    let Some(way) = limiter_places::way_of_next(here, &next) else { return };
    let limiter = &mut here.hosts.limiters[nth];
    let Some(probe) = limiter.call(|control, _| control.probe(now)) else { return };
    limiter.measured.tags_sent += 1;
    let lowest = limiter.lowest_sent.take().unwrap_or(next.priority);
    let priority = probe.priority.map_or(lowest, Priority);
    tags::send_probe(here, next.path, way, priority, probe.news, now, events);
}
