//! Any bytes as an Ethernet frame: `cargo +nightly fuzz run frame`

#![no_main]

#[path = "../frames.rs"]
mod frames;

libfuzzer_sys::fuzz_target!(|bytes: &[u8]| {
    if let Err(broken) = frames::check(bytes) {
        panic!("{broken}");
    }
});
