//! Blobs: files by the SHA-256 of their bytes, written once and re-hashed whenever they are used.

use std::fs::File;
use std::io::{self, Read, Write as _};
use std::path::PathBuf;

use cap_std::fs::Dir;
use skillpkg_schema::manifest::{FileEntry, Mode};
use skillpkg_schema::{Blake3Digest, Sha256Digest};

use super::damage::{Expected, place_over, set_aside, set_irregular_aside};
use super::directory::{open_directory, open_regular, place_new};
use super::error::{AtPath as _, StoreError};
use super::layout::{Layout, open_own};
use super::temporary::TemporaryFile;

/// What follows the digest in the name of a blob that is an executable file's.
const EXECUTABLE_SUFFIX: &str = "-x";
/// Bytes that are read or compared at once.
pub(super) const PIECE: usize = 64 * 1024;
/// Most bytes of a file that is held in memory whole.
pub(super) const SMALL: u64 = 256 * 1024;

/// The directory and the name of a blob.
pub(super) fn place_of(sha256: &Sha256Digest, mode: Mode) -> (String, String) {
    let mut name = sha256.to_string();
    let shard = name.chars().take(2).collect();
    if mode == Mode::Executable {
        name.push_str(EXECUTABLE_SUFFIX);
    }
    (shard, name)
}

/// The digest and the mode in a blob's name.
pub(super) fn parse_name(name: &str) -> Option<(Sha256Digest, Mode)> {
    match name.strip_suffix(EXECUTABLE_SUFFIX) {
        Some(digest) => Some((digest.parse().ok()?, Mode::Executable)),
        None => Some((name.parse().ok()?, Mode::Regular)),
    }
}

/// The permission bits of a file that nobody writes.
pub(super) fn read_only(mode: Mode) -> u32 {
    mode.bits() & !0o222
}

/// Content whose digests were compared and that has no place yet.
#[derive(Debug)]
pub(super) enum Content<'store> {
    /// Held whole.
    Memory(Vec<u8>),
    /// In `tmp/`.
    Written(TemporaryFile<'store>),
}

/// Puts content in its place.
///
/// A blob that stands there already with the same bytes stays; one with other bytes is damaged and
/// is replaced in one step. Whoever is killed here leaves a file in `tmp/`, or a whole blob.
pub(super) fn place(
    layout: &Layout,
    entry: &FileEntry,
    content: Content<'_>,
) -> Result<(), StoreError> {
    let (shard_name, name) = place_of(&entry.sha256, entry.mode);
    let shard = match open_own(layout.blobs(), &layout.shard_path(""), &shard_name) {
        Err(StoreError::Misplaced { path, .. }) => {
            set_irregular_aside(layout, layout.blobs(), &shard_name, Expected::Directory)
                .at(|| path)?;
            open_own(layout.blobs(), &layout.shard_path(""), &shard_name)?
        }
        answer => answer?,
    };
    let path = || layout.shard_path(&shard_name).join(&name);
    let stands = match open_regular(&shard, &name) {
        Ok((mut found, metadata)) => {
            if metadata.len() == entry.size && is_same(&mut found, &content, entry).at(path)? {
                return Ok(());
            }
            true
        }
        Err(error) if error.kind() == io::ErrorKind::NotFound => false,
        Err(error) => {
            if !set_irregular_aside(layout, &shard, &name, Expected::File).at(path)? {
                return Err(StoreError::io(path(), error));
            }
            false
        }
    };
    let file = match content {
        Content::Written(file) => file,
        Content::Memory(bytes) => {
            let mut file = TemporaryFile::create(layout, "blob", read_only(entry.mode))?;
            file.handle().write_all(&bytes).at(|| layout.temporary_path(file.name()))?;
            file
        }
    };
    // Another writer may come between: then its blob was compared with the same digests as ours,
    // and stays.
    if stands {
        place_over(layout, file.name(), &shard, &name).at(path)?;
    } else if !place_new(layout.temporary(), file.name(), &shard, &name).at(path)? {
        return Ok(());
    }
    file.placed();
    layout.written().remember(path);
    Ok(())
}

/// Whether a file of the right length holds the content too.
fn is_same(found: &mut File, content: &Content<'_>, entry: &FileEntry) -> io::Result<bool> {
    match content {
        Content::Memory(bytes) => holds(found, bytes),
        Content::Written(_) => Ok(hash(found, entry.size)? == Some(entry.blake3)),
    }
}

fn holds(file: &mut File, bytes: &[u8]) -> io::Result<bool> {
    let mut found = Vec::with_capacity(bytes.len() + 1);
    file.take(bytes.len() as u64 + 1).read_to_end(&mut found)?;
    Ok(found == bytes)
}

/// The digest of a file of `size` bytes; [`None`] where it has another length.
pub(super) fn hash(file: &mut impl Read, size: u64) -> io::Result<Option<Blake3Digest>> {
    let mut hasher = blake3::Hasher::new();
    let length = usize::try_from(size).map_or(PIECE, |size| size.saturating_add(1).min(PIECE));
    let mut piece = vec![0; length];
    let mut rest = size;
    loop {
        let read = match file.read(&mut piece) {
            Ok(read) => read,
            Err(error) if error.kind() == io::ErrorKind::Interrupted => continue,
            Err(error) => return Err(error),
        };
        if read == 0 {
            break;
        }
        match rest.checked_sub(read as u64) {
            Some(left) => rest = left,
            None => return Ok(None),
        }
        hasher.update(piece.get(..read).unwrap_or_default());
        // There was room for one byte more, so this was the end: no read is spent on asking again.
        if rest == 0 && read < piece.len() {
            break;
        }
    }
    Ok((rest == 0).then(|| Blake3Digest::from_bytes(*hasher.finalize().as_bytes())))
}

/// A blob that was found, its bytes not yet believed.
pub(super) struct Found {
    shard: Dir,
    name: String,
    path: PathBuf,
    /// The open file.
    pub(super) file: File,
    /// Its length when it was looked at.
    pub(super) size: u64,
}

impl Found {
    /// Moves a damaged blob out of the way, unless it was replaced since.
    pub(super) fn set_aside(&self, layout: &Layout) -> Result<(), StoreError> {
        set_aside(layout, &self.shard, &self.name, &self.file).at(|| self.path())
    }

    /// Where it lies.
    pub(super) fn path(&self) -> PathBuf {
        self.path.clone()
    }
}

/// Finds the blob for files of `mode`. What stands in its place and is no file is set aside.
pub(super) fn find_one(
    layout: &Layout,
    sha256: &Sha256Digest,
    mode: Mode,
) -> Result<Option<Found>, StoreError> {
    let (shard_name, name) = place_of(sha256, mode);
    let shard_path = layout.shard_path(&shard_name);
    let shard = match open_directory(layout.blobs(), &shard_name) {
        Ok(shard) => shard,
        Err(error) if error.kind() == io::ErrorKind::NotFound => return Ok(None),
        Err(error) => {
            let at = || layout.shard_path(&shard_name);
            let kind = Expected::Directory;
            if set_irregular_aside(layout, layout.blobs(), &shard_name, kind).at(at)? {
                return Ok(None);
            }
            return Err(StoreError::io(at(), error));
        }
    };
    match open_regular(&shard, &name) {
        Ok((file, metadata)) => {
            let path = shard_path.join(&name);
            Ok(Some(Found { shard, name, path, file, size: metadata.len() }))
        }
        Err(error) if error.kind() == io::ErrorKind::NotFound => Ok(None),
        Err(error) => {
            let at = || shard_path.join(&name);
            if set_irregular_aside(layout, &shard, &name, Expected::File).at(at)? {
                return Ok(None);
            }
            Err(StoreError::io(at(), error))
        }
    }
}

/// Gives the blob of `entry` to `take`, which answers with [`None`] where its bytes are not those
/// of the entry. Such a blob is set aside, and the one of the other mode tried.
pub(super) fn with_blob<T>(
    layout: &Layout,
    entry: &FileEntry,
    mut take: impl FnMut(&mut File) -> Result<Option<T>, StoreError>,
) -> Result<T, StoreError> {
    let mut damaged = false;
    let other = Mode::of(entry.mode == Mode::Regular);
    for mode in [entry.mode, other] {
        let Some(mut found) = find_one(layout, &entry.sha256, mode)? else { continue };
        if found.size == entry.size
            && let Some(taken) = take(&mut found.file)?
        {
            return Ok(taken);
        }
        damaged = true;
        found.set_aside(layout)?;
    }
    let address = entry.sha256.address();
    Err(if damaged { StoreError::Damaged { address } } else { StoreError::Absent(address) })
}
