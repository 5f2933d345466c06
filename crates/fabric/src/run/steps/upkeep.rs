//! What is asked of a fabric while nothing is running: what it holds, whether it holds together, and to begin measuring.

use crate::run::state::crossbar::Crossbar;
use crate::run::state::index::NodeIx;
use crate::run::state::ingress::IngressPort;
use crate::run::state::links::Crossings;
use crate::run::state::node::Node;
use crate::run::state::pause_sender::PauseSender;
use crate::run::state::telemetry::PortTelemetry;
use crate::run::state::world::Fabric;
use frame::Frame;
use units::Time;

impl Fabric {
    /// How many frames are here and on no link, by counts alone.
    pub fn frames_kept(&self) -> u64 {
        let crossing: usize = self.crossbars().map(|bar| bar.frames_underway().count()).sum();
        self.buffers.pool.used() + self.hosts.frames_at_work() + crossing as u64
    }

    /// Frames that wait here, at ports, in crossbars and to be taken in by hosts.
    pub fn frames_at_rest(&self) -> impl Iterator<Item = &Frame> {
        let receiving = self.hosts.receiving.iter().flatten();
        let crossing = self.crossbars().flat_map(|bar| {
            let waiting = bar.lists().iter().flat_map(|list| self.buffers.pool.iter(list));
            waiting.map(|waiting| &waiting.frame).chain(bar.frames_underway())
        });
        let received = receiving.flat_map(|it| it.all_frames(&self.buffers.pool));
        self.buffers.all_frames().chain(crossing).chain(received)
    }

    /// What must hold whenever nothing is running: asked after building and at the end of a run.
    pub fn check(&self) {
        self.links.check();
        let crossing: u64 = self.crossbars().map(Crossbar::frames_waiting).sum();
        self.buffers.check(self.hosts.frames_in_pool() + crossing);
        self.routes.check();
        self.hosts.check();
        self.check_nics();
        self.check_slots();
    }

    /// Begins measuring `now`: counts at zero, levels as they are. Pauses stay: those that last on may be consequences
    /// of those that are over.
    pub fn restart(&mut self, now: Time) -> Crossings {
        let on_link_until: Vec<Time> = self.links.ports.keys().map(|port| self.on_link_until(port)).collect();
        self.buffers.restart(now);
        let crossbars = self.nodes.iter_mut().filter_map(|node| node.architecture.crossbar_mut());
        crossbars.for_each(|bar| bar.restart(&self.buffers.pool, now));
        self.hosts.restart(&self.buffers.pool, now);
        self.restart_culprits();
        self.copies.restart();
        self.probes.restart(now);
        self.ledger.drops.clear();
        self.links.restart(now, &on_link_until)
    }

    /// Gives back what tables that have their final length took while they grew.
    pub fn shrink(&mut self) {
        self.node_of.0.shrink_to_fit();
        self.buffers.shrink();
        self.hosts.shrink();
    }

    /// Bytes of what the parts of a fabric have together.
    pub fn shared_bytes(&self) -> usize {
        self.routes.shared_bytes() + self.faults.shared_bytes() + self.copies.shared_bytes()
    }

    /// Bytes of all other tables, series included; small allocations behind them (names, watermarks) are not.
    pub fn memory_bytes(&self) -> usize {
        let crossbars = self.crossbars().map(Crossbar::memory_bytes).sum::<usize>();
        crossbars
            + self.deferred.memory_bytes()
            + self.node_of.0.capacity() * size_of::<NodeIx>()
            + self.nodes.capacity() * size_of::<Node>()
            + self.pause_senders.iter().map(PauseSender::memory_bytes).sum::<usize>()
            + self.links.memory_bytes()
            + self.buffers.memory_bytes()
            + self.ingress.capacity() * size_of::<IngressPort>()
            + self.headers.memory_bytes()
            + self.telemetry.capacity() * size_of::<PortTelemetry>()
            + self.copies.memory_bytes()
            + self.routes.memory_bytes()
            + self.hosts.memory_bytes()
            + self.faults.memory_bytes()
            + self.probes.memory_bytes()
    }
}
