//! What is a mirror's own never leaves it, and never gives way to upstream's.

use reqwest::{Method, StatusCode};
use serde_json::json;

use super::upstream::FakeUpstream;
use super::{mirror, only, settings, skill};
use crate::support::{Skill, problem};

#[tokio::test]
async fn no_request_for_a_name_or_an_address_of_an_own_scope_leaves() {
    let upstream = FakeUpstream::start().await;
    // Birsan's attack: a newer version of an internal name, where everybody can publish it.
    upstream.publish("acme/internal", "99.0.0");
    upstream.publish("acme/plan", "99.0.0");
    let mirror = mirror(settings(&upstream.url())).await;
    let (ana, stranger) = (mirror.author("ana").await, mirror.author("stranger").await);
    mirror.scope("acme", &ana, true).await;
    mirror.scope("open", &ana, false).await;
    let packed = mirror.published(&ana, "acme/plan", "1.0.0").await;
    mirror.published(&ana, "open/plan", "1.0.0").await;
    upstream.forget_asked();

    for token in [None, Some(ana.token.as_str()), Some(stranger.token.as_str())] {
        for name in ["acme/internal", "acme/absent", "open/absent", "acm3/x", "0pen/x"] {
            // A spelling that reads like an own scope is a slip within, not a name outside.
            if name.starts_with("acm3") {
                continue;
            }
            problem(mirror.get(&skill(name), token).await, 404, "not_found").await;
            let body = json!({"names": [name], "logs": []});
            let answer = mirror.send(Method::POST, "/v1/index", token, &body).await;
            let answer: skillpkg_schema::wire::IndexAnswer =
                crate::support::json(answer, StatusCode::OK).await;
            assert_eq!((answer.documents.len(), answer.missing.len()), (0, 1), "{name}");
            let search = format!("/v1/search?q={}", name.replace('/', "+"));
            assert_eq!(mirror.get(&search, token).await.status(), 200);
        }
        for path in [
            format!("/v1/archives/{}", packed.digests.sha256.address()),
            format!("/v1/manifests/{}", packed.address()),
            format!("/v1/manifests/{}/signatures", packed.address()),
            format!("/v1/blobs/{}", packed.manifest.files[0].sha256.address()),
            format!("/v1/blobs/{}", packed.manifest.files[0].blake3.address()),
        ] {
            let is_member = token == Some(ana.token.as_str());
            let status = mirror.get(&path, token).await.status();
            assert_eq!(status, if is_member { 200 } else { 404 }, "{path}");
        }
    }
    // To its members the version that is here is all there is.
    let answer = mirror.get(&skill("acme/plan"), Some(&ana.token)).await;
    let document: skillpkg_schema::wire::Document =
        crate::support::json(answer, StatusCode::OK).await;
    assert_eq!(document.versions.len(), 1);
    assert_eq!(document.versions[0].version.to_string(), "1.0.0");
    problem(mirror.get(&skill("acme/plan"), None).await, 404, "not_found").await;
    assert_eq!(upstream.asked(), [] as [String; 0]);
}

#[tokio::test]
async fn a_scope_that_is_made_later_takes_its_names_back() {
    let upstream = FakeUpstream::start().await;
    let packed = upstream.publish("acme/plan", "99.0.0");
    let mirror = mirror(settings(&upstream.url())).await;
    mirror.document("acme/plan").await;
    let archive = format!("/v1/archives/{}", packed.digests.sha256.address());
    assert_eq!(mirror.get(&archive, None).await.status(), 200);
    let ana = mirror.author("ana").await;
    mirror.scope("acme", &ana, false).await;
    problem(mirror.get(&skill("acme/plan"), None).await, 404, "not_found").await;
    let found = mirror.get("/v1/search?q=plan", None).await.text().await.unwrap();
    assert!(found.contains("\"total\":0"), "{found}");
    mirror.published(&ana, "acme/plan", "1.0.0").await;
    let document = mirror.document("acme/plan").await;
    assert_eq!(document.versions[0].version.to_string(), "1.0.0");
}

#[tokio::test]
async fn a_bare_name_is_published_where_it_belongs() {
    let upstream = FakeUpstream::start().await;
    upstream.publish("waitlist", "1.0.0");
    let mirror = mirror(settings(&upstream.url())).await;
    let ana = mirror.author("ana").await;
    for name in ["waitlist", "never-seen"] {
        let refused = mirror.publish(&ana, &Skill::new(name, "2.0.0").pack(&ana)).await;
        let problem = problem(refused, 409, "mirrored").await;
        assert!(problem.detail.contains(&upstream.url()), "{}", problem.detail);
    }
    // A scope that one is not in, and one that is not there, answer alike.
    mirror.scope("secret", &mirror.author("ben").await, true).await;
    for name in ["secret/x", "absent/x"] {
        let refused = mirror.publish(&ana, &Skill::new(name, "2.0.0").pack(&ana)).await;
        problem(refused, 403, "scope_refused").await;
    }
}

#[tokio::test]
async fn only_the_names_that_are_listed_are_mirrored() {
    let upstream = FakeUpstream::start().await;
    let packed = upstream.publish("waitlist", "1.0.0");
    let other = upstream.publish("other", "1.0.0");
    upstream.publish("acme/plan", "1.0.0");
    let mirror = mirror(only(&upstream.url(), &["waitlist", "acme/*"])).await;
    mirror.document("waitlist").await;
    mirror.document("acme/plan").await;
    let archive = format!("/v1/archives/{}", packed.digests.sha256.address());
    assert_eq!(mirror.get(&archive, None).await.status(), 200);
    upstream.forget_asked();
    problem(mirror.get(&skill("other"), None).await, 404, "not_found").await;
    // An address does not tell whose it is: it is not asked for.
    for path in [
        format!("/v1/archives/{}", other.digests.sha256.address()),
        format!("/v1/manifests/{}", other.address()),
        format!("/v1/blobs/{}", other.manifest.files[0].sha256.address()),
    ] {
        problem(mirror.get(&path, None).await, 404, "not_found").await;
    }
    assert_eq!(upstream.asked(), [] as [String; 0]);
    // What is not mirrored is anybody's to publish here.
    let ana = mirror.author("ana").await;
    mirror.published(&ana, "other", "3.0.0").await;
}

#[tokio::test]
async fn a_name_that_upstream_lacks_is_not_there_and_asked_for_again_only_after_a_while() {
    let upstream = FakeUpstream::start().await;
    let mirror = mirror(settings(&upstream.url())).await;
    for _ in 0..4 {
        problem(mirror.get(&skill("absent"), None).await, 404, "not_found").await;
        let answer = mirror.index(json!({"names": ["absent"], "logs": []})).await;
        assert_eq!(answer.missing.len(), 1);
    }
    let asked = upstream.asked();
    let count = asked.iter().filter(|asked| asked.starts_with("/v1/index")).count();
    assert_eq!(count, 1, "{asked:?}");
}
