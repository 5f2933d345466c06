//! The receiving end of a packet delivery context: packets that have arrived, and answers and grants to send.

use super::{
    Arrival, CREDIT, CREDIT_REQUEST, FIRST_PSN, Grants, NACK_OUT_OF_ORDER, NACK_TRIMMED,
    NACK_TRIMMED_LAST_HOP, PROBE, PsnSet, PullPacer, UetFacts, UetMode, UetReceived, UetSpec, is_of_path,
};
use crate::endpoint::{HostEvent, Protocol, Received, Segment, TransportFacts, Undelivered};
use crate::rdma::RdmaWord;
use crate::rdma::psn::{nearest, on_wire};
use crate::room::Append;
use crate::uet_sender::header_of;
use frame::{FrameKind, Header, Trim, UetHeader, UetPacket};
use std::collections::VecDeque;
use std::ops::Range;
use std::sync::Arc;
use units::{BitRate, Time};

/// Bytes per unit of the byte counter.
const COUNTER_UNIT: u64 = 256;
/// NACK code: the PSN is outside the window.
const NACK_OUT_OF_WINDOW: u8 = 11;

/// The receiving end of a packet delivery context, which places packets and answers them.
#[derive(Clone, Debug)]
pub struct ReceivingContext {
    spec: Arc<UetSpec>,
    /// Number of arriving bytes per acknowledgement.
    ack_every: u64,
    /// Grants of credit; `None` if credit is not used.
    grants: Option<Box<Grants>>,
    /// True if delivery times of messages are recorded.
    keeps_times: bool,
    arrived: PsnSet,
    /// Ranges of packet numbers between known message boundaries, from the first range that has not been delivered on.
    parts: VecDeque<Part>,
    /// Delivered messages: last packet and delivery time, in order of the last packet.
    delivered: Vec<(u64, Time)>,
    /// Transfers that others depend on and that have not been delivered: last packet and transfer number.
    awaited: Vec<(u64, u32)>,
    /// Cumulative grant that waits to be sent.
    granted: Option<u32>,
    /// Links of the host that are down, which MRC acknowledgements report.
    links_down: u16,
    ended: VecDeque<u32>,
    replies: VecDeque<Reply>,
    /// Bytes of frames received, and bytes received since the last acknowledgement.
    received: u64,
    unanswered: u64,
    /// In ordered delivery: the missing packet that the last NACK named.
    named: u64,
    /// True if an acknowledgement was requested while a packet was missing.
    requested: bool,
    /// Last packet named by a probe, if packets up to it are missing; otherwise 0.
    probed: u64,
    /// Counters of the context.
    pub counts: UetReceived,
    discarded: u64,
    undelivered: Undelivered,
}

/// A range of packet numbers from one known message boundary to the next.
#[derive(Clone, Copy, Debug)]
struct Part {
    first: u64,
    arrived: u64,
    is_delivered: bool,
}

/// An answer to send.
#[derive(Clone, Copy, Debug)]
struct Reply {
    psn: u64,
    at: Time,
    marked: bool,
    retransmitted: bool,
    answer: Answer,
    /// Entropy value of the packet, which the answer echoes.
    entropy: u16,
}

/// The kinds of answer.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Answer {
    /// An acknowledgement.
    Ack,
    /// An acknowledgement of a probe with this number.
    Probe(u32),
    /// A NACK with this code.
    Nack(u8),
}

impl ReceivingContext {
    /// Creates a receiver of this number of transfers, or of a flow. `facts` are those of the path, with the rate of
    /// the receiver's link.
    pub fn new(spec: &Arc<UetSpec>, transfers: usize, facts: &UetFacts) -> ReceivingContext {
        ReceivingContext {
            grants: spec.credits().map(|rules| Box::new(Grants::new(&rules, facts))),
            ack_every: spec.ack_every_of(facts),
            spec: spec.clone(),
            keeps_times: transfers > 0,
            arrived: PsnSet::new(FIRST_PSN),
            parts: [Part { first: FIRST_PSN, arrived: 0, is_delivered: false }].into(),
            delivered: Vec::new(),
            awaited: Vec::new(),
            granted: None,
            links_down: 0,
            ended: VecDeque::new(),
            replies: VecDeque::new(),
            received: 0,
            unanswered: 0,
            named: 0,
            requested: false,
            probed: 0,
            counts: UetReceived::default(),
            discarded: 0,
            undelivered: Undelivered::default(),
        }
    }

    /// Shares the grant pacer with the other receivers of the host.
    pub fn attach(&mut self, pacer: &PullPacer) {
        if let Some(grants) = &mut self.grants {
            grants.attach(pacer);
        }
    }
    /// Returns true if the receiver grants credit.
    pub fn grants(&self) -> bool {
        self.grants.is_some()
    }
    /// Adapts to another rate of arrival over the host's link.
    pub(crate) fn on_arrival_rate(&mut self, rate: BitRate) {
        if let Some(grants) = &mut self.grants {
            grants.on_link_rate(rate);
        }
    }
    /// Returns the time at which the message that ends with this packet was delivered; `None` if it has not been.
    pub fn delivered(&self, last: u64) -> Option<Time> {
        let place = self.delivered.binary_search_by_key(&last, |&(psn, _)| psn).ok()?;
        Some(self.delivered[place].1)
    }
    /// Returns the number of packets of a range that have arrived.
    pub(crate) fn arrived(&self, range: Range<u64>) -> u64 {
        self.arrived.count(range)
    }
    /// Starts at this PSN.
    #[cfg(test)]
    pub(crate) fn start_at(&mut self, psn: u64) {
        self.arrived = PsnSet::new(psn);
        self.parts[0].first = psn;
    }

    fn take(&mut self, now: Time, received: &Received) {
        let header = header_of(received);
        let marked = received.congestion_experienced;
        self.counts.marked += u64::from(marked);
        self.place_or_refuse(received, &header, now);
        self.request_credit(received, header.credit, now);
    }

    /// Passes a packet and its credit target to the credit scheduler ([`Grants`]).
    fn request_credit(&mut self, received: &Received, credit: u32, now: Time) {
        let Some(grants) = &mut self.grants else {
            return;
        };
        let arrival = Arrival {
            marked: received.congestion_experienced,
            trimmed: received.trim != Trim::Whole,
            within: received.trim == Trim::Trimmed,
        };
        let is_complete = self.arrived.held() == 0 && self.parts.iter().all(|part| part.arrived == 0);
        grants.on_packet(credit, now, arrival, is_complete && credit == 0);
    }

    /// Places a packet, and queues an answer if one is due.
    fn place_or_refuse(&mut self, received: &Received, header: &UetHeader, now: Time) {
        let RdmaWord { number, flags: [last, ack_request, first], .. } = RdmaWord::of(header.word);
        let psn = nearest(number, self.arrived.expected());
        let marked = received.congestion_experienced;
        let reply = Reply {
            psn,
            at: now,
            marked,
            retransmitted: header.retransmitted,
            answer: Answer::Ack,
            entropy: received.entropy,
        };
        if self.arrived.contains(psn) {
            self.counts.duplicates += 1;
            self.discard(received.bytes);
            return self.reply(reply);
        }
        let trimmed = match received.trim {
            Trim::Whole => None,
            Trim::Trimmed => Some(NACK_TRIMMED),
            Trim::AtLastHop => Some(NACK_TRIMMED_LAST_HOP),
        };
        if let Some(code) = trimmed {
            self.counts.trimmed += 1;
            return self.reply(Reply { answer: Answer::Nack(code), ..reply });
        }
        let ahead = psn - self.arrived.expected();
        if ahead > 0 && self.spec.mode == UetMode::Rod {
            return self.drop_ahead(reply, ahead, received.bytes);
        }
        if ahead >= self.spec.psn_range {
            self.discard(received.bytes);
            return self.reply(Reply { answer: Answer::Nack(NACK_OUT_OF_WINDOW), ..reply });
        }
        if ahead > 0 {
            self.counts.out_of_order += 1;
            self.counts.reorder_distance = self.counts.reorder_distance.max(ahead);
        }
        if last && header.message > 0 {
            self.awaited.append_one((psn, header.message - 1));
        }
        self.place(psn, (first, last), now);
        let is_first = self.received == 0;
        self.received += u64::from(received.bytes);
        self.unanswered += u64::from(received.bytes);
        let is_probed = self.probed > 0 && self.arrived.expected() > self.probed;
        let closes = is_probed || self.arrived.held() == 0 && self.requested;
        self.probed = if is_probed { 0 } else { self.probed };
        self.requested = self.arrived.held() > 0 && (self.requested || ack_request);
        let each = self.spec.mode == UetMode::Rudi;
        if each || is_first || marked || ack_request || closes || self.unanswered >= self.ack_every {
            self.reply(reply);
        }
    }

    /// Drops a packet behind a gap in ordered delivery. A NACK names the first missing packet, once per gap.
    fn drop_ahead(&mut self, reply: Reply, ahead: u64, bytes: u16) {
        self.counts.out_of_order += 1;
        self.counts.reorder_distance = self.counts.reorder_distance.max(ahead);
        self.discard(bytes);
        let missing = self.arrived.expected();
        if self.named != missing {
            self.named = missing;
            self.reply(Reply { psn: missing, answer: Answer::Nack(NACK_OUT_OF_ORDER), ..reply });
        }
    }

    /// Places a packet. Delivers its message if the packet was the last one missing.
    fn place(&mut self, psn: u64, (first, last): (bool, bool), now: Time) {
        self.counts.packets += 1;
        if first {
            self.split(psn);
        }
        if last {
            self.split(psn + 1);
        }
        self.arrived.insert(psn);
        self.counts.held = self.counts.held.max(self.arrived.held());
        let place = self.parts.partition_point(|part| part.first <= psn) - 1;
        self.parts[place].arrived += 1;
        let part = self.parts[place];
        if let Some(next) = self.parts.get(place + 1).map(|next| next.first)
            && part.first + part.arrived == next
        {
            self.parts[place].is_delivered = true;
            self.deliver(next - 1, now);
        }
        while self.parts.front().is_some_and(|part| part.is_delivered) {
            self.parts.pop_front();
            self.counts.in_order += 1;
        }
    }

    /// Records that a message begins at a packet, which splits the range around it.
    fn split(&mut self, at: u64) {
        let place = self.parts.partition_point(|part| part.first <= at) - 1;
        let part = self.parts[place];
        if part.first == at {
            return;
        }
        let before = self.arrived.count(part.first..at);
        self.parts[place].arrived = before;
        self.parts.insert(place + 1, Part { first: at, arrived: part.arrived - before, is_delivered: false });
    }

    fn deliver(&mut self, last: u64, now: Time) {
        self.counts.messages += 1;
        if self.keeps_times {
            let place = self.delivered.partition_point(|&(psn, _)| psn < last);
            self.delivered.insert(place, (last, now));
        }
        if let Some(place) = self.awaited.iter().position(|&(psn, _)| psn == last) {
            self.ended.append_one(self.awaited.swap_remove(place).1);
        }
    }

    /// Queues an answer that names the links that are down, if any packet has arrived. Returns true if it does.
    fn report_links(&mut self, now: Time) -> bool {
        if self.received == 0 {
            return false;
        }
        let (psn, marked, retransmitted) = (self.arrived.expected(), false, false);
        self.replies.append_one(Reply {
            psn,
            at: now,
            marked,
            retransmitted,
            answer: Answer::Probe(0),
            entropy: 0,
        });
        true
    }

    /// Returns a grant of credit.
    fn grant(&mut self, credit: u32) -> Segment {
        self.counts.grants += 1;
        let header = UetHeader { credit, ..UetHeader::default() };
        self.spec.control_packet(CREDIT, self.arrived.expected() - 1, header)
    }

    fn discard(&mut self, bytes: u16) {
        self.discarded += 1;
        self.undelivered.add(bytes);
    }

    fn reply(&mut self, reply: Reply) {
        if self.spec.mode == UetMode::Uud {
            return;
        }
        if !matches!(reply.answer, Answer::Nack(_)) {
            self.unanswered = 0;
        }
        self.replies.append_one(reply);
    }
}

impl Protocol for ReceivingContext {
    fn handle_frame(&mut self, now: Time, received: &Received) {
        let header = header_of(received);
        if received.kind == FrameKind::Ack
            && header.packet == UetPacket::Control(CREDIT_REQUEST)
            && let Some(grants) = &mut self.grants
        {
            let again = grants.on_request(header.credit, now);
            self.granted = self.granted.or(Some(again));
            return;
        }
        if received.kind == FrameKind::Ack && header.packet == UetPacket::Control(PROBE) {
            let psn = self.arrived.expected();
            // The probe may have overtaken packets.
            let last = nearest(RdmaWord::of(header.word).number, psn);
            if last >= psn && !is_of_path(header.answers) {
                self.probed = self.probed.max(last);
            }
            let probe = Answer::Probe(header.answers);
            let at = now;
            let (marked, retransmitted, entropy) = (false, false, received.entropy);
            let probe = Reply { psn, at, marked, retransmitted, answer: probe, entropy };
            return self.reply(probe);
        }
        if received.kind != FrameKind::Data || header.packet != UetPacket::Request {
            self.discarded += 1;
            return;
        }
        self.take(now, received);
    }

    fn handle_timeout(&mut self, now: Time) {
        let granted = self.grants.as_mut().and_then(|grants| grants.grant(now));
        if let Some(units) = granted {
            self.granted = Some(units);
        }
    }

    fn poll_timeout(&self) -> Option<Time> {
        self.grants.as_ref().map(|grants| grants.turn).filter(|&turn| turn < Time::NEVER)
    }

    fn accepts_trimmed(&self) -> bool {
        self.spec.mode != UetMode::Uud
    }

    fn has_work(&self) -> bool {
        self.granted.is_some() || !self.replies.is_empty()
    }

    fn poll_transmit(&mut self, now: Time) -> Option<Segment> {
        if let Some(credit) = self.granted.take() {
            return Some(self.grant(credit));
        }
        let Reply { psn, at, marked, retransmitted, answer, entropy } = self.replies.pop_front()?;
        let cumulative = self.arrived.expected() - 1;
        let sack_base = psn.saturating_sub(63).max(cumulative + 1);
        let (packet, named) = match answer {
            Answer::Nack(code) => (UetPacket::Nack(code), psn),
            Answer::Ack => (UetPacket::Ack, cumulative),
            Answer::Probe(_) => (UetPacket::ProbeAck, cumulative),
        };
        let is_nack = matches!(answer, Answer::Nack(_));
        let probed = if let Answer::Probe(number) = answer { Some(number) } else { None };
        let is_probe = probed.is_some();
        self.counts.nacks += u64::from(is_nack);
        self.counts.acks += u64::from(!is_nack);
        let header = UetHeader {
            word: RdmaWord { number: on_wire(named), flags: [is_nack, false, is_probe], pair: 0 }.bits(),
            packet,
            retransmitted,
            answers: probed.unwrap_or(on_wire(psn)),
            sack_base: on_wire(sack_base),
            sack: self.arrived.bits(sack_base),
            received: self.received.div_ceil(COUNTER_UNIT) as u32 & 0xff_ffff,
            out_of_order: u16::try_from(self.arrived.held()).unwrap_or(u16::MAX),
            links_down: self.links_down,
            service: now.saturating_sub(at),
            ..UetHeader::default()
        };
        Some(Segment {
            kind: if marked { FrameKind::MarkedAck } else { FrameKind::Ack },
            word: 0,
            header: Some(Header::Uet(header)),
            bytes: if is_nack { self.spec.nack_bytes() } else { self.spec.ack },
            ecn_capable: false,
            entropy,
        })
    }

    fn next_entropy(&mut self) -> u16 {
        self.replies.front().filter(|_| self.granted.is_none()).map_or(0, |reply| reply.entropy)
    }

    fn has_records(&self) -> bool {
        false
    }
    fn on_event(&mut self, now: Time, event: &HostEvent<'_>) -> bool {
        match *event {
            HostEvent::ArrivalRate(rate) => self.on_arrival_rate(rate),
            HostEvent::LinksDown(links) if self.spec.mrc.is_some() => {
                self.links_down = links;
                return self.report_links(now);
            }
            _ => {}
        }
        false
    }
    fn poll_ended(&mut self) -> Option<u32> {
        self.ended.pop_front()
    }
    fn memory_bytes(&self) -> usize {
        size_of::<ReceivingContext>()
            + self.arrived.memory_bytes()
            + self.parts.capacity() * size_of::<Part>()
            + self.delivered.capacity() * size_of::<(u64, Time)>()
            + self.awaited.capacity() * size_of::<(u64, u32)>()
            + self.ended.capacity() * size_of::<u32>()
            + self.replies.capacity() * size_of::<Reply>()
    }
    fn facts(&self, _now: Time) -> TransportFacts {
        TransportFacts {
            discarded: self.discarded,
            undelivered: self.undelivered,
            ..TransportFacts::default()
        }
    }
}
