//! What waited at the inputs of switches with a crossbar.

use super::View;
use super::durations::with_wait;
use crate::run::state::crossbar::Input;
use measure::Table;

impl View<'_> {
    /// Inputs of crossbars.
    pub fn crossbars(&self) -> Table {
        let ports = 0..self.s.ports() as u32;
        let rows: Vec<_> = ports.filter_map(|port| Some((port, self.s.crossbar_input(port)?))).collect();
        let mean = |port: u32| self.s.waiting_at_input(port, self.start, self.end);
        let table = Table::new("crossbars", "One row per input of a switch with a crossbar.")
            .texts(
                "port",
                "The port that frames come in through, as `ports` calls it.",
                rows.iter().map(|row| self.s.port_name(row.0)),
            )
            .integers("frames", "", "Frames that have begun to cross.", rows.iter().map(|row| row.1.frames))
            .reals("bytes_mean", "B", "Mean of what waited.", rows.iter().map(|row| mean(row.0)[0]))
            .integers("bytes_max", "B", "Most that waited.", rows.iter().map(|row| row.1.sojourns.max()[0]))
            .reals(
                "frames_mean",
                "",
                "Mean number of frames that waited.",
                rows.iter().map(|row| mean(row.0)[1]),
            )
            .integers(
                "frames_max",
                "",
                "Most frames that waited.",
                rows.iter().map(|row| row.1.sojourns.max()[1]),
            );
        let wait = |input: &Input| {
            let waits = input.waits.all();
            waits.summary_with_zeros(input.frames.saturating_sub(waits.count()))
        };
        with_wait(table, rows.iter().map(|row| wait(row.1)))
    }
}
