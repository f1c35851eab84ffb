//! What `ClawHub`'s client calls deleting and hiding, and what is not offered to it at all.

use reqwest::{Method, StatusCode};
use serde_json::{Value, json as value};
use skillpkg_registry::accounts::scopes::Role;
use skillpkg_registry::faces::Face;
use skillpkg_schema::wire::Document;

use super::{plain, without};
use crate::support::{Author, TestRegistry, json, problem};

const API: &str = "/clawhub/api/v1";

/// The versions of `acme/pdf` with the reasons of their yanks.
async fn yanks(registry: &TestRegistry) -> Vec<(String, Option<String>)> {
    let answer = registry.get("/v1/skills/acme/pdf", None).await;
    let document: Document = json(answer, StatusCode::OK).await;
    let versions = document.versions.into_iter();
    versions.map(|one| (one.version.to_string(), one.yanked.map(|yank| yank.reason))).collect()
}

async fn staged() -> (TestRegistry, Author) {
    let registry = TestRegistry::start().await;
    let ana = registry.author("ana").await;
    registry.scope("acme", &ana, false).await;
    for version in ["1.0.0", "1.1.0", "1.2.0"] {
        registry.published(&ana, "acme/pdf", version).await;
    }
    (registry, ana)
}

#[tokio::test]
async fn what_is_deleted_with_the_client_is_yanked_and_comes_back() {
    let (registry, ana) = staged().await;
    let owner = value!({"ownerHandle": "acme"});
    let send = async |method: Method, path: &str, body: &Value| {
        let path = format!("{API}/skills/pdf{path}");
        registry.send(method, &path, Some(&ana.token), body).await
    };
    let done = async |method: Method, path: &str, body: &Value| {
        let answer: Value = json(send(method, path, body).await, StatusCode::OK).await;
        assert_eq!(answer, value!({"ok": true}), "{path}");
    };
    // One version; it is not picked, and is still had by its number.
    let exactly = value!({"ownerHandle": "acme", "version": "1.2.0"});
    done(Method::DELETE, "/versions/1.2.0", &exactly).await;
    let told: Value =
        json(registry.get(&format!("{API}/skills/pdf"), None).await, StatusCode::OK).await;
    assert_eq!(told["latestVersion"]["version"], "1.1.0");
    let download = format!("{API}/download?slug=pdf&version=1.2.0");
    assert_eq!(registry.get(&download, None).await.status(), 200);

    // All that are left, with a note; nothing is offered then, nor said to be forbidden.
    let note = value!({"ownerHandle": "acme", "reason": "it leaks"});
    done(Method::DELETE, "", &note).await;
    let reasons = yanks(&registry).await;
    let together = |reason: &Option<String>| {
        reason.as_deref() == Some("withdrawn by its owner, with every version: it leaks")
    };
    assert_eq!(reasons.iter().filter(|(_, reason)| together(reason)).count(), 2, "{reasons:?}");
    let gone = registry.get(&format!("{API}/skills/pdf/install"), None).await;
    let gone: Value = json(gone, StatusCode::GONE).await;
    assert_eq!(gone["message"], "every version is yanked");
    assert_eq!(registry.get(&download, None).await.status(), 200);
    // Once more is as once, and without an owner the one that the caller may see is meant.
    done(Method::DELETE, "", &value!(null)).await;

    // What went together comes back together, and what went by itself stays away.
    done(Method::POST, "/undelete", &value!({"ownerHandle": "acme"})).await;
    let away: Vec<String> = yanks(&registry)
        .await
        .into_iter()
        .filter_map(|(version, reason)| reason.map(|_| version))
        .collect();
    assert_eq!(away, ["1.2.0"]);
    let nothing = send(Method::POST, "/undelete", &owner).await;
    let told = plain(nothing, 400, "invalid_request").await;
    assert!(told.contains("skillpkg unyank"), "{told}");
    done(Method::POST, "/versions/1.2.0/restore", &owner).await;
    assert!(yanks(&registry).await.iter().all(|(_, reason)| reason.is_none()));

    // What is no version, no reason, or no body is refused in plain words.
    for (method, path, body, status, code) in [
        (Method::DELETE, "/versions/9.0.0", &owner, 404, "not_found"),
        (Method::DELETE, "/versions/x", &owner, 404, "not_found"),
        (Method::DELETE, "", &value!({"reason": "a\u{1b}[31m"}), 400, "invalid_request"),
        (Method::DELETE, "", &value!({"reason": "x".repeat(600)}), 400, "invalid_request"),
        (Method::DELETE, "", &value!(["no"]), 400, "invalid_request"),
        (Method::DELETE, "", &value!({"version": "1.2.0"}), 400, "invalid_request"),
        (Method::DELETE, "", &value!({"whom": "acme"}), 400, "invalid_request"),
        (Method::DELETE, "/versions/1.2.0", &value!({"version": "1.3.0"}), 400, "invalid_request"),
    ] {
        plain(send(method, path, body).await, status, code).await;
    }
    assert!(yanks(&registry).await.iter().all(|(_, reason)| reason.is_none()));
}

#[tokio::test]
async fn withdrawing_needs_what_a_yank_needs() {
    let (registry, ana) = staged().await;
    let (ben, eve) = (registry.author("ben").await, registry.author("eve").await);
    registry.member("acme", &ben, Role::Reader).await;
    let publish = registry.token(&ana, &["publish:*", "read"]).await;
    let body = value!({"ownerHandle": "acme"});
    for (method, path) in [
        (Method::DELETE, "/skills/pdf"),
        (Method::POST, "/skills/pdf/undelete"),
        (Method::DELETE, "/skills/pdf/versions/1.0.0"),
        (Method::POST, "/skills/pdf/versions/1.0.0/restore"),
    ] {
        let path = format!("{API}{path}");
        for (token, status, code) in [
            (None, 401, "unauthorized"),
            (Some(&publish), 403, "token_lacks_grant"),
            (Some(&ben.token), 403, "not_an_owner"),
            (Some(&eve.token), 403, "not_an_owner"),
        ] {
            let token = token.map(String::as_str);
            let answer = registry.send(method.clone(), &path, token, &body).await;
            plain(answer, status, code).await;
        }
    }
    assert!(yanks(&registry).await.iter().all(|(_, reason)| reason.is_none()));
}

#[tokio::test]
async fn what_is_told_of_installs_is_taken_and_kept_nowhere() {
    let (registry, ana) = staged().await;
    let path = "/clawhub/api/cli/telemetry/install";
    let told =
        value!({"event": "install", "slug": "pdf", "ownerHandle": "acme", "version": "1.0.0"});
    for token in [None, Some(ana.token.as_str()), Some("skp_none")] {
        let answer = registry.send(Method::POST, path, token, &told).await;
        assert_eq!(json::<Value>(answer, StatusCode::OK).await, value!({"ok": true}));
    }
    let long = "x".repeat(1024 * 1024);
    let request = registry.request(Method::POST, path, None).body(long);
    let status = request.send().await.unwrap().status();
    assert!([200, 413].contains(&status.as_u16()), "{status}");
}

#[tokio::test]
async fn what_is_not_offered_says_what_to_do_in_its_place() {
    let (registry, ana) = staged().await;
    for (method, path, told) in [
        (Method::POST, "/api/cli/device/code", "clawhub login --token"),
        (Method::POST, "/clawhub/api/v1/stars/pdf?ownerHandle=acme", "no stars"),
        (Method::DELETE, "/clawhub/api/v1/stars/pdf", "no stars"),
        (Method::POST, "/clawhub/api/v1/skills/pdf/transfer", "skillpkg owner add"),
        (Method::GET, "/clawhub/api/v1/transfers/incoming", "skillpkg owner add"),
        (Method::POST, "/clawhub/api/v1/skills/pdf/rename", "publish under the new one"),
        (Method::POST, "/clawhub/api/v1/skills/pdf/tags/latest", "no tags"),
        (Method::POST, "/clawhub/api/v1/skills/-/scan", "scans nothing"),
        (Method::GET, "/clawhub/api/v1/packages/search?q=x", "no packages"),
        (Method::POST, "/clawhub/api/v1/publishers", "skillpkg-registry scope add"),
    ] {
        for token in [None, Some(ana.token.as_str())] {
            let answer = registry.send(method.clone(), path, token, &value!({})).await;
            let text = plain(answer, 404, "not_offered").await;
            assert!(text.contains(told), "{path}: {text}");
        }
    }
    // With the face off nothing of it is there, and that is all that is said.
    let off = TestRegistry::start_with(without(&[Face::ClawHub])).await;
    for path in ["/api/cli/device/code", "/clawhub/api/v1/stars/pdf"] {
        let answer = off.send(Method::POST, path, None, &value!({})).await;
        problem(answer, 404, "not_found").await;
    }
}
