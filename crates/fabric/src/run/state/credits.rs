//! Credits at work: where the counts of a link's ends (`flow_control::credit`) meet ports and queues.

pub(crate) mod bypass_waits;
pub(crate) mod updates;

use crate::run::state::credit_waits::Fills;
use crate::run::state::credits::bypass_waits::BypassWaits;
use crate::run::state::credits::updates::PublishedUpdates;
use crate::run::state::ended_wait::EndedWait;
use engine::Timer;
use flow_control::CreditSpec;
use flow_control::credit::{COUNTS, Receiver, Sender, channel_of_count, counts_of_channel};
use frame::{CHANNELS, ClassMap, Frame, Priority, TrafficClass};
use units::{BitRate, Time};

/// The credits of a link, at one of its ends: those that it takes, and those that it grants.
#[derive(Debug)]
pub(crate) struct CreditState {
    pub(in crate::run) spec: CreditSpec,
    pub sender: Sender,
    pub receiver: Receiver,
    /// From the last bit of an update sent to its effect at the other end.
    pub(in crate::run) takes: Time,
    /// True if an update that takes time waits for the transmitter.
    pub(in crate::run) update_waits: bool,
    /// Time at which the next update is due.
    pub(in crate::run) update: Timer,
    /// Time at which the last update that a frame carried has left.
    pub(in crate::run) left: Time,
    pub(in crate::run) published: PublishedUpdates,
    /// Classes whose next frame lacks credits.
    pub(in crate::run) short: u32,
    /// Classes whose bypass queue lacks credits, if such waits are recorded.
    pub(in crate::run) held: u32,
    /// Classes whose last wait is over but not yet recorded.
    pub(in crate::run) over: u32,
    waits: [Waits; CHANNELS],
    classes: ClassMap,
    /// By channel, the classes that have frames of it.
    pub(in crate::run) of_channels: [u32; CHANNELS],
    /// With so many credits left of a channel no class that has frames of it lacks any; more than there are where a class
    /// has frames of several counts.
    pub(in crate::run) plenty: u32,
    /// Frames that fill the buffer for which this end grants credits, if that is recorded.
    pub fills: Option<Box<Fills>>,
    /// Waits of bypass queues, if there can be any.
    pub(in crate::run) bypass_waits: Option<Box<BypassWaits>>,
    /// Time after which a lost update is sent again; [`Time::NEVER`] if it is not.
    pub(in crate::run) again: Time,
    /// Credits of frames that were lost on their way here, where they are restored.
    pub(in crate::run) leaks: Option<Box<Leaks>>,
}

/// Credits of frames that were lost on their way to a port, by count.
#[derive(Clone, Debug)]
pub(crate) struct Leaks {
    /// Those that have not come back yet.
    pub now: [u32; COUNTS],
    /// All since measuring began, and those of them that have come back.
    pub lost: [u64; COUNTS],
    pub restored: [u64; COUNTS],
    /// When the next message of the sending end is here, and their period.
    pub message: Timer,
    pub period: Time,
}

/// Waits of a class for credits since measuring began.
#[derive(Clone, Copy, Debug, Default)]
pub(in crate::run) struct Waits {
    times: u64,
    /// Since when it waits, if it does, and how long it waited before.
    since: Time,
    pub(in crate::run) before: Time,
    /// When the link, free, began to wait for it last, and when such a wait was over, since the beginning of the run.
    began: Time,
    ended: Time,
}

/// Returns the time between two updates at least, and that after which a lost one is repeated; [`Time::NEVER`]: it is not.
fn spacings(own: &CreditSpec, rate: BitRate) -> [Time; 2] {
    let spacing = |bytes: u32| rate.time_for_bits_ceil(u64::from(bytes) * 8);
    let again = if own.cf_max_spacing > 0 { spacing(own.cf_max_spacing) } else { Time::NEVER };
    [spacing(own.cf_min_spacing), again]
}

impl CreditState {
    /// Nothing has been sent; `peer` is what the other end of the link, of this rate and delay, grants.
    pub fn new(
        own: &CreditSpec,
        peer: &CreditSpec,
        (rate, delay): (BitRate, Time),
        classes: ClassMap,
    ) -> CreditState {
        let restores = peer.cc_message_timer > Time::ZERO;
        let none = || {
            let (lost, restored) = ([0; COUNTS], [0; COUNTS]);
            let period = peer.cc_message_timer;
            Box::new(Leaks { now: [0; COUNTS], lost, restored, message: Timer::IDLE, period })
        };
        let classes_of = |channel: usize| {
            classes.classes_of(own.channels.numbers_of(TrafficClass(channel as u8)) & own.priorities)
        };
        let [least, again] = spacings(own, rate);
        CreditState {
            of_channels: std::array::from_fn(classes_of),
            spec: own.clone(),
            sender: Sender::new(peer.credits),
            receiver: Receiver::new(own.credits).spaced(least),
            takes: delay + peer.update_delay,
            update_waits: false,
            update: Timer::IDLE,
            left: Time::ZERO,
            published: PublishedUpdates::NONE,
            short: 0,
            held: 0,
            over: 0,
            waits: [Waits::default(); CHANNELS],
            classes,
            plenty: u32::MAX,
            fills: None,
            bypass_waits: None,
            again,
            leaks: restores.then(none),
        }
    }
    /// The port sends at another rate, by which the distances of its updates go.
    pub fn on_link_rate(&mut self, rate: BitRate) {
        let [least, again] = spacings(&self.spec, rate);
        self.receiver.set_spacing(least);
        self.again = again;
    }
    /// Classes whose next frame lacks credits.
    #[inline]
    pub fn short(&self) -> u32 {
        self.short
    }
    /// Writes them; false: they are the same. The link is free from `free` on.
    pub(in crate::run) fn set_short(&mut self, short: u32, free: Time, now: Time) -> bool {
        let mut changed = self.short ^ short;
        if changed == 0 {
            return false;
        }
        while changed != 0 {
            let class = changed.trailing_zeros();
            changed &= changed - 1;
            let waits = &mut self.waits[class as usize];
            if short >> class & 1 != 0 {
                waits.times += 1;
                waits.since = now;
                waits.began = free.max(now);
            } else {
                waits.before += now - waits.since;
                if now > waits.began {
                    waits.ended = now;
                }
            }
        }
        self.over |= self.short & !short;
        self.short = short;
        true
    }
    /// Number of waits of a class since measuring began.
    pub fn waits(&self, class: u8) -> u64 {
        self.waits[usize::from(class)].times
    }
    /// Total time of these waits.
    pub fn waited(&self, class: u8, end: Time) -> Time {
        let waits = &self.waits[usize::from(class)];
        let still = self.short >> class & 1 != 0;
        waits.before + if still { end.saturating_sub(waits.since) } else { Time::ZERO }
    }
    /// Begins measuring.
    pub fn restart(&mut self, now: Time) {
        for waits in &mut self.waits {
            *waits = Waits { times: 0, since: now, before: Time::ZERO, ..*waits };
        }
        if let Some(leaks) = &mut self.leaks {
            (leaks.lost, leaks.restored) = ([0; COUNTS], [0; COUNTS]);
        }
    }
    /// No frame is longer. What fills the room at this end is recorded, or not.
    pub fn record(&mut self, on: bool, longest: u32) {
        let (_, several) = self.of_channels.iter().fold((0, self.spec.bypassable != 0), |seen, &classes| {
            (seen.0 | classes, seen.1 || seen.0 & classes != 0)
        });
        self.plenty = if several { u32::MAX } else { self.spec.need(longest) };
        self.fills = on.then(|| Box::new(Fills::new(self.spec.need(longest))));
        self.bypass_waits = (self.spec.bypassable != 0).then(Box::default);
    }
    /// The wait of a class of which this is the lowest priority: since when a link that was free waits for it.
    pub fn wait_in_force(&self, priority: u8) -> Option<Time> {
        let class =
            self.classes.numbers().contains(&priority).then(|| self.classes.class(Priority(priority)))?;
        let waits = self.short >> class.0 & 1 != 0 && self.lowest_priority(class) == priority;
        waits.then(|| self.waits[class.at()].began)
    }
    /// Tells of the waits that are over.
    pub fn waits_over(&mut self, mut ended: impl FnMut(EndedWait)) {
        while self.over != 0 {
            let class = TrafficClass(self.over.trailing_zeros() as u8);
            self.over &= self.over - 1;
            let Waits { began, ended: end, .. } = self.waits[class.at()];
            ended(EndedWait {
                priority: self.lowest_priority(class),
                start: began,
                end,
                cause: 0,
                bypass: false,
            });
        }
    }
    /// Returns true if the idle link waits for credits of a class, or has done so at any time since then.
    pub fn has_waited(&self, class: u8, since: Time, now: Time) -> bool {
        let waits = &self.waits[usize::from(class)];
        let waits_now = self.short >> class & 1 != 0 && waits.began <= now;
        waits_now || waits.ended > Time::ZERO && waits.ended >= since
    }
    fn lowest_priority(&self, class: TrafficClass) -> u8 {
        (self.classes.numbers_of(class) & self.spec.priorities).trailing_zeros() as u8
    }
    /// The priorities of the channel of a count, bit n for number n.
    pub fn of_channel(&self, count: usize) -> u32 {
        self.spec.channels.numbers_of(TrafficClass(channel_of_count(count) as u8)) & self.spec.priorities
    }
    /// The channel of a priority.
    pub fn channel(&self, priority: u8) -> usize {
        self.spec.channel(Priority(priority))
    }
    /// Number of bytes that this number of credits is worth.
    pub fn bytes(&self, credits: u32) -> u64 {
        u64::from(credits) * u64::from(self.spec.unit)
    }
    /// The channels of a class, by name.
    pub fn channels_of(&self, class: u8) -> String {
        let of_class = |&channel: &usize| self.of_channels[channel] >> class & 1 != 0;
        let names: Vec<String> =
            (0..CHANNELS).filter(of_class).map(|channel| self.spec.names.name(channel)).collect();
        names.join(" ")
    }
    /// Name of a credit counter.
    pub fn name(&self, count: usize) -> String {
        self.spec.count_name(count)
    }
    /// Returns true if the channel of a priority has a bypass queue.
    pub fn has_bypass(&self, priority: Priority) -> bool {
        self.spec.has_bypass(priority)
    }
    /// Credits of frames of a class that were lost on their way here, and those of them that have come back.
    pub fn leaked(&self, class: u8) -> (u64, u64) {
        let Some(leaks) = &self.leaks else { return (0, 0) };
        let of_class = (0..CHANNELS).filter(|&channel| self.of_channels[channel] >> class & 1 != 0);
        let counts = of_class.flat_map(counts_of_channel);
        counts.fold((0, 0), |sum, count| (sum.0 + leaks.lost[count], sum.1 + leaks.restored[count]))
    }
    /// Bytes of what it keeps of updates.
    pub fn updates_bytes(&self) -> usize {
        self.published.memory_bytes()
    }
    /// Credits that a frame needs, and the count that it takes them from.
    #[inline(always)]
    pub fn need(&self, frame: &Frame) -> (usize, u32) {
        (self.spec.count_of(frame), self.spec.need_of(frame))
    }
    /// The priorities that share a channel with this one.
    pub fn sharing(&self, priority: Priority) -> u32 {
        if !self.spec.covers(priority) {
            return 0;
        }
        self.spec.channels.numbers_of(self.spec.channels.class(priority)) & self.spec.priorities
    }
    #[inline]
    pub(in crate::run) fn lacks(&self, frame: &Frame) -> bool {
        let (channel, credits) = self.need(frame);
        self.sender.available(channel) < credits
    }
}
