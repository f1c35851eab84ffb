//! The words that search finds skills by.
//!
//! They are made here and not by the database, so that a text has the same words on every engine, and
//! a query the same answers in the same order.

use std::collections::HashMap;
use std::fmt::Write as _;

use skillpkg_schema::QualifiedName;
use unicode_normalization::UnicodeNormalization as _;
use unicode_normalization::char::is_combining_mark;

use crate::database::{Database, Write, placeholders};

/// What tells how words are made; another number where that changes.
const FORM: i64 = 1;
/// Longest word, in characters; the rest of a longer one is not looked at.
const MAX_LENGTH: usize = 64;
/// Most words of one skill.
const MAX_WORDS: usize = 4_000;
/// Rows inserted by one statement.
const ROWS: usize = 300;
/// Skills taken into memory at once.
const SKILLS: i64 = 100;

/// The words of a text, in order: runs of letters and digits, in lower case, without diacritics.
pub fn of(text: &str) -> Vec<String> {
    let plain: String =
        text.to_lowercase().nfd().filter(|character| !is_combining_mark(*character)).collect();
    let words = plain.split(|character: char| !character.is_alphanumeric());
    words
        .filter(|word| !word.is_empty())
        .map(|word| word.chars().take(MAX_LENGTH).collect())
        .collect()
}

/// What words are of.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Index {
    /// The skills of this registry.
    Own,
    /// Those that it mirrors.
    Mirrored,
}

/// What a skill is found by.
#[derive(Debug)]
pub struct Texts<'a> {
    /// Its name, with its scope.
    pub name: &'a QualifiedName,
    /// Its description.
    pub description: &'a str,
    /// The names and descriptions of what it can do.
    pub capabilities: &'a str,
}

impl Index {
    /// A subquery that answers with the `skill_id` of those that have, for each of `words`, a word
    /// that starts with it; and with the `place` of the worst of these words, of each its best.
    ///
    /// Takes two parameters a word from `$1` on: [`bounds`].
    pub fn found(self, words: usize) -> String {
        let table = match self {
            Self::Own => "skill_words",
            Self::Mirrored => "mirrored_words",
        };
        let mut sql = String::from("(SELECT skill_id, min(place) AS place FROM (");
        for word in 0..words {
            let union = if word == 0 { "" } else { " UNION ALL " };
            let (from, to) = (2 * word + 1, 2 * word + 2);
            let _ = write!(
                sql,
                "{union}SELECT skill_id, max(place) AS place FROM {table}
                 WHERE word >= ${from} AND word < ${to} GROUP BY skill_id"
            );
        }
        let _ = write!(sql, ") each_word GROUP BY skill_id HAVING count(*) = {words})");
        sql
    }

    /// Takes the words of a skill in the place of those that it had; none with no texts.
    pub async fn put(
        self,
        write: &mut Write,
        skill: i64,
        texts: Option<&Texts<'_>>,
    ) -> Result<(), sqlx::Error> {
        let (delete, insert) = match self {
            Self::Own => (
                "DELETE FROM skill_words WHERE skill_id = $1",
                "INSERT INTO skill_words (word, skill_id, place) VALUES ",
            ),
            Self::Mirrored => (
                "DELETE FROM mirrored_words WHERE skill_id = $1",
                "INSERT INTO mirrored_words (word, skill_id, place) VALUES ",
            ),
        };
        sqlx::query(delete).bind(skill).execute(&mut **write).await?;
        let Some(texts) = texts else { return Ok(()) };
        for rows in texts.words().chunks(ROWS) {
            let mut query = sqlx::query(placeholders(insert, rows.len(), 3, ""));
            for (word, place) in rows {
                query = query.bind(word).bind(skill).bind(place);
            }
            query.execute(&mut **write).await?;
        }
        Ok(())
    }
}

impl Texts<'_> {
    /// Every word once, with the best place where it stands.
    fn words(&self) -> Vec<(String, i64)> {
        let mut places = HashMap::new();
        for (text, place) in
            [(&*self.name.to_string(), 2), (self.description, 1), (self.capabilities, 0)]
        {
            for word in of(text) {
                if places.len() == MAX_WORDS {
                    break;
                }
                places.entry(word).or_insert(place);
            }
        }
        places.into_iter().collect()
    }
}

/// The words of a query, each once, at most `most`.
pub fn asked(text: &str, most: usize) -> Vec<String> {
    let mut words = of(text);
    words.truncate(most);
    words.sort_unstable();
    words.dedup();
    words
}

/// Between what words there are those that start with `word`: from the first on, up to the second.
pub fn bounds(word: &str) -> [String; 2] {
    // The last character that there is, and no letter: it ends no word.
    [word.to_owned(), format!("{word}\u{10ffff}")]
}

/// Makes the words anew where another program has made them, or none has yet.
///
/// All is done in one transaction: cut short, it is done again at the next start.
pub async fn complete(database: &Database) -> Result<(), sqlx::Error> {
    const STATE: &str = "SELECT form FROM words_state WHERE id = 1";
    let form: i64 = sqlx::query_scalar(STATE).fetch_one(database.readers()).await?;
    if form == FORM {
        return Ok(());
    }
    let mut write = database.write().await?;
    // Another may have done it meanwhile.
    let form: i64 = sqlx::query_scalar(STATE).fetch_one(&mut *write).await?;
    if form == FORM {
        return Ok(());
    }
    for (index, texts) in [
        (
            Index::Own,
            "SELECT k.id, s.name, k.name, v.description, v.search_text
             FROM skills k JOIN scopes s ON s.id = k.scope_id
             JOIN versions v ON v.skill_id = k.id AND v.version = k.current_version
             WHERE k.id > $1 ORDER BY k.id LIMIT $2",
        ),
        (
            Index::Mirrored,
            "SELECT k.id, k.scope, k.name, k.description, coalesce(v.search_text, '')
             FROM mirrored_skills k LEFT JOIN mirrored_versions v
             ON v.skill_id = k.id AND v.version = k.current_version
             WHERE k.id > $1 AND k.current_version IS NOT NULL ORDER BY k.id LIMIT $2",
        ),
    ] {
        let mut last = 0;
        loop {
            let rows: Vec<(i64, String, String, String, String)> =
                sqlx::query_as(texts).bind(last).bind(SKILLS).fetch_all(&mut *write).await?;
            let Some((newest, ..)) = rows.last() else { break };
            last = *newest;
            for (skill, scope, name, description, capabilities) in &rows {
                let name = QualifiedName::from_wire(scope, name)
                    .map_err(|error| sqlx::Error::Decode(Box::new(error)))?;
                let texts = Texts { name: &name, description, capabilities };
                index.put(&mut write, *skill, Some(&texts)).await?;
            }
        }
    }
    sqlx::query("UPDATE words_state SET form = $1 WHERE id = 1")
        .bind(FORM)
        .execute(&mut *write)
        .await?;
    write.commit().await
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_a_query_language_would_obey_is_plain_text() {
        for (text, expected) in [
            ("wait list", &["list", "wait"][..]),
            (r#"a"b"#, &["a", "b"]),
            ("*", &[]),
            ("NEAR(a b) a", &["a", "b", "near"]),
            ("name:x OR y%_", &["name", "or", "x", "y"]),
            ("été\0-x", &["ete", "x"]),
            ("\"\"", &[]),
        ] {
            assert_eq!(asked(text, 16), expected, "{text:?}");
        }
        assert_eq!(asked(&"w v ".repeat(100), 3), ["v", "w"]);
    }

    #[test]
    fn words_are_folded_and_bounded() {
        assert_eq!(of("Straße ÉTÉ İstanbul Ångström"), ["straße", "ete", "istanbul", "angstrom"]);
        assert_eq!(of("pdf-tools_2 日本語 v1.2"), ["pdf", "tools", "2", "日本語", "v1", "2"]);
        assert_eq!(of(&"x".repeat(1000)), ["x".repeat(MAX_LENGTH)]);
    }

    #[test]
    fn a_word_has_the_best_place_where_it_stands() {
        let name = "acme/plan".parse().unwrap();
        let texts = Texts { name: &name, description: "Plan a day", capabilities: "day hour" };
        let mut words = texts.words();
        words.sort();
        let place = |word: &str, place| (word.to_owned(), place);
        let expected =
            [place("a", 1), place("acme", 2), place("day", 1), place("hour", 0), place("plan", 2)];
        assert_eq!(words, expected);
    }
}
