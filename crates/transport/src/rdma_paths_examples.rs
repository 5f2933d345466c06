//! Queue pairs with path selection: the values that receivers echo, the reactions of the selections, and the absence of
//! losses and retransmissions caused by it.

use crate::pipe::Outcome;
use crate::rdma_examples::{NEVER, came, delivered, keys, transfers, us};
use crate::testbed::{Facts as _, draws};
use crate::{PathSelectionKeys, RdmaControlKeys, RdmaKeys, RdmaRecovery, RdmaVerb, ReorderingKeys};
use proptest::prelude::*;
use units::{Or, Time};

fn tolerant() -> RdmaRecovery {
    RdmaRecovery::Reordering(ReorderingKeys { time: Or::Value(us(128)), ..ReorderingKeys::default() })
}
fn all() -> Vec<PathSelectionKeys> {
    PathSelectionKeys::all().into_iter().filter(|paths| !paths.needs_probes()).collect()
}
fn selection(name: &str) -> PathSelectionKeys {
    all().into_iter().find(|paths| paths.name() == name).expect("a selection of this name")
}
fn choosing(paths: &PathSelectionKeys) -> RdmaKeys {
    RdmaKeys { recovery: tolerant(), paths: paths.clone(), ..keys() }
}
fn controls() -> Vec<RdmaControlKeys> {
    vec![
        RdmaControlKeys::None(Default::default()),
        RdmaControlKeys::Dcqcn(Default::default()),
        RdmaControlKeys::Dctcp(Default::default()),
        RdmaControlKeys::Timely(Default::default()),
        RdmaControlKeys::Swift(Default::default()),
        RdmaControlKeys::ThetaPowerTcp(Default::default()),
    ]
}

#[test]
fn receivers_echo_the_value_of_each_packet_if_somebody_goes_by_it() {
    for paths in all() {
        let mut pipe = transfers(&choosing(&paths), &[(0, 100_000)]);
        pipe.run_clean(NEVER);
        let values = |end| {
            let mut values: Vec<u16> = pipe.sent_by(end).iter().map(|(_, it)| it.entropy).collect();
            values.sort_unstable();
            values
        };
        assert_eq!(came(&pipe), (1, 100));
        if paths.is_adaptive() {
            assert_eq!(values(0), values(1), "{paths:?}");
        } else {
            assert!(values(1).iter().all(|&value| value == 0) && values(1).len() < 100, "{paths:?}");
        }
        let different = values(0).windows(2).filter(|pair| pair[0] != pair[1]).count() + 1;
        assert_eq!(different > 1, paths.sprays(), "{paths:?}: {different} values");
    }
}

/// Returns the share of the last 400 of 800 packets that have one of the first 32 of 64 values. Packets with these
/// values are marked or trimmed.
fn share_of_bad(paths: &PathSelectionKeys, trims: bool) -> f64 {
    let mut pipe = transfers(&choosing(paths), &[(0, 800_000)]);
    pipe.run(NEVER, |end, segment| {
        let bad = end == 0 && segment.entropy < 32;
        Outcome { marked: bad && !trims, trimmed: bad && trims, ..Outcome::default() }
    });
    assert_eq!(came(&pipe), (1, 800));
    let values: Vec<u16> = pipe.sent_by(0).iter().map(|(_, it)| it.entropy).collect();
    let last = &values[values.len() - 400..];
    last.iter().filter(|&&value| value < 32).count() as f64 / 400.0
}

#[test]
fn selections_that_hear_avoid_what_is_marked_or_trimmed() {
    for trims in [false, true] {
        let share = |name: &str| share_of_bad(&selection(name), trims);
        for deaf in ["oblivious", "random_spray"] {
            let own = share(deaf);
            assert!((0.4..0.6).contains(&own) || trims, "{deaf}: {own}");
        }
        let [bitmap, reps, mixed] = ["bitmap", "reps", "mixed"].map(share);
        assert!(bitmap < 0.4 && reps < 0.15 && mixed < 0.15, "{trims}: {bitmap} {reps} {mixed}");
    }
}

#[test]
fn a_path_that_has_failed_is_left_after_a_timeout() {
    // From 300 us on, packets with one of the first 32 values do not arrive.
    for name in ["reps", "mixed", "bitmap"] {
        let keys = RdmaKeys { timeout: us(400), retries: 255, ..choosing(&selection(name)) };
        let mut pipe = transfers(&keys, &[(0, 3_000_000)]);
        let mut sent = 0u64;
        let mut lost = Vec::new();
        pipe.run(NEVER, |end, segment| {
            sent += u64::from(end == 0);
            let gone = end == 0 && sent > 300 && segment.entropy < 32;
            lost.extend(gone.then_some(sent));
            Outcome { lost: gone, ..Outcome::default() }
        });
        assert_eq!(came(&pipe), (1, 3_000), "{name}");
        // Oblivious spraying would lose half of the 2,700 packets, and half of the retransmissions.
        assert!(lost.len() < 900, "{name}: {} lost", lost.len());
    }
}

#[test]
fn spraying_beside_go_back_n_is_refused() {
    for paths in all() {
        let keys = RdmaKeys { recovery: RdmaRecovery::GoBackN, paths: paths.clone(), ..keys() };
        assert_eq!(keys.carrier(None, 1_522).is_err(), paths.sprays(), "{paths:?}");
    }
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(96))]

    /// Tests any path selection with any rate control: without a loss nothing is retransmitted, and each message
    /// arrives once.
    #[test]
    fn without_a_loss_nothing_is_sent_again(
        paths in prop::sample::select(all()),
        control in prop::sample::select(controls()),
        verb in prop::sample::select(vec![RdmaVerb::Send, RdmaVerb::Write, RdmaVerb::Read]),
        sizes in prop::collection::vec(1u64..60_000, 1..4),
        jitter in 1u64..30_000,
        seed in any::<u64>(),
    ) {
        let keys = RdmaKeys { control, verb, timeout: us(20_000), ..choosing(&paths) };
        let due: Vec<(u64, u64)> = sizes.iter().map(|&bytes| (0, bytes)).collect();
        let mut pipe = transfers(&keys, &due);
        let mut draw = draws(seed).0;
        pipe.run(NEVER, |end, _| Outcome {
            marked: draw(100) < 10,
            extra: if end == 0 { Time::from_ns(draw(jitter)) } else { Time::ZERO },
            ..Outcome::default()
        });
        let all: u64 = sizes.iter().map(|bytes| bytes.div_ceil(1_000)).sum();
        prop_assert_eq!(came(&pipe), (sizes.len() as u64, all));
        prop_assert_eq!((pipe.near.retransmitted(), pipe.far.received_by_all().duplicates), (0, 0));
        (0..sizes.len()).for_each(|nth| assert!(delivered(&pipe, nth).is_some()));
    }

    /// Tests that each message arrives once under losses, trims, duplication and reordering.
    #[test]
    fn messages_arrive_over_any_paths(
        paths in prop::sample::select(all()),
        recovery in prop::sample::select(vec![RdmaRecovery::Selective, tolerant()]),
        (loss, trims, twice) in (0u64..8, 0u64..20, 0u64..10),
        seed in any::<u64>(),
    ) {
        let keys = RdmaKeys { recovery, paths, retries: 255, ..keys() };
        let mut pipe = transfers(&keys, &[(0, 50_000), (0, 1), (40, 9_000)]);
        let mut draw = draws(seed).0;
        pipe.run(NEVER, |end, _| Outcome {
            lost: draw(100) < loss,
            trimmed: end == 0 && draw(100) < trims,
            marked: draw(100) < 20,
            twice: draw(100) < twice,
            extra: Time::from_ns(draw(9_000)),
        });
        prop_assert_eq!(came(&pipe), (3, 60));
    }
}
