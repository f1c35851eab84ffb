//! The same tests, each registry with its database on a server: the answers do not tell the engines
//! apart.

use std::path::Path;
use std::process::Command;

use std::time::Duration;

use skillpkg_registry::data::{Data, Places};
use skillpkg_registry::database::{Database, DatabaseError, Place, Server};
use skillpkg_registry::state::{Options, Registry};

use skillpkg_tests::postgres::{Postgres, SERVER, database_of};

use crate::support::{Skill, TestRegistry, problem};

/// What is not done again, each by the start of its name.
const ONCE: [&str; 15] = [
    // Itself, and what has a server of its own.
    "on_postgres::",
    // What they hold is no row.
    "bucket::",
    "disk::",
    // They try much, and all of it is answered before a database is asked, or by what others ask.
    "costly::",
    "crowd::",
    "overtaken::a_se",
    "paths::",
    "places::",
    "rates::",
    "stop::",
    // It reads or puts back the database's file.
    "secrets::no_token_is_in_the_database",
    "log_copies::a_database_that_is_older_than_what_was_signed_is_not_served",
    "log_copies::objects_of_a_later_state",
    // It asks nothing of a database that the others do not.
    "openapi::",
    "log_large::",
];

/// Where a test's registry keeps what it keeps.
pub(crate) fn places(directory: impl AsRef<Path>) -> Places {
    let directory = directory.as_ref();
    let database = database_of(directory).map(|url| url.parse().unwrap());
    Places { database, ..Places::from(directory) }
}

/// A server for one test; [`None`] where its programs are not here, which is told.
pub(crate) fn server(test: &str) -> Option<Postgres> {
    let server = Postgres::start();
    if server.is_none() {
        crate::skips::skipped(test, "`initdb` and `postgres` in `/usr/lib/postgresql`", true);
    }
    server
}

#[tokio::test]
async fn every_other_test_answers_the_same() {
    let Some(server) = server("every_other_test_answers_the_same") else { return };
    let template = Server::new(&server.url("skillpkg").parse().unwrap()).unwrap();
    Database::open(&Place::Server(template)).await.unwrap().close().await;
    let mut again = Command::new(std::env::current_exe().unwrap());
    for name in ONCE {
        again.args(["--skip", name]);
    }
    let output = again.env(SERVER, server.socket()).output().unwrap();
    let told = String::from_utf8_lossy(&output.stdout);
    let passed = told.lines().filter(|line| line.ends_with("... ok")).count();
    assert!(output.status.success(), "{told}\n{}", String::from_utf8_lossy(&output.stderr));
    assert!(passed > 100, "{passed} tests were found: {told}");
}

/// A registry in the server's database `skillpkg`.
fn in_server(server: &Postgres, directory: &Path) -> Places {
    let database = Some(server.url("skillpkg").parse().unwrap());
    Places { database, ..Places::from(directory) }
}

#[tokio::test]
async fn a_server_that_goes_away_is_503_and_all_goes_on_once_it_is_back() {
    let Some(mut server) = server("a_server_that_goes_away") else { return };
    let directory = tempfile::tempdir().unwrap();
    let registry =
        TestRegistry::start_at(in_server(&server, directory.path()), Options::default()).await;
    let ana = registry.author("ana").await;
    registry.scope("acme", &ana, true).await;
    registry.published(&ana, "acme/hidden", "1.0.0").await;
    let hidden = "/v1/skills/acme/hidden";
    assert_eq!(registry.get(hidden, Some(&ana.token)).await.status(), 200);
    let first = registry.published(&ana, "waitlist", "1.0.0").await;
    let archive = format!("/v1/archives/{}", first.digests.sha256.address());
    for path in ["/v1/skills/_/waitlist", &archive] {
        assert_eq!(registry.get(path, None).await.status(), 200);
    }
    server.kill();
    // What is in memory is served; what asks the database, and what changes it, is to come back.
    assert_eq!(registry.get("/v1/skills/_/waitlist", None).await.status(), 200);
    let search = registry.get("/v1/search?q=wait", None).await;
    assert!(search.headers().contains_key("retry-after"));
    let refused = problem(search, 503, "unavailable").await;
    assert!(!refused.detail.contains("postgres"), "{}", refused.detail);
    assert!(refused.detail.contains("database does not answer"), "{}", refused.detail);
    // Known to be away, it costs no request any wait; and who sends a token is served as well what
    // anybody may read, whether or not the token is a valid one.
    tokio::time::sleep(Duration::from_millis(2_500)).await;
    for path in ["/v1/search?q=wait", "/v1/skills/_/absent", "/readyz", "/v1/tokens"] {
        for token in [None, Some(ana.token.as_str())] {
            if path == "/v1/tokens" && token.is_none() {
                continue;
            }
            let start = std::time::Instant::now();
            let refused = problem(registry.get(path, token).await, 503, "unavailable").await;
            assert!(refused.detail.contains("database does not answer"), "{}", refused.detail);
            assert!(start.elapsed() < Duration::from_millis(1_500), "{:?}", start.elapsed());
        }
    }
    for token in [ana.token.clone(), format!("skp_{}", "0".repeat(64))] {
        let answer = registry.get("/v1/skills/_/waitlist", Some(&token)).await;
        assert_eq!(answer.status(), 200);
        assert_eq!(registry.get(&archive, Some(&token)).await.status(), 200);
        // Not said to be absent: it may be there for whoever this is.
        let answer = registry.get("/v1/skills/acme/hidden", Some(&token)).await;
        problem(answer, 503, "unavailable").await;
        problem(registry.get("/v1/tokens/self", Some(&token)).await, 503, "unavailable").await;
    }
    let next = Skill::new("waitlist", "1.1.0").pack(&ana);
    problem(registry.publish(&ana, &next).await, 503, "unavailable").await;
    assert_eq!(registry.get("/readyz", None).await.status(), 503);
    server.resume();
    let mut status = registry.publish(&ana, &next).await.status();
    for _ in 0..40 {
        if status == 201 || status == 200 {
            break;
        }
        assert_eq!(status, 503);
        tokio::time::sleep(Duration::from_millis(250)).await;
        status = registry.publish(&ana, &next).await.status();
    }
    assert!(status.is_success(), "{status}");
    registry.published(&ana, "waitlist", "1.2.0").await;
    let report = skillpkg_registry::upkeep::verify(registry.data()).await.unwrap();
    assert_eq!(report.problems, []);
}

#[tokio::test]
async fn a_second_server_on_a_database_is_refused_and_told_who_has_it() {
    let Some(server) = server("a_second_server_on_a_database") else { return };
    let directory = tempfile::tempdir().unwrap();
    let (one, two) = (directory.path().join("one"), directory.path().join("two"));
    let mut registry = TestRegistry::start_at(in_server(&server, &one), Options::default()).await;
    let ana = registry.author("ana").await;
    registry.published(&ana, "waitlist", "1.0.0").await;
    // The keys go along: it is the lease alone that refuses.
    std::fs::create_dir_all(two.join("log")).unwrap();
    for entry in std::fs::read_dir(one.join("log")).unwrap() {
        let entry = entry.unwrap();
        std::fs::copy(entry.path(), two.join("log").join(entry.file_name())).unwrap();
    }
    let other = Data::open_or_create(in_server(&server, &two)).await.unwrap();
    let refused = Registry::open(other.clone(), Options::default()).await.unwrap_err().to_string();
    let process = format!("by skillpkg-registry process {} since 20", std::process::id());
    assert!(refused.contains("already served") && refused.contains(&process), "{refused}");
    other.database.close().await;
    registry.stop().await;
    TestRegistry::start_at(in_server(&server, &one), Options::default()).await.stop().await;
}

#[tokio::test]
async fn a_directory_goes_with_one_kind_of_database_and_a_newer_schema_with_none() {
    let Some(server) = server("a_directory_goes_with_one_kind_of_database") else { return };
    let directory = tempfile::tempdir().unwrap();
    let (of_file, of_server) = (directory.path().join("file"), directory.path().join("server"));
    Data::open_or_create(&of_file).await.unwrap();
    let refused = Data::open(in_server(&server, &of_file)).await.unwrap_err().to_string();
    assert!(refused.contains("goes with the database in it"), "{refused}");
    // An operator's slip makes no registry, neither here nor on the server.
    let missing = Data::open(in_server(&server, &of_server)).await.unwrap_err().to_string();
    assert!(missing.contains("holds no registry") && !of_server.exists(), "{missing}");
    let data = Data::open_or_create(in_server(&server, &of_server)).await.unwrap();
    let refused = Data::open_or_create(&of_server).await.unwrap_err().to_string();
    assert!(refused.contains("/skillpkg") && refused.contains("`--database`"), "{refused}");
    // Nor is another database taken for the one that it goes with, by whatever command.
    let note = of_server.join("database-server");
    let noted = std::fs::read_to_string(&note).unwrap();
    let database = Some(server.url("postgres").parse().unwrap());
    let another = Places { database, ..Places::from(&of_server) };
    for refused in [Data::open(another.clone()).await, Data::open_or_create(another).await] {
        let refused = refused.unwrap_err().to_string();
        assert!(refused.contains("database-server"), "{refused}");
    }
    assert_eq!(std::fs::read_to_string(&note).unwrap(), noted);
    let mut write = data.database.write().await.unwrap();
    sqlx::query(
        "INSERT INTO _sqlx_migrations (version, description, success, checksum, execution_time)
         VALUES (99, 'later', TRUE, decode('00', 'hex'), 0)",
    )
    .execute(&mut *write)
    .await
    .unwrap();
    write.commit().await.unwrap();
    let place = Place::Server(Server::new(&server.url("skillpkg").parse().unwrap()).unwrap());
    let refused = Database::open(&place).await.unwrap_err();
    assert!(matches!(refused, DatabaseError::Newer { found: 99, .. }), "{refused}");
}
