//! A frame is at the end of its way: who takes it in, and what that means.

use crate::run::state::event::Queued;
use crate::run::state::index::PortIx;
use crate::run::state::releases::End;
use crate::run::state::world::Fabric;
use frame::{Frame, FrameKind};
use units::Time;

impl Fabric {
    /// A frame has come to its end: a host takes it in. Or to where it may be copied.
    #[inline(always)]
    pub(super) fn arrived(&mut self, ingress: PortIx, frame: Frame, now: Time, windows: &mut Queued) {
        if frame.route.is_tree() {
            return self.copy_on(ingress, frame, now, windows);
        }
        if self.probes.watches_arrivals {
            self.record_arrived(ingress, &frame, now);
        }
        if self.hosts.receiving.is_empty() {
            self.deliver(&frame, now, windows);
        } else {
            self.receive(ingress, frame, now, windows);
        }
    }

    #[inline(always)]
    pub fn deliver(&mut self, frame: &Frame, now: Time, windows: &mut Queued) {
        if !frame.flags.is_plain() {
            // A copy: whose address is told has to lie in memory.
            let frame = *frame;
            return self.deliver_otherwise(&frame, now, windows);
        }
        self.hosts.receiver(frame.path).count(frame, now);
        self.ledger.delivered += 1;
    }

    /// A frame that means something to whoever receives it.
    #[inline(never)]
    pub(super) fn deliver_otherwise(&mut self, frame: &Frame, now: Time, windows: &mut Queued) {
        if frame.flags.is_of_endpoint() {
            self.deliver_to_endpoint(frame, now, windows);
        } else {
            self.deliver_special(frame, now, windows);
        }
    }

    /// A frame that is not what endpoints send each other.
    #[inline(never)]
    pub(super) fn deliver_special(&mut self, frame: &Frame, now: Time, windows: &mut Queued) {
        if frame.flags.is_tagged() {
            return self.deliver_tagged(frame, now, windows);
        }
        if frame.flags.kind() == FrameKind::Part {
            return self.deliver_part(frame, now, windows);
        }
        self.deliver_message(frame, now, windows);
    }

    /// As `deliver_special`, with a tag, which its host takes.
    #[inline(never)]
    pub(super) fn deliver_tagged(&mut self, frame: &Frame, now: Time, windows: &mut Queued) {
        // A planned route leads beyond the end of its path by now.
        if self.routes.has_one_receiver(frame.path, frame.route) {
            self.is_here(frame);
        }
        match self.take_tag(frame, now, windows) {
            Some(untagged) => self.deliver(&untagged, now, windows),
            None => self.ledger.delivered += 1,
        }
    }

    /// A part of a transfer or of a stream.
    #[inline(never)]
    pub(super) fn deliver_part(&mut self, frame: &Frame, now: Time, windows: &mut Queued) {
        let receiver = self.hosts.receiver_of(frame.path);
        self.hosts.receivers[receiver].count(frame, now);
        self.ledger.delivered += 1;
        let is_last = !self.hosts.stream_counts.arrived(receiver, frame, now)
            && self.hosts.completions.arrived(receiver, frame.word, now);
        if is_last && !self.hosts.releases.is_empty() {
            self.transfer_ended(End::Receiver(receiver, frame.word), now, windows);
        }
    }
}
