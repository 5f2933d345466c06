//! The data of a TCP sender: one transfer, or a sequence of transfers with idle times between them.

use crate::delay::Delay;
use rand_xoshiro::Xoshiro256PlusPlus;
use units::Time;

/// The parameters of the transfers.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct TransferSpec {
    /// Bytes of each transfer, above 0; `None` if all data is one transfer.
    pub size: Option<u64>,
    /// Bytes of all transfers; `None` if unlimited.
    pub total: Option<u64>,
    /// Time from the end of one transfer to the start of the next.
    pub idle: Delay,
}

/// The state of the transfers. Bytes are numbered from the start of the first transfer.
#[derive(Clone, Copy, Debug)]
pub struct Transfers {
    /// Number after the last byte of the current transfer.
    end: u64,
    /// Bytes of the transfers after the current one.
    left: u64,
    /// Start of the next transfer; [`Time::NEVER`] if it is not determined yet or there is none.
    next: Time,
    /// Start of the current transfer; `None` if there is none.
    began: Option<Time>,
    /// First byte of the current transfer.
    first: u64,
    /// True if the last transfer is complete and no other follows.
    over: bool,
}

impl Transfers {
    /// Creates the transfers, of which the first begins at `start`.
    pub fn new(spec: &TransferSpec, start: Time) -> Transfers {
        let left = spec.total.unwrap_or(u64::MAX);
        let next = if left > 0 { start } else { Time::NEVER };
        Transfers { end: 0, left, next, began: None, first: 0, over: false }
    }
    /// Returns the number after the last byte to send.
    pub fn end(&self) -> u64 {
        self.end
    }
    /// Returns true if the last transfer is complete and no other follows.
    pub fn is_over(&self) -> bool {
        self.over
    }
    /// Returns the start of the next transfer; `None` if it is not determined yet or there is none.
    pub fn next(&self) -> Option<Time> {
        Some(self.next).filter(|&at| at < Time::NEVER)
    }
    /// Returns the start of the next transfer; [`Time::NEVER`] if there is none.
    pub fn calls_at(&self) -> Time {
        self.next
    }
    /// Appends a transfer behind all others. [`TransferSpec::total`] must be limited.
    pub fn offer(&mut self, start: Time, bytes: u64) {
        (self.next, self.left, self.over) = (start, bytes, false);
    }
    /// Appends `bytes` that belong to no transfer.
    pub fn extend(&mut self, bytes: u64) {
        self.end += bytes;
    }
    /// Begins the transfer that is due. Returns true if there is one.
    pub fn begin(&mut self, spec: &TransferSpec, now: Time) -> bool {
        if self.next > now || self.next == Time::NEVER {
            return false;
        }
        let due = std::mem::replace(&mut self.next, Time::NEVER);
        let size = spec.size.unwrap_or(u64::MAX).min(self.left);
        (self.began, self.first, self.end) = (Some(due), self.end, self.end.saturating_add(size));
        // An unlimited transfer has no successor.
        self.left = if spec.total.is_none() && spec.size.is_some() { u64::MAX } else { self.left - size };
        true
    }
    /// Records that everything before this byte is acknowledged. Returns the start and the bytes of the transfer that
    /// this completes, if any.
    pub fn complete(
        &mut self,
        spec: &TransferSpec,
        acknowledged: u64,
        now: Time,
        rng: Option<&mut Xoshiro256PlusPlus>,
    ) -> Option<(Time, u64)> {
        let began = self.began.filter(|_| acknowledged == self.end)?;
        self.began = None;
        self.over = self.left == 0;
        if self.left > 0 {
            let idle = match (spec.idle, rng) {
                (Delay::Fixed(idle), _) => idle,
                (drawn, Some(rng)) => drawn.draw(rng),
                (_, None) => Time::ZERO,
            };
            self.next = now.saturating_add(idle);
        }
        Some((began, self.end - self.first)).filter(|&(_, bytes)| bytes > 0)
    }
    /// Ends the data at this byte.
    pub fn close(&mut self, end: u64) {
        (self.end, self.left, self.next) = (self.end.min(end), 0, Time::NEVER);
        self.over = self.began.is_none();
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn us(us: u64) -> Time {
        Time::from_us(us)
    }

    #[test]
    fn transfers_follow_each_other_until_the_total() {
        let spec = TransferSpec { size: Some(400), total: Some(1_000), idle: Delay::Fixed(us(7)) };
        let mut it = Transfers::new(&spec, us(3));
        assert_eq!((it.begin(&spec, us(2)), it.end()), (false, 0));
        for (start, end, bytes) in [(3, 400, 400), (17, 800, 400), (31, 1_000, 200)] {
            assert_eq!(it.next(), Some(us(start)));
            assert_eq!((it.begin(&spec, us(start)), it.end(), it.next()), (true, end, None));
            assert_eq!(it.complete(&spec, end - 1, us(start + 7), None), None);
            assert_eq!(it.complete(&spec, end, us(start + 7), None), Some((us(start), bytes)));
            assert_eq!(it.complete(&spec, end, us(start + 7), None), None);
            assert_eq!(it.is_over(), end == 1_000);
        }
        assert_eq!(it.next(), None);
    }

    #[test]
    fn without_end_until_closed() {
        for (size, end) in [(None, u64::MAX), (Some(500), 500)] {
            let spec = TransferSpec { size, total: None, idle: Delay::default() };
            let mut it = Transfers::new(&spec, us(0));
            assert!(it.begin(&spec, us(0)));
            assert_eq!(it.end(), end);
            it.close(300);
            assert_eq!(it.complete(&spec, 300, us(9), None), Some((us(0), 300)));
            assert_eq!((it.next(), it.is_over()), (None, true));
            it.offer(us(10), 5);
            assert!(!it.is_over());
        }
        let nothing = TransferSpec { size: None, total: Some(0), idle: Delay::default() };
        assert_eq!(Transfers::new(&nothing, us(0)).next(), None);
    }
}
