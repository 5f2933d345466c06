//! Sender of the messages of a job in frames without a transport: no acknowledgement, retransmission or window.
//!
//! A message is divided into frames, which are sent as fast as the NIC accepts them, in the order of posting. A send
//! completes when the last bit has left the NIC. A lost frame is not retransmitted, so that its message is never
//! delivered.
//!
//! Source: IEEE Std 802.1Q-2022, clauses 6.5.2 to 6.5.4: a bridged network does not guarantee the delivery of a frame,
//! and retransmits none. The completion of a send when the data have left the sender is the local completion of a
//! standard-mode send in MPI (MPI 4.1, section 3.4).
//!
//! Not modelled: the protocol by which hosts agree on the destination of a message; the fields of its headers, except
//! for their length.

use crate::application::{ApplicationSpec, Opening};
use crate::endpoint::{HostEvent, Protocol, Received, Record, RecordKind, Segment, TransportFacts};
use crate::{Endpoint, FrameReceiver, Train, Turn};
use frame::{FrameKind, Header, MessageHeader};
use std::collections::VecDeque;
use units::Time;
use workload::Framing;

/// Validated parameters of messages without a transport: the framing of their bytes.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct FramesSpec(pub Framing);

/// Sends messages as frames without a transport.
#[derive(Clone, Debug)]
pub struct FrameSender {
    framing: Framing,
    /// Label of each message, by message number.
    labels: Vec<u32>,
    /// Messages whose last frame the NIC has not yet taken, the oldest first.
    posted: VecDeque<Message>,
    /// Messages whose last frame waits in the NIC.
    in_nic: VecDeque<Message>,
    /// Messages whose last frame is on the link, and the time until which it is.
    leaving: VecDeque<(Time, Message)>,
    ended: VecDeque<u32>,
    records: VecDeque<Record>,
    discarded: u64,
}

/// A message that has not been sent completely.
#[derive(Clone, Copy, Debug)]
struct Message {
    number: u32,
    posted: Time,
    bytes: u64,
    /// Number of the next frame, and total number of frames.
    frame: u32,
    frames: u32,
}

impl FrameSender {
    /// Creates a sender without messages.
    pub fn new(spec: FramesSpec) -> FrameSender {
        FrameSender {
            framing: spec.0,
            labels: Vec::new(),
            posted: VecDeque::new(),
            in_nic: VecDeque::new(),
            leaving: VecDeque::new(),
            ended: VecDeque::new(),
            records: VecDeque::new(),
            discarded: 0,
        }
    }

    /// Returns the labels of all posted messages, by message number.
    pub fn labels(&self) -> &[u32] {
        &self.labels
    }

    fn post(&mut self, label: u32, bytes: u64, now: Time) {
        let frames = self.framing.frames(bytes.max(1));
        self.posted.push_back(Message {
            number: self.labels.len() as u32,
            posted: now,
            bytes,
            frame: 0,
            frames: u32::try_from(frames).unwrap_or(u32::MAX),
        });
        self.labels.push(label);
    }

    /// Returns the length of the next frame of a message, DA to FCS.
    fn frame_bytes(&self, message: &Message) -> u16 {
        let full = u64::from(self.framing.payload());
        let left = message.bytes - u64::from(message.frame) * full;
        self.framing.frame_of(left.min(full) as u16)
    }
}

impl Protocol for FrameSender {
    fn handle_frame(&mut self, _now: Time, _received: &Received) {
        self.discarded += 1;
    }

    fn handle_timeout(&mut self, now: Time) {
        while let Some(&(until, Message { number, posted, bytes, .. })) = self.leaving.front()
            && until <= now
        {
            self.leaving.pop_front();
            self.ended.push_back(self.labels[number as usize]);
            self.records.push_back(Record { kind: RecordKind::Transfer, start: posted, end: now, bytes });
        }
    }

    fn poll_timeout(&self) -> Option<Time> {
        self.leaving.front().map(|own| own.0)
    }

    fn has_work(&self) -> bool {
        !self.posted.is_empty()
    }

    fn poll_transmit(&mut self, _now: Time) -> Option<Segment> {
        let bytes = self.frame_bytes(self.posted.front()?);
        let message = self.posted.front_mut()?;
        let Message { number, frame, frames, .. } = *message;
        message.frame += 1;
        if message.frame == frames {
            self.in_nic.extend(self.posted.pop_front());
        }
        let header = MessageHeader { number, label: self.labels[number as usize], frame, frames };
        let header = Some(Header::Message(header));
        Some(Segment { header, ..Segment::new(FrameKind::Data, 0, bytes) })
    }

    fn poll_record(&mut self) -> Option<Record> {
        self.records.pop_front()
    }
    fn has_records(&self) -> bool {
        !self.records.is_empty()
    }
    fn poll_ended(&mut self) -> Option<u32> {
        self.ended.pop_front()
    }
    fn on_event(&mut self, now: Time, event: &HostEvent<'_>) -> bool {
        match *event {
            HostEvent::Post { tag, bytes } => self.post(tag, bytes, now),
            HostEvent::Leaves { message, until } => {
                let place = self.in_nic.iter().position(|own| own.number == message);
                let left = place.and_then(|place| self.in_nic.remove(place));
                self.leaving.extend(left.map(|own| (until, own)));
            }
            _ => return false,
        }
        true
    }
    fn memory_bytes(&self) -> usize {
        size_of::<FrameSender>()
            + (self.labels.capacity() + self.ended.capacity()) * size_of::<u32>()
            + (self.posted.capacity() + self.in_nic.capacity()) * size_of::<Message>()
            + self.leaving.capacity() * size_of::<(Time, Message)>()
            + self.records.capacity() * size_of::<Record>()
    }
    fn facts(&self, _now: Time) -> TransportFacts {
        TransportFacts { discarded: self.discarded, ..TransportFacts::default() }
    }
}

impl ApplicationSpec for FramesSpec {
    fn ends(&self, _opening: Opening<'_>) -> (Endpoint, Endpoint) {
        (
            Endpoint::FrameSender(Box::new(FrameSender::new(*self))),
            Endpoint::FrameReceiver(Box::new(FrameReceiver::new())),
        )
    }
    fn frames(&self) -> (u16, u16) {
        (self.0.frame_of(0), self.0.frame)
    }
    fn turn(&self) -> Turn {
        Turn { out: Train::one(self.0.frame), back: Train::NONE, answers: 1.0 }
    }
    fn most_bps(&self, _turn_secs: f64) -> f64 {
        f64::INFINITY
    }
    fn check(&self) -> Result<(), String> {
        if self.0.header < self.0.frame {
            return Ok(());
        }
        Err(format!("a header of {} B in a frame of {} B; expected less", self.0.header, self.0.frame))
    }
    fn understands_marks(&self) -> bool {
        false
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn spec() -> FramesSpec {
        FramesSpec(Framing { frame: 1_018, header: 18 })
    }

    fn us(us: u64) -> Time {
        Time::from_us(us)
    }

    fn header_of(segment: &Segment) -> MessageHeader {
        let Some(Header::Message(header)) = segment.header else { panic!("{segment:?}") };
        header
    }

    #[test]
    fn messages_are_cut_into_frames_in_the_order_of_posting() {
        let mut sender = FrameSender::new(spec());
        for (tag, bytes) in [(7, 2_500), (8, 0), (9, 1_000)] {
            sender.on_event(us(1), &HostEvent::Post { tag, bytes });
        }
        let sent: Vec<Segment> = std::iter::from_fn(|| sender.poll_transmit(us(2))).collect();
        let lengths: Vec<u16> = sent.iter().map(|own| own.bytes).collect();
        assert_eq!(lengths, [1_018, 1_018, 518, 64, 1_018]);
        let headers: Vec<_> =
            sent.iter().map(header_of).map(|own| (own.number, own.label, own.frame, own.frames)).collect();
        assert_eq!(headers, [(0, 7, 0, 3), (0, 7, 1, 3), (0, 7, 2, 3), (1, 8, 0, 1), (2, 9, 0, 1)]);
        assert!(!sender.has_work());
    }

    #[test]
    fn a_message_is_sent_when_its_last_bit_has_left() {
        let mut sender = FrameSender::new(spec());
        sender.on_event(us(1), &HostEvent::Post { tag: 7, bytes: 2_000 });
        while sender.poll_transmit(us(2)).is_some() {}
        assert_eq!((sender.poll_timeout(), sender.poll_ended()), (None, None));
        sender.on_event(us(3), &HostEvent::Leaves { message: 0, until: us(5) });
        assert_eq!(sender.poll_timeout(), Some(us(5)));
        sender.handle_timeout(us(4));
        assert_eq!(sender.poll_ended(), None);
        sender.handle_timeout(us(5));
        assert_eq!((sender.poll_timeout(), sender.poll_ended()), (None, Some(7)));
        let record = sender.poll_record().expect("a record");
        assert_eq!((record.start, record.end, record.bytes), (us(1), us(5), 2_000));
    }
}
