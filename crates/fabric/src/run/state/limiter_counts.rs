//! Measurements of a rate limiter.

use frame::PointId;
use measure::Latency;
use units::BitRate;

#[derive(Clone, Debug, Default)]
pub(crate) struct LimiterMeasured {
    /// Time from a congestion message to its arrival.
    pub messages: Latency,
    /// Number of messages that changed the rate but came from no congestion point.
    pub foreign: u64,
    /// The lowest rate after a message.
    pub lowest: Option<BitRate>,
    /// Frames that have left and are reported to the control. The count starts at an offset that may be below zero: see
    /// [`LimiterMeasured::sent`].
    frames: u64,
    bytes: u64,
    /// Number of frames that the limiter has marked.
    pub marks: u64,
    /// Number of tags added to frames or sent alone. `tags_returned` is the number of those returned.
    pub tags_sent: u64,
    pub tags_returned: u64,
    /// Effect of each congestion point on its rate.
    pub slowed: Vec<(PointId, Slowed)>,
}

/// Effect of a congestion point on the rate of a limiter.
#[derive(Clone, Copy, Debug, Default)]
pub(crate) struct Slowed {
    /// True if the congestion point measures the whole backlog of its port instead of one class.
    pub of_port: bool,
    /// Number of cuts of the rate.
    pub times: u64,
    /// Sum of the cuts, in bit/s.
    pub cut: u64,
    /// The lowest rate after a cut, in bit/s.
    pub lowest: u64,
}

impl LimiterMeasured {
    /// Starts measurements that exclude these frames and bytes, which have left but are not yet reported to the
    /// control.
    pub fn without((frames, bytes): (u64, u64)) -> LimiterMeasured {
        let (frames, bytes) = (frames.wrapping_neg(), bytes.wrapping_neg());
        LimiterMeasured { frames, bytes, ..LimiterMeasured::default() }
    }

    /// Counts frames and bytes that have left and are now reported to the control.
    pub fn count(&mut self, frames: u64, bytes: u64) {
        self.frames = self.frames.wrapping_add(frames);
        self.bytes = self.bytes.wrapping_add(bytes);
    }

    /// Bytes of its tables.
    pub fn memory_bytes(&self) -> usize {
        self.messages.memory_bytes() + self.slowed.capacity() * size_of::<(PointId, Slowed)>()
    }

    /// Returns the frames and bytes that have left, including these that are not yet reported to the control.
    pub fn sent(&self, (frames, bytes): (u64, u64)) -> (u64, u64) {
        (self.frames.wrapping_add(frames), self.bytes.wrapping_add(bytes))
    }

    /// Records that a congestion point, of one class or of a whole port, has changed the rate.
    pub fn note_change(&mut self, (point, of_port): (PointId, bool), before: BitRate, after: BitRate) {
        let Some(cut) = before.bps().checked_sub(after.bps()).filter(|&cut| cut > 0) else { return };
        let place = match self.slowed.binary_search_by_key(&point, |&(other, _)| other) {
            Ok(place) => place,
            Err(place) => {
                self.slowed.insert(place, (point, Slowed { of_port, lowest: u64::MAX, ..Slowed::default() }));
                place
            }
        };
        let slowed = &mut self.slowed[place].1;
        slowed.times += 1;
        slowed.cut += cut;
        slowed.lowest = slowed.lowest.min(after.bps());
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_left_before_measuring_began_is_not_counted_when_the_control_hears_of_it() {
        let mut measured = LimiterMeasured::without((3, 4_500));
        assert_eq!(measured.sent((3, 4_500)), (0, 0));
        assert_eq!(measured.sent((5, 7_500)), (2, 3_000));
        measured.count(5, 7_500);
        measured.count(1, 64);
        assert_eq!(measured.sent((2, 128)), (5, 3_192));
    }
}
