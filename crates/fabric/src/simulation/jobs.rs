//! Progress of jobs: whether they can continue, and what their ranks wait for.
//!
//! Jobs are checked between windows, at fixed simulated times. A run in which only jobs send ends when all of them have
//! ended. It also ends when one of them can never continue: no event is pending, or no message is in flight and no rank
//! is computing.

use crate::run::state::hosts::Receiver;
use crate::run::state::index::EndpointIx;
use crate::run::state::ranks::RankState;
use crate::simulation::Simulation;
use frame::TrafficClass;
use jobs::{Blocked, Unsent};
use std::collections::BTreeMap;
use transport::{Endpoint, Protocol};
use units::Time;

/// Periodic checks of the jobs of a run.
#[derive(Debug)]
pub(crate) struct JobWatch {
    /// Time of the next check; [`Time::NEVER`] without jobs.
    pub next: Time,
    interval: Time,
    /// Number of events at the last check.
    events: u64,
    /// True if no event was pending at the last check.
    pub still: bool,
    /// True if the run is over: all jobs have ended, or none can continue.
    pub over: bool,
    /// By job, number of iterations that had ended at the last check, and true if the mean time of an iteration had the
    /// requested precision.
    pub(super) known: Vec<(usize, bool)>,
    /// By job, number of frames that its ranks had received at the last sample, and the time of the first sample with
    /// that number.
    progress: Vec<(u64, Time)>,
    /// Time of the next sample, and interval between samples.
    samples: (Time, Time),
}

/// Maximum number of samples of the progress of jobs in a run.
const SAMPLES: u64 = 16;
/// Maximum number of checks in a run.
const LOOKS: u64 = 4_096;

impl JobWatch {
    /// Interval between checks in a run of this duration.
    pub fn interval(duration: Time) -> Time {
        Time::from_ps((duration.ps() / LOOKS).max(Time::from_us(10).ps()))
    }
    /// Creates the checks for a run of this duration; none without jobs.
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
    /// Reschedules the checks after skipping: `now` is the time of the whole run, of which `skipped` was skipped.
    /// Checks occur at the times of a run that skips nothing.
    pub fn skip_to(&mut self, now: Time, skipped: Time) {
        let looks = now.ps() / self.interval.ps() + 1;
        self.next = self.interval * looks - skipped;
    }
}

/// Reason why a posted message has not been delivered, or not been acknowledged.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Held {
    /// Its connection is in the error state and no longer sends.
    ConnectionFailed,
    /// A link on its path is down. The port is numbered in the whole fabric.
    LinkDown(u32),
    /// Its class is paused at a port on its path.
    Paused(u32),
    /// Its class lacks credits at a port on its path.
    NoCredits(u32),
    /// Its receiver was not ready (RNR).
    ReceiverNotReady,
    /// Its connection waits to retransmit packets.
    Retransmitting,
    /// It is in flight.
    InFlight,
    /// Lost, and not retransmitted: no frame of it is in flight.
    Lost,
}

/// What a rank waits for.
#[derive(Clone, Debug, PartialEq)]
pub(crate) enum WaitCause {
    /// The start of its job.
    NotStarted,
    /// The end of a computation.
    Working,
    /// A message that its sender has not posted yet.
    NotPosted,
    /// A message that will never be posted, because the sender has ended.
    PeerEnded,
    /// A message from any rank, while no matching message has been posted.
    AnyPeer,
    /// A message that has been posted.
    Message(Held),
    /// The acknowledgement of a message that the rank has posted.
    Acknowledgement(Held),
}

/// A rank that has not ended, and the first event that it waits for.
#[derive(Clone, Debug)]
pub(crate) struct RankWait {
    pub job: u32,
    pub rank: u32,
    /// Number of iterations that have ended.
    pub finished: usize,
    /// The rank at the other end, label and bytes of the message; `None` if it does not wait for a message.
    pub message: Option<(u32, u32, u64)>,
    pub since: Time,
    pub cause: WaitCause,
}

impl Simulation {
    /// The ranks of all jobs, sorted by job and number.
    pub(crate) fn ranks(&self) -> Vec<&RankState> {
        let mut ranks: Vec<&RankState> =
            self.parts().flat_map(|part| part.hosts.ranks.ranks.all(part.whole())).collect();
        ranks.sort_by_key(|state| (state.job, state.number));
        ranks
    }

    /// Checks whether jobs can continue. Returns true if the run is over.
    pub(super) fn look_at_jobs(&mut self) -> bool {
        let interval = self.jobs.interval;
        self.jobs.next = self.jobs.next.saturating_add(interval);
        self.look_for_boundaries();
        if let Some(precision) = self.spec.guards.until {
            self.end_jobs_at(precision);
        }
        let ranks = self.ranks();
        let done = ranks.iter().all(|state| state.machine.is_done());
        // Frames sent without a transport may still be in flight.
        let over_frames = self.spec.jobs.iter().any(|job| self.spec.is_over_frames(job));
        let rests = !over_frames
            && ranks.iter().all(|state| {
                let own = &state.machine;
                own.calls_at() == Time::NEVER && own.unsent_peers().next().is_none()
            });
        let of_jobs: usize = self.spec.jobs.iter().map(|job| job.flows.iter().flatten().count()).sum();
        let alone = of_jobs == self.spec.flows.len();
        let events = self.events();
        // Counting processed events is faster than searching for pending ones.
        let still = std::mem::replace(&mut self.jobs.events, events) == events;
        self.jobs.still = still && self.is_quiet();
        let open = self.ranks().iter().any(|state| state.machine.is_open());
        self.jobs.over = alone && !open && (done || rests || self.jobs.still);
        if self.now() >= self.jobs.samples.0 {
            self.sample_progress();
        }
        self.jobs.over
    }

    /// Takes a sample of the frames that each job has received.
    fn sample_progress(&mut self) {
        let (now, got) = (self.now(), self.frames_got());
        self.jobs.samples.0 = now.saturating_add(self.jobs.samples.1);
        let before = std::mem::take(&mut self.jobs.progress);
        let since =
            |job: usize, frames: u64| before.get(job).filter(|own| own.0 == frames).map_or(now, |own| own.1);
        self.jobs.progress =
            got.iter().enumerate().map(|(job, &frames)| (frames, since(job, frames))).collect();
    }

    /// By job, the number of data frames that its ranks have received, without those that were discarded or wait for
    /// others.
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

    /// By job, the time until now in which none of its ranks has received a frame, at the resolution of a sample.
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

    /// Returns what a rank waits for; `None` if it has ended.
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

    /// Returns true if a message with this label (`None`: with any label), sent by a rank without a transport, has not
    /// arrived at another rank.
    fn is_undelivered(&self, job: u32, (from, to): (u32, u32), tag: Option<u32>) -> bool {
        let ends = self.path_of_ranks(job, (from, to)).and_then(|(_, path)| self.ends_of(path));
        let Some((Endpoint::FrameSender(near), Endpoint::FrameReceiver(far))) = ends else { return false };
        let mut missing = (0..).zip(near.labels()).filter(|&(number, _)| !far.has(number));
        missing.any(|(_, &label)| tag.is_none_or(|tag| tag == label))
    }

    /// Bytes of messages that are posted and not acknowledged, which bounds the bytes in queues. `None` unless only
    /// jobs send.
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

    /// By flow of a job, the number of frames of all its messages to each destination.
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

    /// What each rank that has not ended waits for, sorted by job and rank.
    pub(crate) fn rank_waits(&self) -> Vec<RankWait> {
        let ranks = self.ranks();
        ranks.iter().filter_map(|state| self.wait_of(&ranks, state)).collect()
    }

    /// Flow and path of the messages from one rank to another; `None` if there are none.
    fn path_of_ranks(&self, job: u32, (from, to): (u32, u32)) -> Option<(usize, usize)> {
        let (flow, peers) = self.spec.jobs[job as usize].flows[from as usize].as_ref()?;
        let nth = peers.binary_search(&to).ok()?;
        let flow = *flow as usize;
        Some((flow, self.source(flow).first_path as usize + nth))
    }

    /// Returns the reason why a message from one rank to another has not completed.
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
