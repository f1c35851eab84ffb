//! Containers that faces serve, each made of one snapshot.
//!
//! What a face serves of a snapshot is fixed by its digest, which is recorded with the version that is
//! published, or at the first request for what has none yet. The bytes are put when they are first
//! asked for, since most versions are asked for through few faces, or none; from then on they stay for
//! as long as the version does.

mod late;
mod make;

use skillpkg_schema::{ContentAddress, Sha256Digest};
use sqlx::AnyConnection;
use sqlx::any::AnyExecutor;

pub(crate) use late::make_late;
pub(crate) use make::{Made, Outcome, make};

use super::Face;
use crate::database::{Truth, Write};
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
        /// Whether its bytes are put.
        held: bool,
    },
    /// Nothing, for this reason.
    LeftOut(String),
}

type Row = (Option<String>, Option<i64>, Truth, Option<String>);

/// What is recorded of a snapshot; [`None`] where nothing was made yet.
pub async fn recorded(
    executor: impl AnyExecutor<'_>,
    address: &ContentAddress,
    face: Face,
) -> Answer<Option<Rendered>> {
    let row: Option<Row> = sqlx::query_as(
        "SELECT digest, size, held = TRUE, left_out FROM renderings
         WHERE address = $1 AND face = $2",
    )
    .bind(address.hex())
    .bind(face.name())
    .fetch_optional(executor)
    .await?;
    let Some((digest, size, Truth(held), left_out)) = row else { return Ok(None) };
    Ok(Some(match digest {
        Some(digest) => Rendered::Container {
            digest: stored(&digest)?,
            size: size.unwrap_or_default().unsigned_abs(),
            held,
        },
        None => Rendered::LeftOut(left_out.unwrap_or_default()),
    }))
}

/// Records what was made of a snapshot, and whether it is put; in the place of what was recorded and
/// never put.
///
/// A later program may make other bytes: until they are handed out nobody has locked their digest.
pub(crate) async fn record(
    write: &mut Write,
    address: &ContentAddress,
    made: &[Made],
    held: bool,
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
            "INSERT INTO renderings (address, face, digest, size, held, left_out, fingerprint)
             VALUES ($1, $2, $3, $4, $5, $6, $7)
             ON CONFLICT (address, face) DO UPDATE SET digest = excluded.digest,
             size = excluded.size, held = excluded.held, left_out = excluded.left_out,
             fingerprint = excluded.fingerprint WHERE renderings.held = FALSE",
        )
        .bind(address.hex())
        .bind(face.name())
        .bind(digest)
        .bind(size)
        .bind(held)
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
