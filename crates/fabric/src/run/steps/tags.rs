//! Tags and notices: rate limiters add tags to frames, receivers remove them, and congestion points write them and send
//! notices.
//!
//! A tag is stored next to the payload of the frame, and adds to its length until the receiver removes it. A
//! rate-discovery tag then returns to the limiter as a control frame, along the links of the path, if the host returns
//! tags. The levels measured along a path also return, in frames of their own: a probe is a control frame that contains
//! only a tag. Its receiver answers it, and then as often as the probe requests. Other tags have no effect after the
//! receiver.

use crate::run::state::event::{Event, EventQueue, News};
use crate::run::state::headers::Carried;
use crate::run::state::index::{NodeIx, PortIx};
use crate::run::state::tags::CONTROL;
use crate::run::state::view::NodeView;
use crate::run::steps::forward;
use crate::run::steps::replies;
use frame::{Frame, Heading, LevelsOn, PRIORITIES, PathId, PathNews, Priority, Route, Tag};
use queueing::Feedback;
use units::{Amount, BitRate, Time};

/// Removes the tag of a frame at the end of its path; returns the frame without the tag, or `None` if it was only a
/// tag. Sends back a tag that a limiter waits for.
pub fn take_tag(here: &mut NodeView, frame: &Frame, now: Time, events: &mut EventQueue) -> Option<Frame> {
    let (bare, tag) = here.headers.untag(frame);
    match tag {
        Some(Tag::Path(news)) => {
            answer_probe(here, frame, news, now, events);
            return None;
        }
        Some(tag @ Tag::Rate(_)) => return_tag(here, frame, tag, now, events),
        Some(Tag::Limited(_) | Tag::Flow(_)) | None => {}
    }
    Some(bare)
}

fn return_tag(here: &mut NodeView, frame: &Frame, tag: Tag, now: Time, events: &mut EventQueue) {
    let Some((node, _)) = end_of(here, frame) else { return };
    let Some(priority) = here.nodes[node].returns_tags else { return };
    let mut back = Frame { path: frame.path, ..CONTROL }.at(priority);
    here.headers.attach(&mut back, Carried::Returned(tag));
    match way_back(here, node, frame, back, now) {
        Some((egress, back)) => forward::originate(here, egress, back, now, events),
        None => {
            here.headers.release(&back);
        }
    }
}

/// Returns the port through which the receiver of a frame sends `back` to its sender, and `back` with its route; `None`
/// if there is none.
pub fn way_back(
    here: &mut NodeView,
    node: NodeIx,
    frame: &Frame,
    back: Frame,
    now: Time,
) -> Option<(PortIx, Frame)> {
    if let Heading::Backward(_) = frame.route.heading()
        && let Some((egress, route)) = replies::way_from(here, frame.path.0, None)
    {
        // From the start of the path to its far end.
        return Some((egress, Frame { route, created: now, ..back }));
    }
    replies::answer(here, node, frame, back, now)
}

/// Sends a path probe of a limiter, ahead of its next frame.
pub fn send_probe(
    here: &mut NodeView,
    path: PathId,
    (egress, route): (PortIx, Route),
    priority: Priority,
    news: PathNews,
    now: Time,
    events: &mut EventQueue,
) {
    let mut probe = Frame { path, route, created: now, ..CONTROL }.at(priority);
    here.headers.tag(&mut probe, Tag::Path(news), 0);
    forward::originate(here, egress, probe, now, events);
}

/// Handles a probe at the end of its path: returns its result, and schedules later reports if the probe requests them.
fn answer_probe(here: &mut NodeView, probe: &Frame, news: PathNews, now: Time, events: &mut EventQueue) {
    let Some((_, port)) = end_of(here, probe) else { return };
    let level = received_level(here, port);
    let own = if level > news.level { PathNews { level, at: None, ..news } } else { news };
    return_tag(here, probe, Tag::Path(own), now, events);
    schedule_news(port, probe, news.every, news.more, now, events);
}

/// Schedules the following reports. Their parameters are stored in the event, not at the receiver.
fn schedule_news(port: PortIx, probe: &Frame, every: Time, more: u16, now: Time, events: &mut EventQueue) {
    if more > 0 {
        let (path, route) = (probe.path, probe.route);
        events.push(Event::news(now + every, port, News { path, route, every, times: more }));
    }
}

/// Sends a scheduled report about a path.
pub fn news_due(here: &mut NodeView, port: PortIx, due: News, now: Time, events: &mut EventQueue) {
    let frame = Frame { path: due.path, route: due.route, ..CONTROL };
    let news = PathNews {
        probed_at: None,
        hops: 0,
        slowest: BitRate::from_bps(0),
        level: received_level(here, port),
        at: None,
        levels: LevelsOn::WayBack,
        more: 0,
        every: due.every,
    };
    return_tag(here, &frame, Tag::Path(news), now, events);
    schedule_news(port, &frame, due.every, due.times - 1, now, events);
}

/// Returns the occupancy of the fullest receive buffer of a host's port, in thousandths.
fn received_level(here: &NodeView, port: PortIx) -> u32 {
    let levels = (0..PRIORITIES as u8).map(|priority| {
        let (held, limit) = here.received_so_far(port, Priority(priority));
        let limit = limit.map_or(0, |limit| if let Amount::Bytes(bytes) = limit { bytes } else { 0 });
        (held.bytes * 1000).checked_div(limit).unwrap_or(0) as u32
    });
    levels.max().unwrap_or(0)
}

/// Returns the host at the end of a frame's path, and its port there.
fn end_of(here: &NodeView, frame: &Frame) -> Option<(NodeIx, PortIx)> {
    match frame.route.heading() {
        Heading::Forward(next) | Heading::Tree(next) => {
            let (port, _) = here.routes.step_back(next.checked_sub(1)?)?;
            Some((here.node_of[port], port))
        }
        Heading::Destination(to) => {
            let node = here.numbering.node_here(to);
            Some((node, here.nodes[node].first_port))
        }
        Heading::Backward(_) => {
            let port = here.routes.first_port(frame.path.0);
            Some((here.node_of[port], port))
        }
    }
}

/// Returns the feedback of a congestion message or a returned tag, and releases the frame.
pub fn feedback_of(here: &mut NodeView, frame: &Frame) -> Option<Feedback> {
    match here.headers.release(frame)? {
        Carried::Notice(notice) => Some(Feedback::Message(notice)),
        Carried::Returned(tag) => Some(Feedback::Returned(tag)),
        Carried::Header(_) | Carried::Tagged { .. } | Carried::Stamp(..) => None,
    }
}
