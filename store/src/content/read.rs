//! Exact bytes of one blob, none of them given out before they are verified.

use std::io::{Read as _, Seek as _, Write};

use skillpkg_schema::address::Hasher;
use skillpkg_schema::manifest::Mode;
use skillpkg_schema::{Algorithm, Blake3Digest, ContentAddress, Sha256Digest};

use super::blob::{Found, find_one};
use super::error::{AtPath as _, StoreError};
use super::layout::Layout;
use super::record;

/// Bytes that are verified, and then written, at once.
const CHUNK: u64 = 1024 * 1024;

/// The bytes of a blob. See [`super::Store::read_blob`].
pub(super) fn read_blob(
    layout: &Layout,
    blob: &ContentAddress,
    limit: u64,
) -> Result<Vec<u8>, StoreError> {
    with_any(layout, blob, |found| {
        if found.size > limit {
            return Err(StoreError::TooLong { address: *blob, size: found.size, limit });
        }
        let mut bytes = Vec::new();
        let file = &found.file;
        file.take(limit.saturating_add(1)).read_to_end(&mut bytes).at(|| found.path())?;
        Ok(blob.matches(&bytes).then_some(bytes))
    })
}

/// Writes a blob's bytes to `out`. See [`super::Store::write_blob_to`].
///
/// Reads it twice: once to compare the whole with its address and keep a digest of each chunk, once
/// to compare each chunk with its digest before it is written. So bytes that change in between are
/// not written either, and memory is bounded.
pub(super) fn write_blob_to(
    layout: &Layout,
    blob: &ContentAddress,
    out: &mut dyn Write,
) -> Result<u64, StoreError> {
    with_any(layout, blob, |found| {
        let mut chunk = Vec::new();
        if found.size <= CHUNK {
            read_chunk(found, &mut chunk)?;
            // A byte more than was there when it was looked at is in no chunk.
            if !blob.matches(&chunk) || read_chunk(found, &mut Vec::new())? {
                return Ok(None);
            }
            out.write_all(&chunk).map_err(StoreError::Output)?;
            return Ok(Some(chunk.len() as u64));
        }
        let Some(chunks) = digests_of_chunks(found, blob)? else { return Ok(None) };
        found.file.rewind().at(|| found.path())?;
        let mut written = 0;
        for digest in chunks {
            read_chunk(found, &mut chunk)?;
            if Blake3Digest::of(&chunk) != digest {
                found.set_aside(layout)?;
                return Err(StoreError::Damaged { address: *blob });
            }
            out.write_all(&chunk).map_err(StoreError::Output)?;
            written += chunk.len() as u64;
        }
        Ok(Some(written))
    })
}

/// The digest of each chunk of a blob; [`None`] where the whole is not what its address says.
fn digests_of_chunks(
    found: &Found,
    blob: &ContentAddress,
) -> Result<Option<Vec<Blake3Digest>>, StoreError> {
    let (mut chunk, mut chunks, mut hasher) = (Vec::new(), Vec::new(), Hasher::new());
    while read_chunk(found, &mut chunk)? {
        hasher.update(&chunk);
        chunks.push(Blake3Digest::of(&chunk));
    }
    let digests = hasher.finish();
    let is_whole = match blob.algorithm() {
        Algorithm::Sha256 => digests.sha256.address() == *blob,
        Algorithm::Blake3 => digests.blake3.address() == *blob,
    };
    Ok(is_whole.then_some(chunks))
}

/// Reads the next chunk; answers whether there was anything left.
fn read_chunk(found: &Found, chunk: &mut Vec<u8>) -> Result<bool, StoreError> {
    chunk.clear();
    let file = &found.file;
    file.take(CHUNK).read_to_end(chunk).at(|| found.path())?;
    Ok(!chunk.is_empty())
}

/// Gives a blob to `take`, which answers with [`None`] where its bytes are not those of the
/// address. Such a blob is set aside, and the one of the other mode tried.
fn with_any<T>(
    layout: &Layout,
    blob: &ContentAddress,
    mut take: impl FnMut(&mut Found) -> Result<Option<T>, StoreError>,
) -> Result<T, StoreError> {
    let Some(sha256) = sha256_of(layout, blob)? else { return Err(StoreError::Absent(*blob)) };
    let mut damaged = false;
    for mode in [Mode::Regular, Mode::Executable] {
        let Some(mut found) = find_one(layout, &sha256, mode)? else { continue };
        if let Some(taken) = take(&mut found)? {
            return Ok(taken);
        }
        damaged = true;
        found.set_aside(layout)?;
    }
    Err(if damaged { StoreError::Damaged { address: *blob } } else { StoreError::Absent(*blob) })
}

/// The SHA-256 digest of a blob. By BLAKE3 it is found in the manifests that list it.
fn sha256_of(layout: &Layout, blob: &ContentAddress) -> Result<Option<Sha256Digest>, StoreError> {
    if blob.algorithm() == Algorithm::Sha256 {
        return Ok(Some(Sha256Digest::from_bytes(*blob.digest())));
    }
    for snapshot in record::list(layout)? {
        let stored = match record::read(layout, &snapshot.address()) {
            Ok(Some(stored)) => stored,
            // One damaged manifest does not hide what the others list.
            Ok(None) | Err(StoreError::Damaged { .. }) => continue,
            Err(error) => return Err(error),
        };
        let listed = stored.manifest.files.iter().find(|file| file.blake3.address() == *blob);
        if let Some(entry) = listed {
            return Ok(Some(entry.sha256));
        }
    }
    Ok(None)
}
