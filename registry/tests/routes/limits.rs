//! Bodies that are too long, too slow or cut short.

use std::time::Duration;

use bytes::Bytes;
use reqwest::{Method, Response};
use skillpkg_registry::skills::publish::Pace;
use skillpkg_registry::state::Options;
use tokio::io::AsyncWriteExt as _;
use tokio::net::TcpStream;

use crate::support::{Author, Skill, TestRegistry, problem};

#[tokio::test]
async fn a_body_over_its_limit_is_refused_before_it_is_read() {
    let registry = TestRegistry::start().await;
    let ana = registry.author("ana").await;
    let token = &ana.token;
    for length in [50_u64 * 1024 * 1024 + 1, u64::from(u32::MAX), u64::MAX / 2] {
        let head = format!(
            "PUT /v1/skills/_/w/1.0.0 HTTP/1.1\r\nhost: x\r\nconnection: close\r\nauthorization: Bearer {token}\r\ncontent-length: {length}\r\n\r\n"
        );
        let answer = registry.raw(&head, b"x").await;
        assert!(answer.starts_with("HTTP/1.1 413"), "{length}: {answer}");
        assert!(answer.contains("\"code\":\"too_large\""), "{answer}");
    }
    for length in ["18446744073709551616", "18446744073709551615", "-1", "1, 2", "x"] {
        let head = format!(
            "POST /v1/index HTTP/1.1\r\nhost: x\r\nconnection: close\r\ncontent-length: {length}\r\n\r\n"
        );
        let answer = registry.raw(&head, b"x").await;
        assert!(answer.starts_with("HTTP/1.1 4"), "{length}: {answer}");
    }
    registry.eventually_tidy().await;
}

#[tokio::test]
async fn a_body_without_a_length_is_cut_at_the_limit() {
    let registry = TestRegistry::start().await;
    let ana = registry.author("ana").await;
    let piece = Bytes::from(vec![7; 1024 * 1024]);
    let endless = futures_util::stream::repeat(Ok::<Bytes, std::convert::Infallible>(piece));
    let request = registry.request(Method::PUT, "/v1/skills/_/w/1.0.0", Some(&ana.token));
    let answer = request.body(reqwest::Body::wrap_stream(endless)).send().await;
    problem(answer.unwrap(), 413, "too_large").await;
    registry.eventually_tidy().await;
}

#[tokio::test]
async fn whoever_sends_all_of_a_body_before_it_reads_is_told_why_nobody_wanted_it() {
    let registry = TestRegistry::start().await;
    let ana = registry.author("ana").await;
    let ben = registry.author("ben").await;
    registry.published(&ana, "waitlist", "1.0.0").await;
    let mebibyte = 1024 * 1024;
    for (path, token, length, status, code) in [
        ("/v1/skills/_/w/1.0.0", ben.token.as_str(), 50 * mebibyte + 1, 413, "too_large"),
        ("/v1/skills/_/waitlist/2.0.0", &ben.token, 40 * mebibyte, 403, "not_an_owner"),
        ("/v1/skills/_/w/1.0.0", "skp_stranger", 6 * mebibyte, 401, "unauthorized"),
        ("/v1/index", &ben.token, 6 * mebibyte, 413, "too_large"),
        ("/elsewhere", &ben.token, 6 * mebibyte, 404, "not_found"),
    ] {
        let method = if path == "/v1/index" { "POST" } else { "PUT" };
        let head = format!(
            "{method} {path} HTTP/1.1\r\nhost: x\r\nconnection: close\r\nauthorization: Bearer {token}\r\ncontent-length: {length}\r\n\r\n"
        );
        let answer = registry.raw(&head, &vec![7; length]).await;
        assert!(answer.starts_with(&format!("HTTP/1.1 {status} ")), "{path}: {answer}");
        assert!(answer.contains(&format!("\"code\":\"{code}\"")), "{path}: {answer}");
    }
    registry.eventually_tidy().await;
}

#[tokio::test]
async fn a_body_shorter_than_it_says_publishes_nothing() {
    let registry = TestRegistry::start().await;
    let ana = registry.author("ana").await;
    let packed = Skill::new("w", "1.0.0").pack(&ana);
    let head = format!(
        "PUT /v1/skills/_/w/1.0.0 HTTP/1.1\r\nhost: x\r\nconnection: close\r\nauthorization: Bearer {}\r\ncontent-length: {}\r\n\r\n",
        ana.token,
        packed.archive.len() + 1
    );
    let address = registry.url.strip_prefix("http://").unwrap();
    let mut stream = TcpStream::connect(address).await.unwrap();
    stream.write_all(head.as_bytes()).await.unwrap();
    stream.write_all(&packed.archive).await.unwrap();
    drop(stream);
    tokio::time::sleep(Duration::from_millis(50)).await;
    assert_eq!(registry.get("/v1/skills/_/w", None).await.status(), 404);
    registry.eventually_tidy().await;
}

#[tokio::test]
async fn a_body_that_comes_too_slowly_is_refused() {
    let pace = Pace { grace: Duration::from_millis(300), ..Pace::default() };
    let registry = TestRegistry::start_with(Options { pace, ..Options::default() }).await;
    let ana = registry.author("ana").await;
    problem(drops(&registry, &ana).await, 408, "timeout").await;
    registry.eventually_tidy().await;
}

/// The answer to an upload of a byte now and then, without an end.
async fn drops(registry: &TestRegistry, author: &Author) -> Response {
    let drops = futures_util::stream::unfold((), |()| async {
        tokio::time::sleep(Duration::from_millis(50)).await;
        Some((Ok::<Bytes, std::io::Error>(Bytes::from_static(b"x")), ()))
    });
    let request = registry.request(Method::PUT, "/v1/skills/_/w/1.0.0", Some(&author.token));
    request.body(reqwest::Body::wrap_stream(drops)).send().await.unwrap()
}

#[tokio::test]
async fn a_body_that_is_fast_enough_still_ends_in_time() {
    let longest = Duration::from_millis(300);
    let pace = Pace { grace: Duration::from_mins(1), longest, ..Pace::default() };
    let registry = TestRegistry::start_with(Options { pace, ..Options::default() }).await;
    let ana = registry.author("ana").await;
    problem(drops(&registry, &ana).await, 408, "timeout").await;
}

#[tokio::test]
async fn slow_uploads_of_one_account_keep_no_other_from_publishing() {
    let options = Options {
        uploads: 3,
        uploads_per_account: 2,
        patience: Duration::from_secs(1),
        ..Options::default()
    };
    let registry = TestRegistry::start_with(options).await;
    let (ana, ben) = (registry.author("ana").await, registry.author("ben").await);
    let slow = async {
        let first_answer = tokio::select! {
            answer = drops(&registry, &ana) => answer,
            answer = drops(&registry, &ana) => answer,
            answer = drops(&registry, &ana) => answer,
            answer = drops(&registry, &ana) => answer,
        };
        assert!(first_answer.headers().contains_key("retry-after"));
        problem(first_answer, 503, "unavailable").await;
    };
    let honest = async {
        tokio::time::sleep(Duration::from_millis(500)).await;
        registry.published(&ben, "w", "1.0.0").await;
    };
    tokio::join!(slow, honest);
}

#[tokio::test]
async fn new_names_are_taken_so_many_an_hour() {
    let options = Options { new_names_per_hour: 2, ..Options::default() };
    let registry = TestRegistry::start_with(options).await;
    let ana = registry.author("ana").await;
    registry.published(&ana, "one", "1.0.0").await;
    registry.published(&ana, "two", "1.0.0").await;
    let refused = registry.publish(&ana, &Skill::new("three", "1.0.0").pack(&ana)).await;
    assert!(refused.headers().contains_key("retry-after"));
    problem(refused, 429, "rate_limited").await;
    registry.published(&ana, "two", "1.1.0").await;
    let ben = registry.author("ben").await;
    registry.published(&ben, "three", "1.0.0").await;
}

#[tokio::test]
async fn names_in_a_scope_of_ones_own_are_not_counted() {
    let options = Options { new_names_per_hour: 1, ..Options::default() };
    let registry = TestRegistry::start_with(options).await;
    let ana = registry.author("ana").await;
    registry.scope("team", &ana, false).await;
    for name in ["team/one", "team/two", "team/three", "bare"] {
        registry.published(&ana, name, "1.0.0").await;
    }
    let refused = registry.publish(&ana, &Skill::new("other", "1.0.0").pack(&ana)).await;
    problem(refused, 429, "rate_limited").await;
}

#[tokio::test]
async fn no_bound_of_new_names_is_any_number_of_them() {
    let options = Options { new_names_per_hour: 0, ..Options::default() };
    let registry = TestRegistry::start_with(options).await;
    let ana = registry.author("ana").await;
    for name in ["one", "two", "three"] {
        registry.published(&ana, name, "1.0.0").await;
    }
}

#[tokio::test]
async fn who_takes_hundreds_of_new_names_at_once_is_told_to_wait_and_what_an_operator_can_do() {
    let registry = TestRegistry::start().await;
    let ana = registry.author("ana").await;
    registry.published(&ana, "first", "1.0.0").await;
    // Three hundred more within ten minutes: those that fit, as if they had been published.
    let most = Options::default().new_names_per_hour;
    assert!(most < 300);
    let mut write = registry.data().database.write().await.unwrap();
    for at in 1..most {
        let created = skillpkg_registry::clock::seconds_ago(600 - at);
        sqlx::query(
            "INSERT INTO skills (scope_id, name, collision_key, creator_id, created)
             SELECT 1, $1, $1, id, $2 FROM accounts WHERE name = 'ana'",
        )
        .bind(format!("skill-{at}"))
        .bind(created)
        .execute(&mut *write)
        .await
        .unwrap();
    }
    write.commit().await.unwrap();
    for at in most..300 {
        let path = format!("/v1/skills/_/skill-{at}/1.0.0");
        let request = registry.request(Method::PUT, &path, Some(&ana.token)).body("no archive");
        let refused = request.send().await.unwrap();
        let wait: u32 = refused.headers()["retry-after"].to_str().unwrap().parse().unwrap();
        assert!((2_900..=3_060).contains(&wait), "{wait}");
        let refused = problem(refused, 429, "rate_limited").await;
        assert!(refused.detail.contains("--new-names-per-hour"), "{}", refused.detail);
    }
    // What is there goes on.
    registry.published(&ana, "first", "1.1.0").await;
}

#[tokio::test]
async fn a_database_that_another_holds_answers_unavailable() {
    let registry = TestRegistry::start().await;
    let ana = registry.author("ana").await;
    registry.published(&ana, "w", "1.0.0").await;
    let directory = registry.data().temporary().parent().unwrap().to_owned();
    let other = crate::bucket::places(&directory);
    let other = skillpkg_registry::data::Data::open(other).await.unwrap();
    let held = other.database.write().await.unwrap();
    let refused = registry.publish(&ana, &Skill::new("w", "1.1.0").pack(&ana)).await;
    assert!(refused.headers().contains_key("retry-after"));
    problem(refused, 503, "unavailable").await;
    // Reads go on.
    assert_eq!(registry.get("/v1/skills/_/w", None).await.status(), 200);
    drop(held);
    tokio::time::sleep(Duration::from_millis(50)).await;
    registry.published(&ana, "w", "1.1.0").await;
}

#[tokio::test]
async fn who_sends_much_and_is_refused_reads_why() {
    let registry = TestRegistry::start().await;
    let ana = registry.author("ana").await;
    let body = vec![7; 8 * 1024 * 1024];
    let request = registry.request(Method::PUT, "/v1/skills/acme/w/1.0.0", Some(&ana.token));
    let refused = request.body(body.clone()).send().await.unwrap();
    problem(refused, 403, "scope_refused").await;
    let request = registry.request(Method::PUT, "/v1/skills/acme/w/1.0.0", None);
    let refused = request.body(body[..1_000_000].to_vec()).send().await.unwrap();
    problem(refused, 401, "unauthorized").await;
}
