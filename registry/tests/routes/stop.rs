//! Stopping: requests that are under way end, and none begins.

use std::time::Duration;

use bytes::Bytes;
use reqwest::Method;

use crate::support::{Skill, TestRegistry};

#[tokio::test]
async fn a_publish_under_way_ends_and_no_new_request_is_taken() {
    let mut registry = TestRegistry::start().await;
    let ana = registry.author("ana").await;
    let packed = Skill::new("waitlist", "1.0.0").pack(&ana);
    // The body comes in two halves, the second after the server was told to stop.
    let (sender, receiver) = tokio::sync::oneshot::channel::<()>();
    let half = packed.archive.len() / 2;
    let (first, second) = (packed.archive[..half].to_vec(), packed.archive[half..].to_vec());
    let body = futures_util::stream::unfold((0, Some(receiver)), move |(at, receiver)| {
        let (first, second) = (first.clone(), second.clone());
        async move {
            match at {
                0 => Some((Ok::<Bytes, std::io::Error>(first.into()), (1, receiver))),
                1 => {
                    let _ = receiver?.await;
                    Some((Ok(second.into()), (2, None)))
                }
                _ => None,
            }
        }
    });
    let request = registry.request(Method::PUT, &packed.path(), Some(&ana.token));
    let request = ana.offer(request).body(reqwest::Body::wrap_stream(body));
    let publishing = tokio::spawn(request.send());
    tokio::time::sleep(Duration::from_millis(200)).await;
    let url = registry.url.clone();
    let client = registry.client.clone();
    let stopping = tokio::spawn(async move {
        registry.stop().await;
        registry
    });
    tokio::time::sleep(Duration::from_millis(100)).await;
    let refused = client.get(format!("{url}/healthz")).send().await;
    assert!(refused.is_err_and(|error| error.is_connect()));
    sender.send(()).unwrap();
    assert_eq!(publishing.await.unwrap().unwrap().status(), 201);
    stopping.await.unwrap();
}
