//! Jobs of a simulation: whether they can go on, and what their ranks wait for.
//!
//! Jobs are looked at between windows, at fixed simulated times. A run in which nothing but jobs sends is over when all of them are; and
//! when one of them can never go on: no event is pending, or no message is in flight and no rank works.

use crate::run::state::hosts::Receiver;
use crate::run::state::index::EndpointIx;
use crate::run::state::ranks::RankState;
use crate::simulation::Simulation;
use frame::TrafficClass;
use jobs::{Blocked, Unsent};
use std::collections::BTreeMap;
use transport::{Endpoint, Protocol};
use units::Time;

/// Looks at the jobs of a run.
#[derive(Debug)]
pub(crate) struct JobWatch {
    /// Time of the next check; [`Time::NEVER`] without jobs.
    pub next: Time,
    interval: Time,
    /// Events until the last check.
    events: u64,
    /// No event was pending at the last look.
    pub still: bool,
    /// The run is over: all jobs are, or none can go on.
    pub over: bool,
    /// By job, iterations that had ended at the last check, and true if the mean time of an iteration had the requested precision.
    pub(super) known: Vec<(usize, bool)>,
    /// By job, frames that its ranks had got at the last sample, and the first sample at which they had as many.
    progress: Vec<(u64, Time)>,
    /// When the next sample is taken, and the time between two.
    samples: (Time, Time),
}

/// Samples of the progress of jobs in a run, at most.
const SAMPLES: u64 = 16;
/// Looks in a run, at most.
const LOOKS: u64 = 4_096;

impl JobWatch {
    /// Time between two looks in a run of this duration.
    pub fn interval(duration: Time) -> Time {
        Time::from_ps((duration.ps() / LOOKS).max(Time::from_us(10).ps()))
    }
    /// A watch over jobs in a run of this duration, if there are any.
    pub fn new(jobs: bool, duration: Time) -> JobWatch {
        let interval = JobWatch::interval(duration);
        JobWatch {
            next: if jobs { interval } else { Time::NEVER },
            interval,
            events: 0,
            still: false,
            over: false,
            known: Vec::new(),
            progress: Vec::new(),
            samples: (Time::ZERO, Time::from_ps(duration.ps() / SAMPLES)),
        }
    }
}

impl JobWatch {
    /// It is `now`, as time without skipping counts, and `skipped` of it was left out: looks are at the times of a run that skips nothing.
    pub fn skip_to(&mut self, now: Time, skipped: Time) {
        let looks = now.ps() / self.interval.ps() + 1;
        self.next = self.interval * looks - skipped;
    }
}

/// Why a message that was posted has not been delivered, or its acknowledgement has not come.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Held {
    /// Its connection is in error and sends nothing any more.
    ConnectionFailed,
    /// The link of a port on its way is down. The port is one of the whole.
    LinkDown(u32),
    /// Its class is paused at a port on its way.
    Paused(u32),
    /// Its class lacks credits at a port on its way.
    NoCredits(u32),
    /// Its receiver was not ready for it.
    ReceiverNotReady,
    /// Its connection waits to send packets again.
    Retransmitting,
    /// It is on its way.
    InFlight,
    /// Lost, and not retransmitted: no frame of it is in flight.
    Lost,
}

/// The wait of a rank.
#[derive(Clone, Debug, PartialEq)]
pub(crate) enum WaitCause {
    /// It has not begun: its job starts later.
    NotStarted,
    /// Its processor works.
    Working,
    /// A message that its sender has not posted yet.
    NotPosted,
    /// A message that its sender never posts: the sender has ended.
    PeerEnded,
    /// A message of any rank, and none that matches has been posted.
    AnyPeer,
    /// A message that its sender has posted.
    Message(Held),
    /// The acknowledgement of a message that it has posted.
    Acknowledgement(Held),
}

/// A rank that has not ended, and the first thing that it waits for.
#[derive(Clone, Debug)]
pub(crate) struct RankWait {
    pub job: u32,
    pub rank: u32,
    /// Iterations that are over.
    pub finished: usize,
    /// The rank at the other end, label and bytes of the message; `None`: it waits for no message.
    pub message: Option<(u32, u32, u64)>,
    pub since: Time,
    pub cause: WaitCause,
}

impl Simulation {
    /// Ranks of all jobs, by job and number.
    pub(crate) fn ranks(&self) -> Vec<&RankState> {
        let mut ranks: Vec<&RankState> =
            self.parts().flat_map(|part| part.hosts.ranks.ranks.all(part.whole())).collect();
        ranks.sort_by_key(|state| (state.job, state.number));
        ranks
    }

    /// Looks whether jobs can go on. Returns true if the run is over.
    pub(super) fn look_at_jobs(&mut self) -> bool {
        let interval = self.jobs.interval;
        self.jobs.next = self.jobs.next.saturating_add(interval);
        self.look_for_boundaries();
        if let Some(precision) = self.spec.guards.until {
            self.end_jobs_at(precision);
        }
        let ranks = self.ranks();
        let done = ranks.iter().all(|state| state.machine.is_done());
        // Frames that have left without a transport may still be in flight.
        let over_frames = self.spec.jobs.iter().any(|job| self.spec.is_over_frames(job));
        let rests = !over_frames
            && ranks.iter().all(|state| {
                let own = &state.machine;
                own.calls_at() == Time::NEVER && own.unsent_peers().next().is_none()
            });
        let of_jobs: usize = self.spec.jobs.iter().map(|job| job.flows.iter().flatten().count()).sum();
        let alone = of_jobs == self.spec.flows.len();
        let events = self.events();
        // To look for pending events takes longer than to count those that ran.
        let still = std::mem::replace(&mut self.jobs.events, events) == events;
        self.jobs.still = still && self.is_quiet();
        let open = self.ranks().iter().any(|state| state.machine.is_open());
        self.jobs.over = alone && !open && (done || rests || self.jobs.still);
        if self.now() >= self.jobs.samples.0 {
            self.sample_progress();
        }
        self.jobs.over
    }

    /// Takes a sample of the frames that each job has got.
    fn sample_progress(&mut self) {
        let (now, got) = (self.now(), self.frames_got());
        self.jobs.samples.0 = now.saturating_add(self.jobs.samples.1);
        let before = std::mem::take(&mut self.jobs.progress);
        let since =
            |job: usize, frames: u64| before.get(job).filter(|own| own.0 == frames).map_or(now, |own| own.1);
        self.jobs.progress =
            got.iter().enumerate().map(|(job, &frames)| (frames, since(job, frames))).collect();
    }

    /// By job, the frames of data that its ranks have got: those that were discarded, or wait for others, left out.
    fn frames_got(&self) -> Vec<u64> {
        let mut job_of = vec![None; self.spec.flows.len()];
        for (number, job) in self.spec.jobs.iter().enumerate() {
            job.flows.iter().flatten().for_each(|(flow, _)| job_of[*flow as usize] = Some(number));
        }
        let mut got = vec![0u64; self.spec.jobs.len()];
        for (flow, job) in job_of.iter().enumerate() {
            let Some(job) = *job else { continue };
            let first = self.source(flow).first_path as usize;
            let paths = first..first + self.spec.flows[flow].paths();
            got[job] += paths.flat_map(|path| self.receivers(path)).map(Receiver::frames).sum::<u64>();
        }
        for (_, far) in self.connections() {
            if let Some(job) = job_of[self.path_flow[far.path as usize] as usize] {
                let of_no_use = far.endpoint.facts(self.now()).undelivered.frames;
                got[job] = got[job].saturating_sub(of_no_use);
            }
        }
        got
    }

    /// By job, for how long until now none of its ranks has got a frame, in steps of a sample.
    pub(crate) fn stalled(&self) -> Vec<Time> {
        let now = self.now();
        let since = |(job, frames): (usize, u64)| match self.jobs.progress.get(job) {
            Some(&(before, since)) if before == frames => now.saturating_sub(since),
            _ => Time::ZERO,
        };
        self.frames_got().into_iter().enumerate().map(since).collect()
    }

    /// Returns true if no event is pending.
    fn is_quiet(&mut self) -> bool {
        self.shards.iter_mut().all(|shard| shard.runner.windows().pending().next().is_none())
    }

    /// The wait of a rank; `None`: it has ended.
    fn wait_of(&self, ranks: &[&RankState], state: &RankState) -> Option<RankWait> {
        let own = &state.machine;
        if own.is_done() {
            return None;
        }
        let later = own.open_phases_skipped();
        let wait = |message: Option<(u32, u32, u64)>, since, cause| RankWait {
            job: state.job,
            rank: state.number,
            finished: own.passed(),
            message: message.map(|(peer, tag, bytes)| (peer, tag + later, bytes)),
            since: if since == Time::ZERO { since } else { self.whole_time(since) },
            cause,
        };
        let began = own.times().last().map_or(Time::ZERO, |last| last.began);
        if own.times().is_empty() {
            return Some(wait(None, Time::ZERO, WaitCause::NotStarted));
        }
        let blocked = own.blocked().min_by_key(|blocked| (blocked.since, blocked.lane));
        if let Some(Blocked { from: None, tag, bytes, since, .. }) = blocked {
            let message = Some((state.number, tag.unwrap_or_default(), bytes));
            return Some(wait(message, since, WaitCause::AnyPeer));
        }
        if let Some(Blocked { from: Some(from), tag, bytes, since, .. }) = blocked {
            let sender = ranks.iter().find(|other| (other.job, other.number) == (state.job, from));
            let cause = match sender {
                Some(sender)
                    if sender
                        .machine
                        .unsent(state.number)
                        .any(|one| tag.is_none_or(|tag| one.tag == tag))
                        || self.is_undelivered(state.job, (from, state.number), tag) =>
                {
                    WaitCause::Message(self.held(state.job, (from, state.number)))
                }
                Some(sender) if sender.machine.is_done() => WaitCause::PeerEnded,
                _ => WaitCause::NotPosted,
            };
            return Some(wait(Some((from, tag.unwrap_or_default(), bytes)), since, cause));
        }
        let oldest = own
            .unsent_peers()
            .flat_map(|peer| own.unsent(peer).next().map(|one| (peer, one)))
            .min_by_key(|(peer, one)| (one.posted, *peer));
        if own.calls_at() < Time::NEVER {
            return Some(wait(None, began, WaitCause::Working));
        }
        let (peer, Unsent { tag, bytes, posted, .. }) = oldest?;
        let cause = WaitCause::Acknowledgement(self.held(state.job, (state.number, peer)));
        Some(wait(Some((peer, tag, bytes)), posted, cause))
    }

    /// Returns true if a message with this label, or with any, has left a rank without a transport and has not arrived at another one.
    fn is_undelivered(&self, job: u32, (from, to): (u32, u32), tag: Option<u32>) -> bool {
        let ends = self.path_of_ranks(job, (from, to)).and_then(|(_, path)| self.ends_of(path));
        let Some((Endpoint::FrameSender(near), Endpoint::FrameReceiver(far))) = ends else { return false };
        let mut missing = (0..).zip(near.labels()).filter(|&(number, _)| !far.has(number));
        missing.any(|(_, &label)| tag.is_none_or(|tag| tag == label))
    }

    /// Of a run in which nothing but jobs sends, the bytes of messages that are posted and not acknowledged: no more of them wait in
    /// queues. `None`: there is other traffic.
    pub fn posted_bytes(&self) -> Option<u64> {
        let of_jobs: usize = self.spec.jobs.iter().map(|job| job.flows.iter().flatten().count()).sum();
        let unsent = |state: &RankState| {
            let own = &state.machine;
            own.unsent_peers().flat_map(|peer| own.unsent(peer)).map(|one| one.bytes).sum::<u64>()
        };
        // Messages without a transport are not acknowledged.
        let over_frames = self.spec.jobs.iter().any(|job| self.spec.is_over_frames(job));
        (of_jobs == self.spec.flows.len() && !over_frames).then(|| self.ranks().into_iter().map(unsent).sum())
    }

    /// By flow of a job, the frames of all of its messages to each destination.
    pub(super) fn frames_of_jobs(&self) -> BTreeMap<u32, Vec<u64>> {
        let mut frames = BTreeMap::new();
        for (number, job) in (0..).zip(&self.spec.jobs) {
            let workload = job.workload.start(job.ranks());
            let iterations = self.iterations_of(number);
            for (rank, flow) in (0..).zip(&job.flows) {
                let Some((flow, peers)) = flow else { continue };
                let Some(list) = self.spec.flows[*flow as usize].source.transfers() else { continue };
                let mut own = vec![0; peers.len()];
                for (to, bytes) in workload.sends(rank) {
                    if let Ok(nth) = peers.binary_search(&to) {
                        own[nth] += list.framing().frames(bytes.max(1)) * iterations;
                    }
                }
                frames.insert(*flow, own);
            }
        }
        frames
    }

    /// The wait of every rank that has not ended, by job and rank.
    pub(crate) fn rank_waits(&self) -> Vec<RankWait> {
        let ranks = self.ranks();
        ranks.iter().filter_map(|state| self.wait_of(&ranks, state)).collect()
    }

    /// The flow and the path of messages from one rank to another; `None`: there are none.
    fn path_of_ranks(&self, job: u32, (from, to): (u32, u32)) -> Option<(usize, usize)> {
        let (flow, peers) = self.spec.jobs[job as usize].flows[from as usize].as_ref()?;
        let nth = peers.binary_search(&to).ok()?;
        let flow = *flow as usize;
        Some((flow, self.source(flow).first_path as usize + nth))
    }

    /// Why a message from one rank to another is not through.
    pub(super) fn held(&self, job: u32, (from, to): (u32, u32)) -> Held {
        let Some((flow, path)) = self.path_of_ranks(job, (from, to)) else { return Held::InFlight };
        let pairs = |part: &crate::run::fabric::Fabric, at: EndpointIx| {
            let sender = part.hosts.endpoints[at].endpoint.sending_pairs()?;
            let failed = sender.queue_pairs().any(|pair| pair.failed().is_some());
            Some((failed, [sender.counts().not_ready > 0, sender.counts().timeouts > 0]))
        };
        let mut ends = self.parts().filter_map(|part| {
            let near = part.hosts.endpoints_of_path.get(path).and_then(|ends| ends[0])?;
            pairs(part, near)
        });
        let (failed, [not_ready, timeouts]) = ends.next().unwrap_or_default();
        if failed {
            return Held::ConnectionFailed;
        }
        let priority = self.spec.flows[flow].priority;
        for &port in self.path_of(path) {
            let (state, cold) = (self.port(port), self.cold(port));
            let TrafficClass(class) = state.classes.class(priority);
            if cold.down != 0 {
                return Held::LinkDown(port);
            }
            if state.stopped >> class & 1 != 0 {
                return match cold.control.credits_of(priority.0) {
                    Some(_) => Held::NoCredits(port),
                    None => Held::Paused(port),
                };
            }
        }
        match self.jobs.still {
            true => Held::Lost,
            false if not_ready => Held::ReceiverNotReady,
            false if timeouts => Held::Retransmitting,
            false => Held::InFlight,
        }
    }
}
