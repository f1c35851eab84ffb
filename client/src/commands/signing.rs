//! The keys that a command signs with.

use std::path::PathBuf;

use skillpkg::keys::{self, StoredKey};
use skillpkg::{Error, Kind};
use skillpkg_schema::diagnostic::escape;
use skillpkg_schema::signature::{MAX_SIGNATURES, SigningKey};

use crate::commands::passphrase;
use crate::context::Context;

/// The keys in these files, else the one that this machine signs with; each opened, and each
/// another one.
pub(crate) fn signing_keys(context: &Context, files: &[PathBuf]) -> Result<Vec<SigningKey>, Error> {
    if files.len() > MAX_SIGNATURES {
        let message = format!("{} keys are too many: the most is {MAX_SIGNATURES}", files.len());
        return Err(Error::new(Kind::Usage, "too_many_keys", message));
    }
    if files.is_empty() {
        return Ok(vec![opened(context, keys::signing_key(&context.settings)?)?]);
    }
    let mut signing: Vec<SigningKey> = Vec::new();
    for file in files {
        let stored = StoredKey::read(file).map_err(|error| match error.code.as_str() {
            "no_key" => error.with_hint("`--key` names a PEM file of a private key"),
            _ => error,
        })?;
        let key = opened(context, stored)?;
        if signing.iter().any(|other| other.public() == key.public()) {
            let shown = escape(&file.to_string_lossy());
            let message = format!("the key in `{shown}` is given twice, and signs once");
            return Err(Error::new(Kind::Usage, "key_repeated", message));
        }
        signing.push(key);
    }
    Ok(signing)
}

/// The key, for which its passphrase is asked where it has one.
pub(crate) fn opened(context: &Context, key: StoredKey) -> Result<SigningKey, Error> {
    match key {
        StoredKey::Open(key) => Ok(key),
        StoredKey::Locked(key) => passphrase::open(context, &key),
    }
}
