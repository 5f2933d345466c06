//! Queue managers and shared memories in a fabric, compared with calculations and with a few lines of straightforward
//! code.

use crate::common::{Net, Outcome, cases, exact, gbps, greedy, host, managed, ns, pfc, switch, us};
use fabric::spec::{FlowSpec, HostSpec, OnLosslessDrop, Role, SwitchSpec};
use flow_control::{PauseKind, PauseSpec};
use frame::{ClassMap, NodeId};
use proptest::prelude::*;
use queueing::{
    Action, Alpha, Counts, IdleExponent, ManagerSpec, Mode, Moment, RedParams, SamplingParams,
    SharedMemorySpec, Spacing, StepParams,
};
use scheduling::SchedulerSpec;
use std::sync::Arc;
use transport::{Application, ConnectionSpec, ControllerSpec, FixedWindowParams, WindowSpec};
use units::{Amount, Bytes, Time};

const SEGMENT: u16 = 1000;

fn window(frames: u64, ecn_capable: bool) -> Arc<ConnectionSpec> {
    Arc::new(ConnectionSpec {
        start: Time::ZERO,
        stop: None,
        application: Application::Window(WindowSpec {
            bytes: None,
            segment: SEGMENT,
            controller: ControllerSpec::FixedWindow(FixedWindowParams { size: Amount::Frames(frames) }),
            ack_bytes: 64,
            ack_every: 1,
            ack_delay: Time::ZERO,
            timeout: None,
            ecn_capable,
        }),
    })
}

/// A host on a 10 Gb/s link, a switch, and a host on a 1 Gb/s link.
fn bottleneck(spec: SwitchSpec, duration: Time) -> (Net, NodeId, NodeId, NodeId) {
    let mut net = Net::new(duration);
    let (a, b, sw) = (net.host("a", host()), net.host("b", host()), net.switch("sw", spec));
    net.link(a, sw, gbps(10), ns(100));
    net.link(sw, b, gbps(1), ns(100));
    (net, a, b, sw)
}

fn step(frames: u64, moment: Moment) -> ManagerSpec {
    ManagerSpec::Step(StepParams {
        threshold: Amount::Frames(frames),
        counts: Counts::WithoutFrame,
        at: moment,
        reference_rate: None,
    })
}

fn total(outcome: &Outcome, column: &str) -> u64 {
    outcome.total("queues", column)
}

#[test]
fn step_marking_frame_by_frame() {
    // A window of 20 segments arrives at ten times the rate at which the slow link sends. An arriving segment finds
    // those before it that have not started transmission. Once the loop has closed, a segment arrives whenever one
    // leaves, and finds the queue at its plateau.
    for threshold in [0u64, 1, 5, 12, 17, 18, 30] {
        let (mut net, a, b, _) = bottleneck(managed(step(threshold, Moment::Enqueue)), us(1000));
        net.flow("bulk", a, 0, greedy(b, SEGMENT, Time::ZERO)).transport = Some(window(20, true));
        let outcome = net.run();
        // A model of the queue in a few lines: arrivals and departures in picoseconds.
        let (fast, slow) = (816_000u64, 8_160_000u64);
        let back = (672_000 + 100_000) + (67_200 + 100_000);
        let mut sends: Vec<u64> = (0..20).map(|n| n * fast).collect();
        let (mut begins, mut marks, mut link_free): (Vec<u64>, u64, u64) = (vec![], 0, 0);
        let mut card_free = 20 * fast;
        for n in 0.. {
            let arrives = sends[n] + fast + 100_000;
            if arrives >= 1_000_000_000 {
                break;
            }
            let waiting = begins.iter().filter(|&&begins| begins > arrives).count() as u64;
            marks += u64::from(waiting > threshold);
            let begin = arrives.max(link_free);
            link_free = begin + slow;
            begins.push(begin);
            let acknowledged = link_free + 100_000 + back;
            let send = acknowledged.max(card_free);
            card_free = send + fast;
            sends.push(send);
        }
        assert_eq!(total(&outcome, "marks"), marks, "threshold {threshold}");
        // A raw frame, and a connection without ECN, are not marked.
        let (mut net, a, b, _) = bottleneck(managed(step(threshold, Moment::Enqueue)), us(500));
        net.flow("bulk", a, 0, greedy(b, SEGMENT, Time::ZERO)).transport = Some(window(20, false));
        net.flow("raw", a, 1, greedy(b, SEGMENT, Time::ZERO));
        assert_eq!(total(&net.run(), "marks"), 0);
    }
}

#[test]
fn a_message_takes_the_reverse_path_and_no_longer_also_under_pause() {
    // a - s0 - s1 - s2 - b, the last link slow: messages originate at s2 and pass s1 and s0.
    for paused in [false, true] {
        let manager = ManagerSpec::Sampling(SamplingParams { threshold: Amount::Frames(3), every: 1 });
        let control = paused.then(|| pfc(0b1).into());
        let spec = SwitchSpec { flow_control: control.clone(), ..switch() };
        let last = SwitchSpec { flow_control: control.clone(), ..managed(manager) };
        let mut net = Net::new(us(3000));
        let end = || HostSpec { flow_control: control.clone(), ..host() };
        let (a, b) = (net.host("a", end()), net.host("b", end()));
        let (s0, s1) = (net.switch("s0", spec.clone()), net.switch("s1", spec));
        let s2 = net.switch("s2", last);
        for (x, y) in [(a, s0), (s0, s1), (s1, s2)] {
            net.link(x, y, gbps(10), ns(700));
        }
        net.link(s2, b, gbps(1), ns(100));
        net.flow("bulk", a, 0, greedy(b, SEGMENT, Time::ZERO)).transport = Some(window(60, false));
        let outcome = net.run();
        let sent = outcome.total("queues", "messages");
        assert!(sent > 30, "{sent}");
        let arrived = outcome.count("connections", "bulk", "messages");
        assert!(sent - arrived <= 2, "{sent} sent, {arrived} arrived");
        // Three links of 84 B and 700 ns; acknowledgements of 84 B and pause frames may precede it on each, and no
        // other traffic goes in that direction.
        let alone = Time::from_ps(3 * (67_200 + 700_000));
        let of = |column| exact(outcome.real("connections", "bulk", column));
        assert_eq!(of("message_delay_min_ns"), alone, "paused: {paused}");
        assert!(of("message_delay_max_ns") <= alone + Time::from_ps(3 * 2 * 67_200));
        assert_eq!(paused, !outcome.pauses().is_empty(), "pauses stop data, not what comes back");
    }
}

#[test]
fn dynamic_thresholds_settle_where_theory_says() {
    let memory = 600_000u64;
    for alpha in [0.5, 1.0, 2.0, 8.0] {
        for busy in [1usize, 2, 4] {
            let shared = SharedMemorySpec {
                total: memory,
                alpha: Alpha::new(alpha).unwrap(),
                minimum: 0,
                headroom: 0,
                resume_offset: 0,
            };
            let mut net = Net::new(us(3000));
            net.0.on_lossless_drop = OnLosslessDrop::Count;
            let sw = net.switch("sw", SwitchSpec { shared_memory: Some(shared), ..switch() });
            for n in 0..busy {
                let (x, y) = (net.host(&format!("x{n}"), host()), net.host(&format!("y{n}"), host()));
                let to = net.host(&format!("to{n}"), host());
                net.attach(&[x, y, to], sw, gbps(10), ns(100));
                net.flow(&format!("f{n}"), x, 0, greedy(to, 1000, ns(7 * n as u64)));
                net.flow(&format!("g{n}"), y, 0, greedy(to, 1000, ns(3 + 5 * n as u64)));
            }
            let outcome = net.run();
            // Each busy queue holds alpha / (1 + n alpha) of the memory, except for frames that arrived before those of
            // the others.
            let share = memory as f64 * alpha / (1.0 + busy as f64 * alpha);
            let ports =
                outcome.texts("queues", "port").iter().zip(outcome.integers("queues", "queue_bytes_max"));
            let means = outcome.reals("queues", "queue_bytes_mean");
            for ((port, &most), &mean) in ports.zip(means).filter(|((port, _), _)| port.contains("->to")) {
                assert!(
                    (mean / share - 1.0).abs() < 0.08,
                    "alpha {alpha}, {busy} busy, {port}: {mean} for {share}"
                );
                assert!(most as f64 <= share * 1.25 + 1000.0, "{port}: {most}");
            }
            assert!(outcome.total("flows", "frames_dropped") > 100);
        }
    }
}

/// Three hosts on 10 Gb/s and a switch with a shared memory, for lossless frames of priority 3 (10 Gb/s from `a` and
/// `b` to `c`) and lossy ones of priority 0 (10 Gb/s from `b` and `c` to `a`). Messages to `a` are queued with the
/// latter.
fn full_memory(headroom: u64, manager: Option<ManagerSpec>) -> Net {
    let shared = SharedMemorySpec {
        total: 20_000 + headroom,
        alpha: Alpha::ONE,
        minimum: 0,
        headroom,
        resume_offset: 0,
    };
    let control = pfc(1 << 3);
    let mut net = Net::new(us(500));
    let sw = net.switch(
        "sw",
        SwitchSpec {
            classes: ClassMap::SHARED,
            scheduler: SchedulerSpec::Fifo,
            managers: vec![manager].into(),
            shared_memory: Some(shared),
            flow_control: Some(control.clone().into()),
            ..switch()
        },
    );
    let [a, b, c] = ["a", "b", "c"].map(|name| {
        let node = net.host(name, HostSpec { flow_control: Some(control.clone().into()), ..host() });
        net.link(node, sw, gbps(10), ns(100));
        node
    });
    for (name, from, to, priority) in [("ac", a, c, 3), ("bc", b, c, 3), ("ba", b, a, 0), ("ca", c, a, 0)] {
        net.flow(name, from, priority, greedy(to, SEGMENT, ns(u64::from(from.0))));
    }
    net
}

/// In a lossless class, dropping a frame that the switch originates also violates the guarantee.
#[test]
fn messages_that_a_full_switch_loses_are_violations_where_their_class_is_lossless() {
    let every = ManagerSpec::Sampling(SamplingParams { threshold: Amount::Frames(1), every: 1 });
    let mut net = full_memory(30_000, Some(every));
    let error = net.try_run().error.expect("a message of a lossless class is lost");
    assert!(error.contains("It came in through no port") && error.contains("64 B of priority 3"), "{error}");
    net.0.on_lossless_drop = fabric::spec::OnLosslessDrop::Count;
    let outcome = net.run();
    let flows = outcome.texts("drops", "flow").iter().zip(outcome.texts("drops", "part"));
    let counts = outcome.integers("drops", "frames").iter().zip(outcome.integers("drops", "bytes"));
    let lost: Vec<_> = flows.zip(counts).collect();
    let messages: Vec<_> = lost.iter().filter(|((flow, _), _)| flow.ends_with('c')).collect();
    // Of lossless flows, only messages (64 B) are lost, and each is a violation.
    assert!(!messages.is_empty(), "{lost:?}");
    for ((flow, part), (frames, bytes)) in &messages {
        assert!(**frames > 0 && **bytes == 64 * **frames, "{flow}: {bytes} B in {frames} frames");
        assert_eq!((part.as_str(), outcome.count("flows", flow, "frames_dropped")), ("beside", 0));
    }
    let all: u64 = messages.iter().map(|(_, (frames, _))| **frames).sum();
    assert_eq!(outcome.total("ports", "headroom_violations"), all);
}

#[test]
fn what_a_shared_memory_lacks_is_said_in_its_own_terms() {
    // A headroom of one frame: it is full when the second arrives.
    let error = full_memory(1_500, None).try_run().error.expect("1500 B are no headroom");
    for part in
        ["priority 3", "in through sw.", "(shared_memory) is 1500 B and 1000 B were in use; XOFF is at "]
    {
        assert!(error.contains(part), "{part} is not in: {error}");
    }
}

#[test]
fn minima_of_lossless_counters_are_part_of_the_memory() {
    // Eight lossless priorities arrive through one port and share one egress queue. Each has a minimum of 20 kB.
    for (kind, counters) in [(PauseKind::Priorities(0xFF), 8), (PauseKind::Link, 1)] {
        let (minimum, headroom) = (20_000, 50_000);
        let total = 2 * (1 + counters) * minimum + headroom + 10_000;
        let control = PauseSpec { kind, ..pfc(0xFF) };
        let memory = SharedMemorySpec {
            total,
            alpha: Alpha::new(1024.0).unwrap(),
            minimum,
            headroom,
            resume_offset: 0,
        };
        let spec = SwitchSpec {
            classes: ClassMap::SHARED,
            scheduler: SchedulerSpec::Fifo,
            shared_memory: Some(memory),
            flow_control: Some(control.clone().into()),
            ..switch()
        };
        let (mut net, a, b, _) = bottleneck(spec, us(1000));
        for node in &mut net.0.nodes {
            if let Role::Host(host) = &mut node.role {
                Arc::make_mut(host).flow_control = Some(control.clone().into());
            }
        }
        for priority in 0..8 {
            net.flow(&format!("f{priority}"), a, priority, greedy(b, SEGMENT, Time::ZERO));
        }
        let outcome = net.run();
        let most = outcome.count("ports", "sw.1->b", "queue_bytes_max");
        // The counters of the port use all of their minima, and nearly all shared memory.
        let own = counters * minimum;
        assert!((own..=own + headroom + 10_000).contains(&most), "{most} B of {total} B for {kind:?}");
    }
}

fn red(max_probability: f64) -> ManagerSpec {
    ManagerSpec::Red(RedParams {
        weight: 0.002,
        min: Amount::Frames(5),
        max: Amount::Frames(15),
        max_probability,
        gentle: true,
        mode: Mode::Frame,
        spacing: Spacing::Uniform,
        action: Action::Mark,
        counts: Counts::WithoutFrame,
        idle_exponent: IdleExponent::Elapsed,
        at: queueing::Moment::Enqueue,
        reference_rate: None,
        yellow: None,
        red: None,
        mark_above_max: true,
        mean_frame: units::Bytes::new(1000),
    })
}

#[test]
fn red_marks_what_understands_marks_and_drops_the_rest() {
    for ecn in [true, false] {
        let (mut net, a, b, _) = bottleneck(managed(red(0.1)), us(5000));
        net.flow("bulk", a, 1, greedy(b, SEGMENT, Time::ZERO)).transport = Some(window(20, ecn));
        net.flow("raw", a, 0, greedy(b, SEGMENT, Time::ZERO));
        let outcome = net.run();
        let (marks, drops) = (total(&outcome, "marks"), outcome.count("flows", "bulk", "frames_dropped"));
        assert_eq!((marks > 10, drops > 0), (ecn, !ecn), "{marks} marks, {drops} drops");
        assert!(outcome.count("flows", "raw", "frames_dropped") > 100, "raw frames are dropped early");
        assert!(outcome.texts("drops", "cause").iter().all(|cause| cause == "queue_manager"));
    }
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(cases(24)))]

    /// All managers, shared memories with lossless and lossy classes, connections and raw traffic: no lossless frame is
    /// lost while the headroom is sufficient, frames are conserved, and the number of threads has no effect.
    #[test]
    fn managers_and_memories_on_threads(
        which in 0usize..5,
        alpha in proptest::sample::select(vec![0.25, 1.0, 4.0]),
        total in 100_000u64..2_000_000,
        flows in proptest::collection::vec((0usize..5, 0usize..5, 0u8..3, 1u64..40), 1..9),
        link in any::<bool>(),
        seed in 0u64..1000,
    ) {
        let managers = [
            None,
            Some(red(0.05)),
            Some(step(7, Moment::Enqueue)),
            Some(step(7, Moment::Dequeue)),
            Some(ManagerSpec::Sampling(SamplingParams { threshold: Amount::Frames(4), every: 3 })),
        ];
        // Five ports with two lossless priorities: a link needs less than 10 kB above XOFF.
        let memory = SharedMemorySpec {
            total: total + 200_000,
            alpha: Alpha::new(alpha).unwrap(),
            minimum: 0,
            headroom: 200_000,
            resume_offset: 2_000,
        };
        let mut control = pfc(0b110);
        if link {
            control.kind = flow_control::PauseKind::Link;
        }
        let spec = SwitchSpec {
            flow_control: Some(control.clone().into()),
            shared_memory: Some(memory),
            // Only the lossy class has a manager: RED would drop lossless frames.
            managers: (0..8).map(|class| managers[which].filter(|_| class == 0 && !link)).collect::<Vec<_>>().into(),
            ..switch()
        };
        let mut net = Net::new(us(200));
        net.0.seed = seed;
        let (left, right) = (net.switch("left", spec.clone()), net.switch("right", spec));
        let end = || HostSpec { flow_control: Some(control.clone().into()), ..host() };
        let hosts: Vec<NodeId> = (0..5).map(|n| net.host(&format!("h{n}"), end())).collect();
        for (n, &node) in hosts.iter().enumerate() {
            net.link(node, if n < 3 { left } else { right }, gbps(10), ns(100));
        }
        net.link(left, right, gbps(10), ns(150));
        for (n, &(from, to, priority, size)) in flows.iter().enumerate() {
            let to = if to == from { (to + 1) % 5 } else { to };
            let flow: &mut FlowSpec =
                net.flow(&format!("f{n}"), hosts[from], priority, greedy(hosts[to], SEGMENT, ns(31 * n as u64)));
            if size % 2 == 0 {
                flow.transport = Some(window(size, size % 4 == 0));
            }
        }
        let one = net.run();
        let lossless_drops: u64 = (0..flows.len())
            .filter(|&n| link || flows[n].2 > 0)
            .map(|n| one.count("flows", &format!("f{n}"), "frames_dropped"))
            .sum();
        prop_assert_eq!(lossless_drops, 0);
        for other in [net.run_in_steps(501), net.run_on(2, 5_000), net.run_on(3, 700)] {
            prop_assert_eq!(one.fingerprint, other.fingerprint);
            prop_assert_eq!(one.integers("queues", "marks"), other.integers("queues", "marks"));
            prop_assert_eq!(one.integers("queues", "messages"), other.integers("queues", "messages"));
        }
    }
}

/// Three flows of equal rate and three colors at a port of a third of their rate: RED first drops the frames that are
/// not green.
#[test]
fn weighted_red_drops_by_the_color_of_the_flow() {
    use queueing::{Color, ColorKeys};
    let line = |min, max, p| ColorKeys {
        min: Some(Amount::Frames(min)),
        max: Some(Amount::Frames(max)),
        max_probability: Some(p),
        action: None,
    };
    let red = RedParams {
        min: Amount::Frames(60),
        max: Amount::Frames(90),
        yellow: Some(line(30, 60, 0.5)),
        red: Some(line(10, 30, 1.0)),
        ..RedParams::default()
    };
    let mut net = Net::new(us(20_000));
    let sw = net.switch("sw", managed(ManagerSpec::Red(red)));
    let hosts = ["a", "b", "c", "d"].map(|name| {
        let node = net.host(name, host());
        net.link(node, sw, gbps(10), ns(100));
        node
    });
    let colors = [("green", Color::Green), ("yellow", Color::Yellow), ("red", Color::Red)];
    for (from, (name, color)) in hosts.into_iter().zip(colors) {
        let flow = net.flow(
            name,
            from,
            3,
            crate::common::paced(hosts[3], 1_000, u32::MAX.into(), Time::ZERO, us(2)),
        );
        flow.color = color;
    }
    let outcome = net.run();
    let delivered = |flow: &str| outcome.count("flows", flow, "frames_delivered");
    // 12.2 Gb/s arrive for 10 Gb/s, of which 8.2 Gb/s are not red: only red frames are dropped.
    let sent = |flow: &str| outcome.count("flows", flow, "frames_sent");
    assert_eq!(outcome.count("flows", "green", "frames_dropped"), 0);
    assert!(outcome.count("flows", "yellow", "frames_dropped") < sent("yellow") / 50);
    let share = delivered("red") as f64 / sent("red") as f64;
    assert!((0.4..0.5).contains(&share), "{share}");
    net.assert_threads_agree(&outcome);
    // Without keys for colors, colors have no effect.
    let plain = |color: bool| {
        let mut net = net.clone();
        for node in &mut net.0.nodes {
            if let fabric::spec::Role::Switch(own) = &mut node.role {
                *own = std::sync::Arc::new(managed(ManagerSpec::Red(RedParams {
                    yellow: None,
                    red: None,
                    ..red
                })));
            }
        }
        net.0.flows.iter_mut().filter(|_| !color).for_each(|flow| flow.color = Color::Green);
        net.run().fingerprint
    };
    assert_eq!(plain(true), plain(false));
}

/// Two queues of 15 frames each are below the set point of 26 kB, and together above it.
#[test]
fn a_congestion_point_of_a_port_hears_of_all_its_queues() {
    use queueing::{CongestionPointParams, PointScope};
    let messages = |scope: PointScope| {
        let point = CongestionPointParams { sample_base: Bytes::new(3_000), scope, ..Default::default() };
        let manager = Some(ManagerSpec::CongestionPoint(point));
        let mut net = Net::new(us(500));
        let own = SwitchSpec {
            managers: vec![None, None, manager, manager, None, None, None, None].into(),
            ..switch()
        };
        let (a, b, c) = (net.host("a", host()), net.host("b", host()), net.host("c", host()));
        let sw = net.switch("sw", own);
        net.attach(&[a, b, c], sw, gbps(10), ns(100));
        // 16 frames of each priority are queued at once; those of the higher one are sent first.
        net.flow("low", a, 2, crate::common::burst(c, 1_000, 16, Time::ZERO));
        net.flow("high", b, 3, crate::common::burst(c, 1_000, 16, Time::ZERO));
        net.flow("first", sw, 7, crate::common::one(c, 16_000, Time::ZERO));
        let outcome = net.run();
        net.assert_threads_agree(&outcome);
        let sent = |class: u64| {
            let classes = outcome.integers("queues", "class").iter();
            let (names, counts) = (outcome.texts("queues", "port"), outcome.integers("queues", "messages"));
            let rows = classes.zip(names).zip(counts);
            rows.filter(|((of, name), _)| **of == class && name.as_str() == "sw.2->c")
                .map(|row| *row.1)
                .sum::<u64>()
        };
        (sent(2), sent(3))
    };
    let (low, high) = messages(PointScope::Queue);
    assert_eq!((low, high), (0, 0), "each queue stays below its set point");
    let (low, high) = messages(PointScope::Port);
    // One congestion point, which samples frames of both priorities.
    assert!(low + high > 0, "{low} {high}");
}
