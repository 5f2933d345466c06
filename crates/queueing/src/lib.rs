//! Buffer management: who may still enter a queue.

mod tail_drop;

pub use tail_drop::{BufferSpec, Refusal, Waiting};
