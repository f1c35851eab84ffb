//! The versions of a skill: yanks, and which of them is the current one.

use skillpkg_schema::diagnostic::is_unprintable;
use skillpkg_schema::{QualifiedName, Version};

use super::Skill;
use crate::database::Write;
use crate::documents::stored;
use crate::events::{self, Change};
use crate::problem::{Answer, Code, Refusal};
use crate::words::{Index, Texts};

/// Longest reason of a yank, in characters.
pub const MAX_REASON: usize = 500;

/// What two versions share that are one to a registry: all but build metadata.
pub fn key(version: &Version) -> String {
    let mut bare = version.semver().clone();
    bare.build = semver::BuildMetadata::EMPTY;
    bare.to_string()
}

/// Checks the reason of a yank: 1 to 500 characters, none of which a terminal would obey.
pub fn check_reason(reason: &str) -> Answer<()> {
    let length = reason.chars().count();
    if !(1..=MAX_REASON).contains(&length) || reason.trim().is_empty() {
        let detail = format!("`reason` must hold 1 to {MAX_REASON} characters; it holds {length}");
        return Err(Refusal::new(Code::InvalidRequest, detail));
    }
    if reason.chars().any(|character| character != '\n' && is_unprintable(character)) {
        let detail = "`reason` must hold no control or invisible characters";
        return Err(Refusal::new(Code::InvalidRequest, detail));
    }
    Ok(())
}

/// Yanks versions for this reason, or takes their yanks back; doing it again changes the reason.
pub async fn set_yanks(
    write: &mut Write,
    actor: i64,
    name: &QualifiedName,
    skill: Skill,
    versions: &[Version],
    reason: Option<&str>,
) -> Answer<()> {
    for version in versions {
        let changed = sqlx::query(
            "UPDATE versions SET yank_reason = $1 WHERE skill_id = $2 AND version = $3",
        )
        .bind(reason)
        .bind(skill.id)
        .bind(version.to_string())
        .execute(&mut **write)
        .await?;
        if changed.rows_affected() == 0 {
            return Err(Refusal::not_found());
        }
        let change = match reason {
            Some(reason) => Change::Yanked { name, version, reason },
            None => Change::Unyanked { name, version },
        };
        events::record(write, Some(actor), change).await?;
    }
    refresh_current(write, name, skill).await
}

/// The versions that are not yanked; or those whose yank's reason starts with `reason`.
pub async fn yanked(write: &mut Write, skill: Skill, reason: Option<&str>) -> Answer<Vec<String>> {
    let rows: Vec<(String, Option<String>)> =
        sqlx::query_as("SELECT version, yank_reason FROM versions WHERE skill_id = $1")
            .bind(skill.id)
            .fetch_all(&mut **write)
            .await?;
    let is_wanted = |found: Option<&str>| match reason {
        None => found.is_none(),
        Some(reason) => found.is_some_and(|found| found.starts_with(reason)),
    };
    let wanted = rows.into_iter().filter(|(_, found)| is_wanted(found.as_deref()));
    Ok(wanted.map(|(version, _)| version).collect())
}

/// Finds the current version anew, and what search finds the skill by.
///
/// That is the newest release that is not yanked, else the newest pre-release that is not.
pub async fn refresh_current(write: &mut Write, name: &QualifiedName, skill: Skill) -> Answer<()> {
    let versions: Vec<String> = sqlx::query_scalar(
        "SELECT version FROM versions WHERE skill_id = $1 AND yank_reason IS NULL",
    )
    .bind(skill.id)
    .fetch_all(&mut **write)
    .await?;
    let versions = versions.iter().map(|text| stored(text)).collect::<Answer<Vec<Version>>>()?;
    let current = versions
        .into_iter()
        .max_by(|one, other| {
            let order = |version: &Version| !version.is_prerelease();
            order(one).cmp(&order(other)).then_with(|| one.cmp(other))
        })
        .map(|version| version.to_string());
    sqlx::query("UPDATE skills SET current_version = $1 WHERE id = $2")
        .bind(&current)
        .bind(skill.id)
        .execute(&mut **write)
        .await?;
    let texts: Option<(String, String)> = sqlx::query_as(
        "SELECT description, search_text FROM versions WHERE skill_id = $1 AND version = $2",
    )
    .bind(skill.id)
    .bind(&current)
    .fetch_optional(&mut **write)
    .await?;
    let texts =
        texts.as_ref().map(|(description, capabilities)| Texts { name, description, capabilities });
    Index::Own.put(write, skill.id, texts.as_ref()).await?;
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn build_metadata_makes_no_other_version() {
        for (version, shared) in
            [("1.0.0", "1.0.0"), ("1.0.0+a", "1.0.0"), ("1.0.0-rc.1+b.2", "1.0.0-rc.1")]
        {
            assert_eq!(key(&version.parse().unwrap()), shared);
        }
    }

    #[test]
    fn a_reason_is_some_printable_text() {
        assert!(check_reason("the archive holds a key").is_ok());
        assert!(check_reason(&"é".repeat(500)).is_ok());
        for reason in ["", "  ", "a\u{1b}[31m", "a\u{202e}b", &"x".repeat(501)] {
            assert!(check_reason(reason).is_err(), "{reason:?}");
        }
    }
}
