//! Keys that change nothing, because what they are for is not there.

use crate::Remark;
use serde::Serialize;
use serde_json::Value;

/// What to beware of in a key that changes nothing. `needs`: without what.
pub fn unused(key: &str, needs: &str) -> Remark {
    Remark::about(key, format!("`{key}` changes nothing here"), format!("it needs {needs}"))
}

/// Which keys of a mechanism change nothing. A key that has its default is never told of: nobody wrote it, or it says what
/// would hold without it.
///
/// ```
/// # #[derive(serde::Serialize)]
/// # struct Keys { curve: &'static str, slope: f64 }
/// let keys = Keys { curve: "steps", slope: 0.5 };
/// let default = Keys { curve: "steps", slope: 0.1 };
/// let found = keys::Unused::of(&keys, &default)
///     .unless(keys.curve == "line", "curve = \"line\"", &["slope"])
///     .remarks();
/// assert!(found[0].contains("`slope` changes nothing here; it needs curve = \"line\""));
/// ```
#[derive(Debug)]
pub struct Unused {
    given: Value,
    default: Value,
    found: Vec<Remark>,
}

impl Unused {
    /// Of these keys, which have these defaults.
    pub fn of<K: Serialize>(given: &K, default: &K) -> Unused {
        // Keys are plain data, which always can be written.
        let value = |keys: &K| serde_json::to_value(keys).unwrap_or_default();
        Unused { given: value(given), default: value(default), found: Vec::new() }
    }
    /// These keys matter only if this holds, which is what they need.
    #[must_use]
    pub fn unless(mut self, holds: bool, needs: &str, keys: &[&str]) -> Unused {
        let is_written = |key: &&&str| self.given.get(key) != self.default.get(key);
        if !holds {
            let told = keys.iter().filter(is_written).map(|key| unused(key, needs));
            self.found.extend(told.collect::<Vec<_>>());
        }
        self
    }
    /// What was found.
    pub fn remarks(self) -> Vec<Remark> {
        self.found
    }
}
