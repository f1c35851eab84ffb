//! What the tests of archives share.

use skillpkg_schema::SkillPath;
use skillpkg_schema::address::Digests;
use skillpkg_store::archive::{ArchiveError, Bounds, Reader};
use skillpkg_store::attacks::{Collected, Sample};

pub(crate) fn path(text: &str) -> SkillPath {
    text.parse().unwrap()
}

/// The sample that most tests start from.
pub(crate) fn small() -> Sample {
    Sample::small().unwrap()
}

/// Everything an archive holds, read to its end.
pub(crate) fn unpack(archive: &[u8]) -> Result<(Sample, Digests), ArchiveError> {
    let reader = Reader::open(archive, Bounds::default())?;
    let (manifest, envelope) = (reader.manifest().clone(), reader.envelope().clone());
    let mut collected = Collected::default();
    let digests = reader.unpack(&mut collected)?;
    Ok((Sample { manifest, envelope, files: collected.files }, digests))
}
