//! The API of `ClawHub`, version 1.
//!
//! An owner there is a scope here. A name without an owner is the bare one, else the one that there is.
//! Errors are plain text: the client prints their body as it is.

pub(super) mod account;
pub(super) mod content;
pub(super) mod find;
pub(super) mod publish;
pub(super) mod skill;
pub(super) mod unoffered;
pub(super) mod withdraw;

use axum::http::StatusCode;
use axum::response::{IntoResponse, Response};
use serde::Deserialize;
use serde_json::{Value, json};
use skillpkg_schema::name::EMPTY_SCOPE;
use skillpkg_schema::wire::{Effect, VersionEntry};
use skillpkg_schema::{QualifiedName, Version};
use utoipa::IntoParams;

use super::{Foreign, Offer, listing, name_of, offer};
use crate::problem::{Answer, Code, Refusal};
use crate::routes::asker::Asker;
use crate::routes::extract::Json;

/// Most scopes that an ambiguous name is told with.
const MOST_MATCHES: u32 = 20;

/// Which skill, and which version of it.
#[derive(Debug, Default, Deserialize, IntoParams)]
#[into_params(parameter_in = Query)]
#[serde(rename_all = "camelCase")]
pub(super) struct Which {
    /// The scope, `_` for a bare name.
    owner_handle: Option<String>,
    /// The version.
    version: Option<String>,
    /// In the place of a version: `latest`, or a version.
    tag: Option<String>,
}

/// Why a skill is not answered about.
#[derive(Debug)]
pub(super) enum Miss {
    /// A refusal as any other.
    Refused(Refusal),
    /// Several scopes have one of this name.
    Ambiguous(Vec<QualifiedName>),
}

impl From<Refusal> for Miss {
    fn from(refusal: Refusal) -> Self {
        Self::Refused(refusal)
    }
}

impl IntoResponse for Miss {
    fn into_response(self) -> Response {
        let names = match self {
            Self::Refused(refusal) => return refusal.into_response(),
            Self::Ambiguous(names) => names,
        };
        let matches: Vec<Value> = names
            .iter()
            .map(|name| {
                let (owner, slug) = (name.wire_scope(), name.name());
                json!({"ownerHandle": owner, "slug": slug, "ref": format!("@{owner}/{slug}")})
            })
            .collect();
        let message = "several scopes have a skill of this name: say which is meant";
        let body = json!({"code": "AMBIGUOUS_SKILL_SLUG", "message": message, "matches": matches});
        let mut response = (StatusCode::CONFLICT, Json(body)).into_response();
        response.extensions_mut().insert(Foreign);
        response
    }
}

/// What is answered about a skill.
pub(super) type Found<T> = Result<T, Miss>;

impl Which {
    /// The skill that is meant by a slug.
    async fn offer(&self, asker: &Asker, slug: &str) -> Found<Offer> {
        Ok(offer(asker, &self.name(asker, slug).await?).await?)
    }

    /// The name that is meant by a slug, whether there is such a skill or not.
    async fn name(&self, asker: &Asker, slug: &str) -> Found<QualifiedName> {
        if let Some(owner) = &self.owner_handle {
            return Ok(name_of(owner.trim_start_matches('@'), slug)?);
        }
        let bare = name_of(EMPTY_SCOPE, slug)?;
        let Asker { registry, caller, .. } = asker;
        let called =
            |which| listing::called(registry, caller, bare.name().as_str(), which, MOST_MATCHES);
        let mut names = called(listing::Which::Picked).await?;
        if names.is_empty() {
            // One that is withdrawn is still told about, and taken back.
            names = called(listing::Which::All).await?;
        }
        if names.contains(&bare) || names.is_empty() {
            return Ok(bare);
        }
        match names.pop() {
            Some(name) if names.is_empty() => Ok(name),
            last => {
                names.extend(last);
                Err(Miss::Ambiguous(names))
            }
        }
    }

    /// The version that is meant, and how it was named.
    fn entry<'o>(&self, offer: &'o Offer) -> Answer<(&'o VersionEntry, &'static str)> {
        let latest = || offer.latest().ok_or_else(Refusal::not_found);
        match (&self.version, self.tag.as_deref()) {
            (Some(version), _) => Ok((exact(offer, version)?, "version")),
            (None, Some("latest")) => Ok((latest()?, "tag")),
            (None, Some(version)) => Ok((exact(offer, version)?, "version")),
            (None, None) => Ok((latest()?, "latest")),
        }
    }
}

fn exact<'o>(offer: &'o Offer, version: &str) -> Answer<&'o VersionEntry> {
    let version: Version = version.parse().map_err(|_| Refusal::not_found())?;
    offer.exact(&version).map_err(|refusal| match refusal.code() {
        Code::AdvisoryForbids => refusal,
        _ => Refusal::not_found(),
    })
}

/// A time as the client has it, in milliseconds since 1970.
fn milliseconds(time: &str) -> i64 {
    time.parse::<jiff::Timestamp>().map_or(0, jiff::Timestamp::as_millisecond)
}

fn version_json(entry: &VersionEntry) -> Value {
    json!({
        "version": entry.version,
        "createdAt": milliseconds(&entry.published),
        "changelog": "",
        "address": entry.address,
    })
}

/// What a list says of a skill.
fn skill_json(offer: &Offer) -> Value {
    let document = &offer.document;
    let published = || document.versions.iter().map(|entry| milliseconds(&entry.published));
    let latest = offer.latest().map(|entry| &entry.version);
    json!({
        "slug": document.name.name(),
        "ownerHandle": document.name.wire_scope(),
        "displayName": document.name.to_string(),
        "summary": document.description,
        "tags": latest.map_or_else(|| json!({}), |version| json!({"latest": version})),
        "stats": {},
        "createdAt": published().min().unwrap_or_default(),
        "updatedAt": published().max().unwrap_or_default(),
    })
}

/// What is known against the version that is picked, as the client asks about it: an advisory that
/// warns is asked about, and where advisories forbid every version nothing is installed.
fn moderation_json(offer: &Offer) -> Value {
    let warning =
        offer.latest().and_then(|latest| offer.advisories(&latest.version, Effect::Warn).next());
    let forbidding = if offer.latest().is_none() { offer.forbidden() } else { None };
    let Some(advisory) = forbidding.or(warning) else { return Value::Null };
    json!({
        "isSuspicious": forbidding.is_none(),
        "isMalwareBlocked": forbidding.is_some(),
        "verdict": if forbidding.is_some() { "malicious" } else { "suspicious" },
        "reasonCodes": [advisory.id],
        "summary": advisory.summary,
    })
}
