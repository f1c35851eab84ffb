//! What was refused, kept so that it can be shown to others.

use std::fs;
use std::io::{self, Write as _};
use std::path::{Path, PathBuf};

use serde_json::json;
use skillpkg_schema::log::Hash;
use tempfile::NamedTempFile;

use super::error::Refusal;
use super::store::TrustStore;
use super::time;

/// Most refusals that are kept of one log; later ones are told and not kept.
const MAX_KEPT: usize = 64;
/// Most bytes of an answer that are kept.
const MAX_ANSWER: usize = 1024 * 1024;

/// What was seen with a refusal.
#[derive(Debug, Clone, Default)]
pub(super) struct Seen {
    /// The checkpoint that was known, a signed note.
    pub(super) known: Option<String>,
    /// The one that came.
    pub(super) received: Option<String>,
    /// The proof that came, base64 of hashes.
    pub(super) proof: Option<String>,
    /// The answer that it came in; cut where it is long.
    pub(super) answer: Vec<u8>,
}

impl Seen {
    /// The refusal as a failure, with what was seen beside the log's state. One that was seen
    /// before is kept once. That it cannot be kept changes nothing of the refusal.
    pub(super) fn refuse(
        &self,
        store: &TrustStore,
        origin: &str,
        refusal: &Refusal,
    ) -> crate::Error {
        refusal.told(self.keep_for(store, origin, refusal).as_deref())
    }

    /// Keeps what was seen, where it can be; answers with where.
    pub(super) fn keep_for(
        &self,
        store: &TrustStore,
        origin: &str,
        refusal: &Refusal,
    ) -> Option<PathBuf> {
        self.keep(&store.directory_of(origin).join("evidence"), origin, refusal).ok().flatten()
    }

    fn keep(
        &self,
        directory: &Path,
        origin: &str,
        refusal: &Refusal,
    ) -> io::Result<Option<PathBuf>> {
        let answer = self.answer.get(..MAX_ANSWER).unwrap_or(&self.answer);
        let code = refusal.code();
        // What differs each time, such as how old a checkpoint is, makes no other evidence.
        let received = self.received.as_deref().unwrap_or_default();
        let mut digest = Hash::of(&[received.as_bytes(), code.as_bytes()].concat()).to_string();
        digest.truncate(16);
        let path = directory.join(format!("{code}-{digest}"));
        if path.is_dir() {
            return Ok(Some(path));
        }
        let known = fs::read_dir(directory).map_or(0, |entries| entries.take(MAX_KEPT).count());
        if known >= MAX_KEPT {
            return Ok(None);
        }
        fs::create_dir_all(&path)?;
        let about = json!({
            "version": 1,
            "origin": origin,
            "code": code,
            "message": refusal.to_string(),
            "at": time::shown(time::now()),
            "answer_bytes": self.answer.len(),
        });
        let texts = [
            ("known.checkpoint", self.known.as_deref()),
            ("received.checkpoint", self.received.as_deref()),
            ("proof", self.proof.as_deref()),
        ];
        for (name, text) in texts {
            if let Some(text) = text {
                write(&path, name, text.as_bytes())?;
            }
        }
        if !answer.is_empty() {
            write(&path, "answer.json", answer)?;
        }
        write(&path, "about.json", format!("{about:#}\n").as_bytes())?;
        Ok(Some(path))
    }
}

fn write(directory: &Path, name: &str, bytes: &[u8]) -> io::Result<()> {
    let mut file = NamedTempFile::with_prefix_in(".new-", directory)?;
    file.write_all(bytes)?;
    file.persist(directory.join(name)).map_err(|error| error.error)?;
    Ok(())
}
