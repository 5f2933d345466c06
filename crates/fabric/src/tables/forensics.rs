//! Pause forensics: the causal chains of pauses, and the congestion trees that they form.
//!
//! A pause is sent because frames for some egress queue fill a counter up to its watermark. If that queue's own port
//! has been paused while the counter rose from its low watermark, the pause is a consequence of that pause (the latest
//! that had started). If not, the queue is a root: more frames arrived than its link carries. A pause sent by a host
//! has its root in that host, which reads too slowly.
//!
//! All pauses with one root form a tree: from the root over the ports that were paused because of it to the hosts. A
//! flow with frames at the root while its pauses were in force is a culprit; a flow that was held back by them and does
//! not pass the root is a victim (`congestion_flows`).
//!
//! With ingress accounting, the frame that crosses the watermark may be for a queue that is nearly empty, while the
//! counted frames wait elsewhere. If its queue holds less than half of the counted data, the queue that holds most of
//! it is named instead.
//!
//! A root whose link was down is attributed to the fault.
//!
//! A wait for credits is a pause as well: of the waiting class, and recorded for the lowest of its priorities. Its
//! cause is the data that filled the buffer at the other end meanwhile (`credit_waits`); of several fills, the one with
//! the longest overlap. If there was none, the credits were in transit, and the buffer is smaller than a round trip:
//! the wait is then itself a root. A wait of a bypass queue, which ordered frames pass, is another pause of the same
//! port and priority; the two never overlap.
//!
//! Not modelled: shared causes. A pause has a single cause, even if two queues fill one counter.

use crate::run::fabric::Fabric;
use crate::run::state::credit_waits::Fill;
use crate::run::state::culprits::RootPlace;
use crate::run::state::link_control::PauseState;
use crate::run::state::pause_sender::PauseCause;
use crate::run::state::probes::{PauseRecord, Stopped};
use crate::tables::View;
use flow_control::credit::is_bypass;
use frame::{CHANNELS, CONTROL_FRAME_BYTES, TrafficClass};
use measure::table::{integer, real, text};
use measure::{TableBuilder, TableSpec};
use std::collections::{BTreeMap, BTreeSet};
use units::{Amount, Time};

/// Columns of `congestion`.
pub(super) static CONGESTION: TableSpec = TableSpec {
    name: "congestion",
    about: "One row per edge of a congestion tree: pauses of one port and priority that were caused by one queue and have the same root. Waits for credits, of a class or of its bypass queue, count as pauses.",
    columns: &[&[
        integer("tree", "", "Number of the tree; number 1 has the longest total pause time."),
        text("root", "Queue at which the tree began; for a slow receiver, the queue to it."),
        text(
            "why",
            "oversubscribed: more traffic arrived than its link carries; slow_receiver: the host at the other end sent pauses, or no credits; link_down: a fault; crossbar: frames for it waited at inputs while it had room; round_trip: there are fewer credits than a round trip needs; unknown.",
        ),
        integer(
            "depth",
            "",
            "Number of pauses from the root to this edge; 1 for a pause caused directly by the root.",
        ),
        text(
            "queue",
            "Queue that caused the pauses, or that filled the buffer at the other end; empty if that is a host, or if credits were in flight.",
        ),
        text("sent_by", "Port that sent the pauses, or that returns the credits."),
        text("port", "Port that was paused."),
        integer("priority", "", "Priority that was stopped, 0 to 7, or channel, 0 to 19."),
        integer("pauses", "", "Number of pauses."),
        real("paused_ns", "ns", "Total duration of the pauses."),
        real("first_ns", "ns", "Time at which the first took effect."),
        real("last_ns", "ns", "Time at which the last ended."),
    ]],
};

/// Port and class.
pub(crate) type QueuePlace = (u32, u8);

/// Reason why a queue is a root.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub(crate) enum Why {
    /// More frames arrived than the link carries.
    Oversubscribed,
    /// The host at the other end sent the pause.
    SlowReceiver,
    /// The link was down.
    LinkDown,
    /// Frames waited for the crossbar, although the output had space.
    Crossbar,
    /// There are fewer credits than a round trip requires.
    RoundTrip,
    /// The pause does not record the queue that caused it.
    Unknown,
}

impl Why {
    fn name(self) -> &'static str {
        match self {
            Why::Oversubscribed => "oversubscribed",
            Why::SlowReceiver => "slow_receiver",
            Why::LinkDown => "link_down",
            Why::Crossbar => "crossbar",
            Why::RoundTrip => "round_trip",
            Why::Unknown => "unknown",
        }
    }
}

/// A pause, with its place in the causal chain.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Pause {
    pub record: PauseRecord<u32>,
    pub cause: PauseCause,
    /// True for a wait for credits.
    pub waits: bool,
    /// True if the frames that filled the buffer were in bypass queues.
    of_bypass: bool,
    /// Time of the decision to send the pause.
    sent: Time,
    /// Reason why its queue is a root, if it is one.
    why: Why,
    /// Index of the pause that this one is a consequence of.
    pub because_of: Option<usize>,
    /// Index of its tree.
    pub tree: usize,
    depth: u64,
}

/// All pauses with one root.
#[derive(Clone, Debug)]
pub(crate) struct Tree {
    pub root: QueuePlace,
    pub why: Why,
    /// Its root, by the descriptions in its pauses' notes.
    pub places: BTreeSet<RootPlace<u32, u32>>,
    edges: BTreeMap<EdgeKey, Edge>,
    paused: Time,
}

/// Depth, queue that caused the pauses, paused port, its priority.
type EdgeKey = (u64, Option<QueuePlace>, u32, u8);

#[derive(Clone, Copy, Debug)]
struct Edge {
    pauses: u64,
    paused: Time,
    first: Time,
    last: Time,
}

/// All pauses of a run and their trees.
pub(crate) struct Forensics {
    pub pauses: Vec<Pause>,
    pub trees: Vec<Tree>,
    /// All pauses of a port and priority in the order of time, including those before measurement started.
    pub paused: BTreeMap<Stopped<u32>, Vec<PausedSpan>>,
}

/// A pause: its tree, and the measured part of its time.
#[derive(Clone, Copy, Debug)]
pub(crate) struct PausedSpan {
    pub tree: usize,
    pub start: Time,
    pub end: Time,
}

impl View<'_> {
    /// All pauses with their causes, and their trees.
    pub fn forensics(&self) -> &Forensics {
        self.forensics.get_or_init(|| self.look_for_causes())
    }

    fn look_for_causes(&self) -> Forensics {
        let mut pauses = self.pauses_with_causes();
        let mut order: Vec<usize> = (0..pauses.len()).collect();
        order.sort_by_key(|&index| (pauses[index].record.start, index));
        let mut roots: BTreeMap<(QueuePlace, Why), usize> = BTreeMap::new();
        let mut trees: Vec<Tree> = Vec::new();
        for index in order {
            let Pause { record, cause, why, .. } = pauses[index];
            let queue = cause.queue.map(|queue| self.s.place_of_queue(queue));
            // A pause takes time to take effect, so the pause that caused this one started earlier, and its tree is
            // known.
            let parent = queue
                .filter(|_| cause.inherited)
                .and_then(|queue| self.held_by(&pauses, queue, &pauses[index]));
            let (tree, depth) = match parent {
                Some(parent) => (pauses[parent].tree, pauses[parent].depth + 1),
                None => {
                    let root = (self.root_of(&record, queue, why), why);
                    let tree = *roots.entry(root).or_insert_with(|| {
                        trees.push(Tree {
                            root: root.0,
                            why: root.1,
                            places: BTreeSet::new(),
                            edges: BTreeMap::new(),
                            paused: Time::ZERO,
                        });
                        trees.len() - 1
                    });
                    if why != Why::RoundTrip {
                        trees[tree].places.insert(self.place_of_root(&record, &cause));
                    }
                    (tree, 1)
                }
            };
            let pause = &mut pauses[index];
            (pause.because_of, pause.tree, pause.depth) = (parent, tree, depth);
            let start = record.start.max(self.start);
            if record.end <= start {
                continue; // over before measuring began: it may be a cause, and is no row
            }
            let lasted = record.end - start;
            let tree = &mut trees[tree];
            let fresh = Edge { pauses: 0, paused: Time::ZERO, first: start, last: record.end };
            let edge = tree.edges.entry((depth, queue, record.port, record.priority)).or_insert(fresh);
            edge.pauses += 1;
            edge.paused += lasted;
            edge.last = edge.last.max(record.end);
            tree.paused += lasted;
        }
        // The tree with the longest paused time is first.
        let mut rank: Vec<usize> = (0..trees.len()).filter(|&tree| !trees[tree].edges.is_empty()).collect();
        rank.sort_by_key(|&tree| (std::cmp::Reverse(trees[tree].paused), trees[tree].root, trees[tree].why));
        let mut place = vec![0; trees.len()];
        rank.iter().enumerate().for_each(|(new, &old)| place[old] = new);
        pauses.iter_mut().for_each(|pause| pause.tree = place[pause.tree]);
        let trees = rank.iter().map(|&old| trees[old].clone()).collect();
        let mut paused: BTreeMap<Stopped<u32>, Vec<PausedSpan>> = BTreeMap::new();
        for Pause { record, tree, .. } in &pauses {
            let (start, end) = (record.start.max(self.start), record.end.max(self.start));
            let own = paused.entry(record.stopped()).or_default();
            own.push(PausedSpan { tree: *tree, start, end });
        }
        Forensics { pauses: self.measured(pauses), trees, paused }
    }

    /// Returns the pauses that lasted into the measured time, cut off at its start.
    fn measured(&self, pauses: Vec<Pause>) -> Vec<Pause> {
        let lasts = |pause: &Pause| pause.record.end > self.start;
        let mut rows = 0;
        let row_of: Vec<Option<usize>> = pauses
            .iter()
            .map(|pause| {
                rows += usize::from(lasts(pause));
                lasts(pause).then(|| rows - 1)
            })
            .collect();
        let mut measured: Vec<Pause> = pauses.into_iter().filter(lasts).collect();
        for pause in &mut measured {
            pause.because_of = pause.because_of.and_then(|parent| row_of[parent]);
            pause.record.start = pause.record.start.max(self.start);
        }
        measured
    }

    /// Returns all pauses with their causes, sorted by port and time: those that have ended, including those before
    /// measurement started, and those in force at the end.
    fn pauses_with_causes(&self) -> Vec<Pause> {
        if !self.s.spec.probes.pauses {
            return Vec::new();
        }
        let ended = |part: &Fabric| {
            let numbering = part.numbering;
            move |record: &PauseRecord| record.at(numbering.port(record.port))
        };
        let mut records: Vec<PauseRecord<u32>> =
            self.s.parts().flat_map(|part| part.probes.pauses.iter().flatten().map(ended(part))).collect();
        for (port, cold) in self.s.cold_ports() {
            let control = &cold.control;
            if control.credits().is_none() && !control.pauses().is_some_and(PauseState::any_in_force) {
                continue;
            }
            let places = (0..CHANNELS as u8)
                .flat_map(|priority| [false, true].map(|bypass| Stopped { port, priority, bypass }));
            records.extend(places.filter_map(|stopped| self.in_force(stopped)));
        }
        records.sort_by_key(|record| (record.port, record.start, record.priority, record.bypass));
        records.iter().map(|record| self.with_cause(record)).collect()
    }

    /// The pause in force at the end. For a bypass queue, this includes the wait that is suspended while its class
    /// waits.
    pub fn in_force(&self, stopped: Stopped<u32>) -> Option<PauseRecord<u32>> {
        let Stopped { port, priority, bypass } = stopped;
        let control = &self.s.cold(port).control;
        let (start, end, cause) = if bypass {
            let (start, end) = control.credits()?.bypass_wait_in_force(priority)?;
            (start, end, 0)
        } else {
            let (start, cause) = control.in_force(priority)?;
            (start, control.until(1_u32 << priority), cause)
        };
        let [start, end] = [start, end.min(self.end)].map(|time| self.s.whole_time(time));
        // A run that ends with a failure has no time for its last pauses.
        (end > start).then_some(PauseRecord { port, priority, start, end, cause, bypass })
    }

    /// Returns a pause with the cause that its sender noted, or a wait for credits with the fill of the buffer that
    /// caused it.
    fn with_cause(&self, record: &PauseRecord<u32>) -> Pause {
        let peer = self.s.peer(record.port);
        let pause = |cause: PauseCause, waits: bool, sent: Time, why: Why| Pause {
            record: *record,
            cause,
            waits,
            of_bypass: false,
            sent,
            why,
            because_of: None,
            tree: 0,
            depth: 0,
        };
        if self.s.cold(record.port).control.credits_of(record.priority).is_some() {
            let fill = self.fill_behind(record);
            let cause = PauseCause {
                targeted: false,
                inherited: fill.is_some_and(|fill| fill.inherited),
                down: false,
                queue: fill.and_then(|fill| fill.queue),
                occupancy: fill.map_or(0, |fill| fill.held.into()),
            };
            let why = match fill {
                None => Why::RoundTrip,
                Some(_) if self.s.node_at(peer).is_host => Why::SlowReceiver,
                Some(Fill { crossbar: true, .. }) => Why::Crossbar,
                Some(_) => Why::Oversubscribed,
            };
            // A cause starts before its consequence: the buffer may be full of frames sent before the port started to
            // wait.
            let before = record.start.saturating_sub(Time::from_ps(1));
            let of_bypass = fill.is_some_and(|fill| is_bypass(fill.channel.into()));
            let sent = fill.map_or(before, |fill| fill.start.min(before));
            return Pause { of_bypass, ..pause(cause, true, sent, why) };
        }
        let sender = self.s.cold(peer).control.pauses();
        let others = sender.map_or(&[][..], |pauses| pauses.other_causes.0.as_slice());
        let first = others.partition_point(|other| (other.0, other.1) < (record.start, record.priority));
        let other = others.get(first).filter(|other| (other.0, other.1) == (record.start, record.priority));
        let cause = PauseCause::unpack(other.map_or(record.cause, |other| other.2));
        let why = match cause {
            _ if self.s.node_at(peer).is_host => Why::SlowReceiver,
            PauseCause { queue: None, .. } => Why::Unknown,
            PauseCause { down: true, .. } => Why::LinkDown,
            _ => Why::Oversubscribed,
        };
        let from = self.s.port(peer);
        let wire = from.clock.span_floor(u64::from(CONTROL_FRAME_BYTES) + u64::from(from.timing.overhead()));
        let response = self.s.cold(record.port).control.pauses().map_or(Time::ZERO, |pauses| pauses.response);
        let on_the_way = response + self.s.cold(peer).delay + wire;
        pause(cause, false, record.start.saturating_sub(on_the_way), why)
    }

    /// Returns the buffer fill that caused a port's wait for credits: of several fills, the one with the longest
    /// overlap.
    fn fill_behind(&self, record: &PauseRecord<u32>) -> Option<Fill> {
        let credits = self.s.cold(self.s.peer(record.port)).control.credits_of(record.priority)?;
        let channel = credits.channel(record.priority);
        let fills = credits.fills.as_ref()?.during(channel, record.bypass, record.start, record.end);
        let shared = |fill: &&Fill| fill.end.min(record.end) - fill.start.max(record.start);
        fills.max_by_key(|fill| (shared(fill), std::cmp::Reverse(fill.start))).copied()
    }

    /// Returns the latest pause of a queue's port that had started when another pause was decided. A wait of the port's
    /// bypass queue causes only pauses due to frames in that queue.
    fn held_by(&self, pauses: &[Pause], (port, class): QueuePlace, pause: &Pause) -> Option<usize> {
        let Pause { sent, of_bypass, .. } = *pause;
        let priorities = self.s.port(port).classes.numbers_of(TrafficClass(class));
        let after = pauses.partition_point(|pause| (pause.record.port, pause.record.start) <= (port, sent));
        let before =
            pauses[..after].iter().enumerate().rev().take_while(|(_, pause)| pause.record.port == port);
        before
            .into_iter()
            .find(|(_, pause)| {
                priorities >> pause.record.priority & 1 != 0 && (of_bypass || !pause.record.bypass)
            })
            .map(|(index, _)| index)
    }

    /// Returns the root of a pause that is no consequence of another.
    fn root_of(&self, record: &PauseRecord<u32>, queue: Option<QueuePlace>, why: Why) -> QueuePlace {
        let class_at = |port: u32| self.s.port(port).classes.class(frame::Priority(record.priority)).0;
        let sender = self.s.peer(record.port);
        match (why, queue) {
            (Why::SlowReceiver | Why::RoundTrip, _) => (record.port, class_at(record.port)),
            (_, Some(queue)) => queue,
            (_, None) => (sender, class_at(sender)),
        }
    }

    /// Returns the root of a pause as recorded by its sender.
    fn place_of_root(&self, record: &PauseRecord<u32>, cause: &PauseCause) -> RootPlace<u32, u32> {
        if let Some(queue) = cause.queue {
            return RootPlace::Queue { queue, down: cause.down };
        }
        let port = self.s.peer(record.port);
        let channel = self.s.cold(port).control.credits_of(record.priority);
        let channel = channel.map(|credits| credits.channel(record.priority));
        let pause_sender = self.s.pause_sender_at(port);
        let group = channel.or_else(|| pause_sender?.group(record.priority)).unwrap_or(0);
        RootPlace::Receiver { port, group: group as u8 }
    }

    /// The watermark that the counter of a pause had reached.
    pub fn watermark(&self, pause: &Pause) -> Amount {
        let sender = self.s.peer(pause.record.port);
        let Some(pause_sender) = self.s.pause_sender_at(sender) else { return Amount::Bytes(0) };
        if let Some(target) = pause_sender.target.as_ref().filter(|_| pause.cause.targeted) {
            return target.watermark;
        }
        if pause_sender.by_ingress() {
            return self.s.ingress_port(sender).levels.xoff;
        }
        let at = pause.cause.queue.map_or(sender, |queue| self.s.place_of_queue(queue).0);
        pause_sender.levels[(at - self.s.first_port_beside(at)) as usize].xoff
    }

    /// Returns the trees, with one row per edge.
    pub fn congestion(&self) -> TableBuilder {
        let rows: Vec<(usize, &Tree, EdgeKey, Edge)> = (1..)
            .zip(&self.forensics().trees)
            .flat_map(|(number, tree)| tree.edges.iter().map(move |(&key, &edge)| (number, tree, key, edge)))
            .collect();
        let queue = |key: &EdgeKey| key.1.map_or(String::new(), |(port, class)| self.queue_name(port, class));
        CONGESTION
            .builder()
            .integers("tree", rows.iter().map(|row| row.0 as u64))
            .texts("root", rows.iter().map(|row| self.queue_name(row.1.root.0, row.1.root.1)))
            .texts("why", rows.iter().map(|row| row.1.why.name().to_string()))
            .integers("depth", rows.iter().map(|row| row.2.0))
            .texts("queue", rows.iter().map(|row| queue(&row.2)))
            .texts("sent_by", rows.iter().map(|row| self.s.port_name(self.s.peer(row.2.2))))
            .texts("port", rows.iter().map(|row| self.s.port_name(row.2.2)))
            .integers("priority", rows.iter().map(|row| row.2.3.into()))
            .integers("pauses", rows.iter().map(|row| row.3.pauses))
            .reals("paused_ns", rows.iter().map(|row| row.3.paused.as_ns_f64()))
            .reals("first_ns", rows.iter().map(|row| row.3.first.as_ns_f64()))
            .reals("last_ns", rows.iter().map(|row| row.3.last.as_ns_f64()))
    }
}
