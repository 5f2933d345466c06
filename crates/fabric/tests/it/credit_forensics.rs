//! Waits for credits and their causes: fabrics with known answers, and a brute-force count over a log.

use crate::common::credits::{credits, with_channels, with_credits};
use crate::common::*;
use fabric::spec::{Forwarding, OnDeadlock, Queueing, ReceiveSpec, Role, SwitchSpec, Way};
use fabric::{Simulation, State};
use flow_control::{ChannelKey, ChannelList, CreditSpec};
use frame::{ClassMap, NodeId};
use queueing::{CrossbarKeys, Inputs};
use std::sync::Arc;
use units::{Bytes, Time};
use workload::SourceSpec;

/// A buffer for this many frames of 1024 B, with an update for each.
fn frames(frames: u64) -> CreditSpec {
    credits(frames * 16)
}

fn link(net: &mut Net, a: NodeId, b: NodeId) {
    net.link(a, b, gbps(10), ns(100)).overhead = 0;
}

fn read_slowly(net: &mut Net, host: NodeId, rate: u64) {
    if let Role::Host(host) = &mut net.0.nodes[host.at()].role {
        Arc::make_mut(host).receive = Some(ReceiveSpec { rate: Some(gbps(rate)), ..ReceiveSpec::default() });
    }
}

fn forever(source: SourceSpec) -> SourceSpec {
    SourceSpec { limit: None, ..source }
}

/// All results of a run on several threads and in steps, as text.
fn everything(net: &Net, threads: usize, budget: u64) -> String {
    let mut simulation = Simulation::on_threads(&net.0, threads).expect("builds");
    while simulation.advance(budget).expect("no guarantee is violated") == State::Running {}
    format!("{:x} {} {:?}", simulation.fingerprint(), simulation.now(), simulation.tables())
}

fn same_on_threads(net: &Net) -> Outcome {
    let once = everything(net, 1, u64::MAX);
    for (threads, budget) in [(1, 97), (2, 1_000), (3, 100_000)] {
        assert_eq!(everything(net, threads, budget), once, "{threads} threads");
    }
    net.run()
}

/// Tree, depth, reason, queue and port of each edge.
fn edges(outcome: &Outcome) -> Vec<(u64, u64, &str, &str, &str)> {
    let text = |column, row: usize| outcome.texts("congestion", column)[row].as_str();
    let number = |column, row: usize| outcome.integers("congestion", column)[row];
    (0..outcome.table("congestion").rows())
        .map(|row| {
            (
                number("tree", row),
                number("depth", row),
                text("why", row),
                text("queue", row),
                text("port", row),
            )
        })
        .collect()
}

/// Flow and part in the first tree.
fn parts(outcome: &Outcome) -> Vec<(&str, &str)> {
    let text = |column, row: usize| outcome.texts("congestion_flows", column)[row].as_str();
    (0..outcome.table("congestion_flows").rows())
        .filter(|&row| outcome.integers("congestion_flows", "tree")[row] == 1)
        .map(|row| (text("flow", row), text("part", row)))
        .collect()
}

/// h0 and h1 - s0 - s1 - slow and quick. "to slow" goes from h0 to a host that reads a tenth of its link rate, "victim"
/// from h1 to the other one, and both share the channel between the switches.
fn behind_two_hops(spec: &SwitchSpec) -> Net {
    let mut net = Net::new(us(400));
    let [s0, s1] = ["s0", "s1"].map(|name| net.switch(name, spec.clone()));
    let [h0, h1, slow, quick] = ["h0", "h1", "slow", "quick"].map(|name| net.host(name, host()));
    for (a, b) in [(s0, s1), (h0, s0), (h1, s0), (slow, s1), (quick, s1)] {
        link(&mut net, a, b);
    }
    read_slowly(&mut net, slow, 1);
    net.flow("to slow", h0, 3, greedy(slow, 1024, Time::ZERO));
    net.flow("victim", h1, 3, forever(paced(quick, 1024, 1, Time::ZERO, us(5))));
    with_credits(net, &frames(4))
}

#[test]
fn a_slow_receiver_behind_two_hops_is_the_root() {
    for forwarding in [Forwarding::StoreAndForward, Forwarding::CutThrough] {
        let outcome = same_on_threads(&behind_two_hops(&SwitchSpec { forwarding, ..switch() }));
        let tree: Vec<_> = edges(&outcome).into_iter().filter(|edge| edge.0 == 1).collect();
        assert_eq!(
            tree.iter().map(|&(_, depth, why, queue, port)| (depth, why, queue, port)).collect::<Vec<_>>(),
            [
                (1, "slow_receiver", "", "s1.1->slow"),
                (2, "slow_receiver", "s1.1->slow/3", "s0.0->s1"),
                (3, "slow_receiver", "s0.0->s1/3", "h0.0->s0"),
                (3, "slow_receiver", "s0.0->s1/3", "h1.0->s0"),
            ]
        );
        assert_eq!(outcome.texts("congestion", "root")[0], "s1.1->slow/3");
        assert_eq!(parts(&outcome), [("to slow", "culprit"), ("victim", "victim")]);
        // For nine tenths of the time, the port in front of the slow host has to wait, apart from the time to fill its
        // buffer.
        let waited = outcome.reals("congestion", "paused_ns")[0];
        assert!((350_000.0..364_000.0).contains(&waited), "{waited}");
    }
}

#[test]
fn the_same_behind_crossbars() {
    for inputs in [Inputs::VirtualOutput, Inputs::Fifo] {
        let keys = CrossbarKeys { inputs, ..CrossbarKeys::default() };
        let outcome =
            same_on_threads(&behind_two_hops(&SwitchSpec { queueing: Queueing::Crossbar(keys), ..switch() }));
        let tree: Vec<_> =
            edges(&outcome).into_iter().filter(|edge| edge.0 == 1).map(|edge| edge.4).collect();
        assert_eq!(tree, ["s1.1->slow", "s0.0->s1", "h0.0->s0", "h1.0->s0"], "{inputs:?}");
        assert_eq!(outcome.texts("congestion", "why")[0], "slow_receiver");
        assert_eq!(parts(&outcome), [("to slow", "culprit"), ("victim", "victim")]);
    }
}

/// In one channel: reads of h0 from a host that reads a tenth of its link rate, reads from the other one, and `writes`
/// to that.
fn reads_and_writes(name: &str, writes: SourceSpec) -> Net {
    let mut net = Net::new(us(400));
    let sw = net.switch("sw", switch());
    let [h, slow, quick] = ["h", "slow", "quick"].map(|name| net.host(name, host()));
    [h, slow, quick].iter().for_each(|&host| link(&mut net, host, sw));
    read_slowly(&mut net, slow, 1);
    net.flow("reads", h, 3, greedy(slow, 1024, Time::ZERO)).bypassable = true;
    net.flow("other reads", h, 3, forever(paced(quick, 1024, 1, Time::ZERO, us(5)))).bypassable = true;
    net.flow("writes", h, 3, writes);
    let list = ChannelList::Each(vec![ChannelKey::Name(name.to_string()); 8]);
    with_credits(net, &with_channels(64, &list))
}

#[test]
fn what_waits_in_a_bypass_queue_is_put_down_to_what_fills_it() {
    let writes = || forever(paced(NodeId(3), 1024, 1, us(2), us(7)));
    let known =
        [(1, 1, "slow_receiver", "", "sw.1->slow"), (1, 2, "slow_receiver", "sw.1->slow/3", "h.0->sw")];
    let waits = |outcome: &Outcome| {
        let tree: Vec<_> = edges(outcome).into_iter().filter(|edge| edge.0 == 1).collect();
        assert_eq!(tree, known);
        assert_eq!(outcome.texts("congestion", "root")[0], "sw.1->slow/3");
        let mut parts: Vec<_> = parts(outcome).iter().map(|&(flow, part)| format!("{part} {flow}")).collect();
        parts.sort_unstable();
        parts
    };
    let bypassed = same_on_threads(&reads_and_writes("B0", writes()));
    assert_eq!(waits(&bypassed), ["culprit reads", "victim other reads"], "writes pass");
    // In an ordered channel, the writes are held back as well.
    let ordered = same_on_threads(&reads_and_writes("O0", writes()));
    assert_eq!(waits(&ordered), ["culprit reads", "victim other reads", "victim writes"]);
    assert!(5 * bypassed.latency("writes").1.ps() < ordered.latency("writes").1.ps());
}

#[test]
fn two_channels_of_one_link_have_each_their_own_culprit() {
    // One switch, two hosts that read slowly: each channel of the link from h waits for a different reason.
    let mut net = Net::new(us(400));
    let sw = net.switch("sw", switch());
    let [h, x, y] = ["h", "x", "y"].map(|name| net.host(name, host()));
    [h, x, y].iter().for_each(|&host| link(&mut net, host, sw));
    read_slowly(&mut net, x, 1);
    read_slowly(&mut net, y, 2);
    net.flow("to x", h, 1, greedy(x, 1024, Time::ZERO));
    net.flow("to y", h, 6, greedy(y, 1024, Time::ZERO));
    let outcome = same_on_threads(&with_credits(net, &frames(4)));
    let rows: Vec<(&str, u64, &str)> = (0..outcome.table("congestion").rows())
        .map(|row| {
            let text = |column| outcome.texts("congestion", column)[row].as_str();
            (text("root"), outcome.integers("congestion", "priority")[row], text("port"))
        })
        .collect();
    assert_eq!(
        rows,
        [
            ("sw.1->x/1", 1, "sw.1->x"),
            ("sw.1->x/1", 1, "h.0->sw"),
            ("sw.2->y/6", 6, "sw.2->y"),
            ("sw.2->y/6", 6, "h.0->sw"),
        ]
    );
    let counters: std::collections::BTreeSet<_> = outcome.texts("pauses", "counter").iter().collect();
    assert!(counters.contains(&"sw.0->h in/1".to_string()) && counters.contains(&"sw.0->h in/6".to_string()));
}

#[test]
fn shared_channels_and_classes_blame_the_channel() {
    // All priorities in one channel and one class: a flow to another host is a victim, regardless of its priority.
    let spec = CreditSpec { channels: ClassMap::SHARED, ..frames(4) };
    for classes in [ClassMap::SHARED, ClassMap::SEPARATE] {
        let mut net = Net::new(us(400));
        let sw = net.switch("sw", SwitchSpec { classes, ..switch() });
        let [h, x, y] = ["h", "x", "y"].map(|name| net.host(name, host()));
        [h, x, y].iter().for_each(|&host| link(&mut net, host, sw));
        read_slowly(&mut net, x, 1);
        net.flow("to x", h, 1, greedy(x, 1024, Time::ZERO));
        net.flow("to y", h, 6, forever(paced(y, 1024, 1, Time::ZERO, us(5))));
        let outcome = same_on_threads(&with_credits(net, &spec));
        assert_eq!(outcome.texts("congestion", "why")[0], "slow_receiver");
        assert_eq!(parts(&outcome), [("to x", "culprit"), ("to y", "victim")], "{classes:?}");
    }
}

#[test]
fn an_oversubscribed_link_is_the_root_of_what_waits_before_it() {
    let mut net = Net::new(us(300));
    let sw = net.switch("sw", switch());
    let [a, b, sink] = ["a", "b", "sink"].map(|name| net.host(name, host()));
    [a, b, sink].iter().for_each(|&host| link(&mut net, host, sw));
    net.flow("a", a, 0, greedy(sink, 1024, Time::ZERO));
    net.flow("b", b, 0, greedy(sink, 512, Time::ZERO));
    let outcome = same_on_threads(&with_credits(net, &frames(4)));
    // A wait that starts just before the end has no cause yet.
    let counts = outcome.integers("congestion", "pauses");
    assert!(counts[0] > 100 && counts[1] > 100 && counts[2..].iter().sum::<u64>() <= 1, "{counts:?}");
    assert_eq!(
        edges(&outcome)[..2],
        [
            (1, 1, "oversubscribed", "sw.2->sink/0", "a.0->sw"),
            (1, 1, "oversubscribed", "sw.2->sink/0", "b.0->sw")
        ]
    );
    assert!(parts(&outcome).iter().all(|part| part.1 == "culprit"));
}

#[test]
fn too_few_credits_for_a_round_trip_are_nobody_elses_fault() {
    let run = |room| {
        let mut net = Net::new(us(100));
        let (a, b) = (net.host("a", host()), net.host("b", host()));
        net.link(a, b, gbps(10), us(1)).overhead = 0;
        net.flow("f", a, 0, greedy(b, 1024, Time::ZERO));
        same_on_threads(&with_credits(net, &frames(room)))
    };
    // 819.2 ns on the link and 2 us of cable: four frames fill the round trip.
    let short = run(2);
    assert_eq!(edges(&short), [(1, 1, "round_trip", "", "a.0->b")]);
    // Two frames leave at once. The link then waits for 2819.2 - 2 * 819.2 ns in each round.
    let pauses = short.pauses();
    assert!(pauses[1..pauses.len() - 1].iter().all(|pause| pause.end - pause.start == ps(1_180_800)));
    assert_eq!(run(4).table("pauses").rows(), 0);
}

/// Three frames appear at each switch of a ring of three, all two links clockwise, and there is space for one.
/// `forensics` has the same case with pauses.
fn three_around(queueing: Queueing) -> Net {
    let mut net = Net::new(us(350));
    let spec = SwitchSpec { queueing, ..switch() };
    let switches: Vec<NodeId> = (0..3).map(|nth| net.switch(&format!("s{nth}"), spec.clone())).collect();
    let hosts: Vec<NodeId> = (0..3).map(|nth| net.host(&format!("h{nth}"), host())).collect();
    for nth in 0..3 {
        link(&mut net, switches[nth], switches[(nth + 1) % 3]);
    }
    for nth in 0..3 {
        link(&mut net, hosts[nth], switches[nth]);
    }
    for nth in 0..3 {
        let (next, last) = ((nth + 1) % 3, (nth + 2) % 3);
        let route = vec![switches[next], switches[last], hosts[last]];
        net.flow(&format!("f{nth}"), switches[nth], 3, burst(hosts[last], 1024, 3, Time::ZERO)).way =
            Way::Along(route);
    }
    net.0.guards.on_deadlock = OnDeadlock::Count;
    with_credits(net, &frames(1))
}

#[test]
fn a_circle_that_is_run_all_the_same_closes_at_the_exact_time_and_is_named() {
    let outcome = same_on_threads(&three_around(Queueing::Output));
    // The second frame of each switch has to wait from 819.2 ns on: the first one has arrived at the next switch,
    // behind the second one there.
    assert_eq!(outcome.reals("deadlocks", "closed_ns"), [819.2; 3]);
    assert_eq!(outcome.texts("deadlocks", "port"), ["s0.0->s1", "s1.1->s2", "s2.1->s0"]);
    assert_eq!(outcome.texts("deadlocks", "waits_for"), ["s1.1->s2", "s2.1->s0", "s0.0->s1"]);
    assert_eq!(outcome.integers("deadlocks", "counted_frames"), [1; 3]);
    assert_eq!(outcome.total("flows", "frames_delivered"), 0);
    let mut refused = three_around(Queueing::Output);
    refused.0.guards.on_deadlock = OnDeadlock::Stop;
    assert!(Simulation::new(&refused.0).is_err());
}

#[test]
fn a_circle_of_inputs_behind_crossbars_is_named_too() {
    // The two frames that are left at each switch fill its output, so the third waits at the next input.
    let keys = CrossbarKeys { output_buffer: Bytes::new(2 * 1024), ..CrossbarKeys::default() };
    let outcome = same_on_threads(&three_around(Queueing::Crossbar(keys)));
    assert_eq!(outcome.texts("deadlocks", "port"), ["s0.0->s1", "s1.1->s2", "s2.1->s0"]);
    assert_eq!(outcome.integers("deadlocks", "counted_frames"), [1; 3]);
    // With space for one more, the frame crosses, and its credits are returned.
    let roomy = CrossbarKeys { output_buffer: Bytes::new(3 * 1024), ..CrossbarKeys::default() };
    let outcome = same_on_threads(&three_around(Queueing::Crossbar(roomy)));
    assert_eq!(outcome.table("deadlocks").rows(), 0);
    assert_eq!(outcome.total("flows", "frames_delivered"), 9);
}

/// Compares values of `congestion` with a count over the log of frames: h sends to a host that reads a quarter of its
/// link rate. The buffer for four frames at the switch is full while four of them are between its two ports.
#[test]
fn waits_are_those_that_a_log_of_frames_shows() {
    let mut net = Net::new(us(200));
    let sw = net.switch("sw", switch());
    let [h, x] = ["h", "x"].map(|name| net.host(name, host()));
    [h, x].iter().for_each(|&host| link(&mut net, host, sw));
    if let Role::Host(host) = &mut net.0.nodes[x.at()].role {
        let receive =
            ReceiveSpec { rate: Some(units::BitRate::from_bps(2_500_000_000)), ..ReceiveSpec::default() };
        Arc::make_mut(host).receive = Some(receive);
    }
    net.flow("f", h, 0, greedy(x, 1024, Time::ZERO));
    let outcome = same_on_threads(&with_credits(net, &frames(4)));
    // A frame takes 819.2 ns on a link, 100 ns of cable and 3276.8 ns at the reader, which frees its buffer at the end.
    let [takes, cable, reads] = [819_200u64, 100_000, 3_276_800];
    let (mut sent, mut left, mut read): (Vec<u64>, Vec<u64>, Vec<u64>) = (vec![], vec![], vec![]);
    let mut waits = [vec![], vec![]];
    for nth in 0..100usize {
        let mut begins = |port: usize, link: u64, back: Option<u64>| {
            let at = link.max(back.map_or(0, |back| back + cable));
            if at > link {
                waits[port].push((link, at));
            }
            at
        };
        // h always has a frame. Its space at the switch is free again when the frame starts to leave the switch.
        let free = sent.last().map_or(0, |last| last + takes);
        sent.push(begins(0, free, nth.checked_sub(4).map(|before| left[before])));
        let comes = sent[nth] + takes + cable;
        let free = left.last().map_or(0, |last| last + takes).max(comes);
        left.push(begins(1, free, nth.checked_sub(4).map(|before| read[before])));
        read.push(left[nth] + takes + cable + reads);
        let idle = nth.checked_sub(1).map_or(0, |before| read[before]);
        read[nth] = read[nth].max(idle + reads);
    }
    for (port, of) in [("h.0->sw", 0), ("sw.1->x", 1)] {
        let recorded: Vec<(u64, u64)> = outcome
            .pauses()
            .iter()
            .filter(|pause| pause.port == port && pause.end < us(199))
            .map(|pause| (pause.start.ps(), pause.end.ps()))
            .collect();
        assert!(recorded.len() > 30, "{}", recorded.len());
        assert_eq!(recorded, waits[of][..recorded.len()], "{port}");
    }
}
