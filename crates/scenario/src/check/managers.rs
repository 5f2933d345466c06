//! Checks that queue managers fit the traffic: marks need endpoints that support them, drops need lossy classes.

use super::Context;
use crate::model::Model;
use crate::place::Place;
use fabric::PauseNeeds;
use fabric::spec::{FlowSpec, Role, Spec, SwitchSpec};
use frame::{NodeId, Priority, TrafficClass};
use queueing::{Configuration, ManagerEntry, ManagerSpec, Measures, RateConfiguration};
use std::collections::BTreeSet;
use transport::{Application, ApplicationSpec};
use units::{Amount, Bytes};

/// Checks the managers of each table of settings once, at the first switch that uses it.
pub fn check(model: &Model, spec: &Spec, needs: &[PauseNeeds], context: &mut Context<'_>) {
    let mut seen = BTreeSet::new();
    for (id, node) in (0..).map(NodeId).zip(&spec.nodes) {
        let Role::Switch(switch) = &node.role else { continue };
        let own = model.switches.get(&node.name).and_then(|own| own.queue_managers.as_ref());
        let table = match own {
            Some(_) => Place::of("switches").key(&node.name),
            None => Place::of("switch"),
        };
        let Some(entries) = own.or(model.switch.queue_managers.as_ref()) else { continue };
        if !seen.insert((own.map(|_| &node.name), lossless(switch))) {
            continue;
        }
        for (index, entry) in entries.iter().enumerate() {
            let at = table.key("queue_managers").index(index);
            check_entry(entry, entries, switch, spec, &at, context);
            let manages = |class: usize| match &entry.classes {
                Some(_) => entry.names(class as u32),
                None => !entries.iter().any(|other| other.names(class as u32)),
            };
            check_marks((entry, &manages), (id, switch), spec, needs, &at, context);
            if let Ok(manager) = entry.manager()
                && let Some(aim) = Aim::of(&manager, spec)
            {
                check_aim(&aim, &manages, (id, switch), spec, needs, &at.key(manager.name()), context);
            }
        }
    }
}

fn check_entry(
    entry: &ManagerEntry,
    entries: &[ManagerEntry],
    switch: &SwitchSpec,
    spec: &Spec,
    at: &Place,
    context: &mut Context<'_>,
) {
    let Ok(manager) = entry.manager() else { return };
    let class = |flow: &FlowSpec| u32::from(switch.classes.class(flow.priority).0);
    let manages = |flow: &&FlowSpec| match &entry.classes {
        Some(_) => entry.names(class(flow)),
        None => !entries.iter().any(|other| other.names(class(flow))),
    };
    let flows: Vec<&FlowSpec> = spec.flows.iter().filter(manages).collect();
    let sent = spec.priorities_in_use();
    let has_frames = |of: u32| {
        (0..u32::BITS)
            .filter(|priority| sent >> priority & 1 != 0)
            .any(|priority| u32::from(switch.classes.class(Priority(priority as u8)).0) == of)
    };
    for (place, &class) in entry.classes.iter().flatten().enumerate() {
        if !has_frames(class) {
            let message = format!("class {class} has a queue manager, but no frames");
            context.warn(&at.key("classes").index(place), message, "no flow and no message is in this class");
        }
    }
    let (name, at) = (manager.name(), at.key(manager.name()));
    if let Some(instead) = manager.unmarked()
        && !flows.is_empty()
        && !flows.iter().any(|flow| understands_marks(flow))
    {
        context.warn(
            &at,
            format!("{name} marks frames, but no flow in its classes understands marks"),
            format!("{instead}: expected {}", Application::MARKED),
        );
    }
    if let Some((what, key, help)) = counts_whole_port(&manager)
        && let Some(other) = spec.flows.iter().find(|flow| !manages(flow))
        && !flows.is_empty()
    {
        let message = format!(
            "{name} {what}, and \"{}\" is in class {} without it: the sources of {name} reduce their rates to the minimum",
            other.name,
            class(other)
        );
        context.warn(&key.map_or(at.clone(), |key| at.key(key)), message, help);
    }
    let kept = flows.iter().find(|flow| lossless(switch) >> flow.priority.0 & 1 != 0);
    if let (Some((what, instead)), Some(flow)) = (manager.drops(), kept) {
        let priority = flow.priority.0;
        let TrafficClass(class) = switch.classes.class(flow.priority);
        context.warn(
            &at,
            format!("{name} {what} in class {class}, whose priority {priority} flow control keeps lossless"),
            format!("expected {instead}, or classes without flow control"),
        );
    }
}

/// Returns, for a manager that measures all classes of a port, so that traffic without congestion control starves the
/// classes that it controls: the behaviour, its key, and the remedy.
fn counts_whole_port(manager: &ManagerSpec) -> Option<(&'static str, Option<&'static str>, &'static str)> {
    match manager {
        ManagerSpec::CongestionPoint(_) | ManagerSpec::RatePoint(_)
            if manager.measures() == Measures::Port =>
        {
            Some((
                "uses the queues of all classes of a port",
                Some("scope"),
                "set scope = \"queue\", or manage all classes that share the port",
            ))
        }
        ManagerSpec::PathPoint(_) => Some((
            "uses the rate and the queues of the whole port",
            None,
            "manage all classes that share the port, or give this class a link of its own",
        )),
        _ => None,
    }
}

/// Reports marks that cannot occur, because flow control pauses all senders to a queue before it is long enough.
fn check_marks(
    (entry, manages): (&ManagerEntry, &dyn Fn(usize) -> bool),
    (id, switch): (NodeId, &SwitchSpec),
    spec: &Spec,
    needs: &[PauseNeeds],
    at: &Place,
    context: &mut Context<'_>,
) {
    let Ok(manager) = entry.manager() else { return };
    let used = |class: usize| spec.flows.iter().any(|flow| switch.classes.class(flow.priority).at() == class);
    let paused = (0..switch.classes.classes())
        .filter(|&class| manages(class) && used(class))
        .find_map(|class| Some((class, fabric::paused_before_marks(spec, needs, id, (class, manager))?)));
    let Some((class, (least, most))) = paused else { return };
    let name = manager.name();
    let key = if name == "step" { "threshold" } else { "min" };
    let message = format!(
        "{name} marks from {} on, but pauses keep queues of class {class} below {} at \"{}\"",
        Bytes::new(least),
        Bytes::new(most),
        spec.nodes[id.at()].name
    );
    let help = "senders are paused before any frame is marked: expected a threshold below that, better below XOFF (`penstock check --thresholds`)";
    context.warn(&at.key(name).key(key), message, help);
}

/// Queue length that a control aims at.
struct Aim {
    bytes: Bytes,
    /// The queues whose total length is controlled.
    of: Measures,
    /// True if the control responds to arrivals, which pauses limit to the rate of the link.
    by_arrivals: bool,
    /// Key of the congestion point that sets the length.
    key: &'static str,
    /// Remedy if the length is too large.
    help: &'static str,
}

impl Aim {
    /// Returns the set point of a congestion point or, if it has none, the highest target among the limiters that
    /// receive its feedback.
    fn of(manager: &ManagerSpec, spec: &Spec) -> Option<Aim> {
        if let Some(bytes) = manager.set_point() {
            let help = "expected a set_point below that, or more room";
            let of = manager.measures();
            let by_arrivals = matches!(manager, ManagerSpec::RatePoint(_));
            return Some(Aim { bytes, of, by_arrivals, key: "set_point", help });
        }
        let limiters = spec.nodes.iter().filter_map(|node| node.host()?.limiters.as_ref());
        let bytes = limiters.filter_map(|limiters| limiters.control.aim(manager)).max()?;
        let help = "expected a smaller buffer here or target_share of rate_limiters, or more room";
        Some(Aim { bytes, of: Measures::Port, by_arrivals: false, key: "buffer", help })
    }
}

/// Checks that a queue can reach its set point; otherwise it causes feedback only while it grows fast. A buffer limit
/// below the set point is an error. Where pauses keep queues short, the result depends on the load.
fn check_aim(
    aim: &Aim,
    manages: &dyn Fn(usize) -> bool,
    (id, switch): (NodeId, &SwitchSpec),
    spec: &Spec,
    needs: &[PauseNeeds],
    at: &Place,
    context: &mut Context<'_>,
) {
    let words = |bytes: u64, what: &str| {
        let held = match aim.of {
            Measures::Queue | Measures::Inputs => "queues",
            Measures::Port => "ports",
            Measures::Switch => "the switch",
        };
        let [point, most] = Amount::alike([aim.bytes.get(), bytes].map(Amount::Bytes));
        format!("a set point of {point}, but {what} keeps {held} below {most}")
    };
    let too_little = |&(bytes, _): &(u64, &str)| bytes < aim.bytes.get();
    if let Some((bytes, what)) = least_limit(aim, switch, spec).filter(too_little) {
        return context.error(&at.key(aim.key), words(bytes, what), aim.help);
    }
    let output_buffer = spec.nodes[id.at()].crossbar().map(|keys| keys.output_buffer.get());
    let at_output = output_buffer.map(|bytes| (bytes, "the output_buffer of a crossbar"));
    if let Some((bytes, what)) = at_output.filter(|it| too_little(it) && aim.of == Measures::Queue) {
        let help = "frames wait at the inputs, which are not measured: set scope = \"port\", or a set_point below that";
        context.warn(at, words(bytes, what), help);
    }
    let counted = |class: usize| aim.of != Measures::Queue || manages(class);
    let Some((each, all)) =
        longest_paused(id, switch, spec, needs, &counted).filter(|_| aim.of != Measures::Switch)
    else {
        return;
    };
    if all < aim.bytes.get() {
        let help = format!("sources only get feedback for queues that grow fast: {}", aim.help);
        context.warn(at, words(all, "XOFF at all other ports"), help);
    } else if each < aim.bytes.get() && aim.by_arrivals {
        let help = "pauses keep arrivals at the capacity, so that advertised rates do not fall: expected a set_point below that, or a higher xoff";
        context.warn(at, words(each, "XOFF at a port, if all frames arrive through that one,"), help);
    }
}

/// Converts an amount to bytes, with frames of the maximum length.
fn bytes_of(amount: Amount, spec: &Spec) -> u64 {
    match amount {
        Amount::Bytes(bytes) => bytes,
        Amount::Frames(frames) => {
            let longest = spec.flows.iter().map(|flow| u64::from(flow.frame_bounds().1)).max();
            frames.saturating_mul(longest.unwrap_or_default())
        }
    }
}

/// Returns the smallest buffer limit that applies to the aim, and its name.
fn least_limit(aim: &Aim, switch: &SwitchSpec, spec: &Spec) -> Option<(u64, &'static str)> {
    let classes: BTreeSet<u8> = spec.flows.iter().map(|flow| switch.classes.class(flow.priority).0).collect();
    let together = match aim.of {
        Measures::Queue | Measures::Inputs => 1,
        Measures::Port => classes.len() as u64,
        Measures::Switch => u64::MAX,
    };
    let buffer = &switch.buffer;
    let limits = [
        (buffer.queue, "the limit of a queue", together),
        (buffer.port, "the limit of a port", if aim.of == Measures::Switch { u64::MAX } else { 1 }),
        (buffer.class, "the limit of a class", together),
        (buffer.total, "the limit of the switch", 1),
    ];
    let known = limits
        .into_iter()
        .filter_map(|(limit, what, times)| Some((bytes_of(limit?, spec).saturating_mul(times), what)));
    known.min_by_key(|&(bytes, _)| bytes)
}

/// Returns the bytes that can arrive at a queue of a switch until one of its ports has sent XOFF, and until all have,
/// if that is the same for all flows in the measured classes.
fn longest_paused(
    id: NodeId,
    switch: &SwitchSpec,
    spec: &Spec,
    needs: &[PauseNeeds],
    counts: &dyn Fn(usize) -> bool,
) -> Option<(u64, u64)> {
    let counted = |flow: &&FlowSpec| counts(switch.classes.class(flow.priority).at());
    let paused = |flow: &FlowSpec| lossless(switch) >> flow.priority.0 & 1 != 0;
    let own = needs.iter().filter(|need| need.node == id);
    let levels: Vec<u64> = own.map(|need| bytes_of(need.levels.xoff, spec)).collect();
    // Frames arrive through all ports except the egress port. If pauses depend on the queues, a single XOFF stops all
    // senders.
    let by_egress = switch.pauses().is_some_and(|own| !own.counts_at_ingress());
    let others = if by_egress { 1 } else { levels.len().saturating_sub(1) };
    let highest = *levels.iter().max().filter(|_| spec.flows.iter().filter(counted).all(paused))?;
    Some((highest, highest.saturating_mul(others as u64)))
}

fn understands_marks(flow: &FlowSpec) -> bool {
    flow.transport.as_ref().is_some_and(|connection| connection.application.understands_marks())
}

/// Returns the priorities that flow control of a switch protects from loss.
fn lossless(switch: &SwitchSpec) -> u8 {
    switch.pauses().map_or(0, |control| control.kind.priorities())
}
