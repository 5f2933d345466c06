//! Jobs of ranks: collectives as generators of messages, and the state machine that runs a rank.
//!
//! A [`Workload`] defines which messages each rank sends and receives, and in which order. It is a function of the rank
//! and a position, so that future messages take no memory. A [`Rank`] runs it on top of the connections of its host:
//! its inputs are notices and the time, its outputs messages to post. Both kinds of notices are local events: *sent*
//! (acknowledged at the sender) and *delivered* (the last byte has arrived at the receiver).
//!
//! The messages of rank 0 in a ring all-reduce of 4 KiB over four ranks: three steps that reduce and three that gather,
//! with a quarter of the bytes each.
//!
//! ```
//! use jobs::{Action, Algorithm, Collective, CollectiveSpec, Schedule};
//!
//! let ring = CollectiveSpec {
//!     collective: Collective::AllReduce,
//!     algorithm: Algorithm::Ring,
//!     bytes: 4_096,
//!     chunks: 1,
//!     group: 1,
//!     root: 0,
//!     skew: 0.0,
//! };
//! let ranks = ring.start(4);
//! let sends: Vec<(u32, u64)> = (0..)
//!     .map_while(|at| ranks.action(0, 0, at))
//!     .filter_map(|action| match action {
//!         Action::Send { to, bytes, .. } => Some((to, bytes)),
//!         _ => None,
//!     })
//!     .collect();
//! assert_eq!(sends, [(1, 1_024); 6]);
//! ```

#![warn(clippy::too_many_lines)]

mod collectives;
mod computation;
mod compute_keys;
mod keys;
mod matching;
mod messages;
mod precision;
mod rank;
mod schedule;
mod workload;

#[cfg(test)]
mod algebra;
#[cfg(test)]
mod critical_path;
#[cfg(test)]
mod in_network_examples;
#[cfg(test)]
mod replay;

pub use crate::compute_keys::{ComputeTimes, StragglerKeys};
pub use crate::keys::{JobCosts, Pairs, Placement, WorkloadKeys};
pub use collectives::{AggregationTree, Algorithm, Collective, InNetworkSpec};
pub use computation::Computation;
pub use messages::{MessageList, Request};
pub use precision::{Precision, StepInterval};
pub use rank::{
    Blocked, IterationTimes, Notice, NoticeKind, PeerCounts, PhaseProgress, Post, Rank, RankCounts,
    SkippedIterations, Step, StepKind, Unsent,
};
pub use schedule::{Action, Schedule};
pub use workload::{CollectiveSpec, Generated, Workload, WorkloadSpec};
