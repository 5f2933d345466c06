//! Credit counts at the two ends of a link. There is one count per channel and one per bypass queue; functions that
//! take a `channel` expect the index of a count.

use super::CreditSpec;
use units::Time;

/// Modulus of the counts in updates.
const CYCLE: u16 = 1 << 15;
/// Maximum number of credits per channel, so that fewer than 2^15 credits are freed between two updates.
pub const MOST_CREDITS: u64 = 1 << 14;

/// Number of counts in one update.
pub const BANK: usize = 8;
const BANKS: usize = 4;
/// Number of counts of a link. The banks hold, in this order, the counts of the first eight channels, of their bypass
/// queues, of the next eight channels, and of the remaining channels.
pub const COUNTS: usize = BANKS * BANK;

/// Returns the channel to which a count belongs.
#[inline]
pub fn channel_of_count(count: usize) -> usize {
    if count < BANK { count } else { count - BANK }
}
/// Returns the count of a channel itself, as opposed to its bypass queue.
#[inline]
pub fn count_of_channel(channel: usize) -> usize {
    if channel < BANK { channel } else { channel + BANK }
}
/// Returns the counts of a channel: its own, and that of its bypass queue if it may have one.
pub fn counts_of_channel(channel: usize) -> impl Iterator<Item = usize> {
    std::iter::once(count_of_channel(channel)).chain((channel < BANK).then_some(channel + BANK))
}
/// Returns true if the count belongs to a bypass queue.
#[inline]
pub fn is_bypass(count: usize) -> bool {
    count / BANK == 1
}

/// An update: the number of credits freed since the start of the run, modulo 2^15.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Freed {
    /// Freed credits of each count in the bank, modulo 2^15.
    pub counts: [u16; BANK],
    /// Index of the bank, 0 to 3.
    pub bank: u8,
}

/// The error of consuming or returning more credits than exist.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Overdraft {
    /// Index of the count.
    pub channel: u8,
    /// Credits requested or returned.
    pub wanted: u32,
    /// Credits available.
    pub had: u32,
}

/// The counts at the sending end. An update covers the eight counts of a bank, which are processed together.
#[derive(Clone, Debug)]
pub struct Sender {
    granted: u16,
    /// Credits left, by count.
    available: [u16; COUNTS],
    /// Credits returned by the updates so far, modulo [`CYCLE`].
    freed: [u16; COUNTS],
}

impl Sender {
    /// Creates the counts for a link whose other end has granted this number of credits to each, at most
    /// [`MOST_CREDITS`].
    pub fn new(granted: u32) -> Sender {
        let granted = granted as u16;
        Sender { granted, available: [granted; COUNTS], freed: [0; COUNTS] }
    }
    /// Returns the number of credits that were granted initially to each count.
    pub fn granted(&self) -> u32 {
        u32::from(self.granted)
    }
    /// Returns the credits that are left.
    #[inline]
    pub fn available(&self, channel: usize) -> u32 {
        u32::from(self.available[channel])
    }
    /// Returns the credits that were consumed and have not been returned.
    #[inline]
    pub fn outstanding(&self, channel: usize) -> u32 {
        u32::from(self.granted - self.available[channel])
    }
    /// Consumes the credits of a frame that leaves.
    ///
    /// # Errors
    /// Fewer credits are left.
    #[inline]
    pub fn take(&mut self, channel: usize, credits: u32) -> Result<(), Overdraft> {
        let had = self.available(channel);
        if credits > had {
            return Err(Overdraft { channel: channel as u8, wanted: credits, had });
        }
        self.available[channel] -= credits as u16;
        Ok(())
    }
    /// Applies an update that takes effect.
    ///
    /// # Errors
    /// More credits are returned than were consumed.
    #[inline]
    pub fn on_update(&mut self, update: Freed) -> Result<(), Overdraft> {
        let first = usize::from(update.bank) * BANK;
        let freed = bank_of(&mut self.freed, update.bank);
        let available = bank_of(&mut self.available, update.bank);
        let back: [u16; BANK] =
            std::array::from_fn(|count| update.counts[count].wrapping_sub(freed[count]) % CYCLE);
        // The sum is below 2^14 + 2^15.
        let left: [u16; BANK] = std::array::from_fn(|count| available[count] + back[count]);
        if left.iter().fold(0, |most, &one| most.max(one)) > self.granted {
            return Err(self.too_many(first, back));
        }
        *available = left;
        *freed = update.counts;
        Ok(())
    }
    /// Returns the error for the first count that got back more than was consumed.
    #[cold]
    fn too_many(&self, first: usize, back: [u16; BANK]) -> Overdraft {
        let wrong = (0..BANK).find(|&at| u32::from(back[at]) > self.outstanding(first + at));
        let at = wrong.unwrap_or_default();
        let (wanted, had) = (u32::from(back[at]), self.outstanding(first + at));
        Overdraft { channel: (first + at) as u8, wanted, had }
    }
}

/// Returns the counts of a bank.
#[inline]
fn bank_of(counts: &mut [u16; COUNTS], bank: u8) -> &mut [u16; BANK] {
    let first = usize::from(bank) % BANKS * BANK;
    (&mut counts[first..first + BANK]).try_into().expect("a bank has BANK counts")
}

/// The counts at the receiving end.
#[derive(Clone, Debug)]
pub struct Receiver {
    granted: u32,
    /// Credits that the frames in the buffer occupy, by count.
    held: [u32; COUNTS],
    /// Credits freed since the start of the run, modulo [`CYCLE`].
    freed: [u16; COUNTS],
    /// Freed credits advertised by updates, modulo [`CYCLE`].
    advertised: [u16; COUNTS],
    /// Banks with credits not yet advertised, bit n for bank n.
    owes: u8,
    last_update: Option<Time>,
    /// Minimum time between updates.
    spacing: Time,
}

impl Receiver {
    /// Creates an empty buffer with this number of credits per count.
    pub fn new(granted: u32) -> Receiver {
        let none = [0; COUNTS];
        let spacing = Time::from_ps(1);
        Receiver {
            granted,
            held: [0; COUNTS],
            freed: none,
            advertised: none,
            owes: 0,
            last_update: None,
            spacing,
        }
    }
    /// Sets the minimum time between updates, at least 1 ps.
    #[must_use]
    pub fn spaced(mut self, spacing: Time) -> Receiver {
        self.set_spacing(spacing);
        self
    }
    /// Sets the minimum time between updates, which also applies from the last update to the next one.
    pub fn set_spacing(&mut self, spacing: Time) {
        self.spacing = spacing.max(Time::from_ps(1));
    }
    /// Marks the bank (eight counts) of a lost update as not advertised, so that a new update of the bank is sent.
    pub fn lost(&mut self, update: Freed) {
        self.owes |= 1 << update.bank;
    }
    /// Reserves the credits of a frame that arrives.
    ///
    /// # Errors
    /// There is no room for the frame.
    #[inline]
    pub fn arrive(&mut self, channel: usize, credits: u32) -> Result<(), Overdraft> {
        let had = self.room(channel);
        if credits > had {
            return Err(Overdraft { channel: channel as u8, wanted: credits, had });
        }
        self.held[channel] += credits;
        Ok(())
    }
    /// Frees the credits of a frame that leaves the buffer; returns the time at which an update is due.
    #[inline]
    pub fn free(&mut self, spec: &CreditSpec, channel: usize, credits: u32, now: Time) -> Time {
        self.held[channel] -= credits;
        self.freed[channel] = (self.freed[channel] + credits as u16) % CYCLE;
        self.owes |= 1 << (channel / BANK);
        let owed = self.freed[channel].wrapping_sub(self.advertised[channel]) % CYCLE;
        let earliest = self.last_update.map_or(now, |last| now.max(last + self.spacing));
        if u32::from(owed) >= spec.update_after { earliest } else { earliest.max(now + spec.update_within) }
    }
    /// Returns the credits that frames in the buffer occupy.
    pub fn held(&self, channel: usize) -> u32 {
        self.held[channel]
    }
    /// Returns the number of credits for which there is room.
    pub fn room(&self, channel: usize) -> u32 {
        self.granted - self.held[channel]
    }
    /// Returns true if freed credits have not been advertised.
    pub fn owes(&self) -> bool {
        self.owes != 0
    }
    /// Returns the update to send now, for the first bank with credits not yet advertised. If other banks remain, the
    /// next update is due at once.
    pub fn update(&mut self, now: Time) -> Freed {
        let bank = if self.owes == 0 { 0 } else { self.owes.trailing_zeros() as u8 };
        self.owes &= !(1 << bank);
        let counts = *bank_of(&mut self.freed, bank);
        *bank_of(&mut self.advertised, bank) = counts;
        self.last_update = Some(now);
        Freed { counts, bank }
    }
    /// Returns the credits that frames in the buffer occupy, plus those freed by updates that `sender` has not yet
    /// received.
    pub fn holds(&self, channel: usize, sender: &Sender) -> u64 {
        u64::from(self.held[channel])
            + u64::from(self.freed[channel].wrapping_sub(sender.freed[channel]) % CYCLE)
    }
}
