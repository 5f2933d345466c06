//! Previews of jobs for Python, as JSON.

use crate::interruptible;
use fabric::Simulation;
use measure::{Table, Values};
use pyo3::exceptions::PyValueError;
use pyo3::prelude::*;
use scenario::Scenario;
use serde_json::{Map, Value, json};
use std::time::Instant;

/// Tables in a preview.
const TABLES: [&str; 3] = ["jobs", "collectives", "rank_waits"];

/// Runs the jobs of a scenario at flow level.
pub fn preview(py: Python<'_>, scenario: Scenario) -> PyResult<String> {
    if scenario.spec.jobs.is_empty() {
        return Err(PyValueError::new_err(
            "the scenario has no jobs: a preview runs [[jobs]], and no other traffic but greedy flows beside them",
        ));
    }
    let begun = Instant::now();
    let work = move || {
        let mut simulation = Simulation::on_threads(&scenario.spec, 1)?;
        let counts = simulation.preview();
        Ok((scenario, simulation, counts))
    };
    let built: Result<_, fabric::BuildError> = interruptible::call(py, || Ok(()), work)?;
    let (scenario, mut simulation, counts) =
        built.map_err(|error| PyValueError::new_err(error.to_string()))?;
    let tables = simulation.tables();
    let rows = |name: &&str| {
        let table = tables.iter().find(|table| table.spec.name == *name);
        ((*name).to_string(), table.map_or(Value::Null, rows_of))
    };
    let document = json!({
        "preview": true,
        "name": scenario.name,
        "seed": scenario.spec.seed,
        "simulated_s": simulation.now().as_secs_f64(),
        "duration_s": scenario.spec.duration.as_secs_f64(),
        "wall_s": begun.elapsed().as_secs_f64(),
        "messages": counts.messages,
        "rate_changes": counts.rate_changes,
        "left_out": simulation.not_previewed(),
        "warnings": scenario.warnings.iter().map(|warning| warning.render(false)).collect::<Vec<_>>(),
        "tables": TABLES.iter().map(rows).collect::<Map<_, _>>(),
    });
    Ok(document.to_string())
}

/// Returns the rows of a table, as one object each.
fn rows_of(table: &Table) -> Value {
    let row = |at: usize| -> Value {
        let columns = table.columns.iter();
        columns
            .map(|column| (column.spec.name.to_string(), value(&column.values, at)))
            .collect::<Map<_, _>>()
            .into()
    };
    (0..table.rows()).map(row).collect()
}

fn value(values: &Values, at: usize) -> Value {
    match values {
        Values::Integer(all) => all[at].into(),
        // NaN becomes null.
        Values::Real(all) => all[at].into(),
        Values::Text(all) => all[at].as_str().into(),
        Values::Named { names, of } => names[of[at] as usize].as_str().into(),
    }
}
