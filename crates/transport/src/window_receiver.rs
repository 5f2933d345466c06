//! The receiver of a transfer with cumulative acknowledgements and a window.
//!
//! It accepts segments in order only. Every n-th segment is acknowledged immediately, and any other after a fixed
//! delay. A segment after a gap, or a duplicate, is discarded and answered immediately with the number of the next
//! expected segment. An acknowledgement has ECE set if a segment arrived with a CE mark since the previous
//! acknowledgement. An acknowledgement that is still queued in the NIC is merged with the next one.
//!
//! Source: RFC 9293, section 3.8.6.3 (delayed acknowledgements); RFC 5681, section 4.2 (an immediate acknowledgement
//! for an out-of-order segment, and for every second one); RFC 3168, section 6.1.3 (ECN-Echo).
//!
//! Not modelled: reassembly (segments that arrive out of order are discarded, so that paths that reorder cause
//! retransmissions); the ECE of RFC 3168, which persists until the sender reduces its window; the exact echo of RFC
//! 8257.

use crate::WindowSpec;
use crate::endpoint::{Protocol, Received, Segment, TransportFacts, Undelivered};
use crate::serial::nearest;
use frame::FrameKind;
use units::Time;

/// The receiving end of a bulk transfer.
#[derive(Clone, Debug)]
pub struct WindowReceiver {
    ack_bytes: u16,
    ack_every: u32,
    ack_delay: Time,
    /// Next expected segment; all earlier segments have arrived.
    expected: u64,
    /// Segments that have arrived since the last acknowledgement was sent.
    unanswered: u32,
    /// Deadline for acknowledging them.
    deadline: Option<Time>,
    /// True if an acknowledgement waits for the NIC.
    ack_due: bool,
    /// True if a mark is to be echoed.
    ece: bool,
    discarded: u64,
    undelivered: Undelivered,
}

impl WindowReceiver {
    /// Creates a receiver to which no data has arrived.
    pub fn new(spec: &WindowSpec) -> WindowReceiver {
        WindowReceiver {
            ack_bytes: spec.ack_bytes,
            ack_every: spec.ack_every,
            ack_delay: spec.ack_delay,
            expected: 0,
            unanswered: 0,
            deadline: None,
            ack_due: false,
            ece: false,
            discarded: 0,
            undelivered: Undelivered::default(),
        }
    }

    /// Returns the number of segments that arrived in order.
    pub fn delivered(&self) -> u64 {
        self.expected
    }

    fn answer(&mut self) {
        self.ack_due = true;
        self.deadline = None;
    }
}

impl Protocol for WindowReceiver {
    fn handle_frame(&mut self, now: Time, received: &Received) {
        if received.kind != FrameKind::Data {
            self.discarded += 1;
            return;
        }
        self.ece |= received.congestion_experienced;
        if nearest(received.word, self.expected) != self.expected {
            self.discarded += 1;
            self.undelivered.add(received.bytes);
            self.answer();
            return;
        }
        self.expected += 1;
        self.unanswered += 1;
        if self.unanswered >= self.ack_every {
            self.answer();
        } else if !self.ack_due {
            self.deadline.get_or_insert(now.saturating_add(self.ack_delay));
        }
    }

    fn handle_timeout(&mut self, now: Time) {
        if self.deadline.is_some_and(|deadline| deadline <= now) {
            self.answer();
        }
    }

    fn poll_timeout(&self) -> Option<Time> {
        self.deadline
    }

    fn has_work(&self) -> bool {
        self.ack_due
    }

    fn poll_transmit(&mut self, _now: Time) -> Option<Segment> {
        if !self.ack_due {
            return None;
        }
        let kind = if self.ece { FrameKind::MarkedAck } else { FrameKind::Ack };
        (self.ack_due, self.ece, self.unanswered) = (false, false, 0);
        let word = self.expected as u32;
        Some(Segment::new(kind, word, self.ack_bytes))
    }

    fn facts(&self, _now: Time) -> TransportFacts {
        TransportFacts {
            discarded: self.discarded,
            undelivered: self.undelivered,
            ..TransportFacts::default()
        }
    }
}
