//! An error in a value, or a warning, with its path among the keys of its mechanism.

use serde::Serialize;
use std::fmt;

/// Severity.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize)]
#[serde(rename_all = "snake_case")]
pub enum Severity {
    /// The scenario cannot run.
    Error,
    /// The scenario runs, but probably not as intended.
    Warning,
    /// The scenario runs, but one of its lossless classes can lose frames, so that `check` does not print "ok".
    NotLossless,
}

/// A step of the path from a table to a value in it.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum Step {
    /// Key of a table.
    Key(String),
    /// Index in a list, from 0.
    Index(usize),
}

/// An error in the keys of a mechanism, or a warning about them.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Remark {
    /// Path from the table of the mechanism to the value; empty for the table itself.
    pub path: Vec<Step>,
    /// The problem.
    pub message: String,
    /// Accepted values, or what was probably meant. May be empty.
    pub help: String,
}

/// Warnings, or the first error.
pub type Remarks = Result<Vec<Remark>, Remark>;

impl Remark {
    /// Creates a remark about the table itself.
    pub fn new(message: impl Into<String>, help: impl Into<String>) -> Remark {
        Remark { path: Vec::new(), message: message.into(), help: help.into() }
    }
    /// Creates a remark about the value of this key.
    pub fn about(key: &str, message: impl Into<String>, help: impl Into<String>) -> Remark {
        Remark::new(message, help).within(key)
    }
    /// Extends the path by an index in the list.
    #[must_use]
    pub fn entry(mut self, index: usize) -> Remark {
        self.path.push(Step::Index(index));
        self
    }
    /// Extends the path by a key of the table.
    #[must_use]
    pub fn key(mut self, key: &str) -> Remark {
        self.path.push(Step::Key(key.to_string()));
        self
    }
    /// Prefixes the path with the key of the surrounding table.
    #[must_use]
    pub fn within(mut self, key: &str) -> Remark {
        self.path.insert(0, Step::Key(key.to_string()));
        self
    }
    /// Prefixes the path with the index in the surrounding list.
    #[must_use]
    pub fn within_entry(mut self, index: usize) -> Remark {
        self.path.insert(0, Step::Index(index));
        self
    }
    /// Returns true if the text contains these words.
    pub fn contains(&self, words: &str) -> bool {
        self.to_string().contains(words)
    }
}

impl fmt::Display for Remark {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.message)?;
        if self.help.is_empty() { Ok(()) } else { write!(f, "; {}", self.help) }
    }
}
