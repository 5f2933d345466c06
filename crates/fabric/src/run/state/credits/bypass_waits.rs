//! Waits of bypass queues.
//!
//! The bypass queue of a class lacks credits while it holds frames and none of those at its head, of several lists one each,
//! has the credits that it needs. Ordered frames of the class may go on meanwhile. It waits from when its link was idle
//! first until there are credits, except for the time in which its class waits as a whole: that is a wait of the class,
//! which holds back all of its frames. So no time counts twice.
//!
//! When credits arrive, the port selects the next frame of the class again, also while it sends one: a bypassed frame goes
//! before the frames that would have passed it.
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
    /// The lowest priority of the class in the channel whose credits lack.
    priority: u8,
    /// Since when the queue or its class waits, if one does.
    since: Time,
    /// End of the last wait.
    ended: Time,
}

impl CreditState {
    /// Updates the wait of a class's bypass queue, which lacks credits for this frame, or for none; its class waited
    /// `before`, or not. The link is idle from `free` on. Returns a wait that has ended.
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
        // Its class waited as a whole; its ordered frames go on again, without the bypass queue.
        let resumes = before && !still && began < now;
        resumes.then(|| {
            let over = wait.over(began);
            wait.since = now;
            over
        })
    }

    /// Returns the wait of a bypass queue whose lowest priority is this: its begin, and its end if its class waits.
    pub fn bypass_wait_in_force(&self, priority: u8) -> Option<(Time, Time)> {
        let waits = self.bypass_waits.as_ref()?;
        let class = members(self.held).find(|&class| waits.0[class].priority == priority)?;
        let end = if self.short >> class & 1 != 0 { self.waits[class].began } else { Time::NEVER };
        Some((waits.0[class].since, end))
    }

    /// Returns true if the bypass queue of a class waits, or has waited at any time since then.
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
