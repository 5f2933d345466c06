//! Ultra Ethernet Transport (UET): packet delivery contexts and their congestion controls.
//!
//! A `UetSender` sends messages through a packet delivery context to a `UetReceiver`, which acknowledges them. A
//! [`UetController`] limits the data in flight and does not retransmit. Each control has its own file.

mod context;
mod control;
mod control_packet;
mod credits;
mod duplex;
mod eqds;
mod keys;
mod mrc_transport;
mod ndp;
mod nscc;
mod overtaking;
pub(crate) mod probing;
mod psn_set;
mod pull_queue;
mod pull_turns;
mod rccc;
mod received;
mod receiving;
mod spec;
mod uet_no_control;

pub(crate) use context::{
    CREDIT, CREDIT_REQUEST, FIRST_PSN, NACK_OUT_OF_ORDER, NACK_TRIMMED, NACK_TRIMMED_LAST_HOP, PROBE,
    is_of_path,
};
pub use context::{ContextCounts, DeliveryContext, Done};
pub use control::{UetAck, UetControl, UetFacts, UetLoss};
pub use credits::CreditRules;
pub(crate) use credits::Credits;
pub use duplex::UetDuplex;
pub use eqds::{EqdsKeys, PullOrder};
pub use keys::{UetKeys, UetPreset};
pub use mrc_transport::MrcKeys;
pub use ndp::NdpKeys;
pub use nscc::{Nscc, NsccKeys};
pub(crate) use psn_set::PsnSet;
pub use pull_queue::PullPacer;
pub(crate) use pull_queue::{Arrival, Grants};
pub use rccc::{Rccc, RcccKeys};
pub use received::UetReceived;
pub use receiving::ReceivingContext;
pub use spec::{MrcRules, UetMode, UetSes, UetSpec};
pub use uet_no_control::{UetNoControl, UetNoControlKeys};

use crate::endpoint::Segment;
use crate::rdma::RdmaWord;
use ::keys::{Choice, Keyed, Remark, by_form};
use frame::Header;
use schemars::{JsonSchema, Schema, SchemaGenerator};
use serde::{Deserialize, Deserializer, Serialize, Serializer};
use std::borrow::Cow;
use units::Time;

/// Page of MRC: its name, the source file of its reference page, and the definition of its keys.
pub const MRC_PAGE: (&str, &str, &str) = ("mrc_transport", include_str!("uet/mrc_transport.rs"), "MrcKeys");

/// Defines the closed enum of controls, the enum of their keys, and their dispatch from one list. An entry has the name
/// in a scenario, the keys, the state machine and the file. The first entry has no keys.
macro_rules! uet_controls {
    ($($(#[$doc:meta])+ $text:literal: $name:ident($keys:ty => $machine:ident), $file:literal;)*) => {
        /// Congestion control of packet delivery contexts, as a scenario has it.
        #[derive(Clone, Debug, PartialEq)]
        pub enum UetControlKeys {
            $($(#[$doc])+ $name($keys),)*
        }

        /// The state of a congestion control.
        #[derive(Clone, Debug)]
        pub enum UetController {
            $($(#[$doc])+ $name($machine),)*
        }

        /// By control: its name, the source file of its reference page, and the definition of its keys.
        pub const UET_CONTROL_PAGES: &[(&str, &str, &str)] =
            &[$(($file, include_str!(concat!("uet/", $file, ".rs")), stringify!($keys)),)*];

        impl UetControlKeys {
            /// Returns the name of the control in scenarios.
            pub fn name(&self) -> &'static str {
                match self { $(UetControlKeys::$name(_) => $text,)* }
            }
            /// Validates the keys; returns one remark for each invalid value.
            pub fn check(&self) -> Vec<Remark> {
                let wrong = match self { $(UetControlKeys::$name(keys) => keys.check(),)* };
                wrong.into_iter().map(|why| why.within(self.name())).collect()
            }
            pub(crate) fn start(&self, facts: &UetFacts) -> UetController {
                match self { $(UetControlKeys::$name(keys) => UetController::$name($machine::new(keys, facts)),)* }
            }
        }

        impl Choice for UetControlKeys {
            const EXPECTED: &'static str = "the name of a control, or a table of that name with its keys";
            const NAMES: &'static [&'static str] = &[$($text,)*];
            const WITH_KEYS: &'static [&'static str] = <Self as Choice>::NAMES.split_at(1).1;
            const TABLE: &'static str = "flows.source.uet.control";

            fn plain(name: &str) -> Option<UetControlKeys> {
                (name == "none").then_some(UetControlKeys::None(UetNoControlKeys {}))
            }
            fn keyed<'de, D: Deserializer<'de>>(name: &str, table: D) -> Result<UetControlKeys, D::Error> {
                match name {
                    $($text => <$keys>::deserialize(table).map(UetControlKeys::$name),)*
                    other => Err(serde::de::Error::unknown_variant(other, Self::NAMES)),
                }
            }
        }

        impl Serialize for UetControlKeys {
            fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
                if let UetControlKeys::None(_) = self {
                    return serializer.serialize_str("none");
                }
                match self {
                    $(UetControlKeys::$name(keys) => serializer.serialize_newtype_variant("Control", 0, $text, keys),)*
                }
            }
        }

        impl JsonSchema for UetControlKeys {
            fn schema_name() -> Cow<'static, str> {
                "UetControl".into()
            }
            fn json_schema(generator: &mut SchemaGenerator) -> Schema {
                let about = [$(($text, crate::rdma::first_line(&[$(stringify!($doc)),*])),)*];
                let keyed = vec![$(Keyed::new::<$keys>($text, crate::rdma::first_line(&[$(stringify!($doc)),*]), generator),)*];
                // A control without keys has no table, and therefore no definition.
                generator.definitions_mut().remove("UetNoControlKeys");
                let keyed = keyed.into_iter().skip(1).collect();
                ::keys::schema("Congestion control of packet delivery contexts: a name, or a table of that name with its keys.", &about[..1], keyed)
            }
        }

        impl UetControl for UetController {
            fn on_ack(&mut self, now: Time, ack: &UetAck) {
                match self { $(UetController::$name(it) => it.on_ack(now, ack),)* }
            }
            fn on_loss(&mut self, now: Time, loss: &UetLoss) {
                match self { $(UetController::$name(it) => it.on_loss(now, loss),)* }
            }
            fn on_link_rate(&mut self, fresh: &UetController) {
                match (self, fresh) {
                    $((UetController::$name(it), UetController::$name(fresh)) => it.on_link_rate(fresh),)*
                    _ => unreachable!("the control of other keys"),
                }
            }
            fn window(&self) -> u64 {
                match self { $(UetController::$name(it) => it.window(),)* }
            }
            fn quick_adapts(&self) -> u64 {
                match self { $(UetController::$name(it) => it.quick_adapts(),)* }
            }
        }
    };
}

by_form!(UetControlKeys);

uet_controls! {
    /// No window.
    "none": None(UetNoControlKeys => UetNoControl), "uet_no_control";
    /// A window at the sender that follows delay and ECN marks.
    "nscc": Nscc(NsccKeys => Nscc), "nscc";
    /// Credits of the receiver, with or without a window at the sender.
    "rccc": Rccc(RcccKeys => Rccc), "rccc";
    /// Credits of the receiver, packet by packet, without marks.
    "eqds": Eqds(EqdsKeys => UetNoControl), "eqds";
    /// A pull of the receiver for each packet that arrives, whole or trimmed.
    "ndp": Ndp(NdpKeys => UetNoControl), "ndp";
}

impl Default for UetControlKeys {
    fn default() -> UetControlKeys {
        UetControlKeys::Nscc(NsccKeys::default())
    }
}

impl UetControlKeys {
    /// Returns the rules by which receivers grant credit; `None` if they grant none.
    pub fn credits(&self) -> Option<CreditRules> {
        match self {
            UetControlKeys::Rccc(keys) => Some(keys.rules()),
            UetControlKeys::Eqds(keys) => Some(keys.rules()),
            UetControlKeys::Ndp(keys) => Some(keys.rules()),
            UetControlKeys::None(_) | UetControlKeys::Nscc(_) => None,
        }
    }
    /// Returns true if the control reacts to ECN marks.
    pub fn reacts_to_marks(&self) -> bool {
        matches!(self, UetControlKeys::Nscc(_) | UetControlKeys::Rccc(_))
    }
    /// Returns the keys that have no effect.
    pub fn unused(&self) -> Vec<Remark> {
        let unused = match self {
            UetControlKeys::None(_) | UetControlKeys::Eqds(_) | UetControlKeys::Ndp(_) => Vec::new(),
            UetControlKeys::Nscc(keys) => keys.unused(),
            UetControlKeys::Rccc(keys) => keys.unused(),
        };
        unused.into_iter().map(|why| why.within(self.name())).collect()
    }
}

/// Labels a segment of the context with this number. The segment takes the path of the context if contexts are paths.
pub(crate) fn label(mut segment: Segment, number: usize, is_path: bool) -> Segment {
    if number == 0 {
        return segment;
    }
    let pair = number as u32;
    let labelled = |word: u32| RdmaWord { pair, ..RdmaWord::of(word) }.bits();
    if let Some(Header::Uet(header)) = &mut segment.header {
        (header.word, header.context) = (labelled(header.word), pair);
    } else {
        segment.word = labelled(segment.word);
    }
    if is_path {
        segment.entropy = number as u16;
    }
    segment
}
