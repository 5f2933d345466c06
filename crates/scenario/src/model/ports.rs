//! `ports` of flows and transfers.

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

/// Ports of UDP or TCP, which switches hash and captures show.
#[derive(Clone, Copy, Debug, PartialEq, Deserialize, Serialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct PortKeys {
    /// That of the sender. A whole number, 1 to 65535. Default: one of 49152 to 65535 (dynamic, RFC 6335): for each transfer drawn from `seed`, for each flow its own.
    #[serde(skip_serializing_if = "Option::is_none")]
    #[schemars(range(min = 1, max = 65535))]
    pub from: Option<u64>,
    /// That of the receiver: 4791 for RoCEv2. A whole number, 1 to 65535. Default: 9 (discard, RFC 863).
    #[serde(skip_serializing_if = "Option::is_none")]
    #[schemars(range(min = 1, max = 65535))]
    pub to: Option<u64>,
}
