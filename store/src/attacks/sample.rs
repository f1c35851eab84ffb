//! A small honest archive, made without a directory: what attacks start from.

use std::collections::BTreeMap;
use std::io::{self, Read};

use skillpkg_schema::address::Digests;
use skillpkg_schema::manifest::{FileEntry, MANIFEST_SCHEMA, Mode, Requires};
use skillpkg_schema::name::NameError;
use skillpkg_schema::path::PathError;
use skillpkg_schema::signature::{Envelope, KeyError, SigningKey, sign_release};
use skillpkg_schema::skill::Dialect;
use skillpkg_schema::version::VersionError;
use skillpkg_schema::{Manifest, QualifiedName, Sha256Digest, SkillPath, Version};

use crate::archive::{self, ArchiveError, Sink};

/// The private key that samples are signed with: the first test key of RFC 8032, section 7.1, known
/// to everybody.
pub const SIGNING_KEY: &str = "-----BEGIN PRIVATE KEY-----
MC4CAQAwBQYDK2VwBCIEIJ1hsZ3v/VpguoRK9JLsLMREScVpezJpGXA7rAMcrn9g
-----END PRIVATE KEY-----
";

/// A file of every sample that attacks put things in place of.
pub(super) const MIDDLE: &str = "middle.bin";
/// How long it is: room for a few entries.
pub(super) const MIDDLE_BYTES: usize = 8192;
/// A small file of every sample that attacks rename.
pub(super) const TAIL: &str = "tail.md";

/// A sample that cannot be made.
#[derive(Debug, thiserror::Error)]
pub enum SampleError {
    /// Its name.
    #[error(transparent)]
    Name(#[from] NameError),
    /// Its version.
    #[error(transparent)]
    Version(#[from] VersionError),
    /// A path in it.
    #[error(transparent)]
    Path(#[from] PathError),
    /// The key that signs it.
    #[error(transparent)]
    Key(#[from] KeyError),
}

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
    ) -> Result<Self, SampleError> {
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

    /// A sample with an executable, an empty file, a file of one whole block, a path that a header
    /// divides, a path beyond ASCII, and a file of `MIDDLE_BYTES` that compresses badly.
    ///
    /// It is an Agent Skill whose manifest is the one that its files give.
    pub fn small() -> Result<Self, SampleError> {
        let long = format!("{}/{}/deep.txt", "p".repeat(80), "q".repeat(80));
        let skill = "---\nname: sample\ndescription: A sample.\n---\nRead `tail.md`.\n";
        let files = [
            ("SKILL.md", Mode::Regular, skill.into()),
            ("bin/run.sh", Mode::Executable, "#!/bin/sh\necho run\n".into()),
            ("block", Mode::Regular, vec![b'b'; 512]),
            ("empty", Mode::Regular, Vec::new()),
            (MIDDLE, Mode::Regular, noise(MIDDLE_BYTES)),
            (&long, Mode::Regular, vec![b'd'; 513]),
            (TAIL, Mode::Regular, "The tail.\n".into()),
            ("\u{e9}t\u{e9}/na\u{ef}ve.md", Mode::Regular, "Read.\n".into()),
        ];
        let files = files
            .into_iter()
            .map(|(path, mode, bytes)| Ok((path.parse()?, (mode, bytes))))
            .collect::<Result<_, PathError>>()?;
        Self::new("acme/sample".parse()?, "1.0.0".parse()?, files)
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
fn sign(manifest: &Manifest) -> Result<Envelope, KeyError> {
    sign_bytes(manifest, &manifest.to_bytes())
}

/// The signature by [`SIGNING_KEY`] that `manifest`'s name and version are the snapshot with the
/// manifest `bytes`, which need not be one.
pub(super) fn sign_bytes(manifest: &Manifest, bytes: &[u8]) -> Result<Envelope, KeyError> {
    let key = SigningKey::from_pem(SIGNING_KEY)?;
    Ok(sign_release(&manifest.name, &manifest.version, Sha256Digest::of(bytes), &[key]))
}

/// Bytes that look random, the same ones always.
pub(super) fn noise(length: usize) -> Vec<u8> {
    let mut random = Noise::default();
    (0..length).map(|_| random.byte()).collect()
}

/// Numbers that look random, the same ones always: xorshift64 (Marsaglia, 2003).
#[derive(Debug, Clone)]
pub(super) struct Noise(u64);

impl Default for Noise {
    fn default() -> Self {
        Self(0x9e37_79b9_7f4a_7c15)
    }
}

impl Noise {
    pub(super) fn next(&mut self) -> u64 {
        self.0 ^= self.0 << 13;
        self.0 ^= self.0 >> 7;
        self.0 ^= self.0 << 17;
        self.0
    }

    fn byte(&mut self) -> u8 {
        self.next().to_le_bytes()[3]
    }
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
