//! How a mechanism declares its keys.
//!
//! The parameters of a mechanism are one struct in its own file. What derives `serde` and `schemars` on it reads the keys
//! of a scenario, writes them back with every default, and describes them in the JSON Schema; its doc comments say what
//! each key means, with unit, range and default. This crate adds what derives do not do: values of several forms
//! ([`Forms`]), a choice among mechanisms ([`Choice`]), what is wrong with a value, with its place
//! ([`Remark`]), and which keys change nothing ([`Unused`]).

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
