//! How far machines have come that a bundle is for.

use std::collections::{BTreeMap, BTreeSet};
use std::path::Path;

use serde::Deserialize;
use skillpkg_schema::diagnostic::escape;

use super::carried::{Carried, is_bundle};
use super::contents::unverified;
use crate::project::io_error;
use crate::{Error, Kind, regular_file};

/// Most bytes of a file that holds a checkpoint.
const MAX_BYTES: u64 = 1024 * 1024;

/// The sizes of logs, by origin, that a file tells: an earlier bundle, a checkpoint, or the
/// `log.json` of a machine. Nothing of it is believed: it says only which proofs are taken along.
pub(super) fn sizes(path: &Path) -> Result<BTreeMap<String, BTreeSet<u64>>, Error> {
    #[derive(Deserialize)]
    struct OnlyCheckpoint {
        checkpoint: String,
    }
    let mut notes = Vec::new();
    if is_bundle(path) {
        let carried = Carried::open(path)?;
        let logs = carried.registries().flat_map(|(_, registry)| &registry.logs);
        notes.extend(logs.map(|log| log.view.checkpoint.clone()));
    } else {
        let failed = |error: std::io::Error| io_error(path, &error);
        let file = regular_file::open(path).map_err(failed)?;
        let bytes = regular_file::read(file, MAX_BYTES).map_err(failed)?.unwrap_or_default();
        notes.push(match serde_json::from_slice(&bytes) {
            Ok(OnlyCheckpoint { checkpoint }) => checkpoint,
            Err(_) => String::from_utf8_lossy(&bytes).into_owned(),
        });
    }
    let mut sizes: BTreeMap<String, BTreeSet<u64>> = BTreeMap::new();
    for note in notes {
        let checkpoint = unverified(&note).ok_or_else(|| {
            let shown = escape(&path.to_string_lossy());
            let message = format!(
                "`{shown}` is neither a bundle nor a checkpoint, nor the `log.json` of a machine"
            );
            Error::new(Kind::Usage, "checkpoint_unreadable", message)
        })?;
        sizes.entry(checkpoint.origin).or_default().insert(checkpoint.size);
    }
    Ok(sizes)
}
