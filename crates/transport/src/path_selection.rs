//! Path selection at the sender: which entropy value each packet has.
//!
//! Switches hash the entropy value of a packet with its flow (the source port of RoCEv2, the flow label of IPv6), so
//! that packets with the same value take one path, and a sender selects among the paths without information about the
//! topology. A connection has a set of `entropies` values. Its receiver echoes the value of each packet in the
//! acknowledgement, with the mark that the packet has met; a NAK echoes that of a trimmed packet. Selections are
//! state machines: they return a value for each packet, and observe the fate of earlier ones. They are independent of
//! retransmission and rates, so that any transport can use any of them.
//!
//! Source: UEC Specification 1.0.3, section 3.6.16 (entropy values, their echo); each selection names its own.
//!
//! Left out: entropy in fields of its own for each hop; rules of Ultra Ethernet for sets of which half the values are marked.

mod bitmap;
mod mixed;
mod mrc;
mod oblivious;
mod plb;
mod random_spray;
mod reps;

pub use bitmap::{Bitmap, BitmapKeys};
pub use mixed::{Mixed, MixedKeys};
pub use mrc::{MrcPaths, MrcPathsKeys};
pub use oblivious::{Oblivious, ObliviousKeys, Round};
pub use plb::{Plb, PlbKeys};
pub use random_spray::{RandomSpray, RandomSprayKeys};
pub use reps::{Reps, RepsKeys};

use ::keys::{Choice, Keyed, Remark, by_form};
use schemars::{JsonSchema, Schema, SchemaGenerator};
use serde::{Deserialize, Deserializer, Serialize, Serializer};
use std::borrow::Cow;
use units::Time;

/// Maximum number of entropy values of a connection, limited by the field in a frame.
pub const MOST_ENTROPIES: u64 = frame::Route::ENTROPIES as u64;
/// Default number of entropy values of a connection, as in the simulators of Ultra Ethernet.
pub(crate) const USUAL_ENTROPIES: u64 = 64;

/// The outcome of a packet.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum PathSignal {
    /// The packet has arrived without a mark.
    Acknowledged,
    /// The packet has arrived with a mark (ECN).
    Marked,
    /// A switch within the fabric has trimmed the packet.
    Trimmed,
    /// The last switch has trimmed the packet. No other path would have avoided that.
    TrimmedAtLastHop,
    /// The receiver has reported the packet as lost.
    Lost,
    /// No feedback arrived before the timeout.
    TimedOut,
    /// A probe of the path was answered.
    ProbeAnswered,
}

/// The counters of a selection that takes paths out of service.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct PathCounts {
    /// Number of values taken out because a packet was lost.
    pub taken_out: u64,
    /// Number of these values that probes have brought back.
    pub returned: u64,
    /// Number of values that are out now.
    pub out: u64,
    /// Number of losses that took no value out, because too few values would have been left.
    pub kept: u64,
    /// Number of times that a value lost a turn because of a mark or a trim.
    pub skipped: u64,
    /// Number of probes sent.
    pub probes: u64,
    /// Number of probes answered.
    pub probe_answers: u64,
}

/// Feedback on the packet with an entropy value.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct PathFeedback {
    /// Entropy value of the packet.
    pub entropy: u16,
    /// Outcome of the packet.
    pub signal: PathSignal,
}

/// A random number generator with eight bytes of state: SplitMix64 (Steele, Lea and Flood, OOPSLA 2014).
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Draws(u64);

impl Draws {
    /// Creates a generator with this seed.
    pub fn new(seed: u64) -> Draws {
        Draws(seed)
    }
    /// Returns the next 64 random bits.
    #[inline]
    pub fn bits(&mut self) -> u64 {
        self.0 = self.0.wrapping_add(0x9E37_79B9_7F4A_7C15);
        let mixed = (self.0 ^ self.0 >> 30).wrapping_mul(0xBF58_476D_1CE4_E5B9);
        let mixed = (mixed ^ mixed >> 27).wrapping_mul(0x94D0_49BB_1331_11EB);
        mixed ^ mixed >> 31
    }
    /// Returns a number below `count`, which is above 0 and small.
    #[inline]
    pub fn below(&mut self, count: u16) -> u16 {
        ((u128::from(self.bits()) * u128::from(count)) >> 64) as u16
    }
}

/// The facts of a connection with which a path selection starts.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct PathsFacts {
    /// Round-trip time without queueing.
    pub base_rtt: Time,
    /// Seed of the selection's random numbers.
    pub seed: u64,
    /// Number of the sender's links that lead to the receiver, each of which may carry every packet; at least 1.
    pub planes: u16,
    /// True if switches are known to trim packets instead of dropping them.
    pub trimming: bool,
}

/// A path selection, which chooses the entropy value of each packet.
pub trait PathSelection {
    /// Returns the entropy value of the packet that is sent now.
    fn next(&mut self, now: Time) -> u16;

    /// Processes feedback: a packet has arrived, was trimmed or is lost. The default ignores it.
    fn on_feedback(&mut self, _now: Time, _feedback: PathFeedback) {}

    /// Processes the loss, without a NACK, of a packet sent at `sent`. The default ignores the time of sending.
    fn on_lost(&mut self, now: Time, feedback: PathFeedback, _sent: Time) {
        self.on_feedback(now, feedback);
    }

    /// Records the planes whose link is down at either end, bit n for plane n. The default ignores them: a NIC sends
    /// their packets over other links.
    fn on_planes_down(&mut self, _planes: u16) {}

    /// Returns the time at which a probe of a path is due, or [`Time::NEVER`].
    fn probe_at(&self) -> Time {
        Time::NEVER
    }
    /// Returns the value whose path is to be probed now, if any.
    fn due_probe(&self, _now: Time) -> Option<u16> {
        None
    }
    /// Records that the due probe is sent.
    fn on_probe(&mut self, _now: Time) {}

    /// Returns the counters of paths taken out and brought back; `None` if the selection takes none out.
    fn counts(&self) -> Option<PathCounts> {
        None
    }

    /// Returns the heap memory in bytes.
    fn memory_bytes(&self) -> usize {
        0
    }
}

/// Defines the closed enum of selections, the enum of their keys, and their dispatch from one list. An entry has the
/// name in a scenario (which is also that of the file), the keys and the state machine. Its two flags state whether the
/// selection uses feedback, and whether packets of a connection may overtake each other.
macro_rules! path_selections {
    ($($(#[$doc:meta])+ $text:literal: $name:ident($keys:ty), $adaptive:literal, $sprays:literal;)*) => {
        /// Path selection of a sender, as in a scenario.
        #[derive(Clone, Debug, Default, PartialEq)]
        pub enum PathSelectionKeys {
            /// One path for the whole connection.
            #[default]
            Fixed,
            $($(#[$doc])+ $name($keys),)*
        }

        /// The state of a path selection.
        #[derive(Clone, Debug)]
        pub enum PathSelector {
            $($(#[$doc])+ $name($name),)*
        }

        /// By selection: its name, the source file of its reference page, and the definition of its keys.
        pub const PATH_SELECTION_PAGES: &[(&str, &str, &str)] =
            &[$(($text, include_str!(concat!("path_selection/", $text, ".rs")), stringify!($keys)),)*];

        impl PathSelectionKeys {
            /// Returns all selections except the fixed one, with their defaults.
            pub fn all() -> Vec<PathSelectionKeys> {
                vec![$(PathSelectionKeys::$name(Default::default()),)*]
            }
            /// Returns the name of the selection.
            pub fn name(&self) -> &'static str {
                match self { PathSelectionKeys::Fixed => "fixed", $(PathSelectionKeys::$name(_) => $text,)* }
            }
            /// Returns true if the selection uses the feedback of receivers.
            pub fn is_adaptive(&self) -> bool {
                match self { PathSelectionKeys::Fixed => false, $(PathSelectionKeys::$name(_) => $adaptive,)* }
            }
            /// Returns true if consecutive packets may take different paths.
            pub fn sprays(&self) -> bool {
                match self { PathSelectionKeys::Fixed => false, $(PathSelectionKeys::$name(_) => $sprays,)* }
            }
            /// Validates the keys. Returns one remark per invalid value, whose path begins at the name of the
            /// selection.
            pub fn check(&self) -> Vec<Remark> {
                let wrong = match self {
                    PathSelectionKeys::Fixed => Vec::new(),
                    $(PathSelectionKeys::$name(keys) => keys.check(),)*
                };
                wrong.into_iter().map(|why| why.within(self.name())).collect()
            }
            /// Creates the path selection; `None` if packets use the path of their flow.
            pub fn start(&self, facts: &PathsFacts) -> Option<Box<PathSelector>> {
                match self {
                    PathSelectionKeys::Fixed => None,
                    $(PathSelectionKeys::$name(keys) => {
                        Some(Box::new(PathSelector::$name($name::new(keys, facts))))
                    })*
                }
            }
        }

        impl Choice for PathSelectionKeys {
            const EXPECTED: &'static str = "the name of a path selection, or a table of that name with its keys";
            const NAMES: &'static [&'static str] = &["fixed", $($text,)*];
            const WITH_KEYS: &'static [&'static str] = <Self as Choice>::NAMES.split_at(1).1;
            const TABLE: &'static str = "flows.source.rdma.paths";

            fn plain(name: &str) -> Option<PathSelectionKeys> {
                (name == "fixed").then_some(PathSelectionKeys::Fixed)
            }
            fn keyed<'de, D: Deserializer<'de>>(name: &str, table: D) -> Result<PathSelectionKeys, D::Error> {
                match name {
                    $($text => <$keys>::deserialize(table).map(PathSelectionKeys::$name),)*
                    other => Err(serde::de::Error::unknown_variant(other, Self::NAMES)),
                }
            }
        }

        impl Serialize for PathSelectionKeys {
            fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
                match self {
                    PathSelectionKeys::Fixed => serializer.serialize_str("fixed"),
                    $(PathSelectionKeys::$name(keys) => {
                        serializer.serialize_newtype_variant("PathSelection", 1, $text, keys)
                    })*
                }
            }
        }

        impl JsonSchema for PathSelectionKeys {
            fn schema_name() -> Cow<'static, str> {
                "PathSelection".into()
            }
            fn json_schema(generator: &mut SchemaGenerator) -> Schema {
                let fixed = [("fixed", "One path for the whole connection.")];
                let keyed = vec![$(Keyed::new::<$keys>($text, first_line(&[$(stringify!($doc)),*]), generator),)*];
                keys::schema("How a sender chooses paths: a name, or a table of that name with its keys.", &fixed, keyed)
            }
        }

        impl PathSelection for PathSelector {
            #[inline]
            fn next(&mut self, now: Time) -> u16 {
                match self { $(PathSelector::$name(it) => it.next(now),)* }
            }
            #[inline]
            fn on_feedback(&mut self, now: Time, feedback: PathFeedback) {
                match self { $(PathSelector::$name(it) => it.on_feedback(now, feedback),)* }
            }
            fn on_lost(&mut self, now: Time, feedback: PathFeedback, sent: Time) {
                match self { $(PathSelector::$name(it) => it.on_lost(now, feedback, sent),)* }
            }
            fn on_planes_down(&mut self, planes: u16) {
                match self { $(PathSelector::$name(it) => it.on_planes_down(planes),)* }
            }
            fn probe_at(&self) -> Time {
                match self { $(PathSelector::$name(it) => it.probe_at(),)* }
            }
            fn due_probe(&self, now: Time) -> Option<u16> {
                match self { $(PathSelector::$name(it) => it.due_probe(now),)* }
            }
            fn on_probe(&mut self, now: Time) {
                match self { $(PathSelector::$name(it) => it.on_probe(now),)* }
            }
            fn counts(&self) -> Option<PathCounts> {
                match self { $(PathSelector::$name(it) => it.counts(),)* }
            }
            fn memory_bytes(&self) -> usize {
                size_of::<PathSelector>() + match self { $(PathSelector::$name(it) => it.memory_bytes(),)* }
            }
        }
    };
}

path_selections! {
    /// All values in turn, in another order each round.
    "oblivious": Oblivious(ObliviousKeys), false, true;
    /// A random value for each packet (OPS).
    "random_spray": RandomSpray(RandomSprayKeys), false, true;
    /// All values in turn, but those with a score of marks, trims and timeouts (STrack).
    "bitmap": Bitmap(BitmapKeys), true, true;
    /// Values that came back unmarked, else random ones (REPS).
    "reps": Reps(RepsKeys), true, true;
    /// Values that came back unmarked, else those of the bitmap.
    "mixed": Mixed(MixedKeys), true, true;
    /// Values in rotation; congested ones lose a turn, failed ones are taken out and probed (MRC).
    "mrc": MrcPaths(MrcPathsKeys), true, true;
    /// One path, which changes after congested round trips (PLB).
    "plb": Plb(PlbKeys), true, false;
}
by_form!(PathSelectionKeys);

impl PathSelectionKeys {
    /// Returns true if the transport has to probe paths that the selection has taken out.
    pub fn needs_probes(&self) -> bool {
        matches!(self, PathSelectionKeys::MrcPaths(_))
    }
}

/// Returns the first line of a doc comment, given the compiler's text of its attribute.
fn first_line(lines: &[&'static str]) -> &'static str {
    lines.first().and_then(|line| line.split('"').nth(1)).unwrap_or("").trim()
}

/// Validates a number of entropy values. A selection in rounds needs a power of two.
pub(crate) fn check_entropies(entropies: u64, in_rounds: bool) -> Vec<Remark> {
    if !(1..=MOST_ENTROPIES).contains(&entropies) {
        let message = format!("{entropies} entropy values");
        return vec![Remark::about("entropies", message, format!("expected 1 to {MOST_ENTROPIES}"))];
    }
    if in_rounds && !entropies.is_power_of_two() {
        let message = format!("{entropies} entropy values in rounds");
        let nearest = entropies.next_power_of_two().min(MOST_ENTROPIES);
        return vec![Remark::about("entropies", message, format!("expected a power of two, like {nearest}"))];
    }
    Vec::new()
}
