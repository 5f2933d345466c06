//! The data-center bridging exchange (DCBX): two stations of a link tell each other, within LLDP, what they do with
//! ETS, PFC and applications, and a willing one adopts what the other has.
//!
//! Source: IEEE 802.1Qaz (802.1Q clause 38), IEEE 802.1AB clause 9 for LLDP. Where the standard is silent, the agent
//! does as the open agent lldpad does, or as [`Profile`] says.
//!
//! With a peer that speaks only DCBX before the standard (version 1.01 or 1.00) the agent does too, unless its
//! administrator says which dialect it has.
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
