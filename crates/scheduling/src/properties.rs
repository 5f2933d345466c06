//! Tests the invariants of every scheduler over random arrivals, weights, sizes and stops.
//!
//! A simulated port (`bed.rs`) keeps the reference state and checks each decision against it:
//! - No frame is left behind, and none is invented.
//! - A port with an active queue never idles, except behind a shaper; it then wakes at the announced time.
//! - A queue that stays active gets the service of its latency-rate bound. Where there is no bound, it is never
//!   starved.
//! - Two queues that both stay active are served in the proportion from the literature.

use crate::bed::{Bed, QUEUES, Step};
use crate::testbed::port;
use crate::*;
use proptest::prelude::*;
use std::collections::VecDeque;
use units::{Bytes, Or, Time};

/// Returns every scheduler, with the same weights where it has weights.
pub(crate) fn all(weights: &[u32; QUEUES], accounted: AccountedLength) -> Vec<SchedulerSpec> {
    let weights_of = weights.to_vec();
    let drr = DrrParams::weighted(weights_of.clone(), accounted);
    let small = DrrParams { quantum: Or::Value(Bytes::new(300)), ..drr.clone() };
    let sum: u32 = weights.iter().sum();
    let entries: Vec<u32> = spread(weights, 64);
    let mut managed = weights_of.clone();
    managed[2] = 0;
    let mut percents: Vec<u32> = weights.iter().map(|weight| (weight * 100 / sum).max(1)).collect();
    let most = (0..QUEUES).max_by_key(|&queue| percents[queue]).unwrap_or(0);
    percents[most] = 100 - (percents.iter().sum::<u32>() - percents[most]);
    vec![
        SchedulerSpec::StrictPriority,
        SchedulerSpec::Wrr(WrrParams { weights: weights_of.clone().into(), interleaved: false }),
        SchedulerSpec::Wrr(WrrParams { weights: weights_of.clone().into(), interleaved: true }),
        SchedulerSpec::Drr(drr),
        SchedulerSpec::Drr(small),
        SchedulerSpec::DrrAwc(DrrAwcParams {
            weights: weights_of.clone().into(),
            ..DrrAwcParams::default().accounting(accounted)
        }),
        SchedulerSpec::DrrAwc(DrrAwcParams {
            formula: Formula::Learned,
            ..DrrAwcParams::default().accounting(accounted)
        }),
        SchedulerSpec::Wfq(WfqParams { weights: weights_of.clone().into(), ..WfqParams::by(accounted) }),
        SchedulerSpec::Wf2qPlus(Wf2qPlusParams {
            weights: weights_of.clone().into(),
            ..Wf2qPlusParams::by(accounted)
        }),
        SchedulerSpec::Scfq(ScfqParams { weights: weights_of.clone().into(), ..ScfqParams::by(accounted) }),
        SchedulerSpec::ScfqCa(ScfqCaParams { weights: weights_of.into(), ..ScfqCaParams::by(accounted) }),
        SchedulerSpec::VcTable(VcTableParams { entries: entries.clone() }),
        SchedulerSpec::DTable(DTableParams::uniform(entries.clone(), 34).accounting(accounted)),
        SchedulerSpec::DTable(DTableParams::uniform(entries, 7).accounting(accounted)),
        SchedulerSpec::MinBw(MinBwParams {
            management: Some(2),
            ..MinBwParams::new(managed).accounting(accounted)
        }),
        SchedulerSpec::Ets(EtsParams::percentages(&percents).accounting(accounted)),
    ]
}

/// Returns ETS with every feature besides percentages: a class of 0 %, a class of several queues, a credit-based
/// shaper, and a strict class.
fn hierarchy(accounted: AccountedLength) -> SchedulerSpec {
    let class = |queues: &[u32], selection| EtsClass { queues: queues.to_vec(), selection, adaptive: None };
    let idle_slope = Share::PartsPerMillion(200_000);
    let classes = vec![
        class(&[0], Selection::Percent(0)),
        class(&[1, 2], Selection::Percent(100)),
        class(&[3], Selection::CreditBased { idle_slope }),
        class(&[4], Selection::Strict),
    ];
    SchedulerSpec::Ets(EtsParams::new(classes).accounting(accounted))
}

/// Returns the schedulers, other than shaped ones, that may let an active queue wait although the link is free.
fn not_work_conserving(weights: &[u32; QUEUES], accounted: AccountedLength) -> Vec<SchedulerSpec> {
    let mut managed = weights.to_vec();
    managed[2] = 0;
    let limited = MinBwParams {
        management: Some(2),
        use_idle_link: false,
        ..MinBwParams::new(managed).accounting(accounted)
    };
    let mut specs = shaped(all(weights, accounted));
    specs.extend(shaped(vec![hierarchy(accounted)]));
    specs.extend([hierarchy(accounted), SchedulerSpec::MinBw(limited)]);
    specs
}

/// Returns a table in which the number of a queue's entries follows its weight and the entries are evenly spread.
fn spread(weights: &[u32; QUEUES], size: usize) -> Vec<u32> {
    let mut credit = [0i64; QUEUES];
    let sum: i64 = weights.iter().map(|&weight| i64::from(weight)).sum();
    let mut entries: Vec<u32> = (0..size - QUEUES)
        .map(|_| {
            credit.iter_mut().zip(weights).for_each(|(credit, &weight)| *credit += i64::from(weight));
            let next = (0..QUEUES).max_by_key(|&queue| (credit[queue], QUEUES - queue)).unwrap_or(0);
            credit[next] -= sum;
            next as u32
        })
        .collect();
    entries.extend(0..QUEUES as u32);
    entries
}

fn step() -> impl Strategy<Value = Step> {
    let queue = 0..QUEUES;
    prop_oneof![
        6 => (queue.clone(), 64u32..=1522).prop_map(|(queue, bytes)| Step::Arrive { queue, bytes }),
        1 => queue.clone().prop_map(Step::Stop),
        2 => queue.clone().prop_map(Step::Go),
        1 => queue.prop_map(Step::Discard),
        3 => (0u64..4_000).prop_map(|ns| Step::Run { ns }),
    ]
}
fn weights() -> impl Strategy<Value = [u32; QUEUES]> {
    prop::array::uniform5(1u32..12)
}
fn accounted_length() -> impl Strategy<Value = AccountedLength> {
    prop_oneof![
        Just(AccountedLength::FRAME),
        Just(AccountedLength::WIRE),
        Just(AccountedLength::PAYLOAD),
        Just(AccountedLength { per_frame: 12, cell: 64, ..AccountedLength::FRAME }),
    ]
}

/// Returns all specs, each with and without shapers.
fn shaped(specs: Vec<SchedulerSpec>) -> Vec<SchedulerSpec> {
    let rate = Share::PartsPerMillion(100_000);
    let shaper = |scheduler: &SchedulerSpec| {
        SchedulerSpec::Shaped(ShapedParams {
            scheduler: Box::new(scheduler.clone()),
            port: Some(ShaperSpec::token_bucket(Share::PartsPerMillion(600_000), 3_000)),
            classes: vec![
                ClassShaper { class: 0, shaper: ShaperSpec::leaky_bucket(rate) },
                ClassShaper { class: 3, shaper: ShaperSpec::token_bucket(rate, 2_000) },
            ],
            ..ShapedParams::by(AccountedLength::WIRE)
        })
    };
    specs.iter().map(shaper).collect()
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(96))]

    #[test]
    fn every_frame_leaves_once_and_the_port_never_idles(
        weights in weights(), accounted in accounted_length(), steps in prop::collection::vec(step(), 0..160),
    ) {
        let specs = all(&weights, accounted);
        for spec in specs.iter().chain(&not_work_conserving(&weights, accounted)) {
            let mut bed = Bed::new(spec);
            let came = steps.iter().filter(|step| matches!(step, Step::Arrive { .. })).count() as u64;
            let mut left: u64 = steps.iter().map(|step| bed.take(step)).sum();
            (0..QUEUES).for_each(|queue| bed.go(queue));
            left += bed.take(&Step::Run { ns: 100_000_000 });
            prop_assert_eq!(left, came, "{}", spec.name());
            prop_assert!(bed.frames.iter().all(VecDeque::is_empty));
            prop_assert_eq!(bed.pick(), None);
        }
    }

    #[test]
    fn a_queue_that_stays_active_gets_its_promised_service(
        weights in weights(), accounted in accounted_length(), queue in 0..QUEUES,
        before in prop::collection::vec(step(), 0..60),
        sizes in prop::collection::vec(64u32..=1522, 64),
        disturbances in prop::collection::vec((0..QUEUES, any::<bool>()), 300),
    ) {
        for spec in all(&weights, accounted) {
            let mut bed = Bed::new(&spec);
            let Some(bound) = spec.latency_rate_bound(queue as u32, &bed.facts) else { continue };
            let accounted_as = match &spec {
                SchedulerSpec::Wrr(_) | SchedulerSpec::VcTable(_) | SchedulerSpec::StrictPriority => AccountedLength::WIRE,
                SchedulerSpec::DTable(_) => AccountedLength { cell: 64, ..accounted },
                _ => accounted,
            };
            // In plain SCFQ the frames of a stopped queue keep their old tags, so its bound holds only without flow
            // control.
            let may_stop = !matches!(spec, SchedulerSpec::Scfq(_));
            // Frames that a queue was served ahead of the fluid server belong to the same busy period.
            let remembers = matches!(spec, SchedulerSpec::Wfq(_) | SchedulerSpec::Wf2qPlus(_));
            let fits = |step: &&Step| match step {
                Step::Stop(_) => may_stop,
                Step::Arrive { queue: of, .. } => !remembers || *of != queue,
                _ => true,
            };
            for step in before.iter().filter(fits) {
                bed.take(step);
            }
            bed.go(queue);
            let mut size = sizes.iter().copied().cycle();
            // From here on this queue always has frames. The other queues fill, empty and are stopped at random.
            let begin = bed.now;
            let mut served = 0u64;
            for (n, &(other, stop)) in disturbances.iter().enumerate() {
                while bed.frames[queue].len() < 3 {
                    let bytes = size.next().unwrap();
                    if bed.frames[queue].is_empty() {
                        // Bypasses the fast path of an idle port.
                        bed.frames[queue].push_back(bytes);
                        bed.scheduler.arrive(queue as u32, bytes, true, bed.now);
                    } else {
                        bed.arrive(queue, bytes);
                    }
                }
                if other != queue {
                    if stop && may_stop && n % 3 == 0 { bed.stop(other) } else { bed.go(other) }
                }
                for other in (0..QUEUES).filter(|&other| other != queue) {
                    while bed.frames[other].len() < 2 {
                        bed.arrive(other, size.next().unwrap());
                    }
                }
                // Guaranteed service up to the beginning of this transmission.
                let due = bound.rate.bits_in_floor(bed.now.saturating_sub(begin + bound.latency));
                prop_assert!(served * 8 + 8 >= due, "{} queue {queue}: {} of {due} bits at {}", spec.name(), served * 8, bed.now);
                let (sender, bytes) = bed.send().unwrap();
                if sender == queue {
                    served += u64::from(accounted_as.at(&bed.facts).of(bytes));
                }
            }
        }
    }

    #[test]
    fn no_queue_is_left_out(
        weights in weights(), accounted in accounted_length(), sizes in prop::collection::vec(64u32..=1522, 97),
    ) {
        // Longest wait in frames of 64 B. A turn is at most twelve of the largest frames, or twice that with adapted
        // weights.
        const LONGEST: usize = 4 * 2 * 12 * 1542 / 64;
        for spec in all(&weights, accounted).iter().filter(|spec| !matches!(spec, SchedulerSpec::StrictPriority)) {
            let mut bed = Bed::new(spec);
            let mut size = sizes.iter().copied().cycle();
            let mut left_out = [0usize; QUEUES];
            for queue in 0..QUEUES {
                bed.stop(queue);
                bed.arrive(queue, size.next().unwrap());
            }
            (0..QUEUES).for_each(|queue| bed.go(queue));
            for _ in 0..2 * LONGEST {
                for queue in 0..QUEUES {
                    while bed.frames[queue].len() < 2 {
                        bed.arrive(queue, size.next().unwrap());
                    }
                }
                let (sender, _) = bed.send().unwrap();
                left_out.iter_mut().for_each(|count| *count += 1);
                left_out[sender] = 0;
                prop_assert!(left_out.iter().all(|&count| count <= LONGEST), "{}: {left_out:?}", spec.name());
            }
        }
    }

    #[test]
    fn two_active_queues_are_served_in_proportion(
        weights in weights(), accounted in accounted_length(), sizes in prop::collection::vec(64u32..=1522, 97),
        disturbances in prop::collection::vec((2..QUEUES, any::<bool>()), 400),
    ) {
        // Queues 0 and 1 always have frames. The other queues fill, empty and are stopped.
        for spec in all(&weights, accounted) {
            let mut bed = Bed::new(&spec);
            let Some((bound, phi)) = fairness(&spec, &bed.facts, &weights, accounted) else { continue };
            let mut size = sizes.iter().copied().cycle();
            let accounted = match spec { SchedulerSpec::DTable(_) => AccountedLength { cell: 64, ..accounted }, _ => accounted }.at(&bed.facts);
            let counted = |bytes| if matches!(spec, SchedulerSpec::Wrr(_)) { 1.0 } else { f64::from(accounted.of(bytes)) };
            // Difference of normalised service since the beginning. Its range is the maximum over all intervals.
            let (mut gap, mut low, mut high) = (0.0f64, 0.0f64, 0.0f64);
            bed.stop(0);
            bed.stop(1);
            for queue in [0, 1] {
                (0..3).for_each(|_| bed.arrive(queue, size.next().unwrap()));
            }
            bed.go(0);
            bed.go(1);
            for &(other, stop) in &disturbances {
                for queue in 0..2 {
                    while bed.frames[queue].len() < 3 {
                        bed.arrive(queue, size.next().unwrap());
                    }
                }
                if stop { bed.stop(other) } else { bed.go(other) }
                bed.arrive(other, size.next().unwrap());
                let (queue, bytes) = bed.send().unwrap();
                match queue {
                    0 => gap += counted(bytes) / phi[0],
                    1 => gap -= counted(bytes) / phi[1],
                    _ => {}
                }
                low = low.min(gap);
                high = high.max(gap);
                prop_assert!(high - low <= bound + 1e-9, "{}: {} above {bound}", spec.name(), high - low);
            }
        }
    }
}

/// Returns the published bound of |W_0/φ_0 - W_1/φ_1| over any interval in which both queues are active, and the φ to
/// which it applies.
fn fairness(
    spec: &SchedulerSpec,
    port: &PortFacts,
    weights: &[u32; QUEUES],
    accounted: AccountedLength,
) -> Option<(f64, [f64; 2])> {
    let phi = [f64::from(weights[0]), f64::from(weights[1])];
    let largest = f64::from(port.largest(accounted));
    // Bound in rounds: one more visit, and a deficit of up to a frame for each queue (Shreedhar and Varghese 1996,
    // Lemma 2).
    let rounds = |quanta: [f64; 2], largest: f64| {
        (1.0 + (largest - 1.0) * (1.0 / quanta[0] + 1.0 / quanta[1]), quanta)
    };
    match spec {
        SchedulerSpec::Drr(params) => {
            let base = params.quantum.value().map_or(largest, |base| base.get() as f64);
            let least = f64::from(*weights.iter().min()?);
            Some(rounds(phi.map(|phi| base * phi / least), largest))
        }
        SchedulerSpec::Ets(params) => {
            let percent = |class: usize| match params.classes[class].selection {
                Selection::Percent(percent) => f64::from(percent),
                _ => 0.0,
            };
            let least = (0..QUEUES).map(percent).fold(f64::INFINITY, f64::min);
            Some(rounds([percent(0), percent(1)].map(|percent| largest * percent / least), largest))
        }
        SchedulerSpec::DTable(params) => {
            // Bound in cycles: entries of one queue may be adjacent, which adds up to one cycle's weight.
            let cycle = |queue: u32| {
                let own = params.entries.iter().filter(|entry| **entry == Entry::Class(queue));
                own.count() as f64 * f64::from(params.weight * 64)
            };
            let largest = f64::from(port.largest(AccountedLength { cell: 64, ..accounted }));
            let (bound, quanta) = rounds([cycle(0), cycle(1)], largest);
            Some((bound + 1.0, quanta))
        }
        // Bound in rounds of frames: one more turn for each queue.
        SchedulerSpec::Wrr(_) => {
            let least = *weights.iter().min()?;
            Some((2.0, [0, 1].map(|queue| f64::from(((weights[queue] + least / 2) / least).max(1)))))
        }
        // Golestani 1994, Theorem 1.
        SchedulerSpec::Scfq(_) | SchedulerSpec::ScfqCa(_) | SchedulerSpec::MinBw(_) => {
            Some((largest / phi[0] + largest / phi[1], phi))
        }
        _ => None,
    }
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(64))]

    #[test]
    fn wf2q_plus_is_never_a_frame_ahead_of_the_fluid_nor_behind(
        weights in weights(), sizes in prop::collection::vec(64u32..=1522, 89),
    ) {
        let spec = SchedulerSpec::Wf2qPlus(Wf2qPlusParams { weights: weights.to_vec().into(), ..Wf2qPlusParams::by(AccountedLength::WIRE) });
        let mut bed = Bed::new(&spec);
        let mut size = sizes.iter().copied().cycle();
        let sum = weights.iter().map(|&weight| f64::from(weight)).sum::<f64>();
        let (mut all, mut own) = (0.0, [0.0; QUEUES]);
        for queue in 0..QUEUES {
            bed.stop(queue);
            bed.arrive(queue, size.next().unwrap());
        }
        (0..QUEUES).for_each(|queue| bed.go(queue));
        for _ in 0..2_000 {
            for queue in 0..QUEUES {
                while bed.frames[queue].len() < 2 {
                    bed.arrive(queue, size.next().unwrap());
                }
            }
            let (queue, bytes) = bed.send().unwrap();
            all += f64::from(bytes + 20);
            own[queue] += f64::from(bytes + 20);
            for queue in 0..QUEUES {
                let share = f64::from(weights[queue]) / sum;
                let ahead = own[queue] - share * all;
                prop_assert!(ahead <= (1.0 - share) * 1542.0 + 1e-6, "{ahead} ahead");
                prop_assert!(ahead >= -1542.0 - 1e-6, "{ahead} behind");
            }
        }
    }

    #[test]
    fn any_cycle_of_a_saturated_table_serves_each_entry_once(
        weights in weights(), sizes in prop::collection::vec(64u32..=1522, 89),
    ) {
        let entries = spread(&weights, 64);
        let mut bed = Bed::new(&SchedulerSpec::VcTable(VcTableParams { entries: entries.clone() }));
        let mut size = sizes.iter().copied().cycle();
        let mut order = Vec::new();
        for queue in 0..QUEUES {
            bed.stop(queue);
            bed.arrive(queue, size.next().unwrap());
        }
        (0..QUEUES).for_each(|queue| bed.go(queue));
        for _ in 0..300 {
            for queue in 0..QUEUES {
                while bed.frames[queue].len() < 2 {
                    bed.arrive(queue, size.next().unwrap());
                }
            }
            order.push(bed.send().unwrap().0 as u32);
        }
        for window in order.windows(64) {
            for queue in 0..QUEUES as u32 {
                let count = |list: &[u32]| list.iter().filter(|&&entry| entry == queue).count();
                prop_assert_eq!(count(window), count(&entries));
            }
        }
    }
}

/// Tests that "wire" accounts the time on the queue's own link, whatever the overhead of a frame there.
#[test]
fn equal_weights_accounted_by_wire_are_equal_times_on_any_link() {
    let sizes = [64, 1522];
    for overhead in [0, 8, 20, 42] {
        let facts = PortFacts { overhead, ..port(2) };
        let (weights, accounted) = (Vec::new(), AccountedLength::WIRE);
        let percent =
            |queue| EtsClass { queues: vec![queue], selection: Selection::Percent(50), adaptive: None };
        let specs = [
            SchedulerSpec::Drr(DrrParams::equal(accounted)),
            SchedulerSpec::Wfq(WfqParams { weights: weights.clone().into(), ..WfqParams::by(accounted) }),
            SchedulerSpec::Wf2qPlus(Wf2qPlusParams {
                weights: weights.clone().into(),
                ..Wf2qPlusParams::by(accounted)
            }),
            SchedulerSpec::Scfq(ScfqParams { weights: weights.clone().into(), ..ScfqParams::by(accounted) }),
            SchedulerSpec::ScfqCa(ScfqCaParams { weights: weights.into(), ..ScfqCaParams::by(accounted) }),
            SchedulerSpec::Ets(EtsParams::new(vec![percent(0), percent(1)]).accounting(accounted)),
            SchedulerSpec::DTable(DTableParams {
                credit: Bytes::new(1),
                ..DTableParams::uniform([0, 1], 1600).accounting(accounted)
            }),
        ];
        for spec in specs {
            let sent = crate::testbed::saturate(&mut spec.start(&facts), &facts, &sizes, Time::from_ms(20));
            let bytes = |queue: usize| (sent[queue] * u64::from(sizes[queue] + overhead)) as f64;
            let ratio = bytes(0) / bytes(1);
            assert!((ratio - 1.0).abs() < 1e-3, "{} with {overhead} B: {ratio}", spec.name());
        }
    }
}

/// Fails if a new scheduler is missing from the properties. FIFO has one queue and makes no choice.
#[test]
fn the_properties_are_of_all_schedulers() {
    let weights = [1; QUEUES];
    let specs =
        [all(&weights, AccountedLength::WIRE), not_work_conserving(&weights, AccountedLength::WIRE)].concat();
    for name in SchedulerSpec::NAMES.iter().filter(|&&name| name != "fifo") {
        assert!(specs.iter().any(|spec| spec.name() == *name), "{name} is not covered by the properties");
    }
}

/// Tests that four queues among a thousand are served like four queues alone.
#[test]
fn a_port_of_a_thousand_queues_serves_four_as_a_port_of_four() {
    let order = |spec: &SchedulerSpec, queues: u32| {
        let mut scheduler = spec.start(&port(queues));
        let frames = [vec![1522; 9], vec![64; 9], vec![700; 9], vec![300; 9]];
        crate::testbed::order_of(&mut scheduler, &frames)
    };
    let makers: Vec<fn(Vec<u32>) -> SchedulerSpec> = vec![
        |_| SchedulerSpec::StrictPriority,
        |weights| SchedulerSpec::Wrr(WrrParams { weights: weights.into(), interleaved: true }),
        |weights| SchedulerSpec::Drr(DrrParams::weighted(weights, AccountedLength::WIRE)),
        |weights| {
            SchedulerSpec::Scfq(ScfqParams {
                weights: weights.into(),
                ..ScfqParams::by(AccountedLength::WIRE)
            })
        },
        |weights| {
            SchedulerSpec::ScfqCa(ScfqCaParams {
                weights: weights.into(),
                ..ScfqCaParams::by(AccountedLength::WIRE)
            })
        },
        |weights| {
            SchedulerSpec::Wfq(WfqParams { weights: weights.into(), ..WfqParams::by(AccountedLength::WIRE) })
        },
    ];
    for maker in makers {
        let many: Vec<u32> = [3, 1, 2, 2].into_iter().chain([1; 1020]).collect();
        assert_eq!(order(&maker(many), 1024), order(&maker(vec![3, 1, 2, 2]), 4));
    }
}
