//! Where passphrases of keys come from: the environment, a file, stdin, or a person at a terminal.
//! Never an argument, which every process of the machine may read.

use std::io::IsTerminal as _;
use std::path::{Path, PathBuf};

use skillpkg::keys::LockedKey;
use skillpkg::settings::PassphraseSource;
use skillpkg::{Error, Kind};
use skillpkg_schema::diagnostic::escape;
use skillpkg_schema::signature::{
    MAX_PASSPHRASE_BYTES, Passphrase, PassphraseError, PublicKey, SigningKey,
};

use crate::commands::input;
use crate::context::Context;

/// Most bytes that are read for a passphrase: the longest, and the end of its line.
const MAX_LINE_BYTES: u64 = MAX_PASSPHRASE_BYTES as u64 + 2;
/// How often a person is asked for the passphrase of one key.
const TRIES: usize = 3;
/// What gives a passphrase where nobody can be asked.
const GIVEN: &str = "`SKILLPKG_KEY_PASSPHRASE_FILE=FILE`, or the text in `SKILLPKG_KEY_PASSPHRASE`, \
     gives it";

/// Where the passphrase that a key gets comes from, where nobody is asked for it.
#[derive(Debug)]
pub(crate) enum NewPassphrase<'a> {
    /// The one line of a file.
    File(&'a Path),
    /// The one line on stdin.
    Stdin,
}

impl<'a> NewPassphrase<'a> {
    /// What two options say, of which at most one is given.
    pub(crate) fn of(file: Option<&'a PathBuf>, stdin: bool) -> Option<Self> {
        file.map(|file| Self::File(file)).or(stdin.then_some(Self::Stdin))
    }

    /// Reads it.
    pub(crate) fn read(&self) -> Result<Passphrase, Error> {
        match self {
            Self::File(file) => from_file(file),
            Self::Stdin if std::io::stdin().is_terminal() => {
                let message = "stdin is a terminal, which would show the passphrase";
                Err(Error::new(Kind::Usage, "passphrase_missing", message)
                    .with_hint("without that option it is asked for, and not shown"))
            }
            Self::Stdin => {
                let text = input::read_stdin("the passphrase", MAX_LINE_BYTES)?;
                Passphrase::from_line(text).map_err(|error| invalid(error).in_file("stdin"))
            }
        }
    }
}

/// The passphrase that the environment gives.
pub(crate) fn given(context: &Context) -> Result<Option<Passphrase>, Error> {
    match &context.settings.key_passphrase {
        None => Ok(None),
        Some(PassphraseSource::File(file)) => from_file(file).map(Some).map_err(|error| {
            let message = format!("`SKILLPKG_KEY_PASSPHRASE_FILE` names it: {}", error.message);
            Error { message, ..error }
        }),
        Some(PassphraseSource::Text(text)) => {
            let passphrase = Passphrase::new(text.as_str().to_owned());
            passphrase.map(Some).map_err(|error| invalid(error).in_file("SKILLPKG_KEY_PASSPHRASE"))
        }
    }
}

fn from_file(file: &Path) -> Result<Passphrase, Error> {
    let text = input::read_file(file, MAX_LINE_BYTES)?;
    Passphrase::from_line(text).map_err(|error| invalid(error).in_file(file.to_string_lossy()))
}

fn invalid(error: PassphraseError) -> Error {
    let error_of = Error::new(Kind::Usage, "passphrase_invalid", error.to_string());
    match error {
        PassphraseError::Empty => error_of,
        PassphraseError::TooLong(_) | PassphraseError::NotOneLine => {
            error_of.with_hint("a passphrase is one line of text")
        }
    }
}

fn missing(message: String, hint: &str) -> Error {
    Error::new(Kind::Usage, "passphrase_missing", message).with_hint(hint)
}

/// Opens a key with the passphrase that the environment gives, else with one that a person is asked
/// for.
pub(crate) fn open(context: &Context, key: &LockedKey) -> Result<SigningKey, Error> {
    if let Some(passphrase) = given(context)? {
        return key.open(&passphrase).map_err(|error| match error.code.as_str() {
            "passphrase_wrong" => error.with_hint("it is that of the environment"),
            _ => error,
        });
    }
    let shown = escape(&key.path().to_string_lossy());
    if !context.output.can_ask() {
        let message =
            format!("the key in `{shown}` has a passphrase, and nobody can be asked for it here");
        return Err(missing(message, GIVEN));
    }
    let mut tries = TRIES;
    loop {
        tries -= 1;
        let typed = context.output.ask_hidden(&format!("Passphrase of `{shown}`:"))?;
        match key.open(&Passphrase::new(typed).map_err(invalid)?) {
            Err(error) if error.code == "passphrase_wrong" && tries > 0 => {
                context.output.show(&error.message);
            }
            answer => return answer,
        }
    }
}

/// The passphrase that a key gets, asked for twice.
///
/// `otherwise` is what gives it where nobody can be asked.
pub(crate) fn ask_new(context: &Context, otherwise: &str) -> Result<Passphrase, Error> {
    if !context.output.can_ask() {
        let message = "nobody can be asked for the new passphrase here".to_owned();
        return Err(missing(message, otherwise));
    }
    let ask = |question| {
        let typed = context.output.ask_hidden(question)?;
        Passphrase::new(typed).map_err(invalid)
    };
    let passphrase = ask("New passphrase:")?;
    if !ask("The same again:")?.is_same(&passphrase) {
        let message = "the two passphrases are not the same; nothing was written";
        return Err(Error::new(Kind::Usage, "passphrase_differs", message));
    }
    Ok(passphrase)
}

/// The public key in a file, for which a locked one is opened only where it must be.
pub(crate) fn public_key(context: &Context, path: &Path) -> Result<PublicKey, Error> {
    match skillpkg::keys::public_key(path) {
        Err(error) if error.code == "key_locked" => match skillpkg::keys::StoredKey::read(path)? {
            skillpkg::keys::StoredKey::Open(key) => Ok(key.public()),
            skillpkg::keys::StoredKey::Locked(key) => Ok(open(context, &key)?.public()),
        },
        answer => answer,
    }
}
