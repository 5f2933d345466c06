//! The server of a request-response application.
//!
//! A complete request is processed for a fixed or exponential service time. Then the response is sent in segments;
//! responses are sent in the order in which they are ready. Requests are processed concurrently, without queueing. A
//! repeated request replaces the earlier one, in whatever state that is.
//!
//! Source: E. D. Lazowska et al., "Quantitative System Performance", chapter 4 (a delay centre: service without
//! queueing); Birrell and Nelson, ACM TOCS 2(1), 1984, section 3.
//!
//! Not modelled: a server with few processors, at which requests queue; detection of repeated requests (they are
//! processed again).

use crate::RequestResponseSpec;
use crate::delay::Delay;
use crate::endpoint::{Protocol, Received, Segment, TransportFacts, Undelivered};
use crate::exchange::{Label, Message, is_later};
use frame::FrameKind;
use rand_xoshiro::Xoshiro256PlusPlus;
use std::collections::VecDeque;
use units::Time;

/// Responds to requests.
#[derive(Clone, Debug)]
pub struct Responder {
    request: Message,
    response: Message,
    service: Delay,
    ecn_capable: bool,
    rng: Xoshiro256PlusPlus,
    slots: Box<[Slot]>,
    /// Slots that send their response, in the order in which they became ready.
    sending: VecDeque<u8>,
    /// Time at which the next service ends.
    next_timeout: Option<Time>,
    discarded: u64,
    undelivered: Undelivered,
}

/// The state of the latest request of a slot.
#[derive(Clone, Copy, Debug)]
struct Slot {
    turn: u8,
    phase: Phase,
}

#[derive(Clone, Copy, Debug)]
enum Phase {
    /// This many segments of the request have arrived.
    Receiving { received: u32 },
    /// The request is served until this time.
    Serving { until: Time },
    /// This many segments of the response have been sent.
    Sending { sent: u32 },
    /// The response has been sent.
    Done,
}

impl Responder {
    /// Creates a responder. No other user may draw from `rng`.
    pub fn new(spec: &RequestResponseSpec, rng: Xoshiro256PlusPlus) -> Responder {
        let outstanding = usize::from(spec.outstanding);
        Responder {
            request: spec.request_message(),
            response: spec.response_message(),
            service: spec.service,
            ecn_capable: spec.ecn_capable,
            rng,
            // The first request of a slot has turn 1, which counts as later than 0.
            slots: vec![Slot { turn: 0, phase: Phase::Done }; outstanding].into(),
            sending: VecDeque::with_capacity(outstanding),
            next_timeout: None,
            discarded: 0,
            undelivered: Undelivered::default(),
        }
    }

    fn serve(&mut self, slot: usize, now: Time) {
        let time = self.service.draw(&mut self.rng);
        if time == Time::ZERO {
            self.answer(slot);
        } else {
            self.slots[slot].phase = Phase::Serving { until: now.saturating_add(time) };
            self.schedule();
        }
    }

    fn answer(&mut self, slot: usize) {
        self.slots[slot].phase = Phase::Sending { sent: 0 };
        self.sending.push_back(slot as u8);
    }

    fn schedule(&mut self) {
        let ends = |slot: &Slot| match slot.phase {
            Phase::Serving { until } => Some(until),
            _ => None,
        };
        self.next_timeout = self.slots.iter().filter_map(ends).min();
    }
}

impl Protocol for Responder {
    fn handle_frame(&mut self, now: Time, received: &Received) {
        let label = Label::from_word(received.word);
        let at = usize::from(label.slot);
        let Some(slot) = self.slots.get_mut(at).filter(|_| received.kind == FrameKind::Data) else {
            self.discarded += 1;
            return;
        };
        if is_later(label.turn, slot.turn) {
            if let Phase::Receiving { received } = slot.phase {
                // The request was abandoned; none of it was delivered to the application.
                (0..received).for_each(|nth| self.undelivered.add(self.request.frame_bytes(nth)));
            }
            *slot = Slot { turn: label.turn, phase: Phase::Receiving { received: 0 } };
            self.sending.retain(|&sending| sending != label.slot);
            self.schedule();
        }
        let slot = &mut self.slots[at];
        match &mut slot.phase {
            Phase::Receiving { received } if slot.turn == label.turn => {
                *received += 1;
                if *received == self.request.segments() {
                    self.serve(at, now);
                }
            }
            _ => {
                self.discarded += 1;
                self.undelivered.add(received.bytes);
            }
        }
    }

    fn handle_timeout(&mut self, now: Time) {
        // Services end in order of time; simultaneous ones in order of slots.
        while let Some(ends) = self.next_timeout.filter(|&ends| ends <= now) {
            for slot in 0..self.slots.len() {
                if matches!(self.slots[slot].phase, Phase::Serving { until } if until == ends) {
                    self.answer(slot);
                }
            }
            self.schedule();
        }
    }

    fn poll_timeout(&self) -> Option<Time> {
        self.next_timeout
    }

    fn has_work(&self) -> bool {
        !self.sending.is_empty()
    }

    fn poll_transmit(&mut self, _now: Time) -> Option<Segment> {
        let first = *self.sending.front()?;
        let slot = &mut self.slots[usize::from(first)];
        let Phase::Sending { sent } = slot.phase else { return None };
        let label = Label { slot: first, turn: slot.turn, segment: sent as u16 };
        if sent + 1 < self.response.segments() {
            slot.phase = Phase::Sending { sent: sent + 1 };
        } else {
            slot.phase = Phase::Done;
            self.sending.pop_front();
        }
        let (word, bytes) = (label.word(), self.response.frame_bytes(sent));
        Some(Segment { ecn_capable: self.ecn_capable, ..Segment::new(FrameKind::Data, word, bytes) })
    }

    fn facts(&self, _now: Time) -> TransportFacts {
        TransportFacts {
            discarded: self.discarded,
            undelivered: self.undelivered,
            ..TransportFacts::default()
        }
    }
}
