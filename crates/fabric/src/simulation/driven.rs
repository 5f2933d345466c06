//! A run driven by a session: requests are added at the present time or later, notices are returned in the order of
//! time.
//!
//! The run stops at the time of a notice, with no node ahead of another, so that a request at any host may follow
//! immediately.

use crate::run::state::event::{Event, Kind};
use crate::run::state::index::RankIx;
use crate::run::state::outcome::SimulationError;
use crate::simulation::jobs::Held;
use crate::simulation::{Simulation, State};
use jobs::{Notice, Request};
use units::Time;

/// Outcome of a step of a driven run.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Step {
    /// There are notices to collect.
    Notices,
    /// The given time has been reached.
    Until,
    /// The budget of events is exhausted; call again.
    More,
    /// No event is pending: nothing will happen without another request.
    Idle,
    /// The run has reached the end of its duration, or a deadlock.
    Finished,
}

impl Simulation {
    /// Hands control of the run to a session. The run must not have started, and must use one thread.
    pub fn drive(&mut self) {
        self.driven = true;
    }

    /// Adds a request to rank `rank` of job `job`, at `at` or now, whichever is later. Returns its label.
    pub fn request(&mut self, (job, rank): (u32, u32), at: Time, request: Request) -> u32 {
        let at = at.max(self.now());
        self.jobs.still = false;
        let [from, to] = match request {
            Request::Send { to, .. } => [rank, to],
            Request::Compute { .. } => [rank; 2],
        }
        .map(|number| self.rank_index(job, number));
        let shard = &mut self.shards[0];
        let ranks = &mut shard.world.hosts.ranks.ranks;
        let label = ranks[from].machine.request(at, request);
        if let Request::Send { bytes, .. } = request {
            ranks[to].machine.expect(rank, label, bytes);
        }
        let state = &mut ranks[from];
        let calls_at = state.machine.calls_at();
        // A rank that has not started is called at its start.
        if calls_at < state.wakes_at {
            state.wakes_at = calls_at;
            let event = Event::bare(Kind::Rank, calls_at.max(at), state.port);
            shard.runner.windows().push(event);
        }
        label
    }

    /// Index of a rank: on one thread, ranks are sorted by job and number.
    fn rank_index(&self, job: u32, rank: u32) -> RankIx {
        let before = self.spec.jobs[..job as usize].iter().map(|own| own.hosts.len()).sum::<usize>();
        RankIx::of(before as u32 + rank, self.shards[0].world.whole())
    }

    /// Advances to the next notices, to `until`, or by about `budget` events.
    ///
    /// # Errors
    /// As for [`Simulation::advance`].
    pub fn step(&mut self, until: Time, budget: u64) -> Result<Step, SimulationError> {
        if self.shards[0].world.hosts.ranks.notices.is_empty() {
            if self.now() >= until {
                return Ok(Step::Until);
            }
            if self.advance_to(until, budget)? == State::Finished {
                return Ok(Step::Finished);
            }
        }
        let has_notices = !self.shards[0].world.hosts.ranks.notices.is_empty();
        Ok(match [has_notices, self.now() >= until, self.jobs.still] {
            [true, ..] => Step::Notices,
            [_, true, _] => Step::Until,
            [.., true] => Step::Idle,
            _ => Step::More,
        })
    }

    /// Takes the notices of the present time, sorted by job, rank, kind, peer and label.
    pub fn take_notices(&mut self) -> Vec<(u32, u32, Notice)> {
        let mut notices = std::mem::take(&mut self.shards[0].world.hosts.ranks.notices);
        notices.sort_by_key(|&(job, rank, own)| (own.time, job, rank, own.kind, own.peer, own.label));
        notices
    }

    /// Describes why a message from one rank to another has not completed, as the end of a sentence; empty if nothing
    /// holds it.
    pub fn held_text(&self, job: u32, (from, to): (u32, u32)) -> String {
        match self.held(job, (from, to)) {
            Held::ConnectionFailed => ": its connection has failed after all retries".to_string(),
            Held::LinkDown(port) => format!(": the link at {} is down", self.port_name(port)),
            Held::Paused(port) => format!(": its class is paused at {}", self.port_name(port)),
            Held::NoCredits(port) => format!(": its class has no credits at {}", self.port_name(port)),
            Held::ReceiverNotReady => ": its receiver is not ready".to_string(),
            Held::Retransmitting => ": it is being retransmitted".to_string(),
            Held::Lost => ": packets are lost, and nothing retransmits them".to_string(),
            Held::InFlight => String::new(),
        }
    }

    /// Declares that no further request follows: the run completes its pending work.
    pub fn close(&mut self) {
        let now = self.now();
        let world = &mut self.shards[0].world;
        let whole = world.whole();
        world.hosts.ranks.notices.clear();
        for state in world.hosts.ranks.ranks.all_mut(whole) {
            state.machine.close(now);
        }
        self.driven = false;
    }
}
