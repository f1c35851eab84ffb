//! Search over what is held of upstream's: no word that somebody looks for is sent to it.

use skillpkg_schema::QualifiedName;
use sqlx::AssertSqlSafe;

use super::Mirror;
use crate::problem::{Answer, Refusal};
use crate::words::Index;

/// The table of the skills, as `k`, that have a word that starts with each of so many words, with the
/// `place` of the worst as `f`; all of them of none. Takes the parameters of [`Index::found`].
pub(crate) fn found(words: usize) -> String {
    format!("mirrored_skills k {} {SHOWN}", joined(words))
}

/// What [`found`] is, with the newest version of each as `v`, where its manifest is held.
pub(crate) fn with_versions(words: usize) -> String {
    format!(
        "mirrored_skills k {}
         LEFT JOIN mirrored_versions v ON v.skill_id = k.id AND v.version = k.current_version
         {SHOWN}",
        joined(words)
    )
}

fn joined(words: usize) -> String {
    if words == 0 {
        return String::new();
    }
    format!("JOIN {} f ON f.skill_id = k.id", Index::Mirrored.found(words))
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
