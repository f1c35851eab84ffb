//! Makes what was not made when its version was published: before the face was on, or elsewhere.

use std::fs::File;
use std::io::{self, Write as _};
use std::path::Path;

use futures_util::TryStreamExt as _;
use skillpkg_schema::address::Hasher;
use skillpkg_schema::limits::MAX_MANIFEST_BYTES;
use skillpkg_schema::manifest::FileEntry;
use skillpkg_schema::{ContentAddress, Manifest, Sha256Digest};

use super::{Face, Outcome, Rendered, make, record, recorded};
use crate::blobs::Kind;
use crate::data::Data;
use crate::problem::{Answer, Refusal};
use crate::server::to_the_end;
use crate::skills::publish::Staged;
use crate::state::Registry;

/// Makes and puts what a face serves of a snapshot whose manifest and files are held, unless that is
/// done by now, and records it.
///
/// Answered, it has survived a crash; cut short, nothing is recorded. It goes on where nobody waits
/// for it any more.
pub(crate) async fn make_late(
    registry: &Registry,
    address: &ContentAddress,
    face: Face,
) -> Answer<Rendered> {
    let (registry, address) = (registry.clone(), *address);
    to_the_end(async move {
        let _turn = registry.renderings.enter((address, face)).await;
        let readers = registry.data.database.readers();
        match recorded(readers, &address, face).await? {
            Some(Rendered::Container { held: false, .. }) | None => {}
            Some(rendered) => return Ok(rendered),
        }
        let _permit = registry.verification_permit().await?;
        let directory =
            tempfile::Builder::new().prefix("render-").tempdir_in(registry.data.temporary())?;
        let (manifest, staged) = stage(&registry.data, &address, directory.path()).await?;
        let into = directory.path().to_owned();
        let making = tokio::task::spawn_blocking(move || make(&staged, &manifest, face, &into));
        let made = making.await.map_err(|error| Refusal::internal(&error))??;
        let blobs = &registry.data.blobs;
        if let Outcome::Container { file, digests, .. } = &made.outcome {
            blobs.put_file(Kind::Rendering, &digests.sha256, file).await?;
        }

        let mut write = registry.data.database.write().await?;
        if !is_there(&mut write, &address).await? {
            return Err(Refusal::not_found());
        }
        // Under the write lock, under which alone objects are removed.
        if let Outcome::Container { digests, .. } = &made.outcome
            && !blobs.holds(Kind::Rendering, &digests.sha256).await?
        {
            return Err(Refusal::unavailable("unused blobs were being removed; ask again", 1));
        }
        record(&mut write, &address, &[made], true).await?;
        let rendered = recorded(&mut *write, &address, face).await?;
        write.commit().await?;
        tokio::task::spawn_blocking(move || drop(directory));
        rendered.ok_or_else(|| Refusal::internal(&"what was recorded is not there"))
    })
    .await
}

/// Whether some version is this snapshot.
async fn is_there(
    write: &mut sqlx::AnyConnection,
    address: &ContentAddress,
) -> Result<bool, sqlx::Error> {
    let row: Option<i64> = sqlx::query_scalar(
        "SELECT 1 FROM versions WHERE address = $1 UNION ALL
         SELECT 1 FROM mirrored_versions WHERE address = $1 AND takes IS NOT NULL",
    )
    .bind(address.hex())
    .fetch_optional(write)
    .await?;
    Ok(row.is_some())
}

/// The manifest at an address, and its files in a directory: each hashed as it is read.
async fn stage(
    data: &Data,
    address: &ContentAddress,
    directory: &Path,
) -> Answer<(Manifest, Staged)> {
    let digest = Sha256Digest::from_bytes(*address.digest());
    let bytes = data.blobs.read_whole(Kind::Manifest, &digest, MAX_MANIFEST_BYTES as u64).await?;
    let bytes = bytes.ok_or_else(Refusal::not_found)?;
    let manifest = Manifest::from_bytes(&bytes).map_err(|error| Refusal::internal(&error))?;
    let mut staged = Staged::create(directory.join("files"))?;
    for entry in &manifest.files {
        fetch(data, entry, staged.place(entry)?).await?;
    }
    Ok((manifest, staged))
}

async fn fetch(data: &Data, entry: &FileEntry, mut file: File) -> Answer<()> {
    let missing = || Refusal::internal(&format!("blobs {} is missing", entry.sha256));
    let content = data.blobs.read(Kind::File, &entry.sha256, None).await?;
    let mut content = content.ok_or_else(missing)?;
    let mut hasher = Hasher::new();
    while let Some(piece) = content.try_next().await? {
        hasher.update(&piece);
        file = tokio::task::spawn_blocking(move || file.write_all(&piece).map(|()| file))
            .await
            .map_err(io::Error::other)??;
    }
    if hasher.finish().sha256 != entry.sha256 {
        return Err(Refusal::internal(&format!("blobs {} has other bytes", entry.sha256)));
    }
    Ok(())
}
