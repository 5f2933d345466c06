//! Causes of missing credits: the frames that have filled the room at the end of a link.

use flow_control::credit::{COUNTS, counts_of_channel, is_bypass};
use units::Time;

/// The room of a channel was filled.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Fill {
    pub channel: u8,
    pub start: Time,
    /// End of the fill; [`Time::NEVER`] while it lasts.
    pub end: Time,
    /// Credits that it held at first.
    pub held: u32,
    /// The queue, in numbers of the whole fabric, that most of it waited for; `None`: a host had not read it.
    pub queue: Option<u32>,
    /// True if the port of that queue had waited for credits.
    pub inherited: bool,
    /// True if it waited for the crossbar.
    pub crossbar: bool,
}

/// All that have filled the room at an end of a link.
#[derive(Debug)]
pub(crate) struct Fills {
    /// Credits of the longest frame.
    pub(in crate::run) longest: u32,
    /// By count of credits, the one that is not over, and when the room was half empty last.
    pub(in crate::run) open: [Option<Fill>; COUNTS],
    pub(in crate::run) half: [Time; COUNTS],
    pub(in crate::run) ended: Vec<Fill>,
}

impl Fills {
    /// Nothing has come yet.
    pub fn new(longest: u32) -> Fills {
        Fills { longest, open: [None; COUNTS], half: [Time::ZERO; COUNTS], ended: Vec::new() }
    }
    /// Fills of a channel that lasted into this time, in order, followed by those of its bypass queue, or only the latter.
    pub fn during(
        &self,
        channel: usize,
        bypass: bool,
        start: Time,
        end: Time,
    ) -> impl Iterator<Item = &Fill> {
        let counts = counts_of_channel(channel).filter(move |&count| !bypass || is_bypass(count));
        counts.flat_map(move |count| self.of_count(count, start, end))
    }
    fn of_count(&self, channel: usize, start: Time, end: Time) -> impl Iterator<Item = &Fill> {
        let first = self.ended.partition_point(|fill| fill.end <= start);
        // No two of a channel overlap, so that one that begins later is not followed by any that does not.
        let of_channel = self.ended[first..].iter().filter(move |fill| usize::from(fill.channel) == channel);
        of_channel.chain(&self.open[channel]).take_while(move |fill| fill.start < end)
    }
    /// Bytes of all.
    pub fn memory_bytes(&self) -> usize {
        size_of::<Fills>() + self.ended.capacity() * size_of::<Fill>()
    }
}
