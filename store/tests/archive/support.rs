//! What the tests of archives share.

use std::collections::BTreeMap;

use skillpkg_schema::SkillPath;
use skillpkg_schema::address::Digests;
use skillpkg_schema::manifest::Mode;
use skillpkg_store::archive::{ArchiveError, Bounds, Reader};
use skillpkg_store::attacks::{Collected, Sample};

pub(crate) type Files = BTreeMap<SkillPath, (Mode, Vec<u8>)>;

pub(crate) fn path(text: &str) -> SkillPath {
    text.parse().unwrap()
}

pub(crate) fn sample(files: Files) -> Sample {
    Sample::new("acme/sample".parse().unwrap(), "1.0.0".parse().unwrap(), files).unwrap()
}

/// A tree with an executable, an empty file, a file of one whole block, a long path and a path
/// beyond ASCII.
pub(crate) fn small() -> Sample {
    let long = format!("{}/{}/deep.txt", "p".repeat(80), "q".repeat(80));
    let files = [
        ("SKILL.md", Mode::Regular, b"---\nname: sample\n---\nRead.\n".to_vec()),
        ("bin/run.sh", Mode::Executable, b"#!/bin/sh\necho run\n".to_vec()),
        ("empty", Mode::Regular, Vec::new()),
        ("block", Mode::Regular, vec![b'b'; 512]),
        (&long, Mode::Regular, vec![b'd'; 513]),
        ("été/naïve.md", Mode::Regular, "à lire".into()),
    ];
    sample(files.into_iter().map(|(name, mode, bytes)| (path(name), (mode, bytes))).collect())
}

/// Everything an archive holds, read to its end.
pub(crate) fn unpack(archive: &[u8]) -> Result<(Sample, Digests), ArchiveError> {
    let reader = Reader::open(archive, Bounds::default())?;
    let (manifest, envelope) = (reader.manifest().clone(), reader.envelope().clone());
    let mut collected = Collected::default();
    let digests = reader.unpack(&mut collected)?;
    Ok((Sample { manifest, envelope, files: collected.files }, digests))
}
