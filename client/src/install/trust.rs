//! Whose signature it is: verified against the keys that are known, and compared with whose was
//! seen first.

use skillpkg_schema::diagnostic::escape;
use skillpkg_schema::signature::{Envelope, KeyId, PublicKey, ReleaseError, verify_release};
use skillpkg_schema::wire::{Document, VersionEntry};
use skillpkg_schema::{ContentAddress, QualifiedName, Version};
use url::Url;

use super::attend::Attendant;
use crate::keys::UNKNOWN_KEY_HINT;
use crate::revocation::Revocation;
use crate::state::{Pinned, Signers};
use crate::{Error, Kind};

/// A key that may vouch for a skill, and whose it is said to be.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct Candidate {
    pub(crate) key: PublicKey,
    /// The account that the registry names; [`None`] for a key that is known here alone.
    pub(crate) account: Option<String>,
    /// That it was revoked, where the registry says so or once did.
    pub(crate) revoked: Option<Revocation>,
}

impl Candidate {
    /// A key that is known here, for a skill of this name and registry, or of a file: with what is
    /// remembered of its revocation, and no account.
    pub(crate) fn known(
        key: PublicKey,
        signers: &Signers,
        registry: Option<&Url>,
        name: &QualifiedName,
    ) -> Self {
        let revoked = signers.revocation(registry, name, &key.id());
        Self { key, account: None, revoked }
    }

    /// Takes over what registries say that know the skill too.
    pub(crate) fn hear(&mut self, told: &[Revocation]) {
        for one in told.iter().filter(|one| one.key == self.key.id()) {
            self.revoked = Some(match self.revoked.take() {
                Some(known) => known.and(one),
                None => one.clone(),
            });
        }
    }
}

/// The keys of a registry's document, each of which is what its id says. What is remembered of a
/// revocation counts on where the document no longer tells of it.
pub(super) fn candidates_of(
    document: &Document,
    registry: &Url,
    signers: &Signers,
) -> Result<Vec<Candidate>, Error> {
    document
        .keys
        .iter()
        .map(|signer| {
            let key = PublicKey::from_pem(&signer.pem).ok().filter(|key| key.id() == signer.id);
            let account = Some(signer.account.clone());
            let remembered = || signers.revocation(Some(registry), &document.name, &signer.id);
            let revoked = Revocation::of(document, signer).or_else(remembered);
            key.map(|key| Candidate { key, account, revoked }).ok_or_else(|| {
                let message = format!(
                    "the registry gives a key for `{}` that is not what its id {} says",
                    document.name,
                    signer.id.short()
                );
                Error::new(Kind::Verification, "signature_refused", message)
            })
        })
        .collect()
}

/// That a key of a document's vouches for what an archive of one of its versions holds.
pub(crate) fn vouched(
    envelope: &Envelope,
    document: &Document,
    entry: &VersionEntry,
    registry: &Url,
    signers: &Signers,
) -> Result<(), Error> {
    let candidates = candidates_of(document, registry, signers)?;
    let (name, version, address) = (&document.name, &entry.version, &entry.address);
    vouching(envelope, name, version, address, &candidates, None).map(|_| ())
}

/// The candidates that vouch that `name` at `version` is `address`.
///
/// At least one does, and a revoked key only for what the registry lists as signed with it; where
/// the lockfile says which, that one does.
pub(super) fn vouching(
    envelope: &Envelope,
    name: &QualifiedName,
    version: &Version,
    address: &ContentAddress,
    candidates: &[Candidate],
    locked: Option<&KeyId>,
) -> Result<Vec<Candidate>, Error> {
    let keys: Vec<PublicKey> = candidates.iter().map(|candidate| candidate.key).collect();
    let refused = |reason: String| {
        let message = format!("`{name}@{version}`: {reason}");
        Error::new(Kind::Verification, "signature_refused", message)
    };
    let mut verified =
        verify_release(envelope, name, version, address, &keys).map_err(|error| match error {
            ReleaseError::UnknownKey(_) => refused(error.to_string()).with_hint(UNKNOWN_KEY_HINT),
            _ => refused(error.to_string()),
        })?;
    let revoked = candidates.iter().filter_map(|one| Some((one.key.id(), one.revoked.as_ref()?)));
    let revoked: Vec<(KeyId, &Revocation)> =
        revoked.filter(|(_, revocation)| !revocation.allows(address)).collect();
    let stands_for = |id: &KeyId| revoked.iter().find(|(key, _)| key == id);
    if let Some((_, revocation)) = verified.iter().find_map(stands_for)
        && verified.iter().all(|id| stands_for(id).is_some())
    {
        return Err(signer_revoked(name, version, revocation));
    }
    verified.retain(|id| stands_for(id).is_none());
    if let Some(locked) = locked.filter(|locked| !verified.contains(locked)) {
        let found: Vec<String> = verified.iter().map(KeyId::short).collect();
        let reason = format!(
            "the lockfile says that key {} signed it; it is signed with {}",
            locked.short(),
            found.join(", ")
        );
        return Err(refused(reason).with_hint(format!(
            "compare the lockfile with its history; where the author signs with another key now, \
             `skillpkg update {name}` locks it anew"
        )));
    }
    let mut vouching: Vec<Candidate> = candidates
        .iter()
        .filter(|candidate| verified.contains(&candidate.key.id()))
        .cloned()
        .collect();
    // The one that the lockfile names stays first.
    vouching.sort_by_key(|candidate| locked != Some(&candidate.key.id()));
    Ok(vouching)
}

fn signer_revoked(name: &QualifiedName, version: &Version, revocation: &Revocation) -> Error {
    let message = format!("`{name}@{version}`: {}", revocation.refusal());
    Error::new(Kind::Refused, "signer_revoked", message).with_hint(format!(
        "whoever made it may have a stolen key: ask the author for an archive signed with another \
         key, or take what is published: `skillpkg install {name}`"
    ))
}

/// Compares whoever vouches with whoever is pinned, and pins who is seen for the first time.
///
/// At least one of them has to be pinned for the name at this registry, or for a file by any
/// registry or file; anybody else is refused unless `accept`, whatever account the registry names:
/// that a key is another one of the same account is the registry's word alone. A key that signed
/// beside a pinned one is not pinned for that, since anybody can add a signature of their own to
/// another's.
pub(super) fn compare(
    signers: &mut Signers,
    registry: Option<&Url>,
    name: &QualifiedName,
    vouching: &[Candidate],
    accept: bool,
    attendant: &mut dyn Attendant,
) -> Result<(), Error> {
    let Some(first) = vouching.first() else { return Ok(()) };
    let Some(pinned) = pinned_before(signers, registry, name, vouching) else {
        attendant
            .tell(&format!("`{name}` is signed by {}, seen here for the first time", who(first)));
        pin(
            signers,
            registry,
            name,
            Pinned { account: first.account.clone(), keys: ids(vouching) },
            vouching,
        );
        return Ok(());
    };
    let (known, new): (Vec<&Candidate>, Vec<&Candidate>) =
        vouching.iter().partition(|candidate| pinned.keys.contains(&candidate.key.id()));
    let of_account: Vec<&Candidate> = new
        .iter()
        .copied()
        .filter(|one| one.account.is_some() && one.account == pinned.account)
        .collect();
    if !known.is_empty() && (new.is_empty() || !accept) {
        pin(signers, registry, name, pinned, known);
        return Ok(());
    }
    if !accept {
        return Err(changed(name, &pinned, vouching, first));
    }
    let added = if known.is_empty() { of_account } else { new };
    if added.is_empty() {
        let before = before(&pinned);
        attendant.warn(&format!("`{name}` is signed by {} now; before, by {before}", who(first)));
        pin(
            signers,
            registry,
            name,
            Pinned { account: first.account.clone(), keys: ids(vouching) },
            vouching,
        );
        return Ok(());
    }
    let mut keys = pinned.keys.clone();
    for candidate in &added {
        attendant.warn(&format!("`{name}` may be signed by {} from now on", who(candidate)));
        keys.push(candidate.key.id());
    }
    pin(signers, registry, name, Pinned { keys, ..pinned }, known.into_iter().chain(added));
    Ok(())
}

/// What [`compare`] says of an archive in a file that is to be installed, with nothing accepted,
/// pinned or told.
pub(crate) fn check_file_signer(
    signers: &Signers,
    name: &QualifiedName,
    vouching: &[Candidate],
) -> Result<(), Error> {
    let Some(first) = vouching.first() else { return Ok(()) };
    match pinned_before(signers, None, name, vouching) {
        Some(pinned) if !vouching.iter().any(|one| pinned.keys.contains(&one.key.id())) => {
            Err(changed(name, &pinned, vouching, first))
        }
        _ => Ok(()),
    }
}

/// Who is pinned, as far as that counts: for an archive that comes from no registry, whoever is
/// pinned for its name anywhere, and before all others one whose key vouches for it.
fn pinned_before(
    signers: &Signers,
    registry: Option<&Url>,
    name: &QualifiedName,
    vouching: &[Candidate],
) -> Option<Pinned> {
    if let Some(pinned) = signers.pinned(registry, name) {
        return Some(pinned.clone());
    }
    if registry.is_some() {
        return None;
    }
    let vouches = |pinned: &&Pinned| {
        vouching.iter().any(|candidate| pinned.keys.contains(&candidate.key.id()))
    };
    signers.pins_of(name).find(vouches).or_else(|| signers.pins_of(name).next()).cloned()
}

/// Pins, and keeps the keys so that they can vouch again without a network.
fn pin<'c>(
    signers: &mut Signers,
    registry: Option<&Url>,
    name: &QualifiedName,
    pinned: Pinned,
    keys: impl IntoIterator<Item = &'c Candidate>,
) {
    for candidate in keys {
        signers.keep(&candidate.key);
    }
    signers.pin(registry, name, pinned);
}

fn ids(candidates: &[Candidate]) -> Vec<KeyId> {
    candidates.iter().map(|candidate| candidate.key.id()).collect()
}

fn before(pinned: &Pinned) -> String {
    match (&pinned.account, pinned.keys.first()) {
        (Some(account), Some(key)) => format!("`{}` (key {})", escape(account), key.short()),
        (Some(account), None) => format!("`{}`", escape(account)),
        (None, Some(key)) => format!("key {}", key.short()),
        (None, None) => "nobody".to_owned(),
    }
}

/// The refusal of those who vouch, of whom nobody is pinned.
fn changed(
    name: &QualifiedName,
    pinned: &Pinned,
    vouching: &[Candidate],
    first: &Candidate,
) -> Error {
    let of_account = |one: &&Candidate| one.account.is_some() && one.account == pinned.account;
    match vouching.iter().find(of_account) {
        Some(one) => key_changed(name, pinned, one),
        None => signer_changed(name, pinned, first),
    }
}

fn signer_changed(name: &QualifiedName, pinned: &Pinned, now: &Candidate) -> Error {
    let message = format!(
        "`{name}` was signed by {} when it was first seen here, and is signed by {} now",
        before(pinned),
        who(now)
    );
    Error::new(Kind::Refused, "signer_changed", message).with_hint(
        "ask the authors whether they changed hands; `--accept-signer` takes the new signer",
    )
}

fn key_changed(name: &QualifiedName, pinned: &Pinned, now: &Candidate) -> Error {
    let (key, account) = (now.key.id().short(), now.account.as_deref().map(escape));
    let account = account.unwrap_or_default();
    let message = format!(
        "`{name}` was signed by {} when it was first seen here, and is signed with key {key} now; \
         the registry says that it is a new key of `{account}`, and nothing else does",
        before(pinned)
    );
    Error::new(Kind::Refused, "signer_changed", message).with_hint(format!(
        "ask `{account}` for the id of the key, over another way than this registry; \
         `--accept-signer` takes the new key"
    ))
}

fn who(candidate: &Candidate) -> String {
    let key = candidate.key.id().short();
    match &candidate.account {
        Some(account) => format!("`{}` (key {key})", escape(account)),
        None => format!("key {key}"),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::install::attend::{Approval, Progress};
    use skillpkg_schema::Sha256Digest;
    use skillpkg_schema::signature::{SigningKey, sign_release};

    #[derive(Default)]
    struct Told(Vec<String>);

    impl Attendant for Told {
        fn tell(&mut self, text: &str) {
            self.0.push(text.to_owned());
        }
        fn warn(&mut self, text: &str) {
            self.0.push(format!("warning: {text}"));
        }
        fn progress(&mut self, _: Progress) {}
        fn approve(&mut self, _: &[Approval]) -> Result<bool, Error> {
            Ok(false)
        }
    }

    fn with_key(key: PublicKey) -> Candidate {
        Candidate { key, account: None, revoked: None }
    }

    fn candidate(account: &str) -> Candidate {
        let key = SigningKey::generate().unwrap().public();
        Candidate { account: Some(account.to_owned()), ..with_key(key) }
    }

    /// A machine to which a registry says, of one skill, who signed it.
    fn seeing(told: &mut Told) -> impl FnMut(&[Candidate], bool) -> Result<(), Error> {
        let (name, url) = ("waitlist".parse().unwrap(), "http://127.0.0.1:1".parse().unwrap());
        let mut signers = Signers::default();
        move |who, accept| compare(&mut signers, Some(&url), &name, who, accept, told)
    }

    #[test]
    fn the_first_signer_is_told_and_pinned_and_another_is_refused_without_the_flag() {
        let (ada, eve) = (candidate("ada"), candidate("eve"));
        let mut told = Told::default();
        let mut see = seeing(&mut told);
        see(std::slice::from_ref(&ada), false).unwrap();
        see(std::slice::from_ref(&ada), false).unwrap();
        let error = see(std::slice::from_ref(&eve), false).unwrap_err();
        assert_eq!((error.code.as_str(), error.kind), ("signer_changed", Kind::Refused));
        see(std::slice::from_ref(&eve), true).unwrap();
        see(&[eve], false).unwrap();
        assert!(see(&[ada], false).is_err());
        drop(see);
        assert_eq!(told.0.len(), 2, "{:?}", told.0);
        assert!(told.0[0].contains("`ada`") && told.0[1].contains("`eve`"));
    }

    #[test]
    fn a_new_key_that_the_registry_says_is_of_the_same_account_is_refused_without_the_flag() {
        let (old, new) = (candidate("ada"), candidate("ada"));
        let mut told = Told::default();
        let mut see = seeing(&mut told);
        see(std::slice::from_ref(&old), false).unwrap();
        let error = see(std::slice::from_ref(&new), false).unwrap_err();
        assert_eq!((error.code.as_str(), error.kind), ("signer_changed", Kind::Refused));
        assert!(error.message.contains("a new key of `ada`"), "{error}");
        assert!(error.hint.unwrap().contains("the id of the key"));
        see(std::slice::from_ref(&new), true).unwrap();
        see(&[new], false).unwrap();
        see(&[old], false).unwrap();
    }

    #[test]
    fn a_signature_beside_a_pinned_one_brings_no_key_in_unless_it_is_accepted() {
        let (old, new) = (candidate("ada"), candidate("ada"));
        let mut told = Told::default();
        let mut see = seeing(&mut told);
        see(std::slice::from_ref(&old), false).unwrap();
        see(&[new.clone(), old.clone()], false).unwrap();
        assert!(see(std::slice::from_ref(&new), false).is_err());
        see(&[new.clone(), old], true).unwrap();
        see(&[new], false).unwrap();
    }

    #[test]
    fn a_key_that_the_lockfile_does_not_name_is_refused_with_the_command_that_locks_it_anew() {
        let (name, version): (QualifiedName, Version) =
            ("acme/waitlist".parse().unwrap(), "1.2.0".parse().unwrap());
        let (key, other) = (SigningKey::generate().unwrap(), SigningKey::generate().unwrap());
        let digest = Sha256Digest::of(b"a manifest");
        let envelope = sign_release(&name, &version, digest, std::slice::from_ref(&key));
        let known = [&key, &other].map(|key| with_key(key.public()));
        let vouch = |locked: &KeyId| {
            vouching(&envelope, &name, &version, &digest.address(), &known, Some(locked))
        };
        assert_eq!(vouch(&key.public().id()).unwrap(), known[..1]);
        let error = vouch(&other.public().id()).unwrap_err();
        assert_eq!((error.code.as_str(), error.kind), ("signature_refused", Kind::Verification));
        for id in [other.public().id(), key.public().id()] {
            assert!(error.message.contains(&id.short()), "{error}");
        }
        let hint = error.hint.unwrap();
        assert!(hint.contains("compare the lockfile with its history"), "{hint}");
        assert!(hint.contains("`skillpkg update acme/waitlist` locks it anew"), "{hint}");
    }

    #[test]
    fn a_file_is_signed_by_whoever_is_pinned_for_its_name_anywhere() {
        let name: QualifiedName = "waitlist".parse().unwrap();
        let url: Url = "http://127.0.0.1:1".parse().unwrap();
        let (mut signers, mut told) = (Signers::default(), Told::default());
        let (ada, eve) = (candidate("ada"), Candidate { account: None, ..candidate("eve") });
        let file = |signers: &mut Signers, who: &Candidate, accept| {
            compare(signers, None, &name, std::slice::from_ref(who), accept, &mut Told::default())
        };
        compare(&mut signers, Some(&url), &name, std::slice::from_ref(&ada), false, &mut told)
            .unwrap();
        assert_eq!(file(&mut signers, &eve, false).unwrap_err().code, "signer_changed");
        file(&mut signers, &ada, false).unwrap();
        assert_eq!(file(&mut signers, &eve, false).unwrap_err().code, "signer_changed");
        file(&mut signers, &eve, true).unwrap();
        file(&mut signers, &eve, false).unwrap();
        let other = compare(&mut signers, Some(&url), &name, &[eve], false, &mut told);
        assert!(other.is_err(), "what a file was accepted with counts for files alone");
    }

    /// A document with these keys, each under this id, revoked where a time is given.
    fn document(keys: &[(&SigningKey, KeyId, Option<&str>)]) -> Document {
        let keys = keys.iter().map(|(key, id, revoked)| skillpkg_schema::wire::SignerKey {
            id: *id,
            account: "ada".to_owned(),
            pem: key.public().to_pem(),
            held: false,
            revoked: revoked.map(str::to_owned),
            revoked_index: None,
            reason: None,
        });
        Document {
            name: "waitlist".parse().unwrap(),
            description: String::new(),
            private: false,
            versions: Vec::new(),
            keys: keys.collect(),
            deleted: Vec::new(),
            advisories: Vec::new(),
        }
    }

    #[test]
    fn a_key_under_the_id_of_another_is_refused() {
        let [one, other] = [(); 2].map(|()| SigningKey::generate().unwrap());
        let url: Url = "http://127.0.0.1:1".parse().unwrap();
        let signers = Signers::default();
        let own = document(&[(&one, one.public().id(), None)]);
        assert_eq!(candidates_of(&own, &url, &signers).unwrap()[0].key, one.public());
        let others = document(&[(&one, other.public().id(), None)]);
        let error = candidates_of(&others, &url, &signers).unwrap_err();
        assert_eq!((error.code.as_str(), error.kind), ("signature_refused", Kind::Verification));
    }

    #[test]
    fn a_revoked_key_beside_a_good_one_does_not_vouch() {
        let keys = [(); 2].map(|()| SigningKey::generate().unwrap());
        let [good, revoked] = keys.each_ref().map(|key| key.public().id());
        let (name, version) = ("waitlist".parse().unwrap(), "1.0.0".parse().unwrap());
        let digest = skillpkg_schema::Sha256Digest::of(b"manifest");
        let url: Url = "http://127.0.0.1:1".parse().unwrap();
        let told = document(&[(&keys[0], good, None), (&keys[1], revoked, Some("2026-01-01"))]);
        let candidates = candidates_of(&told, &url, &Signers::default()).unwrap();
        let vouch = |keys: &[SigningKey], locked: Option<&KeyId>| {
            let envelope = skillpkg_schema::signature::sign_release(&name, &version, digest, keys);
            vouching(&envelope, &name, &version, &digest.address(), &candidates, locked)
        };
        assert_eq!(ids(&vouch(&keys, None).unwrap()), [good]);
        assert_eq!(vouch(&keys, Some(&revoked)).unwrap_err().code, "signature_refused");
        assert_eq!(vouch(&keys[1..], None).unwrap_err().code, "signer_revoked");
    }
}
