//! Whether the disk of the data directory takes what is written to it.

use std::fs::{self, File};
use std::io::{self, Write as _};
use std::path::{Path, PathBuf};
use std::time::{Duration, Instant};

use tokio::sync::Mutex;

use crate::problem::{Answer, Refusal};

/// How long an answer is believed: a probe is a write to the disk, and anybody may ask.
const FRESH: Duration = Duration::from_secs(3);
/// What is written, in bytes: what a small publish takes, its rows and its tiles.
const WRITTEN: usize = 256 * 1024;
/// The file that is written, among what is being received.
const FILE: &str = "room";

/// What is known of the room that is left.
#[derive(Debug, Default)]
pub struct Room(Mutex<Option<Known>>);

#[derive(Debug, Clone, Copy)]
struct Known {
    since: Instant,
    trouble: Option<io::ErrorKind>,
}

impl Room {
    /// Refuses where a small file cannot be written, synced and removed in `directory`; one that asks
    /// tries, and the others wait for what it finds.
    pub async fn is_left(&self, directory: PathBuf) -> Answer<()> {
        let mut known = self.0.lock().await;
        let fresh = known.filter(|known| known.since.elapsed() < FRESH);
        let trouble = if let Some(fresh) = fresh {
            fresh.trouble
        } else {
            let written = tokio::task::spawn_blocking(move || write(&directory)).await;
            let written = written.map_err(|error| Refusal::internal(&error))?;
            let trouble = written.err().map(|error| error.kind());
            *known = Some(Known { since: Instant::now(), trouble });
            trouble
        };
        trouble.map_or(Ok(()), |kind| Err(io::Error::from(kind).into()))
    }
}

/// Cut short, it leaves a file that goes when the registry starts.
fn write(directory: &Path) -> io::Result<()> {
    let path = directory.join(FILE);
    let written = File::create(&path).and_then(|mut file| {
        file.write_all(&vec![0x5a; WRITTEN])?;
        file.sync_data()
    });
    let removed = fs::remove_file(&path);
    written.and(removed)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[tokio::test]
    async fn what_was_found_is_believed_for_a_moment_and_leaves_nothing() {
        let directory = tempfile::tempdir().unwrap();
        let (there, absent) = (directory.path().to_owned(), directory.path().join("absent"));
        let room = Room::default();
        room.is_left(there.clone()).await.unwrap();
        assert_eq!(fs::read_dir(&there).unwrap().count(), 0);
        room.is_left(absent.clone()).await.unwrap();
        let room = Room::default();
        let refused = room.is_left(absent).await.unwrap_err().problem();
        assert_eq!(refused.status, 503);
        assert!(room.is_left(there).await.is_err());
    }
}
