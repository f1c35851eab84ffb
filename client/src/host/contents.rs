//! What the active skills hold, for whoever serves them on.

use std::path::PathBuf;

use bytes::Bytes;
use skillpkg_schema::diagnostic::escape;
use skillpkg_schema::manifest::FileEntry;
use skillpkg_schema::signature::KeyId;
use skillpkg_schema::{Manifest, QualifiedName};

use super::active::check_locked;
use super::moment::Moment;
use super::{ActiveSkill, Capability, Host, snapshot};
use crate::project::{LOCK_FILE, PROJECT_FILE};
use crate::resource::{ResourceError, ResourceFailure};
use crate::state::Active;
use crate::trust::standings_file;
use crate::{Error, Kind};

/// What an active skill holds. The manifest was re-hashed; a file is when it is read.
#[derive(Debug, Clone, PartialEq)]
pub struct Contents {
    /// Which skill.
    pub skill: ActiveSkill,
    /// The list of its snapshot.
    pub manifest: Manifest,
    /// Its tools, resources and scripts, and what the host added.
    pub capabilities: Vec<Capability>,
    /// The key of the signature that the project's lockfile names.
    pub key: KeyId,
    /// Its leaf in the log of its registry, where the lockfile names one.
    pub log_index: Option<u64>,
}

/// One of the active skills.
#[derive(Debug, Clone, PartialEq)]
pub struct Each {
    /// The whole name.
    pub name: QualifiedName,
    /// What it holds, or the refusal with which every question about it is answered.
    pub contents: Result<Contents, Error>,
}

impl Host {
    /// What each active skill holds, sorted by name: one that may not be seen hides none of the
    /// others.
    ///
    /// Fails where it cannot be said which skills are active, or what the policies are.
    pub fn contents(&self) -> Result<Vec<Each>, Error> {
        let moment = self.moment()?;
        let each = moment.active.iter().map(|active| Each {
            name: active.name.clone(),
            contents: self.contents_at(&moment, active),
        });
        Ok(each.collect())
    }

    /// What each active skill holds that can work here; one that cannot is refused like one that may
    /// not be seen.
    pub(crate) fn offered(&self) -> Result<Vec<Each>, Error> {
        let moment = self.moment()?;
        Ok(moment.active.iter().map(|active| self.offered_at(&moment, active)).collect())
    }

    /// One of [`Host::offered`].
    pub(crate) fn offered_one(&self, skill: &QualifiedName) -> Result<Option<Each>, Error> {
        let moment = self.moment()?;
        let active = moment.active.iter().find(|one| one.name == *skill);
        Ok(active.map(|active| self.offered_at(&moment, active)))
    }

    fn offered_at(&self, moment: &Moment, active: &Active) -> Each {
        let contents = || {
            let contents = self.contents_at(moment, active)?;
            let lacking = self.lacks(&contents.manifest, &active.programs)?;
            lacking.map_or(Ok(contents), Err)
        };
        Each { name: active.name.clone(), contents: contents() }
    }

    fn contents_at(&self, moment: &Moment, active: &Active) -> Result<Contents, Error> {
        let locked = check_locked(active, &moment.lock)?;
        let snapshot = self.snapshot_at(moment, active)?;
        Ok(Contents {
            skill: ActiveSkill::new(active, &snapshot.manifest),
            capabilities: self.listed(&snapshot)?,
            key: locked.key,
            log_index: locked.log_index,
            manifest: snapshot.manifest,
        })
    }

    /// The bytes of a file of an active skill, re-hashed just now, and its line of the manifest. At
    /// most as many as of a resource.
    pub fn read_file(&self, skill: &str, path: &str) -> Result<(FileEntry, Bytes), Error> {
        let snapshot = self.active_snapshot(skill)?;
        let entry = snapshot.manifest.file(path).ok_or_else(|| {
            let message = format!("`{}` has no file `{}`", snapshot.manifest.name, escape(path));
            Error::new(Kind::Failed, "not_found", message)
        })?;
        let bytes = self.intact(&snapshot.manifest, entry)?;
        Ok((entry.clone(), bytes.into()))
    }

    /// The bytes of a file of a snapshot, re-hashed just now.
    pub(crate) fn intact(&self, manifest: &Manifest, entry: &FileEntry) -> Result<Vec<u8>, Error> {
        let bytes = snapshot::bytes(&self.store, manifest, entry, self.maximum_resource_bytes);
        bytes.map_err(|failure| {
            let path = entry.path.as_str();
            match failure {
                // The store has no intact copy of it, as with a call.
                ResourceFailure::InvalidVersion | ResourceFailure::SourceUnavailable => {
                    let message = format!(
                        "`{}` of `{}@{}` is not what was signed",
                        escape(path),
                        manifest.name,
                        manifest.version
                    );
                    Error::new(Kind::Verification, "verification_failed", message)
                        .with_hint("`skillpkg verify --repair` fetches it again")
                }
                failure => ResourceError::new(path, failure).into(),
            }
        })
    }

    /// The files that decide which skills are active and may be seen; not all need be there.
    pub(crate) fn deciding_files(&self) -> Vec<PathBuf> {
        let policies = self.settings.policies.iter().map(|source| source.path.clone());
        let mut files = vec![
            self.state.project_file(&self.root),
            self.root.join(LOCK_FILE),
            self.root.join(PROJECT_FILE),
            standings_file(&self.settings.home),
        ];
        files.extend(policies);
        files
    }
}
