//! Selection of the settings in force: the administrator's or the peer's.
//!
//! Source: IEEE 802.1Q clause 38.4 (asymmetric and symmetric parameters).

use crate::neighbours::Neighbour;
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use std::fmt;
use wire::baseline::Version;
use wire::ieee::{Application, EtsTable, PfcTlv};
use wire::{Mac, PrioritySet};

/// Settings of a port as administered.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub struct Administered {
    /// ETS table that the port uses. No default.
    pub ets: EtsTable,
    /// Number of traffic classes of the port, 1 to 8. No default.
    pub classes: u8,
    /// True if the port adopts the ETS recommendation of its peer. No default.
    pub ets_willing: bool,
    /// ETS table recommended to the peer; `None` sends no recommendation. No default.
    pub recommendation: Option<EtsTable>,
    /// Priorities with PFC. No default.
    pub pfc: PfcTlv,
    /// True if PFC is part of the exchange; otherwise the administrator's setting is in force. No default.
    pub exchanges_pfc: bool,
    /// Application priorities, at most 168. They take precedence over those of the peer. No default.
    pub applications: Vec<Application>,
}

/// Station that adopts if both are willing.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
pub enum TieBreak {
    /// The station with the numerically lower address adopts, as in lldpad.
    #[default]
    LowerAdopts,
    /// The station with the numerically higher address adopts. Hagen 2012 says only that the lower one breaks the tie.
    LowerWins,
}

/// DCBX version of an agent.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
pub enum Dialect {
    /// The standard, and an older version with a peer that supports only that.
    #[default]
    Either,
    /// The standard only (IEEE 802.1Q).
    Standard,
    /// Version 1.01 only, from before the standard.
    Older,
    /// Version 1.00 only, from before version 1.01.
    Oldest,
}

impl Dialect {
    /// Returns the older version to start with, and true if the agent speaks only that one.
    pub(crate) fn before_standard(self) -> (Version, bool) {
        match self {
            Dialect::Either | Dialect::Standard => (Version::Cee, false),
            Dialect::Older => (Version::Cee, true),
            Dialect::Oldest => (Version::Cin, true),
        }
    }
}

/// Choices that the standard leaves open.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Profile {
    /// DCBX version of the agent. Default: either.
    pub dialect: Dialect,
    /// Rule for two willing stations. Both ends must use the same rule; otherwise neither or both adopt. Default: the
    /// lower address adopts.
    pub tie_break: TieBreak,
}

/// Origin of a setting in force.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Origin {
    /// The peer's.
    Adopted,
    /// The administrator's.
    Administered(Because),
}

/// Reason why the administrator's setting is in force.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Because {
    /// The port is not willing.
    NotWilling,
    /// No station on the link speaks DCBX.
    NoPeer,
    /// Several stations on the link speak DCBX, so that none of them is used.
    SeveralPeers,
    /// The peer does not send this setting.
    NotSent,
    /// Both ends are willing, and the peer adopts.
    Tie,
    /// The peer has PFC for more priorities than the port supports.
    BeyondCapability,
    /// The administrator has excluded the setting from the exchange.
    Off,
    /// The peer has not acknowledged the port's settings yet (versions before the standard).
    NotSynchronised,
    /// Both ends have the same setting (versions before the standard).
    Alike,
    /// Both ends are willing, or neither is, and their settings differ: the feature is disabled (versions before the
    /// standard).
    Disagree,
    /// The peer has disabled the feature or reports an error, so that it is disabled here too (versions before the
    /// standard).
    PeerOff,
}

/// Condition that requires an administrator's attention.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Condition {
    /// Number of stations on the link that speak DCBX; none of them is used.
    SeveralPeers(usize),
    /// The ends have PFC for different priorities.
    PfcMismatch {
        /// Priorities with PFC in force here.
        ours: PrioritySet,
        /// Priorities with PFC that the peer announces.
        theirs: PrioritySet,
    },
    /// The peer speaks only a version of DCBX that this end does not use.
    OtherDialect,
    /// The peer speaks only a version before the standard, and the port uses that version too.
    FellBack,
    /// The peer speaks both the standard and an older version; the standard one is used.
    BothDialects,
}

impl fmt::Display for Origin {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            Origin::Adopted => "adopted from the peer",
            Origin::Administered(because) => match because {
                Because::NotWilling => "ours: not willing",
                Because::NoPeer => "ours: no peer",
                Because::SeveralPeers => "ours: several peers, all ignored",
                Because::NotSent => "ours: the peer does not send it",
                Because::Tie => "ours: both are willing, and the peer adopts",
                Because::BeyondCapability => {
                    "ours: the settings of the peer exceed the capability of the port"
                }
                Because::Off => "ours: not part of the exchange",
                Because::NotSynchronised => "ours: the peer has not acknowledged our settings",
                Because::Alike => "ours: both are equal",
                Because::Disagree => "off: both are equally willing, and their settings differ",
                Because::PeerOff => "off: the peer has disabled it, or reports an error",
            },
        })
    }
}

impl fmt::Display for Condition {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Condition::SeveralPeers(number) => {
                write!(f, "{number} stations send DCBX on this link: all are ignored")
            }
            Condition::PfcMismatch { ours, theirs } => {
                write!(f, "PFC mismatch: {ours} here, {theirs} at the peer")
            }
            Condition::OtherDialect => write!(f, "the peer supports only another version of DCBX"),
            Condition::FellBack => {
                write!(f, "the peer speaks only DCBX before the standard: the port does too")
            }
            Condition::BothDialects => {
                write!(f, "the peer speaks both dialects: that of the standard counts")
            }
        }
    }
}

/// Returns the only neighbour that speaks DCBX, or the reason why there is none.
pub(crate) fn peer(neighbours: &[Neighbour]) -> Result<&Neighbour, Because> {
    let mut speaking = neighbours.iter().filter(|one| one.remote.speaks_dcbx());
    match (speaking.next(), speaking.next()) {
        (None, _) => Err(Because::NoPeer),
        (Some(only), None) => Ok(only),
        (Some(_), Some(_)) => Err(Because::SeveralPeers),
    }
}

/// Selects the ETS table. ETS is an asymmetric parameter: only the peer's recommendation counts, not its own
/// configuration or willing bit.
pub(crate) fn ets(admin: &Administered, peer: Result<&Neighbour, Because>) -> (EtsTable, Origin) {
    let recommended = match peer {
        _ if !admin.ets_willing => Err(Because::NotWilling),
        Err(why) => Err(why),
        Ok(peer) => peer.remote.recommendation.ok_or(Because::NotSent),
    };
    match recommended {
        Ok(table) => (table, Origin::Adopted),
        Err(why) => (admin.ets, Origin::Administered(why)),
    }
}

/// Selects the PFC priorities. PFC is a symmetric parameter: if both ends are willing, their addresses decide.
pub(crate) fn pfc(
    admin: &Administered,
    mac: Mac,
    profile: Profile,
    peer: Result<&Neighbour, Because>,
) -> (PrioritySet, Origin) {
    let own = &admin.pfc;
    let adopted = peer.and_then(|peer| {
        // Without the peer's TLV, none of its settings is in force.
        let theirs = peer.remote.pfc.ok_or(Because::NotSent)?;
        let yields = match profile.tie_break {
            TieBreak::LowerAdopts => mac < peer.mac,
            TieBreak::LowerWins => mac > peer.mac,
        };
        if theirs.willing && !yields {
            return Err(Because::Tie);
        }
        if theirs.enabled().len() > own.capability() {
            return Err(Because::BeyondCapability);
        }
        Ok(theirs.enabled())
    });
    match adopted {
        _ if !admin.exchanges_pfc => (own.enabled(), Origin::Administered(Because::Off)),
        _ if !own.willing => (own.enabled(), Origin::Administered(Because::NotWilling)),
        Ok(theirs) => (theirs, Origin::Adopted),
        Err(why) => (own.enabled(), Origin::Administered(why)),
    }
}

/// Selects the application priorities: the administrator's, and those of the peer for other applications.
pub(crate) fn applications(admin: &Administered, peer: Result<&Neighbour, Because>) -> Vec<Application> {
    let mut merged = admin.applications.clone();
    let of_peer = peer.map(|peer| &peer.remote.applications[..]).unwrap_or_default();
    for one in of_peer {
        if !merged.iter().any(|own| (own.selector, own.protocol) == (one.selector, one.protocol)) {
            merged.push(*one);
        }
    }
    merged
}
