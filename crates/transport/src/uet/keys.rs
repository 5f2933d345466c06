//! The keys of Ultra Ethernet Transport.

use super::UetControlKeys;
use super::spec::{MAX_CONTEXTS, UetMode, UetSes, UetSpec};
use crate::PathSelectionKeys;
use crate::application::ApplicationKeys;
use frame::Priority;
use keys::{Remark, Unused};
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use std::sync::Arc;
use units::{Bytes, Computed, Or, Time, Unlimited};

/// Payload lengths of a full packet in bytes, largest first.
const PAYLOADS: [u16; 6] = [8192, 4096, 2048, 1024, 512, 256];
/// Maximum frame length in bytes.
const MAX_FRAME: u64 = 9_238;
/// Bytes of Ethernet header 14, IPv4 20, UDP 8, FCS 4.
const AROUND_BYTES: u16 = 46;
/// Bytes of the credit target in a request.
const CREDIT_TARGET_BYTES: u16 = 4;
/// Bytes of the SES header of a response.
const RESPONSE_BYTES: u16 = 12;
/// Maximum number of outstanding packets: far less than half of the 24-bit sequence numbers of frames.
const MAX_PSN_RANGE: u64 = 1 << 20;
/// Maximum number of bytes per acknowledgement.
const MAX_ACK_EVERY: u64 = 1 << 30;

/// Sizes of headers.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Deserialize, Serialize, JsonSchema)]
#[serde(rename_all = "kebab-case")]
pub enum UetPreset {
    /// Ultra Ethernet Specification 1.0 over UDP and IPv4: 102 B around the payload, an acknowledgement of 90 B.
    #[default]
    Uec,
    /// uet-htsim: 64 B around the payload, an acknowledgement of 64 B.
    Htsim,
}

impl UetPreset {
    /// Returns the bytes of headers around the payload, and the length of an acknowledgement, DA to FCS.
    fn sizes(self, mode: UetMode, ses: UetSes, credits: bool) -> (u16, u16) {
        let (request, answer) = mode.header_bytes();
        match self {
            UetPreset::Uec => {
                let target = if credits { CREDIT_TARGET_BYTES } else { 0 };
                (AROUND_BYTES + request + target + ses.bytes(), AROUND_BYTES + answer + RESPONSE_BYTES)
            }
            UetPreset::Htsim => (64, 64),
        }
    }
}

/// Messages over Ultra Ethernet Transport (UET); full packets are at most as long as `frame`.
#[derive(Clone, Debug, PartialEq, Deserialize, Serialize, JsonSchema)]
#[serde(default, deny_unknown_fields)]
pub struct UetKeys {
    /// Header sizes: "uec" (specification, over UDP and IPv4) or "htsim" (uet-htsim, for comparisons). Default: "uec".
    pub preset: UetPreset,
    /// Delivery mode: "rud" (reliable, unordered), "rod" (reliable, ordered), "rudi" (reliable, for idempotent messages, without context) or "uud" (unreliable, unordered). Default: "rud".
    pub mode: UetMode,
    /// Number of packet delivery contexts (PDCs) from one host to another, each with its own window, timer and paths; messages are assigned to them in round-robin order. With paths = "fixed" each PDC uses its own path. With mode = "rud" or "rod"; "rod" orders the messages of each PDC. A count, 1 to 16. Default: 1.
    #[schemars(range(min = 1, max = 16))]
    pub contexts: u64,
    /// SES header of requests: "standard" (44 B), "medium" (32 B) or "small" (20 B); without `headers`. Default: "standard".
    pub ses: UetSes,
    /// Congestion control of each packet delivery context: "none", "nscc", "rccc", "eqds", "ndp", or a table of that name with its keys; with mode = "rud" or "rod". Default: nscc.
    pub control: UetControlKeys,
    /// Bytes of payload in a full packet. A size with unit, 1 B up to `frame` minus `headers`; or "computed": the largest power of two from 256 to 8192 B that fits. Default: "computed".
    pub payload: Or<Bytes, Computed>,
    /// Bytes of headers in a data frame, DA to FCS. A size with unit, 1 B up to less than `frame`. Default: "102 B" (Ethernet, IPv4, UDP, PDS request of 12 B, SES request of 44 B); "106 B" with control = "rccc", "eqds" or "ndp", "98 B" with mode = "rudi", "94 B" with mode = "uud"; "64 B" with preset = "htsim".
    #[serde(skip_serializing_if = "Option::is_none")]
    pub headers: Option<Bytes>,
    /// Length of an acknowledgement, DA to FCS. A size with unit, 1 to 9238 B. Default: "90 B" (ACK_CC of 32 B, SES response of 12 B); "66 B" with mode = "rudi"; "64 B" with preset = "htsim".
    #[serde(skip_serializing_if = "Option::is_none")]
    pub ack: Option<Bytes>,
    /// Bytes of each message of a flow; `limit` is the total. A size with unit, or "unlimited": a single message of all bytes. Default: "unlimited".
    pub message: Or<Bytes, Unlimited>,
    /// Received bytes per acknowledgement; marks, requests and duplicates cause additional acknowledgements. A size with unit, 1 B to 1 GiB; or "computed": 16 KiB, or a quarter of the bandwidth-delay product if that is less; each packet with control = "ndp". Default: "computed".
    pub ack_every: Or<Bytes, Computed>,
    /// Selection among equal paths, by an entropy value for each packet that switches hash with the flow: "fixed" (one path); "oblivious", "random_spray", "bitmap", "reps" or "mixed" (each packet), or "plb" (a change after congestion), also as a table with its keys. Default: "fixed".
    pub paths: PathSelectionKeys,
    /// Maximum PSN range (MPR): packets from the oldest unacknowledged one to the newest. A count, 1 to 1048576. Default: 16384.
    #[schemars(range(min = 1, max = 1048576))]
    pub psn_range: u64,
    /// If true, switches trim packets instead of dropping them, which sets the target of `nscc`, the timeout and `loss_inference`. Default: true if every switch on the path trims the traffic class of the data.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub trimming: Option<bool>,
    /// If true, the sender infers losses where no switch trims (SLEEK): from packets out of order by more than 1.5 windows, if a control limits the window, and from probes; with mode = "rud". Default: true unless switches trim.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub loss_inference: Option<bool>,
    /// Round-trip time of a full packet and its acknowledgement without queues, from which windows are computed. A time with unit, above 0; or "computed": that of the path with the initial link rates. Default: "computed".
    pub base_rtt: Or<Time, Computed>,
    /// Retransmission timeout of the oldest packet in flight; it doubles with each consecutive timeout. A time with unit, above 0; or "computed": 15 us and six base round trips, at least 1 ms unless switches trim; with control = "ndp" 20 ms. Default: "computed".
    pub timeout: Or<Time, Computed>,
    /// Maximum number of consecutive timeouts; the next one makes the context fail, and it sends nothing more. A count, 0 to 255. Default: 5.
    #[schemars(range(min = 0, max = 255))]
    pub retries: u64,
    /// Priority of acknowledgements. A whole number, 0 to 7. Default: that of the data.
    #[serde(skip_serializing_if = "Option::is_none")]
    #[schemars(range(min = 0, max = 7))]
    pub ack_priority: Option<u64>,
}

impl Default for UetKeys {
    fn default() -> UetKeys {
        UetKeys {
            preset: UetPreset::default(),
            mode: UetMode::default(),
            contexts: 1,
            ses: UetSes::default(),
            control: UetControlKeys::default(),
            payload: Or::word(),
            headers: None,
            ack: None,
            message: Or::word(),
            ack_every: Or::word(),
            paths: PathSelectionKeys::default(),
            psn_range: 16_384,
            trimming: None,
            loss_inference: None,
            base_rtt: Or::word(),
            timeout: Or::word(),
            retries: 5,
            ack_priority: None,
        }
    }
}

impl ApplicationKeys for Box<UetKeys> {
    type Spec = Arc<UetSpec>;

    fn spec(&self, limit: Option<Bytes>, frame: u16) -> Result<(Arc<UetSpec>, Vec<Remark>), Vec<Remark>> {
        self.carrier(limit, frame)
    }
}

impl UetKeys {
    /// Returns the description of a sender of `limit` bytes in frames of at most `frame` bytes, and warnings.
    ///
    /// # Errors
    /// One remark per invalid value.
    pub fn carrier(
        &self,
        limit: Option<Bytes>,
        frame: u16,
    ) -> Result<(Arc<UetSpec>, Vec<Remark>), Vec<Remark>> {
        let mut wrong = self.check();
        let credits = self.mode.has_context() && self.control.credits().is_some();
        let sizes = self.preset.sizes(self.mode, self.ses, credits);
        let headers = self.headers.map_or(sizes.0.into(), Bytes::get);
        let payload = self.payload_of(frame, headers);
        wrong.extend(payload.as_ref().err().cloned());
        let (Ok(payload), true) = (payload, wrong.is_empty()) else {
            return Err(wrong);
        };
        let spec = UetSpec {
            mode: self.mode,
            contexts: if self.mode.has_context() { self.contexts as u32 } else { 1 },
            payload,
            headers: headers as u16,
            ack: self.ack.map_or(sizes.1, |ack| ack.get() as u16),
            message: self.message.value().map(Bytes::get),
            total: limit.map(Bytes::get),
            ack_every: self.ack_every.value().map(Bytes::get),
            psn_range: self.psn_range,
            timeout: self.timeout.value(),
            retries: self.retries as u32,
            linear_retries: 0,
            mrc: None,
            base_rtt: self.base_rtt.value(),
            trimming: self.trimming,
            infers_losses: self.loss_inference,
            paths: self.paths.clone(),
            control: self.control.clone(),
            ack_priority: self.ack_priority.map(|priority| Priority(priority as u8)),
        };
        // A flow has its own messages.
        let warnings = self.warnings(limit != Some(Bytes::new(0)));
        Ok((spec.into(), warnings))
    }

    /// Returns the payload of a full packet in bytes.
    fn payload_of(&self, frame: u16, headers: u64) -> Result<u16, Remark> {
        let room = u64::from(frame).saturating_sub(headers);
        if headers == 0 || room == 0 {
            let message = format!("{headers} B of headers in a frame of {frame} B");
            let most = u64::from(frame).saturating_sub(1);
            let help = format!("expected 1 B to {most} B, or a longer `frame`: a packet has payload");
            return Err(Remark::about("headers", message, help));
        }
        match self.payload.value() {
            None => PAYLOADS.into_iter().find(|&payload| u64::from(payload) <= room).ok_or_else(|| {
                let message = format!(
                    "a frame of {frame} B with {headers} B of headers has no room for 256 B of payload"
                );
                let help = format!("expected a longer `frame`, or payload = \"{room} B\" at most");
                Remark::about("payload", message, help)
            }),
            Some(payload) if (1..=room).contains(&payload.get()) => Ok(payload.get() as u16),
            Some(payload) => {
                let message = format!(
                    "a payload of {} B in a frame of {frame} B with {headers} B of headers",
                    payload.get()
                );
                let needed = payload.get().saturating_add(headers);
                let help = format!("expected 1 B to {room} B, or frame = \"{needed} B\"");
                Err(Remark::about("payload", message, help))
            }
        }
    }

    fn check(&self) -> Vec<Remark> {
        let mut wrong: Vec<Remark> =
            self.control.check().into_iter().map(|why| why.within("control")).collect();
        wrong.extend(self.paths.check().into_iter().map(|why| why.within("paths")));
        if self.paths.sprays() && self.mode == UetMode::Rod {
            let message = format!(
                "paths = \"{}\" in ordered delivery, which drops each packet that overtakes another",
                self.paths.name()
            );
            let help = "expected mode = \"rud\", or paths = \"plb\" or \"fixed\"";
            wrong.push(Remark::about("paths", message, help));
        }
        if self.paths.is_adaptive() && self.mode == UetMode::Uud {
            let message = format!("paths = \"{}\" without acknowledgements", self.paths.name());
            let help = "expected paths = \"oblivious\", \"random_spray\" or \"fixed\"";
            wrong.push(Remark::about("paths", message, help));
        }
        let counts = [
            ("contexts", self.contexts, 1, MAX_CONTEXTS, "between two hosts"),
            ("psn_range", self.psn_range, 1, MAX_PSN_RANGE, "packets outstanding"),
            ("retries", self.retries, 0, 255, "retries"),
            ("ack_priority", self.ack_priority.unwrap_or(0), 0, 7, "as a priority"),
        ];
        for (key, value, least, most, what) in counts {
            if !(least..=most).contains(&value) {
                let message = format!("{key} of {value}");
                wrong.push(Remark::about(key, message, format!("expected {least} to {most} {what}")));
            }
        }
        let sizes = [
            ("ack", self.ack, MAX_FRAME),
            ("ack_every", self.ack_every.value(), MAX_ACK_EVERY),
            ("message", self.message.value(), u64::MAX),
        ];
        for (key, size, most) in sizes {
            if size.is_some_and(|size| size.get() == 0 || size.get() > most) {
                let message = format!("{key} of {}", size.unwrap_or_default());
                let range =
                    if most == u64::MAX { "at least \"1 B\"".into() } else { format!("1 B to {most} B") };
                wrong.push(Remark::about(key, message, format!("expected {range}")));
            }
        }
        for (key, time) in [("base_rtt", self.base_rtt.value()), ("timeout", self.timeout.value())] {
            if time == Some(Time::ZERO) {
                let help = "expected a time above 0, like \"100 us\"";
                wrong.push(Remark::about(key, format!("a {key} of 0"), help));
            }
        }
        wrong
    }

    /// Returns warnings about keys that have no effect.
    fn warnings(&self, is_flow: bool) -> Vec<Remark> {
        let windows = self.mode.has_context() && !matches!(self.control, UetControlKeys::None(_));
        let computes = self.timeout.value().is_none() && self.mode != UetMode::Uud;
        let context = self.mode.has_context();
        let infers = self.mode == UetMode::Rud && self.loss_inference != Some(false);
        Unused::of(self, &UetKeys::default())
            .unless(context, "mode = \"rud\" or \"rod\"", &["control", "ack_every", "contexts"])
            .unless(self.mode == UetMode::Rud, "mode = \"rud\"", &["loss_inference"])
            .unless(
                !is_flow || self.message.value().is_some(),
                "`message`, as a message is sent over one context",
                &["contexts"],
            )
            .unless(
                self.mode != UetMode::Uud,
                "a reliable mode",
                &["timeout", "retries", "ack", "ack_priority"],
            )
            .unless(
                self.headers.is_none() && self.preset == UetPreset::Uec,
                "preset = \"uec\" without `headers`",
                &["ses"],
            )
            .unless(
                windows || computes || infers,
                "a control, `loss_inference`, or timeout = \"computed\"",
                &["trimming", "base_rtt"],
            )
            .remarks()
            .into_iter()
            .chain(self.control.unused().into_iter().filter(|_| context).map(|why| why.within("control")))
            .collect()
    }
}
