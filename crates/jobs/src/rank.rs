//! A rank at work: the state machine that interprets a workload beside the connections of its host.
//!
//! A rank has one processor. Computation, and the host cost of each message (`overhead`, `overhead_per_byte`: o and O of LogGOPS), occupy
//! it one after the other in the order of their requests, at the sender before a message is posted, at the receiver after it has been
//! delivered. An iteration of a rank is over when its lanes have ended and all that it sent is acknowledged; the next one begins then,
//! without regard to other ranks.
//!
//! Source: Hoefler, Schneider and Lumsdaine, LogGOPSim (2010), for o and O.
//!
//! Not modelled: several processors; a computation that is interrupted.

use crate::keys::JobCosts;
use crate::schedule::{Action, Schedule};
use std::cmp::Reverse;
use std::collections::{BTreeMap, BinaryHeap, VecDeque};
use std::sync::Arc;
use units::Time;

use crate::workload::Workload;

/// A message to be posted.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Post {
    /// Rank that receives it.
    pub to: u32,
    /// Its bytes.
    pub bytes: u64,
    /// Label by which the receiver matches it.
    pub tag: u32,
}

/// What a rank counts of its messages to one peer.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct PeerCounts {
    /// Messages that are acknowledged.
    pub messages: u64,
    /// Their bytes.
    pub bytes: u64,
    /// Sum and maximum of the times from posting to acknowledgement.
    pub time: Time,
    /// See `time`.
    pub time_max: Time,
}

/// Totals of a rank.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct RankCounts {
    /// Messages posted.
    pub sent: u64,
    /// Their bytes.
    pub bytes_sent: u64,
    /// Messages received and matched.
    pub received: u64,
    /// Their bytes.
    pub bytes_received: u64,
    /// Time of the processor spent on computation.
    pub computed: Time,
    /// Time of the processor spent on messages.
    pub overhead: Time,
}

/// One iteration of a rank.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct IterationTimes {
    /// When it began.
    pub began: Time,
    /// When its computation ended and its first message could leave.
    pub computed: Time,
    /// When it ended; [`Time::NEVER`]: it has not.
    pub ended: Time,
}

/// A lane that waits for a message.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Blocked {
    /// The lane.
    pub lane: u32,
    /// Rank that would send it.
    pub from: u32,
    /// Its label.
    pub tag: u32,
    /// Its bytes.
    pub bytes: u64,
    /// Since when.
    pub since: Time,
}

/// A message that is posted and not acknowledged.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Unsent {
    /// Its label.
    pub tag: u32,
    /// Its bytes.
    pub bytes: u64,
    /// When it was posted.
    pub posted: Time,
}

/// What a lane does when the processor is done with it.
#[derive(Clone, Copy, Debug)]
enum Then {
    Post(Post),
    Go,
}

/// Messages in flight to one peer, and counts.
#[derive(Clone, Debug, Default)]
struct Peer {
    unsent: VecDeque<Unsent>,
    counts: PeerCounts,
}

/// A rank at work.
#[derive(Clone, Debug)]
pub struct Rank {
    workload: Arc<Workload>,
    rank: u32,
    costs: JobCosts,
    start: Time,
    iterations: u32,
    /// By lane, the number of its next action.
    at: Box<[u32]>,
    /// Lanes of this iteration that have not ended.
    left: u32,
    /// The computation before the lanes is not over.
    computing: bool,
    /// The processor is occupied until then.
    busy_until: Time,
    /// Lanes that the processor works for: when it is done, order of requests, what follows.
    working: BinaryHeap<Reverse<(Time, u64, u32)>>,
    then: BTreeMap<u64, Then>,
    requests: u64,
    /// Lanes that wait for a message: by sender, label and order of waiting.
    blocked: BTreeMap<(u32, u32), VecDeque<Blocked>>,
    /// Messages that were delivered before their lane asked: by sender and label.
    arrived: BTreeMap<(u32, u32), u32>,
    posts: VecDeque<Post>,
    peers: BTreeMap<u32, Peer>,
    unsent: u64,
    times: Vec<IterationTimes>,
    counts: RankCounts,
}

/// In place of a lane: the computation at the beginning of an iteration.
const COMPUTATION: u32 = u32::MAX;

impl Rank {
    /// Rank number `rank` of a job that begins at `start` and repeats its workload `iterations` times.
    pub fn new(workload: &Arc<Workload>, rank: u32, costs: JobCosts, start: Time, iterations: u32) -> Rank {
        Rank {
            workload: workload.clone(),
            rank,
            costs,
            start,
            iterations,
            at: vec![0; workload.lanes() as usize].into(),
            left: 0,
            computing: false,
            busy_until: Time::ZERO,
            working: BinaryHeap::new(),
            then: BTreeMap::new(),
            requests: 0,
            blocked: BTreeMap::new(),
            arrived: BTreeMap::new(),
            posts: VecDeque::new(),
            peers: BTreeMap::new(),
            unsent: 0,
            times: Vec::new(),
            counts: RankCounts::default(),
        }
    }

    /// When to call [`Rank::on_time`]; [`Time::NEVER`]: not before a notice.
    pub fn calls_at(&self) -> Time {
        if self.times.is_empty() {
            return if self.iterations > 0 { self.start } else { Time::NEVER };
        }
        self.working.peek().map_or(Time::NEVER, |Reverse((at, ..))| *at)
    }

    /// The time of [`Rank::calls_at`] has come. Harmless at any other time.
    pub fn on_time(&mut self, now: Time) {
        if self.times.is_empty() && self.start <= now && self.iterations > 0 {
            self.begin(now);
        }
        while let Some(&Reverse((at, request, lane))) = self.working.peek() {
            if at > now {
                break;
            }
            self.working.pop();
            let then = self.then.remove(&request);
            if lane == COMPUTATION {
                self.begin_lanes(now);
                continue;
            }
            if let Some(Then::Post(post)) = then {
                self.post(post, now);
            }
            self.go(lane, now);
        }
        self.end_if_done(now);
    }

    /// A message to a peer has been acknowledged.
    pub fn on_sent(&mut self, peer: u32, tag: u32, now: Time) {
        let Some(peer) = self.peers.get_mut(&peer) else { return };
        let Some(place) = peer.unsent.iter().position(|one| one.tag == tag) else { return };
        let Some(Unsent { bytes, posted, .. }) = peer.unsent.remove(place) else { return };
        let took = now.saturating_sub(posted);
        let counts = &mut peer.counts;
        counts.messages += 1;
        counts.bytes += bytes;
        counts.time = counts.time.saturating_add(took);
        counts.time_max = counts.time_max.max(took);
        self.unsent -= 1;
        self.end_if_done(now);
    }

    /// A message of a peer has been delivered.
    pub fn on_delivered(&mut self, peer: u32, tag: u32, now: Time) {
        let key = (peer, tag);
        let waiting = self.blocked.get_mut(&key).and_then(VecDeque::pop_front);
        if self.blocked.get(&key).is_some_and(VecDeque::is_empty) {
            self.blocked.remove(&key);
        }
        match waiting {
            Some(Blocked { lane, bytes, .. }) => {
                if self.take(lane, bytes, now) {
                    self.go(lane, now);
                }
                self.end_if_done(now);
            }
            None => *self.arrived.entry(key).or_default() += 1,
        }
    }

    /// The next message to be posted.
    pub fn poll_post(&mut self) -> Option<Post> {
        self.posts.pop_front()
    }

    /// Whether all iterations are over.
    pub fn is_done(&self) -> bool {
        self.finished() == self.iterations as usize
    }
    /// Iterations that are over.
    pub fn finished(&self) -> usize {
        self.times.len() - usize::from(self.times.last().is_some_and(|last| last.ended == Time::NEVER))
    }
    /// Its iterations that have begun.
    pub fn times(&self) -> &[IterationTimes] {
        &self.times
    }
    /// Its totals.
    pub fn counts(&self) -> RankCounts {
        self.counts
    }
    /// By peer that it has sent to, ascending, what it counts.
    pub fn peers(&self) -> impl Iterator<Item = (u32, PeerCounts)> + '_ {
        self.peers.iter().map(|(&peer, own)| (peer, own.counts))
    }
    /// Lanes that wait for a message.
    pub fn blocked(&self) -> impl Iterator<Item = Blocked> + '_ {
        self.blocked.values().flatten().copied()
    }
    /// Messages to a peer that are not acknowledged, the oldest first.
    pub fn unsent(&self, peer: u32) -> impl Iterator<Item = Unsent> + '_ {
        self.peers.get(&peer).into_iter().flat_map(|own| own.unsent.iter().copied())
    }
    /// Peers with messages that are not acknowledged.
    pub fn unsent_peers(&self) -> impl Iterator<Item = u32> + '_ {
        self.peers.iter().filter(|(_, own)| !own.unsent.is_empty()).map(|(&peer, _)| peer)
    }
    /// Whether its processor works, and until when.
    pub fn works_until(&self) -> Option<Time> {
        self.working.iter().map(|Reverse((at, ..))| *at).max()
    }
    /// Memory beside itself, in bytes.
    pub fn memory_bytes(&self) -> usize {
        let peers = self.peers.values().map(|own| own.unsent.capacity() * size_of::<Unsent>());
        self.at.len() * size_of::<u32>()
            + peers.sum::<usize>()
            + self.peers.len() * size_of::<(u32, Peer)>()
            + self.blocked.len() * size_of::<((u32, u32), VecDeque<Blocked>)>()
            + self.arrived.len() * size_of::<((u32, u32), u32)>()
            + self.posts.capacity() * size_of::<Post>()
            + self.times.capacity() * size_of::<IterationTimes>()
    }

    fn begin(&mut self, now: Time) {
        self.times.push(IterationTimes { began: now, computed: now, ended: Time::NEVER });
        self.at.fill(0);
        self.left = self.at.len() as u32;
        if self.costs.compute == Time::ZERO {
            return self.begin_lanes(now);
        }
        self.computing = true;
        self.counts.computed = self.counts.computed.saturating_add(self.costs.compute);
        self.work(COMPUTATION, self.costs.compute, Then::Go, now);
    }

    fn begin_lanes(&mut self, now: Time) {
        self.computing = false;
        if let Some(last) = self.times.last_mut() {
            last.computed = now;
        }
        for lane in 0..self.at.len() as u32 {
            self.go(lane, now);
        }
    }

    /// Runs a lane until it waits or ends.
    fn go(&mut self, lane: u32, now: Time) {
        loop {
            let Some(action) = self.workload.action(self.rank, lane, self.at[lane as usize]) else {
                self.left -= 1;
                return;
            };
            self.at[lane as usize] += 1;
            let goes_on = match action {
                Action::Send { to, bytes, tag } => self.send(lane, Post { to, bytes, tag }, now),
                Action::Receive { from, bytes, tag } => self.receive(lane, (from, tag), bytes, now),
                Action::Compute { time } => {
                    self.counts.computed = self.counts.computed.saturating_add(time);
                    self.work(lane, time, Then::Go, now)
                }
            };
            if !goes_on {
                return;
            }
        }
    }

    fn send(&mut self, lane: u32, post: Post, now: Time) -> bool {
        let cost = self.costs.of_message(post.bytes);
        if cost == Time::ZERO {
            self.post(post, now);
            return true;
        }
        self.counts.overhead = self.counts.overhead.saturating_add(cost);
        self.work(lane, cost, Then::Post(post), now)
    }

    fn receive(&mut self, lane: u32, (from, tag): (u32, u32), bytes: u64, now: Time) -> bool {
        if let Some(count) = self.arrived.get_mut(&(from, tag)) {
            *count -= 1;
            if *count == 0 {
                self.arrived.remove(&(from, tag));
            }
            return self.take(lane, bytes, now);
        }
        let blocked = Blocked { lane, from, tag, bytes, since: now };
        self.blocked.entry((from, tag)).or_default().push_back(blocked);
        false
    }

    /// A message is matched. Returns true if the lane goes on at once.
    fn take(&mut self, lane: u32, bytes: u64, now: Time) -> bool {
        self.counts.received += 1;
        self.counts.bytes_received += bytes;
        let cost = self.costs.of_message(bytes);
        self.counts.overhead = self.counts.overhead.saturating_add(cost);
        cost == Time::ZERO || self.work(lane, cost, Then::Go, now)
    }

    /// Occupies the processor. Returns false: the lane waits.
    fn work(&mut self, lane: u32, time: Time, then: Then, now: Time) -> bool {
        self.busy_until = self.busy_until.max(now).saturating_add(time);
        self.working.push(Reverse((self.busy_until, self.requests, lane)));
        self.then.insert(self.requests, then);
        self.requests += 1;
        false
    }

    fn post(&mut self, post: Post, now: Time) {
        self.counts.sent += 1;
        self.counts.bytes_sent += post.bytes;
        self.unsent += 1;
        let unsent = Unsent { tag: post.tag, bytes: post.bytes, posted: now };
        self.peers.entry(post.to).or_default().unsent.push_back(unsent);
        self.posts.push_back(post);
    }

    fn end_if_done(&mut self, now: Time) {
        while self.left == 0 && self.unsent == 0 && !self.computing {
            let Some(last) = self.times.last_mut().filter(|last| last.ended == Time::NEVER) else { return };
            last.ended = now;
            if self.is_done() {
                return;
            }
            self.begin(now);
        }
    }
}
