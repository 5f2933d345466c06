//! Jobs: converts each rank that sends to a flow, on which the rank posts messages.

use super::topology::Fabric;
use super::{Context, carriers, files, flows, message_files, placements, receivers, reduction, schedules};
use crate::model::{Job, Model};
use crate::place::Place;
use ::jobs::{Algorithm, Computation, JobCosts, MessageList, Pairs, WorkloadSpec};
use fabric::spec::{FlowSpec, JobSpec, Way};
use frame::{NodeId, Priority};
use std::collections::BTreeSet;
use std::sync::Arc;
use transport::ConnectionSpec;
use units::Time;
use workload::{
    Arrivals, Destinations, FrameSizes, Framing, RateBasis, ServiceOrder, SourceSpec, TransferList,
    frame_length,
};

/// Maximum number of iterations.
const MOST_ITERATIONS: u64 = 1_000_000;
/// Maximum number of rows of a timeline.
const MOST_ROWS: u64 = 100_000_000;
/// Maximum duration of a computation or cost.
const LARGEST_COST: Time = Time::from_ms(1_000_000);

/// Converts jobs and their flows, which follow `first` other flows. Returns `None` after an error.
pub fn lower(
    model: &Model,
    fabric: &Fabric,
    first: usize,
    context: &mut Context<'_>,
) -> Option<(Vec<FlowSpec>, Vec<JobSpec>)> {
    let flows = model.flows.iter().map(|flow| flow.name.as_str());
    let mut names: BTreeSet<&str> =
        flows.chain(model.transfers.iter().map(|entry| entry.name.as_str())).collect();
    context.clean(|context| {
        let (mut made, mut jobs) = (Vec::new(), Vec::new());
        for (i, job) in model.jobs.iter().enumerate() {
            let at = Place::of("jobs").index(i);
            if !flows::is_flow_name(&job.name) || job.name.contains('[') {
                let help =
                    "expected letters and digits, without brackets, quotes, commas or control characters";
                context.error(&at.key("name"), format!("\"{}\" is not a name for a job", job.name), help);
            } else if !names.insert(&job.name) {
                let message = format!("the name \"{}\" is used twice", job.name);
                let help = "names of flows, transfers and jobs must differ";
                context.error(&at.key("name"), message, help);
            }
            if let Some((spec, flows)) = one(job, model, &at, fabric, (first + made.len(), context)) {
                jobs.push(spec);
                made.extend(flows);
            }
            if context.full() {
                break;
            }
        }
        (made, jobs)
    })
}

fn one(
    job: &Job,
    model: &Model,
    at: &Place,
    fabric: &Fabric,
    (first, context): (usize, &mut Context<'_>),
) -> Option<(JobSpec, Vec<FlowSpec>)> {
    let frame = files::take(frame_length(job.frame), &at.key("frame"), context)?;
    let carrier = carriers::of_job(job, frame, at, context);
    check_keys(job, model, at, context);
    let mut hosts = hosts(job, model.simulation.seed, at, fabric, context);
    let workload = workload(job, &mut hosts, at, fabric, context);
    let ((framing, connection), workload) = carrier.zip(workload)?;
    // Units are numbered after the ranks.
    let (all, units) = (hosts.len() as u32, workload.units());
    let ranks = all - units;
    let started = workload.start(ranks);
    let peers = started.peers(all);
    let costs = JobCosts { overhead: job.overhead, overhead_per_byte: job.overhead_per_byte };
    let mut computations = computations(job, model, &hosts[..ranks as usize], at, (fabric, &mut *context))?;
    computations.extend((0..units).map(|_| Computation::each(Time::ZERO)));
    let computes = computations.iter().any(|own| !own.is_none());
    let fit = job.timeline_rows / started.steps(all, &costs, computes).max(1);
    if !context.spend(peers.iter().map(Vec::len).sum(), &at.key("ranks")) {
        return None;
    }
    let (mut made, mut of_ranks) = (Vec::new(), Vec::new());
    for (rank, peers) in peers.into_iter().enumerate() {
        if peers.is_empty() {
            of_ranks.push(None);
            continue;
        }
        let to: Vec<NodeId> = peers.iter().map(|&peer| hosts[peer as usize]).collect();
        let (from, stop) = (hosts[rank], model.simulation.duration);
        let name = format!("{}[{}]", job.name, context.units.name(from, fabric));
        made.push(flow(job, model, (name, from, to), (framing, &connection, stop)));
        of_ranks.push(Some(((first + made.len() - 1) as u32, peers)));
    }
    let spec = JobSpec {
        name: job.name.clone(),
        hosts,
        workload,
        costs,
        computations,
        start: job.start,
        iterations: job.iterations as u32,
        recorded: fit.min(job.iterations) as u32,
        flows: of_ranks,
    };
    Some((spec, made))
}

/// Returns the hosts of the ranks, in order of rank.
fn hosts(job: &Job, seed: u64, at: &Place, fabric: &Fabric, context: &mut Context<'_>) -> Vec<NodeId> {
    let (at_place, at) = (at, at.key("ranks"));
    let before = context.errors;
    let mut hosts = receivers::select(&job.ranks, false, &at, fabric, context).nodes;
    if hosts.len() < 2 && context.errors == before {
        let message = format!("a job of {}", if hosts.is_empty() { "no rank" } else { "one rank" });
        context.error(&at, message, "expected at least 2 hosts, like \"all\" or [\"h0\", \"h1\"]");
    }
    let apart =
        |&&to: &&NodeId| hosts.first().is_some_and(|&first| first != to && !fabric.reaches(first, to));
    if let Some(&to) = hosts.iter().find(apart).filter(|_| !fabric.is_one_piece()) {
        let message = format!("\"{}\" cannot be reached from all ranks", fabric.name(to));
        context.error(&at, message, "expected a way through switches: hosts do not forward");
    }
    let placed = at_place.key("placement");
    placements::place(&mut hosts, job, seed, (fabric, &placed, context));
    hosts
}

/// Number of random factors that are drawn for a rank; after the last, the rank starts again with the first.
const DRAWS: u64 = 4_096;

/// Returns the computations of each rank.
fn computations(
    job: &Job,
    model: &Model,
    hosts: &[NodeId],
    at: &Place,
    (fabric, context): (&Fabric, &mut Context<'_>),
) -> Option<Vec<Computation>> {
    let before: Arc<[Time]> = job.compute.times().into();
    let jitter = job.compute_jitter.unwrap_or(0.0);
    if !(0.0..=10.0).contains(&jitter) {
        context.error(
            &at.key("compute_jitter"),
            format!("a jitter of {jitter}"),
            "expected a number, 0 to 10",
        );
        return None;
    }
    let (mut slow, mut slowdown) = (BTreeSet::new(), 1.0);
    if let Some(keys) = &job.stragglers {
        let at = at.key("stragglers");
        let found = receivers::select(&keys.hosts, false, &at.key("hosts"), fabric, context).nodes;
        if !(1.0..=1_000.0).contains(&keys.slowdown) {
            let message = format!("a slowdown of {}", keys.slowdown);
            context.error(&at.key("slowdown"), message, "expected a number, 1 to 1000");
            return None;
        }
        if let Some(other) = found.iter().find(|host| !hosts.contains(host)) {
            let message = format!("\"{}\" is the host of no rank of \"{}\"", fabric.name(*other), job.name);
            context.warn(&at.key("hosts"), message, "it computes nothing; name hosts of `ranks`");
        }
        (slow, slowdown) = (found.into_iter().collect(), keys.slowdown);
    }
    let idle = job.workload.collective.is_some() && before.iter().all(|&time| time == Time::ZERO);
    let written =
        [("compute_jitter", job.compute_jitter.is_some()), ("stragglers", job.stragglers.is_some())];
    for (key, _) in written.into_iter().filter(|&(_, written)| written && idle) {
        let message = format!("`{key}` has no effect: no rank of \"{}\" computes", job.name);
        context.warn(&at.key(key), message, "add `compute`, or leave it out");
    }
    let of_rank = |(rank, host): (usize, &NodeId)| {
        let own = if slow.contains(host) { slowdown } else { 1.0 };
        if jitter == 0.0 {
            return Computation::new(before.clone(), [own]);
        }
        let mut random = engine::stream(model.simulation.seed, &format!("jobs/{}/compute/{rank}", job.name));
        let draws = (0..DRAWS).map(|_| own * (1.0 + jitter * workload::exponential(&mut random)));
        Computation::new(before.clone(), draws)
    };
    Some(hosts.iter().enumerate().map(of_rank).collect())
}

fn workload(
    job: &Job,
    hosts: &mut Vec<NodeId>,
    at: &Place,
    fabric: &Fabric,
    context: &mut Context<'_>,
) -> Option<WorkloadSpec> {
    let at = at.key("workload");
    if hosts.len() < 2 {
        return None;
    }
    let (spec, unused) = job
        .workload
        .spec(hosts.len() as u64)
        .map_err(|wrong| wrong.into_iter().for_each(|why| context.refuse(why, &at)))
        .ok()?;
    unused.into_iter().for_each(|why| context.beware(why, &at));
    if let Some(spec) = spec {
        if spec.algorithm != Algorithm::InNetwork {
            return Some(WorkloadSpec::Collective(spec));
        }
        let (own, units) = reduction::lower(job, hosts, &at, fabric, context)?;
        hosts.extend(units);
        return Some(WorkloadSpec::InNetwork(spec, own));
    }
    if job.workload.goal.is_none() {
        return messages(job, hosts, &at, fabric, context);
    }
    let program = schedules::read(job.workload.goal.as_ref()?, &at.key("goal"), context)?;
    let (ranks, given) = (program.ranks().len(), hosts.len());
    let help = format!("expected {ranks} hosts in `ranks`");
    if ranks > given {
        let message = format!("a schedule of {ranks} ranks at {given} hosts");
        context.error(&at.key("goal"), message, help);
        return None;
    }
    if ranks < given {
        let message =
            format!("a schedule of {ranks} ranks at {given} hosts: the last {} have none", given - ranks);
        context.warn(&at.key("goal"), message, help);
        hosts.truncate(ranks);
    }
    Some(WorkloadSpec::Program(Arc::new(program), job.workload.eager()))
}

/// Returns the list of messages; for a session an empty one, to which the session adds.
fn messages(
    job: &Job,
    hosts: &[NodeId],
    at: &Place,
    fabric: &Fabric,
    context: &mut Context<'_>,
) -> Option<WorkloadSpec> {
    let mut list = MessageList::new(hosts.len());
    if let Some(file) = &job.workload.messages {
        list.extend(message_files::read(file, &at.key("messages"), (fabric, hosts), context)?);
    }
    let session = job.workload.session;
    list.all_pairs = session || job.workload.pairs == Some(Pairs::All);
    if session && job.workload.pairs == Some(Pairs::Used) {
        let help = "leave it out, and list in `ranks` the hosts that the session sends between";
        context.warn(&at.key("pairs"), "`pairs = \"used\"` has no effect on a session".to_string(), help);
    }
    Some(WorkloadSpec::Messages(Arc::new(list)))
}

fn check_keys(job: &Job, model: &Model, at: &Place, context: &mut Context<'_>) {
    flows::priority(job.priority, at, context);
    flows::dscp(job.dscp, job.priority, model, at, context);
    if !(1..=MOST_ITERATIONS).contains(&job.iterations) {
        let help = format!("expected a count, 1 to {MOST_ITERATIONS}");
        context.error(&at.key("iterations"), format!("{} iterations", job.iterations), help);
    }
    if job.compute.times().is_empty() {
        context.error(&at.key("compute"), "an empty list of times", "expected at least one time");
    }
    let has_times = job.workload.messages.is_some() || job.workload.session;
    if has_times && job.iterations > 1 {
        let message = format!("{} iterations of messages that have times of their own", job.iterations);
        context.error(&at.key("iterations"), message, "expected 1");
    }
    if has_times && job.compute.times().iter().any(|&time| time > Time::ZERO) {
        let message = "a computation before messages that have times of their own".to_string();
        context.error(&at.key("compute"), message, "expected the column `compute` of the messages, or none");
    }
    let compute = job.compute.times().iter().map(|&time| ("compute", time));
    let costs = [("overhead", job.overhead), ("overhead_per_byte", job.overhead_per_byte)];
    for (key, time) in compute.chain(costs).filter(|&(_, time)| time > LARGEST_COST) {
        context.error(&at.key(key), format!("{key} {time}"), format!("expected at most {LARGEST_COST}"));
    }
    if job.timeline_rows > MOST_ROWS {
        let help = format!("expected a count, 0 to {MOST_ROWS}");
        context.error(&at.key("timeline_rows"), format!("{} rows", job.timeline_rows), help);
    }
    let end = model.simulation.duration;
    if job.start >= end {
        let message = format!("a job from {} on, after the end of the simulation", job.start);
        context.warn(&at.key("start"), message, format!("it does not begin; the duration is {end}"));
    }
}

/// Creates the flow of a rank.
fn flow(
    job: &Job,
    model: &Model,
    (name, from, to): (String, NodeId, Vec<NodeId>),
    (framing, connection, stop): (Framing, &Arc<ConnectionSpec>, Time),
) -> FlowSpec {
    FlowSpec {
        name,
        from,
        priority: Priority(job.priority as u8),
        source: SourceSpec {
            sizes: FrameSizes::Fixed(framing.frame),
            arrivals: Arrivals::Transfers(Arc::new(TransferList::new(framing, ServiceOrder::RoundRobin))),
            rate_basis: RateBasis::Frame,
            destinations: if let [one] = to[..] {
                Destinations::Fixed(one)
            } else {
                Destinations::Uniform(to)
            },
            start: job.start,
            stop: Some(stop),
            script: Vec::new(),
            limit: None,
            jitter: Time::ZERO,
        },
        color: model.color(None, job.dscp),
        way: Way::Shortest,
        transport: Some(connection.clone()),
        ports: None,
        tuples: Vec::new(),
        bypassable: false,
    }
}
