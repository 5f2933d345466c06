//! Receiver of the messages of a job in frames without a transport.
//!
//! A message is delivered when all its frames have arrived, in any order. There are no acknowledgements. A lost frame
//! prevents only the delivery of its own message.
//!
//! Source: as for `frame_sender`.
//!
//! Not modelled: as for `frame_sender`; the memory that the frames of incomplete messages occupy.

use crate::endpoint::{Protocol, Received, Segment, TransportFacts, Undelivered};
use frame::Header;
use std::collections::{BTreeMap, BTreeSet, VecDeque};
use units::Time;

/// Receives messages that arrive as frames without a transport.
#[derive(Clone, Debug, Default)]
pub struct FrameReceiver {
    /// Number of the first message that has not been delivered.
    in_order: u32,
    /// Messages that were delivered after one that has not been.
    beyond: BTreeSet<u32>,
    /// Number of missing frames of each message of which some frames have arrived.
    begun: BTreeMap<u32, u32>,
    ended: VecDeque<u32>,
    discarded: u64,
    undelivered: Undelivered,
}

impl FrameReceiver {
    /// Creates a receiver to which no message has been delivered.
    pub fn new() -> FrameReceiver {
        FrameReceiver::default()
    }

    /// Returns true if the message of this number has been delivered.
    pub fn has(&self, message: u32) -> bool {
        message < self.in_order || self.beyond.contains(&message)
    }

    fn deliver(&mut self, message: u32) {
        self.beyond.insert(message);
        while self.beyond.remove(&self.in_order) {
            self.in_order += 1;
        }
    }
}

impl Protocol for FrameReceiver {
    fn handle_frame(&mut self, _now: Time, received: &Received) {
        let Some(Header::Message(header)) = received.header else {
            self.discarded += 1;
            self.undelivered.add(received.bytes);
            return;
        };
        let left = self.begun.remove(&header.number).unwrap_or(header.frames) - 1;
        if left > 0 {
            self.begun.insert(header.number, left);
            return;
        }
        self.deliver(header.number);
        self.ended.push_back(header.label);
    }

    fn handle_timeout(&mut self, _now: Time) {}

    fn poll_timeout(&self) -> Option<Time> {
        None
    }

    fn has_work(&self) -> bool {
        false
    }

    fn poll_transmit(&mut self, _now: Time) -> Option<Segment> {
        None
    }

    fn has_records(&self) -> bool {
        false
    }
    fn poll_ended(&mut self) -> Option<u32> {
        self.ended.pop_front()
    }
    fn memory_bytes(&self) -> usize {
        size_of::<FrameReceiver>()
            + (self.beyond.len() + self.ended.capacity()) * size_of::<u32>()
            + self.begun.len() * size_of::<(u32, u32)>()
    }
    fn facts(&self, _now: Time) -> TransportFacts {
        TransportFacts {
            discarded: self.discarded,
            undelivered: self.undelivered,
            ..TransportFacts::default()
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use frame::{FrameKind, MessageHeader, Trim};

    fn arrives(receiver: &mut FrameReceiver, (number, frame, frames): (u32, u32, u32)) -> Option<u32> {
        let header = MessageHeader { number, label: 10 + number, frame, frames };
        let received = Received {
            kind: FrameKind::Data,
            word: 0,
            header: Some(Header::Message(header)),
            bytes: 64,
            congestion_experienced: false,
            created: Time::ZERO,
            trim: Trim::Whole,
            entropy: 0,
        };
        receiver.handle_frame(Time::ZERO, &received);
        receiver.poll_ended()
    }

    #[test]
    fn frames_arrive_in_any_order() {
        let mut receiver = FrameReceiver::new();
        let arrivals = [(1, 1, 2), (0, 2, 3), (2, 0, 1), (1, 0, 2), (0, 0, 3), (0, 1, 3)]
            .map(|own| arrives(&mut receiver, own));
        assert_eq!(arrivals, [None, None, Some(12), Some(11), None, Some(10)]);
        assert_eq!((receiver.in_order, receiver.beyond.len(), receiver.begun.len()), (3, 0, 0));
    }

    #[test]
    fn a_lost_frame_keeps_its_message_alone() {
        let mut receiver = FrameReceiver::new();
        let arrivals = [(0, 0, 2), (1, 0, 1), (3, 0, 1)].map(|own| arrives(&mut receiver, own));
        assert_eq!(arrivals, [None, Some(11), Some(13)]);
        assert_eq!([0, 1, 2, 3].map(|message| receiver.has(message)), [false, true, false, true]);
    }
}
