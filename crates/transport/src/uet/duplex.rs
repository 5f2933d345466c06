//! Ultra Ethernet Transport below an application, with a packet delivery context in each direction.
//!
//! Messages count as delivered in the order in which they were posted, as with the tag matching of an application.

use super::control::UetFacts;
use super::{CREDIT_REQUEST, PROBE, PullPacer, UetKeys, UetMode, UetSpec};
use crate::application::{ApplicationSpec, Opening, Random};
use crate::endpoint::{HostEvent, Protocol, Received, Record, RecordKind, Segment, TransportFacts};
use crate::load::{Train, Turn};
use crate::rdma::{Operation, PathFacts, Post};
use crate::transport::{DuplexEnd, Need, TransportKeys, TransportSpec, Unit};
use crate::{Endpoint, UetReceiver, UetSender};
use frame::{FrameKind, Header, UetPacket};
use keys::{Remark, Unused};
use rand_xoshiro::rand_core::Rng;
use std::sync::Arc;
use units::{Bytes, Time};

/// A sender of posted messages, and a receiver of the peer's messages.
#[derive(Clone, Debug)]
pub struct UetDuplex {
    sender: UetSender,
    receiver: UetReceiver,
}

impl UetDuplex {
    /// Returns the sender and the receiver.
    pub fn ends(&self) -> (&UetSender, &UetReceiver) {
        (&self.sender, &self.receiver)
    }
}

impl TransportSpec for Arc<UetSpec> {
    type End = UetDuplex;

    fn unit(&self) -> Unit {
        Unit::Messages { operation: Operation::Send, one_sided: false }
    }
    fn frames(&self) -> (u16, u16) {
        (frame::MIN_FRAME_BYTES.min(self.ack), self.longest_frame())
    }
    fn round_trip_frames(&self) -> (u16, u16) {
        (self.frame_bytes(self.payload), self.ack)
    }
    fn train(&self, messages: &mut dyn Iterator<Item = (u64, &[Post])>) -> Train {
        let mut train = Train { frames: 0, bytes: 0, full: 0, last: 0 };
        for post in messages.flat_map(|(_, posts)| posts) {
            for (bytes, packets) in self.packets_of(post.bytes) {
                train.frames = train.frames.saturating_add(u32::try_from(packets).unwrap_or(u32::MAX));
                train.bytes += u64::from(bytes) * packets;
                (train.full, train.last) = (train.full.max(bytes), bytes);
            }
        }
        train
    }
    fn understands_marks(&self) -> bool {
        UetSpec::understands_marks(self)
    }
    fn check(&self) -> Result<(), String> {
        if self.total != Some(0) {
            return Err("messages of a flow beside those of its application; expected none".to_string());
        }
        UetSpec::check(self)
    }
    fn start(&self, _opens: bool, facts: PathFacts, mut random: Random) -> UetDuplex {
        let own = self.facts(facts.rate, facts.base_rtt, facts.trims);
        let arrivals = UetFacts { rate: facts.arrival_rate, ..own };
        UetDuplex {
            sender: UetSender::new(self, [].into(), own, Time::NEVER, None).seeded(random.next_u64()),
            receiver: UetReceiver::new(self, 0, &arrivals),
        }
    }
}

/// Messages of a flow over UET, or scheduled transfers over UET.
impl ApplicationSpec for Arc<UetSpec> {
    fn ends(
        &self,
        Opening { start, stop, due, facts, random: [mut random, _] }: Opening<'_>,
    ) -> (Endpoint, Endpoint) {
        // Grants are paced at the combined rate of all links over which packets arrive.
        let arrivals = facts[1].arrival_rate.times(facts[1].planes);
        let [facts, back] = facts.map(|facts| self.facts_of(&facts));
        let own = UetFacts { rate: arrivals, ..facts };
        // Only the planes that both ends have count.
        let facts =
            if facts.planes > 1 { UetFacts { rate: facts.rate.min(back.rate), ..facts } } else { facts };
        let sender = UetSender::new(self, due.clone(), facts, start, stop).seeded(random.next_u64());
        (
            Endpoint::UetSender(Box::new(sender)),
            Endpoint::UetReceiver(Box::new(UetReceiver::new(self, due.len(), &own))),
        )
    }
    fn frames(&self) -> (u16, u16) {
        TransportSpec::frames(self)
    }
    fn turn(&self) -> Turn {
        let (full, ack) = TransportSpec::round_trip_frames(self);
        let every = if self.mode == UetMode::Rudi { 1 } else { self.ack_every.unwrap_or(1) };
        let answers = (every as f64 / f64::from(full)).max(1.0);
        Turn { out: Train::one(full), back: Train::one(ack), answers }
    }
    fn most_bps(&self, _turn_secs: f64) -> f64 {
        f64::INFINITY
    }
    fn check(&self) -> Result<(), String> {
        UetSpec::check(self)
    }
    fn understands_marks(&self) -> bool {
        UetSpec::understands_marks(self)
    }
}

impl DuplexEnd for UetDuplex {
    fn handle_frame(&mut self, now: Time, received: &Received) -> bool {
        // A probe or a credit request concerns the packets that the peer has sent.
        let header = received.header.as_ref().and_then(Header::uet);
        let control = [UetPacket::Control(PROBE), UetPacket::Control(CREDIT_REQUEST)];
        let is_probe = header.is_some_and(|header| control.contains(&header.packet));
        let of_peer = received.kind == FrameKind::Data || is_probe;
        if of_peer {
            self.receiver.handle_frame(now, received);
        } else {
            self.sender.handle_frame(now, received);
        }
        of_peer
    }
    fn handle_timeout(&mut self, now: Time, is_queued: &dyn Fn(u32, Option<u32>) -> bool) {
        self.sender.handle_timeout_at(now, is_queued);
        self.receiver.handle_timeout(now);
    }
    fn poll_timeout(&self) -> Option<Time> {
        let grants = self.receiver.poll_timeout();
        self.sender.poll_timeout().map_or(grants, |sends| Some(grants.map_or(sends, |at| at.min(sends))))
    }
    fn has_work(&self) -> bool {
        self.receiver.has_work() || self.sender.has_work()
    }
    fn poll_transmit(&mut self, now: Time) -> Option<Segment> {
        self.receiver.poll_transmit(now).or_else(|| self.sender.poll_transmit(now))
    }
    fn post(&mut self, now: Time, posts: &[Post]) {
        for post in posts {
            self.sender.send(post.bytes, now);
        }
    }
    #[inline]
    fn delivered(&self) -> u64 {
        self.receiver.delivered_in_order()
    }
    /// Returns round-trip records. The application measures the duration of messages.
    fn poll_record(&mut self) -> Option<Record> {
        std::iter::from_fn(|| self.sender.poll_record()).find(|record| record.kind == RecordKind::RoundTrip)
    }
    fn facts(&self, now: Time) -> TransportFacts {
        let (sent, received) = (self.sender.facts(now), self.receiver.facts(now));
        TransportFacts {
            discarded: sent.discarded + received.discarded,
            undelivered: received.undelivered,
            ..sent
        }
    }
    /// Returns the memory in bytes, including the value itself because it is boxed.
    fn memory_bytes(&self) -> usize {
        self.sender.memory_bytes() + self.receiver.memory_bytes()
    }
    fn on_event(&mut self, now: Time, event: &HostEvent<'_>) -> bool {
        self.receiver.on_event(now, event);
        self.sender.on_event(now, event)
    }
    fn accepts_trimmed(&self) -> bool {
        self.receiver.accepts_trimmed()
    }
    fn attach_pacer(&mut self, pacer: &PullPacer) {
        self.receiver.attach(pacer);
        self.sender.attach(pacer);
    }
    fn uet(&self) -> Option<(&UetSender, &UetReceiver)> {
        Some(self.ends())
    }
}

impl TransportKeys for UetKeys {
    type Spec = Arc<UetSpec>;

    fn lower(&self, need: &Need<'_>) -> Result<(Arc<UetSpec>, Vec<Remark>), Vec<Remark>> {
        let mut wrong = Vec::new();
        if self.mode == UetMode::Uud {
            let message = format!("mode = \"uud\" {}", need.place);
            let help = "a lost datagram is not sent again, and its application would wait for ever; expected \"rud\", \"rod\" or \"rudi\"";
            wrong.push(Remark::about("mode", message, help));
        }
        if self.ack_priority.is_some() {
            let message = format!("ack_priority {}", need.place);
            let help =
                "either end sends data and acknowledgements through one class of its NIC; expected none";
            wrong.push(Remark::about("ack_priority", message, help));
        }
        let both = "a flow or `[[transfers]]` over UET: here an application defines the messages";
        match self.carrier(Some(Bytes::new(0)), need.frame) {
            Ok((spec, mut warnings)) if wrong.is_empty() => {
                let unused = Unused::of(self, &UetKeys::default()).unless(false, both, &["message"]);
                warnings.extend(unused.remarks());
                Ok((spec, warnings))
            }
            found => Err(wrong.into_iter().chain(found.err().into_iter().flatten()).collect()),
        }
    }
}
