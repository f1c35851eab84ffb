//! Full-text search over names, descriptions and what skills can do.

use std::fmt::Write as _;

use skillpkg_schema::name::EMPTY_SCOPE;
use skillpkg_schema::wire::{SearchAnswer, SearchHit};
use skillpkg_schema::{QualifiedName, SkillName};
use sqlx::AssertSqlSafe;

use crate::auth::Caller;
use crate::documents::stored;
use crate::mirror::search as mirrored;
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
/// First comes the one that `text` names, with or without its scope; then others of that name, those
/// whose name begins with it, those whose name holds every word, and those whose name and description
/// do; shorter names before longer ones. That depends on nothing but the skill itself: how rare a word
/// is among all skills, which ranks better, would tell what is in those that the caller may not read.
/// Of a mirror, what is equally good and its own comes before what it holds of another's.
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
    let named = (!words.is_empty()).then(|| Named::asked(text));
    let (count, page) = queries(words.len(), named.as_ref(), registry.mirror.is_some());
    let (mut count, mut page) = (sqlx::query_scalar(count), sqlx::query_as(page));
    for bound in words.iter().flat_map(|word| words::bounds(word)) {
        count = count.bind(bound.clone());
        page = page.bind(bound);
    }
    page = page.bind(caller.reader()).bind(i64::from(limit.min(MAX_LIMIT))).bind(i64::from(offset));
    if let Some(Named { scope, name }) = named {
        page = page.bind(name).bind(scope.unwrap_or_else(|| EMPTY_SCOPE.to_owned()));
    }
    // One snapshot: the count and the page are of one moment.
    let mut read = registry.data.database.readers().begin().await?;
    let total: i64 = count.bind(caller.reader()).fetch_one(&mut *read).await?;
    let rows: Vec<(String, String, String, String, Option<String>)> =
        page.fetch_all(&mut *read).await?;
    read.rollback().await?;
    let skills = rows
        .into_iter()
        .map(|(scope, name, version, description, capabilities)| {
            let bare: SkillName = stored(&name)?;
            let name = QualifiedName::from_wire(&scope, bare.as_str())
                .map_err(|error| Refusal::internal(&error))?;
            let capabilities = capabilities.map_or(Ok(Vec::new()), |text| {
                serde_json::from_str(&text).map_err(|error| Refusal::internal(&error))
            })?;
            Ok(SearchHit { name, version: stored(&version)?, description, capabilities })
        })
        .collect::<Answer<Vec<SearchHit>>>()?;
    Ok(SearchAnswer { skills, total: total.unsigned_abs() })
}

/// The name that a search may be, its words joined by `-`.
#[derive(Debug, PartialEq, Eq)]
struct Named {
    /// The scope, where one stands before a `/`; [`EMPTY_SCOPE`] is that of bare names.
    scope: Option<String>,
    name: String,
}

impl Named {
    fn asked(text: &str) -> Self {
        let joined = |text: &str| words::of(text).join("-");
        match text.split_once('/') {
            Some((scope, name)) => {
                let scope = Some(joined(scope)).filter(|scope| !scope.is_empty());
                Self { scope: scope.or_else(|| Some(EMPTY_SCOPE.to_owned())), name: joined(name) }
            }
            None => Self { scope: None, name: joined(text) },
        }
    }
}

/// The queries for how many there are and for a page of them, of so many words.
///
/// Behind the bounds of the words their parameters are the reader, and of a page how many, how many
/// not, and the name and the scope that are meant, where there are words.
fn queries(
    words: usize,
    named: Option<&Named>,
    mirrors: bool,
) -> (AssertSqlSafe<String>, AssertSqlSafe<String>) {
    let (found, place) = if words == 0 {
        (String::new(), "0")
    } else {
        (format!("JOIN {} f ON f.skill_id = k.id", Index::Own.found(words)), "f.place")
    };
    let reader = 2 * words + 1;
    let readable = format!(
        "JOIN scopes s ON s.id = k.scope_id {found}
         WHERE (s.private = FALSE OR EXISTS (SELECT 1 FROM scope_members m
           WHERE m.scope_id = s.id AND m.account_id = ${reader}))
         AND k.current_version IS NOT NULL
         AND (NOT EXISTS (SELECT 1 FROM log_touched t WHERE t.skill_id = k.id)
           OR EXISTS (SELECT 1 FROM versions c WHERE c.skill_id = k.id AND {COVERED}))"
    );
    let mut count = format!("SELECT (SELECT count(*) FROM skills k {readable})");
    let mut all = format!(
        "SELECT s.name AS scope, k.name AS name, v.version AS version,
           v.description AS description, v.capabilities AS capabilities,
           {place} AS place, 0 AS origin
         FROM skills k
         JOIN versions v ON v.skill_id = k.id AND v.version = CASE
           WHEN NOT EXISTS (SELECT 1 FROM log_touched t WHERE t.skill_id = k.id)
           THEN k.current_version
           ELSE coalesce(
             (SELECT c.version FROM versions c
              WHERE c.skill_id = k.id AND c.version = k.current_version AND {COVERED}),
             (SELECT c.version FROM versions c WHERE c.skill_id = k.id AND {COVERED}
              ORDER BY c.id DESC LIMIT 1))
           END
         {readable}"
    );
    if mirrors {
        let held = mirrored::found(words);
        let _ = write!(count, " + (SELECT count(*) FROM {held})");
        let _ = write!(
            all,
            " UNION ALL SELECT k.scope, k.name, k.current_version, k.description, v.capabilities,
               {place}, 1 FROM {}",
            mirrored::with_versions(words)
        );
    }
    let order = match named {
        None => "origin, name, scope".to_owned(),
        Some(named) => order(named, reader + 3),
    };
    let (limit, offset) = (reader + 1, reader + 2);
    let page = format!(
        "SELECT scope, name, version, description, capabilities FROM ({all}) candidates
         ORDER BY {order} LIMIT ${limit} OFFSET ${offset}"
    );
    (AssertSqlSafe(count), AssertSqlSafe(page))
}

/// By what found skills are sorted; the name is the parameter of this number, the scope the next.
fn order(named: &Named, parameter: usize) -> String {
    let (name, scope) = (format!("${parameter}"), format!("${}", parameter + 1));
    let in_scope = format!("replace(scope, '_', '-') = replace({scope}, '_', '-')");
    // Of a scope that is given, the same name in another is no better than any skill.
    let elsewhere = if named.scope.is_some() { "FALSE" } else { "TRUE" };
    format!(
        "CASE
           WHEN replace(name, '_', '-') = {name} AND {in_scope} THEN 0
           WHEN replace(name, '_', '-') = {name} AND {elsewhere} THEN 1
           WHEN substr(replace(name, '_', '-'), 1, length({name})) = {name}
             AND ({elsewhere} OR {in_scope}) THEN 2
           ELSE 3 END,
         origin, place DESC, length(name), name, scope"
    )
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_search_may_be_a_name_however_it_is_written() {
        for (text, scope, name) in [
            ("pdf-tools", None, "pdf-tools"),
            (" PDF tools ", None, "pdf-tools"),
            ("pdf_tools", None, "pdf-tools"),
            ("acme/pdf-tools", Some("acme"), "pdf-tools"),
            ("@Acme/pdf-tools", Some("acme"), "pdf-tools"),
            ("_/pdf-tools", Some("_"), "pdf-tools"),
        ] {
            let expected = Named { scope: scope.map(str::to_owned), name: name.to_owned() };
            assert_eq!(Named::asked(text), expected, "{text:?}");
        }
    }
}
