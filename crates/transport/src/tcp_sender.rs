//! The TCP sender.
//!
//! Bytes are numbered from 0. A segment is sent if it fits in the smallest of three windows: the congestion window of
//! the controller (`aimd`, `cubic`, `dctcp`), as modified during loss recovery (`tahoe`, `fast_recovery`, `newreno`,
//! `sack`), the receive window, and the send buffer. All segments of a transfer except the last are full-sized.
//! Acknowledgements are cumulative. Duplicate acknowledgements and SACK blocks indicate losses. After a retransmission
//! timeout without progress, the sender goes back to the first unacknowledged byte and enters slow start. The timeout
//! is derived from the measured round-trip times, doubles at each expiry, and is measured in ticks of configurable
//! length. With limited transmit the first duplicate acknowledgements release new segments.
//!
//! One segment per round trip is timed, but no retransmitted segment (Karn's algorithm). With timestamps every
//! acknowledgement gives a measurement. An ECN echo reduces the window once per window of data. After an idle time,
//! another transfer may follow on the same connection or on a new one, with or without a handshake.
//!
//! Source: RFC 9293, sections 3.4, 3.5 and 3.8; RFC 5681, sections 3 and 4; RFC 6298, sections 2 to 5; RFC 3042,
//! section 2; RFC 3168, section 6.1; RFC 7323, section 4.
//!
//! Not modelled: bidirectional data and acknowledgements piggybacked on data; FIN, RST and TIME-WAIT; the Nagle
//! algorithm; a receive window that changes, and zero-window probes; the smaller initial window and the longer timeout
//! after a lost SYN (RFC 6298 section 5.7); options in SYN; F-RTO, RACK and tail loss probes.

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

/// The state of the connection.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum State {
    /// The connection has not begun.
    Closed,
    /// A SYN has to be sent, for the first time or as a retransmission.
    SynDue { again: bool },
    /// A SYN has been sent. `first` is its send time if it was sent once, because only then its answer measures a round
    /// trip.
    SynSent { first: Option<Time> },
    /// Established: data may flow.
    Established,
}

/// The sending end of TCP.
#[derive(Clone, Debug)]
pub struct TcpSender {
    pub(crate) spec: Arc<TcpSpec>,
    pub(crate) controller: Controller,
    pub(crate) recovery: ActiveLossRecovery,
    pub(crate) transfers: Transfers,
    pub(crate) state: State,
    /// First unacknowledged byte (SND.UNA).
    pub(crate) unacknowledged: u64,
    /// Next byte to send (SND.NXT).
    pub(crate) next: u64,
    /// Byte after the highest ever sent.
    pub(crate) highest: u64,
    /// Bytes to send next; `None` if nothing may be sent.
    pub(crate) chosen: Option<(u64, u64)>,
    /// True if data may flow, the next data is new, and loss recovery needs no updates.
    pub(crate) fast_path: bool,
    /// True if the next transfer has its own connection, which starts without learnt state.
    pub(crate) renewed: bool,
    /// True if the first segment is to be retransmitted regardless of the window.
    pub(crate) resends: bool,
    /// Bytes released by limited transmit.
    pub(crate) limited: u64,
    /// True if there have been only timeouts since the last progress.
    pub(crate) timed_out: bool,
    pub(crate) round_trip: RoundTrip,
    /// Expiry of the retransmission timer; [`Time::NEVER`] if it does not run.
    pub(crate) deadline: Time,
    /// Number after the last byte of a segment that was sent once, and the time at which it was sent.
    pub(crate) timed: Option<(u64, Time)>,
    /// Time of the last transmission of data.
    pub(crate) sent_at: Time,
    /// Byte before which the acknowledgement of data with an echoed mark does not reduce the window again.
    pub(crate) reduced_until: u64,
    /// True if the next new data carries CWR to announce a reduction.
    pub(crate) owes_cwr: bool,
    pub(crate) pacer: Pacer,
    /// Time until which released data is held; [`Time::NEVER`] if none is held.
    pub(crate) held_until: Time,
    /// Time from which nothing new is sent; [`Time::NEVER`] if it has passed or there is none.
    pub(crate) stop: Time,
    /// Random number generator, if any behaviour is random.
    pub(crate) rng: Option<Box<Xoshiro256PlusPlus>>,
    pub(crate) records: VecDeque<Record>,
    pub(crate) retransmitted: u64,
    pub(crate) discarded: u64,
    pub(crate) timeouts: u32,
    pub(crate) marks: u64,
    pub(crate) holding: LimitedClock,
}

impl TcpSender {
    /// Creates a sender. It begins at `start`, and sends nothing new from `stop` on. No other user may draw from `rng`.
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

    /// Returns the number of bytes sent and not acknowledged since the sender last went back.
    pub fn in_flight(&self) -> u64 {
        self.next - self.unacknowledged
    }
    /// Returns the number of bytes acknowledged.
    pub fn acknowledged(&self) -> u64 {
        self.unacknowledged
    }
    /// Returns the number of bytes ever sent.
    pub fn sent(&self) -> u64 {
        self.highest
    }
    /// Returns the number of timeouts so far.
    pub fn timeouts(&self) -> u32 {
        self.timeouts
    }
    /// Appends a transfer. There is no other data to send.
    pub(crate) fn offer(&mut self, due: Due) {
        self.transfers.offer(due.start, due.bytes);
    }
    /// Prepares a new connection: the next transfer begins like the first one. There is no data to send.
    pub(crate) fn renew(&mut self) {
        self.renewed = true;
    }
    /// Returns the number after the last byte of the next segment, if the segment is data.
    pub(crate) fn next_end(&self) -> Option<u64> {
        self.chosen.map(|(_, to)| to).filter(|_| self.state == State::Established)
    }
    /// Returns true if data may flow.
    #[inline(always)]
    pub(crate) fn is_open(&self) -> bool {
        matches!(self.state, State::Established)
    }
    /// Returns the congestion controller.
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
        // RFC 3042 section 2: segments sent by limited transmit do not count.
        let mut in_flight = self.in_flight().saturating_sub(self.limited);
        if kind != LossKind::FastRecovery {
            // RFC 5681 equation 4 limits the threshold to at most half of the unacknowledged data. A long recovery
            // sends a multiple of the window before the first hole is filled; half of that would overrun the path at
            // once.
            in_flight = in_flight.min(self.controller.window());
        }
        self.limited = 0;
        self.controller.on_loss(now, &Loss { kind, in_flight });
        self.timed = None;
        // RFC 3168 section 6.1.2: the window is reduced at most once per window of data, for whatever reason.
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

    /// Appends this many bytes to the data to send.
    pub(crate) fn write(&mut self, now: Time, bytes: u64) {
        self.transfers.extend(bytes);
        self.wake(now);
        self.look_apart(now, true);
    }

    /// Starts or resumes sending after data was added; a new connection starts with fresh state.
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
            // RFC 5681 section 4.1: resets the window after an idle time.
            self.controller.on_idle(now);
        }
    }

    #[inline(never)]
    fn greet(&mut self, now: Time, again: bool) -> Segment {
        self.state = State::SynSent { first: (!again).then_some(now) };
        self.start_timer(now);
        let word = self.unacknowledged as u32;
        let header = Some(Header::Tcp(TcpHeader { number: word, syn: true, ..TcpHeader::default() }));
        Segment { header, ..Segment::new(FrameKind::Ack, word, self.spec.ack_frame_bytes(0)) }
    }

    /// Sends a segment during handshake, loss recovery or go-back.
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
            // Karn: retransmitted segments are not timed.
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
        // RFC 3168 section 6.1.2: the first new data carries CWR.
        let cwr = !again && std::mem::take(&mut self.owes_cwr);
        self.look(now, false);
        self.segment(from, to, again, cwr)
    }

    /// Times the segment of new data that ends at `to`, unless another one is being timed.
    #[inline(always)]
    fn time(&mut self, now: Time, to: u64) {
        if !self.spec.timestamps && self.timed.is_none() {
            self.timed = Some((to, now));
        }
    }

    /// Updates the state after data has been sent.
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

    /// Returns the segment of these bytes, which are sent for the first time or `again`. `cwr` is true for the first
    /// new data since the window was reduced.
    #[inline(always)]
    fn segment(&self, from: u64, to: u64, again: bool, cwr: bool) -> Segment {
        let data = (to - from) as u16;
        let bytes = self.spec.frame_bytes(data);
        // RFC 3168 section 6.1.5: retransmissions are not ECN-capable.
        let ecn_capable = self.spec.ecn != EcnMode::Off && !again;
        if cwr || self.spec.data_in(bytes) != data {
            return self.wide(from, data, cwr, ecn_capable);
        }
        Segment { ecn_capable, ..Segment::new(FrameKind::Data, from as u32, bytes) }
    }

    /// Variant of `segment` for segments whose header has more fields than a number.
    #[inline(never)]
    fn wide(&self, from: u64, data: u16, cwr: bool, ecn_capable: bool) -> Segment {
        let bytes = self.spec.frame_bytes(data);
        let payload = (self.spec.data_in(bytes) != data).then_some(data);
        let header = TcpHeader { number: from as u32, payload, cwr, ..TcpHeader::default() };
        let header = Some(Header::Tcp(header));
        Segment { header, ecn_capable, ..Segment::new(FrameKind::Data, from as u32, bytes) }
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
        // RFC 3168 section 6.1.2: the first new data carries CWR.
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
