//! Whether what is kept of locked skills proves that they are in the logs of their registries.

use std::cell::RefCell;
use std::collections::BTreeMap;

use url::Url;

use crate::project::{LOCK_FILE, Locked};
use crate::settings::registry_text;
use crate::state::{Active, ProjectState};
use crate::trust::{Claim, KeptProofs, Trust};
use crate::{Error, Kind};

/// Whether the lockfile says something else of a skill than was verified when agents were first shown
/// it; [`None`] where that is not remembered.
pub(super) fn is_other(remembered: &ProjectState, keep: &Locked) -> Option<bool> {
    let active = remembered.active(&keep.name).filter(|one| one.address == keep.address)?;
    active.is_as_locked(keep).map(|is_same| !is_same)
}

/// Whether a lockfile names another snapshot of the very version, from the very registry, that agents
/// see: what was published under a number never changes, so the lockfile was.
pub(crate) fn is_altered(active: &Active, locked: &Locked) -> bool {
    let registry = locked.source.registry().map(registry_text);
    let proven = active.proven.as_ref().and_then(|proven| proven.source.as_deref());
    registry.is_some()
        && (proven.is_none() || proven == registry)
        && active.version == locked.version
        && active.address != locked.address
}

/// The refusal of what the lockfile says of a skill that is here, and that nobody vouches for.
pub(super) fn not_as_verified(keep: &Locked) -> Error {
    let message = format!(
        "`{LOCK_FILE}` says another version, source, key, archive or leaf of the log of `{}@{}` \
         than was verified when it was installed",
        keep.name, keep.version
    );
    Error::new(Kind::Verification, "digest_mismatch", message)
        .in_file(LOCK_FILE)
        .with_hint(RESTORE_HINT)
}

/// What to do about a lockfile that says something else than what was verified.
pub const RESTORE_HINT: &str = "`skillpkg.lock` was edited or damaged: compare it with its \
    history, and restore it (`git checkout -- skillpkg.lock`); where it has none, `skillpkg remove NAME` \
    and `skillpkg install NAME` write the entry anew";

/// The logs that speak for registries, looked up once each.
pub(super) struct Logs<'t> {
    pub(super) trust: &'t Trust<'t>,
    known: RefCell<BTreeMap<String, Vec<String>>>,
    kept: KeptProofs<'t>,
}

impl<'t> Logs<'t> {
    pub(super) fn new(trust: &'t Trust<'t>) -> Self {
        Self { trust, known: RefCell::default(), kept: KeptProofs::new(trust) }
    }

    fn speaking_for(&self, url: &Url) -> Result<Vec<String>, Error> {
        if let Some(known) = self.known.borrow().get(url.as_str()) {
            return Ok(known.clone());
        }
        let origins = self.trust.speaking_for(url)?;
        self.known.borrow_mut().insert(url.as_str().to_owned(), origins.clone());
        Ok(origins)
    }

    /// Whether a proof of a locked skill is kept, where the lockfile says that there is one, whatever
    /// is in it: so much is looked at each time, also after a log was forgotten.
    pub(super) fn has_proof(&self, url: &Url, keep: &Locked) -> Result<bool, Error> {
        if keep.log_index.is_none() {
            return Ok(true);
        }
        Ok(self.trust.has_proof(&self.speaking_for(url)?, &keep.address))
    }

    /// Whether a kept proof shows that a locked skill is in its registry's log just as the lockfile
    /// says.
    pub(super) fn is_proven(&self, url: &Url, keep: &Locked) -> Result<bool, Error> {
        if keep.log_index.is_none() || self.speaking_for(url)?.is_empty() {
            return Ok(false);
        }
        Ok(matches!(self.kept.of(url, &Claim::locked(keep))?, Ok(Some(_))))
    }

    /// Holds what the lockfile says of a skill that is installed against what was verified of it,
    /// and asks nobody.
    pub(super) fn check(&self, remembered: &ProjectState, keep: &Locked) -> Result<(), Error> {
        let other = is_other(remembered, keep);
        if other == Some(false) || remembered.active(&keep.name).is_none() {
            return Ok(());
        }
        if let Some(url) = keep.source.registry() {
            self.prove(url, keep, false)?;
            if self.is_proven(url, keep)? {
                return Ok(());
            }
        }
        if other == Some(true) { Err(not_as_verified(keep)) } else { Ok(()) }
    }

    /// Whether what is kept of a locked skill proves it, as far as a log speaks for its registry.
    ///
    /// What is wrong with a proof is an error only where nobody can be asked for another one.
    pub(super) fn prove(&self, url: &Url, keep: &Locked, can_ask: bool) -> Result<bool, Error> {
        let must = self.trust.requires_log();
        if self.speaking_for(url)?.is_empty() {
            // A log that was forgotten is met again by asking.
            return Ok(!must && (keep.log_index.is_none() || !can_ask));
        }
        if keep.log_index.is_none() && !must {
            return Ok(true);
        }
        match self.kept.of(url, &Claim::locked(keep))? {
            Ok(kept) => Ok(kept.is_some()),
            Err(reason) if !can_ask => {
                let message = format!(
                    "the proof that is kept of `{}@{}` does not prove what the lockfile says: \
                     {reason}",
                    keep.name, keep.version
                );
                Err(Error::new(Kind::Verification, "inclusion_refused", message).with_hint(format!(
                    "`{LOCK_FILE}` may have been edited: compare it with its history; where it is \
                     right, `skillpkg sync` asks for another proof"
                )))
            }
            Err(_) => Ok(false),
        }
    }
}
