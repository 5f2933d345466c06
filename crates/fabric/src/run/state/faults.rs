//! Faults: failed links, restarts of switches, bit errors, lost frames, lost pause frames.

use crate::run::state::domains::PortDomain;
use crate::run::state::event::{Event, Kind, LossCause};
use crate::run::state::index::PortIx;
use crate::run::state::port::{ColdPort, Port};
use crate::spec::CoreChange;
use engine::Stream;
use flow_control::pause::PauseSignal;
use scheduling::Scheduler;
use std::sync::Arc;
use units::{BitRate, Time};

/// Begin and end.
pub(crate) type Span = (Time, Time);

/// The faults that can affect frames leaving through a port.
#[derive(Debug)]
pub(crate) struct FaultSchedule {
    /// Outages of the link. These and the next two are sorted and disjoint.
    pub outages: Vec<Span>,
    /// Restarts of this switch. `there` holds those of the switch at the other end.
    pub here: Vec<Span>,
    pub there: Vec<Span>,
    /// Times at which the rate of this direction changes.
    pub rates: Vec<Time>,
    /// Bit error probability.
    pub bit_errors: Vec<(Span, f64)>,
    /// Probability that a pause frame is lost.
    pub pause_losses: Vec<(Span, f64)>,
    /// Probability that a frame of a flow is lost.
    pub frame_losses: Vec<(Span, f64)>,
    /// Initial state of the scheduler, if it has state about queued frames.
    pub fresh: Option<Scheduler>,
    pub bits: Stream,
    pub pauses: Stream,
    pub losses: Stream,
}

/// A change at a place.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(crate) enum Action {
    Down {
        keep: bool,
    },
    Up,
    /// Changes the rate at which the port sends, and at which it receives; `None`: that direction keeps its rate.
    Rate {
        sends: Option<BitRate>,
        arrives: Option<BitRate>,
    },
    /// The switch of this port restarts: it goes off, and later on again.
    Off,
    On,
    Receive(CoreChange),
    /// This path uses another start in the table of hops from now on.
    Path {
        path: u32,
        start: u32,
    },
    /// A scripted pause frame arrives through this port.
    Pause {
        signal: PauseSignal,
        quanta: u16,
    },
    /// The port changes to one of the schedulers of the table.
    Scheduler {
        nth: u32,
    },
    /// A scripted congestion message arrives for the source of this path.
    Congestion {
        path: u32,
        feedback: u8,
    },
    /// The port changes to other settings of the table at the edge of a congestion notification domain.
    Domain {
        nth: u32,
    },
}

/// All faults of a run.
#[derive(Debug, Default)]
pub(crate) struct Faults {
    /// Fault schedule of each port; empty without faults.
    pub schedules: Vec<Option<Box<FaultSchedule>>>,
    /// Initial events, each with its actions.
    pub events: Vec<Event>,
    /// Actions of the whole fabric.
    pub actions: Arc<[Action]>,
    /// Schedulers that ports get during the run, which have served nothing yet.
    pub schedulers: Arc<[Scheduler]>,
    /// Settings of ports at the edge of a congestion notification domain once the peer's state is received.
    pub domains: Arc<[PortDomain]>,
}

impl Faults {
    /// Returns true if nothing is scheduled.
    pub fn is_none(&self) -> bool {
        self.events.is_empty() && self.actions.is_empty() && self.schedules.iter().all(Option::is_none)
    }

    /// Bytes of the table that all parts of a fabric share.
    pub fn shared_bytes(&self) -> usize {
        size_of_val(&*self.actions) + size_of_val(&*self.schedulers) + size_of_val(&*self.domains)
    }

    /// Bytes of the tables of this part, including the spans of a port.
    pub fn memory_bytes(&self) -> usize {
        let spans = self.schedules.iter().flatten().map(|schedule| {
            let spans = schedule.outages.capacity() + schedule.here.capacity() + schedule.there.capacity();
            let chances = schedule.bit_errors.capacity()
                + schedule.pause_losses.capacity()
                + schedule.frame_losses.capacity();
            size_of::<FaultSchedule>()
                + spans * size_of::<Span>()
                + chances * size_of::<(Span, f64)>()
                + schedule.rates.capacity() * size_of::<Time>()
        });
        self.schedules.capacity() * size_of::<Option<Box<FaultSchedule>>>()
            + spans.sum::<usize>()
            + self.events.capacity() * size_of::<Event>()
    }
}

/// Returns true if some span overlaps `from` to `until`.
pub(in crate::run) fn meets(spans: &[Span], from: Time, until: Time) -> bool {
    let next = spans.partition_point(|span| span.1 <= from);
    spans.get(next).is_some_and(|span| span.0 < until)
}

/// Probability that at least one of `bits` bits is wrong: 1 - (1 - p)^bits. Avoids the cancellation for small `p`, and
/// uses only operations that round alike on every machine.
fn any_of(bits: u64, p: f64) -> f64 {
    let mut any = 0.0;
    for bit in (0..64 - bits.leading_zeros()).rev() {
        any *= 2.0 - any;
        if bits >> bit & 1 != 0 {
            any += p * (1.0 - any);
        }
    }
    any
}

/// Draws with the total probability of the spans that include `now`; draws nothing outside of them.
pub(in crate::run) fn strikes(spans: &[(Span, f64)], now: Time, bits: u64, stream: &mut Stream) -> bool {
    let mut safe = 1.0;
    for &((from, until), p) in spans {
        if from <= now && now < until {
            safe *= 1.0 - any_of(bits, p);
        }
    }
    safe < 1.0 && workload::unit(stream) <= 1.0 - safe
}

impl FaultSchedule {
    /// Returns the cause of loss, if any, of a transmission from `began` to `ended` that reaches the other end at
    /// `acts`.
    pub(in crate::run) fn loss_cause(
        &self,
        began: Time,
        ended: Time,
        delay: Time,
        acts: Time,
    ) -> Option<LossCause> {
        if meets(&self.outages, began, ended + delay) {
            return Some(LossCause::LinkDown);
        }
        let restarts = meets(&self.here, began, ended) || meets(&self.there, began + delay, acts);
        restarts.then_some(LossCause::Restart)
    }
}

impl Faults {
    /// Determines the outcome for a frame that has been sent on a link with faults. `back`: the frame travels its path
    /// in reverse.
    pub fn outcome_on_link(
        &mut self,
        egress: PortIx,
        port: &Port,
        cold: &ColdPort,
        (arrival, back): (Event, bool),
        began: Time,
    ) -> Event {
        let schedule = self.schedules.get_mut(egress.at()).and_then(Option::as_deref_mut);
        let Some(schedule) = schedule else { return arrival };
        let acts = port.busy_until + port.timing.arrives_after();
        let bits = u64::from(arrival.frame().bytes) * 8;
        let mut loss_cause = schedule.loss_cause(began, port.busy_until, cold.delay, acts);
        if loss_cause.is_none() && strikes(&schedule.frame_losses, began, 1, &mut schedule.losses) {
            loss_cause = Some(LossCause::Loss);
        }
        if loss_cause.is_none() && strikes(&schedule.bit_errors, began, bits, &mut schedule.bits) {
            loss_cause = Some(LossCause::BitError);
        }
        if let Some(loss_cause) = loss_cause {
            return Event::broken(acts, port.arrives_as.peer(), arrival.frame(), loss_cause, back);
        }
        if arrival.kind() == Kind::Head && schedule.rates.iter().any(|&at| began < at && at < acts) {
            // The switch would compare rates at which this frame did not travel, so it receives the whole frame first.
            return Event::arrival(Kind::Frame, acts, port.arrives_as.peer(), arrival.frame());
        }
        arrival
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn spans(ns: &[(u64, u64)]) -> Vec<Span> {
        ns.iter().map(|&(from, until)| (Time::from_ns(from), Time::from_ns(until))).collect()
    }

    #[test]
    fn a_frame_meets_an_outage_with_any_of_its_bits() {
        let down = spans(&[(10, 20), (50, 51)]);
        let meets = |from, until| meets(&down, Time::from_ns(from), Time::from_ns(until));
        assert!(!meets(0, 10) && meets(0, 11) && meets(12, 13) && meets(19, 40) && !meets(20, 50));
        assert!(meets(20, 51) && meets(0, 100) && !meets(51, 100));
    }

    #[test]
    fn many_bits_are_wrong_more_often_than_one() {
        assert_eq!(any_of(0, 0.5), 0.0);
        assert_eq!(any_of(1, 0.125), 0.125);
        assert_eq!(any_of(3, 0.5), 0.875);
        assert_eq!(any_of(12_000, 1.0), 1.0);
        // 1 - (1 - 1e-15)^12000 is 12000e-15 to twelve digits; evaluating the formula directly would be 1 % off.
        assert!((any_of(12_000, 1e-15) / 12e-12 - 1.0).abs() < 1e-11);
        assert!((any_of(8_000, 1e-4) - (1.0 - 0.9999f64.powi(8_000))).abs() < 1e-12);
    }
}
