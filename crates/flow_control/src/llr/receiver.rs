//! The receiving end of a link with link-level retry.

use super::{MOST_OUTSTANDING, SEQUENCES, after, distance};
use units::Time;

/// State of the receiving end.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum State {
    /// Acknowledges what arrives.
    SendAcks,
    /// Has sent a NACK and is silent until the expected frame arrives.
    NackSent,
}

/// Treatment of a frame that has arrived.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Arrival {
    /// It is the expected one, and good.
    Expected,
    /// It is the expected one, and damaged.
    Damaged,
    /// Frames before it are missing.
    Missing,
    /// It has been taken before.
    Duplicate,
}

/// The receiving end: takes frames in order.
#[derive(Clone, Debug)]
pub struct Receiver {
    /// Sequence number of the next frame to take.
    expected: u32,
    state: State,
    /// An acknowledgement is owed.
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
    /// A receiving end that expects this sequence number, for tests of the wrap-around.
    pub fn expecting(expected: u32) -> Receiver {
        Receiver { expected: expected % SEQUENCES, ..Receiver::default() }
    }
    /// Sequence number of the next frame to take.
    pub fn expected(&self) -> u32 {
        self.expected
    }
    /// A frame with this sequence number has arrived, with a good checksum or a bad one. Returns its treatment, and the number of the
    /// last good frame if a NACK is to be sent now.
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
            // Its acknowledgement may have been lost.
            self.owes |= self.state == State::SendAcks;
            return (Arrival::Duplicate, None);
        }
        (Arrival::Missing, self.refuse())
    }
    /// Sends one NACK.
    fn refuse(&mut self) -> Option<u32> {
        if self.state == State::NackSent {
            return None;
        }
        // It acknowledges all before the missing frame as well.
        (self.state, self.owes) = (State::NackSent, false);
        Some(after(self.expected, SEQUENCES - 1))
    }
    /// Time at which an owed acknowledgement may leave, with acknowledgements at least this far apart; `None` if none is owed.
    pub fn ack_due(&self, spacing: Time, now: Time) -> Option<Time> {
        self.owes.then(|| self.last.map_or(now, |last| now.max(last + spacing)))
    }
    /// Sends the acknowledgement that is owed: the number of the last good frame.
    pub fn acknowledge(&mut self, now: Time) -> u32 {
        (self.owes, self.last) = (false, Some(now));
        after(self.expected, SEQUENCES - 1)
    }
}
