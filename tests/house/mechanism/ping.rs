//! Ping: one frame every so often, and an answer of the same length to each.
//!
//! The round trip of each is recorded: from the time at which the frame leaves to that at which its answer arrives.
//!
//! Source: RFC 792, echo and echo reply.
//!
//! Not modelled: ICMP and IP headers of their own; they are part of the frame.

use crate::application::{ApplicationKeys, ApplicationSpec, Opening};
use crate::{Endpoint, Protocol, Received, Record, RecordKind, Segment, Train, Turn};
use frame::FrameKind;
use keys::Remark;
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use std::collections::VecDeque;
use units::{Bytes, Time};

/// Keys of ping.
#[derive(Clone, Debug, PartialEq, Deserialize, Serialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct PingKeys {
    /// From one frame to the next. A time with unit, above 0. Required.
    pub every: Time,
}

impl ApplicationKeys for PingKeys {
    type Spec = PingSpec;

    fn spec(&self, _limit: Option<Bytes>, frame: u16) -> Result<(PingSpec, Vec<Remark>), Vec<Remark>> {
        if self.every == Time::ZERO {
            return Err(vec![Remark::about("every", "no time between", "expected a time above 0, like \"1 ms\"")]);
        }
        Ok((PingSpec { every: self.every, bytes: frame }, Vec::new()))
    }
}

/// A ping, checked.
#[derive(Clone, Debug, PartialEq)]
pub struct PingSpec {
    every: Time,
    bytes: u16,
}

impl ApplicationSpec for PingSpec {
    fn ends(&self, Opening { start, stop, .. }: Opening<'_>) -> (Endpoint, Endpoint) {
        let ping = |next| Ping {
            every: self.every,
            stop: stop.unwrap_or(Time::NEVER),
            bytes: self.bytes,
            next,
            sent: VecDeque::new(),
            answers: VecDeque::new(),
            due: 0,
            number: 0,
            records: VecDeque::new(),
        };
        (Endpoint::Ping(ping(start)), Endpoint::Ping(ping(Time::NEVER)))
    }
    fn frames(&self) -> (u16, u16) {
        (self.bytes, self.bytes)
    }
    fn turn(&self) -> Turn {
        Turn { out: Train::one(self.bytes), back: Train::one(self.bytes), answers: 1.0 }
    }
    fn most_bps(&self, _turn_secs: f64) -> f64 {
        f64::from(self.bytes) * 8.0 / self.every.as_secs_f64()
    }
    fn check(&self) -> Result<(), String> {
        if self.every > Time::ZERO { Ok(()) } else { Err("a ping without time between".to_string()) }
    }
    fn understands_marks(&self) -> bool {
        false
    }
}

/// Either end: the one that asks, or the one that answers.
#[derive(Clone, Debug)]
pub struct Ping {
    every: Time,
    stop: Time,
    bytes: u16,
    /// When the next frame is due; [`Time::NEVER`] at the end that answers.
    next: Time,
    /// Number and time of what has left and was not answered.
    sent: VecDeque<(u32, Time)>,
    /// Numbers to be answered.
    answers: VecDeque<u32>,
    /// Frames that are due.
    due: u32,
    /// That of the next frame.
    number: u32,
    records: VecDeque<Record>,
}

impl Protocol for Ping {
    fn handle_frame(&mut self, now: Time, received: &Received) {
        if received.kind == FrameKind::Data {
            return self.answers.push_back(received.word);
        }
        // Answers come in order; what was passed over is lost.
        while let Some((number, start)) = self.sent.pop_front() {
            if number == received.word {
                let bytes = self.bytes.into();
                self.records.push_back(Record { kind: RecordKind::RoundTrip, start, end: now, bytes });
                return;
            }
        }
    }
    fn handle_timeout(&mut self, now: Time) {
        while self.next <= now {
            self.due += 1;
            self.next += self.every;
        }
    }
    fn poll_timeout(&self) -> Option<Time> {
        (self.next < self.stop).then_some(self.next)
    }
    fn has_work(&self) -> bool {
        self.due > 0 || !self.answers.is_empty()
    }
    fn poll_transmit(&mut self, now: Time) -> Option<Segment> {
        let (kind, word) = match self.answers.pop_front() {
            Some(number) => (FrameKind::Ack, number),
            None => {
                self.due = self.due.checked_sub(1)?;
                self.sent.push_back((self.number, now));
                self.number += 1;
                (FrameKind::Data, self.number - 1)
            }
        };
        Some(Segment { kind, word, header: None, bytes: self.bytes, ecn_capable: false, entropy: 0 })
    }
    fn poll_record(&mut self) -> Option<Record> {
        self.records.pop_front()
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::Application;
    use crate::pipe::connect;
    use crate::testbed::{DELAY, RATE, over};

    #[test]
    fn a_round_trip_is_two_frames_and_two_delays() {
        let spec = PingSpec { every: Time::from_us(50), bytes: 1_000 };
        let mut pipe = connect(&over(Application::Ping(spec)), RATE, DELAY);
        pipe.run_clean(Time::from_us(190));
        let trips: Vec<Time> = pipe.records.iter().map(|record| record.end - record.start).collect();
        // 800 ns each at 10 Gb/s, 5 us each way.
        assert_eq!(trips, [Time::from_ns(2 * 800 + 2 * 5_000); 4]);
    }
}
