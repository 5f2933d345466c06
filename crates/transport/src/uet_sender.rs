//! Sending end of Ultra Ethernet Transport between two hosts: a packet delivery context and the messages that it takes.
//!
//! Messages are the scheduled transfers from one host to the other, or those of a flow: one of everything, or one after the
//! other of the size `message`. They are posted to one packet delivery context (PDC), which numbers their packets in order. A packet
//! leaves as soon as the window has room for it, lost ones first; packets are acknowledged in any order. It requests an
//! acknowledgement if it is sent again, or if no other packet can follow.
//!
//! The retransmission timer runs for the oldest packet in flight. A packet that expires, or that a NACK names as trimmed, is
//! lost and sent again. After `retries` timeouts in a row without progress the context has failed and sends nothing any more.
//! A round trip counts if its packet was sent once, or if it was sent twice and the acknowledgement says that it answers the
//! second transmission.
//!
//! Source: Ultra Ethernet Specification 1.0, sections 3.5 (packet delivery) and 3.6 (congestion management), and uet-htsim 40ccb05,
//! `uec.cpp`, for values that are left to implementations.
//!
//! Not modelled: establishing and closing contexts (SYN, close requests); several contexts between two hosts; security; addressing and
//! matching of messages by the semantic sublayer, whose headers take their room.

use crate::endpoint::{
    Congestion, HostEvent, Protocol, Received, Record, RecordKind, Segment, TransportFacts,
};
use crate::rdma::RdmaWord;
use crate::room::Append;
use crate::transfer_sender::TransferOutcome;
use crate::uet::{DeliveryContext, Done, PullPacer, UetFacts, UetMode, UetSpec};
use frame::{FrameKind, Header, UetHeader};
use std::collections::VecDeque;
use std::ops::Range;
use std::sync::Arc;
use units::Time;
use workload::Due;

/// Number of a transfer that is none.
const NO_TRANSFER: u32 = u32::MAX;
/// Bytes of a message without end.
const ENDLESS: u64 = u64::MAX >> 8;

/// Sends messages over Ultra Ethernet Transport.
#[derive(Clone, Debug)]
pub struct UetSender {
    spec: Arc<UetSpec>,
    line: f64,
    due: Arc<[Due]>,
    /// Transfers with a start that have begun, and the start of the next one or [`Time::NEVER`].
    begun: usize,
    begins: Time,
    /// Of transfers that have begun, and of those before them.
    outcomes: Vec<TransferOutcome>,
    /// By transfer, the last packet of its message.
    last_psn: Vec<u64>,
    /// Acknowledged transfers that others depend on.
    ended: VecDeque<u32>,
    flow: Flow,
    context: DeliveryContext,
    records: VecDeque<Record>,
    discarded: u64,
}

/// Messages of a flow.
#[derive(Clone, Copy, Debug)]
struct Flow {
    start: Time,
    stop: Time,
    /// Bytes to post.
    left: u64,
}

impl UetSender {
    /// A sender of these transfers, in order of their starts; without any, of the messages of a flow from `start` to `stop`.
    pub fn new(
        spec: &Arc<UetSpec>,
        due: Arc<[Due]>,
        facts: UetFacts,
        start: Time,
        stop: Option<Time>,
    ) -> UetSender {
        let left = if due.is_empty() { spec.total.unwrap_or(ENDLESS) } else { 0 };
        let stop = stop.filter(|_| left > 0).unwrap_or(Time::NEVER);
        UetSender {
            line: facts.rate.bps_f64(),
            context: DeliveryContext::new(spec, facts),
            spec: spec.clone(),
            begins: start_of(&due, 0),
            due,
            begun: 0,
            outcomes: Vec::new(),
            last_psn: Vec::new(),
            ended: VecDeque::new(),
            flow: Flow { start: if left > 0 { start } else { Time::NEVER }, stop, left },
            records: VecDeque::new(),
            discarded: 0,
        }
    }

    /// Its context draws paths from this seed.
    #[must_use]
    pub fn seeded(mut self, seed: u64) -> UetSender {
        self.context.choose_paths(seed);
        self
    }

    /// Shares state with the other contexts of its host, if its receiver grants credit.
    pub fn attach(&mut self, nic: &PullPacer) {
        self.context.attach(nic);
    }
    /// Returns true if its receiver grants credit.
    pub fn is_granted(&self) -> bool {
        self.spec.credits().is_some()
    }
    /// Posts a message of an application that decides when.
    pub(crate) fn send(&mut self, bytes: u64, now: Time) {
        self.context.post(NO_TRANSFER, now, bytes, false);
    }
    /// Its packet delivery context.
    pub fn context(&self) -> &DeliveryContext {
        &self.context
    }
    /// Name of the congestion control.
    pub fn control(&self) -> &'static str {
        self.spec.control.name()
    }
    /// Name of the delivery mode.
    pub fn mode(&self) -> &'static str {
        self.spec.mode_name()
    }
    /// Rate of its link in bits per second.
    pub fn line_rate(&self) -> f64 {
        self.line
    }
    /// Returns true if its messages are scheduled transfers.
    pub fn is_scheduled(&self) -> bool {
        !self.due.is_empty()
    }
    /// Of each transfer that has begun, by number.
    pub fn outcomes(&self) -> Vec<TransferOutcome> {
        let mut outcomes = self.outcomes.clone();
        for (transfer, missing, again, timeouts) in self.context.left() {
            if let Some(outcome) = outcomes.get_mut(transfer as usize) {
                (outcome.missing, outcome.sent_again, outcome.timeouts) = (missing, again, timeouts);
            }
        }
        outcomes
    }
    /// The last packet of the message of a transfer; `None`: it has not begun.
    pub fn last_psn(&self, transfer: usize) -> Option<u64> {
        self.last_psn.get(transfer).copied().filter(|&psn| psn > 0)
    }
    /// Returns true if nothing acknowledges its packets.
    pub fn is_unreliable(&self) -> bool {
        self.spec.mode == UetMode::Uud
    }
    /// Bytes that have not arrived of a message of so many bytes whose last packet is `last`. `arrived` counts packets of a range.
    pub(crate) fn missing_of(&self, last: u64, bytes: u64, arrived: impl Fn(Range<u64>) -> u64) -> u64 {
        let payload = u64::from(self.spec.payload);
        let packets = bytes.div_ceil(payload).max(1);
        bytes.saturating_sub(arrived(last + 1 - packets..last + 1) * payload)
    }
    /// Begins with the PSN after so many packets.
    #[cfg(test)]
    pub(crate) fn start_at(&mut self, psn: u64) {
        self.context.start_at(psn);
    }

    fn begin(&mut self, now: Time) {
        while self.begins <= now {
            let transfer = self.begun;
            self.begun += 1;
            self.begins = start_of(&self.due, self.begun);
            self.begin_one(transfer as u32, self.due[transfer]);
        }
    }

    fn begin_one(&mut self, transfer: u32, due: Due) {
        let reused = self.context.counts.sent > 0;
        let outcome = TransferOutcome { reused, connection: 0, ..TransferOutcome::waiting(due.bytes) };
        TransferOutcome::note(&mut self.outcomes, &self.due, transfer, outcome);
        self.last_psn.resize(self.outcomes.len(), 0);
        self.last_psn[transfer as usize] = self.context.post(transfer, due.start, due.bytes, due.awaited);
    }

    /// Posts the next message of a flow when the one before has been sent.
    fn supply(&mut self, now: Time) {
        if self.flow.start > now {
            return;
        }
        while self.flow.left > 0 && self.context.has_sent_all() {
            let bytes = self.spec.message.unwrap_or(u64::MAX).min(self.flow.left);
            self.flow.left -= if self.spec.total.is_some() || bytes == ENDLESS { bytes } else { 0 };
            self.context.post(NO_TRANSFER, now, bytes, false);
        }
        self.flow.start = Time::NEVER;
    }

    /// The context has changed.
    fn update(&mut self, now: Time) {
        if self.context.has_done() {
            self.take_done(now);
        }
        if self.context.has_record() {
            self.records.extend(self.context.poll_record());
        }
        if self.flow.left > 0 && self.context.has_sent_all() {
            self.flow.start = self.flow.start.min(now);
            self.supply(now);
        }
    }

    fn take_done(&mut self, now: Time) {
        for Done { transfer, start, bytes, retransmitted, timeouts } in self.context.take_done() {
            self.records.append_one(Record { kind: RecordKind::Transfer, start, end: now, bytes });
            if self.due.is_empty() && transfer != NO_TRANSFER {
                self.ended.append_one(transfer);
            }
            let Some(outcome) = self.outcomes.get_mut(transfer as usize) else {
                continue;
            };
            if self.spec.mode != UetMode::Uud {
                (outcome.acknowledged, outcome.missing) = (now, 0);
            }
            (outcome.sent_again, outcome.timeouts) = (retransmitted, timeouts);
            if self.due.get(transfer as usize).is_some_and(|due| due.awaited) {
                self.ended.append_one(transfer);
            }
        }
    }
}

/// Start of a scheduled transfer, or [`Time::NEVER`].
fn start_of(due: &[Due], transfer: usize) -> Time {
    due.get(transfer).map_or(Time::NEVER, |due| due.start)
}

/// The header of a frame, also of one whose word says everything.
pub(crate) fn header_of(received: &Received) -> UetHeader {
    match received.header {
        Some(Header::Uet(header)) => header,
        _ => UetHeader { word: received.word, ..UetHeader::default() },
    }
}

impl Protocol for UetSender {
    fn handle_frame(&mut self, now: Time, received: &Received) {
        let header = header_of(received);
        let is_answer = matches!(received.kind, FrameKind::Ack | FrameKind::MarkedAck);
        if !is_answer || header.context != 0 || RdmaWord::of(header.word).pair != 0 {
            self.discarded += 1;
            return;
        }
        let marked = received.kind == FrameKind::MarkedAck;
        self.context.on_answer(now, &header, (marked, received.entropy));
        self.update(now);
    }

    fn handle_timeout(&mut self, now: Time) {
        self.handle_timeout_at(now, &|_, _| false);
    }

    fn handle_timeout_at(&mut self, now: Time, is_queued: &dyn Fn(u32, Option<u32>) -> bool) {
        self.begin(now);
        self.supply(now);
        if self.flow.stop <= now {
            self.flow = Flow { start: Time::NEVER, stop: Time::NEVER, left: 0 };
            self.context.close();
        }
        self.context.handle_timeout(now, is_queued);
    }

    fn poll_timeout(&self) -> Option<Time> {
        let first = self.begins.min(self.flow.start).min(self.flow.stop).min(self.context.deadline());
        (first < Time::NEVER).then_some(first)
    }

    fn has_work(&self) -> bool {
        self.context.has_work()
    }

    fn poll_transmit(&mut self, now: Time) -> Option<Segment> {
        let segment = self.context.transmit(now);
        self.update(now);
        segment
    }

    fn next_entropy(&mut self) -> u16 {
        self.context.next_entropy()
    }

    fn poll_record(&mut self) -> Option<Record> {
        self.records.pop_front()
    }
    fn has_records(&self) -> bool {
        !self.records.is_empty()
    }
    fn poll_ended(&mut self) -> Option<u32> {
        self.ended.pop_front()
    }
    fn memory_bytes(&self) -> usize {
        size_of::<UetSender>()
            + self.outcomes.capacity() * (size_of::<TransferOutcome>() + size_of::<u64>())
            + self.ended.capacity() * size_of::<u32>()
            + self.records.capacity() * size_of::<Record>()
            + self.context.memory_bytes()
    }
    fn facts(&self, _now: Time) -> TransportFacts {
        let counts = self.context.counts;
        TransportFacts {
            retransmitted: counts.retransmitted,
            discarded: self.discarded + self.context.discarded(),
            congestion: (self.context.window() < u64::MAX).then(|| Congestion {
                window: self.context.window(),
                round_trip: self.context.smoothed_round_trip(),
                timeouts: counts.timeouts,
                marks: counts.marks,
            }),
            ..TransportFacts::default()
        }
    }
    fn on_event(&mut self, now: Time, event: &HostEvent<'_>) -> bool {
        match *event {
            HostEvent::Release(transfer) => {
                if let Some(&due) = self.due.get(transfer as usize) {
                    self.begin_one(transfer, Due { start: now, ..due });
                }
            }
            HostEvent::Post { tag, bytes } => {
                self.context.post(tag, now, bytes, true);
            }
            HostEvent::LinkRate(rate) => {
                self.line = rate.bps_f64();
                self.context.on_link_rate(rate);
            }
            HostEvent::LinksDown(links) => self.context.on_links_down(Some(links), None),
            HostEvent::ArrivalRate(_)
            | HostEvent::Step(_)
            | HostEvent::Stamps { .. }
            | HostEvent::Stopped(_) => {}
        }
        matches!(event, HostEvent::LinkRate(_) | HostEvent::LinksDown(_))
    }
}
