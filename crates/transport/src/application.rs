//! The interface of the applications: their keys, and the two endpoints at which each application runs.

use crate::{Application, Endpoint, PathFacts, Turn};
use keys::Remark;
use rand_xoshiro::Xoshiro256PlusPlus;
use std::sync::Arc;
use units::{BitRate, Bytes, Time};
use workload::Due;

/// The random number generator of an endpoint.
pub type Random = Xoshiro256PlusPlus;

/// The keys of an application in a scenario.
pub trait ApplicationKeys {
    /// The application that the keys describe.
    type Spec: Into<Application>;

    /// Sets the defaults that depend on other keys.
    fn fill(&mut self) {}

    /// Returns the application, which sends `limit` bytes in frames of at most `frame` bytes, and its
    /// warnings.
    ///
    /// # Errors
    /// All invalid values.
    fn spec(&self, limit: Option<Bytes>, frame: u16) -> Result<(Self::Spec, Vec<Remark>), Vec<Remark>>;
    /// Returns true if the application waits forever for a lost frame, which a key `timeout` would prevent.
    fn waits_for_ever(&self) -> bool {
        false
    }
    /// Returns true if the application waits forever when one frame overtakes another.
    fn needs_order(&self) -> bool {
        false
    }
    /// Returns true if each host must be at each end of exactly one connection, as in a ring.
    fn needs_ring(&self) -> bool {
        false
    }
    /// Returns the pacing rate, and the key that sets it.
    fn rate(&self) -> Option<(&'static str, BitRate)> {
        None
    }
    /// Returns the key that delays transmissions by random times, if the application has one.
    fn jitter_key(&self) -> Option<&'static str> {
        None
    }
}

/// The parameters with which a connection starts.
#[derive(Clone, Debug)]
pub struct Opening<'a> {
    /// Start time, and time after which no new work begins.
    pub start: Time,
    /// See `start`.
    pub stop: Option<Time>,
    /// Scheduled transfers, in order of their starts.
    pub due: &'a Arc<[Due]>,
    /// Path facts for each direction; the end that opens the connection comes first.
    pub facts: [PathFacts; 2],
    /// Random number generators of the two ends, which no one else uses.
    pub random: [Random; 2],
}

/// A validated application.
pub trait ApplicationSpec {
    /// Returns the endpoint that opens the connection, and its peer.
    fn ends(&self, opening: Opening<'_>) -> (Endpoint, Endpoint);
    /// Returns the shortest and the longest frame that either end may send, DA to FCS.
    fn frames(&self) -> (u16, u16);
    /// Returns the frames of one turn.
    fn turn(&self) -> Turn;
    /// Returns the lengths of a full frame of the end that opens, and of its reply.
    fn round_trip_frames(&self) -> (u16, u16) {
        let Turn { out, back, .. } = self.turn();
        (out.full, back.full)
    }
    /// Returns the maximum send rate in bits of frames (DA to FCS) per second if one turn takes at least `turn_secs`.
    /// Infinite if nothing limits the rate.
    fn most_bps(&self, turn_secs: f64) -> f64;
    /// Validates the parameters.
    ///
    /// # Errors
    /// A value is outside its range.
    fn check(&self) -> Result<(), String>;
    /// Returns true if the application's frames are ECN-capable.
    fn understands_marks(&self) -> bool;
}

/// Defines the closed enums of applications and of their keys, and their dispatch, from one list.
macro_rules! applications {
    ($($(#[$doc:meta])+ $text:ident: $name:ident($keys:ty => $spec:ty)),* $(,)?) => {
        /// Application that runs over a connection, with its keys in a scenario.
        #[derive(Clone, Debug, PartialEq, Deserialize, Serialize, JsonSchema)]
        #[serde(rename_all = "snake_case")]
        pub enum Applications {
            $($(#[$doc])+ $name($keys),)*
        }

        impl Applications {
            /// Names of all applications.
            pub const NAMES: &[&str] = &[$(stringify!($text)),*];

            /// Parses the application of this name from its table.
            ///
            /// # Errors
            /// An unknown name or key, or a value of the wrong type.
            pub fn keyed<'de, D: Deserializer<'de>>(name: &str, table: D) -> Result<Applications, D::Error> {
                match name {
                    $(stringify!($text) => Deserialize::deserialize(table).map(Applications::$name),)*
                    other => Err(serde::de::Error::unknown_variant(other, Applications::NAMES)),
                }
            }
            /// Returns the name of the application in a scenario.
            pub fn name(&self) -> &'static str {
                match self { $(Applications::$name(_) => stringify!($text),)* }
            }
            /// Returns the application, which sends `limit` bytes in frames of at most `frame` bytes, and its
            /// warnings.
            ///
            /// # Errors
            /// All invalid values.
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
            /// Sets the defaults that depend on other keys.
            pub fn fill(&mut self) {
                match self { $(Applications::$name(keys) => ApplicationKeys::fill(keys),)* }
            }
            /// Returns true if the application waits forever for a lost frame, which a key `timeout` would prevent.
            pub fn waits_for_ever(&self) -> bool {
                match self { $(Applications::$name(keys) => keys.waits_for_ever(),)* }
            }
            /// Returns true if the application waits forever when one frame overtakes another.
            pub fn needs_order(&self) -> bool {
                match self { $(Applications::$name(keys) => keys.needs_order(),)* }
            }
            /// Returns true if each host must be at each end of exactly one connection, as in a ring.
            pub fn needs_ring(&self) -> bool {
                match self { $(Applications::$name(keys) => keys.needs_ring(),)* }
            }
            /// Returns the key that delays transmissions by random times, if the application has one.
            pub fn jitter_key(&self) -> Option<&'static str> {
                match self { $(Applications::$name(keys) => keys.jitter_key(),)* }
            }
            /// Returns the pacing rate, and the key that sets it.
            pub fn rate(&self) -> Option<(&'static str, BitRate)> {
                match self { $(Applications::$name(keys) => keys.rate(),)* }
            }
        }

        /// An application that runs over a connection.
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
