//! Data-center bridging exchange (DCBX): two stations of a link announce their settings of ETS, PFC and applications to each other in LLDP,
//! and a willing station adopts those of its peer.
//!
//! Source: IEEE 802.1Qaz (802.1Q clause 38), IEEE 802.1AB clause 9 for LLDP. Where the standard leaves a choice, the agent follows the open
//! agent lldpad, or [`Profile`].
//!
//! With a peer that supports only DCBX before the standard (version 1.01 or 1.00) the agent uses that version
//! too, unless its administrator has set the dialect.
//!
//! Not modelled: management addresses and other TLVs of LLDP are not sent.

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
