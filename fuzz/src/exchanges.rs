//! Invariants of the ends of FCoE and iWARP for any received frames.

use crate::pair::{End, plain, play};
use crate::segments::FACTS;
use rand::SeedableRng;
use rand_xoshiro::Xoshiro256PlusPlus;
use transport::{
    ApplicationKeys, Conversation, ConversationKeys, Delay, Fcoe, FcoeKeys, FcpOperation, IwarpKeys,
    IwarpOperation, Messages, Protocol, Talk, TcpKeys,
};
use units::{Bytes, Or, Time};

fn rng(seed: u8) -> Xoshiro256PlusPlus {
    Xoshiro256PlusPlus::seed_from_u64(seed.into())
}

/// Checks FCoE. The first two bytes select operation, block and queue depth, the rest are steps.
///
/// # Errors
/// The violated invariant.
pub fn fcoe(bytes: &[u8]) -> Result<(), String> {
    let Some((&[first, second], steps)) = bytes.split_first_chunk() else { return Ok(()) };
    let keys = FcoeKeys {
        operation: if first & 1 == 0 { FcpOperation::Read } else { FcpOperation::Write },
        block: Bytes::new(1 + 300 * u64::from(second)),
        max_burst: if first & 2 == 0 { Or::word() } else { Or::Value(Bytes::new(5_000)) },
        outstanding: 1 + u64::from(first >> 4),
        think: Delay::Exponential(Time::from_us(2)),
        service: Delay::Fixed(Time::from_us(1)),
        ulp_tov: Time::from_us(1 + u64::from(second)),
        requires_lossless: false,
    };
    let (spec, _) = keys.spec(None, 2_180).map_err(|wrong| format!("{wrong:?}"))?;
    let mut near = Fcoe::initiator(&spec, Time::ZERO, None, rng(first));
    let mut far = Fcoe::target(&spec, rng(second));
    let near = End { it: &mut near, holds: &holds };
    play(near, End { it: &mut far, holds: &holds }, steps, &plain)
}

fn holds(end: &Fcoe) -> Result<(), String> {
    let (bytes, undelivered) = (end.memory_bytes(), end.facts(Time::ZERO).undelivered);
    if bytes > 1 << 20 || undelivered.bytes < undelivered.frames {
        return Err(format!("it keeps {bytes} B, {undelivered:?}"));
    }
    Ok(())
}

/// Checks iWARP over a TCP connection. The first two bytes select operation, markers and message, the rest are steps.
///
/// # Errors
/// The violated invariant.
pub fn iwarp(bytes: &[u8]) -> Result<(), String> {
    let Some((&[first, second], steps)) = bytes.split_first_chunk() else { return Ok(()) };
    let operation =
        [IwarpOperation::Read, IwarpOperation::Write, IwarpOperation::Send][usize::from(first) % 3];
    let own = IwarpKeys { message: Bytes::new(1 + 200 * u64::from(second)), markers: first & 8 == 0 };
    let keys = ConversationKeys {
        messages: Messages::Of(Talk::Iwarp(operation, own)),
        outstanding: 1 + u64::from(first >> 4),
        think: Delay::Fixed(Time::ZERO),
        service: Delay::Exponential(Time::from_us(1)),
        tcp: Some(Box::new(TcpKeys { handshake: first & 4 != 0, ..TcpKeys::default() })),
        rdma: None,
        uet: None,
    };
    let (spec, _) = Box::new(keys).spec(None, 1_522).map_err(|wrong| format!("{wrong:?}"))?;
    let mut near = Conversation::opener(&spec, (Time::ZERO, None), FACTS, rng(first));
    let mut far = Conversation::answerer(&spec, FACTS, rng(second));
    let holds = |end: &Conversation| {
        let Some(sender) = end.tcp_sender() else { return Err("iWARP without TCP".to_string()) };
        let (acknowledged, sent) = (sender.acknowledged(), sender.sent());
        (acknowledged <= sent)
            .then_some(())
            .ok_or_else(|| format!("{acknowledged} B acknowledged of {sent} B"))
    };
    let near = End { it: &mut near, holds: &holds };
    play(near, End { it: &mut far, holds: &holds }, steps, &plain)
}
