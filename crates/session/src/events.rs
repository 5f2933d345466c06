//! Events of a session, and the requests that they end.

use jobs::{Notice, NoticeKind, Request};
use std::collections::{BTreeMap, BTreeSet};
use units::Time;

/// The end of a message, a computation or a timer.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Event {
    /// Time of the event.
    pub time: Time,
    /// Kind of the event.
    pub kind: Kind,
    /// Id of the message, computation or timer.
    pub id: u64,
    /// Rank that sends the message, or that computes; 0 for a timer.
    pub from: u32,
    /// Rank that receives the message, or that computes; 0 for a timer.
    pub to: u32,
    /// Size of the message in bytes; 0 for other events.
    pub bytes: u64,
}

/// Kind of an [`Event`]. The numbers are part of the C interface.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[repr(u32)]
pub enum Kind {
    /// A message has been delivered: its last byte has arrived, and the receiver's processor has processed it.
    Delivered = 0,
    /// A message has been acknowledged at its sender.
    Sent = 1,
    /// A computation has ended.
    Computed = 2,
    /// A timer has expired.
    Timer = 3,
}

impl Kind {
    /// Returns the name.
    pub fn name(self) -> &'static str {
        match self {
            Kind::Delivered => "delivered",
            Kind::Sent => "sent",
            Kind::Computed => "computed",
            Kind::Timer => "timer",
        }
    }
}

/// A request that has not ended.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Pending {
    pub id: u64,
    pub at: Time,
}

/// Requests that have not ended. A message ends with the second of its two notices.
#[derive(Debug, Default)]
pub(crate) struct Ids {
    /// Requests by rank and label.
    pending: BTreeMap<(u32, u32), (Request, Pending, u8)>,
    /// Requests by id.
    order: BTreeSet<(u64, u32, u32)>,
}

impl Ids {
    pub fn len(&self) -> usize {
        self.pending.len()
    }
    pub fn add(&mut self, key: (u32, u32), request: Request, pending: Pending) {
        let ends = if matches!(request, Request::Send { .. }) { 2 } else { 1 };
        self.pending.insert(key, (request, pending, ends));
        self.order.insert((pending.id, key.0, key.1));
    }
    /// Returns the request with the smallest id, and its rank.
    pub fn oldest(&self) -> Option<(u32, Request, Pending)> {
        let &(_, rank, label) = self.order.first()?;
        let &(request, pending, _) = self.pending.get(&(rank, label))?;
        Some((rank, request, pending))
    }
    /// Returns the event for a notice of a rank.
    pub fn event(&mut self, rank: u32, notice: &Notice) -> Option<Event> {
        let (kind, from) = match notice.kind {
            NoticeKind::Delivered => (Kind::Delivered, notice.peer),
            NoticeKind::Sent => (Kind::Sent, rank),
            NoticeKind::Computed => (Kind::Computed, rank),
        };
        let key = (from, notice.label);
        let (request, pending, ends) = self.pending.get_mut(&key)?;
        let (to, bytes) = match *request {
            Request::Send { to, bytes } => (to, bytes),
            Request::Compute { .. } => (rank, 0),
        };
        let id = pending.id;
        *ends -= 1;
        if *ends == 0 {
            self.pending.remove(&key);
            self.order.remove(&(id, key.0, key.1));
        }
        Some(Event { time: notice.time, kind, id, from, to, bytes })
    }
}
