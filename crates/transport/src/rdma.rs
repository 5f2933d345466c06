//! RDMA over converged Ethernet (RoCEv2): queue pairs, their loss recovery and their congestion controls.
//!
//! Each mechanism has its own file. An [`RdmaSender`](crate::RdmaSender) has queue pairs that send messages. An
//! [`RdmaReceiver`](crate::RdmaReceiver) acknowledges them and is the notification point. An [`RdmaController`]
//! determines how fast a queue pair sends and how much may be in flight; it is independent of retransmission.

pub(crate) mod checks;
mod control;
mod dcqcn;
mod dcqcn_keys;
mod dcqcn_rest;
mod duplex;
mod go_back_n;
mod headers;
mod hops;
mod hpcc;
mod hpcc_pint;
mod keys;
mod nic;
mod no_control;
mod operation;
mod path_window;
mod powertcp;
pub(crate) mod psn;
pub(crate) mod queue_pair;
mod rdma_dctcp;
mod read;
mod recovery;
mod reordering;
mod reordering_keys;
mod selective_repeat;
mod spec;
mod swift;
mod theta_powertcp;
mod timely;

pub use control::{PathFacts, RdmaAck, RdmaControl, RdmaControlConfiguration, RdmaLoss};
pub use dcqcn::Dcqcn;
pub use dcqcn_keys::{DcqcnKeys, DcqcnPreset};
pub use dcqcn_rest::{Crowd as DcqcnCrowd, Rest as DcqcnRest};
pub use duplex::RdmaDuplex;
pub use hpcc::{Hpcc, HpccKeys};
pub use hpcc_pint::{HpccPint, HpccPintKeys};
pub use keys::RdmaKeys;
pub use nic::{NicLimits, NicState, SharedNic};
pub use no_control::{NoControl, NoControlKeys};
pub use operation::{Operation, Post};
pub use powertcp::{PowerTcp, PowerTcpKeys};
pub use psn::Word as RdmaWord;
pub use queue_pair::{PairCounts, QueuePair};
pub use rdma_dctcp::{RdmaDctcp, RdmaDctcpKeys};
pub use read::{ReadCounts, Reader};
pub(crate) use reordering::{Gaps, LossRule};
pub use reordering_keys::{RdmaRecovery, ReorderingKeys, ReorderingPreset};
pub use spec::{CnpScope, QueuePairs, RdmaSpec, RdmaTimeouts, RdmaVerb, ReceiveQueue, StaticWindow};
pub use swift::{Swift, SwiftKeys};
pub use theta_powertcp::{ThetaPowerTcp, ThetaPowerTcpKeys};
pub use timely::{Timely, TimelyKeys};

use ::keys::{Choice, Keyed, Remark, by_form};
use frame::{Stamps, Telemetry};
use schemars::{JsonSchema, Schema, SchemaGenerator};
use serde::{Deserialize, Deserializer, Serialize, Serializer};
use std::borrow::Cow;
use std::sync::Arc;
use units::{BitRate, Time};

/// By loss recovery of RDMA: its name, the source file of its reference page, and the definition of its keys.
pub const RDMA_RECOVERY_PAGES: &[(&str, &str, &str)] = &[
    ("go_back_n", include_str!("rdma/go_back_n.rs"), ""),
    ("selective_repeat", include_str!("rdma/selective_repeat.rs"), ""),
    ("reordering", include_str!("rdma/reordering.rs"), "ReorderingKeys"),
];

/// By RDMA mechanism other than controls and loss recoveries: its name, the source file of its reference page, and the
/// definition of its keys.
pub const RDMA_PAGES: &[(&str, &str, &str)] =
    &[("read", include_str!("rdma/read.rs"), ""), ("rdma_nic", include_str!("rdma/nic.rs"), "NicLimits")];

/// Defines the closed enums of controls and of their keys, and their dispatch, from one list. An entry has the name in
/// a scenario, the keys, the state machine, the file, and the feedback signal. The first entry has no keys.
macro_rules! rdma_controls {
    ($($(#[$doc:meta])+ $text:literal: $name:ident($keys:ty => $machine:ident), $file:literal, $feedback:expr;)*) => {
        /// The congestion control of queue pairs, as a scenario has it.
        #[derive(Clone, Debug, PartialEq)]
        pub enum RdmaControlKeys {
            $($(#[$doc])+ $name($keys),)*
        }

        /// The state of a congestion control.
        #[derive(Clone, Debug)]
        pub enum RdmaController {
            $($(#[$doc])+ $name($machine),)*
        }

        /// By control: its name, the source file of its reference page, and the definition of its keys.
        pub const RDMA_CONTROL_PAGES: &[(&str, &str, &str)] =
            &[$(($file, include_str!(concat!("rdma/", $file, ".rs")), stringify!($keys)),)*];

        impl RdmaControlKeys {
            /// Returns the name of the control in a scenario.
            pub fn name(&self) -> &'static str {
                match self { $(RdmaControlKeys::$name(_) => $text,)* }
            }
            /// Returns the validated control.
            ///
            /// # Errors
            /// All invalid values.
            pub fn spec(&self) -> Result<RdmaControlSpec, Vec<Remark>> {
                let wrong = match self { $(RdmaControlKeys::$name(keys) => keys.check(),)* };
                if wrong.is_empty() { Ok(RdmaControlSpec::new(self.clone())) } else { Err(wrong) }
            }
            /// Returns the keys that have no effect.
            pub fn unused(&self) -> Vec<Remark> {
                match self { $(RdmaControlKeys::$name(keys) => keys.unused(),)* }
            }
            /// Returns the static facts of the control.
            fn facts(&self) -> &dyn RdmaControlConfiguration {
                match self { $(RdmaControlKeys::$name(keys) => keys,)* }
            }
            fn feedback(&self) -> FeedbackKind {
                match self { $(RdmaControlKeys::$name(_) => $feedback,)* }
            }
            fn on_link_rate(&self, it: &mut RdmaController, facts: &PathFacts, now: Time) {
                match (self, it) {
                    $((RdmaControlKeys::$name(keys), RdmaController::$name(it)) => {
                        it.on_link_rate(now, &$machine::new(keys, facts));
                    })*
                    _ => unreachable!("the control of other keys"),
                }
            }
            fn start(&self, facts: &PathFacts) -> RdmaController {
                match self { $(RdmaControlKeys::$name(keys) => RdmaController::$name($machine::new(keys, facts)),)* }
            }
        }

        impl Choice for RdmaControlKeys {
            const EXPECTED: &'static str = "the name of a control, or a table of that name with its keys";
            const NAMES: &'static [&'static str] = &[$($text,)*];
            const WITH_KEYS: &'static [&'static str] = <Self as Choice>::NAMES.split_at(1).1;
            const TABLE: &'static str = "flows.source.rdma.control";

            fn plain(name: &str) -> Option<RdmaControlKeys> {
                (name == "none").then_some(RdmaControlKeys::None(NoControlKeys {}))
            }
            fn keyed<'de, D: Deserializer<'de>>(name: &str, table: D) -> Result<RdmaControlKeys, D::Error> {
                match name {
                    $($text => <$keys>::deserialize(table).map(RdmaControlKeys::$name),)*
                    other => Err(serde::de::Error::unknown_variant(other, Self::NAMES)),
                }
            }
        }

        impl Serialize for RdmaControlKeys {
            fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
                if let RdmaControlKeys::None(_) = self {
                    return serializer.serialize_str("none");
                }
                match self {
                    $(RdmaControlKeys::$name(keys) => serializer.serialize_newtype_variant("Control", 0, $text, keys),)*
                }
            }
        }

        impl JsonSchema for RdmaControlKeys {
            fn schema_name() -> Cow<'static, str> {
                "RdmaControl".into()
            }
            fn json_schema(generator: &mut SchemaGenerator) -> Schema {
                let about = [$(($text, first_line(&[$(stringify!($doc)),*])),)*];
                let keyed = vec![$(Keyed::new::<$keys>($text, first_line(&[$(stringify!($doc)),*]), generator),)*];
                // A control without keys has no table, and therefore no definition.
                generator.definitions_mut().remove("NoControlKeys");
                let keyed = keyed.into_iter().skip(1).collect();
                ::keys::schema("The congestion control of queue pairs: a name, or a table of that name with its keys.", &about[..1], keyed)
            }
        }

        impl RdmaControl for RdmaController {
            fn telemetry(&self) -> Telemetry {
                match self { $(RdmaController::$name(it) => it.telemetry(),)* }
            }
            fn on_stamps(&mut self, stamps: &Stamps) {
                match self { $(RdmaController::$name(it) => it.on_stamps(stamps),)* }
            }
            fn on_send(&mut self, now: Time, bytes: u32) {
                match self { $(RdmaController::$name(it) => it.on_send(now, bytes),)* }
            }
            fn on_ack(&mut self, now: Time, ack: &RdmaAck) {
                match self { $(RdmaController::$name(it) => it.on_ack(now, ack),)* }
            }
            fn on_cnp(&mut self, now: Time) {
                match self { $(RdmaController::$name(it) => it.on_cnp(now),)* }
            }
            fn on_loss(&mut self, now: Time, loss: RdmaLoss) {
                match self { $(RdmaController::$name(it) => it.on_loss(now, loss),)* }
            }
            fn due(&self, since: Time, bytes: u32) -> Time {
                match self { $(RdmaController::$name(it) => it.due(since, bytes),)* }
            }
            fn rate(&self, now: Time) -> f64 {
                match self { $(RdmaController::$name(it) => it.rate(now),)* }
            }
            fn alpha(&self, now: Time) -> Option<f64> {
                match self { $(RdmaController::$name(it) => it.alpha(now),)* }
            }
            fn window(&self) -> u64 {
                match self { $(RdmaController::$name(it) => it.window(),)* }
            }
            fn memory_bytes(&self) -> usize {
                match self { $(RdmaController::$name(it) => it.memory_bytes(),)* }
            }
        }
    };
}

by_form!(RdmaControlKeys);

/// The feedback signal of a control.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum FeedbackKind {
    /// No signal.
    Nothing,
    /// Congestion notification packets.
    Cnps,
    /// Marks that acknowledgements echo.
    Marks,
    /// The round-trip time of each packet.
    Delay,
    /// Telemetry that switches write into each packet.
    Telemetry,
}

/// The validated congestion control of queue pairs.
#[derive(Clone, Debug, PartialEq)]
pub struct RdmaControlSpec {
    keys: RdmaControlKeys,
    /// DCQCN parameters, which all queue pairs share because there may be a hundred thousand of them.
    shared: Option<Arc<DcqcnKeys>>,
}

impl RdmaControlSpec {
    fn new(keys: RdmaControlKeys) -> RdmaControlSpec {
        let shared = match &keys {
            RdmaControlKeys::Dcqcn(keys) => Some(Arc::new(keys.clone())),
            _ => None,
        };
        RdmaControlSpec { keys, shared }
    }
    /// Returns the name of the control in a scenario.
    pub fn name(&self) -> &'static str {
        self.keys.name()
    }
    /// Returns true if the control reacts to CNPs.
    pub fn uses_cnps(&self) -> bool {
        self.keys.feedback() == FeedbackKind::Cnps
    }
    /// Returns true if the control reacts to marks echoed in acknowledgements.
    pub fn uses_marks(&self) -> bool {
        self.keys.feedback() == FeedbackKind::Marks
    }
    /// Returns true if the control needs the round-trip time of each packet.
    pub fn times_each(&self) -> bool {
        self.keys.feedback() == FeedbackKind::Delay
    }
    /// Returns true if the control needs the round-trip time without queueing.
    pub fn needs_base_rtt(&self) -> bool {
        matches!(self.keys.feedback(), FeedbackKind::Marks | FeedbackKind::Delay | FeedbackKind::Telemetry)
    }
    /// Returns true if the control reacts to telemetry that switches write into packets.
    pub fn uses_telemetry(&self) -> bool {
        self.keys.feedback() == FeedbackKind::Telemetry
    }
    /// Returns the number of hops for which packets have room for stamps, if the control uses stamps.
    pub fn stamps(&self) -> Option<u8> {
        self.keys.facts().stamps()
    }
    /// For a control that keeps a share of the link free: returns the utilisation at which `many` queue pairs settle on
    /// a link of this rate, and the highest additive increase per queue pair with which part of the link stays free.
    pub fn rest(&self, many: u64, rate: BitRate) -> Option<(f64, BitRate)> {
        let (eta, added) = self.keys.facts().utilization(rate)?;
        let most = ((1.0 - eta) * rate.bps_f64() / many.max(1) as f64).max(0.0);
        // A control whose target exceeds the link's capacity builds a queue intentionally.
        (eta < 1.0).then(|| (eta + many as f64 * added / rate.bps_f64(), BitRate::from_bps(most as u64)))
    }
    /// For DCQCN: returns the equilibrium of these queue pairs, if a model covers it.
    pub fn dcqcn_rest(&self, crowd: &DcqcnCrowd) -> Option<DcqcnRest> {
        self.keys.facts().dcqcn_rest(crowd)
    }
    /// For a control that holds the round-trip time at a target: returns the key of its target, and the target of a
    /// window of this many packets on a path with `hops` switches. Longer round-trip times always reduce the rate.
    pub fn delay_target(&self, hops: u16, window: f64) -> Option<(&'static str, Time)> {
        self.keys.facts().delay_target(hops, window)
    }
    /// Returns the minimum rate of a control that has one (`min_rate`).
    pub fn least_rate(&self) -> Option<BitRate> {
        self.keys.facts().least_rate()
    }
    /// Returns the bytes that telemetry adds to each data packet and acknowledgement.
    pub fn telemetry_bytes(&self) -> u16 {
        self.keys.facts().telemetry_bytes()
    }
    fn start(&self, facts: &PathFacts) -> RdmaController {
        match &self.shared {
            Some(keys) => RdmaController::Dcqcn(Dcqcn::sharing(keys, facts)),
            None => self.keys.start(facts),
        }
    }
    fn on_link_rate(&self, it: &mut RdmaController, facts: &PathFacts, now: Time) {
        self.keys.on_link_rate(it, facts, now);
    }
}

rdma_controls! {
    /// Sends at the rate of the link.
    "none": None(NoControlKeys => NoControl), "no_control", FeedbackKind::Nothing;
    /// Rates that CNPs cut, and time and bytes bring back.
    "dcqcn": Dcqcn(DcqcnKeys => Dcqcn), "dcqcn", FeedbackKind::Cnps;
    /// A rate that is cut by the share of packets that are marked.
    "dctcp": Dctcp(RdmaDctcpKeys => RdmaDctcp), "rdma_dctcp", FeedbackKind::Marks;
    /// A rate that follows the gradient of the round-trip time.
    "timely": Timely(TimelyKeys => Timely), "timely", FeedbackKind::Delay;
    /// A window that holds the round trip at a target.
    "swift": Swift(SwiftKeys => Swift), "swift", FeedbackKind::Delay;
    /// A window that holds the busiest link of its path at a share of its rate, by telemetry.
    "hpcc": Hpcc(HpccKeys => Hpcc), "hpcc", FeedbackKind::Telemetry;
    /// A window that holds the busiest link of its path at a share of its rate, by one byte of telemetry.
    "hpcc_pint": HpccPint(HpccPintKeys => HpccPint), "hpcc_pint", FeedbackKind::Telemetry;
    /// A window that follows the power of its path, by telemetry.
    "powertcp": PowerTcp(PowerTcpKeys => PowerTcp), "powertcp", FeedbackKind::Telemetry;
    /// A window that follows the power of its path, by round trips alone.
    "theta_powertcp": ThetaPowerTcp(ThetaPowerTcpKeys => ThetaPowerTcp), "theta_powertcp", FeedbackKind::Delay;
}

impl Default for RdmaControlKeys {
    fn default() -> RdmaControlKeys {
        RdmaControlKeys::Dcqcn(DcqcnKeys::default())
    }
}

/// Generates any control, with its defaults.
#[cfg(test)]
pub(crate) fn any_control() -> impl proptest::strategy::Strategy<Value = RdmaControlKeys> {
    let all = RdmaControlKeys::NAMES.iter().map(|name| <RdmaControlKeys as ::keys::Forms>::text(name));
    let all: Result<Vec<RdmaControlKeys>, serde::de::value::Error> = all.collect();
    proptest::sample::select(all.expect("every control can be given by name only"))
}

/// Returns the first line of a doc comment, given the compiler's text of its attributes.
pub(crate) fn first_line(attributes: &[&'static str]) -> &'static str {
    let first = attributes.first().copied().unwrap_or_default();
    first.split('"').nth(1).unwrap_or(first).trim()
}
