//! Keys that have no effect, because another setting that they need is missing.

use crate::Remark;
use serde::Serialize;
use serde_json::Value;

/// Creates a warning about a key without effect. `needs` is the missing setting.
pub fn unused(key: &str, needs: &str) -> Remark {
    Remark::about(key, format!("`{key}` changes nothing here"), format!("it needs {needs}"))
}

/// Finds the keys of a mechanism without effect. A key at its default is never reported: omitting it would have the
/// same effect.
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
    /// Creates a check of these keys against their defaults.
    pub fn of<K: Serialize>(given: &K, default: &K) -> Unused {
        // Keys are plain data, which can always be serialized.
        let value = |keys: &K| serde_json::to_value(keys).unwrap_or_default();
        Unused { given: value(given), default: value(default), found: Vec::new() }
    }
    /// Reports those of these keys that are given although the condition does not hold. `needs` describes the
    /// condition.
    #[must_use]
    pub fn unless(mut self, holds: bool, needs: &str, keys: &[&str]) -> Unused {
        let is_written = |key: &&&str| self.given.get(key) != self.default.get(key);
        if !holds {
            let unused_keys = keys.iter().filter(is_written).map(|key| unused(key, needs));
            self.found.extend(unused_keys.collect::<Vec<_>>());
        }
        self
    }
    /// Returns the warnings.
    pub fn remarks(self) -> Vec<Remark> {
        self.found
    }
}
