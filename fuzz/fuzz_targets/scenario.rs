//! Any bytes as a scenario, for libFuzzer: see `fuzz/src/lib.rs`.

#![no_main]

libfuzzer_sys::fuzz_target!(|bytes: &[u8]| {
    if let Err(broken) = fuzz::harness::check(bytes) {
        panic!("{broken}");
    }
});
