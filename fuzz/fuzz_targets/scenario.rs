//! Any bytes as a scenario. With the scenarios that come with Penstock, and those that meet faults, slow
//! receivers and watchdogs, as seeds:
//! `cargo +nightly fuzz run scenario fuzz/corpus/scenario fuzz/seeds python/penstock/scenarios`

#![no_main]

#[path = "../harness.rs"]
mod harness;

libfuzzer_sys::fuzz_target!(|bytes: &[u8]| {
    if let Err(broken) = harness::check(bytes) {
        panic!("{broken}");
    }
});
