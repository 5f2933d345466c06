//! Tests that no frame is later than the bound of its scheduler, over random weights, sizes and arrivals. Frames also
//! arrive in the middle of other frames' transmissions.
//!
//! Each queue has a reference fluid server at the guaranteed rate of the queue, in which frame k ends at max(arrival,
//! end of frame k - 1) + L / ρ. The departure of each frame is compared with that end (the guaranteed-rate clock of
//! Goyal, Lam and Vin 1995). For a flow within its token bucket this is the bound of Bennett and Zhang 1997: (delay - σ
//! / ρ) in frames of the maximum length is at most 1 for WF2Q+.

use crate::properties::all;
use crate::testbed::{finish_times, port};
use crate::*;
use proptest::prelude::*;
use units::Time;

const QUEUES: usize = crate::bed::QUEUES;
/// Picoseconds per byte at 10 Gb/s.
const PS_A_BYTE: u64 = 800;

#[derive(Clone, Debug)]
struct Traffic {
    weights: [u32; QUEUES],
    /// Arrivals (time, queue, bytes) in order of time.
    arrivals: Vec<(Time, u32, u32)>,
}

/// Generates traffic with two frame lengths per queue. Gaps range from zero to several frames, so that queues become
/// active during other queues' frames and the port sometimes becomes idle.
fn traffic() -> impl Strategy<Value = Traffic> {
    let weights = prop::array::uniform5(prop_oneof![1u32..5, 1u32..60]);
    let lengths = prop::array::uniform5((64u32..=1522, 64u32..=1522));
    let gap = prop_oneof![3 => Just(0u64), 6 => 0u64..400, 2 => 0u64..3_000];
    let arrival = (gap, 0..QUEUES, any::<bool>());
    (weights, lengths, prop::collection::vec(arrival, 1..90)).prop_map(|(weights, lengths, steps)| {
        let mut now = Time::ZERO;
        let arrivals = steps.into_iter().map(|(gap, queue, second)| {
            now += Time::from_ns(gap);
            (now, queue as u32, if second { lengths[queue].1 } else { lengths[queue].0 })
        });
        Traffic { weights, arrivals: arrivals.collect() }
    })
}

/// Returns the maximum over all frames of (departure - end in the queue's own fluid server), in bytes on the wire.
fn latest(traffic: &Traffic, finished: &[Time]) -> f64 {
    let sum: u64 = traffic.weights.iter().map(|&weight| u64::from(weight)).sum();
    // Ends in the fluid server, in picoseconds times the weight, which is exact.
    let mut fluid = [0u64; QUEUES];
    let late = traffic.arrivals.iter().zip(finished).map(|(&(at, queue, bytes), end)| {
        let queue = queue as usize;
        let weight = u64::from(traffic.weights[queue]);
        fluid[queue] = fluid[queue].max(at.ps() * weight) + u64::from(bytes + 20) * PS_A_BYTE * sum;
        (end.ps() * weight) as f64 - fluid[queue] as f64
    });
    let late: Vec<f64> = late.collect();
    let weight = |arrival: &(Time, u32, u32)| f64::from(traffic.weights[arrival.1 as usize]);
    let in_bytes =
        traffic.arrivals.iter().zip(late).map(|(arrival, late)| late / weight(arrival) / PS_A_BYTE as f64);
    in_bytes.fold(f64::NEG_INFINITY, f64::max)
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(512))]

    #[test]
    fn no_frame_is_later_than_its_queues_own_fluid_by_more_than_the_bound(traffic in traffic()) {
        let weights = traffic.weights.to_vec();
        let accounted = AccountedLength::WIRE;
        let longest = traffic.arrivals.iter().map(|arrival| f64::from(arrival.2 + 20)).fold(0.0, f64::max);
        let others = (QUEUES - 1) as f64;
        // The bounds are in frames of the maximum length.
        let specs = [
            (SchedulerSpec::Wfq(WfqParams { weights: weights.clone().into(), ..WfqParams::by(accounted) }), 1.0),
            (SchedulerSpec::Wf2qPlus(Wf2qPlusParams { weights: weights.clone().into(), ..Wf2qPlusParams::by(accounted) }), 1.0),
            (SchedulerSpec::Scfq(ScfqParams { weights: weights.clone().into(), ..ScfqParams::by(accounted) }), others),
            (SchedulerSpec::ScfqCa(ScfqCaParams { weights: weights.into(), ..ScfqCaParams::by(accounted) }), others),
        ];
        for (spec, bound) in specs {
            let facts = port(QUEUES as u32);
            let finished = finish_times(&mut spec.start(&facts), &facts, &traffic.arrivals);
            let latest = latest(&traffic, &finished) / longest;
            prop_assert!(latest <= bound + 1e-9, "{}: {latest} frames late", spec.name());
        }
    }
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(96))]

    #[test]
    fn every_promise_of_rate_and_latency_is_kept(traffic in traffic()) {
        for spec in all(&traffic.weights.map(|weight| weight.min(11)), AccountedLength::WIRE) {
            let facts = port(QUEUES as u32);
            let finished = finish_times(&mut spec.start(&facts), &facts, &traffic.arrivals);
            let mut fluid = [Time::ZERO; QUEUES];
            for (&(at, queue, bytes), end) in traffic.arrivals.iter().zip(finished) {
                let Some(bound) = spec.latency_rate_bound(queue, &facts) else { continue };
                // The table counts whole credits of 64 B.
                let accounted = match spec {
                    SchedulerSpec::DTable(_) => AccountedLength { cell: 64, ..AccountedLength::WIRE },
                    _ => AccountedLength::WIRE,
                };
                let fluid = &mut fluid[queue as usize];
                *fluid = at.max(*fluid) + bound.rate.time_for_bits_ceil(u64::from(accounted.at(&facts).of(bytes)) * 8);
                prop_assert!(end <= *fluid + bound.latency, "{} queue {queue}: {end}", spec.name());
            }
        }
    }
}
