//! Credits at run time: connects the counters of a link's ends (`flow_control::credit`) with ports and queues.

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

/// Credits at one end of a link: those that it consumes, and those that it grants.
#[derive(Debug)]
pub(crate) struct CreditState {
    pub(in crate::run) spec: CreditSpec,
    pub sender: Sender,
    pub receiver: Receiver,
    /// Time from the last bit of an update sent until its effect at the other end.
    pub(in crate::run) takes: Time,
    /// True if an update that takes time on the link waits for the transmitter.
    pub(in crate::run) update_waits: bool,
    /// Time at which the next update is due.
    pub(in crate::run) update: Timer,
    /// Departure time of the last update that a frame carried.
    pub(in crate::run) left: Time,
    pub(in crate::run) published: PublishedUpdates,
    /// Classes whose next frame lacks credits, bit n for class n.
    pub(in crate::run) short: u32,
    /// Classes whose bypass queue lacks credits, if such waits are recorded, bit n for class n.
    pub(in crate::run) held: u32,
    /// Classes whose last wait has ended but is not yet recorded, bit n for class n.
    pub(in crate::run) over: u32,
    waits: [Waits; CHANNELS],
    classes: ClassMap,
    /// By channel, the classes that have frames of it, bit n for class n.
    pub(in crate::run) of_channels: [u32; CHANNELS],
    /// Number of credits of a channel with which no class with frames of it lacks any; above the maximum if a class has
    /// frames of several counters.
    pub(in crate::run) plenty: u32,
    /// Records of the frames that fill the buffer for which this end grants credits, if enabled.
    pub fills: Option<Box<Fills>>,
    /// Waits of bypass queues, if any are possible.
    pub(in crate::run) bypass_waits: Option<Box<BypassWaits>>,
    /// Time after which a lost update is retransmitted; [`Time::NEVER`] if it is not.
    pub(in crate::run) again: Time,
    /// Credits of frames that were lost on their way here, if such credits are restored.
    pub(in crate::run) leaks: Option<Box<Leaks>>,
}

/// Credits of frames lost on their way to a port, by credit counter.
#[derive(Clone, Debug)]
pub(crate) struct Leaks {
    /// Credits that have not been restored yet.
    pub now: [u32; COUNTS],
    /// Total since measurement started. `restored` holds those that have been restored.
    pub lost: [u64; COUNTS],
    pub restored: [u64; COUNTS],
    /// Timer of the arrival of the sending end's next message, and their period.
    pub message: Timer,
    pub period: Time,
}

/// Waits of a class for credits since measurement started.
#[derive(Clone, Copy, Debug, Default)]
pub(in crate::run) struct Waits {
    times: u64,
    /// Start of the current wait, if any. `before` holds the duration of earlier waits.
    since: Time,
    pub(in crate::run) before: Time,
    /// Time at which the idle link last started to wait for the class, and end of the last such wait; relative to the
    /// start of the run.
    began: Time,
    ended: Time,
}

/// Returns the minimum time between two updates, and the time after which a lost one is retransmitted ([`Time::NEVER`]:
/// it is not).
fn spacings(own: &CreditSpec, rate: BitRate) -> [Time; 2] {
    let spacing = |bytes: u32| rate.time_for_bits_ceil(u64::from(bytes) * 8);
    let again = if own.cf_max_spacing > 0 { spacing(own.cf_max_spacing) } else { Time::NEVER };
    [spacing(own.cf_min_spacing), again]
}

impl CreditState {
    /// Creates the initial state; `peer` is the grant of the other end of the link, which has this rate and delay.
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
    /// Sets a new rate of the port, which determines the spacing of its updates.
    pub fn on_link_rate(&mut self, rate: BitRate) {
        let [least, again] = spacings(&self.spec, rate);
        self.receiver.set_spacing(least);
        self.again = again;
    }
    /// Classes whose next frame lacks credits, bit n for class n.
    #[inline]
    pub fn short(&self) -> u32 {
        self.short
    }
    /// Sets the classes that are short of credits; returns false if they are unchanged. The link is idle from `free`
    /// on.
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
    /// Number of waits of a class since measurement started.
    pub fn waits(&self, class: u8) -> u64 {
        self.waits[usize::from(class)].times
    }
    /// Total time of these waits until `end`.
    pub fn waited(&self, class: u8, end: Time) -> Time {
        let waits = &self.waits[usize::from(class)];
        let still = self.short >> class & 1 != 0;
        waits.before + if still { end.saturating_sub(waits.since) } else { Time::ZERO }
    }
    /// Restarts measurement.
    pub fn restart(&mut self, now: Time) {
        for waits in &mut self.waits {
            *waits = Waits { times: 0, since: now, before: Time::ZERO, ..*waits };
        }
        if let Some(leaks) = &mut self.leaks {
            (leaks.lost, leaks.restored) = ([0; COUNTS], [0; COUNTS]);
        }
    }
    /// Enables or disables the recording of buffer fills at this end. `longest` is the maximum frame length.
    pub fn record(&mut self, on: bool, longest: u32) {
        let (_, several) = self.of_channels.iter().fold((0, self.spec.bypassable != 0), |seen, &classes| {
            (seen.0 | classes, seen.1 || seen.0 & classes != 0)
        });
        self.plenty = if several { u32::MAX } else { self.spec.need(longest) };
        self.fills = on.then(|| Box::new(Fills::new(self.spec.need(longest))));
        self.bypass_waits = (self.spec.bypassable != 0).then(Box::default);
    }
    /// Returns the time since which the idle link has waited for the class with this lowest priority; `None` if it does
    /// not.
    pub fn wait_in_force(&self, priority: u8) -> Option<Time> {
        let class =
            self.classes.numbers().contains(&priority).then(|| self.classes.class(Priority(priority)))?;
        let waits = self.short >> class.0 & 1 != 0 && self.lowest_priority(class) == priority;
        waits.then(|| self.waits[class.at()].began)
    }
    /// Reports the waits that have ended to a callback.
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
    /// Returns true if the idle link waits for credits of a class, or has waited at any time since `since`.
    pub fn has_waited(&self, class: u8, since: Time, now: Time) -> bool {
        let waits = &self.waits[usize::from(class)];
        let waits_now = self.short >> class & 1 != 0 && waits.began <= now;
        waits_now || waits.ended > Time::ZERO && waits.ended >= since
    }
    fn lowest_priority(&self, class: TrafficClass) -> u8 {
        (self.classes.numbers_of(class) & self.spec.priorities).trailing_zeros() as u8
    }
    /// The priorities of the channel of a credit counter, bit n for priority n.
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
    /// Credits of a class's frames lost on their way here, and the number of these that have been restored.
    pub fn leaked(&self, class: u8) -> (u64, u64) {
        let Some(leaks) = &self.leaks else { return (0, 0) };
        let of_class = (0..CHANNELS).filter(|&channel| self.of_channels[channel] >> class & 1 != 0);
        let counts = of_class.flat_map(counts_of_channel);
        counts.fold((0, 0), |sum, count| (sum.0 + leaks.lost[count], sum.1 + leaks.restored[count]))
    }
    /// Bytes of heap memory of the update state.
    pub fn updates_bytes(&self) -> usize {
        self.published.memory_bytes()
    }
    /// Returns the credit counter for a frame, and the number of credits that the frame needs.
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
