//! Runs a scenario for Python: reports progress, handles interrupts, and returns the result.

use crate::SimulationError;
use crate::arrow::{ArrowTable, failed};
use crate::interruptible;
use crate::memory::{Found, MemoryWatch};
use crate::tables;
use arrow_schema::ArrowError;
use fabric::spec::Role;
use fabric::{Simulation, State, Threads};
use frame::NodeId;
use measure::Table;
use pyo3::exceptions::{PyKeyError, PyKeyboardInterrupt, PyValueError};
use pyo3::prelude::*;
use scenario::Scenario;
use serde::Serialize;
use serde_json::{Value, json};
use std::collections::BTreeMap;
use std::panic::{AssertUnwindSafe, catch_unwind, resume_unwind};
use std::sync::Arc;
use std::thread::{available_parallelism, scope, spawn};
use std::time::{Duration, Instant};
use units::{BitRate, Time};

/// Version of the result's layout.
const SCHEMA: &str = "penstock-result/1";
/// Number of events between two checks of the clock, which take a few milliseconds.
const BUDGET: u64 = 1 << 16;
/// Time between two reports of progress.
const REPORT_EVERY: Duration = Duration::from_millis(100);

/// Number of rows from which converting a table takes longer than starting a thread.
const LEAST_ROWS: usize = 50_000;
/// Number of frame-hops from which freeing the memory of a simulation takes longer than starting a thread.
const LEAST_HOPS: u64 = 100_000;

/// Result of a run.
#[pyclass(name = "Result", module = "penstock._core", frozen)]
pub struct RunResult {
    #[pyo3(get)]
    run: String,
    #[pyo3(get)]
    scenario_toml: String,
    #[pyo3(get)]
    topology: String,
    #[pyo3(get)]
    description: String,
    #[pyo3(get)]
    table_names: Vec<String>,
    tables: BTreeMap<&'static str, Py<ArrowTable>>,
}

#[pymethods]
impl RunResult {
    /// Returns a table by name.
    fn table(&self, py: Python<'_>, name: &str) -> PyResult<Py<ArrowTable>> {
        let table = self.tables.get(name).map(|table| table.clone_ref(py));
        table.ok_or_else(|| {
            PyKeyError::new_err(format!("no table \"{name}\"; there are {}", self.table_names.join(", ")))
        })
    }
}

/// Returns the setting that uses as many threads as make the run faster, up to this number; by default up to the number
/// of processors.
fn up_to(threads: Option<usize>) -> Threads {
    Threads::UpTo(threads.unwrap_or_else(|| available_parallelism().map_or(1, usize::from)))
}

/// Runs work, and converts a panic, which is a defect of the program, to an error with its message.
pub fn guarded<T>(work: impl FnOnce() -> PyResult<T>) -> PyResult<T> {
    let error = |payload| SimulationError::new_err(fabric::SimulationError::of_panic(payload).to_string());
    catch_unwind(AssertUnwindSafe(work)).unwrap_or_else(|payload| Err(error(payload)))
}

/// Reason why a run ended.
enum Ending {
    /// The end of its duration, or a deadlock.
    Finished,
    /// A request.
    Asked,
    /// The memory limit; with a message.
    Memory(String),
    /// A violated invariant; with a message.
    Broken(String),
}

/// Wall-clock time of a run.
#[derive(Clone, Copy)]
struct Wall {
    /// Loading and checking the scenario.
    load: Duration,
    /// Building the fabric.
    build: Duration,
    /// Building the fabric, and processing events.
    run: Duration,
}

/// Runs a scenario until its end, until `progress` returns false, or until it exceeds its own memory limit or, if it
/// has none, `memory_limit`. `load` is the time that loading it took. If an invariant is violated, the error has the
/// measurements up to that point in its attribute `result`.
pub fn run(
    py: Python<'_>,
    scenario: Scenario,
    load: Duration,
    threads: Option<usize>,
    memory_limit: Option<u64>,
    progress: Option<&Py<PyAny>>,
) -> PyResult<RunResult> {
    let begun = Instant::now();
    let scenario = Arc::new(scenario);
    let built = Arc::clone(&scenario);
    let waiting = || still_wanted(py, progress);
    let mut simulation =
        interruptible::call(py, waiting, move || Simulation::on_threads(&built.spec, up_to(threads)))?
            .map_err(|error| PyValueError::new_err(error.to_string()))?;
    let build = begun.elapsed();
    let scenario = &*scenario;
    let mut memory = MemoryWatch::new(scenario.memory_limit, memory_limit);
    let ending = py.detach(|| {
        let ending = go(&mut simulation, scenario, &mut memory, progress, begun)?;
        Ok::<_, PyErr>(cut_short(&mut simulation, ending))
    })?;
    let wall = Wall { load, build, run: begun.elapsed() };
    let Ending::Broken(why) = &ending else { return measured(py, scenario, simulation, &ending, wall) };
    let error = SimulationError::new_err(why.clone());
    // After a defect, the tables may not be available.
    let found = catch_unwind(AssertUnwindSafe(|| measured(py, scenario, simulation, &ending, wall)));
    if let Ok(Ok(result)) = found {
        error.value(py).setattr("result", Py::new(py, result)?)?;
    }
    Err(error)
}

/// Calls `progress` before a run has started. Raises `KeyboardInterrupt` if it returns false.
pub fn still_wanted(py: Python<'_>, progress: Option<&Py<PyAny>>) -> PyResult<()> {
    let report = json!({
        "simulated_s": 0.0, "duration_s": 0.0, "frame_hops": 0, "events": 0, "wall_s": 0.0, "warning": null,
    });
    let go_on = progress.map_or(Ok(true), |call| call.call1(py, (report.to_string(),))?.extract(py))?;
    if go_on { Ok(()) } else { Err(PyKeyboardInterrupt::new_err(())) }
}

/// Brings a run that ends early to a state at a single time. An invariant may be violated meanwhile.
fn cut_short(simulation: &mut Simulation, ending: Ending) -> Ending {
    if !matches!(ending, Ending::Asked | Ending::Memory(_)) {
        return ending;
    }
    simulation.cut_short().map_or_else(|error| Ending::Broken(error.to_string()), |()| ending)
}

/// Collects the measurements of a run up to its end.
fn measured(
    py: Python<'_>,
    scenario: &Scenario,
    mut simulation: Simulation,
    ending: &Ending,
    wall: Wall,
) -> PyResult<RunResult> {
    let hops = simulation.frame_hops();
    let deadlock = simulation.ended_by_deadlock().then(|| simulation.deadlock()).flatten();
    let run = json!({
        "schema": SCHEMA,
        "name": scenario.name,
        "seed": scenario.spec.seed,
        "engine_version": env!("CARGO_PKG_VERSION"),
        "fingerprint": format!("{:016x}", simulation.fingerprint()),
        "simulated_s": (simulation.now() + simulation.skipped_time()).as_secs_f64(),
        "skipped_s": simulation.skipped_time().as_secs_f64(),
        "duration_s": scenario.spec.duration.as_secs_f64(),
        "warmup_s": simulation.measured_from().as_secs_f64(),
        "load_s": wall.load.as_secs_f64(),
        "build_s": wall.build.as_secs_f64(),
        "wall_s": wall.run.as_secs_f64(),
        "threads": simulation.threads(),
        "events": simulation.events(),
        "frame_hops": hops,
        "skipped_hops": simulation.skipped_hops(),
        "look_ahead_ns": simulation.look_ahead().as_ns_f64(),
        "complete": matches!(ending, Ending::Finished) && deadlock.is_none(),
        "ended_by": deadlock,
        "cut_short_by": match ending {
            Ending::Memory(why) | Ending::Broken(why) => Some(why),
            Ending::Finished | Ending::Asked => None,
        },
        "not_lossless": scenario.not_lossless(),
        "schedulers": schedulers(scenario),
        "warnings": scenario
            .warnings
            .iter()
            .map(|warning| warning.render(false))
            .chain(simulation.left_out().iter().cloned())
            .chain(simulation.ties())
            .chain((simulation.measured_from() < scenario.spec.warmup).then(|| {
                format!(
                    "the run ended at {}, before its warm-up of {}: it was measured from the beginning",
                    simulation.now(),
                    scenario.spec.warmup
                )
            }))
            .collect::<Vec<_>>(),
    });
    let made = py.detach(|| simulation.tables());
    if hops >= LEAST_HOPS {
        spawn(move || drop(simulation)); // frees the memory in the background
    }
    let table_names = made.iter().map(|table| table.spec.name.to_string()).collect();
    let mut by_name = BTreeMap::new();
    for (name, table) in py.detach(|| as_arrow(made)).map_err(|error| failed(&error))? {
        by_name.insert(name, Py::new(py, table)?);
    }
    Ok(RunResult {
        run: run.to_string(),
        scenario_toml: scenario.effective_toml(),
        topology: topology(scenario),
        description: tables::description().to_string(),
        table_names,
        tables: by_name,
    })
}

/// Collects the measurements of a session since it was opened.
pub fn of_session(
    py: Python<'_>,
    scenario: &Scenario,
    simulation: Simulation,
    run: Duration,
) -> PyResult<RunResult> {
    let wall = Wall { load: Duration::ZERO, build: Duration::ZERO, run };
    measured(py, scenario, simulation, &Ending::Finished, wall)
}

/// Returns the schedulers of ports that differ from the settings of their node, in the form of scenarios.
fn schedulers(scenario: &Scenario) -> Value {
    let found = fabric::port_schedulers(&scenario.spec);
    let row = |one: &fabric::PortScheduler| json!({"at_ns": one.at.as_ns_f64(), "ports": one.ports, "scheduler": one.scheduler});
    found.iter().map(row).collect()
}

/// Converts tables to Arrow's layout. The longest one is converted on a thread of its own if it is long enough.
fn as_arrow(mut tables: Vec<Table>) -> Result<Vec<(&'static str, ArrowTable)>, ArrowError> {
    let convert = |table: Table| {
        let name = table.spec.name;
        ArrowTable::new(table).map(|table| (name, table))
    };
    let longest = (0..tables.len()).max_by_key(|&at| tables[at].rows());
    let longest = longest.filter(|&at| tables[at].rows() > LEAST_ROWS).map(|at| tables.swap_remove(at));
    scope(|scope| {
        let apart = longest.map(|table| scope.spawn(|| convert(table)));
        let mut found = tables.into_iter().map(convert).collect::<Result<Vec<_>, _>>()?;
        if let Some(apart) = apart {
            found.push(apart.join().unwrap_or_else(|panic| resume_unwind(panic))?);
        }
        Ok(found)
    })
}

/// Runs without the interpreter's lock (GIL), and acquires it to report progress.
fn go(
    simulation: &mut Simulation,
    scenario: &Scenario,
    memory: &mut MemoryWatch,
    progress: Option<&Py<PyAny>>,
    begun: Instant,
) -> PyResult<Ending> {
    let mut reported = begun;
    let duration = scenario.spec.duration;
    // The fabric by itself may exceed the memory.
    if let Found::Exceeded(why) = memory.look(simulation, duration) {
        return Ok(Ending::Memory(why));
    }
    loop {
        match simulation.advance(BUDGET * simulation.threads() as u64) {
            Err(error) => return Ok(Ending::Broken(error.to_string())),
            Ok(State::Finished) => return Ok(Ending::Finished),
            Ok(State::Running) => {}
        }
        if reported.elapsed() < REPORT_EVERY {
            continue;
        }
        reported = Instant::now();
        let warning = match memory.look(simulation, duration) {
            Found::Enough => None,
            Found::Warning(text) => Some(text),
            Found::Exceeded(why) => return Ok(Ending::Memory(why)),
        };
        let report = json!({
            "simulated_s": (simulation.now() + simulation.skipped_time()).as_secs_f64(),
            "duration_s": duration.as_secs_f64(),
            "frame_hops": simulation.frame_hops() - simulation.skipped_hops(),
            "events": simulation.events(),
            "wall_s": begun.elapsed().as_secs_f64(),
            "warning": warning,
        });
        let go_on = Python::attach(|py| -> PyResult<bool> {
            py.check_signals()?;
            progress.map_or(Ok(true), |call| call.call1(py, (report.to_string(),))?.extract(py))
        })?;
        if !go_on {
            return Ok(Ending::Asked);
        }
    }
}

/// Wall-clock time for which an estimate runs the simulation.
const ESTIMATE_FOR: Duration = Duration::from_millis(600);

/// State of a simulation at some time, for comparison.
struct Mark {
    wall: Duration,
    now: Time,
    hops: u64,
    waiting_bytes: usize,
}

/// Returns the work that remains at `end`, as a multiple of the work since a mark.
fn part_left(simulation: &Simulation, since: &Mark, end: &Mark, duration: Time) -> f64 {
    let passed_s = (end.now - since.now).as_secs_f64().max(f64::MIN_POSITIVE);
    let by_time = duration.saturating_sub(end.now).as_secs_f64() / passed_s;
    // Transfers end when all of them are delivered, regardless of the duration, and transfers that wait for others
    // start late.
    let hops_passed = (end.hops - since.hops) as f64;
    let work = simulation.transfer_hops().filter(|&(done, _)| done > 0 && hops_passed > 0.0);
    let hops_left = work.map(|(done, all)| end.hops as f64 * (all - done) as f64 / done as f64);
    hops_left.map_or(by_time, |hops| by_time.min(hops / hops_passed))
}

/// Runs the beginning of a scenario, creates its tables, and estimates the cost of the complete run.
pub fn estimate(py: Python<'_>, scenario: Scenario, threads: Option<usize>) -> PyResult<String> {
    let begun = Instant::now();
    let scenario = Arc::new(scenario);
    let own = Arc::clone(&scenario);
    let work = move || Simulation::on_threads(&own.spec, up_to(threads));
    let built = interruptible::call(py, || Ok(()), work)?;
    let mut simulation = built.map_err(|error| PyValueError::new_err(error.to_string()))?;
    let build_s = begun.elapsed().as_secs_f64();
    let begun = Instant::now();
    let mark = |simulation: &mut Simulation| Mark {
        wall: begun.elapsed(),
        now: simulation.now(),
        hops: simulation.frame_hops(),
        waiting_bytes: simulation.waiting_bytes(),
    };
    // The first half warms caches and fills queues. The second half is the basis of the estimate.
    let mut half = None;
    let finished = py.detach(|| -> PyResult<bool> {
        while begun.elapsed() < ESTIMATE_FOR {
            match simulation.advance(BUDGET / 16) {
                Err(error) => return Err(SimulationError::new_err(error.to_string())),
                Ok(State::Finished) => return Ok(true),
                Ok(State::Running) => {}
            }
            if half.is_none() && begun.elapsed() * 2 >= ESTIMATE_FOR {
                half = Some(mark(&mut simulation));
            }
        }
        Ok(false)
    })?;
    let (end, memory_bytes) = (mark(&mut simulation), simulation.memory_bytes());
    let zero = Mark { wall: Duration::ZERO, now: Time::ZERO, hops: 0, waiting_bytes: 0 };
    let since = half.filter(|half| half.now < end.now).unwrap_or(zero);
    let hops_passed = (end.hops - since.hops) as f64;
    let duration = scenario.spec.duration;
    let left = if finished { 0.0 } else { part_left(&simulation, &since, &end, duration) };
    // Messages of jobs wait for each other. Therefore at most the posted bytes can wait in queues, regardless of the
    // duration.
    let most_waiting = simulation.posted_bytes().map_or(f64::INFINITY, |bytes| bytes as f64);
    let threads = simulation.threads();
    let ending = cut_short(&mut simulation, Ending::Asked);
    if let Ending::Broken(why) = ending {
        return Err(SimulationError::new_err(why));
    }
    let wall = Wall { load: Duration::ZERO, build: Duration::ZERO, run: end.wall };
    let result = measured(py, &scenario, simulation, &ending, wall)?;
    let rows = |table: &str| result.tables.get(table).map_or(0, |table| table.get().rows());
    let answer = json!({
        "exact": finished,
        "wall_s": build_s + end.wall.as_secs_f64() + left * (end.wall - since.wall).as_secs_f64(),
        "frame_hops": end.hops as f64 + left * hops_passed,
        "memory_bytes": memory_bytes,
        "growth_bytes": (left * end.waiting_bytes.saturating_sub(since.waiting_bytes) as f64).min(most_waiting),
        "rows": {"series": rows("series"), "pauses": rows("pauses")},
        "simulated_s": end.now.as_secs_f64(),
        "duration_s": duration.as_secs_f64(),
        // A run of transfers or jobs ends when they do, before its duration.
        "end_s": (end.now.as_secs_f64() + left * (end.now - since.now).as_secs_f64()).min(duration.as_secs_f64()),
        "memory_limit": scenario.memory_limit.map(units::Bytes::get),
        "threads": threads,
        "flows": scenario.spec.flows.len(),
        "nodes": scenario.spec.nodes.len(),
        "links": scenario.spec.links.len(),
    });
    Ok(answer.to_string())
}

/// Returns nodes and links for drawing, as JSON.
pub fn topology(scenario: &Scenario) -> String {
    let spec = &scenario.spec;
    let name = |id: NodeId| spec.nodes[id.at()].name.as_str();
    let nodes = spec.nodes.iter().zip(&scenario.levels).map(|(node, &level)| DrawnNode {
        name: &node.name,
        role: match node.role {
            Role::Host(_) => "host",
            Role::Switch(_) => "switch",
        },
        level,
    });
    let bps = |rate: BitRate| match rate.fraction() {
        (whole, 1) => Value::from(whole),
        _ => rate.bps_f64().into(),
    };
    let links = spec.links.iter().map(|link| DrawnLink {
        a: name(link.a),
        b: name(link.b),
        rate_bps: bps(link.rates[0]),
        reverse_rate_bps: (link.rates[1] != link.rates[0]).then(|| bps(link.rates[1])),
        delay_ns: link.delay.as_ns_f64(),
    });
    let drawn = Drawn { nodes: nodes.collect(), links: links.collect() };
    serde_json::to_string(&drawn).expect("names and finite numbers")
}

#[derive(Serialize)]
struct Drawn<'a> {
    nodes: Vec<DrawnNode<'a>>,
    links: Vec<DrawnLink<'a>>,
}

#[derive(Serialize)]
struct DrawnNode<'a> {
    name: &'a str,
    role: &'static str,
    level: u8,
}

#[derive(Serialize)]
struct DrawnLink<'a> {
    a: &'a str,
    b: &'a str,
    /// An integer if the rate is whole.
    rate_bps: Value,
    /// Rate from the second end to the first, if it differs.
    #[serde(skip_serializing_if = "Option::is_none")]
    reverse_rate_bps: Option<Value>,
    delay_ns: f64,
}
