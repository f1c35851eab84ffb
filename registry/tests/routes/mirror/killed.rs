//! The real binaries, killed at any moment.

use std::path::Path;
use std::time::Duration;

use reqwest::StatusCode;
use serde_json::Value;
use skillpkg_schema::wire::Document;

use super::skill;
use super::upstream::FakeUpstream;
use crate::commands::{Serving, answered, command};
use crate::support::{Packed, client, json as read};

fn mirror(data: &Path, upstream: &str) -> Serving {
    // A proxy of the environment that would answer nothing.
    let mut serve = command(data, &["serve", "--listen", "127.0.0.1:0", "--mirror", upstream]);
    serve.args(["--allow-upstream", "127.0.0.1", "--mirror-every", "1s"]);
    for variable in ["HTTP_PROXY", "http_proxy", "ALL_PROXY", "all_proxy"] {
        serve.env(variable, "http://127.0.0.1:1");
    }
    Serving::of(&mut serve)
}

async fn get(serving: &Serving, path: &str) -> Option<reqwest::Response> {
    client().get(format!("{}{path}", serving.url)).send().await.ok()
}

#[tokio::test]
async fn a_mirror_killed_at_any_moment_holds_what_is_whole() {
    let upstream = FakeUpstream::start().await;
    let packed: Vec<Packed> =
        (0..12).map(|at| upstream.publish(&format!("skill{at}"), "1.0.0")).collect();
    let directory = tempfile::tempdir().unwrap();
    let archive = |packed: &Packed| format!("/v1/archives/{}", packed.digests.sha256.address());
    for round in 0..5_u64 {
        let serving = mirror(directory.path(), &upstream.url());
        let asking = async {
            for (at, packed) in packed.iter().enumerate() {
                let document = get(&serving, &skill(&format!("skill{at}"))).await;
                let archive = get(&serving, &archive(packed)).await;
                let (Some(_), Some(archive)) = (document, archive) else { return };
                if archive.status() == StatusCode::OK
                    && let Ok(bytes) = archive.bytes().await
                {
                    assert_eq!(bytes, packed.archive);
                }
            }
        };
        let killing = async {
            tokio::time::sleep(Duration::from_millis(40 + round * 45)).await;
            let process = serving.process.id().to_string();
            std::process::Command::new("kill").args(["-KILL", &process]).status().unwrap();
        };
        tokio::join!(asking, killing);
        serving.kill();
        let report = answered(directory.path(), &["verify"], 0);
        assert_eq!(report["ok"], Value::Bool(true), "{report}");
        upstream.publish(&format!("skill{round}"), "1.1.0");
    }
    let serving = mirror(directory.path(), &upstream.url());
    for (at, packed) in packed.iter().enumerate() {
        let answer = get(&serving, &skill(&format!("skill{at}"))).await.unwrap();
        let _: Document = read(answer, StatusCode::OK).await;
        let answer = get(&serving, &archive(packed)).await.unwrap();
        assert_eq!(answer.bytes().await.unwrap(), packed.archive);
    }
}

#[tokio::test]
async fn an_upstream_killed_at_any_moment_is_followed_again() {
    let (there, here) = (tempfile::tempdir().unwrap(), tempfile::tempdir().unwrap());
    let upstream = {
        let mut registry = crate::support::TestRegistry::start_in(
            there.path(),
            skillpkg_registry::state::Options::default(),
        )
        .await;
        let ana = registry.author("ana").await;
        registry.published(&ana, "waitlist", "1.0.0").await;
        registry.stop().await;
        ana
    };
    let serving = Serving::start(there.path());
    let address = serving.url.strip_prefix("http://").unwrap().to_owned();
    let relaying = mirror(here.path(), &serving.url);
    let answer = get(&relaying, &skill("waitlist")).await.unwrap();
    let _: Document = read(answer, StatusCode::OK).await;
    serving.kill();
    // Gone: what is held is served.
    tokio::time::sleep(Duration::from_millis(1_200)).await;
    let answer = get(&relaying, &skill("waitlist")).await.unwrap();
    let _: Document = read(answer, StatusCode::OK).await;
    let again = Serving::of(&mut command(there.path(), &["serve", "--listen", &address]));
    let packed = crate::support::Skill::new("waitlist", "1.1.0").pack(&upstream);
    let request = client().put(format!("{}{}", again.url, packed.path()));
    let request = upstream.offer(request.bearer_auth(&upstream.token)).body(packed.archive.clone());
    assert_eq!(request.send().await.unwrap().status(), StatusCode::CREATED);
    // Found again by itself.
    let found = async {
        loop {
            let answer = get(&relaying, &skill("waitlist")).await.unwrap();
            let document: Document = read(answer, StatusCode::OK).await;
            if document.versions.len() == 2 {
                return;
            }
            tokio::time::sleep(Duration::from_millis(200)).await;
        }
    };
    tokio::time::timeout(Duration::from_secs(20), found).await.unwrap();
    relaying.kill();
    again.kill();
}

#[tokio::test]
async fn an_upstream_that_may_not_be_asked_is_refused_at_the_start() {
    let directory = tempfile::tempdir().unwrap();
    for (upstream, says) in [
        ("http://skills.example.org", "--allow-upstream skills.example.org"),
        ("https://127.0.0.1:7770", "--allow-upstream 127.0.0.1"),
        ("https://2130706433", "127.0.0.1, this machine's own address"),
        ("https://[::1]", "this machine's own address"),
        ("https://ana:secret@skills.example.org", "a name or a password"),
    ] {
        let serve = ["serve", "--listen", "127.0.0.1:0", "--mirror", upstream];
        let output = command(directory.path(), &serve).output().unwrap();
        assert_eq!(output.status.code(), Some(1), "{upstream}");
        let told = String::from_utf8(output.stderr).unwrap();
        assert!(told.contains(says) && !told.contains("secret"), "{upstream}: {told}");
        assert!(output.stdout.is_empty(), "{upstream}");
    }
    for serve in [
        &["serve", "--mirror", "file:///etc/passwd"][..],
        &["serve", "--mirror", "skills.example.org"],
        &["serve", "--mirror-every", "15m"],
        &["serve", "--mirror", "https://a.example.org", "--mirror-every", "soon"],
        &["serve", "--mirror", "https://a.example.org", "--mirror-only", "Not A Name"],
        &["serve", "--mirror", "https://a.example.org", "--allow-upstream", "http://a/b"],
    ] {
        let output = command(directory.path(), serve).output().unwrap();
        assert_eq!(output.status.code(), Some(2), "{serve:?}");
    }
}
