//! Ends of paths: sources, endpoints of connections, and receivers.

use crate::run::state::completions::Completions;
use crate::run::state::endpoint_state::EndpointState;
use crate::run::state::index::{EndpointIx, GroupIx, LimiterIx, NodeIx, PortIx, ReceiverIx, SourceIx};
use crate::run::state::limiters::Limiter;
use crate::run::state::overtaking::Overtaking;
use crate::run::state::own::NodeLocal;
use crate::run::state::pool::Pool;
use crate::run::state::ranks::Ranks;
use crate::run::state::receive::Receiving;
use crate::run::state::releases::Releases;
use crate::run::state::route_table::RouteTable;
use crate::run::state::sources::SourceState;
use crate::run::state::stream_counts::StreamCounts;
use frame::{Frame, NodeId, PathId};
use measure::Latency;
use recurrence::Counts;
use std::sync::Arc;
use transport::Protocol;
use typed_index_collections::TiVec;
use units::Time;

/// All sources, endpoints and receivers.
#[derive(Debug, Default)]
pub(crate) struct Hosts {
    pub sources: NodeLocal<SourceIx, SourceState>,
    /// Near and far ends of connections.
    pub endpoints: NodeLocal<EndpointIx, EndpointState>,
    /// Endpoints of one host whose steps wait for each other.
    pub peers: TiVec<GroupIx, Vec<EndpointIx>>,
    /// By path, its near and far endpoint, if they are in this part. Empty without connections.
    pub endpoints_of_path: Vec<[Option<EndpointIx>; 2]>,
    /// By node, the earliest time of the next CNP of a NIC that limits the CNPs of all queue pairs together; empty
    /// until the first one.
    pub next_cnp: NodeLocal<NodeIx, Time>,
    /// By port, the priorities that flow control makes lossless there, bit n for priority n; empty without FCoE.
    pub lossless: NodeLocal<PortIx, u8>,
    /// Rate limiters of hosts.
    pub limiters: NodeLocal<LimiterIx, Limiter>,
    /// By path, the limiters in this part for frames from its near end and from its far end. Empty without limiters.
    pub limiters_of_path: Vec<[Option<LimiterIx>; 2]>,
    /// By path, the numbers of its flow in CN-TAGs, for its near end and its far end; empty without tags.
    pub flow_numbers: Arc<[[u16; 2]]>,
    /// Receivers, one for each path that ends here.
    pub receivers: TiVec<ReceiverIx, Receiver>,
    /// Order of frames of flows whose paths are not listed, if it can be lost.
    pub overtaking: Option<Box<Overtaking>>,
    /// Progress of the transfers that end here.
    pub completions: Completions,
    /// Transfers that wait for others.
    pub releases: Releases,
    /// Ranks of jobs.
    pub ranks: Ranks,
    /// Arrivals of streams that are counted.
    pub stream_counts: StreamCounts,
    /// By path, its receiver, if it ends here.
    pub receiver_of_path: Vec<Option<ReceiverIx>>,
    /// By port, the arrived frames that the host has not finished processing; empty if no host takes processing time.
    pub receiving: NodeLocal<PortIx, Option<Box<Receiving>>>,
}

/// Arrivals of one flow at one destination. Two cache lines, and one of the histogram.
#[derive(Clone, Debug, Default, Counts)]
#[repr(align(64))]
pub(crate) struct Receiver {
    pub bytes: u64,
    /// Latency of all frames.
    pub latency: Latency,
    /// Latest creation time of any frame that has arrived.
    #[counts(not)]
    pub last_created: Time,
    pub reordered: u64,
    /// Hash over the frames that are only counted at the end of a path found before the run; 0 if there are none.
    #[counts(not)]
    pub seen: u64,
    /// Number of frames in flight with an arrival event, on a path whose frames are otherwise counted ahead. Frames
    /// counted ahead must not overtake them.
    #[counts(not)]
    pub expected: u32,
}

impl Receiver {
    /// Counts a frame that has arrived.
    #[inline(always)]
    pub fn count(&mut self, frame: &Frame, now: Time) {
        self.bytes += u64::from(frame.bytes);
        self.latency.record(now - frame.created);
        // RFC 4737 section 3.3: a frame is reordered if one that was sent later has arrived before it.
        self.reordered += u64::from(frame.created < self.last_created);
        self.last_created = self.last_created.max(frame.created);
    }

    /// Number of frames that have arrived.
    pub fn frames(&self) -> u64 {
        self.latency.count()
    }

    /// Adds an arriving frame to the hash.
    #[inline(always)]
    pub fn note(&mut self, frame: &Frame, now: Time) {
        let words = u64::from(frame.bytes) << 32 | frame.flags.digest() << 8 | u64::from(frame.priority().0);
        let digest = now.ps().wrapping_mul(0x9e37_79b9_7f4a_7c15) ^ words;
        self.seen = (self.seen.rotate_left(5) ^ digest).wrapping_mul(0xff51_afd7_ed55_8ccd);
    }

    /// Resets the counters.
    pub fn clear(&mut self) {
        self.latency.clear();
        (self.bytes, self.reordered) = (0, 0);
    }
}

impl Hosts {
    /// The rate limiters of a host, given by its number in the whole fabric.
    pub fn limiters_of(&self, host: NodeId) -> Vec<LimiterIx> {
        self.limiters.indices().filter(|&nth| self.limiters[nth].host == host).collect()
    }
    /// The sources whose first path begins at a port, given by its number in the whole fabric.
    pub fn sources_through(&self, port: u32, routes: &RouteTable) -> Vec<SourceIx> {
        let begins = |path: u32| routes.path(routes.path_start[path as usize]).first() == Some(&port);
        self.sources.indices().filter(|&nth| begins(self.sources[nth].first_path)).collect()
    }
    /// The endpoints, at either end of a path, that send through a port, with their numbers in the whole fabric.
    /// `beside`: all ports of its host.
    pub fn endpoints_through(
        &self,
        (port, number): (PortIx, u32),
        beside: &[PortIx],
        routes: &RouteTable,
    ) -> Vec<EndpointIx> {
        let begins = |path: u32| routes.path(routes.path_start[path as usize]).first() == Some(&number);
        let leaves = |state: &EndpointState| match state.behind {
            None => begins(state.path),
            Some(behind) => routes.step_back(behind.get()).is_some_and(|(egress, _)| egress == port),
        };
        let sends = |state: &EndpointState| {
            if state.stripes { takes_one_of(state, beside, routes) } else { leaves(state) }
        };
        self.endpoints.indices().filter(|&nth| sends(&self.endpoints[nth])).collect()
    }
    /// The endpoints of a host with these ports whose frames may leave through any of them.
    pub fn striping_through(&self, ports: &[PortIx], routes: &RouteTable) -> Vec<EndpointIx> {
        let sends = |state: &EndpointState| state.stripes && takes_one_of(state, ports, routes);
        self.endpoints.indices().filter(|&nth| sends(&self.endpoints[nth])).collect()
    }

    /// Returns the counters of the frames of a path that ends here.
    #[inline(always)]
    pub fn receiver(&mut self, path: PathId) -> &mut Receiver {
        let receiver = self.receiver_of(path);
        &mut self.receivers[receiver]
    }
    /// Returns the index of the receiver of a path that ends here.
    #[inline(always)]
    pub fn receiver_of(&self, path: PathId) -> ReceiverIx {
        self.receiver_of_path[path.at()].expect("a path that ends in this part has a receiver")
    }

    /// Number of frames that hosts process or have queued, or that wait in rate limiters.
    pub fn frames_waiting(&self) -> u64 {
        let receiving = self.receiving.each().iter().flatten().map(|receiving| receiving.frames());
        receiving.sum::<u64>() + self.frames_limited()
    }

    /// Number of waiting frames that are stored in the pool: all except those being processed.
    pub fn frames_in_pool(&self) -> u64 {
        let receiving = self.receiving.each().iter().flatten().map(|receiving| receiving.frames_in_pool());
        receiving.sum::<u64>() + self.frames_limited()
    }

    /// Number of frames being processed, which are not in the pool.
    pub fn frames_at_work(&self) -> u64 {
        let receiving = self.receiving.each().iter().flatten();
        receiving.map(|receiving| receiving.frames() - receiving.frames_in_pool()).sum()
    }

    fn frames_limited(&self) -> u64 {
        self.limiters.each().iter().map(|limiter| limiter.occupancy.frames).sum()
    }

    /// Combines the hashes of all receivers, independently of the part that they are in.
    pub fn seen(&self) -> u64 {
        let receivers =
            (0u64..).zip(&self.receiver_of_path).filter_map(|(path, receiver)| Some((path, (*receiver)?)));
        let seen = receivers.map(|(path, receiver)| (path, self.receivers[receiver].seen));
        let mixed = seen.filter(|&(_, seen)| seen != 0).map(|(path, seen)| {
            (seen ^ path.wrapping_mul(0x9e37_79b9_7f4a_7c15)).wrapping_mul(0x9fb2_1c65_1e98_df25)
        });
        mixed.fold(0, |sum: u64, one| sum.wrapping_add(one ^ one >> 29))
    }

    /// Restarts measurement: counts are reset, levels are kept.
    pub fn restart(&mut self, pool: &Pool, now: Time) {
        for limiter in self.limiters.each_mut() {
            limiter.restart(pool, now);
        }
        self.receivers.iter_mut().for_each(Receiver::clear);
        self.stream_counts.clear();
        self.overtaking.iter_mut().for_each(|own| own.clear());
        for source in self.sources.each_mut() {
            (source.frames, source.bytes) = (0, 0);
        }
        for state in self.endpoints.each_mut() {
            state.measured.clear();
            state.measured.undelivered_before = state.endpoint.facts(now).undelivered;
        }
    }

    /// Checks invariants between events: a greedy source has no more frames in its NIC than its limit, and each
    /// receiver has its path.
    pub fn check(&self) {
        assert!(
            self.sources.each().iter().all(|source| source.in_nic <= source.keeps),
            "a source keeps more in its NIC than it may: this is a bug in the simulator"
        );
        assert!(
            self.receiver_of_path.iter().flatten().count() == self.receivers.len(),
            "a receiver belongs to no path: this is a bug in the simulator"
        );
    }

    /// Releases the spare capacity of the tables.
    pub fn shrink(&mut self) {
        self.sources.each_mut().shrink_to_fit();
        self.endpoints.each_mut().shrink_to_fit();
        self.receivers.shrink_to_fit();
    }

    /// Bytes of the tables and histograms.
    pub fn memory_bytes(&self) -> usize {
        self.sources.memory_bytes()
            + self.endpoints.memory_bytes()
            + self.endpoints.each().iter().map(|state| state.endpoint.memory_bytes()).sum::<usize>()
            + self.peers.iter().map(|all| size_of_val(all) + size_of_val(&**all)).sum::<usize>()
            + self.endpoints_of_path.capacity() * size_of::<[Option<EndpointIx>; 2]>()
            + self.limiters.each().iter().map(Limiter::memory_bytes).sum::<usize>()
            + self.limiters_of_path.capacity() * size_of::<[Option<LimiterIx>; 2]>()
            + self.receiver_of_path.capacity() * size_of::<Option<ReceiverIx>>()
            + self.completions.memory_bytes()
            + self.releases.memory_bytes()
            + self.ranks.memory_bytes()
            + self.stream_counts.memory_bytes()
            + self.overtaking.as_ref().map_or(0, |own| size_of::<Overtaking>() + own.memory_bytes())
            + self.receivers.capacity() * size_of::<Receiver>()
            + self.receivers.iter().map(|receiver| receiver.latency.memory_bytes()).sum::<usize>()
            + self
                .receiving
                .each()
                .iter()
                .flatten()
                .map(|it| size_of::<Receiving>() + it.memory_bytes())
                .sum::<usize>()
            + self.receiving.memory_bytes()
    }
}

/// Returns true if the planned path of an endpoint leaves through one of these ports.
fn takes_one_of(state: &EndpointState, ports: &[PortIx], routes: &RouteTable) -> bool {
    let planned = match state.behind {
        None => Some(routes.first_port(state.path)),
        Some(behind) => routes.step_back(behind.get()).map(|(egress, _)| egress),
    };
    planned.is_some_and(|egress| ports.contains(&egress))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_receiver_is_two_cache_lines() {
        assert_eq!(size_of::<Receiver>(), 128);
    }
}
