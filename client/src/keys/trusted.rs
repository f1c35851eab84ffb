//! Public keys of others that a person trusts to sign, without a registry that says whose they are.

use std::io::{self, Write as _};
use std::path::{Path, PathBuf};

use skillpkg_schema::diagnostic::escape;
use skillpkg_schema::signature::{KeyId, PublicKey};

use super::{LocalKey, in_directory, public_key};
use crate::state::State;
use crate::{Error, Kind, private_file};

/// What to do about a signature of a key that nobody here knows.
pub(crate) const UNKNOWN_KEY_HINT: &str = "ask the author for the public key (`skillpkg keys \
    export` on their machine writes it), compare its id with theirs, then `skillpkg keys trust \
    FILE.pem`";

fn directory(home: &Path) -> PathBuf {
    home.join("keys").join("trusted")
}

/// The trusted keys of a home, sorted by id, and what is wrong with each file that holds none.
pub fn trusted(home: &Path) -> Result<(Vec<LocalKey>, Vec<Error>), Error> {
    let mut files = in_directory(&directory(home))?;
    files.broken.extend(files.unknown.iter().filter_map(|path| public_key(path).err()));
    Ok((files.keys, files.broken))
}

/// Trusts a key from now on; answers with the file that says so. A key that is trusted already is
/// fine.
///
/// A crash leaves no file or the whole one.
pub fn trust(home: &Path, key: &PublicKey) -> Result<PathBuf, Error> {
    let path = directory(home).join(format!("{}.pem", key.id()));
    private_file::replace(&path, key.to_pem().as_bytes())
        .map_err(|error| not_written(&path, &error))?;
    Ok(path)
}

/// Trusts the key whose id starts with `digits` no more, whatever it vouched for here before.
pub fn distrust(home: &Path, digits: &str) -> Result<KeyId, Error> {
    let (keys, _) = trusted(home)?;
    let mut matching = keys.iter().filter(|key| key.public.id().to_string().starts_with(digits));
    let shown = escape(digits);
    let hint = "`skillpkg keys list` tells the trusted keys";
    let key = match (matching.next(), matching.next()) {
        (Some(key), None) if !digits.is_empty() => key,
        (Some(_), _) => {
            let message = format!("`{shown}` is the start of more than one key's id");
            return Err(Error::new(Kind::Usage, "key_ambiguous", message).with_hint(hint));
        }
        (None, _) => {
            let message = format!("no trusted key has an id that starts with `{shown}`");
            let ids: Vec<KeyId> = keys.iter().map(|key| key.public.id()).collect();
            let near = super::near_id(digits, &ids);
            let hint = near.unwrap_or_else(|| hint.to_owned());
            return Err(Error::new(Kind::Failed, "key_not_found", message).with_hint(hint));
        }
    };
    let id = key.public.id();
    std::fs::remove_file(&key.path).map_err(|error| not_written(&key.path, &error))?;
    // What it signed and was installed made it a key that was seen, which would vouch on.
    State::new(home).change_signers(|signers| signers.forget(&id))?;
    Ok(id)
}

/// Writes a public key to a new file; one that is there, such as that of a private key, is never
/// overwritten.
pub fn export(path: &Path, key: &PublicKey) -> Result<(), Error> {
    let mut options = std::fs::OpenOptions::new();
    options.write(true).create_new(true);
    let written = options.open(path).and_then(|mut file| file.write_all(key.to_pem().as_bytes()));
    written.map_err(|error| match error.kind() {
        io::ErrorKind::AlreadyExists => {
            let message = "a file is there already, and no key is ever overwritten";
            Error::new(Kind::Failed, "key_exists", message).in_file(path.to_string_lossy())
        }
        _ => not_written(path, &error),
    })
}

fn not_written(path: &Path, error: &io::Error) -> Error {
    Error::new(Kind::Failed, "key_not_written", error.to_string()).in_file(path.to_string_lossy())
}

#[cfg(test)]
mod tests {
    use super::*;
    use skillpkg_schema::signature::SigningKey;

    #[test]
    fn a_key_is_trusted_until_it_is_no_more_whatever_was_seen_of_it() {
        let home = tempfile::tempdir().unwrap();
        let key = SigningKey::generate().unwrap().public();
        assert!(trusted(home.path()).unwrap().0.is_empty());
        let path = trust(home.path(), &key).unwrap();
        assert_eq!(trust(home.path(), &key).unwrap(), path);
        assert_eq!(trusted(home.path()).unwrap().0[0].public, key);
        assert!(
            super::super::list(home.path()).unwrap().keys.is_empty(),
            "it is no key of one's own"
        );
        let state = State::new(home.path());
        state.change_signers(|signers| signers.keep(&key)).unwrap();
        assert_eq!(distrust(home.path(), "").unwrap_err().code, "key_ambiguous");
        assert_eq!(distrust(home.path(), &key.id().short()).unwrap(), key.id());
        assert!(trusted(home.path()).unwrap().0.is_empty());
        assert_eq!(state.signers().unwrap().key(&key.id()), None);
        assert_eq!(distrust(home.path(), &key.id().short()).unwrap_err().code, "key_not_found");
    }

    #[test]
    fn an_export_never_overwrites() {
        let home = tempfile::tempdir().unwrap();
        let key = SigningKey::generate().unwrap().public();
        let path = home.path().join("public.pem");
        export(&path, &key).unwrap();
        assert_eq!(super::super::public_key(&path).unwrap(), key);
        assert_eq!(export(&path, &key).unwrap_err().code, "key_exists");
    }
}
