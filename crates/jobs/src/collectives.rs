//! Collectives: one file per algorithm.

mod binomial;
mod bruck;
mod direct;
mod dissemination;
mod double_tree;
mod halving_doubling;
mod hierarchical;
mod in_network;
mod pipeline;
mod recursive_doubling;
pub(crate) mod ring;
mod skewed;

pub(crate) use binomial::Binomial;
pub(crate) use bruck::Bruck;
pub(crate) use direct::Direct;
pub(crate) use dissemination::Dissemination;
pub(crate) use double_tree::DoubleTree;
pub(crate) use halving_doubling::{Halves, HalvingDoubling};
pub(crate) use hierarchical::Hierarchical;
pub(crate) use in_network::InNetwork;
pub use in_network::{AggregationTree, InNetworkSpec};
pub(crate) use pipeline::Pipeline;
pub(crate) use recursive_doubling::RecursiveDoubling;
pub(crate) use ring::Ring;
pub(crate) use skewed::Skewed;

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

/// A collective operation.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Deserialize, Serialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
pub enum Collective {
    /// Each rank ends with the sum of the vectors of all ranks; `bytes` is the vector.
    #[serde(alias = "all-reduce", alias = "allreduce")]
    AllReduce,
    /// Each rank ends with its share of the sum; `bytes` is the whole vector.
    #[serde(alias = "reduce-scatter")]
    ReduceScatter,
    /// Each rank ends with the shares of all ranks; `bytes` is the whole output.
    #[serde(alias = "all-gather", alias = "allgather")]
    AllGather,
    /// Each rank sends a different part to each rank; `bytes` is the send buffer of a rank.
    #[serde(alias = "all-to-all", alias = "alltoall")]
    AllToAll,
    /// Each rank ends with the vector of rank `root`.
    Broadcast,
    /// Rank `root` ends with the sum of the vectors of all ranks.
    Reduce,
    /// No rank continues before all have arrived; it has no bytes.
    Barrier,
    /// Each rank sends messages to the next: the stages of a pipeline; `bytes` is the total that the first rank sends.
    #[serde(alias = "send-receive", alias = "sendrecv", alias = "pipeline")]
    SendReceive,
}

/// Algorithm of a collective operation.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Deserialize, Serialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
pub enum Algorithm {
    /// Ring: all-reduce, reduce-scatter, all-gather, broadcast.
    Ring,
    /// Recursive halving, then doubling: all-reduce, reduce-scatter, all-gather.
    #[serde(alias = "halving-doubling")]
    HalvingDoubling,
    /// Recursive doubling, with the whole vector to each partner: all-reduce.
    #[serde(alias = "recursive-doubling")]
    RecursiveDoubling,
    /// Double binary tree, each tree with half of the vector: all-reduce.
    #[serde(alias = "double-tree", alias = "double_binary_tree", alias = "double-binary-tree")]
    DoubleTree,
    /// Hierarchical: within groups, then across them, then within them: all-reduce.
    Hierarchical,
    /// Binomial tree: broadcast, reduce.
    #[serde(alias = "tree")]
    Binomial,
    /// Pairwise, to one peer after the other, a different one for each rank: all-to-all.
    Shifted,
    /// Direct, to all peers at once: all-to-all.
    Burst,
    /// Bruck, in log2 n rounds in which blocks are forwarded: all-to-all.
    Bruck,
    /// Dissemination, in ceil(log2 n) rounds: barrier.
    Dissemination,
    /// Pipeline, from each rank to the next: send_receive.
    Pipeline,
    /// In-network reduction and replication by aggregation units at switches: all-reduce, reduce, broadcast, barrier.
    #[serde(alias = "in-network")]
    InNetwork,
}

impl Collective {
    /// Returns the name in scenarios and results.
    pub fn name(self) -> &'static str {
        match self {
            Collective::AllReduce => "all_reduce",
            Collective::ReduceScatter => "reduce_scatter",
            Collective::AllGather => "all_gather",
            Collective::AllToAll => "all_to_all",
            Collective::Broadcast => "broadcast",
            Collective::Reduce => "reduce",
            Collective::Barrier => "barrier",
            Collective::SendReceive => "send_receive",
        }
    }
    /// Returns the algorithms of this operation, the default first.
    pub fn algorithms(self) -> &'static [Algorithm] {
        use Algorithm::{
            Binomial, Bruck, Burst, Dissemination, DoubleTree, HalvingDoubling, Hierarchical, InNetwork,
            Pipeline, RecursiveDoubling, Ring, Shifted,
        };
        match self {
            Collective::AllReduce => {
                &[Ring, HalvingDoubling, RecursiveDoubling, DoubleTree, Hierarchical, InNetwork]
            }
            Collective::ReduceScatter | Collective::AllGather => &[Ring, HalvingDoubling],
            Collective::AllToAll => &[Shifted, Burst, Bruck],
            Collective::Broadcast => &[Binomial, Ring, InNetwork],
            Collective::Reduce => &[Binomial, InNetwork],
            Collective::Barrier => &[Dissemination, InNetwork],
            Collective::SendReceive => &[Pipeline],
        }
    }
    /// Factor from algorithm bandwidth (bytes over time) to bus bandwidth among `n` ranks. Bus bandwidth is comparable
    /// with the rate of a NIC (NCCL-tests, PERFORMANCE.md).
    pub fn bus_factor(self, n: u32) -> f64 {
        let share = f64::from(n.saturating_sub(1)) / f64::from(n.max(1));
        match self {
            Collective::AllReduce => 2.0 * share,
            Collective::ReduceScatter | Collective::AllGather | Collective::AllToAll => share,
            Collective::Broadcast | Collective::Reduce | Collective::SendReceive => 1.0,
            Collective::Barrier => 0.0,
        }
    }
}

impl Algorithm {
    /// Returns the name in scenarios and results.
    pub fn name(self) -> &'static str {
        match self {
            Algorithm::Ring => "ring",
            Algorithm::HalvingDoubling => "halving_doubling",
            Algorithm::RecursiveDoubling => "recursive_doubling",
            Algorithm::DoubleTree => "double_tree",
            Algorithm::Hierarchical => "hierarchical",
            Algorithm::Binomial => "binomial",
            Algorithm::Shifted => "shifted",
            Algorithm::Burst => "burst",
            Algorithm::Bruck => "bruck",
            Algorithm::Dissemination => "dissemination",
            Algorithm::Pipeline => "pipeline",
            Algorithm::InNetwork => "in_network",
        }
    }
}
