//! Bytes of any kind as the tar stream of an archive, in an honest frame: comes past the checksum.
#![no_main]

use libfuzzer_sys::fuzz_target;
use skillpkg_store::attacks::check_stream;

fuzz_target!(|stream: &[u8]| {
    if let Err(error) = check_stream(stream) {
        panic!("{error}");
    }
});
