//! Probes: what is only observed. Nothing that a frame meets depends on it.

use crate::run::state::index::{PortIx, QueueIx, ReceiverIx};
use crate::run::state::probes::ClassSeries;
use crate::run::state::world::Fabric;
use frame::{Frame, FrameKind, Heading};
use measure::Passage;
use units::Time;

impl Fabric {
    /// A frame goes to the link of a port, which is recorded; its last bit leaves when the port is free again.
    #[inline(never)]
    pub fn record_sent(&mut self, egress: PortIx, frame: &Frame, now: Time) {
        if !self.telemetry.is_empty() {
            self.write_telemetry(egress, frame, now);
        }
        let port = &self.links.ports[egress];
        let (end, took) = (port.busy_until, port.clock.span_ceil(u64::from(frame.bytes)));
        let passage = Passage { end, took, bits: u64::from(frame.bytes) * 8 };
        let probes = &mut self.probes;
        if probes.tells_classes_apart {
            let queue = port.queue(port.classes.class(frame.priority()));
            if let Some(ClassSeries::NodeLocal(class)) = probes.classes.get_mut(queue.at()) {
                class.pass(passage, &mut probes.grids);
            }
        }
        if let Some(link) = probes.links.get_mut(egress.at()) {
            link.carry(passage, !probes.breaks, &mut probes.grids);
        }
        if self.probes.frames.is_some() {
            self.log_sent(egress, frame, now);
        }
    }

    /// The frame sent last through a port will not get to the peer.
    #[cold]
    pub fn record_broken(&mut self, egress: PortIx) {
        let arrives = self.arrives_at_peer(egress);
        if let Some(log) = &mut self.probes.frames {
            log.take_back(egress, arrives);
        }
    }

    /// A frame has arrived at the end of its path, through a port.
    #[inline(never)]
    pub fn record_arrived(&mut self, ingress: PortIx, frame: &Frame, now: Time) {
        if let Some(overtaking) = &mut self.hosts.overtaking
            && let Heading::Destination(to) = frame.route.heading()
            && self.routes.source_node(frame.path) != Some(to)
        {
            overtaking.arrived(self.node_of[ingress], frame.path.0, frame.created);
        }
        if let Some(receiver) = self.receiver_of(frame) {
            let took = self.links.took_to_arrive(ingress, frame.bytes, now);
            let bits = u64::from(self.headers.bare_bytes(frame)) * 8;
            self.probes.arrives(receiver, Passage { end: now, took, bits });
        }
    }

    /// The manager of a queue has marked a frame.
    pub fn record_marked(&mut self, queue: QueueIx, now: Time) {
        if let Some(marks) = self.probes.marks.get_mut(queue.at()) {
            marks.add(Passage { end: now, took: Time::ZERO, bits: 1 });
        }
    }

    /// How a frame passes that is to arrive through a port, and the path it has, if a flow is there for it.
    pub fn arriving(&self, ingress: PortIx, frame: &Frame, arrives: Time) -> Option<(u32, Passage)> {
        if !self.is_of_flow(frame) {
            return None;
        }
        let took = self.links.took_to_arrive(ingress, frame.bytes, arrives);
        let bits = u64::from(self.headers.bare_bytes(frame)) * 8;
        Some((frame.path.at() as u32, Passage { end: arrives, took, bits }))
    }

    /// A host has read a frame, for so long.
    pub fn record_read(&mut self, frame: &Frame, now: Time, took: Time) {
        if let Some(receiver) = self.receiver_of(frame) {
            let bits = u64::from(self.headers.bare_bytes(frame)) * 8;
            if let Some(read) = self.probes.read.get_mut(receiver.at()) {
                read.pass(Passage { end: now, took, bits }, &mut self.probes.grids);
            }
        }
    }

    /// Whether a frame is one that a flow is there for: it counts where it comes to its end.
    pub fn is_of_flow(&self, frame: &Frame) -> bool {
        match frame.flags.kind() {
            FrameKind::Raw | FrameKind::Part => true,
            FrameKind::Data => match frame.route.heading() {
                Heading::Forward(_) | Heading::Tree(_) => true,
                Heading::Backward(_) => false,
                Heading::Destination(node) => self.routes.source_node(frame.path) != Some(node),
            },
            _ => false,
        }
    }
    /// Who counts such a frame when it has come to its end.
    fn receiver_of(&self, frame: &Frame) -> Option<ReceiverIx> {
        self.is_of_flow(frame).then(|| self.hosts.receiver_of(frame.path))
    }
}
