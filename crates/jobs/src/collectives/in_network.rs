//! Reduction in the network: units at switches add segments up a tree, and copy the sums down.
//!
//! A rank sends a segment to the unit of its switch, and waits for its result. A unit waits for the segment of all of its children, and
//! sends their sum to its parent; the root sends the result down, and each unit a copy to each of its children. Segments run as a
//! pipeline: each of `outstanding` lanes takes every so-many-th segment, and goes on when it has the result. A unit therefore holds at
//! most so many segments.
//!
//! A child that has no data for a segment, or gets none, sends or gets an empty message in its place, which signals to the unit that
//! the child is ready, and to the child that its segment is free.
//!
//! Source: Graham et al., "Scalable Hierarchical Aggregation Protocol (SHArP)", COM-HPC 2016; Graham et al., "SHARP Streaming-Aggregation
//! Hardware Design and Evaluation", ISC 2020.
//!
//! Not modelled: how groups and trees are set up; several trees of one job; a reduction without a unit for want of resources.

use super::Collective;
use crate::schedule::{Action, Schedule};
use std::sync::Arc;

/// No rank.
const NONE: u32 = u32::MAX;

/// The units of a job and what each of them adds up: ranks first, then units, each of which has a number behind them.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct AggregationTree {
    ranks: u32,
    /// By rank and unit, the unit above; none above the root.
    parents: Box<[u32]>,
    /// By unit, what is below it, ascending.
    children: Box<[Box<[u32]>]>,
}

impl AggregationTree {
    /// A tree of so many ranks and the units above them: by number, the unit above; `None` above the root, which is a unit. A unit is
    /// above at least one other number.
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
    /// Number of ranks and units.
    pub fn numbers(&self) -> u32 {
        self.parents.len() as u32
    }
    fn parent(&self, number: u32) -> Option<u32> {
        Some(self.parents[number as usize]).filter(|&parent| parent != NONE)
    }
    fn children(&self, number: u32) -> &[u32] {
        number.checked_sub(self.ranks).map_or(&[], |unit| &self.children[unit as usize])
    }
    /// By number, whether a rank is at or below it, and how many ranks are.
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

/// A reduction in the network of a job, checked.
#[derive(Clone, Debug, PartialEq)]
pub struct InNetworkSpec {
    /// Its ranks and units.
    pub tree: Arc<AggregationTree>,
    /// Bytes of a segment, above 0.
    pub segment: u64,
    /// Segments that a unit holds, above 0.
    pub outstanding: u32,
}

/// Generator of its messages.
#[derive(Clone, Debug)]
pub(crate) struct InNetwork {
    collective: Collective,
    bytes: u64,
    segment: u64,
    segments: u32,
    lanes: u32,
    tree: Arc<AggregationTree>,
    /// By number, whether the root of the operation is at or below it, and ranks there.
    holds: Box<[(bool, u32)]>,
}

impl InNetworkSpec {
    /// Segments of so many bytes; one if there are none.
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
    /// Bytes of a segment that go up from a number to the unit above.
    fn up(&self, number: u32, bytes: u64) -> u64 {
        match self.collective {
            Collective::Broadcast if !self.holds[number as usize].0 => 0,
            _ => bytes,
        }
    }
    /// Bytes of a segment that come down to a number.
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
