//! Bundles: the golden one, hostile ones, and what holds for every change of one.

#![expect(clippy::unwrap_used, clippy::panic, reason = "a helper of a test fails the test")]

#[path = "../bundle_round_trip/mod.rs"]
mod round_trip;

use std::io::{Cursor, Read, Seek, SeekFrom};
use std::path::Path;

use proptest::prelude::*;
use proptest::sample::Index as At;
use serde::Deserialize;
use serde_json::{Value, json};
use skillpkg_schema::bundle::{BundleIndex, BundledFile, MAX_BUNDLE_BYTES};
use skillpkg_schema::log::{
    Checkpoint, Hash, IdentityChain, TileHashes, TilePath, verify_inclusion,
};
use skillpkg_store::bundle::{BundleError, BundleReader, BundleWriter, looks_like_bundle};

const GOLDEN: &[u8] = include_bytes!("../vectors/skills.bundle");
const VECTOR: &str = include_str!("../vectors/bundle.json");

#[derive(Deserialize)]
struct Vector {
    size: u64,
    sha256: Hash,
    index: Hash,
    origin: String,
    url: String,
    name: String,
    version: String,
    files: Vec<BundledFile>,
}

fn open(bytes: &[u8]) -> Result<BundleReader<Cursor<&[u8]>>, BundleError> {
    BundleReader::open(Cursor::new(bytes))
}

fn refused(bytes: &[u8]) -> (&'static str, Option<String>) {
    match open(bytes) {
        Ok(_) => panic!("it was taken"),
        Err(error) => (error.code(), error.entry().map(str::to_owned)),
    }
}

fn files() -> Files {
    let mut reader = open(GOLDEN).unwrap();
    let paths: Vec<String> = reader.index().files.iter().map(|file| file.path.clone()).collect();
    paths.into_iter().map(|path| (path.clone(), reader.read(&path).unwrap())).collect()
}

/// One entry of the stream, as the writer makes it.
fn entry(path: &str, bytes: &[u8]) -> Vec<u8> {
    let mut block = [0_u8; 512];
    let mut put = |at: usize, text: &[u8]| block[at..at + text.len()].copy_from_slice(text);
    put(0, path.as_bytes());
    put(100, b"0000644");
    put(108, b"0000000");
    put(116, b"0000000");
    put(124, format!("{:011o}", bytes.len()).as_bytes());
    put(136, b"00000000000");
    put(148, b"        ");
    put(156, b"0");
    put(257, b"ustar");
    put(263, b"00");
    put(329, b"0000000");
    put(337, b"0000000");
    let sum: u32 = block.iter().map(|byte| u32::from(*byte)).sum();
    block[148..156].copy_from_slice(format!("{sum:06o}\0 ").as_bytes());
    let mut entry = [&block[..], bytes].concat();
    entry.resize(entry.len().next_multiple_of(512), 0);
    entry
}

/// The files of a bundle, by their paths.
type Files = Vec<(String, Vec<u8>)>;

/// The golden bundle with another index and other files, every digest and header right.
fn changed(change: impl FnOnce(&mut Value, &mut Files)) -> Vec<u8> {
    let mut files = files();
    let mut index = serde_json::to_value(open(GOLDEN).unwrap().index()).unwrap();
    change(&mut index, &mut files);
    let mut bytes = entry("bundle.json", index.to_string().as_bytes());
    for (path, content) in &files {
        bytes.extend(entry(path, content));
    }
    bytes.resize(bytes.len() + 1024, 0);
    bytes
}

#[test]
fn the_golden_bundle_is_read_as_its_vector_says_and_written_again_as_it_was() {
    let vector: Vector = serde_json::from_str(VECTOR).unwrap();
    assert_eq!((GOLDEN.len() as u64, Hash::of(GOLDEN)), (vector.size, vector.sha256));
    let reader = open(GOLDEN).unwrap();
    let index = reader.index();
    assert_eq!(Hash::of(&index.to_bytes()), vector.index);
    assert_eq!(index.files, vector.files);
    let registry = &index.registries[0];
    assert_eq!(registry.url, vector.url);
    let skill = &registry.skills[0];
    assert_eq!((skill.name.to_string(), skill.versions.len()), (vector.name, 1));
    assert_eq!(skill.versions[0].version.to_string(), vector.version);
    assert!(round_trip::check(GOLDEN));
    assert!(looks_like_bundle(GOLDEN).unwrap());
    assert!(!looks_like_bundle(&GOLDEN[512..]).unwrap());
    // What it proves, it proves for ever.
    let log = &registry.logs[0];
    let chain = IdentityChain::verify(log.identities.clone()).unwrap();
    assert_eq!(chain.origin(), vector.origin);
    let note = log.view.checkpoint.as_bytes();
    let verified = Checkpoint::verify(note, &vector.origin, chain.keys(), &[]).unwrap();
    let Checkpoint { size, root, .. } = verified.checkpoint;
    let proof = &skill.versions[0].proof;
    let leaf = proof.sealed.leaf_hash();
    verify_inclusion(&leaf, proof.index, size, &root, &proof.proof.0).unwrap();
    let mut tiles = TileHashes::default();
    for (path, bytes) in files() {
        let Some((_, path)) = path.strip_prefix("logs/").and_then(|path| path.split_once('/'))
        else {
            continue;
        };
        tiles.insert(*TilePath::parse(path).unwrap().tile(), &bytes).unwrap();
    }
    tiles.check(size, &root).unwrap();
}

#[test]
fn the_golden_bundle_is_a_tar_that_others_open() {
    let directory = tempfile::tempdir().unwrap();
    let path = directory.path().join("skills.bundle");
    std::fs::write(&path, GOLDEN).unwrap();
    // Whoever has no tar has nothing that could open it.
    let Ok(listed) = std::process::Command::new("tar").arg("-tf").arg(&path).output() else {
        return;
    };
    let listed = String::from_utf8(listed.stdout).unwrap();
    let expected: Vec<String> = ["bundle.json".to_owned()]
        .into_iter()
        .chain(files().into_iter().map(|(path, _)| path))
        .collect();
    assert_eq!(listed.lines().collect::<Vec<_>>(), expected);
}

#[test]
fn what_is_changed_in_the_stream_is_refused_with_its_code_and_entry() {
    let names: Vec<String> = files().into_iter().map(|(path, _)| path).collect();
    let index_bytes = open(GOLDEN).unwrap().index().to_bytes().len();
    let first = 512 + index_bytes.next_multiple_of(512);
    let flipped = |at: usize| {
        let mut bytes = GOLDEN.to_vec();
        bytes[at] ^= 1;
        refused(&bytes)
    };
    let in_first = Some(names[0].clone());
    assert_eq!(flipped(first + 512), ("bundle_content", in_first.clone()));
    assert_eq!(flipped(first), ("bundle_header", in_first.clone()), "its name");
    assert_eq!(flipped(first + 100), ("bundle_header", in_first.clone()), "its mode");
    assert_eq!(flipped(first + 156), ("bundle_header", in_first.clone()), "a link");
    assert_eq!(flipped(first + 512 + 948), ("bundle_padding", in_first.clone()));
    assert_eq!(flipped(GOLDEN.len() - 1).0, "bundle_padding");
    assert_eq!(flipped(0).0, "not_a_bundle");
    assert_eq!(flipped(513).0, "bundle_index");
    assert_eq!(refused(&GOLDEN[..first + 600]), ("bundle_truncated", in_first));
    assert_eq!(refused(&GOLDEN[..GOLDEN.len() - 1]).0, "bundle_truncated");
    assert_eq!(refused(&[]).0, "bundle_truncated");
    assert_eq!(refused(&[GOLDEN, &[0]].concat()).0, "bundle_trailing");
    assert_eq!(refused(&[GOLDEN, GOLDEN].concat()).0, "bundle_trailing");
}

#[test]
fn an_index_that_contradicts_itself_is_refused_with_its_code() {
    let code = |change: fn(&mut Value, &mut Files)| refused(&changed(change)).0;
    assert!(open(&changed(|_, _| {})).is_ok());
    assert_eq!(code(|index, _| index["schema"] = json!("skillpkg.bundle/2")), "format_too_new");
    assert_eq!(code(|index, _| index["more"] = json!(1)), "bundle_index");
    assert_eq!(code(|index, _| index["registries"][0]["more"] = json!(1)), "bundle_index");
    // Twice, or out of order.
    let twice = |list: &mut Value| {
        let again = list[0].clone();
        list.as_array_mut().unwrap().insert(0, again);
    };
    assert_eq!(refused(&changed(|index, _| twice(&mut index["files"]))).0, "bundle_order");
    assert_eq!(refused(&changed(|index, _| twice(&mut index["registries"]))).0, "bundle_order");
    let skills = |index: &mut Value| index["registries"][0]["skills"].take();
    let versions = changed(|index, _| twice(&mut index["registries"][0]["skills"][0]["versions"]));
    assert_eq!(refused(&versions).0, "bundle_order");
    assert_eq!(
        refused(&changed(|index, _| index["files"].as_array_mut().unwrap().reverse())).0,
        "bundle_order"
    );
    // Spoken of and not there, or the reverse.
    assert_eq!(code(|index, _| index["files"] = json!([])), "bundle_incomplete");
    let unspoken = changed(|index, _| {
        skills(index);
        index["registries"][0]["skills"] = json!([]);
    });
    assert_eq!(refused(&unspoken).0, "bundle_unexpected");
    for path in ["../../etc/passwd", "/etc/passwd", "zz", "logs/../x", "logs/00/tile/0/000"] {
        let more = changed(|index, files| {
            let file = json!({ "path": path, "sha256": Hash::of(b"x"), "size": 1 });
            let list = index["files"].as_array_mut().unwrap();
            list.push(file);
            list.sort_by(|one, other| one["path"].as_str().cmp(&other["path"].as_str()));
            files.push((path.to_owned(), b"x".to_vec()));
            files.sort();
        });
        assert_eq!(refused(&more).0, "bundle_unexpected", "{path}");
    }
    // Sizes that no such file has, and that no disk has.
    let sized = |at: usize, size: u64| {
        refused(&changed(|index, _| index["files"][at]["size"] = json!(size))).0
    };
    assert_eq!(sized(0, 51 * 1024 * 1024), "bundle_size");
    assert_eq!(sized(1, 9 * 1024 * 1024), "bundle_size");
    assert_eq!(sized(2, 31), "bundle_size");
    assert_eq!(sized(0, MAX_BUNDLE_BYTES), "bundle_too_large");
    assert_eq!(sized(0, (1 << 53) - 1), "bundle_too_large");
    assert_eq!(sized(0, 949), "bundle_header");
    // An archive under the name of another.
    let swapped = changed(|index, _| index["files"][0]["sha256"] = json!(Hash::of(b"x")));
    assert_eq!(refused(&swapped).0, "bundle_content");
    // A version of a log that is not there.
    let elsewhere = changed(|index, _| {
        index["registries"][0]["skills"][0]["versions"][0]["origin"] = json!("another");
    });
    assert_eq!(refused(&elsewhere).0, "bundle_incomplete");
}

#[test]
fn the_same_index_has_one_spelling() {
    let index = String::from_utf8(open(GOLDEN).unwrap().index().to_bytes()).unwrap();
    for other in [
        format!(" {index}"),
        format!("{index}\n"),
        index.replacen("\"files\"", "\"\\u0066iles\"", 1),
    ] {
        assert!(BundleIndex::from_bytes(other.as_bytes()).is_err());
    }
    let twice = index.replacen("{\"files\"", "{\"files\":[],\"files\"", 1);
    assert!(BundleIndex::from_bytes(twice.as_bytes()).is_err());
}

#[test]
fn an_index_without_end_is_not_read() {
    let mut header = entry("bundle.json", b"");
    header[124..135].copy_from_slice(b"77777777777");
    header[148..156].copy_from_slice(b"        ");
    let sum: u32 = header.iter().map(|byte| u32::from(*byte)).sum();
    header[148..156].copy_from_slice(format!("{sum:06o}\0 ").as_bytes());
    assert_eq!(refused(&header).0, "bundle_too_large");
}

/// Answers other bytes the second time that it is read.
struct Changing {
    bytes: Cursor<Vec<u8>>,
    seeks: usize,
}

impl Read for Changing {
    fn read(&mut self, into: &mut [u8]) -> std::io::Result<usize> {
        self.bytes.read(into)
    }
}

impl Seek for Changing {
    fn seek(&mut self, to: SeekFrom) -> std::io::Result<u64> {
        self.seeks += 1;
        if self.seeks == 2 {
            for byte in self.bytes.get_mut() {
                *byte ^= 1;
            }
        }
        self.bytes.seek(to)
    }
}

#[test]
fn a_file_that_changes_after_it_was_opened_is_refused_where_it_is_read() {
    let input = Changing { bytes: Cursor::new(GOLDEN.to_vec()), seeks: 0 };
    let mut reader = BundleReader::open(input).unwrap();
    let path = reader.index().files[0].path.clone();
    assert_eq!(reader.read(&path).unwrap_err().code(), "bundle_content");
}

#[test]
fn a_writer_takes_the_files_of_its_index_in_their_order_and_no_other() {
    let index = open(GOLDEN).unwrap().index().clone();
    let files = files();
    let mut writer = BundleWriter::new(Vec::new(), &index).unwrap();
    assert_eq!(writer.add(&files[1].0, &files[1].1).unwrap_err().code(), "bundle_order");
    let mut writer = BundleWriter::new(Vec::new(), &index).unwrap();
    assert_eq!(writer.add(&files[0].0, b"other").unwrap_err().code(), "bundle_content");
    let writer = BundleWriter::new(Vec::new(), &index).unwrap();
    assert_eq!(writer.finish().unwrap_err().code(), "bundle_order");
}

#[test]
fn inputs_that_are_kept_for_fuzzing_hold() {
    let directory = Path::new(env!("CARGO_MANIFEST_DIR")).join("../fuzz/corpus/bundle");
    let mut taken = 0;
    for input in std::fs::read_dir(directory).unwrap() {
        taken += usize::from(round_trip::check(&std::fs::read(input.unwrap().path()).unwrap()));
    }
    assert!(taken >= 2, "some get through");
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(300))]

    #[test]
    fn what_is_changed_is_refused_or_is_another_index(at in any::<At>(), bits in 1_u8.., cut in any::<At>(), how in 0..3) {
        let mut bytes = GOLDEN.to_vec();
        let at = at.index(bytes.len());
        match how {
            0 => bytes[at] ^= bits,
            1 => bytes.truncate(at),
            _ => {
                let from = cut.index(bytes.len());
                let piece = bytes[from..bytes.len().min(from + 700)].to_vec();
                bytes.splice(at..at, piece);
            }
        }
        prop_assume!(bytes != GOLDEN);
        // Nobody signed the index: another text in it is another bundle, whose proofs do not hold.
        let end = 512 + open(GOLDEN).unwrap().index().to_bytes().len();
        prop_assert!(!round_trip::check(&bytes) || (how == 0 && (512..end).contains(&at)));
    }

    #[test]
    fn bytes_of_any_kind_are_read_or_refused(bytes in prop::collection::vec(any::<u8>(), 0..2_000)) {
        prop_assert!(!round_trip::check(&bytes));
    }
}
