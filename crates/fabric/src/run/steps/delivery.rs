//! Delivery of a frame at the end of its path, by its kind.

use crate::run::state::event::EventQueue;
use crate::run::state::releases::End;
use crate::run::state::world::Fabric;
use frame::{Frame, FrameKind};
use units::Time;

impl Fabric {
    #[inline(always)]
    pub fn deliver(&mut self, frame: &Frame, now: Time, events: &mut EventQueue) {
        if !frame.flags.is_plain() {
            // A copy: whose address is told has to lie in memory.
            let frame = *frame;
            return self.deliver_slow(&frame, now, events);
        }
        self.hosts.receiver(frame.path).count(frame, now);
        self.ledger.delivered += 1;
    }

    /// A frame that means something to whoever receives it.
    #[inline(never)]
    pub(super) fn deliver_slow(&mut self, frame: &Frame, now: Time, events: &mut EventQueue) {
        if frame.flags.is_of_endpoint() {
            self.deliver_to_endpoint(frame, now, events);
        } else {
            self.deliver_special(frame, now, events);
        }
    }

    /// A frame that is not what endpoints send each other.
    #[inline(never)]
    pub(super) fn deliver_special(&mut self, frame: &Frame, now: Time, events: &mut EventQueue) {
        if frame.flags.is_tagged() {
            return self.deliver_tagged(frame, now, events);
        }
        if frame.flags.kind() == FrameKind::Part {
            return self.deliver_part(frame, now, events);
        }
        self.deliver_message(frame, now, events);
    }

    /// As `deliver_special`, with a tag, which its host takes.
    #[inline(never)]
    pub(super) fn deliver_tagged(&mut self, frame: &Frame, now: Time, events: &mut EventQueue) {
        // A planned route leads beyond the end of its path by now.
        if self.routes.has_one_receiver(frame.path, frame.route) {
            self.is_here(frame);
        }
        match self.take_tag(frame, now, events) {
            Some(untagged) => self.deliver(&untagged, now, events),
            None => self.ledger.delivered += 1,
        }
    }

    /// A part of a transfer or of a stream.
    #[inline(never)]
    pub(super) fn deliver_part(&mut self, frame: &Frame, now: Time, events: &mut EventQueue) {
        let receiver = self.hosts.receiver_of(frame.path);
        self.hosts.receivers[receiver].count(frame, now);
        self.ledger.delivered += 1;
        let is_last = !self.hosts.stream_counts.arrived(receiver, frame, now)
            && self.hosts.completions.arrived(receiver, frame.word, now);
        if is_last && !self.hosts.releases.is_empty() {
            self.transfer_ended(End::Receiver(receiver, frame.word), now, events);
        }
    }
}
