//! What holds for every tree and every change of an archive.

use std::collections::BTreeMap;

use proptest::prelude::*;
use proptest::sample::Index;
use skillpkg_schema::SkillPath;
use skillpkg_schema::manifest::Mode;
use skillpkg_schema::path::check_path_set;
use skillpkg_store::attacks::{self, Sample, check, check_stream, framed, tar_stream};

use crate::support::small;

type Files = BTreeMap<SkillPath, (Mode, Vec<u8>)>;

fn any_path() -> impl Strategy<Value = String> {
    prop_oneof![
        4 => "[a-zA-Z0-9 ._\u{e9}\u{df}\u{4e2d}-]{1,20}(/[a-z0-9.\u{e9}-]{1,30}){0,4}",
        1 => "[a-z]{60,100}/[a-z]{60,100}(/[a-z]{1,40})?",
    ]
}

/// Trees that can be packed: paths that are none, and those that collide, are left out.
fn any_files() -> impl Strategy<Value = Files> {
    let content = prop_oneof![
        prop::collection::vec(any::<u8>(), 0..700),
        (any::<u8>(), 0_usize..200_000).prop_map(|(byte, length)| vec![byte; length]),
    ];
    prop::collection::vec((any_path(), any::<bool>(), content), 0..12).prop_map(|drawn| {
        let skill = (Mode::Regular, b"---\nname: sample\ndescription: d\n---\nx\n".to_vec());
        let mut files = Files::from([(SkillPath::skill_file(), skill)]);
        for (path, is_executable, bytes) in drawn {
            let Ok(path) = path.parse::<SkillPath>() else { continue };
            let is_new = check_path_set(files.keys().chain([&path])).is_ok();
            if is_new {
                files.insert(path, (Mode::of(is_executable), bytes));
            }
        }
        files
    })
}

fn sample(files: Files) -> Sample {
    Sample::new("acme/sample".parse().unwrap(), "1.0.0".parse().unwrap(), files).unwrap()
}

/// Where and how an archive is changed.
#[derive(Debug, Clone)]
enum Change {
    Flip(Index, u8),
    Remove(Index, usize),
    Insert(Index, Vec<u8>),
    /// A run of bytes takes the place of another.
    Copy(Index, Index, usize),
}

fn any_change() -> impl Strategy<Value = Change> {
    prop_oneof![
        (any::<Index>(), 1_u8..).prop_map(|(at, bits)| Change::Flip(at, bits)),
        (any::<Index>(), 1_usize..600).prop_map(|(at, length)| Change::Remove(at, length)),
        (any::<Index>(), prop::collection::vec(any::<u8>(), 1..600))
            .prop_map(|(at, bytes)| Change::Insert(at, bytes)),
        (any::<Index>(), any::<Index>(), 1_usize..600)
            .prop_map(|(from, to, length)| Change::Copy(from, to, length)),
    ]
}

fn changed(bytes: &[u8], change: &Change) -> Vec<u8> {
    let mut bytes = bytes.to_vec();
    let length = bytes.len();
    match change {
        Change::Flip(at, bits) => bytes[at.index(length)] ^= bits,
        Change::Remove(at, count) => {
            let start = at.index(length);
            bytes.drain(start..length.min(start + count));
        }
        Change::Insert(at, inserted) => {
            let start = at.index(length);
            bytes.splice(start..start, inserted.iter().copied());
        }
        Change::Copy(from, to, count) => {
            let (from, to) = (from.index(length), to.index(length));
            let count = (*count).min(length - from.max(to));
            bytes.copy_within(from..from + count, to);
        }
    }
    bytes
}

proptest! {
    #![proptest_config(ProptestConfig { failure_persistence: None, ..ProptestConfig::with_cases(200) })]

    #[test]
    fn every_tree_is_read_as_it_was_written(files in any_files()) {
        let sample = sample(files);
        let archive = sample.archive().unwrap();
        prop_assert_eq!(&attacks::decode(&archive).unwrap().0, &sample);
        prop_assert!(check(&archive).unwrap());
    }

    #[test]
    fn a_changed_archive_is_never_taken_for_other_content(changes in prop::collection::vec(any_change(), 1..4)) {
        let sample = small();
        let mut archive = sample.archive().unwrap();
        for change in &changes {
            archive = changed(&archive, change);
            if archive.is_empty() {
                break;
            }
        }
        if let Ok((read, _)) = attacks::decode(&archive) {
            prop_assert_eq!(read, sample);
            prop_assert!(check(&archive).unwrap());
        }
    }

    #[test]
    fn a_changed_stream_shows_in_what_is_signed_or_is_refused(change in any_change()) {
        let sample = small();
        let stream = tar_stream(&sample.archive().unwrap()).unwrap();
        let changed = changed(&stream, &change);
        prop_assume!(changed != stream);
        // A letter of the description can change, or one of a signature: neither verifies then.
        if check_stream(&changed).unwrap() {
            let (read, _) = attacks::decode(&framed(&changed).unwrap()).unwrap();
            prop_assert_ne!((read.manifest, read.envelope), (sample.manifest, sample.envelope));
            prop_assert_eq!(read.files, sample.files);
        }
    }

    #[test]
    fn bytes_are_read_without_panic(bytes in prop::collection::vec(any::<u8>(), 0..2000)) {
        prop_assert!(!check(&bytes).unwrap());
        prop_assert!(!check_stream(&bytes).unwrap());
    }
}
