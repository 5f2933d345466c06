//! The sender of scheduled transfers over TCP, with connections from one host to another that are opened on demand.
//!
//! A new transfer uses the most recently used idle connection, or a new one if all are busy. The transfer uses this
//! connection exclusively until its last byte is acknowledged, and inherits the congestion window and the round-trip
//! estimate of the previous transfer. With `reconnect` it starts with a new connection, including a handshake if
//! connections have one. The number of connections is therefore the maximum number of concurrent transfers, and a
//! million short transfers in sequence need the memory of one. The NIC serves connections with data to send in
//! round-robin order, one segment at a time.
//!
//! If ports are drawn at random, a transfer on an idle connection uses the ports of that connection. If ports are
//! specified, it uses an idle connection with these ports. If there is none, it closes another idle connection and
//! starts as with `reconnect`.
//!
//! Source: RFC 9293, sections 3.4 and 3.5 (one connection per transfer); RFC 9112, section 9.3 (persistent
//! connections: consecutive requests on one connection, several concurrent connections); `tcp_sender` for the
//! behaviour of a connection.
//!
//! Not modelled: FIN and TIME-WAIT (a new connection continues the sequence numbers of its predecessor, so that late
//! segments are recognised as old); a limit of connections; pipelined requests.

use crate::endpoint::{HostEvent, Protocol, Received, Record, RecordKind, Segment, TransportFacts};
use crate::members::Members;
use crate::tcp::TcpSpec;
use crate::tcp_sender::TcpSender;
use crate::tcp_times::ConnectionClock;
use crate::time_spent::MessageTimes;
use frame::{FrameKind, Header, Ports, TcpHeader};
use rand_xoshiro::Xoshiro256PlusPlus;
use std::collections::VecDeque;
use std::sync::Arc;
use units::{BitRate, Time};
use workload::Due;

/// The outcome of a transfer at its sender.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct TransferOutcome {
    /// Time at which the last byte was acknowledged; [`Time::NEVER`] if it has not been.
    pub acknowledged: Time,
    /// Number of unacknowledged bytes.
    pub missing: u64,
    /// Number of retransmitted segments.
    pub sent_again: u32,
    /// Number of timeouts.
    pub timeouts: u32,
    /// True if the connection carried another transfer before, and kept its learnt state.
    pub reused: bool,
    /// Number of the connection.
    pub connection: u32,
}

impl TransferOutcome {
    /// Creates the outcome of a transfer of `bytes` that has not begun.
    pub(crate) fn waiting(bytes: u64) -> TransferOutcome {
        TransferOutcome {
            acknowledged: Time::NEVER,
            missing: bytes,
            sent_again: 0,
            timeouts: 0,
            reused: false,
            connection: 0,
        }
    }
    /// Records the outcome of a transfer that begins. Transfers before it may begin later.
    pub(crate) fn note(
        outcomes: &mut Vec<TransferOutcome>,
        due: &[Due],
        transfer: u32,
        outcome: TransferOutcome,
    ) {
        let later = due.iter().take(transfer as usize).skip(outcomes.len());
        outcomes.extend(later.map(|due| TransferOutcome::waiting(due.bytes)));
        match outcomes.get_mut(transfer as usize) {
            Some(own) => *own = outcome,
            None => outcomes.push(outcome),
        }
    }
}

/// Sends transfers over TCP.
#[derive(Clone, Debug)]
pub struct TransferSender {
    spec: Arc<TcpSpec>,
    due: Arc<[Due]>,
    /// Number of scheduled transfers that have begun.
    begun: usize,
    /// Outcomes of the transfers that have begun, and of those before them that have not.
    outcomes: Vec<TransferOutcome>,
    /// Acknowledged transfers that others depend on, and messages with their times by activity.
    ended: VecDeque<(u32, Option<MessageTimes>)>,
    connections: Members<TcpSender>,
    /// Transfer of each connection.
    carried: Vec<Carried>,
    /// Connections without a transfer; the one used last is at the end.
    free: Vec<u32>,
    /// Clocks of the connections, which run for posted messages; empty if there are none.
    clocks: Vec<ConnectionClock>,
    /// Rate of the link, and bytes of overhead around each frame on it.
    link: (BitRate, u16),
    rng: Xoshiro256PlusPlus,
    records: VecDeque<Record>,
    discarded: u64,
}

/// The transfer that a connection carries.
#[derive(Clone, Copy, Debug)]
struct Carried {
    /// Index of the transfer's outcome: the number of a scheduled transfer, or the number of the connection for a
    /// posted message.
    transfer: u32,
    /// Number with which both ends report the end of the transfer.
    label: u32,
    /// Number after the transfer's last byte, in the connection's stream.
    end: u64,
    /// Retransmitted segments and timeouts of the connection when the transfer began.
    before: (u64, u32),
    /// Ports of the connection, if they are given.
    ports: Ports,
}

impl TransferSender {
    /// Creates a sender of these transfers, which are in order of their starts. No other user may draw from `rng`.
    pub fn new(spec: &Arc<TcpSpec>, due: Arc<[Due]>, rng: Xoshiro256PlusPlus) -> TransferSender {
        TransferSender {
            spec: spec.clone(),
            due,
            begun: 0,
            outcomes: Vec::new(),
            ended: VecDeque::new(),
            connections: Members::new(),
            carried: Vec::new(),
            free: Vec::new(),
            clocks: Vec::new(),
            link: (BitRate::from_gbps(1), 0),
            rng,
            records: VecDeque::new(),
            discarded: 0,
        }
    }

    /// Enables the measurement of message times, on a link of this rate with `overhead` bytes around each frame.
    #[must_use]
    pub fn on_link(mut self, rate: BitRate, overhead: u16) -> TransferSender {
        self.link = (rate, overhead);
        self
    }

    /// Returns the outcomes by transfer number, up to the last transfer that has begun. Those among them that wait have
    /// all their bytes missing.
    pub fn outcomes(&self) -> Vec<TransferOutcome> {
        let mut outcomes = self.outcomes.clone();
        for (sender, carried) in self.connections.iter().zip(&self.carried) {
            let outcome = &mut outcomes[carried.transfer as usize];
            if outcome.acknowledged == Time::NEVER {
                outcome.missing = carried.end - sender.acknowledged();
            }
        }
        outcomes
    }

    /// Returns the number of connections.
    pub fn connections(&self) -> usize {
        self.connections.len()
    }

    /// Begins the transfers that are due.
    fn begin(&mut self, now: Time) {
        while let Some(&due) = self.due.get(self.begun).filter(|due| due.start <= now) {
            self.begun += 1;
            self.begin_one(self.begun as u32 - 1, due, now);
        }
    }

    fn begin_one(&mut self, transfer: u32, due: Due, now: Time) {
        let outcome = self.carry((Some(transfer), transfer), due, now);
        TransferOutcome::note(&mut self.outcomes, &self.due, transfer, outcome);
        self.connections.update(outcome.connection);
    }

    /// Posts a message of an application. Its outcome is reused for the next message of its connection.
    fn post(&mut self, tag: u32, bytes: u64, now: Time) {
        // A stream has no empty messages, so an empty one takes a byte.
        let due = Due { start: now, bytes: bytes.max(1), ports: Ports::default(), awaited: true };
        let outcome = self.carry((None, tag), due, now);
        let number = outcome.connection as usize;
        self.outcomes.resize(self.outcomes.len().max(number + 1), TransferOutcome::waiting(0));
        self.outcomes[number] = outcome;
        let (rate, overhead) = self.link;
        let missing = (number + 1).saturating_sub(self.clocks.len());
        self.clocks.extend((0..missing).map(|_| ConnectionClock::new(rate, overhead)));
        if let Some(sender) = self.connections.get_mut(outcome.connection) {
            self.clocks[number].begin(sender, now);
        }
        self.connections.update(outcome.connection);
    }

    /// Assigns a connection to a transfer. If the transfer's number is `None`, its outcome has the index of the
    /// connection.
    fn carry(&mut self, (transfer, label): (Option<u32>, u32), due: Due, now: Time) -> TransferOutcome {
        let free = self.take_free(due.ports);
        let number = free.unwrap_or_else(|| self.open());
        let renews = free.is_some() && self.carried[number as usize].ports != due.ports;
        let reused = free.is_some() && !renews && !self.spec.reconnect;
        if let Some(sender) = self.connections.get_mut(number) {
            if renews {
                sender.renew();
            }
            self.carried[number as usize] = Carried {
                transfer: transfer.unwrap_or(number),
                label,
                end: sender.acknowledged() + due.bytes,
                before: (sender.retransmitted(), sender.timeouts()),
                ports: due.ports,
            };
            sender.offer(due);
            sender.handle_timeout(now);
        }
        TransferOutcome { reused, connection: number, ..TransferOutcome::waiting(due.bytes) }
    }

    /// Returns the most recently used free connection with these ports. If there is none, returns the most recently
    /// used free connection of all.
    fn take_free(&mut self, ports: Ports) -> Option<u32> {
        let same = self.free.iter().rposition(|&number| self.carried[number as usize].ports == ports);
        let place = same.or(self.free.len().checked_sub(1))?;
        Some(self.free.remove(place))
    }

    /// Opens a new connection.
    fn open(&mut self) -> u32 {
        let rng = self.rng.clone();
        // Jumps further ahead than the draws of any connection.
        self.rng.jump();
        let sender = TcpSender::new(&self.spec, Time::NEVER, None, rng);
        self.carried.push(Carried { transfer: 0, label: 0, end: 0, before: (0, 0), ports: Ports::default() });
        self.connections.add(sender)
    }

    /// Updates the queues after an event at a connection.
    fn update(&mut self, number: u32, now: Time) {
        self.collect(number, now);
        self.connections.update(number);
    }

    /// Collects the records of a connection, and charges its time.
    fn collect(&mut self, number: u32, now: Time) {
        let Some(sender) = self.connections.get_mut(number) else { return };
        let carried = self.carried[number as usize];
        let outcome = &mut self.outcomes[carried.transfer as usize];
        if outcome.acknowledged == Time::NEVER {
            outcome.sent_again = (sender.retransmitted() - carried.before.0) as u32;
            outcome.timeouts = sender.timeouts() - carried.before.1;
        }
        while let Some(record) = sender.poll_record() {
            if record.kind == RecordKind::Transfer {
                let clock = self.clocks.get_mut(number as usize);
                let times = clock.and_then(|clock| clock.end(sender, now));
                (outcome.acknowledged, outcome.missing) = (record.end, 0);
                self.free.push(number);
                if self.due.get(carried.transfer as usize).is_none_or(|due| due.awaited) {
                    self.ended.push_back((carried.label, times));
                }
            }
            self.records.push_back(record);
        }
        if let Some(clock) = self.clocks.get_mut(number as usize) {
            clock.observe(sender, now);
        }
    }
}

impl Protocol for TransferSender {
    fn handle_frame(&mut self, now: Time, received: &Received) {
        let number = received.header.as_ref().and_then(Header::tcp).map_or(0, |tcp| tcp.connection);
        match self.connections.get_mut(number) {
            Some(sender) => sender.handle_frame(now, received),
            None => self.discarded += 1,
        }
        self.update(number, now);
    }

    fn handle_timeout(&mut self, now: Time) {
        self.begin(now);
        while let Some(number) = self.connections.due(now) {
            if let Some(sender) = self.connections.get_mut(number) {
                sender.handle_timeout(now);
            }
            self.update(number, now);
        }
    }

    fn poll_timeout(&self) -> Option<Time> {
        let begins = self.due.get(self.begun).map(|due| due.start).filter(|&at| at < Time::NEVER);
        let looks = self.connections.next_look();
        let first = begins.map_or(looks, |begins| begins.min(looks));
        (first < Time::NEVER).then_some(first)
    }

    fn has_work(&self) -> bool {
        self.connections.have_work()
    }

    fn poll_transmit(&mut self, now: Time) -> Option<Segment> {
        let number = self.connections.take_turn()?;
        let Carried { label, end, .. } = self.carried[number as usize];
        let sender = self.connections.get_mut(number)?;
        let to = sender.next_end();
        let segment = sender.poll_transmit(now);
        let is_last = to == Some(end);
        if let (Some(clock), Some(segment)) = (self.clocks.get_mut(number as usize), &segment)
            && segment.kind == FrameKind::Data
        {
            clock.on_send(sender, (segment.bytes, is_last), now);
        }
        self.collect(number, now);
        self.connections.end_turn(number);
        let segment = segment?;
        let ends = (segment.kind == FrameKind::Data && is_last).then_some(label);
        Some(labelled(segment, number, ends))
    }

    fn poll_record(&mut self) -> Option<Record> {
        self.records.pop_front()
    }
    fn poll_ended(&mut self) -> Option<u32> {
        self.ended.pop_front().map(|own| own.0)
    }
    fn poll_ended_with_times(&mut self) -> Option<(u32, Option<MessageTimes>)> {
        self.ended.pop_front()
    }
    fn memory_bytes(&self) -> usize {
        size_of::<TransferSender>()
            + self.ended.capacity() * size_of::<(u32, Option<MessageTimes>)>()
            + self.clocks.capacity() * size_of::<ConnectionClock>()
            + self.outcomes.capacity() * size_of::<TransferOutcome>()
            + self.connections.memory_bytes()
            + self.carried.capacity() * size_of::<Carried>()
            + self.free.capacity() * size_of::<u32>()
            + self.records.capacity() * size_of::<Record>()
    }
    fn facts(&self, _now: Time) -> TransportFacts {
        TransportFacts {
            retransmitted: self.retransmitted(),
            discarded: self.discarded(),
            ..TransportFacts::default()
        }
    }
    fn on_event(&mut self, now: Time, event: &HostEvent<'_>) -> bool {
        match *event {
            HostEvent::Release(transfer) => self.release(transfer, now),
            HostEvent::Post { tag, bytes } => self.post(tag, bytes, now),
            HostEvent::Stopped(stopped) => {
                self.clocks.iter_mut().for_each(|clock| clock.on_stopped(stopped, now));
            }
            HostEvent::LinkRate(rate) => {
                self.link.0 = rate;
                self.clocks.iter_mut().for_each(|clock| clock.on_link_rate(rate));
            }
            _ => {}
        }
        false
    }
}

impl TransferSender {
    pub(crate) fn retransmitted(&self) -> u64 {
        self.connections.iter().map(TcpSender::retransmitted).sum()
    }
    pub(crate) fn discarded(&self) -> u64 {
        self.discarded + self.connections.iter().map(TcpSender::discarded).sum::<u64>()
    }
    pub(crate) fn release(&mut self, transfer: u32, now: Time) {
        if let Some(&due) = self.due.get(transfer as usize) {
            self.begin_one(transfer, Due { start: now, ..due }, now);
        }
    }
}

/// Labels a segment of this connection before it is sent. The first connection needs no label.
pub(crate) fn labelled(segment: Segment, connection: u32, ends: Option<u32>) -> Segment {
    if connection == 0 && ends.is_none() {
        return segment;
    }
    let plain = || TcpHeader { number: segment.word, ..TcpHeader::default() };
    let tcp = segment.header.as_ref().and_then(Header::tcp).copied().unwrap_or_else(plain);
    Segment { header: Some(Header::Tcp(TcpHeader { connection, ends, ..tcp })), ..segment }
}
