//! The keys of RDMA in a scenario, and their validation.

use super::RdmaControlKeys;
use super::operation::Operation;
use super::reordering_keys::RdmaRecovery;
use super::spec::{CnpScope, QueuePairs, RdmaSpec, RdmaTimeouts, RdmaVerb, ReceiveQueue, StaticWindow};
use crate::application::ApplicationKeys;
use crate::path_selection::PathSelectionKeys;
use frame::Priority;
use keys::{Remark, Unused};
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use std::sync::Arc;
use units::{Amount, Bdp, Bytes, Computed, Or, Time, Unlimited};

/// Packet sizes of a RoCE NIC (MTU of InfiniBand), largest first.
const MTUS: [u16; 5] = [4096, 2048, 1024, 512, 256];
/// Value of `rnr_retries` that stands for no limit.
const FOR_EVER: u64 = 7;
/// Maximum number of messages for which a receiver can be ready.
const MOST_RECEIVES: u64 = 1_000_000;
/// Maximum number of packets per acknowledgement.
const MOST_PACKETS_AN_ACK: u64 = 1024;
/// Bytes of data per acknowledgement of a receiver that tolerates reordering.
const ACK_BYTES: u64 = 16 << 10;

/// Messages over RDMA (RoCEv2); full packets are at most as long as `frame`.
#[derive(Clone, Debug, PartialEq, Deserialize, Serialize, JsonSchema)]
#[serde(default, deny_unknown_fields)]
pub struct RdmaKeys {
    /// Congestion control of each queue pair: the name of one ("none", "dcqcn", ...), or a table of that name with its keys. Default: dcqcn with its preset "paper".
    pub control: RdmaControlKeys,
    /// Bytes of data in a full packet. A size with unit, 1 B up to `frame` minus `headers`; or "computed": the largest MTU of InfiniBand (256 to 4096 B) that fits. Default: "computed".
    pub mtu: Or<Bytes, Computed>,
    /// Bytes of headers in a frame, DA to FCS. A size with unit, 1 B up to less than `frame`. Default: "66 B" (tagged Ethernet, IPv4, UDP, BTH, invariant CRC).
    pub headers: Bytes,
    /// RDMA operation of a message: "send", "write" (its first packet is 16 B longer), or "read" (the receiver requests the data, and the congestion control of the sender sets the rate). Default: "send".
    pub verb: RdmaVerb,
    /// Maximum number of outstanding READs of a queue pair (`max_rd_atomic`). A count, 1 to 255. Default: 16 (the limit of common NICs).
    #[schemars(range(min = 1, max = 255))]
    pub max_reads: u64,
    /// Receive queue entries of a queue pair; if none is free, a message is answered with an RNR NAK. A count, 1 to 1000000. Default: none (any number).
    #[serde(skip_serializing_if = "Option::is_none")]
    #[schemars(range(min = 1, max = 1000000))]
    pub receive_queue: Option<u64>,
    /// Time in which the receiving application processes a message, one after another, and frees its receive queue entry; with `receive_queue`. A time with unit. Default: "0 s".
    pub receive_time: Time,
    /// Time from an RNR NAK to the retry of the sender; with `receive_queue`. A time with unit, above 0. Default: "640 us" (code 12 of the RNR NAK timer, InfiniBand volume 1 section 9.7.5.2.8).
    pub rnr_timer: Time,
    /// Consecutive RNR retries before the queue pair enters the error state (`rnr_retry`); with `receive_queue`. A count, 0 to 7; 7: no limit. Default: 7.
    #[schemars(range(min = 0, max = 7))]
    pub rnr_retries: u64,
    /// Bytes of each message of a flow; `limit` is the total. A size with unit, or "unlimited": a single message of all bytes. Default: "unlimited".
    pub message: Or<Bytes, Unlimited>,
    /// Queue pair of a transfer: "one" (shared by all transfers between the same two hosts on the same path, one after another), "free" (an idle one, or a new one) or "each" (a new one). Default: "one".
    pub queue_pairs: QueuePairs,
    /// Loss recovery: "go_back_n"; "selective" (IRN: the receiver keeps packets that arrive out of order, and each such packet counts as a loss); or "reordering" (the receiver distinguishes losses from reordering by distance and time), also as a table with its keys. Default: "go_back_n".
    pub recovery: RdmaRecovery,
    /// Maximum data in flight, in bytes of frames or in full packets, in addition to the congestion control. A size with unit or a number of frames, at least one packet; or "bdp": the bandwidth-delay product of the path. Default: none, or "bdp" with recovery = "selective".
    #[serde(skip_serializing_if = "Option::is_none")]
    pub window: Option<Or<Amount, Bdp>>,
    /// Round-trip time of a full packet and its acknowledgement without queues, from which windows are computed. A time with unit, above 0; or "computed": that of the path with the initial link rates. Default: "computed".
    pub base_rtt: Or<Time, Computed>,
    /// Packets per acknowledgement: every n-th packet and the last packet of a message are acknowledged. A count, 1 to 1024. Default: 1 if the control uses acknowledgements, there is a window, or recovery is selective; with recovery = "reordering" one per 16 KiB of data; otherwise 64.
    #[serde(skip_serializing_if = "Option::is_none")]
    #[schemars(range(min = 1, max = 1024))]
    pub ack_every: Option<u64>,
    /// Priority of acknowledgements and NAKs. A whole number, 0 to 7. Default: that of the data.
    #[serde(skip_serializing_if = "Option::is_none")]
    #[schemars(range(min = 0, max = 7))]
    pub ack_priority: Option<u64>,
    /// Minimum time between two NAKs for the same packet. A time with unit. Default: "500 us" (public simulators).
    pub nak_gap: Time,
    /// Retransmission timeout: time without progress after which the first outstanding packet is retransmitted. A time with unit, above 0. Default: "67.108864 ms" (a local ACK timeout of 14: 4.096 us 2^14).
    pub timeout: Time,
    /// Timeout with at most 3 packets in flight, for which a spurious retransmission costs little; with recovery = "selective". A time with unit, above 0. Default: that of `timeout` (IRN has "100 us" and "320 us").
    #[serde(skip_serializing_if = "Option::is_none")]
    pub low_timeout: Option<Time>,
    /// Maximum number of consecutive timeouts (`retry_cnt`); the next one puts the queue pair into the error state, in which it sends nothing. A count, 0 to 255. Default: 7.
    #[schemars(range(min = 0, max = 255))]
    pub retries: u64,
    /// Minimum time between two congestion notification packets. A time with unit. Default: "50 us" (SIGCOMM 2015; current NICs use "4 us" or less).
    pub cnp_gap: Time,
    /// Scope of `cnp_gap`: per "queue_pair", per source "address", or per "port" (the whole NIC). Default: "queue_pair" (SIGCOMM 2015; NICs often have one per port).
    pub cnp_scope: CnpScope,
    /// Priority of congestion notification packets. A whole number, 0 to 7. Default: 6 (DSCP 48, as vendors recommend).
    #[schemars(range(min = 0, max = 7))]
    pub cnp_priority: u64,
    /// Selection among equal paths, by an entropy value for each packet that switches hash with the flow: "fixed" (one path); "oblivious", "random_spray", "bitmap", "reps" or "mixed" (each packet), or "plb" (a change after congestion), also as a table with its keys. Default: "fixed".
    pub paths: PathSelectionKeys,
}

impl Default for RdmaKeys {
    fn default() -> RdmaKeys {
        RdmaKeys {
            control: RdmaControlKeys::default(),
            mtu: Or::word(),
            headers: Bytes::new(66),
            verb: RdmaVerb::default(),
            max_reads: 16,
            receive_queue: None,
            receive_time: Time::ZERO,
            rnr_timer: Time::from_us(640),
            rnr_retries: 7,
            message: Or::word(),
            queue_pairs: QueuePairs::default(),
            recovery: RdmaRecovery::default(),
            window: None,
            base_rtt: Or::word(),
            ack_every: None,
            ack_priority: None,
            nak_gap: Time::from_us(500),
            timeout: RdmaTimeouts::LONGEST,
            low_timeout: None,
            retries: 7,
            cnp_gap: Time::from_us(50),
            cnp_scope: CnpScope::default(),
            cnp_priority: 6,
            paths: PathSelectionKeys::default(),
        }
    }
}

impl ApplicationKeys for Box<RdmaKeys> {
    type Spec = Arc<RdmaSpec>;

    fn spec(&self, limit: Option<Bytes>, frame: u16) -> Result<(Arc<RdmaSpec>, Vec<Remark>), Vec<Remark>> {
        let (spec, mut warnings) = self.carrier(limit, frame)?;
        warnings.extend(
            Unused::of(&**self, &RdmaKeys::default())
                .unless(false, "`[[transfers]]`: a flow has one queue pair", &["queue_pairs"])
                .remarks(),
        );
        Ok((spec, warnings))
    }
}

impl RdmaKeys {
    /// Returns the description of a sender of `limit` bytes in frames of at most `frame` bytes, and warnings about the
    /// keys.
    ///
    /// # Errors
    /// All invalid values.
    pub fn carrier(
        &self,
        limit: Option<Bytes>,
        frame: u16,
    ) -> Result<(Arc<RdmaSpec>, Vec<Remark>), Vec<Remark>> {
        self.carrier_of(&[self.verb.operation()], limit, frame)
    }

    /// Returns the description of a transport that carries an application's messages in both directions as these
    /// operations.
    pub(crate) fn duplex(
        &self,
        operations: &[Operation],
        frame: u16,
    ) -> Result<(Arc<RdmaSpec>, Vec<Remark>), Vec<Remark>> {
        let (spec, mut warnings) = self.carrier_of(operations, Some(Bytes::new(0)), frame)?;
        let both = "a flow or `[[transfers]]` over RDMA: here an application defines the messages, over one queue pair in each direction";
        warnings.extend(
            Unused::of(self, &RdmaKeys::default()).unless(false, both, &["queue_pairs", "message"]).remarks(),
        );
        Ok((spec, warnings))
    }

    fn carrier_of(
        &self,
        operations: &[Operation],
        limit: Option<Bytes>,
        frame: u16,
    ) -> Result<(Arc<RdmaSpec>, Vec<Remark>), Vec<Remark>> {
        let control = self.control.spec().map_err(|wrong| -> Vec<Remark> {
            wrong.into_iter().map(|why| why.within(self.control.name()).within("control")).collect()
        });
        // An invalid control is reported at its own key.
        let telemetry = control.as_ref().map_or(0, super::RdmaControlSpec::telemetry_bytes);
        let extended = operations.iter().map(|it| it.extended(true, true)).max().unwrap_or_default();
        let mtu = self.mtu(frame, telemetry + extended);
        let mut wrong = self.check();
        let own = self.recovery.reordering().map(|keys| keys.check()).unwrap_or_default();
        wrong.extend(own.into_iter().map(|why| why.within("reordering").within("recovery")));
        wrong.extend(self.paths.check().into_iter().map(|why| why.within("paths")));
        wrong.extend(mtu.as_ref().err().cloned());
        wrong.extend(control.as_ref().err().into_iter().flatten().cloned());
        let (Ok(mtu), Ok(control), true) = (mtu, control, wrong.is_empty()) else { return Err(wrong) };
        let selective = self.recovery == RdmaRecovery::Selective;
        let headers = self.headers.get() as u16 + telemetry;
        let packet = u64::from(mtu) + u64::from(headers);
        let window = self.static_window(packet)?;
        // A window makes packets wait for each acknowledgement.
        let windowed = window != StaticWindow::Unlimited;
        let each = selective
            || windowed
            || control.uses_marks()
            || control.times_each()
            || control.uses_telemetry()
            || self.paths.is_adaptive();
        let priority = |priority: u64| Priority(priority as u8);
        let low = self.low_timeout.filter(|_| selective);
        let spec = RdmaSpec {
            mtu,
            headers,
            verb: self.verb,
            extended,
            max_reads: self.max_reads as u32,
            receive_queue: self.ready_for(),
            rnr_timer: self.rnr_timer,
            rnr_retries: (self.rnr_retries < FOR_EVER).then_some(self.rnr_retries as u32),
            message: self.message.value().map(Bytes::get),
            total: limit.map(Bytes::get),
            queue_pairs: self.queue_pairs,
            ack_every: self.ack_every.unwrap_or(if each { 1 } else { self.packets_per_ack(mtu) }) as u32,
            nak_gap: self.nak_gap,
            recovery: self.recovery,
            timeouts: RdmaTimeouts {
                high: self.timeout,
                low: low.unwrap_or(self.timeout),
                few: if low.is_some() { 3 } else { 0 },
            },
            retries: self.retries as u32,
            window,
            base_rtt: self.base_rtt.value(),
            control,
            ack_priority: self.ack_priority.map(priority),
            cnp_priority: priority(self.cnp_priority),
            cnp_gap: self.cnp_gap,
            cnp_scope: self.cnp_scope,
            paths: self.paths.clone(),
        };
        let mut warnings = self.warnings(&spec);
        warnings.extend(self.smaller_mtu(frame, mtu, telemetry + extended));
        Ok((spec.into(), warnings))
    }

    /// Returns the default number of packets per acknowledgement if neither a window nor a control needs
    /// acknowledgements.
    fn packets_per_ack(&self, mtu: u16) -> u64 {
        let rare = 64;
        // With reordering, acknowledgements are the only report of progress beyond a gap.
        self.recovery.reordering().map_or(rare, |_| (ACK_BYTES / u64::from(mtu)).clamp(1, rare))
    }

    /// Returns the receive queue. Operations other than SEND do not use it.
    fn ready_for(&self) -> Option<ReceiveQueue> {
        let most = self.receive_queue.filter(|_| self.verb == RdmaVerb::Send)?;
        Some(ReceiveQueue { most, time: self.receive_time })
    }

    /// Returns the limit of bytes in flight that applies in addition to the congestion control.
    fn static_window(&self, packet: u64) -> Result<StaticWindow, Vec<Remark>> {
        let window = match self.window {
            None if self.recovery == RdmaRecovery::Selective => StaticWindow::Bdp,
            None => StaticWindow::Unlimited,
            Some(Or::Word(Bdp)) => StaticWindow::Bdp,
            Some(Or::Value(Amount::Bytes(bytes))) => StaticWindow::Bytes(bytes),
            Some(Or::Value(Amount::Frames(packets))) => StaticWindow::Bytes(packets.saturating_mul(packet)),
        };
        if let StaticWindow::Bytes(bytes) = window
            && bytes < packet
        {
            let message = format!("a window of {bytes} B is smaller than a packet of {packet} B");
            let help = format!("expected at least \"{packet} B\" or \"1 frame\"");
            return Err(vec![Remark::about("window", message, help)]);
        }
        Ok(window)
    }

    /// Returns the bytes of data in a full packet.
    fn mtu(&self, frame: u16, telemetry: u16) -> Result<u16, Remark> {
        let headers = self.headers.get() + u64::from(telemetry);
        let room = u64::from(frame).saturating_sub(headers);
        if self.headers.get() == 0 || room == 0 {
            let message = format!("{headers} B of headers in a frame of {frame} B");
            let own = self.headers.get();
            let help = if own == 0 || own >= u64::from(frame) {
                format!("expected 1 B to {} B: a packet has data", u64::from(frame) - 1)
            } else {
                format!(
                    "{telemetry} B of them are those of its verb or its control: expected frame = \"{} B\" at least",
                    headers + 1
                )
            };
            return Err(Remark::about("headers", message, help));
        }
        match self.mtu.value() {
            None => {
                let fits = MTUS.into_iter().find(|&mtu| u64::from(mtu) <= room);
                fits.ok_or_else(|| {
                    let message = format!("no MTU of InfiniBand fits a frame of {frame} B");
                    Remark::about(
                        "mtu",
                        message,
                        format!("expected a longer `frame`, or mtu = \"{room} B\" at most"),
                    )
                })
            }
            Some(mtu) if (1..=room).contains(&mtu.get()) => Ok(mtu.get() as u16),
            Some(mtu) => {
                let message =
                    format!("an MTU of {} B in a frame of {frame} B with {headers} B of headers", mtu.get());
                let help = format!("expected 1 B to {room} B, or frame = \"{} B\"", mtu.get() + headers);
                Err(Remark::about("mtu", message, help))
            }
        }
    }

    /// Returns a warning if the computed MTU would be larger without the `extra` bytes of headers that the verb and the
    /// control add.
    fn smaller_mtu(&self, frame: u16, mtu: u16, extra: u16) -> Option<Remark> {
        let without = self.mtu.value().is_none().then(|| self.mtu(frame, 0).ok()).flatten()?;
        (without > mtu).then(|| {
            let headers = self.headers.get() + u64::from(extra);
            let message = format!(
                "the MTU falls from {without} B to {mtu} B: a frame of {frame} B has no room for {extra} B more of headers, which its verb or control adds"
            );
            let help = format!(
                "messages take {} times as many packets: expected frame = \"{} B\", or an `mtu` as large as fits, like \"{} B\"",
                without.div_ceil(mtu),
                u64::from(without) + headers,
                u64::from(frame) - headers
            );
            Remark::about("mtu", message, help)
        })
    }

    fn check(&self) -> Vec<Remark> {
        let mut wrong = Vec::new();
        let counts = [
            ("ack_every", self.ack_every.unwrap_or(1), 1, MOST_PACKETS_AN_ACK, "packets an acknowledgement"),
            ("ack_priority", self.ack_priority.unwrap_or(0), 0, 7, "as a priority"),
            ("cnp_priority", self.cnp_priority, 0, 7, "as a priority"),
            ("retries", self.retries, 0, 255, "retries"),
            ("max_reads", self.max_reads, 1, 255, "READs under way"),
            ("rnr_retries", self.rnr_retries, 0, FOR_EVER, "retries"),
            (
                "receive_queue",
                self.receive_queue.unwrap_or(1),
                1,
                MOST_RECEIVES,
                "messages that a receiver is ready for",
            ),
        ];
        for (key, value, least, most, what) in counts {
            if !(least..=most).contains(&value) {
                wrong.push(Remark::about(
                    key,
                    format!("{value} {what}"),
                    format!("expected {least} to {most}"),
                ));
            }
        }
        let times = [
            ("timeout", Some(self.timeout)),
            ("low_timeout", self.low_timeout),
            ("base_rtt", self.base_rtt.value()),
            ("rnr_timer", Some(self.rnr_timer)),
        ];
        for (key, time) in times {
            if time == Some(Time::ZERO) {
                let help = "expected a time above 0, like \"500 us\"";
                wrong.push(Remark::about(key, format!("a {key} of 0"), help));
            }
        }
        if let Some(low) = self.low_timeout.filter(|&low| low > self.timeout) {
            let message = format!("low_timeout ({low}) is above timeout ({})", self.timeout);
            wrong.push(Remark::about(
                "low_timeout",
                message,
                format!("expected at most \"{}\"", self.timeout),
            ));
        }
        let waits = self.verb == RdmaVerb::Send && self.receive_queue.is_some();
        if waits && self.recovery.keeps() {
            let message = "receive_queue beside a recovery that keeps packets that arrive out of order, which nobody is ready for";
            let help = "expected recovery = \"go_back_n\", or no receive_queue";
            wrong.push(Remark::about("receive_queue", message, help));
        }
        wrong.extend(self.overtaken());
        if self.message.value() == Some(Bytes::new(0)) {
            wrong.push(Remark::about("message", "a message of 0 B", "expected at least \"1 B\""));
        }
        wrong
    }

    /// Returns a remark if the path selection makes packets overtake each other while the receiver drops packets out of
    /// order.
    fn overtaken(&self) -> Option<Remark> {
        if self.paths.needs_probes() {
            let help = "expected over = { mrc = {} }, or another selection, like \"reps\"";
            let message = "paths = \"mrc\" without the probes that bring a failed path back";
            return Some(Remark::about("paths", message, help));
        }
        let (name, drops) = (self.paths.name(), !self.recovery.keeps());
        (self.paths.sprays() && drops).then(|| {
            let message = format!(
                "paths = \"{name}\" beside go-back-N, which counts each packet that is overtaken as lost"
            );
            let help = "expected recovery = \"reordering\", or paths = \"plb\" or \"fixed\"";
            Remark::about("paths", message, help)
        })
    }

    /// Returns warnings about keys that have no effect.
    fn warnings(&self, spec: &RdmaSpec) -> Vec<Remark> {
        let selective = spec.recovery == RdmaRecovery::Selective;
        let cnps = spec.sends_cnps();
        let windows = spec.window == StaticWindow::Bdp || spec.control.needs_base_rtt();
        Unused::of(self, &RdmaKeys::default())
            .unless(selective, "recovery = \"selective\"", &["low_timeout"])
            .unless(!spec.recovery.keeps(), "recovery = \"go_back_n\"", &["nak_gap"])
            .unless(cnps, "a control with CNPs, like dcqcn", &["cnp_gap", "cnp_scope", "cnp_priority"])
            .unless(self.verb == RdmaVerb::Read, "verb = \"read\"", &["max_reads"])
            .unless(self.verb == RdmaVerb::Send, "verb = \"send\"", &["receive_queue"])
            .unless(
                spec.receive_queue.is_some(),
                "a `receive_queue` with verb = \"send\"",
                &["receive_time", "rnr_timer", "rnr_retries"],
            )
            .unless(windows, "window = \"bdp\", or a control that goes by round trips", &["base_rtt"])
            .remarks()
            .into_iter()
            .chain(
                self.recovery
                    .reordering()
                    .map(|keys| keys.unused())
                    .unwrap_or_default()
                    .into_iter()
                    .map(|why| why.within("reordering").within("recovery")),
            )
            .chain(
                self.control
                    .unused()
                    .into_iter()
                    .map(|why| why.within(self.control.name()).within("control")),
            )
            .collect()
    }
}
