//! The next identity of the log: new keys, named by the rotation keys.
//!
//! The registry that serves takes it once it is adopted, and appends its leaf.

use std::path::Path;

use serde::{Deserialize, Serialize};
use skillpkg_schema::log::{
    IdentityChain, IdentityError, LogIdentity, RotationKeys, sign_identity,
};
use skillpkg_schema::signature::{Envelope, KeyId, PublicKey, SigningKey};

use super::keyring::{
    IDENTITIES, Keyring, chain_of, identity_of, key_path, make_key, read_key, write_identities,
};
use super::{LogError, files};

/// The file of an identity that lacks signatures.
const NEXT: &str = "next-identity.json";

/// What an operator asks of the next identity.
#[derive(Debug, Default)]
pub struct Asked {
    /// Who is to name the identity after it; empty for those who name this one.
    pub rotation: Vec<PublicKey>,
    /// How many of them must sign; [`None`] for as many as now, or as there are.
    pub threshold: Option<u32>,
    /// Private keys that sign it now, beside the log's own.
    pub signers: Vec<SigningKey>,
    /// Whether one that waits for signatures is given up.
    pub replace: bool,
}

/// The next identity, as far as it has come.
#[derive(Debug)]
pub enum Next {
    /// It is adopted.
    Adopted(IdentityChain),
    /// It lacks signatures, for this reason.
    Unsigned(Offered, IdentityError),
}

/// An identity that lacks signatures, as it is given to those who are to sign it.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Offered {
    /// The identity, with the signatures that it has.
    pub envelope: Envelope,
    /// The rotation keys of the identity before, SPKI PEM: whoever signs is told where theirs is none
    /// of them. Adopting asks the log itself.
    pub named_by: Vec<String>,
}

/// The identities of the log in `directory`.
pub fn chain(directory: &Path) -> Result<IdentityChain, LogError> {
    let path = directory.join(IDENTITIES);
    let bytes = files::read(&path)?.ok_or(LogError::NoKeys(0))?;
    chain_of(&path, &bytes)
}

/// Makes the keys of the next identity, and signs it with every rotation key that is at hand; adopts
/// it where they are enough, and else keeps it for [`sign`] and [`adopt`].
///
/// The keys are on the disk before anything names them. Cut short, the log goes on as it was.
pub fn rotate(directory: &Path, asked: &Asked) -> Result<Next, LogError> {
    let chain = chain(directory)?;
    let latest = chain.latest().ok_or(LogError::NoKeys(0))?;
    let number = latest.number + 1;
    if !asked.replace && next(directory)?.is_some() {
        return Err(LogError::Waiting(number));
    }
    let keys = if asked.rotation.is_empty() {
        latest.rotation.keys.clone()
    } else {
        asked.rotation.iter().map(PublicKey::to_pem).collect()
    };
    let most = u32::try_from(keys.len()).unwrap_or(u32::MAX);
    let threshold = asked.threshold.unwrap_or(latest.rotation.threshold.min(most));
    if !(1..=most).contains(&threshold) {
        return Err(LogError::Threshold { threshold, keys: most });
    }
    let key = make_key(&key_path(directory, "key", number))?;
    let cosigner = make_key(&key_path(directory, "cosigner", number))?;
    let rotation = RotationKeys { keys, threshold };
    let identity = identity_of(chain.origin(), number, &key, &cosigner, rotation)?;
    let signers = signers(directory, latest, &identity, &asked.signers)?;
    let envelope = sign_identity(&identity, &signers);
    match adopt(directory, &envelope) {
        Ok(chain) => Ok(Next::Adopted(chain)),
        Err(LogError::NotYet(reason)) => {
            // Texts and lists of texts: nothing in it that serialisation can refuse.
            let json = serde_json::to_vec(&envelope).unwrap_or_default();
            files::write(&directory.join(NEXT), &json)?;
            let named_by = latest.rotation.keys.clone();
            Ok(Next::Unsigned(Offered { envelope, named_by }, reason))
        }
        Err(error) => Err(error),
    }
}

/// The private keys at hand that may name the next identity or the one after it.
fn signers(
    directory: &Path,
    latest: &LogIdentity,
    next: &LogIdentity,
    given: &[SigningKey],
) -> Result<Vec<SigningKey>, LogError> {
    let named = |key: &SigningKey| {
        let pem = key.public().to_pem();
        latest.rotation.keys.contains(&pem) || next.rotation.keys.contains(&pem)
    };
    let mut signers: Vec<SigningKey> = Vec::new();
    let mut add = |key: SigningKey| {
        if named(&key) && !signers.iter().any(|other| other.public() == key.public()) {
            signers.push(key);
        }
    };
    given.iter().cloned().for_each(&mut add);
    for number in 1..=next.number {
        let path = key_path(directory, "key", number);
        if path.exists() {
            add(read_key(&path)?);
        }
    }
    Ok(signers)
}

/// The identity that waits for signatures, where one does.
pub fn next(directory: &Path) -> Result<Option<Offered>, LogError> {
    let path = directory.join(NEXT);
    let Some(bytes) = files::read(&path)? else { return Ok(None) };
    let Offered { envelope, .. } = parse(&path, &bytes)?;
    let named_by = chain(directory)?.latest().map(|latest| latest.rotation.keys.clone());
    Ok(Some(Offered { envelope, named_by: named_by.unwrap_or_default() }))
}

/// Reads an identity with whichever signatures it has, as it was offered or its envelope alone.
pub fn parse(path: &Path, bytes: &[u8]) -> Result<Offered, LogError> {
    let none = |reason: String| LogError::NotAnIdentity { path: path.to_owned(), reason };
    let alone = |envelope| Offered { envelope, named_by: Vec::new() };
    let read = serde_json::from_slice::<Offered>(bytes)
        .or_else(|_| serde_json::from_slice::<Envelope>(bytes).map(alone));
    let offered = read.map_err(|_| {
        let holds = |text: &[u8]| bytes.windows(text.len()).any(|window| window == text);
        let reason = if bytes.starts_with(b"origin\t") || holds(b"\"fingerprint\"") {
            "it tells of one that was adopted at once, and nothing is left to sign"
        } else if holds(b"-----BEGIN") {
            "it holds a key"
        } else {
            "it is something else, or cut short"
        };
        none(reason.to_owned())
    })?;
    LogIdentity::from_envelope(&offered.envelope).map_err(|error| none(error.to_string()))?;
    Ok(offered)
}

/// Signs an identity with one more key, of the identity before or of this one; needs no data
/// directory.
pub fn sign(offered: Offered, key: &SigningKey) -> Result<Offered, LogError> {
    let identity = LogIdentity::from_envelope(&offered.envelope)?;
    let signers: Vec<&String> = offered.named_by.iter().chain(&identity.rotation.keys).collect();
    let public = key.public();
    if !signers.contains(&&public.to_pem()) {
        let keys = signers.into_iter().filter_map(|pem| PublicKey::from_pem(pem).ok());
        let mut signers: Vec<KeyId> = keys.map(|key| key.id()).collect();
        signers.sort_unstable();
        signers.dedup();
        return Err(LogError::Stranger { key: public.id(), number: identity.number, signers });
    }
    Ok(Offered { envelope: offered.envelope.also_signed(key), ..offered })
}

/// Makes an identity the newest, where enough have signed it and its keys are here.
///
/// Returned, it survives a crash; cut short, the one before is the newest.
pub fn adopt(directory: &Path, envelope: &Envelope) -> Result<IdentityChain, LogError> {
    let present = chain(directory)?;
    let identity = LogIdentity::from_envelope(envelope)?;
    if let Some(newest) = present.latest().filter(|newest| newest.number >= identity.number) {
        return Err(LogError::Past { number: identity.number, newest: newest.number });
    }
    let mut envelopes = present.envelopes().to_vec();
    envelopes.push(envelope.clone());
    let chain = present.continued(envelopes).map_err(|error| match error {
        IdentityError::TooFew { .. } => LogError::NotYet(error),
        error => error.into(),
    })?;
    let key = read_key(&key_path(directory, "key", identity.number))?;
    let cosigner = read_key(&key_path(directory, "cosigner", identity.number))?;
    let rotation = identity.rotation.clone();
    let made = identity_of(chain.origin(), identity.number, &key, &cosigner, rotation)?;
    if made.keys != identity.keys {
        return Err(LogError::OtherKeys);
    }
    write_identities(directory, chain.envelopes())?;
    let next = directory.join(NEXT);
    match std::fs::remove_file(&next) {
        Err(error) if error.kind() != std::io::ErrorKind::NotFound => {
            return Err(LogError::Io { path: next, source: error });
        }
        _ => {}
    }
    // What was adopted is what will sign.
    Keyring::open(directory)?.ok_or(LogError::NoKeys(0))?;
    Ok(chain)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn started() -> tempfile::TempDir {
        let directory = tempfile::tempdir().unwrap();
        Keyring::make(directory.path(), Some("example.com/log")).unwrap();
        directory
    }

    #[test]
    fn the_first_key_names_the_next_identity_unless_others_are_to() {
        let directory = started();
        let Next::Adopted(chain) = rotate(directory.path(), &Asked::default()).unwrap() else {
            panic!("not adopted");
        };
        assert_eq!(chain.latest().unwrap().number, 2);
        assert_eq!(chain.identities()[0].rotation, chain.identities()[1].rotation);
        assert_ne!(chain.identities()[0].keys, chain.identities()[1].keys);
        let keyring = Keyring::open(directory.path()).unwrap().unwrap();
        assert_eq!(keyring.number(), 2);
    }

    #[test]
    fn keys_that_are_elsewhere_sign_elsewhere() {
        let directory = started();
        let offline: Vec<SigningKey> = (0..3).map(|_| SigningKey::generate().unwrap()).collect();
        let rotation = offline.iter().map(SigningKey::public).collect();
        let asked = Asked { rotation, threshold: Some(2), ..Asked::default() };
        // The first key agrees; of the new ones two must as well.
        let Next::Unsigned(envelope, IdentityError::TooFew { needed: 2, found: 0, .. }) =
            rotate(directory.path(), &asked).unwrap()
        else {
            panic!("adopted");
        };
        assert_eq!(next(directory.path()).unwrap(), Some(envelope.clone()));
        // What others are asked to sign is not given up by a slip.
        let again = rotate(directory.path(), &Asked::default());
        assert!(matches!(again, Err(LogError::Waiting(2))), "{again:?}");
        assert_eq!(next(directory.path()).unwrap(), Some(envelope.clone()));
        // Whose signature would count for nothing does not sign, whether or not it is known who may.
        let stranger = SigningKey::generate().unwrap();
        for named_by in [envelope.named_by.clone(), Vec::new()] {
            let refused = sign(Offered { named_by, ..envelope.clone() }, &stranger).unwrap_err();
            let told = refused.to_string();
            assert!(matches!(refused, LogError::Stranger { number: 2, .. }), "{told}");
            assert!(told.contains(&offline[1].public().id().to_string()), "{told}");
        }
        let once = sign(envelope, &offline[0]).unwrap();
        assert!(matches!(adopt(directory.path(), &once.envelope), Err(LogError::NotYet(_))));
        let twice = sign(once, &offline[2]).unwrap().envelope;
        assert_eq!(adopt(directory.path(), &twice).unwrap().latest().unwrap().number, 2);
        assert_eq!(next(directory.path()).unwrap(), None);
        let again = adopt(directory.path(), &twice);
        assert!(matches!(again, Err(LogError::Past { number: 2, newest: 2 })), "{again:?}");
        // From here on the first key names none.
        let Next::Unsigned(_, IdentityError::TooFew { number: 3, .. }) =
            rotate(directory.path(), &Asked::default()).unwrap()
        else {
            panic!("adopted");
        };
        assert_eq!(Keyring::open(directory.path()).unwrap().unwrap().number(), 2);
        let signers = offline[..2].to_vec();
        let asked = Asked { signers, replace: true, ..Asked::default() };
        assert!(matches!(rotate(directory.path(), &asked).unwrap(), Next::Adopted(_)));
    }

    #[test]
    fn more_signatures_than_there_are_keys_are_refused_before_anything_is_made() {
        let directory = started();
        for threshold in [0, 2] {
            let asked = Asked { threshold: Some(threshold), ..Asked::default() };
            let refused = rotate(directory.path(), &asked).unwrap_err().to_string();
            let told = format!("the threshold is {threshold}, and there is 1 rotation key");
            assert!(
                refused.contains(&told) && refused.contains("`--new-rotation-key`"),
                "{refused}"
            );
        }
        assert!(!key_path(directory.path(), "key", 2).exists());
    }

    #[test]
    fn a_file_that_is_no_identity_is_told_by_what_it_is() {
        let path = Path::new("next.json");
        for (bytes, told) in [
            (&b"origin\texample.com/log\n"[..], "nothing is left to sign"),
            (b"{\"fingerprint\":\"5f1c\",\"number\":2}", "nothing is left to sign"),
            (b"-----BEGIN PRIVATE KEY-----\n", "holds a key"),
            (b"", "something else"),
            (b"\xff\xfe", "something else"),
            (b"[1]", "something else"),
        ] {
            let refused = parse(path, bytes).unwrap_err().to_string();
            assert!(refused.contains("`next.json`") && refused.contains(told), "{refused}");
            assert!(refused.contains("`log rotate`") && !refused.contains("column"), "{refused}");
        }
        let other = Envelope::sign("text/plain", b"x", &[SigningKey::generate().unwrap()]);
        let refused = parse(path, &other.to_bytes()).unwrap_err().to_string();
        assert!(refused.contains("`next.json`") && refused.contains("text/plain"), "{refused}");
    }

    #[test]
    fn an_identity_for_other_keys_is_not_adopted() {
        let directory = started();
        let key = read_key(&key_path(directory.path(), "key", 1)).unwrap();
        let (other, cosigner) = (SigningKey::generate().unwrap(), SigningKey::generate().unwrap());
        make_key(&key_path(directory.path(), "key", 2)).unwrap();
        make_key(&key_path(directory.path(), "cosigner", 2)).unwrap();
        let rotation = RotationKeys { keys: vec![key.public().to_pem()], threshold: 1 };
        let identity = identity_of("example.com/log", 2, &other, &cosigner, rotation).unwrap();
        let envelope = sign_identity(&identity, &[key]);
        assert!(matches!(adopt(directory.path(), &envelope), Err(LogError::OtherKeys)));
    }
}
