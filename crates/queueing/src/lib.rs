//! Buffer management: who may still enter a queue.

mod tail_drop;

pub use tail_drop::{BufferSpec, Refusal, Waiting};

/// Each mechanism's name, the file that is its page, and the definition of its keys in the JSON Schema.
pub const PAGES: &[(&str, &str, &str)] = &[("tail_drop", include_str!("tail_drop.rs"), "Buffer")];
