//! A run that a session drives: requests go in at the present or later, notices come out in the order of time.
//!
//! The run stops in the instant of a notice, with no node ahead of another, so that a request at any host may follow from it at once.

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
    /// There are notices.
    Notices,
    /// The time that was given has come.
    Until,
    /// The budget of events is used up; call again.
    More,
    /// No event is pending: without another request nothing will happen any more.
    Idle,
    /// The run is at the end of its duration, or in a deadlock.
    Finished,
}

impl Simulation {
    /// From now on a session drives the run; it has not begun, and uses one thread.
    pub fn drive(&mut self) {
        self.driven = true;
    }

    /// Adds a request to rank `rank` of job `job`, at `at` or at the present if that is later, and returns its label.
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
        // One that has not begun is called at its start.
        if calls_at < state.wakes_at {
            state.wakes_at = calls_at;
            let event = Event::bare(Kind::Rank, calls_at.max(at), state.port);
            shard.runner.windows().push(event);
        }
        label
    }

    /// On one thread ranks lie in the order of jobs and of their numbers.
    fn rank_index(&self, job: u32, rank: u32) -> RankIx {
        let before = self.spec.jobs[..job as usize].iter().map(|own| own.hosts.len()).sum::<usize>();
        RankIx::of(before as u32 + rank, self.shards[0].world.whole())
    }

    /// Goes on to the next notices, to `until`, or for about `budget` events.
    ///
    /// # Errors
    /// As [`Simulation::advance`].
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

    /// Takes the notices of the present instant, by job, rank, kind, peer and label.
    pub fn take_notices(&mut self) -> Vec<(u32, u32, Notice)> {
        let mut notices = std::mem::take(&mut self.shards[0].world.hosts.ranks.notices);
        notices.sort_by_key(|&(job, rank, own)| (own.time, job, rank, own.kind, own.peer, own.label));
        notices
    }

    /// Why a message from one rank to another is not through, as the end of a sentence; empty if nothing holds it.
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

    /// No further request comes: the run goes on to the end of what it has.
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
