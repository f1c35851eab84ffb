//! The snapshot of an active skill, read with every byte compared with its manifest.

use std::collections::BTreeMap;
use std::path::PathBuf;

use bytes::Bytes;
use skillpkg_schema::Manifest;
use skillpkg_schema::diagnostic::escape;
use skillpkg_schema::limits::MAX_SKILL_FILE_BYTES;
use skillpkg_schema::manifest::{FileEntry, ResourceEntry};
use skillpkg_schema::signature::Envelope;
use skillpkg_schema::skill::{self, SkillFile};
use skillpkg_schema::tree::Tree as _;
use skillpkg_store::content::{Store, Stored};

use crate::policy::Policy;
use crate::project::Locked;
use crate::resource::{ResourceError, ResourceFailure};
use crate::runner::Script;
use crate::state::Active;
use crate::{Error, Kind};

/// The snapshot of an active skill. Its manifest was re-hashed; its files are when they are read.
#[derive(Debug)]
pub(super) struct Snapshot {
    pub(super) manifest: Manifest,
    pub(super) tree: PathBuf,
    /// Where its programs were found when it was activated.
    pub(super) programs: BTreeMap<String, PathBuf>,
    /// What the project's lockfile says of it, where that was read.
    pub(super) locked: Option<Locked>,
    /// Its signatures.
    pub(super) envelope: Envelope,
    /// The policies that let it through.
    pub(super) policy: Policy,
    store: Store,
}

impl Snapshot {
    pub(super) fn new(active: &Active, stored: Stored, store: &Store) -> Self {
        let Stored { manifest, envelope } = stored;
        Self {
            tree: store.tree_path(&manifest.address()),
            programs: active.programs.clone(),
            locked: None,
            envelope,
            policy: Policy::default(),
            manifest,
            store: store.clone(),
        }
    }

    /// `name@version`, for messages.
    pub(super) fn shown(&self) -> String {
        format!("`{}@{}`", self.manifest.name, self.manifest.version)
    }

    /// The parsed `SKILL.md`.
    pub(super) fn skill_file(&self) -> Result<SkillFile, Error> {
        let bytes = self
            .manifest
            .file("SKILL.md")
            .ok_or(ResourceFailure::NotFound)
            .and_then(|entry| self.bytes(entry, MAX_SKILL_FILE_BYTES))
            .map_err(|failure| {
                let message = format!(
                    "`SKILL.md` of `{}` cannot be had intact ({failure})",
                    self.manifest.name
                );
                Error::new(Kind::Verification, "verification_failed", message)
                    .with_hint("`skillpkg verify --repair` fetches it again")
            })?;
        Ok(skill::parse_unnamed(&bytes, "SKILL.md")?)
    }

    /// The scripts, with their contracts compiled.
    pub(super) fn scripts(&self) -> Result<Vec<Script>, Error> {
        self.manifest
            .scripts
            .iter()
            .map(|entry| {
                let address =
                    self.manifest.file(entry.path.as_str()).map(|file| file.sha256.address());
                Script::of_manifest(entry, self.tree.clone(), address).map_err(|refused| {
                    let message = format!("the contract of `{}`: {refused}", escape(&entry.name));
                    Error::new(Kind::Verification, "contract_refused", message)
                })
            })
            .collect()
    }

    /// The content of a resource of the skill.
    pub(super) fn resource(
        &self,
        entry: &ResourceEntry,
        limit: u64,
    ) -> Result<Bytes, ResourceError> {
        self.manifest
            .file(entry.path.as_str())
            .ok_or(ResourceFailure::NotFound)
            .and_then(|file| self.bytes(file, limit))
            .map(Bytes::from)
            .map_err(|failure| ResourceError::new(&entry.name, failure))
    }

    /// As [`bytes`].
    pub(super) fn bytes(&self, entry: &FileEntry, limit: u64) -> Result<Vec<u8>, ResourceFailure> {
        bytes(&self.store, &self.manifest, entry, limit)
    }
}

/// A file's bytes, compared with the manifest: those of the store's blob, or, where it has no intact
/// one, those of the tree.
pub(super) fn bytes(
    store: &Store,
    manifest: &Manifest,
    entry: &FileEntry,
    limit: u64,
) -> Result<Vec<u8>, ResourceFailure> {
    if entry.size > limit {
        return Err(ResourceFailure::ContentTooLarge);
    }
    let address = entry.sha256.address();
    if let Ok(bytes) = store.read_blob(&address, limit) {
        return Ok(bytes);
    }
    let read = store.open_tree(manifest).ok();
    let bytes = read
        .and_then(|tree| tree.read(entry.path.as_str(), limit).ok())
        .ok_or(ResourceFailure::SourceUnavailable)?;
    if address.matches(&bytes) { Ok(bytes) } else { Err(ResourceFailure::InvalidVersion) }
}
