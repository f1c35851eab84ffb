//! The reader of zips over the inputs that the fuzzer keeps, and over changes of them.

#![expect(clippy::unwrap_used, reason = "a helper that cannot do its part ends the test")]

mod round_trip;

use std::fs;
use std::path::Path;

use proptest::prelude::*;

use round_trip::{File, check, files, zip};

/// The inputs that are kept, by name.
fn corpus() -> Vec<(String, Vec<u8>)> {
    let directory = Path::new(env!("CARGO_MANIFEST_DIR")).join("../fuzz/corpus/unzip");
    let mut inputs: Vec<_> = fs::read_dir(directory)
        .unwrap()
        .map(|entry| entry.unwrap())
        .map(|entry| (entry.file_name().into_string().unwrap(), fs::read(entry.path()).unwrap()))
        .collect();
    inputs.sort();
    inputs
}

/// The name of an input says whether it is taken.
#[test]
fn every_input_of_the_corpus_is_taken_or_refused_as_its_name_says() {
    let inputs = corpus();
    for (name, bytes) in &inputs {
        let told = files(bytes).map(|files| files.len());
        assert_eq!(check(bytes), name.starts_with("taken-"), "{name}: {told:?}");
    }
    assert!(inputs.len() > 15, "{}", inputs.len());
}

#[test]
fn no_zip_that_is_cut_short_is_taken() {
    for (name, bytes) in corpus().into_iter().filter(|(name, _)| name.starts_with("taken-")) {
        for length in 0..bytes.len() {
            assert!(!check(bytes.get(..length).unwrap()), "{name} cut at {length}");
        }
    }
}

#[test]
fn whatever_is_taken_with_a_bit_changed_is_taken_again_once_it_is_written() {
    for (_, mut bytes) in corpus().into_iter().filter(|(_, bytes)| bytes.len() < 2_000) {
        for at in 0..bytes.len() {
            for bit in 0..8 {
                bytes[at] ^= 1 << bit;
                check(&bytes);
                bytes[at] ^= 1 << bit;
            }
        }
    }
}

fn some_files() -> impl Strategy<Value = Vec<File>> {
    let content = prop::collection::vec(any::<u8>(), 0..200);
    let file = ("[a-zA-Z0-9éß._-]{1,12}(/[a-z0-9]{1,8}){0,3}", any::<bool>(), content);
    prop::collection::btree_map(file.0, (file.1, file.2), 0..12).prop_map(|files| {
        files.into_iter().map(|(path, (executable, content))| (path, executable, content)).collect()
    })
}

proptest! {
    #[test]
    fn what_is_written_is_read_as_it_was(expected in some_files()) {
        let bytes = zip(&expected).unwrap();
        prop_assert_eq!(files(&bytes).unwrap(), expected);
        prop_assert!(check(&bytes));
    }

    #[test]
    fn nothing_panics_over_bytes_that_start_or_end_like_a_zip(
        front in prop::collection::vec(any::<u8>(), 0..80),
        expected in some_files(),
        changes in prop::collection::vec((any::<prop::sample::Index>(), any::<u8>()), 0..4),
    ) {
        let mut bytes = zip(&expected).unwrap();
        for (at, byte) in changes {
            let at = at.index(bytes.len());
            bytes[at] = byte;
        }
        check(&bytes);
        check(&[front, bytes].concat());
    }
}
