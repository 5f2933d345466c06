//! One end of a TCP connection that sends and receives.

use crate::endpoint::{Protocol, Received, Segment, Undelivered};
use crate::tcp::TcpSpec;
use crate::{TcpReceiver, TcpSender};
use frame::{FrameKind, Header};
use rand_xoshiro::Xoshiro256PlusPlus;
use std::sync::Arc;
use units::Time;

/// A sender for what is written and a receiver for what the peer writes, each with a window and acknowledgements of its own.
#[derive(Clone, Debug)]
pub(crate) struct Duplex {
    pub sender: TcpSender,
    pub receiver: TcpReceiver,
}

impl Duplex {
    /// An end that has nothing to send yet, and draws from `rng`, which should be its alone.
    pub fn new(tcp: &Arc<TcpSpec>, rng: Xoshiro256PlusPlus) -> Duplex {
        Duplex { sender: TcpSender::new(tcp, Time::NEVER, None, rng), receiver: TcpReceiver::new(tcp) }
    }

    /// Hands a frame to the direction that it belongs to, and says whether it is that of the peer. A SYN is if this end is
    /// `greeted`.
    pub fn handle_frame(&mut self, now: Time, received: &Received, greeted: bool) -> bool {
        let syn = received.header.as_ref().and_then(Header::tcp).is_some_and(|tcp| tcp.syn);
        let of_peer = received.kind == FrameKind::Data || syn && greeted;
        if of_peer {
            self.receiver.handle_frame(now, received);
        } else {
            self.sender.handle_frame(now, received);
        }
        of_peer
    }

    pub fn handle_timeout(&mut self, now: Time) {
        if self.receiver.poll_timeout().is_some_and(|at| at <= now) {
            self.receiver.handle_timeout(now);
        }
        if self.sender.poll_timeout().is_some_and(|at| at <= now) {
            self.sender.handle_timeout(now);
        }
    }

    pub fn poll_timeout(&self) -> Option<Time> {
        [self.sender.poll_timeout(), self.receiver.poll_timeout()].into_iter().flatten().min()
    }

    pub fn has_work(&self) -> bool {
        self.receiver.has_work() || self.sender.has_work()
    }

    pub fn poll_transmit(&mut self, now: Time) -> Option<Segment> {
        // What is smaller and makes the peer go on comes first.
        self.receiver.poll_transmit(now).or_else(|| self.sender.poll_transmit(now))
    }

    pub fn undelivered(&self) -> Undelivered {
        self.receiver.undelivered()
    }

    pub fn discarded(&self) -> u64 {
        self.sender.discarded() + self.receiver.discarded()
    }

    /// Bytes that it has taken beside itself.
    pub fn memory_bytes(&self) -> usize {
        self.sender.memory_bytes() - size_of::<TcpSender>() + self.receiver.memory_bytes()
    }
}
