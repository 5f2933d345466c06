//! The receiver of RDMA messages between two hosts: the responder of the queue pairs of an `rdma_sender`.
//!
//! An in-order packet is delivered. The receiver acknowledges packets that request it, and every n-th packet
//! (`ack_every`). Acknowledgements are cumulative, and one still queued in the NIC is updated by later arrivals. A
//! packet after a gap is answered with a NAK, and a duplicate with an acknowledgement of the current state. A message
//! is delivered when all its packets, and all before them, have been delivered.
//!
//! A receiver with a `receive_queue` accepts a message only if the queue has a free entry. The application processes
//! messages one after another, in `receive_time` each. If no entry is free, the receiver answers the first packet with
//! an RNR NAK (receiver not ready), and discards it and the following packets until the sender retries. READs are
//! requested by the receiver itself: see `read`.
//!
//! A packet whose payload a switch has trimmed is reported as lost at once by a NAK. With selective repeat and
//! reordering the NAK names the packet; with go-back-N it is sent as soon as the packet is the next expected one. It is
//! repeated only if the retransmission is trimmed too.
//!
//! Telemetry in a data packet returns in its acknowledgement, or in that of a later packet.
//!
//! The notification point answers ECN-marked packets, even discarded ones, with congestion notification packets (CNPs):
//! at most one per `cnp_gap` for each queue pair, source address, or NIC (`cnp_scope`). CNPs have their own priority,
//! and the NIC sends them ahead of all other queued frames.
//!
//! Source: InfiniBand Architecture Specification volume 1 sections 9.7.3 to 9.7.5 (responder) and annex A17.9 (CNP); Y.
//! Zhu et al., "Congestion Control for Large-Scale RDMA Deployments", SIGCOMM 2015, section 3 (CNPs, 50 us).
//!
//! Not modelled: as for `rdma_sender`; a CNP at the end of `cnp_gap` for a mark during the gap.

mod out_of_order;
mod received;
mod recurring;
mod replies;
mod trimmed;

use self::out_of_order::Disorder;
pub use self::received::PairReceived;
use self::replies::{Echo, Reply};
use crate::endpoint::{HostEvent, Protocol, Received, Record, Segment, TransportFacts, Undelivered};
use crate::rdma::psn::{self, Word};
use crate::rdma::queue_pair::{header_of, labelled};
use crate::rdma::{
    CnpScope, LossRule, QueuePairs, RdmaRecovery, RdmaSpec, RdmaVerb, ReadCounts, Reader, ReceiveQueue,
};
use crate::room::Append;
use crate::transfer_sender::TransferOutcome;
use frame::{FrameKind, RdmaHeader, Stamps, Telemetry, Trim};
use recurrence::Recurs;
use std::collections::VecDeque;
use std::sync::Arc;
use units::Time;
use workload::Due;

/// Maximum number of queue pairs per receiver.
const MOST_PAIRS: u32 = 1 << 24;

/// Receives messages over RDMA.
#[derive(Clone, Debug, Recurs)]
pub struct RdmaReceiver {
    #[recurs(constant)]
    spec: Arc<RdmaSpec>,
    pairs: Vec<ReceivePair>,
    /// Number of transfers whose delivery times are recorded; 0 if none are.
    #[recurs(constant)]
    transfers: usize,
    replies: VecDeque<Reply>,
    /// Earliest time of the next CNP for any queue pair.
    #[recurs(past)]
    next_cnp: Time,
    /// Rule that distinguishes losses from reordering, if the recovery has one.
    #[recurs(constant)]
    rule: Option<LossRule>,
    /// Lower bound of the time at which a packet of any queue pair counts as lost.
    #[recurs(past)]
    lost_at: Time,
    #[recurs(measured)]
    discarded: u64,
    /// Data that was discarded.
    #[recurs(measured)]
    undelivered: Undelivered,
    /// Requester of READs, if the messages are READs.
    #[recurs(unless_empty = "READs")]
    reader: Option<Box<Reader>>,
    /// Delivered messages that others depend on.
    #[recurs(unless_empty = "transfers that others wait for")]
    ended: VecDeque<u32>,
}

/// A packet that arrived out of order.
#[derive(Clone, Copy, Debug, Recurs)]
struct Kept {
    /// Length of its frame.
    bytes: u16,
    /// True for the last packet of its message.
    last: bool,
}

#[derive(Clone, Debug, Default, Recurs)]
struct ReceivePair {
    /// Next expected packet; all earlier packets have arrived.
    #[recurs(scratch)]
    expected: u64,
    /// Number of packets that would have been delivered in the skipped periods.
    #[recurs(grows_with = self.expected + self.left_out)]
    left_out: u64,
    /// Packets since the last acknowledgement.
    unanswered: u32,
    /// True while a reply is queued, other than replies to packets out of order.
    in_line: bool,
    /// True if that reply is a NAK, and true if it echoes a mark.
    nak: bool,
    marked: bool,
    /// Packet named by the last NAK, and the earliest time of another NAK for it.
    #[recurs(with = ReceivePair::walk_named)]
    named: Option<u64>,
    #[recurs(past)]
    nak_at: Time,
    /// First packet that arrived trimmed and is not yet the expected one (go-back-N).
    #[recurs(unless_empty = "packet trimming")]
    trimmed: Option<u64>,
    #[recurs(past)]
    next_cnp: Time,
    /// Send time of the last packet to be acknowledged.
    sent: Time,
    /// Telemetry collected by that packet on its path.
    #[recurs(with = ReceivePair::walk_telemetry)]
    telemetry: Telemetry,
    #[recurs(unless_empty = "in-band telemetry")]
    stamps: Option<Box<Stamps>>,
    /// Packets that have arrived from the expected one on, by offset, with a flag for those that end a message.
    kept: VecDeque<Option<Kept>>,
    /// Times at which the application finishes the messages that it still processes.
    #[recurs(with = ReceivePair::walk_taken)]
    taken: VecDeque<Time>,
    #[recurs(measured)]
    not_ready: u32,
    refuses: bool,
    /// Last packets of the messages that others depend on, with their transfer numbers. The packets have arrived, or
    /// have yet to arrive again.
    #[recurs(with = ReceivePair::walk_awaited)]
    awaited: Vec<(u64, u32)>,
    /// State of packets that arrived out of order; `None` if there are none.
    disorder: Option<Box<Disorder>>,
    /// Delivery times of the messages.
    #[recurs(recorded)]
    delivered: Vec<Time>,
    #[recurs(measured)]
    messages: u64,
    #[recurs(measured)]
    came_marked: u64,
    #[recurs(measured)]
    trims: u64,
    #[recurs(measured)]
    cnps: u64,
    #[recurs(measured)]
    naks: u32,
}

impl RdmaReceiver {
    /// Creates a receiver of this many transfers, or of a flow's messages.
    pub fn new(spec: &Arc<RdmaSpec>, transfers: usize) -> RdmaReceiver {
        RdmaReceiver {
            spec: spec.clone(),
            pairs: Vec::new(),
            transfers,
            replies: VecDeque::new(),
            next_cnp: Time::ZERO,
            rule: spec
                .recovery
                .reordering()
                .map(|keys| LossRule::new(keys, spec.base_rtt.unwrap_or_default())),
            lost_at: Time::NEVER,
            discarded: 0,
            undelivered: Undelivered::default(),
            reader: None,
            ended: VecDeque::new(),
        }
    }

    /// Creates a receiver. If messages are READs, it requests these transfers, or a flow's messages from `start` to
    /// `stop`.
    pub fn reading(spec: &Arc<RdmaSpec>, due: &Arc<[Due]>, start: Time, stop: Option<Time>) -> RdmaReceiver {
        let reader =
            (spec.verb == RdmaVerb::Read).then(|| Box::new(Reader::new(spec, due.clone(), start, stop)));
        RdmaReceiver { reader, ..RdmaReceiver::new(spec, due.len()) }
    }

    /// Sets the round-trip time of the path without queueing.
    #[must_use]
    pub fn on_path(mut self, base_rtt: Time) -> RdmaReceiver {
        self.rule = self.spec.recovery.reordering().map(|keys| LossRule::new(keys, base_rtt));
        self
    }

    /// Returns the outcome of each transfer that this end has begun to read; `None` if the peer sends the transfers
    /// instead.
    pub fn outcomes(&self) -> Option<Vec<TransferOutcome>> {
        self.reader.as_ref().map(|reader| reader.outcomes())
    }
    /// For a transfer that is read: returns its queue pair, the index of its first READ there, and its number of READs.
    pub fn place_of(&self, transfer: usize) -> Option<(u32, u32, u32)> {
        self.reader.as_ref()?.place_of(transfer)
    }
    /// Returns the counters of the requester of a queue pair, if there is one.
    pub fn read_counts(&self, pair: u32) -> Option<ReadCounts> {
        self.reader.as_ref().map(|reader| reader.counts(pair))
    }

    /// Returns the time at which a message of a queue pair was delivered; `None` if it was not.
    pub fn delivered(&self, pair: u32, ordinal: u32) -> Option<Time> {
        self.pairs.get(pair as usize)?.delivered.get(ordinal as usize).copied()
    }
    /// Returns the number of complete messages. All messages use a single queue pair.
    pub(crate) fn messages(&self) -> u64 {
        self.pairs.first().map_or(0, |pair| pair.messages)
    }
    /// Starts in the state after this many packets have arrived.
    #[cfg(test)]
    pub(crate) fn start_at(&mut self, packet: u64) {
        if let Some(pair) = self.pair(0) {
            pair.expected = packet;
        }
        if let Some(reader) = &mut self.reader {
            reader.start_at(packet);
        }
    }

    fn pair(&mut self, number: u32) -> Option<&mut ReceivePair> {
        let most = match self.spec.queue_pairs {
            QueuePairs::One => 1,
            QueuePairs::Free | QueuePairs::Each => self.transfers.max(1) as u32,
        };
        if number >= most.min(MOST_PAIRS) {
            return None;
        }
        if self.pairs.len() <= number as usize {
            if self.pairs.capacity() == 0 {
                self.pairs.reserve_exact(number as usize + 1);
            }
            self.pairs.resize_with(number as usize + 1, ReceivePair::default);
        }
        self.pairs.get_mut(number as usize)
    }

    fn take(&mut self, number: u32, header: &RdmaHeader, received: &Received, now: Time) {
        let selective = self.spec.recovery == RdmaRecovery::Selective;
        let (every, keeps) = (self.spec.ack_every, self.transfers > 0);
        let (queue, answers) = (self.spec.receive_queue, self.spec.acknowledges());
        let Some(pair) = self.pair(number) else {
            self.discard(received.bytes);
            return;
        };
        let Word { number: low, flags: [last, ack_request, first], .. } = Word::of(header.word);
        let packet = psn::nearest(low, pair.expected);
        pair.marked |= received.congestion_experienced;
        pair.came_marked += u64::from(received.congestion_experienced);
        (pair.sent, pair.telemetry) = (received.created, header.telemetry);
        if let Some(transfer) = header.awaited().filter(|_| packet >= pair.expected) {
            pair.note_awaited(packet, transfer);
        }
        if packet == pair.expected {
            pair.named = None;
            if first && !pair.takes(queue, now) {
                // Later packets are out of order until the sender has retried.
                (pair.named, pair.nak_at, pair.refuses) = (Some(pair.expected), Time::NEVER, true);
                pair.not_ready += 1;
                self.discard(received.bytes);
                return self.reply(number, None);
            }
            pair.deliver(last, now, keeps);
            if last && let Some(queue) = queue {
                pair.finish(queue, now);
            }
            pair.unanswered += 1;
            let closed = pair.deliver_kept(now, keeps);
            let (expected, unanswered) = (pair.expected, pair.unanswered);
            self.end_awaited(number, expected);
            if let Some(reader) = &mut self.reader {
                reader.on_progress(number, expected, now);
            }
            // Packets after a gap that has just closed are acknowledged too.
            if answers && (ack_request || closed || unanswered >= every || selective) {
                self.reply(number, None);
            }
            return self.refuse_trimmed(number, now);
        }
        let ahead = packet.checked_sub(pair.expected);
        let Some(ahead) = ahead else {
            pair.disorder().duplicates += 1;
            self.discard(received.bytes);
            if answers {
                self.reply(number, None);
            }
            return;
        };
        self.take_ahead(number, (low, ahead), [last, ack_request], received.bytes, now);
    }

    /// Ends the messages that others depend on and that lie before `expected`, up to which everything has been
    /// delivered.
    fn end_awaited(&mut self, number: u32, expected: u64) {
        let Some(pair) = self.pairs.get_mut(number as usize).filter(|pair| !pair.awaited.is_empty()) else {
            return;
        };
        let ended = pair.awaited.partition_point(|&(packet, _)| packet < expected);
        self.ended.extend(pair.awaited.drain(..ended).map(|(_, transfer)| transfer));
    }

    /// Discards a data packet.
    fn discard(&mut self, bytes: u16) {
        self.discarded += 1;
        self.undelivered.add(bytes);
    }
}

impl ReceivePair {
    /// Returns true if the application has room for a message that begins.
    fn takes(&mut self, queue: Option<ReceiveQueue>, now: Time) -> bool {
        let Some(queue) = queue else { return true };
        while self.taken.front().is_some_and(|&done| done <= now) {
            self.taken.pop_front();
        }
        (self.taken.len() as u64) < queue.most
    }
    /// Schedules the message to be processed after those before it.
    fn finish(&mut self, queue: ReceiveQueue, now: Time) {
        let begins = self.taken.back().map_or(now, |&done| done.max(now));
        self.taken.append_one(begins.saturating_add(queue.time));
    }
    /// Records that others depend on the message that ends with this packet.
    fn note_awaited(&mut self, packet: u64, transfer: u32) {
        let place = self.awaited.partition_point(|&(other, _)| other < packet);
        if self.awaited.get(place).is_none_or(|&(other, _)| other > packet) {
            self.awaited.insert(place, (packet, transfer));
        }
    }
    /// Delivers the expected packet.
    fn deliver(&mut self, last: bool, now: Time, keeps: bool) {
        self.expected += 1;
        self.kept.pop_front();
        if last {
            self.messages += 1;
            if keeps {
                self.delivered.append_one(now);
            }
        }
    }
}

impl Protocol for RdmaReceiver {
    fn handle_frame(&mut self, now: Time, received: &Received) {
        let header = header_of(received);
        if let Some(reader) = self.reader.as_mut().filter(|_| received.kind == FrameKind::Ack) {
            return reader.on_nak(header.pair, Word::of(header.word).number);
        }
        if received.kind != FrameKind::Data {
            self.discarded += 1;
            return;
        }
        if received.trim == Trim::Whole {
            self.take(header.pair, &header, received, now);
            if self.spec.echoes_paths() && (header.pair as usize) < self.pairs.len() {
                let echo = Some(Echo::of(received));
                self.replies.append_one(Reply { pair: header.pair, arrived: None, echo });
            }
        } else {
            self.take_trimmed(header.pair, &header, received, now);
        }
    }

    fn handle_timeout(&mut self, now: Time) {
        self.handle_timeout_at(now, &|_, _| false);
    }

    fn handle_timeout_at(&mut self, now: Time, is_queued: &dyn Fn(u32, Option<u32>) -> bool) {
        if let Some(reader) = &mut self.reader {
            reader.handle_timeout(now, is_queued);
        }
        if self.lost_at <= now {
            self.find_all_lost(now);
        }
    }

    fn poll_timeout(&self) -> Option<Time> {
        let reads = self.reader.as_ref().and_then(|reader| reader.poll_timeout());
        let first = reads.unwrap_or(Time::NEVER).min(self.lost_at);
        (first < Time::NEVER).then_some(first)
    }

    fn has_work(&self) -> bool {
        !self.replies.is_empty() || self.reader.as_ref().is_some_and(|reader| reader.has_work())
    }

    fn poll_transmit(&mut self, now: Time) -> Option<Segment> {
        let Some(Reply { pair: number, arrived, echo }) = self.replies.pop_front() else {
            return self.reader.as_mut()?.poll_transmit(now);
        };
        let (echoes, times) = (self.spec.echoes_marks(), self.spec.control.times_each());
        let pair = self.pairs.get_mut(number as usize)?;
        let own = arrived.is_none() && echo.is_none();
        let refuses = own && std::mem::take(&mut pair.refuses);
        let nak = own && std::mem::take(&mut pair.nak) || refuses || arrived.is_some();
        // An acknowledgement names the last packet that arrived in order, a NAK the one after it.
        let named = if nak { pair.expected } else { pair.expected.wrapping_sub(1) };
        let (marked, sent) = echo.map_or((pair.marked, pair.sent), |echo| (echo.marked, echo.sent));
        let kind = if echoes && marked { FrameKind::MarkedAck } else { FrameKind::Ack };
        (pair.marked, pair.unanswered) = (false, 0);
        pair.in_line &= !own;
        let lost = arrived.map_or(0, |arrived| pair.take_named(arrived));
        let word = Word { number: named as u32, flags: [nak, arrived.is_some(), refuses], pair: number };
        let telemetry = pair.telemetry;
        let (word, header) = labelled(RdmaHeader {
            word: word.bits(),
            pair: number,
            echo: times.then_some(sent).into(),
            arrived,
            lost,
            telemetry,
            immediate: echo.map_or(0, |echo| RdmaHeader::code_of(echo.trim)),
            ..RdmaHeader::default()
        });
        let (bytes, entropy) = (self.spec.ack_bytes(), echo.map_or(0, |echo| echo.entropy));
        Some(Segment { kind, word, header, bytes, ecn_capable: false, entropy })
    }

    fn accepts_trimmed(&self) -> bool {
        true
    }

    fn notify(&mut self, now: Time, received: &Received, port: &mut Time) -> Option<Segment> {
        if !self.spec.sends_cnps() {
            return None;
        }
        let (scope, gap) = (self.spec.cnp_scope, self.spec.cnp_gap);
        let number = header_of(received).pair;
        self.pair(number)?;
        let pair = self.pairs.get_mut(number as usize)?;
        let next = match scope {
            CnpScope::QueuePair => &mut pair.next_cnp,
            CnpScope::Address => &mut self.next_cnp,
            CnpScope::Port => port,
        };
        if now < *next {
            return None;
        }
        *next = now.saturating_add(gap);
        pair.cnps += 1;
        let word = Word { number: 0, flags: [false; 3], pair: number };
        let (word, header) =
            labelled(RdmaHeader { word: word.bits(), pair: number, ..RdmaHeader::default() });
        let bytes = self.spec.cnp_bytes();
        Some(Segment { header, ..Segment::new(FrameKind::Cnp, word, bytes) })
    }

    fn stamps(&self, pair: u32) -> Option<&Stamps> {
        self.pairs.get(pair as usize)?.stamps.as_deref()
    }
    fn poll_ended(&mut self) -> Option<u32> {
        match &mut self.reader {
            Some(reader) => reader.poll_ended(),
            None => self.ended.pop_front(),
        }
    }
    fn poll_record(&mut self) -> Option<Record> {
        self.reader.as_mut()?.poll_record()
    }
    fn has_records(&self) -> bool {
        self.reader.as_ref().is_some_and(|reader| reader.has_records())
    }
    fn memory_bytes(&self) -> usize {
        let of_pair = |pair: &ReceivePair| {
            pair.kept.capacity() * size_of::<Option<Kept>>()
                + pair.taken.capacity() * size_of::<Time>()
                + pair.awaited.capacity() * size_of::<(u64, u32)>()
                + pair.delivered.capacity() * size_of::<Time>()
                + pair.disorder.as_ref().map_or(0, |it| size_of::<Disorder>() + it.memory_bytes())
                + pair.stamps.as_ref().map_or(0, |_| size_of::<Stamps>())
        };
        self.pairs.capacity() * size_of::<ReceivePair>()
            + self.pairs.iter().map(of_pair).sum::<usize>()
            + self.replies.capacity() * size_of::<Reply>()
            + self.reader.as_ref().map_or(0, |reader| size_of::<Reader>() + reader.memory_bytes())
    }
    fn facts(&self, _now: Time) -> TransportFacts {
        let kept = self.pairs.iter().flat_map(|pair| pair.kept.iter().flatten());
        let mut undelivered = self.undelivered;
        kept.for_each(|kept| undelivered.add(kept.bytes));
        TransportFacts { discarded: self.discarded, undelivered, ..TransportFacts::default() }
    }
    fn on_event(&mut self, now: Time, event: &HostEvent<'_>) -> bool {
        match (*event, &mut self.reader) {
            (HostEvent::Release(transfer), Some(reader)) => reader.release(transfer, now),
            (HostEvent::Stamps { pair, stamps, .. }, _) => {
                if let Some(pair) = self.pair(pair) {
                    **pair.stamps.get_or_insert_default() = *stamps;
                }
            }
            _ => {}
        }
        false
    }
}
