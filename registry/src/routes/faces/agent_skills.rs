//! Agent Skills discovery 0.2.0: an index of the whole registry, of a scope, of a skill and of a
//! version, and the archives that they name.
//!
//! The client fetches every archive of an index that it reads, whichever skill it is asked for: the two
//! larger indexes are bounded. It sends no header, so that what is private is reached by a token in the
//! path; every URL in an index is relative, and keeps that.

use std::collections::HashMap;
use std::time::Duration;

use axum::extract::{Path, State};
use axum::http::{HeaderMap, Method};
use axum::response::Response;
use serde::Serialize;
use skillpkg_schema::wire::{Problem, VersionEntry};
use skillpkg_schema::{QualifiedName, Scope, Version};
use tokio::time::{Instant, timeout_at};

use super::listing;
use super::{Offer, Rendered, Served, container, listed, offer, rendered, url_of};
use crate::auth::Caller;
use crate::faces::Face;
use crate::problem::{Answer, Refusal};
use crate::routes::asker::Asker;
use crate::routes::relayed::Passage;
use crate::search;
use crate::state::Registry;

/// What says that an index is one of this version.
const SCHEMA: &str = "https://schemas.agentskills.io/discovery/0.2.0/schema.json";
/// Most skills of an index.
const MOST: u32 = 100;
/// Most UTF-16 units of a description.
const MOST_DESCRIPTION: usize = 1_024;
/// How long an index waits for archives that are being made: its client waits ten seconds for four
/// of them.
const PATIENCE: Duration = Duration::from_secs(4);

#[derive(Debug, Serialize)]
struct Index {
    #[serde(rename = "$schema")]
    schema: &'static str,
    skills: Vec<Skill>,
    /// What is left out, for whoever reads the index by eye: its client reads on.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    left_out: Vec<LeftOut>,
    /// Whether there are more than an index has.
    #[serde(skip_serializing_if = "std::ops::Not::not")]
    more: bool,
}

#[derive(Debug, Serialize)]
struct Skill {
    name: String,
    #[serde(rename = "type")]
    kind: &'static str,
    description: String,
    url: String,
    digest: String,
    version: Version,
    address: String,
}

#[derive(Debug, Serialize)]
struct LeftOut {
    name: QualifiedName,
    version: Version,
    reason: String,
}

/// What is named in a path.
type Named = Path<HashMap<String, String>>;

fn part<'p>(path: &'p Named, name: &str) -> &'p str {
    path.get(name).map_or("", String::as_str)
}

fn skill_of(path: &Named) -> Answer<QualifiedName> {
    super::name_of(part(path, "scope"), part(path, "name"))
}

fn version_of(path: &Named) -> Answer<Version> {
    part(path, "version").parse().map_err(|_| Refusal::not_found())
}

/// What a request is answered from.
struct Discovery {
    asker: Asker,
    /// Whether the path holds a token: then no shared cache keeps the answer.
    by_token: bool,
}

impl Discovery {
    /// The index of what was picked of some skills, each at a URL beneath `before`.
    async fn index(
        &self,
        picked: Vec<(Offer, VersionEntry)>,
        before: impl Fn(&QualifiedName, &Version) -> String,
    ) -> Index {
        let (mut skills, mut left_out) = (Vec::new(), Vec::new());
        let until = Instant::now() + PATIENCE;
        for (offer, entry) in picked {
            let name = &offer.document.name;
            let made = rendered(&self.asker, &entry, Face::AgentSkills);
            let reason = match timeout_at(until, made).await {
                Ok(Ok(Rendered::Container { digest, .. })) => {
                    skills.push(Skill {
                        // The client takes no `_`; within a scope no other name reads so.
                        name: name.name().as_str().replace('_', "-"),
                        kind: "archive",
                        description: described(&offer.document.description),
                        url: format!("{}skill.tar.gz", before(name, &entry.version)),
                        digest: format!("sha256:{digest}"),
                        version: entry.version,
                        address: entry.address.to_string(),
                    });
                    continue;
                }
                Ok(Ok(Rendered::LeftOut(reason))) => reason,
                Ok(Err(refusal)) => {
                    tracing::warn!(cause = refusal.told_in_full(), %name, "left out of an index");
                    "it cannot be served now".to_owned()
                }
                Err(_) => "its archive is being made: ask again".to_owned(),
            };
            left_out.push(LeftOut { name: name.clone(), version: entry.version, reason });
        }
        Index { schema: SCHEMA, skills, left_out, more: false }
    }

    /// What is picked of each of these names.
    async fn picked(&self, names: Vec<QualifiedName>) -> Answer<Vec<(Offer, VersionEntry)>> {
        let mut picked = Vec::with_capacity(names.len());
        for name in names {
            let offer = match offer(&self.asker, &name).await {
                Ok(offer) => offer,
                // It is gone since it was listed.
                Err(refusal) if refusal.code() == crate::problem::Code::NotFound => continue,
                Err(refusal) => return Err(refusal),
            };
            if let Some(entry) = offer.latest().cloned() {
                picked.push((offer, entry));
            }
        }
        Ok(picked)
    }

    async fn scope(&self, path: &Named) -> Answer<Response> {
        let scope = match part(path, "scope") {
            skillpkg_schema::name::EMPTY_SCOPE => None,
            scope => {
                let scope = scope.to_ascii_lowercase().parse::<Scope>();
                Some(scope.map_err(|_| Refusal::not_found())?)
            }
        };
        let Asker { registry, caller, .. } = &self.asker;
        let mut names = listing::in_scope(registry, caller, scope.as_ref(), MOST + 1).await?;
        let more = names.len() > MOST as usize;
        names.truncate(MOST as usize);
        let picked = self.picked(names).await?;
        if picked.is_empty() {
            return Err(Refusal::not_found());
        }
        let private = picked.iter().any(|(offer, _)| offer.document.private);
        let index = self
            .index(picked, |name, version| format!("../../{}/{}/", name.name(), url_of(version)));
        listed(&Index { more, ..index.await }, private || self.by_token)
    }

    async fn skill(&self, path: &Named) -> Answer<Response> {
        let offer = offer(&self.asker, &skill_of(path)?).await?;
        let entry = offer.latest().cloned().ok_or_else(Refusal::not_found)?;
        let private = offer.document.private || self.by_token;
        let index =
            self.index(vec![(offer, entry)], |_, version| format!("../../{}/", url_of(version)));
        listed(&index.await, private)
    }

    async fn version(&self, path: &Named) -> Answer<Response> {
        let offer = offer(&self.asker, &skill_of(path)?).await?;
        let entry = offer.exact(&version_of(path)?)?.clone();
        let private = offer.document.private || self.by_token;
        let index = self.index(vec![(offer, entry)], |_, _| "../../".to_owned());
        listed(&index.await, private)
    }

    async fn archive(&self, path: &Named, method: &Method, asked: &HeaderMap) -> Answer<Response> {
        let offer = offer(&self.asker, &skill_of(path)?).await?;
        let entry = offer.exact(&version_of(path)?)?;
        let is_public = !(offer.document.private || self.by_token);
        let face = Face::AgentSkills;
        let served = Served { face, media_type: "application/gzip", is_public, method, asked };
        container(&self.asker, entry, served).await
    }
}

/// A description within what the client takes.
fn described(description: &str) -> String {
    if description.encode_utf16().count() <= MOST_DESCRIPTION {
        return description.to_owned();
    }
    let mut units = 0;
    let mut cut: String = description
        .chars()
        .take_while(|character| {
            units += character.len_utf16();
            units < MOST_DESCRIPTION
        })
        .collect();
    cut.push('…');
    cut
}

/// Of names that differ in their scope alone the bare one, and none where there is no bare one: the
/// client keeps them all in one directory each, and the last would replace the others.
fn unambiguous(names: &[QualifiedName]) -> Vec<QualifiedName> {
    let mut count: HashMap<String, usize> = HashMap::new();
    let key = |name: &QualifiedName| name.name().collision_key();
    for name in names {
        *count.entry(key(name)).or_default() += 1;
    }
    let is_alone = |name: &QualifiedName| count.get(&key(name)).is_none_or(|count| *count == 1);
    let bare: Vec<String> = names.iter().filter(|name| name.scope().is_none()).map(key).collect();
    names
        .iter()
        .filter(|name| is_alone(name) || (name.scope().is_none() && bare.contains(&key(name))))
        .cloned()
        .collect()
}

/// The index of the registry's public skills, at most a hundred by name; of names that stand in several
/// scopes the bare one.
#[utoipa::path(
    get,
    path = "/.well-known/agent-skills/index.json",
    tag = "agent-skills",
    responses((status = 200, content_type = "application/json", description = "The index")),
)]
pub(super) async fn of_registry(
    State(registry): State<Registry>,
    passage: Passage,
) -> Answer<Response> {
    let caller = Caller::Anonymous;
    let found = search::search(&registry, &caller, "", MOST, 0).await?;
    let more = found.total > u64::from(MOST);
    let names: Vec<QualifiedName> = found.skills.into_iter().map(|hit| hit.name).collect();
    let names = unambiguous(&names);
    let discovery = Discovery { asker: Asker { registry, caller, passage }, by_token: false };
    let picked = discovery.picked(names).await?;
    let index = discovery.index(picked, |name, version| {
        format!("../../s/{}/{}/{}/", name.wire_scope(), name.name(), url_of(version))
    });
    listed(&Index { more, ..index.await }, false)
}

macro_rules! routes {
    ($($(#[doc = $doc:literal])+ $name:ident, $by_token:literal, $path:literal, $of:ident;)+) => {$(
        $(#[doc = $doc])+
        #[utoipa::path(
            get,
            path = $path,
            tag = "agent-skills",
            params(
                ("scope" = String, Path, description = "The scope; `_` for bare names"),
            ),
            responses(
                (status = 200, content_type = "application/json", description = "The index"),
                (status = "4XX", body = Problem, content_type = "application/problem+json"),
            ),
            security((), ("token" = [])),
        )]
        pub(super) async fn $name(asker: Asker, path: Named) -> Answer<Response> {
            Discovery { asker, by_token: $by_token }.$of(&path).await
        }
    )+};
}

routes! {
    /// The index of a scope, at most a hundred skills by name.
    of_scope, false, "/s/{scope}/.well-known/agent-skills/index.json", scope;
    /// The index of one skill: its current version.
    of_skill, false, "/s/{scope}/{name}/.well-known/agent-skills/index.json", skill;
    /// The index of one version, which may be yanked.
    of_version, false, "/s/{scope}/{name}/{version}/.well-known/agent-skills/index.json", version;
    /// The index of a scope, by a token in the path.
    of_scope_by_token, true, "/t/{token}/s/{scope}/.well-known/agent-skills/index.json", scope;
    /// The index of one skill, by a token in the path.
    of_skill_by_token, true, "/t/{token}/s/{scope}/{name}/.well-known/agent-skills/index.json", skill;
    /// The index of one version, by a token in the path.
    of_version_by_token, true,
    "/t/{token}/s/{scope}/{name}/{version}/.well-known/agent-skills/index.json", version;
}

macro_rules! archives {
    ($($(#[doc = $doc:literal])+ $name:ident, $by_token:literal, $path:literal;)+) => {$(
        $(#[doc = $doc])+
        #[utoipa::path(
            get,
            path = $path,
            tag = "agent-skills",
            params(
                ("scope" = String, Path, description = "The scope; `_` for a bare name"),
                ("name" = String, Path, description = "The name within the scope"),
                ("version" = String, Path, description = "The version"),
            ),
            responses(
                (status = 200, content_type = "application/gzip", description = "The archive"),
                (status = "4XX", body = Problem, content_type = "application/problem+json"),
            ),
            security((), ("token" = [])),
        )]
        pub(super) async fn $name(
            asker: Asker,
            path: Named,
            method: Method,
            asked: HeaderMap,
        ) -> Answer<Response> {
            Discovery { asker, by_token: $by_token }.archive(&path, &method, &asked).await
        }
    )+};
}

archives! {
    /// A version as a gzipped tar with `SKILL.md` at its root.
    archive, false, "/s/{scope}/{name}/{version}/skill.tar.gz";
    /// A version as a gzipped tar, by a token in the path.
    archive_by_token, true, "/t/{token}/s/{scope}/{name}/{version}/skill.tar.gz";
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_long_description_is_cut_between_characters() {
        assert_eq!(described("short"), "short");
        let long = "\u{1f600}".repeat(600);
        let cut = described(&long);
        assert_eq!(cut.encode_utf16().count(), 1_023);
        assert!(cut.ends_with("\u{1f600}…"));
        assert_eq!(described(&"x".repeat(1_024)).len(), 1_024);
        assert_eq!(described(&"x".repeat(1_025)).encode_utf16().count(), 1_024);
    }

    #[test]
    fn of_names_that_collide_in_a_directory_the_bare_one_is_listed() {
        let names = |texts: &[&str]| -> Vec<QualifiedName> {
            texts.iter().map(|text| text.parse().unwrap()).collect()
        };
        let found = unambiguous(&names(&["a", "x/a", "x/b", "y/b", "x/c_d", "y/c-d", "z/e"]));
        assert_eq!(found, names(&["a", "z/e"]));
    }
}
