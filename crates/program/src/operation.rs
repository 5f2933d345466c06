//! Operations of a rank.

use std::fmt;
use units::Time;

/// The peer or tag of a receive that accepts any, as GOAL stores it.
pub(crate) const ANY: u32 = u32::MAX;

/// The work of an operation.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Work {
    /// A message to another rank or to the own one.
    Send {
        /// Receiving rank.
        to: u32,
        /// Bytes, 0 included.
        bytes: u64,
        /// Compared with the tag of a receive.
        tag: u32,
    },
    /// A message that is waited for.
    Recv {
        /// Sending rank; `None`: any.
        from: Option<u32>,
        /// Bytes that are expected. LogGOPSim does not compare them with those of the message.
        bytes: u64,
        /// Tag of the message, at most 2^32 - 2; `None`: any.
        tag: Option<u32>,
    },
    /// A computation.
    Calc {
        /// Its duration. GOAL has whole nanoseconds.
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
    /// Bytes of a message; picoseconds of a computation.
    amount: u64,
    peer: u32,
    tag: u32,
    pub(crate) waits: u32,
    /// Index of its first edge: the operations that wait for its end come first.
    pub(crate) after_end: u32,
    /// Index of the first edge to an operation that waits for its start.
    pub(crate) after_start: u32,
    kind: Kind,
    cpu: u8,
    nic: u8,
}

impl Operation {
    /// An operation without dependencies.
    pub(crate) fn new(work: Work, cpu: u8, nic: u8) -> Operation {
        let (kind, amount, peer, tag) = match work {
            Work::Send { to, bytes, tag } => (Kind::Send, bytes, to, tag),
            Work::Recv { from, bytes, tag } => (Kind::Recv, bytes, from.unwrap_or(ANY), tag.unwrap_or(ANY)),
            Work::Calc { time } => (Kind::Calc, time.ps(), 0, 0),
        };
        Operation { amount, peer, tag, waits: 0, after_end: 0, after_start: 0, kind, cpu, nic }
    }

    /// The message or the computation.
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

    /// Number of dependencies: ends and starts of other operations of the rank that come before its start.
    pub fn waits(&self) -> u32 {
        self.waits
    }

    /// Compute resource. Operations of the same rank and resource exclude each other for their host cost.
    pub fn cpu(&self) -> u8 {
        self.cpu
    }

    /// Network interface of the rank; 0 for a computation.
    pub fn nic(&self) -> u8 {
        self.nic
    }

    /// The other rank of a message, unless a receive accepts any.
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
