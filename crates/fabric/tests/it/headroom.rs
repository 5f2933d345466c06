//! Headroom: with it, no frame is lost; and the minimum that is really needed.

use crate::common::*;
use fabric::spec::{Forwarding, HostSpec, OnLosslessDrop, Queueing, SwitchSpec};
use flow_control::headroom::Headroom;
use flow_control::{PauseKind, PauseSpec, Watermarks};
use frame::Priority;
use proptest::prelude::*;
use units::{Amount, BitRate, Time};
use workload::FrameSizes;

/// Time of a frame of 1522 B at 10 Gb/s with line overhead; `P` is that of a pause frame.
const M: u64 = 1_233_600;
const P: u64 = 67_200;

/// Parameters of the arrivals after XOFF, all at the worst case except for the phase.
#[derive(Clone, Copy)]
struct Link {
    cable: u64,
    response: u64,
    /// XOFF, in bytes or frames.
    xoff: Amount,
}

/// One sender at 10 Gb/s sends frames of 1522 B back to back; a frame on a link of 10 Mb/s holds the egress port of the
/// switch, so no frame leaves. Frames of 1522 B go back to the sender without a gap, starting at `phase`, so the pause
/// frame has to wait for one of them. Returns true if a frame is lost.
fn loses(link: Link, headroom: Amount, phase: u64) -> bool {
    let marks = Watermarks { xoff: link.xoff, xon: Amount::Bytes(0), headroom: Some(headroom) };
    let marks = match link.xoff {
        Amount::Frames(_) => Watermarks { xon: Amount::Frames(0), ..marks },
        Amount::Bytes(_) => marks,
    };
    let control = PauseSpec { watermarks: Some(marks), response_time: Some(ps(link.response)), ..pfc(0x08) };
    let mut net = Net::new(us(60));
    let h = net.host("h", HostSpec { flow_control: Some(control.clone().into()), ..host() });
    let sw = net.switch("sw", SwitchSpec { flow_control: Some(control.into()), ..switch() });
    let sink = net.host("sink", host());
    net.link(h, sw, gbps(10), ps(link.cable));
    net.link(sw, sink, BitRate::from_bps(10_000_000), Time::ZERO);
    net.flow("hold", sw, 3, one(sink, 1522, Time::ZERO));
    net.flow("f", h, 3, greedy(sink, 1522, Time::ZERO));
    net.flow("back", sw, 7, burst(h, 1522, 40, ps(phase)));
    net.try_run().error.is_some()
}

/// The minimum headroom without loss, over all phases of the frames that delay the pause frame.
fn minimum(link: Link, amount: fn(u64) -> Amount, high: u64) -> u64 {
    // 61 phases over the whole period, and the worst: the delaying frame starts at the time at which XOFF is due. The
    // frame that crosses XOFF ends at a multiple of M plus the cable.
    let phases = || (0..61).map(|step| step * M / 61).chain([link.cable % M]);
    let safe = |headroom| phases().all(|phase| !loses(link, amount(headroom), phase));
    let (mut low, mut high) = (0, high);
    assert!(safe(high));
    while low + 1 < high {
        let middle = (low + high) / 2;
        if safe(middle) { high = middle } else { low = middle }
    }
    // With one byte less, a frame is lost in the worst phase, not only in some.
    assert!(loses(link, amount(high - 1), link.cable % M));
    high
}

fn formula(link: Link) -> u64 {
    let terms = Headroom {
        interface_bits: 0,
        response_bits: gbps(10).bits_in_ceil(ps(link.response)),
        ..Headroom::of_link(gbps(10), ps(link.cable))
    };
    terms.delay().bytes().get()
}

#[test]
fn the_least_headroom_by_bisection() {
    // Case 1: 2·C + P + H = 1 M: the pause takes effect exactly when the sender starts a frame, and the pause frame has
    // waited for a whole frame. Between XOFF and the last bit are 3 M: three frames.
    let cable = 100_000;
    let exact = Link { cable, response: M - 2 * cable - P, xoff: Amount::Bytes(5 * 1522) };
    assert_eq!(formula(exact), 3 * 1542);
    // XOFF is a whole number of frames: three frames are stored above it. The formula counts the 20 B around each of
    // them, which take time on the wire but no memory: 60 B more than needed.
    assert_eq!(minimum(exact, Amount::Bytes, 9_000), 3 * 1522);
    // XOFF one byte higher: the frame that crosses it is above it except for that byte, 1521 B more. This is what
    // `TotalDelay::room` adds to the formula: 4626 + 1521 = 6147, again 60 B more than needed.
    let just_above = Link { xoff: Amount::Bytes(5 * 1522 + 1), ..exact };
    assert_eq!(minimum(just_above, Amount::Bytes, 9_000), 3 * 1522 + 1521);
    // Case 2: no response time. 2·M + P + 2·C are 2.217 M, or 3418 B. The pause takes effect 0.217 M into a frame,
    // which completes, so two frames follow: 3044 B. The formula has 374 B more, of which 40 B are line overhead and
    // 334 B are the part of a third frame that cannot have started.
    let plain = Link { response: 0, ..exact };
    assert_eq!(formula(plain), 3418);
    assert_eq!(minimum(plain, Amount::Bytes, 9_000), 2 * 1522);
    // Case 3: a picosecond less than case 1 needs a whole frame less.
    let almost = Link { response: exact.response - 1, ..exact };
    assert_eq!(minimum(almost, Amount::Bytes, 9_000), 2 * 1522);
    // In frames, XOFF is crossed exactly: three frames, and no fewer.
    let frames = Link { xoff: Amount::Frames(5), ..exact };
    assert_eq!(minimum(frames, Amount::Frames, 9), 3);
}

#[test]
fn the_formula_is_enough_at_every_phase_and_a_frame_less_is_not() {
    // 300 m at 10 Gb/s with the maximum response of the standard (60 quanta): 2·M + P + 2·C + H = 24 672 + 672 + 30 000
    // + 30 720 bits = 86 064 bits, 10 758 B or 6.98 frames. Seven frames can start.
    let link = Link { cable: 1_500_000, response: 3_072_000, xoff: Amount::Bytes(5 * 1522) };
    assert_eq!(formula(link), 10_758);
    for phase in (0..M).step_by(9_600) {
        assert!(!loses(link, Amount::Bytes(10_758), phase), "{phase}");
    }
    // (TotalDelay - M)/M = 5.98: the sixth frame has started when the pause takes effect; 6 · 1522 = 9132 B.
    assert_eq!(minimum(link, Amount::Bytes, 12_000), 6 * 1522);
    assert!(loses(link, Amount::Bytes(10_758 - 2 * 1522), link.cable % M));
}

#[test]
fn the_message_of_a_loss_names_everything() {
    let marks =
        Watermarks { xoff: Amount::Bytes(7610), xon: Amount::Bytes(0), headroom: Some(Amount::Bytes(1000)) };
    let control = PauseSpec { watermarks: Some(marks), ..pfc(0x08) };
    let mut net = Net::new(us(60));
    let h = net.host("h", HostSpec { flow_control: Some(control.clone().into()), ..host() });
    let sw = net.switch("sw", SwitchSpec { flow_control: Some(control.into()), ..switch() });
    let sink = net.host("sink", host());
    net.link(h, sw, gbps(10), ns(100));
    net.link(sw, sink, BitRate::from_bps(10_000_000), Time::ZERO);
    net.flow("hold", sw, 3, one(sink, 1522, Time::ZERO));
    net.flow("f", h, 3, greedy(sink, 1522, Time::ZERO));
    let error = net.try_run().error.expect("1000 B are no headroom");
    // XOFF with the fifth frame at 5 M + C; the sixth has started and finds 7610 B under a limit of 8610 B. Needed: 2·M
    // + P + 2·C = 27 344 bits = 3418 B, and 1521 B for the frame that crosses.
    for part in [
        "at 7.5016 us",
        "1522 B of priority 3",
        "port sw.1->sink",
        "class 3",
        "in through sw.0->h",
        "(headroom) is 8610 B",
        "7610 B were in use",
        "XOFF is at 7610 B",
        "must be at least 4939 B",
    ] {
        assert!(error.contains(part), "{part} is not in: {error}");
    }
    // If losses are counted, the run continues, and the losses are in the tables.
    net.0.on_lossless_drop = OnLosslessDrop::Count;
    let outcome = net.run();
    let violations = outcome.count("ports", "sw.1->sink", "headroom_violations");
    assert!(violations > 0);
    assert_eq!(outcome.total("drops", "frames"), violations);
    assert_eq!(outcome.texts("drops", "cause"), ["headroom"]);
    assert_eq!(outcome.count("flows", "f", "frames_dropped"), violations);
}

#[test]
fn the_first_loss_is_the_one_reported() {
    // Two hosts overrun two ports at the same time and continue to do so: the message is about the first.
    let marks =
        Watermarks { xoff: Amount::Frames(2), xon: Amount::Frames(0), headroom: Some(Amount::Frames(0)) };
    let control = PauseSpec { watermarks: Some(marks), ..pfc(0x08) };
    let mut net = Net::new(us(60));
    let sw = net.switch("sw", SwitchSpec { flow_control: Some(control.into()), ..switch() });
    let sink = net.host("sink", host());
    net.link(sw, sink, BitRate::from_bps(10_000_000), us(20));
    net.flow("hold", sw, 3, one(sink, 1522, Time::ZERO));
    for name in ["a", "b"] {
        let h = net.host(name, host());
        net.link(h, sw, gbps(10), us(20));
        net.flow(name, h, 3, greedy(sink, 64, Time::ZERO));
    }
    let error = net.try_run().error.expect("a host that does not obey overruns the switch");
    // The third frame of each: 3 · 67 200 ps and 20 us.
    assert!(error.contains("at 20.2016 us"), "{error}");
}

#[test]
fn a_run_that_stops_stops_in_the_same_state_on_threads() {
    // Two switches are overrun, the second a little later than the first but within one look-ahead, while hosts behind
    // a third continue to send: all of them reach the end of the round.
    let marks =
        Watermarks { xoff: Amount::Frames(2), xon: Amount::Frames(0), headroom: Some(Amount::Frames(0)) };
    let control = PauseSpec { watermarks: Some(marks), ..pfc(0x08) };
    let mut net = Net::new(us(60));
    for (index, start) in [ns(300), Time::ZERO, us(50)].into_iter().enumerate() {
        let sw = net.switch(
            &format!("sw{index}"),
            SwitchSpec { flow_control: Some(control.clone().into()), ..switch() },
        );
        let sink = net.host(&format!("sink{index}"), host());
        net.link(sw, sink, BitRate::from_bps(10_000_000), us(5));
        let h = net.host(&format!("h{index}"), host());
        net.link(h, sw, gbps(10), us(5));
        net.flow(&format!("hold{index}"), sw, 3, one(sink, 1522, Time::ZERO));
        net.flow(&format!("f{index}"), h, 3, greedy(sink, 64, start));
        net.flow(&format!("other{index}"), h, 1, paced(sink, 64, 1000, Time::ZERO, ns(200)));
    }
    let alone = net.run_on(1, u64::MAX);
    let error = alone.error.clone().expect("hosts that do not obey overrun the switches");
    assert!(error.contains("sw1"), "{error}");
    for (threads, budget) in [(1, 1), (2, u64::MAX), (3, 7), (9, u64::MAX)] {
        let outcome = net.run_on(threads, budget);
        assert_eq!((outcome.error.as_ref(), outcome.fingerprint), (Some(&error), alone.fingerprint));
    }
}

#[derive(Clone, Debug)]
struct Incast {
    rate: u64,
    metres: u64,
    senders: usize,
    switches: usize,
    sizes: FrameSizes,
    response: Option<u64>,
    cut_through: bool,
    virtual_output: bool,
    latency: u64,
    link_pause: bool,
    /// Factor by which the last link is slower.
    slower: u64,
    overhead: u16,
}

fn sizes() -> impl Strategy<Value = FrameSizes> {
    prop_oneof![
        Just(FrameSizes::Fixed(64)),
        Just(FrameSizes::Fixed(1522)),
        Just(FrameSizes::Fixed(9216)),
        (64u16..9217).prop_map(FrameSizes::Fixed),
        Just(FrameSizes::Imix),
        Just(FrameSizes::Bimodal { small: 64, large: 9216, small_share: 0.5 }),
        Just(FrameSizes::Uniform { min: 64, max: 1522 }),
    ]
}

fn incast() -> impl Strategy<Value = Incast> {
    let rates = vec![
        10_000_000u64,
        1_000_000_000,
        10_000_000_000,
        25_000_000_000,
        40_000_000_000,
        100_000_000_000,
        400_000_000_000,
    ];
    let link = (
        prop::sample::select(rates),
        prop::sample::select(vec![0u64, 1, 20, 100, 300, 2_000]),
        prop::sample::select(vec![0u16, 20]),
    );
    let stations = (2usize..9, 1usize..4, sizes(), prop_oneof![Just(None), (0u64..5_000).prop_map(Some)]);
    let ways = (
        any::<bool>(),
        any::<bool>(),
        prop_oneof![Just(0u64), 1u64..2_000],
        any::<bool>(),
        prop::sample::select(vec![1u64, 1, 10, 1000]),
    );
    (link, stations, ways).prop_map(
        |(
            (rate, metres, overhead),
            (senders, switches, sizes, response),
            (cut_through, virtual_output, latency, link_pause, slower),
        )| Incast {
            rate,
            metres,
            senders,
            switches,
            sizes,
            response,
            cut_through,
            virtual_output,
            latency,
            link_pause,
            slower,
            overhead,
        },
    )
}

fn build(incast: &Incast, seed: u64) -> Net {
    let rate = BitRate::from_bps(incast.rate);
    let delay = units::Length::from_m(incast.metres).fibre_delay();
    let control = PauseSpec {
        kind: if incast.link_pause { PauseKind::Link } else { PauseKind::Priorities(0x08) },
        response_time: incast.response.map(ns),
        ..pfc(0)
    };
    let spec = SwitchSpec {
        forwarding: if incast.cut_through { Forwarding::CutThrough } else { Forwarding::StoreAndForward },
        queueing: if incast.virtual_output { Queueing::VirtualOutput } else { Queueing::Output },
        latency: ns(incast.latency),
        flow_control: Some(control.clone().into()),
        ..switch()
    };
    let station = HostSpec { flow_control: Some(control.clone().into()), ..host() };
    // Long enough to reach all watermarks on the path, and for renewals at high rates.
    let (_, longest) = incast.sizes.bounds();
    let terms = Headroom {
        overhead: incast.overhead,
        max_frame: longest,
        interface_bits: 0,
        pipeline: ns(incast.latency),
        ..Headroom::of_link(rate, delay)
    };
    let delay_of_all = terms.delay().time().ps() + incast.response.unwrap_or(0) * 1000;
    let frame = rate.time_for_bits_ceil(u64::from(longest) * 8).ps();
    let mut net = Net::new(ps((delay_of_all * 3 + frame * 8) * (2 + incast.switches as u64)));
    net.0.seed = seed;
    net.0.probes.pauses = false;
    let switches: Vec<_> = (0..incast.switches).map(|i| net.switch(&format!("s{i}"), spec.clone())).collect();
    for pair in switches.windows(2) {
        net.link(pair[0], pair[1], rate, delay).overhead = incast.overhead;
    }
    let (sink, last) = (net.host("sink", station.clone()), switches[switches.len() - 1]);
    net.link(last, sink, BitRate::from_bps(incast.rate / incast.slower), delay).overhead = incast.overhead;
    for i in 0..incast.senders {
        let h = net.host(&format!("h{i}"), station.clone());
        net.link(h, switches[i % switches.len()], rate, delay).overhead = incast.overhead;
        let source = workload::SourceSpec { sizes: incast.sizes.clone(), ..greedy(sink, 64, Time::ZERO) };
        net.flow(&format!("f{i}"), h, 3, source.clone());
        // Frames in the reverse direction, for which pause frames have to wait.
        if i < 2 {
            let destinations = workload::Destinations::Fixed(h);
            net.flow(&format!("back{i}"), sink, 7, workload::SourceSpec { destinations, ..source });
        }
    }
    net
}

proptest! {
    #![proptest_config(ProptestConfig { cases: cases(48), ..ProptestConfig::default() })]

    #[test]
    fn computed_watermarks_lose_nothing(incast in incast(), seed: u64) {
        let net = build(&incast, seed);
        let outcome = net.try_run();
        prop_assert_eq!(&outcome.error, &None);
        prop_assert_eq!(outcome.summary("frames_dropped"), 0.0);
        prop_assert!(outcome.summary("pauses_sent") > 0.0, "no pause was needed");
        let marks = outcome.texts("watermarks", "watermark");
        prop_assert!(marks.iter().any(|mark| mark == "headroom_needed"));
    }

    #[test]
    fn computed_watermarks_keep_the_slow_link_busy(
        senders in 2usize..6, gigabits in prop::sample::select(vec![10u64, 100]), metres in 0u64..300,
    ) {
        // The low watermark is high enough that the queue does not underrun while its senders resume.
        let incast = Incast {
            rate: gigabits * 1_000_000_000, metres, senders, switches: 1, sizes: FrameSizes::Fixed(1522),
            response: None, cut_through: false, virtual_output: false, latency: 0, link_pause: false, slower: 1,
            overhead: 20,
        };
        let mut net = build(&incast, 1);
        net.0.flows.retain(|flow| flow.priority == Priority(3));
        net.0.warmup = Time::from_ps(net.0.duration.ps() / 4);
        let outcome = net.try_run();
        prop_assert_eq!(&outcome.error, &None);
        let busy = outcome.real("ports", "s0.0->sink", "utilisation");
        prop_assert!(busy > 1.0 - 1e-9, "{}", busy);
    }
}
