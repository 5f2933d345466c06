//! Errors of programs and of their files.

use std::fmt;

/// The place of an error.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Place {
    /// The program or the file as a whole.
    File,
    /// Line of a text, from 1.
    Line(usize),
    /// Offset in a binary file.
    Byte(u64),
    /// Operation of a program in memory.
    Operation {
        /// Number of the rank, from 0.
        rank: u32,
        /// Number of the operation in that rank, from 0.
        operation: u32,
    },
}

impl fmt::Display for Place {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Place::File => write!(f, "file"),
            Place::Line(line) => write!(f, "line {line}"),
            Place::Byte(byte) => write!(f, "byte {byte}"),
            Place::Operation { rank, operation } => write!(f, "rank {rank}, operation {operation}"),
        }
    }
}

/// Error of a program that cannot be built, read or written.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct ProgramError {
    /// Place of the error.
    pub place: Place,
    /// The invalid value, the accepted ones, and what was probably meant.
    pub message: String,
}

impl ProgramError {
    pub(crate) fn new(place: Place, message: impl Into<String>) -> ProgramError {
        ProgramError { place, message: message.into() }
    }
}

impl fmt::Display for ProgramError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self.place {
            Place::File => write!(f, "{}", self.message),
            place => write!(f, "{place}: {}", self.message),
        }
    }
}

impl std::error::Error for ProgramError {}

/// Returns the message about a peer that is not a rank.
pub(crate) fn no_such_rank(peer: u32, ranks: usize) -> String {
    match ranks.checked_sub(1) {
        Some(last) => format!("the peer is rank {peer}: the program has ranks 0 to {last}"),
        None => format!("the peer is rank {peer}: the program has no ranks"),
    }
}

/// A repair, and how often it was made.
#[derive(Default)]
pub(crate) struct Repair {
    count: u64,
    first: Option<String>,
}

impl Repair {
    /// Counts one repair; `first` describes the first one.
    pub(crate) fn count(&mut self, first: impl FnOnce() -> String) {
        self.count += 1;
        self.first.get_or_insert_with(first);
    }

    /// Describes all of these repairs; `None` if there were none.
    pub(crate) fn describe(&self, what: &str) -> Option<String> {
        self.first.as_ref().map(|first| format!("{} {what}; the first: {first}", self.count))
    }
}
