//! Transfers that start at the end of others, as observed by their host.
//!
//! A host starts a waiting transfer when it observes the last of the ends that the transfer waits for: the
//! acknowledgement of one of its own transfers, or the delivery of one to it. Both are events of that host, so that the
//! look-ahead between the parts of the fabric is as large as without waiting transfers.

use crate::run::state::index::{EndpointIx, ReceiverIx, SourceIx};
use std::collections::BTreeMap;
use units::Time;

/// The end of a transfer, as observed by a host. Transfers are counted along their path.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub(crate) enum End {
    /// End of a transfer at an endpoint, with its index along its path.
    Endpoint(EndpointIx, u32),
    /// End of a pushed transfer, with its index along its path.
    Receiver(ReceiverIx, u32),
}

/// The sender or reader that starts a waiting transfer.
#[derive(Clone, Copy, Debug)]
pub(crate) enum Starter {
    Endpoint(EndpointIx),
    /// A source, and the row in its list.
    Source(SourceIx, u32),
}

/// A waiting transfer.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Waiting {
    /// Index into [`Spec::waits`](crate::spec::Spec::waits).
    pub number: u32,
    pub starter: Starter,
    /// Index of the transfer along its path.
    pub nth: u32,
    /// Number of ends that it still waits for.
    pub left: u32,
    /// Start time; [`Time::NEVER`] if it has not started.
    pub began: Time,
}

/// The waiting transfers at the hosts of a part.
#[derive(Debug, Default)]
pub(crate) struct Releases {
    pub waiting: Vec<Waiting>,
    /// By end, the transfers that wait for it.
    pub after: BTreeMap<End, Vec<u32>>,
}

impl Releases {
    pub fn is_empty(&self) -> bool {
        self.waiting.is_empty()
    }

    /// Records the end of a transfer. Returns the transfers that waited for nothing else, which start now.
    pub(in crate::run) fn ended(&mut self, end: End, now: Time) -> Vec<Waiting> {
        let mut released = Vec::new();
        for nth in self.after.remove(&end).unwrap_or_default() {
            let waiting = &mut self.waiting[nth as usize];
            waiting.left -= 1;
            if waiting.left == 0 {
                waiting.began = now;
                released.push(*waiting);
            }
        }
        released
    }

    /// Bytes of the lists.
    pub fn memory_bytes(&self) -> usize {
        let lists = self.after.values().map(|list| list.capacity() * size_of::<u32>()).sum::<usize>();
        self.waiting.capacity() * size_of::<Waiting>()
            + self.after.len() * size_of::<(End, Vec<u32>)>()
            + lists
    }
}
