//! The workload of an iteration: a collective with its algorithm, as a generator of messages, or a program of operations.

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

/// A collective, checked.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct CollectiveSpec {
    /// The operation.
    pub collective: Collective,
    /// The algorithm of the operation.
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

/// The checked work of all ranks of a job in an iteration.
#[derive(Clone, Debug, PartialEq)]
pub enum WorkloadSpec {
    /// A collective.
    Collective(CollectiveSpec),
    /// A collective that units at switches reduce. They have numbers behind the ranks.
    InNetwork(CollectiveSpec, InNetworkSpec),
    /// A program of operations with dependencies, and the longest message whose send ends when the processor has handed it over; the
    /// send of a longer one ends with its acknowledgement.
    Program(Arc<Program>, u64),
    /// Messages at given times.
    Messages(Arc<MessageList>),
}

/// A generator of the messages of a collective.
#[derive(Clone, Debug)]
pub struct Generated(Generator);

/// Actions of a lane in a phase: a message is sent, and one received.
pub(crate) const ACTIONS_OF_PHASE: u32 = 2;

/// Messages of all ranks.
#[derive(Clone, Debug)]
pub enum Workload {
    /// Those of a collective.
    Generated(Generated),
    /// Those of a program; see [`WorkloadSpec::Program`].
    Program(Arc<Program>, u64),
    /// Those of a list.
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
    /// The generator for `n` ranks, at least 2, of a collective without units.
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
    /// Number of phases, if each sends as many bytes to the same peers as any other, with labels that grow by one.
    pub fn phases(&self) -> Option<u32> {
        match &self.0 {
            Generator::Ring(ring) => ring.phases(),
            _ => None,
        }
    }
}

impl WorkloadSpec {
    /// The messages of `n` ranks, at least 2; a program has as many ranks.
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
    /// Its collective; `None`: it is a program or a list.
    pub fn collective(&self) -> Option<&CollectiveSpec> {
        match self {
            WorkloadSpec::Collective(spec) | WorkloadSpec::InNetwork(spec, _) => Some(spec),
            WorkloadSpec::Program(..) | WorkloadSpec::Messages(_) => None,
        }
    }
    /// Name of the operation in results.
    pub fn name(&self) -> &'static str {
        match self {
            WorkloadSpec::Collective(own) | WorkloadSpec::InNetwork(own, _) => own.collective.name(),
            WorkloadSpec::Program(..) => "program",
            WorkloadSpec::Messages(_) => "messages",
        }
    }
    /// Name of the algorithm in results; empty for a program.
    pub fn algorithm(&self) -> &'static str {
        self.collective().map_or("", |own| own.algorithm.name())
    }
    /// Bytes of an iteration, as a scenario has them; 0 for a program.
    pub fn bytes(&self) -> u64 {
        self.collective().map_or(0, |own| own.bytes)
    }
    /// Factor from algorithm to bus bandwidth among `n` ranks; not a number for a program.
    pub fn bus_factor(&self, n: u32) -> f64 {
        self.collective().map_or(f64::NAN, |own| own.collective.bus_factor(n))
    }
    /// Shortest time of any algorithm among `n` ranks whose NICs have this rate, in seconds: what each NIC must send or receive at
    /// least, without latency and headers. Where the network reduces, each NIC sends or receives the bytes once. Not a number for a
    /// program.
    pub fn bound_secs(&self, n: u32, bps: f64) -> f64 {
        self.bytes() as f64 * 8.0 * self.nic_factor(n) / bps
    }
    /// Highest bus bandwidth among `n` ranks whose NICs have this rate: that rate, or what a reduction in the network makes of it.
    pub fn bound_bps(&self, n: u32, bps: f64) -> f64 {
        match self {
            WorkloadSpec::InNetwork(own, _) if own.collective == Collective::AllReduce => {
                bps * self.bus_factor(n)
            }
            _ => bps,
        }
    }
    /// Share of the bytes that a NIC has to send or receive at least.
    fn nic_factor(&self, n: u32) -> f64 {
        match self {
            WorkloadSpec::InNetwork(..) => 1.0,
            _ => self.bus_factor(n),
        }
    }
    /// Units at switches that take part, behind the ranks.
    pub fn units(&self) -> u32 {
        match self {
            WorkloadSpec::InNetwork(_, own) => own.tree.numbers() - own.tree.ranks(),
            _ => 0,
        }
    }
}

impl Workload {
    /// Receivers and bytes of the messages that a rank sends in an iteration, those to itself left out.
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

    /// Steps of all of `n` ranks in an iteration with these costs, at most: sends, receives, and times on a processor, the one before
    /// the iteration included if it `computes`.
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

    /// By rank, the other ranks that it has connections to, ascending: those that it sends to, or all of them.
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
