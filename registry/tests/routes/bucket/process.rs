//! A registry whose objects are in a bucket, as operators run it, while the service misbehaves.

use std::path::Path;
use std::process::{Command, Stdio};
use std::time::{Duration, Instant};

use reqwest::StatusCode;
use skillpkg_schema::wire::Document;

use super::faults::{Fault, Relay, always};
use super::{S3Server, SECRET};
use crate::commands::{Serving, author_of, command};
use crate::support::{Author, Packed, Skill, client, json};

fn at(data: &Path, blobs: &str, arguments: &[&str]) -> Command {
    let mut command = command(data, arguments);
    command.env("SKILLPKG_REGISTRY_BLOBS", blobs).envs(S3Server::environment());
    command
}

fn serve(data: &Path, blobs: &str) -> Command {
    at(data, blobs, &["serve", "--listen", "127.0.0.1:0"])
}

fn author(data: &Path, blobs: &str, account: &str) -> Author {
    let output = at(data, blobs, &["user", "add", account]).output().unwrap();
    assert!(output.status.success(), "{}", String::from_utf8_lossy(&output.stderr));
    author_of(data, account, &String::from_utf8(output.stdout).unwrap())
}

/// What a registry says that does not start.
fn refused(command: &mut Command) -> String {
    let output = command.output().unwrap();
    let told = String::from_utf8(output.stderr).unwrap();
    assert_eq!(output.status.code(), Some(1), "{told}");
    assert!(output.stdout.is_empty());
    assert!(!told.contains(SECRET), "{told}");
    told
}

async fn publish(serving: &Serving, author: &Author, packed: &Packed) -> reqwest::Response {
    let request = client().put(format!("{}{}", serving.url, packed.path()));
    let request = author.offer(request.bearer_auth(&author.token)).body(packed.archive.clone());
    request.send().await.unwrap()
}

async fn status(serving: &Serving, path: &str) -> StatusCode {
    client().get(format!("{}{path}", serving.url)).send().await.unwrap().status()
}

#[test]
fn a_bucket_that_cannot_be_used_is_told_with_what_to_do() {
    let Some(server) = S3Server::start("a_bucket_that_cannot_be_used") else { return };
    server.bucket("skills");
    let data = tempfile::tempdir().unwrap();
    let endpoint = |address: &str| format!("s3://skills?endpoint=http://{address}&timeout=2");
    let here = endpoint(&server.address);
    let told = refused(&mut serve(data.path(), &here.replace("skills", "others")));
    assert!(told.contains("`s3://others`") && told.contains("no such bucket; make it"), "{told}");
    let told = refused(serve(data.path(), &here).env("AWS_SECRET_ACCESS_KEY", "another"));
    assert!(told.contains("`AWS_SECRET_ACCESS_KEY`"), "{told}");
    let told = refused(serve(data.path(), &here).env("AWS_ACCESS_KEY_ID", "another"));
    assert!(told.contains("`AWS_ACCESS_KEY_ID`"), "{told}");
    let told = refused(serve(data.path(), &here).env_remove("AWS_SECRET_ACCESS_KEY"));
    assert!(told.contains("there are no credentials"), "{told}");
    // The machine's own service of credentials refuses, or is not there.
    let forbids = "HTTP/1.1 403 Forbidden\r\ncontent-length: 0\r\nconnection: close\r\n\r\n";
    for metadata in [always(forbids), "127.0.0.1:9".to_owned()] {
        let mut serve = serve(data.path(), &here);
        serve.env_remove("AWS_ACCESS_KEY_ID").env_remove("AWS_SECRET_ACCESS_KEY");
        serve.env("AWS_METADATA_ENDPOINT", format!("http://{metadata}"));
        let told = refused(&mut serve);
        assert!(told.contains("there are no credentials"), "{told}");
    }
    // Port 9 of this machine: nobody listens there.
    let told = refused(&mut serve(data.path(), &endpoint("127.0.0.1:9")));
    assert!(told.contains("cannot be reached"), "{told}");
    for (line, code, says) in [
        ("403 Forbidden", "AccessDenied", "`s3:PutObject`"),
        ("403 Forbidden", "RequestTimeTooSkewed", "set the clock"),
        ("400 Bad Request", "AuthorizationHeaderMalformed", "`?region=…`"),
        ("301 Moved Permanently", "PermanentRedirect", "`?region=…`"),
    ] {
        let body = format!("<Error><Code>{code}</Code></Error>");
        let length = body.len();
        let answer = always(&format!(
            "HTTP/1.1 {line}\r\ncontent-length: {length}\r\nconnection: close\r\n\r\n{body}"
        ));
        let told = refused(&mut serve(data.path(), &endpoint(&answer)));
        assert!(told.contains(says), "{code}: {told}");
    }
    let told = refused(&mut serve(data.path(), "s3://key:hidden@skills"));
    assert!(told.contains("`AWS_ACCESS_KEY_ID`") && !told.contains("hidden"), "{told}");
    let told = refused(&mut serve(data.path(), "s3://skills?endpoint=http://192.0.2.1"));
    assert!(told.contains("`allow-http=true`"), "{told}");
    let told = refused(serve(data.path(), &here).env("AWS_CA_BUNDLE", data.path()));
    assert!(told.contains("`AWS_CA_BUNDLE`"), "{told}");
    // Nothing of it has made the directory one that is not used later.
    Serving::of(&mut serve(data.path(), &here)).kill();
}

#[tokio::test]
async fn while_the_service_misbehaves_nothing_is_half_done_and_it_goes_on_by_itself() {
    let Some(server) = S3Server::start("while_the_service_misbehaves") else { return };
    let bucket = server.bucket("skills");
    let relay = Relay::to(&server.address);
    let data = tempfile::tempdir().unwrap();
    let blobs = format!("s3://skills/a?endpoint=http://{}&timeout=1", relay.address);
    let serving = Serving::of(&mut serve(data.path(), &blobs));
    assert!(!data.path().join("objects").exists());
    let ana = author(data.path(), &blobs, "ana");
    let large = vec![b'x'; 400_000];
    let first = Skill::new("waitlist", "1.0.0").with_file("large.txt", large.clone()).pack(&ana);
    assert_eq!(publish(&serving, &ana, &first).await.status(), 201);
    let entry = first.manifest.file("large.txt").unwrap();
    let file = format!("/v1/blobs/sha256:{}", entry.sha256);
    let faults = [Fault::Failing, Fault::Reset, Fault::Stalled];
    for (minor, fault) in (1..).zip(faults) {
        let version = format!("1.{minor}.0");
        let packed = Skill::new("waitlist", &version).with_file("new.md", version).pack(&ana);
        relay.set(fault);
        let began = Instant::now();
        let answer = publish(&serving, &ana, &packed).await;
        assert_eq!(answer.status(), 503, "{fault:?}");
        assert!(answer.headers().contains_key("retry-after"), "{fault:?}");
        // More readers than there are workers wait for the service, and hold nobody up.
        let url = format!("{}{file}", serving.url);
        let waiting: Vec<_> = (0..40).map(|_| client().get(&url).send()).collect();
        let waiting = tokio::spawn(futures_util::future::join_all(waiting));
        let asked = Instant::now();
        assert_eq!(status(&serving, "/healthz").await, 204);
        assert_eq!(status(&serving, "/v1/skills/_/waitlist").await, 200);
        assert!(asked.elapsed() < Duration::from_secs(1), "{fault:?}: {:?}", asked.elapsed());
        assert_eq!(status(&serving, "/readyz").await, 503, "{fault:?}");
        for answer in waiting.await.unwrap() {
            assert_eq!(answer.unwrap().status(), 503, "{fault:?}");
        }
        assert!(began.elapsed() < Duration::from_secs(20), "{fault:?}: {:?}", began.elapsed());
        relay.set(Fault::None);
        assert_eq!(status(&serving, "/readyz").await, 204, "{fault:?}");
        let answer = client().get(format!("{}{file}", serving.url)).send().await.unwrap();
        assert!(answer.bytes().await.unwrap() == large);
        // The log goes on within a moment of what it could not write.
        let mut answer = publish(&serving, &ana, &packed).await;
        for _ in 0..20 {
            if answer.status() != 503 {
                break;
            }
            tokio::time::sleep(Duration::from_millis(200)).await;
            answer = publish(&serving, &ana, &packed).await;
        }
        assert!(answer.status().is_success(), "{fault:?}: {}", answer.text().await.unwrap());
    }
    let answer = client().get(format!("{}/v1/skills/_/waitlist", serving.url)).send().await;
    let document: Document = json(answer.unwrap(), StatusCode::OK).await;
    assert_eq!(document.versions.len(), 4);
    // Content that is small is kept in memory: not what was cut short.
    let new = first.manifest.file("SKILL.md").unwrap();
    let small = format!("{}/v1/blobs/sha256:{}", serving.url, new.sha256);
    for fault in [Fault::Truncated, Fault::Changed] {
        relay.set(fault);
        let answer = client().get(&small).send().await.unwrap();
        assert!(answer.status().is_server_error(), "{fault:?}");
        let answer = client().get(format!("{}{file}", serving.url)).send().await.unwrap();
        assert!(answer.bytes().await.is_err(), "{fault:?}");
    }
    relay.set(Fault::None);
    let answer = client().get(&small).send().await.unwrap();
    assert_eq!(answer.bytes().await.unwrap().len() as u64, new.size);
    serving.kill();
    let report = run(data.path(), &blobs, "verify");
    assert_eq!(report["ok"], true, "{report}");
    let removal = run_with(data.path(), &blobs, &["gc", "--older-than", "0"]);
    let again = run_with(data.path(), &blobs, &["gc", "--older-than", "0"]);
    assert_eq!(again["removed"], 0, "{removal} {again}");
    assert_eq!(run(data.path(), &blobs, "verify")["ok"], true);
    assert!(bucket.join("a/log/tile").is_dir());
}

fn run(data: &Path, blobs: &str, name: &str) -> serde_json::Value {
    run_with(data, blobs, &[name])
}

fn run_with(data: &Path, blobs: &str, arguments: &[&str]) -> serde_json::Value {
    let output = at(data, blobs, &[arguments, &["--json"]].concat()).output().unwrap();
    assert!(output.status.success(), "{output:?}");
    serde_json::from_slice(&output.stdout).unwrap()
}

#[tokio::test]
async fn nothing_is_removed_from_the_bucket_of_another_registry() {
    let Some(server) = S3Server::start("nothing_is_removed_from_the_bucket") else { return };
    server.bucket("skills");
    let blobs = |prefix| format!("s3://skills/{prefix}?endpoint=http://{}", server.address);
    let directories = [(); 3].map(|()| tempfile::tempdir().unwrap());
    for (directory, prefix) in directories.iter().zip(["one", "other"]) {
        let serving = Serving::of(&mut serve(directory.path(), &blobs(prefix)));
        let ana = author(directory.path(), &blobs(prefix), "ana");
        let packed = Skill::new("waitlist", "1.0.0").pack(&ana);
        assert_eq!(publish(&serving, &ana, &packed).await.status(), 201);
        serving.kill();
    }
    author(directories[2].path(), &blobs("one"), "ana");
    let gc = ["gc", "--older-than", "0", "--json"];
    // One that has published elsewhere, and one that has published nothing.
    let refused = refused(&mut at(directories[1].path(), &blobs("one"), &["gc"]));
    assert!(refused.contains("`s3://skills/other`"), "{refused}");
    for directory in &directories[1..] {
        // Where that was said to be on purpose as well.
        let _ = std::fs::remove_file(directory.path().join("blob-store"));
        let output = at(directory.path(), &blobs("one"), &gc).output().unwrap();
        let told = String::from_utf8_lossy(&output.stdout);
        assert_eq!(output.status.code(), Some(1), "{told}");
        assert!(told.contains("not this registry's"), "{told}");
    }
    assert_eq!(run(directories[0].path(), &blobs("one"), "verify")["ok"], true);
    let removal = run_with(directories[0].path(), &blobs("one"), &gc[..3]);
    assert_eq!(removal["removed"], 0, "{removal}");
}

#[tokio::test]
async fn no_log_holds_what_opens_the_bucket() {
    let Some(server) = S3Server::start("no_log_holds_what_opens_the_bucket") else { return };
    server.bucket("skills");
    let data = tempfile::tempdir().unwrap();
    let blobs = format!("s3://skills?endpoint=http://{}", server.address);
    let mut command = serve(data.path(), &blobs);
    command.env("RUST_LOG", "trace").env("AWS_SESSION_TOKEN", "token-that-nobody-may-see");
    let mut serving = Serving::of(command.stderr(Stdio::piped()));
    let mut stderr = serving.process.stderr.take().unwrap();
    let reading = std::thread::spawn(move || {
        let mut told = String::new();
        std::io::Read::read_to_string(&mut stderr, &mut told).unwrap();
        told
    });
    let ana = author(data.path(), &blobs, "ana");
    let packed = Skill::new("waitlist", "1.0.0").pack(&ana);
    let published = publish(&serving, &ana, &packed).await.status();
    // A token is signed along; a service without temporary credentials may not mind it.
    assert!(published == 201 || published == 503, "{published}");
    let metrics = client().get(format!("{}/metrics", serving.url)).send().await.unwrap();
    let metrics = metrics.text().await.unwrap();
    serving.kill();
    let told = reading.join().unwrap();
    assert!(told.contains("TRACE"), "it logs everything");
    for secret in [SECRET, "token-that-nobody-may-see"] {
        assert!(!told.contains(secret) && !metrics.contains(secret));
    }
}
