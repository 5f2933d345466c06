//! Operations of a rank.

use std::fmt;
use units::Time;

/// Value of GOAL for a receive from any peer, or with any tag.
pub(crate) const ANY: u32 = u32::MAX;

/// The work of an operation.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Work {
    /// A message to a rank, which may be the sender itself.
    Send {
        /// Receiving rank.
        to: u32,
        /// Size in bytes; may be 0.
        bytes: u64,
        /// Tag, which a receive must match.
        tag: u32,
    },
    /// A wait for a message.
    Recv {
        /// Sending rank; `None` for any.
        from: Option<u32>,
        /// Expected size in bytes. LogGOPSim does not compare it with the size of the message.
        bytes: u64,
        /// Tag of the message, at most 2^32 - 2; `None` for any.
        tag: Option<u32>,
    },
    /// A computation.
    Calc {
        /// Duration. GOAL uses whole nanoseconds.
        time: Time,
    },
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Kind {
    Send,
    Recv,
    Calc,
}

/// An operation of a rank, in 32 bytes.
#[derive(Clone, Copy, PartialEq, Eq)]
pub struct Operation {
    /// Bytes of a message, or picoseconds of a computation.
    amount: u64,
    peer: u32,
    tag: u32,
    pub(crate) waits: u32,
    /// Index of the first edge. Edges to operations that wait for the end of this one come first.
    pub(crate) after_end: u32,
    /// Index of the first edge to an operation that waits for the start of this one.
    pub(crate) after_start: u32,
    kind: Kind,
    cpu: u8,
    nic: u8,
}

impl Operation {
    /// Creates an operation without dependencies.
    pub(crate) fn new(work: Work, cpu: u8, nic: u8) -> Operation {
        let (kind, amount, peer, tag) = match work {
            Work::Send { to, bytes, tag } => (Kind::Send, bytes, to, tag),
            Work::Recv { from, bytes, tag } => (Kind::Recv, bytes, from.unwrap_or(ANY), tag.unwrap_or(ANY)),
            Work::Calc { time } => (Kind::Calc, time.ps(), 0, 0),
        };
        Operation { amount, peer, tag, waits: 0, after_end: 0, after_start: 0, kind, cpu, nic }
    }

    /// Returns the message or the computation.
    pub fn work(&self) -> Work {
        match self.kind {
            Kind::Send => Work::Send { to: self.peer, bytes: self.amount, tag: self.tag },
            Kind::Recv => Work::Recv {
                from: (self.peer != ANY).then_some(self.peer),
                bytes: self.amount,
                tag: (self.tag != ANY).then_some(self.tag),
            },
            Kind::Calc => Work::Calc { time: Time::from_ps(self.amount) },
        }
    }

    /// Returns the number of dependencies: ends and starts of other operations that must come before the start of this
    /// one.
    pub fn waits(&self) -> u32 {
        self.waits
    }

    /// Returns the compute resource. The host costs of operations on the same resource of a rank are serialised.
    pub fn cpu(&self) -> u8 {
        self.cpu
    }

    /// Returns the NIC of the rank; 0 for a computation.
    pub fn nic(&self) -> u8 {
        self.nic
    }

    /// Returns the other rank of a message; `None` for a computation, and for a receive from any rank.
    pub(crate) fn peer(&self) -> Option<u32> {
        (self.kind == Kind::Send || self.kind == Kind::Recv && self.peer != ANY).then_some(self.peer)
    }
}

impl fmt::Debug for Operation {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{:?} cpu {} nic {} waits {}", self.work(), self.cpu, self.nic, self.waits)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_operation_takes_32_bytes() {
        assert_eq!(size_of::<Operation>(), 32);
    }
}
