//! Bytes that classes sent while several classes could send.

use super::View;
use crate::run::state::contention::members;
use measure::table::{integer, text};
use measure::{TableBuilder, TableSpec};

/// Columns of `contention`.
pub(super) static CONTENTION: TableSpec = TableSpec {
    name: "contention",
    about: "One row per port whose scheduler shares the link, per set of classes that were eligible to send at the same time, and per class of the set.",
    columns: &[&[
        text("port", "The port."),
        text("classes", "Classes that had frames and were not stopped, separated by spaces."),
        integer("class", "", "One of these classes."),
        integer(
            "bytes_sent",
            "B",
            "Bytes that it sent (DA to FCS) while exactly these classes were eligible.",
        ),
    ]],
};

impl View<'_> {
    /// Returns the bytes of each class, by port and set of classes.
    pub fn contention(&self) -> TableBuilder {
        let mut rows: Vec<(u32, u32, u8, u64)> = Vec::new();
        for port in 0..self.s.ports() as u32 {
            let sent = self.s.cold(port).contention.iter().flat_map(|own| own.sent());
            rows.extend(sent.map(|(set, class, bytes)| (port, set, class, bytes)));
        }
        let list = |set: u32| members(set).map(|class| class.to_string()).collect::<Vec<_>>().join(" ");
        CONTENTION
            .builder()
            .texts("port", rows.iter().map(|row| self.s.port_name(row.0)))
            .texts("classes", rows.iter().map(|row| list(row.1)))
            .integers("class", rows.iter().map(|row| row.2.into()))
            .integers("bytes_sent", rows.iter().map(|row| row.3))
    }
}
