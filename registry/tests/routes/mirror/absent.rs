//! An upstream that says of what every registry has that it has none, or answers with what is no
//! answer: nothing follows from it about what there is.

use reqwest::StatusCode;
use serde_json::json;
use skillpkg_schema::wire::MAX_ANSWER_BYTES;

use super::upstream::{FakeUpstream, ORIGIN};
use super::{mirror, settings, skill};
use crate::support::problem;

#[tokio::test]
async fn what_the_log_does_not_prove_absent_is_not_said_to_be() {
    let upstream = FakeUpstream::start().await;
    let packed = upstream.publish("waitlist", "1.0.0");
    upstream.publish("other", "1.0.0");
    let mirror = mirror(settings(&upstream.url())).await;
    let refuse = |status| upstream.change(|content| content.refusal = status);
    let archive = format!("/v1/archives/{}", packed.digests.sha256.address());

    // Not even who its log is.
    refuse(Some(StatusCode::NOT_FOUND));
    problem(mirror.get(&skill("waitlist"), None).await, 502, "upstream_refused").await;
    let asked = json!({"names": ["waitlist"], "logs": []});
    let answer = mirror.send(reqwest::Method::POST, "/v1/index", None, &asked).await;
    problem(answer, 502, "upstream_refused").await;
    assert_eq!(mirror.alarms().await, ["log"]);
    refuse(None);
    mirror.document("waitlist").await;
    assert_eq!(mirror.alarms().await, [] as [String; 0]);

    // What is held is served; of what is not, nobody knows.
    refuse(Some(StatusCode::NOT_FOUND));
    mirror.document("waitlist").await;
    let known = json!([{"origin": ORIGIN, "size": 0}]);
    let answer = mirror.index(json!({"names": ["waitlist"], "logs": known})).await;
    assert_eq!((answer.documents.len(), answer.views.len()), (1, 1));
    problem(mirror.get(&skill("other"), None).await, 502, "upstream_refused").await;
    for names in [json!(["other"]), json!(["waitlist", "other"])] {
        for asked in [json!({"names": names}), json!({"names": names, "logs": known})] {
            let answer = mirror.send(reqwest::Method::POST, "/v1/index", None, &asked).await;
            problem(answer, 502, "upstream_refused").await;
        }
    }
    problem(mirror.get(&archive, None).await, 502, "upstream_refused").await;
    assert_eq!(mirror.alarms().await, ["log"]);
    assert!(mirror.mirror().refresh().await.is_err());
    let proofs = json!({"origin": ORIGIN, "size": 2, "indices": [0]});
    let answer = mirror.send(reqwest::Method::POST, "/v1/log/proofs", None, &proofs).await;
    problem(answer, 502, "upstream_refused").await;
    let entries = mirror.get("/relayed/log/tile/entries/000.p/2", None).await;
    problem(entries, 502, "upstream_refused").await;
    let state = mirror.get("/readyz", None).await.text().await.unwrap();
    assert!(state.contains("has nothing there"), "{state}");

    refuse(None);
    mirror.mirror().refresh().await.unwrap();
    assert_eq!(mirror.alarms().await, [] as [String; 0]);
    assert_eq!(mirror.get(&skill("absent"), None).await.status(), 404);
}

#[tokio::test]
async fn an_archive_that_is_listed_and_withheld_is_no_archive_that_is_not_there() {
    let upstream = FakeUpstream::start().await;
    let packed = upstream.publish("waitlist", "1.0.0");
    let mirror = mirror(settings(&upstream.url())).await;
    mirror.document("waitlist").await;
    let archive = format!("/v1/archives/{}", packed.digests.sha256.address());
    upstream.change(|content| content.withdraw(&archive));
    problem(mirror.get(&archive, None).await, 502, "upstream_refused").await;
    assert_eq!(mirror.alarms().await, ["waitlist@1.0.0"]);
    upstream.change(|content| content.serve(archive.clone(), packed.archive.clone()));
    assert_eq!(mirror.get(&archive, None).await.status(), 200);
    assert_eq!(mirror.alarms().await, [] as [String; 0]);
    // One that was deleted is not listed: that is no lie, though the mirror did not know yet.
    let packed = upstream.publish("waitlist", "1.1.0");
    mirror.mirror().refresh().await.unwrap();
    let archive = format!("/v1/archives/{}", packed.digests.sha256.address());
    upstream.rewrite("waitlist", |document| {
        document.versions.pop();
    });
    upstream.change(|content| content.withdraw(&archive));
    problem(mirror.get(&archive, None).await, 404, "not_found").await;
    assert_eq!(mirror.alarms().await, [] as [String; 0]);
}

#[tokio::test]
async fn an_answer_that_is_too_deep_or_too_large_is_told_to_be_that() {
    type Change = fn(&str, Vec<u8>) -> Vec<u8>;
    let deep = |_: &str, _: Vec<u8>| b"{\"documents\":[".repeat(300);
    let large = |_: &str, _: Vec<u8>| vec![b' '; usize::try_from(MAX_ANSWER_BYTES).unwrap() + 1];
    for (change, why) in
        [(deep as Change, "something else than was asked for"), (large, "more than")]
    {
        for first in [true, false] {
            let upstream = FakeUpstream::start().await;
            upstream.publish("waitlist", "1.0.0");
            upstream.publish("plan", "1.0.0");
            let mirror = mirror(settings(&upstream.url())).await;
            if !first {
                mirror.document("waitlist").await;
            }
            upstream.change(|content| content.tampering = Box::new(change));
            let refused = mirror.get(&skill("plan"), None).await;
            let refused = problem(refused, 502, "upstream_refused").await;
            assert!(refused.detail.contains(why), "{}", refused.detail);
            assert_eq!(mirror.alarms().await, [if first { "log" } else { "plan" }]);
            if !first {
                mirror.document("waitlist").await;
            }
        }
    }
}
