//! Counts with a warm-up: they cover the events after it, as documented for the key `warmup`.

use crate::common::*;
use fabric::spec::SwitchSpec;
use queueing::BufferSpec;
use units::{Amount, Time};

/// a and b - sw - c at 10 Gb/s: 1230 B take 1 us on a link.
fn net(warmup: Time, buffer: BufferSpec) -> Net {
    let mut net = Net::new(us(20));
    net.0.warmup = warmup;
    let [a, b, c] = ["a", "b", "c"].map(|name| net.host(name, host()));
    let sw = net.switch("sw", SwitchSpec { buffer, ..switch() });
    net.attach(&[a, b, c], sw, gbps(10), ns(15));
    net.flow("early", a, 0, burst(c, 1230, 2, Time::ZERO));
    net.flow("late", b, 0, one(c, 1230, us(10)));
    net
}

#[test]
fn frames_on_their_way_count_where_they_arrive() {
    // The first frame of "early" arrives at 2.03 us, the second at 3.03 us.
    let counts = |warmup: Time| {
        let outcome = net(warmup, BufferSpec::default()).run();
        let of = |column: &str| outcome.count("flows", "early", column);
        (of("frames_sent"), of("frames_delivered"), outcome)
    };
    let (sent, delivered, _) = counts(Time::ZERO);
    assert_eq!((sent, delivered), (2, 2));
    let (sent, delivered, outcome) = counts(us(3));
    assert_eq!((sent, delivered), (0, 1));
    assert_eq!(outcome.only_latency("early"), ns(3_030));
    // In bit/s over the measured time, 17 us.
    let throughput = outcome.real("flows", "early", "throughput_bps");
    assert!((throughput - 1230.0 * 8.0 / 17e-6).abs() < 1.0, "{throughput}");
    assert_eq!(outcome.count("flows", "late", "frames_sent"), 1);
    let (sent, delivered, outcome) = counts(us(4));
    assert_eq!((sent, delivered, outcome.delivered("late")), (0, 0, 1));
}

#[test]
fn losses_count_when_they_happen() {
    // A queue without space: "clash" arrives at the switch while "early" is being sent, and is lost at 1.515 us.
    let buffer = BufferSpec { queue: Some(Amount::Frames(0)), ..BufferSpec::default() };
    for (warmup, lost) in [(Time::ZERO, 1), (us(1), 1), (us(2), 0)] {
        let mut net = net(warmup, buffer.clone());
        let [b, c] = [1, 2].map(frame::NodeId);
        net.flow("clash", b, 0, one(c, 1230, ns(500)));
        let outcome = net.run();
        assert_eq!(outcome.count("flows", "clash", "frames_dropped"), lost, "{warmup}");
        assert_eq!(outcome.count("flows", "clash", "frames_sent"), u64::from(warmup == Time::ZERO));
    }
}
