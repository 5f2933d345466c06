//! A frame goes onto the link of a port, and is counted.

use crate::run::state::event::{Kind, Queued};
use crate::run::state::index::PortIx;
use crate::run::state::port::Hooks;
use crate::run::state::world::Fabric;
use frame::Frame;
use units::Time;

impl Fabric {
    /// Puts a frame on the link; the transmitter is free.
    #[inline(always)]
    pub fn transmit(&mut self, egress: PortIx, frame: Frame, now: Time, windows: &mut Queued) {
        let port = &mut self.links.ports[egress];
        if port.hooks.has(Hooks::FAULTED) {
            return self.transmit_faulted(egress, frame, now, windows);
        }
        let hooks = port.hooks;
        self.put_on_link(egress, frame, now, windows);
        self.count_sent(egress, &frame, hooks, now);
    }

    /// Puts a frame on the link of a port that is free, and tells nobody.
    #[inline(always)]
    pub fn transmit_untold(&mut self, egress: PortIx, frame: Frame, now: Time, windows: &mut Queued) {
        self.put_on_link(egress, frame, now, windows);
        self.links.passed.count(egress, &frame);
    }

    /// The rest of [`Fabric::transmit`] at a port that faults may hit, or where frames get another priority or tag: they are
    /// counted by the priority of the queue that they leave.
    #[cold]
    #[inline(never)]
    pub(super) fn transmit_faulted(&mut self, egress: PortIx, frame: Frame, now: Time, windows: &mut Queued) {
        let frame = self.with_cn_tag(egress, frame);
        let back = !self.goes_to_far_end(&frame);
        let port = &mut self.links.ports[egress];
        let cold = &self.links.cold[egress];
        let arrival = port.transmit(Frame { priority: cold.new_priority(frame.priority), ..frame }, now);
        let arrival = self.faults.outcome_on_link(egress, port, cold, (arrival, back), now);
        let (hooks, broken) = (port.hooks, arrival.kind() == Kind::Broken);
        windows.send(arrival, || self.links.neighbours[egress]);
        self.probes.breaks = broken;
        self.count_sent(egress, &frame, hooks, now);
        self.probes.breaks = false;
        if broken {
            self.record_broken(egress);
        }
    }

    /// Puts a frame on the link of a port: its transmission begins then, when the transmitter is free.
    #[inline(always)]
    pub fn put_on_link(&mut self, egress: PortIx, frame: Frame, begins: Time, windows: &mut Queued) {
        let port = &mut self.links.ports[egress];
        let arrival = port.transmit(frame, begins);
        if port.hooks.has(Hooks::COUNTED_AHEAD) && self.routes.ends_there(frame.path, frame.route) {
            let Frame { created, path, bytes, priority, flags, .. } = frame;
            if self.count_ahead(egress, path, created, arrival.time, (bytes, priority, flags)) {
                return windows.count(1);
            }
        }
        windows.send(arrival, || self.links.neighbours[egress]);
    }

    /// A transmission has begun: counts it, and defers what may take the place of the frame.
    #[inline(always)]
    pub fn count_sent(&mut self, egress: PortIx, frame: &Frame, hooks: Hooks, now: Time) {
        self.links.passed.count(egress, frame);
        if hooks.has(Hooks::FEEDS.or(Hooks::RECORDED)) {
            if hooks.has(Hooks::RECORDED) {
                self.record_sent(egress, frame, now);
            }
            if hooks.has(Hooks::FEEDS) {
                self.feed(egress, frame);
            }
        }
    }
}
