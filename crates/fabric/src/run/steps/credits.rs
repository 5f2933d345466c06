//! Credits at work: where the counts of a link's ends (`flow_control::credit`) meet ports and queues.
//!
//! A class of a port is stopped while its next frame needs more credits than its channel has: looked at when a frame
//! becomes the next one, when another of the channel leaves, and when credits come. A frame holds the credits of the
//! link that it came over until it begins to leave on the next one; at a host until it is taken in.

pub(crate) mod bypass_waits;
pub(crate) mod updates;

use crate::run::state::credits::CreditState;
use crate::run::state::event::Queued;
use crate::run::state::index::{PortIx, QueueIx};
use crate::run::state::outcome::{CreditFault, Failure};
use crate::run::state::world::Fabric;
use flow_control::credit::{Overdraft, channel_of_count, is_bypass};
use frame::{Frame, TrafficClass};
use units::Time;

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
