//! Records of a rank: messages to post, counters, times, waits.

use recurrence::{Counts, Recurs};
use units::Time;

/// A message to post.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Recurs)]
pub struct Post {
    /// Receiving rank.
    pub to: u32,
    /// Size in bytes.
    pub bytes: u64,
    /// Label by which the receiver matches it.
    #[recurs(label)]
    pub tag: u32,
}

/// Counts of a rank's messages to one peer.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Counts)]
pub struct PeerCounts {
    /// Number of acknowledged messages.
    pub messages: u64,
    /// Bytes of these messages.
    pub bytes: u64,
    /// Sum of the times from posting to acknowledgement.
    pub time: Time,
    /// Maximum of the times from posting to acknowledgement.
    #[counts(not)]
    pub time_max: Time,
}

/// Totals of a rank.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Counts)]
pub struct RankCounts {
    /// Number of messages posted.
    pub sent: u64,
    /// Bytes of these messages.
    pub bytes_sent: u64,
    /// Number of messages received and matched.
    pub received: u64,
    /// Bytes of these messages.
    pub bytes_received: u64,
    /// Processor time spent on computation.
    pub computed: Time,
    /// Processor time spent on messages.
    pub overhead: Time,
}

/// Times of one iteration of a rank.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct IterationTimes {
    /// Start time.
    pub began: Time,
    /// Time at which its computation ended and its first message could be posted.
    pub computed: Time,
    /// End time; [`Time::NEVER`] if it has not ended.
    pub ended: Time,
    /// Time during which at least one of its processors computed; set when the iteration has ended.
    pub computing: Time,
}

/// A lane that waits for a message.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Recurs)]
pub struct Blocked {
    /// The lane or, in a program, the operation.
    pub lane: u32,
    /// Sending rank; `None` for any.
    pub from: Option<u32>,
    /// Label of the message; `None` for any.
    #[recurs(label)]
    pub tag: Option<u32>,
    /// Size of the message in bytes.
    pub bytes: u64,
    /// Start of the wait.
    pub since: Time,
    /// Number of the receive's step; see [`Rank::steps`](crate::Rank::steps).
    #[recurs(recorded)]
    pub step: u32,
}

/// A message that has been posted and is not acknowledged.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Recurs)]
pub struct Unsent {
    /// Label of the message.
    #[recurs(label)]
    pub tag: u32,
    /// Size in bytes.
    pub bytes: u64,
    /// Time at which it was posted.
    pub posted: Time,
    /// The lane or, in a program, the operation.
    pub lane: u32,
    /// Number of the send's step; see [`Rank::steps`](crate::Rank::steps).
    #[recurs(recorded)]
    pub step: u32,
}
