//! What one may not read answers exactly as what is not there.

use reqwest::header::HeaderMap;
use reqwest::{Method, Response};
use serde_json::json;
use skillpkg_registry::accounts::scopes::{self, Role};
use skillpkg_schema::Sha256Digest;
use skillpkg_schema::address::Blake3Digest;
use skillpkg_schema::wire::{IndexAnswer, SearchAnswer, WhoAmI};

use crate::support::{Skill, TestRegistry, json as read};

async fn whole(response: Response) -> (u16, HeaderMap, String) {
    let status = response.status().as_u16();
    let mut headers = response.headers().clone();
    headers.remove("date");
    headers.remove("x-request-id");
    (status, headers, response.text().await.unwrap())
}

#[tokio::test]
async fn the_hidden_and_the_absent_cannot_be_told_apart() {
    let registry = TestRegistry::start().await;
    let ana = registry.author("ana").await;
    let stranger = registry.author("stranger").await;
    registry.scope("secret", &ana, true).await;
    let packed = Skill::new("secret/plan", "1.0.0").with_file("plan.md", "The plan.\n").pack(&ana);
    assert_eq!(registry.publish(&ana, &packed).await.status(), 201);
    let file = packed.manifest.file("plan.md").unwrap();
    let nothing = Sha256Digest::of(b"nothing");
    let manifest_blake3 = Blake3Digest::of(&packed.manifest.to_bytes());
    let pairs = [
        ("/v1/skills/secret/plan".to_owned(), "/v1/skills/absent/plan".to_owned()),
        ("/v1/skills/secret/plan/owners".to_owned(), "/v1/skills/secret/none/owners".to_owned()),
        (format!("/v1/manifests/{}", packed.address()), format!("/v1/manifests/sha256:{nothing}")),
        (
            format!("/v1/manifests/blake3:{manifest_blake3}"),
            format!("/v1/manifests/blake3:{nothing}"),
        ),
        (
            format!("/v1/manifests/{}/signatures", packed.address()),
            format!("/v1/manifests/sha256:{nothing}/signatures"),
        ),
        (format!("/v1/archives/{}", packed.digests.sha256), format!("/v1/archives/{nothing}")),
        (format!("/v1/blobs/sha256:{}", file.sha256), format!("/v1/blobs/sha256:{nothing}")),
        (format!("/v1/blobs/blake3:{}", file.blake3), format!("/v1/blobs/blake3:{nothing}")),
    ];
    for token in [None, Some(stranger.token.as_str())] {
        for (hidden, absent) in &pairs {
            // A member reads it first, so that whatever is remembered is remembered.
            assert_eq!(registry.get(hidden, Some(&ana.token)).await.status(), 200, "{hidden}");
            for method in [Method::GET, Method::HEAD] {
                let answer = async |path: &str| {
                    let request = registry.request(method.clone(), path, token);
                    let request = request.header("if-none-match", "*").header("range", "bytes=0-1");
                    whole(request.send().await.unwrap()).await
                };
                assert_eq!(answer(hidden).await, answer(absent).await, "{method} {hidden}");
                assert_eq!(answer(hidden).await.0, 404, "{method} {hidden}");
            }
        }
    }
    for action in ["yank", "unyank"] {
        let body = json!({"reason": "mine"});
        let answer = async |scope: &str| {
            let path = format!("/v1/skills/{scope}/plan/1.0.0/{action}");
            whole(registry.send(Method::POST, &path, Some(&stranger.token), &body).await).await
        };
        assert_eq!(answer("secret").await, answer("absent").await);
    }
    let body = json!({"account": "stranger"});
    let answer = async |scope: &str| {
        let path = format!("/v1/skills/{scope}/plan/owners");
        whole(registry.send(Method::PUT, &path, Some(&stranger.token), &body).await).await
    };
    assert_eq!(answer("secret").await, answer("absent").await);
}

#[tokio::test]
async fn a_publish_does_not_tell_which_scopes_there_are() {
    let registry = TestRegistry::start().await;
    let ana = registry.author("ana").await;
    let stranger = registry.author("stranger").await;
    registry.scope("hidden", &ana, true).await;
    registry.published(&ana, "hidden/plan", "1.0.0").await;
    let answer = async |scope: &str| {
        let packed = Skill::new(&format!("{scope}/plan"), "1.0.0").pack(&stranger);
        let (status, headers, body) = whole(registry.publish(&stranger, &packed).await).await;
        (status, headers, body.replace(scope, "scope"))
    };
    let hidden = answer("hidden").await;
    assert_eq!(hidden, answer("absent").await);
    assert_eq!(hidden.0, 403);
}

#[tokio::test]
async fn listings_hold_no_more_than_their_reader_may_read() {
    let registry = TestRegistry::start().await;
    let ana = registry.author("ana").await;
    let stranger = registry.author("stranger").await;
    registry.scope("secret", &ana, true).await;
    registry.published(&ana, "secret/plan", "1.0.0").await;
    registry.published(&ana, "plan-b", "1.0.0").await;
    let names = json!({"names": ["secret/plan", "plan-b", "secret/none"]});
    for (token, documents, found) in
        [(None, 1, 1), (Some(&stranger.token), 1, 1), (Some(&ana.token), 2, 2)]
    {
        let token = token.map(String::as_str);
        let answer = registry.send(Method::POST, "/v1/index", token, &names).await;
        let answer: IndexAnswer = read(answer, reqwest::StatusCode::OK).await;
        assert_eq!((answer.documents.len(), answer.missing.len()), (documents, 3 - documents));
        for query in ["plan", "", "list"] {
            let answer = registry.get(&format!("/v1/search?q={query}"), token).await;
            let answer: SearchAnswer = read(answer, reqwest::StatusCode::OK).await;
            assert_eq!((answer.skills.len(), answer.total), (found, found as u64), "{query}");
        }
    }
}

#[tokio::test]
async fn the_order_of_what_is_found_does_not_depend_on_what_is_private() {
    let registry = TestRegistry::start().await;
    let (ana, eve) = (registry.author("ana").await, registry.author("eve").await);
    registry.scope("secret", &ana, true).await;
    let described = |name: &str, words: &str| {
        let mut skill = Skill::new(name, "1.0.0");
        let bare = name.rsplit('/').next().unwrap();
        let text = format!("---\nname: {bare}\ndescription: {words}\n---\nAsk.\n");
        skill.files[0].2 = text.into_bytes();
        skill
    };
    let publish = async |author, skill: Skill| {
        let packed = skill.pack(author);
        assert_eq!(registry.publish(author, &packed).await.status(), 201);
    };
    // Two of eve's own that differ in which of two words they hold more often, among others so that
    // neither word is common.
    for letter in ["a", "b", "c", "d", "e", "f", "g", "h"] {
        publish(&eve, described(&format!("other-{letter}"), "Nothing of the sort.")).await;
    }
    publish(&eve, described("probe-a", "zebra zebra zebra quokka")).await;
    publish(&eve, described("probe-b", "zebra quokka quokka quokka")).await;
    let order = async || {
        let answer = registry.get("/v1/search?q=zebra+quokka", None).await;
        let answer: SearchAnswer = read(answer, reqwest::StatusCode::OK).await;
        answer.skills.iter().map(|hit| hit.name.to_string()).collect::<Vec<_>>()
    };
    let before = order().await;
    assert_eq!(before.len(), 2);
    for (name, word) in [
        ("secret/a", "zebra"),
        ("secret/b", "quokka"),
        ("secret/c", "quokka"),
        ("secret/d", "zebra"),
        ("secret/e", "zebra"),
    ] {
        publish(&ana, described(name, word)).await;
        assert_eq!(order().await, before, "{name}");
    }
}

#[tokio::test]
async fn private_answers_are_kept_by_no_shared_cache() {
    let registry = TestRegistry::start().await;
    let ana = registry.author("ana").await;
    registry.scope("secret", &ana, true).await;
    let packed = registry.published(&ana, "secret/plan", "1.0.0").await;
    let open = registry.published(&ana, "open", "1.0.0").await;
    let file = |packed: &crate::support::Packed| packed.manifest.files[0].sha256;
    for path in [
        "/v1/skills/secret/plan".to_owned(),
        format!("/v1/archives/{}", packed.digests.sha256),
        format!("/v1/manifests/{}", packed.address()),
        format!("/v1/manifests/{}/signatures", packed.address()),
        format!("/v1/blobs/sha256:{}", file(&packed)),
        "/v1/tokens/self".to_owned(),
        "/v1/search?q=plan".to_owned(),
    ] {
        let response = registry.get(&path, Some(&ana.token)).await;
        assert_eq!(response.status(), 200, "{path}");
        assert_eq!(response.headers()["cache-control"], "private, no-store", "{path}");
        assert_eq!(response.headers()["vary"], "authorization", "{path}");
    }
    for (path, control) in [
        ("/v1/skills/_/open".to_owned(), "public, no-cache"),
        (format!("/v1/blobs/sha256:{}", file(&open)), "public, max-age=31536000, immutable"),
    ] {
        let response = registry.get(&path, Some(&ana.token)).await;
        assert_eq!(response.headers()["cache-control"], control, "{path}");
    }
}

#[tokio::test]
async fn a_blob_is_readable_where_one_readable_snapshot_holds_it() {
    let registry = TestRegistry::start().await;
    let ana = registry.author("ana").await;
    registry.scope("secret", &ana, true).await;
    let shared = "Shared words.\n";
    let private = Skill::new("secret/plan", "1.0.0").with_file("shared.md", shared).pack(&ana);
    registry.publish(&ana, &private).await;
    let path = format!("/v1/blobs/sha256:{}", Sha256Digest::of(shared.as_bytes()));
    assert_eq!(registry.get(&path, None).await.status(), 404);
    let public = Skill::new("open", "1.0.0").with_file("shared.md", shared).pack(&ana);
    registry.publish(&ana, &public).await;
    let response = registry.get(&path, None).await;
    assert_eq!(response.text().await.unwrap(), shared);
}

#[tokio::test]
async fn a_membership_counts_within_a_second_of_its_change() {
    let registry = TestRegistry::start().await;
    let ana = registry.author("ana").await;
    let ben = registry.author("ben").await;
    registry.scope("secret", &ana, true).await;
    registry.published(&ana, "secret/plan", "1.0.0").await;
    let path = "/v1/skills/secret/plan";
    assert_eq!(registry.get(path, Some(&ben.token)).await.status(), 404);
    registry.member("secret", &ben, Role::Reader).await;
    tokio::time::sleep(std::time::Duration::from_millis(1_100)).await;
    assert_eq!(registry.get(path, Some(&ben.token)).await.status(), 200);
    let who: WhoAmI =
        read(registry.get("/v1/tokens/self", Some(&ben.token)).await, reqwest::StatusCode::OK)
            .await;
    assert_eq!(who.scopes.len(), 1);
    scopes::remove_member(&registry.data().database, "secret", "ben").await.unwrap();
    tokio::time::sleep(std::time::Duration::from_millis(1_100)).await;
    assert_eq!(registry.get(path, Some(&ben.token)).await.status(), 404);
}
