//! The processors of a rank: computations, and the costs of messages.

use super::{Rank, Step, StepKind, Then};
use std::cmp::Reverse;
use units::Time;

impl Rank {
    pub(super) fn compute(&mut self, (lane, cpu): (u32, u8), time: Time, now: Time) -> bool {
        let time = self.drawn(time);
        time == Time::ZERO || self.work((lane, cpu), (StepKind::Compute, None), time, Then::Go, now)
    }

    /// Returns the time of the rank's next computation, with its factor.
    pub(super) fn drawn(&mut self, time: Time) -> Time {
        let time = self.computation.scaled(time, self.computations);
        self.computations += 1;
        self.counts.computed = self.counts.computed.saturating_add(time);
        time
    }

    /// Occupies a processor with a message or a computation. Returns false if the lane has to wait.
    pub(super) fn work(
        &mut self,
        (lane, cpu): (u32, u8),
        (kind, message): (StepKind, Option<(u32, u32, u64)>),
        time: Time,
        then: Then,
        now: Time,
    ) -> bool {
        let cpu = usize::from(cpu);
        self.busy_until.resize(self.busy_until.len().max(cpu + 1), Time::ZERO);
        let begin = self.busy_until[cpu].max(now);
        let done = begin.saturating_add(time);
        self.busy_until[cpu] = done;
        if kind == StepKind::Compute {
            self.occupied.add(begin, done, now);
        }
        let (peer, tag, bytes) = message.unwrap_or((self.rank, 0, 0));
        let step = self.log.occupy(cpu, Step { peer, tag, bytes, begin, ..self.step(kind, lane, now) });
        self.working.push(Reverse((done, self.requests, lane, step, then)));
        self.requests += 1;
        false
    }
}
