//! RDMA READ: the receiver requests messages, and the sender sends them as READ responses.
//!
//! The requester reserves one packet sequence number for each packet of the response. Its request carries the first of
//! them and the number of bytes. At most `max_reads` requests are outstanding. The responder sends the responses one
//! after another, under its own congestion control. The last packet of a response completes it; there are no
//! acknowledgements, unless loss recovery, a window or the congestion control require them. In that case response
//! packets are acknowledged like other data (read ACKs, IRN).
//!
//! The requester repeats the request for lost data, starting at the expected packet: when a later packet arrives (but
//! not twice for the same packet within `nak_gap`), or after the timeout without arrivals. The responder goes back to
//! that packet, and continues from there through all requested data. It answers a request that arrives after a lost
//! one with a NAK, which names the missing request. After `retries` consecutive timeouts the next one puts the queue
//! pair into the error state.
//!
//! A message is read by several READs if it has more packets than the sequence numbers allow for `max_reads` requests,
//! or more than 2 GiB. A flow with an unlimited `message` reads 1 MiB at a time.
//!
//! Source: InfiniBand Architecture Specification volume 1 sections 9.4.4 (READ), 9.7.2 (outstanding requests), 9.7.3.1
//! (numbers of responses), 9.7.5.1 (repeated requests); R. Mittal et al., "Revisiting Network Support for RDMA",
//! SIGCOMM 2018, section 5.2 (read ACKs).
//!
//! Not modelled: atomic operations; READs and SENDs in one queue pair.

use super::psn::{self, Word};
use super::queue_pair::{ENDLESS, labelled};
use super::spec::{QueuePairs, RdmaSpec};
use crate::endpoint::{Record, RecordKind, Segment};
use crate::transfer_sender::TransferOutcome;
use frame::{FrameKind, RdmaHeader};
use std::collections::VecDeque;
use std::sync::Arc;
use units::Time;
use workload::Due;

/// Length of each READ of an unlimited flow, in bytes. Flows consist of many READs, because a READ in flight cannot be
/// withdrawn.
const ONE_OF_MANY: u64 = 1 << 20;

/// The counters of the requester of a queue pair.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct ReadCounts {
    /// Number of messages delivered completely, and their bytes.
    pub messages: u64,
    /// See `messages`.
    pub bytes: u64,
    /// Timeouts: no response arrived in time.
    pub timeouts: u64,
    /// Requests repeated for missing packets, including those after a timeout.
    pub again: u64,
    /// Requested packets that have not arrived.
    pub outstanding: u64,
    /// Time at which the queue pair entered the error state.
    pub failed: Option<Time>,
}

/// The requester of messages by READ.
#[derive(Clone, Debug)]
pub struct Reader {
    spec: Arc<RdmaSpec>,
    due: Arc<[Due]>,
    /// Number of scheduled transfers that have begun.
    begun: usize,
    /// Completed transfers that others depend on.
    ended: VecDeque<u32>,
    outcomes: Vec<TransferOutcome>,
    /// By transfer: index of its first READ within the queue pair, and number of its READs.
    places: Vec<(u32, u32)>,
    pairs: Vec<Reading>,
    free: Vec<u32>,
    /// Queue pairs with a request to send.
    line: VecDeque<u32>,
    /// For a flow: time of the next request, time after which no more requests are made, and bytes left to request.
    start: Time,
    stop: Option<Time>,
    left: u64,
    records: VecDeque<Record>,
}

#[derive(Clone, Debug, Default)]
struct Reading {
    reads: VecDeque<Read>,
    /// Number of READs requested, number ever posted, and number after the last packet of the last READ.
    requested: usize,
    posted: u32,
    end: u64,
    /// Next packet expected.
    expected: u64,
    /// True if missing packets are to be requested again.
    again: bool,
    in_line: bool,
    retry: u32,
    deadline: Time,
    counts: ReadCounts,
}

#[derive(Clone, Copy, Debug)]
struct Read {
    transfer: u32,
    start: Time,
    first: u64,
    packets: u64,
    bytes: u64,
    /// Bytes of the whole message if this READ is its last part; otherwise 0.
    message: u64,
}

impl Read {
    fn end(&self) -> u64 {
        self.first + self.packets
    }
}

impl Reader {
    /// Creates the requester of these transfers, which are in order of their starts. If there are none, creates the
    /// requester of a flow's messages from `start` to `stop`.
    pub fn new(spec: &Arc<RdmaSpec>, due: Arc<[Due]>, start: Time, stop: Option<Time>) -> Reader {
        let left = if due.is_empty() { spec.total.unwrap_or(ENDLESS) } else { 0 };
        Reader {
            spec: spec.clone(),
            due,
            begun: 0,
            ended: VecDeque::new(),
            outcomes: Vec::new(),
            places: Vec::new(),
            pairs: Vec::new(),
            free: Vec::new(),
            line: VecDeque::new(),
            start: if left > 0 { start } else { Time::NEVER },
            stop: stop.filter(|_| left > 0),
            left,
            records: VecDeque::new(),
        }
    }

    /// Returns the outcome of each transfer that has begun.
    pub fn outcomes(&self) -> Vec<TransferOutcome> {
        let mut outcomes = self.outcomes.clone();
        let mut is_counted = vec![false; outcomes.len()];
        for pair in &self.pairs {
            for read in &pair.reads {
                let arrived = pair.expected.saturating_sub(read.first) * u64::from(self.spec.mtu);
                let missing = read.bytes - arrived.min(read.bytes);
                let nth = read.transfer as usize;
                let (Some(outcome), Some(is_counted)) = (outcomes.get_mut(nth), is_counted.get_mut(nth))
                else {
                    continue;
                };
                // The parts of a message are counted together.
                let before = if std::mem::replace(is_counted, true) { outcome.missing } else { 0 };
                outcome.missing = before + missing;
            }
        }
        outcomes
    }
    /// Returns the queue pair of a transfer, the index of its first READ there, and its number of READs.
    pub fn place_of(&self, transfer: usize) -> Option<(u32, u32, u32)> {
        let (first, many) = *self.places.get(transfer)?;
        Some((self.outcomes.get(transfer)?.connection, first, many))
    }
    /// Returns the counters of a queue pair.
    pub fn counts(&self, pair: u32) -> ReadCounts {
        self.pairs.get(pair as usize).map_or_else(ReadCounts::default, |pair| {
            let requested =
                pair.requested.checked_sub(1).map_or(pair.expected, |last| pair.reads[last].end());
            ReadCounts { outstanding: requested.saturating_sub(pair.expected), ..pair.counts }
        })
    }
    /// Returns the next measurement that has not been returned.
    pub fn poll_record(&mut self) -> Option<Record> {
        self.records.pop_front()
    }
    /// Returns true if a measurement is ready.
    pub fn has_records(&self) -> bool {
        !self.records.is_empty()
    }

    /// Starts in the state after this many packets have arrived.
    #[cfg(test)]
    pub fn start_at(&mut self, packet: u64) {
        let number = self.open();
        let pair = &mut self.pairs[number as usize];
        (pair.end, pair.expected) = (packet, packet);
    }

    fn open(&mut self) -> u32 {
        self.pairs.push(Reading { deadline: Time::NEVER, ..Reading::default() });
        self.pairs.len() as u32 - 1
    }

    fn post(&mut self, number: u32, transfer: u32, start: Time, bytes: u64) -> (u32, u32) {
        let (mtu, longest) = (u64::from(self.spec.mtu), self.spec.longest_read());
        let pair = &mut self.pairs[number as usize];
        let first = pair.posted;
        let mut left = bytes;
        loop {
            let part = left.min(longest * mtu);
            left -= part;
            let message = if left == 0 { bytes } else { 0 };
            let packets = part.div_ceil(mtu);
            pair.reads.push_back(Read { transfer, start, first: pair.end, packets, bytes: part, message });
            pair.end += packets;
            pair.posted += 1;
            if left == 0 {
                break;
            }
        }
        let place = (first, pair.posted - first);
        self.queue(number);
        place
    }

    /// Posts READs that are due, and repeats requests whose responses have timed out.
    pub fn handle_timeout(&mut self, now: Time, is_queued: &dyn Fn(u32, Option<u32>) -> bool) {
        while let Some(&due) = self.due.get(self.begun).filter(|due| due.start <= now) {
            self.begun += 1;
            self.begin_one(self.begun as u32 - 1, due);
        }
        if self.stop.is_some_and(|stop| stop <= now) {
            (self.stop, self.left) = (None, 0);
        }
        self.supply(now);
        for number in 0..self.pairs.len() as u32 {
            if self.pairs[number as usize].deadline > now {
                continue;
            }
            if is_queued(number, None) {
                // A request of this queue pair is still queued at the NIC.
                let timeout = self.timeout(number);
                self.pairs[number as usize].deadline = now.saturating_add(timeout);
            } else {
                self.expire(number, now);
            }
        }
    }

    fn begin_one(&mut self, transfer: u32, due: Due) {
        let known = match self.spec.queue_pairs {
            QueuePairs::One => (!self.pairs.is_empty()).then_some(0),
            QueuePairs::Free => self.free.pop(),
            QueuePairs::Each => None,
        };
        let connection = known.unwrap_or_else(|| self.open());
        let reused = self.pairs[connection as usize].posted > 0;
        let outcome = TransferOutcome { reused, connection, ..TransferOutcome::waiting(due.bytes) };
        TransferOutcome::note(&mut self.outcomes, &self.due, transfer, outcome);
        let place = self.post(connection, transfer, due.start, due.bytes);
        self.places.resize(self.outcomes.len(), (0, 0));
        self.places[transfer as usize] = place;
    }

    /// Starts a transfer that has waited for others.
    pub fn release(&mut self, transfer: u32, now: Time) {
        if let Some(&due) = self.due.get(transfer as usize) {
            self.begin_one(transfer, Due { start: now, ..due });
        }
    }
    /// Returns a completed transfer on which others depend.
    pub fn poll_ended(&mut self) -> Option<u32> {
        self.ended.pop_front()
    }

    /// Requests the next messages of a flow, up to the limit of outstanding READs.
    fn supply(&mut self, now: Time) {
        if !self.due.is_empty() || self.start > now {
            return;
        }
        if self.pairs.is_empty() {
            self.open();
        }
        while self.left > 0 && self.pairs[0].reads.len() < self.spec.max_reads as usize {
            let bytes = self.spec.message.unwrap_or(ONE_OF_MANY).min(self.left);
            self.left -= if self.spec.total.is_some() { bytes } else { 0 };
            self.post(0, u32::MAX, now, bytes);
        }
        if self.left == 0 {
            self.start = Time::NEVER;
        }
    }

    fn expire(&mut self, number: u32, now: Time) {
        let retries = self.spec.retries;
        let pair = &mut self.pairs[number as usize];
        pair.counts.timeouts += 1;
        pair.retry += 1;
        let front = pair.reads.front().map(|read| read.transfer as usize);
        if pair.retry > retries {
            (pair.counts.failed, pair.deadline) = (Some(now), Time::NEVER);
        } else {
            // Later requests may be lost as well. A responder that has received them ignores the repetition.
            (pair.again, pair.requested) = (true, pair.requested.min(1));
            // The timer restarts when the request has been sent.
            pair.deadline = Time::NEVER;
        }
        if let Some(outcome) = front.and_then(|transfer| self.outcomes.get_mut(transfer)) {
            outcome.timeouts += 1;
        }
        self.queue(number);
    }

    fn timeout(&self, number: u32) -> Time {
        let timeouts = &self.spec.timeouts;
        if self.counts(number).outstanding <= timeouts.few { timeouts.low } else { timeouts.high }
    }

    /// Returns the next time at which to call [`Reader::handle_timeout`].
    pub fn poll_timeout(&self) -> Option<Time> {
        let begins = self.due.get(self.begun).map(|due| due.start);
        // A flow requests its next message when the previous one is complete.
        let flow = (self.left > 0 && self.pairs.is_empty()).then_some(self.start);
        let deadlines = self.pairs.iter().map(|pair| pair.deadline);
        let first = begins.into_iter().chain(flow).chain(self.stop).chain(deadlines).min()?;
        (first < Time::NEVER).then_some(first)
    }

    /// Returns true if a request is ready to send.
    pub fn has_work(&self) -> bool {
        !self.line.is_empty()
    }

    fn queue(&mut self, number: u32) {
        let most = self.spec.max_reads as usize;
        let pair = &mut self.pairs[number as usize];
        let more = pair.requested < pair.reads.len() && pair.requested < most;
        let has = pair.counts.failed.is_none() && (more || pair.again && pair.requested > 0);
        if has && !std::mem::replace(&mut pair.in_line, true) {
            self.line.push_back(number);
        } else if !has && std::mem::replace(&mut pair.in_line, false) {
            self.line.retain(|&other| other != number);
        }
    }

    /// Returns the next request.
    pub fn poll_transmit(&mut self, now: Time) -> Option<Segment> {
        let number = self.line.pop_front()?;
        let mtu = u64::from(self.spec.mtu);
        let pair = &mut self.pairs[number as usize];
        pair.in_line = false;
        let again = std::mem::take(&mut pair.again) && pair.requested > 0;
        let (from, requested) = if again {
            let read = pair.reads.front()?;
            pair.counts.again += 1;
            (pair.expected, read.bytes - (pair.expected - read.first) * mtu)
        } else {
            let read = pair.reads.get(pair.requested)?;
            pair.requested += 1;
            (read.first, read.bytes)
        };
        if self.pairs[number as usize].deadline == Time::NEVER {
            let timeout = self.timeout(number);
            self.pairs[number as usize].deadline = now.saturating_add(timeout);
        }
        self.queue(number);
        let word = Word { number: from as u32, flags: [false, true, again], pair: number };
        let requested = requested as u32;
        let header = RdmaHeader { word: word.bits(), pair: number, requested, ..RdmaHeader::default() };
        let (word, header) = labelled(header);
        let bytes = self.spec.request_bytes();
        Some(Segment { header, ..Segment::new(FrameKind::Ack, word, bytes) })
    }

    /// Handles progress: all packets before `expected` have arrived.
    pub fn on_progress(&mut self, number: u32, expected: u64, now: Time) {
        let Some(pair) = self.pairs.get_mut(number as usize) else { return };
        (pair.expected, pair.retry, pair.again) = (expected, 0, false);
        while let Some(&read) = pair.reads.front().filter(|read| read.end() <= expected) {
            pair.reads.pop_front();
            pair.requested = pair.requested.saturating_sub(1);
            if read.message == 0 {
                continue;
            }
            pair.counts.messages += 1;
            pair.counts.bytes += read.message;
            let (start, bytes) = (read.start, read.message);
            self.records.push_back(Record { kind: RecordKind::Transfer, start, end: now, bytes });
            if let Some(outcome) = self.outcomes.get_mut(read.transfer as usize) {
                (outcome.acknowledged, outcome.missing) = (now, 0);
                if self.due[read.transfer as usize].awaited {
                    self.ended.push_back(read.transfer);
                }
            }
        }
        let (idle, waits) = (pair.reads.is_empty(), pair.requested > 0);
        if idle && self.spec.queue_pairs == QueuePairs::Free && !self.free.contains(&number) {
            self.free.push(number);
        }
        let deadline = if waits { now.saturating_add(self.timeout(number)) } else { Time::NEVER };
        self.pairs[number as usize].deadline = deadline;
        self.supply(now);
        self.queue(number);
    }

    /// Handles a packet after the expected one: repeats the request from the gap on.
    pub fn ask_again(&mut self, number: u32) {
        let Some(pair) = self.pairs.get_mut(number as usize) else { return };
        pair.again = true;
        self.queue(number);
    }

    /// Handles the responder's NAK for a missing request.
    pub fn on_nak(&mut self, number: u32, named: u32) {
        let Some(pair) = self.pairs.get_mut(number as usize) else { return };
        let packet = psn::nearest(named, pair.expected);
        let missing = pair.reads.iter().position(|read| read.first == packet);
        let Some(missing) = missing.filter(|&missing| missing < pair.requested) else { return };
        pair.requested = missing;
        self.queue(number);
    }

    /// Returns the heap memory in bytes.
    pub fn memory_bytes(&self) -> usize {
        let of_pair = |pair: &Reading| pair.reads.capacity() * size_of::<Read>();
        self.pairs.capacity() * size_of::<Reading>()
            + self.pairs.iter().map(of_pair).sum::<usize>()
            + self.outcomes.capacity() * (size_of::<TransferOutcome>() + size_of::<(u32, u32)>())
            + (self.free.capacity() + self.line.capacity() + self.ended.capacity()) * size_of::<u32>()
            + self.records.capacity() * size_of::<Record>()
    }
}
