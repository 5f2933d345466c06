//! Schedulers that change while frames are queued: shares of each class, before and after.

use crate::common::*;
use fabric::spec::{FaultSpec, SwitchSpec};
use frame::{ClassMap, NodeId};
use proptest::prelude::*;
use scheduling::{
    AccountedLength, DTableParams, DrrParams, ScfqCaParams, ScfqParams, SchedulerSpec, WfqParams,
};
use std::sync::Arc;
use units::Time;

/// Two hosts that send to a third without end, in classes 0 and 1. The port to the third has this scheduler, which
/// changes at a given time.
fn contest(duration: Time, scheduler: SchedulerSpec, change: Option<(Time, SchedulerSpec)>) -> Net {
    let classes = ClassMap::new([0, 1, 1, 1, 1, 1, 1, 1]).expect("two classes");
    let (mut net, h) = star(3, duration, SwitchSpec { classes, scheduler, ..switch() });
    for class in 0..2 {
        net.flow(&class.to_string(), h[class], class as u8, greedy(h[2], 1_000, Time::ZERO));
    }
    let faults = change.map(|(at, scheduler)| FaultSpec::Scheduler {
        link: 2,
        towards: h[2],
        at,
        scheduler: Arc::new(scheduler),
    });
    net.0.faults.extend(faults);
    net
}

fn delivered(net: &Net) -> [u64; 2] {
    let alone = net.run();
    for (threads, budget) in [(1, 77), (2, 5_000), (3, 1_000)] {
        assert_eq!(net.run_on(threads, budget).fingerprint, alone.fingerprint, "{threads} threads");
    }
    let frames = alone.integers("flows", "frames_delivered");
    [frames[0], frames[1]]
}

/// A kind of scheduler, given the ratio of the shares of class 1 and class 0.
type Kind = fn(u32) -> SchedulerSpec;

const KINDS: [Kind; 5] = [
    |times| {
        SchedulerSpec::ScfqCa(ScfqCaParams {
            weights: vec![1, times].into(),
            ..ScfqCaParams::by(AccountedLength::FRAME)
        })
    },
    |times| {
        SchedulerSpec::Scfq(ScfqParams {
            weights: vec![1, times].into(),
            ..ScfqParams::by(AccountedLength::FRAME)
        })
    },
    |times| SchedulerSpec::Drr(DrrParams::weighted(vec![1, times], AccountedLength::FRAME)),
    |times| {
        SchedulerSpec::Wfq(WfqParams {
            weights: vec![1, times].into(),
            ..WfqParams::by(AccountedLength::FRAME)
        })
    },
    |times| {
        let table: Vec<u32> = (0..32).map(|entry| u32::from(entry % (times + 1) != 0)).collect();
        SchedulerSpec::DTable(DTableParams::uniform(table, 16))
    },
];

#[test]
fn shares_are_those_of_the_scheduler_in_force() {
    for (nth, kind) in KINDS.into_iter().enumerate() {
        // 1,248 frames per millisecond: half and half, then a quarter and three quarters.
        let [one, other] = delivered(&contest(us(2_000), kind(1), Some((us(1_000), kind(3)))));
        let (first, all) = (1_250.0 / 2.0 + 1_250.0 / 4.0, 2_500.0);
        assert!((one as f64 - first).abs() < 12.0, "{nth}: {one}");
        assert!((other as f64 - (all - first)).abs() < 12.0, "{nth}: {other}");
    }
}

#[test]
fn the_same_scheduler_again_changes_no_shares() {
    for kind in KINDS {
        let without = delivered(&contest(us(1_000), kind(2), None));
        let with = delivered(&contest(us(1_000), kind(2), Some((us(500), kind(2)))));
        for class in 0..2 {
            // The state of the old scheduler is discarded, which costs a round at most.
            assert!(without[class].abs_diff(with[class]) <= 18, "{without:?} {with:?}");
        }
    }
}

#[test]
fn a_change_is_in_the_table_of_faults() {
    let net = contest(us(100), KINDS[0](1), Some((us(40), KINDS[0](3))));
    let outcome = net.run();
    assert_eq!(outcome.texts("faults", "what"), ["scheduler"]);
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 30, ..ProptestConfig::default() })]

    /// Changes at any times, including many at once: no frame is lost or stuck, and threads give equal results.
    #[test]
    fn nothing_is_lost_by_changes(kind in 0usize..5, changes in prop::collection::vec((0u64..300, 1u32..8), 1..8)) {
        let mut net = contest(us(400), KINDS[kind](1), None);
        for flow in &mut net.0.flows {
            flow.source.limit = Some(units::Bytes::new(50_000));
        }
        for (at, times) in changes {
            net.0.faults.push(FaultSpec::Scheduler {
                link: 2, towards: NodeId(2), at: us(at), scheduler: Arc::new(KINDS[kind](times)),
            });
        }
        prop_assert_eq!(delivered(&net), [50, 50]);
    }
}
