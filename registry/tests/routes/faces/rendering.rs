//! Containers: made with their version or later, once, and kept as long as it is.

use std::time::Duration;

use reqwest::StatusCode;
use skillpkg_registry::faces::Face;
use skillpkg_registry::names::deletion;
use skillpkg_registry::state::Options;
use skillpkg_registry::upkeep;
use skillpkg_schema::Sha256Digest;

use super::without;
use crate::mirror::{mirror, settings};
use crate::support::{Skill, TestRegistry, published};

const CONTAINERS: [&str; 3] = [
    "/s/_/pdf/1.0.0/skill.tar.gz",
    "/apm/v1/packages/_/pdf/versions/1.0.0/download",
    "/clawhub/api/v1/download?slug=pdf&ownerHandle=_&version=1.0.0",
];

async fn digests(registry: &TestRegistry) -> Vec<String> {
    let mut digests = Vec::new();
    for path in CONTAINERS {
        let answer = registry.get(path, None).await;
        assert_eq!(answer.status(), 200, "{path}");
        assert!(answer.headers()["cache-control"].to_str().unwrap().contains("immutable"));
        digests.push(Sha256Digest::of(&answer.bytes().await.unwrap()).to_string());
    }
    digests
}

async fn recorded(registry: &TestRegistry) -> i64 {
    sqlx::query_scalar("SELECT count(*) FROM renderings WHERE digest IS NOT NULL")
        .fetch_one(registry.data().database.readers())
        .await
        .unwrap()
}

fn skill() -> Skill {
    Skill::new("pdf", "1.0.0").with_file("references/guide.md", "guide\n".repeat(500))
}

#[tokio::test]
async fn what_is_made_with_a_version_is_what_would_be_made_later() {
    let directory = tempfile::tempdir().unwrap();
    let mut registry = TestRegistry::start_in(directory.path(), without(&Face::ALL)).await;
    let ana = registry.author("ana").await;
    let packed = skill().pack(&ana);
    published(registry.publish(&ana, &packed).await, StatusCode::CREATED).await;
    assert_eq!(recorded(&registry).await, 0);
    registry.stop().await;
    let later = TestRegistry::start_in(directory.path(), Options::default()).await;
    let made_later = digests(&later).await;
    assert_eq!(recorded(&later).await, 3);
    assert_eq!(digests(&later).await, made_later);

    let at_once = TestRegistry::start().await;
    let ben = at_once.author("ben").await;
    let packed = skill().pack(&ben);
    published(at_once.publish(&ben, &packed).await, StatusCode::CREATED).await;
    assert_eq!(recorded(&at_once).await, 3);
    assert_eq!(digests(&at_once).await, made_later);
}

#[tokio::test]
async fn many_requests_at_once_make_a_container_once() {
    let directory = tempfile::tempdir().unwrap();
    let mut registry = TestRegistry::start_in(directory.path(), without(&Face::ALL)).await;
    let ana = registry.author("ana").await;
    published(registry.publish(&ana, &skill().pack(&ana)).await, StatusCode::CREATED).await;
    registry.stop().await;
    let registry = TestRegistry::start_in(directory.path(), Options::default()).await;
    let ask = async || registry.get(CONTAINERS[1], None).await.status();
    let answers = tokio::join!(ask(), ask(), ask(), ask());
    assert_eq!(answers, (StatusCode::OK, StatusCode::OK, StatusCode::OK, StatusCode::OK));
    assert_eq!(recorded(&registry).await, 1);
    registry.eventually_tidy().await;
}

#[tokio::test]
async fn a_container_goes_with_its_version_and_not_before() {
    let registry = TestRegistry::start().await;
    let ana = registry.author("ana").await;
    published(registry.publish(&ana, &skill().pack(&ana)).await, StatusCode::CREATED).await;
    let before = digests(&registry).await;
    let removal = upkeep::remove_orphans(registry.data(), Duration::ZERO, false).await.unwrap();
    assert_eq!(removal.removed, 0);
    assert_eq!(digests(&registry).await, before);
    assert_eq!(upkeep::verify(registry.data()).await.unwrap().problems, []);
    let container =
        registry.objects().join("renderings/sha256").join(&before[0][..2]).join(&before[0]);
    let whole = std::fs::read(&container).unwrap();
    std::fs::write(&container, "other").unwrap();
    let problems = upkeep::verify(registry.data()).await.unwrap().problems;
    assert_eq!(problems[0].subject, format!("rendering {}", before[0]));
    std::fs::write(&container, whole).unwrap();

    let database = &registry.data().database;
    deletion::delete(database, &"pdf".parse().unwrap(), None, "a test").await.unwrap();
    assert_eq!(recorded(&registry).await, 0);
    let removal = upkeep::remove_orphans(registry.data(), Duration::ZERO, false).await.unwrap();
    assert_eq!(removal.removed, 4 + 3);
}

#[tokio::test]
async fn a_mirror_makes_of_what_it_relays_what_its_origin_serves() {
    let origin = TestRegistry::start().await;
    let ana = origin.author("ana").await;
    published(origin.publish(&ana, &skill().pack(&ana)).await, StatusCode::CREATED).await;
    let mirror = mirror(settings(&origin.url)).await;
    assert_eq!(digests(&mirror).await, digests(&origin).await);
    assert_eq!(recorded(&mirror).await, 3);
    // It has them itself from then on.
    let removal = upkeep::remove_orphans(mirror.data(), Duration::ZERO, false).await.unwrap();
    assert_eq!(removal.removed, 0);
    let index = "/s/_/pdf/.well-known/agent-skills/index.json";
    assert_eq!(mirror.get(index, None).await.status(), 200);
    let list = mirror.get("/apm/v1/packages/_/pdf/versions", None).await;
    assert!(list.text().await.unwrap().contains("1.0.0"));
    let bare = mirror.get("/clawhub/api/v1/skills/pdf", None).await;
    assert!(bare.text().await.unwrap().contains("1.0.0"));
    assert_eq!(upkeep::verify(mirror.data()).await.unwrap().problems, []);
}
