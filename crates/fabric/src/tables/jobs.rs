//! Jobs: their iterations, the time of their ranks, and the messages between these.

use super::View;
use crate::run::state::ranks::RankState;
use crate::simulation::precision::step_times;
use crate::spec::JobSpec;
use measure::table::{integer, real, real_or_null, text};
use measure::{TableBuilder, TableSpec};
use units::Time;

/// Columns of `jobs`.
pub(super) static JOBS: TableSpec = TableSpec {
    name: "jobs",
    about: "One row per job.",
    columns: &[&[
        text("job", "Name of the job."),
        integer("ranks", "", "Number of ranks."),
        text("collective", "Operation of an iteration; \"program\" for a schedule."),
        text("algorithm", "Algorithm of the collective; empty for a schedule."),
        integer("bytes", "B", "`bytes` of the scenario, for one iteration; 0 for a schedule."),
        integer("iterations", "", "Iterations configured in the scenario."),
        integer(
            "ends_after",
            "",
            "Iterations after which the job ends: fewer than configured if `until` stopped it. Its other figures are then estimates.",
        ),
        text(
            "until",
            "Precision of the iteration time at which all jobs stop, as configured; empty without.",
        ),
        integer("finished", "", "Iterations that all ranks have finished, or that were skipped."),
        integer(
            "skipped",
            "",
            "Iterations that were not simulated because they repeat others exactly (`skip`). All tables include them, but `rank_steps`.",
        ),
        integer(
            "skipped_phases",
            "",
            "Steps of a ring that were not simulated in the other iterations because each repeats the previous one exactly (`skip = \"phases\"`).",
        ),
        integer(
            "repeats_from",
            "",
            "First iteration, from 0, at whose start the state of the whole run recurred after `repeat_period` iterations; 0 if none was found.",
        ),
        integer(
            "repeat_period",
            "",
            "Iterations after which the state of the whole run recurs, except for a shift in time, so that all later iterations repeat; 0 if no repetition was found.",
        ),
        real_or_null(
            "repeat_ns",
            "ns",
            "Duration of `repeat_period` iterations; null if no repetition was found.",
        ),
        text(
            "not_repeated",
            "Reason why no repetition was found; empty if one was found, or if fewer than two states were compared.",
        ),
        real_or_null("start_ns", "ns", "Start of the first rank; null if none has started."),
        real_or_null("end_ns", "ns", "End of the last iteration at the last rank; null if it has not ended."),
        real_or_null(
            "step_ns",
            "ns",
            "Mean time of an iteration: time from the first start to the end of the last finished one, divided by their number; null if none is finished.",
        ),
        real_or_null(
            "step_half_width_ns",
            "ns",
            "Half the width of the confidence interval of the mean iteration time, at the confidence of `until`, from the means of ten batches of consecutive iterations; null without `until`, and with fewer than ten finished iterations.",
        ),
        real_or_null(
            "compute_ns",
            "ns",
            "Computation time per iteration of a rank: before the collective, or in operations of a schedule. Mean over ranks and finished iterations.",
        ),
        real_or_null(
            "exposed_ns",
            "ns",
            "Exposed communication, which does not overlap with computation: time per iteration in which a rank does not compute. Mean over ranks and finished iterations.",
        ),
        real_or_null(
            "algorithm_bps",
            "b/s",
            "Algorithm bandwidth as in nccl-tests: `bytes` divided by the mean time of the collective (see `collectives`).",
        ),
        real_or_null(
            "bus_bps",
            "b/s",
            "Bus bandwidth as in nccl-tests: algorithm bandwidth times the share of the bytes that each NIC must send, for comparison with its rate. The share is 2 (n - 1)/n for all_reduce, (n - 1)/n for reduce_scatter, all_gather and all_to_all, and 1 for others.",
        ),
        real(
            "bound_bps",
            "b/s",
            "Upper bound of the bus bandwidth: the rate of the slowest link of a host of the job; for an all-reduce in the network 2 (n - 1)/n times that rate, because each link carries the bytes once.",
        ),
        integer("messages", "", "Messages posted by its ranks."),
        integer("bytes_sent", "B", "Bytes of these."),
        real(
            "stalled_ns",
            "ns",
            "For an unfinished job, time until the end of the run in which no rank received data, in steps of a 16th of the duration; 0 if all ranks have finished.",
        ),
        integer(
            "recorded",
            "",
            "Number of iterations, from the first one, whose steps are in the table `rank_steps` (see `timeline_rows`).",
        ),
    ]],
};

/// Columns of `collectives`.
pub(super) static COLLECTIVES: TableSpec = TableSpec {
    name: "collectives",
    about: "One row per job and iteration that all ranks have finished.",
    columns: &[&[
        text("job", "Name of the job."),
        integer("iteration", "", "Number of the iteration, from 0."),
        text("collective", "Operation; \"program\" for a schedule."),
        text("algorithm", "Algorithm of the collective; empty for a schedule."),
        integer("bytes", "B", "`bytes` of the scenario; 0 for a schedule."),
        real(
            "start_ns",
            "ns",
            "Time at which the first rank had finished computing and started the collective.",
        ),
        real("end_ns", "ns", "Time at which the last rank finished it."),
        real("time_ns", "ns", "Time from `start_ns` to `end_ns`."),
        real_or_null(
            "bound_ns",
            "ns",
            "Lower bound for any algorithm: the time to send the bytes that each NIC must send, without headers, at the rate of the slowest link of a host; in the network, the time to send all bytes once. Null for a schedule.",
        ),
        real_or_null("algorithm_bps", "b/s", "`bytes` divided by `time_ns`; null for a schedule."),
        real_or_null("bus_bps", "b/s", "Bus bandwidth; see `jobs`."),
        real(
            "straggler",
            "",
            "Excess of the time of the slowest rank over that of the median rank, as a share of the latter; the time of each rank counts from its own start.",
        ),
        text("slowest_rank", "Host of the slowest rank."),
    ]],
};

/// Columns of `messages`.
pub(super) static MESSAGES: TableSpec = TableSpec {
    name: "messages",
    about: "One row per job and pair of ranks with messages from the first to the second.",
    columns: &[&[
        text("job", "Name of the job."),
        integer(
            "rank",
            "",
            "Sending rank; units of a reduction in the network are numbered after the ranks.",
        ),
        integer("peer", "", "Receiving rank or unit."),
        text("source", "Sending host."),
        text("destination", "Host of `peer`."),
        integer("messages", "", "Messages that are acknowledged, or, over frames, have left the NIC."),
        integer("bytes", "B", "Bytes of these."),
        real_or_null(
            "time_mean_ns",
            "ns",
            "Mean time from posting to acknowledgement, or, over frames, until the last bit has left the NIC; null without messages.",
        ),
        real_or_null("time_max_ns", "ns", "Longest of these; null without messages."),
        integer(
            "unacknowledged",
            "",
            "Messages posted and not acknowledged at the end of the run, or, over frames, still in the NIC.",
        ),
    ]],
};

/// A job with its ranks.
struct JobRow<'a> {
    spec: &'a JobSpec,
    ranks: Vec<&'a RankState>,
    units: Vec<&'a RankState>,
}

/// A finished iteration of a job.
#[derive(Clone, Copy)]
struct Iteration {
    began: Time,
    computed: Time,
    ended: Time,
    /// Time of the slowest rank and of the median rank, and the number of the slowest.
    slowest: (Time, Time, u32),
}

fn mean(values: impl Iterator<Item = f64>) -> f64 {
    let (sum, count) = values.fold((0.0, 0u64), |(sum, count), one| (sum + one, count + 1));
    if count == 0 { f64::NAN } else { sum / count as f64 }
}

impl JobRow<'_> {
    /// Number of iterations that all ranks have ended.
    fn finished(&self) -> usize {
        self.ranks.iter().map(|rank| rank.machine.passed()).min().unwrap_or(0)
    }
    fn iterations(&self) -> impl Iterator<Item = Iteration> + '_ {
        (0..self.finished()).map(|nth| {
            let times = || self.ranks.iter().map(move |rank| rank.machine.time_of(nth));
            let mut took: Vec<(Time, u32)> =
                times().zip(0..).map(|(own, rank)| (own.ended - own.began, rank)).collect();
            took.sort_unstable_by_key(|&(time, rank)| (time, std::cmp::Reverse(rank)));
            let median = took[took.len() / 2].0;
            let (slowest, rank) = took[took.len() - 1];
            Iteration {
                began: times().map(|own| own.began).min().unwrap_or_default(),
                computed: times().map(|own| own.computed).min().unwrap_or_default(),
                ended: times().map(|own| own.ended).max().unwrap_or_default(),
                slowest: (slowest, median, rank),
            }
        })
    }
    /// Mean time of the collective, in seconds; NaN if none has finished.
    fn collective_secs(&self) -> f64 {
        mean(self.iterations().map(|one| (one.ended - one.computed).as_secs_f64()))
    }
    /// Time of each rank and finished iteration without and with computation, in nanoseconds.
    fn parts(&self) -> impl Iterator<Item = (f64, f64)> + '_ {
        let finished = self.finished();
        let ranks = self.ranks.iter();
        ranks.flat_map(move |rank| (0..finished).map(|nth| rank.machine.time_of(nth))).map(|own| {
            let compute = own.computing.as_ns_f64();
            ((own.ended - own.began).as_ns_f64() - compute, compute)
        })
    }
    /// Number of iterations whose steps are recorded: those before the first one of which a part was skipped.
    fn recorded(&self) -> u64 {
        let whole = self.ranks.iter().map(|rank| rank.machine.whole_iterations() as u64);
        whole.fold(self.spec.recorded.into(), u64::min)
    }
    /// Number of iterations that were skipped.
    fn skipped(&self) -> u64 {
        let skipped = self.ranks.first().and_then(|rank| rank.machine.skipped());
        skipped.map_or(0, |own| own.len() as u64)
    }
    /// Number of iterations that it runs, including skipped ones.
    fn ends_after(&self) -> u64 {
        self.ranks.first().map_or(0, |rank| rank.machine.iterations().into()) + self.skipped()
    }
    /// Number of steps of a ring that were skipped in simulated iterations.
    fn skipped_phases(&self) -> u64 {
        self.ranks.first().map_or(0, |rank| rank.machine.phases_skipped())
    }
    /// Messages and bytes that ranks have posted, including those of skipped iterations and phases.
    fn posted(&self) -> [u64; 2] {
        let counts = self.ranks.iter().map(|own| own.machine.counts());
        counts.fold([0, 0], |sum, own| [sum[0] + own.sent, sum[1] + own.bytes_sent])
    }
    fn factor(&self) -> f64 {
        self.spec.workload.bus_factor(self.spec.ranks())
    }
    /// Bits of an iteration; NaN for a schedule.
    fn bits(&self) -> f64 {
        let known = self.spec.workload.collective();
        known.map_or(f64::NAN, |own| own.bytes as f64 * 8.0)
    }
}

impl View<'_> {
    fn job_rows(&self) -> Vec<JobRow<'_>> {
        let all = self.s.ranks();
        let of = |job: u32, spec: &JobSpec| {
            let of_job = all.iter().copied().filter(|state| state.job == job);
            of_job.partition(|state| state.number < spec.ranks())
        };
        let row = |(number, spec)| {
            let (ranks, units) = of(number, spec);
            JobRow { spec, ranks, units }
        };
        (0..).zip(&self.s.spec.jobs).map(row).collect()
    }

    /// Rate of the slowest link of any host of a job, in bit/s.
    fn slowest_link(&self, spec: &JobSpec) -> f64 {
        let links = |node: frame::NodeId| {
            let ports = self.s.wiring.ports(node);
            let slower = |port: frame::PortId| {
                let rates = self.s.link_spec(port.0).rates.map(|rate| rate.bps_f64());
                rates[0].min(rates[1])
            };
            ports.map(slower)
        };
        spec.rank_hosts().iter().flat_map(|&host| links(host).reduce(f64::max)).fold(f64::INFINITY, f64::min)
    }

    /// Upper bound of the bus bandwidth by the slowest link of any host of a job, in bit/s.
    fn bound_bps(&self, spec: &JobSpec) -> f64 {
        spec.workload.bound_bps(spec.ranks(), self.slowest_link(spec))
    }

    /// Returns the jobs, with one row each.
    pub fn jobs(&self) -> TableBuilder {
        let rows = self.job_rows();
        let stalled = self.s.stalled();
        let start = |row: &JobRow<'_>| {
            let first = row.ranks.iter().filter_map(|rank| rank.machine.times().first()).map(|own| own.began);
            first.min()
        };
        let done = |row: &JobRow<'_>| row.ranks.iter().all(|rank| rank.machine.is_done());
        let interval = |row: &JobRow<'_>| {
            let precision = self.s.spec.guards.until?;
            Some(precision.interval(&step_times(&row.ranks))?.half_width / 1_000.0)
        };
        let last = |row: &JobRow<'_>| row.iterations().last().map(|one| one.ended);
        let step = |row: &JobRow<'_>| {
            let (first, last) = (row.iterations().next()?, last(row)?);
            Some((last - first.began).as_ns_f64() / row.finished() as f64)
        };
        let or_null = |time: Option<Time>| time.map_or(f64::NAN, Time::as_ns_f64);
        let found = |job: usize| self.s.recurrence_of(job);
        JOBS.builder()
            .texts("job", rows.iter().map(|row| row.spec.name.clone()))
            .integers("ranks", rows.iter().map(|row| row.spec.ranks().into()))
            .texts("collective", rows.iter().map(|row| row.spec.workload.name().into()))
            .texts("algorithm", rows.iter().map(|row| row.spec.workload.algorithm().into()))
            .integers("bytes", rows.iter().map(|row| row.spec.workload.bytes()))
            .integers("iterations", rows.iter().map(|row| row.spec.iterations.into()))
            .integers("ends_after", rows.iter().map(JobRow::ends_after))
            .texts(
                "until",
                rows.iter().map(|_| self.s.spec.guards.until.map_or_else(String::new, |own| own.to_string())),
            )
            .integers("finished", rows.iter().map(|row| row.finished() as u64))
            .integers("skipped", rows.iter().map(JobRow::skipped))
            .integers("skipped_phases", rows.iter().map(JobRow::skipped_phases))
            .integers("repeats_from", (0..rows.len()).map(|job| found(job).map_or(0, |own| own.first as u64)))
            .integers(
                "repeat_period",
                (0..rows.len()).map(|job| found(job).map_or(0, |own| own.period as u64)),
            )
            .reals("repeat_ns", (0..rows.len()).map(|job| or_null(found(job).map(|own| own.takes))))
            .texts("not_repeated", (0..rows.len()).map(|job| self.s.not_recurred(job)))
            .reals("start_ns", rows.iter().map(|row| or_null(start(row))))
            .reals("end_ns", rows.iter().map(|row| or_null(last(row).filter(|_| done(row)))))
            .reals("step_ns", rows.iter().map(|row| step(row).unwrap_or(f64::NAN)))
            .reals("step_half_width_ns", rows.iter().map(|row| interval(row).unwrap_or(f64::NAN)))
            .reals("compute_ns", rows.iter().map(|row| mean(row.parts().map(|(_, compute)| compute))))
            .reals("exposed_ns", rows.iter().map(|row| mean(row.parts().map(|(exposed, _)| exposed))))
            .reals("algorithm_bps", rows.iter().map(|row| row.bits() / row.collective_secs()))
            .reals("bus_bps", rows.iter().map(|row| row.bits() / row.collective_secs() * row.factor()))
            .reals("bound_bps", rows.iter().map(|row| self.bound_bps(row.spec)))
            .integers("messages", rows.iter().map(|row| row.posted()[0]))
            .integers("bytes_sent", rows.iter().map(|row| row.posted()[1]))
            .reals(
                "stalled_ns",
                rows.iter().zip(stalled).map(|(row, own)| if done(row) { 0.0 } else { own.as_ns_f64() }),
            )
            .integers("recorded", rows.iter().map(JobRow::recorded))
    }

    /// Returns the iterations of jobs, with one row each.
    pub fn collectives(&self) -> TableBuilder {
        let jobs = self.job_rows();
        let rows: Vec<(&JobRow<'_>, u64, Iteration)> = jobs
            .iter()
            .flat_map(|job| (0..).zip(job.iterations()).map(move |(nth, one)| (job, nth, one)))
            .collect();
        let secs = |one: &Iteration| (one.ended - one.computed).as_secs_f64();
        let rate = |row: &(&JobRow<'_>, u64, Iteration)| row.0.bits() / secs(&row.2);
        let straggler = |one: &Iteration| {
            let (slowest, median, _) = one.slowest;
            if median == Time::ZERO { 0.0 } else { (slowest - median).as_ns_f64() / median.as_ns_f64() }
        };
        COLLECTIVES
            .builder()
            .texts("job", rows.iter().map(|row| row.0.spec.name.clone()))
            .integers("iteration", rows.iter().map(|row| row.1))
            .texts("collective", rows.iter().map(|row| row.0.spec.workload.name().into()))
            .texts("algorithm", rows.iter().map(|row| row.0.spec.workload.algorithm().into()))
            .integers("bytes", rows.iter().map(|row| row.0.spec.workload.bytes()))
            .reals("start_ns", rows.iter().map(|row| row.2.computed.as_ns_f64()))
            .reals("end_ns", rows.iter().map(|row| row.2.ended.as_ns_f64()))
            .reals("time_ns", rows.iter().map(|row| secs(&row.2) * 1e9))
            .reals(
                "bound_ns",
                rows.iter().map(|row| {
                    let spec = row.0.spec;
                    spec.workload.bound_secs(spec.ranks(), self.slowest_link(spec)) * 1e9
                }),
            )
            .reals("algorithm_bps", rows.iter().map(rate))
            .reals("bus_bps", rows.iter().map(|row| rate(row) * row.0.factor()))
            .reals("straggler", rows.iter().map(|row| straggler(&row.2)))
            .texts(
                "slowest_rank",
                rows.iter().map(|row| self.node_name(row.0.spec.hosts[row.2.slowest.2 as usize])),
            )
    }

    /// Returns the messages of jobs, with one row per pair of ranks.
    pub fn messages(&self) -> TableBuilder {
        let jobs = self.job_rows();
        let rows: Vec<_> = jobs
            .iter()
            .flat_map(|job| job.ranks.iter().chain(&job.units).map(move |rank| (job, *rank)))
            .flat_map(|(job, rank)| rank.machine.peers().map(move |(peer, counts)| (job, rank, peer, counts)))
            .collect();
        let host = |job: &JobRow<'_>, rank: u32| self.node_name(job.spec.hosts[rank as usize]);
        let or_null = |time: f64, messages: u64| if messages == 0 { f64::NAN } else { time };
        MESSAGES
            .builder()
            .texts("job", rows.iter().map(|row| row.0.spec.name.clone()))
            .integers("rank", rows.iter().map(|row| row.1.number.into()))
            .integers("peer", rows.iter().map(|row| row.2.into()))
            .texts("source", rows.iter().map(|row| host(row.0, row.1.number)))
            .texts("destination", rows.iter().map(|row| host(row.0, row.2)))
            .integers("messages", rows.iter().map(|row| row.3.messages))
            .integers("bytes", rows.iter().map(|row| row.3.bytes))
            .reals(
                "time_mean_ns",
                rows.iter()
                    .map(|row| or_null(row.3.time.as_ns_f64() / row.3.messages as f64, row.3.messages)),
            )
            .reals("time_max_ns", rows.iter().map(|row| or_null(row.3.time_max.as_ns_f64(), row.3.messages)))
            .integers("unacknowledged", rows.iter().map(|row| row.1.machine.unsent(row.2).count() as u64))
    }
}
