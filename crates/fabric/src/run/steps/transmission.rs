//! A frame goes onto the link of a port, and is counted.

use crate::run::state::event::{EventQueue, Kind};
use crate::run::state::faults::{meets, strikes};
use crate::run::state::index::PortIx;
use crate::run::state::port::PortFeatures;
use crate::run::state::world::Fabric;
use frame::{CONTROL_FRAME_BYTES, Frame};
use units::Time;

impl Fabric {
    /// Puts a frame on the link; the transmitter is free.
    #[inline(always)]
    pub fn transmit(&mut self, egress: PortIx, frame: Frame, now: Time, events: &mut EventQueue) {
        let port = &mut self.links.ports[egress];
        if port.features.has(PortFeatures::FAULTED) {
            return self.transmit_faulted(egress, frame, now, events);
        }
        let features = port.features;
        self.put_on_link(egress, frame, now, events);
        self.count_sent(egress, &frame, features, now);
    }

    /// Puts a frame on the link of a port that is free, and tells nobody.
    #[inline(always)]
    pub fn transmit_unfed(&mut self, egress: PortIx, frame: Frame, now: Time, events: &mut EventQueue) {
        self.put_on_link(egress, frame, now, events);
        self.links.passed.count(egress, &frame);
    }

    /// The rest of [`Fabric::transmit`] at a port that faults may hit, or where frames get another priority or tag: they are
    /// counted by the priority of the queue that they leave.
    #[cold]
    #[inline(never)]
    pub(super) fn transmit_faulted(
        &mut self,
        egress: PortIx,
        frame: Frame,
        now: Time,
        events: &mut EventQueue,
    ) {
        let frame = self.with_cn_tag(egress, frame);
        let back = !self.goes_to_far_end(&frame);
        let port = &mut self.links.ports[egress];
        let cold = &self.links.cold[egress];
        let arrival = port.transmit(frame.at(cold.new_priority(frame.priority())), now);
        let arrival = self.faults.outcome_on_link(egress, port, cold, (arrival, back), now);
        let (features, broken) = (port.features, arrival.kind() == Kind::Broken);
        events.send(arrival, || self.links.neighbours[egress]);
        self.probes.breaks = broken;
        self.count_sent(egress, &frame, features, now);
        self.probes.breaks = false;
        if broken {
            self.record_broken(egress);
        }
    }

    /// Puts a frame on the link of a port: its transmission begins then, when the transmitter is free.
    #[inline(always)]
    pub fn put_on_link(&mut self, egress: PortIx, frame: Frame, begins: Time, events: &mut EventQueue) {
        let port = &mut self.links.ports[egress];
        let arrival = port.transmit(frame, begins);
        if port.features.has(PortFeatures::COUNTED_AHEAD) && self.routes.ends_there(frame.path, frame.route) {
            let Frame { created, path, bytes, flags, .. } = frame;
            if self.count_ahead(egress, path, created, arrival.time, (bytes, flags)) {
                return events.count(1);
            }
        }
        events.send(arrival, || self.links.neighbours[egress]);
    }

    /// A transmission has begun: counts it, and defers what may take the place of the frame.
    #[inline(always)]
    pub fn count_sent(&mut self, egress: PortIx, frame: &Frame, features: PortFeatures, now: Time) {
        self.links.passed.count(egress, frame);
        if features.has(PortFeatures::FEEDS.or(PortFeatures::RECORDED)) {
            if features.has(PortFeatures::RECORDED) {
                self.record_sent(egress, frame, now);
            }
            if features.has(PortFeatures::FEEDS) {
                self.feed(egress, frame);
            }
        }
    }

    /// Whether a pause frame that is sent from `began` on, to act at `acts`, gets lost.
    #[cold]
    pub fn pause_is_lost(&mut self, egress: PortIx, began: Time, acts: Time) -> bool {
        let schedule = self.faults.schedules.get_mut(egress.at()).and_then(Option::as_deref_mut);
        let Some(schedule) = schedule else { return false };
        let (ended, delay) = (self.links.ports[egress].busy_until, self.links.cold[egress].delay);
        // A pause that is on its way to its effect when the link goes down is forgotten like one in force.
        schedule.loss_cause(began, ended, delay, acts).is_some()
            || meets(&schedule.outages, began, acts)
            || strikes(&schedule.pause_losses, began, 1, &mut schedule.pauses)
            || strikes(&schedule.bit_errors, began, u64::from(CONTROL_FRAME_BYTES) * 8, &mut schedule.bits)
    }
}
