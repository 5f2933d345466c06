//! Actions of ports at the edges of congestion notification domains.

use super::View;
use frame::{PRIORITIES, PortId, Priority};
use measure::table::{integer, text};
use measure::{TableBuilder, TableSpec};

/// Columns of `congestion_domains`.
pub(super) static CONGESTION_DOMAINS: TableSpec = TableSpec {
    name: "congestion_domains",
    about: "One row per port and priority with congestion notification, with the settings in force at the start of the run.",
    columns: &[&[
        text("port", "Name of the port."),
        integer("priority", "", "Congestion notification priority value (CNPV)."),
        text(
            "defence",
            "edge: received frames get the alternate priority, and CN-TAGs are removed from transmitted frames; interior: only CN-TAGs are removed; interior_ready: neither, and hosts add CN-TAGs; disabled: no defence.",
        ),
        integer("alternate_priority", "", "Priority to which frames from outside the domain are remapped."),
    ]],
};

impl View<'_> {
    /// Returns the table, with one row per port and priority with congestion notification.
    pub fn congestion_domains(&self) -> TableBuilder {
        let (spec, wiring) = (&self.s.spec, &self.s.wiring);
        let defences = spec.defences(wiring);
        let of_port = |port: u32| {
            let domain = spec.domain(wiring.node_of[port as usize]);
            let own = domain.map_or(0, |domain| domain.priorities);
            let those = (0..PRIORITIES as u8).filter(move |priority| own >> priority & 1 != 0);
            those.filter_map(move |priority| Some((port, priority, domain?)))
        };
        let rows: Vec<_> = (0..defences.len() as u32).flat_map(of_port).collect();
        let defence = |port: u32, priority: u8| defences[PortId(port).at()].of(Priority(priority));
        CONGESTION_DOMAINS
            .builder()
            .texts("port", rows.iter().map(|row| self.s.port_name(row.0)))
            .integers("priority", rows.iter().map(|row| row.1.into()))
            .texts("defence", rows.iter().map(|row| defence(row.0, row.1).name().to_string()))
            .integers("alternate_priority", rows.iter().map(|row| row.2.becomes[usize::from(row.1)].0.into()))
    }
}
