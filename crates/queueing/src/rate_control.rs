//! The interface between a host's rate limiter and its congestion control.
//!
//! A limiter queues the frames of its flows and releases them at a rate. A [`RateControl`], the host part of a layer-2
//! congestion control, sets that rate. Its inputs are messages from switches, transmitted frames and the time.

use crate::quiet::Quiet;
use crate::{ManagerSpec, PathPointParams};
use frame::{Notice, PathNews, Tag};
use keys::Remark;
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use units::{BitRate, Bytes, Never, Or, Time};

/// Feedback that a limiter receives.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Feedback {
    /// A congestion point has sent a message.
    Message(Notice),
    /// The receiver has returned the tag of a frame.
    Returned(Tag),
}

/// A message that probes the state of a path.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Probe {
    /// Content of the probe.
    pub news: PathNews,
    /// Priority of the probe; `None`: that of the limiter's frames.
    pub priority: Option<u8>,
}

/// The output of a control, valid until its next call.
#[derive(Clone, Copy, Debug)]
pub struct RateLimit {
    /// Result of [`RateControl::rate`].
    pub rate: Option<BitRate>,
    /// Result of [`RateControl::poll_timeout`]; [`Time::NEVER`] if there is no timeout until another call.
    pub call_at: Time,
    /// Result of [`RateControl::stopped_until`]; [`Time::ZERO`] if the limiter is not stopped.
    pub stopped_until: Time,
    /// Result of [`RateControl::next_probe`]; [`Time::NEVER`] if no probe is to be sent.
    pub next_probe: Time,
    /// Result of [`RateControl::quiet`].
    pub quiet: Quiet,
}

/// The measured properties of a path.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct PathFacts {
    /// Number of congestion points on the path.
    pub hops: u8,
    /// Rate of the slowest link.
    pub slowest: BitRate,
    /// Shortest round-trip time of a message.
    pub round_trip: Time,
}

/// The host part of a congestion control, which sets the rate of a limiter.
///
/// After each call the host rereads [`RateControl::rate_limit`]. `random` returns 64 random bits per call, from the
/// limiter's own stream.
pub trait RateControl {
    /// Processes a congestion message or a returned tag.
    fn on_feedback(&mut self, now: Time, feedback: Feedback, random: &mut impl FnMut() -> u64);

    /// Returns the tag for the frame that leaves the limiter now, and the length of the tag in bytes.
    fn tag(&mut self, _now: Time) -> Option<(Tag, u8)> {
        None
    }

    /// Returns the time of the limiter's next path probe, which is sent only if the limiter holds a frame at that time;
    /// `None`: never.
    fn next_probe(&self) -> Option<Time> {
        None
    }

    /// Returns the path probe that the limiter sends now, ahead of the frames that it holds.
    fn probe(&mut self, _now: Time) -> Option<Probe> {
        None
    }

    /// Returns the measured properties of the path, if any.
    fn path(&self) -> Option<PathFacts> {
        None
    }

    /// Records that a frame of `bytes` (DA to FCS) has left the limiter. `last` is true if the limiter is now empty.
    fn on_sent(&mut self, now: Time, bytes: u16, last: bool, random: &mut impl FnMut() -> u64);

    /// Handles the timeout of [`RateControl::poll_timeout`]. Harmless at any other time.
    fn handle_timeout(&mut self, now: Time, random: &mut impl FnMut() -> u64);

    /// Returns the time at which to call [`RateControl::handle_timeout`]; `None` if there is no timeout until another
    /// call.
    fn poll_timeout(&self) -> Option<Time>;

    /// Returns the rate in bits on the wire per second, including the line overhead of each frame; `None`: the rate of
    /// the link.
    fn rate(&self) -> Option<BitRate>;

    /// Returns the time until which no frame may leave the limiter.
    fn stopped_until(&self) -> Option<Time> {
        None
    }

    /// Returns the period in which untagged frames can leave without a call to this control, provided that they are
    /// counted. A control that probes its path is never quiet, because the priorities of the frames counted meanwhile
    /// are not recorded.
    fn quiet(&self) -> Quiet {
        Quiet::NEVER
    }

    /// Accounts for `frames` frames of `bytes` bytes in total that left in the quiet period. Called before any other
    /// call.
    fn on_deferred(&mut self, _frames: u64, _bytes: u64) {}

    /// Recomputes the values derived from the rate of the host's link, which has changed.
    fn on_link_rate(&mut self, line: BitRate, now: Time);

    /// Returns all outputs that hold until the next call.
    fn rate_limit(&self) -> RateLimit {
        RateLimit {
            rate: self.rate(),
            call_at: self.poll_timeout().unwrap_or(Time::NEVER),
            stopped_until: self.stopped_until().unwrap_or(Time::ZERO),
            next_probe: self.next_probe().unwrap_or(Time::NEVER),
            quiet: self.quiet(),
        }
    }
}

/// The parameters of a rate control.
pub trait RateConfiguration {
    /// The state machine that these parameters configure.
    type Machine: RateControl;

    /// Returns the first invalid parameter.
    fn check(&self) -> Result<(), Remark>;

    /// Returns the keys that have no effect.
    fn unused(&self) -> Vec<Remark> {
        Vec::new()
    }

    /// Returns a warning about the parameters, such as gains outside the range in which a loop is stable.
    fn doubt(&self) -> Option<Remark> {
        None
    }

    /// Returns a warning about these parameters in combination with a congestion point of the same scheme, if the
    /// slowest link has this rate.
    fn doubt_with(&self, _point: &ManagerSpec, _link: BitRate) -> Option<Remark> {
        None
    }

    /// Returns the keys that have no effect in combination with this congestion point.
    fn unused_with(&self, _point: &ManagerSpec) -> Vec<Remark> {
        Vec::new()
    }

    /// Returns the level at which the control aims with this congestion point, in bytes queued at a port; `None` if the
    /// congestion point defines it.
    fn aim(&self, _point: &ManagerSpec) -> Option<Bytes> {
        None
    }

    /// Returns true if the control requires congestion points of its scheme in switches.
    fn needs_points(&self) -> bool {
        true
    }

    /// Returns true if the control sends its own messages to probe a path.
    fn needs_paths(&self) -> bool {
        false
    }

    /// Returns the length of the longest tag that the control adds to frames.
    fn tag_bytes(&self) -> u8 {
        0
    }

    /// Returns the priority of the tags that a host with such limiters returns; `None` if it returns none.
    fn return_priority(&self) -> Option<u8> {
        None
    }

    /// Returns the congestion point of the host's receive buffer, if the host sends messages about it. `_buffer` is the
    /// number of bytes at a level of 100 %.
    fn receiver_point(&self, _buffer: Bytes) -> Option<PathPointParams> {
        None
    }

    /// Creates the control of a limiter without congestion, on a link of this rate. The parameters have passed
    /// [`check`](RateConfiguration::check).
    fn start(&self, line: BitRate) -> Self::Machine;
}

/// Set of frames that share a limiter.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Deserialize, Serialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
pub enum LimiterScope {
    /// Each flow has its own.
    #[default]
    Flow,
    /// Frames of one priority to one destination.
    Destination,
    /// All frames to one destination, the highest priority first.
    Path,
    /// All frames of one priority.
    Priority,
}

/// Default of the burst.
fn two_frames() -> Bytes {
    Bytes::new(2 * u64::from(frame::MAX_TAGGED_FRAME_BYTES))
}
const MOST_BURST: Bytes = Bytes::new(1 << 20);

/// Defines the closed enum of rate controls, its specification, its dispatch and its pages from one list.
macro_rules! rate_controls {
    ($($(#[$doc:meta])* $key:ident: $name:ident($params:ident)),* $(,)?) => {
        /// The control of a host's limiters, with its parameters.
        #[derive(Clone, Copy, Debug, PartialEq)]
        pub enum RateControlSpec {
            $($(#[$doc])* $name($params),)*
        }

        /// The state of a rate control.
        #[derive(Clone, Debug)]
        pub enum RateControls {
            $($(#[$doc])* $name(<$params as RateConfiguration>::Machine),)*
        }

        /// By control: its name, the source file of its reference page, and the definition of its keys in the JSON
        /// Schema.
        pub const RATE_CONTROL_PAGES: &[(&str, &str, &str)] =
            &[$((stringify!($key), include_str!(concat!(stringify!($key), ".rs")), stringify!($params)),)*];

        /// The rate limiters of a host: what shares one, and exactly one control.
        #[derive(Clone, Debug, PartialEq, Deserialize, Serialize, JsonSchema)]
        #[serde(deny_unknown_fields)]
        pub struct RateLimiters {
            /// Priorities whose frames pass a limiter. A list of whole numbers, 0 to 7 each. Default: all.
            #[serde(skip_serializing_if = "Option::is_none")]
            pub priorities: Option<Vec<u32>>,
            /// Frames that share a limiter: "flow" (frames of one flow), "destination" (frames of one priority to one host), "path" (all frames to one host, the highest priority first) or "priority" (all frames of one priority). Default: "flow".
            #[serde(default)]
            pub per: LimiterScope,
            /// Duration of the backlog of a limiter from which on departing frames are marked, if they are ECN-capable (McAlpine 2005: PRC_ECN marks where frames enter layer 2). A time with unit, at least "1 us"; or "never". Default: "never".
            #[serde(default)]
            pub mark_after: Or<Time, Never>,
            /// With "path", bytes, including line overhead, by which a limiter may be ahead of its rate and still send a frame whose priority is above the lowest one with a limiter at this host. The next frames wait longer, so that the average rate is unchanged. A size with unit, "0 B" (none) to "1 MiB". Default: "3044 B" (a choice: two of the longest frames).
            #[serde(default = "two_frames")]
            pub priority_burst: Bytes,
            $(
                $(#[$doc])*
                #[serde(skip_serializing_if = "Option::is_none")]
                pub $key: Option<$params>,
            )*
        }

        impl RateLimiters {
            /// Returns all controls of the entry, of which exactly one is accepted.
            fn controls(&self) -> Vec<RateControlSpec> {
                [$(self.$key.map(RateControlSpec::$name),)*].into_iter().flatten().collect()
            }
        }

        impl RateControlSpec {
            /// Names of all controls in a scenario.
            pub const NAMES: &[&str] = &[$(stringify!($key),)*];

            /// Returns the name of the control.
            pub fn name(&self) -> &'static str {
                match self { $(RateControlSpec::$name(_) => stringify!($key),)* }
            }
        }

        impl RateConfiguration for RateControlSpec {
            type Machine = RateControls;

            /// Checks the parameters. Paths of remarks begin at the name of the control.
            fn check(&self) -> Result<(), Remark> {
                match self {
                    $(RateControlSpec::$name(params) => params.check().map_err(|why| why.within(stringify!($key))),)*
                }
            }
            fn unused(&self) -> Vec<Remark> {
                let within = |all: Vec<Remark>, name| all.into_iter().map(|one| one.within(name)).collect();
                match self {
                    $(RateControlSpec::$name(params) => within(params.unused(), stringify!($key)),)*
                }
            }
            fn doubt(&self) -> Option<Remark> {
                match self { $(RateControlSpec::$name(params) => params.doubt(),)* }
            }
            fn doubt_with(&self, point: &ManagerSpec, link: BitRate) -> Option<Remark> {
                match self { $(RateControlSpec::$name(params) => params.doubt_with(point, link),)* }
            }
            fn unused_with(&self, point: &ManagerSpec) -> Vec<Remark> {
                let within = |all: Vec<Remark>, name| all.into_iter().map(|one| one.within(name)).collect();
                match self {
                    $(RateControlSpec::$name(params) => within(params.unused_with(point), stringify!($key)),)*
                }
            }
            fn aim(&self, point: &ManagerSpec) -> Option<Bytes> {
                match self { $(RateControlSpec::$name(params) => params.aim(point),)* }
            }
            fn needs_points(&self) -> bool {
                match self { $(RateControlSpec::$name(params) => params.needs_points(),)* }
            }
            fn needs_paths(&self) -> bool {
                match self { $(RateControlSpec::$name(params) => params.needs_paths(),)* }
            }
            fn tag_bytes(&self) -> u8 {
                match self { $(RateControlSpec::$name(params) => params.tag_bytes(),)* }
            }
            fn return_priority(&self) -> Option<u8> {
                match self { $(RateControlSpec::$name(params) => params.return_priority(),)* }
            }
            fn receiver_point(&self, buffer: Bytes) -> Option<PathPointParams> {
                match self { $(RateControlSpec::$name(params) => params.receiver_point(buffer),)* }
            }
            fn start(&self, line: BitRate) -> RateControls {
                match self { $(RateControlSpec::$name(params) => RateControls::$name(params.start(line)),)* }
            }
        }

        impl RateControls {
            /// Returns the name of the control.
            pub fn name(&self) -> &'static str {
                match self { $(RateControls::$name(_) => stringify!($key),)* }
            }
        }

        impl RateControl for RateControls {
            fn on_feedback(&mut self, now: Time, feedback: Feedback, random: &mut impl FnMut() -> u64) {
                match self { $(RateControls::$name(it) => it.on_feedback(now, feedback, random),)* }
            }
            fn tag(&mut self, now: Time) -> Option<(Tag, u8)> {
                match self { $(RateControls::$name(it) => it.tag(now),)* }
            }
            fn next_probe(&self) -> Option<Time> {
                match self { $(RateControls::$name(it) => it.next_probe(),)* }
            }
            fn probe(&mut self, now: Time) -> Option<Probe> {
                match self { $(RateControls::$name(it) => it.probe(now),)* }
            }
            fn path(&self) -> Option<PathFacts> {
                match self { $(RateControls::$name(it) => it.path(),)* }
            }
            fn stopped_until(&self) -> Option<Time> {
                match self { $(RateControls::$name(it) => it.stopped_until(),)* }
            }
            fn on_sent(&mut self, now: Time, bytes: u16, last: bool, random: &mut impl FnMut() -> u64) {
                match self { $(RateControls::$name(it) => it.on_sent(now, bytes, last, random),)* }
            }
            fn handle_timeout(&mut self, now: Time, random: &mut impl FnMut() -> u64) {
                match self { $(RateControls::$name(it) => it.handle_timeout(now, random),)* }
            }
            fn poll_timeout(&self) -> Option<Time> {
                match self { $(RateControls::$name(it) => it.poll_timeout(),)* }
            }
            fn rate(&self) -> Option<BitRate> {
                match self { $(RateControls::$name(it) => it.rate(),)* }
            }
            fn quiet(&self) -> Quiet {
                match self { $(RateControls::$name(it) => it.quiet(),)* }
            }
            fn on_deferred(&mut self, frames: u64, bytes: u64) {
                match self { $(RateControls::$name(it) => it.on_deferred(frames, bytes),)* }
            }
            fn on_link_rate(&mut self, line: BitRate, now: Time) {
                match self { $(RateControls::$name(it) => it.on_link_rate(line, now),)* }
            }
            fn rate_limit(&self) -> RateLimit {
                match self { $(RateControls::$name(it) => it.rate_limit(),)* }
            }
        }
    };
}

use crate::bcn::BackwardReactionParams;
use crate::fecn_source::RateReactionParams;
use crate::prc_source::PathReactionParams;
use crate::qcn::ReactionPointParams;

rate_controls! {
    /// The reaction points of quantised congestion notification (QCN, IEEE 802.1Qau).
    qcn: Qcn(ReactionPointParams),
    /// The reaction points of backward congestion notification (BCN).
    bcn: Bcn(BackwardReactionParams),
    /// The reaction points of forward explicit congestion notification (FECN).
    fecn: Fecn(RateReactionParams),
    /// Path rate control (PRC).
    prc: Prc(PathReactionParams),
}

impl RateLimiters {
    fn check_burst(&self) -> Result<(), Remark> {
        let burst = self.priority_burst;
        let wrong = |message: String, help| Err(Remark::about("priority_burst", message, help));
        if burst > MOST_BURST {
            return wrong(
                format!("a priority_burst of {burst}"),
                "expected a size with unit, \"0 B\" to \"1 MiB\"",
            );
        }
        if burst != two_frames() && self.per != LimiterScope::Path {
            let help = "expected per = \"path\" beside it: no other limiter has frames of several priorities";
            return wrong("a priority_burst of limiters that are not by path".into(), help);
        }
        Ok(())
    }

    /// Returns the keys that have no effect.
    pub fn unused(&self) -> Vec<Remark> {
        self.controls().iter().flat_map(RateConfiguration::unused).collect()
    }

    /// Returns the only control, with valid parameters, and the priorities as a bit set: bit n for priority n.
    pub fn spec(&self) -> Result<(RateControlSpec, u8), Remark> {
        let one_of = || format!("expected exactly one of {}", RateControlSpec::NAMES.join(", "));
        let control = match self.controls()[..] {
            [control] => control,
            [] => return Err(Remark::new("rate limiters without a control", one_of())),
            [first, second, ..] => {
                let message = format!("both {} and {}", first.name(), second.name());
                return Err(Remark::about(second.name(), message, one_of()));
            }
        };
        control.check()?;
        if let Some(after) = self.mark_after.value() {
            crate::checks::interval("mark_after", after)?;
        }
        self.check_burst()?;
        let Some(named) = &self.priorities else { return Ok((control, u8::MAX)) };
        if named.is_empty() {
            let help = "expected priorities, like [3], or no key for all";
            return Err(Remark::about("priorities", "rate limiters for no priority", help));
        }
        Ok((control, crate::checks::distinct_priorities("priorities", named)?))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn limiters(priorities: Option<Vec<u32>>, qcn: bool) -> RateLimiters {
        let qcn = qcn.then(ReactionPointParams::default);
        RateLimiters {
            priorities,
            per: LimiterScope::Flow,
            mark_after: Or::word(),
            priority_burst: two_frames(),
            qcn,
            bcn: None,
            fecn: None,
            prc: None,
        }
    }

    #[test]
    fn priorities_are_a_set_and_one_control_is_needed() {
        let set = |priorities| limiters(priorities, true).spec().map(|(_, set)| set);
        assert_eq!((set(None), set(Some(vec![3, 0]))), (Ok(0xFF), Ok(0b1001)));
        for (priorities, words) in
            [(vec![], "for no priority"), (vec![8], "priority 8"), (vec![1, 1], "priority 1 twice")]
        {
            assert!(set(Some(priorities)).unwrap_err().contains(words));
        }
        assert!(limiters(None, false).spec().unwrap_err().contains("exactly one of qcn"));
    }
}
