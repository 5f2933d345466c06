//! The form of a workload: lanes of actions.

use units::Time;

/// One action of a lane.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Action {
    /// Posts a message and goes on.
    Send {
        /// Rank that receives it.
        to: u32,
        /// Its bytes; may be 0.
        bytes: u64,
        /// Label by which the receiver matches it.
        tag: u32,
    },
    /// Waits until a message has been delivered.
    Receive {
        /// Rank that sends it.
        from: u32,
        /// Its bytes.
        bytes: u64,
        /// Label of the message.
        tag: u32,
    },
    /// Waits until all messages that the lane has posted are acknowledged.
    AwaitSends,
    /// Occupies the processor of the rank.
    Compute {
        /// For this long.
        time: Time,
    },
}

/// Messages of each rank, generated on demand.
///
/// A rank has lanes, which run concurrently; the actions of a lane run in order. Messages from one rank to another with one tag are
/// matched in the order of posting. A tag is used once per pair of ranks and iteration, or several times in an order that sender and
/// receiver share.
pub trait Schedule {
    /// Number of lanes of each rank.
    fn lanes(&self) -> u32;
    /// Action number `at` of a lane, counted from 0; `None` behind the last one.
    fn action(&self, rank: u32, lane: u32, at: u32) -> Option<Action>;
}

/// Bytes of part `nth` of `parts` of `bytes`: parts differ by 1 at most and sum to `bytes`.
pub(crate) fn part(bytes: u64, parts: u32, nth: u32) -> u64 {
    let border = |nth: u32| (u128::from(bytes) * u128::from(nth) / u128::from(parts)) as u64;
    border(nth + 1) - border(nth)
}
