//! Packet trimming: instead of dropping a frame, a switch truncates it and forwards the headers.
//!
//! The trimmed frame informs the receiver of the loss at once, so that the sender need not wait for a timeout. It gets
//! the DSCP of trimmed frames and is enqueued in the queue of that DSCP. It is dropped only if that queue has no room
//! either. A frame of at most `size` bytes keeps its length, and only its DSCP changes. The switches on the rest of
//! the path treat a trimmed frame like any other frame with that DSCP.
//!
//! Three variants are in use. `preset` selects the default values of one of them:
//!
//! - `sonic`: the switch trims a frame if its buffer has no room for it, or if the queue manager would drop it.
//! - `uec`: the switch trims a frame if the queue would exceed `threshold`, one bandwidth-delay product of a plane. At
//!   the port to the receiver the limit is 1.5 times that.
//! - `htsim`: the limit is `threshold` too. With probability 1/2 the switch trims the last frame of the queue instead,
//!   and the arriving frame takes its place (`victim = "random"`), to avoid phase effects between senders. The queue
//!   of trimmed frames holds twice the threshold.
//!
//! With `last_hop`, a frame trimmed at the port to its receiver carries a separate mark. Such a loss is caused by
//! incast, and no other path would avoid it. Trimming keeps the ECN field of the frame, and never sets CE.
//!
//! Source: Open Compute Project, Switch Abstraction Interface, proposal on packet trimming, with SONiC's
//! `SWITCH_TRIMMING` and `packet_discard_action`; Ultra Ethernet Consortium, Specification 1.0.3, section 3.6.17
//! (thresholds); M. Handley et al., "Re-architecting datacenter networks and stacks for low latency and high
//! performance", SIGCOMM 2017 (NDP: the random choice); htsim's `compositequeue.cpp`.
//!
//! Not modelled: return to sender; a queue for trimmed frames other than the queue of their DSCP; several trim sizes;
//! the ACL action `DISABLE_TRIM`.

use crate::reference_rate;
use frame::NodeId;
use keys::{Remark, Unused};
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use units::{BitRate, Bytes};

/// Packet trimming of a switch.
#[derive(Clone, Debug, Default, PartialEq, Deserialize, Serialize, JsonSchema)]
#[serde(default, deny_unknown_fields)]
pub struct TrimmingKeys {
    /// Variant that sets the defaults of the other keys: "sonic" (trims a frame for which there is no buffer space, to 128 B), "uec" (trims a frame above `threshold`, to 66 B: 24 B of IP payload) or "htsim" (trims a frame above `threshold`, or the last one of its queue, to 64 B). Default: "sonic".
    pub preset: TrimmingPreset,
    /// Length of a trimmed frame, DA to FCS. A size, "64 B" to "4088 B". Default: by the preset.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub size: Option<Bytes>,
    /// DSCP of trimmed frames; `maps.dscp_to_tc` maps it to a traffic class. A number, 0 to 63. Default: 48 (traffic class 6 without a map).
    #[serde(skip_serializing_if = "Option::is_none")]
    #[schemars(range(max = 63))]
    pub dscp: Option<u32>,
    /// Different DSCPs for frames trimmed at ports to certain neighbours, like SONiC's "from-tc": a list of tables of `to` and `dscp`. The first entry that matches a neighbour applies. Default: none (`dscp` at all ports).
    #[serde(skip_serializing_if = "Option::is_none")]
    pub dscp_to: Option<Vec<TrimmingDscp>>,
    /// Queues whose frames are trimmed. A list of traffic classes, 0 to 7. Default: those whose profile has `discard_action` = "trim"; without `buffer.memory`, all lossy queues except the queue of trimmed frames.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub queues: Option<Vec<u32>>,
    /// Limit of a queue; a frame above it is trimmed. A size. Default: none with "sonic" (the limits of the buffer), else required.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub threshold: Option<Bytes>,
    /// Limit of a queue at a port to a host. A size. Default: `threshold`; with "uec" 1.5 of it.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub last_hop_threshold: Option<Bytes>,
    /// Limit of the queue of trimmed frames; a trimmed frame above it is dropped. A size. Default: none (the limits of the buffer); with "htsim" twice `threshold`.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub header_limit: Option<Bytes>,
    /// Port rate for which `threshold`, `last_hop_threshold` and `header_limit` are given. At ports of other rates, and after a change of the port rate, they scale in proportion, so that the queueing delay stays the same. A rate with unit, above 0. Default: none (the same at all ports).
    #[serde(skip_serializing_if = "Option::is_none")]
    pub reference_rate: Option<BitRate>,
    /// Frame that is trimmed above `threshold`: the arriving frame ("arriving"), or with equal probability the arriving frame or the last frame of the queue ("random"). Default: "arriving"; with "htsim" "random".
    #[serde(skip_serializing_if = "Option::is_none")]
    pub victim: Option<Victim>,
    /// If true, frames trimmed at ports to hosts carry a separate mark, such as another DSCP. Default: false with "sonic", else true.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub last_hop: Option<bool>,
}

/// DSCP of frames trimmed at ports to certain neighbours.
#[derive(Clone, Debug, PartialEq, Deserialize, Serialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct TrimmingDscp {
    /// The neighbours: a list of names, ranges or patterns of hosts and switches. Required.
    pub to: Vec<String>,
    /// DSCP of frames trimmed at ports to these neighbours. A number, 0 to 63. Required.
    #[schemars(range(max = 63))]
    pub dscp: u32,
}

/// Variant that sets the defaults of the keys of trimming.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Deserialize, Serialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
pub enum TrimmingPreset {
    /// Values of the Switch Abstraction Interface.
    #[default]
    Sonic,
    /// Values recommended by Ultra Ethernet.
    Uec,
    /// Values of htsim's composite queue.
    Htsim,
}

/// Frame that is trimmed if a queue exceeds its threshold.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Deserialize, Serialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
pub enum Victim {
    /// The arriving frame.
    #[default]
    Arriving,
    /// With equal probability the arriving frame or the last frame of the queue.
    Random,
}

/// Action on frames for which their queue has no room: `packet_discard_action` of SONiC.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Deserialize, Serialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
pub enum DiscardAction {
    /// They are lost.
    #[default]
    Drop,
    /// They are trimmed.
    Trim,
}

/// The packet trimming of a switch.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct TrimmingSpec {
    /// Length of a trimmed frame in bytes, DA to FCS.
    pub size: u16,
    /// Priority of trimmed frames.
    pub priority: u8,
    /// Priorities of frames trimmed at ports to particular neighbours: the neighbours, and the priority.
    pub priority_to: Vec<(Vec<NodeId>, u8)>,
    /// Traffic classes whose frames are trimmed, bit n for class n; `None`: by profiles, or all lossy classes.
    pub classes: Option<u8>,
    /// Maximum number of bytes in a queue, and in a queue towards a host.
    pub thresholds: Option<[u64; 2]>,
    /// Maximum number of bytes in the queue of trimmed frames.
    pub header_limit: Option<u64>,
    /// Rate of a port at which these limits apply; `None` if they apply at any rate.
    pub reference_rate: Option<BitRate>,
    /// Frame that is trimmed, see [`Victim`].
    pub victim: Victim,
    /// True if frames trimmed at ports to hosts are marked as such.
    pub marks_last_hop: bool,
}

/// Range of the length of trimmed frames.
const SIZES: std::ops::RangeInclusive<u64> = frame::MIN_FRAME_BYTES as u64..=4088;

impl TrimmingKeys {
    /// Returns the DSCPs that trimmed frames may have.
    pub fn dscps(&self) -> impl Iterator<Item = u32> {
        [self.dscp.unwrap_or(48)].into_iter().chain(self.dscp_to.iter().flatten().map(|entry| entry.dscp))
    }

    /// Resolves the keys. The callbacks return the traffic class of a DSCP at the switch, and the nodes in a list of
    /// neighbours.
    ///
    /// # Errors
    /// Keys that exclude each other or are out of range.
    pub fn spec(
        &self,
        class_of: impl Fn(u32) -> u8,
        mut neighbours: impl FnMut(usize, &[String]) -> Vec<NodeId>,
    ) -> Result<TrimmingSpec, Remark> {
        self.check()?;
        let entries = self.dscp_to.iter().flatten().enumerate();
        let priority_to =
            entries.map(|(nth, entry)| (neighbours(nth, &entry.to), class_of(entry.dscp))).collect();
        let usual = match self.preset {
            TrimmingPreset::Sonic => 128,
            TrimmingPreset::Uec => 66,
            TrimmingPreset::Htsim => 64,
        };
        let threshold = self.threshold.map(Bytes::get);
        let at_last = |threshold| match self.preset {
            TrimmingPreset::Uec => threshold + threshold / 2,
            _ => threshold,
        };
        let last = self.last_hop_threshold.map(Bytes::get);
        let twice = threshold.filter(|_| self.preset == TrimmingPreset::Htsim).map(|bytes| 2 * bytes);
        let random = self.preset == TrimmingPreset::Htsim;
        Ok(TrimmingSpec {
            size: self.size.map_or(usual, |bytes| bytes.get() as u16),
            priority: class_of(self.dscp.unwrap_or(48)),
            priority_to,
            classes: self.queues.as_ref().map(|list| list.iter().fold(0, |set, &class| set | 1 << class)),
            thresholds: threshold.map(|bytes| [bytes, last.unwrap_or(at_last(bytes))]),
            header_limit: self.header_limit.map(Bytes::get).or(twice),
            reference_rate: self.reference_rate,
            victim: self.victim.unwrap_or(if random { Victim::Random } else { Victim::Arriving }),
            marks_last_hop: self.last_hop.unwrap_or(self.preset != TrimmingPreset::Sonic),
        })
    }

    fn check(&self) -> Result<(), Remark> {
        if let Some(size) = self.size.filter(|size| !SIZES.contains(&size.get())) {
            let help =
                format!("expected {} B to {} B, DA to FCS, like \"256 B\"", SIZES.start(), SIZES.end());
            return Err(Remark::about("size", format!("frames trimmed to {size}"), help));
        }
        if let Some(dscp) = self.dscp.filter(|&dscp| dscp > 63) {
            return Err(Remark::about("dscp", format!("DSCP {dscp}"), "expected 0 to 63"));
        }
        for (nth, entry) in self.dscp_to.iter().flatten().enumerate() {
            let within = |why: Remark| why.within_entry(nth).within("dscp_to");
            if entry.dscp > 63 {
                let why = Remark::about("dscp", format!("DSCP {}", entry.dscp), "expected 0 to 63");
                return Err(within(why));
            }
            if entry.to.is_empty() {
                return Err(within(Remark::about(
                    "to",
                    "an empty list",
                    "expected neighbours of the switch",
                )));
            }
        }
        reference_rate::check(self.reference_rate)?;
        let queues = self.queues.as_deref().unwrap_or(&[0]);
        if queues.is_empty() || queues.iter().any(|&class| class > 7) {
            let message = format!("frames of queues {queues:?} are trimmed");
            return Err(Remark::about("queues", message, "expected at least one traffic class, 0 to 7"));
        }
        if self.threshold.is_none() && self.preset != TrimmingPreset::Sonic {
            let help =
                "expected threshold, what the plane holds in flight (rate times round trip), like \"180 kB\"";
            return Err(Remark::about("preset", "trimming above a threshold that is not given", help));
        }
        let sizes = [
            ("threshold", self.threshold),
            ("last_hop_threshold", self.last_hop_threshold),
            ("header_limit", self.header_limit),
        ];
        let none = sizes.into_iter().find(|(_, size)| size.is_some_and(|size| size.get() == 0));
        none.map_or(Ok(()), |(key, _)| {
            Err(Remark::about(key, format!("{key} of 0 B"), "expected a size above 0"))
        })
    }

    /// Returns the keys that have no effect.
    pub fn unused(&self) -> Vec<Remark> {
        Unused::of(self, &TrimmingKeys::default())
            .unless(self.threshold.is_some(), "threshold", &["last_hop_threshold", "victim"])
            .unless(
                self.threshold.is_some() || self.header_limit.is_some(),
                "threshold or header_limit",
                &["reference_rate"],
            )
            .remarks()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn spec(keys: &TrimmingKeys) -> TrimmingSpec {
        keys.spec(|dscp| (dscp / 8) as u8, |nth, _| vec![NodeId(nth as u32)]).unwrap()
    }

    #[test]
    fn presets_have_the_values_of_their_sources() {
        let sonic = spec(&TrimmingKeys::default());
        assert_eq!((sonic.size, sonic.priority, sonic.thresholds), (128, 6, None));
        assert_eq!((sonic.victim, sonic.marks_last_hop, sonic.header_limit), (Victim::Arriving, false, None));
        let threshold = Some(Bytes::new(178_450));
        let uec = spec(&TrimmingKeys { preset: TrimmingPreset::Uec, threshold, ..Default::default() });
        assert_eq!((uec.size, uec.thresholds), (66, Some([178_450, 267_675])));
        assert!(uec.marks_last_hop);
        let htsim = spec(&TrimmingKeys { preset: TrimmingPreset::Htsim, threshold, ..Default::default() });
        assert_eq!((htsim.thresholds, htsim.header_limit), (Some([178_450; 2]), Some(356_900)));
        assert_eq!((htsim.size, htsim.victim), (64, Victim::Random));
    }

    #[test]
    fn ports_may_have_dscps_of_their_own() {
        let to = |dscp| TrimmingDscp { to: vec!["h*".to_string()], dscp };
        let keys = TrimmingKeys { dscp: Some(20), dscp_to: Some(vec![to(10)]), ..Default::default() };
        let spec = spec(&keys);
        assert_eq!((spec.priority, spec.priority_to), (2, vec![(vec![NodeId(0)], 1)]));
        assert_eq!(keys.dscps().collect::<Vec<_>>(), [20, 10]);
    }

    #[test]
    fn what_cannot_be_meant_is_refused() {
        let usual = TrimmingKeys::default();
        let entry =
            |to: &[&str], dscp| TrimmingDscp { to: to.iter().map(|name| name.to_string()).collect(), dscp };
        for (key, wrong) in [
            ("size", TrimmingKeys { size: Some(Bytes::new(63)), ..usual.clone() }),
            ("size", TrimmingKeys { size: Some(Bytes::new(4_089)), ..usual.clone() }),
            ("dscp_to", TrimmingKeys { dscp_to: Some(vec![entry(&["h*"], 64)]), ..usual.clone() }),
            ("dscp_to", TrimmingKeys { dscp_to: Some(vec![entry(&[], 6)]), ..usual.clone() }),
            ("dscp", TrimmingKeys { dscp: Some(64), ..usual.clone() }),
            ("queues", TrimmingKeys { queues: Some(vec![]), ..usual.clone() }),
            ("queues", TrimmingKeys { queues: Some(vec![8]), ..usual.clone() }),
            ("preset", TrimmingKeys { preset: TrimmingPreset::Uec, ..usual.clone() }),
            ("header_limit", TrimmingKeys { header_limit: Some(Bytes::new(0)), ..usual.clone() }),
        ] {
            let refused = wrong.spec(|_| 0, |_, _| Vec::new()).unwrap_err();
            assert!(format!("{refused:?}").contains(&format!("\"{key}\"")), "{refused:?}");
        }
    }
}
