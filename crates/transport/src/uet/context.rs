//! Sending end of a packet delivery context: packets in flight, their state, and the selection of the next one.

mod answers;
mod losses;
mod multipath;
mod sending;
mod times;

use self::multipath::Multipath;
pub(crate) use self::multipath::is_of_path;
use super::control::{UetControl, UetFacts};
use super::overtaking::Overtaking;
use super::probing::Probing;
use super::{Credits, PullPacer, UetController, UetSpec};
use crate::endpoint::{Record, RecordKind};
use crate::path_selection::PathsFacts;
use crate::room::Append;
use crate::time_spent::{Clocks, MessageClock, MessageTimes};
use std::collections::VecDeque;
use std::sync::Arc;
use units::{BitRate, Time};

/// First packet sequence number of a context.
pub(crate) const FIRST_PSN: u64 = 1;
/// Unit of the receiver's byte counter.
const COUNTER_UNIT: u64 = 256;
/// Bits of the receiver's byte counter.
const COUNTER_BITS: u32 = 24;
/// NACK codes: the packet was trimmed, or was trimmed at the last switch (UEC 1.0, table of NACK codes).
pub(crate) const NACK_TRIMMED: u8 = 1;
pub(crate) const NACK_TRIMMED_LAST_HOP: u8 = 2;
/// NACK code: a packet came out of order in ordered delivery.
pub(crate) const NACK_OUT_OF_ORDER: u8 = 13;
/// Types of the control packets that grant credit and request it.
pub(crate) const CREDIT: u8 = 7;
pub(crate) const CREDIT_REQUEST: u8 = 8;
/// Type of the control packet that is a probe.
pub(crate) const PROBE: u8 = 6;
/// Weight of a sample in the smoothed round trip, as in RFC 6298.
const SMOOTHING: f64 = 0.125;
/// A timeout doubles at most this often.
const MAX_DOUBLINGS: u32 = 10;

/// A complete message.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Done {
    /// Number of its transfer.
    pub transfer: u32,
    /// When it was posted.
    pub start: Time,
    /// Its bytes.
    pub bytes: u64,
    /// Packets of it that were retransmitted.
    pub retransmitted: u32,
    /// Timeouts of its packets.
    pub timeouts: u32,
    /// Its times by activity, if an application has posted it.
    pub times: Option<MessageTimes>,
}

/// Counts of a context.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct ContextCounts {
    /// Packets sent, retransmissions included.
    pub sent: u64,
    /// Packets retransmitted.
    pub retransmitted: u64,
    /// Acknowledgements received.
    pub acks: u64,
    /// Acknowledgements among these that echo a mark.
    pub marks: u64,
    /// NACKs received.
    pub nacks: u64,
    /// Expirations of the retransmission timer.
    pub timeouts: u64,
    /// Grants of credit received, and requests for credit sent.
    pub grants: u64,
    /// See `grants`.
    pub credit_requests: u64,
    /// Probes sent, and losses inferred without a timeout.
    pub probes: u64,
    /// See `probes`.
    pub inferred: u64,
    /// Messages acknowledged, and their bytes.
    pub messages: u64,
    /// See `messages`.
    pub bytes: u64,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum State {
    InFlight,
    Lost,
    Acknowledged,
}

/// A packet from the oldest one that is not acknowledged on.
#[derive(Clone, Copy, Debug)]
struct Packet {
    /// When it was last sent.
    sent: Time,
    /// Length of its frame.
    bytes: u16,
    /// Entropy value of its last transmission.
    entropy: u16,
    /// Times that it was sent, at most 255.
    tries: u8,
    state: State,
}

#[derive(Clone, Copy, Debug)]
struct Message {
    transfer: u32,
    retransmitted: u32,
    timeouts: u32,
    awaited: bool,
    start: Time,
    first: u64,
    packets: u64,
    bytes: u64,
    /// Packets that are not acknowledged.
    missing: u64,
}

impl Message {
    fn end(&self) -> u64 {
        self.first + self.packets
    }
    fn payload_of(&self, psn: u64, payload: u64) -> u64 {
        (self.bytes - (psn - self.first) * payload).min(payload)
    }
}

/// Sends messages.
#[derive(Clone, Debug)]
pub struct DeliveryContext {
    spec: Arc<UetSpec>,
    facts: UetFacts,
    control: UetController,
    timeout: Time,
    /// Those that are not complete, and complete ones behind them.
    messages: VecDeque<Message>,
    /// Entropy value of the next new packet.
    at: usize,
    /// Oldest packet that is not acknowledged; next one that was never sent; one behind the last of the last message.
    oldest: u64,
    next: u64,
    end: u64,
    /// From `oldest` to `next`.
    packets: VecDeque<Packet>,
    /// Lost packets in order of their detection; those that are no longer lost are skipped.
    lost: VecDeque<u64>,
    /// Packets that are lost.
    lost_packets: u64,
    /// Packets in flight.
    flying: u64,
    /// Transmissions in order: when, and which packet. Those that are no longer the last of their packet are skipped.
    transmissions: VecDeque<(Time, u64)>,
    /// Bytes of frames in flight by the receiver's counter. It is rounded up, so that the difference to the bytes of the packets is
    /// 0 to 255, and this may be below 0.
    in_flight: i64,
    /// Counter of the last acknowledgement.
    received: u32,
    /// Timeouts in a row: each of a packet that was sent after the one before. And when the last one was.
    retry: u32,
    expired: Time,
    /// Credits of the receiver; `None`: it grants none.
    credits: Option<Box<Credits>>,
    /// State that the contexts of its host share, and whether it is counted there as one that has packets to send.
    nic: PullPacer,
    is_counted: bool,
    /// Time at which it may request credit again without data, or [`Time::NEVER`]; a request waits to be sent.
    credit_request_at: Time,
    requests_credit: bool,
    /// Requests for credit since the last grant that brought some, those of them since the last answer, and when the last one was due.
    credit_requests: u32,
    unanswered: u32,
    credit_requested_at: Time,
    /// When credit was spent last, and how long the last grant took from there if there was none left.
    spent_at: Time,
    granted_after: Time,
    /// The packet or probe that last requested an acknowledgement; the last packet left without a request, or the request was trimmed;
    /// when a probe that requests one is due, or [`Time::NEVER`]; and it waits to be sent.
    requested: u64,
    unrequested: bool,
    ack_at: Time,
    probes: bool,
    /// Choice of paths; `None`: one path.
    paths: Option<Box<Multipath>>,
    /// Loss inference; `None`: off.
    probing: Option<Box<Probing>>,
    /// Loss of packets that others have overtaken for long; `None`: off.
    overtaking: Option<Box<Overtaking>>,
    /// Latest transmission of a packet that was acknowledged, with `overtaking`.
    latest_acknowledged: Time,
    /// A probe of a path waits to be sent.
    probes_path: bool,
    /// Links that are down: of its own host, and of the receiver.
    links_down: [u16; 2],
    /// Time of the last call.
    now: Time,
    /// When the retransmission timer expires, or [`Time::NEVER`].
    deadline: Time,
    failed: Time,
    /// Counts so far.
    pub counts: ContextCounts,
    done: Vec<Done>,
    round_trip: (Time, Time),
    /// Smoothed round trip in ps; 0: none was measured.
    smoothed: f64,
    discarded: u64,
    closed: bool,
    /// Clocks of the time by activity; `None`: times of messages are not recorded.
    clocks: Option<Box<Clocks>>,
}

impl DeliveryContext {
    /// A context without messages.
    pub fn new(spec: &Arc<UetSpec>, facts: UetFacts) -> DeliveryContext {
        DeliveryContext {
            control: spec.start(&facts),
            timeout: spec.timeout_of(&facts),
            credits: spec.credits().map(|rules| Box::new(Credits::new(&rules, &facts))),
            nic: PullPacer::default(),
            is_counted: false,
            credit_request_at: Time::NEVER,
            requests_credit: false,
            credit_requests: 0,
            unanswered: 0,
            credit_requested_at: Time::ZERO,
            spent_at: Time::ZERO,
            granted_after: Time::ZERO,
            requested: 0,
            unrequested: false,
            ack_at: Time::NEVER,
            probes: false,
            paths: None,
            probing: Probing::new(spec, &facts).map(Box::new),
            overtaking: spec.overtaken_after(&facts).map(|time| Box::new(Overtaking::new(time))),
            latest_acknowledged: Time::ZERO,
            probes_path: false,
            links_down: [0; 2],
            now: Time::ZERO,
            spec: spec.clone(),
            facts,
            messages: VecDeque::new(),
            at: 0,
            oldest: FIRST_PSN,
            next: FIRST_PSN,
            end: FIRST_PSN,
            packets: VecDeque::new(),
            lost: VecDeque::new(),
            lost_packets: 0,
            flying: 0,
            transmissions: VecDeque::new(),
            in_flight: 0,
            received: 0,
            retry: 0,
            expired: Time::ZERO,
            deadline: Time::NEVER,
            failed: Time::NEVER,
            counts: ContextCounts::default(),
            done: Vec::new(),
            round_trip: (Time::NEVER, Time::NEVER),
            smoothed: 0.0,
            discarded: 0,
            closed: false,
            clocks: None,
        }
    }

    /// Chooses paths as its keys have it, with draws from this seed.
    pub fn choose_paths(&mut self, seed: u64) {
        let UetFacts { base_rtt, planes, trimming, .. } = self.facts;
        let facts = PathsFacts { base_rtt, seed, planes, trimming };
        self.paths = self.spec.paths.start(&facts).map(|selector| Box::new(Multipath::new(*selector)));
    }

    /// Begins with the PSN after this number of packets.
    #[cfg(test)]
    pub(crate) fn start_at(&mut self, psn: u64) {
        (self.oldest, self.next, self.end) = (psn, psn, psn);
    }

    /// Shares state with the other contexts of its host.
    pub fn attach(&mut self, nic: &PullPacer) {
        self.nic = nic.clone();
    }

    /// Posts a message behind all others; returns the PSN of its last packet. `awaited`: other transfers depend on it.
    pub fn post(&mut self, transfer: u32, start: Time, bytes: u64, awaited: bool) -> u64 {
        if let Some(credits) = self.credits.as_mut().filter(|_| self.oldest == self.end) {
            credits.restart();
        }
        self.now = self.now.max(start);
        let was_idle = self.backlog() == 0;
        let packets = bytes.div_ceil(self.spec.payload.into()).max(1);
        let first = self.end;
        self.messages.append_one(Message {
            transfer,
            retransmitted: 0,
            timeouts: 0,
            awaited,
            start,
            first,
            packets,
            bytes,
            missing: packets,
        });
        self.end = first + packets;
        // Its credit may have been spent long ago, with no acknowledgement pending that would bring more, and its
        // receiver has no packet of the message.
        if (was_idle || self.credit_request_at == Time::NEVER)
            && !self.requests_credit
            && self.failed == Time::NEVER
        {
            self.request_credit(start);
        }
        self.count_at_nic();
        self.note_time(start);
        self.end - 1
    }
    /// Withdraws what has not been sent, of a message of a flow.
    pub fn close(&mut self) {
        self.closed = true;
        self.request_ack(self.now);
        self.note_time(self.now);
    }
    /// Returns true if every packet of what was posted has been sent.
    pub fn has_sent_all(&self) -> bool {
        self.next == self.end || self.closed
    }
    /// Packets sent and not acknowledged.
    pub fn outstanding(&self) -> u64 {
        self.packets.iter().filter(|packet| packet.state != State::Acknowledged).count() as u64
    }
    /// Bytes of frames in flight.
    pub fn bytes_in_flight(&self) -> u64 {
        self.in_flight.max(0) as u64
    }
    /// Window in bytes of frames; [`u64::MAX`]: none.
    pub fn window(&self) -> u64 {
        self.control.window()
    }
    /// See [`UetControl::quick_adapts`].
    pub fn quick_adapts(&self) -> u64 {
        self.control.quick_adapts()
    }
    /// Smoothed round trip; `None`: none was measured.
    pub fn smoothed_round_trip(&self) -> Option<Time> {
        (self.smoothed > 0.0).then_some(Time::from_ps(self.smoothed as u64))
    }
    /// Frames that arrived without use.
    pub fn discarded(&self) -> u64 {
        self.discarded
    }
    /// When it failed after too many timeouts; `None`: it has not.
    pub fn failed(&self) -> Option<Time> {
        (self.failed < Time::NEVER).then_some(self.failed)
    }
    /// Takes the messages that have become complete.
    pub fn take_done(&mut self) -> Vec<Done> {
        std::mem::take(&mut self.done)
    }
    /// Returns true if messages have become complete.
    pub fn has_done(&self) -> bool {
        !self.done.is_empty()
    }
    /// Messages that are not complete: transfer, bytes not acknowledged, packets retransmitted, timeouts.
    pub fn left(&self) -> impl Iterator<Item = (u32, u64, u32, u32)> {
        self.messages.iter().filter(|message| message.missing > 0).map(|message| {
            // The short packet counts as the last one to arrive.
            let missing = message.missing * u64::from(self.spec.payload);
            (message.transfer, missing.min(message.bytes), message.retransmitted, message.timeouts)
        })
    }
    /// The link of the sender has another rate.
    pub fn on_link_rate(&mut self, rate: BitRate) {
        self.facts.rate = rate;
        self.control.on_link_rate(&self.spec.start(&self.facts));
        if let Some(clocks) = &mut self.clocks {
            clocks.own.on_link_rate(rate);
        }
        self.request_ack(self.now);
    }
    /// A round trip that was measured, and not yet returned.
    pub fn poll_record(&mut self) -> Option<Record> {
        let (start, end) = std::mem::replace(&mut self.round_trip, (Time::NEVER, Time::NEVER));
        let bytes = self.facts.packet.into();
        (start < Time::NEVER).then_some(Record { kind: RecordKind::RoundTrip, start, end, bytes })
    }
    /// Returns true if [`DeliveryContext::poll_record`] has one.
    pub fn has_record(&self) -> bool {
        self.round_trip.0 < Time::NEVER
    }

    fn message_of(&self, psn: u64) -> usize {
        self.messages.partition_point(|message| message.end() <= psn)
    }

    /// Bytes that it has taken beside itself.
    pub fn memory_bytes(&self) -> usize {
        self.messages.capacity() * size_of::<Message>()
            + self.packets.capacity() * size_of::<Packet>()
            + self.lost.capacity() * size_of::<u64>()
            + self.transmissions.capacity() * size_of::<(Time, u64)>()
            + self.paths.as_ref().map_or(0, |paths| size_of::<Multipath>() + paths.memory_bytes())
            + self.overtaking.as_ref().map_or(0, |it| size_of::<Overtaking>() + it.memory_bytes())
            + self.done.capacity() * size_of::<Done>()
            + self
                .clocks
                .as_ref()
                .map_or(0, |clocks| size_of::<Clocks>() + clocks.begun.capacity() * size_of::<MessageClock>())
    }
}
