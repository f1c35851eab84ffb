//! The log of the real binary, killed while it is written.

use std::path::Path;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::Duration;

use reqwest::StatusCode;
use skillpkg_schema::wire::PublishAnswer;

use crate::commands::{Serving, answered, author, run};
use crate::support::{Author, Skill, client};
use crate::watcher::Watcher;

/// Publishes version after version until told to stop or cut off; answers those that were answered.
async fn publish_on(
    url: String,
    ana: Arc<Author>,
    name: String,
    from: u32,
    stop: Arc<AtomicBool>,
) -> Vec<PublishAnswer> {
    let client = client();
    let mut answers = Vec::new();
    for patch in from.. {
        let packed = Skill::new(&name, &format!("1.0.{patch}")).pack(&ana);
        let sent = ana
            .offer(client.put(format!("{url}{}", packed.path())))
            .bearer_auth(&ana.token)
            .body(packed.archive.clone())
            .send()
            .await;
        let Ok(response) = sent else { break };
        if response.status() == StatusCode::CREATED
            && let Ok(bytes) = response.bytes().await
        {
            answers.push(serde_json::from_slice(&bytes).unwrap());
        }
        if stop.load(Ordering::SeqCst) {
            break;
        }
    }
    answers
}

#[tokio::test(flavor = "multi_thread", worker_threads = 4)]
async fn a_registry_that_is_killed_again_and_again_keeps_every_version_that_it_answered_for() {
    let directory = tempfile::tempdir().unwrap();
    let data = directory.path().join("data");
    let mut serving = Serving::start(&data);
    let ana = Arc::new(author(&data, "ana"));
    let mut watcher = Watcher::start(&serving.url).await;
    let mut answered_for: Vec<PublishAnswer> = Vec::new();
    for round in 0..5_u32 {
        let stop = Arc::new(AtomicBool::new(false));
        let writers: Vec<_> = (0..3)
            .map(|writer| {
                let (url, name) = (serving.url.clone(), format!("skill-{writer}"));
                let (ana, stop) = (Arc::clone(&ana), Arc::clone(&stop));
                tokio::spawn(publish_on(url, ana, name, round * 1_000, stop))
            })
            .collect();
        tokio::time::sleep(Duration::from_millis(700 + 130 * u64::from(round))).await;
        watcher.index(&["skill-0", "skill-1", "skill-2"], None).await;
        serving.kill();
        stop.store(true, Ordering::SeqCst);
        for writer in writers {
            answered_for.extend(writer.await.unwrap());
        }
        serving = Serving::start(&data);
        watcher.moved(&serving.url).await;
        let answer = watcher.index(&["skill-0", "skill-1", "skill-2"], None).await;
        for made in &answered_for {
            assert!(watcher.proof(made).size <= watcher.seen.size);
            let document = answer.documents.iter().find(|document| document.name == made.name);
            let version = document.unwrap().version(&made.version).unwrap();
            assert_eq!(version.log_index, made.log_index);
        }
    }
    assert!(answered_for.len() > 10, "{}", answered_for.len());
    let report = answered(&data, &["log", "verify"], 0);
    assert_eq!((&report["ok"], &report["problems"]), (&true.into(), &serde_json::json!([])));
    serving.kill();
}

#[tokio::test]
async fn an_operator_rotates_the_log_audits_it_and_publishes_advisories() {
    let directory = tempfile::tempdir().unwrap();
    let data = directory.path().join("data");
    let serving = Serving::start(&data);
    let ana = Arc::new(author(&data, "ana"));
    let stop = Arc::new(AtomicBool::new(true));
    publish_on(serving.url.clone(), ana, "waitlist".to_owned(), 0, stop).await;
    let advisory = answered(
        &data,
        &["advisory", "add", "waitlist@<2", "--effect", "warn", "--summary", "It leaks."],
        0,
    );
    assert_eq!((&advisory["versions"], &advisory["effect"]), (&"<2".into(), &"warn".into()));
    let id = advisory["id"].as_str().unwrap();
    assert_eq!(answered(&data, &["advisory", "withdraw", id], 0)["name"], "waitlist");
    let listed = answered(&data, &["advisory", "list"], 0);
    assert!(listed["advisories"][0]["withdrawn"].is_string(), "{listed}");
    let unknown = answered(&data, &["advisory", "withdraw", "SKA-1"], 1);
    assert_eq!(unknown["error"]["code"], "unknown_advisory");

    let first = answered(&data, &["log", "identity"], 0);
    assert_eq!(first["number"], 1);
    let (private, public) = (directory.path().join("r.pem"), directory.path().join("r.pub"));
    let key = skillpkg_schema::signature::SigningKey::generate().unwrap();
    std::fs::write(&private, key.to_pem().unwrap()).unwrap();
    std::fs::write(&public, key.public().to_pem()).unwrap();
    // Named by a public key, the next identity waits until the private one has signed it.
    let public = public.to_str().unwrap();
    let unsigned = answered(&data, &["log", "rotate", "--new-rotation-key", public], 0);
    assert_eq!(unsigned, answered(&data, &["log", "identity", "--next"], 0));
    let next = directory.path().join("next.json");
    std::fs::write(&next, unsigned.to_string()).unwrap();
    let refused = answered(&data, &["log", "adopt", next.to_str().unwrap()], 1);
    assert_eq!(refused["error"]["code"], "log_failed");
    let sign = |file: &Path, key: &Path| {
        let mut sign = std::process::Command::new(env!("CARGO_BIN_EXE_skillpkg-registry"));
        sign.args(["log", "sign"]).arg(file).arg("--key").arg(key).output().unwrap()
    };
    // A key that names nothing signs nothing, and what is no identity is not signed.
    let stranger = directory.path().join("stranger.pem");
    let key = skillpkg_schema::signature::SigningKey::generate().unwrap();
    std::fs::write(&stranger, key.to_pem().unwrap()).unwrap();
    for (file, key, told) in [
        (&next, &stranger, "would count for nothing"),
        (&private, &private, "holds no identity"),
        (&next, &next, "reading"),
    ] {
        let refused = sign(file, key);
        let errors = String::from_utf8(refused.stderr).unwrap();
        assert_eq!((refused.status.code(), refused.stdout.len()), (Some(1), 0), "{errors}");
        assert!(errors.contains(told) && !errors.contains("column"), "{errors}");
    }
    let refused = answered(&data, &["log", "adopt", private.to_str().unwrap()], 1);
    assert!(refused["error"]["message"].as_str().unwrap().contains("it holds a key"), "{refused}");
    let signed = sign(&next, &private);
    std::fs::write(&next, &signed.stdout).unwrap();
    let adopted = answered(&data, &["log", "adopt", next.to_str().unwrap()], 0);
    assert_eq!((&adopted["number"], &adopted["fingerprint"]), (&2.into(), &first["fingerprint"]));
    // With the private key at hand nothing is left to sign, and that is said.
    let rotated =
        run(&data, &["log", "rotate", "--replace", "--sign-with", private.to_str().unwrap()]);
    let errors = String::from_utf8(rotated.stderr).unwrap();
    assert!(rotated.status.success() && errors.contains("nothing is left to sign"), "{errors}");
    std::fs::write(&next, &rotated.stdout).unwrap();
    let errors = String::from_utf8(sign(&next, &private).stderr).unwrap();
    assert!(errors.contains("nothing is left to sign"), "{errors}");
    let many = answered(&data, &["log", "rotate", "--threshold", "2"], 1);
    let told = many["error"]["message"].as_str().unwrap();
    assert!(told.contains("the threshold is 2, and there is 1 rotation key"), "{told}");
    let mut watcher = Watcher::start(&serving.url).await;
    for _ in 0..60 {
        watcher.moved(&serving.url).await;
        if watcher.chain.identities().len() == 3 {
            break;
        }
        tokio::time::sleep(Duration::from_millis(50)).await;
    }
    assert_eq!(watcher.chain.identities().len(), 3);
    watcher.index(&["waitlist"], None).await;

    // The files alone tell as much of the log as those beside a database; nothing is signed between.
    serving.kill();
    let whole = answered(&data, &["log", "verify"], 0);
    let bare = directory.path().join("bare");
    std::fs::create_dir(&bare).unwrap();
    std::fs::rename(data.join("objects/log/tile"), bare.join("tile")).unwrap();
    for file in ["checkpoint", "identities.json"] {
        std::fs::copy(data.join("log").join(file), bare.join(file)).unwrap();
    }
    let audit = std::process::Command::new(env!("CARGO_BIN_EXE_skillpkg-registry"))
        .args(["log", "verify", "--json", "--files"])
        .arg(&bare)
        .output()
        .unwrap();
    let alone: serde_json::Value = serde_json::from_slice(&audit.stdout).unwrap();
    assert_eq!(alone, whole);
    let damaged = answered(&data, &["log", "verify"], 3);
    assert_eq!(
        (&damaged["ok"], &damaged["problems"][0]["kind"]),
        (&false.into(), &"missing".into())
    );
}
