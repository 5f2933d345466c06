//! Multipath Reliable Connection (MRC): RDMA over hundreds of paths, across the planes of one NIC, in a lossy fabric.
//!
//! A connection carries WRITEs. Each packet has its own entropy value, which the path states of `paths` select, and is
//! placed when it arrives. A message is delivered when all of its packets have arrived. Acknowledgements are
//! selective: they carry the cumulative sequence number, a bitmap of 64 packets, and the entropy value and the mark of
//! the packet that they answer. An acknowledgement is sent for the first packet, after each `ack_every` bytes, and
//! immediately for a mark, a duplicate, a request and the closing of a gap. A packet trimmed by a switch is answered
//! with a NACK and retransmitted immediately. A packet is lost without a NACK if a packet sent later has been
//! acknowledged for `reorder_time`, or if the timeout expires. In that case its path is removed, and it is
//! retransmitted over another one.
//!
//! The first `linear_retries` consecutive timeouts have the same length. Each further one is twice as long as the
//! previous one. After `exponential_retries` of these the connection fails.
//!
//! Window and retransmission are those of a packet delivery context of Ultra Ethernet (`nscc`), to which the MRC
//! specification refers. The results are in the tables `delivery_contexts` and `path_states`.
//!
//! Source: Open Compute Project, Multipath Reliable Connection 1.0 (2026), as in its public API (`mrc.h`,
//! `mrc_ctl.h`), an emulation of its wire format and public models. Frame overhead: Ethernet 14, IPv6 40, UDP 8, BTH
//! 12, METH 4, TSETH 4, RETH 16, ICRC 4, FCS 4 around the payload (106 B); acknowledgement 118 B, NACK 102 B, probe 98
//! B.
//!
//! Our choice, because nothing is published: the number of entropy values and their probes, bytes per acknowledgement,
//! `reorder_time`, the computed timeout.
//!
//! Not modelled: immediate data; dynamic sequence number ranges; NACKs for reasons other than trimming; connection
//! establishment.

use super::spec::MAX_CONTEXTS;
use super::{MrcRules, UetControlKeys, UetKeys, UetSpec};
use crate::application::ApplicationKeys;
use crate::path_selection::{MrcPathsKeys, PathSelectionKeys};
use keys::{Remark, Unused};
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use std::sync::Arc;
use units::{Bytes, Computed, Or, Time};

/// Lengths of a NACK and of a probe in bytes, DA to FCS.
const NACK_BYTES: u16 = 102;
/// See `NACK_BYTES`.
const PROBE_BYTES: u16 = 98;
/// Maximum payload in bytes (MTU of InfiniBand).
const LARGEST_PAYLOAD: u64 = 4096;
/// Unit of the range of sequence numbers, and its maximum value: 8 bits.
const RANGE_UNIT: u64 = 128;
const LARGEST_RANGE: u64 = RANGE_UNIT * 255;
/// Maximum number of consecutive timeouts of each kind.
const MAX_LINEAR: u64 = 7;
/// Number of exponential retries that stands for no limit.
const ENDLESS: u64 = 25;

/// Messages over Multipath Reliable Connection (MRC); full packets are at most as long as `frame`.
#[derive(Clone, Debug, PartialEq, Deserialize, Serialize, JsonSchema)]
#[serde(default, deny_unknown_fields)]
pub struct MrcKeys {
    /// Congestion control of each connection: "none" or "nscc", also as a table with its keys. Default: nscc.
    pub control: UetControlKeys,
    /// Distribution of packets over paths: "mrc", or another selection by name or table, for comparisons. Default: mrc.
    pub paths: PathSelectionKeys,
    /// Bytes of payload in a full packet. A size with unit, 1 B to 4096 B, up to `frame` minus `headers`; or "computed": the largest power of two from 256 to 4096 B that fits. Default: "computed".
    pub payload: Or<Bytes, Computed>,
    /// Bytes of headers in a data frame, DA to FCS. A size with unit, 1 B up to less than `frame`. Default: "106 B" (IPv6 and UDP; SRv6 adds 40 B).
    pub headers: Bytes,
    /// Number of connections from one host to another, each with its own window, timer and paths; messages are assigned to them in round-robin order. A count, 1 to 16. Default: 1.
    #[schemars(range(min = 1, max = 16))]
    pub connections: u64,
    /// Length of an acknowledgement, DA to FCS. A size with unit, 1 to 9238 B. Default: "118 B".
    pub ack: Bytes,
    /// Received bytes per acknowledgement; marks, requests and duplicates cause additional acknowledgements. A size with unit, 1 B to 1 GiB; or "computed": 16 KiB, or a quarter of the bandwidth-delay product if that is less. Default: "computed" (our choice).
    pub ack_every: Or<Bytes, Computed>,
    /// Maximum PSN range (MPR): packets from the oldest unacknowledged one to the newest. A multiple of 128, 128 to 32640. Default: 1024 (example of the API).
    #[schemars(range(min = 128, max = 32640))]
    pub psn_range: u64,
    /// If true, switches trim packets instead of dropping them, which sets the target of `nscc`. Default: true if every switch on the path trims the traffic class of the data.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub trimming: Option<bool>,
    /// Round-trip time of a full packet and its acknowledgement without queues, from which windows are computed. A time with unit, above 0; or "computed": that of the path with the initial link rates. Default: "computed".
    pub base_rtt: Or<Time, Computed>,
    /// Reordering window: time after the acknowledgement of a packet sent later, after which a packet is considered lost. A time with unit; or "computed": a quarter of the base round trip, but at least 32 us (400 kB at 100 Gb/s). Default: "computed" (our choice).
    pub reorder_time: Or<Time, Computed>,
    /// Retransmission timeout of the oldest packet in flight. A time with unit, above 0; or "computed": three base round trips and 64 us, at least 100 us. Default: "computed" (our choice).
    pub timeout: Or<Time, Computed>,
    /// Number of consecutive timeouts of the same length. A count, 0 to 7. Default: 3.
    #[schemars(range(max = 7))]
    pub linear_retries: u64,
    /// Maximum number of further consecutive timeouts, each twice as long as the previous one, before the connection fails. A count, 0 to 25; 25: unlimited. Default: 25.
    #[schemars(range(max = 25))]
    pub exponential_retries: u64,
    /// Priority of acknowledgements and NACKs. A whole number, 0 to 7. Default: that of the data.
    #[serde(skip_serializing_if = "Option::is_none")]
    #[schemars(range(min = 0, max = 7))]
    pub ack_priority: Option<u64>,
}

impl Default for MrcKeys {
    fn default() -> MrcKeys {
        MrcKeys {
            control: UetControlKeys::default(),
            paths: PathSelectionKeys::MrcPaths(MrcPathsKeys::default()),
            payload: Or::word(),
            headers: Bytes::new(106),
            connections: 1,
            ack: Bytes::new(118),
            ack_every: Or::word(),
            psn_range: 1024,
            trimming: None,
            base_rtt: Or::word(),
            reorder_time: Or::word(),
            timeout: Or::word(),
            linear_retries: 3,
            exponential_retries: ENDLESS,
            ack_priority: None,
        }
    }
}

impl MrcKeys {
    /// Returns connections that carry messages in frames of at most `frame` bytes, and warnings.
    ///
    /// # Errors
    /// One remark per invalid value.
    pub fn carrier(&self, frame: u16) -> Result<(Arc<UetSpec>, Vec<Remark>), Vec<Remark>> {
        let mut wrong = self.check();
        let frame = u64::from(frame).min(LARGEST_PAYLOAD + self.headers.get()) as u16;
        let base = UetKeys {
            control: self.control.clone(),
            paths: self.paths.clone(),
            contexts: self.connections.clamp(1, MAX_CONTEXTS),
            payload: self.payload,
            headers: Some(self.headers),
            ack: Some(self.ack),
            ack_every: self.ack_every,
            psn_range: self.psn_range.max(1),
            trimming: self.trimming,
            loss_inference: Some(false),
            base_rtt: self.base_rtt,
            timeout: self.timeout,
            ack_priority: self.ack_priority,
            ..UetKeys::default()
        };
        let base = ApplicationKeys::spec(&Box::new(base), Some(Bytes::new(0)), frame);
        wrong.extend(base.as_ref().err().into_iter().flatten().cloned());
        let (Ok((spec, _)), true) = (base, wrong.is_empty()) else { return Err(wrong) };
        let endless = self.exponential_retries == ENDLESS;
        let retries = (self.linear_retries + self.exponential_retries) as u32;
        let spec = UetSpec {
            linear_retries: self.linear_retries as u32,
            retries: if endless { u32::MAX } else { retries },
            mrc: Some(MrcRules {
                reordering: self.reorder_time.value(),
                nack: NACK_BYTES,
                probe: PROBE_BYTES,
            }),
            ..UetSpec::clone(&spec)
        };
        Ok((spec.into(), self.warnings()))
    }

    fn check(&self) -> Vec<Remark> {
        let mut wrong = Vec::new();
        if !matches!(self.control, UetControlKeys::None(_) | UetControlKeys::Nscc(_)) {
            let message = format!("control = \"{}\" of MRC", self.control.name());
            wrong.push(Remark::about("control", message, "expected \"nscc\" or \"none\""));
        }
        if !(RANGE_UNIT..=LARGEST_RANGE).contains(&self.psn_range)
            || !self.psn_range.is_multiple_of(RANGE_UNIT)
        {
            let message = format!("a range of {} sequence numbers", self.psn_range);
            let near = self.psn_range.clamp(1, LARGEST_RANGE).next_multiple_of(RANGE_UNIT);
            let help = format!("expected a multiple of {RANGE_UNIT} up to {LARGEST_RANGE}, like {near}");
            wrong.push(Remark::about("psn_range", message, help));
        }
        if !(1..=MAX_CONTEXTS).contains(&self.connections) {
            let message = format!("connections of {}", self.connections);
            let help = format!("expected 1 to {MAX_CONTEXTS} between two hosts");
            wrong.push(Remark::about("connections", message, help));
        }
        let counts = [
            ("linear_retries", self.linear_retries, MAX_LINEAR),
            ("exponential_retries", self.exponential_retries, ENDLESS),
        ];
        for (key, count, most) in counts {
            if count > most {
                wrong.push(Remark::about(key, format!("{key} of {count}"), format!("expected 0 to {most}")));
            }
        }
        wrong
    }

    /// Returns warnings about keys that have no effect.
    fn warnings(&self) -> Vec<Remark> {
        let windows = !matches!(self.control, UetControlKeys::None(_));
        let computes = self.timeout.value().is_none() || self.reorder_time.value().is_none();
        Unused::of(self, &MrcKeys::default())
            .unless(windows, "control = \"nscc\"", &["trimming"])
            .unless(windows || computes, "control = \"nscc\", or a computed time", &["base_rtt"])
            .remarks()
            .into_iter()
            .chain(self.control.unused().into_iter().map(|why| why.within("control")))
            .collect()
    }
}
