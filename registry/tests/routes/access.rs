//! Every route for every caller, held against one table.

mod expected;
mod stage;

use std::collections::{BTreeSet, HashSet};

use reqwest::header::HeaderMap;
use reqwest::{Method, Response, StatusCode};
use skillpkg_registry::access::{Need, Row, Surface, TABLE};

use crate::support::TestRegistry;
use expected::{expected, outcome};
use stage::{Target, stage, with};

/// The rows of the API; those of pages are walked in `pages/table.rs`.
fn rows() -> impl Iterator<Item = &'static Row> {
    TABLE.iter().filter(|row| row.surface == Surface::Api)
}

#[tokio::test]
async fn every_route_decides_as_the_table_says() {
    let stage = stage().await;
    let names: Vec<&str> = stage.callers.0.iter().map(|(name, _)| *name).collect();
    let mut asked = HashSet::new();
    for row in rows() {
        for (target, packed) in &stage.targets {
            let Some(expected) = expected(row, *target, &names) else {
                let about_a_skill = !matches!(
                    row.need,
                    Need::Nothing | Need::Token | Need::Admin | Need::PublishSome
                );
                assert!(!about_a_skill || row.need == Need::Nothing, "{row:?} {target:?}");
                continue;
            };
            asked.insert((row.need, *target));
            let nowhere = stage.nowhere.iter().map(|caller| (caller, expected[0]));
            let callers = stage.callers.0.iter().zip(expected.iter().copied());
            for ((caller, credential), expected) in callers.chain(nowhere) {
                let request = stage.request(&row.method, row.path, packed);
                let response = with(credential, request).send().await.unwrap();
                let found = outcome(row.path, packed, response).await;
                let what = format!("{} {} {target:?} {caller}", row.method, row.path);
                assert_eq!(found, expected, "{what}");
            }
        }
    }
    assert_eq!(asked.len(), expected::rows(), "a row of the table is no route's");
}

/// Status, headers and body, without what differs from one request to the next.
async fn whole(response: Response) -> (u16, HeaderMap, Vec<u8>) {
    let status = response.status().as_u16();
    let mut headers = response.headers().clone();
    for changing in ["date", "x-request-id"] {
        headers.remove(changing);
    }
    (status, headers, response.bytes().await.unwrap().to_vec())
}

/// Whether a row is about one thing that may be hidden: of the others the answer says itself what
/// it leaves out.
fn is_about_one(need: Need, path: &str) -> bool {
    let about = [
        Need::Read,
        Need::ReadByPath,
        Need::Yank,
        Need::ManageOwners,
        Need::ManagePublishers,
        Need::ReadScope,
        Need::ManageScope,
    ];
    about.contains(&need) && path.contains('{')
}

#[tokio::test]
async fn on_every_route_the_hidden_answers_byte_for_byte_as_the_absent() {
    let stage = stage().await;
    let packed = |wanted| {
        let found = stage.targets.iter().find(|(target, _)| *target == wanted);
        &found.unwrap().1
    };
    let [private, no_scope] = [packed(Target::Private), packed(Target::NoScope)];
    let mut compared = 0;
    for row in rows().filter(|row| is_about_one(row.need, row.path)) {
        for (caller, credential) in stage.callers.0.iter().chain(&stage.nowhere) {
            let answer = async |packed| {
                let request = stage.request(&row.method, row.path, packed);
                whole(with(credential, request).send().await.unwrap()).await
            };
            let hidden = answer(private).await;
            if hidden.0 == 404 {
                let what = format!("{} {} {caller}", row.method, row.path);
                assert_eq!(hidden, answer(no_scope).await, "{what}");
                compared += 1;
            }
        }
    }
    assert!(compared > 50, "{compared}");
}

#[tokio::test]
async fn on_every_route_what_a_token_gets_is_kept_by_no_shared_cache() {
    let stage = stage().await;
    let (_, owner) = &stage.callers.0[5];
    let (_, private) = &stage.targets[1];
    for row in rows().filter(|row| row.need != Need::Nothing) {
        let request = stage.request(&row.method, row.path, private);
        let answer = with(owner, request).send().await.unwrap();
        let what = format!("{} {}: {}", row.method, row.path, answer.status());
        // An answer without content to a request that changes something: no cache has it at all.
        if answer.status() == StatusCode::NO_CONTENT {
            assert!(row.changes(), "{what}");
            continue;
        }
        assert_eq!(answer.headers()["cache-control"], "private, no-store", "{what}");
        assert_eq!(answer.headers()["vary"], "authorization", "{what}");
        // And whoever asks without one afterwards is given nothing that was kept.
        let request = stage.request(&row.method, row.path, private);
        let answer = request.send().await.unwrap();
        assert_eq!(answer.headers()["cache-control"], "private, no-store", "{what}");
        assert!(is_about_one(row.need, row.path) <= answer.status().is_client_error(), "{what}");
    }
}

#[tokio::test]
async fn the_table_and_the_router_have_the_same_routes() {
    let registry = TestRegistry::start().await;
    let (_, document) = skillpkg_registry::routes::router(&registry.registry);
    let document = serde_json::to_value(&document).unwrap();
    let mut routed = BTreeSet::new();
    for (path, item) in document["paths"].as_object().unwrap() {
        for method in item.as_object().unwrap().keys() {
            if method != "parameters" {
                routed.insert((method.to_uppercase(), path.clone()));
            }
        }
    }
    let table: BTreeSet<(String, String)> =
        rows().map(|row| (row.method.to_string(), row.path.to_owned())).collect();
    assert_eq!(routed, table);
    assert_eq!(table.len(), rows().count(), "a row stands twice");
}

#[tokio::test]
async fn a_token_in_a_cookie_or_a_query_is_none() {
    let registry = TestRegistry::start().await;
    let ana = registry.author("ana").await;
    registry.scope("secret", &ana, true).await;
    registry.published(&ana, "secret/plan", "1.0.0").await;
    let token = &ana.token;
    let with_query = format!("/v1/skills/secret/plan?token={token}&access_token={token}");
    let in_query = registry.get(&with_query, None).await;
    assert_eq!(in_query.status(), 404);
    let request = registry.request(Method::GET, "/v1/skills/secret/plan", None);
    let in_cookie = request.header("cookie", format!("token={token}")).send().await.unwrap();
    assert_eq!(in_cookie.status(), 404);
    for scheme in ["Token", "Basic", "Digest", "Bearer,"] {
        let request = registry.request(Method::GET, "/v1/skills/secret/plan", None);
        let request = request.header("authorization", format!("{scheme} {token}"));
        assert_eq!(request.send().await.unwrap().status(), 401, "{scheme}");
    }
    let twice = registry.request(Method::GET, "/v1/skills/secret/plan", Some(token));
    let twice = twice.bearer_auth("skp_other").send().await.unwrap();
    assert_eq!(twice.status(), 401);
}

#[tokio::test]
async fn a_path_takes_its_methods_alone_and_no_other_path_is_there() {
    let registry = TestRegistry::start().await;
    for (method, path, status) in [
        (Method::PATCH, "/v1/keys", 405),
        (Method::POST, "/v1/skills/_/a", 405),
        (Method::OPTIONS, "/v1/index", 405),
        (Method::GET, "/other", 404),
        (Method::GET, "/v1", 404),
        (Method::GET, "/v1/", 404),
        (Method::GET, "/v1/skills/_", 404),
        (Method::GET, "/v1/skills/_/a/", 404),
        (Method::GET, "/v2/skills/_/a", 404),
    ] {
        let response = registry.request(method.clone(), path, None).send().await.unwrap();
        let kind = response.headers()["content-type"].clone();
        assert_eq!(
            (response.status().as_u16(), kind.as_bytes()),
            (status, &b"application/problem+json"[..]),
            "{method} {path}"
        );
        assert_eq!(response.headers().contains_key("allow"), status == 405, "{method} {path}");
    }
}
