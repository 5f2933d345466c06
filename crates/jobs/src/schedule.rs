//! Structure of a workload: lanes of actions.

use units::Time;

/// One action of a lane.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Action {
    /// Posts a message and continues.
    Send {
        /// Receiving rank.
        to: u32,
        /// Size in bytes; may be 0.
        bytes: u64,
        /// Label by which the receiver matches it.
        tag: u32,
    },
    /// Waits until a message has been delivered.
    Receive {
        /// Sending rank.
        from: u32,
        /// Size in bytes.
        bytes: u64,
        /// Label of the message.
        tag: u32,
    },
    /// Waits until all messages that the lane has posted are acknowledged.
    AwaitSends,
    /// Occupies the processor of the rank.
    Compute {
        /// Duration.
        time: Time,
    },
}

/// Messages of each rank, generated on demand.
///
/// A rank has lanes, which run concurrently; the actions of a lane run in order. Messages with the same sender,
/// receiver and tag are matched in order of posting. A tag is used once per pair of ranks and iteration, or several
/// times in an order on which sender and receiver agree.
pub trait Schedule {
    /// Returns the number of lanes of each rank.
    fn lanes(&self) -> u32;
    /// Returns action number `at` of a lane, from 0; `None` after the last one.
    fn action(&self, rank: u32, lane: u32, at: u32) -> Option<Action>;
}

/// Returns the size of part `nth` of `parts` parts of `bytes`. Parts differ by at most 1, and sum to `bytes`.
pub(crate) fn part(bytes: u64, parts: u32, nth: u32) -> u64 {
    let border = |nth: u32| (u128::from(bytes) * u128::from(nth) / u128::from(parts)) as u64;
    border(nth + 1) - border(nth)
}
