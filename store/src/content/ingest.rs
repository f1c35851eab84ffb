//! From an archive to blobs and a record, nothing in place before all of it is checked.

use std::io::Read;

use skillpkg_schema::manifest::verify_derived;
use skillpkg_schema::{Algorithm, ContentAddress, Manifest};

use super::Ingested;
use super::error::StoreError;
use super::layout::Layout;
use super::record;
use super::unpacked::Unpacked;
use crate::archive::{ArchiveError, Bounds, Reader};

/// Unpacks an archive. See [`super::Store::ingest`].
pub(super) fn ingest(
    layout: &Layout,
    archive: impl Read,
    wanted: Option<&ContentAddress>,
) -> Result<Ingested, StoreError> {
    let reader = Reader::open(archive, Bounds::default())?;
    let (manifest, envelope) = (reader.manifest().clone(), reader.envelope().clone());
    if let Some(wanted) = wanted {
        check_wanted(&manifest, wanted)?;
    }
    let mut unpacked = Unpacked::new(layout, &manifest);
    let archive = reader.unpack(&mut unpacked).map_err(|error| unpacked.failure(error))?;
    // A manifest cannot claim a tool, a script or a permission that its files do not have.
    verify_derived(&unpacked, &manifest).map_err(StoreError::Mismatch)?;
    unpacked.place()?;
    // Last, and what makes them a snapshot.
    let address = record::keep(layout, &manifest, &envelope)?;
    Ok(Ingested { address, manifest, envelope, archive })
}

fn check_wanted(manifest: &Manifest, wanted: &ContentAddress) -> Result<(), ArchiveError> {
    let is_wanted = match wanted.algorithm() {
        Algorithm::Sha256 => manifest.address() == *wanted,
        Algorithm::Blake3 => wanted.matches(&manifest.to_bytes()),
    };
    if is_wanted {
        return Ok(());
    }
    Err(ArchiveError::OtherSnapshot { found: manifest.address(), wanted: *wanted })
}
