//! Rate limiters: feedback received, and queues.

use super::View;
use crate::run::fabric::Fabric;
use crate::run::state::limiter_counts::Slowed;
use crate::run::state::limiters::Limiter;
use frame::PRIORITIES;
use measure::table::{integer, real, text};
use measure::{TableBuilder, TableSpec};
use queueing::PathFacts;
use units::BitRate;

/// Columns of `rate_limiters`.
pub(super) static RATE_LIMITERS: TableSpec = TableSpec {
    name: "rate_limiters",
    about: "One row per rate limiter of a host.",
    columns: &[&[
        text("host", "Name of the host."),
        text(
            "limiter",
            "Frames that it limits: those of a flow, of a priority (to one destination or to all), or all frames to one destination.",
        ),
        integer("priority", "", "Priority of its frames; the highest if there are several."),
        text("control", "Control that sets its rate."),
        integer("messages", "", "Congestion messages received."),
        integer(
            "messages_foreign",
            "",
            "Congestion messages from a `control_frame`, not from a congestion point of the fabric; not counted in `messages`.",
        ),
        real("message_delay_min_ns", "ns", "Shortest time from a congestion message to its arrival."),
        real("message_delay_max_ns", "ns", "Longest of these times."),
        real(
            "rate_min_bps",
            "b/s",
            "Lowest rate after a message (wire bits); the rate of the link if there was none.",
        ),
        real("rate_end_bps", "b/s", "Rate at the end (wire bits)."),
        integer("frames_sent", "", "Frames that have left the limiter."),
        integer("bytes_sent", "B", "Bytes (DA to FCS) that have left the limiter."),
        integer("tags_sent", "", "Frames among them with a tag, and messages that probe its path."),
        integer("marks", "", "Frames that the limiter marked because of its own backlog."),
        integer("tags_returned", "", "Tags and messages returned by receivers."),
        integer("hops", "", "Congestion points on its path; 0 if it has not probed the path."),
        real("slowest_bps", "b/s", "Rate of the slowest link of its path; 0 if it has not probed the path."),
        real(
            "round_trip_min_ns",
            "ns",
            "Shortest round trip of a message on its path; 0 if it has not probed the path.",
        ),
        real(
            "waiting_mean_bytes",
            "B",
            "Mean backlog over time, not including data that endpoints have not passed to it.",
        ),
        integer("waiting_max_bytes", "B", "Maximum backlog."),
    ]],
};

/// Columns of `slowdowns`.
pub(super) static SLOWDOWNS: TableSpec = TableSpec {
    name: "slowdowns",
    about: "One row per rate limiter and congestion point that has lowered its rate.",
    columns: &[&[
        text("host", "Name of the host."),
        text("limiter", "Frames that it limits, as in `rate_limiters`."),
        text("port", "Egress port of the congestion point."),
        integer(
            "class",
            "",
            "Traffic class of the congestion point; if it measures the port, that of the limiter's frames there (the highest if there are several).",
        ),
        text(
            "measures",
            "Queue that it measures: that of the \"class\", or those of all classes of the \"port\".",
        ),
        integer("times", "", "Number of rate cuts."),
        real("cut_bps", "b/s", "Sum of these cuts (wire bits)."),
        real("rate_min_bps", "b/s", "Lowest rate after a cut (wire bits)."),
    ]],
};

/// Adds the columns of tags, messages, and path facts measured with them.
fn with_tags(table: TableBuilder, limiters: &[&Limiter]) -> TableBuilder {
    let integers = |of: fn(&Limiter) -> u64| limiters.iter().map(move |it| of(it));
    let known = |of: fn(PathFacts) -> f64| limiters.iter().map(move |it| it.path().map_or(0.0, of));
    table
        .integers("tags_sent", integers(|it| it.measured.tags_sent))
        .integers("marks", integers(|it| it.measured.marks))
        .integers("tags_returned", integers(|it| it.measured.tags_returned))
        .integers("hops", integers(|it| it.path().map_or(0, |path| path.hops.into())))
        .reals("slowest_bps", known(|path| path.slowest.bps_f64()))
        .reals("round_trip_min_ns", known(|path| path.round_trip.as_ns_f64()))
}

impl View<'_> {
    /// Returns the table of rate limiters of hosts.
    pub(super) fn rate_limiters(&self) -> TableBuilder {
        let rows = self.s.limiters();
        let integers = |of: fn(&Limiter) -> u64| rows.iter().map(|row| of(row.1)).collect::<Vec<_>>();
        let rates =
            |of: fn(&Limiter) -> BitRate| rows.iter().map(|row| of(row.1).bps_f64()).collect::<Vec<_>>();
        let messages: Vec<_> = rows.iter().map(|row| row.1.measured.messages.summary()).collect();
        let waiting: Vec<[f64; 2]> = rows.iter().map(|&row| self.waiting_in(row)).collect();
        let table = RATE_LIMITERS
            .builder()
            .texts("host", rows.iter().map(|row| self.host_of(row.1)))
            .texts("limiter", rows.iter().map(|row| row.1.name.clone()))
            .integers("priority", integers(|it| it.priority.0.into()))
            .texts("control", rows.iter().map(|row| row.1.control_name().into()))
            .integers("messages", integers(|it| it.measured.messages.count()))
            .integers("messages_foreign", integers(|it| it.measured.foreign))
            .reals("message_delay_min_ns", messages.iter().map(|it| it.min))
            .reals("message_delay_max_ns", messages.iter().map(|it| it.max))
            .reals("rate_min_bps", rates(Limiter::lowest_rate))
            .reals("rate_end_bps", rates(Limiter::rate))
            .integers("frames_sent", integers(|it| it.sent().0))
            .integers("bytes_sent", integers(|it| it.sent().1));
        with_tags(table, &rows.iter().map(|row| row.1).collect::<Vec<_>>())
            .reals("waiting_mean_bytes", waiting.iter().map(|&[bytes, _]| bytes))
            .integers("waiting_max_bytes", integers(|it| it.sojourns.max()[0]))
    }

    /// Returns the congestion points that have slowed down each limiter.
    pub(super) fn slowdowns(&self) -> TableBuilder {
        let all = self.s.limiters();
        let rows: Vec<(&Limiter, u32, Slowed)> = all
            .iter()
            .flat_map(|&(_, limiter)| {
                limiter.measured.slowed.iter().map(move |&(by, it)| (limiter, by.0, it))
            })
            .collect();
        let classes = PRIORITIES as u32;
        SLOWDOWNS
            .builder()
            .texts("host", rows.iter().map(|row| self.host_of(row.0)))
            .texts("limiter", rows.iter().map(|row| row.0.name.clone()))
            .texts("port", rows.iter().map(|row| self.s.port_name(row.1 / classes)))
            .integers("class", rows.iter().map(|row| self.class_slowed(row)))
            .texts("measures", rows.iter().map(|row| if row.2.of_port { "port" } else { "class" }.into()))
            .integers("times", rows.iter().map(|row| row.2.times))
            .reals("cut_bps", rows.iter().map(|row| row.2.cut as f64))
            .reals("rate_min_bps", rows.iter().map(|row| row.2.lowest as f64))
    }

    /// The class of the congestion point that has slowed down a limiter.
    fn class_slowed(&self, &(limiter, point, slowed): &(&Limiter, u32, Slowed)) -> u64 {
        let classes = PRIORITIES as u32;
        if slowed.of_port {
            self.s.port(point / classes).classes.class(limiter.priority).0.into()
        } else {
            (point % classes).into()
        }
    }

    /// Returns the name of a limiter's series.
    pub(super) fn limiter_entity(&self, limiter: &Limiter) -> String {
        let of_flow = self.s.spec.flows.iter().any(|flow| flow.name == limiter.name);
        if of_flow { limiter.name.clone() } else { format!("{} {}", self.host_of(limiter), limiter.name) }
    }

    fn host_of(&self, limiter: &Limiter) -> String {
        self.s.spec.nodes[limiter.host.at()].name.clone()
    }

    /// Mean bytes and frames waiting in a limiter.
    fn waiting_in(&self, (part, limiter): (&Fabric, &Limiter)) -> [f64; 2] {
        let inside = limiter.lists().iter().flat_map(|list| part.buffers.pool.iter(list));
        let inside = inside.map(|waiting| (waiting.since, waiting.frame.bytes));
        limiter.sojourns.mean(self.measured, self.end, inside)
    }
}
