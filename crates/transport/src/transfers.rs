//! What a TCP sender has to send: one transfer, or one after the other with idle times between.

use crate::delay::Delay;
use rand_xoshiro::Xoshiro256PlusPlus;
use units::Time;

/// Which transfers there are.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct TransferSpec {
    /// Bytes of each, above 0; `None`: one transfer of everything.
    pub size: Option<u64>,
    /// Bytes of all; `None`: without end.
    pub total: Option<u64>,
    /// From the end of one to the start of the next.
    pub idle: Delay,
}

/// Transfers at work. Bytes are numbered from the start of the first.
#[derive(Clone, Copy, Debug)]
pub struct Transfers {
    /// One behind the last byte of the current one.
    end: u64,
    /// Bytes of those to come.
    left: u64,
    /// When the next one begins; [`Time::NEVER`]: that is not known yet, or there is none.
    next: Time,
    /// When the current one began; `None`: there is none.
    began: Option<Time>,
    /// Its first byte.
    first: u64,
    /// The last one is complete, and there is none to come.
    over: bool,
}

impl Transfers {
    /// The first one begins at `start`.
    pub fn new(spec: &TransferSpec, start: Time) -> Transfers {
        let left = spec.total.unwrap_or(u64::MAX);
        let next = if left > 0 { start } else { Time::NEVER };
        Transfers { end: 0, left, next, began: None, first: 0, over: false }
    }
    /// One behind the last byte that there is to send.
    pub fn end(&self) -> u64 {
        self.end
    }
    /// Whether the last one is complete, and none is to come.
    pub fn is_over(&self) -> bool {
        self.over
    }
    /// When the next one begins; `None`: that is not known yet, or there is none.
    pub fn next(&self) -> Option<Time> {
        Some(self.next).filter(|&at| at < Time::NEVER)
    }
    /// As `next`; [`Time::NEVER`] for none.
    pub fn calls_at(&self) -> Time {
        self.next
    }
    /// One more transfer, after the end of all others, of which [`TransferSpec::total`] says that they end.
    pub fn offer(&mut self, start: Time, bytes: u64) {
        (self.next, self.left, self.over) = (start, bytes, false);
    }
    /// So many more bytes, which belong to no transfer.
    pub fn extend(&mut self, bytes: u64) {
        self.end += bytes;
    }
    /// Begins what is due; whether something is.
    pub fn begin(&mut self, spec: &TransferSpec, now: Time) -> bool {
        if self.next > now || self.next == Time::NEVER {
            return false;
        }
        let due = std::mem::replace(&mut self.next, Time::NEVER);
        let size = spec.size.unwrap_or(u64::MAX).min(self.left);
        (self.began, self.first, self.end) = (Some(due), self.end, self.end.saturating_add(size));
        // What has no end has no next one either.
        self.left = if spec.total.is_none() && spec.size.is_some() { u64::MAX } else { self.left - size };
        true
    }
    /// Everything before this byte is acknowledged: the start and the bytes of the transfer that this completes.
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
    /// Nothing more behind this byte.
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
