//! Which settings are in force: those of the administrator, or those of the peer.
//!
//! Source: IEEE 802.1Q clause 38.4 (asymmetric and symmetric parameters).

use crate::neighbours::Neighbour;
use wire::ieee::{Application, EtsTable, PfcTlv};
use wire::{Mac, PrioritySet};

/// What the administrator of a port wants.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Administered {
    /// What the port does with ETS. No default.
    pub ets: EtsTable,
    /// How many traffic classes it has, 1 to 8. No default.
    pub classes: u8,
    /// Whether it does with ETS what its peer recommends. No default.
    pub ets_willing: bool,
    /// What it recommends to its peer; none is not sent. No default.
    pub recommendation: Option<EtsTable>,
    /// Which priorities have PFC; none keeps PFC out of the exchange. No default.
    pub pfc: Option<PfcTlv>,
    /// Priorities of applications, 168 at most. They go before those of the peer. No default.
    pub applications: Vec<Application>,
}

/// Which of two willing stations adopts.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum TieBreak {
    /// The one with the numerically lower address adopts: so does lldpad.
    #[default]
    LowerAdopts,
    /// The one with the numerically higher address adopts. Hagen 2012 says only that the lower one breaks the tie.
    LowerWins,
}

/// What the standard leaves open.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Profile {
    /// Which of two willing stations adopts. Both must have the same, or neither or both adopt. Default: the lower.
    pub tie_break: TieBreak,
}

/// Whose setting is in force.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Origin {
    /// The peer's.
    Adopted,
    /// The administrator's.
    Administered(Because),
}

/// Why the administrator's setting is in force.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Because {
    /// The port is not willing.
    NotWilling,
    /// Nobody is there.
    NoPeer,
    /// Several are there: none of them counts.
    SeveralPeers,
    /// The peer does not say what it has.
    NotSent,
    /// Both are willing, and the peer adopts.
    Tie,
    /// The peer has PFC for more priorities than the port can have.
    BeyondCapability,
    /// The administrator keeps it out of the exchange.
    Off,
}

/// What an administrator should know.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Condition {
    /// So many stations speak DCBX on this link; none of them counts.
    SeveralPeers(usize),
    /// Both ends have PFC for other priorities.
    PfcMismatch {
        /// In force here.
        ours: PrioritySet,
        /// What the peer says.
        theirs: PrioritySet,
    },
    /// The peer speaks only DCBX before the standard.
    OtherDialect,
    /// The peer speaks both dialects; that of the standard counts.
    BothDialects,
}

/// The only neighbour that speaks DCBX, or why there is none.
pub(crate) fn peer(neighbours: &[Neighbour]) -> Result<&Neighbour, Because> {
    let mut speaking = neighbours.iter().filter(|one| one.remote.speaks_dcbx());
    match (speaking.next(), speaking.next()) {
        (None, _) => Err(Because::NoPeer),
        (Some(only), None) => Ok(only),
        (Some(_), Some(_)) => Err(Because::SeveralPeers),
    }
}

/// ETS is asymmetric: what counts is the peer's recommendation, not what it does or is willing to do.
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

/// PFC is symmetric: if both are willing, addresses decide.
pub(crate) fn pfc(
    own: &PfcTlv,
    mac: Mac,
    profile: Profile,
    peer: Result<&Neighbour, Because>,
) -> (PrioritySet, Origin) {
    let adopted = peer.and_then(|peer| {
        // Whatever stands there: without the peer's TLV nothing of it holds.
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
        _ if !own.willing => (own.enabled(), Origin::Administered(Because::NotWilling)),
        Ok(theirs) => (theirs, Origin::Adopted),
        Err(why) => (own.enabled(), Origin::Administered(why)),
    }
}

/// Priorities of applications: the administrator's, and those of the peer that he does not name.
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
