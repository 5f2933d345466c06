//! Hosts with processing time: throughput, latency, and pauses that propagate back to the source.

use crate::common::*;
use fabric::spec::{CoreChange, HostSpec, InterruptSpec, OnLosslessDrop, ReceiveSpec, SwitchSpec};
use units::{BitRate, Time};

fn slow(time_per_frame: Time) -> ReceiveSpec {
    ReceiveSpec { time_per_frame, buffer: Some(256 * 1024), ..ReceiveSpec::default() }
}

/// a - sw - b, where b takes time to process frames.
fn net(duration: Time, receive: ReceiveSpec, control: bool) -> (Net, frame::NodeId, frame::NodeId) {
    let flow_control = control.then(|| pfc(1).into());
    let mut net = Net::new(duration);
    let a = net.host("a", HostSpec { flow_control: flow_control.clone(), ..host() });
    let b = net.host("b", HostSpec { flow_control: flow_control.clone(), receive: Some(receive), ..host() });
    let sw = net.switch("sw", SwitchSpec { flow_control, ..switch() });
    net.link(a, sw, gbps(10), ns(15));
    net.link(sw, b, gbps(10), ns(15));
    (net, a, b)
}

#[test]
fn frames_are_taken_in_one_after_the_other() {
    // 1230 B: 1 us on each link. The first arrives at 2.03 us, the others a microsecond apart; each takes 2 us, plus
    // 0.8 us for 1230 B at 12.3 Gb/s.
    let rate = Some(BitRate::from_bps(12_300_000_000));
    let (mut net, a, b) = net(us(100), ReceiveSpec { rate, ..slow(us(2)) }, false);
    net.flow("f", a, 0, burst(b, 1230, 3, Time::ZERO));
    let outcome = net.run();
    assert_eq!(outcome.latency("f"), (ns(2_030 + 2_800), ns(2_030 + 3 * 2_800)));
    // Frames that are not processed by the end are queued, not lost.
    net.0.duration = us(6);
    assert_eq!(net.run().delivered("f"), 1);
}

#[test]
fn each_flow_has_a_core() {
    // Frames arrive from 2.03 us on, one per microsecond. A hash assigns the two flows to different cores of 64.
    let run = |cores| {
        let (mut net, a, b) = net(us(100), ReceiveSpec { cores, ..slow(us(3)) }, false);
        for name in ["f", "g"] {
            net.flow(name, a, 0, burst(b, 1230, 3, Time::ZERO));
        }
        net.run()
    };
    let outcome = run(64);
    assert_eq!(outcome.latency("f"), (ns(2_030 + 3_000), ns(2_030 + 3 * 3_000)));
    assert_eq!(outcome.latency("g"), (ns(5_030 + 3_000), ns(5_030 + 3 * 3_000)));
    // One core processes six frames, one after the other.
    assert_eq!(run(1).latency("g").1, ns(2_030 + 6 * 3_000));
}

#[test]
fn an_interrupt_waits_for_frames_or_for_time() {
    let interrupt = InterruptSpec { time: us(1), delay: us(10), frames: Some(3) };
    let run = |frames| {
        let (mut net, a, b) = net(us(200), ReceiveSpec { interrupt, ..slow(us(2)) }, false);
        net.flow("f", a, 0, burst(b, 1230, frames, Time::ZERO));
        net.flow("later", a, 0, burst(b, 1230, 1, us(100)));
        net.run()
    };
    // Frames arrive from 2.03 us on, one per microsecond. One or two wait for 10 us; the interrupt follows, and their
    // processing.
    let alone = ns(2_030 + 10_000 + 1_000);
    assert_eq!(run(1).latency("f"), (alone + us(2), alone + us(2)));
    assert_eq!(run(2).latency("f"), (alone + us(2), alone + us(4)));
    // The third triggers the interrupt; frames that arrive while the core is awake need none.
    let third = ns(4_030 + 1_000);
    assert_eq!(run(3).latency("f"), (third + us(2), third + us(6)));
    assert_eq!(run(5).latency("f"), (third + us(2), third + us(10)));
    // The core has slept since.
    assert_eq!(run(5).latency("later"), (alone + us(2), alone + us(2)));
}

#[test]
fn the_receiver_of_hagen_chapter_5() {
    // H5-3: 1000-B frames, 1.859 us each: 538 MB/s. With PFC, no frame is lost and the source is slowed down.
    let run = |control, rate: Option<BitRate>| {
        let (mut net, a, b) = net(Time::from_ms(50), slow(Time::from_ps(1_858_736)), control);
        net.0.warmup = Time::from_ms(10);
        match rate {
            None => net.flow("f", a, 0, greedy(b, 1000, Time::ZERO)),
            Some(rate) => net.flow(
                "f",
                a,
                0,
                paced(b, 1000, u64::MAX >> 20, Time::ZERO, rate.time_for_bits_ceil(8_000)),
            ),
        };
        net.run()
    };
    let on = run(true, None);
    assert_eq!(on.total("drops", "frames"), 0);
    let throughput = on.real("flows", "f", "throughput_bps") / 8e6;
    assert!((throughput / 538.0 - 1.0).abs() < 0.001, "{throughput} MB/s");
    assert!(on.count("ports", "b.0->sw", "pauses_sent") > 10);
    assert!(on.count("ports", "a.0->sw", "pauses_received") > 10);
    // Without PFC, the excess of 834 MB/s is lost: 35.5 %.
    let off = run(false, Some(BitRate::from_bps(834 * 8_000_000)));
    let (sent, lost) = (off.count("flows", "f", "frames_sent") as f64, off.total("drops", "frames") as f64);
    assert!((lost / sent - (1.0 - 538.0 / 834.0)).abs() < 0.002, "{}", lost / sent);
    assert_eq!(off.texts("drops", "cause"), ["receive_buffer"]);
    assert_eq!(off.texts("drops", "port"), ["b.0->sw"]);
    assert!((off.real("flows", "f", "throughput_bps") / 8e6 / 538.0 - 1.0).abs() < 0.001);
}

#[test]
fn pfc_never_loses_at_any_speed_and_smallest_buffer() {
    for (bytes, time) in [(64u16, ns(200)), (64, us(5)), (1522, us(3)), (9000, us(20)), (500, ns(600))] {
        // Slightly more than the headroom of the link, which is four of the longest frames.
        let room = 8_000 + 5 * u64::from(bytes);
        let (mut net, a, b) = net(Time::from_ms(5), ReceiveSpec { buffer: Some(room), ..slow(time) }, true);
        net.flow("f", a, 0, greedy(b, bytes, Time::ZERO));
        let outcome = net.run();
        assert_eq!(outcome.total("drops", "frames"), 0, "{bytes} {time}");
        let frames = outcome.delivered("f") as f64;
        let expected = Time::from_ms(5).as_secs_f64() / time.as_secs_f64();
        assert!((frames / expected - 1.0).abs() < 0.005, "{bytes} {time}: {frames} of {expected}");
    }
}

#[test]
fn a_host_that_stops_reading_and_goes_on() {
    let script = vec![
        (us(500), CoreChange::Stop),
        (Time::from_ms(1), CoreChange::Start { time_per_frame: Some(us(4)), rate: None }),
    ];
    for control in [true, false] {
        let (mut net, a, b) =
            net(Time::from_ms(2), ReceiveSpec { script: script.clone(), ..slow(us(2)) }, control);
        net.flow("f", a, 0, greedy(b, 1230, Time::ZERO));
        let outcome = net.run();
        // 500 us / 2 us, followed by 1 ms / 4 us.
        let delivered = outcome.delivered("f");
        assert!((497..=501).contains(&delivered), "{delivered}");
        assert_eq!(outcome.texts("faults", "what"), ["reading_stops", "reading_starts"]);
        assert_eq!(outcome.total("drops", "frames") == 0, control);
    }
}

#[test]
fn too_small_a_buffer_stops_the_run_of_a_lossless_class() {
    let (mut net, a, b) = net(Time::from_ms(2), ReceiveSpec { buffer: Some(2_000), ..slow(us(5)) }, true);
    net.flow("f", a, 0, greedy(b, 1230, Time::ZERO));
    let error = net.try_run().error.unwrap();
    assert!(error.contains("(receive_buffer)") && error.contains("2000 B"), "{error}");
    net.0.on_lossless_drop = OnLosslessDrop::Count;
    assert!(net.run().summary("lost_in_receivers") > 0.0);
    assert!(net.run().summary("headroom_violations") > 0.0);
}
