//! Two ends of a connection that exchange segments, some of which are changed or forged.

use frame::{FrameKind, Header, Trim};
use std::collections::VecDeque;
use transport::{Protocol, Received, Segment};
use units::Time;

/// Number of bytes of a step.
pub const STEP: usize = 16;
/// Maximum number of segments that are kept for delivery to the other end.
const KEPT: usize = 256;

/// Function that creates a frame from the bytes of a step, possibly similar to a segment that the peer has sent.
pub type Forge<'a> = &'a dyn Fn(&[u8], Option<&Segment>, Time) -> Received;

/// One end of a connection, with an invariant that is checked after each call.
pub struct End<'a, P> {
    /// The endpoint.
    pub it: &'a mut P,
    /// Checks the invariant. The error describes the violation.
    pub holds: &'a dyn Fn(&P) -> Result<(), String>,
}

/// Runs steps at both ends. Each receives the segments of the other, some of which are duplicated, changed or lost,
/// timeouts, and forged frames.
///
/// # Errors
/// The violated invariant.
pub fn play<A: Protocol, B: Protocol>(
    mut near: End<'_, A>,
    mut far: End<'_, B>,
    steps: &[u8],
    forge: Forge<'_>,
) -> Result<(), String> {
    let (mut to_near, mut to_far) = (VecDeque::new(), VecDeque::new());
    let mut now = Time::ZERO;
    for step in steps.chunks_exact(STEP) {
        now += Time::from_ns(u64::from(u16::from_le_bytes([step[1], step[2]])));
        if step[0] & 1 == 0 {
            near.step(step, now, &mut to_near, &mut to_far, forge)?;
        } else {
            far.step(step, now, &mut to_far, &mut to_near, forge)?;
        }
    }
    Ok(())
}

impl<P: Protocol> End<'_, P> {
    fn step(
        &mut self,
        step: &[u8],
        now: Time,
        arriving: &mut VecDeque<Segment>,
        sent: &mut VecDeque<Segment>,
        forge: Forge<'_>,
    ) -> Result<(), String> {
        match step[0] >> 1 & 7 {
            0 => self.it.handle_frame(now, &forge(step, None, now)),
            1 => {
                let like = arriving.front().copied();
                self.it.handle_frame(now, &forge(step, like.as_ref(), now));
            }
            2 | 3 => {
                let many = if step[3] & 1 == 0 { 1 } else { arriving.len() };
                for _ in 0..many {
                    let Some(segment) = arriving.pop_front() else { break };
                    // Some segments are lost, some are duplicated.
                    for _ in 0..[1, 1, 1, 0, 2][usize::from(step[4]) % 5] {
                        self.it.handle_frame(now, &received(&segment, step[5] & 1 != 0, now));
                    }
                }
            }
            4 => self.expire(now)?,
            5 => {
                // Advances to the next timeout.
                if let Some(at) = self.it.poll_timeout().filter(|&at| at > now && at < Time::from_ms(10_000))
                {
                    self.expire(at)?;
                }
            }
            _ => {
                for _ in 0..64 {
                    let has_work = self.it.has_work();
                    let segment = self.it.poll_transmit(now);
                    if segment.is_some() != has_work {
                        return Err(format!(
                            "at {now} has_work is {has_work}, and poll_transmit gives {segment:?}"
                        ));
                    }
                    let Some(segment) = segment else { break };
                    if segment.bytes == 0 {
                        return Err("a frame without a byte".into());
                    }
                    if sent.len() < KEPT {
                        sent.push_back(segment);
                    }
                }
            }
        }
        while self.it.poll_record().is_some() {}
        while self.it.poll_ended().is_some() {}
        (self.holds)(self.it)
    }

    fn expire(&mut self, now: Time) -> Result<(), String> {
        self.it.handle_timeout(now);
        match self.it.poll_timeout().filter(|&at| at <= now) {
            Some(at) => Err(format!("at {now} it wants a timeout at {at}")),
            None => Ok(()),
        }
    }
}

/// Converts a segment to the form in which it is received.
pub fn received(segment: &Segment, marked: bool, created: Time) -> Received {
    Received {
        kind: segment.kind,
        word: segment.word,
        header: segment.header,
        bytes: segment.bytes,
        congestion_experienced: marked && segment.ecn_capable,
        created,
        trim: Trim::Whole,
        entropy: segment.entropy,
    }
}

/// Returns a kind of frame.
pub fn kind(byte: u8) -> FrameKind {
    const KINDS: [FrameKind; 5] =
        [FrameKind::Data, FrameKind::Ack, FrameKind::MarkedAck, FrameKind::Cnp, FrameKind::Cnm];
    KINDS[usize::from(byte) % KINDS.len()]
}

/// Returns a word that differs from another one in a few bits, or is arbitrary.
pub fn word_near(word: u32, step: &[u8]) -> u32 {
    match step[6] % 4 {
        0 => word,
        1 => word.wrapping_add(u32::from(step[7])).wrapping_sub(64),
        2 => word ^ 1 << (step[7] % 32),
        _ => u32::from_le_bytes([step[7], step[8], step[9], step[10]]),
    }
}

/// Creates a frame with only a word.
pub fn plain(step: &[u8], like: Option<&Segment>, now: Time) -> Received {
    let header: Option<Header> = like.and_then(|like| like.header);
    Received {
        kind: if step[11] & 1 == 0 { like.map_or(FrameKind::Data, |like| like.kind) } else { kind(step[12]) },
        word: word_near(like.map_or(0, |like| like.word), step),
        header: header.filter(|_| step[11] & 2 == 0),
        bytes: 64 + u16::from(step[13]) * 5,
        congestion_experienced: step[11] & 4 != 0,
        created: now.saturating_sub(Time::from_ns(step[14].into())),
        trim: [Trim::Whole, Trim::Whole, Trim::Trimmed, Trim::AtLastHop][usize::from(step[15] & 3)],
        entropy: u16::from(step[12]),
    }
}
