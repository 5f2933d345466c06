//! Congestion notification domains: CN-TAGs on the wire, priorities at the edge, and LLDPDUs that change them.

use crate::common::*;
use fabric::spec::{ControlContent, Domain, FaultSpec, SwitchSpec};
use frame::{NodeId, Priority};
use queueing::{Choice, CnTlv, CongestionPointParams, ManagerSpec};
use units::{Bytes, Time};

const BIT: u8 = 1 << 3;

fn domain(defence: Choice) -> Option<Domain> {
    let becomes = std::array::from_fn(|old| Priority(if old == 3 { 2 } else { old as u8 }));
    Some(Domain { priorities: BIT, becomes, defence, at: Vec::new() })
}

/// h0 and h1 send 5 Gb/s each at priority 3 to h2 through a switch. `parts` are the domain configurations of h0, h1, h2
/// and the switch.
fn star(parts: [Option<Domain>; 4], managers: &[Option<ManagerSpec>]) -> Net {
    let mut net = Net::new(us(200));
    let hosts = [0, 1, 2].map(|n| net.host(&format!("h{n}"), host()));
    let sw = net.switch("sw", SwitchSpec { managers: managers.to_vec().into(), ..switch() });
    net.attach(&hosts, sw, gbps(10), ns(100));
    for (name, from) in [("f", hosts[0]), ("g", hosts[1])] {
        net.flow(name, from, 3, paced(hosts[2], 1_230, 80, Time::ZERO, us(2)));
    }
    net.0.domains = parts.into();
    net
}

/// Total bytes that a port has sent, and bytes by class.
fn sent(outcome: &Outcome, port: &str) -> (u64, Vec<u64>) {
    let queues = outcome.texts("queues", "port").iter().zip(outcome.integers("queues", "class"));
    let used = queues.filter(|(name, _)| *name == port).map(|(_, &class)| class).collect();
    (outcome.count("ports", port, "bytes_sent"), used)
}

#[test]
fn a_tag_is_four_bytes_on_the_wire_and_nothing_to_the_flow() {
    let outcome = star([1; 4].map(|_| domain(Choice::Auto)), &[]).run();
    assert_eq!(outcome.delivered("f"), 80);
    // 80 frames of 1,230 B, each with a CN-TAG.
    for port in ["h0.0->sw", "h1.0->sw"] {
        assert_eq!(sent(&outcome, port).0, 80 * 1_234, "{port}");
    }
    assert_eq!(sent(&outcome, "sw.2->h2").0, 160 * 1_234);
    assert_eq!(outcome.count("flows", "f", "bytes_delivered"), 80 * 1_230);
}

#[test]
fn what_comes_from_outside_has_another_priority_and_no_tag() {
    let own = || domain(Choice::Auto);
    // h0 has no domain, so its port is an edge.
    let outcome = star([None, own(), own(), own()], &[]).run();
    assert_eq!(
        (sent(&outcome, "h0.0->sw"), sent(&outcome, "h1.0->sw").0),
        ((80 * 1_230, vec![3]), 80 * 1_234)
    );
    assert_eq!(sent(&outcome, "sw.2->h2"), (80 * 1_230 + 80 * 1_234, vec![2, 3]));
    // Without a domain at the switch, hosts add no tags either.
    let outcome = star([own(), own(), own(), None], &[]).run();
    assert_eq!(sent(&outcome, "sw.2->h2"), (160 * 1_230, vec![3]));
    let defences = outcome.texts("congestion_domains", "defence");
    assert!(defences.len() == 3 && defences.iter().all(|defence| defence == "edge"), "{defences:?}");
}

#[test]
fn a_neighbour_that_says_so_changes_both_ends_of_its_link() {
    let mut net = star([None, domain(Choice::Auto), domain(Choice::Auto), domain(Choice::Auto)], &[]);
    let content = |at, controlled, ready| FaultSpec::ControlFrame {
        link: 0,
        towards: NodeId(3),
        at,
        content: ControlContent::Domain(CnTlv { controlled, ready }),
    };
    net.0.faults = vec![content(us(50), BIT, 0), content(us(100), 0, 0)];
    let outcome = net.run();
    assert_eq!(sent(&outcome, "sw.2->h2").1, [2, 3]);
    net.assert_threads_agree(&outcome);
    let alone = |port: &str| outcome.count("ports", port, "frames_sent");
    assert_eq!(alone("h0.0->sw"), 80);
    // Stations without a domain ignore it.
    net.0.domains = Vec::new();
    assert_eq!(sent(&net.run(), "sw.2->h2").1, [3]);
}

#[test]
fn only_frames_with_a_tag_are_answered_if_that_is_wanted() {
    let point = |answer_untagged| {
        let params = CongestionPointParams {
            set_point: Bytes::new(1_000),
            sample_base: Bytes::new(10_000),
            answer_untagged,
            header_length: Bytes::new(64),
            ..CongestionPointParams::default()
        };
        vec![Some(ManagerSpec::CongestionPoint(params)); 8]
    };
    let messages = |answer_untagged| {
        let own = || domain(Choice::Auto);
        let mut net = star([None, own(), own(), own()], &point(answer_untagged));
        // Both send at the rate of the link.
        for flow in &mut net.0.flows {
            flow.source = greedy(NodeId(2), 1_230, Time::ZERO);
        }
        let outcome = net.run();
        net.assert_threads_agree(&outcome);
        ["sw.0->h0", "sw.1->h1"].map(|port| sent(&outcome, port).0)
    };
    let [outside, inside] = messages(false);
    // 18 B of headers, a CN-TAG, 24 B and 64 B of the frame, 4 B of FCS.
    assert!(outside == 0 && inside > 0 && inside.is_multiple_of(114), "{outside} {inside}");
    let [outside, inside] = messages(true);
    assert!(outside > 0 && outside.is_multiple_of(110) && inside > 0, "{outside} {inside}");
}
