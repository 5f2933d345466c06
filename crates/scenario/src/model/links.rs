//! `link` and `links`.

use flow_control::Llr;
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

/// Settings of a link, in both directions.
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
