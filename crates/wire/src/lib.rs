//! The protocols of data-center bridging, byte for byte.
//!
//! Each file has one protocol, with two kinds of types. A view (`PfcTlvView`) is bytes that are long enough: it says
//! what stands in a field, legal or not. A value (`PfcTlv`) is what the bytes mean, and can only be legal. `decode`
//! reads a value or says what is wrong; `encode` appends it. Bits that are reserved are ignored when read and zero
//! when written, so that every frame that a sender may send comes back as it was.
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
