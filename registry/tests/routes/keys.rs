//! `/v1/keys`.

use std::sync::{Arc, Mutex};

use reqwest::{Method, StatusCode};
use serde_json::json;
use skillpkg_registry::database::Database;
use skillpkg_registry::skills::publish::Step;
use skillpkg_registry::state::Options;
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

#[tokio::test]
async fn keys_count_as_they_are_when_the_version_becomes_visible() {
    let other = SigningKey::generate().unwrap().public();
    let add = "INSERT INTO keys (id, account_id, pem, added)
               SELECT $1, id, 'pem', '2026-01-01T00:00:00Z' FROM accounts WHERE name = 'ana'";
    let revoke = "UPDATE keys SET revoked = '2026-01-01T00:00:00Z' WHERE id = $1";
    // The key that signed is revoked meanwhile; or another becomes the account's first meanwhile.
    for (is_first, change) in [(false, revoke), (true, add)] {
        let changes: Arc<Mutex<Option<(Database, String)>>> = Arc::default();
        let waiting = Arc::clone(&changes);
        let at_step = move |step: Step| {
            let Some((database, id)) =
                waiting.lock().unwrap().take_if(|_| step == Step::ArchivePut)
            else {
                return Ok(());
            };
            // The step is taken on a thread of the server's: this waits on one of its own.
            let done = std::thread::spawn(move || {
                let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build();
                runtime.unwrap().block_on(async {
                    let mut write = database.write().await.unwrap();
                    sqlx::query(change).bind(id).execute(&mut *write).await.unwrap();
                    write.commit().await.unwrap();
                });
            });
            done.join().unwrap();
            Ok(())
        };
        let options = Options { at_step: Some(Arc::new(at_step)), ..Options::default() };
        let registry = TestRegistry::start_with(options).await;
        let ana = registry.author("ana").await;
        if !is_first {
            registry.published(&ana, "waitlist", "1.0.0").await;
        }
        let id = if is_first { other.id() } else { ana.key.public().id() };
        let database = registry.data().database.clone();
        *changes.lock().unwrap() = Some((database, id.to_string()));
        let packed = Skill::new("waitlist", "1.1.0").pack(&ana);
        let refused =
            problem(registry.publish(&ana, &packed).await, 403, "key_not_registered").await;
        assert!(refused.detail.contains("changed meanwhile"), "{}", refused.detail);
    }
}
