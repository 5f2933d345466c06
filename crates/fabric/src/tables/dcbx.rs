//! Settings that the ends of links negotiated before the traffic.

use super::View;
use crate::spec::NegotiatedFeature;
use measure::table::text;
use measure::{TableBuilder, TableSpec};

/// Columns of `dcbx`.
pub(super) static DCBX: TableSpec = TableSpec {
    name: "dcbx",
    about: "One row per port and feature of DCBX, with the result of the negotiation before the traffic starts.",
    columns: &[&[
        text("port", "Name of the port."),
        text("feature", "pfc, ets or applications."),
        text(
            "local",
            "Administrative settings: priorities with PFC; the priorities of each traffic class and its share; applications with their priorities.",
        ),
        text(
            "remote",
            "Settings advertised by the other end: its PFC, the ETS that it recommends, its applications; empty without any.",
        ),
        text("operational", "Operational settings."),
        text("why", "Source of the operational settings, with the reason."),
        text(
            "mismatch",
            "yes if the operational settings of both ends should be equal and are not; otherwise empty.",
        ),
    ]],
};

impl View<'_> {
    /// Returns the negotiated settings, with one row per port and feature.
    pub fn dcbx(&self) -> TableBuilder {
        let wiring = &self.s.wiring;
        let of_port = |port: u32| {
            let (link, node) = (wiring.link_of[port as usize], wiring.node_of[port as usize]);
            let features = self.s.spec.negotiated(link, node).map_or(&[][..], |own| &own.features);
            features.iter().map(move |feature| (port, feature))
        };
        let ports = if self.s.spec.negotiated.is_empty() { 0 } else { wiring.peer.len() as u32 };
        let rows: Vec<(u32, &NegotiatedFeature)> = (0..ports).flat_map(of_port).collect();
        let text = |of: fn(&NegotiatedFeature) -> &str| rows.iter().map(move |row| of(row.1).to_string());
        DCBX.builder()
            .texts("port", rows.iter().map(|row| self.s.port_name(row.0)))
            .texts("feature", text(|feature| feature.name))
            .texts("local", text(|feature| &feature.local))
            .texts("remote", text(|feature| &feature.remote))
            .texts("operational", text(|feature| &feature.operational))
            .texts("why", text(|feature| &feature.why))
            .texts(
                "mismatch",
                rows.iter().map(|row| if row.1.mismatch { "yes".to_string() } else { String::new() }),
            )
    }
}
