//! Credits at work: where the counts of a link's ends (`flow_control::credit`) meet ports and queues.
//!
//! A class of a port is stopped while its next frame needs more credits than its channel has: looked at when a frame
//! becomes the next one, when another of the channel leaves, and when credits come. A frame holds the credits of the
//! link that it came over until it begins to leave on the next one; at a host until it is taken in.

mod bypass_waits;
mod updates;

use self::bypass_waits::BypassWaits;
use self::updates::UpdatesRead;
use crate::run::credit_waits::Fills;
use crate::run::event::Queued;
use crate::run::index::{PortIx, QueueIx};
use crate::run::link_control::Ended;
use crate::run::outcome::{CreditFault, Failure};

use crate::run::world::Fabric;
use engine::Timer;
use flow_control::CreditSpec;
use flow_control::credit::{Overdraft, Receiver, Sender, channel_of_count, is_bypass};
use frame::{CHANNELS, ClassMap, Frame, Priority, TrafficClass};
use units::Time;

/// The credits of a link, at one of its ends: those that it takes, and those that it grants.
#[derive(Debug)]
pub(crate) struct CreditState {
    spec: CreditSpec,
    pub sender: Sender,
    pub receiver: Receiver,
    /// From the last bit of an update sent to its effect at the other end.
    takes: Time,
    /// When the next update is due, and when the last one has left, once a frame has carried one.
    update: Timer,
    left: Time,
    told: UpdatesRead,
    /// Classes whose next frame lacks credits.
    short: u32,
    /// Where that is recorded, those whose bypass queue lacks them.
    held: u32,
    /// Those whose last wait is over and not told yet.
    over: u32,
    waits: [Waits; CHANNELS],
    classes: ClassMap,
    /// By channel, the classes that have frames of it.
    of_channels: [u32; CHANNELS],
    /// With so many credits left of a channel no class that has frames of it lacks any; more than there are where a class
    /// has frames of several counts.
    plenty: u32,
    /// What has filled the room that this end grants, where that is recorded.
    pub fills: Option<Box<Fills>>,
    /// How bypass queues have waited, where there may be any.
    bypass_waits: Option<Box<BypassWaits>>,
}

/// How a class has waited for credits since measuring began.
#[derive(Clone, Copy, Debug, Default)]
struct Waits {
    times: u64,
    /// Since when it waits, if it does, and how long it waited before.
    since: Time,
    before: Time,
    /// When the link, free, began to wait for it last, and when such a wait was over, since the beginning of the run.
    began: Time,
    ended: Time,
}

impl CreditState {
    /// Nothing has been sent; `peer` is what the other end of the link, of this delay, grants.
    pub fn new(own: &CreditSpec, peer: &CreditSpec, delay: Time, classes: ClassMap) -> CreditState {
        let classes_of =
            |channel: usize| classes.classes_of(own.channels.numbers_of(TrafficClass(channel as u8)));
        CreditState {
            of_channels: std::array::from_fn(classes_of),
            spec: own.clone(),
            sender: Sender::new(peer.credits),
            receiver: Receiver::new(own.credits),
            takes: delay + peer.update_delay,
            update: Timer::IDLE,
            left: Time::ZERO,
            told: UpdatesRead::NONE,
            short: 0,
            held: 0,
            over: 0,
            waits: [Waits::default(); CHANNELS],
            classes,
            plenty: u32::MAX,
            fills: None,
            bypass_waits: None,
        }
    }
    /// Classes whose next frame lacks credits.
    #[inline]
    pub fn short(&self) -> u32 {
        self.short
    }
    /// Writes them; false: they are the same. The link is free from `free` on.
    fn set_short(&mut self, short: u32, free: Time, now: Time) -> bool {
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
    /// How often a class has waited since measuring began.
    pub fn waits(&self, class: u8) -> u64 {
        self.waits[usize::from(class)].times
    }
    /// How long.
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
    pub fn waits_over(&mut self, mut ended: impl FnMut(Ended)) {
        while self.over != 0 {
            let class = TrafficClass(self.over.trailing_zeros() as u8);
            self.over &= self.over - 1;
            let Waits { began, ended: end, .. } = self.waits[class.at()];
            ended(Ended {
                priority: self.lowest_priority(class),
                start: began,
                end,
                cause: 0,
                bypass: false,
            });
        }
    }
    /// Whether the link, free, waits for credits of a class, or has done so at any time since then.
    pub fn has_waited(&self, class: u8, since: Time, now: Time) -> bool {
        let waits = &self.waits[usize::from(class)];
        let waits_now = self.short >> class & 1 != 0 && waits.began <= now;
        waits_now || waits.ended > Time::ZERO && waits.ended >= since
    }
    fn lowest_priority(&self, class: TrafficClass) -> u8 {
        self.classes.numbers_of(class).trailing_zeros() as u8
    }
    /// The priorities of the channel of a count, bit n for number n.
    pub fn of_channel(&self, count: usize) -> u32 {
        self.spec.channels.numbers_of(TrafficClass(channel_of_count(count) as u8))
    }
    /// The channel of a priority.
    pub fn channel(&self, priority: u8) -> usize {
        self.spec.channel(Priority(priority))
    }
    /// Bytes that so many credits stand for.
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
    /// What a count of credits is called.
    pub fn name(&self, count: usize) -> String {
        self.spec.count_name(count)
    }
    /// Whether the channel of a priority has a bypass queue.
    pub fn has_bypass(&self, priority: Priority) -> bool {
        self.spec.has_bypass(priority)
    }
    /// Bytes of what it keeps of updates.
    pub fn updates_bytes(&self) -> usize {
        self.told.memory_bytes()
    }
    /// Credits that a frame needs, and the count that it takes them from.
    #[inline(always)]
    pub fn need(&self, frame: &Frame) -> (usize, u32) {
        (self.spec.count_of(frame), self.spec.need(u32::from(frame.bytes)))
    }
    /// The priorities that share a channel with this one.
    pub fn sharing(&self, priority: Priority) -> u32 {
        self.spec.channels.numbers_of(self.spec.channels.class(priority))
    }
    #[inline]
    fn lacks(&self, frame: &Frame) -> bool {
        let (channel, credits) = self.need(frame);
        self.sender.available(channel) < credits
    }
}

impl Fabric {
    pub(super) fn credits_mut(&mut self, port: PortIx) -> Option<&mut CreditState> {
        self.links.cold[port].control.credits_mut()
    }

    /// A frame comes to the queue of a port: it lies in the buffer of the port that it came in through, and may find
    /// no credits for the next link.
    #[inline(always)]
    pub fn meets_credits(
        &mut self,
        egress: PortIx,
        class: TrafficClass,
        frame: &Frame,
        ingress: Option<PortIx>,
        now: Time,
        windows: &mut Queued,
    ) {
        let port = &self.links.ports[egress];
        let (queue, waiting) = (port.queue(class), port.waiting);
        let bit = 1 << class.0;
        if let Some(ingress) = ingress {
            self.credits_arrived(ingress, frame, Some(queue), now);
        }
        if waiting & bit != 0 {
            return;
        }
        let Some(credits) = self.links.cold[egress].control.credits() else { return };
        let lacks = credits.lacks(frame);
        if lacks || credits.short & bit != 0 {
            self.meets_none(egress, bit, frame, now, windows);
        }
    }

    /// As `meets_credits`, where there may be none.
    #[inline(never)]
    fn meets_none(&mut self, egress: PortIx, bit: u32, frame: &Frame, now: Time, windows: &mut Queued) {
        let reads = |credits: &mut CreditState| credits.reads() && credits.lacks(frame);
        if self.credits_mut(egress).is_some_and(reads) {
            self.read_updates(egress, now);
        }
        let Some(credits) = self.credits_mut(egress) else { return };
        let short = if credits.lacks(frame) { credits.short | bit } else { credits.short & !bit };
        self.change_short(egress, short, now, windows);
    }

    /// A frame has begun to leave: it takes credits of this link, and gives back those of the link that it came over.
    #[inline(always)]
    pub fn credits_used(
        &mut self,
        egress: PortIx,
        frame: &Frame,
        ingress: Option<PortIx>,
        now: Time,
        windows: &mut Queued,
    ) {
        if let Some(credits) = self.credits_mut(egress) {
            let (count, need) = credits.need(frame);
            let taken = credits.sender.take(count, need);
            let carries = credits.spec.piggyback.is_some() && credits.receiver.owes();
            let others = credits.of_channels[channel_of_count(count)];
            let may_lack = credits.short != 0 || credits.sender.available(count) < credits.plenty;
            if let Err(why) = taken {
                self.overdraft(self.numbering.port(egress), why, now);
            }
            if carries {
                self.send_along(egress, now, windows);
            }
            if may_lack {
                self.look_at_heads(egress, others, now, windows);
            }
        }
        if let Some(ingress) = ingress {
            self.credits_free(ingress, frame, now, windows);
        }
    }

    /// Looks at the next frame of each of these classes; what is known of the others holds.
    #[inline(always)]
    fn look_at_heads(&mut self, egress: PortIx, among: u32, now: Time, windows: &mut Queued) {
        let Some(credits) = self.links.cold[egress].control.credits() else { return };
        if credits.spec.bypassable != 0 {
            return self.look_at_bypasses(egress, among, now, windows);
        }
        let short = self.short_among(egress, among);
        if short | credits.short != 0 {
            self.short_heads(egress, among, short, now, windows);
        }
    }

    /// The classes whose next frame lacks credits by what is known: looked at among some, as before of the others.
    #[inline(always)]
    fn short_among(&self, egress: PortIx, among: u32) -> u32 {
        let Some(credits) = self.links.cold[egress].control.credits() else { return 0 };
        let port = &self.links.ports[egress];
        let (mut short, mut left) = (credits.short & port.waiting & !among, port.waiting & among);
        while left != 0 {
            let class = left.trailing_zeros();
            left &= left - 1;
            let head = self.buffers.head(port.first_queue.plus(class));
            short |= u32::from(head.is_some_and(|frame| credits.lacks(frame))) << class;
        }
        short
    }

    /// Some lack credits by what is known, or have lacked them.
    #[inline(never)]
    fn short_heads(&mut self, egress: PortIx, among: u32, mut short: u32, now: Time, windows: &mut Queued) {
        let reads = self.credits_mut(egress).is_some_and(|credits| credits.reads());
        if reads && short & among != 0 && self.read_updates(egress, now) {
            short = self.short_among(egress, among);
        }
        self.change_short(egress, short, now, windows);
    }

    /// As `short_heads`, where classes have bypass queues.
    #[inline(never)]
    fn look_at_bypasses(&mut self, egress: PortIx, among: u32, now: Time, windows: &mut Queued) {
        if self.credits_mut(egress).is_some_and(|credits| credits.reads()) {
            self.read_updates(egress, now);
        }
        let Some(credits) = self.links.cold[egress].control.credits() else { return };
        let port = &self.links.ports[egress];
        let (mut short, mut left) = (credits.short & port.waiting & !among, port.waiting & among);
        let mut other_head = 0;
        while left != 0 {
            let class = left.trailing_zeros();
            left &= left - 1;
            let (lacks, other) = self.buffers.bypass(port.first_queue.plus(class), |frame| {
                (credits.lacks(frame), is_bypass(credits.spec.count_of(frame)))
            });
            short |= u32::from(lacks) << class;
            other_head |= u32::from(other) << class;
        }
        let before = credits.short;
        self.change_short(egress, short, now, windows);
        self.note_bypasses(egress, among, before, now, windows);
        // Also of who was stopped until now: of a stop that ends before the next decision the scheduler has not heard.
        let active = other_head & !self.links.ports[egress].stopped;
        if active != 0 {
            self.tell_heads(egress, active, now);
        }
    }

    /// These are the classes whose next frame lacks credits.
    #[inline(never)]
    fn change_short(&mut self, egress: PortIx, short: u32, now: Time, windows: &mut Queued) {
        let free = self.links.ports[egress].busy_until;
        let Some(credits) = self.credits_mut(egress) else { return };
        let looks = credits.reads() && credits.short == 0;
        if credits.set_short(short, free, now) {
            if looks {
                self.await_update(egress, windows);
            }
            self.update_stopped(egress, now);
        }
    }

    /// A frame has come to a queue with a bypass queue. It may go though those before it may not.
    #[inline(never)]
    pub fn may_be_passed(&mut self, egress: PortIx, class: TrafficClass, now: Time, windows: &mut Queued) {
        let Some(credits) = self.links.cold[egress].control.credits() else { return };
        if credits.spec.bypassable != 0 && credits.short >> class.0 & 1 != 0 {
            self.look_at_heads(egress, 1 << class.0, now, windows);
        }
    }

    /// A frame has come over a link: it takes room at its end. `queue`: the one that it is for; none at its host.
    #[inline(always)]
    pub fn credits_arrived(&mut self, ingress: PortIx, frame: &Frame, queue: Option<QueueIx>, now: Time) {
        // All copies lie in one slot.
        if frame.route.is_tree() && !self.copies.takes_room(ingress, frame.word) {
            return;
        }
        let Some(credits) = self.credits_mut(ingress) else { return };
        let (channel, need) = credits.need(frame);
        if let Err(why) = credits.receiver.arrive(channel, need) {
            self.overdraft(self.sender_of(ingress), why, now);
        } else if credits.fills.is_some() {
            self.note_fill(ingress, channel, queue, now);
        }
    }

    /// A frame that took credits is lost on its way to `port`.
    pub fn credits_lost(&mut self, port: PortIx, frame: &Frame, now: Time) {
        let Some(credits) = self.links.cold[port].control.credits() else { return };
        let (channel, need) = credits.need(frame);
        let (port, what) = (self.sender_of(port), CreditFault::Lost(need));
        self.ledger.fail(Failure::Credits { at: now, port, channel: channel as u8, what });
    }

    /// The port of the whole fabric at the other end of the link of a port.
    fn sender_of(&self, port: PortIx) -> u32 {
        self.routes.peers[self.numbering.port(port) as usize]
    }

    #[cold]
    fn overdraft(&mut self, port: u32, why: Overdraft, now: Time) {
        let Overdraft { channel, wanted, had } = why;
        let what = CreditFault::Overdraft { wanted, had };
        self.ledger.fail(Failure::Credits { at: now, port, channel, what });
    }
}
