//! `skillpkg gc`.

use serde::Serialize;
use skillpkg::state::State;
use skillpkg::{Error, trust};
use skillpkg_store::content::{Collected, Store};

use crate::context::Context;
use crate::working::Working;

/// Remove what no project on this machine uses from the store.
#[derive(Debug, clap::Args)]
#[command(after_help = "Example: skillpkg gc")]
pub(crate) struct Arguments {}

#[derive(Debug, Serialize)]
struct Shape {
    snapshots: u64,
    blobs: u64,
    bytes: u64,
    /// Proofs of snapshots that were removed.
    proofs: u64,
}

/// Runs it; answers with the exit code.
#[expect(clippy::unused_async, reason = "every command is awaited")]
pub(crate) async fn run(_: Arguments, context: &Context) -> Result<u8, Error> {
    let working = Working::on(context.output, "Looking for what nothing uses");
    let store = Store::open(&context.settings.home)?;
    // First installs are kept out, then what they have brought is found out.
    let collection = store.begin_collection()?;
    let state = State::new(&context.settings.home);
    // A project that was moved or copied is known here by its old place alone.
    state.register(&context.settings.project)?;
    let live = state.live()?;
    for warning in &live.warnings {
        context.output.warn(warning);
    }
    let proofs = trust::collect_proofs(&context.settings.home, &live.snapshots)?;
    let collected = collection.finish(&live.snapshots)?;
    drop(working);
    let Collected { snapshots, blobs, bytes } = collected;
    context.output.json(&Shape { snapshots, blobs, bytes, proofs })?;
    context.output.text(&sentence(&collected))?;
    Ok(0)
}

fn sentence(collected: &Collected) -> String {
    let Collected { snapshots, blobs, bytes } = *collected;
    format!(
        "removed {} and {}: {}",
        counted(snapshots, "snapshot"),
        counted(blobs, "file"),
        counted(bytes, "byte")
    )
}

fn counted(number: u64, what: &str) -> String {
    let plural = if number == 1 { "" } else { "s" };
    format!("{number} {what}{plural}")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn one_of_a_kind_is_told_in_the_singular_and_any_other_number_in_the_plural() {
        for (snapshots, blobs, bytes, told) in [
            (0, 0, 0, "removed 0 snapshots and 0 files: 0 bytes"),
            (1, 1, 1, "removed 1 snapshot and 1 file: 1 byte"),
            (1, 2, 512, "removed 1 snapshot and 2 files: 512 bytes"),
            (2, 1, 1, "removed 2 snapshots and 1 file: 1 byte"),
        ] {
            assert_eq!(sentence(&Collected { snapshots, blobs, bytes }), told);
        }
    }
}
