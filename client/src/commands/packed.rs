//! Archives on this machine, read whole.

use std::path::Path;

use skillpkg::{Error, Kind};
use skillpkg_schema::Manifest;
use skillpkg_schema::address::Digests;
use skillpkg_schema::signature::Envelope;
use skillpkg_store::archive::{Bounds, Reader, Sink};

/// An archive of which every byte was checked; its signature was not.
#[derive(Debug)]
pub(crate) struct Packed {
    /// The manifest.
    pub(crate) manifest: Manifest,
    /// The signatures.
    pub(crate) envelope: Envelope,
    /// The digests of the archive itself.
    pub(crate) archive: Digests,
}

/// Reads the archive at `path` to its end, its files into `sink`.
pub(crate) fn read(path: &Path, sink: &mut dyn Sink) -> Result<Packed, Error> {
    let shown = path.to_string_lossy();
    let file = std::fs::File::open(path).map_err(|error| {
        Error::new(Kind::Failed, "file_unreadable", error.to_string()).in_file(&*shown)
    })?;
    let refused = |error| Error::from(error).in_file(&*shown);
    let reader = Reader::open(file, Bounds::default()).map_err(refused)?;
    let (manifest, envelope) = (reader.manifest().clone(), reader.envelope().clone());
    let archive = reader.unpack(sink).map_err(refused)?;
    Ok(Packed { manifest, envelope, archive })
}
