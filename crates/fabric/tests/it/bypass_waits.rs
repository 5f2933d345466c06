//! Waits of bypass queues that ordered frames pass: durations, causes and victims, compared with calculations and a log
//! of frames.

use crate::common::credits::{with_channels, with_credits};
use crate::common::*;
use fabric::spec::{Queueing, ReceiveSpec, Role, SwitchSpec, Watched};
use fabric::{Simulation, State};
use flow_control::{ChannelKey, ChannelList, CreditSpec};
use frame::NodeId;
use queueing::{CrossbarKeys, Inputs, Room};
use std::sync::Arc;
use units::Time;
use workload::SourceSpec;

/// `count` credits of one channel, for all priorities.
fn one(count: u64, name: &str) -> CreditSpec {
    with_channels(count, &ChannelList::Each(vec![ChannelKey::Name(name.to_string()); 8]))
}

fn link(net: &mut Net, a: NodeId, b: NodeId) {
    net.link(a, b, gbps(10), ns(100)).overhead = 0;
}

fn forever(source: SourceSpec) -> SourceSpec {
    SourceSpec { limit: None, ..source }
}

fn reads_slowly(net: &mut Net, host: NodeId) {
    if let Role::Host(host) = &mut net.0.nodes[host.at()].role {
        Arc::make_mut(host).receive = Some(ReceiveSpec { rate: Some(gbps(1)), ..ReceiveSpec::default() });
    }
}

/// All results of a run in steps, as text.
fn summary(net: &Net, threads: usize, budget: u64) -> String {
    let mut simulation = Simulation::on_threads(&net.0, threads).expect("builds");
    while simulation.advance(budget).expect("no guarantee is violated") == State::Running {}
    format!("{:x} {:?}", simulation.fingerprint(), simulation.tables())
}

fn same_on_threads(net: &Net) -> Outcome {
    let once = summary(net, 1, u64::MAX);
    for (threads, budget) in [(1, 97), (2, 1_000), (3, 100_000)] {
        assert_eq!(summary(net, threads, budget), once, "{threads} threads");
    }
    // Recording has no effect on frames.
    let mut unseen = Net(net.0.clone());
    unseen.0.probes.pauses = false;
    let outcome = net.run();
    assert_eq!(unseen.run().fingerprint, outcome.fingerprint);
    outcome
}

/// Reason, start and end of the waits of a port, in picoseconds.
fn waits<'a>(outcome: &'a Outcome, port: &str) -> Vec<(&'a str, u64, u64)> {
    let reasons = outcome.texts("pauses", "reason");
    let rows = outcome.pauses().into_iter().zip(reasons).filter(|(pause, _)| pause.port == port);
    rows.map(|(pause, reason)| (reason.as_str(), pause.start.ps(), pause.end.ps())).collect()
}

/// Flows in the first tree: name, part, time held back in picoseconds, and place.
fn parts(outcome: &Outcome) -> Vec<(&str, &str, u64, &str)> {
    let text = |column, row: usize| outcome.texts("congestion_flows", column)[row].as_str();
    let held = |row: usize| exact(outcome.reals("congestion_flows", "paused_ns")[row]).ps();
    (0..outcome.table("congestion_flows").rows())
        .filter(|&row| outcome.integers("congestion_flows", "tree")[row] == 1)
        .map(|row| (text("flow", row), text("part", row), held(row), text("paused_at", row)))
        .collect()
}

fn shares_add_up(outcome: &Outcome) {
    let (trees, shares) =
        (outcome.integers("congestion_flows", "tree"), outcome.reals("congestion_flows", "share"));
    let of_first = trees.iter().zip(shares).filter(|(tree, _)| **tree == 1).map(|(_, share)| share);
    assert!((of_first.sum::<f64>() - 1.0).abs() < 1e-12);
}

#[test]
fn a_bypass_queue_waits_while_what_passes_it_is_sent_and_then_its_class() {
    // There is space for one frame: a read leaves at 1 us, and the next has to wait for 4.8 us. A write arrives
    // meanwhile, and passes it from 1.8 us to 2.6 us. From then on no frame may leave.
    let mut net = Net::new(us(50));
    let (a, b) = (net.host("a", host()), net.host("b", host()));
    net.link(a, b, gbps(10), us(2)).overhead = 0;
    net.flow("reads", a, 0, burst(b, 1_000, 2, us(1))).bypassable = true;
    net.flow("write", a, 0, burst(b, 1_000, 1, us(1) + ns(1)));
    let outcome = same_on_threads(&with_credits(net, &one(16, "B0")));
    let [passed, alone] = [("bypass_credits", 1_800_000, 2_600_000), ("credits", 2_600_000, 5_800_000)];
    assert_eq!(waits(&outcome, "a.0->b"), [passed, alone]);
    // Both waits form one edge, and the credits are in transit.
    assert_eq!(outcome.texts("congestion", "why"), ["round_trip"]);
    assert_eq!(outcome.integers("congestion", "pauses"), [2]);
    assert_eq!(parts(&outcome), [("reads", "upstream", 4_000_000, "a.0->b")]);
}

/// h - sw - slow and quick. h has reads of both, of which the first fill the bypass queue of the channel, and writes to
/// quick all the time.
fn starved_beside_writes(queueing: Queueing) -> Net {
    let mut net = Net::new(us(600));
    let sw = net.switch("sw", SwitchSpec { queueing, ..switch() });
    let [h, slow, quick] = ["h", "slow", "quick"].map(|name| net.host(name, host()));
    [h, slow, quick].iter().for_each(|&host| link(&mut net, host, sw));
    reads_slowly(&mut net, slow);
    net.flow("reads", h, 3, burst(slow, 1_024, 30, Time::ZERO)).bypassable = true;
    net.flow("other reads", h, 3, burst(quick, 1_024, 15, Time::ZERO)).bypassable = true;
    net.flow("writes", h, 3, greedy(quick, 1_024, ns(100)));
    net.0.probes.chosen = Some(vec![everything(Watched::Frames), everything(Watched::Pauses)]);
    with_credits(net, &one(64, "B0"))
}

/// Start times of transmission of these flows' frames through a port, by the frame log, each with its flow.
fn sent<'a>(outcome: &'a Outcome, port: &str, flows: &[&str]) -> Vec<(u64, &'a str)> {
    let text = |column, row: usize| outcome.texts("frames", column)[row].as_str();
    (0..outcome.table("frames").rows())
        .filter(|&row| text("event", row) == "sent" && text("port", row) == port)
        .map(|row| (outcome.integers("frames", "time_ps")[row], text("flow", row)))
        .filter(|(_, flow)| flows.contains(flow))
        .collect()
}

#[test]
fn waits_of_a_bypass_queue_are_those_that_a_log_of_frames_shows() {
    let outcome = same_on_threads(&starved_beside_writes(Queueing::Output));
    let reads = ["reads", "other reads"];
    let sends = sent(&outcome, "h.0->sw", &reads);
    let mut gone: Vec<u64> = ["sw.1->slow", "sw.2->quick"]
        .iter()
        .flat_map(|port| sent(&outcome, port, &reads))
        .map(|one| one.0)
        .collect();
    gone.sort_unstable();
    assert_eq!((sends.len(), gone.len()), (45, 45));
    // There is space for four frames. The next one could leave when the previous one has left the link, but needs
    // credits, which the fourth frame before it returns when it starts to leave the switch.
    let [takes, cable] = [819_200, 100_000];
    let expected: Vec<(usize, u64, u64)> = (4..sends.len())
        .map(|nth| (nth, sends[nth - 1].0 + takes, gone[nth - 4] + cable))
        .filter(|(_, free, credits)| credits > free)
        .collect();
    assert!(expected.len() > 20, "{}", expected.len());
    let log: Vec<_> = expected.iter().map(|&(_, start, end)| ("bypass_credits", start, end)).collect();
    assert_eq!(waits(&outcome, "h.0->sw"), log, "writes are never blocked");
    // Each flow is held back for as long as its frames are queued there.
    let held = |flow: &str| {
        let last = sends.iter().rposition(|one| one.1 == flow).expect("it sends");
        expected.iter().filter(|wait| wait.0 <= last).map(|wait| wait.2 - wait.1).sum::<u64>()
    };
    let parts = parts(&outcome);
    assert_eq!(
        parts.iter().map(|part| (part.0, part.1)).collect::<Vec<_>>(),
        [("reads", "culprit"), ("other reads", "victim")]
    );
    assert!(parts[1].2 > us(100).ps() && parts[1].3 == "h.0->sw", "{parts:?}");
    // One of its waits was for credits in transit, which is another tree.
    let flows =
        outcome.texts("congestion_flows", "flow").iter().zip(outcome.reals("congestion_flows", "paused_ns"));
    let waited: u64 = flows.filter(|one| one.0 == "other reads").map(|one| exact(*one.1).ps()).sum();
    assert_eq!(waited, held("other reads"));
    shares_add_up(&outcome);
}

#[test]
fn behind_queues_of_any_kind_who_is_passed_is_a_victim_and_who_passes_is_not() {
    let bar = |inputs, room| Queueing::Crossbar(CrossbarKeys { inputs, room, ..CrossbarKeys::default() });
    let kinds = [
        Queueing::Output,
        Queueing::VirtualOutput,
        bar(Inputs::VirtualOutput, Room::Longest),
        bar(Inputs::VirtualOutput, Room::Frame),
        bar(Inputs::Fifo, Room::Longest),
    ];
    for queueing in kinds {
        // h0 and h1 - s0 - s1 - slow and quick: both switches send writes next to frames that wait for the slow host.
        let mut net = Net::new(us(400));
        let [s0, s1] = ["s0", "s1"].map(|name| net.switch(name, SwitchSpec { queueing, ..switch() }));
        let [h0, h1, slow, quick] = ["h0", "h1", "slow", "quick"].map(|name| net.host(name, host()));
        for (a, b) in [(s0, s1), (h0, s0), (h1, s0), (slow, s1), (quick, s1)] {
            link(&mut net, a, b);
        }
        reads_slowly(&mut net, slow);
        net.flow("reads", h0, 3, greedy(slow, 1_024, Time::ZERO)).bypassable = true;
        net.flow("other reads", h1, 3, forever(paced(quick, 1_024, 1, us(5), us(10)))).bypassable = true;
        // Four fifths of the link: together the flows send no more than it carries.
        net.flow("writes", h1, 3, forever(paced(quick, 1_024, 1, ns(100), ns(1_024))));
        let outcome = same_on_threads(&with_credits(net, &one(64, "B0")));
        let parts: Vec<_> = parts(&outcome).iter().map(|part| (part.0, part.1)).collect();
        assert_eq!(parts, [("reads", "culprit"), ("other reads", "victim")], "{queueing:?}");
        shares_add_up(&outcome);
        // From the slow host, over the queue in front of it, which only reads fill, to the bypass queue that writes
        // pass.
        let edges: Vec<_> = (0..outcome.table("congestion").rows())
            .filter(|&row| outcome.integers("congestion", "tree")[row] == 1)
            .map(|row| {
                (
                    outcome.integers("congestion", "depth")[row],
                    outcome.texts("congestion", "port")[row].as_str(),
                )
            })
            .collect();
        assert_eq!(edges[..3], [(1, "s1.1->slow"), (2, "s0.0->s1"), (3, "h0.0->s0")], "{queueing:?}");
        let passed = |port: &str| {
            let own = waits(&outcome, port);
            let lasted = |&&(_, start, end): &&(&str, u64, u64)| end - start;
            let of =
                |reason| own.iter().filter(|wait| wait.0 == reason).map(|wait| lasted(&wait)).sum::<u64>();
            (of("bypass_credits"), of("credits"))
        };
        let (bypass, class) = passed("s0.0->s1");
        assert!(bypass > us(240).ps() && 8 * class < bypass, "{queueing:?}: {bypass} {class}");
        assert_eq!(passed("s1.1->slow").0, 0, "only reads go to the slow host");
        assert_eq!(passed("h0.0->s0").0, 0, "h0 sends only reads");
    }
}

#[test]
fn no_bypass_queue_waits_where_none_lacks_credits() {
    // With space for all frames.
    let mut net = starved_beside_writes(Queueing::Output);
    net = with_credits(net, &one(64 * 16, "B0"));
    let outcome = same_on_threads(&net);
    assert!(!outcome.texts("pauses", "reason").iter().any(|reason| reason == "bypass_credits"));
    // Ordered frames that lack credits are not passed by any frame: their class waits.
    let mut net = starved_beside_writes(Queueing::Output);
    net.0.flows.iter_mut().for_each(|flow| flow.bypassable = !flow.bypassable);
    net.0.flows[2].source = burst(NodeId(3), 1_024, 1, ns(100));
    let outcome = same_on_threads(&net);
    assert!(!waits(&outcome, "h.0->sw").is_empty());
    assert!(outcome.texts("pauses", "reason").iter().all(|reason| reason == "credits"));
    // In a channel without a bypass queue, there are no such waits either.
    let outcome = same_on_threads(&with_credits(starved_beside_writes(Queueing::Output), &one(64, "O0")));
    assert!(outcome.texts("pauses", "reason").iter().all(|reason| reason == "credits"));
}
