//! How much of the disk a mirror takes: what was not asked for the longest makes room.

use std::collections::HashSet;
use std::sync::{Mutex, PoisonError};

use skillpkg_schema::Sha256Digest;

use super::Mirror;
use super::trouble::Trouble;
use crate::blobs::Kind;
use crate::clock;
use crate::documents::stored;
use crate::faces::rendering;
use crate::upkeep;

/// Uses that are not written yet: they are noted together, now and then.
#[derive(Debug, Default)]
pub(super) struct Uses(Mutex<(HashSet<i64>, HashSet<Sha256Digest>)>);

/// What is let go of.
type Candidate = (Option<i64>, Option<String>, i64);

impl Mirror {
    pub(super) fn note_use(&self, version: i64) {
        self.0.uses.0.lock().unwrap_or_else(PoisonError::into_inner).0.insert(version);
    }

    pub(super) fn note_loose_use(&self, blob: Sha256Digest) {
        self.0.uses.0.lock().unwrap_or_else(PoisonError::into_inner).1.insert(blob);
    }

    /// Writes the uses of the last while; lost in a crash, something is let go of earlier.
    pub(super) async fn write_uses(&self) -> Result<(), sqlx::Error> {
        let (versions, blobs) =
            std::mem::take(&mut *self.0.uses.0.lock().unwrap_or_else(PoisonError::into_inner));
        if versions.is_empty() && blobs.is_empty() {
            return Ok(());
        }
        let now = clock::now();
        let mut write = self.0.data.database.write().await?;
        for version in versions {
            sqlx::query(
                "UPDATE mirrored_versions SET used = $1 WHERE id = $2 AND takes IS NOT NULL",
            )
            .bind(&now)
            .bind(version)
            .execute(&mut *write)
            .await?;
        }
        for blob in blobs {
            let query =
                "UPDATE mirrored_blobs SET used = $1 WHERE sha256 = $2 AND used IS NOT NULL";
            sqlx::query(query).bind(&now).bind(blob.to_string()).execute(&mut *write).await?;
        }
        write.commit().await
    }

    /// Makes room, and holds up nobody; all but the version that was just taken in may go.
    pub(super) fn make_room_behind(&self, spared: i64) {
        let mirror = self.clone();
        tokio::spawn(async move {
            if let Err(trouble) = mirror.make_room(Some(spared)).await {
                tracing::warn!(%trouble, "no room was made");
            }
        });
    }

    /// Lets go of what was not asked for the longest until the rest is within its bound; answers
    /// with how many archives and files that were.
    ///
    /// Only content goes: documents, and the log, stay. What goes is fetched again when it is asked
    /// for. Cut short, some of it lies there that no row names, as after a publish.
    pub(super) async fn make_room(&self, spared: Option<i64>) -> Result<u64, Trouble> {
        let _turn = self.0.room.lock().await;
        self.write_uses().await?;
        let mut gone = 0;
        loop {
            let takes: i64 =
                sqlx::query_scalar(TAKES).fetch_one(self.0.data.database.readers()).await?;
            if takes.unsigned_abs() <= self.0.max_bytes {
                return Ok(gone);
            }
            let next: Option<Candidate> = sqlx::query_as(OLDEST)
                .bind(spared.unwrap_or(-1))
                .fetch_optional(self.0.data.database.readers())
                .await?;
            let objects = match next {
                Some((Some(version), ..)) => self.forget_version(version).await?,
                Some((None, Some(blob), _)) => self.forget_loose(&stored(&blob)?).await?,
                Some((None, None, _)) | None => return Ok(gone),
            };
            gone += 1;
            upkeep::remove_unnamed(&self.0.data, &objects).await?;
        }
    }

    /// Lets go of what upstream shows nobody any more: versions that were deleted there, and single
    /// files, of which nobody can tell whether they were.
    pub(super) async fn let_go_of_deleted(&self) -> Result<(), Trouble> {
        let readers = self.0.data.database.readers();
        let versions: Vec<i64> = sqlx::query_scalar(
            "SELECT id FROM mirrored_versions WHERE listed = FALSE AND takes IS NOT NULL",
        )
        .fetch_all(readers)
        .await?;
        let loose: Vec<String> =
            sqlx::query_scalar("SELECT sha256 FROM mirrored_blobs WHERE used IS NOT NULL")
                .fetch_all(readers)
                .await?;
        for version in versions {
            let objects = self.forget_version(version).await?;
            upkeep::remove_unnamed(&self.0.data, &objects).await?;
        }
        for blob in loose {
            let objects = self.forget_loose(&stored(&blob)?).await?;
            upkeep::remove_unnamed(&self.0.data, &objects).await?;
        }
        Ok(())
    }

    /// Forgets that a version is held; answers with the objects that it may leave behind.
    async fn forget_version(&self, version: i64) -> Result<Vec<(Kind, Sha256Digest)>, Trouble> {
        let mut write = self.0.data.database.write().await?;
        let (address, archive): (String, String) =
            sqlx::query_as("SELECT address, archive FROM mirrored_versions WHERE id = $1")
                .bind(version)
                .fetch_one(&mut *write)
                .await?;
        let files: Vec<String> =
            sqlx::query_scalar("SELECT sha256 FROM mirrored_version_blobs WHERE version_id = $1")
                .bind(version)
                .fetch_all(&mut *write)
                .await?;
        sqlx::query(
            "UPDATE mirrored_versions SET manifest_size = NULL, envelope = NULL,
             capabilities = NULL, search_text = NULL, takes = NULL, used = NULL WHERE id = $1",
        )
        .bind(version)
        .execute(&mut *write)
        .await?;
        sqlx::query("DELETE FROM mirrored_version_blobs WHERE version_id = $1")
            .bind(version)
            .execute(&mut *write)
            .await?;
        let mut objects =
            vec![(Kind::Archive, stored(&archive)?), (Kind::Manifest, stored(&address)?)];
        for container in rendering::forget(&mut write, &address).await? {
            objects.push((Kind::Rendering, stored(&container)?));
        }
        for file in files {
            sqlx::query(UNHELD).bind(&file).execute(&mut *write).await?;
            objects.push((Kind::File, stored(&file)?));
        }
        write.commit().await?;
        Ok(objects)
    }

    async fn forget_loose(
        &self,
        blob: &Sha256Digest,
    ) -> Result<Vec<(Kind, Sha256Digest)>, Trouble> {
        let mut write = self.0.data.database.write().await?;
        sqlx::query("UPDATE mirrored_blobs SET used = NULL WHERE sha256 = $1")
            .bind(blob.to_string())
            .execute(&mut *write)
            .await?;
        sqlx::query(UNHELD).bind(blob.to_string()).execute(&mut *write).await?;
        write.commit().await?;
        Ok(vec![(Kind::File, *blob)])
    }
}

/// What all that is held takes.
const TAKES: &str = "SELECT coalesce((SELECT CAST(sum(takes) AS BIGINT) FROM mirrored_versions), 0)
    + coalesce((SELECT CAST(sum(size) AS BIGINT) FROM mirrored_blobs WHERE used IS NOT NULL), 0)
    + coalesce((SELECT CAST(sum(r.size) AS BIGINT) FROM renderings r WHERE r.held = TRUE AND EXISTS
      (SELECT 1 FROM mirrored_versions v WHERE v.address = r.address AND v.takes IS NOT NULL)), 0)";

/// What was not asked for the longest: a version or a single file.
const OLDEST: &str = "SELECT id, NULL, takes, used AS at FROM mirrored_versions
    WHERE takes IS NOT NULL AND id <> $1
    UNION ALL SELECT NULL, sha256, size, used FROM mirrored_blobs WHERE used IS NOT NULL
    ORDER BY at NULLS FIRST LIMIT 1";

/// Forgets a file that nothing holds any more.
const UNHELD: &str = "DELETE FROM mirrored_blobs WHERE sha256 = $1 AND used IS NULL
    AND NOT EXISTS (SELECT 1 FROM mirrored_version_blobs h WHERE h.sha256 = mirrored_blobs.sha256)";
