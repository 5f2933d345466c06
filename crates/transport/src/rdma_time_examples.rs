//! Times of RDMA messages by activity, computed by hand; memory of queue pairs; invalid keys.

use crate::endpoint::Protocol;
use crate::pipe::{Outcome, losing};
use crate::rdma_examples::{NEVER, Wire, dcqcn, keys, spec, transfers, us};
use crate::testbed::{DELAY, RATE};
use crate::{
    DcqcnKeys, PathFacts, QueuePair, RdmaControlKeys, RdmaKeys, RdmaRecovery, RdmaVerb, Spent, StaticWindow,
};
use units::{Bytes, Or, Time};

/// Returns the times of a transfer in nanoseconds (behind other messages, then in the order of `Spent`), and its total
/// time.
fn spent(pipe: &Wire, transfer: usize, start: Time) -> ([u32; 9], u64) {
    let times = pipe.near.times_of(transfer).unwrap();
    let mut all = [times.behind; 9];
    all[1..].copy_from_slice(&times.spent);
    let took = pipe.near.outcomes()[transfer].acknowledged - start;
    (all, took.ps() / 1_000)
}

#[test]
fn what_the_time_of_messages_was_spent_on_adds_up() {
    // Packets of 1078 B with preamble and gap take 862.4 ns each at 10 Gb/s. The pipe has no gap, so packets follow
    // each other after 846.4 ns.
    let mut pipe = transfers(&keys(), &[(0, 3_000), (0, 2_000)]);
    pipe.run_clean(NEVER);
    let (first, took) = spent(&pipe, 0, Time::ZERO);
    assert_eq!(first[1..8], [1_692, 0, 0, 0, 0, 0, 0]);
    assert!(took.abs_diff(first.iter().map(|&ns| u64::from(ns)).sum()) <= 9, "{first:?} {took}");
    let (second, took) = spent(&pipe, 1, Time::ZERO);
    assert!(second[0].abs_diff(2 * 846) <= 1, "{second:?}");
    assert!(took.abs_diff(second.iter().map(|&ns| u64::from(ns)).sum()) <= 9, "{second:?} {took}");
}

#[test]
fn a_lost_last_packet_costs_a_timeout_that_is_told() {
    let mut pipe = transfers(&keys(), &[(0, 5_000)]);
    pipe.run(NEVER, losing(&[4]));
    let (times, took) = spent(&pipe, 0, Time::ZERO);
    let again = times[2];
    // The timeout of 500 us runs from the last packet on, the only one that requests an acknowledgement.
    assert!((500_000..=504_000).contains(&again), "{times:?}");
    assert!(took.abs_diff(times.iter().map(|&ns| u64::from(ns)).sum()) <= 9, "{times:?} {took}");
}

#[test]
fn a_window_and_a_rate_are_told_apart() {
    let window = RdmaKeys { window: Some(Or::Value(units::Amount::Frames(4))), ..keys() };
    let mut pipe = transfers(&window, &[(0, 400_000)]);
    pipe.run_clean(NEVER);
    let (times, _) = spent(&pipe, 0, Time::ZERO);
    // 99 round trips of at least 10 us, in each of which four packets are sent.
    assert!(times[4] > 700_000 && times[3] == 0, "{times:?}");
    let mut pipe = transfers(&RdmaKeys { control: dcqcn(), ..keys() }, &[(0, 400_000)]);
    pipe.run(NEVER, |end, _| Outcome { marked: end == 0, ..Outcome::default() });
    let (times, _) = spent(&pipe, 0, Time::ZERO);
    assert!(times[3] > 100_000 && times[4] == 0, "{times:?}");
    assert!(pipe.near.times_of(0).unwrap().feedback[0] > 0);
}

#[test]
fn a_message_that_is_read_in_parts_counts_each_cnp_once() {
    // A request may cover 2^23 / 257 packets, so the message takes three READs, whose parts queue behind each other.
    let read = RdmaKeys { verb: RdmaVerb::Read, max_reads: 255, mtu: Or::Value(Bytes::new(1)), ..keys() };
    let mut pipe = transfers(&RdmaKeys { control: dcqcn(), ..read }, &[(0, 70_000)]);
    let mut nth = 0;
    pipe.run(NEVER, |end, _| {
        nth += 1;
        Outcome { marked: end == 0 && nth % 500 == 0, ..Outcome::default() }
    });
    let place = pipe.far.place_of(0).unwrap();
    assert_eq!(place.2, 3);
    let whole = pipe.far.outcomes().unwrap()[0].acknowledged;
    let (_, times) = pipe.near.times_of_read(place, whole).unwrap();
    assert_eq!(u64::from(times.feedback[0]), pipe.near.counts().cnps);
    assert!(times.feedback[0] > 20, "{times:?}");
}

#[test]
fn a_read_waits_for_its_request_and_for_those_before_it() {
    let read = RdmaKeys { verb: RdmaVerb::Read, ..keys() };
    // With one outstanding request, the next one is sent when the previous READ is complete. With many, READs queue at
    // the responder.
    for max_reads in [1, 16] {
        let mut pipe = transfers(&RdmaKeys { max_reads, ..read.clone() }, &[(0, 10_000); 5]);
        pipe.run_clean(NEVER);
        let (request, first, last) = (pipe.wire(74), pipe.wire(1_062), pipe.wire(1_058));
        let response = first * 2 + last * 8;
        for nth in 0..5 {
            let whole = pipe.far.outcomes().unwrap()[nth].acknowledged;
            let place = pipe.far.place_of(nth).unwrap();
            let (came, times) = pipe.near.times_of_read(place, whole).unwrap();
            let nth = nth as u64;
            let (requested, behind) = if max_reads == 1 {
                ((request + DELAY + response + DELAY) * nth, Time::ZERO)
            } else {
                // The first packet of a READ is the next one to send when the last packet of the previous READ has been
                // sent.
                (request * nth, if nth > 0 { response * nth - first - request * nth } else { Time::ZERO })
            };
            assert_eq!(came, requested + request + DELAY);
            assert!(times.behind.abs_diff((behind.ps() / 1_000) as u32) <= 1, "{nth} {times:?}");
            // The last packet is on the wire, and then in flight.
            let rest = (first + DELAY).ps() / 1_000;
            assert!(times.on(Spent::UnderWay).abs_diff(rest as u32) <= 10, "{nth} {times:?}");
            assert_eq!(times.on(Spent::Again), 0);
        }
    }
}

/// Tests the memory of a queue pair without a message and with one.
#[test]
fn a_queue_pair_takes_632_bytes_and_its_message_192() {
    let mut pipe = transfers(&keys(), &[(0, 30_000), (100, 50_000)]);
    let spec = spec(&keys());
    let fresh = QueuePair::new(&spec, 0, &spec.facts(RATE, DELAY + DELAY, 0, 20));
    let bytes = size_of_val(&fresh) + fresh.memory_bytes();
    assert!(bytes <= 632, "{bytes} B");
    for until in [us(110), NEVER] {
        pipe.run_clean(until);
        let pair = pipe.near.queue_pairs().next().unwrap();
        let bytes = size_of_val(pair) + pair.memory_bytes();
        assert!(bytes <= 816, "{bytes} B");
    }
}

#[test]
fn a_queue_pair_is_small() {
    let bytes = size_of::<crate::QueuePair>();
    assert!(bytes <= 600, "{bytes} B");
    // The clocks are allocated separately.
    let apart = size_of::<crate::time_spent::Clocks>();
    assert!(apart <= 150, "{apart} B");
}

#[test]
fn what_cannot_be_meant_is_refused() {
    let dcqcn = |keys: DcqcnKeys| RdmaControlKeys::Dcqcn(keys);
    let wrong = |keys: RdmaKeys| keys.carrier(None, 1_522).unwrap_err()[0].to_string();
    let mtu = RdmaKeys { mtu: Or::Value(Bytes::new(4_096)), ..RdmaKeys::default() };
    assert!(wrong(mtu).contains("an MTU of 4096 B in a frame of 1522 B"));
    let alpha =
        RdmaKeys { control: dcqcn(DcqcnKeys { g: 0.0, ..DcqcnKeys::default() }), ..RdmaKeys::default() };
    assert!(wrong(alpha).contains("a g of 0"));
    // Each row is a frame length and the largest MTU that fits.
    for (frame, mtu) in [(1_522, 1_024), (4_162, 4_096), (4_161, 2_048), (330, 256)] {
        assert_eq!(RdmaKeys::default().carrier(None, frame).unwrap().0.mtu, mtu);
    }
    assert!(RdmaKeys::default().carrier(None, 300).is_err());
    let bdp = RdmaKeys { recovery: RdmaRecovery::Selective, ..RdmaKeys::default() };
    let (spec, _) = bdp.carrier(None, 1_522).unwrap();
    assert_eq!((spec.window, spec.ack_every), (StaticWindow::Bdp, 1));
    // 40 Gb/s times 24 us is 120 kB, or 111 packets of 1090 B.
    let facts = PathFacts::new(units::BitRate::from_gbps(40), us(24), 1_090, 0);
    assert_eq!(spec.most_in_flight(&facts), 111 * 1_090);
}
