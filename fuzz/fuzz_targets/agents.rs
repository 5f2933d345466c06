//! Frames between two agents of DCBX, for libFuzzer: see `fuzz/src/lib.rs`.

#![no_main]

libfuzzer_sys::fuzz_target!(|bytes: &[u8]| {
    if let Err(broken) = fuzz::agents::check(bytes) {
        panic!("{broken}");
    }
});
