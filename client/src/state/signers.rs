//! Whose signature was seen first of each skill, and the keys that were seen.

use std::collections::BTreeMap;

use serde::{Deserialize, Serialize};
use skillpkg_schema::QualifiedName;
use skillpkg_schema::signature::{KeyId, PublicKey};
use skillpkg_schema::wire::Document;
use url::Url;

use super::State;
use super::document::{Durable, Stored};
use super::lock::{PATIENCE, lock_file};
use crate::Error;
use crate::revocation::Revocation;
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
    /// Keys that a registry said were revoked, as [`Signers::pinned`] by registry and name.
    #[serde(default, skip_serializing_if = "BTreeMap::is_empty")]
    revoked: BTreeMap<String, Vec<Revocation>>,
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

    /// The registries at which somebody is pinned for `name`, and who is.
    pub fn registries_of(&self, name: &QualifiedName) -> impl Iterator<Item = (Url, &Pinned)> {
        let name = name.to_string();
        self.pinned.iter().filter_map(move |(place, pinned)| {
            let (url, _) = place.rsplit_once(' ').filter(|(_, of)| *of == name)?;
            Some((Url::parse(url).ok()?, pinned))
        })
    }

    /// That a key of a skill was revoked, where the skill's registry ever said so; for an archive
    /// that came from none, where any registry of its name did: those at which the key is pinned, if
    /// there are any, so that nobody else's registry takes a known key away. Where no registry has
    /// it, what a registry said of the key for another skill, for which it is pinned there, counts.
    /// What several say holds together: the key may vouch for what each of them lists.
    pub(crate) fn revocation(
        &self,
        registry: Option<&Url>,
        name: &QualifiedName,
        key: &KeyId,
    ) -> Option<Revocation> {
        let of_key = |revoked: &Vec<Revocation>| {
            revoked
                .iter()
                .filter(|one| one.key == *key)
                .cloned()
                .reduce(|one, other| one.and(&other))
        };
        if registry.is_some() {
            return self.revoked.get(&pin_key(registry, name)).and_then(of_key);
        }
        if self.revoked.is_empty() {
            return None;
        }
        let text = name.to_string();
        let knows = |pinned: &Pinned| pinned.keys.contains(key);
        let is_known = self.registries_of(name).any(|(_, pinned)| knows(pinned));
        let is_of_it = |place: &str| {
            place.rsplit(' ').next() == Some(text.as_str())
                && (!is_known || self.pinned.get(place).is_some_and(knows))
        };
        let said_at = |is_wanted: &dyn Fn(&str) -> bool| {
            let wanted = self.revoked.iter().filter(|(place, _)| is_wanted(place));
            wanted.filter_map(|(_, revoked)| of_key(revoked)).reduce(|one, other| one.and(&other))
        };
        let is_of_another = |place: &str| self.pinned.get(place).is_some_and(knows);
        said_at(&is_of_it).or_else(|| if is_known { None } else { said_at(&is_of_another) })
    }

    /// Remembers that keys of a skill were revoked. What is remembered of others stays.
    fn revoke(&mut self, registry: &Url, name: &QualifiedName, revoked: Vec<Revocation>) {
        let known = self.revoked.entry(pin_key(Some(registry), name)).or_default();
        known.retain(|one| revoked.iter().all(|new| new.key != one.key));
        known.extend(revoked);
        known.sort_by_key(|one| one.key);
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

    /// Remembers which keys registries say were revoked: once learnt, that counts without a network
    /// too, and whatever the registry says later. Writes nothing where `known`, the signers as they
    /// were read, has all of it.
    ///
    /// A crash leaves what was remembered before, or all of it.
    pub(crate) fn learn_revocations<'d>(
        &self,
        known: &Signers,
        documents: impl IntoIterator<Item = (&'d Url, &'d Document)>,
    ) -> Result<(), Error> {
        let mut learnt = Vec::new();
        for (registry, document) in documents {
            let name = &document.name;
            let revoked = Revocation::all_of(document);
            let is_known = |one: &Revocation| {
                known.revocation(Some(registry), name, &one.key).as_ref() == Some(one)
            };
            if !revoked.iter().all(is_known) {
                learnt.push((registry, name, revoked));
            }
        }
        if learnt.is_empty() {
            return Ok(());
        }
        self.change_signers(|signers| {
            for (registry, name, revoked) in learnt {
                signers.revoke(registry, name, revoked);
            }
        })
    }

    fn signers_file(&self) -> Stored {
        Stored::new(self.directory.join("signers.json"))
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use skillpkg_schema::ContentAddress;
    use skillpkg_schema::signature::SigningKey;
    use skillpkg_schema::wire::SignerKey;

    /// The first test key of RFC 8032.
    const KEY: &str = "-----BEGIN PRIVATE KEY-----
MC4CAQAwBQYDK2VwBCIEIJ1hsZ3v/VpguoRK9JLsLMREScVpezJpGXA7rAMcrn9g
-----END PRIVATE KEY-----
";

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
        assert_eq!(signers.registries_of(&name).collect::<Vec<_>>(), [(here, &signer)]);
        let scoped = "acme/waitlist".parse().unwrap();
        assert_eq!(signers.pins_of(&scoped).count(), 0);
        assert_eq!(signers.registries_of(&scoped).count(), 0);
    }

    #[test]
    fn a_revocation_is_remembered_for_its_skill_and_registry_and_is_never_taken_back() {
        let home = tempfile::tempdir().unwrap();
        let state = State::new(home.path());
        let here: Url = "http://127.0.0.1:1/".parse().unwrap();
        let there: Url = "http://127.0.0.1:2/".parse().unwrap();
        let document = |name: &str, revoked: Option<&str>| Document {
            name: name.parse().unwrap(),
            description: String::new(),
            private: false,
            versions: Vec::new(),
            keys: vec![SignerKey {
                id: SigningKey::from_pem(KEY).unwrap().public().id(),
                account: "ada".to_owned(),
                pem: String::new(),
                held: false,
                revoked: revoked.map(str::to_owned),
                revoked_index: None,
                reason: None,
            }],
            deleted: Vec::new(),
            advisories: Vec::new(),
        };
        let learn = |document: &Document| {
            let known = state.signers().unwrap();
            state.learn_revocations(&known, [(&here, document)]).unwrap();
            state.signers().unwrap()
        };
        assert_eq!(learn(&document("waitlist", None)), Signers::default());
        assert!(!home.path().join("state/signers.json").exists(), "nothing was learnt");
        let told = document("waitlist", Some("2026-01-01T00:00:00Z"));
        let id = told.keys[0].id;
        let signers = learn(&told);
        let of = |registry, name: &str| {
            signers.revocation(registry, &name.parse().unwrap(), &id).map(|one| one.when)
        };
        let when = Some("2026-01-01T00:00:00Z".to_owned());
        assert_eq!(of(Some(&here), "waitlist"), when);
        assert_eq!(of(None, "waitlist"), when, "of a file");
        assert_eq!(of(Some(&there), "waitlist"), None);
        assert_eq!(of(None, "acme/waitlist"), None);
        assert_eq!(learn(&document("waitlist", None)), signers);
        assert_eq!(learn(&told), signers);
        // Whoever changed the signers meanwhile takes nothing of it away.
        let mut changed = Signers::default();
        changed.take_over(signers.clone(), &Signers::default());
        state.change_signers(|now| now.take_over(changed, &Signers::default())).unwrap();
        assert_eq!(
            state.signers().unwrap().revocation(None, &told.name, &id),
            signers.revocation(None, &told.name, &id)
        );
    }

    #[test]
    fn of_a_file_the_registries_where_the_key_is_pinned_tell_and_each_of_them() {
        let name: QualifiedName = "waitlist".parse().unwrap();
        let urls: [Url; 3] =
            [1, 2, 3].map(|port| format!("http://127.0.0.1:{port}/").parse().unwrap());
        let id = SigningKey::from_pem(KEY).unwrap().public().id();
        let [both, one, none] =
            ["1", "2", "3"].map(|digit| format!("sha256:{}", digit.repeat(64)).parse().unwrap());
        let revoked = |listed: &[ContentAddress]| {
            let text = serde_json::json!({ "key": id, "account": "ada", "when": "then",
                "listed": listed });
            vec![serde_json::from_value::<Revocation>(text).unwrap()]
        };
        let mut signers = Signers::default();
        signers.revoke(&urls[0], &name, revoked(&[both, one]));
        signers.revoke(&urls[1], &name, revoked(&[both]));
        let of_file = |signers: &Signers, address| {
            signers.revocation(None, &name, &id).is_none_or(|one| one.allows(address))
        };
        // Nobody knows the key: whoever says that it was revoked is heard.
        assert_eq!([&both, &one, &none].map(|one| of_file(&signers, one)), [true, false, false]);
        signers.pin(Some(&urls[0]), &name, Pinned { account: None, keys: vec![id] });
        assert_eq!([&both, &one, &none].map(|one| of_file(&signers, one)), [true, true, false]);
        signers.pin(Some(&urls[2]), &name, Pinned { account: None, keys: vec![id] });
        assert_eq!([&both, &one, &none].map(|one| of_file(&signers, one)), [true, true, false]);
        assert!(signers.revocation(Some(&urls[2]), &name, &id).is_none());
    }

    #[test]
    fn a_key_that_is_revoked_where_it_is_pinned_vouches_for_no_file_of_another_name() {
        let [known, other] = ["known", "other"].map(|name| name.parse::<QualifiedName>().unwrap());
        let url: Url = "http://127.0.0.1:1/".parse().unwrap();
        let id = SigningKey::from_pem(KEY).unwrap().public().id();
        let text = serde_json::json!({ "key": id, "account": "ada", "when": "then", "listed": [] });
        let revoked: Revocation = serde_json::from_value(text).unwrap();
        let mut signers = Signers::default();
        signers.revoke(&url, &known, vec![revoked]);
        // Another registry than one at which the key is known takes nothing away.
        assert!(signers.revocation(None, &other, &id).is_none());
        signers.pin(Some(&url), &known, Pinned { account: None, keys: vec![id] });
        assert!(signers.revocation(None, &other, &id).is_some());
        // A registry that has the other skill, and at which the key is pinned for it, would say so.
        signers.pin(Some(&url), &other, Pinned { account: None, keys: vec![id] });
        assert!(signers.revocation(None, &other, &id).is_none());
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
