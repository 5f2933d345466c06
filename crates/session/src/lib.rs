//! A run that another program drives: its inputs are messages and timers, its outputs events in order of time.
//!
//! [`Session::run`] returns at the simulated time of the next events, and no part of the fabric is ahead of that time:
//! a message sent then starts at exactly that time. There are no callbacks, so that Rust, Python, C and C++ drive the
//! same state machine. A run depends on the scenario and the sequence of calls, but not on the wall-clock time of the
//! calls.
//!
//! ```
//! let text = r#"
//! [simulation]
//! duration = "1 ms"
//! [topology.star]
//! hosts = 2
//! rate = "100 Gb/s"
//! "#;
//! let mut session = session::Session::open(text, "pair.toml", None, session::read_no_files)?;
//! let message = session.send("h0", "h1", 1_000_000, None)?;
//! let delivered = session.next_event(u64::MAX)?.expect("a message ends");
//! assert_eq!((delivered.id, delivered.kind.name()), (message, "delivered"));
//! # Ok::<(), session::SessionError>(())
//! ```

#![warn(clippy::too_many_lines)]

mod error;
mod events;
mod open;
mod recording;

pub use error::SessionError;
pub use events::{Event, Kind};
pub use open::{is_driven, read_no_files, with_job};

use events::{Ids, Pending};
use fabric::{Simulation, Step};
use jobs::Request;
use recording::Recording;
use scenario::Scenario;
use std::cmp::Reverse;
use std::collections::{BTreeMap, BTreeSet, BinaryHeap, VecDeque};
use units::Time;

/// Maximum size of a message in bytes.
pub const MAX_MESSAGE_BYTES: u64 = 1 << 44;

/// Reason why a call of [`Session::run`] returned.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Status {
    /// Events are available; all of them have the time [`Session::now`].
    Events,
    /// The given time was reached.
    Until,
    /// The budget is used up. Call again to continue.
    More,
    /// All messages, computations and timers have ended.
    Idle,
    /// The scenario's duration has ended.
    Ended,
}

/// A run that another program drives.
pub struct Session {
    scenario: Scenario,
    simulation: Simulation,
    job: u32,
    /// Names of the hosts, by rank.
    hosts: Vec<String>,
    rank_of: BTreeMap<String, u32>,
    next_id: u64,
    ids: Ids,
    /// Timers by time and id, including cancelled ones; then the ids of those that are not cancelled.
    timers: BinaryHeap<Reverse<(Time, u64)>>,
    armed: BTreeSet<u64>,
    events: VecDeque<Event>,
    recording: Option<Recording>,
    ended: bool,
}

impl Session {
    /// Returns the current time of the run.
    pub fn now(&self) -> Time {
        self.simulation.now()
    }
    /// Returns the duration of the scenario, at which the run ends.
    pub fn duration(&self) -> Time {
        self.scenario.spec.duration
    }
    /// Returns the names of the hosts that take part, by rank.
    pub fn hosts(&self) -> &[String] {
        &self.hosts
    }
    /// Returns the number of messages, computations and timers that have not ended.
    pub fn under_way(&self) -> usize {
        self.ids.len() + self.armed.len()
    }
    /// Returns the scenario, including the session's job.
    pub fn scenario(&self) -> &Scenario {
        &self.scenario
    }

    /// Returns the rank of a host.
    ///
    /// # Errors
    /// If the host has no rank.
    pub fn rank(&self, host: &str) -> Result<u32, SessionError> {
        self.rank_of.get(host).copied().ok_or_else(|| SessionError::UnknownHost {
            host: host.to_string(),
            near: keys::nearest(host, self.hosts.iter().map(String::as_str)).map(str::to_string),
            first: self.hosts.first().cloned().unwrap_or_default(),
            last: self.hosts.last().cloned().unwrap_or_default(),
        })
    }

    /// Sends a message at `at`, by default now. Returns its id. Its events are [`Kind::Sent`] (acknowledged) and
    /// [`Kind::Delivered`]. A message of a host to itself takes no time.
    ///
    /// # Errors
    /// If a host has no rank, the time is past or after the end, or the message is larger than [`MAX_MESSAGE_BYTES`].
    pub fn send(&mut self, from: &str, to: &str, bytes: u64, at: Option<Time>) -> Result<u64, SessionError> {
        let [from, to] = [self.rank(from)?, self.rank(to)?];
        self.send_ranks((from, to), bytes, at)
    }

    /// Sends a message like [`Session::send`], between ranks.
    ///
    /// # Errors
    /// Those of [`Session::send`].
    pub fn send_ranks(
        &mut self,
        (from, to): (u32, u32),
        bytes: u64,
        at: Option<Time>,
    ) -> Result<u64, SessionError> {
        self.known(from)?;
        self.known(to)?;
        if bytes > MAX_MESSAGE_BYTES {
            return Err(SessionError::TooLarge { bytes });
        }
        self.request(from, at, Request::Send { to, bytes })
    }

    /// Occupies the processor of a host for a time, starting at `at` (default: now), or when its earlier work ends if
    /// that is later. Returns the id of the computation, which ends with [`Kind::Computed`].
    ///
    /// # Errors
    /// Those of [`Session::send`].
    pub fn compute(&mut self, host: &str, time: Time, at: Option<Time>) -> Result<u64, SessionError> {
        let rank = self.rank(host)?;
        self.compute_rank(rank, time, at)
    }

    /// Occupies the processor of a rank like [`Session::compute`].
    ///
    /// # Errors
    /// Those of [`Session::send`].
    pub fn compute_rank(&mut self, rank: u32, time: Time, at: Option<Time>) -> Result<u64, SessionError> {
        self.known(rank)?;
        self.request(rank, at, Request::Compute { time })
    }

    fn known(&self, rank: u32) -> Result<(), SessionError> {
        let ranks = self.hosts.len();
        if (rank as usize) < ranks { Ok(()) } else { Err(SessionError::UnknownRank { rank, ranks }) }
    }

    fn request(&mut self, rank: u32, at: Option<Time>, request: Request) -> Result<u64, SessionError> {
        let at = self.start(at)?;
        let label = self.simulation.request((self.job, rank), at, request);
        let id = self.new_id();
        self.ids.add((rank, label), request, Pending { id, at });
        if let Some(recording) = &mut self.recording {
            recording.add(rank, at, request);
        }
        Ok(id)
    }

    /// Returns the given start time or, by default, the current time.
    fn start(&self, at: Option<Time>) -> Result<Time, SessionError> {
        let now = self.now();
        if self.ended {
            return Err(SessionError::Ended { now });
        }
        let at = at.unwrap_or(now);
        if at < now {
            return Err(SessionError::Past { at, now });
        }
        if at >= self.duration() {
            return Err(SessionError::AfterEnd { at, duration: self.duration() });
        }
        Ok(at)
    }

    fn new_id(&mut self) -> u64 {
        self.next_id += 1;
        self.next_id - 1
    }

    /// Starts a timer, which expires ([`Kind::Timer`]) at the given time. Returns its id.
    ///
    /// # Errors
    /// If the time is past or after the end.
    pub fn timer(&mut self, at: Time) -> Result<u64, SessionError> {
        let at = self.start(Some(at))?;
        let id = self.new_id();
        self.timers.push(Reverse((at, id)));
        self.armed.insert(id);
        Ok(id)
    }

    /// Cancels a timer. Returns true if it had not expired yet.
    pub fn cancel(&mut self, id: u64) -> bool {
        self.armed.remove(&id)
    }

    /// Returns the next event that has not been polled yet.
    pub fn poll_event(&mut self) -> Option<Event> {
        self.events.pop_front()
    }

    /// Runs up to the next events before `until`, up to `until`, or for about `budget` events of the engine. Returns at
    /// once while events have not been polled.
    ///
    /// # Errors
    /// If `until` is in the past; if an invariant is violated; if messages have not ended and no event is pending. The
    /// last error describes the first of these messages and what blocks it.
    pub fn run(&mut self, until: Time, budget: u64) -> Result<Status, SessionError> {
        if !self.events.is_empty() {
            return Ok(Status::Events);
        }
        let now = self.now();
        if until < now {
            return Err(SessionError::Past { at: until, now });
        }
        while let Some(&Reverse((_, id))) = self.timers.peek()
            && !self.armed.contains(&id)
        {
            self.timers.pop();
        }
        let timer = self.timers.peek().map_or(Time::NEVER, |Reverse((at, _))| *at);
        if self.ended {
            return Ok(Status::Ended);
        }
        if until == Time::NEVER && timer == Time::NEVER && self.ids.len() == 0 {
            return Ok(Status::Idle);
        }
        let stop = until.min(timer);
        match self.simulation.step(stop, budget)? {
            Step::Notices => self.take_notices(),
            Step::Until if timer < until => self.take_timers(timer),
            Step::Until => return Ok(Status::Until),
            Step::Idle if self.ids.len() > 0 && stop == Time::NEVER => return Err(self.stalled()),
            Step::Idle | Step::More => return Ok(Status::More),
            Step::Finished => {
                self.ended = true;
                return Ok(Status::Ended);
            }
        }
        Ok(Status::Events)
    }

    /// Runs up to the next event, and returns it; `None` if all messages, computations and timers have ended.
    ///
    /// # Errors
    /// Those of [`Session::run`]; if the duration ends before all messages.
    pub fn next_event(&mut self, budget: u64) -> Result<Option<Event>, SessionError> {
        loop {
            match self.run(Time::NEVER, budget)? {
                Status::Events => return Ok(self.poll_event()),
                Status::Idle => return Ok(None),
                Status::Until | Status::More => {}
                Status::Ended => return self.at_end().map(|()| None),
            }
        }
    }

    /// Checks that the session has ended completely.
    ///
    /// # Errors
    /// If messages, computations or timers have not ended at the end of the duration.
    pub fn at_end(&self) -> Result<(), SessionError> {
        if self.under_way() == 0 {
            return Ok(());
        }
        let first = self.first_under_way();
        Err(SessionError::Unfinished { now: self.now(), under_way: self.under_way(), first })
    }

    fn take_notices(&mut self) {
        for (job, rank, notice) in self.simulation.take_notices() {
            if job == self.job {
                self.events.extend(self.ids.event(rank, &notice));
            }
        }
    }

    fn take_timers(&mut self, now: Time) {
        while let Some(&Reverse((at, id))) = self.timers.peek()
            && at <= now
        {
            self.timers.pop();
            if self.armed.remove(&id) {
                self.events.push_back(Event { time: now, kind: Kind::Timer, id, from: 0, to: 0, bytes: 0 });
            }
        }
    }

    /// Describes the oldest message that has not ended.
    fn first_under_way(&self) -> String {
        let host = |rank: u32| self.hosts[rank as usize].as_str();
        match self.ids.oldest() {
            Some((rank, Request::Send { to, bytes }, Pending { id, at })) => {
                format!("message {id} of {bytes} B from {} to {}, sent at {at}", host(rank), host(to))
            }
            Some((rank, Request::Compute { .. }, Pending { id, at })) => {
                format!("computation {id} of {}, begun at {at}", host(rank))
            }
            None => "a timer".to_string(),
        }
    }

    fn stalled(&self) -> SessionError {
        let held = match self.ids.oldest() {
            Some((rank, Request::Send { to, .. }, _)) => self.simulation.held_text(self.job, (rank, to)),
            _ => String::new(),
        };
        SessionError::Stalled {
            now: self.now(),
            under_way: self.ids.len(),
            first: self.first_under_way(),
            held,
        }
    }

    /// Runs until all messages have ended, and returns the simulation. Events that were not polled are dropped. `go_on`
    /// is called about every `budget` events of the engine; the run ends early if it returns false.
    ///
    /// # Errors
    /// If an invariant is violated.
    pub fn finish(
        mut self,
        budget: u64,
        mut go_on: impl FnMut() -> bool,
    ) -> Result<(Scenario, Simulation), SessionError> {
        if !self.ended {
            self.simulation.close();
            while self.simulation.advance(budget)? == fabric::State::Running {
                if !go_on() {
                    self.simulation.cut_short()?;
                    break;
                }
            }
        }
        Ok((self.scenario, self.simulation))
    }

    /// Returns the requests so far as a file for `messages`, if the session records them.
    pub fn recorded(&self) -> Option<String> {
        self.recording.as_ref().map(|own| own.text(&self.hosts))
    }
}
