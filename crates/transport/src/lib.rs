//! Endpoints that react to their peers: transports, congestion controllers and the applications above them.
//!
//! A connection has two endpoints, one at each host, which [`ConnectionSpec::start`] creates together. An [`Endpoint`]
//! is a state machine that implements the [`Protocol`] calls. Its inputs are frames and the time; its outputs are
//! segments, timeouts and records. It has no clock, no queue and no address: the NIC pulls a segment when the wire is
//! free and sends it to the peer. A [`Controller`] determines how much may be in flight and at what rate, and is
//! independent of retransmission.
//!
//! The following example calls a controller as a sender does. Additive increase, multiplicative decrease (RFC 5681)
//! adds the acknowledged bytes in slow start, and restarts from one segment after a timeout.
//!
//! ```
//! use transport::{Ack, AimdParams, CongestionControl, ControllerConfiguration, Growth, Loss, LossKind};
//! use units::{Amount, Time};
//!
//! let params = AimdParams { initial: Amount::Frames(10), threshold: None, growth: Growth::Acks, grows_unused: false };
//! let mut aimd = params.start(1_000);
//! let (now, in_flight) = (Time::from_us(100), 10_000);
//! let ack = Ack { bytes: 1_000, in_flight, ece: false, round_trip: None, recovering: false, window_used: true };
//! aimd.on_ack(now, &ack);
//! assert_eq!(aimd.window(), 11_000);
//! aimd.on_loss(now, &Loss { kind: LossKind::Timeout, in_flight });
//! assert_eq!(aimd.window(), 1_000);
//! ```

#![warn(clippy::too_many_lines)]

mod aimd;
mod application;
mod bulk;
mod combinations;
mod connection;
mod controller;
mod conversation;
mod conversation_keys;
mod cubic;
mod dctcp;
mod delay;
mod endpoint;
mod exchange;
mod fast_recovery;
mod fcoe;
mod fcoe_keys;
mod fcoe_spec;
mod fixed_rate;
mod fixed_window;
mod frame_receiver;
mod frame_sender;
mod iser;
mod iwarp;
mod limited;
mod load;
mod loss_recoveries;
mod loss_recovery;
mod marked_share;
mod members;
mod messages;
mod mpi_exchange;
mod mpi_exchange_keys;
mod newreno;
mod pacer;
mod path_selection;
mod prr;
mod rdma;
mod rdma_receiver;
mod rdma_sender;
pub mod recurring;
mod request_response_keys;
mod requester;
mod responder;
mod retransmission;
mod room;
mod round_trip;
mod sack;
mod scheduled;
mod scoreboard;
mod serial;
mod settings;
mod tahoe;
mod tcp;
mod tcp_acks;
mod tcp_choice;
mod tcp_duplex;
mod tcp_keys;
mod tcp_presets;
mod tcp_receiver;
mod tcp_sender;
mod tcp_times;
mod time_spent;
mod transfer_receiver;
mod transfer_sender;
mod transfers;
mod transport;
mod transport_facts;
mod uet;
mod uet_receiver;
mod uet_sender;
mod unlimited;
mod window_receiver;
mod window_sender;

#[cfg(test)]
mod calls;
#[cfg(test)]
mod pipe;
#[cfg(test)]
mod posted_messages;
#[cfg(test)]
mod posted_times;
#[cfg(test)]
mod properties;
#[cfg(test)]
mod rdma_application_examples;
#[cfg(test)]
mod rdma_examples;
#[cfg(test)]
mod rdma_paths_examples;
#[cfg(test)]
mod rdma_reordering_examples;
#[cfg(test)]
mod rdma_time_examples;
#[cfg(test)]
mod rdma_trimming_examples;
#[cfg(test)]
mod rdma_verbs_examples;
#[cfg(test)]
mod tcp_calls;
#[cfg(test)]
mod tcp_examples;
#[cfg(test)]
mod tcp_properties;
#[cfg(test)]
mod testbed;
#[cfg(test)]
mod transfer_pool;
#[cfg(test)]
mod uet_examples;

pub use aimd::{Aimd, AimdParams, Growth};
pub use application::{ApplicationKeys, ApplicationSpec, Opening, Random};
pub use combinations::{COMBINATIONS, Combination, Fit, markdown as combinations_page, refusal, refused};
pub use connection::{ConnectionSpec, RequestResponseSpec, WindowSpec};
pub use controller::{Ack, CongestionControl, ControllerConfiguration, Loss, LossKind};
pub use conversation::{Conversation, ConversationSpec};
pub use conversation_keys::ConversationKeys;
pub use cubic::{Cubic, CubicKeys, CubicParams};
pub use dctcp::{Dctcp, DctcpKeys, DctcpParams};
pub use delay::Delay;
pub use endpoint::{
    Answer, Congestion, HostEvent, Progress, Protocol, Received, Record, RecordKind, Requests, Segment,
    TransportFacts, Undelivered,
};
pub use exchange::{MAX_OUTSTANDING, MAX_SEGMENTS};
pub use fcoe::Fcoe;
pub use fcoe_keys::{FcoeKeys, FcpOperation};
pub use fcoe_spec::FcoeSpec;
pub use fixed_rate::{FixedRate, FixedRateParams};
pub use fixed_window::{FixedWindow, FixedWindowParams};
pub use frame_receiver::FrameReceiver;
pub use frame_sender::{FrameSender, FramesSpec};
pub use iwarp::{IwarpKeys, IwarpOperation};
pub use limited::LimitedTimes;
pub use load::{Train, Turn};
pub use loss_recoveries::LossRecoveryKind;
pub use messages::{IscsiKeys, Messages, Talk};
pub use mpi_exchange::{MpiExchange, MpiExchangeSpec};
pub use mpi_exchange_keys::MpiExchangeKeys;
pub use pacer::Pacer;
pub use path_selection::{
    Draws, MOST_ENTROPIES, MrcPathsKeys, PATH_SELECTION_PAGES, PathCounts, PathFeedback, PathSelection,
    PathSelectionKeys, PathSelector, PathSignal, PathsFacts,
};
pub use rdma::RdmaDuplex;
pub use rdma::{
    CnpScope, Dcqcn, DcqcnCrowd, DcqcnKeys, DcqcnPreset, DcqcnRest, HpccKeys, HpccPintKeys, NicLimits,
    NicState, NoControlKeys, Operation, PairCounts, PathFacts, Post, PowerTcpKeys, QueuePair, QueuePairs,
    RDMA_CONTROL_PAGES, RDMA_PAGES, RDMA_RECOVERY_PAGES, RdmaControl, RdmaControlKeys, RdmaControlSpec,
    RdmaController, RdmaKeys, RdmaRecovery, RdmaSpec, RdmaTimeouts, RdmaVerb, RdmaWord, ReadCounts,
    ReceiveQueue, ReorderingKeys, ReorderingPreset, SharedNic, StaticWindow, ThetaPowerTcpKeys,
};
/// RDMA types that apply to the queue pairs of any transport.
pub use rdma::{
    RdmaControlSpec as QueuePairControlSpec, RdmaRecovery as QueuePairRecovery, RdmaSpec as QueuePairSpec,
    RdmaTimeouts as QueuePairTimeouts, RdmaWord as QueuePairWord,
};
pub use rdma_receiver::{PairReceived, RdmaReceiver};
pub use rdma_sender::RdmaSender;
pub use request_response_keys::RequestResponseKeys;
pub use requester::Requester;
pub use responder::Responder;
pub use round_trip::TimerSpec;
pub use scheduled::Scheduled;
pub use settings::WindowKeys;
pub use tcp::{EcnMode, TcpSpec};
pub use tcp_duplex::TcpDuplex;
pub use tcp_keys::{TcpController, TcpKeys};
pub use tcp_presets::TcpPreset;
pub use tcp_receiver::TcpReceiver;
pub use tcp_sender::TcpSender;
pub use time_spent::{MessageTimes, Spent, TimesSpent};
pub use transfer_receiver::TransferReceiver;
pub use transfer_sender::{TransferOutcome, TransferSender};
pub use transfers::TransferSpec;
pub use transport::{DuplexEnd, Need, TransportKeys, TransportSpec, Unit};
pub use transport_facts::{PROTOCOL_COLUMN, PROTOCOLS, TransferEnds, VERB_COLUMN, WORD_COLUMN, is_packet};
pub use uet::{
    ContextCounts, CreditRules, DeliveryContext, EqdsKeys, MRC_PAGE, MrcKeys, NdpKeys, NsccKeys, PullOrder,
    PullPacer, RcccKeys, ReceivingContext, UET_CONTROL_PAGES, UetControlKeys, UetDuplex, UetKeys, UetMode,
    UetPreset, UetReceived, UetSes, UetSpec,
};
pub use uet_receiver::UetReceiver;
pub use uet_sender::UetSender;
pub use unlimited::{Unlimited, UnlimitedParams};
pub use window_receiver::WindowReceiver;
pub use window_sender::WindowSender;

use application::applications;
use frame::Stamps;
use keys::Remark;
use schemars::JsonSchema;
use serde::{Deserialize, Deserializer, Serialize};
use std::sync::Arc;
use transport::transports;
use units::{BitRate, Bytes, Time};

/// By application without an endpoint of its own: its name, and the source file of its reference page.
pub const APPLICATION_PAGES: &[(&str, &str)] = &[
    ("bulk", include_str!("bulk.rs")),
    ("iser", include_str!("iser.rs")),
    ("iwarp", include_str!("iwarp.rs")),
];

/// By loss recovery of TCP: its name, and the source file of its reference page.
pub const REPAIR_PAGES: &[(&str, &str)] = &[
    ("tahoe", include_str!("tahoe.rs")),
    ("fast_recovery", include_str!("fast_recovery.rs")),
    ("newreno", include_str!("newreno.rs")),
    ("sack", include_str!("sack.rs")),
    ("prr", include_str!("prr.rs")),
];

/// Defines the closed enum of endpoints and its dispatch from one list.
macro_rules! endpoints {
    ($($(#[$doc:meta])* $name:ident($machine:ident) = $text:literal),* $(,)?) => {
        /// One end of a connection.
        #[derive(Clone, Debug)]
        pub enum Endpoint {
            $($(#[$doc])* $name($machine),)*
        }

        /// By endpoint: its name, and the source file of its reference page.
        pub const ENDPOINT_PAGES: &[(&str, &str)] = &[$(($text, include_str!(concat!($text, ".rs"))),)*];

        impl Endpoint {
            /// Returns the name of the endpoint.
            pub fn name(&self) -> &'static str {
                match self { $(Endpoint::$name(_) => $text,)* }
            }
        }

        impl Protocol for Endpoint {
            fn handle_frame(&mut self, now: Time, received: &Received) {
                match self { $(Endpoint::$name(it) => it.handle_frame(now, received),)* }
            }
            fn handle_timeout(&mut self, now: Time) {
                match self { $(Endpoint::$name(it) => it.handle_timeout(now),)* }
            }
            fn handle_timeout_at(&mut self, now: Time, is_queued: &dyn Fn(u32, Option<u32>) -> bool) {
                match self { $(Endpoint::$name(it) => it.handle_timeout_at(now, is_queued),)* }
            }
            fn poll_timeout(&self) -> Option<Time> {
                match self { $(Endpoint::$name(it) => it.poll_timeout(),)* }
            }
            fn has_work(&self) -> bool {
                match self { $(Endpoint::$name(it) => it.has_work(),)* }
            }
            fn poll_transmit(&mut self, now: Time) -> Option<Segment> {
                match self { $(Endpoint::$name(it) => it.poll_transmit(now),)* }
            }
            fn poll_record(&mut self) -> Option<Record> {
                match self { $(Endpoint::$name(it) => it.poll_record(),)* }
            }
            fn has_records(&self) -> bool {
                match self { $(Endpoint::$name(it) => it.has_records(),)* }
            }
            fn requests(&self) -> Requests {
                match self { $(Endpoint::$name(it) => it.requests(),)* }
            }
            #[inline]
            fn answer(&mut self, now: Time, received: &Received, free: bool) -> Answer {
                match self { $(Endpoint::$name(it) => it.answer(now, received, free),)* }
            }
            #[inline]
            fn transmit(&mut self, now: Time) -> (Option<Segment>, Requests) {
                match self { $(Endpoint::$name(it) => it.transmit(now),)* }
            }
            fn facts(&self, now: Time) -> TransportFacts {
                match self { $(Endpoint::$name(it) => it.facts(now),)* }
            }
            fn on_event(&mut self, now: Time, event: &HostEvent<'_>) -> bool {
                match self { $(Endpoint::$name(it) => it.on_event(now, event),)* }
            }
            fn memory_bytes(&self) -> usize {
                match self { $(Endpoint::$name(it) => it.memory_bytes(),)* }
            }
            fn progress(&self) -> Option<Progress> {
                match self { $(Endpoint::$name(it) => it.progress(),)* }
            }
            fn poll_ended(&mut self) -> Option<u32> {
                match self { $(Endpoint::$name(it) => it.poll_ended(),)* }
            }
            fn poll_ended_with_times(&mut self) -> Option<(u32, Option<MessageTimes>)> {
                match self { $(Endpoint::$name(it) => it.poll_ended_with_times(),)* }
            }
            fn notify(&mut self, now: Time, received: &Received, port: &mut Time) -> Option<Segment> {
                match self { $(Endpoint::$name(it) => it.notify(now, received, port),)* }
            }
            fn accepts_trimmed(&self) -> bool {
                match self { $(Endpoint::$name(it) => it.accepts_trimmed(),)* }
            }
            fn next_entropy(&mut self) -> u16 {
                match self { $(Endpoint::$name(it) => it.next_entropy(),)* }
            }
            fn stamps(&self, pair: u32) -> Option<&Stamps> {
                match self { $(Endpoint::$name(it) => it.stamps(pair),)* }
            }
        }
    };
}

/// Defines the closed enum of controllers, its specification and its dispatch from one list.
macro_rules! controllers {
    ($($(#[$doc:meta])* $name:ident($params:ident) = $text:literal),* $(,)?) => {
        /// The specification of a controller: its kind and its parameters.
        #[derive(Clone, Debug, PartialEq)]
        pub enum ControllerSpec {
            $($(#[$doc])* $name($params),)*
        }

        /// The state of a controller.
        #[derive(Clone, Debug)]
        pub enum Controller {
            $($(#[$doc])* $name($name),)*
        }

        /// By controller: its name, and the source file of its reference page.
        pub const CONTROLLER_PAGES: &[(&str, &str)] = &[$(($text, include_str!(concat!($text, ".rs"))),)*];

        impl ControllerSpec {
            /// Names of all controllers in a scenario.
            pub const NAMES: &[&str] = &[$($text,)*];

            /// Returns the name of the controller.
            pub fn name(&self) -> &'static str {
                match self { $(ControllerSpec::$name(_) => $text,)* }
            }
        }

        impl ControllerConfiguration for ControllerSpec {
            type Machine = Controller;

            fn check(&self, segment: u16) -> Result<(), String> {
                match self { $(ControllerSpec::$name(params) => params.check(segment),)* }
            }
            fn start(&self, segment: u16) -> Controller {
                match self { $(ControllerSpec::$name(params) => Controller::$name(params.start(segment)),)* }
            }
        }

        impl CongestionControl for Controller {
            #[inline(always)]
            fn on_ack(&mut self, now: Time, ack: &Ack) {
                match self { $(Controller::$name(it) => it.on_ack(now, ack),)* }
            }
            fn on_loss(&mut self, now: Time, loss: &Loss) {
                match self { $(Controller::$name(it) => it.on_loss(now, loss),)* }
            }
            fn on_recovered(&mut self, now: Time, in_flight: u64) {
                match self { $(Controller::$name(it) => it.on_recovered(now, in_flight),)* }
            }
            fn on_idle(&mut self, now: Time) {
                match self { $(Controller::$name(it) => it.on_idle(now),)* }
            }
            fn on_mark(&mut self, now: Time) {
                match self { $(Controller::$name(it) => it.on_mark(now),)* }
            }
            fn on_message(&mut self, now: Time, word: u32) {
                match self { $(Controller::$name(it) => it.on_message(now, word),)* }
            }
            fn window(&self) -> u64 {
                match self { $(Controller::$name(it) => it.window(),)* }
            }
            fn rate(&self) -> Option<BitRate> {
                match self { $(Controller::$name(it) => it.rate(),)* }
            }
        }
    };
}

/// Boxed because senders are larger than receivers, which should not use as much memory.
type BoxedWindowSender = Box<WindowSender>;
/// Boxed because it is a sender.
type BoxedRequester = Box<Requester>;
/// Boxed because it is a sender.
type BoxedResponder = Box<Responder>;
/// Boxed because it is a sender.
type BoxedTcpSender = Box<TcpSender>;
/// Boxed because it is a sender.
type BoxedTransferSender = Box<TransferSender>;
/// Boxed because it is a sender.
type BoxedConversation = Box<Conversation>;
/// Boxed because it is a sender.
type BoxedMpiExchange = Box<MpiExchange>;
/// Boxed because it is a sender.
type BoxedFcoe = Box<Fcoe>;
/// Boxed because it is a sender.
type BoxedRdmaSender = Box<RdmaSender>;
/// Boxed because it is larger than the receiver of a single connection.
type BoxedTransferReceiver = Box<TransferReceiver>;
/// Boxed because it is larger than the receiver of a single connection.
type BoxedRdmaReceiver = Box<RdmaReceiver>;
/// Boxed because it is a sender.
type BoxedUetSender = Box<UetSender>;
/// Boxed because it is larger than the receiver of a single connection.
type BoxedUetReceiver = Box<UetReceiver>;
/// Boxed because it is larger than the receiver of a single connection.
type BoxedFrameSender = Box<FrameSender>;
/// Boxed because it is larger than the receiver of a single connection.
type BoxedFrameReceiver = Box<FrameReceiver>;

endpoints! {
    /// Sends a bulk transfer, limited by a controller.
    WindowSender(BoxedWindowSender) = "window_sender",
    /// Receives and acknowledges a bulk transfer.
    WindowReceiver(WindowReceiver) = "window_receiver",
    /// Sends requests, with think times after the responses.
    Requester(BoxedRequester) = "requester",
    /// Receives requests and sends responses.
    Responder(BoxedResponder) = "responder",
    /// Sends over TCP.
    TcpSender(BoxedTcpSender) = "tcp_sender",
    /// Receives over TCP.
    TcpReceiver(TcpReceiver) = "tcp_receiver",
    /// Sends scheduled transfers over TCP.
    TransferSender(BoxedTransferSender) = "transfer_sender",
    /// Receives scheduled transfers over TCP.
    TransferReceiver(BoxedTransferReceiver) = "transfer_receiver",
    /// Either end of a conversation, in which messages alternate.
    Conversation(BoxedConversation) = "conversation",
    /// Either end of a connection between two neighbouring ranks.
    MpiExchange(BoxedMpiExchange) = "mpi_exchange",
    /// Either end of exchanges over FCoE.
    Fcoe(BoxedFcoe) = "fcoe",
    /// Sends messages over RDMA.
    RdmaSender(BoxedRdmaSender) = "rdma_sender",
    /// Receives messages over RDMA.
    RdmaReceiver(BoxedRdmaReceiver) = "rdma_receiver",
    /// Sends messages over Ultra Ethernet Transport.
    UetSender(BoxedUetSender) = "uet_sender",
    /// Receives messages over Ultra Ethernet Transport.
    UetReceiver(BoxedUetReceiver) = "uet_receiver",
    /// Sends messages as frames without a transport.
    FrameSender(BoxedFrameSender) = "frame_sender",
    /// Receives messages that arrive as frames without a transport.
    FrameReceiver(BoxedFrameReceiver) = "frame_receiver",
}

controllers! {
    /// No limit: sends whenever there is data.
    Unlimited(UnlimitedParams) = "unlimited",
    /// A constant window.
    FixedWindow(FixedWindowParams) = "fixed_window",
    /// A constant pacing rate.
    FixedRate(FixedRateParams) = "fixed_rate",
    /// Slow start and congestion avoidance.
    Aimd(AimdParams) = "aimd",
    /// A window that is a cubic function of time.
    Cubic(CubicParams) = "cubic",
    /// A window reduced in proportion to the share of marked bytes.
    Dctcp(DctcpParams) = "dctcp",
}

impl ControllerSpec {
    /// Returns this controller with a window larger than that of any other.
    #[must_use]
    pub fn grown(self) -> ControllerSpec {
        let wide = |begin: AimdParams| AimdParams { initial: units::Amount::Bytes(u64::MAX / 2), ..begin };
        match self {
            ControllerSpec::Aimd(begin) => ControllerSpec::Aimd(wide(begin)),
            ControllerSpec::Cubic(cubic) => {
                ControllerSpec::Cubic(CubicParams { begin: wide(cubic.begin), ..cubic })
            }
            ControllerSpec::Dctcp(dctcp) => {
                ControllerSpec::Dctcp(DctcpParams { begin: wide(dctcp.begin), ..dctcp })
            }
            other => other,
        }
    }
}

applications! {
    /// A transfer with a window and cumulative acknowledgements; full segments have the length `frame`.
    window: Window(WindowKeys => WindowSpec),
    /// Requests and responses; full segments of either have the length `frame`.
    request_response: RequestResponse(Box<RequestResponseKeys> => RequestResponseSpec),
    /// A transfer over TCP, or several; full segments have the length `frame`.
    tcp: Tcp(Box<TcpKeys> => Arc<TcpSpec>),
    /// Exchanges of messages over TCP or RDMA; full segments or packets are at most as long as `frame`.
    conversation: Conversation(Box<ConversationKeys> => Arc<ConversationSpec>),
    /// Steps of the ranks of MPI in a ring, over TCP or RDMA; full segments or packets are at most as long as `frame`.
    mpi_exchange: MpiExchange(Box<MpiExchangeKeys> => Arc<MpiExchangeSpec>),
    /// Exchanges of Fibre Channel over Ethernet (FCoE); full frames are at most as long as `frame`.
    fcoe: Fcoe(FcoeKeys => Arc<FcoeSpec>),
    /// Messages over RDMA (RoCEv2); full packets are at most as long as `frame`.
    rdma: Rdma(Box<RdmaKeys> => Arc<RdmaSpec>),
    /// Messages over Ultra Ethernet Transport (UET); full packets are at most as long as `frame`.
    uet: Uet(Box<UetKeys> => Arc<UetSpec>),
}

transports! {
    /// Keys of TCP for both directions of one connection, except `transfer`, `idle` and `reconnect`, and with `mpi_exchange` also except `handshake`. At most one transport. Default: where none is given, all those of the preset "rfc" (with `request_response` none: frames without a transport).
    tcp: Tcp(crate::TcpKeys => Arc<TcpSpec>, TcpDuplex),
    /// Keys of RDMA for both directions, with one queue pair per direction, except `message`, `queue_pairs` and `ack_priority`. A message is a SEND, or with verb = "write" a WRITE with immediate data. At most one transport. Default: none.
    rdma: Rdma(crate::RdmaKeys => Arc<RdmaSpec>, Box<RdmaDuplex>),
    /// Keys of Ultra Ethernet Transport for both directions, with one packet delivery context per direction, except `message` and `ack_priority`. At most one transport. Default: none.
    uet: Uet(crate::UetKeys => Arc<UetSpec>, Box<UetDuplex>),
}

impl Transport {
    /// Returns the parameters of the queue pairs, if the transport is RDMA.
    pub fn queue_pairs(&self) -> Option<&Arc<RdmaSpec>> {
        match self {
            Transport::Rdma(rdma) => Some(rdma),
            _ => None,
        }
    }
    /// Returns the parameters of the packet delivery contexts; `None` if the transport is not UET.
    pub fn uet(&self) -> Option<&UetSpec> {
        match self {
            Transport::Uet(uet) => Some(uet),
            _ => None,
        }
    }
}

impl Application {
    /// Keys that make a source respond to ECN marks.
    pub const MARKED: &str = "ecn = true in the source of a connection (window, request_response), ecn = \"rfc3168\" (tcp), control = \"dcqcn\" (rdma), or control = \"nscc\" (uet)";
}
