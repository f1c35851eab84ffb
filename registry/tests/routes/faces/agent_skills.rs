//! Agent Skills discovery.

use reqwest::{StatusCode, Url};
use serde_json::{Value, json as value};
use skillpkg_registry::advisories;
use skillpkg_schema::Sha256Digest;
use skillpkg_schema::wire::{Effect, NewAdvisory};

use super::untarred;
use crate::support::{Skill, TestRegistry, json, problem, published};

const INDEX: &str = ".well-known/agent-skills/index.json";

/// A skill of an index, and the files of its archive.
type Found = (Value, Vec<(String, Vec<u8>)>);

/// The skills of an index, each held against its archive, with the files of that.
async fn index(registry: &TestRegistry, path: &str) -> Vec<Found> {
    let answer: Value = json(registry.get(path, None).await, StatusCode::OK).await;
    assert_eq!(answer["$schema"], "https://schemas.agentskills.io/discovery/0.2.0/schema.json");
    let base = Url::parse(&format!("{}{path}", registry.url)).unwrap();
    let mut found = Vec::new();
    for skill in answer["skills"].as_array().unwrap() {
        assert_eq!(skill["type"], "archive");
        let url = base.join(skill["url"].as_str().unwrap()).unwrap();
        assert!(
            url.as_str().starts_with(&registry.url) && url.path().ends_with(".tar.gz"),
            "{url}"
        );
        let archive = registry.client.get(url).send().await.unwrap();
        assert_eq!(archive.status(), 200);
        assert_eq!(archive.headers()["content-type"], "application/gzip");
        assert!(!archive.headers().contains_key("content-encoding"));
        let bytes = archive.bytes().await.unwrap();
        assert_eq!(skill["digest"], format!("sha256:{}", Sha256Digest::of(&bytes)));
        found.push((skill.clone(), untarred(&bytes)));
    }
    found
}

fn names(found: &[Found]) -> Vec<&str> {
    found.iter().map(|(skill, _)| skill["name"].as_str().unwrap()).collect()
}

#[tokio::test]
async fn every_level_has_an_index_whose_archives_have_the_files_at_their_root() {
    let registry = TestRegistry::start().await;
    let ana = registry.author("ana").await;
    registry.scope("acme", &ana, false).await;
    for name in ["acme/pdf_tools", "acme/reports", "reports", "alone"] {
        registry.published(&ana, name, "1.0.0").await;
    }
    let packed = Skill::new("acme/pdf_tools", "1.1.0+b.1").with_file("a/b.md", "B.\n").pack(&ana);
    published(registry.publish(&ana, &packed).await, StatusCode::CREATED).await;

    let of_skill = index(&registry, &format!("/s/acme/pdf_tools/{INDEX}")).await;
    assert_eq!(names(&of_skill), ["pdf-tools"]);
    let (skill, files) = &of_skill[0];
    assert_eq!(skill["version"], "1.1.0+b.1");
    assert_eq!(skill["address"], packed.address().to_string());
    let paths: Vec<&str> = files.iter().map(|(path, _)| path.as_str()).collect();
    assert_eq!(paths, ["SKILL.md", "a/b.md"]);
    assert_eq!(files[1].1, b"B.\n");
    let of_version = index(&registry, &format!("/s/acme/pdf_tools/1.0.0/{INDEX}")).await;
    assert_eq!(of_version[0].0["version"], "1.0.0");
    assert_eq!(
        names(&index(&registry, &format!("/s/acme/{INDEX}")).await),
        ["pdf-tools", "reports"]
    );
    assert_eq!(names(&index(&registry, &format!("/s/_/{INDEX}")).await), ["alone", "reports"]);
    // Of names in several scopes the bare one: the client has one directory for both.
    let whole = index(&registry, &format!("/{INDEX}")).await;
    assert_eq!(names(&whole), ["alone", "pdf-tools", "reports"]);
    let urls: Vec<&str> = whole.iter().map(|(skill, _)| skill["url"].as_str().unwrap()).collect();
    assert!(urls[2].contains("/s/_/reports/"), "{urls:?}");
}

#[tokio::test]
async fn what_is_yanked_forbidden_or_not_there_is_in_no_index() {
    let registry = TestRegistry::start().await;
    let ana = registry.author("ana").await;
    for version in ["1.0.0", "1.1.0", "1.2.0"] {
        registry.published(&ana, "w", version).await;
    }
    let yank = "/v1/skills/_/w/1.2.0/yank";
    let reason = value!({"reason": "wrong"});
    let yanked = registry.send(reqwest::Method::POST, yank, Some(&ana.token), &reason).await;
    assert_eq!(yanked.status(), 204);
    assert_eq!(index(&registry, &format!("/s/_/w/{INDEX}")).await[0].0["version"], "1.1.0");
    // By its number it is still had, as by whoever has locked it.
    assert_eq!(index(&registry, &format!("/s/_/w/1.2.0/{INDEX}")).await.len(), 1);
    let new = NewAdvisory {
        versions: ">=1.1".to_owned(),
        effect: Effect::Forbid,
        summary: "It leaks".to_owned(),
    };
    let path = "/v1/skills/_/w/advisories";
    let body = serde_json::to_value(&new).unwrap();
    let told = registry.send(reqwest::Method::POST, path, Some(&ana.token), &body).await;
    assert_eq!(told.status(), 201);
    assert_eq!(index(&registry, &format!("/s/_/w/{INDEX}")).await[0].0["version"], "1.0.0");
    for path in [format!("/s/_/w/1.1.0/{INDEX}"), "/s/_/w/1.1.0/skill.tar.gz".to_owned()] {
        let refused = problem(registry.get(&path, None).await, 410, "advisory_forbids").await;
        assert!(refused.detail.contains("It leaks"), "{}", refused.detail);
    }
    for path in ["/s/_/none", "/s/nobody", "/s/_/w/9.9.9", "/s/_/w/no-version", "/s/Not A Scope"] {
        problem(registry.get(&format!("{path}/{INDEX}"), None).await, 404, "not_found").await;
    }
    assert_eq!(advisories::list(&registry.data().database).await.unwrap().len(), 1);
}

#[tokio::test]
async fn what_the_client_would_drop_without_a_word_is_left_out_with_one() {
    let registry = TestRegistry::start().await;
    let ana = registry.author("ana").await;
    let mut odd = Skill::new("odd", "1.0.0");
    odd.files[0].2 = b"---\nname: odd\ndescription: Use when: asked\n---\nText.\n".to_vec();
    let answer =
        published(registry.publish(&ana, &odd.pack(&ana)).await, StatusCode::CREATED).await;
    let told: Vec<&str> = answer.warnings.iter().map(|one| one.code.as_str()).collect();
    assert_eq!(told, ["face_left_out"], "{:?}", answer.warnings);
    let path = format!("/s/_/odd/{INDEX}");
    let answer: Value = json(registry.get(&path, None).await, StatusCode::OK).await;
    assert_eq!(answer["skills"], value!([]));
    let reason = answer["left_out"][0]["reason"].as_str().unwrap();
    assert!(reason.contains("not YAML"), "{reason}");
    let refused = registry.get("/s/_/odd/1.0.0/skill.tar.gz", None).await;
    assert!(problem(refused, 404, "not_found").await.detail.contains("not YAML"));
    // Other faces have it.
    let path = "/apm/v1/packages/_/odd/versions/1.0.0/download";
    assert_eq!(registry.get(path, None).await.status(), 200);
}

#[tokio::test]
async fn a_token_in_the_path_reads_what_its_account_may_and_is_kept_by_no_cache() {
    let registry = TestRegistry::start().await;
    let ana = registry.author("ana").await;
    registry.scope("hush", &ana, true).await;
    registry.published(&ana, "hush/plan", "1.0.0").await;
    registry.published(&ana, "open", "1.0.0").await;
    let read = registry.token(&ana, &["read"]).await;
    for path in ["hush", "hush/plan", "hush/plan/1.0.0", "_/open"] {
        let index = format!("/t/{read}/s/{path}/{INDEX}");
        let answer = registry.get(&index, None).await;
        assert_eq!(answer.headers()["cache-control"], "private, no-store", "{path}");
        let answer: Value = json(answer, StatusCode::OK).await;
        let base = Url::parse(&format!("{}{index}", registry.url)).unwrap();
        let url = base.join(answer["skills"][0]["url"].as_str().unwrap()).unwrap();
        assert!(url.path().starts_with(&format!("/t/{read}/s/")), "{url}");
        let archive = registry.client.get(url).send().await.unwrap();
        assert_eq!(archive.status(), 200);
        assert_eq!(archive.headers()["cache-control"], "private, no-store");
    }
    // One that allows more is not written into files that people share.
    let refused = registry.get(&format!("/t/{}/s/hush/{INDEX}", ana.token), None).await;
    problem(refused, 403, "token_lacks_grant").await;
    let refused = registry.get(&format!("/t/skp_none/s/hush/{INDEX}"), None).await;
    problem(refused, 401, "unauthorized").await;
    // In a header it is one as anywhere.
    let path = format!("/s/hush/plan/{INDEX}");
    assert_eq!(registry.get(&path, Some(&ana.token)).await.status(), 200);
    problem(registry.get(&path, None).await, 404, "not_found").await;
}
