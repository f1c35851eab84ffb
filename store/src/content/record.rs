//! Records: a snapshot's manifest and signatures in one file, both re-hashed whenever they are
//! read.
//!
//! A line `skillpkg.record/1 MANIFEST ENVELOPE DIGEST` with the lengths of both in bytes and the
//! SHA-256 of the envelope, then the manifest, a newline, the envelope, a newline. The name is the
//! manifest's SHA-256, so nothing needs to say that again.

use std::fs::{File, Metadata};
use std::io::{self, Read as _, Write as _};

use skillpkg_schema::limits::{MAX_ENVELOPE_BYTES, MAX_MANIFEST_BYTES};
use skillpkg_schema::signature::Envelope;
use skillpkg_schema::{Algorithm, ContentAddress, Manifest, Sha256Digest};

use super::Stored;
use super::damage::{Expected, place_over, set_aside, set_irregular_aside};
use super::directory::{open_regular, place_new};
use super::error::{AtPath as _, StoreError};
use super::layout::Layout;
use super::temporary::TemporaryFile;

/// What the first line starts with.
const PREFIX: &str = "skillpkg.record/1 ";
/// Most bytes of the first line: the prefix, two lengths and a digest.
const LONGEST_LINE: usize = 128;
/// Most bytes of a record.
const LONGEST_RECORD: usize = LONGEST_LINE + MAX_MANIFEST_BYTES + MAX_ENVELOPE_BYTES + 2;
/// The permission bits of a record.
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
    let name = sha256.to_string();
    let path = || layout.manifest_path(&name);
    let record = encode(&bytes, &envelope.to_bytes());
    let stands = match open_if_there(layout, &sha256) {
        Ok(Some(found)) => {
            if read_bounded(&found, record.len()).at(path)?.as_ref() == Some(&record) {
                return Ok(sha256.address());
            }
            true
        }
        Ok(None) | Err(StoreError::Damaged { .. }) => false,
        Err(error) => return Err(error),
    };
    let mut file = TemporaryFile::create(layout, "record", MODE)?;
    file.handle().write_all(&record).at(|| layout.temporary_path(file.name()))?;
    let (source, target) = (layout.temporary(), layout.manifests());
    // The last to come is right, as if it had come after the other was in place.
    if stands || !place_new(source, file.name(), target, &name).at(path)? {
        place_over(layout, file.name(), target, &name).at(path)?;
    }
    file.placed();
    layout.written().remember(path);
    Ok(sha256.address())
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
        Algorithm::Blake3 => Ok(find_by_blake3(layout, snapshot)?.map(|(_, stored)| stored)),
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
    Ok(find_by_blake3(layout, snapshot)?.map(|(sha256, _)| sha256))
}

fn read_one(layout: &Layout, sha256: &Sha256Digest) -> Result<Option<Stored>, StoreError> {
    let name = sha256.to_string();
    let Some(file) = open_if_there(layout, sha256)? else {
        return Ok(None);
    };
    let path = || layout.manifest_path(&name);
    let bytes = read_bounded(&file, LONGEST_RECORD).at(path)?;
    if let Some((manifest, envelope)) = bytes.as_deref().and_then(|bytes| decode(bytes, sha256))
        // What has this digest was written by `keep`.
        && let Ok(manifest) = Manifest::from_canonical_bytes(manifest)
    {
        return Ok(Some(Stored { manifest, envelope }));
    }
    set_aside(layout, layout.manifests(), &name, &file.0).at(path)?;
    Err(StoreError::Damaged { address: sha256.address() })
}

/// Reads every record until one is of the snapshot. Nothing but a person's hand asks by BLAKE3, so
/// no index is kept for it.
fn find_by_blake3(
    layout: &Layout,
    snapshot: &ContentAddress,
) -> Result<Option<(Sha256Digest, Stored)>, StoreError> {
    for sha256 in list(layout)? {
        match read_one(layout, &sha256) {
            Ok(Some(stored)) if snapshot.matches(&stored.manifest.to_bytes()) => {
                return Ok(Some((sha256, stored)));
            }
            // One damaged record does not hide the others.
            Ok(_) | Err(StoreError::Damaged { .. }) => {}
            Err(error) => return Err(error),
        }
    }
    Ok(None)
}

/// The record of a manifest. What stands in its place and is no file is set aside, and is damage.
fn open_if_there(
    layout: &Layout,
    sha256: &Sha256Digest,
) -> Result<Option<(File, Metadata)>, StoreError> {
    let name = sha256.to_string();
    match open_regular(layout.manifests(), &name) {
        Ok(opened) => Ok(Some(opened)),
        Err(error) if error.kind() == io::ErrorKind::NotFound => Ok(None),
        Err(error) => {
            let at = || layout.manifest_path(&name);
            if set_irregular_aside(layout, layout.manifests(), &name, Expected::File).at(at)? {
                return Err(StoreError::Damaged { address: sha256.address() });
            }
            Err(StoreError::io(at(), error))
        }
    }
}

/// The bytes of a file; [`None`] where there are more than `longest`.
fn read_bounded(
    (file, metadata): &(File, Metadata),
    longest: usize,
) -> io::Result<Option<Vec<u8>>> {
    // Room for all of it and a byte more, so that it comes in one piece.
    let length = usize::try_from(metadata.len()).unwrap_or(longest).min(longest);
    let mut bytes = Vec::with_capacity(length + 1);
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

#[cfg(test)]
mod tests {
    use super::*;

    use proptest::prelude::*;
    use skillpkg_schema::signature::SigningKey;

    fn envelope() -> Envelope {
        let key = "-----BEGIN PRIVATE KEY-----\n\
                   MC4CAQAwBQYDK2VwBCIEIJ1hsZ3v/VpguoRK9JLsLMREScVpezJpGXA7rAMcrn9g\n\
                   -----END PRIVATE KEY-----\n";
        Envelope::sign("t", b"payload", &[SigningKey::from_pem(key).unwrap()])
    }

    #[test]
    fn the_first_line_says_both_lengths_and_the_digest_of_the_envelope() {
        let envelope = envelope().to_bytes();
        let record = encode(b"{}", &envelope);
        let line = record.split(|byte| *byte == b'\n').next().unwrap();
        let wanted = "skillpkg.record/1 2 233 \
                      f3666a34328a13b5c4290f284ff251eadb570a26f9969c2d7a1e98edb8ae4ec8";
        assert_eq!(std::str::from_utf8(line).unwrap(), wanted);
        assert_eq!(&record[line.len()..][..4], b"\n{}\n");
        assert_eq!(record.len(), line.len() + 1 + 2 + 1 + envelope.len() + 1);
    }

    proptest! {
        #[test]
        fn a_record_is_read_as_it_was_written_and_no_other_way(
            manifest in prop::collection::vec(any::<u8>(), 0..200),
            at in any::<prop::sample::Index>(),
            bit in 0u8..8,
        ) {
            let envelope = envelope();
            let sha256 = Sha256Digest::of(&manifest);
            let record = encode(&manifest, &envelope.to_bytes());
            prop_assert_eq!(decode(&record, &sha256), Some((manifest.as_slice(), envelope)));
            prop_assert_eq!(decode(&record, &Sha256Digest::of(b"another")), None);
            let mut changed = record.clone();
            changed[at.index(record.len())] ^= 1 << bit;
            prop_assert_eq!(decode(&changed, &sha256), None);
            prop_assert_eq!(decode(&record[..at.index(record.len())], &sha256), None);
            let longer = [record.as_slice(), b"\n"].concat();
            prop_assert_eq!(decode(&longer, &sha256), None);
        }

        #[test]
        fn other_bytes_are_no_record(bytes in prop::collection::vec(any::<u8>(), 0..300)) {
            prop_assert_eq!(decode(&bytes, &Sha256Digest::of(&bytes)), None);
        }
    }
}
