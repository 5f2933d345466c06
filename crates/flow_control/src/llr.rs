//! Link-level retry (LLR) of Ultra Ethernet: the sending end of a link retransmits frames that are corrupted on the
//! link.
//!
//! Each frame carries a 20-bit sequence number in its preamble, which adds no bytes on the wire. The frame stays in
//! the replay buffer of the sending end until the receiving end acknowledges it. Cumulative acknowledgements (ACK) and
//! negative acknowledgements (NACK, with the number of the last good frame) are control ordered sets of 8 B between or
//! within frames. The retry is go-back-N:
//!
//! - *sending end*: sends while fewer than `outstanding_frames_max` frames and `outstanding_bytes_max` bytes are
//!   outstanding, and blocks otherwise. A NACK frees all frames up to its number and retransmits all later ones. The
//!   replay timer retransmits all outstanding frames if nothing has been acknowledged for `replay_timer_max`. The
//!   sending end flushes the replay buffer, which loses its frames, after more than `replay_count_max` replays without
//!   progress, if a frame is outstanding for `data_age_timeout`, or if the link is down for longer than
//!   `pcs_lost_timeout`.
//! - *receiving end*: accepts a frame with the expected number and a valid checksum. It answers a corrupted frame or a
//!   gap with one NACK, then discards all frames and sends no further NACK until the expected number arrives. A number
//!   that it has already accepted is a duplicate, which it discards.
//!
//! The full link rate requires an outstanding limit of at least rate * (2 * delay of the link + spacing of ordered
//! sets + two frames). One corrupted frame costs about one round trip on the link and the retransmission of the
//! outstanding frames, instead of an end-to-end retransmission.
//!
//! If frames are corrupted with probability p, a frame is sent 1 / (1 - p) times on average until it arrives. With N
//! frames outstanding at each error, go-back-N sends about 1 + N * p / (1 - p) frames for each frame that it delivers.
//!
//! Source: UEC 1.0.1 section 5.1; SAI "Link Layer Retry" (names and defaults of the keys unless they say otherwise).
//!
//! Our interpretations: after a NACK, the arrival of the expected number re-enables NACKs even if that frame is
//! corrupted, so that it causes another NACK; a duplicate is acknowledged again, because its ACK may have been lost; a
//! replay counts for `replay_count_max` whether a NACK or the timer started it; an ordered set interrupts the frame on
//! the link, and the remainder is sent 8 B later.
//!
//! Not modelled: LLR of pause frames, which are sent once; a corrupted preamble; poisoned frames; an ordered set that
//! waits for the 256th byte of a frame; the switch memory occupied by the replay buffer.

mod receiver;
mod transmitter;

pub use receiver::{Arrival, Receiver};
pub use transmitter::{Entry, Outcome, Transmitter};

use crate::control::settings;
use keys::{Forms, Remark, by_form};
use schemars::{JsonSchema, Schema, SchemaGenerator, json_schema};
use serde::de::MapAccess;
use serde::de::value::MapAccessDeserializer;
use serde::{Deserialize, Serialize};
use std::borrow::Cow;
use units::{BitRate, Bytes, Time};

/// Modulus of the sequence numbers, which have 20 bits.
pub const SEQUENCES: u32 = 1 << 20;
/// Maximum number of outstanding frames: half of the sequence numbers.
pub const MOST_OUTSTANDING: u32 = 1 << 19;
/// Length of a control ordered set in bytes.
pub const ORDERED_SET_BYTES: u64 = 8;
/// Value of `replay_count_max` that stands for no limit.
pub const ENDLESS: u32 = 255;

/// Returns the sequence number `count` after `number`.
fn after(number: u32, count: u32) -> u32 {
    number.wrapping_add(count) % SEQUENCES
}
/// Returns the distance from `base` forward to `number`.
fn distance(base: u32, number: u32) -> u32 {
    number.wrapping_sub(base) % SEQUENCES
}

/// Treatment of frames while no replay buffer is in use.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Deserialize, Serialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
pub enum FrameAction {
    /// Frames are lost.
    Discard,
    /// Frames wait.
    Block,
    /// Frames are sent without a sequence number; a corrupted frame is lost.
    BestEffort,
}

settings! {
    /// Keys of link-level retry.
    pub struct LlrSettings {
        /// Limit of unacknowledged frames. A count, 1 to 524288 (half of the sequence numbers). Default: 2047 (Open Traffic Generator).
        #[schemars(range(min = 1, max = 524288))]
        pub outstanding_frames_max: u64,
        /// Limit of unacknowledged bytes, at which no further frame is sent. A size, at least "1 B". Default: "1 MiB" (our choice: 800 Gb/s over 500 m).
        #[schemars(extend("default" = "1 MiB"))]
        pub outstanding_bytes_max: Bytes,
        /// Replay timer: time without an acknowledgement after which all outstanding frames are retransmitted. A time with unit, up to "1 s"; "0 s": no timer. Default: "10 us" (SAI's example).
        #[schemars(extend("default" = "10 us"))]
        pub replay_timer_max: Time,
        /// Maximum number of consecutive replays without progress; one more flushes the replay buffer. A whole number, 0 to 255; 255: no limit. Default: 255 (SAI's example).
        #[schemars(range(min = 0, max = 255))]
        pub replay_count_max: u64,
        /// Outage of the link after which the replay buffer is flushed; a shorter outage loses no frame. A time with unit, up to "1 s". Default: "0 s" (SAI).
        #[schemars(extend("default" = "0 s"))]
        pub pcs_lost_timeout: Time,
        /// Time for which a frame may be unacknowledged before the replay buffer is flushed. A time with unit, up to "1 s"; "0 s": no limit. Default: "0 s" (SAI).
        #[schemars(extend("default" = "0 s"))]
        pub data_age_timeout: Time,
        /// Treatment of frames during initialisation, which takes one round trip of the link: "discard", "block" or "best_effort". Default: "best_effort" (SAI).
        pub init_llr_frame_action: FrameAction,
        /// Treatment of frames after a flush: "discard", "block" or "best_effort". Default: "best_effort" (SAI).
        pub flush_llr_frame_action: FrameAction,
        /// If true, LLR reinitialises after a flush due to replays or age. If false, `flush_llr_frame_action` applies until the link goes down and up again. Default: true (SAI: false, until an operator intervenes).
        pub re_init_on_flush: bool,
        /// Target spacing of acknowledgements on the link. A size, "400 B" to "17296 B". Default: "2048 B" (SAI).
        #[schemars(extend("default" = "2048 B"))]
        pub ctlos_target_spacing: Bytes,
        /// Priorities whose frames are eligible for LLR; other frames are sent without a sequence number. A list of whole numbers, 0 to 7. Default: all.
        #[schemars(inner(range(min = 0, max = 7)))]
        pub priorities: Vec<u32>,
    }
}

/// Link-level retry of a link: "off", "on" with all defaults, or its keys.
#[derive(Clone, Debug, Default, PartialEq)]
pub enum Llr {
    /// None.
    #[default]
    Off,
    /// With these keys.
    On(LlrSettings),
}

impl Forms for Llr {
    const EXPECTED: &'static str = "\"on\", \"off\", or a table of the keys of llr";
    fn text<E: serde::de::Error>(text: &str) -> Result<Llr, E> {
        match text {
            "on" => Ok(Llr::On(LlrSettings::default())),
            "off" => Ok(Llr::Off),
            _ => Err(E::unknown_variant(text, &["on", "off"])),
        }
    }
    fn table<'de, A: MapAccess<'de>>(table: A) -> Result<Llr, A::Error> {
        LlrSettings::deserialize(MapAccessDeserializer::new(table)).map(Llr::On)
    }
}
by_form!(Llr);

impl Serialize for Llr {
    fn serialize<S: serde::Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        match self {
            Llr::Off => "off".serialize(serializer),
            Llr::On(keys) => keys.serialize(serializer),
        }
    }
}

impl JsonSchema for Llr {
    fn schema_name() -> Cow<'static, str> {
        "Llr".into()
    }
    fn json_schema(generator: &mut SchemaGenerator) -> Schema {
        let keys = generator.subschema_for::<LlrSettings>();
        json_schema!({
            "description": "Link-level retry: \"off\", \"on\" with all defaults, or its keys.",
            "anyOf": [{ "enum": ["on", "off"] }, keys]
        })
    }
}

impl Llr {
    /// Returns these keys, with omitted ones taken from `outer`.
    #[must_use]
    pub fn inherit(&self, outer: &Llr) -> Llr {
        match (self, outer) {
            (Llr::On(own), Llr::On(outer)) => Llr::On(own.or(outer)),
            (own, _) => own.clone(),
        }
    }
    /// Sets the defaults.
    pub fn fill(&mut self) {
        if let Llr::On(keys) = self {
            let spec = keys.spec();
            *keys = LlrSettings {
                outstanding_frames_max: Some(spec.outstanding_frames_max.into()),
                outstanding_bytes_max: Some(Bytes::new(spec.outstanding_bytes_max)),
                replay_timer_max: Some(spec.replay_timer_max),
                replay_count_max: Some(spec.replay_count_max.into()),
                pcs_lost_timeout: Some(spec.pcs_lost_timeout),
                data_age_timeout: Some(spec.data_age_timeout),
                init_llr_frame_action: Some(spec.init_llr_frame_action),
                flush_llr_frame_action: Some(spec.flush_llr_frame_action),
                re_init_on_flush: Some(spec.re_init_on_flush),
                ctlos_target_spacing: Some(Bytes::new(spec.ctlos_target_spacing)),
                priorities: Some(frame::members(spec.priorities).map(|at| at as u32).collect()),
            };
        }
    }
    /// Returns the specification of a link; `None` without link-level retry.
    ///
    /// # Errors
    /// All values that are outside their ranges.
    pub fn spec(&self) -> Result<Option<LlrSpec>, Vec<Remark>> {
        let Llr::On(keys) = self else { return Ok(None) };
        let wrong = keys.errors();
        if wrong.is_empty() { Ok(Some(keys.spec())) } else { Err(wrong) }
    }
}

/// Maximum of all keys that are times.
const LONGEST: Time = Time::from_ms(1_000);

impl LlrSettings {
    fn spec(&self) -> LlrSpec {
        let mut priorities = 0xFF;
        if let Some(own) = &self.priorities {
            priorities = own.iter().fold(0, |set, priority| set | 1u8.checked_shl(*priority).unwrap_or(0));
        }
        LlrSpec {
            outstanding_frames_max: self.outstanding_frames_max.unwrap_or(2047) as u32,
            outstanding_bytes_max: self.outstanding_bytes_max.map_or(1 << 20, Bytes::get),
            replay_timer_max: self.replay_timer_max.unwrap_or(Time::from_us(10)),
            replay_count_max: self.replay_count_max.unwrap_or(ENDLESS.into()) as u32,
            pcs_lost_timeout: self.pcs_lost_timeout.unwrap_or_default(),
            data_age_timeout: self.data_age_timeout.unwrap_or_default(),
            init_llr_frame_action: self.init_llr_frame_action.unwrap_or(FrameAction::BestEffort),
            flush_llr_frame_action: self.flush_llr_frame_action.unwrap_or(FrameAction::BestEffort),
            re_init_on_flush: self.re_init_on_flush.unwrap_or(true),
            ctlos_target_spacing: self.ctlos_target_spacing.map_or(2048, Bytes::get),
            priorities,
        }
    }

    /// Returns the keys that have no effect. `outages` is true if some link or switch goes down.
    pub fn unused(&self, outages: bool) -> Vec<Remark> {
        let spec = self.spec();
        let limits = spec.replay_count_max < ENDLESS || spec.data_age_timeout > Time::ZERO;
        let a_limit = "a replay_count_max below 255 or a data_age_timeout: nothing flushes";
        let mut found = Vec::new();
        if self.pcs_lost_timeout.is_some_and(|time| time > Time::ZERO) && !outages {
            found.push(keys::unused("pcs_lost_timeout", "a link that goes down"));
        }
        if spec.init_llr_frame_action != FrameAction::BestEffort
            && !outages
            && !(limits && spec.re_init_on_flush)
        {
            found.push(keys::unused(
                "init_llr_frame_action",
                "a link that goes down, or a flush: nothing initialises",
            ));
        }
        if !spec.re_init_on_flush && !limits {
            found.push(keys::unused("re_init_on_flush", a_limit));
        }
        if spec.flush_llr_frame_action != FrameAction::BestEffort && (spec.re_init_on_flush || !limits) {
            let needs =
                if limits { "re_init_on_flush = false: a flush initialises at once" } else { a_limit };
            found.push(keys::unused("flush_llr_frame_action", needs));
        }
        found
    }

    fn errors(&self) -> Vec<Remark> {
        let mut wrong = Vec::new();
        let mut range = |key: &'static str, value: String, fits: bool, expected: &str| {
            if !fits {
                wrong.push(Remark::about(key, format!("{key} is {value}"), format!("expected {expected}")));
            }
        };
        if let Some(frames) = self.outstanding_frames_max {
            let fits = (1..=u64::from(MOST_OUTSTANDING)).contains(&frames);
            let expected = "1 to 524288: sequence numbers have 20 bits, and half of them may be outstanding";
            range("outstanding_frames_max", frames.to_string(), fits, expected);
        }
        if let Some(bytes) = self.outstanding_bytes_max {
            range(
                "outstanding_bytes_max",
                bytes.to_string(),
                bytes.get() > 0,
                "at least \"1 B\", like \"1 MiB\"",
            );
        }
        if let Some(count) = self.replay_count_max {
            range(
                "replay_count_max",
                count.to_string(),
                count <= u64::from(ENDLESS),
                "0 to 255; 255 sets no limit",
            );
        }
        let times = [
            ("replay_timer_max", self.replay_timer_max),
            ("pcs_lost_timeout", self.pcs_lost_timeout),
            ("data_age_timeout", self.data_age_timeout),
        ];
        for (key, time) in times {
            let time = time.unwrap_or_default();
            range(key, time.to_string(), time <= LONGEST, "at most \"1 s\", like \"10 us\"");
        }
        if let Some(spacing) = self.ctlos_target_spacing {
            let fits = (400..=17_296).contains(&spacing.get());
            range(
                "ctlos_target_spacing",
                spacing.to_string(),
                fits,
                "\"400 B\" to \"17296 B\", like \"2048 B\"",
            );
        }
        let priorities = self.priorities.iter().flatten();
        for priority in priorities.filter(|&&priority| priority as usize >= frame::PRIORITIES) {
            range("priorities", priority.to_string(), false, "priorities 0 to 7");
        }
        if self.priorities.as_ref().is_some_and(Vec::is_empty) {
            range("priorities", "empty".into(), false, "at least one priority, or llr = \"off\"");
        }
        wrong
    }
}

/// Link-level retry of a link, as configured.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct LlrSpec {
    /// Limit of unacknowledged frames, 1 to [`MOST_OUTSTANDING`].
    pub outstanding_frames_max: u32,
    /// Limit of unacknowledged bytes, at least 1.
    pub outstanding_bytes_max: u64,
    /// Time without progress after which all outstanding frames are repeated; zero if there is no timer.
    pub replay_timer_max: Time,
    /// Maximum number of consecutive replays without progress, or [`ENDLESS`].
    pub replay_count_max: u32,
    /// Time for which the link may be down before the replay buffer is flushed.
    pub pcs_lost_timeout: Time,
    /// Time for which a frame may be unacknowledged; zero if there is no limit.
    pub data_age_timeout: Time,
    /// Treatment of frames during initialisation.
    pub init_llr_frame_action: FrameAction,
    /// Treatment of frames after a flush.
    pub flush_llr_frame_action: FrameAction,
    /// True if a flush because of the replay count or a frame's age is followed by a new initialisation.
    pub re_init_on_flush: bool,
    /// Target distance between acknowledgements, in bytes.
    pub ctlos_target_spacing: u64,
    /// Eligible priorities, bit n for priority n.
    pub priorities: u8,
}

impl LlrSpec {
    /// Returns the number of bytes that must be outstanding for full rate: the bytes of a round trip of the link, of
    /// the spacing of acknowledgements, and of two frames of `longest` bytes on the wire.
    pub fn needed_for_full_rate(&self, [rate, back]: [BitRate; 2], delay: Time, longest: u64) -> u64 {
        let on_link = (delay * 2).as_secs_f64() * rate.bps_f64() / 8.0;
        let acknowledgement = self.ctlos_target_spacing + ORDERED_SET_BYTES + longest;
        // Bytes sent while the acknowledgement is sent at the rate of the other direction.
        let meanwhile = acknowledgement as f64 * (rate.bps_f64() / back.bps_f64());
        on_link.ceil() as u64 + meanwhile.ceil() as u64 + longest
    }
    /// Returns the maximum time from the start of a frame to its acknowledgement, with frames in both directions.
    pub fn round_trip(&self, rate: BitRate, delay: Time, longest: u64) -> Time {
        let bytes = self.ctlos_target_spacing + 2 * ORDERED_SET_BYTES + longest;
        delay * 2 + Time::from_ps((bytes as f64 * 8e12 / rate.bps_f64()).ceil() as u64)
    }
}

#[cfg(test)]
mod tests;
