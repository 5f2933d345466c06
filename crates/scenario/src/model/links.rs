//! `link` and `links`: settings of links.

use flow_control::Llr;
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use units::Time;

/// Settings of all links, in both directions.
#[derive(Clone, Debug, Default, PartialEq, Deserialize, Serialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct LinkSettings {
    /// Link-level retry (Ultra Ethernet): "on", "off", or a table of its keys. Default: "off".
    #[serde(skip_serializing_if = "Option::is_none")]
    pub llr: Option<Llr>,
}

impl LinkSettings {
    /// Returns true if nothing is set.
    pub fn is_empty(&self) -> bool {
        *self == LinkSettings::default()
    }
}

/// Settings of single links, in both directions.
#[derive(Clone, Debug, Default, PartialEq, Deserialize, Serialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct NamedLinkSettings {
    /// Link-level retry (Ultra Ethernet): "on", "off", or a table of its keys. Default: the value in `link`.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub llr: Option<Llr>,
    /// One-way delay of the cable, in place of the one in the topology. The delay of interfaces and PHY is added as in the topology. A time with unit, 0 s to 10 s. Default: the delay in the topology.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub delay: Option<Time>,
}
