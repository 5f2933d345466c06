//! Packets whose payload a switch has trimmed, over a wire that trims, loses and delays. Each recovery retransmits them
//! at once.

use crate::pipe::Outcome;
use crate::rdma_examples::{NEVER, came, delivered, keys, number, packets, transfers, us};
use crate::testbed::{Facts as _, draws};
use crate::{RdmaKeys, RdmaRecovery, RdmaVerb, ReorderingKeys, Segment};
use proptest::prelude::*;
use units::{Or, Time};

fn tolerant() -> RdmaRecovery {
    RdmaRecovery::Reordering(ReorderingKeys { time: Or::Value(us(128)), ..ReorderingKeys::default() })
}
/// Trims the first `times` transmissions of these packets.
fn trimming(trimmed: &[u32], times: usize) -> impl FnMut(usize, &Segment) -> Outcome {
    let mut left: Vec<u32> = trimmed.repeat(times);
    move |end, segment| {
        let place = left.iter().position(|&packet| end == 0 && packet == number(segment));
        Outcome { trimmed: place.map(|place| left.swap_remove(place)).is_some(), ..Outcome::default() }
    }
}
/// Returns the packets that were sent more than once, in order of their numbers, once per retransmission.
fn again(sent: &[u32], all: u32) -> Vec<u32> {
    let times = |packet: u32| sent.iter().filter(|&&other| other == packet).count();
    (0..all).flat_map(|packet| std::iter::repeat_n(packet, times(packet) - 1)).collect()
}

#[test]
fn trimmed_packets_alone_are_sent_again_and_at_once() {
    for recovery in [RdmaRecovery::Selective, tolerant()] {
        for lost in [vec![5], vec![0], vec![39], vec![5, 8, 9, 20, 21, 22, 23], (0..40).collect()] {
            let mut pipe = transfers(&RdmaKeys { recovery, ..keys() }, &[(0, 40_000)]);
            pipe.run(NEVER, trimming(&lost, 1));
            assert_eq!(again(&packets(&pipe), 40), lost, "{recovery:?}");
            assert_eq!((pipe.near.counts().timeouts, came(&pipe)), (0, (1, 40)), "{recovery:?} {lost:?}");
            assert_eq!(pipe.far.received_by_all().trimmed, lost.len() as u64);
            assert_eq!(pipe.far.discarded(), lost.len() as u64);
            // A packet that is lost without notification costs the receiver's delay or a timeout; a trimmed packet
            // costs a round trip.
            let sent = pipe.sent_by(0);
            let [first, second] = [0, 1]
                .map(|nth| sent.iter().filter(|it| number(&it.1) == lost[0]).nth(nth).expect("sent twice").0);
            assert!(second - first < us(60), "{recovery:?} {first} {second}");
        }
    }
}

#[test]
fn a_retransmission_that_is_trimmed_is_sent_once_more() {
    for recovery in [RdmaRecovery::GoBackN, RdmaRecovery::Selective, tolerant()] {
        let mut pipe = transfers(&RdmaKeys { recovery, ..keys() }, &[(0, 40_000)]);
        pipe.run(NEVER, trimming(&[7, 39], 3));
        let times = |packet: u32| packets(&pipe).iter().filter(|&&other| other == packet).count();
        assert!(times(7) >= 4 && times(39) >= 4, "{recovery:?}");
        assert_eq!((pipe.near.counts().timeouts, came(&pipe)), (0, (1, 40)), "{recovery:?}");
    }
}

#[test]
fn go_back_n_goes_back_to_the_trimmed_packet() {
    let mut pipe = transfers(&RdmaKeys { recovery: RdmaRecovery::GoBackN, ..keys() }, &[(0, 40_000)]);
    pipe.run(NEVER, trimming(&[39], 1));
    // No packet follows the last one. If it were not trimmed, only a timeout would detect its loss.
    assert_eq!((again(&packets(&pipe), 40), pipe.near.counts().timeouts), (vec![39], 0));
    assert_eq!(pipe.far.received_by_all().naks, 1);
}

#[test]
fn a_trimmed_packet_that_overtakes_whole_ones_takes_none_of_them_back() {
    let mut pipe = transfers(&RdmaKeys { recovery: RdmaRecovery::GoBackN, ..keys() }, &[(0, 40_000)]);
    let (mut trim, mut sent) = (trimming(&[5], 1), 0);
    pipe.run(NEVER, |end, segment| {
        let nth = if end == 0 { sent } else { usize::MAX };
        sent += usize::from(end == 0);
        // With this delay packet 5 overtakes packet 4; packet 6 does not.
        let extra = if nth < 5 { Time::from_ns(1_200) } else { Time::ZERO };
        Outcome { extra, ..trim(end, segment) }
    });
    assert_eq!((pipe.near.counts().timeouts, came(&pipe)), (0, (1, 40)));
    assert_eq!(again(&packets(&pipe), 40)[0], 5);
}

#[test]
fn without_naks_the_timeout_repairs_what_was_trimmed() {
    let recovery = RdmaRecovery::Reordering(ReorderingKeys { nak: false, ..ReorderingKeys::default() });
    let mut pipe = transfers(&RdmaKeys { recovery, ..keys() }, &[(0, 40_000)]);
    pipe.run(NEVER, trimming(&[5], 1));
    assert_eq!((pipe.far.received_by_all().naks, pipe.near.counts().timeouts), (0, 1));
    assert_eq!(came(&pipe), (1, 40));
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(192))]

    /// Tests that each message is delivered once, whichever packets are trimmed, lost or late.
    #[test]
    fn messages_arrive_whatever_is_trimmed(
        sizes in prop::collection::vec(1u64..40_000, 1..5),
        recovery in prop::sample::select(vec![RdmaRecovery::GoBackN, RdmaRecovery::Selective, tolerant()]),
        verb in prop::sample::select(vec![RdmaVerb::Send, RdmaVerb::Write, RdmaVerb::Read]),
        (trims, loss, jitter) in (0u64..30, 0u64..5, 0u64..20_000),
        seed in any::<u64>(),
    ) {
        let due: Vec<(u64, u64)> = sizes.iter().map(|&bytes| (0, bytes)).collect();
        let mut pipe = transfers(&RdmaKeys { recovery, verb, retries: 255, ..keys() }, &due);
        let mut draw = draws(seed).0;
        pipe.run(NEVER, |end, _| Outcome {
            trimmed: end == 0 && draw(100) < trims,
            lost: draw(100) < loss,
            extra: Time::from_ns(draw(jitter + 1)),
            ..Outcome::default()
        });
        let all: u64 = sizes.iter().map(|bytes| bytes.div_ceil(1_000)).sum();
        prop_assert_eq!(came(&pipe), (sizes.len() as u64, all));
        (0..sizes.len()).for_each(|nth| assert!(delivered(&pipe, nth).is_some()));
    }

    /// Tests trimming alone, on a wire that keeps the order: as many packets are retransmitted as were trimmed, and no
    /// timeout is needed.
    #[test]
    fn trimming_alone_sends_each_trimmed_packet_once_more(
        selective in any::<bool>(),
        trims in 0u64..40,
        seed in any::<u64>(),
    ) {
        let recovery = if selective { RdmaRecovery::Selective } else { tolerant() };
        let mut pipe = transfers(&RdmaKeys { recovery, ..keys() }, &[(0, 60_000)]);
        let mut draw = draws(seed).0;
        pipe.run(NEVER, |end, _| Outcome { trimmed: end == 0 && draw(100) < trims, ..Outcome::default() });
        let received = pipe.far.received_by_all();
        prop_assert_eq!(pipe.near.retransmitted(), received.trimmed);
        prop_assert_eq!((pipe.near.counts().timeouts, received.duplicates, came(&pipe)), (0, 0, (1, 60)));
    }
}
