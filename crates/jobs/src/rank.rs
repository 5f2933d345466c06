//! State machine of a rank, which runs a workload on top of the connections of its host.
//!
//! A rank has one processor. Computations, and the host cost of each message (`overhead`, `overhead_per_byte`: o and O
//! of LogGOPS), occupy it one after the other, in order of request. The host cost is incurred at the sender before a
//! message is posted, and at the receiver after it has been delivered. In a program, each operation names one of
//! several processors.
//!
//! An operation of a program starts when all of its dependencies have ended or started, respectively. The send of a
//! message of at most `eager` bytes ends when the processor has handed it over, the send of a longer one when it is
//! acknowledged. A receive ends when the processor has processed its message. A message to the rank itself is delivered
//! at once.
//!
//! An iteration of a rank ends when its lanes have ended and all its messages are acknowledged. The next one then
//! starts, independently of other ranks.
//!
//! Source: Hoefler, Schneider and Lumsdaine, LogGOPSim (2010), for o, O and the operations of a program.
//!
//! Not modelled: preemption of computations; the handshake of a rendezvous, with which a send ends only after the
//! receive has started.

mod driven;
mod log;
mod occupied;
mod posting;
mod reading;
mod records;
mod recurring;
mod working;

pub use driven::{Notice, NoticeKind};
pub use log::{Step, StepKind};
pub use records::{Blocked, IterationTimes, PeerCounts, Post, RankCounts, Unsent};
pub use recurring::{PhaseProgress, SkippedIterations};

use crate::computation::Computation;
use crate::keys::JobCosts;
use crate::matching::Matching;
use crate::messages::Request;
use crate::schedule::{Action, Schedule};
use crate::workload::{Generated, Workload};
use driven::Driven;
use log::Log;
use occupied::Occupied;
use program::Work;
use recurrence::Recurs;
use recurring::Phases;
use std::cmp::Reverse;
use std::collections::{BTreeMap, BinaryHeap, VecDeque};
use std::sync::Arc;
use units::Time;

/// Continuation of a lane after it has used the processor.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
enum Then {
    BeginLanes,
    Post(Post),
    Go,
    /// The start time of a listed request has been reached.
    Start(Request),
    /// The processor has processed a message of a list.
    Taken {
        from: u32,
    },
}

/// Work of a processor: end time, order of requests, lane, step, continuation.
type Occupation = (Time, u64, u32, u32, Then);

/// Messages in flight to one peer, and its counters.
#[derive(Clone, Debug, Default, Recurs)]
struct Peer {
    unsent: VecDeque<Unsent>,
    #[recurs(measured)]
    counts: PeerCounts,
}

/// State machine of a rank.
#[derive(Clone, Debug, Recurs)]
pub struct Rank {
    #[recurs(constant)]
    workload: Arc<Workload>,
    #[recurs(constant)]
    rank: u32,
    #[recurs(constant)]
    costs: JobCosts,
    #[recurs(with = Rank::walk_computation)]
    computation: Computation,
    /// Number of computations so far.
    #[recurs(scratch)]
    computations: u64,
    #[recurs(scratch)]
    start: Time,
    #[recurs(scratch)]
    iterations: u32,
    /// Number of the next action of each lane or, in a program, number of unmet dependencies of each operation.
    #[recurs(with = Rank::walk_positions)]
    at: Box<[u32]>,
    phases: Phases,
    /// For each lane, the number of messages that are not acknowledged, and true if the lane waits for them; empty for
    /// programs.
    in_flight: Box<[(u32, bool)]>,
    /// Number of lanes or operations of this iteration that have not ended.
    left: u32,
    /// True during the computation before the lanes.
    computing: bool,
    /// For each processor, the time until which it is busy.
    #[recurs(with = Rank::walk_processors)]
    busy_until: Vec<Time>,
    /// Work in progress on the processors.
    #[recurs(with = Rank::walk_work)]
    working: BinaryHeap<Reverse<Occupation>>,
    #[recurs(scratch)]
    requests: u64,
    matching: Matching,
    posts: VecDeque<Post>,
    /// Labels and steps of messages to the rank itself.
    local: VecDeque<(u32, u32)>,
    peers: BTreeMap<u32, Peer>,
    unsent: u64,
    #[recurs(scratch)]
    times: Vec<IterationTimes>,
    #[recurs(recorded)]
    skipped: Option<SkippedIterations>,
    #[recurs(measured)]
    counts: RankCounts,
    /// Time of this iteration in which the rank computes.
    occupied: Occupied,
    #[recurs(recorded)]
    log: Log,
    /// State of a rank with a list of messages; otherwise `None`.
    #[recurs(unless_empty = "lists of messages and sessions")]
    driven: Option<Box<Driven>>,
}

/// Stands in place of a lane for the computation at the beginning of an iteration.
const COMPUTATION: u32 = u32::MAX;

impl Rank {
    /// Creates rank number `rank` of a job that starts at `start` and repeats its workload `iterations` times. It
    /// records the steps of the first `recorded` of them.
    pub fn new(
        workload: &Arc<Workload>,
        rank: u32,
        (costs, computation): (JobCosts, Computation),
        start: Time,
        [iterations, recorded]: [u32; 2],
    ) -> Rank {
        let (at, lanes) = match &**workload {
            Workload::Generated(own) => (own.lanes() as usize, own.lanes() as usize),
            Workload::Program(program, _) => (program.ranks()[rank as usize].operations().len(), 0),
            Workload::Messages(_) => (0, 0),
        };
        let driven = match &**workload {
            Workload::Messages(list) => Some(Box::new(Driven::new(list))),
            _ => None,
        };
        Rank {
            workload: workload.clone(),
            rank,
            costs,
            computation,
            computations: 0,
            start,
            iterations,
            at: vec![0; at].into(),
            phases: Phases::default(),
            in_flight: vec![(0, false); lanes].into(),
            left: 0,
            computing: false,
            busy_until: vec![Time::ZERO],
            working: BinaryHeap::new(),
            requests: 0,
            matching: Matching::default(),
            posts: VecDeque::new(),
            local: VecDeque::new(),
            peers: BTreeMap::new(),
            unsent: 0,
            times: Vec::new(),
            skipped: None,
            counts: RankCounts::default(),
            occupied: Occupied::default(),
            log: Log::new(recorded),
            driven,
        }
    }

    /// Returns the time at which to call [`Rank::on_time`]; [`Time::NEVER`] if only a notice can change the state.
    pub fn calls_at(&self) -> Time {
        if self.times.is_empty() {
            return if self.iterations > 0 { self.start } else { Time::NEVER };
        }
        self.working.peek().map_or(Time::NEVER, |Reverse((at, ..))| *at)
    }

    /// Processes the expiry of [`Rank::calls_at`]. Calls at any other time have no effect.
    pub fn on_time(&mut self, now: Time) {
        if self.times.is_empty() && self.start <= now && self.iterations > 0 {
            self.begin(now);
        }
        while let Some(&Reverse((at, _, lane, step, then))) = self.working.peek() {
            if at > now {
                break;
            }
            self.working.pop();
            self.log.end(step, now);
            match then {
                Then::Start(request) => self.start_request(lane, request, now),
                Then::Taken { from } => self.taken(from, lane, now),
                Then::BeginLanes => self.begin_lanes(now),
                Then::Post(post) => {
                    self.post(lane, post, now);
                    self.after_send(lane, post, now);
                }
                Then::Go => self.go_on(lane, now),
            }
        }
        self.settle(now);
    }

    /// Processes the acknowledgement of a message to a peer. Returns the number of its step; `None` if the step is not
    /// recorded.
    pub fn on_sent(&mut self, peer_rank: u32, tag: u32, now: Time) -> Option<u32> {
        let peer = self.peers.get_mut(&peer_rank)?;
        let place = peer.unsent.iter().position(|one| one.tag == tag)?;
        let Unsent { bytes, posted, lane, step, .. } = peer.unsent.remove(place)?;
        let took = now.saturating_sub(posted);
        let counts = &mut peer.counts;
        counts.messages += 1;
        counts.bytes += bytes;
        counts.time = counts.time.saturating_add(took);
        counts.time_max = counts.time_max.max(took);
        self.unsent -= 1;
        self.log.end(step, now);
        self.note(NoticeKind::Sent, peer_rank, tag, now);
        if self.ends_with_acknowledgement(bytes) {
            self.end_operation(lane, now);
        } else if let Some((left, waits)) = self.in_flight.get_mut(lane as usize) {
            *left -= 1;
            if *left == 0 && std::mem::take(waits) {
                self.go_on(lane, now);
            }
        }
        self.settle(now);
        (step != log::NONE).then_some(step)
    }

    /// Processes the delivery of a message from a peer.
    pub fn on_delivered(&mut self, peer: u32, tag: u32, now: Time) {
        self.take_in(peer, tag, now);
        self.settle(now);
    }

    /// Returns the next message to post.
    pub fn poll_post(&mut self) -> Option<Post> {
        self.posts.pop_front()
    }

    /// Reduces the number of iterations to this one. Iterations that have started are not affected.
    pub fn end_after(&mut self, iterations: u32) {
        self.iterations = self.iterations.min(iterations.max(self.times.len() as u32));
    }

    fn begin(&mut self, now: Time) {
        self.log.begin(self.times.len() as u32);
        self.phases.begin();
        let (computed, ended, computing) = (now, Time::NEVER, Time::ZERO);
        self.times.push(IterationTimes { began: now, computed, ended, computing });
        // A session may have added requests already.
        self.left += self.at.len() as u32;
        match &*self.workload {
            Workload::Generated(_) => self.at.fill(0),
            Workload::Program(program, _) => {
                let operations = program.ranks()[self.rank as usize].operations();
                self.at.iter_mut().zip(operations).for_each(|(left, own)| *left = own.waits());
            }
            Workload::Messages(_) => {}
        }
        let time = self.computation.before(self.times.len() - 1);
        if time == Time::ZERO {
            return self.begin_lanes(now);
        }
        self.computing = true;
        let time = self.drawn(time);
        self.work((COMPUTATION, 0), (StepKind::Compute, None), time, Then::BeginLanes, now);
    }

    fn begin_lanes(&mut self, now: Time) {
        self.computing = false;
        if let Some(last) = self.times.last_mut() {
            last.computed = now;
        }
        let workload = Arc::clone(&self.workload);
        let cause = self.log.cause;
        match &*workload {
            Workload::Generated(own) => (0..own.lanes()).for_each(|lane| {
                self.log.cause = cause;
                self.go(own, lane, now);
            }),
            Workload::Program(program, _) => {
                let roots = program.ranks()[self.rank as usize].roots();
                roots.for_each(|operation| self.start_operation((operation, cause), now));
            }
            Workload::Messages(list) => self.begin_list(list, now),
        }
    }

    /// Resumes a lane that has received a message or finished its work on the processor.
    fn go_on(&mut self, lane: u32, now: Time) {
        let workload = Arc::clone(&self.workload);
        match &*workload {
            Workload::Generated(own) => self.go(own, lane, now),
            Workload::Program(..) => self.end_operation(lane, now),
            Workload::Messages(_) => self.computation_ended(lane, now),
        }
    }

    /// Runs a lane until it blocks or ends.
    fn go(&mut self, workload: &Generated, lane: u32, now: Time) {
        loop {
            let at = self.at[lane as usize];
            let Some(action) = workload.action(self.rank, lane, at).filter(|_| at < self.phases.end) else {
                self.left -= 1;
                return;
            };
            self.at[lane as usize] += 1;
            if lane == 0 {
                self.phases.reach(at, now);
            }
            let goes_on = match action {
                Action::Send { to, bytes, tag } => self.send((lane, 0), Post { to, bytes, tag }, now),
                Action::Receive { from, bytes, tag } => {
                    let (from, tag) = (Some(from), Some(tag));
                    self.receive(0, Blocked { lane, from, tag, bytes, since: now, step: log::NONE }, now)
                }
                Action::AwaitSends => {
                    let (left, waits) = &mut self.in_flight[lane as usize];
                    *waits = *left > 0;
                    !*waits
                }
                Action::Compute { time } => self.compute((lane, 0), time, now),
            };
            if !goes_on {
                return;
            }
        }
    }

    /// Starts an operation of a program whose dependencies are met, and all operations that depend only on its start.
    fn start_operation(&mut self, first: (u32, u32), now: Time) {
        let Workload::Program(program, _) = &*Arc::clone(&self.workload) else { return };
        let rank = &program.ranks()[self.rank as usize];
        let mut ready = vec![first];
        while let Some((operation, cause)) = ready.pop() {
            self.log.cause = cause;
            let own = &rank.operations()[operation as usize];
            let (lane, cpu) = (operation, own.cpu());
            let ended = match own.work() {
                Work::Send { to, bytes, tag } => {
                    self.send((lane, cpu), Post { to, bytes, tag }, now)
                        && (to == self.rank || !self.ends_with_acknowledgement(bytes))
                }
                Work::Recv { from, bytes, tag } => {
                    self.receive(cpu, Blocked { lane, from, tag, bytes, since: now, step: log::NONE }, now)
                }
                Work::Calc { time } => self.compute((lane, cpu), time, now),
            };
            let started = rank.after_start(operation).iter().rev().filter(|&&next| self.releases(next));
            ready.extend(started.map(|&next| (next, cause)));
            if ended {
                self.left -= 1;
                let cause = self.log.cause;
                let ended = rank.after_end(operation).iter().rev().filter(|&&next| self.releases(next));
                ready.extend(ended.map(|&next| (next, cause)));
            }
        }
    }

    /// Counts one met dependency of an operation. Returns true if none is left.
    fn releases(&mut self, operation: u32) -> bool {
        let left = &mut self.at[operation as usize];
        *left -= 1;
        *left == 0
    }

    /// Processes the end of an operation of a program.
    fn end_operation(&mut self, operation: u32, now: Time) {
        let Workload::Program(program, _) = &*Arc::clone(&self.workload) else { return };
        self.left -= 1;
        let cause = self.log.cause;
        for &next in program.ranks()[self.rank as usize].after_end(operation) {
            if self.releases(next) {
                self.start_operation((next, cause), now);
            }
        }
    }

    /// Returns true if the send of a message of this size ends when it is acknowledged, and not before.
    fn ends_with_acknowledgement(&self, bytes: u64) -> bool {
        matches!(&*self.workload, Workload::Program(_, eager) if bytes > *eager)
    }

    fn receive(&mut self, cpu: u8, mut blocked: Blocked, now: Time) -> bool {
        blocked.step = self.log.add(Step {
            peer: blocked.from.unwrap_or(self.rank),
            tag: blocked.tag.unwrap_or_default(),
            bytes: blocked.bytes,
            ..self.step(StepKind::Receive, blocked.lane, now)
        });
        let Some((message, arrived)) = self.matching.receive(blocked) else { return false };
        self.matched(cpu, blocked, (message, arrived), now)
    }

    /// Creates a step that is requested now.
    fn step(&self, kind: StepKind, lane: u32, now: Time) -> Step {
        let (peer, never) = (self.rank, Time::NEVER);
        Step {
            kind,
            lane,
            peer,
            tag: 0,
            bytes: 0,
            since: now,
            begin: never,
            end: never,
            iteration: 0,
            after: 0,
        }
    }

    /// Processes the delivery of a message: passes it to the pending receive that matches, if there is one.
    fn take_in(&mut self, from: u32, tag: u32, now: Time) {
        if let Workload::Messages(list) = &*self.workload.clone() {
            return self.take_listed(list, (from, tag), now);
        }
        let Some(blocked) = self.matching.deliver(from, tag, now) else { return };
        let lane = blocked.lane;
        let cpu = match &*self.workload {
            Workload::Generated(_) | Workload::Messages(_) => 0,
            Workload::Program(program, _) => {
                program.ranks()[self.rank as usize].operations()[lane as usize].cpu()
            }
        };
        if self.matched(cpu, blocked, ((from, tag), now), now) {
            self.go_on(lane, now);
        }
    }

    /// Completes a receive with the message of this sender and label, which arrived at `arrived`. Returns true if the
    /// lane continues at once.
    fn matched(
        &mut self,
        cpu: u8,
        blocked: Blocked,
        ((from, tag), arrived): ((u32, u32), Time),
        now: Time,
    ) -> bool {
        let Blocked { lane, bytes, step, .. } = blocked;
        self.log.deliver(step, (from, tag), arrived);
        self.log.end(step, now);
        self.counts.received += 1;
        self.counts.bytes_received += bytes;
        let cost = self.costs.of_message(bytes);
        self.counts.overhead = self.counts.overhead.saturating_add(cost);
        let kind = (StepKind::ReceiveCost, Some((from, tag, bytes)));
        cost == Time::ZERO || self.work((lane, cpu), kind, cost, Then::Go, now)
    }

    /// Delivers messages to the rank itself, and ends the iteration if it is complete.
    fn settle(&mut self, now: Time) {
        loop {
            while let Some((tag, step)) = self.local.pop_front() {
                self.log.end(step, now);
                self.take_in(self.rank, tag, now);
            }
            if self.left > 0 || self.unsent > 0 || self.computing {
                return;
            }
            let Some(last) = self.times.last_mut().filter(|last| last.ended == Time::NEVER) else { return };
            let ended = self.driven.as_ref().map_or(now, |own| own.active);
            (last.ended, last.computing) = (ended, self.occupied.take());
            if self.is_done() {
                return;
            }
            self.begin(now);
        }
    }
}
