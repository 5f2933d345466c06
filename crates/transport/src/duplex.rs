//! One end of a connection that sends and receives, over TCP or RDMA.
//!
//! Over TCP messages are bytes of a stream; over RDMA each is a message of a queue pair, or several. How far the peer's have come
//! is counted in bytes or in messages: both ends know what comes next.

use crate::endpoint::{Congestion, Protocol, Received, Record, Segment, Undelivered};
use crate::limited::LimitedTimes;
use crate::rdma::{PathFacts, Post, RdmaDuplex};
use crate::tcp::TcpSpec;
use crate::transport::Transport;
use crate::{RdmaReceiver, RdmaSender, TcpReceiver, TcpSender};
use frame::{FrameKind, Header, Stamps};
use rand_xoshiro::Xoshiro256PlusPlus;
use std::sync::Arc;
use units::{BitRate, Time};

/// A sender for what is written and a receiver for what the peer writes, each with a window and acknowledgements of its own.
#[derive(Clone, Debug)]
pub(crate) enum Duplex {
    /// A connection.
    Tcp(TcpDuplex),
    /// A queue pair each way. Boxed: it is larger.
    Rdma(Box<RdmaDuplex>),
}

/// Both directions of a connection over TCP.
#[derive(Clone, Debug)]
pub(crate) struct TcpDuplex {
    pub sender: TcpSender,
    pub receiver: TcpReceiver,
}

impl TcpDuplex {
    fn new(tcp: &Arc<TcpSpec>, rng: Xoshiro256PlusPlus) -> TcpDuplex {
        TcpDuplex { sender: TcpSender::new(tcp, Time::NEVER, None, rng), receiver: TcpReceiver::new(tcp) }
    }

    /// A SYN is the peer's if this end is `greeted`.
    fn handle_frame(&mut self, now: Time, received: &Received, greeted: bool) -> bool {
        let syn = received.header.as_ref().and_then(Header::tcp).is_some_and(|tcp| tcp.syn);
        let of_peer = received.kind == FrameKind::Data || syn && greeted;
        if of_peer {
            self.receiver.handle_frame(now, received);
        } else {
            self.sender.handle_frame(now, received);
        }
        of_peer
    }

    fn handle_timeout(&mut self, now: Time) {
        if self.receiver.poll_timeout().is_some_and(|at| at <= now) {
            self.receiver.handle_timeout(now);
        }
        if self.sender.poll_timeout().is_some_and(|at| at <= now) {
            self.sender.handle_timeout(now);
        }
    }
}

impl Duplex {
    /// An end that has nothing to send yet, and draws from `rng`, which should be its alone. `facts`: those of the path from it.
    pub fn new(transport: &Transport, facts: PathFacts, rng: Xoshiro256PlusPlus) -> Duplex {
        match transport {
            Transport::Tcp(tcp) => Duplex::Tcp(TcpDuplex::new(tcp, rng)),
            Transport::Rdma(rdma) => Duplex::Rdma(Box::new(RdmaDuplex::new(rdma, facts))),
        }
    }

    /// Hands a frame to the direction that it belongs to. Returns true if it is that of the peer; a SYN is if this end is
    /// `greeted`.
    pub fn handle_frame(&mut self, now: Time, received: &Received, greeted: bool) -> bool {
        match self {
            Duplex::Tcp(it) => it.handle_frame(now, received, greeted),
            Duplex::Rdma(it) => it.handle_frame(now, received),
        }
    }

    pub fn handle_timeout(&mut self, now: Time, is_queued: &dyn Fn(u32, Option<u32>) -> bool) {
        match self {
            Duplex::Tcp(it) => it.handle_timeout(now),
            Duplex::Rdma(it) => it.sender.handle_timeout_at(now, is_queued),
        }
    }

    pub fn poll_timeout(&self) -> Option<Time> {
        match self {
            Duplex::Tcp(it) => {
                [it.sender.poll_timeout(), it.receiver.poll_timeout()].into_iter().flatten().min()
            }
            Duplex::Rdma(it) => it.sender.poll_timeout(),
        }
    }

    pub fn has_work(&self) -> bool {
        match self {
            Duplex::Tcp(it) => it.receiver.has_work() || it.sender.has_work(),
            Duplex::Rdma(it) => it.has_work(),
        }
    }

    pub fn poll_transmit(&mut self, now: Time) -> Option<Segment> {
        match self {
            // What is smaller and makes the peer go on comes first.
            Duplex::Tcp(it) => it.receiver.poll_transmit(now).or_else(|| it.sender.poll_transmit(now)),
            Duplex::Rdma(it) => it.poll_transmit(now),
        }
    }

    pub fn poll_record(&mut self) -> Option<Record> {
        match self {
            Duplex::Tcp(it) => it.sender.poll_record(),
            Duplex::Rdma(it) => it.poll_record(),
        }
    }

    /// Sends so many more bytes of a stream; of a message over RDMA, see [`Duplex::post`].
    pub fn write(&mut self, now: Time, bytes: u64) {
        if let Duplex::Tcp(it) = self {
            it.sender.write(now, bytes);
        }
    }

    /// Sends these messages; of a stream, see [`Duplex::write`].
    pub fn post(&mut self, now: Time, posts: &[Post]) {
        if let Duplex::Rdma(it) = self {
            it.post(now, posts);
        }
    }

    /// Bytes of the peer's stream that have come in order, or messages that are whole.
    #[inline]
    pub fn delivered(&self) -> u64 {
        match self {
            Duplex::Tcp(it) => it.receiver.delivered(),
            Duplex::Rdma(it) => it.receiver.messages(),
        }
    }

    pub fn undelivered(&self) -> Undelivered {
        match self {
            Duplex::Tcp(it) => it.receiver.undelivered(),
            Duplex::Rdma(it) => it.undelivered(),
        }
    }

    pub fn discarded(&self) -> u64 {
        match self {
            Duplex::Tcp(it) => it.sender.discarded() + it.receiver.discarded(),
            Duplex::Rdma(it) => it.discarded(),
        }
    }

    pub fn retransmitted(&self) -> u64 {
        match self {
            Duplex::Tcp(it) => it.sender.retransmitted(),
            Duplex::Rdma(it) => it.sender.retransmitted(),
        }
    }

    pub fn held(&self, now: Time) -> Option<LimitedTimes> {
        match self {
            Duplex::Tcp(it) => it.sender.held(now),
            Duplex::Rdma(it) => it.sender.held(now),
        }
    }

    pub fn congestion(&self) -> Option<Congestion> {
        match self {
            Duplex::Tcp(it) => it.sender.congestion(),
            Duplex::Rdma(it) => it.sender.congestion(),
        }
    }

    /// Bytes that it has taken beside itself.
    pub fn memory_bytes(&self) -> usize {
        match self {
            Duplex::Tcp(it) => it.sender.memory_bytes() - size_of::<TcpSender>() + it.receiver.memory_bytes(),
            Duplex::Rdma(it) => it.memory_bytes(),
        }
    }

    pub fn notify(&mut self, now: Time, received: &Received, port: &mut Time) -> Option<Segment> {
        match self {
            Duplex::Tcp(_) => None,
            Duplex::Rdma(it) => it.receiver.notify(now, received, port),
        }
    }

    pub fn on_stamps(&mut self, kind: FrameKind, pair: u32, stamps: &Stamps) {
        if let Duplex::Rdma(it) = self {
            it.on_stamps(kind, pair, stamps);
        }
    }

    pub fn stamps(&self, pair: u32) -> Option<&Stamps> {
        self.queue_pairs()?.1.stamps(pair)
    }

    pub fn on_stopped(&mut self, stopped: Time, now: Time) {
        if let Duplex::Rdma(it) = self {
            it.sender.on_stopped(stopped, now);
        }
    }

    pub fn on_link_rate(&mut self, rate: BitRate, now: Time) -> bool {
        match self {
            Duplex::Tcp(_) => false,
            Duplex::Rdma(it) => it.sender.on_link_rate(rate, now),
        }
    }

    /// What it sends and receives with over RDMA; `None`: it is TCP.
    pub fn queue_pairs(&self) -> Option<(&RdmaSender, &RdmaReceiver)> {
        match self {
            Duplex::Tcp(_) => None,
            Duplex::Rdma(it) => Some((&it.sender, &it.receiver)),
        }
    }

    /// What it sends with over RDMA; `None`: it is TCP.
    pub fn queue_pair_sender(&mut self) -> Option<&mut RdmaSender> {
        match self {
            Duplex::Tcp(_) => None,
            Duplex::Rdma(it) => Some(&mut it.sender),
        }
    }
}

/// The calls of a [`Protocol`] that an application with a field `duplex` passes on to it.
macro_rules! calls_of_duplex {
    () => {
        fn has_work(&self) -> bool {
            self.duplex.has_work()
        }
        fn poll_transmit(&mut self, now: Time) -> Option<Segment> {
            self.duplex.poll_transmit(now)
        }
        fn retransmitted(&self) -> u64 {
            self.duplex.retransmitted()
        }
        fn discarded(&self) -> u64 {
            self.duplex.discarded()
        }
        fn undelivered(&self) -> Undelivered {
            self.duplex.undelivered()
        }
        fn held(&self, now: Time) -> Option<LimitedTimes> {
            self.duplex.held(now)
        }
        fn congestion(&self) -> Option<Congestion> {
            self.duplex.congestion()
        }
        fn notify(&mut self, now: Time, received: &Received, port: &mut Time) -> Option<Segment> {
            self.duplex.notify(now, received, port)
        }
        fn on_stamps(&mut self, kind: FrameKind, pair: u32, stamps: &Stamps) {
            self.duplex.on_stamps(kind, pair, stamps);
        }
        fn stamps(&self, pair: u32) -> Option<&Stamps> {
            self.duplex.stamps(pair)
        }
        fn on_stopped(&mut self, stopped: Time, now: Time) {
            self.duplex.on_stopped(stopped, now);
        }
        fn on_link_rate(&mut self, rate: BitRate, now: Time) -> bool {
            self.duplex.on_link_rate(rate, now)
        }
    };
}

pub(crate) use calls_of_duplex;
