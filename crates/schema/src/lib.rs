//! The names that parameters use to describe themselves, under the name `schemars` in each crate.
//!
//! `derive(JsonSchema)` takes a third of the compile time of the crates that declare parameters, and its result changes
//! only with them. The schema is therefore a file, `crates/scenario/src/scenario.schema.json`. With the feature
//! `generate` this crate is the library schemars, and `cargo run -p scenario --features generate
//! --example json_schema` prints that file. Without it, derives are empty and schemas say nothing.

#![warn(clippy::too_many_lines)]

#[cfg(feature = "generate")]
pub use schemars::*;

#[cfg(not(feature = "generate"))]
pub use empty::{JsonSchema, Schema, SchemaGenerator};
#[cfg(not(feature = "generate"))]
pub use schema_derive::JsonSchema;
#[doc(hidden)]
pub use serde_json;

#[cfg(not(feature = "generate"))]
mod empty;

/// A schema with these keys.
#[cfg(not(feature = "generate"))]
#[macro_export]
macro_rules! json_schema {
    ($($keys:tt)*) => {
        $crate::Schema::from($crate::serde_json::json!($($keys)*))
    };
}
