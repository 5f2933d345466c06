//! In-network reduction: units at switches reduce segments on their way up a tree, and copy the results on the way
//! down.
//!
//! A rank sends a segment to the unit of its switch, and waits for its result. A unit waits for the segments of all its
//! children, and sends their sum to its parent. The root sends the result down, and each unit sends a copy to each of
//! its children. Segments run as a pipeline: lane i of `outstanding` lanes processes segments i, i + `outstanding`, and
//! so on, and starts the next segment when it has the result of the previous one. A unit therefore holds at most
//! `outstanding` segments.
//!
//! A child without data for a segment sends an empty message in its place, and a child that needs no result receives an
//! empty message. The former signals to the unit that the child is ready, the latter to the child that its segment is
//! free.
//!
//! Source: Graham et al., "Scalable Hierarchical Aggregation Protocol (SHArP)", COM-HPC 2016; Graham et al., "SHARP
//! Streaming-Aggregation Hardware Design and Evaluation", ISC 2020.
//!
//! Not modelled: how groups and trees are set up; several trees of one job; a fallback to the hosts if units lack
//! resources.

use super::Collective;
use crate::schedule::{Action, Schedule};
use std::sync::Arc;

/// Stands for no number.
const NONE: u32 = u32::MAX;

/// Reduction tree of a job. Ranks and units share one numbering: ranks first, then units.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct AggregationTree {
    ranks: u32,
    /// Number of the parent unit of each rank and unit; [`NONE`] for the root.
    parents: Box<[u32]>,
    /// Numbers of the children of each unit, ascending.
    children: Box<[Box<[u32]>]>,
}

impl AggregationTree {
    /// Creates a tree of `ranks` ranks and the units above them from the parent of each number; `None` for the root,
    /// which is a unit. Each unit must have at least one child.
    pub fn new(ranks: u32, parents: &[Option<u32>]) -> AggregationTree {
        let below = |unit: u32| (0..).zip(parents).filter(move |own| *own.1 == Some(unit)).map(|own| own.0);
        AggregationTree {
            ranks,
            parents: parents.iter().map(|parent| parent.unwrap_or(NONE)).collect(),
            children: (ranks..parents.len() as u32).map(|unit| below(unit).collect()).collect(),
        }
    }
    /// Number of ranks.
    pub fn ranks(&self) -> u32 {
        self.ranks
    }
    /// Number of ranks and units together.
    pub fn numbers(&self) -> u32 {
        self.parents.len() as u32
    }
    fn parent(&self, number: u32) -> Option<u32> {
        Some(self.parents[number as usize]).filter(|&parent| parent != NONE)
    }
    fn children(&self, number: u32) -> &[u32] {
        number.checked_sub(self.ranks).map_or(&[], |unit| &self.children[unit as usize])
    }
    /// Returns for each number whether `rank` is in its subtree, and the number of ranks in its subtree.
    fn holds(&self, rank: u32) -> Box<[(bool, u32)]> {
        let mut holds = vec![(false, 0); self.parents.len()];
        for leaf in 0..self.ranks {
            let mut at = Some(leaf);
            while let Some(number) = at {
                let (has, many) = &mut holds[number as usize];
                *has |= leaf == rank;
                *many += 1;
                at = self.parent(number);
            }
        }
        holds.into()
    }
}

/// A checked in-network reduction of a job.
#[derive(Clone, Debug, PartialEq)]
pub struct InNetworkSpec {
    /// Ranks and units of the job.
    pub tree: Arc<AggregationTree>,
    /// Size of a segment in bytes, above 0.
    pub segment: u64,
    /// Number of segments that a unit holds, above 0.
    pub outstanding: u32,
}

/// Generator of the messages of an in-network reduction.
#[derive(Clone, Debug)]
pub(crate) struct InNetwork {
    collective: Collective,
    bytes: u64,
    segment: u64,
    segments: u32,
    lanes: u32,
    tree: Arc<AggregationTree>,
    /// For each number: whether the root rank of the operation is in its subtree, and the number of ranks in its
    /// subtree.
    holds: Box<[(bool, u32)]>,
}

impl InNetworkSpec {
    /// Number of segments of a vector of this size; at least 1.
    pub fn segments(&self, bytes: u64) -> u64 {
        bytes.div_ceil(self.segment).max(1)
    }

    pub(crate) fn start(&self, collective: Collective, bytes: u64, root: u32) -> InNetwork {
        let segments = self.segments(bytes) as u32;
        InNetwork {
            collective,
            bytes,
            segment: self.segment,
            segments,
            lanes: self.outstanding.min(segments),
            tree: self.tree.clone(),
            holds: self.tree.holds(root),
        }
    }
}

impl InNetwork {
    /// Bytes of a segment that a number sends to its parent.
    fn up(&self, number: u32, bytes: u64) -> u64 {
        match self.collective {
            Collective::Broadcast if !self.holds[number as usize].0 => 0,
            _ => bytes,
        }
    }
    /// Bytes of a segment that a number receives from its parent.
    fn down(&self, number: u32, bytes: u64) -> u64 {
        let (has_root, ranks) = self.holds[number as usize];
        match self.collective {
            Collective::Reduce if !has_root => 0,
            Collective::Broadcast if has_root && ranks == 1 => 0,
            _ => bytes,
        }
    }
}

impl Schedule for InNetwork {
    fn lanes(&self) -> u32 {
        self.lanes
    }
    fn action(&self, rank: u32, lane: u32, at: u32) -> Option<Action> {
        let (parent, children) = (self.tree.parent(rank), self.tree.children(rank));
        let many = children.len() as u32;
        let each = 2 * (many + u32::from(parent.is_some()));
        let segment = u64::from(lane) + u64::from(at / each) * u64::from(self.lanes);
        if segment >= u64::from(self.segments) {
            return None;
        }
        let bytes = (self.bytes - segment * self.segment).min(self.segment);
        let (at, tag) = (at % each, segment as u32);
        let receive = |from, bytes| Action::Receive { from, bytes, tag };
        let send = |to, bytes| Action::Send { to, bytes, tag };
        Some(match (parent, at.checked_sub(many)) {
            (_, None) => receive(children[at as usize], self.up(children[at as usize], bytes)),
            (Some(parent), Some(0)) => send(parent, self.up(rank, bytes)),
            (Some(parent), Some(1)) => receive(parent, self.down(rank, bytes)),
            (_, Some(at)) => {
                let child = children[(at - 2 * u32::from(parent.is_some())) as usize];
                send(child, self.down(child, bytes))
            }
        })
    }
}
