//! Transfers: start, duration, and ideal duration without other traffic.

use super::View;
use super::idle::IdlePath;
use super::idle_connection::IdleConnection;
use super::idle_message::{IdleMessage, IdlePackets};
use super::link_rates::LinkRates;
use super::message_times::{Message, message_times};
use super::ports::of_connections;
use crate::run::state::faults::Action;
use crate::run::state::releases::Waiting;
use crate::spec::transfer_wait::{Known, TransferRef};
use crate::spec::{FaultSpec, FlowSpec};
use frame::Ports;
use measure::table::{integer, real, real_or_null, text};
use measure::{TableBuilder, TableSpec};
use std::collections::BTreeMap;
use transport::{Application, MessageTimes, Scheduled, TransferOutcome};
use units::Time;
use workload::{Framing, Transfer, TransferList};

/// Columns of `waiting_transfers`.
pub(super) static WAITING_TRANSFERS: TableSpec = TableSpec {
    name: "waiting_transfers",
    about: "One row per transfer that depends on others and had not begun when the run ended.",
    columns: &[&[
        text("name", "Name of its entry in the scenario."),
        text("source", "Sending host."),
        text("destination", "Receiving host."),
        integer("bytes", "B", "Its bytes."),
        integer("after", "", "Number of transfers on which it depends."),
        integer("missing", "", "Number of those that had not ended."),
    ]],
};

/// Columns of `transfers`.
pub(super) static TRANSFERS: TableSpec = TableSpec {
    name: "transfers",
    about: "One row per transfer that has begun, in the order of starts, including those during `warmup`.",
    columns: &[&[
        text("name", "Name of its entry in the scenario."),
        text("id", "Identifier in the transfer list of the scenario; empty without one."),
        text("source", "Sending host."),
        text("destination", "Receiving host."),
        integer(
            "source_port",
            "",
            "UDP or TCP port of its sender: given, or drawn at random. Over TCP the port of its connection, which an idle connection keeps when a transfer reuses it.",
        ),
        integer("destination_port", "", "UDP or TCP port of its receiver."),
        integer("class", "", "Priority of its frames, 0 to 7."),
        integer("bytes", "B", "Bytes of the transfer, without the headers of its frames."),
        integer("frames", "", "Frames of the transfer, not counting retransmissions."),
        integer(
            "frames_missing",
            "",
            "Frames that had not arrived at the end of the run; over TCP, frames that were not acknowledged.",
        ),
        real("start_ns", "ns", "Start time."),
        real_or_null(
            "completion_ns",
            "ns",
            "Time from its start to the delivery of its last byte; null if it was not complete at the end of the run.",
        ),
        real(
            "ideal_ns",
            "ns",
            "Exact completion time on its path without other traffic. Over TCP on a new connection, with handshake and slow start; over a queue pair at the rate of the link, with the request of a READ and the context fetch of the NIC. If switches choose a path for each frame, or links fail, on the fastest possible path; if link rates change during the transfer, at the highest of them.",
        ),
        real_or_null("slowdown", "", "`completion_ns` over `ideal_ns`; null if it was not complete."),
        real_or_null(
            "acknowledged_ns",
            "ns",
            "Time from its start until its sender had the acknowledgement of all data; null if it did not, or without a transport.",
        ),
        integer("segments_sent_again", "", "Over TCP, its retransmitted segments."),
        integer("timeouts", "", "Over TCP, timeouts of its sender."),
        integer("path", "", "Row of its path in the table `paths`, from 0."),
    ]],
};

/// A transfer in the result.
struct Row {
    flow: u32,
    path: u32,
    /// Index in the list of its flow.
    nth: usize,
    transfer: Transfer,
    came: Came,
    ideal: Time,
    ports: Ports,
}

/// Outcome of a transfer.
struct Came {
    frames_missing: u64,
    /// Time at which its last byte was delivered. `acknowledged` is the time of its acknowledgement.
    done: Option<Time>,
    acknowledged: Option<Time>,
    sent_again: u32,
    timeouts: u32,
    /// True if it used a connection with path state from earlier transfers.
    reused: bool,
    /// For a completed transfer over a queue pair: the number of the queue pair, the arrival time of the request of a
    /// READ, and the breakdown of its time.
    times: Option<(u32, Option<Time>, MessageTimes)>,
}

/// The transfers of a path.
struct OfPath {
    path: usize,
    /// Starts of the path in the table of hops, if routes have changed.
    starts: Vec<u32>,
    /// By the first and the last period of constant rates, the possible idle paths.
    idle: BTreeMap<(usize, usize), Vec<Idle>>,
    /// Outcomes of the transfers that connections carry.
    outcomes: Vec<TransferOutcome>,
    ports: Vec<Ports>,
}

/// Start times of transfers that waited for others.
pub(super) type Released = BTreeMap<TransferRef, Time>;

/// Name of the scenario entry from which a flow was generated.
fn entry_of(flow: &FlowSpec) -> &str {
    flow.name.split('[').next().unwrap_or_default()
}

/// An idle path, with its transport.
pub(super) enum Idle {
    Frames(IdlePath),
    Connection(Box<IdleConnection>),
    Message(Box<IdleMessage>),
    Packets(Box<IdlePackets>),
}

impl Idle {
    /// Time until a transfer of `bytes` is delivered, over a fresh connection or a `reused` one.
    pub fn time(&mut self, framing: Framing, bytes: u64, reused: bool) -> Time {
        match self {
            Idle::Frames(path) => path.time(framing, bytes),
            Idle::Message(message) => message.time(bytes, reused),
            Idle::Packets(packets) => packets.time(bytes),
            Idle::Connection(connection) => connection.time(framing, bytes, reused),
        }
    }
}

impl View<'_> {
    /// Returns the possible idle paths of a path, at these link rates.
    pub(super) fn idle_ways(
        &self,
        path: usize,
        flow: &FlowSpec,
        starts: &[u32],
        rates: &LinkRates,
    ) -> Vec<Idle> {
        let stages = self.stages(path, starts).into_iter();
        let ways = stages.flat_map(|[there, back]| {
            if let Some(packets) = self.idle_packets(flow, &there, &back, rates) {
                return vec![packets];
            }
            let of = |there: &[Vec<u32>]| {
                let (there, back) = (self.idle_path(there, rates), self.idle_path(&back, rates));
                match flow.transport.as_ref().map(|connection| &connection.application) {
                    Some(Application::Transfers(scheduled)) => self.idle_over(scheduled, flow, there, back),
                    _ => Idle::Frames(there),
                }
            };
            self.by_first_link(path, &there).iter().map(|there| of(there)).collect()
        });
        ways.collect()
    }

    /// Returns one path for each possible first link at the host: a host sends all frames of a flow through one of
    /// them, unless that fails.
    fn by_first_link(&self, path: usize, there: &[Vec<u32>]) -> Vec<Vec<Vec<u32>>> {
        // A failed link moves the flow to another one.
        let stays = !self
            .s
            .spec
            .faults
            .iter()
            .any(|fault| matches!(fault, FaultSpec::LinkDown { .. } | FaultSpec::Restart { .. }));
        match there {
            [first, rest @ ..] if first.len() > 1 && stays && self.s.equal_ports(path).is_some() => {
                first.iter().map(|&port| [&[vec![port]], rest].concat()).collect()
            }
            _ => vec![there.to_vec()],
        }
    }

    /// Returns the idle packets of a delivery context that uses all links of its host; `None` if it uses one link.
    fn idle_packets(
        &self,
        flow: &FlowSpec,
        there: &[Vec<u32>],
        back: &[Vec<u32>],
        rates: &LinkRates,
    ) -> Option<Idle> {
        let connection = flow.transport.as_ref()?;
        let Application::Transfers(Scheduled::Uet(spec)) = &connection.application else { return None };
        let planes = if connection.stripes() { there.first()?.len().min(back.first()?.len()) } else { 1 };
        if planes < 2 {
            return None;
        }
        let [first, rest @ ..] = there else { return None };
        let over = |&port| self.idle_path(&[&[vec![port]], rest].concat(), rates);
        let planes = first.iter().take(planes).map(over).collect();
        Some(Idle::Packets(Box::new(IdlePackets::new(spec, planes))))
    }

    /// Returns the idle path of a transfer with its transport.
    fn idle_over(&self, scheduled: &Scheduled, flow: &FlowSpec, there: IdlePath, back: IdlePath) -> Idle {
        match (scheduled, scheduled.queue_pairs()) {
            (Scheduled::Tcp(spec), _) => Idle::Connection(Box::new(IdleConnection::new(spec, there, back))),
            (Scheduled::Uet(spec), _) => Idle::Packets(Box::new(IdlePackets::new(spec, vec![there]))),
            (_, Some(spec)) => {
                let nic = self.s.spec.nodes[flow.from.at()].host().and_then(|host| host.nic_limits.as_ref());
                Idle::Message(Box::new(IdleMessage::new(spec, there, back, nic)))
            }
            _ => Idle::Frames(there),
        }
    }

    fn of_path(&self, path: usize, flow: &FlowSpec, starts: &[u32], transfers: &[Transfer]) -> OfPath {
        let outcomes = self.s.transfer_ends(path).map_or_else(Vec::new, |ends| ends.outcomes());
        let drawn = flow.source.transfers().is_some_and(|list| list.draws_ports());
        let ports = of_connections(transfers, &outcomes, drawn);
        OfPath { path, starts: starts.to_vec(), idle: BTreeMap::new(), outcomes, ports }
    }

    /// Returns the outcome of the n-th transfer of a path; `None` if it has not started.
    fn came_of(&self, of: &OfPath, nth: u32, framing: Framing) -> Option<Came> {
        let Some(ends) = self.s.transfer_ends(of.path) else {
            let (frames_missing, done) = self.s.completion(of.path, nth);
            return Some(Came {
                frames_missing,
                done,
                acknowledged: None,
                sent_again: 0,
                timeouts: 0,
                reused: false,
                times: None,
            });
        };
        let outcome = of.outcomes.get(nth as usize)?;
        Some(Came {
            frames_missing: framing.frames(outcome.missing),
            done: ends.delivered(nth as usize),
            acknowledged: Some(outcome.acknowledged).filter(|&at| at != Time::NEVER),
            sent_again: outcome.sent_again,
            timeouts: outcome.timeouts,
            reused: outcome.reused,
            times: ends
                .times_of(nth as usize, outcome.acknowledged)
                .map(|(came, times)| (outcome.connection, came, times)),
        })
    }

    /// Returns the start times of transfers that waited for others.
    pub(super) fn released(&self) -> Released {
        let waiting = self.s.parts().flat_map(|part| &part.hosts.releases.waiting);
        let begun = waiting.filter(|waiting| waiting.began < Time::NEVER);
        begun.map(|waiting| (self.s.spec.waits[waiting.number as usize].transfer, waiting.began)).collect()
    }

    /// Returns the transfers of a flow with their start times; [`Time::NEVER`] for one that has not started and waits
    /// for others.
    pub(super) fn begun<'l>(
        released: &'l Released,
        flow: u32,
        list: &'l TransferList,
    ) -> impl Iterator<Item = Transfer> + 'l {
        (0..).zip(list.iter()).map(move |(row, transfer)| {
            let waits = transfer.start == Time::NEVER;
            let known = waits.then(|| released.get(&TransferRef { flow, row }).copied()).flatten();
            Transfer { start: known.unwrap_or(transfer.start), ..transfer }
        })
    }

    /// Returns the transfers that wait for others and have not started.
    pub fn waiting_transfers(&self) -> TableBuilder {
        let spec = &self.s.spec;
        let waiting = self.s.parts().flat_map(|part| &part.hosts.releases.waiting);
        let mut left: Vec<&Waiting> = waiting.filter(|waiting| waiting.began == Time::NEVER).collect();
        left.sort_by_key(|waiting| waiting.number);
        let known = |waiting: &&&Waiting| spec.transfer(spec.waits[waiting.number as usize].transfer);
        let rows: Vec<_> = left.iter().filter_map(|waiting| Some((known(&waiting)?, **waiting))).collect();
        let bytes = |of: &Known<'_>, row: u32| of.list.get(row as usize).map_or(0, |transfer| transfer.bytes);
        let row = |waiting: &Waiting| spec.waits[waiting.number as usize].transfer.row;
        WAITING_TRANSFERS
            .builder()
            .texts("name", rows.iter().map(|(known, _)| entry_of(known.flow).to_string()))
            .texts("source", rows.iter().map(|(known, _)| self.node_name(known.flow.from)))
            .texts("destination", rows.iter().map(|(known, _)| self.node_name(known.ends.hosts[1])))
            .integers("bytes", rows.iter().map(|(known, waiting)| bytes(known, row(waiting))))
            .integers(
                "after",
                rows.iter().map(|(_, waiting)| spec.waits[waiting.number as usize].after.len() as u64),
            )
            .integers("missing", rows.iter().map(|(_, waiting)| waiting.left.into()))
    }

    /// For paths whose routes change, returns their starts in the table of hops during the run.
    pub(super) fn path_starts(&self) -> BTreeMap<u32, Vec<u32>> {
        let mut starts: BTreeMap<u32, Vec<u32>> = BTreeMap::new();
        for action in self.s.parts().next().map_or(&[][..], |part| &part.faults.actions[..]) {
            if let &Action::Path { path, start } = action {
                starts.entry(path).or_insert_with(|| vec![self.s.first_starts[path as usize]]).push(start);
            }
        }
        starts
    }

    /// Returns all transfers that have started, in the order of their start times.
    fn transfer_rows(&self) -> Vec<Row> {
        let mut rows = Vec::new();
        let starts = self.path_starts();
        let released = self.released();
        let periods = self.rate_periods();
        for (flow, spec) in (0..).zip(&self.s.spec.flows) {
            let Some(list) = spec.source.transfers() else { continue };
            let first_path = self.s.source(flow as usize).first_path;
            let mut paths: Vec<Option<OfPath>> =
                (0..spec.source.destinations.count()).map(|_| None).collect();
            let mut by_path: Vec<Vec<Transfer>> = vec![Vec::new(); paths.len()];
            if spec.transport.is_some() {
                let begun = Self::begun(&released, flow, list);
                begun.for_each(|own| by_path[own.destination as usize].push(own));
            }
            let mut numbers = vec![0; paths.len()];
            for (place, transfer) in Self::begun(&released, flow, list).enumerate() {
                let nth = numbers[transfer.destination as usize];
                numbers[transfer.destination as usize] += 1;
                if transfer.start > self.end {
                    continue;
                }
                let path = first_path + transfer.destination;
                let of = paths[transfer.destination as usize].get_or_insert_with(|| {
                    let starts = starts.get(&path).map_or(&[][..], |starts| starts);
                    self.of_path(path as usize, spec, starts, &by_path[transfer.destination as usize])
                });
                let ports = of.ports.get(nth as usize).copied().unwrap_or(transfer.ports);
                let Some(came) = self.came_of(of, nth, list.framing()) else { continue };
                let span = periods.of(transfer.start, came.done.unwrap_or(self.end));
                let ways = of.idle.entry(span).or_insert_with(|| {
                    self.idle_ways(of.path, spec, &of.starts, &self.link_rates(&periods, span))
                });
                let ideals =
                    ways.iter_mut().map(|idle| idle.time(list.framing(), transfer.bytes, came.reused));
                let ideal = ideals.min().unwrap_or_default();
                rows.push(Row { flow, path, nth: place, transfer, came, ideal, ports });
            }
        }
        // A stable sort: simultaneous transfers stay in the order of the flows.
        rows.sort_by_key(|row| row.transfer.start);
        rows
    }

    /// Returns the table of transfers, and the breakdown of the time of those over queue pairs.
    pub fn transfers(&self) -> Vec<TableBuilder> {
        let rows = self.transfer_rows();
        let times = (0..).zip(&rows).filter_map(|(transfer, row)| {
            let (queue_pair, came, times) = row.came.times?;
            let request = came.map_or(Time::ZERO, |came| came.saturating_sub(row.transfer.start));
            Some(Message { transfer, queue_pair, request, times })
        });
        let times = message_times(&times.collect::<Vec<_>>());
        vec![self.transfer_table(&rows), times]
    }

    fn transfer_table(&self, rows: &[Row]) -> TableBuilder {
        let flows = &self.s.spec.flows;
        let spec = |row: &Row| &flows[row.flow as usize];
        let frames = |row: &Row| {
            let list = spec(row).source.transfers();
            list.map_or(0, |list| list.framing().frames(row.transfer.bytes))
        };
        let nodes = || {
            if rows.is_empty() {
                Vec::new()
            } else {
                self.s.spec.nodes.iter().map(|node| node.name.clone()).collect()
            }
        };
        let names = flows.iter().map(|flow| entry_of(flow).to_string());
        let names = if rows.is_empty() { Vec::new() } else { names.collect() };
        // The empty id is first: most transfers have none.
        let (mut ids, mut id_of) = (vec![String::new()], Vec::with_capacity(rows.len()));
        for row in rows {
            let id = spec(row).source.transfers().map_or("", |list| list.id(row.nth));
            if !id.is_empty() {
                ids.push(id.to_string());
            }
            id_of.push(if id.is_empty() { 0 } else { ids.len() as u32 - 1 });
        }
        let to = |row: &Row| spec(row).source.destinations.nth(row.transfer.destination).0;
        let ns = |time: Option<Time>| time.map_or(f64::NAN, Time::as_ns_f64);
        let took = |row: &Row| row.came.done.map(|done| done - row.transfer.start);
        let acknowledged = |row: &Row| row.came.acknowledged.map(|at| at - row.transfer.start);
        let slowdown =
            |row: &Row| took(row).map_or(f64::NAN, |took| took.ps() as f64 / row.ideal.ps().max(1) as f64);
        TRANSFERS
            .builder()
            .named("name", names, rows.iter().map(|row| row.flow))
            .named("id", if rows.is_empty() { Vec::new() } else { ids }, id_of)
            .named("source", nodes(), rows.iter().map(|row| spec(row).from.0))
            .named("destination", nodes(), rows.iter().map(to))
            .integers("source_port", rows.iter().map(|row| row.ports.source.into()))
            .integers("destination_port", rows.iter().map(|row| row.ports.destination.into()))
            .integers("class", rows.iter().map(|row| spec(row).priority.0.into()))
            .integers("bytes", rows.iter().map(|row| row.transfer.bytes))
            .integers("frames", rows.iter().map(frames))
            .integers("frames_missing", rows.iter().map(|row| row.came.frames_missing))
            .reals("start_ns", rows.iter().map(|row| row.transfer.start.as_ns_f64()))
            .reals("completion_ns", rows.iter().map(|row| ns(took(row))))
            .reals("ideal_ns", rows.iter().map(|row| row.ideal.as_ns_f64()))
            .reals("slowdown", rows.iter().map(slowdown))
            .reals("acknowledged_ns", rows.iter().map(|row| ns(acknowledged(row))))
            .integers("segments_sent_again", rows.iter().map(|row| row.came.sent_again.into()))
            .integers("timeouts", rows.iter().map(|row| row.came.timeouts.into()))
            .integers("path", rows.iter().map(|row| row.path.into()))
    }
}
