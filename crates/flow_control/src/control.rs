//! What every flow control of links says of itself: its keys, and what the ports of a station do.

use crate::{CreditSpec, PauseSpec};
use keys::Remark;

/// What the ports of a station do.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Control {
    /// They send pauses and obey them.
    Pauses(PauseSpec),
    /// They grant credits and spend them.
    Credits(CreditSpec),
}

impl Control {
    /// Whether what a station grants is its room for what comes in, in place of its receive buffer.
    pub fn is_room(&self) -> bool {
        matches!(self, Control::Credits(_))
    }
    /// The pauses that they send and obey; `None` if they have none.
    pub fn pauses(&self) -> Option<&PauseSpec> {
        match self {
            Control::Pauses(pauses) => Some(pauses),
            Control::Credits(_) => None,
        }
    }
    /// The credits that they grant and spend; `None` if they have none.
    pub fn credits(&self) -> Option<&CreditSpec> {
        match self {
            Control::Pauses(_) => None,
            Control::Credits(credits) => Some(credits),
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

/// The keys of a flow control, as a scenario has them: the settings of a station, of which it may say a part.
pub trait Configuration {
    /// The key, if there is one, whose default are the priorities that flows use.
    const FROM_FLOWS: Option<&'static str> = None;

    /// What these say, and where they say nothing, what `outer` says.
    #[must_use]
    fn or(&self, outer: &Self) -> Self;
    /// Writes the defaults. `used`: the priorities of all flows, ascending.
    fn complete(&mut self, used: &[u32]);
    /// What is wrong, and what to beware of. The keys have all defaults.
    fn check(&self, used: &[u32]) -> Findings;
    /// What the ports of a station do. The keys have all defaults; `name` is their table.
    fn start(&self, name: &'static str) -> Control;
    /// What a reader of the written-out keys wants to know beside the values.
    fn notes(&self) -> Vec<&'static str> {
        Vec::new()
    }
}

/// What is wrong, and what to beware of.
#[derive(Debug, Default)]
pub struct Findings {
    /// What cannot be meant.
    pub wrong: Vec<Remark>,
    /// What is probably not as meant.
    pub warnings: Vec<Remark>,
}

impl Findings {
    /// As `warnings`, as seen from the table around this key.
    pub(crate) fn within(self, key: &str) -> Findings {
        let within = |all: Vec<Remark>| all.into_iter().map(|remark| remark.within(key)).collect();
        Findings { wrong: within(self.wrong), warnings: within(self.warnings) }
    }
}

/// Declares settings of which each station may say a part.
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
            /// What these say, and where they say nothing, what `outer` says.
            pub(crate) fn or(&self, outer: &$name) -> $name {
                let (own, outer) = (self.clone(), outer.clone());
                $name { $($key: own.$key.or(outer.$key),)* }
            }
        }
    };
}

pub(crate) use settings;

/// Makes the closed enum of flow controls from one list.
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
            /// The names of all that have keys.
            pub const NAMES: &[&str] = &[$(stringify!($name)),*];
            /// Where keys stand whose default are the priorities that flows use.
            pub const FROM_FLOWS: &[(&str, Option<&str>)] =
                &[$((stringify!($name), <$keys as Configuration>::FROM_FLOWS)),*];

            /// Its name, which is that of its table; `None` if there is no flow control.
            pub fn name(&self) -> Option<&'static str> {
                match self {
                    FlowControl::Off => None,
                    $(FlowControl::$kind(_) => Some(stringify!($name)),)*
                }
            }
            /// What this says, and where it says nothing and is of the same kind, what `outer` says.
            #[must_use]
            pub fn inherit(&self, outer: &FlowControl) -> FlowControl {
                match (outer, self) {
                    $((FlowControl::$kind(outer), FlowControl::$kind(own)) => FlowControl::$kind(own.or(outer)),)*
                    (_, own) => own.clone(),
                }
            }
            /// Writes the defaults. `used`: the priorities of all flows, ascending.
            pub fn complete(&mut self, used: &[u32]) {
                match self {
                    FlowControl::Off => {}
                    $(FlowControl::$kind(keys) => Configuration::complete(keys, used),)*
                }
            }
            /// What is wrong with it where it stands, and where. It has all defaults.
            pub fn check(&self, used: &[u32]) -> Findings {
                match self {
                    FlowControl::Off => Findings::default(),
                    $(FlowControl::$kind(keys) => Configuration::check(keys, used).within(stringify!($name)),)*
                }
            }
            /// What the ports of a station do, with all defaults; `None`: nothing, or something that is wrong.
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
            /// What a reader of the written-out settings wants to know beside the values.
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
