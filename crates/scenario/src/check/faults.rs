//! `[[faults]]`: converts each entry to one or two faults of the fabric.

use super::Context;
use super::control_frame;
use super::topology::Fabric;
use crate::model::{Fault, FaultLink, LinkWord, Model, WaitingFrames};
use crate::place::Place;
use fabric::spec::{FaultSpec, Reaction};
use fabric::topology::{NodeRole, check_rate, data_rate};
use frame::NodeId;
use std::collections::BTreeMap;
use std::sync::Arc;
use units::{BitRate, Time};

/// Maximum number of random outages. More are probably a mistake in the unit.
const MAX_OUTAGES: u64 = 1_000_000;

/// Kinds of faults: the key that selects each, and the other keys that it accepts.
const KINDS: [(&str, &[&str]); 10] = [
    ("down", &["link", "index", "at", "duration", "reroute", "after", "waiting"]),
    ("up", &["link", "index", "at"]),
    ("rate", &["link", "index", "towards", "at"]),
    ("scheduler", &["link", "index", "towards", "at"]),
    ("bit_error_rate", &["link", "index", "from", "until"]),
    ("pause_loss", &["link", "index", "from", "until"]),
    ("frame_loss", &["link", "index", "towards", "from", "until"]),
    ("control_frame", &["link", "index", "towards", "at"]),
    ("restart", &["switch", "at", "reroute", "after"]),
    ("mean_time_between", &["link", "index", "duration", "reroute", "after", "waiting"]),
];

/// Returns the keys given in an entry, in the order of their declaration.
fn keys(fault: &Fault) -> Vec<String> {
    let table = serde_json::to_value(fault).ok();
    table.and_then(|table| Some(table.as_object()?.keys().cloned().collect())).unwrap_or_default()
}

/// Converts all entries to faults, each with the number of its entry. Invalid entries yield none.
pub fn lower(model: &Model, fabric: &Fabric, context: &mut Context<'_>) -> Vec<(usize, FaultSpec)> {
    let end = model.simulation.duration;
    let mut faults = Vec::new();
    let mut order = Order::default();
    for (i, fault) in model.faults.iter().enumerate() {
        if context.full() {
            break;
        }
        let at = Place::of("faults").index(i);
        let made = context.clean(|context| Entry { fault, end, at: &at, fabric }.lower(context)).flatten();
        for made in made.into_iter().flatten() {
            order.add(&made, i, fabric);
            faults.push((i, made));
        }
    }
    order.check(end, fabric, context);
    faults
}

/// An entry of `faults`, with its place.
#[derive(Clone, Copy)]
struct Entry<'e> {
    fault: &'e Fault,
    end: Time,
    at: &'e Place,
    fabric: &'e Fabric,
}

impl Entry<'_> {
    fn lower(self, context: &mut Context<'_>) -> Option<Vec<FaultSpec>> {
        let there = keys(self.fault);
        let kinds: Vec<_> = KINDS.iter().filter(|(kind, _)| there.iter().any(|key| key == kind)).collect();
        let names = KINDS.map(|(kind, _)| kind).join(", ");
        let &[&(kind, own)] = kinds.as_slice() else {
            let (place, message) = match kinds.last() {
                None => (self.at.clone(), "a fault without a kind".to_string()),
                Some((last, _)) => (self.at.key(last), format!("`{last}` beside `{}`", kinds[0].0)),
            };
            context.error(&place, message, format!("expected exactly one of {names}"));
            return None;
        };
        for key in there.iter().filter(|key| *key != kind && !own.contains(&key.as_str())) {
            let expected = format!("with `{kind}` go {}", own.join(", "));
            context.error(&self.at.key(key), format!("`{key}` does not belong to `{kind}`"), expected);
        }
        let when = own.contains(&"at").then(|| self.required(self.fault.at, "at", ("2 ms", kind), context));
        let reaction = Reaction {
            keep: self.fault.waiting == Some(WaitingFrames::Kept),
            reroute: reroute(self.fault, self.at, context),
        };
        match kind {
            "restart" => self.restart(when.flatten(), reaction, context),
            "mean_time_between" => self.outages(kind, reaction, context),
            "control_frame" => self.control_frame(when.flatten(), context),
            "scheduler" => self.scheduler(when.flatten(), context),
            "bit_error_rate" | "pause_loss" | "frame_loss" => self.losses(kind, context),
            _ => self.change(when.flatten(), reaction, context),
        }
    }

    fn restart(
        self,
        when: Option<Time>,
        reaction: Reaction,
        context: &mut Context<'_>,
    ) -> Option<Vec<FaultSpec>> {
        let node = switch(self.fault, self.at, self.fabric, context);
        let lasts = positive(self.fault.restart, "restart", self.at, context);
        let (node, when, lasts) = (node?, when?, lasts?);
        Some(vec![FaultSpec::Restart { node, at: when, lasts, reroute: reaction.reroute }])
    }

    fn outages(self, kind: &str, reaction: Reaction, context: &mut Context<'_>) -> Option<Vec<FaultSpec>> {
        let links = self.links(Some(LinkWord::Any), context);
        let mean = positive(self.fault.mean_time_between, kind, self.at, context);
        let lasts = match self.fault.duration {
            Some(_) => positive(self.fault.duration, "duration", self.at, context),
            None => self.required(None, "duration", ("1 ms", kind), context),
        };
        let (links, mean, lasts) = (links?, mean?, lasts?);
        let outages = self.end.ps() / mean.ps().saturating_add(lasts.ps());
        if outages > MAX_OUTAGES {
            context.error(
                &self.at.key(kind),
                format!("about {outages} outages before the end at {}", self.end),
                format!("expected at most {MAX_OUTAGES}: a longer time between them"),
            );
        }
        Some(vec![FaultSpec::Random { links, mean_time_between: mean, lasts, reaction }])
    }

    fn losses(self, kind: &str, context: &mut Context<'_>) -> Option<Vec<FaultSpec>> {
        let Entry { fault, end, at, fabric } = self;
        let links = self.links(Some(LinkWord::All), context);
        let p = fault.bit_error_rate.or(fault.pause_loss).or(fault.frame_loss).unwrap_or(0.0);
        if !(0.0..=1.0).contains(&p) {
            let message = format!("{kind} {p} is not a probability");
            context.error(&at.key(kind), message, "expected 0 to 1, like 1e-9");
        }
        let towards = towards(fault, links.as_deref(), at, fabric, context);
        let (from, until) = (fault.from.unwrap_or(Time::ZERO), fault.until.unwrap_or(end));
        if from >= until {
            let message = format!("from {from} is not before until {until}");
            context.error(&at.key("from"), message, "expected from < until");
        } else if from >= end {
            late(&at.key("from"), "from", from, end, context);
        }
        let make = |link| match kind {
            "pause_loss" => FaultSpec::PauseLoss { link, from, until, probability: p },
            "frame_loss" => FaultSpec::FrameLoss { link, towards, from, until, probability: p },
            _ => FaultSpec::BitErrors { link, from, until, rate: p },
        };
        Some(links?.into_iter().map(make).collect())
    }

    /// Returns the link, and the end that `towards` names. `help` is the reason why `towards` is required.
    fn directed(self, help: &str, context: &mut Context<'_>) -> (Option<u32>, Option<NodeId>) {
        let Entry { fault, at, fabric, .. } = self;
        let links = self.links(None, context);
        if fault.towards.is_none() {
            context.error(at, "missing key `towards`", help);
        }
        let towards = towards(fault, links.as_deref(), at, fabric, context);
        (links.and_then(|links| links.first().copied()), towards)
    }

    /// Converts a change of a port's scheduler. It is checked against the port later, when all stations are known.
    fn scheduler(self, when: Option<Time>, context: &mut Context<'_>) -> Option<Vec<FaultSpec>> {
        let help = "`scheduler` needs the name of the end of the link that the frames of its port go to";
        let (link, towards) = self.directed(help, context);
        let scheduler = Arc::new(self.fault.scheduler.clone()?);
        let (link, towards, at) = (link?, towards?, when?);
        Some(vec![FaultSpec::Scheduler { link, towards, at, scheduler }])
    }

    /// Converts a frame that one end of a link receives.
    fn control_frame(self, when: Option<Time>, context: &mut Context<'_>) -> Option<Vec<FaultSpec>> {
        let Entry { fault, at, .. } = self;
        let help = "`control_frame` needs the name of the end of the link where it comes in";
        let (link, towards) = self.directed(help, context);
        let content = match control_frame::read(fault.control_frame.as_deref()?, towards) {
            Ok(content) => Some(content),
            Err((message, help)) => {
                context.error(&at.key("control_frame"), message, help);
                None
            }
        };
        let (link, towards, at, content) = (link?, towards?, when?, content?);
        Some(vec![FaultSpec::ControlFrame { link, towards, at, content }])
    }

    /// Converts a link that goes down, comes up, or changes its rate.
    fn change(
        self,
        when: Option<Time>,
        reaction: Reaction,
        context: &mut Context<'_>,
    ) -> Option<Vec<FaultSpec>> {
        let Entry { fault, at, fabric, .. } = self;
        let link = self.links(None, context).and_then(|links| links.first().copied());
        let line_code = link.and_then(|link| fabric.line_code(link));
        if let Some(rate) = fault.rate {
            let at = at.key("rate");
            match check_rate(rate, line_code) {
                Ok(warnings) => warnings.into_iter().for_each(|why| context.beware(why, &at)),
                Err(why) => context.refuse(why, &at),
            }
        }
        let (link, when) = (link?, when?);
        if let Some(rate) = fault.rate {
            let rate = data_rate(rate, line_code);
            let towards = towards(fault, Some(&[link]), at, fabric, context);
            return Some(vec![FaultSpec::LinkRate { link, towards, at: when, rate }]);
        }
        if fault.up {
            return Some(vec![FaultSpec::LinkUp { link, at: when }]);
        }
        let mut changes = vec![FaultSpec::LinkDown { link, at: when, reaction }];
        if fault.duration.is_some() {
            let back = when.saturating_add(positive(fault.duration, "duration", at, context)?);
            changes.push(FaultSpec::LinkUp { link, at: back });
        }
        Some(changes)
    }

    /// Returns a time that this kind of fault requires, or reports its absence with an example.
    fn required(
        self,
        time: Option<Time>,
        key: &str,
        (example, kind): (&str, &str),
        context: &mut Context<'_>,
    ) -> Option<Time> {
        match time {
            None => {
                context.error(
                    self.at,
                    format!("missing key `{key}`"),
                    format!("`{kind}` needs it, like {key} = \"{example}\""),
                );
            }
            Some(time) if time >= self.end => late(&self.at.key(key), key, time, self.end, context),
            Some(_) => {}
        }
        time
    }

    /// Returns the links of an entry. `word` is the word that selects all links.
    fn links(self, word: Option<LinkWord>, context: &mut Context<'_>) -> Option<Vec<u32>> {
        let Entry { fault, at, fabric, .. } = self;
        let place = at.key("link");
        let expected = match word {
            None => "expected the names of its two ends, like [\"h0\", \"sw\"]",
            Some(LinkWord::Any) => "expected the names of its two ends, like [\"h0\", \"sw\"], or \"any\"",
            Some(LinkWord::All) => "expected the names of its two ends, like [\"h0\", \"sw\"], or \"all\"",
        };
        let names = match &fault.link {
            None => {
                context.error(at, "missing key `link`", expected);
                return None;
            }
            Some(FaultLink::Word(given)) => {
                if word != Some(*given) {
                    context.error(&place, "this word does not select a link here", expected);
                    return None;
                }
                if fault.index.is_some() {
                    context.error(
                        &at.key("index"),
                        "an index without the names of a link",
                        "expected no index",
                    );
                }
                return Some((0..fabric.graph.links.len() as u32).collect());
            }
            Some(FaultLink::Between(names)) => names,
        };
        self.between(names, expected, context).map(|link| vec![link])
    }

    /// Returns the link between these two nodes. If there are several, the index in the entry selects one.
    fn between(self, names: &[String], expected: &str, context: &mut Context<'_>) -> Option<u32> {
        let Entry { fault, at, fabric, .. } = self;
        let place = at.key("link");
        let [a, b] = names else {
            context.error(&place, format!("{} names", names.len()), expected);
            return None;
        };
        let mut ends = Vec::new();
        for (i, name) in [a, b].into_iter().enumerate() {
            match fabric.find(name) {
                Some(node) => ends.push(node),
                None => {
                    context.error(
                        &place.index(i),
                        format!("unknown node \"{name}\""),
                        fabric.hint(name, None),
                    );
                }
            }
        }
        let &[from, to] = ends.as_slice() else { return None };
        let parallel: Vec<u32> = (0..)
            .zip(&fabric.graph.links)
            .filter(|(_, link)| (link.a, link.b) == (from, to) || (link.b, link.a) == (from, to))
            .map(|(i, _)| i)
            .collect();
        let index = fault.index.unwrap_or(0);
        let found = usize::try_from(index).ok().and_then(|index| parallel.get(index)).copied();
        if parallel.is_empty() {
            context.error(&place, format!("there is no link between \"{a}\" and \"{b}\""), expected);
        } else if found.is_none() {
            context.error(
                &at.key("index"),
                format!("index {index}, but there are {} links between \"{a}\" and \"{b}\"", parallel.len()),
                format!("expected 0 to {}", parallel.len() - 1),
            );
        }
        found
    }
}

fn late(place: &Place, key: &str, time: Time, end: Time, context: &mut Context<'_>) {
    context.warn(
        place,
        format!("{key} {time} is after the end of the simulation"),
        format!("it has no effect; the duration is {end}"),
    );
}

fn positive(time: Option<Time>, key: &str, at: &Place, context: &mut Context<'_>) -> Option<Time> {
    if time.is_some_and(|time| time == Time::ZERO) {
        context.error(&at.key(key), format!("{key} is 0"), "expected a time above 0");
        return None;
    }
    time
}

fn reroute(fault: &Fault, at: &Place, context: &mut Context<'_>) -> Option<Time> {
    let wanted = fault.reroute == Some(true);
    if fault.after.is_some() && !wanted {
        context.error(
            &at.key("after"),
            "`after` without rerouting",
            "expected reroute = true, or no `after`",
        );
    }
    fault.after.filter(|_| wanted)
}

fn switch(fault: &Fault, at: &Place, fabric: &Fabric, context: &mut Context<'_>) -> Option<NodeId> {
    let Some(name) = &fault.switch else {
        context.error(at, "missing key `switch`", "`restart` needs the name of the switch that restarts");
        return None;
    };
    let node = fabric.find(name);
    match node {
        None => context.error(
            &at.key("switch"),
            format!("unknown switch \"{name}\""),
            fabric.hint(name, Some(NodeRole::Switch)),
        ),
        Some(node) if fabric.is_host(node) => {
            context.error(
                &at.key("switch"),
                format!("\"{name}\" is not a switch"),
                "it is a host: hosts stop by receive.script",
            );
        }
        Some(_) => {}
    }
    node.filter(|&node| !fabric.is_host(node))
}

/// Returns the end towards which frames are lost. `links` are those of the entry, if known.
fn towards(
    fault: &Fault,
    links: Option<&[u32]>,
    at: &Place,
    fabric: &Fabric,
    context: &mut Context<'_>,
) -> Option<NodeId> {
    let (name, place) = (fault.towards.as_ref()?, at.key("towards"));
    let (&[link], Some(FaultLink::Between(_))) = (links?, &fault.link) else {
        context.error(
            &place,
            "`towards` without the names of a link",
            "expected link = [\"h0\", \"sw\"] or the like, or no `towards`",
        );
        return None;
    };
    let link = &fabric.graph.links[link as usize];
    let end = [link.a, link.b].into_iter().find(|&end| fabric.name(end) == name);
    if end.is_none() {
        let ends = format!("expected \"{}\" or \"{}\"", fabric.name(link.a), fabric.name(link.b));
        context.error(&place, format!("\"{name}\" is not an end of the link"), ends);
    }
    end
}

/// Scripted changes of each link: entry and time of each.
#[derive(Default)]
struct Order {
    /// By link: time, true for down or false for up, and number of the entry.
    switched: BTreeMap<u32, Vec<(Time, bool, usize)>>,
    /// By link, direction and time: number of the entry, and the new rate.
    rates: BTreeMap<(u32, usize, Time), (usize, BitRate)>,
    twice: Vec<(Time, usize, usize)>,
}

impl Order {
    fn add(&mut self, fault: &FaultSpec, entry: usize, fabric: &Fabric) {
        match *fault {
            FaultSpec::LinkDown { link, at, .. } => {
                self.switched.entry(link).or_default().push((at, true, entry))
            }
            FaultSpec::LinkUp { link, at } => self.switched.entry(link).or_default().push((at, false, entry)),
            FaultSpec::LinkRate { link, towards, at, rate } => {
                // Direction 0 is that in which the first end of the link sends.
                let of_first = fabric.graph.links[link as usize].a;
                let changed =
                    |&direction: &usize| towards.is_none_or(|end| usize::from(end == of_first) == direction);
                for direction in (0..2).filter(changed) {
                    let known = self.rates.insert((link, direction, at), (entry, rate));
                    let pair = known.map(|(first, _)| (at, first, entry));
                    self.twice.extend(pair.filter(|pair| self.twice.last() != Some(pair)));
                }
            }
            _ => {}
        }
    }

    /// Checks that a link goes down only while it is up, and up only while it is down, and that each new rate differs
    /// from the current one.
    fn check(mut self, end: Time, fabric: &Fabric, context: &mut Context<'_>) {
        let place = |entry: usize| Place::of("faults").index(entry);
        for (at, first, second) in self.twice {
            context.error(
                &place(second).key("at"),
                format!("the link changes its rate twice at {at}"),
                format!("fault number {} does it too", first + 1),
            );
        }
        let mut rates = BTreeMap::new();
        // For each entry, true if it changes any direction.
        let mut changes: BTreeMap<usize, bool> = BTreeMap::new();
        for (&(link, direction, _), &(entry, rate)) in &self.rates {
            let initial = fabric.graph.links[link as usize].rates[direction];
            let before = rates.insert((link, direction), rate).unwrap_or(initial);
            *changes.entry(entry).or_default() |= rate != before;
        }
        for (&entry, _) in changes.iter().filter(|(_, changes)| !**changes) {
            let help = "it has no effect: expected another rate";
            context.warn(&place(entry).key("rate"), "the link has this rate already", help);
        }
        for (link, changes) in &mut self.switched {
            changes.sort_by_key(|&(at, down, entry)| (at, down, entry));
            let ends = &fabric.graph.links[*link as usize];
            let name =
                format!("the link between \"{}\" and \"{}\"", fabric.name(ends.a), fabric.name(ends.b));
            let mut is_down: Option<usize> = None;
            for &(at, down, entry) in changes.iter().filter(|&&(at, ..)| at < end) {
                match (down, is_down) {
                    (true, Some(first)) => context.error(
                        &place(entry),
                        format!("{name} goes down at {at}, but is down already"),
                        format!("by fault number {}; expected `up` or `duration` before", first + 1),
                    ),
                    (false, None) => context.error(
                        &place(entry),
                        format!("{name} comes up at {at}, but is not down"),
                        "expected a fault with `down` before it",
                    ),
                    _ => {}
                }
                is_down = down.then_some(entry);
            }
        }
    }
}
