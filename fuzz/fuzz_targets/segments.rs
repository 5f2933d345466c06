//! Any bytes as segments that TCP hears, with its timeouts in between: `cargo +nightly fuzz run segments`

#![no_main]

#[path = "../segments.rs"]
mod segments;

libfuzzer_sys::fuzz_target!(|bytes: &[u8]| {
    if let Err(broken) = segments::check(bytes) {
        panic!("{broken}");
    }
});
