//! A log that is not as it was left: changed, or copies of several states of it.

use skillpkg_registry::data::Data;
use skillpkg_registry::log::audit;
use skillpkg_registry::state::{Options, Registry};
use skillpkg_registry::upkeep;

use crate::support::TestRegistry;

#[tokio::test]
async fn a_tile_that_was_changed_is_found_by_the_audit() {
    let directory = tempfile::tempdir().unwrap();
    let mut registry = TestRegistry::start_in(directory.path(), Options::default()).await;
    let ana = registry.author("ana").await;
    for patch in 0..3 {
        registry.published(&ana, "waitlist", &format!("1.0.{patch}")).await;
    }
    let size = registry.registry.log.moment().await.size();
    registry.stop().await;
    let data = Data::open(crate::bucket::places(directory.path())).await.unwrap();
    assert_eq!(upkeep::verify(&data).await.unwrap().problems, []);
    for (path, kinds) in [
        (format!("objects/log/tile/entries/000.p/{size}"), 2..),
        (format!("objects/log/tile/0/000.p/{size}"), 1..),
        ("log/checkpoint".to_owned(), 1..),
        ("log/identities.json".to_owned(), 1..),
    ] {
        let path = directory.path().join(path);
        let sound = std::fs::read(&path).unwrap();
        let mut changed = sound.clone();
        let at = changed.len() / 3;
        changed[at] ^= 1;
        std::fs::write(&path, &changed).unwrap();
        let found = audit::audit_data(&data).await.unwrap().problems.len();
        assert!(kinds.contains(&found) || found > 0, "{}: {found}", path.display());
        std::fs::remove_file(&path).unwrap();
        assert_ne!(audit::audit_data(&data).await.unwrap().problems, [], "{}", path.display());
        std::fs::write(&path, &sound).unwrap();
    }
    assert_eq!(audit::audit_data(&data).await.unwrap().problems, []);
    // A row that says something else than its leaf.
    for (change, back) in [
        ("UPDATE versions SET archive = address WHERE version = '1.0.1'", None),
        ("DELETE FROM log_heads", None),
        (
            "UPDATE versions SET yank_reason = 'unheard' WHERE version = '1.0.2'",
            Some("UPDATE versions SET yank_reason = NULL"),
        ),
    ] {
        let mut write = data.database.write().await.unwrap();
        sqlx::query(change).execute(&mut *write).await.unwrap();
        write.commit().await.unwrap();
        assert_ne!(audit::audit_data(&data).await.unwrap().problems, [], "{change}");
        if let Some(back) = back {
            let mut write = data.database.write().await.unwrap();
            sqlx::query(back).execute(&mut *write).await.unwrap();
            write.commit().await.unwrap();
        }
    }
    data.database.close().await;
}

#[tokio::test]
async fn a_database_that_is_older_than_what_was_signed_is_not_served() {
    let directory = tempfile::tempdir().unwrap();
    let mut registry = TestRegistry::start_in(directory.path(), Options::default()).await;
    let ana = registry.author("ana").await;
    registry.stop().await;
    let kept = std::fs::read(directory.path().join("registry.db")).unwrap();
    let mut registry = TestRegistry::start_in(directory.path(), Options::default()).await;
    registry.published(&ana, "waitlist", "1.0.0").await;
    registry.stop().await;
    std::fs::write(directory.path().join("registry.db"), kept).unwrap();
    let data = Data::open(crate::bucket::places(directory.path())).await.unwrap();
    let error = Registry::open(data.clone(), Options::default()).await.unwrap_err().to_string();
    assert!(
        error.contains("an older copy") && error.contains("4 leaves") == error.contains("knows 4"),
        "{error}"
    );
    let report = upkeep::verify(&data).await.unwrap();
    let told = report.problems.iter().find(|damage| damage.subject == "log/checkpoint");
    let told = &told.unwrap().detail;
    assert!(told.contains("older copy") && told.contains("restore one"), "{told}");
    data.database.close().await;
}

#[tokio::test]
async fn a_log_whose_keys_are_gone_is_not_begun_anew() {
    let directory = tempfile::tempdir().unwrap();
    let mut registry = TestRegistry::start_in(directory.path(), Options::default()).await;
    registry.stop().await;
    std::fs::remove_file(directory.path().join("log/identities.json")).unwrap();
    let data = Data::open(crate::bucket::places(directory.path())).await.unwrap();
    let error = Registry::open(data.clone(), Options::default()).await.unwrap_err().to_string();
    assert!(error.contains("identities.json"), "{error}");
    data.database.close().await;
}

#[tokio::test]
async fn objects_of_a_later_state_than_the_database_are_told_before_anything_is_served() {
    let directory = tempfile::tempdir().unwrap();
    let (data, old) = (directory.path().join("data"), directory.path().join("old"));
    let mut registry = TestRegistry::start_in(&data, Options::default()).await;
    let ana = registry.author("ana").await;
    registry.published(&ana, "waitlist", "1.0.0").await;
    registry.stop().await;
    skillpkg_tests::copy_all(&data, &old);
    let mut registry = TestRegistry::start_in(&data, Options::default()).await;
    registry.published(&ana, "waitlist", "1.1.0").await;
    registry.stop().await;
    // The bucket of the newer state, and all else of the older.
    std::fs::remove_dir_all(old.join("objects")).unwrap();
    skillpkg_tests::copy_all(&data.join("objects"), &old.join("objects"));
    let restored = Data::open(&old).await.unwrap();
    let report = upkeep::verify(&restored).await.unwrap();
    assert!(
        report.problems.iter().any(|damage| damage.detail.contains("older copies")),
        "{report:?}"
    );
    let refused = Registry::open(restored, Options::default()).await.unwrap_err().to_string();
    assert!(refused.contains("older copies"), "{refused}");
    let whole = Data::open(&data).await.unwrap();
    assert_eq!(upkeep::verify(&whole).await.unwrap().problems, []);
}
