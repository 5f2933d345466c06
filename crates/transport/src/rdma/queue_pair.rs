//! The sending end of a queue pair: messages cut into packets, outstanding packets, and the selection of the next one.
//!
//! A message is cut into packets of the MTU, each with the next packet sequence number (PSN, 24 bits on the wire). The
//! next packet is sent when the rate of the control allows it and it fits the window. Acknowledgements are cumulative;
//! a message is complete when its last packet is acknowledged. The last packet of a message requests an
//! acknowledgement, and so does a packet that fills the window.
//!
//! A NAK names the first missing packet: everything before it has arrived, and `recovery` determines the
//! retransmissions. If there is no progress for the timeout, the first outstanding packet and those after it are
//! retransmitted. After `retries` consecutive timeouts the queue pair enters the error state: it sends nothing any
//! more, and its remaining messages are lost.
//!
//! The retransmission timer runs while a response is possible: the first outstanding packet has been sent (or
//! retransmitted), and a packet that requests an acknowledgement is in flight. It does not run while that packet waits
//! for the pacer, a pause or the NIC. If the receiver acknowledges every n-th packet, a packet also requests an
//! acknowledgement when nothing was acknowledged or requested for `retries` + 1 timeouts, so that a dead path is
//! detected.
//!
//! After a NAK from a receiver that is not ready, the queue pair waits for `rnr_timer` and continues from the named
//! packet. After `rnr_retries` such NAKs in a row it also enters the error state. READ responses are sent in the same
//! way, except for the timeout: see `read`.
//!
//! One packet per round trip is timed, from the time at which the NIC takes it. Retransmitted packets are not timed.

mod facts;
mod next;
mod paths;
mod recurring;
mod serving;
mod spending;
mod timer;

use self::paths::Paths;
use super::RdmaController;
use super::control::{PathFacts, RdmaAck, RdmaControl, RdmaLoss};
pub use super::headers::{header_of, labelled};
use super::operation::Operation;
use super::psn::{self, Word};
use super::recovery::Recovery;
use super::spec::{RdmaSpec, RdmaVerb};
use crate::endpoint::{Protocol, Received, Record, RecordKind, Segment};
use crate::room::Append;
use crate::time_spent::{Clocks, MessageClock, MessageTimes, SpentClock};
use frame::{FrameKind, RdmaHeader, Stamps};
use recurrence::{Counts, Recurs};
use std::collections::VecDeque;
use std::sync::Arc;
use units::Time;

/// Length of an unlimited message, in bytes.
pub const ENDLESS: u64 = 1 << 62;

/// Marker for "no packet".
const NONE: u64 = u64::MAX;

/// The counters of a queue pair.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Counts)]
pub struct PairCounts {
    /// Packets sent.
    pub sent: u64,
    /// Packets that were retransmissions.
    pub retransmitted: u64,
    /// CNPs received.
    pub cnps: u64,
    /// NAKs received.
    pub naks: u64,
    /// Acknowledgements with an echoed mark received.
    pub marks: u64,
    /// Timeouts: no response arrived in time.
    pub timeouts: u32,
    /// Messages completed.
    pub messages: u64,
    /// Bytes of completed messages.
    pub bytes: u64,
    /// NAKs received from a receiver that is not ready.
    pub not_ready: u32,
    /// Fetches of the queue pair's context by the NIC.
    pub fetches: u64,
}

/// A completed message.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Done {
    /// Number of the scheduled transfer to which the message belongs.
    pub transfer: u32,
    /// Times at which it was posted and completed.
    pub start: Time,
    pub at: Time,
    /// Length of the message in bytes.
    pub bytes: u64,
    /// Number of retransmitted packets of the message, and of timeouts.
    pub again: u32,
    pub timeouts: u32,
    /// Times of the message by activity.
    pub times: MessageTimes,
    /// CNPs, marks and NAKs that the queue pair had received before the message.
    pub feedback_before: [u32; 3],
}

#[derive(Clone, Copy, Debug)]
struct Message {
    transfer: u32,
    again: u32,
    timeouts: u32,
    /// True if other transfers depend on its completion.
    awaited: bool,
    operation: Operation,
    start: Time,
    /// Number of the first packet, and number of packets.
    first: u64,
    packets: u64,
    /// Bytes of data before the message, bytes of extended headers before it, and bytes of data in it.
    before: u64,
    bytes: u64,
}

impl Message {
    fn end(&self) -> u64 {
        self.first + self.packets
    }
}

/// The sending end of a queue pair.
#[derive(Clone, Debug, Recurs)]
pub struct QueuePair {
    #[recurs(constant)]
    spec: Arc<RdmaSpec>,
    #[recurs(constant)]
    number: u32,
    window: u64,
    #[recurs(with = QueuePair::walk_control)]
    control: RdmaController,
    #[recurs(with = QueuePair::walk_recovery)]
    recovery: Recovery,
    /// Messages that have not been completed.
    #[recurs(with = QueuePair::walk_messages)]
    messages: VecDeque<Message>,
    /// Clocks that measure time by activity.
    #[recurs(measured)]
    clocks: Box<Clocks>,
    /// Index of the message whose packet was returned last.
    at: usize,
    /// Next packet to send if there is one and the window admits it, otherwise [`NONE`]. Updated wherever it may
    /// change.
    #[recurs(from = self.unacknowledged)]
    ready: u64,
    /// First unacknowledged packet, and the packet after the last one ever sent.
    #[recurs(scratch)]
    unacknowledged: u64,
    #[recurs(from = self.unacknowledged)]
    highest: u64,
    /// Number after the last packet of the last message, and bytes up to that packet.
    #[recurs(from = self.unacknowledged)]
    end: u64,
    #[recurs(scratch)]
    end_bytes: u64,
    /// Time and length of the last packet sent. The next one must not be sent before `due`.
    last: (Time, u32),
    #[recurs(past)]
    due: Time,
    closed: bool,
    retry: u32,
    /// Time before which the receiver or the NIC is not ready, and number of consecutive NAKs of a receiver that was
    /// not ready.
    #[recurs(past)]
    waits: Time,
    not_ready: u32,
    /// Packet for which the NIC is ready, or [`NONE`].
    #[recurs(from = self.unacknowledged)]
    admitted: u64,
    /// True if a request arrived before an earlier one, which is missing: a NAK is due.
    request_missing: bool,
    /// Packet named by the last such NAK, or [`NONE`].
    #[recurs(from = self.unacknowledged)]
    reported_missing: u64,
    /// Expiry of the retransmission timer; [`Time::NEVER`] if it does not run.
    deadline: Time,
    /// Packet up to which acknowledgements were requested, and the time of the last request or progress.
    #[recurs(with = QueuePair::walk_request)]
    requested: (u64, Time),
    /// Time at which the queue pair entered the error state, or [`Time::NEVER`].
    failed: Time,
    /// Packet whose round trip is timed, or [`NONE`], and the time at which it was sent.
    #[recurs(with = QueuePair::walk_timed)]
    timed: (u64, Time),
    /// Counters of the queue pair.
    #[recurs(measured)]
    pub counts: PairCounts,
    /// Results that have not been returned: completed messages, and a round trip from its start (or [`Time::NEVER`]) to
    /// its end.
    #[recurs(unless_empty = "messages that have ended and are not reported")]
    done: Vec<Done>,
    #[recurs(recorded)]
    round_trip: (Time, Time),
    #[recurs(measured)]
    discarded: u64,
    /// Path selection; `None` if all packets use the path of the flow.
    #[recurs(unless_empty = "paths by entropy")]
    paths: Option<Box<Paths>>,
}

impl QueuePair {
    /// Creates a queue pair without messages.
    pub fn new(spec: &Arc<RdmaSpec>, number: u32, facts: &PathFacts) -> QueuePair {
        QueuePair {
            number,
            window: spec.most_in_flight(facts),
            control: spec.start(facts),
            recovery: Recovery::new(spec.recovery),
            spec: spec.clone(),
            messages: VecDeque::new(),
            clocks: Box::new(Clocks {
                own: SpentClock::new(facts.rate, facts.overhead),
                begun: VecDeque::new(),
            }),
            at: 0,
            ready: NONE,
            unacknowledged: 0,
            highest: 0,
            end: 0,
            end_bytes: 0,
            last: (Time::ZERO, 0),
            due: Time::ZERO,
            closed: false,
            retry: 0,
            waits: Time::ZERO,
            not_ready: 0,
            admitted: NONE,
            request_missing: false,
            reported_missing: NONE,
            deadline: Time::NEVER,
            requested: (0, Time::ZERO),
            failed: Time::NEVER,
            timed: (NONE, Time::ZERO),
            counts: PairCounts::default(),
            done: Vec::new(),
            round_trip: (Time::NEVER, Time::NEVER),
            discarded: 0,
            paths: None,
        }
    }

    /// Starts in the state after this many packets have been sent and acknowledged.
    #[cfg(test)]
    pub(crate) fn start_at(&mut self, packet: u64) {
        (self.unacknowledged, self.highest, self.end) = (packet, packet, packet);
        self.recovery.on_progress(packet);
        self.work_out();
    }

    /// Appends a message with the verb of the queue pair; `awaited` if other transfers depend on its completion.
    pub fn post(&mut self, transfer: u32, start: Time, bytes: u64, awaited: bool) {
        self.post_as(self.spec.verb.operation(), transfer, start, bytes, awaited);
    }

    /// Appends a message with this operation. A READ request has no data and a single packet.
    pub fn post_as(&mut self, operation: Operation, transfer: u32, start: Time, bytes: u64, awaited: bool) {
        let packets = bytes.div_ceil(self.spec.mtu.into()).max(1);
        let (first, before) = (self.end, self.end_bytes);
        let message = Message {
            transfer,
            again: 0,
            timeouts: 0,
            awaited,
            operation,
            start,
            first,
            packets,
            before,
            bytes,
        };
        self.messages.append_one(message);
        (self.end, self.end_bytes) =
            (first + packets, before + bytes + operation.extended_of(packets, packets));
        self.begin_next(start);
        self.settle(start);
    }

    /// Processes the stamps of a packet. Called before the acknowledgement that returns them is processed.
    pub fn on_stamps(&mut self, stamps: &Stamps) {
        self.control.on_stamps(stamps);
    }

    /// Returns true if all messages are complete.
    pub fn is_idle(&self) -> bool {
        self.messages.is_empty()
    }
    /// Returns true if all posted data has been sent.
    pub fn has_sent_all(&self) -> bool {
        self.highest == self.end
    }
    fn acknowledge(&mut self, now: Time, until: u64, marked: bool, header: &RdmaHeader) {
        let before = self.bytes_before(self.unacknowledged);
        let bytes = self.bytes_before(until) - before;
        if self.timed.0 < until {
            self.round_trip = (self.timed.1, now);
            self.timed.0 = NONE;
        }
        self.unacknowledged = until;
        self.recovery.on_progress(until);
        if let Some(paths) = &mut self.paths {
            paths.on_progress(until);
        }
        (self.retry, self.not_ready) = (0, 0);
        self.complete(now);
        (self.deadline, self.requested.1) = (Time::NEVER, now);
        self.control.on_ack(
            now,
            &RdmaAck {
                bytes,
                acknowledged: until,
                sent: self.highest,
                marked,
                round_trip: header.echo.get().map(|sent| now.saturating_sub(sent)),
                telemetry: header.telemetry,
            },
        );
    }

    fn complete(&mut self, now: Time) {
        while let Some(&front) = self.messages.front().filter(|front| front.end() <= self.unacknowledged) {
            self.messages.pop_front();
            self.at = self.at.saturating_sub(1);
            let Message { transfer, start, bytes, again, timeouts, .. } = front;
            self.counts.messages += 1;
            self.counts.bytes += bytes;
            let (times, feedback_before) = self.end_first(start, now);
            self.done.append_one(Done {
                transfer,
                start,
                at: now,
                bytes,
                again,
                timeouts,
                times,
                feedback_before,
            });
        }
    }

    fn on_answer(&mut self, now: Time, received: &Received) {
        let header = header_of(received);
        let word = Word::of(header.word);
        let [nak, _, not_ready] = word.flags;
        let named = psn::nearest(word.number, self.unacknowledged);
        let until = if nak { named } else { named + 1 };
        if until > self.highest || until < self.unacknowledged {
            self.discarded += 1;
            return;
        }
        let marked = received.kind == FrameKind::MarkedAck;
        self.counts.marks += u64::from(marked);
        if let Some(paths) = &mut self.paths {
            paths.on_answer(now, received, nak, &header, self.unacknowledged);
        }
        if until > self.unacknowledged {
            self.acknowledge(now, until, marked, &header);
        } else if !nak && self.paths.is_none() {
            self.discarded += 1;
        }
        if nak && not_ready {
            self.wait_for_receiver(now);
        } else if nak {
            self.counts.naks += 1;
            let arrived = header.arrived.map(|number| psn::nearest(number, self.unacknowledged));
            let arrived = arrived.filter(|&arrived| arrived < self.highest);
            if self.recovery.on_nak(self.unacknowledged, self.highest, arrived, header.lost) {
                self.timed.0 = NONE;
                self.take_back_requests();
                self.control.on_loss(now, RdmaLoss::Nak);
            }
        }
        self.pace(now);
    }
}

impl Protocol for QueuePair {
    fn handle_frame(&mut self, now: Time, received: &Received) {
        if self.failed().is_some() {
            self.discarded += 1;
            return;
        }
        match received.kind {
            FrameKind::Ack | FrameKind::MarkedAck => self.on_answer(now, received),
            FrameKind::Cnp => {
                self.counts.cnps += 1;
                self.control.on_cnp(now);
                self.pace(now);
            }
            _ => self.discarded += 1,
        }
        self.settle(now);
    }

    fn handle_timeout(&mut self, now: Time) {
        self.handle_timeout_at(now, &|_, _| false);
    }

    fn handle_timeout_at(&mut self, now: Time, is_queued: &dyn Fn(u32, Option<u32>) -> bool) {
        self.closed = self.closed && self.due > now;
        if self.deadline <= now {
            if is_queued(self.number, Some(psn::on_wire(self.unacknowledged))) {
                self.deadline = now.saturating_add(self.timeout());
            } else {
                self.expire(now);
                self.work_out();
                self.set_timer(now);
            }
        }
        self.note_time(now);
    }

    fn poll_timeout(&self) -> Option<Time> {
        // Without data to send, the queue pair does not need a call when the pacer opens.
        let opens = if self.closed && self.failed().is_none() { self.due } else { Time::NEVER };
        let first = opens.min(self.deadline);
        (first < Time::NEVER).then_some(first)
    }

    fn has_work(&self) -> bool {
        self.request_missing || !self.closed && self.failed().is_none() && self.next().is_some()
    }

    fn poll_transmit(&mut self, now: Time) -> Option<Segment> {
        if std::mem::take(&mut self.request_missing) {
            return Some(self.nak_of_request());
        }
        if self.closed || self.failed().is_some() {
            return None;
        }
        let packet = self.next()?;
        self.at = self.find(packet);
        let message = self.messages.get_mut(self.at)?;
        let mtu = u64::from(self.spec.mtu);
        let data = (message.bytes - (packet - message.first) * mtu).min(mtu) as u16;
        let (first, last) = (packet == message.first, packet + 1 == message.end());
        let immediate = if last && message.awaited { message.transfer + 1 } else { 0 };
        let operation = message.operation;
        let again = packet < self.highest;
        if again {
            message.again += 1;
            self.counts.retransmitted += 1;
        } else {
            if self.timed.0 == NONE {
                self.timed = (packet, now);
            }
            self.highest = packet + 1;
        }
        self.counts.sent += 1;
        self.recovery.on_sent(packet, again);
        self.admitted = NONE;
        let bytes = self.spec.frame_bytes(data + operation.extended(first, last));
        self.control.on_send(now, bytes.into());
        self.last = (now, bytes.into());
        self.clocks.own.on_send(bytes, again, now);
        if last && !again {
            self.leave(now);
        }
        self.pace(now);
        self.work_out();
        let ack_request = self.spec.acknowledges()
            && (last
                || self.next().is_none()
                || again && self.recovery.requests_again()
                || self.is_overdue(packet, again, now));
        if ack_request || self.spec.acknowledges_each() {
            self.requested = (packet + 1, now);
        }
        self.set_timer(now);
        self.note_time(now);
        let word = Word { number: packet as u32, flags: [last, ack_request, first], pair: self.number };
        let telemetry = self.control.telemetry();
        let (word, pair) = (word.bits(), self.number);
        let immediate = immediate.max(RdmaHeader::immediate_of(operation.label(self.spec.verb, last)));
        let header = RdmaHeader { word, pair, telemetry, immediate, ..RdmaHeader::default() };
        let (word, header) = labelled(header);
        let ecn_capable = self.spec.understands_marks();
        let entropy = self.paths.as_mut().map_or(0, |paths| paths.send(now, packet));
        Some(Segment { kind: FrameKind::Data, word, header, bytes, ecn_capable, entropy })
    }

    fn poll_record(&mut self) -> Option<Record> {
        let (start, end) = self.round_trip;
        if start == Time::NEVER {
            return None;
        }
        self.round_trip.0 = Time::NEVER;
        let bytes = self.spec.frame_bytes(self.spec.mtu).into();
        Some(Record { kind: RecordKind::RoundTrip, start, end, bytes })
    }
    fn memory_bytes(&self) -> usize {
        self.messages.capacity() * size_of::<Message>()
            + size_of::<Clocks>()
            + self.clocks.begun.capacity() * size_of::<MessageClock>()
            + self.done.capacity() * size_of::<Done>()
            + self.recovery.memory_bytes()
            + self.control.memory_bytes()
            + self.paths.as_ref().map_or(0, |paths| paths.memory_bytes())
    }
}
