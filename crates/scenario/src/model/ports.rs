//! `ports` of flows and transfers.

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

/// UDP or TCP ports, which switches hash and captures show.
#[derive(Clone, Copy, Debug, PartialEq, Deserialize, Serialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct PortKeys {
    /// Source port. A whole number, 1 to 65535. Default: one of 49152 to 65535 (dynamic ports, RFC 6335), drawn from `seed` for each transfer, or one for each flow.
    #[serde(skip_serializing_if = "Option::is_none")]
    #[schemars(range(min = 1, max = 65535))]
    pub from: Option<u64>,
    /// Destination port; RoCEv2 uses 4791. A whole number, 1 to 65535. Default: 9 (discard, RFC 863).
    #[serde(skip_serializing_if = "Option::is_none")]
    #[schemars(range(min = 1, max = 65535))]
    pub to: Option<u64>,
}
