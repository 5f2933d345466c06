//! The description of a connection: plain, validated data, from which both endpoints are created.

use crate::application::{ApplicationSpec, Opening, Random};
use crate::controller::ControllerConfiguration;
use crate::conversation::ConversationSpec;
use crate::delay::Delay;
use crate::exchange::{MAX_OUTSTANDING, MAX_SEGMENTS, Message};
use crate::transport::TransportSpec;
use crate::{
    Application, ControllerSpec, Conversation, Endpoint, Fcoe, FcoeSpec, PathFacts, RdmaReceiver, RdmaSender,
    RdmaSpec, Requester, Responder, Scheduled, StaticWindow, TcpReceiver, TcpSender, TcpSpec, Train,
    Transport, Turn, UetSpec, WindowReceiver, WindowSender,
};
use rand_xoshiro::rand_core::Rng;
use std::sync::Arc;
use units::{Amount, Time};
use workload::Due;

/// The validated description of a connection between two hosts.
#[derive(Clone, Debug, PartialEq)]
pub struct ConnectionSpec {
    /// Time at which the connection begins.
    pub start: Time,
    /// Time from which no new data or request is sent; exchanges in progress complete. `None`: no end.
    pub stop: Option<Time>,
    /// The application that runs over it.
    pub application: Application,
}

/// A transfer clocked by acknowledgements.
#[derive(Clone, Debug, PartialEq)]
pub struct WindowSpec {
    /// Bytes to send; `None` if unlimited.
    pub bytes: Option<u64>,
    /// Length of a full segment, DA to FCS, above 0.
    pub segment: u16,
    /// Congestion control: window and rate.
    pub controller: ControllerSpec,
    /// Length of an acknowledgement, DA to FCS, above 0.
    pub ack_bytes: u16,
    /// Number of segments per acknowledgement, above 0.
    pub ack_every: u32,
    /// Maximum time that a segment waits for its acknowledgement.
    pub ack_delay: Time,
    /// Time without progress after which all segments in flight are retransmitted, above 0; `None` if they never are.
    pub timeout: Option<Time>,
    /// True if switches may mark segments.
    pub ecn_capable: bool,
}

/// Requests and responses.
#[derive(Clone, Debug, PartialEq)]
pub struct RequestResponseSpec {
    /// Bytes of a request, above 0.
    pub request: u64,
    /// Bytes of a response, above 0.
    pub response: u64,
    /// Length of a full segment of either, DA to FCS, above 0.
    pub segment: u16,
    /// Maximum number of outstanding requests, 1 to [`MAX_OUTSTANDING`].
    pub outstanding: u16,
    /// Total number of requests; `None` if unlimited.
    pub requests: Option<u64>,
    /// Time from a response to the next request of the same slot.
    pub think: Delay,
    /// Time from a request to its response.
    pub service: Delay,
    /// Time without progress after which a request is repeated, above 0; `None` if it never is.
    pub timeout: Option<Time>,
    /// True if switches may mark frames.
    pub ecn_capable: bool,
}

impl ConnectionSpec {
    /// Creates both endpoints: the one that opens the connection, and its peer. No other user should draw from the
    /// random number generators. `due` are the scheduled transfers in order of their starts, `facts` those of the path
    /// from each end.
    pub fn start(
        &self,
        due: &Arc<[Due]>,
        facts: [PathFacts; 2],
        random: [Random; 2],
    ) -> (Endpoint, Endpoint) {
        self.application.ends(Opening { start: self.start, stop: self.stop, due, facts, random })
    }
    /// Returns the transport that carries the application's messages; `None` if the application sends frames without a
    /// transport.
    pub fn transport(&self) -> Option<Transport> {
        match &self.application {
            Application::Tcp(spec) => Some(Transport::Tcp(spec.clone())),
            Application::Rdma(spec) => Some(Transport::Rdma(spec.clone())),
            Application::Uet(spec) => Some(Transport::Uet(spec.clone())),
            Application::Transfers(scheduled) => scheduled.transport(),
            Application::Conversation(spec) => Some(spec.transport.clone()),
            Application::MpiExchange(spec) => Some(spec.transport.clone()),
            _ => None,
        }
    }
    /// Returns the parameters of the queue pairs, if the transport is RDMA.
    pub fn queue_pairs(&self) -> Option<&RdmaSpec> {
        match &self.application {
            Application::Rdma(spec) => Some(spec),
            Application::Transfers(scheduled) => scheduled.queue_pairs().map(|pairs| &**pairs),
            Application::Conversation(spec) => spec.transport.queue_pairs().map(|pairs| &**pairs),
            Application::MpiExchange(spec) => spec.transport.queue_pairs().map(|pairs| &**pairs),
            _ => None,
        }
    }
    /// Returns true if the ends assign an entropy value to each frame.
    pub fn gives_entropy(&self) -> bool {
        let paths = self.queue_pairs().map(|pairs| &pairs.paths).or(self.uet().map(|uet| &uet.paths));
        paths.is_some_and(|paths| *paths != crate::PathSelectionKeys::Fixed)
            || self.uet().is_some_and(UetSpec::contexts_are_paths)
    }
    /// Returns true if consecutive packets of a connection may leave through different links of a NIC.
    pub fn stripes(&self) -> bool {
        self.uet().is_some_and(|uet| uet.paths.sprays())
    }
    /// Returns the parameters of the packet delivery contexts; `None` if the transport is not UET.
    pub fn uet(&self) -> Option<&UetSpec> {
        match &self.application {
            Application::Uet(spec) | Application::Transfers(Scheduled::Uet(spec)) => Some(spec),
            Application::Conversation(spec) => spec.transport.uet(),
            Application::MpiExchange(spec) => spec.transport.uet(),
            _ => None,
        }
    }
    /// Returns true if the messages are frames without a transport.
    pub fn is_frames(&self) -> bool {
        matches!(&self.application, Application::Transfers(Scheduled::Frames(_)))
    }
    /// Returns the parameters of FCoE, if the application is FCoE.
    pub fn fcoe(&self) -> Option<&FcoeSpec> {
        match &self.application {
            Application::Fcoe(spec) => Some(spec),
            _ => None,
        }
    }
    /// Returns the length of a full frame of the end that opens, and of a frame that answers it, DA to FCS.
    pub fn round_trip_frames(&self) -> (u16, u16) {
        self.application.round_trip_frames()
    }
    /// Returns the length of the shortest frame that either endpoint may send, DA to FCS. Determines the look-ahead.
    pub fn shortest_frame(&self) -> u16 {
        self.application.frames().0
    }
    /// Returns the length of the longest frame that either endpoint may send, DA to FCS. Determines the headroom.
    pub fn longest_frame(&self) -> u16 {
        self.application.frames().1
    }
    /// Validates the description; an error states the accepted values.
    ///
    /// # Errors
    /// A value is outside its range.
    pub fn check(&self) -> Result<(), String> {
        self.application.check()
    }
}

fn above_zero(what: &str, value: u64) -> Result<(), String> {
    if value > 0 { Ok(()) } else { Err(format!("{what} of 0; expected above 0")) }
}

impl ApplicationSpec for WindowSpec {
    fn ends(&self, Opening { start, stop, .. }: Opening<'_>) -> (Endpoint, Endpoint) {
        (
            Endpoint::WindowSender(Box::new(WindowSender::new(self, start, stop))),
            Endpoint::WindowReceiver(WindowReceiver::new(self)),
        )
    }
    fn frames(&self) -> (u16, u16) {
        let shortest = self.ack_bytes.min(frame::MIN_FRAME_BYTES).min(self.segment);
        (shortest, self.segment.max(self.ack_bytes))
    }
    fn turn(&self) -> Turn {
        let (out, back) = (Train::one(self.segment), Train::one(self.ack_bytes));
        Turn { out, back, answers: f64::from(self.ack_every) }
    }
    fn most_bps(&self, turn_secs: f64) -> f64 {
        match &self.controller {
            ControllerSpec::FixedWindow(window) => {
                let segments = match window.size {
                    Amount::Frames(segments) => segments,
                    Amount::Bytes(bytes) => bytes / u64::from(self.segment),
                };
                (segments * u64::from(self.segment) * 8) as f64 / turn_secs
            }
            ControllerSpec::FixedRate(pacing) => pacing.rate.bps() as f64,
            // Other controllers have no bound of their own and use all capacity that they find.
            _ => f64::INFINITY,
        }
    }
    fn check(&self) -> Result<(), String> {
        above_zero("a segment", self.segment.into())?;
        above_zero("an acknowledgement", self.ack_bytes.into())?;
        above_zero("an acknowledgement for every number", self.ack_every.into())?;
        above_zero("a timeout", self.timeout.map_or(1, Time::ps))?;
        self.controller.check(self.segment)
    }
    fn understands_marks(&self) -> bool {
        self.ecn_capable
    }
}

impl ApplicationSpec for RequestResponseSpec {
    fn ends(&self, Opening { start, stop, random: [near, far], .. }: Opening<'_>) -> (Endpoint, Endpoint) {
        (
            Endpoint::Requester(Box::new(Requester::new(self, start, stop, near))),
            Endpoint::Responder(Box::new(Responder::new(self, far))),
        )
    }
    fn frames(&self) -> (u16, u16) {
        (frame::MIN_FRAME_BYTES.min(self.segment), self.segment)
    }
    fn turn(&self) -> Turn {
        Turn { out: self.request_message().train(), back: self.response_message().train(), answers: 1.0 }
    }
    fn most_bps(&self, turn_secs: f64) -> f64 {
        let bits = f64::from(self.outstanding) * self.turn().out.bytes as f64 * 8.0;
        bits / (turn_secs + self.think.mean_secs() + self.service.mean_secs())
    }
    fn check(&self) -> Result<(), String> {
        above_zero("a segment", self.segment.into())?;
        above_zero("a request", self.request)?;
        above_zero("a response", self.response)?;
        above_zero("a number of outstanding requests", self.outstanding.into())?;
        above_zero("a timeout", self.timeout.map_or(1, Time::ps))?;
        if self.outstanding > MAX_OUTSTANDING {
            let outstanding = self.outstanding;
            return Err(format!("{outstanding} outstanding requests; expected at most {MAX_OUTSTANDING}"));
        }
        let segments = self.request.max(self.response).div_ceil(u64::from(self.segment));
        if segments > MAX_SEGMENTS {
            return Err(format!("a message of {segments} segments; expected at most {MAX_SEGMENTS}"));
        }
        Ok(())
    }
    fn understands_marks(&self) -> bool {
        self.ecn_capable
    }
}

impl ApplicationSpec for Arc<ConversationSpec> {
    fn ends(
        &self,
        Opening { start, stop, facts, random: [near, far], .. }: Opening<'_>,
    ) -> (Endpoint, Endpoint) {
        (
            Endpoint::Conversation(Box::new(Conversation::opener(self, (start, stop), facts[0], near))),
            Endpoint::Conversation(Box::new(Conversation::answerer(self, facts[1], far))),
        )
    }
    fn frames(&self) -> (u16, u16) {
        TransportSpec::frames(&self.transport)
    }
    fn turn(&self) -> Turn {
        let [out, back] = [true, false].map(|opener| self.train(opener));
        Turn { out, back, answers: 1.0 }
    }
    fn round_trip_frames(&self) -> (u16, u16) {
        TransportSpec::round_trip_frames(&self.transport)
    }
    fn most_bps(&self, turn_secs: f64) -> f64 {
        let bits = f64::from(self.outstanding) * self.turn().out.bytes as f64 * 8.0;
        bits / (turn_secs + self.think.mean_secs() + self.service.mean_secs())
    }
    fn check(&self) -> Result<(), String> {
        ConversationSpec::check(self)
    }
    fn understands_marks(&self) -> bool {
        TransportSpec::understands_marks(&self.transport)
    }
}

impl ApplicationSpec for Arc<FcoeSpec> {
    fn ends(&self, Opening { start, stop, random: [near, far], .. }: Opening<'_>) -> (Endpoint, Endpoint) {
        (
            Endpoint::Fcoe(Box::new(Fcoe::initiator(self, start, stop, near))),
            Endpoint::Fcoe(Box::new(Fcoe::target(self, far))),
        )
    }
    fn frames(&self) -> (u16, u16) {
        self.lengths()
    }
    fn turn(&self) -> Turn {
        Turn { out: self.train(true), back: self.train(false), answers: 1.0 }
    }
    fn most_bps(&self, turn_secs: f64) -> f64 {
        let bits = f64::from(self.outstanding) * self.turn().out.bytes as f64 * 8.0;
        bits / (turn_secs + self.think.mean_secs() + self.service.mean_secs())
    }
    fn check(&self) -> Result<(), String> {
        FcoeSpec::check(self)
    }
    fn understands_marks(&self) -> bool {
        false
    }
}

/// Bulk transfers over TCP.
impl ApplicationSpec for Arc<TcpSpec> {
    fn ends(&self, Opening { start, stop, random: [near, _], .. }: Opening<'_>) -> (Endpoint, Endpoint) {
        (
            Endpoint::TcpSender(Box::new(TcpSender::new(self, start, stop, near))),
            Endpoint::TcpReceiver(TcpReceiver::new(self)),
        )
    }
    fn frames(&self) -> (u16, u16) {
        let shortest = self.ack_frame_bytes(0).min(frame::MIN_FRAME_BYTES);
        (shortest, self.frame_bytes(self.segment).max(self.ack_frame_bytes(3)))
    }
    fn turn(&self) -> Turn {
        let (out, back) = (Train::one(self.frame_bytes(self.segment)), Train::one(self.ack_frame_bytes(0)));
        Turn { out, back, answers: f64::from(self.ack_every) }
    }
    /// Returns the bound of the receiver's window. The controller's window adapts to the path and is no bound.
    fn most_bps(&self, turn_secs: f64) -> f64 {
        let segments = self.window / u64::from(self.segment);
        let bits = segments as f64 * f64::from(self.frame_bytes(self.segment)) * 8.0;
        if self.window == u64::MAX { f64::INFINITY } else { bits / turn_secs }
    }
    fn check(&self) -> Result<(), String> {
        TcpSpec::check(self)
    }
    fn understands_marks(&self) -> bool {
        self.ecn != crate::EcnMode::Off
    }
}

/// Messages of a flow over RDMA, or scheduled transfers over RDMA.
impl ApplicationSpec for Arc<RdmaSpec> {
    fn ends(&self, opening: Opening<'_>) -> (Endpoint, Endpoint) {
        let Opening { start, stop, due, facts: [facts, _], random: [mut random, _] } = opening;
        let facts = self.facts(facts.rate, facts.base_rtt, facts.hops, facts.overhead);
        let sender = RdmaSender::new(self, due.clone(), facts, start, stop).seeded(random.next_u64());
        (
            Endpoint::RdmaSender(Box::new(sender)),
            Endpoint::RdmaReceiver(Box::new(
                RdmaReceiver::reading(self, due, start, stop).on_path(facts.base_rtt),
            )),
        )
    }
    fn frames(&self) -> (u16, u16) {
        (self.shortest_frame(), self.longest_frame())
    }
    fn turn(&self) -> Turn {
        let (out, back) = (Train::one(self.frame_bytes(self.mtu)), Train::one(self.ack_bytes()));
        Turn { out, back, answers: f64::from(self.ack_every) }
    }
    fn most_bps(&self, turn_secs: f64) -> f64 {
        match self.window {
            StaticWindow::Bytes(bytes) => (bytes * 8) as f64 / turn_secs,
            // These windows fill the path, so they do not limit the rate; a congestion control finds its own rate.
            StaticWindow::Unlimited | StaticWindow::Bdp => f64::INFINITY,
        }
    }
    fn check(&self) -> Result<(), String> {
        RdmaSpec::check(self)
    }
    fn understands_marks(&self) -> bool {
        RdmaSpec::understands_marks(self)
    }
}

impl RequestResponseSpec {
    pub(crate) fn request_message(&self) -> Message {
        Message::new(self.request, self.segment)
    }
    pub(crate) fn response_message(&self) -> Message {
        Message::new(self.response, self.segment)
    }
}
