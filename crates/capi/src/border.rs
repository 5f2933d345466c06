//! The boundary between C and Rust: checks pointers, and converts panics to codes and errors to texts.

use session::{Session, SessionError};
use std::cell::RefCell;
use std::ffi::{CStr, CString, c_char};
use std::panic::{AssertUnwindSafe, catch_unwind};

/// A session handle of C.
pub struct Handle {
    /// The session; `None` after it has been finished.
    pub(crate) session: Option<Session>,
    /// Names of hosts, by rank.
    pub(crate) hosts: Vec<CString>,
}

/// An error with code and text.
pub(crate) struct Wrong {
    code: i32,
    text: String,
}

const ARGUMENT: i32 = -1;
const RUN: i32 = -2;
const INPUT: i32 = -3;
const DEFECT: i32 = -4;

thread_local! {
    static LAST_ERROR: RefCell<CString> = RefCell::default();
}

impl Wrong {
    /// Creates an error about a file that cannot be read or written.
    pub fn input(text: String) -> Wrong {
        Wrong { code: INPUT, text }
    }
}

impl From<SessionError> for Wrong {
    fn from(error: SessionError) -> Wrong {
        let code = match error {
            SessionError::Scenario(_) => INPUT,
            SessionError::Simulation(_) | SessionError::Unfinished { .. } | SessionError::Stalled { .. } => {
                RUN
            }
            _ => ARGUMENT,
        };
        Wrong { code, text: error.to_string() }
    }
}

/// Creates an error about an invalid value.
pub(crate) fn argument(text: &str) -> Wrong {
    Wrong { code: ARGUMENT, text: text.to_string() }
}
/// Creates an error about a null session.
pub(crate) fn no_session() -> Wrong {
    argument("the session is NULL")
}
/// Creates an error about a session that has been finished.
pub(crate) fn is_finished() -> Wrong {
    argument("the session is finished: penstock_close() is the only call left")
}

/// Returns the text of the last error of this thread.
pub(crate) fn last_error() -> *const c_char {
    LAST_ERROR.with(|last| last.try_borrow().map_or(c"".as_ptr(), |text| text.as_ptr()))
}

fn note(text: &str) {
    let text = CString::new(text.replace('\0', "?")).unwrap_or_default();
    LAST_ERROR.with(|last| *last.borrow_mut() = text);
}

/// Runs work that may fail or panic. Stores the text of an error, and returns its code.
pub(crate) fn guarded<T>(work: impl FnOnce() -> Result<T, Wrong>) -> Result<T, i32> {
    let wrong = match catch_unwind(AssertUnwindSafe(work)) {
        Ok(Ok(value)) => {
            note("");
            return Ok(value);
        }
        Ok(Err(wrong)) => wrong,
        Err(payload) => Wrong { code: DEFECT, text: fabric::SimulationError::of_panic(payload).to_string() },
    };
    note(&wrong.text);
    Err(wrong.code)
}

/// Calls `work` with a session that has not been finished.
///
/// # Safety
/// `session` must be null, or a session that is not closed and not in use elsewhere.
pub(crate) unsafe fn with(
    session: *mut Handle,
    work: impl FnOnce(&mut Session) -> Result<i32, Wrong>,
) -> i32 {
    let done = guarded(|| {
        // SAFETY: guaranteed by the caller.
        let handle = unsafe { session.as_mut() }.ok_or_else(no_session)?;
        work(handle.session.as_mut().ok_or_else(is_finished)?)
    });
    done.unwrap_or_else(|code| code)
}

/// Calls `work` with read access to a session that has not been finished.
///
/// # Safety
/// `session` must be null, or a session that is not closed and not modified elsewhere.
pub(crate) unsafe fn read(session: *const Handle, work: impl FnOnce(&Session) -> Result<i32, Wrong>) -> i32 {
    let done = guarded(|| {
        // SAFETY: guaranteed by the caller.
        let handle = unsafe { session.as_ref() }.ok_or_else(no_session)?;
        work(handle.session.as_ref().ok_or_else(is_finished)?)
    });
    done.unwrap_or_else(|code| code)
}

/// Returns a number from a session; 0 if the session is null or finished.
///
/// # Safety
/// `session` must be null, or a session that is not closed and not modified elsewhere.
pub(crate) unsafe fn number(session: *const Handle, of: impl FnOnce(&Session) -> u64) -> u64 {
    // SAFETY: guaranteed by the caller.
    unsafe { session.as_ref() }.and_then(|own| own.session.as_ref()).map_or(0, of)
}

/// Converts a C string of the caller.
///
/// # Safety
/// `pointer` must be null, or a C string that lives as long as the result.
pub(crate) unsafe fn text<'a>(pointer: *const c_char, name: &str) -> Result<&'a str, Wrong> {
    if pointer.is_null() {
        return Err(argument(&format!("{name} is NULL: expected a text")));
    }
    // SAFETY: guaranteed by the caller.
    let text = unsafe { CStr::from_ptr(pointer) };
    text.to_str().map_err(|_| argument(&format!("{name} is not UTF-8 text")))
}

/// Writes a value, unless the pointer is null.
///
/// # Safety
/// `place` must be null or writable.
pub(crate) unsafe fn write_to<T>(place: *mut T, value: T) {
    if !place.is_null() {
        // SAFETY: guaranteed by the caller.
        unsafe { place.write(value) };
    }
}
