//! The keys of connections, and their validation.

use crate::application::ApplicationKeys;
use crate::controller::ControllerConfiguration;
use crate::{ControllerSpec, FixedRateParams, FixedWindowParams, UnlimitedParams, WindowSpec};
use keys::{Remark, Unused};
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use units::{Amount, BitRate, Bytes, Never, Or, Time, Unlimited};
use workload::{frame_length, no_rate};

/// Maximum number of segments per acknowledgement.
const MOST_SEGMENTS_AN_ACK: u64 = 1024;

/// A transfer with a window and cumulative acknowledgements; full segments have the length `frame`.
#[derive(Clone, Debug, PartialEq, Deserialize, Serialize, JsonSchema)]
#[serde(default, deny_unknown_fields)]
pub struct WindowKeys {
    /// Size of the window: bytes (DA to FCS) or full segments in flight. A size with unit or a number of frames, at least one segment; or "unlimited". Default: "unlimited".
    pub size: Or<Amount, Unlimited>,
    /// Pacing rate (bits of frames, DA to FCS). A rate with unit, above 0; or "unlimited". At most one of `size` and `rate` is limited. Default: "unlimited" (as fast as the link).
    pub rate: Or<BitRate, Unlimited>,
    /// Length of an acknowledgement, DA to FCS. A size with unit, 1 to 9238 B. Default: "64 B" (the smallest Ethernet frame).
    pub ack: Bytes,
    /// Segments per acknowledgement: every n-th segment is acknowledged immediately. A count, 1 to 1024. Default: 1 (RFC 5681 allows 2).
    #[schemars(range(min = 1, max = 1024))]
    pub ack_every: u64,
    /// Maximum delay of an acknowledgement, if `ack_every` is above 1. A time with unit. Default: "500 us" (a choice; RFC 9293 allows up to 0.5 s).
    pub ack_delay: Time,
    /// Time without progress after which all data in flight is retransmitted (go-back-N). A time with unit, above the longest round trip; or "never": a lost segment stops the transfer for good. Default: "never" (a lossless fabric).
    pub timeout: Or<Time, Never>,
    /// If true, segments are ECN-capable, and switches may mark them. Default: false.
    pub ecn: bool,
}

impl Default for WindowKeys {
    fn default() -> WindowKeys {
        WindowKeys {
            size: Or::word(),
            rate: Or::word(),
            ack: Bytes::new(frame::MIN_FRAME_BYTES.into()),
            ack_every: 1,
            ack_delay: Time::from_us(500),
            timeout: Or::word(),
            ecn: false,
        }
    }
}

/// Returns the length of acknowledgements, and warnings.
pub(crate) fn ack_bytes(ack: Bytes) -> Result<(u16, Vec<Remark>), Vec<Remark>> {
    let within = |remarks: Vec<Remark>| remarks.into_iter().map(|why| why.within("ack")).collect();
    let found = frame_length(ack);
    found.value.map(|bytes| (bytes, within(found.warnings))).ok_or_else(|| within(found.wrong))
}

impl ApplicationKeys for WindowKeys {
    type Spec = WindowSpec;

    fn spec(&self, limit: Option<Bytes>, segment: u16) -> Result<(WindowSpec, Vec<Remark>), Vec<Remark>> {
        let (ack, controller, ack_every, timeout) = (
            ack_bytes(self.ack),
            self.controller(segment),
            count("ack_every", self.ack_every, MOST_SEGMENTS_AN_ACK, "segments"),
            timeout(&self.timeout),
        );
        let rate = self.rate.value().and_then(|rate| no_rate("rate", rate));
        match (ack, controller, ack_every, timeout, rate) {
            (Ok((ack_bytes, mut warnings)), Ok(controller), Ok(ack_every), Ok(timeout), None) => {
                let spec = WindowSpec {
                    bytes: limit.map(Bytes::get),
                    segment,
                    controller,
                    ack_bytes,
                    ack_every,
                    ack_delay: self.ack_delay,
                    timeout,
                    ecn_capable: self.ecn,
                };
                warnings.extend(waits(&spec));
                let unused = Unused::of(self, &WindowKeys::default());
                warnings
                    .extend(unused.unless(ack_every > 1, "an `ack_every` above 1", &["ack_delay"]).remarks());
                Ok((spec, warnings))
            }
            (ack, controller, ack_every, timeout, rate) => {
                let rest = [rate, controller.err(), ack_every.err(), timeout.err()];
                Err(ack.err().into_iter().flatten().chain(rest.into_iter().flatten()).collect())
            }
        }
    }
    fn waits_for_ever(&self) -> bool {
        self.timeout.value().is_none()
    }
    fn needs_order(&self) -> bool {
        self.timeout.value().is_none()
    }
    fn rate(&self) -> Option<(&'static str, BitRate)> {
        self.rate.value().map(|rate| ("rate", rate))
    }
}

impl WindowKeys {
    fn controller(&self, segment: u16) -> Result<ControllerSpec, Remark> {
        match (self.size.value(), self.rate.value()) {
            (None, None) => Ok(ControllerSpec::Unlimited(UnlimitedParams)),
            (Some(size), None) => {
                let params = FixedWindowParams { size };
                let help = format!("expected at least \"{segment} B\" or \"1 frame\"");
                params.check(segment).map_err(|why| Remark::about("size", why, help))?;
                Ok(ControllerSpec::FixedWindow(params))
            }
            (None, Some(rate)) => Ok(ControllerSpec::FixedRate(FixedRateParams { rate })),
            (Some(_), Some(_)) => {
                let help = "expected one of them; the other is \"unlimited\"";
                Err(Remark::about("rate", "a window with a size and a rate", help))
            }
        }
    }
}

/// Returns a warning if the window is exhausted before an acknowledgement is due, so that the sender always waits for
/// the acknowledgement delay.
fn waits(spec: &WindowSpec) -> Option<Remark> {
    let ControllerSpec::FixedWindow(window) = &spec.controller else { return None };
    let segments = match window.size {
        Amount::Bytes(bytes) => bytes / u64::from(spec.segment),
        Amount::Frames(segments) => segments,
    };
    (segments < u64::from(spec.ack_every)).then(|| {
        Remark::about(
            "ack_every",
            format!("an acknowledgement for {} segments, but the window holds {segments}", spec.ack_every),
            format!("each window waits for ack_delay ({}); expected at most {segments}", spec.ack_delay),
        )
    })
}

pub(crate) fn count(key: &str, value: u64, most: u64, what: &str) -> Result<u32, Remark> {
    if (1..=most).contains(&value) {
        return Ok(value as u32);
    }
    Err(Remark::about(key, format!("{value} {what}"), format!("expected 1 to {most}")))
}

/// Returns the timeout; `None` if there is none.
pub(crate) fn timeout(timeout: &Or<Time, Never>) -> Result<Option<Time>, Remark> {
    let timeout = timeout.value();
    if timeout == Some(Time::ZERO) {
        let help = "expected a time above the longest round trip, or \"never\"";
        return Err(Remark::about("timeout", "a timeout of 0", help));
    }
    Ok(timeout)
}
