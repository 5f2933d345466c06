//! Selects the occupancies that are tallied and the frames that are logged.

use super::series::{Recording, width};
use crate::build::whole::WHOLE;
use crate::run::fabric::Fabric;
use crate::run::state::frame_log::{FrameLog, Log, LoggedPort};
use crate::run::state::index::{NodeIx, PortIx, TallyIx};
use crate::run::state::levels::Levels;
use crate::run::state::link_series::{LevelSeries, grid_of};
use crate::run::state::node::Node;
use crate::run::state::own::NodeLocal;
use crate::run::state::port::PortFeatures;
use crate::run::state::tallies::{Place, Tallies};
use crate::spec::{Pattern, Probe, Spec, Watched, Which};
use frame::{NodeId, PortId, Priority, TrafficClass, members};
use typed_index_collections::TiVec;

/// Approximate size of the two histograms of an occupancy: 20 octaves of bytes, a few of frames.
const TALLY_BYTES: u64 = 6 << 10;

/// Returns true if an entry of the scenario selects the object of this name.
pub fn is_chosen(spec: &Spec, what: Watched, names: impl Fn(&Pattern) -> bool) -> bool {
    choice(spec, what, names).is_some()
}

/// Returns the first entry of a kind that matches this name, with its index among the entries of that kind.
pub fn choice(spec: &Spec, what: Watched, names: impl Fn(&Pattern) -> bool) -> Option<(usize, &Probe)> {
    let own = spec.probes.chosen.iter().flatten().filter(|probe| probe.what == what);
    own.enumerate().find(|(_, probe)| match &probe.which {
        Which::All | Which::Busiest(_) => true,
        Which::Named(patterns) => patterns.iter().any(&names),
    })
}

impl Recording<'_> {
    /// Prepares the recording of occupancies over time.
    pub fn occupancies(&mut self, parts: &mut [Fabric]) {
        if !is_chosen(self.spec, Watched::Occupancy, |_| true) {
            return;
        }
        let tallied: Vec<Tallies> = parts.iter().map(|part| self.tallies(part)).collect();
        let all: u64 = tallied.iter().map(|own| own.tallies.len() as u64).sum();
        let widths = tallied
            .iter()
            .flat_map(|own| own.tallies.iter().filter_map(|tally| tally.series.width(&own.grids)));
        let bins: u64 = widths.map(|width| self.spec.duration.ps().div_ceil(width.ps()) + 1).sum();
        let bytes = all * TALLY_BYTES + bins * size_of::<u64>() as u64;
        if !self.fits_bytes(&format!("distributions of {all} occupancies"), bytes) {
            return;
        }
        for (part, tallies) in parts.iter_mut().zip(tallied) {
            let off = || Levels::new(&[], None);
            part.probes.queues.resize_with(tallies.of_queue.len(), off);
            if tallies.of_counter.iter().any(Option::is_some) {
                part.probes.counters.resize_with(tallies.of_counter.len(), off);
            }
            let queues = part.probes.queues.iter_mut().zip(tallies.of_queue.all(WHOLE));
            queues.filter(|(_, of)| of.iter().any(Option::is_some)).for_each(|(levels, _)| levels.tally());
            let counters = part.probes.counters.iter_mut().zip(&tallies.of_counter);
            counters.filter(|(_, of)| of.is_some()).for_each(|(levels, _)| levels.tally());
            part.probes.groups = self.spec.numbers();
            part.probes.tallies = Some(Box::new(tallies));
        }
    }

    fn tallies(&self, part: &Fabric) -> Tallies {
        let numbers = self.spec.numbers();
        let mut tallies = Tallies {
            of_queue: vec![[None; 4]; part.buffers.queues.len()].into(),
            of_counter: vec![None; part.links.len() * numbers],
            of_memory: vec![[None; 2]; part.nodes.len()].into(),
            tallies: TiVec::new(),
            grids: Vec::new(),
        };
        for (id, node) in (part.numbering.first_node..).map(NodeId).zip(part.nodes.all(WHOLE)) {
            let memory = self.tally(&mut tallies, Place::Memory(id));
            if node.memory().sharing.is_some() {
                let parts = [Place::Shared(id), Place::Headroom(id)];
                let at = NodeIx::of(id.0 - part.numbering.first_node, WHOLE);
                tallies.of_memory[at] = parts.map(|place| self.tally(&mut tallies, place));
            }
            let used = node.classes.classes_of(self.spec.priorities_in_use());
            let classes: Vec<u8> = members(used).map(|class| class as u8).collect();
            let of_node: Vec<(u8, Option<TallyIx>)> = classes
                .iter()
                .map(|&class| (class, self.tally(&mut tallies, Place::Class(id, class))))
                .collect();
            for port in self.wiring.ports(id) {
                let local = PortIx::of(port.0 - part.numbering.first_port, WHOLE);
                let of_port = self.tally(&mut tallies, Place::Port(port));
                for &(class, of_class) in &of_node {
                    let queue = self.tally(&mut tallies, Place::Queue(port, class));
                    let at = part.links.ports[local].queue(TrafficClass(class));
                    tallies.of_queue[at] = [queue, of_port, of_class, memory];
                }
                for group in self.counters_of(part, node, local) {
                    let counter = self.tally(&mut tallies, Place::Counter(port, group as u8));
                    tallies.of_counter[local.at() * numbers + group] = counter;
                }
            }
        }
        tallies
    }

    /// Adds a tally of a place if it is selected.
    fn tally(&self, tallies: &mut Tallies, place: Place) -> Option<TallyIx> {
        let name = place.name(self.spec, self.wiring);
        if !is_chosen(self.spec, Watched::Occupancy, |pattern| pattern.names(&name)) {
            return None;
        }
        let bin = width(self.spec, Watched::Occupancy, |pattern| pattern.names(&name));
        let grid = bin.map(|bin| grid_of(&mut tallies.grids, bin, self.spec.duration));
        let series = LevelSeries::new(&tallies.grids, grid);
        Some(tallies.add(place, series))
    }

    /// The priority groups that are counted at ingress of a port.
    fn counters_of(&self, part: &Fabric, node: &Node, port: PortIx) -> Vec<usize> {
        let sender = node.pause_sender.map(|at| &part.pause_senders[at]).filter(|sender| sender.by_ingress());
        let receiving = part.hosts.receiving.get(port).and_then(Option::as_deref);
        let group = |priority: usize| match (sender, receiving) {
            (Some(sender), _) => sender.group(priority as u8),
            (None, Some(receiving)) => Some(receiving.group(Priority(priority as u8))),
            (None, None) => None,
        };
        let mut groups: Vec<usize> = members(self.spec.priorities_in_use()).filter_map(group).collect();
        groups.dedup();
        groups
    }

    /// Selects the ports whose frames are logged.
    pub fn frames(&mut self, parts: &mut [Fabric]) {
        let entries = self.spec.probes.chosen.iter().flatten().filter(|probe| probe.what == Watched::Frames);
        let entries: Vec<&Probe> = entries.collect();
        if entries.is_empty() {
            return;
        }
        let logged = |number: u32| {
            let name = self.port_name(number);
            let found = choice(self.spec, Watched::Frames, |pattern| pattern.names_port(&name));
            LoggedPort { number, log: found.map(|(at, _)| at as u32) }
        };
        let all: Vec<LoggedPort> = (0..self.wiring.peer.len() as u32).map(logged).collect();
        for part in parts {
            let ends = part.links.ports.keys(WHOLE).map(|port| {
                let port = PortId(part.numbering.port(port));
                [port, self.wiring.peer[port.0 as usize]].map(|port| all[port.0 as usize])
            });
            let ports: NodeLocal<PortIx, [LoggedPort; 2]> = ends.collect();
            for (port, ends) in part.links.ports.all_mut(WHOLE).iter_mut().zip(ports.all(WHOLE)) {
                if ends.iter().any(|end| end.log.is_some()) {
                    port.features.set(PortFeatures::RECORDED, true);
                }
            }
            let logs =
                entries.iter().map(|probe| Log::new(probe.start, probe.max_rows as usize, probe.one_in));
            part.probes.frames = Some(Box::new(FrameLog { ports, logs: logs.collect() }));
        }
    }
}
