//! One end of a connection over RDMA whose two applications send messages to each other: a queue pair each way.
//!
//! Acknowledgements and CNPs go to the sender of an end, data to its receiver. The request of a READ is a packet of the end
//! that reads, its response a message of the other end; both are acknowledged packet by packet, as those of IRN are.
//!
//! Not modelled: packet sequence numbers that the response shares with its request; a rate limiter that both directions share.

use super::{Operation, PathFacts, Post, RdmaSpec};
use crate::endpoint::{Protocol, Received, Record, RecordKind, Segment, Undelivered};
use crate::{RdmaReceiver, RdmaSender};
use frame::{FrameKind, Stamps};
use std::sync::Arc;
use units::Time;

/// A sender for what is posted, and a receiver for what the peer posts.
#[derive(Clone, Debug)]
pub(crate) struct RdmaDuplex {
    pub sender: RdmaSender,
    pub receiver: RdmaReceiver,
}

impl RdmaDuplex {
    /// An end that has nothing to send yet. `facts`: those of the path from it.
    pub fn new(spec: &Arc<RdmaSpec>, facts: PathFacts) -> RdmaDuplex {
        let facts = spec.facts(facts.rate, facts.base_rtt, facts.hops, facts.overhead);
        RdmaDuplex {
            sender: RdmaSender::new(spec, [].into(), facts, Time::NEVER, None),
            receiver: RdmaReceiver::new(spec, 0),
        }
    }

    /// Hands a frame to the direction that it belongs to. Returns true if it is data of the peer.
    pub fn handle_frame(&mut self, now: Time, received: &Received) -> bool {
        let of_peer = received.kind == FrameKind::Data;
        if of_peer {
            self.receiver.handle_frame(now, received);
        } else {
            self.sender.handle_frame(now, received);
        }
        of_peer
    }

    pub fn post(&mut self, now: Time, posts: &[Post]) {
        for &Post { operation, bytes } in posts {
            debug_assert!(bytes > 0 || operation == Operation::ReadRequest);
            self.sender.send(operation, bytes, now);
        }
    }

    pub fn has_work(&self) -> bool {
        self.receiver.has_work() || self.sender.has_work()
    }

    pub fn poll_transmit(&mut self, now: Time) -> Option<Segment> {
        // What is smaller and makes the peer go on comes first.
        self.receiver.poll_transmit(now).or_else(|| self.sender.poll_transmit(now))
    }

    /// Round trips; what a message took is up to its application.
    pub fn poll_record(&mut self) -> Option<Record> {
        std::iter::from_fn(|| self.sender.poll_record()).find(|record| record.kind == RecordKind::RoundTrip)
    }

    pub fn on_stamps(&mut self, kind: FrameKind, pair: u32, stamps: &Stamps) {
        if kind == FrameKind::Data {
            self.receiver.on_stamps(kind, pair, stamps);
        } else {
            self.sender.on_stamps(kind, pair, stamps);
        }
    }

    pub fn undelivered(&self) -> Undelivered {
        self.receiver.undelivered()
    }

    pub fn discarded(&self) -> u64 {
        self.sender.discarded() + self.receiver.discarded()
    }

    /// Bytes that it has taken, its own included.
    pub fn memory_bytes(&self) -> usize {
        self.sender.memory_bytes() + size_of::<RdmaReceiver>() + self.receiver.memory_bytes()
    }
}
