//! The schema, in steps with the same numbers on both engines.

use std::borrow::Cow;

use sqlx::migrate::{MigrateError, Migration, MigrationType, Migrator};
use sqlx::{AnyPool, SqlSafeStr as _};

use super::DatabaseError;

/// A step of the schema: its number, its name and its SQL. None needs one that is not `core`, so that
/// they may come in any order.
pub(super) type Step = (i64, &'static str, &'static str);

macro_rules! steps {
    ($engine:literal) => {
        [
            (1, "core", include_str!(concat!("../../../migrations/", $engine, "/0001_core.sql"))),
            (2, "log", include_str!(concat!("../../../migrations/", $engine, "/0002_log.sql"))),
            (
                3,
                "findings",
                include_str!(concat!("../../../migrations/", $engine, "/0003_findings.sql")),
            ),
            (4, "names", include_str!(concat!("../../../migrations/", $engine, "/0004_names.sql"))),
            (
                5,
                "owners",
                include_str!(concat!("../../../migrations/", $engine, "/0005_owners.sql")),
            ),
            (
                6,
                "mirror",
                include_str!(concat!("../../../migrations/", $engine, "/0006_mirror.sql")),
            ),
            (7, "words", include_str!(concat!("../../../migrations/", $engine, "/0007_words.sql"))),
            (8, "faces", include_str!(concat!("../../../migrations/", $engine, "/0008_faces.sql"))),
            (9, "pages", include_str!(concat!("../../../migrations/", $engine, "/0009_pages.sql"))),
            (
                10,
                "closed",
                include_str!(concat!("../../../migrations/", $engine, "/0010_closed.sql")),
            ),
            (
                11,
                "publishers",
                include_str!(concat!("../../../migrations/", $engine, "/0011_publishers.sql")),
            ),
        ]
    };
}

/// The steps of a file.
pub(super) const FILE: [Step; 11] = steps!("sqlite");
/// The steps of a server's database.
pub(super) const SERVER: [Step; 11] = steps!("postgres");

fn migrations(steps: &[Step]) -> Vec<Migration> {
    let migration = |&(number, name, sql): &Step| {
        let sql = sql.into_sql_str();
        Migration::new(number, Cow::Borrowed(name), MigrationType::Simple, sql, false)
    };
    steps.iter().map(migration).collect()
}

/// Takes the steps that were not taken.
pub(super) async fn migrate(
    pool: &AnyPool,
    place: &str,
    steps: &[Step],
) -> Result<(), DatabaseError> {
    let known = steps.iter().map(|(number, ..)| *number).max().unwrap_or(0);
    let place = place.to_owned();
    match Migrator::with_migrations(migrations(steps)).run(pool).await {
        Ok(()) => Ok(()),
        Err(MigrateError::VersionMissing(found)) => {
            Err(DatabaseError::Newer { place, found, known })
        }
        Err(MigrateError::Execute(error) | MigrateError::ExecuteMigration(error, _))
            if super::is_damaged(&error) =>
        {
            Err(DatabaseError::Damaged {
                place,
                reason: super::server::reason(&error).into_owned(),
            })
        }
        Err(source) => Err(DatabaseError::Migrate { place, source }),
    }
}

#[cfg(test)]
mod tests {
    use sqlx::any::AnyPoolOptions;

    use super::super::{Database, Place};
    use super::*;

    #[tokio::test]
    async fn a_newer_schema_is_refused_by_its_number() {
        let directory = tempfile::tempdir().unwrap();
        let place = Place::File(directory.path().join("registry.db"));
        let database = Database::open(&place).await.unwrap();
        let mut write = database.write().await.unwrap();
        sqlx::query(
            "INSERT INTO _sqlx_migrations (version, description, success, checksum, execution_time)
             VALUES (99, 'later', TRUE, x'00', 0)",
        )
        .execute(&mut *write)
        .await
        .unwrap();
        write.commit().await.unwrap();
        database.close().await;
        let error = Database::open(&place).await.unwrap_err();
        let newest = FILE.iter().map(|(number, ..)| *number).max().unwrap();
        assert!(
            matches!(error, DatabaseError::Newer { found: 99, known, .. } if known == newest),
            "{error}"
        );
    }

    #[test]
    fn the_steps_of_the_schema_stand_by_number() {
        assert!(FILE.is_sorted_by(|one, other| one.0 < other.0));
    }

    #[tokio::test]
    async fn a_step_that_comes_late_is_taken_after_those_with_higher_numbers() {
        let directory = tempfile::tempdir().unwrap();
        let path = directory.path().join("registry.db");
        sqlx::any::install_default_drivers();
        let url = format!("sqlite://{}?mode=rwc", path.display());
        let pool = AnyPoolOptions::new().connect(&url).await.unwrap();
        let mut steps = migrations(&FILE);
        let (first, last) = (steps.remove(0), steps.remove(4));
        Migrator::with_migrations(vec![first, last]).run(&pool).await.unwrap();
        pool.close().await;
        Database::open(&Place::File(path)).await.unwrap();
    }
}
