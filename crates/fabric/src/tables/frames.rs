//! The log of frames at selected ports.

use super::View;
use super::message_lengths::MessageLengths;
use super::ports::KnownPorts;
use crate::run::state::frame_log::{Happened, Log, Row};
use flow_control::PauseKind;
use frame::{Ecn, FrameKind, Heading, Notice, PRIORITIES, PortId, Ports, Sampled};
use measure::table::{integer, real, real_or_null, text};
use measure::{TableBuilder, TableSpec};
use transport::{ConnectionSpec, Operation, PROTOCOLS};

/// Columns of `frames`.
pub(super) static FRAMES: TableSpec = TableSpec {
    name: "frames",
    about: "One row per frame at a port selected by `[[probes]]`, in order of time.",
    columns: &[&[
        integer(
            "time_ps",
            "ps",
            "Time at which its last bit was received, its first bit was sent, or it was dropped.",
        ),
        text("port", "The port."),
        text("direction", "in: received through the port; out: sent, or dropped before it could be sent."),
        text("event", "arrived, sent or dropped."),
        text("cause", "Cause of the drop, as in the table `drops`; lost: a pause frame that did not arrive."),
        text(
            "kind",
            "raw (of a source), part (of a transfer or a message of a job without a transport), data, ack or marked_ack (of a connection; the latter echoes a mark), cnp, cnm (a message of a switch), tag, pause or pfc.",
        ),
        text("protocol", transport::PROTOCOL_COLUMN),
        text("verb", transport::VERB_COLUMN),
        integer(
            "message_bytes",
            "B",
            "For the first packet of a WRITE, bytes of its message, if all of its packets are in this log; for the request of a READ, bytes requested; otherwise 0.",
        ),
        text("flow", "Flow of the frame; empty for a pause frame."),
        text("source", "Source host; for a message of a switch, the other end of its flow."),
        text("destination", "Destination host."),
        integer(
            "source_port",
            "",
            "UDP port (raw and part) or TCP port of the source: given, or drawn at random. 0 for a pause frame.",
        ),
        integer("destination_port", "", "UDP or TCP port of the destination."),
        integer("priority", "", "Priority, 0 to 7, or channel, 0 to 19."),
        integer("bytes", "B", "Length, DA to FCS."),
        integer("word", "", transport::WORD_COLUMN),
        text("cn_tag", "Number of the flow in its CN-TAG; empty without one."),
        integer("ecn", "", "ECN bits: 0 not capable, 1 and 2 capable, 3 marked."),
        integer(
            "created_ps",
            "ps",
            "Time at which it was created; with flow and kind, this identifies a frame. 0 for a pause frame.",
        ),
        real_or_null(
            "deviation_ns",
            "ns",
            "For a frame with data that arrived at its destination: difference of its delay from the mean of all earlier frames of its flow in this log. Not a number for all others.",
        ),
    ]],
};

/// Columns of `congestion_messages`.
pub(super) static CONGESTION_MESSAGES: TableSpec = TableSpec {
    name: "congestion_messages",
    about: "One row per congestion message in `frames`, with its contents.",
    columns: &[&[
        integer("row", "", "Row of the message in `frames`, from 0."),
        text("port", "Egress port of the congestion point."),
        integer(
            "class",
            "",
            "Traffic class of the congestion point; for a congestion point of a port, the lowest of its classes.",
        ),
        integer(
            "congestion_point",
            "",
            "Identifier of the congestion point (CPID): the address of the station, followed by 16 bits with eight times the number of the port, plus the class.",
        ),
        integer("feedback", "", "Feedback value; for QCN the quantised feedback, 1 to 63."),
        real(
            "offset_bytes",
            "B",
            "Set point minus queue length (cnmQOffset), in steps of 64 B; negative if the queue is longer. 0 for schemes without this field.",
        ),
        real(
            "delta_bytes",
            "B",
            "Growth of the queue since the last sample (cnmQDelta), in steps of 64 B; 0 for schemes without this field.",
        ),
        text("sampled_kind", "Kind of the sampled frame, as in `frames`."),
        integer("sampled_priority", "", "Priority of the sampled frame."),
        integer("sampled_bytes", "B", "Length, DA to FCS."),
        integer("sampled_word", "", "`word` of the sampled frame, as in `frames`."),
        integer("octets", "B", "Octets of the sampled frame in the message, from its type field on."),
    ]],
};

/// Kinds of frames in the order of [`FrameKind`], followed by those of flow control.
const KINDS: [&str; 10] = ["raw", "data", "ack", "marked_ack", "cnp", "cnm", "tag", "part", "pause", "pfc"];

impl View<'_> {
    /// Returns the frame log, and the tables derived from it.
    pub fn frames(&self) -> [TableBuilder; 3] {
        let rows = self.logged();
        let ends: Vec<[u32; 2]> = rows.iter().map(|row| self.ends(row)).collect();
        let (deviations, variations) = self.deviations(&rows, &ends);
        let names = |all: &mut dyn Iterator<Item = String>| {
            if rows.is_empty() { Vec::new() } else { all.collect() }
        };
        let ports = names(&mut (0..self.s.ports() as u32).map(|port| self.s.port_name(port)));
        let nodes = || names(&mut self.s.spec.nodes.iter().map(|node| node.name.clone()));
        let flows = self.s.spec.flows.iter().map(|flow| flow.name.clone());
        let flows = names(&mut flows.chain([String::new()]));
        let none = self.s.spec.flows.len() as u32;
        let flow = |row: &Row| {
            if row.is_pause() { none } else { self.s.path_flow[row.frame.path.at()] }
        };
        let kinds = names(&mut KINDS.map(String::from).into_iter());
        let directions = names(&mut ["out", "in"].map(String::from).into_iter());
        let events = names(&mut ["arrived", "sent", "dropped"].map(String::from).into_iter());
        let protocols = names(&mut PROTOCOLS.map(String::from).into_iter());
        let verbs = names(&mut Operation::NAMES.map(String::from).into_iter());
        let lengths = MessageLengths::of(self, &rows);
        let mut known = KnownPorts::default();
        let tuples: Vec<Ports> = rows.iter().map(|row| self.ports_of(row, &mut known)).collect();
        let event = |row: &Row| match row.happened {
            Happened::Arrived => 0,
            Happened::Sent => 1,
            Happened::Dropped(_) => 2,
        };
        let cause = |row: &Row| match row.happened {
            Happened::Dropped(Some(cause)) => cause.name().to_string(),
            Happened::Dropped(None) => "lost".to_string(),
            _ => String::new(),
        };
        let log = FRAMES
            .builder()
            .integers("time_ps", rows.iter().map(|row| row.time.ps()))
            .named("port", ports, rows.iter().map(|row| row.port))
            .named("direction", directions, rows.iter().map(|row| row.inward.into()))
            .named("event", events, rows.iter().map(event))
            .texts("cause", rows.iter().map(cause))
            .named("kind", kinds, rows.iter().map(|row| self.kind(row)))
            .named("protocol", protocols, rows.iter().map(|row| self.protocol(row)))
            .named("verb", verbs, rows.iter().map(|row| self.verb(row)))
            .integers("message_bytes", rows.iter().map(|row| lengths.bytes(self, row)))
            .named("flow", flows, rows.iter().map(flow))
            .named("source", nodes(), ends.iter().map(|ends| ends[0]))
            .named("destination", nodes(), ends.iter().map(|ends| ends[1]))
            .integers("source_port", tuples.iter().map(|ports| ports.source.into()))
            .integers("destination_port", tuples.iter().map(|ports| ports.destination.into()))
            .integers("priority", rows.iter().map(|row| row.frame.priority().0.into()))
            .integers("bytes", rows.iter().map(|row| row.frame.bytes.into()))
            .integers("word", rows.iter().map(|row| row.frame.word.into()))
            .named_by("cn_tag", rows.iter().map(|row| row.cn_tag), |flow| {
                flow.map_or(String::new(), |flow| flow.to_string())
            })
            .integers("ecn", rows.iter().map(ecn))
            .integers("created_ps", rows.iter().map(|row| row.frame.created.ps()))
            .reals("deviation_ns", deviations);
        [log, self.congestion_messages(&rows), self.delay_variation(&variations)]
    }

    /// Returns the table of logged congestion messages.
    fn congestion_messages(&self, log: &[Row]) -> TableBuilder {
        let rows: Vec<(u64, &Notice)> =
            (0..).zip(log).filter_map(|(nth, row)| Some((nth, row.notice.as_ref()?))).collect();
        let place =
            |notice: &Notice| (notice.point.0 / PRIORITIES as u32, notice.point.0 % PRIORITIES as u32);
        let sampled = |of: fn(&Sampled) -> u64| rows.iter().map(move |row| of(&row.1.sampled));
        let kinds = KINDS.map(String::from).into();
        CONGESTION_MESSAGES
            .builder()
            .integers("row", rows.iter().map(|row| row.0))
            .texts("port", rows.iter().map(|row| self.s.port_name(place(row.1).0)))
            .integers("class", rows.iter().map(|row| place(row.1).1.into()))
            .integers("congestion_point", rows.iter().map(|row| self.congestion_point(place(row.1))))
            .integers("feedback", rows.iter().map(|row| row.1.feedback.into()))
            .reals("offset_bytes", rows.iter().map(|row| 64.0 * f64::from(row.1.offset)))
            .reals("delta_bytes", rows.iter().map(|row| 64.0 * f64::from(row.1.delta)))
            .named("sampled_kind", kinds, rows.iter().map(|row| row.1.sampled.kind as u32))
            .integers("sampled_priority", sampled(|it| it.priority.0.into()))
            .integers("sampled_bytes", sampled(|it| it.bytes.into()))
            .integers("sampled_word", sampled(|it| it.word.into()))
            .integers("octets", sampled(|it| it.octets.into()))
    }

    /// The identifier of a congestion point, with the addresses used in captures.
    fn congestion_point(&self, (port, class): (u32, u32)) -> u64 {
        let wiring = &self.s.wiring;
        let station = u64::from(wiring.node_of[port as usize].0) + 1;
        let local = wiring.local(PortId(port)) as u64 * PRIORITIES as u64 + u64::from(class);
        (0x0200_0000_0000 + station) << 16 | (local & 0xFFFF)
    }

    /// The first rows of all logs, merged in the order of time.
    fn logged(&self) -> Vec<Row> {
        let logs = self.s.parts().filter_map(|part| part.probes.frames.as_deref());
        let count = logs.clone().map(|own| own.logs.len()).max().unwrap_or(0);
        let first = |log: usize| Log::first_rows(logs.clone().map(|own| &own.logs[log]), self.end);
        let mut rows: Vec<Row> = (0..count).flat_map(first).collect();
        if count > 1 {
            rows.sort_by_key(Row::key);
        }
        rows
    }

    /// Source and destination of a frame.
    fn ends(&self, row: &Row) -> [u32; 2] {
        if row.is_pause() {
            let port = PortId(row.port);
            let ends = [self.s.wiring.node_of[port.at()].0, self.s.wiring.neighbour(port).0];
            return if row.inward { [ends[1], ends[0]] } else { ends };
        }
        let path = row.frame.path.at();
        let from = self.s.spec.flows[self.s.path_flow[path] as usize].from;
        let last = self.s.path_of(path).last();
        let to = match row.frame.route.heading() {
            Heading::Destination(to) if !row.back => to,
            _ => last.map_or(from, |&port| self.s.wiring.neighbour(PortId(port))),
        };
        if row.back { [to.0, from.0] } else { [from.0, to.0] }
    }

    /// The connection to which a frame belongs.
    pub(super) fn connection_of(&self, row: &Row) -> Option<&'_ ConnectionSpec> {
        let flow = (!row.is_pause()).then(|| self.s.path_flow[row.frame.path.at()] as usize)?;
        self.s.spec.flows[flow].transport.as_deref()
    }

    /// Returns the operation that a frame over queue pairs belongs to.
    pub(super) fn operation_of(&self, row: &Row) -> Option<Operation> {
        let pairs = self.connection_of(row)?.queue_pairs()?;
        Some(Operation::labelled(row.operation, pairs.verb))
    }

    fn protocol(&self, row: &Row) -> u32 {
        self.connection_of(row).map_or(0, ConnectionSpec::protocol)
    }

    fn verb(&self, row: &Row) -> u32 {
        self.operation_of(row).map_or(0, Operation::column)
    }

    fn kind(&self, row: &Row) -> u32 {
        if self.connection_of(row).is_some_and(ConnectionSpec::is_frames) {
            return FrameKind::Part as u32;
        }
        if !row.is_pause() {
            return row.frame.flags.kind() as u32;
        }
        let sender = if row.inward { self.s.peer(row.port) } else { row.port };
        let node = &self.s.spec.nodes[self.s.wiring.node_of[sender as usize].at()];
        let is_pause = node.pauses().is_some_and(|control| control.kind == PauseKind::Link);
        FrameKind::Part as u32 + if is_pause { 1 } else { 2 }
    }
}

fn ecn(row: &Row) -> u64 {
    match row.frame.flags.ecn() {
        Ecn::NotCapable => 0,
        Ecn::Capable1 => 1,
        Ecn::Capable => 2,
        Ecn::Experienced => 3,
    }
}
