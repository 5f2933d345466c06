//! Errors of parsing and of encoding.

use crate::Mac;

/// Reasons why octets are not a valid frame, tag, TLV or header.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum Error {
    /// The input is too short.
    #[error("{what} needs {needed} octets; there are {got}")]
    Short {
        /// Structure that was parsed.
        what: &'static str,
        /// Minimum length in octets.
        needed: usize,
        /// Actual length in octets.
        got: usize,
    },
    /// The input is longer than any structure of its kind.
    #[error("{what} has {got} octets; at most {most} are accepted")]
    Long {
        /// Structure that was parsed or encoded.
        what: &'static str,
        /// Maximum length in octets.
        most: usize,
        /// Actual length in octets.
        got: usize,
    },
    /// The length does not match the contents.
    #[error("{what} has {got} octets; accepted are {accepted}")]
    Length {
        /// Structure that was parsed.
        what: &'static str,
        /// Valid lengths.
        accepted: &'static str,
        /// Actual length in octets.
        got: usize,
    },
    /// A field has a value that is not allowed.
    #[error("{what} is {got}; accepted are {accepted}")]
    Value {
        /// Name of the field.
        what: &'static str,
        /// Valid values.
        accepted: &'static str,
        /// Actual value.
        got: u64,
    },
    /// The destination address of a frame is not one at which its kind is received.
    #[error("{what} is addressed to {got}; accepted is {accepted}")]
    Destination {
        /// Kind of frame.
        what: &'static str,
        /// Expected destination address.
        accepted: Mac,
        /// Actual destination address.
        got: Mac,
    },
    /// A frame has tags although frames of its kind are never tagged.
    #[error("{what} has a tag; it is never tagged")]
    Tagged {
        /// Kind of frame.
        what: &'static str,
    },
    /// The mandatory TLVs of an LLDPDU are not in the required order.
    #[error("TLV {place} of the LLDPDU has type {got}; {expected} is expected there")]
    Order {
        /// Position of the TLV in the LLDPDU, from 1.
        place: usize,
        /// TLV expected at this position.
        expected: &'static str,
        /// Actual type of the TLV.
        got: u8,
    },
    /// A TLV that may occur only once is repeated.
    #[error("{what} occurs more than once")]
    Twice {
        /// Name of the TLV.
        what: &'static str,
    },
    /// A checksum is wrong.
    #[error("{what} is {got:#x}; it should be {expected:#x}")]
    Checksum {
        /// Name of the checksum.
        what: &'static str,
        /// Expected value.
        expected: u32,
        /// Actual value.
        got: u32,
    },
    /// The library `etherparse` rejected a header.
    #[error("{what}: {why}")]
    Header {
        /// Name of the header.
        what: &'static str,
        /// Message of the library.
        why: String,
    },
}
