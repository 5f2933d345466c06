//! The interface between an endpoint and its host.

use crate::MessageTimes;
use crate::limited::LimitedTimes;
use frame::{FrameKind, Header, Stamps, Trim};
use units::{BitRate, Time};

/// A frame of the connection that has arrived.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Received {
    /// Purpose of the frame.
    pub kind: FrameKind,
    /// Word written by the peer, such as a sequence number. 0 if the frame has a header.
    pub word: u32,
    /// Fields written by the peer that do not fit in the word.
    pub header: Option<Header>,
    /// Length in bytes, DA to FCS.
    pub bytes: u16,
    /// True if a switch marked the frame (codepoint CE of RFC 3168).
    pub congestion_experienced: bool,
    /// Time at which the peer's NIC took the frame.
    pub created: Time,
    /// Payload that the frame has lost on its way. Only endpoints that [accept trimmed
    /// frames](Protocol::accepts_trimmed) receive frames without payload.
    pub trim: Trim,
    /// Entropy value assigned by the peer; 0 where switches do not choose a path for each frame.
    pub entropy: u16,
}

/// A frame to send to the peer.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Segment {
    /// Purpose of the segment.
    pub kind: FrameKind,
    /// Word for the peer, unless the segment has a header.
    pub word: u32,
    /// Fields for the peer that do not fit in the word. They occupy a slot of memory until they arrive.
    pub header: Option<Header>,
    /// Length in bytes, DA to FCS.
    pub bytes: u16,
    /// True if switches may mark the segment instead of dropping it (codepoint ECT(0) of RFC 3168).
    pub ecn_capable: bool,
    /// Entropy value, 0 to [`frame::Route::ENTROPIES`] - 1, which switches hash together with the flow where they
    /// choose a path for each frame. Frames of a flow with the same value take the same path.
    pub entropy: u16,
}

impl Segment {
    /// Creates a frame without a header and without an entropy value. The frame is not ECN-capable.
    #[inline]
    pub const fn new(kind: FrameKind, word: u32, bytes: u16) -> Segment {
        Segment { kind, word, header: None, bytes, ecn_capable: false, entropy: 0 }
    }
}

impl From<&Segment> for Received {
    /// Converts a segment to a frame that was created at time 0 and arrives whole and unmarked.
    fn from(segment: &Segment) -> Received {
        Received {
            kind: segment.kind,
            word: segment.word,
            header: segment.header,
            bytes: segment.bytes,
            congestion_experienced: false,
            created: Time::ZERO,
            trim: Trim::Whole,
            entropy: segment.entropy,
        }
    }
}

/// Data frames that have arrived at an endpoint but not been delivered to its application: they were discarded, or are
/// kept behind a gap.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, recurrence::Counts)]
pub struct Undelivered {
    /// Number of frames.
    pub frames: u64,
    /// Bytes of these frames, DA to FCS.
    pub bytes: u64,
}

impl Undelivered {
    /// Adds one frame.
    pub(crate) fn add(&mut self, bytes: u16) {
        self.frames += 1;
        self.bytes += u64::from(bytes);
    }
    /// Returns the sum of both.
    #[must_use]
    pub(crate) fn and(self, other: Undelivered) -> Undelivered {
        Undelivered { frames: self.frames + other.frames, bytes: self.bytes + other.bytes }
    }
}

/// The kind of a record.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum RecordKind {
    /// A round trip of one segment and its acknowledgement.
    RoundTrip,
    /// An exchange: from the time at which a request is due until its whole response has arrived.
    Exchange,
    /// A transfer: from its start until all of it has been acknowledged or, without acknowledgements, has left.
    Transfer,
}

/// A measurement by an endpoint.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Record {
    /// Kind of the measurement.
    pub kind: RecordKind,
    /// Start of the measured interval.
    pub start: Time,
    /// End of the measured interval.
    pub end: Time,
    /// Application bytes in the interval: those of the segment, of the request and the response, or of the transfer.
    pub bytes: u64,
}

/// A sender's estimates of its path.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Congestion {
    /// Number of bytes that the controller allows in flight.
    pub window: u64,
    /// Smoothed round-trip time; `None` if nothing has been measured.
    pub round_trip: Option<Time>,
    /// Number of timeouts that expired before an acknowledgement arrived.
    pub timeouts: u64,
    /// Number of acknowledgements that echoed a mark.
    pub marks: u64,
}

/// The measurements of an endpoint's transport, for tables, series and checks. Measurements that do not apply keep
/// their default.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct TransportFacts {
    /// Number of segments that were retransmitted.
    pub retransmitted: u64,
    /// Number of frames that arrived and were useless because they were out of order, duplicates, or too late.
    pub discarded: u64,
    /// Data frames that have arrived but not been delivered to the application.
    pub undelivered: Undelivered,
    /// Estimates of the path; `None` if the transport has none, or if its queue pairs have their own.
    pub congestion: Option<Congestion>,
    /// Times by cause of the wait; `None` if they are not measured, or measured per queue pair.
    pub held: Option<LimitedTimes>,
}

/// Events at an endpoint's host other than frames and timeouts.
#[derive(Clone, Copy, Debug)]
pub enum HostEvent<'a> {
    /// Starts a scheduled transfer that waited to be released: the one with this number among the transfers whose start
    /// is [`Time::NEVER`].
    Release(u32),
    /// An application at the host posts a message of this size behind all others. [`Protocol::poll_ended`] returns
    /// `tag` at each end once the message has ended there; `tag` is below [`HostEvent::MAX_TAG`].
    Post {
        /// Label of the message.
        tag: u32,
        /// Size of the message in bytes; may be 0.
        bytes: u64,
    },
    /// The endpoint's next step begins at this time. Occurs only after [`Progress::waits`].
    Step(Time),
    /// Provides the stamps of a frame of this kind for a queue pair. Occurs before [`Protocol::handle_frame`] of the
    /// frame, if its header indicates that it carries stamps.
    Stamps {
        /// Kind of the frame.
        kind: FrameKind,
        /// Queue pair of the frame.
        pair: u32,
        /// Telemetry written by switches.
        stamps: &'a Stamps,
    },
    /// The last frame of a message without a transport is on the link until this time.
    Leaves {
        /// Number of the message; see [`frame::MessageHeader`].
        message: u32,
        /// Time at which the last bit has left.
        until: Time,
    },
    /// Time for which the endpoint has waited for the NIC because pauses stopped its class there. Occurs before
    /// [`Protocol::poll_transmit`].
    Stopped(Time),
    /// The host's link sends at this rate from now on.
    LinkRate(BitRate),
    /// Frames arrive over the host's link at this rate from now on.
    ArrivalRate(BitRate),
    /// Bit mask of the links from the host towards the peer that are down from now on: bit n for the n-th link.
    LinksDown(u16),
}

impl HostEvent<'_> {
    /// Exclusive upper limit of message labels: they have the bits of the immediate data that are left over.
    pub const MAX_TAG: u32 = frame::RdmaHeader::OPERATIONS - 1;
}

/// The requests of an endpoint to its host, read together after each call.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Requests {
    /// Time of the endpoint's next call; [`Time::NEVER`] if it need not be called before another event.
    pub call_at: Time,
    /// True if the endpoint has a segment for the NIC.
    pub has_work: bool,
    /// True if the endpoint may have records.
    pub has_records: bool,
}

/// The result of handling a frame.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Answer {
    /// Requests of the endpoint after handling the frame.
    pub requests: Requests,
    /// Segment to send at once.
    pub sent: Option<Segment>,
    /// Requests of the endpoint after sending that segment.
    pub then: Requests,
}

/// The progress of an endpoint whose steps wait for those of others at its host.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Progress {
    /// Number of steps that have begun.
    pub begun: u64,
    /// Start times of the last step and of the one before.
    pub began: [Time; 2],
    /// True if the endpoint has completed its own part of the last step.
    pub done: bool,
    /// True if there is another step to begin, at a time that is not yet determined.
    pub waits: bool,
    /// Time of a copy between this endpoint and another at its host; `None` if they begin steps together.
    pub copy: Option<Time>,
}

impl Progress {
    /// Returns the time of the next step, which is the end of the last one, as far as the endpoint `other` at the same
    /// host is concerned; `None` if it is not yet determined.
    pub fn after(&self, other: &Progress, now: Time) -> Option<Time> {
        if other.begun < self.begun {
            return None;
        }
        let ahead = other.begun > self.begun;
        match self.copy {
            None => (ahead || other.done).then_some(now),
            Some(copy) => {
                let latest = self.began[0].max(other.began[usize::from(ahead)]);
                Some(now.max(latest.saturating_add(copy)))
            }
        }
    }
}

/// The calls of an endpoint.
///
/// The host keeps one timer per endpoint. After each call of [`handle_frame`], [`handle_timeout`] or [`poll_transmit`]
/// it reads [`poll_timeout`] and reschedules the timer, calls [`poll_record`] until there are no more records, and
/// reads [`has_work`] to determine whether the NIC may pull a segment. [`requests`] returns all three at once. A new
/// endpoint has no work: its first timeout is the start. An idle endpoint uses only memory.
///
/// [`handle_frame`]: Protocol::handle_frame
/// [`handle_timeout`]: Protocol::handle_timeout
/// [`poll_transmit`]: Protocol::poll_transmit
/// [`poll_timeout`]: Protocol::poll_timeout
/// [`poll_record`]: Protocol::poll_record
/// [`requests`]: Protocol::requests
/// [`has_work`]: Protocol::has_work
pub trait Protocol {
    /// Processes a frame from the peer.
    fn handle_frame(&mut self, now: Time, received: &Received);

    /// Processes the timeout of [`Protocol::poll_timeout`]. Harmless at any other time. Afterwards the next timeout is
    /// later than `now`.
    fn handle_timeout(&mut self, now: Time);

    /// Variant of [`Protocol::handle_timeout`] for a NIC in which frames of the endpoint may still wait.
    /// `is_queued(pair, number)` returns true if the NIC holds the packet of this number (24 bits, as on the wire) of a
    /// queue pair, or any packet of the pair if `number` is `None`. A timer of the endpoint starts when its packet
    /// leaves, so it does not expire while the packet waits.
    fn handle_timeout_at(&mut self, now: Time, is_queued: &dyn Fn(u32, Option<u32>) -> bool) {
        let _ = is_queued;
        self.handle_timeout(now);
    }

    /// Returns the time at which to call [`Protocol::handle_timeout`]; `None` if there is no timeout until another
    /// call.
    fn poll_timeout(&self) -> Option<Time>;

    /// Returns true if [`Protocol::poll_transmit`] would return a segment. The result changes only in the three calls
    /// above.
    fn has_work(&self) -> bool;

    /// Returns the next segment for the peer, which leaves now; `None` if there is nothing to send.
    fn poll_transmit(&mut self, now: Time) -> Option<Segment>;

    /// Returns the entropy value of the segment that [`Protocol::poll_transmit`] returns next, by which a NIC with
    /// several links chooses one of them; 0 if it has none.
    fn next_entropy(&mut self) -> u16 {
        0
    }

    /// Returns the next record.
    fn poll_record(&mut self) -> Option<Record> {
        None
    }

    /// Returns true if [`Protocol::poll_record`] may return a record.
    fn has_records(&self) -> bool {
        true
    }

    /// Returns the requests of the endpoint to its host.
    fn requests(&self) -> Requests {
        Requests {
            call_at: self.poll_timeout().unwrap_or(Time::NEVER),
            has_work: self.has_work(),
            has_records: self.has_records(),
        }
    }

    /// Calls [`Protocol::handle_frame`] and returns the requests after it. If the endpoint then has a segment and its
    /// link is `free`, calls [`Protocol::transmit`] as well.
    #[inline(always)]
    fn answer(&mut self, now: Time, received: &Received, free: bool) -> Answer {
        self.handle_frame(now, received);
        let requests = self.requests();
        if free && requests.has_work {
            let (sent, then) = self.transmit(now);
            return Answer { requests, sent, then };
        }
        Answer { requests, sent: None, then: requests }
    }

    /// Calls [`Protocol::poll_transmit`] and returns the requests after it.
    fn transmit(&mut self, now: Time) -> (Option<Segment>, Requests) {
        let segment = self.poll_transmit(now);
        (segment, self.requests())
    }

    /// Returns the measurements of the transport so far, and its estimates of the path.
    fn facts(&self, _now: Time) -> TransportFacts {
        TransportFacts::default()
    }

    /// Returns the heap memory of the endpoint in bytes.
    fn memory_bytes(&self) -> usize {
        0
    }

    /// Returns the progress of the endpoint, if its steps wait for those of other endpoints at its host.
    fn progress(&self) -> Option<Progress> {
        None
    }

    /// Processes an event at the host. Returns true if the requests of the endpoint may have changed.
    fn on_event(&mut self, _now: Time, _event: &HostEvent<'_>) -> bool {
        false
    }

    /// Returns the number of a scheduled transfer, or the tag of a posted message, that has ended and that others wait
    /// for: acknowledged at the end that sends it, delivered at the other end.
    fn poll_ended(&mut self) -> Option<u32> {
        None
    }

    /// Variant of [`Protocol::poll_ended`] that also returns the times of the message at the end that posted it, if the
    /// transport measures them.
    fn poll_ended_with_times(&mut self) -> Option<(u32, Option<MessageTimes>)> {
        self.poll_ended().map(|ended| (ended, None))
    }

    /// Returns the notification that the NIC sends to the peer at once, ahead of all queued segments, because a frame
    /// arrived marked. Called before [`Protocol::handle_frame`] of the frame. `port` is the time at which the next such
    /// notification of the whole NIC may leave, if the NIC limits them together.
    fn notify(&mut self, _now: Time, _received: &Received, _port: &mut Time) -> Option<Segment> {
        None
    }

    /// Returns true if the endpoint uses a data frame whose payload was trimmed on its way as a report of a loss. If it
    /// returns false, the host discards such frames.
    fn accepts_trimmed(&self) -> bool {
        false
    }

    /// Returns the stamps that a frame of the queue pair takes along, if the frame's header indicates stamps and the
    /// queue pair has just created them; `None` if the switches on the way have yet to write them.
    fn stamps(&self, _pair: u32) -> Option<&Stamps> {
        None
    }
}
