//! Tables in which a node finds what is its own.

use crate::run::state::event::Event;
#[cfg(debug_assertions)]
use crate::run::state::index::NodeIx;
use crate::run::state::index::PortIx;
use crate::run::state::world::Fabric;
#[cfg(debug_assertions)]
use std::ops::Range;

impl Fabric {
    /// An event of a node runs: its tables show what is the node's, until [`Fabric::unrestrict`].
    #[inline(always)]
    pub fn restrict_to(&mut self, event: &Event) {
        #[cfg(debug_assertions)]
        {
            let node = self.node_of[event.place()];
            let ports = self.ports_of(node);
            let first = |port: usize| self.links.ports.raw.get(port).map(|port| port.first_queue.at());
            let queues = first(ports.start).unwrap_or(self.buffers.queues.len())
                ..first(ports.end).unwrap_or(self.buffers.queues.len());
            self.show(Some(node.at()..node.at() + 1), Some(ports), Some(queues));
        }
        let _ = event;
    }

    /// No event runs any more.
    #[inline(always)]
    pub fn unrestrict(&mut self) {
        #[cfg(debug_assertions)]
        self.show(None, None, None);
    }

    #[cfg(debug_assertions)]
    fn ports_of(&self, node: NodeIx) -> Range<usize> {
        let first = |node: usize| self.nodes.raw.get(node).map(|node| node.first_port.at());
        let end = first(node.at() + 1).unwrap_or(self.links.len());
        first(node.at()).unwrap_or(end)..end
    }

    #[cfg(debug_assertions)]
    fn show(
        &mut self,
        node: Option<Range<usize>>,
        ports: Option<Range<usize>>,
        queues: Option<Range<usize>>,
    ) {
        self.nodes.look_only_at(node);
        self.links.ports.look_only_at(ports.clone());
        self.links.cold.look_only_at(ports.clone());
        self.links.nics.look_only_at(ports.clone());
        self.ingress.look_only_at(ports);
        self.buffers.queues.look_only_at(queues);
    }

    /// The ports of the node that this is a port of.
    pub fn ports_beside(&self, port: PortIx) -> impl Iterator<Item = PortIx> + Clone + use<> {
        let node = self.node_of[port];
        let first = self.nodes[node].first_port;
        let behind = (first.number()..self.links.len() as u32).map(PortIx::new);
        let own = behind.take_while(|&port| self.node_of[port] == node).count() as u32;
        (0..own).map(move |nth| first.plus(nth))
    }
}
