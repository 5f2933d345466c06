//! A rank whose requests have given start times: those of a list, or those of a session.
//!
//! A session adds requests while the run lasts ([`Rank::request`]), announces each message to its receiver
//! ([`Rank::expect`]), polls the notices of requests that have ended, and closes the rank. A rank of a list creates no
//! notices.

use super::{Post, Rank, StepKind, Then, log};
use crate::messages::{MessageList, Request};
use crate::workload::Workload;
use std::cmp::Reverse;
use std::collections::{BTreeMap, VecDeque};
use units::Time;

/// Notice of the end of a request, or of the delivery of another rank's message.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Notice {
    /// Time of the end.
    pub time: Time,
    /// Kind of the notice.
    pub kind: NoticeKind,
    /// Rank at the other end of the message; the rank itself for a computation.
    pub peer: u32,
    /// Label of the request: its number among those of the requesting rank, from 0.
    pub label: u32,
}

/// Kind of a [`Notice`].
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum NoticeKind {
    /// A message has been delivered to the rank, and its processor has processed it.
    Delivered,
    /// A message of the rank has been acknowledged.
    Sent,
    /// A computation of the rank has ended.
    Computed,
}

/// State of a rank of a [`MessageList`].
#[derive(Clone, Debug)]
pub(super) struct Driven {
    /// True if requests may still be added.
    open: bool,
    notices: VecDeque<Notice>,
    /// Number of requests of the list that have been passed to the rank.
    listed: usize,
    /// Number of requests of a session.
    requested: u32,
    /// Sizes in bytes of expected messages of a session, by sender and label.
    expected: BTreeMap<(u32, u32), u64>,
    /// Time at which a request or message of the rank last ended.
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
    /// Returns true if requests have given start times.
    pub fn is_driven(&self) -> bool {
        self.driven.is_some()
    }
    /// Returns true if a session may still add requests.
    pub fn is_open(&self) -> bool {
        self.driven.as_ref().is_some_and(|own| own.open)
    }
    /// Adds a request of a session, not before the current time. Returns its label. May change the time of
    /// [`Rank::calls_at`].
    pub fn request(&mut self, at: Time, request: Request) -> u32 {
        let Some(own) = &mut self.driven else { return 0 };
        let label = own.requested;
        own.requested += 1;
        self.left += 1;
        self.enqueue(at, label, request);
        label
    }
    /// Announces a message of a session to its receiver, which does not end before the message has been delivered.
    pub fn expect(&mut self, from: u32, label: u32, bytes: u64) {
        if let Some(own) = &mut self.driven {
            own.expected.insert((from, label), bytes);
            self.left += 1;
        }
    }
    /// Closes the rank: no request is added any more, and no notices are created. The rank ends when all of its
    /// requests have ended.
    pub fn close(&mut self, now: Time) {
        let Some(own) = self.driven.as_mut().filter(|own| own.open) else { return };
        own.open = false;
        own.notices.clear();
        // A rank that has not started yet counts its requests when it starts.
        if !self.times.is_empty() {
            self.left -= 1;
            self.settle(now);
        }
    }
    /// Returns the next notice.
    pub fn poll_notice(&mut self) -> Option<Notice> {
        self.driven.as_mut()?.notices.pop_front()
    }
    /// Starts the list.
    pub(super) fn begin_list(&mut self, list: &MessageList, now: Time) {
        let Some(own) = &mut self.driven else { return };
        own.active = now;
        self.left += list.count(self.rank) + list.incoming(self.rank) + u32::from(own.open);
        self.enqueue_listed(list);
    }

    /// Passes the next request of the list to the rank. One at a time, so that a long list is not in memory twice.
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

    /// Starts a request, whose start time has been reached.
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

    /// Processes the end of a computation.
    pub(super) fn computation_ended(&mut self, label: u32, now: Time) {
        self.left -= 1;
        self.note(NoticeKind::Computed, self.rank, label, now);
    }

    /// Processes the delivery of a message: the processor starts processing it.
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

    /// Processes the end of the processor's work on a message.
    pub(super) fn taken(&mut self, from: u32, label: u32, now: Time) {
        self.left -= 1;
        self.note(NoticeKind::Delivered, from, label, now);
    }

    /// Adds a notice, if a session polls them.
    pub(super) fn note(&mut self, kind: NoticeKind, peer: u32, label: u32, now: Time) {
        let Some(own) = &mut self.driven else { return };
        own.active = now;
        if own.open {
            own.notices.push_back(Notice { time: now, kind, peer, label });
        }
    }
}
