//! Frames that enter and leave the memory of a switch, for libFuzzer: see `fuzz/src/lib.rs`.

#![no_main]

libfuzzer_sys::fuzz_target!(|bytes: &[u8]| {
    if let Err(broken) = fuzz::memory::check(bytes) {
        panic!("{broken}");
    }
});
