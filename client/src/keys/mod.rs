//! Signing keys on this machine: PKCS#8 PEM files, read and written by their owner alone.

pub mod proof;
mod trusted;
mod vouching;

pub(crate) use trusted::UNKNOWN_KEY_HINT;
pub use trusted::{distrust, export, trust, trusted};
pub(crate) use vouching::vouching_for_files;

use std::io::{self, Read as _};
use std::path::{Path, PathBuf};

use skillpkg_schema::signature::{KeyError, PublicKey, SigningKey};

use crate::private_file;
use crate::project::io_hint;
use crate::{Error, Kind, Settings};

/// Most bytes of a key's file.
const MAX_FILE_BYTES: u64 = 16 * 1024;

/// What to do where a key can no longer sign.
pub const SIGN_WITH_ANOTHER: &str = "`skillpkg keygen --output FILE` makes another key, `skillpkg \
     keys add FILE` registers it, and `SKILLPKG_KEY=FILE` signs with it";

/// A key that lies on this machine.
#[derive(Debug, Clone)]
pub struct LocalKey {
    /// The file.
    pub path: PathBuf,
    /// Its public half.
    pub public: PublicKey,
}

/// Where the default key of a home lies.
pub fn default_path(home: &Path) -> PathBuf {
    home.join("keys").join("default.pem")
}

/// The file of the key that is signed with: the environment's, else the default one.
pub fn signing_path(settings: &Settings) -> PathBuf {
    settings.key.clone().unwrap_or_else(|| default_path(&settings.home))
}

/// The key that is signed with; `no_key` where there is none.
pub fn signing_key(settings: &Settings) -> Result<SigningKey, Error> {
    let path = signing_path(settings);
    let text = match read(&path) {
        Ok(text) => text,
        Err(error) if error.kind() == io::ErrorKind::NotFound => {
            let message = "there is no signing key here";
            let error = Error::new(Kind::Failed, "no_key", message).in_file(path.to_string_lossy());
            return Err(error.with_hint(match settings.key {
                Some(_) => "`SKILLPKG_KEY` names a PEM file of a private key",
                None => "`skillpkg keygen` makes one",
            }));
        }
        Err(error) => return Err(unread(&path, &error)),
    };
    SigningKey::from_pem(&text).map_err(|error| unreadable(&path, &error.to_string()))
}

/// The private key in a PEM file; `key_not_private` where it holds a public one.
pub fn private_key(path: &Path) -> Result<SigningKey, Error> {
    let text = read(path).map_err(|error| unread(path, &error))?;
    match SigningKey::from_pem(&text) {
        Ok(key) => Ok(key),
        // What is no key at all is told as that.
        Err(_) => public_key(path).and_then(|_| {
            let message = "this is a public key, and only the private one shows that you hold it";
            Err(Error::new(Kind::Failed, "key_not_private", message)
                .in_file(path.to_string_lossy())
                .with_hint("register it where its private key is, with a token of the account"))
        }),
    }
}

/// Makes a key and writes it to a new file; one that is there is never overwritten
/// (`key_exists`).
///
/// A crash leaves no file or the whole one.
pub fn generate(path: &Path) -> Result<PublicKey, Error> {
    let failed = |error: KeyError| Error::new(Kind::Failed, "key_not_made", error.to_string());
    let key = SigningKey::generate().map_err(failed)?;
    let pem = key.to_pem().map_err(failed)?;
    match private_file::create(path, pem.as_bytes()) {
        Ok(()) => Ok(key.public()),
        Err(error) if error.kind() == io::ErrorKind::AlreadyExists => {
            let message = "a file is there already, and no key is ever overwritten";
            Err(Error::new(Kind::Failed, "key_exists", message)
                .in_file(path.to_string_lossy())
                .with_hint(
                    "`--output FILE` makes a further key, `skillpkg keys add FILE` registers it, \
                     and `SKILLPKG_KEY=FILE` signs with it",
                ))
        }
        Err(error) => {
            Err(Error { code: "key_not_made".to_owned(), ..crate::project::io_error(path, &error) })
        }
    }
}

/// The keys beneath a home, sorted by path, and what is wrong with each file that holds none.
pub fn list(home: &Path) -> Result<(Vec<LocalKey>, Vec<Error>), Error> {
    in_directory(&home.join("keys"))
}

fn in_directory(directory: &Path) -> Result<(Vec<LocalKey>, Vec<Error>), Error> {
    let entries = match std::fs::read_dir(directory) {
        Ok(entries) => entries,
        Err(error) if error.kind() == io::ErrorKind::NotFound => return Ok(Default::default()),
        Err(error) => return Err(unread(directory, &error)),
    };
    let mut paths = Vec::new();
    for entry in entries {
        let path = entry.map_err(|error| unread(directory, &error))?.path();
        if path.extension().is_some_and(|extension| extension == "pem") {
            paths.push(path);
        }
    }
    paths.sort();
    let (mut keys, mut broken) = (Vec::new(), Vec::new());
    for path in paths {
        match public_key(&path) {
            Ok(public) => keys.push(LocalKey { path, public }),
            Err(error) => broken.push(error),
        }
    }
    Ok((keys, broken))
}

/// The public key in a PEM file of a private or a public key.
pub fn public_key(path: &Path) -> Result<PublicKey, Error> {
    let text = read(path).map_err(|error| unread(path, &error))?;
    if let Ok(key) = SigningKey::from_pem(&text) {
        return Ok(key.public());
    }
    PublicKey::from_pem(&text).map_err(|error| {
        let message = match error {
            KeyError::Weak => error.to_string(),
            _ => "neither a private nor a public Ed25519 key in PEM".to_owned(),
        };
        unreadable(path, &message)
    })
}

fn read(path: &Path) -> io::Result<String> {
    let mut bytes = Vec::new();
    crate::regular_file::open(path)?.take(MAX_FILE_BYTES).read_to_end(&mut bytes)?;
    // What is no text is no PEM either, and is told as that.
    Ok(String::from_utf8_lossy(&bytes).into_owned())
}

/// What the system does not let be read.
fn unread(path: &Path, error: &io::Error) -> Error {
    Error { hint: io_hint(error), ..unreadable(path, &error.to_string()) }
}

fn unreadable(path: &Path, message: &str) -> Error {
    Error::new(Kind::Failed, "key_unreadable", message).in_file(path.to_string_lossy())
}

#[cfg(test)]
mod tests {
    use super::*;

    fn settings(home: &Path) -> Settings {
        Settings::new(home.to_path_buf(), home.to_path_buf(), home.to_path_buf())
    }

    #[test]
    fn a_key_is_made_once_and_never_overwritten() {
        let home = tempfile::tempdir().unwrap();
        let path = default_path(home.path());
        assert_eq!(signing_key(&settings(home.path())).unwrap_err().code, "no_key");
        let public = generate(&path).unwrap();
        let before = std::fs::read(&path).unwrap();
        assert_eq!(generate(&path).unwrap_err().code, "key_exists");
        assert_eq!(std::fs::read(&path).unwrap(), before);
        assert_eq!(signing_key(&settings(home.path())).unwrap().public(), public);
    }

    #[test]
    fn what_is_no_text_is_told_as_no_key() {
        let home = tempfile::tempdir().unwrap();
        let path = home.path().join("archive");
        std::fs::write(&path, [0x28, 0xb5, 0x2f, 0xfd, 0xff]).unwrap();
        let settings = Settings { key: Some(path), ..settings(home.path()) };
        let error = signing_key(&settings).unwrap_err();
        assert!(error.message.contains("BEGIN PRIVATE KEY"), "{error}");
    }

    #[cfg(unix)]
    #[test]
    fn a_key_is_its_owners_alone() {
        use std::os::unix::fs::PermissionsExt as _;
        let home = tempfile::tempdir().unwrap();
        let path = default_path(home.path());
        generate(&path).unwrap();
        for (path, mode) in [(path.as_path(), 0o600), (path.parent().unwrap(), 0o700)] {
            assert_eq!(std::fs::metadata(path).unwrap().permissions().mode() & 0o7777, mode);
        }
    }

    #[test]
    fn the_keys_of_a_home_are_listed_and_what_is_none_is_told() {
        let home = tempfile::tempdir().unwrap();
        assert!(list(home.path()).unwrap().0.is_empty());
        let public = generate(&default_path(home.path())).unwrap();
        let directory = home.path().join("keys");
        std::fs::write(directory.join("colleague.pem"), public.to_pem()).unwrap();
        std::fs::write(directory.join("z.pem"), "no key").unwrap();
        std::fs::write(directory.join("notes.txt"), "no key").unwrap();
        let (keys, broken) = list(home.path()).unwrap();
        assert!(keys.iter().all(|key| key.public.id() == public.id()));
        assert_eq!((keys.len(), broken.len()), (2, 1));
        let chosen = Settings { key: Some(directory.join("z.pem")), ..settings(home.path()) };
        assert_eq!(signing_key(&chosen).unwrap_err().code, "key_unreadable");
    }
}
