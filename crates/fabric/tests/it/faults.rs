//! Faults to the picosecond: losses, kept frames, recovery, and balances.

use crate::common::*;
use fabric::spec::{FaultSpec, Forwarding, HostSpec, OnLosslessDrop, Reaction, SwitchSpec};
use frame::{ClassMap, NodeId};
use proptest::prelude::*;
use scheduling::{AccountedLength, DrrParams, SchedulerSpec, WfqParams};
use units::{BitRate, Time};

const LOSE: Reaction = Reaction { keep: false, reroute: None };
const KEEP: Reaction = Reaction { keep: true, reroute: None };

fn down(link: u32, at: Time, reaction: Reaction) -> FaultSpec {
    FaultSpec::LinkDown { link, at, reaction }
}
fn up(link: u32, at: Time) -> FaultSpec {
    FaultSpec::LinkUp { link, at }
}

/// a - sw - b at 10 Gb/s and 1 us: link 0 and link 1.
fn line(duration: Time) -> (Net, NodeId, NodeId) {
    let mut net = Net::new(duration);
    let (a, b) = (net.host("a", host()), net.host("b", host()));
    let sw = net.switch("sw", switch());
    net.link(a, sw, gbps(10), us(1));
    net.link(sw, b, gbps(10), us(1));
    (net, a, b)
}

fn lost(outcome: &Outcome, cause: &str) -> u64 {
    let rows = outcome.texts("drops", "cause").iter().zip(outcome.integers("drops", "frames"));
    rows.filter(|(of, _)| *of == cause).map(|(_, frames)| frames).sum()
}

// A frame of 1230 B takes 1000 ns with its 20 B, and leaves a link 1 us later.

#[test]
fn a_frame_with_any_bit_on_the_link_is_cut() {
    // On link 0 from 10 us to 12 us: 1 us of transmission, 1 us of delay.
    for (at, survives) in [(us(9), false), (us(10), false), (ps(11_999_999), false), (us(12), true)] {
        let (mut net, a, b) = line(us(40));
        net.flow("f", a, 0, one(b, 1230, us(10)));
        net.0.faults = vec![down(0, at, LOSE)];
        let outcome = net.try_run_on_threads();
        assert_eq!(outcome.delivered("f"), u64::from(survives), "{at}");
        assert_eq!(lost(&outcome, "link_down"), u64::from(!survives), "{at}");
    }
    // The link is up again before the frame would have arrived; the frame is still lost.
    let (mut net, a, b) = line(us(40));
    net.flow("f", a, 0, one(b, 1230, us(10)));
    net.0.faults = vec![down(0, ps(10_500_000), LOSE), up(0, ps(10_600_000))];
    assert_eq!(lost(&net.try_run_on_threads(), "link_down"), 1);
}

#[test]
fn frames_that_wait_for_a_dead_link_are_lost_or_kept() {
    let run = |reaction| {
        let (mut net, a, b) = line(us(100));
        // Ten frames at once, one per microsecond: the first is on the link to b from 12 us on. When the link fails at
        // 14.5 us, the third is cut off; until 30 us the rest arrives at a failed link.
        net.flow("f", a, 0, burst(b, 1230, 10, us(10)));
        net.0.faults = vec![down(1, ps(14_500_000), reaction), up(1, us(30))];
        net.try_run_on_threads()
    };
    let outcome = run(LOSE);
    // On the link at 14.5 us: the frames sent from 13 us (arrives 15 us) and from 14 us.
    assert_eq!((outcome.delivered("f"), lost(&outcome, "link_down")), (1, 9));
    let outcome = run(KEEP);
    assert_eq!((outcome.delivered("f"), lost(&outcome, "link_down")), (8, 2));
    // The seven queued frames leave at 30 us; the last one ends at 37 us and arrives at 38 us.
    assert_eq!(outcome.latency("f").1, us(28));
    assert_eq!(outcome.texts("faults", "what"), ["link_down", "link_up"]);
    assert_eq!(outcome.texts("faults", "where"), ["sw<->b", "sw<->b"]);
    assert_eq!(outcome.reals("faults", "time_ns"), [14_500.0, 30_000.0]);
}

#[test]
fn a_new_rate_holds_from_the_next_frame_on() {
    let (mut net, a, b) = line(us(100));
    net.flow("f", a, 0, burst(b, 1230, 4, us(10)));
    // During the second frame, the rate falls from 10 Gb/s to 2.5 Gb/s: the frame completes at 12 us, the others take 4
    // us.
    net.0.faults = vec![FaultSpec::LinkRate {
        link: 0,
        towards: None,
        at: ps(11_500_001),
        rate: BitRate::from_bps(2_500_000_000),
    }];
    let outcome = net.try_run_on_threads();
    // The fourth ends at 20 us, arrives at the switch at 21 us, leaves it by 22 us and arrives at 23 us.
    assert_eq!(outcome.latency("f"), (us(4), us(13)));
    assert_eq!(outcome.real("ports", "a.0->sw", "rate_bps"), 2.5e9);
    assert!((outcome.real("ports", "a.0->sw", "utilisation") - 0.10).abs() < 1e-12);
    // A faster rate, which the look-ahead has to take into account.
    net.0.faults = vec![FaultSpec::LinkRate { link: 0, towards: None, at: ps(11_500_001), rate: gbps(100) }];
    let outcome = net.try_run_on_threads();
    assert_eq!(outcome.delivered("f"), 4);
    // All arrive at the switch by 13.2 us; its own link sends from 12 us on, one per microsecond: 16 us and 1 us.
    assert_eq!(outcome.latency("f"), (us(4), us(7)));
}

#[test]
fn a_cut_through_switch_does_not_overtake_a_slow_frame() {
    let mut net = Net::new(us(100));
    let (a, b) = (net.host("a", host()), net.host("b", host()));
    let sw = net.switch("sw", SwitchSpec { forwarding: Forwarding::CutThrough, ..switch() });
    net.link(a, sw, gbps(1), us(1));
    net.link(sw, b, gbps(10), us(1));
    net.flow("f", a, 0, one(b, 1230, us(10)));
    // At 1 Gb/s, the frame takes 10 us; the link is already fast when its head arrives.
    net.0.faults = vec![FaultSpec::LinkRate { link: 0, towards: None, at: ps(10_500_000), rate: gbps(10) }];
    assert_eq!(net.try_run_on_threads().only_latency("f"), us(13));
}

#[test]
fn wrong_bits_come_as_often_as_they_should() {
    let (mut net, a, b) = line(Time::from_ms(20));
    net.flow("f", a, 0, greedy(b, 1000, Time::ZERO));
    net.0.faults =
        vec![FaultSpec::BitErrors { link: 0, from: Time::ZERO, until: Time::from_ms(10), rate: 1e-5 }];
    let outcome = net.try_run_on_threads();
    // 8000 bits at 1e-5: 7.69 % of the 12255 frames of the first half, by Poisson within 5 sigma.
    let errors = outcome.count("ports", "sw.0->a", "bit_errors");
    assert!((942.0 - errors as f64).abs() < 150.0, "{errors}");
    assert_eq!(lost(&outcome, "bit_error"), errors);
    assert_eq!(outcome.summary("lost_bit_error"), errors as f64);
    assert_eq!(outcome.count("ports", "sw.1->b", "bit_errors"), 0);
    let all = FaultSpec::BitErrors { link: 0, from: Time::ZERO, until: Time::from_ms(20), rate: 1.0 };
    net.0.faults = vec![all];
    assert_eq!(net.run().delivered("f"), 0);
}

#[test]
fn a_restart_loses_what_the_switch_holds_and_then_all_is_as_before() {
    let (mut net, a, b) = line(us(400));
    net.0.links[1].rates = [gbps(5); 2];
    net.flow("f", a, 0, greedy(b, 1230, Time::ZERO));
    net.0.faults = vec![FaultSpec::Restart { node: NodeId(2), at: us(100), lasts: us(50), reroute: None }];
    let outcome = net.try_run_on_threads();
    // One frame per microsecond arrives for 50 us: about 49 were queued, one was in transmission, two on the link.
    let restart = lost(&outcome, "restart");
    assert!((95..105).contains(&restart), "{restart}");
    assert_eq!(outcome.texts("faults", "what"), ["restart", "restarted"]);
    // Half of the frames fit the slow link.
    let delivered = outcome.delivered("f");
    assert!((168..176).contains(&delivered), "{delivered}");
}

#[test]
fn lossless_classes_count_what_faults_lose_and_go_on() {
    let (mut net, a, b) = line(us(400));
    net.0.links[1].rates = [gbps(5); 2];
    net.under_pfc(1);
    net.flow("f", a, 0, greedy(b, 1230, Time::ZERO));
    // The paused link goes down: both sides discard the pause, and it is sent again later.
    for link in [0, 1] {
        net.0.faults = vec![down(link, us(200), LOSE), up(link, us(210))];
        let outcome = net.try_run_on_threads();
        assert_eq!(outcome.error, None);
        assert!(lost(&outcome, "link_down") > 0);
        assert_eq!(outcome.summary("headroom_violations"), 0.0);
        let pauses = outcome.pauses_of("a.0->sw", 0);
        assert!(pauses.iter().any(|&(start, _)| start < us(200).ps()));
        assert!(pauses.iter().any(|&(start, _)| start > us(210).ps()));
        if link == 0 {
            assert!(
                pauses.iter().all(|&(start, end)| end <= us(200).ps() || start >= us(210).ps()),
                "{pauses:?}"
            );
        }
    }
    // No pause frame arrives: frames are dropped for lack of space, which stops a run unless such losses are counted.
    net.0.faults =
        vec![FaultSpec::PauseLoss { link: 0, from: Time::ZERO, until: Time::NEVER, probability: 1.0 }];
    let stopped = net.try_run();
    assert!(stopped.error.unwrap().contains("lossless class was lost"));
    net.0.on_lossless_drop = OnLosslessDrop::Count;
    let outcome = net.try_run_on_threads();
    assert!(lost(&outcome, "headroom") > 0);
    assert!(outcome.count("ports", "sw.0->a", "pauses_lost") > 0);
    assert_eq!(outcome.summary("headroom_violations"), lost(&outcome, "headroom") as f64);
}

#[test]
fn a_greedy_source_waits_for_its_link() {
    for reaction in [LOSE, KEEP] {
        let (mut net, a, b) = line(us(100));
        net.flow("f", a, 0, greedy(b, 1230, Time::ZERO));
        net.0.faults = vec![down(0, us(20), reaction), up(0, us(50))];
        let outcome = net.try_run_on_threads();
        // On the link at 20 us: the frames sent from 19 us and from 20 us (decided before the fault), and the one in
        // the NIC. From 20 us to 50 us no frame is sent.
        let sent = outcome.count("flows", "f", "frames_sent");
        assert!((70..75).contains(&sent), "{sent}");
        assert_eq!(lost(&outcome, "link_down"), if reaction.keep { 2 } else { 3 });
    }
}

/// Two switches with two links between them.
fn two_ways(reaction: Reaction) -> Net {
    let mut net = Net::new(us(200));
    let (a, b) = (net.host("a", host()), net.host("b", host()));
    let (s, t) = (net.switch("s", switch()), net.switch("t", switch()));
    net.link(a, s, gbps(10), us(1));
    net.link(t, b, gbps(10), us(1));
    net.link(s, t, gbps(10), us(1));
    net.link(s, t, gbps(10), us(1));
    net.flow("f", a, 0, greedy(b, 1230, Time::ZERO));
    net.0.faults = vec![down(2, us(50), reaction), up(2, us(150))];
    net
}

#[test]
fn rerouting_finds_the_parallel_link() {
    let lost_with = |reaction, link: u32| {
        let mut net = two_ways(reaction);
        for fault in &mut net.0.faults {
            match fault {
                FaultSpec::LinkDown { link: of, .. } | FaultSpec::LinkUp { link: of, .. } => *of = link,
                _ => {}
            }
        }
        let outcome = net.try_run_on_threads();
        assert_eq!(outcome.texts("faults", "where")[0], format!("s<->t[{}]", link - 2));
        lost(&outcome, "link_down")
    };
    let without: Vec<u64> = [2, 3].map(|link| lost_with(LOSE, link)).into();
    let with = [2, 3].map(|link| lost_with(Reaction { keep: false, reroute: Some(us(10)) }, link));
    // The flow takes one of the two links. Without rerouting it loses all frames for 100 us; with rerouting, those of
    // the 10 us of convergence, and those in flight.
    assert_eq!(without.iter().filter(|&&lost| lost == 0).count(), 1, "{without:?}");
    assert!(without.iter().any(|&lost| (98..106).contains(&lost)), "{without:?}");
    assert!(with.iter().any(|&lost| (10..18).contains(&lost)), "{with:?}");
    assert!(with.contains(&0), "{with:?}");
}

/// A leaf-spine with random faults.
fn random_net(rolls: &[u32], control: bool) -> Net {
    let mut at = 0;
    let mut roll = |below: u32| {
        at += 1;
        rolls[at % rolls.len()].wrapping_add(at as u32 * 7_919) % below
    };
    let duration = us(300);
    let mut net = Net::new(duration);
    net.0.seed = u64::from(roll(1_000));
    net.0.on_lossless_drop = OnLosslessDrop::Count;
    net.0.warmup = if roll(2) == 0 { Time::ZERO } else { us(100) };
    let flow_control = control.then(|| pfc_at(0xFF, 8, 3));
    let forwarding = if roll(2) == 0 { Forwarding::CutThrough } else { Forwarding::StoreAndForward };
    let weights = || vec![1, 2, 3, 4, 1, 2, 3, 4];
    let scheduler = match roll(3) {
        0 => SchedulerSpec::StrictPriority,
        1 => SchedulerSpec::Wfq(WfqParams {
            weights: weights().into(),
            ..WfqParams::by(AccountedLength::FRAME)
        }),
        _ => SchedulerSpec::Drr(DrrParams::weighted(weights(), AccountedLength::FRAME)),
    };
    let host_scheduler = scheduler.clone();
    let host = move || HostSpec { scheduler: host_scheduler.clone(), ..host() };
    let station = SwitchSpec {
        scheduler,
        forwarding,
        flow_control: flow_control.clone().map(Into::into),
        latency: ns(u64::from(roll(500))),
        ..switch()
    };
    let spines = [net.switch("spine0", station.clone()), net.switch("spine1", station.clone())];
    let mut hosts = vec![];
    for leaf in 0..3 {
        let sw = net.switch(&format!("leaf{leaf}"), station.clone());
        for spine in spines {
            net.link(sw, spine, gbps(10), ns(100 + u64::from(roll(2_000))));
        }
        for i in 0..2 {
            let receive = (roll(3) == 0).then(|| fabric::spec::ReceiveSpec {
                time_per_frame: ns(u64::from(roll(3_000))),
                rate: (roll(2) == 0).then(|| gbps(8)),
                buffer: Some(40_000),
                script: vec![
                    (us(u64::from(roll(100))), fabric::spec::CoreChange::Stop),
                    (
                        us(100 + u64::from(roll(100))),
                        fabric::spec::CoreChange::Start { time_per_frame: None, rate: Some(gbps(4)) },
                    ),
                ],
                ..fabric::spec::ReceiveSpec::default()
            });
            let h = net.host(
                &format!("h{leaf}{i}"),
                HostSpec { flow_control: flow_control.clone().map(Into::into), receive, ..host() },
            );
            net.link(h, sw, gbps(10), ns(100 + u64::from(roll(500))));
            hosts.push(h);
        }
    }
    for (i, &from) in hosts.iter().enumerate() {
        let to = hosts[(i + 1 + roll(5) as usize) % 6];
        let to = if to == from { hosts[(i + 1) % 6] } else { to };
        let source = if roll(2) == 0 {
            greedy(to, 64 + roll(1_400) as u16, us(u64::from(roll(50))))
        } else {
            paced(to, 700, 400, Time::ZERO, ns(800))
        };
        net.flow(&format!("f{i}"), from, roll(8) as u8, source);
    }
    let links = net.0.links.len() as u32;
    for _ in 0..6 {
        let (link, at) = (roll(links), us(u64::from(roll(250))));
        let reaction =
            Reaction { keep: roll(2) == 0, reroute: (roll(2) == 0).then(|| us(u64::from(roll(30)))) };
        let later = at + us(u64::from(1 + roll(50)));
        let more = match roll(7) {
            0 | 1 => vec![down(link, at, reaction), up(link, later)],
            2 => vec![FaultSpec::LinkRate {
                link,
                towards: None,
                at,
                rate: gbps([1, 25, 100][roll(3) as usize]),
            }],
            3 => vec![FaultSpec::BitErrors { link, from: at, until: later, rate: 1e-5 }],
            4 => vec![FaultSpec::PauseLoss { link, from: at, until: later, probability: 0.5 }],
            5 => vec![FaultSpec::Restart {
                node: NodeId(roll(2)),
                at,
                lasts: us(u64::from(1 + roll(40))),
                reroute: reaction.reroute,
            }],
            _ => vec![FaultSpec::Random {
                links: (0..links).collect(),
                mean_time_between: us(50),
                lasts: us(5),
                reaction,
            }],
        };
        net.0.faults.extend(more);
    }
    net
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(cases(48)))]
    #[test]
    fn whatever_goes_wrong_adds_up(rolls in prop::collection::vec(any::<u32>(), 48), control in any::<bool>()) {
        let net = random_net(&rolls, control);
        // The run itself checks conservation, on one thread and on several.
        let outcome = net.try_run_on_threads();
        prop_assert_eq!(&outcome.error, &None);
        // The run continues: a pause does not long outlive the loss of an XON, and no queue stops for good.
        prop_assert_eq!(net.run_in_steps(97).fingerprint, outcome.fingerprint);
    }
}

/// The maximum rate of the link behind a port between two times.
fn highest_rate(net: &Net, port: &str, from: Time, until: Time) -> f64 {
    let names: Vec<&str> = net.0.nodes.iter().map(|node| node.name.as_str()).collect();
    let (near, far) = port.split_once("->").expect("a port");
    let near = near.split_once('.').expect("a port").0;
    let ends = |link: &fabric::spec::LinkSpec| [link.a, link.b].map(|node| names[node.at()]);
    let link = net.0.links.iter().position(|link| ends(link) == [near, far] || ends(link) == [far, near]);
    let link = link.expect("a link");
    let mut highest = net.0.links[link].rates[0];
    let mut changes: Vec<(Time, BitRate)> = net
        .0
        .faults
        .iter()
        .filter_map(|fault| match fault {
            FaultSpec::LinkRate { link: of, at, rate, .. } if *of as usize == link => Some((*at, *rate)),
            _ => None,
        })
        .collect();
    changes.sort_by_key(|change| change.0);
    for (at, new) in changes {
        // A frame that starts at the time of the change may still use the old rate.
        if at < from {
            highest = new;
        } else if at < until {
            highest = highest.max(new);
        }
    }
    highest.bps() as f64
}

proptest! {
    #![proptest_config(ProptestConfig { max_shrink_iters: 50, ..ProptestConfig::with_cases(cases(64)) })]

    /// In no bin, however narrow, does a port send or receive more than its link carries, nor do flows deliver more to
    /// a host than its link carries; and no sent bit is missing.
    #[test]
    fn no_series_of_a_link_is_above_its_rate(
        rolls in prop::collection::vec(any::<u32>(), 48),
        control in any::<bool>(),
        bin in prop::sample::select(vec![10u64, 100, 777, 1_000, 25_000, 100_000]),
        threads in 1usize..4,
    ) {
        let mut net = random_net(&rolls, control);
        net.0.warmup = Time::ZERO;
        net.0.duration = us(150);
        net.0.probes.bin = Some(ns(bin));
        let outcome = net.run_on(threads, u64::MAX);
        prop_assert_eq!(&outcome.error, &None);
        let mut to_hosts: std::collections::BTreeMap<(String, u64), f64> = Default::default();
        let mut sent: std::collections::BTreeMap<String, f64> = Default::default();
        let [metrics, entities] = ["metric", "entity"].map(|column| outcome.texts("series", column));
        let [times, values] = ["time_ns", "value"].map(|column| outcome.reals("series", column));
        let ports = outcome.texts("ports", "port");
        for row in 0..values.len() {
            let (entity, from) = (&entities[row], exact(times[row]));
            let until = (from + ns(bin)).min(us(150));
            // A frame on the link when its rate changes completes at the old rate: 13 us at 1 Gb/s.
            let before = from.saturating_sub(us(20));
            let bits = values[row] * (until - from).as_secs_f64();
            match metrics[row].as_str() {
                "port_tx_bps" | "port_rx_bps" => {
                    // A bit counts in the bin in which it ends.
                    let most = (highest_rate(&net, entity, before, until) * (until - from).as_secs_f64()).ceil();
                    prop_assert!(bits <= most + 1e-6, "{} {}: {} bits at {}, {} fit", metrics[row], entity, bits, from, most);
                    if metrics[row] == "port_tx_bps" {
                        *sent.entry(entity.clone()).or_default() += bits;
                    }
                }
                "flow_throughput_bps" => {
                    let flow = net.0.flows.iter().find(|flow| flow.name == *entity).expect("a flow");
                    let workload::Destinations::Fixed(to) = flow.source.destinations else { panic!("one host") };
                    let at = net.0.nodes[to.at()].name.clone();
                    *to_hosts.entry((at, from.ps())).or_default() += bits;
                }
                _ => {}
            }
        }
        for ((host, from), bits) in to_hosts {
            let port = ports.iter().find(|port| port.starts_with(&format!("{host}."))).expect("a port");
            let (from, until) = (ps(from), (ps(from) + ns(bin)).min(us(150)));
            let rate = highest_rate(&net, port, from.saturating_sub(us(20)), until);
            // Each flow may end a bit in the bin that started before it.
            let most = (rate * (until - from).as_secs_f64()).ceil() + 5.0;
            prop_assert!(bits <= most, "{}: {} bits at {}, {} fit", host, bits, from, most);
        }
        for (port, bits) in sent {
            // All frames that have started, and the part of the last one that has been sent.
            let bytes = outcome.count("ports", &port, "bytes_sent") as f64;
            prop_assert!(bits <= bytes * 8.0 + 0.5 && bits >= (bytes - 1600.0) * 8.0, "{} {} {}", port, bits, bytes);
        }
    }
}

#[test]
fn a_port_with_fewer_queues_than_priorities_comes_back() {
    // The last port of all has no queues after its own.
    let mut net = Net::new(us(100));
    let shared = SwitchSpec { classes: ClassMap::SHARED, scheduler: SchedulerSpec::Fifo, ..switch() };
    let (a, b, sw) = (net.host("a", host()), net.host("b", host()), net.switch("sw", shared));
    net.link(a, sw, gbps(10), ns(100));
    net.link(b, sw, gbps(10), ns(100));
    net.flow("f", a, 0, burst(b, 1000, 3, us(50)));
    net.0.faults = vec![down(1, us(10), LOSE), up(1, us(20))];
    assert_eq!(net.run().delivered("f"), 3);
}

/// Frames that a greedy source left at one port when its path changed are not counted at the other: losing both does
/// not underflow.
#[test]
fn a_greedy_source_that_changes_its_link_and_loses_what_waits_goes_on() {
    let mut net = Net::new(us(60));
    let (a, b) = (net.host("a", host()), net.host("b", host()));
    let (s, t) = (net.switch("s", switch()), net.switch("t", switch()));
    for (end, other) in [(a, s), (a, t), (t, s), (s, b)] {
        net.link(end, other, gbps(10), ns(100));
    }
    net.flow("f", a, 0, greedy(b, 1000, Time::ZERO));
    let keep = Reaction { keep: true, reroute: Some(us(1)) };
    net.0.faults = vec![down(0, us(10), keep), up(0, us(20)), down(1, us(20) + ns(900), LOSE), up(1, us(30))];
    // All frames except those that were queued, in flight, or not sent meanwhile.
    assert!(net.run().delivered("f") > 60, "{}", net.run().delivered("f"));
}
