//! The state of token and leaky buckets, which decides when a shaper releases a frame. See `shaper` for the parameters.

use crate::Share;
use units::{BitRate, Time};

/// Number of fixed-point units (picoseconds times bits per second) in one bit.
const UNIT: u128 = 1_000_000_000_000;

const fn level_of(bytes: u32) -> u128 {
    bytes as u128 * 8 * UNIT
}
fn flow(rate: BitRate, span: Time) -> u128 {
    u128::from(span.ps()) * u128::from(rate.bps())
}
fn time_for(level: u128, rate: BitRate) -> Time {
    Time::from_ps(u64::try_from(level.div_ceil(u128::from(rate.bps()))).unwrap_or(u64::MAX))
}

/// A token bucket.
#[derive(Clone, Copy, Debug)]
pub struct TokenBucket {
    rate: BitRate,
    depth: u128,
    tokens: u128,
    since: Time,
}

impl TokenBucket {
    /// Creates a full bucket.
    pub fn new(rate: BitRate, depth: u32) -> TokenBucket {
        TokenBucket { rate, depth: level_of(depth), tokens: level_of(depth), since: Time::ZERO }
    }
    #[inline]
    fn level(&self, now: Time) -> u128 {
        self.depth.min(self.tokens + flow(self.rate, now.saturating_sub(self.since)))
    }
    /// Returns true if `bytes` may be sent now.
    #[inline]
    pub fn allows(&self, bytes: u32, now: Time) -> bool {
        level_of(bytes) <= self.tokens || level_of(bytes) <= self.level(now)
    }
    /// Returns the earliest time at which `bytes` may be sent.
    pub fn ready_at(&self, bytes: u32) -> Time {
        self.since.saturating_add(time_for(level_of(bytes).saturating_sub(self.tokens), self.rate))
    }
    /// Removes the tokens for `bytes`.
    #[inline]
    pub fn take(&mut self, bytes: u32, now: Time) {
        self.tokens = self.level(now).saturating_sub(level_of(bytes));
        self.since = now.max(self.since);
    }
    /// Changes the fill rate from `now` on.
    pub fn set_rate(&mut self, rate: BitRate, now: Time) {
        self.take(0, now);
        self.rate = rate;
    }
}

/// A leaky bucket: the bits of the last frame that have not drained yet.
#[derive(Clone, Copy, Debug)]
pub struct LeakyBucket {
    rate: BitRate,
    level: u128,
    since: Time,
}

impl LeakyBucket {
    /// Creates an empty bucket.
    pub fn new(rate: BitRate) -> LeakyBucket {
        LeakyBucket { rate, level: 0, since: Time::ZERO }
    }
    /// Returns true if a frame may be sent now.
    #[inline]
    pub fn allows(&self, now: Time) -> bool {
        self.level <= flow(self.rate, now.saturating_sub(self.since))
    }
    /// Returns the earliest time at which a frame may be sent.
    pub fn ready_at(&self) -> Time {
        self.since.saturating_add(time_for(self.level, self.rate))
    }
    /// Adds `bytes`. Drain times are rounded up to a picosecond; the time lost is credited to the next frame.
    #[inline]
    pub fn take(&mut self, bytes: u32, now: Time) {
        let drained = flow(self.rate, now.saturating_sub(self.since));
        let surplus = drained.saturating_sub(self.level);
        let credit = if self.level > 0 && surplus < u128::from(self.rate.bps()) { surplus } else { 0 };
        self.level = self.level.saturating_sub(drained) + level_of(bytes) - credit;
        self.since = now;
    }
    /// Changes the drain rate from `now` on.
    pub fn set_rate(&mut self, rate: BitRate, now: Time) {
        self.level = self.level.saturating_sub(flow(self.rate, now.saturating_sub(self.since)));
        (self.rate, self.since) = (rate, now.max(self.since));
    }
}

/// The state of a shaper.
#[derive(Clone, Copy, Debug)]
pub struct Shaper {
    /// Rate as configured.
    pub(crate) rate: Share,
    pub(crate) bucket: Bucket,
}

#[derive(Clone, Copy, Debug)]
pub(crate) enum Bucket {
    Token(TokenBucket),
    Leaky(LeakyBucket),
}

impl Shaper {
    /// Returns true if a frame of accounted length `bytes` may be sent now.
    #[inline]
    pub fn allows(&self, bytes: u32, now: Time) -> bool {
        match &self.bucket {
            Bucket::Token(bucket) => bucket.allows(bytes, now),
            Bucket::Leaky(bucket) => bucket.allows(now),
        }
    }
    /// Returns the earliest time at which a frame of accounted length `bytes` may be sent.
    pub fn ready_at(&self, bytes: u32) -> Time {
        match &self.bucket {
            Bucket::Token(bucket) => bucket.ready_at(bytes),
            Bucket::Leaky(bucket) => bucket.ready_at(),
        }
    }
    /// Accounts for the transmission of a frame.
    #[inline]
    pub fn take(&mut self, bytes: u32, now: Time) {
        match &mut self.bucket {
            Bucket::Token(bucket) => bucket.take(bytes, now),
            Bucket::Leaky(bucket) => bucket.take(bytes, now),
        }
    }
    /// Adapts to a new rate of the link, from `now` on.
    pub fn on_link_rate(&mut self, link: BitRate, now: Time) {
        let rate = self.rate.of(link);
        match &mut self.bucket {
            Bucket::Token(bucket) => bucket.set_rate(rate, now),
            Bucket::Leaky(bucket) => bucket.set_rate(rate, now),
        }
    }
}
