//! Multicast: copied frames arrive at all of their receivers, and the slowest receiver holds back the sender.

use crate::common::consistent::{check_tables, same};
use crate::common::credits::{by_turns, small_bmin, with_channels, with_credits};
use crate::common::*;
use fabric::Simulation;
use fabric::spec::{Forwarding, HostSpec, Queueing, ReceiveSpec, Role, SwitchSpec};
use flow_control::{ChannelList, CreditSpec};
use frame::{ClassMap, NodeId};
use proptest::prelude::*;
use queueing::{CrossbarKeys, Inputs};
use std::sync::Arc;
use units::Time;
use workload::{Destinations, SourceSpec};

/// Channel M0.
const MULTICAST: u8 = 16;

fn all(count: u64) -> CreditSpec {
    with_channels(count, &ChannelList::All)
}

fn to_all(source: SourceSpec, to: &[NodeId]) -> SourceSpec {
    SourceSpec { destinations: Destinations::Multicast(to.to_vec()), ..source }
}

fn crossbar(inputs: Inputs) -> Queueing {
    Queueing::Crossbar(CrossbarKeys { inputs, ..CrossbarKeys::default() })
}

/// Three hosts at one switch, and one behind a second: links of 10 Gb/s, 1 us, without overhead.
fn two_switches(own: SwitchSpec, micros: u64) -> (Net, Vec<NodeId>) {
    let mut net = Net::new(us(micros));
    let spec = HostSpec { classes: ClassMap::CHANNELS, scheduler: by_turns(), ..host() };
    let hosts: Vec<NodeId> = (0..4).map(|nth| net.host(&format!("h{nth}"), spec.clone())).collect();
    let own = SwitchSpec { classes: ClassMap::CHANNELS, scheduler: by_turns(), ..own };
    let switches = ["s0", "s1"].map(|name| net.switch(name, own.clone()));
    for (nth, &host) in hosts.iter().enumerate() {
        net.link(host, switches[nth / 3], gbps(10), us(1)).overhead = 0;
    }
    net.link(switches[0], switches[1], gbps(10), us(1)).overhead = 0;
    (net, hosts)
}

/// Sets a host's processing rate.
fn reads(net: &mut Net, host: NodeId, gigabits: u64) {
    if let Role::Host(host) = &mut net.0.nodes[host.at()].role {
        Arc::make_mut(host).receive =
            Some(ReceiveSpec { rate: Some(gbps(gigabits)), ..ReceiveSpec::default() });
    }
}

/// Minimum and maximum latency of each destination, in order.
fn latencies(outcome: &Outcome) -> Vec<[Time; 2]> {
    let of = |column| outcome.reals("paths", column).iter().map(|&ns| exact(ns));
    of("latency_min_ns").zip(of("latency_max_ns")).map(|(min, max)| [min, max]).collect()
}

#[test]
fn each_receiver_has_the_latency_of_its_own_path() {
    let (mut net, h) = two_switches(switch(), 100);
    net.flow("f", h[0], MULTICAST, to_all(one(h[1], 1_000, us(1)), &h[1..]));
    let outcome = with_credits(net, &all(160)).run();
    // 800 ns on each link, 1 us of cable: two links to h1 and h2, three to h3. Both switches copy immediately.
    assert_eq!(latencies(&outcome), [3_600, 3_600, 5_400].map(|at| [ns(at); 2]));
    assert_eq!(outcome.integers("paths", "frames_delivered"), [1, 1, 1]);
    let [sent, copied, delivered] = ["frames_sent", "frames_copied", "frames_delivered"]
        .map(|column| outcome.count("flows", "f", column));
    assert_eq!([sent, copied, delivered], [1, 2, 3]);
    // The shared link carries the frame once.
    assert_eq!(outcome.count("ports", "h0.0->s0", "frames_sent"), 1);
    assert_eq!(outcome.count("ports", "s0.3->s1", "frames_sent"), 1);
}

#[test]
fn a_switch_that_cuts_through_copies_the_head() {
    let own = SwitchSpec { forwarding: Forwarding::CutThrough, latency: ns(145), ..switch() };
    let run = |to: &dyn Fn(&[NodeId]) -> SourceSpec| {
        let (mut net, h) = two_switches(own.clone(), 100);
        net.flow("f", h[0], MULTICAST, to(&h));
        latencies(&with_credits(net, &all(160)).run())
    };
    let together = run(&|h| to_all(one(h[1], 1_000, us(1)), &h[1..]));
    let alone: Vec<_> = (1..4).flat_map(|nth| run(&|h: &[NodeId]| one(h[nth], 1_000, us(1)))).collect();
    assert_eq!(together, alone);
    // Three links of cable, the head at two switches, and the whole frame once.
    assert!(
        together[2][0] < ns(3_000 + 800 + 2 * 145 + 2 * 60) && together[2][0] > ns(3_000 + 800 + 2 * 145)
    );
}

#[test]
fn where_one_way_out_is_faster_all_copies_wait_for_the_whole_frame() {
    let own = SwitchSpec { forwarding: Forwarding::CutThrough, ..switch() };
    let (mut net, h) = two_switches(own, 100);
    net.0.links[2].rates = [gbps(40); 2];
    net.flow("f", h[0], MULTICAST, to_all(one(h[1], 1_000, us(1)), &h[1..3]));
    let outcome = with_credits(net, &all(160)).run();
    assert_eq!(latencies(&outcome), [3_600, 3_000].map(|at| [ns(at); 2]));
}

#[test]
fn copies_leave_the_input_of_a_crossbar_one_after_the_other() {
    for inputs in [Inputs::VirtualOutput, Inputs::Fifo] {
        let (mut net, h) = two_switches(SwitchSpec { queueing: crossbar(inputs), ..switch() }, 100);
        net.flow("f", h[0], MULTICAST, to_all(one(h[1], 1_500, us(1)), &h[1..3]));
        let outcome = with_credits(net, &all(160)).run();
        // 1.2 us on each link, 0.8 us to cross at 15 Gb/s: the second copy waits for the first.
        let mut found = latencies(&outcome);
        found.sort_unstable();
        assert_eq!(found, [5_200, 6_000].map(|at| [ns(at); 2]), "{inputs:?}");
    }
}

#[test]
fn the_slowest_receiver_holds_the_sender_and_the_others() {
    for queueing in [Queueing::Output, Queueing::VirtualOutput, crossbar(Inputs::VirtualOutput)] {
        let (mut net, h) = two_switches(SwitchSpec { queueing, ..switch() }, 4_000);
        reads(&mut net, h[2], 1);
        net.flow("f", h[0], MULTICAST, to_all(greedy(h[1], 1_000, us(0)), &h[1..]));
        // A frame takes 16 of 160 credits: ten frames at each end of a link.
        let outcome = with_credits(net, &all(160)).run();
        let delivered = outcome.integers("paths", "frames_delivered");
        // One frame every 8 us, the first after 3.6 us and 8 us of reading.
        assert_eq!(delivered[1], (4_000_000 - 3_600) / 8_000);
        // The others also receive those that still wait for h1: ten in its host, ten at the input of the switch; with a
        // crossbar also those in the buffer of the output.
        let ahead = delivered[0] - delivered[1];
        let output = if queueing == crossbar(Inputs::VirtualOutput) { OUTPUT_FRAMES } else { 0 };
        assert!((19 + output..=21 + output).contains(&ahead), "{queueing:?} {ahead}");
        assert!(delivered[2].abs_diff(delivered[0]) <= 2, "{delivered:?}");
        let sent = outcome.count("flows", "f", "frames_sent");
        assert!(sent - delivered[0] <= 14, "{sent}");
    }
}

/// Frames of 1,000 B in the buffer of an output, 8,704 B.
const OUTPUT_FRAMES: u64 = 8;

#[test]
fn what_cannot_be_copied_is_refused() {
    let refused = |change: &dyn Fn(&mut Net, &[NodeId]), words: &str| {
        let (mut net, h) = two_switches(switch(), 10);
        net.flow("f", h[0], MULTICAST, to_all(one(h[1], 1_000, us(1)), &h[1..]));
        net = with_credits(net, &all(160));
        change(&mut net, &h);
        let why = Simulation::new(&net.0).err().expect("refused").to_string();
        assert!(why.contains(words), "{why}");
    };
    refused(&|net, _| net.0.flows[0].priority.0 = 8, "on channel O0");
    refused(&|net, _| *net = with_none(net.clone()), "have no credits");
    refused(&|net, h| _ = net.link(h[0], NodeId(5), gbps(10), us(1)), "no host with one link");
    refused(&|net, _| net.0.flows[0].from = NodeId(4), "no host with one link");
    refused(
        &|net, _| {
            if let Role::Switch(own) = &mut net.0.nodes[5].role {
                Arc::make_mut(own).path_choice = fabric::choice::PathChoice::Spray;
            }
        },
        "path_choice at \"s1\"",
    );
}

/// Without credits.
fn with_none(mut net: Net) -> Net {
    for node in &mut net.0.nodes {
        match &mut node.role {
            Role::Host(host) => Arc::make_mut(host).flow_control = None,
            Role::Switch(switch) => Arc::make_mut(switch).flow_control = None,
        }
    }
    net
}

proptest! {
    #![proptest_config(ProptestConfig { cases: cases(32), ..ProptestConfig::default() })]

    /// For all multicast flows and their receivers, next to other flows: each frame arrives once at each receiver, in
    /// order; frames, credits and slots are conserved, in one case of four after each event; the number of threads has
    /// no effect.
    #[test]
    fn all_copies_arrive_in_order(
        room in 24u64..100, sizes in prop::collection::vec(64u16..1_522, 5), from in prop::collection::vec(0usize..4, 5),
        groups in prop::collection::vec(1u8..15, 5), cuts: bool, slow in prop::option::of(0usize..4), count in 1u64..40,
        queueing in prop::sample::select(vec![
            Queueing::Output, Queueing::VirtualOutput, crossbar(Inputs::VirtualOutput), crossbar(Inputs::Fifo),
        ]),
    ) {
        let (mut net, h) = small_bmin(queueing, 8_000);
        for node in &mut net.0.nodes {
            if let (Role::Switch(own), true) = (&mut node.role, cuts) {
                Arc::make_mut(own).forwarding = Forwarding::CutThrough;
            }
        }
        if let Some(slow) = slow {
            reads(&mut net, h[slow], 2);
        }
        let mut expected = Vec::new();
        for (nth, (&bytes, &from)) in sizes.iter().zip(&from).enumerate() {
            let others = (0..4).filter(|&to| to != from && groups[nth] >> to & 1 != 0);
            let mut to: Vec<NodeId> = others.map(|to| h[to]).collect();
            if to.is_empty() {
                to.push(h[(from + 1) % 4]);
            }
            let source = burst(to[0], bytes, count, us(nth as u64));
            // Two flows share a channel; a flow with a single receiver is not copied.
            let source = if to.len() > 1 { to_all(source, &to) } else { source };
            net.flow(&nth.to_string(), h[from], MULTICAST + nth as u8 % 4, source);
            expected.push(count * to.len() as u64);
        }
        let net = with_credits(net, &all(room));
        let alone = net.run();
        prop_assert_eq!(alone.integers("flows", "frames_delivered"), &expected[..]);
        let sent = alone.integers("flows", "frames_sent").iter().zip(alone.integers("flows", "frames_copied"));
        prop_assert_eq!(sent.map(|(sent, copied)| sent + copied).collect::<Vec<_>>(), expected);
        prop_assert!(alone.integers("paths", "frames_delivered").iter().all(|&frames| frames == count));
        prop_assert_eq!(alone.reals("flows", "frames_reordered"), vec![0.0; 5]);
        check_tables(&net.0, &alone)?;
        let steps = if room % 4 == 0 { 1 } else { 100 };
        for (threads, budget) in [(1, steps), (2, 5_000), (3, 5_000)] {
            same(&net.run_on(threads, budget), &alone)?;
        }
    }
}
