//! GOAL schedules that jobs of a scenario name.

use super::{Context, files};
use crate::place::Place;
use program::{Direction, Program, Unmatched, Work, read_binary, read_text};
use std::io::Read;
use transport::HostEvent;

/// Maximum size of a file.
const MAX_FILE: u64 = 4 << 30;
/// First bytes of a binary schedule, and of one that an earlier LogGOPSim run has overwritten.
const BINARY: [[u8; 8]; 2] = [4223u64.to_le_bytes(), 2342u64.to_le_bytes()];
/// Maximum number of warnings of one kind.
const MOST_WARNINGS: usize = 3;

/// Reads the program of a GOAL schedule, text or binary.
pub fn read(named: &str, at: &Place, context: &mut Context<'_>) -> Option<Program> {
    let bytes = match context.path(named).and_then(|path| bytes_of(&path)) {
        Ok(bytes) => bytes,
        Err(why) => {
            let help = context.expects("a GOAL schedule");
            context.error(at, format!("cannot read \"{named}\": {why}"), help);
            return None;
        }
    };
    let is_binary = BINARY.iter().any(|magic| bytes.starts_with(magic));
    let found = if is_binary { read_binary(&bytes) } else { read_text(&bytes) };
    let read = match found {
        Ok(read) => read,
        Err(why) => {
            let help = "expected a GOAL schedule of LogGOPSim, as text or binary";
            context.error(at, format!("\"{named}\": {why}"), help);
            return None;
        }
    };
    for repair in &read.repairs {
        context.warn(at, format!("\"{named}\": {repair}"), "the schedule runs without it");
    }
    let largest = read.program.ranks().iter().flat_map(|rank| rank.operations());
    let too_large = largest.filter_map(|own| match own.work() {
        Work::Send { tag, .. } if tag >= HostEvent::MAX_TAG => Some(tag),
        _ => None,
    });
    if let Some(tag) = too_large.into_iter().next() {
        let help = format!("expected tags below {}", HostEvent::MAX_TAG);
        context.error(at, format!("\"{named}\": a send with tag {tag}"), help);
        return None;
    }
    warn_of_unmatched(named, &read.program, at, context);
    (read.program.ranks().len() >= 2).then_some(read.program).or_else(|| {
        context.error(at, format!("\"{named}\" has fewer than 2 ranks"), "expected at least 2");
        None
    })
}

fn bytes_of(path: &std::path::Path) -> Result<Vec<u8>, String> {
    let mut bytes = Vec::new();
    let read =
        files::open(path)?.take(MAX_FILE + 1).read_to_end(&mut bytes).map_err(|why| why.to_string())?;
    if read as u64 > MAX_FILE { Err("it is larger than 4 GiB".to_string()) } else { Ok(bytes) }
}

/// Warns of receives without a matching send, whose ranks will wait forever.
fn warn_of_unmatched(named: &str, program: &Program, at: &Place, context: &mut Context<'_>) {
    let all = program.unmatched();
    let waits: Vec<&Unmatched> = all.iter().filter(|one| one.direction == Direction::Receives).collect();
    for one in waits.iter().take(MOST_WARNINGS) {
        let Unmatched { from, to, tag, count, .. } = one;
        let message = format!(
            "\"{named}\": rank {to} receives {count} more messages with tag {tag} of rank {from} than that one sends"
        );
        context.warn(at, message, format!("the job will not finish: rank {to} waits forever"));
    }
}
