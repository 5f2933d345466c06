//! Ideal duration of a message of a queue pair on a path without other traffic, exact to the picosecond.
//!
//! The packets of the message leave back to back, with the extended headers for their position in it. They are preceded
//! by the request of a READ, over the return path, and by the context fetch of a queue pair that has not sent before.
//!
//! Not modelled: the exceptions of the idle path; windows and rates of a control, whose cost the slowdown includes.

use super::idle::IdlePath;
use std::sync::Arc;
use transport::{NicLimits, QueuePairSpec, UetSpec};
use units::Time;

/// A queue pair without other traffic on its path.
pub(super) struct IdleMessage {
    spec: Arc<QueuePairSpec>,
    there: IdlePath,
    back: IdlePath,
    /// Time that the NIC takes to fetch a context.
    fetch: Time,
}

impl IdleMessage {
    pub fn new(
        spec: &Arc<QueuePairSpec>,
        there: IdlePath,
        back: IdlePath,
        nic: Option<&NicLimits>,
    ) -> IdleMessage {
        let fetch = nic.filter(|nic| nic.contexts.is_some()).map_or(Time::ZERO, |nic| nic.context_fetch);
        IdleMessage { spec: spec.clone(), there, back, fetch }
    }

    /// Time until a message of `bytes` is completely delivered, over a new queue pair or a `reused` one.
    pub fn time(&self, bytes: u64, reused: bool) -> Time {
        let mut begins = Time::ZERO;
        if let Some(request) = self.spec.request() {
            begins = self.back.clone().send(Time::ZERO, request);
        }
        if !reused {
            begins += self.fetch;
        }
        let mut way = self.there.clone();
        let runs = self.spec.packets_of(bytes);
        runs.fold(Time::ZERO, |latest, (bytes, packets)| latest.max(way.follow_alike(begins, bytes, packets)))
    }
}

/// A packet delivery context without other traffic on its path.
pub(super) struct IdlePackets {
    spec: Arc<UetSpec>,
    /// The path over each link of the host among which its packets are spread; at least one.
    planes: Vec<IdlePath>,
}

impl IdlePackets {
    pub fn new(spec: &Arc<UetSpec>, planes: Vec<IdlePath>) -> IdlePackets {
        IdlePackets { spec: spec.clone(), planes }
    }

    /// Time until a message of `bytes` is delivered.
    pub fn time(&self, bytes: u64) -> Time {
        let runs = self.spec.packets_of(bytes);
        let mut planes = self.planes.clone();
        let (count, mut first) = (planes.len() as u64, 0);
        runs.fold(Time::ZERO, |latest, (bytes, packets)| {
            // Packets use the planes in turn.
            let from = first;
            let each = (0..count).map(move |nth| ((from + nth) % count, (packets + count - 1 - nth) / count));
            first += packets;
            each.filter(|&(_, packets)| packets > 0).fold(latest, |latest, (plane, packets)| {
                latest.max(planes[plane as usize].follow_alike(Time::ZERO, bytes, packets))
            })
        })
    }
}
