//! Bytes of any kind as a bundle: no panic, and what is read is written again as it was.
#![no_main]

use libfuzzer_sys::fuzz_target;

#[path = "../../store/tests/bundle_round_trip/mod.rs"]
mod round_trip;

fuzz_target!(|bytes: &[u8]| {
    round_trip::check(bytes);
});
