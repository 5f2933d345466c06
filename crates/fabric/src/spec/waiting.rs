//! Queueing architectures of switches.

use keys::Remark;
use queueing::CrossbarKeys;
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

/// Queueing architecture of a switch.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Deserialize, Serialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
pub enum Queueing {
    /// Output queueing: one queue per traffic class and egress port, in order of arrival.
    Output,
    /// Virtual output queueing: one queue per traffic class, egress port and ingress port, served in round-robin order.
    VirtualOutput,
    /// Input queueing: frames wait at the inputs until a crossbar transfers them to their output.
    Crossbar(CrossbarKeys),
}

impl Queueing {
    /// Checks the parameters; paths begin at the name of the architecture.
    pub fn check(&self) -> Result<(), Remark> {
        match self {
            Queueing::Output | Queueing::VirtualOutput => Ok(()),
            Queueing::Crossbar(keys) => keys.check().map_err(|remark| remark.within("crossbar")),
        }
    }
    /// Returns the keys without effect; paths begin at the name of the architecture.
    pub fn unused(&self) -> Vec<Remark> {
        match self {
            Queueing::Output | Queueing::VirtualOutput => Vec::new(),
            Queueing::Crossbar(keys) => keys.unused().into_iter().map(|one| one.within("crossbar")).collect(),
        }
    }
}
