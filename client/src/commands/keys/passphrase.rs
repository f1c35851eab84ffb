//! `skillpkg keys passphrase`.

use std::path::{Path, PathBuf};

use serde_json::json;
use skillpkg::keys::{self, StoredKey};
use skillpkg::{Error, Kind};
use skillpkg_schema::diagnostic::escape;

use crate::commands::passphrase::{NewPassphrase, ask_new};
use crate::commands::signing::opened;
use crate::context::Context;

/// What it takes.
#[derive(Debug, clap::Args)]
pub(crate) struct Arguments {
    /// A PEM file of a private key; the one that this machine signs with where absent
    file: Option<PathBuf>,
    /// Leave it without a passphrase
    #[arg(long, conflicts_with_all = ["new_passphrase_file", "new_passphrase_stdin"])]
    remove: bool,
    /// Take the new passphrase from this file
    #[arg(long, value_name = "FILE", conflicts_with = "new_passphrase_stdin")]
    new_passphrase_file: Option<PathBuf>,
    /// Take the new passphrase from stdin
    #[arg(long)]
    new_passphrase_stdin: bool,
}

pub(super) fn run(context: &Context, arguments: &Arguments) -> Result<u8, Error> {
    let Arguments { file, remove, new_passphrase_file, new_passphrase_stdin } = arguments;
    let (path, stored) = match file {
        Some(file) => (file.clone(), StoredKey::read(file)?),
        None => (keys::signing_path(&context.settings), keys::signing_key(&context.settings)?),
    };
    let shown = escape(&path.to_string_lossy());
    if *remove && let StoredKey::Open(key) = &stored {
        context.output.talk(&format!("The key in `{shown}` has no passphrase: nothing changed."));
        return told(context, &path, &key.public().id().to_string(), false);
    }
    let is_locked = matches!(stored, StoredKey::Locked(_));
    let key = opened(context, stored)?;
    let new = NewPassphrase::of(new_passphrase_file.as_ref(), *new_passphrase_stdin);
    let passphrase = match new {
        _ if *remove => None,
        Some(new) => Some(new.read()?),
        None => Some(ask_new(
            context,
            "`--new-passphrase-file FILE` or `--new-passphrase-stdin` gives it",
        )?),
    };
    let behind = behind(&path)?;
    keys::set_passphrase(&path, &key, passphrase.as_ref())?;
    let done = match (&passphrase, is_locked) {
        (None, _) => "has no passphrase any more",
        (Some(_), true) => "has another passphrase",
        (Some(_), false) => "has a passphrase",
    };
    context.output.talk(&format!("The key in `{shown}` {done}."));
    if let Some(behind) = behind {
        context.output.warn(&format!(
            "`{shown}` was a link and is the key's file now; `{}`, which it led to, still holds \
             the key as it was",
            escape(&behind.to_string_lossy())
        ));
    }
    told(context, &path, &key.public().id().to_string(), passphrase.is_some())
}

/// The file that a link leads to; [`None`] where the path is none.
fn behind(path: &Path) -> Result<Option<PathBuf>, Error> {
    let failed = |error: std::io::Error| {
        Error::new(Kind::Failed, "key_unreadable", error.to_string())
            .in_file(path.to_string_lossy())
    };
    if !path.symlink_metadata().map_err(failed)?.is_symlink() {
        return Ok(None);
    }
    path.canonicalize().map(Some).map_err(failed)
}

fn told(context: &Context, path: &Path, id: &str, is_encrypted: bool) -> Result<u8, Error> {
    context.output.text(id)?;
    let path = path.to_string_lossy();
    context.output.json(&json!({ "id": id, "path": path, "encrypted": is_encrypted }))?;
    Ok(0)
}
