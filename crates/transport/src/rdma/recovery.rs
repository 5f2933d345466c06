//! The loss recovery of queue pairs, which selects the next packet to send.

use super::go_back_n::GoBackN;
use super::reordering::{Lost, Reordering};
use super::reordering_keys::RdmaRecovery;
use super::selective_repeat::SelectiveRepeat;

/// The state of a loss recovery. It depends neither on time nor on the window.
#[derive(Clone, Debug)]
pub enum Recovery {
    /// Retransmits everything from the first missing packet on.
    GoBackN(GoBackN),
    /// Retransmits only the missing packets.
    Selective(Box<SelectiveRepeat>),
    /// Retransmits only the packets that the receiver reports as lost.
    Reordering(Box<Reordering>),
}

impl Recovery {
    /// Creates a recovery of this kind.
    pub fn new(kind: RdmaRecovery) -> Recovery {
        match kind {
            RdmaRecovery::GoBackN => Recovery::GoBackN(GoBackN::default()),
            RdmaRecovery::Selective => Recovery::Selective(Box::default()),
            RdmaRecovery::Reordering(_) => Recovery::Reordering(Box::default()),
        }
    }
    /// Returns true if the receiver keeps packets that arrive out of order.
    pub fn is_selective(&self) -> bool {
        !matches!(self, Recovery::GoBackN(_))
    }
    /// Returns true if a retransmission requests an acknowledgement.
    pub fn requests_again(&self) -> bool {
        matches!(self, Recovery::Reordering(_))
    }
    /// Returns the next packet to send.
    pub fn next(&self, unacknowledged: u64, highest: u64) -> u64 {
        match self {
            Recovery::GoBackN(it) => it.next(unacknowledged),
            Recovery::Selective(it) => it.next(unacknowledged, highest),
            Recovery::Reordering(it) => it.next(highest),
        }
    }
    /// Records that a packet was sent, `again` or for the first time.
    pub fn on_sent(&mut self, packet: u64, again: bool) {
        match self {
            Recovery::GoBackN(it) => it.on_sent(packet),
            Recovery::Selective(it) => it.on_sent(packet, again),
            Recovery::Reordering(it) => it.on_sent(packet, again),
        }
    }
    /// Records that everything before this packet has arrived.
    pub fn on_progress(&mut self, unacknowledged: u64) {
        match self {
            Recovery::GoBackN(it) => it.on_progress(unacknowledged),
            Recovery::Selective(it) => it.on_progress(unacknowledged),
            Recovery::Reordering(it) => it.on_progress(unacknowledged),
        }
    }
    /// Processes a NAK: the first unacknowledged packet is missing. With selective repeat, `named` is a later packet
    /// that has arrived. With reordering, or if a packet was trimmed, `named` is the first lost packet, and `map`
    /// contains the lost packets from there on. Returns true if the loss was not known before.
    pub fn on_nak(&mut self, unacknowledged: u64, highest: u64, named: Option<u64>, map: u64) -> bool {
        match self {
            Recovery::GoBackN(it) => it.on_nak(unacknowledged),
            Recovery::Selective(it) if map != 0 => it.on_trimmed(highest, named),
            Recovery::Selective(it) => it.on_nak(unacknowledged, highest, named),
            Recovery::Reordering(it) => {
                it.on_nak(unacknowledged, highest, named.map(|first| Lost { first, map }))
            }
        }
    }
    /// Handles a timeout.
    pub fn on_timeout(&mut self, unacknowledged: u64, highest: u64) {
        match self {
            Recovery::GoBackN(it) => it.on_timeout(unacknowledged),
            Recovery::Selective(it) => it.on_timeout(unacknowledged, highest),
            Recovery::Reordering(it) => it.on_timeout(unacknowledged, highest),
        }
    }
    /// Returns the heap memory in bytes.
    pub fn memory_bytes(&self) -> usize {
        match self {
            Recovery::GoBackN(_) => 0,
            Recovery::Selective(it) => size_of::<SelectiveRepeat>() + it.memory_bytes(),
            Recovery::Reordering(it) => size_of::<Reordering>() + it.memory_bytes(),
        }
    }
}
