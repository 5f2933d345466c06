//! The protocols of data-center bridging, byte for byte.
//!
//! Each module has one protocol, with two kinds of types. A view (`PfcTlvView`) wraps octets of sufficient length, and
//! returns the raw value of each field, valid or not. A value (`PfcTlv`) is the decoded form, and is always valid.
//! `decode` parses a value or returns an error; `encode` appends its octets. Reserved bits are ignored when read and
//! zero when written, so that every frame that a sender may send survives a round trip.
//!
//! A PFC frame that pauses priority 3 for as long as possible, to octets and back:
//!
//! ```
//! use wire::mac_control::{MacControl, Pfc};
//! use wire::{Contents, Frame, Mac, PrioritySet};
//!
//! let pfc = Pfc { enabled: PrioritySet(1 << 3), quanta: [0, 0, 0, u16::MAX, 0, 0, 0, 0] };
//! let bytes = Frame::control(Mac([2, 0, 0, 0, 0, 1]), MacControl::Pfc(pfc)).to_bytes();
//! assert_eq!(bytes[..6], [0x01, 0x80, 0xC2, 0x00, 0x00, 0x01]); // not forwarded by bridges
//! assert_eq!(bytes[12..18], [0x88, 0x08, 0x01, 0x01, 0x00, 0x08]);
//! assert_eq!(Frame::decode(&bytes)?.contents, Contents::MacControl(MacControl::Pfc(pfc)));
//! # Ok::<_, wire::Error>(())
//! ```
//!
//! Not modelled: preamble and FCS, which captures do not contain; IPv6.

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
