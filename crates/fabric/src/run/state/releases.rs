//! Transfers that begin when others have ended, as observed by their host.
//!
//! A host begins a waiting transfer at the instant at which it observes the last end that it waits for: the acknowledgement
//! of one of its own, or the delivery of one to it. Both are events of that host, so that parts of the fabric run ahead of
//! each other as they do without waiting transfers.

use crate::run::state::index::{EndpointIx, ReceiverIx, SourceIx};
use std::collections::BTreeMap;
use units::Time;

/// The end of a transfer, as observed by a host. Transfers are counted along their path.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub(crate) enum End {
    /// At an endpoint.
    Endpoint(EndpointIx, u32),
    /// End of a pushed transfer.
    Receiver(ReceiverIx, u32),
}

/// Sender, or reader, of a transfer that waits.
#[derive(Clone, Copy, Debug)]
pub(crate) enum Starter {
    Endpoint(EndpointIx),
    /// A source, and the row in its list.
    Source(SourceIx, u32),
}

/// A transfer that waits.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Waiting {
    /// Its number among [`Spec::waits`](crate::spec::Spec::waits).
    pub number: u32,
    pub starter: Starter,
    /// Its number along its path.
    pub nth: u32,
    /// Ends that it still waits for.
    pub left: u32,
    /// When it has begun; [`Time::NEVER`]: it has not.
    pub began: Time,
}

/// The transfers that wait at the hosts of a part.
#[derive(Debug, Default)]
pub(crate) struct Releases {
    pub waiting: Vec<Waiting>,
    /// By end, which wait for it.
    pub after: BTreeMap<End, Vec<u32>>,
}

impl Releases {
    pub fn is_empty(&self) -> bool {
        self.waiting.is_empty()
    }

    /// A transfer has ended: those that waited for nothing else begin.
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
