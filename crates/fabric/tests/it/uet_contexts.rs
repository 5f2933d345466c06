//! Several packet delivery contexts between two hosts: assignment of messages, separate paths, and every control on
//! threads.

use crate::common::consistent::{check_tables, same};
use crate::common::*;
use crate::uet::{PACKET, keys, none, transfers, wire};
use fabric::spec::SwitchSpec;
use frame::NodeId;
use proptest::prelude::*;
use std::collections::BTreeMap;
use transport::{EqdsKeys, NdpKeys, NsccKeys, PathSelectionKeys, RcccKeys, UetControlKeys, UetKeys};
use units::{Amount, Bytes, Or, Time};

/// `senders` hosts at a leaf, each with these transfers (start, bytes) to the last host, which is at another leaf
/// behind `spines` switches.
fn over_spines(senders: usize, spines: usize, keys: &UetKeys, sw: &SwitchSpec, rows: &[(Time, u64)]) -> Net {
    let mut net = Net::new(us(400_000));
    let hosts: Vec<NodeId> = (0..=senders).map(|n| net.host(&format!("h{n}"), host())).collect();
    let [near, far] = ["near", "far"].map(|name| net.switch(name, sw.clone()));
    for (n, &end) in hosts.iter().enumerate() {
        net.link(end, if n == senders { far } else { near }, gbps(10), us(1));
    }
    for n in 0..spines {
        let spine = net.switch(&format!("spine{n}"), sw.clone());
        net.link(near, spine, gbps(10), us(1));
        net.link(spine, far, gbps(10), us(1));
    }
    let rows: Vec<(Time, u32, u64)> = rows.iter().map(|&(start, bytes)| (start, 0, bytes)).collect();
    for &from in &hosts[..senders] {
        transfers(&mut net, from, &[hosts[senders]], keys, &rows);
    }
    net
}

#[test]
fn messages_take_contexts_in_turn() {
    // Packets of two contexts leave in turn, so a short message does not wait for the long one before it.
    let rows = [(us(3), 30_000), (us(3), 1_000), (us(3), 1_000), (us(3), 2_000)];
    let ends = |contexts: u64| {
        let outcome = over_spines(1, 1, &UetKeys { contexts, ..keys(none()) }, &marking(50), &rows).run();
        let ends: Vec<Time> =
            outcome.reals("transfers", "completion_ns").iter().map(|&ns| exact(ns)).collect();
        (ends, outcome)
    };
    let hop = us(1) * 4 + wire(PACKET) * 3;
    let (one, outcome) = ends(1);
    assert_eq!(one, [30, 31, 32, 34].map(|packets| wire(PACKET) * packets + hop));
    assert_eq!(outcome.integers("delivery_contexts", "messages"), [4]);
    // The second context has messages of one packet and of two, the first one messages of 30 packets and of one.
    let (two, outcome) = ends(2);
    assert_eq!(two, [33, 2, 34, 6].map(|packets| wire(PACKET) * packets + hop));
    assert_eq!(outcome.integers("delivery_contexts", "context"), [0, 1]);
    assert_eq!(outcome.integers("delivery_contexts", "messages"), [2, 2]);
    assert_eq!(outcome.integers("delivery_contexts", "packets_delivered"), [31, 3]);
}

#[test]
fn contexts_with_one_path_each_use_several_links() {
    let rows: Vec<(Time, u64)> = (0..16).map(|_| (us(3), 100_000)).collect();
    let links = |contexts: u64, paths: PathSelectionKeys| {
        let keys = UetKeys { contexts, paths, ..keys(none()) };
        let outcome = over_spines(1, 4, &keys, &marking(50), &rows).run();
        assert_eq!(outcome.integers("delivery_contexts", "messages"), vec![16 / contexts; contexts as usize]);
        let ports = outcome.texts("queues", "port").iter().zip(outcome.integers("queues", "frames"));
        let mut used: BTreeMap<String, u64> = BTreeMap::new();
        for (port, frames) in ports.filter(|(port, _)| port.starts_with("near") && port.contains("->spine")) {
            *used.entry(port.clone()).or_default() += frames;
        }
        used.values().filter(|&&frames| frames > 0).copied().collect::<Vec<u64>>()
    };
    // Contexts as a whole share the links: 100 packets each, and 400.
    let several = links(16, PathSelectionKeys::Fixed);
    assert!(several.len() >= 3 && several.iter().all(|frames| frames % 100 == 0), "{several:?}");
    let few = links(4, PathSelectionKeys::Fixed);
    assert!(few.len() >= 2 && few.iter().all(|frames| frames % 400 == 0), "{few:?}");
    let sprayed = links(4, PathSelectionKeys::RandomSpray(Default::default()));
    assert!(sprayed.len() == 4 && sprayed.iter().any(|frames| frames % 100 > 0), "{sprayed:?}");
}

/// Every congestion control, by number.
fn control(number: usize) -> UetControlKeys {
    match number {
        0 => none(),
        1 => UetControlKeys::Nscc(NsccKeys::default()),
        2 => UetControlKeys::Rccc(RcccKeys::default()),
        3 => UetControlKeys::Rccc(RcccKeys { nscc: Some(NsccKeys::default()), ..RcccKeys::default() }),
        4 => UetControlKeys::Eqds(EqdsKeys::default()),
        _ => UetControlKeys::Ndp(NdpKeys::default()),
    }
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(cases(24)))]

    /// Any number of contexts with any control, even with frame losses: each message arrives once, and the number of
    /// threads has no effect.
    #[test]
    fn every_control_on_threads(
        which in 0usize..6,
        contexts in 1u64..6,
        sprays in any::<bool>(),
        bounded in any::<bool>(),
        senders in 1usize..4,
        rows in prop::collection::vec((0u64..300, 1u64..60_000), 1..9),
    ) {
        let paths = if sprays { PathSelectionKeys::RandomSpray(Default::default()) } else { PathSelectionKeys::Fixed };
        let keys = UetKeys {
            contexts, paths, retries: 255, timeout: Or::Value(us(2_000)),
            ack_every: Or::Value(Bytes::new(4_000)), ..keys(control(which))
        };
        let mut sw = marking(20);
        if bounded {
            sw.buffer.queue = Some(Amount::Frames(60));
        }
        let mut rows: Vec<(Time, u64)> = rows.into_iter().map(|(at, bytes)| (us(at), bytes)).collect();
        rows.sort_unstable();
        let net = over_spines(senders, 2, &keys, &sw, &rows);
        let outcome = net.run_on(1, u64::MAX);
        for threads in [2, 3] {
            same(&outcome, &net.run_on(threads, u64::MAX))?;
        }
        check_tables(&net.0, &outcome)?;
        let total = |name: &str| outcome.total("delivery_contexts", name);
        let (messages, senders) = (rows.len() as u64, senders as u64);
        // A single context means one for each path between two hosts.
        let is_one = contexts > 1;
        prop_assert_eq!((total("messages"), total("messages_delivered")), (messages * senders, messages * senders));
        let packets: u64 = rows.iter().map(|&(_, bytes)| bytes.div_ceil(1_000)).sum();
        prop_assert_eq!(total("packets_delivered"), packets * senders);
        prop_assert_eq!(total("packets_sent"), packets * senders + total("packets_retransmitted"));
        prop_assert_eq!((total("in_flight_bytes"), total("packets_outstanding")), (0, 0));
        if !is_one {
            return Ok(());
        }
        // In turn: the first contexts have one message more than the last ones.
        let each = outcome.integers("delivery_contexts", "messages");
        let expected = (0..contexts).map(|n| (messages + contexts - 1 - n) / contexts);
        let expected: Vec<u64> = (0..senders).flat_map(|_| expected.clone()).collect();
        prop_assert_eq!(each, expected);
    }
}
