//! The pages in the table of access.

use std::collections::BTreeSet;

use reqwest::Method;
use skillpkg_registry::access::{Surface, TABLE};

use super::{Browser, Got};
use crate::support::{OpenAndSecret, TestRegistry};

const ROUTER: &str = include_str!("../../../src/web/mod.rs");

#[test]
fn the_table_and_the_router_have_the_same_pages() {
    let routed: BTreeSet<(String, String)> = ROUTER
        .lines()
        .filter_map(|line| line.trim().strip_prefix(".route(\"")?.split_once('"'))
        .flat_map(|(path, handlers)| {
            let methods = [("get(", Method::GET), ("post(", Method::POST)];
            let found = methods.into_iter().filter(|(call, _)| handlers.contains(call));
            found.map(|(_, method)| (method.to_string(), path.to_owned())).collect::<Vec<_>>()
        })
        .collect();
    let rows = TABLE.iter().filter(|row| row.surface == Surface::Page);
    let table: BTreeSet<(String, String)> =
        rows.map(|row| (row.method.to_string(), row.path.to_owned())).collect();
    assert!(routed.len() > 10);
    assert_eq!(routed, table);
}

/// Each page that names something, about what is public, private, absent and of no scope.
fn paths(scope: &str, name: &str) -> Vec<String> {
    let rows =
        TABLE.iter().filter(|row| row.surface == Surface::Page && row.path.contains("{name}"));
    let mut paths: Vec<String> = rows
        .filter(|row| row.path.starts_with("/skills/"))
        .map(|row| {
            row.path
                .replace("{scope}", scope)
                .replace("{name}", name)
                .replace("{version}", "1.0.0")
                .replace("{*path}", "SKILL.md")
                .replace("/diff/{from}/{to}", "/diff/1.0.0/1.0.0")
        })
        .map(
            |path| {
                if path.ends_with("/diff") { format!("{path}?from=1.0.0&to=1.0.0") } else { path }
            },
        )
        .collect();
    if scope != "_" {
        paths.push(format!("/scopes/{scope}"));
    }
    paths
}

#[tokio::test]
async fn every_page_is_seen_by_whom_the_table_says_and_by_nobody_else() {
    let OpenAndSecret { registry, owner, reader, stranger, .. } = OpenAndSecret::start().await;
    let read = registry.token(&owner, &["read"]).await;
    let browsers = [
        ("nobody", Browser::new(&registry), false),
        ("stranger", Browser::signed_in(&registry, &stranger.token).await, false),
        ("reader", Browser::signed_in(&registry, &reader.token).await, true),
        ("owner", Browser::signed_in(&registry, &owner.token).await, true),
        ("read", Browser::signed_in(&registry, &read).await, true),
    ];
    let mut asked = 0;
    for (who, browser, sees) in &browsers {
        for (scope, name, is_there, is_private) in [
            ("_", "open", true, false),
            ("secret", "plan", true, true),
            ("secret", "none", false, true),
            ("nobody", "none", false, true),
        ] {
            for path in paths(scope, name) {
                let is_scope = path.starts_with("/scopes/");
                let is_there = is_there || (is_scope && scope == "secret");
                let expected =
                    if is_there && (!is_private || *sees) { [200, 303] } else { [404, 404] };
                let got = browser.get(&path).await;
                assert!(
                    expected.contains(&got.status),
                    "{who} {path}: {} {}",
                    got.status,
                    got.text
                );
                asked += 1;
            }
        }
        // The token itself is no credential of a page.
        let token = &owner.token;
        let bearer =
            browser.request("/skills/secret/plan").bearer_auth(token).send().await.unwrap();
        assert_eq!(bearer.status().as_u16(), if *sees { 200 } else { 404 }, "{who}");
        let query =
            browser.get(&format!("/skills/secret/plan?token={token}&access_token={token}")).await;
        assert_eq!(query.status, if *sees { 200 } else { 404 }, "{who}");
    }
    for name in ["skillpkg-session", "session", "token", "skillpkg"] {
        let mut browser = Browser::new(&registry);
        browser.cookie = Some(format!("{name}={}", owner.token));
        assert_eq!(browser.get("/skills/secret/plan").await.status, 404, "{name}");
    }
    assert!(asked > 100, "{asked}");
}

#[tokio::test]
async fn the_cookie_of_a_session_is_no_credential_of_the_api() {
    let registry = TestRegistry::start().await;
    let owner = registry.author("owner").await;
    registry.scope("secret", &owner, true).await;
    registry.published(&owner, "secret/plan", "1.0.0").await;
    let browser = Browser::signed_in(&registry, &owner.token).await;
    assert_eq!(browser.get("/skills/secret/plan").await.status, 200);
    assert_eq!(browser.get("/v1/skills/secret/plan").await.status, 404);
    for path in ["/v1/tokens/self", "/v1/tokens", "/v1/keys", "/v1/invitations", "/metrics"] {
        assert_eq!(browser.get(path).await.status, 401, "{path}");
    }
    let found = browser.get("/v1/search?q=plan").await;
    assert!(found.text.contains("\"total\":0"), "{}", found.text);
}

#[tokio::test]
async fn a_session_ends_with_its_token() {
    let registry = TestRegistry::start().await;
    let owner = registry.author("owner").await;
    registry.scope("secret", &owner, true).await;
    registry.published(&owner, "secret/plan", "1.0.0").await;
    let token = registry.token(&owner, &["read"]).await;
    let browser = Browser::signed_in(&registry, &token).await;
    assert_eq!(browser.get("/skills/secret/plan").await.status, 200);
    let database = &registry.data().database;
    let tokens = skillpkg_registry::accounts::tokens::list_of(database, "owner").await.unwrap();
    let id = &tokens.iter().find(|token| token.label == "test").unwrap().id;
    skillpkg_registry::accounts::tokens::revoke_any(database, id).await.unwrap();
    tokio::time::sleep(std::time::Duration::from_millis(1_100)).await;
    assert_eq!(browser.get("/skills/secret/plan").await.status, 404);
    let open = browser.get("/").await;
    assert!(open.text.contains("Sign in") && !open.text.contains("Sign out"));
}

/// What is written in the place of one part of a path.
fn evil() -> Vec<String> {
    let mut all: Vec<String> = [
        "..",
        "%2e%2e",
        "%252e%252e",
        "..%2f",
        "..%2f..%2fetc%2fpasswd",
        "..%5c",
        "%00",
        "%2f%2f",
        "%ff",
        "%e2%80%ae",
        "%3Cscript%3E",
        "a%0d%0aset-cookie:%20a=b",
        "-1",
        "99999999999999999999999",
        "%27%20OR%201=1",
    ]
    .map(str::to_owned)
    .into();
    all.push("a".repeat(5_000));
    all
}

#[tokio::test]
async fn no_part_of_the_path_of_a_page_reaches_beyond_it() {
    let registry = TestRegistry::start().await;
    let ana = registry.author("ana").await;
    registry.published(&ana, "open", "1.0.0").await;
    let browser = Browser::new(&registry);
    let good = |part: &str| match part {
        "{scope}" => "_",
        "{name}" => "open",
        "{account}" => "ana",
        "{index}" => "0",
        "{*path}" => "SKILL.md",
        other if other.starts_with('{') => "1.0.0",
        other => panic!("{other}"),
    };
    let mut asked = 0;
    for row in TABLE.iter().filter(|row| row.surface == Surface::Page && row.method == Method::GET)
    {
        let parts: Vec<&str> = row.path.split('/').collect();
        for at in (0..parts.len()).filter(|at| parts[*at].starts_with('{')) {
            for evil in evil() {
                let filled = parts.iter().enumerate().map(|(place, part)| match place {
                    _ if place == at => evil.clone(),
                    _ if part.starts_with('{') => good(part).to_owned(),
                    _ => (*part).to_owned(),
                });
                let path = filled.collect::<Vec<_>>().join("/");
                let head = format!("GET {path} HTTP/1.1\r\nhost: x\r\nconnection: close\r\n\r\n");
                let answer = registry.raw(&head, b"").await;
                let status = answer.get(9..12).unwrap_or_default();
                let shown = path.get(..80).unwrap_or(&path);
                assert!(["400", "404"].contains(&status), "{shown}: {answer}");
                for told in ["\u{202e}", "\u{0}", "root:", "<script>", "set-cookie: a"] {
                    assert!(!answer.contains(told), "{shown}: {answer}");
                }
                asked += 1;
            }
        }
    }
    assert!(asked > 200, "{asked}");
    let got: Got = browser.get("/skills/_/open").await;
    assert_eq!(got.status, 200);
}
