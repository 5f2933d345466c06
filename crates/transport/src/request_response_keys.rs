//! The keys of requests and responses, and their validation.

use crate::application::ApplicationKeys;
use crate::exchange::{MAX_OUTSTANDING, MAX_SEGMENTS};
use crate::rdma::Post;
use crate::settings::{count, timeout};
use crate::transport::{Need, TransportSpec, Unit};
use crate::{Application, ConversationSpec, Delay, RequestResponseSpec, with_transports};
use keys::{Remark, Unused};
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use std::sync::Arc;
use units::{Bytes, Never, Or, Time};

with_transports! {
/// Requests and responses; full segments of either have the length `frame`.
#[derive(Clone, Debug, PartialEq, Deserialize, Serialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct RequestResponseKeys {
    /// Bytes of a request, divided into segments. A size with unit, 1 B to 65536 segments. Required.
    pub request: Bytes,
    /// Bytes of a response, divided into segments. A size with unit, 1 B to 65536 segments. Required.
    pub response: Bytes,
    /// Number of requests in progress at the same time. A count, 1 to 256. Default: 1.
    #[serde(default = "one")]
    #[schemars(range(min = 1, max = 256))]
    pub outstanding: u64,
    /// Think time of a slot, from a response to the next request: a time with unit, or a table `exponential`. Default: "0 s".
    #[serde(default)]
    pub think: Delay,
    /// Service time, from a request to its response at the server: a time with unit, or a table `exponential`. Requests are processed concurrently; over TCP and RDMA, which preserve the order of messages, responses are sent in the order of their requests. Default: "0 s".
    #[serde(default)]
    pub service: Delay,
    /// Time without progress after which a request is repeated; over TCP and RDMA the transport recovers losses instead. A time with unit, above the longest exchange without a loss; or "never": a lost frame stops its slot for good. Default: "never" (a lossless fabric).
    #[serde(default)]
    pub timeout: Or<Time, Never>,
    /// If true, frames are ECN-capable, and switches may mark them. Over TCP and RDMA the keys of the transport apply. Default: false.
    #[serde(default)]
    pub ecn: bool,
}
}

fn one() -> u64 {
    1
}

impl ApplicationKeys for Box<RequestResponseKeys> {
    type Spec = Application;

    fn waits_for_ever(&self) -> bool {
        !self.has_transport() && self.timeout.value().is_none()
    }
    fn jitter_key(&self) -> Option<&'static str> {
        self.transports().jitter_key()
    }
    /// Returns the application. `limit` is the total number of request bytes.
    fn spec(&self, limit: Option<Bytes>, segment: u16) -> Result<(Application, Vec<Remark>), Vec<Remark>> {
        let checks = [
            message("request", self.request, segment),
            message("response", self.response, segment),
            count("outstanding", self.outstanding, MAX_OUTSTANDING.into(), "outstanding requests")
                .map(|_| ()),
            self.think.check("think"),
            self.service.check("service"),
            timeout(&self.timeout).map(|_| ()),
            self.check_limit(limit),
        ];
        let mut wrong: Vec<Remark> = checks.into_iter().filter_map(Result::err).collect();
        if self.has_transport() {
            let over = self.over(limit, segment).map_err(|all| wrong.extend(all));
            let Ok((spec, warnings)) = over else { return Err(wrong) };
            return if wrong.is_empty() { Ok((spec.into(), warnings)) } else { Err(wrong) };
        }
        if !wrong.is_empty() {
            return Err(wrong);
        }
        let spec = RequestResponseSpec {
            request: self.request.get(),
            response: self.response.get(),
            segment,
            outstanding: self.outstanding as u16,
            requests: limit.map(|limit| limit.get() / self.request.get()),
            think: self.think,
            service: self.service,
            timeout: self.timeout.value(),
            ecn_capable: self.ecn,
        };
        Ok((spec.into(), Vec::new()))
    }
}

impl RequestResponseKeys {
    fn has_transport(&self) -> bool {
        self.transports().is_any()
    }

    /// Returns requests and responses as the messages of a conversation.
    fn over(
        &self,
        limit: Option<Bytes>,
        frame: u16,
    ) -> Result<(Arc<ConversationSpec>, Vec<Remark>), Vec<Remark>> {
        let need = Need { frame, place: "with request_response", one_sided: false };
        let (transport, mut warnings) = self.transports().lower(&need)?;
        let messages = [self.request, self.response].map(Bytes::get);
        let post = |operation| messages.map(|bytes| Box::from([Post { operation, bytes }]));
        let posts = match transport.unit() {
            Unit::Bytes(_) => [].into(),
            Unit::Messages { operation, .. } => post(operation).into(),
        };
        let frames = "frames without a transport";
        warnings.extend(
            Unused::of(self, &RequestResponseKeys { timeout: Or::word(), ecn: false, ..self.clone() })
                .unless(false, frames, &["timeout", "ecn"])
                .remarks(),
        );
        let spec = ConversationSpec {
            messages: messages.into(),
            posts,
            markers: false,
            outstanding: self.outstanding as u32,
            exchanges: limit.map(|limit| limit.get() / self.request.get()),
            think: self.think,
            service: self.service,
            transport,
        };
        Ok((spec.into(), warnings))
    }

    fn check_limit(&self, limit: Option<Bytes>) -> Result<(), Remark> {
        let (request, limit) = (self.request.get(), limit.map_or(0, Bytes::get));
        if limit == 0 || limit >= request {
            return Ok(());
        }
        let message = format!("a request of {request} B, but a limit of {limit} B");
        Err(Remark::about(
            "request",
            message,
            "nothing would be sent; expected a limit of one request at least",
        ))
    }
}

fn message(key: &str, size: Bytes, segment: u16) -> Result<(), Remark> {
    let most = MAX_SEGMENTS * u64::from(segment);
    if (1..=most).contains(&size.get()) {
        return Ok(());
    }
    let help = format!("expected 1 B to {most} B: {MAX_SEGMENTS} segments of the length of frame");
    Err(Remark::about(key, format!("a {key} of {size}"), help))
}
