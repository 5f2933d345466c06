//! The workload of an iteration: a collective with its algorithm, as a generator of messages.

use crate::collectives::ring::Steps;
use crate::collectives::{
    Algorithm, Binomial, Bruck, Collective, Direct, Dissemination, DoubleTree, Halves, HalvingDoubling,
    Hierarchical, Pipeline, RecursiveDoubling, Ring, Skewed,
};
use crate::schedule::{Action, Schedule};

/// A collective, checked.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct WorkloadSpec {
    /// The operation.
    pub collective: Collective,
    /// How it is done.
    pub algorithm: Algorithm,
    /// Bytes of the vector, output or send buffer; see [`Collective`].
    pub bytes: u64,
    /// Pieces that run concurrently, at least 1.
    pub chunks: u32,
    /// Ranks of a group of a hierarchical collective; it divides the number of ranks.
    pub group: u32,
    /// Root of a broadcast or reduction.
    pub root: u32,
    /// Exponent of the skew of an all-to-all; 0 is none.
    pub skew: f64,
}

/// A generator of messages.
#[derive(Clone, Debug)]
pub struct Workload(Generator);

macro_rules! generators {
    ($($name:ident),*) => {
        #[derive(Clone, Debug)]
        enum Generator {
            $($name($name),)*
        }

        impl Schedule for Workload {
            fn lanes(&self) -> u32 {
                match &self.0 { $(Generator::$name(it) => it.lanes(),)* }
            }
            fn action(&self, rank: u32, lane: u32, at: u32) -> Option<Action> {
                match &self.0 { $(Generator::$name(it) => it.action(rank, lane, at),)* }
            }
        }
    };
}

generators!(
    Ring,
    HalvingDoubling,
    RecursiveDoubling,
    DoubleTree,
    Hierarchical,
    Binomial,
    Pipeline,
    Direct,
    Skewed,
    Bruck,
    Dissemination
);

impl WorkloadSpec {
    /// The generator for `n` ranks, at least 2.
    pub fn start(&self, n: u32) -> Workload {
        let WorkloadSpec { collective, algorithm, bytes, chunks, group, root, skew } = *self;
        let ring = |steps| Generator::Ring(Ring { n, bytes, chunks, steps });
        let halving = |halves| Generator::HalvingDoubling(HalvingDoubling { n, bytes, chunks, halves });
        let tree = |reduces| Generator::Binomial(Binomial { n, bytes, chunks, root, reduces });
        let burst = algorithm == Algorithm::Burst;
        Workload(match (collective, algorithm) {
            (Collective::AllReduce, Algorithm::HalvingDoubling) => halving(Halves::Both),
            (Collective::AllReduce, Algorithm::RecursiveDoubling) => {
                Generator::RecursiveDoubling(RecursiveDoubling { n, bytes, chunks })
            }
            (Collective::AllReduce, Algorithm::DoubleTree) => {
                Generator::DoubleTree(DoubleTree { n, bytes, chunks })
            }
            (Collective::AllReduce, Algorithm::Hierarchical) => {
                Generator::Hierarchical(Hierarchical { group, groups: n / group, bytes, chunks })
            }
            (Collective::AllReduce, _) => ring(Steps::AllReduce),
            (Collective::ReduceScatter, Algorithm::HalvingDoubling) => halving(Halves::ReduceScatter),
            (Collective::ReduceScatter, _) => ring(Steps::ReduceScatter),
            (Collective::AllGather, Algorithm::HalvingDoubling) => halving(Halves::AllGather),
            (Collective::AllGather, _) => ring(Steps::AllGather),
            (Collective::AllToAll, Algorithm::Bruck) => Generator::Bruck(Bruck { n, bytes, chunks }),
            (Collective::AllToAll, _) if skew > 0.0 => {
                Generator::Skewed(Skewed::new(n, bytes, chunks, burst, skew))
            }
            (Collective::AllToAll, _) => Generator::Direct(Direct { n, bytes, chunks, burst }),
            (Collective::Broadcast, Algorithm::Ring) => ring(Steps::Broadcast { root }),
            (Collective::Broadcast, _) => tree(false),
            (Collective::Reduce, _) => tree(true),
            (Collective::Barrier, _) => Generator::Dissemination(Dissemination { n }),
            (Collective::SendReceive, _) => Generator::Pipeline(Pipeline { n, bytes, chunks }),
        })
    }

    /// Shortest time of the collective among `n` ranks whose NICs have this rate, in seconds, of any algorithm: what each NIC must
    /// send or receive at least, without latency and headers.
    pub fn bound_secs(&self, n: u32, bps: f64) -> f64 {
        self.bytes as f64 * 8.0 * self.collective.bus_factor(n) / bps
    }
}

impl Workload {
    /// By rank, the ranks that it sends to, ascending.
    pub fn peers(&self, n: u32) -> Vec<Vec<u32>> {
        let peers_of = |rank| {
            let mut peers: Vec<u32> = (0..self.lanes())
                .flat_map(|lane| (0..).map_while(move |at| self.action(rank, lane, at)))
                .filter_map(|action| if let Action::Send { to, .. } = action { Some(to) } else { None })
                .collect();
            peers.sort_unstable();
            peers.dedup();
            peers
        };
        (0..n).map(peers_of).collect()
    }
}
