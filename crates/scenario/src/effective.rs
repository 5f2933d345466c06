//! The effective scenario, in which every default is filled in, as a model and as TOML.
//!
//! Filling in is idempotent, and only filled models are checked. A scenario and its effective form are therefore always
//! equivalent.

use crate::model::*;
use fabric::choice::PathChoice;
use fabric::spec::{Forwarding, Queueing, Spec, WhenFull};
use flow_control::phy::Phy;
use flow_control::{FlowControl, Llr};
use frame::PRIORITIES;
use scheduling::{Configuration, SchedulerSpec};
use std::path::Path;
use units::{Bytes, ClockTolerance, Or, Time};

/// Default number of frames in a list, for the key `most`.
const FRAMES: u64 = 100_000;

/// A comment in the effective scenario, above the table `[table]`.
#[derive(Clone, Debug, PartialEq)]
pub struct Note {
    table: String,
    text: String,
}

/// Fills in every default. `file` names the simulation if the scenario does not. Returns the default PHYs of links, by
/// rate.
pub fn fill(model: &mut Model, file: &str) -> Vec<&'static Phy> {
    let simulation = &mut model.simulation;
    simulation.name.get_or_insert_with(|| stem(file));
    let duration = simulation.duration;
    if let ProbesText::Chosen(list) = &mut model.probes {
        for probe in list {
            probe.which.get_or_insert(WhichText::One("all".into()));
            if probe.what == WhatText::Frames {
                probe.max_rows.get_or_insert(FRAMES);
                probe.one_in.get_or_insert(1);
                probe.start.get_or_insert(Time::ZERO);
            }
        }
    }
    let phys = model.topology.fill();
    fill_priorities(model);
    let priorities = model.used_priorities();
    model.flow_control.complete(&priorities);
    fill_links(model);
    fill_stations(model, &priorities);
    for flow in &mut model.flows {
        flow.stop.get_or_insert(duration);
        if let SourceText::Answered(application) = &mut flow.source {
            application.fill();
        }
    }
    let header = HeaderText::Size(Bytes::new(u64::from(frame::HEADER_BYTES)));
    for entry in &mut model.transfers {
        entry.stop.get_or_insert(duration);
        if entry.over == CarrierText::Frames {
            entry.header.get_or_insert(header);
        }
    }
    for job in &mut model.jobs {
        job.workload.fill();
        if job.over == CarrierText::Frames {
            job.header.get_or_insert(header);
        }
    }
    for fault in &mut model.faults {
        fill_fault(fault, duration);
    }
    phys
}

/// Fills in the default bin width, which depends on links and flows, in a checked model and its specification.
pub fn fill_bins(model: &mut Model, spec: &mut Spec) {
    let bin = fabric::default_bin(spec);
    match (&mut model.probes, &mut spec.probes.chosen) {
        (ProbesText::All(probes), _) => {
            spec.probes.bin = probes.bin.get_or_insert(Or::Value(bin)).value();
        }
        (ProbesText::Chosen(list), Some(chosen)) => {
            for (probe, chosen) in list.iter_mut().zip(chosen).filter(|(probe, _)| probe.what.has_bins()) {
                chosen.every = Some(*probe.every.get_or_insert(bin));
            }
        }
        (ProbesText::Chosen(_), None) => {}
    }
}

/// Fills in the defaults of link-level retry, for settings of all links and of single ones.
fn fill_links(model: &mut Model) {
    model.link.llr.iter_mut().for_each(Llr::fill);
    let outer = matches!(model.link.llr, Some(Llr::On(_)));
    model.links.values_mut().filter(|_| !outer).filter_map(|own| own.llr.as_mut()).for_each(Llr::fill);
}

/// Fills in the priority of frames with a DSCP: the traffic class that switches map it to.
fn fill_priorities(model: &mut Model) {
    let classes = model.switch.maps.clone().unwrap_or_default().traffic_classes();
    let flows = model.flows.iter_mut().filter(|flow| flow.channel.is_none());
    let flows = flows.map(|flow| (flow.dscp, &mut flow.priority));
    let transfers = model.transfers.iter_mut().map(|entry| (entry.dscp, &mut entry.priority));
    let jobs = model.jobs.iter_mut().map(|job| (job.dscp, &mut job.priority));
    for (dscp, priority) in flows.chain(transfers).chain(jobs).filter(|(_, priority)| **priority == 0) {
        let class = dscp.and_then(|dscp| classes.get(usize::try_from(dscp).ok()?));
        *priority = class.map_or(0, |&class| class.into());
    }
}

/// Fills in the defaults of a fault. Only outages have a reaction of stations, and only probabilities have a beginning
/// and an end.
fn fill_fault(fault: &mut Fault, duration: Time) {
    if fault.bit_error_rate.or(fault.pause_loss).or(fault.frame_loss).is_some() {
        fault.from.get_or_insert(Time::ZERO);
        fault.until.get_or_insert(duration);
    }
    if fault.down || fault.mean_time_between.is_some() {
        fault.waiting.get_or_insert(WaitingFrames::Lost);
    }
    if (fault.down || fault.mean_time_between.is_some() || fault.restart.is_some())
        && *fault.reroute.get_or_insert(false)
    {
        fault.after.get_or_insert(Time::from_us(50));
    }
}

/// Fills in the defaults of a receiving host.
pub fn fill_receive(receive: &mut Receive) {
    receive.time_per_frame.get_or_insert(Time::ZERO);
    receive.rate.get_or_insert(Or::word());
    receive.buffer.get_or_insert(Or::Value(Bytes::new(256 * 1024)));
    receive.cores.get_or_insert(1);
    receive.interrupt_delay.get_or_insert(Time::ZERO);
    receive.interrupt_time.get_or_insert(Time::ZERO);
    receive.script.get_or_insert_default();
}

/// Fills in the defaults of a sending host.
pub fn fill_send(send: &mut Send) {
    send.time_per_frame.get_or_insert(Time::ZERO);
    send.rate.get_or_insert(Or::word());
    send.script.get_or_insert_default();
}

fn stem(file: &str) -> String {
    let stem = Path::new(file).file_stem().map(|stem| stem.to_string_lossy().trim().to_string());
    stem.filter(|stem| !stem.is_empty()).unwrap_or_else(|| "scenario".to_string())
}

/// Returns the default scheduler for these queues.
fn scheduler(queues: &Queues) -> SchedulerSpec {
    SchedulerSpec::default_for(if *queues == Queues::Named(QueuesWord::Shared) { 1 } else { PRIORITIES })
}

/// Returns the default settings of switches.
pub fn switch_defaults() -> SwitchSettings {
    let mut settings = SwitchSettings::default();
    fill_switch(&mut settings);
    settings
}

fn fill_switch(all: &mut SwitchSettings) {
    all.forwarding.get_or_insert(Forwarding::StoreAndForward);
    all.latency.get_or_insert(Time::ZERO);
    all.queueing.get_or_insert(Queueing::Output);
    all.path_choice.get_or_insert(PathChoice::HASH);
    let queues = all.queues.get_or_insert(Queues::Named(QueuesWord::PerPriority));
    all.scheduler.get_or_insert(scheduler(queues));
    let buffer = all.buffer.get_or_insert_default();
    buffer.total.get_or_insert(Or::word());
    buffer.port.get_or_insert(Or::word());
    buffer.class.get_or_insert(Or::word());
    buffer.queue.get_or_insert(Or::word());
    all.clock_tolerance.get_or_insert(ClockTolerance::EXACT);
}

fn fill_stations(model: &mut Model, priorities: &[u32]) {
    // A scheduler chosen for the queues of all stations does not suit the queues of one. If neither of them names a
    // scheduler, that station gets its own default.
    let scheduled = model.host.scheduler.is_some();
    for own in model.hosts.values_mut().filter(|own| !scheduled && own.scheduler.is_none()) {
        own.scheduler = own.queues.as_ref().map(scheduler);
    }
    let scheduled = model.switch.scheduler.is_some();
    for own in model.switches.values_mut().filter(|own| !scheduled && own.scheduler.is_none()) {
        own.scheduler = own.queues.as_ref().map(scheduler);
    }
    let host = &mut model.host;
    let queues = host.queues.get_or_insert(Queues::Named(QueuesWord::PerPriority));
    host.scheduler.get_or_insert(scheduler(queues));
    host.queue_limit.get_or_insert(Or::word());
    host.when_full.get_or_insert(WhenFull::Block);
    host.clock_tolerance.get_or_insert(ClockTolerance::EXACT);
    if let Some(receive) = &mut host.receive {
        fill_receive(receive);
    } else {
        model.hosts.values_mut().filter_map(|own| own.receive.as_mut()).for_each(fill_receive);
    }
    if let Some(send) = &mut host.send {
        fill_send(send);
    } else {
        model.hosts.values_mut().filter_map(|own| own.send.as_mut()).for_each(fill_send);
    }
    fill_switch(&mut model.switch);
    let hosts = [&mut model.host].into_iter().chain(model.hosts.values_mut()).map(|it| &mut it.scheduler);
    let switches = [&mut model.switch].into_iter().chain(model.switches.values_mut());
    hosts.chain(switches.map(|it| &mut it.scheduler)).flatten().for_each(SchedulerSpec::complete);
    let outer = &model.flow_control;
    let fill_own = |outer: &FlowControl, own: &mut Option<FlowControl>| {
        if let Some(own) = own.as_mut().filter(|own| !own.inherits(outer)) {
            own.complete(priorities);
        }
    };
    fill_own(outer, &mut model.host.flow_control);
    fill_own(outer, &mut model.switch.flow_control);
    let outer_host = model.host.flow_control.as_ref().unwrap_or(outer);
    model.hosts.values_mut().for_each(|own| fill_own(outer_host, &mut own.flow_control));
    let outer_switch = model.switch.flow_control.as_ref().unwrap_or(outer);
    model.switches.values_mut().for_each(|own| fill_own(outer_switch, &mut own.flow_control));
}

/// Returns the comments on values in the effective scenario.
pub fn notes(model: &Model) -> Vec<Note> {
    let mut notes = mrc_notes(model);
    if let Some(kind) = model.flow_control.name() {
        let note = |text: &str| Note { table: format!("flow_control.{kind}"), text: text.to_string() };
        notes.extend(model.flow_control.notes().into_iter().map(note));
    }
    notes
}

/// Returns notes on values of MRC that are not published.
fn mrc_notes(model: &Model) -> Vec<Note> {
    let is_mrc = |over: &CarrierText| matches!(over, CarrierText::Mrc(_));
    let tables = [
        ("transfers", model.transfers.iter().any(|entry| is_mrc(&entry.over))),
        ("jobs", model.jobs.iter().any(|job| is_mrc(&job.over))),
    ];
    let text = "MRC: the defaults of entropies, reserve, probe_interval, probe_answers, ack_every, reorder_time and timeout are our choice; none is public.";
    let used = tables.into_iter().filter(|&(_, used)| used);
    used.map(|(table, _)| Note { table: table.to_string(), text: text.to_string() }).collect()
}

/// Formats the model as TOML. Tables that readers regard as one unit have a header, others are inline.
pub fn to_toml(model: &Model, notes: &[Note]) -> String {
    let mut writer = Writer { text: String::new(), notes };
    if let Ok(serde_json::Value::Object(root)) = serde_json::to_value(model) {
        writer.table("", &root);
    }
    writer.text
}

type Object = serde_json::Map<String, serde_json::Value>;

struct Writer<'n> {
    text: String,
    notes: &'n [Note],
}

impl Writer<'_> {
    fn table(&mut self, path: &str, table: &Object) {
        let is_section = |key: &str, value: &serde_json::Value| match value {
            serde_json::Value::Object(_) => {
                !["flows", "transfers", "jobs", "faults"].iter().any(|list| path.starts_with(list))
            }
            serde_json::Value::Array(list) => {
                matches!(
                    (path, key),
                    ("", "flows" | "transfers" | "jobs" | "faults") | ("topology.explicit", "links")
                ) && !list.is_empty()
            }
            _ => false,
        };
        for (key, value) in table.iter().filter(|(key, value)| !is_section(key, value)) {
            self.text += &format!("{} = {}\n", bare_or_quoted(key), inline(value));
        }
        for (key, value) in table.iter().filter(|(key, value)| is_section(key, value)) {
            let path =
                if path.is_empty() { bare_or_quoted(key) } else { format!("{path}.{}", bare_or_quoted(key)) };
            match value {
                serde_json::Value::Object(inner) => {
                    // A table with only subtables needs no header of its own.
                    if inner.is_empty() || inner.values().any(|value| !value.is_object()) {
                        self.header(&format!("[{path}]"), &path);
                    }
                    self.table(&path, inner);
                }
                serde_json::Value::Array(list) => {
                    for inner in list.iter().filter_map(serde_json::Value::as_object) {
                        self.header(&format!("[[{path}]]"), &path);
                        self.table(&path, inner);
                    }
                }
                _ => {}
            }
        }
    }

    fn header(&mut self, header: &str, path: &str) {
        if !self.text.is_empty() {
            self.text += "\n";
        }
        self.text += &format!("{header}\n");
        for note in self.notes.iter().filter(|note| note.table == path) {
            self.text += &format!("# {}\n", note.text);
        }
    }
}

fn bare_or_quoted(key: &str) -> String {
    let bare = !key.is_empty() && key.chars().all(|c| c.is_ascii_alphanumeric() || c == '_' || c == '-');
    if bare { key.to_string() } else { quoted(key) }
}

/// Formats a basic string. JSON escapes are valid in TOML, but TOML does not allow a bare DEL.
fn quoted(text: &str) -> String {
    serde_json::Value::from(text).to_string().replace('\u{7f}', "\\u007f")
}

fn inline(value: &serde_json::Value) -> String {
    match value {
        serde_json::Value::String(text) => quoted(text),
        serde_json::Value::Array(list) => {
            format!("[{}]", list.iter().map(inline).collect::<Vec<_>>().join(", "))
        }
        serde_json::Value::Object(table) => {
            let entry = |(key, value): (&String, &serde_json::Value)| {
                format!("{} = {}", bare_or_quoted(key), inline(value))
            };
            format!("{{ {} }}", table.iter().map(entry).collect::<Vec<_>>().join(", "))
        }
        other => other.to_string(),
    }
}
