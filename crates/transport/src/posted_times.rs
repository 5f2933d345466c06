//! Tests the times, by activity, of messages that an application posts over TCP and UET: examples computed by hand, and
//! sums over a faulty wire.

use crate::pipe::{Outcome, Pipe, losing};
use crate::tcp_properties::any_spec;
use crate::testbed::{DELAY, RATE, draws, of_kind, tcp};
use crate::time_spent::{Clocks, MessageClock};
use crate::{
    ControllerSpec, Delay, FixedWindowParams, HostEvent, LossRecoveryKind, MessageTimes, Protocol, RcccKeys,
    RecordKind, Spent, TcpSpec, TransferReceiver, TransferSender, TransferSpec, UetControlKeys, UetKeys,
    UetReceiver, UetSender,
};
use proptest::prelude::*;
use std::sync::Arc;
use units::{Amount, Bytes, Or, Time};

const NEVER: Time = Time::NEVER;

fn over_tcp(spec: TcpSpec) -> Pipe<TransferSender, TransferReceiver> {
    let transfers = TransferSpec { size: None, total: Some(0), idle: Delay::default() };
    let spec = Arc::new(TcpSpec { transfers, ..spec });
    // The pipe has neither a preamble nor an inter-frame gap.
    let sender = TransferSender::new(&spec, [].into(), draws(1).1).on_link(RATE, 0);
    Pipe::new(sender, TransferReceiver::new(&spec, [].into()), RATE, DELAY)
}

fn uet() -> UetKeys {
    UetKeys {
        control: UetControlKeys::None(Default::default()),
        payload: Or::Value(Bytes::new(1_000)),
        timeout: Or::Value(Time::from_us(500)),
        loss_inference: Some(false),
        ..UetKeys::default()
    }
}

fn over_uet(keys: &UetKeys) -> Pipe<UetSender, UetReceiver> {
    let (spec, _) = keys.carrier(Some(Bytes::new(0)), 1_522).unwrap();
    let facts = crate::uet::UetFacts { overhead: 0, ..spec.facts(RATE, DELAY + DELAY, false) };
    let receiver = UetReceiver::new(&spec, 0, &facts);
    Pipe::new(UetSender::new(&spec, [].into(), facts, Time::ZERO, None), receiver, RATE, DELAY)
}

/// Posts messages of these sizes at once. Checks that the times of each message sum to its duration, and returns them
/// by label.
fn run<A: Protocol, B: Protocol>(
    pipe: &mut Pipe<A, B>,
    messages: &[u64],
    outcome: impl FnMut(usize, &crate::Segment) -> Outcome,
) -> Vec<MessageTimes> {
    let start = pipe.now;
    for (tag, &bytes) in (0..).zip(messages) {
        pipe.near.on_event(start, &HostEvent::Post { tag, bytes });
    }
    let before = of_kind(&pipe.records, RecordKind::Transfer).len();
    pipe.wake(0);
    pipe.run(NEVER, outcome);
    let ended: Vec<_> = std::iter::from_fn(|| pipe.near.poll_ended_with_times()).collect();
    let records = of_kind(&pipe.records, RecordKind::Transfer);
    assert_eq!((ended.len(), records.len() - before), (messages.len(), messages.len()));
    let mut found = vec![MessageTimes::default(); messages.len()];
    for ((tag, times), record) in ended.into_iter().zip(&records[before..]) {
        let times = times.expect("measured");
        // Times in nanoseconds saturate after 4.29 s.
        let whole = ((record.end - start).ps() / 1_000).min(u32::MAX.into());
        let sum = times.spent.iter().fold(u64::from(times.behind), |sum, &own| sum + u64::from(own));
        assert_eq!(sum, whole, "message {tag}: {times:?}");
        found[tag as usize] = times;
    }
    found
}

fn only<A: Protocol, B: Protocol>(
    pipe: &mut Pipe<A, B>,
    bytes: u64,
    outcome: impl FnMut(usize, &crate::Segment) -> Outcome,
) -> Box<dyn Fn(Spent) -> u32> {
    let times = run(pipe, &[bytes], outcome)[0];
    Box::new(move |what| times.on(what))
}

fn clean(_: usize, _: &crate::Segment) -> Outcome {
    Outcome::default()
}

/// Returns TCP with a constant window of this many segments.
fn fixed(segments: u64) -> TcpSpec {
    let controller = ControllerSpec::FixedWindow(FixedWindowParams { size: Amount::Frames(segments) });
    TcpSpec { controller, ..tcp(None, LossRecoveryKind::NewReno, 1) }
}

#[test]
fn a_message_over_tcp_is_sent_and_in_flight() {
    // Ten frames of 1058 B at 10 Gb/s take 846.4 ns each. The last frame counts as in flight from the start of its
    // transmission.
    let on = only(&mut over_tcp(fixed(100)), 10_000, clean);
    assert_eq!(on(Spent::Sending), 7_617);
    assert_eq!([Spent::Again, Spent::Rate, Spent::Window, Spent::Receiver, Spent::Pause].map(&*on), [0; 5]);
    // Time in flight: the frame, an acknowledgement of 64 B, and the delay in both directions.
    let flight = (Time::from_ps(846_400 + 51_200) + DELAY + DELAY).ps() / 1_000;
    assert!(u64::from(on(Spent::UnderWay)).abs_diff(flight) <= 1, "{}", on(Spent::UnderWay));
}

#[test]
fn windows_of_sender_and_receiver_are_told_apart_over_tcp() {
    // 25 round trips of four segments each. In 24 of them the next segment waits for the acknowledgement of the first.
    let wait = |on: u32| {
        let trip = (Time::from_ps(846_400 + 51_200) + DELAY + DELAY).ps() / 1_000;
        (u64::from(on)).abs_diff(24 * (trip - 4 * 846)) < 100
    };
    let on = only(&mut over_tcp(fixed(4)), 100_000, clean);
    assert!(wait(on(Spent::Window)) && on(Spent::Receiver) == 0, "{}", on(Spent::Window));
    let on = only(&mut over_tcp(TcpSpec { window: 4_000, ..fixed(100) }), 100_000, clean);
    assert!(wait(on(Spent::Receiver)) && on(Spent::Window) == 0, "{}", on(Spent::Receiver));
    // A handshake counts as waiting for the window.
    let on = only(&mut over_tcp(TcpSpec { handshake: true, ..fixed(100) }), 10_000, clean);
    let trip = (Time::from_ps(2 * 51_200) + DELAY + DELAY).ps() / 1_000;
    assert!(u64::from(on(Spent::Window)).abs_diff(trip) <= 1, "{}", on(Spent::Window));
}

#[test]
fn a_loss_over_tcp_is_retransmission() {
    // The last segment is lost: the timer runs from the previous acknowledgement on.
    let mut pipe = over_tcp(fixed(100));
    let on = only(&mut pipe, 10_000, losing(&[9]));
    let timeout = pipe.sent_by(0)[10].0 - pipe.sent_by(0)[9].0;
    assert!(u64::from(on(Spent::Again)).abs_diff(timeout.ps() / 1_000) < 1_000, "{}", on(Spent::Again));
    // The last segment is lost while the receive window is full.
    let full = TcpSpec { window: 4_000, ..fixed(100) };
    let on = only(&mut over_tcp(full), 10_000, losing(&[0, 1, 2, 3]));
    assert!(on(Spent::Again) > 400_000 && on(Spent::Receiver) < 100_000, "{}", on(Spent::Again));
    // A segment near the end is lost. Recovery lasts from the third duplicate until everything sent before it is
    // acknowledged, which is a round trip.
    for recovery in LossRecoveryKind::ALL {
        let mut pipe = over_tcp(TcpSpec { recovery: *recovery, ..fixed(40) });
        let on = only(&mut pipe, 60_000, losing(&[50]));
        let trip = (DELAY + DELAY).ps() / 1_000;
        assert!(u64::from(on(Spent::Again)) > trip / 2, "{recovery:?}: {}", on(Spent::Again));
        assert!(u64::from(on(Spent::Again)) < 5 * trip, "{recovery:?}: {}", on(Spent::Again));
        // The times of the next message are those without a loss.
        let on = only(&mut pipe, 10_000, clean);
        assert_eq!(on(Spent::Again), 0, "{recovery:?}");
    }
}

#[test]
fn pauses_are_part_of_the_wait_for_the_nic() {
    let mut pipe = over_tcp(fixed(100));
    pipe.near.on_event(Time::ZERO, &HostEvent::Post { tag: 0, bytes: 1_000 });
    let at = Time::from_us(50);
    pipe.near.on_event(at, &HostEvent::Stopped(Time::from_us(30)));
    assert!(pipe.near.poll_transmit(at).is_some());
    let ack = crate::Segment::new(frame::FrameKind::Ack, 1_000, 64);
    pipe.near.handle_frame(Time::from_us(60), &(&ack).into());
    let (_, times) = pipe.near.poll_ended_with_times().unwrap();
    let times = times.unwrap();
    assert_eq!(
        [Spent::Pause, Spent::Host, Spent::UnderWay].map(|what| times.on(what)),
        [30_000, 20_000, 10_000]
    );
    let mut near = over_uet(&uet()).near;
    near.on_event(Time::ZERO, &HostEvent::Post { tag: 0, bytes: 1_000 });
    near.on_event(at, &HostEvent::Stopped(Time::from_us(30)));
    assert!(near.poll_transmit(at).is_some());
    let header = frame::UetHeader {
        word: crate::RdmaWord { number: 1, flags: [false; 3], pair: 0 }.bits(),
        packet: frame::UetPacket::Ack,
        ..Default::default()
    };
    let ack = crate::Segment {
        header: Some(frame::Header::Uet(header)),
        ..crate::Segment::new(frame::FrameKind::Ack, 0, 90)
    };
    near.handle_frame(Time::from_us(60), &(&ack).into());
    let times = near.poll_ended_with_times().unwrap().1.unwrap();
    assert_eq!(
        [Spent::Pause, Spent::Host, Spent::UnderWay].map(|what| times.on(what)),
        [30_000, 20_000, 10_000]
    );
}

#[test]
fn messages_over_uet_wait_for_those_before_them() {
    // Packets of 1102 B take 881.6 ns each.
    let times = run(&mut over_uet(&uet()), &[10_000, 3_000], clean);
    assert_eq!((times[0].behind, times[0].on(Spent::Sending)), (0, 9 * 8816 / 10));
    assert!(times[1].behind.abs_diff(9 * 8816 / 10) <= 1, "{times:?}");
    for what in [Spent::Again, Spent::Rate, Spent::Window, Spent::Receiver, Spent::Pause] {
        assert_eq!((times[0].on(what), times[1].on(what)), (0, 0), "{what:?}");
    }
}

#[test]
fn losses_and_windows_over_uet() {
    // The last packet is lost, the only one that requests an acknowledgement: after 500 us all ten are retransmitted.
    let on = only(&mut over_uet(&uet()), 10_000, losing(&[9]));
    assert!((500_000..=510_000).contains(&on(Spent::Again)), "{}", on(Spent::Again));
    // With a PSN range of four packets, there are 24 waits of a round trip minus the packets' time on the link.
    let on = only(
        &mut over_uet(&UetKeys { psn_range: 4, ack_every: Or::Value(Bytes::new(1)), ..uet() }),
        100_000,
        clean,
    );
    assert!(on(Spent::Window) > 100_000, "{}", on(Spent::Window));
    // Marks reduce the window of NSCC.
    let nscc = UetKeys { control: UetControlKeys::default(), ..uet() };
    let mut quiet = over_uet(&nscc);
    let without = only(&mut quiet, 400_000, clean);
    let with = only(&mut over_uet(&nscc), 400_000, |end, _| Outcome {
        marked: end == 0,
        extra: if end == 0 { Time::from_us(20) } else { Time::ZERO },
        ..Outcome::default()
    });
    assert!(with(Spent::Window) > 2 * without(Spent::Window) + 50_000, "{}", with(Spent::Window));
    // The sender waits for credits that have not been granted yet.
    let rccc = UetKeys { control: UetControlKeys::Rccc(RcccKeys::default()), ..uet() };
    let on = only(&mut over_uet(&rccc), 400_000, clean);
    assert_eq!(on(Spent::Again), 0);
}

#[test]
fn transfers_that_nobody_waits_for_have_no_clock() {
    let mut pipe = over_uet(&uet());
    pipe.near.send(10_000, Time::ZERO);
    let without = pipe.near.memory_bytes();
    let mut other = over_uet(&uet());
    other.near.on_event(Time::ZERO, &HostEvent::Post { tag: 0, bytes: 10_000 });
    assert_eq!(other.near.memory_bytes() - without, size_of::<Clocks>() + size_of::<MessageClock>());
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(100))]

    #[test]
    fn times_over_tcp_add_up(
        spec in any_spec(), messages in prop::collection::vec(1u64..60_000, 1..6), loss in 0u64..20, seed in any::<u64>(),
    ) {
        let mut draw = draws(seed).0;
        let mut pipe = over_tcp(spec);
        for _ in 0..2 {
            run(&mut pipe, &messages, |_, _| Outcome { lost: draw(100) < loss, ..Outcome::default() });
        }
    }

    #[test]
    fn times_over_uet_add_up(
        messages in prop::collection::vec(1u64..60_000, 1..6), loss in 0u64..20, seed in any::<u64>(), kind in 0..3, contexts in 1u64..4,
    ) {
        let control = match kind {
            0 => UetControlKeys::None(Default::default()),
            1 => UetControlKeys::default(),
            _ => UetControlKeys::Rccc(RcccKeys::default()),
        };
        let mut draw = draws(seed).0;
        let mut pipe = over_uet(&UetKeys { control, contexts, retries: 255, ..uet() });
        for _ in 0..2 {
            run(&mut pipe, &messages, |_, _| Outcome { lost: draw(100) < loss, ..Outcome::default() });
        }
    }
}
