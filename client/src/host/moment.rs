//! What decides which skills are active and may be seen, read once for one question.

use std::cell::OnceCell;

use skillpkg_schema::QualifiedName;

use super::Host;
use super::active::check_locked;
use super::snapshot::Snapshot;
use crate::Error;
use crate::policy::{Policy, refuse};
use crate::project::LockFile;
use crate::state::{Active, Signers};
use crate::trust::{Standing, Standings};

/// What decides, as it is now: a question about every skill reads each file once.
pub(super) struct Moment {
    /// The active skills, sorted by name.
    pub(super) active: Vec<Active>,
    /// Those that were taken out of agents' sight.
    pub(super) hidden: Vec<QualifiedName>,
    pub(super) lock: LockFile,
    pub(super) policy: Policy,
    standings: Standings,
    signers: OnceCell<Signers>,
}

impl Moment {
    /// The active skill that is called so: by its whole name, or by the directory name that agents
    /// see.
    pub(super) fn find(&self, skill: &str) -> Option<&Active> {
        let named: Option<QualifiedName> = skill.parse().ok();
        let whole = self.active.iter().find(|one| named.as_ref() == Some(&one.name));
        whole.or_else(|| self.active.iter().find(|one| one.placed_as.as_str() == skill))
    }

    /// What its registry last said against a snapshot.
    pub(super) fn standing(&self, snapshot: &Snapshot) -> Standing {
        let locked = snapshot.locked.as_ref();
        match locked.and_then(|one| Some((one, one.source.registry()?))) {
            Some((locked, url)) => self.standings.of(url, &locked.name, &locked.version),
            None => Standing::default(),
        }
    }
}

impl Host {
    /// Reads what decides.
    pub(super) fn moment(&self) -> Result<Moment, Error> {
        let state = self.state.project(&self.root)?;
        Ok(Moment {
            active: state.active,
            hidden: state.inactive,
            lock: self.lock_file()?,
            policy: self.policy()?,
            standings: Standings::read(&self.settings.home)?,
            signers: OnceCell::new(),
        })
    }

    /// The snapshot of an active skill that the lockfile has so, whatever is said against it.
    pub(super) fn locked_snapshot(
        &self,
        moment: &Moment,
        active: &Active,
    ) -> Result<Snapshot, Error> {
        let locked = check_locked(active, &moment.lock)?;
        let mut snapshot = self.snapshot(active)?;
        snapshot.locked = Some(locked.clone());
        snapshot.policy = moment.policy.clone();
        Ok(snapshot)
    }

    /// Refuses a snapshot that nobody known has signed, that a policy forbids, or an advisory.
    pub(super) fn judge(
        &self,
        moment: &Moment,
        active: &Active,
        snapshot: &Snapshot,
    ) -> Result<(), Error> {
        let read = || self.state.signers();
        let signers = || match moment.signers.get() {
            Some(signers) => Ok(signers),
            None => read().map(|signers| moment.signers.get_or_init(|| signers)),
        };
        self.check_signers(active, snapshot, signers)?;
        refuse(&self.forbidden(snapshot)?)?;
        moment.standing(snapshot).check(&snapshot.manifest.name, &snapshot.manifest.version)
    }

    /// The snapshot of an active skill that may be seen.
    pub(super) fn snapshot_at(&self, moment: &Moment, active: &Active) -> Result<Snapshot, Error> {
        let snapshot = self.locked_snapshot(moment, active)?;
        self.judge(moment, active, &snapshot)?;
        Ok(snapshot)
    }
}
