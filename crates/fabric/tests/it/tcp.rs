//! TCP on a fabric: transfers on an idle path to the picosecond, and the effect of drops, marks and pauses on an
//! incast.

use crate::common::consistent::same;
use crate::common::*;
use fabric::spec::{CoreChange, HostSpec, ReceiveSpec, SwitchSpec};
use fabric::topology::{Cable, FatTree, Shape};
use frame::NodeId;
use proptest::prelude::TestCaseError;
use queueing::{
    Action, BufferSpec, Counts, IdleExponent, ManagerSpec, Mode, Moment, RedParams, Spacing, StepParams,
};
use std::sync::Arc;
use transport::{Application, ConnectionSpec, TcpKeys, TcpPreset, TcpSpec};
use units::{Amount, Bytes, Or, Time};

/// A preset without delayed acknowledgements.
fn preset(preset: TcpPreset) -> TcpKeys {
    TcpKeys { ack_every: 1, ..preset.keys() }
}
fn tcp(keys: &TcpKeys, bytes: Option<u64>) -> TcpSpec {
    keys.sized(bytes.map(Bytes::new), 1_522, 64).unwrap()
}
fn connect(net: &mut Net, name: &str, from: NodeId, to: NodeId, start: Time, spec: &TcpSpec) {
    let flow = net.flow(name, from, 3, greedy(to, 1_522, start));
    let application = Application::Tcp(spec.clone().into());
    flow.transport = Some(Arc::new(ConnectionSpec { start, stop: None, application }));
}
/// `senders` senders and one receiver around one switch, 10 Gb/s and 5 us.
fn incast(senders: usize, duration: Time, switch: &SwitchSpec, spec: &TcpSpec) -> Net {
    let mut net = Net::new(duration);
    net.0.probes.bin = None;
    let to = net.host("to", pausing());
    let sw = net.switch("sw", switch.clone());
    net.link(to, sw, gbps(10), us(5));
    for n in 0..senders {
        let from = net.host(&format!("h{n}"), pausing());
        net.link(from, sw, gbps(10), us(5));
        connect(&mut net, &format!("f{n}"), from, to, Time::ZERO, spec);
    }
    net
}
fn pausing() -> fabric::spec::HostSpec {
    fabric::spec::HostSpec { flow_control: Some(pfc(0x08).into()), ..host() }
}
/// A switch with 100 frames per queue and no flow control.
fn small() -> SwitchSpec {
    let buffer = BufferSpec { queue: Some(Amount::Frames(100)), ..BufferSpec::default() };
    SwitchSpec { buffer, ..switch() }
}
fn step(frames: u64) -> Vec<Option<ManagerSpec>> {
    let threshold = Amount::Frames(frames);
    let step = StepParams { threshold, at: Moment::Enqueue, counts: Counts::WithFrame, reference_rate: None };
    vec![Some(ManagerSpec::Step(step)); 8]
}
fn sum(outcome: &Outcome, column: &str) -> u64 {
    outcome.total("connections", column)
}
fn latest(outcome: &Outcome) -> f64 {
    outcome.reals("connections", "completed_ns").iter().copied().fold(0.0, f64::max)
}

/// Fractions of the factors that limit a connection: application, receive window, congestion control, pause, host.
fn held(outcome: &Outcome, flow: &str) -> [f64; 5] {
    ["application", "receive_window", "congestion_control", "pause", "host"]
        .map(|by| outcome.real("connections", flow, &format!("held_by_{by}")))
}

#[test]
fn what_holds_a_sender_back_is_told_apart() {
    let run = |keys: &TcpKeys, bytes| {
        let mut net = Net::new(us(1_000));
        let (a, b) = (net.host("a", host()), net.host("b", host()));
        net.link(a, b, gbps(10), us(20));
        connect(&mut net, "f", a, b, us(100), &tcp(keys, bytes));
        held(&net.run(), "f")
    };
    let rfc = preset(TcpPreset::Rfc);
    // One segment per round trip of 41.3 us: the link is never busy when the next segment is ready.
    let window = TcpKeys { receive_window: Or::Value(Amount::Frames(1)), ..rfc.clone() };
    assert_eq!(run(&window, None), [0.0, 1.0, 0.0, 0.0, 0.0]);
    // The window grows by one segment per round trip, which waits in the NIC's queue, not in front of it.
    let control = TcpKeys { initial_window: Amount::Frames(1), ..rfc.clone() };
    let control = TcpKeys { initial_threshold: Or::Value(Amount::Frames(1)), ..control };
    assert_eq!(run(&control, None), [0.0, 0.0, 1.0, 0.0, 0.0]);
    // A window larger than the path, so the wire is the limit: ten segments, followed by their acknowledgements.
    let wide = TcpKeys { initial_window: Amount::Frames(1_000), ..rfc };
    assert_eq!(run(&wide, None), [0.0, 0.0, 0.0, 0.0, 1.0]);
    let [application, .., host] = run(&wide, Some(14_600));
    // One segment is on the wire and one in the NIC's queue, so the tenth waits for eight; a round trip later, the
    // transfer is complete.
    let (segment, ack) = (1_542.0 * 0.8, 84.0 * 0.8);
    let waits = 8.0 * segment / (10.0 * segment + ack + 40_000.0);
    assert!((host - waits).abs() < 1e-9 && (application - 1.0 + waits).abs() < 1e-9, "{host} {application}");
}

#[test]
fn a_sender_that_is_paused_says_so() {
    // The receiver stops reading at 200 us; once the buffer is full, its NIC stops the sender until the end.
    let stop = us(200);
    let receive = ReceiveSpec {
        buffer: Some(64_000),
        script: vec![(stop, CoreChange::Stop)],
        ..ReceiveSpec::default()
    };
    let mut net = Net::new(us(2_000));
    let a = net.host("a", pausing());
    let b = net.host("b", HostSpec { receive: Some(receive), ..pausing() });
    net.link(a, b, gbps(10), ns(100));
    let wide = TcpKeys { initial_window: Amount::Frames(1_000), ..preset(TcpPreset::Rfc) };
    connect(&mut net, "f", a, b, Time::ZERO, &tcp(&wide, None));
    let outcome = net.run();
    let [application, window, control, pause, host] = held(&outcome, "f");
    assert_eq!((application, window, control), (0.0, 0.0, 0.0));
    // 64,000 B take 51.9 us with line overhead; a part of the buffer is headroom.
    assert!((0.87..0.9).contains(&pause) && (pause + host - 1.0).abs() < 1e-12, "{pause} {host}");
}

#[test]
fn a_transfer_on_an_idle_path_takes_what_arithmetic_says() {
    // Ten segments leave at once; with a handshake, a round trip of 64 B later.
    for switches in [1u64, 3] {
        for (handshake, segments) in [(false, 1), (false, 10), (true, 4), (true, 10)] {
            let keys = TcpKeys { handshake, ..preset(TcpPreset::Rfc) };
            let spec = tcp(&keys, Some(1_460 * segments));
            let mut net = Net::new(us(500));
            let (a, b) = (net.host("a", host()), net.host("b", host()));
            let mut last = a;
            for n in 0..switches {
                let next = net.switch(&format!("s{n}"), switch());
                net.link(last, next, gbps(10), ns(100));
                last = next;
            }
            net.link(last, b, gbps(10), ns(100));
            connect(&mut net, "f", a, b, us(1), &spec);
            let outcome = net.run();
            let wire = |bytes: u64| Time::from_ps((bytes + 20) * 800);
            // The whole frame on each link; those behind the first follow at the pace of one link.
            let way = |bytes| (wire(bytes) + ns(100)) * (switches + 1);
            let greeting = if handshake { way(64) * 2 } else { Time::ZERO };
            let end = us(1) + greeting + way(1_522) + wire(1_522) * (segments - 1) + way(64);
            let found = exact(outcome.real("connections", "f", "completed_ns"));
            assert_eq!(found, end, "{switches} {handshake} {segments}");
            assert_eq!(outcome.count("connections", "f", "segments_sent_again"), 0);
            let window = outcome.real("connections", "f", "congestion_window_bytes");
            assert!(window >= 14_600.0 && window <= (14_600 + 1_460 * segments) as f64);
        }
    }
}

#[test]
fn an_incast_times_out_where_frames_drop_and_not_where_they_are_marked_or_held_back() {
    let bytes = Some(100_000);
    let done = |outcome: &Outcome, senders: u64| {
        assert_eq!(outcome.error, None);
        assert_eq!(sum(outcome, "application_bytes"), senders * 100_000);
    };
    // Without marks, 32 windows of ten do not fit 100 frames: whole windows are lost, which only a timeout recovers.
    let lossy = TcpKeys { min_timeout: Time::from_ms(10), ..preset(TcpPreset::Rfc) };
    let spec = tcp(&TcpKeys { initial_timeout: Time::from_ms(10), ..lossy.clone() }, bytes);
    let dropped = incast(32, us(400_000), &small(), &spec).run();
    done(&dropped, 32);
    assert!(sum(&dropped, "timeouts") >= 10, "{}", sum(&dropped, "timeouts"));
    assert!(latest(&dropped) > 10e6);
    // The wire needs 32 * 69 * 1542 * 0.8 ns = 2.72 ms.
    let least = 2.72e6;
    // With pauses, no frame is lost and no connection waits for a timer.
    let lossless = SwitchSpec { flow_control: Some(pfc(0x08).into()), ..switch() };
    let paused = incast(32, us(400_000), &lossless, &spec).run();
    done(&paused, 32);
    assert_eq!((sum(&paused, "timeouts"), sum(&paused, "segments_sent_again")), (0, 0));
    assert!(latest(&paused) < 1.05 * least && latest(&paused) > least, "{}", latest(&paused));
    assert!(!paused.pauses().is_empty());
    // DCTCP from an initial window of two: marks, and a queue that no window overruns.
    let marking = SwitchSpec { managers: step(20).into(), ..small() };
    let keys = TcpKeys { initial_window: Amount::Frames(2), ..preset(TcpPreset::Datacenter) };
    let marked = incast(32, us(400_000), &marking, &tcp(&keys, bytes)).run();
    done(&marked, 32);
    assert!(sum(&marked, "marks_echoed") > 500);
    assert_eq!((sum(&marked, "timeouts"), sum(&marked, "segments_sent_again")), (0, 0));
    assert!(latest(&marked) < 1.1 * least, "{}", latest(&marked));
}

#[test]
fn dctcp_keeps_the_queue_at_the_threshold_and_the_link_full() {
    // K = 20 frames exceeds C * RTT / 7 (10 Gb/s * 25 us / 7 = 3 frames).
    let marking = SwitchSpec { managers: step(20).into(), ..small() };
    // Without jitter, the marks of a step repeatedly hit one flow (phase effects).
    let spec = tcp(&TcpKeys { send_jitter: us(2), ..preset(TcpPreset::Datacenter) }, None);
    let mut net = incast(2, us(40_000), &marking, &spec);
    net.0.warmup = us(10_000);
    let outcome = net.run();
    let rates: Vec<f64> = outcome.reals("flows", "throughput_bps").to_vec();
    let total: f64 = rates.iter().sum();
    // Frames of 1522 B are 1522 / 1542 of the wire.
    assert!(total > 0.995 * 9.87e9, "{rates:?}");
    // Equal flows get equal shares.
    assert!((rates[0] / rates[1] - 1.0).abs() < 0.1, "{rates:?}");
    let frames = outcome.integers("queues", "queue_frames_max").iter().copied().max().unwrap();
    // At the threshold, plus the overshoot of two windows in a round trip.
    assert!((20..=45).contains(&frames), "{frames}");
    assert_eq!(sum(&outcome, "segments_sent_again"), 0);
}

/// Presets under drops, random drops and marks, on a fat-tree: results are equal to the bit on any number of threads.
#[test]
fn threads_do_not_show() -> Result<(), TestCaseError> {
    let red = |action| {
        let red = RedParams {
            weight: 0.02,
            min: Amount::Frames(5),
            max: Amount::Frames(30),
            max_probability: 0.1,
            gentle: true,
            mode: Mode::Byte,
            spacing: Spacing::Uniform,
            action,
            mark_above_max: true,
            mean_frame: Bytes::new(1_000),
            counts: Counts::WithFrame,
            idle_exponent: IdleExponent::Elapsed,
            at: queueing::Moment::Enqueue,
            reference_rate: None,
            yellow: None,
            red: None,
        };
        vec![Some(ManagerSpec::Red(red)); 8]
    };
    let quick = |preset: TcpPreset| TcpKeys {
        min_timeout: us(300),
        initial_timeout: us(300),
        tick: Time::ZERO,
        transfer: Or::Value(Bytes::new(50_000)),
        idle: transport::Delay::Exponential(us(20)),
        handshake: true,
        ..preset.keys()
    };
    let cases = [
        (TcpPreset::Rfc, vec![], None),
        (TcpPreset::Ns2, red(Action::Drop), None),
        (TcpPreset::Linux, red(Action::Drop), None),
        (TcpPreset::Datacenter, step(10), Some(pfc(0x08).into())),
    ];
    for (preset, managers, flow_control) in cases {
        let spec = SwitchSpec { managers: managers.into(), flow_control, ..small() };
        let buffer = if spec.flow_control.is_some() { BufferSpec::default() } else { spec.buffer.clone() };
        let spec = SwitchSpec { buffer, ..spec };
        let cable = Cable::new(gbps(10), us(1));
        let graph = FatTree::new(4, cable).graph().unwrap();
        let mut net = Net::new(us(2_000));
        let mut hosts = vec![];
        for node in &graph.nodes {
            match node.role {
                fabric::topology::NodeRole::Host => hosts.push(net.host(&node.name, pausing())),
                fabric::topology::NodeRole::Switch => {
                    net.switch(&node.name, spec.clone());
                }
            }
        }
        for link in &graph.links {
            net.link(link.a, link.b, link.rates[0], link.delay);
        }
        let keys = quick(preset);
        for (n, &from) in hosts.iter().enumerate() {
            // Half of the senders send to one host, the others to their neighbours.
            let to = if n % 2 == 0 { hosts[1] } else { hosts[(n + 2) % hosts.len()] };
            connect(&mut net, &format!("f{n}"), from, to, us(n as u64), &tcp(&keys, None));
        }
        let once = net.run();
        assert!(sum(&once, "exchanges") > 30, "{preset:?}: {}", sum(&once, "exchanges"));
        if preset != TcpPreset::Datacenter {
            assert!(sum(&once, "segments_sent_again") > 20, "{preset:?}");
        }
        for threads in [2, 3] {
            same(&once, &net.run_on(threads, u64::MAX))?;
            same(&once, &net.run_on(threads, 3_000))?;
        }
    }
    Ok(())
}
