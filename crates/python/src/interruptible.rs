//! Runs work without the interpreter's lock (GIL), interruptible by signals.

use pyo3::prelude::*;
use std::io;
use std::panic::{AssertUnwindSafe, catch_unwind, resume_unwind};
use std::sync::Mutex;
use std::sync::mpsc::{RecvTimeoutError, channel};
use std::thread;
use std::time::Duration;

/// Interval between two checks for signals.
const POLL: Duration = Duration::from_millis(50);
/// Stack size of the worker thread: that of a main thread, because scenarios may be deeply nested.
const STACK_BYTES: usize = 16 << 20;

/// Runs work on a separate thread, and handles signals meanwhile.
///
/// Calls `waiting` about every 50 ms. The first error of a signal handler or of `waiting` ends the call; the thread
/// then runs to its end, and its result is dropped.
///
/// # Errors
///
/// The exception of a signal handler or `waiting`, such as `KeyboardInterrupt`; an `OSError` if no thread can be
/// started.
pub fn call<T: Send + 'static>(
    py: Python<'_>,
    mut waiting: impl FnMut() -> PyResult<()>,
    work: impl FnOnce() -> T + Send + 'static,
) -> PyResult<T> {
    let (done, outcome) = channel();
    let body = move || {
        // After an interrupt, the receiver has been dropped.
        let _ = done.send(catch_unwind(AssertUnwindSafe(work)));
    };
    thread::Builder::new().name("penstock-load".into()).stack_size(STACK_BYTES).spawn(body)?;
    let outcome = Mutex::new(outcome);
    loop {
        let received = py.detach(|| {
            let outcome = outcome.lock().unwrap_or_else(|poisoned| poisoned.into_inner());
            outcome.recv_timeout(POLL)
        });
        match received {
            Ok(Ok(value)) => return Ok(value),
            Ok(Err(panic)) => resume_unwind(panic),
            Err(RecvTimeoutError::Timeout) => {
                py.check_signals()?;
                waiting()?;
            }
            Err(RecvTimeoutError::Disconnected) => {
                return Err(io::Error::other("the thread that loads a scenario has ended").into());
            }
        }
    }
}
