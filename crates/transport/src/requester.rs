//! The client of a request-response application.
//!
//! A number of slots (`outstanding`) send requests concurrently. Each slot sends a request in segments, waits for the
//! whole response, waits for a fixed or exponential think time, and sends the next request. All slots send their first
//! request at the start. Requests are sent in the order in which they become due. Each exchange has a record, from the
//! time at which the request is due (which includes the wait for the NIC) until the last segment of the response
//! arrives.
//!
//! With a `timeout`, an exchange that makes no progress for that time (since the request was sent or a segment of the
//! response arrived) is repeated as a whole, so that the server may process it twice. Without it, a lost frame stops
//! the slot for good.
//!
//! Source: E. D. Lazowska et al., "Quantitative System Performance", chapter 4 (terminals with think times: a closed
//! class); A. D. Birrell and B. J. Nelson, "Implementing Remote Procedure Calls", ACM TOCS 2(1), 1984, section 3 (the
//! response acknowledges the request; repetition after a timeout).
//!
//! Not modelled: a window (all segments of a message are sent as fast as the NIC accepts them); retransmission of
//! single segments, so that a message never arrives if a queue drops a part of it each time, as with IP fragments (C.
//! A. Kent and J. C. Mogul, "Fragmentation Considered Harmful", SIGCOMM 1987); headers above Ethernet; detection of
//! repeated requests by the server (at-most-once semantics).

use crate::RequestResponseSpec;
use crate::delay::Delay;
use crate::endpoint::{Protocol, Received, Record, RecordKind, Segment, TransportFacts};
use crate::exchange::{Label, Message};
use frame::FrameKind;
use rand_xoshiro::Xoshiro256PlusPlus;
use std::collections::VecDeque;
use units::Time;

/// Sends requests.
#[derive(Clone, Debug)]
pub struct Requester {
    request: Message,
    response: Message,
    think: Delay,
    timeout: Option<Time>,
    stop: Time,
    ecn_capable: bool,
    rng: Xoshiro256PlusPlus,
    slots: Box<[Slot]>,
    /// Slots that send their request, in the order in which they became due.
    sending: VecDeque<u8>,
    /// Number of requests that may still begin.
    remaining: u64,
    /// Earliest timeout of any slot.
    next_timeout: Option<Time>,
    retransmitted: u64,
    discarded: u64,
    records: VecDeque<Record>,
}

/// One of the outstanding requests.
#[derive(Clone, Copy, Debug)]
struct Slot {
    turn: u8,
    /// Time at which the request became due.
    due: Time,
    phase: Phase,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Phase {
    /// The slot waits until [`Slot::due`] before it sends the next request.
    Thinking,
    /// This many segments of the request have been sent.
    Sending { sent: u32 },
    /// This many segments of the response have arrived.
    Waiting { received: u32, deadline: Option<Time> },
    /// No further request follows.
    Done,
}

impl Requester {
    /// Creates a requester. It begins at `start`, and begins no request from `stop` on. No other user may draw from
    /// `rng`.
    pub fn new(
        spec: &RequestResponseSpec,
        start: Time,
        stop: Option<Time>,
        rng: Xoshiro256PlusPlus,
    ) -> Requester {
        let slot = Slot { turn: 0, due: start, phase: Phase::Thinking };
        let mut requester = Requester {
            request: spec.request_message(),
            response: spec.response_message(),
            think: spec.think,
            timeout: spec.timeout,
            stop: stop.unwrap_or(Time::NEVER),
            ecn_capable: spec.ecn_capable,
            rng,
            slots: vec![slot; usize::from(spec.outstanding)].into(),
            sending: VecDeque::with_capacity(usize::from(spec.outstanding)),
            remaining: spec.requests.unwrap_or(u64::MAX),
            next_timeout: None,
            retransmitted: 0,
            discarded: 0,
            records: VecDeque::new(),
        };
        (0..requester.slots.len()).for_each(|slot| requester.think_until(slot, start));
        requester.schedule();
        requester
    }

    /// Schedules the next request of a slot, unless the requester has stopped.
    fn think_until(&mut self, slot: usize, due: Time) {
        let phase = if due < self.stop && self.remaining > 0 { Phase::Thinking } else { Phase::Done };
        let slot = &mut self.slots[slot];
        (slot.due, slot.phase) = (due, phase);
    }

    fn send_request(&mut self, slot: usize) {
        self.slots[slot].turn = self.slots[slot].turn.wrapping_add(1);
        self.slots[slot].phase = Phase::Sending { sent: 0 };
        self.sending.push_back(slot as u8);
    }

    fn schedule(&mut self) {
        let waits_for = |slot: &Slot| match slot.phase {
            Phase::Thinking => Some(slot.due),
            Phase::Waiting { deadline, .. } => deadline,
            Phase::Sending { .. } | Phase::Done => None,
        };
        self.next_timeout = self.slots.iter().filter_map(waits_for).min();
    }

    fn deadline(&self, now: Time) -> Option<Time> {
        self.timeout.map(|timeout| now.saturating_add(timeout))
    }

    fn complete(&mut self, slot: usize, now: Time) {
        let bytes = self.request.bytes() + self.response.bytes();
        let start = self.slots[slot].due;
        self.records.push_back(Record { kind: RecordKind::Exchange, start, end: now, bytes });
        let think = self.think.draw(&mut self.rng);
        self.think_until(slot, now.saturating_add(think));
        if think == Time::ZERO {
            self.begin_due(slot, now);
        }
    }

    fn begin_due(&mut self, slot: usize, now: Time) {
        if self.slots[slot].phase != Phase::Thinking || self.slots[slot].due > now {
            return;
        }
        if self.remaining == 0 {
            self.slots[slot].phase = Phase::Done;
            return;
        }
        self.remaining -= 1;
        self.send_request(slot);
    }
}

impl Protocol for Requester {
    fn handle_frame(&mut self, now: Time, received: &Received) {
        let label = Label::from_word(received.word);
        let slot = usize::from(label.slot);
        let current =
            self.slots.get(slot).filter(|it| it.turn == label.turn && received.kind == FrameKind::Data);
        let Some(Phase::Waiting { received, .. }) = current.map(|it| it.phase) else {
            self.discarded += 1;
            return;
        };
        let received = received + 1;
        if received == self.response.segments() {
            self.complete(slot, now);
        } else {
            self.slots[slot].phase = Phase::Waiting { received, deadline: self.deadline(now) };
        }
        self.schedule();
    }

    fn handle_timeout(&mut self, now: Time) {
        for slot in 0..self.slots.len() {
            match self.slots[slot].phase {
                Phase::Waiting { deadline: Some(deadline), .. } if deadline <= now => {
                    self.retransmitted += u64::from(self.request.segments());
                    self.send_request(slot);
                }
                _ => self.begin_due(slot, now),
            }
        }
        self.schedule();
    }

    fn poll_timeout(&self) -> Option<Time> {
        self.next_timeout
    }

    fn has_work(&self) -> bool {
        !self.sending.is_empty()
    }

    fn poll_transmit(&mut self, now: Time) -> Option<Segment> {
        let first = *self.sending.front()?;
        let deadline = self.deadline(now);
        let slot = &mut self.slots[usize::from(first)];
        let Phase::Sending { sent } = slot.phase else { return None };
        let label = Label { slot: first, turn: slot.turn, segment: sent as u16 };
        if sent + 1 < self.request.segments() {
            slot.phase = Phase::Sending { sent: sent + 1 };
        } else {
            slot.phase = Phase::Waiting { received: 0, deadline };
            self.sending.pop_front();
            self.schedule();
        }
        let (word, bytes) = (label.word(), self.request.frame_bytes(sent));
        Some(Segment { ecn_capable: self.ecn_capable, ..Segment::new(FrameKind::Data, word, bytes) })
    }

    fn poll_record(&mut self) -> Option<Record> {
        self.records.pop_front()
    }
    fn facts(&self, _now: Time) -> TransportFacts {
        TransportFacts {
            retransmitted: self.retransmitted,
            discarded: self.discarded,
            ..TransportFacts::default()
        }
    }
}
