//! An endpoint at its NIC, and its measurements.

use crate::run::state::index::{GroupIx, LimiterIx, PortIx};
use crate::run::state::nic::Nic;
use frame::{Ecn, Flags, Frame, PathId, Priority, Route, TrafficClass};
use measure::RareLatency;
use recurrence::Counts;
use std::num::NonZeroU32;
use transport::{Endpoint, Protocol, RecordKind, Segment, Undelivered};
use units::Time;

/// An endpoint and its position in the network.
#[derive(Debug)]
pub(crate) struct EndpointState {
    pub endpoint: Endpoint,
    /// Its number in the whole fabric.
    pub number: u32,
    pub path: u32,
    /// At the far end of the path: number of entries of the table of hops that a frame has passed when it arrives here,
    /// at least 1.
    pub behind: Option<NonZeroU32>,
    /// The egress port and the route from there; `None` until first looked up.
    pub way: Option<(PortIx, Route)>,
    /// True if its frames may be bypassed.
    pub bypassable: bool,
    /// True if each frame leaves through the link of its host that its entropy value selects.
    pub stripes: bool,
    pub priority: Priority,
    /// Priority of the notifications that its NIC sends to the peer in response to marks; `None` if it sends none.
    pub notifies: Option<Priority>,
    /// The limiter that its frames pass.
    pub limiter: Option<LimiterIx>,
    /// The group of endpoints at its host that its steps wait for.
    pub peers: Option<GroupIx>,
    /// True if others wait for the ends of its transfers.
    pub awaited: bool,
    /// Time of the earliest pending call. `wakes_later` is a later pending call, kept so that an endpoint that requests
    /// its timeout again after each earlier call does not add an event each time.
    pub wakes_at: Time,
    pub wakes_later: Time,
    /// True if it waits at its NIC or limiter; `since` is the start of the wait.
    pub in_line: bool,
    pub since: Time,
    /// Time for which its class was stopped while it was in the wait queue of its NIC.
    pub stopped: Time,
    /// Time for which the class had been stopped when it was added to the wait queue.
    pub stopped_before: Time,
    pub measured: Measured,
}

/// Measurements of an endpoint.
#[derive(Clone, Debug, Default, Counts)]
pub(crate) struct Measured {
    /// Time from a segment to its acknowledgement.
    pub round_trips: RareLatency,
    /// Time from a request to its complete response, and completion time of transfers over TCP.
    pub exchanges: RareLatency,
    /// Time from a congestion message to its arrival.
    pub messages: RareLatency,
    /// Bytes of the application in exchanges and transfers.
    pub bytes: u64,
    /// Time at which a transfer completed.
    #[counts(not)]
    pub completed: Option<Time>,
    /// Data that had arrived but not been delivered to the application when measurement started.
    #[counts(not)]
    pub undelivered_before: Undelivered,
}

impl Measured {
    /// Restarts measurement, but keeps the completion times.
    pub fn clear(&mut self) {
        self.round_trips.clear();
        self.exchanges.clear();
        self.messages.clear();
        self.bytes = 0;
    }
}

impl EndpointState {
    pub fn new(
        endpoint: Endpoint,
        number: u32,
        path: u32,
        behind: Option<NonZeroU32>,
        priority: Priority,
    ) -> EndpointState {
        EndpointState {
            endpoint,
            number,
            path,
            behind,
            way: None,
            bypassable: false,
            stripes: false,
            priority,
            notifies: None,
            limiter: None,
            peers: None,
            awaited: false,
            wakes_at: Time::NEVER,
            wakes_later: Time::NEVER,
            in_line: false,
            since: Time::ZERO,
            stopped: Time::ZERO,
            stopped_before: Time::ZERO,
            measured: Measured::default(),
        }
    }

    /// Returns true if it is in no wait queue and passes no limiter, waits for no other endpoint, and no other waits
    /// for it.
    #[inline(always)]
    pub fn is_alone(&self) -> bool {
        !self.in_line && self.limiter.is_none() && self.peers.is_none() && !self.awaited
    }

    /// Requests a call. Returns the time to schedule; `None` if an earlier call is pending, which checks again.
    #[inline(always)]
    pub fn wake(&mut self, call_at: Time, now: Time) -> Option<Time> {
        let at = call_at.max(now);
        let earlier = at < self.wakes_at;
        if earlier {
            self.wakes_later = self.wakes_later.min(self.wakes_at);
            self.wakes_at = at;
        }
        earlier.then_some(at)
    }

    /// Updates the pending calls at the start of a call.
    pub fn called(&mut self, now: Time) {
        let later = std::mem::replace(&mut self.wakes_later, Time::NEVER);
        self.wakes_at = if later > now { later } else { Time::NEVER };
    }

    /// Creates the frame of a segment that is sent now, without its header.
    #[inline(always)]
    pub fn frame(&self, segment: &Segment, route: Route, now: Time) -> Frame {
        let ecn = if segment.ecn_capable { Ecn::Capable } else { Ecn::NotCapable };
        Frame {
            created: now,
            path: PathId(self.path),
            route: if segment.entropy == 0 { route } else { route.with_entropy(segment.entropy) },
            word: segment.word,
            bytes: segment.bytes,
            flags: Flags::new(segment.kind, ecn).bypassable(self.bypassable).at(self.priority),
        }
    }

    /// Records the start of its wait at this NIC.
    pub fn join(&mut self, nic: &Nic, class: TrafficClass, now: Time) {
        (self.in_line, self.since) = (true, now);
        self.stopped_before = nic.stopped_for(class, now);
    }

    /// Time that it has waited at this NIC while its class was stopped, until now.
    pub fn stopped(&self, nic: &Nic, class: TrafficClass, now: Time) -> Time {
        let waits = self.in_line && self.limiter.is_none();
        if !waits {
            return self.stopped;
        }
        self.stopped + nic.stopped_for(class, now).saturating_sub(self.stopped_before)
    }

    /// Collects the measurements of the endpoint.
    pub fn collect(&mut self) {
        while let Some(record) = self.endpoint.poll_record() {
            let took = record.end - record.start;
            match record.kind {
                RecordKind::RoundTrip => self.measured.round_trips.record(took),
                RecordKind::Exchange => {
                    self.measured.exchanges.record(took);
                    self.measured.bytes += record.bytes;
                }
                RecordKind::Transfer => {
                    // A connection may have many transfers.
                    if self.endpoint.counts_transfers() {
                        self.measured.exchanges.record(took);
                    }
                    self.measured.completed = Some(record.end);
                    self.measured.bytes += record.bytes;
                }
            }
        }
    }
}
