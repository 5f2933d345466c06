//! Culprits and victims: the relation of flows to congestion trees, during the lifetime of the trees.
//!
//! A culprit had frames at the root while pauses that it caused were in force; its share is its fraction of all such
//! frames. A flow is held back at a port for as long as pauses of the tree lasted there while a frame of the flow was
//! in the paused queue (or its endpoint in the wait queue). The flow's frames before and after do not count.

use crate::run::state::probes::Stopped;
use crate::run::state::victims::BlockedFlow;
use crate::tables::View;
use crate::tables::forensics::{Forensics, PausedSpan, Tree, Why};
use frame::Priority;
use measure::table::{integer, real, text};
use measure::{TableBuilder, TableSpec};
use std::cmp::Reverse;
use std::collections::BTreeMap;
use units::Time;

/// Columns of `congestion_flows`.
pub(super) static CONGESTION_FLOWS: TableSpec = TableSpec {
    name: "congestion_flows",
    about: "One row per flow and congestion tree that it contributed to or was delayed by, for the 64 trees with the longest pause time.",
    columns: &[&[
        integer("tree", "", "Number of the tree, as in `congestion`."),
        text("root", "Queue at which the tree began."),
        text("flow", "Name of the flow."),
        text(
            "part",
            "culprit: frames of the flow were queued at the root while pauses caused by the root were in force; upstream: it passes the root and was stopped before it, and none of its frames were queued there at that time; victim: it does not pass the root and was stopped.",
        ),
        integer(
            "frames",
            "",
            "Frames of the flow queued at the root (for a slow receiver, in the receive buffer) while pauses caused by it were in force, between the decisions to send XOFF and XON; each frame is counted once.",
        ),
        real("share", "", "Share of the flow in all such frames."),
        real(
            "paused_ns",
            "ns",
            "Time in which pauses of the tree stopped frames of the flow, at the port with the longest such time.",
        ),
        text("paused_at", "Port of `paused_ns`; empty if none was stopped."),
    ]],
};

/// Maximum number of trees with a relation to flows: those with the longest paused time.
const TREES: usize = 64;

/// Relation of a flow to a tree.
#[derive(Clone, Copy, Default)]
struct Part {
    /// Number of its frames at the root during the tree.
    frames: u64,
    /// True if any of its frames pass the root at any time.
    passes: bool,
    held: Time,
    at: Option<u32>,
}

impl Part {
    fn name(&self) -> &'static str {
        match self {
            Part { frames: 1.., .. } => "culprit",
            Part { passes: true, .. } => "upstream",
            _ => "victim",
        }
    }
}

/// Tree and flow, as indices.
type Pair = (usize, usize);

impl View<'_> {
    /// Returns the table of culprits and victims of the trees.
    pub fn congestion_flows(&self) -> TableBuilder {
        let forensics = self.forensics();
        let rows = self.parts(forensics);
        let root = |tree: usize| {
            let (port, class) = forensics.trees[tree].root;
            self.queue_name(port, class)
        };
        let mut total = vec![0; forensics.trees.len()];
        rows.iter().for_each(|&((tree, _), part)| total[tree] += part.frames);
        let share = |&((tree, _), part): &(Pair, Part)| {
            if total[tree] > 0 { part.frames as f64 / total[tree] as f64 } else { 0.0 }
        };
        CONGESTION_FLOWS
            .builder()
            .integers("tree", rows.iter().map(|row| row.0.0 as u64 + 1))
            .texts("root", rows.iter().map(|row| root(row.0.0)))
            .texts("flow", rows.iter().map(|row| self.s.spec.flows[row.0.1].name.clone()))
            .texts("part", rows.iter().map(|row| row.1.name().to_string()))
            .integers("frames", rows.iter().map(|row| row.1.frames))
            .reals("share", rows.iter().map(share))
            .reals("paused_ns", rows.iter().map(|row| row.1.held.as_ns_f64()))
            .texts(
                "paused_at",
                rows.iter().map(|row| row.1.at.map_or(String::new(), |port| self.s.port_name(port))),
            )
    }

    /// Relations sorted by tree; within a tree culprits first, in descending order of share.
    fn parts(&self, forensics: &Forensics) -> Vec<(Pair, Part)> {
        let mut parts: BTreeMap<Pair, Part> = BTreeMap::new();
        for (number, tree) in forensics.trees.iter().enumerate().take(TREES) {
            for (flow, frames) in self.frames_at(tree) {
                parts.entry((number, flow as usize)).or_default().frames = frames;
            }
        }
        let mut held: BTreeMap<(usize, usize, u32), Time> = BTreeMap::new();
        for (place, standing) in self.standing(forensics) {
            let spans = &forensics.paused[&place];
            for (tree, flow, lasted) in held_times(spans, &standing) {
                if tree < TREES {
                    *held.entry((tree, flow as usize, place.port)).or_default() += lasted;
                }
            }
        }
        for ((tree, flow, port), lasted) in held {
            let part = parts.entry((tree, flow)).or_default();
            if lasted > part.held {
                (part.held, part.at) = (lasted, Some(port));
            }
        }
        self.mark_passing(forensics, &mut parts);
        let mut rows: Vec<(Pair, Part)> = parts.into_iter().collect();
        rows.sort_by_key(|&((tree, flow), part)| {
            (tree, part.name(), Reverse((part.frames, part.held)), flow)
        });
        rows
    }

    /// Number of frames at the root of a tree, by flow.
    fn frames_at(&self, tree: &Tree) -> BTreeMap<u32, u64> {
        let mut frames = BTreeMap::new();
        for &place in &tree.places {
            for ((flow, priority), more) in self.s.frames_at_root(place) {
                // The receive buffer of a host that sends PAUSE holds frames from all queues towards it.
                let class = self.s.port(tree.root.0).classes.class(Priority(priority)).0;
                if tree.why != Why::SlowReceiver || class == tree.root.1 {
                    *frames.entry(flow).or_default() += more;
                }
            }
        }
        frames
    }

    /// Flows that were queued at each paused port, each with its first and last pause. Numbers are those of the whole
    /// fabric.
    fn standing(&self, forensics: &Forensics) -> BTreeMap<Stopped<u32>, Vec<BlockedFlow>> {
        let mut standing: BTreeMap<Stopped<u32>, Vec<BlockedFlow>> = BTreeMap::new();
        for part in self.s.parts() {
            let victims = part.probes.victims.iter().flat_map(|victims| victims.places());
            for (stopped, place) in victims {
                let (held, port) = (place.held().copied(), part.numbering.port(stopped.port));
                standing.entry(stopped.at(port)).or_default().extend(held);
            }
        }
        // Pauses in force at the end.
        for (&stopped, spans) in &forensics.paused {
            if self.in_force(stopped).is_some()
                && let Some(span) = spans.last()
            {
                let last = spans.len() as u32 - 1;
                let own = standing.entry(stopped).or_default();
                let stands = self.s.standing_at(stopped, span.end - self.s.skipped_time()).into_iter();
                let whole = stands.map(|(flow, since)| (flow, self.s.whole_time(since)));
                own.extend(whole.map(|(flow, since)| BlockedFlow { flow, first: last, last, since }));
            }
        }
        standing
    }

    /// Marks the flows whose path leads through the root of the tree.
    fn mark_passing(&self, forensics: &Forensics, parts: &mut BTreeMap<Pair, Part>) {
        let mut rooted: BTreeMap<(u32, u8), Vec<usize>> = BTreeMap::new();
        for (number, tree) in forensics.trees.iter().enumerate().take(TREES) {
            rooted.entry(tree.root).or_default().push(number);
        }
        let mut anywhere = vec![false; self.s.spec.flows.len()];
        for (path, &flow) in self.s.path_flow.iter().enumerate() {
            if !self.s.is_listed(path) {
                anywhere[flow as usize] = true;
                continue;
            }
            let mut priority = self.s.spec.flows[flow as usize].priority;
            for &port in self.s.path_of(path) {
                let class = self.s.port(port).classes.class(priority).0;
                for &tree in rooted.get(&(port, class)).into_iter().flatten() {
                    if let Some(part) = parts.get_mut(&(tree, flow as usize)) {
                        part.passes = true;
                    }
                }
                priority = self.s.cold(port).new_priority(priority);
            }
        }
        // If switches choose paths, some frames of a flow pass any port of a switch.
        for (&(tree, flow), part) in parts {
            part.passes |= anywhere[flow] && !self.s.node_at(forensics.trees[tree].root.0).is_host;
        }
    }
}

/// Returns the time for which pauses of each tree have held back each flow; `spans` are the pauses of the port and
/// priority.
fn held_times(spans: &[PausedSpan], standing: &[BlockedFlow]) -> Vec<(usize, u32, Time)> {
    // By tree, its pauses with cumulative durations: a flow may be queued at a port during thousands of them.
    let mut sums: BTreeMap<usize, Vec<(u32, Time)>> = BTreeMap::new();
    for (number, span) in (0..).zip(spans) {
        let own = sums.entry(span.tree).or_default();
        let before = own.last().map_or(Time::ZERO, |&(_, sum)| sum);
        own.push((number, before + (span.end - span.start)));
    }
    let mut times = Vec::new();
    for one in standing {
        // The first pause counts only from the arrival of the flow.
        let missed = spans
            .get(one.first as usize)
            .map_or((0, Time::ZERO), |span| (span.tree, one.since.min(span.end).saturating_sub(span.start)));
        for (&tree, own) in &sums {
            let until = |number: u32| match own.partition_point(|&(other, _)| other < number) {
                0 => Time::ZERO,
                at => own[at - 1].1,
            };
            let lasted = until(one.last + 1) - until(one.first);
            let lasted = if missed.0 == tree { lasted.saturating_sub(missed.1) } else { lasted };
            if lasted > Time::ZERO {
                times.push((tree, one.flow, lasted));
            }
        }
    }
    times
}
