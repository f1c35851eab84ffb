//! What an operator deletes: it is served no more, its number is never given again, and its name to
//! nobody else for a while.

use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::Duration;

use reqwest::{Method, StatusCode};
use skillpkg_registry::data::Data;
use skillpkg_registry::names::ChangeError;
use skillpkg_registry::names::deletion::{self, Deletion};
use skillpkg_registry::names::transfer::transfer;
use skillpkg_registry::upkeep::UpkeepError;
use skillpkg_registry::{attendance, upkeep};
use skillpkg_schema::wire::{Document, Owners};

use crate::support::{Author, Packed, Skill, TestRegistry, json, problem, published};

/// Deletes as the operator's command does, and lets the registry learn of it.
async fn delete(registry: &TestRegistry, what: &str) -> Result<Deletion, ChangeError> {
    let (name, version) = match what.split_once('@') {
        Some((name, version)) => (name, Some(version.parse().unwrap())),
        None => (what, None),
    };
    let name = name.parse().unwrap();
    let database = &registry.data().database;
    let deletion = deletion::delete(database, &name, version.as_ref(), "it sends keys away").await;
    registry.registry.documents.forget(&name);
    registry.registry.contents.forget_public();
    deletion
}

async fn document(registry: &TestRegistry, name: &str) -> Document {
    json(registry.get(&format!("/v1/skills/_/{name}"), None).await, StatusCode::OK).await
}

/// Every route that hands out something of a version, and `notes.md` of it.
fn places(packed: &Packed) -> Vec<String> {
    let notes = packed.manifest.file("notes.md").unwrap();
    vec![
        format!("/v1/manifests/{}", packed.address()),
        format!("/v1/manifests/{}/signatures", packed.address()),
        format!("/v1/archives/{}", packed.digests.sha256),
        format!("/v1/blobs/{}", notes.sha256.address()),
        format!("/v1/blobs/{}", notes.blake3.address()),
    ]
}

fn with_notes(name: &str, version: &str, author: &Author) -> Packed {
    Skill::new(name, version).with_file("notes.md", format!("Notes of {version}.\n")).pack(author)
}

/// As if the name had been deleted this many days ago.
async fn long_ago(registry: &TestRegistry, days: u32) {
    let mut write = registry.data().database.write().await.unwrap();
    sqlx::query("UPDATE deleted_names SET deleted = $1")
        .bind(skillpkg_registry::clock::seconds_ago(days * 86_400))
        .execute(&mut *write)
        .await
        .unwrap();
    write.commit().await.unwrap();
}

#[tokio::test]
async fn a_deleted_version_is_served_no_more_and_its_readers_are_told_why() {
    let registry = TestRegistry::start().await;
    let ana = registry.author("ana").await;
    let kept = with_notes("waitlist", "1.0.0", &ana);
    let gone = with_notes("waitlist", "1.1.0", &ana);
    for packed in [&kept, &gone] {
        published(registry.publish(&ana, packed).await, StatusCode::CREATED).await;
        for place in places(packed) {
            assert_eq!(registry.get(&place, None).await.status(), 200, "{place}");
        }
    }
    let deletion = delete(&registry, "waitlist@1.1.0").await.unwrap();
    assert_eq!(deletion.versions, 1);
    for place in places(&gone) {
        problem(registry.get(&place, None).await, 404, "not_found").await;
    }
    for place in places(&kept) {
        assert_eq!(registry.get(&place, None).await.status(), 200, "{place}");
    }
    let document = document(&registry, "waitlist").await;
    assert_eq!(document.versions.len(), 1);
    assert_eq!(document.deleted.len(), 1);
    let deleted = &document.deleted[0];
    assert_eq!((deleted.address, deleted.reason.as_str()), (gone.address(), "it sends keys away"));
    let found = registry.get("/v1/search?q=waitlist", None).await.text().await.unwrap();
    assert!(found.contains("1.0.0") && !found.contains("1.1.0"), "{found}");
    let again = delete(&registry, "waitlist@1.1.0").await.unwrap_err();
    assert!(matches!(again, ChangeError::Deleted { .. }), "{again}");
    let never = delete(&registry, "waitlist@7.0.0").await.unwrap_err();
    assert!(matches!(never, ChangeError::UnknownVersion { .. }), "{never}");
    let unknown = delete(&registry, "nothing").await.unwrap_err();
    assert!(matches!(unknown, ChangeError::UnknownName(_)), "{unknown}");
    for reason in ["", "a\u{1b}[31m", &"x".repeat(501)] {
        let name = "waitlist".parse().unwrap();
        let refused = deletion::delete(&registry.data().database, &name, None, reason).await;
        assert!(matches!(refused, Err(ChangeError::Refused(_))), "{reason:?}");
    }
}

#[tokio::test]
async fn the_number_of_a_deleted_version_is_never_given_again() {
    let registry = TestRegistry::start().await;
    let ana = registry.author("ana").await;
    let first = with_notes("waitlist", "1.0.0", &ana);
    published(registry.publish(&ana, &first).await, StatusCode::CREATED).await;
    delete(&registry, "waitlist@1.0.0").await.unwrap();
    // Neither the same content, nor another, nor under another build.
    for packed in [
        first,
        Skill::new("waitlist", "1.0.0").pack(&ana),
        Skill::new("waitlist", "1.0.0+other").pack(&ana),
    ] {
        let refused = registry.publish(&ana, &packed).await;
        let refused = problem(refused, 409, "version_deleted").await;
        assert!(refused.detail.contains("it sends keys away"), "{}", refused.detail);
    }
    registry.published(&ana, "waitlist", "1.0.1").await;
    assert_eq!(document(&registry, "waitlist").await.deleted.len(), 1);
}

#[tokio::test]
async fn a_deleted_name_is_given_to_nobody_else_for_ninety_days_and_its_versions_never() {
    let registry = TestRegistry::start().await;
    let (ana, ben) = (registry.author("ana").await, registry.author("ben").await);
    for version in ["1.0.0", "1.1.0"] {
        registry.published(&ana, "waitlist", version).await;
    }
    assert_eq!(delete(&registry, "waitlist").await.unwrap().versions, 2);
    assert!(matches!(delete(&registry, "waitlist").await, Err(ChangeError::Deleted { .. })));
    let gone = document(&registry, "waitlist").await;
    assert_eq!((gone.versions.len(), gone.deleted.len()), (0, 2));
    let found = registry.get("/v1/search?q=", None).await.text().await.unwrap();
    assert!(!found.contains("waitlist"), "{found}");

    let bens = Skill::new("waitlist", "2.0.0").pack(&ben);
    for days in [0, 1, 89] {
        long_ago(&registry, days).await;
        let refused = problem(registry.publish(&ben, &bens).await, 409, "name_deleted").await;
        assert!(refused.detail.contains("name transfer waitlist"), "{}", refused.detail);
    }
    // A name that reads like it is not free either.
    let alike = Skill::new("wait1ist", "2.0.0").pack(&ben);
    problem(registry.publish(&ben, &alike).await, 409, "name_taken").await;
    long_ago(&registry, 91).await;
    let taken = Skill::new("waitlist", "1.1.0").pack(&ben);
    problem(registry.publish(&ben, &taken).await, 409, "version_deleted").await;
    published(registry.publish(&ben, &bens).await, StatusCode::CREATED).await;
    let owners: Owners =
        json(registry.get("/v1/skills/_/waitlist/owners", None).await, StatusCode::OK).await;
    assert_eq!(owners.owners, ["ben"]);
    let anas = Skill::new("waitlist", "3.0.0").pack(&ana);
    problem(registry.publish(&ana, &anas).await, 403, "not_an_owner").await;
    assert_eq!(document(&registry, "waitlist").await.deleted.len(), 2);
}

#[tokio::test]
async fn who_owned_a_deleted_name_may_go_on_and_an_operator_gives_it_to_others() {
    let registry = TestRegistry::start().await;
    let (ana, ben) = (registry.author("ana").await, registry.author("ben").await);
    registry.published(&ana, "waitlist", "1.0.0").await;
    delete(&registry, "waitlist").await.unwrap();
    registry.published(&ana, "waitlist", "1.0.1").await;
    // It is one again, and its owner's.
    let bens = Skill::new("waitlist", "2.0.0").pack(&ben);
    problem(registry.publish(&ben, &bens).await, 403, "not_an_owner").await;
    delete(&registry, "waitlist").await.unwrap();
    let database = &registry.data().database;
    transfer(database, &"waitlist".parse().unwrap(), "ben").await.unwrap();
    problem(
        registry.publish(&ana, &Skill::new("waitlist", "3.0.0").pack(&ana)).await,
        409,
        "name_deleted",
    )
    .await;
    published(registry.publish(&ben, &bens).await, StatusCode::CREATED).await;
    for (name, user) in [("waitlist", "zoe"), ("nothing", "ben"), ("acme/waitlist", "ben")] {
        assert!(transfer(database, &name.parse().unwrap(), user).await.is_err(), "{name} {user}");
    }
}

#[tokio::test]
async fn a_deleted_name_of_a_private_scope_stays_hidden() {
    let registry = TestRegistry::start().await;
    let (ana, ben) = (registry.author("ana").await, registry.author("ben").await);
    registry.scope("secret", &ana, true).await;
    registry.published(&ana, "secret/plan", "1.0.0").await;
    delete(&registry, "secret/plan").await.unwrap();
    for token in [None, Some(ben.token.as_str())] {
        problem(registry.get("/v1/skills/secret/plan", token).await, 404, "not_found").await;
    }
    let packed = Skill::new("secret/plan", "2.0.0").pack(&ben);
    problem(registry.publish(&ben, &packed).await, 403, "scope_refused").await;
    let seen = registry.get("/v1/skills/secret/plan", Some(&ana.token)).await;
    assert_eq!(json::<Document>(seen, StatusCode::OK).await.deleted.len(), 1);
    registry.published(&ana, "secret/plan", "2.0.0").await;
}

#[tokio::test]
async fn what_only_deleted_versions_held_is_removed_and_the_rest_is_whole() {
    let registry = TestRegistry::start().await;
    let ana = registry.author("ana").await;
    let shared = |version: &str, own: &str| {
        Skill::new("waitlist", version).with_file("shared.md", "Shared.\n").with_file("own.md", own)
    };
    for (version, own) in [("1.0.0", "one"), ("1.1.0", "two")] {
        let packed = shared(version, own).pack(&ana);
        published(registry.publish(&ana, &packed).await, StatusCode::CREATED).await;
    }
    delete(&registry, "waitlist@1.1.0").await.unwrap();
    assert_eq!(upkeep::verify(registry.data()).await.unwrap().problems, []);
    // Archive, manifest, `SKILL.md`, which says the version, and `own.md`.
    let removal = upkeep::remove_orphans(registry.data(), Duration::ZERO, false).await.unwrap();
    assert_eq!(removal.removed, 4);
    let report = upkeep::verify(registry.data()).await.unwrap();
    assert_eq!((report.problems.len(), report.checked), (0, 5));
    // What was removed is put again where another version holds it.
    let packed = shared("1.2.0", "two").pack(&ana);
    published(registry.publish(&ana, &packed).await, StatusCode::CREATED).await;
    assert_eq!(upkeep::verify(registry.data()).await.unwrap().problems, []);
}

#[tokio::test]
async fn a_publish_and_a_deletion_at_once_leave_no_row_without_its_bytes() {
    let registry = TestRegistry::start().await;
    let ana = registry.author("ana").await;
    registry.published(&ana, "waitlist", "0.0.1").await;
    let data = registry.data().clone();
    let stop = Arc::new(AtomicBool::new(false));
    let stopped = Arc::clone(&stop);
    // Whatever is published is deleted and removed at once, and what it held with it.
    let deleting = tokio::spawn(async move {
        let name = "waitlist".parse().unwrap();
        while !stopped.load(Ordering::SeqCst) {
            for patch in 0..20 {
                let version = format!("1.0.{patch}").parse().unwrap();
                let _ = deletion::delete(&data.database, &name, Some(&version), "a test").await;
            }
            upkeep::remove_orphans(&data, Duration::ZERO, false).await.unwrap();
            tokio::time::sleep(Duration::from_millis(30)).await;
        }
    });
    for patch in 0..20 {
        let packed = Skill::new("waitlist", &format!("1.0.{patch}"))
            .with_file("shared.md", "The same in each.\n")
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
    deleting.await.unwrap();
    assert_eq!(upkeep::verify(registry.data()).await.unwrap().problems, []);
}

#[tokio::test]
async fn a_registry_that_serves_learns_what_another_process_deletes() {
    let registry = TestRegistry::start().await;
    let attended = registry.registry.clone();
    let attending = tokio::spawn(async move { attendance::attend(&attended).await });
    let ana = registry.author("ana").await;
    let packed = with_notes("waitlist", "1.0.0", &ana);
    published(registry.publish(&ana, &packed).await, StatusCode::CREATED).await;
    let archive = format!("/v1/archives/{}", packed.digests.sha256);
    assert_eq!(registry.get(&archive, None).await.status(), 200);
    assert_eq!(document(&registry, "waitlist").await.versions.len(), 1);
    // It looks from where it began: what was there before is nothing new.
    tokio::time::sleep(Duration::from_millis(700)).await;
    let other = registry.data().temporary().parent().unwrap().to_owned();
    let other = skillpkg_registry::data::Data::open(crate::bucket::places(&other)).await.unwrap();
    let name = "waitlist".parse().unwrap();
    deletion::delete(&other.database, &name, None, "a test").await.unwrap();
    for attempt in 0.. {
        let left = document(&registry, "waitlist").await.versions.len();
        let served = registry.request(Method::GET, &archive, None).send().await.unwrap().status();
        if left == 0 && served == 404 {
            break;
        }
        assert!(attempt < 100, "{left} versions are left, the archive answers {served}");
        tokio::time::sleep(Duration::from_millis(50)).await;
    }
    attending.abort();
}

#[tokio::test]
async fn nothing_is_removed_by_the_word_of_another_database_or_of_an_older_copy() {
    let registry = TestRegistry::start().await;
    let ana = registry.author("ana").await;
    registry.published(&ana, "waitlist", "1.0.0").await;
    let (other, unused) = (TestRegistry::start().await, TestRegistry::start().await);
    let ben = other.author("ben").await;
    for name in ["one", "two", "three", "four"] {
        other.published(&ben, name, "1.0.0").await;
    }
    let refused = async |data: &Data| {
        for dry_run in [true, false] {
            let answer = upkeep::remove_orphans(data, Duration::ZERO, dry_run).await;
            assert!(matches!(answer, Err(UpkeepError::OthersObjects)), "{answer:?}");
        }
    };
    for other in [&other, &unused] {
        let mut mixed = registry.data().clone();
        mixed.database = other.data().database.clone();
        refused(&mixed).await;
    }
    let of_own = upkeep::remove_orphans(registry.data(), Duration::ZERO, false).await.unwrap();
    assert_eq!((of_own.removed, of_own.bytes), (0, 0));
    let mut write = registry.data().database.write().await.unwrap();
    let older = "UPDATE log_state SET sealed = sealed - 1, covered = covered - 1";
    sqlx::query(older).execute(&mut *write).await.unwrap();
    write.commit().await.unwrap();
    refused(registry.data()).await;
    assert_eq!(upkeep::verify(other.data()).await.unwrap().problems, []);
}
