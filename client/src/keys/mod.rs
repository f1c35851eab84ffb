//! Signing keys on this machine: PKCS#8 PEM files, read and written by their owner alone.

pub mod proof;
mod stored;
mod trusted;
mod vouching;

pub use stored::{LockedKey, StoredKey, set_passphrase};
pub(crate) use trusted::UNKNOWN_KEY_HINT;
pub use trusted::{distrust, export, trust, trusted};
pub(crate) use vouching::vouching_for_files;

use std::io::{self, Read as _};
use std::path::{Path, PathBuf};

use skillpkg_schema::diagnostic::{escape, nearest};
use skillpkg_schema::signature::{KeyError, KeyId, Passphrase, PublicKey, SigningKey};
use zeroize::Zeroizing;

use crate::private_file;
use crate::project::io_hint;
use crate::{Error, Kind, Settings};

/// Most bytes of a key's file.
const MAX_FILE_BYTES: usize = 16 * 1024;

/// Fewest digits of an id that are held against those there are.
const FEWEST_NEAR: usize = 4;

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
    /// Whether a passphrase opens its private half.
    pub is_locked: bool,
}

/// The keys in some files.
#[derive(Debug, Clone, Default)]
pub struct KeyFiles {
    /// Those whose public half is known.
    pub keys: Vec<LocalKey>,
    /// Files of private keys that a passphrase opens, and whose public half is not beside them.
    pub unknown: Vec<PathBuf>,
    /// What is wrong with each file that holds none.
    pub broken: Vec<Error>,
}

/// Where the default key of a home lies.
pub fn default_path(home: &Path) -> PathBuf {
    home.join("keys").join("default.pem")
}

/// The file of the key that is signed with: the environment's, else the default one.
pub fn signing_path(settings: &Settings) -> PathBuf {
    settings.key.clone().unwrap_or_else(|| default_path(&settings.home))
}

/// The key that is signed with, as its file holds it; `no_key` where there is none.
pub fn signing_key(settings: &Settings) -> Result<StoredKey, Error> {
    StoredKey::read(&signing_path(settings)).map_err(|error| match error.code.as_str() {
        "no_key" => error.with_hint(match settings.key {
            Some(_) => "`SKILLPKG_KEY` names a PEM file of a private key",
            None => "`skillpkg keygen` makes one",
        }),
        _ => error,
    })
}

/// The private key in a PEM file; `key_not_private` where it holds a public one.
pub fn private_key(path: &Path) -> Result<StoredKey, Error> {
    match StoredKey::read(path) {
        Err(error) if error.code == "key_unreadable" || error.code == "no_key" => {
            // What is no key at all is told as that.
            public_key(path)?;
            let message = "this is a public key, and only the private one shows that you hold it";
            Err(Error::new(Kind::Failed, "key_not_private", message)
                .in_file(path.to_string_lossy())
                .with_hint("register it where its private key is, with a token of the account"))
        }
        answer => answer,
    }
}

/// Makes a key and writes it to a new file, locked with this passphrase or with none; a file that is
/// there is never overwritten (`key_exists`).
///
/// A crash leaves no file or the whole one.
pub fn generate(path: &Path, passphrase: Option<&Passphrase>) -> Result<PublicKey, Error> {
    let key = SigningKey::generate()
        .map_err(|error| Error::new(Kind::Failed, "key_not_made", error.to_string()))?;
    let text = stored::file_text(&key, passphrase)?;
    match private_file::create(path, text.as_bytes()) {
        Ok(()) => Ok(key.public()),
        Err(error) if error.kind() == io::ErrorKind::AlreadyExists => Err(occupied(path)),
        Err(error) => {
            Err(Error { code: "key_not_made".to_owned(), ..crate::project::io_error(path, &error) })
        }
    }
}

/// The failure to make a key where a file is.
pub fn occupied(path: &Path) -> Error {
    let message = "a file is there already, and no key is ever overwritten";
    Error::new(Kind::Failed, "key_exists", message).in_file(path.to_string_lossy()).with_hint(
        "`--output FILE` makes a further key, `skillpkg keys add FILE` registers it, and \
         `SKILLPKG_KEY=FILE` signs with it",
    )
}

/// The keys beneath a home, each sorted by path.
pub fn list(home: &Path) -> Result<KeyFiles, Error> {
    in_directory(&home.join("keys"))
}

fn in_directory(directory: &Path) -> Result<KeyFiles, Error> {
    let entries = match std::fs::read_dir(directory) {
        Ok(entries) => entries,
        Err(error) if error.kind() == io::ErrorKind::NotFound => return Ok(KeyFiles::default()),
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
    let mut files = KeyFiles::default();
    for path in paths {
        files.add(path);
    }
    Ok(files)
}

impl KeyFiles {
    /// Adds what is in a file.
    pub fn add(&mut self, path: PathBuf) {
        match read_any(&path) {
            Ok((Some(public), is_locked)) => self.keys.push(LocalKey { path, public, is_locked }),
            Ok((None, _)) => self.unknown.push(path),
            Err(error) => self.broken.push(error),
        }
    }
}

/// The public key in a PEM file of a private or a public key; `key_locked` where it stands nowhere
/// but in a private key that a passphrase opens.
pub fn public_key(path: &Path) -> Result<PublicKey, Error> {
    read_any(path)?.0.ok_or_else(|| {
        let message = "its passphrase opens this key, and its public half is not beside it";
        let shown = escape(&path.to_string_lossy());
        Error::new(Kind::Failed, "key_locked", message)
            .in_file(path.to_string_lossy())
            .with_hint(format!("`skillpkg keys passphrase {shown}` writes it there"))
    })
}

/// The public half of a private or a public key, as far as it is known, and whether the private one
/// is locked.
fn read_any(path: &Path) -> Result<(Option<PublicKey>, bool), Error> {
    let text = read(path).map_err(|error| unread(path, &error))?;
    let public = match SigningKey::from_pem(&text) {
        Ok(key) => return Ok((Some(key.public()), false)),
        Err(KeyError::Encrypted) => PublicKey::beside_private(&text).map(|public| (public, true)),
        Err(_) => PublicKey::from_pem(&text).map(|public| (Some(public), false)),
    };
    public.map_err(|error| {
        let message = match error {
            KeyError::Weak => error.to_string(),
            _ => "neither a private nor a public Ed25519 key in PEM".to_owned(),
        };
        unreadable(path, &message)
    })
}

fn read(path: &Path) -> io::Result<Zeroizing<String>> {
    // Of its whole length from the start: growing would leave copies behind.
    let mut bytes = Zeroizing::new(Vec::with_capacity(MAX_FILE_BYTES));
    crate::regular_file::open(path)?.take(MAX_FILE_BYTES as u64).read_to_end(&mut bytes)?;
    // What is no text is no PEM either, and is told as that.
    Ok(Zeroizing::new(String::from_utf8_lossy(&bytes).into_owned()))
}

/// What the system does not let be read.
fn unread(path: &Path, error: &io::Error) -> Error {
    Error { hint: io_hint(error), ..unreadable(path, &error.to_string()) }
}

fn unreadable(path: &Path, message: &str) -> Error {
    Error::new(Kind::Failed, "key_unreadable", message).in_file(path.to_string_lossy())
}

/// What may have been meant by the start of a key's id that none of `ids` has.
pub fn near_id<'k>(digits: &str, ids: impl IntoIterator<Item = &'k KeyId>) -> Option<String> {
    let length = digits.chars().count();
    // Of fewer, most are near.
    if length < FEWEST_NEAR {
        return None;
    }
    let wanted = digits.to_ascii_lowercase();
    let ids: Vec<(String, String)> = ids
        .into_iter()
        .map(|id| (id.to_string().chars().take(length).collect(), id.short()))
        .collect();
    let near = nearest(&wanted, ids.iter().map(|(start, _)| start.as_str()))?;
    let (_, short) = ids.iter().find(|(start, _)| start == near)?;
    Some(format!("did you mean `{short}`?"))
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
        let public = generate(&path, None).unwrap();
        let before = std::fs::read(&path).unwrap();
        assert_eq!(generate(&path, None).unwrap_err().code, "key_exists");
        assert_eq!(std::fs::read(&path).unwrap(), before);
        assert_eq!(signing_key(&settings(home.path())).unwrap().public(), Some(public));
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
        generate(&path, None).unwrap();
        for (path, mode) in [(path.as_path(), 0o600), (path.parent().unwrap(), 0o700)] {
            assert_eq!(std::fs::metadata(path).unwrap().permissions().mode() & 0o7777, mode);
        }
    }

    #[test]
    fn a_slip_in_the_start_of_an_id_is_answered_with_the_id() {
        let ids =
            [generate(&default_path(tempfile::tempdir().unwrap().path()), None).unwrap().id()];
        let start: String = ids[0].to_string().chars().take(12).collect();
        let slip = format!("{}{}", if start.starts_with('0') { '1' } else { '0' }, &start[1..]);
        let told = Some(format!("did you mean `{}`?", ids[0].short()));
        assert_eq!(near_id(&slip, &ids), told);
        assert_eq!(near_id(&start.to_ascii_uppercase(), &ids), told);
        assert_eq!(near_id("0", &ids), None);
        assert_eq!(near_id("zzzzzzzzzzzz", &ids), None);
    }

    #[test]
    fn the_keys_of_a_home_are_listed_and_what_is_none_is_told() {
        let home = tempfile::tempdir().unwrap();
        assert!(list(home.path()).unwrap().keys.is_empty());
        let public = generate(&default_path(home.path()), None).unwrap();
        let directory = home.path().join("keys");
        std::fs::write(directory.join("colleague.pem"), public.to_pem()).unwrap();
        std::fs::write(directory.join("z.pem"), "no key").unwrap();
        std::fs::write(directory.join("notes.txt"), "no key").unwrap();
        let secret = Passphrase::new("secret".to_owned()).unwrap();
        let locked = generate(&directory.join("locked.pem"), Some(&secret)).unwrap();
        let text = std::fs::read_to_string(directory.join("locked.pem")).unwrap();
        let (private, _) = text.split_once("-----BEGIN PUBLIC").unwrap();
        std::fs::write(directory.join("theirs.pem"), private).unwrap();
        let files = list(home.path()).unwrap();
        let keys: Vec<_> = files.keys.iter().map(|key| (key.public, key.is_locked)).collect();
        assert_eq!(keys, [(public, false), (public, false), (locked, true)]);
        assert_eq!(files.unknown, [directory.join("theirs.pem")]);
        assert_eq!(files.broken.len(), 1);
        let chosen = Settings { key: Some(directory.join("z.pem")), ..settings(home.path()) };
        assert_eq!(signing_key(&chosen).unwrap_err().code, "key_unreadable");
    }
}
