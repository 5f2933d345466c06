//! The sending end of a packet delivery context: packets in flight, their state, and the selection of the next packet.

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
/// Number of bits of the receiver's byte counter.
const COUNTER_BITS: u32 = 24;
/// NACK codes: the packet was trimmed, or was trimmed at the last switch (UEC 1.0, table of NACK codes).
pub(crate) const NACK_TRIMMED: u8 = 1;
pub(crate) const NACK_TRIMMED_LAST_HOP: u8 = 2;
/// NACK code: a packet arrived out of order in ordered delivery.
pub(crate) const NACK_OUT_OF_ORDER: u8 = 13;
/// Types of the control packets that grant credit and that request it.
pub(crate) const CREDIT: u8 = 7;
pub(crate) const CREDIT_REQUEST: u8 = 8;
/// Type of the control packet for probes.
pub(crate) const PROBE: u8 = 6;
/// Weight of a sample in the smoothed round-trip time, as in RFC 6298.
const SMOOTHING: f64 = 0.125;
/// Maximum number of times that a timeout is doubled.
const MAX_DOUBLINGS: u32 = 10;

/// A completed message.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Done {
    /// Number of the transfer to which the message belongs.
    pub transfer: u32,
    /// Time at which the message was posted.
    pub start: Time,
    /// Length of the message in bytes.
    pub bytes: u64,
    /// Number of retransmitted packets of the message.
    pub retransmitted: u32,
    /// Number of timeouts of its packets.
    pub timeouts: u32,
    /// Times of the message by activity, if an application has posted it.
    pub times: Option<MessageTimes>,
}

/// The counters of a context.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct ContextCounts {
    /// Packets sent, including retransmissions.
    pub sent: u64,
    /// Packets retransmitted.
    pub retransmitted: u64,
    /// Acknowledgements received.
    pub acks: u64,
    /// Acknowledgements among these that echo a mark.
    pub marks: u64,
    /// NACKs received.
    pub nacks: u64,
    /// Expiries of the retransmission timer.
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

/// The state of a packet, from the oldest unacknowledged one on.
#[derive(Clone, Copy, Debug)]
struct Packet {
    /// Time of its last transmission.
    sent: Time,
    /// Length of its frame in bytes.
    bytes: u16,
    /// Entropy value of its last transmission.
    entropy: u16,
    /// Number of its transmissions, at most 255.
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
    /// Number of unacknowledged packets.
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

/// The sending end of a packet delivery context.
#[derive(Clone, Debug)]
pub struct DeliveryContext {
    spec: Arc<UetSpec>,
    facts: UetFacts,
    control: UetController,
    timeout: Time,
    /// Messages that are not complete, and complete messages behind them.
    messages: VecDeque<Message>,
    /// Index in `messages` of the message that contains the next new packet.
    at: usize,
    /// Oldest unacknowledged packet, next packet that has never been sent, and packet after the last one of the last
    /// message.
    oldest: u64,
    next: u64,
    end: u64,
    /// State of the packets from `oldest` up to `next`.
    packets: VecDeque<Packet>,
    /// Lost packets in order of detection. Packets that are no longer lost are skipped.
    lost: VecDeque<u64>,
    /// Number of lost packets.
    lost_packets: u64,
    /// Number of packets in flight.
    flying: u64,
    /// Transmissions in order: the time and the packet. Transmissions other than the last one of their packet are
    /// skipped.
    transmissions: VecDeque<(Time, u64)>,
    /// Bytes of frames in flight according to the receiver's counter. The counter is rounded up, so the value is up to
    /// 255 B less than the bytes of the packets, and may be negative.
    in_flight: i64,
    /// Receiver's counter in the last acknowledgement.
    received: u32,
    /// Number of consecutive timeouts, each of a packet sent after the previous timeout; and time of the last one.
    retry: u32,
    expired: Time,
    /// Credits granted by the receiver; `None` if it grants none.
    credits: Option<Box<Credits>>,
    /// State shared by the contexts of the host, and true if this context is counted there as one that has packets to
    /// send.
    nic: PullPacer,
    is_counted: bool,
    /// Time at which credit may be requested again without data, or [`Time::NEVER`]; and true if a request waits to be
    /// sent.
    credit_request_at: Time,
    requests_credit: bool,
    /// Number of credit requests since the last grant of new credit, number of them since the last answer, and time at
    /// which the last one was due.
    credit_requests: u32,
    unanswered: u32,
    credit_requested_at: Time,
    /// Time at which credit was last spent, and time from then until the last grant if no credit was left.
    spent_at: Time,
    granted_after: Time,
    /// Packet or probe that last requested an acknowledgement; true if the last packet was sent without a request or
    /// its request was trimmed; time at which a probe that requests an acknowledgement is due, or [`Time::NEVER`]; and
    /// true if that probe waits to be sent.
    requested: u64,
    unrequested: bool,
    ack_at: Time,
    probes: bool,
    /// Path selection; `None` if there is a single path.
    paths: Option<Box<Multipath>>,
    /// Loss inference; `None` if it is off.
    probing: Option<Box<Probing>>,
    /// Loss detection of packets that others overtook long ago; `None` if it is off.
    overtaking: Option<Box<Overtaking>>,
    /// Latest transmission time of an acknowledged packet; used with `overtaking`.
    latest_acknowledged: Time,
    /// True if a probe of a path waits to be sent.
    probes_path: bool,
    /// Links that are down at the own host, and at the receiver.
    links_down: [u16; 2],
    /// Time of the last call.
    now: Time,
    /// Time at which the retransmission timer expires, or [`Time::NEVER`].
    deadline: Time,
    failed: Time,
    /// Counters of the context.
    pub counts: ContextCounts,
    done: Vec<Done>,
    round_trip: (Time, Time),
    /// Smoothed round-trip time in ps; 0 if none has been measured.
    smoothed: f64,
    discarded: u64,
    closed: bool,
    /// Clocks that measure time by activity; `None` if the times of messages are not recorded.
    clocks: Option<Box<Clocks>>,
}

impl DeliveryContext {
    /// Creates a context without messages.
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

    /// Enables the path selection of the keys, with random numbers from this seed.
    pub fn choose_paths(&mut self, seed: u64) {
        let UetFacts { base_rtt, planes, trimming, .. } = self.facts;
        let facts = PathsFacts { base_rtt, seed, planes, trimming };
        self.paths = self.spec.paths.start(&facts).map(|selector| Box::new(Multipath::new(*selector)));
    }

    /// Starts at this PSN.
    #[cfg(test)]
    pub(crate) fn start_at(&mut self, psn: u64) {
        (self.oldest, self.next, self.end) = (psn, psn, psn);
    }

    /// Shares state with the other contexts of the host.
    pub fn attach(&mut self, nic: &PullPacer) {
        self.nic = nic.clone();
    }

    /// Posts a message behind all others, and returns the PSN of its last packet. `awaited` is true if other transfers
    /// depend on the message.
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
        // The context's credit may have been spent long ago. No acknowledgement that would bring more is pending, and
        // the receiver has no packet of the message.
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
    /// Withdraws the part of a flow's message that has not been sent.
    pub fn close(&mut self) {
        self.closed = true;
        self.request_ack(self.now);
        self.note_time(self.now);
    }
    /// Returns true if all packets of the posted messages have been sent.
    pub fn has_sent_all(&self) -> bool {
        self.next == self.end || self.closed
    }
    /// Returns the number of packets sent and not acknowledged.
    pub fn outstanding(&self) -> u64 {
        self.packets.iter().filter(|packet| packet.state != State::Acknowledged).count() as u64
    }
    /// Returns the number of bytes of frames in flight.
    pub fn bytes_in_flight(&self) -> u64 {
        self.in_flight.max(0) as u64
    }
    /// Returns the window in bytes of frames; [`u64::MAX`] if there is none.
    pub fn window(&self) -> u64 {
        self.control.window()
    }
    /// Returns the result of [`UetControl::quick_adapts`].
    pub fn quick_adapts(&self) -> u64 {
        self.control.quick_adapts()
    }
    /// Returns the smoothed round-trip time; `None` if none has been measured.
    pub fn smoothed_round_trip(&self) -> Option<Time> {
        (self.smoothed > 0.0).then_some(Time::from_ps(self.smoothed as u64))
    }
    /// Returns the number of received frames that were useless.
    pub fn discarded(&self) -> u64 {
        self.discarded
    }
    /// Returns the time at which the context failed after too many timeouts; `None` if it has not.
    pub fn failed(&self) -> Option<Time> {
        (self.failed < Time::NEVER).then_some(self.failed)
    }
    /// Returns the messages that have been completed since the last call.
    pub fn take_done(&mut self) -> Vec<Done> {
        std::mem::take(&mut self.done)
    }
    /// Returns true if there are completed messages that have not been returned.
    pub fn has_done(&self) -> bool {
        !self.done.is_empty()
    }
    /// Iterates over the incomplete messages: transfer, unacknowledged bytes, retransmitted packets, timeouts.
    pub fn left(&self) -> impl Iterator<Item = (u32, u64, u32, u32)> {
        self.messages.iter().filter(|message| message.missing > 0).map(|message| {
            // The short packet of a message counts as the last one to arrive.
            let missing = message.missing * u64::from(self.spec.payload);
            (message.transfer, missing.min(message.bytes), message.retransmitted, message.timeouts)
        })
    }
    /// Adapts to another rate of the sender's link.
    pub fn on_link_rate(&mut self, rate: BitRate) {
        self.facts.rate = rate;
        self.control.on_link_rate(&self.spec.start(&self.facts));
        if let Some(clocks) = &mut self.clocks {
            clocks.own.on_link_rate(rate);
        }
        self.request_ack(self.now);
    }
    /// Returns a measured round trip that has not been returned yet.
    pub fn poll_record(&mut self) -> Option<Record> {
        let (start, end) = std::mem::replace(&mut self.round_trip, (Time::NEVER, Time::NEVER));
        let bytes = self.facts.packet.into();
        (start < Time::NEVER).then_some(Record { kind: RecordKind::RoundTrip, start, end, bytes })
    }
    /// Returns true if [`DeliveryContext::poll_record`] would return a record.
    pub fn has_record(&self) -> bool {
        self.round_trip.0 < Time::NEVER
    }

    fn message_of(&self, psn: u64) -> usize {
        self.messages.partition_point(|message| message.end() <= psn)
    }

    /// Returns the heap memory in bytes.
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
