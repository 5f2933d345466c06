//! The data-center bridging exchange (DCBX): two stations of a link tell each other, within LLDP, what they do with
//! ETS, PFC and applications, and a willing one adopts what the other has.
//!
//! Source: IEEE 802.1Qaz (802.1Q clause 38), IEEE 802.1AB clause 9 for LLDP. Where the standard is silent, the agent
//! does as the open agent lldpad does, or as [`Profile`] says.
//!
//! Not modelled: DCBX before the standard. A peer that speaks only that is reported ([`Condition::OtherDialect`]), and
//! the administered settings hold. Management addresses and other TLVs of LLDP are not sent.

#![warn(clippy::too_many_lines)]

mod agent;
mod neighbours;
mod rules;

pub use agent::{Agent, Counters, Operational};
pub use neighbours::{NEIGHBOURS_MOST, Neighbour, Remote};
pub use rules::{Administered, Because, Condition, Origin, Profile, TieBreak};
