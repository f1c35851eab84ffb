//! Whose signature it is: verified against the keys that are known, and compared with whose was
//! seen first.

use skillpkg_schema::diagnostic::escape;
use skillpkg_schema::signature::{Envelope, KeyId, PublicKey, ReleaseError, verify_release};
use skillpkg_schema::wire::Document;
use skillpkg_schema::{ContentAddress, QualifiedName, Version};
use url::Url;

use super::attend::Attendant;
use crate::keys::UNKNOWN_KEY_HINT;
use crate::revocation::Revocation;
use crate::state::{Pinned, Signers};
use crate::{Error, Kind};

/// A key that may vouch for a skill, and whose it is said to be.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct Candidate {
    pub(super) key: PublicKey,
    /// The account that the registry names; [`None`] for a key that is known here alone.
    pub(super) account: Option<String>,
    /// That it was revoked, where the registry says so.
    pub(super) revoked: Option<Revocation>,
}

impl Candidate {
    /// A key that is known here alone.
    pub(super) fn local(key: PublicKey) -> Self {
        Self { key, account: None, revoked: None }
    }
}

/// The keys of a document, each of which is what its id says.
pub(super) fn candidates_of(document: &Document) -> Result<Vec<Candidate>, Error> {
    document
        .keys
        .iter()
        .map(|signer| {
            let key = PublicKey::from_pem(&signer.pem).ok().filter(|key| key.id() == signer.id);
            let account = Some(signer.account.clone());
            let revoked = Revocation::of(document, signer);
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

/// The candidates that vouch that `name` at `version` is `address`.
///
/// At least one does, and a revoked key only for what the registry lists as signed with it; where the lockfile says which, that one does.
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
    let message = format!(
        "`{name}@{version}`: {}, and the registry does not list it among what the key signed \
         before",
        revocation.reason()
    );
    Error::new(Kind::Refused, "signer_revoked", message).with_hint(format!(
        "whoever made it may have a stolen key: ask the author for an archive signed with another \
         key, or take what is published: `skillpkg install {name}`"
    ))
}

/// Compares whoever vouches with whoever was seen first, and pins who is seen for the first time.
///
/// A new key of the same account is told and taken. Another account is refused unless `accept`.
pub(super) fn compare(
    signers: &mut Signers,
    registry: Option<&Url>,
    name: &QualifiedName,
    vouching: &[Candidate],
    accept: bool,
    attendant: &mut dyn Attendant,
) -> Result<(), Error> {
    let Some(first) = vouching.first() else { return Ok(()) };
    for candidate in vouching {
        signers.keep(&candidate.key);
    }
    let seen = || Pinned {
        account: first.account.clone(),
        keys: vouching.iter().map(|candidate| candidate.key.id()).collect(),
    };
    let Some(pinned) = signers.pinned(registry, name).cloned() else {
        attendant
            .tell(&format!("`{name}` is signed by {}, seen here for the first time", who(first)));
        signers.pin(registry, name, seen());
        return Ok(());
    };
    let new: Vec<&Candidate> =
        vouching.iter().filter(|candidate| !pinned.keys.contains(&candidate.key.id())).collect();
    if new.len() < vouching.len() {
        // One of the keys seen before vouches: it is the same signer, whatever others do too.
        return Ok(());
    }
    let same_account =
        pinned.account.is_some() && new.iter().any(|one| one.account == pinned.account);
    if same_account {
        let mut keys = pinned.keys.clone();
        for candidate in new.iter().filter(|one| one.account == pinned.account) {
            attendant.tell(&format!("`{name}` is signed with a new key of {}", who(candidate)));
            keys.push(candidate.key.id());
        }
        signers.pin(registry, name, Pinned { keys, ..pinned });
        return Ok(());
    }
    let before = match (&pinned.account, pinned.keys.first()) {
        (Some(account), Some(key)) => format!("`{}` (key {})", escape(account), key.short()),
        (Some(account), None) => format!("`{}`", escape(account)),
        (None, Some(key)) => format!("key {}", key.short()),
        (None, None) => "nobody".to_owned(),
    };
    if accept {
        attendant.warn(&format!("`{name}` is signed by {} now; before, by {before}", who(first)));
        signers.pin(registry, name, seen());
        return Ok(());
    }
    let message = format!(
        "`{name}` was signed by {before} when it was first seen here, and is signed by {} now",
        who(first)
    );
    Err(Error::new(Kind::Refused, "signer_changed", message).with_hint(
        "ask the authors whether they changed hands; `--accept-signer` takes the new signer",
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
    use skillpkg_schema::signature::SigningKey;

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

    fn candidate(account: &str) -> Candidate {
        let key = SigningKey::generate().unwrap().public();
        Candidate { key, account: Some(account.to_owned()), revoked: None }
    }

    #[test]
    fn the_first_signer_is_told_and_pinned_and_another_is_refused_without_the_flag() {
        let name: QualifiedName = "waitlist".parse().unwrap();
        let url: Url = "http://127.0.0.1:1".parse().unwrap();
        let (mut signers, mut told) = (Signers::default(), Told::default());
        let (ada, eve) = (candidate("ada"), candidate("eve"));
        let mut see = |who: &[Candidate], accept| {
            compare(&mut signers, Some(&url), &name, who, accept, &mut told)
        };
        see(std::slice::from_ref(&ada), false).unwrap();
        see(std::slice::from_ref(&ada), false).unwrap();
        let error = see(std::slice::from_ref(&eve), false).unwrap_err();
        assert_eq!((error.code.as_str(), error.kind), ("signer_changed", Kind::Refused));
        // A new key of the same account, and one beside a key that was seen.
        see(&[candidate("ada")], false).unwrap();
        see(&[eve.clone(), ada.clone()], false).unwrap();
        see(std::slice::from_ref(&eve), true).unwrap();
        see(&[eve], false).unwrap();
        assert!(see(&[ada], false).is_err());
        assert_eq!(told.0.len(), 3, "{:?}", told.0);
        assert!(told.0[0].contains("`ada`") && told.0[1].contains("new key"));
    }
}
