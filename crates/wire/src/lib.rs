//! The protocols of data-center bridging, byte for byte.
//!
//! Each file has one protocol, with two kinds of types. A view (`PfcTlvView`) is octets of sufficient length: it returns the raw value of a
//! field, legal or not. A value (`PfcTlv`) is their interpretation, and is always legal. `decode` reads a value or returns an error;
//! `encode` appends it. Reserved bits are ignored when read and zero when written, so that every frame that a sender may send survives a
//! round trip.
//!
//! Not modelled: preamble and FCS, which no capture holds; IPv6.

#![warn(clippy::too_many_lines)]

mod address;
pub mod baseline;
pub mod capture;
pub mod congestion;
mod error;
pub mod ethernet;
pub mod fecn;
pub mod ieee;
pub mod ip;
pub mod l2ci;
pub mod lldp;
pub mod mac_control;
mod pcapng_options;
mod priority;
pub mod roce;
pub mod synthesis;
pub mod tlv;
pub mod uet;
mod view;

pub use address::{Mac, ParseMacError};
pub use error::Error;
pub use ethernet::{Contents, Frame};
pub use priority::{Pcp, PrioritySet};
