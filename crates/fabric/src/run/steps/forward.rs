//! A frame at its egress port: directly to the link, ahead of its time, or to its queue.

use crate::run::state::event::EventQueue;
use crate::run::state::index::PortIx;
use crate::run::state::port::PortFeatures;
use crate::run::state::stages::{When, called_at};
use crate::run::state::view::NodeView;
use crate::run::steps::ahead::queues;
use crate::run::steps::crossbar::crossings;
use crate::run::steps::egress;
use crate::run::steps::managed;
use crate::run::steps::managed::BESIDE_MANAGER;
use crate::run::steps::transmission;
use frame::Frame;
use units::Time;

/// Stages consulted before a frame goes directly to the link.
const WHEN_FREE: PortFeatures = called_at(When::FREE);

/// Stages consulted when a frame arrives at a busy port, other than the ingress counter and the queue manager.
const WHEN_BUSY: PortFeatures = called_at(When::BUSY).without(PortFeatures::MANAGED);

/// Forwards a frame to `egress`; `ingress` is its ingress port, `None` if it originates here.
#[inline(always)]
pub fn forward(
    here: &mut NodeView,
    egress: PortIx,
    frame: Frame,
    ingress: Option<PortIx>,
    now: Time,
    events: &mut EventQueue,
) {
    let port = &here.links.ports[egress];
    let features = port.features;
    let nothing_waits = port.busy_until <= now && port.waiting | port.stopped == 0;
    if nothing_waits && (!features.has(WHEN_FREE) || managed::passes_quiet_manager(here, egress, &frame, now))
    {
        transmission::transmit(here, egress, frame, now, events);
    } else if features.has(PortFeatures::AHEAD) {
        if features.has(PortFeatures::MANAGED) {
            queues::enqueue_managed_ahead(here, egress, frame, ingress, now, events);
        } else {
            queues::enqueue_ahead(here, egress, frame, ingress, now, events);
        }
    } else {
        enqueue(here, egress, frame, ingress, now, events);
    }
}

/// Sends a frame originated by the node through one of its ports.
pub fn originate(here: &mut NodeView, egress: PortIx, frame: Frame, now: Time, events: &mut EventQueue) {
    here.ledger.made += 1;
    forward(here, egress, frame, None, now, events);
}

/// Passes a frame that cannot bypass the queue of its port to that queue, or to the crossbar in front of it.
pub fn enqueue(
    here: &mut NodeView,
    egress: PortIx,
    frame: Frame,
    ingress: Option<PortIx>,
    now: Time,
    events: &mut EventQueue,
) {
    let port = &here.links.ports[egress];
    let (features, class) = (port.features, port.classes.class(frame.priority()));
    if port.busy_until > now
        && !features.has(WHEN_BUSY)
        && (!features.has(PortFeatures::MANAGED)
            || managed::needs_no_update(here, egress, class, &frame, now))
    {
        return egress::wait_for_link(here, egress, class, &frame, ingress, now, events);
    }
    let port = &here.links.ports[egress];
    let is_free = port.busy_until <= now && port.waiting | port.stopped == 0;
    if is_free && !port.features.has(BESIDE_MANAGER) {
        return egress::pass_manager(here, egress, class, frame, ingress, now, events);
    }
    if port.features.has(PortFeatures::CROSSBAR) {
        return crossings::enter_crossbar(here, egress, class, frame, ingress, now, events);
    }
    egress::enqueue_at_output(here, egress, class, frame, ingress, now, events);
}
