//! Counters and state of a queue pair, for tables and time series.

use super::{Done, QueuePair};
use crate::rdma::control::RdmaControl;
use units::Time;

impl QueuePair {
    /// Returns the time at which the queue pair entered the error state; `None` if it has not.
    pub fn failed(&self) -> Option<Time> {
        (self.failed < Time::NEVER).then_some(self.failed)
    }
    /// Returns the rate of the control in bits of frames per second; infinite if nothing limits it.
    pub fn rate(&self, now: Time) -> f64 {
        self.control.rate(now)
    }
    /// Returns the bytes of frames that may be in flight.
    pub fn window(&self) -> u64 {
        self.window.min(self.control.window())
    }
    /// Returns the number of received frames that were discarded as useless.
    pub fn discarded(&self) -> u64 {
        self.discarded
    }
    /// Returns the control's congestion estimate, from 0 to 1, if it has one.
    pub fn alpha(&self, now: Time) -> Option<f64> {
        self.control.alpha(now)
    }
    /// Returns the number of outstanding packets.
    pub fn outstanding(&self) -> u64 {
        self.highest - self.unacknowledged
    }
    /// Returns true if there are completed messages or a round trip that have not been returned.
    #[inline]
    pub fn has_results(&self) -> bool {
        !self.done.is_empty() || self.round_trip.0 < Time::NEVER
    }
    /// Returns the completed messages that have not been returned.
    pub fn take_done(&mut self) -> Vec<Done> {
        std::mem::take(&mut self.done)
    }
    /// Iterates over the incomplete messages: transfer, unacknowledged bytes, retransmitted packets, timeouts.
    pub fn left(&self) -> impl Iterator<Item = (u32, u64, u32, u32)> {
        self.messages.iter().map(|message| {
            let arrived = self.unacknowledged.saturating_sub(message.first) * u64::from(self.spec.mtu);
            let missing = message.bytes - arrived.min(message.bytes);
            (message.transfer, missing, message.again, message.timeouts)
        })
    }
}
