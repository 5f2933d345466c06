//! Link-level flow control: PAUSE, PFC and TPFC with the headroom that they need, and credits.
//!
//! ```
//! use flow_control::headroom::Headroom;
//! use units::{BitRate, Length};
//!
//! // Data that still arrives after a switch pauses a port at 10 Gb/s over 100 m of fibre (IEEE 802.1Q, annex O).
//! let headroom = Headroom::of_fibre(BitRate::from_gbps(10), Length::from_m(100));
//! assert!(headroom.delay().frames() > 5.0);
//! ```

#![warn(clippy::too_many_lines)]

mod by_class;
mod channels;
mod control;
pub mod credit;
pub mod llr;
pub mod max_min;
pub mod pause;
mod pause_length;
mod pause_settings;
pub mod pfc;
pub mod phy;
pub mod renewal;
pub mod tpfc;
pub mod watchdog;

pub mod headroom;

pub use channels::{ChannelKey, ChannelList, Channels};
pub use control::{Configuration, Control, Findings};
pub use credit::{CreditPreset, CreditSettings, CreditSpec};
pub use llr::{Llr, LlrSettings, LlrSpec};
pub use pause_length::{Drain, PauseLength, PauseQuanta};
pub use pause_settings::PauseSettings;
pub use tpfc::{Sampling, Target, TargetMethod, TargetSpec, XonSent};

use control::flow_controls;
use pause::LinkPauses;
use pfc::PriorityPauses;
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use units::{Amount, Time};

flow_controls! {
    /// PAUSE of IEEE 802.3 Annex 31B: stops the whole link.
    pause: Pause(LinkPauses),
    /// Priority-based flow control of IEEE 802.1Qbb: stops single priorities.
    pfc: Pfc(PriorityPauses),
    /// Credit-based flow control, as in Advanced Switching, PCI Express or InfiniBand: frames wait for room at the other end of the link.
    credit: Credit(CreditSettings),
    /// PFC for some priorities of a link, and credits for others.
    by_class: ByClass(by_class::ByClassKeys),
}

impl FlowControl {
    /// Returns true if this flow control inherits missing keys from `outer`.
    pub fn inherits(&self, outer: &FlowControl) -> bool {
        self.name().is_some() && self.name() == outer.name()
    }
    /// Returns the settings of credits, which may be combined with PFC.
    pub fn credit(&self) -> Option<&CreditSettings> {
        match self {
            FlowControl::Credit(settings) => Some(settings),
            FlowControl::ByClass(keys) => Some(&keys.credit),
            _ => None,
        }
    }
    /// Returns true if nodes with this flow control pause each other.
    pub fn pauses(&self) -> bool {
        self.control(&[]).is_some_and(|control| control.pauses().is_some())
    }
}

/// By mechanism: its name, the source file of its reference page, and the definition of its keys in the JSON Schema.
pub const PAGES: &[(&str, &str, &str)] = &[
    ("pause", include_str!("pause.rs"), "PauseSettings"),
    ("pfc", include_str!("pfc.rs"), "PauseSettings"),
    ("tpfc", include_str!("tpfc.rs"), "TargetSpec"),
    ("random_sampling", include_str!("tpfc.rs"), "TargetSpec"),
    ("fair_bandwidth", include_str!("tpfc.rs"), "TargetSpec"),
    ("max_min", include_str!("max_min.rs"), "TargetSpec"),
    ("credit", include_str!("credit.rs"), "CreditSettings"),
    ("channels", include_str!("channels.rs"), "CreditSettings"),
    ("by_class", include_str!("by_class.rs"), "ByClassKeys"),
    ("llr", include_str!("llr.rs"), "LlrSettings"),
    ("headroom", include_str!("headroom.rs"), ""),
    ("phy", include_str!("phy.rs"), ""),
    ("pause_length", include_str!("pause_length.rs"), "PauseSettings"),
    ("renewal", include_str!("renewal.rs"), "PauseSettings"),
    ("watchdog", include_str!("watchdog.rs"), "WatchdogSpec"),
];

/// Scope of a pause.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum PauseKind {
    /// IEEE 802.3x: the whole link.
    Link,
    /// IEEE 802.1Qbb: single priorities, bit n for priority n.
    Priorities(u8),
}

impl PauseKind {
    /// Returns the priorities that can be paused, bit n for priority n.
    pub fn priorities(self) -> u8 {
        match self {
            PauseKind::Link => 0xFF,
            PauseKind::Priorities(set) => set,
        }
    }
    /// Returns the index of a priority's counter: PAUSE has one for all priorities, PFC one each. Returns `None` if the
    /// priority is not controlled.
    #[inline]
    pub fn group(self, priority: u8) -> Option<usize> {
        match self {
            PauseKind::Link => Some(0),
            PauseKind::Priorities(set) => {
                let priority = priority % frame::PRIORITIES as u8;
                (set >> priority & 1 != 0).then_some(usize::from(priority))
            }
        }
    }
    /// Returns the number of counters of a port: one for all priorities, or one for each.
    pub fn counters(self) -> u64 {
        match self {
            PauseKind::Link => 1,
            PauseKind::Priorities(set) => set.count_ones().into(),
        }
    }
}

/// Occupancy that is compared with the watermarks.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Deserialize, Serialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
pub enum Accounting {
    /// Per ingress port and priority; pauses the link partner at that port.
    Ingress,
    /// Per egress queue; pauses the link partners at all other ports, or the targets.
    Egress,
}

/// The watermarks of one occupancy counter.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Watermarks {
    /// High watermark (HW): XOFF is sent at or above it.
    pub xoff: Amount,
    /// Low watermark (LW): XON is sent at or below it.
    pub xon: Amount,
    /// Room above `xoff` (ingress accounting). `None`: as much as the link needs, see the `headroom` module.
    pub headroom: Option<Amount>,
}

/// The PAUSE, PFC or TPFC configuration of a station.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct PauseSpec {
    /// Name of the flow control, which is also that of its table.
    pub name: &'static str,
    /// Scope of a pause.
    pub kind: PauseKind,
    /// Occupancy that is compared with the watermarks.
    pub accounting: Accounting,
    /// Watermarks. `None`: computed from the links, such that no frame is lost and no queue runs dry.
    pub watermarks: Option<Watermarks>,
    /// Length of a pause.
    pub quanta: PauseLength,
    /// True if XON is sent at the low watermark. If false, a pause ends only when its timer expires.
    pub resume: bool,
    /// True if a pause is renewed before it ends while the queue stays above the low watermark.
    pub refresh: bool,
    /// Time from the end of a pause frame to its effect. `None`: the limit of IEEE 802.3 for the rate.
    pub response_time: Option<Time>,
    /// Targeting (egress accounting only).
    pub target: Option<TargetSpec>,
}

impl PauseSpec {
    /// Returns true if occupancy is counted per ingress port.
    pub fn counts_at_ingress(&self) -> bool {
        self.accounting == Accounting::Ingress
    }
}
