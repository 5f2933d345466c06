//! Ranks of jobs that had not ended at the end of the run, and what each waited for.

use super::View;
use crate::simulation::jobs::{Held, RankWait, WaitCause};
use measure::table::{integer, real, text};
use measure::{TableBuilder, TableSpec};

/// Columns of `rank_waits`.
pub(super) static RANK_WAITS: TableSpec = TableSpec {
    name: "rank_waits",
    about: "One row per rank that had not finished when the run ended, with the first operation for which it waits. Following `peer` from row to row leads to the root.",
    columns: &[&[
        text("job", "Name of the job."),
        integer("rank", "", "Number of the rank."),
        text("host", "Host of the rank."),
        integer("finished", "", "Iterations that the rank has finished."),
        text(
            "waits_for",
            "\"message\" of `peer`, \"acknowledgement\" of a message to `peer`, its \"departure\" from the NIC without a transport, \"computation\" of its own, or \"start\" of its job.",
        ),
        integer("peer", "", "Rank at the other end; its own number without a message."),
        text("peer_host", "Host of `peer`; empty without a message."),
        integer("tag", "", "Tag of the message; 0 without one."),
        integer("bytes", "B", "Bytes of the message; 0 without one."),
        real("since_ns", "ns", "Start of the wait."),
        text(
            "cause",
            "Cause of the wait: \"not posted\" (`peer` is waiting itself), \"peer ended\" (it will never be sent), \"connection failed\" (after all retries), \"link down\", \"paused\", \"no credits\", \"receiver not ready\", \"retransmitting\", \"in flight\", \"lost\" (and not retransmitted), \"never sent\" (by any rank), \"working\", \"not started\".",
        ),
        text(
            "port",
            "Port at which the message is held, if that port is down, paused or without credits; otherwise empty.",
        ),
    ]],
};

fn name(cause: &WaitCause) -> &'static str {
    match cause {
        WaitCause::NotStarted => "not started",
        WaitCause::Working => "working",
        WaitCause::NotPosted => "not posted",
        WaitCause::PeerEnded => "peer ended",
        WaitCause::AnyPeer => "never sent",
        WaitCause::Message(held) | WaitCause::Acknowledgement(held) => match held {
            Held::ConnectionFailed => "connection failed",
            Held::LinkDown(_) => "link down",
            Held::Paused(_) => "paused",
            Held::NoCredits(_) => "no credits",
            Held::ReceiverNotReady => "receiver not ready",
            Held::Retransmitting => "retransmitting",
            Held::InFlight => "in flight",
            Held::Lost => "lost",
        },
    }
}

fn waits_for(cause: &WaitCause, over_frames: bool) -> &'static str {
    match cause {
        WaitCause::NotStarted => "start",
        WaitCause::Working => "computation",
        WaitCause::NotPosted | WaitCause::PeerEnded | WaitCause::AnyPeer | WaitCause::Message(_) => "message",
        WaitCause::Acknowledgement(_) if over_frames => "departure",
        WaitCause::Acknowledgement(_) => "acknowledgement",
    }
}

fn port(cause: &WaitCause) -> Option<u32> {
    match cause {
        WaitCause::Message(held) | WaitCause::Acknowledgement(held) => match held {
            Held::LinkDown(port) | Held::Paused(port) | Held::NoCredits(port) => Some(*port),
            _ => None,
        },
        _ => None,
    }
}

impl View<'_> {
    /// Returns the ranks that had not ended, with one row each.
    pub fn rank_waits(&self) -> TableBuilder {
        let rows = self.s.rank_waits();
        let job = |row: &RankWait| &self.s.spec.jobs[row.job as usize];
        let host = |row: &RankWait, rank: u32| self.node_name(job(row).hosts[rank as usize]);
        RANK_WAITS
            .builder()
            .texts("job", rows.iter().map(|row| job(row).name.clone()))
            .integers("rank", rows.iter().map(|row| row.rank.into()))
            .texts("host", rows.iter().map(|row| host(row, row.rank)))
            .integers("finished", rows.iter().map(|row| row.finished as u64))
            .texts(
                "waits_for",
                rows.iter().map(|row| waits_for(&row.cause, self.s.spec.is_over_frames(job(row))).into()),
            )
            .integers("peer", rows.iter().map(|row| row.message.map_or(row.rank, |own| own.0).into()))
            .texts(
                "peer_host",
                rows.iter().map(|row| row.message.map_or(String::new(), |own| host(row, own.0))),
            )
            .integers("tag", rows.iter().map(|row| row.message.map_or(0, |own| own.1).into()))
            .integers("bytes", rows.iter().map(|row| row.message.map_or(0, |own| own.2)))
            .reals("since_ns", rows.iter().map(|row| row.since.as_ns_f64()))
            .texts("cause", rows.iter().map(|row| name(&row.cause).into()))
            .texts(
                "port",
                rows.iter().map(|row| port(&row.cause).map_or(String::new(), |port| self.s.port_name(port))),
            )
    }
}
