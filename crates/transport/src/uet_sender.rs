//! Sender of Ultra Ethernet Transport between two hosts: packet delivery contexts and their messages.
//!
//! Messages are the scheduled transfers from one host to the other, or the messages of a flow: one message of all its
//! bytes, or consecutive messages of the size `message`. They are posted to one packet delivery context (PDC), which
//! numbers their packets in order, or in round-robin order to `contexts` PDCs, each with its own window, timer and
//! path selection. PDCs that may send are served in round-robin order, packet by packet. All packets of a message
//! belong to one PDC. A packet is sent as soon as the window has room for it; lost packets have precedence. Packets
//! are acknowledged in any order. A packet requests an acknowledgement if it is a retransmission, or if no other
//! packet can follow it.
//!
//! The retransmission timer applies to the oldest packet in flight. A packet whose timer expires, or that a NACK
//! reports as trimmed, is considered lost and retransmitted. After `retries` consecutive timeouts without progress the
//! next one makes the PDC fail, and it sends nothing more. A round-trip time is measured if the packet was sent once,
//! or if it was sent twice and the acknowledgement indicates that it answers the second transmission.
//!
//! Source: Ultra Ethernet Specification 1.0, sections 3.5 (packet delivery) and 3.6 (congestion management), and
//! uet-htsim 40ccb05, `uec.cpp`, for values that are left to implementations.
//!
//! Our choice, which the specification leaves to implementations: messages are assigned to the PDCs in round-robin
//! order.
//!
//! Not modelled: establishing and closing PDCs (SYN, close requests); security; addressing and matching of messages by
//! the semantic sublayer (only the length of its headers counts).

use crate::endpoint::{
    Congestion, HostEvent, Protocol, Received, Record, RecordKind, Segment, TransportFacts,
};
use crate::path_selection::Draws;
use crate::rdma::RdmaWord;
use crate::room::Append;
use crate::time_spent::MessageTimes;
use crate::transfer_sender::TransferOutcome;
use crate::uet::{DeliveryContext, Done, PullPacer, UetFacts, UetMode, UetSpec, label};
use frame::{FrameKind, Header, UetHeader};
use std::collections::VecDeque;
use std::ops::Range;
use std::sync::Arc;
use units::Time;
use workload::Due;

/// Transfer number of a message that belongs to no transfer.
const NO_TRANSFER: u32 = u32::MAX;
/// Bytes of an unlimited message.
const ENDLESS: u64 = u64::MAX >> 8;

/// Sends messages over Ultra Ethernet Transport.
#[derive(Clone, Debug)]
pub struct UetSender {
    spec: Arc<UetSpec>,
    line: f64,
    due: Arc<[Due]>,
    /// Number of transfers with a start that have begun, and start of the next one or [`Time::NEVER`].
    begun: usize,
    begins: Time,
    /// Outcomes of the transfers that have begun, and of those before them.
    outcomes: Vec<TransferOutcome>,
    /// By transfer: the context and the last packet of its message.
    last_psn: Vec<(u32, u64)>,
    /// Acknowledged transfers that others depend on, and messages with their times by activity.
    ended: VecDeque<(u32, Option<MessageTimes>)>,
    flow: Flow,
    context: DeliveryContext,
    /// Contexts from the second one on.
    others: Box<[DeliveryContext]>,
    /// True if each context is a path.
    labels_paths: bool,
    /// Context that takes the next message, and context whose turn to send is next.
    posts_to: usize,
    turn: usize,
    records: VecDeque<Record>,
    discarded: u64,
}

/// The state of a flow's messages.
#[derive(Clone, Copy, Debug)]
struct Flow {
    start: Time,
    stop: Time,
    /// Bytes that have not been posted.
    left: u64,
}

impl UetSender {
    /// Creates a sender of these transfers, which are in order of their starts. If there are none, creates a sender of
    /// a flow's messages from `start` to `stop`.
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
            others: (1..spec.contexts).map(|_| DeliveryContext::new(spec, facts)).collect(),
            labels_paths: spec.contexts_are_paths(),
            posts_to: 0,
            turn: 0,
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

    /// Enables the path selection of the contexts, with random numbers from this seed.
    #[must_use]
    pub fn seeded(mut self, seed: u64) -> UetSender {
        self.context.choose_paths(seed);
        let mut draws = Draws::new(seed);
        self.others.iter_mut().for_each(|context| context.choose_paths(draws.bits()));
        self
    }

    /// Shares state with the other contexts of the host, if the receiver grants credit.
    pub fn attach(&mut self, nic: &PullPacer) {
        self.all_mut().for_each(|context| context.attach(nic));
    }
    /// Returns true if the receiver grants credit.
    pub fn is_granted(&self) -> bool {
        self.spec.credits().is_some()
    }
    /// Posts a message of an application.
    pub(crate) fn send(&mut self, bytes: u64, now: Time) {
        self.post(NO_TRANSFER, now, bytes, false);
    }
    /// Posts a message to the context whose turn it is. Returns the number of the context, and the last packet of the
    /// message.
    fn post(&mut self, transfer: u32, start: Time, bytes: u64, awaited: bool) -> (u32, u64) {
        let number = self.posts_to;
        self.posts_to = self.after(number);
        (number as u32, self.context_mut(number).post(transfer, start, bytes, awaited))
    }
    /// Returns the first packet delivery context, which by default is the only one.
    pub fn context(&self) -> &DeliveryContext {
        &self.context
    }
    /// Iterates over the packet delivery contexts, in order of their numbers.
    pub fn contexts(&self) -> impl Iterator<Item = &DeliveryContext> {
        std::iter::once(&self.context).chain(&*self.others)
    }
    fn all_mut(&mut self) -> impl Iterator<Item = &mut DeliveryContext> {
        std::iter::once(&mut self.context).chain(&mut self.others)
    }
    fn context_of(&self, number: usize) -> &DeliveryContext {
        number.checked_sub(1).map_or(&self.context, |place| &self.others[place])
    }
    fn context_mut(&mut self, number: usize) -> &mut DeliveryContext {
        match number.checked_sub(1) {
            None => &mut self.context,
            Some(place) => &mut self.others[place],
        }
    }
    /// Returns the context after this one in turn.
    fn after(&self, number: usize) -> usize {
        if number == self.others.len() { 0 } else { number + 1 }
    }
    /// Returns the context that sends next; `None` if none has anything to send.
    fn ready(&self) -> Option<usize> {
        if self.others.is_empty() {
            return self.context.has_work().then_some(0);
        }
        (self.turn..=self.others.len()).chain(0..self.turn).find(|&number| self.context_of(number).has_work())
    }
    /// Returns the name of the congestion control.
    pub fn control(&self) -> &'static str {
        self.spec.control.name()
    }
    /// Returns the name of the delivery mode.
    pub fn mode(&self) -> &'static str {
        self.spec.mode_name()
    }
    /// Returns the rate of the link in bits per second.
    pub fn line_rate(&self) -> f64 {
        self.line
    }
    /// Returns true if the messages are scheduled transfers.
    pub fn is_scheduled(&self) -> bool {
        !self.due.is_empty()
    }
    /// Returns the outcomes of the transfers that have begun, by transfer number.
    pub fn outcomes(&self) -> Vec<TransferOutcome> {
        let mut outcomes = self.outcomes.clone();
        for (transfer, missing, again, timeouts) in self.contexts().flat_map(DeliveryContext::left) {
            if let Some(outcome) = outcomes.get_mut(transfer as usize) {
                (outcome.missing, outcome.sent_again, outcome.timeouts) = (missing, again, timeouts);
            }
        }
        outcomes
    }
    /// Returns the context and the last packet of a transfer's message; `None` if the transfer has not begun.
    pub fn last_psn(&self, transfer: usize) -> Option<(usize, u64)> {
        self.last_psn.get(transfer).filter(|(_, psn)| *psn > 0).map(|&(context, psn)| (context as usize, psn))
    }
    /// Returns true if packets are not acknowledged.
    pub fn is_unreliable(&self) -> bool {
        self.spec.mode == UetMode::Uud
    }
    /// Returns the bytes that have not arrived of a message of this length whose last packet is `last`. `arrived`
    /// returns the number of packets of a range that have arrived.
    pub(crate) fn missing_of(&self, last: u64, bytes: u64, arrived: impl Fn(Range<u64>) -> u64) -> u64 {
        let payload = u64::from(self.spec.payload);
        let packets = bytes.div_ceil(payload).max(1);
        bytes.saturating_sub(arrived(last + 1 - packets..last + 1) * payload)
    }
    /// Returns the mean of the contexts' smoothed round-trip times; `None` if none has been measured.
    fn round_trip(&self) -> Option<Time> {
        let (mut sum, mut measured) = (0, 0);
        for time in self.contexts().filter_map(DeliveryContext::smoothed_round_trip) {
            (sum, measured) = (sum + time.ps(), measured + 1);
        }
        (measured > 0).then(|| Time::from_ps(sum / measured))
    }
    /// Starts at this PSN.
    #[cfg(test)]
    pub(crate) fn start_at(&mut self, psn: u64) {
        self.all_mut().for_each(|context| context.start_at(psn));
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
        let reused = self.context_of(self.posts_to).counts.sent > 0;
        let connection = self.posts_to as u32;
        let outcome = TransferOutcome { reused, connection, ..TransferOutcome::waiting(due.bytes) };
        TransferOutcome::note(&mut self.outcomes, &self.due, transfer, outcome);
        self.last_psn.resize(self.outcomes.len(), (0, 0));
        self.last_psn[transfer as usize] = self.post(transfer, due.start, due.bytes, due.awaited);
    }

    /// Posts the next messages of a flow to the contexts that have sent all their data.
    fn supply(&mut self, now: Time) {
        if self.flow.start > now {
            return;
        }
        while self.flow.left > 0 {
            let idle = |number: &usize| self.context_of(*number).has_sent_all();
            let Some(number) = (0..=self.others.len()).find(idle) else { break };
            let bytes = self.spec.message.unwrap_or(u64::MAX).min(self.flow.left);
            self.flow.left -= if self.spec.total.is_some() || bytes == ENDLESS { bytes } else { 0 };
            self.context_mut(number).post(NO_TRANSFER, now, bytes, false);
        }
        self.flow.start = Time::NEVER;
    }

    /// Updates the state after a change of a context.
    fn update(&mut self, number: usize, now: Time) {
        if self.context_of(number).has_done() {
            self.take_done(number, now);
        }
        if self.context_of(number).has_record() {
            let record = self.context_mut(number).poll_record();
            self.records.extend(record);
        }
        if self.flow.left > 0 && self.context_of(number).has_sent_all() {
            self.flow.start = self.flow.start.min(now);
            self.supply(now);
        }
    }

    fn take_done(&mut self, number: usize, now: Time) {
        for Done { transfer, start, bytes, retransmitted, timeouts, times } in
            self.context_mut(number).take_done()
        {
            self.records.append_one(Record { kind: RecordKind::Transfer, start, end: now, bytes });
            if self.due.is_empty() && transfer != NO_TRANSFER {
                self.ended.append_one((transfer, times));
            }
            let Some(outcome) = self.outcomes.get_mut(transfer as usize) else {
                continue;
            };
            if self.spec.mode != UetMode::Uud {
                (outcome.acknowledged, outcome.missing) = (now, 0);
            }
            (outcome.sent_again, outcome.timeouts) = (retransmitted, timeouts);
            if self.due.get(transfer as usize).is_some_and(|due| due.awaited) {
                self.ended.append_one((transfer, None));
            }
        }
    }
}

/// Returns the start of a scheduled transfer, or [`Time::NEVER`].
fn start_of(due: &[Due], transfer: usize) -> Time {
    due.get(transfer).map_or(Time::NEVER, |due| due.start)
}

/// Returns the header of a frame, reconstructed from the word if the frame has no header.
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
        let number = RdmaWord::of(header.word).pair as usize;
        if !is_answer || number > self.others.len() {
            self.discarded += 1;
            return;
        }
        let marked = received.kind == FrameKind::MarkedAck;
        self.context_mut(number).on_answer(now, &header, (marked, received.entropy));
        self.update(number, now);
    }

    fn handle_timeout(&mut self, now: Time) {
        self.handle_timeout_at(now, &|_, _| false);
    }

    fn handle_timeout_at(&mut self, now: Time, is_queued: &dyn Fn(u32, Option<u32>) -> bool) {
        self.begin(now);
        self.supply(now);
        if self.flow.stop <= now {
            self.flow = Flow { start: Time::NEVER, stop: Time::NEVER, left: 0 };
            self.all_mut().for_each(DeliveryContext::close);
        }
        for (number, context) in (0..).zip(self.all_mut()) {
            context.handle_timeout(now, &|_, packet| is_queued(number, packet));
            context.note_time(now);
        }
    }

    fn poll_timeout(&self) -> Option<Time> {
        let own = self.begins.min(self.flow.start).min(self.flow.stop).min(self.context.deadline());
        let first = self.others.iter().fold(own, |first, context| first.min(context.deadline()));
        (first < Time::NEVER).then_some(first)
    }

    fn has_work(&self) -> bool {
        self.ready().is_some()
    }

    fn poll_transmit(&mut self, now: Time) -> Option<Segment> {
        let number = self.ready()?;
        self.turn = self.after(number);
        let segment = self.context_mut(number).transmit(now);
        self.update(number, now);
        segment.map(|segment| label(segment, number, self.labels_paths))
    }

    fn next_entropy(&mut self) -> u16 {
        let Some(number) = self.ready() else { return 0 };
        if self.labels_paths { number as u16 } else { self.context_mut(number).next_entropy() }
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
        self.ended.pop_front()
    }
    fn memory_bytes(&self) -> usize {
        size_of::<UetSender>()
            + self.outcomes.capacity() * (size_of::<TransferOutcome>() + size_of::<(u32, u64)>())
            + self.ended.capacity() * size_of::<(u32, Option<MessageTimes>)>()
            + self.records.capacity() * size_of::<Record>()
            + size_of_val(&*self.others)
            + self.contexts().map(DeliveryContext::memory_bytes).sum::<usize>()
    }
    fn facts(&self, _now: Time) -> TransportFacts {
        let sum = |of: fn(&DeliveryContext) -> u64| self.contexts().map(of).sum::<u64>();
        // All contexts have the same control.
        let congestion = (self.context.window() < u64::MAX).then(|| Congestion {
            window: sum(DeliveryContext::window),
            round_trip: self.round_trip(),
            timeouts: sum(|context| context.counts.timeouts),
            marks: sum(|context| context.counts.marks),
        });
        TransportFacts {
            retransmitted: sum(|context| context.counts.retransmitted),
            discarded: self.discarded + sum(DeliveryContext::discarded),
            congestion,
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
                let number = self.posts_to;
                self.context_mut(number).measure_messages();
                self.post(tag, now, bytes, true);
            }
            HostEvent::LinkRate(rate) => {
                self.line = rate.bps_f64();
                self.all_mut().for_each(|context| context.on_link_rate(rate));
            }
            HostEvent::LinksDown(links) => {
                self.all_mut().for_each(|context| context.on_links_down(Some(links), None));
            }
            HostEvent::Stopped(stopped) => {
                self.all_mut().for_each(|context| context.on_stopped(stopped, now));
            }
            HostEvent::ArrivalRate(_)
            | HostEvent::Step(_)
            | HostEvent::Stamps { .. }
            | HostEvent::Leaves { .. } => {}
        }
        matches!(event, HostEvent::LinkRate(_) | HostEvent::LinksDown(_))
    }
}
