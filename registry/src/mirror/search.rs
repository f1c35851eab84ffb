//! Search over what is held of upstream's: no word that somebody looks for is sent to it.

use skillpkg_schema::QualifiedName;
use skillpkg_schema::wire::SearchHit;
use sqlx::AssertSqlSafe;

use super::Mirror;
use crate::documents::stored;
use crate::problem::{Answer, Refusal};
use crate::words::{self, Index};

/// Scope, name, version, description, capabilities.
type Row = (String, String, String, String, Option<String>);

impl Mirror {
    /// The skills that have a word that starts with each of `words`, or all where there are none;
    /// behind `offset` of them, and how many there are.
    pub async fn search(
        &self,
        words: &[String],
        limit: u32,
        offset: u32,
    ) -> Answer<(Vec<SearchHit>, u64)> {
        let (found, order) = if words.is_empty() {
            (String::new(), "k.name, k.scope")
        } else {
            let found = Index::Mirrored.found(words.len());
            (format!("JOIN {found} f ON f.skill_id = k.id"), "length(k.name), k.name, k.scope")
        };
        let count = format!("SELECT count(*) FROM mirrored_skills k {found} {SHOWN}");
        let (limit_at, offset_at) = (2 * words.len() + 1, 2 * words.len() + 2);
        let page = format!(
            "SELECT k.scope, k.name, k.current_version, k.description, v.capabilities
             FROM mirrored_skills k {found}
             LEFT JOIN mirrored_versions v ON v.skill_id = k.id AND v.version = k.current_version
             {SHOWN} ORDER BY {order} LIMIT ${limit_at} OFFSET ${offset_at}"
        );
        let mut count = sqlx::query_scalar(AssertSqlSafe(count));
        let mut page = sqlx::query_as(AssertSqlSafe(page));
        for bound in words.iter().flat_map(|word| words::bounds(word)) {
            count = count.bind(bound.clone());
            page = page.bind(bound);
        }
        let mut read = self.0.data.database.readers().begin().await?;
        let total: i64 = count.fetch_one(&mut *read).await?;
        let rows: Vec<Row> =
            page.bind(i64::from(limit)).bind(i64::from(offset)).fetch_all(&mut *read).await?;
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

impl Mirror {
    /// The names of a scope that are held, in order.
    pub async fn names_in(&self, scope: &str, limit: u32) -> Answer<Vec<QualifiedName>> {
        self.names("k.scope = $1", scope, limit).await
    }

    /// The names that are held and differ in their scope alone, in order.
    pub async fn names_called(&self, name: &str, limit: u32) -> Answer<Vec<QualifiedName>> {
        self.names("k.name = $1", name, limit).await
    }

    async fn names(&self, which: &str, text: &str, limit: u32) -> Answer<Vec<QualifiedName>> {
        let query = format!(
            "SELECT k.scope, k.name FROM mirrored_skills k {SHOWN} AND {which}
             ORDER BY k.name, k.scope LIMIT $2"
        );
        let rows: Vec<(String, String)> = sqlx::query_as(AssertSqlSafe(query))
            .bind(text)
            .bind(i64::from(limit))
            .fetch_all(self.0.data.database.readers())
            .await?;
        rows.into_iter()
            .map(|(scope, name)| {
                QualifiedName::from_wire(&scope, &name).map_err(|error| Refusal::internal(&error))
            })
            .collect()
    }
}

// What has become this registry's own since is not upstream's to show.
const SHOWN: &str = "WHERE k.current_version IS NOT NULL
    AND NOT EXISTS (SELECT 1 FROM scopes s WHERE s.name = k.scope AND s.name <> '_')
    AND NOT EXISTS (SELECT 1 FROM skills o JOIN scopes s ON s.id = o.scope_id
      WHERE s.name = k.scope AND o.name = k.name)";
