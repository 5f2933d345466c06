//! Demands and routes of flows: the input for an allocation of rates.

use super::View;
use crate::run::state::hosts::Receiver;
use crate::run::state::port::HEAD_BYTES;
use crate::spec::{Role, Way};
use frame::{NodeId, PortId};
use measure::table::{integer, real, text};
use measure::{Latency, LatencySummary, TableBuilder, TableSpec};
use transport::{ConnectionSpec, Train, Turn};
use units::{Amount, BitRate, Time};

/// Columns of `demands`.
pub(super) static DEMANDS: TableSpec = TableSpec {
    name: "demands",
    about: "One row per change of the demand of a flow, independent of its throughput.",
    columns: &[&[
        text("flow", "Name of the flow."),
        real("time_ns", "ns", "Time of the change."),
        real(
            "rate_bps",
            "b/s",
            "Mean demand from then on, in bits of frames (DA to FCS); infinite for a greedy source. For a connection, the maximum that its window or outstanding requests allow at the round-trip time of an empty fabric, or its pacing rate, limited by its links.",
        ),
        real("limit_bytes", "B", "Maximum that the flow sends in total; infinite without limit."),
        real(
            "room_bytes",
            "B",
            "Maximum backlog in the NIC of its host: unmet demand up to this size is sent later. Infinite without limit; 0 for a connection, which has no demand until it receives a response, except for transfers over TCP.",
        ),
        real("frame_bytes_mean", "B", "Mean length of its frames, DA to FCS."),
        integer(
            "turn_frames",
            "",
            "Frames per turn of a connection: one segment, one request, or the messages of its initiator in one exchange. 0 for a source without responses.",
        ),
        real(
            "back_share",
            "",
            "Bytes of frames in the reverse direction per byte delivered: acknowledgements or responses. 0 for a source without responses.",
        ),
        real(
            "back_frame_bytes_mean",
            "B",
            "Mean length of frames in the reverse direction, DA to FCS; 0 if there are none.",
        ),
    ]],
};

/// Columns of `paths`.
pub(super) static PATHS: TableSpec = TableSpec {
    name: "paths",
    about: "One row per flow and destination; empty if there are more than 100,000, or if paths are not listed (a flow with more than 1,000,000 pairs of sender and destination). `Result.path` in Python finds the path of any pair.",
    columns: &[&[
        text("flow", "Name of the flow."),
        text("destination", "Receiving host."),
        real(
            "share",
            "",
            "Share of the frames of the flow that are addressed to this destination; 1 for each destination of a multicast flow.",
        ),
        text(
            "ports",
            "Egress ports of the planned path, in order, separated by spaces; if routes change, those at the end. If switches choose a path for each frame (`path_choice` other than hash), frames take other paths as well: the table `ports` has the traffic of each port.",
        ),
        text(
            "ports_back",
            "Egress ports of the path back to the sender of a connection, in order; empty for a source without responses. If switches choose paths, the planned path.",
        ),
        integer("frames_delivered", "", "Frames delivered."),
        integer("bytes_delivered", "B", "Bytes delivered."),
        real("latency_min_ns", "ns", "Shortest latency of the frames delivered."),
        real("latency_mean_ns", "ns", "Mean latency of the frames delivered."),
        real("latency_max_ns", "ns", "Longest latency of the frames delivered."),
    ]],
};

/// Maximum number of paths in the table; with more, the table would be larger than the rest of a result.
const MOST_PATHS: usize = 100_000;

impl View<'_> {
    /// Initial rate, and overhead, of the first link of a flow.
    fn first_link(&self, flow: usize) -> (BitRate, u16) {
        let path = self.s.source(flow).first_path as usize;
        let Some(&port) = self.s.path_of(path).first() else { return (BitRate::from_bps(0), 0) };
        (self.s.initial_rate(port), self.s.link_spec(port).overhead)
    }

    /// Minimum time for a frame through these ports without other traffic, in seconds.
    fn passage_secs(&self, ports: &[u32], bytes: u16) -> f64 {
        let over = |&port: &u32| {
            let cuts_through = self.s.spec.nodes[self.peer_node(port)].cuts_through();
            let counted = if cuts_through { bytes.min(HEAD_BYTES) } else { bytes };
            self.wire_secs(port, counted) + self.s.port(port).timing.arrives_after().as_secs_f64()
        };
        ports.iter().map(over).sum()
    }

    fn wire_secs(&self, port: u32, bytes: u16) -> f64 {
        let overhead = u64::from(self.s.link_spec(port).overhead);
        (u64::from(bytes) + overhead) as f64 * 8.0 / self.s.initial_rate(port).bps() as f64
    }

    fn peer_node(&self, port: u32) -> usize {
        self.s.wiring.neighbour(PortId(port)).at()
    }

    /// Minimum time for a train of frames through these ports, in seconds: the last frame follows the others over the
    /// slowest link.
    fn train_secs(&self, ports: &[u32], train: Train) -> f64 {
        let slowest = ports.iter().map(|&port| self.wire_secs(port, train.full)).fold(0.0, f64::max);
        self.passage_secs(ports, train.last) + f64::from(train.frames - 1) * slowest
    }

    /// The ports of a path, and of the return path.
    pub(super) fn there_and_back(&self, path: usize) -> (Vec<u32>, Vec<u32>) {
        let there: Vec<u32> = self.s.path_of(path).to_vec();
        let back = there.iter().rev().map(|&port| self.s.peer(port)).collect();
        (there, back)
    }

    /// Maximum rate of a connection without other traffic, in bit/s.
    fn most_bps(&self, flow: usize, connection: &ConnectionSpec) -> f64 {
        let (there, back) = self.there_and_back(self.s.source(flow).first_path as usize);
        let Turn { out, back: answer, answers } = connection.turn();
        let most = connection.most_bps(self.train_secs(&there, out) + self.train_secs(&back, answer));
        if most.is_infinite() {
            return most;
        }
        // No link carries more of the connection's frames, or of the frames returned for them.
        let carried = |ports: &[u32], train: Train| {
            let slowest = ports.iter().map(|&port| self.wire_secs(port, train.full)).fold(0.0, f64::max);
            f64::from(train.full) * 8.0 / slowest
        };
        let answered = carried(&back, answer) * (out.bytes as f64 * answers) / answer.bytes as f64;
        most.min(carried(&there, out)).min(answered)
    }

    pub fn demands(&self) -> TableBuilder {
        let flows = &self.s.spec.flows;
        let connection = |flow: usize| flows[flow].transport.as_deref();
        let turn = |flow: usize| connection(flow).map(ConnectionSpec::turn);
        let rows: Vec<(usize, Time, f64)> = (0..flows.len())
            .flat_map(|flow| {
                let (line, overhead) = self.first_link(flow);
                let demand = flows[flow].source.demand(line, overhead);
                // Demands of transfers are in the transfer list.
                let without_transfers = connection(flow).filter(|_| flows[flow].source.transfers().is_none());
                let most = without_transfers.map(|connection| self.most_bps(flow, connection));
                demand.into_iter().map(move |(at, bps)| {
                    let bps = most.filter(|_| bps > 0.0).unwrap_or(bps);
                    (flow, at, bps)
                })
            })
            .filter(|&(_, at, _)| at <= self.start + self.measured)
            .collect();
        let limit = |flow: usize| match flows[flow].source.transfers() {
            Some(list) => list.frame_bytes() as f64,
            None => flows[flow].source.limit.map_or(f64::INFINITY, |limit| limit.get() as f64),
        };
        let mean = |flow: usize| match turn(flow) {
            Some(turn) => turn.out.mean_bytes(),
            None => flows[flow].source.sizes.mean_bytes(),
        };
        let back = |flow: usize| {
            let answered = |turn: Turn| turn.out.bytes as f64 * turn.answers;
            turn(flow).map_or(0.0, |turn| turn.back.bytes as f64 / answered(turn))
        };
        let back_mean = |flow: usize| turn(flow).map_or(0.0, |turn| turn.back.mean_bytes());
        let turn_frames = |flow: usize| turn(flow).map_or(0, |turn| turn.out.frames.into());
        let room = |flow: usize| {
            if connection(flow).is_some() {
                return if flows[flow].source.transfers().is_some() { f64::INFINITY } else { 0.0 };
            }
            let limit = match &self.s.spec.nodes[flows[flow].from.at()].role {
                Role::Host(host) => host.queue_limit,
                Role::Switch(_) => None,
            };
            match limit {
                Some(Amount::Bytes(bytes)) => bytes as f64,
                Some(Amount::Frames(frames)) => frames as f64 * mean(flow),
                None => f64::INFINITY,
            }
        };
        DEMANDS
            .builder()
            .texts("flow", rows.iter().map(|row| flows[row.0].name.clone()))
            .reals("time_ns", rows.iter().map(|row| row.1.as_ns_f64()))
            .reals("rate_bps", rows.iter().map(|row| row.2))
            .reals("limit_bytes", rows.iter().map(|row| limit(row.0)))
            .reals("room_bytes", rows.iter().map(|row| room(row.0)))
            .reals("frame_bytes_mean", rows.iter().map(|row| mean(row.0)))
            .integers("turn_frames", rows.iter().map(|row| turn_frames(row.0)))
            .reals("back_share", rows.iter().map(|row| back(row.0)))
            .reals("back_frame_bytes_mean", rows.iter().map(|row| back_mean(row.0)))
    }

    pub fn paths(&self) -> TableBuilder {
        let flows = &self.s.spec.flows;
        let mut rows: Vec<(usize, usize, NodeId, f64)> = Vec::new();
        let destinations = flows.iter().map(|flow| flow.source.destinations.count()).sum::<usize>();
        if destinations <= MOST_PATHS && flows.iter().all(|flow| flow.way != Way::ByDestination) {
            let mut path = 0;
            for (index, flow) in flows.iter().enumerate() {
                let destinations = &flow.source.destinations;
                for (node, share) in destinations.nodes().into_iter().zip(flow.source.shares()) {
                    rows.push((path, index, node, share));
                    path += 1;
                }
            }
        }
        let received =
            |path: usize, value: fn(&Receiver) -> u64| self.s.receivers(path).map(value).sum::<u64>();
        let named = |ports: Vec<u32>| {
            let names: Vec<String> = ports.into_iter().map(|port| self.s.port_name(port)).collect();
            names.join(" ")
        };
        let latencies: Vec<LatencySummary> = rows.iter().map(|row| self.latency_to(row.0)).collect();
        let latency = |value: fn(&LatencySummary) -> f64| latencies.iter().map(value).collect::<Vec<f64>>();
        let back = |path: usize, flow: usize| match &flows[flow].transport {
            Some(connection) if !connection.is_frames() => named(self.there_and_back(path).1),
            _ => String::new(),
        };
        PATHS
            .builder()
            .texts("flow", rows.iter().map(|row| flows[row.1].name.clone()))
            .texts("destination", rows.iter().map(|row| self.node_name(row.2)))
            .reals("share", rows.iter().map(|row| row.3))
            .texts("ports", rows.iter().map(|row| named(self.there_and_back(row.0).0)))
            .texts("ports_back", rows.iter().map(|row| back(row.0, row.1)))
            .integers("frames_delivered", rows.iter().map(|row| received(row.0, Receiver::frames)))
            .integers("bytes_delivered", rows.iter().map(|row| received(row.0, |own| own.bytes)))
            .reals("latency_min_ns", latency(|own| own.min))
            .reals("latency_mean_ns", latency(|own| own.mean))
            .reals("latency_max_ns", latency(|own| own.max))
    }

    /// Latency of the frames of a path.
    fn latency_to(&self, path: usize) -> LatencySummary {
        let mut all = Latency::default();
        self.s.receivers(path).for_each(|own| all.merge(&own.latency));
        all.summary()
    }

    /// Overhead bytes per frame on the link of a port.
    pub fn overhead(&self, port: usize) -> u64 {
        let link = self.s.wiring.link_of[PortId(port as u32).at()];
        self.s.spec.links[link as usize].overhead.into()
    }
}
