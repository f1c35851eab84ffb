use reqwest::StatusCode;
use serde_json::json;
use skillpkg_schema::log::{
    Bucket, Checkpoint, LogIdentity, Subject, bucket_of, head_key, verify_consistency,
    verify_inclusion,
};
use skillpkg_schema::signature::Envelope;
use skillpkg_schema::wire::{ProofsAnswer, SearchAnswer, View};
use skillpkg_schema::{QualifiedName, Sha256Digest};

use super::upstream::{FakeUpstream, ORIGIN};
use super::{mirror, mirror_in, settings, skill};
use crate::support::{Skill, TestRegistry, json as read, problem};

/// Holds a view against its own checkpoint as a client does, and a document against the view.
fn proves(view: &View, identity: &Envelope, name: &str, document: Option<&[u8]>) -> u64 {
    let identity: LogIdentity = serde_json::from_slice(&identity.payload()).unwrap();
    let checkpoint = Checkpoint::verify(view.checkpoint.as_bytes(), ORIGIN, &identity.keys, &[]);
    let checkpoint = checkpoint.unwrap().checkpoint;
    let heads = &view.heads;
    assert_eq!(heads.index + 1, checkpoint.size);
    let leaf = heads.sealed.leaf_hash();
    verify_inclusion(&leaf, heads.index, checkpoint.size, &checkpoint.root, &heads.proof.0)
        .unwrap();
    let Subject::Heads { root } = heads.sealed.record.subject else { panic!("{heads:?}") };
    let name: QualifiedName = name.parse().unwrap();
    let key = head_key(&name);
    let proven = view.buckets.iter().find(|bucket| bucket.bucket == bucket_of(&key)).unwrap();
    let bytes: Vec<u8> = proven.heads.0.iter().flat_map(|hash| *hash.as_bytes()).collect();
    let bucket = Bucket::from_bytes(proven.bucket, &bytes).unwrap();
    bucket.verify(proven.bucket, &root, &proven.proof.0).unwrap();
    assert_eq!(bucket.get(&key).copied(), document.map(Sha256Digest::of));
    checkpoint.size
}

#[tokio::test]
async fn what_upstream_has_is_handed_on_byte_for_byte_and_asked_for_once() {
    let upstream = FakeUpstream::start().await;
    let packed = upstream.publish("waitlist", "1.0.0");
    let mirror = mirror(settings(&upstream.url())).await;
    let name: QualifiedName = "waitlist".parse().unwrap();
    let expected = upstream.change(|content| content.documents[&name].clone());

    let answer = mirror.get(&skill("waitlist"), None).await;
    assert_eq!(answer.status(), StatusCode::OK);
    assert!(answer.headers().contains_key("age"));
    assert!(!answer.headers().contains_key("skillpkg-stale-since"));
    assert_eq!(answer.headers()["cache-control"], "public, no-cache");
    let etag = answer.headers()["etag"].clone();
    assert_eq!(answer.bytes().await.unwrap(), expected);

    let archive = packed.digests.sha256.address();
    let file = &packed.manifest.files[1];
    for (path, expected) in [
        (format!("/v1/archives/{archive}"), packed.archive.clone()),
        (format!("/v1/archives/{}", archive.hex()), packed.archive.clone()),
        (format!("/v1/manifests/{}", packed.address()), packed.manifest.to_bytes()),
        (format!("/v1/manifests/{}/signatures", packed.address()), packed.envelope.to_bytes()),
        (format!("/v1/blobs/{}", file.sha256.address()), b"1.0.0".to_vec()),
        (format!("/v1/blobs/{}", file.blake3.address()), b"1.0.0".to_vec()),
    ] {
        let answer = mirror.get(&path, None).await;
        assert_eq!(answer.status(), StatusCode::OK, "{path}");
        assert_eq!(answer.bytes().await.unwrap(), expected, "{path}");
    }
    // All of that came with one index, one archive and the records of its proofs.
    let asked = upstream.asked();
    let count = |what: &str| asked.iter().filter(|asked| asked.starts_with(what)).count();
    assert_eq!(count("/v1/index"), 1, "{asked:?}");
    assert_eq!(count("/v1/archives"), 1, "{asked:?}");
    assert_eq!(count("/v1/blobs") + count("/v1/manifests"), 0, "{asked:?}");
    upstream.forget_asked();
    let again = mirror.request(reqwest::Method::GET, &skill("waitlist"), None);
    let again = again.header("if-none-match", etag).send().await.unwrap();
    assert_eq!(again.status(), StatusCode::NOT_MODIFIED);
    assert_eq!(mirror.get(&format!("/v1/archives/{archive}"), None).await.status(), 200);
    assert_eq!(upstream.asked(), [] as [String; 0]);
    // Who asks the mirror is nothing to upstream.
    for headers in upstream.headers() {
        assert!(!headers.contains_key("authorization"));
    }
}

#[tokio::test]
async fn an_index_is_proven_by_upstreams_log_also_for_what_is_missing() {
    let upstream = FakeUpstream::start().await;
    upstream.publish("waitlist", "1.0.0");
    upstream.publish("acme/plan", "1.0.0");
    let mirror = mirror(settings(&upstream.url())).await;
    let identity = upstream.change(|content| content.identity());
    let names = json!(["waitlist", "absent", "acme/plan"]);
    let body = json!({"names": names, "logs": [{"origin": ORIGIN, "size": 0}]});
    let mut size = 0;
    for _ in 0..2 {
        let answer = mirror.index(body.clone()).await;
        let found: Vec<String> =
            answer.documents.iter().map(|document| document.name.to_string()).collect();
        assert_eq!(found, ["waitlist", "acme/plan"]);
        assert_eq!(answer.missing.len(), 1);
        let [view] = answer.views.as_slice() else { panic!("{:?}", answer.views) };
        for name in ["waitlist", "acme/plan"] {
            let bytes =
                upstream.change(|content| content.documents[&name.parse().unwrap()].clone());
            size = proves(view, &identity, name, Some(&bytes));
        }
        proves(view, &identity, "absent", None);
    }
    let asked = upstream.asked();
    assert_eq!(asked.iter().filter(|asked| asked.starts_with("/v1/index")).count(), 1);
    // A name that is asked for twice is answered once more, and never taken for withheld.
    let twice = json!({"names": ["fresh", "fresh", "waitlist", "waitlist"], "logs": []});
    let twice = mirror.index(twice).await;
    assert_eq!((twice.documents.len(), twice.missing.len()), (2, 2));
    assert_eq!(mirror.alarms().await, [] as [String; 0]);
    // Without logs no proof is wanted.
    let plain = mirror.index(json!({"names": ["waitlist"]})).await;
    assert_eq!((plain.documents.len(), plain.views.len()), (1, 0));

    // Upstream moves on; the mirror proves that what it says now continues what it said.
    let before = mirror_root(&upstream);
    upstream.publish("waitlist", "1.1.0");
    mirror.mirror().refresh().await.unwrap();
    let body = json!({"names": names, "logs": [{"origin": ORIGIN, "size": size}]});
    let answer = mirror.index(body).await;
    assert_eq!(answer.documents[0].versions.len(), 2);
    let view = &answer.views[0];
    let bytes = upstream.change(|content| content.documents[&"waitlist".parse().unwrap()].clone());
    let now = proves(view, &identity, "waitlist", Some(&bytes));
    assert!(now > size);
    let root = mirror_root(&upstream);
    verify_consistency(size, &before, now, &root, &view.consistency.0).unwrap();
}

/// The root of upstream's log, as its checkpoint has it.
fn mirror_root(upstream: &FakeUpstream) -> skillpkg_schema::log::Hash {
    upstream.change(|content| Checkpoint::from_text(&content.text()).unwrap().root)
}

#[tokio::test]
async fn proofs_and_tiles_are_made_of_what_is_held() {
    let mut upstream = FakeUpstream::start().await;
    // More than one tile.
    upstream.publish_many("waitlist", (0..280).map(|patch| format!("1.0.{patch}")));
    let last = upstream.publish("waitlist", "2.0.0");
    let mirror = mirror(settings(&upstream.url())).await;
    mirror.document("waitlist").await;
    let archive = format!("/v1/archives/{}", last.digests.sha256.address());
    assert_eq!(mirror.get(&archive, None).await.status(), 200);
    let entry = mirror.document("waitlist").await.versions.last().unwrap().clone();
    let index = entry.log_index.unwrap();
    let checkpoint = mirror.get("/relayed/log/checkpoint", None).await;
    assert_eq!(checkpoint.status(), 200);
    let text = checkpoint.text().await.unwrap();
    let (text, _) = text.split_once("\n\n").unwrap();
    let checkpoint = Checkpoint::from_text(&format!("{text}\n")).unwrap();
    assert_eq!(checkpoint.size, 284);
    for (path, length) in
        [("0/000", 8_192), ("0/001.p/28", 28 * 32), ("1/000.p/1", 32), ("0/001.p/3", 96)]
    {
        let tile = mirror.get(&format!("/relayed/log/tile/{path}"), None).await;
        assert_eq!(tile.status(), 200, "{path}");
        assert_eq!(tile.bytes().await.unwrap().len(), length, "{path}");
    }
    for path in ["0/001", "0/001.p/29", "0/002.p/1", "2/000.p/1", "x", "0/../0", "entries/009"] {
        let tile = mirror.get(&format!("/relayed/log/tile/{path}"), None).await;
        assert_eq!(tile.status(), 404, "{path}");
    }
    let bundle = mirror.get("/relayed/log/tile/entries/001.p/28", None).await;
    assert_eq!(bundle.status(), 200);

    // The record of what was installed is there when upstream is not.
    upstream.vanish().await;
    let through = skillpkg_registry::upstream::hops::Hops::default();
    let through = mirror.mirror().through(&through).unwrap();
    let request = skillpkg_schema::wire::ProofsRequest {
        origin: ORIGIN.to_owned(),
        size: checkpoint.size,
        indices: vec![index],
    };
    let answer: ProofsAnswer = mirror.mirror().proofs(&request, &through).await.unwrap().unwrap();
    let [proven] = answer.records.as_slice() else { panic!("{answer:?}") };
    let leaf = proven.sealed.leaf_hash();
    verify_inclusion(&leaf, index, checkpoint.size, &checkpoint.root, &proven.proof.0).unwrap();
    let other = skillpkg_schema::wire::ProofsRequest { origin: "other".to_owned(), ..request };
    assert!(mirror.mirror().proofs(&other, &through).await.unwrap().is_none());
}

#[tokio::test]
async fn what_no_document_named_yet_is_found_by_its_address() {
    for path in ["archives", "manifests", "blobs"] {
        let upstream = FakeUpstream::start().await;
        let packed = upstream.publish("waitlist", "1.0.0");
        let file = packed.manifest.files[1].sha256.address();
        upstream.change(|content| content.serve(format!("/v1/blobs/{file}"), b"1.0.0".to_vec()));
        let mirror = mirror(settings(&upstream.url())).await;
        let address = match path {
            "archives" => packed.digests.sha256.address(),
            "manifests" => packed.address(),
            _ => file,
        };
        let address = format!("/v1/{path}/{address}");
        for _ in 0..2 {
            assert_eq!(mirror.get(&address, None).await.status(), 200, "{path}");
        }
        let asked = upstream.asked();
        let count = asked.iter().filter(|asked| asked.starts_with(&address)).count();
        assert_eq!(count, 1, "{asked:?}");
        // What upstream does not have is asked for once in a while.
        upstream.forget_asked();
        let absent = format!("/v1/{path}/sha256:{}", "ab".repeat(32));
        for _ in 0..3 {
            problem(mirror.get(&absent, None).await, 404, "not_found").await;
        }
        assert_eq!(upstream.asked().len(), 1);
    }
}

#[tokio::test]
async fn many_who_ask_for_the_same_at_once_ask_upstream_once() {
    let upstream = FakeUpstream::start().await;
    let packed = upstream.publish("waitlist", "1.0.0");
    let mirror = mirror(settings(&upstream.url())).await;
    let archive = format!("/v1/archives/{}", packed.digests.sha256.address());
    let documents = (0..16).map(|_| mirror.document("waitlist"));
    futures_util::future::join_all(documents).await;
    let archives = (0..16).map(|_| mirror.get(&archive, None));
    for answer in futures_util::future::join_all(archives).await {
        assert_eq!(answer.status(), 200);
    }
    let asked = upstream.asked();
    let count = |what: &str| asked.iter().filter(|asked| asked.starts_with(what)).count();
    assert_eq!((count("/v1/index"), count("/v1/archives")), (1, 1), "{asked:?}");
}

#[tokio::test]
async fn a_mirror_that_starts_again_goes_on_where_it_was() {
    let mut upstream = FakeUpstream::start().await;
    upstream.publish("waitlist", "1.0.0");
    let packed = upstream.publish("plan", "1.0.0");
    let directory = tempfile::tempdir().unwrap();
    let archive = format!("/v1/archives/{}", packed.digests.sha256.address());
    let mut first = mirror_in(directory.path(), settings(&upstream.url())).await;
    first.document("waitlist").await;
    assert_eq!(first.get(&archive, None).await.status(), 200);
    first.stop().await;
    drop(first);
    upstream.vanish().await;
    let again = mirror_in(directory.path(), settings(&upstream.url())).await;
    assert_eq!(again.document("waitlist").await.versions.len(), 1);
    assert_eq!(again.get(&archive, None).await.status(), 200);
    upstream.come_back().await;
    upstream.publish("waitlist", "1.1.0");
    again.mirror().refresh().await.unwrap();
    assert_eq!(again.document("waitlist").await.versions.len(), 2);
    let report = skillpkg_registry::upkeep::verify(again.data()).await.unwrap();
    assert_eq!(report.problems, []);
}

#[tokio::test]
async fn search_finds_what_is_held_and_tells_upstream_no_word() {
    let upstream = FakeUpstream::start().await;
    upstream.publish("waitlist", "1.0.0");
    upstream.publish("hidden", "1.0.0");
    let mirror = mirror(settings(&upstream.url())).await;
    mirror.document("waitlist").await;
    let ben = mirror.author("ben").await;
    mirror.scope("own", &ben, false).await;
    mirror.published(&ben, "own/waiting", "1.0.0").await;
    upstream.forget_asked();
    let found = async |query: &str| -> (Vec<String>, u64) {
        let answer = mirror.get(&format!("/v1/search?{query}"), None).await;
        let answer: SearchAnswer = read(answer, StatusCode::OK).await;
        (answer.skills.iter().map(|hit| hit.name.to_string()).collect(), answer.total)
    };
    let both = vec!["own/waiting".to_owned(), "waitlist".to_owned()];
    assert_eq!(found("q=wait").await, (both.clone(), 2));
    assert_eq!(found("q=").await, (both.clone(), 2));
    assert_eq!(found("q=wait&limit=1").await, (both[..1].to_vec(), 2));
    assert_eq!(found("q=wait&limit=1&offset=1").await, (both[1..].to_vec(), 2));
    assert_eq!(found("q=wait&offset=2").await, (vec![], 2));
    assert_eq!(found("q=hidden").await, (vec![], 0));
    // The exact name goes before what is this registry's own.
    mirror.published(&ben, "own/waitlist-of-ben", "1.0.0").await;
    let exact = vec!["waitlist".to_owned(), "own/waitlist-of-ben".to_owned()];
    assert_eq!(found("q=waitlist").await, (exact.clone(), 2));
    assert_eq!(found("q=waitlist&limit=1&offset=1").await, (exact[1..].to_vec(), 2));
    assert_eq!(upstream.asked(), [] as [String; 0]);
}

#[tokio::test]
async fn five_thousand_versions_are_one_document_and_no_archive() {
    let upstream = FakeUpstream::start().await;
    upstream.publish("waitlist", "1.0.0");
    upstream.rewrite("waitlist", |document| {
        let first = document.versions[0].clone();
        document.versions.extend((1..5_000).map(|patch| {
            let digest =
                |kind: &str| Sha256Digest::of(format!("{kind} {patch}").as_bytes()).address();
            let mut entry = first.clone();
            entry.version = format!("1.0.{patch}").parse().unwrap();
            entry.address = digest("manifest");
            entry.archive = digest("archive");
            entry.blake3 = format!("blake3:{}", digest("blake3").hex()).parse().unwrap();
            entry
        }));
    });
    let mirror = mirror(settings(&upstream.url())).await;
    assert_eq!(mirror.document("waitlist").await.versions.len(), 5_000);
    upstream.yank("waitlist", 4_999);
    mirror.mirror().refresh().await.unwrap();
    let document = mirror.document("waitlist").await;
    assert!(document.versions[4_999].yanked.is_some());
    assert!(!upstream.asked().iter().any(|asked| asked.starts_with("/v1/archives")));
}

#[tokio::test]
async fn one_directory_serves_both_what_is_its_own_and_what_is_mirrored_and_gc_keeps_both() {
    let upstream = FakeUpstream::start().await;
    let theirs = upstream.publish("waitlist", "1.0.0");
    let mirror = mirror(settings(&upstream.url())).await;
    let ben = mirror.author("ben").await;
    mirror.scope("own", &ben, false).await;
    let ours = Skill::new("own/waiting", "1.0.0").with_file("notes.md", "1.0.0").pack(&ben);
    assert_eq!(mirror.publish(&ben, &ours).await.status(), 201);
    let archive = |packed: &crate::support::Packed| {
        format!("/v1/archives/{}", packed.digests.sha256.address())
    };
    assert_eq!(mirror.get(&archive(&theirs), None).await.status(), 200);
    let gone =
        skillpkg_registry::upkeep::remove_orphans(mirror.data(), std::time::Duration::ZERO, false);
    assert_eq!(gone.await.unwrap().removed, 0);
    for packed in [&ours, &theirs] {
        assert_eq!(mirror.get(&archive(packed), None).await.status(), 200);
    }
    let report = skillpkg_registry::upkeep::verify(mirror.data()).await.unwrap();
    assert_eq!(report.problems, []);
}

#[tokio::test]
async fn a_registry_that_mirrors_nothing_relays_no_log() {
    let registry = TestRegistry::start().await;
    problem(registry.get("/relayed/log/checkpoint", None).await, 404, "not_found").await;
    problem(registry.get("/relayed/log/tile/0/000", None).await, 404, "not_found").await;
}
