//! Who waited for credits, and how long.

use super::{UsedQueue, View};
use crate::run::state::credits::CreditState;
use measure::Table;

impl View<'_> {
    /// Classes of ports whose links have credits.
    pub fn credits(&self) -> Table {
        let of_port = |port: u32| Some((port, self.s.cold(port).control.credits()?));
        let rows: Vec<(u32, u8, &CreditState)> = self
            .used_queues()
            .iter()
            .filter_map(|&UsedQueue { port, class, .. }| {
                of_port(port).map(|(port, credits)| (port, class, credits))
            })
            .collect();
        Table::new(
            "credits",
            "One row per port and traffic class that carried frames, where links have credits.",
        )
        .texts("port", "The port.", rows.iter().map(|row| self.s.port_name(row.0)))
        .integers("class", "", "Traffic class.", rows.iter().map(|row| row.1.into()))
        .texts(
            "channel",
            "The virtual channel that its frames use; several, if it has priorities of several.",
            rows.iter().map(|row| row.2.channels_of(row.1)),
        )
        .integers(
            "granted",
            "",
            "Credits that the other end of the link grants to each channel, and as many to a bypass queue beside it.",
            rows.iter().map(|row| row.2.sender.granted().into()),
        )
        .integers(
            "waits",
            "",
            "How often the next frame of the class lacked credits of its channel.",
            rows.iter().map(|row| row.2.waits(row.1)),
        )
        .reals(
            "waited_s",
            "s",
            "Total time of these waits.",
            rows.iter().map(|row| row.2.waited(row.1, self.end).as_secs_f64()),
        )
    }
}
