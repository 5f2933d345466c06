//! The C interface of Penstock: sessions behind opaque handles. `include/penstock.h` describes each function.
//!
//! Every function checks its pointers for null, catches panics, and stores the text of an error for
//! [`penstock_last_error`].

#![warn(clippy::too_many_lines)]
#![allow(unsafe_code)]

mod border;
mod tables;

use border::{Handle, Wrong, argument, guarded, text, with, write_to};
use session::{Session, Status};
use std::ffi::{CStr, CString, c_char};
use std::path::Path;
use std::ptr;
use units::Time;

/// Version of the interface; equal to `PENSTOCK_ABI_VERSION` in the header.
pub const ABI_VERSION: u32 = 1;
/// Number of events between two checks of a run.
const BUDGET: u64 = 1 << 20;

/// An event, with the layout of the header.
#[repr(C)]
#[derive(Clone, Copy, Debug, Default)]
pub struct PenstockEvent {
    /// Time in picoseconds.
    pub time: u64,
    /// Id of the message, computation or timer.
    pub id: u64,
    /// Size of the message in bytes.
    pub bytes: u64,
    /// Kind; see [`session::Kind`].
    pub kind: u32,
    /// Rank that sends the message, or that computes.
    pub from: u32,
    /// Rank that receives the message, or that computes.
    pub to: u32,
    /// Padding.
    pub unused: u32,
}

/// Returns the version of the interface.
#[unsafe(no_mangle)]
pub extern "C" fn penstock_abi_version() -> u32 {
    ABI_VERSION
}

/// Returns the version of the library.
#[unsafe(no_mangle)]
pub extern "C" fn penstock_version() -> *const c_char {
    const VERSION: &CStr =
        match CStr::from_bytes_with_nul(concat!(env!("CARGO_PKG_VERSION"), "\0").as_bytes()) {
            Ok(version) => version,
            Err(_) => c"",
        };
    VERSION.as_ptr()
}

/// Returns the text of the last error of this thread.
#[unsafe(no_mangle)]
pub extern "C" fn penstock_last_error() -> *const c_char {
    border::last_error()
}

/// Opens a scenario file.
///
/// # Safety
/// `path` must be null or a C string; `seed` must be null or point to a number.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn penstock_open(path: *const c_char, seed: *const u64) -> *mut Handle {
    let opened = guarded(|| {
        // SAFETY: guaranteed by the caller.
        let (path, seed) = unsafe { (text(path, "path")?, seed.as_ref()) };
        let source = std::fs::read_to_string(path);
        let source = source.map_err(|why| Wrong::input(format!("cannot read \"{path}\": {why}")))?;
        open(&source, path, seed)
    });
    opened.unwrap_or(ptr::null_mut())
}

/// Opens the text of a scenario.
///
/// # Safety
/// `scenario` and `name` must be null or C strings; `seed` must be null or point to a number.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn penstock_open_text(
    scenario: *const c_char,
    name: *const c_char,
    seed: *const u64,
) -> *mut Handle {
    let opened = guarded(|| {
        // SAFETY: guaranteed by the caller.
        let (scenario, name, seed) = unsafe { (text(scenario, "text")?, text(name, "name")?, seed.as_ref()) };
        open(scenario, name, seed)
    });
    opened.unwrap_or(ptr::null_mut())
}

fn open(scenario: &str, name: &str, seed: Option<&u64>) -> Result<*mut Handle, Wrong> {
    let session = Session::open(scenario, name, seed.copied(), session::read_no_files)?;
    let hosts = session.hosts().iter().map(|host| CString::new(host.as_str()).unwrap_or_default()).collect();
    Ok(Box::into_raw(Box::new(Handle { session: Some(session), hosts })))
}

/// Closes a session.
///
/// # Safety
/// `session` must be null, or a session that is not closed. It must not be used afterwards.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn penstock_close(session: *mut Handle) {
    if !session.is_null() {
        // SAFETY: the pointer comes from `open`, and the caller passes back ownership.
        let handle = unsafe { Box::from_raw(session) };
        let _ = guarded(|| {
            drop(handle);
            Ok(0)
        });
    }
}

/// Returns the number of ranks.
///
/// # Safety
/// `session` must be null, or a session that is not closed.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn penstock_ranks(session: *const Handle) -> u32 {
    // SAFETY: guaranteed by the caller.
    unsafe { session.as_ref() }.map_or(0, |own| own.hosts.len() as u32)
}

/// Looks up the rank of a host.
///
/// # Safety
/// `session` must be null, or a session that is not closed; `host` null or a C string; `rank` null or writable.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn penstock_rank(session: *const Handle, host: *const c_char, rank: *mut u32) -> i32 {
    // SAFETY: guaranteed by the caller.
    unsafe {
        border::read(session, |session| {
            let found = session.rank(text(host, "host")?)?;
            write_to(rank, found);
            Ok(0)
        })
    }
}

/// Returns the name of a rank's host.
///
/// # Safety
/// `session` must be null, or a session that is not closed.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn penstock_host(session: *const Handle, rank: u32) -> *const c_char {
    // SAFETY: guaranteed by the caller.
    let host = unsafe { session.as_ref() }.and_then(|own| own.hosts.get(rank as usize));
    host.map_or(ptr::null(), |host| host.as_ptr())
}

/// Returns the current time of the run.
///
/// # Safety
/// `session` must be null, or a session that is not closed.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn penstock_now(session: *const Handle) -> u64 {
    // SAFETY: guaranteed by the caller.
    unsafe { border::number(session, |session| session.now().ps()) }
}

/// Returns the duration of the scenario.
///
/// # Safety
/// `session` must be null, or a session that is not closed.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn penstock_duration(session: *const Handle) -> u64 {
    // SAFETY: guaranteed by the caller.
    unsafe { border::number(session, |session| session.duration().ps()) }
}

/// Returns the number of messages, computations and timers that have not ended.
///
/// # Safety
/// `session` must be null, or a session that is not closed.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn penstock_under_way(session: *const Handle) -> u64 {
    // SAFETY: guaranteed by the caller.
    unsafe { border::number(session, |session| session.under_way() as u64) }
}

/// Converts a start time; [`u64::MAX`] is the current time.
fn start(at: u64) -> Option<Time> {
    (at != u64::MAX).then(|| Time::from_ps(at))
}

/// Sends a message.
///
/// # Safety
/// `session` must be null, or a session that is not closed; `id` must be null or writable.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn penstock_send(
    session: *mut Handle,
    from: u32,
    to: u32,
    bytes: u64,
    at: u64,
    id: *mut u64,
) -> i32 {
    // SAFETY: guaranteed by the caller.
    unsafe {
        with(session, |session| {
            write_to(id, session.send_ranks((from, to), bytes, start(at))?);
            Ok(0)
        })
    }
}

/// Occupies the processor of a rank.
///
/// # Safety
/// `session` must be null, or a session that is not closed; `id` must be null or writable.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn penstock_compute(
    session: *mut Handle,
    rank: u32,
    time: u64,
    at: u64,
    id: *mut u64,
) -> i32 {
    // SAFETY: guaranteed by the caller.
    unsafe {
        with(session, |session| {
            write_to(id, session.compute_rank(rank, Time::from_ps(time), start(at))?);
            Ok(0)
        })
    }
}

/// Starts a timer.
///
/// # Safety
/// `session` must be null, or a session that is not closed; `id` must be null or writable.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn penstock_timer(session: *mut Handle, at: u64, id: *mut u64) -> i32 {
    // SAFETY: guaranteed by the caller.
    unsafe {
        with(session, |session| {
            write_to(id, session.timer(Time::from_ps(at))?);
            Ok(0)
        })
    }
}

/// Cancels a timer.
///
/// # Safety
/// `session` must be null, or a session that is not closed.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn penstock_cancel(session: *mut Handle, id: u64) -> i32 {
    // SAFETY: guaranteed by the caller.
    unsafe { with(session, |session| Ok(session.cancel(id).into())) }
}

/// Runs up to the next events.
///
/// # Safety
/// `session` must be null, or a session that is not closed.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn penstock_run(session: *mut Handle, until: u64) -> i32 {
    let until = Time::from_ps(until);
    // SAFETY: guaranteed by the caller.
    unsafe {
        with(session, |session| {
            loop {
                return Ok(match session.run(until, BUDGET)? {
                    Status::More => continue,
                    Status::Events => 0,
                    Status::Until => 1,
                    Status::Idle => 2,
                    Status::Ended => {
                        if until == Time::NEVER {
                            session.at_end()?;
                        }
                        3
                    }
                });
            }
        })
    }
}

/// Takes events.
///
/// # Safety
/// `session` must be null, or a session that is not closed; `events` must be null, or have room for `capacity` events.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn penstock_take_events(
    session: *mut Handle,
    events: *mut PenstockEvent,
    capacity: usize,
) -> usize {
    // SAFETY: guaranteed by the caller.
    let Some(session) = (unsafe { session.as_mut() }).and_then(|own| own.session.as_mut()) else { return 0 };
    let capacity = if events.is_null() { 0 } else { capacity };
    let mut taken = 0;
    while taken < capacity
        && let Some(own) = session.poll_event()
    {
        let event = PenstockEvent {
            time: own.time.ps(),
            id: own.id,
            bytes: own.bytes,
            kind: own.kind as u32,
            from: own.from,
            to: own.to,
            unused: 0,
        };
        // SAFETY: the caller guarantees room for `capacity` events.
        unsafe { events.add(taken).write(event) };
        taken += 1;
    }
    taken
}

/// Starts recording requests.
///
/// # Safety
/// `session` must be null, or a session that is not closed.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn penstock_record(session: *mut Handle) -> i32 {
    // SAFETY: guaranteed by the caller.
    unsafe {
        with(session, |session| {
            session.record();
            Ok(0)
        })
    }
}

/// Writes the recorded requests.
///
/// # Safety
/// `session` must be null, or a session that is not closed; `path` must be null or a C string.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn penstock_write_messages(session: *const Handle, path: *const c_char) -> i32 {
    // SAFETY: guaranteed by the caller.
    unsafe {
        border::read(session, |session| {
            let path = text(path, "path")?;
            let recorded = session.recorded();
            let recorded =
                recorded.ok_or_else(|| argument("the session records nothing: call penstock_record()"))?;
            std::fs::write(path, recorded)
                .map_err(|why| Wrong::input(format!("cannot write \"{path}\": {why}")))?;
            Ok(0)
        })
    }
}

/// Ends a session, and writes its result.
///
/// # Safety
/// `session` must be null, or a session that is not closed; `directory` null or a C string; `fingerprint` null or
/// writable.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn penstock_finish(
    session: *mut Handle,
    directory: *const c_char,
    fingerprint: *mut u64,
) -> i32 {
    let finished = guarded(|| {
        // SAFETY: guaranteed by the caller.
        let handle = unsafe { session.as_mut() }.ok_or_else(border::no_session)?;
        // SAFETY: guaranteed by the caller.
        let directory = if directory.is_null() {
            None
        } else {
            Some(Path::new(unsafe { text(directory, "directory") }?))
        };
        let session = handle.session.take().ok_or_else(border::is_finished)?;
        let (_, mut simulation) = session.finish(BUDGET, || true)?;
        // SAFETY: guaranteed by the caller.
        unsafe { write_to(fingerprint, simulation.fingerprint()) };
        if let Some(directory) = directory {
            tables::write(&simulation.tables(), directory)?;
        }
        Ok(0)
    });
    finished.unwrap_or_else(|code| code)
}
