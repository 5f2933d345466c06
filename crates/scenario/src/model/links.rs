//! `link` and `links`: settings of links.

use flow_control::Llr;
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use units::Time;

/// Settings of all links, in both directions.
#[derive(Clone, Debug, Default, PartialEq, Deserialize, Serialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct LinkSettings {
    /// Link-level retry (Ultra Ethernet): "on", "off", or its keys. Default: "off".
    #[serde(skip_serializing_if = "Option::is_none")]
    pub llr: Option<Llr>,
}

impl LinkSettings {
    /// Returns true if nothing is set.
    pub fn is_empty(&self) -> bool {
        *self == LinkSettings::default()
    }
}

/// Settings of the links between named ends, in both directions.
#[derive(Clone, Debug, Default, PartialEq, Deserialize, Serialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct NamedLinkSettings {
    /// Link-level retry (Ultra Ethernet): "on", "off", or its keys. Default: that of `link`.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub llr: Option<Llr>,
    /// One-way delay of the cable, in place of that of the topology; the delay of interfaces and PHY is added as there. A time with unit, 0 s to 10 s. Default: that of the topology.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub delay: Option<Time>,
}
