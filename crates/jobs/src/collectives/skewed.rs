//! All-to-all-v with skew: a direct all-to-all in which some ranks receive more than others.
//!
//! The share of each send buffer that goes to rank d is proportional to (d + 1)^-`skew` (Zipf's law), like tokens that
//! are routed to experts of which a few are popular. A rank does not send its own part. With `skew` = 0 this is the
//! direct all-to-all.
//!
//! Source: Zipf (1949) for the law; Lepikhin et al., GShard (2021), section 2.2, for the uneven load of experts.
//! Modelling that load by Zipf's law is our choice.

use super::direct::{Step, step};
use crate::schedule::{Action, Schedule, part};

/// A skewed all-to-all-v. The number of ranks is the number of borders minus one.
#[derive(Clone, Debug)]
pub(crate) struct Skewed {
    /// Offset in the send buffer of each destination's part, followed by the size of the buffer.
    borders: Box<[u64]>,
    chunks: u32,
    burst: bool,
}

impl Skewed {
    pub fn new(n: u32, bytes: u64, chunks: u32, burst: bool, skew: f64) -> Skewed {
        let weights: Vec<f64> = (0..n).map(|d| f64::from(d + 1).powf(-skew)).collect();
        let all: f64 = weights.iter().sum();
        let mut sum = 0.0;
        let mut borders = vec![0];
        for weight in weights {
            sum += weight;
            borders.push((bytes as f64 * (sum / all)).round().min(bytes as f64) as u64);
        }
        borders[n as usize] = bytes;
        Skewed { borders: borders.into(), chunks, burst }
    }
    fn bytes(&self, lane: u32, to: u32) -> u64 {
        let to = to as usize;
        part(self.borders[to + 1] - self.borders[to], self.chunks, lane)
    }
}

impl Schedule for Skewed {
    fn lanes(&self) -> u32 {
        self.chunks
    }
    fn action(&self, rank: u32, lane: u32, at: u32) -> Option<Action> {
        let n = self.borders.len() as u32 - 1;
        Some(match step(n, self.burst, at)? {
            Step::Send(ahead) => {
                let to = (rank + ahead) % n;
                Action::Send { to, bytes: self.bytes(lane, to), tag: lane }
            }
            Step::Receive(behind) => {
                let from = (rank + n - behind) % n;
                Action::Receive { from, bytes: self.bytes(lane, rank), tag: lane }
            }
            Step::AwaitSend => Action::AwaitSends,
        })
    }
}
