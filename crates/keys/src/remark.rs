//! What is wrong with a value, or to beware of, and where it stands among the keys of its mechanism.

use serde::Serialize;
use std::fmt;

/// How bad it is.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize)]
#[serde(rename_all = "snake_case")]
pub enum Severity {
    /// The scenario cannot run.
    Error,
    /// The scenario runs, but probably not as meant.
    Warning,
    /// The scenario runs, but a lossless class of it can lose frames: no `check` of it ends in "ok".
    BrokenPromise,
}

/// A step from a table towards a value in it.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum Step {
    /// The value of a key.
    Key(String),
    /// An entry of a list, from 0.
    Index(usize),
}

/// What is wrong with the keys of a mechanism, or to beware of.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Remark {
    /// From the table of the mechanism to the value; empty: the table itself.
    pub path: Vec<Step>,
    /// What is wrong.
    pub message: String,
    /// What is accepted, or was probably meant. May be empty.
    pub help: String,
}

/// What to beware of, or the first thing that is wrong.
pub type Remarks = Result<Vec<Remark>, Remark>;

impl Remark {
    /// About the table itself.
    pub fn new(message: impl Into<String>, help: impl Into<String>) -> Remark {
        Remark { path: Vec::new(), message: message.into(), help: help.into() }
    }
    /// About the value of this key.
    pub fn about(key: &str, message: impl Into<String>, help: impl Into<String>) -> Remark {
        Remark::new(message, help).within(key)
    }
    /// About an entry of the list that it spoke of.
    #[must_use]
    pub fn entry(mut self, index: usize) -> Remark {
        self.path.push(Step::Index(index));
        self
    }
    /// About a key of what it spoke of.
    #[must_use]
    pub fn key(mut self, key: &str) -> Remark {
        self.path.push(Step::Key(key.to_string()));
        self
    }
    /// As `key`, as seen from the table around this key.
    #[must_use]
    pub fn within(mut self, key: &str) -> Remark {
        self.path.insert(0, Step::Key(key.to_string()));
        self
    }
    /// As `within`, as seen from the list around this entry.
    #[must_use]
    pub fn within_entry(mut self, index: usize) -> Remark {
        self.path.insert(0, Step::Index(index));
        self
    }
    /// Whether it says this.
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
