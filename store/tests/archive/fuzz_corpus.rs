//! The inputs kept for fuzzing, run once each.

use std::fs;
use std::io;
use std::path::Path;

use skillpkg_store::attacks::{check, check_stream};

fn run(directory: &str, check: fn(&[u8]) -> io::Result<bool>) {
    let directory = Path::new(env!("CARGO_MANIFEST_DIR")).join("../fuzz/corpus").join(directory);
    let mut taken = 0;
    for entry in fs::read_dir(directory).unwrap() {
        let place = entry.unwrap().path();
        match check(&fs::read(&place).unwrap()) {
            Ok(is_taken) => taken += usize::from(is_taken),
            Err(error) => panic!("{}: {error}", place.display()),
        }
    }
    assert!(taken > 0, "no input gets through");
}

#[test]
fn inputs_of_decode_hold() {
    run("decode", check);
}

#[test]
fn inputs_of_decode_stream_hold() {
    run("decode_stream", check_stream);
}
