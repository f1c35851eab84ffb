//! The binary, as operators run it.

use std::io::{BufRead as _, BufReader, Read as _};
use std::path::Path;
use std::process::{Child, Command, Output, Stdio};
use std::time::Duration;

use reqwest::StatusCode;
use serde_json::Value;
use skillpkg_registry::data::Data;
use skillpkg_registry::log::Keyring;
use skillpkg_schema::signature::SigningKey;
use skillpkg_schema::wire::Document;

use crate::support::{Author, Skill, TestRegistry, client, json};

pub(crate) fn command(data: &Path, arguments: &[&str]) -> Command {
    let mut command = Command::new(env!("CARGO_BIN_EXE_skillpkg-registry"));
    command.args(arguments).arg("--data").arg(data);
    for variable in ["RUST_LOG", "SKILLPKG_REGISTRY_DATA", "SKILLPKG_REGISTRY_DATABASE"] {
        command.env_remove(variable);
    }
    command.envs(crate::bucket::variables(data));
    if let Some(url) = skillpkg_tests::postgres::database_of(data) {
        command.env("SKILLPKG_REGISTRY_DATABASE", url);
    }
    command
}

pub(crate) fn run(data: &Path, arguments: &[&str]) -> Output {
    command(data, arguments).output().unwrap()
}

pub(crate) fn done(data: &Path, arguments: &[&str]) -> String {
    let output = run(data, arguments);
    let errors = String::from_utf8_lossy(&output.stderr);
    assert!(output.status.success(), "{arguments:?}: {errors}");
    String::from_utf8(output.stdout).unwrap()
}

pub(crate) fn answered(data: &Path, arguments: &[&str], code: i32) -> Value {
    let output = run(data, &[arguments, &["--json"]].concat());
    assert_eq!(output.status.code(), Some(code), "{output:?}");
    serde_json::from_slice(&output.stdout).unwrap()
}

/// A serving process, killed where the test ends early.
pub(crate) struct Serving {
    pub(crate) process: Child,
    pub(crate) url: String,
}

impl Serving {
    pub(crate) fn start(data: &Path) -> Self {
        Self::of(&mut command(data, &["serve", "--listen", "127.0.0.1:0"]))
    }

    pub(crate) fn of(command: &mut Command) -> Self {
        let mut process = command.stdout(Stdio::piped()).spawn().unwrap();
        let mut line = String::new();
        BufReader::new(process.stdout.take().unwrap()).read_line(&mut line).unwrap();
        let url = line.strip_prefix("listening on ").unwrap().trim_end().to_owned();
        assert!(url.starts_with("http://127.0.0.1:") && !url.ends_with(":0"), "{url}");
        Self { process, url }
    }

    pub(crate) fn kill(mut self) {
        self.process.kill().unwrap();
        self.process.wait().unwrap();
    }
}

impl Drop for Serving {
    fn drop(&mut self) {
        let _ = self.process.kill();
        let _ = self.process.wait();
    }
}

/// Makes an empty registry, as `serve` does.
pub(crate) async fn registry_in(data: &Path) {
    Data::open_or_create(crate::bucket::places(data)).await.unwrap();
}

#[tokio::test]
async fn only_serving_and_the_first_account_make_a_registry() {
    let directory = tempfile::tempdir().unwrap();
    let data = directory.path().join("typo");
    for arguments in [
        &["user", "list"][..],
        &["scope", "add", "acme", "--owner", "ana"],
        &["token", "list", "ana"],
        &["verify"],
        &["gc"],
    ] {
        let refused = answered(&data, arguments, 1);
        assert_eq!(refused["error"]["code"], "no_registry", "{arguments:?}");
        let message = refused["error"]["message"].as_str().unwrap();
        assert!(message.contains("typo") && message.contains("`serve`"), "{message}");
        assert!(!data.exists(), "{arguments:?}");
    }
    let made = run(&data, &["user", "add", "ana"]);
    assert!(String::from_utf8(made.stdout).unwrap().starts_with("skp_"));
    assert!(String::from_utf8(made.stderr).unwrap().contains("made a registry in"));
    let other = directory.path().join("other");
    std::fs::create_dir(&other).unwrap();
    std::fs::write(other.join("notes.txt"), "mine").unwrap();
    assert_eq!(answered(&other, &["user", "add", "ana"], 1)["error"]["code"], "no_registry");
    let entries = || std::fs::read_dir(&other).unwrap().count();
    let before = entries();
    let refused = run(&other, &["serve", "--listen", "127.0.0.1:0"]);
    let told = String::from_utf8(refused.stderr).unwrap();
    assert!(!refused.status.success() && told.contains("`notes.txt`"), "{told}");
    assert_eq!(entries(), before);
}

/// Every command that takes a data directory, with arguments that are understood.
const COMMANDS: [&[&str]; 9] = [
    &["user", "list"],
    &["user", "add", "zoe"],
    &["scope", "list"],
    &["token", "list", "ana"],
    &["name", "list"],
    &["advisory", "list"],
    &["log", "identity"],
    &["verify"],
    &["gc"],
];

#[test]
fn a_registry_whose_database_is_lost_or_damaged_is_refused_by_every_command_and_left_as_it_is() {
    let directory = tempfile::tempdir().unwrap();
    let data = directory.path().join("data");
    if skillpkg_tests::postgres::database_of(&data).is_some() {
        return;
    }
    Serving::start(&data).kill();
    done(&data, &["user", "add", "ana"]);
    let database = data.join("registry.db");
    let serve = || {
        let refused = run(&data, &["serve", "--listen", "127.0.0.1:0"]);
        assert_eq!(refused.status.code(), Some(1), "{refused:?}");
        String::from_utf8(refused.stderr).unwrap()
    };
    let kept = directory.path().join("kept.db");
    std::fs::rename(&database, &kept).unwrap();
    for arguments in COMMANDS {
        let refused = answered(&data, arguments, 1);
        assert_eq!(refused["error"]["code"], "database_lost", "{arguments:?}: {refused}");
        let told = refused["error"]["message"].as_str().unwrap();
        assert!(told.contains("`registry.db` is missing") && told.contains("restore"), "{told}");
    }
    let told = serve();
    assert!(told.contains("`registry.db` is missing"), "{told}");
    assert!(!database.exists());

    for garbage in [&b"garbage\n"[..], &[0x5a; 8192]] {
        std::fs::write(&database, garbage).unwrap();
        for arguments in COMMANDS {
            let start = std::time::Instant::now();
            let refused = run(&data, arguments);
            assert_eq!(refused.status.code(), Some(1), "{arguments:?}");
            let told = String::from_utf8(refused.stderr).unwrap();
            assert!(told.contains("is damaged") && told.contains("restore it"), "{told}");
            assert_eq!(told.lines().count(), 1, "{told}");
            assert!(start.elapsed() < Duration::from_secs(20), "{:?}", start.elapsed());
        }
        let told = serve();
        assert!(told.contains("is damaged") && !told.contains("sqlx"), "{told}");
        assert_eq!(std::fs::read(&database).unwrap(), garbage);
    }
    std::fs::rename(&kept, &database).unwrap();
    assert!(done(&data, &["user", "list"]).starts_with("ana\t"));
}

/// A new account of the registry in `data`, with a key of its own.
pub(crate) fn author(data: &Path, account: &str) -> Author {
    author_of(data, account, &done(data, &["user", "add", account]))
}

/// An account of the registry in `data` that has this token, with a key of its own.
pub(crate) fn author_of(data: &Path, account: &str, token: &str) -> Author {
    let token = token.trim_end().to_owned();
    let log = data.join("log");
    let made = || Keyring::make(&log, None).unwrap();
    let keyring = Keyring::open(&log).unwrap().unwrap_or_else(made);
    let identity = keyring.chain().origin().to_owned();
    let key = SigningKey::generate().unwrap();
    Author { account: account.to_owned(), token, key, identity }
}

#[tokio::test]
async fn accounts_scopes_and_tokens_are_managed_while_the_registry_serves() {
    let directory = tempfile::tempdir().unwrap();
    let data = directory.path().join("data");
    let serving = Serving::start(&data);
    registry_in(&data).await;
    let token = done(&data, &["user", "add", "ana"]);
    assert!(token.starts_with("skp_") && token.lines().count() == 1, "{token}");
    done(&data, &["user", "add", "ben"]);
    assert_eq!(answered(&data, &["user", "add", "ana"], 1)["error"]["code"], "name_taken");
    assert_eq!(answered(&data, &["user", "add", "Ana"], 1)["error"]["code"], "invalid_name");
    assert_eq!(answered(&data, &["user", "add", "an_a"], 0)["account"], "an_a");
    assert_eq!(answered(&data, &["user", "add", "an-a"], 1)["error"]["code"], "name_taken");
    done(&data, &["scope", "add", "acme", "--owner", "ana", "--private"]);
    done(&data, &["scope", "member", "add", "acme", "ben", "--role", "reader"]);
    let unknown = answered(&data, &["scope", "member", "add", "acme", "zoe"], 1);
    assert_eq!(unknown["error"]["code"], "unknown_account");
    let last = answered(&data, &["scope", "member", "remove", "acme", "ana"], 1);
    assert_eq!(last["error"]["code"], "last_owner");
    let scopes = answered(&data, &["scope", "list"], 0);
    assert_eq!(scopes["scopes"][0]["members"][1]["role"], "reader");
    assert_eq!(scopes["scopes"][0]["private"], true);
    let minted = done(&data, &["token", "mint", "ben", "--grant", "read", "--days", "7"]);
    let listed = answered(&data, &["token", "list", "ben"], 0);
    let minted_id = listed["tokens"]
        .as_array()
        .unwrap()
        .iter()
        .find(|token| token["label"] == "minted by an operator")
        .unwrap()["id"]
        .as_str()
        .unwrap()
        .to_owned();
    let who = async || {
        let request = client().get(format!("{}/v1/tokens/self", serving.url));
        request.bearer_auth(minted.trim_end()).send().await.unwrap().status().as_u16()
    };
    assert_eq!(who().await, 200);
    done(&data, &["token", "revoke", &minted_id]);
    tokio::time::sleep(Duration::from_millis(1_100)).await;
    assert_eq!(who().await, 401);
    assert_eq!(
        answered(&data, &["token", "revoke", &minted_id], 1)["error"]["code"],
        "unknown_token"
    );
    assert_eq!(run(&data, &["token", "mint", "ben", "--grant", "root"]).status.code(), Some(2));
}

#[test]
fn a_second_server_is_refused_and_the_first_one_named() {
    let directory = tempfile::tempdir().unwrap();
    let serving = Serving::start(directory.path());
    let second = run(directory.path(), &["serve", "--listen", "127.0.0.1:0"]);
    assert_eq!((second.status.code(), second.stdout.len()), (Some(1), 0));
    let errors = String::from_utf8_lossy(&second.stderr).into_owned();
    assert!(errors.contains(&format!("by process {}", serving.process.id())), "{errors}");
    serving.kill();
    Serving::start(directory.path());
}

#[test]
fn what_is_no_registry_is_named_and_left_alone() {
    let directory = tempfile::tempdir().unwrap();
    let missing = directory.path().join("missing");
    for arguments in [&["verify"][..], &["gc"], &["user", "list"], &["scope", "list"]] {
        let answer = answered(&missing, arguments, 1);
        assert_eq!(answer["error"]["code"], "no_registry", "{arguments:?}");
    }
    assert!(!missing.exists());
}

#[tokio::test]
async fn requests_are_counted_as_the_operator_says_and_shown_on_an_address_of_their_own() {
    let directory = tempfile::tempdir().unwrap();
    let free = || std::net::TcpListener::bind("127.0.0.1:0").unwrap().local_addr().unwrap();
    let watched = free().to_string();
    let serve = ["serve", "--listen", "127.0.0.1:0", "--trusted-proxy", "127.0.0.0/8"];
    let few = ["--requests-per-minute", "3", "--metrics-listen", watched.as_str()];
    let serving = Serving::of(&mut command(directory.path(), &[&serve[..], &few].concat()));
    let ask = async |serving: &Serving, client_address: &str| {
        let request = client().get(format!("{}/v1/search?q=x", serving.url));
        let request = request.header("x-forwarded-for", client_address);
        request.send().await.unwrap().status().as_u16()
    };
    for _ in 0..3 {
        assert_eq!(ask(&serving, "198.51.100.1").await, 200);
    }
    assert_eq!(ask(&serving, "198.51.100.1").await, 429);
    assert_eq!(ask(&serving, "198.51.100.2").await, 200);
    let counts = client().get(format!("http://{watched}/metrics")).send().await.unwrap();
    let counts = counts.text().await.unwrap();
    let limited = "{method=\"GET\",route=\"/v1/search\",status=\"429\"} 1";
    assert!(counts.contains(limited), "{counts}");
    serving.kill();
    let none = [&serve[..], &["--requests-per-minute", "1", "--no-rate-limit"]].concat();
    let serving = Serving::of(&mut command(directory.path(), &none));
    for _ in 0..5 {
        assert_eq!(ask(&serving, "198.51.100.1").await, 200);
    }
    serving.kill();
    let wrong = run(directory.path(), &["serve", "--trusted-proxy", "proxy.example"]);
    assert_eq!(wrong.status.code(), Some(2));
    assert!(String::from_utf8_lossy(&wrong.stderr).contains("such as `127.0.0.1`"));
}

#[tokio::test]
async fn no_log_holds_a_token() {
    let directory = tempfile::tempdir().unwrap();
    let data = directory.path().join("data");
    registry_in(&data).await;
    let ana = author(&data, "ana");
    let log = directory.path().join("log");
    let mut command = command(&data, &["serve", "--listen", "127.0.0.1:0"]);
    command.env("RUST_LOG", "trace").stderr(std::fs::File::create(&log).unwrap());
    let serving = Serving::of(&mut command);
    let packed = Skill::new("waitlist", "1.0.0").pack(&ana);
    let request = client().put(format!("{}{}", serving.url, packed.path()));
    let request = ana.offer(request.bearer_auth(&ana.token));
    assert_eq!(request.body(packed.archive.clone()).send().await.unwrap().status(), 201);
    let request = client().get(format!("{}/v1/tokens", serving.url)).bearer_auth("skp_mistaken");
    assert_eq!(request.send().await.unwrap().status(), 401);
    let request = client().post(format!("{}/v1/tokens", serving.url)).bearer_auth(&ana.token);
    let body = r#"{"label":"l","grants":["read"]}"#;
    let minted = request.body(body).send().await.unwrap().bytes().await.unwrap();
    let minted: Value = serde_json::from_slice(&minted).unwrap();
    serving.kill();
    let log = std::fs::read_to_string(log).unwrap();
    assert!(log.contains("/v1/skills/_/waitlist/1.0.0"), "the log holds no requests");
    for secret in [ana.token.as_str(), "skp_mistaken", minted["secret"].as_str().unwrap()] {
        assert!(!log.contains(secret.strip_prefix("skp_").unwrap()), "a token is in the log");
    }
}

#[cfg(unix)]
#[test]
fn a_signal_ends_the_server_with_0() {
    let directory = tempfile::tempdir().unwrap();
    let mut serving = Serving::start(directory.path());
    let process = serving.process.id().to_string();
    assert!(Command::new("kill").args(["-TERM", &process]).status().unwrap().success());
    assert_eq!(serving.process.wait().unwrap().code(), Some(0));
    // The write-ahead log is folded into the database: one file is a backup.
    assert!(!directory.path().join("registry.db-wal").exists());
}

#[tokio::test]
async fn verify_finds_what_is_missing_and_what_is_changed() {
    let mut registry = TestRegistry::start().await;
    let ana = registry.author("ana").await;
    let packed = Skill::new("waitlist", "1.0.0").with_file("notes.md", "Notes.\n").pack(&ana);
    assert_eq!(registry.publish(&ana, &packed).await.status(), 201);
    let data = registry.data().temporary().parent().unwrap().to_owned();
    let report = answered(&data, &["verify"], 0);
    assert_eq!((&report["ok"], &report["checked"]), (&Value::Bool(true), &Value::from(4)));
    let object = |kind: &str, digest: String| {
        data.join("objects").join(kind).join("sha256").join(&digest[..2]).join(digest)
    };
    let notes = packed.manifest.file("notes.md").unwrap();
    std::fs::write(object("blobs", notes.sha256.to_string()), "Mischief.\n").unwrap();
    std::fs::remove_file(object("archives", packed.digests.sha256.to_string())).unwrap();
    let report = answered(&data, &["verify"], 3);
    let mut kinds: Vec<&str> = report["problems"]
        .as_array()
        .unwrap()
        .iter()
        .map(|problem| problem["kind"].as_str().unwrap())
        .collect();
    kinds.sort_unstable();
    assert_eq!(kinds, ["digest", "missing"]);
    registry.stop().await;
}

#[tokio::test]
async fn a_server_killed_at_any_moment_tells_no_lie() {
    let directory = tempfile::tempdir().unwrap();
    let data = directory.path();
    registry_in(data).await;
    let ana = author(data, "ana");
    let mut told = Vec::new();
    for round in 0..6_u64 {
        let serving = Serving::start(data);
        let (once_told, is_told) = tokio::sync::oneshot::channel();
        let mut once_told = Some(once_told);
        let publishing = async {
            for at in 0..1_000 {
                let version = format!("{round}.0.{at}");
                let packed = Skill::new("waitlist", &version)
                    .with_file("a.md", format!("a {version}"))
                    .pack(&ana);
                let request = client().put(format!("{}{}", serving.url, packed.path()));
                let request =
                    ana.offer(request.bearer_auth(&ana.token)).body(packed.archive.clone());
                match request.send().await {
                    Ok(answer) if answer.status() == 201 => {
                        told.push(version);
                        if let Some(once_told) = once_told.take() {
                            let _ = once_told.send(());
                        }
                    }
                    Ok(answer) => panic!("{}", answer.text().await.unwrap()),
                    Err(_) => return,
                }
            }
        };
        let killing = async {
            // Every other round from a publish on that was told, however slow the machine is.
            if round % 2 == 0 {
                let _ = tokio::time::timeout(Duration::from_mins(1), is_told).await;
            }
            tokio::time::sleep(Duration::from_millis(60 + round * 37)).await;
            let process = serving.process.id().to_string();
            Command::new("kill").args(["-KILL", &process]).status().unwrap();
        };
        tokio::join!(publishing, killing);
        serving.kill();
        let report = answered(data, &["verify"], 0);
        assert_eq!(report["ok"], Value::Bool(true), "{report}");
    }
    let serving = Serving::start(data);
    let answer =
        client().get(format!("{}/v1/skills/_/waitlist", serving.url)).send().await.unwrap();
    let document: Document = json(answer, StatusCode::OK).await;
    // Whatever was told to be published is there; one more a round may be.
    for version in &told {
        assert!(document.version(&version.parse().unwrap()).is_some(), "{version}");
    }
    assert!(document.versions.len() <= told.len() + 6);
    assert!(!told.is_empty());
    done(data, &["gc", "--older-than", "0"]);
    assert_eq!(answered(data, &["verify"], 0)["ok"], Value::Bool(true));
    serving.kill();
}

#[cfg(target_os = "linux")]
#[tokio::test]
#[ignore = "sends 1.6 GB and takes minutes in a debug build"]
async fn the_largest_archives_at_once_stay_within_a_quarter_of_a_gibibyte() {
    let directory = tempfile::tempdir().unwrap();
    registry_in(directory.path()).await;
    let ana = author(directory.path(), "ana");
    let serving = Serving::start(directory.path());
    // What does not compress: the archive is about as long as its content, just below the bound.
    let mut state = 0x9e37_79b9_7f4a_7c15_u64;
    let noise: Vec<u8> = std::iter::repeat_with(|| {
        state ^= state << 13;
        state ^= state >> 7;
        state ^= state << 17;
        state.to_le_bytes()
    })
    .take(52_000_000 / 8)
    .flatten()
    .collect();
    let packed = Skill::new("waitlist", "1.0.0").with_file("noise.bin", noise).pack(&ana);
    assert!(packed.archive.len() > 51_000_000);
    let archive = bytes::Bytes::from(packed.archive.clone());
    let peak = || {
        let status = std::fs::read_to_string(format!("/proc/{}/status", serving.process.id()));
        let status = status.unwrap();
        let line = status.lines().find(|line| line.starts_with("VmHWM:")).unwrap().to_owned();
        line.split_whitespace().nth(1).unwrap().parse::<u64>().unwrap() * 1024
    };
    let sent = (0..32).map(|_| {
        let request = client().put(format!("{}{}", serving.url, packed.path()));
        let request = ana.offer(request.bearer_auth(&ana.token));
        request.body(archive.clone()).send()
    });
    for answer in futures_util::future::join_all(sent).await {
        assert!(answer.unwrap().status().is_success());
    }
    assert!(peak() < 256 * 1024 * 1024, "publishing took {} bytes", peak());
    let url = format!("{}/v1/archives/{}", serving.url, packed.digests.sha256);
    let reads = (0..32).map(|_| async {
        let mut answer = client().get(&url).send().await.unwrap();
        let mut length = 0;
        while let Some(piece) = answer.chunk().await.unwrap() {
            length += piece.len();
        }
        assert_eq!(length, archive.len());
    });
    futures_util::future::join_all(reads).await;
    assert!(peak() < 256 * 1024 * 1024, "downloading took {} bytes", peak());
}

#[test]
fn every_command_has_help_with_an_example() {
    for arguments in [
        &["serve"][..],
        &["user"],
        &["user", "add"],
        &["user", "list"],
        &["user", "close"],
        &["user", "keys"],
        &["user", "revoke-key"],
        &["scope"],
        &["scope", "member"],
        &["name"],
        &["token"],
        &["advisory"],
        &["advisory", "add"],
        &["advisory", "list"],
        &["advisory", "withdraw"],
        &["log"],
        &["log", "identity"],
        &["log", "rotate"],
        &["log", "sign"],
        &["log", "adopt"],
        &["log", "verify"],
        &["scope", "add"],
        &["scope", "list"],
        &["scope", "member", "add"],
        &["scope", "member", "remove"],
        &["name", "list"],
        &["name", "release"],
        &["name", "refuse"],
        &["name", "delete"],
        &["name", "transfer"],
        &["token", "mint"],
        &["token", "list"],
        &["token", "revoke"],
        &["verify"],
        &["gc"],
        &["man"],
        &["completions"],
    ] {
        let mut help = Command::new(env!("CARGO_BIN_EXE_skillpkg-registry"));
        let mut help = help.args(arguments).arg("--help").stdout(Stdio::piped()).spawn().unwrap();
        let mut text = String::new();
        help.stdout.take().unwrap().read_to_string(&mut text).unwrap();
        assert!(help.wait().unwrap().success());
        assert!(
            text.contains(&format!("Example:\n  skillpkg-registry {}", arguments.join(" "))),
            "{text}"
        );
    }
}

#[test]
fn a_command_line_that_is_not_understood_is_one_document_too() {
    for arguments in [
        &["bogus", "--json"][..],
        &["user", "--json"],
        &["--json"],
        &["user", "list", "--json"],
        &["gc", "--older-than", "x", "--json", "--data", "/nowhere"],
    ] {
        let mut asked = Command::new(env!("CARGO_BIN_EXE_skillpkg-registry"));
        let asked = asked.args(arguments).env_remove("SKILLPKG_REGISTRY_DATA");
        let output = asked.output().unwrap();
        assert_eq!(output.status.code(), Some(2), "{arguments:?}");
        let told: Value = serde_json::from_slice(&output.stdout).unwrap();
        assert_eq!(told["error"]["code"], "usage", "{arguments:?}: {told}");
        assert!(!told["error"]["message"].as_str().unwrap().is_empty(), "{told}");
    }
    let mut asked = Command::new(env!("CARGO_BIN_EXE_skillpkg-registry"));
    let asked = asked.args(["serve", "--data", "/nowhere", "--listen", "localhost:0"]);
    let output = asked.output().unwrap();
    let told = String::from_utf8(output.stderr).unwrap();
    assert!(told.contains("expected an IP address and a port"), "{told}");
}
