//! What a connection is: plain, checked data, from which both of its endpoints are made.

use crate::controller::ControllerConfiguration;
use crate::conversation::ConversationSpec;
use crate::delay::Delay;
use crate::exchange::{MAX_OUTSTANDING, MAX_SEGMENTS, Message};
use crate::{
    ControllerSpec, Conversation, EcnMode, Endpoint, Requester, Responder, TcpReceiver, TcpSender, TcpSpec,
    TransferReceiver, TransferSender, WindowReceiver, WindowSender,
};
use rand_xoshiro::Xoshiro256PlusPlus;
use std::sync::Arc;
use units::Time;
use workload::Due;

/// A connection between two hosts, checked.
#[derive(Clone, Debug, PartialEq)]
pub struct ConnectionSpec {
    /// When it begins.
    pub start: Time,
    /// From here on nothing new is sent or asked; what has begun is finished. `None`: no end.
    pub stop: Option<Time>,
    /// What runs over it.
    pub application: Application,
}

/// What runs over a connection.
#[derive(Clone, Debug, PartialEq)]
pub enum Application {
    /// A transfer that is clocked by acknowledgements.
    Window(WindowSpec),
    /// Requests and responses.
    RequestResponse(RequestResponseSpec),
    /// Transfers over TCP, one after the other.
    Tcp(Arc<TcpSpec>),
    /// Scheduled transfers over TCP.
    Transfers(Arc<TcpSpec>),
    /// Messages in turn over TCP.
    Conversation(Arc<ConversationSpec>),
}

impl Application {
    /// Whether switches may mark its frames.
    pub fn is_ecn_capable(&self) -> bool {
        match self {
            Application::Window(spec) => spec.ecn_capable,
            Application::RequestResponse(spec) => spec.ecn_capable,
            Application::Tcp(spec) | Application::Transfers(spec) => spec.ecn != EcnMode::Off,
            Application::Conversation(spec) => spec.tcp.ecn != EcnMode::Off,
        }
    }
}

/// A transfer that is clocked by acknowledgements.
#[derive(Clone, Debug, PartialEq)]
pub struct WindowSpec {
    /// Bytes to be sent; `None`: without end.
    pub bytes: Option<u64>,
    /// Length of a full segment, DA to FCS, above 0.
    pub segment: u16,
    /// How much may be in flight, and how fast it goes out.
    pub controller: ControllerSpec,
    /// Length of an acknowledgement, DA to FCS, above 0.
    pub ack_bytes: u16,
    /// An acknowledgement for each so many segments, above 0.
    pub ack_every: u32,
    /// How long a segment waits for its acknowledgement at most.
    pub ack_delay: Time,
    /// Time without progress after which everything in flight is sent again, above 0; `None`: never.
    pub timeout: Option<Time>,
    /// Whether switches may mark segments.
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
    /// Requests at a time, 1 to [`MAX_OUTSTANDING`].
    pub outstanding: u16,
    /// Requests in all; `None`: without end.
    pub requests: Option<u64>,
    /// From a response to the next request of the same slot.
    pub think: Delay,
    /// From a request to its response.
    pub service: Delay,
    /// Time without progress after which a request is repeated, above 0; `None`: never.
    pub timeout: Option<Time>,
    /// Whether switches may mark frames.
    pub ecn_capable: bool,
}

impl ConnectionSpec {
    /// Both endpoints: the one that opens the connection, and its peer. The random streams should belong to
    /// one endpoint each. `due`: the scheduled transfers, in order of their starts.
    pub fn start(
        &self,
        due: &Arc<[Due]>,
        near: Xoshiro256PlusPlus,
        far: Xoshiro256PlusPlus,
    ) -> (Endpoint, Endpoint) {
        match &self.application {
            Application::Window(spec) => (
                Endpoint::WindowSender(WindowSender::new(spec, self.start, self.stop)),
                Endpoint::WindowReceiver(WindowReceiver::new(spec)),
            ),
            Application::RequestResponse(spec) => (
                Endpoint::Requester(Requester::new(spec, self.start, self.stop, near)),
                Endpoint::Responder(Responder::new(spec, far)),
            ),
            Application::Tcp(spec) => (
                Endpoint::TcpSender(Box::new(TcpSender::new(spec, self.start, self.stop, near))),
                Endpoint::TcpReceiver(TcpReceiver::new(spec)),
            ),
            Application::Transfers(spec) => (
                Endpoint::TransferSender(Box::new(TransferSender::new(spec, due.clone(), near))),
                Endpoint::TransferReceiver(TransferReceiver::new(spec, due.len())),
            ),
            Application::Conversation(spec) => (
                Endpoint::Conversation(Box::new(Conversation::opener(spec, self.start, self.stop, near))),
                Endpoint::Conversation(Box::new(Conversation::answerer(spec, far))),
            ),
        }
    }

    /// The shortest frame that either endpoint may send, DA to FCS: what the look-ahead has to know.
    pub fn shortest_frame(&self) -> u16 {
        match &self.application {
            Application::Window(spec) => spec.ack_bytes.min(frame::MIN_FRAME_BYTES).min(spec.segment),
            Application::RequestResponse(spec) => frame::MIN_FRAME_BYTES.min(spec.segment),
            Application::Tcp(spec) | Application::Transfers(spec) => spec.shortest_frame(),
            Application::Conversation(spec) => spec.tcp.shortest_frame(),
        }
    }

    /// The longest frame that either endpoint may send, DA to FCS: what headroom has to know.
    pub fn longest_frame(&self) -> u16 {
        match &self.application {
            Application::Window(spec) => spec.segment.max(spec.ack_bytes),
            Application::RequestResponse(spec) => spec.segment,
            Application::Tcp(spec) | Application::Transfers(spec) => spec.longest_frame(),
            Application::Conversation(spec) => spec.tcp.longest_frame(),
        }
    }

    /// What cannot be meant, and what would be accepted.
    pub fn check(&self) -> Result<(), String> {
        let above_zero = |what: &str, value: u64| {
            if value > 0 { Ok(()) } else { Err(format!("{what} of 0; expected above 0")) }
        };
        match &self.application {
            Application::Tcp(spec) | Application::Transfers(spec) => spec.check(),
            Application::Conversation(spec) => spec.check(),
            Application::Window(spec) => {
                above_zero("a segment", spec.segment.into())?;
                above_zero("an acknowledgement", spec.ack_bytes.into())?;
                above_zero("an acknowledgement for every number", spec.ack_every.into())?;
                above_zero("a timeout", spec.timeout.map_or(1, Time::ps))?;
                spec.controller.check(spec.segment)
            }
            Application::RequestResponse(spec) => {
                above_zero("a segment", spec.segment.into())?;
                above_zero("a request", spec.request)?;
                above_zero("a response", spec.response)?;
                above_zero("a number of outstanding requests", spec.outstanding.into())?;
                above_zero("a timeout", spec.timeout.map_or(1, Time::ps))?;
                if spec.outstanding > MAX_OUTSTANDING {
                    let outstanding = spec.outstanding;
                    return Err(format!(
                        "{outstanding} outstanding requests; expected at most {MAX_OUTSTANDING}"
                    ));
                }
                let segments = spec.request.max(spec.response).div_ceil(u64::from(spec.segment));
                if segments > MAX_SEGMENTS {
                    return Err(format!("a message of {segments} segments; expected at most {MAX_SEGMENTS}"));
                }
                Ok(())
            }
        }
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
