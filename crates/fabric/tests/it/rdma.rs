//! RDMA in a fabric: transfers to the picosecond, CNPs in a class of their own, losses, pauses and threads.

use crate::common::consistent::{check_tables, same};
use crate::common::*;
use fabric::spec::{FaultSpec, Reaction, SwitchSpec};
use frame::NodeId;
use keys::Choice;
use proptest::prelude::*;
use transport::{DcqcnKeys, DcqcnPreset, RdmaControlKeys, RdmaKeys, RdmaRecovery, Scheduled};
use units::{Amount, Bytes, Or, Time};
use workload::Framing;

const MTU: u64 = 1_000;
const HEADERS: u64 = 66;
const PACKET: u64 = MTU + HEADERS;

pub fn keys(control: RdmaControlKeys) -> RdmaKeys {
    RdmaKeys { control, mtu: Or::Value(Bytes::new(MTU)), timeout: us(500), ..RdmaKeys::default() }
}
fn none() -> RdmaControlKeys {
    RdmaControlKeys::None(Default::default())
}
fn dcqcn() -> RdmaControlKeys {
    RdmaControlKeys::Dcqcn(DcqcnPreset::Paper.keys())
}
/// Adds transfers of one host: start, index of the destination, bytes.
pub fn transfers(net: &mut Net, from: NodeId, to: &[NodeId], keys: &RdmaKeys, rows: &[(Time, u32, u64)]) {
    let (spec, _) = keys.carrier(Some(Bytes::new(0)), 1_522).unwrap();
    let framing = Framing { frame: PACKET as u16, header: HEADERS as u16 };
    net.scheduled((from, to), framing, Scheduled::Rdma(spec), rows);
}
/// `senders` hosts at a switch, over links of 10 Gb/s and 1 us, each with `bytes` for the last host.
pub fn incast(senders: usize, bytes: u64, keys: &RdmaKeys, sw: SwitchSpec, duration: Time) -> Net {
    let (mut net, hosts) = hosts_at(sw, senders, duration);
    for &from in &hosts[..senders] {
        transfers(&mut net, from, &[hosts[senders]], keys, &[(Time::ZERO, 0, bytes)]);
    }
    net
}
pub fn column(outcome: &Outcome, name: &str) -> u64 {
    outcome.total("queue_pairs", name)
}
fn times(outcome: &Outcome, column: &str) -> Vec<Time> {
    outcome.reals("transfers", column).iter().map(|&ns| exact(ns)).collect()
}

#[test]
fn messages_by_hand() {
    // One switch, 800 ps per byte. Two transfers to b, one after the other, and one to c over another queue pair, which
    // takes turns at the NIC.
    let mut net = Net::new(us(1_000));
    let hosts = [net.host("a", host()), net.host("b", host()), net.host("c", host())];
    let sw = net.switch("sw", switch());
    net.attach(&hosts, sw, gbps(10), us(1));
    let rows = [(us(3), 0, 2_500), (us(3), 0, 1_000), (us(100), 1, 1_000)];
    transfers(&mut net, hosts[0], &hosts[1..], &keys(none()), &rows);
    let outcome = net.run();
    let wire = |bytes: u64| Time::from_ps((bytes + 20) * 800);
    let way = |bytes: u64| (wire(bytes) + us(1)) * 2;
    // At the switch, the short one waits for the previous one.
    let first = wire(PACKET) * 3 + wire(566) + us(2);
    let second = wire(PACKET) * 2 + wire(566) + way(PACKET);
    let third = way(PACKET);
    assert_eq!(times(&outcome, "completion_ns"), [first, second, third]);
    assert_eq!(times(&outcome, "ideal_ns"), [first, third, third]);
    let acknowledged = [first, second, third].map(|at| at + way(70));
    assert_eq!(times(&outcome, "acknowledged_ns"), acknowledged);
    assert_eq!(outcome.integers("queue_pairs", "messages"), [2, 1]);
    assert_eq!(outcome.integers("queue_pairs", "packets_sent"), [4, 1]);
    assert_eq!(outcome.table("connections").rows(), 0);
    // The queue pair to c.
    assert_eq!(outcome.texts("queue_pairs", "destination"), ["b", "c"]);
}

/// All controls except `none`, which derives nothing from a rate.
fn controls() -> Vec<RdmaControlKeys> {
    vec![
        dcqcn(),
        RdmaControlKeys::Dcqcn(DcqcnPreset::Hpcc.keys()),
        RdmaControlKeys::Dctcp(Default::default()),
        RdmaControlKeys::Timely(Default::default()),
        RdmaControlKeys::Swift(Default::default()),
        RdmaControlKeys::Hpcc(Default::default()),
        RdmaControlKeys::HpccPint(Default::default()),
        RdmaControlKeys::PowerTcp(Default::default()),
        RdmaControlKeys::ThetaPowerTcp(Default::default()),
    ]
}

#[test]
fn who_hears_of_another_rate_is_as_if_it_had_been_there_from_the_start() {
    // The links of the senders change before the first packet; the round-trip time without queues is configured.
    for control in controls() {
        for window in [None, Some(Or::word())] {
            let keys = RdmaKeys { base_rtt: Or::Value(us(8)), window, ..keys(control.clone()) };
            let sw = || marking(10);
            let run = |before: u64, after: u64| {
                let mut net = incast(4, 1, &keys, sw(), us(6_000));
                net.0.flows.clear();
                let to = NodeId(4);
                (0..4).for_each(|from| {
                    transfers(&mut net, NodeId(from), &[to], &keys, &[(us(10), 0, 1_000_000)])
                });
                for link in 0..4 {
                    net.0.links[link].rates = [gbps(before); 2];
                    if after != before {
                        net.0.faults.push(FaultSpec::LinkRate {
                            link: link as u32,
                            towards: None,
                            at: us(1),
                            rate: gbps(after),
                        });
                    }
                }
                let outcome = net.run();
                let pairs =
                    ["rate_bps", "window_bytes"].map(|name| outcome.reals("queue_pairs", name).to_vec());
                assert!(outcome.reals("transfers", "acknowledged_ns").iter().all(|at| at.is_finite()));
                (outcome.reals("transfers", "completion_ns").to_vec(), format!("{pairs:?}"))
            };
            for (before, after) in [(40, 10), (10, 40), (25, 10)] {
                assert_eq!(
                    run(before, after),
                    run(after, after),
                    "{control:?} from {before} to {after} Gb/s"
                );
            }
        }
    }
}

#[test]
fn cnps_answer_marks_and_bring_the_queue_down() {
    let sw = |marks: bool| SwitchSpec {
        managers: if marks { marking(20).managers } else { Default::default() },
        ..switch()
    };
    let run = |control, marks| incast(8, 4_000_000, &keys(control), sw(marks), us(4_000)).run();
    let quiet = run(dcqcn(), false);
    assert_eq!((column(&quiet, "packets_marked"), column(&quiet, "cnps_sent")), (0, 0));
    let marked = run(dcqcn(), true);
    let [marks, sent, received] =
        ["packets_marked", "cnps_sent", "cnps_received"].map(|name| column(&marked, name));
    assert!(sent > 50 && marks >= sent && sent - received <= 8, "{marks} {sent} {received}");
    // Minimum interval of 50 us for each queue pair.
    assert!(marked.integers("queue_pairs", "cnps_sent").iter().all(|&own| own <= 81));
    assert!(marked.reals("queue_pairs", "rate_bps").iter().all(|&rate| (10e6..=10e9).contains(&rate)));
    let longest =
        |outcome: &Outcome| outcome.integers("queues", "queue_bytes_max").iter().max().copied().unwrap();
    assert!(longest(&marked) < longest(&quiet) / 2);
    // No marks and no CNPs without ECN.
    let deaf = run(none(), true);
    assert_eq!((column(&deaf, "packets_marked"), column(&deaf, "cnps_sent")), (0, 0));
}

#[test]
fn cnps_pass_a_class_that_is_paused() {
    // A pause of priority 3 holds back the receiver's own data for ever; its CNPs are sent at priority 6.
    let mut net = incast(2, 2_000_000, &keys(dcqcn()), marking(5), us(2_000));
    let (to, first) = (NodeId(2), NodeId(0));
    transfers(&mut net, to, &[first], &keys(none()), &[(Time::ZERO, 0, 1_000_000)]);
    net.0.faults = vec![];
    let outcome = net.run();
    assert!(column(&outcome, "cnps_received") > 10);
    let classes: Vec<u64> = outcome.integers("queues", "class").to_vec();
    assert!(classes.contains(&6), "a queue of their own: {classes:?}");
}

#[test]
fn bit_errors_are_repaired_in_either_way() {
    for recovery in [RdmaRecovery::GoBackN, RdmaRecovery::Selective] {
        let keys = RdmaKeys { recovery, ..keys(none()) };
        let mut net = incast(1, 2_000_000, &keys, switch(), us(20_000));
        net.0.faults =
            vec![FaultSpec::BitErrors { link: 0, from: Time::ZERO, until: us(20_000), rate: 1e-6 }];
        let outcome = net.run();
        let again = column(&outcome, "packets_sent_again");
        let lost = outcome.integers("flows", "frames_dropped").iter().sum::<u64>();
        assert_eq!((column(&outcome, "packets_delivered"), column(&outcome, "messages")), (2_000, 1));
        assert!(lost > 3 && column(&outcome, "naks_received") > 3, "{lost}");
        // Each loss costs only its own packet, or all packets in flight.
        assert!(
            if recovery == RdmaRecovery::Selective { again <= 2 * lost } else { again > 2 * lost },
            "{again} {lost}"
        );
    }
}

#[test]
fn a_link_that_stays_down_ends_the_queue_pair() {
    let keys = RdmaKeys { retries: 3, ..keys(none()) };
    let mut net = incast(1, 2_000_000, &keys, switch(), us(10_000));
    net.0.faults =
        vec![FaultSpec::LinkDown { link: 1, at: us(500), reaction: Reaction { keep: false, reroute: None } }];
    let outcome = net.run();
    assert_eq!((column(&outcome, "timeouts"), column(&outcome, "messages")), (4, 0));
    let failed = outcome.reals("queue_pairs", "failed_ns")[0];
    // Four timeouts of 500 us, the first of which starts with the last packet, at 1.73 ms.
    assert!(failed > 3_700e3 && failed < 3_800e3, "{failed}");
    assert!(outcome.integers("transfers", "frames_missing")[0] > 1_000);
}

#[test]
fn pauses_lose_nothing_and_nothing_is_sent_twice() {
    // A timeout shorter than the time to transfer 64 packets of each would cause unnecessary retransmissions.
    let patient = RdmaKeys { timeout: us(67_000), ..keys(none()) };
    let mut sw = switch();
    sw.flow_control = Some(pfc_at(1 << 3, 20, 10).into());
    let outcome = incast(8, 1_000_000, &patient, sw, us(10_000)).run();
    assert_eq!(outcome.integers("transfers", "frames_missing"), [0; 8]);
    assert!(!outcome.pauses().is_empty());
    assert_eq!((column(&outcome, "packets_sent_again"), column(&outcome, "messages")), (0, 8));
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(cases(24)))]

    /// Any control and recovery, with losses, marks and pauses: the number of threads has no effect, and each message
    /// arrives once.
    #[test]
    fn controls_and_recoveries_on_threads(
        name in prop::sample::select(RdmaControlKeys::NAMES),
        selective in any::<bool>(),
        paused in any::<bool>(),
        threshold in 2u64..60,
        senders in 2usize..7,
        gap in 1u64..60,
        ack_priority in prop::option::of(0u64..8),
    ) {
        let control = <RdmaControlKeys as keys::Forms>::text::<serde::de::value::Error>(name).unwrap();
        let recovery = if selective { RdmaRecovery::Selective } else { RdmaRecovery::GoBackN };
        let keys = RdmaKeys { recovery, cnp_gap: us(gap), ack_priority, retries: 255, ..keys(control) };
        let mut sw = marking(threshold);
        if paused {
            sw.flow_control = Some(pfc_at(1 << 3, 20, 10).into());
        } else {
            sw.buffer.queue = Some(Amount::Frames(80));
        }
        let net = incast(senders, 300_000, &keys, sw, us(400_000));
        let outcome = net.run_on(1, u64::MAX);
        for threads in [2, 3] {
            same(&outcome, &net.run_on(threads, u64::MAX))?;
        }
        check_tables(&net.0, &outcome)?;
        prop_assert_eq!(column(&outcome, "messages"), senders as u64);
        prop_assert_eq!(column(&outcome, "messages_delivered"), senders as u64);
        prop_assert_eq!(column(&outcome, "packets_delivered"), 300 * senders as u64);
        prop_assert!(column(&outcome, "cnps_sent") <= column(&outcome, "packets_marked"));
        let again = column(&outcome, "packets_sent_again");
        prop_assert_eq!(column(&outcome, "packets_sent"), 300 * senders as u64 + again);
    }
}

#[test]
fn the_least_rate_of_the_keys_is_a_bound() {
    let slow = DcqcnKeys { min_rate: gbps(2), ..DcqcnPreset::Paper.keys() };
    let sw = marking(1);
    let outcome = incast(8, 4_000_000, &keys(RdmaControlKeys::Dcqcn(slow)), sw, us(3_000)).run();
    assert!(outcome.reals("queue_pairs", "rate_bps").iter().all(|&rate| rate >= 2e9));
}
