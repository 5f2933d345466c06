//! Sessions for Python. The interpreter's lock (GIL) is released during runs.

use crate::run::{RunResult, guarded};
use crate::{SimulationError, load};
use pyo3::exceptions::PyValueError;
use pyo3::prelude::*;
use session::{Kind, Session, SessionError, Status};
use std::sync::{Mutex, MutexGuard, TryLockError};
use std::time::Instant;
use units::{Bytes, Time};

/// Number of events between two checks for signals, which take a few milliseconds.
const BUDGET: u64 = 1 << 16;

/// An event: time in picoseconds, kind, id, sending rank, receiving rank, bytes.
type EventRow = (u64, &'static str, u64, u32, u32, u64);

/// A run that Python drives.
#[pyclass(name = "Session", module = "penstock._core", frozen)]
pub struct PySession {
    /// `None` after the session was closed.
    session: Mutex<Option<Session>>,
    opened: Instant,
}

fn error_of(error: &SessionError) -> PyErr {
    let text = error.to_string();
    match error {
        SessionError::Simulation(_) | SessionError::Unfinished { .. } | SessionError::Stalled { .. } => {
            SimulationError::new_err(text)
        }
        _ => PyValueError::new_err(text),
    }
}

fn time(text: &str) -> PyResult<Time> {
    text.parse().map_err(|why: units::ParseUnitError| {
        PyValueError::new_err(format!("{why}; expected a time with unit, like \"1.5 us\", or nanoseconds"))
    })
}

fn optional_time(text: Option<&str>) -> PyResult<Option<Time>> {
    text.map(time).transpose()
}

fn bytes(text: &str) -> PyResult<u64> {
    let read: Result<Bytes, units::ParseUnitError> = text.parse();
    read.map(Bytes::get).map_err(|why| {
        PyValueError::new_err(format!(
            "{why}; expected a size with unit, like \"1 MB\", or a number of bytes"
        ))
    })
}

impl PySession {
    fn lock(&self) -> PyResult<MutexGuard<'_, Option<Session>>> {
        match self.session.try_lock() {
            Ok(guard) => Ok(guard),
            Err(TryLockError::Poisoned(poisoned)) => Ok(poisoned.into_inner()),
            Err(TryLockError::WouldBlock) => {
                Err(PyValueError::new_err("another thread runs the session; one thread at a time can use it"))
            }
        }
    }

    fn with<T>(&self, work: impl FnOnce(&mut Session) -> PyResult<T>) -> PyResult<T> {
        match self.lock()?.as_mut() {
            Some(session) => work(session),
            None => Err(closed()),
        }
    }
}

fn closed() -> PyErr {
    PyValueError::new_err("the session is closed: open another one")
}

#[pymethods]
impl PySession {
    #[new]
    #[pyo3(signature = (text, file, *, seed = None, allow_files = false, record = false))]
    fn new(
        py: Python<'_>,
        text: &str,
        file: &str,
        seed: Option<u64>,
        allow_files: bool,
        record: bool,
    ) -> PyResult<PySession> {
        let opened = Instant::now();
        let scenario = load_driven(py, text, file, seed, allow_files)?;
        let mut session = guarded(|| Session::of(scenario).map_err(|error| error_of(&error)))?;
        if record {
            session.record();
        }
        Ok(PySession { session: Mutex::new(Some(session)), opened })
    }

    /// Returns the names of the hosts, by rank.
    #[getter]
    fn hosts(&self) -> PyResult<Vec<String>> {
        self.with(|session| Ok(session.hosts().to_vec()))
    }
    /// Returns the current time and the duration, in picoseconds.
    #[getter]
    fn times_ps(&self) -> PyResult<(u64, u64)> {
        self.with(|session| Ok((session.now().ps(), session.duration().ps())))
    }
    /// Returns the number of messages, computations and timers that have not ended.
    #[getter]
    fn under_way(&self) -> PyResult<usize> {
        self.with(|session| Ok(session.under_way()))
    }

    /// Sends a message.
    fn send(&self, from: &str, to: &str, size: &str, at: Option<&str>) -> PyResult<u64> {
        let (size, at) = (bytes(size)?, optional_time(at)?);
        self.with(|session| session.send(from, to, size, at).map_err(|error| error_of(&error)))
    }
    /// Occupies the processor of a host.
    fn compute(&self, host: &str, duration: &str, at: Option<&str>) -> PyResult<u64> {
        let (duration, at) = (time(duration)?, optional_time(at)?);
        self.with(|session| session.compute(host, duration, at).map_err(|error| error_of(&error)))
    }
    /// Starts a timer, which expires at a time or after a delay.
    fn timer(&self, time_or_delay: &str, is_delay: bool) -> PyResult<u64> {
        let given = time(time_or_delay)?;
        self.with(|session| {
            let at = if is_delay { session.now().saturating_add(given) } else { given };
            session.timer(at).map_err(|error| error_of(&error))
        })
    }
    /// Cancels a timer.
    fn cancel(&self, id: u64) -> PyResult<bool> {
        self.with(|session| Ok(session.cancel(id)))
    }

    /// Runs up to the next events, or up to a time. Returns "events", "until", "idle" or "ended". A signal interrupts
    /// the call.
    fn run(&self, py: Python<'_>, until: Option<&str>) -> PyResult<&'static str> {
        let until = optional_time(until)?.unwrap_or(Time::NEVER);
        py.detach(|| {
            let mut guard = self.lock()?;
            let session = guard.as_mut().ok_or_else(closed)?;
            loop {
                let status = guarded(|| session.run(until, BUDGET).map_err(|error| error_of(&error)))?;
                match status {
                    Status::Events => return Ok("events"),
                    Status::Until => return Ok("until"),
                    Status::Idle => return Ok("idle"),
                    Status::Ended => {
                        if until == Time::NEVER {
                            session.at_end().map_err(|error| error_of(&error))?;
                        }
                        return Ok("ended");
                    }
                    Status::More => Python::attach(|py| py.check_signals())?,
                }
            }
        })
    }

    /// Returns the events that have not been taken yet.
    fn take_events(&self) -> PyResult<Vec<EventRow>> {
        self.with(|session| {
            let row = |own: session::Event| -> EventRow {
                (own.time.ps(), Kind::name(own.kind), own.id, own.from, own.to, own.bytes)
            };
            Ok(std::iter::from_fn(|| session.poll_event()).map(row).collect())
        })
    }

    /// Returns the requests so far as a file of messages, and the effective scenario.
    fn recorded(&self) -> PyResult<(Option<String>, String)> {
        self.with(|session| Ok((session.recorded(), session.scenario().effective_toml())))
    }

    /// Runs until all messages have ended, closes the session, and returns the result.
    fn finish(&self, py: Python<'_>) -> PyResult<RunResult> {
        let session = self.lock()?.take().ok_or_else(closed)?;
        let mut interrupted = None;
        let run = py.detach(|| {
            let go_on = || match Python::attach(|py| py.check_signals()) {
                Ok(()) => true,
                Err(error) => {
                    interrupted = Some(error);
                    false
                }
            };
            guarded(|| session.finish(BUDGET, go_on).map_err(|error| error_of(&error)))
        });
        let (scenario, simulation) = run?;
        match interrupted {
            Some(error) => Err(error),
            None => guarded(|| crate::run::of_session(py, &scenario, simulation, self.opened.elapsed())),
        }
    }

    /// Closes the session without a result.
    fn close(&self) -> PyResult<()> {
        self.lock()?.take();
        Ok(())
    }
}

/// Loads a scenario, and adds a job for the session.
fn load_driven(
    py: Python<'_>,
    text: &str,
    file: &str,
    seed: Option<u64>,
    anywhere: bool,
) -> PyResult<scenario::Scenario> {
    match load(py, text, file, seed, anywhere) {
        Ok(scenario) if session::is_driven(&scenario) => Ok(scenario),
        _ => load(py, &session::with_job(text), file, seed, anywhere),
    }
}
