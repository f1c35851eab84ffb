//! Private keys as their files hold them: as they are, or locked with a passphrase and then with
//! the public half in a second PEM block, so that whose key it is can be told without opening it.

use std::fmt;
use std::io;
use std::path::{Path, PathBuf};

use skillpkg_schema::signature::{KeyError, Passphrase, PublicKey, SigningKey};
use zeroize::Zeroizing;

use super::{read, unread, unreadable};
use crate::{Error, Kind, private_file};

/// A private key, as its file holds it.
#[derive(Debug, Clone)]
pub enum StoredKey {
    /// It can be signed with.
    Open(SigningKey),
    /// A passphrase opens it.
    Locked(LockedKey),
}

impl StoredKey {
    /// Reads a file; `no_key` where there is none.
    pub fn read(path: &Path) -> Result<Self, Error> {
        let text = match read(path) {
            Ok(text) => text,
            Err(error) if error.kind() == io::ErrorKind::NotFound => {
                let message = "there is no signing key here";
                let error = Error::new(Kind::Failed, "no_key", message);
                return Err(error.in_file(path.to_string_lossy()));
            }
            Err(error) => return Err(unread(path, &error)),
        };
        let refused = |error: &KeyError| unreadable(path, &error.to_string());
        match SigningKey::from_pem(&text) {
            Ok(key) => Ok(Self::Open(key)),
            Err(KeyError::Encrypted) => {
                let public = PublicKey::beside_private(&text).map_err(|error| refused(&error))?;
                Ok(Self::Locked(LockedKey { path: path.to_path_buf(), text, public }))
            }
            Err(error) => Err(refused(&error)),
        }
    }

    /// The public half; [`None`] where it stands nowhere but in what is locked.
    pub fn public(&self) -> Option<PublicKey> {
        match self {
            Self::Open(key) => Some(key.public()),
            Self::Locked(key) => key.public,
        }
    }
}

/// A private key that a passphrase opens.
#[derive(Clone)]
pub struct LockedKey {
    path: PathBuf,
    text: Zeroizing<String>,
    public: Option<PublicKey>,
}

impl LockedKey {
    /// The file.
    pub fn path(&self) -> &Path {
        &self.path
    }

    /// Opens it; `passphrase_wrong` where the passphrase is another.
    ///
    /// What is encrypted is not authenticated, so it is compared with the public half that stands
    /// beside it: where the file was changed, nothing is signed with whatever it opens as.
    pub fn open(&self, passphrase: &Passphrase) -> Result<SigningKey, Error> {
        let opened = SigningKey::from_encrypted_pem(&self.text, passphrase);
        let key = opened.map_err(|error| match error {
            KeyError::WrongPassphrase => {
                Error::new(Kind::Failed, "passphrase_wrong", error.to_string())
                    .in_file(self.path.to_string_lossy())
            }
            KeyError::EncryptionUnknown | KeyError::EncryptionCost => {
                unreadable(&self.path, &error.to_string()).with_hint(
                    "`openssl pkcs8 -topk8 -v2 aes-256-cbc -in FILE -out NEW` encrypts it so that \
                     it is read",
                )
            }
            _ => unreadable(&self.path, &error.to_string()),
        })?;
        match self.public {
            Some(public) if public != key.public() => {
                let message = "the public key in this file is not that of its private key: the \
                               file was changed";
                Err(Error::new(Kind::Verification, "key_mismatch", message)
                    .in_file(self.path.to_string_lossy())
                    .with_hint("take the file from a copy"))
            }
            _ => Ok(key),
        }
    }
}

impl fmt::Debug for LockedKey {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "LockedKey({})", self.path.display())
    }
}

/// Writes a key over its file, locked with this passphrase or with none.
///
/// A crash leaves the old file or the new one. A link in its place is replaced, and what it leads to
/// stays as it is.
pub fn set_passphrase(
    path: &Path,
    key: &SigningKey,
    passphrase: Option<&Passphrase>,
) -> Result<(), Error> {
    let text = file_text(key, passphrase)?;
    private_file::replace(path, text.as_bytes()).map_err(|error| Error {
        code: "key_not_written".to_owned(),
        ..crate::project::io_error(path, &error)
    })
}

/// What a key's file holds.
pub(super) fn file_text(
    key: &SigningKey,
    passphrase: Option<&Passphrase>,
) -> Result<Zeroizing<String>, Error> {
    let failed = |error: KeyError| Error::new(Kind::Failed, "key_not_made", error.to_string());
    let Some(passphrase) = passphrase else {
        return key.to_pem().map(Zeroizing::new).map_err(failed);
    };
    let text =
        format!("{}{}", key.to_encrypted_pem(passphrase).map_err(failed)?, key.public().to_pem());
    // A key that nobody can open is lost, so it is opened before it takes the other's place.
    let again = SigningKey::from_encrypted_pem(&text, passphrase).map_err(failed)?;
    if again.public() != key.public() {
        return Err(failed(KeyError::Private));
    }
    Ok(Zeroizing::new(text))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn passphrase(text: &str) -> Passphrase {
        Passphrase::new(text.to_owned()).unwrap()
    }

    fn locked(path: &Path) -> LockedKey {
        match StoredKey::read(path).unwrap() {
            StoredKey::Locked(key) => key,
            StoredKey::Open(_) => panic!("it is open"),
        }
    }

    #[test]
    fn a_passphrase_is_set_changed_and_removed_and_the_key_stays_the_same() {
        let directory = tempfile::tempdir().unwrap();
        let path = directory.path().join("key.pem");
        let public = super::super::generate(&path, None).unwrap();
        let StoredKey::Open(key) = StoredKey::read(&path).unwrap() else { panic!("it is locked") };
        let (first, second) = (passphrase("first"), passphrase("ş✓"));
        for (set, wrong) in [(&first, &second), (&second, &first)] {
            set_passphrase(&path, &key, Some(set)).unwrap();
            let locked = locked(&path);
            assert_eq!(locked.open(set).unwrap().public(), public);
            assert_eq!(locked.open(wrong).unwrap_err().code, "passphrase_wrong");
            assert_eq!(StoredKey::Locked(locked).public(), Some(public));
            assert_eq!(super::super::public_key(&path).unwrap(), public);
        }
        set_passphrase(&path, &key, None).unwrap();
        assert!(
            matches!(StoredKey::read(&path), Ok(StoredKey::Open(key)) if key.public() == public)
        );
    }

    #[test]
    fn a_file_whose_public_half_is_another_keys_signs_nothing() {
        let directory = tempfile::tempdir().unwrap();
        let path = directory.path().join("key.pem");
        let secret = passphrase("secret");
        super::super::generate(&path, Some(&secret)).unwrap();
        let text = std::fs::read_to_string(&path).unwrap();
        let (private, _) = text.split_once("-----BEGIN PUBLIC KEY").unwrap();
        let other = SigningKey::generate().unwrap().public();
        std::fs::write(&path, format!("{private}{}", other.to_pem())).unwrap();
        assert_eq!(locked(&path).open(&secret).unwrap_err().code, "key_mismatch");
        std::fs::write(&path, private).unwrap();
        assert!(locked(&path).open(&secret).is_ok());
        assert_eq!(super::super::public_key(&path).unwrap_err().code, "key_locked");
        assert_eq!(StoredKey::read(&path).unwrap().public(), None);
    }

    #[cfg(unix)]
    #[test]
    fn a_link_in_its_place_is_replaced_and_what_it_leads_to_stays() {
        use std::os::unix::fs::PermissionsExt as _;
        let directory = tempfile::tempdir().unwrap();
        let (target, path) = (directory.path().join("target"), directory.path().join("key.pem"));
        super::super::generate(&target, None).unwrap();
        let before = std::fs::read(&target).unwrap();
        std::os::unix::fs::symlink(&target, &path).unwrap();
        let StoredKey::Open(key) = StoredKey::read(&path).unwrap() else { panic!("it is locked") };
        set_passphrase(&path, &key, Some(&passphrase("secret"))).unwrap();
        assert_eq!(std::fs::read(&target).unwrap(), before);
        let metadata = std::fs::symlink_metadata(&path).unwrap();
        assert!(metadata.is_file());
        assert_eq!(metadata.permissions().mode() & 0o7777, 0o600);
    }
}
