//! Whose signature was seen first of each skill, and the keys that were seen.

use std::collections::BTreeMap;

use serde::{Deserialize, Serialize};
use skillpkg_schema::QualifiedName;
use skillpkg_schema::signature::{KeyId, PublicKey};
use url::Url;

use super::State;
use super::document::{Durable, Stored};
use super::lock::{PATIENCE, lock_file};
use crate::Error;
use crate::settings::registry_text;

/// Who signed a skill when it was first seen.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Pinned {
    /// The account that the registry named; [`None`] for an archive that came from none.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub account: Option<String>,
    /// The ids of its keys that have signed the skill, in the order first seen.
    pub keys: Vec<KeyId>,
}

/// A public key that vouched for something, kept so that it can vouch again without a network.
///
/// Decoded once, when it is read, and not once for each skill that it signed.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(from = "String", into = "String")]
pub struct SignerKeyPem {
    pem: String,
    /// [`None`] where the text is no key.
    key: Option<PublicKey>,
}

impl From<String> for SignerKeyPem {
    fn from(pem: String) -> Self {
        let key = PublicKey::from_pem(&pem).ok();
        Self { pem, key }
    }
}

impl From<SignerKeyPem> for String {
    fn from(kept: SignerKeyPem) -> Self {
        kept.pem
    }
}

/// Every pinned signer of this machine.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct Signers {
    /// By registry and name: `URL NAME`, or the name alone for archives of no registry.
    pinned: BTreeMap<String, Pinned>,
    /// Public keys, SPKI PEM, by id.
    keys: BTreeMap<String, SignerKeyPem>,
}

impl Signers {
    /// Who is pinned for `name` at `registry`.
    pub fn pinned(&self, registry: Option<&Url>, name: &QualifiedName) -> Option<&Pinned> {
        self.pinned.get(&pin_key(registry, name))
    }

    /// Pins `signer` for `name` at `registry`, in place of who was.
    pub fn pin(&mut self, registry: Option<&Url>, name: &QualifiedName, signer: Pinned) {
        self.pinned.insert(pin_key(registry, name), signer);
    }

    /// The public key with this id, if it was kept and is what its id says.
    pub fn key(&self, id: &KeyId) -> Option<PublicKey> {
        self.keys.get(&id.to_string())?.key.filter(|key| key.id() == *id)
    }

    /// Who is pinned for `name`, by each registry and by files.
    pub fn pins_of(&self, name: &QualifiedName) -> impl Iterator<Item = &Pinned> {
        let name = name.to_string();
        let is_of_it = move |key: &str| key.rsplit(' ').next() == Some(name.as_str());
        self.pinned.iter().filter(move |(key, _)| is_of_it(key)).map(|(_, pinned)| pinned)
    }

    /// Keeps a public key.
    pub fn keep(&mut self, key: &PublicKey) {
        self.keys.insert(key.id().to_string(), SignerKeyPem { pem: key.to_pem(), key: Some(*key) });
    }

    /// Forgets a public key; who is pinned stays pinned.
    pub fn forget(&mut self, key: &KeyId) {
        self.keys.remove(&key.to_string());
    }
}

impl Signers {
    /// Takes over what `changed` holds and `before`, from which it was made, does not.
    pub fn take_over(&mut self, changed: Self, before: &Self) {
        let is_new = |key: &String, pinned: &Pinned| before.pinned.get(key) != Some(pinned);
        self.pinned.extend(changed.pinned.into_iter().filter(|(key, pinned)| is_new(key, pinned)));
        self.keys.extend(changed.keys);
    }
}

fn pin_key(registry: Option<&Url>, name: &QualifiedName) -> String {
    match registry {
        Some(url) => format!("{} {name}", registry_text(url)),
        None => name.to_string(),
    }
}

impl State {
    /// The pinned signers.
    pub fn signers(&self) -> Result<Signers, Error> {
        Ok(self.signers_file().read()?.unwrap_or_default())
    }

    /// Changes the pinned signers, on disk when this answers. Other processes change them before
    /// or after, not between; `change` sees what is there now.
    pub fn change_signers(&self, change: impl FnOnce(&mut Signers)) -> Result<(), Error> {
        let file = self.signers_file();
        let _lock = lock_file(&file.path().with_extension("lock"), PATIENCE)?;
        let mut signers: Signers = file.read()?.unwrap_or_default();
        let before = signers.clone();
        change(&mut signers);
        if signers != before {
            file.write_as(&signers, Durable::No)?;
        }
        Ok(())
    }

    fn signers_file(&self) -> Stored {
        Stored::new(self.directory.join("signers.json"))
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use skillpkg_schema::signature::SigningKey;

    #[test]
    fn signers_are_pinned_by_registry_and_name() {
        let home = tempfile::tempdir().unwrap();
        let state = State::new(home.path());
        let key = SigningKey::generate().unwrap().public();
        let name: QualifiedName = "waitlist".parse().unwrap();
        let here: Url = "http://127.0.0.1:1/".parse().unwrap();
        let there: Url = "http://127.0.0.1:2/".parse().unwrap();
        let signer = Pinned { account: Some("ada".to_owned()), keys: vec![key.id()] };
        state
            .change_signers(|signers| {
                signers.keep(&key);
                signers.pin(Some(&here), &name, signer.clone());
            })
            .unwrap();
        let signers = state.signers().unwrap();
        assert_eq!(signers.pinned(Some(&here), &name), Some(&signer));
        assert_eq!(signers.pinned(Some(&there), &name), None);
        assert_eq!(signers.pinned(None, &name), None);
        assert_eq!(signers.key(&key.id()), Some(key));
        assert_eq!(signers.pins_of(&name).collect::<Vec<_>>(), [&signer]);
        let scoped = "acme/waitlist".parse().unwrap();
        assert_eq!(signers.pins_of(&scoped).count(), 0);
    }

    #[test]
    fn threads_that_pin_at_once_lose_nothing() {
        let home = tempfile::tempdir().unwrap();
        let state = State::new(home.path());
        let name = |index: usize| format!("skill-{index}").parse::<QualifiedName>().unwrap();
        std::thread::scope(|scope| {
            for index in 0..8 {
                let state = &state;
                scope.spawn(move || {
                    let signer = Pinned { account: None, keys: Vec::new() };
                    state.change_signers(|all| all.pin(None, &name(index), signer)).unwrap();
                });
            }
        });
        let signers = state.signers().unwrap();
        assert!((0..8).all(|index| signers.pinned(None, &name(index)).is_some()));
    }
}
