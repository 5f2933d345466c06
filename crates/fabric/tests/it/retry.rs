//! Link-level retry: to the picosecond for a single damaged frame, and under combinations of all faults.

use crate::common::*;
use fabric::spec::{FaultSpec, Forwarding, OnLosslessDrop, Reaction, SwitchSpec};
use flow_control::llr::FrameAction;
use flow_control::{Llr, LlrSettings, LlrSpec, PauseSpec, Watermarks};
use frame::NodeId;
use proptest::prelude::*;
use units::{Amount, Bytes, Time};
use workload::{Arrivals, SourceSpec};

const KEEP: Reaction = Reaction { keep: true, reroute: None };

fn llr() -> LlrSpec {
    Llr::On(LlrSettings::default()).spec().unwrap().unwrap()
}

fn damage(link: u32, from: Time, until: Time) -> FaultSpec {
    FaultSpec::BitErrors { link, from, until, rate: 1.0 }
}

/// `count` frames of 1230 B back to back: with their 20 B of overhead, each takes 1 us at 10 Gb/s.
fn burst(to: NodeId, count: u64, start: Time) -> SourceSpec {
    SourceSpec { arrivals: Arrivals::Greedy, limit: Some(Bytes::new(1230 * count)), ..one(to, 1230, start) }
}

/// a - sw - b at 10 Gb/s and 1 us; link-level retry on link 0, from a to sw.
fn line(spec: LlrSpec, duration: Time) -> (Net, NodeId, NodeId) {
    let mut net = Net::new(duration);
    let (a, b) = (net.host("a", host()), net.host("b", host()));
    let sw = net.switch("sw", switch());
    net.link(a, sw, gbps(10), us(1)).llr = Some(spec);
    net.link(sw, b, gbps(10), us(1));
    (net, a, b)
}

fn retries(outcome: &Outcome, port: &str, columns: &[&str]) -> Vec<u64> {
    columns.iter().map(|column| outcome.count("link_retries", port, column)).collect()
}

const SENT: &[&str] = &["frames", "replayed_frames", "replays", "timeouts", "repaired_frames"];
const RECEIVED: &[&str] = &["nacks_sent", "damaged_frames", "missing_frames", "duplicate_frames"];

#[test]
fn golden_vector_11_to_the_picosecond() {
    let (mut net, a, b) = line(llr(), us(40));
    net.flow("f", a, 0, burst(b, 6, us(0)));
    // The third frame is sent from 2 us to 3 us.
    net.0.faults = vec![damage(0, ns(2_000), ns(2_001))];
    let outcome = net.run_on_threads();
    assert_eq!(outcome.delivered("f"), 6);
    assert_eq!(retries(&outcome, "a.0->sw", SENT), [6, 4, 1, 0, 4]);
    assert_eq!(retries(&outcome, "sw.0->a", RECEIVED), [1, 1, 3, 0]);
    // The NACK is sent at 4 us and arrives 6.4 ns and 1 us later, in the middle of the sixth frame. From 6 us to 10 us,
    // the last four frames are retransmitted. The last one was created at 4 us, when the fifth started to leave; it
    // arrives at `sw` at 11 us and at `b` at 13 us.
    assert_eq!(outcome.latency("f").1, us(9));
    assert_eq!(exact(outcome.real("link_retries", "a.0->sw", "repair_delay_max_ns")), us(4));
    assert_eq!(exact(outcome.real("link_retries", "a.0->sw", "repair_delay_mean_ns")), us(4));
    assert!((outcome.real("link_retries", "a.0->sw", "replayed_s") - 4e-6).abs() < 1e-15);
    assert_eq!(outcome.total("drops", "frames"), 0);
}

#[test]
fn a_damaged_nack_is_repaired_by_the_timer() {
    let (mut net, a, b) = line(llr(), us(60));
    net.flow("f", a, 0, burst(b, 1, us(0)));
    // The frame is damaged, and so is its NACK, which is sent at 2 us.
    net.0.faults = vec![damage(0, us(0), ns(1)), damage(0, ns(2_000), ns(2_001))];
    let outcome = net.run_on_threads();
    assert_eq!(outcome.delivered("f"), 1);
    assert_eq!(retries(&outcome, "a.0->sw", SENT), [1, 1, 1, 1, 1]);
    assert_eq!(retries(&outcome, "sw.0->a", &["nacks_sent", "ordered_sets_lost"]), [1, 1]);
    // It is retransmitted ten microseconds after the start of its first transmission: 1 us on each link, and 1 us of
    // delay.
    assert_eq!(outcome.only_latency("f"), us(14));
}

#[test]
fn a_damaged_ack_leads_to_a_duplicate() {
    let (mut net, a, b) = line(llr(), us(60));
    net.flow("f", a, 0, burst(b, 1, us(0)));
    net.0.faults = vec![damage(0, ns(2_000), ns(2_001))];
    let outcome = net.run_on_threads();
    assert_eq!(outcome.delivered("f"), 1, "the other end discards the second one");
    assert_eq!(outcome.only_latency("f"), us(4));
    assert_eq!(retries(&outcome, "a.0->sw", SENT), [1, 1, 1, 1, 0]);
    assert_eq!(retries(&outcome, "sw.0->a", &["acks_sent", "nacks_sent", "duplicate_frames"]), [2, 0, 1]);
}

#[test]
fn a_full_replay_buffer_blocks_until_an_acknowledgement() {
    let (mut net, a, b) = line(LlrSpec { outstanding_frames_max: 2, ..llr() }, us(40));
    net.flow("f", a, 0, burst(b, 3, us(0)));
    let outcome = net.run_on_threads();
    // The first is acknowledged at 2 us + 6.4 ns + 1 us: then the third is sent, which was created at 1 us, and arrives
    // at `b` 4 us later.
    assert_eq!(outcome.latency("f").1, ps(6_006_400));
    assert_eq!(retries(&outcome, "a.0->sw", &["blocks", "replays", "sequence_errors"]), [2, 0, 0]);
    // Blocked from 1 us on; and again with the third frame, until the second is acknowledged, 2048 B after the first.
    let blocked = outcome.real("link_retries", "a.0->sw", "blocked_s");
    let expected =
        (3_006_400 - 1_000_000 + (2_000_000 + 1_638_400 + 6_400 + 1_000_000 - 3_006_400)) as f64 * 1e-12;
    assert!((blocked - expected).abs() < 1e-15, "{blocked} {expected}");
}

#[test]
fn after_too_many_replays_the_frames_are_lost() {
    let spec = LlrSpec { replay_count_max: 2, ..llr() };
    let (mut net, a, b) = line(spec, us(100));
    net.flow("f", a, 0, burst(b, 3, us(0)));
    net.flow("later", a, 0, burst(b, 2, us(50)));
    // For 40 us, frames and all ordered sets are damaged.
    net.0.faults = vec![damage(0, us(0), us(40))];
    let outcome = net.run_on_threads();
    assert_eq!((outcome.delivered("f"), outcome.delivered("later")), (0, 2));
    assert_eq!(
        retries(&outcome, "a.0->sw", &["frames", "flushes", "flushed_frames", "timeouts"]),
        [5, 1, 3, 3]
    );
    let causes = outcome.texts("drops", "cause");
    assert!(
        causes.iter().all(|cause| cause == "llr_flush") && outcome.total("drops", "frames") == 3,
        "{causes:?}"
    );
}

#[test]
fn the_actions_after_a_flush() {
    let run_with = |action| {
        let spec =
            LlrSpec { replay_count_max: 0, re_init_on_flush: false, flush_llr_frame_action: action, ..llr() };
        let (mut net, a, b) = line(spec, us(100));
        net.flow("f", a, 0, burst(b, 1, us(0)));
        net.flow("later", a, 0, burst(b, 2, us(50)));
        net.0.faults = vec![damage(0, us(0), ns(1))];
        let outcome = net.run_on_threads();
        assert_eq!(outcome.delivered("f"), 0);
        (
            outcome.delivered("later"),
            outcome.count("link_retries", "a.0->sw", "frames"),
            outcome.total("drops", "frames"),
        )
    };
    assert_eq!(run_with(FrameAction::BestEffort), (2, 1, 1));
    assert_eq!(run_with(FrameAction::Discard), (0, 1, 3));
    assert_eq!(run_with(FrameAction::Block), (0, 1, 1));
}

#[test]
fn an_outage_shorter_than_the_timeout_loses_nothing() {
    let with = |timeout: Time| {
        let (mut net, a, b) = line(LlrSpec { pcs_lost_timeout: timeout, ..llr() }, us(100));
        net.flow("f", a, 0, burst(b, 10, us(0)));
        net.0.faults = vec![
            FaultSpec::LinkDown { link: 0, at: ns(4_500), reaction: KEEP },
            FaultSpec::LinkUp { link: 0, at: us(20) },
        ];
        let outcome = net.run_on_threads();
        (outcome.delivered("f"), outcome.total("drops", "frames"), outcome.latency("f").1)
    };
    // Frames 4 and 5 are on the link at 4.5 us, and so is the acknowledgement of frames 2 and 3. No frame is lost:
    // frames 2 to 5 are retransmitted from 20 us to 24 us, followed by frame 6, which was created at 4 us and arrives
    // at `b` at 28 us.
    let (delivered, lost, last) = with(us(16));
    assert_eq!((delivered, lost), (10, 0));
    assert_eq!(last, us(24));
    let (delivered, lost, _) = with(us(10));
    assert_eq!((delivered, lost), (8, 2));
    assert_eq!(with(Time::ZERO).1, 2);
}

#[test]
fn frames_of_other_priorities_are_lost_as_without() {
    let (mut net, a, b) = line(LlrSpec { priorities: 1 << 3, ..llr() }, us(40));
    net.flow("numbered", a, 3, burst(b, 2, us(0)));
    net.flow("plain", a, 5, burst(b, 2, us(0)));
    net.0.faults = vec![damage(0, us(0), us(4))];
    let outcome = net.run_on_threads();
    assert_eq!((outcome.delivered("numbered"), outcome.delivered("plain")), (2, 0));
    assert_eq!(outcome.texts("drops", "cause").iter().filter(|cause| *cause == "bit_error").count(), 1);
}

/// Parameters of a run with a line of three switches.
#[derive(Clone, Debug)]
struct Trial {
    spec: LlrSpec,
    cut_through: bool,
    pfc: bool,
    error_rate: f64,
    outage: Option<(u64, u64)>,
    slower: Option<u64>,
    sizes: [u16; 2],
}

fn trials() -> impl Strategy<Value = Trial> {
    let spec = (
        1u32..40,
        3_000u64..60_000,
        prop::sample::select(vec![0u64, 8, 30]),
        prop::sample::select(vec![400u64, 2048]),
    );
    let spec = spec.prop_map(|(frames, bytes, timer, spacing)| LlrSpec {
        outstanding_frames_max: frames,
        outstanding_bytes_max: bytes,
        // Without a timer, a lost NACK would stop the link for good.
        replay_timer_max: us(timer.max(8)),
        ctlos_target_spacing: spacing,
        pcs_lost_timeout: if timer == 0 { us(500) } else { us(20) },
        init_llr_frame_action: FrameAction::Block,
        ..llr()
    });
    let rate = prop::sample::select(vec![0.0, 1e-6, 1e-5, 4e-5]);
    let outage = prop::option::of((10u64..120, 1u64..60));
    let slower = prop::option::of(10u64..150);
    let sizes = [64u16..1518, 64u16..1518];
    (spec, any::<bool>(), any::<bool>(), rate, outage, slower, sizes).prop_map(
        |(spec, cut_through, pfc, error_rate, outage, slower, sizes)| Trial {
            spec,
            cut_through,
            pfc,
            error_rate,
            outage,
            slower,
            sizes,
        },
    )
}

/// Two flows of 60 frames from both ends of h0 - s0 - s1 - h1, and one in the other direction between the hosts of s0
/// and s1.
fn net_of(trial: &Trial) -> Net {
    let mut net = Net::new(us(3_000));
    // A pause does not stop retransmissions: all outstanding frames may arrive after it.
    let headroom = Some(Amount::Bytes(2 * trial.spec.outstanding_bytes_max + 20_000));
    let (xoff, xon) = (Amount::Bytes(5_000), Amount::Bytes(2_000));
    let watermarks = Some(Watermarks { xoff, xon, headroom });
    let flow_control = trial.pfc.then(|| PauseSpec { watermarks, ..pfc(0xFF) }.into());
    let own = fabric::spec::HostSpec { flow_control: flow_control.clone(), ..host() };
    let hosts: Vec<NodeId> = (0..4).map(|at| net.host(&format!("h{at}"), own.clone())).collect();
    let forwarding = if trial.cut_through { Forwarding::CutThrough } else { Forwarding::StoreAndForward };
    let spec = SwitchSpec { forwarding, flow_control, ..switch() };
    let switches: Vec<NodeId> = (0..2).map(|at| net.switch(&format!("s{at}"), spec.clone())).collect();
    for (at, &host) in hosts.iter().enumerate() {
        net.link(host, switches[at % 2], gbps(10), ns(300)).llr = Some(trial.spec);
    }
    net.link(switches[0], switches[1], gbps(10), ns(700)).llr = Some(trial.spec);

    let flows = [(0, 1, 0, trial.sizes[0]), (2, 1, 4, trial.sizes[1]), (3, 0, 2, trial.sizes[0])];
    for (number, (from, to, priority, bytes)) in flows.into_iter().enumerate() {
        let source = SourceSpec {
            limit: Some(Bytes::new(60 * u64::from(bytes))),
            ..greedy(hosts[to], bytes, ns(100 * number as u64))
        };
        net.flow(&format!("f{number}"), hosts[from], priority, source);
    }
    let until = net.0.duration;
    // Pause frames are not retransmitted: bit errors may lose one, and consequently a data frame. A link with random
    // loss of frames does not lose them.
    let errors = |link| match trial.pfc {
        true => FaultSpec::FrameLoss {
            link,
            towards: None,
            from: Time::ZERO,
            until,
            probability: (trial.error_rate * 4_000.0).min(0.2),
        },
        false => FaultSpec::BitErrors { link, from: Time::ZERO, until, rate: trial.error_rate },
    };
    net.0.faults = (0..5).map(errors).filter(|_| trial.error_rate > 0.0).collect();
    if let Some((at, lasts)) = trial.outage {
        net.0.faults.push(FaultSpec::LinkDown { link: 4, at: us(at), reaction: KEEP });
        net.0.faults.push(FaultSpec::LinkUp { link: 4, at: us(at + lasts) });
    }
    if let Some(at) = trial.slower {
        net.0.faults.push(FaultSpec::LinkRate { link: 4, towards: None, at: us(at), rate: gbps(4) });
        net.0.faults.push(FaultSpec::LinkRate { link: 0, towards: None, at: us(at + 7), rate: gbps(25) });
    }
    net.0.on_lossless_drop = OnLosslessDrop::Stop;
    net
}

proptest! {
    #![proptest_config(ProptestConfig { cases: cases(40), ..ProptestConfig::default() })]

    /// No frame is lost by bit errors, by pauses that start during a replay, or by rate changes; outages lose frames
    /// only if they last longer than the timeout. Frames are conserved, and results are equal on any number of threads.
    #[test]
    fn nothing_is_lost_that_can_be_repeated(trial in trials()) {
        let net = net_of(&trial);
        let outcome = net.run_on_threads();
        let lost = outcome.total("drops", "frames");
        let survives = trial.outage.is_none_or(|(_, lasts)| us(lasts) <= trial.spec.pcs_lost_timeout);
        if survives {
            prop_assert_eq!(lost, 0);
        }
        let delivered: u64 = (0..3).map(|at| outcome.delivered(&format!("f{at}"))).sum();
        prop_assert_eq!(delivered + lost, 180, "all is over in the time");
        let sent = outcome.total("link_retries", "frames");
        prop_assert_eq!(outcome.total("link_retries", "sequence_errors"), 0, "of {} frames", sent);
    }
}
