//! Makes a bundle: gathers, verifies, writes; the whole file or none.

use std::io;
use std::path::PathBuf;
use std::sync::Arc;

use skillpkg_schema::QualifiedName;
use skillpkg_schema::log::Hash;
use tempfile::NamedTempFile;

use super::carried::Carried;
use super::contents::Contents;
use super::gather::gather;
use super::since;
use super::target::{check_target, persist, unwritable};
use super::verify;
use super::wanted::{by_registry, wanted};
use super::write::{index_of, write};
use crate::install::Attendant;
use crate::policy::Policy;
use crate::registry::Registry;
use crate::{Error, Settings};

/// What a bundle is asked for.
#[derive(Debug, Clone, Default)]
pub struct Request {
    /// Skills, `[scope/]name[@requirement]`; all that the project's lockfile has where empty.
    pub references: Vec<String>,
    /// An earlier bundle, or a checkpoint, of the machines that it is for.
    pub since: Option<PathBuf>,
    /// Where it is written.
    pub target: PathBuf,
    /// Whether a file that is there is replaced.
    pub replace: bool,
}

/// A bundle that was made.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Made {
    /// What it holds.
    pub contents: Contents,
    /// SHA-256 of its bytes.
    pub sha256: Hash,
    /// Its length in bytes.
    pub size: u64,
    /// What the lockfile names and is not in it, since it is not to be had any more.
    pub left_out: Vec<QualifiedName>,
}

/// Writes a bundle of what is asked for: archives as their registries serve them, documents,
/// records with their proofs, and the newest checkpoint of each log.
///
/// Everything is verified before the file is at its place, and once more as its reader will. Readable
/// by its owner alone: of a private skill it tells all. Whoever is killed leaves no file, or the
/// whole one; it is synced before it is renamed into place.
pub async fn make(
    settings: &Settings,
    request: &Request,
    attendant: &mut dyn Attendant,
) -> Result<Made, Error> {
    check_target(request)?;
    let since = request.since.as_deref().map(since::sizes).transpose()?.unwrap_or_default();
    let wanted = wanted(settings, request, attendant)?;
    let policy = Policy::of_project(settings, &settings.project)?;
    // What somebody named is to be in it.
    let spares_lost = request.references.is_empty();
    let mut all = Vec::new();
    for (choice, wanted) in by_registry(settings, wanted)? {
        let registry = Registry::chosen(settings, &choice)?;
        let gathered =
            gather(settings, &policy, &registry, &wanted, spares_lost, &since, attendant);
        all.push(gathered.await?);
    }
    let index = index_of(&all)?;
    let written = write(settings, &all, &index, &request.target, attendant).await?;
    let made = check_written(settings, &written).await?;
    persist(written, request)?;
    let left_out = all.into_iter().flat_map(|gathered| gathered.lost).collect();
    Ok(Made { left_out, ..made })
}

/// Reads what was written as whoever gets it will, with the logs as they are known here.
async fn check_written(settings: &Settings, written: &NamedTempFile) -> Result<Made, Error> {
    let carried: Arc<Carried> = Carried::open(written.path())?;
    let verified = verify::verify(settings, &carried).await?;
    if let Some(fault) = verified.faults.into_iter().next() {
        return Err(fault.error);
    }
    let contents = Contents::of(&carried)?;
    let (sha256, size) = digest(written).map_err(|error| unwritable(written.path(), &error))?;
    Ok(Made { contents, sha256, size, left_out: Vec::new() })
}

fn digest(written: &NamedTempFile) -> io::Result<(Hash, u64)> {
    let mut hasher = skillpkg_schema::address::Hasher::new();
    let mut file = written.reopen()?;
    let mut piece = vec![0; 64 * 1024];
    loop {
        match io::Read::read(&mut file, &mut piece) {
            Ok(0) => break,
            Ok(read) => hasher.update(piece.get(..read).unwrap_or_default()),
            Err(error) if error.kind() == io::ErrorKind::Interrupted => {}
            Err(error) => return Err(error),
        }
    }
    let digests = hasher.finish();
    Ok((Hash::from_bytes(*digests.sha256.as_bytes()), digests.size))
}
