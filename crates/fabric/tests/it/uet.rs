//! Ultra Ethernet Transport in a fabric: transfers to the picosecond, incasts at their lower bound, marks, pauses,
//! losses and threads.

use crate::common::consistent::{check_tables, same};
use crate::common::*;
use fabric::spec::{FaultSpec, Reaction, SwitchSpec};
use frame::NodeId;
use proptest::prelude::*;
use transport::{NsccKeys, RcccKeys, Scheduled, UetControlKeys, UetKeys};
use units::{Amount, Bytes, Or, Time};
use workload::Framing;

const PAYLOAD: u64 = 1_000;
const HEADERS: u64 = 102;
pub(crate) const PACKET: u64 = PAYLOAD + HEADERS;

pub(crate) fn keys(control: UetControlKeys) -> UetKeys {
    UetKeys { control, payload: Or::Value(Bytes::new(PAYLOAD)), ..UetKeys::default() }
}
pub(crate) fn none() -> UetControlKeys {
    UetControlKeys::None(Default::default())
}
fn nscc() -> UetControlKeys {
    UetControlKeys::Nscc(NsccKeys::default())
}
/// Adds transfers of one host: start, index of the destination, bytes.
pub(crate) fn transfers(
    net: &mut Net,
    from: NodeId,
    to: &[NodeId],
    keys: &UetKeys,
    rows: &[(Time, u32, u64)],
) {
    let (spec, _) = keys.carrier(Some(Bytes::new(0)), 1_522).unwrap();
    let framing = Framing { frame: PACKET as u16, header: HEADERS as u16 };
    net.scheduled((from, to), framing, Scheduled::Uet(spec), rows);
}
/// `senders` hosts at a switch, over links of 10 Gb/s and 1 us, each with `bytes` for the last host.
fn incast(senders: usize, bytes: u64, keys: &UetKeys, sw: SwitchSpec, duration: Time) -> Net {
    let (mut net, hosts) = hosts_at(sw, senders, duration);
    for &from in &hosts[..senders] {
        transfers(&mut net, from, &[hosts[senders]], keys, &[(Time::ZERO, 0, bytes)]);
    }
    net
}
fn column(outcome: &Outcome, name: &str) -> u64 {
    outcome.total("delivery_contexts", name)
}
fn times(outcome: &Outcome, column: &str) -> Vec<Time> {
    outcome.reals("transfers", column).iter().map(|&ns| exact(ns)).collect()
}
/// Time of a frame on a link, including preamble and gap: 800 ps per byte.
pub(crate) fn wire(bytes: u64) -> Time {
    Time::from_ps((bytes + 20) * 800)
}

#[test]
fn messages_by_hand() {
    let mut net = Net::new(us(1_000));
    let hosts = [net.host("a", host()), net.host("b", host()), net.host("c", host())];
    let sw = net.switch("sw", switch());
    net.attach(&hosts, sw, gbps(10), us(1));
    let rows = [(us(3), 0, 2_500), (us(3), 0, 1_000), (us(100), 1, 1_000)];
    transfers(&mut net, hosts[0], &hosts[1..], &keys(none()), &rows);
    let outcome = net.run();
    let way = |bytes: u64| (wire(bytes) + us(1)) * 2;
    // At the switch, the short one waits for the previous one.
    let first = wire(PACKET) * 3 + wire(602) + us(2);
    let second = wire(PACKET) * 2 + wire(602) + way(PACKET);
    let third = way(PACKET);
    assert_eq!(times(&outcome, "completion_ns"), [first, second, third]);
    assert_eq!(times(&outcome, "ideal_ns"), [first, third, third]);
    // The last packet of all requests the acknowledgement of both.
    let acknowledged = [second, second, third].map(|at| at + way(90));
    assert_eq!(times(&outcome, "acknowledged_ns"), acknowledged);
    assert_eq!(outcome.integers("delivery_contexts", "messages"), [2, 1]);
    assert_eq!(outcome.integers("delivery_contexts", "packets_sent"), [4, 1]);
    assert_eq!(outcome.integers("delivery_contexts", "acks_received"), [2, 1]);
    assert_eq!(outcome.texts("delivery_contexts", "destination"), ["b", "c"]);
    assert_eq!(outcome.table("queue_pairs").rows(), 0);
}

#[test]
fn one_flow_has_the_line_rate() {
    for control in [none(), nscc()] {
        let outcome = incast(1, 4_000_000, &keys(control), marking(20), us(10_000)).run();
        let ideal = wire(PACKET) * 4_001 + us(2);
        assert_eq!(times(&outcome, "completion_ns"), [ideal]);
        assert_eq!((column(&outcome, "packets_sent"), column(&outcome, "timeouts")), (4_000, 0));
    }
}

#[test]
fn an_incast_ends_at_its_floor_and_fairly() {
    for senders in [2u64, 4, 8] {
        let outcome = incast(senders as usize, 2_000_000, &keys(nscc()), marking(5), us(40_000)).run();
        // The last packet leaves the switch after all others: the link is never idle.
        let floor = wire(PACKET) * (2_000 * senders + 1) + us(2);
        let ends = times(&outcome, "completion_ns");
        let (first, last) = (ends.iter().min().unwrap(), ends.iter().max().unwrap());
        assert!(*last >= floor && last.ps() < floor.ps() / 100 * 101, "{senders}: {last} of {floor}");
        // With more senders than packets in a bandwidth-delay product, windows are one or two packets (uet-htsim: 0.51
        // for 15).
        let share = if senders > 6 { 50 } else { 80 };
        assert!(first.ps() > floor.ps() / 100 * share, "{senders}: first at {first} of {floor}");
        assert_eq!((column(&outcome, "packets_retransmitted"), column(&outcome, "timeouts")), (0, 0));
        assert!(column(&outcome, "packets_marked") > 100);
        assert_eq!(
            column(&outcome, "marks_echoed"),
            column(&outcome, "packets_marked"),
            "each mark is echoed at once"
        );
    }
}

#[test]
fn marks_and_delay_hold_the_queue_at_a_few_targets() {
    // 16 senders start with 1.5 bandwidth-delay products each. Without a control, all packets sent are queued.
    let queue = |control| {
        let outcome = incast(16, 1_000_000, &keys(control), marking(10), us(40_000)).run();
        let mean = outcome.reals("queues", "queue_bytes_mean").iter().copied().fold(0.0, f64::max);
        (mean, column(&outcome, "marks_echoed"))
    };
    let (free, without) = queue(none());
    let (held, marks) = queue(nscc());
    assert!(held < free / 10.0 && marks > 100 && without == 0, "{held} {free} {marks}");
}

#[test]
fn with_pauses_nothing_is_lost_or_sent_twice() {
    for (windowed, control) in [(false, none()), (true, nscc())] {
        let patient = UetKeys { timeout: Or::Value(us(60_000)), ..keys(control) };
        let sw = SwitchSpec { flow_control: Some(pfc_at(1 << 3, 20, 10).into()), ..marking(10) };
        let outcome = incast(8, 1_000_000, &patient, sw, us(20_000)).run();
        // A window of 1.5 bandwidth-delay products each is too short for a pause.
        assert_eq!(outcome.pauses().is_empty(), windowed);
        assert_eq!(outcome.integers("transfers", "frames_missing"), [0; 8]);
        assert_eq!((column(&outcome, "packets_retransmitted"), column(&outcome, "messages")), (0, 8));
    }
}

#[test]
fn what_a_short_buffer_drops_is_sent_again() {
    let mut sw = marking(10);
    sw.buffer.queue = Some(Amount::Frames(30));
    let outcome = incast(8, 500_000, &keys(nscc()), sw, us(200_000)).run();
    let dropped = outcome.integers("flows", "frames_dropped").iter().sum::<u64>();
    assert!(dropped > 8, "{dropped}");
    assert_eq!((column(&outcome, "messages"), column(&outcome, "packets_delivered")), (8, 4_000));
    assert!(column(&outcome, "packets_retransmitted") >= dropped);
}

#[test]
fn a_link_that_stays_down_ends_the_context() {
    let keys =
        UetKeys { retries: 2, timeout: Or::Value(us(500)), loss_inference: Some(false), ..keys(none()) };
    let mut net = incast(1, 2_000_000, &keys, switch(), us(10_000));
    net.0.faults =
        vec![FaultSpec::LinkDown { link: 1, at: us(500), reaction: Reaction { keep: false, reroute: None } }];
    let outcome = net.run();
    assert_eq!(column(&outcome, "messages"), 0);
    let failed = outcome.reals("delivery_contexts", "failed_ns")[0];
    // The oldest packet left before 500 us: timeouts of 500 us, 1 ms and 2 ms follow.
    assert!(failed > 3_900e3 && failed < 4_100e3, "{failed}");
}

#[test]
fn credits_share_the_link_of_the_receiver() {
    for both in [false, true] {
        let nscc = both.then(NsccKeys::default);
        let control = UetControlKeys::Rccc(RcccKeys { pull: Bytes::new(2_048), nscc, ..RcccKeys::default() });
        let outcome = incast(8, 1_000_000, &keys(control), marking(20), us(40_000)).run();
        let floor = (wire(PACKET + 4) * 8_001 + us(2)).ps();
        let ends = times(&outcome, "completion_ns");
        let (first, last) = (ends.iter().min().unwrap().ps(), ends.iter().max().unwrap().ps());
        assert!(last >= floor && last < floor / 100 * 104, "{last} of {floor}");
        // The packets of all initial credits are queued, since nothing trims them, and delay requests for more.
        assert!(first > last / 100 * 70, "one pacer for all: {first} {last}");
        assert_eq!((column(&outcome, "packets_retransmitted"), column(&outcome, "messages")), (0, 8));
        assert_eq!(column(&outcome, "grants_sent"), column(&outcome, "grants_received"));
        // Only the speculative 1.5 bandwidth-delay products of each sender are queued.
        let longest = outcome.integers("queues", "queue_bytes_max").iter().max().copied().unwrap();
        assert!(longest < 8 * 13_000, "{longest}");
    }
}

#[test]
fn another_link_rate_is_another_window() {
    let run = |before: u64, after: u64| {
        let ack_every = Or::Value(Bytes::new(2_000));
        let keys = UetKeys { base_rtt: Or::Value(us(8)), ack_every, ..keys(nscc()) };
        let mut net = incast(4, 1, &keys, marking(10), us(10_000));
        net.0.flows.clear();
        for from in 0..4 {
            transfers(&mut net, NodeId(from), &[NodeId(4)], &keys, &[(us(10), 0, 1_000_000)]);
            net.0.links[from as usize].rates = [gbps(before); 2];
            if after != before {
                net.0.faults.push(FaultSpec::LinkRate {
                    link: from,
                    towards: None,
                    at: us(1),
                    rate: gbps(after),
                });
            }
        }
        let outcome = net.run();
        outcome.reals("transfers", "completion_ns").to_vec()
    };
    for (before, after) in [(40, 10), (25, 10)] {
        assert_eq!(run(before, after), run(after, after), "from {before} to {after} Gb/s");
    }
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(cases(24)))]

    /// Losses, marks, pauses and paths that reorder: the number of threads has no effect, and each message arrives
    /// once.
    #[test]
    fn contexts_on_threads(
        windowed in any::<bool>(),
        credits in any::<bool>(),
        paused in any::<bool>(),
        threshold in 2u64..60,
        senders in 2usize..7,
        every in 1u64..20_000,
        ack_priority in prop::option::of(0u64..8),
    ) {
        let control = match (windowed, credits) {
            (true, false) => nscc(),
            (false, false) => none(),
            (both, true) => {
                let nscc = both.then(NsccKeys::default);
                UetControlKeys::Rccc(RcccKeys { nscc, ..RcccKeys::default() })
            }
        };
        let keys = UetKeys { ack_every: Or::Value(Bytes::new(every)), ack_priority, retries: 255, ..keys(control) };
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
        let again = column(&outcome, "packets_retransmitted");
        prop_assert_eq!(column(&outcome, "packets_sent"), 300 * senders as u64 + again);
        prop_assert_eq!((column(&outcome, "in_flight_bytes"), column(&outcome, "packets_outstanding")), (0, 0));
    }
}
