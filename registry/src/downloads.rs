//! How often the archives of each skill are handed out: counted in memory, and noted now and then.

use std::collections::HashMap;
use std::sync::{Mutex, PoisonError};

use skillpkg_schema::Sha256Digest;

use crate::database::Database;

/// Parts that are counted apart, so that requests do not wait for one another.
const PARTS: usize = 16;
/// Archives noted in one transaction.
const AT_ONCE: usize = 500;

/// Archives handed out since they were last noted, at most one entry an archive.
///
/// What was counted and not noted is lost in a crash: it is no more than a sign of popularity.
#[derive(Debug, Default)]
pub struct Downloads {
    parts: [Mutex<HashMap<Sha256Digest, u64>>; PARTS],
}

impl Downloads {
    /// Counts one of an archive that is there.
    pub fn count(&self, archive: &Sha256Digest) {
        self.add(archive, 1);
    }

    /// Adds what was counted to the database; what is not committed is counted still.
    pub async fn note(&self, database: &Database) -> Result<(), sqlx::Error> {
        let take = |part: &Mutex<HashMap<_, _>>| {
            std::mem::take(&mut *part.lock().unwrap_or_else(PoisonError::into_inner))
        };
        let counted: Vec<(Sha256Digest, u64)> = self.parts.iter().flat_map(take).collect();
        let mut noted = 0;
        for counts in counted.chunks(AT_ONCE) {
            if let Err(error) = note(database, counts).await {
                for (archive, count) in counted.iter().skip(noted) {
                    self.add(archive, *count);
                }
                return Err(error);
            }
            noted += counts.len();
        }
        Ok(())
    }

    fn add(&self, archive: &Sha256Digest, count: u64) {
        let part = usize::from(archive.as_bytes()[0]) % PARTS;
        if let Some(part) = self.parts.get(part) {
            let mut part = part.lock().unwrap_or_else(PoisonError::into_inner);
            *part.entry(*archive).or_default() += count;
        }
    }
}

async fn note(database: &Database, counts: &[(Sha256Digest, u64)]) -> Result<(), sqlx::Error> {
    let mut write = database.write().await?;
    for (archive, count) in counts {
        sqlx::query(
            "INSERT INTO downloads (skill_id, count)
             SELECT skill_id, $2 FROM versions WHERE archive = $1
             ON CONFLICT (skill_id) DO UPDATE SET count = downloads.count + excluded.count",
        )
        .bind(archive.to_string())
        .bind(i64::try_from(*count).unwrap_or(i64::MAX))
        .execute(&mut *write)
        .await?;
    }
    write.commit().await
}
