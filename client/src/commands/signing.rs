//! The keys that a command signs with.

use skillpkg::keys::{self, StoredKey};
use skillpkg::{Error, Kind};
use skillpkg_schema::diagnostic::escape;
use skillpkg_schema::signature::{MAX_SIGNATURES, SigningKey};

use crate::commands::{PackingArguments, passphrase};
use crate::context::Context;

/// The keys that the options name, else the one that this machine signs with, which is made where
/// there is none and somebody says yes; each opened, and each another one.
pub(crate) fn signing_keys(
    context: &Context,
    arguments: &PackingArguments,
) -> Result<Vec<SigningKey>, Error> {
    let files = &arguments.keys;
    if files.len() > MAX_SIGNATURES {
        let message = format!("{} keys are too many: the most is {MAX_SIGNATURES}", files.len());
        return Err(Error::new(Kind::Usage, "too_many_keys", message));
    }
    if files.is_empty() {
        let stored = match keys::signing_key(&context.settings) {
            // Where `SKILLPKG_KEY` names a file, that one is meant and no other.
            Err(error) if error.code == "no_key" && context.settings.key.is_none() => {
                made(context, arguments.keygen, error)?
            }
            stored => stored?,
        };
        return Ok(vec![opened(context, stored)?]);
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

/// The key of this machine, made now where that was said or is said to be wanted; else the failure
/// that there is none.
fn made(context: &Context, is_wanted: bool, missing: Error) -> Result<StoredKey, Error> {
    let output = context.output;
    let path = keys::default_path(&context.settings.home);
    let shown = escape(&path.to_string_lossy());
    let missing = missing.with_hint(
        "`skillpkg keygen` makes one, `--keygen` makes it now and goes on; with a passphrase: \
         `skillpkg keygen --passphrase`",
    );
    if !is_wanted {
        if !output.can_ask() {
            return Err(missing);
        }
        output.show(&format!("This machine has no signing key yet; it would lie in `{shown}`."));
        if !output.confirm("Make a signing key?", "", "")? {
            return Err(missing);
        }
    }
    // Whoever gives a passphrase to commands wants the key locked.
    let passphrase = passphrase::given(context)?;
    let public = keys::generate(&path, passphrase.as_ref())?;
    let locks = if passphrase.is_some() { "" } else { " `skillpkg keys passphrase` locks it." };
    output.talk(&format!(
        "Made a signing key ({}) in `{shown}`. Keep a copy of it: who loses it signs with another, \
         which everybody is told.{locks}",
        public.id().short()
    ));
    keys::signing_key(&context.settings)
}

/// The key, for which its passphrase is asked where it has one.
pub(crate) fn opened(context: &Context, key: StoredKey) -> Result<SigningKey, Error> {
    match key {
        StoredKey::Open(key) => Ok(key),
        StoredKey::Locked(key) => passphrase::open(context, &key),
    }
}
