//! Flows whose endpoints answer each other: `window` and `request_response`.

use super::receivers::Pair;
use super::topology::Fabric;
use super::{Context, flows, sizes};
use crate::model::{DelayTable, DelayText, Flow, Model, RateCounts, SourceText};
use crate::place::Place;
use fabric::spec::{FaultSpec, FlowSpec, NodeSpec, Role, Spec};
use transport::{
    Application, ConnectionSpec, ControllerConfiguration, ControllerSpec, Delay, FixedRateParams,
    FixedWindowParams, MAX_OUTSTANDING, MAX_SEGMENTS, RequestResponseSpec, UnlimitedParams, WindowSpec,
};
use units::{Amount, BitRate, Bytes, Never, Or, Time, Unlimited};
use workload::{Destinations, FrameSizes};

/// Acknowledgements are never rarer.
const MOST_SEGMENTS_AN_ACK: u64 = 1024;

/// The connection of a flow, if its source is one. A connection with something wrong is reported and left out.
pub fn lower(
    flow: &Flow,
    sizes: Option<&FrameSizes>,
    end: Time,
    at: &Place,
    context: &mut Context<'_>,
) -> Option<ConnectionSpec> {
    let name = name(&flow.source)?;
    no_other_keys(flow, name, at, context);
    let segment = match sizes? {
        FrameSizes::Fixed(bytes) => *bytes,
        _ => {
            context.error(
                &at.key("frame"),
                format!("frames of several lengths with {name}"),
                "expected one size like \"1522 B\": the length of a full segment",
            );
            return None;
        }
    };
    let stop = flow.stop.filter(|&stop| stop < end);
    let application = application(flow, segment, &at.key("source").key(name), context)?;
    Some(ConnectionSpec { start: flow.start, stop, application })
}

/// Whether each sender is a host with one destination, which only the pairs tell.
pub fn check_pairs(flow: &Flow, pairs: &[Pair], at: &Place, fabric: &Fabric, context: &mut Context<'_>) {
    let Some(name) = name(&flow.source) else { return };
    if let Some(pair) = pairs.iter().find(|pair| !fabric.is_host(pair.from)) {
        context.error(
            &at.key("from"),
            format!("{name} at the switch \"{}\"", fabric.name(pair.from)),
            "endpoints are at hosts; expected the name of a host",
        );
    }
    if pairs.iter().any(|pair| !matches!(pair.to, Destinations::Fixed(_))) {
        context.error(
            &at.key("to"),
            format!("several destinations with {name}"),
            "a connection has one peer; expected one host, or a permutation",
        );
    }
}

/// Warns of connections that wait for ever if a frame is lost, where a receiving host or a fault can lose one.
pub fn check_losses(model: &Model, spec: &Spec, context: &mut Context<'_>) {
    let loses = |fault: &FaultSpec| {
        !matches!(fault, FaultSpec::LinkUp { .. } | FaultSpec::LinkRate { .. } | FaultSpec::PauseLoss { .. })
    };
    let fault = spec.faults.iter().any(loses);
    // Those of the fabric follow each other like those of the text.
    let mut made = spec.flows.iter().peekable();
    for (index, flow) in model.flows.iter().enumerate() {
        let mut full = None;
        while let Some(made) = made.next_if(|made| is_of(made, flow)) {
            // Both ends receive: segments, and what answers them.
            let ends = made.source.destinations.nodes().into_iter().chain([made.from]);
            let mut nodes = ends.map(|end| &spec.nodes[end.at()]);
            full = full.or_else(|| nodes.find(|node| loses_what_arrives(node, flow.priority)));
        }
        let (Some(name), true) = (name(&flow.source), never_again(&flow.source)) else { continue };
        let key = Place::of("flows").index(index).key("source").key(name).key("timeout");
        let why = match full {
            Some(node) => format!("\"{}\" loses what its receive buffer does not hold", node.name),
            None if fault => "a fault can lose a frame".to_string(),
            None => continue,
        };
        context.warn(
            &key,
            format!("{why}, and a connection without a timeout waits for it for ever"),
            "expected a time above the longest round trip, like timeout = \"1 ms\"",
        );
    }
}

/// Whether a host has a limited receive buffer and no flow control that protects this priority.
fn loses_what_arrives(node: &NodeSpec, priority: u64) -> bool {
    let Role::Host(host) = &node.role else { return false };
    let kept = host.flow_control.as_ref().map_or(0, super::pauses::priorities);
    host.receive.as_ref().is_some_and(|receive| receive.buffer.is_some()) && kept >> priority & 1 == 0
}

fn never_again(source: &SourceText) -> bool {
    match source {
        SourceText::Window { timeout, .. } | SourceText::RequestResponse { timeout, .. } => {
            timeout.value().is_none()
        }
        _ => false,
    }
}

/// Whether a flow of the fabric was made from this one of the text: it has its name, or its name and that of the sender.
fn is_of(made: &FlowSpec, flow: &Flow) -> bool {
    let rest = made.name.strip_prefix(flow.name.as_str());
    rest.is_some_and(|rest| rest.is_empty() || rest.starts_with('['))
}

fn name(source: &SourceText) -> Option<&'static str> {
    match source {
        SourceText::Window { .. } => Some("window"),
        SourceText::RequestResponse { .. } => Some("request_response"),
        _ => None,
    }
}

/// Keys of sources that push frames.
fn no_other_keys(flow: &Flow, name: &str, at: &Place, context: &mut Context<'_>) {
    if !flow.script.is_empty() {
        context.error(
            &at.key("script"),
            format!("a script with {name}"),
            "a connection has start and stop; expected no script",
        );
    }
    if flow.rate_counts == RateCounts::Wire {
        context.error(
            &at.key("rate_counts"),
            format!("rate_counts = \"wire\" with {name}"),
            "the rate of pacing counts bits of frames; expected \"frame\"",
        );
    }
}

fn application(flow: &Flow, segment: u16, at: &Place, context: &mut Context<'_>) -> Option<Application> {
    match &flow.source {
        SourceText::Window { size, rate, ack, ack_every, ack_delay, timeout, ecn } => {
            let controller = controller(size.value(), rate, segment, at, context);
            let ack_bytes = sizes::size(*ack, &at.key("ack"), context);
            let ack_every =
                count(*ack_every, MOST_SEGMENTS_AN_ACK, &at.key("ack_every"), "segments", context);
            let timeout = timeout_of(timeout, at, context);
            let (controller, ack_every) = (controller?, ack_every?);
            let spec = WindowSpec {
                bytes: flow.limit.value().map(|limit| limit.get()),
                segment,
                controller,
                ack_bytes: ack_bytes?,
                ack_every,
                ack_delay: *ack_delay,
                timeout: timeout?,
                ecn_capable: *ecn,
            };
            warn_of_waits(&spec, at, context);
            Some(Application::Window(spec))
        }
        SourceText::RequestResponse { request, response, outstanding, think, service, timeout, ecn } => {
            let request = message(*request, segment, &at.key("request"), "request", context);
            let response = message(*response, segment, &at.key("response"), "response", context);
            let outstanding = count(
                *outstanding,
                u64::from(MAX_OUTSTANDING),
                &at.key("outstanding"),
                "outstanding requests",
                context,
            );
            let think = delay(think, &at.key("think"), context);
            let service = delay(service, &at.key("service"), context);
            let timeout = timeout_of(timeout, at, context);
            let request = request?;
            Some(Application::RequestResponse(RequestResponseSpec {
                request,
                response: response?,
                segment,
                outstanding: outstanding? as u16,
                requests: requests(flow, request, at, context),
                think,
                service,
                timeout: timeout?,
                ecn_capable: *ecn,
            }))
        }
        _ => None,
    }
}

fn controller(
    size: Option<Amount>,
    rate: &Or<BitRate, Unlimited>,
    segment: u16,
    at: &Place,
    context: &mut Context<'_>,
) -> Option<ControllerSpec> {
    match (size, rate) {
        (None, Or::Word(_)) => Some(ControllerSpec::Unlimited(UnlimitedParams)),
        (Some(size), Or::Word(_)) => {
            let params = FixedWindowParams { size };
            if let Err(why) = params.check(segment) {
                context.error(
                    &at.key("size"),
                    why,
                    format!("expected at least \"{segment} B\" or \"1 frame\""),
                );
                return None;
            }
            Some(ControllerSpec::FixedWindow(params))
        }
        (None, Or::Value(rate)) => {
            let rate = flows::positive(*rate, &at.key("rate"), context);
            Some(ControllerSpec::FixedRate(FixedRateParams { rate }))
        }
        (Some(_), Or::Value(_)) => {
            context.error(
                &at.key("rate"),
                "a window with a size and a rate",
                "expected one of them; the other is \"unlimited\"",
            );
            None
        }
    }
}

/// A window that ends before an acknowledgement is due waits for the delay every time.
fn warn_of_waits(spec: &WindowSpec, at: &Place, context: &mut Context<'_>) {
    let ControllerSpec::FixedWindow(window) = &spec.controller else { return };
    let segments = match window.size {
        Amount::Bytes(bytes) => bytes / u64::from(spec.segment),
        Amount::Frames(segments) => segments,
    };
    if segments < u64::from(spec.ack_every) {
        context.warn(
            &at.key("ack_every"),
            format!("an acknowledgement for {} segments, but the window holds {segments}", spec.ack_every),
            format!("each window waits for ack_delay ({}); expected at most {segments}", spec.ack_delay),
        );
    }
}

fn count(value: u64, most: u64, at: &Place, what: &str, context: &mut Context<'_>) -> Option<u32> {
    if (1..=most).contains(&value) {
        return u32::try_from(value).ok();
    }
    context.error(at, format!("{value} {what}"), format!("expected 1 to {most}"));
    None
}

fn message(size: Bytes, segment: u16, at: &Place, what: &str, context: &mut Context<'_>) -> Option<u64> {
    let (bytes, most) = (size.get(), MAX_SEGMENTS * u64::from(segment));
    if (1..=most).contains(&bytes) {
        return Some(bytes);
    }
    context.error(
        at,
        format!("a {what} of {size}"),
        format!("expected 1 B to {most} B: {MAX_SEGMENTS} segments of the length of frame"),
    );
    None
}

fn requests(flow: &Flow, request: u64, at: &Place, context: &mut Context<'_>) -> Option<u64> {
    let limit = flow.limit.value()?.get();
    if limit > 0 && limit < request {
        context.error(
            &at.key("request"),
            format!("a request of {request} B, but a limit of {limit} B"),
            "nothing would be sent; expected a limit of one request at least",
        );
    }
    Some(limit / request)
}

fn delay(text: &DelayText, at: &Place, context: &mut Context<'_>) -> Delay {
    match text {
        DelayText::Fixed(time) => Delay::Fixed(*time),
        DelayText::Table(DelayTable::Exponential(mean)) => {
            if *mean == Time::ZERO {
                context.error(
                    &at.key("exponential"),
                    "a mean of 0",
                    "expected a time above 0, like \"10 us\"",
                );
            }
            Delay::Exponential(*mean)
        }
    }
}

/// The timeout, where `Some(None)` is none at all.
fn timeout_of(timeout: &Or<Time, Never>, at: &Place, context: &mut Context<'_>) -> Option<Option<Time>> {
    let timeout = timeout.value();
    if timeout == Some(Time::ZERO) {
        context.error(
            &at.key("timeout"),
            "a timeout of 0",
            "expected a time above the longest round trip, or \"never\"",
        );
        return None;
    }
    Some(timeout)
}
