//! Tests messages that an application posts one by one over a faulty wire: each ends once at either end, and its memory
//! is released.

use crate::pipe::{Outcome, Pipe};
use crate::rdma_examples::{keys, spec};
use crate::tcp_properties::any_spec;
use crate::testbed::{DELAY, RATE, draws};
use crate::{
    Delay, HostEvent, Protocol, RdmaKeys, RdmaReceiver, RdmaRecovery, RdmaSender, TcpSpec, TransferReceiver,
    TransferSender, TransferSpec,
};
use proptest::prelude::*;
use std::sync::Arc;
use units::Time;

fn post(near: &mut impl Protocol, tag: u32, bytes: u64, now: Time) {
    near.on_event(now, &HostEvent::Post { tag, bytes });
}

/// Returns the labels of the messages that have ended at an end since the last call, in ascending order.
fn ended(end: &mut impl Protocol) -> Vec<u32> {
    let mut all: Vec<u32> = std::iter::from_fn(|| end.poll_ended()).collect();
    all.sort_unstable();
    all
}

fn over_rdma(keys: &RdmaKeys) -> Pipe<RdmaSender, RdmaReceiver> {
    let spec = spec(keys);
    let facts = spec.facts(RATE, DELAY + DELAY, 0, 20);
    let receiver = RdmaReceiver::reading(&spec, &[].into(), Time::ZERO, None).on_path(facts.base_rtt);
    Pipe::new(RdmaSender::new(&spec, [].into(), facts, Time::ZERO, None), receiver, RATE, DELAY)
}

fn over_tcp(spec: TcpSpec) -> Pipe<TransferSender, TransferReceiver> {
    let transfers = TransferSpec { size: None, total: Some(0), idle: Delay::default() };
    let spec = Arc::new(TcpSpec { transfers, ..spec });
    let sender = TransferSender::new(&spec, [].into(), draws(1).1);
    Pipe::new(sender, TransferReceiver::new(&spec, [].into()), RATE, DELAY)
}

/// Posts rounds of messages over a wire with these faults. Each round is posted when the one before is complete.
fn rounds<A: Protocol, B: Protocol>(
    mut pipe: Pipe<A, B>,
    (rounds, messages): (u32, &[u64]),
    (loss, seed): (u64, u64),
) -> Vec<usize> {
    let mut draw = draws(seed).0;
    let mut memory = Vec::new();
    for round in 0..rounds {
        let tags: Vec<u32> = (0..messages.len() as u32).map(|nth| round * 1_000 + nth).collect();
        for (&tag, &bytes) in tags.iter().zip(messages) {
            post(&mut pipe.near, tag, bytes, pipe.now);
        }
        pipe.wake(0);
        pipe.run(Time::NEVER, |_, _| Outcome {
            lost: draw(100) < loss,
            marked: false,
            trimmed: false,
            twice: draw(100) < 10,
            extra: Time::ZERO,
        });
        assert_eq!([ended(&mut pipe.near), ended(&mut pipe.far)], [tags.clone(), tags], "round {round}");
        memory.push(pipe.near.memory_bytes() + pipe.far.memory_bytes());
    }
    memory
}

#[test]
fn memory_of_messages_is_given_back() {
    for memory in [
        rounds(over_rdma(&keys()), (200, &[5_000, 0, 1]), (0, 1)),
        rounds(
            over_tcp(crate::testbed::tcp(None, crate::LossRecoveryKind::Sack, 10)),
            (200, &[5_000, 0, 1]),
            (0, 1),
        ),
    ] {
        assert_eq!(memory[199], memory[9], "{memory:?}");
    }
}

#[test]
fn messages_without_data_take_a_packet() {
    let mut pipe = over_rdma(&keys());
    post(&mut pipe.near, 7, 0, Time::ZERO);
    pipe.wake(0);
    pipe.run_clean(Time::NEVER);
    assert_eq!([ended(&mut pipe.near), ended(&mut pipe.far)], [vec![7], vec![7]]);
    assert_eq!(pipe.sent_by(0).len(), 1);
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(100))]

    #[test]
    fn each_ends_once_over_queue_pairs(
        messages in prop::collection::vec(0u64..20_000, 1..10), loss in 0u64..20, seed in any::<u64>(), selective in any::<bool>(),
    ) {
        let recovery = if selective { RdmaRecovery::Selective } else { RdmaRecovery::GoBackN };
        rounds(over_rdma(&RdmaKeys { recovery, retries: 255, ..keys() }), (3, &messages), (loss, seed));
    }

    #[test]
    fn each_ends_once_over_connections(
        spec in any_spec(), messages in prop::collection::vec(0u64..20_000, 1..10), loss in 0u64..20, seed in any::<u64>(),
    ) {
        rounds(over_tcp(spec), (3, &messages), (loss, seed));
    }
}
