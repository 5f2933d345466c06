//! What every application says of itself: its keys, and the two endpoints that it runs at.

use crate::{Application, Endpoint, PathFacts, Turn};
use keys::Remark;
use rand_xoshiro::Xoshiro256PlusPlus;
use std::sync::Arc;
use units::{BitRate, Bytes, Time};
use workload::Due;

/// The random stream of an endpoint.
pub type Random = Xoshiro256PlusPlus;

/// The keys of an application, as a scenario has them.
pub trait ApplicationKeys {
    /// What they describe.
    type Spec: Into<Application>;

    /// Writes out the defaults that depend on other keys.
    fn fill(&mut self) {}

    /// What sends `limit` bytes in frames of at most `frame` bytes, and what to beware of.
    ///
    /// # Errors
    /// All that is wrong.
    fn spec(&self, limit: Option<Bytes>, frame: u16) -> Result<(Self::Spec, Vec<Remark>), Vec<Remark>>;
    /// Whether it waits for ever for a frame that is lost, which a key `timeout` would prevent.
    fn waits_for_ever(&self) -> bool {
        false
    }
    /// Whether it waits for ever if one frame overtakes another.
    fn needs_order(&self) -> bool {
        false
    }
    /// Whether each host has to be at both ends of one connection each: the places of a ring.
    fn needs_ring(&self) -> bool {
        false
    }
    /// The rate of pacing, and the key that says it.
    fn rate(&self) -> Option<(&'static str, BitRate)> {
        None
    }
    /// The key that delays what it sends by random times, if it has one.
    fn jitter_key(&self) -> Option<&'static str> {
        None
    }
}

/// How a connection begins.
#[derive(Clone, Debug)]
pub struct Opening<'a> {
    /// When it begins, and from when on it begins nothing new.
    pub start: Time,
    /// See `start`.
    pub stop: Option<Time>,
    /// The scheduled transfers, in order of their starts.
    pub due: &'a Arc<[Due]>,
    /// Facts of the path from either end to the other, the end that opens first.
    pub facts: [PathFacts; 2],
    /// A random stream for either end, which should be its alone.
    pub random: [Random; 2],
}

/// An application, checked.
pub trait ApplicationSpec {
    /// The endpoint that opens the connection, and its peer.
    fn ends(&self, opening: Opening<'_>) -> (Endpoint, Endpoint);
    /// The shortest and the longest frame that either may send, DA to FCS.
    fn frames(&self) -> (u16, u16);
    /// The frames of one turn.
    fn turn(&self) -> Turn;
    /// Lengths of a full frame of the end that opens, and of what answers it.
    fn round_trip_frames(&self) -> (u16, u16) {
        let Turn { out, back, .. } = self.turn();
        (out.full, back.full)
    }
    /// The most that it sends, in bits of frames (DA to FCS) a second, where one turn takes no less than `turn_secs`.
    /// Infinite if nothing holds it.
    fn most_bps(&self, turn_secs: f64) -> f64;
    /// What cannot be meant, and what would be accepted.
    ///
    /// # Errors
    /// A value outside of its range.
    fn check(&self) -> Result<(), String>;
    /// Whether switches may mark its frames.
    fn understands_marks(&self) -> bool;
}

/// Makes the closed enum of applications, that of their keys, and the dispatch from one list.
macro_rules! applications {
    ($($(#[$doc:meta])+ $text:ident: $name:ident($keys:ty => $spec:ty)),* $(,)?) => {
        /// What runs over a connection, as a scenario has it.
        #[derive(Clone, Debug, PartialEq, Deserialize, Serialize, JsonSchema)]
        #[serde(rename_all = "snake_case")]
        pub enum Applications {
            $($(#[$doc])+ $name($keys),)*
        }

        impl Applications {
            /// The names of all.
            pub const NAMES: &[&str] = &[$(stringify!($text)),*];

            /// The one of this name, from its table.
            ///
            /// # Errors
            /// An unknown name or key, or a value of another form.
            pub fn keyed<'de, D: Deserializer<'de>>(name: &str, table: D) -> Result<Applications, D::Error> {
                match name {
                    $(stringify!($text) => Deserialize::deserialize(table).map(Applications::$name),)*
                    other => Err(serde::de::Error::unknown_variant(other, Applications::NAMES)),
                }
            }
            /// Its name.
            pub fn name(&self) -> &'static str {
                match self { $(Applications::$name(_) => stringify!($text),)* }
            }
            /// What sends `limit` bytes in frames of at most `frame` bytes, and what to beware of.
            ///
            /// # Errors
            /// All that is wrong.
            pub fn spec(
                &self,
                limit: Option<Bytes>,
                frame: u16,
            ) -> Result<(Application, Vec<Remark>), Vec<Remark>> {
                match self {
                    $(Applications::$name(keys) => {
                        ApplicationKeys::spec(keys, limit, frame).map(|(spec, warnings)| (spec.into(), warnings))
                    })*
                }
            }
            /// Writes out the defaults that depend on other keys.
            pub fn fill(&mut self) {
                match self { $(Applications::$name(keys) => ApplicationKeys::fill(keys),)* }
            }
            /// Whether it waits for ever for a frame that is lost, which a key `timeout` would prevent.
            pub fn waits_for_ever(&self) -> bool {
                match self { $(Applications::$name(keys) => keys.waits_for_ever(),)* }
            }
            /// Whether it waits for ever if one frame overtakes another.
            pub fn needs_order(&self) -> bool {
                match self { $(Applications::$name(keys) => keys.needs_order(),)* }
            }
            /// Whether each host has to be at both ends of one connection each: the places of a ring.
            pub fn needs_ring(&self) -> bool {
                match self { $(Applications::$name(keys) => keys.needs_ring(),)* }
            }
            /// The key that delays what it sends by random times, if it has one.
            pub fn jitter_key(&self) -> Option<&'static str> {
                match self { $(Applications::$name(keys) => keys.jitter_key(),)* }
            }
            /// The rate of pacing, and the key that says it.
            pub fn rate(&self) -> Option<(&'static str, BitRate)> {
                match self { $(Applications::$name(keys) => keys.rate(),)* }
            }
        }

        /// What runs over a connection.
        #[derive(Clone, Debug, PartialEq)]
        pub enum Application {
            $($(#[$doc])+ $name($spec),)*
            /// Scheduled transfers.
            Transfers(Scheduled),
        }

        $(impl From<$spec> for Application {
            fn from(spec: $spec) -> Application {
                Application::$name(spec)
            }
        })*

        impl ApplicationSpec for Application {
            fn ends(&self, opening: Opening<'_>) -> (Endpoint, Endpoint) {
                match self {
                    $(Application::$name(spec) => spec.ends(opening),)*
                    Application::Transfers(spec) => spec.ends(opening),
                }
            }
            fn frames(&self) -> (u16, u16) {
                match self {
                    $(Application::$name(spec) => ApplicationSpec::frames(spec),)*
                    Application::Transfers(spec) => ApplicationSpec::frames(spec),
                }
            }
            fn turn(&self) -> Turn {
                match self {
                    $(Application::$name(spec) => spec.turn(),)*
                    Application::Transfers(spec) => spec.turn(),
                }
            }
            fn round_trip_frames(&self) -> (u16, u16) {
                match self {
                    $(Application::$name(spec) => ApplicationSpec::round_trip_frames(spec),)*
                    Application::Transfers(spec) => ApplicationSpec::round_trip_frames(spec),
                }
            }
            fn most_bps(&self, turn_secs: f64) -> f64 {
                match self {
                    $(Application::$name(spec) => spec.most_bps(turn_secs),)*
                    Application::Transfers(spec) => spec.most_bps(turn_secs),
                }
            }
            fn check(&self) -> Result<(), String> {
                match self {
                    $(Application::$name(spec) => ApplicationSpec::check(spec),)*
                    Application::Transfers(spec) => ApplicationSpec::check(spec),
                }
            }
            fn understands_marks(&self) -> bool {
                match self {
                    $(Application::$name(spec) => ApplicationSpec::understands_marks(spec),)*
                    Application::Transfers(spec) => ApplicationSpec::understands_marks(spec),
                }
            }
        }
    };
}

pub(crate) use applications;
