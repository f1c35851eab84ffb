//! Search over what is held of upstream's: no word that somebody looks for is sent to it.

use skillpkg_schema::QualifiedName;
use skillpkg_schema::wire::SearchHit;

use super::Mirror;
use crate::documents::stored;
use crate::problem::{Answer, Refusal};

/// Scope, name, version, description, capabilities.
type Row = (String, String, String, String, Option<String>);

impl Mirror {
    /// The skills whose words match `pattern`, a query of FTS5, or all where it is empty; behind
    /// `offset` of them, and how many there are.
    pub async fn search(
        &self,
        pattern: &str,
        limit: u32,
        offset: u32,
    ) -> Answer<(Vec<SearchHit>, u64)> {
        let (count, page) = if pattern.is_empty() { (COUNT_ALL, PAGE_ALL) } else { (COUNT, PAGE) };
        let mut read = self.0.data.database.readers().begin().await?;
        let total: i64 = sqlx::query_scalar(count).bind(pattern).fetch_one(&mut *read).await?;
        let rows: Vec<Row> = sqlx::query_as(page)
            .bind(pattern)
            .bind(i64::from(limit))
            .bind(i64::from(offset))
            .fetch_all(&mut *read)
            .await?;
        read.rollback().await?;
        let hits = rows.into_iter().map(|(scope, name, version, description, capabilities)| {
            let name = QualifiedName::from_wire(&scope, &name)
                .map_err(|error| Refusal::internal(&error))?;
            let capabilities = capabilities.map_or(Ok(Vec::new()), |text| {
                serde_json::from_str(&text).map_err(|error| Refusal::internal(&error))
            });
            let version = stored(&version)?;
            Ok(SearchHit { name, version, description, capabilities: capabilities? })
        });
        Ok((hits.collect::<Answer<_>>()?, total.unsigned_abs()))
    }
}

// What has become this registry's own since is not upstream's to show.
macro_rules! shown {
    () => {
        "k.current_version IS NOT NULL
         AND NOT EXISTS (SELECT 1 FROM scopes s WHERE s.name = k.scope AND s.name <> '_')
         AND NOT EXISTS (SELECT 1 FROM skills o JOIN scopes s ON s.id = o.scope_id
           WHERE s.name = k.scope AND o.name = k.name) "
    };
}

macro_rules! selected {
    () => {
        "SELECT k.scope, k.name, k.current_version, k.description, v.capabilities
         FROM mirrored_skills k
         LEFT JOIN mirrored_versions v ON v.skill_id = k.id AND v.version = k.current_version "
    };
}

const COUNT: &str = concat!(
    "SELECT count(*) FROM mirrored_skills k
     WHERE k.id IN (SELECT rowid FROM mirrored_text WHERE mirrored_text MATCH $1) AND ",
    shown!()
);
const COUNT_ALL: &str =
    concat!("SELECT count(*) FROM mirrored_skills k WHERE $1 = '' AND ", shown!());
const PAGE: &str = concat!(
    selected!(),
    "WHERE k.id IN (SELECT rowid FROM mirrored_text WHERE mirrored_text MATCH $1) AND ",
    shown!(),
    "ORDER BY length(k.name), k.name, k.scope LIMIT $2 OFFSET $3"
);
const PAGE_ALL: &str = concat!(
    selected!(),
    "WHERE $1 = '' AND ",
    shown!(),
    "ORDER BY k.name, k.scope LIMIT $2 OFFSET $3"
);
