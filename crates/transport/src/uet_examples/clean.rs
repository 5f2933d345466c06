//! Tests that without losses nothing is retransmitted and no timer expires.

use super::recovery::any_keys;
use super::*;
use crate::PathSelectionKeys;
use crate::uet::{Arrival, EqdsKeys, Grants, PullPacer};

/// Runs transfers between a sender with path selection and its receiver.
fn clean(keys: &UetKeys, rows: &[(u64, u64)], seed: u64, trims: bool) -> Wire {
    let spec = spec(keys);
    let facts = spec.facts(RATE, DELAY + DELAY, trims);
    let mut receiver = UetReceiver::new(&spec, rows.len(), &facts);
    keep_busy(&mut receiver, &spec);
    let sender = UetSender::new(&spec, due(rows), facts, Time::ZERO, None).seeded(seed);
    Pipe::new(sender, receiver, RATE, DELAY)
}

/// Occupies the pull queue of the receiver with a grant to another context, just before the run.
fn keep_busy(receiver: &mut UetReceiver, spec: &UetSpec) {
    let (pacer, Some(rules)) = (PullPacer::default(), spec.credits()) else { return };
    receiver.attach(&pacer);
    let mut other = Grants::new(&rules, &spec.facts(RATE, DELAY + DELAY, false));
    other.attach(&pacer);
    other.on_packet(64, Time::ZERO, Arrival::default(), false);
    assert!(other.grant(Time::ZERO).is_some());
}

fn any_paths() -> impl Strategy<Value = PathSelectionKeys> {
    let all = [vec![PathSelectionKeys::Fixed], PathSelectionKeys::all()].concat();
    prop::sample::select(all)
}

/// Generates sizes from one byte to several windows of 12.5 kB.
fn any_size() -> impl Strategy<Value = u64> {
    prop_oneof![1u64..3_000, 1u64..30_000, 30_000u64..150_000]
}

/// Generates the keys of [`any_keys`], or keys with which credit ends early and grants come late, as if many contexts
/// shared the link of the receiver.
fn any_pace() -> impl Strategy<Value = UetKeys> {
    let late = (any_keys(), 1u64..60, any::<[bool; 2]>()).prop_map(|(keys, credit, [eqds, slow_pulls])| {
        let (credit, share) = (Or::Value(units::Amount::Frames(credit)), 0.01);
        let control = if eqds {
            UetControlKeys::Eqds(EqdsKeys { credit, share, slow_pulls, ..EqdsKeys::default() })
        } else {
            UetControlKeys::Rccc(RcccKeys { credit, share, slow_pulls, ..RcccKeys::default() })
        };
        UetKeys { control, trimming: Some(true), ..keys }
    });
    prop_oneof![any_keys(), late]
}

/// Returns the keys with this path selection, and with the computed timeout if `computed`. Ordered delivery has a
/// single path.
fn with_paths(keys: UetKeys, paths: PathSelectionKeys, computed: bool) -> UetKeys {
    let ack_every = if computed { Or::word() } else { keys.ack_every };
    let paths = if keys.mode == UetMode::Rod { PathSelectionKeys::Fixed } else { paths };
    UetKeys { paths, timeout: Or::word(), ack_every, ..keys }
}

proptest! {
    /// Tests any control, path selection, sizes and marks.
    #[test]
    fn nothing_is_sent_again_if_nothing_is_lost(
        (keys, paths, computed) in (any_pace(), any_paths(), any::<bool>()),
        mut rows in prop::collection::vec((0u64..400, any_size()), 1..5),
        seed in any::<u64>(),
        marks in prop::sample::select(vec![0u64, 0, 10, 50, 100]),
        late in prop::sample::select(vec![0u64, 0, 2, 6]),
    ) {
        // With a window, the order of packets would indicate losses, because reordering looks like loss.
        let windowed = match &keys.control {
            UetControlKeys::Nscc(_) => true,
            UetControlKeys::Rccc(keys) => keys.nscc.is_some(),
            _ => false,
        };
        let by_order = keys.loss_inference == Some(true) && windowed;
        let late = if keys.mode == UetMode::Rod || by_order { 0 } else { late };
        rows.sort_unstable();
        let trims = keys.trimming == Some(true);
        let mut pipe = clean(&with_paths(keys, paths, computed), &rows, seed, trims);
        let mut draw = draws(seed).0;
        pipe.run(us(1_000_000), |end, _| Outcome {
            marked: draw(100) < marks,
            extra: us(if end == 0 && late > 0 { draw(late) } else { 0 }),
            ..Outcome::default()
        });
        let counts = pipe.near.context().counts;
        prop_assert_eq!((pipe.far.context(0).unwrap().counts.messages, counts.messages), (rows.len() as u64, rows.len() as u64));
        prop_assert_eq!((counts.retransmitted, counts.timeouts, counts.inferred), (0, 0, 0));
        prop_assert_eq!((pipe.far.context(0).unwrap().counts.duplicates, pipe.near.context().failed()), (0, None));
    }

    /// Tests a flow that stops while packets are in flight.
    #[test]
    fn a_flow_that_stops_waits_for_no_timer(
        (keys, paths, computed) in (any_pace(), any_paths(), any::<bool>()),
        seed in any::<u64>(),
        stop in 1u64..300,
        marks in prop::sample::select(vec![0u64, 0, 10, 50, 100]),
    ) {
        let trims = keys.trimming == Some(true);
        let keys = UetKeys { message: Or::Value(Bytes::new(7_000)), ..with_paths(keys, paths, computed) };
        let (spec, _) = keys.carrier(None, 1_522).unwrap();
        let facts = spec.facts(RATE, DELAY + DELAY, trims);
        let sender = UetSender::new(&spec, [].into(), facts, Time::ZERO, Some(us(stop))).seeded(seed);
        let mut receiver = UetReceiver::new(&spec, 0, &facts);
        keep_busy(&mut receiver, &spec);
        let mut pipe = Pipe::new(sender, receiver, RATE, DELAY);
        let mut draw = draws(seed).0;
        pipe.run(us(1_000_000), |_, _| Outcome { marked: draw(100) < marks, ..Outcome::default() });
        let counts = pipe.near.context().counts;
        prop_assert!(counts.sent > 0);
        prop_assert_eq!((counts.retransmitted, counts.timeouts, counts.inferred), (0, 0, 0));
        prop_assert_eq!((pipe.near.context().outstanding(), pipe.near.context().failed()), (0, None));
    }
}
