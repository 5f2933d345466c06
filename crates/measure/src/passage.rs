//! Frames that pass a place bit by bit: one, or a train of equal ones.

use units::Time;

/// A frame that passes a place bit by bit, at an even rate.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Passage {
    /// When its last bit has passed.
    pub end: Time,
    /// How long all of them take; zero: they pass at once.
    pub took: Time,
    /// How many there are.
    pub bits: u64,
}

/// Frames of equal length that pass a place at equal distances, as those of a backlog do.
#[derive(Clone, Copy, Debug)]
pub struct Train {
    first: Passage,
    frames: u64,
    /// From the end of a frame to the end of the next, if there are several.
    period: Time,
    /// When the last bit of the last one has passed.
    end: Time,
}

impl Passage {
    /// No frame.
    const NONE: Passage = Passage { end: Time::ZERO, took: Time::ZERO, bits: 0 };

    /// When its first bit began; at zero, if a clock that runs slow puts it before.
    pub fn start(&self) -> Time {
        self.end.saturating_sub(self.took)
    }

    /// Bits that have passed as a whole by `time`.
    fn passed(&self, time: Time) -> u64 {
        let left = self.end.saturating_sub(time);
        if left == Time::ZERO {
            return self.bits;
        }
        if left >= self.took {
            return 0;
        }
        let (bits, left, took) = (u128::from(self.bits), u128::from(left.ps()), u128::from(self.took.ps()));
        self.bits - (bits * left).div_ceil(took) as u64
    }
}

impl Train {
    /// No frames.
    pub const NONE: Train = Train { first: Passage::NONE, frames: 0, period: Time::ZERO, end: Time::ZERO };

    /// A frame alone.
    pub fn of(frame: Passage) -> Train {
        Train { first: frame, frames: 1, period: Time::ZERO, end: frame.end }
    }

    /// Adds a frame that is like the others and follows them as they follow each other. False: it does not. No two frames
    /// are further apart than another would fit between them, so that no train is longer than what it carries.
    #[inline(always)]
    pub fn couple(&mut self, frame: &Passage) -> bool {
        let distance = frame.end.saturating_sub(self.end);
        let is_alike = frame.bits == self.first.bits && frame.took == self.first.took;
        let follows = if self.frames > 1 { distance == self.period } else { distance <= frame.took * 2 };
        if is_alike && follows {
            (self.frames, self.period, self.end) = (self.frames + 1, distance, frame.end);
        }
        is_alike && follows
    }

    /// The train, later.
    pub fn delayed(mut self, delay: Time) -> Train {
        self.first.end += delay;
        self.end += delay;
        self
    }

    /// Takes the last frame off, if there is any.
    pub fn uncouple(&mut self) {
        match self.frames {
            0 | 1 => *self = Train::NONE,
            _ => (self.frames, self.end) = (self.frames - 1, self.end - self.period),
        }
    }

    /// Whether there are no frames.
    pub fn is_empty(&self) -> bool {
        self.frames == 0
    }

    /// When the first bit of the first frame began.
    pub fn start(&self) -> Time {
        self.first.start()
    }

    /// When the last bit of the last frame has passed.
    pub fn end(&self) -> Time {
        self.end
    }

    /// Bits of all frames.
    pub fn bits(&self) -> u64 {
        self.frames * self.first.bits
    }

    /// Whether all bits pass at once.
    pub fn takes_no_time(&self) -> bool {
        self.end == self.first.end && self.first.took == Time::ZERO
    }

    /// Bits that have passed as a whole by `time`.
    pub fn passed(&self, time: Time) -> u64 {
        if time >= self.end {
            return self.bits();
        }
        if time < self.first.end {
            return self.first.passed(time);
        }
        let whole = (time - self.first.end).ps() / self.period.ps() + 1;
        let next = Passage { end: self.first.end + self.period * whole, ..self.first };
        whole * self.first.bits + next.passed(time)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    proptest! {
        /// What has passed of a train is what has passed of its frames.
        #[test]
        fn a_train_is_its_frames(
            (bits, took, gap, frames) in (1u64..100_000, 1u64..5000, 0u64..5000, 1u64..40),
            (start, times) in (0u64..10_000, proptest::collection::vec(0u64..300_000, 1..20)),
        ) {
            let end = |nth: u64| Time::from_ps(start + took + nth * (took + gap.min(took)));
            let frame = |nth: u64| Passage { end: end(nth), took: Time::from_ps(took), bits };
            let mut train = Train::of(frame(0));
            prop_assert!((1..frames).all(|nth| train.couple(&frame(nth))));
            for time in times.into_iter().map(Time::from_ps) {
                let each: u64 = (0..frames).map(|nth| frame(nth).passed(time)).sum();
                prop_assert_eq!(train.passed(time), each);
            }
            let other = Passage { bits: bits + 1, ..frame(frames) };
            prop_assert!(!train.couple(&other));
            (0..frames).for_each(|_| train.uncouple());
            prop_assert!(train.is_empty());
        }
    }
}
