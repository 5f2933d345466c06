//! Scenarios as typed values: one struct per table, one field per key.
//!
//! Reading is strict: an unknown key, a bare number in place of a quantity with a unit, and an unknown word are errors.
//! [`crate::check`] checks the values in combination. The doc comment of each field is its description in the JSON
//! Schema: meaning, unit, range, default, and source of the default.

mod faults;
mod flows;
mod jobs;
mod links;
mod maps;
mod ports;
mod probes;
mod stations;
mod transfers;

pub use faults::*;
pub use flows::*;
pub use jobs::*;
pub use links::*;
pub use maps::*;
pub use ports::*;
pub use probes::*;
pub use stations::*;
pub use transfers::*;

use ::jobs::Precision;
use fabric::spec::{OnDeadlock, OnLosslessDrop, Skip};
use fabric::topology::Topology;
use flow_control::FlowControl;
use flow_control::watchdog::WatchdogSpec;
use queueing::Color;
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use std::collections::BTreeMap;
use units::{Available, Bytes, Or, Time};

/// A Penstock scenario: a fabric, its traffic and its mechanisms.
#[derive(Clone, Debug, PartialEq, Serialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct Model {
    /// Duration, warm-up, seeds and guards of the simulation.
    pub simulation: Simulation,
    /// Recorded time series, distributions and lists, in addition to the totals. Default: all time series and pauses.
    #[serde(default)]
    pub probes: ProbesText,
    /// Topology of the fabric: one table, named after its kind.
    pub topology: Topology,
    /// Settings of all hosts.
    #[serde(default)]
    pub host: HostSettings,
    /// Settings of single hosts, by name, range ("h0..h7") or pattern ("leaf0/*"). Keys that are not set here have the value in `host`.
    #[serde(default, skip_serializing_if = "BTreeMap::is_empty")]
    pub hosts: BTreeMap<String, HostSettings>,
    /// Settings of all switches.
    #[serde(default)]
    pub switch: SwitchSettings,
    /// Settings of single switches, by name, range or pattern ("leaf*"). Keys that are not set here have the value in `switch`.
    #[serde(default, skip_serializing_if = "BTreeMap::is_empty")]
    pub switches: BTreeMap<String, SwitchSettings>,
    /// Settings of all links.
    #[serde(default, skip_serializing_if = "LinkSettings::is_empty")]
    pub link: LinkSettings,
    /// Settings of single links, by the names of both ends ("h0<->sw"), also as ranges or patterns ("leaf*<->spine*"). Keys that are not set here have the value in `link`.
    #[serde(default, skip_serializing_if = "BTreeMap::is_empty")]
    pub links: BTreeMap<String, NamedLinkSettings>,
    /// Link-level flow control of all stations without a `flow_control` of their own: a mechanism by name, or a table of that name with its keys; or "off". Default: "off".
    #[serde(default)]
    pub flow_control: FlowControl,
    /// Pause watchdog (PFC watchdog): detects pause storms at the egress queues of all switches. Default: no watchdog.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub watchdog: Option<WatchdogSpec>,
    /// Traffic flows: each entry is one flow, or one flow per sender if `from` selects several hosts. Default: none.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub flows: Vec<Flow>,
    /// Transfers: many flows of a given size, each with a start time and a completion time. Default: none.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub transfers: Vec<Transfers>,
    /// Jobs: ranks that run collective operations, schedules or message lists together. Default: none.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub jobs: Vec<Job>,
    /// Faults and changes during the simulation, at links and switches. Default: none.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub faults: Vec<Fault>,
}

/// Duration, warm-up, seeds and guards of the simulation.
#[derive(Clone, Debug, PartialEq, Deserialize, Serialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct Simulation {
    /// Name of the scenario in results. Default: the file name without its extension.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub name: Option<String>,
    /// Description of the scenario, in one sentence. Default: none.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub description: Option<String>,
    /// Duration of the simulation, in simulated time. A time with unit, above 0. Required.
    pub duration: Time,
    /// Warm-up time, which totals and statistics exclude. A frame sent during the warm-up and delivered or lost after it is counted as delivered or lost, with its whole latency, but not as sent. Time series, deadlocks, storms and faults are listed from 0 s; pauses are listed if they end after the warm-up. A time with unit, below `duration`. Default: "0 s" (all events count).
    #[serde(default = "zero")]
    pub warmup: Time,
    /// Seed of all random streams. A whole number, 0 to 9223372036854775807 (the largest TOML integer). Default: 1.
    #[serde(default = "one")]
    #[schemars(range(min = 0, max = 9223372036854775807u64))]
    pub seed: u64,
    /// Seed of the hash that selects one of several shortest paths (ECMP). A whole number, 0 to 9223372036854775807, or "seed" for the value of `seed`. Default: 1 (runs with different values of `seed` differ in their traffic, and flows keep their paths; ports of transfers are drawn from `seed`).
    #[serde(default)]
    pub path_seed: PathSeed,
    /// Reaction to the loss of a frame of a lossless class: "stop" ends the run with an explanation, "count" continues and counts a headroom violation. Default: "stop" (a lossless fabric that loses frames is misconfigured).
    #[serde(default)]
    pub on_lossless_drop: OnLosslessDrop,
    /// Reaction to a deadlock, a cycle of queues that wait for each other: "stop" ends the run and keeps the measurements up to that time, "count" continues and counts it. With credit-based flow control, "stop" rejects routes that can deadlock, and "count" accepts them. Default: "stop" (pauses in the cycle are renewed, so that its frames never move again).
    #[serde(default)]
    pub on_deadlock: OnDeadlock,
    /// Interval between two searches for deadlocks, in simulated time. The reported time at which a cycle closed is exact for any interval. A time with unit, above 0. Default: "100 us" (a few times the time that a cycle needs to close).
    #[serde(default = "hundred_us")]
    pub deadlock_interval: Time,
    /// Precision of the mean iteration time at which all jobs end: half-width of its confidence interval as a percentage of the mean, and confidence level. The interval is that of Student's t for 10 batches of consecutive iterations, and is computed after 10, 20, 30 and more iterations. When every job has finished or reached this precision, all jobs stop after the iterations in progress, and their figures are estimates. A text like "5 % at 95 %": above 0 and at most 100 %, at 90, 95 or 99 %. Default: none (jobs run all of their iterations).
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub until: Option<Precision>,
    /// Treatment of job iterations that repeat earlier ones exactly, because the state of the whole run is the same except for a shift in time: "off" simulates them; "iterations" omits them; "phases" also omits repeated steps of a ring, if the run has one job; "check" simulates them and compares their times, counters and fingerprints. The result is that of the whole run, except that steps of ranks are recorded only up to the first omitted iteration. No effect with `until`, or if frames are recorded. Default: "off".
    #[serde(default)]
    pub skip: Skip,
    /// Maximum memory of the engine, recorded results included. A run that exceeds it ends early with a warning and keeps the measurements up to that time. The key has no other effect. A size with unit, at least 1 MiB, or "available": four fifths of the free memory of the machine at the start of the run, shared by replications that run in parallel. Default: "available".
    #[serde(default = "available")]
    pub memory_limit: Or<Bytes, Available>,
}

impl Model {
    /// Returns every flow control in the scenario, for all stations or for some.
    pub fn all_flow_controls(&self) -> impl Iterator<Item = &FlowControl> {
        let hosts = self.hosts.values().chain([&self.host]).filter_map(|host| host.flow_control.as_ref());
        let switches =
            self.switches.values().chain([&self.switch]).filter_map(|own| own.flow_control.as_ref());
        hosts.chain(switches).chain([&self.flow_control])
    }
    /// Returns true if a switch maps DSCPs to traffic classes.
    pub fn maps_code_points(&self) -> bool {
        let own = self.switches.values().map(|own| &own.maps);
        [&self.switch.maps].into_iter().chain(own).flatten().any(|maps| maps.dscp_to_tc.is_some())
    }
    /// Returns the color of frames with this color and this DSCP, as a flow or transfers give them.
    pub fn color(&self, own: Option<Color>, dscp: Option<u64>) -> Color {
        let of_dscp = |dscp| self.switch.maps.as_ref().map(|maps| maps.color(dscp));
        own.or_else(|| dscp.and_then(of_dscp)).unwrap_or_default()
    }
    /// Returns the priorities of all flows and transfers, and those that rewrites of DSCPs create, ascending.
    /// Priorities that a file names are not known yet.
    pub fn used_priorities(&self) -> Vec<u32> {
        frame::members(CodePoints::of(self).priorities()).map(|priority| priority as u32).collect()
    }
}

/// Seed of the ECMP hash.
#[derive(Clone, Copy, Debug, PartialEq, Serialize, JsonSchema)]
#[serde(untagged)]
pub enum PathSeed {
    /// Fixed seed, independent of `seed`.
    Own(#[schemars(range(min = 0, max = 9223372036854775807u64))] u64),
    /// Value of `seed`.
    Word(PathSeedWord),
}

/// Seed of the ECMP hash by keyword.
#[derive(Clone, Copy, Debug, PartialEq, Deserialize, Serialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
pub enum PathSeedWord {
    /// Value of `seed`.
    Seed,
}

impl Default for PathSeed {
    fn default() -> PathSeed {
        PathSeed::Own(1)
    }
}

impl PathSeed {
    /// Returns the number, given the seed of the random streams.
    pub fn value(self, seed: u64) -> u64 {
        match self {
            PathSeed::Own(own) => own,
            PathSeed::Word(PathSeedWord::Seed) => seed,
        }
    }
}

fn available() -> Or<Bytes, Available> {
    Or::word()
}

fn zero() -> Time {
    Time::ZERO
}
fn one() -> u64 {
    1
}
pub(crate) fn hundred_us() -> Time {
    Time::from_us(100)
}

pub(crate) fn yes() -> bool {
    true
}
