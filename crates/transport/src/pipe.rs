//! Two endpoints and a wire in each direction, for tests. A wire has a rate and a delay, and may lose, mark, trim,
//! duplicate or reorder frames.

use crate::{ConnectionSpec, HostEvent, PathFacts, Protocol, Received, Record, Segment};
use frame::{FrameKind, Header, Stamp, Stamps, Trim};
use rand::SeedableRng;
use rand_xoshiro::Xoshiro256PlusPlus;
use std::cmp::Reverse;
use std::collections::BinaryHeap;
use units::{BitRate, Time};

/// The effects of the wire on a frame.
#[derive(Clone, Copy, Debug, Default)]
pub struct Outcome {
    pub lost: bool,
    /// True if the payload is trimmed, in case the frame is data.
    pub trimmed: bool,
    pub marked: bool,
    /// True if the frame arrives a second time, a microsecond later.
    pub twice: bool,
    /// Additional delay.
    pub extra: Time,
}

/// Loses the n-th frames that the near end sends, counted from 0.
pub fn losing(lost: &[usize]) -> impl FnMut(usize, &Segment) -> Outcome {
    losing_of(0, lost)
}

/// Loses the n-th frames that this end sends, counted from 0.
pub fn losing_of(sender: usize, lost: &[usize]) -> impl FnMut(usize, &Segment) -> Outcome {
    let mut sent = 0;
    move |end, _| {
        let hit = end == sender && lost.contains(&sent);
        sent += usize::from(end == sender);
        Outcome { lost: hit, ..Outcome::default() }
    }
}

/// A frame that was sent: the sending end, the time, and the state of the sender at that time.
#[derive(Clone, Copy, Debug)]
pub struct Sent {
    pub end: usize,
    pub at: Time,
    pub segment: Segment,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
enum Event {
    Free,
    Arrives(usize),
    Timeout,
}

/// Runs two endpoints like a host does: polls after each call, and sends while the wire is free.
pub struct Pipe<A, B> {
    pub near: A,
    pub far: B,
    pub rate: BitRate,
    pub delay: Time,
    pub sent: Vec<Sent>,
    /// Arrivals: the end, the time, and the frame.
    pub arrived: Vec<(usize, Time, Received)>,
    pub records: Vec<Record>,
    busy_until: [Time; 2],
    next_notice: [Time; 2],
    /// Events in order of time; simultaneous events in order of creation.
    events: BinaryHeap<Reverse<(Time, usize, usize, Event)>>,
    in_transit: Vec<(Received, Option<Stamps>)>,
    /// Bytes sent by each end.
    sent_bytes: [u64; 2],
    made: usize,
    pub now: Time,
}

/// Connects both endpoints of a connection by a pipe.
pub fn connect(spec: &ConnectionSpec, rate: BitRate, delay: Time) -> Pipe<crate::Endpoint, crate::Endpoint> {
    assert_eq!(spec.check(), Ok(()));
    let stream = Xoshiro256PlusPlus::seed_from_u64;
    let facts = PathFacts::new(rate, delay + delay, 0, 0);
    let (near, far) = spec.start(&[].into(), [facts; 2], [stream(1), stream(2)]);
    Pipe::new(near, far, rate, delay)
}

impl<A: Protocol, B: Protocol> Pipe<A, B> {
    pub fn new(near: A, far: B, rate: BitRate, delay: Time) -> Pipe<A, B> {
        let mut pipe = Pipe {
            near,
            far,
            rate,
            delay,
            sent: vec![],
            arrived: vec![],
            records: vec![],
            busy_until: [Time::ZERO; 2],
            next_notice: [Time::ZERO; 2],
            events: BinaryHeap::new(),
            in_transit: vec![],
            sent_bytes: [0; 2],
            made: 0,
            now: Time::ZERO,
        };
        for end in 0..2 {
            assert!(!pipe.end(end).has_work(), "a new endpoint has work before its start");
            pipe.arm(end);
        }
        pipe
    }

    /// Runs until no event is left, or until `until`. `outcome` receives the index of the sending end and the frame.
    pub fn run(&mut self, until: Time, mut outcome: impl FnMut(usize, &Segment) -> Outcome) {
        while let Some(&Reverse((at, _, end, event))) = self.events.peek()
            && at < until
        {
            self.events.pop();
            assert!(at >= self.now, "a timeout in the past");
            self.now = at;
            match event {
                Event::Free => {}
                Event::Arrives(frame) => {
                    let (received, stamps) = self.in_transit[frame];
                    self.arrived.push((end, at, received));
                    if let (Some(stamps), Some(Header::Rdma(header))) = (stamps, received.header) {
                        let event =
                            HostEvent::Stamps { kind: received.kind, pair: header.pair, stamps: &stamps };
                        self.end(end).on_event(at, &event);
                    }
                    self.deliver(end, &received, &mut outcome);
                    self.end(end).handle_frame(at, &received);
                }
                Event::Timeout if self.end(end).poll_timeout() == Some(at) => {
                    self.end(end).handle_timeout(at);
                    assert!(
                        self.end(end).poll_timeout().is_none_or(|next| next > at),
                        "the next timeout is not later than the last one"
                    );
                }
                Event::Timeout => continue,
            }
            self.settle(end, &mut outcome);
        }
    }

    /// Reschedules an end whose requests have changed through something other than a frame or a timeout.
    pub fn wake(&mut self, end: usize) {
        self.push(self.now, end, Event::Free);
    }

    /// Runs without loss, marks and reordering.
    pub fn run_clean(&mut self, until: Time) {
        self.run(until, |_, _| Outcome::default());
    }

    /// Returns the segments that an end sent.
    pub fn sent_by(&self, end: usize) -> Vec<(Time, Segment)> {
        self.sent.iter().filter(|sent| sent.end == end).map(|sent| (sent.at, sent.segment)).collect()
    }

    /// Returns the time that a frame takes on the wire.
    pub fn wire(&self, bytes: u64) -> Time {
        self.rate.time_for_bits_ceil(bytes * 8)
    }

    fn settle(&mut self, end: usize, outcome: &mut impl FnMut(usize, &Segment) -> Outcome) {
        if self.busy_until[end] <= self.now {
            let (now, has_work) = (self.now, self.end(end).has_work());
            let segment = self.end(end).poll_transmit(now);
            assert_eq!(segment.is_some(), has_work, "has_work disagrees with poll_transmit");
            if let Some(segment) = segment {
                self.transmit(end, segment, outcome(end, &segment));
            }
        }
        self.assert_wishes(end);
        while let Some(record) = self.end(end).poll_record() {
            self.records.push(record);
        }
        self.arm(end);
    }

    /// Delivers a notification from an end's NIC to the other end at once.
    fn deliver(
        &mut self,
        end: usize,
        received: &Received,
        outcome: &mut impl FnMut(usize, &Segment) -> Outcome,
    ) {
        let (now, mut port) = (self.now, self.next_notice[end]);
        let reply = received.congestion_experienced.then(|| self.end(end).notify(now, received, &mut port));
        self.next_notice[end] = port;
        if let Some(segment) = reply.flatten() {
            let what = outcome(end, &segment);
            self.transmit(end, segment, what);
        }
    }

    /// Checks that `requests` of an end agrees with the three separate getters.
    fn assert_wishes(&mut self, end: usize) {
        let it = self.end(end);
        let requests = it.requests();
        assert_eq!(requests.call_at, it.poll_timeout().unwrap_or(Time::NEVER));
        assert_eq!(requests.has_work, it.has_work());
        if !requests.has_records {
            assert_eq!(it.poll_record(), None);
        }
    }

    fn transmit(&mut self, end: usize, segment: Segment, outcome: Outcome) {
        assert!(segment.bytes > 0);
        self.sent.push(Sent { end, at: self.now, segment });
        let gone = self.now + self.wire(segment.bytes.into());
        let stamps = self.stamped(end, &segment);
        self.sent_bytes[end] += u64::from(segment.bytes);
        self.busy_until[end] = gone;
        self.push(gone, end, Event::Free);
        let cut = outcome.trimmed && segment.kind == FrameKind::Data;
        let trim = if cut { Trim::Trimmed } else { Trim::Whole };
        if !outcome.lost && (!cut || self.end(1 - end).accepts_trimmed()) {
            let received = Received {
                bytes: if trim == Trim::Whole { segment.bytes } else { segment.bytes.min(128) },
                congestion_experienced: outcome.marked && segment.ecn_capable,
                created: self.now,
                trim,
                ..Received::from(&segment)
            };
            self.in_transit.push((received, stamps));
            let arrives = Event::Arrives(self.in_transit.len() - 1);
            let at = gone + self.delay + outcome.extra;
            self.push(at, 1 - end, arrives);
            if outcome.twice {
                self.push(at + Time::from_us(1), 1 - end, arrives);
            }
        }
    }

    /// Returns the stamps that a segment takes along. The wire is the only hop.
    fn stamped(&mut self, end: usize, segment: &Segment) -> Option<Stamps> {
        let header = *segment.header.as_ref()?.rdma().filter(|header| header.telemetry.has_stamps())?;
        if segment.kind != FrameKind::Data {
            return self.end(end).stamps(header.pair).copied();
        }
        let mut stamps = Stamps::default();
        let (at, sent, rate) = (self.now, self.sent_bytes[end], self.rate);
        stamps.push(0, Stamp { at, sent, queue: 0, rate }, 1);
        Some(stamps)
    }

    fn arm(&mut self, end: usize) {
        if let Some(at) = self.end(end).poll_timeout() {
            self.push(at, end, Event::Timeout);
        }
    }

    fn push(&mut self, at: Time, end: usize, event: Event) {
        self.made += 1;
        self.events.push(Reverse((at, self.made, end, event)));
    }

    fn end(&mut self, end: usize) -> &mut dyn Protocol {
        if end == 0 { &mut self.near } else { &mut self.far }
    }
}
