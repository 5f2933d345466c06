//! TCP below an application: one end of a connection that sends and receives a stream each way.

use crate::application::Random;
use crate::endpoint::{Protocol, Received, Record, Segment, TransportFacts};
use crate::load::Train;
use crate::rdma::{PathFacts, Post};
use crate::settings::ack_bytes;
use crate::tcp::{EcnMode, TcpSpec};
use crate::transport::{DuplexEnd, Need, TransportKeys, TransportSpec, Unit};
use crate::{Delay, TcpKeys, TcpReceiver, TcpSender, TransferSpec};
use frame::{FrameKind, Header};
use keys::Remark;
use std::sync::Arc;
use units::{Bytes, Or, Time};

/// A sender of written data and a receiver of the peer's data. Each direction has its own window and acknowledgements.
#[derive(Clone, Debug)]
pub struct TcpDuplex {
    pub(crate) sender: TcpSender,
    pub(crate) receiver: TcpReceiver,
    /// True if this end has answered a SYN, that is, if the peer opens the connection.
    greeted: bool,
}

impl TransportSpec for Arc<TcpSpec> {
    type End = TcpDuplex;

    fn unit(&self) -> Unit {
        Unit::Bytes(self.segment)
    }
    fn frames(&self) -> (u16, u16) {
        (self.shortest_frame(), self.longest_frame())
    }
    fn round_trip_frames(&self) -> (u16, u16) {
        (self.frame_bytes(self.segment), self.ack_frame_bytes(0))
    }
    fn train(&self, messages: &mut dyn Iterator<Item = (u64, &[Post])>) -> Train {
        Train::messages(self, messages.map(|(bytes, _)| bytes))
    }
    fn understands_marks(&self) -> bool {
        self.ecn != EcnMode::Off
    }
    fn jitter(&self) -> Option<Time> {
        Some(self.jitter)
    }
    fn check(&self) -> Result<(), String> {
        if self.reconnect || self.transfers.total != Some(0) {
            return Err("transfers beside the messages; expected none, over one connection".to_string());
        }
        TcpSpec::check(self)
    }
    /// Creates one end. The direction from the peer opens together with that of the opening end.
    fn start(&self, opens: bool, _facts: PathFacts, random: Random) -> TcpDuplex {
        let own = if opens || !self.handshake {
            self.clone()
        } else {
            Arc::new(TcpSpec { handshake: false, ..self.as_ref().clone() })
        };
        TcpDuplex {
            sender: TcpSender::new(&own, Time::NEVER, None, random),
            receiver: TcpReceiver::new(&own),
            greeted: !opens,
        }
    }
}

impl DuplexEnd for TcpDuplex {
    fn handle_frame(&mut self, now: Time, received: &Received) -> bool {
        let syn = received.header.as_ref().and_then(Header::tcp).is_some_and(|tcp| tcp.syn);
        let of_peer = received.kind == FrameKind::Data || syn && self.greeted;
        if of_peer {
            self.receiver.handle_frame(now, received);
        } else {
            self.sender.handle_frame(now, received);
        }
        of_peer
    }
    fn handle_timeout(&mut self, now: Time, _is_queued: &dyn Fn(u32, Option<u32>) -> bool) {
        if self.receiver.poll_timeout().is_some_and(|at| at <= now) {
            self.receiver.handle_timeout(now);
        }
        if self.sender.poll_timeout().is_some_and(|at| at <= now) {
            self.sender.handle_timeout(now);
        }
    }
    fn poll_timeout(&self) -> Option<Time> {
        [self.sender.poll_timeout(), self.receiver.poll_timeout()].into_iter().flatten().min()
    }
    fn has_work(&self) -> bool {
        self.receiver.has_work() || self.sender.has_work()
    }
    fn poll_transmit(&mut self, now: Time) -> Option<Segment> {
        // Acknowledgements are sent first: they are shorter, and let the peer continue.
        self.receiver.poll_transmit(now).or_else(|| self.sender.poll_transmit(now))
    }
    fn write(&mut self, now: Time, bytes: u64) {
        self.sender.write(now, bytes);
    }
    #[inline]
    fn delivered(&self) -> u64 {
        self.receiver.delivered()
    }
    fn poll_record(&mut self) -> Option<Record> {
        self.sender.poll_record()
    }
    fn facts(&self, now: Time) -> TransportFacts {
        TransportFacts {
            retransmitted: self.sender.retransmitted(),
            discarded: self.sender.discarded() + self.receiver.discarded(),
            undelivered: self.receiver.undelivered(),
            congestion: self.sender.congestion(),
            held: self.sender.held(now),
        }
    }
    fn memory_bytes(&self) -> usize {
        self.sender.memory_bytes() - size_of::<TcpSender>() + self.receiver.memory_bytes()
    }
}

impl TransportKeys for TcpKeys {
    type Spec = Arc<TcpSpec>;

    const JITTER_KEY: Option<&'static str> = Some("tcp.send_jitter");

    fn lower(&self, need: &Need<'_>) -> Result<(Arc<TcpSpec>, Vec<Remark>), Vec<Remark>> {
        let (ack, mut wrong) = (ack_bytes(self.ack), one_connection(self, need.place));
        let least = ack.as_ref().map_or(need.frame, |(bytes, _)| *bytes);
        let spec = self.sized(Some(Bytes::new(0)), need.frame, least).map_err(|all| wrong.extend(all));
        match (ack, spec) {
            (Ok((_, mut warnings)), Ok(spec)) if wrong.is_empty() => {
                warnings.extend(self.unused());
                let transfers = TransferSpec { size: None, total: Some(0), idle: Delay::default() };
                Ok((TcpSpec { transfers, ..spec }.into(), warnings))
            }
            (ack, _) => Err(ack.err().into_iter().flatten().chain(wrong).collect()),
        }
    }
}

/// Returns remarks on TCP keys that describe transfers, which do not apply because an application sends messages over
/// one connection.
fn one_connection(tcp: &TcpKeys, place: &str) -> Vec<Remark> {
    let others = [
        ("transfer", tcp.transfer != Or::word()),
        ("idle", tcp.idle != Delay::default()),
        ("reconnect", tcp.reconnect),
    ];
    let help = "the messages of the application define what is sent and when, over one connection; leave this key out";
    let remark = |key: &'static str| Remark::about(key, format!("{key} {place}"), help);
    others.into_iter().filter(|&(_, is_set)| is_set).map(|(key, _)| remark(key)).collect()
}
