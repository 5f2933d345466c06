//! Invariants for arbitrary inputs: scenarios, files that they name, captures, frames, segments, packets of queue
//! pairs, agents, memories, lists of dependent transfers, and GOAL schedules.
//!
//! `make fuzz` runs each target for a minute, from a new seed that it prints, and `make test` for half a minute from a
//! fixed one. Both need only the compiler of the engine. A case that violates an invariant is written to `out/fuzz`,
//! and the message contains the command that repeats it.
//!
//! The folder `fuzz_targets` contains the same checks for libFuzzer, which is guided by coverage. It needs a nightly
//! compiler and cargo-fuzz (`cargo install cargo-fuzz`):
//!
//! `mkdir -p fuzz/corpus/scenario && cargo +nightly fuzz run --features libfuzzer scenario fuzz/corpus/scenario fuzz/seeds python/penstock/scenarios`

pub mod agents;
pub mod edits;
pub mod exchanges;
pub mod frames;
pub mod harness;
pub mod memory;
pub mod pair;
pub mod programs;
pub mod queue_pairs;
pub mod readers;
pub mod segments;
pub mod targets;
pub mod waits;
