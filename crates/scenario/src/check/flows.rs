//! Flows: converts each entry of `[[flows]]` to one flow per sender.

use super::receivers::{self, Ends, Pair};
use super::topology::Fabric;
use super::{Context, files, ports, together, transports, unused};
use crate::model::{Flow, Model, SourceText};
use crate::place::Place;
use fabric::spec::{FlowSpec, Way};
use flow_control::{ChannelList, Channels, FlowControl};
use frame::{NodeId, Priority};
use rand_xoshiro::rand_core::Rng;
use std::collections::{BTreeMap, BTreeSet};
use std::sync::Arc;
use units::{BitRate, Bytes, Time};
use workload::{Arrivals, Change, Destinations, FrameSizes, SourceSpec};

/// Maximum number of flows.
const MAX_FLOWS: usize = 1_000_000;

/// Converts all flows. Returns `None` after an error.
pub fn lower(model: &Model, fabric: &Fabric, context: &mut Context<'_>) -> Option<Vec<FlowSpec>> {
    if model.flows.is_empty() && model.transfers.is_empty() && model.jobs.is_empty() {
        context.warn(
            &Place::default(),
            "there are no flows: nothing will be sent",
            "add some with [[flows]], [[transfers]] or [[jobs]]",
        );
    }
    context.clean(|context| {
        let mut names = BTreeMap::new();
        let (mut flows, mut entries) = (Vec::new(), Vec::new());
        for (i, flow) in model.flows.iter().enumerate() {
            let at = Place::of("flows").index(i);
            let before = flows.len();
            one(flow, model, &at, fabric, &mut flows, context);
            entries.resize(flows.len(), i);
            if !is_flow_name(&flow.name) {
                context.error(
                    &at.key("name"),
                    format!("\"{}\" is not a name for a flow", flow.name),
                    "expected letters and digits, without quotes, commas or control characters",
                );
            } else if let Some(first) = names.insert(flow.name.clone(), i) {
                context.error(
                    &at.key("name"),
                    format!("the name \"{}\" is used twice", flow.name),
                    format!("it is also the name of flow number {}; names must differ", first + 1),
                );
            }
            if context.full() {
                break;
            }
            if flows.len() > MAX_FLOWS {
                context.error(
                    &at.key("from"),
                    format!("more than {MAX_FLOWS} flows"),
                    format!(
                        "this entry makes {} of them; expected at most {MAX_FLOWS} in all",
                        flows.len() - before
                    ),
                );
                break;
            }
        }
        let mut seen = BTreeSet::new();
        if let Some(twice) = flows.iter().find(|flow| !seen.insert(flow.name.as_str())) {
            let i = model.flows.iter().position(|flow| flow.name == twice.name).unwrap_or(0);
            context.error(
                &Place::of("flows").index(i).key("name"),
                format!("the name \"{}\" is used twice", twice.name),
                "another flow has a sender of this name",
            );
        }
        together::overloads(&flows, &entries, fabric, context);
        flows
    })
}

pub fn is_flow_name(name: &str) -> bool {
    name.chars()
        .all(|c| c == ' ' || c == '[' || c == ']' || fabric::topology::is_name(c.encode_utf8(&mut [0; 4])))
        && !name.trim().is_empty()
        && name.len() <= 200
}

/// Returns the pairs of senders and destinations of a flow.
fn pairs_of(
    flow: &Flow,
    model: &Model,
    at: &Place,
    fabric: &Fabric,
    context: &mut Context<'_>,
) -> Option<Vec<Pair>> {
    let ends = Ends { name: &flow.name, from: &flow.from, from_switches: true, to: &flow.to };
    receivers::lower(&ends, model.simulation.seed, at, fabric, context)
}

fn one(
    flow: &Flow,
    model: &Model,
    at: &Place,
    fabric: &Fabric,
    flows: &mut Vec<FlowSpec>,
    context: &mut Context<'_>,
) {
    let end = model.simulation.duration;
    let pairs = pairs_of(flow, model, at, fabric, context);
    let checked = context.clean(|context| {
        numbers(flow, model, at, context);
        unused::of_flow(flow, end, at, context);
        let sizes = files::frame_sizes(&flow.frame, &at.key("frame"), context);
        let arrivals = arrivals(flow, at, context);
        let transport = transports::lower(flow, sizes.as_ref(), end, at, context);
        times(flow, end, at, context);
        let script = script(flow, end, at, context);
        let priority = number(flow, model, at, context);
        let ports = flow.ports.as_ref().map(|keys| ports::lower(keys, &at.key("ports"), context));
        (sizes, arrivals, transport.map(Arc::new), script, (priority, ports))
    });
    let Some(pairs) = pairs else { return };
    reachable(&pairs, at, fabric, context);
    transports::check_pairs(flow, &pairs, at, fabric, context);
    let route = route(flow, &pairs, at, fabric, context);
    let Some((Some(sizes), arrivals, transport, script, (priority, ports))) = checked else { return };
    check_rate(flow, &pairs, at, fabric, context);
    check_counted(flow, &pairs, at, context);
    let Some(way) = way(route, flow, &pairs, at, fabric, context) else { return };
    let sizes_held = if let FrameSizes::Empirical(list) = &sizes { list.len() } else { 0 };
    let each = 1 + script.len() + sizes_held + if let Way::Along(nodes) = &way { nodes.len() } else { 0 };
    if !context.spend(each.saturating_mul(pairs.len()), &at.key("from")) {
        return;
    }
    let several = pairs.len() > 1;
    let drawn = |name: &str| engine::stream(model.simulation.seed, &format!("flow/{name}/ports")).next_u64();
    for Pair { from, to } in pairs {
        let name = if several { format!("{}[{}]", flow.name, fabric.name(from)) } else { flow.name.clone() };
        flows.push(FlowSpec {
            from,
            priority,
            source: SourceSpec {
                arrivals: arrivals.clone(),
                rate_basis: flow.rate_counts,
                sizes: sizes.clone(),
                destinations: to,
                start: flow.start,
                stop: flow.stop.filter(|&stop| stop < end),
                script: script.clone(),
                limit: flow.limit.value(),
                jitter: flow.jitter,
            },
            color: model.color(flow.color, flow.dscp),
            way: way.clone(),
            transport: transport.clone(),
            ports: ports.map(|ports| ports.or_drawn(drawn(&name))),
            tuples: Vec::new(),
            bypassable: flow.bypassable,
            name,
        });
    }
}

/// Returns the arrival process of a flow's frames.
fn arrivals(flow: &Flow, at: &Place, context: &mut Context<'_>) -> Arrivals {
    match &flow.source {
        SourceText::Pushed(arrivals) => {
            let wrong = arrivals.check();
            wrong.into_iter().for_each(|why| context.refuse(why, &at.key("source")));
            files::pictures(arrivals.clone(), &at.key("source"), context)
        }
        // Endpoints are given the full rate of the fabric, and schedule their sends themselves.
        SourceText::Answered(_) => Arrivals::Greedy,
    }
}

/// Maximum number of pairs of sender and destination whose paths are listed, if listing can be avoided.
const MOST_LISTED: usize = 1_000_000;

/// Returns the paths of a flow's frames. Returns `None`, and reports an error, if memory cannot hold them all.
fn way(
    route: Option<Vec<NodeId>>,
    flow: &Flow,
    pairs: &[Pair],
    at: &Place,
    fabric: &Fabric,
    context: &mut Context<'_>,
) -> Option<Way> {
    if let Some(nodes) = route {
        return Some(Way::Along(nodes));
    }
    let paths = pairs.iter().map(|pair| pair.to.count()).sum();
    let has_one_link = |pair: &Pair| fabric.is_host(pair.from) && fabric.neighbours(pair.from).len() == 1;
    if paths > MOST_LISTED && flow.source.application().is_none() && pairs.iter().all(has_one_link) {
        return Some(Way::ByDestination);
    }
    context.spend(paths, &at.key("to")).then_some(Way::Shortest)
}

/// Returns the priority of a flow's frames, or the number of their channel.
fn number(flow: &Flow, model: &Model, at: &Place, context: &mut Context<'_>) -> Priority {
    let of_flow = Priority(flow.priority as u8);
    let Some(name) = &flow.channel else { return of_flow };
    let at = at.key("channel");
    let settings = |control: &FlowControl| Some(control.credit()?.channels.clone());
    let lists: Vec<Option<ChannelList>> = model.all_flow_controls().filter_map(settings).collect();
    if lists.is_empty() {
        let help = "expected [flow_control.credit], or `priority`";
        context.error(&at, format!("channel \"{name}\", and no link has credits"), help);
        return of_flow;
    }
    if flow.priority != 0 {
        let message = format!("channel \"{name}\" and priority {}", flow.priority);
        context.error(&at, message, "expected one of the two: a priority names its channel");
    }
    // Errors in the list are reported at its own place.
    let Ok(channels) = Channels::new(&lists.into_iter().flatten().next().unwrap_or_default()) else {
        return of_flow;
    };
    channels.number_of(name).map(Priority).unwrap_or_else(|| {
        let help = format!("expected one that a priority has, of {}", channels.list());
        context.error(&at, format!("no frames take a channel \"{name}\""), help);
        of_flow
    })
}

/// Checks the priority of a flow or of transfers.
pub fn priority(priority: u64, at: &Place, context: &mut Context<'_>) {
    if priority > 7 {
        context.error(&at.key("priority"), format!("priority {priority}"), "expected 0 to 7 (IEEE 802.1Q)");
    }
}

/// Checks the DSCP of a flow or of transfers against their priority.
pub fn dscp(dscp: Option<u64>, priority: u64, model: &Model, at: &Place, context: &mut Context<'_>) {
    let Some(dscp) = dscp else { return };
    let classes = model.switch.maps.clone().unwrap_or_default().traffic_classes();
    let class = usize::try_from(dscp).ok().and_then(|dscp| classes.get(dscp)).copied();
    match class {
        None => context.error(&at.key("dscp"), format!("DSCP {dscp}"), "expected 0 to 63 (RFC 2474)"),
        Some(class) if priority <= 7 && u64::from(class) != priority => {
            let message =
                format!("priority {priority} beside DSCP {dscp}, which is of traffic class {class}");
            let help =
                "expected one of the two: frames have the class that the maps of [switch] give their DSCP";
            context.error(&at.key("priority"), message, help);
        }
        // A class selector (RFC 2474) implies its class.
        Some(class) if dscp % 8 != 0 && !model.maps_code_points() => {
            let message =
                format!("DSCP {dscp}, and no switch has a map of DSCP: its class is {class}, the DSCP / 8");
            let help = "most switches are configured differently: expected [switch.maps] with dscp_to_tc, like { 26 = 3, other = 0 }, or `priority` alone";
            context.warn(&at.key("dscp"), message, help);
        }
        Some(_) => {}
    }
}

fn numbers(flow: &Flow, model: &Model, at: &Place, context: &mut Context<'_>) {
    self::priority(flow.priority, at, context);
    dscp(flow.dscp, flow.priority, model, at, context);
    if let Some(dscp) = flow.dscp.filter(|_| flow.channel.is_some()) {
        let message = format!("DSCP {dscp} beside a channel");
        context.error(&at.key("dscp"), message, "expected one of the two");
    }
    if flow.bypassable && !model.all_flow_controls().any(|control| control.credit().is_some()) {
        context.error(
            &at.key("bypassable"),
            "frames that may be bypassed, and no link has credits",
            "expected [flow_control.credit] with channels \"B0\" to \"B7\", or no `bypassable`",
        );
    }
    if flow.limit.value() == Some(Bytes::new(0)) {
        context.error(
            &at.key("limit"),
            "a limit of 0: nothing would be sent",
            "expected a size above 0, or \"unlimited\"",
        );
    }
    if flow.jitter > Time::ZERO && flow.source.is_greedy() {
        context.error(
            &at.key("jitter"),
            "jitter of a greedy source",
            "a greedy source sends whenever the link is free; expected no jitter, or clock_tolerance for its host",
        );
    }
}

fn times(flow: &Flow, end: Time, at: &Place, context: &mut Context<'_>) {
    let stop = flow.stop.filter(|&stop| stop < end);
    if stop.is_some_and(|stop| stop <= flow.start) {
        context.error(
            &at.key("stop"),
            format!("stop {} is not after start {}", stop.unwrap_or_default(), flow.start),
            "expected start < stop",
        );
    } else if flow.start >= end {
        context.warn(
            &at.key("start"),
            format!("flow \"{}\" starts at {}, after the end of the simulation", flow.name, flow.start),
            format!("it sends nothing; the duration is {end}"),
        );
    }
}

fn script(flow: &Flow, end: Time, at: &Place, context: &mut Context<'_>) -> Vec<(Time, Change)> {
    let mut before = Time::ZERO;
    let mut changes = Vec::new();
    for (i, step) in flow.script.iter().enumerate() {
        let at = at.key("script").index(i);
        let time = step.at;
        if time < before {
            context.error(
                &at.key("at"),
                format!("at {time} comes before the step above at {before}"),
                "expected steps in order of time",
            );
        } else if time >= end {
            context.warn(
                &at.key("at"),
                format!("at {time} is after the end of the simulation"),
                format!("it has no effect; the duration is {end}"),
            );
        }
        before = time;
        let change = match (step.start, step.stop) {
            (true, false) => Change::Start(step.rate),
            (false, true) => Change::Stop,
            (both, _) => {
                let what = if both { "start and stop at once" } else { "neither start nor stop" };
                context.error(&at, format!("a step with {what}"), "expected start = true or stop = true");
                continue;
            }
        };
        if let Some(rate) = step.rate {
            let at_rate = at.key("rate");
            if step.stop {
                context.error(&at_rate, "a rate with stop", "a rate belongs to start = true");
            } else if flow.source.is_greedy() {
                context.error(
                    &at_rate,
                    "a rate for a greedy source",
                    "a greedy source takes all that the link gives; expected no rate",
                );
            } else {
                // The source of each sender is checked at this rate.
                let SourceText::Pushed(arrivals) = &flow.source else { continue };
                let known = arrivals.check();
                let wrong = arrivals.clone().at_rate(rate).check();
                for why in wrong.into_iter().filter(|why| !known.contains(why)) {
                    context.error(&at_rate, why.message, why.help);
                }
            }
        }
        changes.push((time, change));
    }
    changes
}

/// Checks the rate of the source against the links of its senders.
fn check_rate(flow: &Flow, pairs: &[Pair], at: &Place, fabric: &Fabric, context: &mut Context<'_>) {
    let (script_at, at, name) = (at.key("script"), at.key("source"), flow.source.name());
    let (rate, sources, at_most) = match &flow.source {
        SourceText::Pushed(arrivals) => {
            let at_switch = pairs.iter().find(|pair| !fabric.is_host(pair.from));
            if let Some((pair, why)) = at_switch.zip(arrivals.needs_host()) {
                let message = format!("a {name} source at the switch \"{}\"", fabric.name(pair.from));
                return context.error(&at.key(name), message, why);
            }
            (arrivals.rate(), arrivals.sources(), arrivals.at_most_the_link())
        }
        SourceText::Answered(application) => (application.rate(), 1, None),
    };
    let Some((key, rate)) = rate else { return };
    let steps = flow.script.iter().enumerate();
    let stepped = steps.filter_map(|(i, step)| Some((script_at.index(i).key("rate"), step.rate?)));
    for (at, rate) in [(at.key(name).key(key), rate)].into_iter().chain(stepped) {
        let rate = if sources > 1 { BitRate::from_bps(rate.bps().saturating_mul(sources)) } else { rate };
        let slow = pairs.iter().find_map(|pair| {
            let link =
                fabric.rate[pair.from.at()].filter(|&link| fabric.is_host(pair.from) && rate > link)?;
            Some((pair, link))
        });
        let Some((pair, link)) = slow else { continue };
        let message =
            format!("the source sends {rate}, but the link of \"{}\" has {link}", fabric.name(pair.from));
        match at_most {
            Some(why) => context.error(&at, message, format!("expected at most \"{link}\": {why}")),
            None => context.warn(&at, message, "frames will wait in the host"),
        }
    }
}

/// Maximum number of pairs of stream and destination that are counted individually: 33 MB of counters.
const MOST_COUNTED: u64 = 1 << 19;

/// Checks that the table with all streams at all destinations is small enough to be useful.
fn check_counted(flow: &Flow, pairs: &[Pair], at: &Place, context: &mut Context<'_>) {
    let SourceText::Pushed(arrivals) = &flow.source else { return };
    let Some((key, streams)) = arrivals.counted() else { return };
    let counted = streams * pairs.iter().map(|pair| pair.to.count() as u64).sum::<u64>();
    if counted > MOST_COUNTED {
        let message = format!("{counted} streams and destinations to be counted");
        let help = format!("expected at most {MOST_COUNTED} of an entry, or `counted = false`");
        context.error(&at.key("source").key(arrivals.name()).key(key), message, help);
    }
}

pub fn reachable(pairs: &[Pair], at: &Place, fabric: &Fabric, context: &mut Context<'_>) {
    let unreached = |pair: &Pair| {
        let unreached = |to: &&NodeId| !fabric.reaches(pair.from, **to);
        match &pair.to {
            Destinations::Fixed(to) => Some(to).filter(unreached),
            Destinations::Uniform(list) | Destinations::Multicast(list) => list.iter().find(unreached),
            Destinations::Others(others) => others.hosts.iter().find(unreached),
            Destinations::HotSpot { hot, others, .. } => {
                Some(hot).filter(unreached).or(others.hosts.iter().find(unreached))
            }
        }
        .copied()
    };
    if fabric.is_one_piece() {
        return;
    }
    if let Some((from, to)) = pairs.iter().find_map(|pair| Some((pair.from, unreached(pair)?))) {
        let message = format!("\"{}\" cannot be reached from \"{}\"", fabric.name(to), fabric.name(from));
        context.error(&at.key("to"), message, "expected a way through switches: hosts do not forward");
    }
}

fn route(
    flow: &Flow,
    pairs: &[Pair],
    at: &Place,
    fabric: &Fabric,
    context: &mut Context<'_>,
) -> Option<Vec<NodeId>> {
    let names = flow.route.as_ref()?;
    let at = at.key("route");
    let mut nodes = Vec::new();
    for (i, name) in names.iter().enumerate() {
        if context.full() {
            return None;
        }
        match fabric.find(name) {
            Some(node) => nodes.push(node),
            None => context.error(&at.index(i), format!("unknown node \"{name}\""), fabric.hint(name, None)),
        }
    }
    if nodes.len() < names.len() {
        return None;
    }
    let Some(&last) = nodes.last() else {
        context.error(
            &at,
            "an empty route",
            "expected the names of the nodes to pass, the last is the destination",
        );
        return None;
    };
    if let Some(pair) = pairs.iter().find(|pair| !matches!(pair.to, Destinations::Fixed(to) if to == last)) {
        let message = format!("the route ends at \"{}\"", fabric.name(last));
        let help = match pair.to {
            Destinations::Fixed(to) => {
                format!("expected its last node to be the destination \"{}\"", fabric.name(to))
            }
            _ => "expected a flow with one destination".to_string(),
        };
        context.error(&at.index(names.len() - 1), message, help);
        return None;
    }
    pairs.iter().all(|pair| is_way(pair, &nodes, &at, fabric, context)).then_some(nodes)
}

/// Checks that consecutive nodes of a route are linked, starting with the sender, and that it passes no host.
fn is_way(pair: &Pair, nodes: &[NodeId], at: &Place, fabric: &Fabric, context: &mut Context<'_>) -> bool {
    let skip = usize::from(nodes.first() == Some(&pair.from));
    let mut from = pair.from;
    for (i, &node) in nodes.iter().enumerate().skip(skip) {
        if !fabric.linked(from, node) {
            let message = format!("no link between \"{}\" and \"{}\"", fabric.name(from), fabric.name(node));
            context.error(&at.index(i), message, "expected each node to be linked to the one before");
            return false;
        }
        if i + 1 < nodes.len() && fabric.is_host(node) {
            let message = format!("\"{}\" is a host in the middle of the route", fabric.name(node));
            context.error(&at.index(i), message, "expected switches: hosts do not forward");
            return false;
        }
        from = node;
    }
    true
}
