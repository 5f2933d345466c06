//! Steps of FECN computed by hand, its golden vectors, and its invariants.

use super::*;
use crate::fecn_source::RateReactionParams;
use crate::rate_control::{Feedback, RateConfiguration, RateControl};
use crate::testbed::{bits, capable};
use frame::Occupancy;

const LINE: BitRate = BitRate::from_gbps(10);
const LINK: LinkFacts = LinkFacts { rate: LINE, overhead: 20, point: PointId(7), shared: false };
const FRAME: u64 = 1_500;

fn none() -> u64 {
    unreachable!("nothing is random here")
}
/// Runs an interval in which `arrived` bits per second arrive and which ends with `frames` frames in the queue. Returns
/// the rate in Mb/s.
fn after(point: &mut RatePoint, arrived: f64, frames: u64) -> f64 {
    point.bits = (arrived * 1e-3) as u64;
    let ends = point.ends.unwrap_or(Time::from_ms(1));
    point.advance(ends, (frames * FRAME, frames * FRAME), &mut none);
    point.rate / 1e6
}
fn close(found: f64, expected: f64) {
    assert!((found - expected).abs() < 0.01, "{found} for {expected}");
}

#[test]
fn queue_control_of_the_golden_vector() {
    let point = RatePointParams::default().start(&LINK);
    let lengths = [0, 8, 16, 32, 48, 96, 160, 1600];
    let factors = [1.002, 1.001, 1.0, 0.9167, 0.8462, 0.6875, 0.55, 0.1];
    for (frames, factor) in lengths.into_iter().zip(factors) {
        let found = point.queue_control(frames * FRAME);
        assert!((found - factor).abs() < 5e-5, "{frames} frames: {found} for {factor}");
    }
    let line = RatePointParams { queue_control: QueueControl::Linear, ..RatePointParams::default() };
    let line = line.start(&LINK);
    for (frames, factor) in [(0, 1.1), (16, 1.0), (32, 0.9), (96, 0.5), (1600, 0.1)] {
        assert!((line.queue_control(frames * FRAME) - factor).abs() < 1e-12);
    }
    let off = RatePointParams { queue_control: QueueControl::Off, ..RatePointParams::default() }.start(&LINK);
    assert_eq!(off.queue_control(1600 * FRAME), 1.0);
}

#[test]
fn additive_control_adds_to_the_load() {
    let additive = RatePointParams {
        queue_control: QueueControl::Additive,
        average_weight: 1.0,
        limit_increase: false,
        ..RatePointParams::default()
    };
    // Half the rate of the link arrives, k = 0.1. The queue is empty, at the set point, at twice the set point, and so
    // long that the factor is at its floor.
    for (frames, load) in [(0, 0.4), (16, 0.5), (32, 0.6), (1_600, 5.0)] {
        let mut point = additive.start(&LINK);
        close(after(&mut point, 5e9, frames), f64::min(500.0 / load, 10_000.0));
    }
    // A small load is reduced to no less than half.
    let mut point = additive.start(&LINK);
    close(after(&mut point, 1e9, 0), 500.0 / 0.05);
}

/// Tests a class that gets 3 Gb/s of a 10 Gb/s link, from times of arrival and departure: 3 frames in 12.16 us of
/// waiting and transmission.
#[test]
fn a_measured_capacity_is_that_of_the_class() {
    let measured = RatePointParams {
        capacity: Capacity::Measured,
        queue_control: QueueControl::Off,
        average_weight: 1.0,
        limit_increase: false,
        ..RatePointParams::default()
    };
    let mut point = measured.start(&LINK);
    let holding = |frames| Fill { queue: Occupancy { bytes: frames * FRAME, frames }, ..Fill::default() };
    for nth in 0..100u64 {
        let at = Time::from_us(10 * nth);
        let _ = point.on_enqueue(at, &holding(0), capable(1_500), &mut none);
        // The frame leaves after 2.84 us and takes 1.216 us to transmit.
        let _ = point.on_dequeue(at + Time::from_ps(2_837_333), &holding(0), capable(1_500), &mut none);
    }
    let _ = point.on_enqueue(Time::from_ms(1), &holding(0), capable(1_500), &mut none);
    // 12,160 bits in 4.0533 us are 3 Gb/s. 1.216 Gb/s have arrived.
    close(point.rate / 1e6, 500.0 * 3.0 / 1.216);
}

#[test]
fn the_queue_of_a_switch_is_all_that_waits_in_it() {
    let rate = |scope| {
        let params = RatePointParams { scope, average_weight: 1.0, ..RatePointParams::default() };
        let mut point = params.start(&LINK);
        point.bits = 10_000_000;
        let fill = Fill { scope: 96 * FRAME, ..Fill::default() };
        let _ = point.on_enqueue(Time::from_ms(1), &fill, capable(1_500), &mut none);
        point.rate / 1e6
    };
    close(rate(RateScope::Queue), 500.0 * 1.002);
    close(rate(RateScope::Switch), 500.0 * 0.6875);
    close(rate(RateScope::Port), 500.0 * 0.6875);
}

/// Tests four sources at the advertised rate: first the golden vector, then a queue above the set point, a queue above
/// the severe threshold, and a link that drops to a tenth of its rate.
#[test]
fn steps_by_hand_with_every_enhancement() {
    let mut point = RatePointParams::default().start(&LINK);
    let step = |point: &mut RatePoint, frames| {
        let arrived = 4.0 * point.rate;
        after(point, arrived, frames)
    };
    // 10.02 / 4 = 2.505 in all intervals. The first rate is limited by 500 + 500 * 1.414; each later one is (2505 + the
    // rate before the last) / 2.
    for expected in [1_207.0, 1_502.5, 1_856.0, 2_003.75] {
        close(step(&mut point, 0), expected);
    }
    assert_eq!(point.increase, 0.5e9 * 1.414 * 1.414 * 1.414 * 1.414);
    // f(32) = 11/12: (2500 * 11/12 + 1856) / 2.
    close(step(&mut point, 32), 2_073.833);
    // f(96) = 11/16: (1718.75 + 2003.75) / 2. The limit of increases shrinks.
    let before = point.increase;
    close(step(&mut point, 96), 1_861.25);
    assert_eq!(point.increase, before * 0.707);
    // The link drops to a tenth: r = 186.125, and the previous rate becomes 207.3833. 7445 Mb/s arrived, so the load is
    // 7445 / (0.55 * 1000).
    point.on_link_rate(BitRate::from_gbps(1));
    close(step(&mut point, 160), (186.125 * 550.0 / 7_445.0 + 207.383_3) / 2.0);
    // The rate continues from there; a faster link by itself has no effect.
    point.on_link_rate(LINE);
    let (last, before) = (point.rate / 1e6, point.rate_before / 1e6);
    close(step(&mut point, 16), f64::min((2_500.0 + before) / 2.0, last + point.increase / 1e6));
}

#[test]
fn without_any_enhancement_it_is_r_over_z() {
    let basic = RatePointParams {
        queue_control: QueueControl::Off,
        average_weight: 1.0,
        limit_increase: false,
        follow_capacity: false,
        ..RatePointParams::default()
    };
    let mut point = basic.start(&LINK);
    close(after(&mut point, 2e9, 0), 2_500.0);
    close(after(&mut point, 12.5e9, 90), 2_000.0);
    // A slower link does not change the rate directly, but the load becomes relative to the new capacity.
    point.on_link_rate(BitRate::from_gbps(5));
    close(after(&mut point, 8e9, 0), 1_250.0);
    let last = RatePointParams { average_weight: 0.5, average_with: AverageWith::Last, ..basic };
    let mut point = last.start(&LINK);
    close(after(&mut point, 2e9, 0), 1_500.0);
    close(after(&mut point, 6e9, 0), 2_000.0);
}

#[test]
fn an_idle_queue_holds_its_rate_or_raises_it() {
    let idle = |idle| {
        let mut point = RatePointParams { idle, ..RatePointParams::default() }.start(&LINK);
        point.advance(Time::from_us(5_500), (0, 0), &mut none);
        (point.rate / 1e6, point.ends)
    };
    assert_eq!(idle(Idle::Hold), (500.0, Some(Time::from_ms(6))));
    let (raised, ends) = idle(Idle::Raise);
    // 500 * (1 + 1 + 1.414 + 1.999 + 2.827 + 3.998).
    close(raised, 500.0 + 500.0 * (1.414f64.powi(5) - 1.0) / 0.414);
    assert_eq!(ends, Some(Time::from_ms(6)));
    // However long the queue stays idle, the rate does not exceed that of the link.
    let mut point = RatePointParams { idle: Idle::Raise, ..RatePointParams::default() }.start(&LINK);
    point.advance(Time::from_ms(1_000), (0, 0), &mut none);
    assert_eq!(point.rate(), LINE);
}

#[test]
fn frames_count_with_or_without_what_is_around_them() {
    let bits = |load| {
        let mut point = RatePointParams { load, ..RatePointParams::default() }.start(&LINK);
        let _ = point.on_enqueue(Time::from_us(3), &Fill::default(), capable(1_500), &mut none);
        point.bits
    };
    assert_eq!((bits(Load::Wire), bits(Load::Frame)), (12_160, 12_000));
}

#[test]
fn intervals_end_with_the_queue_as_it_was() {
    // A frame waits from 0.9 ms to 1.2 ms. At 1 ms it is in the queue, although the queue is checked only when the
    // frame leaves.
    let mut point = RatePointParams::default().start(&LINK);
    let long = Fill { queue: Occupancy { bytes: 100 * FRAME, frames: 100 }, ..Fill::default() };
    let _ = point.on_enqueue(Time::from_us(900), &long, capable(1_500), &mut none);
    let _ = point.on_dequeue(Time::from_us(1_200), &long, capable(1_500), &mut none);
    let mut other = RatePointParams::default().start(&LINK);
    other.bits = 8 * 1_520;
    other.advance(Time::from_ms(1), (101 * FRAME, 101 * FRAME), &mut none);
    assert_eq!((point.rate, point.increase), (other.rate, other.increase));
    // The long interval is 2 T: a load near 1 makes the next interval long.
    let calm = RatePointParams { long_interval: Or::Value(Time::from_ms(4)), ..RatePointParams::default() };
    let mut point = calm.start(&LINK);
    for (arrived, ends) in [(9.6e9, 5), (9.4e9, 6)] {
        point.bits = (arrived * 1e-3 * if ends == 6 { 4.0 } else { 1.0 }) as u64;
        point.advance(point.ends.unwrap_or(Time::from_ms(1)), (0, 0), &mut none);
        assert_eq!(point.ends, Some(Time::from_ms(ends)));
    }
    let mut random = bits(5);
    let mut phased = RatePointParams { phase: Phase::Random, ..RatePointParams::default() }.start(&LINK);
    phased.advance(Time::ZERO, (0, 0), &mut random);
    let first = phased.ends.unwrap();
    assert!(first > Time::ZERO && first <= Time::from_ms(1));
}

#[test]
fn tags_only_ever_lower_the_rate_that_they_carry() {
    let mut random = bits(9);
    for moment in [Moment::Enqueue, Moment::Dequeue] {
        let mut point = RatePointParams { stamp_at: moment, ..RatePointParams::default() }.start(&LINK);
        let other = [Moment::Dequeue, Moment::Enqueue][moment as usize];
        for _ in 0..1_000 {
            point.rate = (1 + random() % 10_000_000_000) as f64;
            let carried = BitRate::from_bps(1 + random() % 10_000_000_000);
            let tag = Tag::Rate(Some((carried, PointId(1))));
            let least = carried.min(point.rate());
            assert_eq!(point.stamp(other, tag, || 0), tag);
            let Tag::Rate(Some((rate, by))) = point.stamp(moment, tag, || 0) else { panic!("it is a rate") };
            assert_eq!((rate, by), (least, PointId(if least == carried { 1 } else { 7 })));
        }
        assert_eq!(point.stamp(moment, Tag::Rate(None), || 0), Tag::Rate(Some((point.rate(), PointId(7)))));
        assert_eq!(point.stamp(moment, Tag::Limited(PointId(2)), || 0), Tag::Limited(PointId(2)));
    }
}

#[test]
fn the_advertised_rate_stays_between_its_least_and_the_link() {
    let mut random = bits(2);
    let mut share = |most: f64| (random() >> 11) as f64 / (1u64 << 53) as f64 * most;
    for queue_control in [QueueControl::Hyperbolic, QueueControl::Linear, QueueControl::Off] {
        for limit_increase in [true, false] {
            let params = RatePointParams { queue_control, limit_increase, ..RatePointParams::default() };
            let mut point = params.start(&LINK);
            for _ in 0..2_000 {
                point.on_link_rate(BitRate::from_bps(1_000_000_000 + share(9e9) as u64));
                let (before, capacity) = (point.rate, point.capacity);
                let _ = after(&mut point, share(30e9), share(2_000.0) as u64);
                assert!((0.001 * capacity..=capacity).contains(&point.rate));
                let risen = point.rate - before;
                assert!(!limit_increase || risen <= point.increase * (1.0 + 1e-9));
            }
        }
    }
}

#[test]
fn severe_messages_are_for_a_part_of_the_frames() {
    let mut point =
        RatePointParams { severe_messages: true, severe_every: 3, ..RatePointParams::default() }.start(&LINK);
    let mut verdicts = |frames: u64| -> Vec<bool> {
        let queue = Fill { queue: Occupancy { bytes: frames * FRAME, frames }, ..Fill::default() };
        let notifies =
            |_| point.on_enqueue(Time::ZERO, &queue, capable(1_500), &mut none) == Verdict::notify(0);
        (0..4).map(notifies).collect()
    };
    assert_eq!(verdicts(48), [false; 4]);
    assert_eq!(verdicts(49), [true, false, false, true]);
    let mut plain = RatePointParams::default().start(&LINK);
    let queue = Fill { queue: Occupancy { bytes: 90 * FRAME, frames: 90 }, ..Fill::default() };
    assert_eq!(plain.on_enqueue(Time::ZERO, &queue, capable(1_500), &mut none), Verdict::Pass);
}

fn back(mbps: u64) -> Feedback {
    Feedback::Returned(Tag::Rate(Some((BitRate::from_bps(mbps * 1_000_000), PointId(7)))))
}

#[test]
fn a_source_tags_by_time_or_by_count() {
    let mut source = RateReactionParams::default().start(LINE);
    let mut tagged: Vec<u64> = Vec::new();
    for us in (0..5_000).step_by(300) {
        if source.tag(Time::from_us(us)).is_some() {
            tagged.push(us);
        }
    }
    // A frame is tagged if it is the first at least a millisecond after the last tag.
    assert_eq!(tagged, [0, 1_200, 2_400, 3_600, 4_800]);
    let mut counting = RateReactionParams { tag_every: 3, ..RateReactionParams::default() }.start(LINE);
    let tags: Vec<bool> = (0..7).map(|_| counting.tag(Time::ZERO).is_some()).collect();
    assert_eq!(tags, [true, false, false, true, false, false, true]);
    // Two rates within 5 % of each other lengthen the interval between tags to 2 T.
    let calm =
        RateReactionParams { long_interval: Or::Value(Time::from_ms(4)), ..RateReactionParams::default() };
    let mut source = calm.start(LINE);
    assert!(source.tag(Time::ZERO).is_some());
    source.on_feedback(Time::ZERO, back(1_000), &mut none);
    assert!(source.tag(Time::from_ms(1)).is_some());
    source.on_feedback(Time::from_ms(1), back(1_050), &mut none);
    assert!(source.tag(Time::from_ms(2)).is_none() && source.tag(Time::from_ms(5)).is_some());
    source.on_feedback(Time::from_ms(5), back(2_000), &mut none);
    assert!(source.tag(Time::from_ms(6)).is_some());
}

#[test]
fn a_source_follows_tags_and_forgets_them() {
    let mut source = RateReactionParams::default().start(LINE);
    let mbps = |source: &crate::fecn_source::RateReaction| source.rate().unwrap().bps() / 1_000_000;
    assert_eq!((mbps(&source), source.poll_timeout()), (500, None));
    source.on_feedback(Time::from_ms(1), back(2_500), &mut none);
    assert_eq!((mbps(&source), source.poll_timeout()), (2_500, Some(Time::from_ms(11))));
    for (feedback, expected) in
        [(back(1), 10), (back(40_000), 10_000), (Feedback::Returned(Tag::Rate(None)), 10_000)]
    {
        source.on_feedback(Time::from_ms(2), feedback, &mut none);
        assert_eq!(mbps(&source), expected);
    }
    source.handle_timeout(Time::from_ms(11), &mut none);
    assert_eq!(mbps(&source), 10_000);
    source.handle_timeout(Time::from_ms(12), &mut none);
    assert_eq!((mbps(&source), source.poll_timeout()), (500, None));
}

#[test]
fn severe_messages_only_ever_lower_a_rate() {
    let mut source = RateReactionParams::default().start(LINE);
    let severe = Feedback::Message(frame::Notice::default());
    let mut rate = |us, feedback| {
        source.on_feedback(Time::from_us(us), feedback, &mut none);
        source.rate().unwrap().bps() / 1_000_000
    };
    assert_eq!(rate(0, back(4_000)), 4_000);
    assert_eq!(rate(1, severe), 500);
    // The rate of the next tag applies, and severe messages are ignored for an interval.
    assert_eq!((rate(2, back(3_000)), rate(1_000, severe)), (3_000, 3_000));
    assert_eq!((rate(1_001, severe), rate(1_002, back(100)), rate(9_000, severe)), (500, 100, 100));
}

#[test]
fn what_cannot_be_meant() {
    let about = |key: &str| Err(vec![keys::Step::Key(key.into())]);
    let point = |change: fn(&mut RatePointParams)| {
        let mut params = RatePointParams::default();
        change(&mut params);
        params.check().map_err(|why| why.path)
    };
    assert_eq!(point(|_| {}), Ok(()));
    assert_eq!(point(|it| it.interval = Time::ZERO), about("interval"));
    assert_eq!(point(|it| it.long_interval = Or::Value(Time::from_us(9))), about("long_interval"));
    assert_eq!(point(|it| it.near_share = -0.1), about("near_share"));
    assert_eq!(point(|it| it.expected_sources = 0.0), about("expected_sources"));
    assert_eq!(point(|it| it.set_point = Bytes::new(0)), about("set_point"));
    assert_eq!(point(|it| it.severe = Bytes::new(24_000)), about("severe"));
    assert_eq!(point(|it| it.above_set_point = 0.9), about("above_set_point"));
    assert_eq!(point(|it| it.below_set_point = f64::NAN), about("below_set_point"));
    assert_eq!(point(|it| it.slope = -1.0), about("slope"));
    assert_eq!(point(|it| it.floor = 0.0), about("floor"));
    assert_eq!(point(|it| it.average_weight = 1.5), about("average_weight"));
    assert_eq!(point(|it| it.min_increase_share = 0.0), about("min_increase_share"));
    assert_eq!(point(|it| it.max_increase_share = 1e-4), about("max_increase_share"));
    assert_eq!(point(|it| it.min_share = 2.0), about("min_share"));
    assert_eq!(point(|it| it.severe_every = 0), about("severe_every"));
    assert_eq!(point(|it| it.message_priority = 8), about("message_priority"));
    let source = |change: fn(&mut RateReactionParams)| {
        let mut params = RateReactionParams::default();
        change(&mut params);
        params.check().map_err(|why| why.path)
    };
    assert_eq!(source(|_| {}), Ok(()));
    assert_eq!(source(|it| it.interval = Time::ZERO), about("interval"));
    assert_eq!(source(|it| it.long_interval = Or::Value(Time::from_us(9))), about("long_interval"));
    assert_eq!(source(|it| it.tag_every = 1_000_001), about("tag_every"));
    assert_eq!(source(|it| it.initial_share = 0.0), about("initial_share"));
    assert_eq!(source(|it| it.forget_after = Or::Value(Time::ZERO)), about("forget_after"));
    assert_eq!(source(|it| it.min_rate = BitRate::from_bps(0)), about("min_rate"));
    assert_eq!(source(|it| it.message_priority = 8), about("message_priority"));
    assert_eq!(source(|it| it.tag_length = Bytes::new(65)), about("tag_length"));
}
