//! Stop and wait: a frame leaves when the one before it is acknowledged.
//!
//! A message is cut into frames. What is not acknowledged within `timeout` is sent again. The receiver acknowledges every frame,
//! and takes one that it has already got for a repetition.
//!
//! Source: A. S. Tanenbaum, "Computer Networks", section 3.4.1 (a one-bit sliding window).
//!
//! Not modelled: a controller; it has one frame in flight.

use crate::application::Random;
use crate::endpoint::{Received, Segment, TransportFacts};
use crate::load::Train;
use crate::rdma::{Operation, PathFacts, Post};
use crate::transport::{DuplexEnd, Need, TransportKeys, TransportSpec, Unit};
use frame::{FrameKind, MIN_FRAME_BYTES};
use keys::Remark;
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use std::collections::VecDeque;
use units::Time;

/// Bytes of a frame beside its data.
const HEADERS: u16 = 46;

/// Keys of stop and wait.
#[derive(Clone, Debug, PartialEq, Deserialize, Serialize, JsonSchema)]
#[serde(default, deny_unknown_fields)]
pub struct StopAndWaitKeys {
    /// After this time without an acknowledgement a frame is sent again. A time with unit, above the round trip. Default: "1 ms".
    pub timeout: Time,
}

impl Default for StopAndWaitKeys {
    fn default() -> StopAndWaitKeys {
        StopAndWaitKeys { timeout: Time::from_ms(1) }
    }
}

impl TransportKeys for StopAndWaitKeys {
    type Spec = StopAndWaitSpec;

    fn lower(&self, need: &Need<'_>) -> Result<(StopAndWaitSpec, Vec<Remark>), Vec<Remark>> {
        if self.timeout == Time::ZERO {
            return Err(vec![Remark::about("timeout", "a timeout of 0", "expected a time above 0, like \"1 ms\"")]);
        }
        let Some(data) = need.frame.checked_sub(HEADERS).filter(|&data| data > 0) else {
            let help = format!("expected frame = \"{} B\" at least", HEADERS + 1);
            return Err(vec![Remark::new(format!("frames of {} B without room for data", need.frame), help)]);
        };
        Ok((StopAndWaitSpec { data, timeout: self.timeout }, Vec::new()))
    }
}

/// Stop and wait, checked.
#[derive(Clone, Debug, PartialEq)]
pub struct StopAndWaitSpec {
    /// Bytes of data in a full frame, above 0.
    data: u16,
    timeout: Time,
}

impl StopAndWaitSpec {
    fn frame_bytes(&self, data: u16) -> u16 {
        (HEADERS + data).max(MIN_FRAME_BYTES)
    }
}

impl TransportSpec for StopAndWaitSpec {
    type End = StopAndWait;

    fn unit(&self) -> Unit {
        Unit::Messages { operation: Operation::Send, one_sided: false }
    }
    fn frames(&self) -> (u16, u16) {
        (MIN_FRAME_BYTES, self.frame_bytes(self.data))
    }
    fn round_trip_frames(&self) -> (u16, u16) {
        (self.frame_bytes(self.data), MIN_FRAME_BYTES)
    }
    fn train(&self, messages: &mut dyn Iterator<Item = (u64, &[Post])>) -> Train {
        let (full, mut train) = (self.frame_bytes(self.data), Train { frames: 0, bytes: 0, full: 0, last: 0 });
        for (bytes, _) in messages {
            let whole = (bytes.max(1) - 1) / u64::from(self.data);
            train.last = self.frame_bytes((bytes - whole * u64::from(self.data)) as u16);
            train.full = if whole > 0 { full } else { train.full.max(train.last) };
            train.frames += whole as u32 + 1;
            train.bytes += whole * u64::from(full) + u64::from(train.last);
        }
        train
    }
    fn check(&self) -> Result<(), String> {
        if self.timeout > Time::ZERO { Ok(()) } else { Err("a timeout of 0".to_string()) }
    }
    fn start(&self, _opens: bool, _facts: PathFacts, _random: Random) -> StopAndWait {
        StopAndWait {
            spec: self.clone(),
            messages: VecDeque::new(),
            number: 0,
            waits: None,
            expected: 0,
            answers: VecDeque::new(),
            delivered: 0,
            retransmitted: 0,
        }
    }
}

/// One end: what it sends, and what has come.
#[derive(Clone, Debug)]
pub struct StopAndWait {
    spec: StopAndWaitSpec,
    /// Bytes of messages that are not acknowledged.
    messages: VecDeque<u64>,
    /// That of the frame that is sent next, or again.
    number: u32,
    /// Until when its acknowledgement is waited for.
    waits: Option<Time>,
    /// That of the frame that comes next.
    expected: u32,
    answers: VecDeque<u32>,
    /// Messages that are whole.
    delivered: u64,
    retransmitted: u64,
}

impl DuplexEnd for StopAndWait {
    fn handle_frame(&mut self, _now: Time, received: &Received) -> bool {
        let (number, last) = (received.word >> 1, received.word & 1 == 1);
        if received.kind == FrameKind::Data {
            let is_next = number == self.expected;
            self.expected += u32::from(is_next);
            self.delivered += u64::from(is_next && last);
            self.answers.push_back(number);
            return is_next;
        }
        if number == self.number && self.waits.take().is_some() {
            self.number += 1;
            if let Some(front) = self.messages.front_mut() {
                *front = front.saturating_sub(self.spec.data.into());
            }
            self.messages.pop_front_if(|left| *left == 0);
        }
        false
    }
    fn handle_timeout(&mut self, now: Time, _is_queued: &dyn Fn(u32, Option<u32>) -> bool) {
        self.retransmitted += u64::from(self.waits.take_if(|until| *until <= now).is_some());
    }
    fn poll_timeout(&self) -> Option<Time> {
        self.waits
    }
    fn has_work(&self) -> bool {
        !self.answers.is_empty() || self.waits.is_none() && !self.messages.is_empty()
    }
    fn poll_transmit(&mut self, now: Time) -> Option<Segment> {
        if let Some(number) = self.answers.pop_front() {
            let (kind, word, bytes) = (FrameKind::Ack, number << 1, MIN_FRAME_BYTES);
            return Some(Segment { kind, word, header: None, bytes, ecn_capable: false, entropy: 0 });
        }
        let &left = self.messages.front().filter(|_| self.waits.is_none())?;
        self.waits = Some(now + self.spec.timeout);
        let data = left.min(self.spec.data.into());
        let word = self.number << 1 | u32::from(data == left);
        let bytes = self.spec.frame_bytes(data as u16);
        Some(Segment { kind: FrameKind::Data, word, header: None, bytes, ecn_capable: false, entropy: 0 })
    }
    fn post(&mut self, _now: Time, posts: &[Post]) {
        self.messages.extend(posts.iter().map(|post| post.bytes));
    }
    fn delivered(&self) -> u64 {
        self.delivered
    }
    fn facts(&self, _now: Time) -> TransportFacts {
        TransportFacts { retransmitted: self.retransmitted, ..TransportFacts::default() }
    }
    fn memory_bytes(&self) -> usize {
        self.messages.capacity() * size_of::<u64>() + self.answers.capacity() * size_of::<u32>()
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::pipe::{Outcome, connect};
    use crate::testbed::{DELAY, RATE, over};
    use crate::{Application, ConversationSpec, Delay, RecordKind, Transport};

    fn exchanges(lose: bool) -> Vec<Time> {
        let transport = StopAndWaitSpec { data: 1_000, timeout: Time::from_us(50) };
        let post = |bytes| Box::from([Post { operation: Operation::Send, bytes }]);
        let spec = ConversationSpec {
            messages: [1_500, 100].into(),
            posts: [1_500, 100].map(post).into(),
            markers: false,
            outstanding: 1,
            exchanges: Some(2),
            think: Delay::default(),
            service: Delay::default(),
            transport: Transport::StopAndWait(transport),
        };
        let mut pipe = connect(&over(Application::Conversation(spec.into())), RATE, DELAY);
        let mut frames = 0;
        pipe.run(Time::NEVER, |_, _| {
            frames += 1;
            Outcome { lost: lose && frames == 1, ..Outcome::default() }
        });
        let ended = pipe.records.iter().filter(|record| record.kind == RecordKind::Exchange);
        ended.map(|record| record.end - record.start).collect()
    }

    #[test]
    fn each_frame_waits_for_the_one_before() {
        // 836.8 ns and 51.2 ns; the second frame of 546 B; 64 B of acknowledgement and 146 B of answer.
        let wire = |bytes: u64| RATE.time_for_bits_ceil(bytes * 8);
        let took = wire(1_046) + wire(64) + wire(546) + wire(64) + wire(146) + DELAY * 4;
        assert_eq!(exchanges(false)[0], took);
        // A loss costs the timeout, counted from when the frame left.
        assert_eq!(exchanges(true)[0], took + Time::from_us(50));
    }
}
