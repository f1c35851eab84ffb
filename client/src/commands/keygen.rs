//! `skillpkg keygen`.

use std::path::PathBuf;

use serde_json::json;
use skillpkg::{Error, keys};
use skillpkg_schema::diagnostic::escape;

use crate::context::Context;

/// Make a signing key.
#[derive(Debug, clap::Args)]
#[command(after_help = "Example: skillpkg keygen")]
pub(crate) struct Arguments {
    /// Where to write it; the default key of this home where absent
    #[arg(short, long, value_name = "FILE")]
    output: Option<PathBuf>,
}

/// Runs it; answers with the exit code.
pub(crate) fn run(arguments: Arguments, context: &Context) -> Result<u8, Error> {
    let path = arguments.output.unwrap_or_else(|| keys::default_path(&context.settings.home));
    let public = keys::generate(&path)?;
    let shown = path.to_string_lossy();
    let is_default = path == keys::signing_path(&context.settings);
    context.output.talk(&format!(
        "Made a signing key in `{}`. Keep a copy of it: who loses it signs with another, which \
         everybody is told.",
        escape(&shown)
    ));
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
    }))?;
    Ok(0)
}
