//! The receiving end of a link with link-level retry.

use super::{MOST_OUTSTANDING, SEQUENCES, after, distance};
use units::Time;

/// State of the receiving end.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum State {
    /// Acknowledges arriving frames.
    SendAcks,
    /// Has sent a NACK and is silent until the expected frame arrives.
    NackSent,
}

/// The classification of a frame that has arrived.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Arrival {
    /// The expected frame, undamaged.
    Expected,
    /// The expected frame, damaged.
    Damaged,
    /// A later frame: frames before it are missing.
    Missing,
    /// A frame that has already been accepted.
    Duplicate,
}

/// The receiving end, which accepts frames in order.
#[derive(Clone, Debug)]
pub struct Receiver {
    /// Sequence number of the next frame to accept.
    expected: u32,
    state: State,
    /// True if an acknowledgement is owed.
    owes: bool,
    /// Time at which the last acknowledgement left; `None` before the first.
    last: Option<Time>,
}

impl Default for Receiver {
    fn default() -> Receiver {
        Receiver { expected: 0, state: State::SendAcks, owes: false, last: None }
    }
}

impl Receiver {
    /// Creates a receiving end that expects this sequence number, for tests of the wrap-around.
    pub fn expecting(expected: u32) -> Receiver {
        Receiver { expected: expected % SEQUENCES, ..Receiver::default() }
    }
    /// Returns the sequence number of the next frame to accept.
    pub fn expected(&self) -> u32 {
        self.expected
    }
    /// Processes a frame with this sequence number; `good` is true if its checksum is correct. Returns its
    /// classification, and the number of the last good frame if a NACK is to be sent now.
    pub fn receive(&mut self, sequence: u32, good: bool) -> (Arrival, Option<u32>) {
        let ahead = distance(self.expected, sequence);
        if ahead == 0 && good {
            self.expected = after(self.expected, 1);
            (self.state, self.owes) = (State::SendAcks, true);
            return (Arrival::Expected, None);
        }
        if ahead == 0 {
            self.state = State::SendAcks;
            return (Arrival::Damaged, self.refuse());
        }
        if ahead >= MOST_OUTSTANDING {
            // The acknowledgement of the duplicate may have been lost.
            self.owes |= self.state == State::SendAcks;
            return (Arrival::Duplicate, None);
        }
        (Arrival::Missing, self.refuse())
    }
    /// Returns the number for a NACK, which is sent only once.
    fn refuse(&mut self) -> Option<u32> {
        if self.state == State::NackSent {
            return None;
        }
        // The NACK also acknowledges all frames before the missing one.
        (self.state, self.owes) = (State::NackSent, false);
        Some(after(self.expected, SEQUENCES - 1))
    }
    /// Returns the time at which an owed acknowledgement may be sent, with acknowledgements at least `spacing` apart;
    /// `None` if none is owed.
    pub fn ack_due(&self, spacing: Time, now: Time) -> Option<Time> {
        self.owes.then(|| self.last.map_or(now, |last| now.max(last + spacing)))
    }
    /// Sends the acknowledgement that is owed, and returns its number: that of the last good frame.
    pub fn acknowledge(&mut self, now: Time) -> u32 {
        (self.owes, self.last) = (false, Some(now));
        after(self.expected, SEQUENCES - 1)
    }
}
