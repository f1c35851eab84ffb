//! Every route for every caller, held against one table.

use std::collections::{BTreeSet, HashMap};

use reqwest::header::HeaderMap;
use reqwest::{Method, RequestBuilder, Response, StatusCode};
use serde_json::{Value, json};
use skillpkg_registry::access::{Need, Row, Surface, TABLE};
use skillpkg_registry::accounts::scopes::Role;
use skillpkg_schema::QualifiedName;
use skillpkg_schema::wire::{
    Document, Effect, IndexAnswer, NewAdvisory, Problem, ProofsAnswer, SearchAnswer,
};

use crate::support::{self, Author, Packed, Skill, TestRegistry};

/// What each caller gets, in the order of [`Callers`]: `ok`; `un`, a token is needed; `lg`, the
/// token lacks the grant; `nf`, not found; `no`, not an owner; `sr`, the scope is refused.
const EXPECTED: &[(Need, Target, &str)] = &[
    //                               none revoked basic stranger reader owner read publish yank admin
    (
        Need::Nothing,
        Target::Public,
        "ok   ok      ok    ok       ok     ok    ok   ok      ok   ok",
    ),
    (
        Need::Read,
        Target::Public,
        "   ok   un      un    ok       ok     ok    ok   ok      ok   ok",
    ),
    (
        Need::Read,
        Target::Private,
        "  nf   un      un    nf       ok     ok    ok   nf      nf   nf",
    ),
    (
        Need::Read,
        Target::Absent,
        "   nf   un      un    nf       nf     nf    nf   nf      nf   nf",
    ),
    (
        Need::Read,
        Target::NoScope,
        "  nf   un      un    nf       nf     nf    nf   nf      nf   nf",
    ),
    (
        Need::Publish,
        Target::Public,
        "un   un      un    no       no     ok    lg   ok      lg   lg",
    ),
    (
        Need::Publish,
        Target::Private,
        "un  un      un    sr       no     ok    lg   ok      lg   lg",
    ),
    (
        Need::Publish,
        Target::Absent,
        "un   un      un    sr       sr     ok    lg   ok      lg   lg",
    ),
    (
        Need::Publish,
        Target::NoScope,
        "un  un      un    sr       sr     sr    lg   sr      lg   lg",
    ),
    (
        Need::Yank,
        Target::Public,
        "   un   un      un    no       no     ok    lg   lg      ok   lg",
    ),
    (
        Need::Yank,
        Target::Private,
        "  un   un      un    nf       no     ok    lg   lg      ok   lg",
    ),
    (
        Need::Yank,
        Target::Absent,
        "   un   un      un    nf       nf     nf    lg   lg      nf   lg",
    ),
    (
        Need::Yank,
        Target::NoScope,
        "  un   un      un    nf       nf     nf    lg   lg      nf   lg",
    ),
    (
        Need::ManageOwners,
        Target::Public,
        "un un   un    no       no     ok    lg   lg      lg   ok",
    ),
    (
        Need::ManageOwners,
        Target::Private,
        "un un  un    nf       no     ok    lg   lg      lg   ok",
    ),
    (
        Need::ManageOwners,
        Target::Absent,
        "un un   un    nf       nf     nf    lg   lg      lg   nf",
    ),
    (
        Need::ManageOwners,
        Target::NoScope,
        "un un  un    nf       nf     nf    lg   lg      lg   nf",
    ),
    // A bare name has no scope: whoever may ask is told that `_` is none.
    (
        Need::ReadScope,
        Target::Public,
        "un  un      un    ok       ok     ok    ok   ok      ok   ok",
    ),
    (
        Need::ReadScope,
        Target::Private,
        "un un      un    nf       ok     ok    ok   nf      nf   nf",
    ),
    (
        Need::ReadScope,
        Target::Absent,
        "un  un      un    nf       ok     ok    ok   nf      nf   nf",
    ),
    (
        Need::ReadScope,
        Target::NoScope,
        "un un      un    nf       nf     nf    nf   nf      nf   nf",
    ),
    (
        Need::ManageScope,
        Target::Public,
        "un un    un    ok       ok     ok    lg   lg      lg   ok",
    ),
    (
        Need::ManageScope,
        Target::Private,
        "un un   un    nf       no     ok    lg   lg      lg   ok",
    ),
    (
        Need::ManageScope,
        Target::Absent,
        "un un    un    nf       no     ok    lg   lg      lg   ok",
    ),
    (
        Need::ManageScope,
        Target::NoScope,
        "un un   un    nf       nf     nf    lg   lg      lg   nf",
    ),
    // The token stands in the path, and must grant `read` and nothing else.
    (
        Need::ReadByPath,
        Target::Public,
        "un   un      un    lg       lg     lg    ok   lg      lg   lg",
    ),
    (
        Need::ReadByPath,
        Target::Private,
        "un   un      un    lg       lg     lg    ok   lg      lg   lg",
    ),
    (
        Need::ReadByPath,
        Target::Absent,
        "un   un      un    lg       lg     lg    nf   lg      lg   lg",
    ),
    (
        Need::ReadByPath,
        Target::NoScope,
        "un   un      un    lg       lg     lg    nf   lg      lg   lg",
    ),
    (
        Need::PublishSome,
        Target::Public,
        "un   un      un    ok       ok     ok    lg   ok      lg   lg",
    ),
    (
        Need::Token,
        Target::Public,
        "  un   un      un    ok       ok     ok    ok   ok      ok   ok",
    ),
    (
        Need::Admin,
        Target::Public,
        "  un   un      un    ok       ok     ok    lg   lg      lg   ok",
    ),
];

#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
enum Target {
    /// A bare name, owned by the owner.
    Public,
    /// A name of a private scope, of which the owner and the reader are members.
    Private,
    /// A name that is not there, of that scope.
    Absent,
    /// A name of a scope that is not there.
    NoScope,
}

enum Credential {
    None,
    /// The token as the password of a name.
    Basic(String),
    Bearer(String),
    Cookie(String),
    Query(String),
}

struct Callers(Vec<(&'static str, Credential)>);

struct Stage {
    registry: TestRegistry,
    callers: Callers,
    /// The owner's token where none is read: as if there were none.
    nowhere: [(&'static str, Credential); 2],
    targets: Vec<(Target, Packed)>,
    /// The leaves of the targets that there are.
    leaves: HashMap<QualifiedName, u64>,
    /// Their advisories.
    advisories: HashMap<QualifiedName, String>,
    /// Leaves in the log.
    size: u64,
}

async fn stage() -> Stage {
    let registry = TestRegistry::start().await;
    let owner = registry.author("owner").await;
    let reader = registry.author("reader").await;
    let stranger = registry.author("stranger").await;
    registry.scope("secret", &owner, true).await;
    registry.member("secret", &reader, Role::Reader).await;
    let public = registry.published(&owner, "open", "1.0.0").await;
    let private = registry.published(&owner, "secret/plan", "1.0.0").await;
    let absent = Skill::new("secret/none", "1.0.0").pack(&owner);
    let no_scope = Skill::new("nobody/none", "1.0.0").pack(&owner);
    let revoked = registry.token(&owner, &["read", "admin", "publish:*", "yank:*"]).await;
    revoke(&registry, &owner).await;
    let only = async |grant| Credential::Bearer(registry.token(&owner, &[grant]).await);
    let nowhere = [
        ("cookie", Credential::Cookie(owner.token.clone())),
        ("query", Credential::Query(owner.token.clone())),
    ];
    let callers = Callers(vec![
        ("none", Credential::None),
        ("revoked", Credential::Bearer(revoked)),
        ("basic", Credential::Basic(owner.token.clone())),
        ("stranger", Credential::Bearer(stranger.token)),
        ("reader", Credential::Bearer(reader.token)),
        ("owner", Credential::Bearer(owner.token.clone())),
        ("read", only("read").await),
        ("publish", only("publish:*").await),
        ("yank", only("yank:*").await),
        ("admin", only("admin").await),
    ]);
    let targets = vec![
        (Target::Public, public),
        (Target::Private, private),
        (Target::Absent, absent),
        (Target::NoScope, no_scope),
    ];
    let mut leaves = HashMap::new();
    let mut advisories = HashMap::new();
    let new =
        NewAdvisory { versions: "*".to_owned(), effect: Effect::Warn, summary: "s".to_owned() };
    for (target, packed) in &targets[..2] {
        let path = format!(
            "/v1/skills/{}",
            if *target == Target::Public { "_/open" } else { "secret/plan" }
        );
        let document: Document =
            support::json(registry.get(&path, Some(&owner.token)).await, StatusCode::OK).await;
        leaves.insert(packed.manifest.name.clone(), document.versions[0].log_index.unwrap());
        let database = &registry.data().database;
        let advisory = skillpkg_registry::advisories::add(database, &packed.manifest.name, &new)
            .await
            .unwrap();
        advisories.insert(packed.manifest.name.clone(), advisory.id);
    }
    let size = registry.registry.log.moment().await.size();
    Stage { registry, callers, nowhere, targets, leaves, advisories, size }
}

/// Revokes the token that was minted last.
async fn revoke(registry: &TestRegistry, owner: &Author) {
    let database = &registry.data().database;
    let tokens =
        skillpkg_registry::accounts::tokens::list_of(database, &owner.account).await.unwrap();
    let minted = tokens.iter().find(|token| token.label == "test").unwrap();
    skillpkg_registry::accounts::tokens::revoke_any(database, &minted.id).await.unwrap();
}

impl Stage {
    /// The request of a route about a target, such that whoever may make it changes nothing that
    /// another request depends on.
    fn request(&self, method: &Method, path: &str, packed: &Packed) -> RequestBuilder {
        let manifest = &packed.manifest;
        let filled = path
            .replace("{scope}", manifest.name.wire_scope())
            .replace("{name}", manifest.name.name().as_str())
            .replace("{version}", &manifest.version.to_string())
            .replace("{digest}", &packed.digests.sha256.to_string())
            .replace("{id}", &"0".repeat(64))
            .replace("{*path}", "0/000.p/2")
            .replace("{ticket}", &"0".repeat(64))
            .replace("{advisory}", self.advisories.get(&manifest.name).map_or("SKA-1", |id| id));
        let address = if path.contains("blobs") {
            manifest.files[0].blake3.address()
        } else {
            packed.address()
        };
        let filled = filled.replace("{address}", &address.to_string());
        let body = match (method.as_str(), path) {
            ("POST", "/v1/index") => json!({"names": [manifest.name]}),
            ("POST", "/v1/log/proofs") => {
                let leaf = self.leaves.get(&manifest.name).unwrap_or(&u64::MAX);
                json!({"origin": self.registry.registry.log.origin(), "size": self.size, "indices": [leaf]})
            }
            ("POST", path) if path.ends_with("/advisories") => {
                json!({"versions": "*", "effect": "warn", "summary": "for a test"})
            }
            ("POST", path) if path.ends_with("/yank") => json!({"reason": "for a test"}),
            ("PUT", path) if path.ends_with("/owners") => json!({"account": "owner"}),
            ("DELETE", path) if path.ends_with("/owners") => json!({"account": "nobody"}),
            ("DELETE", path) if path.ends_with("/members") => json!({"account": "nobody"}),
            (_, path) if path.ends_with("/members") => {
                json!({"account": "nobody", "role": "reader"})
            }
            ("POST", "/v1/tokens") => json!({"label": "l", "grants": ["admin"]}),
            ("POST", "/v1/keys") => json!({"pem": "none"}),
            ("POST", "/clawhub/api/v1/skills") => json!({
                "slug": manifest.name.name(), "ownerHandle": manifest.name.wire_scope(),
                "version": manifest.version, "files": [],
            }),
            _ => json!(null),
        };
        let filled = if path == "/v1/search" {
            format!("{filled}?q={}", manifest.name.name())
        } else if path.starts_with("/clawhub/") {
            let (owner, slug) = (manifest.name.wire_scope(), manifest.name.name());
            format!("{filled}?ownerHandle={owner}&slug={slug}&q={slug}&path=SKILL.md")
        } else {
            filled
        };
        self.registry.request(method.clone(), &filled, None).body(body.to_string())
    }
}

fn with(credential: &Credential, request: RequestBuilder) -> RequestBuilder {
    let (client, request) = request.build_split();
    let mut request = request.unwrap();
    // Where a token stands in the path, it is the caller's.
    let path = request.url().path().to_owned();
    let is_in_path = path.contains("/%7Btoken%7D/");
    if is_in_path {
        let token = match credential {
            Credential::Bearer(token) => token,
            _ => "none",
        };
        request.url_mut().set_path(&path.replace("%7Btoken%7D", token));
    }
    let request = RequestBuilder::from_parts(client, request);
    match credential {
        Credential::Bearer(_) if is_in_path => request,
        Credential::None => request,
        Credential::Basic(token) => request.basic_auth("owner", Some(token)),
        Credential::Bearer(token) => request.bearer_auth(token),
        Credential::Cookie(token) => {
            let all = ["token", "access_token", "authorization", "session", "skillpkg"];
            let cookies = all.map(|name| format!("{name}={token}")).join("; ");
            request.header("cookie", cookies)
        }
        Credential::Query(token) => {
            let (client, request) = request.build_split();
            let mut request = request.unwrap();
            for name in ["token", "access_token", "authorization", "private_token", "key"] {
                request.url_mut().query_pairs_mut().append_pair(name, token);
            }
            RequestBuilder::from_parts(client, request)
        }
    }
}

/// What was decided, in the words of the table.
async fn outcome(path: &str, packed: &Packed, response: Response) -> String {
    let status = response.status().as_u16();
    let is_head = response.headers().get("content-length").is_none() && status != 204;
    // A face whose errors are plain text tells the code in a header.
    let plain = response.headers().get("skillpkg-code").cloned();
    let body = response.bytes().await.unwrap();
    let listed = match path {
        "/v1/index" if status == 200 => {
            let answer: IndexAnswer = serde_json::from_slice(&body).unwrap();
            Some(answer.documents.iter().any(|one| one.name == packed.manifest.name))
        }
        "/v1/log/proofs" if status == 200 => {
            let answer: ProofsAnswer = serde_json::from_slice(&body).unwrap();
            assert_eq!(answer.records.len() + answer.missing.len(), 1);
            Some(!answer.records.is_empty())
        }
        "/v1/search" if status == 200 => {
            let answer: SearchAnswer = serde_json::from_slice(&body).unwrap();
            assert_eq!(answer.total, answer.skills.len() as u64);
            Some(answer.skills.iter().any(|one| one.name == packed.manifest.name))
        }
        "/clawhub/api/v1/search" | "/clawhub/api/v1/skills" if status == 200 && plain.is_none() => {
            let answer: Value = serde_json::from_slice(&body).unwrap();
            let items = answer.get("results").or(answer.get("items"));
            items.map(|items| {
                let items = items.as_array().unwrap();
                items.iter().any(|one| one["displayName"] == packed.manifest.name.to_string())
            })
        }
        path if status == 200 && path.ends_with("{scope}/.well-known/agent-skills/index.json") => {
            let answer: Value = serde_json::from_slice(&body).unwrap();
            let skills = answer["skills"].as_array().unwrap();
            Some(skills.iter().any(|one| one["name"] == packed.manifest.name.name().as_str()))
        }
        _ => None,
    };
    if let Some(listed) = listed {
        return if listed { "ok" } else { "nf" }.to_owned();
    }
    let code = match plain {
        Some(code) => Ok(code.to_str().unwrap().to_owned()),
        None => serde_json::from_slice(&body).map(|problem: Problem| problem.code),
    };
    match (status, code.as_deref()) {
        (401, _) => "un",
        (403, Ok("token_lacks_grant")) => "lg",
        (403, Ok("not_an_owner")) => "no",
        (403, Ok("scope_refused")) => "sr",
        // A token or key with an id of zeros: whoever may ask learns that there is none.
        (404, _) if path.ends_with("{id}") => "ok",
        // So of an invitation: nobody here has one.
        (404, _) if path.starts_with("/v1/invitations/") => "ok",
        // And of the log that a mirror relays: this is none.
        (404, _) if path.starts_with("/relayed/") => "ok",
        // And of a file that nobody promised to send.
        (404, _) if path.ends_with("{ticket}") => "ok",
        (404, _) => "nf",
        // Whoever may publish also learns that its author signs it, which other clients do not.
        (403, Ok("face_publish_refused")) | (200 | 201 | 204 | 400 | 409 | 422, _) => "ok",
        other => panic!("{path}: {other:?} {is_head}"),
    }
    .to_owned()
}

/// The rows of the API; those of pages are walked in `pages/table.rs`.
fn rows() -> impl Iterator<Item = &'static Row> {
    TABLE.iter().filter(|row| row.surface == Surface::Api)
}

#[tokio::test]
async fn every_route_decides_as_the_table_says() {
    let stage = stage().await;
    for row in rows() {
        for (target, packed) in &stage.targets {
            let Some((_, _, expected)) =
                EXPECTED.iter().find(|(need, of, _)| (*need, *of) == (row.need, *target))
            else {
                let about_a_skill = !matches!(
                    row.need,
                    Need::Nothing | Need::Token | Need::Admin | Need::PublishSome
                );
                assert!(!about_a_skill || row.need == Need::Nothing, "{row:?} {target:?}");
                continue;
            };
            let expected: Vec<&str> = expected.split_whitespace().collect();
            assert_eq!(expected.len(), stage.callers.0.len());
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
