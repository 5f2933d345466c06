//! Invariants of loading any bytes as a scenario: they are rejected with a reason, or they run.
//!
//! Shared by the fuzz target and by a test of the crate `scenario`, which needs no fuzzer.

use fabric::spec::{ProbeSpec, Spec};
use fabric::{Simulation, State};
use measure::{Table, Values};
use units::Time;

/// Maximum number of events to run.
const EVENTS: u64 = 100_000;

/// Outcome of a case.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Fate {
    /// Not a scenario.
    Refused,
    /// The scenario takes too long for a fuzzer.
    TooLarge,
    /// The scenario ran.
    Ran,
}

/// Loads a scenario, runs it for a while and checks the result. The error describes the violated invariant.
pub fn check(bytes: &[u8]) -> Result<Fate, String> {
    let mut spec = match scenario::load_bytes(bytes, "fuzz.toml", None) {
        Ok(scenario) => scenario.spec,
        Err(why) if why.errors().next().is_none() => return Err("refused without an error".into()),
        Err(_) => return Ok(Fate::Refused),
    };
    if !is_small(&spec) {
        return Ok(Fate::TooLarge);
    }
    limit_bins(&mut spec);
    let once = match run(&spec, 1, EVENTS)? {
        Some(outcome) => outcome,
        None => return Ok(Fate::Refused),
    };
    check_tables(&once.1)?;
    // Repeats the run in small steps, as far as both runs went.
    if !once.2 {
        return Ok(Fate::Ran);
    }
    for (how, threads, budget) in
        [("in steps", 1, 997), ("on two threads", 2, EVENTS), ("on three", 3, EVENTS)]
    {
        if let Some((fingerprint, tables, true)) = run(&spec, threads, budget)? {
            if fingerprint != once.0 {
                return Err(format!("another trajectory {how}"));
            }
            if format!("{tables:?}") != format!("{:?}", once.1) {
                return Err(format!("other tables {how}"));
            }
        }
    }
    Ok(Fate::Ran)
}

fn is_small(spec: &Spec) -> bool {
    let paths: usize = spec.flows.iter().map(|flow| flow.source.destinations.nodes().len()).sum();
    spec.nodes.len() <= 128 && spec.links.len() <= 300 && paths <= 2_000
}

/// Removes series of millions of bins, which use memory without improving coverage.
fn limit_bins(spec: &mut Spec) {
    let fine = |bin: Time| spec.duration.ps() / bin.ps().max(1) > 2_000;
    let chosen = spec.probes.chosen.iter().flatten().filter_map(|probe| probe.every);
    if spec.probes.bin.into_iter().chain(chosen).any(fine) {
        spec.probes = ProbeSpec { pauses: spec.probes.pauses, ..ProbeSpec::default() };
    }
}

type Outcome = (u64, Vec<Table>, bool);

/// Returns fingerprint, tables, and true if the run reached its end; `None` if the simulation cannot be built.
fn run(spec: &Spec, threads: usize, budget: u64) -> Result<Option<Outcome>, String> {
    let mut simulation = match Simulation::on_threads(spec, threads) {
        Ok(simulation) => simulation,
        Err(why) if why.to_string().is_empty() => return Err("not built, for no reason".into()),
        Err(_) => return Ok(None),
    };
    let finished = loop {
        match simulation.advance(budget) {
            Ok(State::Running) if simulation.events() >= EVENTS => {
                // The scenario is responsible for guarantees that are violated meanwhile.
                let _ = simulation.cut_short();
                break false;
            }
            Ok(State::Running) => {}
            Ok(State::Finished) => break true,
            // A scenario may lose frames of a class that it declares lossless, but the simulator must count them
            // correctly.
            Err(why)
                if ["not conserved", "bug in the simulator"]
                    .iter()
                    .any(|bad| why.to_string().contains(bad)) =>
            {
                return Err(why.to_string());
            }
            Err(_) => break false,
        }
    };
    Ok(Some((simulation.fingerprint(), simulation.tables(), finished)))
}

fn check_tables(tables: &[Table]) -> Result<(), String> {
    for table in tables {
        for column in &table.columns {
            let name = format!("{}.{}", table.spec.name, column.spec.name);
            if column.values.len() != table.rows() {
                return Err(format!("{name} has another length"));
            }
            let Values::Real(values) = &column.values else { continue };
            let (unknown, endless) = (column.spec.is_nullable, column.spec.about.contains("nfinite"));
            let fine = |v: f64| v >= 0.0 && (v.is_finite() || endless) || unknown && v.is_nan();
            if let Some(bad) = values.iter().find(|v| !fine(**v)) {
                return Err(format!("{name} is {bad}"));
            }
            if column.spec.name == "utilisation" && values.iter().any(|&share| share > 1.0) {
                return Err(format!("{name} above 1"));
            }
        }
    }
    let total = |name: &str, of: &str| -> u64 {
        let table = tables.iter().find(|table| table.spec.name == name);
        match table.and_then(|table| table.values(of)) {
            Some(Values::Integer(values)) => values.iter().sum(),
            _ => 0,
        }
    };
    if total("drops", "frames") != total("ports", "drops") {
        return Err("ports and drops do not agree on losses".into());
    }
    // Frames that are not part of a flow's data, such as acknowledgements, are lost at ports and not counted by flows.
    let sent: u64 = tables.iter().filter(|table| table.spec.name == "drops").map(sent_and_lost).sum();
    if total("flows", "frames_dropped") != sent {
        return Err("flows and drops do not agree on losses".into());
    }
    for column in ["frames_sent", "frames_delivered", "frames_dropped"] {
        if total("flows", column) != total("classes", column) {
            return Err(format!("flows and classes do not agree on {column}"));
        }
    }
    Ok(())
}

/// Returns the lost frames of flows, from the table of losses.
fn sent_and_lost(drops: &Table) -> u64 {
    match (drops.values("part"), drops.values("frames")) {
        (Some(Values::Text(parts)), Some(Values::Integer(frames))) => {
            parts.iter().zip(frames).filter(|(part, _)| *part == "sent").map(|(_, frames)| frames).sum()
        }
        _ => 0,
    }
}
