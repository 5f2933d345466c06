//! Properties of connections and endpoints for the fabric, its tables and its checks, whatever the transport.

use crate::transport::DuplexEnd;
use crate::{
    Application, ConnectionSpec, Conversation, Endpoint, MessageTimes, MpiExchange, PullPacer, RdmaReceiver,
    RdmaSender, RdmaVerb, RdmaWord, SharedNic, TransferOutcome, TransferReceiver, TransferSender, Transport,
    UetReceiver, UetSender,
};
use units::Time;

use frame::{FrameKind, Priority};

/// Returns true if a frame with this word is the packet with this number of queue pair `pair`. If `number` is `None`,
/// returns true for a READ request of the queue pair. The queue pair is in the header if it is not in the word.
pub fn is_packet((word, in_header): (u32, u32), kind: FrameKind, pair: u32, number: Option<u32>) -> bool {
    let word = RdmaWord::of(word);
    let its_pair = if word.has_pair() { word.pair } else { in_header };
    its_pair == pair
        && match (number, kind) {
            (Some(number), FrameKind::Data) => word.number == number,
            (None, FrameKind::Ack) => word.flags[1] && !word.flags[0],
            _ => false,
        }
}

/// Protocols of connections' frames, as named in captures. The first applies to frames that belong to no connection.
pub const PROTOCOLS: [&str; 6] = ["", "tcp", "rdma", "fcoe", "uet", "mrc"];

/// Description of a capture column: the index of the protocol in [`PROTOCOLS`].
pub const PROTOCOL_COLUMN: &str =
    "Protocol of its connection: tcp, rdma, fcoe, uet or mrc; empty for all others.";

/// Description of a capture column: the index of the operation in [`Operation::NAMES`](crate::Operation::NAMES).
pub const VERB_COLUMN: &str = "RDMA operation of the packet: send, write, read (the response to a READ), write_with_immediate (the last packet of one; earlier packets are write) or read_request; empty for all others.";

/// Description of a capture column: the word of a frame.
pub const WORD_COLUMN: &str = "Content, by kind. data: number of its first byte or segment; ack: the next number expected; cnm: the feedback; part: number of its transfer on its path. RDMA and UET have the packet sequence number in bits 0 to 23. In data, bit 24 is set in the last packet of a message, bit 26 in the first one, and bit 25 if an acknowledgement is requested. In an RDMA acknowledgement, bit 24 is a NAK, bits 24 and 26 are an RNR NAK, and bit 25 alone is a READ request. In a UET acknowledgement, bit 24 is a NACK, bit 26 the response to a probe, and bit 25 a control packet: alone a probe, with bit 24 a request for credit, with bit 26 a grant. A pause frame has the priorities with XOFF in bits 0 to 7, those with XON in bits 8 to 15, and the quanta above; a frame with several pause times has a row for each.";

/// UDP port of RoCEv2.
const ROCE_PORT: u16 = 4791;

/// UDP port of UET.
const UET_PORT: u16 = 4793;

impl ConnectionSpec {
    /// Returns the index of the connection's protocol in [`PROTOCOLS`].
    pub fn protocol(&self) -> u32 {
        match (self.transport(), self.fcoe()) {
            (Some(Transport::Rdma(_)), _) => 2,
            (Some(Transport::Uet(uet)), _) => {
                if uet.mrc.is_some() {
                    5
                } else {
                    4
                }
            }
            (_, Some(_)) => 3,
            _ if self.is_frames() => 0,
            _ => 1,
        }
    }
    /// Returns the well-known port of the protocol at the far end; `None` if it may be any port.
    pub fn known_port(&self) -> Option<u16> {
        let roce = self.queue_pairs().map(|_| ROCE_PORT);
        roce.or(self.uet().map(|uet| if uet.mrc.is_some() { ROCE_PORT } else { UET_PORT }))
    }
    /// Returns true if the receiver requests the data, and is therefore the first end at which a transfer is complete.
    pub fn is_read(&self) -> bool {
        self.queue_pairs().is_some_and(|rdma| rdma.verb == RdmaVerb::Read)
    }
    /// Returns the priorities, other than that of the data, of the other frames that either end sends: acknowledgements
    /// and notifications.
    pub fn reply_priorities(&self) -> impl Iterator<Item = Priority> {
        let pairs = self.queue_pairs().into_iter().flat_map(|rdma| rdma.reply_priorities());
        pairs.chain(self.uet().and_then(|uet| uet.ack_priority))
    }
    /// Returns the priority of the far end's frames; `None` if it is that of the data.
    pub fn answer_priority(&self) -> Option<Priority> {
        self.queue_pairs()
            .map_or_else(|| self.uet().and_then(|uet| uet.ack_priority), |pairs| pairs.ack_priority)
    }
    /// Returns the priority of the notification that a NIC sends at once for a marked frame; `None` if it sends none.
    pub fn notification_priority(&self) -> Option<Priority> {
        self.queue_pairs().filter(|rdma| rdma.sends_cnps()).map(|rdma| rdma.cnp_priority)
    }
    /// Returns true if the connection uses telemetry that switches write into its frames.
    pub fn reads_telemetry(&self) -> bool {
        self.queue_pairs().is_some_and(|rdma| rdma.control.uses_telemetry())
    }
    /// Returns true if both ends send data.
    pub fn is_duplex(&self) -> bool {
        matches!(&self.application, Application::Conversation(_) | Application::MpiExchange(_))
    }
}

impl Endpoint {
    /// Returns the sending queue pairs; `None` if the endpoint has none.
    pub fn sending_pairs(&self) -> Option<&RdmaSender> {
        match self {
            Endpoint::RdmaSender(sender) => Some(sender),
            Endpoint::Conversation(own) => own.duplex().queue_pairs().map(|(sender, _)| sender),
            Endpoint::MpiExchange(own) => own.duplex().queue_pairs().map(|(sender, _)| sender),
            _ => None,
        }
    }
    /// Returns the receiving queue pairs; `None` if the endpoint has none.
    pub fn receiving_pairs(&self) -> Option<&RdmaReceiver> {
        match self {
            Endpoint::RdmaReceiver(receiver) => Some(receiver),
            Endpoint::Conversation(own) => own.duplex().queue_pairs().map(|(_, receiver)| receiver),
            Endpoint::MpiExchange(own) => own.duplex().queue_pairs().map(|(_, receiver)| receiver),
            _ => None,
        }
    }
    /// Returns the sending packet delivery contexts; `None` if the endpoint is not UET.
    pub fn sending_contexts(&self) -> Option<&UetSender> {
        match self {
            Endpoint::UetSender(sender) => Some(sender),
            Endpoint::Conversation(own) => own.duplex().uet().map(|(sender, _)| sender),
            Endpoint::MpiExchange(own) => own.duplex().uet().map(|(sender, _)| sender),
            _ => None,
        }
    }
    /// Returns the receiving packet delivery contexts; `None` if the endpoint is not UET.
    pub fn receiving_contexts(&self) -> Option<&UetReceiver> {
        match self {
            Endpoint::UetReceiver(receiver) => Some(receiver),
            Endpoint::Conversation(own) => own.duplex().uet().map(|(_, receiver)| receiver),
            Endpoint::MpiExchange(own) => own.duplex().uet().map(|(_, receiver)| receiver),
            _ => None,
        }
    }
    /// Shares the pull queue of the host, if the contexts of the endpoint use credit.
    pub fn attach_pacer(&mut self, pacer: impl FnOnce() -> PullPacer) {
        let is_granted = self.sending_contexts().is_some_and(UetSender::is_granted);
        if !is_granted && !self.receiving_contexts().is_some_and(UetReceiver::grants) {
            return;
        }
        match self {
            Endpoint::UetSender(sender) => sender.attach(&pacer()),
            Endpoint::UetReceiver(receiver) => receiver.attach(&pacer()),
            Endpoint::Conversation(own) => Conversation::duplex_mut(own).attach_pacer(&pacer()),
            Endpoint::MpiExchange(own) => MpiExchange::duplex_mut(own).attach_pacer(&pacer()),
            _ => {}
        }
    }
    /// Returns true if the transfers count as exchanges, because one connection may have many of them.
    pub fn counts_transfers(&self) -> bool {
        matches!(
            self,
            Endpoint::TcpSender(_)
                | Endpoint::TransferSender(_)
                | Endpoint::RdmaSender(_)
                | Endpoint::RdmaReceiver(_)
                | Endpoint::UetSender(_)
                | Endpoint::FrameSender(_)
        )
    }
    /// Attaches an endpoint with queue pairs to a NIC with limits, as the endpoint with this number.
    pub fn attach(&mut self, number: u32, nic: impl FnOnce() -> SharedNic) {
        let sender = match self {
            Endpoint::RdmaSender(sender) => Some(&mut **sender),
            Endpoint::Conversation(own) => Conversation::duplex_mut(own).queue_pair_sender(),
            Endpoint::MpiExchange(own) => MpiExchange::duplex_mut(own).queue_pair_sender(),
            _ => None,
        };
        if let Some(sender) = sender {
            sender.attach(&nic(), number);
        }
    }
}

/// The two endpoints that carry the transfers of a path.
#[derive(Clone, Copy, Debug)]
pub enum TransferEnds<'a> {
    /// TCP connections.
    Tcp(&'a TransferSender, &'a TransferReceiver),
    /// RDMA queue pairs.
    Rdma(&'a RdmaSender, &'a RdmaReceiver),
    /// UET packet delivery contexts.
    Uet(&'a UetSender, &'a UetReceiver),
}

impl<'a> TransferEnds<'a> {
    /// Pairs these endpoints; `None` if they carry no transfers.
    pub fn of(near: &'a Endpoint, far: &'a Endpoint) -> Option<TransferEnds<'a>> {
        match (near, far) {
            (Endpoint::TransferSender(near), Endpoint::TransferReceiver(far)) => {
                Some(TransferEnds::Tcp(near, far))
            }
            (Endpoint::RdmaSender(near), Endpoint::RdmaReceiver(far)) => Some(TransferEnds::Rdma(near, far)),
            (Endpoint::UetSender(near), Endpoint::UetReceiver(far)) => Some(TransferEnds::Uet(near, far)),
            _ => None,
        }
    }

    /// Returns the outcomes of the transfers that have begun, in order of their starts.
    pub fn outcomes(&self) -> Vec<TransferOutcome> {
        match self {
            TransferEnds::Tcp(near, _) => near.outcomes(),
            TransferEnds::Uet(near, far) => {
                let mut outcomes = near.outcomes();
                for (nth, outcome) in outcomes.iter_mut().enumerate().filter(|_| near.is_unreliable()) {
                    let last = near.last_psn(nth);
                    let missing = |(context, last)| {
                        near.missing_of(last, outcome.missing, |packets| far.arrived(context, packets))
                    };
                    outcome.missing = last.map_or(outcome.missing, missing);
                }
                outcomes
            }
            TransferEnds::Rdma(near, far) => {
                let Some(mut read) = far.outcomes() else {
                    return near.outcomes();
                };
                for (nth, outcome) in read.iter_mut().enumerate() {
                    let place = far.place_of(nth);
                    outcome.sent_again =
                        place.map_or(0, |(pair, first, many)| near.served_again(pair, first, many));
                }
                read
            }
        }
    }
    /// Returns the arrival time of the request (only for a READ), and the times by activity of the n-th transfer until
    /// `end`, at which it was acknowledged or, for a READ, complete. Returns `None` over TCP, or if the transfer has
    /// not ended.
    pub fn times_of(&self, nth: usize, end: Time) -> Option<(Option<Time>, MessageTimes)> {
        let TransferEnds::Rdma(near, far) = self else {
            return None;
        };
        match far.place_of(nth) {
            Some(place) if end < Time::NEVER => {
                near.times_of_read(place, end).map(|(came, times)| (Some(came), times))
            }
            Some(_) => None,
            None => near.times_of(nth).map(|times| (None, times)),
        }
    }
    /// Returns the time at which the n-th transfer was completely delivered; `None` if it has not been.
    pub fn delivered(&self, nth: usize) -> Option<Time> {
        match self {
            TransferEnds::Tcp(_, far) => far.delivered(nth),
            TransferEnds::Uet(near, far) => {
                let (context, last) = near.last_psn(nth)?;
                far.delivered(context, last)
            }
            TransferEnds::Rdma(near, far) => {
                if let Some((pair, first, many)) = far.place_of(nth) {
                    return far.delivered(pair, first + many - 1);
                }
                let (pair, ordinal) = near.place_of(nth)?;
                far.delivered(pair, ordinal)
            }
        }
    }
}
