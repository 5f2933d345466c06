//! Any bytes as a file that a scenario names, or as a capture, for libFuzzer: see `fuzz/src/lib.rs`.

#![no_main]

libfuzzer_sys::fuzz_target!(|bytes: &[u8]| {
    if let Err(broken) = fuzz::readers::check(bytes) {
        panic!("{broken}");
    }
});
