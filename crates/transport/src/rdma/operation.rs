//! The operations of a queue pair, and the extended headers that their packets have.
//!
//! Source: InfiniBand Architecture Specification volume 1 sections 9.2.1 (opcodes), 9.3.3 (RETH), 9.3.5 (AETH), 9.3.7 (ImmDt).

use super::spec::RdmaVerb;
use recurrence::Recurs;

/// Length of the AETH in bytes, in an acknowledgement and in the first and the last packet of a READ response.
pub const AETH_BYTES: u16 = 4;
/// Length of the RETH in bytes, in the first packet of a WRITE and in a READ request.
pub const RETH_BYTES: u16 = 16;
/// Length of immediate data in bytes, in the last packet of a message.
const IMMDT_BYTES: u16 = 4;

/// The operation of a message of a queue pair.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Recurs)]
pub enum Operation {
    /// SEND, which completes a receive of the peer's application.
    #[default]
    Send,
    /// RDMA WRITE, which does not notify the peer's application.
    Write,
    /// RDMA WRITE with immediate data, which completes a receive of the peer's application.
    WriteWithImmediate,
    /// RDMA READ request: a single packet without data.
    ReadRequest,
    /// RDMA READ response.
    ReadResponse,
}

/// A message to send.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Post {
    /// Operation of the message.
    pub operation: Operation,
    /// Bytes of data: 0 for a READ request, above 0 for all other operations.
    pub bytes: u64,
}

impl Operation {
    /// Returns the bytes of extended headers of a packet, given its position in the message.
    #[inline]
    pub fn extended(self, first: bool, last: bool) -> u16 {
        let at = |here: bool, bytes: u16| if here { bytes } else { 0 };
        match self {
            Operation::Send => 0,
            Operation::Write | Operation::ReadRequest => at(first, RETH_BYTES),
            Operation::WriteWithImmediate => at(first, RETH_BYTES) + at(last, IMMDT_BYTES),
            Operation::ReadResponse => at(first || last, AETH_BYTES),
        }
    }

    /// Returns the bytes of extended headers of the first `sent` packets of a message of `packets`.
    #[inline]
    pub fn extended_of(self, sent: u64, packets: u64) -> u64 {
        let of = |first, last| u64::from(self.extended(first, last));
        match (sent, packets) {
            (0, _) => 0,
            (1, 1) => of(true, true),
            (sent, packets) if sent < packets => of(true, false),
            _ => of(true, false) + of(false, true),
        }
    }

    /// Names of the operations in captures; the first applies to frames without an operation.
    pub const NAMES: [&str; 6] = ["", "send", "write", "read", "write_with_immediate", "read_request"];

    /// Returns its index in [`Operation::NAMES`].
    pub fn column(self) -> u32 {
        match self {
            Operation::Send => 1,
            Operation::Write => 2,
            Operation::ReadResponse => 3,
            Operation::WriteWithImmediate => 4,
            Operation::ReadRequest => 5,
        }
    }

    /// Returns the label of a packet in its header. 0 means that the packet has the verb of its queue pair and no
    /// label. A packet of a WRITE with immediate data is labelled as that of a WRITE unless it is the last.
    pub(crate) fn label(self, verb: RdmaVerb, last: bool) -> u8 {
        let own = match self {
            Operation::WriteWithImmediate if !last => Operation::Write,
            own => own,
        };
        if own == verb.operation() { 0 } else { own as u8 + 1 }
    }

    /// Returns the operation of a packet of a queue pair with this verb, by its label.
    pub fn labelled(label: u8, verb: RdmaVerb) -> Operation {
        match label {
            1 => Operation::Send,
            2 => Operation::Write,
            3 => Operation::WriteWithImmediate,
            4 => Operation::ReadRequest,
            5 => Operation::ReadResponse,
            _ => verb.operation(),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn extended_headers_by_place() {
        let all = |operation: Operation| {
            [(1, 1), (1, 2), (2, 2), (2, 3), (3, 3)].map(|(sent, of)| operation.extended_of(sent, of))
        };
        assert_eq!(all(Operation::Send), [0; 5]);
        assert_eq!(all(Operation::Write), [16; 5]);
        assert_eq!(all(Operation::WriteWithImmediate), [20, 16, 20, 16, 20]);
        assert_eq!(all(Operation::ReadResponse), [4, 4, 8, 4, 8]);
    }

    #[test]
    fn labels_say_what_the_verb_does_not() {
        use Operation::{ReadRequest, ReadResponse, Send, Write, WriteWithImmediate};
        for verb in [RdmaVerb::Send, RdmaVerb::Write, RdmaVerb::Read] {
            assert_eq!(verb.operation().label(verb, true), 0);
            for operation in [Send, Write, WriteWithImmediate, ReadRequest, ReadResponse] {
                assert_eq!(Operation::labelled(operation.label(verb, true), verb), operation);
            }
            assert_eq!(Operation::labelled(WriteWithImmediate.label(verb, false), verb), Write);
        }
    }
}
