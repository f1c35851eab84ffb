//! Looks for what `skillpkg` activates, updates and removes while the server runs.

use std::path::PathBuf;
use std::sync::Arc;
use std::time::{Duration, Instant, SystemTime};

use super::catalogue::Catalogue;
use super::server::Shared;

/// How often the files that decide are looked at. They are replaced whole, so their metadata tells.
const PAUSE: Duration = Duration::from_millis(500);
/// After how long the skills are looked at in any case: an age that a policy asks for is reached
/// without any file changing.
const LONGEST: Duration = Duration::from_mins(1);

/// What tells that a file was replaced.
#[derive(Debug, Clone, PartialEq, Eq)]
struct Stamp {
    modified: Option<SystemTime>,
    length: u64,
    number: u64,
}

/// Tells each change of what is active, until the server ends.
pub(super) async fn watch(shared: Arc<Shared>, mut seen: Catalogue) {
    let files: Arc<[PathBuf]> = shared.host.deciding_files().into();
    // The first look is made in any case: something may have changed since `seen`.
    let mut stamps = Vec::new();
    let mut looked = Instant::now();
    loop {
        tokio::select! {
            () = shared.ending.cancelled() => return,
            () = tokio::time::sleep(PAUSE) => {}
        }
        let now = {
            let files = Arc::clone(&files);
            tokio::task::spawn_blocking(move || stamps_of(&files)).await.unwrap_or_default()
        };
        if now == stamps && looked.elapsed() < LONGEST {
            continue;
        }
        (stamps, looked) = (now, Instant::now());
        let look = {
            let shared = Arc::clone(&shared);
            tokio::task::spawn_blocking(move || shared.look()).await
        };
        // Whoever asks for a list is told the reason, and has nothing in the meantime.
        let found = match look {
            Ok(Ok(found)) => found,
            Ok(Err(error)) => {
                shared.tell_once(&format!("nothing is served now: {error}"));
                Catalogue::default()
            }
            Err(_) => continue,
        };
        let changes = found.changes(&seen);
        seen = found;
        if !changes.is_empty() {
            // Nobody may be listening.
            let _ = shared.changes.send(changes);
        }
    }
}

fn stamps_of(files: &[PathBuf]) -> Vec<Option<Stamp>> {
    files
        .iter()
        .map(|file| {
            let metadata = file.metadata().ok()?;
            #[cfg(unix)]
            let number = std::os::unix::fs::MetadataExt::ino(&metadata);
            #[cfg(not(unix))]
            let number = 0;
            Some(Stamp { modified: metadata.modified().ok(), length: metadata.len(), number })
        })
        .collect()
}
