//! Any bytes as an Ethernet frame, for libFuzzer: see `fuzz/src/lib.rs`.

#![no_main]

libfuzzer_sys::fuzz_target!(|bytes: &[u8]| {
    if let Err(broken) = fuzz::frames::check(bytes) {
        panic!("{broken}");
    }
});
