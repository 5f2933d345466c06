//! The Python module `penstock._core`: takes scenarios and returns results, as texts and tables.

#![warn(clippy::too_many_lines)]

mod arrow;
mod exchange;
mod frames;
mod guarantees;
mod headroom;
mod interruptible;
mod json_rows;
mod mechanisms;
mod memory;
mod parquet;
mod preview;
mod programs;
mod run;
mod session;
mod tables;
mod thresholds;
mod weights;

use pyo3::exceptions::{PyRuntimeError, PyValueError};
use pyo3::prelude::*;
use std::path::Path;

pyo3::create_exception!(penstock._core, ScenarioError, PyValueError, "A scenario that cannot be run.");
pyo3::create_exception!(penstock._core, SimulationError, PyRuntimeError, "A run that broke an invariant.");

/// Creates the exception for errors in a scenario. Its text is the rendered errors; its attribute `diagnostics` has
/// them as JSON.
fn scenario_error(py: Python<'_>, findings: &scenario::Diagnostics) -> PyErr {
    let error = ScenarioError::new_err(findings.render(false));
    match error.value(py).setattr("diagnostics", findings.to_json()) {
        Ok(()) => error,
        Err(failed) => failed,
    }
}

/// Loads a scenario. File names in it are relative to its folder; with `anywhere`, the files may lie outside that
/// folder. A signal interrupts the call.
fn load(
    py: Python<'_>,
    text: &str,
    file: &str,
    seed: Option<u64>,
    anywhere: bool,
) -> PyResult<scenario::Scenario> {
    load_while(py, (text, file), (seed, None), anywhere, || Ok(()))
}

/// Seed and precision (`until`) that replace those of the scenario.
type Overridden = (Option<u64>, Option<String>);

/// Loads a scenario, and calls `waiting` about every 50 ms meanwhile. An error of `waiting` ends the call.
fn load_while(
    py: Python<'_>,
    (text, file): (&str, &str),
    (seed, until): Overridden,
    anywhere: bool,
    waiting: impl FnMut() -> PyResult<()>,
) -> PyResult<scenario::Scenario> {
    let (text, file) = (text.to_owned(), file.to_owned());
    let until = until.map(|text| text.parse()).transpose().map_err(PyValueError::new_err::<String>)?;
    let overrides = scenario::Overrides { seed, until };
    let loaded = interruptible::call(py, waiting, move || {
        let base_dir = Path::new(&file).parent();
        let files = scenario::Files { base_dir, anywhere, parquet: &parquet::open };
        scenario::load_with(text.as_bytes(), &file, overrides, files)
    })?;
    loaded.map_err(|found| scenario_error(py, &found))
}

/// The simulation engine of Penstock.
#[pymodule]
mod _core {
    use super::{Py, PyAny, PyErr, PyResult, Python, load};
    use pyo3::exceptions::PyValueError;
    use pyo3::prelude::*;
    use std::time::Instant;

    use super::run::guarded;

    #[pymodule_export]
    use super::arrow::ArrowTable;
    #[pymodule_export]
    use super::exchange::DcbxAgent;
    #[pymodule_export]
    use super::frames::Capture;
    #[pymodule_export]
    use super::programs::PyProgram;
    #[pymodule_export]
    use super::run::RunResult;
    #[pymodule_export]
    use super::session::PySession;
    #[pymodule_export]
    use super::{ScenarioError, SimulationError};

    /// Returns the version of the engine.
    #[pyfunction]
    fn engine_version() -> &'static str {
        env!("CARGO_PKG_VERSION")
    }

    /// Returns the effective scenario as TOML.
    #[pyfunction]
    #[pyo3(signature = (text, file, *, allow_files = false))]
    fn check(py: Python<'_>, text: &str, file: &str, allow_files: bool) -> PyResult<String> {
        Ok(load(py, text, file, None, allow_files)?.effective_toml())
    }

    /// Returns the rendered warnings of a scenario.
    #[pyfunction]
    #[pyo3(signature = (text, file, *, allow_files = false))]
    fn warnings(py: Python<'_>, text: &str, file: &str, allow_files: bool) -> PyResult<Vec<String>> {
        Ok(examine(py, text, file, allow_files)?.1)
    }

    /// An effective scenario as TOML, its rendered warnings, the messages about losses in lossless classes, and notes.
    type Examined = (String, Vec<String>, Vec<String>, Vec<String>);

    /// Loads a scenario once, and returns everything that `penstock check` prints about it: the effective scenario as
    /// TOML, its rendered warnings, the messages about losses in lossless classes, and notes.
    #[pyfunction]
    #[pyo3(signature = (text, file, *, allow_files = false))]
    fn examine(py: Python<'_>, text: &str, file: &str, allow_files: bool) -> PyResult<Examined> {
        let scenario = load(py, text, file, None, allow_files)?;
        let warnings = scenario.warnings.iter().map(|warning| warning.render(false)).collect();
        Ok((scenario.effective_toml(), warnings, scenario.not_lossless(), scenario.phy_notes()))
    }

    /// Returns the canonical form of a precision at which jobs end.
    #[pyfunction]
    fn precision(text: &str) -> PyResult<String> {
        scenario::precision(text).map_err(PyValueError::new_err)
    }

    /// Returns a hash of all inputs of a run except the engine, as 16 hexadecimal digits.
    #[pyfunction]
    #[pyo3(signature = (text, file, *, overridden = (None, None), allow_files = false))]
    fn identity(
        py: Python<'_>,
        text: &str,
        file: &str,
        overridden: super::Overridden,
        allow_files: bool,
    ) -> PyResult<String> {
        let scenario = super::load_while(py, (text, file), overridden, allow_files, || Ok(()))?;
        Ok(format!("{:016x}", scenario.identity()))
    }

    /// Returns nodes and links of a scenario as JSON in the form of results, without running it.
    #[pyfunction]
    #[pyo3(signature = (text, file, *, allow_files = false))]
    fn topology(py: Python<'_>, text: &str, file: &str, allow_files: bool) -> PyResult<String> {
        Ok(super::run::topology(&load(py, text, file, None, allow_files)?))
    }

    /// Returns the effective scenario as JSON.
    #[pyfunction]
    #[pyo3(signature = (text, file, *, allow_files = false))]
    fn effective_json(py: Python<'_>, text: &str, file: &str, allow_files: bool) -> PyResult<String> {
        Ok(load(py, text, file, None, allow_files)?.effective_json())
    }

    /// Runs a scenario. `memory_limit`, in bytes, applies if the scenario has none.
    #[pyfunction]
    #[pyo3(signature = (text, file, *, overridden = (None, None), threads = None, memory_limit = None, progress = None, allow_files = false))]
    fn run(
        text: &str,
        file: &str,
        overridden: super::Overridden,
        threads: Option<usize>,
        memory_limit: Option<u64>,
        progress: Option<Py<PyAny>>,
        allow_files: bool,
    ) -> PyResult<super::run::RunResult> {
        if let Some(threads) = threads.filter(|threads| !(1..=64).contains(threads)) {
            return Err(PyValueError::new_err(format!("threads = {threads}: 1 to 64 are accepted")));
        }
        Python::attach(|py| {
            let waiting = || super::run::still_wanted(py, progress.as_ref());
            let begun = Instant::now();
            let scenario = super::load_while(py, (text, file), overridden, allow_files, waiting)?;
            let load = begun.elapsed();
            guarded(|| super::run::run(py, scenario, load, threads, memory_limit, progress.as_ref()))
        })
    }

    /// Estimates memory and time of a run from a short part of it. Returns JSON.
    #[pyfunction]
    #[pyo3(signature = (text, file, *, threads = None, allow_files = false))]
    fn estimate(
        py: Python<'_>,
        text: &str,
        file: &str,
        threads: Option<usize>,
        allow_files: bool,
    ) -> PyResult<String> {
        guarded(|| super::run::estimate(py, load(py, text, file, None, allow_files)?, threads))
    }

    /// Returns the jobs of a scenario at flow level as JSON.
    #[pyfunction]
    #[pyo3(signature = (text, file, *, seed = None, allow_files = false))]
    fn preview(
        py: Python<'_>,
        text: &str,
        file: &str,
        seed: Option<u64>,
        allow_files: bool,
    ) -> PyResult<String> {
        guarded(|| super::preview::preview(py, load(py, text, file, seed, allow_files)?))
    }

    /// Returns the JSON Schema of scenario files.
    #[pyfunction]
    fn json_schema() -> &'static str {
        scenario::JSON_SCHEMA
    }

    /// Returns the declarations of all result tables, in order, as a JSON list.
    #[pyfunction]
    fn tables() -> String {
        super::tables::declared().to_string()
    }

    /// Returns the descriptions of all mechanisms as a JSON list.
    #[pyfunction]
    fn mechanisms() -> String {
        super::mechanisms::describe()
    }

    /// Returns the service that is guaranteed to each egress queue of a scenario, as a JSON list.
    #[pyfunction]
    #[pyo3(signature = (text, file, *, allow_files = false))]
    fn guarantees(py: Python<'_>, text: &str, file: &str, allow_files: bool) -> PyResult<String> {
        Ok(super::guarantees::describe(&load(py, text, file, None, allow_files)?))
    }

    /// Returns the thresholds that result from the memory of switches, without a run, as JSON.
    #[pyfunction]
    #[pyo3(signature = (text, file, *, allow_files = false))]
    fn thresholds(py: Python<'_>, text: &str, file: &str, allow_files: bool) -> PyResult<String> {
        super::thresholds::describe(&load(py, text, file, None, allow_files)?).map_err(PyValueError::new_err)
    }

    /// Computes weights of DRR-AWC from histograms of frame sizes; `None` for a queue without frames.
    #[pyfunction]
    fn awc_weights(
        frames: Vec<[u64; 6]>,
        bytes: Vec<[u64; 6]>,
        rules: super::weights::Rules,
    ) -> PyResult<Vec<Option<f64>>> {
        super::weights::from_histograms(&rules, &frames, &bytes).map_err(PyValueError::new_err)
    }

    /// Computes weights of DRR-AWC from counters of sent frames and bytes, and the accounted overhead per frame.
    #[pyfunction]
    #[pyo3(signature = (counters, *, metric, per_frame))]
    fn awc_learn(
        counters: Vec<super::weights::Counted>,
        metric: &str,
        per_frame: Option<f64>,
    ) -> PyResult<(Vec<Option<f64>>, Option<f64>)> {
        super::weights::learned(metric, per_frame, &counters).map_err(PyValueError::new_err)
    }

    /// Returns rows of a table as JSON: each has the cells of `columns` between `texts`.
    #[pyfunction]
    #[pyo3(signature = (texts, columns, *, ascii_only, between))]
    fn json_rows(
        py: Python<'_>,
        texts: Vec<String>,
        columns: Vec<super::json_rows::Cells>,
        ascii_only: bool,
        between: &str,
    ) -> PyResult<String> {
        super::json_rows::json_rows(py, &texts, columns, ascii_only, between)
    }

    /// Returns the headroom above XOFF that a link requires, as JSON.
    #[pyfunction]
    fn headroom(link: super::headroom::Link) -> PyResult<String> {
        super::headroom::answer(&link).map_err(|why: String| -> PyErr { PyValueError::new_err(why) })
    }

    /// Returns the egress ports on the path of a flow to a host; `None` if the flow does not send to it.
    #[pyfunction]
    #[pyo3(signature = (text, file, flow, to, *, allow_files = false))]
    fn path(
        py: Python<'_>,
        text: &str,
        file: &str,
        flow: &str,
        to: &str,
        allow_files: bool,
    ) -> PyResult<Option<Vec<String>>> {
        let spec = load(py, text, file, None, allow_files)?.spec;
        let to = (0..).map(frame::NodeId).zip(&spec.nodes).find(|(_, node)| node.name == to);
        let flow = spec.flows.iter().find(|one| one.name == flow);
        Ok(flow.zip(to).and_then(|(flow, (to, _))| spec.planned_path(flow, to)))
    }

    /// Writes complete frames as pcapng.
    #[pyfunction]
    fn write_capture(
        path: &str,
        ports: Vec<(String, Option<u64>)>,
        frames: Vec<super::frames::Seen>,
    ) -> PyResult<()> {
        super::frames::write(path, ports, &frames)
    }

    /// Writes the log of frames of a simulation as pcapng, with real headers.
    #[pyfunction]
    fn write_log(path: &str, ports: Vec<(String, Option<u64>)>, log: super::frames::Log) -> PyResult<()> {
        super::frames::write_log(path, ports, &log)
    }
}
