//! Received parts of transfers, and the arrival time of their last frame.

use crate::run::state::index::ReceiverIx;
use units::Time;

/// The transfers that end in a part of the fabric, as columns, sorted by receiver and then by start at the source.
#[derive(Debug, Default)]
pub(crate) struct Completions {
    /// By receiver, the index of its first transfer; followed by the total number of transfers. Empty without
    /// transfers.
    first: Vec<u32>,
    /// Number of frames that have not arrived yet.
    left: Vec<u64>,
    /// Arrival time of the last frame; [`Time::NEVER`] until all have arrived.
    done: Vec<Time>,
}

impl Completions {
    /// Creates the columns. `frames`: receiver and number of frames of each transfer, in the order of the source.
    pub fn new(receivers: usize, frames: impl Iterator<Item = (u32, u64)> + Clone) -> Completions {
        let mut first = vec![0; receivers + 1];
        frames.clone().for_each(|(receiver, _)| first[receiver as usize + 1] += 1);
        for receiver in 0..receivers {
            first[receiver + 1] += first[receiver];
        }
        let all = first[receivers] as usize;
        if all == 0 {
            return Completions::default();
        }
        let (mut left, mut next) = (vec![0; all], first.clone());
        for (receiver, frames) in frames {
            let next = &mut next[receiver as usize];
            left[*next as usize] = frames;
            *next += 1;
        }
        Completions { first, left, done: vec![Time::NEVER; all] }
    }

    /// Counts a received frame of the n-th transfer of a receiver. Returns true if it completes the transfer.
    #[inline]
    pub fn arrived(&mut self, receiver: ReceiverIx, nth: u32, now: Time) -> bool {
        let transfer = (self.first[receiver.at()] + nth) as usize;
        self.left[transfer] -= 1;
        if self.left[transfer] == 0 {
            self.done[transfer] = now;
        }
        self.left[transfer] == 0
    }

    /// Returns the missing frames of the n-th transfer of a receiver, and the arrival time of the last one.
    pub fn get(&self, receiver: ReceiverIx, nth: u32) -> (u64, Option<Time>) {
        let transfer = (self.first[receiver.at()] + nth) as usize;
        (self.left[transfer], Some(self.done[transfer]).filter(|&done| done != Time::NEVER))
    }

    /// Bytes of the columns.
    pub fn memory_bytes(&self) -> usize {
        self.first.capacity() * size_of::<u32>()
            + self.left.capacity() * size_of::<u64>()
            + self.done.capacity() * size_of::<Time>()
    }
}
