use std::time::{Duration, Instant};

use skillpkg_schema::Sha256Digest;
use skillpkg_schema::wire::MAX_ANSWER_BYTES;

use super::server::{Answer, Server};
use super::{registry, registry_at};
use crate::Kind;

fn problem(status: &str, code: &str, detail: &str) -> Answer {
    let body = serde_json::json!({
        "type": format!("urn:skillpkg:problem:{code}"), "title": "T", "status": 400,
        "code": code, "detail": detail,
        "faults": [{"severity": "error", "code": "x", "message": "bad\u{1b}[2J", "hint": "h"}],
    });
    Answer::new(status, "application/problem+json", body.to_string())
}

#[tokio::test]
async fn a_problem_becomes_an_error_with_its_code_faults_and_hint() {
    for (status, code, expected, kind) in [
        ("401 Unauthorized", "unauthorized", "unauthorized", Kind::Refused),
        ("403 Forbidden", "not_an_owner", "not_an_owner", Kind::Refused),
        ("409 Conflict", "version_exists", "version_exists", Kind::Failed),
        ("422 Unprocessable Content", "\u{1b}[31m", "registry_refused", Kind::Failed),
    ] {
        let server = Server::start(vec![problem(status, code, "no\u{202e}pe\nsecond")]).await;
        let error = registry(&server).who_am_i().await.unwrap_err();
        assert_eq!((error.code.as_str(), error.kind), (expected, kind));
        assert_eq!(error.message, "no\\u{202e}pe\\nsecond");
        assert_eq!(error.faults[0].message, "bad\\u{1b}[2J");
        if kind == Kind::Refused && code == "unauthorized" {
            assert!(error.hint.unwrap().contains(&format!("--registry {}", server.url)));
        }
    }
}

#[tokio::test]
async fn what_is_not_there_is_none_for_a_document() {
    let server = Server::start(vec![problem("404 Not Found", "not_found", "nothing")]).await;
    let name = "acme/waitlist".parse().unwrap();
    assert_eq!(registry(&server).document(&name).await, Ok(None));
    assert_eq!(registry(&server).owners(&name).await.unwrap_err().code, "not_found");
}

#[tokio::test]
async fn a_name_is_never_the_nearest_to_itself() {
    let hits = |names: &[&str]| {
        let skills: Vec<_> = names
            .iter()
            .map(|name| serde_json::json!({"name": name, "version": "1.0.0", "description": "d", "capabilities": []}))
            .collect();
        Answer::json(&serde_json::json!({"skills": skills, "total": names.len()}).to_string())
    };
    let asked = "acme/waitlist".parse().unwrap();
    for (found, near) in [
        (&["acme/waitlist"][..], None),
        (&["acme/waitlist", "acme/waitlists"], Some("acme/waitlists")),
        (&["acme/other"], None),
    ] {
        let server = Server::start(vec![hits(found)]).await;
        assert_eq!(registry(&server).nearest(&asked).await.as_deref(), near, "{found:?}");
    }
}

#[tokio::test]
async fn an_index_that_is_too_large_is_asked_for_in_halves() {
    let large = || problem("413 Payload Too Large", "answer_too_large", "ask for half");
    let missing = |names: &[&str]| {
        Answer::json(&serde_json::json!({"documents": [], "missing": names}).to_string())
    };
    let names: Vec<skillpkg_schema::QualifiedName> =
        ["a", "b", "c"].iter().map(|name| name.parse().unwrap()).collect();
    let answers = vec![large(), missing(&["a"]), large(), missing(&["b"]), missing(&["c"])];
    let server = Server::start(answers).await;
    let answer = registry(&server).index(&names).await.unwrap();
    assert_eq!(answer.missing, names);

    let server = Server::start(vec![large()]).await;
    let alone = registry(&server).index(&names[..1]).await.unwrap_err();
    assert_eq!(alone.code, "answer_too_large");
}

#[tokio::test]
async fn an_answer_that_is_no_registrys_says_so() {
    let page = "<!doctype html><title>Sign in</title>";
    for (answer, code) in [
        (Answer::new("200 OK", "text/html; charset=utf-8", page), "not_a_registry"),
        (Answer::new("404 Not Found", "text/html", page), "not_a_registry"),
        (Answer::new("404 Not Found", "application/json", "{\"error\":\"x\"}"), "not_a_registry"),
        (Answer::new("501 Unsupported method ('POST')", "text/html", page), "not_a_registry"),
        (Answer::new("405 Method Not Allowed", "text/plain", "no"), "not_a_registry"),
        (Answer::new("502 Bad Gateway", "text/html", page), "registry_failed"),
        (Answer::new("401 Unauthorized", "text/html", page), "unauthorized"),
        (Answer::json("{\"account\": 7}"), "answer_invalid"),
        (Answer::json("{\"account\":"), "answer_invalid"),
        (Answer::json(&"[".repeat(100_000)), "answer_invalid"),
        (Answer::raw("SSH-2.0-OpenSSH_9.6\r\n\r\n"), "registry_unreachable"),
    ] {
        let server = Server::start(vec![answer]).await;
        let error = registry(&server).who_am_i().await.unwrap_err();
        assert_eq!(error.code, code, "{error}");
        assert!(error.message.contains(&server.url), "{error}");
        if code == "not_a_registry" {
            assert!(error.hint.unwrap().contains("check the URL"));
        }
    }
}

#[tokio::test]
async fn an_endless_answer_is_cut_at_its_limit() {
    let head = "HTTP/1.1 200 OK\r\ncontent-type: application/json\r\n";
    let announced = Answer::raw(format!("{head}content-length: {}\r\n\r\n", u64::MAX / 4));
    let piece = format!("{:x}\r\n{}\r\n", 1 << 20, " ".repeat(1 << 20)).into_bytes();
    let mut pieces = vec![format!("{head}transfer-encoding: chunked\r\n\r\n").into_bytes()];
    pieces.extend(vec![piece; 9]);
    let endless = Answer { pieces, pause: Duration::ZERO };
    // One that only says that it is too long is not waited for.
    let just_over = Answer::raw(format!("{head}content-length: {}\r\n\r\n", MAX_ANSWER_BYTES + 1));
    let digest = Sha256Digest::of(b"content").address();
    for answer in [announced, just_over, endless] {
        let server = Server::start(vec![answer]).await;
        let asked = registry(&server);
        let names = ["waitlist".parse().unwrap()];
        for (error, limit) in [
            (asked.who_am_i().await.unwrap_err(), MAX_ANSWER_BYTES),
            (asked.index(&names).await.unwrap_err(), MAX_ANSWER_BYTES),
            (asked.logs().await.unwrap_err(), MAX_ANSWER_BYTES),
            // A tile of hashes, and a checkpoint, have bounds of their own.
            (asked.log_file("log", "tile/0/000", 8_192).await.unwrap_err(), 8_192),
            (asked.log_file("log", "checkpoint", 16_384).await.unwrap_err(), 16_384),
            (asked.archive(&digest, 1_000).await.unwrap_err(), 1_000),
        ] {
            assert_eq!(error.code, "answer_too_long");
            assert!(error.message.contains(&limit.to_string()), "{limit}: {error}");
        }
    }
}

#[tokio::test]
async fn an_answer_that_trickles_or_stalls_is_given_up() {
    let head = b"HTTP/1.1 200 OK\r\ncontent-type: application/json\r\ncontent-length: 5000\r\n\r\n";
    let mut pieces = vec![head.to_vec()];
    pieces.extend(vec![b" ".to_vec(); 500]);
    let trickle = Answer { pieces, pause: Duration::from_millis(20) };
    let stalled = Answer { pieces: vec![head.to_vec()], pause: Duration::from_secs(20) };
    let silent = Answer { pieces: vec![Vec::new()], pause: Duration::from_secs(20) };
    let half = Answer { pieces: vec![head[..40].to_vec()], pause: Duration::from_secs(20) };
    // A byte of the head now and then: what has begun is not thereby answered.
    let letters = head.iter().map(|byte| vec![*byte]).collect();
    let letters = Answer { pieces: letters, pause: Duration::from_millis(100) };
    for (answer, mentions) in [
        (trickle, "too slowly"),
        (stalled, "too slowly"),
        (silent, "answer"),
        (half, "answer"),
        (letters, "answer"),
    ] {
        let server = Server::start(vec![answer]).await;
        let started = Instant::now();
        let error = registry(&server).who_am_i().await.unwrap_err();
        assert_eq!(error.code, "registry_timeout");
        assert!(error.message.contains(mentions), "{error}");
        assert!(started.elapsed() < Duration::from_secs(5));
    }
}

#[tokio::test]
async fn a_body_that_is_slow_but_not_too_slow_is_read() {
    let body = b"0123456789".repeat(10);
    let mut pieces = vec![b"HTTP/1.1 200 OK\r\ncontent-length: 1000\r\n\r\n".to_vec()];
    pieces.extend(vec![body.clone(); 10]);
    let server = Server::start(vec![Answer { pieces, pause: Duration::from_millis(50) }]).await;
    let whole = body.repeat(10);
    let address = Sha256Digest::of(&whole).address();
    assert_eq!(registry(&server).archive(&address, 1000).await.unwrap(), whole);
}

#[tokio::test]
async fn an_archive_is_exactly_as_long_and_exactly_what_its_digest_says() {
    let content = b"archive bytes";
    let address = Sha256Digest::of(content).address();
    for (body, code) in [
        (&content[..], None),
        (b"archive bytez", Some("digest_mismatch")),
        (b"archive byte", Some("answer_too_short")),
        (b"archive bytes!", Some("answer_too_long")),
        (b"", Some("answer_too_short")),
    ] {
        let server = Server::start(vec![Answer::new("200 OK", "application/x", body)]).await;
        let answer = registry(&server).archive(&address, content.len() as u64).await;
        assert_eq!(answer.as_ref().err().map(|error| error.code.as_str()), code);
        if code == Some("digest_mismatch") {
            assert_eq!(answer.unwrap_err().kind, Kind::Verification);
        }
    }
}

#[tokio::test]
async fn an_answer_that_ends_in_its_middle_is_told_from_a_registry_that_is_away() {
    let content = b"archive bytes";
    let address = Sha256Digest::of(content).address();
    let cut = "HTTP/1.1 200 OK\r\ncontent-type: application/x\r\ncontent-length: 13\r\n\r\narch";
    let url = crate::registry::tests::server::once(cut.as_bytes().to_vec()).await;
    let error = registry_at(&url, None).archive(&address, 13).await.unwrap_err();
    assert_eq!((error.code.as_str(), error.kind), ("answer_too_short", Kind::Failed));
    assert!(error.message.contains("the connection ended after 4 of 13 bytes"), "{error}");
    assert!(error.hint.unwrap().contains("nothing of it was used"));
}

#[tokio::test]
async fn an_answer_about_another_skill_is_refused() {
    let document = r#"{"name":"other","description":"d","versions":[],"keys":[]}"#;
    let server = Server::start(vec![Answer::json(document)]).await;
    let name = "waitlist".parse().unwrap();
    let error = registry(&server).document(&name).await.unwrap_err();
    assert_eq!((error.code.as_str(), error.kind), ("answer_mismatch", Kind::Verification));
    let index = format!("{{\"documents\":[{document}],\"missing\":[]}}");
    let server = Server::start(vec![Answer::json(&index)]).await;
    assert_eq!(registry(&server).index(&[name]).await.unwrap_err().code, "answer_mismatch");
}

#[tokio::test]
async fn nobody_there_is_told_with_the_url_and_the_cause() {
    let listener = tokio::net::TcpListener::bind("127.0.0.1:0").await.unwrap();
    let url = format!("http://{}", listener.local_addr().unwrap());
    drop(listener);
    let error = registry_at(&url, None).search("x", 1).await.unwrap_err();
    assert_eq!(error.code, "registry_unreachable");
    assert!(error.message.contains(&url) && error.message.contains("refused"), "{error}");
    let error = registry_at("http://registry.invalid", None).search("x", 1).await.unwrap_err();
    assert_eq!(error.code, "registry_unreachable");
}

#[tokio::test]
async fn the_warnings_of_a_publish_are_safe_to_print_and_may_be_absent() {
    let digest = "ab".repeat(32);
    let mut body = serde_json::json!({
        "name": "w", "version": "1.0.0", "address": format!("sha256:{digest}"),
        "blake3": format!("blake3:{digest}"), "archive": format!("sha256:{digest}"),
        "size": 7, "log_index": null, "created": true,
    });
    let (name, version) = ("w".parse().unwrap(), "1.0.0".parse().unwrap());
    let file = tempfile::NamedTempFile::new().unwrap();
    let server = Server::start(vec![Answer::json(&body.to_string())]).await;
    let answer = registry(&server).publish(&name, &version, file.path(), None, None).await.unwrap();
    assert_eq!(answer.warnings, []);
    let warning = serde_json::json!({
        "severity": "warning", "code": "x", "message": "m\u{1b}[2J", "file": "f\u{202e}",
    });
    body["warnings"] = vec![warning; 1_000].into();
    let server = Server::start(vec![Answer::json(&body.to_string())]).await;
    let answer = registry(&server).publish(&name, &version, file.path(), None, None).await.unwrap();
    assert_eq!(answer.warnings.len(), 100);
    assert_eq!(answer.warnings[0].message, "m\\u{1b}[2J");
    assert_eq!(answer.warnings[0].file.as_deref(), Some("f\\u{202e}"));
}
