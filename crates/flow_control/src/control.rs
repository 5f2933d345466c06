//! The interface of the link-level flow controls: their keys, and the flow control of a station's ports.

use crate::{CreditSpec, PauseSpec};
use keys::Remark;

/// The flow control of a station's ports.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Control {
    /// The ports send and obey pauses.
    Pauses(PauseSpec),
    /// The ports grant and consume credits.
    Credits(CreditSpec),
    /// Some priorities use pauses, others credits.
    Both(PauseSpec, CreditSpec),
}

impl Control {
    /// Returns true if a station grants credits for its ingress buffer, not for its receive buffer.
    pub fn is_room(&self) -> bool {
        matches!(self, Control::Credits(_) | Control::Both(..))
    }
    /// Returns the parameters of the pauses; `None` without pauses.
    pub fn pauses(&self) -> Option<&PauseSpec> {
        match self {
            Control::Pauses(pauses) | Control::Both(pauses, _) => Some(pauses),
            Control::Credits(_) => None,
        }
    }
    /// Returns the parameters of the credits; `None` without credits.
    pub fn credits(&self) -> Option<&CreditSpec> {
        match self {
            Control::Pauses(_) => None,
            Control::Credits(credits) | Control::Both(_, credits) => Some(credits),
        }
    }
}

impl From<PauseSpec> for Control {
    fn from(pauses: PauseSpec) -> Control {
        Control::Pauses(pauses)
    }
}

impl From<CreditSpec> for Control {
    fn from(credits: CreditSpec) -> Control {
        Control::Credits(credits)
    }
}

/// The keys of a flow control in a scenario. Each station may omit any of them.
pub trait Configuration {
    /// The key that defaults to the set of priorities that flows use, if there is one.
    const FROM_FLOWS: Option<&'static str> = None;

    /// Returns these settings, with omitted ones taken from `outer`.
    #[must_use]
    fn or(&self, outer: &Self) -> Self;
    /// Sets the defaults. `used` are the priorities of all flows, ascending.
    fn complete(&mut self, used: &[u32]);
    /// Validates the keys and returns errors and warnings. All defaults have been set.
    fn check(&self, used: &[u32]) -> Findings;
    /// Returns the flow control of a station's ports. All defaults have been set; `name` is the table's name.
    fn start(&self, name: &'static str) -> Control;
    /// Returns remarks to print with the effective keys.
    fn notes(&self) -> Vec<&'static str> {
        Vec::new()
    }
}

/// The errors and warnings of a validation.
#[derive(Debug, Default)]
pub struct Findings {
    /// Invalid values.
    pub wrong: Vec<Remark>,
    /// Values that are valid but probably not intended.
    pub warnings: Vec<Remark>,
}

impl Findings {
    /// Prefixes the paths of all findings with the enclosing table `key`.
    pub(crate) fn within(self, key: &str) -> Findings {
        let within = |all: Vec<Remark>| all.into_iter().map(|remark| remark.within(key)).collect();
        Findings { wrong: within(self.wrong), warnings: within(self.warnings) }
    }
}

/// Declares a struct of settings, each of which a station may omit.
macro_rules! settings {
    ($(#[$doc:meta])* pub struct $name:ident { $($(#[$about:meta])* pub $key:ident: $type:ty,)* }) => {
        $(#[$doc])*
        #[derive(Clone, Debug, Default, PartialEq, Deserialize, Serialize, JsonSchema)]
        #[serde(deny_unknown_fields)]
        pub struct $name {
            $(
                $(#[$about])*
                #[serde(skip_serializing_if = "Option::is_none")]
                pub $key: Option<$type>,
            )*
        }

        impl $name {
            /// Returns these settings, with omitted ones taken from `outer`.
            pub(crate) fn or(&self, outer: &$name) -> $name {
                let (own, outer) = (self.clone(), outer.clone());
                $name { $($key: own.$key.or(outer.$key),)* }
            }
        }
    };
}

pub(crate) use settings;

/// Defines the closed enum of flow controls from one list.
macro_rules! flow_controls {
    ($($(#[$doc:meta])+ $name:ident: $kind:ident($keys:ty)),* $(,)?) => {
        /// Link-level flow control: one of these.
        #[derive(Clone, Debug, Default, PartialEq, Deserialize, Serialize, JsonSchema)]
        #[serde(rename_all = "snake_case")]
        pub enum FlowControl {
            /// None.
            #[default]
            Off,
            $($(#[$doc])+ $kind($keys),)*
        }

        impl FlowControl {
            /// Names of all flow controls that have keys.
            pub const NAMES: &[&str] = &[$(stringify!($name)),*];
            /// Paths of the keys whose default is the set of priorities that flows use.
            pub const FROM_FLOWS: &[(&str, Option<&str>)] =
                &[$((stringify!($name), <$keys as Configuration>::FROM_FLOWS)),*];

            /// Returns the name of the flow control, which is also that of its table; `None` if there is no flow
            /// control.
            pub fn name(&self) -> Option<&'static str> {
                match self {
                    FlowControl::Off => None,
                    $(FlowControl::$kind(_) => Some(stringify!($name)),)*
                }
            }
            /// Returns these settings; omitted ones are taken from `outer` if it is of the same kind.
            #[must_use]
            pub fn inherit(&self, outer: &FlowControl) -> FlowControl {
                match (outer, self) {
                    $((FlowControl::$kind(outer), FlowControl::$kind(own)) => FlowControl::$kind(own.or(outer)),)*
                    (_, own) => own.clone(),
                }
            }
            /// Sets the defaults. `used` are the priorities of all flows, ascending.
            pub fn complete(&mut self, used: &[u32]) {
                match self {
                    FlowControl::Off => {}
                    $(FlowControl::$kind(keys) => Configuration::complete(keys, used),)*
                }
            }
            /// Validates the settings and returns errors and warnings with their paths. All defaults have been set.
            pub fn check(&self, used: &[u32]) -> Findings {
                match self {
                    FlowControl::Off => Findings::default(),
                    $(FlowControl::$kind(keys) => Configuration::check(keys, used).within(stringify!($name)),)*
                }
            }
            /// Returns the flow control of a station's ports with all defaults; `None` without flow control, or if a
            /// value is invalid.
            pub fn control(&self, used: &[u32]) -> Option<Control> {
                let mut filled = self.clone();
                filled.complete(used);
                if !filled.check(used).wrong.is_empty() {
                    return None;
                }
                match filled {
                    FlowControl::Off => None,
                    $(FlowControl::$kind(keys) => Some(keys.start(stringify!($name))),)*
                }
            }
            /// Returns remarks to print with the effective settings.
            pub fn notes(&self) -> Vec<&'static str> {
                match self {
                    FlowControl::Off => Vec::new(),
                    $(FlowControl::$kind(keys) => keys.notes(),)*
                }
            }
        }
    };
}

pub(crate) use flow_controls;
