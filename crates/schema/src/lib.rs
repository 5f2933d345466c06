//! The interface with which parameters describe themselves. Each crate imports it under the name `schemars`.
//!
//! `derive(JsonSchema)` takes a third of the compile time of the crates that declare parameters, and its result changes
//! only with them. The schema is therefore a file, `crates/scenario/src/scenario.schema.json`. With the feature
//! `generate` this crate is the library schemars, and `cargo run -p scenario --features generate --example json_schema`
//! prints that file. Without it, derives and schemas are empty.

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

/// Creates a schema with these keys.
#[cfg(not(feature = "generate"))]
#[macro_export]
macro_rules! json_schema {
    ($($keys:tt)*) => {
        $crate::Schema::from($crate::serde_json::json!($($keys)*))
    };
}
