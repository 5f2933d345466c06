//! Interface between an endpoint and the host that runs it.

use crate::MessageTimes;
use crate::limited::LimitedTimes;
use frame::{FrameKind, Header, Stamps, Trim};
use units::{BitRate, Time};

/// A frame of the connection that has arrived, DA to FCS.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Received {
    /// Purpose of the frame.
    pub kind: FrameKind,
    /// Word written by the peer, such as a sequence number. 0 if the frame has a header.
    pub word: u32,
    /// Fields written by the peer that need more than a word.
    pub header: Option<Header>,
    /// Length in bytes, DA to FCS.
    pub bytes: u16,
    /// True if a switch marked it (the codepoint CE of RFC 3168).
    pub congestion_experienced: bool,
    /// When the peer's NIC took it.
    pub created: Time,
    /// The payload that it has lost on its way. Only an endpoint that [accepts trimmed frames](Protocol::accepts_trimmed) receives
    /// one without its payload.
    pub trim: Trim,
    /// The entropy value that the peer gave it; 0 where switches have no choice of a path for each frame.
    pub entropy: u16,
}

/// A frame to be sent to the peer.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Segment {
    /// Purpose of the segment.
    pub kind: FrameKind,
    /// Word for the peer, unless the segment has a header.
    pub word: u32,
    /// Fields for the peer that need more than a word; they take a slot of memory until they arrive.
    pub header: Option<Header>,
    /// Length in bytes, DA to FCS.
    pub bytes: u16,
    /// True if switches may mark it instead of dropping it (the codepoint ECT(0) of RFC 3168).
    pub ecn_capable: bool,
    /// Entropy value that switches hash with the flow where they choose a path for each frame: 0 to [`frame::Route::ENTROPIES`] - 1. Frames of a flow
    /// with the same value take the same path.
    pub entropy: u16,
}

impl Segment {
    /// A frame without a header and without an entropy value, which is not ECN-capable.
    #[inline]
    pub const fn new(kind: FrameKind, word: u32, bytes: u16) -> Segment {
        Segment { kind, word, header: None, bytes, ecn_capable: false, entropy: 0 }
    }
}

impl From<&Segment> for Received {
    /// A segment, created at time 0, that arrives whole and without a mark.
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

/// Frames of data that have come to an endpoint and that its application has not got: discarded, or kept behind a gap.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, recurrence::Counts)]
pub struct Undelivered {
    /// Number of frames.
    pub frames: u64,
    /// Their bytes, DA to FCS.
    pub bytes: u64,
}

impl Undelivered {
    /// One more frame.
    pub(crate) fn add(&mut self, bytes: u16) {
        self.frames += 1;
        self.bytes += u64::from(bytes);
    }
    /// Both together.
    #[must_use]
    pub(crate) fn and(self, other: Undelivered) -> Undelivered {
        Undelivered { frames: self.frames + other.frames, bytes: self.bytes + other.bytes }
    }
}

/// Kind of a record.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum RecordKind {
    /// A round trip of one segment and its acknowledgement.
    RoundTrip,
    /// An exchange: from the instant a request is due until its whole response has arrived.
    Exchange,
    /// A transfer: from its start until all of it is acknowledged, or without acknowledgements has left.
    Transfer,
}

/// Something that an endpoint has measured.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Record {
    /// Kind of the measurement.
    pub kind: RecordKind,
    /// When it began.
    pub start: Time,
    /// When it ended.
    pub end: Time,
    /// Bytes of the application that it moved: those of the segment, of request and response, of the transfer.
    pub bytes: u64,
}

/// Estimates of a sender about its path.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Congestion {
    /// Bytes that its controller lets be in flight.
    pub window: u64,
    /// The smoothed round trip; `None`: nothing was measured.
    pub round_trip: Option<Time>,
    /// Number of timeouts while it waited for an acknowledgement.
    pub timeouts: u64,
    /// Acknowledgements that echoed a mark.
    pub marks: u64,
}

/// Measurements of the transport of an endpoint, for tables, series and checks; those that it does not have keep
/// their default.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct TransportFacts {
    /// Segments that were sent again.
    pub retransmitted: u64,
    /// Frames that arrived and were of no use: out of order, twice, or too late.
    pub discarded: u64,
    /// Frames of data that have arrived and that its application has not got.
    pub undelivered: Undelivered,
    /// Its estimates of the path; `None`: it has none, or its queue pairs have them.
    pub congestion: Option<Congestion>,
    /// Times by cause of the wait; `None` if they are not counted, or counted by queue pair.
    pub held: Option<LimitedTimes>,
}

/// Events at the host of an endpoint, other than frames and timeouts.
#[derive(Clone, Copy, Debug)]
pub enum HostEvent<'a> {
    /// Of scheduled transfers, the one of this number among those that start as [`Time::NEVER`] begins now.
    Release(u32),
    /// An application at its host posts a message with these bytes after all others. [`Protocol::poll_ended`] returns `tag`, below
    /// [`HostEvent::MAX_TAG`], at either end once the message has ended there.
    Post {
        /// Label of the message.
        tag: u32,
        /// Its bytes; may be 0.
        bytes: u64,
    },
    /// Its next step begins then; only after [`Progress::waits`].
    Step(Time),
    /// Before [`Protocol::handle_frame`] of a frame of this kind whose header says that it has stamps: these, of its queue pair.
    Stamps {
        /// That of the frame.
        kind: FrameKind,
        /// Its queue pair.
        pair: u32,
        /// Telemetry written by switches.
        stamps: &'a Stamps,
    },
    /// Of messages without a transport, the last frame of the one of this number is on the link until then.
    Leaves {
        /// Number of the message; see [`frame::MessageHeader`].
        message: u32,
        /// When its last bit has left.
        until: Time,
    },
    /// Before [`Protocol::poll_transmit`]: it has waited for the NIC, and pauses have stopped its class there for so long.
    Stopped(Time),
    /// The link of its host sends at another rate from now on.
    LinkRate(BitRate),
    /// Frames arrive over the link of its host at another rate from now on.
    ArrivalRate(BitRate),
    /// Bit mask of the links from its host towards the peer that are down from now on: bit n for the n-th one.
    LinksDown(u16),
}

impl HostEvent<'_> {
    /// Labels of messages are below this: what remains of the immediate data of a message.
    pub const MAX_TAG: u32 = frame::RdmaHeader::OPERATIONS - 1;
}

/// Requests of an endpoint to its host, read together after each call.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Requests {
    /// Time of its next call; [`Time::NEVER`]: not before another event.
    pub call_at: Time,
    /// It has a segment for the NIC.
    pub has_work: bool,
    /// It may have records.
    pub has_records: bool,
}

/// Result of handling a frame.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Answer {
    /// Requests of the endpoint after the frame.
    pub requests: Requests,
    /// Segment to send at once.
    pub sent: Option<Segment>,
    /// Requests after that segment.
    pub then: Requests,
}

/// Progress of an endpoint whose steps wait for those of others at its host.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Progress {
    /// Steps that have begun.
    pub begun: u64,
    /// When the last of them did, and the one before.
    pub began: [Time; 2],
    /// Its own part of the last one is done.
    pub done: bool,
    /// There is one more to begin, at a time that is not yet determined.
    pub waits: bool,
    /// Time of a copy between this endpoint and another at its host; `None`: they begin steps together.
    pub copy: Option<Time>,
}

impl Progress {
    /// Time of its next step, which is the end of the last one, as far as the endpoint `other` at the same host is
    /// concerned; `None`: not yet determined.
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
/// The host keeps one timer per endpoint. After each call of [`handle_frame`], [`handle_timeout`] or
/// [`poll_transmit`] it reads [`poll_timeout`] and reschedules the timer, calls [`poll_record`] until there are no
/// more records, and reads [`has_work`] to determine whether the NIC may pull a segment; [`requests`] returns all
/// three at once. A new endpoint has no work: its first timeout is the start. An idle endpoint costs only its memory.
///
/// [`handle_frame`]: Protocol::handle_frame
/// [`handle_timeout`]: Protocol::handle_timeout
/// [`poll_transmit`]: Protocol::poll_transmit
/// [`poll_timeout`]: Protocol::poll_timeout
/// [`poll_record`]: Protocol::poll_record
/// [`requests`]: Protocol::requests
/// [`has_work`]: Protocol::has_work
pub trait Protocol {
    /// A frame from the peer has arrived.
    fn handle_frame(&mut self, now: Time, received: &Received);

    /// The time of [`Protocol::poll_timeout`] has come. Harmless at any other time. Afterwards the next
    /// timeout is later than `now`.
    fn handle_timeout(&mut self, now: Time);

    /// [`Protocol::handle_timeout`] at a NIC in which frames of the endpoint may still wait. `is_queued` returns true if one of a
    /// queue pair does: the packet of a number (24 bits, as on the wire), or any. A timer of the endpoint starts when its packet
    /// leaves, so that one whose packet has not left yet does not expire.
    fn handle_timeout_at(&mut self, now: Time, is_queued: &dyn Fn(u32, Option<u32>) -> bool) {
        let _ = is_queued;
        self.handle_timeout(now);
    }

    /// When to call [`Protocol::handle_timeout`]; `None`: not before something else happens.
    fn poll_timeout(&self) -> Option<Time>;

    /// Returns true if [`Protocol::poll_transmit`] would return a segment. It changes only in the three calls above.
    fn has_work(&self) -> bool;

    /// The next segment for the peer, which leaves now; `None`: nothing to send.
    fn poll_transmit(&mut self, now: Time) -> Option<Segment>;

    /// Entropy value of the segment that [`Protocol::poll_transmit`] returns next, where a NIC with several links chooses one by it; 0: none.
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

    /// Returns its requests to its host.
    fn requests(&self) -> Requests {
        Requests {
            call_at: self.poll_timeout().unwrap_or(Time::NEVER),
            has_work: self.has_work(),
            has_records: self.has_records(),
        }
    }

    /// [`Protocol::handle_frame`], and what it requests then. If that is to send, and its link is `free`,
    /// [`Protocol::transmit`] as well.
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

    /// [`Protocol::poll_transmit`], and what it requests then.
    fn transmit(&mut self, now: Time) -> (Option<Segment>, Requests) {
        let segment = self.poll_transmit(now);
        (segment, self.requests())
    }

    /// Returns the measurements of its transport so far, and its estimates of the path.
    fn facts(&self, _now: Time) -> TransportFacts {
        TransportFacts::default()
    }

    /// Bytes that it has taken beside itself.
    fn memory_bytes(&self) -> usize {
        0
    }

    /// Progress, if its steps wait for those of other endpoints at its host.
    fn progress(&self) -> Option<Progress> {
        None
    }

    /// Something has happened at its host. Returns true if that may have changed what it requests.
    fn on_event(&mut self, _now: Time, _event: &HostEvent<'_>) -> bool {
        false
    }

    /// Of scheduled transfers: the number of one that others wait for and that has ended since: acknowledged at the end that begins
    /// it, delivered at the other one.
    fn poll_ended(&mut self) -> Option<u32> {
        None
    }

    /// [`Protocol::poll_ended`], and the times of that message at the end that posted it, where the transport measures them.
    fn poll_ended_with_times(&mut self) -> Option<(u32, Option<MessageTimes>)> {
        self.poll_ended().map(|ended| (ended, None))
    }

    /// Before [`Protocol::handle_frame`] of a frame that arrived marked: returns the notification that its NIC sends to the peer at once, ahead of all
    /// queued segments. `port`: when the next such frame of the whole NIC may leave, if it counts them together.
    fn notify(&mut self, _now: Time, _received: &Received, _port: &mut Time) -> Option<Segment> {
        None
    }

    /// Returns true if the endpoint makes use of a data frame whose payload was trimmed on its way, as a report of a loss. Frames that
    /// are of no use to it the host discards.
    fn accepts_trimmed(&self) -> bool {
        false
    }

    /// The stamps that a frame takes along whose header says that it has some, and which its queue pair has just made; `None`: the
    /// switches on its way have yet to write them.
    fn stamps(&self, _pair: u32) -> Option<&Stamps> {
        None
    }
}
