//! Invariants of RDMA queue pairs for any received packets: they do not panic, do not accept acknowledgements of unsent
//! data, and send nothing in the error state, and the memory of both ends is bounded.

use crate::pair::{End, kind, play, word_near};
use frame::{Header, Ports, RdmaHeader, Telemetry, Trim};
use std::sync::Arc;
use transport::{
    Protocol, QueuePairs, RdmaControlKeys, RdmaKeys, RdmaReceiver, RdmaRecovery, RdmaSender, RdmaVerb,
    RdmaWord, Received, Segment,
};
use units::{Amount, BitRate, Bytes, Or, Time};
use workload::Due;

const SIZES: [u64; 6] = [1, 70, 1_000, 5_000, 40_000, 300];
const VERBS: [RdmaVerb; 3] = [RdmaVerb::Send, RdmaVerb::Write, RdmaVerb::Read];
const PAIRS: [QueuePairs; 3] = [QueuePairs::One, QueuePairs::Free, QueuePairs::Each];
/// Maximum state of a receiver per queue pair in bytes: up to 2^16 packets out of order, and packets to send.
const MOST_BYTES: usize = 2 << 20;

/// Checks a pair of ends. The first three bytes select verb, recovery and control, the rest are steps.
///
/// # Errors
/// The violated invariant.
pub fn check(bytes: &[u8]) -> Result<(), String> {
    let Some((&[first, second, third], steps)) = bytes.split_first_chunk() else { return Ok(()) };
    let control = match second % 5 {
        0 => RdmaControlKeys::None(Default::default()),
        1 => RdmaControlKeys::Dcqcn(Default::default()),
        2 => RdmaControlKeys::Swift(Default::default()),
        3 => RdmaControlKeys::Hpcc(Default::default()),
        _ => RdmaControlKeys::Timely(Default::default()),
    };
    let keys = RdmaKeys {
        verb: VERBS[usize::from(first) % VERBS.len()],
        recovery: if first & 64 == 0 { RdmaRecovery::GoBackN } else { RdmaRecovery::Selective },
        queue_pairs: PAIRS[usize::from(third) % PAIRS.len()],
        window: (third & 64 != 0).then_some(Or::Value(Amount::Frames(4))),
        mtu: Or::Value(Bytes::new(if second & 64 == 0 { 1_000 } else { 7 })),
        timeout: Time::from_us(1 + u64::from(second)),
        retries: u64::from(first % 8),
        control,
        ..RdmaKeys::default()
    };
    let (spec, _) = keys.carrier(Some(Bytes::new(0)), 1_522).map_err(|wrong| format!("{wrong:?}"))?;
    let due = |(nth, &bytes): (u64, &u64)| Due {
        start: Time::from_us(nth),
        bytes,
        ports: Ports::default(),
        awaited: nth % 2 == 0,
    };
    let due: Arc<[Due]> = (0..).zip(&SIZES).map(due).collect();
    let facts = spec.facts(BitRate::from_gbps(10), Time::from_us(10), 1, 20);
    let mut sender = RdmaSender::new(&spec, due.clone(), facts, Time::ZERO, None);
    let mut receiver = RdmaReceiver::reading(&spec, &due, Time::ZERO, None);
    let near = End { it: &mut sender, holds: &sender_holds };
    let far = End { it: &mut receiver, holds: &receiver_holds };
    play(near, far, steps, &forged)
}

fn sender_holds(sender: &RdmaSender) -> Result<(), String> {
    for pair in sender.queue_pairs() {
        let counts = pair.counts;
        if pair.outstanding() > 1 << 23 || counts.retransmitted > counts.sent {
            return Err(format!("{} packets outstanding, {counts:?}", pair.outstanding()));
        }
        if pair.failed().is_some() && (pair.has_work() || pair.poll_timeout().is_some()) {
            return Err("a queue pair in error goes on".into());
        }
    }
    let bytes = sender.counts().bytes;
    let outcomes = sender.outcomes().len();
    let all: u64 = SIZES.iter().sum();
    // READ responses to a forged request are not in the list of messages.
    if !sender.is_read() && (bytes > all || outcomes > SIZES.len()) {
        return Err(format!("{bytes} B acknowledged of {all} B, {outcomes} outcomes"));
    }
    Ok(())
}

fn receiver_holds(receiver: &RdmaReceiver) -> Result<(), String> {
    let (bytes, undelivered) = (receiver.memory_bytes(), receiver.facts(Time::ZERO).undelivered);
    if bytes > MOST_BYTES * SIZES.len() {
        return Err(format!("the receiver keeps {bytes} B"));
    }
    if undelivered.frames > 0 && undelivered.bytes == 0 {
        return Err("frames without bytes".into());
    }
    Ok(())
}

/// Creates a packet, with numbers close to those of a sent one, or arbitrary.
fn forged(step: &[u8], like: Option<&Segment>, now: Time) -> Received {
    let known = like.map(|like| match like.header {
        Some(Header::Rdma(header)) => header,
        _ => RdmaHeader { word: like.word, pair: RdmaWord::of(like.word).pair, ..RdmaHeader::default() },
    });
    let known = known.unwrap_or_default();
    let small = |byte: u8| u32::from(byte) * u32::from(step[15]);
    let telemetry = match step[11] >> 5 {
        0 => Telemetry::Hops(step[12] % 8),
        1 => Telemetry::Worst { utilisation: small(step[12]), over: Time::from_ns(step[13].into()) },
        _ => known.telemetry,
    };
    let header = RdmaHeader {
        word: word_near(known.word, step),
        pair: if step[11] & 1 == 0 { known.pair } else { u32::from(step[12]) % 9 },
        echo: if step[11] & 2 == 0 {
            known.echo
        } else {
            Some(now.saturating_sub(Time::from_ns(step[14].into()))).into()
        },
        arrived: if step[11] & 4 == 0 { known.arrived } else { Some(small(step[13])) },
        requested: if step[11] & 8 == 0 { known.requested } else { small(step[14]) },
        immediate: if step[11] & 16 == 0 { known.immediate } else { small(step[12]) },
        lost: if step[11] & 32 == 0 { known.lost } else { u64::from(small(step[13])) << (step[12] % 64) },
        telemetry,
    };
    let is_same = like.filter(|_| step[5] & 7 != 0);
    Received {
        kind: is_same.map_or_else(|| kind(step[5] >> 3), |like| like.kind),
        word: header.word,
        header: (step[4] & 1 == 0).then_some(Header::Rdma(header)),
        bytes: like.map_or(64 + u16::from(step[13]) * 5, |like| like.bytes),
        congestion_experienced: step[4] & 2 != 0,
        created: now.saturating_sub(Time::from_ns(step[14].into())),
        trim: if step[4] & 28 == 28 { Trim::Trimmed } else { Trim::Whole },
        entropy: 0,
    }
}
