//! Runs a workload over an ideal fabric: each NIC sends and receives at a fixed rate, and messages are delivered after
//! a fixed latency.

use crate::rank::{Post, Rank};
use crate::{CollectiveSpec, Computation, JobCosts, WorkloadSpec};
use std::cmp::Reverse;
use std::collections::BinaryHeap;
use std::sync::Arc;
use units::Time;

/// A fabric without contention except at NICs, which serve messages in order of posting.
pub struct Ideal {
    pub ps_per_byte: u64,
    pub latency: Time,
}

/// A message that is about to be received completely: time, order, sender, receiver and label.
type Landing = (Time, u64, u32, u32, u32);

/// Result of a run.
pub struct Outcome {
    pub ranks: Vec<Rank>,
    pub end: Time,
}

/// Runs all ranks to their end, or until no event is pending.
pub fn run(spec: &CollectiveSpec, n: u32, costs: JobCosts, iterations: u32, fabric: &Ideal) -> Outcome {
    run_with(spec, n, (costs, Computation::each(Time::ZERO)), iterations, fabric)
}

/// Variant of [`run`] with computations.
pub fn run_with(
    spec: &CollectiveSpec,
    n: u32,
    own: (JobCosts, Computation),
    iterations: u32,
    fabric: &Ideal,
) -> Outcome {
    let workload = Arc::new(WorkloadSpec::Collective(*spec).start(n));
    let mut ranks: Vec<Rank> =
        (0..n).map(|rank| Rank::new(&workload, rank, own.clone(), Time::ZERO, [iterations; 2])).collect();
    let mut free = vec![[Time::ZERO; 2]; n as usize];
    // Messages whose first byte is yet to reach the receiver, and those that are being received.
    let mut coming = BinaryHeap::new();
    let mut flying: BinaryHeap<Reverse<Landing>> = BinaryHeap::new();
    let (mut order, mut now) = (0u64, Time::ZERO);
    loop {
        for rank in &mut ranks {
            if rank.calls_at() <= now {
                rank.on_time(now);
            }
        }
        for from in 0..n {
            while let Some(Post { to, bytes, tag }) = ranks[from as usize].poll_post() {
                let wire = Time::from_ps(bytes * fabric.ps_per_byte);
                let begins = now.max(free[from as usize][0]);
                free[from as usize][0] = begins + wire;
                coming.push(Reverse((begins + fabric.latency, order, from, to, tag, wire)));
                order += 1;
            }
        }
        let called = ranks.iter().map(Rank::calls_at).min().unwrap_or(Time::NEVER);
        let comes = coming.peek().map_or(Time::NEVER, |Reverse((at, ..))| *at);
        let lands = flying.peek().map_or(Time::NEVER, |Reverse((at, ..))| *at);
        if called.min(comes).min(lands) == Time::NEVER {
            return Outcome { ranks, end: now };
        }
        now = called.min(comes).min(lands);
        while let Some(&Reverse((at, order, from, to, tag, wire))) = coming.peek() {
            if at > now {
                break;
            }
            coming.pop();
            let whole = at.max(free[to as usize][1]) + wire;
            free[to as usize][1] = whole;
            flying.push(Reverse((whole, order, from, to, tag)));
        }
        while let Some(&Reverse((at, _, from, to, tag))) = flying.peek() {
            if at > now {
                break;
            }
            flying.pop();
            ranks[to as usize].on_delivered(from, tag, now);
            ranks[from as usize].on_sent(to, tag, now);
        }
    }
}
