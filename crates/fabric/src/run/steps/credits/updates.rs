//! Updates of credits: how one end of a link learns what has come free at the other.
//!
//! An update that takes time on the link, that faults may hit, or that goes to another thread is sent: an event where it
//! is due, and one where it takes effect. All others are read, and no event tells of them. The end that grants credits keeps
//! what it would have told, and when that takes effect. The other end reads that when a frame lacks credits by what it
//! knows, and while one does, it looks whenever the next update takes effect: nobody else could see a difference.
//!
//! Both come to the same. An update that takes effect before a time was due a look-ahead earlier, so that whoever reads it
//! finds all that had come free by then, and it tells nothing of what came free later: that has closed it.

use crate::run::state::credits::updates::NEXT;
use crate::run::state::event::{Event, Queued};
use crate::run::state::index::PortIx;
use crate::run::state::port::Hooks;
use crate::run::state::world::Fabric;
use flow_control::credit::Freed;
use frame::Frame;
use units::Time;

impl Fabric {
    /// A frame has left the room at the end of a link: its sender will be told, with an update that is due now as well.
    #[inline(always)]
    pub fn credits_free(&mut self, ingress: PortIx, frame: &Frame, now: Time, windows: &mut Queued) {
        let at = self.free(ingress, frame, now, now);
        if at != Time::NEVER {
            self.update_later(ingress, at, windows);
        }
    }

    /// As `credits_free`, after all updates that are due now, where no other frame can leave that room at the same time: an update that it
    /// makes due need not wait for them.
    #[inline(always)]
    pub fn credits_free_last(&mut self, ingress: PortIx, frame: &Frame, now: Time, windows: &mut Queued) {
        let at = self.free(ingress, frame, now + NEXT, now);
        if at != Time::NEVER {
            self.update_at_last(ingress, at, now, windows);
        }
    }

    #[inline(never)]
    fn update_at_last(&mut self, port: PortIx, at: Time, now: Time, windows: &mut Queued) {
        let Some(credits) = self.credits_mut(port) else { return };
        if at == now && !credits.told.is_read && credits.updates_cost_nothing() {
            self.send_update(port, now, now, windows);
        } else {
            self.update_later(port, at, windows);
        }
    }

    /// Room becomes free, after the updates that were due before a time; when an update is due, [`Time::NEVER`] if one will
    /// be sent by then.
    #[inline(always)]
    fn free(&mut self, ingress: PortIx, frame: &Frame, told: Time, now: Time) -> Time {
        if frame.route.is_tree() && !self.copies.leaves_room(ingress, frame.word) {
            return Time::NEVER;
        }
        let Some(credits) = self.credits_mut(ingress) else { return Time::NEVER };
        let (channel, need) = credits.need(frame);
        if credits.told.is_read {
            credits.tell(told);
        }
        let at = credits.receiver.free(&credits.spec, channel, need, now);
        let known = at >= credits.update.due();
        if credits.fills.is_some() {
            self.note_room(ingress, channel, now);
        }
        if known { Time::NEVER } else { at }
    }

    #[inline(always)]
    fn update_later(&mut self, port: PortIx, at: Time, windows: &mut Queued) {
        let Some(credits) = self.credits_mut(port) else { return };
        let (fresh, told) = (credits.update.arm(at), &credits.told);
        if !told.is_read {
            if fresh {
                windows.push(Event::update_due(at, port));
            }
        } else if told.awaited {
            let at = at + credits.takes;
            self.peer_looks_at(port, at, windows);
        }
    }

    /// A port looks then whether the other end of its link has told of credits, if it does not look before.
    #[inline(never)]
    fn look_at(&mut self, port: PortIx, at: Time, windows: &mut Queued) {
        if self.credits_mut(port).is_some_and(|credits| credits.looks_at(at)) {
            windows.push(Event::look_for_credits(at, port));
        }
    }

    /// A frame of a port lacks credits: when does it look again?
    #[inline(never)]
    pub(super) fn await_update(&mut self, port: PortIx, windows: &mut Queued) {
        let Some(other) = self.credits_across(port) else { return };
        other.told.awaited = true;
        let at = other.next_effect();
        if at != Time::NEVER {
            self.look_at(port, at, windows);
        }
    }

    /// Reads what has taken effect; false: nothing has. What does so now comes before all else but decisions.
    #[inline(never)]
    pub(super) fn read_updates(&mut self, port: PortIx, now: Time) -> bool {
        let before = if self.deciding { now } else { now + NEXT };
        let mut any = false;
        while let Some(freed) = self.credits_across(port).and_then(|other| other.next_told(before)) {
            any = true;
            let Some(credits) = self.credits_mut(port) else { break };
            if let Err(why) = credits.sender.learn(freed) {
                self.overdraft(self.numbering.port(port), why, now);
            }
        }
        any
    }

    /// The time of an update has come.
    pub fn update_due(&mut self, port: PortIx, now: Time, windows: &mut Queued) {
        let Some(credits) = self.credits_mut(port) else { return };
        if !credits.update.fires(now) || !credits.receiver.owes() {
            return;
        }
        if credits.spec.update_bytes == 0 {
            return self.send_update(port, now, now, windows);
        }
        self.links.ports[port].hooks.set(Hooks::PAUSE_WAITING, true);
        self.try_transmit(port, now, windows);
    }

    /// Puts an update that takes time on the link; the transmitter is free.
    pub fn transmit_update(&mut self, egress: PortIx, now: Time, windows: &mut Queued) {
        let Some(credits) = self.credits_mut(egress) else { return };
        let bytes = u64::from(credits.spec.update_bytes);
        self.links.cold[egress].counts.update_bytes += bytes;
        let port = &mut self.links.ports[egress];
        port.hooks.set(Hooks::PAUSE_WAITING, false);
        if port.busy_until < now {
            port.clock.restart();
        }
        port.busy_until = now + port.clock.advance(bytes);
        let ends = port.busy_until;
        self.send_update(egress, now, ends, windows);
    }

    /// The frame whose transmission has just begun carries an update.
    #[inline(never)]
    pub(super) fn send_along(&mut self, egress: PortIx, now: Time, windows: &mut Queued) {
        let Some(credits) = self.credits_mut(egress) else { return };
        let bytes = u64::from(credits.spec.piggyback.unwrap_or_default());
        self.links.cold[egress].counts.update_bytes += bytes;
        let port = &mut self.links.ports[egress];
        port.busy_until += port.clock.advance(bytes);
        let ends = port.busy_until;
        // One that waits is not needed any more.
        port.hooks.set(Hooks::PAUSE_WAITING, false);
        self.send_update(egress, now, ends, windows);
        if let Some(credits) = self.credits_mut(egress) {
            credits.left = credits.left.max(ends);
        }
    }

    /// An update leaves, the last bit of it at `ends`.
    fn send_update(&mut self, port: PortIx, now: Time, ends: Time, windows: &mut Queued) {
        let Some(credits) = self.credits_mut(port) else { return };
        // None overtakes the one that a frame carries, nor another that had to wait for that.
        let mut leaves = ends;
        if credits.left > Time::ZERO {
            leaves = ends.max(credits.left + NEXT);
            credits.left = leaves;
        }
        let (freed, at) = (credits.receiver.update(now), leaves + credits.takes);
        credits.update.cancel();
        let rest = credits.receiver.owes();
        if self.links.ports[port].hooks.has(Hooks::FAULTED) && self.pause_is_lost(port, now, at) {
            self.links.cold[port].counts.pauses_lost += 1;
        } else {
            let peer = self.links.ports[port].arrives_as.peer();
            windows.send(Event::update(at, peer, freed), || self.links.neighbours[port]);
        }
        if rest {
            self.update_later(port, ends.max(now + NEXT), windows);
        }
    }

    /// An update takes effect.
    #[inline(never)]
    pub fn receive_credits(&mut self, port: PortIx, freed: Freed, now: Time, windows: &mut Queued) {
        let Some(credits) = self.credits_mut(port) else { return };
        if let Err(why) = credits.sender.learn(freed) {
            return self.overdraft(self.numbering.port(port), why, now);
        }
        self.help_those_who_lack(port, now, windows);
    }

    /// An update that is read may take effect.
    #[inline(never)]
    pub fn look_for_credits(&mut self, port: PortIx, now: Time, windows: &mut Queued) {
        if self.credits_mut(port).is_some_and(|credits| credits.told.look.fires(now)) {
            self.read_updates(port, now);
            self.help_those_who_lack(port, now, windows);
            self.look_again(port, windows);
        }
    }

    /// There may be more credits for those who lack some.
    #[inline(always)]
    fn help_those_who_lack(&mut self, port: PortIx, now: Time, windows: &mut Queued) {
        let credits = self.links.cold[port].control.credits();
        let (lacking, held) =
            credits.map_or((0, 0), |credits| (credits.short, credits.held & !credits.short));
        if lacking | held == 0 {
            return;
        }
        // One that was bypassed may go now, before what is next.
        self.look_at_heads(port, lacking | held, now, windows);
        if lacking == 0 {
            return;
        }
        let state = &self.links.ports[port];
        if state.waiting & !state.stopped != 0 {
            self.try_transmit(port, now, windows);
        }
    }

    /// A port looks once more if a frame still lacks credits; else the other end need not care.
    #[inline(always)]
    fn look_again(&mut self, port: PortIx, windows: &mut Queued) {
        let credits = self.links.cold[port].control.credits();
        if credits.is_some_and(|credits| credits.short | credits.held != 0) {
            return self.await_update(port, windows);
        }
        if let Some(other) = self.credits_across(port) {
            other.told.awaited = false;
        }
    }
}
