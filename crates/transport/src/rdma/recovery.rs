//! How lost packets are repaired: which packet is sent next.

use super::go_back_n::GoBackN;
use super::selective_repeat::SelectiveRepeat;
use super::spec::RdmaRecovery;

/// A recovery at work. It knows neither time nor window.
#[derive(Clone, Debug)]
pub enum Recovery {
    /// Everything from the first missing packet on.
    GoBackN(GoBackN),
    /// The missing packets alone.
    Selective(Box<SelectiveRepeat>),
}

impl Recovery {
    /// Of this kind.
    pub fn new(kind: RdmaRecovery) -> Recovery {
        match kind {
            RdmaRecovery::GoBackN => Recovery::GoBackN(GoBackN::default()),
            RdmaRecovery::Selective => Recovery::Selective(Box::default()),
        }
    }
    /// Whether the receiver keeps what comes out of order.
    pub fn is_selective(&self) -> bool {
        matches!(self, Recovery::Selective(_))
    }
    /// The packet that is sent next.
    pub fn next(&self, unacknowledged: u64, highest: u64) -> u64 {
        match self {
            Recovery::GoBackN(it) => it.next(unacknowledged),
            Recovery::Selective(it) => it.next(unacknowledged, highest),
        }
    }
    /// It was, `again` or for the first time.
    pub fn on_sent(&mut self, packet: u64, again: bool) {
        match self {
            Recovery::GoBackN(it) => it.on_sent(packet),
            Recovery::Selective(it) => it.on_sent(packet, again),
        }
    }
    /// Everything before this packet has arrived.
    pub fn on_progress(&mut self, unacknowledged: u64) {
        match self {
            Recovery::GoBackN(it) => it.on_progress(unacknowledged),
            Recovery::Selective(it) => it.on_progress(unacknowledged),
        }
    }
    /// The first packet that is not acknowledged is missing, and this one behind it has arrived. Whether that is news.
    pub fn on_nak(&mut self, unacknowledged: u64, highest: u64, arrived: Option<u64>) -> bool {
        match self {
            Recovery::GoBackN(it) => it.on_nak(unacknowledged),
            Recovery::Selective(it) => it.on_nak(unacknowledged, highest, arrived),
        }
    }
    /// Nothing came any more.
    pub fn on_timeout(&mut self, unacknowledged: u64, highest: u64) {
        match self {
            Recovery::GoBackN(it) => it.on_timeout(unacknowledged),
            Recovery::Selective(it) => it.on_timeout(unacknowledged, highest),
        }
    }
    /// Bytes taken beside itself.
    pub fn memory_bytes(&self) -> usize {
        match self {
            Recovery::GoBackN(_) => 0,
            Recovery::Selective(it) => size_of::<SelectiveRepeat>() + it.memory_bytes(),
        }
    }
}
