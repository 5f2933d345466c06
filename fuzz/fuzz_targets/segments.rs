//! Any bytes as segments received by TCP, with timeouts in between, for libFuzzer: see `fuzz/src/lib.rs`.

#![no_main]

libfuzzer_sys::fuzz_target!(|bytes: &[u8]| {
    if let Err(broken) = fuzz::segments::check(bytes) {
        panic!("{broken}");
    }
});
