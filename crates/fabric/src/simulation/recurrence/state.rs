//! Digests of the parts of a state.
//!
//! Everything is identified by its number in the whole fabric, so that a digest does not depend on the number of
//! threads. Scheduled calls are omitted if a timer or a state machine determines when the next one is due: a call that
//! comes too early has no effect.

use crate::Whole;
use crate::run::fabric::Fabric;
use crate::run::state::endpoint_state::EndpointState;
use crate::run::state::event::{Event, PauseFrame, What};
use crate::run::state::headers::{Carried, Headers};
use crate::run::state::hosts::Hosts;
use crate::run::state::index::{PortIx, QueueIx};
use crate::run::state::links::Links;
use crate::run::state::node::Node;
use crate::run::state::ranks::RankState;
use crate::run::state::view::NodeView;
use crate::simulation::Simulation;
use engine::Shard;
use frame::{Frame, FrameKind};
use recurrence::{Digest, Recurs, Walk};
use std::collections::BTreeMap;
use transport::recurring::{End, walk_header, word_from};
use units::Time;

/// A part of a state.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub(crate) enum Part {
    Rank,
    QueuePair,
    Receiver,
    Port,
    Queue,
    Node,
    Frame,
}

impl Part {
    /// Its name, in the singular or plural.
    pub fn name(self, several: bool) -> &'static str {
        match (self, several) {
            (Part::Rank, false) => "rank",
            (Part::Rank, true) => "ranks",
            (Part::QueuePair, false) => "queue pair",
            (Part::QueuePair, true) => "queue pairs",
            (Part::Receiver, false) => "receiver",
            (Part::Receiver, true) => "receivers",
            (Part::Port, false) => "port",
            (Part::Port, true) => "ports",
            (Part::Queue, false) => "port with queues",
            (Part::Queue, true) => "ports with queues",
            (Part::Node, false) => "node",
            (Part::Node, true) => "nodes",
            (Part::Frame, false) => "port with frames in flight",
            (Part::Frame, true) => "ports with frames in flight",
        }
    }
}

/// The digests of a state by part and number. Those of frames in flight to one place are summed.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(crate) struct State {
    parts: Vec<((Part, u64), Digest)>,
    /// Number of words visited: the work of taking the digest.
    pub words: u64,
    /// Reason why no other state can equal this one; `None` if one can.
    pub unknown: Option<&'static str>,
}

impl State {
    fn add(&mut self, part: Part, number: u64, walk: &Walk) {
        self.words += walk.cost() + PART;
        self.unknown = self.unknown.or(walk.reason());
        self.parts.push(((part, number), walk.digest()));
    }

    /// Sorts all parts, and sums those of one place.
    fn complete(&mut self) {
        self.parts.sort_unstable();
        self.parts.dedup_by(|next, first| {
            let is_same = next.0 == first.0;
            if is_same {
                first.1 = first.1.wrapping_add(next.1);
            }
            is_same
        });
    }

    /// The digest of the whole state.
    pub fn digest(&self) -> Digest {
        let mut walk = Walk::new(Time::ZERO);
        for &((part, number), digest) in &self.parts {
            (part as u64, number, digest as u64).walk(&mut walk);
            walk.word((digest >> 64) as u64);
        }
        walk.digest()
    }

    /// Describes the kinds of parts that differ from those of another state, with their numbers.
    pub fn names_of_different(&self, other: &State) -> String {
        let parts = self.differs(other).into_iter();
        let parts: Vec<_> = parts.map(|(part, many)| format!("{many} {}", part.name(many > 1))).collect();
        parts.join(", ")
    }

    /// Number of parts of each kind that differ from those of another state.
    fn differs(&self, other: &State) -> Vec<(Part, usize)> {
        let [own, others]: [BTreeMap<_, _>; 2] =
            [self, other].map(|state| state.parts.iter().copied().collect());
        let changed = own.iter().filter(|(key, digest)| others.get(*key) != Some(*digest)).map(|own| own.0);
        let gone = others.keys().filter(|key| !own.contains_key(*key));
        let mut counts: BTreeMap<Part, usize> = BTreeMap::new();
        changed.chain(gone).for_each(|key| *counts.entry(key.0).or_default() += 1);
        counts.into_iter().collect()
    }
}

/// By path, the packet number to which the numbers on the path are relative; `None` if it has no queue pair.
type Bases = Vec<Option<u64>>;

/// Overhead of visiting a part, in words.
const PART: u64 = 16;

impl Simulation {
    /// Takes the digests of the present state, in which no step is ahead of its time. Labels and positions of the only
    /// job are relative to a phase of its collective.
    pub(super) fn state(&mut self, phase: u32) -> State {
        if let Some(workers) = &mut self.workers {
            workers.deliver(&mut self.shards);
        }
        let start = Walk::from_phase(self.now(), phase);
        let mut state = State::default();
        let mut bases: Bases = vec![None; self.path_flow.len()];
        for part in self.parts() {
            note_bases(part, &mut bases);
        }
        let ranks = self.ranks();
        for of_job in ranks.chunk_by(|one, next| one.job == next.job) {
            let behind = of_job.iter().map(|own| own.machine.times().len()).min().unwrap_or(0);
            of_job.iter().for_each(|own| rank(own, behind, &start, &mut state));
        }
        for own in self.parts().flat_map(|part| part.hosts.endpoints.all(part.whole())) {
            walk_endpoint(own, &bases, &start, &mut state);
        }
        for part in self.parts() {
            walk_part(part, &bases, &start, &mut state);
        }
        for Shard { world, runner } in &mut self.shards {
            let whole = world.whole();
            for event in runner.windows().pending() {
                let place = world.numbering.first_port + event.place(whole).number();
                walk_event(event, &world.headers, &bases, &start, (place, &mut state));
            }
        }
        state.complete();
        state
    }
}

fn note_bases(part: &Fabric, bases: &mut Bases) {
    for own in part.hosts.endpoints.all(part.whole()) {
        if let Some(base) = own.endpoint.base() {
            bases[own.path as usize] = Some(base);
        }
    }
}

fn rank(own: &RankState, behind: usize, start: &Walk, state: &mut State) {
    // Its timer follows from its state machine.
    let RankState { job, number, port: _, machine, ends: _, times: _, wakes_at: _, deferred: _ } = own;
    let mut walk = start.clone();
    machine.walk(&mut walk);
    walk.word((machine.times().len() - behind) as u64);
    state.add(Part::Rank, u64::from(*job) << 32 | u64::from(*number), &walk);
}

fn walk_part(part: &Fabric, bases: &Bases, start: &Walk, state: &mut State) {
    let NodeView {
        numbering,
        node_of: _,
        nodes,
        pause_senders,
        links,
        buffers: _,
        ingress,
        headers: _,
        telemetry,
        routes,
        hosts,
        faults,
        copies,
        ledger: _,
        probes: _,
        horizon: _,
        deciding: _,
        deferred: _,
    } = &**part;
    let whole = part.whole();
    let mut walk = start.clone();
    let unknown = [
        (!telemetry.is_empty(), "in-band telemetry"),
        (routes.spreading.is_some(), "switches that choose a path for each frame"),
        (!faults.is_none(), "faults"),
        (copies.is_used(), "multicast"),
    ];
    unknown.iter().filter(|own| own.0).for_each(|own| walk.unknown(own.1));
    walk_hosts(hosts, whole, &mut walk);
    state.add(Part::Node, u64::MAX, &walk);
    for (index, node) in nodes.enumerated(whole) {
        let Node {
            first_port: _,
            classes: _,
            is_host: _,
            lossless,
            returns_tags: _,
            pause_sender,
            architecture,
        } = node;
        let mut walk = start.clone();
        lossless.walk(&mut walk);
        architecture.walk(&mut walk);
        pause_sender.iter().for_each(|&own| pause_senders[own].walk(&mut walk));
        walk.past(hosts.next_cnp.get(index).copied().unwrap_or_default());
        state.add(Part::Node, u64::from(numbering.first_node + index.number()), &walk);
    }
    for port in links.ports.keys(whole) {
        let mut walk = start.clone();
        walk_port(links, hosts, port, &mut walk);
        ingress.get(port).iter().for_each(|own| own.walk(&mut walk));
        state.add(Part::Port, numbering.port(port).into(), &walk);
    }
    for (port, own) in links.ports.enumerated(whole) {
        let mut walk = start.clone();
        own.queues().for_each(|queue| walk_queue(part, queue, bases, &mut walk));
        state.add(Part::Queue, numbering.port(port).into(), &walk);
    }
}

fn walk_queue(part: &Fabric, queue: QueueIx, bases: &Bases, walk: &mut Walk) {
    let NodeView { numbering, links, buffers, headers, .. } = &**part;
    buffers.queues[queue].walk(walk);
    links.managers.of(queue).iter().for_each(|own| own.walk(walk));
    for waiting in buffers.frames(queue) {
        walk_frame(&waiting.frame, headers, bases, walk);
        walk.instant(waiting.since);
        walk.instant(waiting.leaves);
        waiting.across.map(|port| numbering.port(port)).walk(walk);
    }
}

fn walk_port(links: &Links, hosts: &Hosts, port: PortIx, walk: &mut Walk) {
    let Links { ports, cold, nics, passed, managers: _, stamps_returned: _, neighbours: _ } = links;
    ports[port].walk(walk);
    cold[port].walk(walk);
    passed.walk_port(port, walk);
    if let Some(nic) = &nics[port] {
        nic.walk(|endpoint| hosts.endpoints[endpoint].number, walk);
    }
}

/// Visits the state of hosts in a part other than connections and ranks.
fn walk_hosts(hosts: &Hosts, whole: Whole, walk: &mut Walk) {
    let Hosts {
        sources,
        endpoints: _,
        peers: _,
        endpoints_of_path: _,
        next_cnp: _,
        lossless: _,
        limiters,
        limiters_of_path: _,
        flow_numbers: _,
        receivers,
        overtaking: _,
        completions: _,
        releases,
        ranks: _,
        stream_counts: _,
        receiver_of_path: _,
        receiving,
    } = hosts;
    let unknown = [
        (sources.all(whole).iter().any(|own| !own.silent), "flows beside jobs"),
        (!limiters.is_empty(), "rate limiters"),
        (!releases.waiting.is_empty(), "transfers that wait for others"),
        (receiving.all(whole).iter().any(Option::is_some), "hosts that take time to receive"),
        (receivers.iter().any(|own| own.expected > 0), "receivers that count ahead"),
    ];
    unknown.iter().filter(|own| own.0).for_each(|own| walk.unknown(own.1));
}

fn walk_endpoint(own: &EndpointState, bases: &Bases, start: &Walk, state: &mut State) {
    // Its calls follow from its state machine.
    let EndpointState {
        endpoint,
        number,
        path,
        behind: _,
        way: _,
        bypassable: _,
        stripes: _,
        priority: _,
        notifies: _,
        limiter: _,
        peers,
        awaited: _,
        wakes_at: _,
        wakes_later: _,
        in_line,
        since: _,
        stopped: _,
        stopped_before: _,
        measured: _,
    } = own;
    let mut walk = start.clone();
    in_line.walk(&mut walk);
    walk.unless_empty(peers, "connections that wait for each other");
    let base = bases[*path as usize].unwrap_or_default();
    let part = match endpoint.walk_from(base, &mut walk) {
        End::Sender => Part::QueuePair,
        End::Receiver => Part::Receiver,
    };
    state.add(part, (*number).into(), &walk);
}

/// Visits a frame, with packet numbers relative to those of its queue pair.
fn walk_frame(frame: &Frame, headers: &Headers, bases: &Bases, walk: &mut Walk) {
    let Frame { created, path, route, word, bytes, flags } = frame;
    walk.instant(*created);
    (*path, *route, *bytes).walk(walk);
    flags.walk(walk);
    let Some(base) = bases[path.at()] else {
        return walk.unknown("frames of flows beside jobs");
    };
    if flags.is_wide() {
        return match headers.at(*word) {
            Carried::Header(header) => walk_header(header, base, walk),
            _ => walk.unknown("frames with tags"),
        };
    }
    match flags.kind() {
        FrameKind::Data | FrameKind::Ack | FrameKind::MarkedAck => walk.word(word_from(*word, base).into()),
        _ => walk.word((*word).into()),
    }
}

/// Visits an event. Events that a timer or a state machine represents are omitted.
fn walk_event(
    event: &Event,
    headers: &Headers,
    bases: &Bases,
    start: &Walk,
    (place, state): (u32, &mut State),
) {
    let mut walk = start.clone();
    walk.instant(event.time);
    walk.word(event.kind() as u64);
    match event.what() {
        What::Decide | What::Renew | What::Rank | What::Timeout => return,
        What::Frame(frame) | What::Head(frame) => walk_frame(&frame, headers, bases, &mut walk),
        What::Pause(PauseFrame { signal, quanta, note: _, more }) => {
            signal.walk(&mut walk);
            (quanta, more).walk(&mut walk);
        }
        What::Source => walk.unknown("flows beside jobs"),
        What::Watchdog => walk.unknown("watchdogs of pause storms"),
        What::Crossed | What::Match => walk.unknown("crossbars"),
        What::Served => walk.unknown("hosts that take time to receive"),
        What::Broken(..) | What::Fault(_) | What::News(_) => walk.unknown("faults"),
        What::Limiter(_) => walk.unknown("rate limiters"),
        What::Retry(_) | What::RetryDue => walk.unknown("link-level retry"),
        What::Credits(_) | What::LookForCredits | What::UpdateDue | What::CreditsConsumed => {
            walk.unknown("credit-based flow control");
        }
    }
    state.add(Part::Frame, place.into(), &walk);
}
