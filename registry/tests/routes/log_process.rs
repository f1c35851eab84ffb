//! The log of the real binary, killed while it is written.

use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::Duration;

use reqwest::StatusCode;
use skillpkg_schema::wire::PublishAnswer;

use crate::commands::{Serving, answered, author};
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
    let ana = Arc::new(author(&data, "ana").await);
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
