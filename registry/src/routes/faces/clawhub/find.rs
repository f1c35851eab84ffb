//! Search, lists, and which version some files are.

use axum::extract::State;
use axum::response::Response;
use serde::Deserialize;
use serde_json::{Value, json};
use skillpkg_schema::Sha256Digest;
use skillpkg_schema::wire::VersionEntry;
use utoipa::IntoParams;

use super::{Found, Which, skill_json, version_json};
use crate::auth::Caller;
use crate::faces::{Face, fingerprint, rendering};
use crate::problem::{Answer, Refusal};
use crate::routes::asker::Asker;
use crate::routes::extract::{Json, Query};
use crate::routes::faces::listing::{self, Order};
use crate::routes::faces::{Offer, listed, offer};
use crate::search as full_text;
use crate::state::Registry;

/// Most skills of a page, as its client asks for them.
const MOST: u32 = 200;
/// Most versions whose fingerprints are made while a request waits.
const MOST_FINGERPRINTS: usize = 20;

/// What is searched for.
#[derive(Debug, Deserialize, IntoParams)]
#[into_params(parameter_in = Query)]
pub(in crate::routes::faces) struct Searched {
    /// Words.
    #[serde(default)]
    q: String,
    /// Most skills to answer with.
    limit: Option<u32>,
    /// `exact` for the skills of just this name.
    mode: Option<String>,
}

/// The skills that hold every word, of those that the caller may read; best first.
#[utoipa::path(
    get,
    path = "/clawhub/api/v1/search",
    tag = "clawhub",
    params(Searched),
    responses(
        (status = 200, content_type = "application/json", description = "The skills"),
        (status = "4XX", content_type = "text/plain", description = "What was wrong"),
    ),
    security((), ("token" = [])),
)]
pub(in crate::routes::faces) async fn search(
    State(registry): State<Registry>,
    caller: Caller,
    Query(query): Query<Searched>,
) -> Answer<Json<Value>> {
    let limit = query.limit.unwrap_or(25).min(MOST);
    let found = full_text::search(&registry, &caller, &query.q, limit, 0).await?;
    let is_exact = query.mode.as_deref() == Some("exact");
    let wanted = query.q.to_ascii_lowercase();
    let wanted = wanted.rsplit('/').next().unwrap_or_default();
    let mut score = f64::from(u32::try_from(found.skills.len()).unwrap_or_default());
    let results: Vec<Value> = found
        .skills
        .iter()
        .filter(|hit| !is_exact || hit.name.name().as_str() == wanted)
        .map(|hit| {
            let result = json!({
                "score": score,
                "slug": hit.name.name(),
                "ownerHandle": hit.name.wire_scope(),
                "displayName": hit.name.to_string(),
                "summary": hit.description,
                "version": hit.version,
            });
            score -= 1.0;
            result
        })
        .collect();
    Ok(Json(json!({"results": results})))
}

/// A page of skills.
#[derive(Debug, Deserialize, IntoParams)]
#[into_params(parameter_in = Query)]
pub(in crate::routes::faces) struct Paged {
    /// What their names start with.
    #[serde(default)]
    prefix: String,
    /// Most skills to answer with.
    limit: Option<u32>,
    /// What an earlier page was answered with.
    cursor: Option<String>,
    /// `createdAt`, `downloads` or `installs`; by their newest versions without.
    sort: Option<String>,
}

/// The skills that the caller may read, in pages.
#[utoipa::path(
    get,
    path = "/clawhub/api/v1/skills",
    tag = "clawhub",
    params(Paged),
    responses(
        (status = 200, content_type = "application/json", description = "The skills"),
        (status = "4XX", content_type = "text/plain", description = "What was wrong"),
    ),
    security((), ("token" = [])),
)]
pub(in crate::routes::faces) async fn list(
    asker: Asker,
    Query(query): Query<Paged>,
) -> Answer<Json<Value>> {
    let limit = query.limit.unwrap_or(25).clamp(1, MOST);
    let offset = query.cursor.as_deref().and_then(|cursor| cursor.parse().ok()).unwrap_or(0_u32);
    let order = match query.sort.as_deref() {
        Some("createdAt") => Order::Created,
        Some("downloads" | "installs" | "trending" | "stars") => Order::Downloads,
        _ => Order::Updated,
    };
    let prefix = query.prefix.to_ascii_lowercase();
    let prefix = prefix.rsplit('/').next().unwrap_or_default();
    let mut names =
        listing::page(&asker.registry, &asker.caller, order, prefix, (limit + 1, offset)).await?;
    let more = names.len() > limit as usize;
    names.truncate(limit as usize);
    let mut items = Vec::with_capacity(names.len());
    for name in names {
        let Ok(offer) = offer(&asker, &name).await else { continue };
        let mut item = skill_json(&offer);
        if let (Some(latest), Some(item)) = (offer.latest(), item.as_object_mut()) {
            item.insert("latestVersion".to_owned(), version_json(latest));
        }
        items.push(item);
    }
    let next = more.then(|| offset.saturating_add(limit).to_string());
    Ok(Json(json!({"items": items, "nextCursor": next})))
}

/// Which files some are.
#[derive(Debug, Deserialize, IntoParams)]
#[into_params(parameter_in = Query)]
pub(in crate::routes::faces) struct Asked {
    /// The name.
    slug: String,
    /// What the client knows the files by.
    #[serde(default)]
    hash: String,
}

/// Which version some files are, by what the client knows them by; and which one is current.
#[utoipa::path(
    get,
    path = "/clawhub/api/v1/resolve",
    tag = "clawhub",
    params(Asked, Which),
    responses(
        (status = 200, content_type = "application/json", description = "The versions"),
        (status = "4XX", content_type = "text/plain", description = "What was wrong"),
    ),
    security((), ("token" = [])),
)]
pub(in crate::routes::faces) async fn resolve(
    asker: Asker,
    Query(query): Query<Asked>,
    Query(which): Query<Which>,
) -> Found<Response> {
    let offer = which.offer(&asker, &query.slug).await?;
    let found = matching(&asker, &offer, &query.hash).await?;
    let version = |entry: Option<&VersionEntry>| {
        entry.map_or(Value::Null, |entry| json!({"version": entry.version}))
    };
    let answer = json!({"match": version(found), "latestVersion": version(offer.latest())});
    Ok(listed(&answer, offer.document.private)?)
}

/// The version whose files are known by this.
async fn matching<'o>(
    asker: &Asker,
    offer: &'o Offer,
    hash: &str,
) -> Answer<Option<&'o VersionEntry>> {
    let Ok(hash) = hash.parse::<Sha256Digest>() else { return Ok(None) };
    let registry = &asker.registry;
    let readers = registry.data.database.readers();
    let recorded: Vec<String> =
        sqlx::query_scalar("SELECT address FROM renderings WHERE fingerprint = $1 AND face = $2")
            .bind(hash.to_string())
            .bind(Face::ClawHub.name())
            .fetch_all(readers)
            .await?;
    let versions = &offer.document.versions;
    let found = versions.iter().rev().find(|entry| recorded.contains(&entry.address.hex()));
    if found.is_some() {
        return Ok(found);
    }
    // Those of which nothing was made yet; on a mirror each would have to be fetched.
    if registry.mirror.is_some() {
        return Ok(None);
    }
    let mut made = 0;
    for entry in versions.iter().rev() {
        if rendering::recorded(readers, &entry.address, Face::ClawHub).await?.is_some() {
            continue;
        }
        made += 1;
        if made > MOST_FINGERPRINTS {
            break;
        }
        let manifest = match asker.manifest(&entry.address).await {
            Ok(manifest) => manifest,
            Err(refusal) if refusal.code() == Refusal::not_found().code() => continue,
            Err(refusal) => return Err(refusal),
        };
        if fingerprint::of(&manifest) == Some(hash) {
            return Ok(Some(entry));
        }
    }
    Ok(None)
}
