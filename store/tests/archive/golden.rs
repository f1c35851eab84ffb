//! The vector of `docs/wire/archive.md`: bytes that no change of the code may change.

use std::collections::BTreeMap;

use serde::Deserialize;
use skillpkg_schema::address::Digests;
use skillpkg_schema::manifest::Mode;
use skillpkg_schema::{Blake3Digest, ContentAddress, Sha256Digest};
use skillpkg_store::attacks::{Sample, decode, tar_stream};

use crate::support::path;

const ARCHIVE: &[u8] = include_bytes!("../vectors/archive.skill.tar.zst");
const VECTOR: &str = include_str!("../vectors/archive.json");

#[derive(Deserialize)]
struct Vector {
    name: String,
    version: String,
    files: Vec<File>,
    manifest: String,
    signatures: String,
    address: ContentAddress,
    blake3: ContentAddress,
    stream: Stream,
    archive: Digests,
}

#[derive(Deserialize)]
struct File {
    path: String,
    mode: Mode,
    text: String,
}

#[derive(Deserialize)]
struct Stream {
    size: u64,
    sha256: Sha256Digest,
}

fn vector() -> Vector {
    serde_json::from_str(VECTOR).unwrap()
}

fn sample(vector: &Vector) -> Sample {
    let files: BTreeMap<_, _> = vector
        .files
        .iter()
        .map(|file| (path(&file.path), (file.mode, file.text.clone().into_bytes())))
        .collect();
    Sample::new(vector.name.parse().unwrap(), vector.version.parse().unwrap(), files).unwrap()
}

#[test]
fn the_vectors_files_give_its_manifest_and_its_stream() {
    let vector = vector();
    let sample = sample(&vector);
    let manifest = sample.manifest.to_bytes();
    assert_eq!(String::from_utf8(manifest.clone()).unwrap(), vector.manifest);
    assert_eq!(String::from_utf8(sample.envelope.to_bytes()).unwrap(), vector.signatures);
    assert_eq!(sample.manifest.address(), vector.address);
    assert_eq!(Blake3Digest::of(&manifest).address(), vector.blake3);
    // What zstd makes of the stream may change with its version; the stream may not.
    let stream = tar_stream(&sample.archive().unwrap()).unwrap();
    assert_eq!(stream.len() as u64, vector.stream.size);
    assert_eq!(Sha256Digest::of(&stream), vector.stream.sha256);
}

#[test]
fn the_vectors_archive_is_read_as_its_files() {
    let vector = vector();
    let (read, digests) = decode(ARCHIVE).unwrap();
    assert_eq!(digests, vector.archive);
    assert_eq!(read, sample(&vector));
    assert_eq!(Sha256Digest::of(&tar_stream(ARCHIVE).unwrap()), vector.stream.sha256);
}
