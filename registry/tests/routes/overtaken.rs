//! Two servers on one registry, as links from another directory make possible: the one that the
//! other has overtaken says so, changes nothing more, and ends.

use std::path::Path;
use std::process::Stdio;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::Duration;

use reqwest::StatusCode;
use serde_json::Value;
use skillpkg_registry::data::Places;
use skillpkg_registry::skills::publish::Step;
use skillpkg_registry::state::Options;

use crate::commands::Serving;
use crate::support::{Skill, TestRegistry, client, failing_at, json, problem};

/// Another directory whose database, objects and log are those of `data`.
#[cfg(unix)]
fn linked(data: &Path, other: &Path) {
    std::fs::create_dir(other).unwrap();
    for name in ["registry.db", "objects", "log", "blob-store"] {
        if data.join(name).exists() {
            std::os::unix::fs::symlink(data.join(name), other.join(name)).unwrap();
        }
    }
}

async fn found(registry: &TestRegistry, text: &str) -> Vec<String> {
    let answer = registry.get(&format!("/v1/search?q={text}"), None).await;
    let answer: Value = json(answer, StatusCode::OK).await;
    let skills = answer["skills"].as_array().unwrap();
    let shown = |hit: &Value| format!("{}@{}", hit["name"].as_str().unwrap(), hit["version"]);
    skills.iter().map(|hit| shown(hit).replace('"', "")).collect()
}

#[cfg(unix)]
#[tokio::test]
async fn a_server_that_another_has_overtaken_is_not_ready_and_changes_nothing() {
    let directory = tempfile::tempdir().unwrap();
    let directory = directory.path().canonicalize().unwrap();
    let (one, two) = (directory.join("one"), directory.join("two"));
    let first = TestRegistry::start_at(Places::from(&one), Options::default()).await;
    let ana = first.author("ana").await;
    first.published(&ana, "waitlist", "1.0.0").await;
    assert_eq!(first.get("/readyz", None).await.status(), 204);
    linked(&one, &two);
    let second = TestRegistry::start_at(Places::from(&two), Options::default()).await;
    second.published(&ana, "waitlist", "1.1.0").await;

    // At once, before the first has looked for itself.
    let late = Skill::new("waitlist", "1.2.0").pack(&ana);
    let refused = problem(first.publish(&ana, &late).await, 503, "unavailable").await;
    assert!(refused.detail.contains("another server"), "{}", refused.detail);
    let mut ready = first.get("/readyz", None).await;
    for _ in 0..50 {
        if ready.status() == 503 {
            break;
        }
        tokio::time::sleep(Duration::from_millis(100)).await;
        ready = first.get("/readyz", None).await;
    }
    let told = problem(ready, 503, "unavailable").await.detail;
    assert!(told.contains("another server"), "{told}");
    problem(first.publish(&ana, &late).await, 503, "unavailable").await;

    // What was refused is not there, and does not come.
    second.published(&ana, "other", "1.0.0").await;
    let document: Value =
        json(second.get("/v1/skills/_/waitlist", None).await, StatusCode::OK).await;
    assert_eq!(document["versions"].as_array().unwrap().len(), 2);
    assert_eq!(found(&second, "waitlist").await, ["waitlist@1.1.0"]);
    assert_eq!(second.get("/readyz", None).await.status(), 204);
}

#[cfg(unix)]
#[tokio::test]
async fn a_served_process_that_is_overtaken_ends_and_says_why() {
    let directory = tempfile::tempdir().unwrap();
    let directory = directory.path().canonicalize().unwrap();
    let (one, two) = (directory.join("one"), directory.join("two"));
    let serve = |data: &Path| {
        let mut serve = std::process::Command::new(env!("CARGO_BIN_EXE_skillpkg-registry"));
        serve.args(["serve", "--listen", "127.0.0.1:0", "--data"]).arg(data);
        serve.env_remove("RUST_LOG").stderr(Stdio::piped());
        Serving::of(&mut serve)
    };
    let mut first = serve(&one);
    linked(&one, &two);
    let second = serve(&two);
    let add = |name: &str| {
        let mut add = std::process::Command::new(env!("CARGO_BIN_EXE_skillpkg-registry"));
        add.args(["user", "add", name, "--data"]).arg(&two);
        String::from_utf8(add.output().unwrap().stdout).unwrap().trim().to_owned()
    };
    let token = add("ana");
    let mut ana = TestRegistry::start().await.author("ana").await;
    let log = client().get(format!("{}/v1/log", second.url)).send().await.unwrap();
    let log: Value = json(log, StatusCode::OK).await;
    ana.identity = log["logs"][0]["origin"].as_str().unwrap().to_owned();
    ana.token = token;
    let packed = Skill::new("waitlist", "1.0.0").pack(&ana);
    // Either takes it: whichever does, the other is overtaken.
    let publish = client().put(format!("{}{}", second.url, packed.path()));
    let publish = ana.offer(publish.bearer_auth(&ana.token)).body(packed.archive.clone());
    let status = publish.send().await.unwrap().status();
    assert!(status.is_success() || status == 503, "{status}");
    let mut second = second;
    let mut ended = None;
    for _ in 0..600 {
        for serving in [&mut first, &mut second] {
            if let Some(status) = serving.process.try_wait().unwrap() {
                let mut told = String::new();
                let stderr = serving.process.stderr.as_mut().unwrap();
                std::io::Read::read_to_string(stderr, &mut told).unwrap();
                ended = Some((status.code(), told));
            }
        }
        if ended.is_some() {
            break;
        }
        tokio::time::sleep(Duration::from_millis(100)).await;
    }
    let (code, told) = ended.expect("the one that was overtaken ends");
    assert_eq!(code, Some(1), "{told}");
    assert!(told.contains("error: another server"), "{told}");
}

#[tokio::test]
async fn search_shows_no_version_that_no_checkpoint_covers() {
    let armed = Arc::new(AtomicBool::new(false));
    let registry = TestRegistry::start_with(failing_at(Step::TilesPut, &armed)).await;
    let ana = registry.author("ana").await;
    registry.published(&ana, "waitlist", "1.0.0").await;
    armed.store(true, Ordering::SeqCst);
    for (name, version) in [("waitlist", "1.1.0"), ("waiting", "1.0.0")] {
        let packed = Skill::new(name, version).pack(&ana);
        let refused = problem(registry.publish(&ana, &packed).await, 503, "unavailable").await;
        let is_kept = name == "waitlist";
        assert_eq!(refused.detail.contains("is kept"), is_kept, "{}", refused.detail);
    }
    assert_eq!(found(&registry, "wait").await, ["waitlist@1.0.0"]);
    let ready = problem(registry.get("/readyz", None).await, 503, "unavailable").await;
    assert!(ready.detail.contains("log"), "{}", ready.detail);
    armed.store(false, Ordering::SeqCst);
    for _ in 0..100 {
        if found(&registry, "wait").await == ["waitlist@1.1.0"] {
            break;
        }
        tokio::time::sleep(Duration::from_millis(100)).await;
    }
    assert_eq!(found(&registry, "wait").await, ["waitlist@1.1.0"]);
    assert_eq!(registry.get("/readyz", None).await.status(), 204);
}
