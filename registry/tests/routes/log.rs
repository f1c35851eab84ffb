//! The transparency log, as those see it who believe nothing.

use std::collections::HashSet;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::Duration;

use reqwest::{Method, StatusCode};
use serde_json::json as value;
use skillpkg_registry::accounts::scopes::{self, Role};
use skillpkg_registry::data::Data;
use skillpkg_registry::log::audit;
use skillpkg_registry::log::rotation::{self, Asked, Next};
use skillpkg_registry::skills::publish::Step;
use skillpkg_registry::state::{Options, Registry};
use skillpkg_registry::{advisories, upkeep};
use skillpkg_schema::log::Subject;
use skillpkg_schema::wire::{Advisory, Document, Effect, NewAdvisory};

use crate::support::{Skill, TestRegistry, failing_at, json, problem, published};
use crate::watcher::Watcher;

async fn audited(registry: &TestRegistry) -> audit::Report {
    let report = audit::audit_data(registry.data()).await.unwrap();
    assert_eq!(report.problems, []);
    report
}

async fn document(registry: &TestRegistry, name: &str) -> Document {
    json(registry.get(&format!("/v1/skills/_/{name}"), None).await, StatusCode::OK).await
}

#[tokio::test]
async fn a_publish_is_answered_with_its_proof_and_stays_proven() {
    let registry = TestRegistry::start().await;
    let watcher = Watcher::start(&registry.url).await;
    let ana = registry.author("ana").await;
    let packed = Skill::new("waitlist", "1.0.0").pack(&ana);
    let first = published(registry.publish(&ana, &packed).await, StatusCode::CREATED).await;
    watcher.proof(&first);
    let again = published(registry.publish(&ana, &packed).await, StatusCode::OK).await;
    assert_eq!(first.log_index, again.log_index);
    watcher.proof(&again);
    assert_eq!(document(&registry, "waitlist").await.versions[0].log_index, first.log_index);
    let kinds: Vec<&str> =
        watcher.leaves().await.iter().map(|record| record.subject.kind()).collect();
    let expected = ["log_identity", "heads", "owner_added", "key_added", "publish", "heads"];
    assert_eq!(kinds, expected);
    assert_eq!(audited(&registry).await.leaves, 6);
}

#[tokio::test]
async fn a_view_proves_each_document_and_that_there_is_no_other() {
    let registry = TestRegistry::start().await;
    let mut watcher = Watcher::start(&registry.url).await;
    let ana = registry.author("ana").await;
    assert_eq!(watcher.index(&["waitlist", "nothing"], None).await.missing.len(), 2);
    for round in 0..4 {
        for name in ["waitlist", "other"] {
            registry.published(&ana, name, &format!("1.{round}.0")).await;
        }
        let answer = watcher.index(&["waitlist", "nothing", "other", "waitlist"], None).await;
        assert_eq!((answer.documents.len(), answer.missing.len()), (3, 1));
        assert_eq!(answer.documents[0].versions.len(), round + 1);
    }
    let yank = "/v1/skills/_/other/1.2.0/yank";
    let body = value!({"reason": "it fails"});
    let yanked = registry.send(Method::POST, yank, Some(&ana.token), &body).await;
    assert_eq!(yanked.status(), 204);
    let answer = watcher.index(&["other"], None).await;
    assert!(answer.documents[0].versions[2].yanked.is_some());
    // One who knows more than there is gets no proof, and sees why by the sizes.
    let origin = watcher.chain.origin().to_owned();
    let ahead = value!({"names": ["other"], "logs": [{"origin": origin, "size": 1_000}]});
    let answer: skillpkg_schema::wire::IndexAnswer =
        json(watcher.post("/v1/index", None, &ahead).await, StatusCode::OK).await;
    assert_eq!(answer.views[0].consistency.0, []);
    let other = value!({"names": ["other"], "logs": [{"origin": "elsewhere", "size": 0}]});
    let answer: skillpkg_schema::wire::IndexAnswer =
        json(watcher.post("/v1/index", None, &other).await, StatusCode::OK).await;
    assert_eq!(answer.views, []);
    let all = value!({"names": ["other"], "logs": []});
    let answer: skillpkg_schema::wire::IndexAnswer =
        json(watcher.post("/v1/index", None, &all).await, StatusCode::OK).await;
    assert_eq!(answer.views.len(), 1);
    audited(&registry).await;
}

#[tokio::test]
async fn nothing_public_tells_of_a_private_scope() {
    let registry = TestRegistry::start().await;
    let mut watcher = Watcher::start(&registry.url).await;
    let ana = registry.author("ana").await;
    let ben = registry.author("ben").await;
    registry.scope("secret", &ana, true).await;
    registry.member("secret", &ben, Role::Reader).await;
    registry.published(&ana, "open", "1.0.0").await;
    let packed = Skill::new("secret/plan", "1.0.0").pack(&ana);
    let answer = published(registry.publish(&ana, &packed).await, StatusCode::CREATED).await;
    watcher.proof(&answer);
    let index = answer.log_index.unwrap();
    let leaves = watcher.leaves().await;
    let told = format!("{leaves:?}");
    assert!(!told.contains("secret") && !told.contains("plan") && !told.contains("ben"), "{told}");
    let blinded = leaves.iter().filter(|one| matches!(one.subject, Subject::Blinded { .. }));
    // The scope, its two members, the skill's owner, the version.
    assert_eq!(blinded.count(), 5);
    for (token, documents) in [(None, 0), (Some(&ana.token), 1), (Some(&ben.token), 1)] {
        let token = token.map(String::as_str);
        let answer = watcher.index(&["secret/plan", "secret/none"], token).await;
        assert_eq!(answer.documents.len(), documents);
        assert_eq!(answer.views[0].statements.len(), documents * 2);
        let records = watcher.records(watcher.seen.size, &[index, 0], token).await;
        assert_eq!((records.records.len(), records.missing.len()), (1 + documents, 1 - documents));
    }
    // What one may not read answers as what is not there.
    let stranger = registry.author("zoe").await;
    let token = Some(stranger.token.as_str());
    let hidden = watcher.records(watcher.seen.size, &[index], token).await;
    assert_eq!((hidden.records.len(), hidden.missing), (0, vec![index]));
    audited(&registry).await;
}

#[tokio::test]
async fn tiles_are_found_by_their_exact_paths_within_the_signed_tree() {
    let registry = TestRegistry::start().await;
    let watcher = Watcher::start(&registry.url).await;
    for path in ["0/000.p/2", "entries/000.p/2"] {
        let found = watcher.get(&format!("/log/tile/{path}")).await;
        assert_eq!(found.status(), StatusCode::OK, "{path}");
        let cached = found.headers()["cache-control"].to_str().unwrap().to_owned();
        assert_eq!(cached, "public, max-age=31536000, immutable");
    }
    for path in [
        "0/000",
        "0/000.p/3",
        "0/000.p/02",
        "0/000.p/0",
        "0/0.p/2",
        "0/x000/000.p/2",
        "00/000.p/2",
        "1/000.p/1",
        "entries/001.p/1",
        "0/000.p/2/",
        "entries//000.p/2",
        "8/000",
        "0/%30%30%30.p/2x",
    ] {
        let response = watcher.get(&format!("/log/tile/{path}")).await;
        assert_eq!(response.status(), StatusCode::NOT_FOUND, "{path}");
    }
    let checkpoint = watcher.get("/log/checkpoint").await;
    assert_eq!(checkpoint.headers()["content-type"], "text/plain; charset=utf-8");
    assert_eq!(checkpoint.headers()["cache-control"], "public, no-cache");
}

#[tokio::test]
async fn proofs_are_bounded_and_of_trees_that_there_are() {
    let registry = TestRegistry::start().await;
    let watcher = Watcher::start(&registry.url).await;
    let origin = watcher.chain.origin();
    let many: Vec<u64> = (0..1_001).collect();
    for (body, status, code) in [
        (value!({"origin": origin, "size": 2, "indices": many}), 400, "invalid_request"),
        (value!({"origin": origin, "size": 3, "indices": [0]}), 400, "invalid_request"),
        (value!({"origin": "other", "size": 2, "indices": [0]}), 404, "not_found"),
    ] {
        problem(watcher.post("/v1/log/proofs", None, &body).await, status, code).await;
    }
    let answer = watcher.records(2, &[1, 0, 1, 7], None).await;
    assert_eq!(answer.records.iter().map(|one| one.index).collect::<Vec<_>>(), [1, 0]);
    assert_eq!(answer.missing, [7]);
    // Of an earlier tree as well.
    let answer = watcher.records(1, &[0, 1], None).await;
    assert_eq!((answer.records[0].proof.0.len(), answer.missing), (0, vec![1]));
}

#[tokio::test(flavor = "multi_thread", worker_threads = 4)]
async fn publishes_at_once_share_checkpoints_and_leave_each_other_provable() {
    let options = Options { uploads_per_account: 64, ..Options::default() };
    let registry = Arc::new(TestRegistry::start_with(options).await);
    let watcher = Watcher::start(&registry.url).await;
    let ana = Arc::new(registry.author("ana").await);
    registry.published(&ana, "first", "1.0.0").await;
    let before = watcher.checkpoint().await.size;
    let publishes = (0..64).map(|number| {
        let (registry, ana) = (Arc::clone(&registry), Arc::clone(&ana));
        tokio::spawn(async move {
            let packed = Skill::new(&format!("skill-{number}"), "1.0.0").pack(&ana);
            published(registry.publish(&ana, &packed).await, StatusCode::CREATED).await
        })
    });
    let publishes: Vec<_> = publishes.collect();
    let mut indices = HashSet::new();
    let mut checkpoints = HashSet::new();
    for publish in publishes {
        let answer = publish.await.unwrap();
        checkpoints.insert(watcher.proof(&answer).size);
        indices.insert(answer.log_index.unwrap());
    }
    assert_eq!(indices.len(), 64);
    assert!(checkpoints.len() <= 40, "{} checkpoints", checkpoints.len());
    let heads = watcher.leaves().await.iter().filter(|one| one.subject.kind() == "heads").count();
    let after = watcher.checkpoint().await.size;
    // Each publish takes two leaves, its owner's and its own; the rest are heads.
    assert_eq!(after - before, 128 + heads as u64 - 2);
    audited(&registry).await;
}

#[tokio::test(flavor = "multi_thread", worker_threads = 4)]
async fn views_are_of_one_moment_while_everything_changes() {
    let registry = Arc::new(TestRegistry::start().await);
    let mut watcher = Watcher::start(&registry.url).await;
    let ana = Arc::new(registry.author("ana").await);
    registry.scope("secret", &ana, true).await;
    let stop = Arc::new(AtomicBool::new(false));
    let writers: Vec<_> = ["one", "two", "secret/three"]
        .into_iter()
        .map(|name| {
            let (registry, ana, stop) =
                (Arc::clone(&registry), Arc::clone(&ana), Arc::clone(&stop));
            tokio::spawn(async move {
                for patch in 0.. {
                    registry.published(&ana, name, &format!("1.0.{patch}")).await;
                    if stop.load(Ordering::SeqCst) {
                        break;
                    }
                }
            })
        })
        .collect();
    for _ in 0..25 {
        watcher.index(&["one", "two", "secret/three", "none"], Some(&ana.token)).await;
        watcher.index(&["two", "one", "secret/three"], None).await;
    }
    stop.store(true, Ordering::SeqCst);
    for writer in writers {
        writer.await.unwrap();
    }
    audited(&registry).await;
}

#[tokio::test]
async fn a_log_that_is_cut_short_anywhere_goes_on_from_what_was_signed() {
    for step in Step::ALL {
        let directory = tempfile::tempdir().unwrap();
        let armed = Arc::new(AtomicBool::new(false));
        let mut registry = TestRegistry::start_in(directory.path(), failing_at(step, &armed)).await;
        let mut watcher = Watcher::start(&registry.url).await;
        let ana = registry.author("ana").await;
        registry.published(&ana, "waitlist", "1.0.0").await;
        watcher.index(&["waitlist"], None).await;
        armed.store(true, Ordering::SeqCst);
        let packed = Skill::new("waitlist", "1.1.0").pack(&ana);
        assert_eq!(registry.publish(&ana, &packed).await.status(), 503, "{step:?}");
        // Whatever is shown is proven, whether or not it has the version.
        watcher.index(&["waitlist"], None).await;
        registry.stop().await;
        let on_disk = std::fs::read(directory.path().join("log/checkpoint")).unwrap();
        // What a crash leaves is unfinished and not damaged.
        let data = Data::open(crate::bucket::places(directory.path())).await.unwrap();
        assert_eq!(upkeep::verify(&data).await.unwrap().problems, [], "{step:?}");
        data.database.close().await;

        let again = TestRegistry::start_in(directory.path(), Options::default()).await;
        watcher.moved(&again.url).await;
        let last = skillpkg_schema::log::Checkpoint::verify(
            &on_disk,
            watcher.chain.origin(),
            watcher.chain.keys(),
            &[],
        );
        // What was written may have been handed out: what follows continues that as well.
        watcher.seen = last.unwrap().checkpoint;
        watcher.index(&["waitlist"], None).await;
        published(
            again.publish(&ana, &packed).await,
            match step {
                Step::Received
                | Step::Verified
                | Step::FilesPut
                | Step::ArchivePut
                | Step::RowsWritten => StatusCode::CREATED,
                _ => StatusCode::OK,
            },
        )
        .await;
        let answer = watcher.index(&["waitlist"], None).await;
        assert_eq!(answer.documents[0].versions.len(), 2, "{step:?}");
        audited(&again).await;
    }
}

#[tokio::test]
async fn what_could_not_be_written_is_refused_and_visible_once_it_can() {
    let armed = Arc::new(AtomicBool::new(false));
    let registry = TestRegistry::start_with(failing_at(Step::TilesPut, &armed)).await;
    let mut watcher = Watcher::start(&registry.url).await;
    let ana = registry.author("ana").await;
    registry.published(&ana, "waitlist", "1.0.0").await;
    armed.store(true, Ordering::SeqCst);
    let packed = Skill::new("waitlist", "1.1.0").pack(&ana);
    problem(registry.publish(&ana, &packed).await, 503, "unavailable").await;
    // A further one is refused before it is committed.
    let other = Skill::new("waitlist", "1.2.0").pack(&ana);
    problem(registry.publish(&ana, &other).await, 503, "unavailable").await;
    let shown = watcher.index(&["waitlist"], None).await;
    assert_eq!(shown.documents[0].versions.len(), 1);
    armed.store(false, Ordering::SeqCst);
    let mut seen = 1;
    for _ in 0..100 {
        seen = document(&registry, "waitlist").await.versions.len();
        if seen == 2 {
            break;
        }
        tokio::time::sleep(Duration::from_millis(50)).await;
    }
    assert_eq!(seen, 2);
    published(registry.publish(&ana, &packed).await, StatusCode::OK).await;
    published(registry.publish(&ana, &other).await, StatusCode::CREATED).await;
    watcher.index(&["waitlist"], None).await;
    audited(&registry).await;
}

#[tokio::test]
async fn what_another_process_changes_is_in_the_log_within_a_second_or_so() {
    let registry = TestRegistry::start().await;
    let watcher = Watcher::start(&registry.url).await;
    registry.author("ana").await;
    let root = registry.data().temporary().parent().unwrap().to_owned();
    let other = Data::open(crate::bucket::places(&root)).await.unwrap();
    scopes::add(&other.database, "acme", "ana", false).await.unwrap();
    let before = watcher.seen.size;
    for _ in 0..60 {
        if watcher.checkpoint().await.size > before {
            break;
        }
        tokio::time::sleep(Duration::from_millis(50)).await;
    }
    let kinds: Vec<&str> =
        watcher.leaves().await.iter().map(|record| record.subject.kind()).collect();
    assert_eq!(kinds[2..], ["scope_added", "member_added", "heads"]);
}

/// Makes a directory look as one of a registry that had no log.
async fn without_a_log(directory: &std::path::Path) {
    let data = Data::open(crate::bucket::places(directory)).await.unwrap();
    let mut write = data.database.write().await.unwrap();
    for statement in [
        "UPDATE versions SET log_index = NULL",
        "UPDATE keys SET log_index = NULL",
        "DELETE FROM log_pending",
        "DELETE FROM log_records",
        "DELETE FROM log_touched",
        "DELETE FROM log_revocations",
        "DELETE FROM log_heads",
        "DELETE FROM log_buckets",
        "UPDATE log_state SET next_index = 0, sealed = 0, covered = 0, identity = 0, form = '',
         complete = FALSE",
    ] {
        sqlx::query(statement).execute(&mut *write).await.unwrap();
    }
    write.commit().await.unwrap();
    data.database.close().await;
    std::fs::remove_dir_all(directory.join("log")).unwrap();
    std::fs::remove_dir_all(directory.join("objects/log")).unwrap();
}

#[tokio::test]
async fn a_registry_that_had_no_log_gets_one_with_all_that_it_has() {
    let directory = tempfile::tempdir().unwrap();
    let mut registry = TestRegistry::start_in(directory.path(), Options::default()).await;
    let ana = registry.author("ana").await;
    registry.scope("secret", &ana, true).await;
    registry.published(&ana, "waitlist", "1.0.0").await;
    registry.published(&ana, "secret/plan", "1.0.0").await;
    registry.published(&ana, "waitlist", "1.1.0").await;
    let yank = "/v1/skills/_/waitlist/1.0.0/yank";
    let body = value!({"reason": "it fails"});
    registry.send(Method::POST, yank, Some(&ana.token), &body).await;
    let key = format!("/v1/keys/{}", ana.key.public().id());
    registry.request(Method::DELETE, &key, Some(&ana.token)).send().await.unwrap();
    registry.stop().await;
    without_a_log(directory.path()).await;

    let again = TestRegistry::start_in(directory.path(), Options::default()).await;
    let mut watcher = Watcher::start(&again.url).await;
    let answer = watcher.index(&["waitlist", "secret/plan"], Some(&ana.token)).await;
    let index = |document: usize, version: usize| {
        answer.documents[document].versions[version].log_index.unwrap()
    };
    assert!(index(0, 0) < index(1, 0) && index(1, 0) < index(0, 1));
    let revoked = answer.documents[0].keys[0].revoked_index.unwrap();
    assert!(revoked > index(0, 1));
    let kinds: Vec<&str> =
        watcher.leaves().await.iter().map(|record| record.subject.kind()).collect();
    assert_eq!(
        kinds,
        [
            "key_added",
            "blinded",
            "blinded",
            "owner_added",
            "blinded",
            "publish",
            "yank",
            "blinded",
            "publish",
            "key_revoked",
            "log_identity",
            "heads"
        ]
    );
    audited(&again).await;
}

#[tokio::test]
async fn a_rotation_is_taken_while_the_registry_serves() {
    let registry = TestRegistry::start().await;
    let mut watcher = Watcher::start(&registry.url).await;
    let ana = registry.author("ana").await;
    registry.published(&ana, "waitlist", "1.0.0").await;
    watcher.index(&["waitlist"], None).await;
    let directory = registry.data().log();
    let Next::Adopted(_) = rotation::rotate(&directory, &Asked::default()).unwrap() else {
        panic!("not adopted");
    };
    for _ in 0..60 {
        watcher.moved(&registry.url).await;
        if watcher.chain.identities().len() == 2 {
            break;
        }
        tokio::time::sleep(Duration::from_millis(50)).await;
    }
    assert_eq!(watcher.chain.identities().len(), 2);
    registry.published(&ana, "waitlist", "1.1.0").await;
    watcher.index(&["waitlist"], None).await;
    let note = watcher.get("/log/checkpoint").await.bytes().await.unwrap();
    let keys = watcher.chain.keys();
    skillpkg_schema::log::Checkpoint::verify(&note, watcher.chain.origin(), keys, &[]).unwrap();
    let leaves = watcher.leaves().await;
    let identities = leaves.iter().filter(|one| one.subject.kind() == "log_identity");
    assert_eq!(identities.count(), 2);
    audited(&registry).await;
}

#[tokio::test]
async fn the_origin_is_chosen_once() {
    let directory = tempfile::tempdir().unwrap();
    let named = |origin: &str| Options { origin: Some(origin.to_owned()), ..Options::default() };
    let mut registry = TestRegistry::start_in(directory.path(), named("example.com/log")).await;
    assert_eq!(registry.registry.log.origin(), "example.com/log");
    registry.stop().await;
    let data = Data::open(crate::bucket::places(directory.path())).await.unwrap();
    let other = Registry::open(data.clone(), named("example.com/other")).await;
    assert!(other.unwrap_err().to_string().contains("cannot become"));
    let again = Registry::open(data, Options::default()).await.unwrap();
    assert_eq!(again.log.origin(), "example.com/log");
    again.close().await;
}

#[tokio::test]
async fn advisories_stand_in_the_document_until_they_are_withdrawn() {
    let registry = TestRegistry::start().await;
    let mut watcher = Watcher::start(&registry.url).await;
    let ana = registry.author("ana").await;
    let ben = registry.author("ben").await;
    registry.published(&ana, "waitlist", "1.0.0").await;
    let path = "/v1/skills/_/waitlist/advisories";
    let body = value!({"versions": "<1.2", "effect": "forbid", "summary": "It sends keys away."});
    let refused = registry.send(Method::POST, path, Some(&ben.token), &body).await;
    problem(refused, 403, "not_an_owner").await;
    for wrong in [
        value!({"versions": ">>1", "effect": "warn", "summary": "s"}),
        value!({"versions": "*", "effect": "warn", "summary": ""}),
        value!({"versions": "*", "effect": "burn", "summary": "s"}),
    ] {
        let refused = registry.send(Method::POST, path, Some(&ana.token), &wrong).await;
        problem(refused, 400, "invalid_request").await;
    }
    let made = registry.send(Method::POST, path, Some(&ana.token), &body).await;
    let made: Advisory = json(made, StatusCode::CREATED).await;
    assert!(made.id.starts_with("SKA-20") && made.id.ends_with("-0001"), "{}", made.id);
    let name = "waitlist".parse().unwrap();
    let new = NewAdvisory {
        versions: "*".to_owned(),
        effect: Effect::Warn,
        summary: "Nobody looks after it.".to_owned(),
    };
    let other = advisories::add(&registry.data().database, &name, &new).await.unwrap();
    // What another process adds is looked for twice a second.
    let mut answer = watcher.index(&["waitlist"], None).await;
    for _ in 0..50 {
        if answer.documents[0].advisories.len() == 2 {
            break;
        }
        tokio::time::sleep(Duration::from_millis(200)).await;
        answer = watcher.index(&["waitlist"], None).await;
    }
    assert_eq!(answer.documents[0].advisories, [made.clone(), other.clone()]);
    let withdrawn = format!("{path}/{}", made.id);
    for _ in 0..2 {
        let done = registry.send(Method::DELETE, &withdrawn, Some(&ana.token), &value!(null)).await;
        assert_eq!(done.status(), 204);
    }
    let unknown = format!("{path}/SKA-2026-9999");
    let refused = registry.send(Method::DELETE, &unknown, Some(&ana.token), &value!(null)).await;
    problem(refused, 404, "not_found").await;
    let answer = watcher.index(&["waitlist"], None).await;
    assert_eq!(answer.documents[0].advisories, [other]);
    let kinds: Vec<String> = watcher
        .leaves()
        .await
        .iter()
        .map(|record| record.subject.kind().to_owned())
        .filter(|kind| kind.starts_with("advisory"))
        .collect();
    assert_eq!(kinds, ["advisory", "advisory", "advisory_withdrawn"]);
    audited(&registry).await;
}
