//! Channels with a bypass queue: which frames pass which, and the deadlock that bypassing avoids.

use crate::common::credits::{ring, with_channels, with_credits};
use crate::common::*;
use fabric::Simulation;
use fabric::spec::{Forwarding, OnDeadlock, Queueing, ReceiveSpec, Role, SwitchSpec, Watched};
use flow_control::{ChannelKey, ChannelList, CreditSpec};
use frame::NodeId;
use proptest::prelude::*;
use queueing::{CrossbarKeys, Inputs, Room};
use scheduling::{AccountedLength, DrrParams, SchedulerSpec};
use std::sync::Arc;
use units::Time;

/// `count` credits for channels with these names, one per priority.
fn named(count: u64, names: [&str; 8]) -> CreditSpec {
    let list = ChannelList::Each(names.map(|name| ChannelKey::Name(name.to_string())).to_vec());
    with_channels(count, &list)
}

/// All priorities in one channel.
fn one(count: u64, name: &str) -> CreditSpec {
    named(count, [name; 8])
}

/// Queues at outputs, virtual output queues, and inputs of crossbars of both kinds with both rules for output space.
fn queueings() -> Vec<Queueing> {
    let bar = |inputs, room| Queueing::Crossbar(CrossbarKeys { inputs, room, ..CrossbarKeys::default() });
    vec![
        Queueing::Output,
        Queueing::VirtualOutput,
        bar(Inputs::VirtualOutput, Room::Longest),
        bar(Inputs::VirtualOutput, Room::Frame),
        bar(Inputs::Fifo, Room::Longest),
    ]
}

fn reads_slowly(net: &mut Net, host: NodeId) {
    if let Role::Host(host) = &mut net.0.nodes[host.at()].role {
        Arc::make_mut(host).receive = Some(ReceiveSpec { rate: Some(gbps(1)), ..ReceiveSpec::default() });
    }
}

#[test]
fn a_frame_without_credits_is_passed_at_once() {
    // Each queue has credits for one frame. Two reads, followed by a write; an update takes effect after 4.8 us.
    let latency = |name| {
        let mut net = Net::new(us(50));
        let (a, b) = (net.host("a", host()), net.host("b", host()));
        net.link(a, b, gbps(10), us(2)).overhead = 0;
        net.flow("reads", a, 0, burst(b, 1_000, 2, us(1))).bypassable = true;
        net.flow("write", a, 0, burst(b, 1_000, 1, us(1) + ns(1)));
        let outcome = with_credits(net, &one(16, name)).run_on_threads();
        ["latency_min_ns", "latency_max_ns"].map(|column| {
            let all = outcome.reals("flows", column);
            (exact(all[0]), exact(all[1]))
        })
    };
    let ([first, last], [ordered_first, ordered_last]) = (latency("B0"), latency("O0"));
    assert_eq!((first.0, last.0), (ns(2_800), ns(4_800 + 2_800)), "reads");
    // The write, one nanosecond later, waits for the first read to leave.
    assert_eq!((first.1, last.1), (ns(800 - 1 + 2_800), ns(800 - 1 + 2_800)));
    assert_eq!((ordered_first.0, ordered_last.0), (ns(2_800), ns(4_800 + 2_800)));
    assert_eq!(ordered_last.1, ns(9_600 - 1 + 2_800), "behind both, one round trip each");
}

#[test]
fn a_frame_whose_credits_come_while_another_leaves_goes_next() {
    // The credits of the second read are returned at 5.8 us, while the first of two writes is sent, from 5.6 to 6 us.
    let mut net = Net::new(us(50));
    let (a, b) = (net.host("a", host()), net.host("b", host()));
    net.link(a, b, gbps(10), us(2)).overhead = 0;
    net.flow("reads", a, 0, burst(b, 1_000, 2, us(1))).bypassable = true;
    net.flow("writes", a, 0, burst(b, 500, 2, us(5) + ns(600)));
    let outcome = with_credits(net, &one(16, "B0")).run_on_threads();
    let latest = outcome.reals("flows", "latency_max_ns");
    assert_eq!(exact(latest[0]), us(6) + ns(2_800) - us(1), "it leaves at 6 us");
    assert_eq!(exact(latest[1]), ns(400 + 800 + 400) + us(2), "the second write is behind it");
}

/// h0 reads from h2, which processes 1 Gb/s, and `writer` writes to h3 at the same priority. Returns the rate of both
/// in Gb/s.
fn read_and_write(
    name: &str,
    scheduler: &SchedulerSpec,
    spec: &SwitchSpec,
    hops: usize,
    writer: usize,
) -> [f64; 2] {
    let mut net = Net::new(us(2_200));
    // By then, the buffers that reads can fill are full.
    net.0.warmup = us(200);
    let host = || fabric::spec::HostSpec { scheduler: scheduler.clone(), ..host() };
    let h: Vec<NodeId> = (0..4).map(|nth| net.host(&format!("h{nth}"), host())).collect();
    let spec = || SwitchSpec { scheduler: scheduler.clone(), ..spec.clone() };
    let sw: Vec<NodeId> = (0..hops).map(|nth| net.switch(&format!("s{nth}"), spec())).collect();
    let mut link = |a, b| net.link(a, b, gbps(10), us(1)).overhead = 0;
    h.iter().zip([0, 0, hops - 1, hops - 1]).for_each(|(&host, at)| link(host, sw[at]));
    sw.windows(2).for_each(|pair| link(pair[0], pair[1]));
    reads_slowly(&mut net, h[2]);
    net.flow("reads", h[0], 1, greedy(h[2], 600, Time::ZERO)).bypassable = true;
    net.flow("writes", h[writer], 1, greedy(h[3], 1_000, Time::ZERO));
    let outcome = with_credits(net, &one(160, name)).run_on_threads();
    assert_eq!(outcome.reals("flows", "frames_reordered"), [0.0, 0.0]);
    let frames = outcome.integers("flows", "frames_delivered");
    [frames[0] as f64 * 600.0, frames[1] as f64 * 1_000.0].map(|bytes| bytes / 250_000.0)
}

#[test]
fn what_may_not_go_does_not_stop_what_may() {
    for scheduler in
        [SchedulerSpec::StrictPriority, SchedulerSpec::Drr(DrrParams::by(AccountedLength::FRAME))]
    {
        for queueing in queueings() {
            let spec = SwitchSpec { queueing, ..switch() };
            // Another writer enters through another port, and meets the reads after the first switch.
            for (hops, writer) in [(1, 0), (2, 0), (2, 1)] {
                let case = format!("{queueing:?}, {hops}, {writer}");
                let [reads, writes] = read_and_write("B7", &scheduler, &spec, hops, writer);
                assert!(
                    (reads - 1.0).abs() < 0.05 && (writes - 9.0).abs() < 0.15,
                    "{case}: {reads} {writes}"
                );
                let [reads, writes] = read_and_write("O7", &scheduler, &spec, hops, writer);
                assert!((reads - 1.0).abs() < 0.05 && writes < 2.5, "{case}: {reads} {writes}");
            }
        }
    }
}

/// A ring in which the frames of the last flow may be bypassed.
fn ring_with_bypass(name: &str, queueing: &Queueing) -> Net {
    let mut net = ring(us(1_000));
    net.0.flows[2].bypassable = true;
    for node in &mut net.0.nodes {
        if let Role::Switch(switch) = &mut node.role {
            Arc::make_mut(switch).queueing = *queueing;
        }
    }
    with_credits(net, &one(48, name))
}

#[test]
fn reads_that_may_be_passed_close_no_circle() {
    // Writes of two flows never wait for reads of the third, as PCI's ordering rules require, so no cycle is closed.
    for queueing in queueings() {
        reads_close_no_circle(&queueing);
    }
}

fn reads_close_no_circle(queueing: &Queueing) {
    let error = Simulation::new(&ring_with_bypass("O0", queueing).0).err().expect("a circle").to_string();
    assert!(error.contains("s0.0->s1/2 waits for s1.1->s2/2 waits for s2.1->s0/2"), "{error}");
    let mut deadlocked = ring_with_bypass("O0", queueing);
    deadlocked.0.guards.on_deadlock = OnDeadlock::Count;
    let outcome = deadlocked.run();
    assert_eq!(outcome.table("deadlocks").rows(), 3, "the circle closes");
    let stuck: u64 = outcome.integers("flows", "frames_delivered").iter().sum();
    let passed = ring_with_bypass("B0", queueing).run_on_threads();
    let frames = passed.integers("flows", "frames_delivered");
    assert!(frames.iter().all(|&frames| frames > 200), "{frames:?}");
    assert!(stuck < frames.iter().sum::<u64>() / 2, "{stuck}");
    assert_eq!(passed.table("deadlocks").rows(), 0);
}

#[test]
fn bypassable_frames_alone_can_close_a_circle() {
    let mut net = ring_with_bypass("B0", &Queueing::Output);
    net.0.flows.iter_mut().for_each(|flow| flow.bypassable = true);
    let error = Simulation::new(&net.0).err().expect("a circle").to_string();
    assert!(error.contains("s0.0->s1/2 (bypass) waits for s1.1->s2/2 (bypass)"), "{error}");
    net.0.guards.on_deadlock = OnDeadlock::Count;
    assert_eq!(net.run().table("deadlocks").rows(), 3);
}

/// Checks that a bypass queue waits only while its class does not, and that none of its frames leaves while it waits.
/// `bypassed`: by flow number, true if its frames may be bypassed.
fn waits_exclude_each_other(outcome: &Outcome, bypassed: &[bool]) {
    let reasons = outcome.texts("pauses", "reason");
    let rows: Vec<_> = outcome.pauses().into_iter().zip(reasons).collect();
    let flows = outcome.texts("frames", "flow").iter().map(|flow| flow.parse::<usize>().expect("a number"));
    let times = outcome.integers("frames", "time_ps").iter().zip(outcome.integers("frames", "priority"));
    let ports = outcome.texts("frames", "port").iter().zip(outcome.texts("frames", "event"));
    let frames: Vec<_> =
        flows.zip(times.zip(ports)).filter(|one| bypassed[one.0] && one.1.1.1 == "sent").collect();
    for (wait, reason) in &rows {
        let together =
            |other: &Pause| (&other.port, other.priority) == (&wait.port, wait.priority) && other != wait;
        let overlaps = |other: &Pause| other.start < wait.end && wait.start < other.end;
        assert!(!rows.iter().any(|(other, _)| together(other) && overlaps(other)), "{wait:?} {reason}");
        if *reason == "bypass_credits" {
            let (start, end) = (wait.start.ps(), wait.end.ps());
            let left = frames.iter().find(|(_, ((time, priority), (port, _)))| {
                (*port, **priority) == (&wait.port, u64::from(wait.priority)) && (start..end).contains(time)
            });
            assert!(left.is_none(), "{wait:?}: {left:?}");
        }
    }
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 40, ..ProptestConfig::default() })]

    /// For all bypassed channels: credits are conserved, all frames arrive, and frames of a flow do not pass each
    /// other.
    #[test]
    fn nothing_is_lost_and_flows_keep_their_order(
        room in 24u64..100, after in 1u32..24, within in 0u64..3_000, update_bytes in prop::sample::select(vec![0u16, 84]),
        carried in prop::option::of(0u16..100), sizes in prop::collection::vec(64u16..1_522, 6), bypassable: [bool; 6],
        priorities: [bool; 6], slow in 0usize..3, queueing in prop::sample::select(queueings()), cuts_through: bool,
    ) {
        let mut net = Net::new(us(4_000));
        let h: Vec<NodeId> = (0..6).map(|nth| net.host(&format!("h{nth}"), host())).collect();
        let forwarding = if cuts_through { Forwarding::CutThrough } else { Forwarding::StoreAndForward };
        let spec = SwitchSpec { queueing, forwarding, ..switch() };
        let (left, right) = (net.switch("left", spec.clone()), net.switch("right", spec));
        net.link(left, right, gbps(10), us(1));
        for (nth, &host) in h.iter().enumerate() {
            net.link(host, if nth < 3 { left } else { right }, gbps(10), us(1));
        }
        reads_slowly(&mut net, h[3 + slow]);
        for (nth, &bytes) in sizes.iter().enumerate() {
            let (from, to) = (h[nth % 3], h[3 + (nth / 2) % 3]);
            let priority = u8::from(priorities[nth]);
            net.flow(&nth.to_string(), from, priority, burst(to, bytes, 40, us(nth as u64))).bypassable = bypassable[nth];
        }
        let names = ["B1", "B1", "O2", "O2", "B0", "B0", "O0", "O0"];
        let spec = CreditSpec {
            update_after: after, update_within: ns(within), update_bytes, piggyback: carried, ..named(room, names)
        };
        net.0.probes.chosen = Some(vec![everything(Watched::Frames), everything(Watched::Pauses)]);
        let outcome = with_credits(net, &spec).run_on_threads();
        let passed = bypassable.map(|may| may && !matches!(queueing, Queueing::VirtualOutput));
        waits_exclude_each_other(&outcome, &passed);
        prop_assert_eq!(outcome.integers("flows", "frames_delivered"), vec![40; 6]);
        prop_assert_eq!(outcome.reals("flows", "frames_reordered"), vec![0.0; 6]);
    }
}
