//! Checks the values of a scenario in combination, and converts the filled model to a [`Spec`].
//!
//! The checks collect as many independent errors as they can. A later stage runs only if the stages that it depends on
//! found no error, so that each mistake is reported only once.

mod carriers;
mod control_frame;
mod dcbx;
mod dcqcn;
mod domains;
mod faults;
mod fcoe;
mod files;
mod findings;
mod flow_control;
mod flows;
mod guards;
mod jobs;
mod links;
mod managers;
mod maps;
mod message_files;
mod names;
mod path_choice;
mod placements;
mod ports;
mod probes;
mod queue_pairs;
mod queueing;
mod receive;
mod receivers;
mod reduction;
mod scheduler;
mod schedules;
mod stations;
mod telemetry;
mod together;
mod topology;
mod transfer_files;
mod transfers;
mod transports;
mod trimming;
mod unused;

use crate::diagnostics::{Diagnostic, Diagnostics, Severity, Source};
use crate::effective;
use crate::model::Model;
use crate::place::{Alias, Place};
use crate::read::MAX_ERRORS;
use crate::{Files, Scenario};
use ::flow_control::FlowControl;
use fabric::spec::{FaultSpec, FlowSpec, JobSpec, NodeSpec, ProbeSpec, Spec, TransferWait};
use std::path::PathBuf;
use toml::de::DeTable;
use units::{Bytes, Time};

/// Collects the diagnostics, and holds the data that several checks need.
pub struct Context<'a> {
    source: Source<'a>,
    document: &'a DeTable<'a>,
    files: Files<'a>,
    findings: Vec<Diagnostic>,
    errors: usize,
    /// Names of single nodes that patterns were expanded to, with these patterns.
    aliases: Vec<Alias>,
    /// Flow controls that are checked when all flows are known, and their places in the text.
    later: Vec<(FlowControl, Place)>,
    /// Remaining budget of destinations, hops and steps of flows, which bounds memory.
    budget: usize,
    /// Units at switches that perform reductions for jobs.
    units: reduction::Units,
}

/// Maximum number of destinations, hops and steps of all flows together. More would exceed the memory of most machines.
const BUDGET: usize = 50_000_000;

impl<'a> Context<'a> {
    /// Creates a context without diagnostics for `source`.
    pub fn new(source: Source<'a>, document: &'a DeTable<'a>, files: Files<'a>) -> Context<'a> {
        Context {
            source,
            document,
            files,
            findings: Vec::new(),
            errors: 0,
            aliases: Vec::new(),
            later: Vec::new(),
            budget: BUDGET,
            units: reduction::Units::default(),
        }
    }
    fn error(&mut self, place: &Place, message: impl Into<String>, help: impl Into<String>) {
        self.report(Severity::Error, place, message.into(), help.into());
    }
    /// Returns the path of a file that the scenario names, or an error if the scenario may not read it.
    fn path(&self, named: &str) -> Result<PathBuf, String> {
        files::within(self.files, named)
    }
    /// Describes the accepted file names, for messages.
    fn expects(&self, what: &str) -> String {
        let folder = self.files.base_dir.filter(|dir| !dir.as_os_str().is_empty());
        let folder = folder.map_or(".".into(), |dir| dir.display().to_string());
        let outside = if self.files.anywhere {
            ""
        } else {
            "; files outside it are read with --allow-files alone (penstock.allow_files in Python)"
        };
        format!("expected {what}, relative to {folder}{outside}")
    }
    /// Returns true if there are so many errors that further checks are pointless.
    fn full(&self) -> bool {
        self.errors >= MAX_ERRORS
    }
    /// Deducts `cost` from the budget of flows. Reports an error if too little is left.
    fn spend(&mut self, cost: usize, place: &Place) -> bool {
        let left = self.budget.checked_sub(cost);
        self.budget = left.unwrap_or(0);
        if left.is_none() {
            self.error(
                place,
                format!("the flows up to here have more than {BUDGET} destinations, hops, steps and sizes"),
                "expected fewer senders or destinations; a permutation has one destination a sender",
            );
        }
        left.is_some()
    }
    /// Returns the names that patterns were expanded to.
    fn aliases(&self) -> &[Alias] {
        &self.aliases
    }
    fn alias(&mut self, alias: Alias) {
        self.aliases.push(alias);
    }
    fn warn(&mut self, place: &Place, message: impl Into<String>, help: impl Into<String>) {
        self.report(Severity::Warning, place, message.into(), help.into());
    }
    /// Returns the first of these places that occurs in the text.
    fn first_written(&self, places: &[Place]) -> Option<Place> {
        places.iter().find(|place| place.written(&self.aliases).is_written(self.document)).cloned()
    }
    /// Stores a flow control for checks that need all flows.
    fn check_later(&mut self, flow_control: &FlowControl, at: &Place) {
        self.later.push((flow_control.clone(), at.clone()));
    }
    /// Reports an error of a mechanism in its keys, which are at `place`.
    fn refuse(&mut self, why: keys::Remark, place: &Place) {
        self.error(&place.along(&why.path), why.message, why.help);
    }
    /// Reports the remarks of a mechanism on keys without effect. Each is reported once, where the key is written, and
    /// not for every node that inherits it.
    fn unused(&mut self, found: Vec<keys::Remark>, place: &Place) {
        for why in found {
            if self.first_written(&[place.along(&why.path)]).is_some() {
                self.beware(why, place);
            }
        }
    }
    /// Reports a warning of a mechanism.
    fn beware(&mut self, why: keys::Remark, place: &Place) {
        self.warn(&place.along(&why.path), why.message, why.help);
    }
    fn report(&mut self, severity: Severity, place: &Place, message: String, help: String) {
        self.errors += usize::from(severity == Severity::Error);
        if self.findings.iter().filter(|one| one.severity == severity).count() < MAX_ERRORS {
            let span = place.written(&self.aliases).span(self.document);
            self.findings.push(self.source.at(severity, span, message, help));
        }
    }
    /// Runs `check`, and returns its value if it reported no error.
    fn clean<T>(&mut self, check: impl FnOnce(&mut Self) -> T) -> Option<T> {
        let before = self.errors;
        let value = check(self);
        (self.errors == before).then_some(value)
    }
}

/// Checks a model in which all defaults are filled in.
pub fn check(mut model: Model, mut context: Context<'_>) -> Result<Scenario, Diagnostics> {
    let lowered = lower(&model, &mut context);
    let mut findings = context.findings;
    findings.sort_by_key(|one| (one.line, one.column));
    let Some((mut spec, levels)) = lowered.filter(|_| context.errors == 0) else {
        findings.retain(|one| one.severity == Severity::Error);
        return Err(Diagnostics(findings));
    };
    effective::fill_bins(&mut model, &mut spec);
    let notes = effective::notes(&model);
    let name = model.simulation.name.clone().unwrap_or_default();
    let memory_limit = model.simulation.memory_limit.value();
    Ok(Scenario {
        name,
        spec,
        memory_limit,
        levels,
        effective: model,
        warnings: findings,
        notes,
        default_phys: Vec::new(),
    })
}

/// Converts all flows, with those of transfers and jobs last, and returns them with the dependencies between transfers,
/// and the jobs.
fn traffic(
    model: &Model,
    fabric: &topology::Fabric,
    context: &mut Context<'_>,
) -> Option<(Vec<FlowSpec>, Vec<TransferWait>, Vec<JobSpec>)> {
    let flows = flows::lower(model, fabric, context);
    let first = flows.as_ref().map_or(0, Vec::len);
    let transfers = transfers::lower(model, fabric, first, context);
    let before = first + transfers.as_ref().map_or(0, |(flows, _)| flows.len());
    let (of_jobs, jobs) = jobs::lower(model, fabric, before, context)?;
    let (transfers, waits) = transfers?;
    Some((flows?.into_iter().chain(transfers).chain(of_jobs).collect(), waits, jobs))
}

fn lower(model: &Model, context: &mut Context<'_>) -> Option<(Spec, Vec<u8>)> {
    let probes = simulation(model, context);
    let fabric = topology::lower(&model.topology, context);
    let expanded = fabric.as_ref().map(|fabric| names::expand_stations(model, fabric, context));
    let model = expanded.as_deref().unwrap_or(model);
    let stations =
        fabric.as_ref().and_then(|fabric| context.clean(|context| stations::lower(model, fabric, context)));
    let fabric = fabric?;
    let traffic = traffic(model, &fabric, context);
    let faults = faults::lower(model, &fabric, context);
    let (mut nodes, (flows, waits, jobs)) = (stations?, traffic?);
    let mut links = fabric.links();
    links::lower(model, &fabric, &mut links, context);
    context.units.attach(&fabric, &mut nodes, &mut links);
    let domains = domains::lower(model, &nodes, &fabric, context);
    let negotiated = dcbx::lower(model, &mut nodes, &links, context);
    transfers::check_lossless(model, &flows, context);
    flow_control::warn(&nodes, &flows, context);
    let used = fabric::spec::priorities_of(&nodes, &flows);
    scheduler::check(model, &nodes, &links, (&flows, used), context);
    scheduler::check_changes(&faults, &nodes, &links, &flows, context);
    let (entries, faults): (Vec<usize>, Vec<FaultSpec>) = faults.into_iter().unzip();
    let guards = guards::lower(model, context);
    let mut spec = Spec {
        seed: model.simulation.seed,
        path_seed: model.simulation.path_seed.value(model.simulation.seed),
        duration: model.simulation.duration,
        warmup: model.simulation.warmup,
        nodes,
        links,
        flows,
        probes,
        on_lossless_drop: model.simulation.on_lossless_drop,
        faults,
        guards,
        negotiated,
        domains,
        waits,
        jobs,
    };
    if context.errors == 0 {
        spec.distinguish_paths();
    }
    probes::names(model, &spec, context);
    let needs = fabric::pause_needs(&spec);
    let own = |node: &NodeSpec, key: &str| findings::has_own(model, node, key);
    findings::report(fabric::audit(&spec, &needs, &own), model, &spec, &entries, context);
    if context.errors == 0 {
        let found = fabric::audit_flows(&spec, model.topology.is_layered(), &own);
        findings::report(found, model, &spec, &entries, context);
        links::warn(model, &spec, context);
        path_choice::check(model, &spec, context);
        managers::check(model, &spec, &needs, context);
        let of_flows =
            [transports::check_losses, queue_pairs::check, fcoe::check, telemetry::check, dcqcn::check];
        of_flows.into_iter().for_each(|check| check(model, &spec, context));
        domains::check(model, &spec, context);
        unused::check(model, &spec, &needs, &entries, context);
    }
    let levels = fabric.levels().into_iter().chain(vec![0; context.units.count()]);
    Some((spec, levels.collect()))
}

/// Minimum memory limit. A lower one cannot hold any useful fabric.
const LEAST_MEMORY: Bytes = Bytes::new(1 << 20);

fn simulation(model: &Model, context: &mut Context<'_>) -> ProbeSpec {
    let simulation = &model.simulation;
    let at = Place::of("simulation");
    let duration = simulation.duration;
    if duration == Time::ZERO {
        context.error(
            &at.key("duration"),
            "duration is 0: nothing would be simulated",
            "expected a time above 0, like \"10 ms\"",
        );
    } else if simulation.warmup >= duration {
        context.error(
            &at.key("warmup"),
            format!(
                "warmup {} is not below duration {duration}: nothing would be measured",
                simulation.warmup
            ),
            format!("expected a time below \"{duration}\""),
        );
    }
    if simulation.name.as_ref().is_some_and(|name| name.trim().is_empty()) {
        context.error(
            &at.key("name"),
            "the name is empty",
            "expected a name, or no key for the name of the file",
        );
    }
    if simulation.name.as_ref().is_some_and(|name| name.len() > 255 || name.chars().any(char::is_control)) {
        context.error(
            &at.key("name"),
            "this is not a name for a scenario",
            "expected at most 255 bytes, without control characters",
        );
    }
    if let Some(limit) = simulation.memory_limit.value().filter(|&limit| limit < LEAST_MEMORY) {
        context.error(
            &at.key("memory_limit"),
            format!("memory_limit {limit} is too small: no run fits into it"),
            format!("expected at least \"{LEAST_MEMORY}\", like \"8 GiB\", or \"available\""),
        );
    }
    probes::lower(model, context)
}
