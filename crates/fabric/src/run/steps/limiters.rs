//! Rate limiters: timeouts, feedback, and what leaves when the control allows it.

use crate::run::state::event::EventQueue;
use crate::run::state::index::LimiterIx;
use crate::run::state::world::Fabric;
use frame::{Priority, Tag};
use queueing::{Feedback, RateControl};
use rand_xoshiro::rand_core::Rng;
use units::Time;

impl Fabric {
    /// A congestion message that was sent then, or a tag, has come for the source of a path.
    pub fn on_limiter_message(
        &mut self,
        nth: LimiterIx,
        feedback: Feedback,
        sent: Time,
        now: Time,
        events: &mut EventQueue,
    ) {
        let limiter = &mut self.hosts.limiters[nth];
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
        let after = self.notify_limiter(nth, feedback, now);
        if let Some(point) = point {
            self.hosts.limiters[nth].measured.note_change(point, before, after);
        }
        self.update_limiter(nth, now, events);
    }

    /// A limiter asked to be called now, unless a later wish has overtaken that. Like a decision, its call is no part of a
    /// fingerprint: what it leads to is.
    #[inline(never)]
    pub fn limiter_called(&mut self, nth: LimiterIx, now: Time, events: &mut EventQueue) {
        let limiter = &mut self.hosts.limiters[nth];
        if limiter.wakes_at != now {
            return;
        }
        limiter.wakes_at = Time::NEVER;
        if limiter.rate_limit.call_at <= now {
            limiter.call(|control, random| control.handle_timeout(now, &mut || random.next_u64()));
        }
        if !self.sends_next(nth, now, events) {
            self.update_limiter(nth, now, events);
        }
    }

    /// Something has happened to a limiter: sets its timer, and lets it stand in line if it may send.
    pub fn update_limiter(&mut self, nth: LimiterIx, now: Time, events: &mut EventQueue) {
        if self.hosts.limiters[nth].rate_limit.next_probe <= now {
            self.ask_path(nth, now, events);
        }
        match self.next_to_leave(nth, now) {
            Some((next, (egress, class))) => {
                let straight = self.goes_straight(egress, class, now);
                if straight || self.takes_at_once(egress, class) {
                    let place = self.leave_limiter(nth, next, (egress, class), straight, now, events);
                    self.pull_on((egress, class), place, now, events);
                } else {
                    self.join_line_of(nth, (egress, class), now);
                    self.wake_limiter(nth, now, events);
                    self.pull(egress, class, now, events);
                }
            }
            None => self.wake_limiter(nth, now, events),
        }
    }

    /// A limiter that is due to asks about the path of its next frame, if it holds one.
    #[inline(never)]
    fn ask_path(&mut self, nth: LimiterIx, now: Time, events: &mut EventQueue) {
        let Some(next) = self.next_of_limiter(nth) else { return };
        let Some(way) = self.way_of_next(&next) else { return };
        let limiter = &mut self.hosts.limiters[nth];
        let Some(probe) = limiter.call(|control, _| control.probe(now)) else { return };
        limiter.measured.tags_sent += 1;
        let lowest = limiter.lowest_sent.take().unwrap_or(next.priority);
        let priority = probe.priority.map_or(lowest, Priority);
        self.send_probe(next.path, way, priority, probe.news, now, events);
    }
}
