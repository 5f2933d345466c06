//! Records of a rank: messages to post, counts, times, waits.

use recurrence::{Counts, Recurs};
use units::Time;

/// A message to be posted.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Recurs)]
pub struct Post {
    /// Rank that receives it.
    pub to: u32,
    /// Its bytes.
    pub bytes: u64,
    /// Label by which the receiver matches it.
    #[recurs(label)]
    pub tag: u32,
}

/// Counts of a rank's messages to one peer.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Counts)]
pub struct PeerCounts {
    /// Messages that are acknowledged.
    pub messages: u64,
    /// Their bytes.
    pub bytes: u64,
    /// Sum and maximum of the times from posting to acknowledgement.
    pub time: Time,
    /// See `time`.
    #[counts(not)]
    pub time_max: Time,
}

/// Totals of a rank.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Counts)]
pub struct RankCounts {
    /// Messages posted.
    pub sent: u64,
    /// Their bytes.
    pub bytes_sent: u64,
    /// Messages received and matched.
    pub received: u64,
    /// Their bytes.
    pub bytes_received: u64,
    /// Time of the processor spent on computation.
    pub computed: Time,
    /// Time of the processor spent on messages.
    pub overhead: Time,
}

/// One iteration of a rank.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct IterationTimes {
    /// When it began.
    pub began: Time,
    /// When its computation ended and its first message could leave.
    pub computed: Time,
    /// When it ended; [`Time::NEVER`]: it has not.
    pub ended: Time,
    /// Time in which at least one of its processors computed; known when it has ended.
    pub computing: Time,
}

/// A lane that waits for a message.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Recurs)]
pub struct Blocked {
    /// The lane, or the operation of a program.
    pub lane: u32,
    /// Rank that would send it; `None`: any.
    pub from: Option<u32>,
    /// Its label; `None`: any.
    #[recurs(label)]
    pub tag: Option<u32>,
    /// Its bytes.
    pub bytes: u64,
    /// Since when.
    pub since: Time,
    /// Number of its step; see [`Rank::steps`](crate::Rank::steps).
    #[recurs(recorded)]
    pub step: u32,
}

/// A message that is posted and not acknowledged.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Recurs)]
pub struct Unsent {
    /// Its label.
    #[recurs(label)]
    pub tag: u32,
    /// Its bytes.
    pub bytes: u64,
    /// When it was posted.
    pub posted: Time,
    /// The lane, or the operation of a program.
    pub lane: u32,
    /// Number of its step; see [`Rank::steps`](crate::Rank::steps).
    #[recurs(recorded)]
    pub step: u32,
}
