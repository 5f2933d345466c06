//! Counts of the two ends of a link with credits.

use super::CreditSpec;
use units::Time;

/// Updates count modulo this.
const CYCLE: u16 = 1 << 15;
/// The most credits of a channel: less than a cycle can come free between two updates.
pub const MOST_CREDITS: u64 = 1 << 14;

/// Counts that one update tells.
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
/// Whether a count is that of a bypass queue.
#[inline]
pub fn is_bypass(count: usize) -> bool {
    count / BANK == 1
}

/// What an update tells: the credits that came free since the beginning, modulo 2^15.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Freed {
    /// Those of a bank.
    pub counts: [u16; BANK],
    /// Which.
    pub bank: u8,
}

/// An end of a link takes or gives credits that do not exist.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Overdraft {
    /// The channel.
    pub channel: u8,
    /// Credits that were asked for or given back.
    pub wanted: u32,
    /// Credits that there were.
    pub had: u32,
}

/// Counts of the sending end. An update has eight of them, which are looked at all at once.
#[derive(Clone, Debug)]
pub struct Sender {
    granted: u16,
    /// Credits that each has left.
    available: [u16; COUNTS],
    /// Credits given back, as the last update told.
    freed: [u16; COUNTS],
}

impl Sender {
    /// The other end has granted so many credits to each channel, at most [`MOST_CREDITS`].
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
    /// A frame leaves.
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
    /// An update has come.
    ///
    /// # Errors
    /// If more has come free than was taken.
    #[inline]
    pub fn learn(&mut self, told: Freed) -> Result<(), Overdraft> {
        let first = usize::from(told.bank) * BANK;
        let freed = bank_of(&mut self.freed, told.bank);
        let available = bank_of(&mut self.available, told.bank);
        let back: [u16; BANK] =
            std::array::from_fn(|count| told.counts[count].wrapping_sub(freed[count]) % CYCLE);
        // Below 2^14 + 2^15.
        let left: [u16; BANK] = std::array::from_fn(|count| available[count] + back[count]);
        if left.iter().fold(0, |most, &one| most.max(one)) > self.granted {
            return Err(self.too_many(first, back));
        }
        *available = left;
        *freed = told.counts;
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
    /// Credits that came free since the beginning, and those that an update has told of, modulo [`CYCLE`].
    freed: [u16; COUNTS],
    told: [u16; COUNTS],
    /// The banks in which the two differ, bit n for bank n.
    owes: u8,
    last_update: Option<Time>,
    /// Time between updates at least.
    spacing: Time,
}

impl Receiver {
    /// An empty buffer of so many credits for each channel.
    pub fn new(granted: u32) -> Receiver {
        let none = [0; COUNTS];
        let spacing = Time::from_ps(1);
        Receiver { granted, held: [0; COUNTS], freed: none, told: none, owes: 0, last_update: None, spacing }
    }
    /// As it is, with updates at least this far apart, and never two in the same instant.
    #[must_use]
    pub fn spaced(self, spacing: Time) -> Receiver {
        Receiver { spacing: spacing.max(Time::from_ps(1)), ..self }
    }
    /// The update was lost: it is to be sent again.
    pub fn lost(&mut self, update: Freed) {
        self.owes |= 1 << update.bank;
    }
    /// A frame has come.
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
    /// A frame has left the buffer. When an update is due, if that is known by now.
    #[inline]
    pub fn free(&mut self, spec: &CreditSpec, channel: usize, credits: u32, now: Time) -> Time {
        self.held[channel] -= credits;
        self.freed[channel] = (self.freed[channel] + credits as u16) % CYCLE;
        self.owes |= 1 << (channel / BANK);
        let owed = self.freed[channel].wrapping_sub(self.told[channel]) % CYCLE;
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
    /// Whether there is anything to tell.
    pub fn owes(&self) -> bool {
        self.owes != 0
    }
    /// The update to send now. It tells of the first bank of which something is owed: if anything is owed after it, the
    /// next is due at once.
    pub fn update(&mut self, now: Time) -> Freed {
        let bank = if self.owes == 0 { 0 } else { self.owes.trailing_zeros() as u8 };
        self.owes &= !(1 << bank);
        let counts = *bank_of(&mut self.freed, bank);
        *bank_of(&mut self.told, bank) = counts;
        self.last_update = Some(now);
        Freed { counts, bank }
    }
    /// Credits of what the buffer holds, and of what has left it and `sender` does not know of.
    pub fn holds(&self, channel: usize, sender: &Sender) -> u64 {
        u64::from(self.held[channel])
            + u64::from(self.freed[channel].wrapping_sub(sender.freed[channel]) % CYCLE)
    }
}
