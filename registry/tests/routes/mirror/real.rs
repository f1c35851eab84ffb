//! A registry as upstream, and mirrors of it and of each other.

use reqwest::{Method, StatusCode};
use serde_json::json;
use skillpkg_registry::state::Options;
use skillpkg_schema::log::{Checkpoint, IdentityChain, bucket_of, head_key, verify_inclusion};
use skillpkg_schema::wire::{IndexAnswer, Logs, ProofsAnswer};
use skillpkg_schema::{QualifiedName, Sha256Digest};

use super::{mirror, settings, skill};
use crate::support::{TestRegistry, json as read, problem};

async fn logs(registry: &TestRegistry) -> Logs {
    read(registry.get("/v1/log", None).await, StatusCode::OK).await
}

#[tokio::test]
async fn a_registry_is_mirrored_with_its_log_beside_the_mirrors_own() {
    let upstream = TestRegistry::start().await;
    let ana = upstream.author("ana").await;
    upstream.scope("secret", &ana, true).await;
    let packed = upstream.published(&ana, "waitlist", "1.0.0").await;
    let hidden = upstream.published(&ana, "secret/plan", "1.0.0").await;
    let mirror = mirror(settings(&upstream.url)).await;
    let ben = mirror.author("ben").await;
    mirror.scope("own", &ben, true).await;
    mirror.published(&ben, "own/plan", "1.0.0").await;

    let there = upstream.get(&skill("waitlist"), None).await.bytes().await.unwrap();
    let here = mirror.get(&skill("waitlist"), None).await.bytes().await.unwrap();
    assert_eq!(here, there);
    let archive = format!("/v1/archives/{}", packed.digests.sha256.address());
    assert_eq!(mirror.get(&archive, None).await.bytes().await.unwrap(), packed.archive);
    // What is private there is not there here, whoever asks.
    for token in [None, Some(ben.token.as_str())] {
        problem(mirror.get(&skill("secret/plan"), token).await, 404, "not_found").await;
        let archive = format!("/v1/archives/{}", hidden.digests.sha256.address());
        problem(mirror.get(&archive, token).await, 404, "not_found").await;
    }

    // Two logs, each with names of its own.
    let [own, relayed] = logs(&mirror).await.logs.try_into().unwrap();
    assert!(!own.relayed && relayed.relayed);
    assert_eq!((own.prefix.as_str(), relayed.prefix.as_str()), ("log", "relayed/log"));
    let [theirs] = logs(&upstream).await.logs.try_into().unwrap();
    assert_eq!(relayed.origin, theirs.origin);
    assert_eq!(relayed.identities, theirs.identities);
    let names = ["waitlist", "own/plan", "absent", "own/absent"];
    let body = json!({"names": names, "logs": []});
    let answer = mirror.send(Method::POST, "/v1/index", Some(&ben.token), &body).await;
    let answer: IndexAnswer = read(answer, StatusCode::OK).await;
    assert_eq!((answer.documents.len(), answer.missing.len()), (2, 2));
    let [first, second] = answer.views.try_into().unwrap();
    assert_eq!((first.origin, &second.origin), (own.origin, &theirs.origin));
    assert_eq!((first.buckets.len(), second.buckets.len()), (2, 2));
    assert!(first.refreshed.is_none() && second.refreshed.is_some());
    assert_eq!(first.statements.len(), 2, "of the private document, and of the private absence");

    // The relayed view proves the document under upstream's identity.
    let chain = IdentityChain::verify(theirs.identities).unwrap();
    let checkpoint = second.checkpoint.as_bytes();
    let checkpoint = Checkpoint::verify(checkpoint, &theirs.origin, chain.keys(), &[]).unwrap();
    let checkpoint = checkpoint.checkpoint;
    let key = head_key(&"waitlist".parse::<QualifiedName>().unwrap());
    let bucket = second.buckets.iter().find(|bucket| bucket.bucket == bucket_of(&key)).unwrap();
    let listed = bucket.heads.0.chunks(2).find(|head| head[0] == key).unwrap();
    assert_eq!(listed[1], Sha256Digest::of(&here));

    // So do its proofs, its checkpoint and its tiles.
    let document = mirror.document("waitlist").await;
    let index = document.versions[0].log_index.unwrap();
    let size = checkpoint.size;
    let body = json!({"origin": theirs.origin, "size": size, "indices": [index, 99_999]});
    let answer = mirror.send(Method::POST, "/v1/log/proofs", None, &body).await;
    let answer: ProofsAnswer = read(answer, StatusCode::OK).await;
    assert_eq!(answer.missing, [99_999]);
    let proven = &answer.records[0];
    let leaf = proven.sealed.leaf_hash();
    verify_inclusion(&leaf, index, size, &checkpoint.root, &proven.proof.0).unwrap();
    for path in [format!("tile/0/000.p/{size}"), format!("tile/entries/000.p/{size}")] {
        let theirs = upstream.get(&format!("/log/{path}"), None).await;
        let here = mirror.get(&format!("/relayed/log/{path}"), None).await;
        assert_eq!((theirs.status(), here.status()), (StatusCode::OK, StatusCode::OK), "{path}");
        assert_eq!(here.bytes().await.unwrap(), theirs.bytes().await.unwrap(), "{path}");
    }
    let beyond = json!({"origin": theirs.origin, "size": size + 1_000, "indices": [index]});
    let beyond = mirror.send(Method::POST, "/v1/log/proofs", None, &beyond).await;
    problem(beyond, 400, "invalid_request").await;
    let other = json!({"origin": "elsewhere", "size": size, "indices": [index]});
    let other = mirror.send(Method::POST, "/v1/log/proofs", None, &other).await;
    problem(other, 404, "not_found").await;
}

#[tokio::test]
async fn what_is_yanked_published_and_deleted_upstream_is_seen_with_the_next_comparison() {
    let upstream = TestRegistry::start().await;
    let ana = upstream.author("ana").await;
    upstream.published(&ana, "waitlist", "1.0.0").await;
    upstream.published(&ana, "plan", "1.0.0").await;
    let mirror = mirror(settings(&upstream.url)).await;
    mirror.document("waitlist").await;
    mirror.document("plan").await;
    let yank = format!("{}/1.0.0/yank", skill("waitlist"));
    let reason = json!({"reason": "broken"});
    let yanked = upstream.send(Method::POST, &yank, Some(&ana.token), &reason).await;
    assert_eq!(yanked.status(), 204);
    upstream.published(&ana, "plan", "1.1.0").await;
    assert!(mirror.document("waitlist").await.versions[0].yanked.is_none());
    mirror.mirror().refresh().await.unwrap();
    assert!(mirror.document("waitlist").await.versions[0].yanked.is_some());
    assert_eq!(mirror.document("plan").await.versions.len(), 2);
    assert_eq!(mirror.alarms().await, [] as [String; 0]);
    // Nothing changed: one question, and nothing else.
    mirror.mirror().refresh().await.unwrap();
    let body = json!({"names": ["waitlist", "plan"], "logs": []});
    let answer = mirror.index(body).await;
    assert_eq!((answer.documents.len(), answer.views.len()), (2, 1));
}

#[tokio::test]
async fn who_has_seen_more_of_the_log_is_answered_with_more() {
    let mut upstream = TestRegistry::start().await;
    let ana = upstream.author("ana").await;
    upstream.published(&ana, "waitlist", "1.0.0").await;
    let mirror = mirror(settings(&upstream.url)).await;
    mirror.document("waitlist").await;
    upstream.published(&ana, "waitlist", "1.1.0").await;
    let [log] = logs(&upstream).await.logs.try_into().unwrap();
    let seen = log.checkpoint.lines().nth(1).unwrap().parse::<u64>().unwrap();
    let ask = async |size: u64| {
        let known = json!({"origin": log.origin, "size": size});
        let answer = mirror.index(json!({"names": ["waitlist"], "logs": [known]})).await;
        let shown = answer.views[0].checkpoint.lines().nth(1).unwrap().parse::<u64>().unwrap();
        (answer.documents[0].versions.len(), shown)
    };
    assert!(ask(0).await.1 < seen, "what is held is enough for who has seen nothing");
    assert_eq!(ask(seen).await, (2, seen));
    assert_eq!(ask(1 << 62).await, (2, seen), "more than there is");
    upstream.stop().await;
    assert_eq!(ask(1 << 62).await, (2, seen), "what is held, where upstream is gone");
}

#[tokio::test]
async fn a_mirror_of_a_mirror_relays_the_log_that_the_first_one_relays() {
    let upstream = TestRegistry::start().await;
    let ana = upstream.author("ana").await;
    let packed = upstream.published(&ana, "waitlist", "1.0.0").await;
    let near = mirror(settings(&upstream.url)).await;
    near.mirror().refresh().await.unwrap();
    let ben = near.author("ben").await;
    near.scope("own", &ben, false).await;
    near.published(&ben, "own/plan", "1.0.0").await;
    let far = mirror(settings(&near.url)).await;
    let here = far.get(&skill("waitlist"), None).await.bytes().await.unwrap();
    assert_eq!(here, upstream.get(&skill("waitlist"), None).await.bytes().await.unwrap());
    let archive = format!("/v1/archives/{}", packed.digests.sha256.address());
    assert_eq!(far.get(&archive, None).await.bytes().await.unwrap(), packed.archive);
    let [_, relayed] = logs(&far).await.logs.try_into().unwrap();
    let [theirs] = logs(&upstream).await.logs.try_into().unwrap();
    assert_eq!(relayed.origin, theirs.origin);
    // Of the near one's own names that log says nothing: they are not mirrored, and no lie.
    problem(far.get(&skill("own/plan"), None).await, 404, "not_found").await;
    let answer = far.index(json!({"names": ["own/plan", "waitlist"]})).await;
    assert_eq!((answer.documents.len(), answer.missing.len()), (1, 1));
    assert_eq!(far.alarms().await, [] as [String; 0]);
    upstream.published(&ana, "waitlist", "1.1.0").await;
    near.mirror().refresh().await.unwrap();
    far.mirror().refresh().await.unwrap();
    assert_eq!(far.document("waitlist").await.versions.len(), 2);
}

#[tokio::test]
async fn two_mirrors_of_each_other_find_that_out() {
    // The second is started first, on what will be the address of the first.
    let directory = tempfile::tempdir().unwrap();
    let mut placeholder = TestRegistry::start_in(directory.path(), Options::default()).await;
    let second = mirror(settings(&placeholder.url)).await;
    let ben = second.author("ben").await;
    second.scope("own", &ben, false).await;
    second.published(&ben, "own/plan", "1.0.0").await;
    // It has met the first while that mirrored nothing.
    second.mirror().refresh().await.unwrap();
    let address = placeholder.url.clone();
    placeholder.stop().await;
    drop(placeholder);
    let first = TestRegistry::mirroring_at(directory.path(), &address, settings(&second.url)).await;
    for registry in [&first, &second] {
        let looped = registry.get(&skill("zzz/absent"), None).await;
        problem(looped, 508, "mirror_loop").await;
    }
    // What the one has of its own, the other mirrors.
    assert_eq!(first.document("own/plan").await.versions.len(), 1);
}
