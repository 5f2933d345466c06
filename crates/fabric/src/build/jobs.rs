//! Adds the ranks of jobs to the hosts of a part.

use crate::build::Part;
use crate::build::whole::WHOLE;
use crate::run::fabric::Fabric;
use crate::run::state::event::{Event, EventQueue, Kind};
use crate::run::state::index::{EndpointIx, RankIx};
use crate::run::state::ranks::{Notified, RankState};
use crate::spec::JobSpec;
use jobs::{JobCosts, Rank};
use std::sync::Arc;
use units::Time;

/// Adds the ranks at the hosts of the part, and connects them with their endpoints.
pub fn add(part: &Part, fabric: &mut Fabric) {
    let spec = part.plan.spec;
    if spec.jobs.is_empty() {
        return;
    }
    let mut first_path = Vec::with_capacity(spec.flows.len());
    spec.flows.iter().fold(0, |path, flow| {
        first_path.push(path);
        path + flow.paths()
    });
    fabric.hosts.ranks.notified = vec![None; fabric.hosts.endpoints.len()].into();
    for (number, job) in (0..).zip(&spec.jobs) {
        add_ranks(part, fabric, (number, job));
        connect(fabric, (number, job), &first_path);
    }
    fabric.hosts.ranks.at_port.sort_unstable();
    fabric.hosts.ranks.over_frames = spec.jobs.iter().any(|job| spec.is_over_frames(job));
}

fn add_ranks(part: &Part, fabric: &mut Fabric, (job, spec): (u32, &JobSpec)) {
    let workload = Arc::new(spec.workload.start(spec.ranks()));
    for (number, &host) in (0..).zip(&spec.hosts) {
        let mut ports = part.plan.wiring.ports(host);
        let Some(port) = ports.next().filter(|_| part.owns(host)) else { continue };
        let port = part.port(port.0);
        let computation = spec.computations[number as usize].clone();
        let costs = if number < spec.ranks() { spec.costs } else { JobCosts::default() };
        let machine =
            Rank::new(&workload, number, (costs, computation), spec.start, [spec.iterations, spec.recorded]);
        let state = RankState {
            job,
            number,
            port,
            machine,
            ends: Box::default(),
            times: Vec::new(),
            wakes_at: Time::NEVER,
            deferred: false,
        };
        let rank = fabric.hosts.ranks.ranks.push(state, WHOLE);
        fabric.hosts.ranks.at_port.push((port, rank));
    }
}

/// Registers ranks at their endpoints, and endpoints at their ranks.
fn connect(fabric: &mut Fabric, (index, job): (u32, &JobSpec), first_path: &[usize]) {
    let ranks = &fabric.hosts.ranks.ranks;
    let mut own: Vec<Option<RankIx>> = vec![None; job.hosts.len()];
    for (rank, state) in ranks.enumerated(WHOLE).filter(|(_, state)| state.job == index) {
        own[state.number as usize] = Some(rank);
    }
    for (number, flow) in (0..).zip(&job.flows) {
        let Some((flow, peers)) = flow else { continue };
        let mut ends: Vec<(u32, EndpointIx)> = Vec::new();
        for (nth, &peer) in peers.iter().enumerate() {
            let path = first_path[*flow as usize] + nth;
            let [near, far] = fabric.hosts.endpoints_of_path[path];
            if let (Some(near), Some(rank)) = (near, own[number as usize]) {
                ends.push((peer, near));
                notify(fabric, near, Notified { rank, peer, sends: true });
            }
            if let (Some(far), Some(rank)) = (far, own[peer as usize]) {
                notify(fabric, far, Notified { rank, peer: number, sends: false });
            }
        }
        if let Some(rank) = own[number as usize] {
            ends.sort_unstable_by_key(|&(peer, _)| peer);
            fabric.hosts.ranks.ranks[rank].ends = ends.into();
        }
    }
}

fn notify(fabric: &mut Fabric, endpoint: EndpointIx, notified: Notified) {
    fabric.hosts.endpoints[endpoint].awaited = true;
    fabric.hosts.ranks.notified[endpoint] = Some(notified);
}

/// Schedules the first call of each rank.
pub fn start(fabric: &mut Fabric, events: &mut EventQueue) {
    for rank in fabric.hosts.ranks.ranks.keys(WHOLE) {
        let state = &mut fabric.hosts.ranks.ranks[rank];
        let at = state.machine.calls_at();
        if at < Time::NEVER {
            state.wakes_at = at;
            events.push(Event::bare(Kind::Rank, at, state.port));
        }
    }
}
