//! Invariants of GOAL schedules, as text and binary. An invalid schedule is rejected with a place and a reason. A valid
//! one can be written and read back identically in both formats.
//!
//! The first byte of an input selects the format of the rest.

use crate::edits::{Random, byte, change};
use program::{Read, read_binary, read_text, write_binary, write_text};
use rand::RngExt;

const TEXT: &str = "num_ranks 3\nrank 0 {\nl1: calc 1000 cpu 1\nl2: send 64b to 1 tag 3 cpu 0 nic 1\nl2 requires l1\n\
    c: recv 8b from 2\nc irequires l2\nl77: send 0b to 9999\nl77 requires c\n}\nrank 1 {\n// any\nrecv 64b from -1 tag -1\n}\n\
    rank 2 {\nsend 8b to 0 /* answered */\n}\n";

/// Generates a changed schedule.
pub fn draw(_: &[Vec<u8>], random: &mut Random) -> Vec<u8> {
    let binary: bool = random.random();
    let mut file = TEXT.as_bytes().to_vec();
    if binary {
        file = read_text(&file).and_then(|read| write_binary(&read.program)).unwrap_or_default();
        (0..random.random_range(1..4)).for_each(|_| byte(&mut file, random));
    } else {
        change(&mut file, random);
    }
    file.insert(0, u8::from(binary));
    file
}

/// Reads the schedule.
///
/// # Errors
/// The violated invariant.
pub fn check(input: &[u8]) -> Result<(), String> {
    let Some((&which, file)) = input.split_first() else { return Ok(()) };
    let read = if which % 2 == 1 { read_binary(file) } else { read_text(file) };
    let program = match read {
        Ok(Read { program, .. }) => program,
        Err(why) if why.message.is_empty() => return Err("refused without a reason".into()),
        Err(_) => return Ok(()),
    };
    if program.operations() > file.len() || program.dependencies() > file.len() {
        return Err("more operations or dependencies than bytes".into());
    }
    let text = write_text(&program).map_err(|why| format!("not written: {why}"))?;
    let again = read_text(text.as_bytes()).map_err(|why| format!("own text is refused: {why}"))?;
    let binary = write_binary(&program).map_err(|why| format!("not written: {why}"))?;
    let from_binary = read_binary(&binary).map_err(|why| format!("own binary is refused: {why}"))?;
    if again.program != program || from_binary.program != program {
        return Err("another program comes back".into());
    }
    Ok(())
}
