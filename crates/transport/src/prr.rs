//! Proportional rate reduction (PRR): during recovery, the data sent is proportional to the data delivered.
//!
//! Without PRR, a sender that halves its window sends nothing until half of the data in flight has left the network,
//! and may then send a burst. With PRR, while the data in flight exceeds the window, it sends the fraction window /
//! (bytes in flight at the loss) of the delivered data. Below the window it sends as much as is delivered plus one
//! segment (slow start).
//!
//! Source: RFC 6937, section 3 (with the slow start reduction bound, SSRB); RFC 9937 keeps both.
//!
//! Not modelled: recovery without selective acknowledgements; the conservative reduction bound (CRB).

/// The state of proportional rate reduction: counts of arriving and departing bytes.
#[derive(Clone, Copy, Debug, Default)]
pub struct Prr {
    /// RecoverFS: bytes in flight at the loss.
    in_flight: u64,
    delivered: u64,
    sent: u64,
    allowance: u64,
}

impl Prr {
    /// Begins a recovery with `in_flight` bytes in flight.
    pub fn begin(&mut self, in_flight: u64) {
        *self = Prr { in_flight: in_flight.max(1), ..Prr::default() };
    }

    /// Processes an acknowledgement: `delivered` bytes have arrived, `pipe` bytes are in flight, and `window` is the
    /// window after the loss.
    pub fn on_ack(&mut self, delivered: u64, pipe: u64, window: u64, segment: u16) {
        self.delivered += delivered;
        self.allowance = if pipe > window {
            let share = u128::from(self.delivered) * u128::from(window);
            let due = share.div_ceil(u128::from(self.in_flight)).min(u128::from(u64::MAX)) as u64;
            due.saturating_sub(self.sent)
        } else {
            let most = self.delivered.saturating_sub(self.sent).max(delivered) + u64::from(segment);
            most.min(window - pipe)
        };
    }

    /// Records that `bytes` bytes are sent.
    pub fn on_sent(&mut self, bytes: u64) {
        self.sent += bytes;
        self.allowance = self.allowance.saturating_sub(bytes);
    }

    /// Returns the number of bytes that may be sent.
    pub fn allowance(&self) -> u64 {
        self.allowance
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn one_leaves_for_every_second_that_arrives_until_the_window_is_reached() {
        // RFC 6937 section 4, figure 1: 20 segments in flight, the first is lost, the window is 10.
        const S: u64 = 1_000;
        let mut prr = Prr::default();
        prr.begin(20 * S);
        let (mut pipe, mut sent) = (20 * S - S, 0);
        let mut pattern = vec![];
        // The third duplicate begins the recovery; three segments have arrived. The sender sends one segment at once.
        pipe -= 3 * S;
        prr.on_ack(S, pipe, 10 * S, 1_000);
        prr.on_sent(S);
        (pipe, sent) = (pipe + S, sent + S);
        for _ in 0..16 {
            pipe -= S;
            prr.on_ack(S, pipe, 10 * S, 1_000);
            let leaves = prr.allowance() >= S;
            if leaves {
                prr.on_sent(S);
                (pipe, sent) = (pipe + S, sent + S);
            }
            pattern.push(leaves);
        }
        assert_eq!(pattern[..6], [false, false, true, false, true, false]);
        // At the end, the pipe equals the window, and half as many bytes have been sent as have arrived.
        assert_eq!((pipe, sent), (10 * S, 10 * S));
        assert_eq!(pattern[12..], [true; 4]);
    }

    #[test]
    fn below_the_window_it_starts_slowly() {
        let mut prr = Prr::default();
        prr.begin(20_000);
        prr.on_ack(1_000, 2_000, 10_000, 1_000);
        assert_eq!(prr.allowance(), 2_000);
        prr.on_sent(2_000);
        assert_eq!(prr.allowance(), 0);
        prr.on_ack(1_000, 9_500, 10_000, 1_000);
        assert_eq!(prr.allowance(), 500);
    }
}
