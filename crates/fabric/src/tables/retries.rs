//! Link-level retry of ports.

use super::View;
use crate::run::state::retry::{RetryCounts, RetryState};
use measure::table::{integer, real, text};
use measure::{TableBuilder, TableSpec};

/// Columns of `link_retries`.
pub(super) static LINK_RETRIES: TableSpec = TableSpec {
    name: "link_retries",
    about: "One row per port whose link has link-level retry, with frames sent, replayed and received.",
    columns: &[&[
        text("port", "The port."),
        integer("frames", "", "Frames sent with a sequence number, each counted once."),
        integer("replayed_frames", "", "Retransmissions of frames."),
        integer("replayed_bytes", "B", "Bytes of these retransmissions, DA to FCS."),
        real("replayed_s", "s", "Transmission time of these, including line overhead."),
        integer("replays", "", "Replays: after a NACK, by the timer, or after an outage."),
        integer("timeouts", "", "Replays and flushes that were triggered by a timer."),
        integer("repaired_frames", "", "Frames that were received after a retransmission."),
        real(
            "repair_delay_mean_ns",
            "ns",
            "Mean time from the first transmission of these frames to the one that was received; 0 without any.",
        ),
        real("repair_delay_max_ns", "ns", "The longest of these times."),
        integer("acks_sent", "", "Acknowledgements sent."),
        integer("nacks_sent", "", "Negative acknowledgements sent."),
        integer("nacks_received", "", "Negative acknowledgements received."),
        integer("ordered_sets_lost", "", "Ordered sets sent that were lost or corrupted."),
        integer(
            "sequence_errors",
            "",
            "Acknowledgements received for sequence numbers that were not outstanding.",
        ),
        integer(
            "damaged_frames",
            "",
            "Frames received with the expected sequence number and a wrong checksum.",
        ),
        integer("missing_frames", "", "Frames received after a gap, and discarded."),
        integer("duplicate_frames", "", "Frames received twice, and discarded."),
        integer(
            "blocks",
            "",
            "Periods in which no new eligible frame could be sent, because the replay buffer was full or frames were being replayed.",
        ),
        real("blocked_s", "s", "Total time of these periods."),
        integer("flushes", "", "Flushes of the replay buffer."),
        integer(
            "flushed_frames",
            "",
            "Frames lost in flushes, or discarded while no sequence numbers were in use.",
        ),
    ]],
};

impl View<'_> {
    /// Returns the table of ports whose links have link-level retry.
    pub fn link_retries(&self) -> TableBuilder {
        let of_port = |port: u32| Some((port, self.s.cold(port).retry.as_deref()?));
        let rows: Vec<(u32, &RetryState)> = (0..self.s.ports() as u32).filter_map(of_port).collect();
        let counts = |of: fn(&RetryCounts) -> u64| rows.iter().map(move |(_, retry)| of(&retry.counts));
        let mean = |counts: &RetryCounts| match counts.repaired {
            0 => 0.0,
            repaired => counts.delay.0.as_ns_f64() / repaired as f64,
        };
        LINK_RETRIES
            .builder()
            .texts("port", rows.iter().map(|row| self.s.port_name(row.0)))
            .integers("frames", counts(|it| it.frames))
            .integers("replayed_frames", counts(|it| it.replayed.0))
            .integers("replayed_bytes", counts(|it| it.replayed.1))
            .reals("replayed_s", rows.iter().map(|row| row.1.counts.replaying.as_secs_f64()))
            .integers("replays", counts(|it| it.replays))
            .integers("timeouts", counts(|it| it.timeouts))
            .integers("repaired_frames", counts(|it| it.repaired))
            .reals("repair_delay_mean_ns", rows.iter().map(|row| mean(&row.1.counts)))
            .reals("repair_delay_max_ns", rows.iter().map(|row| row.1.counts.delay.1.as_ns_f64()))
            .integers("acks_sent", counts(|it| it.acks_sent))
            .integers("nacks_sent", counts(|it| it.nacks_sent))
            .integers("nacks_received", counts(|it| it.nacks_received))
            .integers("ordered_sets_lost", counts(|it| it.ordered_sets_lost))
            .integers("sequence_errors", counts(|it| it.sequence_errors))
            .integers("damaged_frames", counts(|it| it.damaged))
            .integers("missing_frames", counts(|it| it.missing))
            .integers("duplicate_frames", counts(|it| it.duplicates))
            .integers("blocks", counts(|it| it.blocks))
            .reals("blocked_s", rows.iter().map(|row| row.1.blocked(self.end).as_secs_f64()))
            .integers("flushes", counts(|it| it.flushes))
            .integers("flushed_frames", counts(|it| it.flushed))
    }
}
