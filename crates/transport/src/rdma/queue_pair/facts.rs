//! Counters and state of a queue pair, for tables and time series.

use super::{Done, QueuePair};
use crate::rdma::control::RdmaControl;
use units::Time;

impl QueuePair {
    /// When it came to be in error; `None`: it is not.
    pub fn failed(&self) -> Option<Time> {
        (self.failed < Time::NEVER).then_some(self.failed)
    }
    /// The rate of its control in bits of frames a second; infinite if nothing limits it.
    pub fn rate(&self, now: Time) -> f64 {
        self.control.rate(now)
    }
    /// Bytes of frames that may be in flight.
    pub fn window(&self) -> u64 {
        self.window.min(self.control.window())
    }
    /// Frames that came and were of no use.
    pub fn discarded(&self) -> u64 {
        self.discarded
    }
    /// The congestion estimate of a control that has one, from 0 to 1.
    pub fn alpha(&self, now: Time) -> Option<f64> {
        self.control.alpha(now)
    }
    /// Packets that are outstanding.
    pub fn outstanding(&self) -> u64 {
        self.highest - self.unacknowledged
    }
    /// The messages that are complete and were not told of.
    pub fn take_done(&mut self) -> Vec<Done> {
        std::mem::take(&mut self.done)
    }
    /// Messages that are not complete: transfer, bytes not acknowledged, packets retransmitted, timeouts.
    pub fn left(&self) -> impl Iterator<Item = (u32, u64, u32, u32)> {
        self.messages.iter().map(|message| {
            let arrived = self.unacknowledged.saturating_sub(message.first) * u64::from(self.spec.mtu);
            let missing = message.bytes - arrived.min(message.bytes);
            (message.transfer, missing, message.again, message.timeouts)
        })
    }
}
