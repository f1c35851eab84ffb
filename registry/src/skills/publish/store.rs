//! Puts what a version is made of into the object store, before any row names it.

use std::collections::{HashMap, HashSet};
use std::path::PathBuf;

use futures_util::{StreamExt as _, TryStreamExt as _};
use skillpkg_schema::Sha256Digest;

use super::Step;
use super::verify::Verified;
use crate::blobs::Kind;
use crate::database::placeholders;
use crate::problem::{Answer, Refusal};
use crate::state::Registry;

/// Objects put at once for one version.
const AT_ONCE: usize = 8;
/// Digests asked for in one query.
const ASKED: usize = 400;

/// Puts files, manifest and archive; what returns has survived a crash.
///
/// Until a row names them they may be removed again, those among them that a row named when this
/// began and that was deleted since: whoever commits makes sure that they are still there.
pub(crate) async fn put(registry: &Registry, verified: &Verified) -> Answer<()> {
    let mut files: HashMap<Sha256Digest, PathBuf> = HashMap::new();
    for file in &verified.manifest.files {
        let location = verified.staged.location(file.path.as_str());
        let location = location.ok_or_else(|| Refusal::internal(&"a staged file is missing"))?;
        files.insert(file.sha256, location.to_owned());
    }
    let known = known(registry, files.keys()).await?;
    files.retain(|digest, _| !known.contains(digest));
    let blobs = &registry.data.blobs;
    futures_util::stream::iter(files)
        .map(|(digest, file)| async move { blobs.put_file(Kind::File, &digest, &file).await })
        .buffer_unordered(AT_ONCE)
        .try_collect::<()>()
        .await?;
    registry.at(Step::FilesPut)?;

    let manifest = verified.manifest_digests.sha256;
    blobs.put(Kind::Manifest, &manifest, verified.manifest_bytes.clone().into()).await?;
    let archive = verified.archive_digests.sha256;
    blobs.put_file(Kind::Archive, &archive, &verified.received.archive).await?;
    Ok(())
}

/// Which of these blobs a committed row names: they are there, and stay while it does.
async fn known(
    registry: &Registry,
    digests: impl Iterator<Item = &Sha256Digest>,
) -> Answer<HashSet<Sha256Digest>> {
    let digests: Vec<String> = digests.map(ToString::to_string).collect();
    let mut known = HashSet::new();
    for asked in digests.chunks(ASKED) {
        let head = "SELECT sha256 FROM blobs WHERE sha256 IN ";
        let mut query = sqlx::query_scalar(placeholders(head, 1, asked.len(), ""));
        for digest in asked {
            query = query.bind(digest);
        }
        let rows: Vec<String> = query.fetch_all(registry.data.database.readers()).await?;
        for row in rows {
            known.insert(crate::documents::stored(&row)?);
        }
    }
    Ok(known)
}

/// Makes sure that the objects are there which no row named before: the files among them, manifest
/// and archive. Called with the write lock held, under which alone objects are removed.
pub(crate) async fn still_there(
    registry: &Registry,
    verified: &Verified,
    files: Vec<Sha256Digest>,
) -> Answer<()> {
    let blobs = &registry.data.blobs;
    let manifest = (Kind::Manifest, verified.manifest_digests.sha256);
    let archive = (Kind::Archive, verified.archive_digests.sha256);
    let files = files.into_iter().map(|digest| (Kind::File, digest));
    let all = futures_util::stream::iter(files.chain([manifest, archive]).collect::<Vec<_>>())
        .map(|(kind, digest)| async move { blobs.holds(kind, &digest).await })
        .buffer_unordered(AT_ONCE)
        .try_all(|there| async move { there })
        .await?;
    if all {
        return Ok(());
    }
    Err(Refusal::unavailable("unused blobs were being removed meanwhile; publish again", 1))
}
