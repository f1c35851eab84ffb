//! A disk that is full: what cannot be kept is refused, what is there is whole and served.
#![cfg(target_os = "linux")]

use std::fs::File;
use std::io::Write as _;
use std::path::Path;
use std::process::{Command, Stdio};

use reqwest::StatusCode;
use skillpkg_schema::wire::Document;

use crate::commands::{Serving, author, registry_in};
use crate::skips::skipped;
use crate::support::{Skill, client, json, problem};

/// Takes all that is left of a disk but so many bytes.
fn fill(file: &Path, but: u64) {
    let mut filler = File::create(file).unwrap();
    let block = vec![7; 4096];
    while filler.write_all(&block).is_ok() {}
    let taken = filler.metadata().unwrap().len();
    filler.set_len(taken.saturating_sub(but)).unwrap();
}

/// The directory of a server that has a disk of its own, as others see it.
fn seen_from_outside(serving: &Serving, data: &Path) -> std::path::PathBuf {
    let root = format!("/proc/{}/root", serving.process.id());
    Path::new(&root).join(data.strip_prefix("/").unwrap())
}

/// What does not compress.
fn noise(length: usize) -> Vec<u8> {
    let mut state = 0x9e37_79b9_7f4a_7c15_u64;
    let next = || {
        state ^= state << 13;
        state ^= state >> 7;
        state ^= state << 17;
        state.to_le_bytes()
    };
    std::iter::repeat_with(next).take(length / 8).flatten().collect()
}

#[tokio::test]
async fn what_finds_no_room_is_refused_with_when_to_ask_again_and_leaves_nothing() {
    let test = "what_finds_no_room_is_refused_with_when_to_ask_again_and_leaves_nothing";
    let directory = tempfile::tempdir().unwrap();
    let disk = directory.path().canonicalize().unwrap().join("disk");
    std::fs::create_dir(&disk).unwrap();
    let mount = format!("mount -t tmpfs -o size=24m none '{}'", disk.display());
    let can = Command::new("unshare").args(["-rm", "sh", "-c", &mount]).status();
    if !can.is_ok_and(|status| status.success()) {
        return skipped(test, "the right to mount in a namespace of its own", false);
    }
    let data = directory.path().canonicalize().unwrap().join("data");
    registry_in(&data).await;
    let ana = author(&data, "ana");
    // A disk of its own for the process that is started, which holds what was made before.
    let script = format!(
        "{mount} && cp -a '{}/.' '{1}' && exec \"$0\" serve --listen 127.0.0.1:0 --data '{1}'",
        data.display(),
        disk.display()
    );
    let mut command = Command::new("unshare");
    command.args(["-rm", "sh", "-c", &script, env!("CARGO_BIN_EXE_skillpkg-registry")]);
    // What it could not do is in its log, which nobody reads here.
    command.env_remove("RUST_LOG").stderr(Stdio::null());
    let serving = Serving::of(&mut command);
    let inside = seen_from_outside(&serving, &disk);
    let filler = inside.join("filler");
    let url = |path: &str| format!("{}{path}", serving.url);
    let publish = async |version: &str, length: usize| {
        let packed =
            Skill::new("waitlist", version).with_file("noise.bin", noise(length)).pack(&ana);
        let request = client().put(url(&packed.path())).bearer_auth(&ana.token);
        ana.offer(request).body(packed.archive).send().await.unwrap()
    };
    let versions = async || {
        let answer = client().get(url("/v1/skills/_/waitlist")).send().await.unwrap();
        let document: Document = json(answer, StatusCode::OK).await;
        document.versions.iter().map(|one| one.version.to_string()).collect::<Vec<_>>()
    };
    let ready = async || client().get(url("/readyz")).send().await.unwrap();
    assert_eq!(publish("1.0.0", 1_000).await.status(), StatusCode::CREATED);
    assert_eq!(ready().await.status(), StatusCode::NO_CONTENT);
    tokio::time::sleep(std::time::Duration::from_secs(4)).await;
    let mut published = vec!["1.0.0".to_owned()];
    // No room at all; and so little that it ends at one step or another.
    let mut refused = 0;
    let steps = [0, 8, 24, 64, 128, 256, 400, 512, 600, 620, 640, 660, 680, 700, 750, 1_024];
    for (at, left) in steps.into_iter().enumerate() {
        fill(&filler, left * 1024);
        let version = format!("1.1.{at}");
        let answer = publish(&version, 200_000).await;
        if answer.status() == StatusCode::CREATED {
            published.push(version);
        } else {
            let is_told_when = answer.headers().contains_key("retry-after");
            let told = problem(answer, 503, "unavailable").await;
            assert!(is_told_when, "{left} KiB left: {told:?}");
            assert!(told.detail.contains("disk is full"), "{left} KiB left: {told:?}");
            refused += 1;
            if left == 0 {
                // Whoever watches it hears of it.
                let told = problem(ready().await, 503, "unavailable").await;
                assert!(told.detail.contains("disk is full"), "{told:?}");
            }
        }
        // What is there is served from a full disk too.
        assert_eq!(versions().await, published, "{left} KiB left");
        std::fs::remove_file(&filler).unwrap();
    }
    assert!(refused > 2 && published.len() > 1, "{refused} refused, {published:?}");
    let process = serving.process.id().to_string();
    let mut verify = Command::new("nsenter");
    verify.args(["--preserve-credentials", "-U", "-m", "-t", &process]);
    verify.arg(env!("CARGO_BIN_EXE_skillpkg-registry")).args(["verify", "--json", "--data"]);
    let report = verify.arg(&disk).output().unwrap();
    assert!(report.status.success(), "{report:?}");
    let left: Vec<_> = (0..100)
        .map(|_| {
            std::thread::sleep(std::time::Duration::from_millis(20));
            std::fs::read_dir(inside.join("tmp")).unwrap().count()
        })
        .take_while(|count| *count > 0)
        .collect();
    assert!(left.len() < 100, "what was received is still there");
    // With room again it goes on by itself.
    assert_eq!(publish("2.0.0", 200_000).await.status(), StatusCode::CREATED);
    tokio::time::sleep(std::time::Duration::from_secs(4)).await;
    assert_eq!(ready().await.status(), StatusCode::NO_CONTENT);
    serving.kill();
}
