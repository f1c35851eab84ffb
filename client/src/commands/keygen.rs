//! `skillpkg keygen`.

use std::path::PathBuf;

use serde_json::json;
use skillpkg::{Error, keys};
use skillpkg_schema::diagnostic::escape;
use skillpkg_schema::signature::Passphrase;

use crate::commands::passphrase::{self, NewPassphrase};
use crate::context::Context;

/// Make a signing key.
#[derive(Debug, clap::Args)]
#[command(after_help = "Example: skillpkg keygen --passphrase

A passphrase is asked for twice, or taken from SKILLPKG_KEY_PASSPHRASE or from the file that
SKILLPKG_KEY_PASSPHRASE_FILE names. It is never an argument.")]
pub(crate) struct Arguments {
    /// Where to write it; the default key of this home where absent
    #[arg(short, long, value_name = "FILE")]
    output: Option<PathBuf>,
    /// Lock it with a passphrase
    #[arg(long)]
    passphrase: bool,
    /// Lock it with the passphrase in this file
    #[arg(long, value_name = "FILE", conflicts_with = "passphrase_stdin")]
    passphrase_file: Option<PathBuf>,
    /// Lock it with the passphrase on stdin
    #[arg(long)]
    passphrase_stdin: bool,
}

/// Runs it; answers with the exit code.
pub(crate) fn run(arguments: &Arguments, context: &Context) -> Result<u8, Error> {
    let default = || keys::default_path(&context.settings.home);
    let path = arguments.output.clone().unwrap_or_else(default);
    // Nobody is asked for what cannot be used.
    if path.symlink_metadata().is_ok() {
        return Err(keys::occupied(&path));
    }
    let passphrase = passphrase(arguments, context)?;
    let public = keys::generate(&path, passphrase.as_ref())?;
    let shown = path.to_string_lossy();
    let is_default = path == keys::signing_path(&context.settings);
    context.output.talk(&format!(
        "Made a signing key in `{}`. Keep a copy of it{}: who loses it signs with another, which \
         everybody is told.",
        escape(&shown),
        if passphrase.is_some() { ", and its passphrase" } else { "" },
    ));
    if passphrase.is_none() && context.settings.key_passphrase.is_some() {
        context.output.warn(
            "the environment gives a passphrase, and the key has none: `--passphrase` takes it",
        );
    }
    if !is_default {
        context.output.talk(&format!(
            "`skillpkg keys add {0}` registers it with your account, and `SKILLPKG_KEY={0}` signs \
             with it.",
            escape(&shown)
        ));
    }
    context.output.text(&public.id().to_string())?;
    context.output.json(&json!({
        "id": public.id(),
        "path": shown,
        "public_key": public.to_pem(),
        "encrypted": passphrase.is_some(),
    }))?;
    Ok(0)
}

/// The passphrase that the key gets, where it gets one.
fn passphrase(arguments: &Arguments, context: &Context) -> Result<Option<Passphrase>, Error> {
    let Arguments { passphrase_file, passphrase_stdin, .. } = arguments;
    if let Some(new) = NewPassphrase::of(passphrase_file.as_ref(), *passphrase_stdin) {
        return new.read().map(Some);
    }
    if !arguments.passphrase {
        return Ok(None);
    }
    let given = passphrase::given(context)?;
    let otherwise = "`--passphrase-file FILE`, `--passphrase-stdin`, or the text in \
                     `SKILLPKG_KEY_PASSPHRASE` gives it";
    given.map_or_else(|| passphrase::ask_new(context, otherwise), Ok).map(Some)
}
