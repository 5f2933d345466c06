//! What rate limiters have heard, and what waited in them.

use super::View;
use crate::run::state::limiter_counts::Slowed;
use crate::run::state::limiters::Limiter;
use crate::run::state::world::Fabric;
use frame::PRIORITIES;
use measure::Table;
use queueing::PathFacts;
use units::BitRate;

/// Tags and messages of limiters, and what they know of their paths from them.
fn with_tags(table: Table, limiters: &[&Limiter]) -> Table {
    let integers = |of: fn(&Limiter) -> u64| limiters.iter().map(move |it| of(it));
    let known = |of: fn(PathFacts) -> f64| limiters.iter().map(move |it| it.path().map_or(0.0, of));
    table
        .integers(
            "tags_sent",
            "",
            "Frames among them with a tag, and messages that asked about its path.",
            integers(|it| it.measured.tags_sent),
        )
        .integers(
            "marks",
            "",
            "Frames that left it with a mark, because of what waited in it.",
            integers(|it| it.measured.marks),
        )
        .integers(
            "tags_returned",
            "",
            "Tags and messages that came back from receivers.",
            integers(|it| it.measured.tags_returned),
        )
        .integers(
            "hops",
            "",
            "Congestion points on its path; 0 if it has not asked.",
            integers(|it| it.path().map_or(0, |path| path.hops.into())),
        )
        .reals(
            "slowest_bps",
            "b/s",
            "Rate of the slowest link of its path; 0 if it has not asked.",
            known(|path| path.slowest.bps_f64()),
        )
        .reals(
            "round_trip_min_ns",
            "ns",
            "Shortest round trip of a message on its path; 0 if it has not asked.",
            known(|path| path.round_trip.as_ns_f64()),
        )
}

impl View<'_> {
    /// Rate limiters of hosts.
    pub(super) fn rate_limiters(&self) -> Table {
        let rows = self.s.limiters();
        let integers = |of: fn(&Limiter) -> u64| rows.iter().map(|row| of(row.1)).collect::<Vec<_>>();
        let rates =
            |of: fn(&Limiter) -> BitRate| rows.iter().map(|row| of(row.1).bps_f64()).collect::<Vec<_>>();
        let messages: Vec<_> = rows.iter().map(|row| row.1.measured.messages.summary()).collect();
        let waiting: Vec<[f64; 2]> = rows.iter().map(|&row| self.waiting_in(row)).collect();
        let table = Table::new("rate_limiters", "One row per rate limiter of a host.")
            .texts("host", "Name of the host.", rows.iter().map(|row| self.host_of(row.1)))
            .texts(
                "limiter",
                "What passes it: a flow, the frames of a priority, to one destination or to all, or all to one destination.",
                rows.iter().map(|row| row.1.name.clone()),
            )
            .integers("priority", "", "Priority of its frames; of several the highest.", integers(|it| it.priority.0.into()))
            .texts(
                "control",
                "The control that sets its rate.",
                rows.iter().map(|row| row.1.control_name().into()),
            )
            .integers(
                "messages",
                "",
                "Congestion messages that it has received.",
                integers(|it| it.measured.messages.count()),
            )
            .integers(
                "messages_foreign",
                "",
                "Congestion messages that came as `control_frame`, and from no congestion point of the fabric; not among `messages`.",
                integers(|it| it.measured.foreign),
            )
            .reals(
                "message_delay_min_ns",
                "ns",
                "Shortest time from a congestion message to its arrival.",
                messages.iter().map(|it| it.min),
            )
            .reals("message_delay_max_ns", "ns", "Longest of it.", messages.iter().map(|it| it.max))
            .reals(
                "rate_min_bps",
                "b/s",
                "Lowest rate that a message left it (wire bits); that of the link if none came.",
                rates(Limiter::lowest_rate),
            )
            .reals("rate_end_bps", "b/s", "Its rate at the end (wire bits).", rates(Limiter::rate))
            .integers("frames_sent", "", "Frames that have left it.", integers(|it| it.sent().0))
            .integers(
                "bytes_sent",
                "B",
                "Bytes (DA to FCS) that have left it.",
                integers(|it| it.sent().1),
            );
        with_tags(table, &rows.iter().map(|row| row.1).collect::<Vec<_>>())
            .reals(
                "waiting_mean_bytes",
                "B",
                "Bytes that waited in it on average, over time; what endpoints hold back is not among them.",
                waiting.iter().map(|&[bytes, _]| bytes),
            )
            .integers("waiting_max_bytes", "B", "Most of them.", integers(|it| it.sojourns.max()[0]))
    }

    /// Which congestion points have slowed down which limiters.
    pub(super) fn slowdowns(&self) -> Table {
        let all = self.s.limiters();
        let rows: Vec<(&Limiter, u32, Slowed)> = all
            .iter()
            .flat_map(|&(_, limiter)| {
                limiter.measured.slowed.iter().map(move |&(by, it)| (limiter, by.0, it))
            })
            .collect();
        let classes = PRIORITIES as u32;
        Table::new("slowdowns", "One row per rate limiter and congestion point that has lowered its rate.")
            .texts("host", "Name of the host.", rows.iter().map(|row| self.host_of(row.0)))
            .texts(
                "limiter",
                "What passes it, as in `rate_limiters`.",
                rows.iter().map(|row| row.0.name.clone()),
            )
            .texts(
                "port",
                "Egress port of the congestion point.",
                rows.iter().map(|row| self.s.port_name(row.1 / classes)),
            )
            .integers(
                "class",
                "",
                "Its traffic class; if it measures the port, that of the limiter's frames there (of several the highest).",
                rows.iter().map(|row| self.class_slowed(row)),
            )
            .texts(
                "measures",
                "What is too long for it: the queue of the \"class\", or that of all classes of the \"port\".",
                rows.iter().map(|row| if row.2.of_port { "port" } else { "class" }.into()),
            )
            .integers("times", "", "How often it has lowered the rate.", rows.iter().map(|row| row.2.times))
            .reals(
                "cut_bps",
                "b/s",
                "All these cuts together (wire bits).",
                rows.iter().map(|row| row.2.cut as f64),
            )
            .reals(
                "rate_min_bps",
                "b/s",
                "The lowest rate that it left (wire bits).",
                rows.iter().map(|row| row.2.lowest as f64),
            )
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

    /// What its series is called.
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
        limiter.sojourns.mean(self.start, self.end, inside)
    }
}
