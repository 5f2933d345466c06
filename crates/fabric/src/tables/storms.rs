//! Storms that watchdogs detected.

use super::View;
use crate::run::state::storms::Storm;
use flow_control::watchdog::{StormAction, WatchdogSpec};
use measure::table::{integer, real, real_or_null, text};
use measure::{TableBuilder, TableSpec};
use units::Time;

/// Columns of `storms`.
pub(super) static STORMS: TableSpec = TableSpec {
    name: "storms",
    about: "One row per pause storm detected by a watchdog: a switch queue that was paused for too long.",
    columns: &[&[
        text("port", "Port of the queue."),
        integer("class", "", "Traffic class."),
        text(
            "action",
            "Action of the watchdog: report, drop (queued and arriving frames), forward (pauses ignored).",
        ),
        real("began_ns", "ns", "Time since which the queue had been paused with frames waiting."),
        real("detected_ns", "ns", "Time at which the storm was detected."),
        real_or_null("over_ns", "ns", "Time at which the storm ended; null if it did not."),
        integer("frames_dropped", "", "Frames dropped because of it."),
        integer("bytes_dropped", "B", "Bytes dropped because of it."),
    ]],
};

impl View<'_> {
    /// Storms that watchdogs detected.
    pub fn storms(&self) -> TableBuilder {
        let cold_ports = self.s.cold_ports();
        let rows: Vec<(u32, WatchdogSpec, Storm)> = cold_ports
            .filter_map(|(port, cold)| Some((port, cold.watch.as_deref()?)))
            .flat_map(|(port, watch)| watch.storms.iter().map(move |&storm| (port, watch.spec, storm)))
            .collect();
        let action = |spec: &WatchdogSpec| match spec.action {
            StormAction::Report => "report",
            StormAction::Drop => "drop",
            StormAction::Forward => "forward",
        };
        STORMS
            .builder()
            .texts("port", rows.iter().map(|row| self.s.port_name(row.0)))
            .integers("class", rows.iter().map(|row| row.2.class.into()))
            .texts("action", rows.iter().map(|row| action(&row.1).to_string()))
            .reals("began_ns", rows.iter().map(|row| row.2.began.as_ns_f64()))
            .reals("detected_ns", rows.iter().map(|row| row.2.detected.as_ns_f64()))
            .reals("over_ns", rows.iter().map(|row| row.2.over.map_or(f64::NAN, Time::as_ns_f64)))
            .integers("frames_dropped", rows.iter().map(|row| row.2.frames_dropped))
            .integers("bytes_dropped", rows.iter().map(|row| row.2.bytes_dropped))
    }
}
