//! `GET /v1/skills/{scope}/{name}`.

use reqwest::{Method, StatusCode};
use skillpkg_schema::wire::Document;

use crate::support::{TestRegistry, json, problem};

#[tokio::test]
async fn a_document_is_answered_again_only_where_it_changed() {
    let registry = TestRegistry::start().await;
    let ana = registry.author("ana").await;
    registry.published(&ana, "waitlist", "1.0.0").await;
    let path = "/v1/skills/_/waitlist";
    let first = registry.get(path, None).await;
    let tag = first.headers()["etag"].clone();
    let asked = registry.request(Method::GET, path, None).header("if-none-match", &tag);
    let again = asked.send().await.unwrap();
    assert_eq!((again.status().as_u16(), &again.headers()["etag"]), (304, &tag));
    assert!(again.bytes().await.unwrap().is_empty());
    registry.published(&ana, "waitlist", "1.1.0").await;
    let asked = registry.request(Method::GET, path, None).header("if-none-match", &tag);
    let document: Document = json(asked.send().await.unwrap(), StatusCode::OK).await;
    let versions: Vec<String> =
        document.versions.iter().map(|entry| entry.version.to_string()).collect();
    assert_eq!(versions, ["1.0.0", "1.1.0"]);
    assert!(!document.private);
}

#[tokio::test]
async fn the_description_is_that_of_the_newest_release() {
    let registry = TestRegistry::start().await;
    let ana = registry.author("ana").await;
    for version in ["1.10.0", "1.9.0", "2.0.0-rc.1"] {
        registry.published(&ana, "waitlist", version).await;
    }
    let current: String = sqlx::query_scalar("SELECT current_version FROM skills")
        .fetch_one(registry.data().database.readers())
        .await
        .unwrap();
    assert_eq!(current, "1.10.0");
}

#[tokio::test]
async fn what_is_no_name_is_refused_and_what_is_not_there_is_not_found() {
    let registry = TestRegistry::start().await;
    for wrong in [
        "_/..%2fx",
        "_/%252e%252e",
        "..%5c/x",
        "_/%00",
        "_/UPPER",
        "_/con",
        "_/%D0%B0bc",
        "registry/x",
        "_/%E2%80%AEx",
        "_/%F0%9F%98%80",
    ] {
        problem(registry.get(&format!("/v1/skills/{wrong}"), None).await, 400, "invalid_name")
            .await;
    }
    let long = format!("/v1/skills/_/{}", "a".repeat(5_000));
    problem(registry.get(&long, None).await, 400, "invalid_name").await;
    problem(registry.get("/v1/skills/_/%ff", None).await, 400, "invalid_request").await;
    problem(registry.get("/v1/skills/_/nothing", None).await, 404, "not_found").await;
}

#[tokio::test]
async fn readers_see_every_version_at_once_while_others_publish() {
    let registry = TestRegistry::start().await;
    let ana = registry.author("ana").await;
    registry.published(&ana, "waitlist", "0.0.1").await;
    let path = "/v1/skills/_/waitlist";
    for patch in 2..12_usize {
        let reads = (0..4).map(|_| registry.get(path, None));
        let version = format!("0.0.{patch}");
        let (_, reads) = tokio::join!(
            registry.published(&ana, "waitlist", &version),
            futures_util::future::join_all(reads)
        );
        assert!(reads.iter().all(|read| read.status() == 200));
        let document: Document = json(registry.get(path, None).await, StatusCode::OK).await;
        assert_eq!(document.versions.len(), patch);
    }
}
