//! Frames received by two ends of FCoE, in addition to those they exchange, for libFuzzer: see `fuzz/src/lib.rs`.

#![no_main]

libfuzzer_sys::fuzz_target!(|bytes: &[u8]| {
    if let Err(broken) = fuzz::exchanges::fcoe(bytes) {
        panic!("{broken}");
    }
});
