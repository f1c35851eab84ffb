//! Records: a snapshot's manifest and signatures in one file, both re-hashed whenever they are
//! read.
//!
//! A line `skillpkg.record/1 MANIFEST ENVELOPE DIGEST` with the lengths of both in bytes and the
//! SHA-256 of the envelope, then the manifest, a newline, the envelope, a newline. The name is the
//! manifest's SHA-256, so nothing needs to say that again.

use std::fs::File;
use std::io::{self, Read as _, Write as _};
use std::path::Path;

use cap_std::fs::Dir;
use skillpkg_schema::limits::{MAX_ENVELOPE_BYTES, MAX_MANIFEST_BYTES};
use skillpkg_schema::signature::Envelope;
use skillpkg_schema::{Algorithm, Blake3Digest, ContentAddress, Manifest, Sha256Digest};

use super::Stored;
use super::damage::{place_over, set_aside};
use super::directory::{open_file, open_regular, place_new};
use super::error::{AtPath as _, StoreError};
use super::layout::{Layout, misplaced};
use super::temporary::TemporaryFile;

/// What the first line starts with.
const PREFIX: &str = "skillpkg.record/1 ";
/// Most bytes of the first line: the prefix, two lengths and a digest.
const LONGEST_LINE: usize = 128;
/// Most bytes of a record.
const LONGEST_RECORD: usize = LONGEST_LINE + MAX_MANIFEST_BYTES + MAX_ENVELOPE_BYTES + 2;
/// The permission bits of a record and of an entry of the index.
const MODE: u32 = 0o444;

/// The bytes of a record.
fn encode(manifest: &[u8], envelope: &[u8]) -> Vec<u8> {
    let (manifest_length, envelope_length) = (manifest.len(), envelope.len());
    let digest = Sha256Digest::of(envelope);
    let mut bytes = format!("{PREFIX}{manifest_length} {envelope_length} {digest}\n").into_bytes();
    bytes.reserve_exact(manifest_length + envelope_length + 2);
    bytes.extend_from_slice(manifest);
    bytes.push(b'\n');
    bytes.extend_from_slice(envelope);
    bytes.push(b'\n');
    bytes
}

/// The bytes of a record's manifest, whose digest they have, and its envelope; [`None`] where
/// anything is not as [`encode`] writes it.
fn decode<'record>(
    bytes: &'record [u8],
    sha256: &Sha256Digest,
) -> Option<(&'record [u8], Envelope)> {
    let head = bytes.get(..bytes.len().min(LONGEST_LINE))?;
    let end = head.iter().position(|byte| *byte == b'\n')?;
    let line = std::str::from_utf8(bytes.get(..end)?).ok()?.strip_prefix(PREFIX)?;
    let mut words = line.split(' ');
    let manifest_length: usize = words.next()?.parse().ok()?;
    let envelope_length: usize = words.next()?.parse().ok()?;
    let digest: Sha256Digest = words.next()?.parse().ok()?;
    let (manifest, rest) = bytes.get(end + 1..)?.split_at_checked(manifest_length)?;
    let (envelope, end) = rest.strip_prefix(b"\n")?.split_at_checked(envelope_length)?;
    let whole = words.next().is_none()
        && end == b"\n"
        && Sha256Digest::of(manifest) == *sha256
        && Sha256Digest::of(envelope) == digest;
    if whole { Some((manifest, Envelope::from_bytes(envelope).ok()?)) } else { None }
}

/// Keeps a manifest and its signatures: the last thing that makes a snapshot found.
///
/// The signatures of a manifest that is kept already are replaced by these. Whoever is killed here
/// leaves the record as it was or whole.
pub(super) fn keep(
    layout: &Layout,
    manifest: &Manifest,
    envelope: &Envelope,
) -> Result<ContentAddress, StoreError> {
    let bytes = manifest.to_bytes();
    let sha256 = Sha256Digest::of(&bytes);
    let by_blake3 = Blake3Digest::of(&bytes).to_string();
    let index = format!("{sha256}\n").into_bytes();
    // First the way to the record: it leads nowhere until the record is there.
    let index_path = layout.by_blake3_path(&by_blake3);
    write(layout, layout.by_blake3(), &by_blake3, &index).at(|| index_path.clone())?;
    layout.written().remember(|| index_path);
    let name = sha256.to_string();
    let record = encode(&bytes, &envelope.to_bytes());
    write(layout, layout.manifests(), &name, &record).at(|| layout.manifest_path(&name))?;
    layout.written().remember(|| layout.manifest_path(&name));
    Ok(sha256.address())
}

/// Writes a small file through `tmp/`, unless the same bytes stand there.
fn write(layout: &Layout, directory: &Dir, name: &str, bytes: &[u8]) -> io::Result<()> {
    let stands = match open_regular(directory, name) {
        Ok((file, _)) => {
            let mut found = Vec::new();
            file.take(bytes.len() as u64 + 1).read_to_end(&mut found)?;
            if found == bytes {
                return Ok(());
            }
            true
        }
        Err(error) if error.kind() == io::ErrorKind::NotFound => false,
        Err(error) => return Err(error),
    };
    let mut file = TemporaryFile::create(layout, "record", MODE).map_err(io::Error::other)?;
    file.handle().write_all(bytes)?;
    if stands || !place_new(layout.temporary(), file.name(), directory, name)? {
        place_over(layout, file.name(), directory, name)?;
    }
    file.placed();
    Ok(())
}

/// The record of a snapshot, by an address of either algorithm; [`None`] where there is none.
///
/// A damaged one is set aside.
pub(super) fn read(
    layout: &Layout,
    snapshot: &ContentAddress,
) -> Result<Option<Stored>, StoreError> {
    match snapshot.algorithm() {
        Algorithm::Sha256 => read_one(layout, &Sha256Digest::from_bytes(*snapshot.digest())),
        Algorithm::Blake3 => read_by_blake3(layout, snapshot),
    }
}

/// The SHA-256 digest of a snapshot's manifest, whether or not it has a record; [`None`] for a
/// BLAKE3 address of no record.
pub(super) fn resolve(
    layout: &Layout,
    snapshot: &ContentAddress,
) -> Result<Option<Sha256Digest>, StoreError> {
    if snapshot.algorithm() == Algorithm::Sha256 {
        return Ok(Some(Sha256Digest::from_bytes(*snapshot.digest())));
    }
    let stored = read_by_blake3(layout, snapshot)?;
    Ok(stored.map(|stored| Sha256Digest::of(&stored.manifest.to_bytes())))
}

fn read_one(layout: &Layout, sha256: &Sha256Digest) -> Result<Option<Stored>, StoreError> {
    let name = sha256.to_string();
    let Some(file) = open_if_there(layout.manifests(), &layout.manifest_path(""), &name)? else {
        return Ok(None);
    };
    let path = || layout.manifest_path(&name);
    let bytes = read_bounded(&file, LONGEST_RECORD).at(path)?;
    if let Some((manifest, envelope)) = bytes.as_deref().and_then(|bytes| decode(bytes, sha256))
        && let Ok(manifest) = Manifest::from_bytes(manifest)
    {
        return Ok(Some(Stored { manifest, envelope }));
    }
    set_aside(layout, layout.manifests(), &name, &file).at(path)?;
    Err(StoreError::Damaged { address: sha256.address() })
}

/// Follows the index. Where it is damaged, or leads to another manifest, every record is looked at
/// and the index is written again.
fn read_by_blake3(
    layout: &Layout,
    snapshot: &ContentAddress,
) -> Result<Option<Stored>, StoreError> {
    let name = snapshot.hex();
    let Some(file) = open_if_there(layout.by_blake3(), &layout.by_blake3_path(""), &name)? else {
        return Ok(None);
    };
    let path = || layout.by_blake3_path(&name);
    let text = read_bounded(&file, LONGEST_LINE).at(path)?.unwrap_or_default();
    let digits = std::str::from_utf8(&text).ok().and_then(|text| text.strip_suffix('\n'));
    let said: Option<Sha256Digest> = digits.and_then(|digits| digits.parse().ok());
    let is_it = |stored: &Stored| snapshot.matches(&stored.manifest.to_bytes());
    if let Some(sha256) = said {
        match read_one(layout, &sha256)? {
            Some(stored) if is_it(&stored) => return Ok(Some(stored)),
            _ => {}
        }
    }
    for sha256 in list(layout)? {
        match read_one(layout, &sha256) {
            Ok(Some(stored)) if is_it(&stored) => {
                let index = format!("{sha256}\n");
                write(layout, layout.by_blake3(), &name, index.as_bytes()).at(path)?;
                return Ok(Some(stored));
            }
            Ok(_) | Err(StoreError::Damaged { .. }) => {}
            Err(error) => return Err(error),
        }
    }
    Ok(None)
}

fn open_if_there(directory: &Dir, place: &Path, name: &str) -> Result<Option<File>, StoreError> {
    match open_file(directory, name) {
        Ok(file) => Ok(Some(file)),
        Err(error) if error.kind() == io::ErrorKind::NotFound => Ok(None),
        Err(error) => Err(misplaced(directory, place, name, "a file", error)),
    }
}

/// The bytes of a file; [`None`] where there are more than `longest`.
fn read_bounded(file: &File, longest: usize) -> io::Result<Option<Vec<u8>>> {
    let mut bytes = Vec::new();
    file.take(longest as u64 + 1).read_to_end(&mut bytes)?;
    Ok((bytes.len() <= longest).then_some(bytes))
}

/// The digests of every manifest that has a record, sorted.
pub(super) fn list(layout: &Layout) -> Result<Vec<Sha256Digest>, StoreError> {
    let path = || layout.manifest_path("");
    let mut found = Vec::new();
    for entry in layout.manifests().entries().at(path)? {
        let name = entry.at(path)?.file_name();
        found.extend(name.to_str().and_then(|name| name.parse::<Sha256Digest>().ok()));
    }
    found.sort_unstable();
    Ok(found)
}
