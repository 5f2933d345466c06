//! The sender of a transfer with cumulative acknowledgements and a window.
//!
//! Segments are numbered from 0. The next segment is sent as soon as it fits in the window of the controller and
//! pacing allows it. Acknowledgements are cumulative: they carry the number of the next expected segment, and open the
//! window again. With one acknowledgement per segment and a window smaller than the bandwidth-delay product, segment
//! n + W is sent exactly one round trip after segment n, so that the throughput is window / round-trip time.
//!
//! With a `timeout`, a sender that makes no progress for that time goes back to the first unacknowledged segment and
//! retransmits all segments from there (go-back-N). Without it, a lost segment stops the transfer for good, which
//! suits a lossless fabric.
//!
//! One segment per round trip is timed, from the time at which the NIC accepts it to its acknowledgement.
//! Retransmitted segments are not timed (Karn's algorithm).
//!
//! Source: D. Bertsekas and R. Gallager, "Data Networks", 2nd edition, section 2.4.2 (go back n); RFC 9293, section
//! 3.4 (cumulative acknowledgements); RFC 6298, sections 3 and 5 (timing, Karn, the timer).
//!
//! Not modelled: connection establishment and release; an adaptive timeout and its backoff; fast retransmit and
//! selective acknowledgements; the response to ECE (CWR, RFC 3168); headers above Ethernet. For these see
//! `tcp_sender`, which has the same controllers.

use crate::bulk::Bulk;
use crate::controller::{Ack, CongestionControl, ControllerConfiguration, Loss, LossKind, is_used};
use crate::endpoint::{Protocol, Received, Record, RecordKind, Segment, TransportFacts};
use crate::pacer::Pacer;
use crate::retransmission::RetransmissionTimer;
use crate::serial::nearest;
use crate::{Controller, WindowSpec};
use frame::FrameKind;
use std::collections::VecDeque;
use units::Time;

/// The sending end of a bulk transfer.
#[derive(Clone, Debug)]
pub struct WindowSender<C = Controller> {
    application: Bulk,
    controller: C,
    pacer: Pacer,
    retransmission: RetransmissionTimer,
    ecn_capable: bool,
    /// Start of the transfer.
    start: Time,
    started: bool,
    /// Time from which no new segment is sent; `None` if there is none or it has passed.
    stop: Option<Time>,
    finished: bool,
    /// First unacknowledged segment.
    unacknowledged: u64,
    /// Next segment to send.
    next: u64,
    /// Segment after the highest ever sent.
    highest: u64,
    /// A segment that was sent once, and its send time.
    timed: Option<(u64, Time)>,
    retransmitted: u64,
    discarded: u64,
    records: VecDeque<Record>,
}

impl WindowSender {
    /// Creates a sender that begins at `start` and sends nothing new from `stop` on.
    pub fn new(spec: &WindowSpec, start: Time, stop: Option<Time>) -> WindowSender {
        WindowSender::with_controller(spec, spec.controller.start(spec.segment), start, stop)
    }
}

impl<C: CongestionControl> WindowSender<C> {
    /// Variant of `new` with this controller in place of the specified one.
    pub fn with_controller(
        spec: &WindowSpec,
        controller: C,
        start: Time,
        stop: Option<Time>,
    ) -> WindowSender<C> {
        WindowSender {
            application: Bulk::new(spec.bytes, spec.segment),
            controller,
            pacer: Pacer::default(),
            retransmission: RetransmissionTimer::new(spec.timeout),
            ecn_capable: spec.ecn_capable,
            start,
            started: false,
            stop,
            finished: false,
            unacknowledged: 0,
            next: 0,
            highest: 0,
            timed: None,
            retransmitted: 0,
            discarded: 0,
            records: VecDeque::new(),
        }
    }

    /// Returns the number of bytes sent and not acknowledged.
    pub fn in_flight(&self) -> u64 {
        self.bytes(self.unacknowledged, self.next)
    }

    /// Returns the congestion controller.
    pub fn controller(&self) -> &C {
        &self.controller
    }

    fn bytes(&self, from: u64, until: u64) -> u64 {
        self.application.before(until) - self.application.before(from)
    }

    /// Goes back: retransmits all unacknowledged segments.
    fn go_back(&mut self, now: Time) {
        let loss = Loss { kind: LossKind::Timeout, in_flight: self.in_flight() };
        self.next = self.unacknowledged;
        self.timed = None;
        self.controller.on_loss(now, &loss);
    }

    fn acknowledge(&mut self, now: Time, acknowledged: u64, ece: bool) {
        let bytes = self.bytes(self.unacknowledged, acknowledged);
        self.unacknowledged = acknowledged;
        // Segments that had nevertheless arrived need not be retransmitted after going back.
        self.next = self.next.max(acknowledged);
        let timed = self.timed.take_if(|&mut (segment, _)| segment < acknowledged);
        if let Some((segment, sent)) = timed {
            let bytes = self.bytes(segment, segment + 1);
            self.records.push_back(Record { kind: RecordKind::RoundTrip, start: sent, end: now, bytes });
        }
        let round_trip = timed.map(|(_, sent)| now - sent);
        let (in_flight, recovering) = (self.in_flight(), false);
        let window_used = is_used(self.controller.window(), in_flight + bytes);
        self.controller.on_ack(now, &Ack { bytes, in_flight, ece, round_trip, recovering, window_used });
        self.retransmission.on_ack(now, self.unacknowledged < self.next);
        self.finish(now);
    }

    /// Ends the transfer: everything is acknowledged, and nothing more will be sent.
    fn finish(&mut self, now: Time) {
        if self.finished || !self.started || !self.application.ends_at(self.unacknowledged) {
            return;
        }
        self.finished = true;
        self.stop = None;
        let bytes = self.application.before(self.unacknowledged);
        if bytes > 0 {
            self.records.push_back(Record { kind: RecordKind::Transfer, start: self.start, end: now, bytes });
        }
    }
}

impl<C: CongestionControl> Protocol for WindowSender<C> {
    fn handle_frame(&mut self, now: Time, received: &Received) {
        let ece = match received.kind {
            FrameKind::Ack => false,
            FrameKind::MarkedAck => true,
            // Feedback from a congested switch or from the receiver on this path.
            FrameKind::Cnm | FrameKind::Cnp => {
                self.controller.on_message(now, received.word);
                return;
            }
            _ => {
                self.discarded += 1;
                return;
            }
        };
        let acknowledged = nearest(received.word, self.unacknowledged);
        if acknowledged > self.unacknowledged && acknowledged <= self.highest {
            self.acknowledge(now, acknowledged, ece);
        } else {
            self.discarded += 1;
        }
        if ece {
            self.controller.on_mark(now);
        }
    }

    fn handle_timeout(&mut self, now: Time) {
        self.started |= self.start <= now;
        self.pacer.handle_timeout(now);
        if self.stop.is_some_and(|stop| stop <= now) {
            self.stop = None;
            self.application.close(self.highest);
            self.finish(now);
        }
        if self.retransmission.expire(now) {
            self.go_back(now);
        }
    }

    fn poll_timeout(&self) -> Option<Time> {
        let start = if self.started { None } else { Some(self.start) };
        let or_never = |at: Option<Time>| at.unwrap_or(Time::NEVER);
        let first = or_never(start).min(or_never(self.stop));
        let first = first.min(or_never(self.pacer.opens_at())).min(or_never(self.retransmission.deadline()));
        (first != Time::NEVER).then_some(first)
    }

    fn has_work(&self) -> bool {
        self.started
            && self.pacer.is_open()
            && self.application.frame_bytes(self.next).is_some()
            && self.bytes(self.unacknowledged, self.next + 1) <= self.controller.window()
    }

    fn poll_transmit(&mut self, now: Time) -> Option<Segment> {
        if !self.has_work() {
            return None;
        }
        let bytes = self.application.frame_bytes(self.next)?;
        let word = self.next as u32;
        if self.next < self.highest {
            self.retransmitted += 1;
        } else {
            self.highest = self.next + 1;
            self.timed.get_or_insert((self.next, now));
        }
        self.next += 1;
        self.retransmission.on_send(now);
        self.pacer.set_rate(self.controller.rate());
        self.pacer.on_send(now, bytes.into());
        Some(Segment { ecn_capable: self.ecn_capable, ..Segment::new(FrameKind::Data, word, bytes) })
    }

    fn poll_record(&mut self) -> Option<Record> {
        self.records.pop_front()
    }
    fn facts(&self, _now: Time) -> TransportFacts {
        TransportFacts {
            retransmitted: self.retransmitted,
            discarded: self.discarded,
            ..TransportFacts::default()
        }
    }
}
