//! Lost frames: why, where, and what a loss means.
//!
//! Every loss is counted by port, class, path, part of the flow and cause, and in the ledger. A limit that loses a frame of a
//! lossless class breaks a promise, whoever made the frame; a fault of the scenario does not. No pause holds back what a
//! switch sends itself, and no headroom is meant for it (IEEE 802.1Q, clause 36, speaks of what comes in through a port):
//! messages belong to a priority that is not lossless, or need room.

use crate::run::state::index::PortIx;
use crate::run::state::ledger::Part;
use crate::run::state::losses::Cause;
use crate::run::state::node::Node;
use crate::run::state::outcome::Failure;
use crate::run::state::world::Fabric;
use crate::spec::OnLosslessDrop;
use frame::{Frame, PortId, TrafficClass};
use units::Time;

impl Fabric {
    /// Counts a lost frame at a port. It is no more.
    pub fn count_loss(&mut self, port: PortIx, class: TrafficClass, frame: &Frame, cause: Cause) {
        let part = if self.is_of_flow(frame) { Part::Sent } else { Part::Beside };
        self.ledger.count_loss(PortId(self.numbering.port(port)), class, frame, part, cause);
        self.headers.release(frame);
        self.links.cold[port].counts.drops += 1;
    }

    /// A frame that should have waited, or waits, at a port is lost.
    #[cold]
    pub fn lose(
        &mut self,
        egress: PortIx,
        class: TrafficClass,
        frame: &Frame,
        ingress: Option<PortIx>,
        cause: Cause,
        now: Time,
    ) {
        self.log_drop(egress, false, frame, cause, now);
        self.count_loss(egress, class, frame, cause);
        self.buffers.queues[self.links.ports[egress].queue(class)].drops += 1;
        let node = &self.nodes[self.node_of[egress]];
        if node.is_host {
            self.nic_refused(egress, class, frame);
            return;
        }
        if self.is_promised(node, frame, ingress) && !cause.is_fault() {
            self.violate(egress, class, frame, ingress, cause, now);
        }
    }

    /// Whether a node promises not to lose a frame that came in through a port.
    pub fn is_promised(&self, node: &Node, frame: &Frame, ingress: Option<PortIx>) -> bool {
        let pauses = ingress.and_then(|port| self.links.cold[port].control.pauses());
        pauses.map_or(node.lossless, |pauses| pauses.obeys) >> frame.priority().0 & 1 != 0
    }

    /// A limit has lost a frame of a lossless class.
    pub fn violate(
        &mut self,
        port: PortIx,
        class: TrafficClass,
        frame: &Frame,
        ingress: Option<PortIx>,
        cause: Cause,
        now: Time,
    ) {
        self.links.cold[port].counts.violations += 1;
        if self.ledger.on_lossless_drop == OnLosslessDrop::Stop {
            self.ledger.fail(Failure::lossless_drop(self, (port, class), frame, ingress, cause, now));
        }
    }

    /// Whether a frame of this class is dropped because of a storm; if so it is counted there.
    #[cold]
    pub fn dropped_in_storm(&mut self, port: PortIx, class: TrafficClass, bytes: u16) -> bool {
        let Some(watch) = self.links.cold[port].watch.as_mut().filter(|watch| watch.drops(class)) else {
            return false;
        };
        watch.count(class, bytes);
        true
    }
}
