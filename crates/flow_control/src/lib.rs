//! Link-level flow control: PAUSE, PFC, TPFC and the headroom they need.

pub mod max_min;
pub mod pause;
pub mod pfc;
pub mod phy;
pub mod renewal;
pub mod tpfc;
pub mod watchdog;

pub mod headroom;

use units::{Amount, Time};

/// Each mechanism's name, the file that is its page, and the definition of its keys in the JSON Schema.
pub const PAGES: &[(&str, &str, &str)] = &[
    ("pause", include_str!("pause.rs"), "PauseSettings"),
    ("pfc", include_str!("pfc.rs"), "PauseSettings"),
    ("tpfc", include_str!("tpfc.rs"), "Target"),
    ("random_sampling", include_str!("tpfc.rs"), "Target"),
    ("fair_bandwidth", include_str!("tpfc.rs"), "Target"),
    ("max_min", include_str!("max_min.rs"), "Target"),
    ("headroom", include_str!("headroom.rs"), ""),
    ("phy", include_str!("phy.rs"), ""),
    ("renewal", include_str!("renewal.rs"), "PauseSettings"),
    ("watchdog", include_str!("watchdog.rs"), "Watchdog"),
];

/// What a pause stops.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum PauseKind {
    /// IEEE 802.3x: the whole link.
    Link,
    /// IEEE 802.1Qbb: these priorities, bit n for priority n.
    Priorities(u8),
}

/// Where the occupancy is counted that is held against the watermarks.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Accounting {
    /// Frames by the port and priority they came in through; the pause goes to that port.
    Ingress,
    /// Frames in an egress queue; the pause goes to all other ports, or to the targeted ones.
    Egress,
}

/// Watermarks of one accounted occupancy.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Watermarks {
    /// At or above: XOFF (the high watermark, HW).
    pub xoff: Amount,
    /// At or below: XON (the low watermark, LW).
    pub xon: Amount,
    /// Room above `xoff` (ingress accounting); `None`: what the link needs, see [`crate`] headroom.
    pub headroom: Option<Amount>,
}

/// How TPFC finds the link partners to pause.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum TargetMethod {
    /// Appendix A: the ingress port of a frame drawn at random from the queue.
    RandomSampling,
    /// Appendix B: every ingress port with more than its fair share of the queue.
    FairBandwidth,
    /// Ours: the fewest that bring the queue back, the heaviest first.
    MaxMin,
}

/// Targeted PFC (Hagen 2012 §7.2).
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct TargetSpec {
    /// How targets are found.
    pub method: TargetMethod,
    /// The target watermark TW, between `xon` and `xoff`.
    pub watermark: Amount,
    /// One search each time the watermark is crossed, or one at every frame above it.
    pub one_shot: bool,
}

/// PAUSE, PFC or TPFC, as a station is configured.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct PauseSpec {
    /// What a pause stops.
    pub kind: PauseKind,
    /// Where occupancy is counted.
    pub accounting: Accounting,
    /// The watermarks; `None`: computed from the links so that nothing is lost and no queue runs dry.
    pub watermarks: Option<Watermarks>,
    /// Length of a pause in quanta of 512 bit times, 1 to 65535.
    pub quanta: u16,
    /// Whether XON is sent at the low watermark; without it a pause ends by its timer alone.
    pub resume: bool,
    /// Whether a pause is renewed before it ends while the queue stays above the low watermark.
    pub refresh: bool,
    /// From the end of a pause frame to its effect; `None`: the limit that IEEE 802.3 sets for the rate.
    pub response_time: Option<Time>,
    /// Targeting (egress accounting only).
    pub target: Option<TargetSpec>,
}
