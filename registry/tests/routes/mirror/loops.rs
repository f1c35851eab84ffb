//! Mirrors of mirrors.

use std::time::Duration;

use super::upstream::FakeUpstream;
use super::{mirror, settings, skill};
use crate::support::problem;

#[tokio::test]
async fn a_request_that_comes_back_is_refused() {
    let upstream = FakeUpstream::start().await;
    upstream.publish("waitlist", "1.0.0");
    let mirror = mirror(settings(&upstream.url())).await;
    mirror.document("waitlist").await;
    let id = upstream.headers()[0]["skillpkg-mirrored-by"].to_str().unwrap().to_owned();
    let ask = async |hops: &str| {
        let request = mirror.request(reqwest::Method::GET, &skill("absent"), None);
        request.header("skillpkg-mirrored-by", hops).send().await.unwrap()
    };
    problem(ask(&id).await, 508, "mirror_loop").await;
    problem(ask(&format!("0123456789abcdef, {id}")).await, 508, "mirror_loop").await;
    problem(ask("nobody").await, 400, "invalid_request").await;
    upstream.forget_asked();
    problem(ask("0123456789abcdef").await, 404, "not_found").await;
    let sent = upstream.headers()[0]["skillpkg-mirrored-by"].to_str().unwrap().to_owned();
    assert_eq!(sent, format!("0123456789abcdef, {id}"));
    let many = ["0123456789abcdef"; 9].join(", ");
    problem(ask(&many).await, 508, "mirror_loop").await;
}

#[tokio::test]
async fn an_upstream_that_tells_of_a_loop_is_not_asked_on_and_on() {
    let upstream = FakeUpstream::start().await;
    upstream.publish("waitlist", "1.0.0");
    let mirror = mirror(settings(&upstream.url())).await;
    mirror.document("waitlist").await;
    upstream.change(|content| content.refusal = reqwest::StatusCode::from_u16(508).ok());
    upstream.forget_asked();
    let answer = mirror.get(&skill("absent"), None).await;
    problem(answer, 508, "mirror_loop").await;
    assert_eq!(upstream.asked().len(), 1);
    // What is held is served all the same.
    let path = skill("waitlist");
    let held = mirror.get(&path, None);
    let held = tokio::time::timeout(Duration::from_secs(2), held).await.unwrap();
    assert_eq!(held.status(), 200);
}
