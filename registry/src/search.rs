//! Full-text search over names, descriptions and what skills can do.

use std::fmt::Write as _;

use skillpkg_schema::wire::{SearchAnswer, SearchHit};
use skillpkg_schema::{QualifiedName, SkillName};

use crate::auth::Caller;
use crate::documents::stored;
use crate::mirror::Mirror;
use crate::problem::{Answer, Code, Refusal};
use crate::state::Registry;

/// Longest query, in characters.
const MAX_QUERY: usize = 256;
/// Most words of a query.
const MAX_WORDS: usize = 16;
/// Most skills in one answer.
pub const MAX_LIMIT: u32 = 100;

/// Finds the skills that hold every word of `text`, or a word that starts with it, best first; all
/// of them by name where `text` is empty. Those that the caller may not read are not counted.
///
/// First come those whose name holds every word, then those whose name and description do, shorter
/// names before longer ones. That depends on nothing but the skill itself: how rare a word is among
/// all skills, which ranks better, would tell what is in those that the caller may not read.
pub async fn search(
    registry: &Registry,
    caller: &Caller,
    text: &str,
    limit: u32,
    offset: u32,
) -> Answer<SearchAnswer> {
    let database = &registry.data.database;
    if text.chars().count() > MAX_QUERY {
        let detail = format!("a search is at most {MAX_QUERY} characters long");
        return Err(Refusal::new(Code::InvalidRequest, detail));
    }
    let everything = text.trim().is_empty();
    let pattern = pattern(text);
    if !everything && pattern.is_empty() {
        return Ok(SearchAnswer { skills: Vec::new(), total: 0 });
    }
    // One snapshot: the count and the page are of one moment.
    let mut read = database.readers().begin().await?;
    let (count, page) = if everything { (COUNT_ALL, PAGE_ALL) } else { (COUNT, PAGE) };
    let total: i64 = sqlx::query_scalar(count)
        .bind(caller.reader())
        .bind(&pattern)
        .fetch_one(&mut *read)
        .await?;
    let mut rows = sqlx::query_as(page)
        .bind(caller.reader())
        .bind(&pattern)
        .bind(i64::from(limit.min(MAX_LIMIT)))
        .bind(i64::from(offset));
    if !everything {
        rows = rows
            .bind(format!("{{name}} : ({pattern})"))
            .bind(format!("{{name description}} : ({pattern})"));
    }
    let rows: Vec<(String, String, String, String, String)> = rows.fetch_all(&mut *read).await?;
    read.rollback().await?;
    let skills = rows
        .into_iter()
        .map(|(scope, name, version, description, capabilities)| {
            let bare: SkillName = stored(&name)?;
            let name = QualifiedName::from_wire(&scope, bare.as_str())
                .map_err(|error| Refusal::internal(&error))?;
            let capabilities =
                serde_json::from_str(&capabilities).map_err(|error| Refusal::internal(&error))?;
            Ok(SearchHit { name, version: stored(&version)?, description, capabilities })
        })
        .collect::<Answer<Vec<SearchHit>>>()?;
    let total = total.unsigned_abs();
    let answer = SearchAnswer { skills, total };
    match &registry.mirror {
        Some(mirror) => with_mirrored(mirror, answer, &pattern, limit.min(MAX_LIMIT), offset).await,
        None => Ok(answer),
    }
}

/// Behind this registry's own skills, those that it holds of another's.
async fn with_mirrored(
    mirror: &Mirror,
    mut answer: SearchAnswer,
    pattern: &str,
    limit: u32,
    offset: u32,
) -> Answer<SearchAnswer> {
    let found = u32::try_from(answer.skills.len()).unwrap_or(limit);
    let own = u32::try_from(answer.total).unwrap_or(u32::MAX);
    let left = limit.saturating_sub(found);
    let (more, total) = mirror.search(pattern, left, offset.saturating_sub(own)).await?;
    answer.skills.extend(more);
    answer.total += total;
    Ok(answer)
}

macro_rules! readable {
    () => {
        "JOIN scopes s ON s.id = k.scope_id
         WHERE (s.private = FALSE OR EXISTS (SELECT 1 FROM scope_members m
           WHERE m.scope_id = s.id AND m.account_id = $1))
         AND k.current_version IS NOT NULL "
    };
}

macro_rules! shown {
    () => {
        "SELECT s.name, k.name, v.version, v.description, v.capabilities FROM "
    };
}

const COUNT: &str = concat!(
    "SELECT count(*) FROM skill_text t JOIN skills k ON k.id = t.rowid ",
    readable!(),
    "AND skill_text MATCH $2"
);
const COUNT_ALL: &str = concat!("SELECT count(*) FROM skills k ", readable!(), "AND $2 = ''");
const PAGE: &str = concat!(
    shown!(),
    "skill_text t JOIN skills k ON k.id = t.rowid
     JOIN versions v ON v.skill_id = k.id AND v.version = k.current_version ",
    readable!(),
    "AND skill_text MATCH $2
     ORDER BY k.id IN (SELECT rowid FROM skill_text WHERE skill_text MATCH $5) DESC,
     k.id IN (SELECT rowid FROM skill_text WHERE skill_text MATCH $6) DESC,
     length(k.name), k.name, s.name LIMIT $3 OFFSET $4"
);
const PAGE_ALL: &str = concat!(
    shown!(),
    "skills k JOIN versions v ON v.skill_id = k.id AND v.version = k.current_version ",
    readable!(),
    "AND $2 = '' ORDER BY k.name, s.name LIMIT $3 OFFSET $4"
);

/// A query of FTS5 in which every word of `text` is plain text: each stands in double quotes, so
/// that no operator, column or `NEAR(` is read out of it; a trailing `*` of ours makes it a prefix.
fn pattern(text: &str) -> String {
    let mut pattern = String::new();
    let words = text.split(|character: char| !character.is_alphanumeric());
    for word in words.filter(|word| !word.is_empty()).take(MAX_WORDS) {
        let _ = write!(pattern, "{}\"{word}\"*", if pattern.is_empty() { "" } else { " " });
    }
    pattern
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_a_query_language_would_obey_is_plain_text() {
        for (text, expected) in [
            ("wait list", r#""wait"* "list"*"#),
            (r#"a"b"#, r#""a"* "b"*"#),
            ("*", ""),
            ("NEAR(a b)", r#""NEAR"* "a"* "b"*"#),
            ("name:x OR y", r#""name"* "x"* "OR"* "y"*"#),
            ("été\0-x", r#""été"* "x"*"#),
            ("\"\"", ""),
        ] {
            assert_eq!(pattern(text), expected, "{text:?}");
        }
        assert_eq!(pattern(&"w ".repeat(100)).split(' ').count(), MAX_WORDS);
    }
}
