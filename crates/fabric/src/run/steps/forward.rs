//! A frame wants to leave through a port: past all stages to the link, ahead of its time, or to its queue.

use crate::run::state::event::Queued;
use crate::run::state::index::PortIx;
use crate::run::state::port::Hooks;
use crate::run::state::stages::{When, asked};
use crate::run::state::world::Fabric;
use frame::Frame;
use units::Time;

/// Who is asked before a frame goes straight to the link.
const WHEN_FREE: Hooks = asked(When::FREE);

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
        windows: &mut Queued,
    ) {
        let port = &self.links.ports[egress];
        let hooks = port.hooks;
        let nothing_waits = port.busy_until <= now && port.waiting | port.stopped == 0;
        if nothing_waits && (!hooks.has(WHEN_FREE) || self.passes_quiet_manager(egress, &frame, now)) {
            self.transmit(egress, frame, now, windows);
        } else if hooks.has(Hooks::AHEAD) {
            if hooks.has(Hooks::MANAGED) {
                self.enqueue_managed_ahead(egress, frame, ingress, now, windows);
            } else {
                self.enqueue_ahead(egress, frame, ingress, now, windows);
            }
        } else {
            self.enqueue(egress, frame, ingress, now, windows);
        }
    }
}
