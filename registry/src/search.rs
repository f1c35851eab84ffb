//! Full-text search over names, descriptions and what skills can do.

use skillpkg_schema::wire::{SearchAnswer, SearchHit};
use skillpkg_schema::{QualifiedName, SkillName};
use sqlx::AssertSqlSafe;

use crate::auth::Caller;
use crate::documents::stored;
use crate::mirror::Mirror;
use crate::problem::{Answer, Code, Refusal};
use crate::state::Registry;
use crate::words::{self, Index};

/// Longest query, in characters.
const MAX_QUERY: usize = 256;
/// Most words of a query.
const MAX_WORDS: usize = 16;
/// Most skills in one answer.
pub const MAX_LIMIT: u32 = 100;

/// Whether a version `c` is one that the newest checkpoint covers: what is committed and not yet in the
/// log is shown nowhere.
const COVERED: &str = "c.yank_reason IS NULL AND c.log_index < (SELECT covered FROM log_state)";

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
    if text.chars().count() > MAX_QUERY {
        let detail = format!("a search is at most {MAX_QUERY} characters long");
        return Err(Refusal::new(Code::InvalidRequest, detail));
    }
    let words = words::asked(text, MAX_WORDS);
    if words.is_empty() && !text.trim().is_empty() {
        return Ok(SearchAnswer { skills: Vec::new(), total: 0 });
    }
    let (count, page) = queries(words.len());
    let (mut count, mut page) = (sqlx::query_scalar(count), sqlx::query_as(page));
    for bound in words.iter().flat_map(|word| words::bounds(word)) {
        count = count.bind(bound.clone());
        page = page.bind(bound);
    }
    // One snapshot: the count and the page are of one moment.
    let mut read = registry.data.database.readers().begin().await?;
    let total: i64 = count.bind(caller.reader()).fetch_one(&mut *read).await?;
    let rows: Vec<(String, String, String, String, String)> = page
        .bind(caller.reader())
        .bind(i64::from(limit.min(MAX_LIMIT)))
        .bind(i64::from(offset))
        .fetch_all(&mut *read)
        .await?;
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
        Some(mirror) => with_mirrored(mirror, answer, &words, limit.min(MAX_LIMIT), offset).await,
        None => Ok(answer),
    }
}

/// Behind this registry's own skills, those that it holds of another's.
async fn with_mirrored(
    mirror: &Mirror,
    mut answer: SearchAnswer,
    words: &[String],
    limit: u32,
    offset: u32,
) -> Answer<SearchAnswer> {
    let found = u32::try_from(answer.skills.len()).unwrap_or(limit);
    let own = u32::try_from(answer.total).unwrap_or(u32::MAX);
    let left = limit.saturating_sub(found);
    let (more, total) = mirror.search(words, left, offset.saturating_sub(own)).await?;
    answer.skills.extend(more);
    answer.total += total;
    Ok(answer)
}

/// The queries for how many there are and for a page of them, of so many words.
///
/// Behind the bounds of the words their parameters are the reader, and of a page how many and how
/// many not.
fn queries(words: usize) -> (AssertSqlSafe<String>, AssertSqlSafe<String>) {
    let (found, order) = if words == 0 {
        (String::new(), "k.name, s.name")
    } else {
        let found = format!("JOIN {} f ON f.skill_id = k.id", Index::Own.found(words));
        (found, "f.place DESC, length(k.name), k.name, s.name")
    };
    let (reader, limit, offset) = (2 * words + 1, 2 * words + 2, 2 * words + 3);
    let readable = format!(
        "JOIN scopes s ON s.id = k.scope_id {found}
         WHERE (s.private = FALSE OR EXISTS (SELECT 1 FROM scope_members m
           WHERE m.scope_id = s.id AND m.account_id = ${reader}))
         AND k.current_version IS NOT NULL
         AND (NOT EXISTS (SELECT 1 FROM log_touched t WHERE t.skill_id = k.id)
           OR EXISTS (SELECT 1 FROM versions c WHERE c.skill_id = k.id AND {COVERED}))"
    );
    let count = format!("SELECT count(*) FROM skills k {readable}");
    let page = format!(
        "SELECT s.name, k.name, v.version, v.description, v.capabilities FROM skills k
         JOIN versions v ON v.skill_id = k.id AND v.version = CASE
           WHEN NOT EXISTS (SELECT 1 FROM log_touched t WHERE t.skill_id = k.id)
           THEN k.current_version
           ELSE coalesce(
             (SELECT c.version FROM versions c
              WHERE c.skill_id = k.id AND c.version = k.current_version AND {COVERED}),
             (SELECT c.version FROM versions c WHERE c.skill_id = k.id AND {COVERED}
              ORDER BY c.id DESC LIMIT 1))
           END
         {readable} ORDER BY {order} LIMIT ${limit} OFFSET ${offset}"
    );
    (AssertSqlSafe(count), AssertSqlSafe(page))
}
