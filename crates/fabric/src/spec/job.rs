//! Jobs: ranks at hosts that run a workload together.

use crate::spec::Spec;
use frame::NodeId;
use jobs::{Computation, JobCosts, WorkloadSpec};
use units::Time;

/// A job.
#[derive(Clone, Debug)]
pub struct JobSpec {
    /// Unique name.
    pub name: String,
    /// Host of each rank, followed by the switches of the reduction units.
    pub hosts: Vec<NodeId>,
    /// The messages of an iteration.
    pub workload: WorkloadSpec,
    /// Costs of a rank's processor; reduction units have none.
    pub costs: JobCosts,
    /// Computation of each rank and unit.
    pub computations: Vec<Computation>,
    /// Start of the first iteration.
    pub start: Time,
    /// Number of iterations.
    pub iterations: u32,
    /// Number of iterations whose steps are recorded, from the first; see [`jobs::Workload::steps`].
    pub recorded: u32,
    /// By rank and unit, the flow that carries its messages (an index into [`Spec::flows`](crate::spec::Spec::flows)),
    /// and the receiving ranks: the n-th destination of the flow is the host of the n-th of them. `None` if it sends no
    /// messages.
    pub flows: Vec<Option<(u32, Vec<u32>)>>,
}

impl Spec {
    /// Returns true if the messages of a job are frames without a transport.
    pub fn is_over_frames(&self, job: &JobSpec) -> bool {
        let flows = job.flows.iter().flatten().map(|(flow, _)| &self.flows[*flow as usize]);
        flows.filter_map(|flow| flow.transport.as_ref()).any(|connection| connection.is_frames())
    }
}

impl JobSpec {
    /// Number of ranks.
    pub fn ranks(&self) -> u32 {
        self.hosts.len() as u32 - self.workload.units()
    }
    /// The hosts of its ranks.
    pub fn rank_hosts(&self) -> &[NodeId] {
        &self.hosts[..self.ranks() as usize]
    }
}
