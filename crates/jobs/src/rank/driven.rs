//! A rank whose requests have times of their own: those of a list, or those of a session.
//!
//! A session adds requests while the run lasts ([`Rank::request`]), announces each message to its receiver ([`Rank::expect`]), takes the
//! notices of what has ended, and closes the rank. A rank of a list makes no notices.

use super::{Post, Rank, StepKind, Then, log};
use crate::messages::{MessageList, Request};
use crate::workload::Workload;
use std::cmp::Reverse;
use std::collections::{BTreeMap, VecDeque};
use units::Time;

/// End of a request, or of the message of another rank.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Notice {
    /// When.
    pub time: Time,
    /// Its kind.
    pub kind: NoticeKind,
    /// The rank at the other end of the message; the rank itself for a computation.
    pub peer: u32,
    /// Label of the request: its number among those of its rank, from 0.
    pub label: u32,
}

/// Kind of a [`Notice`].
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum NoticeKind {
    /// A message has been delivered to the rank, and its processor has taken it.
    Delivered,
    /// A message of the rank has been acknowledged.
    Sent,
    /// A computation of the rank has ended.
    Computed,
}

/// State of a rank of a [`MessageList`].
#[derive(Clone, Debug)]
pub(super) struct Driven {
    /// Requests may still come.
    open: bool,
    notices: VecDeque<Notice>,
    /// Requests of the list that are among the work of the rank.
    listed: usize,
    /// Requests of a session.
    requested: u32,
    /// Bytes of messages of a session that are to come, by sender and label.
    expected: BTreeMap<(u32, u32), u64>,
    /// When anything of the rank last ended.
    pub active: Time,
}

impl Driven {
    pub fn new(list: &MessageList) -> Driven {
        Driven {
            open: list.open,
            notices: VecDeque::new(),
            listed: 0,
            requested: 0,
            expected: BTreeMap::new(),
            active: Time::ZERO,
        }
    }
}

impl Rank {
    /// Returns true if its requests have times of their own.
    pub fn is_driven(&self) -> bool {
        self.driven.is_some()
    }
    /// Returns true if a session may still add requests.
    pub fn is_open(&self) -> bool {
        self.driven.as_ref().is_some_and(|own| own.open)
    }
    /// Adds a request of a session, not before the present, and returns its label. The time of [`Rank::calls_at`] may change.
    pub fn request(&mut self, at: Time, request: Request) -> u32 {
        let Some(own) = &mut self.driven else { return 0 };
        let label = own.requested;
        own.requested += 1;
        self.left += 1;
        self.enqueue(at, label, request);
        label
    }
    /// Announces a message of a session to its receiver: it has to be delivered before the rank can end.
    pub fn expect(&mut self, from: u32, label: u32, bytes: u64) {
        if let Some(own) = &mut self.driven {
            own.expected.insert((from, label), bytes);
            self.left += 1;
        }
    }
    /// No further request comes, and no further notice: the rank ends when all of its requests have ended.
    pub fn close(&mut self, now: Time) {
        let Some(own) = self.driven.as_mut().filter(|own| own.open) else { return };
        own.open = false;
        own.notices.clear();
        // One that has not begun counts what is left when it begins.
        if !self.times.is_empty() {
            self.left -= 1;
            self.settle(now);
        }
    }
    /// The next notice.
    pub fn poll_notice(&mut self) -> Option<Notice> {
        self.driven.as_mut()?.notices.pop_front()
    }
    /// Begins the list.
    pub(super) fn begin_list(&mut self, list: &MessageList, now: Time) {
        let Some(own) = &mut self.driven else { return };
        own.active = now;
        self.left += list.count(self.rank) + list.incoming(self.rank) + u32::from(own.open);
        self.enqueue_listed(list);
    }

    /// The next request of the list becomes work: one at a time, so that a long list takes no memory twice.
    fn enqueue_listed(&mut self, list: &MessageList) {
        let Some(own) = &mut self.driven else { return };
        let Some((label, at, request)) = list.in_time(self.rank, own.listed) else { return };
        own.listed += 1;
        self.enqueue(at, label, request);
    }

    fn enqueue(&mut self, at: Time, label: u32, request: Request) {
        self.working.push(Reverse((at, self.requests, label, log::NONE, Then::Start(request))));
        self.requests += 1;
    }

    /// The time of a request has come.
    pub(super) fn start_request(&mut self, label: u32, request: Request, now: Time) {
        if let Workload::Messages(list) = &*self.workload.clone() {
            self.enqueue_listed(list);
        }
        match request {
            Request::Send { to, bytes } => {
                let post = Post { to, bytes, tag: label };
                if self.send((label, 0), post, now) {
                    self.left -= 1;
                }
            }
            Request::Compute { time } => {
                if self.compute((label, 0), time, now) {
                    self.computation_ended(label, now);
                }
            }
        }
    }

    /// A computation has ended.
    pub(super) fn computation_ended(&mut self, label: u32, now: Time) {
        self.left -= 1;
        self.note(NoticeKind::Computed, self.rank, label, now);
    }

    /// A message has been delivered: the processor takes it.
    pub(super) fn take_listed(&mut self, list: &MessageList, (from, label): (u32, u32), now: Time) {
        let Some(own) = &mut self.driven else { return };
        let announced = own.expected.remove(&(from, label));
        let Some(bytes) = announced.or_else(|| list.bytes(from, label)) else { return };
        self.counts.received += 1;
        self.counts.bytes_received += bytes;
        let cost = self.costs.of_message(bytes);
        self.counts.overhead = self.counts.overhead.saturating_add(cost);
        if cost == Time::ZERO {
            return self.taken(from, label, now);
        }
        let kind = (StepKind::ReceiveCost, Some((from, label, bytes)));
        self.work((label, 0), kind, cost, Then::Taken { from }, now);
    }

    /// The processor has taken a message.
    pub(super) fn taken(&mut self, from: u32, label: u32, now: Time) {
        self.left -= 1;
        self.note(NoticeKind::Delivered, from, label, now);
    }

    /// Notes the end of something.
    pub(super) fn note(&mut self, kind: NoticeKind, peer: u32, label: u32, now: Time) {
        let Some(own) = &mut self.driven else { return };
        own.active = now;
        if own.open {
            own.notices.push_back(Notice { time: now, kind, peer, label });
        }
    }
}
