//! Who signs a skill, compared with who signed it when it was first seen.

use skillpkg_schema::QualifiedName;
use skillpkg_schema::diagnostic::escape;
use skillpkg_schema::signature::KeyId;
use url::Url;

use super::attend::Attendant;
use super::candidate::Candidate;
use crate::state::{Pinned, Signers};
use crate::{Error, Kind};

/// Compares whoever vouches with whoever is pinned, and pins who is seen for the first time.
///
/// At least one of them has to be pinned for the name at this registry, or for a file by any
/// registry or file; anybody else is refused unless `accept`, whatever account the registry names:
/// that a key is another one of the same account is the registry's word alone. A key that signed
/// beside a pinned one is not pinned for that, since anybody can add a signature of their own to
/// another's. Answers with who is pinned, where nobody was before.
pub(super) fn compare(
    signers: &mut Signers,
    registry: Option<&Url>,
    name: &QualifiedName,
    vouching: &[Candidate],
    accept: bool,
    attendant: &mut dyn Attendant,
) -> Result<Option<String>, Error> {
    let Some(first) = vouching.first() else { return Ok(None) };
    let Some(pinned) = pinned_before(signers, registry, name, vouching) else {
        pin(
            signers,
            registry,
            name,
            Pinned { account: first.account.clone(), keys: ids(vouching) },
            vouching,
        );
        return Ok(Some(who(first)));
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
        return Ok(None);
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
        return Ok(None);
    }
    let mut keys = pinned.keys.clone();
    for candidate in &added {
        attendant.warn(&format!("`{name}` may be signed by {} from now on", who(candidate)));
        keys.push(candidate.key.id());
    }
    pin(signers, registry, name, Pinned { keys, ..pinned }, known.into_iter().chain(added));
    Ok(None)
}

/// Most skills of one signer that are named.
const MOST_NAMED: usize = 5;

/// Tells who was pinned for the first time: each signer once, with what is signed by them.
pub(super) fn tell_firsts(firsts: &[(QualifiedName, String)], attendant: &mut dyn Attendant) {
    let mut signers: Vec<(&str, Vec<String>)> = Vec::new();
    for (name, who) in firsts {
        let name = format!("`{name}`");
        match signers.iter_mut().find(|(signer, _)| signer == who) {
            Some((_, names)) => names.push(name),
            None => signers.push((who, vec![name])),
        }
    }
    for (who, mut names) in signers {
        let more = names.len().saturating_sub(MOST_NAMED);
        names.truncate(MOST_NAMED);
        let (last, before) = names.split_last().map_or(("", &[][..]), |(last, all)| (last, all));
        let names = match (before, more) {
            ([], _) => format!("{last} is"),
            (before, 0) => format!("{} and {last} are", before.join(", ")),
            (before, more) => format!("{}, {last} and {more} more are", before.join(", ")),
        };
        attendant.tell(&format!("{names} signed by {who}, seen here for the first time"));
    }
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
    use skillpkg_schema::signature::{PublicKey, SigningKey};

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
        move |who, accept| {
            let first = compare(&mut signers, Some(&url), &name, who, accept, told)?;
            let firsts: Vec<_> = first.into_iter().map(|who| (name.clone(), who)).collect();
            tell_firsts(&firsts, told);
            Ok(())
        }
    }

    #[test]
    fn a_signer_of_many_is_told_once() {
        let mut told = Told::default();
        let all = |count: usize, who: &str| -> Vec<(QualifiedName, String)> {
            let name = |number| format!("skill-{number}").parse().unwrap();
            (0..count).map(|number| (name(number), who.to_owned())).collect()
        };
        tell_firsts(&[all(40, "`ada`"), all(1, "`ben`"), all(2, "`eve`")].concat(), &mut told);
        assert_eq!(told.0.len(), 3, "{:?}", told.0);
        assert!(told.0[0].contains("`skill-4` and 35 more are signed by `ada`"), "{:?}", told.0);
        assert_eq!(told.0[1], "`skill-0` is signed by `ben`, seen here for the first time");
        assert!(told.0[2].starts_with("`skill-0` and `skill-1` are signed by `eve`"));
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
}
