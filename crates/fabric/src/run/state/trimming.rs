//! Packet trimming of a port, and its counters.

use engine::Stream;
use frame::{Frame, Priority, TrafficClass};
use queueing::{TrimmingSpec, Victim, at_rate};
use rand_xoshiro::rand_core::Rng;
use recurrence::Counts;
use units::BitRate;

/// Packet trimming of a port of a switch.
#[derive(Debug)]
pub(crate) struct PortTrimming {
    /// Traffic classes whose frames are trimmed: bit n for class n.
    pub classes: u8,
    /// Length, priority and class of trimmed frames.
    pub size: u16,
    pub priority: Priority,
    pub class: TrafficClass,
    /// Queue occupancy in bytes above which frames are trimmed; `None`: only frames that do not fit are trimmed.
    pub threshold: Option<u64>,
    /// Maximum bytes in the queue of trimmed frames; `None`: limited only by the buffer.
    pub header_limit: Option<u64>,
    /// The two limits as configured. They apply at `reference_rate`.
    configured: [Option<u64>; 2],
    reference_rate: Option<BitRate>,
    /// True if frames trimmed here are marked as trimmed on their last hop.
    pub marks_last_hop: bool,
    /// Selects between the new frame and the last one of the queue; `None`: always the new one.
    coin: Option<Stream>,
}

impl PortTrimming {
    /// Creates the trimming of a port. `to_host`: the peer is a host; `rate`: that of the port; `coin`: its own random
    /// stream.
    pub fn new(
        spec: &TrimmingSpec,
        classes: u8,
        (priority, class): (Priority, TrafficClass),
        (to_host, rate): (bool, BitRate),
        coin: Stream,
    ) -> PortTrimming {
        let threshold = spec.thresholds.map(|[within, last]| if to_host { last } else { within });
        let mut trimming = PortTrimming {
            // A trimmed frame is never trimmed again.
            classes: classes & !(1 << class.0),
            size: spec.size,
            priority,
            class,
            threshold: None,
            header_limit: None,
            configured: [threshold, spec.header_limit],
            reference_rate: spec.reference_rate,
            marks_last_hop: to_host && spec.marks_last_hop,
            coin: (spec.victim == Victim::Random).then_some(coin),
        };
        trimming.on_link_rate(rate);
        trimming
    }

    /// Adapts the limits to a new rate of the port.
    pub fn on_link_rate(&mut self, rate: BitRate) {
        let limits = self.configured.map(|limit| Some(at_rate(limit?, self.reference_rate, rate)));
        [self.threshold, self.header_limit] = limits;
    }

    /// Returns true if the port trims frames of this class.
    #[inline]
    pub fn trims(&self, class: TrafficClass) -> bool {
        class.0 < 8 && self.classes >> class.0 & 1 != 0
    }

    /// Trims a frame. Returns the number of bytes removed.
    pub fn cut(&self, frame: &mut Frame) -> u16 {
        *frame = frame.at(self.priority);
        let cut = frame.bytes.saturating_sub(self.size);
        if cut > 0 {
            frame.bytes = self.size;
            frame.flags = frame.flags.trimmed(self.marks_last_hop);
        }
        cut
    }

    /// Returns true if the last frame of the queue is trimmed in place of the new one.
    pub fn takes_last(&mut self) -> bool {
        self.coin.as_mut().is_some_and(|coin| coin.next_u64() >> 63 != 0)
    }
}

/// Counts of frames of a path that a queue has trimmed.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Counts)]
pub(crate) struct Trims {
    /// Number of frames, including those not longer than a trimmed frame.
    pub frames: u64,
    /// Number of trimmed frames that did not fit the queue of trimmed frames of the same port.
    pub dropped: u64,
    /// Number of bytes removed.
    pub bytes: u64,
}

impl Trims {
    /// Adds the counts of another queue or path.
    pub fn add(&mut self, other: &Trims) {
        self.frames += other.frames;
        self.dropped += other.dropped;
        self.bytes += other.bytes;
    }
}
