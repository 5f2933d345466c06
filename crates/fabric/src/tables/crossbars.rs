//! Queues at the inputs of switches with a crossbar.

use super::View;
use super::durations::{WAIT, with_durations};
use crate::run::state::crossbar::Input;
use measure::table::{integer, real, text};
use measure::{TableBuilder, TableSpec};

/// Columns of `crossbars`.
pub(super) static CROSSBARS: TableSpec = TableSpec {
    name: "crossbars",
    about: "One row per input of a switch with a crossbar.",
    columns: &[
        &[
            text("port", "Ingress port, by its name in `ports`."),
            integer("frames", "", "Frames that have started to cross the switch."),
            real("bytes_mean", "B", "Mean of the waiting bytes."),
            integer("bytes_max", "B", "Maximum of the waiting bytes."),
            real("frames_mean", "", "Mean number of frames that waited."),
            integer("frames_max", "", "Maximum frames in the queue."),
        ],
        &WAIT,
    ],
};

impl View<'_> {
    /// Returns the table of crossbar inputs.
    pub fn crossbars(&self) -> TableBuilder {
        let ports = 0..self.s.ports() as u32;
        let rows: Vec<_> = ports.filter_map(|port| Some((port, self.s.crossbar_input(port)?))).collect();
        let mean = |port: u32| self.s.waiting_at_input(port, self.measured, self.end);
        let table = CROSSBARS
            .builder()
            .texts("port", rows.iter().map(|row| self.s.port_name(row.0)))
            .integers("frames", rows.iter().map(|row| row.1.frames))
            .reals("bytes_mean", rows.iter().map(|row| mean(row.0)[0]))
            .integers("bytes_max", rows.iter().map(|row| row.1.sojourns.max()[0]))
            .reals("frames_mean", rows.iter().map(|row| mean(row.0)[1]))
            .integers("frames_max", rows.iter().map(|row| row.1.sojourns.max()[1]));
        let wait = |input: &Input| {
            let waits = input.waits.all();
            waits.summary_with_zeros(input.frames.saturating_sub(waits.count()))
        };
        with_durations(table, &WAIT, rows.iter().map(|row| wait(row.1)))
    }
}
