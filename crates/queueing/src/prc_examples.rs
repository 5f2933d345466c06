//! Steps of path rate control computed by hand, the fields that congestion points write, and invariants of both.

use super::*;
use crate::prc_source::{Law, Method, PathReaction, PathReactionParams};
use crate::rate_control::{Feedback, RateConfiguration, RateControl};
use crate::testbed::{bits, capable};
use frame::{Notice, Occupancy};

const LINE: BitRate = BitRate::from_gbps(10);
const HERE: PointId = PointId(7);
const LINK: LinkFacts = LinkFacts { rate: LINE, overhead: 20, point: HERE, shared: false };
const NEWS: PathNews = PathNews {
    probed_at: None,
    hops: 2,
    slowest: LINE,
    level: 0,
    at: None,
    levels: LevelsOn::WayBack,
    more: 0,
    every: Time::from_us(40),
};

fn none() -> u64 {
    unreachable!("nothing is random here")
}
fn us(time: u64) -> Time {
    Time::from_us(time)
}
fn started(change: fn(&mut PathReactionParams)) -> PathReaction {
    let mut params = PathReactionParams::default();
    change(&mut params);
    params.start(LINE)
}
/// Returns the rate in Mb/s after a message of the receiver.
fn after_feedback(reaction: &mut PathReaction, at: Time, level: u32) -> f64 {
    reaction.on_feedback(at, Feedback::Returned(Tag::Path(PathNews { level, ..NEWS })), &mut none);
    rate(reaction)
}
/// Returns the rate in Mb/s after the answer to an earlier probe.
fn answered(reaction: &mut PathReaction, at: Time, probed_at: Time, level: u32) -> f64 {
    let news = PathNews { probed_at: Some(probed_at), level, ..NEWS };
    reaction.on_feedback(at, Feedback::Returned(Tag::Path(news)), &mut none);
    rate(reaction)
}
fn rate(reaction: &PathReaction) -> f64 {
    reaction.rate().unwrap().bps_f64() / 1e6
}
fn close(found: f64, expected: f64) {
    assert!((found - expected).abs() < 1e-3, "{found} for {expected}");
}

#[test]
fn steps_of_the_scaled_law_by_hand() {
    // With a round trip of 10 us and an interval of 40 us, h is 50 us. The buffer takes 52.4288 us at 10 Gb/s.
    let mut reaction = started(|_| {});
    close(rate(&reaction), 625.0);
    // No congestion: the rate grows by a quarter per loop time, for 40 us of 50 us.
    close(answered(&mut reaction, us(10), us(0), 0), 750.0);
    close(after_feedback(&mut reaction, us(50), 0), 900.0);
    // The queue is half of the buffer, which is 0.524288 h, after an empty queue. The target is 0.16777216 h.
    let pressure = 0.4 * 0.524288 + 0.226 * 0.8 * (0.524288 - 0.16777216);
    let grown = |rate: f64| 0.01 * 0.8 * (10_000.0 / rate).ln();
    let expected = 900.0 * (1.0 + grown(900.0) - pressure);
    close(after_feedback(&mut reaction, us(90), 500), expected);
    // The queue is back at the target and has become shorter; the search for bandwidth has ended.
    let shrunk = 0.4 * (0.16777216 - 0.524288);
    let expected = expected * (1.0 + f64::min(0.25, grown(expected) - shrunk));
    close(after_feedback(&mut reaction, us(130), 160), expected);
    // At a constant level, only the term that equalises rates remains.
    close(after_feedback(&mut reaction, us(170), 160), expected * (1.0 + grown(expected)));
    // A late message counts for a longer time, up to four intervals.
    let (before, late) = (rate(&reaction), 0.01 * 3.2 * (10_000.0 / rate(&reaction)).ln());
    close(after_feedback(&mut reaction, us(1_170), 160), before * (1.0 + late));
}

#[test]
fn steps_of_the_fixed_law_by_hand() {
    let mut reaction = started(|it| it.law = Law::Fixed);
    close(answered(&mut reaction, us(10), us(0), 0), 781.25);
    // F = 20 - 16 + 2 * 20.
    close(after_feedback(&mut reaction, us(50), 200), 781.25 * (1.0 - 0.003 * 44.0));
    // F = 16 - 16 + 2 * (16 - 20) is negative: the rate grows by a thousandth of the path's rate.
    close(after_feedback(&mut reaction, us(90), 160), 781.25 * 0.868 + 10.0);
    // F = 300 - 16 + 568: the rate is at most halved. Then the queue is empty, and the rate grows by five thousandths.
    close(after_feedback(&mut reaction, us(130), 3_000), (781.25 * 0.868 + 10.0) / 2.0);
    close(after_feedback(&mut reaction, us(170), 0), (781.25 * 0.868 + 10.0) / 2.0 + 50.0);
}

#[test]
fn it_rests_where_rates_are_equal_and_the_queue_is_above_the_target() {
    // N sources at C/N have the level at which s ln(N) = b (t - t0)/h.
    for sources in [2.0f64, 16.0, 128.0] {
        let mut reaction = started(|it| it.min_rate = BitRate::from_bps(1));
        answered(&mut reaction, us(10), us(0), 0);
        let above = 0.01 * sources.ln() / 0.226 * 50.0 / 52.4288;
        let level = ((0.16 + above) * 1000.0).round() as u32;
        // From a distant value the rate converges to C/N, within the precision of the level.
        for n in 0..20_000 {
            after_feedback(&mut reaction, us(50 + 40 * n), level);
        }
        let share = 10_000.0 / sources;
        assert!((rate(&reaction) / share - 1.0).abs() < 0.02, "{} for {share}", rate(&reaction));
    }
}

#[test]
fn a_long_loop_begins_slowly() {
    // Half of 84 % of the buffer within 540 us gives 407.8 Mb/s, and growth by the same amount per loop time.
    let mut reaction = started(|_| {});
    let room = 0.84 * 52.4288 / 2.0 / 540.0;
    let first = 10_000.0 * room;
    close(answered(&mut reaction, us(500), us(0), 0), first * (1.0 + room * 40.0 / 540.0));
}

#[test]
fn an_empty_path_is_searched_again() {
    let mut reaction = started(|_| {});
    answered(&mut reaction, us(10), us(0), 0);
    let congested = after_feedback(&mut reaction, us(50), 900);
    // Four loop times without a queue, which are 200 us from the first level of 0 on.
    let slow: Vec<f64> = (0..5).map(|n| after_feedback(&mut reaction, us(90 + 40 * n), 0)).collect();
    assert!(slow[0] > congested && slow.windows(2).all(|pair| pair[1] / pair[0] < 1.1), "{slow:?}");
    close(after_feedback(&mut reaction, us(290), 0), slow[4] * 1.2);
}

#[test]
fn asks_and_what_follows() {
    let first_probe = |method| {
        let mut reaction = PathReactionParams { method, ..PathReactionParams::default() }.start(LINE);
        let first = reaction.probe(us(0)).unwrap();
        assert_eq!((first.priority, first.news.probed_at, first.news.slowest), (Some(7), Some(us(0)), LINE));
        answered(&mut reaction, us(10), us(0), 0);
        let second = reaction.probe(us(20)).unwrap();
        (second.news.levels, second.news.more, second.priority, reaction.next_probe())
    };
    assert_eq!(first_probe(Method::Feedback), (LevelsOn::WayBack, 7, Some(7), Some(us(340))));
    assert_eq!(first_probe(Method::Probes), (LevelsOn::WayThere, 0, Some(7), Some(us(60))));
    // Once the path is known, probes have the priority of the data.
    assert_eq!(first_probe(Method::RoundTrip), (LevelsOn::Neither, 0, None, Some(us(60))));
    assert_eq!(first_probe(Method::Messages), (LevelsOn::Neither, 0, Some(7), None));
}

#[test]
fn the_slowest_link_and_the_shortest_round_trip() {
    let mut reaction = started(|_| {});
    assert_eq!(reaction.path(), None);
    let slow = PathNews { probed_at: Some(us(0)), slowest: BitRate::from_gbps(1), hops: 3, ..NEWS };
    reaction.on_feedback(us(30), Feedback::Returned(Tag::Path(slow)), &mut none);
    let again = PathNews { probed_at: Some(us(100)), ..slow };
    reaction.on_feedback(us(112), Feedback::Returned(Tag::Path(again)), &mut none);
    reaction.on_feedback(
        us(160),
        Feedback::Returned(Tag::Path(PathNews { probed_at: Some(us(140)), ..slow })),
        &mut none,
    );
    let path = reaction.path().unwrap();
    assert_eq!((path.hops, path.slowest, path.round_trip), (3, BitRate::from_gbps(1), us(12)));
    for n in 0..100 {
        after_feedback(&mut reaction, us(200 + 40 * n), 0);
    }
    close(rate(&reaction), 1_000.0);
}

#[test]
fn a_level_is_measured_by_the_port_that_it_is_of() {
    // If the port is ten times as fast as the slowest link, a level corresponds to a tenth of the time. The excess over
    // the target then counts a tenth, and the rate tends to a share of the faster port.
    let slow = PathNews { probed_at: Some(us(0)), slowest: BitRate::from_gbps(1), ..NEWS };
    let after = |link: BitRate| {
        let mut reaction = started(|_| {});
        reaction.on_feedback(
            us(10),
            Feedback::Returned(Tag::Path(PathNews { level: 160, ..slow })),
            &mut none,
        );
        let before = rate(&reaction);
        let news = PathNews { probed_at: None, level: 0, ..slow }.raised(160, HERE, link);
        reaction.on_feedback(us(50), Feedback::Returned(Tag::Path(news)), &mut none);
        (before, rate(&reaction))
    };
    // At the target only the term that equalises rates remains: 0.01 * 40/50 * ln(C/R).
    for link in [BitRate::from_gbps(1), LINE] {
        let (before, found) = after(link);
        close(found, before * (1.0 + 0.008 * libm::log(link.bps_f64() / 1e6 / before)));
    }
}

#[test]
fn frames_of_many_sources_make_the_loop_of_a_slow_link_long() {
    // Eight frames of 1522 B take 97.408 us at 1 Gb/s, so the term that equalises rates counts 40 us of 97.408 us, not
    // of 50 us.
    let mut reaction = started(|_| {});
    reaction.on_sent(us(0), 1_522, true, &mut none);
    let slow = PathNews { probed_at: Some(us(0)), slowest: BitRate::from_gbps(1), level: 160, ..NEWS };
    reaction.on_feedback(us(10), Feedback::Returned(Tag::Path(slow)), &mut none);
    let before = rate(&reaction);
    let again = PathNews { probed_at: None, ..slow };
    reaction.on_feedback(us(50), Feedback::Returned(Tag::Path(again)), &mut none);
    close(rate(&reaction), before * (1.0 + 0.01 * 40.0 / 97.408 * libm::log(1_000.0 / before)));
}

#[test]
fn a_round_trip_is_a_level() {
    let mut reaction = started(|it| it.method = Method::RoundTrip);
    answered(&mut reaction, us(10), us(0), 900);
    close(rate(&reaction), 625.0);
    // 26.2144 us above the minimum correspond to half of the buffer. Levels from switches are ignored.
    let late = Time::from_ns(50_000 + 10_000 + 26_214) + Time::from_ps(400);
    let pressure = 0.4 * 0.52 + 0.226 * 0.8 * (0.52 - 0.16777216);
    let found = answered(&mut reaction, late, us(50), 900) / 625.0;
    assert!((found - (1.0 - pressure + 0.008 * 16f64.ln())).abs() < 0.01, "{found}");
}

#[test]
fn messages_slow_down_and_silence_is_good_news() {
    let mut reaction = started(|it| it.method = Method::Messages);
    answered(&mut reaction, us(10), us(0), 0);
    let notice = Notice { point: HERE, feedback: 800, ..Notice::default() };
    reaction.on_feedback(us(50), Feedback::Message(notice), &mut none);
    let slowed = rate(&reaction);
    assert!(slowed < 625.0);
    assert_eq!(reaction.poll_timeout(), Some(us(210)));
    reaction.handle_timeout(us(210), &mut none);
    assert!(rate(&reaction) > slowed && reaction.poll_timeout() == Some(us(370)));
    // A limiter with feedback from the receiver ignores messages of congestion points.
    let mut other = started(|_| {});
    other.on_feedback(us(50), Feedback::Message(notice), &mut none);
    close(rate(&other), 625.0);
}

#[test]
fn a_missing_answer_halves_the_rate() {
    let mut reaction = started(|_| {});
    assert!(reaction.probe(us(0)).is_some());
    assert_eq!(reaction.poll_timeout(), Some(us(4_000)));
    reaction.handle_timeout(us(3_999), &mut none);
    close(rate(&reaction), 625.0);
    reaction.handle_timeout(us(4_000), &mut none);
    close(rate(&reaction), 312.5);
    assert_eq!((reaction.next_probe(), reaction.poll_timeout()), (Some(us(4_000)), None));
    // The time after which a message is late is now known: four intervals.
    answered(&mut reaction, us(4_010), us(4_000), 0);
    assert!(reaction.probe(us(5_000)).is_some());
    assert_eq!(reaction.poll_timeout(), Some(us(5_160)));
}

#[test]
fn an_idle_path_begins_anew() {
    let mut reaction = started(|_| {});
    for n in 0..20 {
        answered(&mut reaction, us(10 + 40 * n), us(40 * n), 0);
        reaction.on_sent(us(20 + 40 * n), 1_500, true, &mut none);
    }
    close(rate(&reaction), 10_000.0);
    reaction.on_sent(us(1_700), 1_500, true, &mut none);
    close(rate(&reaction), 10_000.0);
    reaction.on_sent(us(3_800), 1_500, true, &mut none);
    close(rate(&reaction), 2_500.0);
    reaction.on_sent(us(1_000_000), 1_500, true, &mut none);
    close(rate(&reaction), 625.0);
}

#[test]
fn rates_stay_between_the_least_and_that_of_the_path() {
    let mut random = bits(5);
    for law in [Law::Scaled, Law::Fixed] {
        let mut reaction = PathReactionParams { law, ..PathReactionParams::default() }.start(LINE);
        answered(&mut reaction, us(10), us(0), 0);
        let mut now = us(10);
        let mut before = 0;
        for _ in 0..20_000 {
            now += Time::from_us(1 + random() % 200);
            let level = if random().is_multiple_of(50) { u32::MAX } else { (random() % 1_500) as u32 };
            let old = rate(&reaction);
            let new = after_feedback(&mut reaction, now, level);
            assert!((10.0..=10_000.0).contains(&new), "{new}");
            // A queue that is too long and growing does not raise the rate of a limiter that already has its share
            // among few sources.
            let worse = level >= before.max(400) + 100;
            assert!(!worse || new <= old, "{level} after {before}: {new} after {old}");
            before = level.min(100_000);
        }
    }
}

#[test]
fn congestion_points_write_the_level_of_their_port() {
    let mut point = PathPointParams::default().start(&LINK);
    let written = |tag| match tag {
        Tag::Path(news) => news,
        _ => panic!("it is news of a path"),
    };
    let there = Tag::Path(PathNews { levels: LevelsOn::WayThere, level: 300, ..NEWS });
    let faster = Tag::Path(PathNews { slowest: BitRate::from_gbps(40), ..NEWS });
    // 32 KiB of 64 KiB are 50 %. A level is written only if it is higher; hops and the slowest link are always written.
    let news = written(point.stamp(Moment::Enqueue, there, || 32_768));
    assert_eq!((news.level, news.at, news.hops, news.slowest), (500, Some((HERE, LINE)), 3, LINE));
    let news = written(point.stamp(Moment::Enqueue, there, || 16_384));
    assert_eq!((news.level, news.at, news.hops), (300, None, 3));
    let news = written(point.stamp(Moment::Enqueue, faster, || 65_536));
    assert_eq!((news.level, news.slowest), (0, LINE));
    assert_eq!(point.stamp(Moment::Dequeue, there, || 65_536), there);
    // On the way back, a level is written only into probes that request it. More bytes than the buffer of a port are
    // more than 100 %.
    let back = Tag::Path(NEWS);
    assert_eq!(written(point.stamp_returned(back, || 131_072)).level, 2_000);
    assert_eq!(point.stamp_returned(there, || 131_072), there);
    assert_eq!(point.stamp(Moment::Enqueue, Tag::Rate(None), || 131_072), Tag::Rate(None));
    point.on_link_rate(BitRate::from_gbps(1));
    assert_eq!(written(point.stamp(Moment::Enqueue, back, || 0)).slowest, BitRate::from_gbps(1));
}

#[test]
fn messages_are_random_by_level_and_never_soon_after_another() {
    let fill = |bytes| Fill { queue: Occupancy { bytes, frames: bytes / 1_500 }, ..Fill::default() };
    let silent = PathPointParams::default();
    let mut point = silent.start(&LINK);
    assert_eq!(point.on_enqueue(us(1), &fill(65_536), capable(1_500), &mut none), Verdict::Pass);
    let with_messages = PathPointParams { messages: true, ..silent };
    let messages = |share: f64, apart: u64| {
        let mut point = with_messages.start(&LINK);
        let mut random = bits(9);
        let length = fill((share * 65_536.0) as u64);
        let verdicts =
            (0..10_000).map(|n| point.on_enqueue(us(n * apart), &length, capable(1_500), &mut random));
        verdicts.filter(|verdict| *verdict != Verdict::Pass).count()
    };
    assert_eq!((messages(0.15, 10), messages(0.81, 10), messages(0.81, 1)), (0, 10_000, 1_000));
    // 0.48 is half-way from 16 % to 80 %.
    assert!((4_800..5_200).contains(&messages(0.48, 10)));
    let mut point = with_messages.start(&LINK);
    let verdict = point.on_enqueue(us(0), &fill(131_072), capable(1_500), &mut bits(1));
    assert_eq!(verdict, Verdict::notify(2_000));
}

#[test]
fn gains_that_swing_are_doubted() {
    let doubts = |growth_gain, length_gain| {
        PathReactionParams { growth_gain, length_gain, ..PathReactionParams::default() }.doubt().is_some()
    };
    // w = 0.65: a = 0.65 sin 0.65 = 0.39337, b = 0.65^2 cos 0.65 = 0.33635.
    assert!(!doubts(0.39337, 0.3362) && doubts(0.39337, 0.3365));
    assert!(!doubts(0.4, 0.226) && doubts(0.0, 0.1) && doubts(1.58, 0.0) && !doubts(1.56, 0.0));
    let fixed = PathReactionParams { law: Law::Fixed, length_gain: 2.0, ..PathReactionParams::default() };
    assert_eq!(fixed.doubt(), None);
}

#[test]
fn what_cannot_be_meant() {
    let about = |key: &str| Err(vec![keys::Step::Key(key.into())]);
    let point = |change: fn(&mut PathPointParams)| {
        let mut params = PathPointParams::default();
        change(&mut params);
        params.check().map_err(|why| why.path)
    };
    assert_eq!(point(|_| {}), Ok(()));
    assert_eq!(point(|it| it.buffer = Bytes::new(0)), about("buffer"));
    assert_eq!(point(|it| it.first_share = -0.1), about("first_share"));
    assert_eq!(point(|it| it.every_share = 0.16), about("every_share"));
    assert_eq!(point(|it| it.spacing = Time::ZERO), about("spacing"));
    assert_eq!(point(|it| it.message_priority = 8), about("message_priority"));
    let reaction = |change: fn(&mut PathReactionParams)| {
        let mut params = PathReactionParams::default();
        change(&mut params);
        params.check().map_err(|why| why.path)
    };
    assert_eq!(reaction(|_| {}), Ok(()));
    assert_eq!(reaction(|it| it.interval = Time::from_ns(999)), about("interval"));
    assert_eq!(reaction(|it| it.ask_every = 0), about("ask_every"));
    assert_eq!(reaction(|it| it.buffer = Bytes::new(0)), about("buffer"));
    assert_eq!(reaction(|it| it.target_share = 0.0), about("target_share"));
    assert_eq!(reaction(|it| it.equal_gain = f64::NAN), about("equal_gain"));
    assert_eq!(reaction(|it| it.growth_gain = 2.1), about("growth_gain"));
    assert_eq!(reaction(|it| it.length_gain = -0.1), about("length_gain"));
    assert_eq!(reaction(|it| it.initial_share = 0.0), about("initial_share"));
    assert_eq!(reaction(|it| it.min_rate = BitRate::from_bps(0)), about("min_rate"));
    assert_eq!(reaction(|it| it.idle_after = Time::ZERO), about("idle_after"));
    assert_eq!(reaction(|it| it.message_priority = 8), about("message_priority"));
}
