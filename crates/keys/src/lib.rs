//! Declaration of a mechanism's keys.
//!
//! The parameters of a mechanism are one struct in a file of its own. The `serde` and `schemars` derives read the keys
//! of a scenario, write them back with every default, and describe them in the JSON Schema; the doc comments give each
//! key's meaning, unit, range and default. This crate adds what derives do not do: values of several forms ([`Forms`]),
//! a choice among mechanisms ([`Choice`]), errors in a value, with its path ([`Remark`]), and keys without effect
//! ([`Unused`]).
//!
//! Suggestions for unknown words, and warnings about keys without effect:
//!
//! ```
//! use keys::{Unused, nearest};
//!
//! assert_eq!(nearest("dcqnc", ["dctcp", "dcqcn", "hpcc"]), Some("dcqcn"));
//! assert_eq!(nearest("victim", ["dctcp", "dcqcn", "hpcc"]), None);
//!
//! #[derive(serde::Serialize)]
//! struct Red { curve: &'static str, slope: f64 }
//!
//! let given = Red { curve: "steps", slope: 0.5 };
//! let default = Red { curve: "steps", slope: 0.1 };
//! let warnings = Unused::of(&given, &default).unless(given.curve == "line", "curve = \"line\"", &["slope"]).remarks();
//! assert!(warnings[0].contains("`slope` changes nothing here; it needs curve = \"line\""));
//! ```

#![warn(clippy::too_many_lines)]

mod choice;
mod forms;
mod nearest;
mod remark;
mod unused;

pub use choice::{Choice, Keyed, NoKeys, alone, either, joined, schema};
pub use forms::{Forms, read_by_form};
pub use nearest::nearest;
pub use remark::{Remark, Remarks, Severity, Step};
pub use unused::{Unused, unused};
