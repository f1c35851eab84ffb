//! Bytes of any kind as an archive: no panic, and what is taken gives the same tar stream again.
#![no_main]

use libfuzzer_sys::fuzz_target;
use skillpkg_store::attacks::check;

fuzz_target!(|archive: &[u8]| {
    if let Err(error) = check(archive) {
        panic!("{error}");
    }
});
