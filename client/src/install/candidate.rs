//! Keys that may vouch for a skill, and whose signatures hold.

use skillpkg_schema::signature::{Envelope, KeyId, PublicKey, ReleaseError, verify_release};
use skillpkg_schema::wire::{Document, VersionEntry};
use skillpkg_schema::{ContentAddress, QualifiedName, Version};
use url::Url;

use crate::keys::UNKNOWN_KEY_HINT;
use crate::revocation::Revocation;
use crate::state::Signers;
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

#[cfg(test)]
mod tests {
    use super::*;
    use skillpkg_schema::Sha256Digest;
    use skillpkg_schema::signature::{SigningKey, sign_release};

    fn with_key(key: PublicKey) -> Candidate {
        Candidate { key, account: None, revoked: None }
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
        assert_eq!(
            vouch(&keys, None).unwrap().iter().map(|one| one.key.id()).collect::<Vec<_>>(),
            [good]
        );
        assert_eq!(vouch(&keys, Some(&revoked)).unwrap_err().code, "signature_refused");
        assert_eq!(vouch(&keys[1..], None).unwrap_err().code, "signer_revoked");
    }
}
