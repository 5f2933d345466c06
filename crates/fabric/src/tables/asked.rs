//! What flows ask for and the ways they take: what an allocation of rates is computed from.

use super::View;
use crate::spec::Role;
use frame::{NodeId, PortId};
use measure::Table;
use units::{Amount, BitRate};

/// Beyond this many paths the table would be larger than all the rest of a result.
const MOST_PATHS: usize = 100_000;

impl View<'_> {
    /// The rate and the overhead of the link that a flow begins at, as they are at the start.
    fn first_link(&self, flow: usize) -> (BitRate, u16) {
        let path = self.s.fabric().sources[flow].first_path as usize;
        let Some(&port) = self.s.way_of(path).next() else { return (BitRate::from_bps(0), 0) };
        let link = &self.s.spec.links[self.s.wiring.link_of[port as usize] as usize];
        (link.rate, link.overhead)
    }

    pub fn demands(&self) -> Table {
        let flows = &self.s.spec.flows;
        let rows: Vec<(usize, units::Time, f64)> = (0..flows.len())
            .flat_map(|flow| {
                let (line, overhead) = self.first_link(flow);
                let asked = flows[flow].source.demand(line, overhead);
                asked.into_iter().map(move |(at, bps)| (flow, at, bps))
            })
            .filter(|&(_, at, _)| at <= self.end)
            .collect();
        let limit = |flow: usize| flows[flow].source.limit.map_or(f64::INFINITY, |limit| limit.get() as f64);
        let mean = |flow: usize| flows[flow].source.sizes.mean_bytes();
        let room = |flow: usize| {
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
        Table::new("demands", "One row a change of what a flow asks for, whatever it gets.")
            .texts("flow", "Name of the flow.", rows.iter().map(|row| flows[row.0].name.clone()))
            .reals("time_ns", "ns", "When the change comes.", rows.iter().map(|row| row.1.as_ns_f64()))
            .reals("rate_bps", "b/s", "Bits of frames (DA to FCS) that it asks for a second from then on, on average; infinite if it takes all that the link gives.", rows.iter().map(|row| row.2))
            .reals("limit_bytes", "B", "Most that the flow sends in all; infinite without limit.", rows.iter().map(|row| limit(row.0)))
            .reals("room_bytes", "B", "What may wait in the network card of its host: what the flow asks for and is not given is kept up to this. Infinite without limit.", rows.iter().map(|row| room(row.0)))
            .reals("frame_bytes_mean", "B", "Mean length of its frames, DA to FCS.", rows.iter().map(|row| mean(row.0)))
    }

    pub fn paths(&self) -> Table {
        let flows = &self.s.spec.flows;
        let mut rows: Vec<(usize, usize, NodeId, f64)> = Vec::new();
        if self.s.path_flow.len() <= MOST_PATHS {
            let mut path = 0;
            for (index, flow) in flows.iter().enumerate() {
                let destinations = &flow.source.destinations;
                for (node, share) in destinations.nodes().into_iter().zip(destinations.shares()) {
                    rows.push((path, index, node, share));
                    path += 1;
                }
            }
        }
        let received = |path: usize| &self.s.fabric().receivers[path];
        let way = |path: usize| {
            let ports: Vec<String> = self.s.way_of(path).map(|&port| self.s.port_name(port)).collect();
            ports.join(" ")
        };
        Table::new("paths", "One row a flow and destination; empty if there are more than 100,000.")
            .texts("flow", "Name of the flow.", rows.iter().map(|row| flows[row.1].name.clone()))
            .texts("destination", "Receiving host.", rows.iter().map(|row| self.node_name(row.2)))
            .reals("share", "", "Share of the frames of the flow that are meant for this destination.", rows.iter().map(|row| row.3))
            .texts("ports", "The egress ports on the way, in order, with a space between; if routes change, those at the end.", rows.iter().map(|row| way(row.0)))
            .integers("frames_delivered", "", "Frames delivered.", rows.iter().map(|row| received(row.0).frames))
            .integers("bytes_delivered", "B", "Bytes delivered.", rows.iter().map(|row| received(row.0).bytes))
    }

    /// Bytes around each frame on the link of a port.
    pub fn overhead(&self, port: usize) -> u64 {
        let link = self.s.wiring.link_of[PortId(port as u32).at()];
        self.s.spec.links[link as usize].overhead.into()
    }
}
