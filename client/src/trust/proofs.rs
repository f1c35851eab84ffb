//! The proofs that are kept of many skills, looked at in one go.

use std::collections::HashMap;
use std::sync::{Arc, Mutex, PoisonError};

use url::Url;

use super::ask::Trust;
use super::claim::Claim;
use super::error::Refusal;
use super::kept::{KeptProof, LogOfProofs};
use crate::Error;

/// The logs of one registry, verified.
type Logs = Arc<Vec<LogOfProofs>>;

/// The proofs that this machine keeps: what is known of a log is read and verified once for all of
/// them.
///
/// Made for one go and dropped after it: what other processes remember meanwhile is looked at only
/// where a proof does not hold without it.
#[derive(Debug)]
pub(crate) struct KeptProofs<'t> {
    trust: &'t Trust<'t>,
    /// By the registry's URL.
    logs: Mutex<HashMap<String, Logs>>,
}

impl<'t> KeptProofs<'t> {
    /// Nothing is read yet.
    pub(crate) fn new(trust: &'t Trust<'t>) -> Self {
        Self { trust, logs: Mutex::default() }
    }

    /// The kept proof of a claim, by whichever log of its registry has one; [`None`] where none is
    /// kept. What is wrong with one is a phrase.
    pub(crate) fn of(
        &self,
        registry: &Url,
        claim: &Claim,
    ) -> Result<Result<Option<KeptProof>, String>, Error> {
        let known = self.known(registry);
        if let Some(logs) = known {
            let found = self.among(&logs, claim);
            if found.is_ok() {
                return Ok(found);
            }
            // Another process may have kept it, of a checkpoint that was not known yet.
        }
        let logs = self.read(registry)?;
        Ok(self.among(&logs, claim))
    }

    fn among(&self, logs: &[LogOfProofs], claim: &Claim) -> Result<Option<KeptProof>, String> {
        let mut damaged = None;
        for log in logs {
            match self.trust.store.kept_proof(log, claim) {
                Ok(None) => {}
                Ok(Some(kept)) => return Ok(Some(kept)),
                Err(reason) => damaged = Some(reason),
            }
        }
        damaged.map_or(Ok(None), Err)
    }

    fn known(&self, registry: &Url) -> Option<Logs> {
        let logs = self.logs.lock().unwrap_or_else(PoisonError::into_inner);
        logs.get(registry.as_str()).cloned()
    }

    fn read(&self, registry: &Url) -> Result<Logs, Refusal> {
        let logs = self.trust.store.logs_of(registry)?;
        let logs: Logs = Arc::new(logs.into_iter().map(LogOfProofs::new).collect());
        let mut known = self.logs.lock().unwrap_or_else(PoisonError::into_inner);
        known.insert(registry.as_str().to_owned(), Arc::clone(&logs));
        Ok(logs)
    }
}
