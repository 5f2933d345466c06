//! Receivers that tolerate reordering, over a wire that delays, loses and duplicates packets.

use crate::pipe::Outcome;
use crate::rdma_examples::{NEVER, came, delivered, flow, keys, number, packets, transfers, us};
use crate::testbed::{Facts as _, draws};
use crate::{RdmaKeys, RdmaRecovery, RdmaVerb, RdmaWord, ReorderingKeys, Segment};
use proptest::prelude::*;
use units::{Or, Time};

fn tolerant(keys: ReorderingKeys) -> RdmaKeys {
    RdmaKeys { recovery: RdmaRecovery::Reordering(keys), ..super::rdma_examples::keys() }
}
fn rule(distance: u64, time: u64) -> RdmaKeys {
    tolerant(ReorderingKeys { distance, time: Or::Value(us(time)), ..ReorderingKeys::default() })
}
/// Loses the first transmission of these packets.
fn losing(lost: &[usize]) -> impl FnMut(usize, &Segment) -> Outcome {
    let mut left: Vec<u32> = lost.iter().map(|&packet| packet as u32).collect();
    move |end, segment| {
        let place = left.iter().position(|&packet| end == 0 && packet == number(segment));
        Outcome { lost: place.map(|place| left.remove(place)).is_some(), ..Outcome::default() }
    }
}
/// Delays the n-th data packet sent, counted from 0.
fn late(packet: usize, extra: Time) -> impl FnMut(usize, &Segment) -> Outcome {
    let mut sent = 0;
    move |end, _| {
        let hit = end == 0 && sent == packet;
        sent += usize::from(end == 0);
        Outcome { extra: if hit { extra } else { Time::ZERO }, ..Outcome::default() }
    }
}
/// Returns the packets that were sent more than once, in order of their numbers.
fn again(sent: &[u32], all: u32) -> Vec<u32> {
    let times = |packet: u32| sent.iter().filter(|&&other| other == packet).count();
    (0..all).flat_map(|packet| std::iter::repeat_n(packet, times(packet) - 1)).collect()
}

#[test]
fn a_late_packet_is_no_loss_until_distance_and_time_say_so() {
    // Packets are 846.4 ns apart. A packet that is delayed by n and a half of these intervals is overtaken by n
    // packets.
    for (distance, time, overtaken, lost) in [
        // Only the distance matters.
        (4, 0, 3, false),
        (4, 0, 4, true),
        // Only the time matters: with 10 packets beyond the gap it has been open for less than 9 us, with 13 for 11 us.
        (1, 10, 10, false),
        (1, 10, 13, true),
        // Both matter.
        (20, 10, 13, false),
        (3, 10, 13, true),
        (13, 10, 13, true),
    ] {
        let mut pipe = transfers(&rule(distance, time), &[(0, 40_000)]);
        let extra = Time::from_ps(846_400 * overtaken + 423_200);
        pipe.run(NEVER, late(5, extra));
        let resent = again(&packets(&pipe), 40);
        assert_eq!(resent, if lost { vec![5] } else { vec![] }, "{distance} {time} {overtaken}");
        let received = pipe.far.received_by_all();
        assert_eq!((received.naks, received.duplicates), (u64::from(lost), u64::from(lost)));
        assert_eq!((received.out_of_order, received.reorder_buffer), (overtaken, overtaken));
        assert_eq!((received.reorder_distance, came(&pipe)), (overtaken, (1, 40)));
        assert_eq!(pipe.near.counts().timeouts, 0);
    }
}

#[test]
fn lost_packets_are_sent_again_alone_and_without_a_timeout() {
    for (distance, time) in [(1, 0), (3, 10), (3, 128)] {
        let mut pipe = transfers(&rule(distance, time), &[(0, 60_000)]);
        pipe.run(NEVER, losing(&[5, 8, 9, 20, 21, 22, 23]));
        assert_eq!(again(&packets(&pipe), 60), [5, 8, 9, 20, 21, 22, 23], "{distance} {time}");
        assert_eq!((pipe.near.counts().timeouts, pipe.far.discarded(), came(&pipe)), (0, 0, (1, 60)));
        assert!(delivered(&pipe, 0).is_some());
    }
}

#[test]
fn a_timer_finds_a_loss_behind_which_nothing_more_comes() {
    // Three packets follow the lost one; then the message ends.
    let mut pipe = transfers(&rule(3, 100), &[(0, 20_000)]);
    pipe.run(NEVER, losing(&[16]));
    assert_eq!((again(&packets(&pipe), 20), pipe.near.counts().timeouts), (vec![16], 0));
    // Two packets after the loss are not enough, so the timeout repairs it.
    let mut pipe = transfers(&rule(3, 100), &[(0, 20_000)]);
    pipe.run(NEVER, losing(&[17]));
    assert_eq!((again(&packets(&pipe), 20), pipe.near.counts().timeouts), (vec![17], 1));
}

#[test]
fn a_nak_that_is_lost_is_repeated() {
    let mut pipe = transfers(&rule(3, 20), &[(0, 100_000)]);
    let (mut naks, mut lose) = (0, losing(&[5]));
    pipe.run(NEVER, |end, segment| {
        let nak = end == 1 && RdmaWord::of(segment.word).flags[0];
        naks += u32::from(nak);
        if nak && naks == 1 { Outcome { lost: true, ..Outcome::default() } } else { lose(end, segment) }
    });
    assert_eq!((naks, pipe.near.counts().timeouts, again(&packets(&pipe), 100)), (2, 0, vec![5]));
}

#[test]
fn more_losses_than_a_bitmap_holds_take_more_naks() {
    let mut pipe = transfers(&rule(3, 10), &[(0, 200_000)]);
    let lost: Vec<usize> = (10..150).collect();
    pipe.run(NEVER, losing(&lost));
    assert_eq!(again(&packets(&pipe), 200), (10..150).collect::<Vec<u32>>());
    assert_eq!((pipe.far.received_by_all().naks, pipe.near.counts().timeouts), (3, 0));
}

#[test]
fn a_whole_tail_that_is_lost_takes_one_timeout() {
    let mut pipe = transfers(&RdmaKeys { ack_every: Some(1), ..rule(3, 10) }, &[(0, 30_000)]);
    let lost: Vec<usize> = (10..30).collect();
    pipe.run(NEVER, losing(&lost));
    assert_eq!(again(&packets(&pipe), 30), (10..30).collect::<Vec<u32>>());
    assert_eq!((pipe.near.counts().timeouts, came(&pipe)), (1, (1, 30)));
}

#[test]
fn without_naks_timeouts_alone_repair_losses() {
    let keys = tolerant(ReorderingKeys { nak: false, ..ReorderingKeys::default() });
    let mut pipe = transfers(&keys, &[(0, 40_000)]);
    pipe.run(NEVER, losing(&[5, 8, 9]));
    assert_eq!(again(&packets(&pipe), 40), [5, 8, 9]);
    assert_eq!((pipe.far.received_by_all().naks, pipe.near.counts().timeouts), (0, 1));
}

#[test]
fn no_more_packets_are_outstanding_than_the_window_holds() {
    let keys = tolerant(ReorderingKeys { window: 8, ..ReorderingKeys::default() });
    let mut pipe = transfers(&RdmaKeys { ack_every: Some(1024), ..keys }, &[(0, 40_000)]);
    let mut most = 0;
    let mut sent = 0;
    pipe.run_clean(NEVER);
    for it in &pipe.sent {
        match it.end {
            0 => sent = number(&it.segment) + 1,
            _ => most = most.max(sent - (number(&it.segment) + 1).min(sent)),
        }
    }
    assert!(most <= 8, "{most}");
    assert_eq!((came(&pipe), pipe.near.counts().timeouts), ((1, 40), 0));
}

/// Returns, by the rule for a single packet, the first time at which it counts as lost, given all arrival times.
fn lost_at(packet: u32, arrivals: &[(Time, u32)], distance: u32, time: Time) -> Option<Time> {
    let came = arrivals.iter().find(|it| it.1 == packet).map_or(NEVER, |it| it.0);
    let opened = arrivals.iter().find(|it| it.1 > packet)?.0;
    let far = arrivals.iter().find(|it| it.1 >= packet + distance)?.0;
    Some(opened.saturating_add(time).max(far)).filter(|&at| at < came)
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(128))]

    /// Tests any permutation within the window without losses: nothing is retransmitted, and each message is delivered
    /// once and in order.
    #[test]
    fn reordering_alone_sends_nothing_again(
        sizes in prop::collection::vec(1u64..60_000, 1..6),
        window in 4u64..200,
        jitter in 1u64..90_000,
        verb in prop::sample::select(vec![RdmaVerb::Send, RdmaVerb::Write, RdmaVerb::Read]),
        seed in any::<u64>(),
    ) {
        let tolerant = tolerant(ReorderingKeys { window, time: Or::Value(us(90)), ..ReorderingKeys::default() });
        let due: Vec<(u64, u64)> = sizes.iter().map(|&bytes| (0, bytes)).collect();
        let mut pipe = transfers(&RdmaKeys { verb, timeout: us(5_000), ..tolerant }, &due);
        let mut draw = draws(seed).0;
        pipe.run(NEVER, |end, _| {
            let extra = if end == 0 { Time::from_ns(draw(jitter)) } else { Time::ZERO };
            Outcome { extra, ..Outcome::default() }
        });
        let received = pipe.far.received_by_all();
        prop_assert_eq!((pipe.near.retransmitted(), received.naks, received.duplicates), (0, 0, 0));
        let all: u64 = sizes.iter().map(|bytes| bytes.div_ceil(1_000)).sum();
        prop_assert_eq!(came(&pipe), (sizes.len() as u64, all));
        prop_assert!(received.reorder_distance < window && received.reorder_buffer < window);
        let times: Vec<_> = (0..sizes.len()).map(|nth| delivered(&pipe, nth).expect("delivered")).collect();
        prop_assert!(times.is_sorted());
        prop_assert_eq!(pipe.far.discarded(), 0);
    }

    /// Tests any delays and losses: exactly the packets that count as lost by the rule are retransmitted, each at its
    /// time.
    #[test]
    fn the_packets_that_the_rule_names_are_sent_again(
        distance in 1u64..12,
        time in 0u64..40,
        jitter in 0u64..60_000,
        loss in 0u64..8,
        seed in any::<u64>(),
    ) {
        // No retransmission arrives within the run, because its last packet is sent long before.
        let mut pipe = transfers(&RdmaKeys { timeout: us(50_000), ..rule(distance, time) }, &[(0, 60_000)]);
        let mut draw = draws(seed).0;
        let mut seen = std::collections::BTreeSet::new();
        pipe.run(us(2_000), |end, segment| {
            if end == 1 {
                return Outcome::default();
            }
            // Retransmissions are lost, so each packet keeps the time of its first arrival.
            let again = !seen.insert(number(segment));
            Outcome { lost: again || draw(100) < loss, extra: Time::from_ns(draw(jitter + 1)), ..Outcome::default() }
        });
        let arrivals: Vec<(Time, u32)> =
            pipe.arrived.iter().filter(|it| it.0 == 1).map(|it| (it.1, it.2.word & 0xFF_FFFF)).collect();
        let expected: Vec<u32> =
            (0..60).filter(|&packet| lost_at(packet, &arrivals, distance as u32, us(time)).is_some()).collect();
        let mut named = again(&packets(&pipe), 60);
        named.dedup();
        // A packet that arrives while its NAK is in flight may be acknowledged before it is retransmitted.
        prop_assert!(named.iter().all(|packet| expected.contains(packet)), "{named:?} {expected:?}");
        let gone = |packet: &&u32| !arrivals.iter().any(|it| it.1 == **packet);
        prop_assert!(expected.iter().filter(gone).all(|packet| named.contains(packet)), "{named:?} {expected:?}");
    }

    /// Tests losses and duplicates: all data of a flow arrives once, and its message completes.
    #[test]
    fn a_flow_arrives_over_a_wire_that_loses_and_repeats(loss in 0u64..20, seed in any::<u64>()) {
        let mut pipe = flow(&RdmaKeys { retries: 255, ..rule(3, 20) }, Some(80_000), None);
        let mut draw = draws(seed).0;
        pipe.run(NEVER, |_, _| Outcome {
            lost: draw(100) < loss,
            twice: draw(100) < 20,
            extra: Time::from_ns(draw(9_000)),
            ..Outcome::default()
        });
        prop_assert_eq!(came(&pipe), (1, 80));
        prop_assert_eq!(pipe.near.counts().bytes, 80_000);
    }
}

#[test]
fn the_defaults_follow_the_path() {
    let keys = ReorderingKeys::default();
    let of = |keys: &ReorderingKeys, rtt: u64| crate::rdma::LossRule::new(keys, us(rtt));
    let [short, long] = [of(&keys, 10), of(&keys, 1_000)];
    assert_eq!((short.time, short.repeat), (us(128), us(256)));
    assert_eq!((long.time, long.repeat), (us(250), us(2_000)));
    let given = ReorderingKeys { time: Or::Value(Time::ZERO), ..keys };
    assert_eq!((of(&given, 10).time, of(&given, 10).repeat), (Time::ZERO, us(20)));
    let (spec, _) = self::tolerant(keys).carrier(None, 1_522).unwrap();
    assert_eq!((spec.ack_every, spec.window), (16, crate::StaticWindow::Unlimited));
    assert_eq!(self::keys().carrier(None, 1_522).unwrap().0.ack_every, 64);
}
