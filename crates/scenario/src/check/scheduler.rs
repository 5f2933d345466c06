//! Schedulers: from the keys of a scenario to specifications, and what is wrong with them at a port.
//!
//! The schedulers check themselves, at each kind of port that a setting applies to, with its number of queues, the
//! rate of its link and the frames of all flows. What they say is reported at the key that it is about.

use super::Context;
use crate::model::{self, Bucket, Model, RateOrShare, Scheduler, SchedulerTable, TableEntry, Weights};
use crate::place::Place;
use crate::quantity::SizeText;
use fabric::spec::{FlowSpec, LinkSpec, NodeSpec, Role};
use frame::ClassMap;
use scheduling::{
    Configuration, DTableParams, DrrAwcParams, DrrParams, Entry, EtsClass, EtsParams, Metric, MinBwParams,
    Mix, PortFacts, Representative, ScfqCaParams, ScfqParams, SchedulerSpec, Selection, ShapedParams,
    ShaperSpec, Share, TopBin, VcTableParams, WeightRule, Wf2qPlusParams, WfqParams, WrrParams,
};
use std::collections::BTreeSet;

/// More than fit are more than any scheduler accepts.
fn count(number: u64) -> u32 {
    u32::try_from(number).unwrap_or(u32::MAX)
}
fn bytes(size: SizeText) -> u32 {
    count(size.0.get())
}
fn counts(numbers: &[u64]) -> Vec<u32> {
    numbers.iter().map(|&number| count(number)).collect()
}

/// The specification of a scheduler, as far as it can be told without the ports.
pub fn lower(
    scheduler: Option<Scheduler>,
    classes: ClassMap,
    at: &Place,
    context: &mut Context<'_>,
) -> SchedulerSpec {
    let scheduler = scheduler.unwrap_or(Scheduler::STRICT);
    if scheduler == Scheduler::FIFO {
        if classes.classes() > 1 {
            context.error(
                at,
                format!("\"fifo\" serves one queue, but there are {}", classes.classes()),
                "use queues = \"shared\", or scheduler = \"strict_priority\"",
            );
        }
        return SchedulerSpec::Fifo;
    }
    match scheduler.table() {
        None => SchedulerSpec::StrictPriority,
        Some(table) => Lower { queues: classes.classes() as u32, at, context }.table(&table),
    }
}

struct Lower<'l, 'a> {
    queues: u32,
    at: &'l Place,
    context: &'l mut Context<'a>,
}

impl Lower<'_, '_> {
    fn table(&mut self, table: &SchedulerTable) -> SchedulerSpec {
        match table {
            SchedulerTable::Wrr(keys) => {
                let weights = self.weights("wrr", &keys.weights);
                SchedulerSpec::Wrr(WrrParams { weights, interleaved: keys.interleaved == Some(true) })
            }
            SchedulerTable::Drr(keys) => SchedulerSpec::Drr(DrrParams {
                weights: self.weights("drr", &keys.weights),
                base_quantum: keys.quantum.and_then(|quantum| quantum.value()).map(|size| count(size.get())),
                quanta: match &keys.quanta {
                    Some(quanta) => {
                        self.not_empty(quanta.is_empty(), "drr", "quanta");
                        quanta.iter().map(|&quantum| bytes(quantum)).collect()
                    }
                    None => Vec::new(),
                },
                charge: keys.charge(),
            }),
            SchedulerTable::DrrAwc(keys) => self.drr_awc(keys),
            SchedulerTable::Wfq(keys) => SchedulerSpec::Wfq(WfqParams {
                weights: self.weights("wfq", &keys.weights),
                charge: keys.charge(),
            }),
            SchedulerTable::Wf2qPlus(keys) => SchedulerSpec::Wf2qPlus(Wf2qPlusParams {
                weights: self.weights("wf2q_plus", &keys.weights),
                charge: keys.charge(),
            }),
            SchedulerTable::Scfq(keys) => SchedulerSpec::Scfq(ScfqParams {
                weights: self.weights("scfq", &keys.weights),
                charge: keys.charge(),
            }),
            SchedulerTable::ScfqCa(keys) => SchedulerSpec::ScfqCa(ScfqCaParams {
                weights: self.weights("scfq_ca", &keys.weights),
                charge: keys.charge(),
            }),
            SchedulerTable::VcTable(keys) => {
                SchedulerSpec::VcTable(VcTableParams { entries: counts(&keys.entries) })
            }
            SchedulerTable::DTable(keys) => {
                let entry = |entry: &TableEntry| match *entry {
                    TableEntry::Class(class) => {
                        Entry { queue: count(class), weight: keys.weight.map_or(0, count) }
                    }
                    TableEntry::Own(own) => Entry { queue: count(own.class), weight: count(own.weight) },
                };
                SchedulerSpec::DTable(DTableParams {
                    entries: keys.entries.iter().map(entry).collect(),
                    credit: keys.credit.map_or(0, bytes),
                    charge: keys.charge(),
                })
            }
            SchedulerTable::MinBw(keys) => self.min_bw(keys),
            SchedulerTable::Ets(keys) => {
                let at = self.at.key("ets").key("classes");
                let class = |(index, class): (usize, &model::EtsClassKeys)| EtsClass {
                    queues: counts(&class.queues),
                    selection: self.selection(class, &at.index(index)),
                };
                let classes = keys.classes.iter().enumerate().map(class).collect();
                SchedulerSpec::Ets(EtsParams { classes, charge: keys.charge() })
            }
            SchedulerTable::Shaper(keys) => self.shaper(keys),
        }
    }

    /// An empty list of weights is what the schedulers call equal weights.
    fn weights(&mut self, table: &str, weights: &Option<Weights>) -> Vec<u32> {
        match weights {
            Some(Weights::Each(list)) => {
                self.not_empty(list.is_empty(), table, "weights");
                counts(list)
            }
            _ => Vec::new(),
        }
    }
    fn not_empty(&mut self, empty: bool, table: &str, key: &str) {
        if empty {
            let help = format!("expected {} entries, one for each traffic class", self.queues);
            self.context.error(&self.at.key(table).key(key), format!("{key} is empty"), help);
        }
    }

    fn drr_awc(&mut self, keys: &model::DrrAwcKeys) -> SchedulerSpec {
        let metric = match keys.metric {
            Some(model::Metric::Frame) => Metric::Frame,
            _ => Metric::Payload,
        };
        let rule = match keys.formula {
            Some(model::Formula::Analytic) => WeightRule::Analytic { metric },
            Some(model::Formula::Learned) => WeightRule::Learned { metric },
            _ => WeightRule::Published {
                top_bin: match keys.top_bin {
                    Some(model::TopBin::One) => TopBin::One,
                    _ => TopBin::Formula,
                },
                representative: match keys.representative {
                    Some(model::Representative::Middle) => Representative::Middle,
                    _ => Representative::UpperEdge,
                },
            },
        };
        let published = matches!(rule, WeightRule::Published { .. });
        for (key, given, only) in [
            ("metric", published && keys.metric.is_some(), "\"analytic\" and \"learned\""),
            ("top_bin", !published && keys.top_bin.is_some(), "\"published\""),
            ("representative", !published && keys.representative.is_some(), "\"published\""),
        ] {
            if given {
                self.context.error(
                    &self.at.key("drr_awc").key(key),
                    format!("{key} has no meaning for this formula"),
                    format!("expected it with formula {only} only"),
                );
            }
        }
        SchedulerSpec::DrrAwc(DrrAwcParams {
            rule,
            interval: keys.interval.map_or(units::Time::ZERO, |interval| interval.0),
            mix: match keys.mix {
                Some(model::Mix::Bytes) => Mix::Bytes,
                _ => Mix::Frames,
            },
            weights: self.weights("drr_awc", &keys.weights),
            charge: keys.charge(),
        })
    }

    fn min_bw(&mut self, keys: &model::MinBwKeys) -> SchedulerSpec {
        let given = self.weights("min_bw", &keys.weights);
        let highest = self.queues - 1;
        let without = given.iter().position(|&weight| weight == 0).map(|class| class as u32);
        let management = keys.management.map_or(without.unwrap_or(highest), count);
        let equal = || (0..self.queues).map(|class| u32::from(class != management)).collect();
        let at = self.at.key("min_bw").key("rate");
        SchedulerSpec::MinBw(MinBwParams {
            management,
            weights: if given.is_empty() { equal() } else { given },
            rate: keys.rate.as_ref().map_or(Share::PartsPerMillion(0), |rate| self.share(rate, &at)),
            depth: keys.depth.map_or(0, bytes),
            use_idle_link: keys.use_idle_link != Some(false),
            charge: keys.charge(),
        })
    }

    fn selection(&mut self, class: &model::EtsClassKeys, at: &Place) -> Selection {
        match (class.percent, class.strict, &class.idle_slope) {
            (Some(percent), None, None) => Selection::Percent(count(percent)),
            (None, Some(true), None) => Selection::Strict,
            (None, None, Some(slope)) => {
                Selection::CreditBased { idle_slope: self.share(slope, &at.key("idle_slope")) }
            }
            _ => {
                self.context.error(
                    at,
                    "a class of ets is selected in exactly one way",
                    "expected one of percent = 50, strict = true and idle_slope = \"1 Gb/s\"",
                );
                Selection::Strict
            }
        }
    }

    fn share(&mut self, rate: &RateOrShare, at: &Place) -> Share {
        match rate {
            RateOrShare::Rate(rate) => Share::Rate(rate.0),
            RateOrShare::Share(part) => {
                let parts = (part.share * 1e6).round();
                if !(1.0..=1e6).contains(&parts) {
                    self.context.error(
                        &at.key("share"),
                        format!("share {} is no share of the link", part.share),
                        "expected 0.000001 to 1",
                    );
                }
                Share::PartsPerMillion(parts as u32)
            }
        }
    }

    fn token(&mut self, keys: &model::TokenKeys, at: &Place) -> ShaperSpec {
        let rate = self.share(&keys.rate, &at.key("token_bucket").key("rate"));
        ShaperSpec::TokenBucket { rate, depth: bytes(keys.depth) }
    }
    fn leaky(&mut self, keys: &model::LeakyKeys, at: &Place) -> ShaperSpec {
        ShaperSpec::LeakyBucket { rate: self.share(&keys.rate, &at.key("leaky_bucket").key("rate")) }
    }

    fn shaper(&mut self, keys: &model::ShaperKeys) -> SchedulerSpec {
        let at = self.at.key("shaper");
        let behind = keys.scheduler.clone().map(Scheduler::from).unwrap_or(Scheduler::STRICT);
        let scheduler = if behind == Scheduler::FIFO {
            SchedulerSpec::Fifo
        } else {
            let inner = at.key("scheduler");
            let mut lower = Lower { queues: self.queues, at: &inner, context: self.context };
            behind.table().map_or(SchedulerSpec::StrictPriority, |table| lower.table(&table))
        };
        let port = keys.port.as_ref().map(|bucket| match bucket {
            Bucket::TokenBucket(keys) => self.token(keys, &at.key("port")),
            Bucket::LeakyBucket(keys) => self.leaky(keys, &at.key("port")),
        });
        if port.is_none() && keys.classes.is_empty() {
            self.context.error(&at, "a shaper that shapes nothing", "expected port, classes or both");
        }
        let mut queues = vec![None; if keys.classes.is_empty() { 0 } else { self.queues as usize }];
        for (index, class) in keys.classes.iter().enumerate() {
            let at = at.key("classes").index(index);
            let shaper = match (&class.token_bucket, &class.leaky_bucket) {
                (Some(keys), None) => self.token(keys, &at),
                (None, Some(keys)) => self.leaky(keys, &at),
                _ => {
                    let help = "expected one of token_bucket and leaky_bucket";
                    self.context.error(&at, "a class is shaped in exactly one way", help);
                    continue;
                }
            };
            let (number, at) = (class.class, at.key("class"));
            match usize::try_from(number).ok().and_then(|number| queues.get_mut(number)) {
                None => self.context.error(
                    &at,
                    format!("class {number}"),
                    format!("expected a traffic class, 0 to {}", self.queues - 1),
                ),
                Some(Some(_)) => self.context.error(
                    &at,
                    format!("class {number} has two shapers"),
                    "expected each class once",
                ),
                Some(free) => *free = Some(shaper),
            }
        }
        let charge = keys.charge();
        SchedulerSpec::Shaped(ShapedParams { scheduler: Box::new(scheduler), port, queues, charge })
    }
}

/// Where the setting of a station stands: its own, or that of all.
fn place<'m>(model: &'m Model, node: &'m NodeSpec) -> (&'static str, Option<&'m str>) {
    // A station with queues of its own is where a scheduler of all does not fit.
    let own = |scheduler: bool, queues: bool| (scheduler || queues).then_some(node.name.as_str());
    match node.role {
        Role::Host(_) => {
            let settings = model.hosts.get(&node.name);
            let own = settings.and_then(|it| own(it.scheduler.is_some(), it.queues.is_some()));
            (if own.is_some() { "hosts" } else { "host" }, own)
        }
        Role::Switch(_) => {
            let settings = model.switches.get(&node.name);
            let own = settings.and_then(|it| own(it.scheduler.is_some(), it.queues.is_some()));
            (if own.is_some() { "switches" } else { "switch" }, own)
        }
    }
}

/// Asks each scheduler about each kind of port that it serves.
pub fn check(
    model: &Model,
    nodes: &[NodeSpec],
    links: &[LinkSpec],
    flows: &[FlowSpec],
    context: &mut Context<'_>,
) {
    let bounds = flows.iter().map(|flow| flow.frame_bounds());
    let (smallest, largest) = bounds
        .reduce(|(a, b), (c, d)| (a.min(c), b.max(d)))
        .unwrap_or((frame::MIN_FRAME_BYTES, frame::MAX_TAGGED_FRAME_BYTES));
    let mut seen = BTreeSet::new();
    let mut said = BTreeSet::new();
    for (link, end) in links.iter().flat_map(|link| [(link, link.a), (link, link.b)]) {
        let node = &nodes[end.at()];
        let (classes, scheduler) = match &node.role {
            Role::Host(host) => (host.classes, &host.scheduler),
            Role::Switch(switch) => (switch.classes, &switch.scheduler),
        };
        let (table, own) = place(model, node);
        if !seen.insert((table, own, link.rate, link.overhead)) {
            continue;
        }
        let facts = PortFacts {
            queues: classes.classes() as u32,
            rate: link.rate,
            overhead: u32::from(link.overhead),
            smallest_frame: u32::from(smallest),
            largest_frame: u32::from(largest),
        };
        let at = own.map_or(Place::of(table), |name| Place::of(table).key(name)).key("scheduler");
        for finding in merged(findings(scheduler, &facts, &at)) {
            if said.insert((table, own, finding.text.clone())) {
                finding.report(context);
            }
        }
    }
}

struct Finding {
    at: Place,
    text: String,
    is_error: bool,
    /// How many more say the same of other queues.
    more: usize,
}

/// One finding a place.
fn merged(findings: Vec<Finding>) -> Vec<Finding> {
    let mut kept: Vec<Finding> = Vec::new();
    for finding in findings {
        match kept.iter_mut().find(|one| one.at == finding.at && one.is_error == finding.is_error) {
            Some(first) => first.more += 1,
            None => kept.push(finding),
        }
    }
    kept
}

impl Finding {
    fn report(&self, context: &mut Context<'_>) {
        let (message, help) = match self.text.rsplit_once("; ") {
            Some((message, help)) => (message, help),
            None => (self.text.as_str(), ""),
        };
        match (self.is_error, help.is_empty()) {
            (true, true) => context.error(&self.at, message, "expected another value of this key"),
            (true, false) => context.error(&self.at, message, help),
            (false, true) if self.more > 0 => {
                context.warn(&self.at, message, format!("the same holds for {} more", self.more));
            }
            (false, true) => context.warn(&self.at, message, "it runs, but probably not as meant"),
            (false, false) => context.warn(&self.at, message, help),
        }
    }
}

fn findings(spec: &SchedulerSpec, facts: &PortFacts, at: &Place) -> Vec<Finding> {
    let at = at.key(spec.name());
    // What is wrong with the scheduler behind a shaper is reported there.
    let behind = match spec {
        SchedulerSpec::Shaped(shaped) => findings(&shaped.scheduler, facts, &at.key("scheduler")),
        _ => Vec::new(),
    };
    if behind.iter().any(|one| one.is_error) {
        return behind;
    }
    // The quanta of all queues may come from one key.
    let one_quantum = matches!(spec, SchedulerSpec::Drr(drr) if drr.quanta.is_empty());
    let place = |text: &str| match one_quantum && text.starts_with("the quantum of queue") {
        true => at.key("quantum"),
        false => guilty(text, &at),
    };
    let finding = |text: String, is_error| Finding { at: place(&text), text, is_error, more: 0 };
    match spec.check(facts) {
        Err(text) => vec![finding(text, true)],
        Ok(_) if matches!(spec, SchedulerSpec::Shaped(_)) => behind,
        Ok(warnings) => warnings.into_iter().map(|text| finding(text, false)).collect(),
    }
}

/// Beginnings of what schedulers say, and the key that they say it about; # is an index of that list.
const ABOUT: &[(&str, &str)] = &[
    ("the weight of queue #", "weights"),
    ("the quantum of queue #", "quanta"),
    ("entry # of the table", "entries"),
    ("traffic class # claims", "classes"),
    ("traffic class # has", "classes"),
    ("the idle slope of traffic class #", "classes"),
    ("the bucket of the management", "depth"),
    ("the rate of the shaper of the management", "rate"),
    ("the rate of the shaper of the port", "port"),
    ("the bucket of the port", "port"),
    ("the rate of the shaper of queue", "classes"),
    ("the bucket of queue", "classes"),
    ("the management channel is", "management"),
    ("the base quantum", "quantum"),
    ("the interval", "interval"),
    ("the table has", "entries"),
    ("no entry of the table", "entries"),
    ("the percentages", "classes"),
    ("the idle slopes", "classes"),
    ("traffic classes", "classes"),
    ("quanta are given", "quanta"),
    ("a credit is", "credit"),
    ("the charge a frame", "per_frame"),
    ("the memory cell", "cell"),
];

/// The place of the key that a scheduler speaks of; its table if that is not known.
fn guilty(text: &str, at: &Place) -> Place {
    for &(beginning, key) in ABOUT {
        match beginning.split_once('#') {
            None if text.starts_with(beginning) => return at.key(key),
            None => {}
            Some((before, after)) => {
                let Some(rest) = text.strip_prefix(before) else { continue };
                let digits = rest.find(|c: char| !c.is_ascii_digit()).unwrap_or(rest.len());
                if let Ok(index) = rest[..digits].parse()
                    && rest[digits..].starts_with(after)
                {
                    return at.key(key).index(index);
                }
            }
        }
    }
    let listed = [
        (" entries of \"weight\"", "weights"),
        (" entries of \"quantum\"", "quanta"),
        (" traffic classes", "classes"),
        ("belongs to no traffic class", "classes"),
    ];
    match listed.iter().find(|(words, _)| text.contains(words)) {
        Some((_, key)) => at.key(key),
        None => at.clone(),
    }
}
