//! What a bundle holds, for people and programs that look into it.

use serde::Serialize;
use skillpkg_schema::log::{Checkpoint, Hash, Note};
use skillpkg_schema::wire::{Advisory, Document};
use skillpkg_schema::{ContentAddress, QualifiedName, Version};

use super::carried::Carried;
use crate::Error;
use crate::trust::Standing;

/// What a bundle says that it holds; nothing of it is verified.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
pub struct Contents {
    /// By registry.
    pub registries: Vec<HeldRegistry>,
    /// Bytes of all files together.
    pub size: u64,
}

/// What a bundle says that it holds of a registry.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
pub struct HeldRegistry {
    /// Its base URL.
    pub url: String,
    /// Its logs.
    pub logs: Vec<HeldLog>,
    /// Its skills.
    pub skills: Vec<HeldSkill>,
}

/// A log as a bundle shows it.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
pub struct HeldLog {
    /// Its origin.
    pub origin: String,
    /// SHA-256 of its first identity, where there is one.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub fingerprint: Option<Hash>,
    /// Leaves in the checkpoint.
    pub size: u64,
    /// Whether it is another registry's, and only relayed.
    pub relayed: bool,
    /// Names of those who signed the checkpoint.
    pub signed_by: Vec<String>,
}

/// A skill as a bundle shows it.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
pub struct HeldSkill {
    /// Its whole name.
    pub name: QualifiedName,
    /// Whether it is of a private scope.
    pub private: bool,
    /// The versions whose archives are there.
    pub versions: Vec<HeldVersion>,
}

/// A version as a bundle shows it.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
pub struct HeldVersion {
    /// The version.
    pub version: Version,
    /// SHA-256 of the archive's bytes.
    pub archive: ContentAddress,
    /// Length of the archive.
    pub size: u64,
    /// Its leaf in its log.
    pub log_index: u64,
    /// Why it was yanked, where it was.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub yanked: Option<String>,
    /// What advisories say of it.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub advisories: Vec<Advisory>,
}

impl Contents {
    /// What a bundle says that it holds.
    pub fn of(carried: &Carried) -> Result<Self, Error> {
        let index = carried.index();
        let mut registries = Vec::with_capacity(index.registries.len());
        for registry in &index.registries {
            let logs = registry.logs.iter().map(|log| HeldLog {
                origin: log.view.origin.clone(),
                fingerprint: log.identities.first().map(|first| Hash::of(&first.payload())),
                size: size_of(&log.view.checkpoint),
                relayed: log.relayed,
                signed_by: signers_of(&log.view.checkpoint),
            });
            let logs = logs.collect();
            let mut skills = Vec::with_capacity(registry.skills.len());
            for skill in &registry.skills {
                let path = skillpkg_schema::bundle::document_path(&skill.document);
                let document = serde_json::from_slice::<Document>(&carried.bytes(&path)?).ok();
                let standing = |version| {
                    document.as_ref().map_or_else(Standing::default, |document| {
                        Standing::in_document(document, version)
                    })
                };
                let versions = skill.versions.iter().map(|one| {
                    let Standing { yanked, advisories } = standing(&one.version);
                    let path = skillpkg_schema::bundle::archive_path(&one.archive);
                    let file = path.and_then(|path| index.file(&path));
                    HeldVersion {
                        version: one.version.clone(),
                        archive: one.archive,
                        size: file.map_or(0, |(_, file)| file.size),
                        log_index: one.proof.index,
                        yanked,
                        advisories,
                    }
                });
                skills.push(HeldSkill {
                    name: skill.name.clone(),
                    private: document.as_ref().is_some_and(|document| document.private),
                    versions: versions.collect(),
                });
            }
            registries.push(HeldRegistry { url: registry.url.clone(), logs, skills });
        }
        let size = index.files.iter().map(|file| file.size).sum();
        Ok(Self { registries, size })
    }
}

fn size_of(note: &str) -> u64 {
    unverified(note).map_or(0, |checkpoint| checkpoint.size)
}

/// What a checkpoint says, whoever signed it.
pub(super) fn unverified(note: &str) -> Option<Checkpoint> {
    let note = Note::from_bytes(note.as_bytes()).ok()?;
    Checkpoint::from_text(note.text()).ok()
}

fn signers_of(note: &str) -> Vec<String> {
    let Ok(note) = Note::from_bytes(note.as_bytes()) else { return Vec::new() };
    note.signatures().iter().map(|one| one.name.clone()).collect()
}
