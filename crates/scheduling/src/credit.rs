//! The credit of a class with a credit-based shaper (IEEE 802.1Q clause 8.6.8.2).

use units::{BitRate, Time};

/// Credit of a shaped class in units of 10^-12 bit.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Credit {
    slope: BitRate,
    link: BitRate,
    /// The class may send while this is not negative.
    pub credit: i128,
    /// Time up to which `credit` has been computed. It lies in the future while the class sends.
    since: Time,
    waiting: bool,
}

impl Credit {
    /// Creates a credit of zero. A slope above the rate of the link, which a fault may leave behind, is limited to that
    /// rate.
    pub fn new(slope: BitRate, link: BitRate) -> Credit {
        Credit { slope: slope.min(link), link, credit: 0, since: Time::ZERO, waiting: false }
    }
    /// Updates the credit: it grows while frames wait, otherwise up to zero.
    #[inline]
    fn settle(&mut self, now: Time) {
        let span = now.saturating_sub(self.since);
        let grown = self.credit + i128::from(span.ps()) * i128::from(self.slope.bps());
        self.credit = if self.waiting { grown } else { grown.min(0) };
        self.since = self.since.max(now);
    }
    #[inline]
    pub fn set_waiting(&mut self, waiting: bool, now: Time) {
        self.settle(now);
        self.waiting = waiting;
        if !waiting {
            self.credit = self.credit.min(0);
        }
    }
    #[inline]
    pub fn allows(&mut self, now: Time) -> bool {
        self.settle(now);
        self.credit >= 0
    }
    /// Accounts for a frame that occupies the link for `span`: credit decreases at the rate of the link less the idle
    /// slope.
    #[inline]
    pub fn sends(&mut self, span: Time, waiting: bool, now: Time) {
        self.settle(now);
        self.credit -= i128::from(span.ps()) * i128::from(self.link.bps() - self.slope.bps());
        self.since = now + span;
        self.waiting = waiting;
        if !waiting {
            self.credit = self.credit.min(0);
        }
    }
    /// Changes the idle slope and the rate of the link from `now` on.
    pub fn set_rates(&mut self, slope: BitRate, link: BitRate, now: Time) {
        self.settle(now);
        (self.slope, self.link) = (slope.min(link), link);
    }
    pub fn ready_at(&self) -> Time {
        let missing = (-self.credit).max(0) as u128;
        self.since + Time::from_ps(missing.div_ceil(u128::from(self.slope.bps())) as u64)
    }
}
