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

#[cfg(test)]
mod tests {
    use std::fs;

    use skillpkg_schema::log::{
        Checkpoint, Hash, LogIdentity, Note, NoteSigner, Record, RotationKeys, Sealed,
        SignatureKind, Subject, TlogProof, leaf_hash, node_hash, sign_identity,
    };
    use skillpkg_schema::signature::SigningKey;

    use super::super::rules::Rules;
    use super::super::store::{Bound, LogRecord, Pinned, TrustStore};
    use super::*;
    use crate::Settings;

    const ORIGIN: &str = "example.org/log";
    const REGISTRY: &str = "http://127.0.0.1:1";

    fn claim(digit: &str, index: u64) -> Claim {
        Claim {
            name: "waitlist".parse().unwrap(),
            version: format!("1.{index}.0").parse().unwrap(),
            address: format!("sha256:{}", digit.repeat(64)).parse().unwrap(),
            archive: None,
            keys: None,
            index: Some(index),
        }
    }

    fn sealed(claim: &Claim) -> Sealed {
        let subject = Subject::Publish {
            name: claim.name.clone(),
            version: claim.version.clone(),
            address: claim.address,
            archive: claim.address,
            account: "ada".to_owned(),
            keys: Vec::new(),
        };
        Sealed { record: Record { at: "2026-01-01T00:00:00Z".to_owned(), subject }, salt: None }
    }

    fn keep(store: &TrustStore, claim: &Claim, hashes: Vec<Hash>, checkpoint: &str) {
        let proof = TlogProof {
            extra: Some(serde_json::to_vec(&sealed(claim)).unwrap()),
            index: claim.index.unwrap(),
            hashes,
            checkpoint: checkpoint.to_owned(),
        };
        let directory = store.proofs_of(ORIGIN);
        fs::create_dir_all(&directory).unwrap();
        let path = directory.join(TrustStore::proof_name(&claim.address));
        fs::write(path, proof.to_string()).unwrap();
    }

    #[test]
    fn a_proof_of_a_checkpoint_that_became_known_meanwhile_holds_and_of_an_unknown_one_does_not() {
        let home = tempfile::tempdir().unwrap();
        let key = SigningKey::generate().unwrap();
        let note_signer = NoteSigner::new(ORIGIN, SignatureKind::Ed25519, key.clone()).unwrap();
        let rotation = RotationKeys { keys: vec![key.public().to_pem()], threshold: 1 };
        let identity =
            LogIdentity::new(ORIGIN, 1, vec![note_signer.key().clone()], rotation).unwrap();
        let identities = vec![sign_identity(&identity, std::slice::from_ref(&key))];
        let note = |size, root| {
            let text = Checkpoint { origin: ORIGIN.to_owned(), size, root }.text();
            Note::unsigned(text).unwrap().signed(&note_signer, 7).to_string()
        };
        let (first, second) = (claim("1", 0), claim("2", 1));
        let [one, two] = [&first, &second].map(|claim| leaf_hash(&sealed(claim).entry()));
        let (before, after) = (note(1, one), note(2, node_hash(&one, &two)));

        let settings = Settings::new(home.path().to_owned(), "/u".into(), "/p".into());
        let trust = Trust::new(&settings, Rules::default());
        let registry: Url = REGISTRY.parse().unwrap();
        let bound = Bound { url: REGISTRY.to_owned(), relayed: Some(false), scopes: Vec::new() };
        let remember = |checkpoint: &str| {
            let _ = fs::remove_dir_all(trust.store.directory_of(ORIGIN));
            let _ = fs::remove_dir_all(trust.store.proofs_of(ORIGIN));
            let record = LogRecord {
                origin: ORIGIN.to_owned(),
                identities: identities.clone(),
                checkpoint: checkpoint.to_owned(),
                seen: 0,
                pinned: Pinned::FirstUse,
                registries: vec![bound.clone()],
            };
            trust.store.pin(&record).unwrap();
            keep(&trust.store, &first, Vec::new(), &before);
            keep(&trust.store, &second, vec![one], &after);
        };
        let kept = KeptProofs::new(&trust);
        let size = |claim: &Claim| {
            kept.of(&registry, claim).unwrap().map(|kept| kept.map(|kept| kept.size))
        };
        remember(&before);
        assert_eq!(size(&first), Ok(Some(1)));
        assert!(size(&second).is_err());
        remember(&after);
        assert_eq!(size(&second), Ok(Some(2)));
        assert_eq!(size(&first), Ok(Some(1)));
        assert_eq!(size(&claim("3", 2)), Ok(None));
    }
}
