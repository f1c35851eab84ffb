//! A publish that ends at any step leaves objects that no row names, never a row without its bytes.

use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::Duration;

use reqwest::StatusCode;
use skillpkg_registry::data::Data;
use skillpkg_registry::skills::publish::Step;
use skillpkg_registry::state::Options;
use skillpkg_registry::upkeep;
use skillpkg_schema::wire::Document;

use crate::support::{Skill, TestRegistry, failing_at, json, published};

#[tokio::test]
async fn a_publish_cut_short_is_wholly_there_or_wholly_not() {
    for step in Step::ALL {
        let directory = tempfile::tempdir().unwrap();
        let armed = Arc::new(AtomicBool::new(false));
        let mut registry = TestRegistry::start_in(directory.path(), failing_at(step, &armed)).await;
        let ana = registry.author("ana").await;
        registry.published(&ana, "waitlist", "1.0.0").await;
        armed.store(true, Ordering::SeqCst);
        let packed = Skill::new("waitlist", "1.1.0").with_file("new.md", "New.\n").pack(&ana);
        assert_eq!(registry.publish(&ana, &packed).await.status(), 503, "{step:?}");
        registry.stop().await;

        let again = TestRegistry::start_in(directory.path(), Options::default()).await;
        assert_eq!(std::fs::read_dir(again.data().temporary()).unwrap().count(), 0);
        let document: Document =
            json(again.get("/v1/skills/_/waitlist", None).await, StatusCode::OK).await;
        let position = |step| Step::ALL.iter().position(|other| *other == step);
        let visible = position(step) >= position(Step::Committed);
        assert_eq!(document.versions.len(), 1 + usize::from(visible), "{step:?}");
        let report = upkeep::verify(again.data()).await.unwrap();
        assert_eq!(report.problems, [], "{step:?}");
        // What was left is removed, and what is named is not.
        let removal = upkeep::remove_orphans(again.data(), Duration::ZERO, false).await.unwrap();
        let left = matches!(step, Step::FilesPut | Step::ArchivePut | Step::RowsWritten);
        assert_eq!(removal.removed > 0, left, "{step:?} {removal:?}");
        let report = upkeep::verify(again.data()).await.unwrap();
        assert_eq!(report.problems, [], "{step:?}");
        let status = if visible { StatusCode::OK } else { StatusCode::CREATED };
        published(again.publish(&ana, &packed).await, status).await;
    }
}

#[tokio::test]
async fn objects_are_removed_only_where_no_publish_comes_to_name_them() {
    let registry = TestRegistry::start().await;
    let ana = registry.author("ana").await;
    let data: Data = registry.data().clone();
    let stop = Arc::new(AtomicBool::new(false));
    let stopped = Arc::clone(&stop);
    let removing = tokio::spawn(async move {
        while !stopped.load(Ordering::SeqCst) {
            upkeep::remove_orphans(&data, Duration::ZERO, false).await.unwrap();
            tokio::time::sleep(Duration::from_millis(30)).await;
        }
    });
    for patch in 0..25 {
        let version = format!("1.0.{patch}");
        let packed = Skill::new("waitlist", &version)
            .with_file("a.md", format!("a {patch}"))
            .with_file("b.md", format!("b {patch}"))
            .pack(&ana);
        for attempt in 0.. {
            let answer = registry.publish(&ana, &packed).await;
            match answer.status().as_u16() {
                201 => break,
                503 if attempt < 100 => {}
                other => panic!("{other}: {}", answer.text().await.unwrap()),
            }
        }
    }
    stop.store(true, Ordering::SeqCst);
    removing.await.unwrap();
    let report = upkeep::verify(registry.data()).await.unwrap();
    assert_eq!(report.problems, []);
    assert_eq!(report.checked, 25 * 5);
}

#[tokio::test]
async fn what_a_kill_has_left_in_the_storage_is_removed_once_it_is_old() {
    let registry = TestRegistry::start().await;
    let ana = registry.author("ana").await;
    registry.published(&ana, "waitlist", "1.0.0").await;
    let objects = registry.objects();
    let digits = "ab".repeat(32);
    std::fs::create_dir_all(objects.join("blobs/sha256/ab")).unwrap();
    std::fs::create_dir_all(objects.join("staging")).unwrap();
    for left in [
        format!("blobs/sha256/ab/{digits}#1"),
        format!("blobs/sha256/ab/{digits}"),
        "staging/cd".to_owned(),
    ] {
        std::fs::write(objects.join(left), "half").unwrap();
    }
    let day = Duration::from_hours(24);
    let removal = upkeep::remove_orphans(registry.data(), day, false).await.unwrap();
    assert_eq!((removal.removed, removal.young), (0, 2));
    let removal = upkeep::remove_orphans(registry.data(), Duration::ZERO, true).await.unwrap();
    assert_eq!((removal.removed, removal.bytes), (2, 8));
    let removal = upkeep::remove_orphans(registry.data(), Duration::ZERO, false).await.unwrap();
    assert_eq!((removal.removed, removal.bytes), (3, 12));
    let report = upkeep::verify(registry.data()).await.unwrap();
    assert_eq!((report.problems.len(), report.checked), (0, 3));
}
