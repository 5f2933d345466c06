//! The sender of RDMA messages between two hosts: queue pairs and their messages.
//!
//! Messages are the scheduled transfers from one host to the other, or the messages of a flow: one message of all its
//! bytes, or consecutive messages of the size `message`. By default all messages use one queue pair, in the order in
//! which they are posted. With `queue_pairs` = "free" a transfer uses an idle queue pair, or a new one. With "each" it
//! always uses a new one, which starts at the line rate. The NIC serves queue pairs with data to send in round-robin
//! order, one packet at a time.
//!
//! A queue pair in the error state sends nothing. Its pending and future transfers remain incomplete.
//!
//! Source: InfiniBand Architecture Specification volume 1 sections 9.7 (reliable connections: packet sequence numbers,
//! one acknowledgement for several packets, timeouts, retries) and 10.3 (states of a queue pair); annex A17 (RoCEv2).
//!
//! Messages of READs are requested by the receiver; see `read`.
//!
//! Not modelled: the 4 bytes of immediate data by which a receiver identifies an awaited message; atomic operations;
//! setup of queue pairs, and reset of queue pairs in the error state.

mod reads;
mod results;

use crate::endpoint::{HostEvent, Protocol, Received, Record, RecordKind, Segment, TransportFacts};
use crate::members::Members;
use crate::path_selection::Draws;
use crate::rdma::queue_pair::{Done, ENDLESS, header_of};
use crate::rdma::{Operation, PathFacts, QueuePair, QueuePairs, RdmaSpec, RdmaVerb, RdmaWord, SharedNic};
use crate::room::Append;
use crate::time_spent::MessageTimes;
use crate::transfer_sender::TransferOutcome;
use frame::FrameKind;
use recurrence::Recurs;
use std::collections::VecDeque;
use std::sync::Arc;
use units::{BitRate, Time};
use workload::Due;

/// Sends messages over RDMA.
#[derive(Clone, Debug, Recurs)]
pub struct RdmaSender {
    #[recurs(constant)]
    spec: Arc<RdmaSpec>,
    #[recurs(constant)]
    facts: PathFacts,
    #[recurs(constant)]
    due: Arc<[Due]>,
    /// Number of transfers with a start time that have begun.
    begun: usize,
    /// Start of the next transfer; [`Time::NEVER`] if there is none.
    begins: Time,
    /// Acknowledged transfers that others wait for.
    #[recurs(unless_empty = "transfers that others wait for")]
    ended: VecDeque<(u32, MessageTimes)>,
    /// Outcomes of the transfers that have begun, and of those before them that have not.
    #[recurs(recorded)]
    outcomes: Vec<TransferOutcome>,
    /// Times by activity of the acknowledged transfers.
    #[recurs(recorded)]
    times: Vec<MessageTimes>,
    /// By transfer: its position among the messages of its queue pair.
    #[recurs(recorded)]
    ordinals: Vec<u32>,
    pairs: Members<QueuePair>,
    /// By queue pair: number of messages posted.
    #[recurs(recorded)]
    posted: Vec<u32>,
    /// Queue pairs without messages; the one used last is at the end.
    free: Vec<u32>,
    flow: Flow,
    #[recurs(unless_empty = "records that are not collected")]
    records: VecDeque<Record>,
    #[recurs(measured)]
    discarded: u64,
    /// By queue pair and READ: the READs served.
    #[recurs(unless_empty = "READs")]
    served: Vec<Vec<Served>>,
    /// NIC with limits through which the endpoint sends, if there is one, and the base of its queue pairs' identities
    /// there.
    #[recurs(unless_empty = "NICs with limits")]
    nic: Option<(SharedNic, u64)>,
    /// Seed of the queue pairs' random numbers.
    #[recurs(constant)]
    seed: u64,
}

/// A READ that this end serves.
#[derive(Clone, Copy, Debug)]
struct Served {
    /// Time at which the request arrived.
    came: Time,
    /// Number of retransmitted packets.
    again: u32,
    /// Times by activity, and the numbers of CNPs, marks and NAKs that the queue pair had received before the READ;
    /// `None` if the requester may not have received all of it.
    times: Option<(MessageTimes, [u32; 3])>,
}

/// The state of a flow, whose messages are posted one after the other.
#[derive(Clone, Copy, Debug, Recurs)]
struct Flow {
    /// Time at which the next message is posted, and time from which no more are, or [`Time::NEVER`].
    #[recurs(past)]
    start: Time,
    #[recurs(past)]
    stop: Time,
    left: u64,
}

impl RdmaSender {
    /// Creates a sender of these transfers, which are in order of their starts. If there are none, creates a sender of
    /// a flow's messages from `start` to `stop`.
    pub fn new(
        spec: &Arc<RdmaSpec>,
        due: Arc<[Due]>,
        facts: PathFacts,
        start: Time,
        stop: Option<Time>,
    ) -> RdmaSender {
        // READs are requested by the other end.
        let left = if spec.verb == RdmaVerb::Read { 0 } else { spec.total.unwrap_or(ENDLESS) };
        let is_flow = left > 0 && due.is_empty();
        let start = if is_flow { start } else { Time::NEVER };
        let begins = if spec.verb == RdmaVerb::Read { Time::NEVER } else { start_of(&due, 0) };
        RdmaSender {
            spec: spec.clone(),
            facts,
            due,
            begun: 0,
            begins,
            ended: VecDeque::new(),
            outcomes: Vec::new(),
            times: Vec::new(),
            ordinals: Vec::new(),
            pairs: Members::new(),
            posted: Vec::new(),
            free: Vec::new(),
            flow: Flow { start, stop: stop.filter(|_| left > 0).unwrap_or(Time::NEVER), left },
            records: Default::default(),
            discarded: 0,
            served: Vec::new(),
            nic: None,
            seed: 0,
        }
    }

    /// Enables the path selection of the queue pairs, each with its own random numbers from this seed.
    #[must_use]
    pub fn seeded(self, seed: u64) -> RdmaSender {
        RdmaSender { seed, ..self }
    }

    /// Attaches the sender to a NIC with limits, as the endpoint with this number.
    pub fn attach(&mut self, nic: &SharedNic, number: u32) {
        self.nic = Some((nic.clone(), u64::from(number) << 32));
    }

    /// Posts a message of an application behind all others. The completion of a message with a tag is reported.
    pub(crate) fn send(&mut self, operation: Operation, tag: Option<u32>, bytes: u64, now: Time) {
        if self.pairs.len() == 0 {
            self.open();
        }
        if let Some(pair) = self.pairs.get_mut(0) {
            pair.post_as(operation, tag.unwrap_or(u32::MAX), now, bytes, tag.is_some());
        }
        self.posted[0] += 1;
        self.pairs.update(0);
    }

    /// Returns the name of the operation of the messages.
    pub fn verb(&self) -> &'static str {
        self.spec.verb.name()
    }
    /// Returns true if the messages are READs.
    pub fn is_read(&self) -> bool {
        self.spec.verb == RdmaVerb::Read
    }

    /// Starts in the state after this number of packets have been sent.
    #[cfg(test)]
    pub(crate) fn start_at(&mut self, packet: u64) {
        let number = self.open();
        if let Some(pair) = self.pairs.get_mut(number) {
            pair.start_at(packet);
        }
    }

    fn open(&mut self) -> u32 {
        let number = self.pairs.len() as u32;
        self.posted.append_one(0);
        if self.is_read() {
            self.served.append_one(Vec::new());
        }
        let seed = Draws::new(self.seed ^ u64::from(number).wrapping_mul(0xA24B_AED4_963E_E407)).bits();
        self.pairs.add(QueuePair::new(&self.spec, number, &self.facts).choosing_paths(&self.facts, seed))
    }

    /// Returns the queue pair for the next transfer.
    fn choose(&mut self) -> u32 {
        let known = match self.spec.queue_pairs {
            QueuePairs::One => (self.pairs.len() > 0).then_some(0),
            QueuePairs::Free => self.free.pop(),
            QueuePairs::Each => None,
        };
        known.unwrap_or_else(|| self.open())
    }

    fn post(&mut self, number: u32, transfer: u32, start: Time, bytes: u64) {
        let awaited = self.is_awaited(transfer);
        if let Some(pair) = self.pairs.get_mut(number) {
            pair.post(transfer, start, bytes, awaited);
        }
        self.posted[number as usize] += 1;
        self.pairs.update(number);
    }

    /// Posts the transfers and messages that are due.
    fn begin(&mut self, now: Time) {
        while self.begins <= now {
            let transfer = self.begun;
            self.begun += 1;
            self.begins = start_of(&self.due, self.begun);
            self.begin_one(transfer as u32, self.due[transfer]);
        }
    }

    fn begin_one(&mut self, transfer: u32, due: Due) {
        let number = self.choose();
        let before = self.posted[number as usize];
        let outcome =
            TransferOutcome { reused: before > 0, connection: number, ..TransferOutcome::waiting(due.bytes) };
        TransferOutcome::note(&mut self.outcomes, &self.due, transfer, outcome);
        self.ordinals.resize(self.outcomes.len(), u32::MAX);
        self.ordinals[transfer as usize] = before;
        self.times.resize_with(self.outcomes.len(), MessageTimes::default);
        self.post(number, transfer, due.start, due.bytes);
    }

    fn on_link_rate(&mut self, rate: BitRate, now: Time) {
        self.facts.rate = rate;
        for number in 0..self.pairs.len() as u32 {
            if let Some(pair) = self.pairs.get_mut(number) {
                pair.on_link_rate(&self.facts, now);
            }
            self.pairs.update(number);
        }
    }

    fn is_awaited(&self, transfer: u32) -> bool {
        self.due.get(transfer as usize).is_some_and(|due| due.awaited)
    }

    /// Posts the next message of a flow when the one before has been sent, so that the queue is never empty.
    fn supply(&mut self, now: Time) {
        if !self.due.is_empty() || self.flow.start > now {
            return;
        }
        while self.flow.left > 0 && self.pairs.iter().all(QueuePair::has_sent_all) {
            if self.pairs.len() == 0 {
                self.open();
            }
            let bytes = self.spec.message.unwrap_or(u64::MAX).min(self.flow.left);
            self.flow.left -= if self.spec.total.is_some() || bytes == ENDLESS { bytes } else { 0 };
            self.post(0, u32::MAX, now, bytes);
        }
        self.flow.start = Time::NEVER;
    }

    /// Updates the schedule of a queue pair after an event.
    fn update(&mut self, number: u32, now: Time) {
        self.follow_up(number, now);
        self.pairs.update(number);
    }

    /// Collects the results of a queue pair, if there are any. Posts the next message of a flow if the last one has
    /// been sent.
    #[inline]
    fn follow_up(&mut self, number: u32, now: Time) {
        let Some(pair) = self.pairs.get_mut(number) else { return };
        let is_spare = pair.is_idle() && self.spec.queue_pairs == QueuePairs::Free;
        let supplies = self.flow.left > 0 && self.due.is_empty() && pair.has_sent_all();
        if pair.has_results() || is_spare {
            self.collect(number);
        }
        if supplies {
            self.flow.start = now;
            self.supply(now);
        }
    }

    /// Collects the results of a queue pair.
    #[inline(never)]
    fn collect(&mut self, number: u32) {
        let Some(pair) = self.pairs.get_mut(number) else { return };
        for Done { transfer, start, at, bytes, again, timeouts, times, feedback_before } in pair.take_done() {
            if bytes > 0 && self.spec.verb != RdmaVerb::Read {
                self.records.append_one(Record { kind: RecordKind::Transfer, start, end: at, bytes });
            }
            if let Some(served) = self.served.get_mut(number as usize) {
                let served = &mut served[transfer as usize];
                (served.again, served.times) = (again, Some((times, feedback_before)));
            } else if let Some(outcome) = self.outcomes.get_mut(transfer as usize) {
                let done =
                    TransferOutcome { acknowledged: at, missing: 0, sent_again: again, timeouts, ..*outcome };
                *outcome = done;
                self.times[transfer as usize] = times;
                if self.due.get(transfer as usize).is_some_and(|due| due.awaited) {
                    self.ended.append_one((transfer, times));
                }
            } else if transfer != u32::MAX {
                self.ended.append_one((transfer, times));
            }
        }
        if pair.is_idle() && self.spec.queue_pairs == QueuePairs::Free && !self.free.contains(&number) {
            self.free.append_one(number);
        }
        while let Some(record) = pair.poll_record() {
            self.records.append_one(record);
        }
    }

    /// Stops posting new messages.
    fn close(&mut self, now: Time) {
        self.flow = Flow { stop: Time::NEVER, left: 0, start: Time::NEVER };
        if let Some(pair) = self.pairs.get_mut(0) {
            pair.close(now);
        }
        self.update(0, now);
    }
}

/// Returns the start of a scheduled transfer; [`Time::NEVER`] if it is not scheduled or does not exist.
fn start_of(due: &[Due], transfer: usize) -> Time {
    due.get(transfer).map_or(Time::NEVER, |due| due.start)
}

impl Protocol for RdmaSender {
    fn handle_frame(&mut self, now: Time, received: &Received) {
        let header = header_of(received);
        let number = header.pair;
        let [nak, names, _] = RdmaWord::of(header.word).flags;
        if self.is_read() && received.kind == FrameKind::Ack && names && !nak {
            self.on_request(now, &header);
            return self.update(number, now);
        }
        match self.pairs.get_mut(number) {
            Some(pair) => pair.handle_frame(now, received),
            None => self.discarded += 1,
        }
        self.update(number, now);
    }

    fn handle_timeout(&mut self, now: Time) {
        self.handle_timeout_at(now, &|_, _| false);
    }

    fn handle_timeout_at(&mut self, now: Time, is_queued: &dyn Fn(u32, Option<u32>) -> bool) {
        self.begin(now);
        self.supply(now);
        if self.flow.stop <= now {
            self.close(now);
        }
        while let Some(number) = self.pairs.due(now) {
            if let Some(pair) = self.pairs.get_mut(number) {
                pair.handle_timeout_at(now, is_queued);
            }
            self.update(number, now);
        }
    }

    fn poll_timeout(&self) -> Option<Time> {
        let first = self.begins.min(self.flow.start).min(self.flow.stop).min(self.pairs.next_look());
        (first < Time::NEVER).then_some(first)
    }

    fn has_work(&self) -> bool {
        self.pairs.have_work()
    }

    fn poll_transmit(&mut self, now: Time) -> Option<Segment> {
        loop {
            let number = self.pairs.take_turn()?;
            let pair = self.pairs.get_mut(number)?;
            let admitted = self
                .nic
                .as_ref()
                .is_none_or(|(nic, first)| pair.is_admitted(nic, first | u64::from(number), now));
            // Queue pairs for which the NIC is ready do not wait for the others.
            let segment = if admitted { pair.poll_transmit(now) } else { None };
            self.follow_up(number, now);
            self.pairs.end_turn(number);
            if admitted {
                return segment;
            }
        }
    }

    fn poll_record(&mut self) -> Option<Record> {
        self.records.pop_front()
    }
    fn has_records(&self) -> bool {
        !self.records.is_empty()
    }
    fn poll_ended(&mut self) -> Option<u32> {
        self.ended.pop_front().map(|own| own.0)
    }
    fn poll_ended_with_times(&mut self) -> Option<(u32, Option<MessageTimes>)> {
        self.ended.pop_front().map(|(ended, times)| (ended, Some(times)))
    }
    fn memory_bytes(&self) -> usize {
        size_of::<RdmaSender>()
            + self.outcomes.capacity() * (size_of::<TransferOutcome>() + size_of::<u32>())
            + self.ended.capacity() * size_of::<(u32, MessageTimes)>()
            + self.times.capacity() * size_of::<MessageTimes>()
            + self.served.iter().map(|of| of.capacity() * size_of::<Served>()).sum::<usize>()
            + self.pairs.memory_bytes()
            + (self.posted.capacity() + self.free.capacity()) * size_of::<u32>()
            + self.records.capacity() * size_of::<Record>()
    }
    fn facts(&self, _now: Time) -> TransportFacts {
        let own = TransportFacts { discarded: self.discarded, ..TransportFacts::default() };
        self.pairs.iter().fold(own, |sum, pair| TransportFacts {
            retransmitted: sum.retransmitted + pair.counts.retransmitted,
            discarded: sum.discarded + pair.discarded(),
            ..sum
        })
    }
    fn on_event(&mut self, now: Time, event: &HostEvent<'_>) -> bool {
        match *event {
            HostEvent::Release(transfer) => {
                if let Some(&due) = self.due.get(transfer as usize) {
                    self.begin_one(transfer, Due { start: now, ..due });
                }
            }
            HostEvent::Post { tag, bytes } => {
                self.send(self.spec.verb.operation(), Some(tag), bytes, now);
            }
            HostEvent::Stamps { pair, stamps, .. } => {
                if let Some(pair) = self.pairs.get_mut(pair) {
                    pair.on_stamps(stamps);
                }
            }
            HostEvent::Stopped(stopped) => {
                self.pairs.in_line_mut().for_each(|pair| pair.on_stopped(stopped, now));
            }
            HostEvent::LinkRate(rate) => self.on_link_rate(rate, now),
            HostEvent::ArrivalRate(_)
            | HostEvent::Step(_)
            | HostEvent::LinksDown(_)
            | HostEvent::Leaves { .. } => {}
        }
        matches!(event, HostEvent::LinkRate(_))
    }
}
