//! Reading an archive whole, and holding what was taken to the profile.

use std::io::{self, Read as _};

use skillpkg_schema::address::Digests;

use super::frame::{Settings, compress};
use super::{Collected, Sample};
use crate::archive::{ArchiveError, Bounds, Reader};

/// Everything that an archive holds, read to its end, and the digests of the archive.
pub fn decode(archive: &[u8]) -> Result<(Sample, Digests), ArchiveError> {
    let reader = Reader::open(archive, Bounds::default())?;
    let (manifest, envelope) = (reader.manifest().clone(), reader.envelope().clone());
    let mut collected = Collected::default();
    let digests = reader.unpack(&mut collected)?;
    Ok((Sample { manifest, envelope, files: collected.files }, digests))
}

/// Decodes `archive` and checks, where it is taken, that what was read gives the same tar stream
/// and that the digests are those of `archive`: an error says that they do not.
///
/// Answers whether it was taken.
pub fn check(archive: &[u8]) -> io::Result<bool> {
    let Ok((sample, digests)) = decode(archive) else { return Ok(false) };
    if digests != Digests::of(archive) {
        return Err(io::Error::other("the digests are not those of the archive"));
    }
    let again = sample.archive().map_err(io::Error::other)?;
    if tar_stream(archive)? != tar_stream(&again)? {
        return Err(io::Error::other("what was read gives another stream"));
    }
    Ok(true)
}

/// As [`check`], of the archive of `stream` in an honest frame: mutations of the stream come past
/// the frame's checksum.
pub fn check_stream(stream: &[u8]) -> io::Result<bool> {
    check(&framed(stream)?)
}

/// The honest frame around `stream`.
pub fn framed(stream: &[u8]) -> io::Result<Vec<u8>> {
    compress(stream, Settings::default())
}

/// The tar stream in an archive that was taken.
pub fn tar_stream(archive: &[u8]) -> io::Result<Vec<u8>> {
    let mut stream = Vec::new();
    zstd::stream::read::Decoder::new(archive)?.single_frame().read_to_end(&mut stream)?;
    Ok(stream)
}
