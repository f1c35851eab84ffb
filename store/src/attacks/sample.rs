//! A small honest archive, made without a directory: what attacks start from.

use std::collections::BTreeMap;
use std::io::{self, Read};

use skillpkg_schema::address::Digests;
use skillpkg_schema::manifest::{FileEntry, MANIFEST_SCHEMA, Mode, Requires};
use skillpkg_schema::signature::{Envelope, KeyError, SigningKey, sign_release};
use skillpkg_schema::skill::Dialect;
use skillpkg_schema::{Manifest, QualifiedName, Sha256Digest, SkillPath, Version};

use crate::archive::{self, ArchiveError, Sink};

/// The private key that samples are signed with: the first test key of RFC 8032, section 7.1, known
/// to everybody.
pub const SIGNING_KEY: &str = "-----BEGIN PRIVATE KEY-----
MC4CAQAwBQYDK2VwBCIEIJ1hsZ3v/VpguoRK9JLsLMREScVpezJpGXA7rAMcrn9g
-----END PRIVATE KEY-----
";

/// Files, and the manifest and signature that belong to them.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Sample {
    /// The manifest.
    pub manifest: Manifest,
    /// Its signature by [`SIGNING_KEY`].
    pub envelope: Envelope,
    /// The content of each file.
    pub files: BTreeMap<SkillPath, Vec<u8>>,
}

impl Sample {
    /// A sample of `name` at `version` with these files.
    ///
    /// Its manifest lists them and no capability, whatever they hold.
    pub fn new(
        name: QualifiedName,
        version: Version,
        files: BTreeMap<SkillPath, (Mode, Vec<u8>)>,
    ) -> Result<Self, KeyError> {
        let mut entries: Vec<FileEntry> = files
            .iter()
            .map(|(path, (mode, bytes))| FileEntry::new(path.clone(), *mode, Digests::of(bytes)))
            .collect();
        entries.sort_by(|left, right| left.path.as_str().cmp(right.path.as_str()));
        let manifest = Manifest {
            schema: MANIFEST_SCHEMA.to_owned(),
            name,
            version,
            description: "A sample.".to_owned(),
            license: None,
            dialect: Dialect::Agent,
            files: entries,
            tools: Vec::new(),
            resources: Vec::new(),
            scripts: Vec::new(),
            programs: Vec::new(),
            requires: Requires::default(),
            metadata: serde_json::Map::new(),
        };
        let files = files.into_iter().map(|(path, (_, bytes))| (path, bytes)).collect();
        let envelope = sign(&manifest)?;
        Ok(Self { manifest, envelope, files })
    }

    /// The archive, as [`archive::write`] makes it.
    pub fn archive(&self) -> Result<Vec<u8>, ArchiveError> {
        let mut bytes = Vec::new();
        archive::write(&mut bytes, &self.manifest, &self.envelope, &mut |entry| {
            let content = self.files.get(&entry.path).cloned();
            let content = content.ok_or_else(|| io::Error::from(io::ErrorKind::NotFound))?;
            Ok(Box::new(io::Cursor::new(content)))
        })?;
        Ok(bytes)
    }
}

/// The signature over `manifest` by [`SIGNING_KEY`].
pub(super) fn sign(manifest: &Manifest) -> Result<Envelope, KeyError> {
    let key = SigningKey::from_pem(SIGNING_KEY)?;
    let digest = Sha256Digest::of(&manifest.to_bytes());
    Ok(sign_release(&manifest.name, &manifest.version, digest, &[key]))
}

/// A sink that keeps every file in memory.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Collected {
    /// The content of each file.
    pub files: BTreeMap<SkillPath, Vec<u8>>,
}

impl Sink for Collected {
    fn file(&mut self, entry: &FileEntry, content: &mut dyn Read) -> io::Result<()> {
        let mut bytes = Vec::new();
        content.read_to_end(&mut bytes)?;
        self.files.insert(entry.path.clone(), bytes);
        Ok(())
    }
}
