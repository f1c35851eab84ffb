//! `/v1/keys`.

use reqwest::{Method, StatusCode};
use serde_json::json;
use skillpkg_schema::signature::SigningKey;
use skillpkg_schema::wire::{Document, Key, Keys};

use crate::support::{Author, Skill, TestRegistry, json as read, problem};

#[tokio::test]
async fn a_key_is_added_once_by_one_account() {
    let registry = TestRegistry::start().await;
    let ana = registry.author("ana").await;
    let ben = registry.author("ben").await;
    let body = json!({"pem": ana.key.public().to_pem()});
    let send = async |author: &Author| {
        registry.send(Method::POST, "/v1/keys", Some(&author.token), &body).await
    };
    let key: Key = read(send(&ana).await, StatusCode::CREATED).await;
    assert_eq!(key.id, ana.key.public().id());
    let again: Key = read(send(&ana).await, StatusCode::OK).await;
    assert_eq!(again, key);
    problem(send(&ben).await, 409, "key_taken").await;
    let wrong = json!({"pem": ana.key.to_pem().unwrap()});
    let wrong = registry.send(Method::POST, "/v1/keys", Some(&ben.token), &wrong).await;
    let refused = problem(wrong, 400, "invalid_key").await;
    assert!(!refused.detail.contains("PRIVATE"), "{}", refused.detail);
}

#[tokio::test]
async fn a_revoked_key_signs_nothing_more_and_what_it_signed_stays() {
    let registry = TestRegistry::start().await;
    let ana = registry.author("ana").await;
    registry.published(&ana, "waitlist", "1.0.0").await;
    let document = async || -> Document {
        read(registry.get("/v1/skills/_/waitlist", None).await, StatusCode::OK).await
    };
    assert_eq!(document().await.keys[0].revoked, None);
    let path = format!("/v1/keys/{}", ana.key.public().id());
    let revoked = registry.request(Method::DELETE, &path, Some(&ana.token)).send().await.unwrap();
    assert_eq!(revoked.status(), 204);
    // The document that was just handed out is not handed out again.
    assert!(document().await.keys[0].revoked.is_some());
    let again = registry.request(Method::DELETE, &path, Some(&ana.token)).send().await.unwrap();
    problem(again, 404, "not_found").await;
    let packed = Skill::new("waitlist", "1.1.0").pack(&ana);
    problem(registry.publish(&ana, &packed).await, 403, "key_revoked").await;
    // No key is registered by itself any more: the account had one.
    let other = Author {
        key: SigningKey::generate().unwrap(),
        token: ana.token.clone(),
        account: ana.account.clone(),
    };
    let packed = Skill::new("waitlist", "1.1.0").pack(&other);
    problem(registry.publish(&other, &packed).await, 403, "key_not_registered").await;
    let body = json!({"pem": ana.key.public().to_pem()});
    let back = registry.send(Method::POST, "/v1/keys", Some(&ana.token), &body).await;
    problem(back, 403, "key_revoked").await;
    let body = json!({"pem": other.key.public().to_pem()});
    registry.send(Method::POST, "/v1/keys", Some(&ana.token), &body).await;
    assert_eq!(registry.publish(&other, &packed).await.status(), 201);
    let keys: Keys = read(registry.get("/v1/keys", Some(&ana.token)).await, StatusCode::OK).await;
    assert!(keys.keys[0].revoked.is_some() != keys.keys[1].revoked.is_some(), "{keys:?}");
    assert_eq!(registry.get("/v1/skills/_/waitlist", None).await.status(), 200);
}
