//! Lengths of frames, also from a file.

use super::Context;
use crate::diagnostics::{Severity, Source};
use crate::model::{FrameTable, FrameText};
use crate::place::Place;
use std::fs::File;
use std::io::Read;
use std::path::Path;
use units::Bytes;
use workload::{FrameSizes, SizeShape};

/// The largest frame of the engine: a jumbo frame of 9216 B of payload with header, tag and FCS.
pub const LARGEST: u64 = 9216 + 22;
const JUMBO: u64 = 9216;
/// Larger files of sizes are refused.
const MAX_FILE: u64 = 16 << 20;

/// The checked lengths.
pub fn lower(frame: &FrameText, at: &Place, context: &mut Context<'_>) -> Option<FrameSizes> {
    match frame {
        FrameText::Fixed(bytes) => size(*bytes, at, context).map(FrameSizes::Fixed),
        FrameText::Word(_) => Some(FrameSizes::Imix),
        FrameText::Table(FrameTable::Uniform { min, max }) => {
            let at = at.key("uniform");
            let (min, max) = (size(*min, &at.key("min"), context), size(*max, &at.key("max"), context));
            let (min, max) = (min?, max?);
            if min > max {
                context.error(
                    &at.key("min"),
                    format!("min {min} B is above max {max} B"),
                    "expected min <= max",
                );
            }
            Some(FrameSizes::Uniform { min, max })
        }
        FrameText::Table(FrameTable::Bimodal { small, large, small_share }) => {
            let at = at.key("bimodal");
            probability(*small_share, "small_share", &at.key("small_share"), context);
            let (small, large) =
                (size(*small, &at.key("small"), context), size(*large, &at.key("large"), context));
            let (small, large) = (small?, large?);
            if small > large {
                context.warn(
                    &at.key("small"),
                    format!("small {small} B is above large {large} B"),
                    "small_share is the share of small",
                );
            }
            Some(FrameSizes::Bimodal { small, large, small_share: *small_share })
        }
        FrameText::Table(FrameTable::Exponential { mean, min, max }) => {
            shape(SizeShape::Exponential, [*mean, *min, *max], &at.key("exponential"), context)
        }
        FrameText::Table(FrameTable::LogNormal { mean, sigma, min, max }) => {
            let at = at.key("log_normal");
            if !(*sigma > 0.0 && *sigma <= 5.0) {
                let accepted = "expected a number above 0, at most 5, like 1";
                context.error(&at.key("sigma"), format!("sigma {sigma}"), accepted);
                return None;
            }
            shape(SizeShape::LogNormal { sigma: *sigma }, [*mean, *min, *max], &at, context)
        }
        FrameText::Table(FrameTable::Empirical(path)) => empirical(path, &at.key("empirical"), context),
    }
}

/// A distribution that is cut to a range: its mean, least and greatest length.
fn shape(
    shape: SizeShape,
    [mean, min, max]: [Bytes; 3],
    at: &Place,
    context: &mut Context<'_>,
) -> Option<FrameSizes> {
    let (least, most) = (size(min, &at.key("min"), context), size(max, &at.key("max"), context));
    let (least, most) = (least?, most?);
    let sizes = shape.sizes(mean.get() as f64, least, most);
    if sizes.is_none() {
        let message = format!("a mean of {mean} of lengths from {min} to {max}");
        context.error(&at.key("mean"), message, "expected a mean between `min` and `max`");
    }
    sizes.map(FrameSizes::Empirical)
}

/// Reports what is no probability.
pub fn probability(value: f64, key: &str, at: &Place, context: &mut Context<'_>) {
    if !(0.0..=1.0).contains(&value) {
        let percent = if (1.0..=100.0).contains(&value) {
            format!("; did you mean {}?", value / 100.0)
        } else {
            String::new()
        };
        context.error(at, format!("{key} {value} is no probability"), format!("expected 0 to 1{percent}"));
    }
}

/// A length that frames may have.
pub fn size(bytes: Bytes, at: &Place, context: &mut Context<'_>) -> Option<u16> {
    let bytes = bytes.get();
    match u16::try_from(bytes) {
        Ok(size) if (1..=LARGEST).contains(&bytes) => {
            if bytes < u64::from(frame::MIN_FRAME_BYTES) || bytes > JUMBO {
                context.warn(
                    at,
                    format!("a frame of {bytes} B is not standard"),
                    "Ethernet has 64 B to 1522 B, with jumbo frames up to 9216 B",
                );
            }
            Some(size)
        }
        _ => {
            context.error(
                at,
                format!("a frame of {bytes} B is outside the range"),
                format!("expected 1 B to {LARGEST} B, DA to FCS"),
            );
            None
        }
    }
}

fn empirical(path: &str, at: &Place, context: &mut Context<'_>) -> Option<FrameSizes> {
    let read = |text: &str, report: &mut Report<'_>| workload::read_sizes(text, LARGEST, report);
    table(path, "bytes,weight", read, at, context).map(FrameSizes::Empirical)
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
