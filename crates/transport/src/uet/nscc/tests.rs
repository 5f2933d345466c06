//! NSCC compared with values computed by hand from the standard's formulas.

use super::*;
use units::BitRate;

/// 100 Gb/s and 14.02272 us give a bandwidth-delay product of 175,284 B, as in the table of uet-htsim.
const BASE: Time = Time::from_ps(14_022_720);

fn facts(trimming: bool) -> UetFacts {
    UetFacts {
        rate: BitRate::from_gbps(100),
        base_rtt: BASE,
        packet: 4150,
        payload: 4086,
        planes: 1,
        overhead: 20,
        trimming,
    }
}
fn nscc(change: impl FnOnce(&mut NsccKeys)) -> Nscc {
    let mut keys = NsccKeys::default();
    change(&mut keys);
    assert_eq!(keys.check(), []);
    Nscc::new(&keys, &facts(true))
}
/// Returns a control in steady state: the quick adapt period and the adjustment are far from their ends.
fn settled(window: u64) -> Nscc {
    let mut it = nscc(|keys| keys.initial_window = Or::Value(Amount::Bytes(window)));
    it.last_adjust = Time::from_us(1_000);
    it.period_end = Some(Time::from_ms(1_000));
    it
}
fn ack(newly: u64, marked: bool, delay: Time) -> UetAck {
    UetAck { newly, in_flight: 100_000, marked, round_trip: Some(BASE + delay), full: true }
}
#[track_caller]
fn near(value: f64, expected: f64, tolerance: f64) {
    assert!((value - expected).abs() <= tolerance, "{value}, expected {expected}");
}
const NOW: Time = Time::from_us(1_001);
const TARGET_PS: f64 = 10_517_040.0;

#[test]
fn the_parameters_of_100_gbps() {
    let it = nscc(|_| {});
    near(facts(true).bdp(), 175_284.0, 1e-6);
    near(it.own.target, TARGET_PS, 0.5);
    near(it.own.alpha, 0.001_591_58, 5e-9);
    near(it.own.fair, 23_874.0, 0.5);
    near(it.own.eta, 716.0, 0.5);
    near(it.own.fast, 0.292, 5e-4);
    near(it.own.qa_threshold, 42_068_160.0, 1.0);
    assert_eq!((it.window(), it.max_window as u64), (262_926, 262_926));
    // Without trimming, the target is a full round-trip time.
    near(Nscc::new(&NsccKeys::default(), &facts(false)).own.target, 14_022_720.0, 0.5);
}

#[test]
fn an_unmarked_ack_above_the_target_is_a_fair_increase() {
    let mut it = settled(100_000);
    // 9 packets of 4150 B pass the threshold of 8: 23,873.7 * 37,350 / 100,000 = 8,916.8 B.
    it.on_ack(NOW, &ack(37_350, false, Time::from_us(11)));
    near(it.window, 108_916.8, 0.1);
    // The delay enters the average as a quarter of a round-trip time: 0.0125 * 3,505,680 ps.
    near(it.average, 43_821.0, 0.1);
}

#[test]
fn an_unmarked_ack_below_the_target_is_a_proportional_increase() {
    let mut it = settled(100_000);
    // 0.00159158 * 37,350 * (10,517,040 - 5,517,040) / 100,000 = 2,972.3 B.
    it.on_ack(NOW, &ack(37_350, false, Time::from_ps(5_517_040)));
    near(it.window, 102_972.3, 0.1);
    // With fewer bytes, the increase waits for the next adjustment.
    let mut it = settled(100_000);
    it.on_ack(NOW, &ack(33_200, false, Time::from_ps(5_517_040)));
    assert_eq!(it.window, 100_000.0);
    it.on_ack(NOW, &ack(4_150, true, Time::from_us(2)));
    near(it.window, 100_000.0 + 0.001_591_58 * 33_200.0 * 5e6 / 1e5, 0.1);
}

#[test]
fn a_marked_ack_above_the_target_is_a_decrease_once_a_round_trip() {
    for (multiple, factor) in [(2.0, 0.6), (4.0, 0.5), (1.25, 0.84)] {
        let mut it = settled(200_000);
        it.own.qa_divisor = None;
        it.last_adjust = Time::from_ms(1_000);
        // The sample does not change the average.
        it.average = multiple * TARGET_PS;
        it.on_ack(NOW, &ack(4_150, true, ps(multiple * TARGET_PS)));
        near(it.window, 200_000.0 * factor, 1.0);
        let cut = it.window;
        it.on_ack(NOW + BASE, &ack(1_000, true, ps(multiple * TARGET_PS)));
        assert_eq!(it.window, cut, "no second cut within a round trip");
        it.on_ack(NOW + BASE + Time::from_ps(1), &ack(1_000, true, ps(multiple * TARGET_PS)));
        near(it.window, cut * factor, 1.0);
    }
    // If the average is below the target there is no decrease, although the sample is above the target.
    let mut it = settled(200_000);
    it.on_ack(NOW, &ack(4_150, true, Time::from_us(20)));
    assert_eq!(it.window, 200_000.0);
}

#[test]
fn a_marked_ack_below_the_target_changes_nothing() {
    let mut it = settled(100_000);
    it.on_ack(NOW, &ack(37_350, true, Time::from_us(5)));
    assert_eq!(it.window, 100_000.0);
}

#[test]
fn eta_is_added_once_a_period() {
    let mut it = settled(100_000);
    let late = Time::from_us(1_000) + BASE;
    it.on_ack(late, &ack(256, true, Time::from_us(5)));
    near(it.window, 100_716.2, 0.1);
    it.on_ack(late + Time::from_us(14), &ack(256, true, Time::from_us(5)));
    near(it.window, 100_716.2, 0.1);
}

#[test]
fn a_window_without_queueing_makes_the_next_grow_fast() {
    let mut it = settled(40_000);
    for _ in 0..9 {
        it.on_ack(NOW, &ack(4_150, false, Time::ZERO));
    }
    // 37,350 B are less than the window. The ninth packet has applied the proportional increase.
    let before = it.window;
    near(before, 40_000.0 + 0.001_591_58 * 37_350.0 * TARGET_PS / 40_000.0, 1.0);
    while !it.is_fast {
        it.on_ack(NOW, &ack(4_150, false, Time::from_ns(999)));
    }
    // The window is 55,629 B, and the 14th packet is the first beyond it.
    near(it.fast_count, 14.0 * 4_150.0, 0.1);
    let window = it.window;
    it.on_ack(NOW, &ack(4_150, false, Time::ZERO));
    near(it.window - window, 4_150.0 * 0.292_14, 0.1);
    // A microsecond of queueing delay ends the fast increase.
    it.on_ack(NOW, &ack(4_150, false, Time::from_us(1)));
    assert!(!it.is_fast && it.fast_count == 0.0);
}

#[test]
fn quick_adapt_needs_little_arrival_and_a_reason() {
    let end = Time::from_us(1_100);
    let ready = |achieved: f64| {
        let mut it = settled(262_926);
        (it.period_end, it.achieved) = (Some(end), achieved);
        it
    };
    let long = Time::from_ps(42_068_161);
    // The gate is 262,926 / 8 = 32,865 B, and includes the bytes of this acknowledgement.
    for (achieved, delay, adapts) in [
        (32_864.0 - 4_150.0, long, true),
        (32_865.0 - 4_150.0, long, false),
        (10_000.0, Time::from_us(42), false),
    ] {
        let mut it = ready(achieved);
        it.on_ack(end, &ack(4_150, true, delay));
        assert_eq!(it.quick_adapts(), u64::from(adapts), "{achieved} {delay}");
        assert_eq!(it.achieved, 0.0);
        assert_eq!(it.period_end, Some(end + ps(14_022_720.0 + TARGET_PS)));
        if adapts {
            assert_eq!((it.window, it.to_ignore), (32_864.0, 100_000.0));
        }
    }
    // There is no quick adapt before the end of the period, and never at the start of the first period.
    let mut it = ready(0.0);
    it.on_ack(end.saturating_sub(Time::from_ps(1)), &ack(4_150, true, long));
    assert_eq!(it.quick_adapts(), 0);
    let mut it = ready(0.0);
    it.period_end = None;
    it.on_ack(end, &ack(4_150, true, long));
    assert_eq!((it.quick_adapts(), it.period_end.is_some()), (0, true));
    // The window is at least a packet.
    let mut it = ready(0.0);
    it.on_ack(end, &ack(256, true, long));
    assert_eq!((it.quick_adapts(), it.window), (1, 4_150.0));
}

#[test]
fn marks_of_what_was_in_flight_at_a_quick_adapt_are_ignored() {
    let mut it = settled(262_926);
    it.period_end = Some(NOW);
    it.on_ack(NOW, &ack(8_300, true, Time::from_us(50)));
    assert_eq!((it.window, it.to_ignore), (8_300.0, 100_000.0));
    it.average = 3.0 * TARGET_PS;
    let later = NOW + Time::from_us(200);
    it.on_ack(later, &ack(90_000, true, Time::from_us(50)));
    assert_eq!(it.window, 8_300.0, "90,000 of 100,000 B");
    it.on_ack(later, &ack(20_000, true, Time::from_us(50)));
    // With these bytes 110,000 B have arrived. 4 of 5 parts of the excess are more than a half; a period has passed as
    // well.
    near(it.window, 8_300.0 / 2.0 + 716.2, 0.1);
}

#[test]
fn a_trimmed_packet_takes_its_bytes() {
    let trimmed =
        |bytes| UetLoss { bytes, in_flight: 50_000, cause: UetLossCause::Trimmed { last_hop: false } };
    let mut it = settled(100_000);
    it.on_loss(NOW, &trimmed(4_150));
    assert_eq!((it.window, it.ignored, it.trimmed), (95_850.0, 4_150.0, true));
    near(it.average, 0.0125 * 14_022_720.0, 0.5);
    for _ in 0..40 {
        it.on_loss(NOW, &trimmed(4_150));
    }
    assert_eq!(it.window, 4_150.0, "the minimum window is one packet");
    // At the end of a period in which few bytes arrived, the window is set to these bytes.
    let mut it = settled(100_000);
    (it.period_end, it.achieved) = (Some(NOW), 12_450.0);
    it.on_loss(NOW, &trimmed(4_150));
    assert_eq!((it.window, it.to_ignore, it.trimmed, it.quick_adapts()), (12_450.0, 50_000.0, false, 1));
    // An inferred loss does not trigger quick adapt.
    let mut it = settled(100_000);
    (it.period_end, it.achieved) = (Some(NOW), 12_450.0);
    it.on_loss(NOW, &UetLoss { cause: UetLossCause::Inferred, ..trimmed(4_150) });
    assert_eq!((it.window, it.ignored, it.quick_adapts()), (95_850.0, 4_150.0, 0));
}

#[test]
fn an_ack_without_a_valid_round_trip_only_counts() {
    let mut it = settled(100_000);
    it.on_ack(NOW + BASE, &UetAck { round_trip: None, ..ack(40_000, false, Time::ZERO) });
    assert_eq!((it.window, it.received, it.achieved, it.ignored), (100_000.0, 40_000.0, 40_000.0, 40_000.0));
}

#[test]
fn a_shorter_path_has_a_smaller_window() {
    let mut it = nscc(|_| {});
    it.period_end = Some(Time::from_ms(1_000));
    it.on_ack(NOW, &UetAck { round_trip: Some(Time::from_us(8)), ..ack(256, false, Time::ZERO) });
    near(it.max_window, 150_000.0, 1e-6);
    assert_eq!((it.base_rtt, it.window()), (8e6, 150_000));
    // Where the standard says so, the configured round-trip time applies.
    near(it.own.base_rtt, 14_022_720.0, 0.5);
}

#[test]
fn a_short_packet_is_no_shorter_path() {
    let mut it = settled(100_000);
    let short = UetAck { round_trip: Some(Time::from_us(2)), full: false, ..ack(4_096, false, Time::ZERO) };
    it.on_ack(NOW, &short);
    near(it.base_rtt, 14_022_720.0, 0.5);
    near(it.max_window, 262_926.0, 1.0);
    // The queueing delay is none, and not negative.
    near(it.increase, it.own.alpha * 4_096.0 * TARGET_PS, 1.0);
    near(it.average, 0.0, 1e-9);
}

#[test]
fn another_rate_of_the_link_begins_with_the_configured_round_trip() {
    let mut it = nscc(|_| {});
    it.period_end = Some(Time::from_ms(1_000));
    // On a faster link the lowest round-trip time is short. It is not kept when the first link returns.
    it.on_ack(NOW, &UetAck { round_trip: Some(Time::from_us(2)), ..ack(256, false, Time::ZERO) });
    assert_eq!(it.base_rtt, 2e6);
    it.on_link_rate(&nscc(|_| {}));
    near(it.base_rtt, 14_022_720.0, 0.5);
    assert_eq!(it.max_window, nscc(|_| {}).max_window);
    // The lowest round-trip time falls again with the next shorter one.
    it.on_ack(NOW, &UetAck { round_trip: Some(Time::from_us(8)), ..ack(256, false, Time::ZERO) });
    assert_eq!(it.base_rtt, 8e6);
}

#[test]
fn wrong_keys() {
    let wrong = NsccKeys {
        target: Or::Value(Time::ZERO),
        gamma: 1.1,
        alpha: 0.0,
        max_window: Or::Value(Amount::Frames(0)),
        qa_gate: 17,
        ..NsccKeys::default()
    };
    assert_eq!(wrong.check().len(), 5);
    let unused = NsccKeys { quick_adapt: false, qa_gate: 4, ..NsccKeys::default() };
    assert_eq!(unused.unused().len(), 1);
}
