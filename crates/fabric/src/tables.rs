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
mod durations;
mod forensics;
mod frames;
mod idle;
mod idle_connection;
mod latencies;
mod limiters;
mod losses;
mod occupancies;
mod pauses;
mod series;
mod storms;
mod streams;
mod summary;
mod transfers;
mod used_queues;

use self::durations::{with_latency, with_wait};
use self::series::{FLOW_SERIES, Series, series_table};
use self::used_queues::{UsedQueue, used_queues};
use crate::run::hosts::Receiver;
use crate::run::ledger::Part;
use crate::simulation::Simulation;
use crate::spec::Way;
use frame::{CHANNELS, HEADER_BYTES, TrafficClass};
use measure::{Latency, LatencySummary, Passage, Table, jain};
use std::collections::BTreeMap;
use std::panic::resume_unwind;
use std::thread;
use units::Time;

impl Simulation {
    /// The result up to now, as tables.
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
    let start = simulation.spec.warmup.min(end);
    let long = simulation.frame_hops() >= LEAST_HOPS;
    let simulation = &*simulation;
    let looked_at = |used_queues| View {
        s: simulation,
        start,
        end,
        in_flight: in_flight.clone(),
        arriving: arriving.clone(),
        used_queues,
    };
    let apart = looked_at(Vec::new());
    let of_pauses = move || {
        let forensics = apart.forensics();
        [apart.pauses(&forensics), apart.congestion(&forensics), apart.congestion_flows(&forensics)]
    };
    let others = || beside_pauses(&looked_at(used_queues(simulation, start, end)));
    // Who stood where while ports were paused, and for how long frames have waited, asks each frame that waits, and finds
    // little of it in a cache: two threads take half as long.
    let (pauses, [before, after]) = if long {
        thread::scope(|scope| {
            let pauses = scope.spawn(of_pauses);
            let others = others();
            (pauses.join().unwrap_or_else(|panic| resume_unwind(panic)), others)
        })
    } else {
        (of_pauses(), others())
    };
    before.into_iter().chain(pauses).chain(after).collect()
}

/// Frame-hops from which the tables take longer than a thread to start.
const LEAST_HOPS: u64 = 100_000;

/// The tables before and after those of pauses.
fn beside_pauses(view: &View<'_>) -> [Vec<Table>; 2] {
    let flows = view.flow_rows();
    let series = view.series();
    let [frames, delay_variation] = view.frames();
    let before = vec![
        view.flows(&flows, &series),
        view.demands(),
        view.paths(),
        view.connections(),
        view.rate_limiters(),
        view.slowdowns(),
        view.transfers(),
        view.streams(),
        view.classes(&flows),
        view.latencies(&flows),
        view.ports(),
        view.queues(),
        view.contention(),
        view.occupancies(),
    ];
    let after = vec![
        view.deadlocks(),
        view.storms(),
        view.credits(),
        view.crossbars(),
        view.dcbx(),
        view.drops(),
        view.faults(),
        view.watermarks(),
        series_table(series),
        frames,
        delay_variation,
        view.summary(&flows),
    ];
    [before, after]
}

pub(crate) struct View<'a> {
    pub s: &'a Simulation,
    pub start: Time,
    pub end: Time,
    in_flight: Vec<(u64, u64)>,
    /// Frames of which the end has seen a part, with their paths.
    arriving: Vec<(u32, Passage)>,
    used_queues: Vec<UsedQueue>,
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

    fn flow_rows(&self) -> Vec<FlowRow> {
        let mut dropped = vec![0; self.s.spec.flows.len()];
        for (&(_, _, path, part, _), &(frames, _)) in &self.s.ledger().drops {
            if part == Part::Sent {
                dropped[self.s.path_flow[path.at()] as usize] += frames;
            }
        }
        let mut rows = Vec::with_capacity(self.s.spec.flows.len());
        for (flow, dropped) in dropped.into_iter().enumerate() {
            let source = self.s.source(flow);
            let first = source.first_path as usize;
            let spec = &self.s.spec.flows[flow];
            let mut received = Receiver::default();
            for receiver in (first..first + spec.paths()).flat_map(|path| self.s.receivers(path)) {
                received.frames += receiver.frames;
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
            });
        }
        rows
    }

    fn flows(&self, rows: &[FlowRow], series: &[Series]) -> Table {
        let flows = &self.s.spec.flows;
        let goodput =
            |row: &FlowRow| row.received.bytes.saturating_sub(row.received.frames * u64::from(HEADER_BYTES));
        let destination = |flow: &crate::spec::FlowSpec| match flow.source.destinations.count() {
            1 => self.node_name(flow.source.destinations.nth(0)),
            all if flow.source.destinations.are_all_meant() => format!("all of {all} hosts"),
            several => format!("{several} hosts"),
        };
        let table = Table::new("flows", "One row a flow: one sending host under one name.")
            .texts("flow", "Name of the flow.", flows.iter().map(|flow| flow.name.clone()))
            .integers("class", "", "Priority of its frames, 0 to 7; with `channels = \"all\"` the number of their channel, 0 to 19.", flows.iter().map(|flow| flow.priority.0.into()))
            .texts("source", "Sending node.", flows.iter().map(|flow| self.node_name(flow.from)))
            .texts("destination", "Receiving host, or how many there are: each frame for one of them, or for all of them.", flows.iter().map(destination))
            .reals(
                "offered_bps",
                "b/s",
                "Bits of frames (DA to FCS) that the source handed to its NIC, a second of measured time. Of a connection its segments or requests: what comes back is not in this table.",
                rows.iter().map(|row| self.bps(row.bytes_sent)),
            )
            .reals(
                "throughput_bps",
                "b/s",
                "Bits of frames (DA to FCS) delivered, a second of measured time; of a flow that switches copy to all of its receivers together. Of requests and responses the requests alone; the table `connections` has the bytes of whole exchanges.",
                rows.iter().map(|row| self.bps(row.received.bytes)),
            )
            .reals(
                "goodput_bps",
                "b/s",
                "Bits delivered without Ethernet header and FCS (18 B a frame), a second of measured time.",
                rows.iter().map(|row| self.bps(goodput(row))),
            )
            .integers("frames_sent", "", "Frames handed to the NIC.", rows.iter().map(|row| row.frames_sent))
            .integers("frames_copied", "", "Copies that switches made of its frames, where it goes to several hosts at once: beside the frames sent there are so many that can be delivered.", rows.iter().map(|row| row.copied))
            .integers("frames_delivered", "", "Frames delivered.", rows.iter().map(|row| row.received.frames))
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
            .reals(
                "latency_min_ns",
                "ns",
                "Shortest latency.",
                rows.iter().map(|row| row.latency.min),
            )
            .reals("jitter_ns", "ns", "Standard deviation of the latency.", rows.iter().map(|row| row.latency.stddev))
            .reals(
                "throughput_stddev_bps",
                "b/s",
                "Standard deviation of the throughput over the bins of the time series; not a number without series.",
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

    fn classes(&self, rows: &[FlowRow]) -> Table {
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
        let table = Table::new("classes", "One row a priority in use.")
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
                each().map(|c| sum(c, |r| r.received.frames)),
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
        for queue in &self.used_queues {
            mean_bytes[queue.port as usize] += queue.mean[0];
        }
        Table::new("ports", "One row a port: one end of a link, with its transmitter and egress queues.")
            .texts("port", "Name: node, number of the port, node at the other end.", each().map(|p| self.s.port_name(p)))
            .texts("node", "Node of the port.", each().map(|p| self.node_name(self.s.wiring.node_of[p as usize])))
            .texts("peer", "Node at the other end.", each().map(|p| self.node_name(self.s.wiring.neighbour(id(p)))))
            .reals("rate_bps", "b/s", "Rate of the link; at the end, if it changes.", each().map(|p| self.s.cold(p).rate.bps_f64()))
            .integers("overhead_bytes", "B", "Bytes around each frame on the link: preamble and inter-frame gap.", each().map(|p| self.overhead(p as usize)))
            .reals("utilisation", "", "Share of measured time in which the transmitter was busy, line overhead and pause frames included.", each().map(utilisation))
            .integers("frames_sent", "", "Frames sent, pause frames not counted.", each().map(sent))
            .integers("bytes_sent", "B", "Bytes sent, DA to FCS.", each().map(|p| self.s.sent(p, u32::MAX).0))
            .integers("frames_received", "", "Frames received, pause frames not counted.", each().map(received))
            .integers("bytes_received", "B", "Bytes received, DA to FCS.", each().map(bytes_received))
            .reals("queue_bytes_mean", "B", "Mean over time of all bytes waiting at the port.", mean_bytes)
            .integers("queue_bytes_max", "B", "Most bytes that ever waited in one of its queues.", each().map(max_bytes))
            .integers("drops", "", "Frames lost at this port.", each().map(|p| counts(p).drops))
            .integers("pauses_sent", "", "Pause frames with an XOFF sent through this port.", each().map(|p| counts(p).pauses_sent))
            .integers("pauses_received", "", "Pause frames with an XOFF received; a `control_frame` of `[[faults]]` counts once for each of the times that it has.", each().map(|p| counts(p).pauses_received))
            .integers("resumes_sent", "", "Pause frames with an XON sent through this port.", each().map(|p| counts(p).resumes_sent))
            .reals("paused_s", "s", "Time in which some priority of this port had to stop.", each().map(paused))
            .integers("headroom_violations", "", "Frames of lossless classes that a limit lost at this port.", each().map(|p| counts(p).violations))
            .integers("ties", "", "Losses and targeted pauses at this port that were decided between frames of different sources that came in the same picosecond: by an order that real clocks, which are never equal, would not keep.", each().map(|p| counts(p).ties))
            .integers("bit_errors", "", "Frames that arrived here with a wrong checksum and were discarded.", each().map(|p| counts(p).bit_errors))
            .integers("pauses_lost", "", "Pause frames sent through this port that were lost or damaged.", each().map(|p| counts(p).pauses_lost))
    }

    fn queues(&self) -> Table {
        let used = &self.used_queues;
        let queue = |row: &UsedQueue| self.s.queue(row.port, row.class);
        let bytes = |row: &UsedQueue| {
            let classes = &self.s.node_at(row.port).classes;
            self.s.sent(row.port, classes.numbers_of(TrafficClass(row.class))).0
        };
        let waits = |row: &UsedQueue| {
            let queue = queue(row);
            queue.waits.summary_with_zeros(row.frames.saturating_sub(queue.waits.count()))
        };
        let managed = |row: &UsedQueue| {
            let managers = &self.s.cold(row.port).managers;
            managers
                .get(usize::from(row.class))
                .and_then(Option::as_ref)
                .map_or_else(Default::default, |own| own.counts)
        };
        let table =
            Table::new("queues", "One row an egress queue (a traffic class of a port) that carried frames.")
                .texts("port", "Name of the port.", used.iter().map(|row| self.s.port_name(row.port)))
                .integers(
                    "class",
                    "",
                    "Traffic class, 0 to 7; with `channels = \"all\"` 0 to 19.",
                    used.iter().map(|row| row.class.into()),
                )
                .integers(
                    "frames",
                    "",
                    "Frames that left the queue, those that did not wait included.",
                    used.iter().map(|row| row.frames),
                )
                .integers("bytes", "B", "Their bytes, DA to FCS.", used.iter().map(bytes));
        let waits: Vec<_> = used.iter().map(waits).collect();
        self.with_levels(with_wait(table, waits.into_iter()), used)
            .integers(
                "drops",
                "",
                "Frames refused by the queue, by its manager or by a limit around it.",
                used.iter().map(|row| queue(row).drops),
            )
            .integers(
                "marks",
                "",
                "Frames that the queue's manager marked.",
                used.iter().map(|row| managed(row).marks),
            )
            .integers(
                "messages",
                "",
                "Congestion messages that the queue's manager sent to sources.",
                used.iter().map(|row| managed(row).messages),
            )
    }

    /// What waited in these queues.
    fn with_levels(&self, table: Table, used: &[UsedQueue]) -> Table {
        let max = |row: &UsedQueue| self.s.queue(row.port, row.class).sojourns.max();
        table
            .reals(
                "queue_bytes_mean",
                "B",
                "Mean over time of the bytes that wait.",
                used.iter().map(|row| row.mean[0]),
            )
            .integers("queue_bytes_max", "B", "Most bytes that waited.", used.iter().map(|row| max(row)[0]))
            .reals(
                "queue_frames_mean",
                "",
                "Mean over time of the frames that wait.",
                used.iter().map(|row| row.mean[1]),
            )
            .integers("queue_frames_max", "", "Most frames that waited.", used.iter().map(|row| max(row)[1]))
    }
}
