//! A frame at its egress port: past all stages to the link, ahead of its time, or to its queue.

use crate::run::state::event::EventQueue;
use crate::run::state::index::PortIx;
use crate::run::state::port::PortFeatures;
use crate::run::state::stages::{When, asked};
use crate::run::state::world::Fabric;
use crate::run::steps::managed::BESIDE_MANAGER;
use frame::Frame;
use units::Time;

/// Who is asked before a frame goes straight to the link.
const WHEN_FREE: PortFeatures = asked(When::FREE);

/// Whom a frame may meet that comes to a busy port, beside the counter of where it came in.
const WHEN_BUSY: PortFeatures = asked(When::BUSY);

impl Fabric {
    /// A frame wants to leave through `egress`; `ingress` is the port it came in through, `None` if it begins its way
    /// here.
    #[inline(always)]
    pub fn forward(
        &mut self,
        egress: PortIx,
        frame: Frame,
        ingress: Option<PortIx>,
        now: Time,
        events: &mut EventQueue,
    ) {
        let port = &self.links.ports[egress];
        let features = port.features;
        let nothing_waits = port.busy_until <= now && port.waiting | port.stopped == 0;
        if nothing_waits && (!features.has(WHEN_FREE) || self.passes_quiet_manager(egress, &frame, now)) {
            self.transmit(egress, frame, now, events);
        } else if features.has(PortFeatures::AHEAD) {
            if features.has(PortFeatures::MANAGED) {
                self.enqueue_managed_ahead(egress, frame, ingress, now, events);
            } else {
                self.enqueue_ahead(egress, frame, ingress, now, events);
            }
        } else {
            self.enqueue(egress, frame, ingress, now, events);
        }
    }

    /// A node sends a frame of its own through one of its ports.
    pub fn originate(&mut self, egress: PortIx, frame: Frame, now: Time, events: &mut EventQueue) {
        self.ledger.made += 1;
        self.forward(egress, frame, None, now, events);
    }

    /// A frame comes to a port that it cannot go past: to its queue, or to the crossbar before that.
    pub fn enqueue(
        &mut self,
        egress: PortIx,
        frame: Frame,
        ingress: Option<PortIx>,
        now: Time,
        events: &mut EventQueue,
    ) {
        let port = &self.links.ports[egress];
        let class = port.classes.class(frame.priority());
        if !port.features.has(WHEN_BUSY) && port.busy_until > now {
            return self.wait_for_link(egress, class, &frame, ingress, now, events);
        }
        let is_free = port.busy_until <= now && port.waiting | port.stopped == 0;
        if is_free && !port.features.has(BESIDE_MANAGER) {
            return self.pass_manager(egress, class, frame, ingress, now, events);
        }
        if port.features.has(PortFeatures::CROSSBAR) {
            return self.enter_crossbar(egress, class, frame, ingress, now, events);
        }
        self.enqueue_at_output(egress, class, frame, ingress, now, events);
    }
}
