//! Keys that the registry holds for accounts that publish through a face.

use reqwest::{Method, StatusCode};
use skillpkg_schema::signature::SigningKey;
use skillpkg_schema::wire::{Document, Keys};

use super::zip;
use crate::support::{Author, Skill, TestRegistry, json, problem, published};

fn package(name: &str, version: &str) -> Vec<u8> {
    let description = format!("name: {name}\nversion: {version}\n");
    let skill = format!("---\nname: {name}\ndescription: Greets.\n---\n\n# {version}\n");
    let path = format!(".apm/skills/{name}/SKILL.md");
    zip(&[("apm.yml", &description), (&path, &skill)])
}

async fn put(
    registry: &TestRegistry,
    author: &Author,
    name: &str,
    version: &str,
) -> reqwest::Response {
    let path = format!("/apm/v1/packages/_/{name}/versions/{version}");
    let request = registry.request(Method::PUT, &path, Some(&author.token));
    request.body(package(name, version)).send().await.unwrap()
}

async fn keys(registry: &TestRegistry, author: &Author) -> Keys {
    json(registry.get("/v1/keys", Some(&author.token)).await, StatusCode::OK).await
}

#[tokio::test]
async fn the_first_publish_makes_a_key_that_is_registered_once_and_told_as_held() {
    let registry = TestRegistry::start().await;
    let ben = registry.author("ben").await;
    for version in ["1.0.0", "1.1.0"] {
        assert_eq!(put(&registry, &ben, "greeter", version).await.status(), 201);
    }
    let held = keys(&registry, &ben).await.keys;
    assert_eq!((held.len(), held[0].held, held[0].proven), (1, true, true));
    let document = registry.get("/v1/skills/_/greeter", None).await;
    let document: Document = json(document, StatusCode::OK).await;
    assert_eq!(document.keys.len(), 1);
    assert!(document.keys[0].held && document.keys[0].account == "ben");
    let id = held[0].id.to_string();
    assert_eq!(registry.events(&id).await, [("key_added".to_owned(), "ben".to_owned())]);
    let file = registry.data().log().join("held/ben.pem");
    let key = SigningKey::from_pem(&std::fs::read_to_string(&file).unwrap()).unwrap();
    assert_eq!(key.public().id(), held[0].id);
    #[cfg(unix)]
    {
        use std::os::unix::fs::PermissionsExt as _;
        let mode = |path: &std::path::Path| path.metadata().unwrap().permissions().mode() & 0o777;
        assert_eq!(mode(&file), 0o600);
        assert_eq!(mode(file.parent().unwrap()), 0o700);
    }
    let report = skillpkg_registry::upkeep::verify(registry.data()).await.unwrap();
    assert_eq!(report.problems, []);
}

#[tokio::test]
async fn whoever_has_only_a_held_key_brings_one_of_their_own_and_signs_from_then_on() {
    let registry = TestRegistry::start().await;
    let ben = registry.author("ben").await;
    assert_eq!(put(&registry, &ben, "greeter", "1.0.0").await.status(), 201);
    let own = Skill::new("greeter", "1.1.0").pack(&ben);
    let answer = published(registry.publish(&ben, &own).await, StatusCode::CREATED).await;
    assert_eq!(answer.key_registered, Some(ben.key.public().id()));
    let all = keys(&registry, &ben).await.keys;
    assert_eq!(all.iter().filter(|key| key.held).count(), 1);
    assert_eq!(all.len(), 2);
    // From here on this skill is the author's to sign; another skill is not.
    let refused =
        problem(put(&registry, &ben, "greeter", "1.2.0").await, 403, "face_publish_refused").await;
    assert!(refused.detail.contains("skillpkg publish"), "{}", refused.detail);
    assert_eq!(put(&registry, &ben, "other", "1.0.0").await.status(), 201);
    // A second key is not brought in by a token alone.
    let third = ben.with_key(SigningKey::generate().unwrap());
    let next = Skill::new("greeter", "1.3.0").pack(&third);
    problem(registry.publish(&third, &next).await, 403, "key_not_registered").await;
}

#[tokio::test]
async fn many_first_publishes_at_once_make_one_key() {
    let registry = TestRegistry::start().await;
    let ben = registry.author("ben").await;
    let put = async |name: &str| put(&registry, &ben, name, "1.0.0").await.status();
    let answers = tokio::join!(put("aa"), put("bb"), put("cc"), put("dd"));
    assert_eq!(
        answers,
        (StatusCode::CREATED, StatusCode::CREATED, StatusCode::CREATED, StatusCode::CREATED)
    );
    assert_eq!(keys(&registry, &ben).await.keys.len(), 1);
}

#[tokio::test]
async fn a_held_key_that_is_revoked_signs_no_more() {
    let registry = TestRegistry::start().await;
    let ben = registry.author("ben").await;
    assert_eq!(put(&registry, &ben, "greeter", "1.0.0").await.status(), 201);
    let id = keys(&registry, &ben).await.keys[0].id;
    let revoke = registry.request(Method::DELETE, &format!("/v1/keys/{id}"), Some(&ben.token));
    assert_eq!(revoke.send().await.unwrap().status(), 204);
    problem(put(&registry, &ben, "greeter", "1.1.0").await, 403, "key_revoked").await;
}
