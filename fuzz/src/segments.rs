//! Invariants of TCP and queue pairs for any received segments: they do not panic, and do not accept impossible
//! acknowledgements or data.
//!
//! Shared by the fuzz target and by a test of the crate `transport`, which needs no fuzzer.

use frame::{FrameKind, Header, TcpHeader, Trim};
use rand::SeedableRng;
use rand_xoshiro::Xoshiro256PlusPlus;
use std::sync::Arc;
use transport::{
    Conversation, ConversationSpec, Delay, Operation, PathFacts, Post, Protocol, RdmaKeys, RdmaRecovery,
    RdmaSpec, Received, TcpKeys, TcpPreset, TcpReceiver, TcpSender, Transport,
};
use units::{BitRate, Bytes, Time};

/// Size of the transfer in bytes.
const TOTAL: u64 = 200_000;
/// Properties of a path without switches.
pub(crate) const FACTS: PathFacts = PathFacts {
    rate: BitRate::from_gbps(10),
    arrival_rate: BitRate::from_gbps(10),
    base_rtt: Time::from_us(10),
    packet: 1_090,
    hops: 0,
    overhead: 20,
    planes: 1,
    trims: false,
};
/// Number of bytes of a step.
const STEP: usize = 16;
const PRESETS: [TcpPreset; 5] =
    [TcpPreset::Rfc, TcpPreset::Ns2, TcpPreset::Linux, TcpPreset::Mcalpine2005, TcpPreset::Datacenter];

/// Checks an endpoint. The first byte selects a preset, the rest are steps. The error describes the violated invariant.
pub fn check(bytes: &[u8]) -> Result<(), String> {
    let Some((&first, steps)) = bytes.split_first() else { return Ok(()) };
    let keys = TcpKeys { handshake: first & 8 != 0, ..PRESETS[usize::from(first) % PRESETS.len()].keys() };
    let spec = |total| keys.sized(Some(Bytes::new(total)), 1_522, 64).map_err(|wrong| format!("{wrong:?}"));
    let (whole, none) = (Arc::new(spec(TOTAL)?), spec(0)?);
    let rng = || Xoshiro256PlusPlus::seed_from_u64(first.into());
    let mut sender = TcpSender::new(&whole, Time::ZERO, None, rng());
    drive(&mut sender, steps, |it| {
        let (acknowledged, sent) = (it.acknowledged(), it.sent());
        (acknowledged <= sent && sent <= TOTAL && sent - acknowledged <= whole.window)
            .then_some(sent)
            .ok_or_else(|| format!("{acknowledged} B acknowledged of {sent} B"))
    })?;
    drive(&mut TcpReceiver::new(&whole), steps, |it| Ok(it.delivered()))?;
    for transport in [Transport::Tcp(none.into()), Transport::Rdma(queue_pairs(first)?)] {
        let talk = Arc::new(talk(transport));
        for mut end in [
            Conversation::opener(&talk, (Time::ZERO, None), FACTS, rng()),
            Conversation::answerer(&talk, FACTS, rng()),
        ] {
            drive(&mut end, steps, |it| {
                let Some(sender) = it.tcp_sender() else { return Ok(it.delivered()) };
                let (acknowledged, sent) = (sender.acknowledged(), sender.sent());
                (acknowledged <= sent).then_some(sent).ok_or_else(|| format!("{acknowledged} B of {sent} B"))
            })?;
        }
    }
    Ok(())
}

/// Creates queue pairs with either recovery, without messages of their own.
fn queue_pairs(first: u8) -> Result<Arc<RdmaSpec>, String> {
    let recovery = if first & 16 == 0 { RdmaRecovery::GoBackN } else { RdmaRecovery::Selective };
    let keys = RdmaKeys { recovery, ..RdmaKeys::default() };
    let made = keys.carrier(Some(Bytes::new(0)), 1_522);
    made.map(|(spec, _)| spec).map_err(|wrong| format!("{wrong:?}"))
}

fn talk(transport: Transport) -> ConversationSpec {
    let messages = [100, 3_000, 20_000, 1];
    let post = |bytes| Box::from([Post { operation: Operation::Send, bytes }]);
    let is_tcp = transport.queue_pairs().is_none();
    ConversationSpec {
        messages: messages.into(),
        posts: messages.into_iter().filter(|_| !is_tcp).map(post).collect(),
        markers: is_tcp,
        outstanding: 3,
        exchanges: Some(1_000),
        think: Delay::Exponential(Time::from_us(3)),
        service: Delay::Fixed(Time::from_us(1)),
        transport,
    }
}

/// Runs steps at an endpoint. `number` checks its invariants, and returns a sequence number that received segments may
/// be close to.
fn drive<P: Protocol>(
    endpoint: &mut P,
    steps: &[u8],
    number: impl Fn(&P) -> Result<u64, String>,
) -> Result<(), String> {
    let mut now = Time::ZERO;
    for step in steps.chunks_exact(STEP) {
        now += Time::from_ns(u64::from(u16::from_le_bytes([step[1], step[2]])));
        match step[0] % 4 {
            0 | 1 => endpoint.handle_frame(now, &received(step, number(endpoint)? as u32, now)),
            2 => endpoint.handle_timeout(now),
            _ => {
                for _ in 0..64 {
                    if endpoint.poll_transmit(now).is_none() {
                        break;
                    }
                }
            }
        }
        while endpoint.poll_record().is_some() {}
        number(endpoint)?;
        if step[0] % 4 == 2 && endpoint.poll_timeout().is_some_and(|at| at <= now) {
            return Err(format!("at {now} it wants a timeout in the past"));
        }
    }
    Ok(())
}

/// Creates a segment in which each number is close to a sent one, or arbitrary.
fn received(step: &[u8], sent: u32, now: Time) -> Received {
    let near = |at: usize| {
        let byte = u32::from(step[at]);
        if byte < 32 { byte << 27 } else { sent.wrapping_sub(byte.wrapping_mul(73)) }
    };
    let flags = step[3];
    let header = TcpHeader {
        number: near(4),
        payload: (flags & 1 != 0).then_some(u16::from_le_bytes([step[5], step[6]])),
        syn: flags & 6 == 0,
        cwr: flags & 8 != 0,
        ts_ecr: (flags & 16 != 0).then_some(now.saturating_sub(Time::from_ns(step[7].into()))),
        sacks: [(near(8), near(9)), (near(10), near(11)), (near(12), near(13))],
        ..TcpHeader::default()
    };
    let kinds = [FrameKind::Data, FrameKind::Ack, FrameKind::MarkedAck, FrameKind::Cnm];
    Received {
        kind: kinds[usize::from(step[14]) % kinds.len()],
        word: near(4),
        header: (flags & 32 != 0).then_some(Header::Tcp(header)),
        bytes: u16::from_le_bytes([step[5], step[6]]),
        congestion_experienced: flags & 64 != 0,
        created: now.saturating_sub(Time::from_ns(step[15].into())),
        trim: Trim::Whole,
        entropy: 0,
    }
}
