//! Link-level retry at one end of a link: the frames that it sends and stores, and the sequence numbers of those that
//! it receives.
//!
//! The outcome of a frame on the link is determined when it is sent (`steps::faults`), and with it the transmission
//! that the other end accepts. That transmission carries the frame. A damaged transmission, and those that the other
//! end discards after it, are only signals; the frame is *held* here until a retransmission succeeds.

use engine::Timer;
use flow_control::LlrSpec;
use flow_control::llr::{Arrival, Receiver, Transmitter};
use frame::{ClassMap, Frame};
use units::Time;

/// A frame that the other end has not accepted in any transmission so far.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Held {
    pub frame: Frame,
    /// True if it travels its path in reverse.
    pub back: bool,
}

/// A control ordered set, or the sequence number of a frame whose last bit has arrived.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum RetrySignal {
    /// All frames up to this number have arrived.
    Ack(u32),
    /// All frames up to this number have arrived; the next one has not.
    Nack(u32),
    /// Initialisation: numbering restarts.
    Init,
    /// The other end has received [`RetrySignal::Init`].
    InitEcho,
    /// A frame with this number has arrived; `good`: its checksum is correct.
    Frame { sequence: u32, good: bool },
}

/// Bits of a sequence number.
const SEQUENCE_BITS: u32 = 20;

impl RetrySignal {
    /// Packs the signal into a word.
    pub fn pack(self) -> u32 {
        let (kind, sequence) = match self {
            RetrySignal::Ack(sequence) => (0, sequence),
            RetrySignal::Nack(sequence) => (1, sequence),
            RetrySignal::Init => (2, 0),
            RetrySignal::InitEcho => (3, 0),
            RetrySignal::Frame { sequence, good } => (4 + u32::from(good), sequence),
        };
        kind << SEQUENCE_BITS | sequence
    }
    /// Unpacks a word of [`RetrySignal::pack`].
    pub fn unpack(word: u32) -> RetrySignal {
        let sequence = word & ((1 << SEQUENCE_BITS) - 1);
        match word >> SEQUENCE_BITS {
            0 => RetrySignal::Ack(sequence),
            1 => RetrySignal::Nack(sequence),
            2 => RetrySignal::Init,
            3 => RetrySignal::InitEcho,
            kind => RetrySignal::Frame { sequence, good: kind == 5 },
        }
    }
}

/// Counts since measurement started.
#[derive(Clone, Copy, Debug, Default)]
pub(crate) struct RetryCounts {
    /// Number of numbered frames, without retransmissions.
    pub frames: u64,
    /// Retransmissions and their bytes. `replaying` is the time that they took on the link.
    pub replayed: (u64, u64),
    pub replaying: Time,
    /// Number of replays. `timeouts` is the number of those that the timer started.
    pub replays: u64,
    pub timeouts: u64,
    /// Number of frames that arrived by a retransmission. `delay` is the additional time compared with the first
    /// transmission.
    pub repaired: u64,
    pub delay: (Time, Time),
    pub acks_sent: u64,
    pub nacks_sent: u64,
    pub nacks_received: u64,
    /// Ordered sets sent that were lost or damaged.
    pub ordered_sets_lost: u64,
    /// Acknowledgements of numbers that were not outstanding.
    pub sequence_errors: u64,
    /// Discarded arrivals: damaged frames, frames after a gap, and duplicates.
    pub damaged: u64,
    pub missing: u64,
    pub duplicates: u64,
    /// Number of times that eligible frames were blocked, because the replay buffer was full or a replay was running.
    /// `blocked` is the total time.
    pub blocks: u64,
    pub blocked: Time,
    pub flushes: u64,
    /// Number of frames lost by flushes, and discarded after a flush.
    pub flushed: u64,
}

/// Link-level retry at one end of a link.
#[derive(Debug)]
pub(crate) struct RetryState {
    pub transmitter: Transmitter<Option<Held>>,
    pub receiver: Receiver,
    /// The sequence number that the other end will expect after all frames on the link.
    pub in_order: u32,
    /// Timer of the next acknowledgement. `watch` is the timer of the replay timeout, the age limit or the outage
    /// limit.
    pub ack: Timer,
    pub watch: Timer,
    /// Time at which the link went down; `None` if it is up.
    pub down_since: Option<Time>,
    /// Time at which the last initialisation started.
    pub began_init: Time,
    pub counts: RetryCounts,
    /// Time since which eligible frames are blocked; `None` if they are not.
    blocked_since: Option<Time>,
}

impl RetryState {
    /// Creates a state in which both ends are initialised.
    pub fn new(spec: LlrSpec) -> RetryState {
        RetryState {
            transmitter: Transmitter::new(spec),
            receiver: Receiver::default(),
            in_order: 0,
            ack: Timer::IDLE,
            watch: Timer::IDLE,
            down_since: None,
            began_init: Time::ZERO,
            counts: RetryCounts::default(),
            blocked_since: None,
        }
    }
    /// Frames that the other end has not accepted and that are not on the link.
    pub fn held(&self) -> impl Iterator<Item = &Frame> {
        // These are the last ones.
        let outstanding = self.transmitter.outstanding().rev();
        outstanding.map_while(|entry| entry.item.as_ref()).map(|held| &held.frame)
    }
    /// Returns true if frames like this are numbered.
    pub fn is_eligible(&self, frame: &Frame) -> bool {
        let priority = frame.priority().0;
        u32::from(self.transmitter.spec().priorities) >> priority & 1 != 0
    }
    /// Returns the classes with an eligible priority, if they are blocked.
    pub fn stopped(&self, classes: ClassMap) -> u32 {
        if self.blocked_since.is_some() { classes.classes_of(self.transmitter.spec().priorities) } else { 0 }
    }
    /// Updates the record of blocked eligible frames. Returns true if it changed.
    pub fn note_blocked(&mut self, now: Time) -> bool {
        let blocked = self.transmitter.is_blocked();
        match (blocked, self.blocked_since) {
            (true, None) => {
                self.blocked_since = Some(now);
                self.counts.blocks += 1;
                true
            }
            (false, Some(since)) => {
                self.counts.blocked += now - since;
                self.blocked_since = None;
                true
            }
            _ => false,
        }
    }
    /// Time for which eligible frames were blocked, up to `end`.
    pub fn blocked(&self, end: Time) -> Time {
        self.counts.blocked + self.blocked_since.map_or(Time::ZERO, |since| end.saturating_sub(since))
    }
    /// Records a retransmission sent `now` that the other end accepts; `first` is the time of the first transmission.
    pub fn note_repaired(&mut self, first: Time, now: Time) {
        let counts = &mut self.counts;
        counts.repaired += 1;
        counts.delay = (counts.delay.0 + (now - first), counts.delay.1.max(now - first));
    }
    /// Counts a frame that has arrived.
    pub fn note_arrival(&mut self, arrival: Arrival) {
        let counts = &mut self.counts;
        match arrival {
            Arrival::Expected => {}
            Arrival::Damaged => counts.damaged += 1,
            Arrival::Missing => counts.missing += 1,
            Arrival::Duplicate => counts.duplicates += 1,
        }
    }
    /// Restarts measurement.
    pub fn restart(&mut self, now: Time) {
        self.counts = RetryCounts::default();
        self.blocked_since = self.blocked_since.map(|_| now);
    }
    /// Bytes of heap memory.
    pub fn memory_bytes(&self) -> usize {
        size_of::<RetryState>() + self.transmitter.memory_bytes()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_signal_fits_a_word() {
        let last = (1 << SEQUENCE_BITS) - 1;
        let numbered = [0, 1, last].into_iter().flat_map(|sequence| {
            [
                RetrySignal::Ack(sequence),
                RetrySignal::Nack(sequence),
                RetrySignal::Frame { sequence, good: true },
                RetrySignal::Frame { sequence, good: false },
            ]
        });
        for signal in numbered.chain([RetrySignal::Init, RetrySignal::InitEcho]) {
            assert_eq!(RetrySignal::unpack(signal.pack()), signal);
        }
    }
}
