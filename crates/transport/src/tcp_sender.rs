//! The sending end of TCP.
//!
//! Bytes are numbered from 0. A segment leaves if it fits the window: the controller's (`aimd`, `cubic`, `dctcp`), as
//! the repair of losses changes it (`tahoe`, `fast_recovery`, `newreno`, `sack`), and the receiver's and the socket
//! buffer's. Segments are full but the last of a transfer. Acknowledgements are cumulative; those that acknowledge
//! nothing new, and blocks of what arrived beyond, tell of losses. A sender without progress for a timeout goes back to
//! the first byte that is not acknowledged and starts slowly. The timeout follows from the round trips, doubles each time
//! and is counted in ticks of any length. With limited transmit the first duplicates let new segments go.
//!
//! One segment a round trip is timed, and none that was sent twice (Karn); with timestamps each acknowledgement measures.
//! A mark that is echoed reduces the window once in a window of data. A transfer may follow another over the same
//! connection, after an idle time, or over one of its own, with or without a handshake.
//!
//! Source: RFC 9293, sections 3.4, 3.5 and 3.8; RFC 5681, sections 3 and 4; RFC 6298, sections 2 to 5; RFC 3042, section
//! 2; RFC 3168, section 6.1; RFC 7323, section 4.
//!
//! Not modelled: data in both directions and acknowledgements on data; FIN, RST and the time after a connection; the
//! algorithm of Nagle; windows that the receiver changes, and probes of closed ones; the smaller initial window and the
//! longer timeout after a lost SYN (RFC 6298 section 5.7); options in SYN; F-RTO, RACK and tail loss probes.

use crate::controller::{CongestionControl, ControllerConfiguration, Loss, LossKind};
use crate::endpoint::{Congestion, Protocol, Received, Record, Requests, Segment, TransportFacts};
use crate::limited::{LimitedBy, LimitedClock, LimitedTimes};
use crate::loss_recoveries::ActiveLossRecovery;
use crate::loss_recovery::{Flight, LossRecovery};
use crate::pacer::Pacer;
use crate::round_trip::RoundTrip;
use crate::tcp::{EcnMode, TcpSpec};
use crate::transfers::Transfers;
use crate::{Controller, Delay};
use frame::{FrameKind, Header, TcpHeader};
use rand_xoshiro::Xoshiro256PlusPlus;
use std::collections::VecDeque;
use std::sync::Arc;
use units::Time;
use workload::Due;

/// Whether data may flow.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum State {
    /// Nothing has begun.
    Closed,
    /// A SYN is to be sent, for the first time or again.
    SynDue { again: bool },
    /// It was sent, once (then the answer measures a round trip) or again.
    SynSent { first: Option<Time> },
    /// Data may flow.
    Established,
}

/// Sends over TCP.
#[derive(Clone, Debug)]
pub struct TcpSender {
    pub(crate) spec: Arc<TcpSpec>,
    pub(crate) controller: Controller,
    pub(crate) recovery: ActiveLossRecovery,
    pub(crate) transfers: Transfers,
    pub(crate) state: State,
    /// The first byte that is not acknowledged (SND.UNA).
    pub(crate) unacknowledged: u64,
    /// The byte that comes next (SND.NXT).
    pub(crate) next: u64,
    /// One after the highest byte that was ever sent.
    pub(crate) highest: u64,
    /// What leaves next; `None`: nothing may.
    pub(crate) chosen: Option<(u64, u64)>,
    /// Nothing is amiss: data may flow, what comes next is new, and there is nothing to be learnt for repairs.
    pub(crate) fast_path: bool,
    /// The next transfer finds nothing of what it has learnt: its connection is another.
    pub(crate) renewed: bool,
    /// The first segment leaves again, whatever the window is.
    pub(crate) resends: bool,
    /// Bytes that limited transmit has let go.
    pub(crate) limited: u64,
    /// Nothing but timeouts has happened since the last progress.
    pub(crate) timed_out: bool,
    pub(crate) round_trip: RoundTrip,
    /// When it has waited for too long; [`Time::NEVER`]: it does not wait.
    pub(crate) deadline: Time,
    /// One behind the last byte of a segment that was sent once, and when.
    pub(crate) timed: Option<(u64, Time)>,
    /// When data was last sent.
    pub(crate) sent_at: Time,
    /// Echoes of what was sent before this byte change nothing any more.
    pub(crate) reduced_until: u64,
    /// The peer is to be told of a reduction.
    pub(crate) owes_cwr: bool,
    pub(crate) pacer: Pacer,
    /// What may leave waits until then; [`Time::NEVER`]: for nothing.
    pub(crate) held_until: Time,
    /// From then on it sends nothing new; [`Time::NEVER`]: that is over, or has no end.
    pub(crate) stop: Time,
    /// Where anything is random.
    pub(crate) rng: Option<Box<Xoshiro256PlusPlus>>,
    pub(crate) records: VecDeque<Record>,
    pub(crate) retransmitted: u64,
    pub(crate) discarded: u64,
    pub(crate) timeouts: u32,
    pub(crate) marks: u64,
    pub(crate) holding: LimitedClock,
}

impl TcpSender {
    /// A sender that begins at `start`, sends nothing new from `stop` on and draws from `rng`, which should be its alone.
    pub fn new(
        spec: &Arc<TcpSpec>,
        start: Time,
        stop: Option<Time>,
        mut rng: Xoshiro256PlusPlus,
    ) -> TcpSender {
        let phase = Time::from_ps(workload::below(&mut rng, spec.timer.tick.ps()));
        let draws = spec.jitter > Time::ZERO || !matches!(spec.transfers.idle, Delay::Fixed(_));
        TcpSender {
            controller: spec.controller.start(spec.segment),
            recovery: spec.recovery.start(),
            transfers: Transfers::new(&spec.transfers, start),
            state: State::Closed,
            unacknowledged: 0,
            next: 0,
            highest: 0,
            chosen: None,
            fast_path: false,
            renewed: false,
            resends: false,
            limited: 0,
            timed_out: false,
            round_trip: RoundTrip::new(phase),
            deadline: Time::NEVER,
            timed: None,
            sent_at: Time::ZERO,
            reduced_until: 0,
            owes_cwr: false,
            pacer: Pacer::default(),
            held_until: Time::NEVER,
            stop: stop.unwrap_or(Time::NEVER),
            rng: draws.then(|| Box::new(rng)),
            records: VecDeque::new(),
            retransmitted: 0,
            discarded: 0,
            timeouts: 0,
            marks: 0,
            holding: LimitedClock::IDLE,
            spec: spec.clone(),
        }
    }

    /// Bytes that were sent and are not acknowledged, since it last went back.
    pub fn in_flight(&self) -> u64 {
        self.next - self.unacknowledged
    }
    /// Bytes that are acknowledged.
    pub fn acknowledged(&self) -> u64 {
        self.unacknowledged
    }
    /// Bytes that were ever sent.
    pub fn sent(&self) -> u64 {
        self.highest
    }
    /// Timeouts so far.
    pub fn timeouts(&self) -> u32 {
        self.timeouts
    }
    /// One more transfer, while it has nothing else to send.
    pub(crate) fn offer(&mut self, due: Due) {
        self.transfers.offer(due.start, due.bytes);
    }
    /// Becomes another connection, while it has nothing to send: the next transfer begins as the first did.
    pub(crate) fn renew(&mut self) {
        self.renewed = true;
    }
    /// One behind the last byte of what leaves next, if that is data.
    pub(crate) fn next_end(&self) -> Option<u64> {
        self.chosen.map(|(_, to)| to).filter(|_| self.state == State::Established)
    }
    /// Whether data may flow.
    #[inline(always)]
    pub(crate) fn is_open(&self) -> bool {
        matches!(self.state, State::Established)
    }
    /// Its controller.
    pub fn controller(&self) -> &Controller {
        &self.controller
    }

    pub(crate) fn flight(&self) -> Flight {
        Flight {
            unacknowledged: self.unacknowledged,
            highest: self.highest,
            segment: self.spec.segment,
            threshold: self.spec.duplicates,
            steady: self.spec.steady,
            proportional: self.spec.proportional,
        }
    }

    #[inline(always)]
    pub(crate) fn start_timer(&mut self, now: Time) {
        self.deadline = self.round_trip.deadline(&self.spec.timer, now);
    }

    pub(crate) fn lose(&mut self, now: Time, kind: LossKind) {
        // RFC 3042 section 2: what limited transmit has sent does not count.
        let mut in_flight = self.in_flight().saturating_sub(self.limited);
        if kind != LossKind::FastRecovery {
            // RFC 5681 equation 4 says "no more than" half of what is not acknowledged, and a long repair lets a multiple of
            // the window go before the first hole is filled: half of that would overrun the path at once.
            in_flight = in_flight.min(self.controller.window());
        }
        self.limited = 0;
        self.controller.on_loss(now, &Loss { kind, in_flight });
        self.timed = None;
        // RFC 3168 section 6.1.2: a window of data is cwr once, for whatever reason.
        self.reduced_until = self.highest;
        self.owes_cwr |= self.spec.ecn == EcnMode::Rfc3168;
    }

    pub(crate) fn go_back(&mut self) {
        (self.next, self.resends) = (self.unacknowledged, false);
    }

    fn time_out(&mut self, now: Time) {
        self.deadline = Time::NEVER;
        self.timeouts += 1;
        self.holding.correct(LimitedBy::CongestionControl);
        self.round_trip.double();
        if self.state != State::Established {
            self.state = State::SynDue { again: true };
            return;
        }
        let kind = if self.timed_out { LossKind::RepeatedTimeout } else { LossKind::Timeout };
        self.lose(now, kind);
        self.timed_out = true;
        self.recovery.on_timeout(&self.flight());
        self.go_back();
    }

    /// Begins the transfer that is due.
    fn begin(&mut self, now: Time) {
        if self.transfers.begin(&self.spec.transfers, now) {
            self.wake(now);
        }
    }

    /// So many more bytes to send, behind all others.
    pub(crate) fn write(&mut self, now: Time, bytes: u64) {
        self.transfers.extend(bytes);
        self.wake(now);
        self.look_apart(now, true);
    }

    /// There is something to send.
    fn wake(&mut self, now: Time) {
        let first = self.state == State::Closed;
        if first || self.spec.reconnect || std::mem::take(&mut self.renewed) {
            self.controller = self.spec.controller.start(self.spec.segment);
            self.recovery = self.spec.recovery.start();
            self.round_trip = self.round_trip.forget();
            self.reduced_until = self.highest;
            self.state =
                if self.spec.handshake { State::SynDue { again: false } } else { State::Established };
        } else if self.spec.restart_after_idle
            && now.saturating_sub(self.sent_at) > self.round_trip.timeout(&self.spec.timer)
        {
            // RFC 5681 section 4.1.
            self.controller.on_idle(now);
        }
    }

    #[inline(never)]
    fn greet(&mut self, now: Time, again: bool) -> Segment {
        self.state = State::SynSent { first: (!again).then_some(now) };
        self.start_timer(now);
        let word = self.unacknowledged as u32;
        let header = TcpHeader { number: word, syn: true, ..TcpHeader::default() };
        Segment {
            kind: FrameKind::Ack,
            word,
            header: Some(Header::Tcp(header)),
            bytes: self.spec.ack_frame_bytes(0),
            ecn_capable: false,
            entropy: 0,
        }
    }

    /// A segment leaves while it greets, repairs or goes back.
    #[inline(never)]
    fn transmit_otherwise(&mut self, now: Time, from: u64, to: u64) -> Segment {
        if let State::SynDue { again } = self.state {
            let segment = self.greet(now, again);
            self.look_apart(now, false);
            return segment;
        }
        let again = from < self.highest;
        if !self.recovery.is_quiet() {
            self.recovery.on_sent(&self.flight(), from, to);
            if !again && self.recovery.duplicates() > 0 && !self.recovery.is_recovering() {
                self.limited += to - from;
            }
        }
        if again {
            self.retransmitted += 1;
            // Karn: what was sent twice is not timed.
            self.timed = self.timed.filter(|timed| timed.0 <= from);
        } else {
            self.time(now, to);
        }
        self.next = self.next.max(to);
        self.highest = self.highest.max(to);
        if self.next < self.highest {
            self.next = self.recovery.skip(self.next).min(self.highest);
        }
        self.resends = false;
        self.has_sent(now, from, to);
        // RFC 3168 section 6.1.2: CWR on the first new data.
        let cwr = !again && std::mem::take(&mut self.owes_cwr);
        self.look(now, false);
        self.segment(from, to, again, cwr)
    }

    /// Times the segment of new data that ends here, unless another one is timed.
    #[inline(always)]
    fn time(&mut self, now: Time, to: u64) {
        if !self.spec.timestamps && self.timed.is_none() {
            self.timed = Some((to, now));
        }
    }

    /// Data has left.
    #[inline(always)]
    fn has_sent(&mut self, now: Time, from: u64, to: u64) {
        self.sent_at = now;
        // RFC 6298 section 5.1.
        if self.deadline == Time::NEVER {
            self.start_timer(now);
        }
        if let Some(rate) = self.controller.rate() {
            self.pacer.set_rate(Some(rate));
            self.pacer.on_send(now, self.spec.frame_bytes((to - from) as u16).into());
        }
    }

    /// The segment of these bytes, which leave for the first time or `again`; `cwr`: the first new data since the window
    /// was.
    #[inline(always)]
    fn segment(&self, from: u64, to: u64, again: bool, cwr: bool) -> Segment {
        let data = (to - from) as u16;
        let bytes = self.spec.frame_bytes(data);
        // RFC 3168 section 6.1.5: no marks on what is sent again.
        let ecn_capable = self.spec.ecn != EcnMode::Off && !again;
        if cwr || self.spec.data_in(bytes) != data {
            return self.wide(from, data, cwr, ecn_capable);
        }
        Segment { kind: FrameKind::Data, word: from as u32, header: None, bytes, ecn_capable, entropy: 0 }
    }

    /// As `segment`, of one that says more than its number.
    #[inline(never)]
    fn wide(&self, from: u64, data: u16, cwr: bool, ecn_capable: bool) -> Segment {
        let bytes = self.spec.frame_bytes(data);
        let payload = (self.spec.data_in(bytes) != data).then_some(data);
        let header = TcpHeader { number: from as u32, payload, cwr, ..TcpHeader::default() };
        let header = Some(Header::Tcp(header));
        Segment { kind: FrameKind::Data, word: from as u32, header, bytes, ecn_capable, entropy: 0 }
    }
}

impl Protocol for TcpSender {
    #[inline(always)]
    fn handle_frame(&mut self, now: Time, received: &Received) {
        match received.kind {
            kind @ (FrameKind::Ack | FrameKind::MarkedAck) => {
                self.acknowledge(now, received, kind == FrameKind::MarkedAck);
            }
            FrameKind::Cnm | FrameKind::Cnp => self.controller.on_message(now, received.word),
            _ => self.discarded += 1,
        }
        self.look(now, true);
    }

    fn handle_timeout(&mut self, now: Time) {
        self.pacer.handle_timeout(now);
        if self.held_until <= now {
            self.held_until = Time::NEVER;
        }
        self.begin(now);
        if self.stop <= now {
            self.stop = Time::NEVER;
            self.transfers.close(self.highest);
            self.complete(now);
        }
        if self.deadline <= now {
            self.time_out(now);
        }
        self.look_apart(now, true);
    }

    #[inline(always)]
    fn poll_timeout(&self) -> Option<Time> {
        let (next, opens) = (self.transfers.calls_at(), self.pacer.calls_at());
        let earliest = next.min(self.stop).min(self.deadline).min(opens).min(self.held_until);
        Some(earliest).filter(|&at| at < Time::NEVER)
    }

    #[inline(always)]
    fn has_work(&self) -> bool {
        self.chosen.is_some() && self.pacer.is_open() && self.held_until == Time::NEVER
    }

    fn poll_transmit(&mut self, now: Time) -> Option<Segment> {
        self.transmit(now).0
    }

    #[inline(always)]
    fn transmit(&mut self, now: Time) -> (Option<Segment>, Requests) {
        let Some((from, to)) = self.chosen.filter(|_| self.has_work()) else {
            return (None, self.requests());
        };
        if !self.fast_path {
            let segment = self.transmit_otherwise(now, from, to);
            return (Some(segment), self.requests());
        }
        self.time(now, to);
        (self.next, self.highest) = (to, to);
        self.has_sent(now, from, to);
        // RFC 3168 section 6.1.2: CWR on the first new data.
        let cwr = std::mem::take(&mut self.owes_cwr);
        self.chosen = self.choose_new();
        self.note_holder(now);
        let requests = self.requests();
        (Some(self.segment(from, to, false, cwr)), requests)
    }

    fn poll_record(&mut self) -> Option<Record> {
        self.records.pop_front()
    }
    fn has_records(&self) -> bool {
        !self.records.is_empty()
    }
    fn memory_bytes(&self) -> usize {
        size_of::<TcpSender>()
            + self.records.capacity() * size_of::<Record>()
            + self.rng.as_ref().map_or(0, |_| size_of::<Xoshiro256PlusPlus>())
            + self.recovery.memory_bytes()
    }
    fn facts(&self, now: Time) -> TransportFacts {
        TransportFacts {
            retransmitted: self.retransmitted(),
            discarded: self.discarded(),
            congestion: self.congestion(),
            held: self.held(now),
            ..TransportFacts::default()
        }
    }
}

impl TcpSender {
    pub(crate) fn retransmitted(&self) -> u64 {
        self.retransmitted
    }
    pub(crate) fn discarded(&self) -> u64 {
        self.discarded
    }
    pub(crate) fn congestion(&self) -> Option<Congestion> {
        Some(Congestion {
            window: self.controller.window(),
            round_trip: self.round_trip.smoothed(),
            timeouts: self.timeouts.into(),
            marks: self.marks,
        })
    }
    pub(crate) fn held(&self, now: Time) -> Option<LimitedTimes> {
        Some(self.holding.until(now))
    }
}
