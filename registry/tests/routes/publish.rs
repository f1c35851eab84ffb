//! `PUT /v1/skills/{scope}/{name}/{version}`.

use reqwest::{Method, StatusCode};
use skillpkg_schema::wire::{Document, Keys};

use crate::support::{Skill, TestRegistry, json, problem, published};

#[tokio::test]
async fn a_published_version_is_visible_when_the_publish_answers() {
    let registry = TestRegistry::start().await;
    let ana = registry.author("ana").await;
    let packed = Skill::new("waitlist", "1.2.0").with_file("notes.md", "Notes.\n").pack(&ana);
    let answer = published(registry.publish(&ana, &packed).await, StatusCode::CREATED).await;
    assert!(answer.created);
    assert_eq!(answer.key_registered, Some(ana.key.public().id()));
    assert_eq!(answer.address, packed.address());
    assert_eq!(answer.archive, packed.digests.sha256.address());
    assert_eq!(answer.size, packed.digests.size);

    let document: Document =
        json(registry.get("/v1/skills/_/waitlist", None).await, StatusCode::OK).await;
    assert_eq!(document.description, "Keeps the list of waitlist.");
    let [version] = document.versions.as_slice() else { panic!("{document:?}") };
    assert_eq!(version.address, packed.address());
    assert_eq!(version.key_ids, [ana.key.public().id()]);
    let [key] = document.keys.as_slice() else { panic!("{document:?}") };
    assert_eq!((key.account.as_str(), key.pem.as_str()), ("ana", &*ana.key.public().to_pem()));

    let archive = registry.get(&format!("/v1/archives/{}", version.archive), None).await;
    assert_eq!(archive.status(), StatusCode::OK);
    assert_eq!(archive.bytes().await.unwrap(), packed.archive);
    for file in &packed.manifest.files {
        for address in [file.sha256.address(), file.blake3.address()] {
            let blob = registry.get(&format!("/v1/blobs/{address}"), None).await;
            assert_eq!(blob.status(), StatusCode::OK);
            assert!(address.matches(&blob.bytes().await.unwrap()));
        }
    }
    let keys: Keys = json(registry.get("/v1/keys", Some(&ana.token)).await, StatusCode::OK).await;
    assert_eq!(keys.keys.len(), 1);
}

#[tokio::test]
async fn the_same_manifest_again_is_fine_and_another_is_refused() {
    let registry = TestRegistry::start().await;
    let ana = registry.author("ana").await;
    let first = registry.published(&ana, "waitlist", "1.0.0").await;
    let again = published(registry.publish(&ana, &first).await, StatusCode::OK).await;
    assert!(!again.created && again.key_registered.is_none());
    let other = Skill::new("waitlist", "1.0.0").with_file("x.md", "x").pack(&ana);
    problem(registry.publish(&ana, &other).await, 409, "version_exists").await;
    let built = Skill::new("waitlist", "1.0.0+build.2").pack(&ana);
    problem(registry.publish(&ana, &built).await, 409, "version_exists").await;
}

#[tokio::test]
async fn a_publish_without_a_token_is_refused() {
    let registry = TestRegistry::start().await;
    let ana = registry.author("ana").await;
    let packed = Skill::new("waitlist", "1.0.0").pack(&ana);
    let request = registry.request(Method::PUT, &packed.path(), None);
    problem(request.body(packed.archive).send().await.unwrap(), 401, "unauthorized").await;
}
