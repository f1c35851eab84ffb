//! Bytes of any kind as each thing that a log sends: no panic, and what is read is written again as
//! it was.
#![no_main]

use libfuzzer_sys::fuzz_target;

#[path = "../../schema/tests/round_trip/mod.rs"]
mod round_trip;

fuzz_target!(|bytes: &[u8]| {
    round_trip::check(bytes);
});
