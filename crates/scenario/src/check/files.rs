//! Files that a scenario names, and remarks about their values.

use super::Context;
use crate::Files;
use crate::diagnostics::{Severity, Source};
use crate::place::Place;
use std::fs::File;
use std::io::Read;
use std::path::{Component, Path, PathBuf};
use workload::{Arrivals, Found, FrameSizes, FrameText, LARGEST_FRAME};

/// Maximum size of a file of sizes.
const MAX_FILE: u64 = 16 << 20;

/// Returns the checked frame lengths.
pub fn frame_sizes(frame: &FrameText, at: &Place, context: &mut Context<'_>) -> Option<FrameSizes> {
    let Some((key, path)) = frame.file() else { return take(frame.spec(), at, context) };
    let read = |text: &str, report: &mut Report<'_>| workload::read_sizes(text, LARGEST_FRAME, report);
    table(path, "bytes,weight", read, &at.key(key), context).map(FrameSizes::Empirical)
}

/// Returns the arrival process, with the data of its file if it names one.
pub fn pictures(arrivals: Arrivals, at: &Place, context: &mut Context<'_>) -> Arrivals {
    let Some((key, path)) = arrivals.trace() else { return arrivals };
    let read = |text: &str, report: &mut Report<'_>| workload::read_pictures(text, report);
    match table(path, "kind,bytes", read, &at.key(arrivals.name()).key(key), context) {
        Some(sizes) => arrivals.with_pictures(sizes),
        None => arrivals,
    }
}

/// Returns the value, and reports its remarks.
pub fn take<T>(found: Found<T>, at: &Place, context: &mut Context<'_>) -> Option<T> {
    found.wrong.into_iter().for_each(|why| context.refuse(why, at));
    found.warnings.into_iter().for_each(|why| context.beware(why, at));
    found.value
}

/// Callback for an error: range in a text, problem, accepted values.
pub type Report<'a> = dyn FnMut(std::ops::Range<usize>, String, String) + 'a;

/// Reads a small CSV file with these columns.
pub fn table<T>(
    path: &str,
    columns: &str,
    parse: impl FnOnce(&str, &mut Report<'_>) -> Option<T>,
    at: &Place,
    context: &mut Context<'_>,
) -> Option<T> {
    let text = match context.path(path).and_then(|path| read(&path)) {
        Ok(text) => text,
        Err(why) => {
            let help = context.expects(&format!("a CSV file with the columns {columns}"));
            context.error(at, format!("cannot read \"{path}\": {why}"), help);
            return None;
        }
    };
    let mut found = Vec::new();
    let parsed = parse(&text, &mut |span, message, help| {
        let source = Source { file: path, text: &text };
        found.push(source.at(Severity::Error, span, message, help));
    });
    context.errors += found.len();
    context.findings.extend(found);
    parsed
}

fn read(path: &Path) -> Result<String, String> {
    let file = open(path)?;
    let mut text = String::new();
    let read = file.take(MAX_FILE + 1).read_to_string(&mut text).map_err(|why| why.to_string())?;
    if read as u64 > MAX_FILE {
        return Err("it is larger than 16 MiB".to_string());
    }
    // Spreadsheets write a byte order mark at the start of a text.
    Ok(text.strip_prefix('\u{feff}').map_or(text.clone(), str::to_string))
}

/// Returns the path of a file that a scenario names. Rejects a file outside the folder of the scenario before it is
/// opened, even if a symbolic link within the folder leads to it.
pub fn within(files: Files<'_>, named: &str) -> Result<PathBuf, String> {
    let folder = files.base_dir.filter(|dir| !dir.as_os_str().is_empty()).unwrap_or(Path::new("."));
    let path = folder.join(named);
    if files.anywhere {
        return Ok(path);
    }
    let outside = || "it lies outside the folder of the scenario".to_string();
    let is_plain = |part: Component<'_>| matches!(part, Component::Normal(_) | Component::CurDir);
    let is_inside = Path::new(named).components().all(is_plain);
    // A name outside the folder is not looked up, so that the message does not disclose which files exist.
    let name = if is_inside { path.clone() } else { lexically(&path) };
    let begin = if is_inside { folder.to_path_buf() } else { lexically(folder) };
    if !is_inside && !name.starts_with(&begin) {
        return Err(outside());
    }
    let real = |path: &Path| path.canonicalize().map_err(|why| why.to_string());
    if real(&path)?.starts_with(real(folder)?) { Ok(path) } else { Err(outside()) }
}

/// Returns an absolute path without "." and "..", resolved lexically: symbolic links are not followed.
fn lexically(path: &Path) -> PathBuf {
    let absolute = std::path::absolute(path).unwrap_or_else(|_| path.to_path_buf());
    absolute.components().fold(PathBuf::new(), |mut found, part| {
        match part {
            Component::ParentDir => {
                found.pop();
            }
            Component::CurDir => {}
            _ => found.push(part),
        }
        found
    })
}

/// Opens a regular file: opening a pipe would block until it is written to.
pub fn open(path: &Path) -> Result<File, String> {
    if !std::fs::metadata(path).map_err(|why| why.to_string())?.is_file() {
        return Err("it is not a regular file".to_string());
    }
    File::open(path).map_err(|why| why.to_string())
}
