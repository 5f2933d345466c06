//! Flow control between the two ends of a link, which stops classes of a port.
//!
//! A closed enum with one variant per mechanism. A port without flow control has no overhead: a frame checks only the
//! union of the stopped classes (`stops`) and the features of the port. A mechanism calls into the fabric at a few
//! places, each behind a feature of the port or in an event of its own:
//!
//! - a frame is enqueued or has left: `before_enqueue` and `after_dequeue` (feature `INGRESS_ACCOUNTING`);
//! - a frame enters its queue, and one is on its link: `meets_credits` and `credits_used` (feature `CREDITS`);
//! - a pause frame for the peer is pending, and goes before all frames: `transmit_pause` (feature `PAUSE_WAITING`);
//! - a pause frame of the peer has arrived: `receive_pause`;
//! - classes that may not send: [`LinkControl::stopped`], and until when: [`LinkControl::until`];
//! - the link is down: [`LinkControl::clear`].

use crate::run::state::credits::CreditState;
use crate::run::state::ended_wait::EndedWait;
use flow_control::pause::{PauseSignal, PauseTimers};
use frame::{CHANNELS, ClassMap, PRIORITIES, Priority, members};
use recurrence::{Counts, Growth, Recurs};
use units::Time;

/// The flow control at one end of a link.
#[derive(Debug, Recurs)]
pub(crate) enum LinkControl {
    /// Neither end obeys or sends pauses or credits.
    None,
    /// PAUSE, PFC or TPFC (`stops`, `pausing`).
    Pause(Box<PauseState>),
    /// Credits of virtual channels (`credits`).
    #[recurs(unknown = "credit-based flow control")]
    Credit(Box<CreditState>),
    /// PFC for some priorities, and credits for others.
    #[recurs(unknown = "credit-based flow control")]
    Both(Box<(PauseState, CreditState)>),
}

/// The pauses of a port, both those it obeys and those it sends.
#[derive(Debug, Recurs)]
pub(crate) struct PauseState {
    /// Priorities whose pauses this port obeys.
    #[recurs(constant)]
    pub obeys: u8,
    /// Time from the end of a pause frame to its effect at this port's transmitter. `peer_response` is that of the
    /// peer.
    #[recurs(constant)]
    pub response: Time,
    #[recurs(constant)]
    pub peer_response: Time,
    pub timers: PauseTimers,
    /// By priority, the start and the cause of the pause in force.
    #[recurs(recorded)]
    in_force: [Option<(Time, u64)>; PRIORITIES],
    #[recurs(measured)]
    paused: PausedTime,
    /// The pending pause frame, with the cause and the pause time (in quanta) of each priority's XOFF in it.
    signal: PauseSignal,
    #[recurs(recorded)]
    causes: [u64; PRIORITIES],
    quanta: [u16; PRIORITIES],
    /// Causes that a pause frame of this port did not carry, because it carried another.
    #[recurs(measured)]
    pub other_causes: OtherCauses,
}

/// Time of effect in the whole run, priorities, and cause of each.
#[derive(Clone, Debug, Default)]
pub(crate) struct OtherCauses(pub Vec<(Time, u8, u64)>);

impl Counts for OtherCauses {
    fn advance(&mut self, growth: &mut Growth) {
        growth.rows(&mut self.0, |&(at, priority, cause), later| (at + later, priority, cause));
    }
}

/// Time for which a port has been paused in any priority.
#[derive(Clone, Copy, Debug, Default)]
struct PausedTime {
    /// Start of the last paused period. `until` is its end, as far as it is known.
    since: Time,
    until: Time,
    /// Total time of the periods before it.
    before: Time,
}

impl PausedTime {
    /// Total up to `end`.
    fn at(&self, end: Time) -> Time {
        self.before + self.until.min(end).saturating_sub(self.since)
    }

    /// Adds the last period to the total if it has ended before `now`.
    #[inline]
    fn settle(&mut self, now: Time) {
        if self.until <= now {
            self.before += self.until.saturating_sub(self.since);
            self.since = now;
            self.until = now;
        }
    }
}

impl Counts for PausedTime {
    fn advance(&mut self, growth: &mut Growth) {
        let now = self.at(growth.now());
        self.before += Time::from_ps(growth.of(now.ps().into()) as u64);
    }
}

impl LinkControl {
    /// Returns the classes that are stopped now.
    #[inline(always)]
    pub fn stopped(&self, classes: ClassMap, now: Time) -> u32 {
        match self {
            LinkControl::None => 0,
            LinkControl::Pause(pauses) => classes.classes_of(pauses.timers.paused(now)),
            LinkControl::Credit(credits) => credits.short(),
            LinkControl::Both(both) => classes.classes_of(both.0.timers.paused(now)) | both.1.short(),
        }
    }

    /// Returns the time until which the same classes are stopped, unless the peer sends another signal.
    pub fn unchanged_until(&self, now: Time) -> Time {
        match self {
            LinkControl::None => Time::NEVER,
            LinkControl::Pause(pauses) => pauses.timers.first_end(now),
            // The arrival of credits is not known in advance.
            LinkControl::Credit(_) | LinkControl::Both(_) => Time::ZERO,
        }
    }

    /// Returns the time until which these priorities are stopped, unless the peer sends another signal; in the past if
    /// they are not stopped.
    #[inline]
    pub fn until(&self, priorities: impl Into<u32>) -> Time {
        match self {
            LinkControl::None => Time::ZERO,
            LinkControl::Pause(pauses) => pauses.timers.until(priorities.into() as u8),
            // The arrival of credits is not known in advance.
            LinkControl::Credit(_) => Time::NEVER,
            LinkControl::Both(both) => {
                let (priorities, (pauses, credits)) = (priorities.into(), &**both);
                let paused = priorities & u32::from(pauses.obeys);
                let waits = paused == 0 && priorities & credits.spec.priorities != 0;
                if waits { Time::NEVER } else { pauses.timers.until(paused as u8) }
            }
        }
    }

    /// Returns the state of pauses, if there are any.
    pub fn pauses(&self) -> Option<&PauseState> {
        match self {
            LinkControl::None | LinkControl::Credit(_) => None,
            LinkControl::Pause(pauses) => Some(pauses),
            LinkControl::Both(both) => Some(&both.0),
        }
    }
    pub fn pauses_mut(&mut self) -> Option<&mut PauseState> {
        match self {
            LinkControl::None | LinkControl::Credit(_) => None,
            LinkControl::Pause(pauses) => Some(pauses),
            LinkControl::Both(both) => Some(&mut both.0),
        }
    }

    /// Returns the credits of both directions, if there are any.
    pub fn credits(&self) -> Option<&CreditState> {
        match self {
            LinkControl::Credit(credits) => Some(credits),
            LinkControl::Both(both) => Some(&both.1),
            LinkControl::None | LinkControl::Pause(_) => None,
        }
    }
    /// Returns the credits that frames of a priority consume, if they consume any.
    pub fn credits_of(&self, priority: u8) -> Option<&CreditState> {
        self.credits().filter(|credits| credits.spec.covers(Priority(priority)))
    }
    pub fn credits_mut(&mut self) -> Option<&mut CreditState> {
        match self {
            LinkControl::Credit(credits) => Some(credits),
            LinkControl::Both(both) => Some(&mut both.1),
            LinkControl::None | LinkControl::Pause(_) => None,
        }
    }

    /// Returns the start and the cause of the pause of a priority that is in force, or has expired since it arrived.
    /// With credits, the wait of a class counts for the lowest of its priorities; its cause is recorded at the other
    /// end.
    pub fn in_force(&self, priority: u8) -> Option<(Time, u64)> {
        if let Some(credits) = self.credits_of(priority) {
            return Some((credits.wait_in_force(priority)?, 0));
        }
        self.pauses()?.in_force.get(usize::from(priority)).copied().flatten()
    }

    /// Priorities whose pauses are in force, or have expired and are not recorded yet.
    pub fn priorities_in_force(&self) -> u32 {
        let in_force = |&at: &u8| self.in_force(at).is_some();
        (0..CHANNELS as u8).filter(in_force).fold(0, |set, at| set | 1 << at)
    }

    /// Reports the pauses that have expired to a callback.
    pub fn run_out(&mut self, now: Time, mut ended: impl FnMut(EndedWait)) {
        if let Some(credits) = self.credits_mut() {
            credits.waits_over(&mut ended);
        }
        let Some(pauses) = self.pauses_mut() else { return };
        for (priority, pause) in (0u8..).zip(&mut pauses.in_force) {
            let Some((start, cause)) = *pause else { continue };
            let end = pauses.timers.until(1 << priority);
            if end <= now {
                *pause = None;
                ended(EndedWait { priority, start, end, cause, bypass: false });
            }
        }
    }

    /// Time in which at least one priority was paused, from the start of measurement to `end`.
    pub fn paused_time(&self, end: Time) -> Time {
        self.pauses().map_or(Time::ZERO, |pauses| pauses.paused.at(end))
    }

    /// Restarts measurement at `now`.
    pub fn restart(&mut self, now: Time) {
        if let Some(pauses) = self.pauses_mut() {
            let paused = &mut pauses.paused;
            paused.settle(now);
            (paused.since, paused.before) = (paused.since.max(now), Time::ZERO);
        }
        if let Some(credits) = self.credits_mut() {
            credits.restart(now);
        }
    }

    /// Clears the state of both directions when the link goes down.
    pub fn clear(&mut self, now: Time, ended: impl FnMut(EndedWait)) {
        if let Some(pauses) = self.pauses_mut() {
            pauses.clear(now, ended);
        }
    }

    /// Bytes of heap memory.
    pub fn memory_bytes(&self) -> usize {
        let causes = |pauses: &PauseState| pauses.other_causes.0.capacity() * size_of::<(Time, u8, u64)>();
        let of_credits = |credits: &CreditState| {
            let fills = credits.fills.as_ref().map_or(0, |fills| fills.memory_bytes());
            size_of::<CreditState>() + fills + credits.updates_bytes()
        };
        self.pauses().map_or(0, |pauses| size_of::<PauseState>() + causes(pauses))
            + self.credits().map_or(0, of_credits)
    }
}

impl PauseState {
    /// Creates the state without pauses.
    pub fn new(obeys: u8, response: Time, peer_response: Time) -> PauseState {
        PauseState {
            obeys,
            response,
            peer_response,
            timers: PauseTimers::default(),
            in_force: [None; PRIORITIES],
            paused: PausedTime::default(),
            signal: PauseSignal::default(),
            causes: [0; PRIORITIES],
            quanta: [0; PRIORITIES],
            other_causes: OtherCauses::default(),
        }
    }

    /// Applies a pause frame of the peer: its priorities are stopped until the end of their pause times. Reports the
    /// pauses that it ends.
    #[inline]
    pub fn receive(
        &mut self,
        signal: PauseSignal,
        until: Time,
        cause: u64,
        now: Time,
        mut ended: impl FnMut(EndedWait),
    ) {
        self.paused.settle(now);
        for at in members((signal.xoff | signal.xon) & self.obeys) {
            let (priority, bit) = (at as u8, 1u8 << at);
            let pause = &mut self.in_force[at];
            let ran_out_at = self.timers.until(bit);
            if let Some((start, cause)) = *pause
                && (signal.xoff & bit == 0 || ran_out_at <= now)
            {
                *pause = None;
                ended(EndedWait { priority, start, end: ran_out_at.min(now), cause, bypass: false });
            }
            if signal.xoff & bit != 0 && until > now && pause.is_none() {
                *pause = Some((now, cause));
            }
        }
        self.timers.apply(signal, self.obeys, until, now);
        self.paused.until = self.timers.until(self.obeys).max(now);
        self.paused.settle(now);
    }

    /// Merges a signal into the next pause frame to the peer, which may already be pending.
    pub fn say(&mut self, signal: PauseSignal, quanta: &[u16; PRIORITIES], cause: u64) {
        self.signal = self.signal.then(signal);
        for priority in members(signal.xoff) {
            (self.causes[priority], self.quanta[priority]) = (cause, quanta[priority]);
        }
    }

    /// Returns true if the pause of any priority is not known to have ended.
    pub fn any_in_force(&self) -> bool {
        self.in_force.iter().any(Option::is_some)
    }

    /// Returns true if a pause frame is pending.
    pub fn has_signal(&self) -> bool {
        !self.signal.is_empty()
    }

    /// Takes the pending pause frame, with the cause and the pause time (in quanta) of each priority's XOFF in it.
    pub fn take_signal(&mut self) -> (PauseSignal, [u64; PRIORITIES], [u16; PRIORITIES]) {
        (std::mem::take(&mut self.signal), self.causes, self.quanta)
    }

    fn clear(&mut self, now: Time, mut ended: impl FnMut(EndedWait)) {
        self.paused.until = self.paused.until.min(now);
        self.paused.settle(now);
        for (priority, pause) in (0..).zip(&mut self.in_force) {
            if let Some((start, cause)) = pause.take() {
                let end = self.timers.until(1 << priority).min(now);
                ended(EndedWait { priority, start, end, cause, bypass: false });
            }
        }
        self.timers.clear();
        self.signal = PauseSignal::default();
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn us(us: u64) -> Time {
        Time::from_us(us)
    }

    #[test]
    fn a_port_without_flow_control_is_never_stopped() {
        let mut none = LinkControl::None;
        none.clear(us(1), |_| unreachable!("no pause can be in force"));
        assert_eq!((none.stopped(ClassMap::SEPARATE, us(1)), none.until(0xFF_u8)), (0, Time::ZERO));
        assert_eq!((none.paused_time(us(9)), none.memory_bytes()), (Time::ZERO, 0));
        assert!(
            size_of::<LinkControl>() <= 2 * size_of::<usize>(),
            "a port without flow control only takes a tag and a pointer"
        );
    }

    #[test]
    fn pauses_overlap_in_time_and_end_once_each() {
        let mut control = LinkControl::Pause(Box::new(PauseState::new(0b11, Time::ZERO, Time::ZERO)));
        let mut receive = |signal, until, cause, now, ends: &mut Vec<EndedWait>| {
            if let LinkControl::Pause(pauses) = &mut control {
                pauses.receive(signal, until, cause, now, |end| ends.push(end));
            }
            [now, us(5)].map(|at| control.stopped(ClassMap::SEPARATE, at.max(now)))
        };
        let mut ends = Vec::new();
        let xoff = |bits| PauseSignal { xoff: bits, xon: 0 };
        // Priority 0 is paused from 1 to 5, priority 1 from 3 until the XON at 6. Priority 2 is not obeyed.
        assert_eq!(receive(xoff(0b101), us(5), 7, us(1), &mut ends), [0b01, 0]);
        assert_eq!(receive(xoff(0b10), us(9), 8, us(3), &mut ends), [0b11, 0b10]);
        let xon = PauseSignal { xoff: 0, xon: 0b10 };
        assert_eq!(receive(xon, us(6), 0, us(6), &mut ends), [0, 0]);
        control.clear(us(20), |end| ends.push(end));
        let ends: Vec<_> = ends.iter().map(|end| (end.priority, end.start, end.end, end.cause)).collect();
        assert_eq!(ends, [(1, us(3), us(6), 8), (0, us(1), us(5), 7)]);
        assert_eq!(control.paused_time(us(30)), us(5));
        control.restart(us(20));
        assert_eq!(control.paused_time(us(30)), Time::ZERO);
    }
}
