//! Scheduled transfers over TCP: their assignment to connections, computed by hand, and invariants over any wire.

use crate::pipe::{Outcome, Pipe, connect};
use crate::tcp_properties::{any_spec, nonsense};
use crate::testbed::{DELAY, RATE, draws, over, tcp};
use crate::{
    Application, Delay, LossRecoveryKind, Protocol, TcpSpec, TransferOutcome, TransferReceiver,
    TransferSender, TransferSpec,
};
use frame::Ports;
use proptest::prelude::*;
use std::sync::Arc;
use units::Time;
use workload::Due;

type Pool = Pipe<TransferSender, TransferReceiver>;

fn us(us: u64) -> Time {
    Time::from_us(us)
}
/// Returns a transfer that any connection may carry.
fn due_at(start: Time, bytes: u64) -> Due {
    Due { start, bytes, ports: Ports::default(), awaited: false }
}
/// Returns the specification without transfers of its own.
fn offered(spec: TcpSpec) -> Arc<TcpSpec> {
    let transfers = TransferSpec { size: None, total: Some(0), idle: Delay::default() };
    Arc::new(TcpSpec { transfers, ..spec })
}
fn pool(spec: TcpSpec, due: &[Due]) -> Pool {
    let spec = offered(spec);
    let sender = TransferSender::new(&spec, due.into(), draws(1).1);
    Pipe::new(sender, TransferReceiver::new(&spec, due.into()), RATE, DELAY)
}
fn outcome(acknowledged: Time, connection: u32) -> TransferOutcome {
    TransferOutcome { acknowledged, missing: 0, sent_again: 0, timeouts: 0, reused: false, connection }
}

#[test]
fn a_transfer_takes_a_free_connection_or_a_new_one() {
    // Segments of 1000 B (1058 B with headers) take 846.4 ns, acknowledgements 51.2 ns, and the wire 5 us. The first
    // two transfers begin together and take turns: first, second, first (its end), second. The third begins when both
    // are done.
    let due = [(0, 2_000), (0, 1_500), (100, 1_000)].map(|(at, bytes)| due_at(us(at), bytes));
    let mut pipe = pool(tcp(None, LossRecoveryKind::NewReno, 4), &due);
    pipe.run_clean(Time::NEVER);
    let wire = |bytes: u64| pipe.wire(bytes);
    let third = wire(1_058) * 3 + DELAY;
    let fourth = wire(1_058) * 3 + wire(558) + DELAY;
    let last = us(100) + wire(1_058) + DELAY;
    assert_eq!([0, 1, 2].map(|nth| pipe.far.delivered(nth)), [Some(third), Some(fourth), Some(last)]);
    let back = wire(64) + DELAY;
    let outcomes =
        [(third, 0), (fourth, 1), (last, 1)].map(|(at, connection)| outcome(at + back, connection));
    assert_eq!(pipe.near.outcomes()[..2], outcomes[..2]);
    assert_eq!(pipe.near.outcomes()[2], TransferOutcome { reused: true, ..outcomes[2] });
    assert_eq!(pipe.near.connections(), 2);
    // The connection that was used last is the second one. Only the first connection has no label.
    let words: Vec<bool> = pipe.sent_by(0).iter().map(|(_, segment)| segment.header.is_some()).collect();
    assert_eq!(words, [false, true, true, true, true]);
}

#[test]
fn a_connection_that_begins_anew_greets_and_starts_slowly() {
    // A window of one segment, and a threshold of the same size. After the acknowledgements the window is 2, 2.5 and
    // 2.9 segments.
    let due = [0, 200].map(|at| due_at(us(at), 3_000));
    let took = |reconnect| {
        let mut pipe =
            pool(TcpSpec { handshake: true, reconnect, ..tcp(None, LossRecoveryKind::NewReno, 1) }, &due);
        pipe.run_clean(Time::NEVER);
        assert_eq!(pipe.near.connections(), 1);
        let outcomes = pipe.near.outcomes();
        [outcomes[0].acknowledged, outcomes[1].acknowledged - us(200)]
    };
    let (segment, small) = (Time::from_ps(846_400), Time::from_ps(51_200));
    let round = segment + small + DELAY * 2;
    // A handshake, a round of one segment, and a round of two.
    let first = (small + DELAY) * 2 + round + round + segment;
    assert_eq!(took(true), [first, first]);
    // Two segments are sent at once, and the first acknowledgement releases the third.
    assert_eq!(took(false), [first, round * 2]);
}

#[test]
fn given_ports_are_a_connection() {
    // Five transfers, one after the other. The third has the ports of the first, and the last two have those of the
    // second.
    let due: Vec<Due> = (0..)
        .zip([1, 2, 1, 2, 2])
        .map(|(nth, source)| Due { ports: Ports { source, destination: 80 }, ..due_at(us(nth * 100), 5_000) })
        .collect();
    let mut pipe = pool(tcp(None, LossRecoveryKind::Sack, 10), &due);
    pipe.run_clean(Time::NEVER);
    // One connection is enough: it is closed, and reopened with other ports.
    assert_eq!(pipe.near.connections(), 1);
    let reused: Vec<bool> = pipe.near.outcomes().iter().map(|outcome| outcome.reused).collect();
    assert_eq!(reused, [false, false, false, false, true]);
}

#[test]
fn a_loss_counts_for_the_transfer_that_it_hits() {
    let due = [0, 0, 0].map(|at| due_at(us(at), 1_000));
    let mut pipe = pool(tcp(None, LossRecoveryKind::NewReno, 4), &due);
    let mut sent = 0;
    pipe.run(Time::NEVER, |end, _| {
        sent += usize::from(end == 0);
        Outcome { lost: end == 0 && sent == 2, ..Outcome::default() }
    });
    let outcomes = pipe.near.outcomes();
    assert_eq!(
        outcomes.iter().map(|it| (it.sent_again, it.timeouts)).collect::<Vec<_>>(),
        [(0, 0), (1, 1), (0, 0)]
    );
    assert!(outcomes[1].acknowledged > us(1_000) && outcomes[2].acknowledged < us(20));
}

#[test]
fn many_short_ones_take_the_memory_of_one() {
    let due: Vec<Due> = (0..1_000).map(|nth| due_at(us(nth * 50), 5_000)).collect();
    let mut pipe = pool(TcpSpec { reconnect: true, ..tcp(None, LossRecoveryKind::Sack, 10) }, &due);
    pipe.run_clean(Time::NEVER);
    assert_eq!((pipe.near.connections(), pipe.near.outcomes().len()), (1, 1_000));
    assert!((0..1_000).all(|nth| pipe.far.delivered(nth).is_some()));
}

#[test]
fn one_that_waits_begins_when_it_is_released() {
    let due = [due_at(us(0), 2_000), due_at(us(50), 1_000), due_at(Time::NEVER, 3_000)];
    let mut pipe = pool(tcp(None, LossRecoveryKind::NewReno, 4), &due);
    pipe.run_clean(us(200));
    assert_eq!(pipe.near.outcomes().len(), 2);
    assert_eq!(pipe.far.delivered(2), None);
    pipe.near.release(2, us(200));
    pipe.run_clean(Time::NEVER);
    let outcomes = pipe.near.outcomes();
    assert_eq!((outcomes.len(), outcomes[2].missing), (3, 0));
    assert!(pipe.far.delivered(2).is_some_and(|at| us(200) + pipe.wire(1_058) * 3 + DELAY <= at));
}

#[test]
fn both_ends_are_made_together() {
    let application =
        Application::Transfers(crate::Scheduled::Tcp(offered(tcp(None, LossRecoveryKind::Sack, 2))));
    let mut pipe = connect(&over(application), RATE, DELAY);
    pipe.run_clean(us(1));
    assert_eq!((pipe.near.name(), pipe.far.name()), ("transfer_sender", "transfer_receiver"));
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(200))]

    /// Tests delivery over a wire that loses, reorders and duplicates.
    #[test]
    fn every_transfer_arrives(
        spec in any_spec(),
        starts in prop::collection::vec((0u64..3_000, 1u64..30_000), 1..12),
        loss in 0u32..20,
        jitter in 0u64..20_000,
        seed in any::<u64>(),
    ) {
        let mut due: Vec<Due> =
            starts.iter().map(|&(at, bytes)| Due { awaited: true, ..due_at(us(at), bytes) }).collect();
        due.sort_by_key(|due| due.start);
        let mut pipe = pool(spec, &due);
        let mut draw = draws(seed).0;
        pipe.run(Time::NEVER, |_, _| Outcome {
            lost: draw(100) < loss.into(),
            trimmed: false,
            marked: false,
            twice: draw(100) < 10,
            extra: Time::from_ns(if jitter > 0 { draw(jitter) } else { 0 }),
        });
        let outcomes = pipe.near.outcomes();
        prop_assert_eq!(outcomes.len(), due.len());
        for (nth, (due, outcome)) in due.iter().zip(&outcomes).enumerate() {
            let delivered = pipe.far.delivered(nth).expect("delivered");
            prop_assert!(due.start < delivered && delivered < outcome.acknowledged);
            prop_assert!(outcome.acknowledged != Time::NEVER && outcome.missing == 0);
        }
        // Each end reports the completion of each awaited transfer once.
        let mut ends = [Vec::new(), Vec::new()];
        ends[0].extend(std::iter::from_fn(|| pipe.near.poll_ended()));
        ends[1].extend(std::iter::from_fn(|| pipe.far.poll_ended()));
        ends.iter_mut().for_each(|of| of.sort_unstable());
        let all: Vec<u32> = (0..due.len() as u32).collect();
        prop_assert_eq!(&ends, &[all.clone(), all]);
        let again: u64 = outcomes.iter().map(|it| u64::from(it.sent_again)).sum();
        prop_assert_eq!(again, pipe.near.retransmitted());
        prop_assert!(pipe.near.connections() <= due.len());
        prop_assert!(!pipe.near.has_work() && !pipe.far.has_work());
    }

    /// Tests that ends that receive arbitrary frames at any time neither panic nor accept impossible ones.
    #[test]
    fn nonsense_is_survived(
        spec in any_spec(),
        steps in prop::collection::vec((0u32..8, any::<u32>(), any::<u16>(), any::<[u8; 8]>()), 1..200),
    ) {
        let spec = offered(spec);
        let due = [0, 10, 20, 30].map(|at| due_at(us(at), 9_000));
        let mut sender = TransferSender::new(&spec, due.as_slice().into(), draws(1).1);
        let mut receiver = TransferReceiver::new(&spec, due.as_slice().into());
        let mut now = Time::ZERO;
        for (step, word, bytes, salt) in steps {
            now += Time::from_ns(u64::from(bytes));
            let frame = nonsense(word, bytes, salt, now, 9_000);
            match step {
                0 | 1 => sender.handle_frame(now, &frame),
                2 | 3 => receiver.handle_frame(now, &frame),
                4 => sender.handle_timeout(now),
                5 => receiver.handle_timeout(now),
                6 => while sender.poll_transmit(now).is_some() {},
                _ => while receiver.poll_transmit(now).is_some() {},
            }
            while sender.poll_record().is_some() {}
            prop_assert!(sender.connections() <= due.len());
            prop_assert!(sender.outcomes().iter().all(|it| it.missing <= 9_000));
        }
    }
}
