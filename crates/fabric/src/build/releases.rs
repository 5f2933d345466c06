//! Transfers that start at the end of others: the host that starts each, and the ends that it observes.

use crate::build::Part;
use crate::build::whole::WHOLE;
use crate::run::fabric::Fabric;
use crate::run::state::index::SourceIx;
use crate::run::state::releases::{End, Releases, Starter, Waiting};
use crate::spec::transfer_wait::{KnownEnd, TransferRef};
use crate::spec::{FlowSpec, Spec};
use frame::PathId;
use std::collections::{BTreeMap, BTreeSet};
use std::sync::Arc;
use units::Time;
use workload::Due;

/// By flow: the index of each transfer among the transfers to its destination.
#[derive(Default)]
struct Numbers(BTreeMap<u32, Vec<u32>>);

impl Numbers {
    fn of(&mut self, spec: &Spec, of: TransferRef) -> u32 {
        let numbers = self.0.entry(of.flow).or_insert_with(|| {
            let flow = &spec.flows[of.flow as usize];
            let mut counts = vec![0; flow.source.destinations.count()];
            let next = |destination: u32| {
                counts[destination as usize] += 1;
                counts[destination as usize] - 1
            };
            let list = flow.source.transfers().into_iter().flat_map(|list| list.iter());
            list.map(|transfer| transfer.destination).map(next).collect()
        });
        numbers[of.row as usize]
    }
}

/// Returns, by destination, the transfers of a flow that connections carry.
pub fn due(
    (number, flow): (u32, &FlowSpec),
    destinations: usize,
    awaited: &BTreeSet<TransferRef>,
) -> Vec<Arc<[Due]>> {
    let Some(list) = flow.source.transfers() else { return Vec::new() };
    let mut lists = list.by_destination(destinations);
    let first = TransferRef { flow: number, row: 0 };
    if awaited.range(first..).next().is_some_and(|next| next.flow == number) {
        let mut next = vec![0; destinations];
        for (row, transfer) in (0..).zip(list.iter()) {
            let nth = &mut next[transfer.destination as usize];
            lists[transfer.destination as usize][*nth].awaited =
                awaited.contains(&TransferRef { row, ..first });
            *nth += 1;
        }
    }
    lists.into_iter().map(Arc::from).collect()
}

/// Adds the transfers that wait at the part's hosts.
pub fn add(part: &Part, fabric: &mut Fabric) {
    let spec = part.plan.spec;
    let (mut releases, mut numbers) = (Releases::default(), Numbers::default());
    let mut first_path = Vec::with_capacity(spec.flows.len());
    spec.flows.iter().fold(0, |path, flow| {
        first_path.push(path);
        path + flow.paths()
    });
    for (number, wait) in (0..).zip(&spec.waits) {
        let Some(own) = spec.transfer(wait.transfer) else { continue };
        let (host, at) = own.ends.begins_at();
        if !part.owns(host) {
            continue;
        }
        let path = first_path[wait.transfer.flow as usize] + own.destination as usize;
        let endpoint =
            fabric.hosts.endpoints_of_path.get(path).and_then(|ends| ends[usize::from(at == KnownEnd::Far)]);
        let sources = &fabric.hosts.sources;
        let source = || sources.all(WHOLE).binary_search_by_key(&wait.transfer.flow, |state| state.flow).ok();
        let source = || source().map(|at| Starter::Source(SourceIx::of(at as u32, WHOLE), wait.transfer.row));
        let Some(starter) = endpoint.map(Starter::Endpoint).or_else(source) else { continue };
        let waiting = releases.waiting.len() as u32;
        let after: BTreeSet<TransferRef> = wait.after.iter().copied().collect();
        let mut left = 0;
        for other in after {
            let Some(known) = spec.transfer(other) else { continue };
            let Ok(known_end) = known.ends.end_known_to(host) else { continue };
            let path = first_path[other.flow as usize] + known.destination as usize;
            let nth = numbers.of(spec, other);
            let ends = fabric.hosts.endpoints_of_path.get(path).copied().unwrap_or_default();
            let end = match (ends[usize::from(known_end == KnownEnd::Far)], known.flow.transport.is_some()) {
                (Some(endpoint), true) => {
                    fabric.hosts.endpoints[endpoint].awaited = true;
                    End::Endpoint(endpoint, nth)
                }
                _ => End::Receiver(fabric.hosts.receiver_of(PathId(path as u32)), nth),
            };
            releases.after.entry(end).or_default().push(waiting);
            left += 1;
        }
        let nth = numbers.of(spec, wait.transfer);
        releases.waiting.push(Waiting { number, starter, nth, left, began: Time::NEVER });
    }
    fabric.hosts.releases = releases;
}
