//! Which skills are active, and what to say of one that is not.

use skillpkg_schema::diagnostic::{escape, nearest};
use skillpkg_schema::signature::verify_release;
use skillpkg_schema::{ContentAddress, Manifest, QualifiedName, SkillName, Version};

use super::Host;
use super::moment::Moment;
use super::snapshot::Snapshot;
use crate::install::{RESTORE_HINT, is_altered};
use crate::policy::{Installed, Policy, Violation, violations_of};
use crate::project::{LOCK_FILE, LockFile, Locked, ProjectDirectory};
use crate::state::{Active, Signers};
use crate::{Error, Kind, keys};

/// One active skill.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct ActiveSkill {
    /// The whole name, `[scope/]name`.
    pub name: QualifiedName,
    /// The directory name that agents see.
    pub placed_as: SkillName,
    /// The version.
    pub version: Version,
    /// The snapshot.
    pub address: ContentAddress,
    /// What it is for.
    pub description: String,
}

impl ActiveSkill {
    pub(super) fn new(active: &Active, manifest: &Manifest) -> Self {
        Self {
            name: active.name.clone(),
            placed_as: active.placed_as.clone(),
            version: active.version.clone(),
            address: active.address,
            description: manifest.description.clone(),
        }
    }
}

impl Host {
    /// The snapshot of the active skill called `skill`: its whole name, or the directory name that
    /// agents see.
    pub(super) fn active_snapshot(&self, skill: &str) -> Result<Snapshot, Error> {
        self.active_at(skill).map(|(_, snapshot)| snapshot)
    }

    /// [`Host::active_snapshot`], with what decided.
    pub(super) fn active_at(&self, skill: &str) -> Result<(Moment, Snapshot), Error> {
        let moment = self.moment()?;
        let Some(active) = moment.find(skill) else {
            return Err(self.not_active(skill, &moment));
        };
        let snapshot = self.snapshot_at(&moment, active)?;
        Ok((moment, snapshot))
    }

    /// Refuses a skill that came as a file and that no key which is known here has signed: one whose
    /// keys are all trusted no more. What came from a registry, that gives the keys for.
    pub(super) fn check_signers<'s>(
        &self,
        active: &Active,
        snapshot: &Snapshot,
        signers: impl FnOnce() -> Result<&'s Signers, Error>,
    ) -> Result<(), Error> {
        let Some(locked) = &snapshot.locked else { return Ok(()) };
        if locked.source.registry().is_some() || active.key.is_none() {
            return Ok(());
        }
        let signers = signers()?;
        let Manifest { name, version, .. } = &snapshot.manifest;
        let mut keys = keys::vouching_for_files(&self.settings, signers, name);
        keys.extend(snapshot.envelope.key_ids().filter_map(|id| signers.key(&id)));
        let address = snapshot.manifest.address();
        verify_release(&snapshot.envelope, name, version, &address, &keys).map_err(|error| {
            let message = format!("nobody who is known here vouches for `{name}@{version}`: {error}");
            Error::new(Kind::Verification, "signer_unknown", message).with_hint(format!(
                "`skillpkg keys trust FILE.pem` trusts its signer; `skillpkg remove {name}` takes it \
                 away"
            ))
        })?;
        Ok(())
    }

    /// The policies, as they are now.
    pub(super) fn policy(&self) -> Result<Policy, Error> {
        Policy::of_project(&self.settings, &self.root)
    }

    /// What the policies forbid of a snapshot that the lockfile names.
    pub(super) fn forbidden(&self, snapshot: &Snapshot) -> Result<Vec<Violation>, Error> {
        let Some(locked) = &snapshot.locked else { return Ok(Vec::new()) };
        let installed = Installed {
            manifest: &snapshot.manifest,
            address: &locked.address,
            envelope: &snapshot.envelope,
            source: &locked.source,
        };
        violations_of(&snapshot.policy, &self.settings, &self.store, &self.state, &installed)
    }

    /// The project's lockfile; an empty one where there is none.
    pub(super) fn lock_file(&self) -> Result<LockFile, Error> {
        let text = match ProjectDirectory::open(&self.root) {
            Ok(project) => project.read_text(LOCK_FILE)?,
            Err(_) => None,
        };
        Ok(text.map(|text| LockFile::parse(&text)).transpose()?.unwrap_or_default())
    }

    pub(super) fn not_active(&self, skill: &str, moment: &Moment) -> Error {
        let shown = escape(skill);
        let error = Error::new(
            Kind::Failed,
            "skill_not_active",
            format!("`{shown}` is not an active skill of this project"),
        );
        let whole: Option<QualifiedName> = skill.parse().ok();
        if let Some(name) = whole.filter(|name| moment.lock.skill(name).is_some()) {
            return error.with_hint(if moment.hidden.contains(&name) {
                format!("it is installed: `skillpkg activate {shown}`")
            } else {
                "it is locked and missing here: `skillpkg sync` brings what is missing".to_owned()
            });
        }
        if self.is_active_globally(skill) {
            return error.with_hint(format!(
                "`{shown}` is installed for all your projects: ask for it there (`--global`)"
            ));
        }
        let active = moment.active.iter().map(|one| &one.name);
        let locked = moment.lock.skills().map(|locked| &locked.name);
        let known: Vec<String> = active.chain(locked).map(ToString::to_string).collect();
        match nearest(skill, known.iter().map(String::as_str)) {
            Some(near) => error.with_hint(format!("did you mean `{near}`?")),
            None => error.with_hint(format!("to have it: `skillpkg install {shown}`")),
        }
    }

    /// Whether the skills of all the user's projects have an active one of this name.
    fn is_active_globally(&self, skill: &str) -> bool {
        let active = self.state.project(&self.settings.home.join("global"));
        let active = active.map(|state| state.active).unwrap_or_default();
        active.iter().any(|one| one.name.to_string() == skill || one.placed_as.as_str() == skill)
    }

    /// The snapshot of an active skill, its manifest re-hashed.
    ///
    /// Whether the project still has it is for whoever calls to compare.
    pub(super) fn snapshot(&self, active: &Active) -> Result<Snapshot, Error> {
        if let Some(stored) = self.store.stored(&active.address)? {
            return Ok(Snapshot::new(active, stored, &self.store));
        }
        let (name, version) = (&active.name, &active.version);
        let message = format!("the snapshot of `{name}` {version} is not in the store");
        Err(Error::new(Kind::Verification, "verification_failed", message)
            .with_hint("`skillpkg sync` fetches it again"))
    }
}

/// Holds an active skill against the lockfile: what a project does not have is not run, and what it
/// has another snapshot of is not run in its old one; nor what it says more of than was verified.
pub fn check_locked<'l>(active: &Active, lock: &'l LockFile) -> Result<&'l Locked, Error> {
    let name = &active.name;
    let message = match lock.skill(name) {
        Some(locked) if locked.address == active.address => {
            if active.is_as_locked(locked) != Some(false) {
                return Ok(locked);
            }
            format!(
                "what `{LOCK_FILE}` says of `{name}` (version, source, key, archive or leaf of the \
                 log) is not what was verified when it was placed"
            )
        }
        Some(locked) => format!(
            "`{name}` {} ({}) is active here, and `{LOCK_FILE}` says {} ({})",
            active.version, active.address, locked.version, locked.address
        ),
        None => format!("`{name}` {} is active here, and `{LOCK_FILE}` has none", active.version),
    };
    let hint = match lock.skill(name) {
        Some(locked) if is_altered(active, locked) => RESTORE_HINT,
        _ => "`skillpkg sync` makes the project what its lockfile says",
    };
    Err(Error::new(Kind::Failed, "lock_outdated", message).with_hint(hint))
}
