use std::time::{Duration, Instant};

use axum::http::HeaderValue;

use super::server::{Answer, Server};
use super::{Bound, Fetched, UpstreamError, ask, fetch, upstream};

const KIBIBYTE: [u8; 1024] = [b'x'; 1024];

async fn answered(answer: Answer, bound: Bound) -> Result<String, UpstreamError> {
    let server = Server::start(vec![answer]).await;
    let start = Instant::now();
    let answered = fetch(&upstream(&server.url("a.test"), &["a.test"]), bound).await;
    assert!(start.elapsed() < Duration::from_secs(8), "{:?}", start.elapsed());
    answered
}

#[tokio::test]
async fn an_endless_answer_is_cut_at_the_bound_of_its_kind() {
    for (bound, limit) in [
        (Bound::TILE, 8_192),
        (Bound::CHECKPOINT, 16_384),
        (Bound::ENTRIES, 256 * 65_538),
        (Bound::DOCUMENT, 8 * 1024 * 1024),
        (Bound::declared(100_000), 100_000),
        (Bound::content(100_001), 100_001),
    ] {
        let endless =
            Answer::raw("HTTP/1.1 200 OK\r\n\r\n").then(&KIBIBYTE.repeat(64), Duration::ZERO);
        match answered(endless, bound).await {
            Err(UpstreamError::TooLong { limit: found, .. }) => assert_eq!(found, limit),
            other => panic!("{other:?}"),
        }
        // One that says how long it is, is not read at all.
        let said = format!("HTTP/1.1 200 OK\r\ncontent-length: {}\r\n\r\n", limit + 1);
        let said = answered(Answer::raw(said), bound).await;
        assert!(matches!(said, Err(UpstreamError::TooLong { .. })), "{said:?}");
    }
}

#[tokio::test]
async fn declared_content_is_exactly_as_long_as_declared() {
    assert_eq!(answered(Answer::ok("12345"), Bound::declared(5)).await, Ok("12345".into()));
    let short = answered(Answer::ok("1234"), Bound::declared(5)).await;
    assert!(matches!(short, Err(UpstreamError::TooShort { received: 4, .. })), "{short:?}");
    let cut = answered(
        Answer::raw("HTTP/1.1 200 OK\r\ncontent-length: 5\r\n\r\n1234"),
        Bound::declared(5),
    );
    assert!(matches!(cut.await, Err(UpstreamError::Unreachable { .. })));
}

#[tokio::test]
async fn what_comes_too_slowly_is_given_up() {
    let head = "HTTP/1.1 200 OK\r\ncontent-length: 1000000\r\n\r\n";
    let dripping = Answer::raw(head).then(b"x", Duration::from_millis(20));
    let slow = answered(dripping, Bound::declared(1_000_000)).await;
    assert!(matches!(slow, Err(UpstreamError::Slow { .. })), "{slow:?}");
    // Fast enough in each window, and yet for ever.
    let steady = Answer::raw(head).then(&KIBIBYTE, Duration::from_millis(50));
    let slow = answered(steady, Bound::declared(1_000_000)).await;
    assert!(matches!(slow, Err(UpstreamError::Slow { received: 5_000.., .. })), "{slow:?}");
}

#[tokio::test]
async fn a_head_that_does_not_come_or_does_not_end_is_given_up() {
    let silent = answered(Answer::raw("").then(b"", Duration::ZERO), Bound::DOCUMENT).await;
    assert!(silent.is_err());
    let dripping = Answer::raw("HTTP/1.1 200 OK\r\n").then(b"a: b\r\n", Duration::from_millis(20));
    let silent = answered(dripping, Bound::DOCUMENT).await;
    assert!(matches!(silent, Err(UpstreamError::Silent { .. })), "{silent:?}");
    let flooding = Answer::raw("HTTP/1.1 200 OK\r\n").then(&KIBIBYTE.repeat(64), Duration::ZERO);
    let flooded = answered(flooding, Bound::DOCUMENT).await;
    assert!(flooded.unwrap_err().is_outage());
}

#[tokio::test]
async fn content_is_written_from_the_start_of_its_file_also_where_it_broke_before() {
    let broken = Answer::raw("HTTP/1.1 200 OK\r\ncontent-length: 9\r\n\r\nxxxxxxxx");
    let server = Server::start(vec![broken, Answer::ok("123456789")]).await;
    let upstream = upstream(&server.url("a.test"), &["a.test"]);
    let directory = tempfile::tempdir().unwrap();
    let path = directory.path().join("content");
    let mut file = tokio::fs::File::create_new(&path).await.unwrap();
    let length = upstream.download(&ask(&upstream, "x"), Bound::declared(9), &mut file).await;
    assert_eq!(length, Ok(9));
    assert_eq!(std::fs::read(&path).unwrap(), b"123456789");
}

#[tokio::test]
async fn what_is_unchanged_is_not_sent_again_and_nothing_else_counts_as_unchanged() {
    let tagged = Answer::new("200 OK", "etag: \"a\"\r\n", "body");
    let unchanged = Answer::raw("HTTP/1.1 304 Not Modified\r\netag: \"a\"\r\n\r\n");
    let server = Server::start(vec![tagged, unchanged]).await;
    let upstream = upstream(&server.url("a.test"), &["a.test"]);
    let first = upstream.fetch(&ask(&upstream, "x"), Bound::DOCUMENT).await.unwrap();
    let Fetched::Body { etag, .. } = first else { panic!("{first:?}") };
    assert_eq!(etag, Some(HeaderValue::from_static("\"a\"")));
    let again = ask(&upstream, "x").unless(etag);
    assert_eq!(upstream.fetch(&again, Bound::DOCUMENT).await, Ok(Fetched::Unchanged));
    assert!(server.asked().last().unwrap().contains("if-none-match: \"a\""));
    // Asked for anyhow, it is no answer.
    let answered = upstream.fetch(&ask(&upstream, "x"), Bound::DOCUMENT).await;
    assert!(matches!(answered, Err(UpstreamError::Status { status: 304, .. })), "{answered:?}");
}

#[tokio::test]
async fn what_upstream_refuses_is_told_apart() {
    let problem = |status: &str, code: &str| {
        let body = format!(
            r#"{{"type":"urn:skillpkg:problem:{code}","title":"t","status":413,"code":"{code}","detail":"d"}}"#
        );
        Answer::new(status, "content-type: application/problem+json\r\n", &body)
    };
    let missing = answered(problem("404 Not Found", "not_found"), Bound::DOCUMENT).await;
    assert!(matches!(missing, Err(UpstreamError::NotFound { .. })), "{missing:?}");
    let looped = answered(problem("508 Loop Detected", "mirror_loop"), Bound::DOCUMENT).await;
    assert!(matches!(looped, Err(UpstreamError::Loop { .. })), "{looped:?}");
    let large = answered(problem("413 Too Large", "answer_too_large"), Bound::DOCUMENT).await;
    assert!(matches!(large, Err(UpstreamError::AnswerTooLarge { .. })), "{large:?}");
    let other = answered(problem("413 Too Large", "too_large"), Bound::DOCUMENT).await;
    assert!(matches!(other, Err(UpstreamError::Status { status: 413, .. })), "{other:?}");
    let partial = answered(Answer::new("206 Partial", "", "x"), Bound::DOCUMENT).await;
    assert!(matches!(partial, Err(UpstreamError::Status { status: 206, .. })), "{partial:?}");
}
