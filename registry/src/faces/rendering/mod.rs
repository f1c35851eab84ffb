//! Containers that faces serve, each made of one snapshot.
//!
//! What a face serves of a snapshot is made once and stays: its digest is recorded with the version
//! that is published, or at the first request for what has none yet. The first that is recorded
//! counts, so that what clients have locked is served for as long as the version is.

mod late;
mod make;

use skillpkg_schema::{ContentAddress, Sha256Digest};
use sqlx::AnyConnection;
use sqlx::any::AnyExecutor;

pub(crate) use late::make_late;
pub(crate) use make::{Made, Outcome, make};

use super::Face;
use crate::blobs::{Blobs, BlobsError, Kind};
use crate::database::Write;
use crate::documents::stored;
use crate::problem::Answer;

/// Most bytes of files of a snapshot whose containers are made while it is published; those of a
/// larger one are made when they are first asked for.
pub(crate) const MOST_AT_ONCE: u64 = 32 * 1024 * 1024;

/// What a face has of a snapshot.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Rendered {
    /// A container.
    Container {
        /// The SHA-256 of its bytes.
        digest: Sha256Digest,
        /// Its length in bytes.
        size: u64,
    },
    /// Nothing, for this reason.
    LeftOut(String),
}

type Row = (Option<String>, Option<i64>, Option<String>);

/// What is recorded of a snapshot; [`None`] where nothing was made yet.
pub async fn recorded(
    executor: impl AnyExecutor<'_>,
    address: &ContentAddress,
    face: Face,
) -> Answer<Option<Rendered>> {
    let row: Option<Row> = sqlx::query_as(
        "SELECT digest, size, left_out FROM renderings WHERE address = $1 AND face = $2",
    )
    .bind(address.hex())
    .bind(face.name())
    .fetch_optional(executor)
    .await?;
    let Some((digest, size, left_out)) = row else { return Ok(None) };
    Ok(Some(match digest {
        Some(digest) => Rendered::Container {
            digest: stored(&digest)?,
            size: size.unwrap_or_default().unsigned_abs(),
        },
        None => Rendered::LeftOut(left_out.unwrap_or_default()),
    }))
}

/// Puts what was made; what returns has survived a crash.
pub(crate) async fn put(blobs: &Blobs, made: &[Made]) -> Result<(), BlobsError> {
    for made in made {
        if let Outcome::Container { file, digests, .. } = &made.outcome {
            blobs.put_file(Kind::Rendering, &digests.sha256, file).await?;
        }
    }
    Ok(())
}

/// The objects of what was made: whoever records them makes sure that they are still there.
pub(crate) fn objects(made: &[Made]) -> impl Iterator<Item = (Kind, Sha256Digest)> {
    made.iter().filter_map(|made| match &made.outcome {
        Outcome::Container { digests, .. } => Some((Kind::Rendering, digests.sha256)),
        Outcome::LeftOut(_) => None,
    })
}

/// Records what was made of a snapshot, where nothing is recorded yet.
pub(crate) async fn record(
    write: &mut Write,
    address: &ContentAddress,
    made: &[Made],
) -> Result<(), sqlx::Error> {
    for Made { face, outcome } in made {
        let (digest, size, fingerprint, left_out) = match outcome {
            Outcome::Container { digests, fingerprint, .. } => {
                let digest = Some(digests.sha256.to_string());
                (digest, Some(digests.size.cast_signed()), fingerprint.as_ref(), None)
            }
            Outcome::LeftOut(reason) => (None, None, None, Some(reason)),
        };
        sqlx::query(
            "INSERT INTO renderings (address, face, digest, size, left_out, fingerprint)
             VALUES ($1, $2, $3, $4, $5, $6) ON CONFLICT (address, face) DO NOTHING",
        )
        .bind(address.hex())
        .bind(face.name())
        .bind(digest)
        .bind(size)
        .bind(left_out)
        .bind(fingerprint)
        .execute(&mut **write)
        .await?;
    }
    Ok(())
}

/// Forgets what was made of a snapshot that is served no more; answers with the objects that may be
/// left behind.
pub(crate) async fn forget(
    write: &mut AnyConnection,
    address: &str,
) -> Result<Vec<String>, sqlx::Error> {
    let digests: Vec<Option<String>> =
        sqlx::query_scalar("SELECT digest FROM renderings WHERE address = $1")
            .bind(address)
            .fetch_all(&mut *write)
            .await?;
    sqlx::query("DELETE FROM renderings WHERE address = $1").bind(address).execute(write).await?;
    Ok(digests.into_iter().flatten().collect())
}
