//! A traffic class of ETS, as configured in a scenario.

use crate::{AccountedLength, Configuration, DrrAwcParams, PortFacts, Share};
use keys::{Forms, Remark, Remarks, by_form};
use schemars::JsonSchema;
use serde::de::value::MapAccessDeserializer;
use serde::de::{Error, MapAccess};
use serde::{Deserialize, Serialize};

/// A traffic class.
#[derive(Clone, Debug, PartialEq, Serialize, JsonSchema)]
#[serde(into = "EtsClassKeys")]
#[schemars(try_from = "EtsClassKeys")]
pub struct EtsClass {
    /// Its queues.
    pub queues: Vec<u32>,
    /// Transmission selection algorithm.
    pub selection: Selection,
    /// Adaptive weights of its queues; `None`: they go round by bytes, or the highest first in a strict class.
    pub adaptive: Option<DrrAwcParams>,
}

impl EtsClass {
    /// Returns the port as the scheduler of the class sees it, with the queues of the class only.
    pub(crate) fn port(&self, port: &PortFacts) -> PortFacts {
        PortFacts { queues: self.queues.len() as u32, ..*port }
    }

    /// Checks the adaptive weights of class number `at` of ETS, which accounts frames by `length`. Places in the
    /// remarks are relative to the key of the adaptive weights.
    pub(crate) fn check_adaptive(&self, at: usize, length: AccountedLength, port: &PortFacts) -> Remarks {
        let Some(adaptive) = &self.adaptive else { return Ok(Vec::new()) };
        if self.queues.len() < 2 || !matches!(self.selection, Selection::Percent(_)) {
            let message = format!("drr_awc in traffic class {at}, which has no queues to share by it");
            return Err(Remark::new(message, "expected a percent and two queues at least"));
        }
        if adaptive.accounted_length() != length {
            let message = format!("drr_awc in traffic class {at} counts frames otherwise than ets");
            return Err(Remark::new(
                message,
                "expected the same accounted_length, per_frame and cell in both",
            ));
        }
        adaptive.check(&self.port(port))
    }
}

/// Transmission selection algorithm (TSA) of a class.
#[derive(Clone, Copy, Debug, PartialEq)]
pub enum Selection {
    /// TSA 0: strict priority.
    Strict,
    /// TSA 1: credit-based shaper.
    CreditBased {
        /// Guaranteed rate of the class; below the rate of the link.
        idle_slope: Share,
    },
    /// TSA 2: a percentage of the bandwidth that strict and shaped classes leave, 0 to 100.
    Percent(u32),
}

/// A class of enhanced transmission selection.
#[derive(Clone, Debug, Default, Deserialize, Serialize, JsonSchema)]
#[serde(deny_unknown_fields)]
struct EtsClassKeys {
    /// Queues of the class: class numbers, 0 to 7. Required.
    queues: Vec<u32>,
    /// ETS class: share of the bandwidth that strict and shaped classes leave, in percent, 0 to 100; all shares sum to 100. Default: none.
    #[serde(skip_serializing_if = "Option::is_none")]
    #[schemars(range(min = 0, max = 100))]
    percent: Option<u32>,
    /// If true, a strict priority class, served before all others, highest first. Default: none.
    #[serde(skip_serializing_if = "Option::is_none")]
    strict: Option<bool>,
    /// Credit-based shaper: guaranteed rate of the class, below the link rate; a rate or {share}. Default: none.
    #[serde(skip_serializing_if = "Option::is_none")]
    idle_slope: Option<Share>,
    /// Deficit round robin with adaptive weights among the queues of an ETS class with at least two queues; its `weights` refer to these queues, in their order. Default: none (equal shares of bytes).
    #[serde(skip_serializing_if = "Option::is_none")]
    drr_awc: Option<DrrAwcParams>,
}

impl Forms for EtsClass {
    const EXPECTED: &'static str = "a class: a table with queues and one of percent, strict and idle_slope";
    fn table<'de, A: MapAccess<'de>>(table: A) -> Result<EtsClass, A::Error> {
        let keys = EtsClassKeys::deserialize(MapAccessDeserializer::new(table))?;
        let selection = match (keys.percent, keys.strict, keys.idle_slope) {
            (Some(percent), None, None) => Selection::Percent(percent),
            (None, Some(true), None) => Selection::Strict,
            (None, None, Some(idle_slope)) => Selection::CreditBased { idle_slope },
            _ => {
                return Err(A::Error::custom(
                    "a class of ets is selected in exactly one way; expected one of percent = 50, strict = true and \
                     idle_slope = \"1 Gb/s\"",
                ));
            }
        };
        Ok(EtsClass { queues: keys.queues, selection, adaptive: keys.drr_awc })
    }
}
by_form!(EtsClass);

impl From<EtsClass> for EtsClassKeys {
    fn from(EtsClass { queues, selection, adaptive }: EtsClass) -> EtsClassKeys {
        let keys = EtsClassKeys { queues, drr_awc: adaptive, ..EtsClassKeys::default() };
        match selection {
            Selection::Percent(percent) => EtsClassKeys { percent: Some(percent), ..keys },
            Selection::Strict => EtsClassKeys { strict: Some(true), ..keys },
            Selection::CreditBased { idle_slope } => EtsClassKeys { idle_slope: Some(idle_slope), ..keys },
        }
    }
}
