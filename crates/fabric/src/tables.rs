//! The result of a simulation as described tables.

mod congestion_flows;
mod connections;
mod contention;
mod credits;
mod crossbars;
mod dcbx;
mod deadlocks;
mod delay_variation;
mod demands;
mod domains;
mod durations;
mod forensics;
mod frames;
mod idle;
mod idle_connection;
mod idle_message;
mod latencies;
mod limiters;
mod link_rates;
mod losses;
mod message_lengths;
mod message_times;
mod occupancies;
mod pauses;
mod ports;
mod queue_pairs;
mod queues;
mod series;
mod storms;
mod streams;
mod summary;
mod transfers;
mod used_queues;
mod watermarks;

use self::durations::with_latency;
use self::forensics::Forensics;
use self::series::{FLOW_SERIES, Series, series_table};
use self::used_queues::UsedQueue;
use crate::run::state::hosts::Receiver;
use crate::run::state::ledger::Part;
use crate::simulation::Simulation;
use crate::spec::Way;
use frame::{CHANNELS, HEADER_BYTES};
use measure::{Latency, LatencySummary, Passage, Table, jain};
use std::collections::{BTreeMap, BTreeSet};
use std::iter;
use std::panic::resume_unwind;
use std::sync::OnceLock;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::thread;
use transport::Protocol;
use units::Time;

impl Simulation {
    /// The result up to now, as tables. Of a run that is not over, [`Simulation::cut_short`] makes it that of one time.
    pub fn tables(&mut self) -> Vec<Table> {
        self.settle();
        tables(self)
    }
}

/// All tables, in the order of documentation.
fn tables(simulation: &mut Simulation) -> Vec<Table> {
    let end = simulation.now();
    let in_flight = simulation.in_flight();
    let arriving = simulation.arriving();
    let long = simulation.frame_hops() >= LEAST_HOPS;
    let view = View {
        start: simulation.measured_from(),
        end,
        in_flight,
        arriving,
        used_queues: OnceLock::new(),
        flow_rows: OnceLock::new(),
        series: OnceLock::new(),
        forensics: OnceLock::new(),
        s: simulation,
    };
    let next = AtomicUsize::new(0);
    let work = || {
        let jobs = iter::from_fn(|| BEGUN.get(next.fetch_add(1, Ordering::Relaxed)));
        jobs.flat_map(|make| make(&view)).collect::<Vec<_>>()
    };
    // Most of them look at what is in no cache: two threads take half as long.
    let mut found = thread::scope(|scope| {
        let beside = long.then(|| scope.spawn(work));
        let mut found = work();
        if let Some(beside) = beside {
            found.extend(beside.join().unwrap_or_else(|panic| resume_unwind(panic)));
        }
        found
    });
    found
        .sort_by_key(|table| ORDER.iter().position(|name| *name == table.name).expect("a table of the list"));
    found
}

/// Frame-hops from which the tables take longer than a thread to start.
const LEAST_HOPS: u64 = 100_000;

/// Makes tables, or what several of them are made of.
type Make = fn(&View<'_>) -> Vec<Table>;

/// All that is to be made, in the order in which it is begun: first what others wait for, and they last.
const BEGUN: [Make; 33] = [
    |view| none(view.forensics()),
    |view| none(view.series()),
    |view| vec![view.congestion_flows()],
    |view| vec![view.ports()],
    |view| vec![view.queues()],
    |view| vec![view.watermarks()],
    |view| vec![view.flows()],
    |view| vec![view.demands()],
    |view| vec![view.paths()],
    |view| vec![view.connections()],
    |view| vec![view.queue_pairs()],
    |view| vec![view.rate_limiters()],
    |view| vec![view.slowdowns()],
    |view| view.transfers(),
    |view| vec![view.waiting_transfers()],
    |view| vec![view.streams()],
    |view| vec![view.classes()],
    |view| vec![view.latencies()],
    |view| vec![view.contention()],
    |view| vec![view.occupancies()],
    |view| vec![view.deadlocks()],
    |view| vec![view.storms()],
    |view| vec![view.credits()],
    |view| vec![view.crossbars()],
    |view| vec![view.dcbx()],
    |view| vec![view.congestion_domains()],
    |view| vec![view.drops()],
    |view| vec![view.faults()],
    |view| view.frames().into(),
    |view| vec![view.summary()],
    |view| vec![series_table(view.series())],
    |view| vec![view.pauses()],
    |view| vec![view.congestion()],
];

const fn none<T: ?Sized>(_made_for_later: &T) -> Vec<Table> {
    Vec::new()
}

/// The tables in the order of documentation.
const ORDER: [&str; 34] = [
    "flows",
    "demands",
    "paths",
    "connections",
    "queue_pairs",
    "rate_limiters",
    "slowdowns",
    "transfers",
    "message_times",
    "waiting_transfers",
    "streams",
    "classes",
    "latencies",
    "ports",
    "queues",
    "contention",
    "occupancies",
    "pauses",
    "congestion",
    "congestion_flows",
    "deadlocks",
    "storms",
    "credits",
    "crossbars",
    "dcbx",
    "congestion_domains",
    "drops",
    "faults",
    "watermarks",
    "series",
    "frames",
    "congestion_messages",
    "delay_variation",
    "summary",
];

pub(crate) struct View<'a> {
    pub s: &'a Simulation,
    pub start: Time,
    pub end: Time,
    in_flight: Vec<(u64, u64)>,
    /// Frames of which the end has seen a part, with their paths.
    arriving: Vec<(u32, Passage)>,
    used_queues: OnceLock<Vec<UsedQueue>>,
    flow_rows: OnceLock<Vec<FlowRow>>,
    series: OnceLock<Vec<Series>>,
    forensics: OnceLock<Forensics>,
}

/// What is known of a flow over all its destinations.
struct FlowRow {
    received: Receiver,
    latency: LatencySummary,
    /// Not a number: not counted.
    reordered: f64,
    frames_sent: u64,
    bytes_sent: u64,
    padding: u64,
    dropped: u64,
    copied: u64,
    /// Frames and bytes of those received that the application did not get. Below zero if it got more of what had come before
    /// measuring began.
    undelivered: (i64, i64),
}

impl FlowRow {
    /// Bytes that the application got, without Ethernet header and FCS.
    fn good_bytes(&self) -> u64 {
        let (frames, bytes) = (self.received.frames() as i64, self.received.bytes as i64);
        let headers = (frames - self.undelivered.0) * HEADER_BYTES as i64;
        (bytes - self.undelivered.1 - headers).max(0) as u64
    }
}

impl View<'_> {
    fn seconds(&self) -> f64 {
        (self.end - self.start).as_secs_f64()
    }
    fn bps(&self, bytes: u64) -> f64 {
        let seconds = self.seconds();
        if seconds > 0.0 { bytes as f64 * 8.0 / seconds } else { 0.0 }
    }
    /// "sw.2->h1/3": port and class.
    pub fn queue_name(&self, port: u32, class: u8) -> String {
        format!("{}/{class}", self.s.port_name(port))
    }
    fn node_name(&self, id: frame::NodeId) -> String {
        self.s.spec.nodes[id.at()].name.clone()
    }

    fn flow_rows(&self) -> &[FlowRow] {
        self.flow_rows.get_or_init(|| self.flows_over_destinations())
    }

    fn flows_over_destinations(&self) -> Vec<FlowRow> {
        let mut dropped = vec![0; self.s.spec.flows.len()];
        for (&(_, _, path, part, _), &(frames, _)) in &self.s.ledger().drops {
            if part == Part::Sent {
                dropped[self.s.path_flow[path.at()] as usize] += frames;
            }
        }
        let mut undelivered = vec![(0, 0); self.s.spec.flows.len()];
        for (_, far) in self.s.connections() {
            let (now, before) = (far.endpoint.undelivered(), far.measured.undelivered_before);
            let of: &mut (i64, i64) = &mut undelivered[self.s.path_flow[far.path as usize] as usize];
            of.0 += now.frames as i64 - before.frames as i64;
            of.1 += now.bytes as i64 - before.bytes as i64;
        }
        let mut rows = Vec::with_capacity(self.s.spec.flows.len());
        for (flow, dropped) in dropped.into_iter().enumerate() {
            let source = self.s.source(flow);
            let first = source.first_path as usize;
            let spec = &self.s.spec.flows[flow];
            let mut received = Receiver::default();
            for receiver in (first..first + spec.paths()).flat_map(|path| self.s.receivers(path)) {
                received.bytes += receiver.bytes;
                received.reordered += receiver.reordered;
                received.latency.merge(&receiver.latency);
            }
            let reordered = match spec.way {
                Way::ByDestination => self.s.overtaken(first).map_or(f64::NAN, |frames| frames as f64),
                Way::Shortest | Way::Along(_) => received.reordered as f64,
            };
            let latency = received.latency.summary();
            let (frames_sent, bytes_sent) = (source.frames, source.bytes);
            let padding = source.source.padding();
            let copied = (first..first + spec.paths()).map(|path| self.s.copies_made(path)).sum();
            rows.push(FlowRow {
                received,
                latency,
                reordered,
                frames_sent,
                bytes_sent,
                padding,
                dropped,
                copied,
                undelivered: undelivered[flow],
            });
        }
        rows
    }

    /// The host that a flow goes to, or how many there are.
    fn destination(&self, flow: &crate::spec::FlowSpec) -> String {
        let to = &flow.source.destinations;
        let hosts = match flow.source.transfers() {
            // One for each path.
            Some(_) => to.nodes().into_iter().collect::<BTreeSet<_>>().len(),
            None => to.count(),
        };
        match hosts {
            1 => self.node_name(to.nth(0)),
            all if to.are_all_meant() => format!("all of {all} hosts"),
            several => format!("{several} hosts"),
        }
    }

    fn flows(&self) -> Table {
        let (rows, series) = (self.flow_rows(), self.series());
        let flows = &self.s.spec.flows;
        let destination = |flow: &crate::spec::FlowSpec| self.destination(flow);
        let table = Table::new("flows", "One row per flow: one sending host under one name.")
            .texts("flow", "Name of the flow.", flows.iter().map(|flow| flow.name.clone()))
            .integers("class", "", "Priority of its frames, 0 to 7; with `channels = \"all\"` the number of their channel, 0 to 19.", flows.iter().map(|flow| flow.priority.0.into()))
            .texts("source", "Sending node.", flows.iter().map(|flow| self.node_name(flow.from)))
            .texts("destination", "Receiving host, or how many there are: each frame for one of them, or for all of them.", flows.iter().map(destination))
            .reals(
                "offered_bps",
                "b/s",
                "Bits of frames (DA to FCS) that the source handed to its NIC, per second of measured time. Of a connection its segments or requests: what comes back is not in this table.",
                rows.iter().map(|row| self.bps(row.bytes_sent)),
            )
            .reals(
                "throughput_bps",
                "b/s",
                "Bits of frames (DA to FCS) that the NIC of the receiver took in, per second of measured time, duplicates and what is discarded there included; of a flow that switches copy to all of its receivers together. Of requests and responses the requests alone; the table `connections` has the bytes of whole exchanges.",
                rows.iter().map(|row| self.bps(row.received.bytes)),
            )
            .reals(
                "goodput_bps",
                "b/s",
                "Bits delivered to the application, in order and once, without Ethernet header and FCS (18 B a frame), per second of measured time. What a receiver discards or keeps behind a gap is in `throughput_bps` alone.",
                rows.iter().map(|row| self.bps(row.good_bytes())),
            )
            .integers("frames_sent", "", "Frames handed to the NIC.", rows.iter().map(|row| row.frames_sent))
            .integers("frames_copied", "", "Copies that switches made of its frames, where it goes to several hosts at once: beside the frames sent there are so many that can be delivered.", rows.iter().map(|row| row.copied))
            .integers("frames_delivered", "", "Frames delivered.", rows.iter().map(|row| row.received.frames()))
            .integers("frames_discarded", "", "Frames of those delivered that the application did not get: duplicates, those that the receiver discarded after a gap, and those that it still keeps behind one.", rows.iter().map(|row| row.undelivered.0.max(0) as u64))
            .integers("frames_dropped", "", "Frames lost on the way, of those that `frames_sent` counts; the table `drops` has what was lost beside them, too.", rows.iter().map(|row| row.dropped))
            .reals("frames_reordered", "", "Frames that arrived after one that the flow sent later to the same host (RFC 4737). Not a number where they are not counted: of flows whose paths are not listed, if there are more than 16777216 pairs of sender and destination.", rows.iter().map(|row| row.reordered))
            .integers("bytes_sent", "B", "Bytes handed to the NIC, with padding.", rows.iter().map(|row| row.bytes_sent))
            .integers("padding_bytes", "B", "Of these, bytes beyond the limit, because the last frame of a source or of a transfer would be shorter than 64 B. Of a connection 0: see `application_bytes` in the table `connections`.", rows.iter().map(|row| row.padding))
            .integers("bytes_delivered", "B", "Bytes delivered.", rows.iter().map(|row| row.received.bytes));
        let recorded = series.iter().filter(|series| series.metric == FLOW_SERIES);
        let recorded: BTreeMap<&str, &Series> =
            recorded.map(|series| (series.entity.as_str(), series)).collect();
        let stddev = |flow: &crate::spec::FlowSpec| {
            recorded.get(flow.name.as_str()).map_or(f64::NAN, |series| self.stddev(series))
        };
        with_latency(table, rows.iter().map(|row| row.latency))
            .reals("latency_min_ns", "ns", "Shortest latency.", rows.iter().map(|row| row.latency.min))
            .reals(
                "jitter_ns",
                "ns",
                "Standard deviation of the latency.",
                rows.iter().map(|row| row.latency.stddev),
            )
            .reals(
                "throughput_stddev_bps",
                "b/s",
                "Standard deviation of the throughput over the bins of the time series; null without series.",
                flows.iter().map(stddev),
            )
    }

    /// Population standard deviation over the complete bins of the measured time.
    fn stddev(&self, series: &Series) -> f64 {
        let first = self.start.ps().div_ceil(series.bin.ps()) as usize;
        let last = (self.end.ps() / series.bin.ps()) as usize;
        let values = series.values.get(first..last.min(series.values.len())).unwrap_or(&[]);
        let n = values.len().max(1) as f64;
        let mean = values.iter().sum::<f64>() / n;
        (values.iter().map(|v| (v - mean).powi(2)).sum::<f64>() / n).sqrt()
    }

    fn classes(&self) -> Table {
        let rows = self.flow_rows();
        let flows = &self.s.spec.flows;
        let used: Vec<u8> =
            (0..CHANNELS as u8).filter(|p| flows.iter().any(|flow| flow.priority.0 == *p)).collect();
        let of = |class: u8| {
            flows.iter().zip(rows).filter(move |(flow, _)| flow.priority.0 == class).map(|(_, row)| row)
        };
        let sum = |class: u8, value: fn(&FlowRow) -> u64| of(class).map(value).sum::<u64>();
        let latency = |class: u8| {
            let mut all = Latency::default();
            of(class).for_each(|row| all.merge(&row.received.latency));
            all.summary()
        };
        let class_jain =
            |class: u8| jain(&of(class).map(|row| row.received.bytes as f64).collect::<Vec<_>>());
        let each = || used.iter().copied();
        let table = Table::new("classes", "One row per priority in use.")
            .integers(
                "class",
                "",
                "Priority, 0 to 7; with `channels = \"all\"` the number of the channel, 0 to 19.",
                each().map(u64::from),
            )
            .integers("flows", "", "Flows of this priority.", each().map(|c| of(c).count() as u64))
            .reals(
                "offered_bps",
                "b/s",
                "As in `flows`, summed.",
                each().map(|c| self.bps(sum(c, |r| r.bytes_sent))),
            )
            .reals(
                "throughput_bps",
                "b/s",
                "As in `flows`, summed.",
                each().map(|c| self.bps(sum(c, |r| r.received.bytes))),
            )
            .integers("frames_sent", "", "Frames handed to NICs.", each().map(|c| sum(c, |r| r.frames_sent)))
            .integers(
                "frames_delivered",
                "",
                "Frames delivered.",
                each().map(|c| sum(c, |r| r.received.frames())),
            )
            .integers("frames_dropped", "", "As in `flows`, summed.", each().map(|c| sum(c, |r| r.dropped)));
        let latencies: Vec<_> = each().map(latency).collect();
        with_latency(table, latencies.into_iter()).reals(
            "jain",
            "",
            "Jain's index of the throughput of its flows: 1 if all have the same.",
            each().map(class_jain),
        )
    }

    fn ports(&self) -> Table {
        let each = || 0..self.s.ports() as u32;
        let id = |port: u32| frame::PortId(port);
        let sent = |port: u32| self.s.sent(port, u32::MAX).1;
        let counts = |port: u32| self.s.cold(port).counts;
        // What arrived is what the peer sent, and what was on the link at the start but is not at the end.
        let received = |port: u32| {
            let lost = self.in_flight[port as usize].0 + counts(port).broken.0;
            (sent(self.s.peer(port)) + self.s.in_flight_at_warmup[port as usize].0).saturating_sub(lost)
        };
        let bytes_received = |port: u32| {
            let lost = self.in_flight[port as usize].1 + counts(port).broken.1;
            let (sent, _) = self.s.sent(self.s.peer(port), u32::MAX);
            (sent + self.s.in_flight_at_warmup[port as usize].1).saturating_sub(lost)
        };
        let utilisation = |port: u32| {
            let beyond = self.s.on_link_until(port).saturating_sub(self.end).as_secs_f64();
            let before = counts(port).begun_before.as_secs_f64();
            let busy = before + self.s.time_on_wire(port) - beyond;
            if self.seconds() > 0.0 { (busy / self.seconds()).clamp(0.0, 1.0) } else { 0.0 }
        };
        let paused = |port: u32| self.s.cold(port).control.paused_time(self.end).as_secs_f64();
        let max_bytes = |port: u32| {
            self.s.port_queues(port).iter().map(|queue| queue.sojourns.max()[0]).max().unwrap_or(0)
        };
        let mut mean_bytes = vec![0.0; self.s.ports()];
        for queue in self.used_queues() {
            mean_bytes[queue.port as usize] += queue.mean[0];
        }
        Table::new("ports", "One row per port: one end of a link, with its transmitter and egress queues.")
            .texts("port", "Name: node, number of the port, node at the other end.", each().map(|p| self.s.port_name(p)))
            .texts("node", "Node of the port.", each().map(|p| self.node_name(self.s.wiring.node_of[p as usize])))
            .texts("peer", "Node at the other end.", each().map(|p| self.node_name(self.s.wiring.neighbour(id(p)))))
            .reals("rate_bps", "b/s", "Rate of the link; at the end, if it changes.", each().map(|p| self.s.cold(p).rate.bps_f64()))
            .integers("overhead_bytes", "B", "Bytes around each frame on the link: preamble and inter-frame gap.", each().map(|p| self.overhead(p as usize)))
            .reals("utilisation", "", "Fraction of measured time in which the transmitter was busy, line overhead and pause frames included.", each().map(utilisation))
            .integers("frames_sent", "", "Frames sent, pause frames not counted.", each().map(sent))
            .integers("bytes_sent", "B", "Bytes sent, DA to FCS.", each().map(|p| self.s.sent(p, u32::MAX).0))
            .integers("frames_received", "", "Frames received, pause frames not counted.", each().map(received))
            .integers("bytes_received", "B", "Bytes received, DA to FCS.", each().map(bytes_received))
            .reals("queue_bytes_mean", "B", "Mean over time of all bytes waiting at the port.", mean_bytes)
            .integers("queue_bytes_max", "B", "The most bytes that ever waited in one of its queues.", each().map(max_bytes))
            .integers("drops", "", "Frames lost at this port.", each().map(|p| counts(p).drops))
            .integers("pauses_sent", "", "Pause frames with an XOFF sent through this port.", each().map(|p| counts(p).pauses_sent))
            .integers("pauses_received", "", "Pause frames with an XOFF received; a `control_frame` of `[[faults]]` counts once for each of the times that it has.", each().map(|p| counts(p).pauses_received))
            .integers("resumes_sent", "", "Pause frames with an XON sent through this port.", each().map(|p| counts(p).resumes_sent))
            .reals("paused_s", "s", "Time during which at least one priority of this port was paused.", each().map(paused))
            .integers("headroom_violations", "", "Frames of lossless classes lost at this port because of a limit.", each().map(|p| counts(p).violations))
            .integers("ties", "", "Losses and targeted pauses at this port that were decided between frames of different sources that came in the same picosecond, or no further apart than `clock_tolerance` moves two frames: in an order that real hosts would not keep.", each().map(|p| counts(p).ties))
            .integers("bit_errors", "", "Frames that arrived here with a wrong checksum and were discarded.", each().map(|p| counts(p).bit_errors))
            .integers("pauses_lost", "", "Pause frames sent through this port that were lost or damaged.", each().map(|p| counts(p).pauses_lost))
    }
}
