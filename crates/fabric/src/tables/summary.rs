//! The table `summary`: figures of the whole fabric.

use super::View;
use super::flows::FlowRow;
use crate::run::state::losses::Cause;
use measure::table::{real_or_null, text};
use measure::{TableBuilder, TableSpec, jain};

/// Columns of `summary`.
pub(super) static SUMMARY: TableSpec = TableSpec {
    name: "summary",
    about: "Totals of the whole fabric.",
    columns: &[&[
        text("name", "Name of the value."),
        real_or_null("value", "", "Value."),
        text("unit", "Unit of the value."),
    ]],
};

impl View<'_> {
    pub(super) fn summary(&self) -> TableBuilder {
        let rows = self.flow_rows();
        let drops = self.s.ledger().drops;
        let delivered: u64 = rows.iter().map(|row| row.received.bytes).sum();
        let offered: u64 = rows.iter().map(|row| row.bytes_sent).sum();
        let shares: Vec<f64> = rows.iter().map(|row| row.received.bytes as f64).collect();
        let paused = self.s.cold_ports().map(|(_, cold)| cold.control.paused_time(self.end).as_secs_f64());
        let paused: f64 = paused.sum();
        let count = |value: fn(&crate::run::state::port::PortCounts) -> u64| {
            self.s.cold_ports().map(|(_, cold)| value(&cold.counts)).sum::<u64>() as f64
        };
        let lost = |causes: &[Cause]| {
            let of = drops.iter().filter(|((.., cause), _)| causes.contains(cause));
            of.map(|(_, (frames, _))| *frames).sum::<u64>() as f64
        };
        let values = [
            ("measured", self.seconds(), "s"),
            ("offered", self.bps(offered), "b/s"),
            ("throughput", self.bps(delivered), "b/s"),
            ("goodput", self.bps(rows.iter().map(FlowRow::good_bytes).sum()), "b/s"),
            ("jain", jain(&shares), ""),
            ("frames_sent", rows.iter().map(|row| row.frames_sent).sum::<u64>() as f64, ""),
            ("frames_delivered", rows.iter().map(|row| row.received.frames()).sum::<u64>() as f64, ""),
            ("frames_dropped", drops.values().map(|(frames, _)| *frames).sum::<u64>() as f64, ""),
            ("frames_reordered", rows.iter().map(|row| row.reordered).sum(), ""),
            ("pauses_sent", count(|counts| counts.pauses_sent), ""),
            ("paused", paused, "s"),
            ("headroom_violations", count(|counts| counts.violations), ""),
            ("ties", count(|counts| counts.ties), ""),
            ("lost_in_receivers", lost(&[Cause::ReceiveBuffer]), ""),
            ("lost_link_down", lost(&[Cause::LinkDown]), ""),
            ("lost_restart", lost(&[Cause::Restart]), ""),
            ("lost_bit_error", lost(&[Cause::BitError]), ""),
            ("lost_link_loss", lost(&[Cause::LinkLoss]), ""),
            ("lost_in_storms", lost(&[Cause::Watchdog]), ""),
            ("pauses_lost", count(|counts| counts.pauses_lost), ""),
        ];
        SUMMARY
            .builder()
            .texts("name", values.iter().map(|v| v.0.to_string()))
            .reals("value", values.iter().map(|v| v.1))
            .texts("unit", values.iter().map(|v| v.2.to_string()))
    }
}
