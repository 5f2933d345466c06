//! Data-center bridging exchange (DCBX): two stations of a link announce their settings of ETS, PFC and applications to
//! each other in LLDP, and a willing station adopts those of its peer.
//!
//! Source: IEEE 802.1Qaz (802.1Q clause 38), IEEE 802.1AB clause 9 for LLDP. Where the standard leaves a choice, the
//! agent follows the open agent lldpad, or [`Profile`].
//!
//! With a peer that supports only a version of DCBX before the standard (1.01 or 1.00), the agent also uses that
//! version, unless the administrator has set the version to use.
//!
//! Two agents on a link; the second one is willing and adopts the PFC priorities of the first:
//!
//! ```
//! use dcbx::{Administered, Agent, Origin, Profile, settle};
//! use units::Time;
//! use wire::ieee::{Algorithm, EtsTable, PfcTlv};
//! use wire::{Mac, PrioritySet};
//!
//! // Priority 3 maps to class 1. Both classes share the link, 70 to 30.
//! let algorithms = std::array::from_fn(|class| if class < 2 { Algorithm::Ets } else { Algorithm::Strict });
//! let ets = EtsTable::new([0, 0, 0, 1, 0, 0, 0, 0], [70, 30, 0, 0, 0, 0, 0, 0], algorithms)?;
//! let station = |mac, willing, priorities| {
//!     let admin = Administered {
//!         ets,
//!         classes: 8,
//!         ets_willing: willing,
//!         recommendation: None,
//!         pfc: PfcTlv::new(willing, 8, PrioritySet(priorities))?,
//!         exchanges_pfc: true,
//!         applications: Vec::new(),
//!     };
//!     Ok::<_, wire::Error>(Agent::new(Mac([2, 0, 0, 0, 0, mac]), admin, Profile::default(), Time::ZERO).unwrap())
//! };
//! let mut agents = [station(1, false, 0b1000)?, station(2, true, 0)?];
//! assert!(settle(&mut agents));
//! assert_eq!(agents[1].operational().pfc, PrioritySet(0b1000));
//! assert_eq!(agents[1].operational().pfc_origin, Origin::Adopted);
//! # Ok::<_, wire::Error>(())
//! ```
//!
//! Not modelled: management addresses and other LLDP TLVs, which are not sent.

#![warn(clippy::too_many_lines)]

mod agent;
mod before_standard;
mod handshake;
mod link;
mod neighbours;
mod rules;
mod settings;

pub use agent::{Agent, Counters, Operational};
pub use link::settle;
pub use neighbours::{NEIGHBOURS_MOST, Neighbour, Older, Remote};
pub use rules::{Administered, Because, Condition, Dialect, Origin, Profile, TieBreak};
pub use settings::{Beside, Settings};
