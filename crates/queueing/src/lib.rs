//! Admission to queues, and congestion feedback to their sources.
//!
//! Limits ([`BufferSpec`] and [`SharedMemory`]) determine whether there is room for a frame. Each queue has a queue
//! manager ([`QueueManager`]), which decides on marks, early drops and congestion messages. Rate limiters at the hosts
//! ([`RateControl`]) reduce the rate of flows for which messages arrive. All are sans-IO: their inputs are the state of
//! the queue, the time and random bits; their output is a verdict or a rate.
//!
//! ```
//! use queueing::RedParams;
//!
//! // Averages from 5 to 15 frames: up to 2 % are marked. Above 30 frames: all are marked.
//! let red = RedParams::default();
//! assert_eq!([3.0, 10.0, 31.0].map(|average| red.probability(average)), [Some(0.0), Some(0.01), None]);
//! ```

#![warn(clippy::too_many_lines)]

mod arbiter;
mod bcn;
mod checks;
mod congestion_domain;
mod crossbar;
mod dynamic_threshold;
mod entry;
mod fecn;
mod fecn_capacity;
mod fecn_options;
mod fecn_source;
mod fecn_stability;
mod manager;
mod pools;
mod port_selector;
mod prc;
mod prc_source;
mod qcn;
mod quiet;
mod rate_control;
mod red;
mod red_line;
mod reference_rate;
mod sampling;
mod shared_memory;
mod step;
mod tail_drop;
mod trimming;

#[cfg(test)]
mod pools_examples;
#[cfg(test)]
mod testbed;

pub use arbiter::{Arbiter, Crossing, MOST_PORTS, Ports, PortsOf, Requests, ports_of};
pub use bcn::{BackwardReaction, BackwardReactionParams, Samples};
pub use congestion_domain::{CN_TAG_BYTES, Choice, CnTlv, Defence, DomainKeys, PortDefence};
pub use crossbar::{Arbitration, CrossbarKeys, Inputs, Room, Speedup};
pub use dynamic_threshold::{Alpha, DynamicThreshold, SharedMemorySpec};
pub use entry::{ManagerAssignment, PortManager, assign};
pub use fecn_options::{AverageWith, Capacity, Idle, Load, Phase, QueueControl, RateScope};
pub use fecn_source::{RateReaction, RateReactionParams};
pub use manager::{
    Color, Configuration, Counts, Departures, Fill, FrameFacts, LinkFacts, Measures, QueueManager, Report,
    Scope as PointScope, Verdict,
};
pub use pools::{
    Attachment, AttachmentSpec, MemoryKeys, PoolKeys, PoolMode, PoolSpec, PoolsSpec, PortProfiles,
    ProfileKeys, ProfileSpec, Side,
};
pub use port_selector::{PortFacts, PortSelector, PortSet};
pub use prc_source::{Law, Method, PathReaction, PathReactionParams};
pub use qcn::{ReactionPoint, ReactionPointParams};
pub use quiet::{Deferred, DeferredUpdates, Quiet};
pub use rate_control::{
    Feedback, LimiterScope, PathFacts, Probe, RATE_CONTROL_PAGES, RateConfiguration, RateControl,
    RateControlSpec, RateControls, RateLimit, RateLimiters,
};
pub use red::{Action, ColorKeys, IdleExponent, Mode, Spacing};
pub use reference_rate::at_rate;
pub use shared_memory::{Holding, Limit, Part, Pool, Refused, Rules, SharedMemory};
pub use step::Moment;
pub use tail_drop::{BufferSpec, Refusal};
pub use trimming::{DiscardAction, TrimmingDscp, TrimmingKeys, TrimmingPreset, TrimmingSpec, Victim};

use frame::Tag;
use keys::Remark;
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use units::{BitRate, Bytes, Length, Time};

/// Defines the closed enum of queue managers, its specification, its dispatch and its pages from one list.
macro_rules! queue_managers {
    ($($(#[$doc:meta])* $key:ident: $name:ident($params:ident)),* $(,)?) => {
        $(pub use $key::{$name, $params};)*

        /// The specification of a queue manager: its kind and its parameters.
        #[derive(Clone, Copy, Debug, PartialEq)]
        pub enum ManagerSpec {
            $($(#[$doc])* $name($params),)*
        }

        /// Compares parameters and state. No part of the state is a time that remains valid when the clock is shifted.
        impl recurrence::Recurs for Manager {
            fn walk(&self, walk: &mut recurrence::Walk) {
                walk.shown(self);
            }
        }

        /// The state of a queue manager.
        #[derive(Clone, Debug)]
        pub enum Manager {
            $($(#[$doc])* $name($name),)*
        }

        /// By mechanism: its name, the source file of its reference page, and the definition of its keys in the JSON
        /// Schema.
        pub const PAGES: &[(&str, &str, &str)] = &[
            ("tail_drop", include_str!("tail_drop.rs"), "Buffer"),
            ("dynamic_threshold", include_str!("dynamic_threshold.rs"), "DynamicThreshold"),
            ("pools", include_str!("pools.rs"), "MemoryKeys"),
            ("trimming", include_str!("trimming.rs"), "TrimmingKeys"),
            ("crossbar", include_str!("crossbar.rs"), "CrossbarKeys"),
            ("congestion_domain", include_str!("congestion_domain.rs"), "DomainKeys"),
            $((stringify!($key), include_str!(concat!(stringify!($key), ".rs")), stringify!($params)),)*
        ];

        /// A queue manager and the traffic classes whose queues it manages: exactly one of them.
        #[derive(Clone, Debug, PartialEq, Deserialize, Serialize, JsonSchema)]
        #[serde(deny_unknown_fields)]
        pub struct ManagerEntry {
            /// Traffic classes, 0 to 7 each; each of their queues has its own manager. Default: all that no other entry names.
            #[serde(skip_serializing_if = "Option::is_none")]
            pub classes: Option<Vec<u32>>,
            /// Only at these ports: "up" (away from the hosts), "down" (towards the hosts), "hosts" or "switches" (by the neighbour), or a list of names, like "leaf0.4->spine0", "*->spine0", or "leaf0" for all of a switch. An entry that states all conditions of another and more takes precedence over it. Default: any.
            #[serde(skip_serializing_if = "Option::is_none")]
            pub ports: Option<PortSet>,
            /// Only at ports of this rate; on a link with a `line_code` it is the rate on the wire, as in the topology. A rate. Default: any.
            #[serde(skip_serializing_if = "Option::is_none")]
            pub rate: Option<BitRate>,
            /// Only at ports whose cable is at most this long; a cable given by its `delay` counts one metre per 5 ns. A length. Default: any.
            #[serde(skip_serializing_if = "Option::is_none")]
            pub length: Option<Length>,
            $(
                $(#[$doc])*
                #[serde(skip_serializing_if = "Option::is_none")]
                pub $key: Option<$params>,
            )*
        }

        impl ManagerEntry {
            /// Returns all managers of the entry, of which exactly one is accepted.
            fn managers(&self) -> Vec<ManagerSpec> {
                [$(self.$key.map(ManagerSpec::$name),)*].into_iter().flatten().collect()
            }
        }

        impl ManagerSpec {
            /// Names of all queue managers in a scenario.
            pub const NAMES: &[&str] = &[$(stringify!($key),)*];

            /// Returns the name of the manager.
            pub fn name(&self) -> &'static str {
                match self { $(ManagerSpec::$name(_) => stringify!($key),)* }
            }
        }

        impl Configuration for ManagerSpec {
            type Machine = Manager;

            /// Checks the parameters. Paths of remarks begin at the name of the manager.
            fn check(&self) -> Result<(), Remark> {
                match self {
                    $(ManagerSpec::$name(params) => params.check().map_err(|why| why.within(stringify!($key))),)*
                }
            }
            fn unused(&self) -> Vec<Remark> {
                let within = |all: Vec<Remark>, name| all.into_iter().map(|one| one.within(name)).collect();
                match self {
                    $(ManagerSpec::$name(params) => within(params.unused(), stringify!($key)),)*
                }
            }
            fn unmarked(&self) -> Option<&'static str> {
                match self { $(ManagerSpec::$name(params) => params.unmarked(),)* }
            }
            fn drops(&self) -> Option<(&'static str, &'static str)> {
                match self { $(ManagerSpec::$name(params) => params.drops(),)* }
            }
            fn colors(&self) -> Vec<Color> {
                match self { $(ManagerSpec::$name(params) => params.colors(),)* }
            }
            fn message_priority(&self) -> Option<u8> {
                match self { $(ManagerSpec::$name(params) => params.message_priority(),)* }
            }
            fn header_octets(&self) -> u8 {
                match self { $(ManagerSpec::$name(params) => params.header_octets(),)* }
            }
            fn set_point(&self) -> Option<Bytes> {
                match self { $(ManagerSpec::$name(params) => params.set_point(),)* }
            }
            fn measures(&self) -> Measures {
                match self { $(ManagerSpec::$name(params) => params.measures(),)* }
            }
            fn start(&self, link: &LinkFacts) -> Manager {
                match self { $(ManagerSpec::$name(params) => Manager::$name(params.start(link)),)* }
            }
        }

        impl QueueManager for Manager {
            #[inline]
            fn on_enqueue(
                &mut self,
                now: Time,
                fill: &Fill,
                frame: FrameFacts,
                random: &mut impl FnMut() -> u64,
            ) -> Verdict {
                match self { $(Manager::$name(it) => it.on_enqueue(now, fill, frame, random),)* }
            }
            #[inline]
            fn on_dequeue(
                &mut self,
                now: Time,
                fill: &Fill,
                frame: FrameFacts,
                random: &mut impl FnMut() -> u64,
            ) -> Verdict {
                match self { $(Manager::$name(it) => it.on_dequeue(now, fill, frame, random),)* }
            }
            #[inline]
            fn departures(&self) -> Departures {
                match self { $(Manager::$name(it) => it.departures(),)* }
            }
            #[inline]
            fn quiet(&self) -> Quiet {
                match self { $(Manager::$name(it) => it.quiet(),)* }
            }
            #[inline]
            fn on_deferred(&mut self, frames: u64, bytes: u64) {
                match self { $(Manager::$name(it) => it.on_deferred(frames, bytes),)* }
            }
            fn observe(
                &mut self,
                moment: Moment,
                deferred: Deferred,
                facts: (Time, &Fill, FrameFacts),
                random: &mut impl FnMut() -> u64,
            ) -> (Verdict, Quiet) {
                match self { $(Manager::$name(it) => it.observe(moment, deferred, facts, random),)* }
            }
            fn stamp(&mut self, moment: Moment, tag: Tag, port: impl FnOnce() -> u64) -> Tag {
                match self { $(Manager::$name(it) => it.stamp(moment, tag, port),)* }
            }
            fn stamps_returned(&self) -> bool {
                match self { $(Manager::$name(it) => it.stamps_returned(),)* }
            }
            fn stamp_returned(&mut self, tag: Tag, port: impl FnOnce() -> u64) -> Tag {
                match self { $(Manager::$name(it) => it.stamp_returned(tag, port),)* }
            }
            fn on_link_rate(&mut self, rate: BitRate) {
                match self { $(Manager::$name(it) => it.on_link_rate(rate),)* }
            }
            fn has_scaled_thresholds(&self) -> bool {
                match self { $(Manager::$name(it) => it.has_scaled_thresholds(),)* }
            }
        }
    };
}

queue_managers! {
    /// Random early detection (Floyd and Jacobson 1993).
    red: Red(RedParams),
    /// Step marking: marks frames while the queue is longer than a threshold.
    step: Step(StepParams),
    /// A sampling notifier: notifies the sources of a long queue.
    sampling: Sampling(SamplingParams),
    /// A congestion point of quantised congestion notification (QCN, IEEE 802.1Qau).
    qcn: CongestionPoint(CongestionPointParams),
    /// A congestion point of backward congestion notification (BCN).
    bcn: BackwardPoint(BackwardPointParams),
    /// A congestion point of forward explicit congestion notification (FECN, E-FECN).
    fecn: RatePoint(RatePointParams),
    /// A congestion point of layer-2 congestion information (L2CI), for path rate control (PRC).
    prc: PathPoint(PathPointParams),
}
