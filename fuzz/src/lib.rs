//! Invariants for any input: scenarios, files that they name, captures, frames, segments, packets
//! of queue pairs, agents, memories, lists of transfers that wait, and GOAL schedules.
//!
//! `make fuzz` runs each target for a minute, from a new seed that it prints, and `make test` for half a minute from a fixed
//! one. Neither needs more than the compiler of the engine. A case that breaks an invariant is written to `out/fuzz`, and the message
//! has the command that repeats it.
//!
//! The folder `fuzz_targets` has these checks for libFuzzer, which searches for inputs by coverage. It needs a nightly
//! compiler and cargo-fuzz (`cargo install cargo-fuzz`):
//!
//! `mkdir -p fuzz/corpus/scenario && cargo +nightly fuzz run --features libfuzzer scenario fuzz/corpus/scenario fuzz/seeds
//! python/penstock/scenarios`

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
