//! Causes of missing credits: the frames that fill the buffer at the end of a link.

use flow_control::credit::{COUNTS, counts_of_channel, is_bypass};
use units::Time;

/// A period in which the buffer of a channel is full.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Fill {
    pub channel: u8,
    pub start: Time,
    /// End of the fill; [`Time::NEVER`] while it lasts.
    pub end: Time,
    /// Credits held when it began.
    pub held: u32,
    /// The queue, by its number in the whole fabric, in which most of this data was waiting; `None`: a host had not
    /// read it.
    pub queue: Option<u32>,
    /// True if the port of that queue was waiting for credits.
    pub inherited: bool,
    /// True if the data was waiting for the crossbar.
    pub crossbar: bool,
}

/// All periods in which the buffer at an end of a link is full.
#[derive(Debug)]
pub(crate) struct Fills {
    /// Credits of the longest frame.
    pub(in crate::run) longest: u32,
    /// By credit counter, the period in progress. `half` holds the last time at which the buffer was half empty.
    pub(in crate::run) open: [Option<Fill>; COUNTS],
    pub(in crate::run) half: [Time; COUNTS],
    pub(in crate::run) ended: Vec<Fill>,
}

impl Fills {
    /// Creates the state of an empty buffer.
    pub fn new(longest: u32) -> Fills {
        Fills { longest, open: [None; COUNTS], half: [Time::ZERO; COUNTS], ended: Vec::new() }
    }
    /// Returns the periods of a channel that lasted past this time, in order, followed by those of its bypass queue, or
    /// only the latter.
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
        // Periods of a channel do not overlap, so all later ones qualify too.
        let of_channel = self.ended[first..].iter().filter(move |fill| usize::from(fill.channel) == channel);
        of_channel.chain(&self.open[channel]).take_while(move |fill| fill.start < end)
    }
    /// Bytes of heap memory.
    pub fn memory_bytes(&self) -> usize {
        size_of::<Fills>() + self.ended.capacity() * size_of::<Fill>()
    }
}
