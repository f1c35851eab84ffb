use std::sync::Arc;
use std::sync::atomic::Ordering;
use std::time::Duration;

use tokio::net::TcpListener;

use super::server::{Answer, Server};
use super::{Bound, Upstream, UpstreamError, ask, fetch, impatient, names, upstream};

#[tokio::test]
async fn what_may_pass_is_tried_three_times_and_what_may_not_once() {
    for (status, times) in [
        ("502 Bad Gateway", 3),
        ("503 Unavailable", 3),
        ("504 Timeout", 3),
        ("500 Failed", 1),
        ("429 Too Many", 1),
        ("404 Not Found", 1),
        ("403 Forbidden", 1),
    ] {
        let server = Server::start(vec![Answer::new(status, "", "")]).await;
        let answered = fetch(&upstream(&server.url("a.test"), &["a.test"]), Bound::DOCUMENT).await;
        assert!(answered.is_err());
        assert_eq!(server.asked().len(), times, "{status}");
    }
    for (header, seconds) in [
        ("", 1),
        ("retry-after: 7\r\n", 7),
        ("retry-after: 99999\r\n", 60),
        ("retry-after: x\r\n", 1),
    ] {
        let server = Server::start(vec![Answer::new("429 Too Many", header, "")]).await;
        let answered = fetch(&upstream(&server.url("a.test"), &["a.test"]), Bound::DOCUMENT).await;
        let Err(UpstreamError::Busy { wait, .. }) = answered else { panic!("{answered:?}") };
        assert_eq!(wait.as_secs(), seconds, "{header}");
    }
    let server = Server::start(vec![Answer::raw(""), Answer::ok("back")]).await;
    let upstream = upstream(&server.url("a.test"), &["a.test"]);
    assert_eq!(fetch(&upstream, Bound::DOCUMENT).await, Ok("back".into()));
}

#[tokio::test]
async fn an_upstream_that_is_gone_is_left_alone_and_one_request_finds_it_again() {
    // A port that nothing listens on: bound, and let go.
    let gone = TcpListener::bind("127.0.0.1:0").await.unwrap();
    let address = gone.local_addr().unwrap();
    drop(gone);
    let upstream = upstream(&format!("http://a.test:{}/", address.port()), &["a.test"]);
    for _ in 0..3 {
        let failed = fetch(&upstream, Bound::DOCUMENT).await.unwrap_err();
        assert!(matches!(failed, UpstreamError::Unreachable { .. }), "{failed}");
    }
    assert!(upstream.is_paused());
    let paused = fetch(&upstream, Bound::DOCUMENT).await.unwrap_err();
    let UpstreamError::Paused { wait, .. } = paused else { panic!("{paused}") };
    // It is there again, and is asked by one request alone.
    let listener = TcpListener::bind(address).await.unwrap();
    let server = tokio::spawn(async move {
        let router = axum::Router::new().fallback(async || "here");
        let _ = axum::serve(listener, router).await;
    });
    tokio::time::sleep(wait + Duration::from_millis(50)).await;
    let all = (0..8).map(|_| fetch(&upstream, Bound::DOCUMENT));
    let all = futures_util::future::join_all(all).await;
    assert_eq!(all.iter().filter(|answered| answered.is_ok()).count(), 1, "{all:?}");
    assert_eq!(fetch(&upstream, Bound::DOCUMENT).await, Ok("here".into()));
    server.abort();
}

#[tokio::test]
async fn what_upstream_says_is_no_outage() {
    let server = Server::start(vec![Answer::new("404 Not Found", "", "")]).await;
    let upstream = upstream(&server.url("a.test"), &["a.test"]);
    for _ in 0..6 {
        let missing = fetch(&upstream, Bound::DOCUMENT).await.unwrap_err();
        assert!(matches!(missing, UpstreamError::NotFound { .. }), "{missing}");
    }
    assert_eq!(server.asked().len(), 6);
}

#[tokio::test]
async fn a_name_is_resolved_once_a_connection() {
    let server = Server::start(vec![Answer::ok("hello")]).await;
    let names = names();
    let allowed = ["a.test".parse::<super::super::hosts::HostName>().unwrap()];
    let upstream = Upstream::resolving_by(
        Arc::new(Arc::clone(&names)),
        server.url("a.test").parse().unwrap(),
        allowed.into_iter().collect(),
        impatient(),
    )
    .unwrap();
    for asked in 1..4 {
        // The server ends each connection with its answer.
        upstream.fetch(&ask(&upstream, "x"), Bound::DOCUMENT).await.unwrap();
        assert_eq!(names.asked.load(Ordering::SeqCst), asked);
    }
}
