//! Jobs: ranks at hosts that run a workload together.

use frame::NodeId;
use jobs::{Computation, JobCosts, WorkloadSpec};
use units::Time;

/// A job.
#[derive(Clone, Debug)]
pub struct JobSpec {
    /// Unique name.
    pub name: String,
    /// By rank, its host.
    pub hosts: Vec<NodeId>,
    /// The messages of an iteration.
    pub workload: WorkloadSpec,
    /// Costs of a rank's processor.
    pub costs: JobCosts,
    /// By rank, how long it computes.
    pub computations: Vec<Computation>,
    /// When the first iteration begins.
    pub start: Time,
    /// Number of iterations.
    pub iterations: u32,
    /// Iterations whose steps are recorded, the first ones; see [`jobs::Workload::steps`].
    pub recorded: u32,
    /// By rank, the flow that carries its messages, an index into [`Spec::flows`](crate::spec::Spec::flows), and the ranks that they go to: the n-th destination of
    /// the flow is the host of the n-th of them. `None`: it sends none.
    pub flows: Vec<Option<(u32, Vec<u32>)>>,
}

impl JobSpec {
    /// Number of ranks.
    pub fn ranks(&self) -> u32 {
        self.hosts.len() as u32
    }
}
