//! Access to the whole fabric, regardless of its parts, for results.
//!
//! Nodes, ports, queues, paths and flows are numbered in the whole fabric here.

use crate::run::fabric::Fabric;
use crate::run::state::buffers::Queue;
use crate::run::state::crossbar::Input;
use crate::run::state::culprits::RootPlace;
use crate::run::state::endpoint_state::EndpointState;
use crate::run::state::hosts::Receiver;
use crate::run::state::index::{NodeIx, PortIx};
use crate::run::state::ingress::IngressPort;
use crate::run::state::ledger::Ledger;
use crate::run::state::limiters::Limiter;
use crate::run::state::managed::Managed;
use crate::run::state::nic::Nic;
use crate::run::state::node::Node;
use crate::run::state::overtaking::can_overtake;
use crate::run::state::pause_sender::PauseSender;
use crate::run::state::pool::Waiting;
use crate::run::state::port::{ColdPort, Port};
use crate::run::state::probes::ClassSeries;
use crate::run::state::probes::Stopped;
use crate::run::state::sources::SourceState;
use crate::run::state::stream_counts::StreamCount;
use crate::run::steps::ahead::queues;
use crate::run::steps::victims;
use crate::simulation::Simulation;
use crate::spec::{LinkSpec, Way};
use frame::{NodeId, PathId, PortId, TrafficClass};
use std::collections::{BTreeMap, BTreeSet};
use transport::{Endpoint, TransferEnds};
use units::{BitRate, Time};

/// Index of a class of a port in the recordings by queue.
fn queue_at(part: &Fabric, port: PortIx, class: u8) -> usize {
    part.links.ports[port].queue(TrafficClass(class)).at()
}

impl Simulation {
    /// The parts, in the order of their nodes.
    pub(crate) fn parts(&self) -> impl DoubleEndedIterator<Item = &Fabric> + Clone {
        self.shards.iter().map(|shard| &shard.world)
    }

    /// The part that runs a node.
    fn part_of(&self, node: NodeId) -> &Fabric {
        &self.shards[self.split.part_of(node)].world
    }

    /// Returns the part that owns a port, and the number of the port there.
    pub(crate) fn part_at(&self, port: u32) -> (&Fabric, PortIx) {
        let part = self.part_of(self.wiring.node_of[port as usize]);
        (part, PortIx::of(port - part.numbering.first_port, part.whole()))
    }

    /// Returns the crossbar input of a port, with the counts of frames that have waited there.
    pub(crate) fn crossbar_input(&self, port: u32) -> Option<&Input> {
        let bar = self.node_at(port).architecture.crossbar()?;
        Some(&bar.inputs[(port - self.first_port_beside(port)) as usize])
    }
    /// Mean bytes and frames waiting at a crossbar input.
    pub(crate) fn waiting_at_input(&self, port: u32, took: Time, end: Time) -> [f64; 2] {
        let Some(bar) = self.node_at(port).architecture.crossbar() else { return [0.0; 2] };
        let input = (port - self.first_port_beside(port)) as usize;
        let (part, _) = self.part_at(port);
        bar.inputs[input].sojourns.mean(took, end, bar.waiting_at(input, &part.buffers.pool))
    }

    /// Copies that switches have made of the frames of a path.
    pub(crate) fn copies_made(&self, path: usize) -> u64 {
        self.parts().map(|part| part.copies.made(path)).sum()
    }

    /// Number of ports.
    pub(crate) fn ports(&self) -> usize {
        self.wiring.peer.len()
    }
    pub(crate) fn port(&self, port: u32) -> &Port {
        let (part, port) = self.part_at(port);
        &part.links.ports[port]
    }
    pub(crate) fn cold(&self, port: u32) -> &ColdPort {
        let (part, port) = self.part_at(port);
        &part.links.cold[port]
    }
    /// The NIC of a host's port.
    pub(crate) fn nic(&self, port: u32) -> Option<&Nic> {
        let (part, port) = self.part_at(port);
        part.links.nics[port].as_ref()
    }
    /// Bytes and frames sent through a port with these priorities or channels (bit n for number n).
    pub(crate) fn sent(&self, port: u32, numbers: u32) -> (u64, u64) {
        let (part, port) = self.part_at(port);
        part.links.sent_of(port, numbers)
    }
    /// Returns the ingress counters of a port, at a node that has them.
    pub(crate) fn ingress_port(&self, port: u32) -> &IngressPort {
        let (part, port) = self.part_at(port);
        &part.ingress[port]
    }
    /// Returns [`Links::time_on_wire`](crate::run::state::links::Links::time_on_wire) of a port.
    pub(crate) fn time_on_wire(&self, port: u32) -> f64 {
        let (part, port) = self.part_at(port);
        part.links.time_on_wire(port)
    }
    /// The cold state of all ports, with their numbers.
    pub(crate) fn cold_ports(&self) -> impl Iterator<Item = (u32, &ColdPort)> {
        (0..).zip(self.parts().flat_map(|part| part.links.cold.all(part.whole())))
    }
    /// The link of a port.
    pub(crate) fn link_spec(&self, port: u32) -> &LinkSpec {
        &self.spec.links[self.wiring.link_of[port as usize] as usize]
    }
    /// Initial rate of a port.
    pub(crate) fn initial_rate(&self, port: u32) -> BitRate {
        self.link_spec(port).rate_from(self.wiring.node_of[port as usize])
    }
    /// The port at the other end of the link.
    pub(crate) fn peer(&self, port: u32) -> u32 {
        self.wiring.peer[port as usize].0
    }

    /// All nodes, each with the number of its first port.
    pub(crate) fn nodes(&self) -> impl Iterator<Item = (u32, &Node)> {
        let first = |node: usize| self.wiring.first_port[node];
        self.parts()
            .flat_map(|part| part.nodes.all(part.whole()))
            .enumerate()
            .map(move |(id, node)| (first(id), node))
    }
    pub(crate) fn node(&self, node: NodeId) -> &Node {
        let part = self.part_of(node);
        &part.nodes[NodeIx::of(node.0 - part.numbering.first_node, part.whole())]
    }
    /// The node of a port.
    pub(crate) fn node_at(&self, port: u32) -> &Node {
        self.node(self.wiring.node_of[port as usize])
    }
    /// The pause sender at the node of a port.
    pub(crate) fn pause_sender_at(&self, port: u32) -> Option<&PauseSender> {
        let (part, port) = self.part_at(port);
        part.pause_sender_of(port)
    }
    /// All pause senders, each with the number of its node's first port.
    pub(crate) fn pause_senders(&self) -> impl Iterator<Item = (u32, &PauseSender)> {
        self.parts().flat_map(|part| {
            part.pause_senders
                .all(part.whole())
                .iter()
                .map(|sender| (part.numbering.port(sender.first_port), sender))
        })
    }
    /// The first port of a port's node.
    pub(crate) fn first_port_beside(&self, port: u32) -> u32 {
        self.wiring.first_port[self.wiring.node_of[port as usize].at()]
    }

    /// Port and class of a queue.
    pub(crate) fn place_of_queue(&self, queue: u32) -> (u32, u8) {
        let part = self.parts().rev().find(|part| part.numbering.first_queue <= queue);
        let Some(part) = part.filter(|part| part.links.len() > 0) else { return (0, 0) };
        let (port, class) = part.links.place_of_queue(part.numbering.queue_here(queue));
        (part.numbering.port(port), class)
    }
    /// The number of a queue.
    pub(crate) fn queue_number(&self, port: u32, class: TrafficClass) -> u32 {
        let (part, port) = self.part_at(port);
        part.numbering.queue(part.links.ports[port].queue(class))
    }
    /// Number of queues.
    pub(crate) fn queues(&self) -> usize {
        self.parts().map(|part| part.buffers.queues.len()).sum()
    }
    /// The queues of a port, in the order of classes.
    pub(crate) fn port_queues(&self, port: u32) -> &[Queue] {
        let (part, local) = self.part_at(port);
        let first = part.links.ports[local].first_queue.at();
        &part.buffers.queues.all(part.whole())[first..first + self.node_at(port).classes.classes()]
    }
    pub(crate) fn queue(&self, port: u32, class: u8) -> &Queue {
        &self.port_queues(port)[usize::from(class)]
    }
    /// The frames in a queue. Their ingress ports are numbered in the part.
    pub(crate) fn frames_in(&self, port: u32, class: u8) -> impl Iterator<Item = &Waiting> {
        let (part, local) = self.part_at(port);
        part.buffers.frames(part.links.ports[local].queue(TrafficClass(class)))
    }
    /// Returns the frames queued at a port that have been sent ahead of their time.
    pub(crate) fn committed(&self, port: u32) -> impl Iterator<Item = &Waiting> {
        let (part, local) = self.part_at(port);
        queues::committed(part, local)
    }
    /// End of the frame on the link of a port.
    pub(crate) fn on_link_until(&self, port: u32) -> Time {
        let (part, local) = self.part_at(port);
        queues::on_link_until(part, local)
    }
    /// Returns the frames of [`Simulation::frames_in`], each with its ingress port; `None` if it originates there.
    pub(crate) fn frames_with_ingress(
        &self,
        port: u32,
        class: u8,
    ) -> impl Iterator<Item = (&Waiting, Option<u32>)> {
        let (part, _) = self.part_at(port);
        let number = |ingress: Option<PortIx>| ingress.map(|ingress| part.numbering.port(ingress));
        self.frames_in(port, class).map(move |waiting| (waiting, number(waiting.across)))
    }

    /// The source of a flow.
    pub(crate) fn source(&self, flow: usize) -> &SourceState {
        let part = self.part_of(self.spec.flows[flow].from);
        let sources = part.hosts.sources.all(part.whole());
        let at = sources.partition_point(|state| (state.flow as usize) < flow);
        &sources[at]
    }
    /// Counts frame-hops of a run whose only traffic is scheduled transfers: hops of the delivered frames, and of all
    /// frames, without retransmissions and acknowledgements. `None` if there is other traffic, or if counts were reset
    /// after `warmup`.
    pub fn transfer_hops(&self) -> Option<(u64, u64)> {
        if self.measured_from() > Time::ZERO {
            return None;
        }
        let (mut done, mut all) = (0, 0);
        let mut of_jobs = self.frames_of_jobs();
        for (flow, spec) in self.spec.flows.iter().enumerate() {
            let list = spec.source.transfers()?;
            let first = self.source(flow).first_path as usize;
            let of_job = of_jobs.remove(&(flow as u32));
            let mut frames = of_job.unwrap_or_else(|| vec![0; spec.source.destinations.count()]);
            for transfer in list.iter() {
                frames[transfer.destination as usize] += list.framing().frames(transfer.bytes);
            }
            for (path, frames) in (first..).zip(frames) {
                let hops =
                    self.equal_ports(path).map_or_else(|| self.path_of(path).len(), |stages| stages.len())
                        as u64;
                let delivered: u64 = self.receivers(path).map(Receiver::frames).sum();
                done += hops * delivered.min(frames);
                all += hops * frames;
            }
        }
        Some((done, all))
    }

    /// Counts of received frames of a path at its destination; for a path that is not listed, at the hosts of each
    /// part.
    pub(crate) fn receivers(&self, path: usize) -> impl Iterator<Item = &Receiver> {
        self.parts_of_end(path)
            .map(move |part| &part.hosts.receivers[part.hosts.receiver_of(PathId(path as u32))])
    }
    /// Counts of received frames by stream of a path; empty if streams are not counted.
    pub(crate) fn stream_counts(&self, path: usize) -> Vec<StreamCount> {
        let mut all = Vec::new();
        for part in self.parts_of_end(path) {
            let of_part = part.hosts.stream_counts.of(part.hosts.receiver_of(PathId(path as u32)));
            all.resize(of_part.len(), StreamCount::NONE);
            all.iter_mut().zip(of_part).for_each(|(count, own)| count.merge(own));
        }
        all
    }
    /// Number of frames of an unlisted path that later ones have overtaken; `None` if they are not counted.
    pub(crate) fn overtaken(&self, path: usize) -> Option<u64> {
        if !can_overtake(&self.spec) {
            return Some(0);
        }
        self.parts().map(|part| Some(part.hosts.overtaking.as_ref()?.frames(path))).sum()
    }
    /// Number of missing frames of the n-th transfer of a path, and arrival time of the last frame.
    pub(crate) fn completion(&self, path: usize, nth: u32) -> (u64, Option<Time>) {
        let hosts = &self.part_of_end(path).hosts;
        hosts.completions.get(hosts.receiver_of(PathId(path as u32)), nth)
    }
    /// Both ends of the transport that carries the transfers of a path; `None` if they are pushed.
    pub(crate) fn transfer_ends(&self, path: usize) -> Option<TransferEnds<'_>> {
        let (near, far) = self.ends_of(path)?;
        TransferEnds::of(near, far)
    }
    /// Both ends of the connection of a path; `None` if it has none.
    pub(crate) fn ends_of(&self, path: usize) -> Option<(&Endpoint, &Endpoint)> {
        let from = self.spec.flows[self.path_flow[path] as usize].from;
        let end =
            |part: &Fabric, end: usize| part.hosts.endpoints_of_path.get(path).and_then(|ends| ends[end]);
        let (near, far) = (&self.part_of(from).hosts, &self.part_of_end(path).hosts);
        let near = near.endpoints.get(end(self.part_of(from), 0)?)?;
        let far = far.endpoints.get(end(self.part_of_end(path), 1)?)?;
        Some((&near.endpoint, &far.endpoint))
    }
    /// The part in which a path ends.
    fn part_of_end(&self, path: usize) -> &Fabric {
        let from = self.spec.flows[self.path_flow[path] as usize].from;
        let last = self.path_of(path).last();
        self.part_of(last.map_or(from, |&port| self.wiring.neighbour(PortId(port))))
    }
    /// Returns the part of `part_of_end`, or all parts if the path is not listed.
    fn parts_of_end(&self, path: usize) -> impl Iterator<Item = &Fabric> {
        let one = self.is_listed(path).then(|| self.part_of_end(path));
        one.into_iter().chain(self.parts().filter(move |_| one.is_none()))
    }
    /// Returns true if a path leads to one destination.
    pub(crate) fn is_listed(&self, path: usize) -> bool {
        self.spec.flows[self.path_flow[path] as usize].way != Way::ByDestination
    }
    /// Bin width, and bits of a path that have arrived (0) or been read (1) in each bin that begins before `end`, if
    /// recorded; one entry per part in which the path may end.
    pub(crate) fn arrived(
        &self,
        path: usize,
        nth: usize,
        end: Time,
    ) -> impl Iterator<Item = (Time, Vec<u64>)> {
        self.parts_of_end(path).filter_map(move |part| {
            let receiver = part.hosts.receiver_of(PathId(path as u32)).at();
            let series = [&part.probes.arrived, &part.probes.read][nth];
            series.get(receiver)?.bins(&part.probes.grids, end)
        })
    }
    /// Returns true if the host at the end of a path takes time to read; for a path that is not listed, if any host
    /// does.
    pub(crate) fn is_read_slowly(&self, path: usize) -> bool {
        if !self.is_listed(path) {
            return self
                .parts()
                .any(|part| part.hosts.receiving.all(part.whole()).iter().any(Option::is_some));
        }
        let Some(&last) = self.path_of(path).last() else { return false };
        let (part, port) = self.part_at(self.peer(last));
        part.hosts.receiving.get(port).is_some_and(Option::is_some)
    }
    /// Bin width, and bits sent by a port in each bin that begins before `end`; `None` if not recorded.
    pub(crate) fn sent_series(&self, port: u32, end: Time) -> Option<(Time, Vec<u64>)> {
        let (part, local) = self.part_at(port);
        part.probes.links.get(local.at())?.sent().bins(&part.probes.grids, end)
    }
    /// Bin width, and bits received from this port by its peer in each bin that begins before `end`; `None` if not
    /// recorded.
    pub(crate) fn received_series(&self, port: u32, end: Time) -> Option<(Time, Vec<u64>)> {
        let (part, local) = self.part_at(port);
        part.probes.links.get(local.at())?.received().bins(&part.probes.grids, end)
    }
    /// Bin width, and bits sent by a class of the port in each bin that begins before `end`; `None` if not recorded.
    pub(crate) fn class_series(&self, port: u32, class: u8, end: Time) -> Option<(Time, Vec<u64>)> {
        let (part, local) = self.part_at(port);
        match part.probes.classes.get(queue_at(part, local, class))? {
            ClassSeries::OfPort => self.sent_series(port, end),
            ClassSeries::Own(series) => series.bins(&part.probes.grids, end),
            ClassSeries::Off => None,
        }
    }
    /// Bin width, and maximum bytes (0) or frames (1) of a queue in each bin that begins before `end`.
    pub(crate) fn queue_levels(
        &self,
        port: u32,
        class: u8,
        nth: usize,
        end: Time,
    ) -> Option<(Time, Vec<u64>)> {
        let (part, local) = self.part_at(port);
        part.probes.queues.get(queue_at(part, local, class))?.bins(nth, &part.probes.grids, end)
    }
    /// The manager of a queue.
    pub(crate) fn managed(&self, port: u32, class: u8) -> Option<&Managed> {
        let (part, local) = self.part_at(port);
        part.links.managers.of(part.links.ports[local].queue(TrafficClass(class)))
    }
    /// Bin width, and number of frames marked by the manager of the queue in each bin that begins before `end`.
    pub(crate) fn queue_marks(&self, port: u32, class: u8, end: Time) -> Option<(Time, Vec<u64>)> {
        let (part, local) = self.part_at(port);
        part.probes.marks.get(queue_at(part, local, class))?.bins(&part.probes.grids, end)
    }
    /// Near and far end of each connection, in the order of paths.
    pub(crate) fn connections(&self) -> Vec<(&EndpointState, &EndpointState)> {
        let mut ends: Vec<&EndpointState> =
            self.parts().flat_map(|part| part.hosts.endpoints.all(part.whole())).collect();
        ends.sort_by_key(|state| state.number);
        ends.chunks_exact(2).map(|ends| (ends[0], ends[1])).collect()
    }
    /// All rate limiters by number, each with its part of the fabric.
    pub(crate) fn limiters(&self) -> Vec<(&Fabric, &Limiter)> {
        let of_part = |part| move |limiter| (part, limiter);
        let mut all: Vec<_> = self
            .parts()
            .flat_map(|part| part.hosts.limiters.all(part.whole()).iter().map(of_part(part)))
            .collect();
        all.sort_by_key(|(_, limiter)| limiter.number);
        all
    }
    /// The egress ports of the present route of a path. The part of its source has the start of the route.
    pub(crate) fn path_of(&self, path: usize) -> &[u32] {
        let flow = self.path_flow[path] as usize;
        let routes = &self.part_of(self.spec.flows[flow].from).routes;
        routes.path(routes.path_start[path])
    }

    /// If switches choose the path of each frame, all possible n-th egress ports of the frames of a path, for each n.
    /// `None` if the path is known before the run.
    pub(crate) fn equal_ports(&self, path: usize) -> Option<Vec<Vec<u32>>> {
        let spreading = self.parts().next()?.routes.spreading.as_ref()?;
        let ends = spreading.ends[path]?;
        let to = ends.to?;
        let (mut stages, mut nodes) = (Vec::new(), BTreeSet::from([ends.from]));
        while !nodes.is_empty() && !nodes.contains(&to) {
            let ports: Vec<u32> = nodes
                .iter()
                .flat_map(|&node| spreading.table.candidates(node, to))
                .map(|port| port.0)
                .collect();
            nodes = ports.iter().map(|&port| self.wiring.neighbour(PortId(port))).collect();
            stages.push(ports);
        }
        Some(stages)
    }

    /// Number of frames at a root (a queue or port of the whole fabric) while its pauses were in force, by flow and
    /// priority.
    pub(crate) fn frames_at_root(&self, place: RootPlace<u32, u32>) -> BTreeMap<(u32, u8), u64> {
        let (part, place) = match place {
            RootPlace::Queue { queue, down } => {
                let (part, _) = self.part_at(self.place_of_queue(queue).0);
                (part, RootPlace::Queue { queue: part.numbering.queue_here(queue), down })
            }
            RootPlace::Receiver { port, group } => {
                let (part, port) = self.part_at(port);
                (part, RootPlace::Receiver { port, group })
            }
        };
        part.probes.culprits.as_ref().map_or_else(BTreeMap::new, |culprits| culprits.frames(place))
    }
    /// Returns the flows that a pause in force holds back now, with the time since which they have been queued.
    pub(crate) fn standing_at(&self, stopped: Stopped<u32>, now: Time) -> Vec<(u32, Time)> {
        let (part, port) = self.part_at(stopped.port);
        victims::standing(part, stopped.at(port), now)
    }

    /// The ledgers of all parts, combined.
    pub(crate) fn ledger(&self) -> Ledger {
        let mut all = Ledger::default();
        for part in self.parts() {
            all.absorb(&part.ledger);
        }
        all
    }
}
