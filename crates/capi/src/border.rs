//! The border between C and Rust: pointers are checked, panics become codes, errors become texts.

use session::{Session, SessionError};
use std::cell::RefCell;
use std::ffi::{CStr, CString, c_char};
use std::panic::{AssertUnwindSafe, catch_unwind};

/// A session as C holds it.
pub struct Handle {
    /// `None`: it is finished.
    pub(crate) session: Option<Session>,
    /// Names of hosts, by rank.
    pub(crate) hosts: Vec<CString>,
}

/// An error: its code and its text.
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
    /// A file that cannot be used.
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

/// A value that cannot be used.
pub(crate) fn argument(text: &str) -> Wrong {
    Wrong { code: ARGUMENT, text: text.to_string() }
}
/// A session that is null.
pub(crate) fn no_session() -> Wrong {
    argument("the session is NULL")
}
/// A session that takes no calls any more.
pub(crate) fn is_finished() -> Wrong {
    argument("the session is finished: penstock_close() is the only call left")
}

/// The text of the last error.
pub(crate) fn last_error() -> *const c_char {
    LAST_ERROR.with(|last| last.try_borrow().map_or(c"".as_ptr(), |text| text.as_ptr()))
}

fn note(text: &str) {
    let text = CString::new(text.replace('\0', "?")).unwrap_or_default();
    LAST_ERROR.with(|last| *last.borrow_mut() = text);
}

/// Does work that may fail or panic. An error leaves its text, and becomes its code.
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

/// Calls a session that is not finished.
///
/// # Safety
/// `session` is null, or a session that is not closed and that nothing else uses.
pub(crate) unsafe fn with(
    session: *mut Handle,
    work: impl FnOnce(&mut Session) -> Result<i32, Wrong>,
) -> i32 {
    let done = guarded(|| {
        // SAFETY: promised by the caller.
        let handle = unsafe { session.as_mut() }.ok_or_else(no_session)?;
        work(handle.session.as_mut().ok_or_else(is_finished)?)
    });
    done.unwrap_or_else(|code| code)
}

/// Reads a session that is not finished.
///
/// # Safety
/// `session` is null, or a session that is not closed and that nothing else changes.
pub(crate) unsafe fn read(session: *const Handle, work: impl FnOnce(&Session) -> Result<i32, Wrong>) -> i32 {
    let done = guarded(|| {
        // SAFETY: promised by the caller.
        let handle = unsafe { session.as_ref() }.ok_or_else(no_session)?;
        work(handle.session.as_ref().ok_or_else(is_finished)?)
    });
    done.unwrap_or_else(|code| code)
}

/// A number of a session; 0 if it is null or finished.
///
/// # Safety
/// `session` is null, or a session that is not closed and that nothing else changes.
pub(crate) unsafe fn number(session: *const Handle, of: impl FnOnce(&Session) -> u64) -> u64 {
    // SAFETY: promised by the caller.
    unsafe { session.as_ref() }.and_then(|own| own.session.as_ref()).map_or(0, of)
}

/// A text of the caller.
///
/// # Safety
/// `pointer` is null, or a C string that lives as long as the result.
pub(crate) unsafe fn text<'a>(pointer: *const c_char, name: &str) -> Result<&'a str, Wrong> {
    if pointer.is_null() {
        return Err(argument(&format!("{name} is NULL: expected a text")));
    }
    // SAFETY: promised by the caller.
    let text = unsafe { CStr::from_ptr(pointer) };
    text.to_str().map_err(|_| argument(&format!("{name} is not UTF-8 text")))
}

/// Writes a value, if there is a place for it.
///
/// # Safety
/// `place` is null or writable.
pub(crate) unsafe fn write_to<T>(place: *mut T, value: T) {
    if !place.is_null() {
        // SAFETY: promised by the caller.
        unsafe { place.write(value) };
    }
}
