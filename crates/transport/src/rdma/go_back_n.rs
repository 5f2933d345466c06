//! Go-back-N: all packets from the first missing one on are retransmitted.
//!
//! The receiver accepts packets in order only. A packet after a gap is discarded. The first one after each gap is
//! answered with a NAK that carries the expected PSN. No other NAK follows until the expected packet arrives, or
//! `nak_gap` has passed. The sender goes back to that packet and continues from there. If p is the loss rate per
//! packet and W packets are sent between a loss and its NAK, the fraction of useful packets is (1 - p) / (1 - p + p
//! W).
//!
//! Source: InfiniBand Architecture Specification volume 1 section 9.7.5 (PSN sequence errors) and 9.9.2.1 (NAK); D.
//! Bertsekas and R. Gallager, "Data Networks", 2nd edition, section 2.4.2 (go back n, its efficiency).
//!
//! Not modelled: going back to the beginning of the message, as early NICs did.

/// The state of go-back-N: the next packet to send.
#[derive(Clone, Copy, Debug, Default)]
pub struct GoBackN {
    next: u64,
}

impl GoBackN {
    /// Returns the next packet to send.
    pub fn next(&self, unacknowledged: u64) -> u64 {
        self.next.max(unacknowledged)
    }
    /// Records that the packet was sent.
    pub fn on_sent(&mut self, packet: u64) {
        self.next = packet + 1;
    }
    /// Records that everything before this packet has arrived.
    pub fn on_progress(&mut self, unacknowledged: u64) {
        self.next = self.next.max(unacknowledged);
    }
    /// Goes back to this missing packet. Returns true if it has been sent since the last time.
    pub fn on_nak(&mut self, unacknowledged: u64) -> bool {
        let news = self.next > unacknowledged;
        self.next = unacknowledged;
        news
    }
    /// Handles a timeout.
    pub fn on_timeout(&mut self, unacknowledged: u64) {
        self.next = unacknowledged;
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_nak_goes_back_and_what_arrived_all_the_same_is_skipped() {
        let mut it = GoBackN::default();
        (0..10).for_each(|packet| it.on_sent(packet));
        assert_eq!(it.next(0), 10);
        assert!(it.on_nak(4));
        assert_eq!(it.next(4), 4);
        // The same NAK again has no effect, because the sender is already at that packet.
        assert!(!it.on_nak(4));
        it.on_sent(4);
        it.on_progress(8);
        assert_eq!(it.next(8), 8);
        it.on_timeout(8);
        assert_eq!(it.next(8), 8);
    }
}
