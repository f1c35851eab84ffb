//! From a skill's directory to its signed archive.

use std::io::Write;
use std::path::Path;

use skillpkg_schema::address::Digests;
use skillpkg_schema::manifest::Derived;
use skillpkg_schema::signature::{Envelope, SigningKey};
use skillpkg_schema::{Diagnostic, Faults, Manifest, QualifiedName, Version};

use crate::archive::ArchiveError;

/// What packing is told beside the directory.
#[derive(Debug, Clone, Default)]
pub struct PackOptions {
    /// The whole name, in place of the frontmatter's.
    pub name: Option<QualifiedName>,
    /// The version, in place of the frontmatter's.
    pub version: Option<Version>,
    /// Packs what looks like a secret instead of refusing it.
    pub allow_secrets: bool,
}

/// A skill ready to be written as an archive: its files chosen, hashed and checked.
#[derive(Debug)]
pub struct Packing {
    derived: Derived,
}

impl Packing {
    /// Chooses, hashes and checks the files of the skill in `directory`.
    pub fn plan(directory: &Path, options: &PackOptions) -> Result<Self, Faults> {
        let _ = (directory, options);
        todo!()
    }

    /// The manifest.
    pub fn manifest(&self) -> &Manifest {
        &self.derived.manifest
    }

    /// The skill.
    pub fn skill(&self) -> &skillpkg_schema::skill::Skill {
        &self.derived.skill
    }

    /// What is worth telling, though nothing is refused for it.
    pub fn warnings(&self) -> &[Diagnostic] {
        &self.derived.warnings
    }

    /// The signature over the manifest by each of `keys`.
    pub fn sign(&self, keys: &[SigningKey]) -> Envelope {
        let _ = keys;
        todo!()
    }

    /// Writes the archive; answers with the digests of its bytes.
    pub fn write(&self, envelope: &Envelope, out: impl Write) -> Result<Digests, ArchiveError> {
        let _ = (envelope, out);
        todo!()
    }
}
