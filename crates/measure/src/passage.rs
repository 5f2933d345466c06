//! Frames that pass a place bit by bit.

use units::Time;

/// The passage of a frame, bit by bit at a constant rate.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Passage {
    /// Time at which the last bit has passed.
    pub end: Time,
    /// Duration of the passage; zero if all bits pass instantaneously.
    pub took: Time,
    /// Number of bits.
    pub bits: u64,
}

impl Passage {
    /// Returns the time at which the first bit started; zero if a slow clock would put it before zero.
    pub fn start(&self) -> Time {
        self.end.saturating_sub(self.took)
    }

    /// Returns the number of whole bits that have passed by `time`.
    pub fn passed(&self, time: Time) -> u64 {
        let left = self.end.saturating_sub(time);
        if left == Time::ZERO {
            return self.bits;
        }
        if left >= self.took {
            return 0;
        }
        let (left, took) = (left.ps(), self.took.ps());
        // The product fits into 64 bits for frames of 64 KiB that take up to 35 s.
        let to_come = match self.bits.checked_mul(left) {
            Some(product) => product.div_ceil(took),
            None => (u128::from(self.bits) * u128::from(left)).div_ceil(u128::from(took)) as u64,
        };
        self.bits - to_come
    }

    /// Adds the bits that have passed by `end` to bins of this width, counted from time zero. Appends missing bins.
    pub fn add_to(&self, bins: &mut Vec<u64>, width: Time, end: Time) {
        // Bits that pass instantaneously at an edge count in the bin that ends there.
        let start = if self.took == Time::ZERO { self.end.ps().saturating_sub(1) } else { self.start().ps() };
        if start >= end.ps() {
            return;
        }
        let last = self.end.min(end);
        let mut before = 0;
        for bin in (start / width.ps()) as usize.. {
            let edge = width * (bin as u64 + 1);
            let passed = self.passed(edge.min(last));
            if bins.len() <= bin {
                bins.resize(bin + 1, 0);
            }
            bins[bin] += passed - before;
            before = passed;
            if edge >= last {
                return;
            }
        }
    }
}
