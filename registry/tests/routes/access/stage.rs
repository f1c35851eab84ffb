//! A registry with what the routes are about, and the requests of each caller.

use std::collections::HashMap;

use reqwest::{Method, RequestBuilder, StatusCode};
use serde_json::json;
use skillpkg_schema::QualifiedName;
use skillpkg_schema::wire::{Document, Effect, NewAdvisory};

use crate::support::{self, Author, OpenAndSecret, Packed, Skill, TestRegistry};

#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub(super) enum Target {
    /// A bare name, owned by the owner.
    Public,
    /// A name of a private scope, of which the owner and the reader are members.
    Private,
    /// A name that is not there, of that scope.
    Absent,
    /// A name of a scope that is not there.
    NoScope,
}

pub(super) enum Credential {
    None,
    /// The token as the password of a name.
    Basic(String),
    Bearer(String),
    Cookie(String),
    Query(String),
}

pub(super) struct Callers(pub(super) Vec<(&'static str, Credential)>);

pub(super) struct Stage {
    pub(super) registry: TestRegistry,
    pub(super) callers: Callers,
    /// The owner's token where none is read: as if there were none.
    pub(super) nowhere: [(&'static str, Credential); 2],
    pub(super) targets: Vec<(Target, Packed)>,
    /// The leaves of the targets that there are.
    leaves: HashMap<QualifiedName, u64>,
    /// Their advisories.
    advisories: HashMap<QualifiedName, String>,
    /// Leaves in the log.
    size: u64,
}

pub(super) async fn stage() -> Stage {
    let OpenAndSecret { registry, owner, reader, stranger, open, secret } =
        OpenAndSecret::start().await;
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
        (Target::Public, open),
        (Target::Private, secret),
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
    pub(super) fn request(&self, method: &Method, path: &str, packed: &Packed) -> RequestBuilder {
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
            ("POST", path) if path.ends_with("/publishers") => {
                json!({"issuer": "http://127.0.0.1:9", "claims": {"sub": "for a test"}})
            }
            ("DELETE", path) if path.ends_with("/publishers") => json!({"id": "0"}),
            ("POST", "/v1/tokens") => json!({"label": "l", "grants": ["admin"]}),
            ("POST", "/v1/keys") => json!({"pem": "none"}),
            ("POST", "/clawhub/api/v1/skills") => json!({
                "slug": manifest.name.name(), "ownerHandle": manifest.name.wire_scope(),
                "version": manifest.version, "files": [],
            }),
            _ => json!(null),
        };
        let filled = if path == "/v1/search" || path == "/apm/v1/search" {
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

pub(super) fn with(credential: &Credential, request: RequestBuilder) -> RequestBuilder {
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
