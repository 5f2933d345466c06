//! Packet trimming: frames that do not fit continue without their payload, every byte is accounted for, and memory is
//! released.

use crate::common::consistent::{by, check_tables, same};
use crate::common::*;
use crate::rdma::{column, incast, keys};
use fabric::spec::SwitchSpec;
use frame::NodeId;
use proptest::prelude::*;
use queueing::{Alpha, BufferSpec, SharedMemorySpec, TrimmingSpec, Victim};
use transport::{RdmaKeys, RdmaRecovery, ReorderingKeys};
use units::{Amount, Time};

const SIZE: u16 = 128;

fn spec() -> TrimmingSpec {
    TrimmingSpec {
        size: SIZE,
        priority: 6,
        priority_to: Vec::new(),
        classes: None,
        thresholds: None,
        header_limit: None,
        reference_rate: None,
        victim: Victim::Arriving,
        marks_last_hop: false,
    }
}
fn trims(trimming: TrimmingSpec) -> SwitchSpec {
    SwitchSpec { trimming: Some(trimming), ..switch() }
}
fn queues_of(frames: u64) -> BufferSpec {
    BufferSpec { queue: Some(Amount::Frames(frames)), ..BufferSpec::default() }
}
/// `senders` hosts that each send a burst of frames of 1000 B to one more host, at each of these times.
fn bursts(senders: usize, frames: u64, starts: &[Time], sw: SwitchSpec) -> Net {
    let mut net = Net::new(us(2_000));
    let hosts: Vec<NodeId> = (0..=senders).map(|n| net.host(&format!("h{n}"), host())).collect();
    let sw = net.switch("sw", sw);
    net.attach(&hosts, sw, gbps(10), us(1));
    for (nth, &from) in hosts[..senders].iter().enumerate() {
        for (when, &start) in starts.iter().enumerate() {
            net.flow(&format!("f{nth}.{when}"), from, 3, burst(hosts[senders], 1_000, frames, start));
        }
    }
    net
}
/// Asserts that every sent frame and byte has been delivered, dropped or trimmed.
fn accounted(outcome: &Outcome) {
    let flows = |column: &str| outcome.total("flows", column);
    assert_eq!(
        flows("frames_sent"),
        flows("frames_delivered") + flows("frames_dropped") + flows("frames_trimmed")
    );
    let ended = flows("bytes_delivered") + outcome.total("drops", "bytes");
    assert_eq!(
        flows("bytes_sent"),
        ended + flows("bytes_trimmed") + flows("frames_trimmed") * u64::from(SIZE)
    );
    assert_eq!(flows("bytes_trimmed"), outcome.total("queues", "trimmed_bytes"));
}

#[test]
fn frames_beyond_a_limit_go_on_without_their_payload() {
    // Two frames arrive every 816 ns, and one leaves: with space for three, the queue is full after five steps.
    let sw = SwitchSpec { buffer: queues_of(3), ..trims(spec()) };
    let outcome = bursts(2, 20, &[Time::ZERO], sw).run();
    accounted(&outcome);
    let trimmed = outcome.total("flows", "frames_trimmed");
    assert!(trimmed > 0 && outcome.total("drops", "frames") == 0);
    assert_eq!(outcome.total("flows", "bytes_trimmed"), trimmed * 872);
    let at = |class: u64, column: &str| -> u64 {
        let rows = outcome.texts("queues", "port").iter().zip(outcome.integers("queues", "class"));
        let values = rows.zip(outcome.integers("queues", column));
        values
            .filter(|((port, own), _)| port.as_str() == "sw.2->h2" && **own == class)
            .map(|(_, value)| value)
            .sum()
    };
    // The queue of the data trims frames, that of trimmed frames sends them.
    assert_eq!((at(3, "trims"), at(6, "trims")), (trimmed, 0));
    assert_eq!((at(6, "frames"), at(6, "bytes")), (trimmed, trimmed * u64::from(SIZE)));
    assert_eq!(at(3, "frames") + trimmed, 40);
    assert_eq!(at(3, "queue_frames_max"), 3);
    // Without trimming, the frames that do not fit are lost.
    let lossy = bursts(2, 20, &[Time::ZERO], SwitchSpec { buffer: queues_of(3), ..switch() }).run();
    assert!(lossy.total("drops", "frames") > 0 && lossy.total("flows", "frames_trimmed") == 0);
}

#[test]
fn a_trimmed_frame_without_room_is_dropped() {
    let limited = TrimmingSpec { header_limit: Some(2 * u64::from(SIZE)), ..spec() };
    let sw = SwitchSpec { buffer: queues_of(3), ..trims(limited) };
    let outcome = bursts(8, 20, &[Time::ZERO], sw).run();
    accounted(&outcome);
    let drops = by(&outcome, "drops", "cause", "frames");
    assert!(drops["trimming"] > 0 && drops.len() == 1, "{drops:?}");
    assert_eq!(outcome.total("queues", "trim_drops"), drops["trimming"]);
    assert_eq!(
        outcome.total("queues", "trims"),
        outcome.total("flows", "frames_trimmed") + drops["trimming"]
    );
    // The limits of the buffer also apply to the queue of trimmed frames.
    let outcome = bursts(8, 20, &[Time::ZERO], SwitchSpec { buffer: queues_of(3), ..trims(spec()) }).run();
    accounted(&outcome);
    let drops = by(&outcome, "drops", "cause", "frames");
    assert!(drops["queue_limit"] > 0 && drops.len() == 1, "{drops:?}");
    assert_eq!(outcome.total("queues", "trim_drops"), drops["queue_limit"]);
}

#[test]
fn frames_that_are_short_keep_their_length() {
    let thresholds = Some([3_000; 2]);
    let sw = trims(TrimmingSpec { size: 1_000, thresholds, ..spec() });
    let outcome = bursts(2, 20, &[Time::ZERO], sw).run();
    let trims = outcome.total("queues", "trims");
    assert!(trims > 0);
    assert_eq!(
        (outcome.total("flows", "frames_delivered"), outcome.total("flows", "bytes_trimmed")),
        (40, 0)
    );
    assert_eq!(outcome.total("flows", "frames_trimmed"), 0);
}

#[test]
fn a_threshold_trims_the_new_frame_or_the_last_one() {
    for victim in [Victim::Arriving, Victim::Random] {
        let thresholds = Some([1_000_000, 5_000]);
        let htsim = TrimmingSpec { thresholds, victim, header_limit: Some(10_000), ..spec() };
        let outcome = bursts(4, 40, &[Time::ZERO], trims(htsim)).run();
        accounted(&outcome);
        assert!(outcome.total("flows", "frames_trimmed") > 20, "{victim:?}");
        let longest = outcome.integers("queues", "queue_bytes_max").iter().max();
        // Queues in the NICs of hosts are longer.
        let of = outcome.texts("queues", "port").iter().zip(outcome.integers("queues", "queue_bytes_max"));
        let longest =
            of.filter(|(port, _)| port.starts_with("sw")).map(|(_, bytes)| *bytes).max().or(longest.copied());
        assert_eq!(longest, Some(5_000), "{victim:?}");
        // With the coin, no sender has an advantage.
        let shares = outcome.integers("flows", "frames_trimmed");
        if victim == Victim::Random {
            assert!(shares.iter().all(|&own| own > 0), "{shares:?}");
        }
    }
}

#[test]
fn memory_comes_back_to_the_byte() {
    // The second of two equal bursts finds as much memory as the first; otherwise fewer frames would fit.
    let shared =
        SharedMemorySpec { total: 20_000, alpha: Alpha::ONE, minimum: 0, headroom: 0, resume_offset: 0 };
    let sw = |trimming| SwitchSpec { shared_memory: Some(shared), trimming, ..switch() };
    for trimming in [Some(spec()), None] {
        let once = bursts(4, 30, &[Time::ZERO], sw(trimming.clone())).run();
        let twice = bursts(4, 30, &[Time::ZERO, us(1_000)], sw(trimming.clone())).run();
        for column in ["frames_delivered", "frames_trimmed", "frames_dropped", "bytes_trimmed"] {
            assert_eq!(2 * once.total("flows", column), twice.total("flows", column), "{column}");
        }
        assert_eq!(once.total("flows", "frames_trimmed") > 0, trimming.is_some());
    }
}

#[test]
fn priorities_of_ports_and_of_next_switches() {
    // A port to a named neighbour uses another priority for trimmed frames.
    let named = TrimmingSpec { priority_to: vec![(vec![NodeId(2)], 5)], ..spec() };
    let sw = SwitchSpec { buffer: queues_of(3), ..trims(named) };
    let outcome = bursts(2, 20, &[Time::ZERO], sw).run();
    let classes: Vec<u64> = outcome.integers("queues", "class").to_vec();
    assert!(classes.contains(&5) && !classes.contains(&6));
    accounted(&outcome);
}

fn recoveries() -> [RdmaRecovery; 3] {
    [RdmaRecovery::GoBackN, RdmaRecovery::Selective, RdmaRecovery::Reordering(ReorderingKeys::default())]
}

#[test]
fn queue_pairs_repair_what_was_trimmed_without_a_timeout() {
    for recovery in recoveries() {
        let rdma = RdmaKeys { recovery, ..keys(transport::RdmaControlKeys::None(Default::default())) };
        let sw = SwitchSpec { buffer: queues_of(20), ..trims(spec()) };
        let mut net = incast(4, 100_000, &rdma, sw, us(20_000));
        net.0.seed = 3;
        let outcome = net.run();
        assert!(outcome.total("flows", "frames_trimmed") > 0);
        assert_eq!((column(&outcome, "timeouts"), column(&outcome, "messages")), (0, 4), "{recovery:?}");
        assert_eq!(outcome.total("drops", "frames"), 0);
        if recovery != RdmaRecovery::GoBackN {
            let again = column(&outcome, "packets_sent_again");
            assert_eq!(again, outcome.total("flows", "frames_trimmed"), "{recovery:?}");
        }
    }
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(cases(24)))]

    /// For all kinds of trimming: tables are consistent, all memory is free at the end of the run, and threads and
    /// steps have no effect.
    #[test]
    fn tables_add_up_whatever_is_trimmed(
        senders in 2usize..7,
        frames in 5u64..60,
        limit in 1u64..12,
        threshold in prop::sample::select(vec![None, Some(2_000), Some(9_000)]),
        header_limit in prop::sample::select(vec![None, Some(128), Some(1_000)]),
        random in any::<bool>(),
        seed in any::<u64>(),
    ) {
        let victim = if random && threshold.is_some() { Victim::Random } else { Victim::Arriving };
        let thresholds = threshold.map(|bytes| [bytes; 2]);
        let trimming = TrimmingSpec { thresholds, header_limit, victim, ..spec() };
        let buffer = if victim == Victim::Random { BufferSpec::default() } else { queues_of(limit) };
        let mut net = bursts(senders, frames, &[Time::ZERO, us(300)], SwitchSpec { buffer, ..trims(trimming) });
        net.0.seed = seed;
        let outcome = net.run();
        accounted(&outcome);
        check_tables(&net.0, &outcome)?;
        for threads in 2..4 {
            same(&outcome, &net.run_on(threads, 7))?;
        }
    }
}
