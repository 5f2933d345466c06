//! Segments that two ends of iWARP receive, with what they send each other, for libFuzzer: see `fuzz/src/lib.rs`.

#![no_main]

libfuzzer_sys::fuzz_target!(|bytes: &[u8]| {
    if let Err(broken) = fuzz::exchanges::iwarp(bytes) {
        panic!("{broken}");
    }
});
