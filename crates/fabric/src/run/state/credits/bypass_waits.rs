//! Waits of bypass queues.
//!
//! The bypass queue of a class lacks credits while it holds frames and none of its head frames (one per list) has the
//! credits that it needs. Ordered frames of the class may continue to leave. A wait lasts from the first time at which
//! the link is idle until credits arrive. It excludes the time in which the whole class waits, which counts as a wait
//! of the class; no time counts twice.
//!
//! When credits arrive, the port selects the next frame of the class again, even during a transmission: a bypassed
//! frame goes before the frames that would have passed it.
//!
//! No frame leaves a bypass queue that lacks credits. The frames in it at the end of the wait have been held back
//! (`victims`).

use crate::run::state::credits::CreditState;
use crate::run::state::ended_wait::EndedWait;
use frame::{CHANNELS, Frame, TrafficClass, members};
use units::Time;

/// The waits of the bypass queues of a port.
#[derive(Debug, Default)]
pub(in crate::run) struct BypassWaits([BypassWait; CHANNELS]);

/// Waits of the bypass queue of a class.
#[derive(Clone, Copy, Debug, Default)]
pub(in crate::run) struct BypassWait {
    /// The lowest priority of the class in the channel that lacks credits.
    priority: u8,
    /// Start of the current wait of the queue or its class, if any.
    since: Time,
    /// End of the last wait.
    ended: Time,
}

impl CreditState {
    /// Updates the wait of a class's bypass queue, which lacks credits for this frame (`None`: for no frame). `before`:
    /// the whole class was waiting. The link is idle from `free` on. Returns a wait that has ended.
    pub(in crate::run) fn note_bypass(
        &mut self,
        class: usize,
        lacks: Option<&Frame>,
        before: bool,
        free: Time,
        now: Time,
    ) -> Option<EndedWait> {
        let (was, still) = (self.held >> class & 1 != 0, before && self.short >> class & 1 != 0);
        let began = self.waits[class].began;
        let channel = lacks.map(|frame| self.spec.channels.class(frame.priority()));
        let together = channel.map(|channel| self.spec.channels.numbers_of(channel));
        let of_class = self.classes.numbers_of(TrafficClass(class as u8));
        let wait = &mut self.bypass_waits.as_mut()?.0[class];
        let Some(together) = together else {
            self.held &= !(1 << class);
            return was.then(|| wait.over(if before { began.min(now) } else { now }));
        };
        if !was {
            self.held |= 1 << class;
            wait.priority = (together & of_class).trailing_zeros() as u8;
            wait.since = free.max(now);
            return None;
        }
        // The whole class was waiting; its ordered frames resume without the bypass queue.
        let resumes = before && !still && began < now;
        resumes.then(|| {
            let over = wait.over(began);
            wait.since = now;
            over
        })
    }

    /// Returns the start of the wait of the bypass queue with this lowest priority, and its end if the whole class
    /// waits.
    pub fn bypass_wait_in_force(&self, priority: u8) -> Option<(Time, Time)> {
        let waits = self.bypass_waits.as_ref()?;
        let class = members(self.held).find(|&class| waits.0[class].priority == priority)?;
        let end = if self.short >> class & 1 != 0 { self.waits[class].began } else { Time::NEVER };
        Some((waits.0[class].since, end))
    }

    /// Returns true if the bypass queue of a class waits, or has waited at any time since `since`.
    pub fn has_bypass_waited(&self, class: u8, since: Time, now: Time) -> bool {
        let Some(waits) = &self.bypass_waits else { return false };
        let BypassWait { since: began, ended, .. } = waits.0[usize::from(class)];
        self.held >> class & 1 != 0 && began <= now || ended > Time::ZERO && ended >= since
    }
}

impl BypassWait {
    pub(in crate::run) fn over(&mut self, end: Time) -> EndedWait {
        if end > self.since {
            self.ended = end;
        }
        EndedWait { priority: self.priority, start: self.since, end, cause: 0, bypass: true }
    }
}
