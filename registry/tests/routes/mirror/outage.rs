//! Upstream is gone: what is held is served and says how old it is; what is not is an error, and no
//! claim that it is not there.

use std::time::{Duration, Instant};

use reqwest::StatusCode;
use serde_json::json;
use skillpkg_registry::mirror::Settings;

use super::upstream::{FakeUpstream, ORIGIN};
use super::{mirror, settings, skill};
use crate::support::problem;

#[tokio::test]
async fn what_is_held_is_served_without_upstream_and_told_to_be_old() {
    let mut upstream = FakeUpstream::start().await;
    let packed = upstream.publish("waitlist", "1.0.0");
    let other = upstream.publish("other", "1.0.0");
    let every = Duration::from_secs(1);
    let mirror = mirror(Settings { every, ..settings(&upstream.url()) }).await;
    let archive = format!("/v1/archives/{}", packed.digests.sha256.address());
    mirror.document("waitlist").await;
    assert_eq!(mirror.get(&archive, None).await.status(), 200);
    assert_eq!(mirror.get("/readyz", None).await.status(), 204);
    upstream.vanish().await;
    assert!(mirror.mirror().refresh().await.is_err());
    tokio::time::sleep(Duration::from_millis(3_100)).await;

    let answer = mirror.get(&skill("waitlist"), None).await;
    assert_eq!(answer.status(), StatusCode::OK);
    assert!(answer.headers().contains_key("skillpkg-stale-since"));
    let age: u64 = answer.headers()["age"].to_str().unwrap().parse().unwrap();
    assert!((3..60).contains(&age), "{age}");
    assert_eq!(mirror.get(&archive, None).await.status(), 200);
    let known = json!([{"origin": ORIGIN, "size": 0}]);
    let answer = mirror.index(json!({"names": ["waitlist"], "logs": known})).await;
    assert_eq!((answer.documents.len(), answer.views.len()), (1, 1));
    let state = mirror.get("/readyz", None).await;
    assert_eq!(state.status(), StatusCode::OK);
    assert!(state.text().await.unwrap().contains("\"stale\":true"));

    // Nobody knows whether there is one: that is no `missing`, and no 404.
    problem(mirror.get(&skill("absent"), None).await, 503, "unavailable").await;
    problem(mirror.get(&skill("other"), None).await, 503, "unavailable").await;
    let unknown = format!("/v1/archives/{}", other.digests.sha256.address());
    problem(mirror.get(&unknown, None).await, 503, "unavailable").await;
    let body = json!({"names": ["waitlist", "absent"]});
    let answer = mirror.send(reqwest::Method::POST, "/v1/index", None, &body).await;
    problem(answer, 503, "unavailable").await;

    // Left alone, it costs no request any wait.
    let start = Instant::now();
    for _ in 0..20 {
        problem(mirror.get(&skill("absent"), None).await, 503, "unavailable").await;
    }
    assert!(start.elapsed() < Duration::from_secs(2), "{:?}", start.elapsed());

    upstream.come_back().await;
    upstream.publish("waitlist", "1.1.0");
    let back = async {
        while mirror.mirror().refresh().await.is_err() {
            tokio::time::sleep(Duration::from_millis(100)).await;
        }
    };
    tokio::time::timeout(Duration::from_secs(20), back).await.unwrap();
    let answer = mirror.get(&skill("waitlist"), None).await;
    assert!(!answer.headers().contains_key("skillpkg-stale-since"));
    assert_eq!(mirror.document("waitlist").await.versions.len(), 2);
    assert_eq!(mirror.get("/readyz", None).await.status(), 204);
}

#[tokio::test]
async fn an_upstream_that_fails_is_as_one_that_is_gone() {
    let upstream = FakeUpstream::start().await;
    upstream.publish("waitlist", "1.0.0");
    let mirror = mirror(settings(&upstream.url())).await;
    mirror.document("waitlist").await;
    for status in [500, 502, 403, 429] {
        upstream.change(|content| content.refusal = Some(StatusCode::from_u16(status).unwrap()));
        assert_eq!(mirror.get(&skill("waitlist"), None).await.status(), 200);
        problem(mirror.get(&skill(&format!("absent{status}")), None).await, 503, "unavailable")
            .await;
    }
    upstream.change(|content| content.refusal = None);
}

#[tokio::test]
async fn a_mirror_that_never_met_its_upstream_serves_what_is_its_own() {
    let mut upstream = FakeUpstream::start().await;
    let url = upstream.url();
    upstream.vanish().await;
    let mirror = mirror(settings(&url)).await;
    let ana = mirror.author("ana").await;
    mirror.scope("own", &ana, false).await;
    mirror.published(&ana, "own/plan", "1.0.0").await;
    assert_eq!(mirror.document("own/plan").await.versions.len(), 1);
    problem(mirror.get(&skill("waitlist"), None).await, 503, "unavailable").await;
    problem(mirror.get("/relayed/log/checkpoint", None).await, 404, "not_found").await;
    assert!(mirror.get("/readyz", None).await.text().await.unwrap().contains("\"stale\":true"));
}

#[tokio::test]
async fn what_was_fetched_at_different_times_is_proven_together_after_upstream_is_gone() {
    let mut upstream = FakeUpstream::start().await;
    upstream.publish("waitlist", "1.0.0");
    let mirror = mirror(settings(&upstream.url())).await;
    let attended = mirror.mirror().clone();
    let attending = tokio::spawn(async move { attended.attend().await });
    mirror.document("waitlist").await;
    upstream.publish("other", "1.0.0");
    mirror.document("other").await;

    // Well before the interval, what is held is brought to one moment.
    let aligned = async {
        let moments = "SELECT COUNT(DISTINCT heads) FROM mirrored_skills";
        let database = &mirror.data().database;
        while sqlx::query_scalar::<_, i64>(moments).fetch_one(database.readers()).await.unwrap() > 1
        {
            tokio::time::sleep(Duration::from_millis(100)).await;
        }
    };
    tokio::time::timeout(Duration::from_secs(20), aligned).await.unwrap();
    attending.abort();
    upstream.vanish().await;
    let known = json!([{"origin": ORIGIN, "size": 0}]);
    let answer = mirror.index(json!({"names": ["waitlist", "other"], "logs": known})).await;
    assert_eq!((answer.documents.len(), answer.views.len()), (2, 1));
}
