//! RDMA below an application: one end of a connection with a queue pair in each direction.
//!
//! Acknowledgements and CNPs are passed to the sender of an end, data to its receiver. A READ request is a packet of
//! the end that reads; the READ response is a message of the other end. Both are acknowledged packet by packet, as in
//! IRN.
//!
//! Not modelled: packet sequence numbers that a response shares with its request; a rate limiter shared by both
//! directions.

use super::{Operation, PathFacts, Post, RdmaKeys, RdmaSpec, RdmaVerb};
use crate::application::Random;
use crate::endpoint::{HostEvent, Protocol, Received, Record, RecordKind, Segment, TransportFacts};
use crate::iser;
use crate::load::Train;
use crate::transport::{DuplexEnd, Need, TransportKeys, TransportSpec, Unit};
use crate::{RdmaReceiver, RdmaSender};
use frame::FrameKind;
use keys::Remark;
use rand_xoshiro::rand_core::Rng;
use std::sync::Arc;
use units::Time;

/// A sender of posted messages, and a receiver of the peer's messages.
#[derive(Clone, Debug)]
pub struct RdmaDuplex {
    sender: RdmaSender,
    receiver: RdmaReceiver,
}

impl TransportSpec for Arc<RdmaSpec> {
    type End = RdmaDuplex;

    fn unit(&self) -> Unit {
        Unit::Messages { operation: self.verb.carrying(), one_sided: true }
    }
    fn frames(&self) -> (u16, u16) {
        (self.shortest_frame(), self.longest_frame())
    }
    fn round_trip_frames(&self) -> (u16, u16) {
        (self.frame_bytes(self.mtu), self.ack_bytes())
    }
    fn train(&self, messages: &mut dyn Iterator<Item = (u64, &[Post])>) -> Train {
        Train::posts(self, messages.flat_map(|(_, posts)| posts).copied())
    }
    fn understands_marks(&self) -> bool {
        RdmaSpec::understands_marks(self)
    }
    fn check(&self) -> Result<(), String> {
        if self.total != Some(0) {
            return Err("messages of a flow beside those of its application; expected none".to_string());
        }
        RdmaSpec::check(self)
    }
    fn start(&self, _opens: bool, facts: PathFacts, mut random: Random) -> RdmaDuplex {
        let facts = self.facts(facts.rate, facts.base_rtt, facts.hops, facts.overhead);
        RdmaDuplex {
            sender: RdmaSender::new(self, [].into(), facts, Time::NEVER, None).seeded(random.next_u64()),
            receiver: RdmaReceiver::new(self, 0).on_path(facts.base_rtt),
        }
    }
}

impl DuplexEnd for RdmaDuplex {
    fn handle_frame(&mut self, now: Time, received: &Received) -> bool {
        let of_peer = received.kind == FrameKind::Data;
        if of_peer {
            self.receiver.handle_frame(now, received);
        } else {
            self.sender.handle_frame(now, received);
        }
        of_peer
    }
    fn handle_timeout(&mut self, now: Time, is_queued: &dyn Fn(u32, Option<u32>) -> bool) {
        self.sender.handle_timeout_at(now, is_queued);
        self.receiver.handle_timeout_at(now, is_queued);
    }
    fn poll_timeout(&self) -> Option<Time> {
        let receives = self.receiver.poll_timeout();
        self.sender.poll_timeout().map_or(receives, |sends| Some(receives.map_or(sends, |at| at.min(sends))))
    }
    fn has_work(&self) -> bool {
        self.receiver.has_work() || self.sender.has_work()
    }
    fn poll_transmit(&mut self, now: Time) -> Option<Segment> {
        // Acknowledgements are sent first: they are shorter, and let the peer continue.
        self.receiver.poll_transmit(now).or_else(|| self.sender.poll_transmit(now))
    }
    fn post(&mut self, now: Time, posts: &[Post]) {
        for &Post { operation, bytes } in posts {
            debug_assert!(bytes > 0 || operation == Operation::ReadRequest);
            self.sender.send(operation, None, bytes, now);
        }
    }
    #[inline]
    fn delivered(&self) -> u64 {
        self.receiver.messages()
    }
    /// Returns round-trip records. The application measures the duration of messages.
    fn poll_record(&mut self) -> Option<Record> {
        std::iter::from_fn(|| self.sender.poll_record()).find(|record| record.kind == RecordKind::RoundTrip)
    }
    fn facts(&self, now: Time) -> TransportFacts {
        let (sent, received) = (self.sender.facts(now), self.receiver.facts(now));
        let discarded = sent.discarded + received.discarded;
        TransportFacts { retransmitted: sent.retransmitted, discarded, ..received }
    }
    /// Returns the memory in bytes, including the value itself because it is boxed.
    fn memory_bytes(&self) -> usize {
        self.sender.memory_bytes() + size_of::<RdmaReceiver>() + self.receiver.memory_bytes()
    }
    fn notify(&mut self, now: Time, received: &Received, port: &mut Time) -> Option<Segment> {
        self.receiver.notify(now, received, port)
    }
    fn on_event(&mut self, now: Time, event: &HostEvent<'_>) -> bool {
        match event {
            HostEvent::Stamps { kind: FrameKind::Data, .. } => self.receiver.on_event(now, event),
            _ => self.sender.on_event(now, event),
        }
    }
    fn accepts_trimmed(&self) -> bool {
        true
    }
    fn queue_pairs(&self) -> Option<(&RdmaSender, &RdmaReceiver)> {
        Some((&self.sender, &self.receiver))
    }
    fn queue_pair_sender(&mut self) -> Option<&mut RdmaSender> {
        Some(&mut self.sender)
    }
}

impl TransportKeys for RdmaKeys {
    type Spec = Arc<RdmaSpec>;

    fn lower(&self, need: &Need<'_>) -> Result<(Arc<RdmaSpec>, Vec<Remark>), Vec<Remark>> {
        let mut wrong = Vec::new();
        if self.verb == RdmaVerb::Read {
            let message = format!("verb = \"read\" {}", need.place);
            let help = "the application whose memory is read does not notice a READ, and would not answer; expected \"send\", or \"write\", which has immediate data";
            wrong.push(Remark::about("verb", message, help));
        }
        if self.verb == RdmaVerb::Write && need.one_sided {
            let help = "iSER sends its PDUs, and its data are WRITEs and READs anyway; expected \"send\"";
            wrong.push(Remark::about("verb", "verb = \"write\" with messages of iSCSI", help));
        }
        if self.ack_priority.is_some() {
            let message = format!("ack_priority {}", need.place);
            let help =
                "either end sends data and acknowledgements through one class of its NIC; expected none";
            wrong.push(Remark::about("ack_priority", message, help));
        }
        let own = [self.verb.carrying()];
        let operations = if need.one_sided { &iser::OPERATIONS[..] } else { &own };
        match self.duplex(operations, need.frame) {
            Ok(found) if wrong.is_empty() => Ok(found),
            found => Err(wrong.into_iter().chain(found.err().into_iter().flatten()).collect()),
        }
    }
}
