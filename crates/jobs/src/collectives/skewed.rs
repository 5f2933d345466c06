//! All-to-all-v with skew: a direct all-to-all in which some ranks receive more than others.
//!
//! Rank d is the destination of a share of each send buffer that falls as (d + 1)^-`skew`, the law of Zipf: as tokens that are routed to
//! experts of which a few are popular. Its own part stays. With `skew` = 0 it is the direct all-to-all.
//!
//! Source: the law, Zipf (1949); that expert loads are uneven, Lepikhin et al., GShard (2021), section 2.2. The form is a choice.

use super::direct::{Step, step};
use crate::schedule::{Action, Schedule, part};

/// An all-to-all-v among as many ranks as there are borders, less one.
#[derive(Clone, Debug)]
pub(crate) struct Skewed {
    /// Byte of the send buffer at which the part of each destination begins; one more, the end.
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
