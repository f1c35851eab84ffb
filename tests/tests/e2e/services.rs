//! A registry whose database is a server's and whose objects are in a bucket, by its real binary.

use skillpkg_tests::postgres::Postgres;
use skillpkg_tests::s3::{KEY, S3Server, SECRET};
use skillpkg_tests::{TestContext, skipped};

#[test]
fn a_registry_over_postgres_and_s3_does_what_one_over_files_does() {
    let test = "a_registry_over_postgres_and_s3_does_what_one_over_files_does";
    let Some(postgres) = Postgres::start() else {
        return skipped(test, "`initdb` and `postgres` in `/usr/lib/postgresql`", true);
    };
    let Some(s3) = S3Server::start(test) else { return };
    let bucket = s3.bucket("skills");
    let (database, blobs) =
        (postgres.url("skillpkg"), format!("s3://skills/registry?endpoint=http://{}", s3.address));
    let mut context = TestContext::over(&[
        ("SKILLPKG_REGISTRY_DATABASE", database.as_str()),
        ("SKILLPKG_REGISTRY_BLOBS", blobs.as_str()),
        ("AWS_ACCESS_KEY_ID", KEY),
        ("AWS_SECRET_ACCESS_KEY", SECRET),
    ]);
    let author = context.author("ada");
    context.publish(&author, "waitlist", "1.0.0", "first", None);
    let reader = context.machine("reader");
    reader.run(&["install", "waitlist@1", "-y"]).succeeded();
    assert_eq!(reader.read(".agents/skills/waitlist/NOTES.md"), "first");
    reader.run(&["verify"]).succeeded();
    context.registry.command(&["verify"]);

    // Killed, and started again on what the two services have.
    context.registry.stop();
    context.registry.resume();
    context.publish(&author, "waitlist", "1.1.0", "second", None);
    context.publish(&author, "gone", "1.0.0", "third", None);
    reader.run(&["update", "-y"]).succeeded();
    assert_eq!(reader.read(".agents/skills/waitlist/NOTES.md"), "second");
    author.run(&["yank", "waitlist@1.1.0", "--reason", "it loses mail"]).succeeded();
    let later = context.machine("later");
    later.run(&["install", "waitlist@1", "-y"]).succeeded();
    assert_eq!(later.read(".agents/skills/waitlist/NOTES.md"), "first");

    // What was deleted goes from the bucket, and nothing else does.
    context.registry.command(&["name", "delete", "gone", "--reason", "a test"]);
    let removed = context.registry.command(&["gc", "--older-than", "0", "--json"]);
    let removed: serde_json::Value = serde_json::from_str(&removed).unwrap();
    assert!(removed["removed"].as_u64().unwrap() >= 3, "{removed}");
    context.registry.stop();
    context.registry.resume();
    context.registry.command(&["verify"]);
    context.registry.command(&["log", "verify"]);
    let newest = context.machine("newest");
    newest.run(&["install", "waitlist@=1.1.0", "-y"]).succeeded();
    newest.run(&["verify"]).succeeded();

    // Nothing of either lies beside the keys.
    let data = context.registry.data();
    assert!(!data.join("registry.db").exists() && !data.join("objects").exists());
    assert!(bucket.join("registry/log").exists() && bucket.join("registry/archives").exists());
}
