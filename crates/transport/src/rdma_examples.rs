//! Queue pairs over a wire: examples computed by hand, closed-form results, and invariants under loss, marks,
//! reordering and duplication.

use crate::pipe::{Outcome, Pipe, losing};
use crate::rdma::queue_pair::header_of;
use crate::testbed::{DELAY, Facts as _, RATE, draws, of_kind};
use crate::{
    CnpScope, DcqcnPreset, Protocol, QueuePairs, RdmaControlKeys, RdmaKeys, RdmaReceiver, RdmaRecovery,
    RdmaSender, RdmaSpec, RdmaVerb, RdmaWord, Received, RecordKind, ReorderingKeys, Segment,
};
use frame::{FrameKind, Ports, Trim};
use proptest::prelude::*;
use std::sync::Arc;
use units::{Bytes, Or, Time};
use workload::Due;

pub(crate) type Wire = Pipe<RdmaSender, RdmaReceiver>;

pub(crate) const NEVER: Time = Time::NEVER;

pub(crate) fn us(us: u64) -> Time {
    Time::from_us(us)
}
pub(crate) fn keys() -> RdmaKeys {
    RdmaKeys {
        control: RdmaControlKeys::None(Default::default()),
        mtu: Or::Value(Bytes::new(1_000)),
        headers: Bytes::new(58),
        timeout: us(500),
        ..RdmaKeys::default()
    }
}
pub(crate) fn dcqcn() -> RdmaControlKeys {
    RdmaControlKeys::Dcqcn(DcqcnPreset::Paper.keys())
}
pub(crate) fn spec(keys: &RdmaKeys) -> Arc<RdmaSpec> {
    let (spec, warnings) = keys.carrier(Some(Bytes::new(0)), 1_522).unwrap();
    assert_eq!((warnings, spec.check()), (vec![], Ok(())));
    spec
}
pub(crate) fn transfers(keys: &RdmaKeys, due: &[(u64, u64)]) -> Wire {
    let spec = spec(keys);
    let due: Arc<[Due]> = due
        .iter()
        .map(|&(at, bytes)| Due { start: us(at), bytes, ports: Ports::default(), awaited: false })
        .collect();
    let facts = spec.facts(RATE, DELAY + DELAY, 0, 20);
    let receiver = RdmaReceiver::reading(&spec, &due, Time::ZERO, None).on_path(facts.base_rtt);
    Pipe::new(RdmaSender::new(&spec, due, facts, Time::ZERO, None), receiver, RATE, DELAY)
}
pub(crate) fn flow(keys: &RdmaKeys, limit: Option<u64>, stop: Option<Time>) -> Wire {
    let (spec, _) = keys.carrier(limit.map(Bytes::new), 1_522).unwrap();
    let facts = spec.facts(RATE, DELAY + DELAY, 0, 20);
    let sender = RdmaSender::new(&spec, [].into(), facts, us(3), stop);
    Pipe::new(sender, RdmaReceiver::reading(&spec, &[].into(), us(3), stop), RATE, DELAY)
}
pub(crate) fn number(segment: &Segment) -> u32 {
    RdmaWord::of(header_of(&Received::from(segment)).word).number
}
/// Returns the numbers of the packets sent, in order.
pub(crate) fn packets(pipe: &Wire) -> Vec<u32> {
    pipe.sent_by(0).iter().map(|(_, segment)| number(segment)).collect()
}
/// Returns the number of messages and of packets delivered.
pub(crate) fn came(pipe: &Wire) -> (u64, u64) {
    let received = pipe.far.received_by_all();
    (received.messages, received.packets)
}
pub(crate) fn delivered(pipe: &Wire, transfer: usize) -> Option<Time> {
    if let Some((pair, first, many)) = pipe.far.place_of(transfer) {
        return pipe.far.delivered(pair, first + many - 1);
    }
    let (pair, ordinal) = pipe.near.place_of(transfer)?;
    pipe.far.delivered(pair, ordinal)
}
#[test]
fn messages_of_one_queue_pair_follow_each_other() {
    // One message of three packets, the last of 500 B, and one of a single packet, all sent back to back. Packets of
    // 1058 B take 846.4 ns.
    let mut pipe = transfers(&keys(), &[(0, 2_500), (0, 1_000)]);
    pipe.run_clean(NEVER);
    assert_eq!(packets(&pipe), [0, 1, 2, 3]);
    let wire = |bytes: u64| pipe.wire(bytes);
    let first = wire(1_058) * 2 + wire(558) + DELAY;
    assert_eq!(delivered(&pipe, 0), Some(first));
    assert_eq!(delivered(&pipe, 1), Some(first + wire(1_058)));
    let outcomes = pipe.near.outcomes();
    let ack = wire(64) + DELAY;
    assert_eq!(outcomes[0].acknowledged, first + ack);
    assert_eq!((outcomes[1].acknowledged, outcomes[1].reused), (first + wire(1_058) + ack, true));
    // Only the last packet of each message requests an acknowledgement.
    assert_eq!(pipe.sent_by(1).iter().map(|(_, it)| number(it)).collect::<Vec<_>>(), [2, 3]);
    assert_eq!((pipe.near.poll_timeout(), pipe.near.queue_pairs().count()), (None, 1));
}

#[test]
fn queue_pairs_are_shared_reused_or_new() {
    let due = [(0, 9_000), (0, 9_000), (100, 500)];
    for (queue_pairs, expected) in
        [(QueuePairs::One, [0, 0, 0]), (QueuePairs::Free, [0, 1, 1]), (QueuePairs::Each, [0, 1, 2])]
    {
        let mut pipe = transfers(&RdmaKeys { queue_pairs, ..keys() }, &due);
        pipe.run_clean(NEVER);
        let outcomes = pipe.near.outcomes();
        assert_eq!([0, 1, 2].map(|nth: usize| outcomes[nth].connection), expected);
        assert!((0..3).all(|nth| delivered(&pipe, nth).is_some()));
        // Two queue pairs send packets alternately.
        let pairs: Vec<u32> = pipe.sent_by(0)[..4].iter().map(|(_, it)| it.word >> 27).collect();
        assert_eq!(pairs, if queue_pairs == QueuePairs::One { [0; 4] } else { [0, 1, 0, 1] });
    }
}

#[test]
fn a_gap_has_one_nak_and_everything_from_there_on_is_sent_again() {
    let mut pipe = transfers(&keys(), &[(0, 40_000)]);
    pipe.run(NEVER, losing(&[5]));
    // Packet 6 arrives after the gap. This is the number of packets sent until its NAK arrives.
    let behind = packets(&pipe).iter().position(|&packet| packet == 5).unwrap();
    let again = packets(&pipe)[behind + 1..].iter().position(|&packet| packet == 5).unwrap() + behind + 1;
    assert_eq!(packets(&pipe)[again - 1], again as u32 - 1);
    assert_eq!(packets(&pipe)[again..], (5..40).collect::<Vec<u32>>());
    assert_eq!(pipe.near.counts().naks, 1);
    assert_eq!(pipe.near.retransmitted(), pipe.far.discarded() + 1);
    assert_eq!((pipe.near.counts().timeouts, pipe.far.received_by_all().naks), (0, 1));
    let outcome = pipe.near.outcomes()[0];
    assert_eq!(u64::from(outcome.sent_again), pipe.near.retransmitted());
}

#[test]
fn selective_repeat_sends_the_missing_packets_alone() {
    let keys =
        RdmaKeys { recovery: RdmaRecovery::Selective, window: None, base_rtt: Or::Value(us(30)), ..keys() };
    let mut pipe = transfers(&keys, &[(0, 40_000)]);
    pipe.run(NEVER, losing(&[5, 8, 9]));
    let mut again: Vec<u32> = packets(&pipe);
    (0..40).for_each(|packet| {
        let at = again.iter().position(|&sent| sent == packet).unwrap();
        again.remove(at);
    });
    assert_eq!(again, [5, 8, 9]);
    assert_eq!((pipe.near.counts().timeouts, pipe.far.discarded()), (0, 0));
    assert!(delivered(&pipe, 0).is_some());
}

#[test]
fn the_first_the_last_and_the_only_packet_may_be_lost() {
    for (bytes, lost, timeouts) in [(5_000, 0, 0), (5_000, 4, 1), (500, 0, 1)] {
        for recovery in [RdmaRecovery::GoBackN, RdmaRecovery::Selective] {
            let mut pipe = transfers(&RdmaKeys { recovery, ..keys() }, &[(0, bytes)]);
            pipe.run(NEVER, losing(&[lost]));
            let counts = pipe.near.counts();
            assert_eq!((counts.messages, counts.timeouts), (1, timeouts), "{recovery:?} {bytes} {lost}");
            assert!(delivered(&pipe, 0).is_some());
            assert!(!pipe.near.has_work() && pipe.near.poll_timeout().is_none());
        }
    }
}

#[test]
fn a_lost_acknowledgement_costs_a_timeout_and_delivers_nothing_twice() {
    let mut pipe = transfers(&keys(), &[(0, 2_000)]);
    let mut acks = 0;
    pipe.run(NEVER, |end, _| {
        acks += u32::from(end == 1);
        Outcome { lost: end == 1 && acks == 1, ..Outcome::default() }
    });
    assert_eq!((pipe.near.counts().timeouts, came(&pipe)), (1, (1, 2)));
    assert_eq!(packets(&pipe), [0, 1, 0, 1]);
    assert_eq!(delivered(&pipe, 0), Some(pipe.wire(1_058) * 2 + DELAY));
}

#[test]
fn a_lost_nak_is_repeated_after_its_gap_or_a_timeout_helps() {
    for nak_gap in [us(20), us(5_000)] {
        let mut pipe = transfers(&RdmaKeys { nak_gap, ..keys() }, &[(0, 100_000)]);
        let (mut naks, mut lose) = (0, losing(&[5]));
        pipe.run(NEVER, |end, segment| {
            let nak = end == 1 && RdmaWord::of(segment.word).flags[0];
            naks += u32::from(nak);
            if nak && naks == 1 { Outcome { lost: true, ..Outcome::default() } } else { lose(end, segment) }
        });
        assert_eq!(pipe.near.counts().timeouts, u32::from(nak_gap > us(500)));
        assert!(delivered(&pipe, 0).is_some());
    }
}

#[test]
fn a_queue_pair_that_nobody_answers_is_in_error() {
    let mut pipe = transfers(&RdmaKeys { retries: 2, ..keys() }, &[(0, 3_000), (0, 1_000), (9_000, 10)]);
    pipe.run(NEVER, |end, _| Outcome { lost: end == 0, ..Outcome::default() });
    let pair = pipe.near.queue_pairs().next().unwrap();
    // The timer runs from the third packet on, which requests an acknowledgement, and then from each retransmission.
    let third = Time::from_ps(2 * pipe.wire(1_058).ps());
    assert_eq!((pair.counts.timeouts, pair.failed()), (3, Some(us(1_500) + third)));
    assert_eq!(pipe.near.outcomes().map_missing(), [3_000, 1_000, 10]);
    assert!(!pipe.near.has_work() && pipe.near.poll_timeout().is_none());
}

trait Missing {
    fn map_missing(&self) -> Vec<u64>;
}
impl Missing for Vec<crate::TransferOutcome> {
    fn map_missing(&self) -> Vec<u64> {
        self.iter().map(|outcome| outcome.missing).collect()
    }
}

#[test]
fn a_static_window_gives_its_bytes_a_round_trip() {
    // Four packets of 1058 B per round trip of 10 us; the round trip includes one of them and its acknowledgement.
    let keys = RdmaKeys { window: Some(Or::Value(units::Amount::Frames(4))), ..keys() };
    let ends = |keys: &RdmaKeys| {
        let mut pipe = transfers(keys, &[(0, 400_000)]);
        pipe.run_clean(NEVER);
        (delivered(&pipe, 0).unwrap(), pipe.wire(1_058), pipe.wire(64))
    };
    let (last, packet, ack) = ends(&keys);
    assert_eq!(last, (packet + ack + DELAY * 2) * 99 + packet * 4 + DELAY);
    // With one acknowledgement per 64 packets, the packet that fills the window requests one, and the others wait for
    // it.
    let (last, packet, ack) = ends(&RdmaKeys { ack_every: Some(64), ..keys });
    assert_eq!(last, (packet * 4 + ack + DELAY * 2) * 99 + packet * 4 + DELAY);
}

#[test]
fn a_flow_sends_messages_until_its_limit_or_stop() {
    let each = RdmaKeys { message: Or::Value(Bytes::new(3_000)), ..keys() };
    let mut pipe = flow(&each, Some(10_000), None);
    pipe.run_clean(NEVER);
    let sizes: Vec<u64> = of_kind(&pipe.records, RecordKind::Transfer).iter().map(|it| it.bytes).collect();
    assert_eq!((sizes, came(&pipe)), (vec![3_000, 3_000, 3_000, 1_000], (4, 10)));
    // All packets are sent back to back.
    assert_eq!(pipe.sent_by(0)[9].0, us(3) + pipe.wire(1_058) * 9);
    let mut endless = flow(&keys(), None, Some(us(50)));
    endless.run_clean(NEVER);
    // The last packet is flagged as such.
    assert!(endless.sent_by(0).iter().all(|(at, _)| *at < us(51)));
    let sent = endless.sent_by(0).len() as u64;
    assert!(sent > 50 && endless.near.counts().bytes == sent * 1_000);
}

#[test]
fn marks_are_answered_once_in_a_gap_and_never_without_one() {
    let keys = RdmaKeys { control: dcqcn(), ..keys() };
    let mut pipe = flow(&keys, None, None);
    pipe.run_clean(us(2_000));
    assert_eq!(pipe.far.received_by_all().cnps, 0);
    let mut pipe = flow(&keys, None, None);
    pipe.run(us(2_000), |_, _| Outcome { marked: true, ..Outcome::default() });
    let cnps: Vec<Time> =
        pipe.sent.iter().filter(|sent| sent.segment.kind == FrameKind::Cnp).map(|sent| sent.at).collect();
    assert!(cnps.windows(2).all(|pair| pair[1] - pair[0] >= us(50)), "{cnps:?}");
    assert!(cnps.len() > 10 && pipe.near.counts().cnps >= cnps.len() as u64 - 1);
    // Because it is marked all the time, it is cut to its minimum rate.
    let pair = pipe.near.queue_pairs().next().unwrap();
    assert!(pair.rate(us(2_000)) < 200e6);
}

#[test]
fn queue_pairs_may_share_the_gap_of_cnps() {
    for (cnp_scope, expected) in [(CnpScope::QueuePair, 2), (CnpScope::Address, 1), (CnpScope::Port, 1)] {
        let keys = RdmaKeys { control: dcqcn(), queue_pairs: QueuePairs::Each, cnp_scope, ..keys() };
        let mut pipe = transfers(&keys, &[(0, 5_000), (0, 5_000)]);
        pipe.run(NEVER, |_, _| Outcome { marked: true, ..Outcome::default() });
        assert_eq!(pipe.far.received_by_all().cnps, expected);
    }
}

#[test]
fn go_back_n_has_the_efficiency_of_its_closed_form() {
    // With loss probability p per packet, and W packets sent between a lost one and its NAK, the useful share of transmissions is (1 - p) /
    // (1 - p + p W).
    for p in [0.002, 0.01, 0.05] {
        let mut pipe = flow(&RdmaKeys { nak_gap: us(11), ..keys() }, None, None);
        let mut draw = draws(7).0;
        let lost = (p * 1e6) as u64;
        pipe.run(Time::from_ms(40), |end, _| Outcome {
            lost: end == 0 && draw(1_000_000) < lost,
            ..Outcome::default()
        });
        let sent = pipe.near.counts().sent as f64;
        let useful = came(&pipe).1 as f64;
        // From the loss until the next packet has arrived and its NAK has returned.
        let trip = (pipe.wire(1_058) + pipe.wire(64) + DELAY * 2).ps() as f64 / pipe.wire(1_058).ps() as f64;
        let exact = (1.0 - p) / (1.0 - p + p * (trip + 1.0).ceil());
        assert!((useful / sent / exact - 1.0).abs() < 0.03, "{p}: {} and {exact}", useful / sent);
    }
}

/// Generates each recovery; reordering has windows, distances and times from the minimum on.
pub(crate) fn any_recovery() -> impl Strategy<Value = RdmaRecovery> {
    let reordering =
        (1u64..40, 1u64..8, 0u64..60, any::<bool>()).prop_map(|(window, distance, time, nak)| {
            let distance = distance.min(window.max(2) - 1);
            let window = window.max(2);
            RdmaRecovery::Reordering(ReorderingKeys {
                window,
                distance,
                time: Or::Value(us(time)),
                nak,
                ..ReorderingKeys::default()
            })
        });
    prop_oneof![Just(RdmaRecovery::GoBackN), Just(RdmaRecovery::Selective), reordering]
}

fn any_keys() -> impl Strategy<Value = RdmaKeys> {
    let recovery = any_recovery();
    let pairs = prop::sample::select(vec![QueuePairs::One, QueuePairs::Free, QueuePairs::Each]);
    let controls = super::rdma::any_control();
    let verbs = prop::sample::select(vec![RdmaVerb::Send, RdmaVerb::Write, RdmaVerb::Read]);
    let reads = (verbs, 1u64..17);
    (recovery, pairs, controls, 1u64..70, prop::option::of(1u64..20), 0u64..300, reads).prop_map(
        |(recovery, queue_pairs, control, ack_every, window, nak_gap, (verb, max_reads))| RdmaKeys {
            verb,
            max_reads,
            recovery,
            queue_pairs,
            control,
            ack_every: Some(ack_every),
            window: window.map(|packets| Or::Value(units::Amount::Frames(packets))),
            nak_gap: us(nak_gap),
            retries: 255,
            ..keys()
        },
    )
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(200))]

    /// Tests delivery over a wire that loses, marks, reorders and duplicates.
    #[test]
    fn every_message_arrives_once(
        keys in any_keys(),
        starts in prop::collection::vec((0u64..2_000, 1u64..30_000), 1..10),
        loss in 0u64..15,
        marks in 0u64..50,
        jitter in 0u64..20_000,
        seed in any::<u64>(),
    ) {
        let mut starts = starts;
        starts.sort_unstable();
        let (made, _) = keys.carrier(Some(Bytes::new(0)), 1_522).unwrap();
        let due: Arc<[Due]> =
            starts.iter().map(|&(at, bytes)| Due { start: us(at), bytes, ports: Ports::default(), awaited: true }).collect();
        let facts = made.facts(RATE, DELAY + DELAY, 0, 20);
        let sender = RdmaSender::new(&made, due.clone(), facts, Time::ZERO, None);
        let receiver = RdmaReceiver::reading(&made, &due, Time::ZERO, None);
        let mut pipe = Pipe::new(sender, receiver, RATE, DELAY);
        let mut draw = draws(seed).0;
        pipe.run(NEVER, |_, _| Outcome {
            lost: draw(100) < loss,
            trimmed: false,
            marked: draw(100) < marks,
            twice: draw(100) < 10,
            extra: Time::from_ns(if jitter > 0 { draw(jitter) } else { 0 }),
        });
        let reads = keys.verb == RdmaVerb::Read;
        let outcomes = pipe.far.outcomes().unwrap_or(pipe.near.outcomes());
        prop_assert_eq!(outcomes.len(), due.len());
        for (nth, (due, outcome)) in due.iter().zip(&outcomes).enumerate() {
            let delivered = delivered(&pipe, nth).expect("delivered");
            prop_assert!(due.start < delivered && delivered <= outcome.acknowledged);
            prop_assert!(delivered < outcome.acknowledged || reads);
            prop_assert!(outcome.acknowledged != NEVER && outcome.missing == 0);
            let times = match pipe.far.place_of(nth) {
                Some(place) => pipe.near.times_of_read(place, outcome.acknowledged),
                None => pipe.near.times_of(nth).map(|times| (due.start, times)),
            };
            let (from, times) = times.expect("times");
            let sum = times.spent.iter().fold(u64::from(times.behind), |sum, &ns| sum + u64::from(ns));
            let took = (outcome.acknowledged - from).ps() / 1_000;
            prop_assert!(took.abs_diff(sum) <= 9, "{:?} of {} ns", times, took);
            prop_assert_eq!(from > due.start, reads);
        }
        let place = |nth: usize| pipe.far.place_of(nth).map_or(0, |(a, b, c)| pipe.near.served_again(a, b, c));
        let again = outcomes.iter().enumerate().map(|(nth, it)| u64::from(it.sent_again + place(nth)));
        let again: u64 = again.sum();
        prop_assert_eq!(again, pipe.near.retransmitted());
        let counts = pipe.near.counts();
        let packets: u64 = starts.iter().map(|(_, bytes)| bytes.div_ceil(1_000)).sum();
        prop_assert_eq!(counts.sent, packets + counts.retransmitted);
        // Each message is delivered once, and the number of delivered packets is that of all messages.
        prop_assert_eq!(came(&pipe), (starts.len() as u64, packets));
        // Both the sending and the receiving end report the completion of each awaited transfer once.
        let mut ends = [Vec::new(), Vec::new()];
        ends[0].extend(std::iter::from_fn(|| pipe.near.poll_ended()));
        ends[1].extend(std::iter::from_fn(|| pipe.far.poll_ended()));
        ends.iter_mut().for_each(|of| of.sort_unstable());
        let all: Vec<u32> = (0..due.len() as u32).collect();
        prop_assert_eq!(&ends, &[if reads { Vec::new() } else { all.clone() }, all]);
        let received = pipe.far.received_by_all();
        prop_assert!(received.cnps <= received.marked);
        prop_assert!(!pipe.near.has_work() && !pipe.far.has_work());
    }

    /// Tests that packet numbers may wrap at 24 bits, whatever is lost there.
    #[test]
    fn numbers_wrap(seed in any::<u64>(), selective in any::<bool>(), reads in any::<bool>()) {
        let recovery = if selective { RdmaRecovery::Selective } else { RdmaRecovery::GoBackN };
        let verb = if reads { RdmaVerb::Read } else { RdmaVerb::Send };
        let keys = RdmaKeys { recovery, verb, retries: 255, ..keys() };
        let mut pipe = transfers(&keys, &[(0, 300_000)]);
        let first = (1 << 24) - 100;
        pipe.near.start_at(first);
        pipe.far.start_at(first);
        let mut draw = draws(seed).0;
        pipe.run(NEVER, |_, _| Outcome { lost: draw(100) < 5, ..Outcome::default() });
        prop_assert_eq!(came(&pipe), (1, first + 300));
        prop_assert!(packets(&pipe).contains(&((1 << 24) - 1)) && packets(&pipe).contains(&0));
    }

    /// Tests that ends that receive arbitrary frames at any time neither panic nor accept impossible ones.
    #[test]
    fn nonsense_is_survived(
        keys in any_keys(),
        steps in prop::collection::vec((0u32..8, any::<u32>(), any::<u16>(), any::<[u8; 4]>()), 1..200),
    ) {
        let (made, _) = keys.carrier(Some(Bytes::new(0)), 1_522).unwrap();
        let due: Arc<[Due]> =
            [0, 10, 20].iter().map(|&at| Due { start: us(at), bytes: 9_000, ports: Ports::default(), awaited: false }).collect();
        let facts = made.facts(RATE, DELAY + DELAY, 0, 20);
        let mut sender = RdmaSender::new(&made, due.clone(), facts, Time::ZERO, None);
        let mut receiver = RdmaReceiver::reading(&made, &due, Time::ZERO, None);
        let mut now = Time::ZERO;
        for (step, word, bytes, salt) in steps {
            now += Time::from_ns(u64::from(bytes));
            let kinds = [FrameKind::Data, FrameKind::Ack, FrameKind::MarkedAck, FrameKind::Cnp];
            let header = frame::RdmaHeader {
                requested: u32::from(salt[0] % 3) * 1_500,
                immediate: u32::from(salt[1] % 5).max(frame::RdmaHeader::immediate_of(salt[2] % 7)),
                word: word ^ u32::from(salt[1]),
                pair: u32::from(salt[2] % 5),
                echo: (salt[3] < 100).then_some(now).into(),
                arrived: (salt[3] > 100).then_some(word >> 4),
                lost: u64::from(word) * u64::from(salt[0] % 3),
                telemetry: frame::Telemetry::None,
            };
            let frame = Received {
                kind: kinds[usize::from(salt[0] % 4)],
                word: word & 0x0700_003F | u32::from(salt[1] % 3) << 27,
                header: (salt[0] > 128).then_some(frame::Header::Rdma(header)),
                bytes,
                congestion_experienced: salt[1] > 99,
                created: now,
                trim: Trim::Whole,
                entropy: 0,
            };
            match step {
                0 | 1 => sender.handle_frame(now, &frame),
                2 | 3 => {
                    receiver.notify(now, &frame, &mut Time::ZERO.clone());
                    receiver.handle_frame(now, &frame);
                }
                4 => sender.handle_timeout(now),
                5 => receiver.handle_timeout(now),
                6 => while sender.poll_transmit(now).is_some() {},
                _ => while receiver.poll_transmit(now).is_some() {},
            }
            while sender.poll_record().is_some() {}
            prop_assert!(sender.outcomes().iter().all(|it| it.missing <= 9_000));
        }
    }
}
