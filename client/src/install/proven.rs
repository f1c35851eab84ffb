//! Whether what is kept of locked skills proves that they are in the logs of their registries.

use std::cell::RefCell;
use std::collections::BTreeMap;

use url::Url;

use crate::project::Locked;
use crate::trust::{Claim, KeptProofs, Trust};
use crate::{Error, Kind};

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
                Err(Error::new(Kind::Verification, "inclusion_refused", message)
                    .with_hint("without `--offline` another one is asked for"))
            }
            Err(_) => Ok(false),
        }
    }
}
