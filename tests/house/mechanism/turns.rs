//! Turns: each queue sends a few frames or bytes, then it is the next one's turn.
//!
//! A turn ends with the first frame that reaches one of the two limits, or when the queue has nothing that it may send.
//!
//! Source: none; the example of CONTRIBUTING.md.
//!
//! Not modelled: what a turn leaves over; the next one begins at zero.

use crate::{Configuration, Discipline, LatencyRate, PortFacts, Weights};
use keys::{Remark, Remarks};
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use units::{BitRate, Bytes, Time};

/// Keys of turns.
#[derive(Clone, Debug, PartialEq, Deserialize, Serialize, JsonSchema)]
#[serde(default, deny_unknown_fields)]
pub struct TurnsParams {
    /// Frames a turn, one number for each traffic class, 1 to 1000000 each, or "equal": one each. Default: "equal".
    pub weights: Weights,
    /// Bytes (DA to FCS) after which a turn ends. A size, at least "1 B". Default: "16 KiB".
    pub most: Bytes,
    /// Whose turn is next: that of the next "higher" class, or of the next "lower" one. Default: "lower".
    pub next: Next,
}

impl Default for TurnsParams {
    fn default() -> TurnsParams {
        TurnsParams { weights: Weights::Equal, most: Bytes::new(16 << 10), next: Next::Lower }
    }
}

/// Whose turn is next.
#[derive(Clone, Copy, Debug, PartialEq, Deserialize, Serialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
pub enum Next {
    /// That of the next higher class; after the highest the lowest.
    Higher,
    /// That of the next lower class; after the lowest the highest.
    Lower,
}

impl Configuration for TurnsParams {
    type Machine = Turns;

    fn check(&self, port: &PortFacts) -> Remarks {
        self.weights.check(port.queues)?;
        if self.most == Bytes::new(0) {
            return Err(Remark::about("most", "a turn of 0 B", "accepted is \"1 B\" or more"));
        }
        Ok(Vec::new())
    }
    fn start(&self, port: &PortFacts) -> Turns {
        Turns {
            frames: self.weights.of(port.queues),
            most: self.most.get(),
            next: self.next,
            active: vec![false; port.queues as usize],
            turn: 0,
            sent: (0, 0),
        }
    }
    fn latency_rate_bound(&self, _queue: u32, _port: &PortFacts) -> Option<LatencyRate> {
        None
    }
}

/// Whose turn it is.
#[derive(Clone, Debug)]
pub struct Turns {
    frames: Vec<u32>,
    most: u64,
    next: Next,
    active: Vec<bool>,
    turn: u32,
    /// Frames and bytes of this turn.
    sent: (u32, u64),
}

impl Turns {
    fn is_over(&self) -> bool {
        self.sent.0 >= self.frames[self.turn as usize] || self.sent.1 >= self.most
    }
    fn after(&self, queue: u32) -> u32 {
        let queues = self.active.len() as u32;
        (queue + if self.next == Next::Higher { 1 } else { queues - 1 }) % queues
    }
}

impl Discipline for Turns {
    fn activate(&mut self, queue: u32, _head: u32, _now: Time) {
        self.active[queue as usize] = true;
    }
    fn deactivate(&mut self, queue: u32, _now: Time) {
        self.active[queue as usize] = false;
    }
    fn pick(&mut self, _now: Time) -> Option<u32> {
        let first = if self.is_over() { self.after(self.turn) } else { self.turn };
        let order = std::iter::successors(Some(first), |&queue| Some(self.after(queue)));
        order.take(self.active.len()).find(|&queue| self.active[queue as usize])
    }
    fn sent(&mut self, queue: u32, bytes: u32, _now: Time) {
        if queue != self.turn || self.is_over() {
            (self.turn, self.sent) = (queue, (0, 0));
        }
        self.sent = (self.sent.0 + 1, self.sent.1 + u64::from(bytes));
    }
    fn completed(&mut self, queue: u32, next: Option<u32>, _now: Time) {
        self.active[queue as usize] = next.is_some();
    }
    // Turns are of frames and bytes: no rate is part of them.
    fn on_link_rate(&mut self, _rate: BitRate, _now: Time) {}
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::testbed::{order_of, port};

    #[test]
    fn turns_end_with_frames_or_bytes() {
        let queues = [vec![100; 3], vec![100; 4]];
        let params = TurnsParams { weights: vec![1, 2].into(), next: Next::Higher, ..TurnsParams::default() };
        assert_eq!(order_of(&mut params.start(&port(2)), &queues), [0, 1, 1, 0, 1, 1, 0]);
        let params = TurnsParams { most: Bytes::new(100), ..params };
        assert_eq!(order_of(&mut params.start(&port(2)), &queues), [0, 1, 0, 1, 0, 1, 1]);
    }

    #[test]
    fn what_are_no_turns() {
        let params = TurnsParams { most: Bytes::new(0), ..TurnsParams::default() };
        assert!(params.check(&port(2)).unwrap_err().contains("a turn of 0 B"));
    }
}
