//! Feedback to rate limiters, and their queues.

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
            "What passes it: a flow, the frames of a priority, to one destination or to all, or all to one destination.",
        ),
        integer("priority", "", "Priority of its frames; of several the highest."),
        text("control", "The control that sets its rate."),
        integer("messages", "", "Congestion messages that it has received."),
        integer(
            "messages_foreign",
            "",
            "Congestion messages that came as `control_frame`, and from no congestion point of the fabric; not among `messages`.",
        ),
        real("message_delay_min_ns", "ns", "Shortest time from a congestion message to its arrival."),
        real("message_delay_max_ns", "ns", "Longest of it."),
        real(
            "rate_min_bps",
            "b/s",
            "Lowest rate that a message left it (wire bits); that of the link if none came.",
        ),
        real("rate_end_bps", "b/s", "Its rate at the end (wire bits)."),
        integer("frames_sent", "", "Frames that have left it."),
        integer("bytes_sent", "B", "Bytes (DA to FCS) that have left it."),
        integer("tags_sent", "", "Frames among them with a tag, and messages that asked about its path."),
        integer("marks", "", "Frames that left it with a mark, because of what waited in it."),
        integer("tags_returned", "", "Tags and messages that came back from receivers."),
        integer("hops", "", "Congestion points on its path; 0 if it has not asked."),
        real("slowest_bps", "b/s", "Rate of the slowest link of its path; 0 if it has not asked."),
        real(
            "round_trip_min_ns",
            "ns",
            "Shortest round trip of a message on its path; 0 if it has not asked.",
        ),
        real(
            "waiting_mean_bytes",
            "B",
            "Bytes that waited in it on average, over time; what endpoints hold back is not among them.",
        ),
        integer("waiting_max_bytes", "B", "Most of them."),
    ]],
};

/// Columns of `slowdowns`.
pub(super) static SLOWDOWNS: TableSpec = TableSpec {
    name: "slowdowns",
    about: "One row per rate limiter and congestion point that has lowered its rate.",
    columns: &[&[
        text("host", "Name of the host."),
        text("limiter", "What passes it, as in `rate_limiters`."),
        text("port", "Egress port of the congestion point."),
        integer(
            "class",
            "",
            "Its traffic class; if it measures the port, that of the limiter's frames there (of several the highest).",
        ),
        text(
            "measures",
            "What is too long for it: the queue of the \"class\", or that of all classes of the \"port\".",
        ),
        integer("times", "", "How often it has lowered the rate."),
        real("cut_bps", "b/s", "All these cuts together (wire bits)."),
        real("rate_min_bps", "b/s", "The lowest rate that it left (wire bits)."),
    ]],
};

/// Adds tags and messages of limiters, and the path facts from them.
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
    /// Rate limiters of hosts.
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

    /// Table of the congestion points that have slowed down each limiter.
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

    /// The class of a port that a limiter was slowed down for.
    fn class_slowed(&self, &(limiter, point, slowed): &(&Limiter, u32, Slowed)) -> u64 {
        let classes = PRIORITIES as u32;
        if slowed.of_port {
            self.s.port(point / classes).classes.class(limiter.priority).0.into()
        } else {
            (point % classes).into()
        }
    }

    /// Returns the name of its series.
    pub(super) fn limiter_entity(&self, limiter: &Limiter) -> String {
        let of_flow = self.s.spec.flows.iter().any(|flow| flow.name == limiter.name);
        if of_flow { limiter.name.clone() } else { format!("{} {}", self.host_of(limiter), limiter.name) }
    }

    fn host_of(&self, limiter: &Limiter) -> String {
        self.s.spec.nodes[limiter.host.at()].name.clone()
    }

    /// Bytes and frames that waited on average.
    fn waiting_in(&self, (part, limiter): (&Fabric, &Limiter)) -> [f64; 2] {
        let inside = limiter.lists().iter().flat_map(|list| part.buffers.pool.iter(list));
        let inside = inside.map(|waiting| (waiting.since, waiting.frame.bytes));
        limiter.sojourns.mean(self.measured, self.end, inside)
    }
}
