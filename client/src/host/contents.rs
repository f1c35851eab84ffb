//! What the active skills hold, for whoever serves them on.

use std::path::PathBuf;

use bytes::Bytes;
use skillpkg_schema::diagnostic::escape;
use skillpkg_schema::manifest::FileEntry;
use skillpkg_schema::signature::KeyId;
use skillpkg_schema::{Manifest, QualifiedName};

use super::active::check_locked;
use super::{ActiveSkill, Capability, Host};
use crate::policy::refuse;
use crate::project::{LOCK_FILE, PROJECT_FILE};
use crate::resource::{ResourceError, ResourceFailure};
use crate::trust::{Standings, standings_file};
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
        let active = self.state.project(&self.root)?.active;
        let (lock, policy) = (self.lock_file()?, self.policy()?);
        let standings = Standings::read(&self.settings.home)?;
        let each = active.iter().map(|active| {
            let contents = || {
                let locked = check_locked(active, &lock)?;
                let mut snapshot = self.snapshot(active)?;
                snapshot.locked = Some(locked.clone());
                snapshot.policy = policy.clone();
                refuse(&self.forbidden(&snapshot)?)?;
                let (name, version) = (&snapshot.manifest.name, &snapshot.manifest.version);
                if let Some(url) = locked.source.registry() {
                    standings.of(url, name, version).check(name, version)?;
                }
                Ok(Contents {
                    skill: ActiveSkill::new(active, &snapshot.manifest),
                    capabilities: self.listed(&snapshot)?,
                    key: locked.key,
                    log_index: locked.log_index,
                    manifest: snapshot.manifest,
                })
            };
            Each { name: active.name.clone(), contents: contents() }
        });
        Ok(each.collect())
    }

    /// The bytes of a file of an active skill, re-hashed just now, and its line of the manifest. At
    /// most as many as of a resource.
    pub fn read_file(&self, skill: &str, path: &str) -> Result<(FileEntry, Bytes), Error> {
        let snapshot = self.active_snapshot(skill)?;
        let entry = snapshot.manifest.file(path).ok_or_else(|| {
            let message = format!("`{}` has no file `{}`", snapshot.manifest.name, escape(path));
            Error::new(Kind::Failed, "not_found", message)
        })?;
        let bytes = snapshot.bytes(entry, self.maximum_resource_bytes).map_err(|failure| {
            match failure {
                // The store has no intact copy of it, as with a call.
                ResourceFailure::InvalidVersion | ResourceFailure::SourceUnavailable => {
                    let message = format!(
                        "`{}` of {} is not what was signed",
                        escape(path),
                        snapshot.shown()
                    );
                    Error::new(Kind::Verification, "verification_failed", message)
                        .with_hint("`skillpkg verify --repair` fetches it again")
                }
                failure => ResourceError::new(path, failure).into(),
            }
        })?;
        Ok((entry.clone(), bytes.into()))
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
