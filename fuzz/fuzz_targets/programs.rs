//! GOAL schedules as text or binary, for libFuzzer: see `fuzz/src/lib.rs`.

#![no_main]

libfuzzer_sys::fuzz_target!(|bytes: &[u8]| {
    if let Err(broken) = fuzz::programs::check(bytes) {
        panic!("{broken}");
    }
});
