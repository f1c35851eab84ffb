//! `POST /v1/skills/{scope}/{name}/{version}/yank` and `…/unyank`.

use reqwest::{Method, StatusCode};
use serde_json::json;
use skillpkg_schema::wire::{Document, SearchAnswer};

use crate::support::{TestRegistry, json as read, problem};

#[tokio::test]
async fn a_yank_is_seen_at_once_and_can_be_taken_back() {
    let registry = TestRegistry::start().await;
    let ana = registry.author("ana").await;
    registry.published(&ana, "waitlist", "1.0.0").await;
    let packed = registry.published(&ana, "waitlist", "1.1.0").await;
    let token = Some(ana.token.as_str());
    let document = async || -> Document {
        read(registry.get("/v1/skills/_/waitlist", None).await, StatusCode::OK).await
    };
    assert!(document().await.versions[1].yanked.is_none());
    let yank = |version: &str| format!("/v1/skills/_/waitlist/{version}/yank");
    let reason = json!({"reason": "it holds a key"});
    assert_eq!(registry.send(Method::POST, &yank("1.1.0"), token, &reason).await.status(), 204);
    assert_eq!(document().await.versions[1].yanked.as_ref().unwrap().reason, "it holds a key");
    // What is locked is still restored.
    let archive = format!("/v1/archives/{}", packed.digests.sha256);
    assert_eq!(registry.get(&archive, None).await.status(), 200);
    let found: SearchAnswer =
        read(registry.get("/v1/search?q=waitlist", None).await, StatusCode::OK).await;
    assert_eq!(found.skills[0].version.to_string(), "1.0.0");
    assert_eq!(registry.send(Method::POST, &yank("1.0.0"), token, &reason).await.status(), 204);
    let found: SearchAnswer =
        read(registry.get("/v1/search?q=waitlist", None).await, StatusCode::OK).await;
    assert_eq!((found.skills.len(), found.total), (0, 0));
    let unyank = "/v1/skills/_/waitlist/1.1.0/unyank";
    assert_eq!(registry.send(Method::POST, unyank, token, &json!(null)).await.status(), 204);
    assert!(document().await.versions[1].yanked.is_none());
    // A yanked version is still there: it is not published anew.
    let again = registry.publish(&ana, &packed).await;
    assert_eq!(again.status(), 200);
}

#[tokio::test]
async fn a_yank_needs_a_reason_and_a_version_that_is_there() {
    let registry = TestRegistry::start().await;
    let ana = registry.author("ana").await;
    registry.published(&ana, "waitlist", "1.0.0").await;
    let send = async |version: &str, body: serde_json::Value| {
        let path = format!("/v1/skills/_/waitlist/{version}/yank");
        registry.send(Method::POST, &path, Some(&ana.token), &body).await
    };
    for body in [
        json!({}),
        json!({"reason": ""}),
        json!({"reason": "x".repeat(501)}),
        json!({"reason": "a\u{1b}b"}),
    ] {
        problem(send("1.0.0", body).await, 400, "invalid_request").await;
    }
    problem(send("1.0.1", json!({"reason": "r"})).await, 404, "not_found").await;
    problem(send("1", json!({"reason": "r"})).await, 400, "invalid_version").await;
}
