//! `/v1/tokens`.

use reqwest::{Method, StatusCode};
use serde_json::json;
use skillpkg_registry::accounts::tokens::{Minting, mint_for};
use skillpkg_registry::clock;
use skillpkg_schema::wire::{MintedToken, Tokens, WhoAmI};

use crate::support::{Skill, TestRegistry, json as read, problem};

#[tokio::test]
async fn a_token_says_whose_it_is_and_what_it_allows() {
    let registry = TestRegistry::start().await;
    let ana = registry.author("ana").await;
    registry.scope("acme", &ana, true).await;
    let who: WhoAmI =
        read(registry.get("/v1/tokens/self", Some(&ana.token)).await, StatusCode::OK).await;
    assert_eq!(who.account, "ana");
    assert_eq!(who.grants, ["read", "publish:*", "yank:*", "admin"]);
    assert_eq!(who.scopes, ["acme".parse().unwrap()]);
    assert_eq!(who.expires, None);
}

#[tokio::test]
async fn a_token_makes_none_that_allows_more_or_lasts_longer() {
    let registry = TestRegistry::start().await;
    let ana = registry.author("ana").await;
    let narrow = registry.token(&ana, &["admin", "publish:acme/*"]).await;
    let mint = async |token: &str, body: serde_json::Value| {
        registry.send(Method::POST, "/v1/tokens", Some(token), &body).await
    };
    let minted =
        mint(&narrow, json!({"label": "ci", "grants": ["publish:acme/w"], "days": 30})).await;
    let minted: MintedToken = read(minted, StatusCode::CREATED).await;
    assert!(minted.secret.starts_with("skp_") && minted.secret.len() == 68, "{}", minted.secret);
    assert!(minted.token.expires.is_some());
    for grant in ["read", "publish:*", "publish:other/*", "publish:w", "yank:acme/w"] {
        let refused = mint(&narrow, json!({"label": "ci", "grants": [grant]})).await;
        problem(refused, 403, "token_lacks_grant").await;
    }
    let refused = mint(&ana.token, json!({"label": "x", "grants": ["root"]})).await;
    problem(refused, 400, "invalid_grant").await;
    let refused = mint(&ana.token, json!({"label": "x", "grants": []})).await;
    problem(refused, 400, "invalid_grant").await;
    let refused = mint(&ana.token, json!({"label": "a\u{1b}[31m", "grants": ["read"]})).await;
    problem(refused, 400, "invalid_request").await;

    let soon = clock::in_days(2);
    let grants = ["admin".parse().unwrap(), "read".parse().unwrap()];
    let minting = Minting { label: "short", grants: &grants, expires: Some(&soon) };
    let short = mint_for(&registry.data().database, "ana", &minting).await.unwrap().secret;
    for body in [
        json!({"label": "x", "grants": ["read"]}),
        json!({"label": "x", "grants": ["read"], "days": 3}),
    ] {
        problem(mint(&short, body).await, 403, "token_lacks_grant").await;
    }
    let minted = mint(&short, json!({"label": "x", "grants": ["read"], "days": 1})).await;
    assert_eq!(minted.status(), 201);
}

#[tokio::test]
async fn a_token_publishes_the_names_it_is_for() {
    let registry = TestRegistry::start().await;
    let ana = registry.author("ana").await;
    registry.scope("acme", &ana, true).await;
    let token = registry.token(&ana, &["publish:acme/*"]).await;
    let inside = Skill::new("acme/waitlist", "1.0.0").pack(&ana);
    assert_eq!(registry.publish_as(&token, &ana, &inside).await.status(), 201);
    let outside = Skill::new("waitlist", "1.0.0").pack(&ana);
    problem(registry.publish_as(&token, &ana, &outside).await, 403, "token_lacks_grant").await;
    // Publishing is not reading.
    problem(registry.get("/v1/skills/acme/waitlist", Some(&token)).await, 404, "not_found").await;
}

#[tokio::test]
async fn a_revoked_or_expired_token_is_refused_within_a_second() {
    let registry = TestRegistry::start().await;
    let ana = registry.author("ana").await;
    let token = registry.token(&ana, &["read"]).await;
    assert_eq!(registry.get("/v1/tokens/self", Some(&token)).await.status(), 200);
    let tokens: Tokens =
        read(registry.get("/v1/tokens", Some(&ana.token)).await, StatusCode::OK).await;
    let id = &tokens.tokens.iter().find(|one| one.label == "test").unwrap().id;
    let path = format!("/v1/tokens/{id}");
    let revoked = registry.request(Method::DELETE, &path, Some(&ana.token)).send().await.unwrap();
    assert_eq!(revoked.status(), 204);
    tokio::time::sleep(std::time::Duration::from_millis(1_100)).await;
    problem(registry.get("/v1/tokens/self", Some(&token)).await, 401, "unauthorized").await;
    problem(registry.get("/v1/search", Some(&token)).await, 401, "unauthorized").await;

    let over = clock::seconds_ago(1);
    let minting =
        Minting { label: "over", grants: &["read".parse().unwrap()], expires: Some(&over) };
    let over = mint_for(&registry.data().database, "ana", &minting).await.unwrap().secret;
    problem(registry.get("/v1/tokens/self", Some(&over)).await, 401, "unauthorized").await;
    for token in ["skp_", "skp_00", "x", &"skp_".repeat(1_000)] {
        problem(registry.get("/v1/tokens/self", Some(token)).await, 401, "unauthorized").await;
    }
}

#[tokio::test]
async fn another_accounts_token_cannot_be_revoked() {
    let registry = TestRegistry::start().await;
    let ana = registry.author("ana").await;
    let ben = registry.author("ben").await;
    let tokens: Tokens =
        read(registry.get("/v1/tokens", Some(&ana.token)).await, StatusCode::OK).await;
    let path = format!("/v1/tokens/{}", tokens.tokens[0].id);
    let refused = registry.request(Method::DELETE, &path, Some(&ben.token)).send().await.unwrap();
    problem(refused, 404, "not_found").await;
    assert_eq!(registry.get("/v1/tokens/self", Some(&ana.token)).await.status(), 200);
}

#[tokio::test]
async fn no_secret_is_kept_and_a_use_is_noted_to_the_hour() {
    let mut registry = TestRegistry::start().await;
    let ana = registry.author("ana").await;
    registry.get("/v1/tokens/self", Some(&ana.token)).await;
    let mut last_used = None;
    for _ in 0..50 {
        let tokens: Tokens =
            read(registry.get("/v1/tokens", Some(&ana.token)).await, StatusCode::OK).await;
        last_used.clone_from(&tokens.tokens[0].last_used);
        if last_used.is_some() {
            break;
        }
        tokio::time::sleep(std::time::Duration::from_millis(50)).await;
    }
    assert!(last_used.is_some_and(|hour| hour.ends_with(":00:00Z")));
    let root = registry.data().temporary().parent().unwrap().to_owned();
    registry.stop().await;
    let secret = ana.token.strip_prefix("skp_").unwrap().as_bytes();
    for file in ["registry.db", "registry.db-wal"] {
        let bytes = std::fs::read(root.join(file)).unwrap_or_default();
        assert!(!bytes.windows(secret.len()).any(|window| window == secret), "{file}");
    }
}

#[tokio::test]
async fn a_request_with_a_field_that_is_not_known_is_refused() {
    let registry = TestRegistry::start().await;
    let ana = registry.author("ana").await;
    registry.published(&ana, "w", "1.0.0").await;
    for (method, path, body) in [
        (Method::POST, "/v1/tokens", json!({"label": "a", "grants": ["read"], "dayz": 1})),
        (Method::POST, "/v1/keys", json!({"pem": "x", "more": 1})),
        (Method::POST, "/v1/index", json!({"names": ["w"], "more": 1})),
        (Method::POST, "/v1/skills/_/w/1.0.0/yank", json!({"reason": "r", "more": 1})),
        (Method::PUT, "/v1/skills/_/w/owners", json!({"account": "ana", "more": 1})),
    ] {
        let refused = registry.send(method, path, Some(&ana.token), &body).await;
        let problem = problem(refused, 400, "invalid_request").await;
        assert!(problem.detail.contains("unknown field"), "{path}: {}", problem.detail);
    }
}
