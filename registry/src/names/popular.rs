//! Which names many use: those are what others are made to look like.

use std::fs;
use std::io::{self, Read as _};
use std::path::{Path, PathBuf};
use std::sync::{Arc, Mutex, PoisonError};
use std::time::{Duration, Instant};

use skillpkg_schema::SkillName;
use skillpkg_schema::name::NameError;

use super::likeness::Names;
use crate::clock;
use crate::database::Database;

/// Downloads that make a name popular.
pub const POPULAR_DOWNLOADS: i64 = 500;
/// Versions that make a name popular which is there for [`POPULAR_DAYS`] days.
pub const POPULAR_VERSIONS: i64 = 10;
/// How old a name of many versions is.
pub const POPULAR_DAYS: u32 = 30;
/// Most names that others are compared with, the most downloaded of them.
const MOST_NAMES: i64 = 50_000;
/// Most bytes of a list.
const MAX_LIST_BYTES: u64 = 4 * 1024 * 1024;

/// Why an operator's list is not read.
#[derive(Debug, thiserror::Error)]
pub enum ListError {
    /// Not read.
    #[error("`{}` cannot be read: {source}", .path.display())]
    Io {
        /// The file.
        path: PathBuf,
        /// Why.
        source: io::Error,
    },
    /// Longer than is read.
    #[error("`{}` is longer than the {MAX_LIST_BYTES} bytes that are read of it", .0.display())]
    TooLong(PathBuf),
    /// A line that is no name.
    #[error("`{}`, line {line}: {source}", .path.display())]
    Name {
        /// The file.
        path: PathBuf,
        /// The line, from 1.
        line: usize,
        /// What is wrong with it.
        source: NameError,
    },
}

/// Reads a list of bare names, one a line; empty lines and those that start with `#` are none.
pub fn read_list(path: &Path) -> Result<Vec<SkillName>, ListError> {
    let failed = |source| ListError::Io { path: path.to_owned(), source };
    let mut text = String::new();
    let file = fs::File::open(path).map_err(failed)?;
    file.take(MAX_LIST_BYTES + 1).read_to_string(&mut text).map_err(failed)?;
    if text.len() as u64 > MAX_LIST_BYTES {
        return Err(ListError::TooLong(path.to_owned()));
    }
    let lines = text.lines().map(str::trim).enumerate();
    lines
        .filter(|(_, line)| !line.is_empty() && !line.starts_with('#'))
        .map(|(at, line)| {
            line.parse().map_err(|source| ListError::Name {
                path: path.to_owned(),
                line: at + 1,
                source,
            })
        })
        .collect()
}

/// The popular names, as they were a moment ago.
#[derive(Debug)]
pub struct Popular {
    listed: Vec<SkillName>,
    /// How old what is known may be.
    fresh_for: Duration,
    known: Mutex<Option<(Instant, Arc<Names>)>>,
}

impl Popular {
    /// Those of the operator's list, and those of the database as of at most `fresh_for` ago.
    pub fn new(listed: Vec<SkillName>, fresh_for: Duration) -> Self {
        Self { listed, fresh_for, known: Mutex::default() }
    }

    /// The bare names that count as popular now.
    pub async fn names(&self, database: &Database) -> Result<Arc<Names>, sqlx::Error> {
        {
            let known = self.known.lock().unwrap_or_else(PoisonError::into_inner);
            if let Some((since, names)) = &*known
                && since.elapsed() < self.fresh_for
            {
                return Ok(Arc::clone(names));
            }
        }
        let found: Vec<String> = sqlx::query_scalar(
            "SELECT k.name FROM skills k JOIN scopes s ON s.id = k.scope_id
             LEFT JOIN downloads d ON d.skill_id = k.id
             WHERE s.name = '_' AND (d.count >= $1 OR (k.created <= $2
               AND (SELECT count(*) FROM versions v WHERE v.skill_id = k.id) >= $3))
             ORDER BY coalesce(d.count, 0) DESC, k.id LIMIT $4",
        )
        .bind(POPULAR_DOWNLOADS)
        .bind(clock::seconds_ago(POPULAR_DAYS * 86_400))
        .bind(POPULAR_VERSIONS)
        .bind(MOST_NAMES)
        .fetch_all(database.readers())
        .await?;
        let listed = self.listed.iter().map(SkillName::as_str);
        // A name that is there stands before one of the list that reads like it.
        let names: Arc<Names> = Arc::new(listed.chain(found.iter().map(String::as_str)).collect());
        let mut known = self.known.lock().unwrap_or_else(PoisonError::into_inner);
        *known = Some((Instant::now(), Arc::clone(&names)));
        Ok(names)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_list_is_read_by_lines_and_a_wrong_one_is_named() {
        let directory = tempfile::tempdir().unwrap();
        let file = directory.path().join("popular.txt");
        fs::write(&file, "# mine\nlodash\n\n  pdf-tools \n").unwrap();
        let names = read_list(&file).unwrap();
        assert_eq!(
            names.iter().map(SkillName::as_str).collect::<Vec<_>>(),
            ["lodash", "pdf-tools"]
        );
        fs::write(&file, "lodash\nLo dash\n").unwrap();
        let error = read_list(&file).unwrap_err().to_string();
        assert!(error.contains("line 2: `Lo dash` is not a name"), "{error}");
        let long = "a\n".repeat(3 * 1024 * 1024);
        fs::write(&file, long).unwrap();
        assert!(matches!(read_list(&file), Err(ListError::TooLong(_))));
        assert!(matches!(read_list(&directory.path().join("none")), Err(ListError::Io { .. })));
    }
}
