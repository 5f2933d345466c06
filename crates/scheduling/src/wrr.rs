//! Weighted round robin by packets: n_i frames of queue i in each round, regardless of their length.
//!
//! This is the simplest form of weighted sharing. It is unfair to small frames: a queue's share of the bytes is
//! proportional to its weight times its mean frame length. The plain form sends the n_i frames of a queue back to
//! back. The interleaved form sends one frame per pass until a queue has used up its turn, which distributes the same
//! share more evenly. A queue that becomes active is served after all others (interleaved: in the next round, with a
//! full turn).
//!
//! Source: Katevenis, Sidiropoulos and Courcoubetis, IEEE Journal on Selected Areas in Communications 9(8), 1991; n_i
//! = max(1, round(w_i / min w)).
//!
//! Not modelled: weights normalised by the mean packet size (the variant that requires the sizes in advance).

use crate::ring::Ring;
use crate::weights::KEY;
use crate::{AccountedLength, Configuration, Discipline, LatencyRate, PortFacts, Weights};
use keys::{Remark, Remarks, Unused};
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use units::{BitRate, Time};

/// Keys of weighted round robin.
#[derive(Clone, Debug, Default, PartialEq, Deserialize, Serialize, JsonSchema)]
#[serde(default, deny_unknown_fields)]
pub struct WrrParams {
    /// Weights (frames per round, in proportion), one for each traffic class, 1 to 1000000 each, or "equal". Default: "equal".
    pub weights: Weights,
    /// If true, classes alternate frame by frame instead of sending their whole turn back to back. Default: false.
    pub interleaved: bool,
}

impl WrrParams {
    fn counts(&self, queues: u32) -> Vec<u32> {
        let weights = self.weights.of(queues);
        let least = weights.iter().copied().min().unwrap_or(1);
        weights.iter().map(|weight| ((weight + least / 2) / least).max(1)).collect()
    }
}

impl Configuration for WrrParams {
    type Machine = Wrr;

    fn check(&self, port: &PortFacts) -> Remarks {
        self.weights.check(port.queues)?;
        let (counts, weights) = (self.counts(port.queues), self.weights.of(port.queues));
        let least = weights.iter().copied().min().unwrap_or(1);
        let inexact = |(queue, &weight): (usize, &u32)| {
            (weight % least != 0).then(|| {
                let (count, exact) = (counts[queue], f64::from(weight) / f64::from(least));
                let message = format!(
                    "queue {queue} gets {count} frames per round instead of {exact:.3}: wrr serves whole frames"
                );
                Remark::about(KEY, message, "").entry(queue)
            })
        };
        let unused = Unused::of(self, &WrrParams::default()).unless(
            counts.iter().any(|&count| count > 1),
            "weights that differ",
            &["interleaved"],
        );
        Ok(weights.iter().enumerate().filter_map(inexact).chain(unused.remarks()).collect())
    }
    fn start(&self, port: &PortFacts) -> Wrr {
        let counts = self.counts(port.queues);
        Wrr {
            left: counts.clone(),
            counts,
            now: Ring::new(port.queues),
            later: Ring::new(port.queues),
            interleaved: self.interleaved,
        }
    }
    /// Returns the bound: the other queues send the largest frames in their turns, this queue the smallest in its own.
    fn latency_rate_bound(&self, queue: u32, port: &PortFacts) -> Option<LatencyRate> {
        let counts = self.counts(port.queues);
        let own = f64::from(counts[queue as usize]);
        let others = counts.iter().map(|&count| f64::from(count)).sum::<f64>() - own;
        let smallest = f64::from(AccountedLength::WIRE.at(port).of(port.smallest_frame));
        let largest = f64::from(port.largest(AccountedLength::WIRE));
        let rate = port.slowest_bytes_per_s(AccountedLength::WIRE);
        // If turns are interleaved, the queue's turn is spread over the passes, so all of it may come last. A queue
        // that joins also waits for the end of the current round.
        let spread = if self.interleaved { others * largest + (own - 1.0) * smallest } else { 0.0 };
        let certain = rate * own * smallest / (own * smallest + others * largest);
        Some(LatencyRate::new(certain, (others * largest + spread) / rate))
    }
}

/// The state of the current round.
#[derive(Clone, Debug)]
pub struct Wrr {
    counts: Vec<u32>,
    /// By queue: the frames left in its turn.
    left: Vec<u32>,
    /// Queues with a turn in this round; the one at the front sends.
    now: Ring,
    /// Interleaved only: queues that wait for the next round.
    later: Ring,
    interleaved: bool,
}

impl Discipline for Wrr {
    #[inline]
    fn activate(&mut self, queue: u32, _head: u32, _now: Time) {
        self.left[queue as usize] = self.counts[queue as usize];
        if self.interleaved { self.later.push_back(queue) } else { self.now.push_back(queue) }
    }
    #[inline]
    fn deactivate(&mut self, queue: u32, _now: Time) {
        let _ = self.now.remove(queue) || self.later.remove(queue);
    }
    #[inline]
    fn pick(&mut self, _now: Time) -> Option<u32> {
        if self.now.is_empty() {
            std::mem::swap(&mut self.now, &mut self.later);
        }
        self.now.front()
    }
    #[inline]
    fn sent(&mut self, _queue: u32, _bytes: u32, _now: Time) {}
    #[inline]
    fn completed(&mut self, queue: u32, next: Option<u32>, now: Time) {
        if next.is_none() {
            return self.deactivate(queue, now);
        }
        let left = &mut self.left[queue as usize];
        *left -= 1;
        let over = *left == 0;
        if over {
            *left = self.counts[queue as usize];
        }
        match (self.interleaved, over) {
            (true, true) => {
                self.now.remove(queue);
                self.later.push_back(queue);
            }
            (true, false) | (false, true) => self.now.rotate(),
            (false, false) => {}
        }
    }
    fn replace_head(&mut self, _queue: u32, _head: u32, _now: Time) {}
    fn on_link_rate(&mut self, _rate: BitRate, _now: Time) {}
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::testbed::{order_of, port};

    fn params(weights: &[u32], interleaved: bool) -> WrrParams {
        WrrParams { weights: weights.to_vec().into(), interleaved }
    }

    #[test]
    fn turns_in_a_row_or_interleaved() {
        let queues = [vec![100; 6], vec![1500; 6], vec![100; 6]];
        let plain = order_of(&mut params(&[3, 1, 2], false).start(&port(3)), &queues);
        assert_eq!(plain[..12], [0, 0, 0, 1, 2, 2, 0, 0, 0, 1, 2, 2]);
        let spread = order_of(&mut params(&[3, 1, 2], true).start(&port(3)), &queues);
        assert_eq!(spread[..12], [0, 1, 2, 0, 2, 0, 1, 2, 0, 2, 0, 0]);
    }

    #[test]
    fn weights_become_whole_frames() {
        assert_eq!(params(&[20, 30, 50], false).counts(3), [1, 2, 3]);
        let warnings = params(&[20, 30, 50], false).check(&port(3)).unwrap();
        assert!(warnings[0].contains("queue 1 gets 2 frames per round instead of 1.500"), "{warnings:?}");
        assert!(params(&[1, 0], false).check(&port(2)).is_err());
    }
}
