//! Bytes of any kind as a zip: no panic, and what is taken is taken again once it is written.
#![no_main]

use libfuzzer_sys::fuzz_target;

#[path = "../../registry/tests/unzip/round_trip/mod.rs"]
mod round_trip;

fuzz_target!(|bytes: &[u8]| {
    round_trip::check(bytes);
});
