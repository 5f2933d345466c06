//! The Python module `penstock._core`: scenarios in, results out. Thin: texts and tables cross, nothing else.

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

/// The exception for findings in a scenario; its text is the rendering, `diagnostics` the JSON form.
fn scenario_error(py: Python<'_>, findings: &scenario::Diagnostics) -> PyErr {
    let error = ScenarioError::new_err(findings.render(false));
    match error.value(py).setattr("diagnostics", findings.to_json()) {
        Ok(()) => error,
        Err(failed) => failed,
    }
}

/// Loads a scenario. Relative file names in it are resolved against its folder; `anywhere`: they may lie outside that
/// folder. A signal interrupts it.
fn load(
    py: Python<'_>,
    text: &str,
    file: &str,
    seed: Option<u64>,
    anywhere: bool,
) -> PyResult<scenario::Scenario> {
    load_while(py, (text, file), (seed, None), anywhere, || Ok(()))
}

/// Seed and precision (`until`) in place of those of the scenario.
type Overridden = (Option<u64>, Option<String>);

/// Loads a scenario, and calls `waiting` about every 50 ms meanwhile; its error ends the wait.
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

    /// Version of the engine.
    #[pyfunction]
    fn engine_version() -> &'static str {
        env!("CARGO_PKG_VERSION")
    }

    /// The effective scenario as TOML.
    #[pyfunction]
    #[pyo3(signature = (text, file, *, allow_files = false))]
    fn check(py: Python<'_>, text: &str, file: &str, allow_files: bool) -> PyResult<String> {
        Ok(load(py, text, file, None, allow_files)?.effective_toml())
    }

    /// The rendered warnings of a scenario.
    #[pyfunction]
    #[pyo3(signature = (text, file, *, allow_files = false))]
    fn warnings(py: Python<'_>, text: &str, file: &str, allow_files: bool) -> PyResult<Vec<String>> {
        Ok(examine(py, text, file, allow_files)?.1)
    }

    /// An effective scenario as TOML, its rendered warnings, those about losses in lossless classes, and notes.
    type Examined = (String, Vec<String>, Vec<String>, Vec<String>);

    /// Loads a scenario once, and returns what `penstock check` prints of it: the effective scenario as TOML, its rendered
    /// warnings, the messages of those about losses in lossless classes, and notes.
    #[pyfunction]
    #[pyo3(signature = (text, file, *, allow_files = false))]
    fn examine(py: Python<'_>, text: &str, file: &str, allow_files: bool) -> PyResult<Examined> {
        let scenario = load(py, text, file, None, allow_files)?;
        let warnings = scenario.warnings.iter().map(|warning| warning.render(false)).collect();
        Ok((scenario.effective_toml(), warnings, scenario.not_lossless(), scenario.phy_notes()))
    }

    /// A precision at which jobs end, as scenarios have it.
    #[pyfunction]
    fn precision(text: &str) -> PyResult<String> {
        scenario::precision(text).map_err(PyValueError::new_err)
    }

    /// A hash of all that a run is a function of but the engine, as 16 hexadecimal digits.
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

    /// Nodes and links of a scenario, without running it: JSON as in a result.
    #[pyfunction]
    #[pyo3(signature = (text, file, *, allow_files = false))]
    fn topology(py: Python<'_>, text: &str, file: &str, allow_files: bool) -> PyResult<String> {
        Ok(super::run::topology(&load(py, text, file, None, allow_files)?))
    }

    /// The effective scenario as JSON.
    #[pyfunction]
    #[pyo3(signature = (text, file, *, allow_files = false))]
    fn effective_json(py: Python<'_>, text: &str, file: &str, allow_files: bool) -> PyResult<String> {
        Ok(load(py, text, file, None, allow_files)?.effective_json())
    }

    /// Runs a scenario. `memory_limit`, in bytes, holds where the scenario names none.
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

    /// Memory and time that a run will take, from a short piece of it: JSON.
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

    /// The jobs of a scenario at flow level: JSON.
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

    /// The JSON Schema of scenario files.
    #[pyfunction]
    fn json_schema() -> &'static str {
        scenario::JSON_SCHEMA
    }

    /// Declarations of all result tables, in their order: JSON list.
    #[pyfunction]
    fn tables() -> String {
        super::tables::declared().to_string()
    }

    /// Every mechanism, described: JSON list.
    #[pyfunction]
    fn mechanisms() -> String {
        super::mechanisms::describe()
    }

    /// The service that each egress queue of a scenario is certain of: JSON list.
    #[pyfunction]
    #[pyo3(signature = (text, file, *, allow_files = false))]
    fn guarantees(py: Python<'_>, text: &str, file: &str, allow_files: bool) -> PyResult<String> {
        Ok(super::guarantees::describe(&load(py, text, file, None, allow_files)?))
    }

    /// Thresholds that result from the memory of switches, before a run: JSON.
    #[pyfunction]
    #[pyo3(signature = (text, file, *, allow_files = false))]
    fn thresholds(py: Python<'_>, text: &str, file: &str, allow_files: bool) -> PyResult<String> {
        super::thresholds::describe(&load(py, text, file, None, allow_files)?).map_err(PyValueError::new_err)
    }

    /// Weights of DRR-AWC from histograms of frame sizes; `None` for a queue without frames.
    #[pyfunction]
    fn awc_weights(
        frames: Vec<[u64; 6]>,
        bytes: Vec<[u64; 6]>,
        rules: super::weights::Rules,
    ) -> PyResult<Vec<Option<f64>>> {
        super::weights::from_histograms(&rules, &frames, &bytes).map_err(PyValueError::new_err)
    }

    /// Weights of DRR-AWC from what was sent, and what each frame counts beside its bytes.
    #[pyfunction]
    #[pyo3(signature = (counters, *, metric, per_frame))]
    fn awc_learn(
        counters: Vec<super::weights::Counted>,
        metric: &str,
        per_frame: Option<f64>,
    ) -> PyResult<(Vec<Option<f64>>, Option<f64>)> {
        super::weights::learned(metric, per_frame, &counters).map_err(PyValueError::new_err)
    }

    /// Rows of a table as JSON: each has the cells of `columns` between `texts`.
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

    /// The headroom above XOFF that a link needs: JSON.
    #[pyfunction]
    fn headroom(link: super::headroom::Link) -> PyResult<String> {
        super::headroom::answer(&link).map_err(|why: String| -> PyErr { PyValueError::new_err(why) })
    }

    /// The planned egress ports of a flow to a host; `None` if it does not send there.
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

    /// Writes frames, whole ones, as pcapng.
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
