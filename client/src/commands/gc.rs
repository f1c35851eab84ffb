//! `skillpkg gc`.

use serde::Serialize;
use skillpkg::Error;
use skillpkg::state::State;
use skillpkg_store::content::{Collected, Store};

use crate::context::Context;

/// Remove what no project on this machine uses from the store.
#[derive(Debug, clap::Args)]
#[command(after_help = "Example: skillpkg gc")]
pub(crate) struct Arguments {}

#[derive(Debug, Serialize)]
struct Shape {
    snapshots: u64,
    blobs: u64,
    bytes: u64,
}

/// Runs it; answers with the exit code.
#[expect(clippy::unused_async, reason = "every command is awaited")]
pub(crate) async fn run(_: Arguments, context: &Context) -> Result<u8, Error> {
    let store = Store::open(&context.settings.home)?;
    // First installs are kept out, then what they have brought is found out.
    let collection = store.begin_collection()?;
    let live = State::new(&context.settings.home).live()?;
    for warning in &live.warnings {
        context.output.warn(warning);
    }
    let Collected { snapshots, blobs, bytes } = collection.finish(&live.snapshots)?;
    context.output.json(&Shape { snapshots, blobs, bytes })?;
    context.output.text(&format!(
        "removed {} and {}: {}",
        counted(snapshots, "snapshot"),
        counted(blobs, "file"),
        counted(bytes, "byte")
    ))?;
    Ok(0)
}

fn counted(number: u64, what: &str) -> String {
    let plural = if number == 1 { "" } else { "s" };
    format!("{number} {what}{plural}")
}
