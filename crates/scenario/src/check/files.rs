//! Files that a scenario names, and what is said of values that can be in one.

use super::Context;
use crate::diagnostics::{Severity, Source};
use crate::place::Place;
use std::fs::File;
use std::io::Read;
use std::path::Path;
use workload::{Arrivals, Found, FrameSizes, FrameText, LARGEST_FRAME};

/// Larger files of sizes are refused.
const MAX_FILE: u64 = 16 << 20;

/// The checked lengths of frames.
pub fn frame_sizes(frame: &FrameText, at: &Place, context: &mut Context<'_>) -> Option<FrameSizes> {
    let Some((key, path)) = frame.file() else { return take(frame.spec(), at, context) };
    let read = |text: &str, report: &mut Report<'_>| workload::read_sizes(text, LARGEST_FRAME, report);
    table(path, "bytes,weight", read, &at.key(key), context).map(FrameSizes::Empirical)
}

/// The arrival process with what its file has, if it names one.
pub fn pictures(arrivals: Arrivals, at: &Place, context: &mut Context<'_>) -> Arrivals {
    let Some((key, path)) = arrivals.trace() else { return arrivals };
    let read = |text: &str, report: &mut Report<'_>| workload::read_pictures(text, report);
    match table(path, "kind,bytes", read, &at.key(arrivals.name()).key(key), context) {
        Some(sizes) => arrivals.with_pictures(sizes),
        None => arrivals,
    }
}

/// The value that was found; what is to be said of it is reported.
pub fn take<T>(found: Found<T>, at: &Place, context: &mut Context<'_>) -> Option<T> {
    found.wrong.into_iter().for_each(|why| context.refuse(why, at));
    found.warnings.into_iter().for_each(|why| context.beware(why, at));
    found.value
}

/// Takes a place in a text, what is wrong there and what is accepted.
pub type Report<'a> = dyn FnMut(std::ops::Range<usize>, String, String) + 'a;

/// Reads a small CSV file with these columns.
pub fn table<T>(
    path: &str,
    columns: &str,
    parse: impl FnOnce(&str, &mut Report<'_>) -> Option<T>,
    at: &Place,
    context: &mut Context<'_>,
) -> Option<T> {
    let text = match read(&context.path(path)) {
        Ok(text) => text,
        Err(why) => {
            context.error(
                at,
                format!("cannot read \"{path}\": {why}"),
                format!(
                    "expected a CSV file with the columns {columns}, relative to {}",
                    context.directory()
                ),
            );
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
    // Spreadsheets begin a text with a byte-order mark.
    Ok(text.strip_prefix('\u{feff}').map_or(text.clone(), str::to_string))
}

/// Opens a regular file: a pipe would wait for whoever writes into it.
pub fn open(path: &Path) -> Result<File, String> {
    if !std::fs::metadata(path).map_err(|why| why.to_string())?.is_file() {
        return Err("it is not a regular file".to_string());
    }
    File::open(path).map_err(|why| why.to_string())
}
