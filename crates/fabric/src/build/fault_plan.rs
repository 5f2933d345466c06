//! All faults of a run, prepared in advance: scripted faults sorted, random faults drawn.
//!
//! Overlapping or adjacent outages of one link are merged; stations react as to the first one. Random outages use the
//! stream "faults/N" of the N-th entry, which draws the time to each outage (exponential) and the link that fails.

use crate::BuildError;
use crate::build::control_frames;
use crate::build::whole::WHOLE;
use crate::run::fabric::Fabric;
use crate::run::state::event::Event;
use crate::run::state::faults::{Action, FaultSchedule, Faults, Span};
use crate::run::state::index::PlaceIx;
use crate::run::state::port::PortFeatures;
use crate::spec::routing::Wiring;
use crate::spec::{CoreChange, FaultSpec, LinkSpec, NodeSpec, Reaction, Role, Spec, Subject};
use engine::{Stream, stream};
use frame::NodeId;
use keys::Remark;
use std::collections::BTreeMap;
use std::sync::Arc;
use units::{BitRate, Time};

/// Maximum number of outages. More would only fill the memory.
const MAX_OUTAGES: usize = 1_000_000;

/// A time in which a link is down.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(crate) struct Outage {
    pub span: Span,
    pub reaction: Reaction,
}

/// A time in which a switch restarts.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(crate) struct Restart {
    pub span: Span,
    pub reroute: Option<Time>,
}

/// Faults of one link.
#[derive(Debug, Default)]
struct OnLink {
    outages: Vec<Outage>,
    /// Rate changes; with the end that receives, if only one direction changes.
    rates: Vec<(Time, Option<NodeId>, BitRate)>,
    bit_errors: Vec<(Span, f64)>,
    pause_losses: Vec<(Span, f64)>,
    /// Loss probabilities; with the end that receives, if only one direction is affected.
    frame_losses: Vec<(Option<NodeId>, (Span, f64))>,
}

/// A row of the table of faults.
#[derive(Clone, Debug, PartialEq)]
pub(crate) struct Note {
    pub at: Time,
    pub what: &'static str,
    pub place: String,
    /// Rate or probability; NaN for other faults.
    pub value: f64,
}

/// All faults of a run.
#[derive(Debug, Default)]
pub(crate) struct FaultPlan {
    links: BTreeMap<u32, OnLink>,
    restarts: BTreeMap<u32, Vec<Restart>>,
    /// Number of random outages.
    drawn: usize,
}

impl FaultPlan {
    pub fn new(spec: &Spec) -> Result<FaultPlan, BuildError> {
        let mut plan = FaultPlan::default();
        for (entry, fault) in spec.faults.iter().enumerate() {
            match fault {
                FaultSpec::LinkDown { .. }
                | FaultSpec::LinkUp { .. }
                | FaultSpec::ControlFrame { .. }
                | FaultSpec::Scheduler { .. } => {}
                FaultSpec::LinkRate { link, towards, at, rate } => {
                    plan.on(*link).rates.push((*at, *towards, *rate));
                }
                FaultSpec::BitErrors { link, from, until, rate } => {
                    plan.on(*link).bit_errors.push(((*from, *until), *rate));
                }
                FaultSpec::PauseLoss { link, from, until, probability } => {
                    plan.on(*link).pause_losses.push(((*from, *until), *probability));
                }
                FaultSpec::FrameLoss { link, towards, from, until, probability } => {
                    plan.on(*link).frame_losses.push((*towards, ((*from, *until), *probability)));
                }
                FaultSpec::Restart { node, at, lasts, reroute } => {
                    let restart = Restart { span: (*at, at.saturating_add(*lasts)), reroute: *reroute };
                    plan.restarts.entry(node.0).or_default().push(restart);
                }
                FaultSpec::Random { .. } => {
                    let random = stream(spec.seed, &format!("faults/{entry}"));
                    plan.add_random(entry, fault, random, spec.duration)?;
                }
            }
        }
        plan.add_switched(&spec.faults);
        for on in plan.links.values_mut() {
            on.rates.sort_by_key(|&(at, ..)| at);
            joined(&mut on.outages, |outage| &mut outage.span);
        }
        for restarts in plan.restarts.values_mut() {
            joined(restarts, |restart| &mut restart.span);
        }
        Ok(plan)
    }

    /// Draws outages one after the other, and the link of each.
    fn add_random(
        &mut self,
        entry: usize,
        fault: &FaultSpec,
        mut random: Stream,
        end: Time,
    ) -> Result<(), BuildError> {
        let FaultSpec::Random { links, mean_time_between, lasts, reaction } = fault else { return Ok(()) };
        let mut now = Time::ZERO;
        while !links.is_empty() {
            let gap = workload::exponential(&mut random) * mean_time_between.ps() as f64;
            now = now.saturating_add(Time::from_ps((gap as u64).max(1)));
            if now >= end {
                break;
            }
            let until = now.saturating_add(*lasts);
            let link = links[workload::below(&mut random, links.len() as u64) as usize];
            self.on(link).outages.push(Outage { span: (now, until), reaction: *reaction });
            now = until;
            self.drawn += 1;
            if self.drawn > MAX_OUTAGES {
                let message = format!("more than {MAX_OUTAGES} random outages");
                let help = "expected a longer mean_time_between, or fewer links";
                return Err(BuildError::new(Subject::Fault(entry), Remark::new(message, help)));
            }
        }
        Ok(())
    }

    /// Adds outages for the times at which links are scripted to go down and up.
    fn add_switched(&mut self, faults: &[FaultSpec]) {
        let mut switched: BTreeMap<u32, Vec<(Time, Option<Reaction>)>> = BTreeMap::new();
        for fault in faults {
            match fault {
                FaultSpec::LinkDown { link, at, reaction } => {
                    switched.entry(*link).or_default().push((*at, Some(*reaction)));
                }
                FaultSpec::LinkUp { link, at } => switched.entry(*link).or_default().push((*at, None)),
                _ => {}
            }
        }
        for (link, mut changes) in switched {
            changes.sort_by_key(|&(at, _)| at);
            let mut since: Option<(Time, Reaction)> = None;
            for (at, change) in changes.into_iter().chain([(Time::NEVER, None)]) {
                match (change, since) {
                    (Some(reaction), None) => since = Some((at, reaction)),
                    (None, Some((from, reaction))) => {
                        self.on(link).outages.push(Outage { span: (from, at), reaction });
                        since = None;
                    }
                    _ => {}
                }
            }
        }
    }

    fn on(&mut self, link: u32) -> &mut OnLink {
        self.links.entry(link).or_default()
    }

    /// Outages of links, sorted by link and time.
    pub fn outages(&self) -> impl Iterator<Item = (u32, Outage)> {
        self.links.iter().flat_map(|(&link, on)| on.outages.iter().map(move |&outage| (link, outage)))
    }
    /// Restarts of switches, sorted by switch and time.
    pub fn restarts(&self) -> impl Iterator<Item = (NodeId, Restart)> {
        self.restarts.iter().flat_map(|(&node, all)| all.iter().map(move |&restart| (NodeId(node), restart)))
    }

    /// Returns the fault tables of the run. `paths` are changes of routes by the place of the source.
    pub fn faults(&self, spec: &Spec, wiring: &Wiring, paths: Vec<(Time, u32, Action)>) -> Faults {
        let mut all = paths;
        let mut schedules = Vec::new();
        if !self.links.is_empty() || !self.restarts.is_empty() {
            schedules = (0..wiring.peer.len() as u32).map(|port| self.schedule(spec, wiring, port)).collect();
        }
        let mut ends: BTreeMap<u32, Vec<u32>> = BTreeMap::new();
        for (port, &link) in (0..).zip(&wiring.link_of).filter(|(_, link)| self.links.contains_key(link)) {
            ends.entry(link).or_default().push(port);
        }
        for (link, on) in &self.links {
            for &port in ends.get(link).into_iter().flatten() {
                for outage in &on.outages {
                    let (from, until) = outage.span;
                    all.push((from, port, Action::Down { keep: outage.reaction.keep }));
                    all.push((until, port, Action::Up));
                }
                let peer = wiring.neighbour(frame::PortId(port));
                all.extend(on.rates.iter().map(|&(at, towards, rate)| {
                    let sends = towards.is_none_or(|end| end == peer).then_some(rate);
                    let arrives = towards.is_none_or(|end| end != peer).then_some(rate);
                    (at, port, Action::Rate { sends, arrives })
                }));
            }
        }
        for (node, restart) in self.restarts() {
            let ports = wiring.ports(node);
            if let Some(first) = ports.into_iter().next() {
                all.push((restart.span.0, first.0, Action::Off));
                all.push((restart.span.1, first.0, Action::On));
            }
        }
        for (node, at, change) in core_changes(spec) {
            all.extend(wiring.ports(node).map(|port| (at, port.0, Action::Receive(change))));
        }
        all.retain(|&(at, ..)| at < spec.duration);
        all.sort_by_key(|&(at, place, _)| (at, place));
        let actions = all.iter().map(|&(.., action)| action).collect();
        let mut events = Vec::new();
        let mut first = 0;
        for group in all.chunk_by(|a, b| (a.0, a.1) == (b.0, b.1)) {
            let count = group.len() as u32;
            events.push(Event::fault(group[0].0, PlaceIx::of(group[0].1, WHOLE), first, count));
            first += count;
        }
        Faults { schedules, events, actions, schedulers: Arc::default(), domains: Arc::default() }
    }

    fn schedule(&self, spec: &Spec, wiring: &Wiring, port: u32) -> Option<Box<FaultSchedule>> {
        let at = port as usize;
        let (node, peer) = (wiring.node_of[at].0, wiring.neighbour(frame::PortId(port)).0);
        let of = |node: u32| {
            let restarts = self.restarts.get(&node).into_iter().flatten();
            restarts.map(|restart| restart.span).collect::<Vec<_>>()
        };
        let (here, there) = (of(node), of(peer));
        let on = self.links.get(&wiring.link_of[at]);
        if on.is_none() && here.is_empty() && there.is_empty() {
            return None;
        }
        let name = |what: &str| {
            let node = &spec.nodes[node as usize].name;
            format!("port/{node}.{}/{what}", wiring.local(frame::PortId(port)))
        };
        let none = OnLink::default();
        let on = on.unwrap_or(&none);
        Some(Box::new(FaultSchedule {
            outages: on.outages.iter().map(|outage| outage.span).collect(),
            here,
            there,
            rates: on
                .rates
                .iter()
                .filter(|(_, towards, _)| towards.is_none_or(|end| end.0 == peer))
                .map(|&(at, ..)| at)
                .collect(),
            bit_errors: on.bit_errors.clone(),
            pause_losses: on.pause_losses.clone(),
            frame_losses: on
                .frame_losses
                .iter()
                .filter(|(towards, _)| towards.is_none_or(|end| end.0 == peer))
                .map(|&(_, loss)| loss)
                .collect(),
            fresh: None,
            bits: stream(spec.seed, &name("bit_errors")),
            pauses: stream(spec.seed, &name("pause_loss")),
            losses: stream(spec.seed, &name("frame_loss")),
        }))
    }

    /// Fault events before the end of the run, sorted by time.
    pub fn notes(&self, spec: &Spec) -> Vec<Note> {
        let mut notes = Vec::new();
        let mut note = |at: Time, what, place: &str, value: f64| {
            notes.push(Note { at, what, place: place.to_string(), value });
        };
        for (&link, on) in &self.links {
            let name = &link_name(spec, link);
            for outage in &on.outages {
                note(outage.span.0, "link_down", name, f64::NAN);
                note(outage.span.1, "link_up", name, f64::NAN);
            }
            for &(at, towards, rate) in &on.rates {
                let name = &towards.map_or(name.clone(), |end| direction(spec, link, end));
                note(at, "rate", name, rate.bps_f64());
            }
            for &((from, until), p) in &on.bit_errors {
                note(from, "bit_errors_begin", name, p);
                note(until, "bit_errors_end", name, p);
            }
            for &((from, until), p) in &on.pause_losses {
                note(from, "pause_loss_begins", name, p);
                note(until, "pause_loss_ends", name, p);
            }
            for &(towards, ((from, until), p)) in &on.frame_losses {
                let name = &towards.map_or(name.clone(), |end| direction(spec, link, end));
                note(from, "frame_loss_begins", name, p);
                note(until, "frame_loss_ends", name, p);
            }
        }
        for (node, restart) in self.restarts() {
            let name = &spec.nodes[node.at()].name;
            note(restart.span.0, "restart", name, f64::NAN);
            note(restart.span.1, "restarted", name, f64::NAN);
        }
        for fault in &spec.faults {
            if let FaultSpec::ControlFrame { link, towards, at, content } = fault {
                let heeded = control_frames::has_effect(spec, *towards, content);
                let what = if heeded { "control_frame" } else { "control_frame_ignored" };
                note(*at, what, &direction(spec, *link, *towards), f64::NAN);
            }
            if let FaultSpec::Scheduler { link, towards, at, .. } = fault {
                note(*at, "scheduler", &direction(spec, *link, *towards), f64::NAN);
            }
        }
        for (node, at, change) in core_changes(spec) {
            let what = match change {
                CoreChange::Stop => "reading_stops",
                CoreChange::Start { .. } => "reading_starts",
                CoreChange::Send { .. } => "sending_changes",
            };
            note(at, what, &spec.nodes[node.at()].name, f64::NAN);
        }
        notes.retain(|note| note.at < spec.duration);
        notes.sort_by(|a, b| (a.at, &a.place, a.what).cmp(&(b.at, &b.place, b.what)));
        notes
    }
}

/// Changes of the cores of hosts.
fn core_changes(spec: &Spec) -> impl Iterator<Item = (NodeId, Time, CoreChange)> {
    let of_host = |node: &'_ NodeSpec| match &node.role {
        Role::Host(host) => host.core_changes(),
        Role::Switch(_) => Vec::new(),
    };
    let of = move |(id, node)| of_host(node).into_iter().map(move |(at, change)| (id, at, change));
    (0..).map(NodeId).zip(&spec.nodes).flat_map(of)
}

/// Name such as "a<->b", with the number of the link if there are several between the two nodes.
fn link_name(spec: &Spec, link: u32) -> String {
    let own = &spec.links[link as usize];
    numbered(spec, link, &format!("{}<->{}", spec.nodes[own.a.at()].name, spec.nodes[own.b.at()].name))
}

/// Name such as "a->b", with the number of the link if there are several between the two nodes.
fn direction(spec: &Spec, link: u32, towards: NodeId) -> String {
    let own = &spec.links[link as usize];
    let from = if own.b == towards { own.a } else { own.b };
    numbered(spec, link, &format!("{}->{}", spec.nodes[from.at()].name, spec.nodes[towards.at()].name))
}

fn numbered(spec: &Spec, link: u32, name: &str) -> String {
    let own = &spec.links[link as usize];
    let parallel =
        |other: &&LinkSpec| (other.a, other.b) == (own.a, own.b) || (other.b, other.a) == (own.a, own.b);
    match spec.links.iter().filter(parallel).count() {
        1 => name.to_string(),
        _ => format!("{name}[{}]", spec.links[..link as usize].iter().filter(parallel).count()),
    }
}

/// Sorts spans and merges those that touch.
fn joined<T: Copy>(all: &mut Vec<T>, span: impl Fn(&mut T) -> &mut Span) {
    all.sort_by_key(|one| *span(&mut one.clone()));
    let mut kept: Vec<T> = Vec::with_capacity(all.len());
    for mut one in all.drain(..) {
        let (from, until) = *span(&mut one);
        match kept.last_mut().map(&span) {
            Some(last) if from <= last.1 => last.1 = last.1.max(until),
            _ => kept.push(one),
        }
    }
    *all = kept;
}

/// Marks the ports that faults can affect, and stores their initial schedulers.
pub(crate) fn mark_faulted(fabric: &mut Fabric) {
    let fabric = &mut **fabric;
    for (port, cold) in fabric.links.ports.all_mut(WHOLE).iter_mut().zip(fabric.links.cold.all(WHOLE)) {
        port.features.set(PortFeatures::FAULTED, cold.changes_frames() || cold.retry.is_some());
    }
    let ports = fabric.links.ports.all_mut(WHOLE).iter_mut().zip(fabric.links.cold.all(WHOLE));
    for ((port, cold), schedule) in ports.zip(&mut fabric.faults.schedules) {
        if let Some(schedule) = schedule {
            schedule.fresh =
                port.features.has(PortFeatures::SCHEDULER).then(|| cold.scheduler.discipline().clone());
        }
        port.features
            .set(PortFeatures::FAULTED, schedule.is_some() || cold.changes_frames() || cold.retry.is_some());
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn outages_that_touch_are_one() {
        let ns = Time::from_ns;
        let mut spans =
            vec![(ns(5), ns(7)), (ns(1), ns(2)), (ns(2), ns(4)), (ns(6), ns(9)), (ns(20), ns(21))];
        joined(&mut spans, |span| span);
        assert_eq!(spans, [(ns(1), ns(4)), (ns(5), ns(9)), (ns(20), ns(21))]);
    }
}
