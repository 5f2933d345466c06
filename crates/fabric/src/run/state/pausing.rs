//! Link-level flow control: connects its state machines (crate `flow_control`) to ports and queues.

use crate::run::state::pause_sender::Quanta;
use frame::{PRIORITIES, members};
use units::Time;

/// Pauses to be renewed through a port: priorities and their pause times, the note of the last of them, and the time of
/// the next check.
pub(crate) struct RenewalsDue {
    pub(in crate::run) bits: u8,
    pub(in crate::run) quanta: Quanta,
    pub(in crate::run) note: u64,
    pub next: Time,
}

impl RenewalsDue {
    /// Adds these priorities.
    pub fn add(&mut self, bits: u8, quanta: &Quanta, note: u64) {
        for priority in members(bits) {
            // Among queues that share a pause, the longest pause time applies.
            self.quanta[priority] = self.quanta[priority].max(quanta[priority]);
        }
        self.bits |= bits;
        self.note = note;
    }
}

/// The pause times of an XON.
pub(crate) const NO_QUANTA: Quanta = [0; PRIORITIES];
