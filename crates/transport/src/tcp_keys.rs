//! The keys of a transfer over TCP, and their validation.

use crate::application::ApplicationKeys;
use crate::controller::ControllerConfiguration;
use crate::settings::ack_bytes;
use crate::tcp_presets::TcpPreset;
use crate::{
    AimdParams, ControllerSpec, CubicKeys, CubicParams, DctcpKeys, DctcpParams, Delay, EcnMode, Growth,
    LossRecoveryKind, TcpSpec, TimerSpec, TransferSpec,
};
use keys::{Choice, Keyed, Remark, Unused, by_form};
use schemars::{JsonSchema, Schema, SchemaGenerator};
use serde::{Deserialize, Deserializer, Serialize, Serializer};
use std::borrow::Cow;
use std::sync::Arc;
use units::{Amount, Bytes, Or, Time, Unlimited};

/// Bytes that timestamps add to a segment (RFC 7323 section 3): ten bytes, padded to words.
const TIMESTAMPS_BYTES: u64 = 12;
/// Maximum window without scaling, in bytes.
const UNSCALED: u64 = 65_535;

/// Declares the keys and records which of them were given; the others take their values from the preset.
macro_rules! tcp_keys {
    ($($(#[$doc:meta])* $name:ident: $type:ty,)*) => {
        /// A transfer over TCP; full segments have the length `frame`, headers included.
        #[derive(Clone, Debug, PartialEq, Serialize, JsonSchema)]
        #[serde(default, deny_unknown_fields)]
        pub struct TcpKeys {
            /// Preset that sets the defaults of the other keys. The name of a preset. Default: "rfc".
            pub preset: TcpPreset,
            $($(#[$doc])* pub $name: $type,)*
        }

        #[derive(Deserialize)]
        #[serde(deny_unknown_fields)]
        struct Written {
            #[serde(default)]
            preset: TcpPreset,
            $(#[serde(default)] $name: Option<$type>,)*
        }

        impl<'de> Deserialize<'de> for TcpKeys {
            fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<TcpKeys, D::Error> {
                let written = Written::deserialize(deserializer)?;
                let preset = written.preset.keys();
                Ok(TcpKeys {
                    preset: written.preset,
                    $($name: written.$name.unwrap_or(preset.$name),)*
                })
            }
        }
    };
}

tcp_keys! {
    /// Congestion control: "aimd" (slow start and congestion avoidance), "cubic" or "dctcp", or a table of one of the last two with its keys. Default: "aimd" (preset "rfc").
    controller: TcpController,
    /// Loss recovery: "tahoe", "reno", "newreno" or "sack". Default: "sack" (preset "rfc").
    recovery: LossRecoveryKind,
    /// Initial window: bytes of data or full segments, at least one. A size with unit or a number of frames. Default: "10 frames" (preset "rfc"; RFC 6928).
    initial_window: Amount,
    /// Initial slow start threshold (ssthresh). A size with unit or a number of frames, at least one segment; or "unlimited". Default: "unlimited" (preset "rfc").
    initial_threshold: Or<Amount, Unlimited>,
    /// Unit of window growth: "acks" (each acknowledgement, RFC 5681) or "bytes" (the bytes acknowledged, RFC 3465). Default: "bytes" (preset "rfc").
    growth: Growth,
    /// If true, the window also grows while less than half of it is in flight. Default: false (preset "rfc"; RFC 7661).
    grows_unused: bool,
    /// Receive window: bytes of data, or full segments, that the receiver accepts beyond the acknowledged data. A size with unit or a number of frames, at least one segment; or "unlimited". Default: "unlimited" (preset "rfc").
    receive_window: Or<Amount, Unlimited>,
    /// If true, windows above 65535 B can be advertised (RFC 7323 section 2); they are then multiples of a power of two. Default: true (preset "rfc").
    window_scaling: bool,
    /// Send buffer: bytes of data, or full segments, that the sender keeps until they are acknowledged. A size with unit or a number of frames, at least one segment; or "unlimited". Default: "unlimited" (preset "rfc").
    send_buffer: Or<Amount, Unlimited>,
    /// Bytes of headers in a frame, DA to FCS, without options. A size with unit, 1 B up to less than `frame`. Default: "62 B" (tagged Ethernet, IPv4, TCP).
    headers: Bytes,
    /// Minimum length of an acknowledgement, DA to FCS; timestamps and SACK blocks may make it longer. A size with unit, 1 to 9238 B. Default: "64 B" (the smallest Ethernet frame).
    ack: Bytes,
    /// Segments per acknowledgement: every n-th in-order segment is acknowledged immediately. A count, 1 to 1024. Default: 2 (preset "rfc"; RFC 5681).
    #[schemars(range(min = 1, max = 1024))]
    ack_every: u64,
    /// Maximum delay of an acknowledgement. A time with unit. Default: "500 us" (preset "rfc"; a choice; RFC 9293 allows up to 0.5 s).
    ack_delay: Time,
    /// Number of duplicate acknowledgements that indicate a loss. A count, 1 to 255. Default: 3 (RFC 5681).
    #[schemars(range(min = 1, max = 255))]
    duplicates: u64,
    /// If true, the first duplicate acknowledgements release new segments (limited transmit, RFC 3042). Default: true (preset "rfc").
    limited_transmit: bool,
    /// If true, NewReno resets its timer only for the first partial acknowledgement (RFC 6582 section 4). Default: true.
    impatient: bool,
    /// If true, recovery sends in proportion to the data delivered (PRR, RFC 6937); with "sack". Default: false (preset "rfc").
    proportional: bool,
    /// ECN: "off", "rfc3168" (a CE mark is echoed until the sender reduces its window) or "dctcp" (each CE mark is echoed). Default: "off" (preset "rfc").
    ecn: EcnMode,
    /// If true, segments carry timestamps, 12 B each, and each acknowledgement measures the round-trip time (RFC 7323). Default: false (preset "rfc").
    timestamps: bool,
    /// Minimum retransmission timeout. A time with unit, above 0. Default: "1 s" (preset "rfc"; RFC 6298).
    min_timeout: Time,
    /// Initial retransmission timeout, before the first round-trip measurement. A time with unit, above 0. Default: "1 s" (preset "rfc"; RFC 6298).
    initial_timeout: Time,
    /// Maximum retransmission timeout. A time with unit, not below the other two. Default: "60 s" (preset "rfc"; RFC 6298).
    max_timeout: Time,
    /// Timer granularity: length of the ticks in which round-trip times and timeouts are measured, with a random phase for each connection. A time with unit; "0 s": exact times. Default: "0 s" (preset "rfc").
    tick: Time,
    /// If true, the window is reset to the initial one after an idle time longer than the timeout (RFC 5681 section 4.1). Default: true (preset "rfc").
    restart_after_idle: bool,
    /// Maximum random delay of the segments that an event releases, uniformly distributed from 0. A time with unit. Default: "0 s" (none).
    send_jitter: Time,
    /// If true, a connection begins with a handshake (SYN); if false, it is established from the start. Default: false.
    handshake: bool,
    /// Bytes of each transfer; `limit` is the total. A size with unit, or "unlimited": a single transfer of all bytes. Default: "unlimited".
    transfer: Or<Bytes, Unlimited>,
    /// Idle time from the end of a transfer to the start of the next: a time with unit, or a table `exponential`. Default: "0 s".
    idle: Delay,
    /// If true, each transfer opens a new connection. Default: false.
    reconnect: bool,
}

impl Default for TcpKeys {
    fn default() -> TcpKeys {
        TcpPreset::Rfc.keys()
    }
}

/// Congestion control of a TCP connection.
#[derive(Clone, Copy, Debug, PartialEq)]
pub enum TcpController {
    /// Slow start and congestion avoidance.
    Aimd,
    /// A cubic function of time.
    Cubic(CubicKeys),
    /// A window reduced by the share of marks (DCTCP).
    Dctcp(DctcpKeys),
}

impl Choice for TcpController {
    const EXPECTED: &'static str = "the name of a controller, or a table of that name with its keys";
    const NAMES: &'static [&'static str] = &["aimd", "cubic", "dctcp"];
    const WITH_KEYS: &'static [&'static str] = &["cubic", "dctcp"];
    const TABLE: &'static str = "flows.source.tcp.controller";

    fn plain(name: &str) -> Option<TcpController> {
        (name == "aimd").then_some(TcpController::Aimd)
    }
    fn keyed<'de, D: Deserializer<'de>>(name: &str, table: D) -> Result<TcpController, D::Error> {
        match name {
            "cubic" => CubicKeys::deserialize(table).map(TcpController::Cubic),
            _ => DctcpKeys::deserialize(table).map(TcpController::Dctcp),
        }
    }
}
by_form!(TcpController);

impl Serialize for TcpController {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        match self {
            TcpController::Aimd => serializer.serialize_str("aimd"),
            TcpController::Cubic(keys) => {
                serializer.serialize_newtype_variant("Controller", 0, "cubic", keys)
            }
            TcpController::Dctcp(keys) => {
                serializer.serialize_newtype_variant("Controller", 0, "dctcp", keys)
            }
        }
    }
}

impl JsonSchema for TcpController {
    fn schema_name() -> Cow<'static, str> {
        "TcpController".into()
    }
    fn json_schema(generator: &mut SchemaGenerator) -> Schema {
        let plain = [("aimd", "Slow start and congestion avoidance.")];
        let keyed = vec![
            Keyed::new::<CubicKeys>("cubic", "A window that is a cubic function of time.", generator),
            Keyed::new::<DctcpKeys>("dctcp", "Reduces its window by how much is marked.", generator),
        ];
        keys::schema("How the window moves: a name, or a table of that name with its keys.", &plain, keyed)
    }
}

impl ApplicationKeys for Box<TcpKeys> {
    type Spec = Arc<TcpSpec>;

    fn spec(&self, limit: Option<Bytes>, frame: u16) -> Result<(Arc<TcpSpec>, Vec<Remark>), Vec<Remark>> {
        let (spec, mut warnings) = self.carrier(limit, frame)?;
        let of_transfers = ["idle", "reconnect", "restart_after_idle"];
        let unused = Unused::of(&**self, &self.preset.keys());
        let several = self.transfer.value().is_some();
        warnings.extend(unused.unless(several, "`transfer`: there is one alone", &of_transfers).remarks());
        Ok((spec, warnings))
    }
    fn jitter_key(&self) -> Option<&'static str> {
        Some("send_jitter")
    }
}

impl TcpKeys {
    /// Returns the connection that carries `limit` bytes in frames of at most `frame` bytes, for any application, and
    /// warnings.
    ///
    /// # Errors
    /// All invalid values.
    pub fn carrier(
        &self,
        limit: Option<Bytes>,
        frame: u16,
    ) -> Result<(Arc<TcpSpec>, Vec<Remark>), Vec<Remark>> {
        let ack = ack_bytes(self.ack);
        // Other errors are reported together with that of the acknowledgement's length.
        let spec = self.sized(limit, frame, ack.as_ref().map_or(frame, |(bytes, _)| *bytes));
        match (ack, spec) {
            (Ok((_, mut warnings)), Ok(spec)) => {
                warnings.extend(self.unused());
                Ok((spec.into(), warnings))
            }
            (ack, spec) => Err([ack.err(), spec.err()].into_iter().flatten().flatten().collect()),
        }
    }

    /// Returns true if each transfer has its own connection.
    pub fn reconnects(&self) -> bool {
        self.reconnect
    }

    /// Returns the keys that have no effect, whichever application uses the connection.
    pub(crate) fn unused(&self) -> Vec<Remark> {
        let wide = !matches!(self.receive_window.value(), Some(Amount::Bytes(bytes)) if bytes <= UNSCALED);
        Unused::of(self, &self.preset.keys())
            .unless(self.ack_every > 1, "an `ack_every` above 1", &["ack_delay"])
            .unless(self.recovery == LossRecoveryKind::NewReno, "recovery = \"newreno\"", &["impatient"])
            .unless(wide, "a `receive_window` above 65535 B", &["window_scaling"])
            .unless(!self.reconnect, "connections that last: no `reconnect`", &["restart_after_idle"])
            .remarks()
    }

    /// Returns transfers of `limit` bytes in total in frames of at most `frame` bytes, with acknowledgements of at
    /// least `ack_bytes`. Returns all invalid values as an error.
    pub fn sized(&self, limit: Option<Bytes>, frame: u16, ack_bytes: u16) -> Result<TcpSpec, Vec<Remark>> {
        let headers = self.headers.get() + if self.timestamps { TIMESTAMPS_BYTES } else { 0 };
        let segment = u64::from(frame).saturating_sub(headers);
        if self.headers.get() == 0 || segment == 0 {
            let message = format!("{headers} B of headers in a frame of {frame} B");
            let help = format!("expected 1 B to {} B: a segment has data", u64::from(frame) - 1);
            return Err(vec![Remark::about("headers", message, help)]);
        }
        let segment = segment as u16;
        let controller = self.controller(segment);
        let mut wrong: Vec<Remark> = self.check(segment);
        wrong.extend(self.check_timers());
        wrong.extend(controller.as_ref().err().cloned());
        let Ok(controller) = controller else { return Err(wrong) };
        if !wrong.is_empty() {
            return Err(wrong);
        }
        Ok(TcpSpec {
            transfers: TransferSpec {
                size: self.transfer.value().map(Bytes::get),
                total: limit.map(Bytes::get),
                idle: self.idle,
            },
            handshake: self.handshake,
            reconnect: self.reconnect,
            segment,
            headers: headers as u16,
            ack_bytes,
            ack_every: self.ack_every as u32,
            ack_delay: self.ack_delay,
            controller,
            recovery: self.recovery,
            duplicates: self.duplicates as u32,
            limited_transmit: self.limited_transmit,
            steady: !self.impatient,
            proportional: self.proportional,
            window: self.advertised(segment).min(bytes(self.send_buffer, segment)),
            ecn: self.ecn,
            timestamps: self.timestamps,
            timer: TimerSpec {
                tick: self.tick,
                min: self.min_timeout,
                initial: self.initial_timeout,
                max: self.max_timeout,
            },
            restart_after_idle: self.restart_after_idle,
            jitter: self.send_jitter,
        })
    }

    /// Returns the receive window in bytes that the header can advertise.
    fn advertised(&self, segment: u16) -> u64 {
        let window = bytes(self.receive_window, segment);
        if window == u64::MAX {
            return window;
        }
        // RFC 7323 section 2.3: 16 bits, shifted left.
        let shift = (window / (UNSCALED + 1)).checked_ilog2().map_or(0, |bits| bits + 1);
        window >> shift << shift
    }

    fn controller(&self, segment: u16) -> Result<ControllerSpec, Remark> {
        let begin = AimdParams {
            initial: self.initial_window,
            threshold: self.initial_threshold.value().map(|amount| in_bytes(amount, segment)),
            growth: self.growth,
            grows_unused: self.grows_unused,
        };
        begin.check(segment).map_err(|why| {
            let help = format!("expected at least \"{segment} B\" or \"1 frame\"");
            Remark::about("initial_window", why, help)
        })?;
        let within = |name: &'static str| move |why: Remark| why.within(name).within("controller");
        match self.controller {
            TcpController::Aimd => Ok(ControllerSpec::Aimd(begin)),
            TcpController::Cubic(curve) => {
                curve.check().map_err(within("cubic"))?;
                Ok(ControllerSpec::Cubic(CubicParams { begin, curve }))
            }
            TcpController::Dctcp(estimate) => {
                if self.ecn != EcnMode::Dctcp {
                    let help = "it needs receivers that echo each mark; expected ecn = \"dctcp\"";
                    return Err(Remark::about("ecn", "the controller dctcp without its marks", help));
                }
                estimate.check().map_err(within("dctcp"))?;
                Ok(ControllerSpec::Dctcp(DctcpParams { begin, estimate }))
            }
        }
    }

    fn check(&self, segment: u16) -> Vec<Remark> {
        let mut wrong = vec![];
        let holds = |amount: Or<Amount, Unlimited>| bytes(amount, segment) >= u64::from(segment);
        let help = format!("expected at least \"{segment} B\" or \"1 frame\", or \"unlimited\"");
        let amounts = [
            ("receive_window", "a receive window", self.receive_window),
            ("send_buffer", "a socket buffer", self.send_buffer),
            ("initial_threshold", "a threshold", self.initial_threshold),
        ];
        for (key, what, amount) in amounts {
            if let Some(amount) = amount.value().filter(|_| !holds(amount)) {
                let [has, least] = Amount::alike([amount, Amount::Bytes(segment.into())]);
                let message = format!("{what} of {has} is smaller than a segment of {least} of data");
                wrong.push(Remark::about(key, message, help.as_str()));
            }
        }
        let window = bytes(self.receive_window, segment);
        if !self.window_scaling && window > UNSCALED {
            let message = "a receive window above 65535 B without window scaling";
            let help = "it does not fit into 16 bits; expected at most \"65535 B\", or window_scaling = true";
            wrong.push(Remark::about("receive_window", message, help));
        }
        for (key, value, most, what) in [
            ("ack_every", self.ack_every, 1024, "segments an acknowledgement"),
            ("duplicates", self.duplicates, 255, "duplicates"),
        ] {
            if !(1..=most).contains(&value) {
                let help = format!("expected 1 to {most}");
                wrong.push(Remark::about(key, format!("{value} {what}"), help));
            }
        }
        if self.proportional && self.recovery != LossRecoveryKind::Sack {
            let help = "it counts what arrives; expected recovery = \"sack\"";
            wrong.push(Remark::about(
                "proportional",
                "proportional reduction without selective acknowledgements",
                help,
            ));
        }
        if self.transfer.value() == Some(Bytes::new(0)) {
            wrong.push(Remark::about("transfer", "a transfer of 0 B", "expected at least \"1 B\""));
        }
        wrong.extend(self.idle.check("idle").err());
        wrong
    }

    fn check_timers(&self) -> Vec<Remark> {
        let mut wrong = vec![];
        let all = [("min_timeout", self.min_timeout), ("initial_timeout", self.initial_timeout)];
        for (key, time) in all {
            if time == Time::ZERO {
                let help = "everything would be sent again at once; expected a time above 0, like \"1 ms\"";
                wrong.push(Remark::about(key, "a timeout of 0", help));
            }
            if time > self.max_timeout {
                let message = format!("max_timeout ({}) is below {key} ({time})", self.max_timeout);
                wrong.push(Remark::about("max_timeout", message, format!("expected at least \"{time}\"")));
                break;
            }
        }
        wrong
    }
}

fn in_bytes(amount: Amount, segment: u16) -> u64 {
    match amount {
        Amount::Bytes(bytes) => bytes,
        Amount::Frames(segments) => segments.saturating_mul(u64::from(segment)),
    }
}

fn bytes(amount: Or<Amount, Unlimited>, segment: u16) -> u64 {
    amount.value().map_or(u64::MAX, |amount| in_bytes(amount, segment))
}
