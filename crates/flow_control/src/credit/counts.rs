//! Counts of the two ends of a link with credits.

use super::CreditSpec;
use units::Time;

/// Updates count modulo this.
const CYCLE: u16 = 1 << 15;
/// The most credits of a channel: less than a cycle can come free between two updates.
pub const MOST_CREDITS: u64 = 1 << 14;

/// Number of counts in one update.
pub const BANK: usize = 8;
const BANKS: usize = 4;
/// Counts of the channels of a link, in banks: of the first eight channels; of the bypass queues beside these; of the next
/// eight channels; of the rest.
pub const COUNTS: usize = BANKS * BANK;

/// The channel of a count.
#[inline]
pub fn channel_of_count(count: usize) -> usize {
    if count < BANK { count } else { count - BANK }
}
/// The count of what is not bypassed of a channel.
#[inline]
pub fn count_of_channel(channel: usize) -> usize {
    if channel < BANK { channel } else { channel + BANK }
}
/// The counts of a channel: its own, and that of a bypass queue if it may have one.
pub fn counts_of_channel(channel: usize) -> impl Iterator<Item = usize> {
    std::iter::once(count_of_channel(channel)).chain((channel < BANK).then_some(channel + BANK))
}
/// Returns true if a count is that of a bypass queue.
#[inline]
pub fn is_bypass(count: usize) -> bool {
    count / BANK == 1
}

/// An update: the credits freed since the start of the run, modulo 2^15.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Freed {
    /// Freed credits of each count in the bank, modulo 2^15.
    pub counts: [u16; BANK],
    /// Index of the bank, 0 to 3.
    pub bank: u8,
}

/// Error of an end that takes or returns more credits than exist.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Overdraft {
    /// The channel.
    pub channel: u8,
    /// Credits requested or returned.
    pub wanted: u32,
    /// Credits available.
    pub had: u32,
}

/// Counts of the sending end. An update covers the eight counts of a bank, which are processed together.
#[derive(Clone, Debug)]
pub struct Sender {
    granted: u16,
    /// Credits that each has left.
    available: [u16; COUNTS],
    /// Credits returned by the updates so far, modulo [`CYCLE`].
    freed: [u16; COUNTS],
}

impl Sender {
    /// The other end has granted this number of credits to each channel, at most [`MOST_CREDITS`].
    pub fn new(granted: u32) -> Sender {
        let granted = granted as u16;
        Sender { granted, available: [granted; COUNTS], freed: [0; COUNTS] }
    }
    /// Credits that each channel has at first.
    pub fn granted(&self) -> u32 {
        u32::from(self.granted)
    }
    /// Credits that a channel has left.
    #[inline]
    pub fn available(&self, channel: usize) -> u32 {
        u32::from(self.available[channel])
    }
    /// Credits that a channel has taken and not got back.
    #[inline]
    pub fn outstanding(&self, channel: usize) -> u32 {
        u32::from(self.granted - self.available[channel])
    }
    /// Takes the credits of a frame that leaves.
    ///
    /// # Errors
    /// If the channel has fewer credits.
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
    /// If more has come free than was taken.
    #[inline]
    pub fn on_update(&mut self, update: Freed) -> Result<(), Overdraft> {
        let first = usize::from(update.bank) * BANK;
        let freed = bank_of(&mut self.freed, update.bank);
        let available = bank_of(&mut self.available, update.bank);
        let back: [u16; BANK] =
            std::array::from_fn(|count| update.counts[count].wrapping_sub(freed[count]) % CYCLE);
        // Below 2^14 + 2^15.
        let left: [u16; BANK] = std::array::from_fn(|count| available[count] + back[count]);
        if left.iter().fold(0, |most, &one| most.max(one)) > self.granted {
            return Err(self.too_many(first, back));
        }
        *available = left;
        *freed = update.counts;
        Ok(())
    }
    /// The first count of which more has come back than was taken.
    #[cold]
    fn too_many(&self, first: usize, back: [u16; BANK]) -> Overdraft {
        let wrong = (0..BANK).find(|&at| u32::from(back[at]) > self.outstanding(first + at));
        let at = wrong.unwrap_or_default();
        let (wanted, had) = (u32::from(back[at]), self.outstanding(first + at));
        Overdraft { channel: (first + at) as u8, wanted, had }
    }
}

/// The counts of a bank.
#[inline]
fn bank_of(counts: &mut [u16; COUNTS], bank: u8) -> &mut [u16; BANK] {
    let first = usize::from(bank) % BANKS * BANK;
    (&mut counts[first..first + BANK]).try_into().expect("a bank has that many counts")
}

/// Counts of the receiving end.
#[derive(Clone, Debug)]
pub struct Receiver {
    granted: u32,
    /// Credits of what the buffer holds.
    held: [u32; COUNTS],
    /// Credits freed since the start of the run, modulo [`CYCLE`].
    freed: [u16; COUNTS],
    /// Credits that updates have advertised, modulo [`CYCLE`].
    advertised: [u16; COUNTS],
    /// Banks with credits not yet advertised, bit n for bank n.
    owes: u8,
    last_update: Option<Time>,
    /// Time between updates at least.
    spacing: Time,
}

impl Receiver {
    /// An empty buffer of this number of credits for each channel.
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
    /// Sets the least time between two updates; that of the next one counts from the last.
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
    /// If there is no room for it.
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
    /// Credits of what the buffer holds of a channel.
    pub fn held(&self, channel: usize) -> u32 {
        self.held[channel]
    }
    /// Credits that a channel has room for.
    pub fn room(&self, channel: usize) -> u32 {
        self.granted - self.held[channel]
    }
    /// Returns true if freed credits have not been advertised.
    pub fn owes(&self) -> bool {
        self.owes != 0
    }
    /// Returns the update to send now, of the first bank with credits not yet advertised. If others remain, the next update is due
    /// at once.
    pub fn update(&mut self, now: Time) -> Freed {
        let bank = if self.owes == 0 { 0 } else { self.owes.trailing_zeros() as u8 };
        self.owes &= !(1 << bank);
        let counts = *bank_of(&mut self.freed, bank);
        *bank_of(&mut self.advertised, bank) = counts;
        self.last_update = Some(now);
        Freed { counts, bank }
    }
    /// Credits in the buffer, plus those freed whose update `sender` has not received.
    pub fn holds(&self, channel: usize, sender: &Sender) -> u64 {
        u64::from(self.held[channel])
            + u64::from(self.freed[channel].wrapping_sub(sender.freed[channel]) % CYCLE)
    }
}
