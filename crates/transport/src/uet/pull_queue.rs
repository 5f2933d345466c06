//! Pull queue of a NIC: grants of credit to the contexts that a host receives over, at the rate of its link.
//!
//! A context with a larger request than grants waits for its turn, first come, first served, and goes to the end of
//! the queue after each grant, or with `pull_order = "fifo"` stays first until its request is granted in full. A
//! grant takes its bytes at `share` of the rate of the link; an empty grant, which repeats the last number, takes 1
//! KiB. While no context waits, idle ones are granted in turn as well (slow pulls), up to the largest credit ahead of
//! their requests. So a context that has data to send again has credit, and one whose requests were lost continues.
//!
//! A grant takes its time from the moment at which it leaves. The request of a context at its turn is granted then,
//! and those behind it wait for that.
//!
//! With `oversubscription` above 1 the rate follows the core, for all contexts of a NIC together. Each 1.5 base round trips, times
//! a random number from 0.75 to 1.25, g is the mean of g and the share of packets marked among those not trimmed. The rate falls by the share of
//! packets that were trimmed before the last hop; then it is multiplied by 1 - 0.5 (g - 0.3) if g is above 0.3, and else grows by
//! 0.01, twice as much with each period in a row without a mark.
//!
//! Source: uet-htsim 40ccb05, `uec.cpp` (`UecPullPacer`), `oversubscribed_cc.cpp`.

use super::control::UetFacts;
use super::credits::{CreditRules, ahead, on_wire};
use super::pull_turns::{Turn, Turns};
use crate::path_selection::Draws;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use units::{BitRate, Time};

/// Bytes whose transmission time an empty grant takes.
const EMPTY_PULL: u64 = 1024;
/// Minimum rate of grants over an oversubscribed core, and the share of its fair rate (1 / oversubscription) to which
/// the rate may fall.
const LOWEST_RATE: f64 = 0.01;
const FAIR_PART: f64 = 0.9;
/// Mean share of marked packets above which the rate falls, and the weight of the excess.
const MARKS: f64 = 0.3;
const FALL: f64 = 0.5;
/// Increase of the rate per period.
const RISE: f64 = 0.01;
/// Maximum number of doublings of the increase, with which it exceeds 1.
const MAX_DOUBLINGS: u32 = 7;
/// Length of a period in base round-trip times, and its random spread.
const PERIOD: f64 = 1.5;
const SPREAD: f64 = 0.25;

/// State shared by the contexts of a host.
#[derive(Clone, Debug, Default)]
pub struct PullPacer(Arc<Mutex<Nic>>);

#[derive(Debug, Default)]
struct Nic {
    /// Contexts that wait for requested grants.
    turns: Turns,
    /// Time at which the next turn of idle contexts is free, and number of idle contexts that wait.
    idle_next: Time,
    idle: u32,
    /// Number of the host's contexts that have packets to send now.
    senders: u32,
    core: Option<Core>,
}

/// The rate of grants over an oversubscribed core, and the packets that have arrived in the current period.
#[derive(Debug)]
struct Core {
    rate: f64,
    least: f64,
    marks: f64,
    rises: u32,
    packets: u32,
    marked: u32,
    trimmed: u32,
    trimmed_within: u32,
    end: Time,
    draws: Draws,
}

/// The properties of an arriving packet that concern an oversubscribed core.
#[derive(Clone, Copy, Debug, Default)]
pub struct Arrival {
    /// True if the packet has an ECN mark.
    pub marked: bool,
    /// True if the packet was trimmed.
    pub trimmed: bool,
    /// True if the packet was trimmed before the last hop.
    pub within: bool,
}

impl PullPacer {
    fn nic(&self) -> MutexGuard<'_, Nic> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }
    /// Records that a context begins or ceases to have packets to send.
    pub fn count_sender(&self, sends: bool) {
        let mut nic = self.nic();
        nic.senders = if sends { nic.senders + 1 } else { nic.senders.saturating_sub(1) };
    }
    /// Returns the number of the host's contexts that have packets to send.
    pub fn senders(&self) -> u32 {
        self.nic().senders
    }
}

impl Core {
    fn new(oversubscription: f64) -> Core {
        Core {
            rate: 1.0,
            least: (FAIR_PART / oversubscription).max(LOWEST_RATE),
            marks: 0.0,
            rises: 0,
            packets: 0,
            marked: 0,
            trimmed: 0,
            trimmed_within: 0,
            end: Time::ZERO,
            draws: Draws::new(oversubscription.to_bits()),
        }
    }

    fn arrive(&mut self, now: Time, arrival: Arrival, base_rtt: Time) {
        self.packets += 1;
        self.marked += u32::from(arrival.marked);
        self.trimmed += u32::from(arrival.trimmed);
        self.trimmed_within += u32::from(arrival.within);
        if now < self.end {
            return;
        }
        if self.end > Time::ZERO {
            self.adjust();
        }
        let draw = f64::from(self.draws.below(1024)) / 1023.0;
        let factor = PERIOD * (1.0 - SPREAD + 2.0 * SPREAD * draw);
        self.end = now + Time::from_ps((base_rtt.ps() as f64 * factor) as u64);
        (self.packets, self.marked, self.trimmed, self.trimmed_within) = (0, 0, 0, 0);
    }

    fn adjust(&mut self) {
        let whole = self.packets.saturating_sub(self.trimmed);
        let share = if whole > 0 { f64::from(self.marked) / f64::from(whole) } else { 0.0 };
        self.marks = 0.5 * self.marks + 0.5 * share;
        self.rate -= f64::from(self.trimmed_within) / f64::from(self.packets);
        if self.marks > MARKS {
            self.rate *= 1.0 - FALL * (self.marks - MARKS);
            self.rises = 0;
        } else {
            let doublings = if self.marked == 0 { self.rises.min(MAX_DOUBLINGS) } else { 0 };
            self.rate += RISE * f64::from(1u32 << doublings);
            self.rises = if self.marked == 0 { self.rises + 1 } else { 0 };
        }
        self.rate = self.rate.clamp(self.least, 1.0);
    }
}

/// The kind of grant for which a context waits.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Waits {
    No,
    /// Waits for a requested grant, as this entry of the queue.
    Asked(u64),
    /// Waits for an unsolicited grant.
    Idle,
}

/// The grants of a receiver to one context.
#[derive(Clone, Debug)]
pub struct Grants {
    rules: CreditRules,
    /// Bytes per unit.
    unit: u64,
    /// Picoseconds per unit at the paced rate.
    unit_time: f64,
    base_rtt: Time,
    /// Units requested so far, units granted so far, and units that may be granted ahead of requests.
    target: u64,
    granted: u64,
    most_ahead: u64,
    waits: Waits,
    pacer: PullPacer,
    /// Turn of the context, or [`Time::NEVER`].
    pub turn: Time,
}

impl Grants {
    /// Creates the grants of a new context. They are paced at the rate of the facts, which is that of the receiver's
    /// link.
    pub fn new(rules: &CreditRules, facts: &UetFacts) -> Grants {
        let unit = rules.unit(facts);
        let mut grants = Grants {
            rules: *rules,
            unit,
            unit_time: 0.0,
            base_rtt: facts.base_rtt,
            target: 0,
            granted: 0,
            most_ahead: rules.first_credit(facts) / unit,
            waits: Waits::No,
            pacer: PullPacer::default(),
            turn: Time::NEVER,
        };
        grants.on_link_rate(facts.rate);
        grants
    }
    /// Shares a pacer with the other contexts of its NIC.
    pub fn attach(&mut self, pacer: &PullPacer) {
        self.pacer = pacer.clone();
    }
    /// Adapts to another rate of the link.
    pub fn on_link_rate(&mut self, rate: BitRate) {
        let bits = (self.unit * 8) as f64;
        self.unit_time = bits / (self.rules.share * rate.bps_f64()) * 1e12;
    }
    /// Returns the time that a grant of this number of units takes at a share of the full rate.
    fn gap_at(&self, units: u64, rate: f64) -> Time {
        let units = if units > 0 { units as f64 } else { EMPTY_PULL as f64 / self.unit as f64 };
        Time::from_ps((units * self.unit_time / rate) as u64)
    }
    /// Returns the time that a grant of this number of units takes now, at the current rate of the core if it is
    /// oversubscribed.
    fn gap(&self, units: u64, nic: &Nic) -> Time {
        self.gap_at(units, nic.core.as_ref().map_or(1.0, |core| core.rate))
    }
    /// Processes a data packet with this credit target. A trimmed packet gets a new grant. `finished` is true if no
    /// packet of a message is missing.
    pub fn on_packet(&mut self, units: u32, now: Time, arrival: Arrival, finished: bool) {
        if self.rules.oversubscription > 1.0 {
            let mut nic = self.pacer.nic();
            let core = nic.core.get_or_insert_with(|| Core::new(self.rules.oversubscription));
            core.arrive(now, arrival, self.base_rtt);
        }
        if self.rules.per_packet {
            self.target = if finished { self.granted } else { self.target + 1 };
        } else {
            self.target += ahead(units, self.target);
        }
        if self.target > self.granted || arrival.trimmed {
            self.enqueue(now);
        } else if self.rules.per_packet {
            self.leave();
        }
    }
    /// Processes a credit request. Returns the cumulative grant, to be repeated at once: it replaces lost grants, and
    /// shows that the request has arrived although the turn of the context may be far away.
    pub fn on_request(&mut self, units: u32, now: Time) -> u32 {
        if self.rules.per_packet {
            // The packets or the pulls must have been lost.
            self.target = self.target.max(self.granted + 1);
        } else {
            self.target += ahead(units, self.target);
        }
        if self.target > self.granted {
            self.enqueue(now);
        }
        on_wire(self.granted)
    }
    /// Enters the pull queue. If the context already waits there, its grant is changed to the amount requested now.
    fn enqueue(&mut self, now: Time) {
        // The rate may rise before the turn comes, so the grant takes at least its time at the full rate.
        let least = self.gap_at(self.due(), 1.0);
        if let Waits::Asked(entry) = self.waits {
            return self.pacer.nic().turns.change(entry, least);
        }
        self.leave();
        let (entry, turn) = self.pacer.nic().turns.enter(now, least);
        (self.waits, self.turn) = (Waits::Asked(entry), turn);
    }
    /// Leaves the pull queue.
    fn leave(&mut self) {
        match self.waits {
            Waits::No => {}
            Waits::Asked(entry) => self.pacer.nic().turns.leave(entry),
            Waits::Idle => self.pacer.nic().idle -= 1,
        }
        (self.waits, self.turn) = (Waits::No, Time::NEVER);
    }
    /// Returns the number of units of a grant made now.
    fn due(&self) -> u64 {
        self.target.saturating_sub(self.granted).min(self.rules.pull)
    }
    /// Waits for an unsolicited grant, within the limit of credit ahead of requests.
    fn enqueue_idle(&mut self, now: Time) {
        self.leave();
        if !self.rules.slow_pulls || self.granted >= self.target + self.most_ahead {
            return;
        }
        let mut nic = self.pacer.nic();
        let (first, gap) = (nic.turns.end(now), self.gap(self.rules.pull, &nic));
        // Contexts that have left the queue leave free turns behind.
        let last = first.saturating_add(Time::from_ps(gap.ps().saturating_mul(nic.idle.into())));
        self.turn = first.max(nic.idle_next).min(last);
        nic.idle_next = self.turn.saturating_add(gap);
        nic.idle += 1;
        self.waits = Waits::Idle;
    }
    /// Returns the cumulative grant in units that is to be sent now, if it is the context's turn.
    pub fn grant(&mut self, now: Time) -> Option<u32> {
        if self.turn > now {
            return None;
        }
        let units = match self.waits {
            Waits::No => return None,
            Waits::Asked(entry) => {
                let turn = self.pacer.nic().turns.take(now, entry);
                match turn {
                    Turn::Now => self.due(),
                    Turn::At(due) => {
                        self.turn = due;
                        return None;
                    }
                    Turn::Missed => {
                        self.waits = Waits::No;
                        self.enqueue(now);
                        return self.grant(now);
                    }
                }
            }
            Waits::Idle if !self.pacer.nic().turns.is_free(now) => {
                // Contexts with requests come first.
                self.enqueue_idle(now);
                return None;
            }
            Waits::Idle => self.rules.pull,
        };
        let mut nic = self.pacer.nic();
        let gap = self.gap(units, &nic);
        nic.turns.grant(now, gap);
        drop(nic);
        self.granted += units;
        let stays = self.rules.fifo && matches!(self.waits, Waits::Asked(_));
        if matches!(self.waits, Waits::Asked(_)) {
            self.waits = Waits::No;
        }
        self.leave();
        if self.target > self.granted && stays {
            let least = self.gap_at(self.due(), 1.0);
            let (entry, turn) = self.pacer.nic().turns.enter_first(now, least);
            (self.waits, self.turn) = (Waits::Asked(entry), turn);
        } else if self.target > self.granted {
            self.enqueue(now);
        } else {
            self.enqueue_idle(now);
        }
        Some(on_wire(self.granted))
    }
}

#[cfg(test)]
mod tests;
