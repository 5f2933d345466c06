//! Counts of received frames by stream, for sources whose streams are counted individually.

use crate::run::state::index::ReceiverIx;
use frame::Frame;
use units::Time;

/// The streams that end in a part of the fabric, sorted by receiver.
#[derive(Debug, Default)]
pub(crate) struct StreamCounts {
    /// By receiver, the index of its first stream; followed by the total number of streams. Empty without streams.
    first: Vec<u32>,
    counts: Vec<StreamCount>,
}

/// Received frames of one stream at one destination.
#[derive(Clone, Copy, Debug)]
pub(crate) struct StreamCount {
    pub frames: u64,
    pub bytes: u64,
    /// Sum of their latencies, in picoseconds.
    pub sum_ps: u128,
    pub least: Time,
    pub most: Time,
}

impl StreamCount {
    /// Counts before any arrival.
    pub const NONE: StreamCount =
        StreamCount { frames: 0, bytes: 0, sum_ps: 0, least: Time::NEVER, most: Time::ZERO };

    /// Adds the counts of the same stream in another part.
    pub fn merge(&mut self, other: &StreamCount) {
        self.frames += other.frames;
        self.bytes += other.bytes;
        self.sum_ps += other.sum_ps;
        self.least = self.least.min(other.least);
        self.most = self.most.max(other.most);
    }
}

impl StreamCounts {
    /// Creates the counts; `streams` is the number of streams of each receiver.
    pub fn new(streams: impl Iterator<Item = u64>) -> StreamCounts {
        let mut all = 0;
        let mut first = vec![0];
        first.extend(streams.map(|streams| {
            all += streams as u32;
            all
        }));
        if all == 0 {
            return StreamCounts::default();
        }
        StreamCounts { first, counts: vec![StreamCount::NONE; all as usize] }
    }

    /// Returns the counts of a receiver.
    pub fn of(&self, receiver: ReceiverIx) -> &[StreamCount] {
        match self.first.get(receiver.at()..receiver.at() + 2) {
            Some(ends) => &self.counts[ends[0] as usize..ends[1] as usize],
            None => &[],
        }
    }

    /// Counts a received frame. Returns true if it belongs to a stream.
    #[inline]
    pub fn arrived(&mut self, receiver: ReceiverIx, frame: &Frame, now: Time) -> bool {
        let Some(ends) = self.first.get(receiver.at()..receiver.at() + 2) else { return false };
        let Some(count) = self.counts[..ends[1] as usize].get_mut((ends[0] + frame.word) as usize) else {
            return false;
        };
        let latency = now - frame.created;
        count.merge(&StreamCount {
            frames: 1,
            bytes: frame.bytes.into(),
            sum_ps: latency.ps().into(),
            least: latency,
            most: latency,
        });
        true
    }

    /// Restarts counting.
    pub fn clear(&mut self) {
        self.counts.fill(StreamCount::NONE);
    }

    /// Bytes of the tables.
    pub fn memory_bytes(&self) -> usize {
        self.first.capacity() * size_of::<u32>() + self.counts.capacity() * size_of::<StreamCount>()
    }
}
