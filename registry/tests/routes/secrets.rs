//! A token that was issued is nowhere to be found but in the one answer that issued it.

use std::io::{Read as _, Write as _};
use std::net::TcpStream;
use std::path::Path;

use base64::Engine as _;
use base64::engine::general_purpose::STANDARD;
use reqwest::Method;
use serde_json::{Value, json};
use skillpkg_registry::access::TABLE;

use crate::commands::{self, Serving, author, registry_in};
use crate::support::{Skill, client};

/// Every file beneath a directory.
fn files(directory: &Path) -> Vec<std::path::PathBuf> {
    let mut found = Vec::new();
    for entry in std::fs::read_dir(directory).unwrap() {
        let path = entry.unwrap().path();
        if path.is_dir() { found.extend(files(&path)) } else { found.push(path) }
    }
    found
}

fn holds(bytes: &[u8], secret: &[u8]) -> bool {
    bytes.windows(secret.len()).any(|window| window == secret)
}

/// What of a secret must not be found, however it is written.
fn spellings(secret: &str) -> Vec<Vec<u8>> {
    let digits = secret.strip_prefix("skp_").unwrap();
    let raw = digits
        .as_bytes()
        .chunks(2)
        .map(|pair| u8::from_str_radix(std::str::from_utf8(pair).unwrap_or_default(), 16).unwrap());
    let raw: Vec<u8> = raw.collect();
    vec![
        digits.as_bytes().to_vec(),
        digits.to_uppercase().into_bytes(),
        STANDARD.encode(&raw).trim_end_matches('=').as_bytes().to_vec(),
        raw,
    ]
}

#[tokio::test]
async fn no_token_is_in_the_database_the_log_an_answer_or_the_counts() {
    let directory = tempfile::tempdir().unwrap();
    let (data, log) = (directory.path().join("data"), directory.path().join("log"));
    registry_in(&data).await;
    let ana = author(&data, "ana");
    let mut command = commands::command(&data, &["serve", "--listen", "127.0.0.1:0"]);
    command.env("RUST_LOG", "trace").stderr(std::fs::File::create(&log).unwrap());
    let serving = Serving::of(&mut command);
    let url = |path: &str| format!("{}{path}", serving.url);
    let packed = Skill::new("waitlist", "1.0.0").pack(&ana);
    let publish = client().put(url(&packed.path())).bearer_auth(&ana.token);
    let publish = ana.offer(publish).body(packed.archive.clone()).send().await.unwrap();
    assert_eq!(publish.status(), 201);
    let body = json!({"label": "ci", "grants": ["read"]}).to_string();
    let minted = client().post(url("/v1/tokens")).bearer_auth(&ana.token).body(body);
    let minted = minted.send().await.unwrap().bytes().await.unwrap();
    let minted: Value = serde_json::from_slice(&minted).unwrap();
    let minted = minted["secret"].as_str().unwrap().to_owned();
    let revoked = format!("skp_{}", "5e".repeat(32));

    // Every route by every token, valid or not, in each place where one may come: whatever becomes
    // of it, the answer does not hold it.
    let mut answers = Vec::new();
    for token in [&ana.token, &minted, &revoked] {
        for row in TABLE.iter().filter(|row| row.method != Method::DELETE) {
            let path: String = row
                .path
                .split('/')
                .map(|part| match part {
                    "{token}" => token.as_str(),
                    part if part.starts_with('{') => "waitlist",
                    part => part,
                })
                .collect::<Vec<_>>()
                .join("/");
            for (query, header) in [
                ("", format!("Bearer {token}")),
                ("", format!("bearer  {token}")),
                ("", format!("Basic {}", STANDARD.encode(format!("ana:{token}")))),
                ("", token.clone()),
            ] {
                let request = client().request(row.method.clone(), url(&format!("{path}{query}")));
                let request = request.header("authorization", header).body("{\"reason\":1}");
                let answer = request.send().await.unwrap();
                let headers = format!("{:?}", answer.headers());
                answers.extend(headers.into_bytes());
                answers.extend(answer.bytes().await.unwrap());
            }
        }
        // And requests that no client of ours makes.
        for head in [
            format!(
                "GET /v1/tokens/self HTTP/1.1\r\nhost: x\r\nauthorization: Bearer {token}\r\nauthorization: Bearer x\r\nconnection: close\r\n\r\n"
            ),
            format!(
                "GET /v1/keys HTTP/1.1\r\nhost: x\r\nauthorization: Bearer {token}\u{1}\r\nconnection: close\r\n\r\n"
            ),
            format!(
                "BREW /v1/keys HTTP/1.1\r\nhost: x\r\nauthorization: Bearer {token}\r\nconnection: close\r\n\r\n"
            ),
        ] {
            let address = serving.url.strip_prefix("http://").unwrap();
            let mut stream = TcpStream::connect(address).unwrap();
            stream.write_all(head.as_bytes()).unwrap();
            let _ = stream.read_to_end(&mut answers);
        }
    }
    let counts = client().get(url("/metrics")).bearer_auth(&ana.token).send().await.unwrap();
    answers.extend(counts.bytes().await.unwrap());
    assert!(holds(&answers, b"skillpkg_requests_total") && holds(&answers, b"invalid_request"));
    serving.kill();

    let told = std::fs::read(&log).unwrap();
    assert!(holds(&told, b"/v1/tokens/self"), "the log holds no requests");
    let mut places = vec![("the log".to_owned(), told), ("an answer".to_owned(), answers)];
    for file in files(&data) {
        places.push((file.display().to_string(), std::fs::read(&file).unwrap()));
    }
    let database = places.iter().find(|(place, _)| place.ends_with("registry.db")).unwrap();
    assert!(holds(&database.1, b"waitlist") || places.len() > 3, "the database is not read");
    for token in [&ana.token, &minted, &revoked] {
        for spelling in spellings(token) {
            for (place, bytes) in &places {
                assert!(!holds(bytes, &spelling), "a token is in {place}");
            }
        }
    }
}
