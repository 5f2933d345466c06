//! Waits for credits: classes, number and duration.

use super::{UsedQueue, View};
use crate::run::state::credits::CreditState;
use measure::table::{integer, real, text};
use measure::{TableBuilder, TableSpec};

/// Columns of `credits`.
pub(super) static CREDITS: TableSpec = TableSpec {
    name: "credits",
    about: "One row per port and traffic class that carried frames, where links have credits.",
    columns: &[&[
        text("port", "The port."),
        integer("class", "", "Traffic class."),
        text("channel", "Virtual channel of its frames; several if its priorities have different channels."),
        integer(
            "granted",
            "",
            "Credits that the other end of the link grants to each channel; a bypass queue has the same number in addition.",
        ),
        integer(
            "waits",
            "",
            "Number of times that the channel had too few credits for the next frame of the class.",
        ),
        real("waited_s", "s", "Total time of these waits."),
        integer(
            "leaked",
            "",
            "Credits of frames of the class that were lost on the link, with `cc_message_timer`.",
        ),
        integer("restored", "", "Leaked credits that were restored."),
    ]],
};

impl View<'_> {
    /// Returns the table of classes at ports whose links have credits.
    pub fn credits(&self) -> TableBuilder {
        let of_port = |port: u32| Some((port, self.s.cold(port).control.credits()?));
        let rows: Vec<(u32, u8, &CreditState)> = self
            .used_queues()
            .iter()
            .filter_map(|&UsedQueue { port, class, .. }| {
                of_port(port).map(|(port, credits)| (port, class, credits))
            })
            .collect();
        // The other end of the link counts lost credits.
        let leaked = |&(port, class, _): &(u32, u8, &CreditState)| {
            let across = self.s.cold(self.s.peer(port)).control.credits();
            across.map_or((0, 0), |credits| credits.leaked(class))
        };
        CREDITS
            .builder()
            .texts("port", rows.iter().map(|row| self.s.port_name(row.0)))
            .integers("class", rows.iter().map(|row| row.1.into()))
            .texts("channel", rows.iter().map(|row| row.2.channels_of(row.1)))
            .integers("granted", rows.iter().map(|row| row.2.sender.granted().into()))
            .integers("waits", rows.iter().map(|row| row.2.waits(row.1)))
            .reals("waited_s", rows.iter().map(|row| row.2.waited(row.1, self.end).as_secs_f64()))
            .integers("leaked", rows.iter().map(|row| leaked(row).0))
            .integers("restored", rows.iter().map(|row| leaked(row).1))
    }
}
