//! Queue managers: connects the state machines of `queueing` to the queues of a port.
//!
//! A manager observes every frame that arrives at its queue and every frame that leaves it, including frames that find
//! their port idle. While it needs no updates, the queue counts these frames instead. The manager is consulted before
//! limits are checked, so that it also observes frames that a limit refuses.

use crate::run::state::admitted::AtEgress;
use crate::run::state::crossbar::Crossbar;
use crate::run::state::deferred::Deferred;
use crate::run::state::headers::Carried;
use crate::run::state::index::PortIx;
use crate::run::state::losses::Cause;
use crate::run::state::managed::Managed;
use crate::run::state::port::PortFeatures;
use crate::run::state::stages::{StageId, When, called_at};
use crate::run::state::view::NodeView;
use crate::run::steps::probes;
use crate::run::steps::replies;
use crate::run::steps::stages;
use frame::{CONTROL_FRAME_BYTES, Ecn, Flags, Frame, FrameKind, Notice, Sampled, TrafficClass};
use queueing::{Fill, FrameFacts, Measures, Moment, QueueManager, Quiet, Report, Verdict};
use rand_xoshiro::rand_core::Rng;
use units::Time;

/// Stages consulted at an idle port, other than the queue manager.
pub(super) const BESIDE_MANAGER: PortFeatures = called_at(When::FREE).without(PortFeatures::MANAGED);

/// If the manager of its queue need not observe an arriving frame, counts the frame and returns true. The manager
/// observes frames with a tag, and returned tags if any manager writes into them.
#[inline(always)]
pub fn needs_no_update(
    here: &mut NodeView,
    egress: PortIx,
    class: TrafficClass,
    frame: &Frame,
    now: Time,
) -> bool {
    let links = &mut here.links;
    let observed = frame.flags.is_wide()
        && (frame.flags.is_tagged() || links.stamps_returned && frame.flags.kind() == FrameKind::Tag);
    !observed && links.passed.of_mut(egress, class.at()).needs_no_update(now, frame.bytes)
}

/// Returns true if a frame that finds its port idle may bypass the queue manager, which needs no update, and no other
/// stage is consulted.
#[inline(always)]
pub fn passes_quiet_manager(here: &mut NodeView, egress: PortIx, frame: &Frame, now: Time) -> bool {
    let port = &here.links.ports[egress];
    if port.features.has(BESIDE_MANAGER) {
        return false;
    }
    // This port has no channels, of which there may be more than priorities.
    let class = port.classes.class_of_priority(frame.priority());
    needs_no_update(here, egress, class, frame, now)
}

/// Returns true if the manager need not observe the departure of this frame, which is no longer in its queue.
#[inline(always)]
fn leaves_deferred(here: &NodeView, egress: PortIx, class: TrafficClass, frame: &Frame, now: Time) -> bool {
    (now < here.links.passed.of(egress, class.at()).heard_from() || leaves_others(here, egress, class))
        && !frame.flags.is_tagged()
}

/// Returns true if the manager observes only departures that empty its queue, and frames are left in the queue.
#[inline(always)]
fn leaves_others(here: &NodeView, egress: PortIx, class: TrafficClass) -> bool {
    here.links.cold[egress].notes_emptying_only
        && here.buffers.queues[here.links.ports[egress].queue(class)].occupancy.frames > 0
}

/// Passes a frame that arrives at the queue of a class to its manager, which may mark it, drop it, or send a message to
/// its source. A message leaves before the frame continues.
#[inline(always)]
pub fn enter_manager(here: &mut NodeView, at: &mut AtEgress, now: Time) -> stages::Verdict {
    // At a crossbar, it has already been stamped at its input.
    if let Some(ingress) = at.ingress.filter(|_| at.frame.flags.kind() == FrameKind::Tag)
        && !here.links.ports[at.egress].features.has(PortFeatures::CROSSBAR)
    {
        stamp_returned(here, ingress, &at.frame);
    }
    match manager_verdict(here, at.egress, at.class, &mut at.frame, Moment::Enqueue, now) {
        Verdict::Drop => stages::Verdict::Drop(Cause::Stage(StageId::of(PortFeatures::MANAGED))),
        Verdict::Notify(report) if notify_source(here, at.egress, at.class, &at.frame, report, now) => {
            stages::Verdict::Notify
        }
        Verdict::Notify(_) | Verdict::Pass | Verdict::Mark => stages::Verdict::Pass,
    }
}

/// Continues with a frame after a stage of its port, as soon as the deferred message of that stage has left.
pub fn defer_behind(here: &mut NodeView, stage: PortFeatures, at: &AtEgress) {
    let &AtEgress { frame, egress, class, ingress, .. } = at;
    let frame = here.deferred.keep(frame);
    here.deferred.push(Deferred::Behind { stage: stage.place(), egress, class, ingress, frame });
}

/// Passes a frame that leaves the queue of a class for the link to its manager, which may mark it.
#[inline(always)]
pub fn manager_on_dequeue(
    here: &mut NodeView,
    egress: PortIx,
    class: TrafficClass,
    mut frame: Frame,
    now: Time,
) -> Frame {
    if leaves_deferred(here, egress, class, &frame, now) {
        return frame;
    }
    if let Verdict::Notify(report) = manager_verdict(here, egress, class, &mut frame, Moment::Dequeue, now) {
        notify_source(here, egress, class, &frame, report, now);
    }
    frame
}

/// Notifies a manager of a frame that has left the queue of a class at a port that sends ahead, as of that time.
#[inline]
pub fn manager_on_departure(
    here: &mut NodeView,
    egress: PortIx,
    class: TrafficClass,
    mut frame: Frame,
    then: Time,
) {
    if leaves_deferred(here, egress, class, &frame, then) {
        return;
    }
    let verdict = manager_verdict(here, egress, class, &mut frame, Moment::Dequeue, then);
    debug_assert_eq!(verdict, Verdict::Pass, "the manager only records departures");
}

/// Updates a returned tag that has arrived through a port, by the congestion points that its frame met there.
pub fn stamp_returned(here: &mut NodeView, port: PortIx, frame: &Frame) {
    if frame.flags.kind() != FrameKind::Tag || !here.links.stamps_returned {
        return;
    }
    if here.links.managers.of_port(&here.links.ports[port]).next().is_none() {
        return;
    }
    let held = bytes_at(here, port);
    let Some(tag) = here.headers.returned(frame) else { return };
    let port = &here.links.ports[port];
    // Managers of schemes without such tags leave it unchanged.
    here.links.managers.for_port(port, |managed| {
        *tag = managed.manager.stamp_returned(*tag, || held);
    });
}

/// Returns the bytes queued at a port, including those at the inputs of a crossbar.
fn bytes_at(here: &NodeView, port: PortIx) -> u64 {
    let bar = here.nodes[here.node_of[port]].architecture.crossbar();
    bar.map_or_else(|| here.buffers.bytes_at(&here.links.ports[port]), |bar| bar.held_for_port(port).bytes)
}

/// Returns the occupancy that a manager of several queues measures, without a frame of `frame` bytes.
#[inline(never)]
fn fill_of_several(
    here: &NodeView,
    measures: Measures,
    egress: PortIx,
    class: TrafficClass,
    frame: u16,
) -> Fill {
    let at = |port| &here.links.ports[port];
    let queue = here.buffers.queues[at(egress).queue(class)].occupancy;
    let bar = here.nodes[here.node_of[egress]].architecture.crossbar();
    match (measures, bar) {
        (Measures::Queue, _) | (Measures::Inputs, None) => Fill { queue, scope: 0 },
        (Measures::Inputs, Some(bar)) => {
            let mut queue = bar.held_for(egress, class);
            queue.remove(frame);
            Fill { queue, scope: 0 }
        }
        (Measures::Port, bar) => {
            let queue = here.buffers.occupancy_at(at(egress));
            let beside = |bar: &Crossbar| bar.held_for_port(egress).bytes.saturating_sub(frame.into());
            Fill { queue, scope: bar.map_or(queue.bytes, beside) }
        }
        (Measures::Switch, None) => {
            let ports = here.ports_beside(egress);
            Fill { queue, scope: ports.map(|port| here.buffers.bytes_at(at(port))).sum() }
        }
        (Measures::Switch, Some(bar)) => {
            Fill { queue, scope: bar.held_in_all().bytes.saturating_sub(frame.into()) }
        }
    }
}

/// Returns the verdict of a queue's manager on a frame; a mark is applied immediately.
#[inline(never)]
fn manager_verdict(
    here: &mut NodeView,
    egress: PortIx,
    class: TrafficClass,
    frame: &mut Frame,
    moment: Moment,
    now: Time,
) -> Verdict {
    let queue = here.links.ports[egress].queue(class);
    let held = if frame.flags.is_tagged() { bytes_at(here, egress) } else { 0 };
    let Some(mut managed) = here.links.managers.of_mut(queue) else {
        here.links.passed.of_mut(egress, class.at()).be_quiet(Quiet::ALWAYS);
        return Verdict::Pass;
    };
    let mut fill = Fill { queue: here.buffers.queues[queue].occupancy, scope: 0 };
    if managed.measures != Measures::Queue {
        let measures = managed.measures;
        fill = fill_of_several(here, measures, egress, class, frame.bytes);
        let Some(again) = here.links.managers.of_mut(queue) else { return Verdict::Pass };
        managed = again;
    }
    let passed = here.links.passed.of_mut(egress, class.at());
    let Managed { manager, random, counts, by_class, .. } = managed;
    let counts = by_class.as_mut().map_or(counts, |by_class| &mut by_class[class.at()]);
    let tag = here.headers.tag_of(frame);
    let ecn_capable = frame.flags.ecn() != Ecn::NotCapable;
    let color = here.routes.color(frame.path);
    let facts = FrameFacts { color, bytes: frame.bytes, ecn_capable, tag: tag.as_deref().copied() };
    let (verdict, quiet) =
        manager.observe(moment, passed.deferred(), (now, &fill, facts), &mut || random.next_u64());
    passed.be_quiet(quiet);
    if let Some(tag) = tag {
        *tag = manager.stamp(moment, *tag, || held);
    }
    match verdict {
        Verdict::Mark if frame.flags.mark() => {
            counts.marks += 1;
            probes::record_marked(here, queue, now);
        }
        Verdict::Notify(_) => counts.messages += 1,
        Verdict::Mark | Verdict::Pass | Verdict::Drop => {}
    }
    verdict
}

/// Sends a congestion message with this report to the source of a frame, once the current step returns. Returns false
/// if none is sent: to a source without a recorded return path, and in response to messages and returned tags.
fn notify_source(
    here: &mut NodeView,
    egress: PortIx,
    class: TrafficClass,
    frame: &Frame,
    report: Report,
    now: Time,
) -> bool {
    let queue = here.links.ports[egress].queue(class);
    let Some(managed) = here.links.managers.of(queue) else { return false };
    let (priority, point) = (managed.message_priority, managed.point);
    let sampled = here.headers.sampled(frame, managed.header_octets);
    let mut message = Frame {
        path: frame.path,
        bytes: message_bytes(&sampled),
        flags: Flags::new(FrameKind::Cnm, Ecn::NotCapable).at(priority.unwrap_or(frame.priority())),
        ..Frame::default()
    };
    let node = here.node_of[egress];
    let answers = !matches!(frame.flags.kind(), FrameKind::Cnm | FrameKind::Tag);
    if answers {
        let Report { feedback, offset, delta } = report;
        let notice = Notice { point, feedback, offset, delta, sampled };
        here.headers.attach(&mut message, Carried::Notice(notice));
    }
    if answers && let Some((back, message)) = replies::answer(here, node, frame, message, now) {
        let message = here.deferred.keep(message);
        here.deferred.push(Deferred::Originate(back, message));
        return true;
    }
    here.headers.release(&message);
    if let Some(managed) = here.links.managers.of_mut(queue) {
        let counts = &mut managed.counts;
        let counts = managed.by_class.as_mut().map_or(counts, |by_class| &mut by_class[class.at()]);
        counts.messages -= 1;
    }
    false
}

/// Length of a congestion message (IEEE 802.1Q clause 33): addresses, VLAN tag, CN-TAG if any, EtherType, 24 octets,
/// the sampled octets of the frame, FCS; padded.
pub fn message_bytes(sampled: &Sampled) -> u16 {
    let cn_tag = if sampled.flow.is_some() { u16::from(queueing::CN_TAG_BYTES) } else { 0 };
    (12 + 4 + cn_tag + 2 + 24 + u16::from(sampled.octets) + 4).max(CONTROL_FRAME_BYTES)
}
