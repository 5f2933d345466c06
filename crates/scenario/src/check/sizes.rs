//! Lengths of frames, also from a file.

use super::Context;
use crate::diagnostics::{Severity, Source};
use crate::model::{FrameTable, FrameText};
use crate::place::Place;
use std::io::Read;
use units::Bytes;
use workload::FrameSizes;

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
        FrameText::Table(FrameTable::Empirical(path)) => empirical(path, &at.key("empirical"), context),
    }
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
    let full = context.base_dir.map_or_else(|| path.into(), |dir| dir.join(path));
    let text = match read(&full) {
        Ok(text) => text,
        Err(why) => {
            let dir = context.base_dir.map_or(".".into(), |dir| dir.display().to_string());
            context.error(
                at,
                format!("cannot read \"{path}\": {why}"),
                format!("expected a CSV file with the columns bytes,weight, relative to {dir}"),
            );
            return None;
        }
    };
    let mut found = Vec::new();
    let sizes = workload::read_sizes(&text, LARGEST, &mut |span, message, help| {
        let source = Source { file: path, text: &text };
        found.push(source.at(Severity::Error, span, message, help));
    });
    context.errors += found.len();
    context.findings.extend(found);
    sizes.map(FrameSizes::Empirical)
}

fn read(path: &std::path::Path) -> Result<String, String> {
    // A pipe would wait for whoever writes into it.
    if !std::fs::metadata(path).map_err(|why| why.to_string())?.is_file() {
        return Err("it is not a regular file".to_string());
    }
    let file = std::fs::File::open(path).map_err(|why| why.to_string())?;
    let mut text = String::new();
    let read = file.take(MAX_FILE + 1).read_to_string(&mut text).map_err(|why| why.to_string())?;
    if read as u64 > MAX_FILE {
        return Err("it is larger than 16 MiB".to_string());
    }
    // Spreadsheets begin a text with a byte-order mark.
    Ok(text.strip_prefix('\u{feff}').map_or(text.clone(), str::to_string))
}
