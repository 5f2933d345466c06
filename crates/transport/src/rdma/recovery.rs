//! How lost packets are repaired: which packet is sent next.

use super::go_back_n::GoBackN;
use super::reordering::{Lost, Reordering};
use super::reordering_keys::RdmaRecovery;
use super::selective_repeat::SelectiveRepeat;

/// A recovery at work. It knows neither time nor window.
#[derive(Clone, Debug)]
pub enum Recovery {
    /// Everything from the first missing packet on.
    GoBackN(GoBackN),
    /// The missing packets alone.
    Selective(Box<SelectiveRepeat>),
    /// The packets alone that the receiver reports as lost.
    Reordering(Box<Reordering>),
}

impl Recovery {
    /// Of this kind.
    pub fn new(kind: RdmaRecovery) -> Recovery {
        match kind {
            RdmaRecovery::GoBackN => Recovery::GoBackN(GoBackN::default()),
            RdmaRecovery::Selective => Recovery::Selective(Box::default()),
            RdmaRecovery::Reordering(_) => Recovery::Reordering(Box::default()),
        }
    }
    /// Whether the receiver keeps what comes out of order.
    pub fn is_selective(&self) -> bool {
        !matches!(self, Recovery::GoBackN(_))
    }
    /// Returns true if a packet that is sent again requests an acknowledgement.
    pub fn requests_again(&self) -> bool {
        matches!(self, Recovery::Reordering(_))
    }
    /// The packet that is sent next.
    pub fn next(&self, unacknowledged: u64, highest: u64) -> u64 {
        match self {
            Recovery::GoBackN(it) => it.next(unacknowledged),
            Recovery::Selective(it) => it.next(unacknowledged, highest),
            Recovery::Reordering(it) => it.next(highest),
        }
    }
    /// It was, `again` or for the first time.
    pub fn on_sent(&mut self, packet: u64, again: bool) {
        match self {
            Recovery::GoBackN(it) => it.on_sent(packet),
            Recovery::Selective(it) => it.on_sent(packet, again),
            Recovery::Reordering(it) => it.on_sent(packet, again),
        }
    }
    /// Everything before this packet has arrived.
    pub fn on_progress(&mut self, unacknowledged: u64) {
        match self {
            Recovery::GoBackN(it) => it.on_progress(unacknowledged),
            Recovery::Selective(it) => it.on_progress(unacknowledged),
            Recovery::Reordering(it) => it.on_progress(unacknowledged),
        }
    }
    /// The first packet that is not acknowledged is missing. With selective repeat `named` is a packet behind it that has arrived; with
    /// reordering, or if that was trimmed, it is the first one that is lost, and `map` is which ones are from there on. Returns true if that is news.
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
    /// Nothing came any more.
    pub fn on_timeout(&mut self, unacknowledged: u64, highest: u64) {
        match self {
            Recovery::GoBackN(it) => it.on_timeout(unacknowledged),
            Recovery::Selective(it) => it.on_timeout(unacknowledged, highest),
            Recovery::Reordering(it) => it.on_timeout(unacknowledged, highest),
        }
    }
    /// Bytes taken beside itself.
    pub fn memory_bytes(&self) -> usize {
        match self {
            Recovery::GoBackN(_) => 0,
            Recovery::Selective(it) => size_of::<SelectiveRepeat>() + it.memory_bytes(),
            Recovery::Reordering(it) => size_of::<Reordering>() + it.memory_bytes(),
        }
    }
}
