//! Removes objects that no row names: what a publish that was cut short has left.

use std::fs;
use std::path::Path as FilePath;
use std::time::{Duration, SystemTime};

use futures_util::{StreamExt as _, TryStreamExt as _};
use jiff::Timestamp;
use object_store::ObjectMeta;
use object_store::path::Path;
use serde::Serialize;
use skillpkg_schema::Sha256Digest;
use skillpkg_schema::log::{Tile, TilePath};

use super::UpkeepError;
use crate::blobs::{Blobs, BlobsError, Kind, STAGING};
use crate::data::Data;
use crate::database::Write;
use crate::log::{self, PREFIX, TileStore};

/// The least age of what the put of a tile has left.
const TILE_AGE: Duration = Duration::from_hours(1);
/// Objects deleted at once.
const DELETES: usize = 8;
/// Objects looked at under one hold of the write lock.
const AT_ONCE: usize = 50;

/// What was removed, or would be.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Serialize)]
pub struct Removal {
    /// Objects removed.
    pub removed: u64,
    /// Their bytes.
    pub bytes: u64,
    /// Objects that no row names, and that are too young to be removed.
    pub young: u64,
}

/// Removes the objects that no row names, and the partial tiles that full ones have replaced, where
/// they are at least as old as `age`; with `dry_run` removes none, and answers what it would.
///
/// Safe while a registry serves: objects are removed under the write lock alone, and a publish makes
/// sure under the same lock that what it names is still there. The age spares the publishes that
/// are under way the trouble of starting over.
pub async fn remove_orphans(
    data: &Data,
    age: Duration,
    dry_run: bool,
) -> Result<Removal, UpkeepError> {
    // What the rows of another database name, or of an older copy, is not what the objects are for.
    if !log::belong_together(data).await? {
        return Err(UpkeepError::OthersObjects);
    }
    let mut removal = Removal::default();
    for prefix in Kind::ALL.map(Kind::prefix).into_iter().chain([STAGING]) {
        let mut objects = data.blobs.list(&Path::from(prefix)).try_chunks(AT_ONCE);
        while let Some(objects) = objects.try_next().await.map_err(|error| error.1)? {
            remove_batch(data, &objects, age, dry_run, &mut removal).await?;
        }
    }
    remove_partial_tiles(data, age, dry_run, &mut removal).await?;
    if let Some(directory) = data.objects().filter(|_| !dry_run) {
        let partial = tokio::task::spawn_blocking(move || {
            let log = directory.join(PREFIX);
            let of_blobs = remove_partial(&directory, age, Some(&log))?;
            // A tile that is being put has everybody waiting for it.
            let of_log =
                if log.is_dir() { remove_partial(&log, age.max(TILE_AGE), None)? } else { (0, 0) };
            Ok::<_, std::io::Error>((of_blobs.0 + of_log.0, of_blobs.1 + of_log.1))
        });
        let (removed, bytes) = partial.await.map_err(std::io::Error::other)??;
        removal.removed += removed;
        removal.bytes += bytes;
    }
    Ok(removal)
}

async fn remove_batch(
    data: &Data,
    objects: &[ObjectMeta],
    age: Duration,
    dry_run: bool,
    removal: &mut Removal,
) -> Result<(), UpkeepError> {
    let mut write = data.database.write().await?;
    let mut unnamed = Vec::new();
    for object in objects {
        if is_named(&mut write, object).await? {
            continue;
        }
        if is_old(object, age) {
            unnamed.push(object);
        } else {
            removal.young += 1;
        }
    }
    if !dry_run {
        delete(&data.blobs, unnamed.iter().map(|object| object.location.clone()).collect()).await?;
    }
    for object in unnamed {
        removal.removed += 1;
        removal.bytes += object.size;
    }
    write.commit().await?;
    Ok(())
}

/// Deletes objects, a few at once: whoever calls this has everybody waiting for the write lock.
async fn delete(blobs: &Blobs, keys: Vec<Path>) -> Result<(), BlobsError> {
    futures_util::stream::iter(keys)
        .map(|key| {
            let blobs = blobs.clone();
            async move {
                if key.parts().next().is_some_and(|part| part.as_ref() == STAGING) {
                    return blobs.abandon(&key).await;
                }
                blobs.delete(&key).await
            }
        })
        .buffer_unordered(DELETES)
        .try_collect()
        .await
}

/// Removes the partial tiles of the log in the place of which the full one is there.
async fn remove_partial_tiles(
    data: &Data,
    age: Duration,
    dry_run: bool,
    removal: &mut Removal,
) -> Result<(), UpkeepError> {
    let mut objects = data.blobs.list(&Path::from(PREFIX));
    while let Some(object) = objects.try_next().await? {
        let path = object.location.as_ref().strip_prefix(PREFIX).and_then(|path| {
            TilePath::parse(path.strip_prefix('/')?).filter(|path| !path.tile().is_full())
        });
        let full = path.map(|path| {
            let tile = Tile { width: 256, ..*path.tile() };
            TileStore::key(&match path {
                TilePath::Hashes(_) => TilePath::Hashes(tile),
                TilePath::Entries(_) => TilePath::Entries(tile),
            })
        });
        let Some(full) = full else { continue };
        if data.blobs.meta(&full).await?.is_none() {
            continue;
        }
        if !is_old(&object, age) {
            removal.young += 1;
            continue;
        }
        if !dry_run {
            data.blobs.delete(&object.location).await?;
        }
        removal.removed += 1;
        removal.bytes += object.size;
    }
    Ok(())
}

/// Whether a row names the object; what is no object of any digest is named by none.
async fn is_named(write: &mut Write, object: &ObjectMeta) -> Result<bool, sqlx::Error> {
    match Kind::of_key(&object.location) {
        Some((kind, digest)) => is_named_by(write, kind, &digest).await,
        None => Ok(false),
    }
}

/// Whether a row names it: one of what was published here, or of what is mirrored.
async fn is_named_by(
    write: &mut Write,
    kind: Kind,
    digest: &Sha256Digest,
) -> Result<bool, sqlx::Error> {
    let query = match kind {
        Kind::Archive => {
            "SELECT 1 FROM versions WHERE archive = $1 UNION ALL
             SELECT 1 FROM mirrored_versions WHERE archive = $1 AND takes IS NOT NULL"
        }
        Kind::Manifest => {
            "SELECT 1 FROM versions WHERE address = $1 UNION ALL
             SELECT 1 FROM mirrored_versions WHERE address = $1 AND takes IS NOT NULL"
        }
        Kind::File => {
            "SELECT 1 FROM blobs WHERE sha256 = $1 UNION ALL
             SELECT 1 FROM mirrored_blobs WHERE sha256 = $1"
        }
        Kind::Rendering => "SELECT 1 FROM renderings WHERE digest = $1",
    };
    let named: Option<i64> =
        sqlx::query_scalar(query).bind(digest.to_string()).fetch_optional(&mut **write).await?;
    Ok(named.is_some())
}

/// Removes these objects, those of them that no row names; whoever names one again makes sure that it
/// is there, under the lock that is held here.
pub(crate) async fn remove_unnamed(
    data: &Data,
    objects: &[(Kind, Sha256Digest)],
) -> Result<(), UpkeepError> {
    for objects in objects.chunks(AT_ONCE) {
        let mut write = data.database.write().await?;
        let mut unnamed = Vec::new();
        for (kind, digest) in objects {
            if !is_named_by(&mut write, *kind, digest).await? {
                unnamed.push(kind.key(digest));
            }
        }
        delete(&data.blobs, unnamed).await?;
        write.commit().await?;
    }
    Ok(())
}

fn is_old(object: &ObjectMeta, age: Duration) -> bool {
    let since = Timestamp::now().as_second() - object.last_modified.timestamp();
    u64::try_from(since).is_ok_and(|since| since >= age.as_secs())
}

/// Removes what a put to local files has left that was killed midway: `DIGEST#NUMBER`, which the
/// object store itself does not show.
fn remove_partial(
    directory: &FilePath,
    age: Duration,
    but: Option<&FilePath>,
) -> std::io::Result<(u64, u64)> {
    let (mut removed, mut bytes) = (0, 0);
    for entry in fs::read_dir(directory)? {
        let entry = entry?;
        let kind = entry.file_type()?;
        if but.is_some_and(|but| but == entry.path()) {
            continue;
        }
        if kind.is_dir() {
            let (beneath, beneath_bytes) = remove_partial(&entry.path(), age, but)?;
            removed += beneath;
            bytes += beneath_bytes;
        } else if kind.is_file() && is_partial(&entry.file_name().to_string_lossy()) {
            let Ok(metadata) = entry.metadata() else { continue };
            let since = SystemTime::now().duration_since(metadata.modified()?).unwrap_or_default();
            if since >= age && fs::remove_file(entry.path()).is_ok() {
                removed += 1;
                bytes += metadata.len();
            }
        }
    }
    Ok((removed, bytes))
}

fn is_partial(name: &str) -> bool {
    let is_number = |text: &str| !text.is_empty() && text.bytes().all(|byte| byte.is_ascii_digit());
    name.split_once('#').is_some_and(|(_, number)| is_number(number))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn only_what_the_object_store_hides_is_partial() {
        assert!(is_partial("abcd#1") && is_partial("abcd#12"));
        assert!(!is_partial("abcd") && !is_partial("abcd#") && !is_partial("abcd#x"));
    }
}
