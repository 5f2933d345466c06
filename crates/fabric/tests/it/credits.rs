//! Credit-based flow control to the picosecond: capacity of a link, waits, and invariants.

use crate::common::credits::{credits, ring, with_credits};
use crate::common::*;
use fabric::Simulation;
use fabric::spec::{FaultSpec, Forwarding, HostSpec, ReceiveSpec, Role, SwitchSpec};
use flow_control::{CreditSettings, CreditSpec};
use frame::{ClassMap, NodeId};
use proptest::prelude::*;
use scheduling::{AccountedLength, DTableParams, ScfqCaParams, SchedulerSpec};
use std::sync::Arc;
use units::Time;

/// a - b at 10 Gb/s.
fn pair(duration: Time, delay: Time) -> (Net, NodeId, NodeId) {
    let mut net = Net::new(duration);
    let (a, b) = (net.host("a", host()), net.host("b", host()));
    net.link(a, b, gbps(10), delay).overhead = 0;
    (net, a, b)
}

/// Number of frames that have arrived by `until`, from a sender that fills the link while it has credits: frame n
/// starts when frame n - 1 has left and the credits of frame n - `most` have been returned.
fn arrived(until: Time, most: usize, takes: Time, delay: Time, back: Time) -> u64 {
    let mut begins: Vec<Time> = Vec::new();
    loop {
        let link = begins.last().map_or(Time::ZERO, |&last| last + takes);
        let nth = begins.len();
        let credit = if nth < most { Time::ZERO } else { begins[nth - most] + takes + delay + back };
        let at = link.max(credit);
        if at + takes + delay >= until {
            return nth as u64;
        }
        begins.push(at);
    }
}

#[test]
fn a_link_carries_its_credits_in_a_round_trip_until_it_is_full() {
    let (duration, delay) = (us(1_000), ns(1_500));
    for (bytes, most) in [(1_088, 1), (1_088, 2), (1_088, 3), (1_088, 4), (1_088, 5), (1_088, 6), (64, 50)] {
        let (mut net, a, b) = pair(duration, delay);
        net.flow("f", a, 3, greedy(b, bytes, Time::ZERO));
        let need = u64::from(bytes).div_ceil(64);
        // The remaining credits are not enough for a frame.
        let net = with_credits(net, &credits(most * need + need - 1));
        let outcome = net.try_run_on_threads();
        let takes = ps(u64::from(bytes) * 800);
        let frames = outcome.integers("flows", "frames_delivered")[0];
        assert_eq!(frames, arrived(duration, most as usize, takes, delay, delay), "{most} of {bytes} B");
        // As a rate: this many frames per round trip, or as many as the link takes.
        let round_trip = (takes + delay + delay).ps() as f64;
        let a_second = (most as f64 / round_trip).min(1.0 / takes.ps() as f64) * 1e12;
        assert!((frames as f64 / (a_second * 1e-3) - 1.0).abs() < 0.01, "{frames}");
    }
}

#[test]
fn a_frame_alone_is_not_delayed_and_the_next_waits_for_its_credits() {
    let (mut net, a, b) = pair(us(50), us(2));
    net.flow("f", a, 0, burst(b, 1_000, 2, us(1)));
    let net = with_credits(net, &CreditSpec { update_delay: ns(7), ..credits(16) });
    let outcome = net.run();
    // 800 ns on the link and 2 us of cable; the credits are returned after another 2.007 us.
    assert_eq!(exact(outcome.reals("flows", "latency_min_ns")[0]), ns(2_800));
    assert_eq!(exact(outcome.reals("flows", "latency_max_ns")[0]), ns(2_800 + 2_007 + 2_800));
    // From 1 us on, one frame lacks credits for 4.807 us.
    assert_eq!((outcome.reals("credits", "waited_s")[0] * 1e12).round() as u64, 4_807_000);
    assert_eq!(
        (outcome.integers("credits", "waits"), outcome.integers("credits", "granted")),
        (&[1][..], &[16][..])
    );
}

#[test]
fn little_is_told_later() {
    let (mut net, a, b) = pair(us(50), us(2));
    net.flow("f", a, 0, burst(b, 1_000, 2, us(1)));
    // 16 credits are fewer than 17, so the update waits for 3 us.
    let spec = CreditSpec { update_after: 17, update_within: us(3), ..credits(17) };
    let outcome = with_credits(net, &spec).run();
    assert_eq!(exact(outcome.reals("flows", "latency_max_ns")[0]), ns(2_800 + 3_000 + 2_000 + 2_800));
}

#[test]
fn updates_may_take_their_share_of_the_link() {
    let run = |update_bytes| {
        let (mut net, a, b) = pair(us(1_000), us(1));
        net.flow("there", a, 0, greedy(b, 1_000, Time::ZERO));
        net.flow("back", b, 0, greedy(a, 1_000, Time::ZERO));
        with_credits(net, &CreditSpec { update_bytes, ..credits(160) }).try_run_on_threads()
    };
    let (free, cost) = (run(0), run(250));
    // A frame in each direction, each with an update: four fifths of the link are left for frames.
    let received = |outcome: &Outcome| outcome.integers("flows", "frames_delivered")[0] as f64;
    assert!((received(&free) - 1_248.0).abs() <= 1.0, "{}", received(&free));
    assert!((received(&cost) / received(&free) - 0.8).abs() < 0.005, "{}", received(&cost));
    // In both cases, the port was busy all the time.
    let busy = |outcome: &Outcome| outcome.reals("ports", "utilisation")[0];
    assert!(busy(&free) > 0.999 && busy(&cost) > 0.999, "{} {}", busy(&free), busy(&cost));
}

#[test]
fn frames_that_go_back_may_carry_updates() {
    let run = |back: bool, spec: CreditSpec| {
        let (mut net, a, b) = pair(us(1_000), us(1));
        net.flow("there", a, 0, greedy(b, 1_000, Time::ZERO));
        if back {
            net.flow("back", b, 0, greedy(a, 1_000, Time::ZERO));
        }
        with_credits(net, &spec).try_run_on_threads().integers("flows", "frames_delivered").to_vec()
    };
    // Frames alone carry updates: separate updates are due after a second.
    let silent = CreditSpec { update_after: 161, update_within: us(1_000_000), ..credits(160) };
    let carried = CreditSpec { piggyback: Some(250), ..silent.clone() };
    // Ten frames have credits. In the first 3.6 us, a round trip, no update is due; after that, each frame takes a
    // quarter more.
    assert_eq!(run(false, carried.clone()), [10]);
    assert_eq!(run(true, silent), [10, 10]);
    let [there, back] = run(true, carried)[..] else { panic!("two flows") };
    assert_eq!(there, back);
    assert!(there.abs_diff(1_000) <= 3, "{there}");
    // Without the overhead of attached updates, and with separate updates that would overtake a frame.
    assert_eq!(run(true, CreditSpec { piggyback: Some(0), ..credits(160) }), run(true, credits(160)));
}

#[test]
fn channels_do_not_stop_each_other_unless_they_share() {
    // h0 sends to h2 at priority 0 and to h3 at priority 1; h2 processes 1 Gb/s.
    let run = |channels| {
        let (mut net, h) = star(4, us(2_000), switch());
        let slow = ReceiveSpec { rate: Some(gbps(1)), ..ReceiveSpec::default() };
        if let Role::Host(host) = &mut net.0.nodes[h[2].at()].role {
            Arc::make_mut(host).receive = Some(slow);
        }
        net.flow("slow", h[0], 1, greedy(h[2], 1_000, Time::ZERO));
        net.flow("fast", h[0], 0, greedy(h[3], 1_000, Time::ZERO));
        let outcome = with_credits(net, &CreditSpec { channels, ..credits(160) }).try_run_on_threads();
        [0, 1].map(|flow| outcome.integers("flows", "frames_delivered")[flow] as f64 / 250.0)
    };
    let [slow, fast] = run(ClassMap::SEPARATE);
    assert!((slow - 1.0).abs() < 0.05 && (fast - 9.0).abs() < 0.15, "{slow} {fast}");
    // A single buffer at the switch fills with frames that wait for h2.
    let [slow, fast] = run(ClassMap::SHARED);
    assert!((slow - 1.0).abs() < 0.05 && fast < 2.5, "{slow} {fast}");
}

#[test]
fn a_channel_without_credits_gives_its_share_to_the_others() {
    // Three classes by deficit table, equal entries; class 2 sends to a reader of 1 Gb/s.
    let table: Vec<u32> = [0, 1, 2, 0].repeat(8);
    for scheduler in [
        SchedulerSpec::DTable(DTableParams::uniform(table, 34)),
        SchedulerSpec::ScfqCa(ScfqCaParams {
            weights: vec![2, 1, 1].into(),
            ..ScfqCaParams::by(AccountedLength::FRAME)
        }),
    ] {
        let classes = ClassMap::new([0, 1, 2, 2, 2, 2, 2, 2]).unwrap();
        let (mut net, h) = star(4, us(2_000), SwitchSpec { classes, ..switch() });
        let slow = ReceiveSpec { rate: Some(gbps(1)), ..ReceiveSpec::default() };
        for (node, receive) in [(h[0], None), (h[3], Some(slow))] {
            net.0.nodes[node.at()].role =
                Role::Host(Arc::new(HostSpec { classes, scheduler: scheduler.clone(), receive, ..host() }));
        }
        for (class, to) in [(0, h[1]), (1, h[2]), (2, h[3])] {
            net.flow(&class.to_string(), h[0], class, greedy(to, 1_000, Time::ZERO));
        }
        let outcome = with_credits(net, &credits(136)).try_run_on_threads();
        let gbps: Vec<f64> = outcome
            .integers("flows", "frames_delivered")
            .iter()
            .map(|&frames| frames as f64 / 250.0)
            .collect();
        assert!((gbps[0] - 6.0).abs() < 0.15, "{gbps:?}");
        assert!((gbps[1] - 3.0).abs() < 0.15 && (gbps[2] - 1.0).abs() < 0.05, "{gbps:?}");
    }
}

#[test]
fn many_to_one_loses_nothing_and_fills_the_link() {
    for forwarding in [Forwarding::StoreAndForward, Forwarding::CutThrough] {
        let (mut net, h) = star(64, us(500), SwitchSpec { forwarding, ..switch() });
        for (nth, &from) in h.iter().enumerate().skip(1) {
            net.flow(&format!("f{nth}"), from, (nth % 8) as u8, greedy(h[0], 1_522, Time::ZERO));
        }
        let settings = CreditSettings::default().spec();
        let outcome = with_credits(net, &settings).try_run_on_threads();
        let frames: u64 = outcome.integers("flows", "frames_delivered").iter().sum();
        assert!(frames as f64 > 0.99 * 500.0 / 1.2176, "{frames}");
        assert_eq!(outcome.integers("flows", "frames_dropped").iter().sum::<u64>(), 0);
    }
}

#[test]
fn a_lost_frame_takes_its_credits_and_stops_the_run() {
    let (mut net, a, b) = pair(us(1_000), us(1));
    net.flow("f", a, 5, paced(b, 1_000, 100, Time::ZERO, us(5)));
    let (from, until) = (us(50), us(51));
    net.0.faults = vec![FaultSpec::FrameLoss { link: 0, towards: None, from, until, probability: 1.0 }];
    let outcome = with_credits(net, &credits(160)).try_run_on_threads();
    let error = outcome.error.expect("credits leak");
    assert!(error.contains("credits leak at 51.8 us: 16 of channel 5 of the link a.0->b"), "{error}");
}

#[test]
fn a_lost_update_is_made_up_for_by_the_next() {
    let (mut net, a, b) = pair(us(1_000), us(1));
    net.flow("f", a, 5, greedy(b, 1_000, Time::ZERO));
    let (from, until) = (us(50), us(52));
    net.0.faults = vec![FaultSpec::PauseLoss { link: 0, from, until, probability: 1.0 }];
    let with = with_credits(net.clone(), &credits(160)).try_run_on_threads();
    net.0.faults.clear();
    let without = with_credits(net, &credits(160)).try_run_on_threads();
    let frames = |outcome: &Outcome| outcome.integers("flows", "frames_delivered")[0];
    assert_eq!(with.error, None);
    assert_eq!(frames(&with), frames(&without), "ten frames of credits last for the gap");
    assert!(with.integers("ports", "pauses_lost").iter().sum::<u64>() > 0);
}

#[test]
fn a_circle_is_refused_before_the_run() {
    let net = with_credits(ring(us(10)), &credits(160));
    let error = Simulation::new(&net.0).err().expect("a circle").to_string();
    let circle = "s0.0->s1/2 waits for s1.1->s2/2 waits for s2.1->s0/2 waits for s0.0->s1/2";
    assert!(error.contains(circle), "{error}");
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 40, ..ProptestConfig::default() })]

    /// For all sizes, read rates and updates: no frame is lost, credits are conserved, and all frames arrive.
    #[test]
    fn nothing_is_lost_and_all_arrives(
        room in 24u32..200, after in 1u32..24, within in 0u64..3_000, update_bytes in prop::sample::select(vec![0u16, 8, 84]),
        shared: bool, cut: bool, carried in prop::option::of(0u16..100), sizes in prop::collection::vec(64u16..1_522, 4), reader in 1u64..20,
    ) {
        let forwarding = if cut { Forwarding::CutThrough } else { Forwarding::StoreAndForward };
        let (mut net, h) = star(5, us(3_000), SwitchSpec { forwarding, ..switch() });
        let receive = ReceiveSpec { time_per_frame: ns(50), rate: Some(gbps(reader)), ..ReceiveSpec::default() };
        if let Role::Host(host) = &mut net.0.nodes[h[4].at()].role {
            Arc::make_mut(host).receive = Some(receive);
        }
        for (nth, &bytes) in sizes.iter().enumerate() {
            net.flow(&nth.to_string(), h[nth], nth as u8, burst(h[4], bytes, 40, us(nth as u64)));
        }
        let channels = if shared { ClassMap::SHARED } else { ClassMap::SEPARATE };
        let spec = CreditSpec {
            channels, update_after: after, update_within: ns(within), update_bytes, piggyback: carried,
            ..credits(u64::from(room))
        };
        let outcome = with_credits(net, &spec).try_run_on_threads();
        prop_assert_eq!(outcome.error.as_deref(), None);
        prop_assert_eq!(outcome.integers("flows", "frames_delivered"), vec![40; 4]);
    }
}
