//! Accounts that an operator closes, and keys that an operator revokes, with the real binary.

use std::time::Duration;

use reqwest::{Method, StatusCode};
use skillpkg_registry::accounts::closing;
use skillpkg_registry::accounts::scopes::Role;
use skillpkg_schema::signature::SigningKey;
use skillpkg_schema::wire::{Document, Invitations};

use crate::commands::{answered, done, run};
use crate::support::{Skill, TestRegistry, json, problem};

#[tokio::test]
async fn an_account_that_is_closed_can_do_nothing_any_more_and_leaves_what_it_owns() {
    let mut registry = TestRegistry::start().await;
    let (ana, ben) = (registry.author("ana").await, registry.author("ben").await);
    let eve = registry.author("eve").await;
    for name in ["waitlist", "shared"] {
        registry.published(&ana, name, "1.0.0").await;
    }
    registry.own(&ana, "_/shared", &ben).await;
    registry.scope("acme", &ana, false).await;
    registry.scope("both", &ana, false).await;
    registry.member("both", &ben, Role::Owner).await;
    // What the account has offered is worth nothing once it is closed.
    let body = serde_json::json!({"account": "eve"});
    let path = "/v1/skills/_/waitlist/owners";
    let invited = registry.send(Method::PUT, path, Some(&ana.token), &body).await;
    assert!(invited.status().is_success(), "{}", invited.status());
    let second = registry.token(&ana, &["read"]).await;
    let data = registry.data().temporary().parent().unwrap().to_owned();

    let closing = ["user", "close", "ana", "--reason", "left the company"];
    let closed = answered(&data, &closing, 0);
    assert_eq!((&closed["account"], &closed["tokens"]), (&"ana".into(), &2.into()));
    assert_eq!(closed["keys"], serde_json::json!([ana.key.public().id()]));
    assert_eq!(closed["invitations"], 1);
    assert_eq!(closed["ownerless_names"], serde_json::json!(["waitlist"]));
    assert_eq!(closed["ownerless_scopes"], serde_json::json!(["acme"]));
    assert_eq!(answered(&data, &closing, 1)["error"]["code"], "account_closed");
    let listed = done(&data, &["user", "list"]);
    assert!(listed.lines().any(|line| line.starts_with("ana\t") && line.contains("\tclosed 20")));
    assert_eq!(answered(&data, &["user", "add", "ana"], 1)["error"]["code"], "name_taken");
    for arguments in [
        &["token", "mint", "ana", "--grant", "read"][..],
        &["scope", "add", "new", "--owner", "ana"],
        &["scope", "member", "add", "both", "ana"],
        &["name", "transfer", "shared", "ana"],
        &["name", "release", "other", "--user", "ana"],
    ] {
        let refused = answered(&data, arguments, 1);
        assert_eq!(refused["error"]["code"], "account_closed", "{arguments:?}: {refused}");
    }
    // Within the second for which a token is believed, nothing new comes of it either.
    let mint = serde_json::json!({"label": "l", "grants": ["read"]});
    let minted = registry.send(Method::POST, "/v1/tokens", Some(&ana.token), &mint).await;
    problem(minted, 401, "unauthorized").await;
    let other = ana.with_key(SigningKey::generate().unwrap());
    let added =
        registry.send(Method::POST, "/v1/keys", Some(&ana.token), &other.registration()).await;
    problem(added, 401, "unauthorized").await;
    tokio::time::sleep(Duration::from_millis(1_200)).await;
    for token in [&ana.token, &second] {
        problem(registry.get("/v1/tokens/self", Some(token)).await, 401, "unauthorized").await;
    }
    let invitations = registry.get("/v1/invitations", Some(&eve.token)).await;
    let invitations: Invitations = json(invitations, StatusCode::OK).await;
    assert!(invitations.owners.is_empty());
    // What it has published stays, and its document says of the key that it is revoked.
    let document: Document =
        json(registry.get("/v1/skills/_/waitlist", None).await, StatusCode::OK).await;
    assert_eq!(document.versions.len(), 1);
    assert!(serde_json::to_string(&document).unwrap().contains("left the company"));
    let events = registry.events(&ana.key.public().id().to_string()).await;
    assert!(events.iter().any(|(kind, _)| kind == "key_revoked"), "{events:?}");
    let events = registry.events("ana").await;
    assert!(events.iter().any(|(kind, _)| kind == "account_closed"), "{events:?}");
    // Whoever had only a closed one beside has nobody either.
    let closed = closing::close(&registry.data().database, "ben", None).await.unwrap();
    assert_eq!(
        (closed.ownerless_names, closed.ownerless_scopes),
        (vec!["shared".to_owned()], vec!["both".to_owned()])
    );
    assert_eq!(answered(&data, &["verify"], 0)["ok"], true);
    registry.stop().await;
}

#[tokio::test]
async fn an_operator_revokes_one_key_and_the_document_says_so() {
    let mut registry = TestRegistry::start().await;
    let ana = registry.author("ana").await;
    registry.published(&ana, "waitlist", "1.0.0").await;
    let data = registry.data().temporary().parent().unwrap().to_owned();
    let id = ana.key.public().id().to_string();
    let listed = done(&data, &["user", "keys", "ana"]);
    assert!(listed.starts_with(&id) && listed.ends_with("\tin use\n"), "{listed}");
    let revoke = ["user", "revoke-key", "ana", &id, "--reason", "the laptop was stolen"];
    assert_eq!(answered(&data, &revoke, 0)["revoked"], id.as_str());
    assert_eq!(answered(&data, &revoke, 1)["error"]["code"], "unknown_key");
    assert_eq!(answered(&data, &["user", "keys", "zoe"], 1)["error"]["code"], "unknown_account");
    assert_eq!(run(&data, &["user", "revoke-key", "ana", "3a7b"]).status.code(), Some(2));
    let listed = done(&data, &["user", "keys", "ana"]);
    assert!(
        listed.contains("\trevoked 20") && listed.contains("the laptop was stolen"),
        "{listed}"
    );
    tokio::time::sleep(Duration::from_millis(1_500)).await;
    let refused = registry.publish(&ana, &Skill::new("waitlist", "1.1.0").pack(&ana)).await;
    problem(refused, 403, "key_revoked").await;
    let document: Document =
        json(registry.get("/v1/skills/_/waitlist", None).await, StatusCode::OK).await;
    assert!(serde_json::to_string(&document).unwrap().contains("the laptop was stolen"));
    assert_eq!(answered(&data, &["log", "verify"], 0)["ok"], true);
    registry.stop().await;
}
