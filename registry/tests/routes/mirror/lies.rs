//! An upstream that lies, or a network that does: nothing of it is handed on.

use reqwest::StatusCode;
use serde_json::json;
use skillpkg_registry::data::Data;
use skillpkg_registry::mirror::{Mirror, Settings};
use skillpkg_schema::Sha256Digest;
use skillpkg_schema::log::LogIdentity;
use skillpkg_schema::signature::SigningKey;

use super::upstream::{Content, FakeUpstream, ORIGIN, Tampering};
use super::{mirror, mirror_in, settings, skill};
use crate::support::{Skill, TestRegistry, problem};

/// Changes one byte near the end of the answers to this path.
fn flip(path: &'static str) -> Tampering {
    Box::new(move |asked, mut bytes| {
        if asked.starts_with(path) {
            let at = bytes.len() * 3 / 4;
            bytes[at] ^= 1;
        }
        bytes
    })
}

fn honest() -> Tampering {
    Box::new(|_, bytes| bytes)
}

#[tokio::test]
async fn a_changed_archive_is_refused_and_the_true_one_is_taken_after_it() {
    let upstream = FakeUpstream::start().await;
    let packed = upstream.publish("waitlist", "1.0.0");
    let mirror = mirror(settings(&upstream.url())).await;
    mirror.document("waitlist").await;
    let archive = format!("/v1/archives/{}", packed.digests.sha256.address());
    upstream.change(|content| content.tampering = flip("/v1/archives"));
    problem(mirror.get(&archive, None).await, 502, "upstream_refused").await;
    assert_eq!(mirror.alarms().await, ["waitlist@1.0.0"]);
    // Longer, shorter.
    for change in [
        (|mut bytes: Vec<u8>| {
            bytes.push(0);
            bytes
        }) as fn(Vec<u8>) -> Vec<u8>,
        |mut bytes| {
            bytes.pop();
            bytes
        },
        |_| Vec::new(),
    ] {
        upstream.change(|content| {
            content.tampering =
                Box::new(
                    move |path, bytes| {
                        if path.starts_with("/v1/archives") { change(bytes) } else { bytes }
                    },
                );
        });
        assert!(!mirror.get(&archive, None).await.status().is_success());
    }
    upstream.change(|content| content.tampering = honest());
    assert_eq!(mirror.get(&archive, None).await.bytes().await.unwrap(), packed.archive);
    assert_eq!(mirror.alarms().await, [] as [String; 0]);
    mirror.eventually_tidy().await;
}

#[tokio::test]
async fn a_changed_document_view_or_tile_is_refused() {
    type Change = fn(&mut Content);
    let cases: [(&str, Change); 5] = [
        ("a document", |content| content.tampering = replace("/v1/index", "Keeps", "Loses")),
        ("a withheld document", |content| {
            content.tampering = replace(
                "/v1/index",
                "{\"documents\":[{\"name\"",
                "{\"documents\":[],\"x\":[{\"name\"",
            );
        }),
        ("a tile", |content| content.tampering = flip("/log/tile")),
        ("keys that are not the log's", Content::lose_keys),
        ("no view", |content| content.tampering = replace("/v1/index", "\"views\"", "\"other\"")),
    ];
    for (what, change) in cases {
        let upstream = FakeUpstream::start().await;
        upstream.publish("waitlist", "1.0.0");
        let mirror = mirror(settings(&upstream.url())).await;
        upstream.change(change);
        let refused = mirror.get(&skill("waitlist"), None).await;
        assert_eq!(refused.status(), 502, "{what}");
        problem(refused, 502, "upstream_refused").await;
        assert_eq!(mirror.alarms().await.len(), 1, "{what}");
        let state = mirror.get("/readyz", None).await;
        assert!(state.text().await.unwrap().contains("\"subject\""), "{what}");
    }
}

fn replace(path: &'static str, from: &'static str, to: &'static str) -> Tampering {
    Box::new(move |asked, bytes| {
        if asked != path {
            return bytes;
        }
        let text = String::from_utf8(bytes).unwrap();
        assert!(text.contains(from), "{text}");
        text.replacen(from, to, 1).into_bytes()
    })
}

#[tokio::test]
async fn a_log_that_is_rewritten_is_believed_no_further() {
    let upstream = FakeUpstream::start().await;
    upstream.publish("waitlist", "1.0.0");
    upstream.publish("plan", "1.0.0");
    let mirror = mirror(settings(&upstream.url())).await;
    let before = mirror.document("waitlist").await;
    upstream.change(|content| content.fork(3));
    upstream.publish("waitlist", "6.6.6");
    upstream.publish("waitlist", "6.6.7");
    assert!(mirror.mirror().refresh().await.is_err());
    assert_eq!(mirror.alarms().await, ["log"]);
    assert_eq!(mirror.document("waitlist").await, before);
    problem(mirror.get(&skill("plan"), None).await, 502, "upstream_refused").await;
}

#[tokio::test]
async fn keys_that_the_log_names_itself_are_believed() {
    let upstream = FakeUpstream::start().await;
    upstream.publish("waitlist", "1.0.0");
    let directory = tempfile::tempdir().unwrap();
    let mut mirror = super::mirror_in(directory.path(), settings(&upstream.url())).await;
    mirror.document("waitlist").await;
    upstream.change(Content::rotate);
    upstream.publish("waitlist", "1.1.0");
    mirror.mirror().refresh().await.unwrap();
    assert_eq!(mirror.document("waitlist").await.versions.len(), 2);
    assert_eq!(mirror.alarms().await, [] as [String; 0]);
    mirror.stop().await;
    drop(mirror);
    let again = super::mirror_in(directory.path(), settings(&upstream.url())).await;
    let relayed = again.mirror().log("relayed/log").unwrap();
    assert_eq!((relayed.identities.len(), relayed.relayed), (2, true));
    upstream.change(Content::lose_keys);
    upstream.publish("waitlist", "1.2.0");
    assert!(again.mirror().refresh().await.is_err());
    assert_eq!(again.document("waitlist").await.versions.len(), 2);
}

#[tokio::test]
async fn a_version_that_upstream_deleted_is_handed_out_no_more() {
    let upstream = FakeUpstream::start().await;
    let packed = upstream.publish("waitlist", "1.0.0");
    upstream.publish("waitlist", "1.1.0");
    let file = packed.manifest.files[0].sha256.address();
    let mirror = mirror(settings(&upstream.url())).await;
    mirror.document("waitlist").await;
    let archive = format!("/v1/archives/{}", packed.digests.sha256.address());
    assert_eq!(mirror.get(&archive, None).await.status(), 200);
    upstream.rewrite("waitlist", |document| {
        document.versions.remove(0);
    });
    upstream.change(|content| content.withdraw(&archive));
    mirror.mirror().refresh().await.unwrap();
    problem(mirror.get(&archive, None).await, 404, "not_found").await;
    problem(mirror.get(&format!("/v1/blobs/{file}"), None).await, 404, "not_found").await;
    let left =
        skillpkg_registry::upkeep::remove_orphans(mirror.data(), std::time::Duration::ZERO, true);
    assert_eq!(left.await.unwrap().removed, 0);
    let held = mirror.data().blobs.list(&"archives".into());
    let held: Vec<_> = futures_util::TryStreamExt::try_collect(held).await.unwrap();
    assert_eq!(held.len(), 0);
}

#[tokio::test]
async fn an_older_checkpoint_of_the_same_log_is_no_news_and_no_alarm() {
    let upstream = FakeUpstream::start().await;
    upstream.publish("waitlist", "1.0.0");
    let old = upstream.change(|content| content.answer_to_index(&["waitlist"]));
    upstream.publish("waitlist", "1.1.0");
    let mirror = mirror(settings(&upstream.url())).await;
    assert_eq!(mirror.document("waitlist").await.versions.len(), 2);
    upstream.change(|content| {
        content.tampering =
            Box::new(move |path, bytes| if path == "/v1/index" { old.clone() } else { bytes });
    });
    assert!(mirror.mirror().refresh().await.is_err());
    assert_eq!(mirror.document("waitlist").await.versions.len(), 2);
    assert_eq!(mirror.alarms().await, [] as [String; 0]);
}

#[tokio::test]
async fn a_version_that_changes_its_bytes_is_kept_as_it_was_and_told() {
    let upstream = FakeUpstream::start().await;
    let packed = upstream.publish("waitlist", "1.0.0");
    upstream.publish("plan", "1.0.0");
    let mirror = mirror(settings(&upstream.url())).await;
    let archive = format!("/v1/archives/{}", packed.digests.sha256.address());
    let before = mirror.document("waitlist").await;
    mirror.document("plan").await;
    assert_eq!(mirror.get(&archive, None).await.status(), 200);
    // The log says it openly: it is signed, and yet no version may change.
    upstream.rewrite("waitlist", |document| {
        document.versions[0].address = Sha256Digest::of(b"other").address();
    });
    upstream.publish("plan", "1.1.0");
    mirror.mirror().refresh().await.unwrap();
    assert_eq!(mirror.document("waitlist").await, before);
    assert_eq!(mirror.get(&archive, None).await.status(), 200);
    assert_eq!(mirror.alarms().await, ["waitlist"]);
    let state = mirror.get("/readyz", None).await.text().await.unwrap();
    assert!(state.contains("1.0.0 with other content than before"), "{state}");
    // The others go on.
    assert_eq!(mirror.document("plan").await.versions.len(), 2);
    // What is kept is proven by the moment that it is of.
    let body = json!({"names": ["waitlist"], "logs": [{"origin": ORIGIN, "size": 0}]});
    let answer = mirror.index(body).await;
    assert_eq!((answer.documents.len(), answer.views.len()), (1, 1));
    // Beside others it cannot be proven: that is told, and not that it is missing.
    let body = json!({"names": ["waitlist", "plan"], "logs": [{"origin": ORIGIN, "size": 0}]});
    let answer = mirror.send(reqwest::Method::POST, "/v1/index", None, &body).await;
    problem(answer, 502, "upstream_refused").await;
    let answer = mirror.index(json!({"names": ["waitlist", "plan"]})).await;
    assert_eq!(answer.documents.len(), 2);
    // Set right, the alarm is over.
    upstream.rewrite("waitlist", |document| {
        document.versions[0].address = before.versions[0].address;
    });
    mirror.mirror().refresh().await.unwrap();
    assert_eq!(mirror.alarms().await, [] as [String; 0]);
}

#[tokio::test]
async fn an_archive_that_is_not_what_its_document_says_is_refused() {
    let upstream = FakeUpstream::start().await;
    let mallory = TestRegistry::start().await.author("mallory").await;
    // Signed by somebody whom the document does not name.
    upstream.publish_packed(&Skill::new("signer", "1.0.0").pack(&mallory));
    // A manifest that claims what its files do not say.
    let skill = Skill::new("claims", "1.0.0");
    let mut manifest = skill.manifest();
    manifest.description = "Something else".to_owned();
    upstream.publish_packed(&skill.pack_as(manifest, &upstream.author));
    // Another name's archive under this one.
    upstream.publish("real", "1.0.0");
    upstream.publish("posing", "1.0.0");
    let mut real = None;
    upstream.rewrite("real", |document| real = Some(document.versions[0].clone()));
    upstream.rewrite("posing", |document| document.versions[0] = real.unwrap());
    let mirror = mirror(settings(&upstream.url())).await;
    for name in ["signer", "claims", "posing"] {
        let document = mirror.document(name).await;
        let archive = format!("/v1/archives/{}", document.versions[0].archive);
        problem(mirror.get(&archive, None).await, 502, "upstream_refused").await;
        let address = format!("/v1/manifests/{}", document.versions[0].address);
        assert_ne!(mirror.get(&address, None).await.status(), StatusCode::OK, "{name}");
    }
    assert_eq!(mirror.alarms().await, ["claims@1.0.0", "posing@1.0.0", "signer@1.0.0"]);
}

#[tokio::test]
async fn an_archive_without_the_signature_of_each_signer_that_its_document_names_is_refused() {
    let upstream = FakeUpstream::start().await;
    upstream.publish("waitlist", "1.0.0");
    // The document names a second signer, openly and with the key: the archive has one signature.
    let second = SigningKey::generate().unwrap().public();
    upstream.rewrite("waitlist", |document| {
        let mut signer = document.keys[0].clone();
        (signer.id, signer.pem) = (second.id(), second.to_pem());
        document.keys.push(signer);
        document.versions[0].key_ids.push(second.id());
    });
    // Nobody vouches for this one, its document says.
    upstream.publish("nobody", "1.0.0");
    upstream.rewrite("nobody", |document| document.versions[0].key_ids.clear());
    // A signer whose key the document does not hold, and one under the id of whose key another lies.
    upstream.publish("keyless", "1.0.0");
    upstream.rewrite("keyless", |document| document.keys.clear());
    upstream.publish("posing", "1.0.0");
    upstream.rewrite("posing", |document| document.keys[0].pem = second.to_pem());
    let mirror = mirror(settings(&upstream.url())).await;
    for name in ["waitlist", "nobody", "keyless", "posing"] {
        let document = mirror.document(name).await;
        let archive = format!("/v1/archives/{}", document.versions[0].archive);
        problem(mirror.get(&archive, None).await, 502, "upstream_refused").await;
    }
    let subjects = ["keyless@1.0.0", "nobody@1.0.0", "posing@1.0.0", "waitlist@1.0.0"];
    assert_eq!(mirror.alarms().await, subjects);
    let told = mirror.get("/readyz", None).await.text().await.unwrap();
    assert!(told.contains("its signers"), "{told}");
    mirror.eventually_tidy().await;
}

#[tokio::test]
async fn a_version_whose_signers_change_is_kept_as_it_was_and_told() {
    let upstream = FakeUpstream::start().await;
    upstream.publish("waitlist", "1.0.0");
    let mirror = mirror(settings(&upstream.url())).await;
    let before = mirror.document("waitlist").await;
    let mallory = SigningKey::generate().unwrap().public();
    let honest = before.versions[0].key_ids.clone();
    for key_ids in [vec![mallory.id()], [honest.clone(), vec![mallory.id()]].concat(), Vec::new()] {
        upstream.rewrite("waitlist", |document| {
            let mut signer = document.keys[0].clone();
            (signer.id, signer.pem) = (mallory.id(), mallory.to_pem());
            document.keys.push(signer);
            document.versions[0].key_ids = key_ids;
        });
        mirror.mirror().refresh().await.unwrap();
        assert_eq!(mirror.document("waitlist").await, before);
        assert_eq!(mirror.alarms().await, ["waitlist"]);
        let told = mirror.get("/readyz", None).await.text().await.unwrap();
        assert!(told.contains("other signers of version 1.0.0 than before"), "{told}");
    }
    // Set right, the alarm is over; and a new version may have whom it will.
    upstream.rewrite("waitlist", |document| document.versions[0].key_ids = honest);
    mirror.mirror().refresh().await.unwrap();
    assert_eq!(mirror.alarms().await, [] as [String; 0]);
    upstream.publish("waitlist", "1.1.0");
    mirror.mirror().refresh().await.unwrap();
    assert_eq!(mirror.document("waitlist").await.versions.len(), 2);
}

#[tokio::test]
async fn a_document_that_no_registry_would_show_anybody_is_refused() {
    let upstream = FakeUpstream::start().await;
    upstream.publish("waitlist", "1.0.0");
    upstream.rewrite("waitlist", |document| document.private = true);
    upstream.publish("twice", "1.0.0");
    upstream.rewrite("twice", |document| document.versions.push(document.versions[0].clone()));
    let mirror = mirror(settings(&upstream.url())).await;
    for name in ["waitlist", "twice"] {
        problem(mirror.get(&skill(name), None).await, 502, "upstream_refused").await;
    }
}

#[tokio::test]
async fn another_log_than_the_one_that_the_operator_names_is_refused_at_the_first_contact() {
    let upstream = FakeUpstream::start().await;
    upstream.publish("waitlist", "1.0.0");
    let fingerprint = LogIdentity::from_envelope(&upstream.change(|content| content.identity()))
        .unwrap()
        .fingerprint();
    let pinned =
        |key: &str| Settings { log_key: Some(key.parse().unwrap()), ..settings(&upstream.url()) };
    let other = mirror(pinned(&"0".repeat(64))).await;
    let refused = other.get(&skill("waitlist"), None).await;
    let detail = problem(refused, 502, "upstream_refused").await.detail;
    assert!(detail.contains(&fingerprint.to_string()), "{detail}");
    assert_eq!(other.alarms().await, ["log"]);
    let ready = problem(other.get("/readyz", None).await, 503, "unavailable").await.detail;
    assert!(ready.contains("--mirror-log-key"), "{ready}");

    // What was followed before is held against it as well.
    let directory = tempfile::tempdir().unwrap();
    let mut right = mirror_in(directory.path(), pinned(&fingerprint.to_string())).await;
    right.document("waitlist").await;
    right.stop().await;
    let data = Data::open(crate::bucket::places(directory.path())).await.unwrap();
    let error = Mirror::open(&data, pinned(&"0".repeat(64))).await.unwrap_err();
    assert!(error.problem().detail.contains("--mirror-log-key"), "{error:?}");
}
