//! Workload of an iteration: a collective with its algorithm, as a generator of messages; a program of operations; or a
//! list of messages.

use crate::collectives::ring::Steps;
use crate::collectives::{
    Algorithm, Binomial, Bruck, Collective, Direct, Dissemination, DoubleTree, Halves, HalvingDoubling,
    Hierarchical, InNetwork, InNetworkSpec, Pipeline, RecursiveDoubling, Ring, Skewed,
};
use crate::keys::JobCosts;
use crate::messages::{MessageList, Request};
use crate::schedule::{Action, Schedule};
use program::{Program, Work};
use std::sync::Arc;
use units::Time;

/// A checked collective.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct CollectiveSpec {
    /// The operation.
    pub collective: Collective,
    /// The algorithm of the operation.
    pub algorithm: Algorithm,
    /// Bytes of the vector, output or send buffer; see [`Collective`].
    pub bytes: u64,
    /// Number of pieces that run concurrently, at least 1.
    pub chunks: u32,
    /// Number of ranks in a group of a hierarchical collective; it divides the number of ranks.
    pub group: u32,
    /// Root of a broadcast or reduction.
    pub root: u32,
    /// Exponent of the skew of an all-to-all; 0 for equal parts.
    pub skew: f64,
}

/// The checked workload of all ranks of a job in an iteration.
#[derive(Clone, Debug, PartialEq)]
pub enum WorkloadSpec {
    /// A collective.
    Collective(CollectiveSpec),
    /// A collective that units at switches reduce. Units are numbered after the ranks.
    InNetwork(CollectiveSpec, InNetworkSpec),
    /// A program of operations with dependencies, and the size in bytes of the longest message whose send ends when the
    /// processor has handed it over. The send of a longer one ends with its acknowledgement.
    Program(Arc<Program>, u64),
    /// Messages at given times.
    Messages(Arc<MessageList>),
}

/// A generator of the messages of a collective.
#[derive(Clone, Debug)]
pub struct Generated(Generator);

/// Number of actions of a lane in a phase: one send and one receive.
pub(crate) const ACTIONS_OF_PHASE: u32 = 2;

/// Messages of all ranks of a job.
#[derive(Clone, Debug)]
pub enum Workload {
    /// Messages of a collective.
    Generated(Generated),
    /// Messages of a program; see [`WorkloadSpec::Program`].
    Program(Arc<Program>, u64),
    /// Messages of a list.
    Messages(Arc<MessageList>),
}

macro_rules! generators {
    ($($name:ident),*) => {
        #[derive(Clone, Debug)]
        enum Generator {
            $($name($name),)*
        }

        impl Schedule for Generated {
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
    Dissemination,
    InNetwork
);

impl CollectiveSpec {
    /// Creates the generator for `n` ranks, at least 2, of a collective without units.
    pub fn start(&self, n: u32) -> Generated {
        let CollectiveSpec { collective, algorithm, bytes, chunks, group, root, skew } = *self;
        let ring = |steps| Generator::Ring(Ring { n, bytes, chunks, steps });
        let halving = |halves| Generator::HalvingDoubling(HalvingDoubling { n, bytes, chunks, halves });
        let tree = |reduces| Generator::Binomial(Binomial { n, bytes, chunks, root, reduces });
        let burst = algorithm == Algorithm::Burst;
        Generated(match (collective, algorithm) {
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
}

impl Generated {
    /// Returns the number of phases if all of them send the same number of bytes to the same peers, with labels that
    /// increase by one; otherwise `None`.
    pub fn phases(&self) -> Option<u32> {
        match &self.0 {
            Generator::Ring(ring) => ring.phases(),
            _ => None,
        }
    }
}

impl WorkloadSpec {
    /// Creates the workload of `n` ranks, at least 2. A program must have this number of ranks.
    pub fn start(&self, n: u32) -> Workload {
        match self {
            WorkloadSpec::Collective(spec) => Workload::Generated(spec.start(n)),
            WorkloadSpec::InNetwork(spec, own) => {
                let generator = own.start(spec.collective, spec.bytes, spec.root);
                Workload::Generated(Generated(Generator::InNetwork(generator)))
            }
            WorkloadSpec::Program(program, eager) => Workload::Program(program.clone(), *eager),
            WorkloadSpec::Messages(list) => Workload::Messages(list.clone()),
        }
    }
    /// Returns the collective; `None` for a program or a list of messages.
    pub fn collective(&self) -> Option<&CollectiveSpec> {
        match self {
            WorkloadSpec::Collective(spec) | WorkloadSpec::InNetwork(spec, _) => Some(spec),
            WorkloadSpec::Program(..) | WorkloadSpec::Messages(_) => None,
        }
    }
    /// Returns the name of the operation in results.
    pub fn name(&self) -> &'static str {
        match self {
            WorkloadSpec::Collective(own) | WorkloadSpec::InNetwork(own, _) => own.collective.name(),
            WorkloadSpec::Program(..) => "program",
            WorkloadSpec::Messages(_) => "messages",
        }
    }
    /// Returns the name of the algorithm in results; empty for a program.
    pub fn algorithm(&self) -> &'static str {
        self.collective().map_or("", |own| own.algorithm.name())
    }
    /// Returns the bytes of an iteration, as given in the scenario; 0 for a program.
    pub fn bytes(&self) -> u64 {
        self.collective().map_or(0, |own| own.bytes)
    }
    /// Returns the factor from algorithm bandwidth to bus bandwidth among `n` ranks; NaN for a program.
    pub fn bus_factor(&self, n: u32) -> f64 {
        self.collective().map_or(f64::NAN, |own| own.collective.bus_factor(n))
    }
    /// Returns a lower bound in seconds of the time of any algorithm among `n` ranks with NICs of this rate: the time
    /// in which a NIC sends or receives the bytes that it must, without latency and headers. With an in-network
    /// reduction, each NIC sends or receives the bytes once. NaN for a program.
    pub fn bound_secs(&self, n: u32, bps: f64) -> f64 {
        self.bytes() as f64 * 8.0 * self.nic_factor(n) / bps
    }
    /// Returns the maximum bus bandwidth among `n` ranks with NICs of this rate: that rate, or a multiple of it for an
    /// in-network reduction.
    pub fn bound_bps(&self, n: u32, bps: f64) -> f64 {
        match self {
            WorkloadSpec::InNetwork(own, _) if own.collective == Collective::AllReduce => {
                bps * self.bus_factor(n)
            }
            _ => bps,
        }
    }
    /// Minimum number of bytes that a NIC has to send or receive, as a fraction of the bytes.
    fn nic_factor(&self, n: u32) -> f64 {
        match self {
            WorkloadSpec::InNetwork(..) => 1.0,
            _ => self.bus_factor(n),
        }
    }
    /// Number of units at switches, which are numbered after the ranks.
    pub fn units(&self) -> u32 {
        match self {
            WorkloadSpec::InNetwork(_, own) => own.tree.numbers() - own.tree.ranks(),
            _ => 0,
        }
    }
}

impl Workload {
    /// Returns receiver and size of each message that a rank sends in an iteration, except those to itself.
    pub fn sends(&self, rank: u32) -> Vec<(u32, u64)> {
        let mut sends: Vec<(u32, u64)> = match self {
            Workload::Generated(own) => (0..own.lanes())
                .flat_map(|lane| (0..).map_while(move |at| own.action(rank, lane, at)))
                .filter_map(|action| match action {
                    Action::Send { to, bytes, .. } => Some((to, bytes)),
                    _ => None,
                })
                .collect(),
            Workload::Program(program, _) => {
                let operations = program.ranks()[rank as usize].operations();
                let sent = |work| match work {
                    Work::Send { to, bytes, .. } => Some((to, bytes)),
                    _ => None,
                };
                operations.iter().filter_map(|own| sent(own.work())).collect()
            }
            Workload::Messages(list) => {
                let sent = |request| match request {
                    Request::Send { to, bytes } => Some((to, bytes)),
                    Request::Compute { .. } => None,
                };
                list.of(rank).filter_map(|(_, request)| sent(request)).collect()
            }
        };
        sends.retain(|&(to, _)| to != rank);
        sends
    }

    /// Maximum number of steps of all `n` ranks in an iteration with these costs: sends, receives, and work of the
    /// processors, including the computation before the iteration if it `computes`.
    pub fn steps(&self, n: u32, costs: &JobCosts, computes: bool) -> u64 {
        let has_cost = costs.overhead > Time::ZERO || costs.overhead_per_byte > Time::ZERO;
        let message = 1 + u64::from(has_cost);
        let begin = u64::from(computes);
        let of_rank = |rank: u32| match self {
            Workload::Generated(own) => {
                let actions =
                    (0..own.lanes()).flat_map(|lane| (0..).map_while(move |at| own.action(rank, lane, at)));
                let of = |action| match action {
                    Action::Send { .. } | Action::Receive { .. } => message,
                    Action::Compute { .. } => 1,
                    Action::AwaitSends => 0,
                };
                actions.map(of).sum::<u64>()
            }
            Workload::Program(program, _) => {
                let operations = program.ranks()[rank as usize].operations().iter();
                operations.map(|own| if matches!(own.work(), Work::Calc { .. }) { 1 } else { message }).sum()
            }
            Workload::Messages(list) => {
                let of = |request| if matches!(request, Request::Send { .. }) { message } else { 1 };
                list.of(rank).map(|(_, request)| of(request)).sum::<u64>() + u64::from(list.incoming(rank))
            }
        };
        (0..n).map(|rank| begin + of_rank(rank)).sum()
    }

    /// Returns for each rank the other ranks to which it has connections, ascending: those that it sends to, or all of
    /// them.
    pub fn peers(&self, n: u32) -> Vec<Vec<u32>> {
        let all_pairs = matches!(self, Workload::Messages(list) if list.all_pairs);
        let peers_of = |rank: u32| {
            if all_pairs {
                return (0..n).filter(|&peer| peer != rank).collect();
            }
            let mut peers: Vec<u32> = self.sends(rank).into_iter().map(|(to, _)| to).collect();
            peers.sort_unstable();
            peers.dedup();
            peers
        };
        (0..n).map(peers_of).collect()
    }
}
