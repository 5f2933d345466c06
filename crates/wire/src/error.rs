//! What can be wrong with bytes.

use crate::Mac;

/// Why bytes are no legal frame, tag, TLV or header.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum Error {
    /// It ends too early.
    #[error("{what} needs {needed} octets; there are {got}")]
    Short {
        /// What was read.
        what: &'static str,
        /// How many octets it has at least.
        needed: usize,
        /// How many are there.
        got: usize,
    },
    /// It is longer than anything of its kind.
    #[error("{what} has {got} octets; at most {most} are accepted")]
    Long {
        /// What was read or made.
        what: &'static str,
        /// How many octets it may have.
        most: usize,
        /// How many it has.
        got: usize,
    },
    /// Its length does not go with its contents.
    #[error("{what} has {got} octets; accepted are {accepted}")]
    Length {
        /// What was read.
        what: &'static str,
        /// Which lengths are legal.
        accepted: &'static str,
        /// How many octets it has.
        got: usize,
    },
    /// A field has a value that it may not have.
    #[error("{what} is {got}; accepted are {accepted}")]
    Value {
        /// Which field.
        what: &'static str,
        /// Which values are legal.
        accepted: &'static str,
        /// What stands there.
        got: u64,
    },
    /// A frame went to an address at which its kind is not received.
    #[error("{what} is addressed to {got}; accepted is {accepted}")]
    Destination {
        /// Which kind of frame.
        what: &'static str,
        /// Where it goes.
        accepted: Mac,
        /// Where this one went.
        got: Mac,
    },
    /// A frame has tags and must not.
    #[error("{what} has a tag; it is never tagged")]
    Tagged {
        /// Which kind of frame.
        what: &'static str,
    },
    /// The mandatory TLVs of an LLDPDU do not come in their order.
    #[error("TLV {place} of the LLDPDU has type {got}; {expected} is expected there")]
    Order {
        /// Place in the LLDPDU, from 1.
        place: usize,
        /// Which TLV belongs there.
        expected: &'static str,
        /// Type of the one that is there.
        got: u8,
    },
    /// A TLV that may occur once occurs again.
    #[error("{what} occurs more than once")]
    Twice {
        /// Which TLV.
        what: &'static str,
    },
    /// A checksum does not hold.
    #[error("{what} is {got:#x}; it should be {expected:#x}")]
    Checksum {
        /// Which checksum.
        what: &'static str,
        /// What it should be.
        expected: u32,
        /// What it is.
        got: u32,
    },
    /// A header that the library `etherparse` refuses.
    #[error("{what}: {why}")]
    Header {
        /// Which header.
        what: &'static str,
        /// What the library says.
        why: String,
    },
}
