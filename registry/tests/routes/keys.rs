//! `/v1/keys`.

use std::sync::{Arc, Mutex};

use base64::Engine as _;
use base64::engine::general_purpose::STANDARD;
use reqwest::{Method, Response, StatusCode};
use serde_json::{Value, json};
use skillpkg_registry::database::Database;
use skillpkg_registry::skills::publish::Step;
use skillpkg_registry::state::Options;
use skillpkg_schema::signature::SigningKey;
use skillpkg_schema::wire::{Document, Key, Keys, RegistryInformation};

use crate::support::{Author, Skill, TestRegistry, json as read, problem};

async fn add(registry: &TestRegistry, author: &Author) -> Response {
    registry.send(Method::POST, "/v1/keys", Some(&author.token), &author.registration()).await
}

async fn keys(registry: &TestRegistry, author: &Author) -> Vec<Key> {
    let answer = registry.get("/v1/keys", Some(&author.token)).await;
    read::<Keys>(answer, StatusCode::OK).await.keys
}

async fn revoke(registry: &TestRegistry, author: &Author, body: &Value) -> Response {
    let path = format!("/v1/keys/{}", author.key.public().id());
    registry.send(Method::DELETE, &path, Some(&author.token), body).await
}

async fn document(registry: &TestRegistry, name: &str) -> Document {
    read(registry.get(&format!("/v1/skills/_/{name}"), None).await, StatusCode::OK).await
}

/// Makes the registration of a key as it was before a proof was asked for.
async fn forget_proof(registry: &TestRegistry, author: &Author) {
    let mut write = registry.data().database.write().await.unwrap();
    sqlx::query("UPDATE keys SET proof = NULL WHERE id = $1")
        .bind(author.key.public().id().to_string())
        .execute(&mut *write)
        .await
        .unwrap();
    write.commit().await.unwrap();
}

async fn events(registry: &TestRegistry, author: &Author) -> Vec<(String, String)> {
    registry.events(&author.key.public().id().to_string()).await
}

#[tokio::test]
async fn a_key_is_added_once_by_one_account() {
    let registry = TestRegistry::start().await;
    let ana = registry.author("ana").await;
    let ben = registry.author("ben").await;
    let key: Key = read(add(&registry, &ana).await, StatusCode::CREATED).await;
    assert_eq!((key.id, key.proven), (ana.key.public().id(), true));
    let again: Key = read(add(&registry, &ana).await, StatusCode::OK).await;
    assert_eq!(again, key);
    let wrong = json!({"pem": ana.key.to_pem().unwrap()});
    let wrong = registry.send(Method::POST, "/v1/keys", Some(&ben.token), &wrong).await;
    let refused = problem(wrong, 400, "invalid_key").await;
    assert!(!refused.detail.contains("PRIVATE"), "{}", refused.detail);
    // Two accounts that both hold it: it is the first one's.
    let both = ben.with_key(ana.key.clone());
    problem(add(&registry, &both).await, 409, "key_taken").await;
}

#[tokio::test]
async fn nobody_registers_a_key_without_showing_that_the_account_holds_it() {
    let registry = TestRegistry::start().await;
    let ana = registry.author("ana").await;
    let ben = registry.author("ben").await;
    let pem = ana.key.public().to_pem();
    let told: RegistryInformation =
        read(registry.get("/v1/registry", None).await, StatusCode::OK).await;
    assert_eq!(told.identity, ana.identity);
    let elsewhere = Author { identity: "skillpkg/elsewhere".to_owned(), ..ana.clone() };
    let release = Skill::new("waitlist", "1.0.0").pack(&ana).envelope;
    let other_key = ana.with_key(SigningKey::generate().unwrap());
    for (body, says) in [
        (json!({"pem": pem}), "skillpkg keys add"),
        (json!({"pem": pem, "proof": "?"}), "base64"),
        (json!({"pem": pem, "proof": STANDARD.encode("{}")}), "proof"),
        // One that somebody else's account sent, or that was made for another registry.
        (json!({"pem": pem, "proof": ana.proof()}), "`ana`"),
        (json!({"pem": pem, "proof": elsewhere.proof()}), "`ana`"),
        (json!({"pem": pem, "proof": other_key.proof()}), "signed once"),
        (json!({"pem": pem, "proof": STANDARD.encode(release.to_bytes())}), "in-toto"),
    ] {
        let answer = registry.send(Method::POST, "/v1/keys", Some(&ben.token), &body).await;
        let refused = problem(answer, 403, "key_unproven").await;
        assert!(refused.detail.contains(says), "{body}: {}", refused.detail);
    }
    let body = elsewhere.registration();
    let answer = registry.send(Method::POST, "/v1/keys", Some(&ana.token), &body).await;
    let refused = problem(answer, 403, "key_unproven").await;
    assert!(refused.detail.contains("skillpkg/elsewhere"), "{}", refused.detail);
    assert!(keys(&registry, &ben).await.is_empty() && keys(&registry, &ana).await.is_empty());
}

#[tokio::test]
async fn the_archive_of_somebody_else_brings_no_key_in() {
    let registry = TestRegistry::start().await;
    let ana = registry.author("ana").await;
    let eve = registry.author("eve").await;
    let packed = Skill::new("waitlist", "1.0.0").pack(&ana);
    // What eve has of ana's: the archive, the public key, and a proof for another registry.
    let elsewhere = Author { identity: "skillpkg/elsewhere".to_owned(), ..ana.clone() };
    let key = STANDARD.encode(ana.key.public().to_der());
    let send = async |token: &str, proof: Option<String>| {
        let mut request = registry
            .request(Method::PUT, &packed.path(), Some(token))
            .header("skillpkg-public-key", &key);
        if let Some(proof) = proof {
            request = request.header("skillpkg-key-proof", proof);
        }
        request.body(packed.archive.clone()).send().await.unwrap()
    };
    for proof in [None, Some(elsewhere.proof()), Some(ana.proof()), Some("?".to_owned())] {
        problem(send(&eve.token, proof).await, 403, "key_unproven").await;
    }
    assert_eq!(registry.get("/v1/skills/_/waitlist", None).await.status(), 404);
    assert_eq!(send(&ana.token, Some(ana.proof())).await.status(), 201);
    // Once it is registered, an archive alone is enough.
    let packed = Skill::new("waitlist", "1.1.0").pack(&ana);
    let request = registry.request(Method::PUT, &packed.path(), Some(&ana.token));
    assert_eq!(request.body(packed.archive.clone()).send().await.unwrap().status(), 201);
}

#[tokio::test]
async fn an_unproven_registration_is_taken_over_by_whoever_shows_that_it_holds_the_key() {
    let registry = TestRegistry::start().await;
    let ana = registry.author("ana").await;
    let eve = registry.author("eve").await.with_key(ana.key.clone());
    registry.published(&eve, "guests", "1.0.0").await;
    forget_proof(&registry, &eve).await;
    assert_eq!(document(&registry, "guests").await.keys[0].account, "eve");
    // As the first publish of the account that holds it.
    registry.published(&ana, "waitlist", "1.0.0").await;
    assert_eq!(document(&registry, "waitlist").await.keys[0].account, "ana");
    assert!(keys(&registry, &ana).await[0].proven);
    // What eve published with it stays hers, says that it is over, and vouches on.
    let guests = document(&registry, "guests").await;
    let [key] = guests.keys.as_slice() else { panic!("{guests:?}") };
    assert_eq!((key.account.as_str(), key.revoked.is_some()), ("eve", true));
    assert!(key.reason.as_ref().is_some_and(|reason| reason.contains("`ana`")), "{key:?}");
    assert_eq!(guests.versions[0].key_ids, [key.id]);
    let former = keys(&registry, &eve).await;
    assert!(former.len() == 1 && former[0].revoked.is_some(), "{former:?}");
    let packed = Skill::new("guests", "1.1.0").pack(&eve);
    problem(registry.publish(&eve, &packed).await, 403, "key_revoked").await;
    problem(add(&registry, &eve).await, 403, "key_revoked").await;
    let kinds: Vec<String> =
        events(&registry, &ana).await.into_iter().map(|(kind, _)| kind).collect();
    assert_eq!(kinds, ["key_added", "key_revoked", "key_added"]);
    // Nobody takes it from ana, who has shown that she holds it.
    let ben = registry.author("ben").await.with_key(ana.key.clone());
    problem(add(&registry, &ben).await, 409, "key_taken").await;
}

#[tokio::test]
async fn a_key_that_was_registered_without_a_proof_counts_on_and_can_be_shown_to_be_held() {
    let registry = TestRegistry::start().await;
    let ana = registry.author("ana").await;
    registry.published(&ana, "waitlist", "1.0.0").await;
    forget_proof(&registry, &ana).await;
    let plain = Skill::new("waitlist", "1.1.0").pack(&ana);
    let request = registry.request(Method::PUT, &plain.path(), Some(&ana.token));
    assert_eq!(request.body(plain.archive.clone()).send().await.unwrap().status(), 201);
    assert!(!keys(&registry, &ana).await[0].proven);
    // A publish that carries a proof keeps it, and so does a registration.
    registry.published(&ana, "waitlist", "1.2.0").await;
    assert!(keys(&registry, &ana).await[0].proven);
    forget_proof(&registry, &ana).await;
    let key: Key = read(add(&registry, &ana).await, StatusCode::OK).await;
    assert!(key.proven);
    let recorded = events(&registry, &ana).await;
    let ana_did = |kind: &str| (kind.to_owned(), "ana".to_owned());
    assert_eq!(recorded, [ana_did("key_added"), ana_did("key_proven"), ana_did("key_proven")]);
}

#[tokio::test]
async fn a_revoked_key_signs_nothing_more_and_what_it_signed_stays() {
    let registry = TestRegistry::start().await;
    let ana = registry.author("ana").await;
    registry.published(&ana, "waitlist", "1.0.0").await;
    assert_eq!(document(&registry, "waitlist").await.keys[0].revoked, None);
    let body = json!({"reason": "the laptop is lost"});
    assert_eq!(revoke(&registry, &ana, &body).await.status(), 204);
    // The document that was just handed out is not handed out again.
    let shown = document(&registry, "waitlist").await;
    assert!(shown.keys[0].revoked.is_some());
    assert_eq!(shown.keys[0].reason.as_deref(), Some("the laptop is lost"));
    problem(revoke(&registry, &ana, &json!({})).await, 404, "not_found").await;
    let packed = Skill::new("waitlist", "1.1.0").pack(&ana);
    problem(registry.publish(&ana, &packed).await, 403, "key_revoked").await;
    // No key is registered by itself any more: the account had one.
    let other = ana.with_key(SigningKey::generate().unwrap());
    let packed = Skill::new("waitlist", "1.1.0").pack(&other);
    problem(registry.publish(&other, &packed).await, 403, "key_not_registered").await;
    problem(add(&registry, &ana).await, 403, "key_revoked").await;
    assert_eq!(add(&registry, &other).await.status(), 201);
    assert_eq!(registry.publish(&other, &packed).await.status(), 201);
    let keys = keys(&registry, &ana).await;
    assert!(keys[0].revoked.is_some() != keys[1].revoked.is_some(), "{keys:?}");
    assert_eq!(registry.get("/v1/skills/_/waitlist", None).await.status(), 200);
    // Revoked, it is nobody's to register again: who holds it now may be whom it was revoked for.
    let thief = registry.author("thief").await.with_key(ana.key.clone());
    problem(add(&registry, &thief).await, 409, "key_taken").await;
    let recorded = events(&registry, &ana).await;
    let last = ("key_revoked".to_owned(), "ana the laptop is lost".to_owned());
    assert_eq!(recorded.last(), Some(&last));
}

#[tokio::test]
async fn a_key_is_revoked_by_its_account_alone() {
    let registry = TestRegistry::start().await;
    let ana = registry.author("ana").await;
    registry.published(&ana, "waitlist", "1.0.0").await;
    let ben = registry.author("ben").await.with_key(ana.key.clone());
    let nobodys = ben.with_key(SigningKey::generate().unwrap());
    // Another's and nobody's cannot be told apart.
    let refused = problem(revoke(&registry, &ben, &json!({})).await, 404, "not_found").await;
    let absent = problem(revoke(&registry, &nobodys, &json!({})).await, 404, "not_found").await;
    assert_eq!(refused, absent);
    assert_eq!(document(&registry, "waitlist").await.keys[0].revoked, None);
    for reason in ["", " ", "a\u{1b}[31m"] {
        let answer = revoke(&registry, &ana, &json!({"reason": reason})).await;
        problem(answer, 400, "invalid_request").await;
    }
    // Neither a reason nor a body is needed.
    let path = format!("/v1/keys/{}", ana.key.public().id());
    let answer = registry.request(Method::DELETE, &path, Some(&ana.token)).send().await.unwrap();
    assert_eq!(answer.status(), 204);
    assert_eq!(document(&registry, "waitlist").await.keys[0].reason, None);
}

// On threads of its own: what the change waits for goes on while the step does.
#[tokio::test(flavor = "multi_thread", worker_threads = 4)]
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
